//! Opening of the files of a scan.

use super::context::{ScanContext, external};
use super::counts::ScanCounts;
use super::object::{ObjectLines, ObjectReader, PiecesAhead, first_bytes};
use super::scan_notes::ScanNotes;
use super::skip::{Skip, SkipStats};
use super::table::OpenMode;
use super::{ranges, stream};
use crate::args::BadRecordFlag;
use crate::limits::MAGIC_BYTES;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::internal_datafusion_err;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileOpenFuture, FileOpener};
use datafusion::object_store::{ObjectMeta, ObjectStore};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use rorqual_columnar::{Decode, DecodedRecords, RecordFormat, Unplaced, log, long_offset};
use rorqual_pipe::decode::{Charset, Encoding};
use rorqual_pipe::{Chunk, Error, ErrorClass, FileGrowth, FileVersion, Framing, Input, format_size};
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

/// The column of values that have no column.
const REST: &str = "_rest";

/// Opens files of one scan.
#[derive(Clone)]
pub(crate) struct RecordOpener {
    pub(crate) format: RecordFormat,
    /// The columns that are asked for.
    pub(crate) schema: SchemaRef,
    /// All columns.
    pub(crate) table: SchemaRef,
    pub(crate) span_us: Option<RangeInclusive<i64>>,
    /// Filter of the rows, by the columns of `table`.
    pub(crate) filter: Option<Arc<dyn PhysicalExpr>>,
    /// True if looking at chunks before decoding them pays.
    pub(crate) tried: Arc<SkipStats>,
    pub(crate) batch_rows: usize,
    /// Threads that decode one stream.
    pub(crate) stream_threads: usize,
    /// The fate of records that are not rows, where it was said.
    pub(crate) bad: Option<BadRecordFlag>,
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) pieces_ahead: PiecesAhead,
    pub(crate) context: Arc<ScanContext>,
    pub(crate) tally: Arc<ScanNotes>,
    pub(crate) counts: ScanCounts,
}

impl RecordOpener {
    pub(crate) fn decoder(&self) -> Box<dyn Decode> {
        match &self.format {
            RecordFormat::Log(format) => Box::new(log::LogDecoder::new(format, &self.schema).within(self.span_us.clone())),
            // Only a reader of all columns can tell the values without one.
            format if self.schema.index_of(REST).is_ok() => {
                let columns = self.schema.fields().iter().filter_map(|field| self.table.index_of(field.name()).ok()).collect();
                Box::new(ProjectedDecoder {
                    decoder: format.decoder(&self.table, Unplaced::Keep, self.context.shares.record_bytes_max),
                    columns,
                })
            }
            format => format.decoder(&self.schema, Unplaced::Ignore, self.context.shares.record_bytes_max),
        }
    }

    /// Test of a chunk: whether the filter leaves anything of it, where that is cheaper than
    /// decoding it. A line of a log is taken apart as a whole.
    pub(crate) fn skip(&self) -> Option<Skip> {
        let filter = self.filter.as_ref().filter(|_| !matches!(self.format, RecordFormat::Log(_)))?;
        let mut needed: Vec<usize> = collect_columns(filter).iter().map(|column| column.index()).collect();
        needed.sort_unstable();
        let schema = Arc::new(self.table.project(&needed).ok()?);
        // It is the others that need not be decoded.
        let others = self.schema.fields().iter().any(|field| schema.index_of(field.name()).is_err());
        if !others || needed.is_empty() || schema.index_of(REST).is_ok() {
            return None;
        }
        let filter = reassign_expr_columns(Arc::clone(filter), &schema).ok()?;
        let decoder = self.format.decoder(&schema, Unplaced::Ignore, self.context.shares.record_bytes_max);
        Some(Skip::new(decoder, filter, Arc::clone(&self.tried)))
    }

    /// Counts the result of a chunk, or of a part of it.
    ///
    /// # Errors
    /// When a record in it is no row, unless such are left out: an answer without them would look
    /// whole.
    pub(crate) fn count(&self, name: &str, chunk: &Chunk, decoded: &DecodedRecords) -> Result<(), Error> {
        self.counts.rows_decoded.add(decoded.batches.iter().map(RecordBatch::num_rows).sum());
        self.counts.rows_outside.add(decoded.outside);
        let skips = self.bad.map_or(matches!(self.format, RecordFormat::Log(_)), |bad| bad == BadRecordFlag::Skip);
        if !skips && let Some(error) = self.bad(name, chunk, decoded) {
            return Err(error);
        }
        self.tally.count(name, chunk, decoded);
        Ok(())
    }

    /// The first record of a chunk that is no row.
    fn bad(&self, name: &str, chunk: &Chunk, decoded: &DecodedRecords) -> Option<Error> {
        const ADVICE: &str = "--bad skip leaves such records out, and says how many";
        if let Some(bad) = decoded.bad.first() {
            let text = format!("{} (in the record that starts at byte {}; {ADVICE})", bad.reason, bad.offset);
            return Some(Error::new(ErrorClass::Corrupt, name, text).at(bad.at));
        }
        // The last part comes with the start of the over-long record after it.
        let start = long_offset(chunk, self.format.separators()).filter(|_| decoded.rest.is_none())?;
        let max = format_size(self.context.shares.record_bytes_max as u64);
        let text = format!("a record of more than --record-max {max} (a larger one would take it; {ADVICE}) starts");
        Some(Error::new(ErrorClass::Limit, name, text).at(start))
    }

    async fn object(
        &self,
        name: String,
        range: Option<(u64, u64)>,
        meta: ObjectMeta,
    ) -> datafusion::common::Result<BoxStream<'static, datafusion::common::Result<RecordBatch>>> {
        let range = match range {
            Some((start, end)) => {
                let head = first_bytes(&self.store, &meta, MAGIC_BYTES).await;
                let head = head.map_err(|cause| external(Error::io(&name, "cannot be read", cause)))?;
                let is_plain = Encoding::detect(&head) == Encoding::Plain && Charset::detect(&head) == Charset::Utf8;
                // A compressed object is cut nowhere: its first range stands for all of it.
                match (is_plain, start) {
                    (true, _) => Some(start..end),
                    (false, 0) => None,
                    (false, _) => return Ok(futures::stream::empty().boxed()),
                }
            }
            None => None,
        };
        let reader = ObjectReader::new(Arc::clone(&self.store), meta, self.pieces_ahead.clone());
        let Some(range) = range else { return Ok(stream::read(self, Input::from_reader(name, Box::new(reader)), None)) };
        Ok(stream::read_opened(self, None, move || {
            let opened = ObjectLines::open(reader, range.clone());
            let opened = opened.map_err(|cause| Error::io(&name, "cannot be read", cause))?;
            Ok(opened.map(|(lines, start)| Input::from_reader(name, Box::new(lines)).stored().within(start..range.end)))
        }))
    }

    fn local(
        &self,
        path: &Path,
        version: Option<&FileVersion>,
        size_bytes: u64,
        range: Option<(u64, u64)>,
    ) -> datafusion::common::Result<BoxStream<'static, datafusion::common::Result<RecordBatch>>> {
        let input = Input::open(path).map(Input::into_utf8).map_err(external)?;
        let framing = self.format.framing(self.context.shares.record_bytes_max);
        // Lines are added to a log while it is read; those that it had are read.
        let is_lines = matches!(framing, Framing::Lines { .. } | Framing::LogLines { .. });
        let growth = if is_lines { FileGrowth::Allowed } else { FileGrowth::Refused };
        let held = version.map(|version| input.held(version, growth)).transpose().map_err(external)?.flatten();
        // Of a file that has grown what was planned: the line that begins at its end is none of it.
        let input = if input.is_file() { input.within(0..size_bytes) } else { input };
        match range {
            Some(range) => match input.into_stretches(framing, &self.context.control) {
                Ok(file) => Ok(ranges::read(self, path, (file, held), range)),
                Err(_) => Err(internal_datafusion_err!("{}: is no longer a plain file", path.display())),
            },
            None => Ok(stream::read(self, input, held)),
        }
    }
}

/// Some columns of another decoder's batches.
struct ProjectedDecoder {
    decoder: Box<dyn Decode>,
    columns: Vec<usize>,
}

impl Decode for ProjectedDecoder {
    fn decode(&mut self, chunk: &Chunk) -> Result<DecodedRecords, Error> {
        let mut decoded = self.decoder.decode(chunk)?;
        for batch in &mut decoded.batches {
            let narrowed = batch.project(&self.columns);
            *batch = narrowed.map_err(|error| Error::new(ErrorClass::Corrupt, "", error.to_string()).at(chunk.offset))?;
        }
        Ok(decoded)
    }
}

impl FileOpener for RecordOpener {
    fn open(&self, file: PartitionedFile) -> datafusion::common::Result<FileOpenFuture> {
        let range = file.range.as_ref().map(|range| (range.start.cast_unsigned(), range.end.cast_unsigned()));
        let opener = self.clone();
        Ok(async move {
            match file.extension::<OpenMode>() {
                Some(OpenMode::Local { path, version, .. }) => opener.local(path, version.as_ref(), file.object_meta.size, range),
                Some(OpenMode::Once(once)) => {
                    let (input, held) = once.take()?;
                    Ok(stream::read(&opener, input, held))
                }
                Some(OpenMode::Object { name }) => {
                    let name = name.clone();
                    opener.object(name, range, file.object_meta).await
                }
                None => Err(internal_datafusion_err!("{}: a scan without a place", file.object_meta.location)),
            }
        }
        .boxed())
    }
}
