//! Columns of foreign files as the types that everything here knows: run-end encoded columns and
//! list views written out.

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, GenericListArray, GenericListViewArray, OffsetSizeTrait, StructArray, UInt64Array, make_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, Schema, SchemaRef};
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
        DataType::Struct(fields) => fields.iter().find_map(|field| unread(field, &format!("{path}.{}", field.name()), in_list)),
        other => item(other).and_then(|item| unread(item, path, true)),
    }
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
        other => other.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// True if a type has neither runs nor list views in it.
pub(crate) fn is_plain(data_type: &DataType) -> bool {
    match data_type {
        DataType::RunEndEncoded(..) | DataType::ListView(_) | DataType::LargeListView(_) => false,
        DataType::Struct(fields) => fields.iter().all(|field| is_plain(field.data_type())),
        other => item(other).is_none_or(|item| is_plain(item.data_type())),
    }
}

/// The same values without runs and list views; the memory of each row was measured.
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
    use arrow_array::types::Int32Type;
    use arrow_array::{Int32Array, ListViewArray, RunArray, StringArray, UnionArray};
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
