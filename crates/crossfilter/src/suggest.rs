//! Text that somebody typed, as filters and spans of time, each with the number of its rows.

use crate::bits::Bits;
use crate::columns::source;
use crate::limits::{SUGGESTIONS_EMPTY_MAX, SUGGESTIONS_MAX};
use crate::plan::ViewPlan;
use crate::segment::{Segment, unbiased};
use crate::store::{RowStore, Snapshot};
use crate::view::{View, ViewError};
use rorqual_accesslog::filter::{ANYWHERE_MAX, Filter, FilterError, FilterRegex, TextTest};
use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::schema::{Schema, TextColumn};
use rorqual_accesslog::suggest::{
    ColumnValueSource, TypedContext, TypedPart, TypedReading, TypedText, ValuesSeen, in_any_case, pasted_line, pasted_object,
    read,
};
use rorqual_pipe::{Control, Error, each};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

/// Readings that are counted in one pass; each takes at most as much memory as a condition of a
/// filter.
const READINGS_PASS_MAX: usize = 32;

/// Readings of one part that are tried in place of its best one.
const OTHERS_MAX: usize = 4;

/// A typed text, and how it is meant.
#[derive(Debug, Clone, Copy)]
pub struct SuggestWanted<'a> {
    /// The text.
    pub text: &'a str,
    /// Format of the log, for pasted lines.
    pub format: Option<&'a LogFormat>,
    /// Seconds east of UTC that times are typed in.
    pub zone_seconds: i32,
    /// Suggestions at most.
    pub limit: usize,
    /// Longest time for finding and counting them.
    pub time_max: Duration,
}

/// A filter or a span of time that a text may mean.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
pub struct Suggestion {
    /// In plain words, for people.
    pub label: String,
    /// The filter, as it is written; empty where it is a span alone.
    #[serde(rename = "where")]
    pub filter: String,
    /// Start of its span in Unix seconds; it takes the place of the view's own.
    pub from: Option<f64>,
    /// The end, which is not in it.
    pub to: Option<f64>,
    /// Rows of the view that it means.
    pub hits: u64,
    /// False where there may be more.
    pub exact: bool,
    /// Name of the column that was taken for a similar one.
    pub meant: Option<String>,
    /// True if the text is this filter.
    pub typed: bool,
}

/// Suggestions for a text, the best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Suggestions {
    /// Suggestions with rows; where there are none, the likeliest without.
    pub rows: Vec<Suggestion>,
    /// False where there was no time, or no memory, for all.
    pub complete: bool,
    /// Reason for which the text is no filter, where it looks like one.
    pub error: Option<FilterError>,
}

/// Rows of filters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilterHits {
    /// Rows of each filter, and whether these are all; `None` where there is none, or it has no
    /// room.
    pub hits: Vec<Option<(u64, bool)>>,
    /// False where there was no time, or no memory, for all.
    pub complete: bool,
}

/// A reading, and its rows.
#[derive(Debug, Clone)]
struct CountedReading {
    reading: TypedReading,
    hits: u64,
    exact: bool,
}

impl RowStore {
    /// Readings of a typed text, with their rows in a view; those of spans in the view without its
    /// own span.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn suggest(&self, view: &View, wanted: &SuggestWanted<'_>, control: &Control) -> Result<Suggestions, ViewError> {
        let snapshot = self.snapshot();
        let until = Instant::now() + wanted.time_max;
        let schema = self.schema();
        let values = StoreValues { store: self, snapshot: &snapshot, until, control, tests: RefCell::default() };
        let context = TypedContext { schema: &schema, values: &values, zone_seconds: wanted.zone_seconds };
        let pasted = pasted(wanted, &schema);
        let mut typed = read(wanted.text, &context);
        if !pasted.is_empty() {
            typed.parts = vec![TypedPart { readings: pasted, is_alternative: false }];
        }
        if control.stopped() {
            return Err(ViewError::Cancelled);
        }
        let mut counter = ReadingCounter { store: self, snapshot: &snapshot, view, until, control, complete: true };
        let error = typed.error.take();
        let is_filter = typed.filter.as_ref().is_some_and(|filter| filter.meant.is_none());
        let (all, is_counted) = counter.all(typed)?;
        let complete = counter.complete;
        let mut rows = chosen(all, is_filter && is_counted, &schema);
        rows.truncate(wanted.limit.min(SUGGESTIONS_MAX));
        Ok(Suggestions { rows, complete, error })
    }

    /// Rows of filters in a view, and of spans in the view without its own span, as those of
    /// [suggestions](Self::suggest) are counted. Filters are asked for one at a time.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn filter_hits(
        &self,
        view: &View,
        filters: impl Iterator<Item = Option<(Filter, Option<(i64, i64)>)>>,
        time_max: Duration,
        control: &Control,
    ) -> Result<FilterHits, ViewError> {
        let snapshot = self.snapshot();
        let until = Instant::now() + time_max;
        let mut counter = ReadingCounter { store: self, snapshot: &snapshot, view, until, control, complete: true };
        let reading = |(filter, span_us)| TypedReading { label: String::new(), filter, span_us, rank: 0, meant: None };
        let hits = counter.count_each(filters.map(|filter| filter.map(reading)), |counted| (counted.hits, counted.exact))?;
        Ok(FilterHits { hits, complete: counter.complete })
    }
}

fn pasted(wanted: &SuggestWanted<'_>, schema: &Schema) -> Vec<TypedReading> {
    let text = wanted.text.trim();
    match wanted.format {
        _ if schema.is_table() => pasted_object(text, schema),
        Some(format) if text.contains([' ', '\t', '{']) => pasted_line(text, format, schema),
        _ => Vec::new(),
    }
}

/// All as they are shown: what has no row only where nothing has any, but for a filter that was
/// typed, which is the first.
fn chosen(all: Vec<CountedReading>, is_filter: bool, schema: &Schema) -> Vec<Suggestion> {
    let mut rows: Vec<Suggestion> = Vec::new();
    let is_found = |(place, counted): &(usize, CountedReading)| counted.hits > 0 || (is_filter && *place == 0);
    let (mut found, mut empty): (Vec<_>, Vec<_>) = all.into_iter().enumerate().partition(is_found);
    if found.is_empty() {
        empty.truncate(SUGGESTIONS_EMPTY_MAX);
        found = empty;
    }
    for (place, CountedReading { reading, hits, exact }) in found {
        let [from, to] = [reading.span_us.map(|span| span.0), reading.span_us.map(|span| span.1)]
            .map(|time_us| time_us.map(|time_us| time_us as f64 / 1e6));
        let (filter, typed) = (schema.written(&reading.filter), is_filter && place == 0);
        if rows.iter().any(|row| row.filter == filter && row.from == from && row.to == to) {
            continue;
        }
        rows.push(Suggestion { label: reading.label, filter, from, to, hits, exact, meant: reading.meant, typed });
    }
    rows
}

struct ReadingCounter<'a> {
    store: &'a RowStore,
    snapshot: &'a Snapshot,
    view: &'a View,
    until: Instant,
    control: &'a Control,
    complete: bool,
}

impl ReadingCounter<'_> {
    /// All readings of a text, the best first, and whether the first is the filter that it is.
    fn all(&mut self, typed: TypedText) -> Result<(Vec<CountedReading>, bool), ViewError> {
        let mut all = self.count(typed.filter.into_iter().collect())?;
        let is_filter = !all.is_empty();
        let (mut parts, mut whole) = (Vec::new(), sorted(self.count(typed.whole)?));
        for TypedPart { readings, is_alternative } in typed.parts {
            parts.push((sorted(self.count(readings)?), is_alternative));
        }
        let is_value = |counted: &CountedReading| matches!(&counted.reading.filter, Filter::Text(_, TextTest::OneOf(_)));
        let (values, texts): (Vec<_>, Vec<_>) = whole.drain(..).partition(is_value);
        all.extend(values);
        match &mut parts[..] {
            [] => {}
            [(readings, _)] => all.append(readings),
            // A filter's words by themselves say something else.
            _ if is_filter => {}
            several => all.extend(self.joined(several)?),
        }
        all.extend(texts);
        Ok((all, is_filter))
    }

    /// All parts together: of each its best reading, or in place of one of them another.
    fn joined(&mut self, parts: &[(Vec<CountedReading>, bool)]) -> Result<Vec<CountedReading>, ViewError> {
        let parts: Vec<_> = parts.iter().filter(|(readings, _)| !readings.is_empty()).collect();
        let best = vec![0; parts.len()];
        let mut choices = vec![best.clone()];
        let is_text = |counted: &CountedReading| matches!(counted.reading.filter, Filter::Anywhere(TextTest::Contains(_)));
        let anywhere = parts.iter().map(|(readings, _)| readings.iter().position(is_text).unwrap_or(0)).collect();
        choices.push(anywhere);
        for (place, (readings, _)) in parts.iter().enumerate() {
            for other in 1..readings.len().min(OTHERS_MAX).min(2 + OTHERS_MAX / parts.len()) {
                let mut choice = best.clone();
                choice[place] = other;
                choices.push(choice);
            }
        }
        let chosen = |choice: Vec<usize>| {
            let each = parts.iter().zip(choice).map(|((readings, is_alternative), at)| (&readings[at].reading, *is_alternative));
            together(&each.collect::<Vec<_>>())
        };
        self.count(choices.into_iter().map(chosen).collect())
    }

    fn count(&mut self, readings: Vec<TypedReading>) -> Result<Vec<CountedReading>, ViewError> {
        let counted = self.count_each(readings.into_iter().map(Some), |counted| counted)?;
        Ok(counted.into_iter().flatten().collect())
    }

    /// Counts the rows of readings, in as few passes as there is memory for; `kept` is held of each
    /// of them, and `None` of one that has no room.
    fn count_each<T>(
        &mut self,
        readings: impl Iterator<Item = Option<TypedReading>>,
        kept: impl Fn(CountedReading) -> T,
    ) -> Result<Vec<Option<T>>, ViewError> {
        let bytes_max = self.store.filter_bytes_max();
        let (mut all, mut batch, mut anywhere, mut taken) = (Vec::new(), Vec::new(), 0, 0);
        for reading in readings {
            let bytes_of = |reading: &TypedReading| reading.filter.bytes_of_values(self.store.threads());
            let reading = reading.filter(|reading| bytes_of(reading) <= bytes_max);
            let (asks, bytes) = reading.as_ref().map_or((0, 0), |reading| (anywhere_of(&reading.filter), bytes_of(reading)));
            if batch.len() == READINGS_PASS_MAX || anywhere + asks > ANYWHERE_MAX || taken + bytes > bytes_max {
                all.append(&mut self.counted(std::mem::take(&mut batch), &kept)?);
                (anywhere, taken) = (0, 0);
            }
            self.complete &= reading.is_some();
            anywhere += asks;
            taken += bytes;
            batch.push(reading);
        }
        all.append(&mut self.counted(batch, &kept)?);
        Ok(all)
    }

    fn counted<T>(
        &mut self,
        batch: Vec<Option<TypedReading>>,
        kept: impl Fn(CountedReading) -> T,
    ) -> Result<Vec<Option<T>>, ViewError> {
        let have_room: Vec<bool> = batch.iter().map(Option::is_some).collect();
        let mut counted = self.pass(batch.into_iter().flatten().collect())?.into_iter().map(kept);
        Ok(have_room.into_iter().map(|has_room| if has_room { counted.next() } else { None }).collect())
    }

    fn pass(&mut self, readings: Vec<TypedReading>) -> Result<Vec<CountedReading>, ViewError> {
        if readings.is_empty() {
            return Ok(Vec::new());
        }
        let plan = |view: &View| ViewPlan::new(view, self.store, self.control).ok_or(ViewError::Cancelled);
        let always = plan(&View { from_us: None, to_us: None, filter: self.view.filter.clone() })?;
        let within = plan(&View { filter: Filter::default(), ..self.view.clone() })?;
        let of_reading = |reading: &TypedReading| {
            let (from_us, to_us) = (reading.span_us.map(|span| span.0), reading.span_us.map(|span| span.1));
            plan(&View { from_us, to_us, filter: reading.filter.clone() })
        };
        let plans: Vec<ViewPlan> = readings.iter().map(of_reading).collect::<Result<_, _>>()?;
        let spans: Vec<bool> = readings.iter().map(|reading| reading.span_us.is_some()).collect();
        let (hits, is_whole) = self.hits(&[always, within], &plans, &spans)?;
        self.complete &= is_whole;
        let is_sure = |plan: &ViewPlan| is_whole && plan.is_sure() && self.snapshot.rows_dropped == 0;
        let counted = readings.into_iter().zip(hits).zip(&plans);
        Ok(counted.map(|((reading, hits), plan)| CountedReading { reading, hits, exact: is_sure(plan) }).collect())
    }

    /// Rows of each plan, and whether there was time to look at all.
    fn hits(&self, base: &[ViewPlan; 2], plans: &[ViewPlan], spans: &[bool]) -> Result<(Vec<u64>, bool), ViewError> {
        let mut workers = vec![(vec![0; plans.len()], true); self.store.threads()];
        let work = |(hits, is_whole): &mut (Vec<u64>, bool), segment: &Segment| -> io::Result<()> {
            if self.control.stopped() || Instant::now() > self.until {
                *is_whole = false;
                return Ok(());
            }
            let read_back = if segment.is_spilled() { Some(segment.read_back(self.store.spill.as_ref())?) } else { None };
            let segment = read_back.as_ref().unwrap_or(segment);
            let always = base[0].select(segment, self.store)?;
            let mut within = base[1].select(segment, self.store)?;
            within.and(&always);
            for ((hits, plan), is_span) in hits.iter_mut().zip(plans).zip(spans) {
                *hits += rows_of(plan, if *is_span { &always } else { &within }, segment, self.store)?;
            }
            Ok(())
        };
        let sink = |done: io::Result<()>| done.map_err(|cause| Error::io("rows", "cannot read spilled rows", cause));
        let segments = self.snapshot.segments.iter().map(|segment| &**segment);
        each(segments, &mut workers, work, sink).map_err(ViewError::Io)?;
        if self.control.stopped() {
            return Err(ViewError::Cancelled);
        }
        let mut sums = vec![0; plans.len()];
        workers.iter().for_each(|(hits, _)| sums.iter_mut().zip(hits).for_each(|(sum, hits)| *sum += hits));
        Ok((sums, workers.iter().all(|(_, is_whole)| *is_whole)))
    }
}

fn rows_of(plan: &ViewPlan, base: &Bits, segment: &Segment, store: &RowStore) -> io::Result<u64> {
    if base.is_none() {
        return Ok(0);
    }
    let mut bits = plan.select(segment, store)?;
    bits.and(base);
    Ok(bits.count() as u64)
}

/// Conditions on any text.
fn anywhere_of(filter: &Filter) -> usize {
    match filter {
        Filter::All(parts) | Filter::Any(parts) => parts.iter().map(anywhere_of).sum(),
        Filter::Not(inner) => anywhere_of(inner),
        Filter::Anywhere(_) => 1,
        _ => 0,
    }
}

/// Readings of one part with the best first, without those that mean no other rows than a better
/// one.
fn sorted(mut counted: Vec<CountedReading>) -> Vec<CountedReading> {
    counted.sort_by_key(|counted| (counted.hits == 0, counted.reading.rank, Reverse(counted.hits)));
    let mut kept: Vec<CountedReading> = Vec::new();
    for counted in counted {
        let covers = |better: &&CountedReading| match (&counted.reading.filter, &better.reading.filter) {
            (Filter::Text(column, _), Filter::Text(other, _)) => column == other,
            (Filter::Anywhere(_), Filter::Anywhere(_) | Filter::Text(..)) => true,
            _ => false,
        };
        // What contains a text has all rows of what is it: as many are the same ones.
        let is_known = kept.iter().filter(covers).any(|better| better.hits == counted.hits && counted.hits > 0);
        if !is_known {
            kept.push(counted);
        }
    }
    kept
}

/// Rows that all of the readings mean, or of alternatives one.
fn together(readings: &[(&TypedReading, bool)]) -> TypedReading {
    let (mut groups, mut span_us): (Vec<(String, Vec<Filter>)>, _) = (Vec::new(), None);
    let (mut labels, mut meant): (Vec<String>, _) = (Vec::new(), None);
    for (reading, is_alternative) in readings {
        meant = meant.or_else(|| reading.meant.clone());
        if reading.span_us.is_some() {
            span_us = span_us.or(reading.span_us);
            labels.push(reading.label.clone());
            continue;
        }
        match groups.last_mut().filter(|_| *is_alternative) {
            Some((label, filters)) => {
                *label = format!("{label} or {}", reading.label);
                filters.push(reading.filter.clone());
            }
            None => groups.push((reading.label.clone(), vec![reading.filter.clone()])),
        }
    }
    let one_of = |mut filters: Vec<Filter>| if filters.len() == 1 { filters.swap_remove(0) } else { Filter::Any(filters) };
    labels.splice(0..0, groups.iter().map(|(label, _)| label.clone()));
    let mut filters: Vec<Filter> = groups.into_iter().map(|(_, filters)| one_of(filters)).collect();
    let filter = if filters.len() == 1 { filters.swap_remove(0) } else { Filter::All(filters) };
    TypedReading { label: labels.join(", "), filter, span_us, rank: 0, meant }
}

/// Values of a store's columns.
struct StoreValues<'a> {
    store: &'a RowStore,
    snapshot: &'a Snapshot,
    until: Instant,
    control: &'a Control,
    /// Tests for texts in any case of their letters.
    tests: RefCell<HashMap<String, Option<TextTest>>>,
}

impl ColumnValueSource for StoreValues<'_> {
    fn values_like(&self, column: TextColumn, text: &str) -> ValuesSeen {
        if text.is_empty() || Instant::now() > self.until {
            return ValuesSeen::default();
        }
        let pattern = || FilterRegex::new(&in_any_case(text)).ok().filter(|_| text.contains(char::is_alphabetic));
        let mut tests = self.tests.borrow_mut();
        let test = tests.entry(text.to_owned()).or_insert_with(|| pattern().map(TextTest::Matches));
        let (index, derived) = source(column);
        self.store.dictionaries[index].values_like(derived, text, test.as_ref(), self.control)
    }

    fn times_us(&self) -> Option<(i64, i64)> {
        let times = || self.snapshot.segments.iter().filter_map(|segment| segment.times);
        let (first, last) = (times().map(|(first, _)| first).min()?, times().map(|(_, last)| last).max()?);
        Some((unbiased(first), unbiased(last)))
    }
}
