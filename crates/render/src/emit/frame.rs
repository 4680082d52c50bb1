//! The variables of a rendering.

use crate::plan::Plan;
use crate::rows::Batch;
use minijinja::Value;
use std::ops::Range;
use std::sync::Arc;

/// The variables and loops of a rendering.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) slots: Vec<Slot>,
    pub(super) loops: Vec<Looped>,
}

#[derive(Debug, Clone, Default)]
pub(super) enum Slot {
    #[default]
    Unset,
    Value(Value),
    /// The row of the loop of that number.
    Row(usize),
}

/// Where a loop is.
#[derive(Debug, Clone, Default)]
pub(super) struct Looped {
    pub(super) index0: u64,
    pub(super) length: Option<u64>,
    pub(super) last: bool,
    pub(super) bound: Option<Bound>,
}

/// A batch, and where in it the loop's keys are.
#[derive(Debug, Clone)]
pub(super) struct Bound {
    pub(super) batch: Arc<dyn Batch>,
    pub(super) row: usize,
    pub(super) columns: Vec<Option<usize>>,
}

impl Bound {
    pub(super) fn new(batch: &Arc<dyn Batch>, keys: &[&str]) -> Self {
        let column = |key: &&str| batch.columns().iter().position(|name| name == key);
        Self { batch: Arc::clone(batch), row: 0, columns: keys.iter().map(column).collect() }
    }
}

impl Frame {
    pub(super) fn new(plan: &Plan<'_>) -> Self {
        Self { slots: vec![Slot::Unset; plan.slots], loops: vec![Looped::default(); plan.loops] }
    }

    pub(super) fn clear(&mut self, slots: &Range<usize>) {
        self.slots[slots.clone()].fill(Slot::Unset);
    }
}
