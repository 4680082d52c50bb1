//! The library that Python loads, as cargo has built it beside this test.

/// The library beside the tests.
#[allow(clippy::expect_used)]
fn library() -> Vec<u8> {
    let test = std::env::current_exe().expect("the path of a test");
    let path = test.with_file_name("lib_rorqual.so");
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn has(library: &[u8], name: &str) -> bool {
    library.windows(name.len()).any(|bytes| bytes == name.as_bytes())
}

#[test]
fn any_python_can_load_it() {
    let library = library();
    assert!(has(&library, "PyInit__rorqual"));
    assert!(!has(&library, "libpython3"), "it would be loaded by one version of Python alone");
}
