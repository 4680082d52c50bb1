//! Results as people and programs want them: by the writers of `columnar`.

mod json;
mod refusal;
mod slices;
mod table;

use crate::args::{Args, OutputFormat};
use crate::limits::writer_share;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use rorqual_columnar::write::{BatchWriter, WriteSettings, WriteTarget};
use rorqual_pipe::gather::OutputFd;
use rorqual_pipe::whole_file::{OutputPath, PendingFile};
use rorqual_pipe::{Control, Error, ErrorClass, escaped_path};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};

pub(crate) use refusal::refuse_loss;

type OutputWriter = BufWriter<OutputFd>;

/// Takes the rows of one query.
pub(crate) struct QuerySink {
    format: OutputFormat,
    name: String,
    memory_bytes: u64,
    rows_max: usize,
    is_plan: bool,
    /// The pending file.
    place: Option<(File, PendingFile)>,
    out: Option<OutputFd>,
    schema: Option<SchemaRef>,
    writing: Option<WriteState>,
    rows: u64,
}

enum WriteState {
    Plan(OutputWriter),
    Table(table::First),
    Json(json::Array),
    Rows(Box<BatchWriter>),
}

impl QuerySink {
    /// A sink for the rows of `plan`; a stop ends its wait for a reader.
    ///
    /// # Errors
    /// When the file can't be made.
    pub(crate) fn create(args: &Args, plan: &LogicalPlan, stop: &Control) -> io::Result<Self> {
        let is_plan = matches!(plan, LogicalPlan::Explain(_) | LogicalPlan::Analyze(_));
        let format = format(args, is_plan)?;
        let place = output(args).map(|output| output.create(stop).map_err(io::Error::other)).transpose()?;
        let out = match &place {
            Some((file, _)) => OutputFd::new(file.try_clone()?, stop),
            None => OutputFd::stdout(stop)?,
        };
        let name = output(args).map_or_else(|| "standard output".to_owned(), |output| escaped_path(output.path));
        let (memory_bytes, rows_max) = (args.process.memory_bytes(), args.max_rows);
        Ok(Self { format, name, memory_bytes, rows_max, is_plan, place, out: Some(out), schema: None, writing: None, rows: 0 })
    }

    /// The plan, and of a table no more rows than are shown, but one that tells that there are
    /// more.
    ///
    /// # Errors
    /// As the engine's.
    pub(crate) fn limited(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        if self.format != OutputFormat::Table || self.is_plan {
            return Ok(plan);
        }
        LogicalPlanBuilder::from(plan).limit(0, Some(self.rows_max.saturating_add(1)))?.build()
    }

    /// True if no row came yet.
    pub(crate) fn is_untouched(&self) -> bool {
        self.rows == 0
    }

    /// Memory of rows of these columns until they are written.
    pub(crate) fn bytes(&self, schema: &SchemaRef) -> u64 {
        self.settings().map_or(0, |settings| settings.bytes(schema, 1))
    }

    /// Settings of the writers of `columnar`.
    fn settings(&self) -> Option<WriteSettings> {
        let target = match self.format {
            OutputFormat::Table | OutputFormat::Json => return None,
            OutputFormat::Csv => WriteTarget::Csv,
            OutputFormat::Ndjson => WriteTarget::Ndjson,
            OutputFormat::Parquet => WriteTarget::Parquet,
            OutputFormat::Arrow => WriteTarget::Arrow,
        };
        let share = writer_share(self.memory_bytes);
        Some(WriteSettings { group_bytes_max: share, footer_bytes_max: share, ..WriteSettings::new(target) })
    }

    /// The columns that rows will have; again where a query starts again.
    pub(crate) fn start(&mut self, schema: SchemaRef) {
        self.schema = Some(schema);
    }

    /// Begins with the first rows, or with the end: of a query that fails before, nobody has a
    /// header.
    fn begin(&mut self) -> io::Result<()> {
        let Some(schema) = &self.schema else { return Ok(()) };
        let Some(out) = self.out.take() else { return Ok(()) };
        self.writing = Some(match self.settings() {
            _ if self.is_plan => WriteState::Plan(BufWriter::new(out)),
            Some(settings) => {
                WriteState::Rows(Box::new(BatchWriter::new(out, &self.name, schema, &settings).map_err(unwritten)?))
            }
            None if self.format == OutputFormat::Json => WriteState::Json(json::Array::new(BufWriter::new(out))),
            None => WriteState::Table(table::First::new(BufWriter::new(out), schema, self.rows_max)),
        });
        Ok(())
    }

    /// Takes rows.
    ///
    /// # Errors
    /// When they can't be written.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        self.begin()?;
        self.rows += batch.num_rows() as u64;
        let Some(writing) = &mut self.writing else { return Ok(()) };
        slices::of(batch).try_for_each(|slice| match writing {
            WriteState::Plan(out) => table::print_plan(&slice, out),
            WriteState::Table(table) => table.add(&slice),
            WriteState::Json(array) => array.add(&slice),
            WriteState::Rows(writer) => {
                let prepared = writer.prepare(slice).map_err(|error| error.of_input("the answer"));
                let pushed = prepared.and_then(|prepared| writer.push(prepared));
                pushed.and_then(|()| writer.help()).map_err(unwritten)
            }
        })
    }

    /// Writes the remaining rows; a file appears now.
    ///
    /// # Errors
    /// When it can't be written.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.begin()?;
        match self.writing {
            None => return Ok(()),
            Some(WriteState::Plan(mut out)) => out.flush()?,
            Some(WriteState::Table(table)) => table.finish()?,
            Some(WriteState::Json(array)) => array.finish()?,
            Some(WriteState::Rows(writer)) => writer.finish().map(drop).map_err(unwritten)?,
        }
        match self.place {
            Some((file, place)) => place.put_for_good(&file),
            None => Ok(()),
        }
    }
}

/// The output that is named, where it is not standard output.
pub(crate) fn output(args: &Args) -> Option<OutputPath<'_>> {
    let path = args.output.as_deref().filter(|path| path.as_os_str() != "-")?;
    Some(OutputPath { flag: "-o", path, force: args.force })
}

/// # Errors
/// When the extension of the output says nothing, and no flag does, or the format is none for
/// standard output.
fn format(args: &Args, is_plan: bool) -> io::Result<OutputFormat> {
    let path = output(args).map(|output| output.path);
    let by_name = || match path?.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "csv" => Some(OutputFormat::Csv),
        "json" => Some(OutputFormat::Json),
        "ndjson" | "jsonl" => Some(OutputFormat::Ndjson),
        "parquet" => Some(OutputFormat::Parquet),
        "arrow" => Some(OutputFormat::Arrow),
        "txt" => Some(OutputFormat::Table),
        _ => None,
    };
    let for_people = is_plan || path.is_none() && io::stdout().is_terminal();
    let otherwise = if for_people { OutputFormat::Table } else { OutputFormat::Csv };
    let invalid = |message: String| Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    match (args.to.or_else(by_name), path) {
        (Some(OutputFormat::Parquet | OutputFormat::Arrow), None) => invalid(
            "Parquet and Arrow files are written to a file (-o), not to standard output: their footer says where all is"
                .to_owned(),
        ),
        (Some(format), _) => Ok(format),
        (None, None) => Ok(otherwise),
        (None, Some(path)) => {
            let formats = "csv|json|ndjson|parquet|arrow|table";
            invalid(format!("-o {}: its extension says no format; give --to {formats}", escaped_path(path)))
        }
    }
}

/// The system's kind of error where there is one below, so that a closed pipe is seen as such.
fn unwritten(error: Error) -> io::Error {
    if error.kind() == ErrorClass::Stopped { io::ErrorKind::BrokenPipe.into() } else { io::Error::other(error) }
}

/// A type that has no text.
fn unprintable(error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}
