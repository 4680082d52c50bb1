//! A TCP proxy with the faults of networks and proxies: cuts, stalls, trickles, delays,
//! half-closes, and a request sent twice.
//!
//! Each connection is told its [`ConnectionFault`] when it is made, and says afterwards whether the
//! fault has [`struck`](Through::struck).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test without sockets has failed")]

use nix::sys::socket::{setsockopt, sockopt::Linger};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

/// Bytes that are passed on at once.
pub const PIECE_BYTES: usize = 16 << 10;

/// A request that is sent twice is held; of a longer one this much.
const RECORDED_BYTES_MAX: usize = 64 << 20;

/// Nobody waits longer for the answer to a request's second sending.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);

/// A way of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyDirection {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

/// Fault of a connection.
#[allow(missing_docs, reason = "the variants name their fields")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionFault {
    /// Nothing.
    None,
    /// Both ends are closed after byte `at` of that side; `reset` or in order.
    Cut { side: ProxyDirection, at: u64, reset: bool },
    /// Nothing is passed on after byte `at` of that side for so long.
    Stall { side: ProxyDirection, at: u64, time: Duration },
    /// Nothing is passed on after byte `at` of that side until the client leaves.
    Hang { side: ProxyDirection, at: u64 },
    /// Behind byte `at` of that side so many bytes go one by one.
    Trickle { side: ProxyDirection, at: u64, bytes: u64 },
    /// Each piece that goes up waits for so long.
    Delay { each: Duration },
    /// The server is told of an end after byte `at`, and may still answer.
    HalfClose { at: u64 },
    /// All that goes up is sent a second time over another connection: at the same time, or once
    /// the first answer has come to its end.
    Duplicate { at_once: bool },
}

/// Makes connections with faults.
pub struct Proxy {
    // The connecting thread also accepts, so that both ends are known.
    listener: Mutex<TcpListener>,
    address: SocketAddr,
}

/// The client's end of a connection through the proxy. Dropped, all of it is closed.
pub struct ProxyConnection {
    /// To write to and to read from.
    pub stream: TcpStream,
    shared: Arc<ProxyShared>,
    ends: Weak<ProxyEnds>,
    threads: Vec<JoinHandle<()>>,
}

/// The proxy's own ends, closed with the threads that pass bytes on.
struct ProxyEnds {
    client: TcpStream,
    server: TcpStream,
}

struct ProxyShared {
    fault: ConnectionFault,
    upstream: SocketAddr,
    struck: AtomicBool,
    /// Both ends are to be reset.
    reset: AtomicBool,
    /// The client has left.
    left: Mutex<bool>,
    leaving: Condvar,
    recorded: Mutex<Vec<u8>>,
    duplicate: Mutex<Option<Vec<u8>>>,
}

impl Default for Proxy {
    fn default() -> Self {
        Self::new()
    }
}

impl Proxy {
    /// A proxy on a port of its own.
    ///
    /// # Panics
    /// When that is impossible.
    #[must_use]
    pub fn new() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        Self { address: listener.local_addr().unwrap(), listener: Mutex::new(listener) }
    }

    /// A connection to `upstream` with that fault.
    ///
    /// # Errors
    /// When nobody listens there.
    ///
    /// # Panics
    /// When the proxy can't be reached.
    pub fn connect(&self, upstream: SocketAddr, fault: ConnectionFault) -> std::io::Result<ProxyConnection> {
        let server = TcpStream::connect(upstream)?;
        let (stream, client) = {
            let listener = self.listener.lock().unwrap();
            let stream = TcpStream::connect(self.address)?;
            (stream, listener.accept()?.0)
        };
        for end in [&stream, &client, &server] {
            end.set_nodelay(true)?;
        }
        let shared = Arc::new(ProxyShared {
            fault,
            upstream,
            struck: AtomicBool::new(false),
            reset: AtomicBool::new(false),
            left: Mutex::new(false),
            leaving: Condvar::new(),
            recorded: Mutex::default(),
            duplicate: Mutex::default(),
        });
        let ends = Arc::new(ProxyEnds { client, server });
        let (up, down) = ((Arc::clone(&shared), Arc::clone(&ends)), (Arc::clone(&shared), Arc::clone(&ends)));
        let closed = Arc::downgrade(&ends);
        let threads = vec![std::thread::spawn(move || up.0.up(&up.1)), std::thread::spawn(move || down.0.down(&down.1))];
        Ok(ProxyConnection { stream, shared, ends: closed, threads })
    }
}

impl ProxyConnection {
    /// True if the fault has come.
    #[must_use]
    pub fn struck(&self) -> bool {
        self.shared.struck.load(Ordering::SeqCst)
    }

    /// Answer of the server to the second sending; the first one's answer was read to its end.
    ///
    /// # Panics
    /// Never.
    #[must_use]
    pub fn duplicate(mut self) -> Option<Vec<u8>> {
        let _ = self.stream.shutdown(Shutdown::Write);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
        self.shared.duplicate.lock().unwrap().take()
    }
}

impl Drop for ProxyConnection {
    fn drop(&mut self) {
        *self.shared.left.lock().unwrap() = true;
        self.shared.leaving.notify_all();
        let _ = self.stream.shutdown(Shutdown::Both);
        if let Some(ends) = self.ends.upgrade() {
            ends.close();
        }
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

impl ProxyEnds {
    fn close(&self) {
        for end in [&self.client, &self.server] {
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    /// A socket with this setting is reset when it is closed, which it is once nobody reads from it
    /// any more; until then the peer hears nothing.
    fn reset(&self) {
        for end in [&self.client, &self.server] {
            let _ = setsockopt(&end, Linger, &nix::libc::linger { l_onoff: 1, l_linger: 0 });
            let _ = end.shutdown(Shutdown::Read);
        }
    }
}

impl ProxyShared {
    fn strike(&self) {
        self.struck.store(true, Ordering::SeqCst);
    }

    fn cut(&self, ends: &ProxyEnds, reset: bool) {
        self.strike();
        self.reset.store(reset, Ordering::SeqCst);
        if reset { ends.reset() } else { ends.close() }
    }

    /// Waits, unless the client leaves before.
    fn rest(&self, time: Duration) {
        let left = self.left.lock().unwrap();
        drop(self.leaving.wait_timeout_while(left, time, |left| !*left));
    }

    fn up(&self, ends: &ProxyEnds) {
        let twin = match self.fault {
            ConnectionFault::Duplicate { at_once: true } => TcpStream::connect(self.upstream).ok(),
            _ => None,
        };
        let answer = twin.as_ref().and_then(|twin| twin.try_clone().ok()).map(|twin| std::thread::spawn(|| answer_of(twin)));
        let mut twin = twin;
        let mut takes = true;
        self.pass(ProxyDirection::Up, ends, &ends.client, |bytes| {
            // Before it is passed on: the answer may come at once.
            self.record(bytes);
            // A server that has enough closes its end; its answer still goes down, and the client
            // is read on.
            takes = takes && (&ends.server).write_all(bytes).is_ok();
            if let Some(stream) = &mut twin {
                self.strike();
                if stream.write_all(bytes).is_err() {
                    twin = None;
                }
            }
            true
        });
        if let Some(stream) = &twin {
            let _ = stream.shutdown(Shutdown::Write);
        }
        self.end(&ends.server);
        // A side that still sends is not held up: there may be an answer to read.
        drop(std::io::copy(&mut &ends.client, &mut std::io::sink()));
        if let Some(answer) = answer {
            *self.duplicate.lock().unwrap() = answer.join().ok();
        }
    }

    fn down(&self, ends: &ProxyEnds) {
        self.pass(ProxyDirection::Down, ends, &ends.server, |bytes| (&ends.client).write_all(bytes).is_ok());
        if self.fault == (ConnectionFault::Duplicate { at_once: false }) {
            let recorded = std::mem::take(&mut *self.recorded.lock().unwrap());
            if let Ok(mut stream) = TcpStream::connect(self.upstream) {
                self.strike();
                // It may refuse before it has read all.
                let _ = stream.write_all(&recorded).and_then(|()| stream.shutdown(Shutdown::Write));
                *self.duplicate.lock().unwrap() = Some(answer_of(stream));
            }
        }
        self.end(&ends.client);
    }

    fn end(&self, of: &TcpStream) {
        if !self.reset.load(Ordering::SeqCst) {
            let _ = of.shutdown(Shutdown::Write);
        }
    }

    fn record(&self, bytes: &[u8]) {
        if self.fault == (ConnectionFault::Duplicate { at_once: false }) {
            let mut recorded = self.recorded.lock().unwrap();
            let room = RECORDED_BYTES_MAX - recorded.len();
            recorded.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    /// Passes the bytes of `from` on, with the fault where it is this side's.
    fn pass(&self, side: ProxyDirection, ends: &ProxyEnds, mut from: &TcpStream, mut to: impl FnMut(&[u8]) -> bool) {
        let mut buffer = vec![0; PIECE_BYTES];
        let mut passed = 0;
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            let mut piece = &buffer[..read];
            while !piece.is_empty() {
                let Some(length) = self.befall(side, ends, passed, piece.len()) else { return };
                if !to(&piece[..length]) {
                    return;
                }
                passed += length as u64;
                piece = &piece[length..];
            }
        }
    }

    /// Number of the next bytes that are passed on now; `None` when no more are.
    fn befall(&self, side: ProxyDirection, ends: &ProxyEnds, passed: u64, length: usize) -> Option<usize> {
        let before = |at: u64| length.min(at.saturating_sub(passed) as usize);
        match self.fault {
            ConnectionFault::Cut { side: of, at, reset } if of == side => {
                if passed < at {
                    return Some(before(at));
                }
                self.cut(ends, reset);
                None
            }
            ConnectionFault::Stall { side: of, at, time } if of == side && !self.struck.load(Ordering::SeqCst) => {
                if passed < at {
                    return Some(before(at));
                }
                self.strike();
                self.rest(time);
                Some(length)
            }
            ConnectionFault::Hang { side: of, at } if of == side => {
                if passed < at {
                    return Some(before(at));
                }
                self.strike();
                self.rest(Duration::from_secs(3600));
                None
            }
            ConnectionFault::Trickle { side: of, at, bytes } if of == side && passed < at + bytes => {
                if passed < at {
                    return Some(before(at));
                }
                self.strike();
                Some(1)
            }
            ConnectionFault::Delay { each } if side == ProxyDirection::Up => {
                self.strike();
                self.rest(each);
                Some(length)
            }
            ConnectionFault::HalfClose { at } if side == ProxyDirection::Up => {
                if passed < at {
                    return Some(before(at));
                }
                self.strike();
                None
            }
            _ => Some(length),
        }
    }
}

fn answer_of(mut stream: TcpStream) -> Vec<u8> {
    let _ = stream.set_read_timeout(Some(ANSWER_TIME_MAX));
    let mut answer = Vec::new();
    // A broken transfer has any length.
    let _ = stream.read_to_end(&mut answer);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that reads to the end and answers with the number of bytes, connections that were
    /// reset as 0.
    fn counting() -> (SocketAddr, JoinHandle<Vec<usize>>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let thread = std::thread::spawn(move || {
            let mut counts = Vec::new();
            for stream in listener.incoming() {
                let (mut stream, mut bytes) = (stream.unwrap(), Vec::new());
                let read = stream.read_to_end(&mut bytes);
                if bytes == b"end" {
                    return counts;
                }
                counts.push(read.unwrap_or(0));
                let _ = write!(stream, "{}", bytes.len());
            }
            counts
        });
        (address, thread)
    }

    /// Answer of the server to 100 bytes through a fault, and the bytes it has seen at all.
    fn sent(fault: ConnectionFault) -> (String, bool, Option<Vec<u8>>, Vec<usize>) {
        let (address, server) = counting();
        let mut through = Proxy::new().connect(address, fault).unwrap();
        let _ = through.stream.write_all(&[7; 100]);
        let _ = through.stream.shutdown(Shutdown::Write);
        let mut answer = String::new();
        let _ = through.stream.read_to_string(&mut answer);
        let struck = through.struck();
        let duplicate = through.duplicate();
        TcpStream::connect(address).unwrap().write_all(b"end").unwrap();
        (answer, struck, duplicate, server.join().unwrap())
    }

    #[test]
    fn what_is_not_cut_arrives() {
        assert_eq!(sent(ConnectionFault::None), ("100".to_owned(), false, None, vec![100]));
        for fault in [
            ConnectionFault::Trickle { side: ProxyDirection::Up, at: 10, bytes: 50 },
            ConnectionFault::Stall { side: ProxyDirection::Down, at: 1, time: Duration::from_millis(5) },
            ConnectionFault::Delay { each: Duration::from_millis(5) },
        ] {
            assert_eq!(sent(fault), ("100".to_owned(), true, None, vec![100]), "{fault:?}");
        }
        let never = ConnectionFault::Cut { side: ProxyDirection::Up, at: 100, reset: true };
        assert_eq!(sent(never), ("100".to_owned(), false, None, vec![100]));
    }

    #[test]
    fn a_cut_is_where_it_is_told() {
        let cut = |reset| sent(ConnectionFault::Cut { side: ProxyDirection::Up, at: 40, reset });
        assert_eq!(cut(false), (String::new(), true, None, vec![40]));
        assert_eq!(cut(true), (String::new(), true, None, vec![0]));
        let down = sent(ConnectionFault::Cut { side: ProxyDirection::Down, at: 1, reset: false });
        assert_eq!((down.0.as_str(), down.1, down.3), ("1", true, vec![100]));
        assert_eq!(sent(ConnectionFault::HalfClose { at: 40 }), ("40".to_owned(), true, None, vec![40]));
    }

    #[test]
    fn a_request_is_sent_twice() {
        for at_once in [false, true] {
            let (answer, struck, duplicate, seen) = sent(ConnectionFault::Duplicate { at_once });
            assert_eq!((answer.as_str(), struck, duplicate, seen), ("100", true, Some(b"100".to_vec()), vec![100, 100]));
        }
    }

    #[test]
    fn a_hanging_connection_ends_with_its_client() {
        let (address, server) = counting();
        let mut through = Proxy::new().connect(address, ConnectionFault::Hang { side: ProxyDirection::Up, at: 3 }).unwrap();
        through.stream.write_all(&[7; 100]).unwrap();
        while !through.struck() {
            std::thread::yield_now();
        }
        drop(through);
        TcpStream::connect(address).unwrap().write_all(b"end").unwrap();
        assert_eq!(server.join().unwrap(), [3]);
    }
}
