//! Files of others: paths, records that are not rows, and columns that are easily read wrong.

use crate::common::{TestFolder, answer, query};
use datafusion::arrow::array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, StructArray, UnionArray,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, Field, UnionFields};
use datafusion::arrow::ipc::writer::{FileWriter, StreamWriter};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::data_type::{Int96, Int96Type};
use datafusion::parquet::file::writer::SerializedFileWriter;
use datafusion::parquet::schema::parser::parse_message_type;
use std::sync::Arc;

fn batch(numbers: &[i32]) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int32Array::from(numbers.to_vec()));
    RecordBatch::try_from_iter([("n", numbers)]).unwrap()
}

fn parquet(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn arrow(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap()
}

#[test]
fn a_path_may_go_up_and_by_a_link() {
    let folder = TestFolder::new();
    let below = folder.at("below/deep");
    std::fs::create_dir_all(&below).unwrap();
    std::os::unix::fs::symlink(&below, folder.at("link")).unwrap();
    let files = |place: &str, n: i32| {
        let put = |name: &str, bytes: Vec<u8>| std::fs::write(folder.at(place).join(name), bytes).unwrap();
        put("x.csv", format!("n,m\n{n},1\n").into_bytes());
        put("x.ndjson", format!("{{\"n\":{n}}}\n").into_bytes());
        put("x.parquet", parquet(&batch(&[n])));
        put("x.arrow", arrow(&batch(&[n])));
        put("a b#%41.parquet", parquet(&batch(&[n])));
    };
    files(".", 1);
    files("below", 2);
    for name in ["x.csv", "x.ndjson", "x.parquet", "x.arrow", "a b#%41.parquet"] {
        // Above the folder that the link leads to, which is another than the one that has the link.
        for (path, expected) in [(format!("../{name}"), 1), (format!("../link/../{name}"), 2), (format!("./../below/{name}"), 2)]
        {
            let sql = format!("SELECT n FROM '{path}'");
            let run = query(&["--to", "csv", &sql]).with(|command| {
                command.current_dir(folder.at("below"));
            });
            assert_eq!(answer(run), format!("n\n{expected}\n"), "{path}");
        }
    }
}

#[test]
fn records_that_are_no_rows_end_a_query_unless_they_are_skipped() {
    let folder = TestFolder::new();
    let long = format!("{{\"n\":3,\"s\":\"{}\"}}", "x".repeat(1_500_000));
    for (name, text, says, rest) in [
        ("bad.ndjson", "{\"n\":1}\n{\"n\":\n{\"n\":3}\n".to_owned(), ["bad.ndjson", "(in the record that starts at byte 8"], 4),
        ("bad.json", "[{\"n\":1},{\"n\":x},{\"n\":3}]".to_owned(), ["bad.json", "(in the record that starts at byte 9"], 4),
        ("long.ndjson", format!("{{\"n\":1}}\n{long}\n{{\"n\":2}}\n"), ["long.ndjson", "--record-max 1.00 MiB"], 3),
    ] {
        let path = folder.file(name, &text);
        let packed = folder.file(&format!("{name}.zst"), zstd::encode_all(text.as_bytes(), 1).unwrap());
        for path in [path, packed] {
            let sql = format!("SELECT sum(n) AS n FROM '{path}'");
            let ran = query(&["--to", "csv", &sql]).run().exits(2);
            assert_eq!(ran.text(), "", "{path}");
            ran.says(&says).says(&["at byte ", "--bad skip"]);
            let ran = query(&["--to", "csv", "--bad", "skip", &sql]).run().exits(0);
            assert_eq!(ran.text(), format!("n\n{rest}\n"), "{path}");
            ran.says(&["1 record was left out"]);
        }
    }
    let sql = format!("SELECT sum(n) AS n FROM '{}'", folder.text("long.ndjson"));
    assert_eq!(answer(query(&["--to", "csv", "--record-max", "4MiB", &sql])), "n\n6\n");
}

#[test]
fn moments_of_96_bits_reach_beyond_2262() {
    let folder = TestFolder::new();
    let schema = Arc::new(parse_message_type("message m { required int96 t; }").unwrap());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    // 9999-12-31 is day 2,932,896 since 1970, and that day 2,440,588 of the Julian count.
    let mut value = Int96::new();
    value.set_data(0, 0, 2_932_896 + 2_440_588);
    column.typed::<Int96Type>().write_batch(&[value], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let path = folder.file("spark.parquet", bytes);
    assert_eq!(answer(query(&["--to", "csv", &format!("SELECT t FROM '{path}'")])), "t\n9999-12-31T00:00:00\n");
    // A TIMESTAMP has nanoseconds, for which that is too far: it is said, with what has room.
    for (condition, named) in [
        ("t < TIMESTAMP '9999-12-31'", "'9999-12-31 00:00:00' is"),
        ("t <= '9999-12-31'", "is"),
        ("t > DATE '1600-01-01'", "a moment is"),
    ] {
        let ran = query(&["--to", "csv", &format!("SELECT count(*) AS n FROM '{path}' WHERE {condition}")]).run().exits(2);
        ran.says(&[named, "before 1677 or after 2262", "TIMESTAMP(6)"]);
    }
    for (condition, count) in [
        ("t < TIMESTAMP(6) '9999-12-31'", 0),
        ("t <= TIMESTAMP(6) '9999-12-31'", 1),
        ("t > CAST('1600-01-01' AS TIMESTAMP(6))", 1),
        ("t > CAST(DATE '9999-12-30' AS TIMESTAMP(6))", 1),
    ] {
        let sql = format!("SELECT count(*) AS n FROM '{path}' WHERE {condition}");
        assert_eq!(answer(query(&["--to", "csv", &sql])), format!("n\n{count}\n"), "{condition}");
    }
}

#[test]
fn files_that_would_be_read_wrong_are_refused() {
    let folder = TestFolder::new();
    let whole = parquet(&batch(&[1, 2, 3, 4, 5, 6]));
    // The footer's third field, six in zigzag, and the list that follows.
    let place = (0..whole.len()).find(|at| whole[*at..].starts_with(&[0x16, 12, 0x19])).unwrap();
    let mut empty = whole.clone();
    empty[place + 1] = 0;
    let mut encrypted = whole.clone();
    let end = encrypted.len() - 4;
    encrypted[..4].copy_from_slice(b"PARE");
    encrypted[end..].copy_from_slice(b"PARE");
    let members = UnionFields::from_fields(vec![Field::new("i", DataType::Int32, true), Field::new("s", DataType::Utf8, true)]);
    let children: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(vec![7, 8])), Arc::new(StringArray::from(vec!["x", "y"]))];
    let union: ArrayRef = Arc::new(UnionArray::try_new(members, vec![0_i8, 1].into(), None, children).unwrap());
    let union = RecordBatch::try_from_iter([("u", union)]).unwrap();
    for (name, bytes, says) in [
        ("empty.parquet", empty, "its footer says 0 rows, and its row groups have 6"),
        ("encrypted.parquet", encrypted, "is encrypted Parquet"),
        ("union.arrow", arrow(&union), "the column 'u' is a union"),
        ("union.arrows", stream(&[union]), "the column 'u' is a union"),
    ] {
        let path = folder.file(name, bytes);
        let ran = query(&["--to", "csv", &format!("SELECT count(*) FROM '{path}'")]).run().exits(2);
        assert_eq!(ran.says(&[name, says]).text(), "");
    }
}

#[test]
fn a_stream_of_arrow_is_a_table_from_a_file_and_from_a_pipe() {
    let folder = TestFolder::new();
    let bytes = stream(&[batch(&[1, 2]), batch(&[3])]);
    let path = folder.file("s.arrows", &bytes);
    assert_eq!(answer(query(&["--to", "csv", &format!("SELECT sum(n) AS n FROM '{path}' WHERE n > 1")])), "n\n5\n");
    assert_eq!(answer(query(&["--to", "csv", "SELECT count(*) AS c, max(n) AS n FROM '-'"]).stdin(bytes)), "c,n\n3,3\n");
    let other = folder.file("t.arrow", arrow(&batch(&[10])));
    let both = format!("SELECT sum(n) AS n FROM '{}'", other.replace("t.arrow", "*.arrow*"));
    assert_eq!(answer(query(&["--to", "csv", &both])), "n\n16\n");
}

#[test]
fn two_columns_of_one_name_are_no_file() {
    let folder = TestFolder::new();
    let path = folder.file("x.csv", "n,m\n1,2\n");
    let sql = format!("SELECT * FROM '{path}' a JOIN '{path}' b ON a.n = b.n");
    let target = folder.text("out.parquet");
    query(&["-o", &target, &sql]).run().exits(2).says(&["two columns are named '", "which no reader would tell apart"]);
    assert!(!std::path::Path::new(&target).exists());
    assert_eq!(answer(query(&["--to", "csv", &sql])), "n,m,n,m\n1,2,1,2\n");
}

/// A table of one column, in a file of that kind.
fn put(folder: &TestFolder, name: &str, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let bytes = if name.ends_with(".arrow") { arrow(&batch) } else { parquet(&batch) };
    std::fs::write(folder.at(name), bytes).unwrap();
}

#[test]
fn files_with_other_columns_are_joined_by_their_names() {
    for kind in ["parquet", "arrow"] {
        let folder = TestFolder::new();
        let whole: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let half: ArrayRef = Arc::new(Float64Array::from(vec![0.5]));
        let large: ArrayRef = Arc::new(Int64Array::from(vec![1 << 40]));
        let text: ArrayRef = Arc::new(StringArray::from(vec!["q"]));
        put(&folder, &format!("a.{kind}"), vec![("x", Arc::clone(&whole)), ("y", whole)]);
        put(&folder, &format!("b.{kind}"), vec![("z", text), ("x", half)]);
        put(&folder, &format!("c.{kind}"), vec![("x", large)]);
        let ask = |sql: &str, files: &str| answer(query(&["--to", "ndjson", &sql.replace("FILES", &folder.text(files))]));
        let all = ask("SELECT x, y, z FROM 'FILES' ORDER BY x", &format!("[ab].{kind}"));
        assert_eq!(all, "{\"x\":0.5,\"z\":\"q\"}\n{\"x\":1.0,\"y\":1}\n{\"x\":2.0,\"y\":2}\n", "{kind}");
        assert_eq!(ask("SELECT sum(x) AS s, count(y) AS n FROM 'FILES'", &format!("[ab].{kind}")), "{\"s\":3.5,\"n\":2}\n");
        assert_eq!(ask("SELECT max(x) AS m FROM 'FILES'", &format!("[ac].{kind}")), "{\"m\":1099511627776}\n", "{kind}");
        assert_eq!(ask("SELECT count(*) AS n FROM 'FILES'", &format!("[ab].{kind}")), "{\"n\":3}\n", "{kind}");
        // Whole numbers of 64 bits are not all doubles.
        let ran =
            query(&["--to", "ndjson", &format!("SELECT count(x) AS n FROM '{}'", folder.text(&format!("[bc].{kind}")))]).run();
        ran.says(&["the column 'x' is a text, as its types differ (in ", "CAST(x AS DOUBLE)"]);
        assert_eq!(ran.exits(0).text(), "{\"n\":2}\n");
    }
}

#[test]
fn a_field_of_a_struct_that_is_null_is_null() {
    let folder = TestFolder::new();
    for nullable in [false, true] {
        let field = Arc::new(Field::new("m", DataType::Int32, nullable));
        let nulls = Some(NullBuffer::from(vec![true, false]));
        let structs = StructArray::new(vec![field].into(), vec![Arc::new(Int32Array::from(vec![1, 7]))], nulls);
        put(&folder, "n.arrow", vec![("s", Arc::new(structs))]);
        let sql = format!("SELECT sum(s['m']) AS m, count(s['m']) AS n, count(*) AS rows FROM '{}'", folder.text("n.arrow"));
        assert_eq!(answer(query(&["--to", "ndjson", &sql])), "{\"m\":1,\"n\":1,\"rows\":2}\n");
    }
}

/// Stacks of the threads that open them are no memory that is taken.
#[test]
fn a_thousand_small_files_have_room() {
    let folder = TestFolder::new();
    for number in 0..1_000 {
        std::fs::write(folder.at(&format!("{number}.parquet")), parquet(&batch(&[number]))).unwrap();
    }
    let sql = format!("SELECT count(*) AS rows, sum(n) AS sum FROM '{}'", folder.text("*.parquet"));
    assert_eq!(answer(query(&["--to", "ndjson", &sql])), "{\"rows\":1000,\"sum\":499500}\n");
}

#[test]
fn a_file_of_another_format_among_parquet_is_named() {
    let folder = TestFolder::new();
    let put = |name: &str, bytes: Vec<u8>| {
        let path = folder.at(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    for (mix, other, bytes) in [
        ("arrow", "b.arrow", arrow(&batch(&[2]))),
        ("csv", "b.csv", b"n\n2\n".to_vec()),
        ("short", "b.parquet", b"PAR1".to_vec()),
        ("empty", "b.parquet", Vec::new()),
    ] {
        put(&format!("{mix}/a.parquet"), parquet(&batch(&[1])));
        put(&format!("{mix}/{other}"), bytes);
        let ran = query(&["--to", "csv", &format!("SELECT * FROM '{}'", folder.text(mix))]).run().exits(2);
        ran.says(&[
            &format!("{mix}/{other}"),
            "is not a Parquet file, as others of this table are: name them in tables of their own",
        ]);
    }
    let alone = folder.file("alone.csv", "n\n2\n");
    let ran = query(&["--from", "parquet", &format!("SELECT * FROM '{alone}'")]).run().exits(2);
    ran.says(&["alone.csv: is not a Parquet file"]);
}

#[test]
fn a_footer_that_is_longer_than_its_file_is_no_matter_of_memory() {
    let folder = TestFolder::new();
    let file = folder.file("par1.parquet", "PAR1PAR1");
    let ran = query(&[&format!("SELECT * FROM '{file}'")]).run().exits(2);
    ran.says(&["par1.parquet: not a sound Parquet file: its footer is longer than the file"]);
}
