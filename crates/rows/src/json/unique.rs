//! A record without the values that a later one of the same key replaces.

use super::cursor::{Cursor, Flaw};
use super::string::unescape;
use crate::limits::NESTING_MAX;
use std::collections::HashMap;

/// The record, which is JSON, with each key once in each object that is nested no deeper than columns are; the last value counts.
pub(super) fn unique(record: &str) -> Result<String, Flaw> {
    let mut out = String::with_capacity(record.len());
    write(&mut Cursor::new(record, false), &mut out, 0)?;
    Ok(out)
}

fn write(cursor: &mut Cursor<'_>, out: &mut String, level: usize) -> Result<(), Flaw> {
    match cursor.peek()? {
        b'{' if level <= NESTING_MAX => object(cursor, out, level),
        b'[' if level <= NESTING_MAX => list(cursor, out, level),
        _ => {
            out.push_str(cursor.skip()?);
            Ok(())
        }
    }
}

fn object(cursor: &mut Cursor<'_>, out: &mut String, level: usize) -> Result<(), Flaw> {
    let text = cursor.text();
    let mut entries = Vec::new();
    let mut last = HashMap::new();
    let mut goes_on = !cursor.enter(b'}')?;
    while goes_on {
        let raw = cursor.key()?;
        let mut key = String::new();
        let lone = unescape(raw.body, raw.start, &mut key)?;
        cursor.colon()?;
        let value = cursor.skip()?;
        // Keys with lone surrogates are told apart as they are written.
        last.insert((lone, if lone { raw.body.to_owned() } else { key }), entries.len());
        entries.push((raw.quoted(text), value));
        goes_on = cursor.goes_on(b'}')?;
    }
    let mut kept: Vec<usize> = last.into_values().collect();
    kept.sort_unstable();
    out.push('{');
    for (number, index) in kept.into_iter().enumerate() {
        let (key, value) = entries[index];
        out.push_str(if number == 0 { "" } else { "," });
        out.push_str(key);
        out.push(':');
        write(&mut Cursor::new(value, false), out, level + 1)?;
    }
    out.push('}');
    Ok(())
}

fn list(cursor: &mut Cursor<'_>, out: &mut String, level: usize) -> Result<(), Flaw> {
    out.push('[');
    let mut goes_on = !cursor.enter(b']')?;
    while goes_on {
        write(cursor, out, level + 1)?;
        goes_on = cursor.goes_on(b']')?;
        out.push_str(if goes_on { "," } else { "" });
    }
    out.push(']');
    Ok(())
}
