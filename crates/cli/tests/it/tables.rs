//! Files of columns with a known content.

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field};
use rorqual_columnar::write::{BatchWriter, WriteSettings, WriteTarget};
use rorqual_testkit::process::ProcessEnd;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Writes a table of `rows` rows: `id` from 0, `text` with a control character, `actor.login` of
/// seven values, and `random`, which is indexed, has each value once and no order, and `noise`,
/// which no codec makes much smaller.
pub(crate) fn write(path: &Path, target: WriteTarget, rows: i64) {
    let settings = WriteSettings { index: vec!["random".to_owned()], group_bytes_max: 4 << 20, ..WriteSettings::new(target) };
    let file = File::create(path).expect("a new file");
    let writer = BatchWriter::new(file, "table", &batch(0..0).schema(), &settings).expect("a writer");
    for start in (0..rows).step_by(4096) {
        let prepared = writer.prepare(batch(start..rows.min(start + 4096))).expect("a batch");
        writer.push(prepared).expect("it is written");
    }
    writer.finish().expect("it is written");
}

/// The peak that the program says of itself with `--stats`: it may end before it is seen from
/// outside.
pub(crate) fn peak_bytes(ran: &ProcessEnd) -> u64 {
    let stats: serde_json::Value = serde_json::from_str(ran.stderr.trim()).expect("one JSON object");
    stats["peak_bytes"].as_u64().expect("a number")
}

/// The value of `random` in a row: odd multiples permute the numbers below a power of two.
pub(crate) fn random(row: i64) -> i64 {
    (row * 0x9_e377) & 0xff_ffff
}

fn noise(row: i64) -> String {
    let mut state = row.cast_unsigned() + 1;
    let word = |_| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        format!("{:08x}", state >> 32)
    };
    (0..8).map(word).collect()
}

fn batch(rows: std::ops::Range<i64>) -> RecordBatch {
    let ids: Int64Array = rows.clone().collect();
    let random: Int64Array = rows.clone().map(random).collect();
    let texts: StringArray = rows.clone().map(|row| Some(format!("text\u{1b} of {row}"))).collect();
    let noise: StringArray = rows.clone().map(|row| Some(noise(row))).collect();
    let logins: StringArray = rows.map(|row| Some(format!("user{}", row % 7))).collect();
    let logins: ArrayRef = Arc::new(logins);
    let actors = StructArray::from(vec![(Arc::new(Field::new("login", DataType::Utf8, true)), logins)]);
    let columns: [(&str, ArrayRef); 5] = [
        ("id", Arc::new(ids)),
        ("text", Arc::new(texts)),
        ("actor", Arc::new(actors)),
        ("random", Arc::new(random)),
        ("noise", Arc::new(noise)),
    ];
    RecordBatch::try_from_iter(columns).expect("columns of one length")
}
