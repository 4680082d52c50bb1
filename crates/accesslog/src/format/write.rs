//! Lines written by a format: the inverse of reading them.

use super::program::{ClockItem, FieldEnd, FieldPart, Op, Program};
use super::w3c::{W3cColumn, W3cColumns, W3cWriter};
use super::{Field, LineSyntax, LogFormat};
use crate::own::{LogVariable, OwnColumns, OwnPlace};
use crate::parse::LogRecord;
use crate::parse::number::{Unit, duration_text};
use crate::parse::time::{Civil, clf, rfc3339};
use std::io::Write;
use std::sync::Arc;

const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

impl LogFormat {
    /// True if a line of the format does not say all of a record: a later line said more columns.
    #[must_use]
    pub fn lacks(&self, record: &LogRecord<'_>, own: Option<&OwnColumns>) -> bool {
        let LineSyntax::W3c(_) = self.kind() else { return false };
        let has_other =
            |variable: &LogVariable| !self.variables().contains(variable) && !own_text(variable, record, own).is_empty();
        record.fields().any(|field| !self.has(field)) || own.is_some_and(|own| own.variables().iter().any(has_other))
    }

    /// The format with columns for all that a record may have, where lines say their columns.
    #[must_use]
    pub fn with_more_columns(&self, own: Option<&OwnColumns>) -> LogFormat {
        let LineSyntax::W3c(columns) = self.kind() else { return self.clone() };
        let own: Vec<String> = own.map(OwnColumns::variables).unwrap_or_default().iter().map(|own| own.column().name).collect();
        LogFormat::w3c(Arc::new(columns.with_more(own.iter().map(String::as_str))))
    }

    /// A line of the format that says what the record says. What a record does not keep is `-`
    /// there; of a JSON format the line has the keys of what the record has, in one object. An
    /// escape that reading undid is written anew, and may be another one. The values of `own` are
    /// those of the columns that it names.
    #[must_use]
    pub fn line(&self, record: &LogRecord<'_>, own: Option<&OwnColumns>) -> Vec<u8> {
        match self.kind() {
            LineSyntax::Text(program) => text_line(program, record, own),
            LineSyntax::Json(keys) => json_line(keys.written(), record, own),
            LineSyntax::Prefixed(prefix, format) => {
                let after = LogRecord { source: b"", ..*record };
                [prefix.text(record), format.line(&after, own)].concat()
            }
            LineSyntax::Labels(keys) => labels_line(keys.written(), record, own),
            LineSyntax::W3c(columns) => w3c_line(columns, record, own),
            LineSyntax::Docker(inner) => {
                let mut line = br#"{"log":"#.to_vec();
                push_string(&mut line, &[&inner.line(record, own)[..], b"\n"].concat());
                line.push(b'}');
                line
            }
        }
    }

    /// The fields that lines of [`LogFormat::line`] have `-` for, whatever the record and its log's
    /// own columns, as the format writes it: `%l`.
    #[must_use]
    pub fn unkept(&self) -> Vec<&str> {
        match self.kind() {
            LineSyntax::Text(program) => {
                program.ops.iter().filter(|op| !is_kept(op) && op.variable.is_none()).map(|op| &*op.source).collect()
            }
            LineSyntax::Json(_) | LineSyntax::Labels(_) => Vec::new(),
            LineSyntax::Prefixed(prefix, format) => prefix.unkept().iter().copied().chain(format.unkept()).collect(),
            LineSyntax::Docker(inner) => inner.unkept().into_iter().chain(["stream", "time"]).collect(),
            LineSyntax::W3c(columns) => {
                let named = columns.columns.iter().zip(columns.names());
                let is_own = columns.variables().map(|variable| variable.is_some());
                let skipped = named.zip(is_own).filter(|((column, _), is_own)| **column == W3cColumn::Skip && !is_own);
                skipped.map(|((_, name), _)| name).collect()
            }
        }
    }
}

/// Text that is read as the variable; empty where the record does not have it.
fn own_text(variable: &LogVariable, record: &LogRecord<'_>, own: Option<&OwnColumns>) -> Vec<u8> {
    let (Some(own), Some(values)) = (own, record.own) else { return Vec::new() };
    match own.known(variable) {
        Some(OwnPlace::Text(number)) => values.text(usize::from(number)).to_vec(),
        Some(OwnPlace::Number(number, kind)) => {
            values.number(usize::from(number)).map(|step| kind.text(step)).unwrap_or_default().into_bytes()
        }
        None => Vec::new(),
    }
}

fn text_line(program: &Program, record: &LogRecord<'_>, own: Option<&OwnColumns>) -> Vec<u8> {
    let mut line = program.lead.to_vec();
    // The format has no place for it, and yet the line had one.
    if program.begins_as_common && program.fields & Field::Host.bit() == 0 && !record.host.is_empty() {
        line.extend_from_slice(record.host);
        line.push(b' ');
    }
    for op in &program.ops {
        let variable = op.variable.and_then(|variable| program.variables.get(usize::from(variable)));
        let text = match variable {
            Some(variable) if record.own.is_some() => own_text(variable, record, own),
            _ if is_kept(op) => part_text(&op.part, record),
            _ => Vec::new(),
        };
        // Nothing but digits may stand before what directly follows a number.
        let bare = op.stop == FieldEnd::Number || matches!(op.part, FieldPart::MarkedQuery | FieldPart::Clock(_));
        let absent: &[u8] = if op.part == FieldPart::Hierarchy { b"NONE/-" } else { b"-" };
        line.extend_from_slice(if text.is_empty() && !bare { absent } else { &text });
        line.extend_from_slice(&op.end);
    }
    line
}

/// True if a record has what stands there. Where another field of the line says the same better, it
/// may say something else, such as the address of a proxy; not so the time, nor the parts of the
/// request as it came.
fn is_kept(op: &Op) -> bool {
    let always = matches!(
        op.part,
        FieldPart::Clf | FieldPart::Iso | FieldPart::Epoch(_) | FieldPart::Method | FieldPart::Target | FieldPart::Protocol
    );
    !matches!(op.part, FieldPart::Skip | FieldPart::Hierarchy) && (always || !op.is_skipped)
}

/// Text that is read as this part of the record; empty where the record does not have it.
fn part_text(part: &FieldPart, record: &LogRecord<'_>) -> Vec<u8> {
    let time = |write: &dyn Fn(i64) -> String| record.time_us.map(write).unwrap_or_default().into_bytes();
    let number = |number: Option<String>| number.unwrap_or_default().into_bytes();
    match part {
        FieldPart::Skip | FieldPart::Hierarchy => Vec::new(),
        FieldPart::Client => record.client.to_vec(),
        FieldPart::User => record.user.to_vec(),
        FieldPart::Host => record.host.to_vec(),
        FieldPart::Clf => time(&|time_us| clf(time_us, record.zone_seconds)),
        FieldPart::Iso | FieldPart::AnyTime => time(&|time_us| rfc3339(time_us, record.zone_seconds)),
        FieldPart::Epoch(unit) => time(&|time_us| epoch_text(time_us, *unit)),
        FieldPart::Clock(items) => time(&|time_us| clock_text(items, time_us, record.zone_seconds)),
        // What came before the protocol was not there, or no request was.
        FieldPart::Request if record.method.is_empty() && record.path.is_empty() && !record.protocol.is_empty() => {
            [b"- - ", record.protocol].concat()
        }
        FieldPart::AbsoluteRequest if record.host.is_empty() => part_text(&FieldPart::Request, record),
        // The scheme is not kept.
        FieldPart::AbsoluteRequest => {
            joined(&[record.method, &[b"-://", record.host, &target(record)].concat(), record.protocol])
        }
        FieldPart::Request => joined(&[record.method, &target(record), record.protocol]),
        FieldPart::Method => record.method.to_vec(),
        // The scheme is not kept.
        FieldPart::Url if !record.host.is_empty() => [b"-://", record.host, &target(record)].concat(),
        FieldPart::Target | FieldPart::Url => target(record),
        FieldPart::Path => record.path.to_vec(),
        FieldPart::Query => record.query.to_vec(),
        FieldPart::MarkedQuery if record.query.is_empty() => Vec::new(),
        FieldPart::MarkedQuery => [b"?", record.query].concat(),
        FieldPart::Protocol => record.protocol.to_vec(),
        FieldPart::Status => number((record.status != 0).then(|| record.status.to_string())),
        FieldPart::Bytes => number(record.bytes.map(|bytes| bytes.to_string())),
        FieldPart::Referrer => record.referrer.to_vec(),
        FieldPart::Agent => record.agent.to_vec(),
        FieldPart::EncodedReferrer => percent_encoded(record.referrer),
        FieldPart::EncodedAgent => percent_encoded(record.agent),
        FieldPart::RequestTime(unit) => number(record.request_time_us.map(|us| duration_text(us, *unit))),
        FieldPart::UpstreamTime(unit) => number(record.upstream_time_us.map(|us| duration_text(us, *unit))),
    }
}

/// The parts that are not empty, with a space between them.
fn joined(parts: &[&[u8]]) -> Vec<u8> {
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(&b' ')
}

fn target(record: &LogRecord<'_>) -> Vec<u8> {
    if record.query.is_empty() { record.path.to_vec() } else { [record.path, b"?", record.query].concat() }
}

fn epoch_text(time_us: i64, unit: Unit) -> String {
    let (whole, fraction) = (time_us.div_euclid(1_000_000), time_us.rem_euclid(1_000_000));
    match unit {
        Unit::Seconds | Unit::PointSeconds if fraction == 0 => whole.to_string(),
        Unit::Seconds | Unit::PointSeconds if fraction % 1_000 == 0 => format!("{whole}.{:03}", fraction / 1_000),
        Unit::Seconds | Unit::PointSeconds => format!("{whole}.{fraction:06}"),
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

/// `label:value` of the record's fields.
fn labels_line<'k>(
    labels: impl Iterator<Item = (&'k str, &'k FieldPart)>,
    record: &LogRecord<'_>,
    own: Option<&OwnColumns>,
) -> Vec<u8> {
    let member = |(label, part): (&str, &FieldPart)| {
        let text = part_text(part, record);
        // A line without a status or a request would be none of a log.
        let text = if text.is_empty() && *part == FieldPart::Status { b"-".to_vec() } else { text };
        (!text.is_empty()).then(|| [label.as_bytes(), b":", &text].concat())
    };
    let own = own_members(record, own).map(|(name, text, _)| [name.as_bytes(), b":", &text].concat());
    labels.filter_map(member).chain(own).collect::<Vec<_>>().join(&b'\t')
}

/// The own columns that a record has a value in: its name as the log has it, the value, and whether
/// that is a number.
fn own_members<'o>(
    record: &'o LogRecord<'_>,
    own: Option<&'o OwnColumns>,
) -> impl Iterator<Item = (String, Vec<u8>, bool)> + use<'o> {
    let variables = own.map(OwnColumns::asked).unwrap_or_default();
    let member = move |variable: LogVariable| {
        let text = own_text(&variable, record, own);
        let is_number = variable.column().unit.is_some();
        (!text.is_empty()).then(|| (variable.column().name, text, is_number))
    };
    variables.into_iter().filter_map(member)
}

fn w3c_line(columns: &W3cColumns, record: &LogRecord<'_>, own: Option<&OwnColumns>) -> Vec<u8> {
    let between = if columns.writing == W3cWriter::CloudFront { b'\t' } else { b' ' };
    let text = |(column, variable): (&W3cColumn, Option<LogVariable>)| {
        let text = match variable {
            Some(variable) => w3c_own(&variable, columns.writing, record, own),
            None => w3c_text(*column, columns.writing, record),
        };
        if text.is_empty() { b"-".to_vec() } else { text }
    };
    columns.columns.iter().zip(columns.variables()).map(text).collect::<Vec<_>>().join(&between)
}

fn w3c_text(column: W3cColumn, writing: W3cWriter, record: &LogRecord<'_>) -> Vec<u8> {
    match column {
        W3cColumn::Skip => Vec::new(),
        W3cColumn::Date | W3cColumn::Time => record.time_us.map(|time_us| w3c_time(column, time_us)).unwrap_or_default(),
        W3cColumn::Client => part_text(&FieldPart::Client, record),
        W3cColumn::User => part_text(&FieldPart::User, record),
        W3cColumn::Host => part_text(&FieldPart::Host, record),
        W3cColumn::Method => part_text(&FieldPart::Method, record),
        W3cColumn::Target => part_text(&FieldPart::Target, record),
        W3cColumn::Path => part_text(&FieldPart::Path, record),
        W3cColumn::Query => part_text(&FieldPart::Query, record),
        W3cColumn::Protocol => part_text(&FieldPart::Protocol, record),
        W3cColumn::Status => part_text(&FieldPart::Status, record),
        W3cColumn::Bytes => part_text(&FieldPart::Bytes, record),
        W3cColumn::Referrer => part_text(&FieldPart::Referrer, record),
        W3cColumn::Agent => w3c_agent(record.agent, writing),
        W3cColumn::TakenMillis => part_text(&FieldPart::RequestTime(Unit::Millis), record),
        W3cColumn::TakenSeconds => part_text(&FieldPart::RequestTime(Unit::Seconds), record),
    }
}

/// A text as the server writes it that has blanks in it.
fn w3c_own(variable: &LogVariable, writing: W3cWriter, record: &LogRecord<'_>, own: Option<&OwnColumns>) -> Vec<u8> {
    let text = own_text(variable, record, own);
    if text.contains(&b' ') || variable.column().name.starts_with("cs(") { w3c_agent(&text, writing) } else { text }
}

/// Date or time of day, in UTC.
fn w3c_time(column: W3cColumn, time_us: i64) -> Vec<u8> {
    let Civil { year, month, day, second_of_day, fraction_us, .. } = Civil::new(time_us, 0);
    if column == W3cColumn::Date {
        return format!("{year:04}-{month:02}-{day:02}").into_bytes();
    }
    let fraction = if fraction_us == 0 { String::new() } else { format!(".{fraction_us:06}") };
    format!("{:02}:{:02}:{:02}{fraction}", second_of_day / 3_600, second_of_day / 60 % 60, second_of_day % 60).into_bytes()
}

fn percent_encoded(plain: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    for byte in plain {
        match byte {
            // Into a vector nothing fails.
            0..=b' ' | b'%' | b'"' | b'+' => drop(write!(text, "%{byte:02X}")),
            _ => text.push(*byte),
        }
    }
    text
}

fn w3c_agent(agent: &[u8], writing: W3cWriter) -> Vec<u8> {
    match writing {
        W3cWriter::Iis if !agent.contains(&b'+') => agent.iter().map(|byte| if *byte == b' ' { b'+' } else { *byte }).collect(),
        W3cWriter::CloudFront => percent_encoded(agent),
        W3cWriter::Millis | W3cWriter::Seconds | W3cWriter::Other if !agent.contains(&b' ') && !agent.starts_with(b"\"") => {
            agent.to_vec()
        }
        W3cWriter::Iis | W3cWriter::Millis | W3cWriter::Seconds | W3cWriter::Other => {
            let parts: Vec<&[u8]> = agent.split(|byte| *byte == b'"').collect();
            [b"\"", &parts.join(&b"\"\""[..])[..], b"\""].concat()
        }
    }
}

fn json_line<'k>(
    keys: impl Iterator<Item = (&'k str, &'k FieldPart)>,
    record: &LogRecord<'_>,
    own: Option<&OwnColumns>,
) -> Vec<u8> {
    let mut line = b"{".to_vec();
    for (name, part) in keys {
        let text = part_text(part, record);
        // An object without a status or a request would be no line of a log.
        if text.is_empty() && *part != FieldPart::Status {
            continue;
        }
        if line.len() > 1 {
            line.push(b',');
        }
        push_string(&mut line, name.as_bytes());
        line.push(b':');
        match part {
            FieldPart::Status
            | FieldPart::Bytes
            | FieldPart::RequestTime(_)
            | FieldPart::UpstreamTime(_)
            | FieldPart::Epoch(_)
                if !text.is_empty() =>
            {
                line.extend_from_slice(&text);
            }
            _ => push_string(&mut line, if text.is_empty() { b"-" } else { &text }),
        }
    }
    for (name, text, is_number) in own_members(record, own) {
        line.extend_from_slice(if line.len() > 1 { b"," } else { b"" });
        push_string(&mut line, name.as_bytes());
        line.push(b':');
        if is_number { line.extend_from_slice(&text) } else { push_string(&mut line, &text) }
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
