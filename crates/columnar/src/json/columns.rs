//! Columns that grow: values are pushed at rows, and rows that were left out become null when the
//! next value comes.
//!
//! So a field that a record does not have costs nothing until then, and [`Struct::width`] is how
//! that memory is foreseen.

use super::records::RecordStop;
use crate::limits::NESTING_MAX;
use crate::shape::{Order, is_integer_text, is_json, is_open};
use arrow_array::builder::{ArrayBuilder, StringBuilder};
use arrow_array::types::{Date32Type, Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, ListArray, PrimitiveArray, StructArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, TimeUnit};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::Arc;

/// A column.
pub(super) enum JsonColumn {
    Bool(CellBuilder<bool>),
    Int(CellBuilder<i64>),
    UInt(CellBuilder<u64>),
    Float(CellBuilder<f64>),
    /// Moments, in units of which a second has ten to the power of the second.
    Moment(CellBuilder<i64>, u32),
    /// Days since 1970.
    Date(CellBuilder<i32>),
    Text(TextBuilder),
    /// Integers that no type of 64 bits has room for.
    Integers(TextBuilder),
    Json(TextBuilder),
    /// Nulls, empty lists and empty objects, as JSON.
    Open(TextBuilder),
    List(Box<List>),
    Struct(Box<Struct>),
}

/// Reason for which a value can't be pushed at a row: it has one already, since a key came twice.
pub(super) struct CellTaken;

/// Values of one size.
pub(super) struct CellBuilder<T> {
    values: Vec<T>,
    valid: NullBufferBuilder,
    /// Values in the batch before: as many are likely in the next.
    expected: usize,
}

/// Texts.
pub(super) struct TextBuilder {
    builder: StringBuilder,
    /// The batch has a text.
    begun: bool,
    /// Texts and their bytes in the batch before: as many are likely in the next.
    expected: (usize, usize),
}

/// Lists.
pub(super) struct List {
    pub(super) item: JsonColumn,
    field: FieldRef,
    ends: Vec<i32>,
    valid: NullBufferBuilder,
    /// Items of all lists so far.
    pub(super) items: usize,
    /// Least bytes of an item.
    pub(super) item_width: usize,
}

/// Objects.
pub(super) struct Struct {
    pub(super) columns: Vec<KeyedColumn>,
    schema: Fields,
    index: HashMap<Box<str>, u32, RandomState>,
    pub(super) order: Order,
    valid: NullBufferBuilder,
    /// Rows so far.
    pub(super) rows: usize,
}

/// A column and its key.
pub(super) struct KeyedColumn {
    key: QuotedKey,
    pub(super) column: JsonColumn,
}

/// A key as it is most likely written, with its quotes.
#[derive(Default)]
struct QuotedKey {
    quoted: Box<[u8]>,
    /// Its first bytes, to be compared at once, and where they are in 16 bytes.
    head: u128,
    mask: u128,
}

impl QuotedKey {
    fn new(name: &str) -> Self {
        let quoted = serde_json::Value::from(name).to_string().into_bytes();
        let mut head = [0; 16];
        let mut mask = [0; 16];
        for (index, byte) in quoted.iter().take(16).enumerate() {
            (head[index], mask[index]) = (*byte, 0xFF);
        }
        Self { quoted: quoted.into(), head: u128::from_le_bytes(head), mask: u128::from_le_bytes(mask) }
    }
}

impl KeyedColumn {
    /// Length of the key, if `bytes` start with it.
    #[inline]
    pub(super) fn matches(&self, bytes: &[u8]) -> Option<usize> {
        let QuotedKey { quoted, head, mask } = &self.key;
        let length = quoted.len();
        let same = match bytes.first_chunk::<16>() {
            Some(first) if length <= 16 => u128::from_le_bytes(*first) & mask == *head,
            _ => bytes.starts_with(quoted),
        };
        (same && length > 0).then_some(length)
    }
}

impl<T: Copy + Default> CellBuilder<T> {
    fn new() -> Self {
        Self { values: Vec::new(), valid: NullBufferBuilder::new(0), expected: 0 }
    }

    /// Makes `row` the next.
    #[inline]
    pub(super) fn begin(&mut self, row: usize) -> Result<(), CellTaken> {
        if self.values.len() != row {
            if self.values.len() > row {
                return Err(CellTaken);
            }
            self.pad(row);
        }
        Ok(())
    }

    fn pad(&mut self, rows: usize) {
        if self.values.capacity() == 0 {
            self.values.reserve_exact(self.expected.max(rows));
        }
        self.valid.append_n_nulls(rows - self.values.len());
        self.values.resize(rows, T::default());
    }

    #[inline]
    pub(super) fn push(&mut self, value: Option<T>) {
        if self.values.capacity() == 0 {
            self.values.reserve_exact(self.expected);
        }
        self.values.push(value.unwrap_or_default());
        self.valid.append(value.is_some());
    }

    fn take(&mut self, rows: usize) -> (Vec<T>, Option<NullBuffer>) {
        self.pad(rows);
        let mut values = std::mem::take(&mut self.values);
        if values.len() < self.expected / 2 {
            values.shrink_to_fit();
        }
        self.expected = values.len();
        (values, self.valid.finish())
    }
}

impl<T: ArrowNativeType> CellBuilder<T> {
    fn finish<P: ArrowPrimitiveType<Native = T>>(&mut self, rows: usize) -> PrimitiveArray<P> {
        let (values, valid) = self.take(rows);
        PrimitiveArray::new(ScalarBuffer::from(values), valid)
    }
}

impl TextBuilder {
    fn new() -> Self {
        Self { builder: StringBuilder::with_capacity(0, 0), begun: false, expected: (0, 0) }
    }

    #[inline]
    pub(super) fn begin(&mut self, row: usize) -> Result<(), CellTaken> {
        if self.builder.len() != row {
            if self.builder.len() > row {
                return Err(CellTaken);
            }
            self.pad(row);
        }
        Ok(())
    }

    fn pad(&mut self, rows: usize) {
        self.builder.append_nulls(rows - self.builder.len());
    }

    #[inline]
    pub(super) fn push(&mut self, text: &str) {
        if !self.begun {
            self.reserve();
        }
        self.builder.append_value(text);
    }

    /// Makes room for a batch like the one before.
    #[cold]
    fn reserve(&mut self) {
        let (texts, bytes) = self.expected;
        let mut builder = StringBuilder::with_capacity(texts, bytes);
        builder.append_nulls(self.builder.len());
        self.builder = builder;
        self.begun = true;
    }

    pub(super) fn push_null(&mut self) {
        self.builder.append_null();
    }

    fn finish(&mut self, rows: usize) -> ArrayRef {
        self.pad(rows);
        let mut array = self.builder.finish();
        let (texts, bytes) = self.expected;
        if array.len() < texts / 2 || array.value_data().len() < bytes / 2 {
            array.shrink_to_fit();
        }
        self.builder = StringBuilder::with_capacity(0, 0);
        self.begun = false;
        self.expected = (array.len(), array.value_data().len());
        Arc::new(array)
    }
}

impl List {
    #[inline]
    pub(super) fn begin(&mut self, row: usize) -> Result<(), CellTaken> {
        if self.ends.len() != row {
            if self.ends.len() > row {
                return Err(CellTaken);
            }
            self.pad(row);
        }
        Ok(())
    }

    fn pad(&mut self, rows: usize) {
        self.valid.append_n_nulls(rows - self.ends.len());
        self.ends.resize(rows, self.end());
    }

    fn end(&self) -> i32 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// All items since the last list are one; or there is none.
    #[inline]
    pub(super) fn push(&mut self, is_list: bool) {
        // A batch has fewer bytes than fit 31 bits (`row_bytes_max`), and each item takes one or
        // more.
        self.ends.push(i32::try_from(self.items).unwrap_or(i32::MAX));
        self.valid.append(is_list);
    }

    fn finish(&mut self, rows: usize) -> Result<ArrayRef, ArrowError> {
        self.pad(rows);
        let item = self.item.finish(self.items)?;
        let offsets: Vec<i32> = std::iter::once(0).chain(self.ends.drain(..)).collect();
        self.items = 0;
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        Ok(Arc::new(ListArray::try_new(Arc::clone(&self.field), offsets, item, self.valid.finish())?))
    }
}

impl Struct {
    /// Columns for these fields; those without a column (`_rest`) have a key that no object has.
    pub(super) fn new(fields: &Fields, level: usize) -> Result<Self, String> {
        let mut columns = Vec::new();
        let mut index = HashMap::default();
        for (number, field) in fields.iter().enumerate() {
            columns.push(KeyedColumn { key: QuotedKey::new(field.name()), column: JsonColumn::new(field, level + 1)? });
            index.insert(field.name().as_str().into(), number as u32);
        }
        Ok(Self { columns, schema: fields.clone(), index, order: Order::default(), valid: NullBufferBuilder::new(0), rows: 0 })
    }

    /// Hides the column from keys, and returns its number.
    pub(super) fn hide(&mut self, key: &str) -> Option<usize> {
        let hidden = self.index.remove(key)? as usize;
        self.columns[hidden].key = QuotedKey::default();
        Some(hidden)
    }

    /// The column of a key.
    pub(super) fn find(&self, key: &str) -> Option<usize> {
        self.index.get(key).map(|index| *index as usize)
    }

    /// Least bytes of a row, even if all is null.
    pub(super) fn width(&self) -> usize {
        1 + self.columns.iter().map(|keyed| keyed.column.width()).sum::<usize>()
    }

    #[inline]
    pub(super) fn begin(&mut self, row: usize) -> Result<(), CellTaken> {
        if self.rows != row {
            if self.rows > row {
                return Err(CellTaken);
            }
            self.pad(row);
        }
        Ok(())
    }

    fn pad(&mut self, rows: usize) {
        self.valid.append_n_nulls(rows - self.rows);
        self.rows = rows;
    }

    #[inline]
    pub(super) fn push(&mut self, is_object: bool) {
        self.valid.append(is_object);
        self.rows += 1;
    }

    /// The columns of all rows.
    pub(super) fn finish_columns(&mut self) -> Result<Vec<ArrayRef>, ArrowError> {
        let rows = std::mem::take(&mut self.rows);
        self.columns.iter_mut().map(|keyed| keyed.column.finish(rows)).collect()
    }

    fn finish(&mut self, rows: usize) -> Result<ArrayRef, ArrowError> {
        self.pad(rows);
        let columns = self.finish_columns()?;
        Ok(Arc::new(StructArray::try_new_with_length(self.schema.clone(), columns, self.valid.finish(), rows)?))
    }
}

impl JsonColumn {
    /// A column for a field.
    pub(super) fn new(field: &Field, level: usize) -> Result<Self, String> {
        Ok(match field.data_type() {
            DataType::Boolean => Self::Bool(CellBuilder::new()),
            DataType::Int64 => Self::Int(CellBuilder::new()),
            DataType::UInt64 => Self::UInt(CellBuilder::new()),
            DataType::Float64 => Self::Float(CellBuilder::new()),
            DataType::Timestamp(TimeUnit::Millisecond, Some(_)) => Self::Moment(CellBuilder::new(), 3),
            DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => Self::Moment(CellBuilder::new(), 6),
            DataType::Timestamp(TimeUnit::Nanosecond, Some(_)) => Self::Moment(CellBuilder::new(), 9),
            DataType::Date32 => Self::Date(CellBuilder::new()),
            DataType::Utf8 if is_open(field) => Self::Open(TextBuilder::new()),
            DataType::Utf8 if is_json(field) => Self::Json(TextBuilder::new()),
            DataType::Utf8 if is_integer_text(field) => Self::Integers(TextBuilder::new()),
            DataType::Utf8 => Self::Text(TextBuilder::new()),
            DataType::List(item) if level <= NESTING_MAX => Self::List(Box::new(Self::list(item, level)?)),
            DataType::Struct(fields) if level <= NESTING_MAX => Self::Struct(Box::new(Struct::new(fields, level)?)),
            other => return Err(format!("the column {:?} is of the type {other}, which is not decoded from JSON", field.name())),
        })
    }

    fn list(field: &FieldRef, level: usize) -> Result<List, String> {
        let item = Self::new(field, level + 1)?;
        let item_width = item.width();
        Ok(List { item, field: Arc::clone(field), ends: Vec::new(), valid: NullBufferBuilder::new(0), items: 0, item_width })
    }

    fn width(&self) -> usize {
        match self {
            Self::Bool(_) => 2,
            Self::Int(_) | Self::UInt(_) | Self::Float(_) | Self::Moment(..) => 9,
            Self::Date(_) | Self::Text(_) | Self::Integers(_) | Self::Json(_) | Self::Open(_) | Self::List(_) => 5,
            Self::Struct(columns) => columns.width(),
        }
    }

    /// A null at `row`.
    pub(super) fn push_null(&mut self, row: usize) -> Result<(), CellTaken> {
        match self {
            Self::Bool(cells) => cells.begin(row).map(|()| cells.push(None)),
            Self::Int(cells) | Self::Moment(cells, _) => cells.begin(row).map(|()| cells.push(None)),
            Self::UInt(cells) => cells.begin(row).map(|()| cells.push(None)),
            Self::Float(cells) => cells.begin(row).map(|()| cells.push(None)),
            Self::Date(cells) => cells.begin(row).map(|()| cells.push(None)),
            Self::Text(texts) | Self::Integers(texts) | Self::Json(texts) | Self::Open(texts) => {
                texts.begin(row).map(|()| texts.push_null())
            }
            Self::List(list) => list.begin(row).map(|()| list.push(false)),
            Self::Struct(columns) => columns.begin(row).map(|()| columns.push(false)),
        }
    }

    /// The array of `rows` rows; the column is empty then.
    pub(super) fn finish(&mut self, rows: usize) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Self::Bool(cells) => {
                let (values, valid) = cells.take(rows);
                Arc::new(BooleanArray::new(BooleanBuffer::from(values), valid))
            }
            Self::Int(cells) => Arc::new(cells.finish::<Int64Type>(rows)),
            Self::UInt(cells) => Arc::new(cells.finish::<UInt64Type>(rows)),
            Self::Float(cells) => Arc::new(cells.finish::<Float64Type>(rows)),
            Self::Moment(cells, digits) => moments(cells, *digits, rows),
            Self::Date(cells) => Arc::new(cells.finish::<Date32Type>(rows)),
            Self::Text(texts) | Self::Integers(texts) | Self::Json(texts) | Self::Open(texts) => texts.finish(rows),
            Self::List(list) => list.finish(rows)?,
            Self::Struct(columns) => columns.finish(rows)?,
        })
    }
}

impl From<CellTaken> for RecordStop {
    fn from(_: CellTaken) -> Self {
        Self::Duplicate
    }
}

fn moments(cells: &mut CellBuilder<i64>, digits: u32, rows: usize) -> ArrayRef {
    use arrow_array::types::{TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType};
    match digits {
        3 => Arc::new(cells.finish::<TimestampMillisecondType>(rows).with_timezone("UTC")),
        6 => Arc::new(cells.finish::<TimestampMicrosecondType>(rows).with_timezone("UTC")),
        _ => Arc::new(cells.finish::<TimestampNanosecondType>(rows).with_timezone("UTC")),
    }
}
