//! Parquet files.

use super::chunks::Chunks;
use super::{Batches, Rows, is_below, no_column};
use crate::limits::{BATCH_BYTES_MAX, BATCH_ROWS_MAX, READ_PAGE_BYTES};
use arrow_schema::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData};
use parquet::schema::types::SchemaDescriptor;
use rorqual_pipe::{Error, Kind};
use std::io;

/// A reader of some rows, before it reads.
pub(super) type Builder = ParquetRecordBatchReaderBuilder<Chunks>;

/// What a file says of itself.
pub(super) struct Footer {
    pub(super) metadata: ArrowReaderMetadata,
}

impl Footer {
    pub(super) fn read(chunks: &Chunks, name: &str) -> Result<Self, Error> {
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
        let metadata = ArrowReaderMetadata::load(chunks, options).map_err(|error| failed(name, &error))?;
        Ok(Self { metadata })
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    pub(super) fn parquet(&self) -> &ParquetMetaData {
        self.metadata.metadata()
    }

    pub(super) fn rows(&self) -> u64 {
        u64::try_from(self.parquet().file_metadata().num_rows()).unwrap_or(0)
    }

    pub(super) fn batches(&self, chunks: &Chunks, name: &str, columns: Option<&[String]>, rows: &Rows) -> Result<Batches, Error> {
        let builder = self.builder(chunks, name, columns)?;
        let builder = match rows {
            Rows::All => builder,
            Rows::Range(range) => {
                let (start, length) = (whole(range.start), whole(range.end.saturating_sub(range.start)));
                builder.with_offset(start).with_limit(length)
            }
            Rows::These(rows) => builder.with_row_selection(selection(rows)),
        };
        batches(builder, name)
    }

    pub(super) fn bytes(&self, columns: Option<&[String]>) -> u64 {
        let parquet = self.parquet();
        let paths = paths(self.metadata.parquet_schema());
        let wanted = |path: &str| columns.is_none_or(|columns| columns.iter().any(|wanted| is_below(path, wanted)));
        let column = |(leaf, path): (usize, &String)| {
            let sizes = parquet.row_groups().iter().map(|group| group.column(leaf).uncompressed_size());
            let most = usize::try_from(sizes.max().unwrap_or(0)).unwrap_or(0);
            if wanted(path) { most.min(2 * READ_PAGE_BYTES) } else { 0 }
        };
        let pages: usize = paths.iter().enumerate().map(column).sum();
        (parquet.memory_size() + pages + 4 * BATCH_BYTES_MAX) as u64
    }

    /// A reader of these columns, or of all, whose batches are bounded.
    pub(super) fn builder(&self, chunks: &Chunks, name: &str, columns: Option<&[String]>) -> Result<Builder, Error> {
        let mask = match columns {
            Some(columns) => self.mask(name, columns)?,
            None => ProjectionMask::all(),
        };
        let rows = self.batch_rows(&mask);
        let builder = Builder::new_with_metadata(chunks.clone(), self.metadata.clone());
        Ok(builder.with_projection(mask).with_batch_size(rows))
    }

    fn mask(&self, name: &str, columns: &[String]) -> Result<ProjectionMask, Error> {
        let schema = self.metadata.parquet_schema();
        let paths = paths(schema);
        for wanted in columns {
            if !paths.iter().any(|path| is_below(path, wanted)) {
                return Err(no_column(name, wanted, paths.iter().map(String::as_str)));
            }
        }
        let wanted = |path: &String| columns.iter().any(|wanted| is_below(path, wanted));
        let leaves = paths.iter().enumerate().filter(|(_, path)| wanted(path)).map(|(leaf, _)| leaf);
        Ok(ProjectionMask::leaves(schema, leaves))
    }

    /// So many rows that a batch of them stays within its bytes, as far as the footer tells their width.
    fn batch_rows(&self, mask: &ProjectionMask) -> usize {
        let group_rows = |group: &parquet::file::metadata::RowGroupMetaData| {
            let columns = group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf));
            let bytes: i64 = columns.map(|(_, column)| column.uncompressed_size()).sum();
            let row_bytes = whole(u64::try_from(bytes / group.num_rows().max(1)).unwrap_or(0)).max(1);
            BATCH_BYTES_MAX / row_bytes
        };
        self.parquet().row_groups().iter().map(group_rows).min().unwrap_or(BATCH_ROWS_MAX).clamp(1, BATCH_ROWS_MAX)
    }
}

/// The paths of all columns, without what Parquet puts between a list and its items.
pub(super) fn paths(schema: &SchemaDescriptor) -> Vec<String> {
    schema.columns().iter().map(|column| column.path().string().replace(".list.element", "").replace(".list.item", "")).collect()
}

/// What `builder` reads.
pub(super) fn batches(builder: Builder, name: &str) -> Result<Batches, Error> {
    let name = name.to_owned();
    let reader = builder.build().map_err(|error| failed(&name, &error))?;
    Ok(Box::new(reader.map(move |batch| batch.map_err(|error| Error::new(Kind::Corrupt, name.clone(), error.to_string())))))
}

/// The error for a file that the library could not read.
pub(super) fn failed(name: &str, error: &ParquetError) -> Error {
    let cause = if let ParquetError::External(cause) = error { cause.downcast_ref::<io::Error>() } else { None };
    match cause {
        Some(cause) if cause.raw_os_error().is_some() => {
            Error::io(name, "cannot read", io::Error::from_raw_os_error(cause.raw_os_error().unwrap_or(0)))
        }
        _ => Error::new(Kind::Corrupt, name, format!("not a sound Parquet file: {error}")),
    }
}

/// A selection of rows with these numbers.
fn selection(rows: &[u64]) -> RowSelection {
    let mut selectors = Vec::new();
    let mut next = 0;
    for row in rows {
        selectors.push(RowSelector::skip(whole(row - next)));
        selectors.push(RowSelector::select(1));
        next = row + 1;
    }
    selectors.into()
}

fn whole(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
