//! Times written by strftime, possibly in several pieces of a line.

use super::record::LineFlaw;
use super::time::{Instant, day_us, days, digits, month_from_name, zone_seconds};
use crate::format::program::ClockItem;

/// The pieces of a line's time so far.
#[derive(Default)]
pub(crate) struct ClockPieces {
    year: Option<i64>,
    century: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    hour: i64,
    is_pm: Option<bool>,
    minute: i64,
    second: i64,
    zone_seconds: Option<i32>,
    epoch_seconds: Option<i64>,
    fraction_us: i64,
}

impl ClockPieces {
    /// Reads `items` from the start of `text`; gives how many bytes they took.
    pub(crate) fn read(&mut self, items: &[ClockItem], text: &[u8]) -> Result<usize, LineFlaw> {
        let mut rest = text;
        for item in items {
            rest = self.read_item(*item, rest)?;
        }
        Ok(text.len() - rest.len())
    }

    fn read_item<'t>(&mut self, item: ClockItem, text: &'t [u8]) -> Result<&'t [u8], LineFlaw> {
        match item {
            ClockItem::Literal(byte) => text.strip_prefix(&[byte]).ok_or(LineFlaw::NotTime),
            ClockItem::Space => Ok(text.trim_ascii_start()),
            ClockItem::MonthName | ClockItem::WeekdayName | ClockItem::ZoneName => self.read_name(item, text),
            ClockItem::AmPm => self.read_half(text),
            ClockItem::Zone => self.read_zone(text),
            _ => self.read_digits(item, text),
        }
    }

    fn read_digits<'t>(&mut self, item: ClockItem, text: &'t [u8]) -> Result<&'t [u8], LineFlaw> {
        // %e, %k and %l pad with a space.
        let text = text.trim_ascii_start();
        let length = text.iter().take(digits_max(item)).take_while(|byte| byte.is_ascii_digit()).count();
        let value = digits(&text[..length])?;
        match item {
            ClockItem::Year => self.year = Some(value),
            ClockItem::Century => self.century = Some(value),
            // POSIX: 69 to 99 are the last century's.
            ClockItem::YearOfCentury => {
                self.year = Some(if value < 69 { 2000 + value } else { 1900 + value });
            }
            ClockItem::Month => self.month = Some(value),
            ClockItem::Day => self.day = Some(value),
            ClockItem::DayOfYear => self.day_of_year = Some(value),
            ClockItem::Hour | ClockItem::Hour12 => self.hour = value,
            ClockItem::Minute => self.minute = value,
            ClockItem::Second => self.second = value,
            ClockItem::EpochSeconds => self.epoch_seconds = Some(value),
            ClockItem::FractionMillis => self.fraction_us = value * 1_000,
            ClockItem::FractionMicros => self.fraction_us = value,
            _ => {}
        }
        Ok(&text[length..])
    }

    fn read_name<'t>(&mut self, item: ClockItem, text: &'t [u8]) -> Result<&'t [u8], LineFlaw> {
        let length = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        if item == ClockItem::MonthName {
            let name = text[..length].first_chunk::<3>().ok_or(LineFlaw::NotTime)?;
            self.month = Some(month_from_name(*name).ok_or(LineFlaw::NotTime)?);
        }
        if item == ClockItem::ZoneName && matches!(&text[..length], b"UTC" | b"GMT") {
            self.zone_seconds = Some(0);
        }
        if length == 0 { Err(LineFlaw::NotTime) } else { Ok(&text[length..]) }
    }

    fn read_half<'t>(&mut self, text: &'t [u8]) -> Result<&'t [u8], LineFlaw> {
        let (half, rest) = text.split_first_chunk::<2>().ok_or(LineFlaw::NotTime)?;
        self.is_pm = Some(match half.map(|byte| byte.to_ascii_lowercase()) {
            [b'a', b'm'] => false,
            [b'p', b'm'] => true,
            _ => return Err(LineFlaw::NotTime),
        });
        Ok(rest)
    }

    fn read_zone<'t>(&mut self, text: &'t [u8]) -> Result<&'t [u8], LineFlaw> {
        // `+0530` and its relatives: `+05:30`, `Z`, `UTC`.
        let is_zone = |length: &usize| text.get(..*length).is_some_and(|zone| zone_seconds(zone).is_ok());
        let length = [6, 5, 3, 1].into_iter().find(is_zone).ok_or(LineFlaw::NotTime)?;
        self.zone_seconds = Some(zone_seconds(&text[..length])?);
        Ok(&text[length..])
    }

    /// Puts the pieces together. `known` is the time that another field of the line gave in whole;
    /// pieces without a date then only add their fraction to it. `None` if no piece says the date.
    pub(crate) fn finish(&self, known: Option<Instant>) -> Result<Option<Instant>, LineFlaw> {
        if let Some(seconds) = self.epoch_seconds {
            let time_us = seconds.checked_mul(1_000_000).ok_or(LineFlaw::ImpossibleTime)? + self.fraction_us;
            return Ok(Some(Instant { time_us, zone_seconds: self.zone_seconds.unwrap_or(0) }));
        }
        let Some(days) = self.days()? else {
            return Ok(known.map(|instant| Instant { time_us: instant.time_us + self.fraction_us, ..instant }));
        };
        let zone_seconds = self.zone_seconds.unwrap_or(0);
        let day_us = day_us(self.hour24()?, self.minute, self.second)?;
        let time_us = (days * 86_400 - i64::from(zone_seconds)) * 1_000_000 + day_us + self.fraction_us;
        Ok(Some(Instant { time_us, zone_seconds }))
    }

    fn days(&self) -> Result<Option<i64>, LineFlaw> {
        let Some(year) = self.year else {
            return Ok(None);
        };
        let year = self.century.map_or(year, |century| century * 100 + year % 100);
        match (self.month, self.day, self.day_of_year) {
            (Some(month), Some(day), _) => days(year, month, day).map(Some),
            (_, _, Some(day @ 1..=366)) => Ok(Some(days(year, 1, 1)? + day - 1)),
            (_, _, Some(_)) => Err(LineFlaw::ImpossibleTime),
            _ => Ok(None),
        }
    }

    fn hour24(&self) -> Result<i64, LineFlaw> {
        match self.is_pm {
            None => Ok(self.hour),
            Some(_) if !(1..=12).contains(&self.hour) => Err(LineFlaw::ImpossibleTime),
            Some(is_pm) => Ok(self.hour % 12 + if is_pm { 12 } else { 0 }),
        }
    }
}

fn digits_max(item: ClockItem) -> usize {
    match item {
        ClockItem::Year => 4,
        ClockItem::DayOfYear | ClockItem::FractionMillis => 3,
        ClockItem::FractionMicros => 6,
        ClockItem::EpochSeconds => 12,
        _ => 2,
    }
}
