//! Written rows are read back as they were, with any helpers, and at any failure.

use arrow_array::builder::{Int64Builder, StringBuilder};
use arrow_array::builder::{ListBuilder, StringDictionaryBuilder, StructBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int32Type, Time32MillisecondType, TimestampMillisecondType};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date64Array, Float64Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
    Time32SecondArray, TimestampMicrosecondArray, TimestampSecondArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow_select::concat::concat_batches;
use rorqual_columnar::read::{RowChoice, TableFile};
use rorqual_columnar::write::{BatchWriter, Codec, WriteSettings, WriteSummary, WriteTarget};
use rorqual_pipe::{Error, ErrorClass};
use rorqual_testkit::fault::{FaultPlan, FaultyIo};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, Write};
use std::sync::{Arc, Mutex};

/// The memory that files are read within.
const MEMORY_BYTES: u64 = 256 << 20;

/// Every type that we make, with nulls everywhere, in `rows` rows from row `first` on.
fn batch(first: usize, rows: usize) -> RecordBatch {
    let numbers = || (first..first + rows).map(|row| row as i64);
    let some = |row: i64, part: i64| row % part != 0;
    let ints: Int64Array = numbers().map(|row| some(row, 3).then_some(row * 1_000_003 - (1 << 40))).collect();
    let unsigned: UInt64Array = numbers().map(|row| some(row, 4).then_some(u64::MAX - row as u64)).collect();
    let floats: Float64Array = numbers().map(|row| some(row, 5).then_some(row as f64 / 7.0 - 1e300)).collect();
    let bools: BooleanArray = numbers().map(|row| some(row, 7).then_some(row % 2 == 0)).collect();
    let times: TimestampMicrosecondArray = numbers().map(|row| some(row, 6).then_some(row * 1_234_567)).collect();
    let texts: StringArray = numbers().map(|row| some(row, 2).then(|| format!("tëxt \"{row}\"\n"))).collect();
    let empty = StringArray::new_null(rows);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("int", Arc::new(ints)),
        ("unsigned", Arc::new(unsigned)),
        ("float", Arc::new(floats)),
        ("bool", Arc::new(bools)),
        ("time", Arc::new(times.with_timezone("UTC"))),
        ("text", Arc::new(texts)),
        ("never", Arc::new(empty)),
        ("coded", coded(first, rows)),
        ("list", lists(first, rows)),
        ("deep", deep(first, rows)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn coded(first: usize, rows: usize) -> ArrayRef {
    let mut builder = StringDictionaryBuilder::<Int32Type>::new();
    (first..first + rows).for_each(|row| builder.append_option((row % 11 != 0).then(|| format!("value {}", row % 5))));
    Arc::new(builder.finish())
}

fn lists(first: usize, rows: usize) -> ArrayRef {
    let mut builder = ListBuilder::new(Int64Builder::new());
    for row in first..first + rows {
        (0..row % 4).for_each(|place| builder.values().append_option((place != 1).then_some(row as i64)));
        builder.append(row % 9 != 0);
    }
    Arc::new(builder.finish())
}

/// A struct of a number and a list of structs.
fn deep(first: usize, rows: usize) -> ArrayRef {
    let fields = vec![Field::new("name", DataType::Utf8, true), Field::new("size", DataType::Int64, true)];
    let mut items = ListBuilder::new(StructBuilder::from_fields(fields, 0));
    for row in first..first + rows {
        for place in 0..row % 3 {
            let item = items.values();
            item.field_builder::<StringBuilder>(0).unwrap().append_option((place == 0).then(|| format!("n{row}")));
            item.field_builder::<Int64Builder>(1).unwrap().append_value(place as i64);
            item.append(row % 8 != 0);
        }
        items.append(true);
    }
    let items: ListArray = items.finish();
    let ids: Int64Array = (first..first + rows).map(|row| (row % 3 != 1).then_some(row as i64)).collect();
    let fields =
        vec![Field::new("id", DataType::Int64, true), Field::new("items", DataType::List(Arc::new(item_field(&items))), true)];
    let nulls = (first..first + rows).map(|row| row % 10 != 0).collect::<Vec<_>>();
    Arc::new(StructArray::new(fields.into(), vec![Arc::new(ids), Arc::new(items)], Some(nulls.into())))
}

fn item_field(list: &ListArray) -> Field {
    match arrow_array::Array::data_type(list) {
        DataType::List(field) => field.as_ref().clone(),
        _ => unreachable!(),
    }
}

/// Batches of very different sizes.
fn batches() -> Vec<RecordBatch> {
    let sizes = [1, 2, 700, 0, 3000, 5, 1, 1, 1, 4000].into_iter().chain(std::iter::repeat_n(3, 70));
    sizes.scan(0, |first, rows| Some(batch(std::mem::replace(first, *first + rows), rows))).collect()
}

fn settings(target: WriteTarget) -> WriteSettings {
    WriteSettings { group_bytes_max: 512 << 10, ..WriteSettings::new(target) }
}

/// Writes with so many threads: each prepares and pushes in order, and helps.
fn write(
    file: impl Write + Send + 'static,
    settings: &WriteSettings,
    batches: &[RecordBatch],
    threads: usize,
) -> Result<WriteSummary, Error> {
    let writer = BatchWriter::new(file, "out", &batches[0].schema(), settings)?;
    let next = Mutex::new(batches.iter());
    let work = || -> Result<(), Error> {
        loop {
            let mut turn = next.lock().unwrap();
            let Some(batch) = turn.next() else { return Ok(()) };
            writer.push(writer.prepare(batch.clone())?)?;
            drop(turn);
            if threads > 1 {
                writer.help()?;
            }
        }
    };
    let results: Vec<Result<(), Error>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    results.into_iter().collect::<Result<(), Error>>()?;
    writer.finish()
}

fn written(settings: &WriteSettings, batches: &[RecordBatch], threads: usize) -> (File, WriteSummary) {
    let file = tempfile::tempfile().unwrap();
    let written = write(file.try_clone().unwrap(), settings, batches, threads).unwrap();
    assert_eq!(written.bytes, file.metadata().unwrap().len());
    (file, written)
}

fn bytes(mut file: File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

fn table(file: File) -> TableFile {
    TableFile::open(file, "in", MEMORY_BYTES).unwrap().unwrap()
}

fn read(table: &TableFile, columns: Option<&[String]>, rows: &RowChoice) -> RecordBatch {
    let batches: Vec<RecordBatch> = table.batches(columns, rows).unwrap().map(Result::unwrap).collect();
    let schema: SchemaRef = batches.first().map_or_else(|| Arc::new(Schema::empty()), RecordBatch::schema);
    concat_batches(&schema, &batches).unwrap()
}

fn all(batches: &[RecordBatch]) -> RecordBatch {
    concat_batches(&batches[0].schema(), batches).unwrap()
}

/// The rows as JSON: dictionaries and their values look the same.
fn lines(batch: &RecordBatch) -> String {
    let mut out = Vec::new();
    rorqual_columnar::render::JsonRows::new(batch).unwrap().lines(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn parquet_gives_back_what_was_written() {
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd(1)] {
        let batches = batches();
        let (file, written) = written(&WriteSettings { codec, ..settings(WriteTarget::Parquet) }, &batches, 1);
        assert!(written.groups > 1, "{written:?}");
        assert_eq!(written.rows, 7921);
        let table = table(file);
        assert_eq!(table.schema(), &batches[0].schema());
        assert_eq!(lines(&read(&table, None, &RowChoice::All)), lines(&all(&batches)));
    }
}

#[test]
fn arrow_gives_back_what_was_written() {
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd(3)] {
        let batches = batches();
        let (file, written) = written(&WriteSettings { codec, ..settings(WriteTarget::Arrow) }, &batches, 1);
        assert_eq!(written.rows, 7921);
        assert_eq!(lines(&read(&table(file), None, &RowChoice::All)), lines(&all(&batches)));
    }
}

#[test]
fn rows_and_columns_are_chosen() {
    let batches = batches();
    let whole = all(&batches);
    for target in [WriteTarget::Parquet, WriteTarget::Arrow] {
        let table = table(written(&settings(target), &batches, 1).0);
        assert_eq!(table.rows().unwrap(), 7921);
        let text = ["text".to_owned()];
        let range = read(&table, Some(&text), &RowChoice::Range(600..5000));
        let expected = whole.project(&[5]).unwrap();
        assert_eq!(lines(&range), lines(&expected.slice(600, 4400)));
        let these = read(&table, Some(&text), &RowChoice::These(vec![1, 702, 703, 7920]));
        let expected: Vec<RecordBatch> = [1, 702, 703, 7920].map(|row| expected.slice(row, 1)).to_vec();
        assert_eq!(lines(&these), lines(&all(&expected)));
    }
}

#[test]
fn the_file_does_not_depend_on_who_helped() {
    let settings = settings(WriteTarget::Parquet);
    let (alone, _) = written(&settings, &batches(), 1);
    let alone = bytes(alone);
    for threads in [2, 5] {
        assert!(alone == bytes(written(&settings, &batches(), threads).0), "{threads} threads");
    }
}

#[test]
fn a_value_is_found_in_every_type() {
    let batches = batches();
    let whole = all(&batches);
    for target in [WriteTarget::Parquet, WriteTarget::Arrow] {
        for index in [vec![], ["int", "unsigned", "float", "text", "deep.id", "coded"].map(str::to_owned).to_vec()] {
            let table = table(written(&WriteSettings { index, ..settings(target) }, &batches, 1).0);
            // Row 5000: 5000 * 1,000,003 - 2^40; 2^64 - 1 - 5003; 5001 / 7 - 1e300 is -1e300 for
            // all rows.
            for (column, value, row) in [
                ("int", "-1094511612776", 5000),
                ("unsigned", "18446744073709546612", 5003),
                ("text", "tëxt \"4999\"\n", 4999),
                ("time", "1970-01-01T01:42:54.069567Z", 5001),
                ("deep.id", "5001", 5001),
            ] {
                let found: Vec<RecordBatch> = table.find(column, value, None).unwrap().map(Result::unwrap).collect();
                assert_eq!(lines(&all(&found)), lines(&whole.slice(row, 1)), "{column} {target:?}");
            }
            for (column, value) in [("int", "5"), ("text", "tëxt"), ("deep.id", "-1"), ("never", "")] {
                assert_eq!(table.find(column, value, None).unwrap().count(), 0, "{column} {target:?}");
            }
            let coded = table.find("coded", "value 3", None).unwrap().map(|batch| batch.unwrap().num_rows()).sum::<usize>();
            assert_eq!(coded, (0..7921).filter(|row| row % 5 == 3 && row % 11 != 0).count());
        }
    }
}

#[test]
fn what_can_not_have_the_value_is_not_read() {
    let batches: Vec<RecordBatch> = (0..40).map(|part| batch(part * 1000, 1000)).collect();
    let index = vec!["text".to_owned()];
    let (file, written) = written(&WriteSettings { index, ..settings(WriteTarget::Parquet) }, &batches, 1);
    let table = table(file);
    let columns = ["int".to_owned()];
    assert_eq!(table.find("text", "tëxt \"20001\"\n", Some(&columns)).unwrap().count(), 1);
    assert!(table.bytes_read() < written.bytes / 5, "{} of {}", table.bytes_read(), written.bytes);
}

#[test]
fn names_that_are_not_there_are_answered_with_near_ones() {
    let index = vec!["deep.ID".to_owned()];
    let error =
        write(Vec::new(), &WriteSettings { index, ..settings(WriteTarget::Parquet) }, &batches(), 1).unwrap_err().to_string();
    assert!(error.contains("no column 'deep.ID'") && error.contains("deep.id"), "{error}");
    let table = table(written(&settings(WriteTarget::Parquet), &batches(), 1).0);
    let error = table.find("txt", "x", None).err().unwrap().to_string();
    assert!(error.contains("no column 'txt'") && error.contains("text"), "{error}");
    let error = table.find("int", "x", None).err().unwrap().to_string();
    assert!(error.contains("'x' is not a value") && error.contains("Int64"), "{error}");
}

#[test]
fn a_failure_at_any_write_is_told_once_and_hangs_nobody() {
    let batches = &batches()[..6];
    for target in [WriteTarget::Parquet, WriteTarget::Arrow, WriteTarget::Ndjson, WriteTarget::Csv] {
        for threads in [1, 3] {
            let mut at = 0;
            loop {
                let fault = FaultPlan::new(at, true, ErrorKind::StorageFull);
                let sink = FaultyIo::new(Vec::new(), 64 << 10, &fault);
                let result = write(sink, &settings(target), batches, threads);
                if !fault.reached() {
                    result.unwrap();
                    break;
                }
                let error = result.unwrap_err();
                assert_eq!(error.kind(), ErrorClass::Io, "{error}");
                assert!(error.to_string().contains("out: cannot write"), "{error}");
                at += 1;
            }
            assert!(at > 0);
        }
    }
}

#[test]
fn a_reader_that_has_gone_stops_the_writing() {
    let fault = FaultPlan::new(0, true, ErrorKind::BrokenPipe);
    let error = write(FaultyIo::new(Vec::new(), 1 << 20, &fault), &settings(WriteTarget::Ndjson), &batches(), 1).unwrap_err();
    assert_eq!(error.kind(), ErrorClass::Stopped);
}

#[test]
fn ndjson_has_every_value_exactly() {
    let row = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let text = lines(&batch(0, 3));
    let rows: Vec<_> = text.lines().map(row).collect();
    assert_eq!(rows[0], row(r#"{"deep": null, "list": null}"#).as_object().map(|_| serde_json::json!({})).unwrap());
    let expected = serde_json::json!({
        "int": 1_000_003_i64 - (1_i64 << 40), "unsigned": u64::MAX - 1, "float": 1.0 / 7.0 - 1e300, "bool": false,
        "time": "1970-01-01T00:00:01.234567Z", "text": "tëxt \"1\"\n", "coded": "value 1", "list": [1],
        "deep": {"items": [{"name": "n1", "size": 0}]},
    });
    assert_eq!(rows[1], expected);
    assert_eq!(rows[2]["deep"], serde_json::json!({"id": 2, "items": [{"name": "n2", "size": 0}, {"size": 1}]}));
    assert_eq!(rows[2]["list"], serde_json::json!([2, null]));
}

#[test]
fn text_that_is_json_stays_json() {
    let json = Field::new("raw", DataType::Utf8, true);
    let json = json.with_metadata([("ARROW:extension:name".to_owned(), "arrow.json".to_owned())].into());
    let plain = Field::new("plain", DataType::Utf8, true);
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some(r#"{"a":[1,1e400]}"#), None]));
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![json, plain])), vec![Arc::clone(&texts), texts]).unwrap();
    assert_eq!(lines(&batch), "{\"raw\":{\"a\":[1,1e400]},\"plain\":\"{\\\"a\\\":[1,1e400]}\"}\n{}\n");
}

#[test]
fn records_that_are_no_objects_and_what_has_no_column_come_back() {
    let json = |name: &str| {
        let field = Field::new(name, DataType::Utf8, true);
        field.with_metadata([("ARROW:extension:name".to_owned(), "arrow.json".to_owned())].into())
    };
    let value = Field::new("value", DataType::Int64, true).with_metadata([("rorqual:record".to_owned(), String::new())].into());
    let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(5), None, None]));
    let rest: ArrayRef = Arc::new(StringArray::from(vec![None, Some("{\"$\":[\"x\"]}"), None]));
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![value, json("_rest")])), vec![Arc::clone(&values), rest]).unwrap();
    assert_eq!(lines(&batch), "5\n[\"x\"]\nnull\n");
    let rest: ArrayRef = Arc::new(StringArray::from(vec![Some("{\"b\":{\"c\":1},\"d.e\":2}"), Some("{\"a\":1e999}"), None]));
    let fields = vec![Field::new("a", DataType::Int64, true), json("_rest")];
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![values, rest]).unwrap();
    assert_eq!(lines(&batch), "{\"a\":5,\"b\":{\"c\":1},\"_rest\":{\"d.e\":2}}\n{\"a\":1e999}\n{}\n");
}

#[test]
fn csv_is_as_rfc_4180_has_it() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a,b"), Some("say \"x\""), Some(""), None, Some("two\nlines")]));
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.1, 1e300, f64::NAN, -0.0, 5.0]));
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>([
        Some(vec![Some(1), None]),
        Some(vec![]),
        None,
        None,
        None,
    ]));
    let batch = RecordBatch::try_from_iter([("t", texts), ("f,", floats), ("l", lists)]).unwrap();
    let (file, _) = written(&settings(WriteTarget::Csv), &[batch], 1);
    let expected = "t,\"f,\",l\n\"a,b\",0.1,\"[1,null]\"\n\"say \"\"x\"\"\",1e+300,[]\n\"\",NaN,\n,-0.0,\n\"two\nlines\",5.0,\n";
    assert_eq!(String::from_utf8(bytes(file)).unwrap().replace("1e300", "1e+300"), expected);
}

#[test]
fn a_file_without_rows_has_its_columns() {
    for target in [WriteTarget::Parquet, WriteTarget::Arrow] {
        let empty = batch(0, 0);
        let table = table(written(&settings(target), &[empty], 1).0);
        assert_eq!((table.rows().unwrap(), table.schema().fields().len()), (0, 10));
        assert_eq!(table.batches(None, &RowChoice::All).unwrap().count(), 0);
    }
}

#[test]
fn ten_thousand_columns_are_bounded_groups() {
    let names: Vec<String> = (0..10_000).map(|column| format!("c{column}")).collect();
    let values: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let batch = RecordBatch::try_from_iter(names.iter().map(|name| (name.as_str(), Arc::clone(&values)))).unwrap();
    let batches = vec![batch; 40];
    let (file, written) = written(&WriteSettings::new(WriteTarget::Parquet), &batches, 2);
    assert_eq!((written.rows, written.groups), (40, 1));
    assert_eq!(table(file).schema().fields().len(), 10_000);
}

#[test]
fn a_footer_of_many_row_groups_takes_little_while_it_is_written() {
    // As 100 GiB of JSON with 60 columns in 256 MiB: there 3,000 groups and 32 MiB for the footer,
    // here 300 and 3.2 MiB.
    let names: Vec<String> = (0..60).map(|column| format!("column {column}")).collect();
    let batch = |group: i64| {
        let column = |column: i64| -> ArrayRef {
            if column % 2 == 0 {
                Arc::new(Int64Array::from_iter_values((0..40).map(|row| (group << 32) + row * column)))
            } else {
                let texts = (0..40).map(|row| format!("a text of group {group}, row {row}, column {column}"));
                Arc::new(StringArray::from_iter_values(texts))
            }
        };
        RecordBatch::try_from_iter(names.iter().map(String::as_str).zip((0..60).map(column))).unwrap()
    };
    let batches: Vec<RecordBatch> = (0..300).map(batch).collect();
    let index = vec!["column 1".to_owned()];
    let settings = WriteSettings {
        group_bytes_max: 1,
        footer_bytes_max: (32 << 20) / 10,
        index,
        ..WriteSettings::new(WriteTarget::Parquet)
    };
    let (file, written) = written(&settings, &batches, 1);
    assert_eq!((written.groups, written.rows), (300, 12_000));
    let table = table(file);
    assert_eq!(table.rows().unwrap(), 12_000);
    assert_eq!(lines(&read(&table, None, &RowChoice::Range(11_980..12_000))), lines(&batches[299].slice(20, 20)));
    let text = "a text of group 250, row 7, column 1";
    let found: Vec<RecordBatch> = table.find("column 1", text, None).unwrap().map(Result::unwrap).collect();
    assert_eq!(lines(&all(&found)), lines(&batches[250].slice(7, 1)));
    let small = WriteSettings { footer_bytes_max: 100 << 10, ..settings };
    let error = write(Vec::new(), &small, &batches, 1).unwrap_err().to_string();
    assert!(error.contains("footer") && error.contains("\"memory\""), "{error}");
}

#[test]
fn broken_files_are_told_and_never_panic() {
    for target in [WriteTarget::Parquet, WriteTarget::Arrow] {
        let whole = bytes(written(&settings(target), &[batch(0, 50)], 1).0);
        for place in (0..whole.len()).step_by(7).chain(whole.len().saturating_sub(600)..whole.len()) {
            let mut broken = whole.clone();
            broken[place] ^= 0x55;
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&broken).unwrap();
            // Whatever it is, it ends.
            if let Ok(Some(table)) = TableFile::open(file, "in", MEMORY_BYTES) {
                let _ = table.batches(None, &RowChoice::All).map(|batches| batches.take_while(Result::is_ok).count());
            }
        }
        for end in [9, 100, whole.len() - 1] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&whole[..end]).unwrap();
            assert!(TableFile::open(file, "in", MEMORY_BYTES).is_err(), "cut at {end}");
        }
    }
}

/// Parquet has no seconds, and no dates in milliseconds: as bare integers others would not read
/// them.
#[test]
fn seconds_and_dates_in_milliseconds_have_a_type_in_parquet() {
    let times: ArrayRef = Arc::new(TimestampSecondArray::from(vec![Some(1_735_689_600), None]).with_timezone("UTC"));
    let clocks: ArrayRef = Arc::new(Time32SecondArray::from(vec![3_600, 86_399]));
    let dates: ArrayRef = Arc::new(Date64Array::from(vec![Some(20_089 * 86_400_000), Some(-86_400_000)]));
    let batch = RecordBatch::try_from_iter([("at", times), ("clock", clocks), ("day", dates)]).unwrap();
    let (file, _) = written(&WriteSettings::new(WriteTarget::Parquet), &[batch], 2);
    let found = read(&table(file), None, &RowChoice::All);
    let types: Vec<&DataType> = found.columns().iter().map(|column| column.data_type()).collect();
    let moment = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    assert_eq!(types, [&moment, &DataType::Time32(TimeUnit::Millisecond), &DataType::Date32]);
    assert_eq!(found.column(0).as_primitive::<TimestampMillisecondType>().value(0), 1_735_689_600_000);
    assert!(found.column(0).is_null(1));
    assert_eq!(found.column(1).as_primitive::<Time32MillisecondType>().values(), &[3_600_000, 86_399_000]);
    assert_eq!(found.column(2).as_primitive::<Date32Type>().values(), &[20_089, -1]);

    let refused = |array: ArrayRef| {
        let batch = RecordBatch::try_from_iter([("x", array)]).unwrap();
        let settings = WriteSettings::new(WriteTarget::Parquet);
        let writer = BatchWriter::new(Vec::new(), "out.parquet", &batch.schema(), &settings).unwrap();
        writer.prepare(batch).err().expect("it would be changed").to_string()
    };
    let dated = refused(Arc::new(Date64Array::from(vec![86_400_001])));
    assert!(dated.contains("the column 'x' has dates with a time of day"), "{dated}");
    let far = refused(Arc::new(TimestampSecondArray::from(vec![i64::MAX])));
    assert!(far.contains("the column 'x' has a value that Parquet has no place for"), "{far}");
}

/// 24:00:00 is no time of a day for a text, and the fault of the input, not of the output.
#[test]
fn a_value_without_a_text_does_not_name_the_output() {
    let times: ArrayRef = Arc::new(Time32SecondArray::from(vec![86_399, 86_400]));
    let batch = RecordBatch::try_from_iter([("t", times)]).unwrap();
    for target in [WriteTarget::Ndjson, WriteTarget::Csv] {
        let writer = BatchWriter::new(Vec::new(), "out", &batch.schema(), &WriteSettings::new(target)).unwrap();
        assert!(writer.prepare(batch.slice(0, 1)).is_ok());
        let error = writer.prepare(batch.clone()).err().expect("no text").of_input("in.arrow");
        let said = error.to_string();
        assert!(said.starts_with("in.arrow: a value has no text: ") && said.contains("86400"), "{said}");
    }
}
