//! The variables of a rendering.

use crate::plan::TemplatePlan;
use crate::rows::RowBatch;
use minijinja::Value;
use std::ops::Range;
use std::sync::Arc;

/// The variables and loops of a rendering.
#[derive(Debug, Clone)]
pub(super) struct RenderFrame {
    pub(super) slots: Vec<LoopSlot>,
    pub(super) loops: Vec<LoopPosition>,
}

#[derive(Debug, Clone, Default)]
pub(super) enum LoopSlot {
    #[default]
    Unset,
    Value(Value),
    /// The row of the loop of that number.
    Row(usize),
}

/// Position of a loop.
#[derive(Debug, Clone, Default)]
pub(super) struct LoopPosition {
    pub(super) index0: u64,
    pub(super) length: Option<u64>,
    pub(super) last: bool,
    pub(super) bound: Option<BoundBatch>,
}

/// A batch, and where in it the loop's keys are.
#[derive(Debug, Clone)]
pub(super) struct BoundBatch {
    pub(super) batch: Arc<dyn RowBatch>,
    pub(super) row: usize,
    pub(super) columns: Vec<Option<usize>>,
}

impl BoundBatch {
    pub(super) fn new(batch: &Arc<dyn RowBatch>, keys: &[&str]) -> Self {
        let column = |key: &&str| batch.columns().iter().position(|name| name == key);
        Self { batch: Arc::clone(batch), row: 0, columns: keys.iter().map(column).collect() }
    }
}

impl RenderFrame {
    pub(super) fn new(plan: &TemplatePlan<'_>) -> Self {
        Self { slots: vec![LoopSlot::Unset; plan.slots], loops: vec![LoopPosition::default(); plan.loops] }
    }

    pub(super) fn clear(&mut self, slots: &Range<usize>) {
        self.slots[slots.clone()].fill(LoopSlot::Unset);
    }
}
