//! Logs of several servers shown as one, beside one server that has all of them.

use crate::common::{Running, ask, config, exchange, send};
use rorqual_serve::{Config, FleetSettings, PeerAddress};
use rorqual_testkit::generate::Rng;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

/// Small numbers more often than large ones.
fn skewed(random: &mut Rng, limit: usize) -> usize {
    let most = 1 + random.below(limit);
    random.below(most)
}

fn one_of<'a, T>(random: &mut Rng, all: &'a [T]) -> &'a T {
    &all[random.below(all.len())]
}

const AGENTS: [&str; 4] = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "curl/8.5.0",
    "-",
];

/// A log in so many parts; each line is in one of them.
fn parts(lines: u64, count: usize, seed: u64) -> Vec<String> {
    let mut random = Rng::new(seed);
    let mut parts = vec![String::new(); count];
    for line in 0..lines {
        // Peers have other values, and other parts of the day.
        let part = (skewed(&mut random, 4) + (line * count as u64 / lines) as usize) % count;
        let out = &mut parts[part];
        if random.below(200) == 0 {
            writeln!(out, "no line of a log {}", random.below(3)).expect("memory");
            continue;
        }
        let second = line * 80_000 / lines;
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        let client = format!("198.51.{}.{}", skewed(&mut random, 20), random.below(256));
        let path = format!("/{}/{}", ["a", "b", "static"][skewed(&mut random, 3)], skewed(&mut random, 900));
        let query = if random.below(3) == 0 { format!("?q={}", random.below(4_000)) } else { String::new() };
        let status = one_of(&mut random, &[200, 200, 200, 301, 304, 404, 404, 500, 503]);
        let site = one_of(&mut random, &["-", "https://example.org/", "https://example.com/x", "-"]);
        let agent = one_of(&mut random, &AGENTS);
        let (method, bytes) = (one_of(&mut random, &["GET", "GET", "POST"]), skewed(&mut random, 90_000));
        writeln!(
            out,
            "{client} - - [02/Jan/2025:{hour:02}:{minute:02}:{second:02} +0000] \"{method} {path}{query} HTTP/1.1\" {status} {bytes} \
             \"{site}\" \"{agent}\""
        )
        .expect("memory");
    }
    parts
}

fn answer(url: &str, request: &str) -> Value {
    let answer = ask(url, request, "");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{request}: {error}: {head}"))
}

fn upload(url: &str, log: &str) -> String {
    let uploaded = answer(url, &format!("PUT /api/upload/access.log\n{log}"));
    uploaded["session"]["id"].as_str().unwrap_or_else(|| panic!("{uploaded}")).to_owned()
}

fn origin(url: &str) -> String {
    url.split("/?token=").next().expect("an address").to_owned()
}

/// Peers with these tokens, as their addresses are printed.
fn fleet_of(urls: &[String]) -> FleetSettings {
    let mut file = NamedTempFile::new().expect("a file");
    file.as_file().set_permissions(std::fs::Permissions::from_mode(0o600)).expect("its owner's");
    urls.iter().for_each(|url| writeln!(file, "{url}").expect("it is written"));
    let addresses: Vec<String> = urls.iter().map(|url| origin(url)).collect();
    let peers = PeerAddress::all(&addresses, Some(file.path())).unwrap_or_else(|error| panic!("{error}"));
    // The machine may be busy.
    FleetSettings { probe_time: Duration::from_secs(20), ..FleetSettings::new(peers, Vec::new()) }
}

/// A server that shows peers, and the session that does.
fn shows(fleet: FleetSettings) -> (Running, String) {
    let mut config = config(Duration::from_secs(60));
    config.settings.memory_bytes = 512 << 20;
    let server = Running::of(Config { fleet: Some(fleet), ..config });
    let listed = answer(&server.url, "GET /api/sessions");
    let id = listed["sessions"][0]["id"].as_str().unwrap_or_else(|| panic!("{listed}")).to_owned();
    (server, id)
}

/// Peers with parts of a log, a server that shows them, and one that has the whole log.
struct FleetAndWhole {
    peers: Vec<Running>,
    fleet: Running,
    fleet_id: String,
    whole: Running,
    whole_id: String,
}

impl FleetAndWhole {
    fn new(parts: &[String]) -> Self {
        let peer = |part: &String| {
            let peer = Running::of(config(Duration::from_secs(60)));
            upload(&peer.url, part);
            peer
        };
        let peers: Vec<Running> = parts.iter().map(peer).collect();
        let urls: Vec<String> = peers.iter().map(|peer| peer.url.clone()).collect();
        let (fleet, fleet_id) = shows(fleet_of(&urls));
        let whole = Running::of(config(Duration::from_secs(60)));
        let whole_id = upload(&whole.url, &parts.concat());
        Self { peers, fleet, fleet_id, whole, whole_id }
    }

    fn both(&self, verb: &str, body: &Value) -> [Value; 2] {
        [(&self.fleet.url, &self.fleet_id), (&self.whole.url, &self.whole_id)]
            .map(|(url, id)| answer(url, &format!("POST /api/sessions/{id}/{verb}\n{body}")))
    }

    fn fleet(&self, verb: &str, body: &Value) -> Value {
        answer(&self.fleet.url, &format!("POST /api/sessions/{}/{verb}\n{body}", self.fleet_id))
    }
}

/// Takes out what is not of the rows.
fn of_rows(mut answer: Value) -> Value {
    let members = answer.as_object_mut().unwrap_or_else(|| panic!("an answer"));
    ["seconds", "fleet", "hint"].iter().for_each(|name| drop(members.remove(*name)));
    answer
}

/// Holds an answer to another, and tells the member that differs.
fn same(what: &str, fleet: Value, whole: Value) {
    let (fleet, whole) = (of_rows(fleet), of_rows(whole));
    for (name, member) in whole.as_object().expect("members") {
        assert_eq!(&fleet[name], member, "{what}: {name}");
    }
    assert_eq!(fleet.as_object().map(serde_json::Map::len), whole.as_object().map(serde_json::Map::len), "{what}");
}

const CONDITIONS: [&str; 20] = [
    "path in (/a/1, /b/2, /a/3, /nowhere)",
    "path != /a/0",
    "client = 198.51.0.7",
    "not (method in (GET, PUT))",
    "status >= 500",
    "status = 404",
    "path ~ \"^/a\"",
    "path contains \"/1\"",
    "not bot",
    "method = POST",
    "bytes >= 5000",
    "bytes < 300",
    "hour >= 12",
    "net = 198.51.3.0/24",
    "site = example.org",
    "rejected",
    "any contains \"42\"",
    "query exists",
    "class = 3xx",
    "browser = Chrome",
];

fn filter(random: &mut Rng) -> String {
    let count = random.below(4);
    let conditions: Vec<String> = (0..count)
        .map(|_| {
            let condition = one_of(random, &CONDITIONS);
            if random.below(5) == 0 { format!("not ({condition})") } else { (*condition).to_owned() }
        })
        .collect();
    conditions.join(if random.below(4) == 0 { " or " } else { " and " })
}

fn span(random: &mut Rng) -> (Value, Value) {
    const DAY: u64 = 1_735_776_000;
    if random.below(2) == 0 {
        return (Value::Null, Value::Null);
    }
    let from = DAY + random.below(80_000) as u64;
    (json!(from), json!(from + 60 + random.below(40_000) as u64))
}

#[test]
fn each_view_and_panel_is_that_of_one_server_with_all_rows() {
    let servers = FleetAndWhole::new(&parts(20_000, 4, 1));
    let mut random = Rng::new(99);
    for question in 0..70 {
        let (from, to) = span(&mut random);
        let stack = one_of(&mut random, &["class", "bot", "path", "method", "site", "browser", "status_none"]);
        let mut body = json!({"where": filter(&mut random), "from": from, "to": to, "top": 1 + random.below(60)});
        body["buckets"] = json!(1 + random.below(900));
        body["facets"] = json!(random.below(2) == 0);
        if *stack != "status_none" {
            body["stack"] = json!(stack);
        }
        let [fleet, whole] = servers.both("view", &body);
        assert_eq!(fleet["fleet"]["complete"], true, "{fleet}");
        same(&format!("{question}: {body}"), fleet, whole);
    }
    for question in 0..60 {
        let (from, to) = span(&mut random);
        let field = one_of(&mut random, &["path", "client", "query", "agent", "status", "os", "net", "kind", "flaw"]);
        let mut body = json!({"where": filter(&mut random), "from": from, "to": to, "field": field});
        body["limit"] = json!(random.below(100));
        body["offset"] = json!(skewed(&mut random, 300));
        body["facets"] = json!(random.below(2) == 0);
        if random.below(2) == 0 {
            body["search"] = json!(one_of(&mut random, &["1", "A/", "40", "Chrome", "198.51.7", "nowhere"]));
        }
        let [fleet, whole] = servers.both("panel", &body);
        same(&format!("{question}: {body}"), fleet, whole);
    }
}

/// Times of the lines of a log that have one, in seconds, in order.
fn times(log: &str) -> Vec<f64> {
    let second = |line: &str| {
        let (_, clock) = line.split_once("[02/Jan/2025:")?;
        let number = |at: usize| clock[at..at + 2].parse::<u64>().ok();
        Some((1_735_776_000 + number(0)? * 3_600 + number(3)? * 60 + number(6)?) as f64)
    };
    let mut times: Vec<f64> = log.lines().filter_map(second).collect();
    times.sort_by(f64::total_cmp);
    times
}

fn rows(answer: &Value) -> &Vec<Value> {
    answer["rows"].as_array().unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn rows_of_all_peers_come_by_time_and_by_any_column() {
    let parts = parts(24_000, 3, 7);
    let servers = FleetAndWhole::new(&parts);
    let times = times(&parts.concat());
    let mut random = Rng::new(4);
    for offset in [0, 1, 97, 9_950, 9_951, 15_000, times.len() as u64 - 30] {
        for from_end in [false, true] {
            let page = servers.fleet("rows", &json!({"offset": offset, "limit": 50, "from_end": from_end}));
            let found: Vec<f64> = rows(&page).iter().filter_map(|row| row["time"].as_f64()).collect();
            let mut expected = times.clone();
            if from_end {
                expected.reverse();
            }
            let expected: Vec<f64> = expected.into_iter().skip(offset as usize).take(50).collect();
            assert_eq!(found, expected, "{offset} {from_end}");
            assert_eq!((&page["matching"], page["rows"][0]["row"].as_u64()), (&json!(24_000), Some(offset)));
            assert!(rows(&page).iter().all(|row| row["peer"].as_str().is_some_and(|peer| peer.starts_with("127.0.0.1:"))));
        }
    }
    for field in ["bytes", "status", "client", "path", "url", "agent", "browser", "time", "query"] {
        let filter = filter(&mut random);
        let (mut of_fleet, mut of_whole) = (Vec::new(), Vec::new());
        for offset in [0, 100, 200] {
            let sort = json!({"field": field, "descending": random.below(2) == 0});
            let body = json!({"where": filter, "sort": sort, "offset": offset});
            let [fleet, whole] = servers.both("rows", &body);
            assert_eq!(fleet["matching"], whole["matching"], "{body}");
            let values = |page: &Value| -> Vec<Value> { rows(page).iter().map(|row| row[field].clone()).collect() };
            if fleet["sort"]["exact"] == true {
                assert_eq!(values(&fleet), values(&whole), "{body}");
            }
            of_fleet.extend(rows(&fleet).iter().map(|row| row["line"].clone()));
            of_whole.extend(rows(&whole).iter().map(|row| row["line"].clone()));
        }
        assert_eq!(of_fleet.len(), of_whole.len());
    }
    // Each row comes once.
    let mut lines = Vec::new();
    for offset in (0..).step_by(100) {
        let page = servers.fleet("rows", &json!({"where": "status = 503 or rejected", "offset": offset}));
        lines.extend(rows(&page).iter().map(|row| row["line"].as_str().expect("a line").to_owned()));
        if rows(&page).is_empty() {
            break;
        }
    }
    let is_wanted = |line: &&str| line.contains("\" 503 ") || line.starts_with("no line");
    let whole = parts.concat();
    let mut expected: Vec<&str> = whole.lines().filter(is_wanted).collect();
    expected.sort_unstable();
    lines.sort_unstable();
    assert_eq!(lines, expected);
    let none = servers.fleet("rows", &json!({"sort": {"field": "hour"}}));
    assert_eq!(none["error"]["code"], "bad_request", "{none}");
}

#[test]
fn comparisons_and_histograms_are_those_of_one_server() {
    let servers = FleetAndWhole::new(&parts(12_000, 4, 8));
    let (mut random, mut sure) = (Rng::new(12), 0);
    for question in 0..25 {
        let mut side = || {
            let (from, to) = span(&mut random);
            json!({"where": filter(&mut random), "from": from, "to": to})
        };
        // A part of all rows beside the rest of them, or two views.
        let rest = question % 3 == 0;
        let (a, b) = (side(), if rest { json!({}) } else { side() });
        let [fleet, whole] = servers.both("compare", &json!({"a": a, "b": b, "top": 1 + question * 4, "rest": rest}));
        if fleet["exact"] == true {
            same(&format!("{question}: {a} {b}"), fleet, whole);
            sure += 1;
        } else {
            // Very many values differ as much as the last one that is listed.
            assert_eq!((&fleet["a"], &fleet["b"]), (&whole["a"], &whole["b"]));
        }
    }
    assert!(sure > 20, "{sure}");
    for query in ["", "?buckets=7", "?from=1735790000&to=1735800000&buckets=300"] {
        let [fleet, whole] = [(&servers.fleet.url, &servers.fleet_id), (&servers.whole.url, &servers.whole_id)]
            .map(|(url, id)| answer(url, &format!("GET /api/sessions/{id}/histogram{query}")));
        same(query, fleet, whole);
    }
}

/// A log whose requests of an hour fail at one path, and are those of one client; and a few others
/// of that hour fail otherwise.
fn outage(lines: u64, count: usize) -> Vec<String> {
    let mut random = Rng::new(31);
    let mut parts = vec![String::new(); count];
    for line in 0..lines {
        let second = line * 80_000 / lines;
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        let fails = hour == 9 && random.below(3) == 0;
        let client = if fails { "192.0.2.9".to_owned() } else { format!("198.51.{}.{}", random.below(20), random.below(256)) };
        let path = if fails { "/pay".to_owned() } else { format!("/{}", skewed(&mut random, 60)) };
        let others = if hour == 9 && random.below(40) == 0 { 504 } else { *one_of(&mut random, &[200, 200, 304, 404]) };
        let status = if fails { 502 } else { others };
        writeln!(
            parts[random.below(count)],
            "{client} - - [02/Jan/2025:{hour:02}:{minute:02}:{second:02} +0000] \"GET {path} HTTP/1.1\" {status} 5 \"-\" \"{}\"",
            AGENTS[0]
        )
        .expect("memory");
    }
    parts
}

#[test]
fn explanations_are_of_the_rows_of_all_peers() {
    let mut servers = FleetAndWhole::new(&outage(20_000, 3));
    let hour = hour_of_outage();
    for body in [
        json!({"select": hour}),
        json!({"select": hour, "where": "status != 404", "limit": 2}),
        json!({"select": {"where": "status = 502"}, "except": ["status"]}),
        json!({"select": {"where": "status = 502"}, "from": 1_735_808_400, "to": 1_735_812_000, "except": ["status", "client", "net"]}),
    ] {
        let [fleet, whole] = servers.both("explain", &body);
        assert_eq!(fleet["fleet"]["complete"], true, "{body}: {fleet}");
        for member in ["inside", "outside", "statistic", "least", "unknown"] {
            assert_eq!(fleet[member], whole[member], "{body}: {member}");
        }
        // The order depends on how rows vary over time, which is cut otherwise.
        let (first, wanted) = (&rows(&fleet)[0], &rows(&whole)[0]["where"]);
        let together = first["companions"].as_array().expect("companions");
        assert!(first["where"] == *wanted || together.contains(wanted), "{body}: {first} {wanted}");
        for finding in rows(&fleet) {
            let lines = |select: &Value| {
                let conditions = [finding, select, &body].map(|of| of["where"].as_str().unwrap_or_default());
                let conditions: Vec<String> =
                    conditions.iter().filter(|text| !text.is_empty()).map(|text| format!("({text})")).collect();
                let of = |name: &str| if select[name].is_null() { body[name].clone() } else { select[name].clone() };
                let asked = json!({"where": conditions.join(" and "), "from": of("from"), "to": of("to"), "top": 0});
                servers.both("view", &asked)[1]["lines"]["matching"].as_u64().unwrap_or_else(|| panic!("{asked}"))
            };
            let (inside, all) = (lines(&body["select"]), lines(&json!({})));
            let told = (finding["inside"].as_u64(), finding["outside"].as_u64());
            assert_eq!(told, (Some(inside), Some(all - inside)), "{body}: {finding}");
        }
        assert!(rows(&fleet).len() as u64 <= body["limit"].as_u64().unwrap_or(20), "{body}");
    }
    // One that is missing is in no number, and named.
    let before = servers.fleet("explain", &json!({"select": hour}));
    drop(servers.peers.remove(1));
    let after = servers.fleet("explain", &json!({"select": hour}));
    assert_eq!((&after["exact"], &after["fleet"]["complete"]), (&json!(false), &json!(false)));
    let all =
        |answer: &Value| answer["inside"].as_u64().zip(answer["outside"].as_u64()).map(|(inside, outside)| inside + outside);
    assert_eq!(all(&before).zip(all(&after)).map(|(before, after)| before - after), after["fleet"]["rows_missing"].as_u64());
}

#[test]
fn parts_of_explanations_that_lie_are_those_of_a_missing_peer() {
    let [honest, lying] = [0, 1].map(|_| Running::of(config(Duration::from_secs(60))));
    let parts = outage(20_000, 2);
    upload(&honest.url, &parts[0]);
    upload(&lying.url, &parts[1]);
    fn step(question: &[u8], name: &str) -> bool {
        let wanted = format!("\"step\":{{\"{name}\"");
        asks(question, "explain") && question.windows(wanted.len()).any(|part| part == wanted.as_bytes())
    }
    let steps: [(&str, Change); 5] = [
        ("values", |question, answer| if step(question, "values") { b"{}".to_vec() } else { answer }),
        ("hits", |question, answer| if step(question, "hits") { b"x".to_vec() } else { answer }),
        ("pairs", |question, answer| if step(question, "pairs") { vec![9; answer.len()] } else { answer }),
        ("cells", |question, answer| if step(question, "cells") { vec![0xff; 9] } else { answer }),
        ("visits", |question, answer| if step(question, "visits") { Vec::new() } else { answer }),
    ];
    let inside = parts[0].lines().filter(|line| line.contains("[02/Jan/2025:09:")).count();
    for (name, change) in steps {
        let (fleet, id) = shows(fleet_of(&[honest.url.clone(), changed(&lying.url, change)]));
        let found = answer(&fleet.url, &format!("POST /api/sessions/{id}/explain\n{}", json!({"select": hour_of_outage()})));
        assert_eq!(found["fleet"]["complete"], false, "{name}: {found}");
        let error = found["fleet"]["peers"][1]["error"].as_str().unwrap_or_else(|| panic!("{name}: {found}"));
        assert!(error.contains("not part of a view"), "{name}: {error}");
        assert_eq!((&found["inside"], &found["exact"]), (&json!(inside), &json!(false)), "{name}");
        assert!(found.to_string().contains("path = /pay"), "{name}: {found}");
    }
}

fn hour_of_outage() -> Value {
    json!({"from": 1_735_808_400, "to": 1_735_812_000})
}

#[test]
fn columns_that_only_some_peers_have_are_absent_at_the_others() {
    let line = |n: u64, own: &str| {
        let second = format!("{:02}:{:02}", n / 60 % 60, n % 60);
        format!(
            "{{\"time\":\"2025-01-02T00:{second}Z\",\"remote_addr\":\"192.0.2.{}\",\"request\":\"GET /{} HTTP/1.1\",\"status\":{},\
             \"body_bytes_sent\":{},{own}}}\n",
            n % 9,
            n % 5,
            [200, 404, 500][n as usize % 3],
            n * 7
        )
    };
    let tenant = |n: u64| format!("\"tenant\":\"t{}\",\"upstream_connect_time\":\"0.0{}\"", n % 4, n % 8);
    let zone = |n: u64| format!("\"upstream_connect_time\":\"0.{}\",\"zone\":\"z{}\"", n % 10, n % 3);
    let parts = [(0..700).map(|n| line(n, &tenant(n))).collect(), (700..1_500).map(|n| line(n, &zone(n))).collect::<String>()];
    let servers = FleetAndWhole::new(&parts);
    let by_field = |view: &Value, list: &str| {
        let mut all = view[list].as_array().unwrap_or_else(|| panic!("{view}")).clone();
        all.sort_by_key(|one| one["field"].as_str().map(str::to_owned));
        all
    };
    for filter in [
        "",
        "tenant = t1",
        "tenant != t1",
        "not (zone = z2)",
        "tenant exists or zone = z0",
        "zone ~ \"z\" and status = 200",
        "upstream_connect_time >= 0.05",
        "tenant = t1 and upstream_connect_time < 0.03",
        "any contains \"z1\"",
    ] {
        for stack in ["class", "tenant", "zone"] {
            let [fleet, whole] = servers.both("view", &json!({"where": filter, "stack": stack, "facets": true}));
            assert_eq!(fleet["fleet"]["complete"], true, "{fleet}");
            for member in ["lines", "histogram", "week", "bytes_sent", "percentiles", "exact"] {
                assert_eq!(fleet[member], whole[member], "{filter} {stack} {member}");
            }
            for list in ["panels", "facets", "numbers", "number_facets"] {
                assert_eq!(by_field(&fleet, list), by_field(&whole, list), "{filter} {list}");
            }
        }
    }
    let columns = answer(&servers.fleet.url, &format!("GET /api/sessions/{}/columns", servers.fleet_id));
    let mut names: Vec<&str> =
        columns["columns"].as_array().expect("columns").iter().filter_map(|own| own["name"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["tenant", "upstream_connect_time", "zone"]);
    for (text, typed, hits) in [("t1", false, 175), ("zone = z2 and not (tenant exists)", true, 267)] {
        let suggested = servers.fleet("suggest", &json!({"text": text}));
        let first = &rows(&suggested)[0];
        let told = (&first["typed"], &first["hits"], &first["exact"]);
        assert_eq!(told, (&json!(typed), &json!(hits), &json!(true)), "{suggested}");
    }
    let sorted = servers.fleet("rows", &json!({"sort": {"field": "tenant"}}));
    assert_eq!(sorted["error"]["code"], "bad_request", "{sorted}");
    let mut servers = servers;
    drop(servers.peers.remove(0));
    let said = servers.fleet("view", &json!({"where": "tenant = t1"}));
    assert_eq!(said["error"]["code"], "bad_filter", "{said}");
    assert!(said["error"]["message"].as_str().is_some_and(|message| message.contains("is missing (it had ")), "{said}");
}

#[test]
fn typed_texts_are_suggestions_with_the_rows_of_all_peers() {
    let servers = FleetAndWhole::new(&parts(9_000, 3, 8));
    for text in [
        "404",
        "5xx",
        "/a/1",
        "curl",
        "198.51.0",
        "status >= 500",
        "\"/b/2\" 503",
        "example.org",
        "2025-01-02 10:00",
        "stat = 404",
        "POST 503",
        "path ~ \"^/static\" or errors",
    ] {
        for within in [json!({}), json!({"where": "bytes >= 300", "from": 1_735_790_000, "to": 1_735_850_000})] {
            let mut body = within.clone();
            (body["text"], body["limit"]) = (json!(text), json!(20));
            let [fleet, whole] = servers.both("suggest", &body);
            assert_eq!((&fleet["complete"], &fleet["fleet"]["complete"]), (&json!(true), &json!(true)), "{text}: {fleet}");
            assert_eq!(fleet["error"], whole["error"], "{text}");
            let first = |answer: &Value| rows(answer).first().map(|row| (row["where"].clone(), row["from"].clone()));
            assert_eq!(first(&fleet), first(&whole), "{text}: {fleet}\n{whole}");
            for row in rows(&fleet) {
                let mut view = within.clone();
                if row["from"].is_number() {
                    (view["from"], view["to"]) = (row["from"].clone(), row["to"].clone());
                }
                let filters = [&within["where"], &row["where"]].map(|filter| filter.as_str().unwrap_or_default());
                let filters: Vec<String> = filters.iter().filter(|one| !one.is_empty()).map(|one| format!("({one})")).collect();
                view["where"] = json!(filters.join(" and "));
                let [_, counted] = servers.both("view", &view);
                assert_eq!(row["hits"], counted["lines"]["matching"], "{text}: {row}");
                assert_eq!(row["exact"], true, "{text}: {row}");
            }
        }
    }
    let [fleet, whole] = servers.both("suggest", &json!({"text": "status >"}));
    assert_eq!(fleet["error"], whole["error"]);
    assert!(fleet["error"]["message"].is_string(), "{fleet}");
    let long = servers.fleet("suggest", &json!({"text": "x".repeat(17 << 10)}));
    assert_eq!(long["error"]["code"], "bad_request", "{long}");
    // Filters that have no room beside each other are left out, and no peer is missing for it.
    for text in ["\\".repeat(16 << 10), format!("{} 404", "\u{1}".repeat(5_000))] {
        let escaped = servers.fleet("suggest", &json!({"text": text}));
        assert_eq!((&escaped["complete"], &escaped["fleet"]["complete"]), (&json!(false), &json!(true)), "{escaped}");
    }
    let nowhere = servers.fleet("suggest", &json!({"text": "/nowhere/at/all"}));
    assert!((1..=2).contains(&rows(&nowhere).len()) && rows(&nowhere).iter().all(|row| row["hits"] == 0), "{nowhere}");
    let mut servers = servers;
    drop(servers.peers.remove(0));
    let partial = servers.fleet("suggest", &json!({"text": "404"}));
    assert_eq!((&partial["complete"], &partial["rows"][0]["exact"]), (&json!(false), &json!(false)), "{partial}");
}

/// A line of JSON with a column of its own.
fn own_line(n: u64, own: &str) -> String {
    let clock = format!("{:02}:{:02}", n / 60 % 60, n % 60);
    format!(
        "{{\"time\":\"2025-01-02T00:{clock}Z\",\"remote_addr\":\"192.0.2.{}\",\"request\":\"GET /{} HTTP/1.1\",\
         \"status\":200,\"body_bytes_sent\":{n},{own}}}\n",
        n % 9,
        n % 5
    )
}

#[test]
fn values_that_are_longer_than_a_part_has_room_for_are_named_all_the_same() {
    let long = |n: u64| format!("\"note\":\"{:04}{}\"", n * 7 % 900, "x".repeat(1_500));
    let part = |from: u64| (from..from + 1_200).map(|n| own_line(n, &long(n))).collect::<String>();
    let servers = FleetAndWhole::new(&[part(0), part(500)]);
    for (offset, limit) in [(0, 5), (0, 60), (850, 60)] {
        let [fleet, whole] = servers.both("panel", &json!({"field": "note", "offset": offset, "limit": limit}));
        assert_eq!(fleet["fleet"]["complete"], true, "{}", fleet["fleet"]);
        same(&format!("{offset} {limit}"), fleet, whole);
    }
    let [fleet, whole] = servers.both("view", &json!({"stack": "note"}));
    assert_eq!(fleet["fleet"]["complete"], true, "{}", fleet["fleet"]);
    assert_eq!(fleet["histogram"], whole["histogram"]);
}

#[test]
fn series_of_values_that_no_question_has_room_for_are_those_of_one_server() {
    let note = |n: u64| format!("\"note\":\"{}{}\"", "x".repeat(20_000), n * n % 13);
    let part = |from: u64| (from..from + 300).map(|n| own_line(n, &note(n))).collect::<String>();
    let servers = FleetAndWhole::new(&[part(0), part(400)]);
    let [fleet, whole] = servers.both("view", &json!({"stack": "note", "buckets": 7}));
    assert_eq!(fleet["fleet"]["complete"], true, "{}", fleet["fleet"]);
    assert_eq!(fleet["histogram"], whole["histogram"]);
}

#[test]
fn an_order_by_long_texts_has_its_last_rows_as_well() {
    let line = |n: u64| {
        format!(
            "192.0.2.1 - - [02/Jan/2025:01:02:03 +0000] \"GET /{:05}/{} HTTP/1.1\" 200 1 \"-\" \"-\"\n",
            n * 7_919 % 12_000,
            "p".repeat(60)
        )
    };
    let servers = FleetAndWhole::new(&[(0..11_800).map(line).collect(), (11_800..12_000).map(line).collect()]);
    for descending in [false, true] {
        let body = json!({"sort": {"field": "path", "descending": descending}, "offset": 9_900, "limit": 100});
        let [fleet, whole] = servers.both("rows", &body);
        let lines = |page: &Value| -> Vec<Value> { rows(page).iter().map(|row| row["line"].clone()).collect() };
        assert_eq!((lines(&fleet).len(), lines(&fleet)), (100, lines(&whole)));
    }
}

#[test]
fn a_filter_that_is_too_large_is_refused_and_no_peer_is_missing_for_it() {
    let servers = FleetAndWhole::new(&parts(300, 2, 5));
    let patterns = |count: usize| vec!["path ~ \"^/a\""; count].join(" and ");
    let refused = servers.fleet("view", &json!({"where": patterns(8)}));
    assert_eq!(refused["error"]["code"], "filter_too_large", "{refused}");
    // The peers have less room than this server.
    let refused = servers.fleet("view", &json!({"where": patterns(6)}));
    let said = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(said.contains("has too little memory for this filter"), "{refused}");
    let view = servers.fleet("view", &json!({}));
    assert_eq!(view["fleet"]["complete"], true, "{view}");
}

#[test]
fn a_comparison_of_logs_that_grow_is_not_exact() {
    let peer = Running::of(config(Duration::from_secs(60)));
    let log = parts(400, 1, 4).concat();
    let wanted = json!({"name": "access.log", "size": log.len() * 2});
    let session = answer(&peer.url, &format!("POST /api/sessions\n{wanted}"));
    let id = session["id"].as_str().unwrap_or_else(|| panic!("{session}"));
    answer(&peer.url, &format!("PUT /api/sessions/{id}/data?offset=0\n{log}"));
    let (fleet, fleet_id) = shows(fleet_of(std::slice::from_ref(&peer.url)));
    let body = json!({"a": {"where": "status = 200"}, "b": {}});
    let compared = answer(&fleet.url, &format!("POST /api/sessions/{fleet_id}/compare\n{body}"));
    assert_eq!((&compared["fleet"]["complete"], &compared["exact"]), (&json!(true), &json!(false)), "{compared}");
}

#[test]
fn a_histogram_without_rows_tells_the_peers_that_are_missing() {
    let peer = Running::of(config(Duration::from_secs(60)));
    upload(&peer.url, "");
    let missing = foreign(None, Duration::ZERO);
    let settings = FleetSettings { probe_time: Duration::from_secs(2), ..fleet_of(&[peer.url.clone(), missing]) };
    let (fleet, id) = shows(settings);
    let histogram = answer(&fleet.url, &format!("GET /api/sessions/{id}/histogram"));
    assert_eq!(histogram["fleet"]["complete"], false, "{histogram}");
    let said = answer(&fleet.url, &format!("DELETE /api/sessions/{id}"));
    assert!(said["error"]["message"].as_str().is_some_and(|message| message.contains("can't be deleted")), "{said}");
}

#[test]
fn columns_whose_names_differ_in_case_are_not_mixed_up() {
    let part = |name: &str, from: u64| {
        let own = |n: u64| format!("\"{name}\":\"{name} {}\"", n % 3);
        (from..from + 90).map(|n| own_line(n, &own(n))).collect::<String>()
    };
    let servers = FleetAndWhole::new(&[part("Shard", 0), part("shard", 90)]);
    for name in ["Shard", "shard"] {
        let [fleet, _] = servers.both("panel", &json!({"field": name}));
        assert_eq!(fleet["fleet"]["complete"], true, "{fleet}");
        assert_eq!(fleet["field"], name);
        let hits: Vec<&Value> = rows(&fleet).iter().map(|row| &row["hits"]).collect();
        assert_eq!(hits, [30, 30, 30], "{fleet}");
        assert!(rows(&fleet).iter().all(|row| row["value"].as_str().is_some_and(|value| value.starts_with(name))), "{fleet}");
    }
}

/// A filter of about so many bytes, in which each character takes two as JSON.
fn long_list(bytes: usize) -> String {
    format!("path = \"{}\"", "\\\"".repeat(bytes / 2))
}

#[test]
fn a_wrong_question_and_one_that_peers_can_not_answer_are_refused() {
    let servers = FleetAndWhole::new(&parts(300, 2, 5));
    for (verb, body, code) in [
        ("view", json!({"where": "status >"}), "bad_filter"),
        ("view", json!({"where": "nothing = 1"}), "bad_filter"),
        ("view", json!({"stack": "nothing"}), "bad_request"),
        ("panel", json!({"field": "nothing"}), "bad_request"),
        ("panel", json!({"field": "url"}), "bad_request"),
        ("panel", json!({"field": "path", "offset": 1_000}), "bad_request"),
        ("explain", json!({"select": {"where": "nothing = 1"}}), "bad_filter"),
        ("explain", json!({"select": {}, "except": ["nothing"]}), "bad_request"),
        ("explain", json!({"select": {"where": long_list(30_000)}, "where": long_list(30_000)}), "filter_too_large"),
        ("timeseries", json!({}), "fleet_cannot"),
        ("findings", json!({}), "fleet_cannot"),
        ("part", json!({}), "fleet_cannot"),
    ] {
        let said = servers.fleet(verb, &body);
        assert_eq!(said["error"]["code"], code, "{verb} {:.200}: {:.500}", body.to_string(), said.to_string());
    }
    let wrong = servers.both("view", &json!({"where": "status > 1 and nothing = 1"}));
    assert_eq!(wrong[0], wrong[1]);
}

#[test]
fn a_peer_that_was_killed_is_named_within_two_seconds_and_the_numbers_are_marked() {
    let mut servers = FleetAndWhole::new(&parts(4_000, 3, 2));
    let before = servers.fleet("view", &json!({}));
    let killed = servers.peers.remove(1);
    let name = origin(&killed.url).trim_start_matches("http://").to_owned();
    drop(killed);
    let begun = Instant::now();
    let after = servers.fleet("view", &json!({}));
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!((&after["complete"], &after["exact"], &after["kept"]["all"]), (&json!(false), &json!(false), &json!(false)));
    let missing = &after["fleet"]["peers"][1];
    assert_eq!(missing["name"], name.as_str());
    assert!(missing["error"].as_str().is_some_and(|error| error.contains("cannot be reached")), "{missing}");
    let rows = |view: &Value| view["kept"]["rows"].as_u64().expect("rows");
    assert_eq!(missing["rows"].as_u64(), Some(rows(&before) - rows(&after)), "its rows are in no number");
    let share = (rows(&before) - rows(&after)) as f64 / rows(&before) as f64;
    assert!((missing["share"].as_f64().expect("a share") - share).abs() < 1e-9);
    let reason = after["kept"]["reason"].as_str().expect("a reason");
    let percent = (share * 100.0).floor();
    let told = format!("is missing (it had {percent} % of all rows): cannot be reached");
    assert!(reason.starts_with(&format!("{name} {told}")), "{reason}");
    assert!(after["panels"].as_array().expect("panels").iter().all(|panel| panel["exact"] == false));
    // The session tells it as well, and by itself.
    let live = answer(&servers.fleet.url, &format!("GET /api/sessions/{}", servers.fleet_id));
    assert_eq!(live["session"]["fleet"]["complete"], false);
    assert_eq!(live["report"]["complete"], false);
    assert!(live["report"]["sources"][1]["error"].as_str().is_some_and(|error| error.starts_with(&told)), "{live}");
    drop(servers.peers.drain(..));
    let none = servers.fleet("view", &json!({}));
    assert_eq!(none["error"]["code"], "no_peer", "{none}");
}

/// A server that answers each request with these bytes, after so long; without any it never does.
fn foreign(answer: Option<Vec<u8>>, after: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/?token={}", listener.local_addr().expect("an address"), "0".repeat(32));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (Ok(mut stream), answer) = (stream, answer.clone()) else { return };
            std::thread::spawn(move || {
                let mut head = [0; 4 << 10];
                let _ = stream.read(&mut head);
                std::thread::sleep(after);
                match answer {
                    Some(answer) => drop(stream.write_all(&answer)),
                    None => std::thread::sleep(Duration::from_secs(60)),
                }
            });
        }
    });
    url
}

fn json_answer(body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

#[test]
fn a_wrong_token_a_silence_and_foreign_answers_are_named_and_nothing_else_breaks() {
    let peer = Running::of(config(Duration::from_secs(60)));
    upload(&peer.url, &parts(500, 1, 3).concat());
    let wrong = format!("{}/?token={}", origin(&Running::of(config(Duration::from_secs(60))).url), "1".repeat(32));
    let refusing = Running::of(config(Duration::from_secs(60)));
    let refused = format!("{}/?token={}", origin(&refusing.url), "1".repeat(32));
    let empty = Running::of(config(Duration::from_secs(60)));
    let version = format!("{{\"version\":\"{}\",\"sessions\":[{{\"id\":\"abc\"}}]}}", env!("CARGO_PKG_VERSION"));
    let huge = format!("HTTP/1.1 200 OK\r\nContent-Length: 4000000000\r\n\r\n{}", " ".repeat(2 << 20)).into_bytes();
    let moved = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec();
    let foreign_peers = [
        (wrong, "cannot be reached"),
        (refused, "refuses the token"),
        (empty.url.clone(), "has no log"),
        (foreign(None, Duration::ZERO), "no answer within 3 s"),
        (foreign(Some(huge), Duration::ZERO), "answers more than"),
        (foreign(Some(json_answer("{\"version\":\"9.9.9\"}")), Duration::ZERO), "another version (9.9.9"),
        (foreign(Some(json_answer("[[[[")), Duration::ZERO), "not part of a view"),
        (foreign(Some(json_answer(&version)), Duration::ZERO), "not part of a view"),
        (foreign(Some(b"\0\x01\x02 nothing of HTTP\r\n\r\n".to_vec()), Duration::ZERO), "broke off"),
        (foreign(Some(moved), Duration::ZERO), "status 302"),
    ];
    let urls: Vec<String> = [peer.url.clone()].into_iter().chain(foreign_peers.iter().map(|(url, _)| url.clone())).collect();
    let settings = FleetSettings { probe_time: Duration::from_secs(3), ..fleet_of(&urls) };
    let (fleet, id) = shows(settings);
    let view = answer(&fleet.url, &format!("POST /api/sessions/{id}/view\n{{}}"));
    assert_eq!(view["kept"]["rows"], 500, "{view}");
    let named = view["fleet"]["peers"].as_array().expect("peers");
    assert_eq!(named[0]["error"], Value::Null);
    for ((_, said), peer) in foreign_peers.iter().zip(&named[1..]) {
        let error = peer["error"].as_str().unwrap_or_else(|| panic!("{said}: {peer}"));
        assert!(error.contains(said) && !error.contains("111111"), "{said}: {error}");
    }
    assert!(!view.to_string().contains("token="));
}

/// Change of an answer, by its question.
type Change = fn(&[u8], Vec<u8>) -> Vec<u8>;

/// The address of something that changes each answer of a peer, as it says of the question.
fn changed(peer_url: &str, change: Change) -> String {
    let (_, token) = peer_url.trim_start_matches("http://").split_once('/').expect("an address");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/{token}", listener.local_addr().expect("an address"));
    let peer_url = peer_url.to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (Ok(mut stream), peer_url) = (stream, peer_url.clone()) else { return };
            std::thread::spawn(move || {
                while let Some((line, body)) = request(&mut stream) {
                    let (_, answer) = exchange(&peer_url, line.trim_end_matches(" HTTP/1.1"), "", &body);
                    let answer = change(&body, answer);
                    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", answer.len());
                    if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&answer)).is_err() {
                        return;
                    }
                }
            });
        }
    });
    url
}

/// True if a question asks for a part of this name.
fn asks(question: &[u8], part: &str) -> bool {
    let wanted = format!("\"ask\":{{\"{part}\"");
    question.windows(wanted.len()).any(|text| text == wanted.as_bytes())
}

#[test]
fn suggestions_that_lie_are_those_of_a_missing_peer() {
    let [honest, lying] = [0, 1].map(|_| Running::of(config(Duration::from_secs(60))));
    let line = |n: u64, path: &str| {
        format!("192.0.2.1 - - [02/Jan/2025:00:00:{n:02} +0000] \"GET {path} HTTP/1.1\" 200 5 \"-\" \"curl/8.5.0\"\n")
    };
    upload(&honest.url, &(0..50).map(|n| line(n, "/only/here")).collect::<String>());
    upload(&lying.url, &(0..30).map(|n| line(n, "/other")).collect::<String>());
    let all_rows: Change = |question, answer| {
        let row = "{\"label\":\"x\",\"where\":\"status = 200\",\"from\":null,\"to\":null,\"hits\":9000000000000000,\"exact\":true,\"meant\":null,\"typed\":true}";
        if asks(question, "suggest") { format!("{{\"rows\":[{row}],\"complete\":true}}").into_bytes() } else { answer }
    };
    let no_count: fn(&[u8], Vec<u8>) -> Vec<u8> =
        |question, answer| if asks(question, "hits") { b"{\"hits\":[],\"complete\":true}".to_vec() } else { answer };
    let wild_count: Change = |question, answer| {
        if !asks(question, "hits") {
            return answer;
        }
        let mut part: Value = serde_json::from_slice(&answer).expect("a part");
        part["hits"].as_array_mut().expect("hits").iter_mut().for_each(|hits| *hits = json!([9_000_000_000_000_000_u64, true]));
        part.to_string().into_bytes()
    };
    for (what, change) in [("all rows", all_rows), ("no count", no_count), ("a wild count", wild_count)] {
        let (fleet, id) = shows(fleet_of(&[honest.url.clone(), changed(&lying.url, change)]));
        let found = answer(&fleet.url, &format!("POST /api/sessions/{id}/suggest\n{{\"text\":\"/only/here\"}}"));
        let first = &rows(&found)[0];
        assert_eq!((&first["hits"], &first["exact"]), (&json!(50), &json!(false)), "{what}: {found}");
        assert_eq!((&found["complete"], &found["fleet"]["complete"]), (&json!(false), &json!(false)), "{what}");
        let error = found["fleet"]["peers"][1]["error"].as_str().unwrap_or_else(|| panic!("{what}: {found}"));
        assert!(error.contains("not part of a view"), "{what}: {error}");
    }
    // Texts that are no filters by the columns of all, and a label of control characters.
    let nonsense: Change = |question, answer| {
        let row = |filter: &str| json!({"label": "\u{1b}[2J", "where": filter, "from": null, "to": null, "hits": 3, "exact": true, "meant": null, "typed": true});
        let rows = [row("nothing = 1"), row("status >"), row(&"x".repeat(100_000)), row("status = 200")];
        if asks(question, "suggest") { json!({"rows": rows, "complete": true}).to_string().into_bytes() } else { answer }
    };
    let (fleet, id) = shows(fleet_of(&[honest.url.clone(), changed(&lying.url, nonsense)]));
    let found = answer(&fleet.url, &format!("POST /api/sessions/{id}/suggest\n{{\"text\":\"/only/here\"}}"));
    assert_eq!((&found["fleet"]["complete"], &found["complete"]), (&json!(true), &json!(false)), "{found}");
    let filters: Vec<&str> = rows(&found).iter().filter_map(|row| row["where"].as_str()).collect();
    assert!(
        filters.contains(&"status = 200") && !filters.iter().any(|filter| ["nothing = 1", "status >"].contains(filter)),
        "{found}"
    );
    assert!(rows(&found).iter().all(|row| row["typed"] == false), "{found}");
    assert!(!found.to_string().contains("\\u001b"), "{found}");
}

#[test]
fn a_slow_peer_is_waited_for() {
    let peer = Running::of(config(Duration::from_secs(60)));
    upload(&peer.url, &parts(400, 1, 4).concat());
    let (fleet, id) = shows(fleet_of(&[changed(&peer.url, |_, answer| {
        std::thread::sleep(Duration::from_millis(150));
        answer
    })]));
    let view = answer(&fleet.url, &format!("POST /api/sessions/{id}/view\n{{}}"));
    assert_eq!((&view["kept"]["rows"], &view["fleet"]["complete"]), (&json!(400), &json!(true)), "{view}");
}

#[test]
fn many_questions_that_wait_for_a_peer_block_no_other_answer_and_have_a_deadline() {
    let peer = Running::of(config(Duration::from_secs(60)));
    upload(&peer.url, &parts(400, 1, 4).concat());
    let hangs = |question: &[u8], answer: Vec<u8>| {
        std::thread::sleep(Duration::from_secs(if asks(question, "sums") { 60 } else { 0 }));
        answer
    };
    let settings = FleetSettings { question_time: Duration::from_secs(4), ..fleet_of(&[changed(&peer.url, hangs)]) };
    let mut config = config(Duration::from_secs(60));
    (config.settings.memory_bytes, config.connections_max) = (512 << 20, 80);
    let fleet = Running::of(Config { fleet: Some(settings), ..config });
    let listed = answer(&fleet.url, "GET /api/sessions");
    let id = listed["sessions"][0]["id"].as_str().unwrap_or_else(|| panic!("{listed}"));
    let own = upload(&fleet.url, &parts(300, 1, 6).concat());
    // More than there are tickets.
    let waiting: Vec<_> = (0..40).map(|_| send(&fleet.url, &format!("POST /api/sessions/{id}/view\n{{}}"), "")).collect();
    std::thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    let view = answer(&fleet.url, &format!("POST /api/sessions/{own}/view\n{{}}"));
    assert_eq!(view["kept"]["rows"], 300, "{view}");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    let mut late = String::new();
    waiting.into_iter().next().expect("one").read_to_string(&mut late).expect("an answer");
    assert!(late.starts_with("HTTP/1.1 504") && late.contains("peers_too_slow"), "{late}");
}

/// Reads one request: its first line, and its body.
fn request(stream: &mut std::net::TcpStream) -> Option<(String, Vec<u8>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?;
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned));
    let mut body = vec![0; length.and_then(|length| length.parse().ok()).unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    Some((head.lines().next()?.to_owned(), body))
}
