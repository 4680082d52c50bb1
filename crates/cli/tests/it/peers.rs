//! `rorqual serve --peers`, by the program.

use crate::client::Server;
use crate::common::{TestFolder, line, rorqual};
use serde_json::{Value, json};
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

#[test]
fn peers_are_shown_by_the_program_and_no_token_is_told() {
    let folder = TestFolder::new();
    let files = [folder.file("a.log", lines(0..3_000)), folder.file("b.log", lines(3_000..7_000))];
    let peers = files.each_ref().map(|file| Server::start(&["--no-cache", file]));
    for peer in &peers {
        peer.when_state(&session(peer), "finished");
    }
    let tokens: String = peers.iter().map(|peer| format!("http://127.0.0.1:{}/?token={}\n", peer.port, peer.token)).collect();
    let tokens = secret(&folder, "tokens", &tokens);
    let addresses = peers.each_ref().map(|peer| format!("http://127.0.0.1:{}", peer.port)).join(",");
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
