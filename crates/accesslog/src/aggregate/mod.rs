//! An analysis: the sums of all workers for a log, in a fixed amount of memory.
//!
//! Each worker has a [`LogWorker`] stage with small dictionaries of its own, which stay in its
//! core's cache. When one of them is full, its sums go to the [`FieldTally`](tally::Tally) of the
//! field, which all workers share.

mod agents;
mod heavy_hitters;
mod notes;
mod part;
mod timeline;
mod totals;
mod worker;

pub use crate::note_reason::NoteReason;
pub use notes::{ChunkNotes, NoteSample};
pub use part::{AnalysisPart, ForeignPart, InputPart};
pub use totals::LineCounts;
pub use worker::LogWorker;

pub(crate) use heavy_hitters::{HitsAndBytes, KEY_BYTES_SHOWN, Top, TopRow, sort_rows};
pub(crate) use notes::{HeldNotes, NoteKeeper};
pub(crate) use timeline::Buckets;
pub use timeline::WIDTHS_SECONDS;
pub(crate) use totals::LineTotals;

use crate::Countries;
use crate::batch::TEXT_FIELDS;
use crate::dict::Seed;
use crate::format::Field;
use agents::AgentClasses;
use heavy_hitters::FieldTally;
use notes::NoteSamples;
use std::collections::HashMap;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use timeline::BucketCounts;

/// Parts in a hundred of the tables' memory for each field, by how many distinct values real logs
/// have.
const SHARES: [(Field, u64); 9] = [
    (Field::Client, 41),
    (Field::Path, 31),
    (Field::Referrer, 9),
    (Field::Agent, 9),
    (Field::Host, 2),
    (Field::User, 2),
    (Field::Method, 1),
    (Field::Protocol, 1),
    (Field::Source, 1),
];

/// The same for the referring sites, which are derived from the referrers.
const SITE_SHARE: u64 = 3;

/// Memory of an analysis beside its tables: the timeline, sums, samples, classes of agents.
pub(crate) const FIXED_BYTES: u64 = timeline::TIMELINE_BYTES + (2 << 20);

/// Memory of one worker: its dictionaries when all fields are full, its batch, its sums.
pub(crate) const WORKER_BYTES: u64 = worker::WORKER_BYTES;

/// Memory of one worker for so many columns of texts and of numbers of a log's own.
#[must_use]
pub const fn own_worker_bytes(texts: usize, numbers: usize) -> u64 {
    worker::own_worker_bytes(texts, numbers)
}

/// Least memory for the tables of an analysis; less would make everything approximate.
pub(crate) const TABLES_BYTES_MIN: u64 = 8 << 20;

/// The lines that count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpanFilter {
    /// Lines at or after this time, in Unix microseconds.
    pub since_us: Option<i64>,
    /// Lines before this time.
    pub until_us: Option<i64>,
}

impl SpanFilter {
    /// True if it leaves any line out.
    #[must_use]
    pub fn is_bounded(self) -> bool {
        self.since_us.is_some() || self.until_us.is_some()
    }

    /// A line without time is in no bounded span.
    fn holds(self, time_us: Option<i64>) -> bool {
        match time_us {
            None => !self.is_bounded(),
            Some(time) => self.since_us.is_none_or(|since| time >= since) && self.until_us.is_none_or(|until| time < until),
        }
    }
}

/// State of an analysis beside its tables, to be stored and resumed.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct AnalysisCounts {
    lines: LineCounts,
    zone_seconds: Option<i32>,
    rejects: NoteSamples,
    repairs: NoteSamples,
}

/// Sums and samples of a log so far.
pub struct Analysis {
    seed: Seed,
    span: SpanFilter,
    tallies: Vec<(Field, FieldTally)>,
    sites: FieldTally,
    agents: Arc<AgentClasses>,
    countries: Option<Arc<Countries>>,
    totals: Mutex<LineTotals>,
    timeline: Mutex<BucketCounts>,
    rejects: Mutex<NoteSamples>,
    repairs: Mutex<NoteSamples>,
    /// Offset of the first input's clock, by its first line with a time; `i32::MIN` until then.
    zone_seconds: AtomicI32,
    /// Raised when somebody wants to see the sums; workers hand over theirs then.
    wanted: AtomicU64,
}

impl Analysis {
    /// The span that lines are counted of.
    #[must_use]
    pub fn span(&self) -> SpanFilter {
        self.span
    }

    /// An empty analysis of the lines in `span` whose tables take at most `tables_bytes`, beside
    /// what is fixed and what each worker takes. With `countries`, those of clients are counted.
    #[must_use]
    pub fn new(tables_bytes: u64, span: SpanFilter, countries: Option<Arc<Countries>>) -> Self {
        let mut analysis = Self::untallied(span, countries);
        let share = |percent| tables_bytes / 100 * percent;
        let tally = |(field, percent)| {
            let classes = Arc::clone(&analysis.agents);
            let countries = analysis.countries.clone();
            let classify: Option<heavy_hitters::Classify> = match field {
                Field::Agent => Some(Arc::new(move |agent: &[u8]| classes.class_of(agent))),
                Field::Client => countries.map(|countries| -> heavy_hitters::Classify {
                    Arc::new(move |client: &[u8]| country_class(&countries.of(client)))
                }),
                _ => None,
            };
            (field, FieldTally::new(&analysis.seed, share(percent), classify))
        };
        analysis.tallies = SHARES.into_iter().map(tally).collect();
        analysis.sites = FieldTally::new(&analysis.seed, share(SITE_SHARE), None);
        analysis
    }

    /// The same with the seed of estimates, where other processes have it, too.
    pub(crate) fn estimating_by(mut self, seed: u64) -> Self {
        self.tallies = self.tallies.into_iter().map(|(field, tally)| (field, tally.estimating_by(seed))).collect();
        self.sites = self.sites.estimating_by(seed);
        self
    }

    /// True if clients have countries.
    #[must_use]
    pub fn has_countries(&self) -> bool {
        self.countries.is_some()
    }

    /// The same that tallies nothing.
    pub(crate) fn untallied(span: SpanFilter, countries: Option<Arc<Countries>>) -> Self {
        let seed = Seed::default();
        Self {
            tallies: Vec::new(),
            sites: FieldTally::new(&seed, 0, None),
            seed,
            span,
            agents: Arc::default(),
            countries,
            totals: Mutex::default(),
            timeline: Mutex::default(),
            rejects: Mutex::default(),
            repairs: Mutex::default(),
            zone_seconds: AtomicI32::new(i32::MIN),
            wanted: AtomicU64::new(0),
        }
    }

    /// Asks the workers to hand over what they have at their next chunk, so that a report is up to
    /// date.
    pub fn refresh(&self) {
        self.wanted.fetch_add(1, Ordering::Relaxed);
    }

    /// Lets go of the tables' memory; the sums and the timeline stay.
    pub(crate) fn release_tables(&self) {
        self.tallies.iter().for_each(|(_, tally)| tally.clear());
        self.sites.clear();
    }

    /// The sums beside tables: all that an analysis without tables has.
    #[must_use]
    pub fn counts(&self) -> AnalysisCounts {
        let (rejects, repairs) = self.samples();
        AnalysisCounts {
            lines: self.lines(),
            zone_seconds: self.zone_seconds(),
            rejects: rejects.clone(),
            repairs: repairs.clone(),
        }
    }

    /// Goes on after `counts`; for an analysis that knows nothing yet.
    pub fn go_on(&self, counts: AnalysisCounts) {
        lock(&self.totals).lines = counts.lines;
        counts.zone_seconds.into_iter().for_each(|zone| self.offer_zone(zone));
        let (mut rejects, mut repairs) = self.samples();
        (*rejects, *repairs) = (counts.rejects, counts.repairs);
    }

    /// Lines by their outcome.
    #[must_use]
    pub fn lines(&self) -> LineCounts {
        lock(&self.totals).lines
    }

    pub(crate) fn totals(&self) -> MutexGuard<'_, LineTotals> {
        lock(&self.totals)
    }

    pub(crate) fn buckets(&self, from: Option<i64>, to: Option<i64>, count_max: usize) -> Buckets {
        lock(&self.timeline).buckets(from, to, count_max)
    }

    /// Samples of rejected and of repaired lines.
    fn samples(&self) -> (MutexGuard<'_, NoteSamples>, MutexGuard<'_, NoteSamples>) {
        (lock(&self.rejects), lock(&self.repairs))
    }

    /// Takes the notes of an input that was read beside others, in its turn.
    pub(crate) fn take_held(&self, held: HeldNotes, zone_seconds: Option<i32>) {
        let (mut rejects, mut repairs) = self.samples();
        rejects.append(held.rejects);
        repairs.append(held.repairs);
        zone_seconds.into_iter().for_each(|zone| self.offer_zone(zone));
    }

    /// Some rejected lines.
    #[must_use]
    pub fn rejects(&self) -> Vec<NoteSample> {
        self.samples().0.list()
    }

    pub(crate) fn sample_lists(&self) -> (Vec<NoteSample>, Vec<NoteSample>) {
        let (rejects, repairs) = self.samples();
        (rejects.list(), repairs.list())
    }

    pub(crate) fn top(&self, field: Field, count: usize) -> Top {
        self.tally(field).map_or_else(Top::default, |tally| tally.top(count))
    }

    pub(crate) fn top_sites(&self, count: usize) -> Top {
        self.sites.top(count)
    }

    /// Totals of browsers, systems and bots, each as (name, amount).
    pub(crate) fn agent_classes(&self) -> agents::ClassTotals {
        self.tally(Field::Agent).map_or_else(Default::default, |tally| self.agents.totals(&tally.classes()))
    }

    /// Totals of countries.
    pub(crate) fn countries(&self) -> HashMap<String, heavy_hitters::HitsAndBytes> {
        let classes = self.tally(Field::Client).map_or_else(HashMap::default, FieldTally::classes);
        let named = classes.into_iter().filter(|(class, _)| *class > 0);
        named.map(|(class, amount)| (country_of(class), amount)).collect()
    }

    /// Offset from UTC of the first input's clock in seconds east, once a line with a time was
    /// counted.
    #[must_use]
    pub fn zone_seconds(&self) -> Option<i32> {
        let zone = self.zone_seconds.load(Ordering::Relaxed);
        (zone != i32::MIN).then_some(zone)
    }

    /// The first one stays: a report can show one zone only.
    fn offer_zone(&self, zone_seconds: i32) {
        let (known, order) = (&self.zone_seconds, Ordering::Relaxed);
        let _ = known.compare_exchange(i32::MIN, zone_seconds, order, order);
    }

    fn tally(&self, field: Field) -> Option<&FieldTally> {
        self.tallies.iter().find(|(tallied, _)| *tallied == field).map(|(_, tally)| tally)
    }

    /// The text fields that are tallied, in the order of [`TEXT_FIELDS`].
    fn tallied_fields(&self) -> Vec<Field> {
        TEXT_FIELDS.into_iter().filter(|field| self.tally(*field).is_some()).collect()
    }
}

// A poisoned lock is taken all the same: the run that panicked has ended with that panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A country's two letters as a number; 0 for none.
fn country_class(code: &str) -> u32 {
    code.bytes().fold(0, |class, byte| class << 8 | u32::from(byte))
}

/// The inverse of [`country_class`].
fn country_of(class: u32) -> String {
    class.to_be_bytes()[2..].iter().map(|byte| char::from(*byte)).collect()
}
