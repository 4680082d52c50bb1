//! A WebSocket as a transport: large reads, payloads copied once, acknowledgements of the taken
//! bytes.

use super::message::{Receiver, SocketEvent};
use super::outgoing::Outgoing;
use crate::ingest::transport::Interruption;
use crate::ingest::transport::{TransferEnd, TransferProgress, Transport};
use crate::limits::{LINGER_BYTES_MAX, LINGER_TIME_MAX, SOCKET_ACK_BYTES, SOCKET_PING_EVERY, SOCKET_TEXT_BYTES_MAX};
use serde::Deserialize;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, sleep_until, timeout};

/// A connection after its upgrade.
pub(super) struct Socket<T> {
    stream: T,
    /// Bytes that were read; all of them are used up before more are read. In the place of the
    /// buffers that the connection had before.
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    receiver: Receiver,
    outgoing: Outgoing,
    tally: Arc<dyn TransferProgress>,
    /// Offset of the last acknowledgement.
    acknowledged: u64,
    /// A message ended since.
    message_ended: bool,
    next_ping: Instant,
    ended: TransferEnd,
    /// The reason for which the client is to leave.
    close_code: Option<u16>,
    /// It said that it leaves.
    left: bool,
}

/// Message of a client.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
enum ClientMessage {
    /// There is no more: as the end of a body.
    End {},
}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Socket<T> {
    pub(super) fn new(stream: T, tally: Arc<impl TransferProgress + 'static>, buffer_bytes: usize) -> Self {
        Self {
            stream,
            buffer: vec![0; buffer_bytes].into(),
            start: 0,
            end: 0,
            receiver: Receiver::new(SOCKET_TEXT_BYTES_MAX),
            outgoing: Outgoing::default(),
            acknowledged: tally.offset(),
            tally,
            message_ended: false,
            next_ping: Instant::now() + SOCKET_PING_EVERY,
            ended: TransferEnd::Part,
            close_code: None,
            left: false,
        }
    }

    /// Sends a message to the client, after those before.
    pub(super) fn say(&mut self, text: &str) {
        self.outgoing.text(text);
    }

    /// Says the last words, unless the client left with its own, and waits within limits until it
    /// has read them.
    pub(super) async fn close(mut self, last_words: &str, code: u16) {
        if !self.left {
            self.outgoing.text(last_words);
            self.outgoing.close(Some(self.close_code.unwrap_or(code)));
        }
        // A client that is gone reads nothing; nobody is told of that.
        let _ = timeout(LINGER_TIME_MAX, self.part()).await;
    }

    async fn part(&mut self) -> io::Result<()> {
        poll_fn(|context| self.poll_send(context)).await?;
        poll_fn(|context| Pin::new(&mut self.stream).poll_shutdown(context)).await?;
        // Bytes still on their way would reset the connection, and with it the last words.
        let mut left = LINGER_BYTES_MAX;
        while left > 0 {
            let read = poll_fn(|context| self.poll_read(context)).await?;
            left = if read == 0 { 0 } else { left.saturating_sub(read as u64) };
        }
        Ok(())
    }

    /// Goes through the bytes that were read; `None` where all of them are used up.
    fn decode(&mut self) -> Result<Option<usize>, Interruption> {
        loop {
            // Bytes after it are not looked at, whether they came along or not.
            if self.all_is_here() {
                return Ok(Some(0));
            }
            match self.next()? {
                SocketEvent::Binary(bytes) => return Ok(Some(bytes)),
                SocketEvent::BinaryEnd => self.message_ended = true,
                SocketEvent::Pong => {}
                SocketEvent::Ping => self.outgoing.pong(self.receiver.control()),
                SocketEvent::Text(text) => return self.heard(&text).map(Some),
                SocketEvent::Close(code) => return self.leave(code).map(Some),
                SocketEvent::More => return Ok(None),
            }
        }
    }

    fn next(&mut self) -> Result<SocketEvent, Interruption> {
        let mut input = &self.buffer[self.start..self.end];
        let event = self.receiver.next(&mut input);
        self.start = self.end - input.len();
        event.map_err(|violation| self.refuse(violation.code, violation.what))
    }

    fn heard(&mut self, text: &str) -> Result<usize, Interruption> {
        let Ok(ClientMessage::End {}) = serde_json::from_str(text) else {
            return Err(self.refuse(UNKNOWN_TEXT, "a text that is not {\"type\":\"end\"}"));
        };
        self.ended = TransferEnd::Log;
        Ok(0)
    }

    /// The client leaves: for a while, or because something happened to it.
    fn leave(&mut self, code: Option<u16>) -> Result<usize, Interruption> {
        self.left = true;
        self.outgoing.close(code);
        match code {
            None | Some(NORMAL) => Ok(0),
            Some(code) => Err(Interruption::Connection(format!("the client closed it with code {code}"))),
        }
    }

    fn refuse(&mut self, code: u16, what: &'static str) -> Interruption {
        self.close_code = Some(code);
        Interruption::Protocol(what)
    }

    /// True if the announced size has come, and the frame that it ends in has nothing beyond it.
    fn all_is_here(&self) -> bool {
        self.tally.size().is_some_and(|size| self.tally.offset() >= size) && !self.receiver.within()
    }

    /// Tells the client how far its bytes were taken: at the end of its messages, and within long
    /// ones. Only before there is more to read, so that many short messages have one answer.
    fn acknowledge(&mut self) {
        let taken = self.tally.offset();
        let news = taken - self.acknowledged;
        if news >= SOCKET_ACK_BYTES || (self.message_ended && news > 0) {
            self.outgoing.taken(taken);
            (self.acknowledged, self.message_ended) = (taken, false);
        }
    }

    /// Sends pending messages while it waits for more to read.
    fn poll_exchange(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Err(error)) = self.poll_send(context) {
            return Poll::Ready(Err(error));
        }
        self.poll_read(context)
    }

    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let pending = self.outgoing.pending();
            if pending.is_empty() {
                return Pin::new(&mut self.stream).poll_flush(context);
            }
            let sent = ready!(Pin::new(&mut self.stream).poll_write(context, pending))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.outgoing.sent(sent);
        }
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut place = ReadBuf::new(&mut self.buffer);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut place))?;
        (self.start, self.end) = (0, place.filled().len());
        Poll::Ready(Ok(self.end))
    }
}

/// The code of a client that leaves in order.
pub(super) const NORMAL: u16 = 1000;

/// The status 400 of an answer, as a close code.
const UNKNOWN_TEXT: u16 = 4400;

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Transport for Socket<T> {
    async fn ready(&mut self) -> Result<usize, Interruption> {
        loop {
            if let Some(bytes) = self.decode()? {
                return Ok(bytes);
            }
            self.acknowledge();
            let next_ping = self.next_ping;
            tokio::select! {
                read = poll_fn(|context| self.poll_exchange(context)) => {
                    match read {
                        Ok(0) => return Err(Interruption::Connection("it ended without a close frame".to_owned())),
                        Ok(_) => self.next_ping = Instant::now() + SOCKET_PING_EVERY,
                        Err(error) => return Err(Interruption::Connection(error.to_string())),
                    }
                }
                () = sleep_until(next_ping) => {
                    self.outgoing.ping();
                    self.next_ping = Instant::now() + SOCKET_PING_EVERY;
                }
            }
        }
    }

    fn fill(&mut self, place: &mut [u8]) {
        let mut input = &self.buffer[self.start..self.end];
        self.receiver.take(&mut input, place);
        self.start = self.end - input.len();
    }

    fn end(&self) -> TransferEnd {
        self.ended
    }
}
