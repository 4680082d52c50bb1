//! Memory of reading files of columns, as far as their footers tell.

use super::columns::PageReader;
use super::name;
use super::streamed::StreamedTable;
use crate::limits::PAGE_BYTES;
use crate::scan::external;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use datafusion::execution::SessionState;
use datafusion::object_store::ObjectStoreExt;
use datafusion::parquet::file::metadata::RowGroupMetaData;
use rorqual_columnar::read::{LargePages, TableFile, check_footer};
use std::collections::HashMap;
use std::path::PathBuf;

/// Memory of the columns of some files.
#[derive(Debug, Default)]
pub(crate) struct Widths {
    /// By the places of the columns.
    columns: Vec<Width>,
    /// Bytes read at once whatever the columns: a batch of an Arrow file.
    whole_bytes: u64,
}

/// Memory of a column, by the largest of all row groups.
#[derive(Debug, Default, Clone, Copy)]
struct Width {
    /// A row of it, decoded.
    row_bytes: u64,
    /// Bytes read of a row group at once, and a page and a dictionary decompressed.
    group_bytes: u64,
}

impl Widths {
    /// Memory of a row of these columns, or of all.
    pub(crate) fn row_bytes(&self, columns: Option<&Vec<usize>>) -> u64 {
        self.sum(columns, |width| width.row_bytes)
    }

    /// Bytes of these columns that each thread reads at once.
    pub(crate) fn group_bytes(&self, columns: Option<&Vec<usize>>) -> u64 {
        self.whole_bytes + self.sum(columns, |width| width.group_bytes)
    }

    fn sum(&self, columns: Option<&Vec<usize>>, of: impl Fn(&Width) -> u64) -> u64 {
        match columns {
            None => self.columns.iter().map(of).sum(),
            Some(columns) => columns.iter().filter_map(|column| self.columns.get(*column)).map(of).sum(),
        }
    }

    /// By the footers of Parquet files, which the engine has read and keeps.
    pub(super) async fn of_parquet(
        state: &SessionState,
        urls: &[ListingTableUrl],
        schema: &SchemaRef,
        pages: &FoundPages,
    ) -> Result<Self> {
        let runtime = state.runtime_env();
        let mut widths: HashMap<String, Width> = HashMap::new();
        for url in urls {
            let store = runtime.object_store(url)?;
            let meta = store.head(url.prefix()).await?;
            let cache = runtime.cache_manager.get_file_metadata_cache();
            let footer =
                DFParquetMetadata::new(store.as_ref(), &meta).with_file_metadata_cache(Some(cache)).fetch_metadata().await?;
            check_footer(&name(url), &footer).map_err(external)?;
            footer.row_groups().iter().for_each(|group| add(&mut widths, group, &pages.large));
        }
        let width = |name: &String| widths.get(name).copied().unwrap_or_default();
        Ok(Self { columns: schema.fields().iter().map(|field| width(field.name())).collect(), whole_bytes: 0 })
    }

    /// The same bytes at once, whatever the columns.
    pub(super) fn of_whole(whole_bytes: u64) -> Self {
        Self { columns: Vec::new(), whole_bytes }
    }
}

/// Files of columns of this machine, and their large pages.
#[derive(Debug, Default)]
pub(super) struct FoundPages {
    paths: Vec<PathBuf>,
    large: LargePages,
    /// Most memory of reading one of the files page by page.
    file_bytes: u64,
}

impl FoundPages {
    /// Adds a file, which has `reader_bytes` if it is read page by page.
    pub(super) fn add(&mut self, path: PathBuf, table: &TableFile, reader_bytes: u64) {
        let found = table.large_pages(reader_bytes);
        let reading_bytes = TableFile::reading_bytes(reader_bytes, found.bytes as u64);
        self.file_bytes = self.file_bytes.max(table.footer_bytes() + reading_bytes);
        self.large.bytes = self.large.bytes.max(found.bytes);
        self.large.columns.extend(found.columns);
        self.paths.push(path);
    }

    /// The reader of files with large pages, where the engine's own reader may take
    /// `engine_bytes_max` in a thread; `None` where no page is large.
    pub(super) fn reader(self, schema: SchemaRef, reader_bytes: u64, engine_bytes_max: u64) -> Option<PageReader> {
        if self.large.columns.is_empty() {
            return None;
        }
        let files = StreamedTable::of_files(schema, &self.paths, reader_bytes);
        Some(PageReader { files, file_bytes: self.file_bytes, engine_bytes_max })
    }
}

/// Adds the memory of the columns of a row group, each with all that is below it.
fn add(widths: &mut HashMap<String, Width>, group: &RowGroupMetaData, large: &LargePages) {
    let bytes = |bytes: i64| u64::try_from(bytes).unwrap_or(0);
    let rows = bytes(group.num_rows()).max(1);
    let mut own: HashMap<&str, Width> = HashMap::new();
    for column in group.columns() {
        let Some(name) = column.column_path().parts().first() else { continue };
        let uncompressed = bytes(column.uncompressed_size());
        let page_bytes = if large.columns.contains(name) { large.bytes as u64 } else { PAGE_BYTES };
        // A dictionary has a value once, however often it comes; its writer may tell the bytes of
        // all of them.
        let decoded = uncompressed.max(bytes(column.unencoded_byte_array_data_bytes().unwrap_or(0)));
        let width = own.entry(name).or_default();
        width.row_bytes += decoded.div_ceil(rows);
        width.group_bytes += bytes(column.compressed_size()) + uncompressed.min(2 * page_bytes);
    }
    for (name, width) in own {
        let most = widths.entry(name.to_owned()).or_default();
        most.row_bytes = most.row_bytes.max(width.row_bytes);
        most.group_bytes = most.group_bytes.max(width.group_bytes);
    }
}
