//! Shared by the tests: a server in this process, and requests to it.

use rorqual_accesslog::aggregate::SpanFilter;
use rorqual_accesslog::analyze::{AnalyzeSettings, Formats};
use rorqual_serve::{Access, Config, Reload, Rendering, Server};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) fn config(idle_max: Duration) -> Config {
    Config {
        reading: 1,
        files_open: 0,
        followed_together: 0,
        state: None,
        cache: None,
        port: 0,
        access: Access::default(),
        sessions_max: 1,
        connections_max: 32,
        idle_max,
        rate_limit: None,
        has_tables: false,
        table_opener: None,
        settings: AnalyzeSettings {
            memory_bytes: 256 << 20,
            threads: Some(1),
            line_bytes_max: 64 << 10,
            span: SpanFilter::default(),
            formats: Formats::default(),
            feed_buffers: 0,
            kept: None,
            countries: None,
        },
        spill: None,
        rendering: None,
        store: None,
        page: |_, _, _| Ok(()),
        fleet: None,
        carriers: Vec::new(),
    }
}

/// Asks a server at `url` (with its token) and gives the whole answer.
pub(crate) fn ask(url: &str, request: &str, headers: &str) -> String {
    let mut stream = send(url, request, headers);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer in text");
    answer
}

/// Asks with a body of any bytes; gives the head of the answer, and its body.
pub(crate) fn exchange(url: &str, line: &str, headers: &str, body: &[u8]) -> (String, Vec<u8>) {
    let mut stream = send_head(url, line, headers, body.len());
    stream.write_all(body).expect("it listens");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("a head") + 4;
    let body = answer.split_off(end);
    (String::from_utf8(answer).expect("a head in text"), body)
}

/// Sends the head of a request, whose body of `length` bytes is to follow.
pub(crate) fn send_head(url: &str, line: &str, headers: &str, length: usize) -> TcpStream {
    let (address, token) = url.strip_prefix("http://").and_then(|rest| rest.split_once("/?token=")).expect("an address");
    let mut stream = TcpStream::connect(address).expect("it listens");
    let head =
        format!("Host: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}");
    write!(stream, "{line} HTTP/1.1\r\n{head}\r\n").expect("it listens");
    stream
}

/// Sends a request, and leaves the answer to be read.
pub(crate) fn send(url: &str, request: &str, headers: &str) -> TcpStream {
    let (line, body) = request.split_once('\n').unwrap_or((request, ""));
    let mut stream = send_head(url, line, headers, body.len());
    stream.write_all(body.as_bytes()).expect("it listens");
    stream
}

/// A server, until dropped.
pub(crate) struct Running {
    pub(crate) url: String,
    runtime: Runtime,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<rorqual_serve::ServerTotals>>,
}

impl Running {
    pub(crate) fn rendering(rendering: Rendering) -> Self {
        Self::of(Config { rendering: Some(rendering), ..config(Duration::from_secs(60)) })
    }

    pub(crate) fn of(config: Config) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        let server = runtime.block_on(Server::bind(config)).expect("a free port");
        let (stop, stopped) = oneshot::channel::<()>();
        let url = server.url();
        let running = runtime.spawn(server.run(async { drop(stopped.await) }, std::future::pending()));
        Self { url, runtime, stop: Some(stop), running: Some(running) }
    }
}

impl Running {
    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
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

    pub(crate) fn with(config: Config) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        let server = runtime.block_on(Server::bind(config)).expect("a free port");
        let (url, address, reload) = (server.url(), server.address().expect("it listens"), server.reloader());
        runtime.spawn(server.run(std::future::pending(), std::future::pending()));
        Self { url, address, reload, _runtime: runtime }
    }

    pub(crate) fn token(&self) -> String {
        self.url.split_once("?token=").expect("an address with a token").1.to_owned()
    }

    /// The cookie of a browser that has opened the address: a name and a session key.
    pub(crate) fn cookie(&self) -> String {
        let host = self.url.split("://").nth(1).and_then(|rest| rest.split('/').next()).expect("a host");
        let entered = self.plain(&format!("GET /?token={} HTTP/1.1\r\nHost: {host}\r\n", self.token()));
        let cookie = entered.split("set-cookie: ").nth(1).and_then(|rest| rest.split(';').next());
        cookie.unwrap_or_else(|| panic!("no cookie: {entered}")).to_owned()
    }

    /// Sends bytes as they are, and returns the answer.
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
