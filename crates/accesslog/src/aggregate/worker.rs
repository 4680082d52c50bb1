//! The stage that parses a chunk, codes its fields, and counts codes.

use crate::agent::{host_of, site_of_host};
use crate::aggregate::heavy_hitters::{FieldTally, HitsAndBytes, SHARDS, shard_of};
use crate::aggregate::notes::ChunkNotes;
use crate::aggregate::totals::STATUSES;
use crate::aggregate::{Analysis, LineCounts, LineTotals, lock};
use crate::batch::{CodedColumn, LogBatch, NO_TIME, TEXT_FIELDS};
use crate::filter::{Filter, Matcher, Subject};
use crate::format::{Field, LogFormat};
use crate::note_reason::NoteReason;
use crate::own::{ABSENT, OwnColumns, VALUE_BYTES_MAX};
use crate::parse::relay::ColumnRelay;
use crate::parse::{LineFlaw, LineOutcome, LogParser, LogRecord};
use crate::recorder::{Options, RecordedChunk, Recorder, Rejected};
use crate::status_class::class_of;
use rorqual_pipe::{Chunk, ChunkLine, Error, Stage};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Distinct values of a field after which a worker hands its sums over and starts afresh: about as
/// many as fit the core's own cache with everything that belongs to them.
const CODES_MAX: usize = 8 << 10;

/// The same for the bytes of the values.
const ARENA_BYTES_MAX: usize = 512 << 10;

/// Longer values are not copied into a dictionary but counted in the shared tables at once: however
/// long lines may be (`--line-max`), what a worker holds stays the same.
const VALUE_BYTES_CODED_MAX: usize = VALUE_BYTES_MAX;

/// Distinct values of all columns of the log's own after which a worker starts afresh.
const OWN_CODES_MAX: usize = 8 << 10;

/// The same for the bytes of the values.
const OWN_ARENA_BYTES_MAX: usize = 512 << 10;

/// Memory of a worker for so many columns of the log's own, beside [`WORKER_BYTES`]: their
/// dictionaries, and their values in a chunk of the shortest lines.
pub(crate) const fn own_worker_bytes(texts: usize, numbers: usize) -> u64 {
    /// Lines of a chunk, of 16 bytes and more.
    const LINES_MAX: usize = 16 << 10;
    let dictionaries = if texts > 0 { 3 * OWN_ARENA_BYTES_MAX + 64 * OWN_CODES_MAX } else { 0 };
    (dictionaries + texts * (16 << 10) + LINES_MAX * (4 * texts + 8 * numbers)) as u64
}

/// The most that one worker holds, when every field is full and a chunk of the shortest lines comes
/// on top.
pub(crate) const WORKER_BYTES: u64 = 12 << 20;

/// Parses, codes and counts the chunks it is given.
pub struct LogWorker {
    analysis: Arc<Analysis>,
    parser: LogParser,
    /// Tells the columns that a chunk begins with, where a line may say other columns.
    relay: Option<Arc<ColumnRelay>>,
    batch: LogBatch,
    /// Hits and bytes for each code, in the order of [`TEXT_FIELDS`].
    sums: [Vec<HitsAndBytes>; TEXT_FIELDS.len()],
    totals: LineTotals,
    line_bytes_max: u64,
    /// The last wish for fresh sums that was granted.
    granted: u64,
    /// Something was counted since sums were handed over.
    counted: bool,
    /// Scratch: codes in the order of their shards.
    order: Vec<u32>,
    beside: BatchRecorder,
}

/// A worker's tasks beside counting, or instead of it.
#[derive(Default)]
struct BatchRecorder {
    /// The filter of lines that count, where not all do.
    only: Option<Matcher>,
    /// Lines that were rejected are asked, too.
    names_flaws: bool,
    /// Rows gathered for a recorder.
    gathered: Option<RecordedChunk>,
    untallied: bool,
    /// Keep rejected lines whole, for `--rejects`.
    keep_rejects: bool,
}

impl LogWorker {
    /// A worker of `analysis` for lines of `format`. With `keep_rejects` its notes hold rejected
    /// lines whole.
    #[must_use]
    pub fn new(analysis: &Arc<Analysis>, format: &LogFormat, line_bytes_max: u64, keep_rejects: bool) -> Self {
        Self {
            batch: LogBatch::with_seed(&analysis.tallied_fields(), &analysis.seed),
            analysis: Arc::clone(analysis),
            parser: LogParser::new(format).strict(),
            relay: None,
            sums: std::array::from_fn(|_| Vec::new()),
            totals: LineTotals::default(),
            line_bytes_max,
            granted: 0,
            counted: false,
            order: Vec::new(),
            beside: BatchRecorder { keep_rejects, ..BatchRecorder::default() },
        }
    }

    /// The same with what `options` say, of the lines that `only` means, and rows given to
    /// `recorder`; with values in the columns of the log's `own`, where these are asked for.
    #[must_use]
    pub fn with(
        mut self,
        options: &Options,
        only: Option<&Arc<Filter>>,
        own: Option<&Arc<OwnColumns>>,
        recorder: Option<Box<dyn Recorder>>,
    ) -> Self {
        self.beside.only = only.map(|filter| Matcher::new(Arc::clone(filter)).with_countries(self.analysis.countries.clone()));
        self.beside.names_flaws = only.is_some_and(|filter| filter.names_flaws());
        if let Some(own) = own {
            self.parser = self.parser.with_own(own, VALUE_BYTES_MAX);
        }
        self.beside.untallied = options.untallied;
        if let Some(recorder) = recorder {
            self.batch = LogBatch::with_seed(&TEXT_FIELDS, &self.analysis.seed);
            self.beside.gathered = Some(RecordedChunk::new(recorder));
        }
        self
    }

    /// The same for lines of that file, which a filter may name.
    #[must_use]
    pub(crate) fn of_file(mut self, file: &Arc<str>) -> Self {
        self.beside.only = self.beside.only.map(|only| only.with_file(Arc::clone(file)));
        self
    }

    /// The same as one of several that share a relay.
    #[must_use]
    pub(crate) fn relayed(self, format: &LogFormat, relay: Option<&Arc<ColumnRelay>>) -> Self {
        let Some(relay) = relay else { return self };
        Self { parser: LogParser::new(format), relay: Some(Arc::clone(relay)), ..self }
    }

    /// The format of the next lines, where the lines so far named another one.
    pub(crate) fn format_after(&self) -> Option<LogFormat> {
        self.relay.as_ref().map(|relay| relay.format())
    }

    /// Hands over everything counted so far. Must be called at the end.
    pub fn finish(mut self) {
        self.hand_over();
        if let Some(gathered) = &mut self.beside.gathered {
            gathered.recorder.finish();
        }
    }

    /// Lines that count, and the bytes that were sent, since sums were handed over. Rejected ones
    /// are lines of their file, too, but not under a filter, which few of them pass.
    fn counted_lines(&self) -> HitsAndBytes {
        let totals = &self.totals;
        let rejected = if self.beside.only.is_none() { totals.lines.rejected } else { 0 };
        HitsAndBytes { hits: totals.lines.parsed + rejected, bytes: totals.bytes_sent }
    }

    fn parse_lines(&mut self, chunk: &Chunk) -> ChunkNotes {
        let mut notes = ChunkNotes::default();
        let span = self.analysis.span;
        let bounded = span.is_bounded();
        for line in chunk.lines() {
            // What is after a hole is on the same line.
            if !line.after_hole {
                notes.count_line();
            }
            self.totals.lines.total += 1;
            if line.long {
                let reason = NoteReason::TooLong { line_bytes_max: self.line_bytes_max };
                self.beside.reject(reason, chunk, line, self.batch.len(), &mut self.totals.lines, &mut notes);
                continue;
            }
            // The record is used where it lies: it is large, and moving it costs as much as parsing
            // a field.
            let mut outcome = LineOutcome::Blank;
            self.parser.parse_into(line.bytes, &mut outcome);
            let (record, flaw) = match &mut outcome {
                LineOutcome::Parsed(record) => (record, None),
                LineOutcome::Repaired(record, flaw) => (record, Some(NoteReason::Flaw(*flaw))),
                LineOutcome::Rejected(flaw) => {
                    let reason = NoteReason::Flaw(*flaw);
                    self.beside.reject(reason, chunk, line, self.batch.len(), &mut self.totals.lines, &mut notes);
                    continue;
                }
                LineOutcome::Blank => {
                    self.totals.lines.blank += 1;
                    continue;
                }
            };
            if bounded && !span.holds(record.time_us) {
                self.totals.lines.outside += 1;
                continue;
            }
            if !self.beside.means(Some(record), flaw, b"") {
                self.totals.lines.filtered += 1;
                continue;
            }
            self.totals.lines.parsed += 1;
            notes.zone(record);
            if line.bytes.len() > VALUE_BYTES_CODED_MAX {
                self.beside.shorten(&self.analysis, record);
            }
            self.beside.gather(record, flaw, self.batch.len());
            self.batch.push(record);
            if let Some(reason) = flaw {
                self.totals.lines.repaired += 1;
                notes.repair(chunk, line, reason);
            }
        }
        notes
    }

    fn count(&mut self) {
        let batch = &mut self.batch;
        if self.beside.untallied {
            batch.clear();
            return;
        }
        count_numbers(batch, &mut self.totals);
        count_times(batch, &mut self.totals, &self.analysis);
        for (column, sums) in batch.texts.iter_mut().zip(&mut self.sums) {
            if let Some(column) = column {
                sums.resize(column.dict.len(), HitsAndBytes::default());
                // The absent value is in no sums: nothing is to be counted where there is no other.
                if column.dict.len() > 1 {
                    count_codes(&column.codes, &batch.bytes, sums);
                }
            }
        }
        batch.clear();
    }

    /// Starts afresh with the values of the log's own columns, where these are many. They are in no
    /// sums.
    fn relieve_own(&mut self) {
        let texts = &mut self.batch.own.texts;
        let sum = |of: fn(&CodedColumn) -> usize| texts.iter().map(of).sum::<usize>();
        let is_full =
            sum(|column| column.dict.len()) > OWN_CODES_MAX || sum(|column| column.dict.arena_bytes()) > OWN_ARENA_BYTES_MAX;
        if !is_full {
            return;
        }
        for (number, column) in texts.iter_mut().enumerate() {
            column.dict.clear();
            if let Some(gathered) = &mut self.beside.gathered {
                gathered.recorder.forget(TEXT_FIELDS.len() + number);
            }
        }
    }

    /// Hands over the fields whose dictionaries are full.
    fn relieve(&mut self) {
        self.relieve_own();
        for index in 0..TEXT_FIELDS.len() {
            let full = |column: &CodedColumn| column.dict.len() > CODES_MAX || column.dict.arena_bytes() > ARENA_BYTES_MAX;
            if self.batch.texts[index].as_ref().is_some_and(full) {
                self.hand_over_field(index);
                if let Some(column) = &mut self.batch.texts[index] {
                    column.dict.clear();
                }
                self.sums[index].clear();
                if let Some(gathered) = &mut self.beside.gathered {
                    gathered.recorder.forget(index);
                }
            }
        }
    }

    fn hand_over(&mut self) {
        for index in 0..TEXT_FIELDS.len() {
            self.hand_over_field(index);
            self.sums[index].fill(HitsAndBytes::default());
        }
        self.analysis.totals().take(&mut self.totals);
        self.counted = false;
    }

    fn hand_over_field(&mut self, index: usize) {
        let field = TEXT_FIELDS[index];
        let (Some(column), Some(tally)) = (&self.batch.texts[index], self.analysis.tally(field)) else { return };
        let sums = &self.sums[index];
        hand_over_codes(column, sums, tally, &mut self.order);
        if field == Field::Referrer {
            count_sites(&self.analysis, counted(sums).map(|(code, amount)| (column.dict.key(code), amount)));
        }
    }
}

impl BatchRecorder {
    /// True if the line counts.
    #[inline]
    fn means(&mut self, record: Option<&LogRecord<'_>>, flaw: Option<NoteReason>, line: &[u8]) -> bool {
        self.only.as_mut().is_none_or(|matcher| is_meant(matcher, record, flaw, line))
    }

    #[inline]
    fn gather(&mut self, record: &LogRecord<'_>, flaw: Option<NoteReason>, row: usize) {
        let Some(gathered) = &mut self.gathered else { return };
        gathered.zones_seconds.push(record.zone_seconds);
        if let Some(reason) = flaw {
            gathered.repaired.push((row as u32, reason));
        }
    }

    #[cold]
    fn reject(
        &mut self,
        reason: NoteReason,
        chunk: &Chunk,
        line: ChunkLine<'_>,
        before_row: usize,
        lines: &mut LineCounts,
        notes: &mut ChunkNotes,
    ) {
        // What can't be read is never dropped in silence: only a filter that names such lines
        // leaves some of them out.
        if self.names_flaws && !self.means(None, Some(reason), line.bytes) {
            lines.filtered += 1;
            return;
        }
        lines.rejected += 1;
        lines.pieces += u64::from(reason == NoteReason::Flaw(LineFlaw::Piece));
        notes.reject(chunk, line, reason, self.keep_rejects);
        if let Some(gathered) = &mut self.gathered {
            let end = line.start + line.bytes.len();
            gathered.rejected.push(Rejected { before_row: before_row as u32, reason, start: line.start, end });
        }
    }

    /// Makes the values of a record so short that they may be coded.
    #[cold]
    fn shorten(&self, analysis: &Analysis, record: &mut LogRecord<'_>) {
        if self.gathered.is_none() {
            return count_long_values(analysis, record);
        }
        for value in record.texts_mut() {
            *value = &value[..value.len().min(VALUE_BYTES_CODED_MAX)];
        }
    }
}

impl Stage for LogWorker {
    type Output = ChunkNotes;

    fn chunk(&mut self, chunk: &Chunk) -> Result<ChunkNotes, Error> {
        // Before anything else: others wait for it.
        if let Some(relay) = &self.relay {
            self.parser.begin(relay.start_of(chunk));
        }
        let before = self.counted_lines();
        let mut notes = self.parse_lines(chunk);
        if let Some(gathered) = &mut self.beside.gathered {
            gathered.hand_over(&self.batch, chunk);
        }
        self.count();
        let counted = self.counted_lines();
        notes.counted = HitsAndBytes { hits: counted.hits - before.hits, bytes: counted.bytes.saturating_sub(before.bytes) };
        self.counted = true;
        let wanted = self.analysis.wanted.load(Ordering::Relaxed);
        if wanted != self.granted {
            self.granted = wanted;
            self.hand_over();
        }
        self.relieve();
        Ok(notes)
    }

    /// A log that comes in drops is shown to the last of them.
    fn idle(&mut self) {
        if self.counted {
            self.hand_over();
        }
        if let Some(gathered) = &mut self.beside.gathered {
            gathered.recorder.idle();
        }
    }
}

/// True if a filter means a line. Apart, so that lines without a filter have no part in it.
#[inline(never)]
fn is_meant(matcher: &mut Matcher, record: Option<&LogRecord<'_>>, flaw: Option<NoteReason>, line: &[u8]) -> bool {
    let flaw = flaw.map(|reason| reason.name());
    matcher.meets(&Subject { record, flaw: flaw.as_deref().unwrap_or_default(), line })
}

/// Counts the long values of a record, and takes them out of it.
#[cold]
fn count_long_values(analysis: &Analysis, record: &mut LogRecord<'_>) {
    let amount = HitsAndBytes { hits: 1, bytes: record.bytes.unwrap_or(0) };
    let fields = TEXT_FIELDS.into_iter().zip(record.texts_mut());
    for (field, value) in fields.filter(|(_, value)| value.len() > VALUE_BYTES_CODED_MAX) {
        let value = std::mem::take(value);
        if let Some(tally) = analysis.tally(field) {
            tally.add(value, amount);
        }
        if field == Field::Referrer {
            count_sites(analysis, std::iter::once((value, amount)));
        }
    }
}

/// Counts the sites of referrers; of one host in a row once, as most of them are of few.
fn count_sites<'a>(analysis: &Analysis, referrers: impl Iterator<Item = (&'a [u8], HitsAndBytes)>) {
    let mut referrers = referrers.map(|(referrer, amount)| (host_of(referrer), amount)).peekable();
    while let Some((host, mut amount)) = referrers.next() {
        while let Some((_, more)) = referrers.next_if(|(next, _)| *next == host) {
            amount.add(more);
        }
        if !host.is_empty() {
            analysis.sites.add(&site_of_host(host), amount);
        }
    }
}

fn count_numbers(batch: &mut LogBatch, totals: &mut LineTotals) {
    totals.status.resize(STATUSES, HitsAndBytes::default());
    for (&status, bytes) in batch.status.iter().zip(&mut batch.bytes) {
        let amount = &mut totals.status[usize::from(status).min(STATUSES - 1)];
        amount.hits += 1;
        if *bytes == ABSENT {
            // From here on the column is only summed up.
            *bytes = 0;
        } else {
            totals.bytes.add(*bytes);
            totals.bytes_sent = totals.bytes_sent.saturating_add(*bytes);
            amount.bytes = amount.bytes.saturating_add(*bytes);
        }
    }
    let present = |number: &&u64| **number != ABSENT;
    batch.request_time_us.iter().filter(present).for_each(|&time| totals.request_time_us.add(time));
    batch.upstream_time_us.iter().filter(present).for_each(|&time| totals.upstream_time_us.add(time));
}

fn count_times(batch: &LogBatch, totals: &mut LineTotals, analysis: &Analysis) {
    let mut timeline = lock(&analysis.timeline);
    for (&time, &status) in batch.time_us.iter().zip(&batch.status) {
        if time != NO_TIME {
            totals.widen(time);
            timeline.add(time.div_euclid(1_000_000), class_of(status), 1);
        }
    }
}

fn count_codes(codes: &[u32], bytes: &[u64], sums: &mut [HitsAndBytes]) {
    for (&code, &bytes) in codes.iter().zip(bytes) {
        let amount = &mut sums[code as usize];
        amount.hits += 1;
        amount.bytes = amount.bytes.saturating_add(bytes);
    }
}

/// Codes that were met, the absent value's left out.
fn counted(sums: &[HitsAndBytes]) -> impl Iterator<Item = (u32, HitsAndBytes)> {
    sums.iter().enumerate().skip(1).filter(|(_, amount)| amount.hits > 0).map(|(code, amount)| (code as u32, *amount))
}

/// Adds the sums to the tally, shard by shard, so that each shard is locked once.
fn hand_over_codes(column: &CodedColumn, sums: &[HitsAndBytes], tally: &FieldTally, order: &mut Vec<u32>) {
    let shard = |code: u32| shard_of(column.dict.hash_of(code));
    let mut ends = [0usize; SHARDS];
    counted(sums).for_each(|(code, _)| ends[shard(code)] += 1);
    let mut starts = [0usize; SHARDS];
    let mut total = 0;
    for (start, count) in starts.iter_mut().zip(&mut ends) {
        *start = total;
        total += *count;
        *count = total;
    }
    order.clear();
    order.resize(total, 0);
    let mut next = starts;
    for (code, _) in counted(sums) {
        let place = &mut next[shard(code)];
        order[*place] = code;
        *place += 1;
    }
    for shard in 0..SHARDS {
        let codes = &order[starts[shard]..ends[shard]];
        if !codes.is_empty() {
            tally.add_all(shard, codes, |code| (column.dict.hash_of(code), column.dict.key(code), sums[code as usize]));
        }
    }
}
