//! The distinct texts of a field, for all workers and segments, each with a code.

use crate::code_set::CodeSet;
use crate::limits::SUMMED_VALUES;
use foldhash::quality::RandomState;
use hashbrown::HashTable;
use rorqual_accesslog::Countries;
use rorqual_accesslog::agent::{classify, referring_site};
use rorqual_accesslog::aggregate::HeavyHitters;
use rorqual_accesslog::filter::{TextTest, kind, net};
use rorqual_accesslog::schema::TextColumn;
use rorqual_pipe::Control;
use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The absent value.
pub(crate) const NONE: u32 = 0;

/// All values that there was no room for.
pub(crate) const OTHERS: u32 = 1;

/// Text shown for such a value.
pub(crate) const NO_ROOM: &str = "…";

/// The same among flaws, which have their kind before them.
pub(crate) const FLAW_NO_ROOM: &str = "x…";

/// Bytes that a dictionary takes of the spare memory at a time: a sixteenth of all, between these.
const SPARE_PIECE_BYTES: (u64, u64) = (256, 64 << 10);

/// Least room for texts and their ends, and for more of them.
const RESERVED_MIN: usize = 16;

/// Bytes of a text that are kept, as [`rorqual_accesslog::RecordedRows`] gives it.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Part of a dictionary's own share that is kept for texts which turn up often when there is no
/// room for others.
const RESERVE_PART: u64 = 4;

/// Part of that in which the rows of texts without a code are counted, and the least for it.
const UNCODED_PART: u64 = 4;
const UNCODED_BYTES_MIN: u64 = 4 << 10;

/// Bytes of a text in the reserve, about; and texts that it has room for, for each that can have
/// enough rows at one time: those with enough change while the rows grow, and for a doubling of
/// them by as many at most.
const RESERVED_TEXT_BYTES: u64 = 256;
const RESERVED_FOLD: u64 = 16;

/// Rows without a code that a text has at least before it gets one.
const CODED_HITS_MIN: u64 = 16;

/// Texts that are looked up side by side: while the memory of one is waited for, the next are
/// worked on.
const SIDE_BY_SIDE: usize = 32;

/// Values that are looked at before others may have the lock.
const SLICE: usize = 4096;

/// The texts of one field, and of the columns that follow from it.
pub(crate) struct Dictionary {
    shared: Mutex<DictionaryTables>,
}

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
    /// The first code that was given out when a text had had no room.
    pub(crate) overflowed_at: Option<u32>,
    /// A text was cut.
    pub(crate) cut: bool,
    /// The most rows that any text may have among those without a code.
    pub(crate) uncoded_most: u64,
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
    /// Bytes for texts that turn up often among those that come when there is no room for more.
    reserve_bytes: u64,
    /// Codes given out before the first text had no room: the rows of each of these have it. A
    /// later one may have rows in [`OTHERS`].
    overflowed_at: Option<u32>,
    uncoded: Option<Uncoded>,
    /// A text was as long as texts are kept: it may have been longer.
    cut: bool,
    countries: Option<Arc<Countries>>,
}

/// Counts of the rows whose text has no code.
struct Uncoded {
    heavy: HeavyHitters,
    bytes_max: u64,
    hits: u64,
    /// Rows for each of so many that a text needs for a code of its own. More texts than the
    /// reserve has room for never have that many.
    part: u64,
    /// The most rows that any text may have had before these, in the store that was restored.
    before_most: u64,
}

impl Uncoded {
    fn new(reserve_bytes: u64) -> Self {
        let bytes_max = reserve_bytes / UNCODED_PART;
        let part = (reserve_bytes / RESERVED_TEXT_BYTES / RESERVED_FOLD).max(1);
        Self { heavy: HeavyHitters::new(bytes_max), bytes_max, hits: 0, part, before_most: 0 }
    }

    /// Rows that a text has before it gets a code.
    fn hits_min(&self) -> u64 {
        CODED_HITS_MIN.max(self.hits / self.part)
    }
}

/// A column that follows from the texts.
struct DerivedColumn {
    column: TextColumn,
    texts: CodedTexts,
    /// For each code of the dictionary, the code of the derived column.
    of: Vec<u32>,
}

/// Texts, each with a code from 2 on.
struct CodedTexts {
    table: HashTable<u32>,
    seed: RandomState,
    arena: Vec<u8>,
    /// End of each code's text in the arena.
    ends: Vec<u64>,
}

impl CodedTexts {
    fn new(seed: &RandomState) -> Self {
        Self { table: HashTable::new(), seed: seed.clone(), arena: Vec::new(), ends: vec![0; OTHERS as usize + 1] }
    }

    fn hash(seed: &RandomState, text: &[u8]) -> u64 {
        let mut hasher = seed.build_hasher();
        hasher.write(text);
        hasher.finish()
    }

    fn find(&self, text: &[u8]) -> Option<u32> {
        self.find_hashed(Self::hash(&self.seed, text), text)
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
        self.add_hashed(Self::hash(&self.seed, text), text)
    }

    fn add_hashed(&mut self, text_hash: u64, text: &[u8]) -> u32 {
        let code = self.ends.len() as u32;
        reserve(&mut self.arena, text.len());
        reserve(&mut self.ends, 1);
        self.arena.extend_from_slice(text);
        self.ends.push(self.arena.len() as u64);
        let Self { table, seed, arena, ends } = self;
        let hash = |code: &u32| Self::hash(seed, &arena[range_of(ends, *code)]);
        table.insert_unique(text_hash, code, hash);
        code
    }

    fn get(&self, code: u32) -> &[u8] {
        &self.arena[self.range(code)]
    }

    fn range(&self, code: u32) -> Range<usize> {
        range_of(&self.ends, code)
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
    ) -> Self {
        // New for each process, so that nobody can write texts that collide.
        let seed = RandomState::default();
        let column = |column: &TextColumn| DerivedColumn {
            column: *column,
            texts: CodedTexts::new(&seed),
            of: vec![NONE; OTHERS as usize + 1],
        };
        let derived = derived.iter().map(column).collect();
        let reserve_bytes =
            Some(bytes_max / RESERVE_PART).filter(|reserve| reserve / UNCODED_PART >= UNCODED_BYTES_MIN).unwrap_or(0);
        Self {
            shared: Mutex::new(DictionaryTables {
                texts: CodedTexts::new(&seed),
                derived,
                value_bytes,
                bytes_max: bytes_max - reserve_bytes,
                spare: Arc::clone(spare),
                reserve_bytes,
                overflowed_at: None,
                uncoded: None,
                cut: false,
                countries,
            }),
        }
    }

    // A poisoned lock is taken all the same: a text is only found once it is whole.
    pub(crate) fn lock(&self) -> MutexGuard<'_, DictionaryTables> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Codes given out so far that pass the test: of `column`, or of the texts themselves. `None`
    /// when it was cancelled.
    pub(crate) fn matching(&self, column: Option<TextColumn>, test: &TextTest, control: &Control) -> Option<CodeSet> {
        let passed = match test.texts() {
            Some(texts) => self.finding(column, &texts),
            None => self.looking(column, test, control)?,
        };
        let Some(column) = column else { return Some(passed) };
        let tables = self.lock();
        // Codes since then are of no segment that is looked at.
        let classes = tables.classes(column);
        let mut passed = match passed.listed() {
            Some([one]) => CodeSet::of(classes, |class| class == *one),
            _ => CodeSet::of(classes, |class| passed.has(class)),
        };
        // Nothing is known to follow from texts that had no room, not even that nothing does.
        passed.remove(OTHERS);
        Some(passed)
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
            // A text that is in no dictionary passes no test.
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
        self.intern_hashed(CodedTexts::hash(&self.texts.seed, text), text)
    }

    /// The codes of many texts, in their order.
    pub(crate) fn intern_all<'a>(&mut self, count: usize, text: impl Fn(usize) -> &'a [u8], codes: &mut Vec<u32>) {
        codes.reserve(count);
        let mut hashes = [0; SIDE_BY_SIDE];
        let mut guesses: [(u32, Range<usize>); SIDE_BY_SIDE] = std::array::from_fn(|_| (NONE, 0..0));
        for start in (0..count).step_by(SIDE_BY_SIDE) {
            let end = count.min(start + SIDE_BY_SIDE);
            (start..end).zip(&mut hashes).for_each(|(index, hash)| *hash = CodedTexts::hash(&self.texts.seed, text(index)));
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
        if self.overflowed_at.is_some() || !self.has_room_for(text) {
            self.overflow();
            return OTHERS;
        }
        self.add(hash, text)
    }

    /// Closes the dictionary but for texts that turn up often.
    fn overflow(&mut self) {
        if self.overflowed_at.is_some() {
            return;
        }
        self.overflowed_at = Some(self.len() as u32);
        if self.reserve_bytes > 0 {
            self.uncoded = Some(Uncoded::new(self.reserve_bytes));
            self.bytes_max += self.reserve_bytes;
        }
    }

    /// Counts rows of a text that had no code when they came. Its code, where it has got one since
    /// or turns up so often that it gets one now: then these rows are not counted, as they have it.
    /// [`OTHERS`] otherwise.
    pub(crate) fn count_uncoded(&mut self, text: &[u8], hits: u64) -> u32 {
        let hash = CodedTexts::hash(&self.texts.seed, text);
        if let Some(code) = self.texts.find_hashed(hash, text) {
            return code;
        }
        let Some(uncoded) = &self.uncoded else { return OTHERS };
        if uncoded.heavy.bounds(text).0 + hits >= uncoded.hits_min() && self.has_room_for(text) {
            return self.add(hash, text);
        }
        if let Some(uncoded) = &mut self.uncoded {
            uncoded.heavy.add(text, hits);
            uncoded.hits += hits;
        }
        OTHERS
    }

    fn has_room_for(&mut self, text: &[u8]) -> bool {
        self.has_room(2 * text.len() as u64 + 2 * (self.value_bytes.0 + self.value_bytes.1))
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
        Shortage { overflowed_at: self.overflowed_at, cut: self.cut, uncoded_most: self.uncoded_most() }
    }

    /// Adds the texts of a dictionary that there was before, in the order of their codes, and that
    /// lacked room from the code `overflowed_at` on; an error where one is known, or has no room.
    pub(crate) fn restore<'a>(
        &mut self,
        mut texts: impl Iterator<Item = &'a [u8]>,
        overflowed_at: Option<u32>,
    ) -> Result<(), NotRestored> {
        texts.try_for_each(|text| {
            if overflowed_at == Some(self.len() as u32) {
                self.overflow();
            }
            let hash = CodedTexts::hash(&self.texts.seed, text);
            if text.is_empty() || text.len() > TEXT_BYTES_MAX || self.texts.find_hashed(hash, text).is_some() {
                return Err(NotRestored::Damaged);
            }
            if !self.has_room_for(text) {
                return Err(NotRestored::NoRoom);
            }
            self.add(hash, text);
            Ok(())
        })
    }

    /// Restores the shortage of before. The texts of rows without a code are not known any more:
    /// each may be any, as often as the most frequent one was.
    pub(crate) fn restore_shortage(&mut self, shortage: Shortage) {
        if shortage.overflowed_at.is_some() {
            self.overflow();
            self.overflowed_at = shortage.overflowed_at;
        }
        self.uncoded.iter_mut().for_each(|uncoded| uncoded.before_most = shortage.uncoded_most);
        self.cut = shortage.cut;
    }

    /// The most rows that a text may have among those without a code.
    pub(crate) fn uncoded_max(&self, text: &[u8]) -> u64 {
        let Some(overflowed_at) = self.overflowed_at else { return 0 };
        let is_whole = text.is_empty() || self.texts.find(text).is_some_and(|code| code < overflowed_at);
        let most = |uncoded: &Uncoded| uncoded.heavy.bounds(text).1.saturating_add(uncoded.before_most);
        if is_whole { 0 } else { self.uncoded.as_ref().map_or(u64::MAX, most) }
    }

    /// The same of a code: of a derived column all of them, as any may follow from a text without
    /// one.
    pub(crate) fn missing_max(&self, derived: Option<TextColumn>, code: u32) -> u64 {
        if derived.is_none() { self.uncoded_max(self.texts.get(code)) } else { u64::MAX }
    }

    /// The most rows that any text may have among those without a code.
    pub(crate) fn uncoded_most(&self) -> u64 {
        if self.overflowed_at.is_none() {
            return 0;
        }
        let most = |uncoded: &Uncoded| uncoded.heavy.hits_max().saturating_add(uncoded.before_most);
        self.uncoded.as_ref().map_or(u64::MAX, most)
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

    /// True if a text had no room, or was cut: answers about texts may then be wrong.
    pub(crate) fn overflowed(&self) -> bool {
        self.overflowed_at.is_some() || self.cut
    }

    /// True if a text was cut: it may stand for several.
    pub(crate) fn has_cut(&self) -> bool {
        self.cut
    }

    /// True if the text of that code was cut: then it may stand for several.
    pub(crate) fn is_cut(&self, code: u32) -> bool {
        self.cut && self.texts.get(code).len() >= TEXT_BYTES_MAX
    }

    /// Codes given out so far, those of absent and other values included.
    pub(crate) fn len(&self) -> usize {
        self.texts.ends.len()
    }

    /// The text of a code.
    pub(crate) fn text(&self, code: u32) -> &[u8] {
        self.texts.get(code)
    }

    /// For each code, the code of the derived column.
    pub(crate) fn classes(&self, column: TextColumn) -> &[u32] {
        self.derived(column).map_or(&[], |derived| &derived.of)
    }

    /// The text of a code of a derived column, or of the texts themselves.
    pub(crate) fn text_of(&self, column: Option<TextColumn>, code: u32) -> &[u8] {
        self.texts(column).get(code)
    }

    /// Codes of a derived column, or of the texts themselves.
    pub(crate) fn len_of(&self, column: Option<TextColumn>) -> usize {
        self.texts(column).ends.len()
    }

    /// Memory, with the sums over its values.
    pub(crate) fn bytes(&self) -> u64 {
        let derived =
            |derived: &DerivedColumn| derived.texts.bytes(self.value_bytes) + (derived.of.capacity() * size_of::<u32>()) as u64;
        let uncoded = self.uncoded.as_ref().map_or(0, |uncoded| uncoded.bytes_max);
        self.texts.bytes(self.value_bytes) + self.derived.iter().map(derived).sum::<u64>() + uncoded
    }
}

fn derive<'a>(column: TextColumn, text: &'a [u8], countries: Option<&Countries>) -> Cow<'a, [u8]> {
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
    use rorqual_accesslog::schema::TextColumn;

    fn dictionary(bytes_max: u64) -> Dictionary {
        Dictionary::new(&[TextColumn::SITE], (0, 0), (bytes_max, &SpareValues::new(0)), None)
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
                many.lock().intern_all(part.len(), |index| part[index].as_bytes(), &mut codes);
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
