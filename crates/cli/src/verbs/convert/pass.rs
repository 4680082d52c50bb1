//! One pass over all inputs.

use super::output::ConvertFile;
use super::source::{InputContent, KnownInput};
use super::{Convert, KEEPS_PARTIAL};
use crate::args::BadRecordPolicy;
use crate::exit::ExitStatus;
use crate::rejects::RejectFile;
use crate::watchdog::MemoryWatchdog;
use crate::{interrupt, message};
use arrow_schema::SchemaRef;
use rorqual_columnar::convert::{Conversion, OnBad, SampleExtent};
use rorqual_columnar::read::{RowChoice, TableFile, fit};
use rorqual_columnar::render::not_finite;
use rorqual_columnar::write::BatchWriter;
use rorqual_columnar::{BadRecords, DecodeNote, Notes, RecordFormat, Shape};
use rorqual_pipe::{Error, ErrorClass, Input, escaped_path};

/// Inputs on their way into one file.
pub(super) struct ConvertPass<'a> {
    convert: &'a Convert<'a>,
    schema: SchemaRef,
    file: ConvertFile,
    writer: BatchWriter,
    rejects: Option<RejectFile>,
    /// Shape of everything that came since a value had no column.
    misfit: Option<Shape>,
    /// Notes, each with the input that had the first.
    notes: Vec<(String, Notes)>,
    bad: BadRecords,
    /// Numbers that became null, since JSON has none such.
    not_finite: u64,
    /// An input ended with an error, which was said.
    failed: bool,
    /// The output is closed.
    enough: bool,
}

/// End of a pass.
pub(super) enum PassEnd {
    /// With the file, or without it after an error that was said.
    Written(ExitStatus),
    /// Without it: it needs other columns.
    Misfit(Shape),
}

impl<'a> ConvertPass<'a> {
    pub(super) fn start(convert: &'a Convert<'a>, schema: &SchemaRef) -> Result<Self, String> {
        let file = convert.output.create(&convert.scan.control)?;
        let writer = BatchWriter::new(
            file.writer(&convert.scan.control)?,
            &convert.output.name(),
            schema,
            &convert.output.settings(convert.memory_bytes),
        );
        let rejects = convert
            .args
            .rejects
            .as_deref()
            .map(|path| RejectFile::create(path, &convert.scan.pool, &convert.scan.control))
            .transpose()?;
        Ok(Self {
            convert,
            schema: SchemaRef::clone(schema),
            file,
            writer: writer.map_err(|error| error.to_string())?,
            rejects,
            misfit: None,
            notes: Vec::new(),
            bad: BadRecords::default(),
            not_finite: 0,
            failed: false,
            enough: false,
        })
    }

    pub(super) fn goes_on(&self) -> bool {
        !self.failed && !self.enough && !self.convert.scan.control.stopped()
    }

    /// Takes one input whole: its rows, or from a value without a column on the needed columns.
    pub(super) fn source(&mut self, source: &mut KnownInput) -> Result<(), String> {
        let format = match &source.content {
            InputContent::Table(table) => {
                let copied = self.table(table);
                self.say(copied.err());
                return Ok(());
            }
            InputContent::Records(format, _) => format.clone(),
        };
        let input = source.input()?;
        let name = input.name().to_owned();
        let (notes, bad, later, error) = if self.misfit.is_some() {
            let (columns, error) = self.convert.scan.infer(input, &format, self.convert.threads, SampleExtent::Whole);
            (columns.notes, columns.bad, Some(columns.shape), error)
        } else {
            self.rows(input, &format)
        };
        self.bad.merge(bad);
        self.notes.push((name, notes));
        if let Some(shape) = later {
            self.misfit.get_or_insert_default().merge(shape);
        }
        self.say(error);
        Ok(())
    }

    fn say(&mut self, error: Option<Error>) {
        match error {
            None => {}
            // The reader of the output has enough.
            Some(error) if error.kind() == ErrorClass::Stopped => self.enough = true,
            Some(error) => {
                self.failed = true;
                message::error(&error);
            }
        }
    }

    /// The rows of a file of columns, with nulls for the columns that it does not have.
    fn table(&mut self, table: &TableFile) -> Result<(), Error> {
        let _guard = MemoryWatchdog::reading(table.name(), self.convert.memory_bytes);
        for batch in table.batches(None, &RowChoice::All)? {
            if self.convert.scan.control.stopped() {
                return Ok(());
            }
            let batch = batch?;
            if self.convert.output.is_ndjson() {
                self.not_finite += not_finite(&batch);
            }
            let fitting = fit(&batch, &self.schema, table.name())?;
            let prepared = self.writer.prepare(fitting).map_err(|error| error.of_input(table.name()))?;
            self.writer.push(prepared)?;
            self.writer.help()?;
        }
        Ok(())
    }

    fn rows(&mut self, input: Input, format: &RecordFormat) -> (Notes, BadRecords, Option<Shape>, Option<Error>) {
        let conversion = Conversion {
            scan: &self.convert.scan,
            threads: self.convert.threads,
            on_bad: self.on_bad(format),
            writer: &self.writer,
            schema: SchemaRef::clone(&self.schema),
        };
        let rejects = self.rejects.as_mut().map(|rejects| &mut rejects.gather);
        let (converted, error) = conversion.input(input, format, rejects);
        (converted.notes, converted.bad, converted.misfit, error)
    }

    fn on_bad(&self, format: &RecordFormat) -> OnBad {
        match (self.convert.args.bad, format) {
            _ if self.rejects.is_some() => OnBad::Reject,
            (Some(BadRecordPolicy::Skip), _) | (None, RecordFormat::Log(_)) => OnBad::Skip,
            (Some(BadRecordPolicy::Error) | None, _) => OnBad::Error,
        }
    }

    pub(super) fn finish(self) -> Result<PassEnd, String> {
        let control = &self.convert.scan.control;
        if let (Some(shape), true) = (&self.misfit, self.goes_on()) {
            return Ok(PassEnd::Misfit(shape.clone()));
        }
        if self.enough {
            return Ok(PassEnd::Written(interrupt::exit_of_closed()));
        }
        let whole = !self.failed && !control.stopped();
        let is_kept = whole || (self.convert.args.keep_partial && self.misfit.is_none());
        self.say_notes(is_kept);
        let exit_of = if is_kept { interrupt::exit_of } else { interrupt::exit_of_nothing };
        let exit = exit_of(control, if self.failed { ExitStatus::Bad } else { ExitStatus::Done });
        if !is_kept {
            self.convert.say_not_written(self.advice());
            return Ok(PassEnd::Written(exit));
        }
        self.write_rest().map_err(|error| error.to_string())?;
        let written = self.writer.finish().map_err(|error| error.to_string())?;
        self.file.put()?;
        self.rejects.map_or(Ok(()), RejectFile::finish)?;
        if !whole {
            message::note(&format!("{} has the {} rows before that", self.convert.output.name(), written.rows));
        }
        Ok(PassEnd::Written(exit))
    }

    /// Writes the waiting rows, by all threads.
    fn write_rest(&self) -> Result<(), Error> {
        self.writer.end()?;
        let mut workers = vec![(); self.convert.threads];
        let turns = 0..workers.len();
        rorqual_pipe::each(turns, &mut workers, |(), _| self.writer.help(), |helped| helped)
    }

    fn advice(&self) -> &'static str {
        match (&self.misfit, self.is_lenient()) {
            (Some(_), _) => ": what came before needs other columns (--schema gives them)",
            (None, true) => KEEPS_PARTIAL,
            (None, false) => " (--keep-partial keeps what came before; --bad skip and --rejects FILE leave bad records out)",
        }
    }

    /// It was no bad record that ended it.
    fn is_lenient(&self) -> bool {
        self.rejects.is_some() || self.convert.args.bad == Some(BadRecordPolicy::Skip) || !self.failed
    }

    /// Tells the notes; bad records are kept where the output is.
    fn say_notes(&self, is_kept: bool) {
        for note in DecodeNote::ALL {
            let met: Vec<_> = self.notes.iter().filter_map(|(name, notes)| Some((name, notes.get(note)?))).collect();
            if let Some((name, first)) = met.first() {
                let times: u64 = met.iter().map(|(_, met)| met.times).sum();
                message::note(&format!("{times} x {note}; the first in {name} at byte {}", first.first_offset));
            }
        }
        if self.not_finite > 0 {
            message::note(&format!("{} x NaN or infinity, which JSON has no number for and became null", self.not_finite));
        }
        let kept = self.convert.args.rejects.as_ref().filter(|_| is_kept);
        let kept = kept.map(|path| format!(", and are in {}", escaped_path(path))).unwrap_or_default();
        if let Some(said) = self.bad.left_out(&kept) {
            message::note(&said);
        }
    }
}
