//! Finds records at the speed of memory: brackets are counted 64 bytes at a time; only between
//! records is each byte looked at.

use super::head::{HEAD_BYTES, MARK, foreign_encoding};
use super::layout::Layout;
use super::mask::NestingScanner;
use super::path;
use super::seek::{Seek, SeekResult};
use rorqual_pipe::{RecordEnds, SplitError, Splitter};

/// Finds where records end: strings, escapes and depth are tracked over the borders of blocks,
/// whatever their size.
///
/// It looks at brackets and strings, and at the commas between the elements of an array or the
/// members of an object; all else is the decoder's. An element of an array or a document that is no
/// object or array ends where white space, a comma or a bracket follows it.
#[derive(Debug)]
pub struct JsonSplitter {
    /// The records are elements of an array, or members of an object.
    container: Option<RowsContainer>,
    /// Number of objects that are open around it.
    around: u64,
    state: SplitState,
    /// Bytes taken before this stretch.
    taken: u64,
    head: Vec<u8>,
    mark: usize,
    fault: Option<SplitError>,
}

/// An array whose elements are the records, or an object whose members are.
#[derive(Debug)]
struct RowsContainer {
    /// Its path, as it is typed.
    path: String,
    /// The bracket that ends it.
    close: u8,
}

#[derive(Debug)]
enum SplitState {
    /// On the way to the array, or the object.
    Seek(Seek),
    /// At the level of records, outside of all.
    Between(Comma),
    /// In the key of a member.
    Key { escaped: bool },
    /// After the key of a member; `colon` once that was there.
    Value { colon: bool },
    /// In an object or an array.
    Inside(NestingScanner),
    /// In a number or a word.
    Word,
    /// In a string.
    Text { escaped: bool },
    /// After the array or the object, in the document around it.
    Around(NestingScanner),
    /// After everything.
    Ended,
}

/// Items that may come at the level of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comma {
    /// A record.
    No,
    /// A comma, or the end of the array or the object.
    Wanted,
    /// A record: a comma was there.
    Seen,
}

/// Ends found in a byte range.
#[derive(Default)]
struct SplitFound {
    start: usize,
    end: Option<usize>,
    first_end: Option<usize>,
    last_end: Option<usize>,
}

impl SplitFound {
    fn record_ends(&mut self, index: usize) {
        self.first_end = self.first_end.or(Some(index));
        self.last_end = Some(index);
    }

    /// No record is after `index`.
    fn over(&mut self, index: usize) {
        self.end = self.end.or(Some(index));
    }

    fn into_split(self, length: usize) -> RecordEnds {
        let end = self.end.unwrap_or(length).max(self.start);
        let over = self.end.map(|_| end);
        RecordEnds { records: self.start..end, first_end: self.first_end.or(over), last_end: over.or(self.last_end) }
    }
}

impl JsonSplitter {
    /// A splitter for an input of that layout.
    #[must_use]
    pub fn new(layout: &Layout) -> Self {
        let container = match layout {
            Layout::Lines | Layout::Documents => None,
            Layout::Array => Some(([].as_slice(), b'[')),
            Layout::Rows(keys) => Some((keys.as_slice(), b'[')),
            Layout::Members(keys) => Some((keys.as_slice(), b'{')),
        };
        let close = |opening| if opening == b'{' { b'}' } else { b']' };
        Self {
            container: container.map(|(_, opening)| RowsContainer { path: path::format_rows(layout), close: close(opening) }),
            around: container.map_or(0, |(keys, _)| keys.len() as u64),
            state: container.map_or(SplitState::Between(Comma::No), |(keys, opening)| SplitState::Seek(Seek::new(keys, opening))),
            taken: 0,
            head: Vec::new(),
            mark: 0,
            fault: None,
        }
    }

    /// Index after the first record in `bytes`, which begin with it, at the level of records.
    pub(super) fn record_end(bytes: &[u8], layout: &Layout) -> Option<usize> {
        let mut splitter = Self { state: SplitState::Between(Comma::No), ..Self::new(layout) };
        let mut found = SplitFound::default();
        let mut at = 0;
        while at < bytes.len() && found.first_end.is_none() {
            at = splitter.advance(bytes, at, &mut found);
        }
        found.first_end
    }

    /// Length of the byte order mark, or an error when it tells an encoding that is not UTF-8.
    fn take_head(&mut self, bytes: &[u8]) -> Result<usize, SplitError> {
        if self.head.len() == HEAD_BYTES {
            return Ok(0);
        }
        let room = HEAD_BYTES - self.head.len();
        self.head.extend(bytes.iter().take(room));
        if self.head.len() == HEAD_BYTES {
            self.check_head()?;
        }
        let marked = bytes.iter().zip(&MARK[self.mark..]).take_while(|(byte, mark)| byte == mark).count();
        let at_mark = self.taken == self.mark as u64;
        if !at_mark {
            return Ok(0);
        }
        self.mark += marked;
        if marked < bytes.len() { self.check_mark().map(|()| marked) } else { Ok(marked) }
    }

    /// A byte order mark is there whole or not at all.
    fn check_mark(&self) -> Result<(), SplitError> {
        let cut = self.mark > 0 && self.mark < MARK.len();
        let fault =
            || SplitError { offset: 0, message: "is not UTF-8: it has a part of a byte order mark".into(), truncated: false };
        if cut { Err(fault()) } else { Ok(()) }
    }

    fn check_head(&self) -> Result<(), SplitError> {
        match foreign_encoding(&self.head) {
            Some(message) => Err(SplitError { offset: 0, message: message.into(), truncated: false }),
            None => Ok(()),
        }
    }

    /// Takes bytes from `at` on up to where the state changes, and says up to where.
    fn advance(&mut self, bytes: &[u8], at: usize, found: &mut SplitFound) -> usize {
        let rest = &bytes[at..];
        match &mut self.state {
            SplitState::Inside(nest) => match nest.close(rest) {
                Some(end) => self.record_ended(at + end, found),
                None => bytes.len(),
            },
            SplitState::Between(comma) => {
                let comma = *comma;
                self.between(comma, bytes, at, found)
            }
            SplitState::Key { escaped } => {
                let end = text_end(rest, escaped);
                if end.is_some() {
                    self.state = SplitState::Value { colon: false };
                }
                end.map_or(bytes.len(), |end| at + end)
            }
            SplitState::Value { colon } => {
                let colon = *colon;
                self.value(colon, bytes, at, found)
            }
            SplitState::Word => match rest.iter().position(|byte| is_delimiter(*byte, self.close())) {
                Some(end) => self.record_ended(at + end, found),
                None => bytes.len(),
            },
            SplitState::Text { escaped } => match text_end(rest, escaped) {
                Some(end) => self.record_ended(at + end, found),
                None => bytes.len(),
            },
            SplitState::Seek(seek) => {
                let sought = seek.advance(bytes, at, self.taken);
                self.sought(sought, bytes.len(), found)
            }
            SplitState::Around(nest) => {
                let end = nest.close(rest);
                if end.is_some() {
                    self.state = SplitState::Ended;
                }
                end.map_or(bytes.len(), |end| at + end)
            }
            SplitState::Ended => self.ended(bytes, at),
        }
    }

    fn sought(&mut self, sought: SeekResult, length: usize, found: &mut SplitFound) -> usize {
        match sought {
            SeekResult::Not => {
                found.start = length;
                length
            }
            SeekResult::Rows(index) => {
                found.start = index;
                self.state = SplitState::Between(Comma::No);
                index
            }
            SeekResult::Fault(fault) => {
                found.start = length;
                self.fault = Some(fault);
                length
            }
        }
    }

    fn record_ended(&mut self, index: usize, found: &mut SplitFound) -> usize {
        found.record_ends(index);
        self.state = SplitState::Between(if self.container.is_some() { Comma::Wanted } else { Comma::No });
        index
    }

    /// The bracket that ends the array or the object which has the records.
    fn close(&self) -> Option<u8> {
        self.container.as_ref().map(|container| container.close)
    }

    /// White space and the colon after a member's key, or the start of its value.
    fn value(&mut self, mut colon: bool, bytes: &[u8], start: usize, found: &mut SplitFound) -> usize {
        for (at, byte) in bytes.iter().enumerate().skip(start) {
            self.state = match byte {
                b' ' | b'\n' | b'\r' | b'\t' => continue,
                b':' if !colon => {
                    colon = true;
                    continue;
                }
                _ if !colon => return self.fail(at, bytes.len(), "a colon should be here", found),
                b',' | b'}' => return self.fail(at, bytes.len(), "a value should be here", found),
                _ => value_start(*byte),
            };
            return at + 1;
        }
        self.state = SplitState::Value { colon };
        bytes.len()
    }

    /// White space, commas, the end of the array or the object, or the start of a record.
    fn between(&mut self, mut comma: Comma, bytes: &[u8], start: usize, found: &mut SplitFound) -> usize {
        let close = self.close();
        for (at, byte) in bytes.iter().enumerate().skip(start) {
            let is_close = close == Some(*byte);
            let state = match byte {
                b' ' | b'\n' | b'\r' | b'\t' => continue,
                b',' if comma == Comma::Wanted => {
                    comma = Comma::Seen;
                    continue;
                }
                _ if is_close && comma != Comma::Seen => return self.container_ends(at, found),
                b',' | b']' if close.is_some() => return self.fail(at, bytes.len(), "a value should be here", found),
                _ if comma == Comma::Wanted => {
                    return self.fail(at, bytes.len(), "a comma or a closing bracket should be here", found);
                }
                b'"' if close == Some(b'}') => SplitState::Key { escaped: false },
                _ if close == Some(b'}') => return self.fail(at, bytes.len(), "a key in quotes should be here", found),
                _ => value_start(*byte),
            };
            self.state = state;
            return at + 1;
        }
        self.state = SplitState::Between(comma);
        bytes.len()
    }

    fn container_ends(&mut self, at: usize, found: &mut SplitFound) -> usize {
        found.over(at);
        self.state = if self.around == 0 { SplitState::Ended } else { SplitState::Around(NestingScanner::open(self.around)) };
        at + 1
    }

    fn ended(&mut self, bytes: &[u8], at: usize) -> usize {
        let foreign = bytes[at..].iter().position(|byte| !byte.is_ascii_whitespace());
        if let Some(index) = foreign {
            let path = self.path();
            let message = format!("something follows the document that has the rows {path}");
            self.fault = Some(self.fault_at(at + index, message, false));
        }
        bytes.len()
    }

    fn path(&self) -> &str {
        self.container.as_ref().map_or("", |container| &container.path)
    }

    fn fail(&mut self, at: usize, length: usize, message: &str, found: &mut SplitFound) -> usize {
        found.over(at);
        self.fault = Some(self.fault_at(at, format!("between records: {message}"), false));
        length
    }

    fn fault_at(&self, index: usize, message: String, truncated: bool) -> SplitError {
        SplitError { offset: self.taken + index as u64, message, truncated }
    }
}

impl Splitter for JsonSplitter {
    fn split(&mut self, bytes: &[u8]) -> Result<RecordEnds, SplitError> {
        if let Some(fault) = self.fault.take() {
            self.state = SplitState::Ended;
            return Err(fault);
        }
        let mark = self.take_head(bytes)?;
        let mut found = SplitFound { start: mark, ..SplitFound::default() };
        if matches!(self.state, SplitState::Around(_) | SplitState::Ended) {
            found.over(0);
        }
        let mut at = mark;
        while at < bytes.len() {
            at = self.advance(bytes, at, &mut found);
        }
        self.taken += bytes.len() as u64;
        Ok(found.into_split(bytes.len()))
    }

    fn finish(&mut self) -> Result<(), SplitError> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        self.check_head()?;
        self.check_mark()?;
        let path = self.path();
        let message = match (&self.state, &self.container) {
            (SplitState::Ended | SplitState::Word, None) | (SplitState::Between(_), None) | (SplitState::Ended, _) => {
                return Ok(());
            }
            (SplitState::Seek(_), Some(_)) => format!("the document ends before the rows {path}"),
            (SplitState::Around(_), Some(_)) => format!("the document ends early, after the rows {path}"),
            (SplitState::Between(_), Some(_)) => format!("the document ends inside the rows {path}"),
            _ => "the document ends inside a record".into(),
        };
        Err(self.fault_at(0, message, true))
    }
}

/// The state in a value that begins so.
fn value_start(byte: u8) -> SplitState {
    match byte {
        b'{' | b'[' => SplitState::Inside(NestingScanner::open(1)),
        b'"' => SplitState::Text { escaped: false },
        _ => SplitState::Word,
    }
}

/// Ends a number or a word; `close` is the bracket that ends what has the records.
fn is_delimiter(byte: u8, close: Option<u8>) -> bool {
    match byte {
        b' ' | b'\n' | b'\r' | b'\t' | b'{' | b'[' | b'"' => true,
        b',' => close.is_some(),
        _ => close == Some(byte),
    }
}

/// Index after the quote that ends a string; `escaped` carries a backslash over to the next bytes.
pub(super) fn text_end(bytes: &[u8], escaped: &mut bool) -> Option<usize> {
    for (index, byte) in bytes.iter().enumerate() {
        match byte {
            _ if *escaped => *escaped = false,
            b'\\' => *escaped = true,
            b'"' => return Some(index + 1),
            _ => {}
        }
    }
    None
}
