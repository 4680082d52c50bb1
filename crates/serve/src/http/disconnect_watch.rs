//! A second handle on a connection's socket, which sees its client leave.
//!
//! hyper reads nothing while it answers, as a client may close its sending half and still want the
//! answer (`half_close`). A rendering that has nothing to write for long would then never hear that
//! nobody waits for it.

use socket2::SockRef;
use std::io;
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::sync::{Arc, Weak};
use tokio::io::Interest;
use tokio::net::TcpStream;

/// A connection's socket, beside the one that hyper has; nothing is read from it, and written only
/// when hyper writes nothing.
#[derive(Debug, Clone)]
pub(crate) struct DisconnectWatch(Option<Arc<TcpStream>>);

/// Bytes that lie in a connection's socket; it does not keep the socket open.
#[derive(Debug, Default)]
pub(crate) struct UnreadBytes(Weak<TcpStream>);

impl UnreadBytes {
    /// True if there are any. The system is asked: the runtime hears of them later.
    pub(crate) fn are_there(&self) -> bool {
        let peek = |stream: Arc<TcpStream>| SockRef::from(&*stream).peek(&mut [MaybeUninit::uninit()]);
        self.0.upgrade().is_some_and(|stream| matches!(peek(stream), Ok(1..)))
    }
}

impl DisconnectWatch {
    /// The connection, and its twin. Without a descriptor for one the client's leaving is noticed
    /// by the next write.
    ///
    /// # Errors
    /// When the runtime does not take the socket back.
    pub(crate) fn of(stream: TcpStream) -> io::Result<(TcpStream, Self)> {
        let stream = stream.into_std()?;
        let twin = stream.try_clone().and_then(TcpStream::from_std).ok();
        Ok((TcpStream::from_std(stream)?, Self(twin.map(Arc::new))))
    }

    /// Bytes of the connection that are not read yet.
    pub(crate) fn unread(&self) -> UnreadBytes {
        UnreadBytes(self.0.as_ref().map_or_else(Weak::new, Arc::downgrade))
    }

    /// Of a connection that has no socket: only a write notices that the client left.
    #[cfg(any(fuzzing, test))]
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// Sends the last words of a connection on which nothing was answered; as much as the system
    /// takes at once.
    pub(crate) fn leave_with(&self, words: &[u8]) {
        if let Some(stream) = &self.0 {
            let socket = SockRef::from(&**stream);
            // Who is not there any longer misses nothing.
            let _ = socket.send(words).and_then(|_| socket.shutdown(Shutdown::Write));
        }
    }

    /// Done when the client has closed its sending half, or the connection broke; also after bytes
    /// that nobody has read yet, such as those by which TLS says goodbye.
    pub(crate) async fn left(&self) {
        let Some(stream) = &self.0 else { return std::future::pending().await };
        loop {
            match stream.ready(Interest::READABLE).await {
                Ok(ready) if !ready.is_read_closed() => {}
                _ => return,
            }
            if matches!(stream.peek(&mut [0]).await, Ok(0) | Err(_)) {
                return;
            }
            // The present bytes are not for us: the next event will be another one.
            let _ = stream.try_io(Interest::READABLE, || Err::<(), _>(io::ErrorKind::WouldBlock.into()));
        }
    }
}
