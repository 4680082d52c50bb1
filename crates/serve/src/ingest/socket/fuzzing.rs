//! The view of a WebSocket's fuzz target: messages that were heard, and the session's totals.
#![allow(clippy::expect_used)]

use super::mask::copied;
use super::message::{Receiver, SocketEvent};
use super::serve;
use super::stream::Socket;
use crate::explore::sessions::Sessions;
use crate::limits::{CONNECTION_BUFFER_BYTES, SOCKET_TEXT_BYTES_MAX};
use crate::session::Session;
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes of a text at most.
pub const TEXT_BYTES_MAX: usize = SOCKET_TEXT_BYTES_MAX;

/// Message of a client as it was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientHeard {
    /// A text.
    Text(String),
    /// A binary message.
    Binary(Vec<u8>),
    /// The beginning of a binary message without an end.
    Begun(Vec<u8>),
    /// It wants an answer with this.
    Ping(Vec<u8>),
    /// It is there.
    Pong(Vec<u8>),
    /// It left, with this code.
    Closed(Option<u16>),
    /// It broke the rules: the code that tells it.
    Failed(u16),
}

/// Messages in these reads, binary payloads taken in pieces of at most `piece_bytes`; and the bytes
/// that were copied.
pub fn hear<'a>(reads: impl IntoIterator<Item = &'a [u8]>, piece_bytes: usize) -> (Vec<ClientHeard>, u64) {
    copied::take();
    let mut receiver = Receiver::new(TEXT_BYTES_MAX);
    let (mut heard, mut message) = (Vec::new(), Vec::new());
    for mut input in reads {
        if !go_through(&mut receiver, &mut input, piece_bytes, &mut heard, &mut message) {
            break;
        }
        assert!(input.is_empty(), "all of a read is used up");
    }
    if !message.is_empty() {
        heard.push(ClientHeard::Begun(message));
    }
    (heard, copied::take())
}

/// Goes through one read; true if more may follow.
fn go_through(
    receiver: &mut Receiver,
    input: &mut &[u8],
    piece_bytes: usize,
    heard: &mut Vec<ClientHeard>,
    message: &mut Vec<u8>,
) -> bool {
    loop {
        let said = match receiver.next(input) {
            Ok(SocketEvent::More) => return true,
            Ok(SocketEvent::Binary(bytes)) => {
                let at = message.len();
                message.resize(at + bytes.min(piece_bytes), 0);
                receiver.take(input, &mut message[at..]);
                continue;
            }
            Ok(SocketEvent::BinaryEnd) => ClientHeard::Binary(std::mem::take(message)),
            Ok(SocketEvent::Text(text)) => ClientHeard::Text(text),
            Ok(SocketEvent::Ping) => ClientHeard::Ping(receiver.control().to_vec()),
            Ok(SocketEvent::Pong) => ClientHeard::Pong(receiver.control().to_vec()),
            Ok(SocketEvent::Close(code)) => ClientHeard::Closed(code),
            Err(violation) => {
                heard.push(ClientHeard::Failed(violation.code));
                return false;
            }
        };
        heard.push(said);
    }
}

/// Takes these reads as the frames of an upload, after which the connection ends; returns the
/// server's messages.
pub(crate) async fn upload(sessions: &Sessions, session: Arc<Session>, reads: Vec<Vec<u8>>) -> Vec<u8> {
    let said = Arc::new(Mutex::new(Vec::new()));
    let client = FuzzClient { reads: reads.into(), said: Arc::clone(&said) };
    let offset = session.offset();
    let socket = Socket::new(client, Arc::clone(&session), CONNECTION_BUFFER_BYTES);
    serve(sessions, session, offset, socket).await;
    std::mem::take(&mut said.lock().expect("no panic"))
}

/// Sends its frames, and listens.
struct FuzzClient {
    reads: VecDeque<Vec<u8>>,
    said: Arc<Mutex<Vec<u8>>>,
}

impl AsyncRead for FuzzClient {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, place: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        place.put_slice(&self.reads.pop_front().unwrap_or_default());
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for FuzzClient {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.said.lock().expect("no panic").extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
