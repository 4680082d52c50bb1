//! Shared by the tests: stores in temporary folders, puts and reads, and the look of a clean store.

use rorqual_digest::{Algorithm, Digest, Hasher};
use rorqual_pipe::limits::{BLOCK_BYTES, buffers_needed};
use rorqual_pipe::{BufferPool, Control, Error, Input};
use rorqual_store::{KeyMatch, PutOptions, PutResult, Store, StoreSettings, Usage, Verdict, rebuild};
use std::collections::BTreeSet;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub(crate) const MIB: u64 = 1 << 20;

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Settings without waits for the disk, and with exact times of use.
pub(crate) fn settings(dir: &Path) -> StoreSettings {
    StoreSettings { fsync: false, touch_after: std::time::Duration::ZERO, ..StoreSettings::new(dir) }
}

pub(crate) fn store(dir: &Path, bytes_max: u64) -> Store {
    Store::init(&settings(dir), None, Some(bytes_max)).unwrap()
}

pub(crate) fn pool() -> BufferPool {
    BufferPool::new(BLOCK_BYTES, buffers_needed(1))
}

pub(crate) fn put(store: &Store, bytes: &[u8]) -> PutResult {
    put_with(store, bytes, &PutOptions::default()).unwrap()
}

/// Puts, and sees that every block has come home.
pub(crate) fn put_with(store: &Store, bytes: &[u8], options: &PutOptions<'_>) -> Result<PutResult, Error> {
    let pool = pool();
    let reader = Box::new(Cursor::new(bytes.to_vec()));
    let stored = store.put(Input::from_reader("test", reader), Some(bytes.len() as u64), options, &pool, &Control::default());
    assert_eq!(pool.lent(), 0);
    stored
}

/// The bytes of an entry.
pub(crate) fn get(store: &Store, digest: &Digest) -> Option<Vec<u8>> {
    let mut reader = store.get(digest, None).unwrap()?;
    let mut bytes = Vec::new();
    reader.file.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes.len() as u64, reader.bytes);
    Some(bytes)
}

pub(crate) fn digest(bytes: &[u8]) -> Digest {
    let mut hasher = Hasher::new(Algorithm::Sha256);
    hasher.update(bytes);
    hasher.finish()
}

pub(crate) fn found(store: &Store, key: &str) -> Option<Digest> {
    match store.find(key).unwrap() {
        KeyMatch::One(digest) => Some(digest),
        KeyMatch::Many => panic!("{key} is ambiguous"),
        KeyMatch::None => None,
    }
}

pub(crate) fn digests(store: &Store) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    store
        .for_each(|entry| {
            assert!(all.insert(entry.digest.to_string()), "listed twice");
            Ok(())
        })
        .unwrap();
    all
}

/// All regular files below a folder.
pub(crate) fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for item in std::fs::read_dir(dir).into_iter().flatten() {
        let path = item.unwrap().path();
        if path.is_dir() { files.extend(self::files(&path)) } else { files.push(path) }
    }
    files
}

/// After any events: every entry is sound, and a gc leaves the entries' files and nothing else.
pub(crate) fn check_clean(store: &Store) {
    let mut sum = 0;
    let pool = BufferPool::new(BLOCK_BYTES, 2);
    let look = |checked: &rorqual_store::VerifyResult| {
        sum += checked.bytes;
        assert!(matches!(checked.verdict, Verdict::Sound), "{checked:?}");
        Ok(())
    };
    store.verify(false, 2, &pool, &Control::default(), look).unwrap();
    let collected = store.gc().unwrap();
    assert_eq!(collected.foreign, 0);
    let again = store.gc().unwrap();
    assert_eq!((again.orphans, again.temps), (0, 0), "a second gc found what the first had to");
    let blobs = files(&store.dir().join("blobs"));
    let names: BTreeSet<String> = blobs.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(names, digests(store));
    assert_eq!(files(&store.dir().join("tmp")), Vec::<PathBuf>::new());
    let usage = store.usage().unwrap();
    assert_eq!(usage.reserved_bytes, 0);
    assert!(usage.bytes <= usage.bytes_max);
    if collected.evicted.entries == 0 {
        assert_eq!(usage.bytes, sum);
    }
}

/// Makes the index anew. A process that another test starts has all files of this one, locks
/// included, until it runs its program; that is waited for.
pub(crate) fn rebuilt(dir: &Path, bytes_max: Option<u64>) -> Usage {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        match rebuild(&settings(dir), bytes_max) {
            Err(error) if error.to_string().contains("other processes have the store open") && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            rebuilt => return rebuilt.unwrap(),
        }
    }
}
