//! Bytes that a process of the VM gives, for an operation that reads them.

use rorqual_embed::DataSource;
use rustler::{Atom, Binary, Encoder, Env, LocalPid, Monitor, NifResult, OwnedEnv, Resource, ResourceArc, Term};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

mod atoms {
    rustler::atoms! { ok, full, closed, rorqual_room }
}

/// Bytes that wait for the reader, beside one piece.
const BYTES_AHEAD: usize = 512 << 10;

/// A piece counts as so many bytes more, so that short ones have an end, too.
const PIECE_BYTES: usize = 64;

/// A way for bytes into an operation.
pub(crate) struct ByteFeed {
    id: u64,
    sender: Mutex<Option<Sender<Piece>>>,
    receiver: Mutex<Option<Receiver<Piece>>>,
    room: Arc<FeedRoom>,
}

/// Room of a feed.
#[derive(Default)]
struct FeedRoom {
    bytes_ahead: AtomicUsize,
    /// Process that waits for it.
    waiting: Mutex<Option<LocalPid>>,
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
    let (sender, receiver) = channel();
    let feed = ByteFeed { id, sender: Mutex::new(Some(sender)), receiver: Mutex::new(Some(receiver)), room: Arc::default() };
    let feed = ResourceArc::new(feed);
    env.monitor(&feed, &env.pid());
    feed
}

/// Gives bytes: `:ok`, or `:full` when a message `{:rorqual_room, id}` will say that there is room,
/// or `:closed` when nobody reads any more.
#[rustler::nif]
fn feed_give(env: Env<'_>, feed: ResourceArc<ByteFeed>, bytes: Binary<'_>) -> Atom {
    if feed.room.is_full() {
        *locked(&feed.room.waiting) = Some(env.pid());
        // The reader may have made room before it could see who waits for it.
        if feed.room.is_full() {
            return atoms::full();
        }
        locked(&feed.room.waiting).take();
    }
    feed.send(bytes.len() + PIECE_BYTES, Piece::Bytes(bytes.as_slice().to_vec()))
}

/// Ends the bytes: `:ok`, or `:closed`.
#[rustler::nif]
fn feed_end(feed: ResourceArc<ByteFeed>) -> Atom {
    feed.send(0, Piece::End)
}

impl ByteFeed {
    fn send(&self, bytes: usize, piece: Piece) -> Atom {
        let sender = locked(&self.sender);
        self.room.bytes_ahead.fetch_add(bytes, Ordering::SeqCst);
        if sender.as_ref().is_some_and(|sender| sender.send(piece).is_ok()) {
            return atoms::ok();
        }
        self.room.bytes_ahead.fetch_sub(bytes, Ordering::SeqCst);
        atoms::closed()
    }
}

impl FeedRoom {
    fn is_full(&self) -> bool {
        self.bytes_ahead.load(Ordering::SeqCst) > BYTES_AHEAD
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the pieces.
struct FeedReader {
    id: u64,
    /// `None` once it is dropped.
    pieces: Option<Receiver<Piece>>,
    room: Arc<FeedRoom>,
    rest: Vec<u8>,
    at: usize,
    is_over: bool,
}

impl Read for FeedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.rest.len() && !self.is_over {
            match self.pieces.as_ref().ok_or(RecvError).and_then(Receiver::recv) {
                Ok(Piece::Bytes(bytes)) => {
                    let piece_bytes = bytes.len() + PIECE_BYTES;
                    let ahead = self.room.bytes_ahead.fetch_sub(piece_bytes, Ordering::SeqCst) - piece_bytes;
                    (self.rest, self.at) = (bytes, 0);
                    // Half a feed at a time: to wake a process for each piece takes longer than to
                    // read it.
                    if ahead <= BYTES_AHEAD / 2 {
                        self.tell_room();
                    }
                }
                Ok(Piece::End) => self.is_over = true,
                Err(_) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the process that gave the bytes has ended")),
            }
        }
        let length = (self.rest.len() - self.at).min(buffer.len());
        buffer[..length].copy_from_slice(&self.rest[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

impl FeedReader {
    fn tell_room(&self) {
        let Some(pid) = locked(&self.room.waiting).take() else { return };
        let _gone = OwnedEnv::new().send_and_clear(&pid, |env| (atoms::rorqual_room(), self.id).encode(env));
    }
}

impl Drop for FeedReader {
    fn drop(&mut self) {
        // A giver that waits is to find that nobody reads, and not that there is no room.
        self.pieces.take();
        self.room.bytes_ahead.store(0, Ordering::SeqCst);
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
                let room = Arc::clone(&feed.room);
                let reader = FeedReader { id: feed.id, pieces: Some(pieces), room, rest: Vec::new(), at: 0, is_over: false };
                DataSource::Reader(name, Box::new(reader))
            }
        }
    }
}
