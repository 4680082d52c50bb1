//! `rorqual get`

use crate::common::{MIB, TestFolder, rorqual};
use crate::tables;
use rorqual_columnar::write::WriteTarget;
use serde_json::{Value, json};

#[test]
fn finds_rows_and_reads_little() {
    let folder = TestFolder::new();
    let path = folder.at("t.parquet");
    tables::write(&path, WriteTarget::Parquet, 200_000);
    let file_bytes = std::fs::metadata(&path).expect("a file").len();
    let condition = format!("random={}", tables::random(121_000));
    let ran =
        rorqual(&["get", &path.to_string_lossy(), &condition, "--stats", "--columns", "id,text,actor,random"]).run().exits(0);
    let expected = json!({
        "id": 121_000, "text": "text\u{1b} of 121000", "actor": {"login": "user5"}, "random": tables::random(121_000),
    });
    assert_eq!(ran.json(), expected);
    assert!(tables::peak_bytes(&ran) < 64 * MIB);
    let stats: Value = serde_json::from_str(ran.stderr.trim()).expect("one JSON object");
    assert!(stats["stored_bytes"].as_u64().expect("a number") < file_bytes / 10, "{stats} of {file_bytes}");
    assert_eq!(stats["rows"], 1);
}

#[test]
fn nothing_is_found_and_nothing_is_wrong() {
    let folder = TestFolder::new();
    for (name, target) in [("t.parquet", WriteTarget::Parquet), ("t.arrow", WriteTarget::Arrow)] {
        let path = folder.at(name);
        tables::write(&path, target, 10_000);
        let path = path.to_string_lossy();
        assert_eq!(rorqual(&["get", &path, "id=10000"]).run().exits(1).text(), "");
        let ran = rorqual(&["get", &path, "actor.login=user3", "--columns", "id", "--to", "csv"]).run().exits(0);
        let expected: String = (0..10_000).filter(|id| id % 7 == 3).map(|id| format!("{id}\n")).collect();
        assert_eq!(ran.text(), format!("id\n{expected}"));
    }
}

#[test]
fn says_what_it_can_not_find() {
    let folder = TestFolder::new();
    let path = folder.at("t.parquet");
    tables::write(&path, WriteTarget::Parquet, 10);
    let path = path.to_string_lossy();
    rorqual(&["get", &path, "id=x"]).run().exits(2).says(&["'x' is not a value of the column 'id'", "Int64"]);
    rorqual(&["get", &path, "actor.logn=x"]).run().exits(2).says(&["no column 'actor.logn'", "actor.login"]);
    rorqual(&["get", &path, "id=1", "--columns", "txt"]).run().exits(2).says(&["no column 'txt'", "text"]);
    rorqual(&["get", &path, "id"]).run().exits(2).says(&["'id' is not COLUMN=VALUE"]);
    rorqual(&["get", &path, "id=1", "--memory", "1MiB"]).run().exits(2).says(&["too little", "footer"]);
    let text = folder.at("t.txt");
    std::fs::write(&text, "hello, world").expect("a file");
    rorqual(&["get", &text.to_string_lossy(), "id=1"]).run().exits(2).says(&["neither a Parquet nor an Arrow file"]);
}
