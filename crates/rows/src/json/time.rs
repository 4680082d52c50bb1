//! Moments as RFC 3339 writes them in UTC: `2025-01-01T00:00:00.123Z`.

/// A moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Since 1970.
    seconds: i64,
    nanoseconds: u32,
    /// How many digits the fraction of the second has.
    pub(crate) digits: usize,
}

const DAYS: [u32; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

impl Moment {
    /// Reads a moment of the years 1 to 9999, with at most nine digits behind the second. Leap seconds, offsets and small letters make
    /// it something else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let (date, rest) = bytes.split_first_chunk::<19>()?;
        let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', n1, n2, b':', s1, s2] = *date else { return None };
        let year = pair(y1, y2)? * 100 + pair(y3, y4)?;
        let (month, day) = (pair(m1, m2)?, pair(d1, d2)?);
        let (hour, minute, second) = (pair(h1, h2)?, pair(n1, n2)?, pair(s1, s2)?);
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = DAYS.get((month as usize).checked_sub(1)?)? + u32::from(leap && month == 2);
        if year == 0 || day == 0 || day > days || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let (digits, nanoseconds) = fraction(rest)?;
        let seconds = days_since_1970(i64::from(year), i64::from(month), i64::from(day)) * 86_400;
        let seconds = seconds + i64::from(hour * 3600 + minute * 60 + second);
        Some(Self { seconds, nanoseconds, digits })
    }

    /// It fits the column of its own precision: nanoseconds reach from 1677 to 2262 only.
    pub(crate) fn has_column(&self) -> bool {
        self.digits < 9 || self.in_units(9).is_some()
    }

    /// In units of which a second has ten to the power of `digits`; `None` when a column of these has no place for it, since it would be
    /// changed, or 64 bits are too few, or other values of its kind would have none.
    pub(crate) fn in_units(self, digits: u32) -> Option<i64> {
        let per_unit = 10_u32.pow(9 - digits);
        let whole = self.seconds.checked_mul(10_i64.pow(digits))?;
        let of_kind = if digits == 9 { self.digits == 9 } else { matches!(self.digits, 0 | 3 | 6) };
        let exact = self.nanoseconds.is_multiple_of(per_unit) && self.digits <= digits as usize && of_kind;
        if exact { whole.checked_add(i64::from(self.nanoseconds / per_unit)) } else { None }
    }
}

fn pair(tens: u8, ones: u8) -> Option<u32> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| u32::from(byte - b'0'));
    Some(digit(tens)? * 10 + digit(ones)?)
}

/// The digits of what is behind the seconds, up to `Z`, and their nanoseconds.
fn fraction(rest: &[u8]) -> Option<(usize, u32)> {
    let (b'Z', fraction) = rest.split_last()? else { return None };
    let Some((b'.', digits)) = fraction.split_first() else {
        return fraction.is_empty().then_some((0, 0));
    };
    if !(1..=9).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
    Some((digits.len(), value * 10_u32.pow(9 - digits.len() as u32)))
}

/// Of the Gregorian calendar, in eras of 400 years that start in March.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}
