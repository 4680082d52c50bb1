//! One round: from the first request until everything is there, or until the received bytes are of
//! no use.
//!
//! The first worker's first answer describes the file (its [`RemoteFile`]). When it was a range of
//! something with a strong validator the other workers join in; each claims the first range that
//! nobody has, asks for it, and checks that the answer is about the same file. A worker that fails
//! gives its claim back and pauses, so that its range is the next to be claimed.

use crate::head::ResponseHead;
use crate::limits::{FAST_BYTES_PER_SECOND, THROTTLE_BYTES};
use crate::outcome::{AttemptLimits, AttemptOutcome, NextStep, decide};
use crate::proxy::Proxies;
use crate::range_board::RangeBoard;
use crate::settings::{Fetch, FetchEvent};
use crate::sidecar::Validator;
use crate::sink::FetchSink;
use bytes::Bytes;
use futures_util::future::try_join_all;
use reqwest::header::{IF_RANGE, RANGE};
use reqwest::{Client, Response, StatusCode, Url};
use rorqual_pipe::Control;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::time::{Duration, Instant};
use tokio::sync::SetOnce;

/// State that stays from round to round.
pub(crate) struct FetchJob<'a> {
    pub(crate) fetch: &'a Fetch,
    pub(crate) url: Url,
    pub(crate) client: Client,
    proxies: Proxies,
    pub(crate) control: &'a Control,
    pub(crate) observe: RefCell<&'a mut dyn FnMut(FetchEvent)>,
    pub(crate) tries: RefCell<AttemptLimits>,
    pub(crate) received_bytes: Cell<u64>,
    pub(crate) started: Instant,
    /// Time for which this thread was blocked by the file or the rate limit; the server is not to
    /// blame for it.
    blocked: Cell<Duration>,
}

impl<'a> FetchJob<'a> {
    pub(crate) fn new(
        fetch: &'a Fetch,
        url: Url,
        client: Client,
        proxies: Proxies,
        control: &'a Control,
        observe: &'a mut dyn FnMut(FetchEvent),
    ) -> Self {
        let tries = RefCell::new(AttemptLimits::new(fetch.retries, fetch.retry_delay));
        let (received_bytes, blocked) = (Cell::new(0), Cell::default());
        Self {
            fetch,
            url,
            client,
            proxies,
            control,
            observe: RefCell::new(observe),
            tries,
            received_bytes,
            started: Instant::now(),
            blocked,
        }
    }

    pub(crate) fn tell(&self, event: FetchEvent) {
        (self.observe.borrow_mut())(event);
    }

    /// The result of `work`, unless the server is silent for too long while we listen.
    async fn patiently<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Result<T, AttemptOutcome> {
        let mut work = std::pin::pin!(work);
        loop {
            let blocked_before = self.blocked.get();
            match tokio::time::timeout(limit, &mut work).await {
                Ok(done) => return Ok(done),
                Err(_) if self.blocked.get() - blocked_before > limit / 4 => {}
                Err(_) => return Err(AttemptOutcome::Idle(self.fetch.idle_timeout)),
            }
        }
    }
}

/// The file on the server, by its first answer.
#[derive(Debug)]
pub(crate) struct RemoteFile {
    pub(crate) head: ResponseHead,
    /// The last address after all redirects.
    pub(crate) url: Url,
}

/// The reason for which a round ended without the file.
pub(crate) enum RoundEnd {
    Failed(AttemptOutcome),
    StartOver { why: AttemptOutcome, whole: bool, after: Duration },
}

/// One round's state.
pub(crate) struct RoundState<'r, 'j> {
    pub(crate) job: &'r FetchJob<'j>,
    pub(crate) board: &'r RangeBoard,
    pub(crate) sink: &'r FetchSink,
    pub(crate) source: SetOnce<RemoteFile>,
    /// Nothing is left to claim.
    pub(crate) claimed: SetOnce<()>,
    /// Of the part that an earlier fetch has left.
    pub(crate) resumed: Option<Validator>,
    /// Ranges are not asked for, as they were refused.
    pub(crate) whole: bool,
}

impl RoundState<'_, '_> {
    pub(crate) async fn run(&self) -> Result<(), RoundEnd> {
        let helpers = if self.whole { 0 } else { self.job.fetch.parallel.saturating_sub(1) };
        let helpers = (0..helpers).map(|_| self.worker(false));
        try_join_all(std::iter::once(self.worker(true)).chain(helpers)).await.map(|_| ())
    }

    /// Claims and fetches until there is nothing left to claim.
    async fn worker(&self, first: bool) -> Result<(), RoundEnd> {
        if !first && !self.is_needed().await {
            return Ok(());
        }
        let mut failed = false;
        while let Some(claim) = self.board.claim(self.piece_bytes()) {
            let result = self.attempt(&claim, failed).await;
            self.board.release(&claim);
            failed = result.is_err();
            if let Err(outcome) = result {
                self.go_on(outcome).await?;
            }
        }
        let _ = self.claimed.set(());
        Ok(())
    }

    /// Waits until the first connection turns out to be slow; `false` when everything is claimed
    /// before that. A connection that is fast alone, as to a server nearby, is only disturbed by
    /// others.
    async fn is_needed(&self) -> bool {
        if !self.source.wait().await.head.partial {
            return false;
        }
        loop {
            let (start, bytes, blocked) = (Instant::now(), self.job.received_bytes.get(), self.job.blocked.get());
            if tokio::time::timeout(self.job.fetch.help_after, self.claimed.wait()).await.is_ok() {
                return false;
            }
            // When it is the disk that is slow, the server does not have to send faster.
            let waited = start.elapsed().saturating_sub(self.job.blocked.get() - blocked);
            let received = self.job.received_bytes.get() - bytes;
            if (received as f64) < FAST_BYTES_PER_SECOND as f64 * waited.as_secs_f64() {
                return true;
            }
        }
    }

    /// A whole body is claimed to its end; also the rest of one that broke off.
    fn piece_bytes(&self) -> u64 {
        let alone = self.whole || self.job.fetch.parallel <= 1 || self.source.get().is_some_and(|source| !source.head.partial);
        if alone { u64::MAX } else { self.job.fetch.piece_bytes }
    }

    /// Pauses before the next attempt, or ends the round.
    async fn go_on(&self, outcome: AttemptOutcome) -> Result<(), RoundEnd> {
        // Before the first answer nothing was begun.
        let resumable = self.source.get().is_none() || self.validator().is_some();
        let next = decide(&outcome, &mut self.job.tries.borrow_mut(), resumable);
        match next {
            NextStep::Resume(after) => {
                let resumes = self.board.done_bytes() > 0;
                self.job.tell(FetchEvent::Retry { why: outcome.to_string(), after, resumes });
                tokio::time::sleep(after).await;
                Ok(())
            }
            NextStep::StartOver { whole, after } => Err(RoundEnd::StartOver { why: outcome, whole: whole || self.whole, after }),
            NextStep::GiveUp => Err(RoundEnd::Failed(outcome)),
        }
    }

    fn validator(&self) -> Option<&Validator> {
        self.source.get().map_or(self.resumed.as_ref(), |source| source.head.validator.as_ref())
    }

    /// One request for `claim`; its bytes are in the file and on the board.
    async fn attempt(&self, claim: &Range<u64>, failed_before: bool) -> Result<(), AttemptOutcome> {
        let mut response = self.request(claim, failed_before).await?;
        let head = self.check_status(&response, claim)?;
        let size_bytes = head.size_bytes;
        let range = match self.source.get() {
            Some(source) => check_piece(&head, source, claim)?,
            None => self.adopt(head, &response, claim)?,
        };
        if let Some(size_bytes) = size_bytes {
            self.board.set_size(size_bytes);
        }
        let mut at = range.start;
        while let Some(bytes) = self.chunk(&mut response).await? {
            let end = at + bytes.len() as u64;
            if end > range.end {
                return Err(AttemptOutcome::Broken(format!("more than the {} bytes announced", range.end - range.start)));
            }
            self.write(at, &bytes).await?;
            at = end;
        }
        match range.end {
            u64::MAX => self.board.set_size(at),
            end if at < end => return Err(AttemptOutcome::Broken(format!("the body ended at byte {at} of {end}"))),
            _ => {}
        }
        Ok(())
    }

    async fn request(&self, claim: &Range<u64>, failed_before: bool) -> Result<Response, AttemptOutcome> {
        let job = self.job;
        // Past the redirects, unless that failed, or headers would go along that are meant for the
        // first host only.
        let direct = self.source.get().filter(|_| !failed_before && job.fetch.headers.is_empty());
        let mut request = job.client.get(direct.map_or(&job.url, |source| &source.url).clone());
        if self.asks_range(claim) {
            let last = if claim.end == u64::MAX { String::new() } else { (claim.end - 1).to_string() };
            request = request.header(RANGE, format!("bytes={}-{last}", claim.start));
            if let Some(validator) = self.validator() {
                request = request.header(IF_RANGE, validator.value());
            }
        }
        let limit = job.fetch.connect_timeout.saturating_add(job.fetch.idle_timeout);
        let sent = job.patiently(limit, request.send()).await?;
        sent.map_err(|error| {
            let proxy = job.proxies.of(error.url().unwrap_or(&job.url));
            AttemptOutcome::of_request(&error, job.fetch.connect_timeout, proxy)
        })
    }

    /// The whole file is asked for without a range: some servers can't do otherwise.
    fn asks_range(&self, claim: &Range<u64>) -> bool {
        claim.start > 0 || claim.end < self.board.size().unwrap_or(u64::MAX)
    }

    fn check_status(&self, response: &Response, claim: &Range<u64>) -> Result<ResponseHead, AttemptOutcome> {
        let (status, headers) = (response.status(), response.headers());
        match status {
            StatusCode::OK => {}
            StatusCode::PARTIAL_CONTENT if self.asks_range(claim) => {}
            // An empty file has no first byte; for another one, something is wrong with its ranges.
            StatusCode::RANGE_NOT_SATISFIABLE if claim.start == 0 && self.board.done_bytes() == 0 => {
                return Err(AttemptOutcome::NoRanges(format!("the server answers {status}")));
            }
            StatusCode::RANGE_NOT_SATISFIABLE => {
                return Err(AttemptOutcome::Changed(format!("it has no byte {} any more ({status})", claim.start)));
            }
            _ => return Err(AttemptOutcome::of_status(status, headers)),
        }
        let head = ResponseHead::of(response).map_err(AttemptOutcome::NoRanges)?;
        match head.encoding {
            Some(encoding) if !self.job.fetch.keep_encoding => Err(AttemptOutcome::Encoded(encoding)),
            _ => Ok(head),
        }
    }

    /// Believes the first answer, if it fits the received bytes, and tells the other workers.
    fn adopt(&self, head: ResponseHead, response: &Response, claim: &Range<u64>) -> Result<Range<u64>, AttemptOutcome> {
        if self.board.done_bytes() > 0 || claim.start > 0 {
            self.check_resumed(&head)?;
        }
        if head.partial {
            check_range(&head, claim)?;
            if head.validator.is_none() || head.size_bytes.is_none() {
                return Err(AttemptOutcome::NoRanges("the server tells no strong ETag, no Last-Modified or no size".to_owned()));
            }
        }
        let range = head.range.clone();
        self.sink.adopt(head.validator.as_ref(), head.size_bytes).map_err(AttemptOutcome::Local)?;
        self.job.tell(FetchEvent::Started { size_bytes: head.size_bytes, resumed_bytes: self.board.done_bytes() });
        let _ = self.source.set(RemoteFile { head, url: response.url().clone() });
        Ok(range)
    }

    fn check_resumed(&self, head: &ResponseHead) -> Result<(), AttemptOutcome> {
        let same = self.resumed.as_ref().is_some_and(|validator| head.is_same(validator));
        match (same, head.partial) {
            (false, _) => Err(AttemptOutcome::Changed("it has another ETag or Last-Modified".to_owned())),
            (true, false) => Err(AttemptOutcome::NoRanges("the server answers 200 to a range".to_owned())),
            (true, true) if self.board.size().is_some_and(|size| head.size_bytes != Some(size)) => {
                Err(AttemptOutcome::Changed("it has another size".to_owned()))
            }
            (true, true) => Ok(()),
        }
    }

    async fn chunk(&self, response: &mut Response) -> Result<Option<Bytes>, AttemptOutcome> {
        let chunk = self.job.patiently(self.job.fetch.idle_timeout, response.chunk()).await?;
        chunk.map_err(|error| AttemptOutcome::of_body(&error))
    }

    async fn write(&self, at: u64, bytes: &Bytes) -> Result<(), AttemptOutcome> {
        let job = self.job;
        let end = at + bytes.len() as u64;
        let start = Instant::now();
        self.sink.write(at, bytes).map_err(AttemptOutcome::Local)?;
        self.board.add(at..end);
        job.received_bytes.set(job.received_bytes.get() + (end - at));
        job.tries.borrow_mut().received(job.received_bytes.get());
        job.blocked.set(job.blocked.get() + start.elapsed());
        for stretch in bytes.chunks(THROTTLE_BYTES) {
            let start = Instant::now();
            job.control.stored(stretch.len() as u64);
            let slept = start.elapsed();
            if slept > Duration::from_millis(1) {
                job.blocked.set(job.blocked.get() + slept);
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }
}

/// The part of the claim that a later answer has, if it is about the same file.
fn check_piece(head: &ResponseHead, source: &RemoteFile, claim: &Range<u64>) -> Result<Range<u64>, AttemptOutcome> {
    if !source.head.validator.as_ref().is_some_and(|validator| head.is_same(validator)) {
        return Err(AttemptOutcome::Changed("it has another ETag or Last-Modified".to_owned()));
    }
    if !head.partial && (claim.start > 0 || source.head.partial) {
        return Err(AttemptOutcome::NoRanges("the server answers 200 to a range".to_owned()));
    }
    if head.size_bytes != source.head.size_bytes && head.size_bytes.is_some() && source.head.size_bytes.is_some() {
        return Err(AttemptOutcome::Changed("it has another size".to_owned()));
    }
    if head.partial {
        check_range(head, claim)?;
    }
    Ok(head.range.clone())
}

/// A server may give less than was asked for, but nothing else.
fn check_range(head: &ResponseHead, claim: &Range<u64>) -> Result<(), AttemptOutcome> {
    if head.range.start == claim.start && head.range.end <= claim.end {
        return Ok(());
    }
    let (asked, given) = (claim.start, &head.range);
    Err(AttemptOutcome::NoRanges(format!("asked from byte {asked}, the server gives {} to {}", given.start, given.end - 1)))
}
