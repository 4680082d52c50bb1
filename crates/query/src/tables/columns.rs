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
use std::sync::Arc;

/// Parquet or Arrow files.
#[derive(Debug)]
pub(crate) struct ColumnsTable {
    files: Arc<dyn TableProvider>,
    widths: Widths,
    /// The reader of columns with large pages, if some have.
    page_reader: Option<PageReader>,
}

/// The way to read columns of which the engine would hold too much at once.
#[derive(Debug)]
pub(super) struct PageReader {
    pub(super) files: StreamedTable,
    /// Memory of reading one file.
    pub(super) file_bytes: u64,
    /// Most memory that the engine's own reader may take in one thread.
    pub(super) engine_bytes_max: u64,
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
        self.page_reader(columns).map_or_else(|| self.widths.group_bytes(columns), |reader| reader.file_bytes)
    }

    /// The reader of these columns, if the engine's has no room.
    fn page_reader(&self, columns: Option<&Vec<usize>>) -> Option<&PageReader> {
        self.page_reader.as_ref().filter(|reader| self.widths.group_bytes(columns) > reader.engine_bytes_max)
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
