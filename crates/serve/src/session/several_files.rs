//! A log that is several files: which of them were read, and with what outcome.

use super::Session;
use super::outcome::Failure;
use super::parts_read::PartsRead;
use super::runs::FailOnUnwind;
use crate::ingest::first_bytes::is_enough;
use crate::limits::{FAILED_FILES_NAMED, FILE_ERROR_BYTES_MAX, REPORTED_FILES_MAX};
use crate::state::{LogPart, SavedFormat, SavedParts};
use rorqual_accesslog::analyze::{AnalyzeError, LogRun, SliceEnd};
use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::parse::{LineOutcome, LogParser};
use rorqual_accesslog::report::InputReport;
use rorqual_pipe::limits::FOLLOW_EVERY;
use rorqual_pipe::{Error, FollowStatus, Input};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Instant;

/// Bytes of a file by which it is put in the order of time.
const HEAD_BYTES: usize = 256 << 10;

/// One of several files that are followed.
struct FollowedPart {
    run: Box<LogRun>,
    source: InputReport,
    /// Its end was met once.
    caught_up: bool,
    /// Nothing more comes of it.
    over: bool,
}

fn files_so_far(files: &[FollowedPart]) -> Vec<InputReport> {
    files.iter().map(|file| file.source.clone()).collect()
}

/// Progress of a log that is several files, as clients see it.
#[derive(Debug, Serialize)]
pub(crate) struct PartsView {
    /// All files.
    count: usize,
    /// Files that came to an end.
    read: usize,
    /// Files among them that could not be read to it.
    failed: usize,
    /// Name of the one that is read.
    current: Option<String>,
}

impl Session {
    /// Files of the log, where it is several.
    pub(crate) fn parts(&self) -> &[LogPart] {
        &self.announced.parts
    }

    /// True if it is several files.
    pub(crate) fn has_parts(&self) -> bool {
        !self.announced.parts.is_empty()
    }

    /// Formats of files that have another than the first one.
    pub(crate) fn formats_of_files(&self) -> Arc<HashMap<Box<str>, Arc<LogFormat>>> {
        Arc::clone(&self.lock().parts.formats)
    }

    /// Analyses several files as one log, those that begin first before the others. Blocks.
    pub(crate) fn run_files(self: &Arc<Self>, files: Vec<(String, File)>) {
        if !self.begin_reading(Vec::new()) {
            return;
        }
        let guard = FailOnUnwind(self);
        let begun = Instant::now();
        for (name, file) in self.by_time(files) {
            if self.control.stopped() {
                break;
            }
            self.begin_part(&name);
            let ran = match Input::from_file(name, file).map(Input::into_utf8) {
                Ok(input) => self
                    .analyzer
                    .run::<std::io::Sink>(input, &self.control, |found, _| self.found(found), None)
                    .map(|ran| ran.error),
                Err(error) => Ok(Some(error)),
            };
            self.end_part(ran);
        }
        metrics::histogram!("rorqual_parse_seconds").record(begun.elapsed());
        self.end_by_parts();
        std::mem::forget(guard);
    }

    /// Files that came to an end.
    pub(super) fn parts_ended(&self) -> usize {
        self.lock().parts.ended.len()
    }

    /// State of its files that is kept beside its rows.
    pub(super) fn saved_parts(&self) -> Option<SavedParts> {
        let inner = self.lock();
        let formats = inner.parts.formats.iter().map(|(name, format)| (name.to_string(), SavedFormat::new(format)));
        self.has_parts().then(|| SavedParts {
            files: self.parts().to_vec(),
            read: inner.parts.ended.clone(),
            formats: formats.collect(),
        })
    }

    /// Analyses streams, and files as they grow, as one log. Blocks for as long as they go on.
    pub(crate) fn run_following_files(self: &Arc<Self>, inputs: Vec<Input>) {
        let followed: Vec<FollowStatus> = inputs.iter().filter_map(Input::followed).collect();
        // Where none is a file, the log goes on as long as one of them all the same.
        if !self.begin_reading(followed) {
            return;
        }
        let guard = FailOnUnwind(self);
        let mut files: Vec<FollowedPart> = inputs.into_iter().map(|input| self.followed_part(input)).collect();
        self.lock().parts.following = files_so_far(&files);
        while !self.control.stopped() && files.iter().any(|file| !file.over) {
            let before = self.control.stored_bytes();
            for (number, file) in files.iter_mut().enumerate().filter(|(_, file)| !file.over) {
                self.read_on(file);
                self.lock().parts.following[number] = file.source.clone();
                if self.control.stopped() {
                    break;
                }
            }
            if self.control.stored_bytes() == before {
                let _stopped = self.control.stopped_within(FOLLOW_EVERY);
            }
        }
        {
            let mut inner = self.lock();
            inner.parts.current = None;
            inner.parts.ended = files.into_iter().map(|file| file.source).collect();
            inner.parts.following = Vec::new();
        }
        self.end_by_parts();
        std::mem::forget(guard);
    }

    fn followed_part(&self, input: Input) -> FollowedPart {
        let name = input.name().to_owned();
        let formats = self.settings.formats.clone();
        let input = input.with_first(move |head| is_enough(head, &formats)).pausing();
        let run = self.analyzer.open(input, self.analyzer.pool(), &self.control, None);
        let source = InputReport { name, format: None, guess: None, bytes: 0, lines: 0, error: None };
        FollowedPart { run: Box::new(run), source, caught_up: false, over: false }
    }

    /// Reads a file to its present end, or for its turn.
    fn read_on(self: &Arc<Self>, file: &mut FollowedPart) {
        let (bytes, lines) = (self.control.decoded_bytes(), self.analyzer.analysis().lines().total);
        self.begin_part(&file.source.name);
        // What comes later is little.
        let threads = if file.caught_up { 1 } else { self.analyzer.threads() };
        let ran = self.analyzer.run_slice(&mut file.run, threads, &self.control, |found, _| self.found(found));
        file.caught_up = true;
        file.over = !matches!(ran, Ok(SliceEnd::Paused));
        file.source.error = match ran {
            Ok(SliceEnd::Failed(error)) => Some(shown_error(&error.to_string())),
            Ok(_) => None,
            Err(unknown) => {
                let failure = self.failure_of(&unknown);
                self.lock().parts.unknown.get_or_insert(failure);
                Some(shown_error(&unknown.to_string()))
            }
        };
        file.source.bytes += self.control.decoded_bytes() - bytes;
        file.source.lines += self.analyzer.analysis().lines().total - lines;
        let mut inner = self.lock();
        if let Some(format) = inner.part_format.take() {
            (file.source.format, file.source.guess) = (Some(format), inner.guess.take());
        }
    }

    /// Files by the time of their first line that has one, and after them those without.
    fn by_time(&self, files: Vec<(String, File)>) -> Vec<(String, File)> {
        let first = |file: &File| self.first_time_us(file).map_or((true, 0), |time_us| (false, time_us));
        let mut files: Vec<_> = files.into_iter().map(|(name, file)| (first(&file), name, file)).collect();
        files.sort_by_key(|(first, ..)| *first);
        files.into_iter().map(|(_, name, file)| (name, file)).collect()
    }

    fn first_time_us(&self, file: &File) -> Option<i64> {
        let mut head = vec![0; HEAD_BYTES];
        // An error is told when its turn comes.
        let length = file.read_at(&mut head, 0).ok()?;
        head.truncate(length);
        let head = self.analyzer.start_of(head, self.analyzer.pool());
        let format = self.analyzer.format_of(&head)?;
        let mut parser = LogParser::new(&format);
        head.split(|byte| *byte == b'\n').find_map(|line| match parser.parse(line) {
            LineOutcome::Parsed(record) | LineOutcome::Repaired(record, _) => record.time_us,
            _ => None,
        })
    }

    /// A file of several is read from now on.
    pub(super) fn begin_part(&self, name: &str) {
        let mut inner = self.lock();
        inner.parts.current = Some(name.to_owned());
        (inner.part_format, inner.guess) = (None, None);
    }

    /// A file of several came to its end, or could not be read to it.
    pub(super) fn end_part(&self, ran: Result<Option<Error>, AnalyzeError>) {
        let error = match ran {
            Ok(error) => error.map(|error| shown_error(&error.to_string())),
            Err(unknown) => {
                let failure = self.failure_of(&unknown);
                self.lock().parts.unknown.get_or_insert(failure);
                Some(shown_error(&unknown.to_string()))
            }
        };
        let Some(source) = self.current_part(error) else { return };
        let mut inner = self.lock();
        let parts = &mut inner.parts;
        parts.current = None;
        parts.before = (parts.before.0 + source.bytes, parts.before.1 + source.lines);
        parts.ended.push(source);
    }

    /// Notes the format of the file that is read, where it is another than that of the first.
    pub(super) fn note_part_format(inner: &mut super::SessionInner, format: &LogFormat) {
        let first = inner.format.get_or_insert_with(|| format.clone());
        let is_other = (first.name(), first.source()) != (format.name(), format.source());
        let Some(name) = inner.parts.current.as_deref().filter(|_| is_other) else { return };
        let known = inner.parts.formats.values().find(|known| (known.name(), known.source()) == (format.name(), format.source()));
        let format = known.cloned().unwrap_or_else(|| Arc::new(format.clone()));
        Arc::make_mut(&mut inner.parts.formats).insert(name.into(), format);
    }

    /// The file that is read, so far.
    fn current_part(&self, error: Option<String>) -> Option<InputReport> {
        self.current_of(&self.lock(), error)
    }

    fn current_of(&self, inner: &super::SessionInner, error: Option<String>) -> Option<InputReport> {
        let name = inner.parts.current.clone()?;
        let (bytes, lines) = inner.parts.before;
        Some(InputReport {
            name,
            format: inner.part_format.clone(),
            guess: inner.guess.clone(),
            bytes: self.control.decoded_bytes().saturating_sub(bytes),
            lines: self.analyzer.analysis().lines().total.saturating_sub(lines),
            error,
        })
    }

    /// Its inputs so far: some of its files by themselves, and the others as one.
    pub(super) fn sources_so_far(&self) -> Vec<InputReport> {
        if !self.has_parts() {
            return vec![self.source_so_far(None)];
        }
        // At one moment: a file that ends between two would be in neither.
        let inner = self.lock();
        if !inner.parts.following.is_empty() {
            return shortened(inner.parts.following.clone());
        }
        shortened(inner.parts.ended.iter().cloned().chain(self.current_of(&inner, None)).collect())
    }

    /// Its files, for clients.
    pub(super) fn parts_view(inner: &super::SessionInner, count: usize) -> Option<PartsView> {
        let PartsRead { ended, following, current, .. } = &inner.parts;
        let failed = ended.iter().chain(following).filter(|part| part.error.is_some()).count();
        let current = current.clone().filter(|_| following.is_empty());
        (count > 0).then_some(PartsView { count, read: ended.len(), failed, current })
    }

    /// Ends it after its last file. Where some could not be read it has failed, and what was read
    /// stays.
    pub(super) fn end_by_parts(self: &Arc<Self>) {
        // One that was stopped in the middle.
        let stopped = self.current_part(None);
        let (ended, unknown) = {
            let mut inner = self.lock();
            inner.parts.current = None;
            inner.parts.ended.extend(stopped);
            (inner.parts.ended.clone(), inner.parts.unknown.take())
        };
        let errors: Vec<&str> = ended.iter().filter_map(|part| part.error.as_deref()).collect();
        let failure = match (errors.len(), unknown) {
            (0, _) => None,
            // Of a log that nothing could be read of, the way on is that of its first file.
            (_, Some(unknown)) if ended.iter().all(|part| part.format.is_none()) => Some(unknown),
            (failed, _) => {
                let of = format!(
                    "{failed} of {} files could not be read to the end, and what was read of them is shown:",
                    ended.len()
                );
                let named = errors.iter().take(FAILED_FILES_NAMED).map(|error| (*error).to_owned());
                let more = failed.saturating_sub(FAILED_FILES_NAMED);
                let more = (more > 0).then(|| format!("and {more} more"));
                let message = std::iter::once(of).chain(named).chain(more).collect::<Vec<_>>().join("\n");
                Some(Failure::BadInput { message })
            }
        };
        self.end(failure, shortened(ended));
    }
}

/// The first line of an error, without the lines of the log that it is about.
fn shown_error(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    let first = first.strip_suffix(". It starts with:").unwrap_or(first);
    let end = first.floor_char_boundary(FILE_ERROR_BYTES_MAX);
    if end < first.len() { format!("{}…", &first[..end]) } else { first.to_owned() }
}

/// The files by themselves where they are few; otherwise those that failed first, the largest of
/// the others, and the rest as one.
fn shortened(sources: Vec<InputReport>) -> Vec<InputReport> {
    if sources.len() <= REPORTED_FILES_MAX {
        return sources;
    }
    let mut order: Vec<usize> = (0..sources.len()).collect();
    order.sort_by_key(|at| (sources[*at].error.is_none(), Reverse(sources[*at].bytes)));
    let listed = &mut order[..REPORTED_FILES_MAX - 1];
    listed.sort_unstable();
    let rest = sources.iter().enumerate().filter(|(at, _)| listed.binary_search(at).is_err());
    let (mut bytes, mut lines, mut count, mut failed) = (0, 0, 0, 0);
    for (_, source) in rest {
        (bytes, lines, count) = (bytes + source.bytes, lines + source.lines, count + 1);
        failed += usize::from(source.error.is_some());
    }
    let error = (failed > 0).then(|| format!("{failed} of them could not be read to the end"));
    let rest = InputReport { name: format!("{count} more files"), format: None, guess: None, bytes, lines, error };
    let mut listed: Vec<InputReport> = listed.iter().map(|at| sources[*at].clone()).collect();
    listed.push(rest);
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_files_are_listed_with_those_that_failed() {
        let source = |number: u64| InputReport {
            name: number.to_string(),
            format: None,
            guess: None,
            bytes: number,
            lines: 1,
            error: (number == 3).then(|| "damaged".to_owned()),
        };
        let few: Vec<InputReport> = (0..REPORTED_FILES_MAX as u64).map(source).collect();
        assert_eq!(shortened(few).len(), REPORTED_FILES_MAX);
        let all = REPORTED_FILES_MAX as u64 + 50;
        let listed = shortened((0..all).map(source).collect());
        assert_eq!(listed.len(), REPORTED_FILES_MAX);
        assert_eq!(listed.iter().map(|source| source.bytes).sum::<u64>(), (0..all).sum::<u64>());
        assert_eq!(listed.iter().map(|source| source.lines).sum::<u64>(), all);
        assert_eq!((&*listed[0].name, listed[0].error.is_some()), ("3", true));
        assert_eq!(listed.last().map(|rest| &*rest.name), Some("51 more files"));
    }
}
