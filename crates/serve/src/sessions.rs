//! All sessions, and the limits on them.

use crate::error::ApiError;
use crate::guard::random_text;
use crate::limits::ENDED_SESSIONS_MAX;
use crate::session::Session;
use axum::http::StatusCode;
use rorqual_table::analyze::{Settings, Shares};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes of randomness in a session's id.
const ID_BYTES: usize = 8;

/// The sessions, oldest first.
pub(crate) struct Sessions {
    all: Mutex<Vec<Arc<Session>>>,
    settings: Settings,
    shares: Shares,
    sessions_max: usize,
    rate_limit: Option<u64>,
    idle_max: Duration,
}

impl Sessions {
    pub(crate) fn new(
        settings: Settings,
        shares: Shares,
        sessions_max: usize,
        rate_limit: Option<u64>,
        idle_max: Duration,
    ) -> Self {
        Self { all: Mutex::default(), settings, shares, sessions_max, rate_limit, idle_max }
    }

    /// A new session, if there is room for one more that runs.
    pub(crate) fn create(
        &self,
        name: String,
        size: Option<u64>,
        is_file: bool,
        format: Option<rorqual_table::format::Format>,
    ) -> Result<Arc<Session>, ApiError> {
        let mut all = self.lock();
        let running = all.iter().filter(|session| !session.state().ended()).count();
        if running >= self.sessions_max {
            let message = format!("{running} sessions are open, which is the limit (--sessions); cancel one, or try again later");
            return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "sessions_full", message).retry_after(5));
        }
        let id = random_text(ID_BYTES)
            .map_err(|error| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "no_randomness", error.to_string()))?;
        let mut settings = self.settings.clone();
        if format.is_some() {
            settings.formats.given = format;
        }
        let session = Arc::new(Session::new(id, name, size, is_file, &settings, self.shares, self.rate_limit));
        all.push(Arc::clone(&session));
        let ended: Vec<String> =
            all.iter().filter(|session| session.state().ended()).map(|session| session.id().to_owned()).collect();
        let surplus = ended.len().saturating_sub(ENDED_SESSIONS_MAX);
        all.retain(|session| !ended[..surplus].iter().any(|id| id == session.id()));
        Ok(session)
    }

    pub(crate) fn get(&self, id: &str) -> Result<Arc<Session>, ApiError> {
        let found = self.lock().iter().find(|session| session.id() == id).cloned();
        let session = found.ok_or_else(|| {
            ApiError::new(
                StatusCode::NOT_FOUND,
                "no_session",
                "there is no such session; it may have been forgotten after its idle time",
            )
        })?;
        session.touch();
        Ok(session)
    }

    /// All sessions, newest first.
    pub(crate) fn list(&self) -> Vec<Arc<Session>> {
        self.lock().iter().rev().cloned().collect()
    }

    /// Stops and forgets a session.
    pub(crate) fn remove(&self, id: &str) -> Result<(), ApiError> {
        self.get(id)?.cancel();
        self.lock().retain(|session| session.id() != id);
        Ok(())
    }

    /// Forgets sessions that nobody has asked for in the idle time.
    pub(crate) fn forget_idle(&self) {
        let mut all = self.lock();
        // Asked once: to cancel a session is to touch it.
        all.retain(|session| {
            let idle = session.idle() > self.idle_max;
            if idle {
                session.cancel();
            }
            !idle
        });
    }

    /// Stops all sessions.
    pub(crate) fn cancel_all(&self) {
        self.lock().iter().for_each(|session| session.cancel());
    }

    pub(crate) fn idle_max(&self) -> Duration {
        self.idle_max
    }

    pub(crate) fn sessions_max(&self) -> usize {
        self.sessions_max
    }

    pub(crate) fn threads(&self) -> usize {
        self.shares.threads
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.settings.memory_bytes
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Session>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
