//! Access logs as rows: one a line, in the columns that the log's format has.

use crate::decode::{BadRecord, Decode, DecodeNote, DecodedRecords};
use crate::text::UncheckedTexts;
use arrow_array::builder::{Float64Builder, Int64Builder, TimestampMicrosecondBuilder, UInt16Builder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field as ArrowField, Schema, SchemaRef, TimeUnit};
use rorqual_accesslog::OwnColumns;
use rorqual_accesslog::aggregate::NoteReason;
use rorqual_accesslog::filter::{Filter, Matcher, Subject};
use rorqual_accesslog::format::{Field, LogFormat};
use rorqual_accesslog::parse::{LineFlaw, LineOutcome, LogParser, LogRecord};
use rorqual_accesslog::schema::{NumberUnit, Schema as LogSchema, TextColumn, integer_of};
use rorqual_pipe::{Chunk, Error, ErrorClass};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The columns of a log in that format: `time` in microseconds UTC, `status` as u16, `bytes` as
/// u64, `request_time` and `upstream_time` in seconds as f64, as filters and reports have them, all
/// others as texts. The variables of the format's own come after them. A field that a line does not
/// have is null.
#[must_use]
pub fn schema(format: &LogFormat) -> SchemaRef {
    Arc::new(Schema::new(columns(format, &own(format))))
}

/// The same with a log's own columns, and after them the flaws that [`LogRows`] is given.
#[must_use]
pub fn schema_with_flaws(format: &LogFormat, own: &OwnColumns) -> SchemaRef {
    let has = |field: &Field| format.may_have(*field);
    Arc::new(Schema::new(with_texts(columns_of(Field::ALL.into_iter().filter(has), own), FLAWS)))
}

/// The same of several files in these formats, with the name of a line's file before its flaws.
#[must_use]
pub fn schema_of_files(formats: &[&LogFormat], own: &OwnColumns) -> SchemaRef {
    let has = |field: &Field| formats.iter().any(|format| format.may_have(*field));
    let columns = columns_of(Field::ALL.into_iter().filter(has), own);
    Arc::new(Schema::new(with_texts(columns, FILE_AND_FLAWS)))
}

fn with_texts<const N: usize>(columns: Vec<ArrowField>, names: [&str; N]) -> Vec<ArrowField> {
    columns.into_iter().chain(names.map(|name| ArrowField::new(name, DataType::Utf8, true))).collect()
}

fn columns(format: &LogFormat, own: &OwnColumns) -> Vec<ArrowField> {
    columns_of(format.fields(), own)
}

fn columns_of(fields: impl Iterator<Item = Field>, own: &OwnColumns) -> Vec<ArrowField> {
    let field = |field: Field| ArrowField::new(field.name(), data_type(field), true);
    let own = own.schema().own().iter().map(|own| ArrowField::new(&own.name, own_type(own.unit), true)).collect::<Vec<_>>();
    fields.map(field).chain(own).collect()
}

/// The own columns of a format: its variables, and no others.
fn own(format: &LogFormat) -> OwnColumns {
    let numbers = format.variables().iter().filter(|variable| variable.column().unit.is_some()).count();
    OwnColumns::new(format.variables(), format.variables().len() - numbers, numbers)
}

/// The columns of a filter of lines in that format.
#[must_use]
pub fn own_columns(format: &LogFormat) -> Arc<LogSchema> {
    own(format).schema()
}

/// Fault of a line, and the text of a rejected one.
const FLAWS: [&str; 2] = ["flaw", "line"];

/// The same after the file of a line.
const FILE_AND_FLAWS: [&str; 3] = ["file", "flaw", "line"];

fn data_type(field: Field) -> DataType {
    match field {
        Field::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        Field::Status => DataType::UInt16,
        Field::Bytes => DataType::UInt64,
        Field::RequestTime | Field::UpstreamTime => DataType::Float64,
        _ => DataType::Utf8,
    }
}

fn own_type(unit: Option<NumberUnit>) -> DataType {
    match unit {
        None => DataType::Utf8,
        Some(NumberUnit::Bytes | NumberUnit::Natural) => DataType::UInt64,
        Some(NumberUnit::Integer) => DataType::Int64,
        Some(_) => DataType::Float64,
    }
}

/// Records on their way to be a batch.
pub struct LogRows {
    schema: SchemaRef,
    columns: Vec<LogColumn>,
    /// The last of [`FILE_AND_FLAWS`].
    beside: Vec<UncheckedTexts>,
    rows: usize,
    text_bytes: usize,
}

impl LogRows {
    /// To the columns of `schema`, which are some of [`schema`]'s, or all of [`schema_with_flaws`]
    /// or [`schema_of_files`], or none: then a batch has rows and no columns. The log's `own` are
    /// those of the records.
    #[must_use]
    pub fn new(schema: &SchemaRef, own: &OwnColumns) -> Self {
        let is_beside = |column: &ArrowField| FILE_AND_FLAWS.contains(&&**column.name());
        let beside = schema.fields().iter().filter(|column| is_beside(column)).map(|_| UncheckedTexts::default()).collect();
        let own = own.schema();
        let columns = schema.fields().iter().filter(|column| !is_beside(column)).map(|field| column(field, &own)).collect();
        Self { schema: Arc::clone(schema), columns, beside, rows: 0, text_bytes: 0 }
    }

    /// Their columns.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Adds a record.
    #[inline]
    pub fn push(&mut self, record: &LogRecord<'_>) {
        self.rows += 1;
        self.columns.iter_mut().for_each(|column| column.push(record));
    }

    /// Adds a record with its file, the fault of its line, and the text of a rejected line.
    pub fn push_flawed(&mut self, record: &LogRecord<'_>, file: &[u8], flaw: &[u8], line: &[u8]) {
        self.push(record);
        let fields = self.columns.iter().filter_map(|column| column.text_of(record));
        self.text_bytes += fields.map(<[u8]>::len).sum::<usize>();
        // From the end, as the file may have no column.
        for (texts, text) in self.beside.iter_mut().rev().zip([line, flaw, file]) {
            push_text(texts, text);
            self.text_bytes += text.len();
        }
    }

    /// Bytes of the rows so far, of those that came with flaws.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.rows * (self.columns.len() + self.beside.len()) * size_of::<u64>() + self.text_bytes
    }

    /// The rows so far as a batch; `None` where there is none.
    ///
    /// # Errors
    /// When Arrow refuses the columns, which would be a defect here.
    pub fn finish(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let rows = std::mem::take(&mut self.rows);
        self.text_bytes = 0;
        if rows == 0 {
            return Ok(None);
        }
        let beside = self.beside.iter_mut().map(UncheckedTexts::finish);
        let columns = self.columns.iter_mut().map(LogColumn::finish).chain(beside).collect();
        // Of a query that only counts, no column is asked for.
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map(Some)
    }
}

/// The fields that are columns of `schema`.
fn fields(schema: &SchemaRef) -> impl Iterator<Item = Field> {
    schema.fields().iter().filter_map(|column| field(column.name()))
}

fn field(name: &str) -> Option<Field> {
    Field::ALL.into_iter().find(|field| field.name() == name)
}

/// A column of a schema: a field, or one of a log's own. One of another log has no values.
fn column(column: &ArrowField, own: &LogSchema) -> LogColumn {
    if let Some(field) = field(column.name()) {
        return LogColumn::of(field);
    }
    let text = own.text(column.name()).and_then(TextColumn::as_own);
    let number = own.number(column.name()).and_then(|number| Some((number.as_own()?, own.unit(number))));
    match (text, number) {
        (Some(number), _) => LogColumn::OwnText(number, UncheckedTexts::default()),
        (_, Some((number, unit))) => LogColumn::OwnNumber(number, unit, OwnNumbers::of(column.data_type())),
        _ => LogColumn::OwnNumber(usize::MAX, NumberUnit::Natural, OwnNumbers::of(column.data_type())),
    }
}

fn push_text(texts: &mut UncheckedTexts, text: &[u8]) {
    match text {
        [] => texts.push_null(),
        text => texts.push(text),
    }
}

/// Fault of a line that is longer than a record may be.
pub(crate) const LINE_TOO_LONG: &str = "a line that is too long";

/// Decodes lines of one format.
pub struct LogDecoder {
    parser: LogParser,
    rows: LogRows,
    span_us: Option<RangeInclusive<i64>>,
    own: Arc<OwnColumns>,
    /// Values so far that are in no column, or do not fit theirs.
    lost: (u64, usize),
    only: Option<Matcher>,
}

impl LogDecoder {
    /// A decoder to the columns of `schema`, which are some of [`schema`]'s, or none: then its
    /// batches have rows and no columns.
    #[must_use]
    pub fn new(format: &LogFormat, schema: &SchemaRef) -> Self {
        let parser = LogParser::new(format).strict().only(&fields(schema).collect::<Vec<_>>());
        let own = Arc::new(own(format));
        let has_own = schema.fields().len() > fields(schema).count();
        let parser = if has_own { parser.with_own(&own, usize::MAX) } else { parser };
        Self { parser, rows: LogRows::new(schema, &own), span_us: None, own, lost: (0, 0), only: None }
    }

    /// Notes the values of a chunk that are in no column.
    fn note_lost(&mut self, offset: u64, decoded: &mut DecodedRecords) {
        let (misfits, left_out) = (self.own.misfits(), self.own.left_out().names.len());
        if misfits > self.lost.0 {
            decoded.notes.add(DecodeNote::NoNumber, offset);
        }
        if left_out > self.lost.1 {
            decoded.notes.add(DecodeNote::LateKey, offset);
        }
        self.lost = (misfits, left_out);
    }

    /// Leaves out the lines whose time is outside of `span_us`, and those without a time. A line
    /// that can't be read is reported in either case.
    #[must_use]
    pub fn within(self, span_us: Option<RangeInclusive<i64>>) -> Self {
        Self { span_us, ..self }
    }

    /// Leaves out the lines that `filter` does not mean. A line that can't be read is reported in
    /// any case.
    #[must_use]
    pub fn only(self, filter: &Arc<Filter>) -> Self {
        // It may ask for any field, and not only for those that have a column.
        let parser = self.parser.only(&Field::ALL);
        let has_own = !self.own.schema().own().is_empty();
        let parser = if has_own { parser.with_own(&self.own, usize::MAX) } else { parser };
        Self { parser, only: Some(Matcher::new(Arc::clone(filter))), ..self }
    }
}

impl Decode for LogDecoder {
    fn decode(&mut self, chunk: &Chunk) -> Result<DecodedRecords, Error> {
        let mut decoded = DecodedRecords::default();
        for line in chunk.lines() {
            let offset = chunk.offset + line.start as u64;
            if line.long {
                // One that goes on in the next chunk is the caller's.
                if chunk.long_start() != Some(line.start) {
                    let length = (line.end - line.start) as u64;
                    decoded.bad.push(BadRecord { offset, length, at: offset, reason: LINE_TOO_LONG });
                }
                continue;
            }
            let (record, flaw) = match self.parser.parse(line.bytes) {
                LineOutcome::Parsed(record) => (record, None),
                LineOutcome::Repaired(record, flaw) => {
                    let note = if flaw == LineFlaw::SoFar { DecodeNote::SoFar } else { DecodeNote::RepairedLine };
                    decoded.notes.add(note, offset);
                    (record, Some(NoteReason::Flaw(flaw)))
                }
                LineOutcome::Blank => continue,
                LineOutcome::Rejected(LineFlaw::OtherColumns) => {
                    let message = "#Fields says other columns from here on, and rows have one kind of columns: \
                         give what is before this line and what begins with it as two files (logs and serve read both in one)";
                    return Err(Error::new(ErrorClass::Corrupt, "", message).at(offset));
                }
                LineOutcome::Rejected(flaw) => {
                    let length = (line.end - line.start) as u64;
                    decoded.bad.push(BadRecord { offset, length, at: offset, reason: reason(flaw) });
                    continue;
                }
            };
            if let Some(span_us) = &self.span_us
                && !record.time_us.is_some_and(|time_us| span_us.contains(&time_us))
            {
                decoded.outside += 1;
                continue;
            }
            if let Some(only) = &mut self.only {
                let flaw = flaw.map(|flaw| flaw.name()).unwrap_or_default();
                if !only.meets(&Subject { record: Some(&record), flaw: &flaw, line: b"" }) {
                    decoded.filtered += 1;
                    continue;
                }
            }
            self.rows.push(&record);
        }
        self.note_lost(chunk.offset, &mut decoded);
        let batch =
            self.rows.finish().map_err(|error| Error::new(ErrorClass::Corrupt, "", error.to_string()).at(chunk.offset))?;
        decoded.batches.extend(batch);
        Ok(decoded)
    }
}

enum LogColumn {
    Time(TimestampMicrosecondBuilder),
    Status(UInt16Builder),
    Number(fn(&LogRecord<'_>) -> Option<u64>, UInt64Builder),
    /// Microseconds, as seconds: the double that is nearest, so that six digits after the point are
    /// exact.
    Seconds(fn(&LogRecord<'_>) -> Option<u64>, Float64Builder),
    Text(for<'a> fn(&LogRecord<'a>) -> &'a [u8], UncheckedTexts),
    /// By its number among the own columns of texts.
    OwnText(usize, UncheckedTexts),
    OwnNumber(usize, NumberUnit, OwnNumbers),
}

/// Numbers of an own column, as the schema has them: those of several logs may be of a wider type.
enum OwnNumbers {
    Unsigned(UInt64Builder),
    Signed(Int64Builder),
    Float(Float64Builder),
    Text(UncheckedTexts),
}

impl OwnNumbers {
    fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::UInt64 => Self::Unsigned(UInt64Builder::new()),
            DataType::Int64 => Self::Signed(Int64Builder::new()),
            DataType::Float64 => Self::Float(Float64Builder::new()),
            _ => Self::Text(UncheckedTexts::default()),
        }
    }

    fn push(&mut self, unit: NumberUnit, step: Option<u64>) {
        let signed = |step: u64| if unit == NumberUnit::Integer { integer_of(step) } else { step.cast_signed() };
        match self {
            Self::Unsigned(numbers) => numbers.append_option(step),
            Self::Signed(numbers) => numbers.append_option(step.map(signed)),
            Self::Float(numbers) => numbers.append_option(step.map(|step| unit.value(step))),
            Self::Text(texts) => match (unit, step) {
                (_, None) => texts.push_null(),
                (NumberUnit::Integer, Some(step)) => texts.push(integer_of(step).to_string().as_bytes()),
                (_, Some(step)) => texts.push(unit.value(step).to_string().as_bytes()),
            },
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Unsigned(numbers) => Arc::new(numbers.finish()),
            Self::Signed(numbers) => Arc::new(numbers.finish()),
            Self::Float(numbers) => Arc::new(numbers.finish()),
            Self::Text(texts) => texts.finish(),
        }
    }
}

impl LogColumn {
    fn of(field: Field) -> Self {
        let number = |of| Self::Number(of, UInt64Builder::new());
        let seconds = |of| Self::Seconds(of, Float64Builder::new());
        match field {
            Field::Time => Self::Time(TimestampMicrosecondBuilder::new().with_timezone("UTC")),
            Field::Status => Self::Status(UInt16Builder::new()),
            Field::Bytes => number(|record| record.bytes),
            Field::RequestTime => seconds(|record| record.request_time_us),
            Field::UpstreamTime => seconds(|record| record.upstream_time_us),
            Field::Client => Self::text(|record| record.client),
            Field::User => Self::text(|record| record.user),
            Field::Host => Self::text(|record| record.host),
            Field::Method => Self::text(|record| record.method),
            Field::Path => Self::text(|record| record.path),
            Field::Query => Self::text(|record| record.query),
            Field::Protocol => Self::text(|record| record.protocol),
            Field::Referrer => Self::text(|record| record.referrer),
            Field::Agent => Self::text(|record| record.agent),
            Field::Source => Self::text(|record| record.source),
        }
    }

    fn text(of: for<'a> fn(&LogRecord<'a>) -> &'a [u8]) -> Self {
        Self::Text(of, UncheckedTexts::default())
    }

    #[inline]
    fn push(&mut self, record: &LogRecord<'_>) {
        match self {
            Self::Time(times) => times.append_option(record.time_us),
            Self::Status(statuses) => statuses.append_option((record.status != 0).then_some(record.status)),
            Self::Number(of, numbers) => numbers.append_option(of(record)),
            Self::Seconds(of, numbers) => numbers.append_option(of(record).map(|us| us as f64 / 1e6)),
            Self::Text(of, texts) => push_text(texts, of(record)),
            Self::OwnText(number, texts) => push_text(texts, record.own.map_or(&[], |own| own.text(*number))),
            Self::OwnNumber(number, unit, numbers) => numbers.push(*unit, record.own.and_then(|own| own.number(*number))),
        }
    }

    fn text_of<'a>(&self, record: &LogRecord<'a>) -> Option<&'a [u8]> {
        match self {
            Self::Text(of, _) => Some(of(record)),
            Self::OwnText(number, _) => record.own.map(|own| own.text(*number)),
            _ => None,
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Time(times) => Arc::new(times.finish().with_timezone("UTC")),
            Self::Status(statuses) => Arc::new(statuses.finish()),
            Self::Number(_, numbers) => Arc::new(numbers.finish()),
            Self::Seconds(_, numbers) => Arc::new(numbers.finish()),
            Self::Text(_, texts) | Self::OwnText(_, texts) => texts.finish(),
            Self::OwnNumber(_, _, numbers) => numbers.finish(),
        }
    }
}

/// A flaw in a few words that are the same for all lines.
fn reason(flaw: LineFlaw) -> &'static str {
    match flaw {
        LineFlaw::Start => "the line does not begin as the format says",
        LineFlaw::Unclosed(..) => "a quote or a bracket is not closed",
        LineFlaw::Missing(_) => "the line ends before its last field",
        LineFlaw::NotNumber(_) => "something else where a number should be",
        LineFlaw::TooLarge(_) => "a number that does not fit in 64 bits",
        LineFlaw::StatusRange => "a status that is not between 100 and 999",
        LineFlaw::NotTime => "a time that is not written as the format says",
        LineFlaw::ImpossibleTime => "a date or a time that does not exist",
        LineFlaw::NotRequest => "a request that is not 'METHOD target PROTOCOL'",
        LineFlaw::TextAfter => "text after the last field",
        LineFlaw::NotJson(_) => "a line that is not a JSON object",
        LineFlaw::NoLabels => "a line that is not label:value with tabs between, or has neither a status nor a request",
        LineFlaw::NoColumns => "a line before the one that says the columns (#Fields)",
        LineFlaw::OtherColumns => "other columns from here on (#Fields)",
        LineFlaw::HostFirst => "a host before the client, where the format has none",
        LineFlaw::Piece => "a piece of a line that the container's runtime cut",
        LineFlaw::NotClient => "a client that is neither an address nor a name",
        LineFlaw::TwoLines => "a line in which another begins",
        LineFlaw::SoFar => "a line that was logged before its end",
        LineFlaw::NoAccess => "a JSON object with neither a status nor a request",
    }
}
