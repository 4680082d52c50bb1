//! Rows of a view in the order of a column: the first ones of it, whatever the number of rows.
//!
//! Threads go through the segments and share one list of the rows that come first. Once it is
//! full, its last row tells which rows can't be in it any more, and of columns of numbers which
//! segments.

use crate::columns::{PATH, QUERY, STATUS, TIME, source};
use crate::dictionary::{DictionaryTables, NONE, OTHERS, derive};
use crate::fleet::{KEY_BYTES_MAX, RowKey};
use crate::limits::{SORT_TEXT_BYTES_MAX, SORTED_ROWS_FIRST, SORTED_ROWS_MAX};
use crate::page::RowReader;
use crate::page_row::{LineFormats, PageRow, RowPage};
use crate::plan::{ViewPlan, joined};
use crate::row_order::{OrderedRows, RowOrder, RowPosition, SortColumn};
use crate::segment::{CodedColumnRef, Segment};
use crate::store::{RowStore, Snapshot, lock};
use crate::uncoded::PlainTexts;
use crate::value_bytes::ValueBytes;
use crate::view::{View, ViewError};
use rorqual_accesslog::schema::TextColumn;
use rorqual_pipe::{Control, Error, each};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering as Memory};
use std::sync::{Arc, Mutex, MutexGuard};

impl RowOrder {
    /// Order of two values: rows without a value come last in both directions, and before them
    /// those whose value is in no memory.
    fn compare(self, a: &SortKey, b: &SortKey) -> Ordering {
        let turned = |order: Ordering| if self.descending { order.reverse() } else { order };
        match (a, b) {
            (SortKey::Number(a), SortKey::Number(b)) => turned(a.cmp(b)),
            (SortKey::Text(a), SortKey::Text(b)) if Arc::ptr_eq(a, b) => Ordering::Equal,
            (SortKey::Text(a), SortKey::Text(b)) => turned(a.start.cmp(&b.start)),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }

    fn compare_rows(self, a: &OrderedRow, b: &OrderedRow) -> Ordering {
        self.compare(&a.key, &b.key).then_with(|| a.position.cmp(&b.position))
    }
}

/// Rows of a view in an order.
#[derive(Debug, Clone)]
pub struct SortedPage {
    /// The rows.
    pub page: RowPage,
    /// False where other rows may come before: rows were dropped, values are in no memory, or texts
    /// differ beyond the bytes that are compared.
    pub exact: bool,
}

/// Value that a row is ordered by.
#[derive(Debug, Clone)]
enum SortKey {
    Number(u64),
    Text(Arc<TextKey>),
    /// In no memory.
    Unknown,
    Absent,
}

/// Start of a text.
#[derive(Debug)]
struct TextKey {
    start: Box<[u8]>,
    rest: TextRest,
}

/// Rest of a text, by which it is not ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextRest {
    Nothing,
    /// By its hash.
    One(u64),
    /// Of texts with the same start.
    Several,
}

#[derive(Debug)]
struct OrderedRow {
    key: SortKey,
    position: RowPosition,
}

impl SortKey {
    /// The key for other stores.
    fn told(&self) -> RowKey {
        match self {
            Self::Number(number) => RowKey::Number(*number),
            Self::Text(text) if text.start.len() > KEY_BYTES_MAX => RowKey::Start(ValueBytes::new(&text.start[..KEY_BYTES_MAX])),
            Self::Text(text) => RowKey::Text(ValueBytes::new(&text.start)),
            Self::Unknown => RowKey::Unknown,
            Self::Absent => RowKey::Absent,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Number(_) | Self::Text(_) => 0,
            Self::Unknown => 1,
            Self::Absent => 2,
        }
    }

    /// The rest of a text.
    fn rest(&self) -> TextRest {
        match self {
            Self::Text(text) => text.rest,
            _ => TextRest::Nothing,
        }
    }
}

impl RowStore {
    /// At most `limit` rows of a view in an order from the `offset`th on, of the first
    /// [`SORTED_ROWS_MAX`]; lines are rebuilt as in [`page`](Self::page).
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn sorted_page<'f>(
        &self,
        (view, order): (&View, RowOrder),
        offset: u64,
        limit: usize,
        formats: impl Into<LineFormats<'f>>,
        control: &Control,
    ) -> Result<SortedPage, ViewError> {
        let snapshot = self.snapshot();
        let plan = ViewPlan::new(view, self, control).ok_or(ViewError::Cancelled)?;
        let total = self.shares_of(view, &snapshot, &plan, control)?.iter().map(|share| share.rows).sum();
        let first = usize::try_from(offset).unwrap_or(usize::MAX).min(SORTED_ROWS_MAX);
        let end = first.saturating_add(limit).min(SORTED_ROWS_MAX);
        let ordered = self.ordered((view, order), total, end, &snapshot, control)?;
        let wanted = &ordered.rows[first.min(ordered.rows.len())..end.min(ordered.rows.len())];
        let rows = self.rows_at(&snapshot, wanted, formats.into(), control)?;
        Ok(SortedPage { page: RowPage { total, offset, rows }, exact: ordered.exact })
    }

    /// The first rows of an order: `end` of them at least, where the view has as many.
    pub(crate) fn ordered(
        &self,
        (view, order): (&View, RowOrder),
        total: u64,
        end: usize,
        snapshot: &Snapshot,
        control: &Control,
    ) -> Result<Arc<OrderedRows>, ViewError> {
        let known = lock(&self.kept).ordered(view, order, snapshot.generation);
        if let Some(known) = known.filter(|known| known.rows.len() >= end || known.rows.len() as u64 == total) {
            return Ok(known);
        }
        let most = if end > SORTED_ROWS_FIRST { SORTED_ROWS_MAX } else { SORTED_ROWS_FIRST };
        let plan = ViewPlan::new(view, self, control).ok_or(ViewError::Cancelled)?;
        let is_sure = plan.is_sure() && snapshot.rows_dropped == 0;
        let sorter = RowSorter { store: self, plan, order, most, first: Mutex::default(), has_unknown: AtomicBool::new(false) };
        let mut ordered = sorter.ordered(snapshot, total, control)?;
        ordered.exact &= is_sure;
        let ordered = Arc::new(ordered);
        lock(&self.kept).keep_ordered(view.clone(), order, snapshot.generation, &ordered);
        Ok(ordered)
    }

    /// Rows of a view, whether no others come before its first ones in an order, and the keys of
    /// some of these.
    pub(crate) fn ordered_keys(
        &self,
        (view, order): (&View, RowOrder),
        rows: Range<usize>,
        control: &Control,
    ) -> Result<(u64, bool, Vec<RowKey>), ViewError> {
        let snapshot = self.snapshot();
        let plan = ViewPlan::new(view, self, control).ok_or(ViewError::Cancelled)?;
        let total = self.shares_of(view, &snapshot, &plan, control)?.iter().map(|share| share.rows).sum();
        let end = rows.end.min(SORTED_ROWS_MAX);
        let ordered = self.ordered((view, order), total, end, &snapshot, control)?;
        let end = end.min(ordered.rows.len());
        let positions = &ordered.rows[rows.start.min(end)..end];
        let keys = self.keys_at(&snapshot, positions, order.column).map_err(ViewError::spilled)?;
        Ok((total, ordered.exact, keys))
    }

    /// Keys of the rows in these places.
    fn keys_at(&self, snapshot: &Snapshot, positions: &[RowPosition], column: SortColumn) -> io::Result<Vec<RowKey>> {
        let mut places: Vec<usize> = (0..positions.len()).collect();
        places.sort_unstable_by_key(|place| (positions[*place].segment, positions[*place].row));
        let mut keys = vec![RowKey::Absent; positions.len()];
        for places in places.chunk_by(|a, b| positions[*a].segment == positions[*b].segment) {
            let segment = &snapshot.segments[positions[places[0]].segment as usize];
            let rows = || places.iter().map(|place| (*place, usize::from(positions[*place].row)));
            let key = |number: Option<u64>| number.map_or(RowKey::Absent, RowKey::Number);
            match column {
                SortColumn::Time | SortColumn::Number(_) => {
                    let index = if let SortColumn::Number(index) = column { index } else { TIME };
                    let numbers = segment.numbers(index, self.spill.as_ref())?;
                    rows().for_each(|(place, row)| keys[place] = key(numbers.get(row)));
                }
                SortColumn::Status => {
                    let statuses = segment.coded(STATUS, self.spill.as_ref())?;
                    let status = |row: usize| Some(u64::from(statuses.get(row))).filter(|status| *status != 0);
                    rows().for_each(|(place, row)| keys[place] = key(status(row)));
                }
                SortColumn::Text(column) => {
                    let texts = SortTexts::new(self, segment, column)?;
                    let tables = texts.locked();
                    rows().for_each(|(place, row)| keys[place] = texts.key(texts.id(row), &tables).told());
                }
            }
        }
        Ok(keys)
    }

    /// The rows in these places.
    fn rows_at(
        &self,
        snapshot: &Snapshot,
        positions: &[RowPosition],
        formats: LineFormats<'_>,
        control: &Control,
    ) -> Result<Vec<PageRow>, ViewError> {
        let mut places: Vec<usize> = (0..positions.len()).collect();
        places.sort_unstable_by_key(|place| (positions[*place].segment, positions[*place].row));
        // Each segment is read back once.
        let of_segments: Vec<&[usize]> = places.chunk_by(|a, b| positions[*a].segment == positions[*b].segment).collect();
        let mut workers = vec![(); self.settings.threads];
        let work = |(): &mut (), places: &[usize]| -> io::Result<Vec<(usize, PageRow)>> {
            let Some(first) = places.first().filter(|_| !control.stopped()) else { return Ok(Vec::new()) };
            let number = positions[*first].segment as usize;
            let reader = RowReader::new(self, number, &snapshot.segments[number])?;
            Ok(places.iter().map(|place| (*place, reader.row(usize::from(positions[*place].row), formats))).collect())
        };
        let mut rows = Vec::with_capacity(positions.len());
        let sink = |found: io::Result<Vec<_>>| {
            rows.extend(found.map_err(|cause| Error::io("rows", "cannot read spilled rows", cause))?);
            Ok(())
        };
        each(of_segments.into_iter(), &mut workers, work, sink).map_err(ViewError::Io)?;
        if control.stopped() {
            return Err(ViewError::Cancelled);
        }
        rows.sort_unstable_by_key(|(place, _)| *place);
        Ok(rows.into_iter().map(|(_, row)| row).collect())
    }
}

/// State that threads share which look for the first rows of an order.
struct RowSorter<'a> {
    store: &'a RowStore,
    plan: ViewPlan,
    order: RowOrder,
    /// Rows of the list at most.
    most: usize,
    /// The rows so far, in order.
    first: Mutex<Vec<OrderedRow>>,
    has_unknown: AtomicBool,
}

impl RowSorter<'_> {
    fn ordered(self, snapshot: &Snapshot, total: u64, control: &Control) -> Result<OrderedRows, ViewError> {
        let best = |segment: &Segment| self.best(segment);
        let mut segments: Vec<(usize, Option<SortKey>)> =
            (0..).zip(snapshot.segments.iter().map(|segment| best(segment))).collect();
        // The most promising ones first, so that the others can be left out.
        segments.sort_by(|(_, a), (_, b)| match (a, b) {
            (Some(a), Some(b)) => self.order.compare(a, b),
            _ => a.is_some().cmp(&b.is_some()),
        });
        let mut workers = vec![(); self.store.settings.threads];
        let work = |(): &mut (), (number, best): (usize, Option<SortKey>)| -> io::Result<()> {
            if control.stopped() || best.is_some_and(|best| !self.may_be_first(&best, self.last().as_ref())) {
                return Ok(());
            }
            let found = self.first_of(number, &snapshot.segments[number], control)?;
            self.take(found);
            Ok(())
        };
        let sink = |done: io::Result<()>| done.map_err(|cause| Error::io("rows", "cannot read spilled rows", cause));
        each(segments.into_iter(), &mut workers, work, sink).map_err(ViewError::Io)?;
        if control.stopped() {
            return Err(ViewError::Cancelled);
        }
        let rows = std::mem::take(&mut *lock(&self.first));
        let differs_later = |pair: &[OrderedRow]| {
            let (a, b) = (&pair[0].key, &pair[1].key);
            (a.rest() != b.rest() || a.rest() == TextRest::Several) && self.order.compare(a, b).is_eq()
        };
        let is_cut = (rows.len() as u64) < total && rows.last().is_some_and(|last| last.key.rest() != TextRest::Nothing);
        let exact = !self.has_unknown.load(Memory::Relaxed) && !is_cut && !rows.windows(2).any(differs_later);
        Ok(OrderedRows { rows: rows.into_iter().map(|row| row.position).collect(), exact })
    }

    /// The value that comes first in a segment, where it is known without reading it back.
    fn best(&self, segment: &Segment) -> Option<SortKey> {
        let of_extent = |extent: Option<(u64, u64)>| {
            extent.map_or(SortKey::Absent, |(least, most)| SortKey::Number(if self.order.descending { most } else { least }))
        };
        match self.order.column {
            SortColumn::Time => Some(of_extent(segment.times)),
            SortColumn::Number(index) => {
                let numbers = &segment.columns()?.numbers[index];
                Some(of_extent(numbers.min().map(|least| (least, numbers.max()))))
            }
            SortColumn::Status | SortColumn::Text(_) => None,
        }
    }

    /// The value of the list's last row, once it is full.
    fn last(&self) -> Option<SortKey> {
        let first = lock(&self.first);
        if first.len() < self.most { None } else { first.last().map(|row| row.key.clone()) }
    }

    /// True if a row with this value may come before the last one.
    fn may_be_first(&self, key: &SortKey, last: Option<&SortKey>) -> bool {
        last.is_none_or(|last| self.order.compare(key, last) != Ordering::Greater)
    }

    fn take(&self, found: Vec<OrderedRow>) {
        let mut first = lock(&self.first);
        first.extend(found);
        // Two ascending stretches, which this sort merges.
        first.sort_by(|a, b| self.order.compare_rows(a, b));
        first.truncate(self.most);
    }

    /// The rows of a segment that come first, in order.
    fn first_of(&self, number: usize, segment: &Segment, control: &Control) -> io::Result<Vec<OrderedRow>> {
        let mut rows = Vec::new();
        self.plan.select(segment, self.store)?.list(&mut rows);
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let (spill, last) = (self.store.spill.as_ref(), self.last());
        let mut found = Vec::new();
        let mut take = |row: usize, key: SortKey| {
            if self.may_be_first(&key, last.as_ref()) {
                found.push(OrderedRow { key, position: RowPosition::of(number, &segment.runs, row) });
                if found.len() == 2 * self.most {
                    self.leave_most(&mut found);
                }
            }
        };
        let key = |number: Option<u64>| number.map_or(SortKey::Absent, SortKey::Number);
        match self.order.column {
            SortColumn::Time => segment.numbers(TIME, spill)?.each(&rows, |row, time| take(row, key(time))),
            SortColumn::Number(index) => segment.numbers(index, spill)?.each(&rows, |row, number| take(row, key(number))),
            SortColumn::Status => {
                let statuses = segment.coded(STATUS, spill)?;
                rows.iter().map(|row| usize::from(*row)).for_each(|row| {
                    take(row, key(Some(u64::from(statuses.get(row))).filter(|status| *status != 0)));
                });
            }
            SortColumn::Text(column) => {
                let texts = SortTexts::new(self.store, segment, column)?;
                let keys = self.text_keys(&texts, &rows, last.as_ref(), control);
                if keys.is_empty() {
                    return Ok(Vec::new());
                }
                for row in rows.iter().map(|row| usize::from(*row)) {
                    if let Ok(at) = keys.binary_search_by_key(&texts.id(row), |(id, _)| *id) {
                        take(row, keys[at].1.clone());
                    }
                }
            }
        }
        self.leave_most(&mut found);
        found.sort_unstable_by(|a, b| self.order.compare_rows(a, b));
        Ok(found)
    }

    /// Leaves as many rows as the list may have, in no order.
    fn leave_most(&self, found: &mut Vec<OrderedRow>) {
        if found.len() > self.most {
            found.select_nth_unstable_by(self.most - 1, |a, b| self.order.compare_rows(a, b));
            found.truncate(self.most);
        }
    }

    /// The distinct texts of the rows that come first, by their numbers: as few of them as have as
    /// many rows as the list.
    fn text_keys(&self, texts: &SortTexts<'_>, rows: &[u16], last: Option<&SortKey>, control: &Control) -> Vec<(u32, SortKey)> {
        let counted = texts.counted(rows);
        let mut keys: Vec<(u32, usize, SortKey)> = Vec::new();
        for counted in counted.chunks(LOCKED_TEXTS_MAX) {
            if control.stopped() {
                return Vec::new();
            }
            {
                let tables = texts.locked();
                for (id, count) in counted {
                    let key = texts.key(*id, &tables);
                    if matches!(key, SortKey::Unknown) {
                        self.has_unknown.store(true, Memory::Relaxed);
                    }
                    if self.may_be_first(&key, last) {
                        keys.push((*id, *count, key));
                    }
                }
            }
            if keys.len() > self.most {
                self.leave_first(&mut keys);
            }
        }
        self.leave_first(&mut keys);
        keys.sort_unstable_by_key(|(id, ..)| *id);
        keys.into_iter().map(|(id, _, key)| (id, key)).collect()
    }

    /// Leaves the texts that come first until they have enough rows, and those that are equal to
    /// the last one as far as they are compared. Such texts share their memory.
    fn leave_first(&self, keys: &mut Vec<(u32, usize, SortKey)>) {
        keys.sort_unstable_by(|(_, _, a), (_, _, b)| self.order.compare(a, b));
        for equal in keys.chunk_by_mut(|(_, _, a), (_, _, b)| self.order.compare(a, b).is_eq()) {
            let [(_, _, SortKey::Text(first)), _, ..] = &*equal else { continue };
            let is_same = equal.iter().all(|(.., key)| key.rest() == first.rest);
            let rest = if is_same { first.rest } else { TextRest::Several };
            let shared = SortKey::Text(Arc::new(TextKey { start: first.start.clone(), rest }));
            equal.iter_mut().for_each(|(.., key)| *key = shared.clone());
        }
        let mut rows = 0;
        let enough = keys.iter().position(|(_, count, _)| {
            rows += count;
            rows >= self.most
        });
        if let Some(last) = enough {
            let equal = keys[last..].iter().take_while(|(.., key)| self.order.compare(key, &keys[last].2).is_eq()).count();
            keys.truncate(last + equal);
        }
    }
}

/// Texts that are looked at while the dictionary is locked.
const LOCKED_TEXTS_MAX: usize = 2_048;

/// The texts of a column of a segment by numbers: its codes, and of a URL those of path and query.
struct SortTexts<'a> {
    store: &'a RowStore,
    derived: Option<TextColumn>,
    parts: Vec<TextPart<'a>>,
}

struct TextPart<'a> {
    index: usize,
    column: Cow<'a, CodedColumnRef>,
    /// Texts without a code.
    uncoded: Option<PlainTexts>,
}

impl<'a> SortTexts<'a> {
    fn new(store: &'a RowStore, segment: &'a Segment, column: TextColumn) -> io::Result<Self> {
        let spill = store.spill.as_ref();
        let part = |index: usize| -> io::Result<TextPart<'a>> {
            let column = segment.coded(index, spill)?;
            let uncoded = (column.uncoded > 0).then(|| segment.uncoded_texts(index, spill)?.plain()).transpose()?;
            Ok(TextPart { index, column, uncoded })
        };
        let (index, derived) = source(column);
        let parts = if column == TextColumn::URL { vec![part(PATH)?, part(QUERY)?] } else { vec![part(index)?] };
        Ok(Self { store, derived, parts })
    }

    /// Number of a row's text; codes of a segment fit 16 bits.
    fn id(&self, row: usize) -> u32 {
        self.parts.iter().fold(0, |id, part| id << 16 | part.column.codes.get(row) as u32)
    }

    /// The distinct texts of rows by their numbers, with how many rows have each.
    fn counted(&self, rows: &[u16]) -> Vec<(u32, usize)> {
        if let [part] = &self.parts[..] {
            let mut counts = vec![0; part.column.globals.len()];
            rows.iter().for_each(|row| counts[part.column.codes.get(usize::from(*row)) as usize] += 1);
            return (0..).zip(counts).filter(|(_, count)| *count > 0).collect();
        }
        let mut ids: Vec<u32> = rows.iter().map(|row| self.id(usize::from(*row))).collect();
        ids.sort_unstable();
        ids.chunk_by(|a, b| a == b).map(|same| (same[0], same.len())).collect()
    }

    /// Locked in ascending order, as everywhere that takes several, against deadlocks.
    fn locked(&self) -> Vec<MutexGuard<'a, DictionaryTables>> {
        self.parts.iter().map(|part| self.store.dictionaries[part.index].lock()).collect()
    }

    fn key(&self, id: u32, tables: &[MutexGuard<'_, DictionaryTables>]) -> SortKey {
        let text = match (&self.parts[..], tables) {
            ([path, query], [paths, queries]) => {
                let (path, query) = (path.text((id >> 16) as usize, paths), query.text((id & 0xffff) as usize, queries));
                path.zip(query).map(|(path, query)| Cow::Owned(joined(&path, &query)))
            }
            ([part], [tables]) => match self.derived {
                Some(derived) => part.derived(derived, id as usize, tables, self.store),
                None => part.text(id as usize, tables),
            },
            _ => None,
        };
        match text {
            None => SortKey::Unknown,
            Some(text) if text.is_empty() => SortKey::Absent,
            Some(text) => {
                let is_longer = text.len() > SORT_TEXT_BYTES_MAX;
                let rest = if is_longer { TextRest::One(self.store.hasher.hash(&text)) } else { TextRest::Nothing };
                let start = text[..text.len().min(SORT_TEXT_BYTES_MAX)].into();
                SortKey::Text(Arc::new(TextKey { start, rest }))
            }
        }
    }
}

impl TextPart<'_> {
    /// A text without a code.
    fn uncoded(&self, local: usize) -> Option<&[u8]> {
        self.uncoded.as_ref().zip(self.column.uncoded_of(local)).map(|(texts, text)| texts.text(text))
    }

    /// `None` where it is in no memory.
    fn text<'t>(&'t self, local: usize, tables: &'t DictionaryTables) -> Option<Cow<'t, [u8]>> {
        match (self.uncoded(local), self.column.globals[local]) {
            (Some(text), _) => Some(Cow::Borrowed(text)),
            (None, OTHERS) => None,
            (None, code) => Some(Cow::Borrowed(tables.text(code))),
        }
    }

    fn derived<'t>(
        &'t self,
        column: TextColumn,
        local: usize,
        tables: &'t DictionaryTables,
        store: &RowStore,
    ) -> Option<Cow<'t, [u8]>> {
        match tables.classes(column).get(self.column.globals[local] as usize).copied().unwrap_or(NONE) {
            OTHERS => self.uncoded(local).map(|text| derive(column, text, store.settings.countries.as_deref())),
            class => Some(Cow::Borrowed(tables.text_of(Some(column), class))),
        }
    }
}
