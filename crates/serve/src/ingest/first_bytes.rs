//! The first bytes of an upload, by which its format is told.

use rorqual_accesslog::analyze::Formats;
use rorqual_accesslog::format::{SAMPLE_LINES_MAX, detect};
use rorqual_pipe::decode::is_encoded;

pub(super) fn newlines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// True if the first block of a stream is enough for a run to tell its format by, or more would not
/// help.
pub(crate) fn is_enough(head: &[u8], formats: &Formats) -> bool {
    newlines(head) >= SAMPLE_LINES_MAX || tells_format(head, formats)
}

/// True if the lines of this head are in a format for sure, so that more of them would give the
/// same.
pub(super) fn tells_for_sure(head: &[u8], formats: &Formats) -> bool {
    formats.given.is_some() || is_encoded(head) || detect(head, &formats.candidates).is_ok_and(|detection| detection.sure)
}

/// True if a run would find a format by this head. Compressed data it decodes a block of first,
/// however little comes at once.
pub(super) fn tells_format(head: &[u8], formats: &Formats) -> bool {
    formats.given.is_some() || is_encoded(head) || detect(whole_lines(head), &formats.candidates).is_ok()
}

pub(super) fn whole_lines(head: &[u8]) -> &[u8] {
    head.iter().rposition(|byte| *byte == b'\n').map_or(&[], |newline| &head[..=newline])
}
