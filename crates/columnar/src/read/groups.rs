//! The rows of a Parquet file, one row group after another, in pieces that are bounded by bytes.
//!
//! The size of rows is only known when they are read: a page of a few bytes may have a million of
//! them, each with the one large value of a dictionary. So texts are read as views, which share
//! their values; the bytes of the pages are counted; and when they are too many, the same rows are
//! read again with fewer at a time.

use super::chunks::Chunks;
use super::pages::Pages;
use super::parquet::{ParquetFooter, ReaderBuilder, failed};
use super::split_batches::BatchSplitter;
use crate::limits::{BATCH_BYTES_MAX, BATCH_ROWS_MAX};
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReader, RowFilter, RowSelection};
use parquet::basic::{Encoding, Type};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use rorqual_pipe::{Error, ErrorClass};
use std::sync::Arc;

/// Rows of one row group.
#[derive(Clone)]
pub(super) struct GroupRows {
    pub(super) group: usize,
    /// Selected rows; `None` is all.
    pub(super) selection: Option<RowSelection>,
}

/// Makes the filter that decides on rows while they are read; it tells the pages that a batch
/// begins.
pub(super) type MakeFilter = Box<dyn Fn(&Arc<Pages>) -> RowFilter + Send>;

/// Reads parts.
pub(super) struct Groups {
    name: String,
    chunks: Chunks,
    /// With texts as views.
    metadata: ArrowReaderMetadata,
    mask: ProjectionMask,
    filter: Option<MakeFilter>,
    bytes_max: usize,
    parts: std::vec::IntoIter<GroupRows>,
    current: Option<CurrentGroup>,
    cutter: BatchSplitter,
    /// Rows of the parts that are passed over.
    skipped: usize,
}

/// The part that is read.
struct CurrentGroup {
    part: GroupRows,
    pages: Arc<Pages>,
    reader: ParquetRecordBatchReader,
    /// Rows that were taken, of those that are selected and not filtered out.
    done: usize,
    /// The rows that were taken before the reader was made.
    done_before: usize,
    batch_rows: usize,
    /// So many rows may a batch have once it is known how large they are.
    batch_rows_max: usize,
}

impl Groups {
    /// `schema` is that of the rows, with the columns of the mask.
    pub(super) fn new(
        footer: &ParquetFooter,
        chunks: &Chunks,
        name: &str,
        (mask, schema): (ProjectionMask, &SchemaRef),
        parts: Vec<GroupRows>,
        filter: Option<MakeFilter>,
    ) -> Self {
        let all = ProjectionMask::all();
        Self {
            name: name.to_owned(),
            chunks: chunks.clone(),
            metadata: footer.views.clone(),
            // A filter may read further columns.
            bytes_max: footer.page_bytes_max(if filter.is_some() { &all } else { &mask }),
            mask,
            filter,
            parts: parts.into_iter(),
            current: None,
            cutter: BatchSplitter::new(name, schema, footer.row_bytes_max()),
            skipped: 0,
        }
    }

    /// The rows after so many, where there is no filter.
    pub(super) fn after(self, rows: usize) -> Self {
        Self { skipped: rows, ..self }
    }

    fn step(&mut self) -> Result<Option<RecordBatch>, Error> {
        loop {
            if let Some(piece) = self.cutter.next() {
                return piece.map(Some);
            }
            let Some(current) = &mut self.current else {
                let Some(part) = self.parts.next() else { return Ok(None) };
                self.start(part)?;
                continue;
            };
            current.pages.batch_begins();
            match current.reader.next() {
                None => self.current = None,
                Some(Ok(batch)) => self.took(batch)?,
                Some(Err(error)) => self.again(&error)?,
            }
        }
    }

    fn start(&mut self, part: GroupRows) -> Result<(), Error> {
        let group = self.metadata.metadata().row_group(part.group);
        if self.skipped > 0 {
            let all = || usize::try_from(group.num_rows()).unwrap_or(0);
            let rows = part.selection.as_ref().map_or_else(all, RowSelection::row_count);
            if self.skipped >= rows {
                self.skipped -= rows;
                return Ok(());
            }
        }
        let estimated = batch_rows(group, &self.mask);
        let first = if by_prefix(group, &self.mask) { 1 } else { estimated };
        self.current = Some(self.open(part, self.skipped, (first, estimated))?);
        self.skipped = 0;
        Ok(())
    }

    /// A reader of the rest of a part. Filters read their columns here.
    fn open(
        &self,
        part: GroupRows,
        done: usize,
        (mut batch_rows, mut batch_rows_max): (usize, usize),
    ) -> Result<CurrentGroup, Error> {
        loop {
            let group = self.metadata.metadata().row_group(part.group);
            let pages = Pages::new(part.group, group, self.bytes_max).map(Arc::new);
            let pages = pages.ok_or_else(|| self.corrupt(&format!("row group {}: its columns overlap", part.group)))?;
            match self.builder(&part, done, batch_rows, &pages).build() {
                Ok(reader) => {
                    return Ok(CurrentGroup { part, pages, reader, done, done_before: done, batch_rows, batch_rows_max });
                }
                Err(error) => {
                    let Some(refused) = pages.refused() else { return Err(failed(&self.name, &error)) };
                    if !refused.full || batch_rows == 1 {
                        return Err(self.refused(refused.full, &refused.text));
                    }
                    // No more later, lest the filter reads its columns over and over.
                    batch_rows = (batch_rows / 8).max(1);
                    batch_rows_max = batch_rows;
                }
            }
        }
    }

    fn builder(&self, part: &GroupRows, done: usize, batch_rows: usize, pages: &Arc<Pages>) -> ReaderBuilder {
        let builder = ReaderBuilder::new_with_metadata(self.chunks.with_pages(pages), self.metadata.clone())
            .with_projection(self.mask.clone())
            .with_row_groups(vec![part.group])
            .with_batch_size(batch_rows)
            // Otherwise the columns that the filter has read are kept for 100 MiB.
            .with_max_predicate_cache_size(0)
            .with_offset(done);
        let builder = match &part.selection {
            Some(selection) => builder.with_row_selection(selection.clone()),
            None => builder,
        };
        match &self.filter {
            Some(filter) => builder.with_row_filter(filter(pages)),
            None => builder,
        }
    }

    fn took(&mut self, batch: RecordBatch) -> Result<(), Error> {
        let Some(mut current) = self.current.take() else { return Ok(()) };
        current.done += batch.num_rows();
        let room = 4 * batch.get_array_memory_size() <= BATCH_BYTES_MAX;
        self.cutter.put(batch);
        if current.batch_rows < current.batch_rows_max && room {
            let rows = (4 * current.batch_rows, current.batch_rows_max);
            current = self.open(current.part, current.done, (rows.0.min(rows.1), rows.1))?;
        }
        self.current = Some(current);
        Ok(())
    }

    /// After an error: the same rows, fewer at a time, where that may help.
    fn again(&mut self, error: &ArrowError) -> Result<(), Error> {
        let Some(CurrentGroup { part, pages, reader, done, done_before, batch_rows, .. }) = self.current.take() else {
            return Ok(());
        };
        // With its pages.
        drop(reader);
        let rows = match pages.refused() {
            None => return Err(self.corrupt(&error.to_string())),
            Some(refused) if refused.full && batch_rows > 1 => (batch_rows / 8).max(1),
            // Large pages have room one at a time: a new reader passes over those that are done.
            Some(refused) if refused.full && done > done_before => {
                self::batch_rows(self.metadata.metadata().row_group(part.group), &self.mask)
            }
            Some(refused) => return Err(self.refused(refused.full, &refused.text)),
        };
        self.current = Some(self.open(part, done, (rows, rows))?);
        Ok(())
    }

    fn refused(&self, full: bool, text: &str) -> Error {
        if full { Error::new(ErrorClass::Limit, &self.name, text) } else { self.corrupt(text) }
    }

    fn corrupt(&self, text: &str) -> Error {
        Error::new(ErrorClass::Corrupt, &self.name, format!("not a sound Parquet file: {text}"))
    }
}

impl Iterator for Groups {
    type Item = Result<RecordBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

fn chunks<'a>(group: &'a RowGroupMetaData, mask: &'a ProjectionMask) -> impl Iterator<Item = &'a ColumnChunkMetaData> {
    group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf)).map(|(_, chunk)| chunk)
}

/// So many rows that a batch of them stays within its bytes, as far as the footer tells their
/// width.
fn batch_rows(group: &RowGroupMetaData, mask: &ProjectionMask) -> usize {
    let bytes = |chunk: &ColumnChunkMetaData| {
        let values = chunk.num_values().max(0).saturating_mul(width(chunk));
        chunk.uncompressed_size().max(values)
    };
    let bytes = chunks(group, mask).map(bytes).fold(0, i64::saturating_add);
    let row_bytes = usize::try_from(bytes / group.num_rows().max(1)).unwrap_or(usize::MAX).max(1);
    (BATCH_BYTES_MAX / row_bytes).clamp(1, BATCH_ROWS_MAX)
}

/// Bytes of a value beside its text.
fn width(chunk: &ColumnChunkMetaData) -> i64 {
    match chunk.column_type() {
        Type::BOOLEAN => 1,
        Type::INT32 | Type::FLOAT => 4,
        Type::INT64 | Type::DOUBLE => 8,
        Type::INT96 => 12,
        Type::BYTE_ARRAY => 16,
        Type::FIXED_LEN_BYTE_ARRAY => chunk.column_descr().type_length().max(1).into(),
    }
}

/// True if values are made of those before them, so that no size in the file tells theirs.
fn by_prefix(group: &RowGroupMetaData, mask: &ProjectionMask) -> bool {
    chunks(group, mask).any(|chunk| chunk.encodings().any(|encoding| encoding == Encoding::DELTA_BYTE_ARRAY))
}
