//! More connections than have large buffers, of clients that do not read: their memory is that of
//! the tickets.

use crate::client::{Server, read_answer};
use crate::common::{MIB, eventually};
use rorqual_testkit::generate::{DistinctLog, write_lines};
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpStream;

const SAMPLE: &[u8] = include_bytes!("../../../../samples/apache_combined.log");

/// More than there are tickets, and than there are wide connections.
const CLIENTS: usize = 360;

/// More than the buffers of both systems take, which may be 12 MB a connection: a report has some
/// 58 KB.
pub(crate) const REPORTS_EACH: usize = 1_000;

/// Asks on, and reads nothing.
fn ask_on(server: &Server, id: &str) -> TcpStream {
    let head = server.head("GET", &format!("/api/sessions/{id}")).replace("Connection: close\r\n", "");
    let mut stream = server.connect();
    stream.write_all(format!("{head}\r\n").repeat(REPORTS_EACH).as_bytes()).expect("it listens");
    stream
}

#[test]
fn hundreds_of_clients_that_do_not_read_hold_the_tickets_and_nothing_else() {
    let memory = 256;
    let args = ["--memory", &format!("{memory}MiB"), "--connections", "400", "--sessions", "1", "--threads", "1"];
    let server = Server::start(&args);
    // Of many values: its report is long.
    let body = SAMPLE;
    let id = server.session_of(body.len());
    assert_eq!(server.put(&id, 0, body).status, 200);
    let expected = server.live(&id)["report"].clone();
    assert_eq!(expected["complete"], true);
    let clients: Vec<TcpStream> = (0..CLIENTS).map(|_| ask_on(&server, &id)).collect();
    let vitals_then = eventually("more than 300 are known, and all tickets taken", || {
        let vitals = server.vitals();
        let many_known = vitals["connections"]["known"].as_u64() > Some(300);
        let all_taken = vitals["answers"]["taken"] == vitals["answers"]["places"];
        (many_known && all_taken).then_some(vitals)
    });
    assert_eq!(vitals_then["answers"]["places"], 32);
    assert_eq!(vitals_then["connections"]["wide"], 32, "the others are narrow");
    // Requests without a ticket are answered meanwhile.
    assert_eq!(server.get("/healthz").status, 200);
    server.request("POST", "/api/sessions", b"{\"name\": 1}").refused(400, "bad_request");
    let peak = server.running.peak_bytes();
    assert!(peak <= memory * MIB, "{} MiB", peak / MIB);
    drop(clients);
    eventually("all tickets and places are back, but of the one that asks", || {
        let vitals = server.vitals();
        (vitals["answers"]["taken"] == 0 && vitals["connections"]["known"] == 1).then_some(())
    });
    assert_eq!(server.live(&id)["report"], expected);
}

/// Kinds of questions, of which the first ones are about rows and are asked by POST.
const KINDS: usize = 12;
const ABOUT_ROWS: usize = 9;

/// Question of one client to the session `id`: mostly one with the largest answers.
fn question(id: &str, number: usize) -> (&'static str, String, String) {
    // As long as it may be without a ticket.
    let filter = (0..7).map(|part| format!("path != \"/{part}{}\"", "x".repeat(1_000))).collect::<Vec<_>>().join(" and ");
    let (what, body) = match number % KINDS {
        0 => ("view", json!({"where": filter, "top": 100, "buckets": 2_000})),
        1 => ("view", json!({"where": filter, "top": 100, "stack": "path"})),
        2 => ("compare", json!({"a": {"where": filter}, "b": {}, "top": 100})),
        3 => ("explain", json!({"select": {"where": filter}})),
        4 => ("rates", json!({"where": filter, "top": 100})),
        5 => ("breakdown", json!({"where": filter, "field": "path", "limit": 100})),
        6 => ("rows", json!({"where": filter, "limit": 100})),
        7 => ("rows", json!({"where": filter, "limit": 100, "sort": {"field": "path", "descending": true}})),
        8 => ("timeseries", json!({"where": filter, "buckets": 2_000, "measure": "bytes"})),
        9 => ("export?format=ndjson", Value::Null),
        10 => ("report.html", Value::Null),
        _ => ("", Value::Null),
    };
    let target = format!("/api/sessions/{id}/{what}");
    let target = target.trim_end_matches('/').to_owned();
    if body.is_null() { ("GET", target, String::new()) } else { ("POST", target, body.to_string()) }
}

#[test]
fn questions_of_all_kinds_wait_for_their_turns_within_the_memory() {
    // Not much more than it starts with: an export has room beside the rows.
    let memory = 256 * MIB;
    let server = Server::start(&["--memory", "256MiB", "--connections", "400", "--sessions", "1", "--threads", "1"]);
    let mut body = Vec::new();
    let lines = write_lines(&mut DistinctLog::new(16 * MIB, 7), 16 * MIB, &mut body).expect("a Vec takes everything").lines;
    let id = server.session_of(body.len());
    assert_eq!(server.put(&id, 0, &body).status, 200);
    for number in 0..KINDS {
        let (method, target, body) = question(&id, number);
        assert_eq!(server.request(method, &target, body.as_bytes()).status, 200, "{target}");
    }
    // Clients that read nothing hold all tickets, so that nobody else gets a large answer.
    let deaf: Vec<TcpStream> = (0..50).map(|_| ask_on(&server, &id)).collect();
    let all_taken = |vitals: &Value, name: &str| vitals[name]["taken"] == vitals[name]["places"];
    eventually("all tickets are taken", || all_taken(&server.vitals(), "answers").then_some(()));
    let ask = |number| {
        let (mut stream, (method, target, body)) = (server.connect(), question(&id, number));
        let head = server.head(method, &target);
        stream.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).expect("it listens");
        stream
    };
    let clients: Vec<TcpStream> = (0..320).map(ask).collect();
    eventually("most of them wait, and all places for exports are taken", || {
        let vitals = server.vitals();
        let many_known = vitals["connections"]["known"].as_u64() > Some(250);
        (many_known && all_taken(&vitals, "answers") && all_taken(&vitals, "exports")).then_some(())
    });
    server.within(memory);
    drop(deaf);
    for (number, mut stream) in clients.into_iter().enumerate().filter(|(number, _)| number % KINDS < ABOUT_ROWS) {
        assert_eq!(read_answer(&mut stream).status, 200, "question {number}");
    }
    eventually("all tickets and places are back, but of the one that asks", || {
        let vitals = server.vitals();
        let free = |name: &str| vitals[name]["taken"] == 0;
        (free("answers") && free("exports") && vitals["connections"]["known"] == 1).then_some(())
    });
    let view = server.request("POST", &format!("/api/sessions/{id}/view"), b"{}").json();
    assert_eq!(view["lines"]["parsed"], lines);
    server.within(memory);
}
