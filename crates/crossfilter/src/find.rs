//! The next row that meets a condition, among the rows of a view in their order.

use crate::limits::SORTED_ROWS_MAX;
use crate::plan::ViewPlan;
use crate::row_order::{RowOrder, RowPosition};
use crate::segment::InputRun;
use crate::store::{RowStore, Snapshot};
use crate::view::{View, ViewError};
use crate::view_cache::Share;
use rorqual_accesslog::filter::Filter;
use rorqual_pipe::{Control, Error, each};
use std::io;

/// A search among the rows of a view.
#[derive(Debug, Clone)]
pub struct FindWanted<'a> {
    /// The rows that it is made among.
    pub view: &'a View,
    /// Their order; `None` is that of the inputs.
    pub order: Option<RowOrder>,
    /// Rows that are looked for.
    pub target: FindTarget,
    /// Place in the order that the search begins after; `None` is before the first row, or after
    /// the last one.
    pub from: Option<u64>,
    /// Towards the first row.
    pub backwards: bool,
}

/// Rows that are looked for.
#[derive(Debug, Clone)]
pub enum FindTarget {
    /// Rows that meet it.
    Filter(Filter),
    /// Rows with these [`place`](crate::PageRow::place)s.
    Places(Vec<String>),
}

/// A run of a segment, in the order of the inputs.
type RunKey = (u32, u64, usize, u32);

fn key_of(run: &InputRun, segment: usize) -> RunKey {
    (run.input, run.offset, segment, run.row)
}

fn key(share: &Share) -> RunKey {
    key_of(&share.run, share.segment)
}

impl RowStore {
    /// Place in the order of the nearest row that is looked for; `None` where there is none. Of an
    /// order by a column only the first [`SORTED_ROWS_MAX`] rows are looked at.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn find(&self, wanted: &FindWanted<'_>, control: &Control) -> Result<Option<u64>, ViewError> {
        let snapshot = self.snapshot();
        let plan = ViewPlan::new(wanted.view, self, control).ok_or(ViewError::Cancelled)?;
        let shares = self.shares_of(wanted.view, &snapshot, &plan, control)?;
        let among = RowsAmong { store: self, snapshot: &snapshot, plan: &plan, shares: &shares, control };
        let found = match (&wanted.target, wanted.order) {
            (FindTarget::Filter(filter), order) => {
                let filter = Filter::All(vec![wanted.view.filter.clone(), filter.clone()]);
                let view = View { filter, ..wanted.view.clone() };
                match order {
                    None => among.next_match(&view, wanted)?,
                    Some(order) => among.next_ordered(order, &view, wanted)?,
                }
            }
            (FindTarget::Places(places), order) => {
                let found = places.iter().filter_map(|place| RowPosition::parse(place));
                nearest(among.places(found.collect(), order, wanted.view)?.into_iter(), wanted)
            }
        };
        if control.stopped() { Err(ViewError::Cancelled) } else { Ok(found) }
    }
}

/// The nearest of some places in the order that lies in the direction of the search.
fn nearest(places: impl Iterator<Item = u64>, wanted: &FindWanted<'_>) -> Option<u64> {
    let from = wanted.from;
    if wanted.backwards {
        places.filter(|place| from.is_none_or(|from| *place < from)).max()
    } else {
        places.filter(|place| from.is_none_or(|from| *place > from)).min()
    }
}

/// The rows of a view.
struct RowsAmong<'a> {
    store: &'a RowStore,
    snapshot: &'a Snapshot,
    plan: &'a ViewPlan,
    /// In the order of the inputs.
    shares: &'a [Share],
    control: &'a Control,
}

impl RowsAmong<'_> {
    /// The rows of a run that a plan means.
    fn rows_of(&self, plan: &ViewPlan, (_, _, segment, first): RunKey) -> Result<Vec<u16>, ViewError> {
        let segment = &self.snapshot.segments[segment];
        let mut rows = Vec::new();
        plan.select(segment, self.store).map_err(ViewError::spilled)?.list(&mut rows);
        let end = segment.runs.iter().find(|run| run.row == first).map_or(first, |run| run.row + run.rows);
        rows.retain(|row| (first..end).contains(&u32::from(*row)));
        Ok(rows)
    }

    /// Place of a row of a run among those of the view; `None` where it is none of them.
    fn place_of(&self, run: RunKey, row: u16) -> Result<Option<u64>, ViewError> {
        let at = self.shares.partition_point(|share| key(share) < run);
        if self.shares.get(at).is_none_or(|share| key(share) != run) {
            return Ok(None);
        }
        let before: u64 = self.shares[..at].iter().map(|share| share.rows).sum();
        Ok(self.rows_of(self.plan, run)?.binary_search(&row).ok().map(|place| before + place as u64))
    }

    /// The run and the row in a place of the order of the inputs.
    fn row_in(&self, place: u64) -> Result<Option<(RunKey, u16)>, ViewError> {
        let mut before = 0;
        for share in self.shares {
            if place < before + share.rows {
                let row = self.rows_of(self.plan, key(share))?.get((place - before) as usize).copied();
                return Ok(row.map(|row| (key(share), row)));
            }
            before += share.rows;
        }
        Ok(None)
    }

    fn next_match(&self, view: &View, wanted: &FindWanted<'_>) -> Result<Option<u64>, ViewError> {
        let plan = ViewPlan::new(view, self.store, self.control).ok_or(ViewError::Cancelled)?;
        let matches = self.store.shares_of(view, self.snapshot, &plan, self.control)?;
        let from = match wanted.from {
            Some(from) => self.row_in(from)?,
            None => None,
        };
        let Some((run, row)) = from else {
            // Beyond the last row there is nothing more, and before it everything.
            let ends = if wanted.backwards { matches.last() } else { matches.first().filter(|_| wanted.from.is_none()) };
            return ends.map_or(Ok(None), |share| self.end_of(&plan, share, wanted.backwards));
        };
        let at = matches.partition_point(|share| key(share) < run);
        let is_here = matches.get(at).is_some_and(|share| key(share) == run);
        if is_here {
            let rows = self.rows_of(&plan, run)?;
            let mut nearest = rows.iter().copied();
            let found = if wanted.backwards { nearest.rfind(|other| *other < row) } else { nearest.find(|other| *other > row) };
            if let Some(found) = found {
                return self.place_of(run, found);
            }
        }
        let next = if wanted.backwards { at.checked_sub(1) } else { Some(at + usize::from(is_here)) };
        next.and_then(|next| matches.get(next)).map_or(Ok(None), |share| self.end_of(&plan, share, wanted.backwards))
    }

    /// Place of the first or the last row of a share.
    fn end_of(&self, plan: &ViewPlan, share: &Share, last: bool) -> Result<Option<u64>, ViewError> {
        let rows = self.rows_of(plan, key(share))?;
        let row = if last { rows.last() } else { rows.first() };
        row.map_or(Ok(None), |row| self.place_of(key(share), *row))
    }

    fn ordered(&self, order: RowOrder, view: &View) -> Result<Vec<RowPosition>, ViewError> {
        let total = self.shares.iter().map(|share| share.rows).sum();
        let ordered = self.store.ordered((view, order), total, SORTED_ROWS_MAX, self.snapshot, self.control)?;
        Ok(ordered.rows().to_vec())
    }

    fn next_ordered(&self, order: RowOrder, matches: &View, wanted: &FindWanted<'_>) -> Result<Option<u64>, ViewError> {
        let plan = ViewPlan::new(matches, self.store, self.control).ok_or(ViewError::Cancelled)?;
        let mut ordered: Vec<(u64, RowPosition)> = (0..).zip(self.ordered(order, wanted.view)?).collect();
        ordered.retain(|(place, _)| nearest(std::iter::once(*place), wanted).is_some());
        ordered.sort_unstable_by_key(|(_, position)| position.segment);
        let mut workers = vec![(); self.store.threads()];
        let work = |(): &mut (), rows: &[(u64, RowPosition)]| -> io::Result<Option<u64>> {
            let Some((_, first)) = rows.first().filter(|_| !self.control.stopped()) else { return Ok(None) };
            let bits = plan.select(&self.snapshot.segments[first.segment as usize], self.store)?;
            let is_met = |position: &RowPosition| bits.count_in(usize::from(position.row), usize::from(position.row) + 1) > 0;
            Ok(nearest(rows.iter().filter(|(_, position)| is_met(position)).map(|(place, _)| *place), wanted))
        };
        let mut found = Vec::new();
        let sink = |of_segment: io::Result<Option<u64>>| {
            found.extend(of_segment.map_err(|cause| Error::io("rows", "cannot read spilled rows", cause))?);
            Ok(())
        };
        let of_segments = ordered.chunk_by(|(_, a), (_, b)| a.segment == b.segment);
        each(of_segments, &mut workers, work, sink).map_err(ViewError::Io)?;
        Ok(nearest(found.into_iter(), wanted))
    }

    /// Places of some rows in the order; those that are none of the view are left out.
    fn places(&self, rows: Vec<RowPosition>, order: Option<RowOrder>, view: &View) -> Result<Vec<u64>, ViewError> {
        if let Some(order) = order {
            let ordered = self.ordered(order, view)?;
            return Ok((0..).zip(&ordered).filter(|(_, row)| rows.contains(row)).map(|(place, _)| place).collect());
        }
        let mut places = Vec::new();
        for row in rows {
            let runs = self.snapshot.segments.get(row.segment as usize).map_or(&[][..], |segment| &segment.runs[..]);
            let after = runs.partition_point(|run| run.row <= u32::from(row.row));
            let run = after.checked_sub(1).map(|at| &runs[at]);
            // The rows of a file that was read anew may lie elsewhere.
            let run = run.filter(|run| (run.input, run.offset) == (row.input, row.offset));
            if let Some(run) = run {
                places.extend(self.place_of(key_of(run, row.segment as usize), row.row)?);
            }
        }
        Ok(places)
    }
}
