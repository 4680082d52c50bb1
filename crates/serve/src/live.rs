//! Server-sent events: the latest state of a session, at a pace that neither side has trouble with.

use crate::api::App;
use crate::limits::LIVE_INTERVAL;
use crate::session::{Session, State, View};
use axum::response::sse::Event;
use futures_util::Stream;
use futures_util::stream::unfold;
use rorqual_pipe::stats;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// Everything that the page shows of a session.
#[derive(Debug, Serialize)]
pub(crate) struct Live {
    session: View,
    #[serde(serialize_with = "shared_json")]
    report: Option<Arc<RawValue>>,
    server: ServerView,
}

/// What the page shows of the server.
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
    pub(crate) fn new(app: &App) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            memory_max_bytes: app.sessions.memory_bytes(),
            resident_bytes: stats::resident_bytes(),
            peak_bytes: stats::peak_bytes(),
            sessions_max: app.sessions.sessions_max(),
            threads: app.sessions.threads(),
        }
    }
}

impl Live {
    /// What is known now. The report is made on a blocking thread: it goes over all tables.
    pub(crate) async fn new(app: &App, session: &Arc<Session>) -> Self {
        let view = session.view(app.sessions.idle_max());
        let worker = Arc::clone(session);
        let report = tokio::task::spawn_blocking(move || worker.report(LIVE_INTERVAL)).await.ok().flatten();
        Self { session: view, report, server: ServerView::new(app) }
    }
}

fn shared_json<S: Serializer>(report: &Option<Arc<RawValue>>, serializer: S) -> Result<S::Ok, S::Error> {
    report.as_deref().serialize(serializer)
}

enum Step {
    Show(Option<State>),
    Ended,
}

/// Lives of a session until it has ended, and then `end`. Made only when the client takes the one before: the
/// latest wins, and a slow client costs nothing.
pub(crate) fn events(app: Arc<App>, session: Arc<Session>) -> impl Stream<Item = Result<Event, Infallible>> {
    let changes = session.changes();
    unfold((Step::Show(None), changes), move |(step, mut changes)| {
        let (app, session) = (Arc::clone(&app), Arc::clone(&session));
        async move {
            let Step::Show(before) = step else { return None };
            if let Some(before) = before {
                if before.ended() {
                    return Some((Ok(Event::default().event("end").data("{}")), (Step::Ended, changes)));
                }
                pause(&mut changes).await;
            }
            session.touch();
            let live = Live::new(&app, &session).await;
            let state = live.session.state;
            let event = Event::default().event("live").json_data(&live).unwrap_or_default();
            Some((Ok(event), (Step::Show(Some(state)), changes)))
        }
    })
}

/// Waits for the next turn; shortly when the state changes, as that is news.
async fn pause(changes: &mut watch::Receiver<u64>) {
    sleep(LIVE_INTERVAL / 2).await;
    let _ = timeout(LIVE_INTERVAL / 2, changes.changed()).await;
}
