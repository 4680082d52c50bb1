//! Records to batches: one pass over the bytes, straight into columns.

use super::columns::{CellBuilder, JsonColumn, List, Struct, TextBuilder};
use super::cursor::{Cursor, RecordFlaw, compact};
use super::infer::JsonInferrer;
use super::layout::{Layout, MEMBER_KEY, MEMBER_KEY_QUOTED, MEMBER_VALUE, MEMBER_VALUE_QUOTED};
use super::number::{Number, short_integer};
use super::records::{RecordLayout, RecordStop};
use super::rest::{PathStep, RestColumn, RestPath};
use super::string::{RawString, unescape};
use super::time::{Moment, date};
use super::unique::{unique, unique_fields};
use crate::decode::{Decode, DecodeNote, DecodedRecords, Infer, Unplaced};
use crate::limits::{BATCH_BYTES_MAX, DECODED_BYTES_MAX, ROW_FACTOR};
use crate::rules::ValueRules;
use crate::shape::{is_rest, is_whole};
use arrow_array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use rorqual_pipe::{Chunk, Error, ErrorClass};
use std::borrow::Cow;

/// Decodes JSON records.
///
/// * The integers, moments and dates of a column are those that it holds exactly, its doubles the
///   nearest ones (or exact, by the rules); any other value does not fit, and goes to `_rest`.
/// * A text column has texts, and numbers as they are written.
/// * Null and a field that is not there are the same; a record that is null goes to `_rest` as
///   null.
/// * Of a key that an object has twice, the last value counts.
/// * A text with a lone surrogate, which no UTF-8 can hold, goes to `_rest` as it is written.
pub struct JsonDecoder {
    layout: Layout,
    between: RecordLayout,
    schema: SchemaRef,
    table: Result<DecodedTable, String>,
    unplaced: Unplaced,
    rules: ValueRules,
}

/// The columns of the batch that is being filled, with their buffers.
struct DecodedTable {
    columns: Struct,
    rest_column: Option<usize>,
    whole_column: Option<usize>,
    /// Rows of records that turned out to be none.
    dead: Vec<usize>,
    /// Most bytes of the batch.
    bytes: usize,
    width: usize,
    rest: RestColumn,
    notes: Vec<(DecodeNote, u64)>,
    scratch: String,
    rules: ValueRules,
}

/// Its error names the setting beside it.
pub(crate) const TOO_LARGE: &str = "the record takes more than 5 times the longest record's bytes as columns";
const _: () = assert!(ROW_FACTOR == 5, "the message names the limit");

impl JsonDecoder {
    /// Decodes records in that layout to batches of `schema`. A record that takes more than
    /// `row_bytes_max` as columns is bad.
    #[must_use]
    pub fn new(layout: &Layout, schema: &SchemaRef, unplaced: Unplaced, row_bytes_max: usize) -> Self {
        Self {
            layout: layout.clone(),
            between: RecordLayout::of(layout),
            schema: schema.clone(),
            table: DecodedTable::new(schema, row_bytes_max),
            unplaced,
            rules: ValueRules::default(),
        }
    }

    /// The same, with values read so.
    #[must_use]
    pub fn with_rules(mut self, rules: &ValueRules) -> Self {
        if let Ok(table) = &mut self.table {
            table.rules = rules.clone();
        }
        self.rules = rules.clone();
        self
    }
}

impl DecodedTable {
    fn new(schema: &SchemaRef, row_bytes_max: usize) -> Result<Self, String> {
        let fields = schema.fields();
        let mut columns = Struct::new(fields, 0)?;
        let rest_column = fields.iter().find(|field| is_rest(field)).and_then(|field| columns.hide(field.name()));
        let whole_column = fields.iter().find(|field| is_whole(field)).and_then(|field| columns.hide(field.name()));
        let width = columns.width();
        Ok(Self {
            columns,
            rest_column,
            whole_column,
            dead: Vec::new(),
            bytes: 0,
            width,
            rest: RestColumn::new(row_bytes_max),
            notes: Vec::new(),
            scratch: String::new(),
            rules: ValueRules::default(),
        })
    }

    /// The batch so far, if it has rows.
    fn finish(&mut self, schema: &SchemaRef, decoded: &mut DecodedRecords) -> Result<(), Error> {
        let rows = self.columns.rows;
        let dead = std::mem::take(&mut self.dead);
        self.bytes = 0;
        let failed =
            |cause: arrow_schema::ArrowError| Error::new(ErrorClass::Corrupt, String::new(), format!("no batch: {cause}"));
        let columns = self.columns.finish_columns().map_err(failed)?;
        if rows == dead.len() {
            return Ok(());
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let mut batch = RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(failed)?;
        if !dead.is_empty() {
            let mut alive = vec![true; rows];
            dead.into_iter().for_each(|row| alive[row] = false);
            batch = filter_record_batch(&batch, &BooleanArray::from(alive)).map_err(failed)?;
        }
        decoded.batches.push(batch);
        Ok(())
    }
}

impl Decode for JsonDecoder {
    fn decode(&mut self, chunk: &Chunk) -> Result<DecodedRecords, Error> {
        let table = self.table.as_mut().map_err(|message| Error::new(ErrorClass::Corrupt, String::new(), message.clone()))?;
        let mut decoded = DecodedRecords::default();
        let (schema, between, unplaced) = (&self.schema, self.between, self.unplaced);
        let (mut bad, mut taken, mut rest) = (Vec::new(), 0, None);
        let walked = between.each(chunk, &mut bad, |cursor, offset| {
            let start = cursor.at();
            let read = record(cursor, offset, table, between, unplaced, &mut decoded);
            table.bytes += cursor.at() - start;
            if table.bytes >= BATCH_BYTES_MAX {
                taken += table.bytes;
                table.finish(schema, &mut decoded)?;
            }
            if taken >= DECODED_BYTES_MAX && read.is_ok() {
                rest = Some((offset - chunk.offset) as usize + cursor.at());
                return Err(RecordStop::Full);
            }
            read
        });
        decoded.bad = bad;
        decoded.rest = rest;
        table.finish(schema, &mut decoded)?;
        match walked {
            Err(RecordStop::Run(error)) => Err(error),
            Err(RecordStop::Full) => Ok(decoded),
            Err(_) => {
                let inferred = JsonInferrer::new(&self.layout).with_rules(&self.rules).infer(chunk)?;
                Ok(DecodedRecords { misfit: Some(inferred.shape), ..DecodedRecords::default() })
            }
            Ok(()) => Ok(decoded),
        }
    }
}

/// Takes one record; `offset` is that of the cursor's text.
fn record(
    cursor: &mut Cursor<'_>,
    offset: u64,
    table: &mut DecodedTable,
    between: RecordLayout,
    unplaced: Unplaced,
    decoded: &mut DecodedRecords,
) -> Result<(), RecordStop> {
    let start = cursor.at();
    let stop = match table.row(cursor, offset, between, unplaced) {
        Ok(()) => {
            table.close_row(offset + start as u64, decoded);
            return Ok(());
        }
        Err(RecordStop::Flaw(flaw)) => return Err(flaw.into()),
        Err(stop) => stop,
    };
    // A record that is bad further on is no reason to look at it again.
    cursor.move_to(start);
    let (value, record) = between.skip(cursor)?;
    between.check_after(cursor)?;
    let RecordStop::Duplicate = stop else { return Err(stop) };
    decoded.notes.add(DecodeNote::DuplicateKey, offset + start as u64);
    let text = table.unique(record, value, between)?;
    match table.row(&mut Cursor::new(&text, false), offset + start as u64, between, unplaced) {
        Ok(()) => {
            table.close_row(offset + start as u64, decoded);
            Ok(())
        }
        Err(RecordStop::Flaw(flaw)) => Err(RecordFlaw { at: start, ..flaw }.into()),
        Err(stop) => Err(stop),
    }
}

impl DecodedTable {
    /// A record with each key once; its value begins at `value`.
    fn unique(&self, record: &str, value: usize, between: RecordLayout) -> Result<String, RecordFlaw> {
        let (key, value) = record.split_at(value);
        let (mut cursor, mut text) = (Cursor::new(value, false), String::with_capacity(record.len()));
        text.push_str(key);
        let column = if between == RecordLayout::Members { self.columns.find(MEMBER_VALUE) } else { self.whole_column };
        match column {
            Some(column) => unique(&mut cursor, &self.columns.columns[column].column, &mut text)?,
            None => unique_fields(&mut cursor, &self.columns, &mut text)?,
        }
        Ok(text)
    }

    /// Makes a row of the record at the cursor; one that fails is marked as dead.
    fn row(&mut self, cursor: &mut Cursor<'_>, offset: u64, between: RecordLayout, unplaced: Unplaced) -> Result<(), RecordStop> {
        let row = self.columns.rows;
        self.rest.clear();
        self.notes.clear();
        let mut reader = RecordReader {
            cursor,
            offset,
            unplaced,
            rules: &self.rules,
            rest_column: self.rest_column,
            rest: &mut self.rest,
            notes: &mut self.notes,
            scratch: &mut self.scratch,
            bytes: self.width,
        };
        let mut read = match between {
            RecordLayout::Members => reader.member(&mut self.columns, row),
            _ => reader.record(&mut self.columns, self.whole_column, row),
        };
        if read.is_ok() {
            read = between.check_after(reader.cursor).map_err(RecordStop::Flaw);
        }
        self.bytes += reader.bytes;
        self.columns.rows = row + 1;
        if read.is_err() {
            self.dead.push(row);
        }
        read
    }

    /// The rest of the last row, which is sound and not in its columns yet.
    fn close_row(&mut self, offset: u64, decoded: &mut DecodedRecords) {
        for (note, offset) in &self.notes {
            decoded.notes.add(*note, *offset);
        }
        if self.rest.len() == 0 {
            return;
        }
        let Some(JsonColumn::Json(texts)) = self.rest_column.map(|index| &mut self.columns.columns[index].column) else {
            return;
        };
        self.scratch.clear();
        if self.rest.object(&mut self.scratch) {
            decoded.notes.add(DecodeNote::DuplicateKey, offset);
        }
        decoded.notes.add(DecodeNote::Rest, offset);
        self.bytes += self.scratch.len();
        if texts.begin(self.columns.rows - 1).is_ok() {
            texts.push(&self.scratch);
        }
    }
}

/// Reads one record.
struct RecordReader<'a, 't> {
    cursor: &'a mut Cursor<'t>,
    /// Of the cursor's text.
    offset: u64,
    unplaced: Unplaced,
    rules: &'a ValueRules,
    rest_column: Option<usize>,
    rest: &'a mut RestColumn,
    notes: &'a mut Vec<(DecodeNote, u64)>,
    scratch: &'a mut String,
    /// Bytes of the items of lists, beside their texts.
    bytes: usize,
}

/// A value that is in no column yet.
enum JsonValue<'t> {
    Null,
    Bool(bool),
    Number(&'t str),
    Text(RawString<'t>),
    Nested,
}

impl<'t> JsonValue<'t> {
    /// A text that UTF-8 can hold.
    #[inline]
    fn text(&self) -> Option<Cow<'t, str>> {
        match self {
            Self::Text(raw) if !raw.escaped => Some(Cow::Borrowed(raw.body)),
            Self::Text(raw) => {
                let mut text = String::new();
                let lone = unescape(raw.body, raw.start, &mut text).ok()?;
                (!lone).then_some(Cow::Owned(text))
            }
            _ => None,
        }
    }
}

impl<'t> RecordReader<'_, 't> {
    fn record(&mut self, columns: &mut Struct, whole: Option<usize>, row: usize) -> Result<(), RecordStop> {
        let path = RestPath { above: None, step: PathStep::Record };
        if let Some(whole) = whole {
            return self.value(&mut columns.columns[whole].column, row, &path);
        }
        match self.cursor.peek()? {
            b'{' => self.fields(columns, row, &path),
            _ => {
                let start = self.cursor.at();
                self.cursor.skip()?;
                self.unplaced(start, &path)
            }
        }
    }

    /// A member of an object that is used as a map: its key and its value are the columns.
    fn member(&mut self, columns: &mut Struct, row: usize) -> Result<(), RecordStop> {
        let record = RestPath { above: None, step: PathStep::Record };
        self.part(columns, row, &record, (MEMBER_KEY, MEMBER_KEY_QUOTED))?;
        self.cursor.colon()?;
        self.part(columns, row, &record, (MEMBER_VALUE, MEMBER_VALUE_QUOTED))
    }

    fn part(
        &mut self,
        columns: &mut Struct,
        row: usize,
        record: &RestPath<'_>,
        (name, quoted): (&str, &str),
    ) -> Result<(), RecordStop> {
        let path = RestPath { above: Some(record), step: PathStep::Key(quoted) };
        match columns.find(name) {
            Some(index) => self.value(&mut columns.columns[index].column, row, &path),
            None => self.unknown(&path),
        }
    }

    fn value(&mut self, column: &mut JsonColumn, row: usize, path: &RestPath<'_>) -> Result<(), RecordStop> {
        if !self.rules.nulls.is_empty() && self.null_text()? {
            return Ok(column.push_null(row)?);
        }
        match column {
            JsonColumn::Text(texts) => self.text(texts, row, path),
            JsonColumn::Int(cells) => {
                cells.begin(row)?;
                if let Some((value, length)) = short_integer(self.cursor.rest()) {
                    self.cursor.advance(length);
                    cells.push(Some(value));
                    return Ok(());
                }
                self.cell(cells, path, |value| match value {
                    JsonValue::Number(literal) => Number::of(literal).to_signed(),
                    _ => None,
                })
            }
            JsonColumn::Bool(cells) => {
                cells.begin(row)?;
                self.cell(cells, path, |value| if let JsonValue::Bool(value) = value { Some(*value) } else { None })
            }
            JsonColumn::Struct(columns) => self.object(columns, row, path),
            JsonColumn::List(list) => self.list(list, row, path),
            JsonColumn::Moment(cells, digits) => {
                cells.begin(row)?;
                self.cell(cells, path, |value| Moment::parse(&value.text()?)?.in_units(*digits))
            }
            JsonColumn::Date(cells) => {
                cells.begin(row)?;
                self.cell(cells, path, |value| date(&value.text()?))
            }
            JsonColumn::Float(cells) => {
                cells.begin(row)?;
                self.float(cells, path)
            }
            JsonColumn::UInt(cells) => {
                cells.begin(row)?;
                self.cell(cells, path, |value| match value {
                    JsonValue::Number(literal) => Number::of(literal).to_unsigned(),
                    _ => None,
                })
            }
            JsonColumn::Integers(texts) => self.integer_text(texts, row, path),
            JsonColumn::Json(texts) => self.json(texts, row),
            JsonColumn::Open(texts) => self.open(texts, row),
        }
    }

    fn float(&mut self, cells: &mut CellBuilder<f64>, path: &RestPath<'_>) -> Result<(), RecordStop> {
        let (start, rules, mut rounded) = (self.cursor.at(), self.rules, false);
        self.cell(cells, path, |value| {
            let JsonValue::Number(literal) = value else { return None };
            let number = rules.number(literal);
            rounded = number.is_rounded_by_float();
            number.to_float()
        })?;
        if rounded {
            self.notes.push((DecodeNote::RoundedNumber, self.offset + start as u64));
        }
        Ok(())
    }

    /// Takes a text that stands for null, if one is here.
    fn null_text(&mut self) -> Result<bool, RecordFlaw> {
        if self.cursor.peek()? != b'"' {
            return Ok(false);
        }
        let raw = self.cursor.string()?;
        let text = JsonValue::Text(raw).text();
        let is_null = text.is_some_and(|text| self.rules.is_null(text.as_bytes()));
        if !is_null {
            self.cursor.step_back(raw);
        }
        Ok(is_null)
    }

    /// Takes a value of one size, which `fit` turns into one of the column.
    #[inline]
    fn cell<T: Copy + Default>(
        &mut self,
        cells: &mut CellBuilder<T>,
        path: &RestPath<'_>,
        fit: impl FnOnce(&JsonValue<'t>) -> Option<T>,
    ) -> Result<(), RecordStop> {
        let start = self.cursor.at();
        let value = self.take()?;
        let fitting = fit(&value);
        cells.push(fitting);
        if fitting.is_none() && !matches!(value, JsonValue::Null) { self.misfit(start, path) } else { Ok(()) }
    }

    /// Takes any value, and checks it.
    #[inline]
    fn take(&mut self) -> Result<JsonValue<'t>, RecordFlaw> {
        self.cursor.spaced = false;
        Ok(match self.cursor.peek()? {
            b'n' => self.cursor.word("null").map(|()| JsonValue::Null)?,
            b't' => self.cursor.word("true").map(|()| JsonValue::Bool(true))?,
            b'f' => self.cursor.word("false").map(|()| JsonValue::Bool(false))?,
            b'-' | b'0'..=b'9' => JsonValue::Number(self.cursor.number()?),
            b'"' => {
                let raw = self.cursor.string()?;
                raw.check()?;
                JsonValue::Text(raw)
            }
            _ => {
                self.cursor.skip()?;
                JsonValue::Nested
            }
        })
    }

    fn text(&mut self, texts: &mut TextBuilder, row: usize, path: &RestPath<'_>) -> Result<(), RecordStop> {
        texts.begin(row)?;
        let start = self.cursor.at();
        if self.cursor.peek()? == b'"' {
            let raw = self.cursor.string()?;
            if !raw.escaped {
                texts.push(raw.body);
                return Ok(());
            }
            return self.escaped_text(texts, raw, path);
        }
        match self.take()? {
            JsonValue::Number(literal) => {
                if self.rules.number(literal).is_text_among_integers() {
                    self.notes.push((DecodeNote::NumberAsText, self.offset + start as u64));
                }
                texts.push(literal);
            }
            JsonValue::Null | JsonValue::Text(_) => texts.push_null(),
            // As a text it would be the same as "true".
            JsonValue::Nested | JsonValue::Bool(_) => {
                texts.push_null();
                return self.misfit(start, path);
            }
        }
        Ok(())
    }

    /// A number with a point makes doubles of integers that were kept as text, where that can still
    /// be changed.
    fn integer_text(&mut self, texts: &mut TextBuilder, row: usize, path: &RestPath<'_>) -> Result<(), RecordStop> {
        let start = self.cursor.at();
        self.text(texts, row, path)?;
        let text = &self.cursor.text()[start..self.cursor.at()];
        let known = self.rest_column.is_some() || self.unplaced == Unplaced::Ignore;
        let is_float = || matches!(self.rules.number(text.trim_ascii()), Number::Float(_) | Number::Rounded(_));
        let is_number = text.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
        if !known && is_number && is_float() { Err(RecordStop::Misfit) } else { Ok(()) }
    }

    fn escaped_text(&mut self, texts: &mut TextBuilder, raw: RawString<'_>, path: &RestPath<'_>) -> Result<(), RecordStop> {
        self.scratch.clear();
        let lone = unescape(raw.body, raw.start, self.scratch)?;
        if lone {
            let is_kept = self.rest_column.is_some() || self.unplaced == Unplaced::Keep;
            let note = if is_kept { DecodeNote::LoneSurrogate } else { DecodeNote::ReplacedSurrogate };
            self.notes.push((note, self.offset + raw.start as u64 - 1));
            if is_kept {
                texts.push_null();
                return self.misfit(raw.start - 1, path);
            }
        }
        texts.push(self.scratch);
        Ok(())
    }

    fn json(&mut self, texts: &mut TextBuilder, row: usize) -> Result<(), RecordStop> {
        texts.begin(row)?;
        if self.cursor.peek()? == b'n' {
            self.cursor.word("null")?;
            texts.push_null();
            return Ok(());
        }
        self.cursor.spaced = false;
        let text = self.cursor.skip()?;
        if self.cursor.spaced {
            self.scratch.clear();
            compact(text, self.scratch);
            texts.push(self.scratch);
        } else {
            texts.push(text);
        }
        Ok(())
    }

    /// A column of which nothing is known gets its type by its first value, where that can still be
    /// changed.
    fn open(&mut self, texts: &mut TextBuilder, row: usize) -> Result<(), RecordStop> {
        let start = self.cursor.at();
        self.json(texts, row)?;
        let text = &self.cursor.text()[start..self.cursor.at()];
        let empty = |open, close| {
            text.trim_ascii()
                .strip_prefix(open)
                .and_then(|rest| rest.strip_suffix(close))
                .is_some_and(|rest| rest.trim_ascii().is_empty())
        };
        let known = self.rest_column.is_some() || self.unplaced == Unplaced::Ignore;
        if known || text.trim_ascii() == "null" || empty('[', ']') || empty('{', '}') { Ok(()) } else { Err(RecordStop::Misfit) }
    }

    fn list(&mut self, list: &mut List, row: usize, path: &RestPath<'_>) -> Result<(), RecordStop> {
        list.begin(row)?;
        if self.cursor.peek()? != b'[' {
            list.push(false);
            return self.no_container(path);
        }
        let read = self.items(list, path);
        // Also of a record that fails: its values belong to its row.
        list.push(true);
        read
    }

    fn items(&mut self, list: &mut List, path: &RestPath<'_>) -> Result<(), RecordStop> {
        let start = list.items;
        let mut goes_on = !self.cursor.enter(b']')?;
        while goes_on {
            self.bytes += list.item_width;
            if self.bytes > self.rest.bytes_max {
                return Err(self.cursor.flaw(TOO_LARGE).into());
            }
            let item = list.items;
            list.items += 1;
            let below = RestPath { above: Some(path), step: PathStep::Item(item - start) };
            self.value(&mut list.item, item, &below)?;
            goes_on = self.cursor.goes_on(b']')?;
        }
        Ok(())
    }

    fn object(&mut self, columns: &mut Struct, row: usize, path: &RestPath<'_>) -> Result<(), RecordStop> {
        columns.begin(row)?;
        let is_object = self.cursor.peek()? == b'{';
        columns.push(is_object);
        if is_object { self.fields(columns, row, path) } else { self.no_container(path) }
    }

    /// A value where an object or an array has its place.
    fn no_container(&mut self, path: &RestPath<'_>) -> Result<(), RecordStop> {
        let start = self.cursor.at();
        match self.take()? {
            JsonValue::Null => Ok(()),
            _ => self.misfit(start, path),
        }
    }

    fn fields(&mut self, columns: &mut Struct, row: usize, path: &RestPath<'_>) -> Result<(), RecordStop> {
        let mut previous = None;
        let mut goes_on = !self.cursor.enter(b'}')?;
        while goes_on {
            let (start, end, column) = self.field(columns, previous)?;
            let text = self.cursor.text();
            let below = RestPath { above: Some(path), step: PathStep::Key(&text[start..end]) };
            match column {
                Some(index) => {
                    self.value(&mut columns.columns[index].column, row, &below)?;
                    previous = Some(index);
                }
                None => self.unknown(&below)?,
            }
            goes_on = self.cursor.goes_on(b'}')?;
        }
        Ok(())
    }

    /// Takes a key and its colon: where the key starts and ends, and the column it names.
    #[inline]
    fn field(&mut self, columns: &mut Struct, previous: Option<usize>) -> Result<(usize, usize, Option<usize>), RecordStop> {
        let start = self.cursor.at();
        let guess = columns.order.guess(previous);
        if let Some(length) = columns.columns.get(guess).and_then(|keyed| keyed.matches(self.cursor.rest())) {
            self.cursor.advance(length);
            let end = self.cursor.at();
            self.cursor.colon()?;
            return Ok((start, end, Some(guess)));
        }
        let raw = self.cursor.key()?;
        let end = self.cursor.at();
        let column = self.find(columns, raw)?;
        if let Some(column) = column {
            columns.order.learn(previous, column);
        }
        self.cursor.colon()?;
        Ok((start, end, column))
    }

    fn find(&mut self, columns: &Struct, raw: RawString<'_>) -> Result<Option<usize>, RecordFlaw> {
        if !raw.escaped {
            return Ok(columns.find(raw.body));
        }
        self.scratch.clear();
        let lone = unescape(raw.body, raw.start, self.scratch)?;
        Ok(if lone { None } else { columns.find(self.scratch) })
    }

    /// Takes a value whose key has no column.
    fn unknown(&mut self, path: &RestPath<'_>) -> Result<(), RecordStop> {
        let start = self.cursor.at();
        self.cursor.spaced = false;
        self.cursor.skip()?;
        self.unplaced(start, path)
    }

    fn unplaced(&mut self, start: usize, path: &RestPath<'_>) -> Result<(), RecordStop> {
        if self.unplaced == Unplaced::Ignore { Ok(()) } else { self.misfit(start, path) }
    }

    /// The value that was just taken from `start` on has no place.
    #[cold]
    fn misfit(&mut self, start: usize, path: &RestPath<'_>) -> Result<(), RecordStop> {
        if self.rest_column.is_none() {
            return Err(RecordStop::Misfit);
        }
        let value = &self.cursor.text()[start..self.cursor.at()];
        if self.rest.add(path, value, self.cursor.spaced) { Ok(()) } else { Err(self.cursor.flaw(TOO_LARGE).into()) }
    }
}
