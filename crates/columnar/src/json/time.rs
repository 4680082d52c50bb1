//! Moments as RFC 3339 and ISO 8601 write them: `2025-01-01T00:00:00.123+05:30`, `2025-01-01
//! 00:00:00`, `2025-01-01`.

use rorqual_accesslog::calendar::days_from_civil;

/// A moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Since 1970, in UTC.
    seconds: i64,
    nanoseconds: u32,
    /// Number of digits of the second's fraction.
    pub(crate) digits: usize,
}

/// The days from 1970 to a date of the years 1 to 9999, `2025-01-31`.
pub(crate) fn date(text: &str) -> Option<i32> {
    let date: &[u8; 10] = text.as_bytes().try_into().ok()?;
    i32::try_from(days(date)?).ok()
}

impl Moment {
    /// Reads a moment of the years 1 to 9999, with at most nine digits after the second, and `T` or
    /// a space before the hour. After the time is `Z`, an offset (`+05:30`, `+0530`, `+05`), or
    /// nothing, which is taken as UTC. Leap seconds make it something else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (date, rest) = text.as_bytes().split_first_chunk::<10>()?;
        let (time, rest) = rest.split_first_chunk::<9>()?;
        let [b'T' | b't' | b' ', h1, h2, b':', n1, n2, b':', s1, s2] = *time else { return None };
        let (hour, minute, second) = (pair(h1, h2)?, pair(n1, n2)?, pair(s1, s2)?);
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let length = fraction_length(rest);
        let (fraction, zone) = rest.split_at(length);
        let (digits, nanoseconds) = nanoseconds(fraction)?;
        let seconds = days(date)? * 86_400 + i64::from(hour * 3600 + minute * 60 + second);
        Some(Self { seconds: seconds - offset(zone)?, nanoseconds, digits })
    }

    /// Nanoseconds in 64 bits do not reach it: they end in 1677 and 2262.
    pub(crate) fn is_far(self) -> bool {
        self.in_units(9).is_none()
    }

    /// In units of which a second has ten to the power of `digits`; `None` when a column of these
    /// has no place for it, since it has more digits, or 64 bits are too few.
    pub(crate) fn in_units(self, digits: u32) -> Option<i64> {
        let per_unit = 10_u32.pow(9 - digits);
        let whole = self.seconds.checked_mul(10_i64.pow(digits))?;
        if self.digits <= digits as usize { whole.checked_add(i64::from(self.nanoseconds / per_unit)) } else { None }
    }
}

/// The days from 1970 to a date.
fn days(date: &[u8; 10]) -> Option<i64> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *date else { return None };
    let (year, month, day) = (pair(y1, y2)? * 100 + pair(y3, y4)?, pair(m1, m2)?, pair(d1, d2)?);
    days_from_civil(year.into(), month.into(), day.into()).filter(|_| year > 0)
}

fn pair(tens: u8, ones: u8) -> Option<u32> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| u32::from(byte - b'0'));
    Some(digit(tens)? * 10 + digit(ones)?)
}

/// Length of the second's fraction that `rest` begins with, its point included.
fn fraction_length(rest: &[u8]) -> usize {
    let Some((b'.', digits)) = rest.split_first() else { return 0 };
    1 + digits.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// The digits of a fraction, and their nanoseconds.
fn nanoseconds(fraction: &[u8]) -> Option<(usize, u32)> {
    let Some((_, digits)) = fraction.split_first() else { return Some((0, 0)) };
    if !(1..=9).contains(&digits.len()) {
        return None;
    }
    let value = digits.iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
    Some((digits.len(), value * 10_u32.pow(9 - digits.len() as u32)))
}

/// The seconds that a zone is ahead of UTC.
fn offset(zone: &[u8]) -> Option<i64> {
    let (sign, h1, h2, m1, m2) = match *zone {
        [] | [b'Z' | b'z'] => return Some(0),
        [sign, h1, h2, b':', m1, m2] | [sign, h1, h2, m1, m2] => (sign, h1, h2, m1, m2),
        [sign, h1, h2] => (sign, h1, h2, b'0', b'0'),
        _ => return None,
    };
    let (hours, minutes) = (pair(h1, h2)?, pair(m1, m2)?);
    let seconds = i64::from(hours * 3600 + minutes * 60);
    match sign {
        _ if hours > 23 || minutes > 59 => None,
        b'+' => Some(seconds),
        b'-' => Some(-seconds),
        _ => None,
    }
}
