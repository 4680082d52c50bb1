//! A store that outlives its process: a journal, to which segments, texts and an index of them are
//! only ever appended, and a head, which is small and written anew by each checkpoint. Together
//! with the first so many bytes of the journal, the head is the store.
//!
//! A store is restored from the head, the index and the texts. Its segments are read by the first
//! question that needs them.
//!
//! The file may be damaged: the head, each record and each column have a checksum, lengths are held
//! against the file before anything is allocated, and every code is held against its dictionary.

use crate::columns::{AGENT, ColumnCounts, FLAW, REJECTED, REPAIRED, STATUS};
use crate::dictionary::{DictionaryTables, NONE, NotRestored, OTHERS, Shortage};
use crate::file_bytes::{NumberBytes, damaged, pack, unpacked};
use crate::journal_record::{
    FRAME_BYTES, JournalRecord, Meta, RecordHeader, RecordKind, decode, encode, is_known, take_location, write_location,
};
use crate::limits::{BASE_BYTES_MIN, PIECE_BYTES_MAX, RECORD_BYTES_MAX};
use crate::segment::{Segment, SegmentColumns};
use crate::spill::{START_BYTES, Spill};
use crate::store::{JournalSummary, RowStore, RowStoreSettings, lock};
use crate::view_cache::Base;
use foldhash::quality::RandomState;
use rorqual_pipe::{Control, each};
use std::fs::File;
use std::hash::BuildHasher;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// First bytes of a journal, before its number.
const JOURNAL_MAGIC: u64 = u64::from_le_bytes(*b"rqrows05");

/// First bytes of a head.
const HEAD_MAGIC: u64 = u64::from_le_bytes(*b"rqhead07");

/// Segments that are not full, of a head that is read.
const GROWING_MAX: u32 = 256;

/// Texts of one field together in a record, before they are packed; one of them more.
const TEXTS_BYTES_MAX: usize = PIECE_BYTES_MAX + (68 << 10);

impl RowStore {
    /// An empty store that can be checkpointed: it writes to `journal` alone, which is emptied, and
    /// grows to at most `bytes_max`. Rows for which it has no room go to the spill of `settings`,
    /// where there is one; after that there are no checkpoints.
    ///
    /// # Errors
    /// When the journal can't be written.
    pub fn with_journal(settings: RowStoreSettings, journal: File, bytes_max: u64) -> io::Result<Arc<Self>> {
        // A head goes with one journal only.
        let number = RandomState::default().hash_one(0);
        journal.set_len(0)?;
        journal.write_all_at(&[JOURNAL_MAGIC.to_le_bytes(), number.to_le_bytes()].concat(), 0)?;
        let spill = Spill::journal(journal, START_BYTES as u64, bytes_max, settings.spill.as_ref());
        let store = Self::empty(settings, Some(spill), number);
        lock(&store.written).codes = vec![OTHERS as usize + 1; store.dictionaries.len()];
        Ok(Arc::new(store))
    }

    /// Writes the records that the journal lacks, and returns the head. For an end of the whole
    /// machine it has to be on the disk, too ([`RowStore::journal`]). No recorder may be at work.
    /// Of the memory it takes a segment and [`PIECE_BYTES_MAX`] of texts, twice, and the head,
    /// which has the segments that are not full.
    ///
    /// # Errors
    /// When the store has no journal, or that can't be written or is full.
    pub fn checkpoint(&self) -> io::Result<Vec<u8>> {
        self.checkpoint_with(None)
    }

    /// The same when no more rows come, with the counts of all rows, so that a store that is
    /// restored reads no segment for its first view. Takes a question's memory.
    ///
    /// # Errors
    /// As [`RowStore::checkpoint`], and when spilled rows can't be read back.
    pub fn checkpoint_counted(&self, control: &Control) -> io::Result<Vec<u8>> {
        self.complete();
        // As the first view does, it gives codes to texts that many rows have.
        let base = self.asked(|| self.base_with_grid(control)).map_err(|error| io::Error::other(error.to_string()))?;
        self.checkpoint_with(Some(&base))
    }

    fn checkpoint_with(&self, base: Option<&Base>) -> io::Result<Vec<u8>> {
        debug_assert_eq!(self.recorders.load(Ordering::Relaxed), 0, "a run is on its way");
        let mut written = lock(&self.written);
        let journal = self.spill_journal()?;
        self.store_segments(journal)?;
        self.store_texts(journal, &mut written)?;
        self.store_index(journal, &mut written)?;
        if let Some(base) = base {
            let names: Vec<_> = self.counts().counted().map(|index| self.dictionaries[index].names()).collect();
            written.counts = base.store(&names, journal)?;
        }
        // It may have been given up meanwhile.
        self.head(self.spill_journal()?, &written)
    }

    /// Another handle on the journal, to wait until the disk has it without holding the store.
    ///
    /// # Errors
    /// When the store has no journal, or there can be no other handle.
    pub fn journal(&self) -> io::Result<File> {
        self.spill_journal()?.handle()
    }

    fn spill_journal(&self) -> io::Result<&Spill> {
        let journal = self.spill.as_ref().filter(|spill| spill.is_journal());
        journal.ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "the store has no journal"))
    }

    fn store_segments(&self, journal: &Spill) -> io::Result<()> {
        let is_missing = |segment: &Arc<Segment>| segment.complete && !segment.is_stored();
        let missing = |from: usize| {
            let segments = lock(&self.segments);
            let place = (from..segments.all.len()).find(|place| is_missing(&segments.all[*place]))?;
            Some((place, Arc::clone(&segments.all[place])))
        };
        let mut from = 0;
        while let Some((place, segment)) = missing(from) {
            let stored = Arc::new(segment.stored(place, journal)?);
            // Without a journal it need not be anywhere else than in memory.
            self.spill_journal()?;
            lock(&self.segments).all[place] = stored;
            from = place + 1;
        }
        Ok(())
    }

    fn store_texts(&self, journal: &Spill, written: &mut JournalSummary) -> io::Result<()> {
        let JournalSummary { codes, texts, .. } = written;
        for (field, (dictionary, known)) in self.dictionaries.iter().zip(codes).enumerate() {
            loop {
                // Nobody waits for the disk.
                let found = piece_of(&dictionary.lock(), *known);
                let Some((piece, next)) = found else { break };
                let mut record = JournalRecord::new(RecordKind::Texts);
                record.bytes().extend_from_slice(&(field as u16).to_le_bytes());
                record.bytes().extend_from_slice(&(*known as u32).to_le_bytes());
                pack(&piece, record.bytes());
                texts.push((field as u16, journal.append(record)?));
                *known = next;
            }
        }
        Ok(())
    }

    /// Appends records of an index with all that is in none yet. Each says where the one before it
    /// is.
    fn store_index(&self, journal: &Spill, written: &mut JournalSummary) -> io::Result<()> {
        loop {
            let (entries, places) = self.missing_in_index(written);
            if places.is_empty() && written.texts.is_empty() {
                return Ok(());
            }
            let mut record = JournalRecord::new(RecordKind::Index);
            record.bytes().extend_from_slice(&written.index.to_le_bytes());
            record.bytes().extend_from_slice(&(written.texts.len() as u32).to_le_bytes());
            for (field, offset) in &written.texts {
                record.bytes().extend_from_slice(&field.to_le_bytes());
                record.bytes().extend_from_slice(&offset.to_le_bytes());
            }
            record.bytes().extend_from_slice(&(places.len() as u32).to_le_bytes());
            record.bytes().extend_from_slice(&entries);
            written.index = journal.append(record)?;
            written.texts.clear();
            places.into_iter().for_each(|place| written.indexed[place] = true);
        }
    }

    /// Some of the segments that are in the journal and in no index, as one has them, and their
    /// places.
    fn missing_in_index(&self, written: &mut JournalSummary) -> (Vec<u8>, Vec<usize>) {
        let segments = lock(&self.segments);
        written.indexed.resize(segments.all.len(), false);
        let (mut entries, mut places) = (Vec::new(), Vec::new());
        for (place, segment) in segments.all.iter().enumerate() {
            if entries.len() >= PIECE_BYTES_MAX {
                break;
            }
            if let (false, Some(location)) = (written.indexed[place], segment.location()) {
                write_location(segment, location, place, &mut entries);
                places.push(place);
            }
        }
        (entries, places)
    }

    fn head(&self, journal: &Spill, written: &JournalSummary) -> io::Result<Vec<u8>> {
        let number = journal.read_at((0, START_BYTES))?;
        let mut head = HEAD_MAGIC.to_le_bytes().to_vec();
        head.extend_from_slice(&number[8..]);
        head.extend_from_slice(&journal.bytes().to_le_bytes());
        head.extend_from_slice(&written.index.to_le_bytes());
        let (counts, records) = written.counts.unwrap_or_default();
        head.extend_from_slice(&counts.to_le_bytes());
        head.extend_from_slice(&records.to_le_bytes());
        head.extend_from_slice(&self.inputs.load(Ordering::Relaxed).to_le_bytes());
        head.extend_from_slice(&self.rows_dropped().to_le_bytes());
        head.push(u8::from(self.full.load(Ordering::Relaxed)));
        let ColumnCounts { coded, numbers } = self.counts();
        head.extend_from_slice(&(coded as u32).to_le_bytes());
        head.extend_from_slice(&(numbers as u32).to_le_bytes());
        for (dictionary, known) in self.dictionaries.iter().zip(&written.codes) {
            head.extend_from_slice(&(*known as u32).to_le_bytes());
            let shortage = dictionary.lock().shortage();
            // No code is 0 that a text has.
            head.extend_from_slice(&shortage.overflowed_at.unwrap_or(0).to_le_bytes());
            head.extend_from_slice(&shortage.places.to_le_bytes());
            head.push(u8::from(shortage.cut));
        }
        let segments = lock(&self.segments);
        let growing = || segments.all.iter().enumerate().filter(|(_, segment)| !segment.complete);
        head.extend_from_slice(&(segments.all.len() as u32).to_le_bytes());
        head.extend_from_slice(&(growing().count() as u32).to_le_bytes());
        for (place, segment) in growing() {
            if let Some(columns) = segment.columns() {
                encode(segment, columns, place, &mut head);
            }
        }
        head.extend_from_slice(&crc32fast::hash(&head).to_le_bytes());
        Ok(head)
    }

    /// Restores the store of `head` and `journal` as it was checkpointed, with the same columns in
    /// `settings`; later records of the journal are cut off. Takes the memory of a record for each
    /// thread beside the store. Segments stay unread. The next run adds rows to the head's segments
    /// that are not full. Room beyond the journal is as [`RowStore::with_journal`] has it.
    ///
    /// # Errors
    /// When the files are damaged, of another version, or do not go together; when the memory has
    /// less room for values than it had, or the journal can't be read.
    pub fn restore(settings: RowStoreSettings, journal: File, bytes_max: u64, head: &[u8]) -> io::Result<Arc<Self>> {
        let head = JournalHead::read(head, settings.counts())
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the head of rows is damaged"))?;
        if journal.metadata()?.len() < head.journal_bytes {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file of rows is too short"));
        }
        let cut = journal.try_clone()?;
        let spill = Spill::journal(journal, head.journal_bytes, bytes_max, settings.spill.as_ref());
        let store = Self::empty(settings, Some(spill), head.number);
        let mut segments = Restored::new(head.segments, store.counts());
        store.take_journal(&head, &mut segments)?;
        let (counted, bytes) = (head.counted, head.journal_bytes);
        store.take_head(head, segments).ok_or_else(damaged)?;
        if let Some(counted) = counted {
            store.take_counts(counted)?;
        }
        cut.set_len(bytes)?;
        store.make_room();
        Ok(Arc::new(store))
    }

    /// Reads all segments that are in the journal, and holds them against their checksums.
    ///
    /// # Errors
    /// When one is damaged, or can't be read.
    pub fn verify(&self) -> io::Result<()> {
        let journal = self.spill_journal()?;
        for segment in self.snapshot().segments {
            segment.location().map_or(Ok(()), |location| location.verify(journal))?;
        }
        Ok(())
    }

    fn take_journal(&self, head: &JournalHead, segments: &mut Restored) -> io::Result<()> {
        let Some(journal) = &self.spill else { return Err(damaged()) };
        let start = journal.read_at((0, START_BYTES))?;
        if start != [JOURNAL_MAGIC.to_le_bytes(), head.number.to_le_bytes()].concat() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the file of rows is another one than the head's"));
        }
        // The later ones come first.
        let (mut index, mut texts) = (head.index, vec![Vec::new(); self.dictionaries.len()]);
        while index != 0 {
            let payload = read_record(journal, index, RecordKind::Index)?;
            let before = segments.take_index(&payload, &mut texts).filter(|before| *before < index);
            index = before.ok_or_else(damaged)?;
        }
        self.take_all_texts(journal, &texts, head)
    }

    /// Takes the records of texts, those of several fields side by side.
    fn take_all_texts(&self, journal: &Spill, texts: &[Vec<u64>], head: &JournalHead) -> io::Result<()> {
        let mut workers = vec![(); self.settings.threads];
        let work = |(): &mut (), (field, offsets): (usize, &Vec<u64>)| {
            let take = |offset: &u64| self.take_texts(field, &read_record(journal, *offset, RecordKind::Texts)?, head);
            offsets.iter().rev().try_for_each(take)
        };
        let mut taken = Ok(());
        let sink = |done: io::Result<()>| {
            // The first fault is as good as any.
            taken = std::mem::replace(&mut taken, Ok(())).and(done);
            Ok(())
        };
        each(texts.iter().enumerate(), &mut workers, work, sink).map_err(|error| io::Error::other(error.to_string()))?;
        taken
    }

    fn take_counts(&self, (first, records): (u64, u32)) -> io::Result<()> {
        let Some(journal) = &self.spill else { return Err(damaged()) };
        let mut offset = first;
        let payloads = (0..records).map(|_| {
            let payload = read_record(journal, offset, RecordKind::Counts)?;
            offset += (FRAME_BYTES + payload.len()) as u64;
            Ok(payload)
        });
        let indices: Vec<usize> = self.counts().counted().collect();
        let name = |column: usize, hash: u64, text: &[u8]| self.dictionaries[indices[column]].name(hash, text);
        let base = Base::restored(payloads, &self.snapshot(), &self.lengths(), name)?;
        // Small stores keep none.
        if self.settings.memory_bytes >= BASE_BYTES_MIN {
            *lock(&self.base) = base;
        }
        Ok(())
    }

    fn take_texts(&self, index: usize, mut payload: &[u8], head: &JournalHead) -> io::Result<()> {
        let (field, first) = u16::take(&mut payload).zip(u32::take(&mut payload)).ok_or_else(damaged)?;
        let own = self.dictionaries.get(index).filter(|_| usize::from(field) == index);
        let dictionary = own.ok_or_else(damaged)?;
        let texts = unpacked(payload, TEXTS_BYTES_MAX)?;
        let mut tables = dictionary.lock();
        if tables.len() != first as usize {
            return Err(damaged());
        }
        let mut rest = &texts[..];
        let texts = std::iter::from_fn(|| {
            let length = u32::take(&mut rest)?;
            let (text, remaining) = rest.split_at_checked(length as usize)?;
            rest = remaining;
            Some(text)
        });
        let is_flaw = |text: &&[u8]| usize::from(field) != FLAW || matches!(text.first(), None | Some(&(REJECTED | REPAIRED)));
        let (_, shortage) = head.dictionaries[usize::from(field)];
        match tables.restore(texts.take_while(is_flaw), shortage) {
            Err(NotRestored::NoRoom) => {
                Err(io::Error::new(io::ErrorKind::OutOfMemory, "the values of these rows had more memory than there is now"))
            }
            Ok(()) if rest.is_empty() => Ok(()),
            _ => Err(damaged()),
        }
    }

    /// True if no rejected line has a status or an agent: what is neither rejected nor of a bot is
    /// counted by subtraction.
    fn are_rejects_bare(&self, columns: &SegmentColumns, rows: usize) -> bool {
        let flaws = self.dictionaries[FLAW].lock();
        let [flaw, status, agent] = [FLAW, STATUS, AGENT].map(|index| &columns.coded[index]);
        let is_rejected: Vec<bool> = flaw.globals.iter().map(|code| flaws.text(*code).first() == Some(&REJECTED)).collect();
        let has_field = |row: usize| status.get(row) != NONE || agent.get(row) != NONE;
        !is_rejected.contains(&true) || !(0..rows).any(|row| is_rejected[flaw.codes.get(row) as usize] && has_field(row))
    }

    fn take_head(&self, head: JournalHead, mut segments: Restored) -> Option<()> {
        let mut written = lock(&self.written);
        let lengths: Vec<usize> = head.dictionaries.iter().map(|(length, _)| *length).collect();
        for (index, (dictionary, (length, shortage))) in self.dictionaries.iter().zip(head.dictionaries).enumerate() {
            let mut tables = dictionary.lock();
            let is_beyond = shortage.overflowed_at.is_some_and(|code| code as usize > length);
            if tables.len() != length || !is_known(index, segments.globals_max[index], length) || is_beyond {
                return None;
            }
            tables.restore_shortage(shortage);
            written.codes.push(length);
        }
        (written.index, written.counts) = (head.index, head.counted);
        written.indexed = segments.all.iter().map(Option::is_some).collect();
        let mut open = Vec::new();
        for (meta, columns) in head.growing {
            open.push(meta.place);
            let has = |(index, length): (usize, &usize)| is_known(index, columns.coded[index].globals_max(), *length);
            if !lengths.iter().enumerate().all(has) || !self.are_rejects_bare(&columns, meta.rows) {
                return None;
            }
            segments.put(meta.place, Segment::of_record(meta, Some(columns), None, false))?;
        }
        if segments.all.len() != segments.count {
            return None;
        }
        self.segment_bytes_most.fetch_max(segments.bytes_most, Ordering::Relaxed);
        let mut own = lock(&self.segments);
        own.all = segments.all.into_iter().collect::<Option<_>>()?;
        own.open = open;
        self.inputs.store(head.inputs, Ordering::Relaxed);
        self.rows_dropped.store(head.rows_dropped, Ordering::Relaxed);
        self.full.store(head.full, Ordering::Relaxed);
        Some(())
    }
}

/// Texts from `code` on, each after its length, and the code after them; `None` where there are
/// none.
fn piece_of(tables: &DictionaryTables, code: usize) -> Option<(Vec<u8>, usize)> {
    let mut piece = Vec::new();
    let mut next = code;
    while next < tables.len() && piece.len() < PIECE_BYTES_MAX {
        let text = tables.journaled(next as u32);
        piece.extend_from_slice(&(text.len() as u32).to_le_bytes());
        piece.extend_from_slice(&text);
        next += 1;
    }
    (next > code).then_some((piece, next))
}

/// The payload of a whole record of that kind.
fn read_record(journal: &Spill, offset: u64, kind: RecordKind) -> io::Result<Vec<u8>> {
    let frame = RecordHeader::read(&journal.frame_at(offset)?).filter(|frame| frame.kind == kind).ok_or_else(damaged)?;
    if frame.length as usize > RECORD_BYTES_MAX {
        return Err(damaged());
    }
    let payload = journal.read_at((offset + FRAME_BYTES as u64, frame.length as usize))?;
    if frame.fits(&payload) { Ok(payload) } else { Err(damaged()) }
}

/// Segments by their places, as they are found.
struct Restored {
    all: Vec<Option<Arc<Segment>>>,
    /// The number of them that there are to be.
    count: usize,
    counts: ColumnCounts,
    globals_max: Vec<u32>,
    /// Most memory of one of them.
    bytes_most: u64,
}

impl Restored {
    fn new(count: usize, counts: ColumnCounts) -> Self {
        Self { all: Vec::new(), count, counts, globals_max: vec![0; counts.coded], bytes_most: 0 }
    }

    /// Puts a segment in its place, which nobody else has.
    fn put(&mut self, place: usize, segment: Segment) -> Option<()> {
        if place >= self.count {
            return None;
        }
        if place >= self.all.len() {
            self.all.resize(place + 1, None);
        }
        let free = self.all[place].is_none();
        self.all[place] = Some(Arc::new(segment));
        free.then_some(())
    }

    /// Takes a record of an index, with the offsets of records of texts by field. Returns the
    /// offset of the record before it.
    fn take_index(&mut self, mut payload: &[u8], texts: &mut [Vec<u64>]) -> Option<u64> {
        let before = u64::take(&mut payload)?;
        let mut fields = Vec::new();
        for _ in 0..u32::take(&mut payload)? {
            fields.push((u16::take(&mut payload)?, u64::take(&mut payload)?));
        }
        for (field, offset) in fields.into_iter().rev() {
            texts.get_mut(usize::from(field))?.push(offset);
        }
        for _ in 0..u32::take(&mut payload)? {
            let (meta, location) = take_location(&mut payload, self.counts)?;
            self.bytes_most = self.bytes_most.max(location.memory_bytes());
            self.globals_max.iter_mut().zip(location.globals_max()).for_each(|(most, last)| *most = (*last).max(*most));
            self.put(meta.place, Segment::of_record(meta, None, Some(location), true))?;
        }
        payload.is_empty().then_some(before)
    }
}

/// Content of a head.
struct JournalHead {
    number: u64,
    journal_bytes: u64,
    /// Offset of the last record of the index; 0 where there is none.
    index: u64,
    /// Offset of the first record of counts, and their number.
    counted: Option<(u64, u32)>,
    inputs: u32,
    rows_dropped: u64,
    full: bool,
    dictionaries: Vec<(usize, Shortage)>,
    segments: usize,
    growing: Vec<(Meta, SegmentColumns)>,
}

impl JournalHead {
    fn read(bytes: &[u8], counts: ColumnCounts) -> Option<Self> {
        let (mut rest, checksum) = bytes.split_last_chunk()?;
        if crc32fast::hash(rest) != u32::from_le_bytes(*checksum) || u64::take(&mut rest)? != HEAD_MAGIC {
            return None;
        }
        let (number, journal_bytes) = (u64::take(&mut rest)?, u64::take(&mut rest)?);
        let (index, first, records) = (u64::take(&mut rest)?, u64::take(&mut rest)?, u32::take(&mut rest)?);
        let records_end = index.max(u64::from(records) * FRAME_BYTES as u64);
        let counted = (records > 0).then_some((first, records));
        let (inputs, rows_dropped, full) = (u32::take(&mut rest)?, u64::take(&mut rest)?, u8::take(&mut rest)? != 0);
        if (u32::take(&mut rest)? as usize, u32::take(&mut rest)? as usize) != (counts.coded, counts.numbers) {
            return None;
        }
        let mut dictionaries = vec![(0, Shortage::default()); counts.coded];
        for dictionary in &mut dictionaries {
            let length = u32::take(&mut rest)? as usize;
            let overflowed_at = Some(u32::take(&mut rest)?).filter(|code| *code != 0);
            let (places, cut) = (u32::take(&mut rest)?, u8::take(&mut rest)? != 0);
            *dictionary = (length, Shortage { overflowed_at, places, cut });
        }
        let (segments, count) = (u32::take(&mut rest)? as usize, u32::take(&mut rest)?);
        // One for each worker of a turn.
        if count > GROWING_MAX {
            return None;
        }
        let mut growing = Vec::new();
        for _ in 0..count {
            let (meta, columns) = decode(&mut rest, counts)?;
            growing.push((meta, columns));
        }
        // Each that is full has a record.
        let most = journal_bytes / FRAME_BYTES as u64 + growing.len() as u64;
        let fits = rest.is_empty() && journal_bytes >= (START_BYTES as u64).max(records_end) && segments as u64 <= most;
        let head = Self { number, journal_bytes, index, counted, inputs, rows_dropped, full, dictionaries, segments, growing };
        fits.then_some(head)
    }
}
