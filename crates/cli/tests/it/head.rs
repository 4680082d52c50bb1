//! `rorqual head`

use crate::common::{MIB, TestFolder, rorqual};
use crate::tables;
use rorqual_columnar::write::WriteTarget;

#[test]
fn the_first_rows_of_either_format() {
    let folder = TestFolder::new();
    for (name, target) in [("t.parquet", WriteTarget::Parquet), ("t.arrow", WriteTarget::Arrow)] {
        let path = folder.at(name);
        tables::write(&path, target, 300_000);
        let path = path.to_string_lossy();
        let ran = rorqual(&["head", &path, "--columns", "id"]).run().exits(0);
        assert_eq!(ran.text(), (0..10).map(|id| format!("{{\"id\":{id}}}\n")).collect::<String>());
        let ran = rorqual(&["head", "-n", "100000", &path, "--columns", "id", "--to", "csv", "--stats"]).run().exits(0);
        assert_eq!(ran.text().lines().count(), 100_001);
        assert!(tables::peak_bytes(&ran) < 96 * MIB);
        assert_eq!(rorqual(&["head", "-n", "0", &path]).run().exits(0).text(), "");
    }
}

#[test]
fn a_value_that_does_not_fit_a_chosen_column_is_an_error() {
    let folder = TestFolder::new();
    // Far beyond the start that tells the columns.
    let numbers: String = (0..400_000).map(|n| format!("{{\"a\":{n},\"b\":\"text\"}}\n")).collect();
    let path = folder.file("late.ndjson", format!("{numbers}{{\"a\":\"late\",\"b\":\"text\"}}\n"));
    let whole = ["head", "-n", "500000", &path];
    let ran = rorqual(&[&whole[..], &["--columns", "a"]].concat()).run().exits(2);
    ran.says(&["late.ndjson", "a value does not fit its column", "without --columns it is kept"]);
    let ran = rorqual(&whole).run().exits(0);
    assert_eq!(ran.text().lines().count(), 400_001);
    assert!(ran.text().ends_with("\n{\"b\":\"text\",\"a\":\"late\"}\n"), "{}", &ran.text()[ran.text().len() - 80..]);
    // Rows before it are not touched by it.
    assert_eq!(rorqual(&["head", "-n", "3", &path, "--columns", "a"]).run().exits(0).text(), "{\"a\":0}\n{\"a\":1}\n{\"a\":2}\n");
}

#[test]
fn a_table_has_nothing_that_steers_the_terminal() {
    let folder = TestFolder::new();
    let path = folder.at("t.parquet");
    tables::write(&path, WriteTarget::Parquet, 10);
    let ran = rorqual(&["head", "-n", "2", &path.to_string_lossy(), "--to", "table", "--columns", "id,text,actor,random"])
        .run()
        .exits(0);
    let expected = "\
id  text             actor              random
 0  text\\u{1b} of 0  {\"login\":\"user0\"}       0
 1  text\\u{1b} of 1  {\"login\":\"user1\"}  648055
";
    assert_eq!(ran.text(), expected);
}

#[test]
fn a_reader_that_has_enough_is_no_failure() {
    let folder = TestFolder::new();
    let path = folder.at("t.parquet");
    tables::write(&path, WriteTarget::Parquet, 200_000);
    let script = format!("'{}' head -n 200000 '{}' | head -n 1", crate::common::PROGRAM, path.display());
    let ran = rorqual_testkit::process::ProcessRun::new("bash").args(["-o", "pipefail", "-c", &script]).run().exits(0);
    assert!(ran.stderr.is_empty(), "{}", ran.stderr);
}
