//! Values of others as terms.

use rorqual_embed::OperationFailure;
use rustler::types::map::MapIterator;
use rustler::{Atom, Binary, Encoder, Env, NewBinary, Term};
use serde_json::{Map, Number, Value};

mod atoms {
    rustler::atoms! { kind, message, name, offset, needed_bytes, nil }
}

/// A binary of its own.
pub(crate) fn binary<'a>(env: Env<'a>, bytes: &[u8]) -> Term<'a> {
    Binary::from(NewBinary::from_slice(env, bytes)).encode(env)
}

/// The fields of `Rorqual.Error`.
pub(crate) fn failure_term<'a>(env: Env<'a>, failure: &OperationFailure) -> Term<'a> {
    let kind = Atom::from_str(env, failure.kind).map_or_else(|_| atoms::nil().encode(env), |kind| kind.encode(env));
    let fields = [
        (atoms::kind(), kind),
        (atoms::message(), failure.message.encode(env)),
        (atoms::name(), failure.name.encode(env)),
        (atoms::offset(), failure.offset.encode(env)),
        (atoms::needed_bytes(), failure.needed_bytes.encode(env)),
    ];
    fields.to_vec().encode(env)
}

/// JSON as a term: objects are maps with binaries as keys, null is `nil`.
pub(crate) fn of_json<'a>(env: Env<'a>, value: &Value) -> Term<'a> {
    match value {
        Value::Null => atoms::nil().encode(env),
        Value::Bool(truth) => truth.encode(env),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => number.encode(env),
            (None, Some(number)) => number.encode(env),
            (None, None) => number.as_f64().unwrap_or_default().encode(env),
        },
        Value::String(text) => text.encode(env),
        Value::Array(items) => items.iter().map(|item| of_json(env, item)).collect::<Vec<_>>().encode(env),
        Value::Object(members) => {
            let keys: Vec<Term<'a>> = members.keys().map(|key| key.encode(env)).collect();
            let values: Vec<Term<'a>> = members.values().map(|value| of_json(env, value)).collect();
            // Keys of an object differ, so that this is a map.
            Term::map_from_term_arrays(env, &keys, &values).unwrap_or_else(|_| Term::map_new(env))
        }
    }
}

/// A term as JSON; `None` where it has no text, as a reference has none.
pub(crate) fn to_json(term: Term<'_>) -> Option<Value> {
    if let Ok(truth) = term.decode::<bool>() {
        return Some(Value::Bool(truth));
    }
    if term.is_atom() {
        let name = term.atom_to_string().ok()?;
        return Some(if name == "nil" { Value::Null } else { Value::String(name) });
    }
    if let Ok(text) = term.decode::<String>() {
        return Some(Value::String(text));
    }
    if let Ok(number) = term.decode::<i64>() {
        return Some(number.into());
    }
    if let Ok(number) = term.decode::<u64>() {
        return Some(number.into());
    }
    if let Ok(number) = term.decode::<f64>() {
        return Number::from_f64(number).map(Value::Number);
    }
    if let Ok(items) = term.decode::<Vec<Term<'_>>>() {
        return items.into_iter().map(to_json).collect::<Option<Vec<_>>>().map(Value::Array);
    }
    let mut members = Map::new();
    for (key, value) in MapIterator::new(term)? {
        let key = if key.is_atom() { key.atom_to_string().ok()? } else { key.decode::<String>().ok()? };
        members.insert(key, to_json(value)?);
    }
    Some(Value::Object(members))
}
