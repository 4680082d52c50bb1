//! Files of columns as a table: their readers, and the memory of these.

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
    pub(crate) widths: Widths,
}

impl ColumnsTable {
    pub(super) fn new(files: Arc<dyn TableProvider>, widths: Widths) -> Self {
        Self { files, widths }
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
        self.files.scan(state, projection, filters, limit).await
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        self.files.supports_filters_pushdown(filters)
    }

    fn statistics(&self) -> Option<Statistics> {
        self.files.statistics()
    }
}
