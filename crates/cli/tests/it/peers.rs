//! `rorqual serve --peers`, by the program.

use crate::client::Server;
use crate::common::{TestFolder, line, rorqual};
use rorqual_testkit::generate::Rng;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;

fn lines(numbers: std::ops::Range<u64>) -> String {
    numbers.map(|number| line(number) + "\n").collect()
}

/// A file that only its owner can read.
fn secret(folder: &TestFolder, name: &str, text: &str) -> String {
    let path = folder.file(name, text);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("its owner's");
    path
}

fn view(server: &Server, id: &str, body: &Value) -> Value {
    server.request("POST", &format!("/api/sessions/{id}/view"), body.to_string().as_bytes()).json()
}

fn session(server: &Server) -> String {
    let listed = server.get("/api/sessions").json();
    listed["sessions"][0]["id"].as_str().unwrap_or_else(|| panic!("{listed}")).to_owned()
}

/// Waits for the logs of peers; their addresses, and the file with their tokens.
fn finished(peers: &[Server], folder: &TestFolder) -> (String, String) {
    let tell = |peer: &Server| {
        peer.when_state(&session(peer), "finished");
        let address = format!("http://127.0.0.1:{}", peer.port);
        (format!("{address}/?token={}\n", peer.token), address)
    };
    let (tokens, addresses): (Vec<String>, Vec<String>) = peers.iter().map(tell).unzip();
    (addresses.join(","), secret(folder, "tokens", &tokens.concat()))
}

#[test]
fn peers_are_shown_by_the_program_and_no_token_is_told() {
    let folder = TestFolder::new();
    let files = [folder.file("a.log", lines(0..3_000)), folder.file("b.log", lines(3_000..7_000))];
    let peers = files.each_ref().map(|file| Server::start(&["--no-cache", file]));
    let (addresses, tokens) = finished(&peers, &folder);
    let fleet = Server::start(&["--peers", &addresses, "--peers-tokens", &tokens]);
    let id = session(&fleet);
    let shown = view(&fleet, &id, &json!({"where": "status >= 400"}));
    let whole = Server::start(&["--no-cache", &folder.file("all.log", lines(0..7_000))]);
    let whole_id = session(&whole);
    whole.when_state(&whole_id, "finished");
    let expected = view(&whole, &whole_id, &json!({"where": "status >= 400"}));
    for member in ["lines", "histogram", "panels", "percentiles", "week", "bots", "bytes_sent", "exact", "complete"] {
        assert_eq!(shown[member], expected[member], "{member}");
    }
    // Its own file is a session beside that of the peers, and its page has both.
    assert!(fleet.get(&format!("/api/sessions/{id}")).json()["report"]["lines"]["total"] == 7_000);
    let [first, second] = peers;
    let (port, token) = (second.port, second.token.clone());
    drop(second);
    let without = view(&fleet, &id, &json!({}));
    assert_eq!((&without["lines"]["total"], &without["exact"]), (&json!(3_000), &json!(false)));
    let missing = &without["fleet"]["peers"][1];
    assert_eq!(missing["name"], format!("127.0.0.1:{port}"));
    assert!((missing["share"].as_f64().expect("a share") - 4.0 / 7.0).abs() < 1e-9, "{missing}");
    assert!(!without.to_string().contains(&token));
    drop(first);
}

/// Rows of each peer far above the memory of who shows them.
const PEER_ROWS: u64 = 100_000;

/// A log with as many clients, paths, agents and values of its own as lines, and long texts.
fn wide_log(peer: u64) -> String {
    let mut random = Rng::new(peer);
    let mut log = String::new();
    for n in 0..PEER_ROWS {
        // Some values are those of other peers.
        let (peer, second) = (if n % 3 == 0 { 0 } else { peer }, n * 80_000 / PEER_ROWS);
        let path = if n % 100 == 0 { "p".repeat(1_000 + random.below(29_000)) } else { "a".to_owned() };
        let note = if n % 100 == 50 { "n".repeat(1_000 + random.below(29_000)) } else { String::new() };
        writeln!(
            log,
            "{{\"time\":\"2025-01-02T{:02}:{:02}:{:02}Z\",\"remote_addr\":\"{}.{}.{}.{}\",\"request\":\"GET /{peer}/{n}{path} HTTP/1.1\",\
             \"status\":{},\"body_bytes_sent\":{},\"http_user_agent\":\"agent {peer} {n}\",\"tenant\":\"t{peer}-{n:x}\",\
             \"trace\":\"{:016x}\",\"size\":{},\"note\":\"{n} {note}\"}}",
            second / 3_600,
            second / 60 % 60,
            second % 60,
            10 + peer,
            n >> 16,
            n >> 8 & 255,
            n & 255,
            [200, 404, 500][n as usize % 3],
            random.below(90_000),
            random.next(),
            random.below(1 << 30),
        )
        .expect("memory");
    }
    log
}

/// Bytes of the holders with these names, of the sum that a refusal prints.
fn holders_bytes(refused: &str, names: &[&str]) -> u64 {
    let bytes = |name: &&str| {
        let line = refused.lines().find(|line| line.ends_with(name)).unwrap_or_else(|| panic!("{name}: {refused}"));
        let size: String = line.trim_start().trim_end_matches(name).split_whitespace().take(2).collect();
        rorqual_pipe::parse_size(&size).unwrap_or_else(|error| panic!("{line}: {error}"))
    };
    names.iter().map(bytes).sum()
}

/// Questions that take all the memory that questions may.
fn wide_questions() -> Vec<(&'static str, Value)> {
    let filter = "path != /none and client != 192.0.2.1 and tenant != none and size > 3";
    let mut questions = vec![
        ("view", json!({"top": 1_000, "buckets": 2_000, "stack": "note", "facets": true, "where": filter})),
        ("view", json!({"top": 1_000, "buckets": 2_000, "stack": "path", "where": "status >= 300"})),
        ("compare", json!({"a": {}, "b": {}, "top": 1_000})),
        ("compare", json!({"a": {"where": "status = 200"}, "b": {"where": "status != 200"}, "top": 1_000})),
        ("rows", json!({"offset": 200_000})),
        ("explain", json!({"select": {"where": "status = 500"}})),
        ("explain", json!({"select": {"where": "bytes >= 45000 and size > 3"}, "where": filter})),
        ("suggest", json!({"text": "1 path ~ \"^/.*9\" 2", "limit": 20, "where": filter})),
    ];
    for field in ["path", "client", "agent", "tenant", "note"] {
        questions.push(("panel", json!({"field": field, "offset": 900, "limit": 100})));
        questions.push(("panel", json!({"field": field, "limit": 100, "search": "1"})));
        questions.push(("rows", json!({"sort": {"field": field, "descending": true}, "offset": 9_900})));
    }
    questions
}

#[test]
fn what_peers_answer_has_room_in_the_memory_that_is_for_it() {
    let folder = TestFolder::new();
    let peers: Vec<Server> = (0..4)
        .map(|peer| {
            let file = folder.file(&format!("{peer}.log"), wide_log(peer));
            Server::start(&["--no-cache", "--sessions", "1", "--memory", "512MiB", &file])
        })
        .collect();
    let (addresses, tokens) = finished(&peers, &folder);
    let args = ["--sessions", "1", "--peers", &addresses, "--peers-tokens", &tokens];
    let refused = rorqual(&["serve", "--port", "0", "--memory", "1MiB"]).args(args).run().exits(2).stderr;
    let (fleet, memory_bytes) = Server::tight(&args);
    let id = session(&fleet);
    let idle_bytes = fleet.running.peak_bytes();
    let ask = |shift: usize| {
        let mut questions = wide_questions();
        questions.rotate_left(shift);
        for (verb, body) in questions {
            let answer = fleet.request("POST", &format!("/api/sessions/{id}/{verb}"), body.to_string().as_bytes()).json();
            assert_eq!(answer["fleet"]["complete"], true, "{verb} {body}: {}", answer["error"]);
            fleet.get(&format!("/api/sessions/{id}"));
            fleet.get(&format!("/api/sessions/{id}/columns"));
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|client| drop(scope.spawn(move || ask(client * 5)))));
    fleet.within(memory_bytes);
    // No memory of others is taken, which did nothing meanwhile.
    let names = [
        "parts of answers of peers",
        "filters of a question to peers",
        "1 answer that is made",
        "32 answers on their way",
        "latest reports",
        "32 large buffers of connections",
    ];
    let (used, most) = (fleet.running.peak_bytes() - idle_bytes, holders_bytes(&refused, &names));
    assert!(used <= most, "{} of {} KiB", used >> 10, most >> 10);
}

#[test]
fn rows_of_tables_by_time_go_on_after_the_first_ten_thousand() {
    let folder = TestFolder::new();
    let row = |n: u64| format!("2025-01-02T{:02}:{:02}:{:02}Z,{n}\n", n / 3_600, n / 60 % 60, n % 60);
    let table = |rest: u64| {
        let rows: String = (0..16_000).filter(|n| n % 2 == rest).map(row).collect();
        folder.file(&format!("{rest}.csv"), format!("moment,number\n{rows}"))
    };
    let peers = [0, 1].map(|rest| Server::start(&["--no-cache", &table(rest)]));
    let (addresses, tokens) = finished(&peers, &folder);
    let fleet = Server::start(&["--peers", &addresses, "--peers-tokens", &tokens]);
    let id = session(&fleet);
    for offset in [0, 9_990, 12_345] {
        let body = json!({"offset": offset, "limit": 20}).to_string();
        let page = fleet.request("POST", &format!("/api/sessions/{id}/rows"), body.as_bytes()).json();
        assert_eq!((&page["sort"]["field"], &page["matching"]), (&json!("moment"), &json!(16_000)), "{page}");
        let numbers: Vec<u64> =
            page["rows"].as_array().expect("rows").iter().filter_map(|row| row["columns"]["number"].as_u64()).collect();
        assert_eq!(numbers, (offset..offset + 20).collect::<Vec<u64>>(), "{page}");
    }
}

/// More fields, and usual values of them, than one question about an explanation has room for.
#[test]
fn wide_tables_of_several_peers_are_explained() {
    const COLUMNS: u64 = 60;
    let folder = TestFolder::new();
    let table = |from: u64| {
        let names: Vec<String> = (0..COLUMNS).map(|column| format!("column_{column}")).collect();
        let row = |n: u64| {
            let kind = if n.is_multiple_of(5) { "odd" } else { "even" };
            let values: Vec<String> = (0..COLUMNS).map(|column| format!("{kind} value {}", (n + column) % 16)).collect();
            values.join(",") + "\n"
        };
        let rows: String = (from..from + 3_000).map(row).collect();
        folder.file(&format!("{from}.csv"), format!("{}\n{rows}", names.join(",")))
    };
    let peers = [0, 1_000].map(|from| Server::start(&["--no-cache", &table(from)]));
    let (addresses, tokens) = finished(&peers, &folder);
    let fleet = Server::start(&["--peers", &addresses, "--peers-tokens", &tokens]);
    let body = json!({"select": {"where": "column_0 ~ \"^odd\""}}).to_string();
    let target = format!("/api/sessions/{}/explain", session(&fleet));
    let found = fleet.request("POST", &target, body.as_bytes()).json();
    let told = (&found["fleet"]["complete"], &found["inside"], &found["outside"]);
    assert_eq!(told, (&json!(true), &json!(1_200), &json!(4_800)), "{:.500}", found.to_string());
    // Of 16 values each a sixteenth of the rows has, and none of the others.
    let first = &found["rows"][0];
    assert!(first["where"].as_str().is_some_and(|text| text.contains("odd value")), "{first}");
    assert_eq!((&first["inside"], &first["outside"]), (&json!(75), &json!(0)), "{first}");
}

#[test]
fn addresses_that_would_show_a_token_and_tokens_that_others_can_read_are_refused() {
    let folder = TestFolder::new();
    let token = "0123456789abcdef0123456789abcdef";
    let tokens = secret(&folder, "tokens", token);
    let open = folder.file("open", token);
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o644)).expect("for all");
    let with_token = format!("http://127.0.0.1:1/?token={token}");
    for (peers, file, said) in [
        (&*with_token, &tokens, "--peers-tokens"),
        ("http://192.0.2.1:1", &tokens, "https is needed"),
        ("http://127.0.0.1:1", &open, "chmod 600"),
        ("http://127.0.0.1:1,http://127.0.0.1:1", &tokens, "twice"),
    ] {
        let ran = rorqual(&["serve", "--port", "0", "--peers", peers, "--peers-tokens", file]).run().exits(2);
        assert!(ran.stderr.contains(said) && !ran.stderr.contains(token), "{}", ran.stderr);
    }
}
