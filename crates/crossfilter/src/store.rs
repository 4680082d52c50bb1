//! The rows of a session: segments, dictionaries, and their memory.

use crate::builder::NewValue;
use crate::columns::{CODED, ColumnCounts, FLAW, LINE, SHARES, STATUS, STATUSES, derived, has_dictionary};
use crate::dictionary::{Dictionary, OTHERS, SpareValues};
use crate::limits::{
    DICTIONARIES_PERCENT, DICTIONARIES_PERCENT_SPILLING, KEPT_BYTES_MIN, KEPT_SHARE, LINE_BYTES_MAX, PIECE_BYTES_MAX,
    SEGMENT_ROWS_MAX, SHARED_BYTES_MIN, SHARED_PART, STORE_BYTES_MIN, WORK_BYTES_MIN, each_bytes, segment_rows, value_bytes,
    work_bytes, work_shares,
};
use crate::segment::{CodedColumnRef, Segment};
use crate::spill::Spill;
use crate::uncoded::TextHasher;
use crate::view_cache::{Base, ViewCache};
use foldhash::quality::RandomState;
use rorqual_accesslog::schema::Schema;
use rorqual_accesslog::{Countries, OwnColumns};
use std::borrow::Cow;
use std::hash::BuildHasher;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// Limits of a row store.
#[derive(Debug, Clone)]
pub struct RowStoreSettings {
    /// Memory of all that it keeps between questions, at least [`STORE_BYTES_MIN`]: rows, distinct
    /// values, counted views. Recorders and the threads of a view come on top
    /// ([`recorder_bytes`](crate::limits::recorder_bytes),
    /// [`THREAD_BYTES`](crate::limits::THREAD_BYTES)): once for all stores, where one run and one
    /// question are on their way at a time.
    pub memory_bytes: u64,
    /// Most memory of one question beside it and beside its threads, at least [`WORK_BYTES_MIN`];
    /// once for all stores, too.
    pub work_bytes: u64,
    /// Threads of a view.
    pub threads: usize,
    /// Recorders of a table that there is memory for beside the store.
    pub recorders: usize,
    /// Folder for rows that do not fit the memory, and its most bytes. Without it they are not
    /// kept.
    pub spill: Option<(PathBuf, u64)>,
    /// Tells the countries of clients; its memory is not the store's.
    pub countries: Option<Arc<Countries>>,
    /// Rows of a segment, at most [`SEGMENT_ROWS_MAX`]; [`segment_rows`] computes it.
    pub segment_rows: usize,
    /// Columns of the rows of a table, or of a log without columns of its own.
    pub schema: Arc<Schema>,
    /// The columns of a log's own, with room for those that turn up late.
    pub own: Option<Arc<OwnColumns>>,
}

impl RowStoreSettings {
    /// Settings of one store of many, without spilling.
    #[must_use]
    pub fn new(memory_bytes: u64, work_bytes: u64, threads: usize) -> Self {
        let segment_rows = segment_rows(memory_bytes);
        let schema = Arc::new(Schema::access_log().clone());
        Self {
            memory_bytes,
            work_bytes,
            threads,
            recorders: threads,
            spill: None,
            countries: None,
            segment_rows,
            schema,
            own: None,
        }
    }

    /// Settings of the only store there is, for which `rows_bytes` are, its questions included.
    #[must_use]
    pub fn only(rows_bytes: u64, threads: usize) -> Self {
        let work_bytes = work_bytes(rows_bytes, threads);
        Self::new(rows_bytes.saturating_sub(work_bytes), work_bytes, threads)
    }

    /// Numbers of the columns of segments.
    pub(crate) fn counts(&self) -> ColumnCounts {
        let (texts, numbers) = self.own.as_ref().map_or((0, 0), |own| own.most());
        let known = ColumnCounts::of(&self.schema);
        ColumnCounts { coded: known.coded + texts, numbers: known.numbers + numbers }
    }
}

/// Rows as coded columns, and views of them.
pub struct RowStore {
    pub(crate) settings: RowStoreSettings,
    /// Of each coded column; those of the status and of the zone stay empty.
    pub(crate) dictionaries: Vec<Dictionary>,
    /// Hashes of texts without a code.
    pub(crate) hasher: TextHasher,
    pub(crate) spill: Option<Spill>,
    pub(crate) segments: Mutex<Segments>,
    /// Records in the file beside segments; locked while anything is written there.
    pub(crate) written: Mutex<JournalSummary>,
    /// Rises with each change of the segments.
    generation: AtomicU64,
    /// Rises with each request for rows of segments that are not full.
    wanted: AtomicU64,
    pub(crate) inputs: AtomicU32,
    pub(crate) recorders: AtomicU64,
    /// There is no place for more rows.
    pub(crate) full: AtomicBool,
    pub(crate) rows_dropped: AtomicU64,
    /// Reason for which rows could not be written to the file.
    spill_failure: Mutex<Option<String>>,
    /// Bytes of its memory that others have for a time.
    lent: Arc<AtomicU64>,
    /// Most memory of a segment so far.
    pub(crate) segment_bytes_most: AtomicU64,
    /// Its present limit: that of the settings until it is [settled](RowStore::settle).
    limit_bytes: AtomicU64,
    pub(crate) base: Mutex<Base>,
    pub(crate) kept: Mutex<ViewCache>,
    pub(crate) naming: Naming,
}

#[derive(Default)]
pub(crate) struct Segments {
    pub(crate) all: Vec<Arc<Segment>>,
    /// Places of those that wait for the next run to go on with them; they are in memory.
    pub(crate) open: Vec<usize>,
}

/// Texts that wait for a code, and the lock that holds off questions while they get it.
#[derive(Default)]
pub(crate) struct Naming {
    /// Column and hash of each.
    pub(crate) wanted: Mutex<Vec<(usize, u64)>>,
    /// Read by a question: codes do not change in the middle of it.
    pub(crate) asked: RwLock<()>,
}

/// Records of the file beside segments.
#[derive(Default)]
pub(crate) struct JournalSummary {
    /// Codes of each dictionary whose texts are in it, and the first two, which have none.
    pub(crate) codes: Vec<usize>,
    /// Fields and offsets of records of texts that are in no index yet.
    pub(crate) texts: Vec<(u16, u64)>,
    /// Segments that are in an index.
    pub(crate) indexed: Vec<bool>,
    /// Offset of the last record of the index; 0 where there is none.
    pub(crate) index: u64,
    /// Offset of the first record of the last counts, and their number.
    pub(crate) counts: Option<(u64, u32)>,
}

/// Memory of a store that is lent to another holder until this is dropped.
#[derive(Debug)]
pub struct Reservation {
    lent: Arc<AtomicU64>,
    bytes: u64,
    /// Bytes that counted views lend of these.
    of_views: (Arc<AtomicU64>, u64),
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.lent.fetch_sub(self.bytes, Ordering::Relaxed);
        self.of_views.0.fetch_sub(self.of_views.1, Ordering::Relaxed);
    }
}

/// The segments at one moment.
pub(crate) struct Snapshot {
    pub(crate) segments: Vec<Arc<Segment>>,
    pub(crate) generation: u64,
    pub(crate) rows_dropped: u64,
}

impl Snapshot {
    pub(crate) fn rows(&self) -> u64 {
        self.segments.iter().map(|segment| segment.rows as u64).sum()
    }
}

impl RowStore {
    /// An empty store.
    ///
    /// # Errors
    /// When there can be no file in the folder for spilled rows.
    pub fn new(settings: RowStoreSettings) -> io::Result<Arc<Self>> {
        let spill = settings.spill.as_ref().map(|(folder, bytes_max)| Spill::new(folder, *bytes_max)).transpose()?;
        Ok(Arc::new(Self::empty(settings, spill, RandomState::default().hash_one(0))))
    }

    /// An empty store that spills there, with a seed for hashes of texts.
    pub(crate) fn empty(settings: RowStoreSettings, spill: Option<Spill>, seed: u64) -> Self {
        let settings = RowStoreSettings {
            memory_bytes: settings.memory_bytes.max(STORE_BYTES_MIN),
            work_bytes: settings.work_bytes.max(WORK_BYTES_MIN),
            threads: settings.threads.max(1),
            segment_rows: settings.segment_rows.clamp(1, SEGMENT_ROWS_MAX),
            ..settings
        };
        let gives_way = spill.is_some() && segment_rows(settings.memory_bytes) == SEGMENT_ROWS_MAX;
        let percent = if gives_way { DICTIONARIES_PERCENT_SPILLING } else { DICTIONARIES_PERCENT };
        let all = settings.memory_bytes * percent / 100;
        // A part is shared out among the dictionaries; the rest goes to those that need it.
        let share = (all / SHARED_PART).max((all / 2).min(SHARED_BYTES_MIN));
        let spare = SpareValues::new(all - share);
        let shares = dictionary_shares(settings.counts());
        let parts: u64 = shares.iter().sum();
        let hasher = TextHasher::new(seed);
        let dictionary = |index: usize| {
            let room = (share / parts * shares[index], &spare);
            Dictionary::new(
                derived(index),
                value_bytes(settings.memory_bytes, settings.threads),
                room,
                settings.countries.clone(),
                &hasher,
            )
        };
        Self {
            dictionaries: (0..settings.counts().coded).map(dictionary).collect(),
            hasher,
            kept: Mutex::new(ViewCache::new(settings.memory_bytes / KEPT_SHARE)),
            limit_bytes: AtomicU64::new(settings.memory_bytes),
            settings,
            spill,
            segments: Mutex::default(),
            written: Mutex::default(),
            generation: AtomicU64::new(0),
            wanted: AtomicU64::new(0),
            inputs: AtomicU32::new(0),
            recorders: AtomicU64::new(0),
            full: AtomicBool::new(false),
            rows_dropped: AtomicU64::new(0),
            spill_failure: Mutex::default(),
            lent: Arc::default(),
            segment_bytes_most: AtomicU64::new(0),
            base: Mutex::default(),
            naming: Naming::default(),
        }
    }

    /// Rows that views see by now.
    #[must_use]
    pub fn rows(&self) -> u64 {
        lock(&self.segments).all.iter().map(|segment| segment.rows as u64).sum()
    }

    /// Segments of these rows.
    #[must_use]
    pub fn segments(&self) -> usize {
        lock(&self.segments).all.len()
    }

    /// Rows that there was no place for.
    #[must_use]
    pub fn rows_dropped(&self) -> u64 {
        self.rows_dropped.load(Ordering::Relaxed)
    }

    /// True if everything that came is kept: no row was dropped, and no text was cut.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.rows_dropped() == 0 && !self.has_cut()
    }

    /// The memory that was missing, for people.
    #[must_use]
    pub fn shortage(&self) -> Option<String> {
        let dropped = self.rows_dropped();
        if dropped > 0 {
            return Some(format!("{dropped} rows had no room, and are in no answer"));
        }
        let has_spilled = self.spill.as_ref().is_some_and(|spill| !spill.is_journal() && spill.bytes() > 0);
        let spilled = "some rows did not fit the memory; they are read back from a temporary file, which takes longer";
        has_spilled.then(|| spilled.to_owned())
    }

    /// Most memory of one filter, by
    /// [`Filter::bytes_of_values`](rorqual_accesslog::filter::Filter::bytes_of_values), so that
    /// those of a question are within its memory; the caller sees to it.
    #[must_use]
    pub fn filter_bytes_max(&self) -> u64 {
        self.filters_bytes() / 2
    }

    /// Reason for which rows that did not fit the memory could not be written to the file, with
    /// what makes room there, where that failed.
    #[must_use]
    pub fn spill_failure(&self) -> Option<String> {
        lock(&self.spill_failure).clone()
    }

    /// Rows of a segment at most.
    #[must_use]
    pub fn segment_rows(&self) -> usize {
        self.settings.segment_rows
    }

    /// True if rows that were read back are not as they were written.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.spill.as_ref().is_some_and(Spill::is_damaged)
    }

    /// True if its journal is the file at that path and is as long as it was written, and no row
    /// that was read back is damaged.
    #[must_use]
    pub fn has_whole_journal(&self, path: &Path) -> bool {
        self.spill.as_ref().is_none_or(|spill| spill.is_whole(path))
    }

    /// Memory of all that it keeps, at most.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.limit_bytes.load(Ordering::Relaxed)
    }

    /// Bytes of files that it may still come to.
    #[must_use]
    pub fn file_bytes_max(&self) -> u64 {
        self.spill.as_ref().map_or(0, Spill::bytes_max)
    }

    /// Keeps as much memory as its rows and values take, with `lent_bytes` that may be lent and
    /// some for views, and as much of its file as these can come to: no rows come any more. The
    /// caller may give the rest to others.
    pub fn settle(&self, lent_bytes: u64) {
        self.complete();
        let held = self.segments_bytes(|_| true) + self.dictionaries_bytes();
        let most = self.memory_bytes();
        let kept = (held / KEPT_SHARE).max(KEPT_BYTES_MIN).min(most / KEPT_SHARE);
        lock(&self.kept).shrink(kept);
        let settled = held + kept + lent_bytes + self.lent.load(Ordering::Relaxed);
        self.limit_bytes.store(settled.clamp(STORE_BYTES_MIN.min(most), most), Ordering::Relaxed);
        self.spill.iter().for_each(|spill| spill.shrink(held));
    }

    /// Memory of going through all rows of a view ([`each_bytes`] at most): the segments there are
    /// are smaller than the largest possible, and those in memory are not copied.
    #[must_use]
    pub fn each_bytes(&self) -> u64 {
        let threads = self.settings.threads as u64;
        let segment = if self.spill.is_some() { self.segment_bytes_most.load(Ordering::Relaxed) } else { 0 };
        // The numbers of the rows, and their bits; one segment more while a column is unpacked.
        let rows = 5 * self.settings.segment_rows as u64;
        let measured = (threads + 1) * segment + threads * rows + 2 * PIECE_BYTES_MAX as u64;
        measured.min(each_bytes(self.settings.threads))
    }

    /// Recorders of a table that there is memory for.
    #[must_use]
    pub fn recorders(&self) -> usize {
        self.settings.recorders.max(1)
    }

    /// Threads of a view.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.settings.threads
    }

    /// Gives some of its memory away, for which counted views are forgotten and rows go to the
    /// file. `None` where that makes no room.
    #[must_use]
    pub fn try_reserve(&self, bytes: u64) -> Option<Reservation> {
        // A store that can't make room need not try: each try ends the segments that are open.
        let held = if self.spill.is_some() { self.fixed_bytes() + self.lent.load(Ordering::Relaxed) } else { self.bytes() };
        let of_views = (held + bytes).saturating_sub(self.memory_bytes());
        let of_views = (lock(&self.kept).lend(of_views)?, of_views);
        self.lent.fetch_add(bytes, Ordering::Relaxed);
        let lent = Reservation { lent: Arc::clone(&self.lent), bytes, of_views };
        // Without a file the rows keep their memory.
        if self.spill.is_some() {
            self.make_room();
        }
        (self.bytes() <= self.memory_bytes()).then_some(lent)
    }

    /// Asks recorders to show the rows they have at their next chunk, so that a view soon after is
    /// up to date.
    pub fn refresh(&self) {
        self.wanted.fetch_add(1, Ordering::Relaxed);
    }

    /// Present holders of its memory, in bytes.
    #[must_use]
    pub fn holders(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("rows", self.segments_bytes(|_| true)),
            ("distinct values and their sums", self.dictionaries_bytes()),
            ("views kept", lock(&self.kept).bytes()),
            ("lent", self.lent.load(Ordering::Relaxed)),
        ]
    }

    /// True if some value of a field was cut.
    pub(crate) fn has_cut(&self) -> bool {
        self.value_dictionaries().any(|dictionary| dictionary.lock().has_cut())
    }

    /// The dictionaries of the values of fields: flaws and the lines that have them are none.
    fn value_dictionaries(&self) -> impl Iterator<Item = &Dictionary> {
        let is_field = |(index, _): &(usize, &Dictionary)| ![FLAW, LINE].contains(index);
        self.dictionaries.iter().enumerate().filter(is_field).map(|(_, dictionary)| dictionary)
    }

    /// A column of codes of a segment, in which texts that answers are about have their own.
    pub(crate) fn coded<'a>(&self, segment: &'a Segment, index: usize) -> io::Result<Cow<'a, CodedColumnRef>> {
        let column = segment.coded(index, self.spill.as_ref())?;
        if column.uncoded == 0 {
            return Ok(column);
        }
        let named = self.dictionaries[index].named();
        if named.is_empty() {
            return Ok(column);
        }
        let hashes = segment.uncoded_hashes(index, self.spill.as_ref())?;
        let codes = (column.known().len()..).zip(&*hashes).filter_map(|(local, hash)| Some((local, *named.get(hash)?)));
        let codes: Vec<(usize, u32)> = codes.collect();
        if codes.is_empty() {
            return Ok(column);
        }
        let mut column = column.into_owned();
        codes.into_iter().for_each(|(local, code)| column.globals[local] = code);
        Ok(Cow::Owned(column))
    }

    /// A rejected line, as it is recorded.
    pub(crate) fn line_value<'a>(&self, text: &'a [u8]) -> NewValue<'a> {
        self.value(LINE, &text[..text.len().min(LINE_BYTES_MAX)])
    }

    /// A text of a column that recorders fill by themselves.
    pub(crate) fn value<'a>(&self, column: usize, text: &'a [u8]) -> NewValue<'a> {
        match self.dictionaries[column].lock().intern(text) {
            OTHERS => NewValue::Uncoded(OTHERS, self.hasher.hash(text), text),
            code => NewValue::Coded(code),
        }
    }

    /// Columns of the rows.
    #[must_use]
    pub fn schema(&self) -> Arc<Schema> {
        self.settings.own.as_ref().map_or_else(|| Arc::clone(&self.settings.schema), |own| own.schema())
    }

    /// The columns of a log's own.
    #[must_use]
    pub fn own(&self) -> Option<&Arc<OwnColumns>> {
        self.settings.own.as_ref()
    }

    /// Numbers of the columns of its segments.
    pub(crate) fn counts(&self) -> ColumnCounts {
        self.settings.counts()
    }

    /// Memory of the filters of a question: all of them, or two thirds of little memory; larger
    /// ones are not asked.
    fn filters_bytes(&self) -> u64 {
        work_shares(self.settings.work_bytes, self.settings.threads).0
    }

    /// Memory of rows that rates hold at a time.
    pub(crate) fn rates_bytes(&self) -> u64 {
        work_shares(self.settings.work_bytes, self.settings.threads).1
    }

    /// Bytes in the file of spilled rows.
    #[must_use]
    pub fn spilled_bytes(&self) -> u64 {
        self.spill.as_ref().map_or(0, Spill::bytes)
    }

    /// Answers from before are no longer true.
    pub(crate) fn change(&self) {
        self.generation.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    pub(crate) fn wanted(&self) -> u64 {
        self.wanted.load(Ordering::Relaxed)
    }

    /// A number for the next input, and a place for its recorders.
    pub(crate) fn next_input(&self, recorders: usize) -> u32 {
        self.recorders.fetch_add(recorders as u64, Ordering::Relaxed);
        self.inputs.fetch_add(1, Ordering::Relaxed)
    }

    /// A recorder has ended, and left the segment in `place` open.
    pub(crate) fn recorder_ended(&self, place: Option<usize>) {
        lock(&self.segments).open.extend(place);
        self.recorders.fetch_sub(1, Ordering::Relaxed);
    }

    /// A segment to go on with.
    pub(crate) fn take_open(&self) -> Option<(usize, Arc<Segment>)> {
        let mut segments = lock(&self.segments);
        let place = segments.open.pop()?;
        Some((place, Arc::clone(&segments.all[place])))
    }

    /// Ends runs by slices: no more rows come to the segments that are not full, so that views
    /// count them once.
    pub fn complete(&self) {
        while self.complete_open() {}
        self.make_room();
    }

    /// Ends one of the open segments, if there is one.
    fn complete_open(&self) -> bool {
        let mut segments = lock(&self.segments);
        let Some(place) = segments.open.pop() else { return false };
        let completed = Arc::new(segments.all[place].completed());
        segments.all[place] = completed;
        self.generation.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Lengths of the counts: codes of the dictionaries in the order of
    /// [`counted`](ColumnCounts::counted).
    pub(crate) fn lengths(&self) -> Vec<usize> {
        let length = |index: usize| if index == STATUS { STATUSES } else { self.dictionaries[index].lock().len() };
        self.counts().counted().map(length).collect()
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let segments = lock(&self.segments);
        let (generation, rows_dropped) = (self.generation.load(Ordering::Relaxed), self.rows_dropped());
        Snapshot { segments: segments.all.clone(), generation, rows_dropped }
    }

    /// Shows a segment, in `place` or (where it has none yet) after all others, and makes room for
    /// it. A segment without room is dropped with its rows, which are counted when it comes for the
    /// `last` time.
    pub(crate) fn show(&self, place: &mut Option<usize>, segment: Segment, last: bool) {
        let rows = segment.rows as u64;
        if place.is_none() && self.full.load(Ordering::Relaxed) {
            if last {
                self.rows_dropped.fetch_add(rows, Ordering::Relaxed);
                self.generation.fetch_add(1, Ordering::Relaxed);
            }
            return;
        }
        self.segment_bytes_most.fetch_max(segment.bytes(), Ordering::Relaxed);
        let segment = Arc::new(segment);
        let mut segments = lock(&self.segments);
        match *place {
            Some(at) => segments.all[at] = segment,
            None => {
                *place = Some(segments.all.len());
                segments.all.push(segment);
            }
        }
        self.generation.fetch_add(1, Ordering::Relaxed);
        drop(segments);
        if !self.make_room() {
            self.full.store(true, Ordering::Relaxed);
        }
    }

    /// The segment in that place.
    pub(crate) fn segment(&self, place: usize) -> Arc<Segment> {
        Arc::clone(&lock(&self.segments).all[place])
    }

    /// Spills the oldest segments until the others fit; `false` when there is no place for one.
    pub(crate) fn make_room(&self) -> bool {
        let _written = lock(&self.written);
        // Of rows that were dropped it stays the reason.
        if !self.full.load(Ordering::Relaxed) {
            *lock(&self.spill_failure) = None;
        }
        while self.bytes() > self.memory_bytes() {
            let segments = lock(&self.segments);
            let oldest = segments.all.iter().position(|segment| segment.complete && !segment.is_spilled());
            let Some((place, segment)) = oldest.map(|place| (place, Arc::clone(&segments.all[place]))) else {
                drop(segments);
                // Those that are not full, where no run has them, go too.
                if self.spill.is_some() && self.complete_open() {
                    continue;
                }
                return self.fixed_bytes() <= self.memory_bytes();
            };
            drop(segments);
            let moved = self.spill.as_ref().map(|spill| segment.spilled(place, spill));
            let moved = match moved {
                Some(Ok(moved)) => moved,
                Some(Err(cause)) => {
                    *lock(&self.spill_failure) = self.spill.as_ref().map(|spill| spill.failure(&cause));
                    return false;
                }
                None => return false,
            };
            lock(&self.segments).all[place] = Arc::new(moved);
        }
        true
    }

    fn bytes(&self) -> u64 {
        self.sum_bytes(|_| true) + self.lent.load(Ordering::Relaxed)
    }

    /// Memory that can't be freed: positions of spilled segments, and distinct values.
    fn fixed_bytes(&self) -> u64 {
        self.sum_bytes(Segment::is_spilled)
    }

    fn sum_bytes(&self, counts: impl Fn(&Segment) -> bool) -> u64 {
        self.segments_bytes(counts) + self.dictionaries_bytes() + lock(&self.kept).bytes_max()
    }

    fn segments_bytes(&self, counts: impl Fn(&Segment) -> bool) -> u64 {
        let segments = lock(&self.segments);
        let counted = segments.all.iter().filter(|segment| counts(segment));
        counted.map(|segment| segment.bytes()).sum::<u64>() + (segments.all.capacity() * size_of::<Arc<Segment>>()) as u64
    }

    fn dictionaries_bytes(&self) -> u64 {
        self.dictionaries.iter().map(|dictionary| dictionary.lock().bytes()).sum()
    }
}

/// Parts of the memory for each dictionary: as [`SHARES`] has them, and as much as all of these
/// together for a schema's own columns, in equal parts.
fn dictionary_shares(counts: ColumnCounts) -> Vec<u64> {
    let own = counts.coded - CODED;
    let fixed = (0..CODED).map(|index| if has_dictionary(index) { SHARES[index] * own.max(1) as u64 } else { 0 });
    fixed.chain(std::iter::repeat_n(100, own)).collect()
}

// A poisoned lock is taken all the same: its content is whole after each statement.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
