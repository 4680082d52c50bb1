//! The way through a document to the array or the object that has the rows.

use super::mask::NestingScanner;
use super::path;
use super::split::text_end;
use super::string::unescape;
use rorqual_pipe::SplitError;

/// A walk through the objects on the path; everything else is skipped.
#[derive(Debug)]
pub(super) struct Seek {
    keys: Vec<String>,
    /// The bracket of what has the rows.
    opening: u8,
    /// Objects of the path that are open.
    open: usize,
    expect: Expect,
    /// The key being read, as it is written; cut where it is longer than any that is wanted can be.
    key: Vec<u8>,
    key_bytes_max: usize,
}

#[derive(Debug)]
enum Expect {
    /// A value: the next on the path, or another.
    Value {
        wanted: bool,
    },
    /// A key; after `{` also the end of the object.
    Key {
        first: bool,
    },
    /// The rest of a key.
    KeyRest {
        escaped: bool,
    },
    /// The bytes between a key and its value.
    Colon {
        wanted: bool,
    },
    /// The bytes after a value.
    Comma,
    /// The rest of a string, of a number or word, of an object or array.
    Text {
        escaped: bool,
    },
    Word,
    Nest(NestingScanner),
}

/// Result of searching a byte range.
pub(super) enum SeekResult {
    /// Nothing yet.
    Not,
    /// The array, or the object; after its bracket.
    Rows(usize),
    /// There is none.
    Fault(SplitError),
}

impl Seek {
    /// The way to what `opening` opens: the elements of an array, or the members of an object.
    pub(super) fn new(keys: &[String], opening: u8) -> Self {
        // A character may be written as `\u1234`, or two of these.
        let key_bytes_max = keys.iter().map(|key| key.len() * 6).max().unwrap_or(0);
        Self { keys: keys.to_vec(), opening, open: 0, expect: Expect::Value { wanted: true }, key: Vec::new(), key_bytes_max }
    }

    /// Takes bytes from `at` on; `taken` bytes came before these.
    pub(super) fn advance(&mut self, bytes: &[u8], mut at: usize, taken: u64) -> SeekResult {
        while at < bytes.len() {
            at = match &mut self.expect {
                Expect::KeyRest { escaped } => {
                    let end = text_end(&bytes[at..], escaped);
                    self.take_key(&bytes[at..end.map_or(bytes.len(), |end| at + end)], end.is_some());
                    end.map_or(bytes.len(), |end| at + end)
                }
                Expect::Text { escaped } => {
                    let end = text_end(&bytes[at..], escaped);
                    self.skipped(end, at, bytes.len())
                }
                Expect::Nest(nest) => {
                    let end = nest.close(&bytes[at..]);
                    self.skipped(end, at, bytes.len())
                }
                Expect::Word => {
                    let end =
                        bytes[at..].iter().position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t'));
                    self.skipped(end, at, bytes.len())
                }
                _ if matches!(bytes[at], b' ' | b'\n' | b'\r' | b'\t') => at + 1,
                _ => match self.mark(bytes[at]) {
                    Ok(true) => return SeekResult::Rows(at + 1),
                    Ok(false) => at + 1,
                    Err(message) => {
                        return SeekResult::Fault(SplitError { offset: taken + at as u64, message, truncated: false });
                    }
                },
            };
        }
        SeekResult::Not
    }

    /// A value that is not wanted ended.
    fn skipped(&mut self, end: Option<usize>, at: usize, length: usize) -> usize {
        if end.is_some() {
            self.expect = Expect::Comma;
        }
        end.map_or(length, |end| at + end)
    }

    fn take_key(&mut self, bytes: &[u8], ended: bool) {
        let room = (self.key_bytes_max + 2).saturating_sub(self.key.len());
        self.key.extend(bytes.iter().take(room));
        if ended {
            self.expect = Expect::Colon { wanted: self.is_wanted() };
        }
    }

    fn is_wanted(&self) -> bool {
        let Some(raw) = self.key.strip_suffix(b"\"").and_then(|key| std::str::from_utf8(key).ok()) else {
            return false;
        };
        let mut key = String::new();
        unescape(raw, 0, &mut key) == Ok(false) && key == self.keys[self.open - 1]
    }

    /// A byte between keys and values; whether it opens what has the rows.
    fn mark(&mut self, byte: u8) -> Result<bool, String> {
        self.expect = match (&self.expect, byte) {
            (Expect::Value { wanted: true }, _) if self.open == self.keys.len() => {
                return if byte == self.opening { Ok(true) } else { Err(self.no_rows(byte)) };
            }
            (Expect::Value { wanted: true }, b'{') => {
                self.open += 1;
                Expect::Key { first: true }
            }
            (Expect::Value { wanted: true }, _) => return Err(self.not_wanted(byte, "an object")),
            (Expect::Value { wanted: false }, b'{' | b'[') => Expect::Nest(NestingScanner::open(1)),
            (Expect::Value { wanted: false }, b'"') => Expect::Text { escaped: false },
            (Expect::Value { wanted: false }, _) => Expect::Word,
            (Expect::Key { .. }, b'"') => {
                self.key.clear();
                Expect::KeyRest { escaped: false }
            }
            (Expect::Key { first: true } | Expect::Comma, b'}') => self.object_ends()?,
            (Expect::Colon { wanted }, b':') => Expect::Value { wanted: *wanted },
            (Expect::Comma, b',') => Expect::Key { first: false },
            _ => return Err(format!("not JSON, on the way to the rows {}", path::format(&self.keys))),
        };
        Ok(false)
    }

    fn object_ends(&mut self) -> Result<Expect, String> {
        self.open -= 1;
        if self.open == 0 { Err(format!("the document has no rows {}", path::format(&self.keys))) } else { Ok(Expect::Comma) }
    }

    /// The path leads to something else than was said; where that has rows, too, the path to them.
    fn no_rows(&self, byte: u8) -> String {
        let path = path::format(&self.keys);
        match (self.opening, byte) {
            (b'[', b'{') => format!("{path} is an object, not an array; '{path}.*' makes a row of each of its members"),
            (b'{', b'[') => format!("{path} is an array, not an object; '{path}' makes a row of each of its elements"),
            (b'[', _) => self.not_wanted(byte, "an array"),
            _ => self.not_wanted(byte, "an object"),
        }
    }

    fn not_wanted(&self, byte: u8, wanted: &str) -> String {
        let is = match byte {
            b'{' => "an object",
            b'[' => "an array",
            b'"' => "a string",
            b'-' | b'0'..=b'9' => "a number",
            b't' | b'f' | b'n' => "true, false or null",
            _ => "no JSON",
        };
        format!("{} is {is}, not {wanted}", path::format(&self.keys[..self.open]))
    }
}
