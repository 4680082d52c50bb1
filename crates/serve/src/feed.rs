//! From the socket to the run: filled blocks through a short queue.

use crate::limits::{FEED_PATIENCE, FEED_QUEUE, FIRST_PATIENCE, UPLOAD_IDLE_MAX};
use crate::pace::Pace;
use crate::transport::Transport;
use rorqual_pipe::decode::Encoding;
use rorqual_pipe::limits::BLOCK_BYTES;
use rorqual_pipe::{BlockSource, Control, Error, Filled, Lease, Pool};
use rorqual_table::analyze::Formats;
use rorqual_table::format::{SAMPLE_LINES_MAX, detect};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, timeout_at};

/// The writing end: an upload, or one after another.
#[derive(Debug)]
pub(crate) struct Feed {
    sender: Sender<Filled>,
    pool: Pool,
    headroom: usize,
    current: Option<Filling>,
    /// The formats in question, until the first block is handed on: the run takes the format from that block alone.
    first: Option<Formats>,
}

/// A block that is being filled.
#[derive(Debug)]
struct Filling {
    lease: Lease,
    used: usize,
    newlines: usize,
    /// When to hand it on although it is not full.
    due: Instant,
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
    /// Too little came while another session waits for the place.
    Slow,
    /// More came than was announced; what was announced is taken.
    TooLong,
    /// The run has ended and takes no more.
    RunEnded,
    /// The system has no memory for a block.
    NoMemory,
    /// What came is no part of an upload as its transport has them.
    Protocol(&'static str),
}

/// A feed that fills blocks of `pool` behind `headroom` bytes, and the source that gives them to a run.
pub(crate) fn feed(pool: &Pool, headroom: usize, formats: Formats, control: &Control) -> (Feed, FeedSource) {
    let (sender, receiver) = channel(FEED_QUEUE);
    let feed = Feed { sender, pool: pool.clone(), headroom, current: None, first: Some(formats) };
    (feed, FeedSource { receiver, control: control.clone() })
}

impl Feed {
    /// Takes what a transport brings to its end, or until `taken` is `size`, counting every byte in `taken`. Also after an interruption all
    /// counted bytes reach the run; those by which no format can be told yet stay here until there are more, or the end.
    pub(crate) async fn take(
        &mut self,
        transport: &mut impl Transport,
        taken: &AtomicU64,
        size: Option<u64>,
        pace: &Pace,
    ) -> Result<(), Interruption> {
        let result = self.take_all(transport, taken, size, pace).await;
        self.hand_on_ripe().await?;
        result
    }

    /// Hands on what is left: the end of the log.
    pub(crate) async fn finish(mut self) -> Result<(), Interruption> {
        self.hand_on().await
    }

    async fn take_all(
        &mut self,
        transport: &mut impl Transport,
        taken: &AtomicU64,
        size: Option<u64>,
        pace: &Pace,
    ) -> Result<(), Interruption> {
        let mut last = Instant::now();
        loop {
            let silent = last + UPLOAD_IDLE_MAX;
            let until = self.current.as_ref().map_or(silent, |filling| filling.due.min(silent));
            let ready = tokio::select! {
                biased;
                ready = timeout_at(until, transport.ready()) => ready,
                () = pace.place_wanted() => return Err(Interruption::Slow),
            };
            match ready {
                Ok(Ok(0)) => return Ok(()),
                Ok(Ok(ready)) => {
                    self.put(transport, ready, taken, size).await?;
                    last = Instant::now();
                }
                Ok(Err(interruption)) => return Err(interruption),
                Err(_elapsed) if last.elapsed() >= UPLOAD_IDLE_MAX => return Err(Interruption::Idle),
                Err(_elapsed) => {}
            }
            if self.current.as_ref().is_some_and(|filling| filling.due <= Instant::now()) {
                self.hand_on_ripe().await?;
            }
        }
    }

    /// Moves what is ready into blocks.
    async fn put(
        &mut self,
        transport: &mut impl Transport,
        mut ready: usize,
        taken: &AtomicU64,
        size: Option<u64>,
    ) -> Result<(), Interruption> {
        while ready > 0 {
            let room = size.map_or(u64::MAX, |size| size.saturating_sub(taken.load(Ordering::Relaxed)));
            if room == 0 {
                return Err(Interruption::TooLong);
            }
            let mut filling = match self.current.take() {
                Some(filling) => filling,
                None => Filling {
                    lease: self.pool.lease_async().await.map_err(|_| Interruption::NoMemory)?,
                    used: 0,
                    newlines: 0,
                    due: Instant::now() + self.patience(),
                },
            };
            let length = ready.min(BLOCK_BYTES - filling.used).min(usize::try_from(room).unwrap_or(usize::MAX));
            let start = self.headroom + filling.used;
            let place = &mut filling.lease[start..start + length];
            transport.fill(place);
            if self.first.is_some() {
                filling.newlines += place.iter().filter(|byte| **byte == b'\n').count();
            }
            filling.used += length;
            let full = filling.used == BLOCK_BYTES || filling.newlines >= SAMPLE_LINES_MAX;
            self.current = Some(filling);
            ready -= length;
            taken.fetch_add(length as u64, Ordering::Relaxed);
            if full {
                self.hand_on().await?;
            }
        }
        Ok(())
    }

    fn patience(&self) -> Duration {
        if self.first.is_some() { FIRST_PATIENCE } else { FEED_PATIENCE }
    }

    /// Hands the block on, unless it is the first and tells no format: then more has to come, or the end.
    async fn hand_on_ripe(&mut self) -> Result<(), Interruption> {
        let Some(filling) = &mut self.current else { return Ok(()) };
        let head = &filling.lease[self.headroom..self.headroom + filling.used];
        if self.first.as_ref().is_some_and(|formats| !tells_format(head, formats)) {
            filling.due = Instant::now() + FIRST_PATIENCE;
            return Ok(());
        }
        self.hand_on().await
    }

    async fn hand_on(&mut self) -> Result<(), Interruption> {
        let Some(Filling { lease, used, .. }) = self.current.take() else { return Ok(()) };
        self.first = None;
        let range = self.headroom..self.headroom + used;
        self.sender.send(Filled { lease, range }).await.map_err(|_| Interruption::RunEnded)
    }
}

/// Whether the first block of a stream is enough for a run to tell its format by, or more would not help.
pub(crate) fn is_enough(head: &[u8], formats: &Formats) -> bool {
    head.iter().filter(|byte| **byte == b'\n').count() >= SAMPLE_LINES_MAX || tells_format(head, formats)
}

/// Whether a run would find a format by this head. Compressed data it decodes a block of first, however little comes at once.
fn tells_format(head: &[u8], formats: &Formats) -> bool {
    let lines = head.iter().rposition(|byte| *byte == b'\n').map_or(&[][..], |newline| &head[..=newline]);
    formats.given.is_some() || Encoding::detect(head) != Encoding::Plain || detect(lines, &formats.candidates).is_ok()
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
