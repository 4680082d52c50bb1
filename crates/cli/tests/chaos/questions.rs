//! Questions about rows: while a log arrives, and after it has ended.

use crate::op::{Body, Call, Op};
use serde_json::{Value, json};

/// Questions to a session with a body.
const QUESTIONS: [(&str, &str); 8] = [
    ("view", r#"{"where": "status >= 400"}"#),
    ("panel", r#"{"field": "path", "search": "a", "limit": 20}"#),
    ("rows", r#"{"limit": 50, "from_end": true}"#),
    ("rows", r#"{"sort": {"field": "bytes", "descending": true}, "offset": 900}"#),
    ("find", r#"{"match": "status >= 500", "sort": {"field": "path"}, "after": 3}"#),
    ("rates", r#"{"by": "client", "limit_per_minute": 60}"#),
    ("compare", r#"{"a": {"where": "status < 400"}, "b": {"where": "status >= 400"}}"#),
    ("explain", r#"{"select": {"where": "status >= 500"}}"#),
];

/// Questions to a session without one.
const LOOKS: [&str; 7] = [
    "",
    "/histogram?buckets=40",
    "/rejects",
    "/export?format=csv",
    "/export?format=parquet",
    "/panel.csv?field=path",
    "/report.html",
];

/// Questions to a server.
const VITALS: [&str; 6] = ["/api/server", "/api/vitals", "/metrics", "/healthz", "/readyz", "/api/sessions"];

/// Looks on: one question of some session, or of the server.
pub(crate) fn once(op: &mut Op<'_>) {
    let Some(id) = some_session(op) else { return };
    let fault = op.fault(500, 4);
    let target = format!("/api/sessions/{id}");
    let answer = match op.random.below(5) {
        0 => {
            let vital = VITALS[op.random.below(VITALS.len())];
            op.once(&Call::new("GET", vital, Body::NONE), fault)
        }
        1 | 2 => {
            let look = LOOKS[op.random.below(LOOKS.len())];
            let mut call = Call::new("GET", target + look, Body::NONE);
            call.may_break = true;
            op.once(&call, fault)
        }
        _ => {
            let (question, body) = QUESTIONS[op.random.below(QUESTIONS.len())];
            let mut call = Call::new("POST", format!("{target}/{question}"), Body::Known(body.as_bytes()));
            call.may_break = true;
            op.once(&call, fault)
        }
    };
    op.kit
        .tallies
        .ended("a look", if answer.is_some_and(|answer| answer.status < 300) { "answered" } else { "refused, or broken off" });
}

fn some_session(op: &mut Op<'_>) -> Option<String> {
    let list = op.get("/api/sessions")?.json();
    let sessions = list["sessions"].as_array()?;
    let which = op.random.below(sessions.len().max(1));
    // Of one that is none any more it is asked as well.
    Some(sessions.get(which).and_then(|session| session["id"].as_str()).unwrap_or("none").to_owned())
}

/// Asks the rows of a whole log; the answer has to agree with its totals for as long as all rows
/// are there.
pub(crate) fn about(op: &mut Op<'_>, id: &str, totals: &Value) {
    if op.one_in(2) {
        view(op, id, totals);
    }
    if op.one_in(4) {
        export(op, id, totals);
    }
}

fn view(op: &mut Op<'_>, id: &str, totals: &Value) {
    let mut call = Call::new("POST", format!("/api/sessions/{id}/view"), Body::Known(b"{}"));
    call.may_break = true;
    let Some(answer) = op.once(&call, rorqual_testkit::proxy::ConnectionFault::None) else { return };
    let view = answer.json();
    if answer.status != 200 || view["kept"]["all"] != true {
        return;
    }
    for count in ["total", "parsed", "rejected"] {
        if view["lines"][count] != totals["lines"][count] {
            op.wrong(&format!("a view of {count} {} lines, expected {}", view["lines"][count], totals["lines"][count]));
        }
    }
    if view["bytes_sent"] != totals["bytes_sent"] {
        op.wrong(&format!("a view of {} bytes sent, expected {}", view["bytes_sent"], totals["bytes_sent"]));
    }
}

fn export(op: &mut Op<'_>, id: &str, totals: &Value) {
    let mut call = Call::new("GET", format!("/api/sessions/{id}/export?format=ndjson"), Body::NONE);
    call.may_break = true;
    let fault = op.fault(400, 3);
    let Some(answer) = op.once(&call, fault) else { return };
    let partial = answer.header("content-disposition").is_none_or(|name| name.contains("-partial"));
    if answer.status != 200 || partial {
        return;
    }
    let rows = answer.body.iter().filter(|byte| **byte == b'\n').count() as u64;
    let expected = ["parsed", "rejected"].map(|count| totals["lines"][count].as_u64().unwrap_or(0)).iter().sum::<u64>();
    if json!(rows) != json!(expected) {
        op.wrong(&format!("an export of {rows} rows, expected {expected}"));
    }
}
