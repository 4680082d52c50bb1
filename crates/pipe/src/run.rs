//! Joins an input, stages on threads, and a sink. The only place that starts threads.

use crate::chunk::{Chunk, Framing, RunPlan};
use crate::control::Control;
use crate::error::Error;
use crate::file::SharedFile;
use crate::input::{Input, InputBody};
use crate::limits::{BLOCK_BYTES, IDLE_AFTER, QUEUE_PER_WORKER, WINDOW_PER_WORKER};
use crate::pool::BufferPool;
use crate::reorder_buffer::ReorderBuffer;
use crate::resumable_run::ResumableRun;
use crate::splitter::Splitter;
use crate::stream::ResumePoint;
use bytes::Bytes;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use scopeguard::ScopeGuard;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::Duration;

/// One worker's work. There is one stage a thread, so a stage needs no lock of its own.
pub trait Stage: Send {
    /// Output of a chunk; given to the sink in the order of the input.
    type Output: Send;

    /// Takes one chunk. A stage sees some of the chunks, in ascending order.
    ///
    /// # Errors
    /// An error ends the run.
    fn chunk(&mut self, chunk: &Chunk) -> Result<Self::Output, Error>;

    /// Called when a stream has given this worker nothing for [`IDLE_AFTER`]: the time to show its
    /// state to others.
    fn idle(&mut self) {}
}

/// End of a run. The stages come back in any case, with all that they gathered.
#[derive(Debug)]
pub struct Finish<S> {
    /// The stages, in the order in which they were given.
    pub stages: Vec<S>,
    /// The error that ended the run early; everything before it was handed to the stages.
    pub error: Option<Error>,
}

/// Runs `input` through stages, one thread each, and their outputs in order through `sink`.
///
/// `start` is given the first bytes of the decoded input (at most one block, empty for an empty
/// input) and makes the stages, so that they can depend on them; `None` ends the run before it
/// began. The pool's buffers must be at least [`crate::limits::buffer_bytes`] of the line limit,
/// and there should be [`crate::limits::buffers_needed`] of them (fewer work down to three, with
/// less overlap).
pub fn run<S: Stage>(
    input: Input,
    plan: &RunPlan,
    pool: &BufferPool,
    control: &Control,
    start: impl FnOnce(&[u8]) -> Option<Vec<S>>,
    sink: impl FnMut(S::Output) -> Result<(), Error> + Send,
) -> Finish<S> {
    run_with(input, plan, None, pool, control, start, sink)
}

/// The same as [`run`], with records that `splitter` finds; the plan's framing is
/// [`Framing::Records`]. Since a splitter sees everything in order, a file is read by one reader
/// too.
pub fn run_records<S: Stage>(
    input: Input,
    splitter: Box<dyn Splitter>,
    plan: &RunPlan,
    pool: &BufferPool,
    control: &Control,
    start: impl FnOnce(&[u8]) -> Option<Vec<S>>,
    sink: impl FnMut(S::Output) -> Result<(), Error> + Send,
) -> Finish<S> {
    debug_assert!(matches!(plan.framing, Framing::Records { .. }), "a splitter for something else than records");
    run_with(input.sequential(), plan, Some(splitter), pool, control, start, sink)
}

fn run_with<S: Stage>(
    input: Input,
    plan: &RunPlan,
    splitter: Option<Box<dyn Splitter>>,
    pool: &BufferPool,
    control: &Control,
    start: impl FnOnce(&[u8]) -> Option<Vec<S>>,
    sink: impl FnMut(S::Output) -> Result<(), Error> + Send,
) -> Finish<S> {
    let headroom = plan.framing.headroom();
    debug_assert!(pool.buffer_bytes() >= headroom + BLOCK_BYTES, "buffers are too small for the line limit");
    if let InputBody::File { file, size_bytes } = input.body {
        let file = SharedFile::new(file, input.name, size_bytes, plan.framing, control.clone());
        let file = file.within(input.range.unwrap_or(0..size_bytes));
        let first = if input.after_long { file.first_stretch_after_long(pool) } else { file.first_stretch(pool) };
        return run_file(&file, first, pool, control, start, sink);
    }
    let place = ResumePoint { offset: input.range.as_ref().map_or(0, |range| range.start), skipping: false };
    ResumableRun::of(input, splitter, plan, pool, control).from(place).run(control, start, sink)
}

/// Remembers the error that is nearest to the start of the input, and tells everyone to stop.
pub(crate) struct FirstFailure<'a> {
    first: Mutex<Option<Error>>,
    stop: AtomicBool,
    control: &'a Control,
}

impl<'a> FirstFailure<'a> {
    pub(crate) fn new(control: &'a Control) -> Self {
        Self { first: Mutex::new(None), stop: AtomicBool::new(false), control }
    }

    pub(crate) fn set(&self, error: Error) {
        self.stop.store(true, Ordering::Relaxed);
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        // Workers meet the end of a shrunken file in several blocks; the first of these is where it
        // ends.
        let offsets = first.as_ref().and_then(Error::offset).zip(error.offset());
        if first.is_none() || offsets.is_some_and(|(known, new)| new < known) {
            *first = Some(error);
        }
    }

    pub(crate) fn stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.control.stopped()
    }

    /// An error that came with the end of the input; no reason to leave the bytes before it.
    pub(crate) fn at_end(&self, error: Error) {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    pub(crate) fn into_inner(self) -> Option<Error> {
        self.first.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives a chunk to the stage and its output to the sequence; `false` ends the worker.
fn work<S, F>(
    stage: &mut S,
    number: u64,
    chunk: &Chunk,
    sequence: &ReorderBuffer<S::Output, F>,
    failure: &FirstFailure<'_>,
) -> bool
where
    S: Stage,
    F: FnMut(S::Output) -> Result<(), Error>,
{
    let submitted = match stage.chunk(chunk) {
        Ok(output) => sequence.submit(number, output),
        Err(error) => Err(Err(error)),
    };
    match submitted {
        Ok(()) => return true,
        Err(Ok(_aborted)) => {}
        Err(Err(error)) => failure.set(error),
    }
    sequence.abort();
    false
}

/// Works on the chunks of a stream, one stage a thread, and gives the outputs to `sink` in order.
pub(crate) fn run_beside<S: Stage>(
    stages: &mut [S],
    chunks: impl Iterator<Item = Chunk>,
    sink: impl FnMut(S::Output) -> Result<(), Error> + Send,
    failure: &FirstFailure<'_>,
) {
    let threads = stages.len();
    let sequence = ReorderBuffer::new(threads * WINDOW_PER_WORKER, sink);
    std::thread::scope(|scope| {
        // Made here, so that a panic of the reader closes it before the workers are waited for.
        let (giver, taker) = bounded(threads * QUEUE_PER_WORKER);
        // Without workers it drops the waiting chunks: the reader may wait for their buffers.
        for (stage, taker) in stages.iter_mut().zip(std::iter::repeat_n(taker, threads)) {
            let sequence = &sequence;
            scope.spawn(move || {
                // A panic must not leave the others waiting for this worker's number.
                let guard = scopeguard::guard(sequence, ReorderBuffer::abort);
                loop {
                    match taker.recv_timeout(IDLE_AFTER) {
                        Ok((number, chunk)) if !work(stage, number, &chunk, sequence, failure) => return,
                        Ok(_) => {}
                        Err(RecvTimeoutError::Timeout) => stage.idle(),
                        Err(RecvTimeoutError::Disconnected) => break,
                    }
                }
                ScopeGuard::into_inner(guard);
            });
        }
        for (number, chunk) in (0..).zip(chunks) {
            let chunk = Chunk { number, ..chunk };
            if giver.send((number, chunk)).is_err() || failure.stopping() {
                break;
            }
        }
    });
}

fn run_file<S: Stage>(
    file: &SharedFile,
    first: Result<Bytes, Error>,
    pool: &BufferPool,
    control: &Control,
    start: impl FnOnce(&[u8]) -> Option<Vec<S>>,
    sink: impl FnMut(S::Output) -> Result<(), Error> + Send,
) -> Finish<S> {
    let failure = FirstFailure::new(control);
    let stages = match first {
        Ok(first) => start(&first),
        Err(error) => return Finish { stages: Vec::new(), error: Some(error) },
    };
    let Some(mut stages) = stages else {
        return Finish { stages: Vec::new(), error: None };
    };
    let sequence = ReorderBuffer::new(stages.len() * WINDOW_PER_WORKER, sink);
    // One worker is this thread: starting another would cost more than reading a small file.
    if let [stage] = &mut stages[..] {
        if let Err(error) = file_worker(file, pool, stage, &sequence, &failure) {
            failure.set(error);
        }
        return Finish { stages, error: failure.into_inner() };
    }
    std::thread::scope(|scope| {
        for stage in &mut stages {
            let (sequence, failure) = (&sequence, &failure);
            scope.spawn(move || {
                let guard = scopeguard::guard(sequence, ReorderBuffer::abort);
                if let Err(error) = file_worker(file, pool, stage, sequence, failure) {
                    failure.set(error);
                }
                // No abort after an error: the numbers before it are with other workers, and still
                // to come.
                ScopeGuard::into_inner(guard);
            });
        }
    });
    Finish { stages, error: failure.into_inner() }
}

fn file_worker<S, F>(
    file: &SharedFile,
    pool: &BufferPool,
    stage: &mut S,
    sequence: &ReorderBuffer<S::Output, F>,
    failure: &FirstFailure<'_>,
) -> Result<(), Error>
where
    S: Stage,
    F: FnMut(S::Output) -> Result<(), Error>,
{
    while !failure.stopping() {
        // The lease comes before the claim: the worker with the lowest number then never waits for
        // a buffer.
        let lease = pool.lease().map_err(|cause| Error::io(&file.name, "no memory for a block", cause))?;
        let Some(claim) = file.claim() else { break };
        let (chunk, error) = file.chunk(&claim, lease);
        let chunk = Chunk { number: claim.number, ..chunk };
        if !work(stage, claim.number, &chunk, sequence, failure) {
            break;
        }
        if let Some(error) = error {
            return Err(error);
        }
    }
    Ok(())
}

/// Works on items side by side, one worker a thread, and gives the outputs to `sink` in the order
/// of the items. With one worker, no thread is started.
///
/// # Errors
/// The first error of the sink; items that were not begun by then are left.
pub fn each<T: Send, W: Send, O: Send>(
    items: impl Iterator<Item = T> + Send,
    workers: &mut [W],
    work: impl Fn(&mut W, T) -> O + Sync,
    sink: impl FnMut(O) -> Result<(), Error> + Send,
) -> Result<(), Error> {
    if let [worker] = workers {
        return items.map(|item| work(worker, item)).try_for_each(sink);
    }
    let sequence = ReorderBuffer::new(workers.len() * WINDOW_PER_WORKER, sink);
    // Fused: each worker asks once more after the end.
    let items = Mutex::new((0..).zip(items.fuse()));
    let failed = Mutex::new(None);
    std::thread::scope(|scope| {
        for worker in workers {
            let (items, sequence, failed, work) = (&items, &sequence, &failed, &work);
            scope.spawn(move || {
                let guard = scopeguard::guard(sequence, ReorderBuffer::abort);
                loop {
                    let next = items.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((number, item)) = next else { break };
                    match sequence.submit(number, work(worker, item)) {
                        Ok(()) => {}
                        Err(Ok(_aborted)) => break,
                        Err(Err(error)) => {
                            *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                            break;
                        }
                    }
                }
                ScopeGuard::into_inner(guard);
            });
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Items that a thread makes beside this one, in order, at most `depth` ahead of it.
#[derive(Debug)]
pub struct Background<T> {
    made: Option<Receiver<T>>,
    thread: Option<JoinHandle<()>>,
}

/// Runs `work` beside this thread. An item that it sends waits until there is room, and fails once
/// nobody wants more: dropping the iterator ends it.
pub fn beside<T: Send + 'static>(depth: usize, work: impl FnOnce(Sender<T>) + Send + 'static) -> Background<T> {
    let (give, made) = bounded(depth);
    Background { made: Some(made), thread: Some(std::thread::spawn(move || work(give))) }
}

impl<T> Background<T> {
    /// The next item, or [`Poll::Pending`] when there is none within `patience`. A panic of the
    /// thread is resumed here.
    pub fn wait(&mut self, patience: Duration) -> Poll<Option<T>> {
        let Some(made) = &self.made else { return Poll::Ready(None) };
        match made.recv_timeout(patience) {
            Ok(item) => Poll::Ready(Some(item)),
            Err(RecvTimeoutError::Timeout) => Poll::Pending,
            Err(RecvTimeoutError::Disconnected) => Poll::Ready(self.next()),
        }
    }
}

impl<T> Iterator for Background<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let made = self.made.as_ref()?.recv().ok();
        if made.is_none()
            && let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
        {
            // The items are not all.
            std::panic::resume_unwind(panic);
        }
        made
    }
}

impl<T> Drop for Background<T> {
    fn drop(&mut self) {
        self.made = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was reported there.
            let _ = thread.join();
        }
    }
}

/// Something that looks at the process every so often, until it is dropped.
#[derive(Debug)]
pub struct ProcessWatch {
    ended: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Calls `look` again and again, with a pause of `every`.
pub fn watch(every: Duration, mut look: impl FnMut() + Send + 'static) -> ProcessWatch {
    let (ended, end) = bounded(0);
    let thread = std::thread::spawn(move || {
        while end.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            look();
        }
    });
    ProcessWatch { ended: Some(ended), thread: Some(thread) }
}

impl Drop for ProcessWatch {
    fn drop(&mut self) {
        self.ended = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
