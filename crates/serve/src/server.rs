//! The listening socket and what runs behind it.

use crate::api::{render_router, router};
use crate::connections::{Connections, Taken};
use crate::exports::ViewPage;
use crate::guard::{Gate, Guard};
use crate::limits::{
    CONNECTION_BUFFER_BYTES, CONNECTION_BYTES, ENDED_SESSION_BYTES, ENDED_SESSIONS_MAX, EXPORT_BYTES, EXPORTS_MAX, FEED_BUFFERS,
    HEAD_TIME_MAX, PROGRAM_BYTES, PUT_BYTES, PUTS_MAX, RENDER_BYTES, REPORTS_BYTES, STRANGERS_MAX,
};
use crate::linger::Lingering;
use crate::render::{Rendering, Renders};
use crate::session::Announced;
use crate::sessions::Sessions;
use crate::store::{self, Shelf};
use crate::twin::Twin;
use crate::wire::Wire;
use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rorqual_pipe::{BudgetError, Input};
use rorqual_store::Store;
use rorqual_store::limits::INDEX_BYTES;
use rorqual_table::analyze::{Kept, Settings, Shares};
use rorqual_view::limits::{ROWS_BYTES_MIN, WORKER_BYTES};
use std::fmt;
use std::fs::File;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// How a server is to be.
pub struct Config {
    /// Loopback port; 0 takes a free one.
    pub port: u16,
    /// Analyses that may run at the same time; the memory is shared out among them at the start.
    pub sessions_max: usize,
    /// Connections at a time that have shown the token; further ones wait.
    pub connections_max: usize,
    /// Time without a request after which a session is forgotten.
    pub idle_max: Duration,
    /// Most bytes a second that each session takes in.
    pub rate_limit: Option<u64>,
    /// Memory, threads, line limit and formats. `feed_buffers` is set by the server.
    pub settings: Settings,
    /// Where rows go that do not fit the memory: a folder, and how many bytes of it. Without it they are not kept, and views say so.
    pub spill: Option<(PathBuf, u64)>,
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
    renders: Option<Arc<Renders>>,
    store: Option<Store>,
    gate: Arc<Gate>,
    port: u16,
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
}

/// Why a server could not start.
#[derive(Debug)]
pub enum StartError {
    /// Too little memory for what was asked; the message prints the sum.
    Budget(BudgetError),
    /// The port could not be had, or the system has no randomness for a token.
    Listen {
        /// The port asked for.
        port: u16,
        /// The system's word.
        cause: std::io::Error,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Budget(error) => error.fmt(f),
            Self::Listen { port, cause } => {
                write!(f, "cannot listen on 127.0.0.1:{port}: {cause} (another --port, or 0 for a free one?)")
            }
        }
    }
}

impl std::error::Error for StartError {}

impl Server {
    /// Shares the memory out and starts to listen.
    ///
    /// # Errors
    /// When the memory does not suffice or the port can't be had.
    pub async fn bind(mut config: Config) -> Result<Self, StartError> {
        config.settings.feed_buffers = FEED_BUFFERS;
        config.settings.kept = Some(Kept { what: "rows", worker_bytes: WORKER_BYTES, bytes_min: ROWS_BYTES_MIN });
        let shares = shares(&config)?;
        let failed = |cause| StartError::Listen { port: config.port, cause };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, config.port)).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let guard = Guard::new(port).map_err(|error| failed(std::io::Error::other(error.to_string())))?;
        let gate = Arc::new(Gate { guard, connections: Connections::new(connections_max(&config)) });
        let sessions = Sessions::new(
            config.settings,
            shares,
            config.spill,
            config.sessions_max,
            config.rate_limit,
            config.idle_max,
            config.page,
        );
        let renders = config.rendering.map(|rendering| Renders::new(rendering, config.rate_limit));
        Ok(Self { listener, sessions: Arc::new(sessions), renders, store: config.store, gate, port })
    }

    /// The address to open, token included.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/?token={}", self.port, self.gate.guard.token())
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

    /// Answers until `stop` is done; then stops all sessions.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Totals {
        let renders_guard = self.renders.clone().map(|renders| tokio::spawn(renders.guard(self.sessions.memory_bytes())));
        let beside = [self.renders.map(render_router), self.store.map(|store| store::router(Shelf::new(store)))];
        let router = router(Arc::clone(&self.sessions), beside.into_iter().flatten().collect(), Arc::clone(&self.gate));
        let housekeeping = tokio::spawn(keep_house(Arc::clone(&self.sessions)));
        tokio::select! {
            () = accept(&self.listener, &self.gate.connections, router) => {}
            () = stop => {}
        }
        housekeeping.abort();
        renders_guard.inspect(tokio::task::JoinHandle::abort);
        self.sessions.cancel_all();
        let (sessions, stored_bytes) = self.sessions.totals();
        Totals { sessions, stored_bytes, threads: self.sessions.threads() }
    }
}

/// Shares the memory out among the sessions, what is beside them first.
fn shares(config: &Config) -> Result<Shares, StartError> {
    let connections = connections_max(config) + STRANGERS_MAX;
    let sessions = config.sessions_max as u64;
    let renders = places(config) as u64;
    let puts = config.store.as_ref().map_or(0, |_| PUTS_MAX as u64);
    let beside = [
        ("program".to_owned(), PROGRAM_BYTES),
        (format!("{connections} connections, each with buffers and a report"), connections as u64 * CONNECTION_BYTES),
        (format!("{ENDED_SESSIONS_MAX} ended sessions"), ENDED_SESSIONS_MAX as u64 * ENDED_SESSION_BYTES),
        (format!("{sessions} x reports"), sessions * REPORTS_BYTES),
        (format!("{renders} renderings"), renders * RENDER_BYTES),
        (format!("{EXPORTS_MAX} exports"), EXPORTS_MAX as u64 * EXPORT_BYTES),
        ("index of the store".to_owned(), config.store.as_ref().map_or(0, |_| INDEX_BYTES)),
        (format!("{puts} puts into the store"), puts * PUT_BYTES),
        ("templates and their variables".to_owned(), config.rendering.as_ref().map_or(0, |rendering| rendering.given_bytes)),
        ("rows of templates".to_owned(), config.rendering.as_ref().map_or(0, |rendering| rendering.rows_bytes)),
    ];
    let instead = match (sessions > 1, renders > 0) {
        (true, false) => "fewer --sessions or --connections",
        (true, true) => "fewer --sessions, --connections or --renders",
        (false, true) => "fewer --connections or --renders",
        (false, false) => "fewer --connections or --threads",
    };
    config.settings.shares_beside(&beside, sessions, instead).map_err(StartError::Budget)
}

/// Every rendering has a connection, and the page its own.
fn connections_max(config: &Config) -> usize {
    config.connections_max + places(config)
}

fn places(config: &Config) -> usize {
    config.rendering.as_ref().map_or(0, |rendering| rendering.places)
}

async fn accept(listener: &TcpListener, connections: &Arc<Connections>, router: Router) {
    loop {
        match listener.accept().await {
            Ok((stream, _peer)) => {
                let taken = connections.admit().await;
                tokio::spawn(serve(stream, taken, router.clone()));
            }
            // Out of descriptors, mostly: there will be some when a connection ends.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn serve(stream: TcpStream, taken: Taken, router: Router) {
    // A socket that the runtime does not take is one that is gone.
    let Ok((stream, twin)) = Twin::of(stream) else { return };
    // Small answers should not wait for more; failing to say so only costs latency.
    let _ = stream.set_nodelay(true);
    let (wire, files) = Wire::new(stream);
    let place = Arc::clone(taken.place());
    let answer = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Arc::clone(&place));
        request.extensions_mut().insert(twin.clone());
        request.extensions_mut().insert(files.clone());
        answer.call(Lingering::wrap(request))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .max_buf_size(CONNECTION_BUFFER_BYTES)
        // A client that has sent all it has to say may still read.
        .half_close(true)
        .serve_connection(TokioIo::new(wire), service)
        .with_upgrades();
    tokio::select! {
        // An error here is a client that went away.
        _ = connection => {}
        () = taken.leave() => {}
    }
}

async fn keep_house(sessions: Arc<Sessions>) {
    let mut every = tokio::time::interval(Duration::from_secs(5));
    loop {
        every.tick().await;
        sessions.forget_idle().await;
    }
}
