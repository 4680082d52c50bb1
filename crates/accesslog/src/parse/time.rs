//! Times as logs write them, to Unix microseconds.
//!
//! # Why not a date library?
//!
//! Every line has a time, and the lines of one day share its date and zone: with those cached, what
//! is left is `HH:MM:SS`, eight bytes that are checked and counted in one machine word.

use super::record::LineFlaw;
use crate::calendar::{civil_from_days, days_from_civil};

/// A time and the log's own offset, in seconds east of UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instant {
    pub(crate) time_us: i64,
    pub(crate) zone_seconds: i32,
}

/// Length of `17/May/2015:10:05:03 +0000`.
pub(crate) const CLF_BYTES: usize = 26;

const DATE_BYTES: usize = 12;
const ZONE_BYTES: usize = 6;
const SECOND_US: i64 = 1_000_000;
const LEAP_SECOND_US: i64 = 59_999_999;

/// Reader of common-log times that remembers the last date and zone.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClfClock {
    date: [u8; DATE_BYTES],
    zone: [u8; ZONE_BYTES],
    midnight_us: i64,
    zone_seconds: i32,
}

impl ClfClock {
    /// Reads `17/May/2015:10:05:03 +0000`.
    #[inline]
    pub(crate) fn read(&mut self, text: &[u8; CLF_BYTES]) -> Result<Instant, LineFlaw> {
        let (date, rest) = split::<DATE_BYTES, 14>(text);
        let (hms, zone) = split::<8, ZONE_BYTES>(&rest);
        if date != self.date || zone != self.zone {
            self.remember(date, zone)?;
        }
        let day_us = match day_us_fast(hms) {
            Some(day_us) => day_us,
            None => day_us_slow(&hms)?,
        };
        Ok(Instant { time_us: self.midnight_us + day_us, zone_seconds: self.zone_seconds })
    }

    /// Works out a date and zone that differ from the last line's.
    #[cold]
    #[inline(never)]
    fn remember(&mut self, date: [u8; DATE_BYTES], zone: [u8; ZONE_BYTES]) -> Result<(), LineFlaw> {
        let [d1, d0, b'/', m1, m2, m3, b'/', y3, y2, y1, y0, b':'] = date else {
            return Err(LineFlaw::NotTime);
        };
        let [b' ', zone_text @ ..] = &zone else {
            return Err(LineFlaw::NotTime);
        };
        let day = digits(&[d1, d0])?;
        let year = digits(&[y3, y2, y1, y0])?;
        let month = month_from_name([m1, m2, m3]).ok_or(LineFlaw::NotTime)?;
        let zone_seconds = zone_seconds(zone_text)?;
        let days = days(year, month, day)?;
        self.midnight_us = (days * 86_400 - i64::from(zone_seconds)) * SECOND_US;
        self.zone_seconds = zone_seconds;
        // Only now, so that a flawed date is never taken for a remembered one.
        (self.date, self.zone) = (date, zone);
        Ok(())
    }
}

#[inline]
fn split<const A: usize, const B: usize>(text: &[u8]) -> ([u8; A], [u8; B]) {
    let (mut left, mut right) = ([0; A], [0; B]);
    left.copy_from_slice(&text[..A]);
    right.copy_from_slice(&text[A..A + B]);
    (left, right)
}

/// `HH:MM:SS` as microseconds since midnight; `None` for anything unusual (foreign bytes, second
/// 60).
#[inline]
fn day_us_fast(text: [u8; 8]) -> Option<i64> {
    // '0' is taken off each digit and ':' off each colon: digits leave 0..=9, colons 0.
    let parts = u64::from_le_bytes(text) ^ u64::from_le_bytes(*b"00:00:00");
    let beyond_nine = parts.wrapping_add(0x7676_7f76_767f_7676) | parts;
    if beyond_nine & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    let pair = |at: u32| (parts >> at & 0xff) * 10 + (parts >> (at + 8) & 0xff);
    let (hour, minute, second) = (pair(0), pair(24), pair(48));
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some((hour * 3600 + minute * 60 + second).cast_signed() * SECOND_US)
}

#[cold]
fn day_us_slow(text: &[u8]) -> Result<i64, LineFlaw> {
    let &[h1, h0, b':', m1, m0, b':', s1, s0] = text else {
        return Err(LineFlaw::NotTime);
    };
    day_us(digits(&[h1, h0])?, digits(&[m1, m0])?, digits(&[s1, s0])?)
}

/// Microseconds since midnight. A leap second is held at the last microsecond of its minute, since
/// Unix time has no place for it.
pub(crate) fn day_us(hour: i64, minute: i64, second: i64) -> Result<i64, LineFlaw> {
    if hour > 23 || minute > 59 || second > 60 {
        return Err(LineFlaw::ImpossibleTime);
    }
    let second_us = if second == 60 { LEAP_SECOND_US } else { second * SECOND_US };
    Ok((hour * 3600 + minute * 60) * SECOND_US + second_us)
}

/// Decimal digits only, at most 18 of them.
pub(crate) fn digits(text: &[u8]) -> Result<i64, LineFlaw> {
    if text.is_empty() || text.len() > 18 {
        return Err(LineFlaw::NotTime);
    }
    text.iter().try_fold(0i64, |value, byte| match byte {
        b'0'..=b'9' => Ok(value * 10 + i64::from(byte - b'0')),
        _ => Err(LineFlaw::NotTime),
    })
}

/// 1 for `Jan` and so on; any case.
pub(crate) fn month_from_name(name: [u8; 3]) -> Option<i64> {
    const NAMES: &[u8; 36] = b"janfebmaraprmayjunjulaugsepoctnovdec";
    let name = name.map(|byte| byte.to_ascii_lowercase());
    let at = NAMES.chunks_exact(3).position(|candidate| candidate == name)?;
    i64::try_from(at + 1).ok()
}

/// `+0130`, `+01:30`, `-08`, `Z` or `UTC` in seconds east of UTC; at most 23:59 either way.
pub(crate) fn zone_seconds(text: &[u8]) -> Result<i32, LineFlaw> {
    let (sign, rest) = match text {
        [b'Z' | b'z'] | b"UTC" | b"GMT" => return Ok(0),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return Err(LineFlaw::NotTime),
    };
    let (hour, minute) = match *rest {
        [h1, h0] => (digits(&[h1, h0])?, 0),
        [h1, h0, m1, m0] | [h1, h0, b':', m1, m0] => (digits(&[h1, h0])?, digits(&[m1, m0])?),
        _ => return Err(LineFlaw::NotTime),
    };
    if hour > 23 || minute > 59 {
        return Err(LineFlaw::ImpossibleTime);
    }
    i32::try_from(hour * 3600 + minute * 60).map(|seconds| sign * seconds).map_err(|_| LineFlaw::ImpossibleTime)
}

/// Days from 1970-01-01 to a date of the years 0 to 9999.
pub(crate) fn days(year: i64, month: i64, day: i64) -> Result<i64, LineFlaw> {
    days_from_civil(year, month, day).ok_or(LineFlaw::ImpossibleTime)
}

/// RFC 3339 and its everyday relatives: `2024-01-02T03:04:05.678Z`, a space for the `T`, a comma
/// for the point, a slash for the hyphen, `+0100` for `+01:00`, no zone for UTC. A fraction is cut
/// to microseconds.
pub(crate) fn iso(text: &[u8]) -> Result<Instant, LineFlaw> {
    let (&[y3, y2, y1, y0, b'-' | b'/', m1, m0, b'-' | b'/', d1, d0, b'T' | b't' | b' ', ref hms @ ..], rest) =
        text.split_first_chunk::<19>().ok_or(LineFlaw::NotTime)?
    else {
        return Err(LineFlaw::NotTime);
    };
    let days = days(digits(&[y3, y2, y1, y0])?, digits(&[m1, m0])?, digits(&[d1, d0])?)?;
    let whole_us = day_us_slow(hms)?;
    let (fraction_us, zone) = fraction_us(rest)?;
    instant(days, whole_us, fraction_us, zone)
}

/// The same as [`ClfClock::read`], with a fraction of a second, a zone written otherwise, or none:
/// `17/May/2015:10:05:03.678 +05:30`.
pub(crate) fn clf_by_parts(text: &[u8]) -> Result<Instant, LineFlaw> {
    let (&[d1, d0, b'/', m1, m2, m3, b'/', y3, y2, y1, y0, b':' | b' ', ref hms @ ..], rest) =
        text.split_first_chunk::<20>().ok_or(LineFlaw::NotTime)?
    else {
        return Err(LineFlaw::NotTime);
    };
    let month = month_from_name([m1, m2, m3]).ok_or(LineFlaw::NotTime)?;
    let days = days(digits(&[y3, y2, y1, y0])?, month, digits(&[d1, d0])?)?;
    let (fraction_us, zone) = fraction_us(rest)?;
    instant(days, day_us_slow(hms)?, fraction_us, zone)
}

/// The instant of a day and a time of day, by the text of a zone, with a blank before it or none.
fn instant(days: i64, whole_us: i64, fraction_us: i64, zone: &[u8]) -> Result<Instant, LineFlaw> {
    let zone = zone.strip_prefix(b" ").unwrap_or(zone);
    let zone_seconds = if zone.is_empty() { 0 } else { zone_seconds(zone)? };
    let leap = whole_us % SECOND_US != 0;
    let local_us = days * 86_400 * SECOND_US + whole_us + if leap { 0 } else { fraction_us };
    Ok(Instant { time_us: local_us - i64::from(zone_seconds) * SECOND_US, zone_seconds })
}

/// A leading `.678` in microseconds, and the text after it.
fn fraction_us(text: &[u8]) -> Result<(i64, &[u8]), LineFlaw> {
    let [b'.' | b',', rest @ ..] = text else {
        return Ok((0, text));
    };
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 {
        return Err(LineFlaw::NotTime);
    }
    let six = rest[..count].iter().chain(std::iter::repeat(&b'0')).take(6);
    let value = six.fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
    Ok((value, &rest[count..]))
}

/// The instant as `2015-05-17T10:05:03+00:00` in the log's own zone, with a fraction if it has one.
pub(crate) fn rfc3339(time_us: i64, zone_seconds: i32) -> String {
    let civil = Civil::new(time_us, zone_seconds);
    let Civil { year, month, day, fraction_us, .. } = civil;
    let fraction = if fraction_us == 0 { String::new() } else { format!(".{fraction_us:06}") };
    format!("{year:04}-{month:02}-{day:02}T{}{fraction}{}", civil.clock(), civil.zone(":"))
}

/// The instant as `17/May/2015:10:05:03 +0000` in the log's own zone; a fraction of a second is
/// cut.
#[must_use]
pub fn clf(time_us: i64, zone_seconds: i32) -> String {
    let civil = Civil::new(time_us, zone_seconds);
    format!("{:02}/{}/{:04}:{} {}", civil.day, civil.month_name(), civil.year, civil.clock(), civil.zone(""))
}

/// An instant on a calendar and a clock.
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
    /// Since 1970.
    pub(crate) days: i64,
    pub(crate) second_of_day: i64,
    pub(crate) fraction_us: i64,
    zone_seconds: i32,
}

impl Civil {
    pub(crate) fn new(time_us: i64, zone_seconds: i32) -> Self {
        let local_us = time_us.saturating_add(i64::from(zone_seconds) * SECOND_US);
        let (seconds, fraction_us) = (local_us.div_euclid(SECOND_US), local_us.rem_euclid(SECOND_US));
        let (days, second_of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = civil_from_days(days);
        Self { year, month, day, days, second_of_day, fraction_us, zone_seconds }
    }

    pub(crate) fn month_name(&self) -> &'static str {
        const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        MONTHS[(self.month - 1).clamp(0, 11) as usize]
    }

    pub(crate) fn day_of_year(&self) -> i64 {
        days_from_civil(self.year, 1, 1).map_or(1, |first| self.days - first + 1)
    }

    /// `10:05:03`
    pub(crate) fn clock(&self) -> String {
        let second = self.second_of_day;
        format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
    }

    /// `+01:00`, with `between` between hours and minutes.
    pub(crate) fn zone(&self, between: &str) -> String {
        let (sign, zone) = (if self.zone_seconds < 0 { '-' } else { '+' }, self.zone_seconds.unsigned_abs());
        format!("{sign}{:02}{between}{:02}", zone / 3600, zone / 60 % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clf(text: &str) -> Result<Instant, LineFlaw> {
        let mut fixed = [0; CLF_BYTES];
        fixed.copy_from_slice(text.as_bytes());
        ClfClock::default().read(&fixed)
    }

    #[test]
    fn clf_known_instants() {
        assert_eq!(clf("10/Oct/2000:13:55:36 -0700"), Ok(Instant { time_us: 971_211_336_000_000, zone_seconds: -25_200 }));
        assert_eq!(clf("01/Jan/1970:00:00:00 +0000").map(|i| i.time_us), Ok(0));
        assert_eq!(clf("31/Dec/2016:23:59:60 +0000").map(|i| i.time_us), Ok(1_483_228_799_999_999));
        assert_eq!(clf("29/Feb/2023:00:00:00 +0000"), Err(LineFlaw::ImpossibleTime));
        assert_eq!(clf("29/Feb/2024:24:00:00 +0000"), Err(LineFlaw::ImpossibleTime));
        assert_eq!(clf("29/Feb/2024:2:000:00 +0000"), Err(LineFlaw::NotTime));
        assert_eq!(clf("29/Feb/2024:20:00:00 +00:0"), Err(LineFlaw::NotTime));
    }

    #[test]
    fn day_us_fast_takes_every_second_of_a_day_and_nothing_else() {
        for second in 0..86_400u32 {
            let text = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
            let fixed = <[u8; 8]>::try_from(text.as_bytes()).expect("eight bytes");
            assert_eq!(day_us_fast(fixed), Some(i64::from(second) * SECOND_US));
        }
        for at in 0..8 {
            for byte in 0..=255u8 {
                let mut text = *b"11:11:11";
                text[at] = byte;
                assert_eq!(day_us_fast(text).is_some(), day_us_slow(&text).is_ok_and(|us| us % SECOND_US == 0), "{text:?}");
            }
        }
    }

    #[test]
    fn iso_and_its_relatives() {
        let expect = |time_us, zone_seconds| Ok(Instant { time_us, zone_seconds });
        assert_eq!(iso(b"2022-03-09T21:30:01.5241024Z"), expect(1_646_861_401_524_102, 0));
        assert_eq!(iso(b"2022-03-09T22:30:01+01:00"), expect(1_646_861_401_000_000, 3600));
        assert_eq!(iso(b"2022-03-09 22:30:01,5 +0100"), expect(1_646_861_401_500_000, 3600));
        assert_eq!(iso(b"2022-03-09T21:30:01"), expect(1_646_861_401_000_000, 0));
        assert_eq!(iso(b"2022-13-09T21:30:01Z"), Err(LineFlaw::ImpossibleTime));
        assert_eq!(iso(b"2022-03-09T21:30:01X"), Err(LineFlaw::NotTime));
        assert_eq!(iso(b"2022-03-09T21:30:0"), Err(LineFlaw::NotTime));
    }
}
