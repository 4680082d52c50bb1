//! Words before the client and in its place that look like something else: none is read as client
//! or host in silence.

use rorqual_accesslog::format::{Field, LogFormat, detect};
use rorqual_accesslog::parse::{LineFlaw, LineOutcome, LogParser};

/// All after the client.
const REST: &str = r#"- - [22/Nov/2024:10:10:00 +0000] "GET /a/0?q=0 HTTP/1.1" 200 512 "-" "curl/8""#;

/// The format found, whether it is sure, and of each line source, host and client; `None` of one
/// that is not sound.
fn read(lines: &[String]) -> (String, bool, Vec<Option<[String; 3]>>) {
    let found = detect((lines.join("\n") + "\n").as_bytes(), &[]).expect("a known format");
    let mut parser = LogParser::new(&found.format);
    let records = lines.iter().map(|line| match parser.parse(line.as_bytes()) {
        LineOutcome::Parsed(record) => {
            Some([record.source, record.host, record.client].map(|text| String::from_utf8_lossy(text).into_owned()))
        }
        _ => None,
    });
    (found.format.name().to_owned(), found.sure, records.collect())
}

/// The outcome of a line in this format: the client, or the flaw.
fn client(format: &str, line: &str) -> Result<String, LineFlaw> {
    match LogParser::new(&LogFormat::parse(format).expect("a format")).parse(line.as_bytes()) {
        LineOutcome::Parsed(record) => Ok(String::from_utf8_lossy(record.client).into_owned()),
        LineOutcome::Repaired(record, flaw) if record.client.is_empty() => Err(flaw),
        LineOutcome::Rejected(flaw) => Err(flaw),
        other => panic!("{line}: {other:?}"),
    }
}

/// grep marks the lines that it looked for with colons, and those around them with dashes.
#[test]
fn lines_around_those_that_grep_found() {
    let of = |file: &str, client: &str| Some([file, "", client].map(str::to_owned));
    let lines =
        ["access.log-203.0.113.1", "access.log:203.0.113.2", "access.log.1-2001:db8::3"].map(|before| format!("{before} {REST}"));
    let files = vec![of("access.log", "203.0.113.1"), of("access.log", "203.0.113.2"), of("access.log.1", "2001:db8::3")];
    assert_eq!(read(&lines), ("grep+combined".to_owned(), true, files));
    let lines = ["access.log-12-203.0.113.1", "access.log:13:203.0.113.2"].map(|before| format!("{before} {REST}"));
    let files = vec![of("access.log", "203.0.113.1"), of("access.log", "203.0.113.2")];
    assert_eq!(read(&lines), ("grep-n+combined".to_owned(), true, files));
    // A date in the name of a file is no number of a line.
    let lines = ["access.log-20241122-203.0.113.1", "access.log-20241122:203.0.113.2"].map(|before| format!("{before} {REST}"));
    let files = vec![of("access.log-20241122", "203.0.113.1"), of("access.log-20241122", "203.0.113.2")];
    assert_eq!(read(&lines), ("grep+combined".to_owned(), true, files));
    // What stands between groups is no line of the log.
    let log = format!("a.log:203.0.113.1 {REST}\na.log-203.0.113.2 {REST}\n--\n").repeat(4);
    let found = detect(log.as_bytes(), &[]).expect("a known format");
    assert_eq!((found.format.name(), found.lines, found.sound, found.sure), ("grep+combined", 8, 8, true));
    assert_eq!(LogParser::new(&found.format).parse(b"--"), LineOutcome::Rejected(LineFlaw::Start));
    assert_eq!(client("combined", &format!("access.log-203.0.113.1 {REST}")), Err(LineFlaw::NotClient));
}

#[test]
fn a_list_of_clients_begins_with_an_address() {
    for list in ["203.0.113.1,10.0.0.1", "unknown, 203.0.113.1", "-,203.0.113.1:80", "203.0.113.1, web1"] {
        assert_eq!(client("combined", &format!("{list} {REST}")), Ok("203.0.113.1".to_owned()), "{list}");
    }
    for list in ["web1,203.0.113.1", "unknown,web1"] {
        assert_eq!(client("combined", &format!("{list} {REST}")), Err(LineFlaw::NotClient), "{list}");
    }
    assert_eq!(client("combined", &format!("web1, 203.0.113.1 {REST}")), Err(LineFlaw::Start));
    assert!(detect(format!("web1,203.0.113.1 {REST}\n").as_bytes(), &[]).is_err());
    let json = |list: &str| format!(r#"{{"request":"GET / HTTP/1.1","status":200,"x_forwarded_for":"{list}"}}"#);
    assert_eq!(client("json", &json("203.0.113.1, 10.0.0.1")), Ok("203.0.113.1".to_owned()));
    assert_eq!(client("json", &json("web1, 203.0.113.1")), Err(LineFlaw::NotClient));
    let w3c = "#Fields: date time cs-method cs-uri-stem sc-status x-forwarded-for";
    let column = |list: &str| format!("2024-11-22 10:10:00 GET /a 200 {list}");
    assert_eq!(client(w3c, &column("203.0.113.1,+10.0.0.1")), Ok("203.0.113.1".to_owned()));
    assert_eq!(client(w3c, &column("web1,+203.0.113.1")), Err(LineFlaw::NotClient));
}

/// `%{X-Forwarded-For}i %h`: the first may be the client, and the second a proxy.
#[test]
fn of_two_addresses_either_may_be_the_client() {
    let lines =
        |before: &dyn Fn(usize) -> String| (1..=17).map(|number| format!("{} {REST}", before(number))).collect::<Vec<_>>();
    for before in [
        &(|number| format!("203.0.113.{number} 10.0.0.1")) as &dyn Fn(usize) -> String,
        // Some requests came past the proxy.
        &|number| if number % 3 == 0 { "- 198.51.100.7".to_owned() } else { format!("203.0.113.{number} 10.0.0.1") },
        &|number| format!("2001:db8::{number} 10.0.0.1"),
    ] {
        let (format, sure, _) = read(&lines(before));
        assert_eq!((&*format, sure), ("host_combined", false), "{}", before(1));
    }
    // Where nearly all came past it, these are read, and the others are not.
    let past = |number| if number == 17 { "203.0.113.17 10.0.0.1".to_owned() } else { "- 198.51.100.7".to_owned() };
    let (_, sure, records) = read(&lines(&past));
    assert_eq!((sure, &records[15]), (true, &Some(["", "", "198.51.100.7"].map(str::to_owned))));
    assert_eq!(records[16], None);
    // lighttpd's has the host as second.
    let alice: Vec<String> = (1..=17)
        .map(|number| format!("10.0.0.2 203.0.113.{number} alice {}", REST.strip_prefix("- - ").expect("both")))
        .collect();
    assert!(!read(&alice).1);
    // Names, and a few addresses by which scanners came.
    let (format, sure, records) = read(&lines(&|number| {
        format!("{} 203.0.113.{number}", if number % 4 == 0 { "198.51.100.80" } else { "www.example.com" })
    }));
    assert_eq!((&*format, sure), ("host_combined", true));
    assert_eq!(records[3], Some(["", "198.51.100.80", "203.0.113.4"].map(str::to_owned)));
    // With a port it is a server's.
    let (format, sure, records) = read(&lines(&|number| format!("198.51.100.80:443 203.0.113.{number}")));
    assert_eq!((&*format, sure), ("vhost_combined", true));
    assert_eq!(records[0], Some(["", "198.51.100.80", "203.0.113.1"].map(str::to_owned)));
}

/// A format that is given says which is which.
#[test]
fn a_given_format_is_not_doubted() {
    let given = LogFormat::parse(r#"$host $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent"#);
    let line = format!("198.51.100.80 203.0.113.1 {}", REST.split_once(r#" "-" "#).expect("a referrer").0);
    let found = detect(format!("{line}\n").as_bytes(), &[given.expect("a format")]).expect("a known format");
    assert_eq!((found.format.name(), found.sure), ("custom", true));
}

/// A list of clients is no host: each field would be taken from the place of another.
#[test]
fn a_host_with_a_comma_is_none() {
    for format in ["host_combined", "%v %h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\""] {
        for before in ["203.0.113.1, 70.1.1.1 10.0.0.1", "203.0.113.1,70.1.1.1 10.0.0.1"] {
            assert_eq!(client(format, &format!("{before} {REST}")), Err(LineFlaw::Start), "{before}");
            let alice = REST.replacen("- -", "- alice", 1);
            assert_eq!(client(format, &format!("{before} {alice}")), Err(LineFlaw::Start), "{before}");
        }
        assert_eq!(client(format, &format!("www.example.com 203.0.113.1, 10.0.0.1 {REST}")), Ok("203.0.113.1".to_owned()));
    }
}

#[test]
fn dates_streams_and_identifiers_are_no_hosts() {
    let found = |before: &str| detect(format!("{before} 203.0.113.1 {REST}\n").as_bytes(), &[]).is_ok_and(|found| found.sure);
    for before in ["2024-11-22", "stdout", "stderr", "9f86d081884c7d659a2feaa0c55ad015", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"] {
        assert!(!found(before), "{before}");
        // Nor among lines without.
        assert_eq!(client("combined", &format!("{before} 203.0.113.1 {REST}")), Err(LineFlaw::Start), "{before}");
    }
    for before in ["www.example.com", "web-1", "-"] {
        assert!(found(before), "{before}");
    }
}

/// Logs that were made anonymous have numbers for clients, and so have lines of something else.
#[test]
fn a_number_for_a_client_is_doubtful() {
    let lines = [format!("7 {REST}"), format!("8 {REST}")];
    let clients = ["7", "8"].map(|client| Some(["", "", client].map(str::to_owned))).to_vec();
    assert_eq!(read(&lines), ("combined".to_owned(), false, clients));
}

/// A URL with a blank in it moves all words after it by one.
#[test]
fn squids_lines_with_a_blank_in_the_url() {
    let line =
        |url: &str| format!("1732270200.123    180 203.0.113.1 TCP_MISS/200 411 GET {url} - HIER_DIRECT/1.2.3.4 text/html");
    assert_eq!(client("squid", &line("http://x/a")), Ok("203.0.113.1".to_owned()));
    for url in ["http://x/a b", "http://x/a b/c", "http://x/a b c/d", "http://x/a b c d"] {
        assert_eq!(client("squid", &line(url)), Err(LineFlaw::TextAfter), "{url}");
    }
    for code in ["FIRSTUP_PARENT/10.0.0.2", "NONE/-", "TIMEOUT_HIER_DIRECT/-"] {
        let line = line("http://x/a").replace("HIER_DIRECT/1.2.3.4", code);
        assert_eq!(client("squid", &line), Ok("203.0.113.1".to_owned()), "{code}");
    }
    let log = [line("http://x/a"), line("http://x/a b"), line("http://x/b")].join("\n") + "\n";
    let found = detect(log.as_bytes(), &[]).expect("a known format");
    assert_eq!((found.format.name(), found.lines, found.sound, found.sure), ("squid", 3, 2, false));
    assert!(found.format.has(Field::RequestTime));
}
