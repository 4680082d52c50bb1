//! Joins that let others run, and can be ended.
//!
//! The engine's scans yield after some batches. A join may make millions of batches of one, or
//! compare millions of pairs for each and find none: until then neither Ctrl-C nor the watchdog nor
//! the end of a cluster's job would reach its task.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
    SendableRecordBatchStream,
};
use futures::StreamExt;
use std::fmt;
use std::sync::Arc;

/// The plan with joins that yield.
///
/// # Errors
/// When the engine refuses a part of it, which would be a defect here.
pub(crate) fn yielding(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    Ok(plan.transform_up(wrap)?.data)
}

fn wrap(node: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let multiplies = node.is::<CrossJoinExec>()
        || node.is::<NestedLoopJoinExec>()
        || node.is::<HashJoinExec>()
        || node.is::<SortMergeJoinExec>()
        || node.is::<UnnestExec>();
    if !multiplies {
        return Ok(Transformed::no(node));
    }
    // They may compare many batches of their sides, and find nothing.
    let node = if node.is::<NestedLoopJoinExec>() || node.is::<HashJoinExec>() || node.is::<SortMergeJoinExec>() {
        let sides = node.children().into_iter().map(|side| Arc::new(YieldingExec::new(Arc::clone(side))) as Arc<_>);
        let sides = sides.collect();
        node.replace_children(sides, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))?
    } else {
        node
    };
    Ok(Transformed::yes(Arc::new(CooperativeExec::new(node)) as Arc<dyn ExecutionPlan>))
}

/// Operator that passes its input on, and yields to the runtime before each batch.
#[derive(Debug)]
pub struct YieldingExec {
    input: Arc<dyn ExecutionPlan>,
}

impl YieldingExec {
    /// An operator over `input`.
    #[must_use]
    pub fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        Self { input }
    }
}

impl DisplayAs for YieldingExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("YieldingExec")
    }
}

impl ExecutionPlan for YieldingExec {
    fn name(&self) -> &'static str {
        "YieldingExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let [input] = &children[..] else { return internal_err!("{} inputs, and one is yielded", children.len()) };
        Ok(Arc::new(Self::new(Arc::clone(input))))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(partition, context)?.then(|batch| async {
            tokio::task::yield_now().await;
            batch
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}
