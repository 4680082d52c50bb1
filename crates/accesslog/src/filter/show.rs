//! Writes filters, so that reading gives the same one again.

use super::derive::{in_capitals, is_kind};
use super::lex::is_word;
use super::value::{ABSENT, ANY, RANGE, is_in_single_quotes, is_keyword, written};
use super::{Filter, Network, NumberTest, TextTest, TextValue};
use crate::schema::{NumberColumn, NumberUnit, Schema, TextColumn};
use std::fmt::{Display, Formatter, Result};

/// A filter as the columns of `schema` are named.
pub(crate) fn written_filter(filter: &Filter, schema: &Schema) -> String {
    WrittenFilter { filter, schema }.to_string()
}

#[derive(Clone, Copy)]
struct WrittenFilter<'a> {
    filter: &'a Filter,
    schema: &'a Schema,
}

impl Display for WrittenFilter<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.filter {
            Filter::All(parts) => self.join(f, parts, " and "),
            Filter::Any(parts) => self.join(f, parts, " or "),
            Filter::Not(inner) => self.of(inner).negated(f),
            Filter::Text(column, test) => self.text_condition(f, *column, test, false),
            Filter::Number(column, test) => self.number_condition(f, *column, test, false),
            Filter::Is(flag) => f.write_str(flag.name()),
            Filter::Anywhere(test) => {
                f.write_str(ANY)?;
                text_test(f, None, test, false)
            }
        }
    }
}

impl<'a> WrittenFilter<'a> {
    fn of(self, filter: &'a Filter) -> Self {
        Self { filter, ..self }
    }

    fn join(self, f: &mut Formatter<'_>, parts: &'a [Filter], word: &str) -> Result {
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                f.write_str(word)?;
            }
            self.of(part).grouped(f)?;
        }
        Ok(())
    }

    /// In parentheses, where it is made of several.
    fn grouped(self, f: &mut Formatter<'_>) -> Result {
        if matches!(self.filter, Filter::All(_) | Filter::Any(_)) { write!(f, "({self})") } else { self.fmt(f) }
    }

    fn negated(self, f: &mut Formatter<'_>) -> Result {
        match self.filter {
            Filter::Text(column, test @ (TextTest::OneOf(_) | TextTest::Matches(_))) => {
                self.text_condition(f, *column, test, true)
            }
            Filter::Anywhere(test @ TextTest::Matches(_)) => {
                f.write_str(ANY)?;
                text_test(f, None, test, true)
            }
            Filter::Number(column, test) if !is_open(test) => self.number_condition(f, *column, test, true),
            _ => {
                f.write_str("not ")?;
                self.grouped(f)
            }
        }
    }

    fn text_condition(self, f: &mut Formatter<'_>, column: TextColumn, test: &TextTest, negated: bool) -> Result {
        name(f, &self.schema.text_name(column))?;
        text_test(f, Some(column), test, negated)
    }

    fn number_condition(self, f: &mut Formatter<'_>, column: NumberColumn, test: &NumberTest, negated: bool) -> Result {
        name(f, &self.schema.number_name(column))?;
        let unit = self.schema.unit(column);
        let show = |number| written(unit, number);
        match (&test.ranges[..], test.absent) {
            ([], true) => write!(f, " {} {ABSENT}", if negated { "!=" } else { "=" }),
            ([(first, last)], false) if first == last || status_class(unit, *first, *last).is_some() => {
                write!(f, " {} {}", if negated { "!=" } else { "=" }, range(unit, *first, *last))
            }
            ([(0, last)], false) if !negated && *last < u64::MAX => {
                f.write_str(&shorter(("<=", show(*last)), ("<", show(last.saturating_add(1))), unit))
            }
            ([(first, u64::MAX)], false) if !negated => {
                f.write_str(&shorter((">=", show(*first)), (">", show(first.saturating_sub(1))), unit))
            }
            (ranges, absent) => {
                let ranges = ranges.iter().map(|(first, last)| range(unit, *first, *last));
                list(f, negated, ranges.chain(absent.then(|| ABSENT.to_owned())))
            }
        }
    }
}

/// The test of a column's text, or of any.
fn text_test(f: &mut Formatter<'_>, column: Option<TextColumn>, test: &TextTest, negated: bool) -> Result {
    match test {
        TextTest::OneOf(values) if values.len() == 1 => {
            f.write_str(if negated { " != " } else { " = " })?;
            text_value(f, column, &values[0])
        }
        TextTest::OneOf(values) => {
            list(f, negated, values.iter().map(|value| std::fmt::from_fn(move |f| text_value(f, column, value))))
        }
        TextTest::Matches(pattern) => {
            f.write_str(if negated { " !~ " } else { " ~ " })?;
            quoted(f, pattern.text())
        }
        TextTest::Contains(text) => {
            f.write_str(" contains ")?;
            quoted(f, text)
        }
        TextTest::Has(element) => {
            f.write_str(" has ")?;
            quoted(f, element)
        }
    }
}

/// The name of a column as filters write it.
pub(crate) fn written_name(column: &str) -> String {
    std::fmt::from_fn(|f| name(f, column)).to_string()
}

/// The name of a column, in quotes where it is no word.
fn name(f: &mut Formatter<'_>, name: &str) -> Result {
    let is_plain = !name.is_empty() && name.chars().all(is_word) && !is_keyword(name);
    if is_plain { f.write_str(name) } else { quoted(f, name) }
}

/// True if it is written as a comparison, which has no negated form of its own.
fn is_open(test: &NumberTest) -> bool {
    !test.absent && matches!(test.ranges[..], [(first, last)] if first != last && (first == 0 || last == u64::MAX))
}

/// A comparison with a number, or of floats the one with the number beside it where that has fewer
/// digits: `> 1` and not `>= 1.0000000000000002`.
fn shorter((or_equal, number): (&str, String), (strictly, beside): (&str, String), unit: NumberUnit) -> String {
    let is_number = beside.bytes().all(|byte| byte.is_ascii_digit() || b"-.e".contains(&byte));
    if unit == NumberUnit::Float && is_number && beside.len() < number.len() {
        format!(" {strictly} {beside}")
    } else {
        format!(" {or_equal} {number}")
    }
}

fn range(unit: NumberUnit, first: u64, last: u64) -> String {
    if first == last {
        return written(unit, first);
    }
    let class = status_class(unit, first, last);
    class.unwrap_or_else(|| format!("{}{RANGE}{}", written(unit, first), written(unit, last)))
}

/// `5xx` for 500 to 599.
fn status_class(unit: NumberUnit, first: u64, last: u64) -> Option<String> {
    let is_class = unit == NumberUnit::Status && first.is_multiple_of(100) && (100..=900).contains(&first) && last == first + 99;
    is_class.then(|| format!("{}xx", first / 100))
}

fn list(f: &mut Formatter<'_>, negated: bool, values: impl Iterator<Item = impl Display>) -> Result {
    f.write_str(if negated { " not in (" } else { " in (" })?;
    for (index, value) in values.enumerate() {
        write!(f, "{}{value}", if index > 0 { ", " } else { "" })?;
    }
    f.write_str(")")
}

fn text_value(f: &mut Formatter<'_>, column: Option<TextColumn>, value: &TextValue) -> Result {
    match value {
        TextValue::Network(network) => network.fmt(f),
        TextValue::Text(text) if text.is_empty() => f.write_str(ABSENT),
        TextValue::Text(text) if column.is_some_and(|column| is_plain(column, text)) => f.write_str(text),
        TextValue::Text(text) => quoted(f, text),
    }
}

/// True if the text is itself without quotes.
fn is_plain(column: TextColumn, text: &str) -> bool {
    let means_itself = match column {
        // A client with a slash is a network.
        TextColumn::CLIENT => !text.contains('/'),
        TextColumn::NET => {
            Network::parse(text).and_then(Network::of_networks).as_ref() == Some(&TextValue::Text(text.to_owned()))
        }
        _ => true,
    };
    let is_refused =
        is_in_single_quotes(text) || (column == TextColumn::KIND && !is_kind(text)) || in_capitals(column, text).is_some();
    !is_refused && text != ABSENT && !is_keyword(text) && means_itself && text.chars().all(is_word)
}

fn quoted(f: &mut Formatter<'_>, text: &str) -> Result {
    // A text is always JSON.
    f.write_str(&serde_json::to_string(text).unwrap_or_default())
}
