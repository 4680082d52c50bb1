//! From the socket to the run: bytes wait where they came from until their session has a turn, and
//! then go through filled blocks and a short queue.

use crate::admission::PermitGuard;
use crate::admission::scheduler::WorkerGrant;
use rorqual_accesslog::analyze::Formats;
use rorqual_pipe::{BlockSource, Control, Error, FilledBlock, Lease};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// The writing end: an upload, or one after another.
pub(crate) struct Feed {
    pub(super) headroom: usize,
    /// The formats in question, until the bytes tell one: the run takes the format from its first
    /// block alone.
    pub(super) formats: Option<Formats>,
    /// Bytes until then.
    pub(super) head: Vec<u8>,
    /// The place of a head, or of the start of a line, that is longer than any session may hold.
    pub(super) held: Option<PermitGuard>,
    /// The run, while it has its turn.
    pub(super) lap: Option<WorkSlice>,
}

/// A run that has its turn.
pub(super) struct WorkSlice {
    pub(super) sender: Sender<FeedItem>,
    pub(super) running: JoinHandle<SliceOutcome>,
    pub(super) turn: Arc<WorkerGrant>,
    pub(super) headroom: usize,
    pub(super) begun: Instant,
    pub(super) current: Option<FillingBlock>,
    pub(super) taken: u64,
    /// Part of a limited rate that is not paid yet.
    pub(super) debt: Duration,
    /// Files whose ends were handed on, of a log that is several.
    pub(super) files_ended: usize,
    /// The next block is the first of a file.
    pub(super) begins_file: bool,
}

/// Outcome of a slice.
#[derive(Debug)]
pub(crate) enum SliceOutcome {
    /// There is more to come.
    Paused {
        /// Of an unfinished line.
        held_bytes: usize,
    },
    /// A table came to its end, and is to be read.
    Uploaded,
    /// The session has ended.
    Ended,
}

/// A block that is being filled.
pub(super) struct FillingBlock {
    pub(super) lease: Lease,
    pub(super) used: usize,
    /// Time to hand it on although it is not full.
    pub(super) due: Instant,
}

/// Item for a run.
pub(super) enum FeedItem {
    Block(FilledBlock),
    /// A file ends here, of a log that is several.
    FileEnd,
    /// The log ends here.
    End,
}

/// Source of the items of a run, a slice at a time.
#[derive(Clone, Default)]
pub(crate) struct Inlet(Arc<InletState>);

#[derive(Default)]
struct InletState {
    receiver: Mutex<Option<Receiver<FeedItem>>>,
    /// Files that came to their end, of a log that is several.
    files_ended: AtomicUsize,
}

/// The reading end: the source of a run.
pub(crate) struct FeedSource {
    inlet: Inlet,
    control: Control,
    /// A block that was put back.
    first: Option<FilledBlock>,
    paused: bool,
    ended: bool,
}

impl FeedSource {
    /// Puts a block back, which comes again.
    pub(crate) fn put_back(&mut self, block: Option<FilledBlock>) {
        self.first = block;
    }
}

impl Inlet {
    pub(crate) fn source(&self, control: &Control) -> FeedSource {
        FeedSource { inlet: self.clone(), control: control.clone(), first: None, paused: false, ended: false }
    }

    pub(super) fn put(&self, receiver: Receiver<FeedItem>) {
        *self.lock() = Some(receiver);
    }

    /// The run has ended: who fills blocks hears of it, and those that wait go back.
    pub(crate) fn close(&self) {
        *self.lock() = None;
    }

    /// Passes over the rest of a file that nobody reads on, of a log that is several.
    pub(crate) fn skip_file(&self, number: usize) {
        while self.0.files_ended.load(Ordering::Relaxed) <= number {
            if matches!(self.next(), None | Some(FeedItem::End)) {
                return;
            }
        }
    }

    fn next(&self) -> Option<FeedItem> {
        let item = self.lock().as_mut()?.blocking_recv();
        if matches!(item, Some(FeedItem::FileEnd)) {
            self.0.files_ended.fetch_add(1, Ordering::Relaxed);
        }
        item
    }

    fn lock(&self) -> MutexGuard<'_, Option<Receiver<FeedItem>>> {
        self.0.receiver.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BlockSource for FeedSource {
    fn next_block(&mut self) -> Result<Option<FilledBlock>, Error> {
        if let Some(first) = self.first.take().filter(|_| !self.control.stopped()) {
            return Ok(Some(first));
        }
        // A decoder asks again after the end.
        let fed = if self.ended { Some(FeedItem::End) } else { self.inlet.next() };
        self.paused = fed.is_none() && !self.control.stopped();
        match fed {
            Some(FeedItem::Block(filled)) if !self.control.stopped() => return Ok(Some(filled)),
            Some(FeedItem::FileEnd | FeedItem::End) => self.ended = true,
            _ => {}
        }
        Ok(None)
    }

    fn paused(&self) -> bool {
        self.paused
    }
}

impl Feed {
    /// A feed that fills blocks after `headroom` bytes, for a log in one of `formats`, or one in a
    /// known format.
    pub(crate) fn new(headroom: usize, formats: Option<Formats>) -> Self {
        Self { headroom, formats, head: Vec::new(), held: None, lap: None }
    }
}
