//! Files that are held to the state in which they were first looked at.

use rorqual_pipe::{ErrorClass, FileGrowth, FileVersion};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use tempfile::tempdir;

/// Answers of a check that allows growth and of one that does not, after `change` of a file.
fn after(change: impl FnOnce(&Path)) -> (bool, bool) {
    let folder = tempdir().expect("a file");
    let path = folder.path().join("file");
    std::fs::write(&path, "a\n".repeat(10_000)).expect("a file");
    let version = FileVersion::of(&path).expect("a file");
    // The system's clock for files goes on by milliseconds.
    std::thread::sleep(Duration::from_millis(20));
    change(&path);
    let is_same = |growth| version.check_path(&path, growth).is_ok();
    let here = (is_same(FileGrowth::Allowed), is_same(FileGrowth::Refused));
    // Another machine has the time and the ends of the file, and tells the same by them.
    let elsewhere = FileVersion::of_text(&version.to_text(), "file").expect("a state");
    let is_same = |growth| elsewhere.check_path(&path, growth).is_ok();
    assert_eq!((is_same(FileGrowth::Allowed), is_same(FileGrowth::Refused)), here);
    here
}

#[test]
fn a_file_is_held_to_its_state() {
    assert_eq!(after(|_| {}), (true, true));
    let grown = |path: &Path| File::options().append(true).open(path).expect("a file").write_all(b"b\n").expect("a file");
    assert_eq!(after(grown), (true, false));
    assert_eq!(after(|path| std::fs::write(path, "b\n".repeat(10_001)).expect("a file")), (false, false));
    assert_eq!(after(|path| std::fs::write(path, "a\n".repeat(9_999)).expect("a file")), (false, false));
    assert_eq!(after(|path| std::fs::write(path, "b\n".repeat(10_000)).expect("a file")), (false, false));
    let replaced = |path: &Path| {
        let other = path.with_extension("new");
        std::fs::write(&other, "a\n".repeat(10_000)).expect("a file");
        std::fs::rename(&other, path).expect("a file");
    };
    assert_eq!(after(replaced), (false, false));
    assert_eq!(after(|path| std::fs::remove_file(path).expect("a file")), (false, false));
}

#[test]
fn an_error_names_the_file() {
    let folder = tempdir().expect("a file");
    let path = folder.path().join("x.csv");
    std::fs::write(&path, "a").expect("a file");
    let version = FileVersion::of(&path).expect("a file");
    std::fs::write(&path, "ab").expect("a file");
    let error = version.check_path(&path, FileGrowth::Refused).expect_err("changed");
    assert_eq!(error.kind(), ErrorClass::Mismatch);
    assert!(error.to_string().contains("x.csv: the file was changed or replaced"), "{error}");
}
