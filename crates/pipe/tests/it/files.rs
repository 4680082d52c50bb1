//! Plain files, which workers read side by side: the same lines wherever the block borders fall.

use crate::common::{Seen, Setup, split};
use proptest::collection::vec;
use proptest::prelude::*;
use rorqual_pipe::limits::{BLOCK_BYTES, OVERREAD_BYTES};
use rorqual_pipe::{BufferPool, Input};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use tempfile::NamedTempFile;

const LINE_BYTES_MAX: [usize; 4] = [1, 100, OVERREAD_BYTES + 1, BLOCK_BYTES];

fn stored(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room on the disk");
    file
}

fn opened(path: &Path) -> impl FnOnce(&BufferPool) -> Input + Send + 'static {
    let path = path.to_owned();
    move |_| Input::open(&path).expect("it is there")
}

/// Runs the file with one to four threads and several limits, and compares with the reference.
fn check(bytes: &[u8]) {
    let file = stored(bytes);
    for threads in 1..=4 {
        for line_bytes_max in LINE_BYTES_MAX {
            let seen = Setup::lines(line_bytes_max, threads).lines_of(opened(file.path()));
            same(&seen, &split(bytes, line_bytes_max), &format!("{threads} threads, lines to {line_bytes_max}"));
        }
        assert!(Setup::bytes(threads).bytes_of(opened(file.path())) == bytes, "{threads} threads, bytes");
    }
}

/// The same as `assert_eq`, without printing megabytes.
fn same(seen: &[Seen], expected: &[Seen], what: &str) {
    let first = seen.iter().zip(expected).position(|(a, b)| a != b).unwrap_or(seen.len().min(expected.len()));
    let tell = |lines: &[Seen]| lines.get(first).map(|line| (line.offset, line.head.len(), line.long));
    assert_eq!((seen.len(), tell(seen)), (expected.len(), tell(expected)), "{what}: (lines, first that differs)");
    assert!(seen == expected, "{what}: line {first} differs in its bytes");
}

/// Lines of 37 letters up to `length` bytes, the last one cut.
fn text(length: usize) -> Vec<u8> {
    let line = b"abcdefghijklmnopqrstuvwxyz0123456789_\n";
    line.iter().copied().cycle().take(length).collect()
}

#[test]
fn sizes_around_block_borders() {
    for blocks in [1, 2, 3] {
        for size in [blocks * BLOCK_BYTES - 1, blocks * BLOCK_BYTES, blocks * BLOCK_BYTES + 1] {
            check(&text(size));
        }
    }
}

#[test]
fn an_empty_file_has_no_lines() {
    check(b"");
    check(b"\n");
    check(b"x");
}

#[test]
fn newlines_around_a_block_border() {
    for distance in 0..5 {
        let mut bytes = text(2 * BLOCK_BYTES + 10);
        bytes[BLOCK_BYTES - 200..BLOCK_BYTES + 200].fill(b'x');
        // A line that ends before, on or after the border, and so one that starts there.
        bytes[BLOCK_BYTES + distance - 3] = b'\n';
        check(&bytes);
        bytes[BLOCK_BYTES + distance - 2] = b'\n';
        check(&bytes);
    }
}

#[test]
fn lines_of_the_limit_and_one_more_across_a_border() {
    for (before, length) in
        [(0, 100), (0, 101), (1, 100), (1, 101), (50, 100), (50, 101), (99, 100), (100, 100), (100, 101), (101, 101)]
    {
        let start = BLOCK_BYTES - before;
        let mut bytes = text(2 * BLOCK_BYTES);
        bytes[start..start + length].fill(b'y');
        bytes[start - 1] = b'\n';
        bytes[start + length] = b'\n';
        check(&bytes);
    }
}

#[test]
fn a_line_over_many_blocks() {
    for tail in [&b"\nand another\n"[..], b"\n", b""] {
        let mut bytes = text(BLOCK_BYTES / 2);
        bytes.resize(4 * BLOCK_BYTES + 5, b'z');
        bytes.extend(tail);
        check(&bytes);
    }
}

#[test]
fn no_newline_at_all() {
    check(&vec![b'n'; 3 * BLOCK_BYTES + 1]);
}

#[test]
fn only_newlines() {
    check(&vec![b'\n'; BLOCK_BYTES + 1]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_lengths_of_lines(lengths in vec(length(), 1..12), ended in any::<bool>()) {
        let mut bytes: Vec<u8> = lengths.iter().flat_map(|length| std::iter::repeat_n(b'l', *length).chain([b'\n'])).collect();
        if !ended {
            bytes.pop();
        }
        check(&bytes);
    }
}

/// Lengths at which something changes.
fn length() -> impl Strategy<Value = usize> {
    let around = |length: usize| (length - 1)..=(length + 1);
    prop_oneof![0usize..3, around(100), around(OVERREAD_BYTES), around(BLOCK_BYTES), around(BLOCK_BYTES / 2), 0..2 * BLOCK_BYTES]
}

/// Text, then a hole, then text; several times.
fn sparse(parts: &[(&[u8], usize)]) -> (NamedTempFile, Vec<u8>) {
    let mut file = NamedTempFile::new().expect("a temporary file");
    let mut bytes = Vec::new();
    for (text, hole_bytes) in parts {
        file.write_all(text).expect("room on the disk");
        file.seek(SeekFrom::Current(*hole_bytes as i64)).expect("a file can be sought");
        bytes.extend_from_slice(text);
        bytes.resize(bytes.len() + hole_bytes, 0);
    }
    file.as_file().set_len(bytes.len() as u64).expect("a file can be made longer");
    (file, bytes)
}

#[test]
fn holes_read_as_zeros() {
    let block = text(BLOCK_BYTES);
    let long = 3 * BLOCK_BYTES + 4096;
    let cases: [&[(&[u8], usize)]; 6] = [
        &[(b"", long)],
        &[(b"first\n", long), (b"\nlast", 0)],
        &[(b"", long), (b"\nafter the hole\n", long), (b"end\n", 0)],
        &[(&block, 2 * BLOCK_BYTES), (&block, 2 * BLOCK_BYTES), (&block, 0)],
        &[(&block[..BLOCK_BYTES - 1], 1), (b"\n", long), (b"x\n\n", 0)],
        &[(b"no newline", long), (&block, long)],
    ];
    for parts in cases {
        let (file, bytes) = sparse(parts);
        for threads in [1, 3] {
            for line_bytes_max in LINE_BYTES_MAX {
                let seen = Setup::lines(line_bytes_max, threads).lines_of(opened(file.path()));
                same(&seen, &split(&bytes, line_bytes_max), &format!("{threads} threads, lines to {line_bytes_max}"));
            }
            assert!(Setup::bytes(threads).bytes_of(opened(file.path())) == bytes);
        }
    }
}

#[test]
fn what_is_written_while_a_file_is_read_is_not_seen() {
    let bytes = text(BLOCK_BYTES + 100);
    let file = stored(&bytes);
    let path = file.path().to_owned();
    let grown = move |_: &BufferPool| {
        let input = Input::open(&path).expect("it is there");
        let mut more = File::options().append(true).open(&path).expect("it is ours");
        more.write_all(b"more\nlines\n").expect("room on the disk");
        input
    };
    assert_eq!(Setup::lines(100, 2).lines_of(grown), split(&bytes, 100));
}

#[test]
fn a_file_without_a_name_is_still_read() {
    let bytes = text(BLOCK_BYTES + 100);
    let file = stored(&bytes);
    let path = file.path().to_owned();
    let vanished = move |_: &BufferPool| {
        let input = Input::open(&path).expect("it is there");
        std::fs::remove_file(&path).expect("it is ours");
        input
    };
    assert_eq!(Setup::lines(100, 2).lines_of(vanished), split(&bytes, 100));
}
