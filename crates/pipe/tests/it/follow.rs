//! Followed files: their lines, and their end.

use crate::common::{KeepLines, Seen, Setup, TIME_MAX};
use rorqual_pipe::{Control, Finish, Input, run};
use rorqual_testkit::process::in_time;
use std::io::{Seek, SeekFrom, Write};
use std::sync::mpsc::{Receiver, channel};
use tempfile::NamedTempFile;

/// Change of a file once it gave so many lines.
type Change = (usize, fn(&mut NamedTempFile));

/// Follows a file until it gave as many lines as `changes` want of it, one change after the other,
/// and stops then. All lines.
fn followed(file: NamedTempFile, line_bytes_max: usize, changes: Vec<Change>) -> Vec<Vec<u8>> {
    in_time(TIME_MAX, move || {
        let (sender, lines) = channel();
        let (control, setup) = (Control::default(), Setup::lines(line_bytes_max, 2));
        let input = Input::follow(file.path()).expect("a plain file");
        let stop = control.clone();
        let writer = std::thread::spawn(move || change(file, changes, &lines, &stop));
        let keep = |seen: Vec<Seen>| {
            seen.into_iter().for_each(|line| drop(sender.send(line.head)));
            Ok(())
        };
        let pool = setup.pool();
        let stages = |_: &[u8]| Some(vec![KeepLines, KeepLines]);
        let Finish { error, .. } = run(input, &setup.plan(), &pool, &control, stages, keep);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(pool.lent(), 0, "every buffer comes home");
        drop(sender);
        writer.join().expect("the writer did its part")
    })
}

fn change(mut file: NamedTempFile, changes: Vec<Change>, lines: &Receiver<Vec<u8>>, control: &Control) -> Vec<Vec<u8>> {
    let mut seen = Vec::new();
    for (count, change) in changes {
        seen.extend(lines.iter().take(count - seen.len()));
        change(&mut file);
    }
    control.stop();
    seen.extend(lines);
    seen
}

fn file(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room on the disk");
    file
}

fn append(file: &mut NamedTempFile, bytes: &[u8]) {
    file.seek(SeekFrom::End(0)).and_then(|_| file.write_all(bytes)).expect("room on the disk");
}

#[test]
fn a_stop_ends_the_wait_and_half_a_line_is_none() {
    assert_eq!(followed(file(b"one\ntwo\nhal"), 100, vec![(2, |_| {})]), [&b"one"[..], b"two"]);
    assert!(followed(file(b""), 100, vec![(0, |_| {})]).is_empty());
}

#[test]
fn lines_that_come_in_pieces_are_whole_and_long_ones_have_their_head() {
    let seen = followed(
        file(b"a"),
        4,
        vec![
            (0, |file| append(file, b"b\ncd")),
            (1, |file| append(file, b"ef\n0123456789")),
            (2, |file| append(file, b"abcdef\nend\n")),
            (4, |_| {}),
        ],
    );
    assert_eq!(seen, [&b"ab"[..], b"cdef", b"0123", b"end"]);
}

#[test]
fn what_is_behind_a_cut_is_another_line() {
    let seen = followed(
        file(b"one\nha"),
        100,
        vec![
            (1, |file| {
                file.as_file().set_len(0).expect("it can be cut");
                append(file, b"x\n");
            }),
            (3, |_| {}),
        ],
    );
    assert_eq!(seen, [&b"one"[..], b"ha", b"x"]);
}
