//! The distinct texts of a field, for all workers and segments, each with a code.

use crate::code_set::CodeSet;
use crate::columns::source;
use crate::file_bytes::NumberBytes;
use crate::limits::SUMMED_VALUES;
use crate::sparse_counts::SparseCounts;
use crate::uncoded::TextHasher;
use foldhash::fast::RandomState as FastState;
use hashbrown::HashTable;
use rorqual_accesslog::Countries;
use rorqual_accesslog::agent::{classify, referring_site};
use rorqual_accesslog::filter::{TextTest, kind, net};
use rorqual_accesslog::schema::TextColumn;
use rorqual_accesslog::suggest::ValuesSeen;
use rorqual_pipe::Control;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The absent value.
pub(crate) const NONE: u32 = 0;

/// All texts that have no code, where no column follows from the texts or there was no room for
/// more groups.
pub(crate) const OTHERS: u32 = 1;

/// Shown for a text that is in no memory, and for texts that are counted together.
pub(crate) const NO_ROOM: &str = "…";

/// The same among flaws, which have their kind before them.
pub(crate) const FLAW_NO_ROOM: &str = "x…";

/// Bytes that a dictionary takes of the spare memory at a time: a sixteenth of all, between these.
const SPARE_PIECE_BYTES: (u64, u64) = (256, 64 << 10);

/// Least room for texts and their ends, and for more of them.
const RESERVED_MIN: usize = 16;

/// Bytes of a text that are kept, as [`rorqual_accesslog::RecordedRows`] gives it.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Part of a dictionary's own share that is kept for the time when there is no room for more texts:
/// for groups of texts without a code, and for those of them that answers are about.
const RESERVE_PART: u64 = 4;

/// Least of this, or there is none.
const RESERVE_BYTES_MIN: u64 = 16 << 10;

/// Bytes of the reserve for each place of a text that answers are about, and most such places.
const PLACE_BYTES: u64 = 1 << 10;
pub(crate) const PLACES_MAX: u64 = 4_096;

/// Part of the reserve that is left for texts that answers are about; groups leave as much again
/// for frequent values of derived columns.
const NAMES_PART: u64 = 16;

/// Memory of such a text beside itself.
const NAME_BYTES: u64 = 64;

/// Memory of a group beside its sums.
const GROUP_BYTES: u64 = 96;

/// Groups that the first table of them has room for.
const GROUPS_FIRST: usize = 3;

/// Texts without a code after which the value that follows from them gets a code of its own, of the
/// bytes that are kept: those that cancelled each other in a [`Sighting`] are not counted.
const SIGHTINGS_MIN: u32 = 64;

/// Texts that are looked up side by side: while the memory of one is waited for, the next are
/// worked on.
const SIDE_BY_SIDE: usize = 32;

/// Values that differ in the case of their letters alone, at most.
const EQUAL_MAX: usize = 4;

/// Values that are looked at before others may have the lock.
const SLICE: usize = 4096;

/// The texts of one field, and of the columns that follow from it.
///
/// Codes from 2 on are of texts until there is no room for more. Then come places for texts without
/// a code that answers are about, and after these the codes of groups: of all texts without a code
/// that the same values follow from.
pub(crate) struct Dictionary {
    shared: Mutex<DictionaryTables>,
    /// Code of a place by the hash of its text.
    named: Mutex<Arc<NamedHashes>>,
}

/// Code of a place by the hash of its text.
pub(crate) type NamedHashes = HashMap<u64, u32, FastState>;

/// Texts without a code that answers are about, each with its hash.
pub(crate) type NamedTexts = Vec<(u64, Box<[u8]>)>;

/// Memory for the dictionaries that have more values than their share has room for: which these
/// are, the log decides.
pub(crate) struct SpareValues {
    left: AtomicU64,
    piece_bytes: u64,
}

impl SpareValues {
    pub(crate) fn new(bytes: u64) -> Arc<Self> {
        let (least, most) = SPARE_PIECE_BYTES;
        Arc::new(Self { left: AtomicU64::new(bytes), piece_bytes: (bytes / 16).clamp(least, most) })
    }

    fn take(&self, bytes: u64) -> bool {
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }
}

/// Values that a dictionary had no room for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Shortage {
    /// The first code after those of texts, once one had no room.
    pub(crate) overflowed_at: Option<u32>,
    /// Places from there on.
    pub(crate) places: u32,
    /// A text was cut.
    pub(crate) cut: bool,
}

/// Reason for which texts of a dictionary can't be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotRestored {
    Damaged,
    NoRoom,
}

/// State under a [`Dictionary`]'s lock.
pub(crate) struct DictionaryTables {
    texts: CodedTexts,
    derived: Vec<DerivedColumn>,
    /// Bytes of sums over a value, and in a question.
    value_bytes: (u64, u64),
    bytes_max: u64,
    spare: Arc<SpareValues>,
    /// Bytes that are kept for the time when there is no room for more texts.
    reserve_bytes: u64,
    /// Codes given out before the first text had no room.
    overflowed_at: Option<u32>,
    /// Places for texts without a code that answers are about, and the texts in them.
    places: u32,
    named: Vec<Box<[u8]>>,
    /// Memory of these texts.
    named_bytes: u64,
    /// Memory that frequent values of derived columns took of what is kept for them.
    frequent_bytes: u64,
    /// Groups of texts without a code, by the codes of the values that follow from them.
    groups: HashMap<Box<[u32]>, u32>,
    /// A text was as long as texts are kept: it may have been longer.
    cut: bool,
    countries: Option<Arc<Countries>>,
}

/// A column that follows from the texts.
struct DerivedColumn {
    column: TextColumn,
    texts: CodedTexts,
    /// For each code of the dictionary, the code of the derived column.
    of: Vec<u32>,
    /// Values that there was no room for, by their hashes; as many as there are places.
    sightings: Vec<Sighting>,
    /// Codes of those that got one as many texts had them, in order.
    frequent: Vec<u32>,
}

/// A value that may be that of most texts of its bucket: each text votes for its value, or cancels
/// one vote of another (Boyer and Moore's majority vote).
#[derive(Debug, Clone, Copy, Default)]
struct Sighting {
    hash: u64,
    votes: u32,
}

impl DerivedColumn {
    /// Notes that a text has a value without a code; true once it is one of many.
    fn sight(&mut self, value: &[u8]) -> bool {
        let hash = self.texts.hasher.hash(value);
        let buckets = self.sightings.len() as u64;
        let Some(sighting) = hash.checked_rem(buckets).and_then(|bucket| self.sightings.get_mut(bucket as usize)) else {
            return false;
        };
        if sighting.hash == hash {
            sighting.votes = sighting.votes.saturating_add(1);
        } else if sighting.votes == 0 {
            *sighting = Sighting { hash, votes: 1 };
        } else {
            sighting.votes -= 1;
        }
        sighting.hash == hash && sighting.votes >= SIGHTINGS_MIN
    }
}

/// Texts, each with a code from 2 on.
struct CodedTexts {
    table: HashTable<u32>,
    hasher: TextHasher,
    arena: Vec<u8>,
    /// End of each code's text in the arena.
    ends: Vec<u64>,
}

impl CodedTexts {
    fn new(hasher: &TextHasher) -> Self {
        Self { table: HashTable::new(), hasher: hasher.clone(), arena: Vec::new(), ends: vec![0; OTHERS as usize + 1] }
    }

    fn find(&self, text: &[u8]) -> Option<u32> {
        self.find_hashed(self.hasher.hash(text), text)
    }

    fn find_hashed(&self, hash: u64, text: &[u8]) -> Option<u32> {
        self.table.find(hash, |code| self.get(*code) == text).copied()
    }

    /// The code that a text with this hash most likely has; no text is looked at. [`NONE`] where it
    /// has none.
    fn guess(&self, hash: u64) -> u32 {
        self.table.find(hash, |_| true).copied().unwrap_or(NONE)
    }

    fn add(&mut self, text: &[u8]) -> u32 {
        self.add_hashed(self.hasher.hash(text), text)
    }

    fn add_hashed(&mut self, text_hash: u64, text: &[u8]) -> u32 {
        let code = self.ends.len() as u32;
        reserve(&mut self.arena, text.len());
        reserve(&mut self.ends, 1);
        self.arena.extend_from_slice(text);
        self.ends.push(self.arena.len() as u64);
        let Self { table, hasher, arena, ends } = self;
        let hash = |code: &u32| hasher.hash(&arena[range_of(ends, *code)]);
        table.insert_unique(text_hash, code, hash);
        code
    }

    /// Memory that one more text of that length takes, where no more room is made than for it.
    fn growth_bytes(&self, length: usize) -> u64 {
        let arena = length.saturating_sub(self.arena.capacity() - self.arena.len());
        let ends = if self.ends.len() < self.ends.capacity() { 0 } else { size_of::<u64>() };
        let table = if self.table.len() < self.table.capacity() { 0 } else { self.table.allocation_size() };
        (arena + ends + table) as u64
    }

    /// Adds a text, and makes no more room than for it.
    fn add_exact(&mut self, text: &[u8]) -> u32 {
        self.arena.reserve_exact(text.len());
        self.ends.reserve_exact(1);
        self.add(text)
    }

    fn get(&self, code: u32) -> &[u8] {
        &self.arena[self.range(code)]
    }

    fn range(&self, code: u32) -> Range<usize> {
        range_of(&self.ends, code)
    }

    /// A code without a text.
    fn add_empty(&mut self) -> u32 {
        let code = self.ends.len() as u32;
        reserve(&mut self.ends, 1);
        self.ends.push(self.arena.len() as u64);
        code
    }

    /// Memory, with the sums over its values.
    fn bytes(&self, (value_bytes, summed_bytes): (u64, u64)) -> u64 {
        let own = self.table.allocation_size() + self.arena.capacity() + self.ends.capacity() * size_of::<u64>();
        let summed = self.ends.len().saturating_sub(SUMMED_VALUES) as u64 * summed_bytes;
        own as u64 + self.ends.len() as u64 * value_bytes + summed
    }
}

/// Makes room a quarter at a time: a vector that doubles is half empty when there is no room for
/// more.
fn reserve<T>(items: &mut Vec<T>, more: usize) {
    if items.capacity() - items.len() < more {
        items.reserve_exact(more.max(items.len() / 4).max(RESERVED_MIN));
    }
}

/// Range of a code's text in the arena.
fn range_of(ends: &[u64], code: u32) -> Range<usize> {
    let code = code as usize;
    let start = if code == 0 { 0 } else { ends[code - 1] as usize };
    start..ends[code] as usize
}

impl Dictionary {
    /// An empty dictionary of at most `bytes_max` and its part of `spare`, with the columns derived
    /// from its texts; sums over a value take `value_bytes`: of the store, and in a question.
    pub(crate) fn new(
        derived: &[TextColumn],
        value_bytes: (u64, u64),
        (bytes_max, spare): (u64, &Arc<SpareValues>),
        countries: Option<Arc<Countries>>,
        hasher: &TextHasher,
    ) -> Self {
        let column = |column: &TextColumn| DerivedColumn {
            column: *column,
            texts: CodedTexts::new(hasher),
            // Nothing is known to follow from texts of [`OTHERS`].
            of: vec![NONE, OTHERS],
            sightings: Vec::new(),
            frequent: Vec::new(),
        };
        let derived = derived.iter().map(column).collect();
        let reserve_bytes = Some(bytes_max / RESERVE_PART).filter(|reserve| *reserve >= RESERVE_BYTES_MIN).unwrap_or(0);
        Self {
            shared: Mutex::new(DictionaryTables {
                texts: CodedTexts::new(hasher),
                derived,
                value_bytes,
                bytes_max: bytes_max - reserve_bytes,
                spare: Arc::clone(spare),
                reserve_bytes,
                overflowed_at: None,
                places: 0,
                named: Vec::new(),
                named_bytes: 0,
                frequent_bytes: 0,
                groups: HashMap::new(),
                cut: false,
                countries,
            }),
            named: Mutex::default(),
        }
    }

    // A poisoned lock is taken all the same: a text is only found once it is whole.
    pub(crate) fn lock(&self) -> MutexGuard<'_, DictionaryTables> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Codes of texts without a code that answers are about, by hash.
    pub(crate) fn named(&self) -> Arc<NamedHashes> {
        Arc::clone(&self.named.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Hashes and texts of these, by code.
    pub(crate) fn names(&self) -> NamedTexts {
        let (named, tables) = (self.named(), self.lock());
        let mut codes: Vec<(u32, u64)> = named.iter().map(|(hash, code)| (*code, *hash)).collect();
        codes.sort_unstable();
        codes.into_iter().zip(&tables.named).map(|((_, hash), text)| (hash, text.clone())).collect()
    }

    /// Gives a text without a code one of the places, for answers; `false` where none is free.
    pub(crate) fn name(&self, hash: u64, text: &[u8]) -> bool {
        let code = self.lock().name(text);
        if let Some(code) = code {
            let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::make_mut(&mut named).insert(hash, code);
        }
        code.is_some()
    }

    /// Codes that pass the test, of `column` or of the texts themselves; and those of groups whose
    /// texts have to be looked at one by one. `None` when it was cancelled.
    pub(crate) fn matching(&self, column: Option<TextColumn>, test: &TextTest, control: &Control) -> Option<(CodeSet, CodeSet)> {
        let mut passed = match test.texts() {
            Some(texts) => self.finding(column, &texts),
            None => self.looking(column, test, control)?,
        };
        passed.remove(OTHERS);
        let tables = self.lock();
        let unknown = tables.undetermined(column);
        let Some(column) = column else { return Some((passed, unknown)) };
        // Codes since then are of no segment that is looked at.
        let classes = tables.classes(column);
        let passed = match passed.listed() {
            Some([one]) => CodeSet::of(classes, |class| class == *one),
            _ => CodeSet::of(classes, |class| passed.has(class)),
        };
        Some((passed, unknown))
    }

    /// The values of `column`, or of the texts themselves, that have to do with `text`;
    /// `in_any_case` finds it in any letters. Of texts without a code nothing is known: they may
    /// have it.
    pub(crate) fn values_like(
        &self,
        column: Option<TextColumn>,
        text: &str,
        in_any_case: Option<&TextTest>,
        control: &Control,
    ) -> ValuesSeen {
        let (len, has_groups) = {
            let tables = self.lock();
            (tables.texts(column).ends.len(), tables.has_groups() && column.is_none())
        };
        let mut seen = ValuesSeen { equal: Vec::new(), contains: has_groups, contains_in_any_case: has_groups };
        seen.equal.extend(has_groups.then(|| text.to_owned()));
        let part = TextTest::Contains(text.to_owned());
        for start in (0..len).step_by(SLICE) {
            let tables = self.lock();
            let texts = tables.texts(column);
            let end = if column.is_none() { (start + SLICE).min(tables.texts_end()) } else { start + SLICE };
            for code in (start..end.min(len)).filter(|code| *code > OTHERS as usize) {
                let value = texts.get(code as u32);
                seen.contains = seen.contains || part.meets(value);
                seen.contains_in_any_case =
                    seen.contains_in_any_case || in_any_case.map_or(seen.contains, |test| test.meets(value));
                let is_equal = value.len() == text.len() && value.eq_ignore_ascii_case(text.as_bytes());
                if is_equal && seen.equal.len() < EQUAL_MAX && !(has_groups && value == text.as_bytes()) {
                    seen.equal.push(String::from_utf8_lossy(value).into_owned());
                }
            }
            if control.stopped() {
                break;
            }
        }
        seen
    }

    /// The codes of these texts.
    fn finding(&self, column: Option<TextColumn>, texts: &[&str]) -> CodeSet {
        let tables = self.lock();
        let known = tables.texts(column);
        let mut passed = CodeSet::none(known.ends.len());
        for text in texts {
            let code = if text.is_empty() { Some(NONE) } else { known.find(text.as_bytes()) };
            code.into_iter().for_each(|code| passed.add(code));
        }
        passed
    }

    /// Looks at each text.
    fn looking(&self, column: Option<TextColumn>, test: &TextTest, control: &Control) -> Option<CodeSet> {
        // Codes from now on are of no segment that is looked at.
        let len = self.lock().texts(column).ends.len();
        let mut passed = CodeSet::none(len);
        for start in (0..len).step_by(SLICE) {
            let tables = self.lock();
            let texts = tables.texts(column);
            let end = len.min(start + SLICE);
            // Groups and places have no text here.
            let end = if column.is_none() { end.min(tables.texts_end()) } else { end };
            let codes = (start..end).filter(|code| *code != OTHERS as usize && test.meets(texts.get(*code as u32)));
            codes.for_each(|code| passed.add(code as u32));
            if control.stopped() {
                return None;
            }
        }
        Some(passed)
    }
}

impl DictionaryTables {
    /// The code of a text, a new one where it was not seen before and there is room.
    pub(crate) fn intern(&mut self, text: &[u8]) -> u32 {
        self.intern_hashed(self.texts.hasher.hash(text), text)
    }

    /// The codes of many texts with their hashes, in their order; each hash is asked for once.
    pub(crate) fn intern_all<'a>(
        &mut self,
        count: usize,
        (hash, text): (impl Fn(usize) -> u64, impl Fn(usize) -> &'a [u8]),
        codes: &mut Vec<u32>,
    ) {
        codes.reserve(count);
        let mut hashes = [0; SIDE_BY_SIDE];
        let mut guesses: [(u32, Range<usize>); SIDE_BY_SIDE] = std::array::from_fn(|_| (NONE, 0..0));
        for start in (0..count).step_by(SIDE_BY_SIDE) {
            let end = count.min(start + SIDE_BY_SIDE);
            (start..end).zip(&mut hashes).for_each(|(index, of)| *of = hash(index));
            let known = &self.texts;
            hashes.iter().zip(&mut guesses).take(end - start).for_each(|(hash, guess)| guess.0 = known.guess(*hash));
            guesses[..end - start].iter_mut().for_each(|(code, range)| *range = known.range(*code));
            for ((index, hash), (code, range)) in (start..end).zip(hashes).zip(&guesses) {
                let text = text(index);
                let right = self.texts.arena[range.clone()] == *text;
                codes.push(if right { *code } else { self.intern_hashed(hash, text) });
            }
        }
    }

    fn intern_hashed(&mut self, hash: u64, text: &[u8]) -> u32 {
        if text.is_empty() {
            return NONE;
        }
        if let Some(code) = self.texts.find_hashed(hash, text) {
            return code;
        }
        if self.overflowed_at.is_some() || !self.has_room_for(text, 0) {
            self.overflow();
            return OTHERS;
        }
        self.add(hash, text)
    }

    /// Closes the dictionary: texts that come from now on have no code.
    fn overflow(&mut self) {
        if self.overflowed_at.is_none() {
            let places = (self.reserve_bytes / PLACE_BYTES).min(PLACES_MAX) as u32;
            self.overflow_with(places);
        }
    }

    fn overflow_with(&mut self, places: u32) {
        self.overflowed_at = Some(self.len() as u32);
        self.bytes_max += self.reserve_bytes;
        self.places = places;
        for _ in 0..places {
            self.texts.add_empty();
            self.derived.iter_mut().for_each(|derived| derived.of.push(NONE));
        }
        self.derived.iter_mut().for_each(|derived| derived.sightings = vec![Sighting::default(); places as usize]);
    }

    /// The code of the group of a text without a code.
    pub(crate) fn group(&mut self, text: &[u8]) -> u32 {
        if self.derived.is_empty() {
            return OTHERS;
        }
        let kept_bytes = self.kept_for_names() + self.kept_for_frequent();
        let classes = self.classes_of(text, kept_bytes);
        self.group_of(&classes, kept_bytes)
    }

    /// The code of the group of these values, where there is room for one beside the bytes that are
    /// kept, or in the part of them that is for groups of frequent values.
    fn group_of(&mut self, classes: &[u32], kept_bytes: u64) -> u32 {
        if let Some(code) = self.groups.get(classes) {
            return *code;
        }
        let has_room = self.has_room(GROUP_BYTES + self.value_bytes.0 + self.value_bytes.1 + kept_bytes);
        let is_frequent = |(derived, class): (&DerivedColumn, &u32)| derived.frequent.binary_search(class).is_ok();
        let is_frequent = self.derived.iter().zip(classes).any(is_frequent);
        if !(has_room || is_frequent && self.may_grow(self.group_growth_bytes())) {
            return OTHERS;
        }
        let code = self.texts.add_empty();
        self.derived.iter_mut().zip(classes).for_each(|(derived, class)| derived.of.push(*class));
        self.groups.insert(classes.into(), code);
        code
    }

    /// Memory that one more group takes now.
    fn group_growth_bytes(&self) -> u64 {
        let capacity = self.groups.capacity();
        let groups = if self.groups.len() < capacity { 0 } else { capacity.max(GROUPS_FIRST) as u64 * GROUP_BYTES };
        let of = |derived: &DerivedColumn| if derived.of.len() < derived.of.capacity() { 0 } else { derived.of.len() * 4 };
        let ends = &self.texts.ends;
        let codes = if ends.len() < ends.capacity() { 0 } else { (ends.len() / 4).max(RESERVED_MIN) * size_of::<u64>() };
        let columns = self.derived.iter().map(of).sum::<usize>() + codes;
        groups + columns as u64 + self.value_bytes.0 + self.value_bytes.1
    }

    /// True if the dictionary may grow by so many bytes for a frequent value, which are then taken
    /// of those that are kept for these.
    fn may_grow(&mut self, bytes: u64) -> bool {
        let fits = bytes <= self.kept_for_frequent();
        self.frequent_bytes += if fits { bytes } else { 0 };
        fits
    }

    /// Bytes that groups leave for the texts that answers will be about. A text that most rows have
    /// comes after thousands of groups, and is worth more than each of them.
    fn kept_for_names(&self) -> u64 {
        (self.reserve_bytes / NAMES_PART).saturating_sub(self.named_bytes)
    }

    /// Bytes that they leave for frequent values of derived columns.
    fn kept_for_frequent(&self) -> u64 {
        (self.reserve_bytes / NAMES_PART).saturating_sub(self.frequent_bytes)
    }

    /// The codes of the values that follow from a text; [`OTHERS`] of one that has no room beside
    /// the bytes that are kept.
    fn classes_of(&mut self, text: &[u8], kept_bytes: u64) -> Vec<u32> {
        let countries = self.countries.clone();
        let value = |derived: &DerivedColumn| derive(derived.column, text, countries.as_deref()).into_owned();
        let values: Vec<Vec<u8>> = self.derived.iter().map(value).collect();
        (0..).zip(&values).map(|(place, value)| self.class(place, value, kept_bytes)).collect()
    }

    fn class(&mut self, place: usize, value: &[u8], kept_bytes: u64) -> u32 {
        match self.derived[place].texts.find(value) {
            _ if value.is_empty() => NONE,
            Some(code) => code,
            None if self.has_room_for(value, kept_bytes) => self.derived[place].texts.add(value),
            None if self.derived[place].sight(value) => self.frequent(place, value).unwrap_or(OTHERS),
            None => OTHERS,
        }
    }

    /// Gives a value that many texts have a code; `None` where the bytes for these are used up.
    fn frequent(&mut self, place: usize, value: &[u8]) -> Option<u32> {
        let own = &self.derived[place];
        let of_codes = if own.frequent.len() < own.frequent.capacity() { 0 } else { 4 * own.frequent.len().max(4) as u64 };
        let growth = own.texts.growth_bytes(value.len()) + of_codes + self.value_bytes.0 + self.value_bytes.1;
        self.may_grow(growth).then(|| {
            let derived = &mut self.derived[place];
            let code = derived.texts.add_exact(value);
            derived.frequent.push(code);
            code
        })
    }

    /// Puts a text without a code into a place, for answers.
    fn name(&mut self, text: &[u8]) -> Option<u32> {
        let code = self.overflowed_at? + self.named.len() as u32;
        let bytes = text.len() as u64 + NAME_BYTES;
        if self.named.len() as u32 >= self.places || self.kept_for_names() < bytes && !self.has_room(bytes) {
            return None;
        }
        let classes = self.classes_of(text, 0);
        self.derived.iter_mut().zip(classes).for_each(|(derived, class)| derived.of[code as usize] = class);
        self.named.push(text.into());
        self.named_bytes += bytes;
        Some(code)
    }

    /// Codes of groups whose texts may have any value of a derived column, or may be any.
    fn undetermined(&self, column: Option<TextColumn>) -> CodeSet {
        let mut codes = CodeSet::none(self.len());
        if self.overflowed_at.is_some() {
            codes.add(OTHERS);
            let groups = (self.groups_start()..self.len() as u32).filter(|code| match column {
                Some(column) => self.classes(column)[*code as usize] == OTHERS,
                None => true,
            });
            groups.for_each(|code| codes.add(code));
        }
        codes
    }

    /// The code after those of texts.
    fn texts_end(&self) -> usize {
        self.overflowed_at.map_or(self.len(), |code| code as usize)
    }

    /// The first code of a group; beyond all codes where there is none.
    pub(crate) fn groups_start(&self) -> u32 {
        self.overflowed_at.map_or(u32::MAX, |code| code + self.places)
    }

    /// True if a code stands for one value, of a derived column or of the texts themselves.
    pub(crate) fn is_value(&self, derived: Option<TextColumn>, code: u32) -> bool {
        code > OTHERS && (derived.is_some() || !self.is_group(code))
    }

    /// True if all rows of the code's text are recorded with it.
    pub(crate) fn is_own(&self, code: u32) -> bool {
        code > OTHERS && (code as usize) < self.texts_end()
    }

    /// True if a code stands for texts without one.
    pub(crate) fn is_group(&self, code: u32) -> bool {
        code == OTHERS || code >= self.groups_start()
    }

    /// Rows of a column whose texts have no code, of these counts by code. A value that follows
    /// from a text may have no room of its own.
    pub(crate) fn hits_without_code(&self, amounts: &SparseCounts, column: TextColumn) -> u64 {
        match source(column) {
            (_, Some(_)) => amounts.get(OTHERS).hits,
            (_, None) => amounts.iter().filter(|(code, _)| self.is_group(*code)).map(|(_, amount)| amount.hits).sum(),
        }
    }

    /// True if there can be texts without a code.
    pub(crate) fn has_groups(&self) -> bool {
        self.overflowed_at.is_some()
    }

    /// A text could not be kept as it was.
    pub(crate) fn note_cut(&mut self) {
        self.cut = true;
    }

    fn has_room_for(&mut self, text: &[u8], kept_bytes: u64) -> bool {
        self.has_room(2 * text.len() as u64 + 2 * (self.value_bytes.0 + self.value_bytes.1) + kept_bytes)
    }

    /// Gives a text that has none the next code.
    fn add(&mut self, hash: u64, text: &[u8]) -> u32 {
        self.cut |= text.len() >= TEXT_BYTES_MAX;
        for derived in &mut self.derived {
            let value = derive(derived.column, text, self.countries.as_deref());
            let code = match &value[..] {
                [] => NONE,
                value => derived.texts.find(value).unwrap_or_else(|| derived.texts.add(value)),
            };
            derived.of.push(code);
        }
        self.texts.add_hashed(hash, text)
    }

    /// Values that did not fit.
    pub(crate) fn shortage(&self) -> Shortage {
        Shortage { overflowed_at: self.overflowed_at, places: self.places, cut: self.cut }
    }

    /// A code as a journal has it: its text, nothing for a place, and for a group the values that
    /// follow from its texts, each after its length, which no value has that there was no room for.
    pub(crate) fn journaled(&self, code: u32) -> Cow<'_, [u8]> {
        if code < self.groups_start() {
            return Cow::Borrowed(if (code as usize) < self.texts_end() { self.texts.get(code) } else { &[] });
        }
        let mut values = Vec::new();
        for derived in &self.derived {
            let class = derived.of[code as usize];
            let value = derived.texts.get(class);
            let length = if class == OTHERS { u32::MAX } else { value.len() as u32 };
            values.extend_from_slice(&length.to_le_bytes());
            values.extend_from_slice(value);
        }
        Cow::Owned(values)
    }

    /// Adds the codes of a dictionary that there was before, in their order and as
    /// [`journaled`](Self::journaled) has them; an error where one is known, or has no room.
    pub(crate) fn restore<'a>(
        &mut self,
        mut codes: impl Iterator<Item = &'a [u8]>,
        shortage: Shortage,
    ) -> Result<(), NotRestored> {
        let mut places = 0;
        codes.try_for_each(|bytes| {
            if places > 0 {
                places -= 1;
                return if bytes.is_empty() { Ok(()) } else { Err(NotRestored::Damaged) };
            }
            if self.overflowed_at.is_some() {
                return self.restore_group(bytes);
            }
            if shortage.overflowed_at == Some(self.len() as u32) {
                if u64::from(shortage.places) > PLACES_MAX {
                    return Err(NotRestored::Damaged);
                }
                self.overflow_with(shortage.places);
                places = shortage.places;
                if places == 0 {
                    return self.restore_group(bytes);
                }
                places -= 1;
                return if bytes.is_empty() { Ok(()) } else { Err(NotRestored::Damaged) };
            }
            let hash = self.texts.hasher.hash(bytes);
            if bytes.is_empty() || bytes.len() > TEXT_BYTES_MAX || self.texts.find_hashed(hash, bytes).is_some() {
                return Err(NotRestored::Damaged);
            }
            if !self.has_room_for(bytes, 0) {
                return Err(NotRestored::NoRoom);
            }
            self.add(hash, bytes);
            Ok(())
        })
    }

    fn restore_group(&mut self, mut bytes: &[u8]) -> Result<(), NotRestored> {
        let mut classes = Vec::new();
        for place in 0..self.derived.len() {
            let length = u32::take(&mut bytes).ok_or(NotRestored::Damaged)?;
            let length = if length == u32::MAX { None } else { Some(length as usize) };
            let (value, rest) = bytes.split_at_checked(length.unwrap_or(0)).ok_or(NotRestored::Damaged)?;
            bytes = rest;
            classes.push(match length.map(|_| self.class(place, value, 0)) {
                None => OTHERS,
                // It was frequent when it got its code.
                Some(OTHERS) => self.frequent(place, value).unwrap_or(OTHERS),
                Some(code) => code,
            });
        }
        let next = self.len() as u32;
        let is_new = bytes.is_empty() && !classes.is_empty() && !self.groups.contains_key(&classes[..]);
        match is_new.then(|| self.group_of(&classes, 0)) {
            None => Err(NotRestored::Damaged),
            Some(code) if code == next => Ok(()),
            Some(_) => Err(NotRestored::NoRoom),
        }
    }

    /// Restores the shortage of before, once the codes are.
    pub(crate) fn restore_shortage(&mut self, shortage: Shortage) {
        if let (Some(_), None) = (shortage.overflowed_at, self.overflowed_at) {
            self.overflow_with(shortage.places);
        }
        self.cut = shortage.cut;
    }

    /// True if there is room for so many bytes more.
    fn has_room(&mut self, bytes: u64) -> bool {
        let lacking = (self.bytes() + bytes).saturating_sub(self.bytes_max);
        if lacking == 0 {
            return true;
        }
        let piece = lacking.max(self.spare.piece_bytes);
        let taken = self.spare.take(piece);
        self.bytes_max += if taken { piece } else { 0 };
        taken
    }

    /// The texts of a derived column, or of the dictionary itself.
    fn texts(&self, column: Option<TextColumn>) -> &CodedTexts {
        column.and_then(|column| self.derived(column)).map_or(&self.texts, |derived| &derived.texts)
    }

    fn derived(&self, column: TextColumn) -> Option<&DerivedColumn> {
        self.derived.iter().find(|derived| derived.column == column)
    }

    /// True if a text was cut: it may stand for several.
    pub(crate) fn has_cut(&self) -> bool {
        self.cut
    }

    /// True if the text of that code was cut: then it may stand for several.
    pub(crate) fn is_cut(&self, code: u32) -> bool {
        self.cut && self.text(code).len() >= TEXT_BYTES_MAX
    }

    /// Codes given out so far, those of absent and other values included.
    pub(crate) fn len(&self) -> usize {
        self.texts.ends.len()
    }

    /// The text of a code; none of a group.
    pub(crate) fn text(&self, code: u32) -> &[u8] {
        let place = code.checked_sub(self.overflowed_at.unwrap_or(u32::MAX));
        place.and_then(|place| self.named.get(place as usize)).map_or(self.texts.get(code), |text| text)
    }

    /// For each code, the code of the derived column.
    pub(crate) fn classes(&self, column: TextColumn) -> &[u32] {
        self.derived(column).map_or(&[], |derived| &derived.of)
    }

    /// The text of a code of a derived column, or of the texts themselves.
    pub(crate) fn text_of(&self, column: Option<TextColumn>, code: u32) -> &[u8] {
        match column {
            Some(_) => self.texts(column).get(code),
            None => self.text(code),
        }
    }

    /// The code of a text of a derived column, or of the texts themselves; none of a text that was
    /// named for answers.
    pub(crate) fn code_of(&self, column: Option<TextColumn>, text: &[u8]) -> Option<u32> {
        self.texts(column).find(text)
    }

    /// Codes of a derived column, or of the texts themselves.
    pub(crate) fn len_of(&self, column: Option<TextColumn>) -> usize {
        self.texts(column).ends.len()
    }

    /// Memory, with the sums over its values.
    pub(crate) fn bytes(&self) -> u64 {
        let derived = |derived: &DerivedColumn| {
            let codes = (derived.of.capacity() + derived.frequent.capacity()) * size_of::<u32>();
            let own = codes + derived.sightings.capacity() * size_of::<Sighting>();
            derived.texts.bytes(self.value_bytes) + own as u64
        };
        let groups = self.groups.capacity() as u64 * GROUP_BYTES;
        self.texts.bytes(self.value_bytes) + self.derived.iter().map(derived).sum::<u64>() + self.named_bytes + groups
    }
}

/// The value of a derived column that follows from a text.
pub(crate) fn derive<'a>(column: TextColumn, text: &'a [u8], countries: Option<&Countries>) -> Cow<'a, [u8]> {
    let owned = |text: Cow<'static, str>| Cow::Owned(text.into_owned().into_bytes());
    match column {
        TextColumn::NET => Cow::Owned(net(text).into_bytes()),
        TextColumn::COUNTRY => Cow::Owned(countries.map_or_else(String::new, |countries| countries.of(text)).into_bytes()),
        TextColumn::SITE => referring_site(text),
        TextColumn::KIND => Cow::Borrowed(kind(text).as_bytes()),
        TextColumn::BROWSER => owned(classify(text).browser),
        TextColumn::OS => owned(classify(text).os),
        TextColumn::BOT => owned(classify(text).bot.unwrap_or_default()),
        // The first byte is the kind of flaw.
        TextColumn::FLAW => Cow::Borrowed(&text[1..]),
        _ => Cow::Borrowed(&[]),
    }
}

#[cfg(test)]
mod tests {
    use super::{Dictionary, NONE, OTHERS, SpareValues};
    use crate::uncoded::TextHasher;
    use rorqual_accesslog::schema::TextColumn;

    fn dictionary(bytes_max: u64) -> Dictionary {
        Dictionary::new(&[TextColumn::SITE], (0, 0), (bytes_max, &SpareValues::new(0)), None, &TextHasher::new(7))
    }

    #[test]
    fn texts_get_names_after_any_number_of_groups() {
        let dictionary = dictionary(256 << 10);
        let site = |number: u32| format!("http://{number}.example/");
        let codes: Vec<u32> = (0..20_000).map(|number| dictionary.lock().intern(site(number).as_bytes())).collect();
        assert!(codes.contains(&OTHERS), "there is room for some texts only");
        let groups: Vec<u32> = (20_000..60_000).map(|number| dictionary.lock().group(site(number).as_bytes())).collect();
        assert!(groups.contains(&groups[0]) && groups[0] != OTHERS, "there is room for some");
        let is_full = groups.windows(2).any(|pair| pair[0] == pair[1]);
        assert!(is_full, "and not for all: these share the group of no site");
        for number in 0..20 {
            assert!(dictionary.name(u64::from(number), site(60_000 + number).as_bytes()), "the name of number {number}");
        }
    }

    #[test]
    fn a_site_that_many_texts_have_gets_a_code_after_any_number_of_sites() {
        let dictionary = dictionary(256 << 10);
        let page = |site: &str, page: u32| format!("http://{site}/{page}");
        for number in 0..60_000 {
            let text = page(&format!("{number}.example"), 0);
            if dictionary.lock().intern(text.as_bytes()) == OTHERS {
                dictionary.lock().group(text.as_bytes());
            }
        }
        // Texts that answers are about take what is kept for them, and nothing of the sites'.
        let named = (0..100).filter(|number| dictionary.name(*number, page(&format!("named{number}.example"), 0).as_bytes()));
        assert!(named.count() > 10);
        for number in 60_000..70_000 {
            dictionary.lock().group(page(&format!("{number}.example"), 0).as_bytes());
        }
        let site_of = |group: u32| dictionary.lock().classes(TextColumn::SITE)[group as usize];
        let full = dictionary.lock().bytes();
        // Other sites come between its pages.
        let groups: Vec<u32> = (0..2_000)
            .map(|number| {
                dictionary.lock().group(page(&format!("other{number}.example"), 0).as_bytes());
                dictionary.lock().group(page("spam.example", number).as_bytes())
            })
            .collect();
        let spam = dictionary.lock().code_of(Some(TextColumn::SITE), b"spam.example").expect("a code");
        let known = groups.iter().filter(|group| site_of(**group) == spam).count();
        assert!(known >= 1_900, "{known} of 2,000 are counted for their site");
        assert_eq!(dictionary.lock().code_of(Some(TextColumn::SITE), b"other7.example"), None);
        let tables = dictionary.lock();
        assert!(tables.bytes() <= tables.bytes_max && tables.bytes() < full + 4_096, "{} after {full}", tables.bytes());
    }

    #[test]
    fn many_texts_get_the_codes_that_one_after_another_gets() {
        // Repeated at once, in the same round and in later ones, and absent.
        let mut state = 1_u64;
        let mut number = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 40
        };
        let text =
            |number: u64| if number.is_multiple_of(11) { String::new() } else { format!("http://{}.example/", number % 700) };
        let texts: Vec<String> = (0..5_000).map(|_| text(number())).collect();
        for bytes_max in [1 << 20, 4 << 10] {
            let (single, many) = (dictionary(bytes_max), dictionary(bytes_max));
            let expected: Vec<u32> = texts.iter().map(|text| single.lock().intern(text.as_bytes())).collect();
            let mut codes = Vec::new();
            for part in texts.chunks(217) {
                let (text, hasher) = (|index: usize| part[index].as_bytes(), TextHasher::new(7));
                many.lock().intern_all(part.len(), (|index| hasher.hash(text(index)), text), &mut codes);
            }
            assert_eq!(codes, expected);
            assert_eq!(many.lock().shortage(), single.lock().shortage());
            assert_eq!(codes.contains(&OTHERS), bytes_max == 4 << 10, "there is room for some only");
            for (text, code) in texts.iter().zip(&codes).filter(|(_, code)| **code != OTHERS) {
                assert_eq!(many.lock().text(*code), text.as_bytes());
                assert_eq!(*code == NONE, text.is_empty());
            }
        }
    }
}
