//! Settings of a fetch.

use crate::limits::{BLOCK_BYTES, CONNECTION_BYTES, CONNECTION_WINDOW_BYTES};
use rorqual_digest::{Algorithm, Digest};
use rorqual_pipe::Budget;
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Settings of a fetch. There are no defaults here: those are the command line's.
#[derive(Debug)]
pub struct Fetch {
    /// `http` or `https`; a user and password in it become Basic authentication.
    pub url: String,
    /// Target of the bytes.
    pub target: FetchTarget,
    /// Digests to compute along the way, with their expected values.
    pub digests: Vec<ExpectedDigest>,
    /// Further request headers. Credentials among them are not sent on to another host.
    pub headers: Vec<(String, String)>,
    /// Range requests at the same time, where the server offers them; 1 to
    /// [`PARALLEL_MAX`](crate::limits::PARALLEL_MAX).
    pub parallel: usize,
    /// Bytes of one of several range requests; [`PIECE_BYTES`](crate::limits::PIECE_BYTES) unless a
    /// test wants less.
    pub piece_bytes: u64,
    /// Time for which the first of several connections is watched before the others join it, if it
    /// is slow.
    pub help_after: Duration,
    /// For the name's resolution, the connection and TLS.
    pub connect_timeout: Duration,
    /// For the answer to begin, and for each next byte.
    pub idle_timeout: Duration,
    /// For everything together.
    pub time_max: Option<Duration>,
    /// Failures in a row, without progress worth the name, after which it is given up.
    pub retries: u32,
    /// The pause before the second attempt, on average; it doubles from one to the next.
    pub retry_delay: Duration,
    /// Redirects to follow for one request.
    pub redirects_max: usize,
    /// Follow a redirect from https to http.
    pub allow_downgrade: bool,
    /// PEM files of certificates to trust; when there are none, the system's are trusted.
    pub ca_certs: Vec<PathBuf>,
    /// Take a Content-Encoding that was not asked for, as it comes.
    pub keep_encoding: bool,
}

/// Target of the bytes.
pub enum FetchTarget {
    /// A file that appears whole or not at all.
    File {
        /// Its final name. The part is `path` with `.part` after it.
        path: PathBuf,
        /// True to replace a plain file of that name.
        replace: bool,
    },
    /// A writer that takes the bytes in order; they can't be taken back.
    Writer(Box<dyn Write + Send>),
}

impl fmt::Debug for FetchTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, replace } => f.debug_struct("File").field("path", path).field("replace", replace).finish(),
            Self::Writer(_) => f.write_str("Writer"),
        }
    }
}

/// A digest to compute.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedDigest {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The expected value; with another one the target is not made.
    pub expected: Option<Digest>,
}

impl Fetch {
    /// Reserves the memory of a fetch in `budget`.
    pub fn reserve(&self, budget: &mut Budget) {
        let connections = self.parallel as u64;
        budget.reserve(format!("{connections} connections"), connections * CONNECTION_BYTES);
        budget.reserve("HTTP/2 window", u64::from(CONNECTION_WINDOW_BYTES));
        budget.reserve("digest", BLOCK_BYTES as u64);
    }
}

/// Events on the way.
#[derive(Debug, Clone)]
pub enum FetchEvent {
    /// The first answer is there.
    Started {
        /// The size of the whole file, where it is known.
        size_bytes: Option<u64>,
        /// Bytes that an earlier fetch has left.
        resumed_bytes: u64,
    },
    /// It will be tried again.
    Retry {
        /// The reason.
        why: String,
        /// In how long.
        after: Duration,
        /// True if the received bytes are kept.
        resumes: bool,
    },
    /// The received bytes were thrown away.
    StartOver {
        /// The reason for which they are of no use.
        why: String,
    },
}

/// A fetch that is done.
#[derive(Debug, Clone)]
pub struct FetchResult {
    /// The last address after all redirects; without a password.
    pub url: String,
    /// The size of the file.
    pub size_bytes: u64,
    /// Of which came in this run: more than the size when something had to come twice.
    pub received_bytes: u64,
    /// Of which an earlier run had left.
    pub resumed_bytes: u64,
    /// The digests that were asked for, in that order.
    pub digests: Vec<Digest>,
    /// `HTTP/1.1`, `HTTP/2.0`.
    pub http_version: String,
    /// The server's ETag, where it has one.
    pub etag: Option<String>,
    /// The server's Last-Modified, where it has one.
    pub last_modified: Option<String>,
    /// True if the pieces came by several requests side by side.
    pub ranges: bool,
    /// The server told where the file ends. Without that a cut transfer looks like a whole one,
    /// unless there is a digest.
    pub length_told: bool,
    /// Attempts that failed.
    pub failures: u32,
    /// The file, where it was fetched into one, with the exclusive `flock` that it was written
    /// under: a caller that goes on with it by its path sees by this that it is still the one that
    /// the digests are of.
    pub file: Option<Arc<File>>,
}
