//! Results as people and programs want them.

mod columns;
mod text;

use crate::args::{Args, OutputFormat};
use crate::limits::GROUP_BYTES_MAX;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::writer::{JsonArray, LineDelimited, Writer, WriterBuilder};
use datafusion::common::Result;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::file::properties::WriterProperties;
use rorqual_pipe::whole_file::{self, Place};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

type Out = BufWriter<Box<dyn Write + Send>>;

/// Takes the rows of one query.
pub(crate) struct Sink {
    format: OutputFormat,
    rows_max: usize,
    is_plan: bool,
    /// Where a file is to appear.
    place: Option<(File, Place)>,
    out: Option<Out>,
    writing: Option<Writing>,
    schema: Option<SchemaRef>,
    rows: u64,
}

enum Writing {
    Table(text::Table),
    Csv(Box<csv::Writer<Out>>),
    Json(Box<Writer<Out, JsonArray>>),
    Ndjson(Box<Writer<Out, LineDelimited>>),
    Parquet(Box<ArrowWriter<Out>>),
}

impl Sink {
    /// A sink for the rows of `plan`.
    ///
    /// # Errors
    /// When the file can't be made.
    pub(crate) fn create(args: &Args, plan: &LogicalPlan) -> io::Result<Self> {
        let place = args.output.as_deref().map(create).transpose()?;
        let out: Box<dyn Write + Send> = match &place {
            Some((file, _)) => Box::new(file.try_clone()?),
            None => Box::new(io::stdout()),
        };
        let is_plan = matches!(plan, LogicalPlan::Explain(_) | LogicalPlan::Analyze(_));
        let format = format(args, is_plan)?;
        Ok(Self {
            format,
            rows_max: args.max_rows,
            is_plan,
            place,
            out: Some(BufWriter::new(out)),
            writing: None,
            schema: None,
            rows: 0,
        })
    }

    /// The plan, and of a table no more rows than are shown, but one that tells that there are more.
    ///
    /// # Errors
    /// As the engine's.
    pub(crate) fn limited(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        if self.format != OutputFormat::Table || self.is_plan {
            return Ok(plan);
        }
        LogicalPlanBuilder::from(plan).limit(0, Some(self.rows_max.saturating_add(1)))?.build()
    }

    /// Whether no row came yet.
    pub(crate) fn is_untouched(&self) -> bool {
        self.rows == 0
    }

    /// The columns that rows will have; again where a query starts again.
    ///
    /// # Errors
    /// When nothing can be written.
    pub(crate) fn start(&mut self, schema: &SchemaRef) -> io::Result<()> {
        let Some(out) = self.out.take() else { return Ok(()) };
        let json = || WriterBuilder::new().with_explicit_nulls(true);
        let writing = match self.format {
            OutputFormat::Table => Writing::Table(text::Table::new(out, schema, self.rows_max, self.is_plan)),
            OutputFormat::Csv => Writing::Csv(Box::new(csv::Writer::new(out))),
            OutputFormat::Json => Writing::Json(Box::new(json().build(out))),
            OutputFormat::Ndjson => Writing::Ndjson(Box::new(json().build(out))),
            OutputFormat::Parquet => {
                let writer = ArrowWriter::try_new(out, Arc::clone(schema), Some(parquet_properties()?));
                Writing::Parquet(Box::new(writer.map_err(io::Error::other)?))
            }
        };
        self.schema = Some(Arc::clone(schema));
        self.writing = Some(writing);
        Ok(())
    }

    /// Takes rows.
    ///
    /// # Errors
    /// When they can't be written.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.rows += batch.num_rows() as u64;
        match &mut self.writing {
            Some(Writing::Table(table)) => table.add(batch).map_err(io_error),
            Some(Writing::Csv(writer)) => columns::flat(batch).and_then(|batch| writer.write(&batch)).map_err(io_error),
            Some(Writing::Json(writer)) => writer.write(batch).map_err(io_error),
            Some(Writing::Ndjson(writer)) => writer.write(batch).map_err(io_error),
            Some(Writing::Parquet(writer)) => {
                writer.write(batch).map_err(io::Error::other)?;
                if writer.in_progress_size() + writer.memory_size() > GROUP_BYTES_MAX {
                    writer.flush().map_err(io::Error::other)?;
                }
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Writes what is left; a file appears now.
    ///
    /// # Errors
    /// When it can't be written.
    pub(crate) fn finish(self) -> io::Result<()> {
        let mut out = match self.writing {
            None => return Ok(()),
            Some(Writing::Table(table)) => table.finish()?,
            Some(Writing::Csv(mut writer)) => {
                // A result without rows has a header too.
                if let Some(schema) = self.schema.filter(|_| self.rows == 0) {
                    writer.write(&RecordBatch::new_empty(Arc::new(columns::as_texts(&schema)))).map_err(io_error)?;
                }
                writer.into_inner()
            }
            Some(Writing::Json(mut writer)) => writer.finish().map(|()| writer.into_inner()).map_err(io_error)?,
            Some(Writing::Ndjson(mut writer)) => writer.finish().map(|()| writer.into_inner()).map_err(io_error)?,
            Some(Writing::Parquet(writer)) => writer.into_inner().map_err(io::Error::other)?,
        };
        out.flush()?;
        drop(out);
        match self.place {
            Some((file, place)) => file.sync_all().and_then(|()| place.put(&file)),
            None => Ok(()),
        }
    }
}

fn create(path: &Path) -> io::Result<(File, Place)> {
    if whole_file::is_no_file(path) {
        return Err(io::Error::other(format!("{} is a folder or a device", path.display())));
    }
    whole_file::create(path)
}

/// # Errors
/// When the extension of the output says nothing, and no flag does.
fn format(args: &Args, is_plan: bool) -> io::Result<OutputFormat> {
    let by_name = || match args.output.as_deref()?.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "csv" => Some(OutputFormat::Csv),
        "json" => Some(OutputFormat::Json),
        "ndjson" | "jsonl" => Some(OutputFormat::Ndjson),
        "parquet" => Some(OutputFormat::Parquet),
        "txt" => Some(OutputFormat::Table),
        _ => None,
    };
    let for_people = is_plan || args.output.is_none() && io::stdout().is_terminal();
    let otherwise = if for_people { OutputFormat::Table } else { OutputFormat::Csv };
    match (args.to.or_else(by_name), &args.output) {
        (Some(format), _) => Ok(format),
        (None, None) => Ok(otherwise),
        (None, Some(path)) => {
            let message = format!("-o {}: its extension says no format; give --to csv|json|ndjson|parquet|table", path.display());
            Err(io::Error::new(io::ErrorKind::InvalidInput, message))
        }
    }
}

fn parquet_properties() -> io::Result<WriterProperties> {
    let level = ZstdLevel::try_new(3).map_err(io::Error::other)?;
    Ok(WriterProperties::builder().set_compression(Compression::ZSTD(level)).build())
}

/// The system's error where there is one below, so that a closed pipe is seen as such.
fn io_error(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, cause) => cause,
        ArrowError::CsvError(text) if text.contains("Broken pipe") => io::ErrorKind::BrokenPipe.into(),
        other => io::Error::other(other),
    }
}
