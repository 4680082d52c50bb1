//! Tests of what takes too long to wait for at the real program.
#![allow(clippy::expect_used, clippy::unwrap_used)]

mod access;
mod common;
mod discard;
mod facets;
mod fleet;
mod openapi;
mod render;
mod socket;
mod store;
mod tls;
mod tus;
mod uploads;
mod wire;

use common::{ask, config};
use rorqual_serve::Server;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

/// Longer than the idle time and the pause between two looks of the housekeeping.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_session_that_nobody_asks_for_is_forgotten_and_its_place_is_free() {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let server = runtime.block_on(Server::bind(config(Duration::from_secs(4)))).expect("a free port");
    let url = server.url();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = runtime.spawn(server.run(async { drop(stopped.await) }, std::future::pending()));
    let new = "POST /api/sessions\n{\"name\": \"test.log\"}";
    assert!(ask(&url, new, "").starts_with("HTTP/1.1 201"));
    // The only place is taken.
    assert!(ask(&url, new, "").starts_with("HTTP/1.1 503"));
    let deadline = Instant::now() + PATIENCE;
    // Looking at the list is not asking for the session.
    while !ask(&url, "GET /api/sessions", "").contains("\"sessions\":[]") {
        assert!(Instant::now() < deadline, "the session was not forgotten");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(ask(&url, new, "").starts_with("HTTP/1.1 201"));
    stop.send(()).expect("it runs");
    runtime.block_on(running).expect("no panic");
}
