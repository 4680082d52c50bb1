//! `/metrics`, read by the rules of the exposition format, against counts that are known; and the
//! dashboard that is made for them.

use crate::client::Server;
use crate::common::{eventually, log};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Labels in the order of their names.
type Labels = BTreeMap<String, String>;

#[derive(Debug, Default)]
struct Exposition {
    /// Type by family.
    types: BTreeMap<String, String>,
    helped: BTreeSet<String>,
    samples: BTreeMap<(String, Labels), f64>,
}

impl Exposition {
    /// By the rules of <https://prometheus.io/docs/instrumenting/exposition_formats/>, version
    /// 0.0.4.
    fn parse(text: &str) -> Self {
        let mut found = Self::default();
        assert!(text.ends_with('\n'), "the last line has to end");
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').expect("a help");
                assert!(!help.is_empty() && found.helped.insert(name.to_owned()), "{line}");
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect("a type");
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert!(found.types.insert(name.to_owned(), kind.to_owned()).is_none(), "twice: {line}");
            } else {
                let (name, labels, value) = sample(line);
                let family = found.family(&name).unwrap_or_else(|| panic!("no type before {line}")).to_owned();
                assert!(found.helped.contains(&family), "no help for {family}");
                assert!(found.samples.insert((name, labels), value).is_none(), "twice: {line}");
            }
        }
        found.check_histograms();
        found
    }

    fn family<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        let of_histogram = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
        let histogram = of_histogram.filter(|family| self.types.get(*family).is_some_and(|kind| kind == "histogram"));
        histogram.or_else(|| self.types.contains_key(name).then_some(name))
    }

    /// Buckets rise to `+Inf`, which is the count.
    fn check_histograms(&self) {
        let mut buckets: BTreeMap<(String, Labels), Vec<(f64, f64)>> = BTreeMap::new();
        for ((name, labels), value) in &self.samples {
            let Some(family) = name.strip_suffix("_bucket") else { continue };
            let mut labels = labels.clone();
            let edge: f64 = labels.remove("le").expect("an edge").parse().expect("a number");
            buckets.entry((family.to_owned(), labels)).or_default().push((edge, *value));
        }
        for ((family, labels), mut edges) in buckets {
            edges.sort_by(|a, b| a.0.total_cmp(&b.0));
            assert!(edges.is_sorted_by(|a, b| a.1 <= b.1), "{family} {edges:?}");
            let last = edges.last().expect("one");
            assert!(last.0.is_infinite());
            assert_eq!(Some(&last.1), self.samples.get(&(format!("{family}_count"), labels)), "{family}");
        }
    }

    fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.samples.get(&(name.to_owned(), labels)).copied()
    }

    fn names(&self) -> BTreeSet<&str> {
        self.samples.keys().map(|(name, _)| name.as_str()).collect()
    }
}

fn sample(line: &str) -> (String, Labels, f64) {
    let (series, value) = line.rsplit_once(' ').expect("a value");
    let (name, labels) = match series.split_once('{') {
        Some((name, labels)) => (name, parse_labels(labels.strip_suffix('}').expect("an end of labels"))),
        None => (series, Labels::new()),
    };
    let plain = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == ':';
    assert!(!name.is_empty() && name.chars().all(plain) && !name.starts_with(|char: char| char.is_ascii_digit()), "{line}");
    (name.to_owned(), labels, value.parse().unwrap_or_else(|_| panic!("no number: {line}")))
}

/// None of our labels has a quote or a comma in it.
fn parse_labels(text: &str) -> Labels {
    let label = |pair: &str| {
        let (name, value) = pair.split_once('=').expect("a label");
        let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).expect("a quoted value");
        assert!(!value.contains(['"', '\\', '\n']), "{pair}");
        (name.to_owned(), value.to_owned())
    };
    text.split(',').filter(|pair| !pair.is_empty()).map(label).collect()
}

fn scrape(server: &Server) -> Exposition {
    let answer = server.get("/metrics");
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("content-type: text/plain; version=0.0.4"), "{}", answer.head);
    Exposition::parse(&answer.body)
}

/// A server that has met about everything.
fn busy() -> (Server, usize) {
    let server = Server::start(&[]);
    let body = [log(1_000), b"this is no line of a log\n".to_vec()].concat();
    let id = server.session_of(body.len());
    assert_eq!(server.put(&id, 0, &body).status, 200);
    assert_eq!(server.request("POST", &format!("/api/sessions/{id}/view"), b"{}").status, 200);
    server.session_of(5);
    server.put(&id, 0, b"more").refused(409, "finished");
    for name in ["%1b[31m", "a", "b", "c"] {
        server.get(&format!("/api/sessions/{name}")).refused(404, "no_session");
        server.get(&format!("/{name}")).refused(404, "not_found");
    }
    server
        .raw(format!("BREW /api/server HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n", server.port).as_bytes())
        .refused(401, "no_token");
    server.raw(b"no HTTP at all\r\n\r\n");
    (server, body.len())
}

#[test]
fn what_is_exposed_is_what_was_done() {
    let (server, bytes) = busy();
    // A connection is counted as broken after its end.
    let broken = |found: &Exposition| found.value("rorqual_connections_broken_total", &[("why", "no_http")]) == Some(1.0);
    let found = eventually("the broken connection", || Some(scrape(&server)).filter(broken));
    let is =
        |name: &str, labels: &[(&str, &str)], value: f64| assert_eq!(found.value(name, labels), Some(value), "{name} {labels:?}");
    is("rorqual_received_bytes_total", &[], bytes as f64);
    is("rorqual_sessions_made_total", &[], 2.0);
    is("rorqual_lines_total", &[("outcome", "parsed")], 1_000.0);
    is("rorqual_lines_total", &[("outcome", "rejected")], 1.0);
    is("rorqual_sessions", &[("state", "finished")], 1.0);
    is("rorqual_sessions", &[("state", "waiting")], 1.0);
    is("rorqual_sessions", &[("state", "failed")], 0.0);
    is("rorqual_pool_lent_bytes", &[], 0.0);
    is("rorqual_parse_seconds_count", &[], 1.0);
    is("rorqual_view_seconds_count", &[], 1.0);
    is("rorqual_errors_total", &[("code", "finished")], 1.0);
    is("rorqual_errors_total", &[("code", "no_session")], 4.0);
    let requests = |method, route, status, count| {
        is("rorqual_http_requests_total", &[("method", method), ("route", route), ("status", status)], count);
    };
    requests("POST", "/api/sessions", "201", 2.0);
    requests("PUT", "/api/sessions/{id}/data", "200", 1.0);
    requests("PUT", "/api/sessions/{id}/data", "409", 1.0);
    // Whatever was asked for, there is one series for all unknown routes.
    requests("GET", "/api/sessions/{id}", "404", 4.0);
    requests("GET", "page", "404", 4.0);
    requests("other", "/api/server", "401", 1.0);
    let resident = found.value("process_resident_memory_bytes", &[]).expect("a size");
    let peak = found.value("rorqual_peak_bytes", &[]).expect("a size");
    assert!(resident > 1e6 && resident <= peak && peak <= server.running.peak_bytes() as f64, "{resident} {peak}");
    assert!(found.value("process_open_fds", &[]) > Some(5.0));
    // Counters only rise, and the second look is counted.
    let again = scrape(&server);
    assert_eq!(
        again.value("rorqual_http_requests_total", &[("method", "GET"), ("route", "/metrics"), ("status", "200")]),
        Some(1.0)
    );
    for ((name, labels), value) in found.samples.iter().filter(|((name, _), _)| name.ends_with("_total")) {
        assert!(again.samples[&(name.clone(), labels.clone())] >= *value, "{name}");
    }
    // The totals of a session are not forgotten with it.
    for session in server.get("/api/sessions").json()["sessions"].as_array().expect("sessions") {
        server.request("DELETE", &format!("/api/sessions/{}", session["id"].as_str().expect("an id")), b"");
    }
    let gone = scrape(&server);
    assert_eq!(gone.value("rorqual_received_bytes_total", &[]), Some(bytes as f64));
    assert_eq!(gone.value("rorqual_lines_total", &[("outcome", "parsed")]), Some(1_000.0));
    assert_eq!(gone.value("rorqual_sessions", &[("state", "finished")]), Some(0.0));
}

#[test]
fn metrics_and_vitals_need_the_token() {
    let server = Server::start(&[]);
    for target in ["/metrics", "/api/vitals", "/healthz", "/readyz"] {
        let head = format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n", server.port);
        server.raw(head.as_bytes()).refused(401, "no_token");
    }
    let vitals = server.get("/api/vitals").json();
    assert_eq!(
        vitals["sessions"],
        json!({"waiting": 0, "receiving": 0, "following": 0, "interrupted": 0, "finished": 0, "cancelled": 0, "failed": 0})
    );
    assert_eq!((&vitals["connections"]["known"], &vitals["connections"]["known_max"]), (&json!(1), &json!(32)));
    assert!(vitals["resident_bytes"].as_u64() > Some(1 << 20) && vitals["uptime_seconds"].as_f64() >= Some(0.0), "{vitals}");
}

#[test]
fn the_dashboard_asks_for_nothing_that_is_not_exposed() {
    let (server, _) = busy();
    let found = scrape(&server);
    let text = include_str!("../../../../docs/grafana.json");
    let dashboard: Value = serde_json::from_str(text).expect("JSON");
    let names = found.names();
    let mut asked = 0;
    let panels = dashboard["panels"].as_array().expect("panels");
    for expression in panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten()) {
        let expression = expression["expr"].as_str().expect("an expression");
        let words = expression.split(|char: char| !(char.is_ascii_alphanumeric() || char == '_'));
        for name in words.filter(|word| word.starts_with("rorqual_") || word.starts_with("process_")) {
            assert!(names.contains(name), "{name} of {expression} is not among {names:?}");
            asked += 1;
        }
    }
    assert!(asked >= 20, "{asked} names");
}
