//! What the tests share: a server in this process, and asking it.

use rorqual_serve::{Access, Config, Reload, Rendering, Server};
use rorqual_table::aggregate::Span;
use rorqual_table::analyze::{Formats, Settings};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) fn config(idle_max: Duration) -> Config {
    Config {
        port: 0,
        access: Access::default(),
        sessions_max: 1,
        idle_max,
        rate_limit: None,
        settings: Settings {
            memory_bytes: 256 << 20,
            threads: Some(1),
            line_bytes_max: 64 << 10,
            span: Span::default(),
            formats: Formats::default(),
            feed_buffers: 0,
            kept: None,
            countries: None,
        },
        spill: None,
        rendering: None,
        page: |_, _, _| Ok(()),
    }
}

/// Asks a server at `url` (with its token) and gives the whole answer.
pub(crate) fn ask(url: &str, request: &str, headers: &str) -> String {
    let mut stream = send(url, request, headers);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer in text");
    answer
}

/// Sends a request, and leaves the answer to be read.
pub(crate) fn send(url: &str, request: &str, headers: &str) -> TcpStream {
    let (address, token) = url.strip_prefix("http://").and_then(|rest| rest.split_once("/?token=")).expect("an address");
    let mut stream = TcpStream::connect(address).expect("it listens");
    let (line, body) = request.split_once('\n').unwrap_or((request, ""));
    let length = body.len();
    let head =
        format!("Host: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}");
    write!(stream, "{line} HTTP/1.1\r\n{head}\r\n{body}").expect("it listens");
    stream
}

/// A server that renders, until dropped.
pub(crate) struct Running {
    pub(crate) url: String,
    runtime: Runtime,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<rorqual_serve::Totals>>,
}

impl Running {
    pub(crate) fn rendering(rendering: Rendering) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        let config = Config { rendering: Some(rendering), ..config(Duration::from_secs(60)) };
        let server = runtime.block_on(Server::bind(config)).expect("a free port");
        let (stop, stopped) = oneshot::channel::<()>();
        let url = server.url();
        let running = runtime.spawn(server.run(async { drop(stopped.await) }, std::future::pending()));
        Self { url, runtime, stop: Some(stop), running: Some(running) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(running) = self.running.take() {
            self.runtime.block_on(running).expect("no panic");
        }
    }
}

/// A server with this access, until dropped.
pub(crate) struct Reached {
    pub(crate) url: String,
    pub(crate) address: SocketAddr,
    pub(crate) reload: Reload,
    _runtime: Runtime,
}

impl Reached {
    pub(crate) fn start(access: Access) -> Self {
        Self::with(Config { access, ..config(Duration::from_secs(60)) })
    }

    pub(crate) fn rendering(access: Access, rendering: Rendering) -> Self {
        Self::with(Config { access, rendering: Some(rendering), ..config(Duration::from_secs(60)) })
    }

    fn with(config: Config) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        let server = runtime.block_on(Server::bind(config)).expect("a free port");
        let (url, address, reload) = (server.url(), server.address().expect("it listens"), server.reloader());
        runtime.spawn(server.run(std::future::pending(), std::future::pending()));
        Self { url, address, reload, _runtime: runtime }
    }

    pub(crate) fn token(&self) -> String {
        self.url.split_once("?token=").expect("an address with a token").1.to_owned()
    }

    /// Sends bytes as they are, and gives what comes.
    pub(crate) fn raw(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        stream.write_all(request).expect("it listens");
        let mut answer = Vec::new();
        // A connection that breaks is an answer too.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// A request of some lines, with the token.
    pub(crate) fn plain(&self, lines: &str) -> String {
        self.raw(format!("{lines}Authorization: Bearer {}\r\nConnection: close\r\n\r\n", self.token()).as_bytes())
    }

    pub(crate) fn get(&self, target: &str) -> String {
        self.plain(&format!("GET {target} HTTP/1.1\r\nHost: {}\r\n", self.address))
    }

    pub(crate) fn post(&self, target: &str, body: &str) -> String {
        let (own, length, token) = (self.address, body.len(), self.token());
        let head = format!("POST {target} HTTP/1.1\r\nHost: {own}\r\nContent-Length: {length}\r\nConnection: close\r\n");
        self.raw(format!("{head}Authorization: Bearer {token}\r\n\r\n{body}").as_bytes())
    }
}
