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
