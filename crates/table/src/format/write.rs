//! Lines written by a format: the inverse of reading them.

use super::program::{ClockItem, Op, Part, Program, Stop};
use super::{Format, Kind};
use crate::parse::Record;
use crate::parse::number::Unit;
use crate::parse::time::{Civil, clf, rfc3339};
use std::io::Write;

const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

impl Format {
    /// A line of the format that says what the record says. What a record does not keep is `-` there; of a JSON format the line
    /// has the keys of what the record has, in one object. An escape that reading undid is written anew, and may be another one.
    #[must_use]
    pub fn line(&self, record: &Record<'_>) -> Vec<u8> {
        match self.kind() {
            Kind::Text(program) => text_line(program, record),
            Kind::Json(keys) => json_line(keys.written(), record),
            Kind::Prefixed(prefix, format) => {
                let behind = Record { source: b"", ..*record };
                [prefix.text(record), format.line(&behind)].concat()
            }
        }
    }

    /// What lines of [`Format::line`] have `-` for, whatever the record, as the format writes it: `$request_id`.
    #[must_use]
    pub fn unkept(&self) -> Vec<&str> {
        match self.kind() {
            Kind::Text(program) => program.ops.iter().filter(|op| !is_kept(op)).map(|op| &*op.source).collect(),
            Kind::Json(_) => Vec::new(),
            Kind::Prefixed(prefix, format) => prefix.unkept().iter().copied().chain(format.unkept()).collect(),
        }
    }
}

fn text_line(program: &Program, record: &Record<'_>) -> Vec<u8> {
    let mut line = program.lead.to_vec();
    for op in &program.ops {
        let text = if is_kept(op) { part_text(&op.part, record) } else { Vec::new() };
        // Nothing but digits may stand before what directly follows a number.
        let bare = op.stop == Stop::Number || matches!(op.part, Part::MarkedQuery | Part::Clock(_));
        line.extend_from_slice(if text.is_empty() && !bare { b"-" } else { &text });
        line.extend_from_slice(&op.end);
    }
    line
}

/// Whether a record has what stands there. Where another field of the line says the same better, it may say something else, such as
/// the address of a proxy; not so the time, nor the parts of the request as it came.
fn is_kept(op: &Op) -> bool {
    let always = matches!(op.part, Part::Clf | Part::Iso | Part::Epoch(_) | Part::Method | Part::Target | Part::Protocol);
    op.part != Part::Skip && (always || !op.is_skipped)
}

/// What is read as this part of the record; nothing where the record does not have it.
fn part_text(part: &Part, record: &Record<'_>) -> Vec<u8> {
    let time = |write: &dyn Fn(i64) -> String| record.time_us.map(write).unwrap_or_default().into_bytes();
    let number = |number: Option<String>| number.unwrap_or_default().into_bytes();
    match part {
        Part::Skip => Vec::new(),
        Part::Client => record.client.to_vec(),
        Part::User => record.user.to_vec(),
        Part::Host => record.host.to_vec(),
        Part::Clf => time(&|time_us| clf(time_us, record.zone_seconds)),
        Part::Iso | Part::AnyTime => time(&|time_us| rfc3339(time_us, record.zone_seconds)),
        Part::Epoch(unit) => time(&|time_us| epoch_text(time_us, *unit)),
        Part::Clock(items) => time(&|time_us| clock_text(items, time_us, record.zone_seconds)),
        Part::Request => joined(&[record.method, &target(record), record.protocol]),
        Part::Method => record.method.to_vec(),
        Part::Target => target(record),
        Part::Path => record.path.to_vec(),
        Part::Query => record.query.to_vec(),
        Part::MarkedQuery if record.query.is_empty() => Vec::new(),
        Part::MarkedQuery => [b"?", record.query].concat(),
        Part::Protocol => record.protocol.to_vec(),
        Part::Status => number((record.status != 0).then(|| record.status.to_string())),
        Part::Bytes => number(record.bytes.map(|bytes| bytes.to_string())),
        Part::Referrer => record.referrer.to_vec(),
        Part::Agent => record.agent.to_vec(),
        Part::RequestTime(unit) => number(record.request_time_us.map(|us| duration_text(us, *unit))),
        Part::UpstreamTime(unit) => number(record.upstream_time_us.map(|us| duration_text(us, *unit))),
    }
}

/// Those that are there, with a space between them.
fn joined(parts: &[&[u8]]) -> Vec<u8> {
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(&b' ')
}

fn target(record: &Record<'_>) -> Vec<u8> {
    if record.query.is_empty() { record.path.to_vec() } else { [record.path, b"?", record.query].concat() }
}

/// Seconds with three digits behind the point, as servers write them, or six where these say something.
fn duration_text(duration_us: u64, unit: Unit) -> String {
    let thousandths = |whole: u64, rest: u64| if rest == 0 { whole.to_string() } else { format!("{whole}.{rest:03}") };
    match unit {
        Unit::Seconds if duration_us.is_multiple_of(1_000) => {
            format!("{}.{:03}", duration_us / 1_000_000, duration_us / 1_000 % 1_000)
        }
        Unit::Seconds => format!("{}.{:06}", duration_us / 1_000_000, duration_us % 1_000_000),
        Unit::Millis => thousandths(duration_us / 1_000, duration_us % 1_000),
        Unit::Micros => duration_us.to_string(),
        Unit::Nanos => (u128::from(duration_us) * 1_000).to_string(),
    }
}

fn epoch_text(time_us: i64, unit: Unit) -> String {
    let (whole, fraction) = (time_us.div_euclid(1_000_000), time_us.rem_euclid(1_000_000));
    match unit {
        Unit::Seconds if fraction == 0 => whole.to_string(),
        Unit::Seconds if fraction % 1_000 == 0 => format!("{whole}.{:03}", fraction / 1_000),
        Unit::Seconds => format!("{whole}.{fraction:06}"),
        // An instant since 1970, as every other of a line with these is.
        unit => duration_text(time_us.unsigned_abs(), unit),
    }
}

fn clock_text(items: &[ClockItem], time_us: i64, zone_seconds: i32) -> String {
    let civil = Civil::new(time_us, zone_seconds);
    items.iter().map(|item| clock_item(*item, &civil, time_us, zone_seconds)).collect()
}

fn clock_item(item: ClockItem, civil: &Civil, time_us: i64, zone_seconds: i32) -> String {
    let two = |number: i64| format!("{number:02}");
    match item {
        ClockItem::Literal(byte) => char::from(byte).to_string(),
        ClockItem::Space => " ".to_owned(),
        ClockItem::Year => format!("{:04}", civil.year),
        ClockItem::Century => two(civil.year / 100),
        ClockItem::YearOfCentury => two(civil.year % 100),
        ClockItem::Month => two(civil.month),
        ClockItem::MonthName => civil.month_name().to_owned(),
        ClockItem::WeekdayName => WEEKDAYS[civil.days.rem_euclid(7) as usize].to_owned(),
        ClockItem::Day => two(civil.day),
        ClockItem::DayOfYear => format!("{:03}", civil.day_of_year()),
        ClockItem::Hour => two(civil.second_of_day / 3_600),
        ClockItem::Hour12 => two((civil.second_of_day / 3_600 + 11) % 12 + 1),
        ClockItem::AmPm => (if civil.second_of_day < 43_200 { "AM" } else { "PM" }).to_owned(),
        ClockItem::Minute => two(civil.second_of_day / 60 % 60),
        ClockItem::Second => two(civil.second_of_day % 60),
        ClockItem::Zone => civil.zone(""),
        // The name of a zone is not kept; reading takes any but these for none.
        ClockItem::ZoneName => (if zone_seconds == 0 { "UTC" } else { "local" }).to_owned(),
        ClockItem::EpochSeconds => time_us.div_euclid(1_000_000).to_string(),
        ClockItem::FractionMillis => format!("{:03}", civil.fraction_us / 1_000),
        ClockItem::FractionMicros => format!("{:06}", civil.fraction_us),
        ClockItem::Digits => "0".to_owned(),
    }
}

fn json_line<'k>(keys: impl Iterator<Item = (&'k str, &'k Part)>, record: &Record<'_>) -> Vec<u8> {
    let mut line = b"{".to_vec();
    for (name, part) in keys {
        let text = part_text(part, record);
        // An object without a status or a request would be no line of a log.
        if text.is_empty() && *part != Part::Status {
            continue;
        }
        if line.len() > 1 {
            line.push(b',');
        }
        push_string(&mut line, name.as_bytes());
        line.push(b':');
        match part {
            Part::Status | Part::Bytes | Part::RequestTime(_) | Part::UpstreamTime(_) | Part::Epoch(_) if !text.is_empty() => {
                line.extend_from_slice(&text);
            }
            _ => push_string(&mut line, if text.is_empty() { b"-" } else { &text }),
        }
    }
    line.push(b'}');
    line
}

fn push_string(line: &mut Vec<u8>, text: &[u8]) {
    line.push(b'"');
    for byte in text {
        match byte {
            b'"' | b'\\' => line.extend_from_slice(&[b'\\', *byte]),
            // Into a vector nothing fails.
            0..0x20 => drop(write!(line, "\\u{byte:04x}")),
            _ => line.push(*byte),
        }
    }
    line.push(b'"');
}
