//! Formats as they are pasted: on the command line, and tried on the first lines of a log by the
//! explorer.

use crate::client::Server;
use crate::common::{TestFolder, rorqual};
use serde_json::{Value, json};

/// A directive as in a configuration of nginx.
const DIRECTIVE: &str = r#"
    # what we log
    log_format  timed  escape=default
        '$remote_addr|$time_iso8601|$request_method|'
        "$uri|\"$http_user_agent\"|"   # the agent
        $status|$body_bytes_sent|$request_time;
    access_log /var/log/nginx/access.log timed;
"#;

const LINES: [&str; 2] = [
    r#"10.1.2.3|2025-01-02T03:04:05+01:00|GET|/a b|"curl/8"|200|512|0.250"#,
    r#"10.1.2.3|2025-01-02T03:04:05+01:00|GET|/a b|"curl/8"|teapot|512|0.250"#,
];

fn tried(server: &Server, format: &str, lines: &[&str]) -> crate::client::Answer {
    let id = server.session(&json!({}));
    let answer = server.request(
        "POST",
        &format!("/api/sessions/{id}/format/try"),
        json!({"format": format, "lines": lines}).to_string().as_bytes(),
    );
    assert_eq!(server.request("DELETE", &format!("/api/sessions/{id}"), b"").status, 204);
    answer
}

#[test]
fn a_pasted_directive_reads_lines_here_and_there() {
    let server = Server::start(&[]);
    let answer = tried(&server, DIRECTIVE, &LINES).json();
    assert_eq!(answer["format"], "timed");
    let fields = json!({
        "time": "2025-01-02T03:04:05+01:00", "client": "10.1.2.3", "method": "GET", "path": "/a b", "status": "200", "bytes": "512",
        "agent": "curl/8", "request_time": "0.250000 s",
    });
    assert_eq!(answer["rows"][0], json!({"fields": fields, "flaw": null}));
    let flawed = &answer["rows"][1];
    assert!(flawed["flaw"].as_str().is_some_and(|flaw| flaw.contains("status")), "{flawed}");
    let folder = TestFolder::new();
    let log = folder.file("access.log", LINES[0].to_owned() + "\n");
    let report = rorqual(&["logs", "--json", "--format", DIRECTIVE, &log]).run().exits(0).json();
    assert_eq!((&report["sources"][0]["format"], &report["lines"]["parsed"]), (&"timed".into(), &1.into()));
    // And a session of an unrecognised format is read by it.
    let body = LINES.join("\n");
    let unknown = server.session(&json!({"size": body.len()}));
    server.put(&unknown, 0, body.as_bytes()).refused(422, "unknown_format");
    let id = server.session(&json!({"size": body.len(), "format": DIRECTIVE}));
    assert_eq!(server.put(&id, 0, body.as_bytes()).status, 200);
    assert_eq!(server.live(&id)["report"]["lines"]["total"], 2);
}

#[test]
fn formats_are_taken_in_all_the_ways_they_are_pasted() {
    let server = Server::start(&[]);
    let line = r#"10.1.2.3 - - [02/Jan/2025:03:04:05 +0000] "GET /x HTTP/1.1" 200 5"#;
    for format in [
        "common",
        r#"%h %l %u %t "%r" %>s %b"#,
        r#"%h %l %u %t \"%r\" %>s %b"#,
        r#""%h %l %u %t \"%r\" %>s %b""#,
        r#""%h %l %u %t \"%r\" %>s %b" mine"#,
        r#"LogFormat "%h %l %u %t \"%r\" %>s %b" mine"#,
        "<IfModule log_config_module>\n  logformat \"%h %l %u %t \\\"%r\\\" \\\n%>s %b\" mine\n</IfModule>",
        r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent"#,
        r#"'$remote_addr - $remote_user [$time_local] "$request" ' '$status $body_bytes_sent'"#,
        r#""$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent""#,
        "http {\n log_format mine '$remote_addr - $remote_user [$time_local] '\n\t'\"$request\" $status $body_bytes_sent';\n}",
    ] {
        let answer = tried(&server, format, &[line]);
        assert_eq!(answer.status, 200, "{format}: {answer:?}");
        let row = &answer.json()["rows"][0];
        assert_eq!(
            (&row["fields"]["path"], &row["fields"]["bytes"], &row["flaw"]),
            (&"/x".into(), &"5".into(), &Value::Null),
            "{format}"
        );
    }
}

#[test]
fn what_is_wrong_with_a_format_has_its_place_in_what_was_pasted() {
    let server = Server::start(&[]);
    // Where the mark is, which is not part of it.
    for (marked, said) in [
        ("log_format a 'ä $remote_addr '\n  '§$ $status';", "line 2, column 4: "),
        ("log_format a \"\\\"$status\\\" §${status\";", "column 27: no '}'"),
        ("LogFormat \"%h \\\n%u §%{Referer\" x", "line 2, column 4: "),
        ("  $status §$", "column 11: "),
        ("§nothing", "column 1: "),
        ("§log_format a '$status'; log_format b '$status $uri';", "2 formats here (a, b)"),
    ] {
        let at = marked.chars().position(|char| char == '§').expect("a mark");
        let format = marked.replace('§', "");
        let error = tried(&server, &format, &[]).refused(400, "bad_format");
        assert_eq!(error["column"].as_u64(), Some(at as u64), "{format}: {error}");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(said)), "{format}: {error}");
        let ran = rorqual(&["logs", "--format", &format, "-"]).stdin(*b"x\n").run().exits(2);
        assert!(ran.stderr.contains(said.trim_end()), "{format}: {}", ran.stderr);
        let created = server.request("POST", "/api/sessions", json!({"format": format}).to_string().as_bytes());
        assert_eq!(created.refused(400, "bad_format")["column"].as_u64(), Some(at as u64));
    }
    let many: Vec<&str> = vec!["x"; 201];
    tried(&server, "common", &many).refused(400, "bad_request");
    tried(&server, "common", &["x".repeat(165 << 10).as_str()]).refused(413, "too_long");
    assert_eq!(tried(&server, "json", &[" "]).json()["rows"], json!([{"fields": null, "flaw": "a blank line"}]));
}

#[test]
fn a_line_that_is_too_long_says_so() {
    let server = Server::start(&["--line-max", "1KiB"]);
    let long = "x".repeat(2_000);
    let answer = tried(&server, "$remote_addr", &["10.0.0.1", &long]).json();
    assert_eq!(answer["rows"][0]["flaw"], Value::Null);
    assert_eq!(answer["rows"][1]["fields"], Value::Null);
    let flaw = &answer["rows"][1]["flaw"];
    assert!(flaw.as_str().is_some_and(|flaw| flaw.contains("longer than 1.00 KiB") && flaw.contains("--line-max")), "{flaw}");
    let error = tried(&server, &"$status ".repeat(10_000), &[]).refused(400, "bad_format");
    assert!(error["message"].as_str().is_some_and(|message| message.contains("at most 65536")), "{error}");
}
