//! Any failure at any call: the run returns, names its input, has handed over the bytes before it,
//! and every buffer comes home.

use crate::common::{KeepBytes, KeepLines, Outcome, Pieces, Seen, Setup, TIME_MAX, split};
use rorqual_pipe::limits::{BLOCK_BYTES, buffers_needed};
use rorqual_pipe::{BlockSource, BufferPool, Chunk, Control, Error, ErrorClass, FilledBlock, Framing, Input, Stage, run};
use rorqual_testkit::fault::{FaultPlan, FaultyIo};
use rorqual_testkit::paths::{gzip, zstd_frame};
use rorqual_testkit::process::in_time;
use std::fs::File;
use std::io::{Cursor, ErrorKind, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Lines of different lengths, `length` bytes in all.
fn text(length: usize) -> Vec<u8> {
    let lines = (0u64..).flat_map(|n| format!("{n:0width$}\n", width = (n % 61) as usize).into_bytes());
    lines.take(length).collect()
}

fn lines_of(outcome: &Outcome<Vec<Seen>>) -> Vec<Seen> {
    outcome.outputs.concat()
}

#[test]
fn a_reader_that_fails_at_every_call() {
    let bytes = text(2_000);
    for for_ever in [false, true] {
        for at in 0.. {
            let fault = FaultPlan::new(at, for_ever, ErrorKind::ConnectionReset);
            let reader = FaultyIo::new(Cursor::new(bytes.clone()), 37, &fault);
            let outcome = Setup::lines(50, 2).run(|_| Input::from_reader("the name", Box::new(reader)), || KeepLines);
            if !fault.reached() {
                assert!(outcome.error.is_none());
                break;
            }
            let before = (at as usize * 37).min(bytes.len());
            assert_eq!(lines_of(&outcome), split(&bytes[..before], 50), "call {at}");
            let error = outcome.error.expect("the fault was reached");
            assert_eq!((error.kind(), error.name(), error.offset()), (ErrorClass::Io, "the name", Some(before as u64)));
            assert!(error.to_string().contains("the name: cannot read"), "{error}");
        }
    }
}

#[test]
fn an_interrupted_read_is_read_again() {
    let bytes = text(2_000);
    for at in 0.. {
        let fault = FaultPlan::new(at, false, ErrorKind::Interrupted);
        let reader = FaultyIo::new(Cursor::new(bytes.clone()), 37, &fault);
        let seen = Setup::lines(50, 2).lines_of(|_| Input::from_reader("the name", Box::new(reader)));
        assert_eq!(seen, split(&bytes, 50), "call {at}");
        if !fault.reached() {
            break;
        }
    }
}

#[test]
fn a_reader_under_a_decoder_that_fails_at_every_call() {
    let bytes = text(60_000);
    for stored in [gzip(&bytes), zstd_frame(&bytes)] {
        for at in 0.. {
            let fault = FaultPlan::new(at, true, ErrorKind::ConnectionReset);
            let reader = FaultyIo::new(Cursor::new(stored.clone()), 500, &fault);
            let outcome = Setup::bytes(2).run(|_| Input::from_reader("the name", Box::new(reader)), || KeepBytes);
            let got: Vec<u8> = outcome.outputs.into_iter().flat_map(|(_, bytes)| bytes).collect();
            assert!(bytes.starts_with(&got), "call {at}");
            if !fault.reached() {
                assert!(outcome.error.is_none() && got == bytes);
                break;
            }
            let error = outcome.error.expect("the fault was reached");
            assert!(error.to_string().starts_with("the name: cannot read"), "the cause comes through the decoder: {error}");
        }
    }
}

#[test]
fn a_source_that_fails_at_every_block() {
    let bytes = text(1_000);
    for piece_bytes in [1, 64, 333] {
        for at in 0..=bytes.len().div_ceil(piece_bytes) {
            let setup = Setup::lines(20, 2).with_buffers(3);
            let given = bytes.clone();
            let input = move |pool: &BufferPool| {
                let error = Error::new(ErrorClass::Io, "the name", "the fault of this test");
                let source = Pieces::new(&given, piece_bytes, setup.headroom(), pool).failing_after(at, error);
                Input::from_source("the name", Box::new(source))
            };
            let outcome = setup.run(input, || KeepLines);
            let before = (at * piece_bytes).min(bytes.len());
            assert_eq!(lines_of(&outcome), split(&bytes[..before], 20), "block {at} of {piece_bytes}");
            let error = outcome.error.expect("it fails in any case");
            assert_eq!((error.name(), error.offset()), ("the name", Some(before as u64)));
        }
    }
}

/// A sink that fails at one call: as the one of `--rejects` on a full disk.
fn run_into_failing_sink(
    input: impl FnOnce(&BufferPool) -> Input + Send + 'static,
    threads: usize,
    fault: &FaultPlan,
) -> (Vec<u64>, Option<Error>) {
    let fault = fault.clone();
    in_time(TIME_MAX, move || {
        let setup = Setup::lines(100, threads);
        let pool = setup.pool();
        let mut taken = Vec::new();
        let sink = |lines: Vec<Seen>| {
            fault.call().map_err(|cause| Error::io("the sink", "cannot write", cause))?;
            taken.extend(lines.iter().map(|line| line.offset));
            Ok(())
        };
        let stages = |_: &[u8]| Some((0..threads).map(|_| KeepLines).collect());
        let finish = run(input(&pool), &setup.plan(), &pool, &Control::default(), stages, sink);
        assert_eq!(pool.lent(), 0, "every buffer comes home");
        (taken, finish.error)
    })
}

#[test]
fn a_sink_that_fails_at_every_output() {
    let bytes = text(9 * BLOCK_BYTES + 5);
    let offsets: Vec<u64> = split(&bytes, 100).iter().map(|line| line.offset).collect();
    let file = stored(&bytes);
    for threads in [1, 3] {
        for is_file in [true, false] {
            for at in 0.. {
                let (path, copy) = (file.path().to_owned(), bytes.clone());
                let input = move |_: &BufferPool| match is_file {
                    true => Input::open(&path).expect("it is there"),
                    false => Input::from_reader("stream", Box::new(Cursor::new(copy))),
                };
                let fault = FaultPlan::new(at, true, ErrorKind::StorageFull);
                let (taken, error) = run_into_failing_sink(input, threads, &fault);
                assert_eq!(taken, offsets[..taken.len()], "in order, nothing missing");
                if !fault.reached() {
                    assert_eq!((taken.len(), error.is_none()), (offsets.len(), true));
                    break;
                }
                assert!(error.expect("the fault was reached").to_string().starts_with("the sink: cannot write"));
            }
        }
    }
}

fn stored(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room on the disk");
    file
}

/// Fails or panics at one chunk.
struct Frail {
    fault: FaultPlan,
    panics: bool,
}

impl Stage for Frail {
    type Output = u64;

    fn chunk(&mut self, chunk: &Chunk) -> Result<u64, Error> {
        match self.fault.call() {
            Ok(()) => Ok(chunk.offset),
            Err(_) if self.panics => panic!("the panic of this test"),
            Err(cause) => Err(Error::io("the stage", "cannot work", cause)),
        }
    }
}

/// Runs `bytes` through frail stages with the fewest buffers that work.
fn run_frail(bytes: &[u8], is_file: bool, threads: usize, fault: &FaultPlan, panics: bool) -> std::thread::Result<Option<Error>> {
    let (file, copy, fault) = (stored(bytes), bytes.to_vec(), fault.clone());
    in_time(TIME_MAX, move || {
        let input = match is_file {
            true => Input::open(file.path()).expect("it is there"),
            false => Input::from_reader("stream", Box::new(Cursor::new(copy))),
        };
        let setup = Setup::bytes(threads).with_buffers(3);
        let pool = setup.pool();
        let stages = |_: &[u8]| Some((0..threads).map(|_| Frail { fault: fault.clone(), panics }).collect());
        let work = || run(input, &setup.plan(), &pool, &Control::default(), stages, |_| Ok(())).error;
        let result = catch_unwind(AssertUnwindSafe(work));
        assert_eq!(pool.lent(), 0, "every buffer comes home");
        result
    })
}

#[test]
fn a_stage_that_fails_at_every_chunk() {
    let bytes = text(6 * BLOCK_BYTES);
    for (threads, is_file) in [(1, true), (1, false), (4, true), (4, false)] {
        for at in 0.. {
            let fault = FaultPlan::new(at, false, ErrorKind::Other);
            let error = run_frail(&bytes, is_file, threads, &fault, false).expect("no panic");
            assert_eq!(error.is_some(), fault.reached());
            if !fault.reached() {
                break;
            }
        }
    }
}

#[test]
fn a_stage_that_panics_at_every_chunk_ends_the_run_with_its_panic() {
    let bytes = text(6 * BLOCK_BYTES);
    for (threads, is_file) in [(1, true), (1, false), (4, true), (4, false)] {
        for at in 0.. {
            let fault = FaultPlan::new(at, false, ErrorKind::Other);
            let result = run_frail(&bytes, is_file, threads, &fault, true);
            assert_eq!(result.is_err(), fault.reached(), "chunk {at}, {threads} threads, file: {is_file}");
            if !fault.reached() {
                break;
            }
        }
    }
}

/// Holds the chunk before the end of a shrunken file back until the shorter one after it was seen.
struct Slow {
    held_offset: u64,
    seen: Arc<AtomicBool>,
}

impl Stage for Slow {
    type Output = (u64, u64);

    fn chunk(&mut self, chunk: &Chunk) -> Result<(u64, u64), Error> {
        if chunk.offset > self.held_offset {
            self.seen.store(true, Ordering::SeqCst);
        }
        if chunk.offset == self.held_offset {
            let deadline = Instant::now() + Duration::from_secs(5);
            while !self.seen.load(Ordering::SeqCst) && Instant::now() < deadline {
                std::thread::yield_now();
            }
            // Time for the fault to take its wrong way; the right way does not depend on it.
            std::thread::sleep(Duration::from_millis(30));
        }
        Ok((chunk.offset, chunk.zeros + chunk.bytes.len() as u64))
    }
}

#[test]
fn everything_before_the_end_of_a_shrunken_file_is_handed_over_and_nothing_more() {
    // The second size leaves no block half read: the missing bytes must not be taken for a hole.
    for (size, threads) in [4 * BLOCK_BYTES + 1_000, 4 * BLOCK_BYTES].into_iter().flat_map(|size| [1, 2, 4].map(|n| (size, n))) {
        let file = stored(&text(8 * BLOCK_BYTES));
        let path = file.path().to_owned();
        let shrunken = move |_: &BufferPool| {
            let input = Input::open(&path).expect("it is there");
            File::options().write(true).open(&path).and_then(|file| file.set_len(size as u64)).expect("it is ours");
            input
        };
        let seen = Arc::new(AtomicBool::new(threads == 1));
        let stage = move || Slow { held_offset: 3 * BLOCK_BYTES as u64, seen: Arc::clone(&seen) };
        let outcome = Setup::bytes(threads).run(shrunken, stage);
        let error = outcome.error.expect("it shrank");
        assert_eq!((error.kind(), error.offset()), (ErrorClass::Truncated, Some(size as u64)), "{threads} threads: {error}");
        assert!(error.to_string().contains("shrank"), "{error}");
        let bytes: u64 = outcome.outputs.iter().map(|(_, length)| length).sum();
        assert_eq!(bytes, size as u64, "{threads} threads: {:?}", outcome.outputs);
    }
}

/// Keeps its chunks' buffers alive in its outputs, as `--rejects` does.
struct Holder;

impl Stage for Holder {
    type Output = bytes::Bytes;

    fn chunk(&mut self, chunk: &Chunk) -> Result<bytes::Bytes, Error> {
        Ok(chunk.bytes.clone())
    }
}

#[test]
fn outputs_that_hold_buffers_never_starve_the_run() {
    let bytes = text(20 * BLOCK_BYTES + 7);
    for threads in [1, 2, 4] {
        for (is_file, buffers) in [(true, 1), (true, buffers_needed(threads)), (false, 3), (false, buffers_needed(threads))] {
            let (file, copy) = (stored(&bytes), bytes.clone());
            let input = move |_: &BufferPool| match is_file {
                true => Input::open(file.path()).expect("it is there"),
                false => Input::from_reader("stream", Box::new(Cursor::new(copy))),
            };
            let written = run_to_writer(input, Setup::lines(100, threads).with_buffers(buffers));
            assert!(written == bytes, "{threads} threads, {buffers} buffers, file: {is_file}");
        }
    }
}

fn run_to_writer(input: impl FnOnce(&BufferPool) -> Input + Send + 'static, setup: Setup) -> Vec<u8> {
    in_time(TIME_MAX, move || {
        let pool = setup.pool();
        let mut written = Vec::new();
        let sink = |bytes: bytes::Bytes| {
            written.extend_from_slice(&bytes);
            Ok(())
        };
        let stages = |_: &[u8]| Some((0..setup.threads).map(|_| Holder).collect());
        let finish = run(input(&pool), &setup.plan(), &pool, &Control::default(), stages, sink);
        assert!(finish.error.is_none() && pool.lent() == 0);
        written
    })
}

#[test]
fn a_run_that_is_stopped_ends() {
    for is_file in [true, false] {
        let control = Control::default();
        let steering = control.clone();
        let file = stored(&text(30 * BLOCK_BYTES));
        let input = match is_file {
            true => Input::open(file.path()).expect("it is there"),
            false => Input::from_reader("endless", Box::new(std::io::repeat(b'\n'))),
        };
        let chunks = in_time(TIME_MAX, move || {
            let setup = Setup { framing: Framing::Bytes, threads: 2, buffers: 9 };
            let (pool, chunks) = (setup.pool(), AtomicU64::new(0));
            let offsets = Mutex::new(Vec::new());
            let sink = |(offset, _)| {
                offsets.lock().expect("no panic").push(offset);
                if chunks.fetch_add(1, Ordering::Relaxed) == 4 {
                    steering.stop();
                }
                Ok(())
            };
            let finish = run(input, &setup.plan(), &pool, &control, |_| Some(vec![KeepBytes, KeepBytes]), sink);
            assert!(finish.error.is_none() && pool.lent() == 0);
            chunks.into_inner()
        });
        assert!((5..30).contains(&chunks), "{chunks} chunks");
    }
}

/// Tells when it is idle.
struct Drowsy {
    idle: Arc<AtomicU64>,
    own: u64,
}

impl Stage for Drowsy {
    type Output = ();

    fn chunk(&mut self, _: &Chunk) -> Result<(), Error> {
        Ok(())
    }

    fn idle(&mut self) {
        self.idle.fetch_or(self.own, Ordering::SeqCst);
    }
}

/// Gives newlines once, and nothing more until every stage has been idle.
struct Silent {
    idle: Arc<AtomicU64>,
    wanted: u64,
    given: bool,
}

impl std::io::Read for Silent {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if !std::mem::replace(&mut self.given, true) {
            // Enough to tell that it is not compressed.
            buffer.fill(b'\n');
            return Ok(buffer.len());
        }
        let deadline = Instant::now() + TIME_MAX / 2;
        while self.idle.load(Ordering::SeqCst) != self.wanted {
            assert!(Instant::now() < deadline, "a stage was never idle");
            std::thread::yield_now();
        }
        Ok(0)
    }
}

#[test]
fn every_stage_of_a_silent_stream_is_told_that_it_is_idle() {
    for threads in 1..=4usize {
        let (idle, next) = (Arc::new(AtomicU64::new(0)), AtomicU64::new(0));
        let reader = Silent { idle: Arc::clone(&idle), wanted: (1 << threads) - 1, given: false };
        // One block a read: the source hands on all that it has.
        let stage = move || Drowsy { idle: Arc::clone(&idle), own: 1 << next.fetch_add(1, Ordering::SeqCst) };
        let outcome = Setup::bytes(threads)
            .run(|pool| Input::from_source("silent", Box::new(Blockwise { reader, pool: pool.clone() })), stage);
        assert!(outcome.error.is_none());
    }
}

/// Every read a block of its own, as an upload that trickles.
struct Blockwise<R> {
    reader: R,
    pool: BufferPool,
}

impl<R: std::io::Read + Send> BlockSource for Blockwise<R> {
    fn next_block(&mut self) -> Result<Option<FilledBlock>, Error> {
        let mut lease = self.pool.lease().expect("the system has memory for a test");
        let read = self.reader.read(&mut lease[..4]).expect("it does not fail");
        Ok((read > 0).then_some(FilledBlock { lease, range: 0..read }))
    }
}
