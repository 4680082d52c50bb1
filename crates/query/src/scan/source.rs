//! A scan of records in a plan.

use super::context::ScanContext;
use super::counts::ScanCounts;
use super::object::PiecesAhead;
use super::opener::RecordOpener;
use super::scan_notes::ScanNotes;
use crate::args::BadRecordFlag;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, ScalarValue};
use datafusion::datasource::physical_plan::{FileOpener, FileScanConfig, FileSource};
use datafusion::datasource::projection::{ProjectionOpener, SplitProjection};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, Operator};
use datafusion::object_store::ObjectStore;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, conjunction_opt};
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder};
use datafusion::physical_plan::{DisplayFormatType, apply_expression_roots};
use rorqual_columnar::RecordFormat;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Parts of a scan that make the same scan in another process, beside its files and its filter.
#[derive(Debug, Clone)]
pub struct ScanSpec {
    /// Format of the files.
    pub format: RecordFormat,
    /// Lines of a log outside of it are left out before they are taken apart, in microseconds.
    pub span_us: Option<RangeInclusive<i64>>,
    /// Rows of a batch.
    pub batch_rows: usize,
    /// The fate of records that are not rows, where it was said.
    pub bad: Option<BadRecordFlag>,
}

/// Scans files of records: format, columns, span of time, filters.
#[derive(Clone)]
pub struct RecordSource {
    spec: ScanSpec,
    table: TableSchema,
    projection: SplitProjection,
    /// Filter of the engine; chunks of which it leaves nothing are not decoded further.
    filter: Option<Arc<dyn PhysicalExpr>>,
    pieces_ahead: PiecesAhead,
    /// Most threads that decode one stream.
    stream_threads_max: usize,
    metrics: ExecutionPlanMetricsSet,
    context: Arc<ScanContext>,
    tally: Arc<ScanNotes>,
}

impl RecordSource {
    pub(crate) fn new(format: RecordFormat, schema: &SchemaRef, context: &Arc<ScanContext>) -> Self {
        let spec = ScanSpec { format, span_us: None, batch_rows: crate::limits::BATCH_ROWS, bad: context.bad };
        Self::of_spec(spec, schema, context, context.tallies.add())
    }

    fn of_spec(spec: ScanSpec, schema: &SchemaRef, context: &Arc<ScanContext>, tally: Arc<ScanNotes>) -> Self {
        let table = TableSchema::from(Arc::clone(schema));
        Self {
            spec,
            projection: SplitProjection::unprojected(&table),
            table,
            filter: None,
            pieces_ahead: context.pieces_ahead.clone(),
            stream_threads_max: usize::MAX,
            metrics: ExecutionPlanMetricsSet::new(),
            context: Arc::clone(context),
            tally,
        }
    }

    /// The scan of another process, for one of the tasks that share this one: it decodes a stream
    /// by one thread, and keeps its notes until they are [published](Self::publish_notes).
    #[must_use]
    pub fn of_task(
        spec: ScanSpec,
        schema: &SchemaRef,
        filter: Option<Arc<dyn PhysicalExpr>>,
        context: &Arc<ScanContext>,
    ) -> Self {
        Self { filter, stream_threads_max: 1, ..Self::of_spec(spec, schema, context, Arc::default()) }
    }

    /// Parts that make the same scan in another process.
    #[must_use]
    pub fn spec(&self) -> &ScanSpec {
        &self.spec
    }

    /// Filter of the engine, if there is one.
    #[must_use]
    pub fn engine_filter(&self) -> Option<&Arc<dyn PhysicalExpr>> {
        self.filter.as_ref()
    }

    /// Name of the count that [`publish_notes`](Self::publish_notes) adds in any case: where it is
    /// missing, notes may be, too.
    pub const ENDED_METRIC: &str = "rorqual_scan_ended";

    /// Puts the notes of the scan among its metrics, which go to another process: a count each,
    /// named by the note as JSON.
    pub fn publish_notes(&self) {
        MetricBuilder::new(&self.metrics).counter(Self::ENDED_METRIC, 0).add(1);
        self.tally.publish(&self.metrics);
    }

    /// The same with pieces of objects that are read ahead.
    pub(crate) fn reading_ahead(mut self, pieces: PiecesAhead) -> Self {
        self.pieces_ahead = pieces;
        self
    }

    /// Narrows the span to the times that `filters`, all of which hold, allow.
    pub(crate) fn within(mut self, filters: &[Expr]) -> Self {
        if !matches!(self.spec.format, RecordFormat::Log(_)) {
            return self;
        }
        let (mut since, mut until) = (i64::MIN, i64::MAX);
        for bound in filters.iter().flat_map(split_conjunction).filter_map(bound_of) {
            since = since.max(*bound.start());
            until = until.min(*bound.end());
        }
        self.spec.span_us = (since > i64::MIN || until < i64::MAX).then_some(since..=until);
        self
    }
}

/// The microseconds that a comparison of `time` with a constant leaves.
fn bound_of(filter: &Expr) -> Option<RangeInclusive<i64>> {
    if let Expr::Between(between) = filter {
        let span = micros(&between.low)?..=micros(&between.high)?;
        return (is_time(&between.expr) && !between.negated).then_some(span);
    }
    let Expr::BinaryExpr(binary) = filter else { return None };
    let (operator, constant) = if is_time(&binary.left) {
        (binary.op, micros(&binary.right)?)
    } else if is_time(&binary.right) {
        (binary.op.swap()?, micros(&binary.left)?)
    } else {
        return None;
    };
    Some(match operator {
        Operator::Eq => constant..=constant,
        Operator::Gt => constant.saturating_add(1)..=i64::MAX,
        Operator::GtEq => constant..=i64::MAX,
        Operator::Lt => i64::MIN..=constant.saturating_sub(1),
        Operator::LtEq => i64::MIN..=constant,
        _ => return None,
    })
}

fn is_time(expr: &Expr) -> bool {
    matches!(expr, Expr::Column(column) if column.name == "time")
}

/// A constant of the column's own type, which the planner has made of whatever was written.
fn micros(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Literal(ScalarValue::TimestampMicrosecond(micros, _), _) => *micros,
        _ => None,
    }
}

impl FileSource for RecordSource {
    fn create_file_opener(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        let schema = Arc::new(self.table.file_schema().project(&self.projection.file_indices)?);
        let opener = RecordOpener {
            format: self.spec.format.clone(),
            schema,
            table: Arc::clone(self.table.file_schema()),
            span_us: self.spec.span_us.clone(),
            filter: self.filter.clone(),
            tried: Arc::default(),
            batch_rows: self.spec.batch_rows,
            stream_threads: self.context.shares.stream_threads(config.file_groups.len()).min(self.stream_threads_max),
            bad: self.spec.bad,
            store,
            pieces_ahead: self.pieces_ahead.divided(config.file_groups.len()),
            context: Arc::clone(&self.context),
            tally: Arc::clone(&self.tally),
            counts: ScanCounts::new(&self.metrics, partition),
        };
        ProjectionOpener::try_new(self.projection.clone(), Arc::new(opener), self.table.file_schema())
    }

    fn table_schema(&self) -> &TableSchema {
        &self.table
    }

    fn with_batch_size(&self, batch_rows: usize) -> Arc<dyn FileSource> {
        Arc::new(Self { spec: ScanSpec { batch_rows, ..self.spec.clone() }, ..self.clone() })
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        Some(&self.projection.source)
    }

    fn try_pushdown_projection(&self, projection: &ProjectionExprs) -> Result<Option<Arc<dyn FileSource>>> {
        let merged = self.projection.source.try_merge(projection)?;
        let projection = SplitProjection::new(self.table.file_schema(), &merged);
        Ok(Some(Arc::new(Self { projection, ..self.clone() })))
    }

    /// Filters stay with the engine, which looks at each row that comes.
    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        let kept = vec![PushedDown::No; filters.len()];
        let columns = self.table.file_schema().fields().len();
        let ours = filters.into_iter().filter(|filter| collect_columns(filter).iter().all(|column| column.index() < columns));
        let filter = conjunction_opt(self.filter.iter().cloned().chain(ours));
        let source: Arc<dyn FileSource> = Arc::new(Self { filter, ..self.clone() });
        Ok(FilterPushdownPropagation::with_parent_pushdown_result(kept).with_updated_node(source))
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    fn file_type(&self) -> &str {
        match self.spec.format {
            RecordFormat::Json(..) => "json",
            RecordFormat::Csv(_) => "csv",
            RecordFormat::Log(_) => "log",
        }
    }

    fn fmt_extra(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(span) = &self.spec.span_us {
            write!(f, ", time_us={}..={}", span.start(), span.end())?;
        }
        match &self.filter {
            Some(filter) => write!(f, ", filter={filter}"),
            None => Ok(()),
        }
    }

    /// The table has cut its files already.
    fn supports_repartitioning(&self) -> bool {
        false
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        match apply_expression_roots(self.projection.source.iter(), f)? {
            TreeNodeRecursion::Stop => Ok(TreeNodeRecursion::Stop),
            _ => apply_expression_roots(self.filter.iter(), f),
        }
    }
}
