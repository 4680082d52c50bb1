//! A view made ready for segments: each distinct value was asked once, the rest is codes.

use crate::bits::Bits;
use crate::code_set::CodeSet;
use crate::codes::{ColumnCode, with_codes};
use crate::columns::{
    BYTES, FLAW, LINE, METHOD, PATH, PROTOCOL, QUERY, REJECTED, REPAIRED, STATUS, STATUSES, TIME, ZONE, ZONE_MIN, number_source,
    source,
};
use crate::dictionary::{NONE, OTHERS, derive};
use crate::segment::{CodedColumnRef, Segment, biased, unbiased};
use crate::spill::Spill;
use crate::store::RowStore;
use crate::time_axis::{BucketRun, NO_BUCKET, WEEK_HOURS, stretches};
use crate::uncoded::PlainTexts;
use crate::view::View;
use foldhash::fast::RandomState;
use rorqual_accesslog::filter::{Filter, Flag, NumberTest, TextTest, TextValue, class, request};
use rorqual_accesslog::schema::{NumberColumn, TextColumn, TextContent};
use rorqual_pipe::Control;
use std::collections::HashMap;
use std::io;
use std::ops::Range;

const HOUR_US: i64 = 3_600_000_000;

/// Test for the rows of a view.
pub(crate) struct ViewPlan {
    node: PlanNode,
    /// First and last time; `None` for all rows, those without a time too.
    times: Option<(u64, u64)>,
    /// No text that it asks of was cut.
    uncut: bool,
    control: Control,
}

#[derive(Clone)]
enum PlanNode {
    All(Vec<PlanNode>),
    Any(Vec<PlanNode>),
    Not(Box<PlanNode>),
    /// Rows whose code in all segments passes.
    Codes(usize, CodeSet),
    /// The same, where the texts of some groups are looked at.
    Texts(usize, CodeSet, Box<UncodedTest>),
    Numbers(usize, NumberTest),
    /// Of lines that were not rejected.
    Class(CodeSet, NumberTest, CodeSet),
    /// For each hour of the week, and for rows without time.
    Hours(Vec<bool>, bool),
    /// Of path and query together.
    Url(TextTest),
    /// Of the request as it was sent.
    Request(TextTest),
}

/// Test of texts without a code.
#[derive(Clone)]
struct UncodedTest {
    /// Groups whose texts have to be looked at.
    groups: CodeSet,
    /// Column that follows from the text, where it is not the text that is tested.
    derived: Option<TextColumn>,
    test: TextTest,
    /// The test is not to be met.
    negated: bool,
    /// Hashes of the only texts that meet it, where it names them.
    hashes: Option<Vec<u64>>,
}

impl ViewPlan {
    /// `None` when it was cancelled.
    pub(crate) fn new(view: &View, store: &RowStore, control: &Control) -> Option<Self> {
        let mut compiler = PlanCompiler { store, control, uncut: true };
        let node = compiler.node(&view.filter)?;
        let times = (view.from_us.is_some() || view.to_us.is_some()).then(|| {
            let first = view.from_us.map_or(0, biased);
            // The end is not in it; a span that ends before all time is empty.
            view.to_us.map_or((first, u64::MAX - 1), |to| biased(to).checked_sub(1).map_or((1, 0), |last| (first, last)))
        });
        Some(Self { node, times, uncut: compiler.uncut, control: control.clone() })
    }

    /// True if no text was cut that it asks of: such a text may meet any condition, or none.
    pub(crate) fn is_sure(&self) -> bool {
        self.uncut
    }

    /// True if all rows are meant.
    pub(crate) fn is_everything(&self) -> bool {
        self.times.is_none() && matches!(&self.node, PlanNode::All(parts) if parts.is_empty())
    }

    /// The rows of a segment that are meant; when it is cancelled, any.
    pub(crate) fn select(&self, segment: &Segment, store: &RowStore) -> io::Result<Bits> {
        let (node, spill) = (&self.node, store.spill.as_ref());
        let reader = PlanReader { segment, store, spill, control: &self.control };
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

    /// Leaves those rows of a segment that its filter means, at any time; when it is cancelled,
    /// any.
    pub(crate) fn narrow(&self, segment: &Segment, store: &RowStore, bits: &mut Bits) -> io::Result<()> {
        let reader = PlanReader { segment, store, spill: store.spill.as_ref(), control: &self.control };
        keep(&self.node, &reader, bits)
    }
}

struct PlanCompiler<'a> {
    store: &'a RowStore,
    control: &'a Control,
    uncut: bool,
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
                PlanNode::Url(test.clone())
            }
            Filter::Text(column, test) => self.texts(*column, test, false)?,
            Filter::Anywhere(test) => self.anywhere(test)?,
            Filter::Number(column, test) => self.number(*column, test),
            Filter::Is(Flag::Rejected) => PlanNode::Codes(FLAW, self.flawed(REJECTED)),
            Filter::Is(Flag::Repaired) => PlanNode::Codes(FLAW, self.flawed(REPAIRED)),
            // A bot is an agent that a bot's name follows from.
            Filter::Is(Flag::Bot) => self.texts(TextColumn::BOT, &TextTest::OneOf(vec![TextValue::Text(String::new())]), true)?,
        })
    }

    fn asks_of(&mut self, index: usize) {
        self.uncut &= !self.store.dictionaries[index].lock().shortage().cut;
    }

    fn texts(&mut self, column: TextColumn, test: &TextTest, negated: bool) -> Option<PlanNode> {
        let (index, derived) = source(column);
        self.coded((index, derived), test, negated)
    }

    /// Rows of which some text passes that lies in the file.
    fn anywhere(&mut self, test: &TextTest) -> Option<PlanNode> {
        let schema = self.store.schema();
        let is_pattern = |own| schema.text_kind(own) == TextContent::Pattern;
        let in_file = |column: &TextColumn| {
            let is_of_line = ![TextColumn::URL, TextColumn::FILE].contains(column);
            is_of_line && source(*column).1.is_none() && !column.as_own().is_some_and(is_pattern)
        };
        let columns = schema.texts().filter(in_file).map(|column| source(column).0);
        // The text of a rejected line is no column.
        let nodes = columns.chain([LINE]).map(|index| self.coded((index, None), test, false));
        let mut nodes = nodes.collect::<Option<Vec<_>>>()?;
        if test.may_span() && !schema.is_table() {
            nodes.push(PlanNode::Request(test.clone()));
        }
        Some(PlanNode::Any(nodes))
    }

    fn coded(&mut self, (index, derived): (usize, Option<TextColumn>), test: &TextTest, negated: bool) -> Option<PlanNode> {
        self.asks_of(index);
        let dictionary = &self.store.dictionaries[index];
        let (mut passed, groups) = dictionary.matching(derived, test, self.control)?;
        if negated {
            let codes: Vec<u32> = (0..dictionary.lock().len() as u32).collect();
            let is_met = passed;
            passed = CodeSet::of(&codes, |code| !is_met.has(code) && !groups.has(code));
        }
        if !groups.has(OTHERS) {
            return Some(PlanNode::Codes(index, passed));
        }
        let texts = test.texts().filter(|_| derived.is_none() && !negated);
        let hashes = texts.map(|texts| texts.iter().map(|text| self.store.hasher.hash(text.as_bytes())).collect());
        let uncoded = UncodedTest { groups, derived, test: test.clone(), negated, hashes };
        Some(PlanNode::Texts(index, passed, Box::new(uncoded)))
    }

    fn nodes(&mut self, parts: &[Filter]) -> Option<Vec<PlanNode>> {
        parts.iter().map(|part| self.node(part)).collect()
    }

    fn flawed(&self, kind: u8) -> CodeSet {
        let flaws = self.store.dictionaries[FLAW].lock();
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
    store: &'a RowStore,
    spill: Option<&'a Spill>,
    control: &'a Control,
}

/// Codes that are looked for in a segment before any of its rows is looked at, at most.
const SOUGHT_MAX: usize = 16;

impl PlanNode {
    /// Cost of asking it of a segment, roughly: the cheapest parts of a filter leave fewer rows to
    /// the others.
    fn cost(&self) -> usize {
        let most = |parts: &[Self]| parts.iter().map(Self::cost).max().unwrap_or(0);
        match self {
            Self::Codes(_, passed) => passed.listed().map_or(400, <[u32]>::len),
            Self::Texts(_, _, uncoded) if uncoded.hashes.is_some() => 700,
            Self::Texts(..) => 5_000,
            Self::Numbers(..) => 300,
            Self::Class(..) => 500,
            Self::Hours(..) => 600,
            Self::Url(..) => 10_000,
            Self::Request(..) => 20_000,
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
                    column.uncoded == 0 && listed.iter().all(|code| column.globals.binary_search(code).is_err())
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
        PlanNode::Texts(index, passed, uncoded) => keep_texts(*index, passed, uncoded, reader, bits)?,
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
        PlanNode::Url(test) => keep_urls(test, reader, bits)?,
        PlanNode::Request(test) => keep_requests(test, reader, bits)?,
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

/// Leaves the rows whose code passes, or whose text without a code does.
fn keep_texts(index: usize, passed: &CodeSet, uncoded: &UncodedTest, reader: &PlanReader<'_>, bits: &mut Bits) -> io::Result<()> {
    let column = reader.segment.coded(index, reader.spill)?;
    if column.uncoded == 0 {
        keep_codes(&column, passed, bits);
        return Ok(());
    }
    let met = uncoded.meeting(index, &column, reader, bits)?;
    let known = column.known().len();
    let passes = |local: usize| passed.has(column.globals[local]) || (local >= known && met[local - known]);
    let local: Vec<bool> = (0..column.globals.len()).map(passes).collect();
    with_codes!(
        &column.codes,
        constant => if !local[constant.index()] { *bits = Bits::new(bits.rows(), false) },
        codes => if bits.are_few() { bits.retain(|row| local[codes[row].index()]) } else { bits.and(&Bits::of(codes, |code| local[code.index()])) }
    );
    Ok(())
}

impl UncodedTest {
    /// For each text without a code of a column, whether it meets the test and one of the rows has
    /// it.
    fn meeting(&self, index: usize, column: &CodedColumnRef, reader: &PlanReader<'_>, bits: &Bits) -> io::Result<Vec<bool>> {
        let known = column.known().len();
        let mut asked: Vec<bool> = column.globals[known..].iter().map(|group| self.groups.has(*group)).collect();
        if let Some(hashes) = &self.hashes {
            let found = reader.segment.uncoded_hashes(index, reader.spill)?;
            asked.iter_mut().zip(&*found).for_each(|(asked, hash)| *asked &= hashes.contains(hash));
        }
        if bits.are_few() {
            let mut of_rows = vec![false; asked.len()];
            let mut rows = Vec::new();
            bits.list(&mut rows);
            let locals = rows.iter().filter_map(|row| column.uncoded_of(column.codes.get(usize::from(*row)) as usize));
            locals.for_each(|text| of_rows[text] = asked[text]);
            asked = of_rows;
        }
        let mut met = vec![false; asked.len()];
        if !asked.contains(&true) || reader.control.stopped() {
            return Ok(met);
        }
        let countries = reader.store.settings.countries.as_deref();
        reader.segment.uncoded_texts(index, reader.spill)?.each(
            |text| asked[text],
            |text, bytes| {
                let value = match self.derived {
                    Some(derived) => derive(derived, bytes, countries),
                    None => bytes.into(),
                };
                met[text] = self.test.meets(&value) != self.negated;
            },
        )?;
        Ok(met)
    }
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
fn keep_urls(test: &TextTest, reader: &PlanReader<'_>, bits: &mut Bits) -> io::Result<()> {
    let paths = reader.segment.coded(PATH, reader.spill)?;
    let queries = reader.segment.coded(QUERY, reader.spill)?;
    // In codes of the segment, which fit 16 bits. Most rows have no query, and their paths are
    // looked up without a hash.
    let pair = |row: usize| (paths.codes.get(row) as u32, queries.codes.get(row) as u32);
    let none = queries.local_of(NONE).map_or(u32::MAX, |none| none as u32);
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
    let mut pairs: Vec<(u32, u32)> = paths_alone.chain(known.keys().copied()).collect();
    // Texts of the segment are read in their order.
    pairs.sort_unstable();
    let (path_texts, query_texts) = (SegmentTexts::new(PATH, &paths, reader)?, SegmentTexts::new(QUERY, &queries, reader)?);
    let (mut path_text, mut query_text, mut url) = (Vec::new(), Vec::new(), Vec::new());
    for (path, query) in pairs {
        if reader.control.stopped() {
            return Ok(());
        }
        path_texts.copy(path as usize, &mut path_text);
        query_text.clear();
        if query != none {
            query_texts.copy(query as usize, &mut query_text);
        }
        join(&path_text, &query_text, &mut url);
        let meets = test.meets(&url);
        if query == none {
            alone[path as usize] = meets;
        } else {
            known.insert((path, query), meets);
        }
    }
    bits.retain(|row| match pair(row) {
        (path, query) if query == none => alone[path as usize],
        pair => known.get(&pair).copied().unwrap_or(false),
    });
    Ok(())
}

/// The request as it was sent: each that the rows have is looked at once.
fn keep_requests(test: &TextTest, reader: &PlanReader<'_>, bits: &mut Bits) -> io::Result<()> {
    let coded = |index| reader.segment.coded(index, reader.spill);
    let columns = [coded(METHOD)?, coded(PATH)?, coded(QUERY)?, coded(PROTOCOL)?];
    // Codes of the segment fit 16 bits.
    let key = |row: usize| columns.iter().fold(0, |key, column| (key << 16) | column.codes.get(row));
    let mut rows = Vec::new();
    bits.list(&mut rows);
    let mut keys: Vec<u64> = rows.iter().map(|row| key(usize::from(*row))).collect();
    keys.sort_unstable();
    keys.dedup();
    let texts = |at: usize, index| SegmentTexts::new(index, &columns[at], reader);
    let texts = [texts(0, METHOD)?, texts(1, PATH)?, texts(2, QUERY)?, texts(3, PROTOCOL)?];
    let (mut parts, mut text) = ([const { Vec::new() }; 4], Vec::new());
    let mut met = Vec::with_capacity(keys.len());
    for key in &keys {
        if reader.control.stopped() {
            return Ok(());
        }
        let locals = [key >> 48, key >> 32 & 0xffff, key >> 16 & 0xffff, key & 0xffff];
        texts.iter().zip(locals).zip(&mut parts).for_each(|((texts, local), part)| texts.copy(local as usize, part));
        request(&parts[0], [&parts[1], &parts[2]], &parts[3], &mut text);
        met.push(test.meets(&text));
    }
    bits.retain(|row| keys.binary_search(&key(row)).is_ok_and(|at| met[at]));
    Ok(())
}

/// The texts of a column of a segment by their local codes.
struct SegmentTexts<'a> {
    index: usize,
    column: &'a CodedColumnRef,
    store: &'a RowStore,
    uncoded: Option<PlainTexts>,
}

impl<'a> SegmentTexts<'a> {
    fn new(index: usize, column: &'a CodedColumnRef, reader: &PlanReader<'a>) -> io::Result<Self> {
        let uncoded = (column.uncoded > 0).then(|| reader.segment.uncoded_texts(index, reader.spill)?.plain()).transpose()?;
        Ok(Self { index, column, store: reader.store, uncoded })
    }

    fn copy(&self, local: usize, to: &mut Vec<u8>) {
        to.clear();
        match (self.column.uncoded_of(local), &self.uncoded) {
            (Some(text), Some(uncoded)) => to.extend_from_slice(uncoded.text(text)),
            _ => to.extend_from_slice(self.store.dictionaries[self.index].lock().text(self.column.globals[local])),
        }
    }
}

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
