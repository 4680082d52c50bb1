//! A second handle on a connection's socket, which sees its client leave.
//!
//! hyper reads nothing while it answers, as a client may close its sending half and still want the answer (`half_close`). A
//! rendering that has nothing to write for long would then never hear that nobody waits for it.

use std::io;
use std::sync::Arc;
use tokio::net::TcpStream;

/// A connection's socket, beside the one that hyper has; nothing is read from it.
#[derive(Debug, Clone)]
pub(crate) struct Twin(Option<Arc<TcpStream>>);

impl Twin {
    /// The connection, and its twin. Without a descriptor for one the client's leaving is noticed by the next write.
    ///
    /// # Errors
    /// When the runtime does not take the socket back.
    pub(crate) fn of(stream: TcpStream) -> io::Result<(TcpStream, Self)> {
        let stream = stream.into_std()?;
        let twin = stream.try_clone().and_then(TcpStream::from_std).ok();
        Ok((TcpStream::from_std(stream)?, Self(twin.map(Arc::new))))
    }

    /// Done when the client has closed its sending half, or the connection broke. A client that sends its next request before
    /// it has the answer is not watched.
    pub(crate) async fn left(&self) {
        let mut byte = [0];
        match &self.0 {
            Some(stream) => match stream.peek(&mut byte).await {
                Ok(0) | Err(_) => {}
                Ok(_) => std::future::pending().await,
            },
            None => std::future::pending().await,
        }
    }
}
