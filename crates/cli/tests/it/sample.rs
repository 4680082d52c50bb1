//! `rorqual sample`

use crate::common::{MIB, TestFolder, rorqual};
use crate::tables;
use rorqual_columnar::write::WriteTarget;
use std::path::Path;

fn sample(path: &Path, arguments: &[&str]) -> Vec<i64> {
    let path = path.to_string_lossy();
    let arguments = [&["sample", &path, "--columns", "id", "--stats"], arguments].concat();
    let ran = rorqual(&arguments).run().exits(0);
    assert!(tables::peak_bytes(&ran) < 64 * MIB);
    let id = |line: &str| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["id"].as_i64().expect("a number");
    ran.text().lines().map(id).collect()
}

#[test]
fn the_seed_chooses_and_the_format_does_not() {
    let folder = TestFolder::new();
    let (parquet, arrow) = (folder.at("t.parquet"), folder.at("t.arrow"));
    tables::write(&parquet, WriteTarget::Parquet, 100_000);
    tables::write(&arrow, WriteTarget::Arrow, 100_000);
    let chosen = sample(&parquet, &["-n", "50", "--seed", "7"]);
    assert_eq!(chosen.len(), 50);
    assert!(chosen.is_sorted_by(|one, next| one < next));
    assert_eq!(chosen, sample(&arrow, &["-n", "50", "--seed", "7"]));
    assert_ne!(chosen, sample(&parquet, &["-n", "50", "--seed", "8"]));
    assert_ne!(sample(&parquet, &["-n", "50"]), sample(&parquet, &["-n", "50"]));
}

#[test]
fn more_rows_than_there_are_is_all_of_them() {
    let folder = TestFolder::new();
    let path = folder.at("t.parquet");
    tables::write(&path, WriteTarget::Parquet, 20);
    assert_eq!(sample(&path, &["-n", "1000"]), (0..20).collect::<Vec<_>>());
}
