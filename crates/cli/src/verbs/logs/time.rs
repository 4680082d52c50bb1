//! Times as people type them.

use jiff::civil::{Date, DateTime};
use jiff::{SignedDuration, Timestamp};

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// Unix microseconds of a date, a date and time, or either with a zone; UTC unless it says
/// otherwise.
pub(crate) fn parse_us(text: &str) -> Result<i64, String> {
    // By hand and not as a `Timestamp`, which ends a day before the year 9999 does.
    let utc_us = |datetime: DateTime| datetime.duration_since(EPOCH).as_micros() as i64;
    let civil = text.strip_suffix('Z').unwrap_or(text);
    text.parse::<Timestamp>()
        .map(Timestamp::as_microsecond)
        .or_else(|_| civil.parse::<DateTime>().map(utc_us))
        .or_else(|_| civil.parse::<Date>().map(|date| utc_us(date.at(0, 0, 0, 0))))
        .map_err(|_| format!("'{text}' is not a time (examples: 2025-01-31, 2025-01-31T08:00, 2025-01-31T08:00:00+02:00)"))
}

/// A Unix time as `2025-01-31 08:00:00`, in UTC; `?` where there is no such date.
pub(crate) fn show(seconds: i64) -> String {
    format(seconds, "%Y-%m-%d %H:%M:%S")
}

/// The same in the pattern of `strftime`.
pub(crate) fn format(seconds: i64, pattern: &str) -> String {
    // Not as a `Timestamp`, as in `parse_us`.
    let time = EPOCH.checked_add(SignedDuration::from_secs(seconds));
    time.map_or_else(|_| "?".to_owned(), |time| time.strftime(pattern).to_string())
}

/// An offset from UTC as `+02:00`.
pub(crate) fn show_zone(seconds: i32) -> String {
    let minutes = seconds.unsigned_abs() / 60;
    format!("{}{:02}:{:02}", if seconds < 0 { '-' } else { '+' }, minutes / 60, minutes % 60)
}

/// A width as people say it: `6 hours`, `day`, `90 seconds`, and beyond two years about how many.
pub(crate) fn show_width(seconds: i64) -> String {
    const YEAR: f64 = 365.25 * 86_400.0;
    let years = seconds as f64 / YEAR;
    if years >= 2.0 {
        return format!("{years:.digits$} years", digits = usize::from(years < 20.0));
    }
    for (unit, name) in [(86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")] {
        if seconds % unit == 0 {
            let count = seconds / unit;
            return if count == 1 { name.to_owned() } else { format!("{count} {name}s") };
        }
    }
    format!("{seconds} seconds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_words() {
        for (seconds, words) in [
            (1, "second"),
            (90, "90 seconds"),
            (3_600, "hour"),
            (86_400 * 7, "7 days"),
            (336 * 86_400, "336 days"),
            (290_304_000, "9.2 years"),
            (3_944_620_085, "125 years"),
        ] {
            assert_eq!(show_width(seconds), words);
        }
    }

    #[test]
    fn the_last_days_of_the_calendar_are_shown() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00"),
            (-1, "1969-12-31 23:59:59"),
            (253_402_300_799, "9999-12-31 23:59:59"),
            (253_402_300_800, "?"),
        ] {
            assert_eq!(show(seconds), text);
        }
    }

    #[test]
    fn reads_times_as_people_type_them() {
        for (text, seconds) in [
            ("1970-01-02", 86_400),
            ("2025-01-31T08:00", 1_738_310_400),
            ("2025-01-31 08:00:00", 1_738_310_400),
            ("2025-01-31T08:00:00Z", 1_738_310_400),
            ("2025-01-31T10:00:00+02:00", 1_738_310_400),
            // date -u -d 9999-12-31 +%s
            ("9999-12-31", 253_402_214_400),
            ("9999-12-31T23:59:59", 253_402_300_799),
            ("9999-12-31T23:59:59Z", 253_402_300_799),
            ("0001-01-01", -62_135_596_800),
        ] {
            assert_eq!(parse_us(text), Ok(seconds * 1_000_000), "{text}");
        }
        assert!(parse_us("yesterday-ish").unwrap_err().contains("2025-01-31"));
    }
}
