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
fn standard_input_is_left_after_the_last_row() {
    let folder = TestFolder::new();
    let shell = |script: &str| {
        let script = script.replace("HEAD", &format!("{} head --columns a", crate::common::PROGRAM));
        let set = |run: &mut std::process::Command| {
            run.current_dir(folder.path());
        };
        rorqual_testkit::process::ProcessRun::new("bash").args(["-c", &script]).with(set).run().exits(0).text().to_owned()
    };
    folder.file("rows", "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
    folder.file("table", "a,b\n1,x\n\"2\n2\",y\n3,z\n");
    folder.file("quoted", "a,b\n1,\"x\ny\"\n2,\"z\n\n\"\"w\"\n3,z\n");
    // Far more than a block, and rows of several lengths.
    let many: String = (0..200_000).map(|n| format!("{{\"a\":{n}}}\n")).collect();
    folder.file("many", many);
    for (script, expected) in [
        ("(HEAD -n 1 -; echo -; cat) < rows", "{\"a\":1}\n-\n{\"a\":2}\n{\"a\":3}\n"),
        ("(HEAD -n 0 -; cat) < rows", "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n"),
        ("(HEAD -n 3 -; echo -; cat) < rows", "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n-\n"),
        ("(HEAD -n 9 -; echo -; cat) < rows", "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n-\n"),
        ("(read line; HEAD -n 1 -; echo -; cat) < rows", "{\"a\":2}\n-\n{\"a\":3}\n"),
        ("(HEAD -n 2 --to csv -; echo -; cat) < table", "a\n1\n\"2\n2\"\n-\n3,z\n"),
        ("(HEAD -n 1 --to csv -; echo -; cat) < quoted", "a\n1\n-\n2,\"z\n\n\"\"w\"\n3,z\n"),
        ("(HEAD -n 2 --to csv -; echo -; cat) < quoted", "a\n1\n2\n-\n3,z\n"),
        ("(HEAD -n 150000 - > taken; head -n 1) < many", "{\"a\":150000}\n"),
        // Of a file that is named nothing is moved.
        ("(HEAD -n 1 rows; cat) < rows", "{\"a\":1}\n{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n"),
    ] {
        assert_eq!(shell(script), expected, "{script}");
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
