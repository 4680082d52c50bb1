//! More connections than have large buffers, whose clients do not read: what they hold is what the tickets stand for.

use crate::client::Server;
use crate::common::{MIB, eventually};
use serde_json::Value;
use std::io::Write;
use std::net::TcpStream;

const SAMPLE: &[u8] = include_bytes!("../../../../samples/apache_combined.log");

/// More than there are tickets, and than there are wide connections.
const CLIENTS: usize = 360;

/// More than the buffers of both systems take.
const REPORTS_EACH: usize = 200;

/// Asks on, and reads nothing.
fn ask_on(server: &Server, id: &str) -> TcpStream {
    let head = server.head("GET", &format!("/api/sessions/{id}")).replace("Connection: close\r\n", "");
    let mut stream = server.connect();
    stream.write_all(format!("{head}\r\n").repeat(REPORTS_EACH).as_bytes()).expect("it listens");
    stream
}

fn vitals(server: &Server) -> Value {
    server.get("/api/vitals").json()
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
        let vitals = vitals(&server);
        let many_known = vitals["connections"]["known"].as_u64() > Some(300);
        let all_taken = vitals["answers"]["taken"] == vitals["answers"]["places"];
        (many_known && all_taken).then_some(vitals)
    });
    assert_eq!(vitals_then["answers"]["places"], 32);
    assert_eq!(vitals_then["connections"]["wide"], 32, "the others are narrow");
    // What needs no ticket is answered meanwhile.
    assert_eq!(server.get("/healthz").status, 200);
    server.request("POST", "/api/sessions", b"{\"name\": 1}").refused(400, "bad_request");
    let peak = server.running.peak_bytes();
    assert!(peak <= memory * MIB, "{} MiB", peak / MIB);
    drop(clients);
    eventually("all tickets and places are back, but of the one that asks", || {
        let vitals = vitals(&server);
        (vitals["answers"]["taken"] == 0 && vitals["connections"]["known"] == 1).then_some(())
    });
    assert_eq!(server.live(&id)["report"], expected);
}
