//! Reading everything again.

use crate::disk::identity_at;
use crate::read::EntryReader;
use crate::remove::Removed;
use crate::store::Store;
use rorqual_digest::{Digest, Hasher};
use rorqual_pipe::{BufferPool, Control, Error, ErrorClass, Operation, each, escaped_path};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;

/// Result of verifying one entry.
#[derive(Debug)]
pub enum Verdict {
    /// Its bytes have its digest.
    Sound,
    /// They have another one, or are missing; the text says which.
    Damaged(String),
    /// They can't be read; the text says why. It may be the machine's fault, so that such an entry
    /// is never removed.
    Unreadable(String),
}

/// An entry that was read again.
#[derive(Debug)]
pub struct VerifyResult {
    /// The entry.
    pub digest: Digest,
    /// Number of its bytes that were read.
    pub bytes: u64,
    /// True if they have its digest.
    pub verdict: Verdict,
    /// Result of removing a damaged one.
    pub removed: Option<Removed>,
}

impl Store {
    /// Reads every entry again, on `threads` threads, and gives the results to `visit` in the order
    /// of the digests; with `repair`, damaged entries are removed unless they are leased or open.
    /// Entries that are evicted meanwhile are not among them.
    ///
    /// `pool` lends a block to each thread.
    ///
    /// # Errors
    /// When the index can't be read, the first error of `visit`, and [`ErrorClass::Stopped`] when
    /// `control` asked to stop.
    pub fn verify(
        &self,
        repair: bool,
        threads: usize,
        pool: &BufferPool,
        control: &Control,
        mut visit: impl FnMut(&VerifyResult) -> Result<(), Error> + Send,
    ) -> Result<(), Error> {
        let stopped = || Error::new(ErrorClass::Stopped, self.dir().to_string_lossy(), "stopped before its end");
        let mut workers = vec![(); threads.max(1)];
        let check = |(): &mut (), item: Result<Digest, Error>| self.check_entry(&item?, repair, pool, control);
        each(DigestPages::new(self), &mut workers, check, |checked| match checked? {
            _ if control.stopped() => Err(stopped()),
            Some(checked) => visit(&checked),
            None => Ok(()),
        })?;
        if control.stopped() { Err(stopped()) } else { Ok(()) }
    }

    /// True if an open entry's bytes have its digest. The file's position does not change.
    ///
    /// # Errors
    /// When it can't be read, and [`ErrorClass::Stopped`].
    pub fn verify_reader(&self, reader: &EntryReader, pool: &BufferPool, control: &Control) -> Result<bool, Error> {
        let path = self.path(&reader.digest);
        let name = path.to_string_lossy();
        let mut block = pool.lease().map_err(|cause| Error::io(&*name, "no memory for a block", cause))?;
        Ok(hash(&reader.file, &name, Hasher::new(self.algorithm()), &mut block, control)? == reader.digest)
    }

    /// `None` when it is gone.
    fn check_entry(
        &self,
        digest: &Digest,
        repair: bool,
        pool: &BufferPool,
        control: &Control,
    ) -> Result<Option<VerifyResult>, Error> {
        let _pass = self.inner.gate.acquire();
        let operation = Operation::start("store.verify");
        let path = self.path(digest);
        let found = identity_at(&path);
        let (bytes, verdict) = match self.open_reader(digest) {
            Ok(None) => return Ok(None),
            Ok(Some(reader)) => (reader.bytes, self.judge(&reader, pool, control)),
            Err(error) => (0, Err(error)),
        };
        operation.bytes(bytes);
        let verdict = match verdict {
            Ok(verdict) => verdict,
            Err(error) if error.kind() == ErrorClass::Stopped => return Err(error),
            Err(error) if error.kind() == ErrorClass::Corrupt => Verdict::Damaged(error.to_string()),
            Err(error) => Verdict::Unreadable(error.to_string()),
        };
        let damaged = matches!(verdict, Verdict::Damaged(_));
        let mut removed = None;
        if damaged && repair {
            let turn = self.lock_exclusive()?;
            // A put may have mended it meanwhile.
            if identity_at(&path) != found {
                drop(turn);
                return self.check_entry(digest, repair, pool, control);
            }
            removed = Some(turn.remove(digest, false)?);
        }
        match verdict {
            Verdict::Sound => operation.done(),
            Verdict::Damaged(_) => operation.failed("corrupt"),
            Verdict::Unreadable(_) => operation.failed("io"),
        }
        Ok(Some(VerifyResult { digest: *digest, bytes, verdict, removed }))
    }

    fn judge(&self, reader: &EntryReader, pool: &BufferPool, control: &Control) -> Result<Verdict, Error> {
        let sound = self.verify_reader(reader, pool, control)?;
        let differs = || Verdict::Damaged(format!("{}: the bytes have another digest", escaped_path(self.path(&reader.digest))));
        Ok(if sound { Verdict::Sound } else { differs() })
    }
}

pub(crate) fn hash(file: &File, name: &str, mut hasher: Hasher, block: &mut [u8], control: &Control) -> Result<Digest, Error> {
    let mut offset = 0;
    loop {
        if control.stopped() {
            return Err(Error::new(ErrorClass::Stopped, name, "stopped before its end"));
        }
        match file.read_at(block, offset) {
            Ok(0) => return Ok(hasher.finish()),
            Ok(read) => {
                hasher.update(&block[..read]);
                control.stored(read as u64);
                control.decoded(read as u64);
                offset += read as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(cause) => return Err(Error::io(name, "cannot read", cause).at(offset)),
        }
    }
}

/// All digests, a page at a time.
struct DigestPages<'a> {
    store: &'a Store,
    page: std::vec::IntoIter<(Digest, u64)>,
    after: Option<Digest>,
    /// Nothing more comes: several workers ask after the end.
    ended: bool,
}

impl<'a> DigestPages<'a> {
    fn new(store: &'a Store) -> Self {
        Self { store, page: Vec::new().into_iter(), after: None, ended: false }
    }
}

impl Iterator for DigestPages<'_> {
    type Item = Result<Digest, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        if self.page.len() == 0 {
            match self.store.index().page(self.after.as_ref()) {
                Ok(page) => self.page = page.into_iter(),
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
        self.after = self.page.next().map(|(digest, _)| digest);
        self.ended = self.after.is_none();
        self.after.map(Ok)
    }
}
