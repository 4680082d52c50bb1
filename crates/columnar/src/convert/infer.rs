//! Columns of inputs.

use crate::bad_records::{BadRecords, long_offset};
use crate::decode::{Infer, Inferred, Notes};
use crate::limits::PREFIX_BYTES;
use crate::record_format::RecordFormat;
use crate::scan::{ScanSettings, enough};
use crate::shape::Shape;
use rorqual_pipe::{Chunk, Control, Error, ErrorClass, Input, Stage};

/// Columns so far, and the part of the input that they are of.
#[derive(Debug, Default)]
pub struct InferredColumns {
    /// Shape that the records seen need.
    pub shape: Shape,
    /// Notes to be reported once.
    pub notes: Notes,
    /// Records that are no rows.
    pub bad: BadRecords,
    /// Records that are too long; also of an input of which only the start was there.
    pub long: BadRecords,
    /// All records were seen.
    pub complete: bool,
}

/// Part of the input to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleExtent {
    /// About the first [`PREFIX_BYTES`].
    Prefix,
    /// Everything.
    Whole,
}

impl ScanSettings {
    /// The columns of an input's records. A format that says its columns has none to infer.
    ///
    /// # Errors
    /// The error that ended it early; the columns are of the records before it.
    pub fn infer(
        &self,
        input: Input,
        format: &RecordFormat,
        threads: usize,
        extent: SampleExtent,
    ) -> (InferredColumns, Option<Error>) {
        let mut columns = InferredColumns::default();
        let (name, separators) = (input.name().to_owned(), format.separators());
        let stages: Option<Vec<_>> =
            (0..threads).map(|_| format.infer().map(|infer| StreamInferrer(infer, separators))).collect();
        let Some(stages) = stages else { return (columns, None) };
        let mut seen = 0;
        let take = |(inferred, bytes, long): (Inferred, u64, Option<u64>)| {
            columns.shape.merge(inferred.shape);
            columns.notes.merge(&inferred.notes);
            inferred.bad.iter().for_each(|bad| columns.bad.add(&name, bad));
            if let Some(offset) = long {
                columns.bad.add_long(&name, offset, self.record_bytes_max);
                columns.long.add_long(&name, offset, self.record_bytes_max);
            }
            seen += bytes;
            if extent == SampleExtent::Prefix && seen >= PREFIX_BYTES as u64 { Err(enough()) } else { Ok(()) }
        };
        let finish = match extent {
            SampleExtent::Whole => self.run(input, format, stages, take),
            // Bytes that are read twice count once.
            SampleExtent::Prefix => Self { control: Control::default(), ..self.clone() }.run(input, format, stages, take),
        };
        columns.complete = finish.error.is_none();
        (columns, finish.error.filter(|error| error.kind() != ErrorClass::Stopped))
    }

    /// The columns of the bytes that were read ahead of a stream, which a run reads again.
    ///
    /// # Errors
    /// When it can't be read; or, where that is all there is, the error that ended it early.
    pub fn infer_ahead(&self, input: &mut Input, format: &RecordFormat, threads: usize) -> (InferredColumns, Option<Error>) {
        let (ahead, whole) = match self.ahead(input, PREFIX_BYTES) {
            Ok(ahead) => ahead,
            Err(error) => return (InferredColumns::default(), Some(error)),
        };
        let (columns, error) = self.infer(ahead, format, threads, SampleExtent::Prefix);
        // A record cut off in the middle is no fault of the input's.
        if whole { (columns, error) } else { (InferredColumns { complete: false, bad: BadRecords::default(), ..columns }, None) }
    }
}

/// Infers, and knows the bytes that may be before a record.
struct StreamInferrer(Box<dyn Infer>, &'static [u8]);

impl Stage for StreamInferrer {
    type Output = (Inferred, u64, Option<u64>);

    fn chunk(&mut self, chunk: &Chunk) -> Result<Self::Output, Error> {
        Ok((self.0.infer(chunk)?, chunk.bytes.len() as u64, long_offset(chunk, self.1)))
    }
}
