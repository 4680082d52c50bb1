//! Taking a file in: streamed, hashed on its way, and then there at once.

use crate::disk::Lock;
use crate::evict::EvictionResult;
use crate::index::{EntryRow, Index};
use crate::key::check_name;
use crate::lease::{EntryLease, LeaseTerms, add_lease};
use crate::limits::{CHECKED_BYTES, RESERVE_STEP_BYTES, UNRESERVED_BYTES_MAX};
use crate::setting::INIT_MAX_SIZE;
use crate::store::{ExclusiveLock, Store};
use crate::temp::Temp;
use crate::verify::hash;
use rorqual_digest::{Digest, Hasher};
use rorqual_pipe::{
    BlockSource, BufferPool, Chunk, Control, Error, ErrorClass, FilledBlock, Framing, Input, Operation, RunPlan, Stage, run,
};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Options of a put.
#[derive(Debug, Clone, Copy, Default)]
pub struct PutOptions<'a> {
    /// A name for the entry. One that is in use is pointed at it; its former entry stays under its
    /// digest and its other names.
    pub name: Option<&'a str>,
    /// A lease, taken in the same transaction.
    pub lease: Option<LeaseTerms<'a>>,
    /// Digests of the store's algorithm that it has to have; with another one nothing is stored.
    pub expected: &'a [Digest],
}

/// Result of a put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutResult {
    /// Digest of the entry.
    pub digest: Digest,
    /// Its length.
    pub bytes: u64,
    /// It was not there before. Otherwise it is now the one that was used last.
    pub new: bool,
    /// Entries evicted for it.
    pub evicted: EvictionResult,
    /// The lease that was asked for.
    pub lease: Option<EntryLease>,
}

fn check_digest(name: &str, digest: &Digest, options: &PutOptions<'_>) -> Result<(), Error> {
    match options.expected.iter().find(|expected| *expected != digest) {
        Some(expected) => {
            let message = format!("its {} is {digest}, and should be {expected}; nothing was stored", digest.algorithm());
            Err(Error::new(ErrorClass::Mismatch, name, message))
        }
        None => Ok(()),
    }
}

impl Store {
    /// Takes in `input`, as it is stored; `size_bytes` is its expected length, if that is known.
    ///
    /// The calling thread reads and writes, another one hashes. `pool` lends the blocks, which must
    /// be at least [`BLOCK_BYTES`](rorqual_pipe::limits::BLOCK_BYTES). Blocks of zeros become holes
    /// on the disk.
    ///
    /// An entry of the same digest keeps its names and leases and becomes the one that was used
    /// last; its file is replaced, so that damage to it is mended. A file that is as long as some
    /// entry and does not fit beside them all is therefore read once more at the start, for its
    /// digest, and so is the entry. A stream can't be; should the entry have to go for its own
    /// bytes, it gets its names back.
    ///
    /// # Errors
    /// When reading or writing fails; [`ErrorClass::Mismatch`] when it has not the digest expected;
    /// [`ErrorClass::Limit`] when it does not fit beside all that is leased, open or being written;
    /// [`ErrorClass::Stopped`] when `control` asked to stop. Nothing stays then.
    pub fn put(
        &self,
        input: Input,
        size_bytes: Option<u64>,
        options: &PutOptions<'_>,
        pool: &BufferPool,
        control: &Control,
    ) -> Result<PutResult, Error> {
        self.check(options)?;
        self.putting(|| {
            if let Some(stored) = self.put_again(&input, options, pool, control)? {
                return Ok(stored);
            }
            let mut temp = Temp::new(self)?;
            let mut evicted = EvictionResult::default();
            let name = input.name().to_owned();
            let (digest, bytes) = self.take_in(input, size_bytes, &temp, &mut evicted, pool, control)?;
            check_digest(&name, &digest, options)?;
            let failed = |cause| Error::io(temp.path.to_string_lossy(), "cannot write", cause);
            // The last block may have become a hole.
            temp.file.set_len(bytes).map_err(failed)?;
            self.publish(&mut temp, &digest, bytes, options, evicted)
        })
    }

    /// Takes in a file of [`Store::parts_dir`] that is written and whose digest is known, without a
    /// copy: it is renamed. The digest is not computed again: `file` is the file that it was
    /// computed of, with the exclusive `flock` held since before that. After an error the file is
    /// still there, unless it became the entry.
    ///
    /// # Errors
    /// As [`Store::put`], when somebody else has a lock on the file, and when another file is at
    /// `path` by now.
    pub fn adopt(&self, path: &Path, file: Arc<File>, digest: &Digest, options: &PutOptions<'_>) -> Result<PutResult, Error> {
        self.check(options)?;
        if digest.algorithm() != self.algorithm() {
            let message = format!("the store is addressed by {}, not {}", self.algorithm(), digest.algorithm());
            return Err(Error::new(ErrorClass::Limit, path.to_string_lossy(), message));
        }
        check_digest(&path.to_string_lossy(), digest, options)?;
        self.putting(|| {
            let mut temp = Temp::of_part(self, path, file)?;
            let length = temp.file.metadata().map_err(|cause| Error::io(path.to_string_lossy(), "cannot examine", cause))?.len();
            self.publish(&mut temp, digest, length, options, EvictionResult::default())
        })
    }

    /// Folder for downloads that are adopted later: on the store's file system, and kept
    /// for [`PART_AGE_MAX`](crate::limits::PART_AGE_MAX) after their last change, or while somebody
    /// holds their `flock`.
    #[must_use]
    pub fn parts_dir(&self) -> std::path::PathBuf {
        self.inner.disk.parts()
    }

    fn check(&self, options: &PutOptions<'_>) -> Result<(), Error> {
        options.name.map_or(Ok(()), |name| check_name(self.algorithm(), name))?;
        options.lease.as_ref().map_or(Ok(()), LeaseTerms::check)
    }

    fn putting(&self, work: impl FnOnce() -> Result<PutResult, Error>) -> Result<PutResult, Error> {
        let _pass = self.inner.gate.acquire();
        let operation = Operation::start("store.put");
        let result = work();
        match &result {
            Ok(stored) => {
                operation.bytes(stored.bytes);
                operation.done();
            }
            Err(error) => operation.failed(error.kind().name()),
        }
        result
    }

    /// Finds that a file is an entry already, where writing it once more would first evict others,
    /// or that entry itself.
    fn put_again(
        &self,
        input: &Input,
        options: &PutOptions<'_>,
        pool: &BufferPool,
        control: &Control,
    ) -> Result<Option<PutResult>, Error> {
        let Some((file, bytes)) = input.file_again()?.zip(input.size_bytes()) else { return Ok(None) };
        if bytes <= UNRESERVED_BYTES_MAX || !self.index().has_length(bytes)? || self.index().excess(bytes)? == 0 {
            return Ok(None);
        }
        let digest = {
            let mut block = pool.lease().map_err(|cause| Error::io(input.name(), "no memory for a block", cause))?;
            hash(&file, input.name(), Hasher::new(self.algorithm()), &mut block, control)?
        };
        check_digest(input.name(), &digest, options)?;
        // The entry may be damaged, and this file takes its place then. Open, it is not evicted
        // meanwhile.
        let reader = match self.open_reader(&digest) {
            Err(error) if error.kind() == ErrorClass::Corrupt => return Ok(None),
            opened => opened?,
        };
        let Some(reader) = reader else { return Ok(None) };
        if !self.verify_reader(&reader, pool, control)? {
            return Ok(None);
        }
        let turn = self.lock_exclusive()?;
        let Some(row) = turn.row(&digest)? else { return Ok(None) };
        let lease = record(&turn, &digest, row.bytes, true, "", options)?;
        Ok(Some(PutResult { digest, bytes: row.bytes, new: false, evicted: EvictionResult::default(), lease }))
    }

    /// Reads all, writes it to `temp` and hashes it.
    #[allow(clippy::too_many_arguments, reason = "they are what a run needs, once")]
    fn take_in(
        &self,
        input: Input,
        size_bytes: Option<u64>,
        temp: &Temp,
        evicted: &mut EvictionResult,
        pool: &BufferPool,
        control: &Control,
    ) -> Result<(Digest, u64), Error> {
        let (sender, receiver) = std::sync::mpsc::channel();
        let name = &input.name().to_owned();
        let is_file = input.file_again()?.is_some();
        let mut writing = WriteStage {
            store: self.clone(),
            source: input.into_blocks(pool, control),
            name: name.to_owned(),
            temp: temp.name.clone(),
            file: Arc::clone(&temp.file),
            written: 0,
            announced: size_bytes,
            reserved: 0,
            evicted: sender,
        };
        if let Some(bytes) = size_bytes.filter(|bytes| *bytes > UNRESERVED_BYTES_MAX) {
            // A file has its bytes. The announced bytes of a stream may never come: nothing is
            // evicted for them yet, but too many are refused.
            if is_file { writing.reserve(bytes)? } else { writing.check_room(bytes)? }
        }
        let input = Input::from_source(name, Box::new(writing)).stored();
        // Nothing is decoded, so that the window means nothing.
        let plan = RunPlan { framing: Framing::Bytes, zstd_window_log_max: 0 };
        let stages = vec![HashStage { hasher: Hasher::new(self.algorithm()), bytes: 0 }];
        let finish = run(input, &plan, pool, control, |_| Some(stages), Ok);
        receiver.try_iter().for_each(|batch| evicted.add(batch));
        if let Some(error) = finish.error {
            return Err(error);
        }
        let stage = finish.stages.into_iter().next().filter(|_| !control.stopped());
        let stage = stage.ok_or_else(|| Error::new(ErrorClass::Stopped, name, "stopped before its end; nothing was stored"))?;
        Ok((stage.hasher.finish(), stage.bytes))
    }

    /// The turn in which a file becomes an entry, the row of one that is there already, and whether
    /// its file stays. It is replaced, as those bytes may have been damaged since they were hashed;
    /// but while somebody has it open its lock keeps the entry, and it goes only if it is damaged.
    fn turn_to_publish(&self, digest: &Digest, blob: &Path) -> Result<PublishState<'_>, Error> {
        let turn = self.lock_exclusive()?;
        let row = turn.row(digest)?;
        if row.is_none() {
            return Ok(PublishState { turn, row, stays: false, _lock: None });
        }
        match self.inner.disk.try_lock(blob) {
            Ok(Lock::Busy) => {}
            Ok(Lock::Held(file)) => return Ok(PublishState { turn, row, stays: false, _lock: Some(file) }),
            // A file that is not there, or can't even be opened, is replaced.
            Ok(Lock::Missing) | Err(_) => return Ok(PublishState { turn, row, stays: false, _lock: None }),
        }
        // Reading may take long, and others wait for their turns.
        drop(turn);
        let sound = self.is_sound(digest)?;
        let turn = self.lock_exclusive()?;
        let row = turn.row(digest)?;
        let stays = sound && row.is_some();
        Ok(PublishState { turn, row, stays, _lock: None })
    }

    /// True if an entry is there and its bytes have its digest.
    fn is_sound(&self, digest: &Digest) -> Result<bool, Error> {
        let reader = match self.open_reader(digest) {
            Err(error) if error.kind() == ErrorClass::Corrupt => return Ok(false),
            opened => opened?,
        };
        let Some(reader) = reader else { return Ok(false) };
        let (path, mut block) = (self.path(digest), vec![0; CHECKED_BYTES]);
        let hasher = Hasher::new(self.algorithm());
        Ok(hash(&reader.file, &path.to_string_lossy(), hasher, &mut block, &Control::default())? == *digest)
    }

    /// Makes a written file an entry. Where it is one already it takes that one's place, unless
    /// that is open and sound. A reader of the old file goes on with it.
    fn publish(
        &self,
        temp: &mut Temp,
        digest: &Digest,
        bytes: u64,
        options: &PutOptions<'_>,
        mut evicted: EvictionResult,
    ) -> Result<PutResult, Error> {
        let disk = &self.inner.disk;
        let failed = |cause| Error::io(temp.path.to_string_lossy(), "cannot finish", cause);
        disk.make_read_only(&temp.file).and_then(|()| disk.sync(&temp.file)).map_err(failed)?;
        let blob = disk.blob(digest);
        let PublishState { turn, row, stays, _lock } = self.turn_to_publish(digest, &blob)?;
        if row.is_none() {
            evicted.add(turn.make_room(bytes.saturating_sub(turn.reserved_for(&temp.name)?.unwrap_or(0)), None)?);
        }
        if !stays {
            place(&turn, &temp.path, &blob).map_err(|cause| Error::io(blob.to_string_lossy(), "cannot place", cause))?;
            temp.check_placed(&blob)?;
        }
        let lease = record(&turn, digest, bytes, row.is_some(), &temp.name, options)?;
        drop(turn);
        temp.done();
        Ok(PutResult { digest: *digest, bytes, new: row.is_none(), evicted, lease })
    }
}

/// State of an entry at the moment when a file becomes it.
struct PublishState<'a> {
    turn: ExclusiveLock<'a>,
    row: Option<EntryRow>,
    /// The entry's file stays.
    stays: bool,
    /// Nobody begins to read the file that goes.
    _lock: Option<File>,
}

/// Records that a file is in its place, with its name and lease. An entry that is `known` becomes
/// the one that was used last.
fn record(
    turn: &ExclusiveLock<'_>,
    digest: &Digest,
    bytes: u64,
    known: bool,
    temp: &str,
    options: &PutOptions<'_>,
) -> Result<Option<EntryLease>, Error> {
    turn.transaction(true, |index| {
        if known {
            index.touch(digest, turn.now_ms)?;
        } else {
            index.add_entry(digest, bytes, turn.now_ms)?;
        }
        index.restore_names(temp, digest)?;
        options.name.map_or(Ok(()), |name| index.set_name(name, digest))?;
        index.end_reservation(temp)?;
        options.lease.as_ref().map(|terms| add_lease(index, digest, terms, turn.now_ms)).transpose()
    })
}

/// Renames a file to its place among the blobs, so that it is there after a power cut.
fn place(turn: &ExclusiveLock<'_>, from: &Path, blob: &Path) -> io::Result<()> {
    let disk = turn.disk;
    let Some(folder) = blob.parent() else { return Ok(()) };
    if !folder.exists() {
        disk.make_dir(folder)?;
        for above in folder.ancestors().skip(1).take_while(|above| *above != disk.dir()) {
            disk.sync_dir(above)?;
        }
    }
    disk.rename(from, blob)?;
    disk.sync_dir(folder)
}

/// Hashes one chunk after the other.
struct HashStage {
    hasher: Hasher,
    bytes: u64,
}

impl Stage for HashStage {
    type Output = ();

    fn chunk(&mut self, chunk: &Chunk) -> Result<(), Error> {
        self.hasher.update(&chunk.bytes);
        self.bytes += chunk.bytes.len() as u64;
        Ok(())
    }
}

/// Reads blocks, and writes each to the temporary file before it is hashed.
struct WriteStage {
    store: Store,
    source: Box<dyn BlockSource>,
    name: String,
    /// The name of the temporary file, which space is reserved under.
    temp: String,
    file: Arc<File>,
    written: u64,
    /// Bytes expected in all.
    announced: Option<u64>,
    reserved: u64,
    evicted: std::sync::mpsc::Sender<EvictionResult>,
}

impl BlockSource for WriteStage {
    fn next_block(&mut self) -> Result<Option<FilledBlock>, Error> {
        let Some(filled) = self.source.next_block()? else { return Ok(None) };
        let block = &filled.lease[filled.range.clone()];
        self.make_room(block.len() as u64)?;
        self.write(block).map_err(|cause| Error::io(self.store.dir().to_string_lossy(), "cannot write to tmp/", cause))?;
        Ok(Some(filled))
    }
}

impl WriteStage {
    fn make_room(&mut self, more: u64) -> Result<(), Error> {
        let wanted = self.written + more;
        if wanted <= UNRESERVED_BYTES_MAX.max(self.reserved) {
            return Ok(());
        }
        let step = wanted.next_multiple_of(RESERVE_STEP_BYTES);
        let step = self.announced.map_or(step, |announced| step.min(announced.max(wanted)));
        // Near the bound a whole step may not fit where the rest of the input would.
        match self.reserve(step) {
            Err(error) if error.kind() == ErrorClass::Limit => self.reserve(wanted),
            reserved => reserved,
        }
    }

    /// Refuses bytes that could have no room even with all evicted.
    fn check_room(&self, bytes: u64) -> Result<(), Error> {
        let turn = self.store.lock_exclusive()?;
        self.check_bound(&turn, bytes)?;
        turn.check_room(bytes)
    }

    fn check_bound(&self, turn: &ExclusiveLock<'_>, bytes: u64) -> Result<(), Error> {
        let bytes_max = turn.bytes_max()?;
        if bytes <= bytes_max {
            return Ok(());
        }
        let message = format!(
            "has at least {bytes} bytes, and the store {} may hold {bytes_max} ({INIT_MAX_SIZE} moves that)",
            self.store.dir().display()
        );
        Err(Error::new(ErrorClass::Limit, &self.name, message))
    }

    /// Reserves `bytes` in all, and evicts for them.
    fn reserve(&mut self, bytes: u64) -> Result<(), Error> {
        let store = self.store.clone();
        let turn = store.lock_exclusive()?;
        self.check_bound(&turn, bytes)?;
        let evicted = turn.make_room(bytes - self.reserved, Some(&self.temp))?;
        turn.transaction(false, |index: &Index<'_>| index.set_reserved(&self.temp, bytes))?;
        self.reserved = bytes;
        // The put that waits for it may have failed, and then nobody needs it.
        let _ = self.evicted.send(evicted);
        Ok(())
    }

    fn write(&mut self, block: &[u8]) -> io::Result<()> {
        self.store.inner.disk.step("write")?;
        if !is_zero(block) {
            self.file.write_all_at(block, self.written)?;
        }
        self.written += block.len() as u64;
        Ok(())
    }
}

/// Compared with itself, one byte on: as fast as the memory is read, and done at the first byte
/// that differs.
fn is_zero(block: &[u8]) -> bool {
    block.first() == Some(&0) && block[1..] == block[..block.len() - 1]
}
