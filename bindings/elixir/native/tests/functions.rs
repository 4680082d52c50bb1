//! The functions of the library are those that `Rorqual.Native` declares.

use std::collections::BTreeSet;
use std::path::Path;

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Names with the numbers of arguments.
#[allow(clippy::expect_used)]
fn defined(folder: &Path) -> BTreeSet<(String, usize)> {
    let mut functions = BTreeSet::new();
    for file in std::fs::read_dir(folder.join("src")).expect("a folder of sources") {
        let text = read(&file.expect("a file").path());
        for part in text.split("#[rustler::nif]").skip(1) {
            let head = part.split(") -> ").next().unwrap_or_default();
            let (name, arguments) = head.split_once('(').expect("a function");
            let name = name.trim().trim_start_matches("fn ").split('<').next().unwrap_or_default();
            let count = arguments.split(',').filter(|argument| argument.contains(':') && !argument.contains("env: Env"));
            functions.insert((name.to_owned(), count.count()));
        }
    }
    functions
}

/// The same of the module in Elixir.
fn declared(folder: &Path) -> BTreeSet<(String, usize)> {
    let text = read(&folder.join("../lib/rorqual/native.ex"));
    let stubs = text.lines().filter_map(|line| line.trim().strip_prefix("def ")?.strip_suffix(", do: nif()"));
    let named = stubs.map(|stub| match stub.trim_end_matches(')').split_once('(') {
        Some((name, arguments)) => (name.to_owned(), arguments.split(',').count()),
        None => (stub.to_owned(), 0),
    });
    named.collect()
}

#[test]
fn every_function_is_declared_and_every_declaration_defined() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let defined = defined(folder);
    assert!(defined.len() > 15, "{defined:?}");
    assert_eq!(defined, declared(folder));
}
