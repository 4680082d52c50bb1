//! Records that are no rows: how many, and which is the first.

use crate::csv::TORN;
use crate::decode::BadRecord;
use crate::json::TOO_LARGE;
use crate::log::LINE_TOO_LONG;
use crate::setting::{QUOTE, RECORD_MAX};
use rorqual_pipe::{Chunk, Error, ErrorClass, format_size};

/// The bad records of one input or several, in the order in which they are added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BadRecords {
    count: u64,
    /// Fault of the first, with its file and place.
    first: Option<String>,
}

impl BadRecord {
    /// The error of the first, in the input `name`.
    pub(crate) fn error(&self, name: &str) -> Error {
        let advice = if self.reason == TORN { format!("; with {QUOTE} none each line is a record") } else { String::new() };
        let mut message = format!("{} (in the record that starts at byte {}{advice})", self.reason, self.offset);
        if [TOO_LARGE, LINE_TOO_LONG].contains(&self.reason) {
            message += &format!("; {RECORD_MAX} moves this limit");
        }
        Error::new(ErrorClass::Corrupt, name, message).at(self.at)
    }
}

impl BadRecords {
    /// Their number.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Fault of the first, with its file and place; `None` where there are none.
    #[must_use]
    pub fn first(&self) -> Option<&str> {
        self.first.as_deref()
    }

    /// One in the input `name`.
    pub fn add(&mut self, name: &str, bad: &BadRecord) {
        self.one(|| bad.error(name));
    }

    /// One that starts at `offset` and is longer than one may be.
    pub fn add_long(&mut self, name: &str, offset: u64, record_bytes_max: usize) {
        let max = format_size(record_bytes_max as u64);
        self.one(|| Error::new(ErrorClass::Limit, name, format!("a record of more than {RECORD_MAX} {max} starts")).at(offset));
    }

    /// The sentence that they were left out, with their fate, and the fault of the first; `None`
    /// where there are none.
    #[must_use]
    pub fn left_out(&self, fate: &str) -> Option<String> {
        let first = self.first.as_ref()?;
        Some(match self.count {
            1 => format!("1 bad record was left out{fate}: {first}"),
            count => format!("{count} bad records were left out{fate}; the first: {first}"),
        })
    }

    fn one(&mut self, error: impl FnOnce() -> Error) {
        self.count += 1;
        self.first.get_or_insert_with(|| error().to_string());
    }

    /// Adds records that came later or of a later input.
    pub fn merge(&mut self, later: Self) {
        self.count += later.count;
        self.first = self.first.take().or(later.first);
    }
}

/// Start of the over-long record of which a chunk has the head, from the start of the decoded
/// input; after the `separators` before it.
#[must_use]
pub fn long_offset(chunk: &Chunk, separators: &[u8]) -> Option<u64> {
    let start = chunk.long_start()?;
    let before = chunk.bytes[start..].iter().take_while(|byte| separators.contains(byte)).count();
    Some(chunk.offset + (start + before) as u64)
}
