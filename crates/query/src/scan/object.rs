//! An object of a store as a stream of bytes.

use crate::limits::{LATE_AFTER_MEDIANS, LATE_AFTER_MIN, LINE_END_BYTES, OBJECT_PIECE_BYTES, PIECE_TIMES_MAX};
use bytes::Bytes;
use datafusion::common::runtime::SpawnedTask;
use datafusion::object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore};
use futures::future::{Either, FutureExt, select, select_ok};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// Permits for pieces of objects beside the one that each reader has.
#[derive(Debug, Clone)]
pub(crate) struct PiecesAhead {
    /// For pieces that are read ahead.
    permits: Arc<Semaphore>,
    /// For a piece that is asked for again. It is kept apart: pieces that wait for a late one hold
    /// all others.
    again: Arc<Semaphore>,
    /// Most pieces that one reader reads ahead.
    each_max: usize,
}

impl PiecesAhead {
    pub(crate) fn new(pieces_max: usize) -> Self {
        let (ahead, again) = (pieces_max.saturating_sub(1), pieces_max.min(1));
        Self { permits: Arc::new(Semaphore::new(ahead)), again: Arc::new(Semaphore::new(again)), each_max: ahead }
    }

    /// The same for one of so many partitions, so that none takes the share of another.
    pub(crate) fn divided(&self, partitions: usize) -> Self {
        Self { each_max: self.each_max.div_ceil(partitions.max(1)), ..self.clone() }
    }
}

impl Default for PiecesAhead {
    fn default() -> Self {
        Self::new(0)
    }
}

/// Reads an object by ranges, several of which are under way at once, from a thread that may wait.
/// So no request takes long, and each is tried again by itself.
pub(crate) struct ObjectReader {
    runtime: Handle,
    object: Arc<RangedObject>,
    ahead: PiecesAhead,
    /// Pieces that are under way, in order. Dropping one ends its request.
    pending: VecDeque<SpawnedTask<io::Result<ObjectPiece>>>,
    /// Offset of the next piece that is asked for.
    next: u64,
    /// Pieces from there on are asked for one at a time, when they are needed, and are small.
    ahead_end: u64,
    current: ObjectPiece,
}

/// Part of an object, with its permit if it was read ahead.
#[derive(Default)]
struct ObjectPiece {
    bytes: Bytes,
    _permit: Option<OwnedSemaphorePermit>,
}

impl ObjectReader {
    /// A reader of an object as it was when it was looked at; the present runtime drives it.
    pub(crate) fn new(store: Arc<dyn ObjectStore>, meta: ObjectMeta, ahead: PiecesAhead) -> Self {
        let again = Arc::clone(&ahead.again);
        let object = Arc::new(RangedObject { store, meta, times: Mutex::default(), again });
        let ahead_end = object.meta.size;
        let (pending, current) = Default::default();
        Self { runtime: Handle::current(), object, ahead, pending, next: 0, ahead_end, current }
    }

    /// The same for a part of the object. Bytes after it are given, too, but not read ahead.
    fn within(self, range: &Range<u64>) -> Self {
        Self { next: range.start, ahead_end: range.end, ..self }
    }

    /// The next piece; empty after the last one.
    fn piece(&mut self) -> io::Result<ObjectPiece> {
        // Gives its permit back.
        self.current = ObjectPiece::default();
        while self.next < self.object.meta.size && self.pending.len() <= self.ahead.each_max {
            if self.next >= self.ahead_end && !self.pending.is_empty() {
                break;
            }
            let permit = Arc::clone(&self.ahead.permits).try_acquire_owned().ok();
            if permit.is_none() && !self.pending.is_empty() {
                break;
            }
            self.ask(permit);
        }
        let Some(first) = self.pending.pop_front() else { return Ok(ObjectPiece::default()) };
        self.runtime.block_on(first).map_err(io::Error::other)?
    }

    fn ask(&mut self, permit: Option<OwnedSemaphorePermit>) {
        let size = self.object.meta.size;
        let end = if self.next < self.ahead_end {
            (self.next + OBJECT_PIECE_BYTES).min(self.ahead_end)
        } else {
            (self.next + LINE_END_BYTES).min(size)
        };
        let range = self.next..end;
        self.next = range.end;
        let object = Arc::clone(&self.object);
        let _runtime = self.runtime.enter();
        self.pending.push_back(SpawnedTask::spawn(async move {
            object.piece(range).await.map(|bytes| ObjectPiece { bytes, _permit: permit })
        }));
    }
}

impl ObjectReader {
    /// The next bytes, as many as came at once; none after the last.
    fn next_bytes(&mut self) -> io::Result<Bytes> {
        if self.current.bytes.is_empty() {
            self.current = self.piece()?;
        }
        Ok(std::mem::take(&mut self.current.bytes))
    }
}

impl Read for ObjectReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.current.bytes.is_empty() {
            self.current = self.piece()?;
        }
        let bytes = &mut self.current.bytes;
        let taken = bytes.split_to(bytes.len().min(buffer.len()));
        buffer[..taken.len()].copy_from_slice(&taken);
        Ok(taken.len())
    }
}

/// The lines that start in a range of a plain object.
pub(crate) struct ObjectLines {
    reader: ObjectReader,
    /// Bytes of the object before the range's end that remain, less its last one: the line that has
    /// that one is the last.
    remaining: u64,
    /// Bytes that were read ahead for the start of the first line.
    first: Bytes,
    ended: bool,
}

impl ObjectLines {
    /// The lines of a range, and the offset of the first of them; `None` where no line starts in
    /// it.
    ///
    /// # Errors
    /// When the object can't be read.
    pub(crate) fn open(reader: ObjectReader, range: Range<u64>) -> io::Result<Option<(Self, u64)>> {
        // The byte before the range tells whether a line starts with it.
        let before = range.start.saturating_sub(1);
        let mut reader = reader.within(&(before..range.end));
        let (mut start, mut first) = (range.start, Bytes::new());
        if range.start > 0 {
            let mut at = before;
            loop {
                if at + 1 >= range.end {
                    return Ok(None);
                }
                first = reader.next_bytes()?;
                if first.is_empty() {
                    return Ok(None);
                }
                if let Some(newline) = memchr::memchr(b'\n', &first) {
                    start = at + newline as u64 + 1;
                    first = first.slice(newline + 1..);
                    break;
                }
                at += first.len() as u64;
            }
        }
        // A line that starts at the end is of the next range.
        let Some(remaining) = (range.end - 1).checked_sub(start) else { return Ok(None) };
        Ok(Some((Self { reader, remaining, first, ended: false }, start)))
    }
}

impl Read for ObjectLines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ended || buffer.is_empty() {
            return Ok(0);
        }
        let read = if self.first.is_empty() {
            self.reader.read(buffer)?
        } else {
            let taken = self.first.split_to(self.first.len().min(buffer.len()));
            buffer[..taken.len()].copy_from_slice(&taken);
            taken.len()
        };
        let before = self.remaining.min(read as u64);
        self.remaining -= before;
        let before = before as usize;
        match memchr::memchr(b'\n', &buffer[before..read]) {
            Some(newline) if self.remaining == 0 => {
                self.ended = true;
                Ok(before + newline + 1)
            }
            _ => Ok(read),
        }
    }
}

/// The first bytes of an object, as it was when it was looked at: at most so many.
///
/// # Errors
/// When they can't be read, or it is another object by now.
pub(crate) async fn first_bytes(store: &Arc<dyn ObjectStore>, meta: &ObjectMeta, bytes_max: u64) -> io::Result<Bytes> {
    let object = RangedObject {
        store: Arc::clone(store),
        meta: meta.clone(),
        times: Mutex::default(),
        again: Arc::new(Semaphore::new(0)),
    };
    object.request(0..meta.size.min(bytes_max)).await
}

/// An object of which ranges are asked for.
struct RangedObject {
    store: Arc<dyn ObjectStore>,
    meta: ObjectMeta,
    times: Mutex<PieceTimes>,
    again: Arc<Semaphore>,
}

impl RangedObject {
    /// A range. It is asked for a second time if it takes much longer than those before it; the
    /// first whole answer counts.
    async fn piece(&self, range: Range<u64>) -> io::Result<Bytes> {
        let begun = Instant::now();
        let piece = match select(self.request(range.clone()).boxed(), self.late().boxed()).await {
            Either::Left((piece, _)) => piece?,
            Either::Right((_permit, first)) => select_ok([first, self.request(range).boxed()]).await?.0,
        };
        self.times().add(begun.elapsed());
        Ok(piece)
    }

    /// Comes when a request takes too long and another may be made for its range.
    async fn late(&self) -> Option<SemaphorePermit<'_>> {
        let late_after = self.times().late_after();
        tokio::time::sleep(late_after).await;
        // It is closed by nobody.
        self.again.acquire().await.ok()
    }

    fn times(&self) -> MutexGuard<'_, PieceTimes> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn request(&self, range: Range<u64>) -> io::Result<Bytes> {
        let bytes_expected = range.end - range.start;
        let e_tag = self.meta.e_tag.clone().filter(|tag| !tag.starts_with("W/"));
        let options = GetOptions {
            range: Some(GetRange::Bounded(range)),
            // An object that was changed meanwhile is another.
            if_match: e_tag,
            ..GetOptions::default()
        };
        let bytes = async { self.store.get_opts(&self.meta.location, options).await?.bytes().await }.await;
        let bytes = bytes.map_err(|error| match error {
            object_store::Error::Precondition { .. } => io::Error::other("the object was changed while it was read"),
            error => io::Error::other(error.to_string()),
        })?;
        if bytes.len() as u64 == bytes_expected { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// Times that the last pieces of an object took.
#[derive(Default)]
struct PieceTimes(VecDeque<Duration>);

impl PieceTimes {
    fn add(&mut self, time: Duration) {
        if self.0.len() == PIECE_TIMES_MAX {
            self.0.pop_front();
        }
        self.0.push_back(time);
    }

    /// Time after which a piece is late.
    fn late_after(&self) -> Duration {
        let mut times: Vec<Duration> = self.0.iter().copied().collect();
        times.sort_unstable();
        let median = times.get(times.len() / 2).copied().unwrap_or_default();
        (LATE_AFTER_MEDIANS * median).max(LATE_AFTER_MIN)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

    use super::*;
    use object_store::memory::InMemory;
    use object_store::path::Path;
    use object_store::{ObjectStoreExt, PutPayload};

    /// Ranges that are cut anywhere have each line once, at its offset.
    #[tokio::test(flavor = "multi_thread")]
    async fn each_line_is_in_one_range() {
        let texts: [&[u8]; 7] =
            [b"", b"\n", b"a", b"a\n", b"\n\na\n\n", b"one\ntwo\nthree and a long line\n\nfour", b"no newline at all, for long"];
        for text in texts {
            let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
            let path = Path::from("object");
            store.put(&path, PutPayload::from(text.to_vec())).await.unwrap();
            let meta = store.head(&path).await.unwrap();
            let size = text.len() as u64;
            for step in 1..=size.max(1) {
                let (store, meta) = (Arc::clone(&store), meta.clone());
                let found = tokio::task::spawn_blocking(move || {
                    let mut found = Vec::new();
                    for start in (0..size).step_by(step as usize) {
                        let reader = ObjectReader::new(Arc::clone(&store), meta.clone(), PiecesAhead::new(2));
                        let lines = ObjectLines::open(reader, start..(start + step).min(size)).unwrap();
                        let Some((mut lines, at)) = lines else { continue };
                        assert!(start <= at && at < start + step);
                        let mut bytes = Vec::new();
                        lines.read_to_end(&mut bytes).unwrap();
                        found.push((at, bytes));
                    }
                    found
                });
                let mut next = 0;
                for (at, bytes) in found.await.unwrap() {
                    assert_eq!(at, next, "{text:?} by {step}");
                    assert!(bytes.ends_with(b"\n") || at + bytes.len() as u64 == size);
                    assert_eq!(bytes, &text[at as usize..at as usize + bytes.len()]);
                    next = at + bytes.len() as u64;
                }
                assert_eq!(next, size, "{text:?} by {step}");
            }
        }
    }
}
