//! Views that were counted last, and the counts of all rows.

use crate::facet_counts::FacetCounts;
use crate::limits::VIEWS_KEPT_MAX;
use crate::row_order::{OrderedRows, RowOrder};
use crate::segment::InputRun;
use crate::series::ViewSeries;
use crate::series_text::SeriesText;
use crate::sums::{Distributions, Sums};
use crate::time_axis::{Axis, BANDS, Grid};
use crate::uncoded_counts::UncodedTallies;
use crate::view::{Stack, View};
use rorqual_accesslog::schema::Schema;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Everything that is counted of a view.
#[derive(Debug, Clone)]
pub(crate) struct CountedViews {
    pub(crate) sums: Sums,
    /// Rows of texts without a code.
    pub(crate) tallies: UncodedTallies,
    pub(crate) spreads: Distributions,
    pub(crate) axis: Option<Axis>,
    pub(crate) histogram: Grid,
    pub(crate) series: ViewSeries,
    /// Meaning of the series.
    pub(crate) stack: Stack,
    /// Empty where no request says how long it took.
    pub(crate) bands: Grid,
    pub(crate) rows_total: u64,
    pub(crate) rows_dropped: u64,
    /// True if the filter means these rows and no others, of all that there are.
    pub(crate) exact: bool,
    /// Fields whose values the filter chooses, under its other conditions.
    pub(crate) facets: Vec<FacetCounts>,
}

/// Counts of complete segments without a filter: each is counted once. Small stores keep none.
#[derive(Clone, Default)]
pub(crate) struct Base {
    pub(crate) included: Arc<Vec<bool>>,
    /// Texts of each counted column that had a code for answers.
    pub(crate) named: Arc<Vec<usize>>,
    pub(crate) whole: Option<Arc<WholeLog>>,
    pub(crate) grid: Option<Arc<BaseGrid>>,
}

/// All rows of some segments over time, in buckets that coarser ones are made of.
pub(crate) struct BaseGrid {
    pub(crate) included: Arc<Vec<bool>>,
    pub(crate) axis: Axis,
    pub(crate) classes: Grid,
    pub(crate) bands: Grid,
}

impl BaseGrid {
    /// Rows by class, and by how long they took, on a coarser axis.
    pub(crate) fn joined(&self, axis: &Axis) -> Option<[Grid; 2]> {
        Some([self.classes.joined(&self.axis, axis)?, self.bands.joined(&self.axis, axis)?])
    }
}

impl Base {
    pub(crate) fn includes(&self, place: usize) -> bool {
        self.included.get(place).is_some_and(|included| *included)
    }
}

/// Sums and distributions of all rows.
#[derive(Clone, Default)]
pub(crate) struct WholeLog {
    pub(crate) sums: Sums,
    pub(crate) tallies: UncodedTallies,
    pub(crate) spreads: Distributions,
}

/// Key of the view that something was counted for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ViewKey {
    pub(crate) view: View,
    pub(crate) generation: u64,
    pub(crate) buckets: usize,
    pub(crate) stack: Stack,
    /// Facets were counted, too.
    pub(crate) facets: bool,
    /// The axis and the series that it has with other stores; `None` for its own.
    pub(crate) shared: Option<SharedAxes>,
}

/// Axis and series of a view that several stores have alike, so that their counts can be added up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedAxes {
    /// First and last time of the axis, in Unix microseconds; without them there is none.
    pub times_us: Option<(i64, i64)>,
    /// Values that have a series, where these are of a column.
    pub series: Arc<[SeriesText]>,
}

/// Rows of a run that are in the view.
pub(crate) struct Share {
    pub(crate) run: InputRun,
    pub(crate) segment: usize,
    pub(crate) rows: u64,
}

/// Views counted last, the latest at the end.
pub(crate) struct ViewCache {
    bytes_max: u64,
    /// Bytes of these that are lent to others for a time.
    lent: Arc<AtomicU64>,
    views: Vec<(ViewKey, Arc<CountedViews>)>,
    /// Positions of the rows of the views whose pages were asked for last, with their generation:
    /// of one, and of a search in it.
    shares: Vec<(View, u64, Arc<Vec<Share>>)>,
    /// The first rows of the order whose pages were asked for last, with their generation.
    ordered: Option<(View, RowOrder, u64, Arc<OrderedRows>)>,
}

/// Views whose rows' positions are remembered.
const SHARES_KEPT_MAX: usize = 2;

impl ViewCache {
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self { bytes_max, lent: Arc::default(), views: Vec::new(), shares: Vec::new(), ordered: None }
    }

    pub(crate) fn bytes_max(&self) -> u64 {
        self.bytes_max.saturating_sub(self.lent.load(Ordering::Relaxed))
    }

    /// Lends so many bytes of its room until the counter is taken back; `None` where it has fewer.
    pub(crate) fn lend(&mut self, bytes: u64) -> Option<Arc<AtomicU64>> {
        if bytes > self.bytes_max() {
            return None;
        }
        self.lent.fetch_add(bytes, Ordering::Relaxed);
        self.trim();
        Some(Arc::clone(&self.lent))
    }

    /// Has less room from now on.
    pub(crate) fn shrink(&mut self, bytes_max: u64) {
        self.bytes_max = bytes_max;
        self.trim();
    }

    pub(crate) fn bytes(&self) -> u64 {
        let shares: usize = self.shares.iter().map(|(.., shares)| shares.capacity() * size_of::<Share>()).sum();
        let ordered = self.ordered.as_ref().map_or(0, |(.., ordered)| ordered.bytes());
        let of_pages = self.shares.iter().map(|(view, ..)| view).chain(self.ordered.iter().map(|(view, ..)| view));
        let asked = of_pages.chain(self.views.iter().map(|(key, _)| &key.view));
        let filters: u64 = asked.map(|view| view.filter.bytes(0)).sum();
        self.views.iter().map(|(_, counted)| counted.bytes()).sum::<u64>() + filters + (shares + ordered) as u64
    }

    pub(crate) fn shares(&self, view: &View, generation: u64) -> Option<Arc<Vec<Share>>> {
        let is_it = |(of, at, _): &&(View, u64, Arc<Vec<Share>>)| *at == generation && of == view;
        self.shares.iter().find(is_it).map(|(.., shares)| Arc::clone(shares))
    }

    pub(crate) fn keep_shares(&mut self, view: View, generation: u64, shares: &Arc<Vec<Share>>) {
        self.shares.retain(|(of, at, _)| *at == generation && *of != view);
        self.shares.truncate(SHARES_KEPT_MAX - 1);
        self.shares.insert(0, (view, generation, Arc::clone(shares)));
        self.trim();
    }

    pub(crate) fn ordered(&self, view: &View, order: RowOrder, generation: u64) -> Option<Arc<OrderedRows>> {
        let is_it = |(of, by, at, _): &&(View, RowOrder, u64, Arc<OrderedRows>)| *at == generation && *by == order && of == view;
        self.ordered.as_ref().filter(is_it).map(|(.., ordered)| Arc::clone(ordered))
    }

    pub(crate) fn keep_ordered(&mut self, view: View, order: RowOrder, generation: u64, ordered: &Arc<OrderedRows>) {
        self.ordered = Some((view, order, generation, Arc::clone(ordered)));
        self.trim();
    }

    pub(crate) fn find(&mut self, is_it: impl Fn(&ViewKey) -> bool) -> Option<Arc<CountedViews>> {
        let found = self.views.iter().position(|(key, _)| is_it(key))?;
        let kept = self.views.remove(found);
        let counted = Arc::clone(&kept.1);
        self.views.push(kept);
        Some(counted)
    }

    pub(crate) fn keep(&mut self, key: ViewKey, counted: &Arc<CountedViews>) {
        self.views.push((key, Arc::clone(counted)));
        self.trim();
    }

    fn trim(&mut self) {
        if self.bytes() > self.bytes_max() {
            self.ordered = None;
        }
        while self.bytes() > self.bytes_max() && self.shares.pop().is_some() {}
        while self.views.len() > VIEWS_KEPT_MAX || (self.bytes() > self.bytes_max() && !self.views.is_empty()) {
            self.views.remove(0);
        }
    }
}

impl CountedViews {
    /// Name of the column of its series, for programs.
    pub(crate) fn stack_name(&self, schema: &Schema) -> Cow<'static, str> {
        match self.stack {
            Stack::Class => "class".into(),
            Stack::Bot => "bot".into(),
            Stack::Values(column) => schema.text_name(column),
        }
    }

    fn bytes(&self) -> u64 {
        // Beside the sums: distributions, and two grids of a few columns.
        self.sums.bytes()
            + self.tallies.bytes()
            + 256 * 1024
            + self.facets.iter().map(FacetCounts::bytes).sum::<u64>()
            + self.axis.map_or(0, |axis| axis.buckets as u64 * (BANDS as u64 + 9) * 8)
    }
}
