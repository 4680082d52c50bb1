//! Batches of rows as terms.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType, UInt16Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use rustler::{Atom, Binary, Encoder, Env, NewBinary, Term};

mod atoms {
    rustler::atoms! { nil }
}

/// Form of a batch as a term.
#[derive(Clone, Copy)]
pub(crate) enum BatchForm {
    /// A list of maps, one a row.
    Rows,
    /// A map of lists, one a column.
    Columns,
}

/// A batch of a log's columns.
pub(crate) fn term<'a>(env: Env<'a>, batch: &RecordBatch, form: BatchForm) -> Term<'a> {
    let names: Vec<Term<'a>> = batch.schema_ref().fields().iter().map(|field| atom(env, field.name())).collect();
    let columns: Vec<Vec<Term<'a>>> = batch.columns().iter().map(|column| column_terms(env, &**column)).collect();
    let map = |values: &[Term<'a>]| Term::map_from_term_arrays(env, &names, values).unwrap_or_else(|_| Term::map_new(env));
    match form {
        BatchForm::Columns => map(&columns.iter().map(|column| column.encode(env)).collect::<Vec<_>>()),
        BatchForm::Rows => {
            let mut values = Vec::with_capacity(columns.len());
            let rows = (0..batch.num_rows()).map(|row| {
                values.clear();
                values.extend(columns.iter().map(|column| column[row]));
                map(&values)
            });
            rows.collect::<Vec<_>>().encode(env)
        }
    }
}

/// The name of a column: one of a fixed few, or of the format that the program gave.
fn atom<'a>(env: Env<'a>, name: &str) -> Term<'a> {
    Atom::from_str(env, name).map_or_else(|_| name.encode(env), |atom| atom.encode(env))
}

fn column_terms<'a>(env: Env<'a>, column: &dyn Array) -> Vec<Term<'a>> {
    let nil = atoms::nil().encode(env);
    match column.data_type() {
        DataType::Utf8 => text_terms(env, column, nil),
        DataType::UInt16 => column.as_primitive::<UInt16Type>().iter().map(|value| value.encode(env)).collect(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().iter().map(|value| value.encode(env)).collect(),
        DataType::Int64 => column.as_primitive::<Int64Type>().iter().map(|value| value.encode(env)).collect(),
        DataType::Float64 => column.as_primitive::<Float64Type>().iter().map(|value| value.encode(env)).collect(),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            column.as_primitive::<TimestampMicrosecondType>().iter().map(|value| value.encode(env)).collect()
        }
        _ => vec![nil; column.len()],
    }
}

/// Texts as parts of one binary, which takes no copy of each.
fn text_terms<'a>(env: Env<'a>, column: &dyn Array, nil: Term<'a>) -> Vec<Term<'a>> {
    let texts = column.as_string::<i32>();
    let offsets = texts.value_offsets();
    let (first, last) = (offsets[0] as usize, offsets[texts.len()] as usize);
    let all = Binary::from(NewBinary::from_slice(env, &texts.value_data()[first..last]));
    let text = |row: usize| {
        if texts.is_null(row) {
            return nil;
        }
        let (start, end) = (offsets[row] as usize, offsets[row + 1] as usize);
        all.make_subbinary(start - first, end - start).map_or(nil, |text| text.encode(env))
    };
    (0..texts.len()).map(text).collect()
}
