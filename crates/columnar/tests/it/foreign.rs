//! Files of columns that others made: the bytes of them that are read at once are bounded, whatever
//! they state.

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, Int64Array, NullArray, RecordBatch, StringArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_select::concat::concat_batches;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use rorqual_columnar::read::{RowChoice, TableFile};
use rorqual_pipe::{Error, ErrorClass};
use std::fs::File;
use std::io::Write;
use std::sync::Arc;

const MIB: usize = 1 << 20;

/// Shares of it: 2 MiB for pages, 1 MiB for a row.
const MEMORY_BYTES: u64 = 16 << 20;

/// Rows of a piece together, as `limits.rs` has it, and one row that is larger.
const PIECE_BYTES_MAX: usize = 3 * MIB;

fn parquet(batches: &[RecordBatch], set: impl Fn(WriterPropertiesBuilder) -> WriterPropertiesBuilder) -> File {
    let mut file = tempfile::tempfile().unwrap();
    let zstd = Compression::ZSTD(ZstdLevel::try_new(1).unwrap());
    let properties = set(WriterProperties::builder().set_compression(zstd)).build();
    let mut writer = ArrowWriter::try_new(&mut file, batches[0].schema(), Some(properties)).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
    file
}

fn arrow(batch: &RecordBatch, compression: Option<CompressionType>) -> File {
    let mut file = tempfile::tempfile().unwrap();
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut writer = FileWriter::try_new_with_options(&mut file, &batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    file
}

/// `rows` rows with one value of `bytes` bytes, and their numbers.
fn repeated(rows: usize, bytes: usize) -> RecordBatch {
    let values: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(bytes)]));
    let keys = Int32Array::from(vec![0; rows]);
    let texts: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(keys, values));
    let ids: ArrayRef = Arc::new((0..rows as i64).collect::<Int64Array>());
    RecordBatch::try_from_iter([("text", texts), ("id", ids)]).unwrap()
}

fn open(file: File) -> TableFile {
    TableFile::open(file, "in", MEMORY_BYTES).unwrap().unwrap()
}

/// The ids of all rows; checks the size of each batch, and of each text.
fn checked_ids(table: &TableFile, rows: &RowChoice, text_bytes: usize) -> Vec<i64> {
    let mut ids = Vec::new();
    for batch in table.batches(None, rows).unwrap() {
        let batch = batch.unwrap();
        assert!(batch.num_rows() * text_bytes <= PIECE_BYTES_MAX, "{} rows", batch.num_rows());
        let mut lines = Vec::new();
        rorqual_columnar::render::JsonRows::new(&batch).unwrap().lines(&mut lines);
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let row: serde_json::Value = serde_json::from_slice(line).unwrap();
            assert_eq!(row["text"].as_str().unwrap().len(), text_bytes);
            ids.push(row["id"].as_i64().unwrap());
        }
    }
    ids
}

fn refusal(table: &TableFile) -> Error {
    table.batches(None, &RowChoice::All).unwrap().find_map(Result::err).expect("a refusal")
}

#[test]
fn a_large_value_in_many_rows_is_read_few_rows_at_a_time() {
    let batch = repeated(500, MIB / 2);
    let as_dictionary = parquet(std::slice::from_ref(&batch), |set| set.set_dictionary_page_size_limit(4 * MIB));
    let as_text =
        parquet(std::slice::from_ref(&batch), |set| set.set_dictionary_page_size_limit(4 * MIB).set_key_value_metadata(None));
    for file in [as_dictionary, as_text, arrow(&batch, None)] {
        assert!(file.metadata().unwrap().len() < 2 * MIB as u64);
        let table = open(file);
        assert_eq!(checked_ids(&table, &RowChoice::All, MIB / 2), (0..500).collect::<Vec<_>>());
        assert_eq!(checked_ids(&table, &RowChoice::These(vec![3, 77, 499]), MIB / 2), [3, 77, 499]);
        let found: Vec<RecordBatch> = table.find("id", "321", None).unwrap().map(Result::unwrap).collect();
        assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), 1);
    }
}

#[test]
fn values_made_of_those_before_them_are_bounded_too() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["y".repeat(MIB / 2); 300]));
    let ids: ArrayRef = Arc::new((0..300).collect::<Int64Array>());
    let batch = RecordBatch::try_from_iter([("text", texts), ("id", ids)]).unwrap();
    let file = parquet(&[batch], |set| {
        let set = set.set_dictionary_enabled(false).set_data_page_size_limit(64 * MIB);
        set.set_column_encoding("text".into(), Encoding::DELTA_BYTE_ARRAY)
    });
    assert!(file.metadata().unwrap().len() < MIB as u64);
    assert_eq!(checked_ids(&open(file), &RowChoice::All, MIB / 2), (0..300).collect::<Vec<_>>());
}

#[test]
fn rows_that_grow_are_read_fewer_at_a_time() {
    // The footer's sum of all is far below the bytes of the last ones.
    let texts = (0..20_000).map(|row| if row < 19_970 { String::new() } else { format!("{row}").repeat(MIB / 20) });
    let texts: Vec<String> = texts.collect();
    let array: ArrayRef = Arc::new(StringArray::from(texts.clone()));
    let batch = RecordBatch::try_from_iter([("text", array)]).unwrap();
    let file = parquet(&[batch], |set| set.set_dictionary_enabled(false).set_write_batch_size(1));
    // Pages of 1 MiB: one that is held and the next have room.
    let table = TableFile::open(file, "in", 32 << 20).unwrap().unwrap();
    let batches: Vec<RecordBatch> = table.batches(None, &RowChoice::All).unwrap().map(Result::unwrap).collect();
    let all = concat_batches(&batches[0].schema(), &batches).unwrap();
    let back: &StringArray = all.column(0).as_any().downcast_ref().unwrap();
    assert_eq!(back.iter().map(Option::unwrap).collect::<Vec<_>>(), texts);
    assert!(batches.iter().all(|batch| batch.get_array_memory_size() < 2 * PIECE_BYTES_MAX));
}

#[test]
fn what_is_larger_than_its_share_is_refused_by_name() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["z".repeat(40 * MIB)]));
    let large = RecordBatch::try_from_iter([("large text", texts)]).unwrap();
    let error = refusal(&open(parquet(std::slice::from_ref(&large), |set| set.set_dictionary_enabled(false))));
    assert_eq!(error.kind(), ErrorClass::Limit);
    for part in ["in:", "row group 0", "column large text", "40.0 MiB", "2.00 MiB", "\"memory\""] {
        assert!(error.to_string().contains(part), "{error}");
    }
    for compression in [None, Some(CompressionType::ZSTD), Some(CompressionType::LZ4_FRAME)] {
        let error = refusal(&open(arrow(&large, compression)));
        assert_eq!(error.kind(), ErrorClass::Limit);
        for part in ["batch 0", "40.0 MiB", "2.00 MiB", "\"memory\""] {
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}

#[test]
fn texts_in_lists_are_as_they_were() {
    let mut builder = ListBuilder::new(StringBuilder::new());
    for row in 0..3_000 {
        (0..row % 5).for_each(|place| builder.values().append_value(format!("{row} {place}").repeat(300)));
        builder.append(row % 7 != 0);
    }
    let lists: ArrayRef = Arc::new(builder.finish());
    let batch = RecordBatch::try_from_iter([("lists", lists)]).unwrap();
    for file in [parquet(std::slice::from_ref(&batch), |set| set), arrow(&batch, Some(CompressionType::ZSTD))] {
        let table = TableFile::open(file, "in", 256 << 20).unwrap().unwrap();
        let batches: Vec<RecordBatch> = table.batches(None, &RowChoice::All).unwrap().map(Result::unwrap).collect();
        assert!(batches.len() > 2, "{}", batches.len());
        assert_eq!(concat_batches(&batches[0].schema(), &batches).unwrap().column(0), batch.column(0));
    }
}

#[test]
fn a_footer_that_claims_too_much_is_refused() {
    let sound = |length: u32, footer: &[u8]| {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[b"PAR1", footer, &length.to_le_bytes(), b"PAR1"].concat()).unwrap();
        TableFile::open(file, "in", MEMORY_BYTES).map(|_| ()).unwrap_err()
    };
    // Longer than the file; a list of 2^31 row groups; 200,000 empty ones.
    assert_eq!(sound(u32::MAX, b"").kind(), ErrorClass::Corrupt, "more memory would not help");
    assert_eq!(sound(8, &[0x49, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0]).kind(), ErrorClass::Corrupt);
    let many = [&[0x49, 0xfc, 0xc0, 0x9a, 0x0c][..], &vec![0; 200_001]].concat();
    let error = sound(many.len() as u32, &many);
    assert_eq!(error.kind(), ErrorClass::Limit);
    assert!(error.to_string().contains("footer") && error.to_string().contains("\"memory\""), "{error}");
}

#[test]
fn rows_that_take_no_bytes_are_cut_too_and_refused_beyond_a_limit() {
    let nulls = |rows: usize| {
        let nulls: ArrayRef = Arc::new(NullArray::new(rows));
        open(arrow(&RecordBatch::try_from_iter([("nothing", nulls)]).unwrap(), None))
    };
    let first = nulls(1 << 28).batches(None, &RowChoice::All).unwrap().next().unwrap().unwrap();
    assert_eq!(first.num_rows(), 8192);
    let error = refusal(&nulls(1 << 40));
    assert_eq!(error.kind(), ErrorClass::Limit);
    for part in ["in: ", "batch 0 has 1099511627776 rows", "268435456"] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn the_schema_of_an_arrow_file_is_in_its_bytes() {
    let nulls = |columns: usize| {
        let nulls: ArrayRef = Arc::new(NullArray::new(1));
        let columns = (0..columns).map(|column| (format!("column {column}"), Arc::clone(&nulls)));
        arrow(&RecordBatch::try_from_iter(columns).unwrap(), None)
    };
    // At 512 bytes a column, of 4 MiB.
    assert!((500 * 512..MIB as u64).contains(&open(nulls(500)).footer_bytes()));
    let error = TableFile::open(nulls(10_000), "in", MEMORY_BYTES).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorClass::Limit);
    assert!(error.to_string().contains("its footer takes more than 4"), "{error}");
}
