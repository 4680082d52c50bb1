//! Texts as they are written into HTML and JSON: runs of plain bytes are copied whole.

use crate::plan::EscapeMode;
use rorqual_pipe::Sink;
use std::io;

/// Writes a text.
#[inline]
pub(crate) fn write<S: Sink + ?Sized>(text: &str, mode: EscapeMode, sink: &mut S) -> io::Result<()> {
    match mode {
        EscapeMode::Plain | EscapeMode::Safe => sink.copy(text.as_bytes()),
        EscapeMode::Html => write_runs(text.as_bytes(), &HTML, html, sink),
        EscapeMode::Json => {
            sink.copy(b"\"")?;
            write_runs(text.as_bytes(), &JSON, json, sink)?;
            sink.copy(b"\"")
        }
    }
}

/// Bytes that HTML can't have as they are, by MiniJinja's list.
const HTML: [bool; 256] = table(b"<>&\"'/", 0);

/// Bytes that a JSON string can't have as they are.
const JSON: [bool; 256] = table(b"\"\\", 0x20);

/// Set of the bytes to escape: some, and those below `control`.
const fn table(special: &[u8], control: u8) -> [bool; 256] {
    let mut table = [false; 256];
    let mut place = 0;
    while place < special.len() {
        table[special[place] as usize] = true;
        place += 1;
    }
    let mut byte = 0;
    while byte < control {
        table[byte as usize] = true;
        byte += 1;
    }
    table
}

#[inline]
fn write_runs<S: Sink + ?Sized>(
    bytes: &[u8],
    table: &[bool; 256],
    escape: impl Fn(u8, &mut [u8; 6]) -> usize,
    sink: &mut S,
) -> io::Result<()> {
    let mut start = 0;
    while let Some(place) = find(&bytes[start..], table) {
        let place = start + place;
        if place > start {
            sink.copy(&bytes[start..place])?;
        }
        let mut escaped = [0; 6];
        let length = escape(bytes[place], &mut escaped);
        sink.copy(&escaped[..length])?;
        start = place + 1;
    }
    if start < bytes.len() { sink.copy(&bytes[start..]) } else { Ok(()) }
}

/// The first byte that is in the table. Most texts are short: eight looks at a time cost less than
/// setting up a search by SIMD.
#[inline]
fn find(bytes: &[u8], table: &[bool; 256]) -> Option<usize> {
    let mut start = 0;
    for eight in bytes.chunks_exact(8) {
        if eight.iter().fold(false, |any, byte| any | table[usize::from(*byte)]) {
            break;
        }
        start += 8;
    }
    bytes[start..].iter().position(|byte| table[usize::from(*byte)]).map(|place| start + place)
}

fn html(byte: u8, out: &mut [u8; 6]) -> usize {
    let text: &[u8] = match byte {
        b'<' => b"&lt;",
        b'>' => b"&gt;",
        b'&' => b"&amp;",
        b'"' => b"&quot;",
        b'\'' => b"&#x27;",
        _ => b"&#x2f;",
    };
    out[..text.len()].copy_from_slice(text);
    text.len()
}

fn json(byte: u8, out: &mut [u8; 6]) -> usize {
    out[0] = b'\\';
    out[1] = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
            out[1..].copy_from_slice(&[b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
            return 6;
        }
    };
    2
}

/// Writes a number.
#[inline]
pub(crate) fn write_integer<S: Sink + ?Sized>(number: i64, sink: &mut S) -> io::Result<()> {
    // The least number has 19 digits and a sign.
    let mut digits = [0; 20];
    let mut start = digits.len();
    let mut left = number.unsigned_abs();
    loop {
        start -= 1;
        digits[start] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    if number < 0 {
        start -= 1;
        digits[start] = b'-';
    }
    sink.copy(&digits[start..])
}
