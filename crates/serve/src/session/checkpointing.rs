//! Checkpoints of a session, which outlive the server (`--state`).

use super::Session;
use super::locks::{lock, try_lock};
use super::outcome::SessionEnd;
use super::parts_read::PartsRead;
use super::phase::{ParkedUpload, Phase};
use super::upload_run::UploadRun;
use crate::ingest::feed::Feed;
use crate::state::{Checkpoints, SavedColumns, SavedFormat, SavedSession, StoredSession};
use rorqual_accesslog::analyze::{LogRun, SuspendedInput};
use rorqual_pipe::Input;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

impl Session {
    /// The same as it was kept, which goes on where it was.
    pub(crate) fn restored(self, StoredSession { saved, .. }: StoredSession) -> Self {
        let place = saved.place();
        self.took(place.offset);
        let _ = self.control.take_stored(place.offset);
        self.control.decoded(saved.decoded_bytes);
        let format = saved.format.as_ref().and_then(SavedFormat::format);
        if format.is_some() && saved.ended.is_none() {
            let input = Input::from_source(saved.name, Box::new(self.inlet.source(&self.control)));
            // From its start on it may be UTF-16, which only a whole stream tells.
            let input = if place.offset == 0 { input.into_utf8() } else { input };
            let left = SuspendedInput { place, lines: saved.lines, format: format.clone() };
            *lock(&self.reading) =
                Some(UploadRun::Log(Box::new(self.analyzer.open(input, self.turns().pool(), &self.control, Some(left)))));
        }
        self.analyzer.analysis().go_on(saved.counts);
        let mut inner = self.lock();
        inner.phase = match saved.ended {
            Some(end) => Phase::Ended { end, ran: None },
            None => {
                let formats = (format.is_none() && !self.has_parts()).then(|| self.settings.formats.clone());
                let parked = ParkedUpload::new(Feed::new(self.settings.line_bytes_max, formats));
                match place.offset {
                    0 => Phase::Waiting { parked, begun: true },
                    _ => Phase::Suspended { parked, error: None },
                }
            }
        };
        (inner.format, inner.guess) = (format, saved.guess);
        inner.parts = saved.parts.map(PartsRead::restored).unwrap_or_default();
        drop(inner);
        Self { created: saved.created, ..self }
    }

    /// Writes a checkpoint, where the server has a folder for that, with the end of a session that
    /// ended. Blocks. No part of the session may run.
    pub(super) fn keep(&self, reading: Option<&LogRun>, ended: Option<SessionEnd>) {
        let (Some(checkpoints), Some(store)) = (&self.checkpoints, self.rows.store()) else { return };
        // A decoder can't be left in the middle: its input comes again from the start.
        if checkpoints.removed() || (ended.is_none() && self.lock().dedicated) {
            return;
        }
        let begun = Instant::now();
        match checkpoints.write(|| self.saved(reading, ended), || store.checkpoint()) {
            Ok(()) => metrics::histogram!("rorqual_checkpoint_seconds").record(begun.elapsed()),
            // The one before stays, from which the upload goes on after a restart.
            Err(error) => tracing::warn!(session = self.id, %error, "no checkpoint"),
        }
    }

    fn saved(&self, reading: Option<&LogRun>, ended: Option<SessionEnd>) -> SavedSession {
        let mut saved = SavedSession::new(self.name(), self.created, self.analyzer.analysis().counts());
        saved.size = self.size();
        saved.metadata.clone_from(&self.announced.metadata);
        saved.fingerprint.clone_from(&self.announced.fingerprint);
        saved.parts = self.saved_parts();
        saved.given = self.settings.formats.given.as_ref().map(SavedFormat::new);
        {
            let inner = self.lock();
            saved.format = inner.format.as_ref().map(SavedFormat::new);
            saved.guess.clone_from(&inner.guess);
        }
        saved.own = self.own().as_deref().map(SavedColumns::new);
        if ended.is_some() {
            (saved.offset, saved.decoded_bytes) = (self.offset(), self.control.decoded_bytes());
        } else if let Some(SuspendedInput { place, lines, .. }) = reading.map(LogRun::left) {
            (saved.offset, saved.skipping, saved.lines) = (place.offset, place.skipping, lines);
            saved.decoded_bytes = place.offset;
        }
        saved.ended = ended;
        saved
    }

    /// Keeps a session of which nothing has come.
    pub(crate) fn keep_new(&self) {
        self.keep(None, None);
    }

    /// Writes a checkpoint of anything newer than the last, where no part of the session runs. One
    /// that failed a moment ago is tried again only where this is the `last` try. One session after
    /// another, as each takes memory for that.
    pub(crate) async fn keep_later(self: Arc<Self>, last: bool) {
        // A run of its own has its reader to the end, and nothing is kept of it before.
        if !self.checkpoints.as_ref().is_some_and(Checkpoints::is_outdated) || self.has_own_turn() {
            return;
        }
        let _turn = self.turns().keeping().await;
        // A panic was reported where it was.
        let _ = tokio::task::spawn_blocking(move || self.keep_now(last)).await;
    }

    fn keep_now(&self, last: bool) {
        // A slice that has it writes a checkpoint at its end, or leaves it to the next try.
        let Some(reading) = try_lock(&self.reading) else { return };
        let reading = reading.as_ref().and_then(UploadRun::log);
        if !last && self.checkpoints.as_ref().is_some_and(Checkpoints::failed) {
            return;
        }
        let end = match &self.lock().phase {
            Phase::Ended { end, ran: Some(_) } => Some(end.clone()),
            // It is told at once that it has finished, or nobody knows where it failed.
            over if over.is_over() => return,
            _ => None,
        };
        self.keep(reading, end);
    }

    /// Syncs the latest checkpoint, so that it outlasts an end of the whole machine; a few sessions
    /// at a time. A run may be on its way.
    pub(crate) async fn sync_later(self: Arc<Self>) {
        if !self.checkpoints.as_ref().is_some_and(Checkpoints::is_newer) {
            return;
        }
        let _place = self.turns().syncing().await;
        // A panic was reported where it was.
        let _ = tokio::task::spawn_blocking(move || self.sync()).await;
    }

    /// Taking the rows away does not wait for this.
    fn sync(&self) {
        let (Some(checkpoints), Some(journal)) = (&self.checkpoints, self.rows.store().map(|store| store.journal())) else {
            return;
        };
        if let Err(error) = checkpoints.sync(|| journal?.sync_data()) {
            tracing::warn!(session = self.id, %error, "a checkpoint is not on the disk for sure");
        }
    }

    /// True if it outlives the server.
    pub(crate) fn is_kept(&self) -> bool {
        self.checkpoints.is_some()
    }

    /// True if the whole state outlasts an end of the whole machine, and nobody has cut its file of
    /// rows; `None` where it does not outlive the server.
    pub(super) fn kept(&self) -> Option<bool> {
        let has_whole_rows = |path: &Path| self.rows.store().is_none_or(|store| store.has_whole_journal(path));
        self.checkpoints.as_ref().map(|checkpoints| checkpoints.are_whole() && has_whole_rows(&checkpoints.rows_path()))
    }

    /// Nothing of it is kept any longer. Blocks: files of rows are large.
    pub(crate) fn forget(&self) {
        self.checkpoints.iter().for_each(Checkpoints::remove);
    }

    /// The same, on a thread that may block.
    pub(super) async fn forget_later(self: &Arc<Self>) {
        if self.is_kept() {
            let session = Arc::clone(self);
            // A panic was reported where it was.
            let _ = tokio::task::spawn_blocking(move || session.forget()).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault_tests::{log, runtime, send, sessions};
    use crate::ingest::upload::Intake;
    use crate::limits::{CHECKPOINT_RETRY, HELD_BYTES_FREE, INTERRUPTED_GRACE, SYNCS_MAX};
    use crate::session::{NewUpload, SessionState};
    use crate::state::{StateDir, content};
    use futures_util::FutureExt;
    use serde_json::Value;
    use std::os::unix::fs::MetadataExt;
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;
    use tempfile::TempDir;
    use tokio::task::{JoinHandle, spawn_blocking, yield_now};
    use tokio::time::{sleep, timeout};

    /// A session of a log of that size that is kept.
    fn kept(size: usize) -> (TempDir, Arc<Session>, [PathBuf; 2]) {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let sessions = sessions(1, Some(StateDir::open(folder.path()).expect("it is empty")));
        let announced = NewUpload::upload("test.log".to_owned(), Some(size as u64)).expect("a short name");
        let session = sessions.create(announced, None).unwrap_or_else(|error| panic!("{}", error.message()));
        let files = ["session", "synced"].map(|extension| folder.path().join(session.id()).with_extension(extension));
        (folder, session, files)
    }

    fn saved(path: &Path) -> Value {
        let bytes = content(path);
        serde_json::from_slice(bytes.split(|byte| *byte == b'\n').nth(1).expect("a line")).expect("JSON")
    }

    /// The field `kept` of a session.
    fn is_kept(session: &Session) -> Value {
        serde_json::to_value(session.view(Duration::ZERO)).expect("JSON")["kept"].take()
    }

    #[test]
    fn an_upload_has_finished_once_the_disk_has_it_and_holds_up_nobody_until_then() {
        runtime().block_on(async {
            let log = log(1_000);
            let (_folder, session, [latest, synced]) = kept(log.len());
            let mut places = Vec::new();
            for _ in 0..SYNCS_MAX {
                places.push(session.turns().syncing().await);
            }
            let (sending, bytes) = (Arc::clone(&session), log.clone());
            let upload = tokio::spawn(async move { send(&sending, &bytes, usize::MAX, usize::MAX).await });
            while !session.is_over() {
                yield_now().await;
            }
            drop(timeout(Duration::from_secs(60), session.turns().acquire_shared()).await.expect("others have their turn"));
            assert_eq!(session.state(), SessionState::Receiving);
            // Neither is it kept anew as if it went on, nor ended twice.
            Arc::clone(&session).keep_later(true).await;
            session.cancel();
            assert_eq!(saved(&latest)["ended"]["state"], "finished");
            assert!(!synced.exists());
            places.clear();
            drop(upload.await.expect("no panic"));
            session.ended().await;
            assert_eq!((session.state(), is_kept(&session)), (SessionState::Finished, Value::Bool(true)));
            assert_eq!(saved(&synced), saved(&latest));
        });
    }

    #[test]
    fn a_session_is_kept_where_something_came_and_only_then() {
        runtime().block_on(async {
            let log = log(1_000);
            let (folder, session, [latest, _]) = kept(log.len());
            // Each checkpoint is a file of its own, whose number is not given again while it has
            // another name.
            let stay = |name| std::fs::hard_link(&latest, folder.path().join(name)).expect("it is there");
            let number = || std::fs::metadata(&latest).expect("it is there").ino();
            let keep = || Arc::clone(&session).keep_later(true);
            stay("first");
            let first = number();
            // A part that is refused.
            Intake::claim(Arc::clone(&session), 0, None).expect("nobody else has it").give_back();
            keep().await;
            assert_eq!(number(), first);
            send(&session, &log, 10_000, 2).await.expect_err("it breaks off");
            keep().await;
            let second = number();
            assert_ne!(second, first);
            let offset = saved(&latest)["offset"].as_u64().expect("an offset");
            assert!(offset <= 20_000 && offset > 19_000, "{offset}");
            stay("second");
            keep().await;
            assert_eq!(number(), second);
        });
    }

    #[test]
    fn a_checkpoint_that_failed_is_made_although_nothing_comes() {
        runtime().block_on(async {
            let log = log(1_000);
            let (_folder, session, [latest, _]) = kept(log.len());
            Arc::clone(&session).sync_later().await;
            assert_eq!(is_kept(&session), Value::Bool(true), "nothing came yet");
            std::fs::remove_file(&latest).expect("it is there");
            std::fs::create_dir(&latest).expect("there is none");
            send(&session, &log, usize::MAX, usize::MAX).await.expect("its rows are there");
            // It can't wait for the disk for ever, but it says so.
            assert_eq!((session.state(), is_kept(&session)), (SessionState::Finished, Value::Bool(false)));
            std::fs::remove_dir(&latest).expect("it is empty");
            Arc::clone(&session).keep_later(true).await;
            let saved = saved(&latest);
            assert_eq!((&saved["ended"]["state"], &saved["offset"]), (&"finished".into(), &log.len().into()));
            assert_eq!(is_kept(&session), Value::Bool(false), "a power cut may take it");
            Arc::clone(&session).sync_later().await;
            assert_eq!(is_kept(&session), Value::Bool(true));
            assert_eq!(is_kept(&crate::fault_tests::session(None, None)), Value::Null);
        });
    }

    #[test]
    fn what_left_the_folder_is_not_kept() {
        runtime().block_on(async {
            let log = log(1_000);
            for taken in [vec!["rows"], vec!["session", "synced"], vec!["session", "synced", "rows"]] {
                let (folder, session, _) = kept(log.len());
                send(&session, &log, usize::MAX, usize::MAX).await.expect("its rows are there");
                assert_eq!((session.state(), is_kept(&session)), (SessionState::Finished, Value::Bool(true)));
                for extension in &taken {
                    std::fs::remove_file(folder.path().join(session.id()).with_extension(extension)).expect("it is there");
                }
                assert_eq!(is_kept(&session), Value::Bool(false), "{taken:?}");
            }
            // One whose rows were cut.
            let (folder, session, _) = kept(log.len());
            send(&session, &log, usize::MAX, usize::MAX).await.expect("its rows are there");
            assert_eq!(is_kept(&session), Value::Bool(true));
            let rows = std::fs::File::options().write(true).open(folder.path().join(session.id()).with_extension("rows"));
            let rows = rows.expect("a journal");
            rows.set_len(rows.metadata().expect("it is there").len() - 1).expect("it can be cut");
            assert_eq!(is_kept(&session), Value::Bool(false), "its last byte is gone");
            // One whose rows are a copy of them, to which nothing more would come.
            let (folder, session, _) = kept(log.len());
            send(&session, &log, usize::MAX, usize::MAX).await.expect("its rows are there");
            assert_eq!(is_kept(&session), Value::Bool(true));
            let rows = folder.path().join(session.id()).with_extension("rows");
            let copy = folder.path().join("copy");
            std::fs::copy(&rows, &copy).expect("there is room");
            std::fs::rename(&copy, &rows).expect("the same folder");
            assert_eq!(is_kept(&session), Value::Bool(false), "it is another file");
            // A session whose rows gave their place to another one.
            let (_folder, session, [latest, _]) = kept(log.len());
            send(&session, &log, usize::MAX, usize::MAX).await.expect("its rows are there");
            session.retire().await;
            assert!(!latest.exists());
            assert_eq!(is_kept(&session), Value::Bool(false));
        });
    }

    #[tokio::test(start_paused = true)]
    async fn a_checkpoint_that_failed_is_tried_again_by_a_round_but_not_at_once() {
        let log = log(1_000);
        let (_folder, session, [latest, _]) = kept(2 * log.len());
        std::fs::remove_file(&latest).expect("it is there");
        std::fs::create_dir(&latest).expect("there is none");
        send(&session, &log, usize::MAX, 1).await.expect_err("it breaks off");
        Arc::clone(&session).keep_later(true).await;
        let begun = tokio::time::Instant::now();
        std::fs::remove_dir(&latest).expect("it is empty");
        while !latest.exists() {
            assert!(begun.elapsed() <= 2 * CHECKPOINT_RETRY, "it is not tried again");
            sleep(Duration::from_secs(1)).await;
            Arc::clone(&session).keep_later(false).await;
        }
        assert_eq!(begun.elapsed(), CHECKPOINT_RETRY);
        assert_eq!(saved(&latest)["offset"], log.len());
    }

    /// Makes the disk take as long for a session's checkpoint as the returned function is not
    /// called: a pipe is read once somebody writes.
    fn slow(latest: &Path) -> impl FnOnce() + use<> {
        std::fs::remove_file(latest).expect("it is there");
        assert!(Command::new("mkfifo").arg(latest).status().expect("mkfifo").success());
        let latest = latest.to_owned();
        move || assert!(Command::new("sh").args(["-c", ": > \"$0\""]).arg(latest).status().expect("a shell").success())
    }

    #[test]
    fn a_slow_disk_holds_up_neither_other_sessions_nor_who_takes_the_rows() {
        runtime().block_on(async {
            let folder = tempfile::tempdir().expect("a folder for temporary files");
            let sessions = sessions(2, Some(StateDir::open(folder.path()).expect("it is empty")));
            let [other, waits] = [(), ()].map(|()| {
                let announced = NewUpload::upload("test.log".to_owned(), None).expect("a short name");
                sessions.create(announced, None).unwrap_or_else(|error| panic!("{}", error.message()))
            });
            let file = |session: &Session, extension| folder.path().join(session.id()).with_extension(extension);
            let [others, its] = [&other, &waits].map(|session| file(session, "synced"));
            assert!(!others.exists() && !its.exists());
            let goes_on = slow(&file(&waits, "session"));
            let (syncing, all) = (tokio::spawn(async move { sessions.sync_all().await }), Duration::from_secs(60));
            let synced = async {
                while !others.exists() {
                    sleep(Duration::from_millis(1)).await;
                }
                waits.rows().release().await;
            };
            let in_time = timeout(all, synced).await;
            goes_on();
            syncing.await.expect("no panic");
            in_time.expect("neither waits for the disk");
            assert!(its.exists());
        });
    }

    #[test]
    fn others_are_kept_while_a_session_that_was_cancelled_has_a_lap() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let log = log(1_000);
            let (_folder, session, [latest, _]) = kept(2 * log.len());
            send(&session, &log, usize::MAX, 1).await.expect_err("it breaks off");
            let (goes_on, has_it) = lap(&session);
            session.cancel();
            for _ in 0..10 {
                yield_now().await;
            }
            assert!(session.turns().keeping().now_or_never().is_some(), "nobody has the turn");
            goes_on.send(()).expect("it waits");
            assert!(has_it.await.expect("no panic"));
            session.ended().await;
            assert_eq!(saved(&latest)["ended"]["state"], "cancelled");
        });
    }

    /// Holds the session's reader, as a slice or a checkpoint would, until it is told to go on;
    /// returns whether there was one.
    fn lap(session: &Arc<Session>) -> (Sender<()>, JoinHandle<bool>) {
        let (goes_on, told) = channel();
        let (begins, begun) = channel();
        let session = Arc::clone(session);
        let has_it = spawn_blocking(move || {
            let _reading = lock(&session.reading);
            begins.send(()).expect("it is waited for");
            told.recv_timeout(Duration::from_secs(10)).is_ok()
        });
        begun.recv().expect("it begins");
        (goes_on, has_it)
    }

    #[test]
    fn a_place_for_the_start_of_a_line_is_taken_back_with_nobody_waiting_for_the_disk() {
        runtime().block_on(async {
            let log = [log(1_000), b"x".repeat(2 * HELD_BYTES_FREE)].concat();
            let (_folder, session, _) = kept(2 * log.len());
            send(&session, &log, usize::MAX, 1).await.expect_err("it breaks off");
            assert!(session.turns().hold().is_none(), "it has the only one");
            session.lock().phase.parked().expect("it is away").since -= INTERRUPTED_GRACE;
            let (goes_on, has_it) = lap(&session);
            session.leave_held();
            goes_on.send(()).expect("it waits");
            assert!(has_it.await.expect("no panic"), "the disk was waited for");
            while session.turns().hold().is_none() {
                yield_now().await;
            }
            assert_eq!(session.offset(), (log.len() - 2 * HELD_BYTES_FREE) as u64);
        });
    }
}
