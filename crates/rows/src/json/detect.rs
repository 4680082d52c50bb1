//! Which layout an input has, by its head.

use super::Layout;
use super::cursor::Cursor;
use super::head::{HEAD_BYTES, foreign_encoding, mark_bytes};
use super::string::unescape;

/// The layout of an input that starts with `head`, which is `whole` when nothing follows. `None` when it does not look like objects or
/// arrays of JSON.
///
/// * [`Layout::Lines`] when the first lines are whole documents;
/// * [`Layout::Array`] when it starts with an array that is not the first of many lines;
/// * [`Layout::Rows`] when it starts with an object that does not end within the head, whose outermost array does not either;
/// * otherwise [`Layout::Documents`]. So is an input in UTF-16, whose error says what to do.
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
        (Lines::Documents { alone: true }, true) => Some(Layout::Array),
        (Lines::Documents { .. }, _) => Some(Layout::Lines),
        (Lines::Other, true) => Some(Layout::Array),
        (Lines::Other, false) => Some(open_array(text).map_or(Layout::Documents, Layout::Rows)),
    }
}

enum Lines {
    /// Each of the first two lines is a document, or there is only one.
    Documents { alone: bool },
    Other,
}

fn valid(head: &[u8]) -> &str {
    match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    }
}

fn first_lines(text: &str, whole: bool) -> Lines {
    let mut lines = text.split_inclusive('\n').filter(|line| !line.trim_ascii().is_empty());
    let complete = |line: &&str| whole || line.ends_with('\n');
    let (first, second) = (lines.next().unwrap_or_default(), lines.next());
    if !is_document(first) {
        return Lines::Other;
    }
    match second.filter(complete) {
        Some(second) if !is_document(second) => Lines::Other,
        _ => Lines::Documents { alone: second.is_none() },
    }
}

fn is_document(line: &str) -> bool {
    let mut cursor = Cursor::new(line.trim_ascii(), true);
    cursor.skip().is_ok() && cursor.rest().is_empty()
}

/// The path of the outermost array that is open at the end of `text`, which starts with an object; `None` when the object ends, or is at
/// fault before the end.
fn open_array(text: &str) -> Option<Vec<String>> {
    let mut cursor = Cursor::new(text, false);
    let mut keys = Vec::new();
    loop {
        match cursor.peek().ok()? {
            b'[' => {
                let open = cursor.skip().is_err_and(|flaw| flaw.at >= text.len());
                return open.then_some(keys);
            }
            b'{' => keys.push(open_field(&mut cursor)?),
            _ => return None,
        }
    }
}

/// The key of the field that is open at the end, of the object at the cursor; the cursor is at its value then.
fn open_field(cursor: &mut Cursor<'_>) -> Option<String> {
    let mut goes_on = !cursor.enter(b'}').ok()?;
    while goes_on {
        let raw = cursor.key().ok()?;
        let mut key = String::new();
        if unescape(raw.body, raw.start, &mut key).ok()? {
            return None;
        }
        cursor.colon().ok()?;
        let at = cursor.at();
        match cursor.skip() {
            Ok(_) => goes_on = cursor.goes_on(b'}').ok()?,
            Err(flaw) if flaw.at >= cursor.text().len() => {
                cursor.move_to(at);
                return Some(key);
            }
            Err(_) => return None,
        }
    }
    None
}
