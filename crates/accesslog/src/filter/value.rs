//! Numbers as filters write them.

use super::lex::Operator;
use super::{CLASSES, NumberColumn, NumberTest, WEEKDAYS};
use rorqual_pipe::parse_size;

/// Stands for the absent value, without quotes.
pub(super) const ABSENT: &str = "-";

/// Between the first and the last number of a range.
pub(super) const RANGE: &str = "..";

/// Units of time and how many digits of microseconds each has.
const TIME_UNITS: [(&str, u32); 3] = [("ms", 3), ("us", 0), ("s", 6)];

/// Words that are no value without quotes.
pub(super) fn is_keyword(word: &str) -> bool {
    ["and", "or", "not", "in", "contains"].iter().any(|keyword| word.eq_ignore_ascii_case(keyword))
}

/// True if somebody took single quotes for those of this language.
pub(super) fn is_in_single_quotes(word: &str) -> bool {
    word.len() > 1 && word.starts_with('\'') && word.ends_with('\'')
}

/// A number, a class such as `5xx`, a range, or the absent value.
pub(super) fn number(column: NumberColumn, text: &str) -> Option<NumberTest> {
    if text == ABSENT {
        return Some(NumberTest { ranges: Vec::new(), absent: true });
    }
    if let Some((first, last)) = text.split_once(RANGE) {
        let (first, last) = (single(column, first)?, single(column, last)?);
        return (first <= last).then(|| NumberTest::range(first, last));
    }
    let lower = text.to_ascii_lowercase();
    let hundreds = lower.strip_suffix("xx").filter(|_| column == NumberColumn::Status);
    if let Some(hundreds) = hundreds {
        let first = hundreds.parse::<u64>().ok().filter(|digit| (1..=9).contains(digit))? * 100;
        return Some(NumberTest::range(first, first + 99));
    }
    single(column, text).map(|number| NumberTest::range(number, number))
}

fn single(column: NumberColumn, text: &str) -> Option<u64> {
    let whole = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten();
    let index = |names: &[&str]| names.iter().position(|name| text.eq_ignore_ascii_case(name)).map(|index| index as u64);
    match column {
        NumberColumn::Status => whole(text).filter(|status| (100..=999).contains(status)),
        NumberColumn::Class => index(&CLASSES),
        NumberColumn::Bytes => text.starts_with(|c: char| c.is_ascii_digit()).then(|| parse_size(text).ok()).flatten(),
        NumberColumn::RequestTime | NumberColumn::UpstreamTime => time_us(text),
        NumberColumn::Hour => whole(text).filter(|hour| *hour < 24),
        NumberColumn::Weekday => whole(text).filter(|day| (1..=7).contains(day)).or(index(&WEEKDAYS).map(|index| index + 1)),
    }
}

/// `0.25`, `0.25s`, `250ms` or `250000us`, in microseconds.
fn time_us(text: &str) -> Option<u64> {
    let unit = TIME_UNITS.iter().find_map(|(unit, digits)| Some((text.strip_suffix(unit)?, *digits)));
    let (number, digits) = unit.unwrap_or((text, 6));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) || fraction.len() > digits as usize {
        return None;
    }
    let scale = 10u64.pow(digits);
    let parts = if fraction.is_empty() { 0 } else { fraction.parse::<u64>().ok()? * 10u64.pow(digits - fraction.len() as u32) };
    whole.parse::<u64>().ok()?.checked_mul(scale)?.checked_add(parts)
}

/// The form of a value of the column, for errors.
pub(super) fn expected(column: NumberColumn) -> &'static str {
    match column {
        NumberColumn::Status => "a status from 100 to 999 such as 404, a class such as 5xx, a range such as 400..499, or -",
        NumberColumn::Class => "2xx, 3xx, 4xx, 5xx or other",
        NumberColumn::Bytes => "a size such as 500, 64KiB or 1.5MiB, a range such as 1MiB..2MiB, or -",
        NumberColumn::RequestTime | NumberColumn::UpstreamTime => {
            "a time such as 0.25 (seconds, at most six decimals), 250ms or 80us, a range such as 0.1..0.5, or -"
        }
        NumberColumn::Hour => "an hour from 0 to 23, a range such as 8..17, or -",
        NumberColumn::Weekday => "a weekday: mon, tue, wed, thu, fri, sat, sun, a range such as mon..fri, or -",
    }
}

/// The test for numbers that compare so with the one of `test`; `None` where that is more than one,
/// or nothing can be so.
pub(super) fn compare(column: NumberColumn, operator: Operator, test: &NumberTest) -> Option<NumberTest> {
    if matches!(operator, Operator::Equal | Operator::Unequal) {
        return Some(test.clone());
    }
    let [(first, last)] = test.ranges[..] else { return None };
    if first != last {
        return None;
    }
    let (least, most) = span(column);
    match operator {
        Operator::Less => (first > least).then(|| NumberTest::range(0, first - 1)),
        Operator::LessOrEqual => Some(NumberTest::range(0, first)),
        Operator::Greater => (first < most).then(|| NumberTest::range(first + 1, u64::MAX)),
        _ => Some(NumberTest::range(first, u64::MAX)),
    }
}

/// The values that `<` and its kin compare with, where [`compare`] has nothing to say of the test,
/// for errors.
pub(super) fn comparable(column: NumberColumn, test: &NumberTest) -> String {
    let example = match column {
        NumberColumn::Status => "404",
        NumberColumn::Class => "4xx",
        NumberColumn::Bytes => "64KiB",
        NumberColumn::RequestTime | NumberColumn::UpstreamTime => "250ms",
        NumberColumn::Hour => "8",
        NumberColumn::Weekday => "fri",
    };
    if matches!(test.ranges[..], [(first, last)] if first == last) {
        let (least, most) = span(column);
        let most = if most == u64::MAX { String::new() } else { format!(", the largest {}", written(column, most)) };
        return format!("a value with others beyond it (the least is {}{most})", written(column, least));
    }
    format!("one value such as {example}, as ranges, classes of a status and - stand after =, != and in")
}

/// The least and the largest number that the column can have.
fn span(column: NumberColumn) -> (u64, u64) {
    match column {
        NumberColumn::Status => (100, 999),
        NumberColumn::Class => (0, CLASSES.len() as u64 - 1),
        NumberColumn::Hour => (0, 23),
        NumberColumn::Weekday => (1, WEEKDAYS.len() as u64),
        NumberColumn::Bytes | NumberColumn::RequestTime | NumberColumn::UpstreamTime => (0, u64::MAX),
    }
}

/// The number as [`single`] reads it.
pub(super) fn written(column: NumberColumn, number: u64) -> String {
    match column {
        NumberColumn::Class => CLASSES.get(number as usize).map_or_else(|| number.to_string(), ToString::to_string),
        NumberColumn::Weekday => {
            let name = number.checked_sub(1).and_then(|index| WEEKDAYS.get(index as usize));
            name.map_or_else(|| number.to_string(), ToString::to_string)
        }
        NumberColumn::RequestTime | NumberColumn::UpstreamTime => seconds(number),
        _ => number.to_string(),
    }
}

fn seconds(time_us: u64) -> String {
    let text = format!("{}.{:06}", time_us / 1_000_000, time_us % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
