//! Layout of an input, by its head.

use super::cursor::{Cursor, RecordFlaw};
use super::head::{HEAD_BYTES, foreign_encoding, mark_bytes};
use super::layout::Layout;
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
        b'[' if !is_array_start(text) => return None,
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

/// Guesses the records inside an input that starts with an object and has no other document: the
/// elements of the outermost array that does not end within the head, or of the longest
/// array of objects; else the members of an object that is used as a map.
#[must_use]
pub fn rows_within(head: &[u8], whole: bool) -> Option<RowsWithin> {
    let text = valid(&head[mark_bytes(head)..]).trim_ascii();
    if !text.starts_with('{') {
        return None;
    }
    let array = array_of_rows(text, whole);
    let array = array.map(|(keys, are_objects)| RowsWithin { layout: Layout::Rows(keys), are_objects });
    let map = || map_of_rows(text, whole).map(|keys| RowsWithin { layout: Layout::Members(keys), are_objects: true });
    array.or_else(map)
}

/// Records inside a document that is one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowsWithin {
    /// The path to them.
    pub layout: Layout,
    /// The first of them is an object: others are seldom meant as rows.
    pub are_objects: bool,
}

/// Members of an object from which on it is taken for a map, where all are objects.
const MAP_MEMBERS_MIN: usize = 32;

/// An object that is open.
struct OpenObject<'t> {
    /// The key of its present member.
    key: RawString<'t>,
    /// Its members so far.
    members: usize,
    /// All of them are objects.
    nested: bool,
}

impl OpenObject<'_> {
    fn is_map(&self) -> bool {
        self.nested && self.members >= MAP_MEMBERS_MIN
    }
}

/// The path of the outermost object that is open at the end of `text` and is used as a map; where
/// the document ends and `whole` is all there is, of the outermost one, the first of several.
fn map_of_rows(text: &str, whole: bool) -> Option<Vec<String>> {
    let mut cursor = Cursor::new(text, false);
    let (mut open, mut found): (Vec<OpenObject<'_>>, Option<Vec<String>>) = (Vec::new(), None);
    let path = |open: &[OpenObject<'_>]| open.iter().map(|object| unescaped(object.key)).collect();
    match walk_objects(&mut cursor, &mut open, |open| {
        // The maps in a map end before it.
        if found.as_ref().is_none_or(|inner| open.len() < inner.len()) {
            found = path(open);
        }
    }) {
        Ok(()) => found.filter(|_| whole && cursor.rest().is_empty()),
        Err(flaw) if flaw.at >= text.len() => {
            let map = open.iter().position(OpenObject::is_map)?;
            path(&open[..map])
        }
        Err(_) => None,
    }
}

/// Goes through the objects of a document; `closed` is told of a map that has ended, with the
/// objects around it.
fn walk_objects<'t>(
    cursor: &mut Cursor<'t>,
    open: &mut Vec<OpenObject<'t>>,
    mut closed: impl FnMut(&[OpenObject<'t>]),
) -> Result<(), RecordFlaw> {
    let key = |cursor: &mut Cursor<'t>| {
        let raw = cursor.key()?;
        raw.check()?;
        cursor.colon().map(|()| raw)
    };
    loop {
        let opening = cursor.peek()?;
        if let Some(object) = open.last_mut() {
            object.members += 1;
            object.nested &= opening == b'{';
        }
        if opening != b'{' {
            cursor.skip()?;
        } else if !cursor.enter(b'}')? {
            open.push(OpenObject { key: key(cursor)?, members: 0, nested: true });
            continue;
        }
        loop {
            let Some(object) = open.last_mut() else { return Ok(()) };
            if cursor.goes_on(b'}')? {
                object.key = key(cursor)?;
                break;
            }
            if open.pop().is_some_and(|ended| ended.is_map()) {
                closed(open);
            }
        }
    }
}

/// True if a text that begins with `[` goes on as an array does, up to the end of its first
/// element: logs begin their lines with times, levels and numbers in brackets.
fn is_array_start(text: &str) -> bool {
    let mut cursor = Cursor::new(text, false);
    let outcome: Result<bool, RecordFlaw> = (|| match cursor.enter(b']')? {
        true => Ok(true),
        false => {
            let is_nested = matches!(cursor.peek()?, b'{' | b'[');
            cursor.skip()?;
            Ok(cursor.goes_on(b']')? || is_nested)
        }
    })();
    match outcome {
        Ok(true) => true,
        // It has one element, which is a word or a number, and another document may follow.
        Ok(false) => cursor.rest().trim_ascii_start().first().is_none_or(|byte| matches!(byte, b'[' | b'{')),
        Err(flaw) => flaw.at >= text.len(),
    }
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

/// The path of the outermost array that is open at the end of `text`, which starts with an object,
/// and whether it is one of objects;
/// where the object ends and `whole` is all there is, of the longest array of objects that is in
/// no other array. Each byte is looked at once, however deep the objects are.
fn array_of_rows(text: &str, whole: bool) -> Option<(Vec<String>, bool)> {
    let mut cursor = Cursor::new(text, false);
    let (mut keys, mut found, mut longest) = (Vec::new(), None, 0);
    loop {
        let goes_on = match cursor.peek().ok()? {
            b'{' if !cursor.enter(b'}').ok()? => {
                keys.push(key(&mut cursor)?);
                continue;
            }
            b'{' => next_field(&mut cursor, &mut keys)?,
            opening => {
                let are_objects = opening == b'[' && has_object_first(cursor.rest());
                match cursor.skip() {
                    Ok(value) => {
                        if are_objects && value.len() > longest {
                            (found, longest) = (Some(keys.clone()), value.len());
                        }
                        next_field(&mut cursor, &mut keys)?
                    }
                    Err(flaw) if opening == b'[' && flaw.at >= text.len() => {
                        return Some((keys.into_iter().map(unescaped).collect::<Option<_>>()?, are_objects));
                    }
                    Err(_) => return None,
                }
            }
        };
        if !goes_on {
            let alone = whole && cursor.rest().is_empty();
            let keys: Option<Vec<String>> = found.filter(|_| alone)?.into_iter().map(unescaped).collect();
            return Some((keys?, true));
        }
    }
}

/// True if the first element of an array, which this text begins with, is an object.
fn has_object_first(array: &[u8]) -> bool {
    let element = array.trim_ascii_start().strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    element.is_some_and(|element| element.starts_with(b"{"))
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
        let found = |text: &str| array_of_rows(text, false).map(|(keys, _)| keys.join("."));
        assert_eq!(found(r#"{"a":[1,"#), Some("a".to_owned()));
        assert_eq!(found(r#"{"x":{"y":[1]},"a":{},"b":{"c":[],"\u0064":[{"e":["#), Some("b.d".to_owned()));
        for none in
            [r#"{"a":[1]}"#, r#"{"a":{"b":[1]},"c":"#, r#"{"a":{"b":1}} [1"#, r#"{"a":[1}"#, r#"{"\ud800":[1"#, r#"{"a" [1"#, "{"]
        {
            assert_eq!(found(none), None, "{none}");
        }
        // Each level around it is not looked at again, so this ends soon.
        let deep = r#"{"a":"#.repeat(DEPTH) + "[";
        assert_eq!(array_of_rows(&deep, false).map(|(keys, _)| keys.len()), Some(DEPTH));
        let are_objects = |text: &str| array_of_rows(text, false).map(|(_, are_objects)| are_objects);
        assert_eq!(are_objects(r#"{"a":[{"b":1},"#), Some(true));
        assert_eq!(are_objects(r#"{"a": [ 1.5, 2"#), Some(false));
        assert_eq!(array_of_rows(&deep[..deep.len() - 1], false), None);
    }

    #[test]
    fn lines_that_begin_with_a_bracket_are_no_arrays() {
        for text in [
            "[Wed Oct 11 14:32:52 2000] [error] [client 127.0.0.1] denied\n",
            "[    0.000000] Linux version\n",
            "[4711] started\n[4711] ended\n",
            "[2024-01-01 10:00:00] x\n",
            "[info] x\n",
        ] {
            assert_eq!(detect(text.as_bytes(), true), None, "{text}");
        }
        for text in ["[]", "[1]", "[1]\n[2]\n", "[\"a\", b]", "[{\"a\":1}, {", "[", "[1.5e", "[{}] x"] {
            assert!(detect(text.as_bytes(), false).is_some(), "{text}");
        }
    }

    #[test]
    fn the_longest_array_of_objects_is_found_in_a_document_that_is_all_there_is() {
        let found = |text: &str| rows_within(text.as_bytes(), true).map(|rows| crate::json::format_rows(&rows.layout));
        assert_eq!(found(r#"{"n":[1],"a":{"b":[ {"c":[{}]}]},"d":[{}]}"#), Some("$.a.b".to_owned()));
        assert_eq!(found(r#"{"a":[{}],"b":[{},{}],"c":[{},1]}"#), Some("$.b".to_owned()));
        for none in [r#"{"a":[1]}"#, r#"{"a":[{}]} {}"#, r#"[{"a":[{}]}]"#, "{}", r#"{"a":[[{}]]}"#] {
            assert_eq!(found(none), None, "{none}");
        }
    }

    #[test]
    fn an_object_of_many_objects_is_a_map() {
        let found = |text: &str, whole| rows_within(text.as_bytes(), whole).map(|rows| crate::json::format_rows(&rows.layout));
        let members =
            |count: usize| (0..count).map(|number| format!("\"k{number}\":{{\"n\":{number}}}")).collect::<Vec<_>>().join(",");
        assert_eq!(found(&format!("{{{}}}", members(32)), true), Some("$.*".to_owned()));
        assert_eq!(found(&format!("{{{}}}", members(31)), true), None);
        let inside = format!("{{\"v\":1,\"users\":{{{}", members(40));
        assert_eq!(found(&inside, false), Some("$.users.*".to_owned()));
        assert_eq!(found(&format!("{inside}}}}}"), true), Some("$.users.*".to_owned()));
        assert_eq!(found(&format!("{inside}}}}} {{}}"), true), None, "two documents are two rows");
        let maps = (0..40).map(|number| format!("\"u{number}\":{{{}}}", members(40))).collect::<Vec<_>>().join(",");
        assert_eq!(found(&format!("{{{maps}}}"), true), Some("$.*".to_owned()));
        assert_eq!(found(&format!("{inside},\"x\":1"), false), None);
        // Nothing is looked at twice, so this ends soon.
        let deep = r#"{"a":"#.repeat(DEPTH);
        assert_eq!(found(&deep, false), None);
    }

    /// The deepest record, and the array.
    const DEPTH: usize = crate::limits::DEPTH_MAX - 1;
}
