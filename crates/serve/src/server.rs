//! The listening socket and what runs behind it.

use crate::api::{App, router};
use crate::guard::Guard;
use crate::limits::{
    CONNECTION_BUFFER_BYTES, CONNECTION_BYTES, CONNECTIONS_MAX, ENDED_SESSION_BYTES, ENDED_SESSIONS_MAX, FEED_BUFFERS,
    HEAD_TIME_MAX, PROGRAM_BYTES,
};
use crate::sessions::Sessions;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rorqual_pipe::BudgetError;
use rorqual_table::analyze::Settings;
use std::fmt;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// How a server is to be.
#[derive(Debug, Clone)]
pub struct Config {
    /// Loopback port; 0 takes a free one.
    pub port: u16,
    /// Analyses that may run at the same time; the memory is shared out among them at the start.
    pub sessions_max: usize,
    /// Time without a request after which a session is forgotten.
    pub idle_max: Duration,
    /// Most bytes a second that each session takes in.
    pub rate_limit: Option<u64>,
    /// Memory, threads, line limit and formats. `feed_buffers` is set by the server.
    pub settings: Settings,
}

/// A server that listens, and answers once it runs.
pub struct Server {
    listener: TcpListener,
    app: Arc<App>,
    guard: Arc<Guard>,
    port: u16,
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
        let connections = CONNECTIONS_MAX as u64 * CONNECTION_BYTES;
        let ended = ENDED_SESSIONS_MAX as u64 * ENDED_SESSION_BYTES;
        let program = PROGRAM_BYTES + connections + ended;
        let shares = config.settings.shares(program, config.sessions_max as u64).map_err(StartError::Budget)?;
        let failed = |cause| StartError::Listen { port: config.port, cause };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, config.port)).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let guard = Guard::new(port).map_err(|error| failed(std::io::Error::other(error.to_string())))?;
        let sessions = Sessions::new(config.settings, shares, config.sessions_max, config.rate_limit, config.idle_max);
        Ok(Self { listener, app: Arc::new(App { sessions }), guard: Arc::new(guard), port })
    }

    /// The address to open, token included.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/?token={}", self.port, self.guard.token())
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
            let session = self
                .app
                .sessions
                .create(name.clone(), size, true, None)
                .map_err(|error| format!("{name}: {}", error.message()))?;
            queue.push((session, name, file));
        }
        tokio::task::spawn_blocking(move || queue.into_iter().for_each(|(session, name, file)| session.run_file(name, file)));
        Ok(())
    }

    /// Answers until `stop` is done; then stops all sessions.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let router = router(Arc::clone(&self.app), Arc::clone(&self.guard));
        let housekeeping = tokio::spawn(keep_house(Arc::clone(&self.app)));
        tokio::select! {
            () = accept(&self.listener, router) => {}
            () = stop => {}
        }
        housekeeping.abort();
        self.app.sessions.cancel_all();
    }
}

async fn accept(listener: &TcpListener, router: Router) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, peer)) => {
                let router = router.clone();
                tokio::spawn(async move {
                    serve(stream, peer, router).await;
                    drop(place);
                });
            }
            // Out of descriptors, mostly: there will be some when a connection ends.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn serve(stream: TcpStream, _peer: SocketAddr, router: Router) {
    // Small answers should not wait for more; failing to say so only costs latency.
    let _ = stream.set_nodelay(true);
    let service = TowerToHyperService::new(router);
    // An error here is a client that went away.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .max_buf_size(CONNECTION_BUFFER_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn keep_house(app: Arc<App>) {
    let mut every = tokio::time::interval(Duration::from_secs(5));
    loop {
        every.tick().await;
        app.sessions.forget_idle();
    }
}
