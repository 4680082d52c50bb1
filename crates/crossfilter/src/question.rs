//! Questions: the rows asked about, the others, and passes over them.

use crate::bits::Bits;
use crate::plan::ViewPlan;
use crate::segment::Segment;
use crate::store::RowStore;
use crate::view::{View, ViewError};
use rorqual_pipe::{Control, Error, each};
use std::io;
use std::sync::Arc;

/// A question.
pub(crate) struct ViewQuestion<'a> {
    pub(crate) store: &'a RowStore,
    inside: ViewPlan,
    all: ViewPlan,
    control: &'a Control,
}

/// Rows of a segment.
pub(crate) struct SegmentRows {
    /// Its place among the segments.
    pub(crate) number: usize,
    /// Rows asked about.
    pub(crate) inside: Bits,
    /// With the rest.
    pub(crate) all: Bits,
}

impl<'a> ViewQuestion<'a> {
    pub(crate) fn new(store: &'a RowStore, view: &View, against: &View, control: &'a Control) -> Result<Self, ViewError> {
        let plan = |view: &View| ViewPlan::new(view, store, control).ok_or(ViewError::Cancelled);
        Ok(Self { store, inside: plan(view)?, all: plan(against)?, control })
    }

    /// Works on segments side by side, and returns the result of each thread. A spilled segment is
    /// read back once.
    pub(crate) fn pass<'s, T: Send>(
        &self,
        segments: impl Iterator<Item = (usize, &'s Arc<Segment>)> + Send,
        empty: impl Fn() -> T,
        is_wanted: impl Fn(&SegmentRows) -> bool + Sync,
        work: impl Fn(&mut T, &Segment, &SegmentRows) -> io::Result<()> + Sync,
    ) -> Result<Vec<T>, ViewError> {
        let mut workers: Vec<T> = (0..self.store.settings.threads).map(|_| empty()).collect();
        let work = |worker: &mut T, (number, segment): (usize, &Arc<Segment>)| {
            if self.control.stopped() {
                return Ok(());
            }
            let asked = self.asked(number, segment)?;
            if !is_wanted(&asked) {
                return Ok(());
            }
            if segment.is_spilled() {
                return work(worker, &segment.read_back(self.store.spill.as_ref())?, &asked);
            }
            work(worker, segment, &asked)
        };
        let sink = |done: io::Result<()>| done.map_err(|cause| Error::io("rows", "cannot read spilled rows", cause));
        each(segments, &mut workers, work, sink).map_err(ViewError::Io)?;
        if self.control.stopped() { Err(ViewError::Cancelled) } else { Ok(workers) }
    }

    fn asked(&self, number: usize, segment: &Segment) -> io::Result<SegmentRows> {
        let select = |plan: &ViewPlan| plan.select(segment, self.store);
        let all = select(&self.all)?;
        let mut inside = select(&self.inside)?;
        inside.and(&all);
        Ok(SegmentRows { number, inside, all })
    }
}
