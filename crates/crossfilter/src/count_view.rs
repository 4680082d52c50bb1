//! Counting a view: the pass over all segments, unless it was counted before.

use crate::bits::Bits;
use crate::columns::{REQUEST_TIME, TIME};
use crate::count_segment::{Scratch, count, count_one};
use crate::limits::{BASE_BYTES_MIN, grid_buckets};
use crate::plan::{ViewPlan, week_hours};
use crate::segment::Segment;
use crate::series::ViewSeries;
use crate::sparse_counts::SparseCounts;
use crate::store::{RowStore, Snapshot, lock};
use crate::sums::{Distributions, Sums};
use crate::time_axis::{Axis, BANDS, BucketRun, Grid};
use crate::uncoded_counts::UncodedTallies;
use crate::view::{Stack, View, ViewError, ViewParts};
use crate::view_cache::{Base, BaseGrid, CountedViews, SharedAxes, ViewKey, WholeLog};
use rorqual_pipe::{Control, Error, each};
use std::io;
use std::sync::Arc;

/// Segments that tell whether more rows are meant than not.
const SAMPLE_SEGMENTS: usize = 8;

impl RowStore {
    /// Counts a view, unless it was counted before.
    pub(crate) fn counted(&self, view: &View, wanted: &ViewParts, control: &Control) -> Result<Arc<CountedViews>, ViewError> {
        let ViewParts { buckets, stack, facets, top: _ } = *wanted;
        let facets = facets && self.has_facets(&view.filter);
        let key = ViewKey { view: view.clone(), generation: self.generation(), buckets, stack, facets, shared: None };
        if let Some(counted) = lock(&self.kept).find(|kept| *kept == key) {
            return Ok(counted);
        }
        let (snapshot, base) = self.up_to_date(control)?;
        self.counted_of(&snapshot, &base, key, control)
    }

    /// Counts a view on axes that other stores have as well, unless it was counted before: the rows
    /// of `generation` where these counts are still known, and otherwise those of now; with the
    /// generation of the rows that were counted.
    pub(crate) fn counted_alike(
        &self,
        view: &View,
        (buckets, stack): (usize, Stack),
        (shared, generation): (SharedAxes, Option<u64>),
        control: &Control,
    ) -> Result<(u64, Arc<CountedViews>), ViewError> {
        let shared = Some(shared);
        let mut key = ViewKey { view: view.clone(), generation: 0, buckets, stack, facets: false, shared };
        if let Some(generation) = generation {
            key.generation = generation;
            if let Some(counted) = lock(&self.kept).find(|kept| *kept == key) {
                return Ok((generation, counted));
            }
        }
        let (snapshot, base) = self.up_to_date(control)?;
        Ok((snapshot.generation, self.counted_of(&snapshot, &base, key, control)?))
    }

    /// The sums of a view as they were at `generation`, where they are still known; otherwise those
    /// of now, as with 0.
    pub(crate) fn sums_at(&self, view: &View, generation: u64, control: &Control) -> Result<Arc<CountedViews>, ViewError> {
        let is_it = |kept: &ViewKey| kept.generation == generation && kept.view == *view;
        let known = lock(&self.kept).find(is_it).filter(|_| generation > 0);
        known.map_or_else(|| self.sums_of(view, control), Ok)
    }

    /// Counts two views of the same rows, even while others arrive.
    pub(crate) fn counted_together(
        &self,
        [a, b]: [&View; 2],
        buckets: usize,
        stack: Stack,
        control: &Control,
    ) -> Result<[Arc<CountedViews>; 2], ViewError> {
        let (snapshot, base) = self.up_to_date(control)?;
        let of = |view: &View| {
            let key =
                ViewKey { view: view.clone(), generation: snapshot.generation, buckets, stack, facets: false, shared: None };
            self.counted_of(&snapshot, &base, key, control)
        };
        Ok([of(a)?, of(b)?])
    }

    fn counted_of(
        &self,
        snapshot: &Snapshot,
        base: &Base,
        mut key: ViewKey,
        control: &Control,
    ) -> Result<Arc<CountedViews>, ViewError> {
        key.generation = snapshot.generation;
        if let Some(counted) = lock(&self.kept).find(|kept| *kept == key) {
            return Ok(counted);
        }
        let counted = Arc::new(self.count_view(snapshot, base, &key, control)?);
        lock(&self.kept).keep(key, &counted);
        Ok(counted)
    }

    /// The sums of a view, of the rows of one moment.
    pub(crate) fn sums_in(
        &self,
        snapshot: &Snapshot,
        base: &Base,
        view: &View,
        control: &Control,
    ) -> Result<Arc<CountedViews>, ViewError> {
        let is_it = |kept: &ViewKey| kept.generation == snapshot.generation && kept.view == *view;
        if let Some(counted) = lock(&self.kept).find(is_it) {
            return Ok(counted);
        }
        let stack = Stack::Class;
        let key = ViewKey { view: view.clone(), generation: snapshot.generation, buckets: 1, stack, facets: false, shared: None };
        self.counted_of(snapshot, base, key, control)
    }

    /// The sums of a view, whatever it was counted for.
    pub(crate) fn sums_of(&self, view: &View, control: &Control) -> Result<Arc<CountedViews>, ViewError> {
        let generation = self.generation();
        if let Some(counted) = lock(&self.kept).find(|kept| kept.generation == generation && kept.view == *view) {
            return Ok(counted);
        }
        let wanted = ViewParts { top: 0, buckets: 1, stack: Stack::Class, facets: false };
        self.counted(view, &wanted, control)
    }

    fn count_view(&self, snapshot: &Snapshot, base: &Base, key: &ViewKey, control: &Control) -> Result<CountedViews, ViewError> {
        let plan = ViewPlan::new(&key.view, self, control).ok_or(ViewError::Cancelled)?;
        let axis = key.axis(snapshot);
        let lengths = self.lengths();
        let given = || key.shared.as_ref().map(|shared| ViewSeries::given(key.stack, &shared.series, &self.dictionaries));
        let fixed = ViewSeries::fixed(key.stack, &self.dictionaries).or_else(given);
        let mut job = CountJob {
            store: self,
            plan: &plan,
            axis,
            series: fixed.as_ref(),
            sums: CountSource::None,
            spreads: true,
            lengths: &lengths,
            control,
        };
        let mut found = if plan.is_everything() {
            let WholeLog { sums, tallies, spreads } = self.whole(snapshot, base, &lengths, control)?;
            job.spreads = false;
            PartialCounts { sums, tallies, spreads, ..job.over_time(snapshot, base, key.stack)? }
        } else if let Some(mut whole) = self.whole_if_most(snapshot, base, &plan, &lengths, control)? {
            job.sums = CountSource::Others;
            let mut found = job.run(&snapshot.segments)?;
            whole.sums.subtract(&found.sums);
            found.sums = whole.sums;
            found
        } else {
            job.sums = CountSource::Selected;
            job.run(&snapshot.segments)?
        };
        let series = match &fixed {
            Some(fixed) => fixed.clone(),
            None => {
                let series = ViewSeries::top(key.stack, &found.sums, &self.dictionaries);
                let again = CountJob { series: Some(&series), sums: CountSource::None, spreads: false, ..job };
                found.histogram = again.run(&snapshot.segments)?.histogram;
                series
            }
        };
        self.want_names(&found.tallies);
        let PartialCounts { sums, tallies, spreads, histogram, bands, .. } = found;
        let mut counted = CountedViews {
            sums,
            tallies,
            spreads,
            axis,
            histogram,
            bands,
            series,
            stack: key.stack,
            rows_total: snapshot.rows(),
            rows_dropped: snapshot.rows_dropped,
            exact: plan.is_sure() && snapshot.rows_dropped == 0,
            facets: Vec::new(),
        };
        if key.facets {
            drop(plan);
            counted.facets = self.count_facets(snapshot, &key.view, (&counted, &lengths), control)?;
        }
        Ok(counted)
    }

    /// The segments, and the known counts of the complete ones among them.
    pub(crate) fn up_to_date(&self, control: &Control) -> Result<(Snapshot, Base), ViewError> {
        let mut base = lock(&self.base);
        let snapshot = self.snapshot();
        if self.settings.memory_bytes < BASE_BYTES_MIN {
            return Ok((snapshot, Base::default()));
        }
        let new = |place: &usize| snapshot.segments[*place].complete && !base.includes(*place);
        let added: Vec<usize> = (0..snapshot.segments.len()).filter(new).collect();
        if !added.is_empty() {
            let segments: Vec<_> = added.iter().map(|place| Arc::clone(&snapshot.segments[*place])).collect();
            let Base { included, whole, .. } = &mut *base;
            self.add_all(&segments, Arc::make_mut(whole.get_or_insert_default()), &self.lengths(), control)?;
            let included = Arc::make_mut(included);
            included.resize(snapshot.segments.len(), false);
            added.into_iter().for_each(|place| included[place] = true);
        }
        self.follow_names(&snapshot, &mut base, control)?;
        Ok((snapshot, base.clone()))
    }

    /// The known counts, with all segments over time: what a first view of all rows needs.
    pub(crate) fn base_with_grid(&self, control: &Control) -> Result<Base, ViewError> {
        let (snapshot, mut base) = self.up_to_date(control)?;
        let buckets = grid_buckets(self.settings.memory_bytes);
        let Some(axis) = snapshot.axis(&View::default(), buckets).filter(|_| base.whole.is_some()) else { return Ok(base) };
        let (view, stack) = (View::default(), Stack::Class);
        let key = ViewKey { view, generation: snapshot.generation, buckets, stack, facets: false, shared: None };
        let counted = self.counted_of(&snapshot, &base, key, control)?;
        let included = Arc::clone(&base.included);
        base.grid = Some(Arc::new(BaseGrid { included, axis, classes: counted.histogram.clone(), bands: counted.bands.clone() }));
        lock(&self.base).grid.clone_from(&base.grid);
        Ok(base)
    }

    /// Counts the columns anew in which texts have got codes for answers since the last count.
    fn follow_names(&self, snapshot: &Snapshot, base: &mut Base, control: &Control) -> Result<(), ViewError> {
        let indices: Vec<usize> = self.counts().counted().collect();
        let named: Vec<usize> = indices.iter().map(|index| self.dictionaries[*index].named().len()).collect();
        if *base.named == named {
            return Ok(());
        }
        let lengths = self.lengths();
        let included: Vec<Arc<Segment>> =
            (0..snapshot.segments.len()).filter(|at| base.includes(*at)).map(|at| Arc::clone(&snapshot.segments[at])).collect();
        let Some(whole) = &mut base.whole else { return Ok(()) };
        let sums = &mut Arc::make_mut(whole).sums;
        sums.grow(&lengths);
        for (place, index) in indices.into_iter().enumerate() {
            if base.named.get(place).copied().unwrap_or(0) != named[place] {
                sums.columns[place] = self.recount(&included, index, lengths[place], control)?;
            }
        }
        base.named = Arc::new(named);
        Ok(())
    }

    /// Known counts of all segments.
    pub(crate) fn whole(
        &self,
        snapshot: &Snapshot,
        base: &Base,
        lengths: &[usize],
        control: &Control,
    ) -> Result<WholeLog, ViewError> {
        let others = snapshot.segments.iter().enumerate().filter(|(place, _)| !base.includes(*place));
        let others: Vec<_> = others.map(|(_, segment)| Arc::clone(segment)).collect();
        let mut whole = base.whole.as_deref().cloned().unwrap_or_default();
        self.add_all(&others, &mut whole, lengths, control)?;
        Ok(whole)
    }

    fn add_all(
        &self,
        segments: &[Arc<Segment>],
        whole: &mut WholeLog,
        lengths: &[usize],
        control: &Control,
    ) -> Result<(), ViewError> {
        let plan = ViewPlan::new(&View::default(), self, control).ok_or(ViewError::Cancelled)?;
        let job = CountJob {
            store: self,
            plan: &plan,
            axis: None,
            series: None,
            sums: CountSource::Selected,
            spreads: true,
            lengths,
            control,
        };
        let found = job.run(segments)?;
        whole.sums.grow(lengths);
        whole.sums.add(&found.sums);
        whole.spreads.take(&found.spreads);
        whole.tallies.take(&found.tallies);
        Ok(())
    }

    /// Counts a column of segments anew, in which texts have got codes for answers.
    fn recount(
        &self,
        segments: &[Arc<Segment>],
        index: usize,
        length: usize,
        control: &Control,
    ) -> Result<SparseCounts, ViewError> {
        let worker = || (SparseCounts::new(length), Scratch::default());
        let mut workers: Vec<_> = (0..self.settings.threads.min(segments.len()).max(1)).map(|_| worker()).collect();
        let work = |(sums, scratch): &mut (SparseCounts, Scratch), segment: &Arc<Segment>| {
            if control.stopped() { Ok(()) } else { count_one(segment, self, index, sums, scratch) }
        };
        let sink = |done: io::Result<()>| done.map_err(|cause| Error::io("rows", "cannot read spilled rows", cause));
        each(segments.iter(), &mut workers, work, sink).map_err(ViewError::Io)?;
        if control.stopped() {
            return Err(ViewError::Cancelled);
        }
        let mut all = SparseCounts::new(length);
        for (mut sums, _) in workers {
            sums.settle();
            all.add(&sums);
        }
        Ok(all)
    }

    /// All rows, from which to take the others where these are fewer than those that are meant, and
    /// most are counted; sums that may have stayed at their most can't be taken from.
    fn whole_if_most(
        &self,
        snapshot: &Snapshot,
        base: &Base,
        plan: &ViewPlan,
        lengths: &[usize],
        control: &Control,
    ) -> Result<Option<WholeLog>, ViewError> {
        let has_groups = || self.dictionaries.iter().any(|dictionary| dictionary.lock().has_groups());
        // Nothing is taken from a tally.
        if base.whole.is_none() || has_groups() || !self.most_are_meant(snapshot, plan)? {
            return Ok(None);
        }
        Ok(Some(self.whole(snapshot, base, lengths, control)?).filter(|whole| whole.sums.all.bytes < u64::MAX / 2))
    }

    /// True if the view seems to mean more rows than not: then it is less work to count the others.
    fn most_are_meant(&self, snapshot: &Snapshot, plan: &ViewPlan) -> Result<bool, ViewError> {
        let step = snapshot.segments.len().div_ceil(SAMPLE_SEGMENTS).max(1);
        let (mut meant, mut rows) = (0, 0);
        for segment in snapshot.segments.iter().step_by(step) {
            meant += plan.select(segment, self).map_err(ViewError::spilled)?.count();
            rows += segment.rows;
        }
        Ok(meant * 2 > rows)
    }
}

impl ViewKey {
    fn axis(&self, snapshot: &Snapshot) -> Option<Axis> {
        let Some(shared) = &self.shared else { return snapshot.axis(&self.view, self.buckets) };
        shared.axis(self.buckets)
    }
}

impl SharedAxes {
    pub(crate) fn axis(&self, buckets: usize) -> Option<Axis> {
        let (first, last) = self.times_us.filter(|(first, last)| first <= last)?;
        Some(axis_between(crate::segment::biased(first), crate::segment::biased(last), buckets))
    }
}

fn axis_between(first: u64, last: u64, buckets: usize) -> Axis {
    Axis::new(first, last, buckets.clamp(1, crate::limits::BUCKETS_MAX))
}

impl Snapshot {
    /// Times of all rows.
    pub(crate) fn times(&self) -> Option<(u64, u64)> {
        self.segments.iter().filter_map(|segment| segment.times).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// Times of all rows, as far as a view has them.
    fn times_in(&self, view: &View) -> Option<(u64, u64)> {
        let (first, last) = self.times()?;
        let first = view.from_us.map_or(first, |from| first.max(crate::segment::biased(from)));
        let last = view.to_us.map_or(last, |to| last.min(crate::segment::biased(to.saturating_sub(1))));
        (first <= last).then_some((first, last))
    }

    pub(crate) fn axis(&self, view: &View, buckets: usize) -> Option<Axis> {
        let (first, last) = self.times_in(view)?;
        Some(axis_between(first, last, buckets))
    }

    /// The axis of a view with buckets of this width, or of a multiple where there are too many.
    pub(crate) fn axis_of_width(&self, view: &View, width_seconds: i64) -> Option<Axis> {
        let (first, last) = self.times_in(view)?;
        Some(Axis::of_width(first, last, width_seconds, crate::limits::BUCKETS_MAX))
    }
}

/// Source of sums.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CountSource {
    None,
    Selected,
    /// The rows that are not meant.
    Others,
}

/// One pass.
struct CountJob<'a> {
    store: &'a RowStore,
    plan: &'a ViewPlan,
    axis: Option<Axis>,
    series: Option<&'a ViewSeries>,
    sums: CountSource,
    spreads: bool,
    lengths: &'a [usize],
    control: &'a Control,
}

/// Counts of one thread, and in the end of all of them.
struct PartialCounts {
    sums: Sums,
    tallies: UncodedTallies,
    spreads: Distributions,
    histogram: Grid,
    bands: Grid,
    scratch: Scratch,
    selected: Vec<u16>,
    others: Vec<u16>,
    hours: Vec<BucketRun>,
    places: Vec<BucketRun>,
}

impl CountJob<'_> {
    /// Counts all rows over time: those of the base's grid where they are in it, and the others.
    fn over_time(&self, snapshot: &Snapshot, base: &Base, stack: Stack) -> Result<PartialCounts, ViewError> {
        let known = self.axis.zip(base.grid.as_deref()).filter(|_| stack == Stack::Class);
        let joined = known.and_then(|(axis, grid)| Some((grid, grid.joined(&axis)?)));
        let Some((grid, [classes, bands])) = joined else { return self.run(&snapshot.segments) };
        let is_other = |place: usize| !grid.included.get(place).is_some_and(|included| *included);
        let others = snapshot.segments.iter().enumerate().filter(|(place, _)| is_other(*place));
        let others: Vec<_> = others.map(|(_, segment)| Arc::clone(segment)).collect();
        let mut found = self.run(&others)?;
        found.histogram.take(&classes);
        found.bands.take(&bands);
        Ok(found)
    }

    fn run(&self, segments: &[Arc<Segment>]) -> Result<PartialCounts, ViewError> {
        let mut workers: Vec<PartialCounts> =
            (0..self.store.settings.threads.min(segments.len()).max(1)).map(|_| self.worker()).collect();
        let work = |found: &mut PartialCounts, segment: &Arc<Segment>| {
            if self.control.stopped() { Ok(()) } else { self.count(segment, found) }
        };
        let sink = |done: io::Result<()>| done.map_err(|cause| Error::io("rows", "cannot read spilled rows", cause));
        each(segments.iter(), &mut workers, work, sink).map_err(ViewError::Io)?;
        if self.control.stopped() {
            return Err(ViewError::Cancelled);
        }
        workers.iter_mut().for_each(|found| found.sums.settle());
        let mut joined = workers.pop().unwrap_or_else(|| self.worker());
        workers.iter().for_each(|found| joined.take(found));
        Ok(joined)
    }

    fn worker(&self) -> PartialCounts {
        let buckets = self.axis.map_or(0, |axis| axis.buckets);
        PartialCounts {
            sums: if self.sums == CountSource::None { Sums::default() } else { Sums::new(self.lengths) },
            tallies: UncodedTallies::default(),
            spreads: Distributions::default(),
            histogram: Grid::new(buckets, self.series.map_or(0, ViewSeries::len)),
            bands: Grid::new(buckets, BANDS),
            scratch: Scratch::default(),
            selected: Vec::new(),
            others: Vec::new(),
            hours: Vec::new(),
            places: Vec::new(),
        }
    }

    fn count(&self, segment: &Segment, found: &mut PartialCounts) -> io::Result<()> {
        let spill = self.store.spill.as_ref();
        let bits = self.plan.select(segment, self.store)?;
        found.selected.clear();
        bits.list(&mut found.selected);
        self.count_sums(segment, bits, found)?;
        if found.selected.is_empty() {
            return Ok(());
        }
        if self.spreads {
            week_hours(segment, spill, &found.selected, &mut found.hours)?;
            found.spreads.count(segment, spill, &found.selected, &found.hours, &self.store.schema())?;
            self.widen(segment, found)?;
        }
        let Some(axis) = self.axis else { return Ok(()) };
        axis.place(&*segment.numbers(TIME, spill)?, &found.selected, &mut found.places);
        if let Some(series) = self.series {
            let column = self.store.coded(segment, series.column)?;
            found.histogram.add_series(&found.places, &found.selected, &column, &series.of);
        }
        let took = segment.numbers(REQUEST_TIME, spill)?;
        if took.min().is_some() {
            found.bands.add_bands(&found.places, &found.selected, &took);
        }
        Ok(())
    }

    fn count_sums(&self, segment: &Segment, mut bits: Bits, found: &mut PartialCounts) -> io::Result<()> {
        let rows = match self.sums {
            CountSource::None => return Ok(()),
            CountSource::Selected => Some(&found.selected[..]).filter(|selected| selected.len() < segment.rows),
            CountSource::Others => {
                bits.not();
                found.others.clear();
                bits.list(&mut found.others);
                Some(&found.others[..])
            }
        };
        count(segment, self.store, rows, (&mut found.sums, &mut found.tallies), &mut found.scratch)
    }

    fn widen(&self, segment: &Segment, found: &mut PartialCounts) -> io::Result<()> {
        let PartialCounts { selected, spreads, .. } = found;
        if selected.len() == segment.rows {
            segment.times.into_iter().for_each(|(first, last)| spreads.widen(first, last));
        } else {
            let times = segment.numbers(TIME, self.store.spill.as_ref())?.extent(selected);
            times.into_iter().for_each(|(first, last)| spreads.widen(first, last));
        }
        Ok(())
    }
}

impl PartialCounts {
    fn take(&mut self, other: &Self) {
        self.sums.add(&other.sums);
        self.tallies.take(&other.tallies);
        self.spreads.take(&other.spreads);
        self.histogram.take(&other.histogram);
        self.bands.take(&other.bands);
    }
}
