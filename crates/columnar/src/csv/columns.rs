//! Fields as columns.

use super::Dialect;
use super::cell::CsvCell;
use super::scan::{CsvFields, CsvRecords};
use crate::decode::{BadRecord, Decode, DecodeNote, DecodedRecords, Infer, Inferred, Notes, Unplaced};
use crate::limits::{BATCH_BYTES_MAX, DECODED_BYTES_MAX};
use crate::shape::{Kinds, Shape, is_integer_text, is_json, is_open, is_rest};
use crate::text::UncheckedTexts;
use arrow_array::builder::{BooleanBuilder, PrimitiveBuilder};
use arrow_array::types::{
    Date32Type, Float64Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, UInt64Type,
};
use arrow_array::{ArrayRef, ArrowPrimitiveType, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field as ArrowField, SchemaRef, TimeUnit};
use memchr::memchr;
use rorqual_pipe::{Chunk, Error, ErrorClass};
use std::cmp::Ordering;
use std::sync::Arc;

const MARK: &[u8] = b"\xef\xbb\xbf";
const FEWER: &str = "a record with fewer fields than there are columns";
const MORE: &str = "a record with more fields than there are columns";
/// Two lone quotes far from each other look so.
pub(crate) const TORN: &str = "quotes over several lines with text after them, which are not a CSV's";
const NO_UTF8: &str = "a field that is not UTF-8";

/// The records of a chunk, without the lines before the first and without empty lines: where each
/// starts, its bytes, and how many it has with its newline.
fn records<'a>(dialect: &Dialect, chunk: &Chunk, bytes: &'a [u8]) -> impl Iterator<Item = (usize, &'a [u8], usize)> {
    let first = chunk.offset == 0;
    let at = if first && bytes.starts_with(MARK) { MARK.len() } else { 0 };
    let records = CsvRecords { bytes, at, marks: dialect.marks() }.filter(|(_, record, _)| !record.is_empty());
    let before = usize::from(dialect.says_delimiter) + usize::from(dialect.header);
    records.skip(if first { before } else { 0 })
}

/// The part of a chunk that is whole records.
fn whole(chunk: &Chunk) -> &[u8] {
    &chunk.bytes[..chunk.long_start().unwrap_or(chunk.bytes.len())]
}

/// Finds out the types of the columns, whose names the dialect has.
pub(crate) struct CsvInferrer(Dialect);

impl CsvInferrer {
    pub(crate) fn new(dialect: &Dialect) -> Self {
        Self(dialect.clone())
    }
}

impl Infer for CsvInferrer {
    fn infer(&mut self, chunk: &Chunk) -> Result<Inferred, Error> {
        let mut inferred = Inferred::default();
        let Shape { record, count } = &mut inferred.shape;
        record.meet(Kinds::OBJECT, chunk.offset);
        let places: Vec<_> = self.0.names.iter().map(|name| record.fields().find_or_add(name, None, count)).collect();
        for (start, bytes, length) in records(&self.0, chunk, whole(chunk)) {
            let offset = chunk.offset + start as u64;
            if let Some(reason) = unfit(bytes, &self.0, offset, &mut inferred.notes) {
                inferred.bad.push(BadRecord { offset, length: length as u64, at: offset, reason });
                continue;
            }
            for (field, place) in CsvFields::new(bytes, self.0.marks()).zip(&places) {
                let alone = places.len() == 1 && CsvCell::is_null_alone(&field);
                let kinds = if alone { Kinds::NULL } else { CsvCell::of(&field, &self.0.rules).kinds() };
                if kinds.has(Kinds::CHANGED) {
                    inferred.notes.add(DecodeNote::NumberAsText, offset);
                }
                if let Some(place) = place {
                    record.fields().node(*place).meet(kinds, offset);
                }
            }
        }
        Ok(inferred)
    }
}

/// Reason for which a record is no row; a doubt about one that is becomes a note.
fn unfit(record: &[u8], dialect: &Dialect, offset: u64, notes: &mut Notes) -> Option<&'static str> {
    let (mut count, mut is_quoted, mut goes_on) = (0, false, false);
    for field in CsvFields::new(record, dialect.marks()) {
        if std::str::from_utf8(&field.text).is_err() {
            return Some(NO_UTF8);
        }
        if field.goes_on && memchr(b'\n', &field.text).is_some() {
            return Some(TORN);
        }
        count += 1;
        is_quoted |= field.quoted;
        goes_on |= field.goes_on;
    }
    match count.cmp(&dialect.names.len()) {
        Ordering::Less => return Some(FEWER),
        Ordering::Greater => return Some(MORE),
        Ordering::Equal => {}
    }
    if goes_on {
        notes.add(DecodeNote::TextAfterQuote, offset);
    }
    if is_quoted && memchr(b'\n', record).is_some() && dialect.doubts_lines(record) {
        notes.add(DecodeNote::LinesInQuotes, offset);
    }
    None
}

/// Decodes records.
pub(crate) struct CsvDecoder {
    dialect: Dialect,
    schema: SchemaRef,
    /// For each field of a record its column, where it has one.
    places: Vec<Option<usize>>,
    columns: Vec<CsvColumn>,
    rest: Option<usize>,
    /// Fields without a column are kept.
    keep: bool,
    rows: usize,
    bytes: usize,
}

impl CsvDecoder {
    /// A decoder to the columns of `schema`.
    pub(crate) fn new(dialect: &Dialect, schema: &SchemaRef, unplaced: Unplaced) -> Self {
        let place = |name: &String| schema.fields().iter().position(|field| field.name() == name && !is_rest(field));
        Self {
            dialect: dialect.clone(),
            schema: Arc::clone(schema),
            places: dialect.names.iter().map(place).collect(),
            columns: schema.fields().iter().map(|field| CsvColumn::of(field)).collect(),
            rest: schema.fields().iter().position(|field| is_rest(field)),
            keep: unplaced == Unplaced::Keep,
            rows: 0,
            bytes: 0,
        }
    }

    /// Adds a row; `false` when a field does not fit its column and there is no `_rest`.
    fn row(&mut self, record: &[u8], offset: u64, notes: &mut Notes) -> bool {
        let mut unplaced = serde_json::Map::new();
        for (index, field) in CsvFields::new(record, self.dialect.marks()).enumerate() {
            self.bytes += field.text.len() + size_of::<u64>();
            let place = self.places.get(index).copied().flatten();
            let is_text = place.is_some_and(|place| matches!(self.columns[place], CsvColumn::Text(_) | CsvColumn::Integers(_)));
            let cell = match self.places.len() {
                1 if !is_text && CsvCell::is_null_alone(&field) => CsvCell::Null,
                _ => CsvCell::of(&field, &self.dialect.rules),
            };
            let fits =
                place.map_or(!self.keep || matches!(cell, CsvCell::Null), |place| self.columns[place].push(&cell, &field.text));
            // It makes doubles of integers that were kept as text, where that can still be changed.
            let is_first_float = self.rest.is_none() && self.keep && cell.is_float();
            let fits =
                fits && !(is_first_float && place.is_some_and(|place| matches!(self.columns[place], CsvColumn::Integers(_))));
            if fits && cell.is_changed() {
                notes.add(DecodeNote::NumberAsText, offset);
            }
            if fits && cell.is_rounded() && place.is_some_and(|place| matches!(self.columns[place], CsvColumn::Float(_))) {
                notes.add(DecodeNote::RoundedNumber, offset);
            }
            if !fits {
                unplaced.insert(self.dialect.names[index].clone(), String::from_utf8_lossy(&field.text).into());
            }
        }
        self.rows += 1;
        // Also nulls in columns that this input does not have take memory.
        self.bytes += self.columns.len() * size_of::<u64>();
        // Columns that this input does not have, or has no fitting value for.
        for (place, column) in self.columns.iter_mut().enumerate() {
            if Some(place) != self.rest && column.rows() < self.rows {
                column.push(&CsvCell::Null, &[]);
            }
        }
        let Some(rest) = self.rest else { return unplaced.is_empty() };
        if unplaced.is_empty() {
            self.columns[rest].push(&CsvCell::Null, &[]);
        } else {
            notes.add(DecodeNote::Rest, offset);
            self.columns[rest].push_json(&serde_json::Value::Object(unplaced));
        }
        true
    }

    fn finish(&mut self, decoded: &mut DecodedRecords, offset: u64) -> Result<(), Error> {
        let rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        let columns: Vec<ArrayRef> = self.columns.iter_mut().map(CsvColumn::finish).collect();
        if rows > 0 {
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options);
            decoded.batches.push(batch.map_err(|error| Error::new(ErrorClass::Corrupt, "", error.to_string()).at(offset))?);
        }
        Ok(())
    }
}

impl Decode for CsvDecoder {
    fn decode(&mut self, chunk: &Chunk) -> Result<DecodedRecords, Error> {
        let (mut decoded, mut taken) = (DecodedRecords::default(), 0);
        let dialect = self.dialect.clone();
        for (start, record, length) in records(&dialect, chunk, whole(chunk)) {
            let offset = chunk.offset + start as u64;
            if let Some(reason) = unfit(record, &dialect, offset, &mut decoded.notes) {
                decoded.bad.push(BadRecord { offset, length: length as u64, at: offset, reason });
                continue;
            }
            if !self.row(record, offset, &mut decoded.notes) {
                self.finish(&mut DecodedRecords::default(), offset)?;
                let Inferred { shape, bad, notes } = CsvInferrer::new(&dialect).infer(chunk)?;
                return Ok(DecodedRecords { bad, notes, misfit: Some(shape), ..DecodedRecords::default() });
            }
            if self.bytes >= BATCH_BYTES_MAX {
                taken += self.bytes;
                self.finish(&mut decoded, offset)?;
            }
            if taken >= DECODED_BYTES_MAX {
                decoded.rest = Some(start + length);
                break;
            }
        }
        self.finish(&mut decoded, chunk.offset)?;
        Ok(decoded)
    }
}

/// A column that grows.
enum CsvColumn {
    Bool(BooleanBuilder),
    Int(PrimitiveBuilder<Int64Type>),
    UInt(PrimitiveBuilder<UInt64Type>),
    Float(PrimitiveBuilder<Float64Type>),
    Milliseconds(PrimitiveBuilder<TimestampMillisecondType>),
    Microseconds(PrimitiveBuilder<TimestampMicrosecondType>),
    Nanoseconds(PrimitiveBuilder<TimestampNanosecondType>),
    Date(PrimitiveBuilder<Date32Type>),
    Text(UncheckedTexts),
    /// Integers that no type of 64 bits has room for.
    Integers(UncheckedTexts),
    /// JSON text; fields are texts in it.
    Json(UncheckedTexts),
    /// Nulls.
    Open(UncheckedTexts),
}

impl CsvColumn {
    /// A column of the field's type; a type without values in CSV stays null.
    fn of(field: &ArrowField) -> Self {
        match field.data_type() {
            DataType::Boolean => Self::Bool(BooleanBuilder::new()),
            DataType::Int64 => Self::Int(PrimitiveBuilder::new()),
            DataType::UInt64 => Self::UInt(PrimitiveBuilder::new()),
            DataType::Float64 => Self::Float(PrimitiveBuilder::new()),
            DataType::Timestamp(TimeUnit::Microsecond, _) => Self::Microseconds(moments()),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => Self::Nanoseconds(moments()),
            DataType::Timestamp(..) => Self::Milliseconds(moments()),
            DataType::Date32 => Self::Date(PrimitiveBuilder::new()),
            _ if is_open(field) => Self::Open(UncheckedTexts::default()),
            _ if is_json(field) => Self::Json(UncheckedTexts::default()),
            _ if is_integer_text(field) => Self::Integers(UncheckedTexts::default()),
            _ => Self::Text(UncheckedTexts::default()),
        }
    }

    /// Adds a value; `false`, and nothing is added, when the column has no place for it.
    fn push(&mut self, cell: &CsvCell, text: &[u8]) -> bool {
        match self {
            Self::Bool(values) => match cell {
                CsvCell::Null => values.append_null(),
                CsvCell::Bool(value) => values.append_value(*value),
                _ => return false,
            },
            Self::Int(values) => return push(values, cell, CsvCell::to_int),
            Self::UInt(values) => return push(values, cell, CsvCell::to_uint),
            Self::Float(values) => return push(values, cell, CsvCell::to_float),
            Self::Milliseconds(values) => return push(values, cell, |cell| cell.to_moment(3)),
            Self::Microseconds(values) => return push(values, cell, |cell| cell.to_moment(6)),
            Self::Nanoseconds(values) => return push(values, cell, |cell| cell.to_moment(9)),
            Self::Date(values) => return push(values, cell, CsvCell::to_date),
            Self::Text(texts) | Self::Integers(texts) | Self::Json(texts) | Self::Open(texts)
                if matches!(cell, CsvCell::Null) =>
            {
                texts.push_null();
            }
            Self::Open(_) => return false,
            Self::Text(texts) | Self::Integers(texts) => texts.push(text),
            Self::Json(_) => self.push_json(&String::from_utf8_lossy(text).into()),
        }
        true
    }

    fn push_json(&mut self, value: &serde_json::Value) {
        if let Self::Json(texts) | Self::Text(texts) = self {
            texts.push(value.to_string().as_bytes());
        }
    }

    fn rows(&self) -> usize {
        use arrow_array::builder::ArrayBuilder;
        match self {
            Self::Bool(values) => values.len(),
            Self::Int(values) => values.len(),
            Self::UInt(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::Milliseconds(values) => values.len(),
            Self::Microseconds(values) => values.len(),
            Self::Nanoseconds(values) => values.len(),
            Self::Date(values) => values.len(),
            Self::Text(texts) | Self::Integers(texts) | Self::Json(texts) | Self::Open(texts) => texts.len(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Bool(values) => Arc::new(values.finish()),
            Self::Int(values) => Arc::new(values.finish()),
            Self::UInt(values) => Arc::new(values.finish()),
            Self::Float(values) => Arc::new(values.finish()),
            Self::Milliseconds(values) => Arc::new(values.finish()),
            Self::Microseconds(values) => Arc::new(values.finish()),
            Self::Nanoseconds(values) => Arc::new(values.finish()),
            Self::Date(values) => Arc::new(values.finish()),
            Self::Text(texts) | Self::Integers(texts) | Self::Json(texts) | Self::Open(texts) => texts.finish(),
        }
    }
}

fn moments<T: arrow_array::types::ArrowTimestampType>() -> PrimitiveBuilder<T> {
    PrimitiveBuilder::new().with_data_type(DataType::Timestamp(T::UNIT, Some("UTC".into())))
}

fn push<T: ArrowPrimitiveType>(
    values: &mut PrimitiveBuilder<T>,
    cell: &CsvCell,
    to: impl Fn(CsvCell) -> Option<T::Native>,
) -> bool {
    let value = to(*cell);
    let fits = value.is_some() || matches!(cell, CsvCell::Null);
    if fits {
        values.append_option(value);
    }
    fits
}
