//! Lines written by their format: read again they say the same.

use rorqual_accesslog::format::{LogFormat, detect};
use rorqual_accesslog::parse::{LineFlaw, LineOutcome, LogParser, LogRecord};

fn samples() -> impl Iterator<Item = (String, Vec<u8>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples");
    let paths = std::fs::read_dir(folder).expect("samples").map(|entry| entry.expect("readable").path());
    let logs = paths.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
    logs.map(|path| (path.display().to_string(), std::fs::read(&path).expect("readable")))
}

/// Writes the line anew, and checks that it says the same; what it is then, where nothing was wrong
/// with it.
fn rebuilt(format: &LogFormat, line: &[u8]) -> Option<Vec<u8>> {
    let mut parser = LogParser::new(format);
    let (record, sound) = match parser.parse(line) {
        LineOutcome::Parsed(record) => (record, true),
        // It is sound, and its plus is not kept.
        LineOutcome::Repaired(record, flaw) => (record, flaw == LineFlaw::SoFar),
        LineOutcome::Rejected(_) | LineOutcome::Blank => return None,
    };
    let written = format.line(&record, None);
    let mut again = LogParser::new(format);
    let (LineOutcome::Parsed(read) | LineOutcome::Repaired(read, _)) = again.parse(&written) else {
        panic!("{} of {}", String::from_utf8_lossy(&written), String::from_utf8_lossy(line));
    };
    assert_eq!(read, record, "{}", String::from_utf8_lossy(&written));
    sound.then_some(written)
}

#[test]
fn lines_of_every_sample_say_the_same() {
    let mut logs = 0;
    for (name, log) in samples() {
        let format = detect(&log, &[]).expect("a known format").format;
        let lines: Vec<&[u8]> =
            log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#")).collect();
        let sound = lines.iter().filter(|line| rebuilt(&format, line).is_some()).count();
        assert!(sound * 10 >= lines.len() * 6, "{name}: {sound} of {}", lines.len());
        logs += 1;
    }
    assert!(logs >= 6);
}

#[test]
fn combined_lines_are_as_they_were() {
    let format = LogFormat::named("combined").expect("a known format");
    let (_, log) = samples().find(|(name, _)| name.ends_with("apache_combined.log")).expect("the sample");
    let (mut same, mut lines) = (0, 0);
    for line in log.split(|byte| *byte == b'\n') {
        let Some(written) = rebuilt(&format, line) else { continue };
        lines += 1;
        // An empty query is kept as none.
        let without = String::from_utf8_lossy(line).replace("? HTTP/", " HTTP/");
        assert_eq!(String::from_utf8_lossy(&written), without);
        same += usize::from(written == line);
    }
    assert_eq!((lines, lines - same), (9_999, 1));
}

const RECORD: LogRecord<'static> = LogRecord {
    time_us: Some(971_211_336_250_000),
    zone_seconds: -25_200,
    client: b"127.0.0.1",
    user: b"frank",
    host: b"example.com",
    method: b"GET",
    path: b"/a",
    query: b"b=c",
    protocol: b"HTTP/1.1",
    status: 404,
    bytes: Some(153),
    referrer: b"",
    agent: b"x \\ y",
    request_time_us: Some(1_500),
    upstream_time_us: Some(20),
    source: b"web1",
    own: None,
};

#[test]
fn each_language_writes_as_its_server_does() {
    for (format, line) in [
        (
            "$http_x_forwarded_for $remote_addr [$time_local] \"$request\" $request_uri $status $request_id $request_time $upstream_response_time",
            "- 127.0.0.1 [10/Oct/2000:13:55:36 -0700] \"GET /a?b=c HTTP/1.1\" /a?b=c 404 - 0.001500 0.000020",
        ),
        (
            "$time_iso8601|$request_method|$uri|$args|$body_bytes_sent|$http_referer",
            "2000-10-10T13:55:36.250000-07:00|GET|/a|b=c|153|-",
        ),
        (
            "%{%a %d %B %Y %I:%M:%S %p %z}t %{msec_frac}t %m %U%q %H %>s %B %D %{ms}T %v",
            "Tue 10 Oct 2000 01:55:36 PM -0700 250 GET /a?b=c HTTP/1.1 404 153 1500 - example.com",
        ),
        ("%{%Y-%j %T}t.%{usec_frac}t %{us}T %s", "2000-284 13:55:36.250000 1500 404"),
        (
            r#"{"at":"$time_iso8601","who":{"user":"$remote_user"},"status":$status,"took":"$request_time","agent":"$http_user_agent"}"#,
            r#"{"agent":"x \\ y","at":"2000-10-10T13:55:36.250000-07:00","status":404,"took":0.001500,"who.user":"frank"}"#,
        ),
        ("syslog+%h %u %t %>s", "Oct 10 13:55:36 web1 -: 127.0.0.1 frank [10/Oct/2000:13:55:36 -0700] 404"),
        ("compose+$remote_addr $msec $status", "web1 | 127.0.0.1 971211336.250 404"),
        ("grep+cri+$time_iso8601 $status", "web1:2000-10-10T13:55:36.250000-07:00 stdout F 2000-10-10T13:55:36.250000-07:00 404"),
        (
            "json",
            r#"{"time_iso8601":"2000-10-10T13:55:36.250000-07:00","remote_addr":"127.0.0.1","remote_user":"frank","host":"example.com","request_method":"GET","request_uri":"/a?b=c","server_protocol":"HTTP/1.1","status":404,"body_bytes_sent":153,"http_user_agent":"x \\ y","request_time":0.001500,"upstream_response_time":0.000020}"#,
        ),
    ] {
        let format = LogFormat::parse(format).expect("a format");
        assert_eq!(String::from_utf8_lossy(&format.line(&RECORD, None)), line);
        assert!(rebuilt(&format, line.as_bytes()).is_some_and(|again| again == line.as_bytes()), "{line}");
    }
}

#[test]
fn what_is_not_kept_is_named() {
    let unkept = |format: &str| LogFormat::parse(format).map(|format| format.unkept().join(" ")).expect("a format");
    assert_eq!(unkept("combined"), "%l");
    assert_eq!(unkept("vhost_combined"), "%l");
    // The others are columns of the log's own.
    assert_eq!(unkept("$remote_addr $http_x_forwarded_for $bytes_sent $body_bytes_sent $request_id"), "");
    assert_eq!(unkept("json"), "");
    assert_eq!(unkept("cri+combined"), "time passed on %l");
}
