//! Times as people type them.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

/// Unix microseconds of a date, a date and time, or either with a zone; UTC unless it says otherwise.
pub(crate) fn parse_us(text: &str) -> Result<i64, String> {
    let civil = |datetime: DateTime| datetime.to_zoned(TimeZone::UTC).map(|zoned| zoned.timestamp());
    let parsed = text
        .parse::<Timestamp>()
        .or_else(|_| text.parse::<DateTime>().and_then(civil))
        .or_else(|_| text.parse::<Date>().map(|date| date.at(0, 0, 0, 0)).and_then(civil));
    parsed
        .map(Timestamp::as_microsecond)
        .map_err(|_| format!("'{text}' is not a time (examples: 2025-01-31, 2025-01-31T08:00, 2025-01-31T08:00:00+02:00)"))
}

/// A Unix time as `2025-01-31 08:00:00`, in UTC; `?` where there is no such date.
pub(crate) fn show(seconds: i64) -> String {
    format(seconds, "%Y-%m-%d %H:%M:%S")
}

/// The same in the pattern of `strftime`.
pub(crate) fn format(seconds: i64, pattern: &str) -> String {
    Timestamp::from_second(seconds).map_or_else(|_| "?".to_owned(), |time| time.strftime(pattern).to_string())
}

/// A width as people say it: `6 hours`, `1 day`, `90 seconds`.
pub(crate) fn show_width(seconds: i64) -> String {
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
    fn reads_times_as_people_type_them() {
        for (text, seconds) in [
            ("1970-01-02", 86_400),
            ("2025-01-31T08:00", 1_738_310_400),
            ("2025-01-31 08:00:00", 1_738_310_400),
            ("2025-01-31T08:00:00Z", 1_738_310_400),
            ("2025-01-31T10:00:00+02:00", 1_738_310_400),
        ] {
            assert_eq!(parse_us(text), Ok(seconds * 1_000_000), "{text}");
        }
        assert!(parse_us("yesterday-ish").unwrap_err().contains("2025-01-31"));
    }
}
