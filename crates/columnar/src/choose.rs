//! Some of the columns of a schema.

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use rorqual_pipe::escaped_line;
use std::sync::Arc;

/// The columns that are named, by their paths, in the order of the schema.
///
/// # Errors
/// When there is none of that name; a sentence that says which there are.
pub fn choose_columns(schema: &Schema, columns: &[String]) -> Result<SchemaRef, String> {
    for column in columns {
        if below(schema.fields(), "", std::slice::from_ref(column)).is_empty() {
            let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            return Err(format!("there is no column '{}'; the columns are: {}", escaped_line(column), names.join(", ")));
        }
    }
    Ok(Arc::new(Schema::new(below(schema.fields(), "", columns))))
}

/// Of the fields under `path`, those that are named, and those that have such below them.
fn below(fields: &Fields, path: &str, columns: &[String]) -> Fields {
    let kept = |field: &Arc<Field>| {
        let own = format!("{path}{}", field.name());
        if columns.contains(&own) {
            return Some(Arc::clone(field));
        }
        let DataType::Struct(inner) = field.data_type() else { return None };
        let inner = below(inner, &format!("{own}."), columns);
        (!inner.is_empty()).then(|| Arc::new(Field::clone(field).with_data_type(DataType::Struct(inner))))
    };
    fields.iter().filter_map(kept).collect()
}
