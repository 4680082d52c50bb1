//! Parts of this crate for the fuzz targets (`fuzz/src/server`): built for them and for tests
//! alone.
#![allow(clippy::expect_used)]

use crate::admission::PermitKind;
use crate::explore::sessions::Sessions;
use crate::http::acceptor::Acceptor;
use crate::http::access::Access;
use crate::http::auth::{Auth, RequestGate};
use crate::http::disconnect_watch::{DisconnectWatch, UnreadBytes};
use crate::http::token::AccessToken;
use crate::ingest::socket;
use crate::ingest::tus::headers::{Metadata, announced, checksum};
use crate::server::config::Config;
use crate::server::{Server, keep_watch};
use crate::session::NewUpload;
use crate::store::conditions::{RangeRequest, wanted};
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Method};
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{advance, sleep, timeout};

pub use crate::ingest::socket::fuzzing::{ClientHeard, TEXT_BYTES_MAX, hear};
pub use axum::http;

/// Bytes that a connection holds each way: more than an input has, or its answers. For bytes that
/// come while answers back up hyper has an assertion that fails in debug builds.
const PIPE_BYTES: usize = 8 << 20;

/// Longest time of anything, by a clock that goes on by itself while nothing happens; and by the
/// real one, for work of threads.
const PATIENCE: Duration = Duration::from_secs(600);
const PATIENCE_REAL: Duration = Duration::from_secs(6);

/// Time for which a client waits for more: longer than a connection may be silent.
const SILENCE: Duration = Duration::from_secs(150);

/// Step of the clock each [`TICK_EVERY`] while threads work and a client is silent.
const TICK: Duration = Duration::from_secs(5);
const TICK_EVERY: Duration = Duration::from_millis(20);

/// End of a client that has sent all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientEnding {
    /// It sends the end, and reads all that comes.
    Ends,
    /// It reads for some minutes, and leaves.
    Waits,
    /// It leaves at once.
    Leaves,
}

/// A server in this thread, whose connections are in memory and whose clock goes on when nothing
/// happens.
pub struct Surface {
    runtime: Runtime,
    reception: Acceptor,
    sessions: Arc<Sessions>,
    gate: Arc<RequestGate>,
    authority: String,
    unrestored: Vec<String>,
}

impl Surface {
    /// A server.
    ///
    /// # Errors
    /// Why it refuses to start.
    pub fn new(config: Config) -> Result<Self, String> {
        let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime");
        let server = runtime.block_on(Server::bind(config)).map_err(|error| error.to_string())?;
        let authority = server.address().expect("it listens").to_string();
        let unrestored = server.unrestored().to_vec();
        let (reception, sessions, gate) = server.into_parts();
        runtime.spawn(keep_watch(Arc::clone(&sessions), Arc::clone(&gate)));
        Ok(Self { runtime, reception, sessions, gate, authority, unrestored })
    }

    /// The `Host` header.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The token of requests.
    #[must_use]
    pub fn token(&self) -> String {
        self.gate.guard.token.text().to_string()
    }

    /// The key in a browser's cookie.
    #[must_use]
    pub fn key(&self) -> String {
        self.gate.guard.token.key().to_string()
    }

    /// Sessions that were kept and are not offered, each with the reason.
    #[must_use]
    pub fn unrestored(&self) -> &[String] {
        &self.unrestored
    }

    /// All that a connection answers to these writes of its client.
    ///
    /// # Panics
    /// When the connection is not over long after its client left.
    #[must_use]
    pub fn exchange(&self, writes: &[&[u8]], then: ClientEnding) -> Vec<u8> {
        self.runtime.block_on(async {
            let (near, far) = duplex(PIPE_BYTES);
            let taken = self.gate.connections.admit().await;
            let reception = self.reception.clone();
            let connection = tokio::spawn(async move {
                taken.place().begin(UnreadBytes::default());
                reception.answer(near, None, DisconnectWatch::none(), taken).await;
            });
            let clock = (then == ClientEnding::Waits).then(FuzzClock::start);
            let answer = talk(far, writes, then).await;
            patiently("a connection does not end when its client has left", connection).await.expect("no panic");
            drop(clock);
            answer
        })
    }

    /// Takes these reads as the frames of an upload of `size` bytes, where that is announced;
    /// returns the offset, and the server's messages.
    #[must_use]
    pub fn socket(&self, reads: Vec<Vec<u8>>, size: Option<u64>) -> (u64, Vec<u8>) {
        self.runtime.block_on(async {
            let announced = NewUpload::upload("socket.log".to_owned(), size).expect("a short name");
            let session = self.sessions.create(announced, None).expect("there is room");
            let upload = socket::fuzzing::upload(&self.sessions, Arc::clone(&session), reads);
            let said = patiently("an upload does not end with its client", upload).await;
            (session.offset(), said)
        })
    }

    /// Puts all sessions on the disk that go on.
    pub fn keep(&self) {
        self.runtime.block_on(self.sessions.keep_all());
    }

    /// Forgets all sessions but `kept`; whether that is there. Nothing of the others stays.
    ///
    /// # Panics
    /// When something does.
    #[must_use]
    pub fn clear(&self, kept: &str) -> bool {
        self.runtime.block_on(async {
            let clock = (!self.sessions.list().is_empty()).then(FuzzClock::start);
            for session in self.sessions.list().iter().filter(|session| session.id() != kept) {
                // It may be gone by itself.
                drop(patiently("a session does not end", self.sessions.remove(session.id())).await);
            }
            patiently("something did not come home", async {
                while self.held() != [0; 5] {
                    sleep(Duration::from_secs(1)).await;
                }
            })
            .await;
            drop(clock);
            let left = self.sessions.list();
            assert!(left.iter().all(|session| session.id() == kept), "a session stays");
            !left.is_empty()
        })
    }

    /// Permits that requests took and have to give back: blocks, exports, answers, bodies,
    /// connections.
    fn held(&self) -> [u64; 5] {
        let [answers, bodies] = [PermitKind::Answer, PermitKind::Body].map(|kind| self.gate.admission.pool(kind).taken());
        let (known, _, strangers) = self.gate.connections.counts();
        let counts = [self.sessions.exports().taken(), answers, bodies, known + strangers];
        let [exports, answers, bodies, connections] = counts.map(|count| count as u64);
        [self.sessions.taken().pool_lent_bytes, exports, answers, bodies, connections]
    }
}

/// The result of `future`, unless that takes too long by both clocks.
async fn patiently<T>(what: &str, future: impl Future<Output = T>) -> T {
    let begun = Instant::now();
    let mut future = pin!(future);
    loop {
        if let Ok(made) = timeout(PATIENCE, future.as_mut()).await {
            return made;
        }
        assert!(begun.elapsed() < PATIENCE_REAL, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A client.
async fn talk(mut far: DuplexStream, writes: &[&[u8]], then: ClientEnding) -> Vec<u8> {
    for write in writes {
        // A connection that is over takes no more.
        let _ = patiently("it is neither read nor refused", far.write_all(write)).await;
        yield_now().await;
    }
    let mut answer = Vec::new();
    if then == ClientEnding::Ends {
        let _ = far.shutdown().await;
    }
    if then != ClientEnding::Leaves {
        // An answer that lives on has no end.
        let _ = timeout(SILENCE, far.read_to_end(&mut answer)).await;
    }
    answer
}

/// Lets the paused clock go on while threads of the server wait for their client, which a runtime's
/// own does not.
struct FuzzClock {
    task: JoinHandle<()>,
    ends: std::sync::mpsc::Sender<()>,
}

impl FuzzClock {
    fn start() -> Self {
        let tick = Arc::new(Notify::new());
        let (ends, ended) = std::sync::mpsc::channel::<()>();
        let ticks = Arc::clone(&tick);
        std::thread::spawn(move || {
            while ended.recv_timeout(TICK_EVERY) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                ticks.notify_one();
            }
        });
        let task = tokio::spawn(async move {
            loop {
                tick.notified().await;
                advance(TICK).await;
            }
        });
        Self { task, ends }
    }
}

impl Drop for FuzzClock {
    fn drop(&mut self) {
        self.task.abort();
        let _ = self.ends.send(());
    }
}

/// An authorisation with a token of its own.
pub struct AuthDoor(Auth);

impl AuthDoor {
    /// The guard of a server at this address.
    #[must_use]
    pub fn new(address: std::net::SocketAddr) -> Self {
        let token = AccessToken::new(None).expect("randomness");
        Self(Auth::new(token, Access::default().names(address), address.port(), false))
    }

    /// The credential that it wants.
    #[must_use]
    pub fn token(&self) -> String {
        self.0.token.text().to_string()
    }

    /// The session key that a browser has for it.
    #[must_use]
    pub fn key(&self) -> String {
        self.0.token.key().to_string()
    }

    /// The status by which such a request is refused.
    #[must_use]
    pub fn refuses(&self, method: &Method, target: &str, headers: &HeaderMap) -> Option<u16> {
        let mut request = Request::builder().method(method).uri(target).body(Body::empty()).ok()?;
        *request.headers_mut() = headers.clone();
        self.0.check(&request).err().map(|error| error.status().as_u16())
    }
}

/// Answer to a GET of an entry of `size_bytes` with this tag: a status, and the range that is sent.
#[must_use]
pub fn part(headers: &HeaderMap, etag: &str, size_bytes: u64) -> (u16, Option<Range<u64>>) {
    match wanted(headers, &Method::GET, etag, size_bytes) {
        RangeRequest::Whole => (200, Some(0..size_bytes)),
        RangeRequest::Part(part) => (206, Some(part)),
        RangeRequest::NotModified => (304, None),
        RangeRequest::Failed => (412, None),
        RangeRequest::OutOfRange => (416, None),
    }
}

/// Values of tus headers: a size, a name, a checksum's algorithm and bytes; or the status that
/// refuses it.
pub type TusSaid<T> = Result<Option<T>, u16>;

/// The size that is announced.
///
/// # Errors
/// The status of the refusal.
pub fn tus_size(headers: &HeaderMap) -> TusSaid<u64> {
    announced(headers).map_err(|error| error.status().as_u16())
}

/// The name of the file.
///
/// # Errors
/// The status of the refusal.
pub fn tus_name(headers: &HeaderMap) -> TusSaid<String> {
    Metadata::of(headers).map(|metadata| metadata.filename).map_err(|error| error.status().as_u16())
}

/// The checksum, as its algorithm and bytes.
///
/// # Errors
/// The status of the refusal.
pub fn tus_checksum(headers: &HeaderMap) -> TusSaid<(&'static str, Vec<u8>)> {
    let digest = checksum(headers).map_err(|error| error.status().as_u16())?;
    Ok(digest.map(|digest| (digest.algorithm().name(), digest.as_bytes().to_vec())))
}
