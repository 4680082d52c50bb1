//! Undoes the escapes of JSON strings.

/// Appends `text` to `out` with its escapes undone. What is no JSON escape (nginx without
/// `escape=json` writes `\x22`) stays as it is; half a surrogate pair becomes U+FFFD.
pub(crate) fn undo_escapes(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(slash) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..slash]);
        rest = &rest[slash..];
        let length = undo_escape(rest, out);
        rest = &rest[length..];
    }
    out.extend_from_slice(rest);
}

/// Undoes the escape that `text` begins with; gives its length.
fn undo_escape(text: &[u8], out: &mut Vec<u8>) -> usize {
    let byte = match text.get(1) {
        Some(byte @ (b'"' | b'\\' | b'/')) => *byte,
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(b'u') => return undo_unicode(text, out),
        _ => {
            out.push(b'\\');
            return 1;
        }
    };
    out.push(byte);
    2
}

fn undo_unicode(text: &[u8], out: &mut Vec<u8>) -> usize {
    let Some(first) = code_unit(text) else {
        out.push(b'\\');
        return 1;
    };
    let (code, length) = match (first, code_unit(text.get(6..).unwrap_or(&[]))) {
        (0xd800..=0xdbff, Some(second @ 0xdc00..=0xdfff)) => (0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00), 12),
        _ => (first, 6),
    };
    let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    length
}

/// The number of a `\u1234` that `text` begins with.
fn code_unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |code, byte| Some(code * 16 + char::from(*byte).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undone(text: &str) -> String {
        let mut out = Vec::new();
        undo_escapes(text.as_bytes(), &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn escapes() {
        assert_eq!(undone(r"/a\u0026b\/c"), "/a&b/c");
        assert_eq!(undone(r#"\"\\\t\x22"#), "\"\\\t\\x22");
        assert_eq!(undone(r"\ud83d\ude00"), "\u{1f600}");
        assert_eq!(undone(r"\ud83d-\udc00"), "\u{fffd}-\u{fffd}");
        assert_eq!(undone(r"\u12"), r"\u12");
        assert_eq!(undone(r"\"), r"\");
    }
}
