//! One JSON array.

use super::{OutputWriter, unprintable};
use datafusion::arrow::array::RecordBatch;
use rorqual_columnar::render::JsonRows;
use std::io::{self, Write};

/// Rows as the elements of an array, each on its line.
pub(super) struct Array {
    out: OutputWriter,
    begun: bool,
}

impl Array {
    pub(super) fn new(out: OutputWriter) -> Self {
        Self { out, begun: false }
    }

    pub(super) fn add(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let mut lines = Vec::new();
        JsonRows::new(batch).map_err(unprintable)?.lines(&mut lines);
        for row in lines.split_inclusive(|byte| *byte == b'\n') {
            self.out.write_all(if std::mem::replace(&mut self.begun, true) { b",\n" } else { b"[\n" })?;
            self.out.write_all(row.trim_ascii_end())?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.write_all(if self.begun { b"\n]\n" } else { b"[]\n" })?;
        self.out.flush()
    }
}
