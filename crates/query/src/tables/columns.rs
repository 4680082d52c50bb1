//! Files of columns as a table: their readers, and the memory of these.

use super::streamed::StreamedTable;
use super::widths::Widths;
use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, Statistics};
use datafusion::datasource::TableType;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use rorqual_columnar::read::{LargePages, TableFile};
use std::collections::HashSet;
use std::sync::Arc;

/// Parquet or Arrow files.
#[derive(Debug)]
pub(crate) struct ColumnsTable {
    files: Arc<dyn TableProvider>,
    widths: Widths,
    /// The reader of files of this machine for columns of which the engine would hold too much.
    page_reader: Option<PageReader>,
}

/// The reader of Parquet that holds a page of each column.
#[derive(Debug)]
pub(super) struct PageReader {
    pub(super) files: StreamedTable,
    pub(super) large: LargePages,
    /// Memory of the largest footer.
    pub(super) footer_bytes: u64,
    /// Memory that it is told of.
    pub(super) reader_bytes: u64,
    /// Most memory that the engine's own reader may take in one thread.
    pub(super) engine_bytes_max: u64,
}

impl PageReader {
    /// Memory of the pages of these columns that are held at once in any of the files, some of
    /// which may lack columns; `None` where they have no room.
    fn page_bytes(&self, columns: Option<&Vec<usize>>) -> Option<usize> {
        let schema = self.files.schema();
        let names = columns.map(|columns| columns.iter().map(|column| schema.field(*column).name().as_str()).collect());
        let read = |name: &str| names.as_ref().is_none_or(|names: &HashSet<&str>| names.contains(name));
        self.large.held_bytes(read, self.reader_bytes).map(|_| self.large.reserved_bytes(read, self.reader_bytes))
    }

    /// Memory of reading these columns of one file.
    fn file_bytes(&self, columns: Option<&Vec<usize>>) -> u64 {
        self.footer_bytes + TableFile::reading_bytes(self.reader_bytes, self.page_bytes(columns).unwrap_or(0) as u64)
    }
}

impl ColumnsTable {
    pub(super) fn new(files: Arc<dyn TableProvider>, widths: Widths) -> Self {
        Self { files, widths, page_reader: None }
    }

    pub(super) fn with_page_reader(self, page_reader: Option<PageReader>) -> Self {
        Self { page_reader, ..self }
    }

    /// Memory of a row of these columns, or of all.
    pub(crate) fn row_bytes(&self, columns: Option<&Vec<usize>>) -> u64 {
        self.widths.row_bytes(columns)
    }

    /// Bytes of these columns that each thread reads at once.
    pub(crate) fn group_bytes(&self, columns: Option<&Vec<usize>>) -> u64 {
        self.page_reader(columns).map_or_else(|| self.widths.group_bytes(columns), |reader| reader.file_bytes(columns))
    }

    /// The reader of these columns, if the engine's has no room and it has.
    fn page_reader(&self, columns: Option<&Vec<usize>>) -> Option<&PageReader> {
        let is_needed = |reader: &&PageReader| self.widths.group_bytes(columns) > reader.engine_bytes_max;
        let fits = |reader: &&PageReader| reader.page_bytes(columns).is_some();
        self.page_reader.as_ref().filter(is_needed).filter(fits)
    }
}

#[async_trait]
impl TableProvider for ColumnsTable {
    fn schema(&self) -> SchemaRef {
        self.files.schema()
    }

    fn table_type(&self) -> TableType {
        self.files.table_type()
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match self.page_reader(projection) {
            Some(reader) => reader.files.scan(state, projection, filters, limit).await,
            None => self.files.scan(state, projection, filters, limit).await,
        }
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        self.files.supports_filters_pushdown(filters)
    }

    fn statistics(&self) -> Option<Statistics> {
        self.files.statistics()
    }
}
