//! Answers that leave while they are made, each by a thread with a few blocks of its own.
//!
//! Their reader holds the blocks, the thread then finds none free and waits; so a slow reader slows
//! its own answer and nobody else's. When the reader goes away, the channel closes, and the work
//! ends with its next piece, or, where it makes none, when it next looks at its control. When what
//! is sent is no longer there to be read, a thread that waits for its reader is woken, and ends
//! too.

use crate::admission::{PermitGuard, PermitPool};
use crate::http::disconnect_watch::DisconnectWatch;
use axum::body::Body;
use bytes::Bytes;
use futures_util::stream::unfold;
use rorqual_pipe::gather::COPY_BYTES_MAX;
use rorqual_pipe::{BufferPool, Control, Lease, Sink};
use rorqual_render::RenderError;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::watch;

/// Places for work that a connection and a thread do together, with the blocks of those that are
/// free, those used last at the end.
pub(crate) struct BodyPermits {
    free: Mutex<Vec<BufferPool>>,
    permits: PermitPool,
}

/// A place for one such work, given back when its thread ends.
pub(crate) struct BodyWorkPermit {
    pub(crate) pool: BufferPool,
    places: Arc<BodyPermits>,
    // After its blocks: whoever gets it finds them.
    _permit: PermitGuard,
}

impl BodyPermits {
    pub(crate) fn new(permits: PermitPool, block_bytes: usize, blocks: usize) -> Arc<Self> {
        let free = (0..permits.count()).map(|_| BufferPool::new(block_bytes, blocks)).collect();
        Arc::new(Self { free: Mutex::new(free), permits })
    }

    pub(crate) fn count(&self) -> usize {
        self.permits.count()
    }

    /// Places that are taken: by a thread, or by blocks that a reader still holds.
    pub(crate) fn taken(&self) -> usize {
        self.count() - self.lock().iter().filter(|pool| pool.lent() == 0).count()
    }

    pub(crate) fn take(self: &Arc<Self>) -> Option<BodyWorkPermit> {
        // It goes with the thread, whatever its connection waits for.
        let permit = self.permits.try_acquire()?.detach();
        let mut free = self.lock();
        // Blocks that its last reader still holds would be missing.
        let at = free.iter().rposition(|pool| pool.lent() == 0)?;
        Some(BodyWorkPermit { pool: free.remove(at), places: Arc::clone(self), _permit: permit })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<BufferPool>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for BodyWorkPermit {
    fn drop(&mut self) {
        self.places.lock().push(self.pool.clone());
    }
}

/// A piece of an answer; an empty one is its end, without which it breaks off: a thread that panics
/// must not make it look whole.
pub(crate) type BodyPiece = Result<Bytes, RenderError>;

/// Tells the reader how the work ended. Where nobody hears it, the reader went away.
pub(crate) fn tell(sender: &Sender<BodyPiece>, ended: Result<(), RenderError>) {
    let _ = sender.blocking_send(ended.map(|()| Bytes::new()));
}

/// Pieces on their way into the body of an answer.
pub(crate) struct BodySink {
    pool: BufferPool,
    block: Option<Lease>,
    used: usize,
    sender: Sender<BodyPiece>,
    /// Closed when nothing more is to be sent.
    ended: watch::Receiver<()>,
    /// Of the server: the threads that render rows know nothing of it.
    runtime: Handle,
}

pub(crate) fn gone() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

impl BodySink {
    /// A sink with the blocks of `place` until the sender of `ended` is dropped, and who takes its
    /// pieces. The sink waits, so it belongs on threads that may.
    pub(crate) fn new(place: &BodyWorkPermit, ended: watch::Receiver<()>) -> (Self, Sender<BodyPiece>, Receiver<BodyPiece>) {
        let (sender, pieces) = channel(1);
        let (pool, runtime) = (place.pool.clone(), Handle::current());
        (Self { pool, block: None, used: 0, sender: sender.clone(), ended, runtime }, sender, pieces)
    }

    /// Waits for something that a slow reader may hold up.
    fn wait<T>(runtime: &Handle, ended: &mut watch::Receiver<()>, wanted: impl Future<Output = io::Result<T>>) -> io::Result<T> {
        runtime.block_on(async {
            tokio::select! {
                biased;
                _ = ended.changed() => Err(gone()),
                done = wanted => done,
            }
        })
    }

    fn send(&mut self, bytes: Bytes) -> io::Result<()> {
        let Self { sender, ended, runtime, .. } = self;
        Self::wait(runtime, ended, async { sender.send(Ok(bytes)).await.map_err(|_| gone()) })
    }
}

impl Sink for BodySink {
    fn copy(&mut self, mut piece: &[u8]) -> io::Result<()> {
        while !piece.is_empty() {
            let block = match &mut self.block {
                Some(block) => block,
                none => none.insert(Self::wait(&self.runtime, &mut self.ended, self.pool.lease_async())?),
            };
            let length = piece.len().min(block.len() - self.used);
            block[self.used..self.used + length].copy_from_slice(&piece[..length]);
            self.used += length;
            piece = &piece[length..];
            if self.used == self.pool.buffer_bytes() {
                Sink::flush(self)?;
            }
        }
        Ok(())
    }

    fn point(&mut self, piece: &Bytes) -> io::Result<()> {
        if piece.len() <= COPY_BYTES_MAX {
            return self.copy(piece);
        }
        Sink::flush(self)?;
        self.send(piece.clone())
    }

    fn flush(&mut self) -> io::Result<()> {
        let used = std::mem::take(&mut self.used);
        match self.block.take() {
            Some(block) => self.send(Bytes::from_owner(block).slice(..used)),
            None => Ok(()),
        }
    }
}

impl Write for BodySink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.copy(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Sink::flush(self)
    }
}

/// Stops the work when nobody waits for its answer any longer.
pub(crate) struct DisconnectStop {
    pub(crate) pieces: Receiver<BodyPiece>,
    pub(crate) control: Control,
    pub(crate) twin: DisconnectWatch,
}

impl DisconnectStop {
    /// The next piece, `None` at the end; an error when the reader goes away first.
    async fn next(&mut self) -> Option<BodyPiece> {
        let piece = tokio::select! {
            biased;
            piece = self.pieces.recv() => piece.unwrap_or_else(|| Err(gone().into())),
            () = self.twin.left() => return Some(Err(gone().into())),
        };
        if matches!(&piece, Ok(piece) if !piece.is_empty()) {
            return Some(piece);
        }
        // The thread has nothing left to do but to give its place back, and drops its sender after
        // that: a client that asks again at once finds the place free.
        while self.pieces.recv().await.is_some() {}
        piece.is_err().then_some(piece)
    }

    /// The body of the answer, once its first piece is there: an error before that has a status of
    /// its own, one after it breaks the answer off.
    pub(crate) async fn body(mut self) -> Result<Body, RenderError> {
        match self.next().await {
            Some(Ok(first)) => Ok(Body::from_stream(unfold((Some(first), self), next))),
            Some(Err(error)) => Err(error),
            None => Ok(Body::empty()),
        }
    }
}

impl Drop for DisconnectStop {
    fn drop(&mut self) {
        self.control.stop();
    }
}

async fn next((first, mut reader): (Option<Bytes>, DisconnectStop)) -> Option<(BodyPiece, (Option<Bytes>, DisconnectStop))> {
    let piece = match first {
        Some(first) => Ok(first),
        None => reader.next().await?,
    };
    if piece.is_err() {
        // An error throws away all that is not flushed yet, the head among it; waiting pieces are
        // flushed meanwhile.
        tokio::task::yield_now().await;
    }
    Some((piece, (None, reader)))
}
