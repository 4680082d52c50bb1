//! The first document of an input, where it is longer than the head.

use super::head::mark_bytes;
use super::layout::{DocumentCount, Layout};
use super::split::JsonSplitter;
use crate::limits::PREFIX_BYTES;
use rorqual_pipe::Splitter;

/// Looks for the end of a long document, and for something after it.
pub(crate) struct FirstDocument {
    splitter: JsonSplitter,
    record_bytes_max: usize,
    /// Bytes that were taken.
    bytes: usize,
    /// Its length, once it has ended.
    length: Option<usize>,
    is_over: bool,
    is_followed: bool,
}

impl FirstDocument {
    /// The document that `head` begins with, where it is an object and does not end in there.
    pub(crate) fn unfinished(head: &[u8], record_bytes_max: usize) -> Option<Self> {
        if !head[mark_bytes(head)..].trim_ascii_start().starts_with(b"{") {
            return None;
        }
        let splitter = JsonSplitter::new(&Layout::Documents);
        let mut first = Self { splitter, record_bytes_max, bytes: 0, length: None, is_over: false, is_followed: false };
        first.push(head);
        (first.length.is_none() && first.goes_on()).then_some(first)
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || !self.goes_on() {
            return;
        }
        let after = if self.length.is_some() { Some(0) } else { self.end(bytes) };
        if let Some(after) = after {
            self.length.get_or_insert(self.bytes + after);
            self.is_followed = !bytes[after..].trim_ascii().is_empty();
        }
        self.bytes += bytes.len();
        // A longer one is no record, and the rest of it may be anything.
        self.is_over |= self.is_followed || self.bytes > self.record_bytes_max.max(PREFIX_BYTES);
    }

    /// Index after the document, if it ends in these bytes.
    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        let ends = self.splitter.split(bytes);
        self.is_over |= ends.is_err();
        ends.ok()?.first_end
    }

    /// True if more bytes would tell more.
    pub(crate) fn goes_on(&self) -> bool {
        !self.is_over
    }

    /// Number of the documents; `at_end` says that all bytes were pushed.
    pub(crate) fn documents(&self, at_end: bool) -> DocumentCount {
        match self.length {
            Some(_) if self.is_followed => DocumentCount::Several,
            Some(length) if at_end && length > self.record_bytes_max => DocumentCount::OneTooLong,
            Some(_) if at_end => DocumentCount::One,
            _ => DocumentCount::Unknown,
        }
    }
}
