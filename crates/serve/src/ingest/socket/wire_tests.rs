//! The whole way of a WebSocket's bytes, over a connection that gives them in small reads, breaks
//! off, or keeps its messages.

use super::mask::copied;
use super::stream::Socket;
use crate::fault_tests::{log, report, session};
use crate::ingest::upload::Intake;
use crate::limits::CONNECTION_BUFFER_BYTES;
use crate::session::{Session, SessionState};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::Builder;

/// TCP bytes of an Ethernet packet.
const PACKET_BYTES: usize = 1_460;

const KEY: [u8; 4] = [0xa5, 0x01, 0xfe, 0x6b];

/// A client that sends a log over and over, in frames of that many bytes, a packet a read.
struct SocketClient<'a> {
    log: &'a [u8],
    /// Position in all that is sent, and its end.
    at: u64,
    size: u64,
    frame_bytes: u64,
    /// Bytes of the head that are still to be given.
    head: Vec<u8>,
    /// Turned to the next byte.
    key_at: usize,
    frame_left: u64,
    /// Reads until it breaks off.
    reads: u64,
    heard: Vec<u8>,
}

impl<'a> SocketClient<'a> {
    fn new(log: &'a [u8], at: u64, size: u64, frame_bytes: u64, reads: u64) -> Self {
        Self { log, at, size, frame_bytes, head: Vec::new(), key_at: 0, frame_left: 0, reads, heard: Vec::new() }
    }

    fn next_byte(&mut self) -> Option<u8> {
        if self.head.is_empty() && self.frame_left == 0 {
            if self.at == self.size {
                return None;
            }
            self.frame_left = self.frame_bytes.min(self.size - self.at);
            self.key_at = 0;
            self.head = vec![0x82];
            match self.frame_left {
                short @ 0..126 => self.head.push(0x80 | short as u8),
                long @ 126..65_536 => {
                    self.head.push(0xfe);
                    self.head.extend((long as u16).to_be_bytes());
                }
                long => {
                    self.head.push(0xff);
                    self.head.extend(long.to_be_bytes());
                }
            }
            self.head.extend(KEY);
        }
        if !self.head.is_empty() {
            return Some(self.head.remove(0));
        }
        let byte = self.log[(self.at % self.log.len() as u64) as usize] ^ KEY[self.key_at % 4];
        self.at += 1;
        self.key_at += 1;
        self.frame_left -= 1;
        Some(byte)
    }
}

impl AsyncRead for SocketClient<'_> {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, place: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.reads == 0 {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionReset, "the fault of this test")));
        }
        self.reads -= 1;
        let packet: Vec<u8> = std::iter::from_fn(|| self.next_byte()).take(PACKET_BYTES).collect();
        place.put_slice(&packet);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for SocketClient<'_> {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.heard.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Sends from the session's offset on.
async fn send<'a>(session: &Arc<Session>, client: impl FnOnce(u64) -> SocketClient<'a>) -> Result<(), String> {
    let offset = session.offset();
    let intake = Intake::claim(Arc::clone(session), offset, None).map_err(|error| error.message().to_owned())?;
    let mut socket = Socket::new(client(offset), Arc::clone(session), CONNECTION_BUFFER_BYTES);
    intake.take(&mut socket).await.map_err(|error| error.message().to_owned())
}

#[test]
fn a_frame_of_64_mib_in_small_reads_is_copied_once() {
    const SIZE: u64 = 64 << 20;
    // Long lines, so that the test is about frames and not about parsing.
    let line = format!("10.0.0.1 - - [02/Jan/2025:00:00:00 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"{}\"\n", "agent".repeat(800));
    // The connection is read on this thread, which counts its copied bytes.
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let session = session(Some(SIZE), None);
        copied::take();
        send(&session, |_| SocketClient::new(line.as_bytes(), 0, SIZE, SIZE, u64::MAX)).await.expect("nothing is in its way");
        let copied = copied::take();
        assert!((SIZE..=SIZE + SIZE / 10).contains(&copied), "{copied} bytes were copied for {SIZE}");
        assert_eq!(report(&session).await["lines"]["total"], SIZE.div_ceil(line.len() as u64));
        assert_eq!(session.blocks_lent(), 0);
    });
}

/// Gives its bytes up to a place, and then the rest.
struct TwoPieceReader<'a>(Vec<&'a [u8]>);

impl AsyncRead for TwoPieceReader<'_> {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, place: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        place.put_slice(self.0.pop().unwrap_or_default());
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for TwoPieceReader<'_> {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// All frames of a client that sends so many bytes in frames of that many.
fn frames(log: &[u8], frame_bytes: usize) -> Vec<u8> {
    let mut client = SocketClient::new(log, 0, log.len() as u64, frame_bytes as u64, 0);
    std::iter::from_fn(|| client.next_byte()).collect()
}

#[test]
fn what_comes_behind_the_announced_size_means_the_same_wherever_packets_end() {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let log = log(2);
        let beyond = [&log[..], b"and more\n"].concat();
        // In a frame of its own it is not looked at; in the frame with the last byte it is too
        // much.
        for (sent, is_taken) in [(frames(&beyond, log.len()), true), (frames(&beyond, beyond.len()), false)] {
            for split in 0..=sent.len() {
                let session = session(Some(log.len() as u64), None);
                let intake = Intake::claim(Arc::clone(&session), 0, None).expect("nobody else has it");
                let parts = [&sent[split..], &sent[..split]].into_iter().filter(|part| !part.is_empty()).collect();
                let mut socket = Socket::new(TwoPieceReader(parts), Arc::clone(&session), CONNECTION_BUFFER_BYTES);
                let taken = intake.take(&mut socket).await.map_err(|error| error.code());
                assert_eq!(taken, if is_taken { Ok(()) } else { Err("too_long") }, "{split}");
                assert_eq!((session.offset(), session.state()), (log.len() as u64, SessionState::Finished), "{split}");
            }
        }
    });
}

#[test]
fn a_connection_that_is_dropped_at_every_nth_read_loses_nothing() {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let log = log(1_000);
        let size = log.len() as u64;
        // Heads come in pieces, at the borders of frames that are no multiple of a packet.
        let frame_bytes = 7_001;
        let client = |reads| {
            let log = &log;
            move |offset| SocketClient::new(log, offset, size, frame_bytes, reads)
        };
        let whole = session(Some(size), None);
        send(&whole, client(u64::MAX)).await.expect("nothing is in its way");
        let expected = report(&whole).await;
        assert_eq!(expected["lines"]["parsed"], 1_000);
        let mut nth = 0;
        loop {
            let broken = session(Some(size), None);
            let sent = send(&broken, client(nth)).await;
            if sent.is_err() {
                assert_eq!(broken.state(), SessionState::Interrupted, "{nth}: {sent:?}");
                send(&broken, client(u64::MAX)).await.expect("nothing is in its way now");
            }
            assert_eq!(report(&broken).await, expected, "{nth}");
            assert_eq!(broken.blocks_lent(), 0, "{nth}: every block comes home");
            nth += 1;
            if sent.is_ok() {
                break;
            }
        }
        assert!(nth > size / PACKET_BYTES as u64, "it broke off {nth} times");
    });
}
