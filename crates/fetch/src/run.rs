//! A fetch from its start to its end: rounds, the digest and the keeper beside them, and the end of
//! the part.

use crate::background;
use crate::client::client;
use crate::error::{FetchError, FetchErrorKind};
use crate::limits::{BLOCK_BYTES, BLOCKING_THREADS, PARALLEL_MAX, WATCH_EVERY};
use crate::name::{parse, shown};
use crate::outcome::{AttemptOutcome, NextStep, decide};
use crate::part::PartFile;
use crate::proxy::Proxies;
use crate::range_board::RangeBoard;
use crate::ranges::Ranges;
use crate::settings::{Fetch, FetchEvent, FetchResult, FetchTarget};
use crate::sidecar::Validator;
use crate::sink::{FetchSink, HashedWriter};
use crate::transfer::{FetchJob, RemoteFile, RoundEnd, RoundState};
use futures_util::future::{Either, select};
use rorqual_digest::{Digest, Hasher};
use rorqual_pipe::{BufferPool, Control, Operation, Semaphore};
use std::cell::RefCell;
use std::io::Write;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::SetOnce;
use tokio::task::{JoinError, JoinHandle, spawn_blocking};

impl Fetch {
    /// Fetches, and returns when the file is there or can't be had. Takes a permit of `gate`.
    /// `control` counts and limits the received bytes, and stops it; `observe` hears of the events
    /// on the way.
    ///
    /// # Errors
    /// With the reason, and the part that is kept to be resumed. The final name then is as it was.
    pub fn run(
        mut self,
        gate: &Semaphore,
        control: &Control,
        observe: &mut dyn FnMut(FetchEvent),
    ) -> Result<FetchResult, FetchError> {
        let _pass = gate.acquire();
        let operation = Operation::start("fetch");
        let result = self.run_now(control, observe);
        match &result {
            Ok(fetched) => {
                operation.bytes(fetched.received_bytes);
                operation.done();
            }
            Err(error) => operation.failed(error.kind.name()),
        }
        result
    }

    fn run_now(&mut self, control: &Control, observe: &mut dyn FnMut(FetchEvent)) -> Result<FetchResult, FetchError> {
        let url = parse(&self.url)?;
        self.parallel = self.parallel.clamp(1, PARALLEL_MAX);
        let target = std::mem::replace(&mut self.target, FetchTarget::Writer(Box::new(std::io::sink())));
        if matches!(target, FetchTarget::Writer(_)) {
            self.parallel = 1;
        }
        let proxies = Proxies::from_env()?;
        let client = client(self, &proxies)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(BLOCKING_THREADS).build();
        let runtime = runtime.map_err(|cause| FetchError::local("no runtime", &cause))?;
        let job = FetchJob::new(self, url, client, proxies, control, observe);
        let result = match target {
            FetchTarget::File { path, replace } => runtime.block_on(to_file(&job, &path, replace)),
            FetchTarget::Writer(writer) => runtime.block_on(to_writer(&job, writer)),
        };
        // A name that is still being resolved is not waited for.
        runtime.shutdown_background();
        result
    }

    fn hashers(&self) -> Vec<Hasher> {
        self.digests.iter().map(|wanted| Hasher::new(wanted.algorithm)).collect()
    }
}

/// Starting point of a round.
#[derive(Default)]
struct Start {
    done: Ranges,
    size_bytes: Option<u64>,
    validator: Option<Validator>,
}

impl Start {
    fn of(part: &PartFile) -> Self {
        let record = part.ledger.record();
        // An empty file has nothing to go on from.
        let (mut done, size_bytes) = (record.done(), record.size_bytes.filter(|size| *size > 0));
        if let Some(last) = size_bytes.filter(|size| done.prefix() == *size).and_then(|size| size.checked_sub(1)) {
            // The server still has to say that it is the same file.
            done.remove(&(last..u64::MAX));
        }
        Self { done, size_bytes, validator: record.validator.clone() }
    }
}

/// Target of a round.
struct RoundTarget {
    source: RemoteFile,
    size_bytes: u64,
    digests: Vec<Digest>,
}

async fn to_file(job: &FetchJob<'_>, path: &Path, replace: bool) -> Result<FetchResult, FetchError> {
    let sink = FetchSink::Part(PartFile::open(path, &shown(&job.url), replace)?);
    let FetchSink::Part(part) = &sink else { return Err(FetchError::new(FetchErrorKind::Local, "no part")) };
    let (mut start, mut whole) = (Start::of(part), false);
    loop {
        let resumed_bytes = start.done.bytes();
        let ended = match file_round(job, part, &sink, start, whole).await {
            Ok(done) => match part.finish(done.size_bytes) {
                Ok(()) => return part.file().map(|file| FetchResult { file: Some(file), ..fetched(job, done, resumed_bytes) }),
                Err(error) => RoundEnd::Failed(AttemptOutcome::Local(error)),
            },
            Err(ended) => ended,
        };
        let over = match ended {
            RoundEnd::StartOver { why, whole: no_ranges, after } => {
                whole = no_ranges;
                start_over(job, &why, after, || part.reset()).await
            }
            RoundEnd::Failed(outcome) => Err(outcome),
        };
        if let Err(outcome) = over {
            let mut error = outcome.into_error(&shown(&job.url));
            error.kept = part.leave();
            return Err(error);
        }
        start = Start::default();
    }
}

/// Throws the received bytes away, tells, and pauses.
async fn start_over(
    job: &FetchJob<'_>,
    why: &AttemptOutcome,
    after: Duration,
    reset: impl FnOnce() -> Result<(), FetchError>,
) -> Result<(), AttemptOutcome> {
    reset().map_err(AttemptOutcome::Local)?;
    job.tell(FetchEvent::StartOver { why: why.to_string() });
    let pause = async {
        tokio::time::sleep(after).await;
        Ok(())
    };
    watched(job, pause).await
}

/// One round into a part. At any end the received bytes are flushed and recorded.
async fn file_round(
    job: &FetchJob<'_>,
    part: &PartFile,
    sink: &FetchSink,
    start: Start,
    whole: bool,
) -> Result<RoundTarget, RoundEnd> {
    let resumed = start.done.bytes() > 0;
    let board = Arc::new(RangeBoard::new(start.done, start.size_bytes));
    let keeper = spawn_blocking({
        let (board, ledger) = (Arc::clone(&board), Arc::clone(&part.ledger));
        move || background::keep(&board, &ledger)
    });
    let hashers = job.fetch.hashers();
    let digester = (!hashers.is_empty()).then(|| {
        let (board, ledger) = (Arc::clone(&board), Arc::clone(&part.ledger));
        spawn_blocking(move || background::digest(&board, &ledger.file, hashers, &BufferPool::new(BLOCK_BYTES, 1)))
    });
    let round =
        RoundState { job, board: &board, sink, source: SetOnce::new(), claimed: SetOnce::new(), resumed: start.validator, whole };
    let mut result = received(job, &round, digester, resumed).await;
    board.end();
    let kept = keeper.await.unwrap_or_else(|error| Err(crashed(&error)));
    if let Err(error) = kept.and_then(|()| part.ledger.keep(&board.done())) {
        // The first failure is the one to tell.
        result = result.and(Err(RoundEnd::Failed(AttemptOutcome::Local(error))));
    }
    let (size_bytes, digests) = result?;
    match round.source.into_inner() {
        Some(source) => Ok(RoundTarget { source, size_bytes, digests }),
        None => Err(RoundEnd::Failed(AttemptOutcome::Local(FetchError::new(FetchErrorKind::Local, "no answer")))),
    }
}

type PrefixDigest = JoinHandle<Result<Option<Vec<Hasher>>, FetchError>>;

/// Everything that is to be received, and its digests, which are the right ones.
async fn received(
    job: &FetchJob<'_>,
    round: &RoundState<'_, '_>,
    digester: Option<PrefixDigest>,
    resumed: bool,
) -> Result<(u64, Vec<Digest>), RoundEnd> {
    watched(job, round.run()).await?;
    let failed = |error| RoundEnd::Failed(AttemptOutcome::Local(error));
    let hashers = match digester {
        Some(digester) => {
            let ended = async { digester.await.unwrap_or_else(|error| Err(crashed(&error))).map_err(failed) };
            watched(job, ended).await?.unwrap_or_default()
        }
        None => Vec::new(),
    };
    let digests = check(job, hashers, resumed)?;
    Ok((round.board.size().unwrap_or(0), digests))
}

/// Compares the digests with those expected.
fn check(job: &FetchJob<'_>, hashers: Vec<Hasher>, resumed: bool) -> Result<Vec<Digest>, RoundEnd> {
    let digests: Vec<Digest> = hashers.into_iter().map(Hasher::finish).collect();
    for (wanted, computed) in job.fetch.digests.iter().zip(&digests) {
        let Some(expected) = wanted.expected.filter(|expected| expected != computed) else { continue };
        let why = format!("its {} is {computed}, and should be {expected}", wanted.algorithm);
        let outcome = AttemptOutcome::Mismatch { why, resumed };
        return Err(match decide(&outcome, &mut job.tries.borrow_mut(), false) {
            NextStep::StartOver { whole, after } => RoundEnd::StartOver { why: outcome, whole, after },
            _ => RoundEnd::Failed(outcome),
        });
    }
    Ok(digests)
}

async fn to_writer(job: &FetchJob<'_>, writer: Box<dyn Write + Send>) -> Result<FetchResult, FetchError> {
    let sink = FetchSink::Writer(RefCell::new(HashedWriter { writer, hashers: job.fetch.hashers() }));
    let mut whole = false;
    loop {
        let board = RangeBoard::new(Ranges::default(), None);
        let round =
            RoundState { job, board: &board, sink: &sink, source: SetOnce::new(), claimed: SetOnce::new(), resumed: None, whole };
        let result = watched(job, round.run()).await.and_then(|()| written(job, &sink));
        let over = match result {
            Ok(digests) => match round.source.into_inner() {
                Some(source) => return Ok(fetched(job, RoundTarget { source, size_bytes: board.done_bytes(), digests }, 0)),
                None => Err(AttemptOutcome::Local(FetchError::new(FetchErrorKind::Local, "no answer"))),
            },
            Err(RoundEnd::StartOver { why, .. }) if board.done_bytes() > 0 => Err(AttemptOutcome::GivenAway(why.to_string())),
            Err(RoundEnd::StartOver { why, whole: no_ranges, after }) => {
                whole = no_ranges;
                start_over(job, &why, after, || Ok(())).await
            }
            Err(RoundEnd::Failed(outcome)) => Err(outcome),
        };
        over.map_err(|outcome| outcome.into_error(&shown(&job.url)))?;
    }
}

fn written(job: &FetchJob<'_>, sink: &FetchSink) -> Result<Vec<Digest>, RoundEnd> {
    let FetchSink::Writer(stream) = sink else { return Ok(Vec::new()) };
    let mut stream = stream.borrow_mut();
    let flushed = stream.writer.flush().map_err(|cause| FetchError::local("cannot write", &cause));
    flushed.map_err(|error| RoundEnd::Failed(AttemptOutcome::Local(error)))?;
    check(job, std::mem::take(&mut stream.hashers), false)
}

fn fetched(job: &FetchJob<'_>, whole: RoundTarget, resumed_bytes: u64) -> FetchResult {
    let RoundTarget { source, size_bytes, digests } = whole;
    FetchResult {
        url: shown(&source.url),
        size_bytes,
        received_bytes: job.received_bytes.get(),
        resumed_bytes,
        digests,
        http_version: source.head.http_version,
        etag: source.head.etag,
        last_modified: source.head.last_modified,
        ranges: source.head.partial,
        length_told: source.head.length_told,
        failures: job.tries.borrow().failures,
        file: None,
    }
}

/// The result of `work`, unless Ctrl-C or the clock comes first.
async fn watched<T, E: From<AttemptOutcome>>(job: &FetchJob<'_>, work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    let watch = async {
        loop {
            if job.control.stopped() {
                return AttemptOutcome::Stopped;
            }
            if let Some(limit) = job.fetch.time_max.filter(|limit| job.started.elapsed() >= *limit) {
                return AttemptOutcome::TimeUp(limit);
            }
            tokio::time::sleep(WATCH_EVERY).await;
        }
    };
    match select(pin!(work), pin!(watch)).await {
        Either::Left((result, _)) => result,
        Either::Right((outcome, _)) => Err(outcome.into()),
    }
}

impl From<AttemptOutcome> for RoundEnd {
    fn from(outcome: AttemptOutcome) -> Self {
        Self::Failed(outcome)
    }
}

fn crashed(error: &JoinError) -> FetchError {
    FetchError::new(FetchErrorKind::Local, format!("a thread of the fetch has ended: {error}"))
}
