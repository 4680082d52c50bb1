//! The panel of path and query together. It comes from two dictionaries, so its pairs are counted
//! when somebody asks, in as many passes as it takes to hold few of them at a time.

use crate::columns::{BYTES, PATH, QUERY};
use crate::dictionary::{NONE, OTHERS};
use crate::limits::{URL_PAIRS_MAX, VALUES_LISTED_MAX};
use crate::panels::{PanelSearch, beyond};
use crate::plan::{ViewPlan, joined};
use crate::segment::Segment;
use crate::sparse_counts::RowsAndBytes;
use crate::store::{RowStore, Snapshot};
use crate::top::shown;
use crate::view::{PanelPage, PanelWanted, View, ViewError};
use foldhash::fast::RandomState;
use rorqual_accesslog::report::{Distinct, OtherValues, ReportRow};
use rorqual_accesslog::schema::TextColumn;
use rorqual_pipe::{Control, Error, each};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// Codes of a path and a query.
type PathQueryPair = (u32, u32);

/// Pairs whose hash has the remainder `part` when divided by `parts`; paths without a query are of
/// the first part.
#[derive(Clone, Copy)]
struct HashPartition {
    part: u32,
    parts: u32,
}

impl HashPartition {
    fn has(self, (path, query): PathQueryPair) -> bool {
        // By both, as many paths may have the same query; 2^64 divided by the golden ratio spreads
        // neighbours.
        let mixed = (u64::from(path) << 32 | u64::from(query)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        mixed % u64::from(self.parts) == u64::from(self.part)
    }
}

/// Counts of one worker for a partition.
#[derive(Default)]
struct Pairs {
    amounts: HashMap<PathQueryPair, RowsAndBytes, RandomState>,
    /// Without a query, by path.
    alone: Vec<RowsAndBytes>,
    /// Of values that there was no room for.
    others: RowsAndBytes,
    /// More pairs than may be held.
    overflowed: bool,
}

/// Listed pairs of the counted partitions.
#[derive(Default)]
struct UrlList {
    distinct: u64,
    found: u64,
    hits: u64,
    others: RowsAndBytes,
    rows: Vec<(PathQueryPair, RowsAndBytes)>,
}

impl RowStore {
    /// A stretch of the panel of [`TextColumn::URL`].
    pub(crate) fn urls(&self, view: &View, wanted: &PanelWanted, control: &Control) -> Result<PanelPage, ViewError> {
        let snapshot = self.snapshot();
        let plan = ViewPlan::new(view, self, control).ok_or(ViewError::Cancelled)?;
        // Each query has at least one path.
        let queries = self.dictionaries[QUERY].lock().len();
        let mut parts = queries.div_ceil(URL_PAIRS_MAX / 2).max(1) as u32;
        let listed = loop {
            match self.list_urls(&snapshot, &plan, parts, wanted, control)? {
                Some(listed) => break listed,
                None => parts *= 2,
            }
        };
        let RowsAndBytes { hits: others, bytes } = listed.others;
        let exact = others == 0;
        let rows = listed.rows.iter().skip(wanted.offset).map(|(pair, RowsAndBytes { hits, bytes })| ReportRow {
            value: shown(&self.url(*pair)),
            hits: *hits,
            hits_min: *hits,
            hits_max: *hits,
            bytes: *bytes,
        });
        Ok(PanelPage {
            field: self.schema().text_name(TextColumn::URL),
            distinct: Distinct { distinct: listed.distinct, exact, error: beyond(others, listed.distinct) },
            hits: listed.hits + others,
            exact: exact && plan.is_sure() && snapshot.rows_dropped == 0,
            error_max: others,
            others: (!exact).then_some(OtherValues { hits: others, bytes }),
            found: listed.found,
            rows: rows.collect(),
        })
    }

    fn url(&self, (path, query): PathQueryPair) -> Vec<u8> {
        // One lock after the other: nobody holds two.
        let path = self.dictionaries[PATH].lock().text(path).to_vec();
        joined(&path, self.dictionaries[QUERY].lock().text(query))
    }

    /// Counts part after part. `None` where a part is too large to be held.
    fn list_urls(
        &self,
        snapshot: &Snapshot,
        plan: &ViewPlan,
        parts: u32,
        wanted: &PanelWanted,
        control: &Control,
    ) -> Result<Option<UrlList>, ViewError> {
        let mut listed = UrlList::default();
        for part in 0..parts {
            let pairs = self.count_urls(&snapshot.segments, plan, HashPartition { part, parts }, control)?;
            if pairs.overflowed {
                return Ok(None);
            }
            self.list_part(pairs, &mut listed, wanted);
        }
        Ok(Some(listed))
    }

    fn count_urls(
        &self,
        segments: &[Arc<Segment>],
        plan: &ViewPlan,
        part: HashPartition,
        control: &Control,
    ) -> Result<Pairs, ViewError> {
        let paths = self.dictionaries[PATH].lock().len();
        let most = URL_PAIRS_MAX / self.settings.threads;
        let worker =
            || Pairs { alone: vec![RowsAndBytes::default(); if part.part == 0 { paths } else { 0 }], ..Pairs::default() };
        let mut workers: Vec<Pairs> = (0..self.settings.threads).map(|_| worker()).collect();
        let work = |pairs: &mut Pairs, segment: &Arc<Segment>| {
            let go_on = !control.stopped() && !pairs.overflowed;
            if go_on { self.add_urls(segment, plan, part, most, pairs) } else { Ok(()) }
        };
        let sink = |done: io::Result<()>| done.map_err(|cause| Error::io("rows", "cannot read spilled rows", cause));
        each(segments.iter(), &mut workers, work, sink).map_err(ViewError::Io)?;
        if control.stopped() {
            return Err(ViewError::Cancelled);
        }
        let sum = workers.into_iter().reduce(|mut sum, pairs| {
            pairs.amounts.into_iter().for_each(|(pair, amount)| sum.amounts.entry(pair).or_default().add(amount));
            sum.alone.iter_mut().zip(pairs.alone).for_each(|(sum, amount)| sum.add(amount));
            sum.others.add(pairs.others);
            sum.overflowed |= pairs.overflowed;
            sum
        });
        Ok(sum.unwrap_or_default())
    }

    fn add_urls(
        &self,
        segment: &Segment,
        plan: &ViewPlan,
        part: HashPartition,
        most: usize,
        pairs: &mut Pairs,
    ) -> io::Result<()> {
        let spill = self.spill.as_ref();
        let mut rows = Vec::new();
        plan.select(segment, self)?.list(&mut rows);
        let (paths, queries) = (self.coded(segment, PATH)?, self.coded(segment, QUERY)?);
        let [path_groups, query_groups] = [PATH, QUERY].map(|index| self.dictionaries[index].lock().groups_start());
        if part.part > 0 && queries.globals == [NONE] {
            return Ok(());
        }
        segment.numbers(BYTES, spill)?.each(&rows, |row, bytes| {
            let (path, query) = (paths.get(row), queries.get(row));
            let is_uncoded = path == OTHERS || query == OTHERS || path >= path_groups || query >= query_groups;
            let amount = RowsAndBytes { hits: 1, bytes: bytes.unwrap_or(0) };
            match query {
                _ if is_uncoded && part.part == 0 => pairs.others.add(amount),
                _ if is_uncoded => {}
                NONE if path == NONE => {}
                NONE if part.part == 0 => pairs.alone[path as usize].add(amount),
                NONE => {}
                _ if part.has((path, query)) => pairs.amounts.entry((path, query)).or_default().add(amount),
                _ => {}
            }
        });
        // One segment's at most above it.
        pairs.overflowed |= pairs.amounts.len() > most;
        Ok(())
    }

    /// Puts the counts among the rows that are listed.
    fn list_part(&self, pairs: Pairs, listed: &mut UrlList, wanted: &PanelWanted) {
        listed.others.add(pairs.others);
        let alone = pairs.alone.into_iter().enumerate().filter(|(_, amount)| amount.hits > 0);
        let all = alone.map(|(path, amount)| ((path as u32, NONE), amount)).chain(pairs.amounts);
        let mut search = wanted.search.as_deref().and_then(PanelSearch::new);
        let most = wanted.offset.saturating_add(wanted.limit).min(VALUES_LISTED_MAX);
        for (pair, amount) in all {
            listed.distinct += 1;
            listed.hits += amount.hits;
            if search.as_mut().is_none_or(|search| search.is_in(&self.url(pair))) {
                listed.found += 1;
                listed.rows.push((pair, amount));
            }
            if listed.rows.len() >= 2 * most + 1024 {
                self.trim_urls(&mut listed.rows, most);
            }
        }
        self.trim_urls(&mut listed.rows, most);
    }

    /// Leaves the rows with most hits, ties by text.
    fn trim_urls(&self, rows: &mut Vec<(PathQueryPair, RowsAndBytes)>, most: usize) {
        let (paths, queries) = (self.dictionaries[PATH].lock(), self.dictionaries[QUERY].lock());
        let mark = |query: u32| if query == NONE { &b""[..] } else { b"?" };
        let text = |(path, query): PathQueryPair| paths.text(path).iter().chain(mark(query)).chain(queries.text(query));
        let order = |a: &(PathQueryPair, RowsAndBytes), b: &(PathQueryPair, RowsAndBytes)| {
            b.1.hits.cmp(&a.1.hits).then_with(|| text(a.0).cmp(text(b.0)))
        };
        if rows.len() > most && most > 0 {
            rows.select_nth_unstable_by(most - 1, order);
        }
        rows.truncate(most);
        rows.sort_unstable_by(order);
    }
}
