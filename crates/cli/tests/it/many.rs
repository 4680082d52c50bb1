//! Many uploads at once, and people who look on.

use crate::client::Server;
use rorqual_testkit::many::{Outcome, Plan, run};
use std::time::Duration;

/// Uploads of a second or two, every other one by a WebSocket.
fn many(server: &Server, uploads: usize, viewers: usize) -> Outcome {
    let plan = Plan {
        address: format!("127.0.0.1:{}", server.port),
        token: server.token.clone(),
        uploads,
        bytes_per_second: 200_000,
        bytes: 300_000,
        viewers,
        view_every: Duration::from_millis(200),
        ramp: Duration::from_millis(500),
    };
    run(&plan).expect("threads can be started")
}

/// All came to their lines' totals, and all views were answered.
fn check(outcome: &Outcome) {
    let said = format!("lost {:?}, wrong {:?}, errors {:?}", outcome.lost, outcome.wrong, outcome.errors);
    assert_eq!(outcome.finished, outcome.uploads, "{said}");
    assert!(outcome.views > 0 && outcome.live_events > 0, "nobody looked on");
    assert_eq!(outcome.view_seconds.count, outcome.views, "{said}");
}

#[test]
fn sixty_uploads_with_twenty_viewers_come_to_their_totals() {
    let server = Server::start(&["--sessions", "60", "--connections", "110", "--memory", "8GiB"]);
    let outcome = many(&server, 60, 20);
    check(&outcome);
    assert_eq!((outcome.retries, outcome.errors.len()), (0, 0), "{:?}", outcome.errors);
}

#[test]
fn uploads_that_find_no_place_come_again_when_they_are_told_to() {
    let server = Server::start(&["--sessions", "4", "--connections", "32", "--memory", "1GiB"]);
    let outcome = many(&server, 10, 2);
    check(&outcome);
    assert!(outcome.refused >= 6, "{:?}", outcome.errors);
    assert_eq!(outcome.errors.keys().collect::<Vec<_>>(), ["503 sessions_full"]);
}
