//! Types of foreign files that are read wrong at face value, and streams.

use arrow_array::builder::{Int32Builder, ListViewBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, IntervalMonthDayNanoType};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, IntervalMonthDayNanoArray, RecordBatch, RecordBatchOptions, RunArray,
    StringArray, UnionArray,
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit, UnionFields};
use parquet::arrow::{ArrowWriter, add_encoded_arrow_schema_to_metadata};
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{FixedLenByteArray, FixedLenByteArrayType, Int96, Int96Type};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use rorqual_columnar::read::{RowChoice, TableFile, is_stream, is_table, schema_bytes, schema_of_bytes};
use rorqual_columnar::render::JsonRows;
use rorqual_columnar::write::{BatchWriter, WriteSettings, WriteTarget};
use rorqual_pipe::{Error, ErrorClass};
use std::fs::File;
use std::io::{Cursor, Write};
use std::sync::Arc;

const MIB: usize = 1 << 20;
const MEMORY_BYTES: u64 = 16 << 20;

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

fn open(bytes: &[u8]) -> Result<TableFile, Error> {
    TableFile::open(file(bytes), "in", MEMORY_BYTES).map(Option::unwrap)
}

/// Reason for which it can't be opened.
fn refusal(bytes: &[u8]) -> String {
    open(bytes).map(|_| ()).unwrap_err().to_string()
}

/// The rows as JSON, a line each, and the error that ended them.
fn lines(table: &TableFile) -> (String, Option<Error>) {
    let mut lines = Vec::new();
    for batch in table.batches(None, &RowChoice::All).unwrap() {
        match batch {
            Ok(batch) => JsonRows::new(&batch).unwrap().lines(&mut lines),
            Err(error) => return (String::from_utf8(lines).unwrap(), Some(error)),
        }
    }
    (String::from_utf8(lines).unwrap(), None)
}

fn all_lines(table: &TableFile) -> String {
    let (lines, error) = lines(table);
    assert!(error.is_none(), "{error:?}");
    lines
}

fn arrow_file(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn arrow_stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap()
}

fn numbers(from: i32, to: i32) -> RecordBatch {
    let numbers: ArrayRef = Arc::new((from..to).collect::<Int32Array>());
    RecordBatch::try_from_iter([("n", numbers)]).unwrap()
}

fn parquet(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// Julian days begin with this one of 1970.
const EPOCH_DAY: i64 = 2_440_588;

fn int96(days: i64, nanos: u64) -> Int96 {
    let mut value = Int96::new();
    value.set_data(nanos as u32, (nanos >> 32) as u32, (days + EPOCH_DAY) as u32);
    value
}

/// The moments 9999-12-31, 0001-01-01 and 2024-02-29, by their days since 1970, in a column and in
/// a struct; with the schema of Arrow that pyarrow keeps in a file.
fn moments_of_96_bits(kept: Option<&Schema>) -> Vec<u8> {
    let schema = Arc::new(parse_message_type("message m { required int96 t; required group s { required int96 u; } }").unwrap());
    let mut properties = WriterProperties::default();
    if let Some(kept) = kept {
        add_encoded_arrow_schema_to_metadata(kept, &mut properties);
    }
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let values = [int96(2_932_896, 0), int96(-719_162, 86_399_999_999_000), int96(19_782, 3_600_000_000_000)];
    while let Some(mut column) = group.next_column().unwrap() {
        column.typed::<Int96Type>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

#[test]
fn moments_of_96_bits_reach_beyond_2262() {
    let expected = ["9999-12-31T00:00:00", "0001-01-01T23:59:59.999999", "2024-02-29T01:00:00"];
    let expected: String = expected.iter().map(|t| format!("{{\"t\":\"{t}\",\"s\":{{\"u\":\"{t}\"}}}}\n")).collect();
    let table = open(&moments_of_96_bits(None)).unwrap();
    assert_eq!(all_lines(&table), expected);
    // The same of some columns.
    let some = table.batches(Some(&["s.u".to_owned()]), &RowChoice::Range(0..1)).unwrap().next().unwrap().unwrap();
    let mut line = Vec::new();
    JsonRows::new(&some).unwrap().lines(&mut line);
    assert_eq!(line, b"{\"s\":{\"u\":\"9999-12-31T00:00:00\"}}\n");
}

/// Nanoseconds have no room for them; a coarser unit has.
#[test]
fn moments_of_96_bits_do_so_where_the_file_says_nanoseconds() {
    let schema = |unit: TimeUnit, zone: Option<&str>| {
        let moments = |name: &str| Field::new(name, DataType::Timestamp(unit, zone.map(Into::into)), false);
        let inner = Fields::from(vec![moments("u")]);
        Schema::new(vec![moments("t"), Field::new("s", DataType::Struct(inner), false)])
    };
    let lines = |moments: [&str; 3]| -> String {
        moments.iter().map(|t| format!("{{\"t\":\"{t}\",\"s\":{{\"u\":\"{t}\"}}}}\n")).collect()
    };
    let expected = lines(["9999-12-31T00:00:00", "0001-01-01T23:59:59.999999", "2024-02-29T01:00:00"]);
    let kept = |unit, zone| all_lines(&open(&moments_of_96_bits(Some(&schema(unit, zone)))).unwrap());
    assert_eq!(kept(TimeUnit::Nanosecond, None), expected);
    assert_eq!(kept(TimeUnit::Microsecond, None), expected);
    let in_utc = lines(["9999-12-31T00:00:00Z", "0001-01-01T23:59:59.999999Z", "2024-02-29T01:00:00Z"]);
    assert_eq!(kept(TimeUnit::Nanosecond, Some("UTC")), in_utc);
    let in_millis = lines(["9999-12-31T00:00:00", "0001-01-01T23:59:59.999", "2024-02-29T01:00:00"]);
    assert_eq!(kept(TimeUnit::Millisecond, None), in_millis);
}

/// The columns beside them are read as the file says.
#[test]
fn moments_of_96_bits_are_found_among_other_columns() {
    let list =
        "required group l (LIST) { repeated group list { required group element { required int64 a; required int96 t; } } }";
    let schema = format!(
        "message m {{ required binary d (STRING); {list} required int64 b (TIMESTAMP(NANOS,false)); required int96 u; }}"
    );
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let nanos = |name: &str| Field::new(name, DataType::Timestamp(TimeUnit::Nanosecond, None), false);
    let element = Fields::from(vec![Field::new("a", DataType::Int64, false), nanos("t")]);
    let element = Arc::new(Field::new("element", DataType::Struct(element), false));
    let coded = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    for list in [DataType::List(Arc::clone(&element)), DataType::LargeList(Arc::clone(&element)), DataType::ListView(element)] {
        let kept = [Field::new("d", coded.clone(), false), Field::new("l", list, false), nanos("b"), nanos("u")];
        let mut properties = WriterProperties::default();
        add_encoded_arrow_schema_to_metadata(&Schema::new(kept.to_vec()), &mut properties);
        let mut bytes = Vec::new();
        let mut writer = SerializedFileWriter::new(&mut bytes, Arc::clone(&schema), Arc::new(properties)).unwrap();
        let mut group = writer.next_row_group().unwrap();
        while let Some(mut column) = group.next_column().unwrap() {
            let (defined, repeated) = (Some(&[1_i16][..]), Some(&[0_i16][..]));
            match column.untyped() {
                ColumnWriter::ByteArrayColumnWriter(column) => column.write_batch(&["x".into()], None, None),
                ColumnWriter::Int64ColumnWriter(column) => column.write_batch(&[1], defined, repeated),
                ColumnWriter::Int96ColumnWriter(column) => column.write_batch(&[int96(2_932_896, 0)], defined, repeated),
                _ => unreachable!(),
            }
            .unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
        writer.close().unwrap();
        let moment = "9999-12-31T00:00:00";
        let row = format!(
            "{{\"d\":\"x\",\"l\":[{{\"a\":1,\"t\":\"{moment}\"}}],\"b\":\"1970-01-01T00:00:00.000000001\",\"u\":\"{moment}\"}}\n"
        );
        assert_eq!(all_lines(&open(&bytes).unwrap()), row);
    }
}

#[test]
fn a_footer_that_contradicts_itself_about_rows_is_refused() {
    let whole = parquet(&numbers(0, 6));
    // The footer's third field, a number of 64 bits, which is six in zigzag; and the list that
    // follows.
    let places: Vec<usize> = (0..whole.len() - 3).filter(|at| whole[*at..].starts_with(&[0x16, 12, 0x19])).collect();
    let [place] = places[..] else { panic!("{places:?}") };
    let with_rows = |rows: u8| {
        let mut bytes = whole.clone();
        bytes[place + 1] = 2 * rows;
        bytes
    };
    assert_eq!(all_lines(&open(&with_rows(6)).unwrap()).lines().count(), 6);
    let said = "in: not a sound Parquet file: its footer says 0 rows, and its row groups have 6";
    assert_eq!(refusal(&with_rows(0)), said);
}

#[test]
fn intervals_of_parquet_are_refused_by_the_column() {
    let schema = "message m { required int32 a; required fixed_len_byte_array(12) i (INTERVAL); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<parquet::data_type::Int32Type>().write_batch(&[1], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let months = FixedLenByteArray::from(vec![14, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
    column.typed::<FixedLenByteArrayType>().write_batch(&[months], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    assert!(refusal(&bytes).contains("the column 'i' is an INTERVAL of months, days and milliseconds"), "{}", refusal(&bytes));
}

#[test]
fn encrypted_parquet_is_named() {
    let mut bytes = parquet(&numbers(0, 3));
    let end = bytes.len() - 4;
    bytes[..4].copy_from_slice(b"PARE");
    bytes[end..].copy_from_slice(b"PARE");
    assert!(is_table(&bytes));
    let said = "in: is encrypted Parquet, which is not read: no keys are taken, so decrypt it first";
    assert_eq!(refusal(&bytes), said);
    bytes[..4].copy_from_slice(b"PAR1");
    assert_eq!(refusal(&bytes), said);
}

/// A file whose pages are so large: of 1 GiB, one for each column of a row group.
fn of_large_pages(
    batch: &RecordBatch,
    page_bytes: usize,
    more: impl FnOnce(WriterPropertiesBuilder) -> WriterPropertiesBuilder,
) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_dictionary_enabled(false)
        .set_data_page_size_limit(page_bytes)
        .set_write_batch_size(if page_bytes == 1 << 30 { 1 << 20 } else { 1 });
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(more(properties).build())).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

#[test]
fn a_page_as_large_as_a_row_group_is_read_where_it_has_room() {
    let texts = |rows: usize, page_bytes: usize| {
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|row| format!("{row:010240}"))));
        // Its page is held beside that of the texts.
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter((0..rows).map(|row| i32::try_from(row).ok())));
        let batch = RecordBatch::try_from_iter([("text", texts), ("number", numbers)]).unwrap();
        of_large_pages(&batch, page_bytes, |properties| properties)
    };
    // 8 MiB in a memory of 16, of which pages have two: DuckDB writes such.
    // So are several, which have room one at a time, whatever the size of the first.
    for (count, page_bytes) in [(800, 1 << 30), (2_000, 6 << 20), (2_100, 8 << 20)] {
        let table = open(&texts(count, page_bytes)).unwrap();
        assert!((6 << 20..9 << 20).contains(&table.large_page_bytes()), "{}", table.large_page_bytes());
        assert_eq!(Vec::from_iter(table.large_pages(16 << 20).columns.into_keys()), ["text"]);
        let mut rows = 0;
        for batch in table.batches(None, &RowChoice::All).unwrap() {
            let batch = batch.unwrap();
            assert!(batch.get_array_memory_size() < 3 * MIB);
            for text in batch.column(0).as_string::<i32>().iter() {
                assert_eq!(text, Some(format!("{rows:010240}").as_str()));
                rows += 1;
            }
        }
        assert_eq!(rows, count);
    }
    let (_, error) = lines(&open(&texts(1_200, 1 << 30)).unwrap());
    let error = error.expect("more than there is room for");
    assert_eq!(error.kind(), ErrorClass::Limit);
    assert!(error.to_string().contains("more \"memory\""), "{error}");
}

/// Pages of some 20 MiB in a memory of 64, of which pages have 40: one column has room, two have
/// none side by side.
#[test]
fn columns_of_large_pages_are_read_in_turns_where_they_have_no_room_side_by_side() {
    let count = 5_000;
    let first = |row: usize| (row % 7 != 3).then(|| format!("{row:010240}"));
    let second = |row: usize| format!("{row:>0width$}", width = 7_000 + row);
    let bytes = |compression: Compression| {
        let firsts: ArrayRef = Arc::new(StringArray::from_iter((0..count).map(first)));
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter((0..count).map(|row| i32::try_from(row).ok())));
        let seconds: ArrayRef = Arc::new(StringArray::from_iter_values((0..count).map(second)));
        let batch = RecordBatch::try_from_iter([("first", firsts), ("number", numbers), ("second", seconds)]).unwrap();
        of_large_pages(&batch, 1 << 30, |properties| {
            properties.set_compression(compression).set_max_row_group_row_count(Some(2_400))
        })
    };
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(ZstdLevel::default())] {
        let table = TableFile::open(file(&bytes(compression)), "in", 64 << 20).unwrap().unwrap();
        let large = table.large_pages(64 << 20);
        assert_eq!(Vec::from_iter(large.columns.keys()), ["first", "second"]);
        assert!(
            large.bytes_of(|_| true) > 40 << 20 && (20 << 20..40 << 20).contains(&table.large_page_bytes()),
            "{}",
            table.large_page_bytes()
        );
        let these = vec![3, 2_399, 2_400, 4_800, 4_999];
        let choices = [
            (RowChoice::All, (0..count).collect::<Vec<_>>()),
            (RowChoice::Range(2_350..4_850), (2_350..4_850).collect()),
            (RowChoice::These(these.clone()), these.iter().map(|row| *row as usize).collect()),
        ];
        for (choice, expected) in choices {
            let mut rows = Vec::new();
            for batch in table.batches(None, &choice).unwrap() {
                let batch = batch.unwrap();
                assert_eq!(batch.schema(), *table.schema());
                assert!(batch.get_array_memory_size() < 6 * MIB, "{}", batch.get_array_memory_size());
                let numbers = batch.column(1).as_primitive::<Int32Type>();
                for (place, number) in numbers.values().iter().enumerate() {
                    let row = usize::try_from(*number).unwrap();
                    let firsts = batch.column(0).as_string::<i32>();
                    assert_eq!(firsts.is_valid(place).then(|| firsts.value(place).to_owned()), first(row));
                    assert_eq!(batch.column(2).as_string::<i32>().value(place), second(row));
                    rows.push(row);
                }
            }
            assert_eq!(rows, expected, "{choice:?}");
        }
    }
}

#[test]
fn list_views_and_runs_are_read_as_what_they_stand_for() {
    let mut views = ListViewBuilder::new(Int32Builder::new());
    views.append_value([Some(1), Some(2)]);
    views.append_null();
    views.append_value([None, Some(3)]);
    let ends = Int32Array::from(vec![2, 3]);
    let runs = RunArray::<Int32Type>::try_new(&ends, &StringArray::from(vec!["a", "b"])).unwrap();
    let columns: [(&str, ArrayRef); 2] = [("views", Arc::new(views.finish())), ("runs", Arc::new(runs))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let table = open(&arrow_file(&batch)).unwrap();
    let types: Vec<String> = table.schema().fields().iter().map(|field| field.data_type().to_string()).collect();
    assert_eq!(types, ["List(Int32)", "Utf8"]);
    assert_eq!(all_lines(&table), "{\"views\":[1,2],\"runs\":\"a\"}\n{\"runs\":\"a\"}\n{\"views\":[null,3],\"runs\":\"b\"}\n");
    let found = table.find("runs", "b", None).unwrap().next().unwrap().unwrap();
    assert_eq!(found.num_rows(), 1);
}

#[test]
fn unions_and_names_that_come_twice_are_refused() {
    let members = UnionFields::from_fields(vec![Field::new("i", DataType::Int32, true), Field::new("s", DataType::Utf8, true)]);
    let children: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(vec![7, 8])), Arc::new(StringArray::from(vec!["x", "y"]))];
    let union: ArrayRef = Arc::new(UnionArray::try_new(members, vec![0_i8, 1].into(), None, children).unwrap());
    let batch = RecordBatch::try_from_iter([("u", union)]).unwrap();
    for bytes in [arrow_file(&batch), arrow_stream(std::slice::from_ref(&batch))] {
        assert_eq!(refusal(&bytes), "in: the column 'u' is a union, which is not read");
    }
    let written = BatchWriter::new(Vec::new(), "out", &batch.schema(), &WriteSettings::new(WriteTarget::Parquet)).map(|_| ());
    assert_eq!(written.unwrap_err().to_string(), "out: Parquet has no place for the column 'u': it is a union");

    let field = || Field::new("a", DataType::Int32, true);
    let schema: SchemaRef = Arc::new(Schema::new(vec![field(), field()]));
    let column = || -> ArrayRef { Arc::new(Int32Array::from(vec![1])) };
    let twice = RecordBatch::try_new(Arc::clone(&schema), vec![column(), column()]).unwrap();
    let said = "in: it has two columns 'a', and columns are told apart by their names";
    for bytes in [arrow_file(&twice), arrow_stream(std::slice::from_ref(&twice)), parquet(&twice)] {
        assert_eq!(refusal(&bytes), said);
    }
    for target in [WriteTarget::Parquet, WriteTarget::Arrow, WriteTarget::Ndjson] {
        let written = BatchWriter::new(Vec::new(), "out", &schema, &WriteSettings::new(target)).map(|_| ());
        assert!(written.unwrap_err().to_string().starts_with("out: two columns are named 'a'"));
    }
}

#[test]
fn intervals_with_months_stay_whole_as_text_and_are_none_of_parquet() {
    let months = IntervalMonthDayNanoType::make_value(14, 3, 5_000_000_000);
    let intervals: ArrayRef = Arc::new(IntervalMonthDayNanoArray::from(vec![months]));
    let batch = RecordBatch::try_from_iter([("i", intervals)]).unwrap();
    let line = all_lines(&open(&arrow_file(&batch)).unwrap());
    assert!(line.contains("14 mons 3 days 5"), "{line}");
    let written = BatchWriter::new(Vec::new(), "out", &batch.schema(), &WriteSettings::new(WriteTarget::Parquet)).map(|_| ());
    let said = "out: Parquet has no place for the column 'i': it has intervals with nanoseconds";
    assert_eq!(written.unwrap_err().to_string(), said);
}

/// A schema without columns, as FlatBuffers have it, whose numbers are in this order of bytes: its
/// table with the places of its fields before it, and an empty vector.
fn schema_table(endianness: u8) -> Vec<u8> {
    let places = [8, 0, 12, 0, 8, 0, 4, 0];
    let table = [8, 0, 0, 0, 8, 0, 0, 0, endianness, 0, 0, 0];
    [&places[..], &table[..], &[0; 4]].concat()
}

/// A file without batches.
fn empty_file(endianness: u8) -> Vec<u8> {
    // Its root, the places of version and schema, and the table that refers to the schema, 16 bytes
    // on.
    let footer = [[12, 0, 0, 0], [8, 0, 12, 0], [8, 0, 4, 0], [8, 0, 0, 0], [16, 0, 0, 0], [4, 0, 0, 0]].concat();
    let footer = [footer, schema_table(endianness)].concat();
    [b"ARROW1\0\0", &footer[..], &(footer.len() as u32).to_le_bytes(), b"ARROW1"].concat()
}

/// A stream of that schema alone: version 5, a header of kind 1.
fn empty_stream(endianness: u8) -> Vec<u8> {
    let message = [[16, 0, 0, 0], [10, 0, 12, 0], [8, 0, 10, 0], [4, 0, 0, 0], [12, 0, 0, 0], [16, 0, 0, 0], [4, 0, 1, 0]];
    let message = [message.concat(), schema_table(endianness), vec![0; 4]].concat();
    [&[0xff; 4], &(message.len() as u32).to_le_bytes()[..], &message].concat()
}

#[test]
fn numbers_in_the_order_of_other_machines_are_refused() {
    for make in [empty_file, empty_stream] {
        assert_eq!(open(&make(0)).unwrap().schema().fields().len(), 0);
        assert!(refusal(&make(1)).contains("its numbers are big-endian, which is not read"), "{}", refusal(&make(1)));
    }
}

#[test]
fn a_stream_is_read_from_a_file_and_from_a_pipe() {
    let bytes = arrow_stream(&[numbers(0, 3), numbers(3, 5)]);
    assert!(is_stream(&bytes) && is_table(&bytes));
    let expected = "{\"n\":0}\n{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n";
    let table = open(&bytes).unwrap();
    assert_eq!((all_lines(&table).as_str(), table.rows().unwrap()), (expected, 5));
    let some = table.batches(None, &RowChoice::These(vec![1, 4])).unwrap().map(|batch| batch.unwrap().num_rows()).sum::<usize>();
    assert_eq!(some, 2);
    let piped = TableFile::stream(Box::new(Cursor::new(bytes.clone())), "pipe", MEMORY_BYTES).unwrap();
    assert_eq!(all_lines(&piped), expected);
    assert!(piped.batches(None, &RowChoice::All).map(|_| ()).unwrap_err().to_string().contains("can be read only once"));
    // The mark of the end may be missing; anything else is told.
    let whole = bytes.len() - 8;
    for end in 8..=whole {
        match open(&bytes[..end]) {
            Ok(table) => match lines(&table) {
                (_, Some(_)) => {}
                (read, None) => assert!(expected.starts_with(&read) && (end == whole) == (read == expected), "cut at {end}"),
            },
            Err(error) => assert_eq!(error.kind(), ErrorClass::Corrupt, "cut at {end}: {error}"),
        }
    }
}

#[test]
fn bytes_after_the_end_of_a_stream_are_an_error_after_its_rows() {
    let bytes = arrow_stream(&[numbers(0, 3), numbers(3, 5)]);
    let said = format!("not a sound Arrow file: bytes follow the end of the stream at byte {}", bytes.len());
    let rows = "{\"n\":0}\n{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n";
    for after in [&bytes[..], b"\n", &[0; 8]] {
        let followed = [&bytes[..], after].concat();
        let table = open(&followed).unwrap();
        let piped = TableFile::stream(Box::new(Cursor::new(followed)), "in", MEMORY_BYTES).unwrap();
        for table in [&table, &piped] {
            let (read, error) = lines(table);
            let error = error.expect("an error after the rows");
            assert_eq!((read.as_str(), error.kind(), error.to_string()), (rows, ErrorClass::Corrupt, format!("in: {said}")));
        }
        assert_eq!(table.rows().unwrap_err().to_string(), format!("in: {said}"));
    }
    // Without the mark of its end, a second stream begins with a schema out of place.
    let joined = [&bytes[..bytes.len() - 8], &bytes[..]].concat();
    let (read, error) = lines(&open(&joined).unwrap());
    assert_eq!((read.as_str(), error.map(|error| error.kind())), (rows, Some(ErrorClass::Corrupt)));
}

#[test]
fn a_dictionary_of_a_stream_may_be_replaced() {
    let coded = |values: [&str; 2]| {
        let keys = Int32Array::from(vec![0, 1, 1]);
        let coded: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::new(StringArray::from(values.to_vec()))));
        RecordBatch::try_from_iter([("c", coded)]).unwrap()
    };
    let table = open(&arrow_stream(&[coded(["a", "b"]), coded(["c", "d"])])).unwrap();
    assert_eq!(all_lines(&table), "{\"c\":\"a\"}\n{\"c\":\"b\"}\n{\"c\":\"b\"}\n{\"c\":\"c\"}\n{\"c\":\"d\"}\n{\"c\":\"d\"}\n");
}

#[test]
fn a_stream_whose_batches_have_no_room_is_refused() {
    let bytes = arrow_stream(&[numbers(0, 10), numbers(0, 1 << 20)]);
    let (read, error) = lines(&open(&bytes).unwrap());
    assert_eq!(read.lines().count(), 10);
    let error = error.expect("4 MiB in a share of 2");
    assert_eq!(error.kind(), ErrorClass::Limit);
    assert!(error.to_string().contains("or smaller batches at byte "), "{error}");
    // No batch is as large as a damaged one may say.
    let (bytes, length) = (arrow_stream(&[numbers(0, 10)]), 1_u64 << 60);
    let errors = (64..bytes.len() - 8).step_by(4).filter_map(|at| {
        let damaged = [&bytes[..at], &length.to_le_bytes(), &bytes[at + 8..]].concat();
        open(&damaged).map_or_else(Some, |table| lines(&table).1)
    });
    let told: Vec<_> = errors.filter(|error| error.to_string().contains("message 0 of 11529215")).collect();
    assert!(!told.is_empty() && told.iter().all(|error| error.kind() == ErrorClass::Corrupt), "{told:?}");
    let bytes = arrow_file(&numbers(0, 10));
    let errors = (64..bytes.len() - 8).step_by(4).filter_map(|at| {
        let damaged = [&bytes[..at], &length.to_le_bytes(), &bytes[at + 8..]].concat();
        open(&damaged).map_or_else(Some, |table| lines(&table).1)
    });
    let told: Vec<_> = errors.map(|error| error.to_string()).filter(|error| error.contains("are not there")).collect();
    assert!(told.iter().any(|error| error.contains("11529215")), "{told:?}");
    // A length that is not there takes nothing.
    let huge = [&[0xff; 4][..], &0x0fff_fff8_u32.to_le_bytes(), b"x"].concat();
    assert!(refusal(&huge).contains("more \"memory\""), "{}", refusal(&huge));
}

#[test]
fn a_stream_without_columns_has_its_rows() {
    let schema: SchemaRef = Arc::new(Schema::empty());
    let options = RecordBatchOptions::new().with_row_count(Some(3));
    let batch = RecordBatch::try_new_with_options(schema, Vec::new(), &options).unwrap();
    assert_eq!(open(&arrow_stream(&[batch])).unwrap().rows().unwrap(), 3);
}

/// All that a column says of itself comes back, and no damage to the bytes is a panic.
#[test]
fn a_schema_comes_back_from_its_bytes() {
    let open = Field::new("open", DataType::Utf8, true).with_metadata([("a".to_owned(), "b".to_owned())].into());
    let inner = Fields::from(vec![Field::new("x", DataType::Int64, true), Field::new("größe", DataType::Float64, true)]);
    let schema = Schema::new(vec![
        open,
        Field::new("list", DataType::new_list(DataType::Struct(inner), true), true),
        Field::new("at", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true),
    ]);
    let bytes = schema_bytes(&schema);
    assert_eq!(schema_of_bytes(&bytes).as_deref(), Some(&schema));
    assert_eq!(schema_of_bytes(b""), None);
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x41;
        drop(schema_of_bytes(&damaged));
        drop(schema_of_bytes(&bytes[..at]));
    }
}
