//! Paths into documents: `$.data["odd key"].items`.

use super::cursor::Cursor;
use super::layout::Layout;
use super::string::unescape;

/// The records that a path means: the elements of an array, `$.items` or `$.items[*]`, or the
/// members of an object, `$.users.*`.
///
/// # Errors
/// The fault, and its place.
pub fn parse_rows(text: &str) -> Result<Layout, String> {
    match text.strip_suffix(".*") {
        Some(object) => parse(object).map(Layout::Members),
        None => parse(text.strip_suffix("[*]").unwrap_or(text)).map(Layout::Rows),
    }
}

/// The path to records in one document as it is typed; `$` of any other layout.
#[must_use]
pub fn format_rows(layout: &Layout) -> String {
    match layout {
        Layout::Rows(keys) => format(keys),
        Layout::Members(keys) => format(keys) + ".*",
        Layout::Lines | Layout::Documents | Layout::Array => format(&[]),
    }
}

/// The keys of a path as it is typed: `$`, then `.key` or `["key"]`, the latter a JSON string, for
/// each object on the way.
///
/// # Errors
/// The fault, and its place.
pub(super) fn parse(text: &str) -> Result<Vec<String>, String> {
    let fault = |at: usize, what: &str| format!("the path {text:?}: {what} at character {}", text[..at].chars().count() + 1);
    let Some(mut rest) = text.strip_prefix('$') else {
        return Err(fault(0, "'$', which is the document, should be"));
    };
    let mut keys = Vec::new();
    while !rest.is_empty() {
        let at = text.len() - rest.len();
        let (key, after) = match rest.as_bytes() {
            [b'.', ..] => plain_key(rest).ok_or_else(|| fault(at, "a key should follow the '.'"))?,
            [b'[', b'"', ..] => quoted_key(rest).ok_or_else(|| fault(at, "a JSON string and ']' should follow the '['"))?,
            [b'[', ..] => return Err(fault(at, "rows are under keys, written [\"key\"], and not under an index: '['")),
            _ => return Err(fault(at, "'.' or '[' should be")),
        };
        keys.push(key);
        rest = after;
    }
    Ok(keys)
}

/// A path as it is typed.
pub(super) fn format(keys: &[String]) -> String {
    let mut text = String::from("$");
    for key in keys {
        if is_plain(key) {
            text.push('.');
            text.push_str(key);
        } else {
            text.push_str(&format!("[{}]", serde_json::Value::from(key.as_str())));
        }
    }
    text
}

/// Keys that need no quotes in a path.
pub(crate) fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(is_plain_byte)
}

fn is_plain_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | 0x80..)
}

fn plain_key(rest: &str) -> Option<(String, &str)> {
    let key = &rest[1..];
    let end = key.bytes().position(|byte| matches!(byte, b'.' | b'[')).unwrap_or(key.len());
    (end > 0).then(|| (key[..end].to_owned(), &key[end..]))
}

fn quoted_key(rest: &str) -> Option<(String, &str)> {
    let mut cursor = Cursor::new(rest, false);
    cursor.move_to(1);
    let raw = cursor.string().ok()?;
    let mut key = String::new();
    let lone = if raw.escaped { unescape(raw.body, 0, &mut key).ok()? } else { false };
    if !raw.escaped {
        key.push_str(raw.body);
    }
    let after = rest[cursor.at()..].strip_prefix(']')?;
    (!lone).then_some((key, after))
}
