//! Patterns of messages: the text with its numbers, addresses, identifiers and quoted parts masked,
//! so that messages of one kind are one text.

use std::net::Ipv6Addr;

/// Bytes of a pattern: of a longer message the beginning tells its kind.
const PATTERN_BYTES_MAX: usize = 512;

/// Bytes of a UUID in its usual form, with its hyphens at these places.
const UUID_BYTES: usize = 36;
const UUID_HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// Letters and digits from which on a word of both is an identifier.
const ID_BYTES_MIN: usize = 8;

/// Hexadecimal digits from which on a word of them, with a figure among them, is one.
const HEX_BYTES_MIN: usize = 6;

/// Appends the pattern of a message.
pub(crate) fn push_pattern(out: &mut Vec<u8>, message: &[u8]) {
    let start = out.len();
    let mut at = 0;
    while at < message.len() && out.len() - start < PATTERN_BYTES_MAX {
        let rest = &message[at..];
        at += match rest[0] {
            quote @ (b'"' | b'\'' | b'`') => push_quoted(out, rest, quote, before(message, at)),
            byte if is_word(byte) || byte == b':' => push_word(out, rest),
            byte => {
                out.push(byte);
                1
            }
        };
    }
}

fn before(message: &[u8], at: usize) -> Option<u8> {
    message[..at].last().copied()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || byte == b'_'
}

/// A part in quotation marks, which an apostrophe within a word is none of.
fn push_quoted(out: &mut Vec<u8>, rest: &[u8], quote: u8, before: Option<u8>) -> usize {
    let mut end = 1;
    while end < rest.len() && rest[end] != quote {
        end += if rest[end] == b'\\' { 2 } else { 1 };
    }
    let is_closed = end < rest.len() && !rest.get(end + 1).is_some_and(|byte| is_word(*byte));
    if !is_closed || before.is_some_and(is_word) {
        out.push(quote);
        return 1;
    }
    out.extend_from_slice(b"<text>");
    end + 1
}

/// A word, or what begins like one; returns its length.
fn push_word(out: &mut Vec<u8>, rest: &[u8]) -> usize {
    let length = rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len());
    let after = rest.get(length);
    if length == UUID_HYPHENS[0] && after == Some(&b'-') && is_uuid(rest) {
        out.extend_from_slice(b"<uuid>");
        return UUID_BYTES;
    }
    // An address has a point or a colon after its first number.
    if matches!(after, Some(b'.' | b':'))
        && let Some(length) = address(rest)
    {
        out.extend_from_slice(b"<ip>");
        return length;
    }
    if length == 0 {
        out.push(rest[0]);
        return 1;
    }
    let word = &rest[..length];
    if !word.iter().any(u8::is_ascii_digit) {
        out.extend_from_slice(word);
        return length;
    }
    if is_hex(word) {
        out.extend_from_slice(b"<hex>");
        return length;
    }
    if word.iter().all(u8::is_ascii_digit) {
        out.extend_from_slice(b"<num>");
        return length + fraction(&rest[length..]);
    }
    let changes = word.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
    if changes > 2 && length >= ID_BYTES_MIN && word.iter().all(u8::is_ascii_alphanumeric) {
        out.extend_from_slice(b"<id>");
        return length;
    }
    push_masked_digits(out, word);
    length
}

/// Length of the digits after a point that belong to a number, with the point.
fn fraction(rest: &[u8]) -> usize {
    let digits = rest.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
    if rest.first() == Some(&b'.') && digits > 0 { 1 + digits } else { 0 }
}

/// `user42` is `user<num>`, `12ms` is `<num>ms`.
fn push_masked_digits(out: &mut Vec<u8>, word: &[u8]) {
    for part in word.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()) {
        out.extend_from_slice(if part[0].is_ascii_digit() { b"<num>" } else { part });
    }
}

fn is_uuid(rest: &[u8]) -> bool {
    let is_at = |(at, byte): (usize, &u8)| if UUID_HYPHENS.contains(&at) { *byte == b'-' } else { byte.is_ascii_hexdigit() };
    rest.get(..UUID_BYTES).is_some_and(|uuid| uuid.iter().enumerate().all(is_at))
        && !rest.get(UUID_BYTES).is_some_and(|byte| is_word(*byte))
}

/// `0x1f`, or hexadecimal digits with a figure and a letter among them.
fn is_hex(word: &[u8]) -> bool {
    if let Some(digits) = word.strip_prefix(b"0x") {
        return !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    }
    word.len() >= HEX_BYTES_MIN && word.iter().all(u8::is_ascii_hexdigit) && word.iter().any(u8::is_ascii_alphabetic)
}

/// Length of an address of either kind.
fn address(rest: &[u8]) -> Option<usize> {
    let of = |is_in: fn(u8) -> bool| rest.iter().position(|byte| !is_in(*byte)).unwrap_or(rest.len());
    let dotted = of(|byte| byte.is_ascii_digit() || byte == b'.');
    if rest.first().is_some_and(u8::is_ascii_digit) && !rest.get(dotted).is_some_and(|byte| is_word(*byte)) {
        // A sentence may end with an address.
        let text = rest[..dotted].strip_suffix(b".").unwrap_or(&rest[..dotted]);
        if text.iter().filter(|byte| **byte == b'.').count() == 3 && parses::<std::net::Ipv4Addr>(text) {
            return Some(text.len());
        }
    }
    let coloned = of(|byte| byte.is_ascii_hexdigit() || byte == b':' || byte == b'.');
    if rest.get(coloned).is_some_and(|byte| is_word(*byte)) {
        return None;
    }
    let trimmed = rest[..coloned].strip_suffix(b":").or_else(|| rest[..coloned].strip_suffix(b".")).unwrap_or(&rest[..coloned]);
    // Names of programs have such colons too, and no figures.
    let is_long = trimmed.iter().filter(|byte| **byte == b':').count() >= 2 && trimmed.iter().any(u8::is_ascii_digit);
    [&rest[..coloned], trimmed].into_iter().find(|text| is_long && parses::<Ipv6Addr>(text)).map(<[u8]>::len)
}

fn parses<T: std::str::FromStr>(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| text.parse::<T>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(message: &str) -> String {
        let mut out = Vec::new();
        push_pattern(&mut out, message.as_bytes());
        String::from_utf8(out).expect("text stays text")
    }

    #[test]
    fn what_differs_from_message_to_message_is_masked() {
        for (message, expected) in [
            ("", ""),
            ("started", "started"),
            ("took 12 ms, 0.25 s and 12ms", "took <num> ms, <num> s and <num>ms"),
            ("user42 of shard-7", "user<num> of shard-<num>"),
            ("request 7d444840-9dc0-11d1-b245-5ffdce74fad2 done", "request <uuid> done"),
            ("from 10.0.0.1:8080 to 2001:db8::1.", "from <ip>:<num> to <ip>."),
            ("peer 10.0.0.1. next", "peer <ip>. next"),
            ("peer ::1 left", "peer <ip> left"),
            ("at 10:20:30 on 2026-01-27", "at <num>:<num>:<num> on <num>-<num>-<num>"),
            ("commit deadbeef12 at 0x1F", "commit <hex> at <hex>"),
            ("facade added", "facade added"),
            ("key x9F3kQ7z", "key <id>"),
            ("open \"/etc/a b\" and 'c d': it's 'x'", "open <text> and <text>: it's <text>"),
            ("an open \"quote", "an open \"quote"),
            ("a \"b\\\"c\" d", "a <text> d"),
            ("v1.2.3 of Größe 7", "v<num>.<num> of Größe <num>"),
            ("std::vec at a::b", "std::vec at a::b"),
        ] {
            assert_eq!(pattern(message), expected, "{message}");
        }
        assert!(pattern(&"word ".repeat(1_000)).len() < PATTERN_BYTES_MAX + 8);
    }

    #[test]
    fn any_bytes_have_a_pattern() {
        for byte in 0..=255 {
            let mut out = Vec::new();
            push_pattern(&mut out, &[byte; 40]);
            push_pattern(&mut out, &[b'"', b'\\', byte]);
            push_pattern(&mut out, &[b':', byte, b':', b'1']);
        }
    }
}
