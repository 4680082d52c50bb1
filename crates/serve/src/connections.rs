//! Places for connections: those that have shown the token, and a few for strangers, who give way to one another.

use crate::limits::{CONNECTION_BUFFER_BYTES, CONNECTIONS_WIDE, NARROW_BUFFER_BYTES, STRANGERS_MAX};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// All connections of a server.
pub(crate) struct Connections {
    known: Arc<Semaphore>,
    known_max: usize,
    wide: Arc<Semaphore>,
    /// Connections that have not shown the token yet, oldest first.
    strangers: Mutex<VecDeque<Arc<Place>>>,
    /// So long each of them may stay when all places are wanted.
    grace: Duration,
    /// A stranger left.
    freed: Notify,
}

/// One connection's place.
pub(crate) struct Place {
    /// When it was first looked at: what came before waits for us, and not we for it.
    since: OnceLock<Instant>,
    known: OnceLock<OwnedSemaphorePermit>,
    /// It reads in large pieces.
    wide: Option<OwnedSemaphorePermit>,
    /// It showed the token, and waits for a place among the known.
    waits: OnceLock<()>,
    leave: Notify,
}

/// A place that is given back when its connection ends.
pub(crate) struct Taken {
    connections: Arc<Connections>,
    place: Arc<Place>,
}

impl Connections {
    /// With places for so many that have shown the token.
    pub(crate) fn new(known_max: usize, grace: Duration) -> Arc<Self> {
        let known = Arc::new(Semaphore::new(known_max));
        let wide = Arc::new(Semaphore::new(CONNECTIONS_WIDE));
        Arc::new(Self { known, known_max, wide, strangers: Mutex::default(), grace, freed: Notify::new() })
    }

    /// A place for a connection that was just made. Where all are taken, the stranger that has been silent longest leaves once it
    /// had the time to show its token: who never does holds up others by that for each round of places, and many who come at once are all served.
    pub(crate) async fn admit(self: &Arc<Self>) -> Taken {
        loop {
            let freed = self.freed.notified();
            match self.try_admit() {
                Ok(place) => return Taken { connections: Arc::clone(self), place },
                Err(None) => freed.await,
                Err(Some(left)) => drop(timeout(left, freed).await),
            }
        }
    }

    /// A place, or how long the oldest stranger has still; nothing where all of them wait for a place among the known.
    fn try_admit(&self) -> Result<Arc<Place>, Option<Duration>> {
        let mut strangers = self.lock();
        if strangers.len() >= STRANGERS_MAX {
            let oldest = strangers.iter().position(|place| place.waits.get().is_none()).ok_or(None)?;
            let since = strangers[oldest].since.get();
            let left = since.map_or(self.grace, |since| self.grace.saturating_sub(since.elapsed()));
            if !left.is_zero() {
                return Err(Some(left));
            }
            strangers.remove(oldest).inspect(|place| place.leave.notify_one());
        }
        let place = Arc::new(Place::new(Arc::clone(&self.wide).try_acquire_owned().ok()));
        strangers.push_back(Arc::clone(&place));
        Ok(place)
    }

    /// Gives a stranger that showed the token its place among the known; waits while there is none.
    pub(crate) async fn welcome(&self, place: &Arc<Place>) {
        if place.known.get().is_some() || place.waits.set(()).is_err() {
            return;
        }
        if let Ok(permit) = Arc::clone(&self.known).acquire_owned().await {
            // Set once: it did not wait before.
            let _ = place.known.set(permit);
        }
        self.dismiss(place);
    }

    /// Connections that have shown the token, how many places there are for such, and those that have not.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        (self.known_max - self.known.available_permits(), self.known_max, self.lock().len())
    }

    /// Connections that are wide.
    pub(crate) fn wide(&self) -> usize {
        CONNECTIONS_WIDE - self.wide.available_permits()
    }

    fn dismiss(&self, place: &Arc<Place>) {
        self.lock().retain(|other| !Arc::ptr_eq(other, place));
        self.freed.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Place>>> {
        self.strangers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    fn new(wide: Option<OwnedSemaphorePermit>) -> Self {
        Self { since: OnceLock::new(), known: OnceLock::new(), wide, waits: OnceLock::new(), leave: Notify::new() }
    }

    /// Whether it is among those that have shown the token.
    pub(crate) fn is_known(&self) -> bool {
        self.known.get().is_some()
    }

    /// Its connection is looked at from now on.
    pub(crate) fn begin(&self) {
        let _ = self.since.set(Instant::now());
    }

    pub(crate) fn is_wide(&self) -> bool {
        self.wide.is_some()
    }

    /// What it may read at once.
    pub(crate) fn buffer_bytes(&self) -> usize {
        if self.is_wide() { CONNECTION_BUFFER_BYTES } else { NARROW_BUFFER_BYTES }
    }
}

impl Taken {
    pub(crate) fn place(&self) -> &Arc<Place> {
        &self.place
    }

    /// Whether it has shown the token.
    pub(crate) fn is_known(&self) -> bool {
        self.place.is_known()
    }

    /// Comes back when this connection has to leave.
    pub(crate) async fn leave(&self) {
        self.place.leave.notified().await;
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.connections.dismiss(&self.place);
    }
}
