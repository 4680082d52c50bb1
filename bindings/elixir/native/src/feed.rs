//! Bytes that a process of the VM gives, for an operation that reads them.

use rorqual_embed::DataSource;
use rustler::{Atom, Binary, Encoder, Env, LocalPid, Monitor, NifResult, OwnedEnv, Resource, ResourceArc, Term};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

mod atoms {
    rustler::atoms! { ok, full, closed, rorqual_room }
}

/// Pieces that wait for the reader.
const PIECES_AHEAD: usize = 2;

/// A way for bytes into an operation.
pub(crate) struct ByteFeed {
    id: u64,
    sender: Mutex<Option<SyncSender<Piece>>>,
    receiver: Mutex<Option<Receiver<Piece>>>,
    /// Process that waits for room.
    waiting: Arc<Mutex<Option<LocalPid>>>,
}

enum Piece {
    Bytes(Vec<u8>),
    End,
}

#[rustler::resource_impl]
impl Resource for ByteFeed {
    const IMPLEMENTS_DOWN: bool = true;

    fn down<'a>(&'a self, _: Env<'a>, _: LocalPid, _: Monitor) {
        locked(&self.sender).take();
    }
}

/// A feed that the calling process gives bytes to.
#[rustler::nif]
fn feed_new(env: Env<'_>, id: u64) -> ResourceArc<ByteFeed> {
    let (sender, receiver) = sync_channel(PIECES_AHEAD);
    let feed = ByteFeed {
        id,
        sender: Mutex::new(Some(sender)),
        receiver: Mutex::new(Some(receiver)),
        waiting: Arc::new(Mutex::new(None)),
    };
    let feed = ResourceArc::new(feed);
    env.monitor(&feed, &env.pid());
    feed
}

/// Gives bytes: `:ok`, or `:full` when a message `{:rorqual_room, id}` will say that there is room,
/// or `:closed` when nobody reads any more.
#[rustler::nif]
fn feed_give(env: Env<'_>, feed: ResourceArc<ByteFeed>, bytes: Binary<'_>) -> Atom {
    // Before the look at the room, so that none is missed.
    *locked(&feed.waiting) = Some(env.pid());
    feed.send(Piece::Bytes(bytes.as_slice().to_vec()))
}

/// Ends the bytes; the answer is as that of `feed_give/2`.
#[rustler::nif]
fn feed_end(env: Env<'_>, feed: ResourceArc<ByteFeed>) -> Atom {
    *locked(&feed.waiting) = Some(env.pid());
    feed.send(Piece::End)
}

impl ByteFeed {
    fn send(&self, piece: Piece) -> Atom {
        let sender = locked(&self.sender);
        let Some(sender) = sender.as_ref() else { return atoms::closed() };
        match sender.try_send(piece) {
            Ok(()) => {
                locked(&self.waiting).take();
                atoms::ok()
            }
            Err(TrySendError::Full(_)) => atoms::full(),
            Err(TrySendError::Disconnected(_)) => atoms::closed(),
        }
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the pieces.
struct FeedReader {
    id: u64,
    pieces: Receiver<Piece>,
    waiting: Arc<Mutex<Option<LocalPid>>>,
    rest: Vec<u8>,
    at: usize,
    is_over: bool,
}

impl Read for FeedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.rest.len() && !self.is_over {
            match self.pieces.recv() {
                Ok(Piece::Bytes(bytes)) => (self.rest, self.at) = (bytes, 0),
                Ok(Piece::End) => self.is_over = true,
                Err(_) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the process that gave the bytes has ended")),
            }
            self.tell_room();
        }
        let length = (self.rest.len() - self.at).min(buffer.len());
        buffer[..length].copy_from_slice(&self.rest[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

impl FeedReader {
    fn tell_room(&self) {
        let Some(pid) = locked(&self.waiting).take() else { return };
        let _gone = OwnedEnv::new().send_and_clear(&pid, |env| (atoms::rorqual_room(), self.id).encode(env));
    }
}

impl Drop for FeedReader {
    fn drop(&mut self) {
        self.tell_room();
    }
}

/// A path or a feed, as an argument.
pub(crate) enum SourceArgument {
    Path(PathBuf),
    Feed(ResourceArc<ByteFeed>),
}

impl<'a> rustler::Decoder<'a> for SourceArgument {
    fn decode(term: Term<'a>) -> NifResult<Self> {
        match term.decode::<ResourceArc<ByteFeed>>() {
            Ok(feed) => Ok(Self::Feed(feed)),
            Err(_) => Ok(Self::Path(term.decode::<String>()?.into())),
        }
    }
}

impl SourceArgument {
    /// The source; a feed is read once.
    pub(crate) fn source(self) -> DataSource {
        let feed = match self {
            Self::Path(path) => return DataSource::Path(path),
            Self::Feed(feed) => feed,
        };
        let pieces = locked(&feed.receiver).take();
        let name = "enumerable".to_owned();
        match pieces {
            None => DataSource::Reader(name, Box::new(io::empty())),
            Some(pieces) => {
                let waiting = Arc::clone(&feed.waiting);
                let reader = FeedReader { id: feed.id, pieces, waiting, rest: Vec::new(), at: 0, is_over: false };
                DataSource::Reader(name, Box::new(reader))
            }
        }
    }
}
