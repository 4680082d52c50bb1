//! Keys of exchanges as columns.
//!
//! The engine sends the key by which rows are dealt out with a codec of its own, which has no
//! functions of ours. So a key that is computed becomes a column before the exchange, and goes
//! after it.

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{Partitioning, PhysicalExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use std::sync::Arc;

/// The plan with exchanges by columns only.
///
/// # Errors
/// When the engine refuses a part of it, which would be a defect here.
pub(crate) fn plain_keys(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    Ok(plan.transform_up(exchange)?.data)
}

fn exchange(node: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let Some(exchange) = node.downcast_ref::<RepartitionExec>() else { return Ok(Transformed::no(node)) };
    let Partitioning::Hash(keys, count) = exchange.partitioning() else { return Ok(Transformed::no(node)) };
    if keys.iter().all(|key| key.is::<Column>()) {
        return Ok(Transformed::no(node));
    }
    let input = exchange.input();
    let mut columns = columns_of(input, input.schema().fields().len());
    let mut by = Vec::new();
    for (number, key) in keys.iter().enumerate() {
        let name = format!("__key_{number}");
        by.push(Arc::new(Column::new(&name, columns.len())) as Arc<dyn PhysicalExpr>);
        columns.push((Arc::clone(key), name));
    }
    let keyed = Arc::new(ProjectionExec::try_new(columns, Arc::clone(input))?);
    let dealt: Arc<dyn ExecutionPlan> = Arc::new(RepartitionExec::try_new(keyed, Partitioning::Hash(by, *count))?);
    let columns = columns_of(&dealt, input.schema().fields().len());
    Ok(Transformed::yes(Arc::new(ProjectionExec::try_new(columns, dealt)?)))
}

/// The first columns of a plan, as expressions with their names.
fn columns_of(plan: &Arc<dyn ExecutionPlan>, count: usize) -> Vec<(Arc<dyn PhysicalExpr>, String)> {
    let column = |(index, field): (usize, &Arc<datafusion::arrow::datatypes::Field>)| {
        let expr: Arc<dyn PhysicalExpr> = Arc::new(Column::new(field.name(), index));
        (expr, field.name().clone())
    };
    plan.schema().fields().iter().enumerate().take(count).map(column).collect()
}
