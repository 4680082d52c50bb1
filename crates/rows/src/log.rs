//! Access logs as rows: one a line, in the columns that the log's format has.

use crate::decode::{Bad, Decode, Decoded, Note};
use crate::text::Texts;
use arrow_array::builder::{TimestampMicrosecondBuilder, UInt16Builder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field as ArrowField, Schema, SchemaRef, TimeUnit};
use rorqual_pipe::{Chunk, Error, Kind};
use rorqual_table::format::{Field, Format};
use rorqual_table::parse::{Flaw, Outcome, Parser, Record};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The columns of a log in that format: `time` in microseconds UTC, `status` as u16, `bytes` as u64, `request_time` and
/// `upstream_time` in microseconds as u64, all others as texts. What a line does not have is null.
#[must_use]
pub fn schema(format: &Format) -> SchemaRef {
    let field = |field: Field| ArrowField::new(field.name(), data_type(field), true);
    Arc::new(Schema::new(format.fields().map(field).collect::<Vec<_>>()))
}

fn data_type(field: Field) -> DataType {
    match field {
        Field::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        Field::Status => DataType::UInt16,
        Field::Bytes | Field::RequestTime | Field::UpstreamTime => DataType::UInt64,
        _ => DataType::Utf8,
    }
}

/// Decodes lines of one format.
pub struct Decoder {
    parser: Parser,
    schema: SchemaRef,
    columns: Vec<Column>,
    span_us: Option<RangeInclusive<i64>>,
}

impl Decoder {
    /// A decoder to the columns of `schema`, which are some of [`schema`]'s, or none: then its batches have rows and no columns.
    #[must_use]
    pub fn new(format: &Format, schema: &SchemaRef) -> Self {
        let fields =
            schema.fields().iter().filter_map(|column| Field::ALL.into_iter().find(|field| field.name() == column.name()));
        let parser = Parser::new(format).only(&fields.clone().collect::<Vec<_>>());
        Self { parser, schema: Arc::clone(schema), columns: fields.map(Column::of).collect(), span_us: None }
    }

    /// Leaves out the lines whose time is outside of `span_us`, and those that have none. A line that can't be read is told whether it is
    /// inside or not.
    #[must_use]
    pub fn within(self, span_us: Option<RangeInclusive<i64>>) -> Self {
        Self { span_us, ..self }
    }
}

impl Decode for Decoder {
    fn decode(&mut self, chunk: &Chunk) -> Result<Decoded, Error> {
        let mut decoded = Decoded::default();
        let mut rows = 0;
        for line in chunk.lines().filter(|line| !line.long) {
            let offset = chunk.offset + line.start as u64;
            let record = match self.parser.parse(line.bytes) {
                Outcome::Parsed(record) => record,
                Outcome::Repaired(record, _) => {
                    decoded.notes.add(Note::RepairedLine, offset);
                    record
                }
                Outcome::Blank => continue,
                Outcome::Rejected(flaw) => {
                    let ended = line.start + line.bytes.len() < chunk.bytes.len();
                    let length = line.bytes.len() as u64 + u64::from(ended);
                    decoded.bad.push(Bad { offset, length, at: offset, reason: reason(flaw) });
                    continue;
                }
            };
            if let Some(span_us) = &self.span_us
                && !record.time_us.is_some_and(|time_us| span_us.contains(&time_us))
            {
                decoded.outside += 1;
                continue;
            }
            rows += 1;
            self.columns.iter_mut().for_each(|column| column.push(&record));
        }
        if rows > 0 {
            let columns = self.columns.iter_mut().map(Column::finish).collect();
            // Of a query that only counts, no column is asked for.
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options);
            decoded.batches.push(batch.map_err(|error| Error::new(Kind::Corrupt, "", error.to_string()).at(chunk.offset))?);
        }
        Ok(decoded)
    }
}

enum Column {
    Time(TimestampMicrosecondBuilder),
    Status(UInt16Builder),
    Number(fn(&Record<'_>) -> Option<u64>, UInt64Builder),
    Text(for<'a> fn(&Record<'a>) -> &'a [u8], Texts),
}

impl Column {
    fn of(field: Field) -> Self {
        let number = |of| Self::Number(of, UInt64Builder::new());
        match field {
            Field::Time => Self::Time(TimestampMicrosecondBuilder::new().with_timezone("UTC")),
            Field::Status => Self::Status(UInt16Builder::new()),
            Field::Bytes => number(|record| record.bytes),
            Field::RequestTime => number(|record| record.request_time_us),
            Field::UpstreamTime => number(|record| record.upstream_time_us),
            Field::Client => Self::text(|record| record.client),
            Field::User => Self::text(|record| record.user),
            Field::Host => Self::text(|record| record.host),
            Field::Method => Self::text(|record| record.method),
            Field::Path => Self::text(|record| record.path),
            Field::Query => Self::text(|record| record.query),
            Field::Protocol => Self::text(|record| record.protocol),
            Field::Referrer => Self::text(|record| record.referrer),
            Field::Agent => Self::text(|record| record.agent),
        }
    }

    fn text(of: for<'a> fn(&Record<'a>) -> &'a [u8]) -> Self {
        Self::Text(of, Texts::default())
    }

    #[inline]
    fn push(&mut self, record: &Record<'_>) {
        match self {
            Self::Time(times) => times.append_option(record.time_us),
            Self::Status(statuses) => statuses.append_option((record.status != 0).then_some(record.status)),
            Self::Number(of, numbers) => numbers.append_option(of(record)),
            Self::Text(of, texts) => match of(record) {
                [] => texts.push_null(),
                text => texts.push(text),
            },
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Time(times) => Arc::new(times.finish().with_timezone("UTC")),
            Self::Status(statuses) => Arc::new(statuses.finish()),
            Self::Number(_, numbers) => Arc::new(numbers.finish()),
            Self::Text(_, texts) => texts.finish(),
        }
    }
}

/// A flaw in a few words that are the same for all lines.
fn reason(flaw: Flaw) -> &'static str {
    match flaw {
        Flaw::Start => "the line does not begin as the format says",
        Flaw::Unclosed(..) => "a quote or a bracket is not closed",
        Flaw::Missing(_) => "the line ends before its last field",
        Flaw::NotNumber(_) => "something else where a number should be",
        Flaw::TooLarge(_) => "a number that does not fit in 64 bits",
        Flaw::StatusRange => "a status that is not between 100 and 999",
        Flaw::NotTime => "a time that is not written as the format says",
        Flaw::ImpossibleTime => "a date or a time that does not exist",
        Flaw::NotRequest => "a request that is not 'METHOD target PROTOCOL'",
        Flaw::TextAfter => "text after the last field",
        Flaw::NotJson(_) => "a line that is no JSON object",
        Flaw::NoAccess => "a JSON object with neither a status nor a request",
    }
}
