//! Finding out which format a log has.

use rorqual_table::format::{Field, Format, detect, preview};
use rorqual_table::parse::{Outcome, Parser};

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
    let mut parser = Parser::new(&found.format);
    let clients = lines.iter().map(|line| match parser.parse(line.as_bytes()) {
        Outcome::Parsed(record) => String::from_utf8_lossy(record.client).into_owned(),
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
    let own = Format::parse(r#"$remote_addr - $remote_user [$time_local] "$request" $status $bytes_sent "$http_referer" "$foo""#);
    let own = own.expect("sound");
    let detection = detect(SAMPLE, &[own]).expect("known");
    assert_eq!(detection.format.name(), "custom");
    let other = Format::parse("%h %>s").expect("sound");
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
    let rows = preview(&Format::named("combined").expect("known"), format!("{COMBINED}\n?\n").as_bytes(), 5);
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
