//! Countries of clients: `--geoip`.

use crate::client::Server;
use crate::common::{TestFolder, hits_of, panel, rorqual};
use serde_json::json;
use std::collections::BTreeMap;

/// See the README beside it.
const DATABASE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/fixtures/country.mmdb");

/// Three lines from Germany, two from New Zealand, one from nowhere.
fn log() -> Vec<u8> {
    let clients = ["192.0.2.1", "198.51.100.9", "192.0.2.2", "8.8.8.8", "192.0.2.1", "198.51.100.7"];
    let line = |client: &str| format!("{client} - - [02/Jan/2025:00:00:00 +0000] \"GET / HTTP/1.1\" 200 10 \"-\" \"a\"\n");
    clients.map(line).concat().into_bytes()
}

#[test]
fn the_report_has_them_and_filters_ask_for_them() {
    let folder = TestFolder::new();
    let file = folder.file("access.log", log());
    let report = |filter: &str| rorqual(&["logs", "--json", "--geoip", DATABASE, "--where", filter, &file]).run().exits(0).json();
    let expected =
        |pairs: &[(&str, u64)]| pairs.iter().map(|(country, hits)| ((*country).to_owned(), *hits)).collect::<BTreeMap<_, _>>();
    let all = report("");
    assert_eq!(hits_of(&panel(&all, "country")["rows"]), expected(&[("DE", 3), ("NZ", 2)]));
    assert_eq!(panel(&all, "country")["hits"], 5);
    assert_eq!(hits_of(&panel(&report("country = DE and client = 192.0.2.1"), "country")["rows"]), expected(&[("DE", 2)]));
    assert_eq!(report("country = -")["lines"]["parsed"], 1);
    let refused = rorqual(&["logs", "--where", "country = DE", &file]).run().exits(2);
    refused.says(&["--where", "--geoip"]);
    rorqual(&["logs", "--geoip", &file, &file]).run().exits(2).says(&["access.log", "--geoip", ".mmdb"]);
}

#[test]
fn the_explorer_has_them() {
    let server = Server::start(&["--geoip", DATABASE]);
    let body = log();
    let id = server.session_of(body.len());
    assert_eq!(server.put(&id, 0, &body).status, 200);
    let ask = |what: &str, question: serde_json::Value| {
        let answer = server.request("POST", &format!("/api/sessions/{id}/{what}"), question.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    };
    let view = ask("view", json!({"where": "not country = NZ"}));
    assert_eq!(view["lines"]["matching"], 4);
    assert_eq!(hits_of(&panel(&view, "country")["rows"]), BTreeMap::from([("DE".to_owned(), 3)]));
    let rows = ask("rows", json!({"where": "country = NZ"}));
    assert_eq!(rows["rows"][0]["country"], "NZ");
    assert_eq!(rows["matching"], 2);
}
