//! Columns of a log's own: values worked out by hand from the documentation of each format.

use rorqual_accesslog::format::{LogFormat, detect};
use rorqual_accesslog::parse::{LineOutcome, LogParser};
use rorqual_accesslog::{OWN_NUMBERS_MAX, OWN_TEXTS_MAX, OwnColumns};
use std::collections::BTreeMap;
use std::sync::Arc;

fn columns(format: &LogFormat) -> Arc<OwnColumns> {
    Arc::new(OwnColumns::new(format.variables(), OWN_TEXTS_MAX, OWN_NUMBERS_MAX))
}

/// The values of each line by the names of their columns; numbers in the units of filters.
fn values(format: &LogFormat, own: &Arc<OwnColumns>, lines: &[&str]) -> Vec<BTreeMap<String, String>> {
    let mut parser = LogParser::new(format).with_own(own, usize::MAX);
    let read = |line: &&str| {
        let record = match parser.parse(line.as_bytes()) {
            LineOutcome::Parsed(record) => record,
            outcome => panic!("{line}: {outcome:?}"),
        };
        let (schema, values) = (own.schema(), record.own.expect("they were asked for"));
        let text = |number: usize| String::from_utf8_lossy(values.text(number)).into_owned();
        let texts = schema.texts().filter_map(|column| Some((schema.text_name(column).into_owned(), text(column.as_own()?))));
        let numbers = schema.numbers().filter_map(|column| {
            let number = schema.unit(column).value(values.number(column.as_own()?)?);
            Some((schema.number_name(column).into_owned(), number.to_string()))
        });
        texts.filter(|(_, text)| !text.is_empty()).chain(numbers).collect()
    };
    lines.iter().map(read).collect()
}

fn of(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// nginx's own `main`, with variables of its modules proxy, ssl, gzip and upstream after it.
const NGINX: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_x_forwarded_for" $request_length $connection $gzip_ratio $ssl_protocol $upstream_cache_status $upstream_connect_time $upstream_response_time $upstream_addr $request_id"#;

#[test]
fn variables_of_nginx() {
    let format = LogFormat::parse(NGINX).expect("a format");
    let own = columns(&format);
    let lines = [
        r#"192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.1" 200 512 "-" "x" "203.0.113.9, 10.0.0.1" 731 42 3.21 TLSv1.3 HIT 0.001, 0.002 0.010, 0.020 10.0.0.2:80, 10.0.0.3:80 9f86d081"#,
        r#"192.0.2.8 - - [10/Oct/2000:13:55:37 -0700] "GET /b HTTP/1.1" 304 0 "-" "x" "-" 88 43 - - - - - - 60303ae2"#,
    ];
    let expected = [
        of(&[
            ("http_x_forwarded_for", "203.0.113.9, 10.0.0.1"),
            ("request_length", "731"),
            ("connection", "42"),
            ("gzip_ratio", "3.21"),
            ("ssl_protocol", "TLSv1.3"),
            ("upstream_cache_status", "HIT"),
            // The sum, as of the response's time.
            ("upstream_connect_time", "0.003"),
            ("upstream_addr", "10.0.0.2:80, 10.0.0.3:80"),
            ("request_id", "9f86d081"),
        ]),
        of(&[("request_length", "88"), ("connection", "43"), ("request_id", "60303ae2")]),
    ];
    assert_eq!(values(&format, &own, &lines), expected);
    assert_eq!((own.misfits(), own.left_out().names.len()), (0, 0));
    let units: Vec<_> = own.schema().own().iter().map(|own| (own.name.clone(), own.unit.map(|unit| unit.name()))).collect();
    assert_eq!(units[0], ("http_x_forwarded_for".to_owned(), None));
    assert_eq!(units[1], ("request_length".to_owned(), Some("bytes")));
    assert_eq!(units[6], ("upstream_connect_time".to_owned(), Some("seconds")));
}

#[test]
fn a_filter_names_them_as_the_format_does() {
    let format = LogFormat::parse(NGINX).expect("a format");
    let schema = columns(&format).schema();
    for same in ["$upstream_cache_status = HIT", "${upstream_cache_status} = HIT", "upstream_cache_status = HIT"] {
        let filter = schema.filter(same).expect("a filter");
        assert_eq!(schema.written(&filter), "upstream_cache_status = HIT");
    }
    let apache = LogFormat::parse(r#"%h %t "%r" %>s %b %{SSL_PROTOCOL}x %{X-Forwarded-Proto}i"#).expect("a format");
    let schema = columns(&apache).schema();
    let filter = schema.filter("%{SSL_PROTOCOL}x = TLSv1.3 and X-Forwarded-Proto = https").expect("a filter");
    assert_eq!(schema.written(&filter), "SSL_PROTOCOL = TLSv1.3 and X-Forwarded-Proto = https");
    assert!(schema.filter("$upstream_cache_status = HIT").is_err());
}

#[test]
fn directives_of_apache() {
    let text = r#"%h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i" %{X-Forwarded-Proto}i %{SSL_PROTOCOL}x %I %k %p %{Content-Type}o %D"#;
    let format = LogFormat::parse(text).expect("a format");
    let line =
        r#"192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.1" 200 512 "-" "x" https TLSv1.2 431 3 443 text/html 1500"#;
    let expected = of(&[
        ("X-Forwarded-Proto", "https"),
        ("SSL_PROTOCOL", "TLSv1.2"),
        ("bytes_received", "431"),
        ("keepalive_requests", "3"),
        ("port", "443"),
        ("Content-Type", "text/html"),
    ]);
    assert_eq!(values(&format, &columns(&format), &[line]), [expected]);
}

#[test]
fn formats_without_variables_have_no_columns() {
    for name in ["common", "combined"] {
        assert!(LogFormat::named(name).expect("a format").variables().is_empty(), "{name}");
    }
}

const NESTED: &str = r#"{"ts":"2024-05-01T10:00:00Z","request":{"method":"GET","uri":"/a","tls":{"version":"1.3","resumed":true}},"status":200,"cache":"HIT","tries":2,"ratio":0.5,"tags":["a","b"],"request_length":"731","note":"a \"b\"","none":null}"#;

#[test]
fn keys_of_json() {
    let log = format!("{}\n", NESTED.replace(r#""ratio":0.5"#, r#""ratio":1"#)) + NESTED + "\n";
    let format = detect(log.as_bytes(), &[]).expect("a format").format;
    let own = columns(&format);
    let late = NESTED.replace(r#""cache":"HIT""#, r#""late":7,"status":200"#);
    let first = of(&[
        ("request.tls.version", "1.3"),
        ("request.tls.resumed", "true"),
        ("cache", "HIT"),
        ("tries", "2"),
        ("ratio", "0.5"),
        ("tags", r#"["a","b"]"#),
        ("request_length", "731"),
        ("note", r#"a "b""#),
    ]);
    let mut second = first.clone();
    second.remove("cache");
    // A key that turns up late is a text.
    second.insert("late".to_owned(), "7".to_owned());
    assert_eq!(values(&format, &own, &[NESTED, &late]), [first, second]);
    let unit =
        |name: &str| own.schema().own().iter().find(|own| own.name == name).and_then(|own| own.unit).map(|unit| unit.name());
    assert_eq!(
        [unit("tries"), unit("ratio"), unit("request_length"), unit("late")],
        [Some("integer"), Some("float"), Some("bytes"), None]
    );
}

#[test]
fn of_two_keys_for_a_field_the_other_has_a_column() {
    let line = r#"{"time_iso8601":"2024-05-01T10:00:00Z","time_local":"01/May/2024:10:00:00 +0000","request":"GET /a?x=1 HTTP/1.1","uri":"/index.php","status":"200","http_x_forwarded_for":"203.0.113.9","remote_addr":"192.0.2.7"}"#;
    let format = detect(format!("{line}\n").as_bytes(), &[]).expect("a format").format;
    let expected = of(&[("uri", "/index.php"), ("http_x_forwarded_for", "203.0.113.9")]);
    assert_eq!(values(&format, &columns(&format), &[line]), [expected]);
}

/// nginx's `$content_length` is the size of the request's body; of any other writer it is that of
/// the response.
#[test]
fn the_content_length_of_nginx_is_a_column() {
    let line = r#"{"time_iso8601":"2024-05-01T10:00:00Z","remote_addr":"192.0.2.7","request":"POST /a HTTP/1.1","status":"200","content_length":"999"}"#;
    let read = |line: &str| {
        let format = detect(format!("{line}\n").as_bytes(), &[]).expect("a format").format;
        let mut parser = LogParser::new(&format);
        let LineOutcome::Parsed(record) = parser.parse(line.as_bytes()) else { panic!("{line}") };
        (record.bytes, values(&format, &columns(&format), &[line]))
    };
    assert_eq!(read(line), (None, vec![of(&[("content_length", "999")])]));
    let both = line.replace('}', r#","bytes_sent":"512"}"#);
    assert_eq!(read(&both), (Some(512), vec![of(&[("content_length", "999")])]));
    let other = line.replace("remote_addr", "client_addr");
    assert_eq!(read(&other), (Some(999), vec![of(&[])]));
}

/// A collector's time beside that of the request, which a server wrote.
#[test]
fn the_time_of_a_collector_is_a_column() {
    // `date -ud '2024-11-22 10:10:00' +%s`
    let time_us = Some(1_732_270_200_000_000);
    for key in ["time", "time_local"] {
        let time = format!(r#""{key}":"22/Nov/2024:10:10:00 +0000""#);
        let collected = r#""@timestamp":"2024-11-23T00:00:00Z""#;
        for [first, second] in [[collected, &*time], [&*time, collected]] {
            let line = format!(r#"{{{first},{second},"remote_addr":"192.0.2.7","request":"GET /a HTTP/1.1","status":200}}"#);
            let format = detect(format!("{line}\n").as_bytes(), &[]).expect("a format").format;
            for mut parser in [LogParser::new(&format), LogParser::new(&format).with_own(&columns(&format), usize::MAX)] {
                assert!(
                    matches!(parser.parse(line.as_bytes()), LineOutcome::Parsed(record) if record.time_us == time_us),
                    "{line}"
                );
            }
            assert_eq!(values(&format, &columns(&format), &[&line]), [of(&[("@timestamp", "2024-11-23T00:00:00Z")])]);
        }
    }
    // Of two in other forms the collector's is as good as any, and no second one is kept.
    let line = r#"{"@timestamp":"2024-11-22T10:10:00Z","time":"2024-11-22T10:09:59Z","remote_addr":"192.0.2.7","request":"GET /a HTTP/1.1","status":200}"#;
    let format = detect(format!("{line}\n").as_bytes(), &[]).expect("a format").format;
    assert_eq!(values(&format, &columns(&format), &[line]), [of(&[])]);
}

/// The same name as in their JSON.
#[test]
fn the_upstream_of_envoy_and_istio() {
    for name in ["envoy", "istio"] {
        let format = LogFormat::named(name).expect("a format");
        let names: Vec<String> = format.variables().iter().map(|variable| variable.column().name).collect();
        assert!(names.iter().any(|name| name == "upstream_host"), "{names:?}");
        assert!(!names.iter().any(|name| name == "authority_host"), "{names:?}");
    }
}

#[test]
fn labels_of_ltsv() {
    let line =
        "time:10/Oct/2000:13:55:36 -0700\thost:192.0.2.7\treq:GET /a HTTP/1.1\tstatus:200\tsize:512\tcache:HIT\treqsize:88\tua:x";
    let format = LogFormat::named("ltsv").expect("a format").sampled(format!("{line}\n").as_bytes());
    let expected = of(&[("cache", "HIT"), ("reqsize", "88")]);
    assert_eq!(values(&format, &columns(&format), &[line]), [expected]);
}

#[test]
fn columns_of_iis() {
    let fields = "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Cookie) sc-status sc-substatus sc-win32-status cs-bytes time-taken";
    let line = "2024-05-01 10:00:00 10.0.0.5 GET /a x=1 443 - 192.0.2.7 Mozilla/5.0+(X) a=1;+b=2 200 0 64 431 15";
    let format = LogFormat::parse(fields).expect("a format");
    let expected = of(&[
        ("s-ip", "10.0.0.5"),
        ("s-port", "443"),
        ("cs(Cookie)", "a=1; b=2"),
        ("sc-substatus", "0"),
        ("sc-win32-status", "64"),
        ("cs-bytes", "431"),
    ]);
    assert_eq!(values(&format, &columns(&format), &[line]), [expected]);
}

#[test]
fn columns_of_cloudfront() {
    let fields = "#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken x-forwarded-for ssl-protocol ssl-cipher x-edge-response-result-type cs-protocol-version fle-status fle-encrypted-fields c-port time-to-first-byte";
    let line = "2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.100\tGET\td111111abcdef8.cloudfront.net\t/index.html\t200\t-\tMozilla/5.0%20(X)\t-\t-\tHit\tSOX4xwn4XV6Q4rgb7XiVGOHms_BGlTAC4KyHmureZmBNrjGdRLiNIQ==\td111111abcdef8.cloudfront.net\thttps\t23\t0.001\t-\tTLSv1.2\tECDHE-RSA-AES128-GCM-SHA256\tHit\tHTTP/2.0\t-\t-\t11040\t0.001";
    let format = LogFormat::parse(fields).expect("a format");
    let expected = of(&[
        ("x-edge-location", "LAX1"),
        ("cs(Host)", "d111111abcdef8.cloudfront.net"),
        ("x-edge-result-type", "Hit"),
        ("x-edge-request-id", "SOX4xwn4XV6Q4rgb7XiVGOHms_BGlTAC4KyHmureZmBNrjGdRLiNIQ=="),
        ("cs-protocol", "https"),
        ("cs-bytes", "23"),
        ("ssl-protocol", "TLSv1.2"),
        ("ssl-cipher", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("x-edge-response-result-type", "Hit"),
        ("c-port", "11040"),
        ("time-to-first-byte", "0.001"),
    ]);
    assert_eq!(values(&format, &columns(&format), &[line]), [expected]);
}

#[test]
fn what_has_no_place_is_named_and_a_text_among_numbers_counted() {
    let format = LogFormat::parse(NGINX).expect("a format");
    let own = Arc::new(OwnColumns::new(format.variables(), 2, 1));
    let line = r#"192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.1" 200 512 "-" "x" "-" many 42 - TLSv1.3 HIT - - - 9f86d081"#;
    assert_eq!(values(&format, &own, &[line]), [of(&[("ssl_protocol", "TLSv1.3")])]);
    assert_eq!(own.misfits(), 1);
    let names = ["connection", "gzip_ratio", "request_id", "upstream_addr", "upstream_cache_status", "upstream_connect_time"];
    assert_eq!(own.left_out().names, names);
}

/// A line that is read in a second way, or in none, has no values of another reading.
#[test]
fn values_are_those_of_the_reading_that_counts() {
    let format = LogFormat::parse(r#"$remote_addr [$time_local] "$request" $status $a $b"#).expect("a format");
    let line = r#"192.0.2.7 [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.1"  200 x y"#;
    assert_eq!(values(&format, &columns(&format), &[line]), [of(&[("a", "x"), ("b", "y")])]);
}

/// Written anew a line says the same in its own columns, too.
#[test]
fn lines_are_rebuilt_with_them() {
    let format = LogFormat::parse(NGINX).expect("a format");
    let own = columns(&format);
    let line = r#"192.0.2.8 - - [10/Oct/2000:13:55:37 -0700] "GET /b HTTP/1.1" 304 0 "-" "x" "-" 88 43 3.21 TLSv1.3 HIT 0.003 0.010 10.0.0.2:80 60303ae2"#;
    let mut parser = LogParser::new(&format).with_own(&own, usize::MAX);
    let LineOutcome::Parsed(record) = parser.parse(line.as_bytes()) else { panic!("it is sound") };
    assert_eq!(String::from_utf8_lossy(&format.line(&record, Some(&own))), line);
}
