//! Ends of records: a newline inside quotes ends none.

use super::Dialect;
use super::scan::CsvMarks;
use crate::setting::QUOTE;
use memchr::{memchr, memchr2};
use rorqual_pipe::{RecordEnds, SplitError, Splitter};

/// Finds records in a stream.
#[derive(Debug, Clone)]
pub struct CsvSplitter {
    marks: CsvMarks,
    place: QuoteState,
    taken: u64,
    /// Offset of the quote that was opened last.
    opened: u64,
    /// The first record that is not empty has begun.
    begun: bool,
    /// Bytes of a byte order mark that the input begins with.
    marked: u64,
}

const MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuoteState {
    FieldStart,
    Plain,
    Quoted,
    /// After a quote inside quotes: it closes them, or another follows.
    Quote,
}

impl CsvSplitter {
    /// A splitter for that dialect.
    #[must_use]
    pub fn new(dialect: &Dialect) -> Self {
        Self { marks: dialect.marks(), place: QuoteState::FieldStart, taken: 0, opened: 0, begun: false, marked: 0 }
    }

    /// Offset from which the first record that is not empty goes on. Bytes before it are its own,
    /// so that the block which begins the input has the header.
    fn lead(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            let offset = self.taken + at as u64;
            let is_mark = self.marked == offset && MARK.get(at + self.taken as usize) == Some(byte);
            let in_mark = (1..MARK.len() as u64).contains(&self.marked);
            match (byte, self.place) {
                _ if is_mark => {
                    self.marked += 1;
                    self.place = if self.marked == MARK.len() as u64 { QuoteState::FieldStart } else { QuoteState::Plain };
                }
                (b'\n', _) if !in_mark => self.place = QuoteState::FieldStart,
                (b'\r', QuoteState::FieldStart) => self.place = QuoteState::Plain,
                _ => {
                    self.begun = true;
                    return Some(at);
                }
            }
        }
        None
    }

    /// Index after the next record end from `at` on.
    fn next_end(&mut self, bytes: &[u8], mut at: usize) -> Option<usize> {
        while at < bytes.len() {
            let rest = &bytes[at..];
            match self.place {
                QuoteState::FieldStart | QuoteState::Quote if self.marks.opening(rest).is_some() => {
                    if self.place == QuoteState::FieldStart {
                        self.opened = self.taken + at as u64;
                    }
                    self.place = QuoteState::Quoted;
                    at += 1;
                }
                QuoteState::Quoted => {
                    at += memchr(self.marks.quote?, rest)? + 1;
                    self.place = QuoteState::Quote;
                }
                _ => {
                    self.place = QuoteState::Plain;
                    let found = memchr2(self.marks.delimiter, b'\n', rest)?;
                    at += found + 1;
                    self.place = QuoteState::FieldStart;
                    if rest[found] == b'\n' {
                        return Some(at);
                    }
                }
            }
        }
        None
    }
}

impl Splitter for CsvSplitter {
    fn split(&mut self, bytes: &[u8]) -> Result<RecordEnds, SplitError> {
        let start = if self.begun { Some(0) } else { self.lead(bytes) };
        let first_end = start.and_then(|start| self.next_end(bytes, start));
        let mut last_end = first_end;
        while let Some(end) = last_end.and_then(|end| self.next_end(bytes, end)) {
            last_end = Some(end);
        }
        self.taken += bytes.len() as u64;
        Ok(RecordEnds { records: 0..bytes.len(), first_end, last_end })
    }

    fn finish(&mut self) -> Result<(), SplitError> {
        if self.place != QuoteState::Quoted {
            return Ok(());
        }
        let message = format!(
            "the quotes that opened at byte {} are not closed when the input ends; {QUOTE} none reads them as text",
            self.opened
        );
        Err(SplitError { offset: self.taken, message, truncated: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(text: &[u8], block_bytes: usize) -> Vec<u64> {
        let mut splitter = CsvSplitter::new(&Dialect { delimiter: b',', quote: Some(b'"'), ..Dialect::default() });
        let mut ends = Vec::new();
        for (index, block) in text.chunks(block_bytes).enumerate() {
            let split = splitter.split(block).expect("no fault");
            ends.extend(split.last_end.map(|end| (index * block_bytes + end) as u64));
        }
        ends
    }

    #[test]
    fn newlines_in_quotes_end_nothing() {
        let text = b"a,\"b\nc\",d\ne\"\n\"\"\"\n\",\"\"\nx\"y\",\"z\"\"\n\"\n";
        // By hand, with Python's csv module as a second opinion: 4 records.
        assert_eq!(ends(text, 1), [10, 13, 22, 34]);
        for block_bytes in 1..text.len() {
            assert_eq!(ends(text, block_bytes).last(), Some(&34), "{block_bytes}");
        }
    }

    #[test]
    fn an_open_quote_at_the_end_is_told_with_its_place() {
        let mut splitter = CsvSplitter::new(&Dialect { delimiter: b',', quote: Some(b'"'), ..Dialect::default() });
        splitter.split(b"a,b\nc,\"d\n").expect("no fault");
        let fault = splitter.finish().expect_err("it is open");
        assert_eq!((fault.offset, fault.truncated), (9, true));
        assert!(fault.message.contains("byte 6"), "{}", fault.message);
    }
}
