//! Many uploads at once, and observers.

use crate::client::Server;
use crate::common::MIB;
use rorqual_testkit::many::{LoadOutcome, LoadPlan, run};
use std::time::Duration;

/// Uploads of a second or two, every other one by a WebSocket.
fn plan(server: &Server, uploads: usize, viewers: usize) -> LoadPlan {
    LoadPlan {
        address: format!("127.0.0.1:{}", server.port),
        token: server.token.clone(),
        uploads,
        bytes_per_second: 200_000,
        bytes: 300_000,
        viewers,
        view_every: Duration::from_millis(200),
        ramp: Duration::from_millis(500),
    }
}

fn many(server: &Server, uploads: usize, viewers: usize) -> LoadOutcome {
    run(&plan(server, uploads, viewers)).expect("threads can be started")
}

/// All came to their lines' totals, and all views were answered.
fn check(outcome: &LoadOutcome) {
    let said = format!("lost {:?}, wrong {:?}, errors {:?}", outcome.lost, outcome.wrong, outcome.errors);
    assert_eq!(outcome.finished, outcome.uploads, "{said}");
    assert!(outcome.views > 0 && outcome.live_events > 0, "nobody looked on");
    assert_eq!(outcome.view_seconds.count, outcome.views, "{said}");
}

#[test]
fn sixty_uploads_with_twenty_viewers_come_to_their_totals() {
    let (server, memory) = Server::tight(&["--sessions", "60", "--connections", "110"]);
    let outcome = many(&server, 60, 20);
    check(&outcome);
    assert_eq!((outcome.retries, outcome.errors.len()), (0, 0), "{:?}", outcome.errors);
    server.within(memory);
}

#[test]
fn a_thousand_uploads_at_once_come_to_their_totals_in_512_mib() {
    let args = ["--sessions", "1000", "--connections", "1100", "--memory", "512MiB"];
    let server = Server::start(&args);
    let plan = LoadPlan { bytes_per_second: 10_000, bytes: 40_000, ramp: Duration::from_secs(3), ..plan(&server, 1_000, 4) };
    let outcome = run(&plan).expect("threads can be started");
    check(&outcome);
    assert_eq!((outcome.retries, outcome.errors.len()), (0, 0), "{:?}", outcome.errors);
    server.within(512 * MIB);
}

#[test]
fn uploads_that_find_no_place_come_again_when_they_are_told_to() {
    let server = Server::start(&["--sessions", "4", "--connections", "32", "--memory", "1GiB"]);
    let outcome = many(&server, 10, 2);
    check(&outcome);
    assert!(outcome.refused >= 6, "{:?}", outcome.errors);
    assert_eq!(outcome.errors.keys().collect::<Vec<_>>(), ["503 sessions_full"]);
}
