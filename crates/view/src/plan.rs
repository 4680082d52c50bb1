//! A view made ready for segments: each distinct value was asked once, what is left is codes.

use crate::bits::Bits;
use crate::codes::{Code, with_codes};
use crate::columns::{AGENT, BYTES, FLAW, PATH, QUERY, REJECTED, REPAIRED, REQUEST_TIME, STATUS, STATUSES, TIME};
use crate::columns::{UPSTREAM_TIME, ZONE, ZONE_MIN, source};
use crate::dictionary::{Dictionary, NONE};
use crate::passed::Passed;
use crate::segment::{Coded, Segment, biased, unbiased};
use crate::spill::Spill;
use crate::timeline::{NO_BUCKET, Stretch, stretches};
use crate::view::View;
use foldhash::fast::RandomState;
use rorqual_pipe::Control;
use rorqual_table::filter::{Filter, Flag, NumberColumn, NumberTest, TextColumn, TextTest, class};
use std::collections::HashMap;
use std::io;
use std::ops::Range;

/// Hours of a week, Monday's first hour first.
pub(crate) const WEEK_HOURS: usize = 168;
const HOUR_US: i64 = 3_600_000_000;

/// Which rows a view means.
pub(crate) struct Plan {
    node: Node,
    /// First and last time; `None` for all rows, those without a time too.
    times: Option<(u64, u64)>,
    /// Whether it asks of values that there was no room for.
    pub(crate) exact: bool,
}

enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    /// Rows whose code in all segments passes.
    Codes(usize, Passed),
    Numbers(usize, NumberTest),
    /// Of lines that were not rejected.
    Class(Passed, NumberTest, Passed),
    /// For each hour of the week, and for rows without time.
    Hours(Vec<bool>, bool),
    Url(TextTest),
}

impl Plan {
    /// `None` when it was cancelled.
    pub(crate) fn new(view: &View, dictionaries: &[Dictionary], control: &Control) -> Option<Self> {
        let mut compiler = Compiler { dictionaries, control, exact: true };
        let node = compiler.node(&view.filter)?;
        let times = (view.from_us.is_some() || view.to_us.is_some()).then(|| {
            let first = view.from_us.map_or(0, biased);
            // The end is not in it; a span that ends before all time is empty.
            view.to_us.map_or((first, u64::MAX - 1), |to| biased(to).checked_sub(1).map_or((1, 0), |last| (first, last)))
        });
        Some(Self { node, times, exact: compiler.exact })
    }

    /// Whether all rows are meant.
    pub(crate) fn is_everything(&self) -> bool {
        self.times.is_none() && matches!(&self.node, Node::All(parts) if parts.is_empty())
    }

    /// The rows of a segment that are meant.
    pub(crate) fn select(&self, segment: &Segment, dictionaries: &[Dictionary], spill: Option<&Spill>) -> io::Result<Bits> {
        let mut bits = Bits::new(segment.rows, true);
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
        bits.and(&select(&self.node, &Reader { segment, dictionaries, spill })?);
        Ok(bits)
    }
}

struct Compiler<'a> {
    dictionaries: &'a [Dictionary],
    control: &'a Control,
    exact: bool,
}

impl Compiler<'_> {
    fn node(&mut self, filter: &Filter) -> Option<Node> {
        Some(match filter {
            Filter::All(parts) => Node::All(self.nodes(parts)?),
            Filter::Any(parts) => Node::Any(self.nodes(parts)?),
            Filter::Not(inner) => Node::Not(Box::new(self.node(inner)?)),
            Filter::Text(TextColumn::Url, test) => {
                self.exact &= ![PATH, QUERY].iter().any(|index| self.dictionaries[*index].lock().overflowed());
                Node::Url(test.clone())
            }
            Filter::Text(column, test) => {
                let (index, derived) = source(*column);
                self.exact &= !self.dictionaries[index].lock().overflowed();
                Node::Codes(index, self.dictionaries[index].matching(derived, test, self.control)?)
            }
            Filter::Number(column, test) => self.number(*column, test),
            Filter::Is(Flag::Rejected) => Node::Codes(FLAW, self.flawed(REJECTED)),
            Filter::Is(Flag::Repaired) => Node::Codes(FLAW, self.flawed(REPAIRED)),
            Filter::Is(Flag::Bot) => {
                let agents = self.dictionaries[AGENT].lock();
                self.exact &= !agents.overflowed();
                Node::Codes(AGENT, agents.classes(TextColumn::Bot).iter().map(|bot| *bot != NONE).collect())
            }
        })
    }

    fn nodes(&mut self, parts: &[Filter]) -> Option<Vec<Node>> {
        parts.iter().map(|part| self.node(part)).collect()
    }

    fn flawed(&self, kind: u8) -> Passed {
        let flaws = self.dictionaries[FLAW].lock();
        (0..flaws.len() as u32).map(|code| flaws.text(code).first() == Some(&kind)).collect()
    }

    fn number(&self, column: NumberColumn, test: &NumberTest) -> Node {
        let statuses = |passes: &dyn Fn(u16) -> bool| (0..STATUSES as u16).map(passes).collect();
        match column {
            NumberColumn::Status => {
                Node::Codes(STATUS, statuses(&|status| test.meets((status != 0).then_some(u64::from(status)))))
            }
            NumberColumn::Class => {
                let passed = statuses(&|status| test.meets(Some(class(status) as u64)));
                Node::Class(passed, test.clone(), self.flawed(REJECTED))
            }
            NumberColumn::Bytes => Node::Numbers(BYTES, test.clone()),
            NumberColumn::RequestTime => Node::Numbers(REQUEST_TIME, test.clone()),
            NumberColumn::UpstreamTime => Node::Numbers(UPSTREAM_TIME, test.clone()),
            NumberColumn::Hour => hours(test, |hour| hour % 24),
            NumberColumn::Weekday => hours(test, |hour| hour / 24 + 1),
        }
    }
}

fn hours(test: &NumberTest, number: fn(u64) -> u64) -> Node {
    let passed = (0..WEEK_HOURS as u64).map(|hour| test.meets(Some(number(hour)))).collect();
    Node::Hours(passed, test.absent)
}

struct Reader<'a> {
    segment: &'a Segment,
    dictionaries: &'a [Dictionary],
    spill: Option<&'a Spill>,
}

fn select(node: &Node, reader: &Reader<'_>) -> io::Result<Bits> {
    let rows = reader.segment.rows;
    match node {
        Node::All(parts) => {
            let mut bits = Bits::new(rows, true);
            for part in parts {
                bits.and(&select(part, reader)?);
                if bits.count() == 0 {
                    break;
                }
            }
            Ok(bits)
        }
        Node::Any(parts) => {
            let mut bits = Bits::new(rows, false);
            for part in parts {
                bits.or(&select(part, reader)?);
            }
            Ok(bits)
        }
        Node::Not(inner) => {
            let mut bits = select(inner, reader)?;
            bits.not();
            Ok(bits)
        }
        Node::Codes(column, passed) => Ok(select_codes(&*reader.segment.coded(*column, reader.spill)?, passed, rows)),
        Node::Numbers(column, test) => Ok(reader.segment.numbers(*column, reader.spill)?.select(test, rows)),
        Node::Class(passed, test, rejected) => {
            let mut bits = select_codes(&*reader.segment.coded(STATUS, reader.spill)?, passed, rows);
            let mut rejected = select_codes(&*reader.segment.coded(FLAW, reader.spill)?, rejected, rows);
            if test.absent {
                bits.or(&rejected);
            } else {
                rejected.not();
                bits.and(&rejected);
            }
            Ok(bits)
        }
        Node::Hours(passed, absent) => {
            let (mut all, mut hours, mut met) = (Vec::new(), Vec::new(), Vec::new());
            Bits::new(rows, true).list(&mut all);
            week_hours(reader.segment, reader.spill, &all, &mut hours)?;
            hours
                .iter()
                .for_each(|stretch| met.resize(stretch.end, passed.get(stretch.bucket as usize).copied().unwrap_or(*absent)));
            Ok(Bits::of(&met, |met| met))
        }
        Node::Url(test) => select_urls(test, reader),
    }
}

/// The rows whose code in all segments passes.
pub(crate) fn select_codes(column: &Coded, passed: &Passed, rows: usize) -> Bits {
    let local: Vec<bool> = column.globals.iter().map(|global| passed.has(*global)).collect();
    if local.iter().all(|passed| !passed) {
        return Bits::new(rows, false);
    }
    if local.iter().all(|passed| *passed) {
        return Bits::new(rows, true);
    }
    with_codes!(&column.codes, constant => Bits::new(rows, local[constant.index()]), codes => Bits::of(codes, |code| local[code.index()]))
}

/// Path and query together: each pair that a segment has is looked at once.
fn select_urls(test: &TextTest, reader: &Reader<'_>) -> io::Result<Bits> {
    let paths = reader.segment.coded(PATH, reader.spill)?;
    let queries = reader.segment.coded(QUERY, reader.spill)?;
    let (path_texts, query_texts) = (reader.dictionaries[PATH].lock(), reader.dictionaries[QUERY].lock());
    let mut known: HashMap<(u32, u32), bool, RandomState> = HashMap::default();
    let mut look = |pair: (u32, u32)| {
        *known.entry(pair).or_insert_with(|| test.meets(&joined(path_texts.text(pair.0), query_texts.text(pair.1))))
    };
    // Most rows have no query.
    let alone: Vec<bool> = paths.globals.iter().map(|path| look((*path, NONE))).collect();
    let mut meets = |row: usize| match queries.get(row) {
        NONE => alone[paths.codes.get(row) as usize],
        query => look((paths.get(row), query)),
    };
    let met: Vec<bool> = (0..reader.segment.rows).map(&mut meets).collect();
    Ok(Bits::of(&met, |met| met))
}

/// Path and query as in the request.
pub(crate) fn joined(path: &[u8], query: &[u8]) -> Vec<u8> {
    if query.is_empty() { path.to_vec() } else { [path, b"?", query].concat() }
}

/// Stretches of rows in one hour of the week, by the clock of the log.
pub(crate) fn week_hours(segment: &Segment, spill: Option<&Spill>, rows: &[u16], hours: &mut Vec<Stretch>) -> io::Result<()> {
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
            _ => hours.push(Stretch { end: index, bucket }),
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
