//! The runs of a session: over a file to its end, or over an upload a turn at a time.

use super::Session;
use super::locks::lock;
use super::outcome::Failure;
use super::phase::Phase;
use super::table_resources::SpooledTable;
use super::table_source::TableSource;
use super::upload_run::UploadRun;
use crate::admission::scheduler::WorkerGrant as ParseTurn;
use crate::ingest::feed::{FeedSource, SliceOutcome};
use crate::ingest::first_bytes::is_enough;
use crate::state::Checkpoints;
use rorqual_accesslog::analyze::{AnalyzeError, LogRun, SliceEnd};
use rorqual_accesslog::format::{LogFormat, detect};
use rorqual_accesslog::report::Guess;
use rorqual_pipe::decode::is_encoded;
use rorqual_pipe::limits::{BLOCK_BYTES, FOLLOW_EVERY};
use rorqual_pipe::{BlockSource, BufferPool, FollowStatus, Input, is_at, reason};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Bytes by which a compressed stream is told from a log: what comes of them may have come to an
/// end, and waits for no more.
const ENCODED_START_BYTES: usize = 16 << 10;

impl Session {
    /// Analyses an open file to its end. Blocks.
    pub(crate) fn run_file(self: &Arc<Self>, name: String, file: File) {
        if let Some(cached) = self.cached() {
            return self.run_cached(cached, None);
        }
        match Input::from_file(name, file).map(Input::into_utf8) {
            Ok(input) => self.run_input(input),
            Err(error) => self.step(|phase| phase.fail(Failure::Unreadable { message: error.to_string() })),
        }
    }

    /// Analyses a stream or a file that grows. Blocks for as long as it goes on.
    pub(crate) fn run_following(self: &Arc<Self>, mut input: Input, path: &Path) {
        if self.cached().is_none() && self.settings.formats.given.is_none() {
            let guard = FailOnUnwind(self);
            let of_stream = self.table_of_stream(&mut input);
            let of_empty = if of_stream.is_none() { self.table_of_empty(&input, path) } else { None };
            std::mem::forget(guard);
            if let Some(format) = of_stream {
                return self.run_streamed_table(input, format);
            }
            if let Some(table) = of_empty {
                return self.run_table(table);
            }
        }
        let formats = self.settings.formats.clone();
        let input = input.into_utf8().with_first(move |head| is_enough(head, &formats));
        match self.cached() {
            Some(cached) => self.run_cached(cached, Some(input)),
            None => self.run_input(input),
        }
    }

    /// The format of a stream that is a table and no log, by its start.
    fn table_of_stream(&self, input: &mut Input) -> Option<String> {
        if input.followed().is_some() || !self.begin_reading(Vec::new()) {
            return None;
        }
        let formats = &self.settings.formats;
        let is_start = |head: &[u8]| if is_encoded(head) { head.len() >= ENCODED_START_BYTES } else { is_enough(head, formats) };
        // Whoever reads on meets an error again.
        let start = input.start(BLOCK_BYTES, is_start, &self.control).ok()?;
        if start.is_empty() { None } else { self.table_format(&start, self.analyzer.pool()) }
    }

    /// The table that a followed file became which was empty: its first line tells. Blocks until
    /// there is one.
    fn table_of_empty(&self, input: &Input, path: &Path) -> Option<Box<dyn TableSource>> {
        let file = input.followed_file().ok()??;
        let is_empty = file.metadata().is_ok_and(|data| data.len() == 0);
        if !is_empty || !self.begin_reading(input.followed().into_iter().collect()) {
            return None;
        }
        let mut start = Vec::new();
        // Where it was moved, another one has its name; and what has come to it is a log.
        while file.metadata().is_ok_and(|data| data.len() == 0) || is_at(&file, path) {
            let has_bytes = std::fs::metadata(path).is_ok_and(|data| data.is_file() && data.len() > 0);
            let open = || Input::open_stored(path).ok()?.file_again().ok()?;
            if let Some(own) = has_bytes.then(open).flatten() {
                start.resize(BLOCK_BYTES, 0);
                let read = own.read_at(&mut start, 0).ok()?;
                let lines = start[..read].rsplitn(2, |byte| *byte == b'\n').nth(1).unwrap_or_default();
                if !lines.trim_ascii().is_empty() || read == start.len() {
                    return self.shared.tables.follow(path);
                }
            }
            if self.control.stopped_within(FOLLOW_EVERY) {
                return None;
            }
        }
        None
    }

    /// Spools a stream that is a table, and reads it once it has come to its end. Blocks.
    fn run_streamed_table(self: &Arc<Self>, input: Input, format: String) {
        if !self.begin_reading(Vec::new()) {
            return;
        }
        let guard = FailOnUnwind(self);
        self.lock().table = Some(format);
        self.forget();
        match self.spooled(input) {
            Ok(_) if self.control.stopped() => self.end_by(None),
            Ok(spooled) => self.read_spooled(&spooled, self.shared.tables.turn_blocking()),
            Err((failure, message)) => {
                let source = self.source_so_far(Some(message));
                self.end(Some(failure), vec![source]);
            }
        }
        std::mem::forget(guard);
    }

    /// A stream in a temporary file; or the failure, with its message.
    fn spooled(&self, input: Input) -> Result<SpooledTable, (Failure, String)> {
        let no_room = |message: String| (Failure::TableNoRoom { message: message.clone() }, message);
        let unreadable = |message: String| (Failure::Unreadable { message: message.clone() }, message);
        let mut spooled = self.shared.tables.spool().map_err(no_room)?;
        let mut reader = input.into_reader(&self.control).map_err(|error| unreadable(error.to_string()))?;
        let mut piece = vec![0; BLOCK_BYTES];
        loop {
            match reader.read(&mut piece) {
                Ok(0) => return Ok(spooled),
                // A file knows of no stop.
                Ok(_) if self.control.stopped() => return Ok(spooled),
                Ok(read) => {
                    spooled.write(&piece[..read]).map_err(no_room)?;
                    self.control.stored(read as u64);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(cause) => return Err(unreadable(format!("{}: cannot read: {}", self.name(), reason(&cause)))),
            }
        }
    }

    /// Analyses an input of our own instead of an upload. Blocks.
    pub(crate) fn run_input(self: &Arc<Self>, input: Input) {
        if !self.begin_reading(input.followed().into_iter().collect()) {
            return;
        }
        let guard = FailOnUnwind(self);
        let begun = Instant::now();
        let ran = self.analyzer.run::<std::io::Sink>(input, &self.control, |found, _| self.found(found), None);
        metrics::histogram!("rorqual_parse_seconds").record(begun.elapsed());
        match ran {
            Ok(ran) => self.end_by(ran.error.as_ref()),
            Err(unknown) => self.end_unknown(&unknown),
        }
        std::mem::forget(guard);
    }

    /// Begins to read a file, which may be followed; false where it was stopped before.
    pub(super) fn begin_reading(&self, followed: Vec<FollowStatus>) -> bool {
        let mut inner = self.lock();
        self.change(&mut inner, |phase| (phase.read(!followed.is_empty()), ()));
        let begun = matches!(inner.phase, Phase::Reading { .. });
        if begun {
            inner.followed = followed;
        }
        begun
    }

    /// Runs all that its feed gives it in one slice. Blocks.
    pub(crate) fn run_slice(self: &Arc<Self>, turn: &ParseTurn) -> SliceOutcome {
        let guard = FailOnUnwind(self);
        let begun = Instant::now();
        let mut guarded = lock(&self.reading);
        // It was stopped before.
        if self.is_over() {
            self.inlet.close();
            std::mem::forget(guard);
            return SliceOutcome::Ended;
        }
        self.checkpoints.iter().for_each(Checkpoints::outdate);
        let open = || if self.has_parts() { Ok(Some(UploadRun::Log(self.open_part(turn)))) } else { self.open_run(turn) };
        let outcome = match guarded.take().map_or_else(open, |run| Ok(Some(run))) {
            Ok(None) => SliceOutcome::Paused { held_bytes: 0 },
            Ok(Some(UploadRun::Log(run))) => self.run_log_slice(run, &mut guarded, turn),
            Ok(Some(UploadRun::Table { source, spooled })) => self.spool_slice(source, spooled, &mut guarded),
            Err(message) => self.end_without_room(message),
        };
        metrics::histogram!("rorqual_parse_seconds").record(begun.elapsed());
        std::mem::forget(guard);
        outcome
    }

    /// A run for an upload, by its first block; `None` where that has not come.
    fn open_run(&self, turn: &ParseTurn) -> Result<Option<UploadRun>, String> {
        let mut source = self.inlet.source(&self.control);
        // It has no errors.
        let first = source.next_block().unwrap_or_default();
        if first.is_none() && source.paused() {
            return Ok(None);
        }
        let format = first.as_ref().and_then(|block| self.table_format(&block.lease[block.range.clone()], &turn.pool));
        source.put_back(first);
        if format.is_some() {
            self.lock().table = format;
            // It has no state that the next server could go on with.
            self.forget();
            return Ok(Some(UploadRun::Table { source, spooled: self.shared.tables.spool()? }));
        }
        let input = Input::from_source(self.name().to_owned(), Box::new(source)).into_utf8();
        Ok(Some(UploadRun::Log(Box::new(self.analyzer.open(input, &turn.pool, &self.control, None)))))
    }

    /// A run for the next of several files that are uploaded.
    fn open_part(&self, turn: &ParseTurn) -> Box<LogRun> {
        let name = self.parts().get(self.parts_ended()).map_or_else(String::new, |part| part.name.clone());
        self.begin_part(&name);
        let input = Input::from_source(name, Box::new(self.inlet.source(&self.control))).into_utf8();
        Box::new(self.analyzer.open(input, &turn.pool, &self.control, None))
    }

    /// The format of something that begins so, where it is a table and no log.
    fn table_format(&self, first: &[u8], pool: &BufferPool) -> Option<String> {
        let formats = &self.settings.formats;
        if formats.given.is_some() || detect(first, &formats.candidates).is_ok() {
            return None;
        }
        let head = self.analyzer.start_of(first.to_vec(), pool);
        if detect(&head, &formats.candidates).is_ok() { None } else { self.shared.tables.format(self.name(), &head) }
    }

    /// True if an upload may be a table by the whole lines that came, of which none tells a log's
    /// format.
    pub(crate) fn may_be_table(&self, lines: &[u8]) -> bool {
        self.settings.formats.given.is_none() && self.shared.tables.format(self.name(), lines).is_some()
    }

    fn run_log_slice(self: &Arc<Self>, mut run: Box<LogRun>, place: &mut Option<UploadRun>, turn: &ParseTurn) -> SliceOutcome {
        let ended = loop {
            let ended = match self.analyzer.run_slice(&mut run, turn.threads, &self.control, |found, _| self.found(found)) {
                Ok(SliceEnd::Paused) => {
                    if self.checkpoints.as_ref().is_some_and(Checkpoints::due) {
                        self.keep(Some(&run), None);
                    }
                    let held_bytes = run.held_bytes();
                    *place = Some(UploadRun::Log(run));
                    return SliceOutcome::Paused { held_bytes };
                }
                ended => ended,
            };
            // With a decoder goes its window.
            drop(run);
            if !self.has_parts() {
                break ended;
            }
            match self.next_part(ended, turn) {
                Some(next) => run = next,
                None => {
                    self.inlet.close();
                    self.end_by_parts();
                    return SliceOutcome::Ended;
                }
            }
        };
        self.inlet.close();
        match ended {
            Ok(SliceEnd::Failed(error)) => self.end_by(Some(&error)),
            Ok(_) => self.end_by(None),
            Err(unknown) => self.end_unknown(&unknown),
        }
        SliceOutcome::Ended
    }

    /// Notes the end of one of several files; the run of the next, where there is one.
    fn next_part(&self, ended: Result<SliceEnd, AnalyzeError>, turn: &ParseTurn) -> Option<Box<LogRun>> {
        self.end_part(ended.map(|ended| if let SliceEnd::Failed(error) = ended { Some(error) } else { None }));
        let ended = self.parts_ended();
        if ended >= self.parts().len() || self.control.stopped() {
            return None;
        }
        // Of one that failed the rest still comes.
        self.inlet.skip_file(ended - 1);
        Some(self.open_part(turn))
    }

    /// Spools the bytes at hand of a table.
    fn spool_slice(
        self: &Arc<Self>,
        mut source: FeedSource,
        mut spooled: SpooledTable,
        place: &mut Option<UploadRun>,
    ) -> SliceOutcome {
        // It has no errors.
        while let Some(block) = source.next_block().unwrap_or_default() {
            if let Err(message) = spooled.write(&block.lease[block.range.clone()]) {
                return self.end_without_room(message);
            }
        }
        if self.control.stopped() {
            self.inlet.close();
            self.end_by(None);
            return SliceOutcome::Ended;
        }
        let outcome = if source.paused() { SliceOutcome::Paused { held_bytes: 0 } } else { SliceOutcome::Uploaded };
        *place = Some(UploadRun::Table { source, spooled });
        outcome
    }

    fn end_without_room(self: &Arc<Self>, message: String) -> SliceOutcome {
        self.inlet.close();
        let source = self.source_so_far(Some(message.clone()));
        self.end(Some(Failure::TableNoRoom { message }), vec![source]);
        SliceOutcome::Ended
    }

    pub(super) fn found(&self, detection: &rorqual_accesslog::format::Detection) {
        {
            let mut inner = self.lock();
            if self.has_parts() {
                inner.part_format = Some(detection.format.name().to_owned());
                Self::note_part_format(&mut inner, &detection.format);
            } else {
                inner.format = Some(detection.format.clone());
            }
            inner.guess = Guess::new(detection);
        }
        self.store_anew(&detection.format);
    }

    /// Puts a store with the columns of the log's own in the place of the empty one. Where there
    /// can be none, the log is read without them, and the log of the server says so.
    fn store_anew(&self, format: &LogFormat) {
        // Rows of another file are there: a further column has a place among the late ones.
        if self.rows.store().is_some_and(|store| store.rows() > 0) {
            return;
        }
        let Some(made) = self.stores.of_format(format) else { return };
        match self.rows.replace(|| made) {
            Some(Ok(store)) => {
                self.lock().schema = store.schema();
                self.recordings.redirect(&store);
                // What is kept of the first store goes with its journal.
                self.keep_new();
                self.checkpoints.iter().for_each(Checkpoints::outdate);
            }
            Some(Err(error)) => {
                tracing::warn!(session = self.id, error = error.message(), "the columns of the log's own have no store");
            }
            None => {}
        }
    }
}

/// Sets a session to failed when its run panics: nothing else would, and a waiter for its end would
/// wait for ever.
pub(super) struct FailOnUnwind<'a>(pub(super) &'a Session);

impl Drop for FailOnUnwind<'_> {
    fn drop(&mut self) {
        self.0.inlet.close();
        let message = "the analysis stopped by a defect of rorqual; its log has more";
        self.0.step(|phase| phase.fail(Failure::Internal { message: message.to_owned() }));
    }
}
