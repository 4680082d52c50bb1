//! Layout of an input, by its head.

use super::Layout;
use super::cursor::Cursor;
use super::head::{HEAD_BYTES, foreign_encoding, mark_bytes};
use super::string::{RawString, unescape};

/// The layout of an input that starts with `head`, which is `whole` when nothing follows. `None`
/// when it does not look like objects or arrays of JSON.
///
/// * [`Layout::Lines`] when the first line is a whole document, and half of the next are;
/// * [`Layout::Array`] when it starts with an array that is not the first of many lines;
/// * otherwise [`Layout::Documents`], however long they are: a document that is one object is one
///   record, and [`rows_within`] tells of an array in it. So is an input in UTF-16, whose error has
///   the way on.
#[must_use]
pub fn detect(head: &[u8], whole: bool) -> Option<Layout> {
    if foreign_encoding(&head[..head.len().min(HEAD_BYTES)]).is_some() {
        let first = head.iter().find(|byte| !matches!(byte, 0 | 0xFE | 0xFF));
        return matches!(first, Some(b'{' | b'[')).then_some(Layout::Documents);
    }
    let text = valid(&head[mark_bytes(head)..]).trim_start_matches([' ', '\t', '\r', '\n']);
    let array = match text.as_bytes().first()? {
        b'{' => false,
        b'[' => true,
        _ => return None,
    };
    match (first_lines(text, whole), array) {
        (LineSample::Documents { alone: true }, true) => Some(Layout::Array),
        (LineSample::Documents { .. }, _) => Some(Layout::Lines),
        (LineSample::Other, true) => Some(Layout::Array),
        (LineSample::Other, false) => Some(Layout::Documents),
    }
}

/// The keys to the array whose elements are likely meant as records, in an input that starts with
/// an object and has no other document: the outermost one that does not end within the head, or the
/// first of objects.
#[must_use]
pub fn rows_within(head: &[u8], whole: bool) -> Option<Vec<String>> {
    let text = valid(&head[mark_bytes(head)..]).trim_ascii();
    text.starts_with('{').then(|| array_of_rows(text, whole)).flatten()
}

/// Lines that are looked at.
const LINES: usize = 20;

enum LineSample {
    /// The first line is a document, and so are half of the next, or there is only one.
    Documents {
        alone: bool,
    },
    Other,
}

fn valid(head: &[u8]) -> &str {
    match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    }
}

/// A line or two that are damaged do not make it something else.
fn first_lines(text: &str, whole: bool) -> LineSample {
    let complete = |line: &&str| whole || line.ends_with('\n');
    let lines: Vec<&str> = text.split_inclusive('\n').filter(|line| !line.trim_ascii().is_empty()).take(LINES).collect();
    let (first, rest) = lines.split_first().map_or(("", &[][..]), |(first, rest)| (*first, rest));
    let rest: Vec<&str> = rest.iter().copied().filter(complete).collect();
    let documents = rest.iter().filter(|line| is_document(line)).count();
    if is_document(first) && 2 * documents + 1 >= rest.len() {
        LineSample::Documents { alone: lines.len() == 1 }
    } else {
        LineSample::Other
    }
}

fn is_document(line: &str) -> bool {
    let mut cursor = Cursor::new(line.trim_ascii(), true);
    cursor.skip().is_ok() && cursor.rest().is_empty()
}

/// The path of the outermost array that is open at the end of `text`, which starts with an object;
/// where the object ends and `whole` is all there is, of the first array of objects. Each byte is
/// looked at once, however deep the objects are.
fn array_of_rows(text: &str, whole: bool) -> Option<Vec<String>> {
    let mut cursor = Cursor::new(text, false);
    let (mut keys, mut found) = (Vec::new(), None);
    loop {
        let goes_on = match cursor.peek().ok()? {
            b'{' if !cursor.enter(b'}').ok()? => {
                keys.push(key(&mut cursor)?);
                continue;
            }
            b'{' => next_field(&mut cursor, &mut keys)?,
            opening => match cursor.skip() {
                Ok(value) => {
                    if opening == b'[' && found.is_none() && value[1..].trim_ascii_start().starts_with('{') {
                        found = Some(keys.clone());
                    }
                    next_field(&mut cursor, &mut keys)?
                }
                Err(flaw) if opening == b'[' && flaw.at >= text.len() => return keys.into_iter().map(unescaped).collect(),
                Err(_) => return None,
            },
        };
        if !goes_on {
            let alone = whole && cursor.rest().is_empty();
            return found.filter(|_| alone)?.into_iter().map(unescaped).collect();
        }
    }
}

/// Goes on after a value to the next field of the innermost open object that has one; `keys` are
/// the keys of the open objects. `false` when the outermost has ended.
fn next_field<'t>(cursor: &mut Cursor<'t>, keys: &mut Vec<RawString<'t>>) -> Option<bool> {
    while keys.pop().is_some() {
        if cursor.goes_on(b'}').ok()? {
            keys.push(key(cursor)?);
            return Some(true);
        }
    }
    Some(false)
}

/// A key, and the colon after it.
fn key<'t>(cursor: &mut Cursor<'t>) -> Option<RawString<'t>> {
    let raw = cursor.key().ok()?;
    raw.check().ok()?;
    cursor.colon().ok()?;
    Some(raw)
}

/// A key that UTF-8 can hold.
fn unescaped(raw: RawString<'_>) -> Option<String> {
    let mut key = String::new();
    (!unescape(raw.body, raw.start, &mut key).ok()?).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outermost_open_array_is_found_behind_all_that_is_closed() {
        let found = |text: &str| array_of_rows(text, false).map(|keys| keys.join("."));
        assert_eq!(found(r#"{"a":[1,"#), Some("a".to_owned()));
        assert_eq!(found(r#"{"x":{"y":[1]},"a":{},"b":{"c":[],"\u0064":[{"e":["#), Some("b.d".to_owned()));
        for none in
            [r#"{"a":[1]}"#, r#"{"a":{"b":[1]},"c":"#, r#"{"a":{"b":1}} [1"#, r#"{"a":[1}"#, r#"{"\ud800":[1"#, r#"{"a" [1"#, "{"]
        {
            assert_eq!(found(none), None, "{none}");
        }
        // Each level around it is not looked at again, so this ends soon.
        let deep = r#"{"a":"#.repeat(DEPTH) + "[";
        assert_eq!(array_of_rows(&deep, false).map(|keys| keys.len()), Some(DEPTH));
        assert_eq!(array_of_rows(&deep[..deep.len() - 1], false), None);
    }

    #[test]
    fn the_first_array_of_objects_is_found_in_a_document_that_is_all_there_is() {
        let found = |text: &str| rows_within(text.as_bytes(), true).map(|keys| keys.join("."));
        assert_eq!(found(r#"{"n":[1],"a":{"b":[ {"c":[{}]}]},"d":[{}]}"#), Some("a.b".to_owned()));
        for none in [r#"{"a":[1]}"#, r#"{"a":[{}]} {}"#, r#"[{"a":[{}]}]"#, "{}", r#"{"a":[[{}]]}"#] {
            assert_eq!(found(none), None, "{none}");
        }
    }

    /// The deepest record, and the array.
    const DEPTH: usize = crate::limits::DEPTH_MAX - 1;
}
