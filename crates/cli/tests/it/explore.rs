//! `rorqual logs --findings`, `--explain`, `--compare`, `--rates` and `--by`: answers against
//! counts of the lines that were written.

use crate::common::{PROGRAM, TestFolder, eventually, rorqual};
use crate::input::waiting_for;
use rorqual_testkit::paths::on_every_path;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::mpsc::channel;

/// 2025-01-31T00:00:00Z, by `date -u -d 2025-01-31 +%s`.
const START: i64 = 1_738_281_600;

const SCANNER: &str = "203.0.113.9";

/// Seconds of the day in which the scanner asks.
const SCAN: std::ops::Range<i64> = 3 * 3_600..3 * 3_600 + 1_200;

/// Value of a line in a field.
type Field = fn(&Line) -> String;

#[derive(Debug, Clone)]
struct Line {
    second: i64,
    client: String,
    path: &'static str,
    status: u16,
    bytes: u64,
}

impl Line {
    fn text(&self) -> String {
        let Self { second, client, path, status, bytes } = self;
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        format!(
            "{client} - - [31/Jan/2025:{hour:02}:{minute:02}:{second:02} +0000] \"GET {path} HTTP/1.1\" {status} {bytes} \"-\" \"agent/1.0\"\n"
        )
    }

    fn is_scan(&self) -> bool {
        self.client == SCANNER
    }
}

/// Numbers that look random, the same every time (splitmix64).
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Six hours of even traffic, and a scanner in twenty minutes of it.
fn lines() -> Vec<Line> {
    let paths = ["/", "/a", "/b", "/api/items", "/img/x.png"];
    let even = (0..20_000).map(|number| {
        let random = mixed(number);
        Line {
            second: (random % 21_600) as i64,
            client: format!("10.0.{}.{}", (random >> 20) % 3, (random >> 30) % 50),
            path: paths[(random >> 40) as usize % paths.len()],
            status: [200, 200, 200, 304, 404][(random >> 50) as usize % 5],
            bytes: (random >> 10) % 5_000,
        }
    });
    let scan = (0..900).map(|number| Line {
        second: SCAN.start + (mixed(1 << 40 | number) % 1_200) as i64,
        client: SCANNER.to_owned(),
        path: "/.env",
        status: 404,
        bytes: 150,
    });
    let mut lines: Vec<Line> = even.chain(scan).collect();
    lines.sort_by_key(|line| line.second);
    lines
}

fn text<'a>(lines: impl IntoIterator<Item = &'a Line>) -> Vec<u8> {
    lines.into_iter().flat_map(|line| line.text().into_bytes()).collect()
}

/// A line that has no time, which no span has.
const GARBAGE: &[u8] = b"this is no line of a log\n";

fn asked(args: &[&str], file: &str) -> Value {
    rorqual(&["logs", "--json", "--top", "1000"]).args(args).arg(file).run().exits(0).json()
}

#[test]
fn explain_finds_a_scanner_with_numbers_that_are_true() {
    let (folder, lines) = (TestFolder::new(), lines());
    let file = folder.file("access.log", [text(&lines), GARBAGE.to_vec()].concat());
    let document = asked(&["--explain", "2025-01-31T03:00..2025-01-31T03:20"], &file);
    assert_eq!((&document["schema"], &document["complete"]), (&json!("rorqual.explain/1"), &json!(true)));
    assert_eq!(document["spans"], json!([{ "from": (START + SCAN.start) as f64, "to": (START + SCAN.end) as f64 }]));
    assert_eq!(document["rows"], json!({ "kept": lines.len() + 1, "dropped": 0, "spilled_bytes": 0 }));
    assert_eq!(document["lines"]["rejected"], 1);
    let answer = &document["answer"];
    let inside: Vec<&Line> = lines.iter().filter(|line| SCAN.contains(&line.second)).collect();
    let rest = lines.len() - inside.len();
    assert_eq!((&answer["rows_in"], &answer["rows_out"], &answer["exact"]), (&json!(inside.len()), &json!(rest), &json!(true)));
    // All that sets these minutes apart is the scanner.
    let [finding] = &answer["findings"].as_array().expect("findings")[..] else { panic!("{answer}") };
    let hits = inside.iter().filter(|line| line.is_scan()).count();
    assert_eq!((hits, &finding["hits_in"], &finding["hits_out"]), (900, &json!(900), &json!(0)));
    assert_eq!(finding["share_in"], hits as f64 / inside.len() as f64);
    let said = finding.to_string();
    assert!(said.contains(SCANNER) && said.contains("/.env") && finding["q"].as_f64() < Some(1e-6), "{said}");
    // The filter that comes with it means these lines.
    let filter = finding["filter"].as_str().expect("a filter");
    let meant = rorqual(&["logs", "--json", "--where", filter, &file]).run().exits(0).json();
    assert_eq!(meant["lines"]["parsed"], 900);
    let shown = rorqual(&["logs", "--explain", "2025-01-31T03:00..2025-01-31T03:20", &file]).run().exits(0);
    assert!(shown.text().contains(SCANNER) && shown.text().contains("G-test"), "{}", shown.text());
}

#[test]
fn findings_name_the_scanner_unasked() {
    let (folder, lines) = (TestFolder::new(), lines());
    let file = folder.file("access.log", text(&lines));
    let clean = folder.file("clean.log", text(lines.iter().filter(|line| !line.is_scan())));
    let document = asked(&["--findings"], &file);
    assert_eq!((&document["schema"], &document["answer"]["exact"]), (&json!("rorqual.findings/1"), &json!(true)));
    let [finding] = &document["answer"]["findings"].as_array().expect("findings")[..] else { panic!("{document}") };
    assert_eq!((&finding["from"], &finding["to"]), (&json!(START + SCAN.start), &json!(START + SCAN.end)));
    let said = finding.to_string();
    assert!(said.contains(SCANNER) || said.contains("/.env"), "{said}");
    assert_eq!((&finding["hits"], &finding["kind"]), (&json!(900), &json!("more")));
    let shown = rorqual(&["logs", "--findings", &file]).run().exits(0);
    assert!(shown.text().contains("2025-01-31 03:00:00 to 03:20:00"), "{}", shown.text());
    assert_eq!(asked(&["--findings"], &clean)["answer"]["findings"], json!([]));
    let shown = rorqual(&["logs", "--findings", &clean]).run().exits(0);
    assert!(shown.text().contains("Nothing unusual"), "{}", shown.text());
}

#[test]
fn a_page_with_findings_is_that_of_the_log_and_names_them() {
    let (folder, lines) = (TestFolder::new(), lines());
    let file = folder.file("access.log", text(&lines));
    let page = |path: &str, args: &[&str]| {
        let ran = rorqual(&[&["logs", "--html", path], args].concat()).run().exits(0);
        assert!(ran.stdout.is_empty(), "{}", ran.text());
        std::fs::read_to_string(path).expect("it was made")
    };
    let (found, plain) = (folder.text("found.html"), folder.text("plain.html"));
    let (found, plain) = (page(&found, &["--findings", &file]), page(&plain, &[&file]));
    assert!(!plain.contains("Unusual"));
    let item = found.split_once("<ol class=\"unusual\">").expect("findings").1.split_once("</ol>").expect("an end").0;
    assert_eq!(item.matches("<li>").count(), 1);
    assert!(item.contains("2025-01-31 03:00:00 – 2025-01-31 03:20:00") && item.contains("<code>"), "{item}");
    assert_eq!(found.matches("<rect class=\"unusual\"").count(), 1);
    // What both show is the same, but for the time that each took.
    let shared = |page: &str| {
        let body = page.split_once("<div class=\"panels\">").expect("panels").1;
        body.split_once("<footer").expect("a footer").0.to_owned()
    };
    assert_eq!(shared(&found), shared(&plain));

    let clean = folder.file("clean.log", text(lines.iter().filter(|line| !line.is_scan())));
    let quiet = folder.text("quiet.html");
    assert!(page(&quiet, &["--findings", &clean]).contains("Nothing unusual"));
    rorqual(&["logs", "--rates", "--html", &quiet, "--force", &file]).run().exits(2).says(&["--rates"]);
}

#[test]
fn a_line_of_another_year_hides_no_finding() {
    let (folder, lines) = (TestFolder::new(), lines());
    let stray = "10.0.0.1 - - [01/Jan/1970:00:00:00 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"agent\"\n";
    let file = folder.file("access.log", [text(&lines), stray.into()].concat());
    let answer = &asked(&["--findings"], &file)["answer"];
    let [finding] = &answer["findings"].as_array().expect("findings")[..] else { panic!("{answer}") };
    assert_eq!((&finding["from"], &finding["to"]), (&json!(START + SCAN.start), &json!(START + SCAN.end)));
    assert_eq!(answer["exact"], false);
}

#[test]
fn lines_without_a_size_are_not_small() {
    let folder = TestFolder::new();
    // For a while no line says 304, which has no size.
    let line = |number: u64| {
        let (minute, second) = (number / 10 % 60, number % 10 * 6);
        let answer = if number % 10 < 7 && !(2_000..2_200).contains(&number) { "304 -" } else { "200 700" };
        format!("10.0.0.1 - - [31/Jan/2025:{:02}:{minute:02}:{second:02} +0000] \"GET / HTTP/1.1\" {answer}\n", number / 600)
    };
    let file = folder.file("access.log", (0..9_000).map(line).collect::<String>());
    let answer = &asked(&["--findings"], &file)["answer"];
    assert!(answer["findings"].as_array().expect("findings").iter().all(|finding| finding["kind"] != "larger"), "{answer}");
}

#[test]
fn of_too_few_lines_findings_say_that_there_is_nothing_to_tell_by() {
    let (folder, lines) = (TestFolder::new(), lines());
    let file = folder.file("access.log", text(&lines[..500]));
    let shown = rorqual(&["logs", "--findings", &file]).run().exits(0);
    assert!(shown.text().contains("Nothing to tell by"), "{}", shown.text());
}

/// A log far above the memory, most of whose clients have no room: 60 failed requests of as many
/// clients are told, and not the visit of a crawler that is as long as these and more.
#[test]
fn explain_of_a_large_log_stays_within_little_memory() {
    const LINES: u64 = 2_000_000;
    let line = |number: u64| {
        let in_span = number.checked_sub(LINES / 2);
        let client = number / 8 % 250_000;
        let client = match in_span {
            Some(0..150) => "198.51.100.7".to_owned(),
            _ => format!("10.{}.{}.{}", client >> 16, client >> 8 & 255, client & 255),
        };
        let fails = in_span.is_some_and(|at| (20_000..20_480).contains(&at) && at % 8 == 0);
        Line { second: (number * 21_600 / LINES) as i64, client, path: "/a", status: if fails { 504 } else { 200 }, bytes: 100 }
    };
    let folder = TestFolder::new();
    let file = folder.file("access.log", (0..LINES).flat_map(|number| line(number).text().into_bytes()).collect::<Vec<u8>>());
    let args = ["logs", "--json", "--memory", "96MiB", "--explain", "2025-01-31T03:00..2025-01-31T03:20"];
    let ran = rorqual(&args).arg(&file).run().exits(0);
    let findings = ran.json()["answer"]["findings"].as_array().expect("findings").clone();
    let told: Vec<_> = findings.iter().map(|finding| (&finding["filter"], &finding["hits_in"])).collect();
    assert_eq!(told, [(&json!("status = 504"), &json!(60))]);
    ran.within(96 << 20);
}

#[test]
fn explain_says_when_nothing_stands_out() {
    let (folder, lines) = (TestFolder::new(), lines());
    let file = folder.file("access.log", text(&lines));
    let clean = folder.file("clean.log", text(lines.iter().filter(|line| !line.is_scan())));
    for (span, file) in
        [("2025-01-31T01:00..2025-01-31T01:20", &file), ("..2025-01-31T02:00", &file), ("2025-01-31T03:00..", &clean)]
    {
        let document = asked(&["--explain", span], file);
        assert_eq!(document["answer"]["findings"], json!([]), "{span}");
        let shown = rorqual(&["logs", "--explain", span, file]).run().exits(0);
        assert!(shown.text().contains("Nothing stands out"), "{}", shown.text());
    }
    // Without the scanner's lines nothing is left of it, however they are left out.
    let span = ["--explain", "2025-01-31T03:00..2025-01-31T03:20", "--where", "client != 203.0.113.9"];
    assert_eq!(asked(&span, &file)["answer"], asked(&span[..2], &clean)["answer"]);
    let late = ["--explain", "2025-01-31T04:00..2025-01-31T04:20", "--since", "2025-01-31T03:20"];
    let document = asked(&late, &file);
    assert_eq!(
        document["answer"]["rows_out"],
        lines.iter().filter(|line| line.second >= SCAN.end).count()
            - document["answer"]["rows_in"].as_u64().expect("a number") as usize
    );
}

/// For each value, hits in both spans.
fn both(lines: &[Line], spans: &[std::ops::Range<i64>; 2], field: Field) -> BTreeMap<String, [u64; 2]> {
    let mut hits: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for line in lines {
        for (side, span) in spans.iter().enumerate().filter(|(_, span)| span.contains(&line.second)) {
            debug_assert!(span.start < span.end);
            hits.entry(field(line)).or_default()[side] += 1;
        }
    }
    hits
}

#[test]
fn compare_shows_shares_of_both_and_the_most_significant_change_first() {
    let (folder, lines) = (TestFolder::new(), lines());
    let file = folder.file("access.log", text(&lines));
    let spans = [SCAN, SCAN.end..21_600];
    let args = ["--compare", "2025-01-31T03:00..2025-01-31T03:20", "2025-01-31T03:20.."];
    let document = asked(&args, &file);
    assert_eq!(document["schema"], "rorqual.compare/1");
    let totals = spans.clone().map(|span| lines.iter().filter(|line| span.contains(&line.second)).count() as u64);
    let answer = &document["answer"];
    assert_eq!([&answer["a"]["lines"]["total"], &answer["b"]["lines"]["total"]], [&json!(totals[0]), &json!(totals[1])]);
    let fields: [(&str, Field); 3] = [
        ("status", |line| line.status.to_string()),
        ("client", |line| line.client.clone()),
        ("path", |line| line.path.to_owned()),
    ];
    for (field, of) in fields {
        let expected = both(&lines, &spans, of);
        let panel = answer["panels"].as_array().expect("panels").iter().find(|panel| panel["field"] == field).expect("the panel");
        let rows = panel["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), expected.len(), "{field}");
        let mut order = Vec::new();
        for row in rows {
            let hits = expected[row["value"].as_str().expect("a value")];
            assert_eq!((&row["hits_a"], &row["hits_b"]), (&json!(hits[0]), &json!(hits[1])), "{row}");
            let change = hits[1] as f64 / totals[1] as f64 - hits[0] as f64 / totals[0] as f64;
            assert!((row["share_difference"].as_f64().expect("a number") - change).abs() < 1e-12, "{row}: {change}");
            order.push(row["g"].as_f64().expect("a number"));
        }
        assert!(order.is_sorted_by(|x, y| x >= y), "{field}: {order:?}");
        // Fewer rows are the first of all.
        let few = rorqual(&["logs", "--json", "--top", "2"]).args(args).arg(&file).run().exits(0).json();
        let panel =
            few["answer"]["panels"].as_array().expect("panels").iter().find(|panel| panel["field"] == field).expect("the panel");
        assert_eq!(panel["rows"].as_array().expect("rows")[..], rows[..2]);
    }
    let shown = rorqual(&["logs", "--top", "3"]).args(args).arg(&file).run().exits(0);
    assert!(shown.text().contains("Paths") && shown.text().contains("/.env"), "{}", shown.text());
}

/// Requests of each client in each stretch of so many seconds.
fn counts(lines: &[Line], seconds: i64, client: Field) -> BTreeMap<(String, i64), u64> {
    let mut counts = BTreeMap::new();
    for line in lines {
        *counts.entry((client(line), START + line.second.div_euclid(seconds) * seconds)).or_default() += 1;
    }
    counts
}

fn net(line: &Line) -> String {
    format!("{}.0/24", line.client.rsplit_once('.').expect("an address").0)
}

#[test]
fn rates_are_those_of_a_count() {
    let (folder, lines) = (TestFolder::new(), lines());
    let file = folder.file("access.log", [text(&lines), GARBAGE.to_vec()].concat());
    let clients: [(&str, Field); 2] = [("client", |line| line.client.clone()), ("net", net)];
    for (by, of) in clients {
        for (flag, seconds, limit) in [("--limit-per-minute", 60, 3), ("--limit-per-second", 1, 1), ("--limit-per-minute", 60, 0)]
        {
            let document = asked(&["--rates", "--by", by, flag, &limit.to_string()], &file);
            assert_eq!((&document["schema"], &document["answer"]["field"]), (&json!("rorqual.rates/1"), &json!(by)));
            let limited = counts(&lines, seconds, of);
            let mut blocked: BTreeMap<String, u64> = BTreeMap::new();
            limited
                .iter()
                .for_each(|((client, _), hits)| *blocked.entry(client.clone()).or_default() += hits.saturating_sub(limit));
            let effect = &document["answer"]["limits"][0];
            assert_eq!(effect["blocked"], blocked.values().sum::<u64>(), "{by} {flag}");
            assert_eq!(effect["clients"], blocked.values().filter(|blocked| **blocked > 0).count());
            let rows = document["answer"]["fastest"].as_array().expect("rows");
            assert_eq!(rows.len(), blocked.len());
            assert!(rows.is_sorted_by_key(|row| std::cmp::Reverse(row["blocked"].as_u64())));
            for row in rows {
                let client = row["value"].as_str().expect("a client");
                assert_eq!(row["blocked"], blocked[client]);
                for (seconds, most, at) in [(1, "second_hits_max", "second_at"), (60, "minute_hits_max", "minute_at")] {
                    let of_client = counts(&lines, seconds, of).into_iter().filter(|((name, _), _)| name == client);
                    // The first of the highest: of equals the last is taken, and they come
                    // backwards.
                    let peak =
                        of_client.collect::<Vec<_>>().into_iter().rev().max_by_key(|(_, hits)| *hits).expect("it has lines");
                    assert_eq!((row[most].as_u64(), row[at].as_i64()), (Some(peak.1), Some(peak.0.1)), "{client}");
                }
            }
        }
    }
    let shown = rorqual(&["logs", "--rates", &file]).run().exits(0);
    assert!(shown.text().contains("60 a minute") && shown.text().contains(SCANNER), "{}", shown.text());
}

#[test]
fn metrics_by_a_field_are_those_of_a_count() {
    let (folder, lines) = (TestFolder::new(), lines());
    let file = folder.file("access.log", [text(&lines), GARBAGE.to_vec()].concat());
    let fields: [(&str, Field); 3] =
        [("path", |line| line.path.to_owned()), ("status", |line| line.status.to_string()), ("net", net)];
    for (field, of) in fields {
        let document = asked(&["--by", field, "--sort", "refused"], &file);
        assert_eq!((&document["schema"], &document["answer"]["field"]), (&json!("rorqual.breakdown/1"), &json!(field)));
        let answer = &document["answer"];
        let mut expected: BTreeMap<String, (u64, u64, u64, Vec<&str>)> = BTreeMap::new();
        for line in &lines {
            let sums = expected.entry(of(line)).or_default();
            sums.0 += 1;
            sums.1 += u64::from(line.status / 100 == 4);
            sums.2 += line.bytes;
            sums.3.push(&line.client);
        }
        let values = answer["values"].as_array().expect("values");
        assert!(answer["exact"] == true && answer["ranked"].is_null() && values.len() == expected.len().min(10));
        assert!(values.is_sorted_by_key(|value| std::cmp::Reverse(value["refused"].as_u64())));
        for value in values {
            let (hits, refused, bytes, clients) =
                expected.get_mut(value["value"].as_str().expect("a value")).expect("it has lines");
            clients.sort_unstable();
            clients.dedup();
            let counted = json!([*hits, *refused, *bytes, clients.len(), 0]);
            let found = json!([value["hits"], value["refused"], value["bytes"], value["clients"], value["errors"]]);
            assert_eq!(found, counted, "{value}");
            assert_eq!((&value["p95"], value["trend"].is_array()), (&Value::Null, true));
        }
    }
    let shown = rorqual(&["logs", "--by", "path", "--show", "hits,refused,trend", "--sort", "refused", &file]).run().exits(0);
    let first = shown.text().lines().find(|line| line.contains("/.env")).expect("the path of the scan").to_owned();
    assert!(first.contains("900") && first.contains('█') && !shown.text().contains("error_rate"), "{}", shown.text());
}

#[test]
fn metrics_by_time_are_those_of_a_count() {
    let (folder, lines) = (TestFolder::new(), lines());
    let file = folder.file("access.log", text(&lines));
    let document =
        asked(&["--by", "time", "--top", "40", "--show", "hits,errors,refused,clients", "--where", "status != 304"], &file);
    let answer = &document["answer"];
    let from = answer["from"].as_i64().expect("a time");
    let width = answer["bucket_seconds"].as_i64().expect("a width");
    let values = answer["values"].as_array().expect("values");
    assert!(values.len() <= 41 && values.len() > 10, "{}", values.len());
    let mut counted = vec![(0, 0, 0, BTreeSet::new()); values.len()];
    for line in lines.iter().filter(|line| line.status != 304) {
        let sums =
            &mut counted[usize::try_from((START + line.second - from).div_euclid(width)).expect("it is not before the first")];
        sums.0 += 1;
        sums.1 += u64::from(line.status >= 500);
        sums.2 += u64::from(line.status / 100 == 4);
        sums.3.insert(&line.client);
    }
    for (value, (hits, errors, refused, clients)) in values.iter().zip(&counted) {
        let found = json!([value["hits"], value["errors"], value["refused"], value["clients"]]);
        assert_eq!(found, json!([hits, errors, refused, clients.len()]), "{value}");
    }
    let first = jiff::Timestamp::from_second(from).expect("a time").to_string();
    assert_eq!(values[0]["value"], first);
    let shown = rorqual(&["logs", "--by", "time", "--show", "hits,error_rate", &file]).run().exits(0);
    assert!(shown.text().contains(" a row") && shown.text().contains("error_rate"), "{}", shown.text());
}

#[test]
fn the_page_has_the_metrics_that_are_asked_for() {
    let (folder, lines) = (TestFolder::new(), lines());
    let file = folder.file("access.log", text(&lines));
    let page = folder.text("page.html");
    let args = ["logs", "--by", "path", "--show", "hits,refused,clients,trend", "--sort", "refused", "--html", &page];
    let ran = rorqual(&args).arg(&file).run().exits(0);
    assert_eq!(ran.text(), "", "nothing else is printed");
    let text = std::fs::read_to_string(&page).expect("the page");
    let table = text.split_once("Metrics by <bdi>path</bdi>").expect("its heading").1;
    let table = table.split_once("</section>").expect("its end").0;
    let first = table.split("<tr>").nth(2).expect("a row");
    assert!(first.contains("&#x2f;.env") && first.contains(">900<") && first.contains("<path d=\"M"), "{first}");
    let cells = first.matches("<td data-n=").count();
    assert_eq!((cells, table.matches("<tr>").count()), (3, 7), "{table}");
    assert!(table.contains("aria-sort=\"descending\">refused") && !text.contains("<h2 id=\"unusual\">"));
    // The rest of the page is there, too.
    assert!(text.contains("id=\"timeline\"") && text.contains("id=\"panel-path\""));

    let page = folder.text("time.html");
    drop(rorqual(&["logs", "--by", "time", "--show", "hits,errors", "--html", &page]).arg(&file).run().exits(0));
    let text = std::fs::read_to_string(&page).expect("the page");
    assert!(text.contains("2025-01-31T03:00:00Z</bdi>"));

    let orders = folder.file("orders.csv", "city,amount\nOslo,5\n<b>,7\nOslo,30\n");
    let page = folder.text("orders.html");
    let args = ["logs", "--by", "city", "--measure", "amount", "--show", "hits,max", "--html", &page];
    drop(rorqual(&args).arg(&orders).run().exits(0));
    let text = std::fs::read_to_string(&page).expect("the page");
    let table = text.split_once("Metrics by <bdi>city</bdi>").expect("its heading").1;
    assert!(table.contains("Oslo</bdi>") && table.contains("&lt;b&gt;") && !table.contains("<b>") && table.contains(">30<"));
}

/// The parts of an answer that do not depend on the threads. The variation of a value is measured
/// over runs of rows as threads took them, so the order of several values of the same rows, and
/// their G, may differ; the rows, and the values that they have, may not.
fn same(answer: &Value) -> Value {
    let Some(findings) = answer["findings"].as_array() else { return answer.clone() };
    let texts = |of: &Value| of.as_array().expect("texts").iter().map(|text| text.as_str().expect("a text").to_owned()).collect();
    let finding = |finding: &Value| {
        let mut values: Vec<String> = texts(&finding["conditions"]);
        values.extend::<Vec<String>>(texts(&finding["companions"]));
        values.sort();
        json!({"values": values, "hits_in": finding["hits_in"], "hits_out": finding["hits_out"]})
    };
    json!({"findings": findings.iter().map(finding).collect::<Vec<_>>(), "rows_in": answer["rows_in"], "tried": answer["tried"]})
}

/// An answer without what is said of files, and how many values were tried.
fn without_files(mut answer: Value) -> Value {
    if let Some(answer) = answer.as_object_mut() {
        answer.remove("tried");
    }
    for of in ["/panels", "/a/panels", "/b/panels"] {
        if let Some(panels) = answer.pointer_mut(of).and_then(Value::as_array_mut) {
            panels.retain(|panel| panel["field"] != "file");
        }
    }
    answer
}

#[test]
fn answers_are_the_same_on_every_path() {
    let lines = text(&lines());
    let folder = TestFolder::new();
    let file = folder.file("access.log", &lines);
    let questions: [&[&str]; 4] = [
        &["--explain", "2025-01-31T03:00..2025-01-31T03:20"],
        &["--compare", "2025-01-31T01:00..2025-01-31T02:00", "2025-01-31T03:00..2025-01-31T04:00"],
        &["--rates", "--limit-per-minute", "20"],
        &["--by", "path", "--sort", "clients"],
    ];
    for question in questions {
        let args = [&["logs", "--json", "--where", "status != 304"], question].concat();
        let answer = same(&rorqual(&args).arg(&file).run().exits(0).json()["answer"]);
        on_every_path(PROGRAM, &args, &[&["--threads", "1"], &["--threads", "2"]], &lines, |path, ran| {
            assert_eq!(same(&ran.exits(0).json()["answer"]), answer, "{path}");
        });
        // Several files are one log, in any order, and the file of a line is one more column.
        let (start, end) = lines.split_at(lines.iter().take(1_000_000).rposition(|byte| *byte == b'\n').expect("lines") + 1);
        let files = [folder.file("2.log", end), folder.file("1.log", start)];
        let of_files = same(&rorqual(&args).args(&files).run().exits(0).json()["answer"]);
        assert_eq!(without_files(of_files), without_files(answer));
    }
}

#[test]
fn what_can_not_be_asked_is_told() {
    let (folder, lines) = (TestFolder::new(), lines());
    let file = folder.file("access.log", text(&lines));
    for (args, said) in [
        (&["--explain", "2025-01-31"][..], &["--explain 2025-01-31", "FROM..TO"][..]),
        (&["--explain", "2025-01-31T08:00..2025-01-31T08:00"], &["FROM is not before TO"]),
        (&["--explain", ".."], &["nothing is left to hold it against"]),
        (&["--explain", "noon.."], &["--explain noon..", "'noon' is not a time"]),
        (&["--explain", "2025-02-01.."], &["no line is in this span", "2025-01-31 05:5"]),
        (&["--explain", "2025-01-31.."], &["all lines are in this span"]),
        (&["--explain", "..2025-01-31T03:00", "--where", "status = 999"], &["no selected line has a time"]),
        (&["--compare", "2025-01-31..2025-02-01", "2025-01-30"], &["--compare 2025-01-30", "FROM..TO"]),
        (&["--compare", "2025-01-31..2025-02-01", "2024-01-30..2024-01-31"], &["no line is in this span"]),
        (&["--compare", "2025-01-31..2025-02-01", "--json"], &["2 values required"]),
        (&["--rates", "--explain", "2025-01-31.."], &["cannot be used with"]),
        (&["--rates", "--html", "page.html"], &["--html", "cannot be used with"]),
        (&["--findings", "--rates"], &["cannot be used with"]),
        (&["--findings", "--by", "path"], &["cannot be used with"]),
        (&["--rates", "--by", "path"], &["--by path: rates are by client or by net"]),
        (&["--show", "hits"], &["--by"]),
        (&["--by", "path", "--show", "hits,p96"], &["'p96'", "p95"]),
        (&["--by", "path", "--sort", "trend"], &["'trend'"]),
        (&["--by", "time", "--sort", "errors"], &["--sort: buckets of time are in the order of time"]),
        (&["--by", "time", "--show", "trend"], &["--show and --sort: these rows have no trend"]),
        (&["--by", "clint"], &["--by: there is no field 'clint' with values (did you mean 'client'?)"]),
        (&["--by", "pfad"], &["--by: there is no field 'pfad'", "path"]),
        (&["--by", "path", "--sort", "p95"], &["--show and --sort: these rows have no p95; they have hits, errors"]),
        (&["--by", "path", "--measure", "agent"], &["--measure: there is no field 'agent' of numbers", "bytes"]),
        (&["--limit-per-minute", "5"], &["--rates"]),
        (&["--rates", "--limit-per-minute", "5", "--limit-per-second", "5"], &["cannot be used with"]),
        (&["--rates", "--temp-dir", "/nowhere/at/all"], &["--temp-dir /nowhere/at/all"]),
        (&["--rates", "--memory", "40MiB"], &["40.0 MiB is too little", "workers' rows", "Give --memory"]),
    ] {
        rorqual(&["logs"]).args(args).arg(&file).run().exits(2).says(said);
    }
    let timeless = folder.file("timeless.log", "10.0.0.1 200\n10.0.0.2 404\n");
    rorqual(&["logs", "--rates", "--format", "$remote_addr $status", &timeless])
        .run()
        .exits(2)
        .says(&["--rates: no selected line has a time"]);
    // A missing file does not hold up the others.
    let missing = rorqual(&["logs", "--json", "--rates", "/nowhere/at/all.log", &file]).run().exits(2);
    assert_eq!(missing.says(&["/nowhere/at/all.log"]).json()["answer"]["rows"], lines.len());
    rorqual(&["logs", "--rates", "/nowhere/at/all.log"]).run().exits(2).says(&["/nowhere/at/all.log"]);
}

#[test]
fn ctrl_c_ends_the_wait_and_what_came_is_asked() {
    let lines = lines();
    let stored = text(&lines);
    let (all_sent, seen) = channel();
    let running = waiting_for(&["logs", "--json", "--explain", "2025-01-31T03:00..2025-01-31T03:20"], move |stdin| {
        stdin.write_all(&stored)?;
        all_sent.send(stdin.as_fd().try_clone_to_owned()?).expect("the test waits");
        Ok(())
    });
    // As long as we hold it, the pipe does not end.
    let _writing_end = seen.recv().expect("it reads");
    let pipe = format!("/proc/{}/fd/0", running.id());
    eventually("the pipe is empty", || {
        let pipe = File::open(&pipe).ok()?;
        (rustix::io::ioctl_fionread(&pipe).ok()? == 0).then_some(())
    });
    running.interrupt();
    let document = running.wait().exits(130).json();
    assert_eq!((&document["complete"], &document["rows"]["kept"]), (&json!(false), &json!(lines.len())));
    assert_eq!(document["answer"]["findings"][0]["hits_in"], 900);
}
