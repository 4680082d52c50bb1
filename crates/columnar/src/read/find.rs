//! Rows by a value: parts that the footer rules out are not read.

use super::arrow::projection;
use super::chunks::Chunks;
use super::groups::{GroupRows, Groups, MakeFilter};
use super::parquet::{ParquetFooter, ReaderBuilder, failed, paths};
use super::value::{Scalar, ValueBound};
use super::{ReadBatches, no_column};
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, SchemaRef};
use arrow_select::filter::filter_record_batch;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowPredicateFn, RowFilter, RowSelection};
use parquet::bloom_filter::Sbbf;
use parquet::data_type::ByteArray;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::statistics::Statistics;
use rorqual_pipe::{Error, ErrorClass};
use std::ops::Range;
use std::sync::Arc;

/// The rows of a Parquet file where a column has a value.
pub(super) fn in_parquet(
    footer: &ParquetFooter,
    chunks: &Chunks,
    name: &str,
    (column, text): (&str, &str),
    columns: Option<&[String]>,
) -> Result<ReadBatches, Error> {
    let schema = footer.metadata.parquet_schema();
    let paths = paths(schema);
    let data_type = type_at(name, footer.schema().fields(), column)?;
    let value = parse(name, column, text, &data_type)?;
    let leaf = paths.iter().position(|path| path == column);
    let leaf = leaf.ok_or_else(|| no_column(name, column, paths.iter().map(String::as_str)))?;
    let builder = ReaderBuilder::new_with_metadata(chunks.clone(), footer.metadata.clone());
    let mut parts = Vec::new();
    for (number, group) in footer.parquet().row_groups().iter().enumerate() {
        let rows = usize::try_from(group.num_rows()).unwrap_or(0);
        if in_group(&builder, number, group, leaf, &value).map_err(|error| failed(name, &error))? {
            let pages = pages(footer, number, leaf, &value, rows);
            parts.push(GroupRows {
                group: number,
                selection: Some(RowSelection::from_consecutive_ranges(pages.into_iter(), rows)),
            });
        }
    }
    let (mask, schema) = footer.columns(name, columns)?;
    let filter = filter(ProjectionMask::leaves(footer.metadata.parquet_schema(), [leaf]), value);
    Ok(Box::new(Groups::new(footer, chunks, name, (mask, &schema), parts, Some(filter))))
}

/// Of all rows of Arrow data those where a column has a value.
pub(super) fn in_arrow(
    (schema, all): (&SchemaRef, ReadBatches),
    name: &str,
    (column, text): (&str, &str),
    columns: Option<&[String]>,
) -> Result<ReadBatches, Error> {
    let value = parse(name, column, text, &type_at(name, schema.fields(), column)?)?;
    let columns = projection(schema, name, columns)?;
    let (steps, failed_name) = (column.to_owned(), name.to_owned());
    let found = all.map(move |batch| {
        let batch = batch?;
        let found = value.equal(&array_at(&batch, &steps)).and_then(|equal| filter_record_batch(&batch, &equal));
        let found = found.and_then(|found| columns.as_ref().map_or(Ok(found.clone()), |columns| found.project(columns)));
        found.map_err(|error| Error::new(ErrorClass::Corrupt, failed_name.clone(), error.to_string()))
    });
    Ok(Box::new(found.filter(|batch| !batch.as_ref().is_ok_and(|batch| batch.num_rows() == 0))))
}

fn parse(name: &str, column: &str, text: &str, data_type: &DataType) -> Result<Scalar, Error> {
    let message = || format!("'{text}' is not a value of the column '{column}', which is {data_type}");
    Scalar::parse(text, data_type).ok_or_else(|| Error::new(ErrorClass::Limit, name, message()))
}

/// True if a row group may have the value.
fn in_group(
    builder: &ReaderBuilder,
    number: usize,
    group: &RowGroupMetaData,
    leaf: usize,
    value: &Scalar,
) -> parquet::errors::Result<bool> {
    let statistics = group.column(leaf).statistics();
    if statistics.is_some_and(|statistics| !in_statistics(statistics, value)) {
        return Ok(false);
    }
    let bloom = builder.get_row_group_column_bloom_filter(number, leaf)?;
    let physical = group.column(leaf).column_type();
    Ok(bloom.is_none_or(|bloom| in_bloom(&bloom, physical, value)))
}

fn in_statistics(statistics: &Statistics, value: &Scalar) -> bool {
    let (min, max) = match statistics {
        // Those of old writers are ordered in ways of their own.
        _ if statistics.is_min_max_deprecated() => return true,
        Statistics::Boolean(of) => {
            (of.min_opt().map(|min| ValueBound::Bool(*min)), of.max_opt().map(|max| ValueBound::Bool(*max)))
        }
        Statistics::Int32(of) => (int(of.min_opt(), value), int(of.max_opt(), value)),
        Statistics::Int64(of) => (of.min_opt().map(|min| ValueBound::Int(*min)), of.max_opt().map(|max| ValueBound::Int(*max))),
        Statistics::Float(of) => {
            (of.min_opt().map(|min| ValueBound::Float((*min).into())), of.max_opt().map(|max| ValueBound::Float((*max).into())))
        }
        Statistics::Double(of) => {
            (of.min_opt().map(|min| ValueBound::Float(*min)), of.max_opt().map(|max| ValueBound::Float(*max)))
        }
        Statistics::ByteArray(of) => (bytes(of.min_opt()), bytes(of.max_opt())),
        _ => (None, None),
    };
    value.may_be_within(min, max)
}

fn bytes(value: Option<&ByteArray>) -> Option<ValueBound<'_>> {
    value.map(|value| ValueBound::Bytes(value.data()))
}

/// Numbers of 32 bits; unsigned ones are stored as signed ones.
fn int<'a>(bound: Option<&i32>, value: &Scalar) -> Option<ValueBound<'a>> {
    let unsigned = matches!(value, Scalar::UInt(_));
    bound.map(|bound| ValueBound::Int(if unsigned { bound.cast_unsigned().into() } else { (*bound).into() }))
}

fn in_bloom(bloom: &Sbbf, physical: parquet::basic::Type, value: &Scalar) -> bool {
    use parquet::basic::Type;
    match (value, physical) {
        (Scalar::Int(value), Type::INT64) => bloom.check(value),
        (Scalar::UInt(value), Type::INT64) => bloom.check(&value.cast_signed()),
        (Scalar::Int(value), Type::INT32) => i32::try_from(*value).is_ok_and(|value| bloom.check(&value)),
        // Two zeros are equal and have different bits.
        (Scalar::Float(value), Type::DOUBLE) => *value == 0.0 || bloom.check(value),
        (Scalar::Text(value), Type::BYTE_ARRAY) => bloom.check(value.as_str()),
        _ => true,
    }
}

/// The rows of a group, from its first, in pages that may have the value.
fn pages(footer: &ParquetFooter, group: usize, leaf: usize, value: &Scalar, rows: usize) -> Vec<Range<usize>> {
    let parquet = footer.parquet();
    let index = parquet.column_index().and_then(|index| index.get(group)?.get(leaf));
    let places = parquet.offset_index().and_then(|index| index.get(group)?.get(leaf));
    let (Some(index), Some(places)) = (index, places) else { return std::iter::once(0..rows).collect() };
    let starts: Vec<usize> =
        places.page_locations().iter().map(|page| usize::try_from(page.first_row_index).unwrap_or(0).min(rows)).collect();
    let ends = starts.iter().skip(1).copied().chain(std::iter::once(rows));
    let pages = starts.iter().zip(ends).enumerate();
    pages
        .filter(|(page, (start, end))| **start < *end && in_page(index, *page, value))
        .map(|(_, (start, end))| *start..end)
        .collect()
}

fn in_page(index: &ColumnIndexMetaData, page: usize, value: &Scalar) -> bool {
    if page >= usize::try_from(index.num_pages()).unwrap_or(0) {
        return true;
    }
    let (min, max) = match index {
        _ if index.is_null_page(page) => return false,
        ColumnIndexMetaData::BOOLEAN(of) => {
            (of.min_value(page).map(|min| ValueBound::Bool(*min)), of.max_value(page).map(|max| ValueBound::Bool(*max)))
        }
        ColumnIndexMetaData::INT32(of) => (int(of.min_value(page), value), int(of.max_value(page), value)),
        ColumnIndexMetaData::INT64(of) => {
            (of.min_value(page).map(|min| ValueBound::Int(*min)), of.max_value(page).map(|max| ValueBound::Int(*max)))
        }
        ColumnIndexMetaData::FLOAT(of) => (
            of.min_value(page).map(|min| ValueBound::Float((*min).into())),
            of.max_value(page).map(|max| ValueBound::Float((*max).into())),
        ),
        ColumnIndexMetaData::DOUBLE(of) => {
            (of.min_value(page).map(|min| ValueBound::Float(*min)), of.max_value(page).map(|max| ValueBound::Float(*max)))
        }
        ColumnIndexMetaData::BYTE_ARRAY(of) => {
            (of.min_value(page).map(ValueBound::Bytes), of.max_value(page).map(ValueBound::Bytes))
        }
        _ => (None, None),
    };
    value.may_be_within(min, max)
}

/// Compares the values of the column that are left.
fn filter(mask: ProjectionMask, value: Scalar) -> MakeFilter {
    Box::new(move |pages| {
        let (value, pages) = (value.clone(), Arc::clone(pages));
        let predicate = ArrowPredicateFn::new(mask.clone(), move |batch: RecordBatch| -> Result<BooleanArray, ArrowError> {
            pages.batch_begins();
            value.equal(&innermost(batch.column(0)))
        });
        RowFilter::new(vec![Box::new(predicate)])
    })
}

/// The column that is alone in its structs.
fn innermost(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Struct(_) => innermost(array.as_struct().column(0)),
        _ => array.clone(),
    }
}

/// The type of the column at that path, which must not be in a list.
fn type_at(name: &str, fields: &Fields, path: &str) -> Result<DataType, Error> {
    let field = field_at(fields, path).ok_or_else(|| no_column(name, path, names(fields, "").iter().map(String::as_str)))?;
    Ok(field.data_type().clone())
}

fn field_at<'a>(fields: &'a Fields, path: &str) -> Option<&'a FieldRef> {
    let whole = fields.iter().find(|field| field.name() == path);
    whole.or_else(|| {
        fields.iter().find_map(|field| match field.data_type() {
            DataType::Struct(below) => field_at(below, path.strip_prefix(field.name().as_str())?.strip_prefix('.')?),
            _ => None,
        })
    })
}

/// The paths of all columns that are not in lists.
fn names(fields: &Fields, before: &str) -> Vec<String> {
    let name = |field: &Field| format!("{before}{}", field.name());
    let below = |field: &FieldRef| match field.data_type() {
        DataType::Struct(below) => names(below, &format!("{}.", name(field))),
        _ => vec![name(field)],
    };
    fields.iter().flat_map(below).collect()
}

/// The column at a path that [`field_at`] finds. Values in a null struct are null.
fn array_at(batch: &RecordBatch, path: &str) -> ArrayRef {
    let root: ArrayRef = Arc::new(arrow_array::StructArray::from(batch.clone()));
    descend(&root, path)
}

fn descend(array: &ArrayRef, path: &str) -> ArrayRef {
    let Some(of) = array.as_struct_opt() else { return array.clone() };
    let below = of.fields().iter().zip(of.columns()).find_map(|(field, column)| {
        let rest = path.strip_prefix(field.name().as_str())?;
        let whole = rest.is_empty() || (rest.starts_with('.') && matches!(column.data_type(), DataType::Struct(_)));
        whole.then(|| descend(column, rest.strip_prefix('.').unwrap_or(rest)))
    });
    below.unwrap_or_else(|| array.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_rule_out_what_is_not_within() {
        let value = |text: &str| Scalar::parse(text, &DataType::Float32).unwrap();
        let floats = Statistics::float(Some(0.1), Some(0.3), None, None, false);
        for (text, expected) in [("0.1", true), ("0.2", true), ("0.3", true), ("0.09", false), ("0.31", false)] {
            assert_eq!(in_statistics(&floats, &value(text)), expected, "{text}");
        }
        let of_old_writers = Statistics::float(Some(0.1), Some(0.3), None, None, true);
        assert!(in_statistics(&of_old_writers, &value("0.31")));
    }
}
