//! JSON lines, and the golden samples of every format.

// Helpers are not seen as tests by clippy.toml, and may fail as tests do.
#![allow(clippy::expect_used)]

use std::path::{Path, PathBuf};

use rorqual_accesslog::format::{Field, LogFormat, detect};
use rorqual_accesslog::parse::{LineFlaw, LineOutcome, LogParser, LogRecord};
use serde_json::{Map, Value, json};

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples")
}

/// The record's fields that are there, by the names the expected files use.
fn as_json(record: &LogRecord<'_>, flaw: Option<LineFlaw>) -> Value {
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| drop(members.insert(name.to_owned(), value));
    for (name, text) in [
        ("client", record.client),
        ("user", record.user),
        ("host", record.host),
        ("method", record.method),
        ("path", record.path),
        ("query", record.query),
        ("protocol", record.protocol),
        ("referrer", record.referrer),
        ("agent", record.agent),
        ("source", record.source),
    ] {
        if !text.is_empty() {
            put(name, json!(String::from_utf8_lossy(text)));
        }
    }
    put("zone_seconds", json!(record.zone_seconds));
    put("status", json!(record.status));
    for (name, number) in
        [("bytes", record.bytes), ("request_time_us", record.request_time_us), ("upstream_time_us", record.upstream_time_us)]
    {
        if let Some(number) = number {
            put(name, json!(number));
        }
    }
    if let Some(time_us) = record.time_us {
        put("time_us", json!(time_us));
    }
    if let Some(flaw) = flaw {
        put("flaw", json!(flaw.to_string()));
    }
    Value::Object(members)
}

/// The sample's format is found by itself, and each line reads as the file beside it says.
fn assert_golden(log: &str, expected: &str, format: &str) {
    let sample = std::fs::read(samples().join(log)).expect("the sample");
    let expected: Vec<Value> =
        serde_json::from_slice(&std::fs::read(samples().join(expected)).expect("its expected records")).expect("JSON");
    let found = detect(&sample, &[]).expect("a known format");
    assert_eq!((found.format.name(), found.sure), (format, true), "{log}");
    let mut parser = LogParser::new(&found.format);
    let lines = sample.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let read: Vec<Value> = lines
        .filter_map(|line| match parser.parse(line) {
            LineOutcome::Parsed(record) => Some(as_json(&record, None)),
            LineOutcome::Repaired(record, flaw) => Some(as_json(&record, Some(flaw))),
            LineOutcome::Blank if line.starts_with(b"#") => None,
            other => panic!("{log}: {other:?}"),
        })
        .collect();
    assert_eq!(read, expected, "{log}");
}

#[test]
fn golden_samples() {
    assert_golden("caddy.json.log", "caddy.json.expected.json", "json");
    assert_golden("traefik.json.log", "traefik.json.expected.json", "json");
    assert_golden("nginx.json.log", "nginx.json.expected.json", "json");
    assert_golden("nginx_main.log", "nginx_main.expected.json", "combined_forwarded");
    assert_golden("vhost_combined.log", "vhost_combined.expected.json", "vhost_combined");
    assert_golden("host_combined.log", "host_combined.expected.json", "host_combined");
    assert_golden("nginx_rt.log", "nginx_rt.expected.json", "combined_times");
    assert_golden("ingress_nginx.log", "ingress_nginx.expected.json", "combined_times");
    assert_golden("envoy.json.log", "envoy.json.expected.json", "json");
    assert_golden("lograge.json.log", "lograge.json.expected.json", "json");
    for prefix in ["syslog", "syslog5424", "journald", "cri", "compose", "kubectl", "grep"] {
        assert_golden(&format!("{prefix}.log"), &format!("{prefix}.expected.json"), &format!("{prefix}+combined"));
    }
    for name in [
        "aws_alb",
        "aws_elb",
        "aws_elb_short",
        "aws_s3",
        "haproxy",
        "envoy",
        "istio",
        "squid",
        "ssl_request",
        "aws_s3_short",
        "aws_s3_unversioned",
        "bunkerweb",
        "cloudflare",
        "cpanel",
        "host_combined_forwarded",
        "ltsv",
        "nginx_proxy_manager",
        "nginx_proxy_manager_standard",
        "npmplus",
        "zoraxy",
    ] {
        assert_golden(&format!("{name}.log"), &format!("{name}.expected.json"), name);
    }
    assert_golden("docker.log", "docker.expected.json", "docker+combined");
    assert_golden("fastly.log", "fastly.expected.json", "syslog+json");
    for name in ["azure_gateway.json", "azure_front_door.json", "gcp_load_balancer.json"] {
        assert_golden(&format!("{name}.log"), &format!("{name}.expected.json"), "json");
    }
    for name in ["akamai", "haproxy_https", "heroku", "heroku_drain", "heroku_short"] {
        assert_golden(&format!("{name}.log"), &format!("{name}.expected.json"), name);
    }
    for name in ["atlassian", "atlassian_forwarded", "uvicorn_worker", "uwsgi", "uwsgi_micros"] {
        assert_golden(&format!("{name}.log"), &format!("{name}.expected.json"), name);
    }
    assert_golden("haproxy_tag.log", "haproxy_tag.expected.json", "syslog+haproxy");
    assert_golden("aws_s3_dash.log", "aws_s3_dash.expected.json", "aws_s3");
    assert_golden("gunicorn.log", "gunicorn.expected.json", "combined");
    assert_golden("uvicorn.log", "uvicorn.expected.json", "level+uvicorn");
    for name in ["iis", "iis_software", "iis_advanced", "iis_headless", "cloudfront", "cloudfront_headless", "w3c_filled"] {
        assert_golden(&format!("{name}.log"), &format!("{name}.expected.json"), "w3c");
    }
}

fn json_parser() -> LogParser {
    LogParser::new(&LogFormat::named("json").expect("known"))
}

fn said(line: &str) -> String {
    match json_parser().parse(line.as_bytes()) {
        LineOutcome::Parsed(record) => as_json(&record, None).to_string(),
        LineOutcome::Repaired(_, flaw) => format!("repaired: {flaw}"),
        LineOutcome::Rejected(flaw) => format!("rejected: {flaw}"),
        LineOutcome::Blank => "blank".to_owned(),
    }
}

#[test]
fn what_is_no_json_access_line() {
    assert_eq!(said("  "), "blank");
    assert_eq!(said("hello"), "rejected: not a JSON object at byte 0");
    assert_eq!(said("[1]"), "rejected: not a JSON object at byte 0");
    assert_eq!(said("{}"), "rejected: the JSON object has neither a status nor a request");
    assert_eq!(
        said(r#"{"level":"info","ts":1646861401.5,"msg":"serving initial configuration"}"#),
        "rejected: the JSON object has neither a status nor a request"
    );
    assert_eq!(said(r#"{"ts":1646861401,"status":200,"size":1"#), "repaired: not a JSON object at byte 38");
    assert_eq!(said(r#"{"ts":1646861401,"status":200,"uri":"/a"#), "repaired: not a JSON object at byte 39");
    assert_eq!(said(r#"{"ts":1646861401,"size":1"#), "rejected: not a JSON object at byte 25");
    assert_eq!(said(r#"{"ts":1646861401,"status":200} {}"#), "repaired: there is text after the last field");
    assert_eq!(said(r#"{"ts":"yesterday","status":200}"#), "rejected: time is not written as the format says");
    assert_eq!(said(r#"{"ts":1,"status":2000}"#), "rejected: status is not between 100 and 999");
    assert_eq!(said(r#"{"ts":1,"status":200,"size":-1}"#), "repaired: number of bytes is not a number");
    assert_eq!(said(r#"{"ts":1,"status":200,"duration":"soon"}"#), "repaired: request time is no number of a known unit");
    assert_eq!(said(r#"{"ts":1e300,"status":200}"#), "rejected: time is not written as the format says");
}

#[test]
fn keys_in_any_order_case_and_number() {
    let expected = json!({"time_us": 1_000_000, "zone_seconds": 0, "status": 404, "path": "/b", "bytes": 7});
    for line in [
        r#"{"ts":1,"status":404,"uri":"/b","size":7}"#,
        r#" { "SIZE" : "7" , "Uri" : "/b" , "Status" : "404" , "TS" : "1" } "#,
        r#"{"uri":"/a","size":7,"uri":"/b","status":404,"ts":1}"#,
        r#"{"path":"/a","ts":1,"uri":"/b","path":"/c","status":404,"size":7,"x":[{"status":1},"}"],"y":{"ts":9}}"#,
        r#"{"ts":1,"status":404,"uri":"/b","size":7,"referrer":null,"agent":"-","user":"","tls":true}"#,
    ] {
        let read: Value = serde_json::from_str(&said(line)).unwrap_or_default();
        assert_eq!(read, expected, "{line}");
    }
}

#[test]
fn times_and_durations_in_every_unit() {
    let record = |members: &str| {
        let line = format!(r#"{{{members},"status":200}}"#);
        match json_parser().parse(line.as_bytes()) {
            LineOutcome::Parsed(record) => (record.time_us, record.request_time_us, record.upstream_time_us),
            other => panic!("{line}: {other:?}"),
        }
    };
    let second = Some(1_646_861_401_000_000);
    for time in ["1646861401", "1646861401000", "1646861401000000", "1646861401000000000", r#""1646861401.0""#, "1.646861401e9"] {
        assert_eq!(record(&format!(r#""ts":{time}"#)).0, second, "{time}");
    }
    for time in
        ["2022-03-09T21:30:01Z", "2022-03-09T22:30:01.000+0100", "[09/Mar/2022:21:30:01 +0000]", "2022/03/09 21:30:01.000"]
    {
        assert_eq!(record(&format!(r#""time":"{time}""#)).0, second, "{time}");
    }
    for duration in [
        r#""duration":0.25,"bytes_read":0"#,
        r#""latency":250.0,"apisix_latency":1"#,
        r#""duration_ms":250,"duration":0.25"#,
        r#""duration":0.25,"duration_ms":250"#,
        r#""Duration":250000000"#,
        r#""duration":"250ms""#,
        r#""duration_ms":250"#,
        r#""latency_us":250000"#,
        r#""request_time":"0.250""#,
        r#""latency":250000000,"latency_human":"250ms""#,
        r#""httpRequest":{"latency":"0.250s"}"#,
    ] {
        assert_eq!(record(duration).1, Some(250_000), "{duration}");
    }
    assert_eq!(record(r#""upstream_response_time":"0.1, 0.2 : -""#).2, Some(300_000));
    assert_eq!(record(r#""OriginDuration":1500"#).2, Some(1));
}

#[test]
fn a_parser_forgets_the_last_line() {
    let mut parser = json_parser();
    let first = br#"{"ts":1,"status":200,"uri":"/\u0061","user_agent":"\"x\"","size":3}"#;
    assert!(matches!(parser.parse(first), LineOutcome::Parsed(record) if record.path == b"/a" && record.agent == b"\"x\""));
    let LineOutcome::Parsed(record) = parser.parse(br#"{"ts":2,"status":201}"#) else { panic!("not parsed") };
    assert_eq!(record, LogRecord { time_us: Some(2_000_000), status: 201, ..LogRecord::default() });
}

#[test]
fn more_keys_than_the_memo_holds() {
    let mut parser = json_parser();
    for round in 0..3 {
        for key in 0..2_000 {
            let line = format!(r#"{{"ts":1,"key{key}":{round},"status":200,"request":{{"uri":"/{key}","k{key}":1}}}}"#);
            let LineOutcome::Parsed(record) = parser.parse(line.as_bytes()) else { panic!("{line}") };
            assert_eq!(record.path, format!("/{key}").as_bytes());
        }
    }
}

#[test]
fn detection_narrows_json_to_the_fields_seen() {
    let found = detect(b"{\"ts\":1,\"status\":200,\"uri\":\"/\",\"method\":\"GET\"}\n", &[]).expect("json");
    assert_eq!(found.format.fields().collect::<Vec<_>>(), [Field::Time, Field::Method, Field::Path, Field::Status]);
}

/// A path, a message, the exit code of a process that the kernel killed.
#[test]
fn json_of_applications_is_no_access_log() {
    for line in [
        r#"{"ts":1,"level":"info","msg":"loaded","path":"/etc/app.conf"}"#,
        r#"{"ts":1,"level":"error","msg":"process ended","status":137}"#,
        r#"{"ts":1,"path":"/usr/bin/job","status":137}"#,
        r#"{"ts":1,"method":"resize","msg":"image","path":"/tmp/a.png"}"#,
        r#"{"ts":1,"method":"GET","path":"/","status":1200}"#,
    ] {
        assert!(detect(line.as_bytes(), &[]).is_err(), "{line}");
    }
    assert_eq!(
        said(r#"{"ts":1,"level":"info","msg":"loaded","path":"/etc/app.conf"}"#),
        "rejected: the JSON object has neither a status nor a request"
    );
}

/// By the documentation of each: Envoy's `%DURATION%` and lograge's are milliseconds, Caddy's
/// seconds, Traefik's nanoseconds.
#[test]
fn the_unit_of_a_duration_is_its_writers() {
    for (line, request_us, upstream_us) in [
        // Envoy with the keys of its documentation, Istio's default, Envoy Gateway's default
        (
            r#"{"start_time":"2024-10-10T13:55:36.123Z","method":"GET","path":"/","protocol":"HTTP/1.1","response_code":200,"response_flags":"-","bytes_sent":5,"duration":12,"x-envoy-upstream-service-time":"9"}"#,
            12_000,
            Some(9_000),
        ),
        (
            r#"{"duration":12,"upstream_service_time":"9","authority":"a.example","bytes_sent":5,"response_code":200,"method":"GET","path":"/","downstream_remote_address":"10.1.2.3:4711","start_time":"2024-10-10T13:55:36.123Z","upstream_cluster":"outbound|80||a.example"}"#,
            12_000,
            Some(9_000),
        ),
        (
            r#"{"method":"GET","path":"/","status":200,"duration":58.33,"controller":"home","action":"index","view":40.4,"db":15.2,"format":"html"}"#,
            58_330,
            None,
        ),
        (
            r#"{"level":"info","ts":1646861401.5,"logger":"http.log.access","request":{"method":"GET","uri":"/"},"status":200,"duration":0.0015,"resp_headers":{}}"#,
            1_500,
            None,
        ),
        // APISIX's loggers, Skipper and Gravitee write milliseconds.
        (
            r#"{"request":{"method":"GET","uri":"/"},"response":{"status":200},"latency":12.5,"upstream_latency":9,"apisix_latency":3.5}"#,
            12_500,
            Some(9_000),
        ),
        (
            r#"{"duration":24,"flow-id":"","level":"info","method":"GET","requested-host":"a.example","status":404,"uri":"/"}"#,
            24_000,
            None,
        ),
        (r#"{"method":"GET","uri":"/","status":200,"response-time":24,"proxy-latency":3}"#, 24_000, None),
        (
            r#"{"ClientHost":"10.0.0.1","RequestMethod":"GET","RequestPath":"/","DownstreamStatus":200,"Duration":1500000}"#,
            1_500,
            None,
        ),
        (
            r#"{"req":{"method":"GET","url":"/"},"res":{"statusCode":200},"status":200,"method":"GET","responseTime":4}"#,
            4_000,
            None,
        ),
    ] {
        let mut parser = json_parser();
        let LineOutcome::Parsed(record) = parser.parse(line.as_bytes()) else { panic!("{line}") };
        assert_eq!((record.request_time_us, record.upstream_time_us), (Some(request_us), upstream_us), "{line}");
    }
}

#[test]
fn a_status_among_messages_of_programs_is_no_request() {
    let ended = r#"{"level":"info","time":"2024-10-10T13:55:36Z","msg":"container exited","path":"/usr/bin/x","status":137}"#;
    assert_eq!(said(ended), "rejected: the JSON object has neither a status nor a request");
    let asked = r#"{"level":"info","ts":1646861401.5,"msg":"handled request","request":{"method":"GET","uri":"/"},"status":200}"#;
    assert!(said(asked).contains(r#""method":"GET""#), "{}", said(asked));
}

#[test]
fn envoy_is_known_by_the_names_of_its_start_and_its_code() {
    let line = r#"{"start_time":"2024-10-10T13:55:36.123Z","method":"GET","path":"/a","response_code":200,"duration":1500}"#;
    let mut parser = json_parser();
    let LineOutcome::Parsed(record) = parser.parse(line.as_bytes()) else { panic!("not parsed") };
    assert_eq!(record.request_time_us, Some(1_500_000));
}

#[test]
fn a_line_after_a_hole_is_the_line() {
    for (format, line) in [
        ("json", r#"{"ts":1,"client_ip":"203.0.113.1","method":"GET","status":200}"#),
        ("combined", r#"203.0.113.1 - - [10/Oct/2024:13:55:36 +0000] "GET /a HTTP/1.1" 200 5 "-" "c""#),
    ] {
        let hole = [&[0; 5_000][..], line.as_bytes()].concat();
        let mut parser = LogParser::new(&LogFormat::parse(format).expect("a name"));
        let LineOutcome::Parsed(record) = parser.parse(&hole) else { panic!("{format}: not parsed") };
        assert_eq!(record.client, b"203.0.113.1", "{format}");
    }
}

/// A writer with but one kind of numbers writes whole ones with a point.
#[test]
fn whole_numbers_with_a_point() {
    for status in ["200.0", "\"200\"", "200", "\"200.0\"", "200.00"] {
        let line = format!(r#"{{"request":"GET / HTTP/1.1","status":{status},"bytes":512.0}}"#);
        let mut parser = json_parser();
        let LineOutcome::Parsed(record) = parser.parse(line.as_bytes()) else { panic!("{line}") };
        assert_eq!((record.status, record.bytes), (200, Some(512)), "{line}");
    }
    for status in ["200.5", "200.", ".0"] {
        let line = format!(r#"{{"request":"GET / HTTP/1.1","status":{status}}}"#);
        assert_eq!(said(&line), "rejected: status is not a number", "{line}");
    }
}

/// A bare number under a name that some use for seconds and others for milliseconds is neither.
#[test]
fn times_that_nothing_tells_the_unit_of() {
    let line = |members: &str| format!(r#"{{"ts":1,"client_ip":"203.0.113.1","method":"GET","uri":"/","status":200,{members}}}"#);
    for key in ["duration", "latency", "elapsed", "took", "response_time"] {
        let log = line(&format!(r#""{key}":62.5"#)) + "\n" + &line(&format!(r#""{key}":"7""#)) + "\n";
        let found = detect(log.as_bytes(), &[]).expect("known");
        assert_eq!((found.format.name(), found.sure, found.unread.as_deref()), ("json", true, Some(key)));
        assert!(!found.format.has(Field::RequestTime), "{key}");
        let prefixed: String = log.lines().map(|line| format!("web-1  | {line}\n")).collect();
        assert_eq!(detect(prefixed.as_bytes(), &[]).expect("known").unread.as_deref(), Some(key));
        let mut parser = json_parser();
        for line in log.lines() {
            let LineOutcome::Parsed(record) = parser.parse(line.as_bytes()) else { panic!("{line}") };
            assert_eq!((record.status, record.request_time_us), (200, None), "{line}");
        }
    }
    // Nothing takes as long in any unit.
    let log = line(r#""duration":0"#) + "\n";
    let found = detect(log.as_bytes(), &[]).expect("known");
    assert_eq!((found.unread, found.format.has(Field::RequestTime)), (None, true));
    // A format that names the unit reads it.
    let format = LogFormat::parse(r#"{"status":$status,"latency":$request_time_ms}"#).expect("a format");
    let mut parser = LogParser::new(&format);
    let line = line(r#""latency":62.5"#);
    let LineOutcome::Parsed(record) = parser.parse(line.as_bytes()) else { panic!("{line}") };
    assert_eq!(record.request_time_us, Some(62_500));
}

/// Keys of Kong's log plugins, of GitLab's workhorse and of Pomerium, by their documentation.
/// The names of nginx's variables are labels as well as those that ltsv.org recommends.
#[test]
fn labels_of_ltsv_that_are_nginx_variables() {
    let mut parser = LogParser::new(&LogFormat::named("ltsv").expect("known"));
    let line = "time_local:22/Nov/2024:10:11:12 +0900\tremote_addr:203.0.113.9\thost:a.example\trequest_method:GET\t\
        request_uri:/a?b\turi:/index.html\tstatus:200\tbody_bytes_sent:12\trequest_time:0.25\tupstream_response_time:0.125\t\
        http_user_agent:curl/8\thttp_referer:-";
    let LineOutcome::Parsed(record) = parser.parse(line.as_bytes()) else { panic!("{line}") };
    assert_eq!((record.client, record.method), (&b"203.0.113.9"[..], &b"GET"[..]));
    assert_eq!((record.path, record.query, record.agent), (&b"/a"[..], &b"b"[..], &b"curl/8"[..]));
    assert_eq!((record.status, record.bytes), (200, Some(12)));
    assert_eq!((record.request_time_us, record.upstream_time_us), (Some(250_000), Some(125_000)));
    assert_eq!(record.time_us, Some(1_732_237_872_000_000));
    let short = "time:2015-09-26T17:26:33\tstatus:200\tsize:135\tmethod:GET\tpath:/a\tquery:b=c";
    let LineOutcome::Parsed(record) = parser.parse(short.as_bytes()) else { panic!("{short}") };
    assert_eq!((record.path, record.query, record.bytes), (&b"/a"[..], &b"b=c"[..], Some(135)));
    let other = "time:2015-09-26T17:26:33\tpath:/var/lib\tlevel:info";
    assert!(matches!(parser.parse(other.as_bytes()), LineOutcome::Rejected(_)), "{other}");
}

/// The keys of nginx's `log_format` in the README of alp, where `host` is `$remote_addr`.
#[test]
fn the_host_of_alps_keys_is_the_client() {
    let alp = r#"{"time":"2023-11-25T10:00:00+09:00","host":"203.0.113.9","port":"51000","method":"GET","uri":"/a?b","status":"200","body_bytes":"120","referer":"","ua":"curl/8","request_time":"0.010","response_time":"0.009"}"#;
    let mut parser = json_parser();
    let LineOutcome::Parsed(record) = parser.parse(alp.as_bytes()) else { panic!("{alp}") };
    assert_eq!((record.client, record.host, record.path, record.query), (&b"203.0.113.9"[..], &b""[..], &b"/a"[..], &b"b"[..]));
    assert_eq!((record.status, record.bytes, record.request_time_us), (200, Some(120), Some(10_000)));
    // Of others a host is one, even where it is an address.
    let other = r#"{"time":"2023-11-25T10:00:00+09:00","host":"203.0.113.9","method":"GET","uri":"/a","status":200,"size":120}"#;
    let LineOutcome::Parsed(record) = parser.parse(other.as_bytes()) else { panic!("{other}") };
    assert_eq!((record.client, record.host, record.bytes), (&b""[..], &b"203.0.113.9"[..], Some(120)));
}

#[test]
fn keys_of_other_gateways() {
    let kong = r#"{"response":{"size":9982,"status":200},"client_ip":"203.0.113.9","request":{"size":98,"uri":"/a?b","method":"GET","url":"http://a.example:8000/a?b","headers":{"user-agent":"curl/8","host":"a.example:8000"}},"latencies":{"request":515,"kong":58,"proxy":457},"started_at":1646861401000}"#;
    let mut parser = json_parser();
    let LineOutcome::Parsed(record) = parser.parse(kong.as_bytes()) else { panic!("{kong}") };
    assert_eq!((record.client, record.host, record.path), (&b"203.0.113.9"[..], &b"a.example:8000"[..], &b"/a"[..]));
    assert_eq!((record.request_time_us, record.upstream_time_us, record.bytes), (Some(515_000), Some(457_000), Some(9_982)));
    assert_eq!(record.time_us, Some(1_646_861_401_000_000));
    let workhorse =
        r#"{"duration_ms":123,"method":"GET","status":200,"uri":"/a","remote_ip":"203.0.113.9","written_bytes":4567}"#;
    let LineOutcome::Parsed(record) = parser.parse(workhorse.as_bytes()) else { panic!("{workhorse}") };
    assert_eq!((record.request_time_us, record.bytes), (Some(123_000), Some(4_567)));
    let pomerium = r#"{"method":"GET","authority":"a.example","path":"/a","forwarded-for":"203.0.113.9, 10.0.0.1","duration":43.21,"size":35,"response-code":302,"response-code-details":"via_upstream"}"#;
    let LineOutcome::Parsed(record) = parser.parse(pomerium.as_bytes()) else { panic!("{pomerium}") };
    assert_eq!((record.client, record.request_time_us, record.bytes), (&b"203.0.113.9"[..], Some(43_210), Some(35)));
}
