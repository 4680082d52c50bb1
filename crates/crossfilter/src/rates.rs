//! Rates of clients: their busiest second and minute, and the requests that a limit would have
//! refused.

use crate::columns::{CLIENT, TIME};
use crate::dictionary::{NONE, OTHERS};
use crate::plan::ViewPlan;
use crate::segment::{Segment, unbiased};
use crate::store::{RowStore, Snapshot};
use crate::top::shown;
use crate::view::{View, ViewError};
use rorqual_accesslog::schema::TextColumn;
use rorqual_pipe::{Control, Error, each};
use serde::Serialize;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory of a row whose time is sorted: 16 bytes, twice that while a list grows, and as much again
/// where the lists of two threads join. The parts of a window have up to twice the rows.
const GATHERED_BYTES: u64 = 2 * 4 * 16;

const MINUTE_US: i64 = 60_000_000;

/// Group of requests that are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateGrouping {
    /// A client address.
    Client,
    /// A network: /24, or /48.
    Net,
}

/// A limit on the requests of each client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Requests let through.
    pub requests: u64,
    /// Unit of time of the limit.
    pub per: RateUnit,
}

/// A stretch of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum RateUnit {
    Second,
    Minute,
}

/// Rates of a view. Seconds and minutes are those of the clock; rows without a time or a client are
/// in none.
#[derive(Debug, Clone, Serialize)]
pub struct Rates {
    /// `client` or `net`.
    pub field: Cow<'static, str>,
    /// Rows that were looked at.
    pub rows: u64,
    /// Rows with a time and a client that there was no room for: they are in nothing else here.
    pub unknown: u64,
    /// Clients with at least one of the rows looked at.
    pub clients: u64,
    /// True if every client was known.
    pub exact: bool,
    /// The fastest, by their busiest minute; where there is one limit, first by its refused
    /// requests.
    pub fastest: Vec<ClientRate>,
    /// Requests that each limit would have refused.
    pub limits: Vec<LimitEffect>,
}

/// A client's busiest times.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct ClientRate {
    /// The value as in the log.
    pub value: String,
    /// All of its rows.
    pub hits: u64,
    /// Most rows in one second.
    pub second_hits_max: u32,
    /// Its first second of that rate, in Unix seconds.
    pub second_at: i64,
    /// Most rows in one minute.
    pub minute_hits_max: u32,
    /// Its first minute of that rate, in Unix seconds.
    pub minute_at: i64,
    /// Requests that the limit would have turned away, where there is one.
    pub blocked: Option<u64>,
}

/// Requests that a limit would have refused.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct LimitEffect {
    /// Requests let through in each second or minute of each client.
    pub requests: u64,
    /// Unit of time.
    pub per: RateUnit,
    /// Requests beyond it.
    pub blocked: u64,
    /// Clients with at least one of these.
    pub clients: u64,
}

/// A client's peaks.
#[derive(Debug, Clone, Copy, Default)]
struct Peak {
    hits: u64,
    second: (u32, i64),
    minute: (u32, i64),
    blocked: u64,
}

impl Peak {
    fn most(&self, per: RateUnit) -> u64 {
        u64::from(match per {
            RateUnit::Second => self.second.0,
            RateUnit::Minute => self.minute.0,
        })
    }
}

impl RowStore {
    /// Rates of the clients of a view: the `top` fastest, and the requests that limits would have
    /// refused: of a single limit by client, too.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn rates(
        &self,
        view: &View,
        by: RateGrouping,
        top: usize,
        limits: &[Limit],
        control: &Control,
    ) -> Result<Rates, ViewError> {
        self.asked(|| {
            // Clients of many rows get their codes first.
            if self.dictionaries[CLIENT].lock().has_groups() {
                self.sums_of(view, control)?;
            }
            self.rated(view, by, top, limits, control)
        })
    }

    fn rated(&self, view: &View, by: RateGrouping, top: usize, limits: &[Limit], control: &Control) -> Result<Rates, ViewError> {
        let snapshot = self.snapshot();
        let plan = ViewPlan::new(view, self, control).ok_or(ViewError::Cancelled)?;
        let clients = self.dictionaries[CLIENT].lock();
        let derived = (by == RateGrouping::Net).then_some(TextColumn::NET);
        let classes = derived.map(|column| clients.classes(column).to_vec());
        let (values, has_cut) = (clients.len_of(derived), clients.has_cut());
        drop(clients);
        let limit = if let [limit] = limits { Some(*limit) } else { None };
        let mut found = RateFindings { peaks: vec![Peak::default(); values], limit, ..RateFindings::default() };
        let rows_at_once = self.rates_bytes() / GATHERED_BYTES;
        for window in windows(&snapshot, rows_at_once) {
            let unknown = AtomicU64::new(0);
            let gather =
                RateWindow { store: self, plan: &plan, classes: classes.as_deref(), window, rows_at_once, unknown, control };
            gather.parts(&snapshot, &mut found)?;
            found.unknown += gather.unknown.into_inner();
        }
        let exact = plan.is_sure() && !has_cut && found.unknown == 0 && snapshot.rows_dropped == 0;
        Ok(self.rates_of(&found, derived, top, limits, exact))
    }

    fn rates_of(&self, found: &RateFindings, derived: Option<TextColumn>, top: usize, limits: &[Limit], exact: bool) -> Rates {
        let tables = self.dictionaries[CLIENT].lock();
        let mut codes: Vec<u32> = (0..found.peaks.len() as u32).filter(|code| found.peaks[*code as usize].hits > 0).collect();
        let clients = codes.len() as u64;
        let rows = found.peaks.iter().map(|peak| peak.hits).sum();
        let key = |code: &u32| {
            let peak = found.peaks[*code as usize];
            (Reverse(peak.blocked), Reverse(peak.minute.0), Reverse(peak.second.0), Reverse(peak.hits))
        };
        codes.sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| tables.text_of(derived, *a).cmp(tables.text_of(derived, *b))));
        let rate = |code: &u32| {
            let Peak { hits, second, minute, blocked } = found.peaks[*code as usize];
            ClientRate {
                value: shown(tables.text_of(derived, *code)),
                hits,
                second_hits_max: second.0,
                second_at: second.1,
                minute_hits_max: minute.0,
                minute_at: minute.1,
                blocked: found.limit.map(|_| blocked),
            }
        };
        let effect = |limit: &Limit| LimitEffect {
            requests: limit.requests,
            per: limit.per,
            blocked: found.counts(limit.per).iter().map(|(hits, times)| beyond(*hits, limit) * times).sum(),
            clients: found.peaks.iter().filter(|peak| peak.most(limit.per) > limit.requests).count() as u64,
        };
        Rates {
            field: self.schema().text_name(derived.unwrap_or(TextColumn::CLIENT)),
            rows,
            unknown: found.unknown,
            clients,
            exact,
            fastest: codes.iter().take(top).map(rate).collect(),
            limits: limits.iter().map(effect).collect(),
        }
    }
}

/// Number of requests, of `hits`, that a limit turns away.
fn beyond(hits: u32, limit: &Limit) -> u64 {
    u64::from(hits).saturating_sub(limit.requests)
}

/// Findings so far.
#[derive(Default)]
struct RateFindings {
    peaks: Vec<Peak>,
    /// Number of seconds of clients by their number of rows.
    seconds: BTreeMap<u32, u64>,
    /// The same of minutes.
    minutes: BTreeMap<u32, u64>,
    /// The only limit.
    limit: Option<Limit>,
    /// Rows of clients that there was no room for.
    unknown: u64,
}

/// Spans of whole minutes (in Unix microseconds, the end not in them) that have about as many rows,
/// as far as segments tell.
fn windows(snapshot: &Snapshot, rows_at_once: u64) -> Vec<(i64, i64)> {
    let mut starts: Vec<(i64, u64)> = snapshot
        .segments
        .iter()
        .filter_map(|segment| segment.times.map(|(first, _)| (unbiased(first).div_euclid(MINUTE_US), segment.rows as u64)))
        .collect();
    starts.sort_unstable();
    let mut windows = Vec::new();
    let (mut from, mut rows) = (i64::MIN, 0);
    for (minute, more) in starts {
        if rows + more > rows_at_once && minute.saturating_mul(MINUTE_US) > from {
            let end = minute.saturating_mul(MINUTE_US);
            windows.push((from, end));
            (from, rows) = (end, 0);
        }
        rows += more;
    }
    windows.push((from, i64::MAX));
    windows
}

/// Gathers the rows of one window.
struct RateWindow<'a> {
    store: &'a RowStore,
    plan: &'a ViewPlan,
    /// For each client, the network.
    classes: Option<&'a [u32]>,
    window: (i64, i64),
    rows_at_once: u64,
    /// Rows of clients that there was no room for.
    unknown: AtomicU64,
    control: &'a Control,
}

impl RateWindow<'_> {
    /// The rows of the window, in as many parts by client as it takes to keep each small.
    fn parts(&self, snapshot: &Snapshot, found: &mut RateFindings) -> Result<(), ViewError> {
        let overlaps = |segment: &&std::sync::Arc<Segment>| {
            segment.times.is_some_and(|(first, last)| unbiased(first) < self.window.1 && unbiased(last) >= self.window.0)
        };
        let segments: Vec<_> = snapshot.segments.iter().filter(overlaps).collect();
        let rows: u64 = segments.iter().map(|segment| segment.rows as u64).sum();
        // Segments at the window's borders are in two windows.
        let parts = rows.div_ceil(2 * self.rows_at_once).max(1) as u32;
        for part in 0..parts {
            let mut workers: Vec<Vec<ClientSecond>> = vec![Vec::new(); self.store.settings.threads];
            let work = |keys: &mut Vec<ClientSecond>, segment: &std::sync::Arc<Segment>| {
                if self.control.stopped() { Ok(()) } else { self.gather(segment, (part, parts), keys) }
            };
            let sink = |done: io::Result<()>| done.map_err(|cause| Error::io("rows", "cannot read spilled rows", cause));
            each(segments.iter().copied(), &mut workers, work, sink).map_err(ViewError::Io)?;
            if self.control.stopped() {
                return Err(ViewError::Cancelled);
            }
            let mut keys = workers.into_iter().reduce(|mut all, more| {
                all.extend(more);
                all
            });
            keys.iter_mut().for_each(|keys| {
                fold(keys);
                found.count(keys);
            });
        }
        Ok(())
    }

    fn gather(&self, segment: &Segment, (part, parts): (u32, u32), keys: &mut Vec<ClientSecond>) -> io::Result<()> {
        let spill = self.store.spill.as_ref();
        let mut rows = Vec::new();
        self.plan.select(segment, self.store)?.list(&mut rows);
        let clients = self.store.coded(segment, CLIENT)?;
        let groups_start = self.store.dictionaries[CLIENT].lock().groups_start();
        let class = |client: u32| match self.classes {
            Some(classes) => classes.get(client as usize).copied().unwrap_or(NONE),
            None if client >= groups_start => OTHERS,
            None => client,
        };
        let mut unknown = 0;
        segment.numbers(TIME, spill)?.each(&rows, |row, time| {
            let Some(time_us) = time.map(unbiased).filter(|time| (self.window.0..self.window.1).contains(time)) else { return };
            let client = class(clients.get(row));
            let second = time_us.div_euclid(1_000_000);
            unknown += u64::from(client == OTHERS && part == 0);
            if client > OTHERS && part_of(client, second, parts) == part {
                keys.push(ClientSecond { client, hits: 1, second });
            }
        });
        self.unknown.fetch_add(unknown, Ordering::Relaxed);
        // Those of few clients in few seconds are few when they are counted.
        if keys.len() as u64 > self.rows_at_once / self.store.settings.threads as u64 {
            fold(keys);
        }
        Ok(())
    }
}

/// A client's rows in a second.
#[derive(Debug, Clone, Copy)]
struct ClientSecond {
    client: u32,
    hits: u32,
    second: i64,
}

/// The part that a client's minute is of.
fn part_of(client: u32, second: i64, parts: u32) -> u32 {
    let minute = second.div_euclid(60).cast_unsigned();
    // 2^64 divided by the golden ratio spreads neighbours.
    let mixed = (minute << 32 ^ u64::from(client)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    (mixed % u64::from(parts)) as u32
}

/// Puts them in order, each client and second once.
fn fold(keys: &mut Vec<ClientSecond>) {
    keys.sort_unstable_by_key(|key| (key.client, key.second));
    keys.dedup_by(|more, key| {
        let same = (more.client, more.second) == (key.client, key.second);
        key.hits = if same { key.hits.saturating_add(more.hits) } else { key.hits };
        same
    });
}

impl RateFindings {
    fn counts(&self, per: RateUnit) -> &BTreeMap<u32, u64> {
        match per {
            RateUnit::Second => &self.seconds,
            RateUnit::Minute => &self.minutes,
        }
    }

    fn blocked(&self, per: RateUnit, hits: u32) -> u64 {
        self.limit.filter(|limit| limit.per == per).map_or(0, |limit| beyond(hits, &limit))
    }

    /// Takes clients and seconds in order, each once, minutes whole.
    fn count(&mut self, keys: &[ClientSecond]) {
        for minute in keys.chunk_by(|a, b| a.client == b.client && a.second.div_euclid(60) == b.second.div_euclid(60)) {
            let ClientSecond { client, second: at, .. } = minute[0];
            let hits = minute.iter().fold(0, |hits: u32, key| hits.saturating_add(key.hits));
            *self.minutes.entry(hits).or_default() += 1;
            let mut blocked = self.blocked(RateUnit::Minute, hits);
            let peak = &mut self.peaks[client as usize];
            peak.hits += u64::from(hits);
            raise(&mut peak.minute, (hits, at.div_euclid(60) * 60));
            for key in minute {
                *self.seconds.entry(key.hits).or_default() += 1;
                blocked += self.blocked(RateUnit::Second, key.hits);
                raise(&mut self.peaks[client as usize].second, (key.hits, key.second));
            }
            self.peaks[client as usize].blocked += blocked;
        }
    }
}

/// The larger one, or of equal ones the earlier.
fn raise(peak: &mut (u32, i64), other: (u32, i64)) {
    if other.0 > peak.0 || (other.0 == peak.0 && other.1 < peak.1) {
        *peak = other;
    }
}
