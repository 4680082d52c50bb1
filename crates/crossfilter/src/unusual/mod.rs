//! Unusual spans of a log, found without a question: errors, volume, durations, sizes and values
//! that stand out of what is usual in it.

mod clusters;
mod search;
mod span;
mod spans;

use crate::view_cache::CountedViews;
use clusters::{OutlierCluster, clustered};
use search::{BUCKETS_MIN, Outlier, OutlierSearch};
use span::SPANS_MAX;
pub use span::{UnusualKind, UnusualSpan, UnusualSpans};
use spans::{error_status, refined};

use crate::candidates::CandidateField;
use crate::columns::{AGENT, CLIENT, CODED, FILE, PATH};
use crate::limits::{RATES_BYTES_MIN, UNUSUAL_BYTES_MAX};
use crate::outcome_counts::{ALL, OutcomeCount, OutcomeCounts, WatchedField};
use crate::store::{RowStore, Snapshot};
use crate::time_axis::Axis;
use crate::view::{View, ViewError};
use rorqual_pipe::Control;

/// Buckets of all rows at most, with so many rows each on average; fewer than the least say
/// nothing.
const FINE_BUCKETS_MAX: u64 = 5_500;
const FINE_ROWS_MIN: u64 = 10;

/// Buckets of values at most, and rows in each on average.
const COARSE_BUCKETS_MAX: u64 = 400;
const COARSE_ROWS_MIN: u64 = 100;

/// Memory of a window of a series, and of the fine counts of all rows.
const SERIES_BYTES: usize = 4 * size_of::<f64>();
const FINE_BYTES: usize = FINE_BUCKETS_MAX as usize * size_of::<OutcomeCount>();

/// The fine counts of each span take the place of those of the values.
const _: () = assert!(((SPANS_MAX + 1) * FINE_BYTES) as u64 <= RATES_BYTES_MIN);

/// Widths of windows in buckets.
const FINE_WIDTHS: [usize; 6] = [1, 2, 4, 8, 16, 32];
const COARSE_WIDTHS: [usize; 3] = [1, 2, 4];

impl RowStore {
    /// Finds the unusual spans of the log. Of a table, which has no statuses, there are none.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn unusual(&self, control: &Control) -> Result<UnusualSpans, ViewError> {
        self.asked(|| self.unusual_spans(control))
    }

    fn unusual_spans(&self, control: &Control) -> Result<UnusualSpans, ViewError> {
        let (snapshot, base) = self.up_to_date(control)?;
        let rows: u64 = snapshot.segments.iter().map(|segment| segment.rows as u64).sum();
        let dropped = snapshot.rows_dropped;
        let times = snapshot.times().filter(|_| !self.schema().is_table());
        let counted = times.map(|times| self.of_most(&snapshot, times, rows, control)).transpose()?.flatten();
        let Some(MostRows { of_all, coarse, stray }) = counted else {
            return Ok(UnusualSpans { spans: Vec::new(), rows, dropped, values: 0, tried: 0, exact: dropped == 0 });
        };
        let all = self.sums_in(&snapshot, &base, &View::default(), control)?;
        let (mut fields, has_all) = self.watched(&all, coarse.buckets);
        let of_values = self.bucket_counts(&snapshot, coarse, &fields.iter().collect::<Vec<_>>(), control)?;
        let mut search = OutlierSearch::default();
        FINE_WIDTHS.iter().for_each(|width| search.all_rows(&of_all, *width));
        for (number, field) in fields.iter().enumerate() {
            COARSE_WIDTHS.iter().for_each(|width| search.values(&of_values, (number, field), *width));
        }
        let outliers = search.outliers(|field| fields[field].field.is_telling());
        let clusters = clustered(outliers);
        let values = of_values.slots - 1;
        drop(of_values);
        fields.iter_mut().for_each(WatchedField::end);
        let spans = self.spans(&snapshot, &of_all, &fields, &clusters, control)?;
        let has_groups = || self.dictionaries.iter().any(|dictionary| dictionary.lock().has_groups());
        Ok(UnusualSpans {
            spans,
            rows,
            dropped,
            values,
            tried: search.tried,
            exact: dropped + stray == 0 && has_all && !has_groups() && !self.has_cut(),
        })
    }

    /// Counts all rows over the time that nearly all of them have: a single line with another year
    /// would make one bucket of all others. `None` where there is too little.
    fn of_most(
        &self,
        snapshot: &Snapshot,
        mut times: (u64, u64),
        rows: u64,
        control: &Control,
    ) -> Result<Option<MostRows>, ViewError> {
        let mut timed = None;
        loop {
            let Some((fine, coarse)) = axes(times, rows) else { return Ok(None) };
            let of_all = self.bucket_counts(snapshot, fine, &[], control)?;
            let counted = of_all.rows();
            let stray = *timed.get_or_insert(counted) - counted;
            match of_all.times_of_most() {
                Some(most) => times = most,
                None => return Ok(Some(MostRows { of_all, coarse, stray })),
            }
        }
    }

    /// The values with most rows of each field, as many as there is memory for, and whether there
    /// is some for each field.
    fn watched(&self, all: &CountedViews, buckets: usize) -> (Vec<WatchedField>, bool) {
        let mut fields = self.fields();
        // That a file of several begins and ends is nothing unusual.
        fields.retain(|field| field.index != FILE);
        let asked = fields.len();
        // Half for the tables of the codes, of which one more is needed to make each.
        let mut bytes = self.rates_bytes().max(RATES_BYTES_MIN) as usize;
        let mut tables = bytes / 2;
        let table = |field: &CandidateField| 2 * size_of::<u32>() * self.codes_of(field.index);
        let mut sizes: Vec<usize> = fields.iter().map(table).collect();
        sizes.sort_unstable();
        let mut largest = 0;
        for size in sizes {
            let Some(left) = tables.checked_sub(size) else { break };
            (tables, largest) = (left, size);
        }
        fields.retain(|field| table(field) <= largest);
        bytes = bytes / 2 + tables;
        let bytes = bytes.min(UNUSUAL_BYTES_MAX as usize).saturating_sub(FINE_BYTES);
        let slots = bytes / (buckets * (size_of::<OutcomeCount>() + SERIES_BYTES));
        let weight = |field: &CandidateField| match field.index {
            PATH | CLIENT => 5,
            AGENT => 3,
            index if index >= CODED => 2,
            _ => 1,
        };
        let weights: usize = fields.iter().map(weight).sum();
        let mut first = ALL + 1;
        let mut watched = Vec::new();
        for field in fields {
            let most = slots * weight(&field) / weights;
            let codes = self.most_frequent(&field, all, most);
            let column_codes = self.codes_of(field.index);
            let field = WatchedField::new(field, codes, first, column_codes);
            first = field.slots.end;
            watched.push(field);
        }
        let has_all = watched.len() == asked;
        (watched, has_all)
    }

    /// Counts the lead of each cluster finely, and says what it was.
    fn spans(
        &self,
        snapshot: &Snapshot,
        of_all: &OutcomeCounts,
        fields: &[WatchedField],
        clusters: &[OutlierCluster],
        control: &Control,
    ) -> Result<Vec<UnusualSpan>, ViewError> {
        let code = |lead: &Outlier| {
            let watched = &fields[lead.field?];
            Some(watched.codes[lead.slot - watched.slots.start])
        };
        let mut first = ALL + 1;
        let mut leads: Vec<Option<WatchedField>> = Vec::new();
        for (number, watched) in fields.iter().enumerate() {
            let of_field = clusters.iter().map(|cluster| &cluster.outliers[0]).filter(|lead| lead.field == Some(number));
            let mut codes: Vec<u32> = of_field.filter_map(code).collect();
            codes.sort_unstable();
            codes.dedup();
            let column_codes = self.codes_of(watched.field.index);
            let lead = (!codes.is_empty()).then(|| WatchedField::new(watched.field.clone(), codes, first, column_codes));
            first = lead.as_ref().map_or(first, |lead| lead.slots.end);
            leads.push(lead);
        }
        let slot_of = |lead: &Outlier| {
            let watched = leads[lead.field?].as_ref()?;
            Some(watched.slots.start + watched.codes.iter().position(|own| Some(*own) == code(lead))?)
        };
        let watched: Vec<&WatchedField> = leads.iter().flatten().collect();
        let counts = self.bucket_counts(snapshot, of_all.axis, &watched, control)?;
        let mut spans = Vec::new();
        for cluster in clusters {
            let OutlierCluster { from, to, outliers } = cluster;
            let lead = Outlier { from: *from, to: *to, ..outliers[0] };
            let slot = slot_of(&lead).unwrap_or(ALL);
            let filter = |outlier: &Outlier| {
                let watched = &fields[outlier.field?];
                Some(watched.field.test(watched.codes[outlier.slot - watched.slots.start]).filter(self))
            };
            let Some(mut span) = refined(&counts, slot, &lead) else { continue };
            let status = outliers.iter().find_map(|outlier| error_status(fields, outlier));
            span.describe(self, filter(&lead), lead.field.map(|field| &fields[field]), status);
            let lead = filter(&lead);
            for other in outliers[1..].iter().filter_map(filter).filter(|other| Some(other) != lead.as_ref()) {
                let written = self.schema().written(&other);
                if span.companions.len() < COMPANIONS_MAX && !span.companions.contains(&written) {
                    span.companions.push(written);
                }
            }
            spans.push(span);
        }
        Ok(spans)
    }
}

/// All rows over the time of nearly all, an axis for values, and the number of rows that are not in
/// that time.
struct MostRows {
    of_all: OutcomeCounts,
    coarse: Axis,
    stray: u64,
}

/// Companions of a span at most.
const COMPANIONS_MAX: usize = 5;

/// A fine axis for all rows, and a coarse one for values; `None` where there is too little.
fn axes((first, last): (u64, u64), rows: u64) -> Option<(Axis, Axis)> {
    let axis = |most: u64, rows_min: u64| Axis::new(first, last, most.min(rows / rows_min) as usize);
    let (fine, coarse) = (axis(FINE_BUCKETS_MAX, FINE_ROWS_MIN), axis(COARSE_BUCKETS_MAX, COARSE_ROWS_MIN));
    (coarse.buckets >= BUCKETS_MIN).then_some((fine, coarse))
}
