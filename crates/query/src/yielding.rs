//! Operators that make many rows of few let others run, and can be ended.
//!
//! The engine's scans yield after some batches. A join may make millions of batches of one: until
//! then neither Ctrl-C nor the watchdog nor the end of a cluster's job would reach its task.

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::unnest::UnnestExec;
use std::sync::Arc;

/// The plan with joins that yield.
///
/// # Errors
/// When the engine refuses a part of it, which would be a defect here.
pub(crate) fn yielding(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let wrap = |node: Arc<dyn ExecutionPlan>| {
        let multiplies = node.is::<CrossJoinExec>()
            || node.is::<NestedLoopJoinExec>()
            || node.is::<HashJoinExec>()
            || node.is::<SortMergeJoinExec>()
            || node.is::<UnnestExec>();
        if !multiplies {
            return Ok(Transformed::no(node));
        }
        Ok(Transformed::yes(Arc::new(CooperativeExec::new(node)) as Arc<dyn ExecutionPlan>))
    };
    Ok(plan.transform_up(wrap)?.data)
}
