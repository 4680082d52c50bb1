//! Context of every subcommand: the store's folder, memory, and the form of results.

use crate::args::{Common, LeaseArgs, StoreArgs, TerminalWhen};
use crate::message::{self, escaped};
use rorqual_digest::Digest;
use rorqual_pipe::gather::OutputFd;
use rorqual_pipe::limits::{BLOCK_BYTES, PROGRAM_BYTES, THREAD_BYTES, buffers_needed};
use rorqual_pipe::{Budget, BufferPool, Control, Error, ErrorClass};
use rorqual_store::limits::INDEX_BYTES;
use rorqual_store::{EntryLease, KeyMatch, LeaseTerms, Store, StoreSettings};
use serde_json::{Value, json};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// More threads than that gain nothing over the disk's speed.
const THREADS_MAX_DEFAULT: usize = 16;

/// One run of the verb.
pub(crate) struct StoreContext {
    pub(crate) settings: StoreSettings,
    pub(crate) json: bool,
    pub(crate) progress: TerminalWhen,
    pub(crate) memory_bytes: u64,
    pub(crate) threads: usize,
    pub(crate) pool: BufferPool,
    pub(crate) control: Control,
    pub(crate) start: Instant,
}

/// A put has one thread that hashes; a verification one block a thread.
fn buffers(threads: usize) -> usize {
    buffers_needed(1).max(threads)
}

fn budget(memory_bytes: u64, threads: usize) -> Budget {
    let buffers = buffers(threads);
    let mut budget = Budget::new(memory_bytes);
    budget.reserve("program", PROGRAM_BYTES);
    budget.reserve("index", INDEX_BYTES);
    budget.reserve(format!("{threads} threads"), threads as u64 * THREAD_BYTES);
    budget.reserve(format!("{buffers} blocks"), (buffers * BLOCK_BYTES) as u64);
    budget
}

impl StoreContext {
    pub(crate) fn new(common: &Common, args: &StoreArgs) -> Result<Self, String> {
        let memory_bytes = common.process.memory_bytes();
        let threads = common.process.threads_or(THREADS_MAX_DEFAULT);
        Budget::check_threads(threads, |threads| budget(memory_bytes, threads)).map_err(|error| error.to_string())?;
        let settings = StoreSettings { fsync: !args.no_fsync, ..StoreSettings::new(dir(args.dir.as_deref())?) };
        Ok(Self {
            settings,
            json: args.json,
            progress: common.progress,
            memory_bytes,
            threads,
            pool: BufferPool::new(BLOCK_BYTES, buffers(threads)),
            control: Control::with_rate_limit(common.limit_rate),
            start: Instant::now(),
        })
    }

    /// The store, which has to exist.
    pub(crate) fn open(&self) -> Result<Store, Error> {
        Store::open(&self.settings)
    }

    /// The entry that a key stands for; says so when there is none.
    pub(crate) fn find(&self, store: &Store, key: &str) -> Result<Option<Digest>, Error> {
        match store.find(key)? {
            KeyMatch::One(digest) => Ok(Some(digest)),
            KeyMatch::Many => Err(Error::new(ErrorClass::Limit, key, "several digests start like that; give more of its digits")),
            KeyMatch::None => {
                message::note(&format!("{key}: is not in the store"));
                Ok(None)
            }
        }
    }

    /// Prints a result: as JSON where that was asked for, else as text.
    pub(crate) fn say(&self, object: &Value, text: impl FnOnce() -> String) -> Result<(), Error> {
        let line = if self.json { object.to_string() } else { text() };
        let mut out = self.stdout()?;
        writeln!(out, "{line}").and_then(|()| out.flush()).map_err(print_failed)
    }

    /// Standard output, until Ctrl-C.
    pub(crate) fn stdout(&self) -> Result<BufWriter<OutputFd>, Error> {
        OutputFd::stdout(&self.control).map(BufWriter::new).map_err(print_failed)
    }
}

/// A failure to print; of kind `Stopped` when the reader had enough.
pub(crate) fn print_failed(cause: io::Error) -> Error {
    Error::io("standard output", "cannot write", cause)
}

/// The terms of a lease that was asked for along with something else.
pub(crate) fn terms(args: &LeaseArgs) -> Option<LeaseTerms<'_>> {
    args.lease.map(|ttl| LeaseTerms { ttl, holder: &args.holder })
}

pub(crate) fn lease_json(lease: &EntryLease) -> Value {
    json!({
        "id": lease.id, "digest": lease.digest.to_string(), "holder": lease.holder,
        "taken": time(lease.taken_ms), "expires": time(lease.expires_ms),
    })
}

/// A time as RFC 3339 has it, in UTC and whole seconds.
pub(crate) fn time(ms: u64) -> String {
    let time = i64::try_from(ms / 1_000).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    time.map_or_else(|| format!("{ms} ms"), |time| time.to_string())
}

/// A name or label on one line of a terminal.
pub(crate) fn one_line(text: &str) -> String {
    escaped(text).replace('\n', "\\n")
}

/// The store's folder: the given one, or in the user's cache.
pub(crate) fn dir(given: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(dir) = given.filter(|dir| !dir.as_os_str().is_empty()) {
        return Ok(dir.to_owned());
    }
    // The specification has relative paths ignored.
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    let none = || "where is the store? Give --store DIR or set RORQUAL_STORE: there is no HOME".to_owned();
    cache.map(|cache| cache.join("rorqual/store")).ok_or_else(none)
}
