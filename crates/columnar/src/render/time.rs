//! Instants as RFC 3339 writes them.

use arrow_schema::TimeUnit;
use rorqual_accesslog::calendar::civil_from_days;
use std::io::Write;

const DAY_SECONDS: i64 = 86_400;

/// Appends `value`, counted in `unit` since 1970, with as many of 0, 3, 6 or 9 digits of a second's
/// fraction as it needs.
pub(super) fn push(out: &mut Vec<u8>, value: i64, unit: TimeUnit, utc: bool) {
    let units = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let (seconds, fraction) = (value.div_euclid(units), value.rem_euclid(units) * (1_000_000_000 / units));
    push_date(out, seconds.div_euclid(DAY_SECONDS));
    let of_day = seconds.rem_euclid(DAY_SECONDS);
    out.push(b'T');
    push_digits(out, of_day / 3600, 2);
    out.push(b':');
    push_digits(out, of_day / 60 % 60, 2);
    out.push(b':');
    push_digits(out, of_day % 60, 2);
    push_fraction(out, fraction);
    if utc {
        out.push(b'Z');
    }
}

fn push_fraction(out: &mut Vec<u8>, nanoseconds: i64) {
    let (value, digits) = match nanoseconds {
        0 => return,
        n if n % 1_000_000 == 0 => (n / 1_000_000, 3),
        n if n % 1_000 == 0 => (n / 1_000, 6),
        n => (n, 9),
    };
    out.push(b'.');
    push_digits(out, value, digits);
}

/// Appends the date that many days after 1970-01-01, in the Gregorian calendar. Years of more than
/// four digits get a sign, as in ISO 8601.
fn push_date(out: &mut Vec<u8>, days: i64) {
    let (year, month, day) = civil_from_days(days);
    if (0..=9999).contains(&year) {
        push_digits(out, year, 4);
    } else {
        // Writing to memory does not fail.
        let _ = write!(out, "{year:+07}");
    }
    out.push(b'-');
    push_digits(out, month, 2);
    out.push(b'-');
    push_digits(out, day, 2);
}

fn push_digits(out: &mut Vec<u8>, value: i64, digits: u32) {
    out.extend((0..digits).rev().map(|place| b'0' + (value / 10_i64.pow(place) % 10) as u8));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: i64, unit: TimeUnit) -> String {
        let mut out = Vec::new();
        push(&mut out, value, unit, true);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn as_rfc_3339_has_it() {
        for (value, unit, expected) in [
            (0, TimeUnit::Second, "1970-01-01T00:00:00Z"),
            (-1, TimeUnit::Second, "1969-12-31T23:59:59Z"),
            (951_827_696, TimeUnit::Second, "2000-02-29T12:34:56Z"),
            (1_735_689_600_120, TimeUnit::Millisecond, "2025-01-01T00:00:00.120Z"),
            (1_735_689_600_000_000, TimeUnit::Microsecond, "2025-01-01T00:00:00Z"),
            (1_735_689_600_000_001, TimeUnit::Microsecond, "2025-01-01T00:00:00.000001Z"),
            (-1, TimeUnit::Nanosecond, "1969-12-31T23:59:59.999999999Z"),
            (253_402_300_799, TimeUnit::Second, "9999-12-31T23:59:59Z"),
            (253_402_300_800, TimeUnit::Second, "+010000-01-01T00:00:00Z"),
            (-62_167_219_200, TimeUnit::Second, "0000-01-01T00:00:00Z"),
        ] {
            assert_eq!(text(value, unit), expected);
        }
    }
}
