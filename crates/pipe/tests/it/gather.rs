//! The gather sink writes all that it was given, whatever part of it each write takes.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use rorqual_pipe::BufferPool;
use rorqual_pipe::gather::{COPY_BYTES_MAX, Gather, GatherSettings, OutputFd};
use rorqual_pipe::{Control, Sink};
use rorqual_testkit::fault::{FaultPlan, FaultyIo};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;

const SMALL_BYTES: usize = 64 << 10;

fn piece() -> impl Strategy<Value = Vec<u8>> {
    let length = prop_oneof![4 => 0usize..40, 1 => COPY_BYTES_MAX - 1..=COPY_BYTES_MAX + 1, 1 => 0..3 * COPY_BYTES_MAX];
    (length, any::<u8>()).prop_map(|(length, byte)| vec![byte; length])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn writes_what_it_was_given(pieces in vec(piece(), 0..60), write_bytes in prop_oneof![Just(1usize), Just(100), 1usize..100_000], interrupted_at in 0u64..50) {
        let pool = BufferPool::new(SMALL_BYTES, 1);
        let fault = FaultPlan::new(interrupted_at, false, ErrorKind::Interrupted);
        let mut gather = Gather::new(FaultyIo::new(Vec::new(), write_bytes, &fault), &pool).unwrap();
        for piece in &pieces {
            gather.push(Bytes::from(piece.clone())).unwrap();
        }
        let shared: usize = pieces.iter().map(Vec::len).filter(|length| *length > COPY_BYTES_MAX).sum();
        let stats = gather.stats();
        prop_assert_eq!(stats.pieces, pieces.len() as u64);
        prop_assert_eq!(stats.shared_bytes, shared as u64, "large pieces are pointed at");
        prop_assert_eq!(stats.copied_bytes + stats.shared_bytes, pieces.iter().map(Vec::len).sum::<usize>() as u64);
        prop_assert!(gather.finish().unwrap().into_inner() == pieces.concat());
        prop_assert_eq!(pool.lent(), 0);
    }
}

/// Remembers where the bytes that it is given lie.
#[derive(Default)]
struct Places(Vec<(usize, usize)>);

impl Write for Places {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.push((bytes.as_ptr() as usize, bytes.len()));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_large_piece_leaves_from_where_it_is() {
    let pool = BufferPool::new(SMALL_BYTES, 1);
    let piece = Bytes::from(vec![7; COPY_BYTES_MAX + 1]);
    let place = (piece.as_ptr() as usize, piece.len());
    let mut gather = Gather::new(Places::default(), &pool).unwrap();
    gather.push(piece).unwrap();
    assert_eq!(gather.finish().unwrap().0, [place]);
}

#[test]
fn more_small_bytes_than_the_buffer_holds_and_more_pieces_than_a_call_takes() {
    let pool = BufferPool::new(SMALL_BYTES, 1);
    let mut gather = Gather::new(Vec::new(), &pool).unwrap();
    let mut expected = Vec::new();
    for number in 0u32..3_000 {
        let length = if number % 2 == 0 { COPY_BYTES_MAX + 1 } else { 50 };
        let piece = vec![number as u8; length];
        expected.extend_from_slice(&piece);
        gather.push(piece.into()).unwrap();
    }
    gather.push_copy(&vec![b'-'; 3 * SMALL_BYTES]).unwrap();
    expected.resize(expected.len() + 3 * SMALL_BYTES, b'-');
    let writes = gather.stats().writes;
    assert!(gather.finish().unwrap() == expected);
    assert!(writes < 60, "3,000 pieces took {writes} writes");
}

#[test]
fn a_failing_writer_at_every_call() {
    for kind in [ErrorKind::BrokenPipe, ErrorKind::StorageFull, ErrorKind::WriteZero] {
        for at in 0.. {
            let pool = BufferPool::new(SMALL_BYTES, 4);
            let fault = FaultPlan::new(at, true, kind);
            let mut written = Vec::new();
            let result = push_all(FaultyIo::new(&mut written, 5_000, &fault), &pool);
            assert_eq!(pool.lent(), 0, "every buffer comes home");
            assert!(given().concat().starts_with(&written));
            if !fault.reached() {
                result.unwrap();
                assert_eq!(written.len(), given().concat().len());
                break;
            }
            assert_eq!(result.unwrap_err().kind(), kind, "call {at}");
        }
    }
}

fn given() -> Vec<Vec<u8>> {
    (0u8..20).map(|number| vec![number; usize::from(number) * 700]).collect()
}

/// Pushes pieces that lie in buffers of the pool, as those of a run do.
fn push_all<W: Write>(writer: W, pool: &BufferPool) -> std::io::Result<()> {
    let mut gather = Gather::new(writer, pool)?;
    for piece in given() {
        let mut lease = pool.lease()?;
        lease[..piece.len()].copy_from_slice(&piece);
        gather.push(Bytes::from_owner(lease).slice(..piece.len()))?;
        gather.flush_shared()?;
    }
    gather.finish().map(drop)
}

/// One way to hand over a piece.
#[derive(Debug, Clone)]
enum Given {
    Copied(Vec<u8>),
    Pointed(Vec<u8>),
    Flushed,
}

fn given_piece() -> impl Strategy<Value = Given> {
    prop_oneof![3 => piece().prop_map(Given::Copied), 3 => piece().prop_map(Given::Pointed), 1 => Just(Given::Flushed)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whatever_the_thresholds(
        given in vec(given_piece(), 0..60),
        write_bytes in prop_oneof![Just(1usize), Just(100), 1usize..100_000],
        copy_bytes_max in prop_oneof![Just(0usize), Just(usize::MAX), 0usize..10_000],
        buffer_bytes in 1usize..20_000,
        shared_bytes_max in 1usize..30_000,
    ) {
        let pool = BufferPool::new(SMALL_BYTES, 1);
        let settings = GatherSettings { copy_bytes_max, write_bytes: buffer_bytes, shared_bytes_max };
        let writer = FaultyIo::new(Vec::new(), write_bytes, &FaultPlan::never());
        let mut gather = Gather::with_settings(writer, &pool, settings).unwrap();
        let (mut expected, mut copied, mut waiting) = (Vec::new(), 0, Vec::new());
        for one in given {
            match one {
                Given::Copied(piece) => {
                    gather.copy(&piece).unwrap();
                    copied += piece.len();
                    expected.extend(piece);
                }
                Given::Pointed(piece) => {
                    expected.extend(&piece);
                    copied += if piece.len() <= copy_bytes_max { piece.len() } else { 0 };
                    let piece = Bytes::from(piece);
                    gather.point(&piece).unwrap();
                    waiting.push(piece);
                }
                Given::Flushed => Sink::flush(&mut gather).unwrap(),
            }
            // A piece that waits has two owners: the sink and this test.
            let held: usize = waiting.iter().filter(|piece| !piece.is_unique()).map(Bytes::len).sum();
            prop_assert!(held < shared_bytes_max, "{} bytes of others are held", held);
        }
        let stats = gather.stats();
        prop_assert_eq!((stats.copied_bytes, stats.copied_bytes + stats.shared_bytes), (copied as u64, expected.len() as u64));
        prop_assert!(gather.finish().unwrap().into_inner() == expected);
    }
}

#[test]
fn an_output_that_does_not_block_is_waited_for() {
    let (mut read, write) = std::os::unix::net::UnixStream::pair().unwrap();
    write.set_nonblocking(true).unwrap();
    let expected: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        read.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let output = OutputFd::new(File::from(OwnedFd::from(write)), &Control::default());
    let mut gather = Gather::new(output, &BufferPool::new(SMALL_BYTES, 1)).unwrap();
    expected.chunks(777).for_each(|piece| gather.copy(piece).unwrap());
    drop(gather.finish().unwrap());
    assert!(reader.join().unwrap() == expected);
}

#[test]
fn a_stop_ends_the_wait_for_a_reader_that_takes_nothing() {
    let (_read, write) = std::os::unix::net::UnixStream::pair().unwrap();
    write.set_nonblocking(true).unwrap();
    let control = Control::default();
    control.stop();
    let output = OutputFd::new(File::from(OwnedFd::from(write)), &control);
    let mut gather = Gather::new(output, &BufferPool::new(SMALL_BYTES, 1)).unwrap();
    let error = gather.copy(&vec![0; 8 << 20]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
}

#[test]
fn a_stop_ends_the_wait_for_a_pipe_that_blocks() {
    let (_read, write) = std::io::pipe().unwrap();
    let control = Control::default();
    control.stop();
    let output = OutputFd::new(File::from(OwnedFd::from(write)), &control);
    let mut gather = Gather::new(output, &BufferPool::new(SMALL_BYTES, 1)).unwrap();
    let error = gather.copy(&vec![0; 8 << 20]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
}
