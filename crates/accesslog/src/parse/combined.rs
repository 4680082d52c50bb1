//! Reads a line of the combined format in one straight run.
//!
//! Takes the lines that are as they should be and leaves every other one (`None`) to `general`, so
//! that only sound lines need to be thought of here, and both give the same answer by construction.

use super::number::present;
use super::record::LogRecord;
use super::time::{CLF_BYTES, ClfClock};
use super::{address, request};

/// Reads `client - user [time] "request" status bytes "referrer" "agent"` into an empty record,
/// which is worth nothing after a `None`. (A record is 240 bytes: handing it back would copy it.)
#[inline]
pub(crate) fn parse<'a>(clock: &mut ClfClock, line: &'a [u8], record: &mut LogRecord<'a>) -> Option<()> {
    let rest = read_client_and_user(line, record)?;
    let rest = read_time(clock, rest, record)?;
    let (text, mark, rest) = split_request(rest)?;
    request::read_marked(text, mark, record).ok()?;
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
    let rest = match ipv4_bytes(line) {
        Some(length) => &line[length..],
        None => split_other_client(line)?.1,
    };
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
    let rest;
    (record.client, rest) = match ipv4_bytes(line) {
        Some(length) => line.split_at(length),
        None => split_other_client(line)?,
    };
    let rest = rest.strip_prefix(b" - ")?;
    if let Some(rest) = rest.strip_prefix(b"- [") {
        return Some(rest);
    }
    let space = short_find(rest, b' ')?;
    record.user = if &rest[..space] == b"\"\"" { b"" } else { &rest[..space] };
    rest[space..].strip_prefix(b" [")
}

/// Length of the IPv4 address that a line begins with, before a blank: digits with three points
/// between them, up to 15 bytes. All are looked at side by side, as a loop takes some percent of
/// the time of a line.
#[inline]
fn ipv4_bytes(line: &[u8]) -> Option<usize> {
    let window = line.first_chunk::<16>()?;
    let (low, high) = split_words(window);
    // Bytes that are no digits, a bit each: of an address three points, and the blank after it.
    let mut others = not_digits(low) | not_digits(high) << 8;
    let mut next = || {
        // Without another one it is the first byte, which is a digit by then.
        let at = others.trailing_zeros() as usize % 16;
        others &= others.wrapping_sub(1);
        at
    };
    let points = [next(), next(), next()];
    let blank = next();
    let is_address = points[0] > 0 && points.iter().all(|at| window[*at] == b'.') && window[blank] == b' ';
    is_address.then_some(blank)
}

/// A bit for each byte of a word that is no digit, from the lowest one on.
#[inline]
fn not_digits(word: u64) -> u64 {
    const TOPS: u64 = 0x8080_8080_8080_8080;
    // Digits become 0..=9; the top bit of a byte is set where it is none.
    let values = word ^ 0x3030_3030_3030_3030;
    let others = (((values & !TOPS) + 0x7676_7676_7676_7676) | values) & TOPS;
    // Brings the bits together, each to another place of the top byte.
    (others >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[inline]
fn split_words(bytes: &[u8; 16]) -> (u64, u64) {
    let both = u128::from_le_bytes(*bytes);
    (both as u64, (both >> 64) as u64)
}

/// A client that is no IPv4 address, and the text after it. `None` for what `general` looks at
/// more closely: a byte order mark or a blank before it, a list of clients, a word that is no
/// client, and an IPv4 address in IPv6's form, which `general` gives another text.
#[cold]
fn split_other_client(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (word, rest) = line.split_at(short_find(line, b' ')?);
    if word.ends_with(b",") {
        return None;
    }
    let client = present(address::client(word));
    let is_client = client.is_empty() && word.len() == 1 || address::is_host(client);
    (is_client && address::mapped(client).is_none()).then_some((client, rest))
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
    split_at_quote(text, memchr::memchr(b'"', text)?, then)
}

#[inline]
fn split_at_quote<'a>(text: &'a [u8], quote: usize, then: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let (left, right) = (&text[..quote], &text[quote + 1..]);
    if left.last() == Some(&b'\\') {
        return None;
    }
    Some((left, right.strip_prefix(then)?))
}

/// The same of a request, with the place of its first `?`. Both are looked for at once, as most
/// requests have none.
#[inline]
fn split_request(text: &[u8]) -> Option<(&[u8], Option<usize>, &[u8])> {
    let found = memchr::memchr2(b'"', b'?', text)?;
    if text[found] == b'"' {
        let (request, rest) = split_at_quote(text, found, b" ")?;
        return Some((request, None, rest));
    }
    let quote = memchr::memchr(b'"', &text[found..])?;
    let (request, rest) = split_at_quote(text, found + quote, b" ")?;
    Some((request, Some(found), rest))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The same as [`ipv4_bytes`], byte by byte.
    fn ipv4_bytes_slow(line: &[u8]) -> Option<usize> {
        let blank = line.iter().take(16).position(|byte| *byte == b' ').filter(|_| line.len() >= 16)?;
        let address = &line[..blank];
        let points = address.iter().filter(|byte| **byte == b'.').count();
        let is_address = points == 3 && address.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
        (is_address && address[0] != b'.').then_some(blank)
    }

    #[test]
    fn addresses_are_told_side_by_side() {
        let lines =
            ["1.2.3.4 - - [01/Jan", "255.255.255.255 - -", "255.255.255.2555 - -", "1... - - [01/Jan/2025", ".1.2.3 - - [01/Jan"];
        for line in lines {
            assert_eq!(ipv4_bytes(line.as_bytes()), ipv4_bytes_slow(line.as_bytes()), "{line}");
            // Each byte takes each value, in each place that matters.
            for at in 0..16 {
                for byte in 0..=255 {
                    let mut other = line.as_bytes().to_vec();
                    other[at] = byte;
                    assert_eq!(ipv4_bytes(&other), ipv4_bytes_slow(&other), "{:?}", other.escape_ascii());
                }
            }
        }
        assert_eq!(ipv4_bytes(b"255.255.255.255 - -"), Some(15));
        assert_eq!(ipv4_bytes(b"1.2.3.4 - -"), None, "too short for a line");
    }
}
