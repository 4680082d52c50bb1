//! Reads a line of the combined format in one straight run.
//!
//! Takes the lines that are as they should be and leaves every other one (`None`) to `general`, so
//! that only sound lines need to be thought of here, and both give the same answer by construction.

use super::address;
use super::general::present;
use super::record::LogRecord;
use super::request;
use super::time::{CLF_BYTES, ClfClock};

/// Reads `client - user [time] "request" status bytes "referrer" "agent"` into an empty record,
/// which is worth nothing after a `None`. (A record is 240 bytes: handing it back would copy it.)
#[inline]
pub(crate) fn parse<'a>(clock: &mut ClfClock, line: &'a [u8], record: &mut LogRecord<'a>) -> Option<()> {
    let rest = read_client_and_user(line, record)?;
    let rest = read_time(clock, rest, record)?;
    let (text, rest) = split_quote(rest, b" ")?;
    request::read(text, record).ok()?;
    let rest = read_status_and_bytes(rest, record)?;
    let (referrer, rest) = split_quote(rest, b" \"")?;
    record.referrer = present(referrer);
    let (agent, rest) = split_quote(rest, b"")?;
    record.agent = present(agent);
    rest.is_empty().then_some(())
}

/// The same as [`parse`], of the same lines, but only time, status and number of bytes.
#[inline]
pub(crate) fn parse_numbers<'a>(clock: &mut ClfClock, line: &'a [u8], record: &mut LogRecord<'a>) -> Option<()> {
    let rest = skip_client_and_user(line)?;
    let rest = read_time(clock, rest, record)?;
    let (text, rest) = split_quote(rest, b" ")?;
    request::check(text).ok()?;
    let rest = read_status_and_bytes(rest, record)?;
    let (_, rest) = split_quote(rest, b" \"")?;
    // Whatever the agent is, nothing but the line's last byte ends it.
    let (b'"', agent) = rest.split_last()? else { return None };
    (memchr::memchr(b'"', agent).is_none() && agent.last() != Some(&b'\\')).then_some(())
}

/// `client - user [`
#[inline]
fn skip_client_and_user(line: &[u8]) -> Option<&[u8]> {
    let (_, rest) = split_client(line)?;
    let rest = rest.strip_prefix(b" - ")?;
    if let Some(rest) = rest.strip_prefix(b"- [") {
        return Some(rest);
    }
    let space = short_find(rest, b' ')?;
    rest[space..].strip_prefix(b" [")
}

/// `client - user [`
#[inline]
fn read_client_and_user<'a>(line: &'a [u8], record: &mut LogRecord<'a>) -> Option<&'a [u8]> {
    let (client, rest) = split_client(line)?;
    record.client = client;
    let rest = rest.strip_prefix(b" - ")?;
    if let Some(rest) = rest.strip_prefix(b"- [") {
        return Some(rest);
    }
    let space = short_find(rest, b' ')?;
    record.user = if &rest[..space] == b"\"\"" { b"" } else { &rest[..space] };
    rest[space..].strip_prefix(b" [")
}

/// The client that a line begins with, and the text after it. `None` for what `general` looks at
/// more closely: a byte order mark or a blank before it, a list of clients, a word that is no
/// client.
#[inline]
fn split_client(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = short_find(line, b' ')?;
    let (client, rest) = line.split_at(space);
    if is_ipv4(line, space) {
        return Some((client, rest));
    }
    Some((other_client(client)?, rest))
}

/// A client that is no IPv4 address. `None` also for an IPv4 address in IPv6's form, which
/// `general` gives another text.
#[cold]
fn other_client(word: &[u8]) -> Option<&[u8]> {
    if word.ends_with(b",") {
        return None;
    }
    let client = present(address::client(word));
    let is_client = client.is_empty() && word.len() == 1 || address::is_host(client);
    (is_client && address::mapped(client).is_none()).then_some(client)
}

/// True if the first `length` bytes look like an IPv4 address: digits and three points, up to 15
/// bytes. All are looked at side by side, as a loop takes some percent of the time of a line.
#[inline]
fn is_ipv4(line: &[u8], length: usize) -> bool {
    const TOPS: u128 = LOW << 7;
    let Some(window) = line.first_chunk::<16>().filter(|window| length < 16 && window[0] != b'.') else { return false };
    let word = u128::from_le_bytes(*window);
    let bytes = (1 << (8 * length)) - 1;
    // Digits become 0..=9, and a point 0; the top bit of a byte is set where it is neither.
    let digits = word ^ (LOW * u128::from(b'0'));
    let not_digits = ((digits & !TOPS) + LOW * 0x76) | digits;
    let points = word ^ (LOW * u128::from(b'.'));
    let not_points = ((points & !TOPS) + LOW * 0x7f) | points;
    let points = (!not_points & TOPS & bytes) >> 7;
    // The sum of the bytes, which is in the top one after the multiplication.
    let halves = (points as u64) + (points >> 64) as u64;
    (not_digits & not_points & TOPS & bytes) == 0 && halves.wrapping_mul(LOW as u64) >> 56 == 3
}

/// `17/May/2015:10:05:03 +0000] "`
#[inline]
fn read_time<'a>(clock: &mut ClfClock, text: &'a [u8], record: &mut LogRecord<'a>) -> Option<&'a [u8]> {
    let (text, rest) = text.split_first_chunk::<CLF_BYTES>()?;
    let instant = clock.read(text).ok()?;
    record.time_us = Some(instant.time_us);
    record.zone_seconds = instant.zone_seconds;
    rest.strip_prefix(b"] \"")
}

/// The texts before the first quote, and after it and `then`. `None` also where a backslash
/// stands before the quote, which then may be escaped.
#[inline]
fn split_quote<'a>(text: &'a [u8], then: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let quote = memchr::memchr(b'"', text)?;
    let (left, right) = (&text[..quote], &text[quote + 1..]);
    if left.last() == Some(&b'\\') {
        return None;
    }
    Some((left, right.strip_prefix(then)?))
}

/// `200 203023 "`
#[inline]
fn read_status_and_bytes<'a>(text: &'a [u8], record: &mut LogRecord<'a>) -> Option<&'a [u8]> {
    let (&[a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', b' '], rest) = text.split_first_chunk::<4>()? else {
        return None;
    };
    record.status = u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0');
    let (bytes, rest) = read_bytes(rest)?;
    record.bytes = bytes;
    rest.strip_prefix(b" \"")
}

/// Up to seven digits, in one machine word, or `-`.
#[inline]
fn read_bytes(text: &[u8]) -> Option<(Option<u64>, &[u8])> {
    let word = u64::from_le_bytes(*text.first_chunk::<8>()?);
    if text[0] == b'-' {
        return Some((None, &text[1..]));
    }
    // Digits become 0..=9; adding 0x76 sets the top bit of every byte that is none (or that follows
    // one).
    let values = word ^ 0x3030_3030_3030_3030;
    let foreign = (values.wrapping_add(0x7676_7676_7676_7676) | values) & 0x8080_8080_8080_8080;
    let count = foreign.trailing_zeros() / 8;
    if count == 0 || count == 8 {
        return None;
    }
    // Leading zeros in front, then pairs, fours and eights of digits are added up side by side.
    let digits = values << (64 - 8 * count);
    let pairs = (digits.wrapping_mul(10) + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    let number = (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff;
    Some((Some(number), &text[count as usize..]))
}

/// One in each byte.
const LOW: u128 = 0x0101_0101_0101_0101_0101_0101_0101_0101;

/// First occurrence of `byte`, for fields so short that a call of memchr would cost more than the
/// search.
#[inline]
fn short_find(text: &[u8], byte: u8) -> Option<usize> {
    let Some(window) = text.first_chunk::<16>() else {
        return memchr::memchr(byte, text);
    };
    let zeros = u128::from_le_bytes(*window) ^ (LOW * u128::from(byte));
    let hits = zeros.wrapping_sub(LOW) & !zeros & (LOW << 7);
    if hits == 0 {
        return memchr::memchr(byte, &text[16..]).map(|at| at + 16);
    }
    Some(hits.trailing_zeros() as usize / 8)
}
