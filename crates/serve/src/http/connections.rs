//! Places for connections: those that have shown the token, and a few for strangers, who give way
//! to one another.

use crate::admission::{Admission, PermitGuard, PermitKind, PermitPool};
use crate::http::disconnect_watch::UnreadBytes;
use crate::http::token::AccessGrant;
use crate::limits::{CONNECTION_BUFFER_BYTES, DISPLACED_TIME_MAX, NARROW_BUFFER_BYTES, STRANGERS_MAX, UNREAD_RETRY_TIME};
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

/// All connections of a server.
pub(crate) struct Connections {
    known: PermitPool,
    wide: PermitPool,
    /// Connections that have not shown the token yet, oldest first.
    strangers: Mutex<VecDeque<Arc<ConnectionSlot>>>,
    /// Connections that have shown it, and are asked over and over; not those that became a socket.
    welcomed: Mutex<Vec<Arc<ConnectionSlot>>>,
    /// So long a stranger may stay when all places are wanted, and so long a known one may have
    /// nothing to ask.
    grace: Duration,
    /// A stranger left.
    freed: Notify,
}

/// One connection's place.
pub(crate) struct ConnectionSlot {
    /// Time of the first look at it: before that it waited for us, and not we for it.
    since: OnceLock<Instant>,
    unread: OnceLock<UnreadBytes>,
    known: OnceLock<PermitGuard>,
    /// It reads in large pieces.
    wide: Option<PermitGuard>,
    /// It showed the token, and waits for a place among the known.
    waits: OnceLock<()>,
    answers: Mutex<AnswerKind>,
    leave: Notify,
}

/// Requests of a connection.
struct AnswerKind {
    /// Requests whose answers are not sent yet.
    open: usize,
    /// Since when there are none.
    since: Instant,
    /// It was told to leave.
    leaves: bool,
    /// It was asked for something.
    begun: bool,
    /// The grant of the latest request; `None` until it is known.
    pass: Option<AccessGrant>,
}

/// A request, until its answer is sent.
pub(crate) struct RequestInFlight(Arc<ConnectionSlot>);

/// A place that is given back when its connection ends.
pub(crate) struct SlotGuard {
    connections: Arc<Connections>,
    place: Arc<ConnectionSlot>,
}

impl Connections {
    pub(crate) fn new(admission: &Admission, grace: Duration) -> Arc<Self> {
        Arc::new(Self {
            known: admission.pool(PermitKind::Connection),
            wide: admission.pool(PermitKind::WideConnection),
            strangers: Mutex::default(),
            welcomed: Mutex::default(),
            grace,
            freed: Notify::new(),
        })
    }

    /// A place for a connection that was just made. Where all are taken, the stranger that has been
    /// silent longest leaves once it had the time to show its token: who never does holds up others
    /// by that for each round of places, and many who come at once are all served.
    pub(crate) async fn admit(self: &Arc<Self>) -> SlotGuard {
        loop {
            let freed = self.freed.notified();
            match self.try_admit() {
                Ok(place) => return SlotGuard { connections: Arc::clone(self), place },
                Err(None) => freed.await,
                Err(Some(left)) => drop(timeout(left, freed).await),
            }
        }
    }

    /// A place, or the time after which there may be one; nothing where all of them wait for a
    /// place among the known.
    fn try_admit(&self) -> Result<Arc<ConnectionSlot>, Option<Duration>> {
        let mut strangers = self.lock();
        if strangers.len() >= STRANGERS_MAX {
            let waits = |place: &ConnectionSlot| place.waits.get().is_some();
            let remaining = strangers.iter().filter(|place| !waits(place)).map(|place| self.remaining(place)).min();
            let remaining = remaining.ok_or(None)?;
            // On a busy machine the bytes of a request may lie in the socket for longer than the
            // grace, before the runtime hears of them: its client was in time.
            let silent = |place: &ConnectionSlot| self.remaining(place).is_zero() && !place.has_unread();
            let Some(oldest) = strangers.iter().position(|place| !waits(place) && silent(place)) else {
                return Err(Some(remaining.max(UNREAD_RETRY_TIME)));
            };
            strangers.remove(oldest).inspect(|place| place.leave.notify_one());
        }
        let place = Arc::new(ConnectionSlot::new(self.wide.try_acquire()));
        strangers.push_back(Arc::clone(&place));
        Ok(place)
    }

    /// Grace of a stranger that it has still.
    fn remaining(&self, place: &ConnectionSlot) -> Duration {
        place.since.get().map_or(self.grace, |since| self.grace.saturating_sub(since.elapsed()))
    }

    /// Gives a stranger that showed the token its place among the known. Where there is none, the
    /// one that has asked for nothing for longest leaves; while all are asked, it waits.
    pub(crate) async fn welcome(&self, place: &Arc<ConnectionSlot>) {
        if place.known.get().is_some() || place.waits.set(()).is_err() {
            return;
        }
        // Set once: it did not wait before.
        let _ = place.known.set(self.permit().await);
        lock(&self.welcomed).push(Arc::clone(place));
        self.dismiss(place);
    }

    async fn permit(&self) -> PermitGuard {
        if let Some(permit) = self.known.try_acquire() {
            return permit;
        }
        // It keeps its turn while others are told to leave.
        let mut permit = pin!(self.known.acquire());
        loop {
            let until = self.displace();
            if let Ok(permit) = timeout(until, permit.as_mut()).await {
                return permit;
            }
        }
    }

    /// Tells the connection that has asked for nothing for longest to leave, once it had its grace;
    /// and how long that will take, or until there may be one.
    fn displace(&self) -> Duration {
        let welcomed = lock(&self.welcomed);
        let mut idle: Vec<_> = welcomed.iter().filter_map(|place| Some((place.idle_since()?, place))).collect();
        idle.sort_unstable_by_key(|(since, _)| *since);
        let mut graced = idle.iter().filter(|(since, _)| since.elapsed() >= self.grace);
        if let Some((_, place)) = graced.find(|(_, place)| !place.has_unread()) {
            lock(&place.answers).leaves = true;
            place.leave.notify_one();
            return DISPLACED_TIME_MAX;
        }
        let remaining = idle.iter().map(|(since, _)| self.grace.saturating_sub(since.elapsed()));
        remaining.min().map_or(self.grace, |remaining| remaining.max(UNREAD_RETRY_TIME))
    }

    /// Connections that have shown the token, how many places there are for such, and those that
    /// have not.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        (self.known.taken(), self.known.count(), self.lock().len())
    }

    /// Connections that are wide.
    pub(crate) fn wide(&self) -> usize {
        self.wide.taken()
    }

    fn dismiss(&self, place: &Arc<ConnectionSlot>) {
        self.lock().retain(|other| !Arc::ptr_eq(other, place));
        self.freed.notify_waiters();
    }

    /// A connection has ended, or is a socket from now on, which keeps its place by itself.
    fn forget(&self, place: &Arc<ConnectionSlot>) {
        lock(&self.welcomed).retain(|other| !Arc::ptr_eq(other, place));
        self.dismiss(place);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<ConnectionSlot>>> {
        lock(&self.strangers)
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ConnectionSlot {
    fn new(wide: Option<PermitGuard>) -> Self {
        let answers = Mutex::new(AnswerKind { open: 0, since: Instant::now(), leaves: false, begun: false, pass: None });
        Self {
            since: OnceLock::new(),
            unread: OnceLock::new(),
            known: OnceLock::new(),
            wide,
            waits: OnceLock::new(),
            answers,
            leave: Notify::new(),
        }
    }

    /// A request came; it is open until the returned guard is dropped.
    pub(crate) fn asked(self: &Arc<Self>) -> RequestInFlight {
        let mut answers = lock(&self.answers);
        answers.open += 1;
        answers.begun = true;
        answers.pass = None;
        RequestInFlight(Arc::clone(self))
    }

    /// True if it was never asked for anything.
    pub(crate) fn is_unasked(&self) -> bool {
        !lock(&self.answers).begun
    }

    /// Sets the grant of the latest request.
    pub(crate) fn show(&self, pass: AccessGrant) {
        lock(&self.answers).pass = Some(pass);
    }

    /// True if it is answering to a token that is none any longer.
    pub(crate) fn is_revoked(&self) -> bool {
        let answers = lock(&self.answers);
        answers.open > 0 && answers.pass.as_ref().is_some_and(AccessGrant::is_revoked)
    }

    /// Since when it has been asked for nothing; `None` while it is, or where it leaves already.
    fn idle_since(&self) -> Option<Instant> {
        let answers = lock(&self.answers);
        (answers.open == 0 && !answers.leaves).then_some(answers.since)
    }

    /// True if it is among those that have shown the token.
    pub(crate) fn is_known(&self) -> bool {
        self.known.get().is_some()
    }

    /// Its connection is looked at from now on; `unread` are its bytes that are not read yet.
    pub(crate) fn begin(&self, unread: UnreadBytes) {
        let _ = (self.unread.set(unread), self.since.set(Instant::now()));
    }

    fn has_unread(&self) -> bool {
        self.unread.get().is_some_and(UnreadBytes::are_there)
    }

    pub(crate) fn is_wide(&self) -> bool {
        self.wide.is_some()
    }

    /// Bytes that it may read at once.
    pub(crate) fn buffer_bytes(&self) -> usize {
        if self.is_wide() { CONNECTION_BUFFER_BYTES } else { NARROW_BUFFER_BYTES }
    }
}

impl SlotGuard {
    pub(crate) fn place(&self) -> &Arc<ConnectionSlot> {
        &self.place
    }

    /// True if it has shown the token.
    pub(crate) fn is_known(&self) -> bool {
        self.place.is_known()
    }

    /// Comes back when this connection has to leave. A stranger that was told to give way, and
    /// whose token came before it did, has a place among the known and stays.
    pub(crate) async fn leave(&self) {
        loop {
            self.place.leave.notified().await;
            if !self.is_known() || lock(&self.place.answers).leaves {
                return;
            }
        }
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        self.connections.forget(&self.place);
    }
}

impl Drop for RequestInFlight {
    fn drop(&mut self) {
        let mut answers = lock(&self.0.answers);
        answers.open -= 1;
        answers.since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::{Connections, SlotGuard};
    use crate::admission::{Admission, AdmissionCounts};
    use crate::http::disconnect_watch::{DisconnectWatch, UnreadBytes};
    use crate::limits::STRANGERS_MAX;
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::time::{Instant, advance, timeout};

    const GRACE: Duration = Duration::from_millis(100);

    fn places(connections: usize) -> Admission {
        Admission::new(&AdmissionCounts { connections, ..AdmissionCounts::default() })
    }

    async fn known(connections: &Arc<Connections>) -> SlotGuard {
        let taken = connections.admit().await;
        connections.welcome(taken.place()).await;
        taken
    }

    async fn leaves(taken: &SlotGuard) -> bool {
        timeout(Duration::ZERO, taken.leave()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn the_one_that_asked_for_nothing_for_longest_gives_way_once_it_had_its_grace() {
        let connections = Connections::new(&places(3), GRACE);
        let (busy, first, second) = (known(&connections).await, known(&connections).await, known(&connections).await);
        let answering = busy.place().asked();
        advance(GRACE / 2).await;
        // Asked again, it is no longer the one that was idle for longest.
        drop(first.place().asked());
        let new = connections.admit().await;
        let (all, place) = (Arc::clone(&connections), Arc::clone(new.place()));
        let started = Instant::now();
        let waiting = tokio::spawn(async move { all.welcome(&place).await });
        timeout(GRACE * 10, second.leave()).await.expect("it is told to leave");
        assert!(started.elapsed() >= GRACE / 2 && started.elapsed() < GRACE, "{:?}", started.elapsed());
        assert!(!new.is_known() && !leaves(&first).await && !leaves(&busy).await);
        drop(second);
        waiting.await.expect("no panic");
        assert!(new.is_known() && !leaves(&first).await, "one place was wanted, and one given");
        drop(answering);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stranger_that_shows_its_token_as_it_is_told_to_leave_stays() {
        let connections = Connections::new(&places(1), GRACE);
        let mut strangers = Vec::new();
        for _ in 0..STRANGERS_MAX {
            strangers.push(connections.admit().await);
        }
        strangers.iter().for_each(|stranger| stranger.place().begin(UnreadBytes::default()));
        advance(GRACE).await;
        let _new = connections.admit().await;
        // It was told, and its request was read before it saw that.
        connections.welcome(strangers[0].place()).await;
        assert!(strangers[0].is_known() && !leaves(&strangers[0]).await);
        // As one of the known it gives way like any other.
        connections.displace();
        advance(GRACE).await;
        connections.displace();
        assert!(leaves(&strangers[0]).await);
    }

    #[tokio::test]
    async fn a_stranger_whose_bytes_were_not_read_yet_stays() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let connections = Connections::new(&places(1), Duration::ZERO);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let mut client = tokio::net::TcpStream::connect(listener.local_addr().expect("bound")).await.expect("it listens");
        let (mut stream, watch) = DisconnectWatch::of(listener.accept().await.expect("a client").0).expect("a socket");
        let asking = connections.admit().await;
        asking.place().begin(watch.unread());
        let mut strangers = Vec::new();
        for _ in 1..STRANGERS_MAX {
            strangers.push(connections.admit().await);
            strangers.last().expect("one").place().begin(UnreadBytes::default());
        }
        client.write_all(b"GET / HTTP/1.1").await.expect("it is open");
        stream.readable().await.expect("it is open");
        // The oldest one is passed over as long as its bytes lie there.
        strangers.push(connections.admit().await);
        strangers.last().expect("one").place().begin(UnreadBytes::default());
        assert!(leaves(&strangers[0]).await && !leaves(&asking).await);
        stream.read_exact(&mut [0; 14]).await.expect("they are there");
        let _new = connections.admit().await;
        assert!(leaves(&asking).await && !leaves(&strangers[1]).await);
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_asked_stays_and_so_does_a_socket() {
        let connections = Connections::new(&places(2), GRACE);
        let (busy, upgraded) = (known(&connections).await, known(&connections).await);
        let answering = busy.place().asked();
        // The part of a connection that a socket keeps when its HTTP is over.
        let socket = Arc::clone(upgraded.place());
        drop(upgraded);
        let new = connections.admit().await;
        assert!(timeout(GRACE * 100, connections.welcome(new.place())).await.is_err(), "nobody is idle");
        assert!(!leaves(&busy).await);
        drop((answering, socket));
        assert_eq!(connections.counts().0, 1);
    }
}
