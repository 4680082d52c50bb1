//! The columns of a batch as a row store has them: texts and numbers, and none within another.
//!
//! A member of an object is a column named by its path (`actor.login`); lists, maps and bytes are
//! texts, as CSV has them. Whole numbers, floats and moments are numbers in the steps of their
//! [`NumberUnit`]; a decimal is the nearest double, a moment is in microseconds, and NaN is absent.

use super::Csv;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, TimeUnit};
use rorqual_accesslog::schema::{NumberUnit, OwnColumn, float_step, integer_step};
use rorqual_accesslog::{ABSENT, NO_TIME};
use std::collections::HashSet;
use std::sync::Arc;

/// Names that the time of a row mostly has, the surest first; of a path the last part counts.
const TIME_NAMES: [&str; 12] = [
    "@timestamp",
    "timestamp",
    "time",
    "datetime",
    "ts",
    "date",
    "created_at",
    "created",
    "event_time",
    "start_time",
    "started",
    "time_local",
];

/// The columns of a table.
#[derive(Debug, Clone)]
pub struct FlatColumns {
    leaves: Vec<FlatColumn>,
    /// Place of the column that is the time of a row.
    time: Option<usize>,
}

#[derive(Debug, Clone)]
struct FlatColumn {
    name: String,
    field: FieldRef,
    /// Numbers of the members that lead to it, the column's first.
    path: Vec<usize>,
    unit: Option<NumberUnit>,
}

/// The values of a batch.
#[derive(Debug, Default)]
pub struct FlatBatch {
    /// Number of rows.
    pub rows: usize,
    /// Time of each row in Unix microseconds, or [`NO_TIME`]; empty where the table has no time.
    pub times_us: Vec<i64>,
    /// The columns of texts.
    pub texts: Vec<FlatTexts>,
    /// The columns of numbers in their steps, or [`ABSENT`].
    pub numbers: Vec<Vec<u64>>,
}

/// The texts of a column; the absent value is the empty text.
#[derive(Debug, Default)]
pub struct FlatTexts {
    bytes: Vec<u8>,
    /// End of each text.
    ends: Vec<usize>,
}

impl FlatTexts {
    /// The text in a row.
    #[must_use]
    pub fn text(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.bytes[start..self.ends[row]]
    }
}

impl FlatColumns {
    /// The columns of a schema. Where two would have one name, the later has its number after it.
    #[must_use]
    pub fn new(schema: &Schema) -> Self {
        let mut leaves = Vec::new();
        add_leaves(schema.fields(), "", &[], &mut leaves);
        let mut names = HashSet::new();
        for (number, leaf) in leaves.iter_mut().enumerate() {
            if !names.insert(leaf.name.clone()) {
                leaf.name = format!("{}#{}", leaf.name, number + 1);
                names.insert(leaf.name.clone());
            }
        }
        let rank = |leaf: &FlatColumn| {
            let own = leaf.name.rsplit('.').next().unwrap_or_default();
            TIME_NAMES.iter().position(|name| own.eq_ignore_ascii_case(name)).unwrap_or(TIME_NAMES.len())
        };
        let moments = leaves.iter().enumerate().filter(|(_, leaf)| leaf.unit == Some(NumberUnit::Moment));
        let time = moments.min_by_key(|(_, leaf)| rank(leaf)).map(|(place, _)| place);
        Self { leaves, time }
    }

    /// The columns, in their order.
    #[must_use]
    pub fn own(&self) -> Vec<OwnColumn> {
        self.leaves.iter().map(|leaf| OwnColumn { name: leaf.name.clone(), unit: leaf.unit }).collect()
    }

    /// Name of the column that is the time of a row.
    #[must_use]
    pub fn time(&self) -> Option<&str> {
        self.time.map(|place| &*self.leaves[place].name)
    }

    /// The values of a batch with these columns.
    ///
    /// # Errors
    /// When a type has no text.
    pub fn batch(&self, batch: &RecordBatch) -> Result<FlatBatch, ArrowError> {
        let mut flat = FlatBatch { rows: batch.num_rows(), ..FlatBatch::default() };
        for (place, leaf) in self.leaves.iter().enumerate() {
            let (array, nulls) = leaf.of(batch);
            match leaf.unit {
                None => flat.texts.push(texts(&leaf.field, &array, nulls.as_ref())?),
                Some(NumberUnit::Moment) => {
                    let moments = moments(&array)?;
                    let is_known = |row: usize| moments.is_valid(row) && nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
                    let number = |row: usize| if is_known(row) { integer_step(moments.value(row)) } else { ABSENT };
                    flat.numbers.push((0..flat.rows).map(number).collect());
                    if self.time == Some(place) {
                        let time = |row: usize| if is_known(row) { moments.value(row) } else { NO_TIME };
                        flat.times_us = (0..flat.rows).map(time).collect();
                    }
                }
                Some(unit) => flat.numbers.push(numbers(unit, &array, nulls.as_ref())?),
            }
        }
        Ok(flat)
    }
}

impl FlatColumn {
    /// Its values, and the rows in which an object around it is null.
    fn of(&self, batch: &RecordBatch) -> (ArrayRef, Option<NullBuffer>) {
        let mut array = Arc::clone(batch.column(self.path[0]));
        let mut nulls: Option<NullBuffer> = None;
        for member in &self.path[1..] {
            nulls = NullBuffer::union(nulls.as_ref(), array.nulls());
            let inner = Arc::clone(array.as_struct().column(*member));
            array = inner;
        }
        (array, nulls)
    }
}

fn add_leaves(fields: &Fields, before: &str, path: &[usize], leaves: &mut Vec<FlatColumn>) {
    for (place, field) in fields.iter().enumerate() {
        let (name, path) = (format!("{before}{}", field.name()), [path, &[place]].concat());
        match field.data_type() {
            DataType::Struct(members) if !members.is_empty() => add_leaves(members, &format!("{name}."), &path, leaves),
            data_type => leaves.push(FlatColumn { name, unit: unit(data_type), field: Arc::clone(field), path }),
        }
    }
}

fn unit(data_type: &DataType) -> Option<NumberUnit> {
    match data_type {
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => Some(NumberUnit::Integer),
        data_type if data_type.is_unsigned_integer() => Some(NumberUnit::Natural),
        data_type if data_type.is_floating() || data_type.is_decimal() => Some(NumberUnit::Float),
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => Some(NumberUnit::Moment),
        _ => None,
    }
}

fn texts(field: &Field, array: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<FlatTexts, ArrowError> {
    let batch =
        RecordBatch::try_new(Arc::new(Schema::new(vec![Field::clone(field).with_nullable(true)])), vec![Arc::clone(array)])?;
    let csv = Csv::new(&batch)?;
    let mut texts = FlatTexts::default();
    for row in 0..array.len() {
        if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
            csv.push_bare(0, row, &mut texts.bytes);
        }
        texts.ends.push(texts.bytes.len());
    }
    Ok(texts)
}

fn moments(array: &ArrayRef) -> Result<arrow_array::TimestampMicrosecondArray, ArrowError> {
    // Without its zone: a moment is one in UTC already.
    let moments = cast(array, &DataType::Timestamp(TimeUnit::Microsecond, None))?;
    Ok(moments.as_primitive::<TimestampMicrosecondType>().clone())
}

fn numbers(unit: NumberUnit, array: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<Vec<u64>, ArrowError> {
    let steps: Box<dyn Fn(usize) -> u64> = match unit {
        NumberUnit::Natural => {
            let numbers = cast(array, &DataType::UInt64)?.as_primitive::<UInt64Type>().clone();
            Box::new(move |row| if numbers.is_valid(row) { numbers.value(row).min(ABSENT - 1) } else { ABSENT })
        }
        NumberUnit::Integer => {
            let numbers = cast(array, &DataType::Int64)?.as_primitive::<Int64Type>().clone();
            Box::new(move |row| if numbers.is_valid(row) { integer_step(numbers.value(row)) } else { ABSENT })
        }
        _ => {
            let numbers = cast(array, &DataType::Float64)?.as_primitive::<Float64Type>().clone();
            let is_number = move |row: usize| numbers.is_valid(row).then(|| numbers.value(row)).filter(|number| !number.is_nan());
            Box::new(move |row| is_number(row).map_or(ABSENT, float_step))
        }
    };
    let is_there = |row: usize| nulls.is_none_or(|nulls| nulls.is_valid(row));
    Ok((0..array.len()).map(|row| if is_there(row) { steps(row) } else { ABSENT }).collect())
}
