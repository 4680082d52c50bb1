//! Transports of an upload's bytes: a request's body, a WebSocket, a part that was held until its
//! checksum was right.

use axum::body::Body;
use bytes::{Buf, Bytes};
use http_body_util::BodyExt;

/// Bytes that are passed over at once.
const SKIPPED_BYTES: usize = 4 << 10;

/// Brings bytes, and nothing else: its user counts, waits, and decides on the session.
pub(crate) trait Transport: Send {
    /// Waits until bytes are at hand, and tells how many; 0 at the end. May be dropped while it
    /// waits, and called again.
    fn ready(&mut self) -> impl Future<Output = Result<usize, Interruption>> + Send;

    /// Moves the next bytes to `place`, which is no longer than the bytes at hand.
    fn fill(&mut self, place: &mut [u8]);

    /// Passes over so many of the next bytes, which are at hand.
    fn skip(&mut self, mut count: usize) {
        let mut piece = [0; SKIPPED_BYTES];
        while count > 0 {
            let length = count.min(piece.len());
            self.fill(&mut piece[..length]);
            count -= length;
        }
    }

    /// Meaning of its end.
    fn end(&self) -> TransferEnd;

    /// True if it may wait for a permit to the end of a log, which may be long: it holds nothing
    /// meanwhile that others wait for.
    fn waits(&self) -> bool {
        true
    }
}

/// Progress of an upload, which a transport may tell its client.
pub(crate) trait TransferProgress: Send + Sync {
    /// Bytes that were taken, those before this connection among them.
    fn offset(&self) -> u64;

    /// Announced size, where there is one.
    fn size(&self) -> Option<u64>;
}

/// The reason for which a body was not taken to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// The connection broke, or the client ended it.
    Connection(String),
    /// Nothing came for too long.
    Idle,
    /// Too little came while another session waits for the place.
    Slow,
    /// More came than was announced; the announced bytes are taken.
    TooLong,
    /// The run has ended and takes no more.
    RunEnded,
    /// The system has no memory for a block.
    NoMemory,
    /// There is no place to hold the start of a line while others have their turn.
    NoPlace,
    /// There are as many decoders as there may be, and this body can't wait for one.
    NoTurn,
    /// The bytes are no part of an upload by its transport's rules.
    Protocol(&'static str),
}

/// End of a transport, where the size of the log was not announced. Where it was, the log ends
/// there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransferEnd {
    /// The end of the log.
    Log,
    /// The end of a part; more is to come.
    Part,
}

/// The body of a request.
pub(crate) struct BodyTransport {
    body: Body,
    data: Bytes,
    end: TransferEnd,
}

impl BodyTransport {
    pub(crate) fn new(body: Body, end: TransferEnd) -> Self {
        Self { body, data: Bytes::new(), end }
    }
}

impl Transport for BodyTransport {
    async fn ready(&mut self) -> Result<usize, Interruption> {
        while self.data.is_empty() {
            match self.body.frame().await {
                None => return Ok(0),
                Some(Err(error)) => return Err(Interruption::Connection(error.to_string())),
                // Trailers say nothing to us.
                Some(Ok(frame)) => self.data = frame.into_data().unwrap_or_default(),
            }
        }
        Ok(self.data.len())
    }

    fn fill(&mut self, place: &mut [u8]) {
        self.data.copy_to_slice(place);
    }

    fn skip(&mut self, count: usize) {
        self.data.advance(count);
    }

    fn end(&self) -> TransferEnd {
        self.end
    }
}
