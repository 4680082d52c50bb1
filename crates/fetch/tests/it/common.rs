//! Shared by the tests: settings with small limits, and checks for the state afterwards.

use rorqual_digest::{Algorithm, Digest};
use rorqual_fetch::{ExpectedDigest, Fetch, FetchError, FetchErrorKind, FetchEvent, FetchResult, FetchTarget};
use rorqual_pipe::{Control, Semaphore};
use rorqual_testkit::http::GeneratedContent;
use rorqual_testkit::process::in_time;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// Small, so that small files have many pieces.
pub(crate) const PIECE: u64 = 10_000;

/// A folder with the target `file` in it.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        // In memory where there is such a place: hundreds of flushes wait for the disk otherwise.
        Self(tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap())
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn target(&self) -> PathBuf {
        self.at("file")
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            std::fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The target is there, right, and alone.
    pub(crate) fn has_only(&self, content: &GeneratedContent) {
        assert!(std::fs::read(self.target()).unwrap() == content.all(), "other bytes");
        assert_eq!(self.names(), ["file"]);
    }

    /// The target is not there; the part is, and every byte that is claimed is right. How many
    /// there are.
    pub(crate) fn has_part_of(&self, content: &GeneratedContent) -> u64 {
        assert_eq!(self.names(), ["file.part", "file.part.json"]);
        let part = std::fs::read(self.at("file.part")).unwrap();
        let record: serde_json::Value = serde_json::from_slice(&std::fs::read(self.at("file.part.json")).unwrap()).unwrap();
        let mut bytes = 0;
        for stretch in record["done"].as_array().unwrap() {
            let (start, end) = (stretch[0].as_u64().unwrap(), stretch[1].as_u64().unwrap());
            assert!(
                part[start as usize..end as usize] == content.bytes(start..end),
                "a claim of {start} to {end} that is not true"
            );
            bytes += end - start;
        }
        bytes
    }
}

pub(crate) fn settings(url: &str, target: &Path, parallel: usize) -> Fetch {
    Fetch {
        url: url.to_owned(),
        target: FetchTarget::File { path: target.to_owned(), replace: false },
        digests: Vec::new(),
        headers: Vec::new(),
        parallel,
        piece_bytes: PIECE,
        help_after: Duration::ZERO,
        connect_timeout: Duration::from_secs(5),
        idle_timeout: Duration::from_secs(5),
        time_max: Some(Duration::from_secs(20)),
        retries: 4,
        retry_delay: Duration::from_millis(1),
        redirects_max: 3,
        allow_downgrade: false,
        ca_certs: Vec::new(),
        keep_encoding: false,
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> ExpectedDigest {
    let mut hasher = rorqual_digest::Hasher::new(Algorithm::Sha256);
    hasher.update(bytes);
    ExpectedDigest { algorithm: Algorithm::Sha256, expected: Some(hasher.finish()) }
}

pub(crate) fn wrong_digest() -> ExpectedDigest {
    ExpectedDigest { algorithm: Algorithm::Sha256, expected: Digest::from_bytes(Algorithm::Sha256, &[7; 32]) }
}

/// A run, and the reasons that were told on the way.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) result: Result<FetchResult, FetchError>,
    pub(crate) retries: Vec<String>,
    pub(crate) start_overs: Vec<String>,
}

pub(crate) fn run(fetch: Fetch) -> Ran {
    run_with(fetch, &Control::default())
}

pub(crate) fn run_with(fetch: Fetch, control: &Control) -> Ran {
    let control = control.clone();
    in_time(Duration::from_secs(60), move || {
        let (mut retries, mut start_overs) = (Vec::new(), Vec::new());
        let mut observe = |event| match event {
            FetchEvent::Retry { why, .. } => retries.push(why),
            FetchEvent::StartOver { why } => start_overs.push(why),
            FetchEvent::Started { .. } => {}
        };
        let result = fetch.run(&Semaphore::new(1), &control, &mut observe);
        Ran { result, retries, start_overs }
    })
}

impl Ran {
    pub(crate) fn done(&self) -> &FetchResult {
        self.result.as_ref().unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn failed(&self, kind: FetchErrorKind) -> &FetchError {
        let error = self.result.as_ref().expect_err("it should have failed");
        assert_eq!(error.kind, kind, "{error}");
        error
    }
}
