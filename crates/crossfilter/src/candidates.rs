//! Candidates for an explanation: one value of one field, and the rows of a segment that have it.

use crate::bits::Bits;
use crate::codes::{ColumnCode, with_codes};
use crate::columns::{AGENT, CLIENT, REFERRER, STATUS, STATUSES, USER, number_source, source};
use crate::dictionary::{NONE, OTHERS};
use crate::evidence::Evidence;
use crate::limits::{CANDIDATES_MAX, RATES_BYTES_MIN};
use crate::number_buckets::Threshold;
use crate::segment::Segment;
use crate::sparse_counts::{RowsAndBytes, SparseCounts};
use crate::statuses::STATUS_FIELD;
use crate::store::RowStore;
use crate::time_axis::BANDS_US;
use crate::top::{shown, top_values};
use crate::view_cache::CountedViews;
use foldhash::quality::FixedState;
use rorqual_accesslog::filter::{Filter, FilterRegex, NumberTest, TextTest, TextValue};
use rorqual_accesslog::schema::{NumberColumn, NumberUnit, Schema, TextColumn};
use std::cmp::Ordering;
use std::hash::BuildHasher;
use std::io;
use std::sync::Arc;

/// The field that a test is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TestedField {
    /// Fields that come from one source have it alike: of these no pair says more than the narrower
    /// one.
    pub(crate) source: usize,
    /// The field of texts that it is a value of.
    pub(crate) column: Option<TextColumn>,
}

impl TestedField {
    /// True if it is the field of a column of texts, or the status where that is `None`.
    pub(crate) fn is_of(&self, column: Option<TextColumn>) -> bool {
        if column.is_some() { self.column == column } else { self.source == STATUS }
    }
}

/// A test for the rows that have a value.
pub(crate) trait Tested: Clone {
    /// The field that it is of.
    fn tested(&self) -> TestedField;
}

/// A value and its evidence.
#[derive(Debug, Clone)]
pub(crate) struct CandidateValue<T = CandidateTest> {
    pub(crate) test: T,
    pub(crate) evidence: Evidence,
    /// Hash of its text, so that an order by it does not depend on the order of arrival.
    pub(crate) key: u64,
}

impl<T: Tested> CandidateValue<T> {
    /// Strongest evidence first.
    pub(crate) fn by_g(a: &Self, b: &Self) -> Ordering {
        let source = |value: &Self| value.test.tested().source;
        b.evidence.g().total_cmp(&a.evidence.g()).then_with(|| source(a).cmp(&source(b))).then(a.key.cmp(&b.key))
    }

    /// Most rows first.
    pub(crate) fn by_hits(a: &Self, b: &Self) -> Ordering {
        b.evidence.hits_in.cmp(&a.evidence.hits_in).then(a.key.cmp(&b.key))
    }
}

/// Test for the rows that have a value.
#[derive(Debug, Clone)]
pub(crate) enum CandidateTest {
    /// Rows with this code, of the column itself or of one derived from it.
    Code {
        column: TextColumn,
        code: u32,
        classes: Option<Arc<Vec<u32>>>,
    },
    /// Rows with this text, which has no code, by its hash; of a column that is not derived.
    Uncoded {
        column: TextColumn,
        hash: u64,
        text: Box<[u8]>,
    },
    Status(u32),
    /// Rows with at least this status: errors may be of several.
    StatusFrom(u32),
    /// Rows with at least this number.
    AtLeast(NumberColumn, u64),
}

/// Numbers that are tried as the least: the bands of times from 10 ms on.
const TIMES_US: &[u64] = BANDS_US.split_at(3).1;
/// The narrower class last, which is taken where both say as much.
const STATUSES_FROM: [u32; 2] = [400, 500];
const SIZES: [u64; 7] = [1 << 10, 10 << 10, 100 << 10, 1 << 20, 10 << 20, 100 << 20, 1 << 30];

/// Bytes of a text; of a longer one the beginning is offered.
const TEXT_BYTES_MAX: usize = 1024;

/// Bytes of the expression that means the texts with such a beginning, give or take one character.
const BEGINNING_BYTES_MAX: usize = 512;

/// Candidates of the fields of access logs, with twice as many of one while they are gathered, take
/// less than the least for rates.
const _: () = {
    let most = 2 * CANDIDATES_MAX as u64 * size_of::<CandidateValue>() as u64;
    assert!((ACCESS_FIELDS as u64 + 2) * most <= RATES_BYTES_MIN);
};

/// Fields of access logs whose values are tried.
const ACCESS_FIELDS: usize = 20;

/// Tests of the least numbers.
pub(crate) fn thresholds() -> Vec<CandidateTest> {
    let at_least =
        |column: NumberColumn, numbers: &'static [u64]| numbers.iter().map(move |number| CandidateTest::AtLeast(column, *number));
    let times = [NumberColumn::REQUEST_TIME, NumberColumn::UPSTREAM_TIME];
    let of_numbers = times.into_iter().flat_map(|column| at_least(column, TIMES_US)).chain(at_least(NumberColumn::BYTES, &SIZES));
    of_numbers.chain(STATUSES_FROM.map(CandidateTest::StatusFrom)).collect()
}

/// A field whose values are tried.
#[derive(Clone)]
pub(crate) struct CandidateField {
    /// `None` for the status.
    column: Option<TextColumn>,
    /// The coded column that it is, or follows from.
    pub(crate) index: usize,
    /// Code of the derived column for each code, where the column is derived.
    classes: Option<Arc<Vec<u32>>>,
    /// The first code of a group of texts that no field's value stands for.
    groups_start: u32,
}

/// Hash of a text of a field.
pub(crate) fn text_key(field: &str, text: &[u8]) -> u64 {
    DRAWING.hash_one((field, text))
}

/// Usual values of a field at most.
pub(crate) const USUAL_MAX: usize = 15;

/// The same for all processes.
const DRAWING: FixedState = FixedState::with_seed(0);

/// The key of a value that is drawn by its rows: those with the least ones are.
pub(crate) fn draw_key(text: &[u8], hits: u64) -> f64 {
    let uniform = (DRAWING.hash_one(text) >> 11) as f64 / (1u64 << 53) as f64;
    -uniform.max(f64::MIN_POSITIVE).ln() / hits as f64
}

impl CandidateField {
    /// The value of a field whose column has this code in all segments.
    pub(crate) fn value(&self, global: u32) -> u32 {
        match &self.classes {
            Some(classes) => classes.get(global as usize).copied().unwrap_or(NONE),
            None => global,
        }
    }

    /// Its column; `None` for the status.
    pub(crate) fn column(&self) -> Option<TextColumn> {
        self.column
    }

    /// The coded column of its texts, and the column derived from it that it is; `None` for the
    /// status.
    pub(crate) fn text_source(&self) -> Option<(usize, Option<TextColumn>)> {
        self.column.map(source)
    }

    /// The rows that have the value.
    pub(crate) fn test(&self, code: u32) -> CandidateTest {
        match self.column {
            Some(column) => CandidateTest::Code { column, code, classes: self.classes.clone() },
            None => CandidateTest::Status(code),
        }
    }

    /// True if its values tell what happened better than that it did: there are more than a few.
    pub(crate) fn is_telling(&self) -> bool {
        self.column.is_some_and(|column| ![TextColumn::METHOD, TextColumn::PROTOCOL, TextColumn::KIND].contains(&column))
    }

    /// True if it is of what is asked for or answers, and not of those who ask: these do not make
    /// an answer slow or large.
    pub(crate) fn is_asked_for(&self) -> bool {
        ![CLIENT, USER, REFERRER, AGENT].contains(&self.index)
    }

    /// Its name, for programs.
    pub(crate) fn name(&self, schema: &Schema) -> String {
        field_name(self.column, schema)
    }

    /// True if the code is a value: neither the absent one nor those without a place.
    pub(crate) fn is_value(&self, code: u32) -> bool {
        if self.column.is_some() { code > OTHERS && code < self.groups_start } else { code > NONE }
    }

    /// True if the code stands for values without a place.
    pub(crate) fn is_unknown(&self, code: u32) -> bool {
        self.column.is_some() && (code == OTHERS || code >= self.groups_start)
    }
}

/// Columns of the fields whose values are tried; `None` is the status.
pub(crate) fn field_columns(schema: &Schema) -> impl Iterator<Item = Option<TextColumn>> {
    let query = schema.texts().filter(|column| *column == TextColumn::QUERY);
    schema.panels().iter().copied().chain(query).map(Some).chain([None])
}

/// Name of such a field, for programs.
pub(crate) fn field_name(column: Option<TextColumn>, schema: &Schema) -> String {
    column.map_or_else(|| STATUS_FIELD.to_owned(), |column| schema.text_name(column).into_owned())
}

impl RowStore {
    /// The fields whose values are tried.
    pub(crate) fn fields(&self) -> Vec<CandidateField> {
        field_columns(&self.schema()).map(|column| self.field(column)).collect()
    }

    /// A field, by its column of texts; the status where that is `None`.
    pub(crate) fn field(&self, column: Option<TextColumn>) -> CandidateField {
        let Some((index, derived)) = column.map(source) else {
            return CandidateField { column, index: STATUS, classes: None, groups_start: u32::MAX };
        };
        let tables = self.dictionaries[index].lock();
        let classes = derived.map(|derived| Arc::new(tables.classes(derived).to_vec()));
        let groups_start = if derived.is_some() { u32::MAX } else { tables.groups_start() };
        CandidateField { column, index, classes, groups_start }
    }

    /// All values that at least `hits_min` of the rows asked about have, and how many were looked
    /// at.
    pub(crate) fn candidates(
        &self,
        fields: &[CandidateField],
        inside: &CountedViews,
        all: &CountedViews,
        hits_min: u64,
    ) -> (Vec<CandidateValue>, usize) {
        let mut found = Vec::new();
        let mut tried = 0;
        let (rows_in, rows_all) = (inside.sums.all.hits, all.sums.all.hits);
        let evidence = |inside: &RowsAndBytes, all: &RowsAndBytes| Evidence {
            hits_in: inside.hits,
            rows_in,
            // Only a part of the view may be among all rows; the ranking is then rough, and shown
            // findings are counted again.
            hits_out: all.hits.saturating_sub(inside.hits),
            rows_out: rows_all.saturating_sub(rows_in),
        };
        for field in fields {
            let (amounts_in, amounts_all) = (self.amounts_by_value(field, inside), self.amounts_by_value(field, all));
            tried += amounts_all.iter().filter(|(code, _)| field.is_value(*code)).count();
            let mut of_field = Vec::new();
            for (code, inside) in amounts_in.iter().filter(|(code, _)| field.is_value(*code)) {
                if inside.hits >= hits_min {
                    let evidence = evidence(&inside, &amounts_all.get(code));
                    of_field.push(CandidateValue { test: field.test(code), evidence, key: self.key(field, code) });
                }
                if of_field.len() >= 4 * CANDIDATES_MAX {
                    leave_most(&mut of_field);
                }
            }
            leave_most(&mut of_field);
            found.append(&mut of_field);
        }
        (found, tried)
    }

    /// Adds, of each of the schema's own columns of numbers that is tried, the least number that
    /// says most, where at least `hits_min` of the rows asked about have as much; returns how many
    /// were looked at.
    pub(crate) fn own_thresholds(
        &self,
        inside: &CountedViews,
        all: &CountedViews,
        hits_min: u64,
        is_tried: impl Fn(&str) -> bool,
        found: &mut Vec<CandidateValue>,
    ) -> usize {
        let (rows_in, rows_all) = (inside.sums.all.hits, all.sums.all.hits);
        let rows_out = rows_all.saturating_sub(rows_in);
        let mut tried = 0;
        for (number, (own_in, own_all)) in inside.spreads.own.iter().zip(&all.spreads.own).enumerate() {
            let column = NumberColumn::own(number);
            let unit = self.schema().unit(column);
            if unit == NumberUnit::Moment || !is_tried(&self.schema().number_name(column)) {
                continue;
            }
            let (own_in, own_all) = own_in.alike(own_all);
            let thresholds_in = own_in.thresholds(unit);
            let mut of_column = Vec::new();
            for Threshold { least, value, hits } in own_all.thresholds(unit) {
                let place = thresholds_in.partition_point(|threshold| threshold.value < value);
                let hits_in = thresholds_in.get(place).map_or(0, |threshold| threshold.hits);
                let evidence = Evidence { hits_in, rows_in, hits_out: hits.saturating_sub(hits_in), rows_out };
                let test = CandidateTest::AtLeast(column, least);
                tried += 1;
                if hits_in >= hits_min && evidence.ratio() > 1.0 {
                    of_column.push((digits(value), CandidateValue { test, evidence, key: number as u64 }));
                }
            }
            found.extend(roundest_of_best(of_column, |candidate: &CandidateValue| candidate.evidence.g()));
        }
        tried
    }

    /// Values of usual rows: drawn by their rows without putting back, by the hash of their texts
    /// (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006), so that they
    /// are the same in any order of counting.
    pub(crate) fn usual(&self, field: &CandidateField, all: &CountedViews) -> Vec<CandidateTest> {
        let mut drawn: Vec<(f64, u32)> = Vec::new();
        let mut draw = |code: u32, hits: u64, text: &[u8]| {
            let key = draw_key(text, hits);
            let at = drawn.partition_point(|(other, _)| *other < key);
            if at < USUAL_MAX {
                drawn.truncate(USUAL_MAX - 1);
                drawn.insert(at, (key, code));
            }
        };
        let hits = |amounts: &SparseCounts| -> Vec<(u32, u64)> {
            amounts.iter().filter(|(code, _)| field.is_value(*code)).map(|(code, amount)| (code, amount.hits)).collect()
        };
        match field.column {
            Some(text) => self.amounts(all, text, |amounts, tables| {
                let (_, derived) = source(text);
                hits(amounts).into_iter().for_each(|(code, hits)| draw(code, hits, tables.text_of(derived, code)));
            }),
            None => hits(all.sums.column(STATUS)).into_iter().for_each(|(code, hits)| draw(code, hits, &code.to_le_bytes())),
        }
        drawn.into_iter().map(|(_, code)| field.test(code)).collect()
    }

    /// The values of a field with most rows, at most so many; ties by text.
    pub(crate) fn most_frequent(&self, field: &CandidateField, all: &CountedViews, most: usize) -> Vec<u32> {
        let is_value = |(code, amount): &(u32, RowsAndBytes)| field.is_value(*code) && amount.hits > 0;
        let codes = |top: Vec<(u32, RowsAndBytes)>| top.into_iter().map(|(code, _)| code).collect();
        let Some(column) = field.column else {
            let mut statuses: Vec<_> = all.sums.column(STATUS).iter().filter(is_value).collect();
            statuses.sort_by_key(|(code, amount)| (std::cmp::Reverse(amount.hits), *code));
            statuses.truncate(most);
            return codes(statuses);
        };
        let (_, derived) = source(column);
        self.amounts(all, column, |amounts, tables| {
            codes(top_values(amounts.iter().filter(is_value), |code| tables.text_of(derived, code), most))
        })
    }

    /// Codes that a column has in all segments.
    pub(crate) fn codes_of(&self, index: usize) -> usize {
        if index == STATUS { STATUSES } else { self.dictionaries[index].lock().len() }
    }

    /// Hash of the text of a value.
    fn key(&self, field: &CandidateField, code: u32) -> u64 {
        match field.column {
            Some(column) => {
                let (index, derived) = source(column);
                text_key(&self.schema().text_name(column), self.dictionaries[index].lock().text_of(derived, code))
            }
            None => u64::from(code),
        }
    }

    /// The text of a value, as it is shown.
    pub(crate) fn value_text(&self, field: &CandidateField, code: u32) -> String {
        match field.text_source() {
            Some((index, derived)) => shown(self.dictionaries[index].lock().text_of(derived, code)),
            None => code.to_string(),
        }
    }

    fn amounts_by_value(&self, field: &CandidateField, counted: &CountedViews) -> SparseCounts {
        match field.column {
            Some(text) => self.amounts(counted, text, |amounts, _| amounts.clone()),
            None => counted.sums.column(STATUS).clone(),
        }
    }
}

/// Digits of a number as people write it, without zeros at either end.
pub(crate) fn digits(value: f64) -> usize {
    let written = format!("{value}");
    let digits: String = written.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').len()
}

/// Of least numbers that say nearly as much as the one that says most, the one with the fewest
/// digits. Each comes with its digits, and has its G.
pub(crate) fn roundest_of_best<C>(candidates: Vec<(usize, C)>, g: impl Fn(&C) -> f64) -> Option<C> {
    let most = candidates.iter().map(|(_, candidate)| g(candidate)).fold(0.0, f64::max);
    let nearly = candidates.into_iter().filter(|(_, candidate)| g(candidate) >= NEARLY * most);
    let order =
        |(a_digits, a): &(usize, C), (b_digits, b): &(usize, C)| a_digits.cmp(b_digits).then_with(|| g(b).total_cmp(&g(a)));
    nearly.min_by(order).map(|(_, candidate)| candidate)
}

/// Part of the strongest evidence that a rounder number has to have.
const NEARLY: f64 = 0.97;

/// Leaves the candidates of a field that say most, and of the others those with most rows: a pair
/// may say more than both of its values.
fn leave_most(of_field: &mut Vec<CandidateValue>) {
    if of_field.len() > 2 * CANDIDATES_MAX {
        of_field.sort_by(CandidateValue::by_g);
        of_field[CANDIDATES_MAX..].sort_by(CandidateValue::by_hits);
        of_field.truncate(2 * CANDIDATES_MAX);
    }
}

/// Pattern of the texts that begin as this one does: its characters as they are, and any for bytes
/// that are none.
fn beginning(text: &[u8]) -> String {
    let mut expression = "^".to_owned();
    for part in text.utf8_chunks() {
        for one in part.valid().chars() {
            if expression.len() >= BEGINNING_BYTES_MAX {
                return expression;
            }
            if one.is_ascii_punctuation() && !"<>".contains(one) {
                expression.push('\\');
            }
            expression.push(one);
        }
        for _ in part.invalid() {
            expression.push_str("(?s-u:.)");
        }
    }
    expression
}

impl Tested for CandidateTest {
    fn tested(&self) -> TestedField {
        match self {
            Self::Code { column, .. } | Self::Uncoded { column, .. } => {
                TestedField { source: source(*column).0, column: Some(*column) }
            }
            Self::Status(_) | Self::StatusFrom(_) => TestedField { source: STATUS, column: None },
            Self::AtLeast(column, _) => number_field(*column),
        }
    }
}

/// The field of a column of numbers, whose source is beyond all coded columns.
pub(crate) fn number_field(column: NumberColumn) -> TestedField {
    TestedField { source: usize::MAX - number_column(column), column: None }
}

impl CandidateTest {
    /// Name of the field that it tests, for programs.
    pub(crate) fn field(&self, schema: &Schema) -> String {
        match self {
            Self::Code { column, .. } | Self::Uncoded { column, .. } => field_name(Some(*column), schema),
            Self::Status(_) | Self::StatusFrom(_) => field_name(None, schema),
            Self::AtLeast(column, _) => schema.number_name(*column).into_owned(),
        }
    }

    /// True if both mean the same rows of any segment.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Code { column: a, code, .. }, Self::Code { column: b, code: other, .. }) => a == b && code == other,
            (Self::Status(a), Self::Status(b)) | (Self::StatusFrom(a), Self::StatusFrom(b)) => a == b,
            (Self::AtLeast(a, least), Self::AtLeast(b, other)) => a == b && least == other,
            _ => false,
        }
    }

    /// The rows among these that pass all tests; `None` where the segment has none for one of them.
    pub(crate) fn select_all(tests: &[&Self], rows: &Bits, segment: &Segment, store: &RowStore) -> io::Result<Option<Bits>> {
        let mut bits = rows.clone();
        for test in tests {
            let Some(selected) = test.select(segment, store)? else { return Ok(None) };
            bits.and(&selected);
        }
        Ok(Some(bits))
    }

    /// Its rows in a segment; `None` where it has none.
    pub(crate) fn select(&self, segment: &Segment, store: &RowStore) -> io::Result<Option<Bits>> {
        let spill = store.spill.as_ref();
        let (index, code) = match self {
            Self::AtLeast(column, least) => {
                let numbers = segment.numbers(number_column(*column), spill)?;
                let some = numbers.min().is_some() && numbers.max() >= *least;
                return Ok(some.then(|| numbers.select(&NumberTest::range(*least, u64::MAX), segment.rows)));
            }
            Self::Code { column, code, classes: Some(classes) } => {
                let coded = store.coded(segment, source(*column).0)?;
                let is_it = |global: &u32| classes.get(*global as usize) == Some(code);
                let local: Vec<bool> = coded.globals.iter().map(is_it).collect();
                let some = local.iter().any(|passed| *passed);
                return Ok(some.then(|| {
                    with_codes!(
                        &coded.codes,
                        constant => Bits::new(segment.rows, local[*constant as usize]),
                        codes => Bits::of(codes, |code| local[code.index()])
                    )
                }));
            }
            Self::Uncoded { column, hash, .. } => {
                let coded = store.coded(segment, source(*column).0)?;
                if coded.uncoded == 0 {
                    return Ok(None);
                }
                let hashes = segment.uncoded_hashes(source(*column).0, spill)?;
                let Some(text) = hashes.iter().position(|own| own == hash) else { return Ok(None) };
                let local = (coded.known().len() + text) as u64;
                return Ok(Some(coded.codes.select(local, local, segment.rows)));
            }
            Self::StatusFrom(least) => {
                let coded = store.coded(segment, STATUS)?;
                let first = coded.globals.partition_point(|status| status < least);
                let some = first < coded.globals.len();
                return Ok(some.then(|| coded.codes.select(first as u64, coded.globals.len() as u64 - 1, segment.rows)));
            }
            Self::Code { column, code, classes: None } => (source(*column).0, *code),
            Self::Status(status) => (STATUS, *status),
        };
        let coded = store.coded(segment, index)?;
        let Some(local) = coded.local_of(code) else { return Ok(None) };
        let local = local as u64;
        Ok(Some(coded.codes.select(local, local, segment.rows)))
    }

    /// The filter that means its rows.
    pub(crate) fn filter(&self, store: &RowStore) -> Filter {
        match self {
            Self::AtLeast(column, least) => at_least_filter(*column, *least),
            Self::Status(status) => status_filter(*status, Some(*status)),
            Self::StatusFrom(least) => status_filter(*least, None),
            Self::Code { column, code, .. } => {
                let (index, derived) = source(*column);
                text_filter(*column, store.dictionaries[index].lock().text_of(derived, *code))
            }
            Self::Uncoded { column, text, .. } => text_filter(*column, text),
        }
    }
}

/// The filter that means the rows with at least this number.
pub(crate) fn at_least_filter(column: NumberColumn, least: u64) -> Filter {
    Filter::Number(column, NumberTest::range(least, u64::MAX))
}

/// The filter that means the rows with these statuses.
pub(crate) fn status_filter(least: u32, most: Option<u32>) -> Filter {
    Filter::Number(NumberColumn::STATUS, NumberTest::range(u64::from(least), most.map_or(u64::MAX, u64::from)))
}

/// The filter that means the rows with this text.
pub(crate) fn text_filter(column: TextColumn, text: &[u8]) -> Filter {
    let long = (text.len() > TEXT_BYTES_MAX).then(|| FilterRegex::new(&beginning(text)).ok()).flatten();
    let equal = || TextTest::OneOf(vec![TextValue::Text(String::from_utf8_lossy(text).into_owned())]);
    Filter::Text(column, long.map_or_else(equal, TextTest::Matches))
}

fn number_column(column: NumberColumn) -> usize {
    number_source(column).unwrap_or_default()
}
