//! Addresses of clients as logs write them: with a port, in brackets, several in a list.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The client of a field: of a list the first that is known, without its port and the brackets
/// around it.
///
/// A text that is no list and has none of these is given as it is; so is a list whose first is no
/// address.
pub(crate) fn client(text: &[u8]) -> &[u8] {
    match memchr::memchr(b',', text) {
        None => without_port(text),
        Some(_) => first_of_list(text),
    }
}

/// The IPv4 address that is written in IPv6's form, in any of its ways: `::ffff:1.2.3.4`, as
/// servers write it that listen on both, or `::ffff:102:304`.
#[inline]
pub(crate) fn mapped(text: &[u8]) -> Option<Ipv4Addr> {
    // Only the five groups of zeros before it, or what stands for them, begin so.
    if matches!(text.first(), Some(b':' | b'0')) { read_mapped(text) } else { None }
}

#[cold]
fn read_mapped(text: &[u8]) -> Option<Ipv4Addr> {
    str::from_utf8(text).ok()?.parse::<Ipv6Addr>().ok()?.to_ipv4_mapped()
}

fn first_of_list(text: &[u8]) -> &[u8] {
    let mut members = text.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    // Squid, HAProxy and nginx write `unknown` and `-` for hops that do not say who they are.
    let known = members.find(|member| !matches!(*member, b"" | b"-" | b"unknown"));
    match known.map(without_port) {
        Some(known) if is_in_list(known) => known,
        Some(_) => text,
        None => b"",
    }
}

/// True of an address, and of one that was made anonymous, which has fewer numbers.
fn is_in_list(text: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'x' | b'X' | b'*');
    is_address(text) || (text.contains(&b'.') && text.iter().all(is_part))
}

/// `10.0.0.1:4711` and `[::1]:4711` without their port; a bare IPv6 address, with its many colons,
/// stays.
fn without_port(text: &[u8]) -> &[u8] {
    if let Some(inner) = text.strip_prefix(b"[") {
        let close = memchr::memchr(b']', inner).filter(|close| match &inner[close + 1..] {
            [b':', port @ ..] => is_port(port),
            after => after.is_empty(),
        });
        return close.map_or(text, |close| &inner[..close]);
    }
    match memchr::memchr(b':', text) {
        Some(colon) if is_port(&text[colon + 1..]) => &text[..colon],
        _ => text,
    }
}

fn is_port(text: &[u8]) -> bool {
    (1..=5).contains(&text.len()) && text.iter().all(u8::is_ascii_digit)
}

/// True if a text is an address or a name that a host can have.
pub(crate) fn is_host(text: &[u8]) -> bool {
    // nginx's client that came over a socket of the file system.
    is_name(text) || is_ipv6(text) || text.starts_with(b"unix:")
}

/// True if a text is the name of a virtual host: neither a number nor the level of a message, which
/// stand before lines too.
pub(crate) fn is_virtual_host(text: &[u8]) -> bool {
    is_host(text) && !is_number(text) && !is_level(text)
}

/// True if a text can be the name of a virtual host where it stands before the client. Tools put
/// dates, the names of streams and identifiers there, too.
pub(crate) fn is_host_before(text: &[u8]) -> bool {
    const ID_BYTES_MIN: usize = 16;
    let is_date = memchr::memchr(b'-', text).is_some() && !text.iter().any(u8::is_ascii_alphabetic);
    let digits = text.iter().filter(|byte| **byte != b'-');
    let is_id = digits.clone().all(u8::is_ascii_hexdigit) && digits.count() >= ID_BYTES_MIN;
    is_virtual_host(text) && !is_date && !is_id && !matches!(text, b"stdout" | b"stderr")
}

/// True of digits and nothing else.
pub(crate) fn is_bare_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

/// True if a text is a number, which may have a fraction: a time, or a duration.
fn is_number(text: &[u8]) -> bool {
    let whole = text.split(|byte| *byte == b'.').all(|digits| digits.iter().all(u8::is_ascii_digit));
    whole && memchr::memchr_iter(b'.', text).count() <= 1
}

/// True if a word is a level that loggers give a message.
pub(crate) fn is_level(word: &[u8]) -> bool {
    const LEVELS: [&[u8]; 14] = [
        b"trace",
        b"debug",
        b"info",
        b"notice",
        b"warn",
        b"warning",
        b"error",
        b"err",
        b"crit",
        b"critical",
        b"alert",
        b"emerg",
        b"fatal",
        b"audit",
    ];
    LEVELS.iter().any(|level| word.eq_ignore_ascii_case(level))
}

/// Letters, digits and the marks between them; so are IPv4 addresses, and the numbers of
/// anonymised logs.
fn is_name(text: &[u8]) -> bool {
    const NAME_BYTES_MAX: usize = 253;
    let of_names = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    text.len() <= NAME_BYTES_MAX
        && text.iter().all(of_names)
        && text.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        && !is_after_line_number(text)
        && !is_torn_address(text)
}

/// True for `203.0.113203.0.113.7`: numbers and more points than an address of IPv4 has, as where a
/// line was cut and another begins. Anonymised addresses may have fewer.
fn is_torn_address(text: &[u8]) -> bool {
    let points = text.iter().filter(|byte| **byte == b'.').count();
    points > 3 && text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
}

/// True for `12-203.0.113.7`, `access.log-12-203.0.113.7` and `access.log-203.0.113.7`: a line of
/// context as grep prints it.
fn is_after_line_number(text: &[u8]) -> bool {
    // Most names end in a letter, and addresses have no dash.
    if !text.last().is_some_and(u8::is_ascii_digit) || memchr::memchr(b'-', text).is_none() {
        return false;
    }
    let mut parts = text.rsplitn(3, |byte| *byte == b'-');
    let (Some(last), Some(before)) = (parts.next(), parts.next()) else { return false };
    is_ipv4(last) && (is_bare_number(before) || memchr::memchr(b'.', before).is_some())
}

/// True if a text is an address, of IPv4 or IPv6.
pub(crate) fn is_address(text: &[u8]) -> bool {
    is_ipv6(text) || is_ipv4(text)
}

fn is_ipv4(text: &[u8]) -> bool {
    str::from_utf8(text).is_ok_and(|text| text.parse::<std::net::Ipv4Addr>().is_ok())
}

fn is_ipv6(text: &[u8]) -> bool {
    let without_zone = text.split(|byte| *byte == b'%').next().unwrap_or_default();
    str::from_utf8(without_zone).is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok())
}

/// The address that a client is; an IPv4 address in IPv6's clothes is the IPv4 address.
#[must_use]
pub fn address(client: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(client).ok()?;
    Some(text.parse::<IpAddr>().ok()?.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_and_brackets_are_cut() {
        assert_eq!(client(b"10.0.0.1:4711"), b"10.0.0.1");
        assert_eq!(client(b"[::1]:4711"), b"::1");
        assert_eq!(client(b"[2001:db8::1]"), b"2001:db8::1");
        assert_eq!(client(b"2001:db8::1"), b"2001:db8::1");
        assert_eq!(client(b"host.example:80"), b"host.example");
        for other in
            [&b"[::1"[..], b"unix:", b"::ffff:10.0.0", b"::ffff:a00:1", b"[pod/a/b]x", b"access.log:10.0.0.1", b"a:123456"]
        {
            assert_eq!(client(other), other);
        }
    }

    #[test]
    fn a_line_number_before_an_address_is_no_host() {
        assert!(!is_host(b"access.log-12-203.0.113.7") && !is_host(b"12-203.0.113.7"));
        assert!(!is_host(b"access.log-203.0.113.7") && !is_host(b"access.log.1-203.0.113.7"));
        assert!(is_host(b"ec2-203-0-113-7.compute.example") && is_host(b"ip-10.0.0.1") && is_host(b"web-1"));
    }

    #[test]
    fn an_ipv4_address_is_one_client_in_either_form() {
        let forms = ["::ffff:10.0.0.1", "::FFFF:10.0.0.1", "::ffff:a00:1", "::ffff:0a00:0001", "0:0:0:0:0:ffff:10.0.0.1"];
        for text in forms.into_iter().chain(["0000:0000:0000:0000:0000:FFFF:0A00:0001"]) {
            assert_eq!(mapped(text.as_bytes()), Some(Ipv4Addr::new(10, 0, 0, 1)), "{text}");
        }
        for other in ["10.0.0.1", "::10.0.0.1", "::ffff:10.0.0", "::ffff:0:a00:1", "64:ff9b::a00:1", "::1", "0.0.0.0", ""] {
            assert_eq!(mapped(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn the_first_of_a_list() {
        assert_eq!(client(b"203.0.113.7, 10.0.0.1"), b"203.0.113.7");
        assert_eq!(client(b"unknown, -, [2001:db8::1]:80,10.0.0.1"), b"2001:db8::1");
        assert_eq!(client(b"unknown,-"), b"");
        // Neither the first nor the second of these is known to be the client.
        assert_eq!(client(b"web1,203.0.113.7"), b"web1,203.0.113.7");
        assert!(!is_host(client(b"web1,203.0.113.7")));
    }

    #[test]
    fn numbers_are_no_virtual_hosts() {
        for number in ["34600", "1728568500.123", "0.001", "12."] {
            assert!(!is_virtual_host(number.as_bytes()), "{number}");
        }
        for host in ["203.0.113.7", "7.example", "web.1", "example.com"] {
            assert!(is_virtual_host(host.as_bytes()), "{host}");
        }
    }

    #[test]
    fn words_before_a_client_that_are_no_host() {
        for host in ["example.com", "web-1", "203.0.113.7", "2001:db8::1", "_", "cafe", "a1b2c3d4e5f6"] {
            assert!(is_host_before(host.as_bytes()), "{host}");
        }
        for other in [
            "2024-11-22",
            "stdout",
            "stderr",
            "9f86d081884c7d659a2feaa0c55ad015",
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
            "17",
            "info",
        ] {
            assert!(!is_host_before(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn addresses_and_names() {
        for host in [
            "203.0.113.7",
            "2001:db8::1",
            "fe80::1%eth0",
            "::ffff:1.2.3.4",
            "piweba3y.prodigy.com",
            "web-1",
            "34600",
            "unix:",
            "_",
        ] {
            assert!(is_host(host.as_bytes()), "{host}");
        }
        for other in [
            "",
            "-",
            "203.0.113203.0.113.7",
            "1.2.3.4.",
            "10:11:12",
            "[pod/a/b]",
            "access.log:203.0.113.7",
            "203.0.113.7,",
            "a b",
            "|",
            "nginx:",
        ] {
            assert!(!is_host(other.as_bytes()), "{other}");
        }
    }
}
