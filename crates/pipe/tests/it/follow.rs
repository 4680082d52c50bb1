//! Followed files: their lines, and their end.

use crate::common::{KeepLines, Seen, Setup, TIME_MAX};
use rorqual_pipe::{AppendedLines, Control, Finish, FollowStatus, FollowedLines, Input, last_line_end, run};
use rorqual_testkit::process::in_time;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
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

/// The lines that a file has now, with whether they begin it and how many were lost before them.
fn appended(lines: &mut FollowedLines) -> Option<(Vec<u8>, bool, u64)> {
    let AppendedLines { file, range, begins, lost } = lines.appended().expect("it can be read")?;
    let mut bytes = vec![0; (range.end - range.start) as usize];
    file.read_exact_at(&mut bytes, range.start).expect("they are there");
    Some((bytes, begins, lost))
}

/// The same once there are some.
fn next_appended(lines: &mut FollowedLines) -> (Vec<u8>, bool, u64) {
    let until = Instant::now() + TIME_MAX;
    loop {
        if let Some(found) = appended(lines) {
            return found;
        }
        assert!(Instant::now() < until, "no lines came");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn followed_lines(path: &Path, start: u64) -> (FollowedLines, FollowStatus) {
    let (file, status) = (File::open(path).expect("it is there"), FollowStatus::default());
    (FollowedLines::new(path, file, start, status.clone()), status)
}

#[test]
fn ranges_of_a_followed_file_are_whole_lines() {
    let mut file = file(b"one\ntwo\nth");
    let (mut lines, status) = followed_lines(file.path(), 4);
    assert_eq!(appended(&mut lines), Some((b"two\n".to_vec(), false, 0)));
    assert_eq!(appended(&mut lines), None, "half a line waits");
    append(&mut file, b"ree\nfour\nfi");
    assert_eq!(appended(&mut lines), Some((b"three\nfour\n".to_vec(), false, 0)));
    append(&mut file, b"v");
    assert_eq!(appended(&mut lines), None);
    // Cut, with half a line that nobody saw whole.
    file.as_file().set_len(0).expect("it can be cut");
    assert_eq!(appended(&mut lines), None);
    assert_eq!(status.truncations(), 1);
    append(&mut file, b"again\n");
    assert_eq!(appended(&mut lines), Some((b"again\n".to_vec(), true, 1)));
    append(&mut file, b"more\n");
    assert_eq!(appended(&mut lines), Some((b"more\n".to_vec(), false, 0)));
    assert_eq!((status.truncations(), status.rotations(), status.missing()), (1, 0, false));
}

#[test]
fn another_file_with_the_name_comes_after_the_last_line_of_the_old_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, old) = (folder.path().join("a.log"), folder.path().join("a.log.1"));
    std::fs::write(&path, "one\n").expect("room");
    let (mut lines, status) = followed_lines(&path, 0);
    assert_eq!(appended(&mut lines), Some((b"one\n".to_vec(), true, 0)));
    std::fs::rename(&path, &old).expect("it is there");
    assert_eq!(appended(&mut lines), None);
    assert!(status.missing());
    let mut writer = File::options().append(true).open(&old).expect("it is there");
    writer.write_all(b"two\nthr").expect("room");
    std::fs::write(&path, "new\n").expect("room");
    assert_eq!(appended(&mut lines), Some((b"two\n".to_vec(), false, 0)));
    assert_eq!(next_appended(&mut lines), (b"thr".to_vec(), false, 0), "no more comes");
    assert_eq!(appended(&mut lines), Some((b"new\n".to_vec(), true, 0)));
    assert_eq!((status.truncations(), status.rotations(), status.missing()), (0, 1, false));
    // One that has nothing yet is waited for.
    std::fs::rename(&path, &old).and_then(|()| std::fs::write(&path, "")).expect("room");
    assert_eq!(appended(&mut lines), None);
    std::fs::write(&path, "newer\n").expect("room");
    assert_eq!(next_appended(&mut lines), (b"newer\n".to_vec(), true, 0));
    assert_eq!(status.rotations(), 2);
}

#[test]
fn the_last_line_with_an_end_is_found_far_before_the_end() {
    let mut file = file(b"one\n");
    let long = (256 << 10) + 10;
    append(&mut file, &vec![b'x'; long]);
    let size = 4 + long as u64;
    let end = |start, end| last_line_end(file.as_file(), start, end).expect("it can be read");
    assert_eq!((end(0, size), end(4, size), end(0, 4), end(0, 3), end(0, 0)), (4, 4, 4, 0, 0));
    last_line_end(file.as_file(), 0, size + 1).expect_err("it is not as long");
}
