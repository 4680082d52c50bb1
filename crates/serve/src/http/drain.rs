//! The end of a server: nothing new is begun, running work may end within a limit.

use crate::explore::sessions::Sessions;
use crate::session::{Session, SessionState};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// Tells all connections that the server is to end, and knows when they have.
pub(crate) struct Drain {
    ending: watch::Sender<bool>,
}

/// One connection's part in it; its end is noticed by the drop.
pub(crate) struct DrainGuard {
    ending: watch::Receiver<bool>,
}

impl Drain {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { ending: watch::Sender::new(false) })
    }

    pub(crate) fn join(&self) -> DrainGuard {
        DrainGuard { ending: self.ending.subscribe() }
    }

    /// True if the server is about to end.
    pub(crate) fn ending(&self) -> bool {
        *self.ending.borrow()
    }

    /// Lets requests and uploads that run come to their end, for as long as `grace`. Sessions into
    /// which nothing comes now are stopped at once, and with them the views that wait for it.
    /// Returns true if all came to their end.
    pub(crate) async fn finish(&self, sessions: &Sessions, grace: Duration) -> bool {
        self.ending.send_replace(true);
        let last = |session: &Arc<Session>| !session.is_kept();
        sessions.list().iter().filter(|session| !session.uploading() && last(session)).for_each(|session| session.cancel());
        let uploads = async {
            for session in sessions.list() {
                let mut changes = session.changes();
                while session.state() == SessionState::Receiving && changes.changed().await.is_ok() {}
                // One that broke off now has nowhere to come back to, where it is not kept.
                if last(&session) {
                    session.cancel();
                }
            }
        };
        timeout(grace, async { tokio::join!(uploads, self.ending.closed()) }).await.is_ok()
    }
}

impl DrainGuard {
    /// Comes back when the server is to end.
    pub(crate) async fn ending(&mut self) {
        // Its sender lives as long as the server.
        let _ = self.ending.wait_for(|ending| *ending).await;
    }
}
