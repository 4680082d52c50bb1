//! The first bytes of an input: a byte order mark, and encodings that are not UTF-8.

/// UTF-8's byte order mark, which is skipped.
pub(super) const MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// Number of first bytes that tell an encoding.
pub(super) const HEAD_BYTES: usize = 4;

/// Number of these first bytes that are a byte order mark.
pub(super) fn mark_bytes(head: &[u8]) -> usize {
    if head.starts_with(&MARK) { MARK.len() } else { 0 }
}

/// Fault of an input that starts so, when it is in an encoding that is not UTF-8. Its place is said
/// after it.
pub(super) fn foreign_encoding(head: &[u8]) -> Option<&'static str> {
    match *head {
        [0xFF, 0xFE, 0, 0, ..] => return Some(UTF_32LE),
        [0, 0, 0xFE, 0xFF, ..] => return Some(UTF_32BE),
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => return Some("is UTF-16 (iconv -f UTF-16 -t UTF-8 converts it), which starts"),
        _ => {}
    }
    // Without a mark the NULs tell: JSON starts with ASCII.
    let nul = |index: usize| head.get(index).map(|byte| *byte == 0);
    match [nul(0), nul(1), nul(2), nul(3)] {
        [Some(false), Some(true), Some(true), Some(true)] => Some(UTF_32LE),
        [Some(true), Some(true), Some(true), Some(false)] => Some(UTF_32BE),
        [Some(false), Some(true), ..] => Some("is UTF-16 (iconv -f UTF-16LE -t UTF-8 converts it), which starts"),
        [Some(true), Some(false), ..] => Some("is UTF-16 (iconv -f UTF-16BE -t UTF-8 converts it), which starts"),
        [Some(true), ..] => Some("is not JSON: it has NUL bytes"),
        _ => None,
    }
}

const UTF_32LE: &str = "is UTF-32 (iconv -f UTF-32LE -t UTF-8 converts it), which starts";
const UTF_32BE: &str = "is UTF-32 (iconv -f UTF-32BE -t UTF-8 converts it), which starts";
