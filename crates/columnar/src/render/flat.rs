//! The columns of a batch as a row store has them: texts and numbers, and none within another.
//!
//! A member of an object is a column named by its path (`actor.login`); lists, maps and bytes are
//! texts, as CSV has them. Whole numbers, floats and moments are numbers in the steps of their
//! [`NumberUnit`]. A decimal and a float of single precision are the doubles nearest to the digits
//! that are shown of them, so that `f = 0.1` means what a reader sees. A moment is in microseconds,
//! rounded down, and at the end of their range where it lies beyond it. NaN is absent.

use super::Csv;
use crate::pattern::push_pattern;
use crate::shape::{is_json, is_rest};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, TimeUnit};
use rorqual_accesslog::schema::{NumberUnit, OwnColumn, TextContent, float_step, integer_step};
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

/// Names that the message of a row mostly has, the surest first; of a path the last part counts.
const MESSAGE_NAMES: [&str; 8] = ["message", "msg", "log", "text", "body", "event", "error", "exception"];

/// Name of the column of the patterns of messages.
const PATTERN_NAME: &str = "pattern";

/// The columns of a table.
#[derive(Debug, Clone)]
pub struct FlatColumns {
    leaves: Vec<FlatColumn>,
    /// The column that is the message of a row, and the name of the one of its patterns, which
    /// comes after it.
    message: Option<(usize, String)>,
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
    bytes: Buffer,
    /// Start and end of the text of each row.
    ranges: Vec<(u32, u32)>,
}

impl FlatTexts {
    /// The text in a row.
    #[must_use]
    pub fn text(&self, row: usize) -> &[u8] {
        let (start, end) = self.ranges[row];
        &self.bytes[start as usize..end as usize]
    }

    /// Bytes that have all texts, and where in them the text of each row is.
    #[must_use]
    pub fn parts(&self) -> (&[u8], &[(u32, u32)]) {
        (&self.bytes, &self.ranges)
    }

    /// The text that `push` appends for each row.
    fn made(rows: usize, mut push: impl FnMut(usize, &mut Vec<u8>)) -> Result<Self, ArrowError> {
        let (mut bytes, mut ranges) = (Vec::new(), Vec::with_capacity(rows));
        let mut start = 0;
        for row in 0..rows {
            push(row, &mut bytes);
            let end = u32::try_from(bytes.len())
                .map_err(|_| ArrowError::ComputeError("texts of more than 4 GiB in one batch".to_owned()))?;
            ranges.push((start, end));
            start = end;
        }
        Ok(Self { bytes: Buffer::from_vec(bytes), ranges })
    }

    /// The texts as they are in the array, of the rows that are not null.
    fn shared(texts: &StringArray, rows: impl Iterator<Item = Option<usize>>) -> Self {
        let offsets = texts.value_offsets();
        let range = |row: usize| (offsets[row].cast_unsigned(), offsets[row + 1].cast_unsigned());
        Self { bytes: texts.values().clone(), ranges: rows.map(|row| row.map_or((0, 0), range)).collect() }
    }

    /// The pattern of each text.
    fn patterns(&self) -> Result<Self, ArrowError> {
        Self::made(self.ranges.len(), |row, out| push_pattern(out, self.text(row)))
    }
}

/// The name, or with a number after it where a column has it.
fn free_name(name: &str, leaves: &[FlatColumn]) -> String {
    let is_free = |name: &String| leaves.iter().all(|leaf| !leaf.name.eq_ignore_ascii_case(name));
    let numbered = (2..).map(|number| format!("{name}#{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
}

impl FlatColumns {
    /// The columns of a schema. Where two would have one name, the later has a number after it.
    #[must_use]
    pub fn new(schema: &Schema) -> Self {
        let mut leaves = Vec::new();
        add_leaves(schema.fields(), "", &[], &mut leaves);
        // A name with a number may be another column's own.
        let mut names: HashSet<String> = leaves.iter().map(|leaf| leaf.name.clone()).collect();
        let mut taken = HashSet::new();
        for leaf in &mut leaves {
            if !taken.insert(leaf.name.clone()) {
                let free = (2..).map(|number| format!("{}#{number}", leaf.name)).find(|name| !names.contains(name));
                leaf.name = free.unwrap_or_default();
                names.insert(leaf.name.clone());
                taken.insert(leaf.name.clone());
            }
        }
        let place = |leaf: &FlatColumn, names: &[&str]| {
            let own = leaf.name.rsplit('.').next().unwrap_or_default();
            names.iter().position(|name| own.eq_ignore_ascii_case(name))
        };
        let rank = |leaf: &FlatColumn| place(leaf, &TIME_NAMES).unwrap_or(TIME_NAMES.len());
        let is_text = |leaf: &FlatColumn| leaf.unit.is_none() && text_kind(&leaf.field) == TextContent::Text;
        let texts = leaves.iter().enumerate().filter(|(_, leaf)| is_text(leaf));
        let messages = texts.filter_map(|(number, leaf)| Some((place(leaf, &MESSAGE_NAMES)?, number)));
        let message = messages.min().map(|(_, number)| (number, free_name(PATTERN_NAME, &leaves)));
        let moments = leaves.iter().enumerate().filter(|(_, leaf)| leaf.unit == Some(NumberUnit::Moment));
        let time = moments.min_by_key(|(_, leaf)| rank(leaf)).map(|(place, _)| place);
        Self { leaves, message, time }
    }

    /// The columns of texts: the place of each among all columns, and whether its patterns are
    /// meant.
    fn texts(&self) -> impl Iterator<Item = (usize, bool)> {
        let texts = self.leaves.iter().enumerate().filter(|(_, leaf)| leaf.unit.is_none());
        texts.flat_map(|(place, _)| {
            let is_message = self.message.as_ref().is_some_and(|(message, _)| *message == place);
            std::iter::once((place, false)).chain(is_message.then_some((place, true)))
        })
    }

    /// The columns, in their order.
    #[must_use]
    pub fn own(&self) -> Vec<OwnColumn> {
        let mut own: Vec<OwnColumn> =
            self.leaves.iter().map(|leaf| OwnColumn { name: leaf.name.clone(), unit: leaf.unit }).collect();
        if let Some((message, name)) = &self.message {
            own.insert(message + 1, OwnColumn { name: name.clone(), unit: None });
        }
        own
    }

    /// The schema of a store for rows with these columns.
    #[must_use]
    pub fn schema(&self) -> rorqual_accesslog::schema::Schema {
        let time = self.time().map(str::to_owned);
        let schema = rorqual_accesslog::schema::Schema::table(self.own(), time.is_some());
        schema.with_text_kinds(self.text_kinds()).with_time(time)
    }

    /// Contents of the columns of texts, in their order.
    fn text_kinds(&self) -> Vec<TextContent> {
        let kind = |(place, is_pattern): (usize, bool)| {
            if is_pattern { TextContent::Pattern } else { text_kind(&self.leaves[place].field) }
        };
        self.texts().map(kind).collect()
    }

    /// Name of the column that is the time of a row.
    #[must_use]
    pub fn time(&self) -> Option<&str> {
        self.time.map(|place| &*self.leaves[place].name)
    }

    /// The column of values that have none of their own: its number among the columns of texts, and
    /// its name. A file's own column of that name is none, unless its values are JSON.
    #[must_use]
    pub fn rest(&self) -> Option<(usize, &str)> {
        let texts = self.texts().map(|(place, _)| &self.leaves[place]);
        let rest = texts.enumerate().find(|(_, leaf)| leaf.path.len() == 1 && is_rest(&leaf.field));
        rest.map(|(number, leaf)| (number, &*leaf.name))
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
                None => {
                    let texts = texts(&leaf.field, &array, nulls.as_ref())?;
                    let is_message = self.message.as_ref().is_some_and(|(message, _)| *message == place);
                    let patterns = is_message.then(|| texts.patterns()).transpose()?;
                    flat.texts.push(texts);
                    flat.texts.extend(patterns);
                }
                Some(NumberUnit::Moment) => {
                    let moments = moments_us(&array, nulls.as_ref())?;
                    flat.numbers.push(moments.iter().map(|moment| moment.map_or(ABSENT, integer_step)).collect());
                    if self.time == Some(place) {
                        let time = |moment: &Option<i64>| moment.map_or(NO_TIME, |moment| moment.max(NO_TIME + 1));
                        flat.times_us = moments.iter().map(time).collect();
                    }
                }
                Some(unit) => flat.numbers.push(numbers(unit, &leaf.field, &array, nulls.as_ref())?),
            }
        }
        Ok(flat)
    }
}

impl FlatColumn {
    /// Its values, and the rows in which one, or an object around it, is null.
    fn of(&self, batch: &RecordBatch) -> (ArrayRef, Option<NullBuffer>) {
        let mut array = Arc::clone(batch.column(self.path[0]));
        let mut nulls: Option<NullBuffer> = None;
        for member in &self.path[1..] {
            nulls = NullBuffer::union(nulls.as_ref(), array.nulls());
            let inner = Arc::clone(array.as_struct().column(*member));
            array = inner;
        }
        nulls = NullBuffer::union(nulls.as_ref(), array.logical_nulls().as_ref());
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
        DataType::Dictionary(_, values) => unit(values),
        _ => None,
    }
}

fn text_kind(field: &Field) -> TextContent {
    match field.data_type() {
        DataType::Boolean => TextContent::Flag,
        data_type if data_type.is_list() || is_json(field) => TextContent::Json,
        DataType::Dictionary(_, values) if values.is_string() => TextContent::Text,
        data_type if data_type.is_string() => TextContent::Text,
        _ => TextContent::Other,
    }
}

/// Of each row what `value` makes of it, and `absent` where it is null.
fn known<V>(rows: usize, nulls: Option<&NullBuffer>, absent: V, value: impl Fn(usize) -> V) -> Vec<V>
where
    V: Copy,
{
    (0..rows).map(|row| if nulls.is_none_or(|nulls| nulls.is_valid(row)) { value(row) } else { absent }).collect()
}

fn texts(field: &Field, array: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<FlatTexts, ArrowError> {
    let is_valid = |row: usize| nulls.is_none_or(|nulls| nulls.is_valid(row));
    let rows = (0..array.len()).map(|row| is_valid(row).then_some(row));
    match array.data_type() {
        DataType::Utf8 if !is_json(field) => return Ok(FlatTexts::shared(array.as_string(), rows)),
        DataType::Dictionary(_, values) if **values == DataType::Utf8 && !is_json(field) => {
            let coded = array.as_any_dictionary();
            // Without values all rows are null, and their keys may be anything.
            let keys = if coded.values().is_empty() { Vec::new() } else { coded.normalized_keys() };
            return Ok(FlatTexts::shared(coded.values().as_string(), rows.map(|row| row.map(|row| keys[row]))));
        }
        _ => {}
    }
    let batch =
        RecordBatch::try_new(Arc::new(Schema::new(vec![Field::clone(field).with_nullable(true)])), vec![Arc::clone(array)])?;
    let csv = Csv::new(&batch)?;
    FlatTexts::made(array.len(), |row, out| {
        if is_valid(row) {
            csv.push_bare(0, row, out);
        }
    })
}

fn moments_us(array: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<Vec<Option<i64>>, ArrowError> {
    let data_type = match array.data_type() {
        DataType::Dictionary(_, values) => values,
        data_type => data_type,
    };
    let (factor, divisor) = match data_type {
        DataType::Date32 => (86_400_000_000, 1),
        DataType::Date64 | DataType::Timestamp(TimeUnit::Millisecond, _) => (1_000, 1),
        DataType::Timestamp(TimeUnit::Second, _) => (1_000_000, 1),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => (1, 1_000),
        _ => (1, 1),
    };
    let units = cast(&cast(array, data_type)?, &DataType::Int64)?;
    let units = units.as_primitive::<Int64Type>();
    Ok(known(array.len(), nulls, None, |row| Some(units.value(row).saturating_mul(factor).div_euclid(divisor))))
}

fn numbers(unit: NumberUnit, field: &Field, array: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<Vec<u64>, ArrowError> {
    let step = |number: f64| if number.is_nan() { ABSENT } else { float_step(number) };
    Ok(match unit {
        NumberUnit::Natural => {
            let numbers = cast(array, &DataType::UInt64)?;
            let numbers = numbers.as_primitive::<UInt64Type>();
            known(array.len(), nulls, ABSENT, |row| numbers.value(row).min(ABSENT - 1))
        }
        NumberUnit::Integer => {
            let numbers = cast(array, &DataType::Int64)?;
            let numbers = numbers.as_primitive::<Int64Type>();
            known(array.len(), nulls, ABSENT, |row| integer_step(numbers.value(row)))
        }
        _ if *array.data_type() == DataType::Float64 => {
            let numbers = array.as_primitive::<Float64Type>();
            known(array.len(), nulls, ABSENT, |row| step(numbers.value(row)))
        }
        _ => {
            // A cast divides a decimal by a power of ten, which rounds twice.
            let texts = texts(field, array, nulls)?;
            let number = |row| std::str::from_utf8(texts.text(row)).ok().and_then(|text| text.parse().ok());
            known(array.len(), nulls, ABSENT, |row| number(row).map_or(ABSENT, step))
        }
    })
}
