//! Errors that say what to do, and end with the right code.

use crate::common::{Folder, SAMPLE, query};

fn fails(sql: &str, says: &[&str]) {
    let ran = query(&["--to", "csv", sql]).run().exits(2);
    assert_eq!(ran.text(), "", "{sql}");
    ran.says(says);
}

#[test]
fn what_is_wrong_is_named() {
    let folder = Folder::new();
    let log = folder.file("access.log", SAMPLE);
    let empty = folder.file("empty.log", "");
    let noise = folder.file("noise.bin", [0xfe, 0xff, 0, 1, 2, 3].repeat(100));
    let missing = folder.text("no-such.log");
    fails(&format!("SELECT staus FROM '{log}'"), &["there is no column 'staus'; is status meant?", "time, client, user"]);
    fails(&format!("SELECT * FROM '{missing}'"), &[&missing, "No such file"]);
    fails(&format!("SELECT * FROM '{missing}*'"), &["no file has such a name"]);
    fails("SELECT * FROM nothing", &["'nothing' is no table, and no file"]);
    fails(&format!("SELECT * FROM '{empty}'"), &["empty.log", "there is nothing in it"]);
    fails(&format!("SELECT * FROM '{noise}'"), &["noise.bin", "--from", "--format"]);
    fails("SELEC 1", &["Expected"]);
    fails("", &["there is no query"]);
    fails("SELECT * FROM 'ftp://h/x.log'", &["ftp:// is none of s3://, gs://, http://, https://"]);
}

#[test]
fn nothing_is_written_by_statements() {
    let folder = Folder::new();
    let log = folder.file("access.log", SAMPLE);
    let target = folder.text("copy.csv");
    for sql in [
        format!("COPY (SELECT * FROM '{log}') TO '{target}'"),
        format!("INSERT INTO '{log}' SELECT * FROM '{log}'"),
        format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{target}'"),
    ] {
        let ran = query(&[&sql]).run().exits(2);
        assert!(ran.says(&["rorqual: "]).stdout.is_empty());
    }
    assert_eq!(folder.names(), ["access.log"]);
}

#[test]
fn a_compressed_file_that_is_cut_gives_no_answer() {
    let folder = Folder::new();
    let whole = zstd::encode_all(&SAMPLE.repeat(3)[..], 3).unwrap();
    let path = folder.file("cut.log.zst", &whole[..whole.len() / 2]);
    fails(&format!("SELECT count(*) FROM '{path}'"), &["cut.log.zst"]);
}

#[test]
fn standard_input_is_read_once() {
    let ran = query(&["--to", "csv", "SELECT count(*) FROM '-' a JOIN '-' b ON a.path = b.path"]).stdin(SAMPLE).run().exits(2);
    ran.says(&["standard input"]);
}

#[test]
fn too_little_memory_is_refused_with_its_sum() {
    let ran = query(&["--memory", "64MiB", "SELECT 1"]).run().exits(2);
    ran.says(&["--memory 64.0 MiB is too little", "program", "operators", "Give --memory"]);
}
