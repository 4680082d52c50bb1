//! The combined format: real lines, and the straight function against the general one.

// Helpers are not seen as tests by clippy.toml, and may fail as tests do.
#![allow(clippy::expect_used)]

use proptest::prelude::*;
use rorqual_accesslog::format::Field;
use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::parse::{FlawPosition, LineFlaw, LineOutcome, LogParser, LogRecord};

const SAMPLE: &[u8] = include_bytes!("../../../../samples/apache_combined.log");

fn combined() -> LogParser {
    LogParser::new(&LogFormat::named("combined").expect("a known name"))
}

/// The parsers that have to give one answer.
struct Parsers {
    fast: LogParser,
    /// For time, status and bytes only.
    numbers: LogParser,
    slow: LogParser,
}

impl Parsers {
    fn new() -> Self {
        Self { fast: combined(), numbers: combined().only(&[Field::Time, Field::Status, Field::Bytes]), slow: combined() }
    }

    fn agree_on(&mut self, line: &[u8]) {
        let shown = String::from_utf8_lossy(line);
        let slow = self.slow.parse_slow(line);
        assert_eq!(self.fast.parse(line), slow, "{shown}");
        assert_eq!(numbers_of(self.numbers.parse(line)), numbers_of(slow), "numbers only: {shown}");
    }
}

/// An outcome with nothing of its record but the numbers.
fn numbers_of(outcome: LineOutcome<'_>) -> LineOutcome<'static> {
    let numbers = |record: LogRecord<'_>| LogRecord {
        time_us: record.time_us,
        zone_seconds: record.zone_seconds,
        status: record.status,
        bytes: record.bytes,
        ..LogRecord::default()
    };
    match outcome {
        LineOutcome::Parsed(record) => LineOutcome::Parsed(numbers(record)),
        LineOutcome::Repaired(record, flaw) => LineOutcome::Repaired(numbers(record), flaw),
        LineOutcome::Rejected(flaw) => LineOutcome::Rejected(flaw),
        LineOutcome::Blank => LineOutcome::Blank,
    }
}

fn sample_lines() -> impl Iterator<Item = &'static [u8]> {
    SAMPLE.strip_suffix(b"\n").unwrap_or(SAMPLE).split(|byte| *byte == b'\n')
}

#[test]
fn first_line_of_the_sample() {
    let line = sample_lines().next().expect("a line");
    let expected = LogRecord {
        time_us: Some(1_431_857_103_000_000),
        client: b"83.149.9.216",
        method: b"GET",
        path: b"/presentations/logstash-monitorama-2013/images/kibana-search.png",
        protocol: b"HTTP/1.1",
        status: 200,
        bytes: Some(203_023),
        referrer: b"http://semicomplete.com/presentations/logstash-monitorama-2013/",
        agent: b"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_9_1) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/32.0.1700.77 Safari/537.36",
        ..LogRecord::default()
    };
    assert_eq!(combined().parse(line), LineOutcome::Parsed(expected));
}

/// Checked with `awk -F'" ' '{split($2,a," "); n[a[1]]++} END{for (s in n) print s, n[s]}'`, and
/// the bytes with `awk -F'" ' '{split($2,a," "); if (a[2]!="-") t+=a[2]} END{print t}'`.
#[test]
fn the_whole_sample() {
    let mut parser = combined();
    let mut by_status = std::collections::BTreeMap::new();
    let (mut parsed, mut repaired, mut bytes, mut queries) = (0, Vec::new(), 0u64, 0);
    for (number, line) in (1..).zip(sample_lines()) {
        let record = match parser.parse(line) {
            LineOutcome::Parsed(record) => record,
            LineOutcome::Repaired(record, flaw) => {
                repaired.push((number, flaw));
                record
            }
            other => panic!("line {number}: {other:?}"),
        };
        parsed += 1;
        *by_status.entry(record.status).or_insert(0) += 1;
        bytes += record.bytes.unwrap_or(0);
        queries += usize::from(!record.query.is_empty());
    }
    assert_eq!(parsed, 10_000);
    assert_eq!(repaired, [(8_899, LineFlaw::Unclosed(FlawPosition::Field(Field::Agent), '"'))]);
    let expected = [(200, 9126), (206, 45), (301, 164), (304, 445), (403, 2), (404, 213), (416, 2), (500, 3)];
    assert!(by_status.into_iter().eq(expected));
    assert_eq!(bytes, SAMPLE_BYTES_SENT);
    assert_eq!(queries, SAMPLE_QUERIES);
}

const SAMPLE_BYTES_SENT: u64 = 2_747_282_740;
const SAMPLE_QUERIES: usize = 1_258;

#[test]
fn unterminated_agent_keeps_its_text() {
    let line = sample_lines().nth(8_898).expect("line 8899");
    let mut parser = combined();
    let LineOutcome::Repaired(record, flaw) = parser.parse(line) else { panic!("not repaired") };
    assert_eq!(record.agent, b"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html");
    assert_eq!(flaw.to_string(), "no closing \"\\\"\" after the agent");
    assert_eq!((record.status, record.bytes), (200, Some(235)));
}

#[test]
fn fast_and_slow_agree_on_the_sample() {
    let mut parsers = Parsers::new();
    sample_lines().for_each(|line| parsers.agree_on(line));
}

/// Tokens of mutations: bytes that mean something to the format, and some that never do.
const TOKENS: &[&[u8]] = &[
    b"\"",
    b"\\",
    b"\\\"",
    b"\\\\",
    b" ",
    b"  ",
    b"-",
    b"\" \"",
    b"] \"",
    b"[",
    b"]",
    b" [",
    b" - ",
    b"\0",
    b"\xff",
    b"\r",
    b"\t",
    b"0",
    b"99999999",
    b"99999999999999999999999",
    b"GET / HTTP/1.1",
    b"?",
    b"HTTP/1.",
    b":60",
    b"+9999",
    b"Feb",
    b"\xef\xbb\xbf",
    b"{",
    b"}",
];

#[derive(Debug, Clone)]
enum Edit {
    Replace(usize, usize),
    Insert(usize, usize),
    Remove(usize, usize),
    Cut(usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let (at, token) = (0usize..400, 0..TOKENS.len());
    prop_oneof![
        (at.clone(), token.clone()).prop_map(|(at, token)| Edit::Replace(at, token)),
        (at.clone(), token).prop_map(|(at, token)| Edit::Insert(at, token)),
        (at.clone(), 1usize..30).prop_map(|(at, length)| Edit::Remove(at, length)),
        at.prop_map(Edit::Cut),
    ]
}

fn edited(line: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut line = line.to_vec();
    for edit in edits {
        let length = line.len();
        let range = |at: usize, size: usize| at.min(length)..(at + size).min(length);
        match *edit {
            Edit::Replace(at, token) => {
                drop(line.splice(range(at, 1), TOKENS[token].iter().copied()));
            }
            Edit::Insert(at, token) => {
                drop(line.splice(range(at, 0), TOKENS[token].iter().copied()));
            }
            Edit::Remove(at, size) => drop(line.drain(range(at, size))),
            Edit::Cut(at) => line.truncate(at),
        }
    }
    line
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fast_and_slow_agree_on_mutated_lines(number in 0usize..10_000, edits in prop::collection::vec(edit(), 1..4)) {
        let line = edited(sample_lines().nth(number).unwrap_or_default(), &edits);
        Parsers::new().agree_on(&line);
    }

    #[test]
    fn fast_and_slow_agree_on_any_bytes(line in prop::collection::vec(any::<u8>(), 0..300)) {
        Parsers::new().agree_on(&line);
    }
}

/// Every single byte of a line replaced by every other: the two functions agree throughout.
#[test]
fn fast_and_slow_agree_on_every_one_byte_change() {
    let line = br#"10.0.0.1 - u [29/Feb/2024:23:59:59 -0130] "GET /a?b=c HTTP/1.1" 200 1234567 "r" "a b""#;
    let mut parsers = Parsers::new();
    let mut changed = line.to_vec();
    for at in 0..line.len() {
        for byte in 0..=255 {
            changed[at] = byte;
            parsers.agree_on(&changed);
        }
        changed[at] = line[at];
    }
}

fn line_of(client: &str, tail: &str) -> String {
    format!(r#"{client} - - [20/Feb/2024:10:00:00 +0000] "GET /a HTTP/1.1" 200 612 "-" "ua"{tail}"#)
}

/// A word that is no client does not become one, wherever in the log the line stands.
#[test]
fn a_word_that_is_no_client_is_said() {
    let mut parsers = Parsers::new();
    for word in [
        "access.log:203.0.113.7",
        "\"203.0.113.7",
        "[203.0.113.7",
        "x=203.0.113.7",
        "<script>",
        "host.example/203.0.113.7",
        "10.0.0.1:443:203.0.113.7",
        "\x01\x02203.0.113.7",
        "203.0.113203.0.113.1",
        "117.227.171.18\0\0\0\0\0",
    ] {
        let line = line_of(word, "");
        let LineOutcome::Repaired(record, flaw) = parsers.slow.parse_slow(line.as_bytes()) else { panic!("{word}") };
        assert_eq!((record.client, record.path, flaw), (&b""[..], &b"/a"[..], LineFlaw::NotClient), "{word}");
        parsers.agree_on(line.as_bytes());
    }
    for word in
        ["203.0.113.7", "2001:db8::1", "[2001:db8::1]:443", "10.0.0.1:4711", "host-1.example", "34600", "203.0.113", "-", "unix:"]
    {
        let line = line_of(word, "");
        assert!(matches!(parsers.slow.parse_slow(line.as_bytes()), LineOutcome::Parsed(_)), "{word}");
        parsers.agree_on(line.as_bytes());
    }
}

/// A log whose format changes where its server is told to write more: the agent ends at its quote.
#[test]
fn text_after_the_agent_is_none_of_it() {
    let mut parsers = Parsers::new();
    for tail in [
        r#" 0.123 "h.example""#,
        r#" rt="0.1" uct="-""#,
        r#" rt=0.1 uct="0.004""#,
        r#"rt=0.1 uct="0.004""#,
        r#" TLSv1.3 "id""#,
        r#" [id] "x""#,
        r#" 999 "h""#,
    ] {
        let line = line_of("203.0.113.7", tail);
        let LineOutcome::Repaired(record, flaw) = parsers.slow.parse_slow(line.as_bytes()) else { panic!("{tail}") };
        assert_eq!((record.agent, flaw), (&b"ua"[..], LineFlaw::TextAfter), "{tail}");
        parsers.agree_on(line.as_bytes());
    }
    let timed = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" rt=$request_time"#;
    let mut parser = LogParser::new(&LogFormat::parse(timed).expect("a format"));
    let line = line_of("203.0.113.7", " urt=9.000 rt=7.000");
    let LineOutcome::Repaired(record, _) = parser.parse(line.as_bytes()) else { panic!("{line}") };
    assert_eq!((record.agent, record.request_time_us), (&b"ua"[..], None));
}

/// Two lines of which one was cut: no field of the first can be told from the second's.
#[test]
fn a_line_that_holds_two_is_rejected() {
    let line = line_of("203.0.113.7", "");
    for cut in 15..line.len() - 1 {
        let torn = format!("{}{line}", &line[..cut]);
        let mut parsers = Parsers::new();
        let outcome = parsers.slow.parse_slow(torn.as_bytes());
        assert!(!matches!(outcome, LineOutcome::Parsed(_)), "{torn}: {outcome:?}");
        parsers.agree_on(torn.as_bytes());
    }
}
