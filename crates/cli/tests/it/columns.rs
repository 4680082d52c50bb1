//! Files of columns and wide or large inputs within the memory that is given, and odd values in
//! `convert`.

use crate::common::{MIB, TestFolder, rorqual};
use crate::tables;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use rorqual_columnar::write::{BatchWriter, WriteSettings, WriteTarget};
use rorqual_testkit::process::{ProcessEnd, ProcessRun};
use serde_json::json;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::ChildStdin;
use std::sync::Arc;
use std::time::Duration;

const TIME_MAX: Duration = Duration::from_secs(300);

fn write(path: &Path, target: WriteTarget, batches: &[RecordBatch]) {
    let file = File::create(path).expect("a new file");
    let writer = BatchWriter::new(file, "table", &batches[0].schema(), &WriteSettings::new(target)).expect("a writer");
    for batch in batches {
        writer.push(writer.prepare(batch.clone()).expect("a batch")).expect("it is written");
    }
    writer.finish().expect("it is written");
}

/// `rows` rows of one text of `bytes` bytes.
fn repeated(rows: i64, bytes: usize) -> RecordBatch {
    let values: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(bytes)]));
    let keys = Int32Array::from(vec![0; usize::try_from(rows).expect("few")]);
    let texts: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(keys, values));
    let ids: ArrayRef = Arc::new((0..rows).collect::<Int64Array>());
    RecordBatch::try_from_iter([("id", ids), ("text", texts)]).expect("columns of one length")
}

/// The program's own peak; its output goes nowhere.
fn peak_of(script: &str) -> u64 {
    let script = format!("'{}' {script} --stats > /dev/null", crate::common::PROGRAM);
    let ran = ProcessRun::new("bash").args(["-c", &script]).time_max(TIME_MAX).run().exits(0);
    tables::peak_bytes(&ran)
}

#[test]
fn a_small_file_of_columns_that_grows_when_it_is_read() {
    let folder = TestFolder::new();
    let path = folder.at("small.parquet");
    write(&path, WriteTarget::Parquet, &[repeated(600, 900_000)]);
    assert!(std::fs::metadata(&path).expect("it is there").len() < MIB);
    let (path, target) = (path.to_string_lossy(), folder.text("out.parquet"));
    for work in ["head -n 600".to_owned(), "sample -n 300".to_owned(), format!("convert -o '{target}'")] {
        assert!(peak_of(&format!("{work} --memory 160MiB '{path}'")) < 160 * MIB, "{work}");
    }
    let found = rorqual(&["get", &path, "id=599", "--memory", "128MiB"]).run().exits(0);
    assert_eq!(found.json()["text"].as_str().expect("a text").len(), 900_000);
    let back = rorqual(&["get", &target, "id=599", "--columns", "id"]).run().exits(0);
    assert_eq!(back.json(), json!({"id": 599}));
}

#[test]
fn files_of_columns_far_above_the_memory() {
    let folder = TestFolder::new();
    let (parquet, arrow) = (folder.at("t.parquet"), folder.at("t.arrow"));
    tables::write(&parquet, WriteTarget::Parquet, 2_000_000);
    tables::write(&arrow, WriteTarget::Arrow, 2_000_000);
    assert!(std::fs::metadata(&arrow).expect("it is there").len() > 200 * MIB);
    for path in [parquet, arrow] {
        let path = path.to_string_lossy();
        let target = folder.text("out.ndjson");
        let works = [
            format!("head -n 2000000 '{path}'"),
            format!("sample -n 1000 '{path}'"),
            format!("get '{path}' actor.login=user3"),
            format!("convert '{path}' --threads 1 --force -o '{target}'"),
        ];
        for work in works {
            assert!(peak_of(&format!("{work} --memory 160MiB")) < 160 * MIB, "{work}");
        }
    }
}

/// Runs on 512 MiB of a block over and over, within 192 MiB.
fn far_above(args: &[&str], block: Vec<u8>) -> ProcessEnd {
    let times = 512 * MIB / block.len() as u64;
    let feed = move |stdin: &mut ChildStdin| (0..times).try_for_each(|_| stdin.write_all(&block));
    let ran = rorqual(args).args(["--memory", "192MiB"]).feed(feed).time_max(TIME_MAX).run().exits(0);
    ran.within(192 * MIB);
    ran
}

#[test]
fn csv_far_above_the_memory() {
    let folder = TestFolder::new();
    let target = folder.text("out.parquet");
    let lines: String = (0..20_000).map(|row| format!("{row},\"a text, of {row}\",{}\n", row * 7919)).collect();
    far_above(&["convert", "-", "--from", "csv", "--header", "false", "-o", &target], lines.clone().into_bytes());
    let sampled = far_above(&["sample", "-", "-n", "3", "--from", "csv", "--header", "false"], lines.into_bytes());
    assert_eq!(sampled.text().lines().count(), 3);
}

#[test]
fn the_first_and_some_records_far_above_the_memory() {
    let lines: String = (0..20_000).map(|row| format!("{{\"id\":{row},\"text\":\"text of {row}\"}}\n")).collect();
    let sampled = far_above(&["sample", "-", "-n", "5"], lines.clone().into_bytes());
    assert_eq!(sampled.text().lines().count(), 5);
    let folder = TestFolder::new();
    let path = folder.text("large.ndjson");
    let mut file = File::create(&path).expect("a new file");
    (0..400).for_each(|_| file.write_all(lines.as_bytes()).expect("room"));
    drop(file);
    assert!(peak_of(&format!("head -n 8000000 --memory 192MiB '{path}'")) < 192 * MIB);
}

#[test]
fn ten_thousand_columns_take_a_thread_and_not_more_memory() {
    let folder = TestFolder::new();
    let row = |offset: usize| {
        let fields: Vec<String> = (0..10_000).map(|column| format!("\"c{column}\":{}", column + offset)).collect();
        format!("{{{}}}\n", fields.join(","))
    };
    let file = folder.file("wide.ndjson", (0..300).map(row).collect::<String>());
    let target = folder.text("wide.parquet");
    let ran = rorqual(&["convert", &file, "-o", &target]).run().exits(0);
    ran.within(256 * MIB);
    let fewer = rorqual(&["convert", &file, "--force", "-o", &target, "--threads", "64"]).run().exits(0);
    fewer.says(&["--memory 256 MiB has room for", "of --threads 64"]);
    fewer.within(256 * MIB);
    let named = rorqual(&["head", "-n", "1", &target, "--columns", "c9999"]).run().exits(0);
    assert_eq!(named.json(), json!({"c9999": 9999}));
}

#[test]
fn each_stream_is_a_term_of_the_sum() {
    let folder = TestFolder::new();
    let target = folder.text("out.parquet");
    let inputs = vec!["<(echo '{}')"; 40].join(" ");
    let script = format!("'{}' convert {inputs} --from ndjson -o '{target}' --memory 256MiB", crate::common::PROGRAM);
    let ran = ProcessRun::new("bash").args(["-c", &script]).run().exits(2);
    ran.says(&["--memory 256 MiB is too little", "starts of 40 streams"]);
}

/// Two columns with pages of 95 MiB of text, as DuckDB writes them: together they are more than
/// there is for pages, so the columns are read in turns.
#[test]
fn columns_with_pages_as_large_as_others_write_them_are_read_in_turns() {
    let folder = TestFolder::new();
    let (path, rows) = (folder.text("large.parquet"), 25_000);
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_data_page_size_limit(1 << 30)
        .set_write_batch_size(1 << 20)
        .build();
    let texts =
        |digit: char| -> ArrayRef { Arc::new(StringArray::from_iter_values((0..rows).map(|row| format!("{digit}{row:03999}")))) };
    let batch = RecordBatch::try_from_iter([("a", texts('1')), ("b", texts('2'))]).expect("columns");
    let file = File::create(&path).expect("a new file");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("a writer");
    writer.write(&batch).and_then(|()| writer.close()).expect("it is written");
    let memory = ["--memory", "256MiB", "--threads", "2"];
    let ran = rorqual(&["convert", &path, "--to", "ndjson", "-o", "-"]).args(memory).time_max(TIME_MAX).run().exits(0);
    ran.within(256 * MIB);
    let expected: Vec<String> = (0..rows).map(|row| format!("{{\"a\":\"1{row:03999}\",\"b\":\"2{row:03999}\"}}")).collect();
    assert!(ran.text().lines().eq(expected.iter().map(String::as_str)), "all rows, in order");
    let ran = rorqual(&["head", "-n", "2", "--to", "ndjson", &path, "--memory", "256MiB"]).run().exits(0);
    assert_eq!(ran.within(256 * MIB).text(), format!("{}\n{}\n", expected[0], expected[1]));
}

#[test]
fn more_memory_has_room_for_more_threads() {
    let folder = TestFolder::new();
    let (file, target) = (folder.file("a.ndjson", "{\"a\":1}\n"), folder.text("a.parquet"));
    for (memory, threads) in [("1GiB", "4"), ("4GiB", "16"), ("16GiB", "64")] {
        let _ = rorqual(&["convert", &file, "--memory", memory, "--threads", threads, "--force", "-o", &target]).run().exits(0);
    }
}

#[test]
fn numbers_that_json_has_not_are_said() {
    let folder = TestFolder::new();
    let path = folder.at("t.parquet");
    let numbers: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.5), Some(f64::NAN), None, Some(f64::INFINITY)]));
    write(&path, WriteTarget::Parquet, &[RecordBatch::try_from_iter([("n", numbers)]).expect("a column")]);
    let ran = rorqual(&["convert", &path.to_string_lossy(), "--to", "ndjson", "-o", "-"]).run().exits(0);
    assert_eq!(ran.text(), "{\"n\":1.5}\n{\"n\":null}\n{}\n{\"n\":null}\n");
    ran.says(&["2 x NaN or infinity"]);
}

#[test]
fn what_is_true_and_what_is_a_text_differ() {
    let input = "{\"a\":true}\n{\"a\":\"true\"}\n{\"a\":1}\n";
    let ran = rorqual(&["convert", "-", "--to", "ndjson", "-o", "-"]).stdin(input).run().exits(0);
    assert_eq!(ran.text(), input);
}

#[test]
fn a_rest_of_the_input_is_there_once() {
    let folder = TestFolder::new();
    let schema = folder.file("schema.json", r#"{"a":"int64","_rest":"json"}"#);
    let input = r#"{"a":"x","_rest":{"a":1},"b":{"c":2}}"#;
    let ran = rorqual(&["convert", "-", "--schema", &schema, "--to", "ndjson", "-o", "-"]).stdin(input).run().exits(0);
    assert_eq!(ran.text(), format!("{input}\n"));
}

#[test]
fn a_column_alone_keeps_its_nulls_in_csv() {
    let input = "{\"a\":\"x\"}\n{}\n{\"a\":\"y\"}\n";
    let ran = rorqual(&["convert", "-", "--to", "csv", "-o", "-"]).stdin(input).run().exits(0);
    assert_eq!(ran.text(), "a\nx\n\"\"\ny\n");
}

#[test]
fn json_is_no_lines_where_only_its_start_looks_so() {
    let lines = "{\"a\":1}\n".repeat(30) + "{\"a\":\n2}\n";
    let ran = rorqual(&["convert", "-", "--from", "json", "--to", "ndjson", "-o", "-"]).stdin(lines).run().exits(0);
    assert_eq!(ran.text(), "{\"a\":1}\n".repeat(30) + "{\"a\":2}\n");
}

#[test]
fn a_schema_of_bad_records_says_so() {
    let folder = TestFolder::new();
    let file = folder.file("bad.ndjson", "{\"a\":1}\n{\"b\":\n{\"a\":2}\n");
    let ran = rorqual(&["schema", &file]).run().exits(2);
    assert_eq!(ran.json(), json!({"a": "int64"}));
    ran.says(&[&file, "1 bad record"]);
}

#[test]
fn a_broken_footer_is_one_line_that_names_the_file() {
    let folder = TestFolder::new();
    for (name, target) in [("t.arrow", WriteTarget::Arrow), ("t.parquet", WriteTarget::Parquet)] {
        let path = folder.at(name);
        tables::write(&path, target, 10);
        let whole = std::fs::read(&path).expect("it is there");
        for place in whole.len() - 400..whole.len() - 10 {
            let mut broken = whole.clone();
            broken[place] ^= 0x7f;
            std::fs::write(&path, broken).expect("room");
            let ran = rorqual(&["head", &path.to_string_lossy()]).run();
            assert!(!ran.stderr.contains("panicked"), "{place}: {}", ran.stderr);
            assert!(ran.code == Some(0) || (ran.code == Some(2) && ran.stderr.contains(name)), "{place}: {}", ran.stderr);
        }
    }
}

#[test]
fn files_of_columns_that_differ_have_types_for_both() {
    let folder = TestFolder::new();
    let (first, second) = (folder.at("1.parquet"), folder.at("2.arrow"));
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.5]));
    let small: ArrayRef = Arc::new(Int32Array::from(vec![7]));
    let large: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    let batch = |columns: Vec<(&str, ArrayRef)>| [RecordBatch::try_from_iter(columns).expect("columns of one length")];
    let columns = vec![("int", small.clone()), ("number", small.clone()), ("large", large.clone()), ("own", texts)];
    write(&first, WriteTarget::Parquet, &batch(columns));
    write(&second, WriteTarget::Arrow, &batch(vec![("int", large), ("number", floats.clone()), ("large", floats)]));
    let (first, second) = (first.to_string_lossy(), second.to_string_lossy());
    let ran = rorqual(&["convert", &first, &second, "--to", "ndjson", "-o", "-"]).run().exits(0);
    let expected = "{\"int\":7,\"number\":7.0,\"large\":\"9223372036854775807\",\"own\":\"x\"}\n\
        {\"int\":9223372036854775807,\"number\":0.5,\"large\":\"0.5\"}\n";
    assert_eq!(ran.text(), expected);
    let refused = rorqual(&["convert", &first, &second, "--conflicts", "error", "--to", "ndjson", "-o", "-"]).run().exits(2);
    refused.says(&["--conflicts widen"]);
    // Our writer makes no such file.
    let twice = folder.at("twice.arrow");
    let fields = ["a", "a"].map(|name| Field::new(name, DataType::Int32, true));
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let mut writer = FileWriter::try_new(File::create(&twice).expect("a new file"), &schema).expect("a writer");
    writer.write(&RecordBatch::try_new(schema, vec![small.clone(), small]).expect("two columns")).expect("it is written");
    writer.finish().expect("it is written");
    let refused = rorqual(&["convert", &first, &twice.to_string_lossy(), "--to", "ndjson", "-o", "-"]).run().exits(2);
    refused.says(&["twice.arrow", "two columns 'a'"]);
}

#[test]
fn an_element_that_is_too_long_is_kept_without_its_separator() {
    let folder = TestFolder::new();
    let rejects = folder.text("rejects");
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(1 << 20));
    let input = format!("[{{\"a\":1}}\n , {long}, {{\"a\":2}}]");
    let args = ["convert", "-", "--record-max", "256KiB", "--rejects", &rejects, "--to", "ndjson", "-o", "-"];
    let ran = rorqual(&args).stdin(input).run().exits(0);
    assert_eq!(ran.text(), "{\"a\":1}\n{\"a\":2}\n");
    assert_eq!(std::fs::read_to_string(&rejects).expect("rejects"), long + "\n");
}
