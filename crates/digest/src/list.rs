//! Lists of checksums, as `sha256sum` and BSD's `sha256` write and read them. Names are bytes, as
//! the system has them.
//!
//! | line | is |
//! |---|---|
//! | `DIGEST  NAME`, `DIGEST *NAME` | GNU's form; `*` says that the file was read as binary, which is all one here |
//! | `DIGEST NAME` | `md5 -r`'s form, in lists whose first line of this kind has it |
//! | `SHA256 (NAME) = DIGEST` | BSD's form; OpenSSL's, without the blanks, as well |
//! | `\DIGEST  NAME`, `\SHA256 (NAME) = DIGEST` | the same with `\n`, `\r` and `\\` in the name for a newline, a return and a backslash |
//! | `# …`, an empty line | nothing |
//!
//! Lists of `sha256sum -z`, whose entries end with NULs, have the same forms, and names as they
//! are.

use crate::limits::LIST_LINE_BYTES_MAX;
use crate::{Algorithm, Digest};
use std::borrow::Cow;
use std::io::{self, BufRead};

/// Digests of BLAKE2b with fewer bits are only taken for such where that is said.
const BLAKE2B_BITS_GUESSED_MIN: u16 = 128;

/// A line of a list, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListLine {
    /// The digest that a file should have.
    Entry {
        /// Computed by whoever made the list.
        digest: Digest,
        /// The same as digests of the other algorithms of that length, where nothing says which it
        /// is of.
        others: Vec<Digest>,
        /// The file's name.
        name: Vec<u8>,
    },
    /// A comment or an empty line.
    Nothing,
    /// None of the forms, or longer than [`LIST_LINE_BYTES_MAX`].
    Improper,
}

/// Reads the lines of one list.
#[derive(Debug, Clone)]
pub struct ListParser {
    algorithm: Option<Algorithm>,
    /// True where one blank stands between digest and name; unknown until a line has shown it.
    one_blank: Option<bool>,
    /// Entries end with NULs, and their names are not escaped.
    zero: bool,
}

impl ListParser {
    /// A parser of lines of `algorithm`; `None` takes any, known by the tag or the digest's length.
    /// Of algorithms whose digests are of one length the first in [`Algorithm::ALL`] is taken where
    /// there is no tag, with the others beside it. BLAKE2b's lengths are those of the digests,
    /// whichever was given.
    #[must_use]
    pub fn new(algorithm: Option<Algorithm>) -> Self {
        Self { algorithm, one_blank: None, zero: false }
    }

    /// The same for a list whose entries end with NULs, and whose names are not escaped.
    #[must_use]
    pub fn zero(self, zero: bool) -> Self {
        Self { zero, ..self }
    }

    /// Reads one line, given without its end.
    pub fn line(&mut self, line: &[u8]) -> ListLine {
        let line = if self.zero { line } else { line.strip_suffix(b"\r").unwrap_or(line) };
        if line.is_empty() || line.starts_with(b"#") {
            return ListLine::Nothing;
        }
        self.entry(line.trim_ascii_start()).unwrap_or(ListLine::Improper)
    }

    fn entry(&mut self, line: &[u8]) -> Option<ListLine> {
        let (escaped, line) = match line.strip_prefix(b"\\") {
            Some(rest) if !self.zero => (true, rest),
            _ => (false, line),
        };
        let (digest, others, name) = match tagged(line) {
            Some((algorithm, digest, name)) => (self.wanted(algorithm)?.digest(digest)?, Vec::new(), name),
            None => {
                let (digest, name) = self.untagged(line)?;
                (digest, if self.algorithm.is_none() { others(&digest) } else { Vec::new() }, name)
            }
        };
        let name = if escaped { unescape(name)? } else { name.to_vec() };
        // No file has a name with a NUL in it.
        (!name.is_empty() && !name.contains(&0)).then_some(ListLine::Entry { digest, others, name })
    }

    /// A digest of this algorithm is wanted here.
    fn wanted(&self, algorithm: Algorithm) -> Option<Tagged> {
        self.algorithm.is_none_or(|only| only.name() == algorithm.name()).then_some(Tagged(algorithm))
    }

    fn untagged<'a>(&mut self, line: &'a [u8]) -> Option<(Digest, &'a [u8])> {
        let end = line.iter().position(|byte| matches!(byte, b' ' | b'\t'))?;
        let digest = self.guess(std::str::from_utf8(&line[..end]).ok()?)?;
        let rest = &line[end + 1..];
        let two = rest.len() > 1 && matches!(rest[0], b' ' | b'*');
        match (two, self.one_blank) {
            (false, Some(false)) => return None,
            (false, _) => self.one_blank = Some(true),
            (true, Some(true)) => {}
            (true, _) => {
                self.one_blank = Some(false);
                return Some((digest, &rest[1..]));
            }
        }
        Some((digest, rest))
    }

    fn guess(&self, text: &str) -> Option<Digest> {
        match self.algorithm {
            Some(Algorithm::Blake2b(_)) => {
                let of_length = u16::try_from(4 * text.len()).ok().and_then(Algorithm::blake2b);
                let hex = of_length.and_then(|algorithm| Digest::parse(algorithm, text));
                return hex.or_else(|| Digest::parse(Algorithm::Blake2b(64), text));
            }
            Some(algorithm) => return Digest::parse(algorithm, text),
            None => {}
        }
        Self::by_length(text)
    }

    fn by_length(text: &str) -> Option<Digest> {
        // Base32 of SHA-1 is as long as hexadecimal of MD5, and may consist of the same digits:
        // hexadecimal is the rule.
        let hex = Algorithm::ALL.into_iter().find(|algorithm| 2 * algorithm.digest_bytes() == text.len());
        let hex = hex.and_then(|algorithm| Digest::parse(algorithm, text));
        let known = hex.or_else(|| Algorithm::ALL.into_iter().find_map(|algorithm| Digest::parse(algorithm, text)));
        // A word of few letters may be hexadecimal by chance.
        let bits = || u16::try_from(4 * text.len()).ok().filter(|bits| *bits >= BLAKE2B_BITS_GUESSED_MIN);
        known.or_else(|| Digest::parse(Algorithm::blake2b(bits()?)?, text))
    }
}

/// The bytes of a digest as digests of the other algorithms of that length.
fn others(digest: &Digest) -> Vec<Digest> {
    let blake2b = u16::try_from(8 * digest.as_bytes().len()).ok().and_then(Algorithm::blake2b);
    let known = Algorithm::ALL.into_iter().filter(|algorithm| !matches!(algorithm, Algorithm::Blake2b(_)));
    let others = known.chain(blake2b).filter(|algorithm| *algorithm != digest.algorithm());
    others.filter_map(|algorithm| Digest::from_bytes(algorithm, digest.as_bytes())).collect()
}

struct Tagged(Algorithm);

impl Tagged {
    fn digest(&self, text: &[u8]) -> Option<Digest> {
        Digest::parse(self.0, std::str::from_utf8(text).ok()?)
    }
}

/// Algorithm, digest and name of a line in BSD's form. The name ends at the last parenthesis.
fn tagged(line: &[u8]) -> Option<(Algorithm, &[u8], &[u8])> {
    let opens = line.iter().position(|byte| *byte == b'(')?;
    let tag = line[..opens].strip_suffix(b" ").unwrap_or(&line[..opens]);
    let (algorithm, rest) = (Algorithm::of_tag(std::str::from_utf8(tag).ok()?)?, &line[opens + 1..]);
    let end = rest.iter().rposition(|byte| *byte == b')')?;
    let digest = rest[end + 1..].trim_ascii_start().strip_prefix(b"=")?;
    Some((algorithm, digest.trim_ascii_start(), &rest[..end]))
}

fn unescape(name: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(name.len());
    let mut bytes = name.iter();
    while let Some(byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => match bytes.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b'\\' => b'\\',
                _ => return None,
            },
            other => *other,
        });
    }
    Some(plain)
}

/// A name as a list has it, and whether it was escaped, which a backslash at the line's start says.
#[must_use]
pub fn escape(name: &[u8]) -> (Cow<'_, [u8]>, bool) {
    if !name.iter().any(|byte| matches!(byte, b'\n' | b'\r' | b'\\')) {
        return (Cow::Borrowed(name), false);
    }
    let mut escaped = Vec::with_capacity(name.len() + 8);
    for byte in name {
        match byte {
            b'\n' => escaped.extend(b"\\n"),
            b'\r' => escaped.extend(b"\\r"),
            b'\\' => escaped.extend(b"\\\\"),
            other => escaped.push(*other),
        }
    }
    (Cow::Owned(escaped), true)
}

/// The lines of a list, numbered from 1, in constant memory. A list whose first line ends with a
/// NUL is one of [`ListParser::zero`].
#[derive(Debug)]
pub struct ListLines<R> {
    input: R,
    parser: ListParser,
    number: u64,
    buffer: Vec<u8>,
}

impl<R: BufRead> ListLines<R> {
    /// The lines of `input` as `parser` understands them.
    pub fn new(input: R, parser: ListParser) -> Self {
        Self { input, parser, number: 0, buffer: Vec::new() }
    }

    /// The next line into the buffer, of one that is too long the head; `None` at the end,
    /// otherwise whether it is whole.
    fn read(&mut self) -> io::Result<Option<bool>> {
        self.buffer.clear();
        let first = self.number == 0;
        let is_end = |zero: bool, byte: u8| if zero { byte == 0 } else { byte == b'\n' || first && byte == 0 };
        let (mut any, mut whole) = (false, true);
        loop {
            let available = match self.input.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if available.is_empty() {
                return Ok(any.then_some(whole));
            }
            any = true;
            let end = available.iter().position(|byte| is_end(self.parser.zero, *byte));
            self.parser.zero |= end.is_some_and(|end| available[end] == 0);
            let piece = &available[..end.unwrap_or(available.len())];
            let room = LIST_LINE_BYTES_MAX - self.buffer.len();
            whole &= piece.len() <= room;
            self.buffer.extend_from_slice(&piece[..piece.len().min(room)]);
            let taken = piece.len() + usize::from(end.is_some());
            self.input.consume(taken);
            if end.is_some() {
                return Ok(Some(whole));
            }
        }
    }
}

impl<R: BufRead> Iterator for ListLines<R> {
    type Item = io::Result<(u64, ListLine)>;

    fn next(&mut self) -> Option<Self::Item> {
        let whole = match self.read() {
            Ok(whole) => whole?,
            Err(error) => return Some(Err(error)),
        };
        self.number += 1;
        let line = if whole { self.parser.line(&self.buffer) } else { ListLine::Improper };
        Some(Ok((self.number, line)))
    }
}
