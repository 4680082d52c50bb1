//! A file of the server whose rows are kept for the next time that it is opened (the cache).

use super::Session;
use super::cached_file::{CachedFile, ReadSoFar};
use super::locks::lock;
use super::outcome::{SessionEnd, SessionState};
use super::phase::Phase;
use super::runs::FailOnUnwind;
use super::table_source::TablePoint;
use crate::limits::CACHED_PART_BYTES;
use crate::saved_schema::SavedSchema;
use crate::state::{SavedColumns, SavedFile, SavedFormat, SavedSession, SavedTable};
use data_encoding::BASE64;
use rorqual_accesslog::analyze::AnalyzeError;
use rorqual_crossfilter::RowStore;
use rorqual_pipe::{Error, ErrorClass, Input, last_line_end, reason};
use serde::Serialize;
use std::fs::File;
use std::io::{self};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tokio::runtime::Handle;

const CHANGED: &str = "the file, or its name or mode, was changed while it was read";

/// Reopening of a file, as clients see it.
#[derive(Debug, Serialize)]
pub(crate) struct ReopenedView {
    /// Bytes of the file whose rows were kept; those after them were read.
    kept_bytes: u64,
}

impl Session {
    /// The same with the cache's entry of its file, which goes on where that was `saved`.
    pub(crate) fn with_cached(mut self, mut cached: CachedFile, saved: Option<SavedSession>) -> Self {
        if let Some(saved) = saved {
            let format = saved.format.as_ref().and_then(SavedFormat::format);
            cached.resume(&saved, format.clone());
            self.control.resumed(saved.offset, saved.decoded_bytes);
            self.analyzer.analysis().go_on(saved.counts);
            let mut inner = self.lock();
            (inner.format, inner.guess) = (format, saved.guess);
            inner.table = saved.table.map(|table| table.format);
            if cached.is_whole(&self.announced) {
                inner.phase = Phase::Ended { end: SessionEnd::Finished, ran: None };
            }
            drop(inner);
        }
        self.cached = Some(cached);
        self
    }

    /// The cache's entry of its file.
    pub(crate) fn cached(&self) -> Option<&CachedFile> {
        self.cached.as_ref()
    }

    /// True if rows of its file that came from the cache turned out to be damaged.
    pub(crate) fn has_damaged_rows(&self) -> bool {
        self.cached.is_some() && self.rows.store().is_some_and(|store| store.is_damaged())
    }

    /// Bytes of its file whose rows came from the cache.
    pub(crate) fn kept_bytes(&self) -> u64 {
        self.cached.as_ref().map_or(0, CachedFile::taken_bytes)
    }

    /// The part of its file that came from the cache, for clients.
    pub(super) fn reopened(&self) -> Option<ReopenedView> {
        let kept_bytes = self.kept_bytes();
        (kept_bytes > 0).then_some(ReopenedView { kept_bytes })
    }

    /// Analyses a file from where the cache has it to its end, and keeps its rows; then what a file
    /// that is followed gets. Blocks.
    pub(super) fn run_cached(self: &Arc<Self>, cached: &CachedFile, followed: Option<Input>) {
        if !self.begin_reading(followed.iter().filter_map(Input::followed).collect()) {
            return;
        }
        let guard = FailOnUnwind(self);
        let begun = Instant::now();
        let is_followed = followed.is_some();
        let ran = self.read_cached(cached).and_then(|ended| match (ended, followed) {
            (None, _) if !is_followed && !self.control.stopped() && !cached.is_as_begun() => Ok(Some(self.changed())),
            (None, Some(input)) if !self.control.stopped() => {
                let start = cached.lock().offset;
                self.run_part(cached, input, start..u64::MAX)
            }
            (ended, _) => Ok(ended),
        });
        metrics::histogram!("rorqual_parse_seconds").record(begun.elapsed());
        match ran {
            Ok(error) => self.end_by(error.as_ref()),
            Err(unknown) => self.end_unknown(&unknown),
        }
        std::mem::forget(guard);
    }

    /// The error of a file over which something was written while it was read.
    pub(super) fn changed(&self) -> Error {
        let message = "it was changed while it was read: its rows may be of both versions";
        Error::new(ErrorClass::Corrupt, self.name(), message)
    }

    /// Reads the rest of a file; the error that ended it early.
    fn read_cached(&self, cached: &CachedFile) -> Result<Option<Error>, AnalyzeError> {
        let failed = |cause: io::Error| Error::io(self.name(), "cannot read", cause);
        let size = match cached.file.metadata() {
            Ok(data) => data.len(),
            Err(cause) => return Ok(Some(failed(cause))),
        };
        let input = match cached.input(self.name()) {
            Ok(input) => input,
            Err(error) => return Ok(Some(error)),
        };
        if !input.is_file() {
            // What was decoded can't be gone on with in the middle.
            let error = self.run_part(cached, input, 0..size)?;
            if error.is_none() && !self.control.stopped() {
                self.keep_file(cached, size, false, true);
            }
            return Ok(error);
        }
        let whole_lines = last_line_end(&cached.file, cached.lock().offset, size).map_err(failed);
        let end = match whole_lines {
            Ok(end) => end,
            Err(error) => return Ok(Some(error)),
        };
        loop {
            let start = cached.lock().offset;
            if start >= end {
                break;
            }
            let part = part_end(&cached.file, start, end);
            let input = match cached.input(self.name()) {
                Ok(input) => input,
                Err(error) => return Ok(Some(error)),
            };
            let error = self.run_part(cached, input, start..part)?;
            if error.is_some() || self.control.stopped() {
                return Ok(error);
            }
            self.keep_file(cached, part, true, part == end);
        }
        if end == size || self.is_followed() {
            return Ok(None);
        }
        // The last line may go on when the file is opened next.
        match cached.input(self.name()) {
            Ok(input) => self.run_part(cached, input, end..size),
            Err(error) => Ok(Some(error)),
        }
    }

    /// Runs a part of the file that begins where it was left.
    fn run_part(&self, cached: &CachedFile, input: Input, range: Range<u64>) -> Result<Option<Error>, AnalyzeError> {
        let ReadSoFar { lines, format, .. } = cached.lock().clone();
        let (end, input) = (range.end, if input.is_file() || range.start > 0 { input.within(range) } else { input });
        let ran =
            self.analyzer.run_after::<io::Sink>((lines, format), input, &self.control, |found, _| self.found(found), None)?;
        if ran.error.is_none() && !self.control.stopped() {
            *cached.lock() = ReadSoFar { offset: end, lines: ran.source.lines, format: ran.format };
        }
        Ok(ran.error)
    }

    /// Keeps the rows of a table that was read to its end, or to a point from which it may go on.
    pub(super) fn keep_table(&self, cached: &CachedFile, point: Option<TablePoint>) {
        let offset = point.as_ref().map_or(cached.entry.identity.size(), |point| point.offset);
        let resumes = point.is_some();
        if resumes || cached.entry.is_unchanged() {
            *lock(&cached.point) = point;
            self.keep_file(cached, offset, resumes, true);
        } else {
            cached.entry.give_up(CHANGED);
        }
    }

    /// Writes a checkpoint of a file of which so many bytes were read. In the turn of a question,
    /// as it takes memory.
    fn keep_file(&self, cached: &CachedFile, offset: u64, resumes: bool, is_last: bool) {
        if cached.entry.checkpoints.removed() {
            return;
        }
        if !cached.is_as_begun() {
            return cached.entry.give_up(CHANGED);
        }
        let turn = Handle::current().block_on(self.rows.acquire());
        let Some(store) = self.rows.store() else { return };
        let begun = Instant::now();
        let kept = self.saved_file(cached, &store, offset, resumes).and_then(|saved| {
            let head = || if is_last { store.checkpoint_counted(&self.control) } else { store.checkpoint() };
            cached.entry.checkpoints.write(|| saved, head)
        });
        drop(turn);
        let kept = kept.map_err(|cause| match store.spill_failure() {
            _ if cause.kind() == io::ErrorKind::Unsupported => "there was no room for them".to_owned(),
            Some(why) => why,
            None => reason(&cause),
        });
        match kept.and_then(|()| cached.entry.make_room()) {
            Ok(()) => metrics::histogram!("rorqual_checkpoint_seconds").record(begun.elapsed()),
            Err(why) => cached.entry.give_up(&why),
        }
    }

    fn saved_file(&self, cached: &CachedFile, store: &RowStore, offset: u64, resumes: bool) -> io::Result<SavedSession> {
        let ReadSoFar { lines, format, .. } = cached.lock().clone();
        // Its name is its path, and that is with the file.
        let mut saved = SavedSession::new("", self.created, self.analyzer.analysis().counts());
        saved.format = format.as_ref().map(SavedFormat::new);
        saved.own = self.own().as_deref().map(SavedColumns::new);
        {
            let inner = self.lock();
            saved.guess.clone_from(&inner.guess);
            let schema = || SavedSchema::of(&store.schema());
            let (has_flaws, read_with) = (store.has_flaws(), self.shared.tables.read_with());
            let columns = cached.point().map(|point| BASE64.encode(&point.columns));
            saved.table =
                inner.table.clone().map(|format| SavedTable { format, schema: schema(), columns, has_flaws, read_with });
        }
        let decoded_bytes = self.control.decoded_bytes() - self.looked[1].load(Ordering::Relaxed);
        (saved.offset, saved.lines, saved.decoded_bytes) = (offset, lines, decoded_bytes);
        saved.ended = Some(SessionEnd::Finished);
        saved.file = Some(SavedFile {
            identity: cached.entry.identity.known(&cached.file, offset, resumes)?,
            lines,
            whole: store.is_whole(),
            memory_bytes: store.memory_bytes(),
            segment_rows: store.segment_rows(),
        });
        Ok(saved)
    }

    /// True if it goes on as its file grows.
    fn is_followed(&self) -> bool {
        self.state() == SessionState::Following
    }
}

/// End of a part of a file from `start` on, where a line ends; `end` is one.
fn part_end(file: &File, start: u64, end: u64) -> u64 {
    let most = start.saturating_add(CACHED_PART_BYTES);
    if most >= end {
        return end;
    }
    // Where no line ends, the rest is one part.
    last_line_end(file, start, most).ok().filter(|found| *found > start).unwrap_or(end)
}
