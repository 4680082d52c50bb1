//! Finding out which format a log has.

use rorqual_accesslog::format::{Field, LogFormat, detect, preview};
use rorqual_accesslog::parse::{LineFlaw, LineOutcome, LogParser};

const SAMPLE: &[u8] = include_bytes!("../../../../samples/apache_combined.log");

const COMBINED: &str = r#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET /a?b HTTP/1.1" 200 5 "-" "x""#;

fn found(lines: &str) -> String {
    detect(lines.as_bytes(), &[]).map_or_else(|unknown| unknown.to_string(), |found| found.format.name().to_owned())
}

#[test]
fn the_sample_is_combined() {
    let found = detect(SAMPLE, &[]).expect("a known format");
    assert_eq!((found.format.name(), found.lines, found.sound, found.sure), ("combined", 200, 200, true));
}

#[test]
fn relatives_of_the_combined_format() {
    let common = COMBINED.split_once(r#" "-" "#).expect("a referrer").0;
    assert_eq!(found(&format!("{COMBINED}\n")), "combined");
    assert_eq!(found(&format!("{common}\n")), "common");
    assert_eq!(found(&format!("example.com:80 {COMBINED}\n")), "vhost_combined");
    assert_eq!(found(&format!("{COMBINED} \"-\"\n")), "combined_forwarded");
    assert_eq!(found(&format!("{COMBINED} 0.005\n")), "combined_timed");
    assert_eq!(found(&format!("{COMBINED} 0.005 0.001, 0.002\n")), "combined_upstream_timed");
    assert_eq!(found(&format!("{COMBINED} 512 2048\n")), "combined_extra");
    assert_eq!(found(&format!("{COMBINED} 7 \"router@docker\" \"http://10.0.0.1:80\" 12ms\n")), "traefik_common");
    assert_eq!(found("hello\nworld\n"), "no known format reads the first lines, such as \"hello\"");
    assert_eq!(found("\n\n"), "there is no line to find the format by");
}

/// The format found for a log of such lines, whether it is sure of it, and the clients it reads.
fn read(lines: &[&str]) -> (String, bool, Vec<String>) {
    let sample: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let found = detect(sample.as_bytes(), &[]).expect("a known format");
    let mut parser = LogParser::new(&found.format);
    let clients = lines.iter().map(|line| match parser.parse(line.as_bytes()) {
        LineOutcome::Parsed(record) => String::from_utf8_lossy(record.client).into_owned(),
        other => format!("{other:?}"),
    });
    (found.format.name().to_owned(), found.sure, clients.collect())
}

#[test]
fn text_before_the_address_is_no_client() {
    let combined = COMBINED.strip_prefix("1.2.3.4").expect("the address");
    let found = |before: &str| read(&[&format!("{before}{combined}")]);
    let of = |format: &str, client: &str| (format.to_owned(), true, vec![client.to_owned()]);
    assert_eq!(found("example.com 203.0.113.9"), of("host_combined", "203.0.113.9"));
    assert_eq!(found("203.0.113.7, 10.0.0.1"), of("combined", "203.0.113.7"));
    assert_eq!(found("203.0.113.7,10.0.0.1"), of("combined", "203.0.113.7"));
    assert_eq!(found(" 203.0.113.7"), of("combined", "203.0.113.7"));
    assert_eq!(found("203.0.113.7:5678"), of("combined", "203.0.113.7"));
    assert_eq!(found("[2001:db8::1]:443"), of("combined", "2001:db8::1"));
    assert_eq!(found("2001:db8::1"), of("combined", "2001:db8::1"));
    assert_eq!(found("- 203.0.113.7"), of("host_combined", "203.0.113.7"));
    let common = combined.split_once(r#" "-" "#).expect("a referrer").0;
    assert_eq!(read(&[&format!("example.com 203.0.113.9{common}")]), of("host_common", "203.0.113.9"));
    assert_eq!(read(&[&format!("example.com:80 203.0.113.9{common}")]), of("vhost_common", "203.0.113.9"));
}

#[test]
fn hosts_before_some_clients_are_no_clients() {
    let vhost = format!("example.com {COMBINED}");
    let lines = [COMBINED, &vhost, COMBINED, COMBINED, COMBINED, COMBINED, COMBINED, COMBINED, COMBINED, COMBINED, COMBINED];
    let (name, sure, clients) = read(&lines);
    assert_eq!((&*name, sure, &*clients[0]), ("combined", true, "1.2.3.4"));
    assert!(clients[1].contains("HostFirst"), "{}", clients[1]);
}

/// A level, a number or a time before the client is no host.
#[test]
fn words_before_the_client_that_are_no_host() {
    let combined = COMBINED.strip_prefix("1.2.3.4").expect("the address");
    let of = |format: &str, client: &str| (format.to_owned(), true, vec![client.to_owned()]);
    for (before, format) in [
        ("INFO 203.0.113.9", "level+combined"),
        ("[warn] 203.0.113.9", "level+combined"),
        ("1700000000 203.0.113.9", "timestamps+combined"),
        ("1700000000.250 INFO 203.0.113.9", "timestamps+level+combined"),
        ("17:203.0.113.9", "numbered+combined"),
        ("    17\t203.0.113.9", "numbered+combined"),
        ("17:example.com 203.0.113.9", "numbered+host_combined"),
    ] {
        assert_eq!(read(&[&format!("{before}{combined}")]), of(format, "203.0.113.9"), "{before}");
    }
    let detection = detect(format!("17:{COMBINED}\n").as_bytes(), &[]).expect("known");
    assert!(!detection.format.has(Field::Source), "a number is no source");
    // Among combined lines.
    let lines = [COMBINED.to_owned(), format!("INFO {COMBINED}"), format!("17 {COMBINED}")];
    let mut parser = LogParser::new(&LogFormat::named("combined").expect("known"));
    let outcomes: Vec<bool> =
        lines.iter().map(|line| matches!(parser.parse(line.as_bytes()), LineOutcome::Rejected(LineFlaw::Start))).collect();
    assert_eq!(outcomes, [false, true, true]);
    // A number that is no time says nothing.
    assert!(detect(format!("17 203.0.113.9{combined}\n").as_bytes(), &[]).is_err());
}

/// A number that grows from line to line is no part of the address after it.
#[test]
fn line_numbers_before_ipv6_addresses() {
    let combined = COMBINED.strip_prefix("1.2.3.4").expect("the address");
    let lines: Vec<String> = (1..=8).map(|number| format!("{number}:2001:db8::7{combined}")).collect();
    let (format, sure, clients) = read(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((&*format, sure, clients), ("numbered+combined", true, vec!["2001:db8::7".to_owned(); 8]));
    let clients = vec![format!("2001:db8::7{combined}"); 8];
    assert_eq!(read(&clients.iter().map(String::as_str).collect::<Vec<_>>()).0, "combined");
}

/// Text in quotes after the agent is a list of clients where each of them is one.
#[test]
fn text_after_the_agent_that_is_no_list_of_clients() {
    let found = |tail: &str| {
        let found = detect(format!("{COMBINED} \"{tail}\"\n").as_bytes(), &[]).expect("a known format");
        (found.format.name().to_owned(), found.sure, found.unread)
    };
    for list in ["-", "", "203.0.113.7", "203.0.113.7, 10.0.0.1", "unknown, [2001:db8::1]:80"] {
        assert_eq!(found(list), ("combined_forwarded".to_owned(), true, None), "{list}");
    }
    for other in ["req-7f3a", "GB", "TLSv1.3", "203.0.113.7 MISS"] {
        assert_eq!(found(other), ("combined_extra".to_owned(), true, Some(format!("\"{other}\""))), "{other}");
    }
    let found = detect(format!("example.com {COMBINED} \"req-7f3a\"\n").as_bytes(), &[]).expect("a known format");
    assert_eq!((found.format.name(), found.sure, found.unread.as_deref()), ("host_combined_extra", true, Some("\"req-7f3a\"")));
}

/// Its `%V` stands where a common line has the identity, which is a `-` or a name.
#[test]
fn lighttpds_default_has_the_host() {
    let line = |host: &str| COMBINED.replace("1.2.3.4 - -", &format!("1.2.3.4 {host} -"));
    let (format, sure, clients) = read(&[&line("example.com"), &line("example.com:8080")]);
    assert_eq!((&*format, sure, clients), ("lighttpd", true, vec!["1.2.3.4".to_owned(); 2]));
    let mut parser = LogParser::new(&LogFormat::named("lighttpd").expect("known"));
    let line = line("example.com");
    assert!(matches!(parser.parse(line.as_bytes()), LineOutcome::Parsed(record) if record.host == b"example.com"));
    for identity in ["-", "frank", "12"] {
        assert_eq!(read(&[&COMBINED.replace("1.2.3.4 - -", &format!("1.2.3.4 {identity} -"))]).0, "combined", "{identity}");
    }
}

/// A common line that goes on, with a time whose unit nothing tells, as Rack and Tomcat write it.
#[test]
fn common_lines_that_go_on() {
    let common = COMBINED.split_once(r#" "-" "#).expect("a referrer").0;
    for tail in ["0.0029", "17", "[http-nio-8080-exec-1] 17", "req-7f3a="] {
        let found = detect(format!("{common} {tail}\n").as_bytes(), &[]).expect("a known format");
        assert_eq!((found.format.name(), found.sure, found.unread.as_deref()), ("common_extra", true, Some(tail)));
        assert!(!found.format.has(Field::RequestTime), "{tail}");
    }
    // Combined lines of which many are cut are no longer common ones.
    let cut = format!("{COMBINED}\n").repeat(6) + &format!("{}\n", &COMBINED[..COMBINED.len() - 2]).repeat(5);
    assert_eq!(found(&cut), "combined");
}

#[test]
fn lines_of_gos_log_package() {
    let line = "2024/11/22 10:11:12 [2024-11-22 10:11:12.150624] [router:host-http] [origin:a.example] \
                [client: 203.0.113.9] [useragent: x] GET / 200";
    assert_eq!(read(&[line]), ("timestamps+zoraxy".to_owned(), true, vec!["203.0.113.9".to_owned()]));
}

/// A line of as many words as the default columns need not be read by them.
#[test]
fn columns_are_not_guessed_from_their_number() {
    let words = |count: usize| vec!["word"; count].join(" ") + "\n";
    assert_eq!(found(&words(15)), format!("no known format reads the first lines, such as {:?}", words(15).trim_end()));
    let iis = "2024-11-22 10:11:12 10.0.0.5 GET /a - 443 - 203.0.113.9 curl/8 - 200 0 0 46";
    assert_eq!(found(&format!("{iis}\n")), "w3c");
    // A path without a slash, and a status that is none.
    for (from, to) in [(" /a ", " a "), (" 200 ", " OK ")] {
        assert!(found(&format!("{}\n", iis.replace(from, to))).starts_with("no known format"), "{to}");
    }
}

/// Request time and upstream time of a line, in microseconds.
type Times = (Option<u64>, Option<u64>);

/// The format found, what of the tails is not read, and the times of each line.
fn times(tails: &[&str]) -> (String, Option<String>, Vec<Times>) {
    times_after("", "", tails)
}

/// The same of lines with `before` in front of the client, all with this host.
fn times_after(before: &str, host: &str, tails: &[&str]) -> (String, Option<String>, Vec<Times>) {
    let lines: Vec<String> = tails.iter().map(|tail| format!("{before}{COMBINED}{tail}")).collect();
    let found = detect((lines.join("\n") + "\n").as_bytes(), &[]).expect("a known format");
    assert!(found.sure, "{tails:?}");
    let mut parser = LogParser::new(&found.format);
    let times = lines.iter().map(|line| match parser.parse(line.as_bytes()) {
        LineOutcome::Parsed(record) => {
            assert_eq!((record.client, record.agent, record.bytes), (&b"1.2.3.4"[..], &b"x"[..], Some(5)), "{line}");
            assert_eq!(record.host, host.as_bytes(), "{line}");
            (record.request_time_us, record.upstream_time_us)
        }
        other => panic!("{line}: {other:?}"),
    });
    let times = times.collect();
    (found.format.name().to_owned(), found.unread, times)
}

#[test]
fn times_after_the_agent() {
    let of = |name: &str, unread: Option<&str>, times: &[(Option<u64>, Option<u64>)]| {
        (name.to_owned(), unread.map(str::to_owned), times.to_vec())
    };
    // The example of "Configuring Logging" in NGINX's documentation.
    assert_eq!(
        times(&[r#"rt=0.250 uct="0.000" uht="0.248" urt="0.249""#, r#"rt=0.001 uct="-" uht="-" urt="-""#]),
        of("combined_times", Some("uct=0.000 uht=0.248"), &[(Some(250_000), Some(249_000)), (Some(1_000), None)])
    );
    // ingress-nginx's default
    assert_eq!(
        times(&[
            " 338 0.250 [default-web-80] [] 10.0.0.1:80 512 0.249 200 7f3a",
            " 338 0.300 [default-web-80] [] 10.0.0.1:80, 10.0.0.2:80 0, 512 0.100, 0.199 502, 200 7f3b",
        ]),
        of(
            "combined_times",
            Some("338 default-web-80  10.0.0.1:80 512 200 7f3a"),
            &[(Some(250_000), Some(249_000)), (Some(300_000), Some(299_000))]
        )
    );
    // nginx's main with times, in both orders
    assert_eq!(times(&[r#" "-" 0.250 0.249"#]), of("combined_times", Some("-"), &[(Some(250_000), Some(249_000))]));
    assert_eq!(times(&[" 0.001 0.250"]), of("combined_times", None, &[(Some(250_000), Some(1_000))]));
    assert_eq!(times(&[" 0.250 0.001"]), of("combined_upstream_timed", None, &[(Some(250_000), Some(1_000))]));
    assert_eq!(times(&[" rt=0.250 urt=0.249 id=7"]), of("combined_times", Some("id=7"), &[(Some(250_000), Some(249_000))]));
    // A whole number may be bytes, seconds, milliseconds or microseconds.
    assert_eq!(times(&[" 1234", " 70"]), of("combined_extra", Some("1234"), &[(None, None), (None, None)]));
    assert_eq!(times(&[" 512 2048"]), of("combined_extra", Some("512 2048"), &[(None, None)]));
    // nginx's $gzip_ratio and $msec
    assert_eq!(times(&[" \"3.17\" 1732270272.123"]), of("combined_extra", Some("\"3.17\" 1732270272.123"), &[(None, None)]));
}

/// Whatever is read after the agent is read as well where a host stands before the client.
#[test]
fn times_after_the_agent_of_lines_with_a_host() {
    let tails: [&[&str]; 12] = [
        &[" rt=0.010 urt=0.010"],
        &[r#"rt=0.250 uct="0.000" uht="0.248" urt="0.249""#, r#"rt=0.001 uct="-" uht="-" urt="-""#],
        &[" 338 0.250 [default-web-80] [] 10.0.0.1:80 512 0.249 200 7f3a"],
        &[r#" "-" 0.250 0.249"#],
        &[" 0.001 0.250"],
        &[" rt=12ms id=7"],
        &[" 12ms"],
        // Plain lines are read so, too.
        &[" 0.010"],
        &[" 0.5"],
        &[" 0.250 0.001"],
        // Nothing tells a unit.
        &[" 1234", " 70"],
        &[" \"req-7f3a\""],
    ];
    for tails in tails {
        let (plain, unread, read) = times(tails);
        for (before, host) in [("www.example.com ", "www.example.com"), ("[2001:db8::1] ", "[2001:db8::1]"), ("- ", "")] {
            assert_eq!(times_after(before, host, tails), (format!("host_{plain}"), unread.clone(), read.clone()), "{tails:?}");
        }
        // The port is a column of its own, as `vhost_combined` has it.
        if plain != "combined_extra" {
            let found = times_after("www.example.com:443 ", "www.example.com", tails);
            assert_eq!(found, (format!("vhost_{plain}"), unread, read), "{tails:?}");
        }
    }
    let found = |before: &str| {
        let lines = format!("{before}www.example.com:443 {COMBINED} rt=0.010 urt=0.010\n");
        detect(lines.as_bytes(), &[]).expect("known").format
    };
    assert_eq!(found("").variables(), LogFormat::named("vhost_combined").expect("known").variables());
    assert_eq!(found("web-1  | ").name(), "compose+vhost_combined_times");
    // With a port and without.
    let lines = ["www.example.com:443", "www.example.com"].map(|host| format!("{host} {COMBINED} rt=0.010"));
    let (format, sure, _) = read(&lines.each_ref().map(String::as_str));
    assert_eq!((&*format, sure), ("host_combined_times", true));
}

/// A unit after the number says what it is, whatever stands before it.
#[test]
fn times_with_their_unit_after_the_agent() {
    let of = |times: &[(Option<u64>, Option<u64>)]| ("combined_times".to_owned(), None, times.to_vec());
    assert_eq!(times(&[" 12ms", " 500123us"]), of(&[(Some(12_000), None), (Some(500_123), None)]));
    assert_eq!(times(&[" 12345678us"]), of(&[(Some(12_345_678), None)]));
    assert_eq!(
        times(&[" rt=0.5s", " rt=12.5ms", " rt=3s", " rt=-"]),
        of(&[(Some(500_000), None), (Some(12_500), None), (Some(3_000_000), None), (None, None)])
    );
    assert_eq!(times(&[" rt=0.5s urt=\"100ms, 7µs\""]), of(&[(Some(500_000), Some(100_007))]));
    assert_eq!(times(&[" rt=1m2.5s urt=900ns"]), of(&[(Some(62_500_000), Some(0))]));
    assert_eq!(times(&[" \"x\" 0.5s"]).2, [(Some(500_000), None)]);
    assert_eq!(times(&[" 0.5s"]).2, [(Some(500_000), None)]);
    for other in [" 12mb", " s", " 1.2.3s", " 12parsecs", " 99999999999999999999999s"] {
        assert_eq!(times(&[other]).0, "combined_extra", "{other}");
    }
}

#[test]
fn what_is_unread_after_a_prefix_is_said() {
    let found = detect(format!("web-1  | {COMBINED} 512 2048\n").as_bytes(), &[]).expect("known");
    assert_eq!((found.format.name(), found.unread.as_deref()), ("compose+combined_extra", Some("512 2048")));
    let found = detect(format!("web-1  | {COMBINED}rt=0.250 uct=\"0.001\"\n").as_bytes(), &[]).expect("known");
    assert_eq!((found.format.name(), found.unread.as_deref()), ("compose+combined_times", Some("uct=0.001")));
}

#[test]
fn a_few_lines_at_the_end_do_not_decide() {
    let junk = "?\n".repeat(60);
    let common = COMBINED.split_once(r#" "-" "#).expect("a referrer").0;
    let log = format!("{junk}{}{common}\n{common}\n", format!("{COMBINED}\n").repeat(140));
    let found = detect(log.as_bytes(), &[]).expect("known");
    assert_eq!((found.format.name(), found.sure, found.lines, found.sound), ("combined", false, 200, 140));
}

#[test]
fn lines_of_something_else_first() {
    let junk: String = (0..250).map(|number| format!("starting worker {number}\n")).collect();
    let found = detect(format!("{junk}{}", format!("{COMBINED}\n").repeat(500)).as_bytes(), &[]).expect("known");
    // 250 of junk and 150 of the log, and 200 more of it.
    assert_eq!((found.format.name(), found.lines, found.sound, found.sure), ("combined", 600, 350, false));
}

#[test]
fn times_in_other_forms() {
    // `date -ud '2015-05-17 10:05:03' +%s`
    let second = 1_431_857_103_000_000;
    for (time, time_us, zone_seconds) in [
        ("17/May/2015:10:05:03", second, 0),
        ("17/May/2015:10:05:03 UTC", second, 0),
        ("17/May/2015:10:05:03 Z", second, 0),
        ("17/May/2015:15:35:03 +05:30", second, 19_800),
        ("17/May/2015:10:05:03.250 +0000", second + 250_000, 0),
        ("2015-05-17T10:05:03Z", second, 0),
        ("2015-05-17 12:05:03.250+02:00", second + 250_000, 7_200),
        ("2015-05-17 10:05:03 UTC", second, 0),
        ("1431857103", second, 0),
        ("1431857103.250", second + 250_000, 0),
        ("1431857103250", second + 250_000, 0),
    ] {
        let line = COMBINED.replace("17/May/2015:10:05:03 +0000", time);
        let found = detect(line.as_bytes(), &[]).expect("known");
        assert_eq!((found.format.name(), found.sure), ("combined", true), "{time}");
        let mut parser = LogParser::new(&found.format);
        let LineOutcome::Parsed(record) = parser.parse(line.as_bytes()) else { panic!("{time}") };
        assert_eq!((record.time_us, record.zone_seconds), (Some(time_us), zone_seconds), "{time}");
    }
    let mut parser = LogParser::new(&LogFormat::parse("%{%F %T %z}t %s %{SSL_PROTOCOL}x %{x}c").expect("a format"));
    for zone in ["+05:30", "+0530"] {
        let line = format!("2015-05-17 15:35:03 {zone} 200 TLSv1.3 -");
        assert!(matches!(parser.parse(line.as_bytes()), LineOutcome::Parsed(record) if record.time_us == Some(second)), "{zone}");
    }
}

/// A line in the envelope that Docker's json-file driver writes.
fn enveloped(line: &str) -> String {
    let text = line.replace('"', "\\\"");
    format!("{{\"log\":\"{text}\\n\",\"stream\":\"stdout\",\"time\":\"2024-10-10T13:55:36.123456789Z\"}}\n")
}

/// Docker's driver for fluentd, journalctl, and tools that copy Docker's files have other keys
/// before the line.
#[test]
fn lines_in_envelopes_with_other_keys_first() {
    let text = COMBINED.replace('"', "\\\"");
    for (before, after) in [
        (r#""time":"2024-10-10T13:55:36.123456789Z","stream":"stdout","log""#, "\\n"),
        (r#""container_name":"/web","source":"stdout","log""#, ""),
        (r#""_HOSTNAME":"web1","SYSLOG_IDENTIFIER":"nginx","MESSAGE""#, ""),
    ] {
        let log = format!("{{{before}:\"{text}{after}\"}}\n").repeat(3);
        let found = detect(log.as_bytes(), &[]).expect("a known format");
        assert_eq!((found.format.name(), found.lines, found.sound, found.sure), ("docker+combined", 3, 3, true), "{before}");
        let mut parser = LogParser::new(&found.format);
        let line = log.lines().next().expect("a line");
        let LineOutcome::Parsed(record) = parser.parse(line.as_bytes()) else { panic!("{line}") };
        assert_eq!((record.client, record.path, record.agent), (&b"1.2.3.4"[..], &b"/a"[..], &b"x"[..]), "{before}");
    }
    // Without a newline it is no piece of a line, but one that is not as the format says.
    let mut parser = LogParser::new(&LogFormat::parse("docker+combined").expect("a format"));
    for line in
        [r#"{"container_name":"/web","source":"stdout","log":"starting"}"#, r#"{"_HOSTNAME":"web1","MESSAGE":"starting"}"#]
    {
        assert!(matches!(parser.parse(line.as_bytes()), LineOutcome::Rejected(LineFlaw::Missing(_))), "{line}");
    }
}

/// Fit and reading are counted over the same lines, however many the sample has.
#[test]
fn lines_in_envelopes_fit_as_those_inside_do() {
    let fit = |log: &str| {
        let found = detect(log.as_bytes(), &[]).expect("known");
        assert_eq!(found.format.name(), "docker+combined");
        (found.lines, found.sound, found.sure)
    };
    let envelope = enveloped(COMBINED);
    for lines in [1, 199, 200, 223, 300, 2_000] {
        assert_eq!(fit(&envelope.repeat(lines)), (lines.min(200), lines.min(200), true), "{lines}");
    }
    // A third are in no envelope: 200 that fit, and 100 that do not.
    let foreign = "dockerd: rotated\n";
    assert_eq!(fit(&[foreign, &envelope, &envelope].concat().repeat(100)), (300, 200, false));
    assert_eq!(fit(&[foreign, &envelope, &envelope].concat().repeat(600)), (300, 200, false));
    // Foreign ones after a few, and after as many as are judged by.
    assert_eq!(fit(&(envelope.repeat(10) + &foreign.repeat(5))), (15, 10, false));
    assert_eq!(fit(&(envelope.repeat(200) + &foreign.repeat(150))), (200, 200, true));
    // Lines inside that fit nothing, and blank ones, which do not count anywhere.
    assert_eq!(fit(&(envelope.repeat(8) + &enveloped("?").repeat(2) + &enveloped("").repeat(20))), (10, 8, false));
    let late = enveloped("starting").repeat(250) + &envelope.repeat(500);
    assert_eq!(fit(&late), (600, 350, false));
}

/// Squid's own line of its documentation, with its columns filled up with blanks.
#[test]
fn columns_filled_up_with_blanks() {
    let squid = "$msec $duration_ms $remote_addr $result/$status $bytes_sent $request_method $request_uri $user $peer $type";
    let mut parser = LogParser::new(&LogFormat::parse(squid).expect("a format"));
    for (line, client) in [
        (
            "1286536308.779    180 192.168.0.224 TCP_MISS/200 411 GET http://a.example/b?c=d - DIRECT/10.0.0.1 text/html",
            "192.168.0.224",
        ),
        (
            "1286536309.450 123456 192.168.0.68  TCP_MISS/200 411 GET http://a.example/b?c=d - DIRECT/10.0.0.1 text/html",
            "192.168.0.68",
        ),
    ] {
        let LineOutcome::Parsed(record) = parser.parse(line.as_bytes()) else { panic!("{line}") };
        assert_eq!((record.client, record.status, record.bytes), (client.as_bytes(), 200, Some(411)));
        assert_eq!((record.path, record.query), (&b"http://a.example/b"[..], &b"c=d"[..]));
    }
}

/// The flaw of a line whose columns are filled up is said; the line is not read by single blanks
/// instead, without its client.
#[test]
fn a_flaw_in_columns_filled_up_with_blanks() {
    let mut parser = LogParser::new(&LogFormat::named("squid").expect("known"));
    let line = "1576177221.686   1241 2001:db8:2ce:1 TCP_MISS/401 10309 GET http://a.example/ - HIER_NONE/- text/plain";
    let LineOutcome::Repaired(record, flaw) = parser.parse(line.as_bytes()) else { panic!("{line}") };
    assert_eq!(flaw.to_string(), "client is neither an address nor a name");
    assert_eq!((record.client, record.status, record.bytes), (&b""[..], 401, Some(10_309)));
    assert_eq!(record.request_time_us, Some(1_241_000));
    // Nor is the time taken for one that a collector put before lines without one.
    let log = [line, &line.replace("2001:db8:2ce:1", "203.0.113.1")].join("\n") + "\n";
    let found = detect(log.as_bytes(), &[]).expect("a known format");
    assert_eq!((found.format.name(), found.lines, found.sound), ("squid", 2, 1));
}

/// The format of lines after `before`, and the client and the source of the first.
fn after(before: &str) -> (String, String, String) {
    let sample = format!("{before}{COMBINED}\n{before}{}\n", COMBINED.replace("1.2.3.4 - -", "host.example - frank"));
    let found = detect(sample.as_bytes(), &[]).expect("a known format");
    assert_eq!((found.sound, found.sure), (2, true), "{before}");
    let mut parser = LogParser::new(&found.format);
    let LineOutcome::Parsed(record) = parser.parse(sample.lines().next().expect("a line").as_bytes()) else { panic!("{before}") };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!((record.agent, record.user, record.status, record.bytes), (&b"x"[..], &b""[..], 200, Some(5)), "{before}");
    (found.format.name().to_owned(), text(record.client), text(record.source))
}

#[test]
fn prefixes_are_named_and_taken_off() {
    for (before, format, source) in [
        ("Nov 22 10:11:12 web1 nginx: ", "syslog+combined", "web1"),
        // BusyBox's, and messages of which a time and a host were not kept.
        ("Nov 22 10:11:12 web1 local7.info nginx: ", "syslog+combined", "web1"),
        ("<190>", "syslog+combined", ""),
        ("<190>nginx: ", "syslog+combined", ""),
        ("<190>Nov  2 10:11:12 web1 nginx[7]: ", "syslog+combined", "web1"),
        ("2024-11-22T10:11:12+0000 web1 nginx[7]: ", "syslog+combined", "web1"),
        ("<165>1 2003-10-11T22:14:15.003Z web1 nginx 7 - - ", "syslog5424+combined", "web1"),
        ("1732270272.123456 web1 nginx[7]: ", "journald+combined", "web1"),
        ("2024-10-10T13:55:36Z stdout F ", "cri+combined", "stdout"),
        ("web-1  | ", "compose+combined", "web-1"),
        ("[pod/x/nginx] ", "kubectl+combined", "x/nginx"),
        ("2024-10-10T13:55:36.123456789Z ", "timestamps+combined", ""),
        ("access.log:", "grep+combined", "access.log"),
        ("/var/log/access.log:12:", "grep-n+combined", "/var/log/access.log"),
        ("messages:Nov 22 10:11:12 web1 nginx: ", "grep+syslog+combined", "messages"),
        ("web-1  | example.com:80 ", "compose+vhost_combined", "web-1"),
    ] {
        assert_eq!(after(before), (format.to_owned(), "1.2.3.4".to_owned(), source.to_owned()), "{before}");
    }
}

#[test]
fn prefixes_before_json_and_given_formats() {
    let line = r#"web-1  | {"time":"2024-10-10T13:55:36Z","remote_addr":"1.2.3.4","request":"GET / HTTP/1.1","status":200}"#;
    let found = detect(line.as_bytes(), &[]).expect("known");
    let fields: Vec<&str> = found.format.fields().map(Field::name).collect();
    assert_eq!(found.format.name(), "compose+json");
    assert_eq!(fields, ["time", "client", "method", "path", "protocol", "status", "source"]);
    for name in ["syslog+combined", "grep+syslog+host_combined", "combined_timed"] {
        assert_eq!(LogFormat::parse(name).expect("a format").name(), name);
    }
    let error = LogFormat::parse("compose+%h %Q").expect_err("no directive");
    assert_eq!(error.column(), 12);
    let mut parser = LogParser::new(&LogFormat::parse("syslog+%h %s").expect("a format"));
    assert_eq!(parser.parse(b"1.2.3.4 200"), LineOutcome::Rejected(LineFlaw::Start));
    assert_eq!(parser.parse(b" "), LineOutcome::Blank);
}

#[test]
fn lines_without_a_client_are_doubtful() {
    let (format, sure, clients) = read(&[&COMBINED.replace("1.2.3.4", "-")]);
    assert_eq!((format.as_str(), sure, clients), ("combined", false, vec![String::new()]));
}

#[test]
fn common_lines_among_combined_ones() {
    let common = COMBINED.split_once(r#" "-" "#).expect("a referrer").0.replace("1.2.3.4", "5.6.7.8");
    let expected = ["1.2.3.4", "5.6.7.8", "5.6.7.8"].map(str::to_owned).to_vec();
    assert_eq!(read(&[COMBINED, &common, &common]), ("combined".to_owned(), true, expected));
    let vhost = |line: &str| format!("example.com:80 {line}");
    let (format, sure, _) = read(&[&vhost(COMBINED), &vhost(&common)]);
    assert_eq!((format.as_str(), sure), ("vhost_combined", true));
}

#[test]
fn traefiks_common_format_has_milliseconds() {
    let sample = format!("{COMBINED} 7 \"router@docker\" \"http://10.0.0.1:80\" 12ms\n");
    let format = detect(sample.as_bytes(), &[]).expect("known").format;
    let rows = preview(&format, sample.as_bytes(), 5);
    assert!(rows[0].contains(&(Field::RequestTime, "0.012000 s".to_owned())));
}

#[test]
fn only_whole_lines_count() {
    let cut = format!("{COMBINED}\n{}", &COMBINED[..50]);
    let detection = detect(cut.as_bytes(), &[]).expect("known");
    assert_eq!((detection.lines, detection.sound), (1, 1));
    assert_eq!(found(COMBINED), "combined", "one line without its line end");
}

#[test]
fn unsure_below_nine_in_ten() {
    let sample = |bad: usize| format!("{}{}", format!("{COMBINED}\r\n").repeat(10 - bad), "?\n".repeat(bad));
    assert!(detect(sample(1).as_bytes(), &[]).expect("known").sure);
    let unsure = detect(sample(2).as_bytes(), &[]).expect("known");
    assert_eq!((unsure.sure, unsure.lines, unsure.sound), (false, 10, 8));
}

#[test]
fn a_scanners_bytes_are_not_the_formats_fault() {
    let line = COMBINED.replace("GET /a?b HTTP/1.1", r"\x16\x03\x01");
    assert!(detect(format!("{line}\n").as_bytes(), &[]).expect("known").sure);
}

#[test]
fn the_callers_formats_come_first() {
    let own =
        LogFormat::parse(r#"$remote_addr - $remote_user [$time_local] "$request" $status $bytes_sent "$http_referer" "$foo""#);
    let own = own.expect("sound");
    let detection = detect(SAMPLE, &[own]).expect("known");
    assert_eq!(detection.format.name(), "custom");
    let other = LogFormat::parse("%h %>s").expect("sound");
    assert_eq!(detect(SAMPLE, &[other]).expect("known").format.name(), "combined");
}

#[test]
fn unknown_lines_are_shown_cut() {
    let sample = format!("{}\n{}", "\u{1b}é".repeat(300), "x\n".repeat(20));
    let unknown = detect(sample.as_bytes(), &[]).expect_err("unknown");
    assert_eq!(unknown.lines.len(), 5);
    assert!(unknown.lines[0].len() <= 203);
}

#[test]
fn preview_shows_what_lines_have() {
    let rows = preview(&LogFormat::named("combined").expect("known"), format!("{COMBINED}\n?\n").as_bytes(), 5);
    let expected = [
        (Field::Time, "2015-05-17T10:05:03+00:00"),
        (Field::Client, "1.2.3.4"),
        (Field::Method, "GET"),
        (Field::Path, "/a"),
        (Field::Query, "b"),
        (Field::Protocol, "HTTP/1.1"),
        (Field::Status, "200"),
        (Field::Bytes, "5"),
        (Field::Agent, "x"),
    ];
    assert_eq!(rows.len(), 2);
    assert!(rows[0].iter().map(|(field, text)| (*field, text.as_str())).eq(expected));
    assert!(rows[1].is_empty());
}
