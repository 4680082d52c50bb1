//! Files of a few bytes that take gigabytes when they are read as they ask for it.

use crate::common::{MIB, TestFolder, query};
use datafusion::arrow::array::{ArrayRef, DictionaryArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::arrow::arrow_writer::ArrowWriterOptions;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::file::properties::WriterProperties;
use rorqual_testkit::process::ProcessEnd;
use std::fs::File;
use std::sync::Arc;

const MEMORY: u64 = 256 * MIB;
const ROWS: usize = 1_000_000;
const VALUE_BYTES: usize = 200_000;

/// A Parquet file of a million rows with one value, which it holds once; without the writer's own
/// note of the type.
fn repeated(folder: &TestFolder, name: &str, column: impl Fn(ArrayRef) -> ArrayRef) -> String {
    let path = folder.text(name);
    let value: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(VALUE_BYTES)]));
    let rows = 1_000;
    let codes = Int32Array::from(vec![0; rows]);
    let batch = column(Arc::new(DictionaryArray::new(codes, value)));
    let batch = RecordBatch::try_from_iter([("s", batch)]).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(datafusion::parquet::file::properties::EnabledStatistics::None)
        .build();
    let options = ArrowWriterOptions::new().with_skip_arrow_metadata(true).with_properties(properties);
    let mut writer = ArrowWriter::try_new_with_options(File::create(&path).unwrap(), batch.schema(), options).unwrap();
    (0..ROWS / rows).for_each(|_| writer.write(&batch).unwrap());
    writer.close().unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() < 1 << 20, "it is small");
    path
}

fn ran(sql: &str) -> ProcessEnd {
    let ran = query(&["--memory", "256MiB", "--to", "csv", sql]).run();
    ran.within(MEMORY);
    ran
}

/// An answer or an error that tells the way on, within the memory.
fn answers_or_refuses(sql: &str) {
    let ran = ran(sql);
    assert!(ran.code == Some(0) || ran.code == Some(2) && ran.stderr.contains("--memory"), "{sql}: {ran:?}");
}

#[test]
fn a_value_that_a_million_rows_share_is_held_once() {
    let folder = TestFolder::new();
    let path = repeated(&folder, "repeated.parquet", |column| column);
    assert_eq!(ran(&format!("SELECT count(*) AS n, max(length(s)) AS l FROM '{path}'")).exits(0).text(), "n,l\n1000000,200000\n");
    let groups = format!("SELECT count(*) AS n FROM (SELECT s FROM '{path}' GROUP BY s)");
    assert_eq!(ran(&groups).exits(0).text(), "n\n1\n");
    let some = ran(&format!("SELECT s FROM '{path}' LIMIT 5000")).exits(0);
    assert_eq!(some.stdout.len(), "s\n".len() + 5000 * (VALUE_BYTES + 1));
    assert_eq!(ran(&format!("SELECT substr(s, 1, 3) AS s FROM '{path}' ORDER BY 1 LIMIT 1")).exits(0).text(), "s\nxxx\n");
}

#[test]
fn what_is_made_of_such_a_value_ends_before_the_memory_does() {
    let folder = TestFolder::new();
    let path = repeated(&folder, "repeated.parquet", |column| column);
    for expression in ["max(upper(s))", "count(DISTINCT s || '!')", "length(string_agg(s, ','))"] {
        answers_or_refuses(&format!("SELECT length(arrow_cast({expression}, 'Utf8')) FROM '{path}'"));
    }
    answers_or_refuses(&format!("SELECT count(*) FROM (SELECT * FROM '{path}' ORDER BY s || '!' LIMIT 100000)"));
    answers_or_refuses(&format!("SELECT count(*) FROM '{path}' a JOIN '{path}' b ON a.s || '1' = b.s || '1'"));
}

#[test]
fn such_values_in_lists_end_before_the_memory_does() {
    let folder = TestFolder::new();
    let in_list = |values: ArrayRef| -> ArrayRef {
        let field = Arc::new(Field::new("item", values.data_type().clone(), true));
        Arc::new(ListArray::new(field, OffsetBuffer::from_lengths(vec![1; values.len()]), values, None))
    };
    let path = repeated(&folder, "lists.parquet", in_list);
    answers_or_refuses(&format!("SELECT max(length(s[1])) FROM '{path}'"));
    answers_or_refuses(&format!("SELECT s FROM '{path}' LIMIT 10"));
}

#[test]
fn a_batch_of_an_arrow_file_that_has_no_room_is_refused() {
    let folder = TestFolder::new();
    let path = folder.text("zeros.arrow");
    let column: ArrayRef = Arc::new(Int64Array::from(vec![0; 40 << 20]));
    let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
    let mut writer = datafusion::arrow::ipc::writer::FileWriter::try_new(File::create(&path).unwrap(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    assert_eq!(batch.schema().field(0).data_type(), &DataType::Int64);
    ran(&format!("SELECT sum(n) FROM '{path}'")).exits(2).says(&["row groups of", "--memory"]);
}

#[test]
fn short_records_with_many_columns_come_in_parts() {
    let folder = TestFolder::new();
    let keys: Vec<String> = (0..2_000).map(|key| format!("\"k{key}\":{key}")).collect();
    let records = format!("{{{}}}\n{}", keys.join(","), "{}\n".repeat(20_000));
    let lines = folder.file("wide.ndjson", &records);
    let compressed = folder.file("wide.ndjson.zst", zstd::encode_all(records.as_bytes(), 1).unwrap());
    for path in [lines, compressed] {
        let target = folder.text("out.parquet");
        let sql = format!("SELECT * FROM '{path}'");
        let ran = query(&["--memory", "256MiB", "--force", "-o", &target, &sql]).run().exits(0);
        ran.within(MEMORY);
        let read = format!("SELECT count(*) AS n, count(k0) AS a, sum(k1999) AS z FROM '{target}'");
        assert_eq!(crate::common::csv(&read), "n,a,z\n20001,1,1999\n");
    }
}

/// Many compressed tables in one query: each has blocks and a decoder of its own.
#[test]
fn many_streams_at_once_are_refused_with_their_sum() {
    let folder = TestFolder::new();
    let rows: String = (0..1_000).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    let path = folder.file("n.ndjson.zst", zstd::encode_all(rows.as_bytes(), 1).unwrap());
    let sum = |tables: usize| {
        let each = vec![format!("SELECT sum(n) AS n FROM '{path}'"); tables];
        format!("SELECT sum(n) AS n FROM ({})", each.join(" UNION ALL "))
    };
    assert_eq!(ran(&sum(3)).exits(0).text(), format!("n\n{}\n", 3 * 499_500));
    ran(&sum(40)).exits(2).says(&["blocks, decoder and rows of", "n.ndjson.zst", "--memory 256 MiB is too little"]);
    for n in 0..20 {
        folder.file(&format!("part{n}.ndjson.zst"), zstd::encode_all(rows.as_bytes(), 1).unwrap());
    }
    let all = ran(&format!("SELECT sum(n) AS n FROM '{}'", folder.text("part*.zst")));
    assert_eq!(all.exits(0).text(), format!("n\n{}\n", 20 * 499_500));
}
