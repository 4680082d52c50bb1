//! `rorqual serve` at the least memory that it advises, and at its own examples: small logs still
//! work.

use crate::client::Server;
use crate::common::{MIB, TestFolder, log, rorqual};
use serde_json::{Value, json};

fn view(server: &Server, id: &str, question: &Value) -> Value {
    let answer = server.request("POST", &format!("/api/sessions/{id}/view"), question.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{question}: {answer:?}");
    answer.json()
}

fn upload(server: &Server, log: &[u8]) -> String {
    let id = server.session_of(log.len());
    assert_eq!(server.put(&id, 0, log).status, 200);
    id
}

/// The examples of `docs/serve.md`, and many sessions of the default memory: the classes of agents
/// are kept with them, and take nothing of a filter's share.
#[test]
fn agents_can_be_asked_for_whatever_a_session_has() {
    for args in [["--sessions", "16", "--memory", "1GiB"], ["--sessions", "1000", "--memory", "512MiB"]] {
        let server = Server::start(&args);
        let id = upload(&server, &log(300));
        for (filter, parsed) in
            [("bot", 0), ("not bot", 300), ("browser = Firefox", 0), ("not (browser = Firefox or os = Linux) or bot", 300)]
        {
            assert_eq!(view(&server, &id, &json!({"where": filter}))["lines"]["parsed"], parsed, "{args:?}: {filter}");
        }
    }
}

/// A log of 50,000 lines takes some megabytes: at the memory that a refusal names there is room for
/// it, with no file to go to.
#[test]
fn what_is_advised_keeps_a_log_whole() {
    for sessions in ["1", "2"] {
        let (server, memory) = Server::tight(&["--sessions", sessions, "--temp-max", "0"]);
        let id = upload(&server, &log(50_000));
        let live = server.live(&id);
        let report = &live["report"];
        assert_eq!(report["rows_dropped"].as_u64().unwrap_or(0), 0, "at {} MiB: {report}", memory / MIB);
        let viewed = view(&server, &id, &json!({}));
        assert_eq!((&viewed["exact"], &viewed["hint"]), (&true.into(), &Value::Null), "at {} MiB", memory / MIB);
        assert_eq!(viewed["lines"]["parsed"], 50_000);
        server.within(memory);
    }
}

/// A million lines of 600,000 clients, which go to the file for rows: at the memory that a refusal
/// names none of them is lost, however many sessions share it.
#[test]
fn what_is_advised_keeps_a_long_log_whole_for_many_sessions() {
    let line = |number: u64| {
        let (client, second) = (number.min(600_000), number / 20_000);
        let [.., a, b, c] = client.to_be_bytes();
        format!(
            "10.{a}.{b}.{c} - - [21/Nov/2025:10:00:{second:02} +0000] \"GET / HTTP/1.1\" 200 {} \"-\" \"agent\"\n",
            number % 997
        )
    };
    let log: Vec<u8> = (0..1_000_000).flat_map(|number| line(number).into_bytes()).collect();
    for sessions in ["4", "16", "32"] {
        let (server, memory) = Server::tight(&["--sessions", sessions]);
        let id = upload(&server, &log);
        let viewed = view(&server, &id, &json!({"where": "client = 10.9.39.192"}));
        let of_all = server.live(&id)["report"]["rows_dropped"].as_u64().unwrap_or(0);
        assert_eq!((of_all, &viewed["exact"]), (0, &true.into()), "{sessions} sessions at {} MiB: {viewed}", memory / MIB);
        assert_eq!(viewed["lines"]["parsed"], 400_000);
        server.within(memory);
    }
}

/// A full temporary file is reported as such, and not as a lack of memory.
#[test]
fn a_file_for_rows_that_is_full_is_called_that() {
    let server = Server::start(&["--memory", "256MiB", "--threads", "1", "--temp-max", "1MiB", "--sessions", "4"]);
    let id = upload(&server, &log(1_000_000));
    let viewed = view(&server, &id, &json!({}));
    let hint = viewed["hint"].as_str().expect("rows are missing");
    assert!(hint.contains("the file for rows") && hint.contains("--temp-max"), "{hint}");
    let reason = viewed["kept"]["reason"].as_str().expect("rows are missing");
    assert!(reason.starts_with("the file for rows could not be written: ") && !reason.contains("--memory"), "{reason}");
}

#[test]
fn what_is_piped_in_is_a_log() {
    let server = Server::start_as(rorqual(&["serve", "--port", "0", "-"]).stdin(log(2_000)));
    let sessions = server.get("/api/sessions").json();
    let id = sessions["sessions"][0]["id"].as_str().expect("a session").to_owned();
    server.when(&id, "all lines", |live| live["report"]["lines"]["parsed"] == 2_000);
    let text = String::from_utf8(log(200)).expect("text");
    let utf16: Vec<u8> = "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let server = Server::start_as(rorqual(&["serve", "--port", "0", "-"]).stdin(utf16));
    let sessions = server.get("/api/sessions").json();
    let id = sessions["sessions"][0]["id"].as_str().expect("a session").to_owned();
    server.when(&id, "all lines", |live| live["report"]["lines"]["parsed"] == 200);
    let ran = rorqual(&["serve", "--port", "0", "-", "-"]).run().exits(2);
    assert!(ran.stderr.contains("more than once"), "{}", ran.stderr);
}

/// A client's text is no line of ours, whatever is in it.
#[test]
fn what_is_asked_of_templates_begins_no_line_of_the_log() {
    let templates = TestFolder::new();
    templates.file("bad.txt", "{{ 1 + 'a' }}");
    templates.file("odd\nFAKE.txt", "{{ 1 + 'a' }}");
    for format in ["text", "json"] {
        let server = Server::start(&["--templates", &templates.text(""), "--log-format", format]);
        server.get("/render/x%0aFAKE%1b%5b2J").refused(404, "no_template");
        server.get("/render/odd%0aFAKE.txt").refused(500, "template_failed");
        server.get("/render/bad.txt").refused(500, "template_failed");
        server.running.interrupt();
        let ran = server.running.wait().exits(0);
        let lines: Vec<&str> = ran.stderr.lines().collect();
        assert!(lines.iter().any(|line| line.contains("bad.txt")), "{}", ran.stderr);
        assert!(!lines.iter().any(|line| line.starts_with("FAKE")) && !ran.stderr.contains('\u{1b}'), "{}", ran.stderr);
        assert!(!ran.stderr.contains("x\\nFAKE"), "an address that there is not is no news: {}", ran.stderr);
        if format == "json" {
            lines.iter().for_each(|line| drop(serde_json::from_str::<Value>(line).expect("a line is an object")));
        }
    }
}
