//! Downloads.

use crate::failure::OperationFailure;
use crate::running::Running;
use rorqual_digest::{Algorithm, Digest};
use rorqual_fetch::limits::{HELP_AFTER, PARALLEL_DEFAULT, PIECE_BYTES};
use rorqual_fetch::{ExpectedDigest, Fetch, FetchEvent, FetchTarget};
use rorqual_pipe::{Control, Semaphore};
use std::path::PathBuf;
use std::time::Duration;

/// A file to download.
#[derive(Debug, Clone)]
pub struct Download {
    /// `http` or `https`.
    pub url: String,
    /// The file.
    pub path: PathBuf,
    /// Replace a file of that name.
    pub replace: bool,
    /// SHA-256 that it must have.
    pub sha256: Option<String>,
    /// BLAKE3 that it must have.
    pub blake3: Option<String>,
    /// Further request headers.
    pub headers: Vec<(String, String)>,
    /// Range requests at a time.
    pub parallel: Option<usize>,
    /// Failures in a row after which it is given up.
    pub retries: Option<u32>,
    /// Time for everything together.
    pub time_max: Option<Duration>,
}

/// A step of a download.
#[derive(Debug, Clone)]
pub enum DownloadStep {
    /// An event on the way.
    Event(FetchEvent),
    /// It is done.
    Done(DownloadSummary),
}

/// A download that is done.
#[derive(Debug, Clone)]
pub struct DownloadSummary {
    /// The last address after all redirects.
    pub url: String,
    /// The size of the file.
    pub size_bytes: u64,
    /// Bytes of it that an earlier run had left.
    pub resumed_bytes: u64,
    /// The digests that were asked for.
    pub digests: Vec<Digest>,
    /// The server told where the file ends, or there is a digest.
    pub is_whole: bool,
}

/// Downloads a file; its control counts the bytes that came.
///
/// # Errors
/// When a digest is none.
pub fn download(wanted: Download) -> Result<Running<DownloadStep>, OperationFailure> {
    let expected = [(Algorithm::Sha256, &wanted.sha256), (Algorithm::Blake3, &wanted.blake3)];
    let digests = expected.into_iter().filter_map(|(algorithm, text)| Some(parsed(algorithm, text.as_deref()?)));
    let digests = digests.collect::<Result<Vec<_>, _>>()?;
    let control = Control::default();
    let stop = control.clone();
    Ok(Running::start(&control, move |give| {
        let fetch = Fetch {
            url: wanted.url,
            target: FetchTarget::File { path: wanted.path, replace: wanted.replace },
            digests,
            headers: wanted.headers,
            parallel: wanted.parallel.unwrap_or(PARALLEL_DEFAULT),
            piece_bytes: PIECE_BYTES,
            help_after: HELP_AFTER,
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(30),
            time_max: wanted.time_max,
            retries: wanted.retries.unwrap_or(5),
            retry_delay: Duration::from_millis(500),
            redirects_max: 10,
            allow_downgrade: false,
            ca_certs: Vec::new(),
            keep_encoding: false,
        };
        let mut observe = |event| {
            // Nobody listens any more: the stop ends it.
            let _gone = give(DownloadStep::Event(event));
        };
        let done = fetch.run(&Semaphore::new(1), &stop, &mut observe)?;
        give(DownloadStep::Done(DownloadSummary {
            is_whole: done.length_told || !done.digests.is_empty(),
            url: done.url,
            size_bytes: done.size_bytes,
            resumed_bytes: done.resumed_bytes,
            digests: done.digests,
        }))
    }))
}

fn parsed(algorithm: Algorithm, text: &str) -> Result<ExpectedDigest, OperationFailure> {
    let wrong =
        || OperationFailure::argument(format!("{algorithm} {text:?}: not a digest of {} bytes", algorithm.digest_bytes()));
    let digest = Digest::parse(algorithm, text.trim()).ok_or_else(wrong)?;
    Ok(ExpectedDigest { algorithm, expected: Some(digest) })
}
