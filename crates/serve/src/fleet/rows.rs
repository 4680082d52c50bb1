//! Rows of all peers, merged by time or by another column.

use super::ask::{FleetQuestion, LostPeers};
use super::peer::{read, unsound};
use super::wire::{PartAsk, PartSort, RowsPart};
use crate::limits::BUCKETS;
use bytes::Bytes;
use rorqual_crossfilter::fleet::{RowKeys, RowMerge};
use rorqual_crossfilter::limits::SORTED_ROWS_MAX;
use rorqual_crossfilter::{PageRow, Stack, View};
use std::borrow::Cow;
use std::collections::HashSet;

/// Rows of an order, and the peers that have them, by their places in the roll.
pub(super) struct MergedRows {
    /// Rows of the view.
    pub(super) total: u64,
    pub(super) rows: Vec<PageRow>,
    pub(super) peers: Vec<usize>,
    /// No other rows may come before these.
    pub(super) exact: bool,
    pub(super) unkept: Vec<String>,
}

impl FleetQuestion<'_> {
    /// Rows of an order from the `offset`th on; `None` where the peers can't tell as many.
    pub(super) async fn rows(&self, sort: &PartSort, offset: u64, limit: usize) -> Result<Option<MergedRows>, LostPeers> {
        let sort = &self.named_sort(sort);
        let fits = |offset: u64| offset.saturating_add(limit as u64) <= SORTED_ROWS_MAX as u64;
        if fits(offset) || !self.is_by_time(sort) {
            let found = self.first_rows(sort, offset, limit).await?;
            return Ok(self.of_one_moment(found).await);
        }
        let (sums, _) = self.sums(BUCKETS.1, Stack::Class).await?;
        let total = sums.lines().total;
        let mut seek = TimeSeek { view: self.view.clone(), before: offset, descending: sort.descending };
        let mut buckets = sums.buckets();
        let mut last_width = i64::MAX;
        while let Some(width) = seek.enter(&buckets) {
            if fits(seek.before) {
                break;
            }
            // Foreign buckets may be as wide as those before.
            if width <= 1 || width >= last_width {
                return Ok(None);
            }
            last_width = width;
            buckets = self.within(seek.bucket(&buckets)).sums(BUCKETS.1, Stack::Class).await?.0.buckets();
        }
        let found = self.within(seek.view.clone()).first_rows(sort, seek.before, limit).await?;
        Ok(self.of_one_moment(found.map(|found| MergedRows { total, ..found })).await)
    }

    /// True of the order of time, which is that of a column where a table has one.
    fn is_by_time(&self, sort: &PartSort) -> bool {
        let schema = self.schema();
        schema.time().map_or(!schema.is_table() && sort.field == "time", |time| time == sort.field)
    }

    /// An order by the name of its column, as the peers that have it know it.
    fn named_sort(&self, sort: &PartSort) -> PartSort {
        let schema = self.schema();
        if sort.field == "time" {
            return sort.clone();
        }
        let text = schema.text(&sort.field).map(|column| schema.text_name(column));
        let name = text.or_else(|| schema.number(&sort.field).map(|column| schema.number_name(column)));
        let field = name.map_or_else(|| sort.field.clone(), Cow::into_owned);
        PartSort { field, descending: sort.descending }
    }

    /// The rows, which are in no sure order where others have come meanwhile.
    async fn of_one_moment(&self, found: Option<MergedRows>) -> Option<MergedRows> {
        let found = found?;
        let exact = found.exact && self.is_of_one_moment().await;
        Some(MergedRows { exact, ..found })
    }

    fn within(&self, view: View) -> FleetQuestion<'_> {
        FleetQuestion { fleet: self.fleet, roll: self.roll, view }
    }

    async fn first_rows(&self, sort: &PartSort, offset: u64, limit: usize) -> Result<Option<MergedRows>, LostPeers> {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = offset.saturating_add(limit).min(SORTED_ROWS_MAX);
        let has = |at: &usize| sort.field == "time" || self.peer_has(*at, &sort.field);
        let peers: Vec<usize> = self.all().into_iter().filter(has).collect();
        if peers.len() < self.roll.live.len() {
            // Rows without the column come last; nobody can say in which order beside the others.
            return Ok(None);
        }
        let keys = self.keys(&peers, sort, end).await?;
        let total = keys.iter().map(|keys| keys.total).sum();
        let Some(merge) = RowMerge::new(&keys, sort.descending, offset, end - offset.min(end)) else { return Ok(None) };
        drop(keys);
        let asked: Vec<usize> = peers.iter().copied().filter(|at| merge.count(*at) > 0).collect();
        let ask = |at: usize| PartAsk::Rows { sort: sort.clone(), offset: merge.before[at] as u64, limit: merge.count(at) };
        let parts = self.parts(&asked, &[], ask, |answer| read::<RowsPart>(answer)).await?;
        let mut unkept: Vec<String> = parts.iter().flat_map(|part| part.unkept.clone()).collect();
        unkept.sort_unstable();
        unkept.dedup();
        let mut rows: Vec<(usize, std::vec::IntoIter<PageRow>)> =
            asked.into_iter().zip(parts).map(|(at, part)| (at, part.rows.into_iter())).collect();
        let next = |at: &usize| rows.iter_mut().find(|(other, _)| other == at)?.1.next().map(|row| (*at, row));
        // A peer whose rows are long, or went meanwhile, ends the page: rows after them would leave
        // some out.
        let merged: Vec<(usize, PageRow)> = merge.stores.iter().map_while(next).collect();
        let exact = merge.exact && merged.len() == merge.stores.len();
        let (peers, rows) = merged.into_iter().map(|(at, row)| (at, self.named_row(at, row))).unzip();
        Ok(Some(MergedRows { total, rows, peers, exact, unkept }))
    }

    /// Keys of the first `end` rows of each of some peers, in as many parts as they need: long
    /// texts take two.
    async fn keys(&self, peers: &[usize], sort: &PartSort, end: usize) -> Result<Vec<RowKeys>, LostPeers> {
        let ask = |first: usize| PartAsk::Keys { sort: sort.clone(), first, end };
        let sound = |answer: &Bytes| {
            let keys: RowKeys = read(answer)?;
            if keys.is_sound(end, sort.descending) { Ok(keys) } else { Err(unsound()) }
        };
        let mut all = self.parts(peers, &[], |_| ask(0), sound).await?;
        // Peers that have lost rows meanwhile give no more.
        let mut ended = HashSet::new();
        loop {
            let is_short = |place: &usize| all[*place].has_more(end) && !ended.contains(place);
            let short: Vec<usize> = (0..all.len()).filter(is_short).collect();
            let asked: Vec<usize> = short.iter().map(|place| peers[*place]).collect();
            let known = |at| peers.iter().position(|other| *other == at).map_or(0, |place| all[place].keys.len());
            let more = self.parts(&asked, &[], |at| ask(known(at)), sound).await?;
            if more.is_empty() {
                return Ok(all);
            }
            for (place, more) in short.into_iter().zip(more) {
                if more.keys.is_empty() {
                    ended.insert(place);
                }
                all[place].append(more, sort.descending);
                all[place].keys.truncate(end);
            }
        }
    }

    /// A row whose name is one among those of all peers.
    fn named_row(&self, at: usize, row: PageRow) -> PageRow {
        let place = format!("{}-{}", self.roll.live[at].place, row.place);
        PageRow { place, ..row }
    }
}

/// The way to rows far from the first: into the bucket of time that has them.
struct TimeSeek {
    /// The view from, or with `descending` up to, that bucket.
    view: View,
    /// Rows of it before the wanted ones.
    before: u64,
    descending: bool,
}

impl TimeSeek {
    /// Goes into the bucket that has the first of the rows; its width, or `None` where no bucket
    /// has it.
    fn enter(&mut self, buckets: &[(i64, i64, u64)]) -> Option<i64> {
        let mut ordered: Vec<&(i64, i64, u64)> = buckets.iter().collect();
        if self.descending {
            ordered.reverse();
        }
        for (start, width, rows) in ordered {
            if self.before < *rows {
                let (start_us, end_us) = span_us(*start, *width);
                if self.descending {
                    self.view.to_us = Some(self.view.to_us.map_or(end_us, |to| to.min(end_us)));
                } else {
                    self.view.from_us = Some(self.view.from_us.map_or(start_us, |from| from.max(start_us)));
                }
                return Some(*width);
            }
            self.before -= rows;
        }
        // The rest are rows without a time.
        self.view.from_us = Some(i64::MAX);
        None
    }

    /// The view of nothing but that bucket.
    fn bucket(&self, buckets: &[(i64, i64, u64)]) -> View {
        let is_it = |(start, width, _): &&(i64, i64, u64)| {
            let (start_us, end_us) = span_us(*start, *width);
            if self.descending {
                self.view.to_us.is_some_and(|to| start_us < to && to <= end_us)
            } else {
                self.view.from_us.is_some_and(|from| start_us <= from && from < end_us)
            }
        };
        let mut view = self.view.clone();
        if let Some((start, width, _)) = buckets.iter().find(is_it) {
            let (start_us, end_us) = span_us(*start, *width);
            view.from_us = Some(view.from_us.map_or(start_us, |from| from.max(start_us)));
            view.to_us = Some(view.to_us.map_or(end_us, |to| to.min(end_us)));
        }
        view
    }
}

fn span_us(start: i64, width: i64) -> (i64, i64) {
    (start.saturating_mul(1_000_000), start.saturating_add(width).saturating_mul(1_000_000))
}
