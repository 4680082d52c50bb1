//! Numbers as filters write them.

use super::lex::Operator;
use super::{CLASSES, NumberTest, WEEKDAYS};
use crate::ABSENT as NO_NUMBER;
use crate::calendar::{civil_from_days, days_from_any_civil};
use crate::schema::{NumberUnit, float_of, float_step, integer_of, integer_step};
use rorqual_pipe::parse_size;

/// Stands for the absent value, without quotes.
pub(super) const ABSENT: &str = "-";

/// Stands for all texts of a row, in place of a column.
pub(super) const ANY: &str = "any";

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
pub(super) fn number(unit: NumberUnit, text: &str) -> Option<NumberTest> {
    if text == ABSENT {
        return Some(NumberTest { ranges: Vec::new(), absent: true });
    }
    if let Some((first, last)) = text.split_once(RANGE) {
        let (first, last) = (single(unit, first)?, single(unit, last)?);
        return (first <= last).then(|| NumberTest::range(first, last));
    }
    let lower = text.to_ascii_lowercase();
    let hundreds = lower.strip_suffix("xx").filter(|_| unit == NumberUnit::Status);
    if let Some(hundreds) = hundreds {
        let first = hundreds.parse::<u64>().ok().filter(|digit| (1..=9).contains(digit))? * 100;
        return Some(NumberTest::range(first, first + 99));
    }
    single(unit, text).map(|number| NumberTest::range(number, number))
}

fn single(unit: NumberUnit, text: &str) -> Option<u64> {
    let whole = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten();
    let index = |names: &[&str]| names.iter().position(|name| text.eq_ignore_ascii_case(name)).map(|index| index as u64);
    match unit {
        NumberUnit::Status => whole(text).filter(|status| (100..=999).contains(status)),
        NumberUnit::Class => index(&CLASSES),
        NumberUnit::Bytes => text.starts_with(|c: char| c.is_ascii_digit()).then(|| parse_size(text).ok()).flatten(),
        NumberUnit::Seconds => time_us(text),
        NumberUnit::Natural => whole(text).map(|number| number.min(u64::MAX - 1)),
        NumberUnit::Integer => text.parse().ok().map(integer_step),
        NumberUnit::Float => text.parse().ok().filter(|number: &f64| !number.is_nan()).map(float_step),
        NumberUnit::Moment => moment_us(text).map(integer_step),
        NumberUnit::Hour => whole(text).filter(|hour| *hour < 24),
        NumberUnit::Weekday => whole(text).filter(|day| (1..=7).contains(day)).or(index(&WEEKDAYS).map(|index| index + 1)),
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
pub(super) fn expected(unit: NumberUnit) -> &'static str {
    match unit {
        NumberUnit::Status => "a status from 100 to 999 such as 404, a class such as 5xx, a range such as 400..499, or -",
        NumberUnit::Class => "2xx, 3xx, 4xx, 5xx or other",
        NumberUnit::Bytes => "a size such as 500, 64KiB or 1.5MiB, a range such as 1MiB..2MiB, or -",
        NumberUnit::Seconds => {
            "a time such as 0.25 (seconds, at most six decimals), 250ms or 80us, a range such as 0.1..0.5, or -"
        }
        NumberUnit::Natural => "a whole number such as 5, a range such as 1..10, or -",
        NumberUnit::Integer => "a whole number such as -5, a range such as 1..10, or -",
        NumberUnit::Float => "a number such as -0.5 or 1e9, a range such as 0.5..1, or -",
        NumberUnit::Moment => {
            "a time in UTC such as 2026-01-27, 2026-01-27T14:10 or \"2026-01-27 14:10:05.25\", a range of two such, or -"
        }
        NumberUnit::Hour => "an hour from 0 to 23, a range such as 8..17, or -",
        NumberUnit::Weekday => "a weekday: mon, tue, wed, thu, fri, sat, sun, a range such as mon..fri, or -",
    }
}

/// The test for numbers that compare so with the one of `test`; `None` where that is more than one,
/// or nothing can be so.
pub(super) fn compare(unit: NumberUnit, operator: Operator, test: &NumberTest) -> Option<NumberTest> {
    if matches!(operator, Operator::Equal | Operator::Unequal) {
        return Some(test.clone());
    }
    let [(first, last)] = test.ranges[..] else { return None };
    if first != last {
        return None;
    }
    let (least, most) = span(unit);
    match operator {
        Operator::Less => (first > least).then(|| NumberTest::range(0, first - 1)),
        Operator::LessOrEqual => Some(NumberTest::range(0, first)),
        // The last of all steps is no number, but the absent one.
        Operator::Greater => (first < most.min(NO_NUMBER - 1)).then(|| NumberTest::range(first + 1, u64::MAX)),
        _ => Some(NumberTest::range(first, u64::MAX)),
    }
}

/// The values that `<` and its kin compare with, where [`compare`] has nothing to say of the test,
/// for errors.
pub(super) fn comparable(unit: NumberUnit, test: &NumberTest) -> String {
    let example = match unit {
        NumberUnit::Status => "404",
        NumberUnit::Class => "4xx",
        NumberUnit::Bytes => "64KiB",
        NumberUnit::Seconds => "250ms",
        NumberUnit::Natural | NumberUnit::Integer => "10",
        NumberUnit::Float => "0.5",
        NumberUnit::Moment => "2026-01-27",
        NumberUnit::Hour => "8",
        NumberUnit::Weekday => "fri",
    };
    if matches!(test.ranges[..], [(first, last)] if first == last) {
        let (least, most) = span(unit);
        let most = if most == u64::MAX { String::new() } else { format!(", the largest {}", written(unit, most)) };
        return format!("a value with others beyond it (the least is {}{most})", written(unit, least));
    }
    format!("one value such as {example}, as ranges, classes of a status and - stand after =, != and in")
}

/// The least and the largest number that the column can have.
fn span(unit: NumberUnit) -> (u64, u64) {
    match unit {
        NumberUnit::Status => (100, 999),
        NumberUnit::Class => (0, CLASSES.len() as u64 - 1),
        NumberUnit::Hour => (0, 23),
        NumberUnit::Weekday => (1, WEEKDAYS.len() as u64),
        NumberUnit::Float => (float_step(f64::NEG_INFINITY), float_step(f64::INFINITY)),
        _ => (0, u64::MAX),
    }
}

/// The number as [`single`] reads it.
pub(super) fn written(unit: NumberUnit, number: u64) -> String {
    match unit {
        NumberUnit::Class => CLASSES.get(number as usize).map_or_else(|| number.to_string(), ToString::to_string),
        NumberUnit::Weekday => {
            let name = number.checked_sub(1).and_then(|index| WEEKDAYS.get(index as usize));
            name.map_or_else(|| number.to_string(), ToString::to_string)
        }
        NumberUnit::Seconds => seconds(number),
        NumberUnit::Integer => integer_of(number).to_string(),
        NumberUnit::Float => float(float_of(number)),
        NumberUnit::Moment => moment(integer_of(number)),
        _ => number.to_string(),
    }
}

/// The digits of a number, with an exponent where they would be many.
fn float(number: f64) -> String {
    const DIGITS_MAX: usize = 24;
    let digits = number.to_string();
    if digits.len() > DIGITS_MAX { format!("{number:e}") } else { digits }
}

fn seconds(time_us: u64) -> String {
    let text = format!("{}.{:06}", time_us / 1_000_000, time_us % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A date and maybe a time of day in UTC, in Unix microseconds. A year beyond 0 to 9999 has a sign
/// and six digits (ISO 8601).
fn moment_us(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(['T', 't', ' ']).unwrap_or((text, "0:0"));
    let (sign, date) = match date.split_at_checked(1)? {
        ("-", date) => (Some(-1), date),
        ("+", date) => (Some(1), date),
        _ => (None, date),
    };
    let (year, day) = date.split_once('-')?;
    let year = match sign {
        Some(sign) if year.len() == 6 && year.bytes().all(|byte| byte.is_ascii_digit()) => sign * year.parse::<i64>().ok()?,
        Some(_) => return None,
        None => part(year)?,
    };
    let (month, day) = day.split_once('-')?;
    let days = days_from_any_civil(year, part(month)?, part(day)?)?;
    let mut parts = time.strip_suffix(['Z', 'z']).unwrap_or(time).splitn(3, ':');
    let (hour, minute) = (part(parts.next()?)?, part(parts.next()?)?);
    let second_us = time_us(parts.next().unwrap_or("0"))?;
    let is_time = hour < 24 && minute < 60 && second_us < 61_000_000;
    let minutes = (days * 24 + hour) * 60 + minute;
    let moment_us = i128::from(minutes) * 60_000_000 + i128::from(second_us);
    i64::try_from(moment_us).ok().filter(|_| is_time)
}

/// A number of up to four digits.
fn part(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// The moment as [`moment_us`] reads it.
fn moment(time_us: i64) -> String {
    let (seconds, us) = (time_us.div_euclid(1_000_000), time_us.rem_euclid(1_000_000));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil_from_days(days);
    let fraction = format!(".{us:06}");
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let year = if (0..=9999).contains(&year) { format!("{year:04}") } else { format!("{year:+07}") };
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}
