//! Holes of logs: the line after one is a line, on every path and wherever the blocks are cut.

use crate::common::{BUFFERS_MIN, Pieces, Setup};
use proptest::collection::vec;
use proptest::prelude::*;
use rorqual_pipe::limits::{BLOCK_BYTES, buffers_needed};
use rorqual_pipe::{BufferPool, Chunk, Control, Error, Framing, Input, ResumableRun, ResumePoint, Stage};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use tempfile::NamedTempFile;

/// A line: its offset, its bytes up to the limit, whether it is over-long, whether it begins after
/// a hole.
type LogLine = (u64, Vec<u8>, bool, bool);

struct KeepLogLines;

impl Stage for KeepLogLines {
    type Output = Vec<LogLine>;

    fn chunk(&mut self, chunk: &Chunk) -> Result<Vec<LogLine>, Error> {
        let seen = |line: rorqual_pipe::ChunkLine<'_>| {
            (chunk.offset + line.start as u64, line.bytes.to_vec(), line.long, line.after_hole)
        };
        Ok(chunk.lines().map(seen).collect())
    }
}

/// The lines of `bytes`, found one byte after the other.
fn split(bytes: &[u8], line_bytes_max: usize) -> Vec<LogLine> {
    let (mut seen, mut start, mut nuls, mut after_hole) = (Vec::new(), 0, 0, false);
    let line = |start: usize, end: usize, after_hole| {
        let shown = (end - start).min(line_bytes_max);
        (start as u64, bytes[start..start + shown].to_vec(), end - start > line_bytes_max, after_hole)
    };
    for (index, byte) in bytes.iter().enumerate() {
        match byte {
            b'\n' => {
                seen.push(line(start, index, after_hole));
                (start, after_hole) = (index + 1, false);
            }
            0 => {}
            _ if nuls > line_bytes_max => {
                seen.push(line(start, index, after_hole));
                (start, after_hole) = (index, true);
            }
            _ => {}
        }
        nuls = if *byte == 0 { nuls + 1 } else { 0 };
    }
    if start < bytes.len() {
        seen.push(line(start, bytes.len(), after_hole));
    }
    seen
}

fn setup(line_bytes_max: usize, threads: usize) -> Setup {
    Setup { framing: Framing::LogLines { line_bytes_max }, threads, buffers: buffers_needed(threads) }
}

fn lines_of(setup: Setup, input: impl FnOnce(&BufferPool) -> Input + Send + 'static) -> Vec<LogLine> {
    let outcome = setup.run(input, || KeepLogLines);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    outcome.outputs.concat()
}

/// The same as `assert_eq`, without printing megabytes.
fn same(seen: &[LogLine], expected: &[LogLine], what: &str) {
    let tell = |lines: &[LogLine]| lines.iter().map(|line| (line.0, line.1.len(), line.2, line.3)).take(20).collect::<Vec<_>>();
    assert_eq!(tell(seen), tell(expected), "{what}");
    assert!(seen == expected, "{what}: the bytes differ");
}

/// Compares files and streams with the reference.
fn check(path: &Path, bytes: &[u8], limits: &[usize]) {
    for &line_bytes_max in limits {
        let expected = split(bytes, line_bytes_max);
        for threads in [1, 3] {
            let setup = setup(line_bytes_max, threads);
            let path = path.to_owned();
            let seen = lines_of(setup, move |_| Input::open(&path).expect("it is there"));
            same(&seen, &expected, &format!("a file, {threads} threads, lines to {line_bytes_max}"));
            for piece_bytes in [BLOCK_BYTES, BLOCK_BYTES - 1] {
                let setup = setup.with_buffers(BUFFERS_MIN);
                let seen = lines_of(setup, Pieces::input(bytes, piece_bytes, setup));
                same(&seen, &expected, &format!("pieces of {piece_bytes}, {threads} threads, lines to {line_bytes_max}"));
            }
        }
    }
}

fn check_bytes(bytes: &[u8], limits: &[usize]) {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room on the disk");
    check(file.path(), bytes, limits);
}

#[test]
fn the_line_after_a_hole_is_a_line_wherever_the_borders_are() {
    for start in [0, 7, BLOCK_BYTES - 120, BLOCK_BYTES - 1, BLOCK_BYTES] {
        for length in [99, 100, 101, 102, 200, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 2 * BLOCK_BYTES + 3] {
            let mut bytes: Vec<u8> = b"a line\n".iter().copied().cycle().take(start).collect();
            bytes.resize(start + length, 0);
            bytes.extend(b"after\nand on\n");
            check_bytes(&bytes, &[1, 100, BLOCK_BYTES - 1, BLOCK_BYTES]);
        }
    }
}

#[test]
fn a_hole_before_a_newline_or_the_end_is_of_its_line() {
    for end in [&b""[..], b"\n", b"\nafter\n", b"\r\nafter\n"] {
        for start in [&b""[..], b"first\n", b"half"] {
            let mut bytes = start.to_vec();
            bytes.resize(BLOCK_BYTES + 777, 0);
            bytes.extend(end);
            check_bytes(&bytes, &[1, 100, BLOCK_BYTES]);
        }
    }
}

#[test]
fn holes_that_no_disk_holds_end_at_any_place_of_a_block() {
    for hole_bytes in [BLOCK_BYTES * 3, BLOCK_BYTES * 3 + 4_096, BLOCK_BYTES * 4 - 4_096, BLOCK_BYTES * 2 + 1] {
        let mut file = NamedTempFile::new().expect("a temporary file");
        let mut bytes = Vec::new();
        for text in [&b"first\nhalf"[..], b"second\n", b"third\n"] {
            file.write_all(text).expect("room on the disk");
            bytes.extend(text);
            let end = bytes.len().next_multiple_of(4_096) + hole_bytes;
            file.seek(SeekFrom::Start(end as u64)).expect("a file can be sought");
            bytes.resize(end, 0);
        }
        file.write_all(b"last\n").expect("room on the disk");
        bytes.extend(b"last\n");
        check(file.path(), &bytes, &[100, BLOCK_BYTES]);
    }
}

/// Text with holes of lengths about the limit.
fn holey() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        3 => vec(prop_oneof![3 => Just(b'a'), 1 => Just(b'\n')], 0..12),
        2 => (0usize..14).prop_map(|length| vec![0; length]),
    ];
    vec(part, 0..20).prop_map(|parts| parts.concat())
}

/// A course over pieces that pauses after each.
fn course(pool: &BufferPool, setup: Setup, bytes: &[u8], piece_bytes: usize) -> ResumableRun {
    let source = Pausing { pieces: Pieces::new(bytes, piece_bytes, setup.headroom(), pool), given: false };
    ResumableRun::new(Input::from_source("pieces", Box::new(source)), &setup.plan(), pool, &Control::default())
}

struct Pausing {
    pieces: Pieces,
    given: bool,
}

impl rorqual_pipe::BlockSource for Pausing {
    fn next_block(&mut self) -> Result<Option<rorqual_pipe::FilledBlock>, Error> {
        self.given = !self.given;
        if self.given { self.pieces.next_block() } else { Ok(None) }
    }

    fn paused(&self) -> bool {
        !self.given
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_block_size_gives_the_same_lines(bytes in holey(), threads in 1usize..=3, line_bytes_max in 1usize..=8) {
        let expected = split(&bytes, line_bytes_max);
        for piece_bytes in [1, 2, 3, 7, 64] {
            let setup = setup(line_bytes_max, threads);
            prop_assert_eq!(&lines_of(setup, Pieces::input(&bytes, piece_bytes, setup)), &expected, "in pieces of {}", piece_bytes);
        }
    }

    #[test]
    fn lines_are_the_same_after_restarts(bytes in holey(), line_bytes_max in 1usize..=8, piece_bytes in 1usize..=9, restarts in any::<u64>()) {
        let setup = setup(line_bytes_max, 1);
        let pool = setup.pool();
        let mut going = course(&pool, setup, &bytes, piece_bytes);
        let mut seen: Vec<LogLine> = Vec::new();
        for turn in 0u32.. {
            let stage = |_: &[u8]| Some(vec![KeepLogLines]);
            let finish = going.run(&Control::default(), stage, |lines: Vec<LogLine>| { seen.extend(lines); Ok(()) });
            prop_assert!(finish.error.is_none());
            if going.ended() {
                break;
            }
            let place: ResumePoint = going.place();
            // Each further one needs more bytes at once than come again, or there is no end.
            if turn < 64 && restarts >> turn & 1 == 1 {
                let rest = &bytes[place.offset as usize..];
                going = course(&pool, setup, rest, piece_bytes + 2 * turn as usize).at(place);
            }
        }
        let without_place = |lines: &[LogLine]| lines.iter().map(|line| (line.0, line.1.clone(), line.2)).collect::<Vec<_>>();
        prop_assert_eq!(without_place(&seen), without_place(&split(&bytes, line_bytes_max)));
    }
}
