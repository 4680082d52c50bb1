//! Tools of the Model Context Protocol, asked as a client asks them.

use crate::common::{MIB, PROGRAM, TestFolder, Truth, eventually, hits_of, log, panel};
use rorqual_testkit::paths::gzip;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples/apache_combined.log");

/// A client with the server that it started.
struct McpClient {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl McpClient {
    fn start(args: &[&str]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.arg("mcp").args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut server = command.spawn().expect("it starts");
        let (input, output) = (server.stdin.take().expect("piped"), server.stdout.take().expect("piped"));
        let mut client = Self { server, input, output: BufReader::new(output), asked: 0 };
        let who = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        let greeting = client.request("initialize", who);
        assert_eq!(greeting["result"]["serverInfo"]["name"], "rorqual", "{greeting}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("it reads");
    }

    /// Sends a request; its number.
    fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.asked += 1;
        let mut message = json!({"jsonrpc": "2.0", "id": self.asked, "method": method});
        message["params"] = params;
        self.send(&message);
        self.asked
    }

    fn answer(&mut self, id: u64) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("it answers") > 0, "the server has ended");
            let message: Value = serde_json::from_str(&line).expect("a message a line");
            if message["id"] == id {
                return message;
            }
        }
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// Texts of a tool's answer, and whether it failed.
    fn call(&mut self, tool: &str, arguments: Value) -> (Vec<String>, bool) {
        let mut params = json!({"name": tool});
        params["arguments"] = arguments;
        let answer = self.request("tools/call", params);
        let result = &answer["result"];
        let content = result["content"].as_array().unwrap_or_else(|| panic!("{tool}: {answer}"));
        let texts = content.iter().map(|part| part["text"].as_str().expect("text").to_owned());
        (texts.collect(), result["isError"] == true)
    }

    fn told(&mut self, tool: &str, arguments: Value) -> String {
        let (texts, is_error) = self.call(tool, arguments);
        assert!(!is_error, "{tool}: {texts:?}");
        texts[0].clone()
    }

    fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let (texts, is_error) = self.call(tool, arguments);
        assert!(is_error, "{tool}: {texts:?}");
        texts[0].clone()
    }

    /// Number of its processes at work.
    fn children(&self) -> usize {
        let id = self.server.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
        children.split_whitespace().count()
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// A folder with a log, and a file beside it that is not to be read.
fn folder() -> (TestFolder, String) {
    let folder = TestFolder::new();
    std::fs::create_dir(folder.text("root")).expect("a folder");
    std::fs::copy(SAMPLE, folder.text("root/access.log")).expect("the sample");
    folder.file("secret.txt", "the secret\n");
    symlink(folder.text("secret.txt"), folder.text("root/link.txt")).expect("a link");
    let root = folder.text("root");
    (folder, root)
}

#[test]
fn each_tool_answers_as_its_verb_does() {
    let (_folder, root) = folder();
    let mut client = McpClient::start(&["--root", &root]);
    let listed = client.request("tools/list", json!({}));
    let tools: Vec<&str> =
        listed["result"]["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str()).collect();
    let expected = [
        "columns",
        "count",
        "log_compare",
        "log_explain",
        "log_findings",
        "log_metrics",
        "log_report",
        "query",
        "rows",
        "search",
        "summary",
    ];
    assert_eq!(tools, expected);
    for tool in listed["result"]["tools"].as_array().expect("tools") {
        assert!(tool["description"].is_string() && tool["inputSchema"]["properties"].is_object(), "{tool}");
    }
    let parsed = |text: String| serde_json::from_str::<Value>(&text).expect("JSON");
    let report = parsed(client.told("log_report", json!({"file": "access.log", "top": 3, "where": "status = 404"})));
    let sample = std::fs::read_to_string(SAMPLE).expect("the sample");
    let missing = sample.lines().filter(|line| line.contains("\" 404 ")).count();
    assert_eq!(report["lines"]["parsed"], missing);
    let counted = parsed(client.told("count", json!({"files": ["access.log"]})));
    assert_eq!(counted["files"][0]["lines"], 10_000);
    let found =
        client.told("search", json!({"pattern": "/favicon.ico", "fixed": true, "files": ["."], "limit": 1000, "count": true}));
    let icons = sample.lines().filter(|line| line.contains("/favicon.ico")).count();
    assert!(found.ends_with(&format!("access.log:{icons}\n")), "{found}");
    let found = client.told("search", json!({"pattern": "-nothing-has-this", "files": ["access.log"]}));
    assert_eq!(found, "nothing was found");
    let columns = client.told("columns", json!({"file": "access.log"}));
    assert!(columns.contains("status") && columns.contains("path"), "{columns}");
    let rows = client.told("rows", json!({"file": "access.log", "limit": 2, "columns": ["status", "client"]}));
    assert_eq!(parsed(rows.lines().next().expect("a row").to_owned()), json!({"status": 200, "client": "83.149.9.216"}));
    assert_eq!(rows.lines().count(), 2);
    let summary = parsed(client.told("summary", json!({"file": "access.log", "where": "status = 404", "top": 2})));
    assert_eq!(summary["schema"], "rorqual.summary/1");
    let explained =
        parsed(client.told("log_explain", json!({"file": "access.log", "from": "2015-05-18T10:00", "to": "2015-05-18T12:00"})));
    assert_eq!(explained["schema"], "rorqual.explain/1");
    let compared = parsed(client.told(
        "log_compare",
        json!({"file": "access.log", "a": "2015-05-18T10:00..2015-05-18T12:00", "b": "2015-05-19T10:00..2015-05-19T12:00"}),
    ));
    assert_eq!(compared["schema"], "rorqual.compare/1");
    let metrics =
        parsed(client.told("log_metrics", json!({"file": "access.log", "by": "status", "sort": "refused", "top": 200})));
    let values = metrics["answer"]["values"].as_array().expect("values");
    assert_eq!((&values[0]["value"], &values[0]["hits"]), (&json!("404"), &json!(missing)));
    assert_eq!(parsed(client.told("log_findings", json!({"file": "access.log"})))["schema"], "rorqual.findings/1");
}

#[test]
fn several_files_are_answered_for_as_one_log() {
    let folder = TestFolder::new();
    std::fs::create_dir_all(folder.text("root/web")).expect("a folder");
    let all = log(3_000);
    let cut = all.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(999).expect("lines").0 + 1;
    let one = folder.file("root/one.log", &all[..cut]);
    let two = folder.file("root/web/two.log.gz", gzip(&all[cut..]));
    let mut client = McpClient::start(&["--root", &folder.text("root")]);
    let parsed = |text: String| serde_json::from_str::<Value>(&text).expect("JSON");
    let both = json!(["one.log", "web/two.log.gz"]);
    let expected = BTreeMap::from([(one, 1_000), (two, 2_000)]);
    for arguments in [json!({"files": both}), json!({"file": "one.log", "files": ["web/two.log.gz"]}), json!({"files": ["."]})] {
        let report = parsed(client.told("log_report", arguments));
        Truth::of(&all).check(&report);
        assert_eq!(hits_of(&panel(&report, "file")["rows"]), expected);
    }
    let one_of_two = parsed(client.told("log_report", json!({"files": both, "where": "file ~ \"two.log\""})));
    assert_eq!(one_of_two["lines"]["parsed"], 2_000);
    let metrics = parsed(client.told("log_metrics", json!({"files": both, "by": "file", "show": ["hits"]})));
    assert_eq!(metrics["answer"]["values"].as_array().map(Vec::len), Some(2), "{metrics}");
    let span = json!({"files": both, "from": "2025-01-02T00:00", "to": "2025-01-02T00:10"});
    assert_eq!(parsed(client.told("log_explain", span))["schema"], "rorqual.explain/1");
    let spans = json!({"files": both, "a": "2025-01-02T00:00..2025-01-02T00:10", "b": "2025-01-02T00:10..2025-01-02T00:20"});
    assert_eq!(parsed(client.told("log_compare", spans))["schema"], "rorqual.compare/1");
    assert_eq!(parsed(client.told("log_findings", json!({"files": both})))["schema"], "rorqual.findings/1");
    // One that is not there, none at all, and a link out of the root.
    assert!(client.refused("log_report", json!({"files": ["one.log", "missing"]})).contains("missing: No such file"));
    assert!(client.refused("log_report", json!({})).contains("no file is named"));
    folder.file("secret.log", log(1));
    symlink(folder.text("secret.log"), folder.text("root/web/link.log")).expect("a link");
    assert!(client.refused("log_report", json!({"files": ["web"]})).contains("is not below"));
}

#[test]
fn a_query_is_answered_by_sql_over_the_files() {
    let (folder, root) = folder();
    let mut client = McpClient::start(&["--root", &root]);
    let sql = "SELECT status, count(*) AS hits FROM 'access.log' WHERE status >= 400 GROUP BY status ORDER BY hits DESC, status";
    let answer = client.told("query", json!({"sql": sql}));
    let rows: Vec<Value> = answer.lines().map(|row| serde_json::from_str(row).expect("a row a line")).collect();
    let sample = std::fs::read_to_string(SAMPLE).expect("the sample");
    let hits = |status: &str| sample.lines().filter(|line| line.contains(&format!("\" {status} "))).count();
    assert_eq!(rows[0], json!({"status": 404, "hits": hits("404")}), "{answer}");
    // Names with signs of SQL and of a shell are names.
    std::fs::copy(folder.text("root/access.log"), folder.text("root/o'brien $x.log")).expect("the sample");
    let quoted = client.told("query", json!({"sql": "SELECT count(*) AS n FROM 'o''brien $x.log'"}));
    assert_eq!(quoted, "{\"n\":10000}\n");
    // Of many rows the first ones come, whole.
    drop(client);
    let mut client = McpClient::start(&["--root", &root, "--answer-max", "8KiB"]);
    let (texts, is_error) = client.call("query", json!({"sql": "SELECT client, path FROM 'access.log'"}));
    assert!(!is_error && texts[0].len() <= 8 << 10 && texts[0].ends_with('\n'), "{texts:?}");
    assert!(texts[1].contains("longer than 8192 bytes (--answer-max)"), "{texts:?}");
    // Neither other statements nor other files.
    for sql in [
        "SELECT * FROM '../secret.txt'",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM 'https://example.com/x.csv'",
        "COPY (SELECT 1) TO 'out.csv'",
        "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'",
        "SELECT nothing FROM 'access.log'",
        "--root=/",
        "",
    ] {
        client.refused("query", json!({"sql": sql}));
    }
    assert!(!folder.at("root/out.csv").exists());
}

#[test]
fn only_files_below_the_root_are_read() {
    let (folder, root) = folder();
    let mut client = McpClient::start(&["--root", &root]);
    let secret = folder.text("secret.txt");
    for name in ["../secret.txt", "link.txt", &secret, "/etc/passwd", "../root/../secret.txt"] {
        let said = client.refused("search", json!({"pattern": "", "files": [name]}));
        assert!(said.contains("is not below"), "{name}: {said}");
        assert!(client.refused("count", json!({"files": ["access.log", name]})).contains("is not below"), "{name}");
    }
    for name in ["https://example.com/x", "s3://bucket/x"] {
        assert!(client.refused("count", json!({"files": [name]})).contains("addresses are not read"), "{name}");
    }
    assert!(client.refused("rows", json!({"file": "-"})).contains("No such file"));
    assert!(client.refused("count", json!({"files": []})).contains("no file is named"));
    // Links in a folder that is searched are not followed.
    assert_eq!(client.told("search", json!({"pattern": "the secret", "files": ["."]})), "nothing was found");
    // A flag is no file, and no pattern.
    assert!(client.refused("count", json!({"files": ["--files0-from=/etc/passwd"]})).contains("No such file"));
    assert_eq!(client.told("search", json!({"pattern": "--file=/etc/passwd", "files": ["access.log"]})), "nothing was found");
    let unknown = client.request("tools/call", json!({"name": "count", "arguments": {"files": ["access.log"], "output": "x"}}));
    assert!(unknown.to_string().contains("unknown field"), "{unknown}");
}

#[test]
fn long_answers_are_cut_and_say_so() {
    let folder = TestFolder::new();
    folder.file("big.log", log(50_000));
    let root = folder.text("");
    let mut client = McpClient::start(&["--root", &root, "--answer-max", "8KiB"]);
    let (texts, is_error) = client.call("search", json!({"pattern": "GET", "files": ["big.log"], "limit": 1000}));
    assert!(!is_error && texts[0].len() <= 8 << 10 && texts[0].ends_with('\n'), "{texts:?}");
    assert!(texts[1].contains("longer than 8192 bytes (--answer-max)"), "{texts:?}");
    let said = client.refused("log_report", json!({"file": "big.log", "top": 1000}));
    assert!(said.contains("longer than 8192 bytes (--answer-max)"), "{said}");
    // The server holds no file, and no long answer.
    let status = std::fs::read_to_string(format!("/proc/{}/status", client.server.id())).expect("it runs");
    let peak_kib: u64 =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok()).expect("a size");
    assert!(peak_kib << 10 <= 32 * MIB, "{peak_kib} KiB");
}

#[test]
fn a_file_that_can_not_be_read_is_told_beside_the_others() {
    let folder = TestFolder::new();
    folder.file("good.log", log(10));
    // A gzip file that ends in its header.
    folder.file("cut.gz", [0x1f, 0x8b, 8, 0, 0]);
    let root = folder.text("");
    let mut client = McpClient::start(&["--root", &root]);
    let (texts, is_error) = client.call("count", json!({"files": ["good.log", "cut.gz"]}));
    assert!(
        !is_error && texts[0].starts_with("This answer is not of all that was asked for") && texts[0].contains("cut.gz"),
        "{texts:?}"
    );
    assert!(texts[1].contains("\"lines\":10"), "{texts:?}");
    let found = client.told("search", json!({"pattern": "GET", "files": ["good.log"], "limit": 2}));
    assert_eq!(found.lines().count(), 2, "{found}");
}

#[test]
fn a_question_that_waits_ends_by_its_time_or_when_it_is_cancelled() {
    let folder = TestFolder::new();
    folder.file("small.log", log(10));
    let made = Command::new("mkfifo").arg(folder.text("never")).status().expect("mkfifo");
    assert!(made.success());
    let root = folder.text("");
    let mut client = McpClient::start(&["--root", &root, "--timeout", "2"]);
    let said = client.refused("count", json!({"files": ["never"]}));
    assert!(said.contains("within 2 seconds (--timeout)"), "{said}");
    eventually("the end of its process", || (client.children() == 0).then_some(()));
    drop(client);
    let mut client = McpClient::start(&["--root", &root, "--timeout", "600"]);
    let waits = client.ask("tools/call", json!({"name": "count", "arguments": {"files": ["never"]}}));
    eventually("its process", || (client.children() == 1).then_some(()));
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": waits}}));
    let counted = client.told("count", json!({"files": ["small.log"]}));
    assert!(counted.contains("\"lines\":10"), "{counted}");
    eventually("the end of both", || (client.children() == 0).then_some(()));
}

#[test]
fn the_server_ends_with_its_client_and_refuses_what_is_no_message() {
    let folder = TestFolder::new();
    let root = folder.text("");
    let mut client = McpClient::start(&["--root", &root]);
    let server = std::mem::replace(&mut client.server, Command::new("true").spawn().expect("true"));
    drop(client);
    let ended = server.wait_with_output().expect("it ends");
    assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()), (Some(0), ""));
    let mut client = McpClient::start(&["--root", &root]);
    // One that is too long is passed over, as its number is not read; the next one is answered.
    let _ = client.ask("tools/call", json!({"name": "count", "arguments": {"files": ["x".repeat(3 << 20)]}}));
    assert!(client.refused("count", json!({"files": ["missing"]})).contains("No such file"));
    let bad = Command::new(PROGRAM).args(["mcp", "--root", "/nowhere/at/all"]).output().expect("it runs");
    assert_eq!(bad.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&bad.stderr).contains("--root /nowhere/at/all"), "{bad:?}");
}
