//! Columns of foreign files as the types that everything here knows: run-end encoded columns and
//! list views written out, decimals of a negative scale as whole numbers.

use crate::decimals::check_digits;
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, GenericListArray, GenericListViewArray, OffsetSizeTrait, StructArray, UInt64Array, make_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_cast::cast;
use arrow_schema::{
    ArrowError, DECIMAL32_MAX_PRECISION, DECIMAL64_MAX_PRECISION, DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType,
    FieldRef, Fields, Schema, SchemaRef,
};
use arrow_select::take::take;
use rorqual_pipe::{Error, ErrorClass};
use std::sync::Arc;

/// Refuses columns that would be read wrong: unions, names that come twice, runs within lists.
pub(super) fn check(name: &str, schema: &Schema) -> Result<(), Error> {
    let refused = |text: String| Err(Error::new(ErrorClass::Limit, name, text));
    if let Some(twice) = twice(schema.fields()) {
        return refused(format!("it has two columns '{twice}', and columns are told apart by their names"));
    }
    match schema.fields().iter().find_map(|field| unread(field, field.name(), false)) {
        Some((path, what)) => refused(format!("the column '{path}' {what}")),
        None => Ok(()),
    }
}

/// A name that two columns have, or two fields of a struct.
pub(crate) fn twice(fields: &Fields) -> Option<&str> {
    let mut names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
    names.sort_unstable();
    let here = names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
    here.or_else(|| fields.iter().find_map(|field| twice_in(field.data_type())))
}

fn twice_in(data_type: &DataType) -> Option<&str> {
    match data_type {
        DataType::Struct(fields) => twice(fields),
        other => item(other).and_then(|item| twice_in(item.data_type())),
    }
}

/// The items of a type that has many of one kind.
fn item(data_type: &DataType) -> Option<&FieldRef> {
    match data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::ListView(item) | DataType::LargeListView(item) => Some(item),
        DataType::FixedSizeList(item, _) | DataType::Map(item, _) => Some(item),
        _ => None,
    }
}

/// The path of a column that is not read, and why.
fn unread(field: &FieldRef, path: &str, in_list: bool) -> Option<(String, &'static str)> {
    let found = |what| Some((path.to_owned(), what));
    match field.data_type() {
        DataType::Union(..) => found("is a union, which is not read"),
        // Of a few bytes any number of values may be made, and no row of the column tells how many.
        DataType::RunEndEncoded(..) if in_list => found("has run-end encoded items of lists, which are not read"),
        DataType::RunEndEncoded(_, values) => unread(values, path, in_list),
        DataType::Dictionary(_, values) if matches!(**values, DataType::Union(..)) => found("is a union, which is not read"),
        DataType::Dictionary(_, values) if rounded_digits(values).is_some() => {
            found("is a dictionary of decimals with a negative scale, which is not read")
        }
        rounded if rounded_digits(rounded).is_some_and(|digits| digits > DECIMAL256_MAX_PRECISION) => {
            found("is a decimal of more than 76 digits, which is not read")
        }
        DataType::Struct(fields) => fields.iter().find_map(|field| unread(field, &format!("{path}.{}", field.name()), in_list)),
        other => item(other).and_then(|item| unread(item, path, true)),
    }
}

const _: () = assert!(DECIMAL256_MAX_PRECISION == 76, "the message names the limit");

/// The digits of a decimal with a negative scale, its zeros before the point among them; `None` for
/// any other type. Parquet has no negative scale, and SQL's arithmetic overflows with it.
fn rounded_digits(data_type: &DataType) -> Option<u8> {
    let (DataType::Decimal32(precision, scale)
    | DataType::Decimal64(precision, scale)
    | DataType::Decimal128(precision, scale)
    | DataType::Decimal256(precision, scale)) = data_type
    else {
        return None;
    };
    (*scale < 0).then(|| precision.saturating_add(scale.unsigned_abs()))
}

/// The narrowest decimal type without a fraction that has so many digits.
fn whole_decimal(digits: u8) -> DataType {
    if digits <= DECIMAL32_MAX_PRECISION {
        DataType::Decimal32(digits, 0)
    } else if digits <= DECIMAL64_MAX_PRECISION {
        DataType::Decimal64(digits, 0)
    } else if digits <= DECIMAL128_MAX_PRECISION {
        DataType::Decimal128(digits, 0)
    } else {
        DataType::Decimal256(digits.min(DECIMAL256_MAX_PRECISION), 0)
    }
}

/// The type that [`plain`] makes of a type which has no items.
pub(super) fn plain_scalar(data_type: &DataType) -> DataType {
    rounded_digits(data_type).map_or_else(|| data_type.clone(), whole_decimal)
}

/// The same columns with the types that [`plain`] gives.
pub(super) fn plain_schema(schema: &SchemaRef) -> SchemaRef {
    if schema.fields().iter().all(|field| is_plain(field.data_type())) {
        return Arc::clone(schema);
    }
    let fields: Fields = schema.fields().iter().map(plain_field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn plain_field(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::RunEndEncoded(_, values) => plain_field(values).data_type().clone(),
        DataType::ListView(item) | DataType::List(item) => DataType::List(plain_field(item)),
        DataType::LargeListView(item) | DataType::LargeList(item) => DataType::LargeList(plain_field(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(plain_field(item), *length),
        DataType::Map(entries, sorted) => DataType::Map(plain_field(entries), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain_field).collect()),
        other => plain_scalar(other),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// True if a type has no runs, list views or decimals of a negative scale in it.
pub(crate) fn is_plain(data_type: &DataType) -> bool {
    match data_type {
        DataType::RunEndEncoded(..) | DataType::ListView(_) | DataType::LargeListView(_) => false,
        DataType::Struct(fields) => fields.iter().all(|field| is_plain(field.data_type())),
        rounded if rounded_digits(rounded).is_some() => false,
        other => item(other).is_none_or(|item| is_plain(item.data_type())),
    }
}

/// The same values as plain types (see [`is_plain`]); the memory of each row was measured.
pub(crate) fn plain(array: ArrayRef) -> Result<ArrayRef, ArrowError> {
    if is_plain(array.data_type()) {
        return Ok(array);
    }
    Ok(match array.data_type() {
        DataType::RunEndEncoded(_, values) => plain(cast(&array, values.data_type())?)?,
        DataType::ListView(item) => Arc::new(list(array.as_list_view::<i32>(), item)?),
        DataType::LargeListView(item) => Arc::new(list(array.as_list_view::<i64>(), item)?),
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns().iter().map(|column| plain(Arc::clone(column)));
            let fields = fields.iter().map(plain_field).collect();
            let columns = columns.collect::<Result<_, _>>()?;
            Arc::new(StructArray::try_new_with_length(fields, columns, array.nulls().cloned(), array.len())?)
        }
        rounded if rounded_digits(rounded).is_some() => {
            check_digits(&array)?;
            cast(&array, &plain_scalar(rounded))?
        }
        other => {
            let field = plain_field(&Arc::new(arrow_schema::Field::new("", other.clone(), true)));
            let data = array.to_data();
            let below = data.child_data().iter().map(|child| Ok(plain(make_array(child.clone()))?.to_data()));
            let below = below.collect::<Result<Vec<_>, ArrowError>>()?;
            make_array(data.into_builder().data_type(field.data_type().clone()).child_data(below).build()?)
        }
    })
}

/// Lists one after another, of views that may lie anywhere, and over each other.
fn list<O: OffsetSizeTrait>(views: &GenericListViewArray<O>, item: &FieldRef) -> Result<GenericListArray<O>, ArrowError> {
    let (mut places, mut lengths) = (Vec::new(), Vec::with_capacity(views.len()));
    for row in 0..views.len() {
        let length = if views.is_null(row) { 0 } else { views.value_size(row).as_usize() };
        let start = views.value_offset(row).as_usize();
        places.extend((start..start + length).map(|place| place as u64));
        lengths.push(length);
    }
    let values = plain(take(views.values(), &UInt64Array::from(places), None)?)?;
    GenericListArray::try_new(plain_field(item), OffsetBuffer::from_lengths(lengths), values, views.nulls().cloned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::{Decimal64Type, Int32Type};
    use arrow_array::{Decimal32Array, Int32Array, ListViewArray, RunArray, StringArray, UnionArray};
    use arrow_buffer::{NullBuffer, ScalarBuffer};
    use arrow_schema::{Field, UnionFields, UnionMode};

    /// `[20, 30], null, [], [10, 20, 30]`
    fn views() -> ListViewArray {
        let item = Arc::new(Field::new("item", DataType::Int32, true));
        let values: ArrayRef = Arc::new(Int32Array::from(vec![10, 20, 30]));
        let nulls = NullBuffer::from(vec![true, false, true, true]);
        ListViewArray::new(item, ScalarBuffer::from(vec![1, 0, 3, 0]), ScalarBuffer::from(vec![2, 3, 0, 3]), values, Some(nulls))
    }

    #[test]
    fn views_become_lists_and_runs_their_values() {
        let lists = plain(Arc::new(views())).unwrap();
        let found: Vec<Option<Vec<i32>>> =
            lists.as_list::<i32>().iter().map(|list| Some(list?.as_primitive::<Int32Type>().values().to_vec())).collect();
        assert_eq!(found, [Some(vec![20, 30]), None, Some(vec![]), Some(vec![10, 20, 30])]);

        let ends = Int32Array::from(vec![2, 3, 5]);
        let runs = RunArray::<Int32Type>::try_new(&ends, &StringArray::from(vec![Some("a"), None, Some("b")])).unwrap();
        let texts = plain(Arc::new(runs.slice(1, 3))).unwrap();
        assert_eq!(texts.as_string::<i32>().iter().collect::<Vec<_>>(), [Some("a"), None, Some("b")]);
        let below = Field::new("runs", runs.data_type().clone(), true);
        let structs = StructArray::new(Fields::from(vec![below]), vec![Arc::new(runs)], None);
        let structs = plain(Arc::new(structs)).unwrap();
        assert_eq!(structs.as_struct().column(0).data_type(), &DataType::Utf8);
    }

    #[test]
    fn decimals_of_a_negative_scale_become_whole_numbers() {
        let tens: ArrayRef =
            Arc::new(Decimal32Array::from(vec![Some(123), None, Some(-5)]).with_data_type(DataType::Decimal32(9, -2)));
        let whole = plain(tens).unwrap();
        assert_eq!(whole.data_type(), &DataType::Decimal64(11, 0));
        assert_eq!(whole.as_primitive::<Decimal64Type>().iter().collect::<Vec<_>>(), [Some(12_300), None, Some(-500)]);
        let beyond: ArrayRef = Arc::new(Decimal32Array::from(vec![1234]).with_data_type(DataType::Decimal32(3, -2)));
        plain(beyond).expect_err("1234 has more digits than three");
        let item = Field::new("item", DataType::Decimal128(38, -38), true);
        let lists = Field::new("l", DataType::List(Arc::new(item)), true);
        check("in.arrow", &Schema::new(vec![lists])).unwrap();
        let wide = Field::new("d", DataType::Decimal256(76, -1), true);
        let refused = check("in.arrow", &Schema::new(vec![wide])).unwrap_err().to_string();
        assert_eq!(refused, "in.arrow: the column 'd' is a decimal of more than 76 digits, which is not read");
    }

    #[test]
    fn columns_that_would_be_read_wrong_are_named() {
        let said = |fields: Vec<Field>| check("in.arrow", &Schema::new(fields)).map_err(|error| error.to_string());
        let number = |name: &str| Field::new(name, DataType::Int32, true);
        assert_eq!(said(vec![number("a"), number("b")]), Ok(()));
        assert_eq!(
            said(vec![number("a"), number("a")]),
            Err("in.arrow: it has two columns 'a', and columns are told apart by their names".to_owned())
        );
        let members = UnionFields::from_fields(vec![number("i")]);
        let union = UnionArray::try_new(members, vec![0_i8].into(), None, vec![Arc::new(Int32Array::from(vec![1]))]).unwrap();
        assert!(matches!(union.data_type(), DataType::Union(_, UnionMode::Sparse)));
        let below = Field::new("u", union.data_type().clone(), true);
        let structs = Field::new("s", DataType::Struct(vec![below].into()), true);
        assert_eq!(said(vec![structs]), Err("in.arrow: the column 's.u' is a union, which is not read".to_owned()));
    }
}
