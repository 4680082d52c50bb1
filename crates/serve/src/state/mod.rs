//! Sessions that outlive the server: `--state DIR`. Of each the folder has a journal of its rows,
//! and a file with all else, which is written anew by each checkpoint and takes the place of the
//! one before at once. Beside it is a copy of the latest that is on the disk for sure, which only a
//! later one of that kind replaces: from it a session goes on where the machine lost what came
//! after it.
//!
//! Files that the server reads itself are kept in the same way, each in a folder of its own, for
//! the next time that they are opened: the cache. Saved views of the page are one file of the
//! folder, `views.json`.

mod checkpoints;
mod dir;
mod file_cache;
mod file_identity;
mod names;
mod saved;
mod saved_views;

pub(crate) use checkpoints::Checkpoints;
pub(crate) use dir::StateDir;
pub use file_cache::CacheSettings;
pub(crate) use file_cache::{CacheEntry, FileCache, NotCached};
pub(crate) use file_identity::SavedFile;
pub(crate) use saved::{LogPart, SavedColumns, SavedFormat, SavedParts, SavedSession, SavedTable, StoredSession};
pub(crate) use saved_views::{SavedView, SavedViews, SavedViewsError};

/// Content of one of its files, for tests of others.
#[cfg(test)]
pub(crate) fn content(path: &std::path::Path) -> Vec<u8> {
    std::fs::read(path).expect("it is there")
}

#[cfg(test)]
mod tests {
    use super::names::{COPY, LOCK, ROWS, SESSION, SYNCED, TMP, UNFINISHED, checksum};
    use super::*;
    use rorqual_accesslog::aggregate::{Analysis, SpanFilter};
    use std::fs;
    use std::io;
    use std::sync::Arc;
    use std::time::SystemTime;
    use tempfile::TempDir;

    const ID: &str = "00112233445566aa";

    fn folder() -> (TempDir, Arc<StateDir>, Checkpoints) {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let dir = StateDir::open(folder.path()).expect("it is empty");
        dir.journal(ID).expect("a file can be made");
        let checkpoints = Checkpoints::new(&dir, ID);
        (folder, dir, checkpoints)
    }

    fn try_write(checkpoints: &Checkpoints, lines: u64) -> io::Result<()> {
        let counts = Analysis::new(1 << 20, SpanFilter::default(), None).counts();
        let saved = SavedSession { lines, ..SavedSession::new("test.log", SystemTime::UNIX_EPOCH, counts) };
        checkpoints.write(|| saved, || Ok(b"head".to_vec()))
    }

    fn write(checkpoints: &Checkpoints, lines: u64) {
        try_write(checkpoints, lines).expect("it can be written");
    }

    /// Lines that a server would go on from after a kill, and after a power cut that took the
    /// unsynced bytes.
    fn lines(dir: &StateDir) -> (Option<u64>, Option<u64>) {
        let lines = |extension| dir.read(ID, &dir.path(ID, extension)).ok().map(|found| found.saved.lines);
        (lines(SESSION), lines(SYNCED))
    }

    /// Takes any but the checkpoint of so many lines.
    fn take_but(dir: &StateDir, lines: u64, kind: io::ErrorKind) -> Result<u64, String> {
        dir.take(ID, |found| if found.saved.lines == lines { Err(kind.into()) } else { Ok(found.saved.lines) })
    }

    #[test]
    fn what_is_not_synced_takes_the_place_of_nothing_that_is() {
        let (_folder, dir, checkpoints) = folder();
        assert!(!checkpoints.is_newer());
        write(&checkpoints, 1);
        checkpoints.sync(|| Ok(())).expect("it can be written");
        assert_eq!(lines(&dir), (Some(1), Some(1)));
        write(&checkpoints, 2);
        write(&checkpoints, 3);
        assert_eq!(lines(&dir), (Some(3), Some(1)));
        // The next server, after a kill, knows no more than the files.
        let next = Checkpoints::new(&dir, ID);
        assert!(next.is_newer(), "what the one before did not sync");
        next.sync(|| Ok(())).expect("it can be written");
        assert_eq!(lines(&dir), (Some(3), Some(3)));
        assert!(!Checkpoints::new(&dir, ID).is_newer(), "it is there");
        write(&next, 4);
        next.sync(|| try_write(&next, 5)).expect("it can be written");
        assert_eq!(lines(&dir), (Some(5), Some(4)));
        assert!(next.is_newer(), "another came meanwhile");
        next.sync(|| Ok(())).expect("it can be written");
        next.sync(|| panic!("there is nothing to do")).expect("nothing is done");
        assert_eq!((lines(&dir), next.is_newer()), ((Some(5), Some(5)), false));
    }

    #[test]
    fn what_failed_is_done_by_the_next_try() {
        let (folder, dir, checkpoints) = folder();
        write(&checkpoints, 1);
        checkpoints.sync(|| Err(io::ErrorKind::StorageFull.into())).expect_err("the journal is not there");
        assert_eq!((lines(&dir), checkpoints.is_newer()), ((Some(1), None), true));
        checkpoints.sync(|| Ok(())).expect("there is room now");
        assert_eq!((lines(&dir), checkpoints.is_newer()), ((Some(1), Some(1)), false));
        // Somebody takes the latest away, and puts something in its place.
        fs::remove_file(dir.path(ID, SESSION)).expect("it is there");
        write(&checkpoints, 2);
        fs::remove_file(dir.path(ID, SESSION)).expect("it is there");
        fs::create_dir(dir.path(ID, SESSION)).expect("there is none");
        try_write(&checkpoints, 3).expect_err("there is a folder");
        assert!(!checkpoints.due(), "it is not tried again at once");
        fs::remove_dir(dir.path(ID, SESSION)).expect("it is empty");
        write(&checkpoints, 4);
        assert_eq!(lines(&dir), (Some(4), Some(1)));
        assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 4, "the lock, rows, and two of these");
    }

    #[test]
    fn a_session_goes_on_from_the_earlier_checkpoint_where_the_later_one_is_not_whole() {
        let (_folder, dir, checkpoints) = folder();
        write(&checkpoints, 1);
        checkpoints.sync(|| Ok(())).expect("it can be written");
        write(&checkpoints, 2);
        assert_eq!(take_but(&dir, 0, io::ErrorKind::UnexpectedEof), Ok(2));
        fs::write(dir.path(ID, SESSION), "torn").expect("it can be written");
        let (known, wrong) = dir.sessions().expect("a folder");
        assert_eq!((known.len(), wrong.len()), (1, 0));
        assert!(dir.path(ID, SESSION).exists(), "it may find no place, and is left then");
        let both = take_but(&dir, 1, io::ErrorKind::InvalidData).expect_err("neither is whole");
        assert!(both.contains(".session: this is not a session") && both.contains(".synced: "), "{both}");
        assert_eq!(take_but(&dir, 0, io::ErrorKind::UnexpectedEof), Ok(1));
        assert_eq!(lines(&dir), (Some(1), Some(1)), "the later one is not tried again");
        assert_eq!(take_but(&dir, 0, io::ErrorKind::UnexpectedEof), Ok(1));
        let next = Checkpoints::new(&dir, ID);
        assert!(!next.is_newer());
        write(&next, 3);
        assert_eq!((lines(&dir), next.is_newer()), ((Some(3), Some(1)), true));
    }

    #[test]
    fn what_may_pass_does_not_lose_the_later_checkpoint() {
        let (_folder, dir, checkpoints) = folder();
        write(&checkpoints, 1);
        checkpoints.sync(|| Ok(())).expect("it can be written");
        write(&checkpoints, 2);
        for kind in [io::ErrorKind::OutOfMemory, io::ErrorKind::PermissionDenied, io::ErrorKind::Other] {
            take_but(&dir, 2, kind).expect_err("it is not damaged");
            assert_eq!(lines(&dir), (Some(2), Some(1)));
        }
        // Of a version to come.
        let content = b"{\"version\":9}\n";
        let foreign = [checksum(&[content]).as_bytes(), b"\n", content].concat();
        fs::write(dir.path(ID, SESSION), &foreign).expect("it can be written");
        take_but(&dir, 0, io::ErrorKind::Other).expect_err("it is not ours");
        assert_eq!(fs::read(dir.path(ID, SESSION)).expect("it is there"), foreign);
    }

    #[test]
    fn what_was_being_written_is_removed_and_no_session() {
        let (folder, dir, checkpoints) = folder();
        write(&checkpoints, 1);
        let ours = [TMP, COPY].map(|extension| folder.path().join(format!("{UNFINISHED}{ID}.{extension}")));
        let foreign = [SESSION, ROWS].map(|extension| folder.path().join(format!("{UNFINISHED}{ID}.{extension}")));
        ours.iter().chain(&foreign).for_each(|path| fs::write(path, "").expect("it can be written"));
        let (known, wrong) = dir.sessions().expect("a folder");
        assert_eq!((known.len(), wrong.len()), (1, 0));
        assert!(foreign.iter().all(|path| path.exists()) && !ours.iter().any(|path| path.exists()));
    }

    #[test]
    fn what_is_forgotten_while_it_is_synced_leaves_nothing() {
        let (folder, _dir, checkpoints) = folder();
        write(&checkpoints, 1);
        let forget = || {
            checkpoints.remove();
            Ok(())
        };
        checkpoints.sync(forget).expect("there is nothing to do");
        write(&checkpoints, 2);
        let names: Vec<_> = fs::read_dir(folder.path()).expect("it is there").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names, [LOCK]);
    }
}
