//! Files that are changed or replaced while a query reads them: half of one and half of another is
//! no answer.

use crate::common::{PROGRAM, TestFolder, answer, query};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Rows of a file, far more than fit between its reader and a full pipe.
const ROWS: usize = 500_000;

fn line(number: usize) -> String {
    format!("{{\"n\":{number},\"text\":\"{}\"}}\n", "x".repeat(80))
}

fn ndjson(folder: &TestFolder) -> String {
    folder.file("rows.ndjson", (0..ROWS).map(line).collect::<String>())
}

/// The file as another kind of file, made by the program itself.
fn made(folder: &TestFolder, name: &str) -> String {
    let path = folder.path().join(name).to_string_lossy().into_owned();
    let args = ["-o", &path, &format!("SELECT * FROM '{}'", ndjson(folder))];
    answer(query(&args));
    path
}

/// Exit code, number of lines and messages of a query whose file is changed once its first rows are
/// there and while nobody takes the others.
fn during(file: &str, sql: &str, change: impl FnOnce(&Path)) -> (Option<i32>, usize, String) {
    let mut command = Command::new(PROGRAM);
    command.args(["--to", "ndjson", "--threads", "2", sql]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().unwrap();
    let mut stdout = running.stdout.take().unwrap();
    let mut first = vec![0; 4096];
    stdout.read_exact(&mut first).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    change(Path::new(file));
    let mut rest = Vec::new();
    stdout.read_to_end(&mut rest).unwrap();
    let ended = running.wait_with_output().unwrap();
    let lines = first.iter().chain(&rest).filter(|byte| **byte == b'\n').count();
    (ended.status.code(), lines, String::from_utf8_lossy(&ended.stderr).into_owned())
}

/// Puts another file of the same size in its place.
fn replace(path: &Path) {
    let other = path.with_extension("new");
    std::fs::copy(path, &other).unwrap();
    std::fs::rename(&other, path).unwrap();
}

/// Writes over the last bytes of it.
fn write_over(path: &Path) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut end = [0; 3];
    let at = file.metadata().unwrap().len() - 3;
    file.read_exact_at(&mut end, at).unwrap();
    file.write_all_at(&end, at).unwrap();
}

fn fails_at(file: &str, sql: &str, change: impl FnOnce(&Path)) {
    let (code, _, said) = during(file, sql, change);
    let name = Path::new(file).file_name().unwrap().to_string_lossy();
    assert_eq!(code, Some(2), "{name}: {said}");
    let expected = format!("{name}: the file was changed or replaced while it was read");
    assert!(said.contains(&expected), "{name}: {said}");
}

#[test]
fn a_file_that_is_replaced_in_mid_query_is_an_error() {
    let folder = TestFolder::new();
    let lines = ndjson(&folder);
    fails_at(&lines, &format!("SELECT * FROM '{lines}'"), replace);
    let parquet = made(&folder, "rows.parquet");
    fails_at(&parquet, &format!("SELECT * FROM '{parquet}'"), replace);
}

#[test]
fn a_file_that_is_written_over_in_mid_query_is_an_error() {
    let folder = TestFolder::new();
    let lines = ndjson(&folder);
    let zipped = folder.file("rows.ndjson.zst", zstd::encode_all(File::open(&lines).unwrap(), 1).unwrap());
    let quoted: String = (0..ROWS).map(|number| format!("{number},\"a\n{}\"\n", "x".repeat(80))).collect();
    let quoted = folder.file("rows.csv", format!("n,text\n{quoted}"));
    for file in [&lines, &zipped, &quoted, &made(&folder, "rows.parquet"), &made(&folder, "rows.arrow")] {
        fails_at(file, &format!("SELECT * FROM '{file}'"), write_over);
    }
}

#[test]
fn of_a_file_of_lines_that_grows_the_query_has_those_that_there_were() {
    let folder = TestFolder::new();
    let lines = ndjson(&folder);
    let grow = |path: &Path| {
        let text = (0..1000).map(line).collect::<String>();
        File::options().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
    };
    let (code, rows, said) = during(&lines, &format!("SELECT * FROM '{lines}'"), grow);
    assert_eq!((code, rows, said.as_str()), (Some(0), ROWS, ""));
    // Once more it has all.
    let count = format!("SELECT count(*) AS c FROM '{lines}'");
    assert_eq!(answer(query(&["--to", "csv", &count])), format!("c\n{}\n", ROWS + 1000));
}
