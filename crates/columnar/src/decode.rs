//! Decoding of a chunk by a worker.

use crate::setting::{EXACT_NUMBERS, QUOTE};
use crate::shape::Shape;
use arrow_array::RecordBatch;
use rorqual_pipe::{Chunk, Error};
use std::collections::BTreeMap;
use std::fmt;

/// Turns chunks into rows. One a worker.
pub trait Decode: Send {
    /// The rows of the records in a chunk, in order. `chunk.bytes` up to `chunk.long_start()` is
    /// decoded; the part of an over-long record is the caller's.
    ///
    /// # Errors
    /// Only those that end the run, and without the input's name. A record that is no row is in
    /// [`DecodedRecords::bad`].
    fn decode(&mut self, chunk: &Chunk) -> Result<DecodedRecords, Error>;
}

/// Infers the columns of records. One a worker.
pub trait Infer: Send {
    /// The columns that the records of a chunk have.
    ///
    /// # Errors
    /// As [`Decode::decode`].
    fn infer(&mut self, chunk: &Chunk) -> Result<Inferred, Error>;
}

/// Fate of a value whose key has no column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unplaced {
    /// It goes to the column `_rest`, or is a misfit where the schema has none.
    Keep,
    /// It is left out: the schema has the columns that are asked for, and no others. A value that
    /// does not fit its column is kept, or is a misfit, all the same. (So a request for `_rest` as
    /// it is has to ask for all columns.)
    Ignore,
}

/// Rows and notes of a chunk.
#[derive(Debug, Default)]
pub struct DecodedRecords {
    /// Rows in order, in batches of the decoder's schema, each of about
    /// [`crate::limits::BATCH_BYTES_MAX`] at most.
    pub batches: Vec<RecordBatch>,
    /// Records that are no rows, in order.
    pub bad: Vec<BadRecord>,
    /// Lines of a log that were left out since their time is outside of the span asked for.
    pub outside: usize,
    /// Lines of a log that were left out since the filter does not mean them.
    pub filtered: usize,
    /// Notes to be reported once.
    pub notes: Notes,
    /// There is more in the chunk, from this index in its bytes on: rows have taken
    /// [`crate::limits::DECODED_BYTES_MAX`]. It is decoded by another call, with [`Chunk::from`]
    /// there, in the order of the input.
    pub rest: Option<usize>,
    /// The chunk has a value that the schema has no place for: the shape that all its records would
    /// need. The batches are incomplete then.
    pub misfit: Option<Shape>,
}

/// Columns of the records of a chunk.
#[derive(Debug, Default)]
pub struct Inferred {
    /// Their columns.
    pub shape: Shape,
    /// Records that are no rows, in order.
    pub bad: Vec<BadRecord>,
    /// Notes to be reported once.
    pub notes: Notes,
}

/// A record that is no row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRecord {
    /// Its start, from the start of the decoded input.
    pub offset: u64,
    /// Its bytes, up to where the next record can start.
    pub length: u64,
    /// Place of the fault in it, from the start of the decoded input.
    pub at: u64,
    /// The fault; a fixed text, so that a million of them take no memory.
    pub reason: &'static str,
}

/// Things worth telling once, with how often they were met.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes(BTreeMap<DecodeNote, Occurrences>);

/// A kind of thing worth telling, which loses nothing or little.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DecodeNote {
    /// An object has a key twice; its last value counts.
    DuplicateKey,
    /// A number that 64 bits or a double have no place for is kept as text.
    NumberAsText,
    /// A number has more digits than a double, and became the nearest one.
    RoundedNumber,
    /// A value without a column is in `_rest`.
    Rest,
    /// A lone surrogate, which no UTF-8 can hold: the text is in `_rest` as it was written, and its
    /// column null.
    LoneSurrogate,
    /// A lone surrogate where there is no `_rest`.
    ReplacedSurrogate,
    /// A line of a log of which a part was mended or left out.
    RepairedLine,
    /// A line that was logged before its end, whose numbers are those so far.
    SoFar,
    /// A value that is no number, of a variable of a log's own whose values are numbers.
    NoNumber,
    /// A key of a log that its first lines do not have.
    LateKey,
    /// A field of a CSV has text after its closing quote, which is kept.
    TextAfterQuote,
    /// A record of a CSV has line breaks in quotes, and its lines may be records.
    LinesInQuotes,
}

/// Number of times that something was met, and its first place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occurrences {
    /// Number of times.
    pub times: u64,
    /// First place, from the start of the decoded input.
    pub first_offset: u64,
}

impl DecodeNote {
    /// All kinds, in the order in which they are told.
    pub const ALL: [Self; 12] = [
        Self::DuplicateKey,
        Self::NumberAsText,
        Self::RoundedNumber,
        Self::Rest,
        Self::LoneSurrogate,
        Self::ReplacedSurrogate,
        Self::RepairedLine,
        Self::SoFar,
        Self::NoNumber,
        Self::LateKey,
        Self::TextAfterQuote,
        Self::LinesInQuotes,
    ];
}

impl fmt::Display for DecodeNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::DuplicateKey => "a key twice in one object, whose last value counts",
            Self::NumberAsText => "a number that 64 bits or a double would change, which stays text",
            Self::RoundedNumber => {
                let text = "a number of more digits than a double has, which became the nearest";
                return write!(f, "{text} ({EXACT_NUMBERS} keeps it as text)");
            }
            Self::Rest => "a value without a column, which is in _rest",
            Self::LoneSurrogate => "a lone surrogate, which UTF-8 has no place for: its text is in _rest as it was written",
            Self::ReplacedSurrogate => "a lone surrogate, which UTF-8 has no place for and became U+FFFD",
            Self::RepairedLine => "a line with a field that could not be read, which is null",
            Self::NoNumber => "a part of a log with a value that is not a number in a column of numbers, which is null",
            Self::LateKey => "a part of a log with a key that its first 200 lines do not have, which has no column",
            Self::TextAfterQuote => {
                let text = "a record with text after a closing quote, which is kept without the quotes";
                return write!(f, "{text} ({QUOTE} none keeps quotes as text)");
            }
            Self::LinesInQuotes => {
                let text = "a record over several lines, by quotes that may be lone ones";
                return write!(f, "{text} ({QUOTE} none makes each line a record, {QUOTE} '\"' trusts them)");
            }
            Self::SoFar => "a line logged before its end, whose bytes and times are those so far (+)",
        };
        f.write_str(text)
    }
}

impl Notes {
    /// Something was met at `offset`.
    pub fn add(&mut self, note: DecodeNote, offset: u64) {
        self.add_met(note, Occurrences { times: 1, first_offset: offset });
    }

    /// Something was met so many times, first at `offset`.
    pub fn add_all(&mut self, note: DecodeNote, times: u64, offset: u64) {
        self.add_met(note, Occurrences { times, first_offset: offset });
    }

    /// A sentence for each kind of thing that was met in the input `name`.
    pub fn told(&self, name: &str) -> impl Iterator<Item = String> {
        let one = move |(note, met): (&DecodeNote, &Occurrences)| {
            format!("{} x {note}; the first in {name} at byte {}", met.times, met.first_offset)
        };
        self.0.iter().map(one)
    }

    /// All that `other` met too, later or elsewhere.
    pub fn merge(&mut self, other: &Notes) {
        other.0.iter().for_each(|(note, met)| self.add_met(*note, *met));
    }

    /// Number of times that it was met, if it was.
    #[must_use]
    pub fn get(&self, note: DecodeNote) -> Option<Occurrences> {
        self.0.get(&note).copied()
    }

    fn add_met(&mut self, note: DecodeNote, met: Occurrences) {
        let known = self.0.entry(note).or_insert(Occurrences { times: 0, first_offset: u64::MAX });
        known.times += met.times;
        known.first_offset = known.first_offset.min(met.first_offset);
    }
}
