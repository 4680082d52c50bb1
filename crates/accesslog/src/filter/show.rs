//! Writes filters, so that reading gives the same one again.

use super::derive::{in_capitals, is_kind};
use super::lex::is_word;
use super::value::{ABSENT, RANGE, is_in_single_quotes, is_keyword, written};
use super::{Filter, Network, NumberColumn, NumberTest, TextColumn, TextTest, TextValue};
use std::fmt::{Display, Formatter, Result};

impl Display for Filter {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::All(parts) => join(f, parts, " and "),
            Self::Any(parts) => join(f, parts, " or "),
            Self::Not(inner) => negated(f, inner),
            Self::Text(column, test) => text_condition(f, *column, test, false),
            Self::Number(column, test) => number_condition(f, *column, test, false),
            Self::Is(flag) => f.write_str(flag.name()),
        }
    }
}

fn join(f: &mut Formatter<'_>, parts: &[Filter], word: &str) -> Result {
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            f.write_str(word)?;
        }
        grouped(f, part)?;
    }
    Ok(())
}

/// In parentheses, where it is made of several.
fn grouped(f: &mut Formatter<'_>, filter: &Filter) -> Result {
    if matches!(filter, Filter::All(_) | Filter::Any(_)) { write!(f, "({filter})") } else { filter.fmt(f) }
}

fn negated(f: &mut Formatter<'_>, inner: &Filter) -> Result {
    match inner {
        Filter::Text(column, test @ (TextTest::OneOf(_) | TextTest::Matches(_))) => text_condition(f, *column, test, true),
        Filter::Number(column, test) if !is_open(test) => number_condition(f, *column, test, true),
        other => {
            f.write_str("not ")?;
            grouped(f, other)
        }
    }
}

/// True if it is written as a comparison, which has no negated form of its own.
fn is_open(test: &NumberTest) -> bool {
    !test.absent && matches!(test.ranges[..], [(first, last)] if first != last && (first == 0 || last == u64::MAX))
}

fn text_condition(f: &mut Formatter<'_>, column: TextColumn, test: &TextTest, negated: bool) -> Result {
    f.write_str(column.name())?;
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
    }
}

fn number_condition(f: &mut Formatter<'_>, column: NumberColumn, test: &NumberTest, negated: bool) -> Result {
    f.write_str(column.name())?;
    let show = |number| written(column, number);
    match (&test.ranges[..], test.absent) {
        ([], true) => write!(f, " {} {ABSENT}", if negated { "!=" } else { "=" }),
        ([(first, last)], false) if first == last || status_class(column, *first, *last).is_some() => {
            write!(f, " {} {}", if negated { "!=" } else { "=" }, range(column, *first, *last))
        }
        ([(0, last)], false) if !negated => write!(f, " <= {}", show(*last)),
        ([(first, u64::MAX)], false) if !negated => write!(f, " >= {}", show(*first)),
        (ranges, absent) => {
            let ranges = ranges.iter().map(|(first, last)| range(column, *first, *last));
            list(f, negated, ranges.chain(absent.then(|| ABSENT.to_owned())))
        }
    }
}

fn range(column: NumberColumn, first: u64, last: u64) -> String {
    if first == last {
        return written(column, first);
    }
    let class = status_class(column, first, last);
    class.unwrap_or_else(|| format!("{}{RANGE}{}", written(column, first), written(column, last)))
}

/// `5xx` for 500 to 599.
fn status_class(column: NumberColumn, first: u64, last: u64) -> Option<String> {
    let is_class =
        column == NumberColumn::Status && first.is_multiple_of(100) && (100..=900).contains(&first) && last == first + 99;
    is_class.then(|| format!("{}xx", first / 100))
}

fn list(f: &mut Formatter<'_>, negated: bool, values: impl Iterator<Item = impl Display>) -> Result {
    f.write_str(if negated { " not in (" } else { " in (" })?;
    for (index, value) in values.enumerate() {
        write!(f, "{}{value}", if index > 0 { ", " } else { "" })?;
    }
    f.write_str(")")
}

fn text_value(f: &mut Formatter<'_>, column: TextColumn, value: &TextValue) -> Result {
    match value {
        TextValue::Network(network) => network.fmt(f),
        TextValue::Text(text) if text.is_empty() => f.write_str(ABSENT),
        TextValue::Text(text) if is_plain(column, text) => f.write_str(text),
        TextValue::Text(text) => quoted(f, text),
    }
}

/// True if the text is itself without quotes.
fn is_plain(column: TextColumn, text: &str) -> bool {
    let means_itself = match column {
        // A client with a slash is a network.
        TextColumn::Client => !text.contains('/'),
        TextColumn::Net => {
            Network::parse(text).and_then(Network::of_networks).as_ref() == Some(&TextValue::Text(text.to_owned()))
        }
        _ => true,
    };
    let is_refused =
        is_in_single_quotes(text) || (column == TextColumn::Kind && !is_kind(text)) || in_capitals(column, text).is_some();
    !is_refused && text != ABSENT && !is_keyword(text) && means_itself && text.chars().all(is_word)
}

fn quoted(f: &mut Formatter<'_>, text: &str) -> Result {
    // A text is always JSON.
    f.write_str(&serde_json::to_string(text).unwrap_or_default())
}
