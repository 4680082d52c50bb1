//! Reads filters.

use super::derive::{in_capitals, is_kind, unmapped};
use super::lex::{FilterToken, Operator, PlacedToken, tokens};
use super::value::{self, ANY, is_in_single_quotes, number};
use super::{ANYWHERE_MAX, CONDITIONS_MAX, FILTER_BYTES_MAX, FILTER_DEPTH_MAX, Filter, Flag, Network, NumberTest, PATTERNS_MAX};
use super::{FilterRegex, TextTest, TextValue};
use crate::schema::{NumberColumn, NumberUnit, Schema, TextColumn};
use std::borrow::Cow;
use std::fmt;

/// Reason for which a text is no filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError {
    /// The place in the text, in characters from 1.
    pub column: usize,
    /// The message, for people.
    pub message: String,
    /// The name in a condition that is no column's.
    pub(crate) unknown: Option<String>,
}

impl FilterError {
    /// An error at byte `at` of `text`.
    pub(super) fn new(text: &str, at: usize, expected: &str) -> Self {
        let found: String = text[at..].chars().take(20).collect();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("{found:?}") };
        Self::message(text, at, format!("expected {expected}, found {found}"))
    }

    fn message(text: &str, at: usize, message: String) -> Self {
        Self { column: text[..at].chars().count() + 1, message, unknown: None }
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.column, self.message)
    }
}

impl std::error::Error for FilterError {}

/// Columns that an error names.
const NAMED_MAX: usize = 30;

/// The words that a condition may begin with, for errors.
fn beginnings(schema: &Schema) -> String {
    let all =
        || schema.texts().map(|column| schema.text_name(column)).chain(schema.numbers().map(|column| schema.number_name(column)));
    let names: Vec<_> = all().take(NAMED_MAX).collect();
    let more = if all().nth(NAMED_MAX).is_some() { ", …" } else { "" };
    let flags = flags(schema).iter().map(|flag| format!(", {}", flag.name())).collect::<String>();
    format!("a column ({}{more}){flags}, {ANY}, 'not' or '('", names.join(", "))
}

/// The properties that rows of `schema` may have: those of a table are repaired by nobody, and
/// have no agent.
fn flags(schema: &Schema) -> &'static [Flag] {
    if schema.is_table() { &[Flag::Rejected] } else { &Flag::ALL }
}

/// The values that the column of networks may be compared with, for errors.
const NETWORKS: &str = "a network of IPv4 addresses up to /24 or of IPv6 addresses up to /48, such as 10.0.0.0/8, or - (for smaller \
                        networks and addresses ask client)";

/// The kinds of content, for errors.
const KINDS: &str = "a kind of content: page, style, script, image, font, media, document, archive, data, other or -";

/// The name that somebody may have meant who wrote `name`.
pub(crate) fn nearest(name: &str, schema: &Schema) -> Option<String> {
    let texts = schema.texts().map(|column| schema.text_name(column));
    let numbers = schema.numbers().map(|column| schema.number_name(column));
    nearest_name(name, texts.chain(numbers).chain(flags(schema).iter().map(|flag| flag.name().into())))
}

/// The name among those that are `known` which is most like `name`, if any is like it.
pub fn nearest_name<'a>(name: &str, known: impl Iterator<Item = Cow<'a, str>>) -> Option<String> {
    /// Names as alike as `staus` and `status`, or `referer` and `referrer`; `foo` is like none.
    const LIKE_MIN: f64 = 0.8;
    let name = name.to_ascii_lowercase();
    let likeness = known.map(|known| (strsim::jaro_winkler(&name, &known.to_ascii_lowercase()), known));
    let like = likeness.filter(|(like, _)| *like >= LIKE_MIN);
    like.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, known)| known.into_owned())
}

pub(crate) fn parse(text: &str, schema: &Schema) -> Result<Filter, FilterError> {
    if text.len() > FILTER_BYTES_MAX {
        let message = format!("the filter has {} bytes, and at most {FILTER_BYTES_MAX} are read", text.len());
        return Err(FilterError { column: 1, message, unknown: None });
    }
    let mut parser =
        FilterParser { text, schema, tokens: tokens(text)?, next: 0, depth: 0, patterns: 0, conditions: 0, anywhere: 0 };
    if parser.peek() == &FilterToken::End {
        return Ok(Filter::default());
    }
    let filter = parser.any()?;
    if parser.peek() == &FilterToken::End { Ok(filter) } else { Err(parser.expected("'and', 'or' or the end")) }
}

struct FilterParser<'a> {
    text: &'a str,
    schema: &'a Schema,
    /// The last one is the end.
    tokens: Vec<PlacedToken>,
    next: usize,
    depth: usize,
    patterns: usize,
    conditions: usize,
    anywhere: usize,
}

impl FilterParser<'_> {
    fn peek(&self) -> &FilterToken {
        &self.tokens[self.next].1
    }

    fn at(&self) -> usize {
        self.tokens[self.next].0
    }

    /// Goes on to the next token; the end stays.
    fn step(&mut self) -> FilterToken {
        let token = self.peek().clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn expected(&self, what: &str) -> FilterError {
        FilterError::new(self.text, self.at(), what)
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is_it = matches!(self.peek(), FilterToken::Word(found) if found.eq_ignore_ascii_case(word));
        if is_it {
            self.step();
        }
        is_it
    }

    fn any(&mut self) -> Result<Filter, FilterError> {
        let mut parts = vec![self.all()?];
        while self.take_word("or") {
            parts.push(self.all()?);
        }
        Ok(joined(parts, Filter::Any))
    }

    fn all(&mut self) -> Result<Filter, FilterError> {
        let mut parts = vec![self.one()?];
        while self.take_word("and") {
            parts.push(self.one()?);
        }
        Ok(joined(parts, Filter::All))
    }

    fn one(&mut self) -> Result<Filter, FilterError> {
        let at = self.at();
        self.depth += 1;
        if self.depth > FILTER_DEPTH_MAX {
            let message = format!("more than {FILTER_DEPTH_MAX} parentheses and 'not's within each other");
            return Err(FilterError::message(self.text, at, message));
        }
        let one = if self.take_word("not") {
            Filter::Not(Box::new(self.one()?))
        } else if self.peek() == &FilterToken::Open {
            self.step();
            let inner = self.any()?;
            self.close()?;
            inner
        } else {
            self.condition()?
        };
        self.depth -= 1;
        Ok(one)
    }

    fn close(&mut self) -> Result<(), FilterError> {
        if self.peek() != &FilterToken::Close {
            return Err(self.expected("')'"));
        }
        self.step();
        Ok(())
    }

    fn condition(&mut self) -> Result<Filter, FilterError> {
        let (name, is_quoted) = match self.peek() {
            FilterToken::Word(name) => (name.clone(), false),
            FilterToken::Quoted(name) => (name.clone(), true),
            _ => return Err(self.expected(&beginnings(self.schema))),
        };
        self.conditions += 1;
        if self.conditions > CONDITIONS_MAX {
            let message = format!("more than {CONDITIONS_MAX} conditions; one 'in (…)' takes many values of a column");
            return Err(FilterError::message(self.text, self.at(), message));
        }
        let (number, text) = (self.schema.number(&name), self.schema.text(&name));
        let flag = flags(self.schema).iter().find(|flag| !is_quoted && name.eq_ignore_ascii_case(flag.name()));
        if number.is_none() && text.is_none() && !is_quoted && name.eq_ignore_ascii_case(ANY) {
            return self.anywhere();
        }
        if number.is_none() && text.is_none() && flag.is_none() {
            let near = nearest(&name, self.schema).map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
            let FilterError { column, message, .. } = self.expected(&beginnings(self.schema));
            return Err(FilterError { column, message: message + &near, unknown: Some(name) });
        }
        self.step();
        match (flag, text, number) {
            (Some(flag), None, None) => Ok(Filter::Is(*flag)),
            (Some(flag), ..) if !self.compares() => Ok(Filter::Is(*flag)),
            (_, Some(column), _) => self.text_condition(column),
            (_, _, Some(column)) => self.number_condition(column),
            (None, None, None) => Err(self.expected(&beginnings(self.schema))),
        }
    }

    /// The condition of all texts of a row.
    fn anywhere(&mut self) -> Result<Filter, FilterError> {
        self.anywhere += 1;
        if self.anywhere > ANYWHERE_MAX {
            return Err(FilterError::message(self.text, self.at(), format!("more than {ANYWHERE_MAX} conditions '{ANY}'")));
        }
        self.step();
        if self.take_word("contains") {
            return Ok(Filter::Anywhere(TextTest::Contains(self.literal()?)));
        }
        let negated = match self.peek() {
            FilterToken::Operator(Operator::Match) => false,
            FilterToken::Operator(Operator::NoMatch) => true,
            _ => return Err(self.expected("contains, ~ or !~, which any text of a row is asked for")),
        };
        Ok(unless(negated, Filter::Anywhere(TextTest::Matches(self.pattern(None)?))))
    }

    /// True if a comparison comes next.
    fn compares(&self) -> bool {
        let words = ["in", "contains", "exists", "has"];
        match self.peek() {
            FilterToken::Operator(_) => true,
            FilterToken::Word(word) if word.eq_ignore_ascii_case("not") => {
                matches!(&self.tokens[self.next + 1].1, FilterToken::Word(word) if word.eq_ignore_ascii_case("in"))
            }
            FilterToken::Word(word) => words.iter().any(|known| word.eq_ignore_ascii_case(known)),
            _ => false,
        }
    }

    fn text_condition(&mut self, column: TextColumn) -> Result<Filter, FilterError> {
        let (negated, in_list) = self.membership();
        if in_list {
            return Ok(unless(negated, Filter::Text(column, TextTest::OneOf(self.text_values(column)?))));
        }
        if self.take_word("exists") {
            return Ok(unless(true, Filter::Text(column, TextTest::OneOf(vec![TextValue::Text(String::new())]))));
        }
        if self.take_word("has") {
            return Ok(Filter::Text(column, TextTest::Has(self.literal()?)));
        }
        if self.take_word("contains") {
            let part = self.literal()?;
            let part = if column == TextColumn::SITE { part.to_ascii_lowercase() } else { part };
            return Ok(Filter::Text(column, TextTest::Contains(part)));
        }
        let negated = match self.peek() {
            FilterToken::Operator(Operator::Equal) => false,
            FilterToken::Operator(Operator::Unequal) => true,
            FilterToken::Operator(Operator::Match) => return self.pattern_condition(column, false),
            FilterToken::Operator(Operator::NoMatch) => return self.pattern_condition(column, true),
            _ => return Err(self.expected("=, !=, ~, !~, contains, has, exists, in or 'not in'")),
        };
        self.step();
        Ok(unless(negated, Filter::Text(column, TextTest::OneOf(vec![self.text_value(column)?]))))
    }

    fn pattern_condition(&mut self, column: TextColumn, negated: bool) -> Result<Filter, FilterError> {
        Ok(unless(negated, Filter::Text(column, TextTest::Matches(self.pattern(Some(column))?))))
    }

    /// The operator, and the expression after it.
    fn pattern(&mut self, column: Option<TextColumn>) -> Result<FilterRegex, FilterError> {
        self.step();
        let at = self.at();
        let written = self.literal()?;
        self.patterns += 1;
        if self.patterns > PATTERNS_MAX {
            return Err(FilterError::message(self.text, at, format!("more than {PATTERNS_MAX} regular expressions")));
        }
        let pattern = column.map_or_else(|| FilterRegex::new(&written), |column| FilterRegex::of(column, &written));
        pattern.map_err(|message| FilterError::message(self.text, at, message))
    }

    fn number_condition(&mut self, column: NumberColumn) -> Result<Filter, FilterError> {
        let (negated, in_list) = self.membership();
        if in_list {
            return Ok(unless(negated, Filter::Number(column, self.numbers(self.schema.unit(column))?)));
        }
        if self.take_word("exists") {
            return Ok(unless(true, Filter::Number(column, NumberTest { ranges: Vec::new(), absent: true })));
        }
        let FilterToken::Operator(operator) = self.peek().clone() else {
            return Err(self.expected("=, !=, <, <=, >, >=, exists, in or 'not in'"));
        };
        if matches!(operator, Operator::Match | Operator::NoMatch) {
            return Err(self.expected("=, !=, <, <=, >, >=, in or 'not in', as this column is a number"));
        }
        self.step();
        let at = self.at();
        let unit = self.schema.unit(column);
        let test = self.number_value(unit)?;
        let compared = value::compare(unit, operator, &test)
            .ok_or_else(|| FilterError::new(self.text, at, &value::comparable(unit, &test)))?;
        self.no_unit_apart(unit)?;
        Ok(unless(operator == Operator::Unequal, Filter::Number(column, compared)))
    }

    /// Tells who writes another word after a value what a value looks like.
    fn no_unit_apart(&self, unit: NumberUnit) -> Result<(), FilterError> {
        let joins = |word: &str| ["and", "or"].iter().any(|known| word.eq_ignore_ascii_case(known));
        match self.peek() {
            FilterToken::Word(word) if !joins(word) => {
                let expected = value::expected(unit);
                Err(self.expected(&format!("'and', 'or' or the end after a value, which is one word: {expected}")))
            }
            _ => Ok(()),
        }
    }

    /// Takes `in` or `not in`: whether it is negated, and whether it was there.
    fn membership(&mut self) -> (bool, bool) {
        let negated = matches!(self.peek(), FilterToken::Word(_)) && self.compares() && self.take_word("not");
        (negated, self.take_word("in"))
    }

    /// One value, or several in parentheses.
    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Result<T, FilterError>) -> Result<Vec<T>, FilterError> {
        if self.peek() != &FilterToken::Open {
            return Ok(vec![one(self)?]);
        }
        self.step();
        let mut values = vec![one(self)?];
        while self.peek() == &FilterToken::Comma {
            self.step();
            values.push(one(self)?);
        }
        if self.peek() != &FilterToken::Close {
            return Err(self.expected("',' or ')'"));
        }
        self.step();
        Ok(values)
    }

    fn text_values(&mut self, column: TextColumn) -> Result<Vec<TextValue>, FilterError> {
        self.list(|parser| parser.text_value(column))
    }

    fn text_value(&mut self, column: TextColumn) -> Result<TextValue, FilterError> {
        let (is_word, at) = (matches!(self.peek(), FilterToken::Word(_)), self.at());
        let no_network = self.expected(NETWORKS);
        let no_address = self.expected("an address, or a network such as 10.0.0.0/8");
        let no_kind = self.expected(KINDS);
        let text = self.literal()?;
        if is_word && text == value::ABSENT {
            return Ok(TextValue::Text(String::new()));
        }
        if let Some(capitals) = in_capitals(column, &text).filter(|_| is_word) {
            let expected = format!("{capitals}, as logs have it in capitals (or the text in double quotes)");
            return Err(FilterError::new(self.text, at, &expected));
        }
        match column {
            // Any other would be a filter that means nothing.
            TextColumn::NET if is_word => Network::parse(&text).and_then(Network::of_networks).ok_or(no_network),
            TextColumn::CLIENT if is_word && text.contains('/') => {
                Network::parse(&text).map(TextValue::Network).ok_or(no_address)
            }
            TextColumn::CLIENT if is_word => Ok(TextValue::Text(unmapped(&text))),
            TextColumn::KIND if is_word && !is_kind(&text) => Err(no_kind),
            TextColumn::SITE => Ok(TextValue::Text(text.to_ascii_lowercase())),
            _ => Ok(TextValue::Text(text)),
        }
    }

    fn numbers(&mut self, unit: NumberUnit) -> Result<NumberTest, FilterError> {
        let mut all = NumberTest { ranges: Vec::new(), absent: false };
        for test in self.list(|parser| parser.number_value(unit))? {
            all.ranges.extend(test.ranges);
            all.absent |= test.absent;
        }
        Ok(all)
    }

    fn number_value(&mut self, unit: NumberUnit) -> Result<NumberTest, FilterError> {
        let found = match self.peek() {
            FilterToken::Word(text) | FilterToken::Quoted(text) => number(unit, text),
            _ => None,
        };
        let apart = self.with_unit_apart(unit);
        let test = apart.clone().or(found).ok_or_else(|| self.expected(value::expected(unit)))?;
        self.step();
        if apart.is_some() {
            self.step();
        }
        Ok(test)
    }

    /// A number whose unit is the next word: `1 GB`.
    fn with_unit_apart(&self, unit: NumberUnit) -> Option<NumberTest> {
        let (FilterToken::Word(text), FilterToken::Word(word)) = (self.peek(), &self.tokens.get(self.next + 1)?.1) else {
            return None;
        };
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let is_unit = word.bytes().all(|byte| byte.is_ascii_alphabetic());
        (is_number && is_unit).then(|| number(unit, &format!("{text}{word}")))?
    }

    fn literal(&mut self) -> Result<String, FilterError> {
        match self.peek() {
            FilterToken::Word(text) if value::is_keyword(text) => {
                Err(self.expected("a value (a word such as this in double quotes)"))
            }
            FilterToken::Word(text) if is_in_single_quotes(text) => {
                Err(self.expected("double quotes around a text, as single ones would be a part of it"))
            }
            FilterToken::Word(_) | FilterToken::Quoted(_) => match self.step() {
                FilterToken::Word(text) | FilterToken::Quoted(text) => Ok(text),
                _ => Ok(String::new()),
            },
            _ => Err(self.expected("a value: a word, or a text in double quotes")),
        }
    }
}

fn joined(mut parts: Vec<Filter>, join: fn(Vec<Filter>) -> Filter) -> Filter {
    if parts.len() == 1 { parts.swap_remove(0) } else { join(parts) }
}

fn unless(negated: bool, filter: Filter) -> Filter {
    if negated { Filter::Not(Box::new(filter)) } else { filter }
}
