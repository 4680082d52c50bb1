//! What columns inputs have.

use crate::bad::{BadRecords, long_offset};
use crate::decode::{Infer, Inferred, Notes};
use crate::format::Format;
use crate::limits::PREFIX_BYTES;
use crate::scan::{Scan, enough};
use crate::shape::Shape;
use rorqual_pipe::{Chunk, Control, Error, Input, Kind, Stage};

/// What is known of the columns, and of how much of the input.
#[derive(Debug, Default)]
pub struct Columns {
    /// What the records seen need.
    pub shape: Shape,
    /// What is worth telling once.
    pub notes: Notes,
    /// Records that are no rows.
    pub bad: BadRecords,
    /// All records were seen.
    pub complete: bool,
}

/// How much is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// About the first [`PREFIX_BYTES`].
    Prefix,
    /// Everything.
    Whole,
}

impl Scan {
    /// The columns of an input's records. A format that says its columns has none to infer.
    ///
    /// # Errors
    /// What ended it early; the columns are of what came before.
    pub fn infer(&self, input: Input, format: &Format, threads: usize, extent: Extent) -> (Columns, Option<Error>) {
        let mut columns = Columns::default();
        let (name, separators) = (input.name().to_owned(), format.separators());
        let stages: Option<Vec<_>> = (0..threads).map(|_| format.infer().map(|infer| Inferrer(infer, separators))).collect();
        let Some(stages) = stages else { return (columns, None) };
        let mut seen = 0;
        let take = |(inferred, bytes, long): (Inferred, u64, Option<u64>)| {
            columns.shape.merge(inferred.shape);
            columns.notes.merge(&inferred.notes);
            inferred.bad.iter().for_each(|bad| columns.bad.add(&name, bad));
            long.into_iter().for_each(|offset| columns.bad.add_long(&name, offset, self.record_bytes_max));
            seen += bytes;
            if extent == Extent::Prefix && seen >= PREFIX_BYTES as u64 { Err(enough()) } else { Ok(()) }
        };
        let error = match extent {
            Extent::Whole => self.run(input, format, stages, take),
            // What is read twice counts once.
            Extent::Prefix => Self { control: Control::default(), ..self.clone() }.run(input, format, stages, take),
        };
        columns.complete = error.is_none();
        (columns, error.filter(|error| error.kind() != Kind::Stopped))
    }

    /// The columns of what was read ahead of a stream, which a run reads again.
    ///
    /// # Errors
    /// When it can't be read; or, where that is all there is, what ended it early.
    pub fn infer_ahead(&self, input: &mut Input, format: &Format, threads: usize) -> (Columns, Option<Error>) {
        let (ahead, whole) = match self.ahead(input, PREFIX_BYTES) {
            Ok(ahead) => ahead,
            Err(error) => return (Columns::default(), Some(error)),
        };
        let (columns, error) = self.infer(ahead, format, threads, Extent::Prefix);
        // What was cut off in the middle is no fault of the input's.
        if whole { (columns, error) } else { (Columns { complete: false, bad: BadRecords::default(), ..columns }, None) }
    }
}

/// Infers, and knows what may be before a record.
struct Inferrer(Box<dyn Infer>, &'static [u8]);

impl Stage for Inferrer {
    type Output = (Inferred, u64, Option<u64>);

    fn chunk(&mut self, chunk: &Chunk) -> Result<Self::Output, Error> {
        Ok((self.0.infer(chunk)?, chunk.bytes.len() as u64, long_offset(chunk, self.1)))
    }
}
