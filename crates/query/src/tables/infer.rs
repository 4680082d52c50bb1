//! Columns of records, by the first of them or by all.

use super::kind::TableOptions;
use crate::scan::{ScanContext, external};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{Result, plan_err};
use rorqual_columnar::convert::{InferredColumns, SampleExtent};
use rorqual_columnar::{RecordFormat, Shape, log};
use rorqual_pipe::{Error, Input};
use std::path::PathBuf;

/// The input to look at.
pub(super) enum SampledInput {
    /// Files that have anything in them. Of the first only the beginning, unless all is asked for.
    Files(Vec<PathBuf>),
    /// A file without a path: standard input.
    File(Input),
    /// The beginning of a stream.
    Ahead(Input),
}

/// The columns of records, and one for values without, where not all records were looked at.
///
/// # Errors
/// When no record can be read, or a field has values of several types and that is to be an error.
pub(super) fn schema(
    format: &RecordFormat,
    looked: SampledInput,
    context: &ScanContext,
    known: &TableOptions,
) -> Result<SchemaRef> {
    if let RecordFormat::Log(format) = format {
        return Ok(log::schema(format));
    }
    let (scan, threads) = (context.scan(context.shares.threads), context.shares.threads);
    let mut found = InferredTable { shape: Shape::default(), complete: true };
    let extent = if known.infer_all { SampleExtent::Whole } else { SampleExtent::Prefix };
    match looked {
        SampledInput::Ahead(input) if known.infer_all => {
            let name = input.name();
            return plan_err!(
                "{name}: --infer-all can't look at all of a stream or an object before it is read; put it into a file first"
            );
        }
        SampledInput::Ahead(mut input) => {
            let name = input.name().to_owned();
            found.add(&name, scan.infer_ahead(&mut input, format, threads))?;
        }
        SampledInput::File(input) => {
            let name = input.name().to_owned();
            found.add(&name, scan.infer(input, format, threads, extent))?;
        }
        SampledInput::Files(files) => {
            found.complete = known.infer_all || files.len() == 1;
            let looked = if known.infer_all { files.len() } else { 1 };
            // Opened one after another: there may be more than descriptors.
            for path in &files[..looked] {
                let input = Input::open(path).map(Input::into_utf8).map_err(external)?;
                let name = input.name().to_owned();
                found.add(&name, scan.infer(input, format, threads, extent))?;
            }
        }
    }
    match found.shape.conflict().filter(|_| !known.widen) {
        Some(conflict) => plan_err!("{conflict}; --conflicts widen takes both as text"),
        None => Ok(found.shape.to_schema(!found.complete)),
    }
}

struct InferredTable {
    shape: Shape,
    complete: bool,
}

impl InferredTable {
    /// An error after some records will be met again, by the query.
    fn add(&mut self, name: &str, (columns, error): (InferredColumns, Option<Error>)) -> Result<()> {
        if columns.shape == Shape::default() {
            return match (error, columns.long.first().or(columns.bad.first())) {
                (Some(error), _) => Err(external(error)),
                (None, Some(first)) => plan_err!("there is no record to tell the columns by: {first}"),
                (None, None) => plan_err!("{name}: there is no record in it to tell its columns by"),
            };
        }
        self.complete &= columns.complete;
        self.shape.merge(columns.shape);
        Ok(())
    }
}
