//! Dates and times of day as people write them, as spans of time.

use crate::calendar::{civil_from_days, days_from_civil};
use std::ops::RangeInclusive;

const SECOND_US: i64 = 1_000_000;
const DAY_US: i64 = 86_400 * SECOND_US;

/// Days, or years, that are tried where a text has none.
const GUESSES_MAX: usize = 3;

const MONTHS: [&str; 12] =
    ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"];

/// The rows' first and last time, in Unix microseconds, and the clock that texts mean.
#[derive(Debug, Clone, Copy)]
pub(super) struct TypedClock {
    pub(super) times_us: (i64, i64),
    pub(super) zone_seconds: i32,
}

/// Parts of a point in time that a text names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct TimeParts {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    /// Within the day, and how long it is: a minute of `14:10`.
    clock_us: Option<(i64, i64)>,
    zone_seconds: Option<i32>,
}

impl TypedClock {
    fn zone_us(self, parts: &TimeParts) -> i64 {
        i64::from(parts.zone_seconds.unwrap_or(self.zone_seconds)) * SECOND_US
    }

    /// Days of the rows, by this clock.
    fn days(self) -> RangeInclusive<i64> {
        let day = |time_us: i64| time_us.saturating_add(i64::from(self.zone_seconds) * SECOND_US).div_euclid(DAY_US);
        day(self.times_us.0)..=day(self.times_us.1)
    }

    /// The spans of time that a text may mean, half open, in Unix microseconds; of a time of day
    /// without a date one for each of the last days.
    pub(super) fn spans(self, text: &str) -> Vec<(i64, i64)> {
        let text = text.trim().to_lowercase();
        if let Some((from, to)) = range(&text) {
            let (Some(from), Some(mut to)) = (parts(from), parts(to)) else { return Vec::new() };
            if to.day.is_none() && to.month.is_none() {
                (to.year, to.month, to.day) = (from.year, from.month, from.day);
            }
            let end = |span: &(i64, i64)| if to.clock_us.is_some() { span.0 } else { span.1 };
            let (starts, ends) = (self.resolved(&from), self.resolved(&to));
            let spans = starts.iter().zip(&ends).map(|(from, to)| (from.0, end(to))).filter(|(from, to)| from < to);
            return self.near(&from, spans.collect());
        }
        let Some(parts) = parts(&text) else { return self.unix(&text).into_iter().collect() };
        self.near(&parts, self.resolved(&parts))
    }

    /// Of guesses at the day those with rows about that time, where there are such.
    fn near(self, parts: &TimeParts, mut spans: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
        let (first, last) = self.times_us;
        let has_rows = |(from, to): &(i64, i64)| *from <= last && first < *to;
        if parts.month.is_none() && spans.iter().any(has_rows) {
            spans.retain(has_rows);
        }
        spans
    }

    /// A second, by its Unix time, near those of the rows.
    fn unix(self, text: &str) -> Option<(i64, i64)> {
        let second: i64 = text.parse().ok().filter(|_| text.len() == 10)?;
        let start = second * SECOND_US;
        let is_near = (self.times_us.0.saturating_sub(DAY_US)..self.times_us.1.saturating_add(DAY_US)).contains(&start);
        is_near.then_some((start, start + SECOND_US))
    }

    fn resolved(self, parts: &TimeParts) -> Vec<(i64, i64)> {
        let spans = self.dates(parts).into_iter().filter_map(|(first, days)| {
            let start = first.checked_mul(DAY_US)?.checked_sub(self.zone_us(parts))?;
            Some(match parts.clock_us {
                Some((clock, length)) => (start.checked_add(clock)?, start.checked_add(clock + length)?),
                None => (start, start.checked_add(days * DAY_US)?),
            })
        });
        spans.collect()
    }

    /// First day of each date that is meant, and how many days it has.
    fn dates(self, parts: &TimeParts) -> Vec<(i64, i64)> {
        let days = self.days();
        let (Some(month), day) = (parts.month, parts.day) else {
            return days.rev().take(GUESSES_MAX).map(|day| (day, 1)).collect();
        };
        let date = |year: i64| match day {
            Some(day) => Some((days_from_civil(year, month, day)?, 1)),
            None => {
                let first = days_from_civil(year, month, 1)?;
                let next = if month == 12 { days_from_civil(year + 1, 1, 1) } else { days_from_civil(year, month + 1, 1) };
                Some((first, next? - first))
            }
        };
        if let Some(year) = parts.year {
            return date(year).into_iter().collect();
        }
        let (first, last) = (civil_from_days(*days.start()).0, civil_from_days(*days.end()).0);
        let has_rows = |date: &(i64, i64)| date.0 + date.1 > *days.start() && date.0 <= *days.end();
        let years = (first..=last).rev();
        let with_rows: Vec<_> = years.filter_map(date).filter(has_rows).take(GUESSES_MAX).collect();
        if with_rows.is_empty() { date(last).into_iter().collect() } else { with_rows }
    }

    /// The span in words, by this clock.
    pub(super) fn label(self, (from_us, to_us): (i64, i64)) -> String {
        let local = |time_us: i64| time_us + i64::from(self.zone_seconds) * SECOND_US;
        let date = |days: i64| {
            let (year, month, day) = civil_from_days(days);
            format!("{year:04}-{month:02}-{day:02}")
        };
        let clock = |time_us: i64| {
            let second = time_us.rem_euclid(DAY_US) / SECOND_US;
            let seconds = if second % 60 == 0 { String::new() } else { format!(":{:02}", second % 60) };
            format!("{:02}:{:02}{seconds}", second / 3_600, second / 60 % 60)
        };
        let (from, to) = (local(from_us), local(to_us));
        let (first, last) = (from.div_euclid(DAY_US), to.div_euclid(DAY_US));
        match to - from {
            _ if from.rem_euclid(DAY_US) == 0 && to.rem_euclid(DAY_US) == 0 => match last - first {
                1 => format!("on {}", date(first)),
                _ => format!("{} to {}", date(first), date(last - 1)),
            },
            length if length == SECOND_US || length == 60 * SECOND_US => format!("{} {}", date(first), clock(from)),
            _ if first == last => format!("{} {} to {}", date(first), clock(from), clock(to)),
            _ => format!("{} {} to {} {}", date(first), clock(from), date(last), clock(to)),
        }
    }
}

/// The two ends of a range.
fn range(text: &str) -> Option<(&str, &str)> {
    if let Some(rest) = text.strip_prefix("between ") {
        return rest.split_once(" and ");
    }
    let text = text.strip_prefix("from ").unwrap_or(text);
    let apart = [" to ", " until ", " - ", " – ", "..", "–"].iter().find_map(|between| text.split_once(between));
    // `14:10-14:20`, but not `2026-01-27` or `-0700`.
    let clocks = || text.split_once('-').filter(|(from, to)| is_clock(from) && is_clock(to));
    apart.or_else(clocks)
}

fn is_clock(word: &str) -> bool {
    clock(word).is_some()
}

/// Parts of a point in time; `None` where some word is none of them.
fn parts(text: &str) -> Option<TimeParts> {
    let text = spaced(text);
    let mut parts = TimeParts::default();
    let mut alone = Vec::new();
    for word in text.split_whitespace() {
        if ["at", "from", "on", "the", "of"].contains(&word) {
            continue;
        }
        if let (Some(zone), true) = (zone(word), parts.clock_us.is_some()) {
            parts.zone_seconds = Some(zone);
        } else if let (Some((clock, zone)), None) = (clock(word), parts.clock_us) {
            parts.clock_us = Some(clock);
            parts.zone_seconds = zone.or(parts.zone_seconds);
        } else if let (Some(month), None) = (month(word), parts.month) {
            parts.month = Some(month);
        } else if let (Some((year, month, day)), None) = (date(word), parts.month) {
            (parts.year, parts.month, parts.day) = (year, Some(month), day);
        } else {
            alone.push(word);
        }
    }
    let had_month = parts.month.is_some();
    for word in alone {
        let number = number(word.trim_end_matches(|one: char| one.is_ascii_lowercase() || one == '.'))?;
        match number {
            1..=31 if had_month && parts.day.is_none() && word.len() <= 4 => parts.day = Some(number),
            1000..=9999 if had_month && parts.year.is_none() => parts.year = Some(number),
            _ => return None,
        }
    }
    let is_date = had_month && (parts.day.is_some() || parts.year.is_some());
    let is_valid = if had_month { is_date } else { parts.clock_us.is_some() };
    is_valid.then_some(parts)
}

/// The same with date, time and zone apart: `27/jan/2026:14:10:05`, `2026-01-27t14:10`.
fn spaced(text: &str) -> String {
    let mut text = text.replace(['[', ']', ','], " ");
    if let Some((date, time)) = text.trim().split_once(':')
        && date.matches('/').count() == 2
        && date.rsplit('/').next().and_then(number).is_some_and(|year| year > 999)
    {
        text = format!("{date} {time}");
    }
    let bytes = text.as_bytes();
    let is_between = |at: usize| {
        let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
        bytes[at] == b't' && is_digit(at.checked_sub(1)) && is_digit(Some(at + 1))
    };
    text.char_indices().map(|(at, one)| if one == 't' && is_between(at) { ' ' } else { one }).collect()
}

fn number(word: &str) -> Option<i64> {
    let is_number = !word.is_empty() && word.len() <= 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| word.parse().ok()).flatten()
}

fn month(word: &str) -> Option<i64> {
    let word = word.trim_end_matches('.');
    let is_it = |name: &str| word.len() >= 3 && (name == word || (word.len() <= 4 && name.starts_with(word)));
    (1..).zip(MONTHS).find(|(_, name)| is_it(name)).map(|(number, _)| number)
}

/// Year, month and day; `2026-01` has no day, and `27.1.` no year.
fn date(word: &str) -> Option<(Option<i64>, i64, Option<i64>)> {
    let separator = word.find(['-', '/', '.']).map(|at| &word[at..=at])?;
    let fields: Vec<&str> = word.split(separator).collect();
    let month_of = |text: &str| month(text).or_else(|| number(text)).filter(|month| (1..=12).contains(month));
    let day_of = |text: &str| number(text).filter(|day| (1..=31).contains(day) && text.len() <= 2);
    let year_of = |text: &str| number(text).filter(|_| text.len() == 4);
    match fields[..] {
        [year, month, day] if year_of(year).is_some() => Some((year_of(year), month_of(month)?, Some(day_of(day)?))),
        [day, month, ""] if separator == "." => Some((None, month_of(month)?, Some(day_of(day)?))),
        [day, month, year] => Some((Some(year_of(year)?), month_of(month)?, Some(day_of(day)?))),
        [year, month] if separator == "-" => Some((Some(year_of(year)?), month_of(month)?, None)),
        _ => None,
    }
}

type ClockTime = ((i64, i64), Option<i32>);

/// Microseconds within the day and their number, with the zone that is written at the time.
fn clock(word: &str) -> Option<ClockTime> {
    let (word, zone_seconds) = match word.find(['z', '+']).or_else(|| word.rfind('-')) {
        Some(at) if at > 0 => (&word[..at], Some(zone(&word[at..])?)),
        _ => (word, None),
    };
    let (word, half) = match (word.strip_suffix("am"), word.strip_suffix("pm")) {
        (Some(word), _) => (word, Some(0)),
        (_, Some(word)) => (word, Some(12)),
        _ => (word, None),
    };
    let fields: Vec<&str> = word.split(':').collect();
    let two = |text: &str, most: i64| number(text).filter(|number| *number < most && text.len() <= 2);
    let (hour, minute, second, length) = match fields[..] {
        [hour] if half.is_some() => (two(hour, 13)?, 0, 0.0, 3_600),
        [hour, minute] if minute.len() == 2 => (two(hour, 24)?, two(minute, 60)?, 0.0, 60),
        [hour, minute, second] => (two(hour, 24)?, two(minute, 60)?, seconds(second)?, 1),
        _ => return None,
    };
    let hour = match half {
        Some(half) => hour % 12 + half,
        None => hour,
    };
    let whole = (hour * 60 + minute) * 60 * SECOND_US + (second * SECOND_US as f64) as i64;
    Some(((whole, length * SECOND_US), zone_seconds))
}

/// Seconds of a minute; of a fraction the second is meant.
fn seconds(text: &str) -> Option<f64> {
    let whole = text.split_once(['.', ',']).map_or(text, |(whole, _)| whole);
    number(whole).filter(|second| *second < 61).map(|second| second as f64)
}

/// Seconds east of UTC.
fn zone(word: &str) -> Option<i32> {
    if ["z", "utc", "gmt"].contains(&word) {
        return Some(0);
    }
    let (sign, digits) = match word.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let digits: String = digits.chars().filter(|one| *one != ':').collect();
    let number = number(&digits).filter(|_| digits.len() == 4)?;
    i32::try_from((number / 100 * 60 + number % 100) * 60 * sign).ok()
}

#[cfg(test)]
mod tests {
    use super::{TypedClock, parts};

    /// 2026-01-25 00:00 to 2026-01-27 23:59:59 in UTC.
    const DAY_25: i64 = 1_769_299_200;
    const CLOCK: TypedClock =
        TypedClock { times_us: (DAY_25 * 1_000_000, (DAY_25 + 3 * 86_400 - 1) * 1_000_000), zone_seconds: 0 };

    fn spans(text: &str) -> Vec<(i64, i64)> {
        CLOCK.spans(text).into_iter().map(|(from, to)| (from / 1_000_000 - DAY_25, to / 1_000_000 - DAY_25)).collect()
    }

    #[test]
    fn dates_and_times_in_many_forms() {
        let day = 86_400;
        let minute = 2 * day + (14 * 60 + 10) * 60;
        for text in [
            "2026-01-27 14:10",
            "2026-01-27T14:10",
            "2026/01/27 14:10",
            "27.01.2026 14:10",
            "27/Jan/2026 14:10",
            "27/Jan/2026:14:10",
            "27 Jan 14:10",
            "Jan 27, 2026 at 2:10pm",
            "27th of January 2026, 14:10",
            "2026-01-27T14:10Z",
            "2026-01-27 15:10 +0100",
            "[27/Jan/2026:09:10 -0500]",
        ] {
            assert_eq!(spans(text), [(minute, minute + 60)], "{text}");
        }
        assert_eq!(spans("2026-01-27 14:10:05.25"), [(minute + 5, minute + 6)]);
        assert_eq!(spans("[27/Jan/2026:14:10:05 +0000]"), [(minute + 5, minute + 6)]);
        assert_eq!(spans("14:10"), [2, 1, 0].map(|days| (days * day + 51_000, days * day + 51_060)));
        assert_eq!(spans("2pm")[0], (2 * day + 50_400, 2 * day + 54_000));
        for text in ["2026-01-26", "26 jan", "26.1.", "26/01/2026", "january 26"] {
            assert_eq!(spans(text), [(day, 2 * day)], "{text}");
        }
        assert_eq!(spans("2026-01"), [(-24 * day, 7 * day)]);
        assert_eq!(spans("1769299205"), [(5, 6)]);
        for text in ["14:10-14:20", "14:10 to 14:20", "between 14:10 and 14:20"] {
            assert_eq!(spans(text)[0], (minute, minute + 600), "{text}");
        }
        assert_eq!(spans("2026-01-25 to 2026-01-26"), [(0, 2 * day)]);
        assert_eq!(spans("2026-01-27 14:00 - 14:10"), [(minute - 600, minute)]);
    }

    #[test]
    fn other_texts_are_no_times() {
        for text in
            ["504", "10.1.2.3", "may", "::1", "12", "1.5", "2026-13-01", "25:00", "checkout", "/2026/01/27/a", "", "a 14:10"]
        {
            assert!(parts(text).is_none() || spans(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn times_are_of_the_clock_that_is_shown() {
        let east = TypedClock { zone_seconds: 7_200, ..CLOCK };
        let [span] = east.spans("2026-01-27 14:10")[..] else { panic!("one") };
        assert_eq!(span.0 / 1_000_000 - DAY_25, 2 * 86_400 + (12 * 60 + 10) * 60);
        assert_eq!(east.label(span), "2026-01-27 14:10");
        assert_eq!(east.label(east.spans("26 jan")[0]), "on 2026-01-26");
        assert_eq!(east.label(east.spans("14:10-14:20")[0]), "2026-01-27 14:10 to 14:20");
        assert_eq!(east.label(east.spans("2026-01")[0]), "2026-01-01 to 2026-01-31");
    }
}
