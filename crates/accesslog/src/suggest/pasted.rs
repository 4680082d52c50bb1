//! A pasted line of a log.

use super::{TypedReading, equals, rank};
use crate::filter::{Filter, NumberTest, net, written_name};
use crate::format::LogFormat;
use crate::parse::{LineOutcome, LogParser, LogRecord};
use crate::schema::{NumberColumn, Schema, TextColumn};
use serde_json::Value;

const SECOND_US: i64 = 1_000_000;

/// Readings of a text that is a line of a log: this line, and those that are near. None where it is
/// no such line.
#[must_use]
pub fn pasted_line(text: &str, format: &LogFormat, schema: &Schema) -> Vec<TypedReading> {
    let mut parser = LogParser::new(format);
    let record = match parser.parse(text.trim().as_bytes()) {
        LineOutcome::Parsed(record) | LineOutcome::Repaired(record, _) => record,
        LineOutcome::Rejected(_) | LineOutcome::Blank => return Vec::new(),
    };
    let Some(time_us) = record.time_us else { return Vec::new() };
    let conditions = conditions(&record, schema);
    let second = time_us.div_euclid(SECOND_US) * SECOND_US;
    let line = TypedReading {
        span_us: Some((second, second + SECOND_US)),
        ..TypedReading::new(rank::PLAIN, "this line", Filter::All(conditions))
    };
    [vec![line], near(&record)].concat()
}

/// Conditions that the line's client, request and status meet.
fn conditions(record: &LogRecord<'_>, schema: &Schema) -> Vec<Filter> {
    let texts = [
        (TextColumn::CLIENT, record.client),
        (TextColumn::METHOD, record.method),
        (TextColumn::PATH, record.path),
        (TextColumn::QUERY, record.query),
    ];
    let has = |column: &TextColumn| schema.texts().any(|known| known == *column);
    let texts = texts.into_iter().filter(|(column, text)| !text.is_empty() && has(column));
    let mut conditions: Vec<Filter> = texts.map(|(column, text)| equals(column, vec![lossy(text)])).collect();
    conditions.extend(status(record));
    conditions
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

fn status(record: &LogRecord<'_>) -> Option<Filter> {
    let status = u64::from(record.status);
    (status != 0).then(|| Filter::Number(NumberColumn::STATUS, NumberTest::range(status, status)))
}

fn near(record: &LogRecord<'_>) -> Vec<TypedReading> {
    let text = |at_rank, label: &str, column, value: String| {
        (!value.is_empty()).then(|| TypedReading::new(at_rank, format!("{label}: {value}"), equals(column, vec![value])))
    };
    let of_status =
        status(record).map(|filter| TypedReading::new(rank::ANYWHERE, format!("the same status: {}", record.status), filter));
    let near = [
        text(rank::VALUE, "the same client", TextColumn::CLIENT, lossy(record.client)),
        text(rank::IN_PATH, "the same path", TextColumn::PATH, lossy(record.path)),
        text(rank::IN_TEXT, "the same network", TextColumn::NET, net(record.client)),
        of_status,
    ];
    near.into_iter().flatten().collect()
}

/// Columns of a pasted record that are asked for, at most.
const COLUMNS_MAX: usize = 16;

/// The reading of a text that is a record of a table, as JSON. None where it is none.
#[must_use]
pub fn pasted_object(text: &str, schema: &Schema) -> Vec<TypedReading> {
    let Ok(Value::Object(members)) = serde_json::from_str(text) else { return Vec::new() };
    let condition = |(name, value): (&String, &Value)| {
        let value = match value {
            Value::String(text) => serde_json::to_string(text).ok()?,
            Value::Number(number) => serde_json::to_string(&number.to_string()).ok()?,
            Value::Bool(flag) => flag.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        schema.filter(&format!("{} = {value}", written_name(name))).ok()
    };
    let conditions: Vec<Filter> = members.iter().filter_map(condition).take(COLUMNS_MAX).collect();
    if conditions.is_empty() {
        return Vec::new();
    }
    vec![TypedReading::new(rank::PLAIN, "this row", Filter::All(conditions))]
}
