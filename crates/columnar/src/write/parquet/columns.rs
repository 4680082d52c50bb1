//! A schema taken apart: columns that are encoded each for itself.

use super::encoding::{EncodingChoice, Encodings};
use super::weight::{ARRAY_BYTES, ArrayWeight};
use crate::decimals::check_digits;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericListArray, OffsetSizeTrait, RecordBatch, StructArray};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use arrow_select::concat::concat;
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::SerializedFileWriter;
use std::iter::Peekable;
use std::sync::{Arc, OnceLock};

/// Bytes of arrays that are encoded as one; an encoder has them beside its own memory.
const RUN_BYTES_MAX: usize = 1 << 20;

/// A column: a leaf of the schema, or a part that can't be taken apart further (a map).
pub(super) struct LeafColumn {
    /// Field of the schema that it is in.
    top: usize,
    /// Child of each struct on the way to it.
    steps: Vec<usize>,
    /// The field with nothing in it but this column.
    pub(super) field: FieldRef,
    /// Names on the way to it, with dots between them.
    pub(super) path: String,
    /// Makers of encoders, by [`EncodingChoice`].
    makers: [OnceLock<ArrowRowGroupWriterFactory>; EncodingChoice::COUNT],
}

/// A batch taken apart.
pub(in crate::write) struct Split {
    /// Number of its rows.
    pub(super) rows: usize,
    /// Bytes of its arrays.
    pub(super) bytes: usize,
    /// An array for each column.
    pub(super) arrays: Vec<ArrayRef>,
}

/// The columns of a schema, in its order.
pub(super) fn columns(schema: &Schema) -> Vec<LeafColumn> {
    let mut found = Vec::new();
    for (top, field) in schema.fields().iter().enumerate() {
        descend(field, &mut Vec::new(), &mut |steps| {
            let path = path(field, steps);
            found.push(LeafColumn {
                top,
                steps: steps.to_vec(),
                field: narrowed(field, steps),
                path,
                makers: Default::default(),
            });
        });
    }
    found
}

/// Takes a batch apart.
pub(super) fn split(columns: &[LeafColumn], batch: &RecordBatch) -> Split {
    // Structs and lists on the way to a column are its own.
    let ways: usize = columns.iter().map(|column| column.steps.len()).sum();
    let bytes = ArrayWeight::of(batch.columns()) + ways * ARRAY_BYTES;
    let arrays = columns.iter().map(|column| narrow(batch.column(column.top), &column.field, &column.steps)).collect();
    Split { rows: batch.num_rows(), bytes, arrays }
}

impl LeafColumn {
    /// Encodes all rows of a row group; an array is freed once it is encoded.
    pub(super) fn encode(&self, arrays: Vec<ArrayRef>, encodings: &Encodings) -> Result<Vec<ArrowColumnChunk>> {
        let style = encodings.style(&arrays);
        let mut writers = self.writers(style, encodings)?;
        let mut arrays = arrays.into_iter().peekable();
        while let Some(array) = next_run(&mut arrays)? {
            check_digits(&array).map_err(|error| ParquetError::General(format!("the column '{}': {error}", self.path)))?;
            for (writer, leaf) in writers.iter_mut().zip(compute_leaves(&self.field, &array)?) {
                writer.write(&leaf)?;
            }
        }
        writers.into_iter().map(ArrowColumnWriter::close).collect()
    }

    fn writers(&self, style: EncodingChoice, encodings: &Encodings) -> Result<Vec<ArrowColumnWriter>> {
        let maker = &self.makers[style as usize];
        if maker.get().is_none() {
            // Two may make it at once; either is as good.
            let _ = maker.set(self.maker(encodings.properties(&self.path, style))?);
        }
        maker.get().map_or_else(|| Ok(Vec::new()), |maker| maker.create_column_writers(0))
    }

    /// A maker of encoders belongs to a file: one of this column alone, which nobody reads.
    fn maker(&self, properties: WriterPropertiesPtr) -> Result<ArrowRowGroupWriterFactory> {
        let schema = Arc::new(Schema::new(vec![Arc::clone(&self.field)]));
        let root = ArrowSchemaConverter::new().convert(&schema)?.root_schema_ptr();
        Ok(ArrowRowGroupWriterFactory::new(&SerializedFileWriter::new(std::io::sink(), root, properties)?, schema))
    }
}

/// The next arrays as one: an encoder's work for an array costs as much as encoding a hundred
/// values.
fn next_run(arrays: &mut Peekable<impl Iterator<Item = ArrayRef>>) -> Result<Option<ArrayRef>> {
    let Some(first) = arrays.next() else { return Ok(None) };
    let mut bytes = first.get_array_memory_size();
    let mut run = vec![first];
    while let Some(next) = arrays.next_if(|next| bytes + next.get_array_memory_size() <= RUN_BYTES_MAX) {
        bytes += next.get_array_memory_size();
        run.push(next);
    }
    let run: Vec<&dyn Array> = run.iter().map(AsRef::as_ref).collect();
    Ok(Some(concat(&run)?))
}

/// Calls `found` with the steps to each column below a field.
fn descend(field: &Field, steps: &mut Vec<usize>, found: &mut impl FnMut(&[usize])) {
    match field.data_type() {
        DataType::Struct(children) => {
            for (index, child) in children.iter().enumerate() {
                steps.push(index);
                descend(child, steps, found);
                steps.pop();
            }
        }
        DataType::List(item) | DataType::LargeList(item) => descend(item, steps, found),
        _ => found(steps),
    }
}

/// The names on the way, those of lists' items left out.
fn path(field: &Field, steps: &[usize]) -> String {
    let below = match field.data_type() {
        DataType::Struct(children) => format!(".{}", path(&children[steps[0]], &steps[1..])),
        DataType::List(item) | DataType::LargeList(item) => return field.name().clone() + &below_item(item, steps),
        _ => String::new(),
    };
    field.name().clone() + &below
}

fn below_item(item: &Field, steps: &[usize]) -> String {
    path(item, steps).strip_prefix(item.name().as_str()).unwrap_or_default().to_owned()
}

/// A field with the one column that `steps` lead to.
fn narrowed(field: &FieldRef, steps: &[usize]) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Struct(children) => DataType::Struct(Fields::from(vec![narrowed(&children[steps[0]], &steps[1..])])),
        DataType::List(item) => DataType::List(narrowed(item, steps)),
        DataType::LargeList(item) => DataType::LargeList(narrowed(item, steps)),
        _ => return Arc::clone(field),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// An array with the one column that `steps` lead to; `field` is the narrowed one.
fn narrow(array: &ArrayRef, field: &Field, steps: &[usize]) -> ArrayRef {
    match field.data_type() {
        DataType::Struct(children) => {
            let whole = array.as_struct();
            let child = narrow(whole.column(steps[0]), &children[0], &steps[1..]);
            Arc::new(StructArray::new(children.clone(), vec![child], whole.nulls().cloned()))
        }
        DataType::List(item) => narrow_list::<i32>(array, item, steps),
        DataType::LargeList(item) => narrow_list::<i64>(array, item, steps),
        _ => Arc::clone(array),
    }
}

fn narrow_list<O: OffsetSizeTrait>(array: &ArrayRef, item: &FieldRef, steps: &[usize]) -> ArrayRef {
    let list = array.as_list::<O>();
    let values = narrow(list.values(), item, steps);
    Arc::new(GenericListArray::new(Arc::clone(item), list.offsets().clone(), values, list.nulls().cloned()))
}
