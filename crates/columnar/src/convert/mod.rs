//! Inputs of records into one file of columns.
//!
//! The columns are inferred from the start of each input, and then everything is decoded on that
//! assumption, which nearly always holds. A value that has no place shows that it does not: from
//! there on only columns are inferred, and at the end all is decoded once more, to the columns that
//! everything needs. So the columns are those of the whole input and not of a sample, and mostly
//! one pass does. A stream can't be read again: values without a column there go to the column
//! `_rest`.

mod collect;
mod infer;

pub use collect::{OnBad, Rejects};
pub use infer::{InferredColumns, SampleExtent};

use crate::bad_records::BadRecords;
use crate::decode::{Decode, Infer, Inferred, Notes, Unplaced};
use crate::record_format::RecordFormat;
use crate::scan::ScanSettings;
use crate::shape::Shape;
use crate::write::{BatchWriter, PreparedBatch};
use arrow_schema::SchemaRef;
use collect::{CollectOutcome, Collector, WorkerOutput};
use rorqual_pipe::{Chunk, Error, Input, Operation, Stage};
use std::sync::atomic::{AtomicBool, Ordering};

/// Conversion of inputs to one file.
pub struct Conversion<'a> {
    /// Settings for reading inputs.
    pub scan: &'a ScanSettings,
    /// Worker threads.
    pub threads: usize,
    /// Fate of records that are not rows.
    pub on_bad: OnBad,
    /// The file.
    pub writer: &'a BatchWriter,
    /// Its columns.
    pub schema: SchemaRef,
}

/// Summary of one input.
#[derive(Debug, Default)]
pub struct InputSummary {
    /// Notes to be reported once.
    pub notes: Notes,
    /// Records that are no rows.
    pub bad: BadRecords,
    /// A value has no place in the schema: the shape that all records from there on need. Nothing
    /// that was written counts.
    pub misfit: Option<Shape>,
}

impl Conversion<'_> {
    /// Writes the rows of one input. Bad records go to `rejects` where that is their fate.
    ///
    /// # Errors
    /// The error that ended it early, with the records converted until then.
    pub fn input(&self, input: Input, format: &RecordFormat, rejects: Option<&mut Rejects>) -> (InputSummary, Option<Error>) {
        let operation = Operation::start("convert");
        let before = self.scan.control.decoded_bytes();
        let misfit = AtomicBool::new(false);
        let decoder = || format.decoder(&self.schema, Unplaced::Keep, self.scan.record_bytes_max);
        let stages = (0..self.threads).map(|_| ConvertWorker {
            decoder: decoder(),
            infer: format.infer(),
            writer: self.writer,
            on_bad: self.on_bad,
            misfit: &misfit,
        });
        let mut collector = Collector::new((input.name(), format.separators()), self, decoder(), &misfit, rejects);
        let error = self.scan.run(input, format, stages.collect(), |made| collector.take(made)).error;
        let (converted, late) = collector.finish();
        let error = error.or(late);
        operation.bytes(self.scan.control.decoded_bytes() - before);
        operation.ended(error.as_ref());
        (converted, error)
    }
}

/// One worker: decodes, and helps to write.
struct ConvertWorker<'a> {
    decoder: Box<dyn Decode>,
    infer: Option<Box<dyn Infer>>,
    writer: &'a BatchWriter,
    on_bad: OnBad,
    /// Some worker met a value without a place.
    misfit: &'a AtomicBool,
}

impl ConvertWorker<'_> {
    fn rows(&mut self, chunk: &Chunk) -> Result<CollectOutcome, Error> {
        let decoded = self.on_bad.decode(&mut *self.decoder, chunk)?;
        if let Some(shape) = decoded.misfit {
            self.misfit.store(true, Ordering::Relaxed);
            return Ok(CollectOutcome::Misfit(Inferred { shape, bad: decoded.bad, notes: decoded.notes }));
        }
        let prepared: Result<Vec<PreparedBatch>, Error> =
            decoded.batches.into_iter().map(|batch| self.writer.prepare(batch)).collect();
        Ok(CollectOutcome::Rows { prepared: prepared?, bad: decoded.bad, notes: decoded.notes, rest: decoded.rest })
    }
}

impl Stage for ConvertWorker<'_> {
    type Output = WorkerOutput;

    fn chunk(&mut self, chunk: &Chunk) -> Result<WorkerOutput, Error> {
        let outcome = match &mut self.infer {
            Some(infer) if self.misfit.load(Ordering::Relaxed) => CollectOutcome::Misfit(infer.infer(chunk)?),
            _ => {
                self.writer.help()?;
                self.rows(chunk)?
            }
        };
        Ok(WorkerOutput::new(chunk, outcome))
    }
}
