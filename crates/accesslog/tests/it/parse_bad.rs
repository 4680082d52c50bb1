//! Lines that are not as they should be: which are kept, which are not, and what is said about
//! them.

// Helpers are not seen as tests by clippy.toml, and may fail as tests do.
#![allow(clippy::expect_used)]

use std::sync::LazyLock;

use proptest::prelude::*;
use rorqual_accesslog::format::{Field, LogFormat, detect, formats_in_config, preview};
use rorqual_accesslog::parse::{LineOutcome, LogParser, LogRecord};

/// Outcome of a combined line of these pieces (`ok`, `repaired: why` or `rejected: why`), and the
/// record.
fn outcome<'a>(parser: &'a mut LogParser, line: &'a str) -> (String, LogRecord<'a>) {
    match parser.parse(line.as_bytes()) {
        LineOutcome::Parsed(record) => ("ok".to_owned(), record),
        LineOutcome::Repaired(record, flaw) => (format!("repaired: {flaw}"), record),
        LineOutcome::Rejected(flaw) => (format!("rejected: {flaw}"), LogRecord::default()),
        LineOutcome::Blank => ("blank".to_owned(), LogRecord::default()),
    }
}

fn combined() -> LogParser {
    LogParser::new(&LogFormat::named("combined").expect("known"))
}

fn assert_outcome(line: &str, expected: &str) {
    assert_eq!(outcome(&mut combined(), line).0, expected, "{line}");
}

#[test]
fn what_is_said_about_bad_lines() {
    let rest = r#""-" "a""#;
    let head = "1.2.3.4 - - [17/May/2015:10:05:03 +0000]";
    assert_outcome("", "blank");
    assert_outcome(" \t\r", "blank");
    assert_outcome(&format!(r#"{head} "GET / HTTP/1.1" 200 5 {rest}"#), "ok");
    assert_outcome(&format!("{head} \"GET / HTTP/1.1\" 200 5 {rest}\r"), "ok");
    assert_outcome(&format!("{head} \"GET / HTTP/1.1\" 200 5 {rest}  "), "ok");
    assert_outcome(&format!("\u{feff}{head} \"GET / HTTP/1.1\" 200 5 {rest}"), "ok");
    assert_outcome(&format!(r#"{head} "-" 408 - {rest}"#), "ok");
    assert_outcome(&format!(r#"{head} "" 400 0 {rest}"#), "ok");
    assert_outcome(&format!(r#"{head} "GET / HTTP/1.1" - - {rest}"#), "ok");
    assert_outcome(&format!(r#"{head} "\x16\x03\x01\x00" 400 157 {rest}"#), "repaired: request is not 'METHOD target PROTOCOL'");
    assert_outcome(&format!(r#"{head} "GET /" 400 157 {rest}"#), "repaired: request is not 'METHOD target PROTOCOL'");
    assert_outcome(&format!(r#"{head} "GET / HTTP/1.1" 200 5x {rest}"#), "repaired: number of bytes is not a number");
    assert_outcome(
        &format!(r#"{head} "GET / HTTP/1.1" 200 99999999999999999999 {rest}"#),
        "repaired: number of bytes does not fit in 64 bits",
    );
    assert_outcome(&format!(r#"{head} "GET / HTTP/1.1" 099 5 {rest}"#), "rejected: status is not between 100 and 999");
    assert_outcome(&format!(r#"{head} "GET / HTTP/1.1" 1000 5 {rest}"#), "rejected: status is not between 100 and 999");
    assert_outcome(&format!(r#"{head} "GET / HTTP/1.1" OK 5 {rest}"#), "rejected: status is not a number");
    assert_outcome(&format!(r#"{head} "GET / HTTP/1.1" 200"#), "repaired: the line ends before the number of bytes");
    assert_outcome(&format!(r#"{head} "GET / HTTP/1.1" 200 5"#), "ok");
    assert_outcome(&format!(r#"{head} "GET / HTTP/1.1" 200 -"#), "ok");
    assert_outcome(&format!(r#"{head} "GET / HTTP/1.1" 200 5x"#), "repaired: the line ends before the referrer");
    assert_outcome(&format!(r#"{head} "GET / HTTP/1.1" 200 5 "http://x"#), "repaired: no closing \"\\\"\" after the referrer");
    assert_outcome(&format!(r#"{head} "GET / HTTP/1.1" 200 5 "http://x""#), "repaired: the line ends before the agent");
    assert_outcome(&format!(r#"{head} "GET / HTTP/1.1"#), "rejected: no closing \"\\\"\" after the request");
    assert_outcome("1.2.3.4 - - [17/May/2015:10:05:03 +0000", "rejected: no closing \"]\" after the time");
    assert_outcome("1.2.3.4", "rejected: the line ends before the unnamed field");
    assert_outcome(&"x".repeat(100_000), "rejected: the line ends before the unnamed field");
    let at = |time: &str| format!(r#"1.2.3.4 - - [{time}] "GET / HTTP/1.1" 200 5 {rest}"#);
    assert_outcome(&at("31/Apr/2015:10:05:03 +0000"), "rejected: the date or time does not exist");
    assert_outcome(&at("17/May/2015:24:05:03 +0000"), "rejected: the date or time does not exist");
    assert_outcome(&at("17/May/2015:10:05:03"), "ok");
    assert_outcome(&at("17/May/2015"), "rejected: time is not written as the format says");
    assert_outcome(&at("12345678"), "rejected: time is not written as the format says");
    assert_outcome(&at("17/Mai/2015:10:05:03 +0000"), "rejected: time is not written as the format says");
    assert_outcome(&at("-"), "ok");
}

/// Lines of other formats among combined ones: never is a word before the address taken for the
/// client in silence.
#[test]
fn words_before_the_client() {
    const HOST: &str = "repaired: a host stands before the client, where the format has none";
    const START: &str = "rejected: the line does not begin as the format says";
    let rest = r#"[17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 5 "-" "a""#;
    let nginx = LogFormat::named("combined_forwarded").expect("known");
    for (mut parser, end) in [(combined(), ""), (LogParser::new(&nginx), " \"-\"")] {
        let mut read = |before: &str| {
            let line = format!("{before} {rest}{end}");
            let (said, record) = outcome(&mut parser, &line);
            let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
            (said, text(record.host), text(record.client), text(record.user))
        };
        let of = |said: &str, host: &str, client: &str, user: &str| {
            (said.to_owned(), host.to_owned(), client.to_owned(), user.to_owned())
        };
        assert_eq!(read("example.com 203.0.113.9 - -"), of(HOST, "example.com", "203.0.113.9", ""));
        assert_eq!(read("example.com:443 203.0.113.9 - bob"), of(HOST, "example.com", "203.0.113.9", "bob"));
        assert_eq!(read("example.com 2001:db8::1 - -"), of(HOST, "example.com", "2001:db8::1", ""));
        assert_eq!(read("- 203.0.113.9 - -"), of(HOST, "", "203.0.113.9", ""));
        assert_eq!(read("Nov 22 10:11:12 web1 nginx: 203.0.113.9 - -"), of(START, "", "", ""));
        assert_eq!(read("2024-11-22T10:11:12Z stdout F 203.0.113.9 - -"), of(START, "", "", ""));
        assert_eq!(read("web-1  | 203.0.113.9 - -"), of(START, "", "", ""));
        assert_eq!(read("[pod/x] 203.0.113.9 - -"), of(START, "", "", ""));
        // Users may have blanks in their names.
        assert_eq!(read("203.0.113.9 - John Doe"), of("ok", "", "203.0.113.9", "John Doe"));
        assert_eq!(read("203.0.113.9 - John - Doe"), of("ok", "", "203.0.113.9", "John - Doe"));
        // As many words as a line has room for.
        assert_eq!(read(&format!("{}203.0.113.9 - -", "a ".repeat(100_000))), of(START, "", "", ""));
    }
}

#[test]
fn what_is_kept_of_bad_lines() {
    let mut parser = combined();
    let line = r#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "\x16\x03\x01" 400 157 "-" "a""#;
    let (_, record) = outcome(&mut parser, line);
    assert_eq!((record.method, record.path, record.status, record.bytes), (&b""[..], &b""[..], 400, Some(157)));
    let line = r#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET /x?y" 200 5 "-" "a""#;
    let (_, record) = outcome(&mut parser, line);
    assert_eq!((record.method, record.path, record.query, record.protocol), (&b"GET"[..], &b"/x"[..], &b"y"[..], &b""[..]));
    let line = r#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 5 "http://x"#;
    let (_, record) = outcome(&mut parser, line);
    assert_eq!((record.referrer, record.agent), (&b"http://x"[..], &b""[..]));
    let line = r#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 5"#;
    assert_eq!(outcome(&mut parser, line).1.bytes, Some(5), "a common line");
    let line = r#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 5 "#;
    assert_eq!(outcome(&mut parser, line).1.bytes, Some(5));
}

#[test]
fn requests_of_every_kind() {
    let mut parser = combined();
    let mut request = |request: &str| {
        let line = format!(r#"h - - [17/May/2015:10:05:03 +0000] "{request}" 200 5 "-" "a""#);
        let (said, record) = outcome(&mut parser, &line);
        let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
        (said == "ok", text(record.method), text(record.path), text(record.query), text(record.protocol))
    };
    let of = |method: &str, path: &str, query: &str, protocol: &str| {
        (true, method.to_owned(), path.to_owned(), query.to_owned(), protocol.to_owned())
    };
    assert_eq!(request("GET /a?b?c HTTP/1.1"), of("GET", "/a", "b?c", "HTTP/1.1"));
    assert_eq!(request("GET http://h/a?b HTTP/1.1"), of("GET", "http://h/a", "b", "HTTP/1.1"));
    assert_eq!(request("CONNECT h:443 HTTP/1.1"), of("CONNECT", "h:443", "", "HTTP/1.1"));
    assert_eq!(request("OPTIONS * HTTP/1.0"), of("OPTIONS", "*", "", "HTTP/1.0"));
    assert_eq!(request("VERSION-CONTROL / HTTP/2"), of("VERSION-CONTROL", "/", "", "HTTP/2"));
    assert_eq!(request("PRI * HTTP/2.0"), of("PRI", "*", "", "HTTP/2.0"));
    assert_eq!(request("GET /a b HTTP/3"), of("GET", "/a b", "", "HTTP/3"));
    assert_eq!(request("DESCRIBE rtsp://h/a RTSP/1.0"), of("DESCRIBE", "rtsp://h/a", "", "RTSP/1.0"));
    assert!(!request("GET HTTP/1.1").0);
    assert!(!request("G=T / HTTP/1.1").0);
    assert!(!request("GET / HTTP/").0);
}

/// One of each kind, compiled once.
static PARSERS: LazyLock<Vec<LogParser>> = LazyLock::new(|| {
    let formats = [
        "common",
        "vhost_combined",
        "json",
        "%{%d/%b/%Y %T}t.%{msec_frac}t %{%z}t %h %U%q %s %D",
        "$remote_addr $upstream_response_time $request_time$pipe [$time_iso8601] $host$request_uri \"$http_referer\" $status $msec",
        r#"{"a":"$time_local","b":{"c":"$request","d":$status}}"#,
    ];
    formats.iter().map(|text| LogParser::new(&LogFormat::parse(text).expect("sound"))).collect()
});

/// Bytes of which lines of all formats are made, so that random lines get far into the parsers.
fn logish() -> impl Strategy<Value = Vec<u8>> {
    const WORDS: &[&str] = &[
        "127.0.0.1",
        " ",
        " - ",
        "-",
        "[",
        "]",
        "\"",
        "\\",
        "\\u00",
        "\\ud800",
        "{",
        "}",
        ":",
        ",",
        "/",
        "?",
        "200",
        "0.001",
        "GET / HTTP/1.1",
        "17/May/2015:10:05:03 +0000",
        "17/May/2015 10:05:03.123 +0000",
        "2015-05-17T10:05:03Z",
        "\"status\":",
        "\"ts\":",
        "\"request\":{",
        "\"_\":{",
        "\"time\":\"",
        "1e400",
        "-1",
        "99999999999999999999",
        "\u{b5}s",
        "\0",
        "null",
        "[[",
        ".",
        "9",
    ];
    let word = prop_oneof![
        8 => (0..WORDS.len()).prop_map(|at| WORDS[at].as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..5),
    ];
    prop::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_line_makes_any_parser_panic(line in logish()) {
        for parser in PARSERS.iter() {
            let _ = parser.clone().parse(&line);
        }
        prop_assert!(rorqual_accesslog::agent::referring_site(&line).len() <= line.len());
    }

    #[test]
    fn no_text_makes_a_format_panic(text in "[%${}\\\\\"' a-zA-Z0-9_<>!,;:#\n-]{0,40}", line in logish()) {
        let _ = formats_in_config(&format!("log_format x {text}\nLogFormat {text}"));
        if let Ok(format) = LogFormat::parse(&text) {
            let _ = LogParser::new(&format).parse(&line);
        }
    }

    #[test]
    fn no_sample_makes_detection_panic(lines in prop::collection::vec(logish(), 0..5)) {
        let sample = lines.join(&b'\n');
        if let Ok(found) = detect(&sample, &[]) {
            let _ = preview(&found.format, &sample, 3);
        }
    }
}

#[test]
fn nesting_costs_no_stack() {
    let mut parser = LogParser::new(&LogFormat::named("json").expect("known"));
    for open in ["[", "{\"a\":", "{\"request\":", "{\"_\":", "{\"request\":{\"_\":"] {
        for head in ["{\"x\":", "{\"request\":{\"_\":", ""] {
            let line = format!("{head}{}", open.repeat(200_000));
            assert!(matches!(parser.parse(line.as_bytes()), LineOutcome::Rejected(_)));
        }
    }
}

#[test]
fn agents_of_any_bytes_are_classified() {
    for agent in [&b"\xff\xfe bot"[..], &[b'('; 100_000], b"Windows ", b"Mozilla/5.0 (", b"DoCoMo/", b"KDDI-", b"bot"] {
        let _ = rorqual_accesslog::agent::classify(agent);
    }
    assert!(!LogFormat::named("common").expect("known").has(Field::Agent));
}
