//! A record without the values that a later one of the same key replaces.

use super::columns::{JsonColumn, Struct};
use super::cursor::{Cursor, RecordFlaw};
use super::string::unescape;
use std::collections::HashMap;

/// The object at the cursor, which is sound, with each key once wherever its fields are columns;
/// the last value counts. Values kept as JSON text stay as they are.
pub(super) fn unique_fields(cursor: &mut Cursor<'_>, columns: &Struct, out: &mut String) -> Result<(), RecordFlaw> {
    let text = cursor.text();
    let mut entries = Vec::new();
    let mut last = HashMap::new();
    let mut goes_on = !cursor.enter(b'}')?;
    while goes_on {
        let raw = cursor.key()?;
        let mut key = String::new();
        let lone = unescape(raw.body, raw.start, &mut key)?;
        cursor.colon()?;
        let column = if lone { None } else { columns.find(&key) };
        let value = cursor.skip()?;
        // Keys with lone surrogates are told apart as they are written.
        last.insert((lone, if lone { raw.body.to_owned() } else { key }), entries.len());
        entries.push((raw.quoted(text), value, column));
        goes_on = cursor.goes_on(b'}')?;
    }
    let mut kept: Vec<usize> = last.into_values().collect();
    kept.sort_unstable();
    out.push('{');
    for (number, index) in kept.into_iter().enumerate() {
        let (key, value, column) = entries[index];
        out.push_str(if number == 0 { "" } else { "," });
        out.push_str(key);
        out.push(':');
        match column {
            Some(column) => unique(&mut Cursor::new(value, false), &columns.columns[column].column, out)?,
            None => out.push_str(value),
        }
    }
    out.push('}');
    Ok(())
}

/// The same as [`unique_fields`], for the value at the cursor.
pub(super) fn unique(cursor: &mut Cursor<'_>, column: &JsonColumn, out: &mut String) -> Result<(), RecordFlaw> {
    match (column, cursor.peek()?) {
        (JsonColumn::Struct(columns), b'{') => unique_fields(cursor, columns, out),
        (JsonColumn::List(list), b'[') => unique_items(cursor, &list.item, out),
        _ => {
            out.push_str(cursor.skip()?);
            Ok(())
        }
    }
}

fn unique_items(cursor: &mut Cursor<'_>, column: &JsonColumn, out: &mut String) -> Result<(), RecordFlaw> {
    out.push('[');
    let mut goes_on = !cursor.enter(b']')?;
    while goes_on {
        unique(cursor, column, out)?;
        goes_on = cursor.goes_on(b']')?;
        out.push_str(if goes_on { "," } else { "" });
    }
    out.push(']');
    Ok(())
}
