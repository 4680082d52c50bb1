//! Server-sent events: the latest state of a session, at a pace that neither side has trouble with.

use crate::admission::response_permits::PermitOwner;
use crate::explore::sessions::Sessions;
use crate::limits::LIVE_INTERVAL;
use crate::session::shown::SessionView;
use crate::session::{Session, SessionState};
use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::{iter, unfold};
use futures_util::{Stream, StreamExt};
use rorqual_pipe::stats;
use serde::Serialize;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// Everything that the page shows of a session. The report is the bytes that all who look at it
/// share: they are sent as they are, and never copied into an answer.
#[derive(Debug)]
pub(crate) struct LiveState {
    session: SessionView,
    report: Option<Bytes>,
    server: ServerView,
}

/// State of the server for the page.
#[derive(Debug, Serialize)]
pub(crate) struct ServerView {
    version: &'static str,
    memory_max_bytes: u64,
    resident_bytes: Option<u64>,
    peak_bytes: Option<u64>,
    sessions_max: usize,
    threads: usize,
}

impl ServerView {
    pub(crate) fn new(sessions: &Sessions) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            memory_max_bytes: sessions.memory_bytes(),
            resident_bytes: stats::resident_bytes(),
            peak_bytes: stats::peak_bytes(),
            sessions_max: sessions.sessions_max(),
            threads: sessions.threads(),
        }
    }
}

impl LiveState {
    /// The present state, with a ticket for as long as its client has not taken it.
    pub(crate) async fn new(sessions: &Sessions, session: &Arc<Session>, holder: &PermitOwner) -> Self {
        let ticket = holder.ticket().await;
        // Taken before the report: a session shown as finished has its last report.
        let view = session.view(sessions.idle_max());
        let report = session.report().await.map(|report| ticket.on(report));
        Self { session: view, report, server: ServerView::new(sessions) }
    }

    /// JSON between `before` and `after`.
    fn into_parts(self, before: &str, after: &str) -> [Bytes; 3] {
        let json = |value: serde_json::Result<String>| value.unwrap_or_else(|_| "null".to_owned());
        let session = json(serde_json::to_string(&self.session));
        let server = json(serde_json::to_string(&self.server));
        [
            format!("{before}{{\"session\":{session},\"report\":").into(),
            self.report.unwrap_or(Bytes::from_static(b"null")),
            format!(",\"server\":{server}}}{after}").into(),
        ]
    }
}

impl IntoResponse for LiveState {
    fn into_response(self) -> Response {
        let parts = self.into_parts("", "");
        let length: usize = parts.iter().map(Bytes::len).sum();
        let headers = [(header::CONTENT_TYPE, "application/json".to_owned()), (header::CONTENT_LENGTH, length.to_string())];
        (headers, Body::from_stream(iter(parts.map(Ok::<_, Infallible>)))).into_response()
    }
}

/// Somebody who watches a session.
struct LiveWatcher(Arc<Session>);

impl LiveWatcher {
    fn new(session: Arc<Session>) -> Self {
        session.reports().watch();
        Self(session)
    }
}

impl Drop for LiveWatcher {
    fn drop(&mut self) {
        self.0.reports().unwatch();
    }
}

enum LiveStep {
    Show(Option<SessionState>),
    Ended,
}

/// Lives of a session until it has ended, and then `end`, as `text/event-stream`.
pub(crate) fn events(sessions: Arc<Sessions>, session: Arc<Session>, holder: PermitOwner) -> Response {
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    let parts = event_parts(sessions, session, holder).flat_map(|parts| iter(parts.map(Ok::<_, Infallible>)));
    (headers, Body::from_stream(parts)).into_response()
}

/// Made only when the client has taken the one before: the latest wins, and a slow client has no
/// more than one.
fn event_parts(sessions: Arc<Sessions>, session: Arc<Session>, holder: PermitOwner) -> impl Stream<Item = [Bytes; 3]> {
    let changes = session.changes();
    let watching = LiveWatcher::new(session);
    unfold((LiveStep::Show(None), changes), move |(step, mut changes)| {
        let (sessions, session, holder) = (Arc::clone(&sessions), Arc::clone(&watching.0), holder.clone());
        async move {
            let LiveStep::Show(before) = step else { return None };
            if let Some(before) = before {
                if before.ended() {
                    let end = [Bytes::from_static(b"event: end\ndata: {}\n\n"), Bytes::new(), Bytes::new()];
                    return Some((end, (LiveStep::Ended, changes)));
                }
                pause(&mut changes).await;
            }
            session.touch();
            let live = LiveState::new(&sessions, &session, &holder).await;
            let state = live.session.state;
            Some((live.into_parts("event: live\ndata: ", "\n\n"), (LiveStep::Show(Some(state)), changes)))
        }
    })
}

/// Waits for the next turn; shortly when the state changes, as that is news.
async fn pause(changes: &mut watch::Receiver<u64>) {
    sleep(LIVE_INTERVAL / 2).await;
    let _ = timeout(LIVE_INTERVAL / 2, changes.changed()).await;
}
