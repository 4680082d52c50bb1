//! A view made ready for segments: each distinct value was asked once, the rest is codes.

use crate::bits::Bits;
use crate::code_set::CodeSet;
use crate::codes::{ColumnCode, with_codes};
use crate::columns::{AGENT, BYTES, FLAW, PATH, QUERY, REJECTED, REPAIRED, STATUS, STATUSES, TIME, ZONE, ZONE_MIN};
use crate::columns::{has_dictionary, number_source, source};
use crate::dictionary::{Dictionary, NONE, OTHERS};
use crate::segment::{CodedColumnRef, Segment, biased, unbiased};
use crate::spill::Spill;
use crate::timeline::{BucketRun, NO_BUCKET, stretches};
use crate::view::View;
use foldhash::fast::RandomState;
use rorqual_accesslog::filter::{Filter, Flag, NumberTest, TextTest, class};
use rorqual_accesslog::schema::{NumberColumn, TextColumn};
use rorqual_pipe::Control;
use std::collections::HashMap;
use std::io;
use std::ops::Range;

/// Hours of a week, Monday's first hour first.
pub(crate) const WEEK_HOURS: usize = 168;
const HOUR_US: i64 = 3_600_000_000;

/// Test for the rows of a view.
pub(crate) struct ViewPlan {
    node: PlanNode,
    /// First and last time; `None` for all rows, those without a time too.
    times: Option<(u64, u64)>,
    /// No text that it asks of was cut.
    uncut: bool,
    /// Bounds where it asks of values that had no room: the rows that match whatever these are, and
    /// those that may.
    bounds: Option<(PlanNode, PlanNode)>,
    /// The most rows that may be meant beside those that are in any case.
    doubtful_max: u64,
    /// The most rows that may not be meant of those that possibly are.
    excluded_max: u64,
    control: Control,
}

/// Choice among the rows of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SelectedRows {
    /// Rows that match where values without room meet no condition.
    Known,
    /// Rows that match whatever these values are.
    Surely,
    /// Rows that match if these values do.
    Possibly,
}

#[derive(Clone)]
enum PlanNode {
    All(Vec<PlanNode>),
    Any(Vec<PlanNode>),
    Not(Box<PlanNode>),
    /// Rows whose code in all segments passes.
    Codes(usize, CodeSet),
    Numbers(usize, NumberTest),
    /// Of lines that were not rejected.
    Class(CodeSet, NumberTest, CodeSet),
    /// For each hour of the week, and for rows without time.
    Hours(Vec<bool>, bool),
    /// Of path and query together; those without room meet it or not.
    Url(TextTest, bool),
}

impl ViewPlan {
    /// `None` when it was cancelled.
    pub(crate) fn new(view: &View, dictionaries: &[Dictionary], control: &Control) -> Option<Self> {
        let mut compiler = PlanCompiler { dictionaries, control, uncut: true, doubts: 0 };
        let node = compiler.node(&view.filter)?;
        let bounds = (compiler.doubts > 0).then(|| (node.with_others(false), node.with_others(true)));
        let is_one_doubt = compiler.doubts == 1;
        let doubtful_max = if is_one_doubt { named_max(&view.filter, dictionaries) } else { u64::MAX };
        let excluded_max = if is_one_doubt { excluded_max(&view.filter, dictionaries) } else { u64::MAX };
        let times = (view.from_us.is_some() || view.to_us.is_some()).then(|| {
            let first = view.from_us.map_or(0, biased);
            // The end is not in it; a span that ends before all time is empty.
            view.to_us.map_or((first, u64::MAX - 1), |to| biased(to).checked_sub(1).map_or((1, 0), |last| (first, last)))
        });
        Some(Self { node, times, uncut: compiler.uncut, bounds, doubtful_max, excluded_max, control: control.clone() })
    }

    /// True if it means the same rows whatever values without room there are.
    pub(crate) fn is_sure(&self) -> bool {
        self.uncut && self.bounds.is_none()
    }

    /// True if bounds of the rows that it means can be told: not where texts were cut.
    pub(crate) fn has_bounds(&self) -> bool {
        self.uncut && self.bounds.is_some()
    }

    /// The least rows that are meant, where so many are in any case, and so many possibly.
    pub(crate) fn least(&self, surely: u64, possibly: u64) -> u64 {
        possibly.saturating_sub(self.excluded_max).max(surely)
    }

    /// The most rows that may be meant, where so many are in any case, and so many possibly.
    pub(crate) fn most(&self, surely: u64, possibly: u64) -> u64 {
        surely.saturating_add(self.doubtful_max).min(possibly)
    }

    /// True if all rows are meant.
    pub(crate) fn is_everything(&self) -> bool {
        self.times.is_none() && matches!(&self.node, PlanNode::All(parts) if parts.is_empty())
    }

    /// The rows of a segment that are meant; when it is cancelled, any.
    pub(crate) fn select(&self, segment: &Segment, dictionaries: &[Dictionary], spill: Option<&Spill>) -> io::Result<Bits> {
        self.select_meant(SelectedRows::Known, segment, dictionaries, spill)
    }

    /// The same of the rows that are meant in any case, or possibly.
    pub(crate) fn select_meant(
        &self,
        meant: SelectedRows,
        segment: &Segment,
        dictionaries: &[Dictionary],
        spill: Option<&Spill>,
    ) -> io::Result<Bits> {
        let node = match (meant, &self.bounds) {
            (SelectedRows::Surely, Some((surely, _))) => surely,
            (SelectedRows::Possibly, Some((_, possibly))) => possibly,
            _ => &self.node,
        };
        let reader = PlanReader { segment, dictionaries, spill, control: &self.control };
        let mut bits = Bits::new(segment.rows, true);
        if node.is_nowhere(&reader) {
            return Ok(Bits::new(segment.rows, false));
        }
        if let Some((first, last)) = self.times {
            match segment.times {
                Some((least, most)) if first <= most && least <= last => {
                    if !(segment.all_timed && first <= least && most <= last) {
                        bits = segment.numbers(TIME, spill)?.select(&NumberTest::range(first, last), segment.rows);
                    }
                }
                _ => return Ok(Bits::new(segment.rows, false)),
            }
        }
        keep(node, &reader, &mut bits)?;
        Ok(bits)
    }
}

/// The most rows without a code that may have one of the values that a filter names, where its one
/// condition on values without room does that, alone or with others that all have to be met.
fn named_max(filter: &Filter, dictionaries: &[Dictionary]) -> u64 {
    match filter {
        Filter::All(parts) => parts.iter().map(|part| named_max(part, dictionaries)).min().unwrap_or(u64::MAX),
        Filter::Text(column, test) if *column != TextColumn::URL => match (source(*column), test.texts()) {
            ((index, None), Some(texts)) => {
                let tables = dictionaries[index].lock();
                if tables.shortage().overflowed_at.is_none() {
                    return u64::MAX;
                }
                texts.iter().fold(0, |sum: u64, text| sum.saturating_add(tables.uncoded_max(text.as_bytes())))
            }
            _ => u64::MAX,
        },
        _ => u64::MAX,
    }
}

/// The most rows without a code that may have one of the values that a filter excludes, where its
/// one condition on values without room does that.
fn excluded_max(filter: &Filter, dictionaries: &[Dictionary]) -> u64 {
    match filter {
        Filter::All(parts) => parts.iter().map(|part| excluded_max(part, dictionaries)).min().unwrap_or(u64::MAX),
        Filter::Not(inner) => named_max(inner, dictionaries),
        _ => u64::MAX,
    }
}

struct PlanCompiler<'a> {
    dictionaries: &'a [Dictionary],
    control: &'a Control,
    uncut: bool,
    /// Conditions on values that there was no room for.
    doubts: usize,
}

impl PlanCompiler<'_> {
    fn node(&mut self, filter: &Filter) -> Option<PlanNode> {
        Some(match filter {
            Filter::All(parts) => {
                let mut nodes = self.nodes(parts)?;
                nodes.sort_by_key(PlanNode::cost);
                PlanNode::All(nodes)
            }
            Filter::Any(parts) => PlanNode::Any(self.nodes(parts)?),
            Filter::Not(inner) => PlanNode::Not(Box::new(self.node(inner)?)),
            Filter::Text(TextColumn::URL, test) => {
                [PATH, QUERY].into_iter().for_each(|index| self.asks_of(index));
                PlanNode::Url(test.clone(), false)
            }
            Filter::Text(column, test) => {
                let (index, derived) = source(*column);
                self.asks_of(index);
                PlanNode::Codes(index, self.dictionaries[index].matching(derived, test, self.control)?)
            }
            Filter::Number(column, test) => self.number(*column, test),
            Filter::Is(Flag::Rejected) => PlanNode::Codes(FLAW, self.flawed(REJECTED)),
            Filter::Is(Flag::Repaired) => PlanNode::Codes(FLAW, self.flawed(REPAIRED)),
            Filter::Is(Flag::Bot) => {
                self.asks_of(AGENT);
                let agents = self.dictionaries[AGENT].lock();
                PlanNode::Codes(AGENT, CodeSet::of(agents.classes(TextColumn::BOT), |bot| bot != NONE))
            }
        })
    }

    fn asks_of(&mut self, index: usize) {
        let shortage = self.dictionaries[index].lock().shortage();
        self.uncut &= !shortage.cut;
        self.doubts += usize::from(shortage.overflowed_at.is_some());
    }

    fn nodes(&mut self, parts: &[Filter]) -> Option<Vec<PlanNode>> {
        parts.iter().map(|part| self.node(part)).collect()
    }

    fn flawed(&self, kind: u8) -> CodeSet {
        let flaws = self.dictionaries[FLAW].lock();
        (0..flaws.len() as u32).map(|code| flaws.text(code).first() == Some(&kind)).collect()
    }

    fn number(&self, column: NumberColumn, test: &NumberTest) -> PlanNode {
        let statuses = |passes: &dyn Fn(u16) -> bool| (0..STATUSES as u16).map(passes).collect();
        match column {
            NumberColumn::STATUS => {
                PlanNode::Codes(STATUS, statuses(&|status| test.meets((status != 0).then_some(u64::from(status)))))
            }
            NumberColumn::CLASS => {
                let passed = statuses(&|status| test.meets(Some(class(status) as u64)));
                PlanNode::Class(passed, test.clone(), self.flawed(REJECTED))
            }
            NumberColumn::HOUR => hours(test, |hour| hour % 24),
            NumberColumn::WEEKDAY => hours(test, |hour| hour / 24 + 1),
            other => PlanNode::Numbers(number_source(other).unwrap_or(BYTES), test.clone()),
        }
    }
}

fn hours(test: &NumberTest, number: fn(u64) -> u64) -> PlanNode {
    let passed = (0..WEEK_HOURS as u64).map(|hour| test.meets(Some(number(hour)))).collect();
    PlanNode::Hours(passed, test.absent)
}

struct PlanReader<'a> {
    segment: &'a Segment,
    dictionaries: &'a [Dictionary],
    spill: Option<&'a Spill>,
    control: &'a Control,
}

/// Codes that are looked for in a segment before any of its rows is looked at, at most.
const SOUGHT_MAX: usize = 16;

impl PlanNode {
    /// The same where values without room meet each condition or none: whichever makes it mean as
    /// many rows as may be (`meant`), or as few.
    fn with_others(&self, meant: bool) -> Self {
        let with = |parts: &[Self]| parts.iter().map(|part| part.with_others(meant)).collect();
        match self {
            Self::All(parts) => Self::All(with(parts)),
            Self::Any(parts) => Self::Any(with(parts)),
            Self::Not(inner) => Self::Not(Box::new(inner.with_others(!meant))),
            Self::Codes(column, passed) if meant && has_dictionary(*column) && *column != FLAW => {
                let mut passed = passed.clone();
                passed.add(OTHERS);
                Self::Codes(*column, passed)
            }
            Self::Url(test, _) => Self::Url(test.clone(), meant),
            other => other.clone(),
        }
    }

    /// Cost of asking it of a segment, roughly: the cheapest parts of a filter leave fewer rows to
    /// the others.
    fn cost(&self) -> usize {
        let most = |parts: &[Self]| parts.iter().map(Self::cost).max().unwrap_or(0);
        match self {
            Self::Codes(_, passed) => passed.listed().map_or(400, <[u32]>::len),
            Self::Numbers(..) => 300,
            Self::Class(..) => 500,
            Self::Hours(..) => 600,
            Self::Url(..) => 10_000,
            Self::Not(inner) => inner.cost(),
            Self::All(parts) | Self::Any(parts) => most(parts) + 100,
        }
    }

    /// True if it is plain that no row of a segment is meant: no value that is sought is among
    /// those that it has.
    fn is_nowhere(&self, reader: &PlanReader<'_>) -> bool {
        match self {
            Self::All(parts) => parts.iter().any(|part| part.is_nowhere(reader)),
            Self::Codes(column, passed) => match (reader.segment.coded_here(*column), passed.listed()) {
                (Some(column), Some(listed)) if listed.len() <= SOUGHT_MAX => {
                    listed.iter().all(|code| column.globals.binary_search(code).is_err())
                }
                _ => false,
            },
            _ => false,
        }
    }
}

/// Leaves those of the rows that are meant.
fn keep(node: &PlanNode, reader: &PlanReader<'_>, bits: &mut Bits) -> io::Result<()> {
    match node {
        PlanNode::All(parts) => {
            for part in parts {
                if bits.is_none() {
                    break;
                }
                keep(part, reader, bits)?;
            }
        }
        PlanNode::Any(parts) => {
            let mut none = bits.clone();
            for part in parts {
                let mut met = none.clone();
                keep(part, reader, &mut met)?;
                none.without(&met);
            }
            bits.without(&none);
        }
        PlanNode::Not(inner) => {
            let mut met = bits.clone();
            keep(inner, reader, &mut met)?;
            bits.without(&met);
        }
        PlanNode::Codes(column, passed) => keep_codes(&*reader.segment.coded(*column, reader.spill)?, passed, bits),
        PlanNode::Numbers(column, test) => {
            let numbers = reader.segment.numbers(*column, reader.spill)?;
            if bits.are_few() {
                bits.retain(|row| test.meets(numbers.get(row)));
            } else {
                bits.and(&numbers.select(test, reader.segment.rows));
            }
        }
        PlanNode::Class(passed, test, rejected) => {
            let mut flawed = bits.clone();
            keep_codes(&*reader.segment.coded(FLAW, reader.spill)?, rejected, &mut flawed);
            bits.without(&flawed);
            keep_codes(&*reader.segment.coded(STATUS, reader.spill)?, passed, bits);
            if test.absent {
                bits.or(&flawed);
            }
        }
        PlanNode::Hours(passed, absent) => keep_hours(passed, *absent, reader, bits)?,
        PlanNode::Url(test, others) => keep_urls(test, *others, reader, bits)?,
    }
    Ok(())
}

fn keep_hours(passed: &[bool], absent: bool, reader: &PlanReader<'_>, bits: &mut Bits) -> io::Result<()> {
    let (mut rows, mut hours, mut met) = (Vec::new(), Vec::new(), Vec::new());
    bits.list(&mut rows);
    week_hours(reader.segment, reader.spill, &rows, &mut hours)?;
    hours.iter().for_each(|stretch| met.resize(stretch.end, passed.get(stretch.bucket as usize).copied().unwrap_or(absent)));
    let mut met = met.into_iter();
    bits.retain(|_| met.next().unwrap_or(false));
    Ok(())
}

/// Stretches of neighbouring codes that are compared rather than looked up.
const STRETCHES_MAX: usize = 4;

/// Leaves the rows whose code in all segments passes.
pub(crate) fn keep_codes(column: &CodedColumnRef, passed: &CodeSet, bits: &mut Bits) {
    if bits.are_few() {
        let passes = |local: usize| passed.has(column.globals[local]);
        return with_codes!(
            &column.codes,
            constant => bits.retain(|_| passes(constant.index())),
            codes => bits.retain(|row| passes(codes[row].index()))
        );
    }
    let local = locals(&column.globals, passed);
    let stretches = neighbours(&local);
    match &stretches[..] {
        [] => *bits = Bits::new(bits.rows(), false),
        [(0, last)] if last + 1 == column.globals.len() as u64 => {}
        few if few.len() <= STRETCHES_MAX => {
            let rows = bits.rows();
            let met = few.iter().map(|(first, last)| column.codes.select(*first, *last, rows));
            let met = met.reduce(|mut all, more| {
                all.or(&more);
                all
            });
            met.iter().for_each(|met| bits.and(met));
        }
        _ => {
            let mut met = vec![false; column.globals.len()];
            local.iter().for_each(|local| met[*local as usize] = true);
            with_codes!(&column.codes, _constant => {}, codes => bits.and(&Bits::of(codes, |code| met[code.index()])));
        }
    }
}

/// The codes of a segment that pass, in ascending order: looked for among those that it has, or all
/// of these asked.
fn locals(globals: &[u32], passed: &CodeSet) -> Vec<u32> {
    let steps = globals.len().max(1).ilog2() as usize + 1;
    match passed.listed() {
        Some(listed) if listed.len() * steps < globals.len() => {
            let mut local: Vec<u32> =
                listed.iter().filter_map(|code| globals.binary_search(code).ok()).map(|local| local as u32).collect();
            local.sort_unstable();
            local
        }
        _ => (0..).zip(globals).filter(|(_, global)| passed.has(**global)).map(|(local, _)| local).collect(),
    }
}

/// First and last of each stretch of neighbours.
fn neighbours(ascending: &[u32]) -> Vec<(u64, u64)> {
    let ends = |stretch: &[u32]| Some((u64::from(*stretch.first()?), u64::from(*stretch.last()?)));
    ascending.chunk_by(|a, b| a + 1 == *b).filter_map(ends).collect()
}

/// Path and query together: each pair that the rows have is looked at once.
fn keep_urls(test: &TextTest, others: bool, reader: &PlanReader<'_>, bits: &mut Bits) -> io::Result<()> {
    let paths = reader.segment.coded(PATH, reader.spill)?;
    let queries = reader.segment.coded(QUERY, reader.spill)?;
    // In codes of the segment, which fit 16 bits. Most rows have no query, and their paths are
    // looked up without a hash.
    let pair = |row: usize| (paths.codes.get(row) as u32, queries.codes.get(row) as u32);
    let none = queries.globals.binary_search(&NONE).map_or(u32::MAX, |none| none as u32);
    let mut alone = vec![false; paths.globals.len()];
    let mut known: HashMap<(u32, u32), bool, RandomState> = HashMap::default();
    let mut rows = Vec::new();
    bits.list(&mut rows);
    for row in rows {
        let (path, query) = pair(usize::from(row));
        if query == none {
            alone[path as usize] = true;
        } else {
            known.insert((path, query), false);
        }
    }
    let paths_alone = (0..).zip(&alone).filter(|(_, is_met)| **is_met).map(|(path, _)| (path, none));
    let pairs: Vec<(u32, u32)> = paths_alone.chain(known.keys().copied()).collect();
    let mut url = Vec::new();
    for pairs in pairs.chunks(PAIRS_AT_ONCE) {
        if reader.control.stopped() {
            return Ok(());
        }
        // Locked in ascending order, as everywhere that takes several, against deadlocks; and given
        // back after each chunk, so that other threads get them in between.
        let (path_texts, query_texts) = (reader.dictionaries[PATH].lock(), reader.dictionaries[QUERY].lock());
        for &(path, query) in pairs {
            let path_code = paths.globals[path as usize];
            let query_code = queries.globals.get(query as usize).copied().unwrap_or(NONE);
            join(path_texts.text(path_code), query_texts.text(query_code), &mut url);
            let meets = if path_code == OTHERS || query_code == OTHERS { others } else { test.meets(&url) };
            if query == none {
                alone[path as usize] = meets;
            } else {
                known.insert((path, query), meets);
            }
        }
    }
    bits.retain(|row| match pair(row) {
        (path, query) if query == none => alone[path as usize],
        pair => known.get(&pair).copied().unwrap_or(false),
    });
    Ok(())
}

/// Pairs of path and query that are looked at before others may have the dictionaries.
const PAIRS_AT_ONCE: usize = 1_024;

/// Path and query as in the request.
pub(crate) fn joined(path: &[u8], query: &[u8]) -> Vec<u8> {
    let mut url = Vec::new();
    join(path, query, &mut url);
    url
}

fn join(path: &[u8], query: &[u8], url: &mut Vec<u8>) {
    url.clear();
    url.extend_from_slice(path);
    if !query.is_empty() {
        url.push(b'?');
        url.extend_from_slice(query);
    }
}

/// Stretches of rows in one hour of the week, by the clock of the log.
pub(crate) fn week_hours(segment: &Segment, spill: Option<&Spill>, rows: &[u16], hours: &mut Vec<BucketRun>) -> io::Result<()> {
    let times = segment.numbers(TIME, spill)?;
    let zones = segment.coded(ZONE, spill)?;
    hours.clear();
    if let [zone] = zones.globals[..] {
        stretches(&times, rows, hours, |time| week_hour(time, zone));
        return Ok(());
    }
    let mut index = 0;
    times.each(rows, |row, time| {
        index += 1;
        let bucket = time.map_or(NO_BUCKET, |time| week_hour(time, zones.get(row)).1);
        match hours.last_mut() {
            Some(last) if last.bucket == bucket => last.end = index,
            _ => hours.push(BucketRun { end: index, bucket }),
        }
    });
    Ok(())
}

/// The times of an hour, and its number in the week.
fn week_hour(time: u64, zone: u32) -> (Range<u64>, u32) {
    let shift_us = i64::from(zone.cast_signed() + ZONE_MIN) * 1_000_000;
    let number = unbiased(time).saturating_add(shift_us).div_euclid(HOUR_US);
    let start = biased(number.saturating_mul(HOUR_US).saturating_sub(shift_us));
    // 1970-01-01 was a Thursday.
    let hour = (number + 72).rem_euclid(WEEK_HOURS.cast_signed() as i64);
    (start..start.saturating_add(HOUR_US.unsigned_abs()), hour as u32)
}
