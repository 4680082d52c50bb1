//! Lines that were rejected or repaired: samples with their place and reason, and the rejected ones
//! whole.

use super::heavy_hitters::HitsAndBytes;
use crate::note_reason::NoteReason;
use crate::parse::LogRecord;
use bytes::Bytes;
use rorqual_pipe::gather::Gather;
use rorqual_pipe::setting::REJECTS;
use rorqual_pipe::{Chunk, ChunkLine, Error};
use std::io::Write;

/// Samples kept of each kind (rejected, repaired).
const SAMPLES_MAX: usize = 20;

/// Of these at most so many for one reason, so that the rare reasons are seen too.
const SAMPLES_PER_REASON_MAX: usize = 3;

/// Bytes of a line that a sample shows.
const SAMPLE_TEXT_BYTES_MAX: usize = 500;

/// One line as an example.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct NoteSample {
    /// The input's name.
    pub source: String,
    /// Line number in the input, from 1.
    pub line: u64,
    /// Byte offset of the line in the (decoded) input.
    pub offset: u64,
    /// The reason, for people.
    pub reason: String,
    /// The start of the line, invalid UTF-8 replaced by U+FFFD.
    pub text: String,
}

/// Notes of one chunk; made by a worker, taken in the order of the input.
#[derive(Debug, Default)]
pub struct ChunkNotes {
    lines: u64,
    /// Lines of the chunk that count, and the bytes that were sent.
    pub(super) counted: HitsAndBytes,
    /// Of the first line that counts and has a time.
    zone_seconds: Option<i32>,
    rejects: LineNotes,
    repairs: LineNotes,
    rejected: Vec<Bytes>,
}

/// All notes of a chunk that may become samples, whatever was before it: which ones do must not
/// depend on where chunks are cut. Of more than [`SAMPLES_MAX`] reasons the first fill the
/// samples.
#[derive(Debug, Default)]
struct LineNotes {
    notes: Vec<LineNote>,
    /// The reasons, each with the number of its notes.
    reasons: Vec<(NoteReason, usize)>,
}

#[derive(Debug)]
struct LineNote {
    line: u64,
    offset: u64,
    reason: NoteReason,
    text: Vec<u8>,
}

impl ChunkNotes {
    pub(crate) fn count_line(&mut self) {
        self.lines += 1;
    }

    pub(crate) fn zone(&mut self, record: &LogRecord<'_>) {
        if self.zone_seconds.is_none() && record.time_us.is_some() {
            self.zone_seconds = Some(record.zone_seconds);
        }
    }

    pub(crate) fn repair(&mut self, chunk: &Chunk, line: ChunkLine<'_>, reason: NoteReason) {
        self.repairs.add(self.lines, chunk, line, reason);
    }

    pub(crate) fn reject(&mut self, chunk: &Chunk, line: ChunkLine<'_>, reason: NoteReason, keep: bool) {
        self.rejects.add(self.lines, chunk, line, reason);
        if !keep {
            return;
        }
        // With the newline, where there is one; of an over-long line its head, as that is all that
        // some chunks have. Lines that touch become one piece.
        let end = (line.start + line.bytes.len() + usize::from(!line.long)).min(chunk.bytes.len());
        let piece = chunk.bytes.slice(line.start..end);
        match self.rejected.last_mut() {
            Some(last) if last.as_ptr().wrapping_add(last.len()) == piece.as_ptr() => {
                let start = line.start - last.len();
                *last = chunk.bytes.slice(start..end);
            }
            _ => self.rejected.push(piece),
        }
    }
}

impl LineNotes {
    fn add(&mut self, line_number: u64, chunk: &Chunk, line: ChunkLine<'_>, reason: NoteReason) {
        let known = self.reasons.iter().position(|(known, _)| known.like(&reason)).unwrap_or(self.reasons.len());
        if known == SAMPLES_MAX {
            return;
        }
        if known == self.reasons.len() {
            self.reasons.push((reason, 0));
        }
        let alike = &mut self.reasons[known].1;
        if *alike == SAMPLES_PER_REASON_MAX {
            return;
        }
        *alike += 1;
        let text = line.bytes[..line.bytes.len().min(SAMPLE_TEXT_BYTES_MAX)].to_vec();
        self.notes.push(LineNote { line: line_number, offset: chunk.offset + line.start as u64, reason, text });
    }
}

/// The samples of a whole analysis, each with the name of its reason.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct NoteSamples {
    kept: Vec<(String, NoteSample)>,
}

impl NoteSamples {
    pub(crate) fn list(&self) -> Vec<NoteSample> {
        self.kept.iter().map(|(_, sample)| sample.clone()).collect()
    }

    fn add(&mut self, source: &str, lines_before: u64, note: &LineNote) {
        let name = note.reason.name();
        let alike = self.kept.iter().filter(|(reason, _)| *reason == name).count();
        if self.kept.len() >= SAMPLES_MAX || alike >= SAMPLES_PER_REASON_MAX {
            return;
        }
        let sample = NoteSample {
            source: source.to_owned(),
            line: lines_before + note.line,
            offset: note.offset,
            reason: note.reason.to_string(),
            text: String::from_utf8_lossy(&note.text).into_owned(),
        };
        self.kept.push((name.into_owned(), sample));
    }

    /// Adds the samples of a further input, as if its lines had come after those so far.
    pub(super) fn append(&mut self, further: Self) {
        for (name, sample) in further.kept {
            let alike = self.kept.iter().filter(|(reason, _)| *reason == name).count();
            if self.kept.len() < SAMPLES_MAX && alike < SAMPLES_PER_REASON_MAX {
                self.kept.push((name, sample));
            }
        }
    }
}

/// Notes of an input that is read beside others, until it is its turn among them.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct HeldNotes {
    pub(super) rejects: NoteSamples,
    pub(super) repairs: NoteSamples,
}

impl HeldNotes {
    /// Adds the notes of a further part of the input.
    pub(crate) fn append(&mut self, further: Self) {
        self.rejects.append(further.rejects);
        self.repairs.append(further.repairs);
    }

    /// The same of a part of an input that comes after so many lines of it.
    pub(crate) fn after(mut self, lines: u64) -> Self {
        let samples = self.rejects.kept.iter_mut().chain(&mut self.repairs.kept);
        samples.for_each(|(_, sample)| sample.line = sample.line.saturating_add(lines));
        self
    }
}

/// Takes the notes of one input in order, numbers the lines, and writes the rejected ones where
/// asked.
pub(crate) struct NoteKeeper<'a, W: Write> {
    source: String,
    lines: u64,
    counted: HitsAndBytes,
    zone_seconds: Option<i32>,
    analysis: &'a crate::aggregate::Analysis,
    /// Notes that are held back.
    held: Option<HeldNotes>,
    rejects: Option<&'a mut Gather<W>>,
}

impl<'a, W: Write> NoteKeeper<'a, W> {
    /// A keeper for the input `source` of `analysis`.
    pub(crate) fn new(source: &str, analysis: &'a crate::aggregate::Analysis, rejects: Option<&'a mut Gather<W>>) -> Self {
        let counted = HitsAndBytes::default();
        Self { source: source.to_owned(), lines: 0, counted, zone_seconds: None, analysis, held: None, rejects }
    }

    /// The same that holds its notes back, for an input that is read beside others.
    pub(crate) fn holding(self, holds: bool) -> Self {
        Self { held: holds.then(HeldNotes::default), ..self }
    }

    /// The same after so many lines of the input.
    pub(crate) fn after(self, lines: u64) -> Self {
        Self { lines, ..self }
    }

    /// Takes the notes of the next chunk.
    ///
    /// # Errors
    /// When rejected lines can't be written.
    pub(crate) fn take(&mut self, notes: ChunkNotes) -> Result<(), Error> {
        self.take_samples(&notes);
        self.lines += notes.lines;
        self.counted.hits += notes.counted.hits;
        self.counted.bytes = self.counted.bytes.saturating_add(notes.counted.bytes);
        if let (None, Some(zone)) = (self.zone_seconds, notes.zone_seconds) {
            self.zone_seconds = Some(zone);
            if self.held.is_none() {
                self.analysis.offer_zone(zone);
            }
        }
        let Some(gather) = &mut self.rejects else { return Ok(()) };
        for piece in notes.rejected {
            let ended = piece.ends_with(b"\n");
            gather
                .push(piece)
                .and_then(|()| if ended { Ok(()) } else { gather.push_copy(b"\n") })
                .map_err(|cause| Error::io(REJECTS.to_string(), "cannot write", cause))?;
        }
        // The pieces point into pooled buffers that the workers wait for.
        gather.flush_shared().map_err(|cause| Error::io(REJECTS.to_string(), "cannot write", cause))
    }

    fn take_samples(&mut self, notes: &ChunkNotes) {
        if notes.rejects.notes.is_empty() && notes.repairs.notes.is_empty() {
            return;
        }
        let (source, lines) = (&self.source, self.lines);
        let add = |rejects: &mut NoteSamples, repairs: &mut NoteSamples| {
            notes.rejects.notes.iter().for_each(|note| rejects.add(source, lines, note));
            notes.repairs.notes.iter().for_each(|note| repairs.add(source, lines, note));
        };
        match &mut self.held {
            Some(held) => add(&mut held.rejects, &mut held.repairs),
            None => {
                let (mut rejects, mut repairs) = self.analysis.samples();
                add(&mut rejects, &mut repairs);
            }
        }
    }

    /// The notes that it has held back.
    pub(crate) fn into_held(self) -> HeldNotes {
        self.held.unwrap_or_default()
    }

    /// Lines of this input that count so far, and the bytes that were sent.
    pub(crate) fn counted(&self) -> HitsAndBytes {
        self.counted
    }

    /// Lines of this input so far.
    pub(crate) fn lines(&self) -> u64 {
        self.lines
    }

    /// Offset of this input's clock in seconds east of UTC, by its first line that counts and has a
    /// time.
    pub(crate) fn zone_seconds(&self) -> Option<i32> {
        self.zone_seconds
    }
}
