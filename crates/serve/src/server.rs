//! The listening socket and what runs behind it.

use crate::access::Access;
use crate::api::{render_router, router};
use crate::connections::{Answering, Connections, Taken};
use crate::descriptors;
use crate::drain::Drain;
use crate::exports::ViewPage;
use crate::guard::{Gate, Guard};
use crate::limits::{
    ANSWER_MADE_BYTES, ANSWERS_MAX, BODIES_MAX, BODY_BYTES, CONNECTION_BYTES, CONNECTIONS_WIDE, ENDED_SESSION_BYTES,
    ENDED_SESSIONS_MAX, EXPORT_BYTES, EXPORTS_MAX, FEED_BUFFERS, HEAD_TIME_MAX, HOUSEKEEPING_EVERY, KEEP_TIME_MAX, KEEPING_BYTES,
    MEASURED_BYTES_MIN, NARROW_BYTES, PROGRAM_BYTES, PUT_BYTES, PUTS_MAX, READ_BYTES, READS_MAX, RENDER_BYTES, REPORT_BYTES_MAX,
    REPORTS_KEPT_BYTES, SESSION_BYTES, STORE_BYTES, STRANGER_GRACE, STRANGER_GRACE_REMOTE, STRANGERS_MAX, TLS_BYTES,
    TLS_NARROW_BYTES, TLS_SEND_BYTES_MAX, TLS_SEND_NARROW_BYTES_MAX, UNACCEPTED_SAID_EVERY,
};
use crate::linger::Lingering;
use crate::measures::recorded;
use crate::render::{Rendering, Renders};
use crate::session::Announced;
use crate::sessions::Sessions;
use crate::stall::{self, Stalling};
use crate::state::StateDir;
use crate::store::{self, Shelf};
use crate::tickets::Tickets;
use crate::tls::Tls;
use crate::token::Token;
use crate::turns::{held_places, own_places};
use crate::twin::Twin;
use crate::vitals;
use crate::wire::{Files, Wire};
use axum::Router;
use axum::body::{Body, HttpBody};
use axum::response::Response;
use bytes::Bytes;
use hyper::Request;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use metrics::counter;
use rorqual_pipe::limits::buffer_bytes;
use rorqual_pipe::{BudgetError, Input};
use rorqual_store::Store;
use rorqual_table::analyze::{Kept, Settings, Shares};
use rorqual_view::limits::{STORE_BYTES_MIN, THREAD_BYTES, recorder_bytes, segment_rows, work_bytes};
use std::convert::Infallible;
use std::fmt;
use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

/// How a server is to be.
pub struct Config {
    /// Port to listen on; 0 takes a free one.
    pub port: u16,
    /// Where it is reached, and by whom.
    pub access: Access,
    /// Analyses that may run at the same time; the memory is shared out among them at the start.
    pub sessions_max: usize,
    /// Connections at a time that have shown the token; further ones wait.
    pub connections_max: usize,
    /// Time without a request after which a session is forgotten.
    pub idle_max: Duration,
    /// Most bytes a second that each session takes in.
    pub rate_limit: Option<u64>,
    /// Files that the server reads at a time, each by a run of its own: one where files are opened, and all that are followed.
    pub reading: usize,
    /// Memory, threads, line limit and formats. `feed_buffers` is set by the server.
    pub settings: Settings,
    /// Where rows go that do not fit the memory: a folder, and how many bytes of it. Without it they are not kept, and views say so.
    pub spill: Option<(PathBuf, u64)>,
    /// A folder in which uploads outlive the server: they are offered again by the next one.
    pub state: Option<PathBuf>,
    /// Templates to be rendered at `/render/NAME`.
    pub rendering: Option<Rendering>,
    /// A store, to be served below `/store`.
    pub store: Option<Store>,
    /// Makes a page of a view.
    pub page: ViewPage,
}

/// A server that listens, and answers once it runs.
pub struct Server {
    listener: TcpListener,
    sessions: Arc<Sessions>,
    unrestored: Vec<String>,
    renders: Option<Arc<Renders>>,
    store: Option<Store>,
    gate: Arc<Gate>,
    tls: Option<Arc<Tls>>,
    grace: Duration,
}

/// Reads the files again that a running server was started with.
#[derive(Clone)]
pub struct Reload {
    gate: Arc<Gate>,
    tls: Option<Arc<Tls>>,
}

impl Reload {
    /// Takes the token and the certificate that the files have now.
    ///
    /// # Errors
    /// Of each file that is unfit: what was there before stays in force.
    pub fn reload(&self) -> Result<(), String> {
        let token = self.gate.guard.token.reread();
        let tls = self.tls.as_ref().map_or(Ok(()), |tls| tls.reload());
        let errors: Vec<String> = [token, tls].into_iter().filter_map(Result::err).collect();
        if errors.is_empty() { Ok(()) } else { Err(errors.join("; ")) }
    }
}

/// What a server did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Analyses that were made.
    pub sessions: u64,
    /// Bytes they took in, as stored.
    pub stored_bytes: u64,
    /// Worker threads of each.
    pub threads: usize,
    /// Nothing was cut off at the end.
    pub whole: bool,
}

/// Why a server could not start.
#[derive(Debug)]
pub enum StartError {
    /// Too little memory for what was asked; the message prints the sum.
    Budget(BudgetError),
    /// What was asked for is unsafe, or a file for it is unfit.
    Refused(String),
    /// The port could not be had.
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// The system's word.
        cause: std::io::Error,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Budget(error) => error.fmt(f),
            Self::Refused(why) => f.write_str(why),
            Self::Listen { address, cause } => {
                write!(f, "cannot listen on {address}: {cause} (another --port, or 0 for a free one?)")
            }
        }
    }
}

impl std::error::Error for StartError {}

impl Server {
    /// Shares the memory out and starts to listen.
    ///
    /// # Errors
    /// When the memory does not suffice, the port can't be had, what was asked for is unsafe, or a file for it is unfit.
    pub async fn bind(mut config: Config) -> Result<Self, StartError> {
        config.settings.feed_buffers = FEED_BUFFERS;
        config.settings.kept = Some(kept(&config));
        config.access.check().map_err(StartError::Refused)?;
        let files = descriptors::needed(connections_max(&config) + STRANGERS_MAX, config.sessions_max);
        descriptors::allow(files, config.connections_max).map_err(StartError::Refused)?;
        let shares = shares(&config)?;
        let tls = config.access.tls.clone().map(|(certificate, key)| Tls::new(certificate, key)).transpose();
        let tls = tls.map_err(StartError::Refused)?.map(Arc::new);
        if config.state.is_some() && config.spill.is_none() {
            return Err(StartError::Refused("--state keeps rows in files, of which --temp-max 0 allows none".to_owned()));
        }
        let state = config.state.as_deref().map(StateDir::open).transpose().map_err(StartError::Refused)?;
        let address = SocketAddr::new(config.access.bind, config.port);
        let failed = |cause| StartError::Listen { address, cause };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        // Behind the port: who finds it taken has changed nothing.
        let token = Token::new(config.access.token_file.clone()).map_err(StartError::Refused)?;
        let guard = Guard::new(token, config.access.names(address), address.port(), config.access.open_probes);
        let patience = if config.access.remote() { STRANGER_GRACE_REMOTE } else { STRANGER_GRACE };
        let connections = Connections::new(connections_max(&config), patience);
        let gate = Arc::new(Gate { guard, connections, drain: Drain::new(), tickets: Tickets::new() });
        let grace = config.access.grace;
        recorded();
        let question_bytes = question_bytes(&config.settings, config.sessions_max);
        let sessions = Sessions::new(
            config.settings,
            (shares, question_bytes),
            (config.spill, state),
            config.sessions_max,
            config.rate_limit,
            config.idle_max,
            config.page,
        );
        let sessions = Arc::new(sessions);
        let restoring = Arc::clone(&sessions);
        let restored = tokio::task::spawn_blocking(move || restoring.restore()).await;
        let unrestored = restored.map_err(|error| StartError::Refused(error.to_string()))?.map_err(StartError::Refused)?;
        let renders = config.rendering.map(|rendering| Renders::new(rendering, config.rate_limit));
        Ok(Self { listener, sessions, unrestored, renders, store: config.store, gate, tls, grace })
    }

    /// The address to open, token included.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}/?token={}", self.gate.guard.names.url, self.gate.guard.token.text())
    }

    /// Sessions of the state folder that are not offered again, each with the reason, for people. Their files are left as they are.
    #[must_use]
    pub fn unrestored(&self) -> &[String] {
        &self.unrestored
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What reads its files again while it runs.
    #[must_use]
    pub fn reloader(&self) -> Reload {
        Reload { gate: Arc::clone(&self.gate), tls: self.tls.clone() }
    }

    /// Opens files of this machine, each as a session; they are analysed one after another while the server runs.
    ///
    /// # Errors
    /// When there are more files than sessions may be open, named by the message.
    pub fn open(&self, files: Vec<(PathBuf, File)>) -> Result<(), String> {
        let mut queue = Vec::new();
        for (path, file) in files {
            let name = path.to_string_lossy().into_owned();
            let size = file.metadata().ok().filter(|data| data.is_file()).map(|data| data.len());
            let made = self.sessions.create(Announced::file(name.clone(), size), None);
            let session = made.map_err(|error| format!("{name}: {}", error.message()))?;
            queue.push((session, name, file));
        }
        tokio::task::spawn_blocking(move || queue.into_iter().for_each(|(session, name, file)| session.run_file(name, file)));
        Ok(())
    }

    /// Reads streams, and files as they grow, each as a session of its own for as long as it goes on.
    ///
    /// # Errors
    /// As [`Server::open`].
    pub fn follow(&self, inputs: Vec<Input>) -> Result<(), String> {
        for input in inputs {
            let name = input.name().to_owned();
            let made = self.sessions.create(Announced::file(name.clone(), None), None);
            let session = made.map_err(|error| format!("{name}: {}", error.message()))?;
            tokio::task::spawn_blocking(move || session.run_following(input));
        }
        Ok(())
    }

    /// Answers until `stop` is done; then lets what runs come to its end within the grace, and stops all sessions. `end` ends that wait.
    pub async fn run(mut self, stop: impl Future<Output = ()>, end: impl Future<Output = ()>) -> Totals {
        let renders_guard = self.renders.clone().map(|renders| tokio::spawn(renders.guard(self.sessions.memory_bytes())));
        let reception = self.reception(self.tls.is_some());
        let housekeeping = [
            tokio::spawn(keep_house(Arc::clone(&self.sessions))),
            tokio::spawn(keep_watch(Arc::clone(&self.sessions), Arc::clone(&self.gate))),
        ];
        tokio::select! {
            () = reception.accept(&self.listener) => {}
            () = stop => {}
        }
        drop(self.listener);
        let (known, _, _) = self.gate.connections.counts();
        tracing::info!(connections = known, grace_seconds = self.grace.as_secs(), "ending: no new connections");
        let whole = tokio::select! {
            whole = self.gate.drain.finish(&self.sessions, self.grace) => whole,
            () = end => false,
        };
        housekeeping.iter().for_each(tokio::task::JoinHandle::abort);
        renders_guard.inspect(tokio::task::JoinHandle::abort);
        if self.sessions.keeps() {
            // What takes longer goes on from its last checkpoint.
            let _ = tokio::time::timeout(KEEP_TIME_MAX, self.sessions.keep_all()).await;
        } else {
            self.sessions.cancel_all();
        }
        let (sessions, stored_bytes) = self.sessions.totals();
        tracing::info!(sessions, stored_bytes, whole, "ended");
        Totals { sessions, stored_bytes, threads: self.sessions.threads(), whole }
    }

    /// What answers on connections; `encrypted` ones read entries of the store through the program.
    fn reception(&mut self, encrypted: bool) -> Reception {
        let vitals = vitals::routes(&self.sessions, self.renders.as_ref(), &self.gate);
        let shelf = self.store.take().map(|store| Shelf::new(store, encrypted));
        let beside = [Some(vitals), self.renders.take().map(render_router), shelf.map(store::router)];
        let router = router(Arc::clone(&self.sessions), beside.into_iter().flatten().collect(), Arc::clone(&self.gate));
        Reception { gate: Arc::clone(&self.gate), tls: self.tls.take(), router }
    }

    /// What answers without a socket of the system, and what it answers from.
    #[cfg(any(fuzzing, test))]
    pub(crate) fn into_parts(mut self) -> (Reception, Arc<Sessions>, Arc<Gate>) {
        (self.reception(true), self.sessions, self.gate)
    }
}

/// Shares the memory out among the sessions, what is beside them first.
fn shares(config: &Config) -> Result<Shares, StartError> {
    let connections = connections_max(config) + STRANGERS_MAX;
    let wide = connections.min(CONNECTIONS_WIDE) as u64;
    let narrow = connections as u64 - wide;
    let (encrypted_wide, encrypted_narrow) = if config.access.tls.is_some() { (wide, narrow) } else { (0, 0) };
    let sessions = config.sessions_max as u64;
    let renders = places(config) as u64;
    let held = held_places(config.sessions_max) as u64;
    let puts = config.store.as_ref().map_or(0, |_| PUTS_MAX as u64);
    let reads = config.store.as_ref().and(config.access.tls.as_ref()).map_or(0, |_| READS_MAX as u64);
    let beside = [
        ("program".to_owned(), PROGRAM_BYTES),
        (format!("{wide} connections with large buffers"), wide * CONNECTION_BYTES),
        (format!("{narrow} connections with small ones (--connections)"), narrow * NARROW_BYTES),
        (format!("TLS of {connections} connections"), encrypted_wide * TLS_BYTES + encrypted_narrow * TLS_NARROW_BYTES),
        (format!("{ANSWERS_MAX} answers on their way"), ANSWERS_MAX as u64 * REPORT_BYTES_MAX as u64),
        (format!("{BODIES_MAX} long questions"), BODIES_MAX as u64 * BODY_BYTES),
        ("an answer that is made".to_owned(), ANSWER_MADE_BYTES),
        ("latest reports".to_owned(), REPORTS_KEPT_BYTES as u64),
        ("a session that is being kept (--state)".to_owned(), config.state.as_ref().map_or(0, |_| KEEPING_BYTES)),
        ("threads of a question".to_owned(), config.settings.threads_max() as u64 * THREAD_BYTES),
        ("filters of a question, and what it sorts".to_owned(), question_bytes(&config.settings, config.sessions_max)),
        (format!("{sessions} x samples, names, the start of a line"), sessions * SESSION_BYTES),
        (format!("{held} starts of long lines (--line-max)"), held * buffer_bytes(config.settings.line_bytes_max) as u64),
        (format!("{ENDED_SESSIONS_MAX} ended sessions"), ENDED_SESSIONS_MAX as u64 * ENDED_SESSION_BYTES),
        (format!("{renders} renderings"), renders * RENDER_BYTES),
        (format!("{EXPORTS_MAX} exports"), EXPORTS_MAX as u64 * EXPORT_BYTES),
        ("index of the store, and who asks it".to_owned(), config.store.as_ref().map_or(0, |_| STORE_BYTES)),
        (format!("{puts} puts into the store"), puts * PUT_BYTES),
        (format!("{reads} encrypted readers of the store"), reads * READ_BYTES),
        ("templates and their variables".to_owned(), config.rendering.as_ref().map_or(0, |rendering| rendering.given_bytes)),
        ("rows of templates".to_owned(), config.rendering.as_ref().map_or(0, |rendering| rendering.rows_bytes)),
    ];
    let instead = match (sessions > 1, renders > 0) {
        (true, false) => "fewer --sessions or --connections",
        (true, true) => "fewer --sessions, --connections or --renders",
        (false, true) => "fewer --connections or --renders",
        (false, false) => "fewer --connections or --threads",
    };
    // Turns that uploads share, those to the end of a log, and what the server reads itself.
    let runs = 1 + own_places(config.sessions_max) + config.reading;
    config.settings.shares_beside(&beside, runs as u64, instead).map_err(StartError::Budget)
}

/// The rows of all sessions, which share what is left.
fn kept(config: &Config) -> Kept {
    // More no session gets.
    let rows = segment_rows(memory_at_least(&config.settings) / config.sessions_max as u64);
    Kept { what: "rows", worker_bytes: recorder_bytes(rows), parts: config.sessions_max as u64, bytes_min: STORE_BYTES_MIN }
}

/// What one question may take beside its threads.
fn question_bytes(settings: &Settings, sessions_max: usize) -> u64 {
    work_bytes(memory_at_least(settings) / sessions_max.max(4) as u64, settings.threads_max())
}

/// The memory by which shares are measured that grow with it: not less than what a refusal may name, which has to be enough.
fn memory_at_least(settings: &Settings) -> u64 {
    settings.memory_bytes.max(MEASURED_BYTES_MIN)
}

/// Every rendering has a connection, and the page its own.
fn connections_max(config: &Config) -> usize {
    config.connections_max + places(config)
}

fn places(config: &Config) -> usize {
    config.rendering.as_ref().map_or(0, |rendering| rendering.places)
}

/// What every connection needs.
#[derive(Clone)]
pub(crate) struct Reception {
    gate: Arc<Gate>,
    tls: Option<Arc<Tls>>,
    router: Router,
}

impl Reception {
    async fn accept(&self, listener: &TcpListener) {
        let mut refusals = Refusals::default();
        loop {
            match listener.accept().await {
                Ok((stream, _peer)) => {
                    counter!("rorqual_connections_total").increment(1);
                    let taken = self.gate.connections.admit().await;
                    tokio::spawn(self.clone().serve(stream, taken));
                }
                // Out of descriptors, mostly: there will be some when a connection ends.
                Err(error) => {
                    if let Some(times) = refusals.worth_telling() {
                        tracing::warn!(%error, times, "connections were not accepted");
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    async fn serve(self, stream: TcpStream, taken: Taken) {
        taken.place().begin();
        // A socket that the runtime does not take is one that is gone.
        let Ok((stream, twin)) = Twin::of(stream) else { return };
        stall::set_up(&stream);
        match &self.tls {
            None => {
                let (wire, files) = Wire::new(stream);
                self.answer(wire, Some(files), twin, taken).await;
            }
            Some(tls) => {
                let send_bytes_max = if taken.place().is_wide() { TLS_SEND_BYTES_MAX } else { TLS_SEND_NARROW_BYTES_MAX };
                let shaken = tokio::select! {
                    shaken = tls.accept(stream, send_bytes_max) => shaken,
                    () = taken.leave() => return,
                };
                match shaken {
                    Ok(stream) => self.answer(stream, None, twin, taken).await,
                    Err(error) => {
                        counter!("rorqual_connections_broken_total", "why" => "handshake").increment(1);
                        tracing::debug!(?error, "a TLS handshake failed");
                    }
                }
            }
        }
    }

    /// Answers on `stream`, into which `files` may go without passing through the program.
    pub(crate) async fn answer(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        files: Option<Files>,
        twin: Twin,
        taken: Taken,
    ) {
        let mut draining = self.gate.drain.join();
        let (place, drain) = (Arc::clone(taken.place()), Arc::clone(&self.gate.drain));
        let (buffer_bytes, holder) = (place.buffer_bytes(), self.gate.tickets.holder());
        let answer = TowerToHyperService::new(self.router.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            let asked = place.asked();
            request.extensions_mut().insert(Arc::clone(&place));
            request.extensions_mut().insert(holder.clone());
            request.extensions_mut().insert(twin.clone());
            request.extensions_mut().insert(Arc::clone(&drain));
            files.iter().for_each(|files| drop(request.extensions_mut().insert(files.clone())));
            answered(answer.call(Lingering::wrap(request)), asked)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME_MAX)
            .max_buf_size(buffer_bytes)
            // A client that has sent all it has to say may still read.
            .half_close(true)
            .serve_connection(TokioIo::new(Stalling::new(stream)), service)
            .with_upgrades();
        let mut connection = pin!(connection);
        // What came before it had to leave is read first, and may have been the token.
        tokio::select! {
            biased;
            ended = connection.as_mut() => return broken(ended),
            () = taken.leave() => {}
            () = draining.ending() => {}
        }
        // Who has not shown the token by now is not waited for. Others get the answer to what they asked meanwhile.
        if taken.is_known() {
            connection.as_mut().graceful_shutdown();
            broken(connection.await);
        }
    }
}

/// Lines about connections that were not accepted, which come many times a second while there are no descriptors.
#[derive(Default)]
struct Refusals {
    untold: u64,
    told: Option<Instant>,
}

impl Refusals {
    /// How many there were since that was last told, where it is to be told again.
    fn worth_telling(&mut self) -> Option<u64> {
        self.untold += 1;
        if self.told.is_some_and(|told| told.elapsed() < UNACCEPTED_SAID_EVERY) {
            return None;
        }
        self.told = Some(Instant::now());
        Some(std::mem::take(&mut self.untold))
    }
}

/// An answer that knows when it was sent.
async fn answered(
    answer: impl Future<Output = Result<Response<Body>, Infallible>>,
    asked: Answering,
) -> Result<Response<Answer>, Infallible> {
    Ok(answer.await?.map(|body| Answer { body, _asked: asked }))
}

/// The body of an answer; its end is the end of what was asked.
struct Answer {
    body: Body,
    _asked: Answering,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// An error here is a client that went away, was too slow, or spoke no HTTP.
fn broken(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        let why = match &error {
            error if error.is_parse() => "no_http",
            error if error.is_timeout() => "timeout",
            _ => "left",
        };
        counter!("rorqual_connections_broken_total", "why" => why).increment(1);
        tracing::debug!(?error, "a connection broke");
    }
}

/// What has to be looked at again and again; nothing of it waits for anybody.
pub(crate) async fn keep_watch(sessions: Arc<Sessions>, gate: Arc<Gate>) {
    let mut every = tokio::time::interval(HOUSEKEEPING_EVERY);
    loop {
        every.tick().await;
        sessions.list().iter().for_each(|session| session.stop_if_too_dense());
        sessions.free_own_turns();
        sessions.free_held_places();
        for session in sessions.list() {
            session.pace().look(session.offset());
        }
        sessions.turns().rest();
        gate.guard.token.refresh();
        // What histograms were given waits in a list until then.
        recorded().run_upkeep();
    }
}

/// Forgets sessions, which may take as long as who still looks at them.
async fn keep_house(sessions: Arc<Sessions>) {
    let mut every = tokio::time::interval(HOUSEKEEPING_EVERY);
    loop {
        every.tick().await;
        sessions.forget_idle().await;
    }
}

#[cfg(test)]
mod tests {
    use super::{Reception, Refusals};
    use crate::access::Access;
    use crate::connections::Connections;
    use crate::drain::Drain;
    use crate::guard::{Gate, Guard};
    use crate::limits::{STALL_TIME_MAX, UNACCEPTED_SAID_EVERY};
    use crate::token::Token;
    use crate::twin::Twin;
    use axum::Router;
    use axum::body::Body;
    use axum::routing::get;
    use bytes::Bytes;
    use futures_util::stream::repeat_with;
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::io::{AsyncWriteExt, duplex};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::{advance, timeout};

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_of_its_answer_is_dropped() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let (_stream, twin) = Twin::of(TcpStream::connect(address).await.expect("it listens")).expect("a socket");
        let guard = Guard::new(Token::new(None).expect("randomness"), Access::default().names(address), address.port(), false);
        let connections = Connections::new(1, Duration::ZERO);
        let taken = connections.admit().await;
        let endless = || async { Body::from_stream(repeat_with(|| Ok::<_, Infallible>(Bytes::from_static(&[b'x'; 4096])))) };
        let router = Router::new().route("/", get(endless));
        let reception = Reception {
            gate: Arc::new(Gate { guard, connections, drain: Drain::new(), tickets: crate::tickets::Tickets::new() }),
            tls: None,
            router,
        };
        let (near, mut far) = duplex(1 << 10);
        far.write_all(b"GET / HTTP/1.1\r\nHost: logs\r\n\r\n").await.expect("room for a head");
        let answered = timeout(STALL_TIME_MAX * 2, reception.answer(near, None, twin, taken)).await;
        assert!(answered.is_ok(), "it is still waited for");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_accepted_is_told_once_a_minute() {
        let mut refusals = Refusals::default();
        let told: Vec<Option<u64>> = (0..3).map(|_| refusals.worth_telling()).collect();
        assert_eq!(told, [Some(1), None, None]);
        advance(UNACCEPTED_SAID_EVERY).await;
        assert_eq!(refusals.worth_telling(), Some(3), "those that were not told are counted");
    }
}
