//! From the socket to the run: filled blocks through a short queue.

use crate::limits::{FEED_PATIENCE, FEED_QUEUE, UPLOAD_IDLE_MAX};
use bytes::{Buf, Bytes};
use http_body_util::BodyExt;
use rorqual_pipe::limits::BLOCK_BYTES;
use rorqual_pipe::{BlockSource, Control, Error, Filled, Lease, Pool};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;

/// The writing end: an upload, or one after another.
#[derive(Debug)]
pub(crate) struct Feed {
    sender: Sender<Filled>,
    pool: Pool,
    headroom: usize,
    current: Option<(Lease, usize)>,
}

/// The reading end: the source of a run.
pub(crate) struct FeedSource {
    receiver: Receiver<Filled>,
    control: Control,
}

/// Why a body was not taken to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// The connection broke, or the client ended it.
    Connection(String),
    /// Nothing came for too long.
    Idle,
    /// The run has ended and takes no more.
    RunEnded,
    /// The system has no memory for a block.
    NoMemory,
}

/// A feed that fills blocks of `pool` behind `headroom` bytes, and the source that gives them to a run.
pub(crate) fn feed(pool: &Pool, headroom: usize, control: &Control) -> (Feed, FeedSource) {
    let (sender, receiver) = channel(FEED_QUEUE);
    let feed = Feed { sender, pool: pool.clone(), headroom, current: None };
    (feed, FeedSource { receiver, control: control.clone() })
}

impl Feed {
    /// Takes a body to its end, counting every byte in `taken` that the run is now sure to get. Also after an
    /// interruption all counted bytes reach the run.
    pub(crate) async fn take(&mut self, mut body: axum::body::Body, taken: &AtomicU64) -> Result<(), Interruption> {
        let result = self.take_frames(&mut body, taken).await;
        self.hand_on().await?;
        result
    }

    async fn take_frames(&mut self, body: &mut axum::body::Body, taken: &AtomicU64) -> Result<(), Interruption> {
        loop {
            let patience = if self.current.is_some() { FEED_PATIENCE } else { UPLOAD_IDLE_MAX };
            match timeout(patience, body.frame()).await {
                Ok(None) => return Ok(()),
                Ok(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => self.put(data, taken).await?,
                    Err(_trailers) => {}
                },
                Ok(Some(Err(error))) => return Err(Interruption::Connection(error.to_string())),
                Err(_elapsed) if self.current.is_some() => self.hand_on().await?,
                Err(_elapsed) => return Err(Interruption::Idle),
            }
        }
    }

    async fn put(&mut self, mut data: Bytes, taken: &AtomicU64) -> Result<(), Interruption> {
        while data.has_remaining() {
            let (mut lease, used) = match self.current.take() {
                Some(current) => current,
                None => (self.pool.lease_async().await.map_err(|_| Interruption::NoMemory)?, 0),
            };
            let length = data.len().min(BLOCK_BYTES - used);
            let start = self.headroom + used;
            data.copy_to_slice(&mut lease[start..start + length]);
            self.current = Some((lease, used + length));
            taken.fetch_add(length as u64, Ordering::Relaxed);
            if used + length == BLOCK_BYTES {
                self.hand_on().await?;
            }
        }
        Ok(())
    }

    async fn hand_on(&mut self) -> Result<(), Interruption> {
        let Some((lease, used)) = self.current.take() else { return Ok(()) };
        let range = self.headroom..self.headroom + used;
        self.sender.send(Filled { lease, range }).await.map_err(|_| Interruption::RunEnded)
    }
}

impl BlockSource for FeedSource {
    fn next_block(&mut self) -> Result<Option<Filled>, Error> {
        let filled = self.receiver.blocking_recv();
        if let Some(filled) = &filled {
            self.control.stored(filled.range.len() as u64);
        }
        Ok(filled.filter(|_| !self.control.stopped()))
    }
}

/// How long an upload may be silent, for messages.
pub(crate) const fn idle_max() -> Duration {
    UPLOAD_IDLE_MAX
}
