//! Each format language, by lines whose fields were worked out by hand.

// Helpers are not seen as tests by clippy.toml, and may fail as tests do.
#![allow(clippy::expect_used)]

use rorqual_accesslog::format::{Field, LogFormat, detect, formats_in_config};
use rorqual_accesslog::parse::{FlawPosition, LineFlaw, LineOutcome, LogParser, LogRecord};

/// 10/Oct/2000:13:55:36 -0700, the time of the examples in Apache's documentation: `date -d
/// '2000-10-10 20:55:36Z' +%s`.
const OCTOBER_US: i64 = 971_211_336_000_000;

fn assert_parsed(format: &str, line: &str, expected: LogRecord<'_>) {
    let mut parser = LogParser::new(&LogFormat::parse(format).expect("a sound format"));
    assert_eq!(parser.parse(line.as_bytes()), LineOutcome::Parsed(expected), "{format}\n{line}");
}

fn october() -> LogRecord<'static> {
    LogRecord {
        time_us: Some(OCTOBER_US),
        zone_seconds: -25_200,
        client: b"127.0.0.1",
        user: b"frank",
        method: b"GET",
        path: b"/apache_pb.gif",
        protocol: b"HTTP/1.0",
        status: 200,
        bytes: Some(2326),
        ..LogRecord::default()
    }
}

#[test]
fn apaches_own_examples() {
    let common = r#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326"#;
    assert_parsed("common", common, october());
    assert_parsed(r#"%h %l %u %t \"%r\" %>s %b"#, common, october());
    let combined = format!(r#"{common} "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)""#);
    let expected =
        LogRecord { referrer: b"http://www.example.com/start.html", agent: b"Mozilla/4.08 [en] (Win98; I ;Nav)", ..october() };
    assert_parsed("combined", &combined, expected);
    assert_parsed(
        "vhost_combined",
        &format!("www.example.com:443 {combined}"),
        LogRecord { host: b"www.example.com", ..expected },
    );
    assert_parsed("vhost_combined", &format!("[2001:db8::1]:443 {combined}"), LogRecord { host: b"[2001:db8::1]", ..expected });
}

/// One client, whichever way the writer has of an IPv4 address in IPv6's form: the same address by
/// Python's `ipaddress`, whose `str` is the second.
#[test]
fn a_mapped_address_is_the_ipv4_one() {
    let clients = ["::ffff:127.0.0.1", "::ffff:7f00:1", "::FFFF:7F00:0001", "[::ffff:7f00:1]:80", "0:0:0:0:0:ffff:7f00:1"];
    for client in clients.into_iter().chain(["-, ::ffff:7f00:1"]) {
        let rest = r#"- frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326"#;
        let combined = LogRecord { referrer: b"", agent: b"x", ..october() };
        if !client.contains(' ') {
            assert_parsed("common", &format!("{client} {rest}"), october());
            assert_parsed("combined", &format!("{client} {rest} \"-\" \"x\""), combined);
        }
        let json = format!(
            r#"{{"time":"2000-10-10T13:55:36-07:00","remote_addr":"{client}","request":"GET /apache_pb.gif HTTP/1.0","status":200}}"#
        );
        let format = detect(format!("{json}\n").as_bytes(), &[]).expect("a format").format;
        let mut parser = LogParser::new(&format);
        let LineOutcome::Parsed(record) = parser.parse(json.as_bytes()) else { panic!("{json}") };
        assert_eq!(record.client, b"127.0.0.1", "{client}");
    }
    let other = r#"::1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326"#;
    assert_parsed("common", other, LogRecord { client: b"::1", ..october() });
}

#[test]
fn apache_directives() {
    let expected = LogRecord { query: b"a=1&b=2", host: b"example.com", user: b"", request_time_us: Some(1_234), ..october() };
    assert_parsed(
        r#"%V %a %{%d/%b/%Y:%H:%M:%S %z}t %m %U%q %H %s %B %D"#,
        "example.com 127.0.0.1 10/Oct/2000:13:55:36 -0700 GET /apache_pb.gif?a=1&b=2 HTTP/1.0 200 2326 1234",
        expected,
    );
    assert_parsed(
        "%{Host}i\\t%h\\t%{sec}t\\t%m\\t%U%q\\t%H\\t%<s\\t%O\\t%{ms}T",
        "example.com\t127.0.0.1\t971211336\tGET\t/apache_pb.gif?a=1&b=2\tHTTP/1.0\t200\t2326\t1",
        LogRecord { zone_seconds: 0, request_time_us: Some(1_000), ..expected },
    );
    assert_parsed(
        r#"%!200,304{Referer}i "%400,501{User-agent}i" %X %k %p %I %% %>s"#,
        r#"- "curl/8" + 0 80 512 % 404"#,
        LogRecord { agent: b"curl/8", status: 404, ..LogRecord::default() },
    );
}

#[test]
fn apache_times_by_strftime() {
    let time = |format: &str, text: &str| {
        let mut parser = LogParser::new(&LogFormat::parse(&format!("{format} %>s")).expect("a sound format"));
        let line = format!("{text} 200");
        match parser.parse(line.as_bytes()) {
            LineOutcome::Parsed(record) => (record.time_us.expect("a time"), record.zone_seconds),
            other => panic!("{format} {text}: {other:?}"),
        }
    };
    assert_eq!(time("%{%d/%b/%Y %T}t.%{msec_frac}t %{%z}t", "10/Oct/2000 13:55:36.042 -0700"), (OCTOBER_US + 42_000, -25_200));
    assert_eq!(time("%{%Y-%m-%dT%H:%M:%S}t.%{usec_frac}t%{%z}t", "2000-10-10T20:55:36.000042+0000"), (OCTOBER_US + 42, 0));
    assert_eq!(time("%{%F %T}t", "2000-10-10 20:55:36"), (OCTOBER_US, 0));
    assert_eq!(time("%{%D %r}t", "10/10/00 08:55:36 PM"), (OCTOBER_US, 0));
    assert_eq!(time("%{%c}t", "Tue Oct 10 20:55:36 2000"), (OCTOBER_US, 0));
    assert_eq!(time("%{%c}t", "Sun Oct  1 20:55:36 2000"), (OCTOBER_US - 9 * 86_400_000_000, 0));
    assert_eq!(time("%{%Y %j %k:%M:%S}t", "2000 284 20:55:36"), (OCTOBER_US, 0));
    assert_eq!(time("%{begin:%s}t", "971211336"), (OCTOBER_US, 0));
    assert_eq!(time("%{msec}t", "971211336042"), (OCTOBER_US + 42_000, 0));
    assert_eq!(time("%{end:usec}t", "971211336000042"), (OCTOBER_US + 42, 0));
    assert_eq!(time("%t.%{msec_frac}t", "[10/Oct/2000:13:55:36 -0700].042"), (OCTOBER_US + 42_000, -25_200));
}

#[test]
fn nginx_formats() {
    let main = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_x_forwarded_for""#;
    let line = r#"172.17.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif?x HTTP/1.1" 304 0 "-" "curl/8.5.0" "203.0.113.9, 10.0.0.1""#;
    let expected = LogRecord {
        client: b"172.17.0.1",
        user: b"",
        query: b"x",
        protocol: b"HTTP/1.1",
        status: 304,
        bytes: Some(0),
        agent: b"curl/8.5.0",
        ..october()
    };
    assert_parsed(main, line, expected);
    assert_parsed(
        "$time_iso8601|$msec|${host}|$request_method $scheme://$http_host$request_uri $server_protocol|$status|$bytes_sent|$request_time|$upstream_response_time|$upstream_addr|$http_x_forwarded_for",
        "2000-10-10T13:55:36-07:00|971211336.042|example.com|GET https://other.example/apache_pb.gif?x HTTP/1.1|304|0|0.120|0.1, 0.02 : -|10.0.0.1:80, 10.0.0.2:80|203.0.113.9, 10.0.0.1",
        LogRecord {
            time_us: Some(OCTOBER_US + 42_000),
            zone_seconds: 0,
            client: b"203.0.113.9",
            host: b"example.com",
            agent: b"",
            request_time_us: Some(120_000),
            upstream_time_us: Some(120_000),
            ..expected
        },
    );
    assert_parsed(
        "$remote_addr $time_local $upstream_response_time $uri$is_args$args $status",
        "172.17.0.1 10/Oct/2000:13:55:36 -0700 0.001, 0.002 /apache_pb.gif?x 304",
        LogRecord { method: b"", protocol: b"", bytes: None, agent: b"", upstream_time_us: Some(3_000), ..expected },
    );
}

#[test]
fn quotes_within_fields() {
    let combined = |agent: &str| format!(r#"h - - [10/Oct/2000:13:55:36 -0700] "GET /a\"b HTTP/1.0" 200 1 "-" "{agent}""#);
    let expected = |agent| LogRecord { client: b"h", user: b"", path: br#"/a\"b"#, bytes: Some(1), agent, ..october() };
    for agent in [r#"a \"b\" c"#, r#"a "b" c"#, r#"\\"#, r#""x""#, r#"a\x22b"#] {
        assert_parsed("combined", &combined(agent), expected(agent.as_bytes()));
    }
    let mut parser = LogParser::new(&LogFormat::parse("combined").expect("known"));
    let more = format!(r#"{} "another""#, combined("a"));
    assert_eq!(parser.parse(more.as_bytes()), LineOutcome::Repaired(expected(b"a"), LineFlaw::TextAfter));
}

#[test]
fn bare_variables_before_a_brace() {
    for source in
        [r#"{"a":$status}"#, r#"{"a":${status}}"#, r#"{"x":{"y":$remote_addr},"a":${status}}"#, r#"{"a":$status,"b":$host }"#]
    {
        let mut parser = LogParser::new(&LogFormat::parse(source).expect("a format"));
        let LineOutcome::Parsed(record) = parser.parse(br#"{"b":"c","a":404}"#) else { panic!("{source}") };
        assert_eq!(record.status, 404, "{source}");
    }
}

#[test]
fn nginx_format_that_makes_json() {
    let format = r#"{"when":"$time_iso8601","rc":$status,"who":{"addr":"$remote_addr"},"line":"$request","secs":$request_time,"env":"prod"}"#;
    let line = r#"{"rc":200, "when":"2000-10-10T13:55:36-07:00","line":"GET /apache_pb.gif?q=\"x\" HTTP/1.0","secs":0.5,"who":{"addr":"127.0.0.1"},"env":"prod"}"#;
    let expected = LogRecord { user: b"", query: br#"q="x""#, bytes: None, request_time_us: Some(500_000), ..october() };
    assert_parsed(format, line, expected);
    let format = LogFormat::parse(format).expect("a sound format");
    assert!(format.has(Field::RequestTime) && !format.has(Field::Agent));
}

#[test]
fn errors_name_the_column() {
    let error = |text: &str| LogFormat::parse(text).expect_err(text).to_string();
    assert!(error("foo").starts_with("column 1: \"foo\" is not a known format"));
    assert_eq!(error("%h %Q"), "column 4: %Q is not a directive of Apache's LogFormat");
    assert_eq!(error("%h %{Referer"), "column 4: no '}' after '%{'");
    assert_eq!(error("%h %"), "column 4: a '%' without a directive");
    assert_eq!(error("%h %{%!}t"), "column 4: %{%!}t: %! is not a known strftime directive");
    assert_eq!(error("%h%u"), "column 3: nothing between %h and %u tells where one ends and the other begins");
    assert_eq!(error("%{h}T %h"), "column 1: %{h}T: the unit is not s, ms or us");
    assert_eq!(error("$status ${host"), "column 9: no '}' after '${host'");
    assert_eq!(error("$foo $bar"), "column 1: the format has no field that a report could use");
}

/// A prefix is a parser around another, so that their number is the depth of calls.
#[test]
fn prefixes_have_a_bound() {
    let after = |prefixes: usize| LogFormat::parse(&format!("{}combined", "syslog+".repeat(prefixes)));
    assert_eq!(after(8).map(|format| format.name().to_owned()), Ok(format!("{}combined", "syslog+".repeat(8))));
    let refused = "column 57: more than 8 prefixes before a format";
    for prefixes in [9, 1_000_000] {
        assert_eq!(after(prefixes).map(|_| ()).map_err(|error| error.to_string()), Err(refused.to_owned()));
    }
    let docker = format!("docker+{}docker+combined", "cri+".repeat(100_000));
    assert!(LogFormat::parse(&docker).is_err());
}

/// The targets of load balancers are absolute: scheme, host and port are no part of the path.
#[test]
fn absolute_targets_of_load_balancers() {
    let format = r#"$remote_addr "$absolute_request" $status"#;
    let record = LogRecord { client: b"1.2.3.4", method: b"GET", protocol: b"HTTP/1.1", status: 200, ..LogRecord::default() };
    let check = |target: &str, host: &'static str, path: &'static str, query: &'static str| {
        let expected = LogRecord { host: host.as_bytes(), path: path.as_bytes(), query: query.as_bytes(), ..record };
        assert_parsed(format, &format!(r#"1.2.3.4 "GET {target} HTTP/1.1" 200"#), expected);
    };
    check("https://example.com:443/a/b?c=d", "example.com", "/a/b", "c=d");
    check("http://example.com:80/", "example.com", "/", "");
    check("http://example.com:8080/a", "example.com:8080", "/a", "");
    check("https://example.com:80/a", "example.com:80", "/a", "");
    check("https://[2001:db8::1]:443/a", "[2001:db8::1]", "/a", "");
    check("http://example.com:80", "example.com", "/", "");
    check("http://example.com:80?a", "example.com", "/", "a");
    check("https://example.com:443/a?u=http://x/", "example.com", "/a", "u=http://x/");
    check("/a://b", "", "/a://b", "");
    check("*", "", "*", "");
}

#[test]
fn formats_know_their_fields() {
    let fields = |name: &str| LogFormat::parse(name).expect("known").fields().map(Field::name).collect::<Vec<_>>().join(" ");
    assert_eq!(fields("common"), "time client user method path query protocol status bytes");
    assert_eq!(fields("combined"), "time client user method path query protocol status bytes referrer agent");
    assert_eq!(fields("vhost_combined"), "time client user host method path query protocol status bytes referrer agent");
    assert_eq!(LogFormat::parse("common").expect("known").name(), "common");
    assert_eq!(LogFormat::parse("%h %s").expect("sound").name(), "custom");
}

#[test]
fn nginx_configuration() {
    let config = r##"
        http {  # log_format commented '$status';
            log_format  main  '$remote_addr - $remote_user [$time_local] "$request" '
                              '$status $body_bytes_sent "$http_referer" '
                              '"$http_user_agent" "$http_x_forwarded_for"';
            log_format json escape=json '{"time":"$time_iso8601",'
                '"status":"$status"}';
            log_format broken "$status $";
            log_format bare escape=none ${status}:$msec;
            server { listen 80; location / { return 200 "log_format no '$status';"; } }
        }"##;
    let formats = formats_in_config(config);
    let names: Vec<&str> = formats.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["main", "json", "broken", "bare"]);
    let main = formats[0].1.as_ref().expect("sound");
    assert_eq!((main.name(), main.has(Field::Agent)), ("main", true));
    assert!(main.source().ends_with(r#"$status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_x_forwarded_for""#));
    assert!(formats[1].1.as_ref().expect("sound").has(Field::Status));
    assert_eq!(formats[2].1.as_ref().expect_err("a lone $").column(), 40, "of its line");
    assert_eq!(formats[3].1.as_ref().expect("sound").source(), "${status}:$msec");
}

#[test]
fn apache_configuration() {
    let config = "
        # LogFormat \"%h\" commented
        LogFormat \"%v:%p %h %l %u %t \\\"%r\\\" %>s %O \\\"%{Referer}i\\\" \\\"%{User-Agent}i\\\"\" vhost_combined
        logformat \"%h %l %u %t \\\"%r\\\" \\\n %>s %O\" common
        LogFormat %h_%>s bare
        LogFormat \"%Q\" broken";
    let formats = formats_in_config(config);
    let names: Vec<&str> = formats.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["vhost_combined", "common", "bare", "broken"]);
    let vhost = formats[0].1.as_ref().expect("sound");
    let mut parser = LogParser::new(vhost);
    let line = br#"a.example:80 ::1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 1 "-" "x""#;
    assert!(matches!(parser.parse(line), LineOutcome::Parsed(record) if record.host == b"a.example" && record.agent == b"x"));
    assert!(formats[1].1.is_ok() && formats[2].1.is_ok() && formats[3].1.is_err());
    let whole = LogFormat::parse("log_format x '$status' ' $msec';").expect("a whole definition");
    assert_eq!((whole.name(), whole.source()), ("x", "$status $msec"));
    let pieces = LogFormat::parse("'$status'\n  ' $msec'").expect("its quoted pieces");
    assert_eq!((pieces.name(), pieces.source()), ("custom", "$status $msec"));
}

#[test]
fn escape_none_takes_backslashes_as_they_are() {
    let config = r#"log_format raw escape=none '"$http_user_agent" $status';"#;
    let formats = formats_in_config(config);
    let mut parser = LogParser::new(formats[0].1.as_ref().expect("sound"));
    let LineOutcome::Parsed(record) = parser.parse(br#""C:\" 200"#) else { panic!("not parsed") };
    assert_eq!((record.agent, record.status), (&br"C:\"[..], 200));
}

#[test]
fn literals_that_are_missing() {
    let mut parser = LogParser::new(&LogFormat::parse("<%h> %>s").expect("sound"));
    assert_eq!(parser.parse(b"h> 200"), LineOutcome::Rejected(LineFlaw::Start));
    assert_eq!(parser.parse(b"<h 200"), LineOutcome::Rejected(LineFlaw::Unclosed(FlawPosition::Field(Field::Client), '>')));
}

/// A line that goes on after the format does is told, and no text of it becomes a value.
#[test]
fn lines_longer_than_the_format() {
    const LINE: &str = r#"203.0.113.9 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 5 "-" "x""#;
    let expect = |format: &str, line: &str, client: &[u8], status: u16, bytes: Option<u64>, flaw: LineFlaw| {
        let mut parser = LogParser::new(&LogFormat::parse(format).expect("a format"));
        match parser.parse(line.as_bytes()) {
            LineOutcome::Repaired(record, found) => {
                assert_eq!((record.client, record.status, record.bytes, found), (client, status, bytes, flaw), "{format}");
            }
            other => panic!("{format}: {other:?}"),
        }
    };
    expect("%a", LINE, b"203.0.113.9", 0, None, LineFlaw::TextAfter);
    expect(r#"%h %l %u %t "%r" %>s"#, LINE, b"203.0.113.9", 200, None, LineFlaw::TextAfter);
    expect(r#"%h %l %u %t "%r" %>s %b"#, LINE, b"203.0.113.9", 200, Some(5), LineFlaw::TextAfter);
    expect("%a", "(null)", b"", 0, None, LineFlaw::NotClient);
    expect("%>s %a", "200 <script>", b"", 200, None, LineFlaw::NotClient);
    let mut parser = LogParser::new(&LogFormat::parse("%a").expect("a format"));
    assert_eq!(
        parser.parse(b"<error> no such file"),
        LineOutcome::Repaired(LogRecord::default(), LineFlaw::TextAfter),
        "no client"
    );
    for (line, client) in [("203.0.113.9, 10.0.0.1", &b"203.0.113.9"[..]), ("host.example  ", b"host.example"), ("-", b"")] {
        assert_eq!(parser.parse(line.as_bytes()), LineOutcome::Parsed(LogRecord { client, ..LogRecord::default() }), "{line}");
    }
}

/// `option logasap`: numbers of a request that goes on are those so far, and marked.
#[test]
fn numbers_so_far() {
    let line = |times: &str, bytes: &str| {
        format!(
            "10.0.1.4:33320 [06/Feb/2024:12:14:17.999] http-in static/srv1 {times} 200 {bytes} - - ---- 3/3/1/1/0 0/0 \"GET /image.iso HTTP/1.0\""
        )
    };
    let mut parser = LogParser::new(&LogFormat::named("haproxy").expect("known"));
    for (times, bytes, flaw) in [
        ("9/0/7/14/+30", "+243", true),
        ("9/0/7/14/30", "+243", true),
        ("9/0/7/14/+30", "243", true),
        ("9/0/7/14/30", "243", false),
    ] {
        let line = line(times, bytes);
        let (record, found) = match parser.parse(line.as_bytes()) {
            LineOutcome::Parsed(record) => (record, None),
            LineOutcome::Repaired(record, flaw) => (record, Some(flaw)),
            other => panic!("{line}: {other:?}"),
        };
        let numbers = (record.bytes, record.request_time_us, record.upstream_time_us);
        assert_eq!(numbers, (Some(243), Some(30_000), Some(14_000)), "{line}");
        assert_eq!(found, flaw.then_some(LineFlaw::SoFar), "{line}");
    }
    let log: String = (0..5).map(|_| line("9/0/7/14/+30", "+243") + "\n").collect();
    let found = detect(log.as_bytes(), &[]).expect("known");
    assert_eq!((found.format.name(), found.sound, found.sure), ("haproxy", 5, true));
    let bad = line("9/0/7/14/+", "+x");
    assert!(matches!(parser.parse(bad.as_bytes()), LineOutcome::Rejected(LineFlaw::NotNumber(Field::RequestTime))));
}

/// Container runtimes write long lines in pieces, of which none is a line.
#[test]
fn pieces_of_long_lines() {
    const LINE: &str = r#"203.0.113.9 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 5 "-" "x""#;
    let mut cri = LogParser::new(&LogFormat::parse("cri+combined").expect("a format"));
    let mut read = |tag: &str, text: &str| {
        let line = format!("2016-10-06T00:17:09.669794202Z stdout {tag} {text}");
        matches!(cri.parse(line.as_bytes()), LineOutcome::Parsed(_))
            .then_some(())
            .ok_or_else(|| format!("{:?}", cri.parse(line.as_bytes())))
    };
    // Even one that would do as a line.
    for piece in [LINE, &LINE[..60]] {
        assert_eq!(read("P", piece), Err("Rejected(Piece)".to_owned()));
    }
    assert_eq!(read("F", LINE), Ok(()));
    let mut docker = LogParser::new(&LogFormat::parse("docker+combined").expect("a format"));
    let mut read = |text: &str| {
        let line = format!(r#"{{"log":{},"stream":"stdout","time":"2024-11-22T10:11:12Z"}}"#, serde_json::json!(text));
        match docker.parse(line.as_bytes()) {
            LineOutcome::Parsed(record) => Ok(record.status),
            LineOutcome::Rejected(flaw) => Err(flaw),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(read(&format!("{LINE}\n")), Ok(200));
    assert_eq!(read(LINE), Ok(200), "the last words of a program");
    assert_eq!(read(&LINE[..LINE.len() - 1]), Err(LineFlaw::Piece));
    let long = format!("{}{}\"", &LINE[..LINE.len() - 1], "y".repeat((16 << 10) - LINE.len()));
    assert_eq!((long.len(), read(&long)), (16 << 10, Err(LineFlaw::Piece)), "one that would do as a line");
    assert_eq!(read(&format!("{long}\n")), Ok(200));
}
