//! Facets: the values of a field among which a filter chooses, counted under its other conditions.
//!
//! Conditions that choose values of a panel's field, or bound a column of numbers, are its own. A
//! row that meets all conditions but those of one field is counted for that field's panel alone, in
//! a pass after that of the view.

use crate::bits::Bits;
use crate::columns::{BYTES, NUMBERS, STATUS, counted_place, source};
use crate::count_segment::{Scratch, count_column_of};
use crate::dictionary::DictionaryTables;
use crate::facet_counts::{FacetCounts, FacetField, FieldCounts};
use crate::limits::FACETS_MAX;
use crate::number_spread::{NumberSpread, NumberSummary};
use crate::panel_counts::PanelCounts;
use crate::plan::ViewPlan;
use crate::segment::Segment;
use crate::sparse_counts::SparseCounts;
use crate::statuses::{STATUS_TITLE, status_page, statuses};
use crate::store::{RowStore, Snapshot, lock};
use crate::top::{row_of, top_values};
use crate::uncoded_counts::{UncodedTallies, UncodedTally};
use crate::view::{Facet, PanelWanted, View, ViewError};
use crate::view_cache::CountedViews;
use rorqual_accesslog::filter::{Filter, NumberTest, TextTest};
use rorqual_accesslog::report::ReportRow;
use rorqual_accesslog::schema::{NumberColumn, Schema, TextColumn};
use rorqual_pipe::{Control, Error, each};
use std::borrow::Cow;
use std::io;
use std::sync::Arc;

/// A filter taken apart.
struct FacetConditions<'a> {
    rest: Vec<&'a Filter>,
    fields: Vec<(FacetField, Vec<&'a Filter>)>,
}

impl<'a> FacetConditions<'a> {
    /// Takes a filter apart by the fields that have a panel; of more than [`FACETS_MAX`] fields the
    /// conditions of the others stay with the rest.
    fn of(filter: &'a Filter, schema: &Schema) -> Self {
        let mut parts = Self { rest: Vec::new(), fields: Vec::new() };
        for condition in conditions(filter) {
            let Some(field) = FacetField::of(condition).filter(|field| field.has_panel(schema)) else {
                parts.rest.push(condition);
                continue;
            };
            match parts.fields.iter().position(|(other, _)| *other == field) {
                Some(at) => parts.fields[at].1.push(condition),
                None if parts.fields.len() < FACETS_MAX => parts.fields.push((field, vec![condition])),
                None => parts.rest.push(condition),
            }
        }
        parts
    }
}

/// The conditions that a filter joins by `and`.
fn conditions(filter: &Filter) -> Vec<&Filter> {
    match filter {
        Filter::All(parts) => parts.iter().flat_map(conditions).collect(),
        condition => vec![condition],
    }
}

/// A filter of all these conditions, as the parser makes it.
fn joined<'a>(parts: impl IntoIterator<Item = &'a Filter>) -> Filter {
    let mut parts: Vec<Filter> = parts.into_iter().cloned().collect();
    if parts.len() == 1 { parts.remove(0) } else { Filter::All(parts) }
}

impl View {
    /// The same without the conditions that choose values of a field, by its column of texts; the
    /// status where that is `None`.
    #[must_use]
    pub fn without_choices(&self, column: Option<TextColumn>) -> Self {
        self.without(column.map_or(FacetField::Status, FacetField::Text))
    }

    fn without(&self, field: FacetField) -> Self {
        let others = conditions(&self.filter).into_iter().filter(|condition| FacetField::of(condition) != Some(field));
        Self { filter: joined(others), ..self.clone() }
    }
}

/// The question that a facet answers.
#[derive(Debug, Clone)]
pub struct FacetQuestion {
    /// Field whose values are chosen.
    pub field: FacetField,
    /// The view under its other conditions.
    pub others: View,
    /// Values that the filter names.
    pub chosen: Vec<String>,
    /// Values that it excludes.
    pub excluded: Vec<String>,
}

impl FacetQuestion {
    /// The questions of all facets of a view.
    #[must_use]
    pub fn all(view: &View, schema: &Schema) -> Vec<Self> {
        let question = |(field, own): (FacetField, Vec<&Filter>)| {
            let named = |is_excluded: bool| {
                let conditions = own.iter().map(|condition| un_negated(condition)).filter(|(_, negated)| *negated == is_excluded);
                let mut texts: Vec<String> = conditions.flat_map(|(condition, _)| values_named(condition)).collect();
                texts.sort_unstable();
                texts.dedup();
                texts
            };
            Self { field, others: view.without(field), chosen: named(false), excluded: named(true) }
        };
        FacetConditions::of(&view.filter, schema).fields.into_iter().map(question).collect()
    }
}

/// Values that a condition names.
fn values_named(condition: &Filter) -> Vec<String> {
    match condition {
        Filter::Text(_, test) => test.texts().unwrap_or_default().into_iter().map(str::to_owned).collect(),
        Filter::Number(NumberColumn::STATUS, test) => test.ranges.iter().map(|(status, _)| status.to_string()).collect(),
        _ => Vec::new(),
    }
}

/// A pass over the rows that meet all conditions but those of one field.
struct FacetJob<'a> {
    store: &'a RowStore,
    /// The span and the conditions that are of no field.
    rest: ViewPlan,
    /// The conditions of each field.
    own: Vec<ViewPlan>,
    control: &'a Control,
}

/// Fields whose rows a pass counts, by their places.
type Counted = Vec<(usize, FacetField)>;

/// Counts of one thread.
#[derive(Default)]
struct FacetSums {
    /// Of each field that is counted, by the codes of its source.
    values: Vec<SparseCounts>,
    spreads: Vec<NumberSpread>,
    tallies: UncodedTallies,
    scratch: Scratch,
    rows: Vec<u16>,
}

impl RowStore {
    /// True if a filter chooses values of some panel.
    pub(crate) fn has_facets(&self, filter: &Filter) -> bool {
        !FacetConditions::of(filter, &self.schema()).fields.is_empty()
    }

    /// The facets of a view whose own rows are counted.
    pub(crate) fn count_facets(
        &self,
        snapshot: &Snapshot,
        view: &View,
        (counted, lengths): (&CountedViews, &[usize]),
        control: &Control,
    ) -> Result<Vec<FacetCounts>, ViewError> {
        let schema = self.schema();
        let FacetConditions { rest, fields } = FacetConditions::of(&view.filter, &schema);
        let mut known: Vec<Option<FacetCounts>> =
            fields.iter().map(|(field, _)| self.counted_before(*field, view, snapshot.generation)).collect();
        let compiled = |view: &View| ViewPlan::new(view, self, control).ok_or(ViewError::Cancelled);
        let mut left: Counted =
            fields.iter().enumerate().map(|(at, (field, _))| (at, *field)).filter(|(at, _)| known[*at].is_none()).collect();
        if !left.is_empty() {
            let rest = compiled(&View { filter: joined(rest), ..view.clone() })?;
            let own = |(_, own): &(FacetField, Vec<&Filter>)| {
                compiled(&View { filter: joined(own.iter().copied()), ..View::default() })
            };
            let own = fields.iter().map(own).collect::<Result<_, _>>()?;
            let job = FacetJob { store: self, rest, own, control };
            while !left.is_empty() {
                let pass = one_of_each_source(&mut left);
                let mut found = job.run(&pass, &snapshot.segments, lengths)?;
                self.want_names(&found.tallies);
                for (place, (at, field)) in pass.iter().enumerate() {
                    known[*at] = Some(self.with_own(*field, counted, &mut found, place));
                }
            }
        }
        Ok(known.into_iter().flatten().collect())
    }

    /// The counts of a view without a field's own conditions, where that was counted last: so it is
    /// when values are chosen one after another.
    fn counted_before(&self, field: FacetField, view: &View, generation: u64) -> Option<FacetCounts> {
        let without = view.without(field);
        let counted = lock(&self.kept).find(|kept| kept.generation == generation && kept.view == without)?;
        Some(self.with_own(field, &counted, &mut FacetSums::default(), 0))
    }

    /// The facet of a field: the rows of a view, and those that only its own conditions leave out.
    fn with_own(&self, field: FacetField, counted: &CountedViews, others: &mut FacetSums, place: usize) -> FacetCounts {
        let counts = match field {
            FacetField::Number(column) => {
                let own = column.as_own().and_then(|own| counted.spreads.own.get(own));
                let mut spread = own.cloned().unwrap_or_default();
                others.spreads.get(place).into_iter().for_each(|others| spread.take(others));
                FieldCounts::Numbers(spread)
            }
            FacetField::Text(column) => FieldCounts::Values(self.values_with_own(source(column), counted, others, place)),
            FacetField::Status => FieldCounts::Values(self.values_with_own((STATUS, None), counted, others, place)),
        };
        FacetCounts { field, counts }
    }

    fn values_with_own(
        &self,
        (index, derived): (usize, Option<TextColumn>),
        counted: &CountedViews,
        others: &mut FacetSums,
        place: usize,
    ) -> PanelCounts<'static> {
        let own = counted.sums.column(index);
        // Taken and not copied: the sums of millions of values are as large as memory allows.
        let amounts = match others.values.get_mut(place).map(std::mem::take) {
            Some(mut amounts) => {
                amounts.add(own);
                amounts
            }
            None => own.clone(),
        };
        if index == STATUS {
            return PanelCounts { amounts: Cow::Owned(amounts), merged: 0, tally: None };
        }
        let tallies = counted_place(index).map(|place| [&counted.tallies, &others.tallies].map(|tallies| tallies.get(place)));
        let tally = tallies.and_then(|[own, others]| both(own, others)).map(Cow::Owned);
        PanelCounts::new(Cow::Owned(amounts), tally, &self.dictionaries[index].lock(), derived)
    }

    /// The facets of text fields and of the status, with `top` rows each.
    pub(crate) fn facets(&self, view: &View, counted: &CountedViews, top: usize) -> Vec<Facet> {
        let conditions = conditions(&view.filter);
        let facet = |facet: &FacetCounts| {
            let FieldCounts::Values(counts) = &facet.counts else { return None };
            let own: Vec<&Filter> = conditions.iter().copied().filter(|own| FacetField::of(own) == Some(facet.field)).collect();
            match facet.field {
                FacetField::Text(column) => Some(self.text_facet(column, counts, &own, counted.exact, top)),
                FacetField::Status => Some(status_facet(counts, &own, counted.exact, top)),
                FacetField::Number(_) => None,
            }
        };
        counted.facets.iter().filter_map(facet).collect()
    }

    fn text_facet(&self, column: TextColumn, counts: &PanelCounts<'_>, own: &[&Filter], is_sure: bool, top: usize) -> Facet {
        let (index, derived) = source(column);
        let tables = self.dictionaries[index].lock();
        let wanted = PanelWanted { search: None, offset: 0, limit: top };
        let page = self.page_with(&tables, counts, is_sure, column, &wanted);
        let missing = page.others.filter(|_| derived.is_some()).map_or(0, |others| others.hits);
        let named = |is_excluded: bool| {
            let mut codes: Vec<u32> = Vec::new();
            for condition in own {
                if let (Filter::Text(_, test), excludes) = un_negated(condition)
                    && excludes == is_excluded
                {
                    self.codes_named(column, test, &counts.amounts, &tables, &mut codes);
                }
            }
            codes.sort_unstable();
            codes.dedup();
            let amounts = codes.into_iter().map(|code| (code, counts.amounts.get(code))).filter(|(_, amount)| amount.hits > 0);
            let listed = top_values(amounts, |code| tables.text_of(derived, code), top);
            listed.into_iter().map(|(code, amount)| row_of(tables.text_of(derived, code), amount, missing)).collect()
        };
        let (chosen, excluded) = (named(false), named(true));
        Facet { panel: page.titled(self.schema().title(column)), chosen, excluded }
    }

    /// Codes of the values that a test names.
    fn codes_named(
        &self,
        column: TextColumn,
        test: &TextTest,
        amounts: &SparseCounts,
        tables: &DictionaryTables,
        codes: &mut Vec<u32>,
    ) {
        let (_, derived) = source(column);
        let Some(texts) = test.texts() else {
            // Values that are no UTF-8 are known as they are shown only.
            let values = amounts.iter().map(|(code, _)| code).filter(|code| tables.is_value(derived, *code));
            return codes.extend(values.filter(|code| test.meets(tables.text_of(derived, *code))));
        };
        let code = |text: &str| self.code_of(tables, column, text.as_bytes());
        codes.extend(texts.into_iter().filter_map(code));
    }

    /// The code of a value of a column, or of one that was named for answers.
    pub(crate) fn code_of(&self, tables: &DictionaryTables, column: TextColumn, text: &[u8]) -> Option<u32> {
        let (index, derived) = source(column);
        let named = || self.dictionaries[index].named().get(&self.hasher.hash(text)).copied().filter(|_| derived.is_none());
        tables.code_of(derived, text).or_else(named).filter(|code| tables.is_value(derived, *code))
    }

    /// The numbers of the facets that are of columns of numbers.
    pub(crate) fn number_facets(&self, counted: &CountedViews) -> Vec<NumberSummary> {
        let schema = self.schema();
        let summary = |facet: &FacetCounts| match (&facet.counts, facet.field) {
            (FieldCounts::Numbers(spread), FacetField::Number(column)) => {
                spread.summary(schema.number_name(column), schema.unit(column))
            }
            _ => None,
        };
        counted.facets.iter().filter_map(summary).collect()
    }
}

/// The first of the fields of each source, which are taken out: sums of two fields of one source
/// would take twice its memory. Derived fields come first, as their counts are few in the end.
fn one_of_each_source(left: &mut Counted) -> Counted {
    left.sort_by_key(|(_, field)| field.source().is_none_or(|(_, derived)| derived.is_none()));
    let mut pass = Counted::new();
    left.retain(|(at, field)| {
        let index = |field: FacetField| field.source().map(|(index, _)| index);
        let is_taken = index(*field).is_some() && pass.iter().any(|(_, other)| index(*other) == index(*field));
        if !is_taken {
            pass.push((*at, *field));
        }
        is_taken
    });
    pass
}

fn both(own: Option<&UncodedTally>, others: Option<&UncodedTally>) -> Option<UncodedTally> {
    let mut both = own.or(others).cloned()?;
    own.and(others).into_iter().for_each(|others| both.take(others));
    Some(both)
}

/// Condition without `not`, and whether it is negated.
fn un_negated(condition: &Filter) -> (&Filter, bool) {
    match condition {
        Filter::Not(inner) => {
            let (inner, negated) = un_negated(inner);
            (inner, !negated)
        }
        condition => (condition, false),
    }
}

fn status_facet(counts: &PanelCounts<'_>, own: &[&Filter], is_sure: bool, top: usize) -> Facet {
    // Rejected lines are among those without a status, which a panel does not list.
    let rows = statuses(&counts.amounts, 0);
    let wanted = PanelWanted { search: None, offset: 0, limit: top };
    let panel = status_page(&rows, &wanted, is_sure).titled(STATUS_TITLE.into());
    let all = status_page(&rows, &PanelWanted { limit: usize::MAX, ..wanted }, is_sure).rows;
    let names = |row: &ReportRow, test: &NumberTest| row.value.parse().is_ok_and(|status| test.meets(Some(status)));
    let named = |is_excluded: bool| {
        let is_named = |row: &&ReportRow| {
            own.iter().any(|condition| match un_negated(condition) {
                (Filter::Number(_, test), negated) => negated == is_excluded && names(row, test),
                _ => false,
            })
        };
        all.iter().filter(is_named).take(top).cloned().collect()
    };
    Facet { panel, chosen: named(false), excluded: named(true) }
}

impl FacetJob<'_> {
    fn run(&self, pass: &Counted, segments: &[Arc<Segment>], lengths: &[usize]) -> Result<FacetSums, ViewError> {
        let threads = self.store.settings.threads.min(segments.len()).max(1);
        let mut workers: Vec<FacetSums> = (0..threads).map(|_| FacetSums::new(pass, lengths)).collect();
        let work = |found: &mut FacetSums, segment: &Arc<Segment>| {
            if self.control.stopped() { Ok(()) } else { self.count(pass, segment, found) }
        };
        let sink = |done: io::Result<()>| done.map_err(|cause| Error::io("rows", "cannot read spilled rows", cause));
        each(segments.iter(), &mut workers, work, sink).map_err(ViewError::Io)?;
        if self.control.stopped() {
            return Err(ViewError::Cancelled);
        }
        workers.iter_mut().for_each(|found| found.values.iter_mut().for_each(SparseCounts::settle));
        let mut joined = workers.pop().unwrap_or_default();
        workers.iter().for_each(|found| joined.take(found));
        Ok(joined)
    }

    fn count(&self, pass: &Counted, segment: &Segment, found: &mut FacetSums) -> io::Result<()> {
        let left_out = self.left_out(segment)?;
        if left_out.iter().all(Bits::is_none) {
            return Ok(());
        }
        // Read once: those of a segment in the file are unpacked each time.
        let bytes = segment.numbers(BYTES, self.store.spill.as_ref())?;
        let schema = self.store.schema();
        for (place, (at, field)) in pass.iter().enumerate() {
            let Some(bits) = left_out.get(*at).filter(|bits| !bits.is_none()) else { continue };
            let FacetSums { values, spreads, tallies, scratch, rows } = &mut *found;
            rows.clear();
            bits.list(rows);
            match field {
                FacetField::Number(column) => {
                    let own = column.as_own().unwrap_or_default();
                    let numbers = segment.numbers(NUMBERS + own, self.store.spill.as_ref())?;
                    if numbers.min().is_some() {
                        let most = NumberSpread::buckets_max(schema.own_numbers());
                        spreads[place].count(&numbers, rows, schema.unit(*column), most);
                    }
                }
                FacetField::Text(_) | FacetField::Status => {
                    let index = field.source().map_or(STATUS, |(index, _)| index);
                    let column = (counted_place(index).unwrap_or_default(), index);
                    count_column_of((segment, &bytes), self.store, rows, column, (&mut values[place], tallies), scratch)?;
                }
            }
        }
        Ok(())
    }

    /// For each field, the rows that its own conditions leave out, and no others.
    fn left_out(&self, segment: &Segment) -> io::Result<Vec<Bits>> {
        let rest = self.rest.select(segment, self.store)?;
        if rest.is_none() {
            return Ok(Vec::new());
        }
        let (mut once, mut twice) = (Bits::new(segment.rows, false), Bits::new(segment.rows, false));
        let mut all = Vec::with_capacity(self.own.len());
        for own in &self.own {
            let mut met = rest.clone();
            own.narrow(segment, self.store, &mut met)?;
            let mut left_out = rest.clone();
            left_out.without(&met);
            let mut again = once.clone();
            again.and(&left_out);
            twice.or(&again);
            once.or(&left_out);
            all.push(left_out);
        }
        all.iter_mut().for_each(|left_out| left_out.without(&twice));
        Ok(all)
    }
}

impl FacetSums {
    fn new(pass: &Counted, lengths: &[usize]) -> Self {
        let length = |field: FacetField| {
            let place = field.source().and_then(|(index, _)| counted_place(index));
            place.and_then(|place| lengths.get(place)).copied().unwrap_or(0)
        };
        Self {
            values: pass.iter().map(|(_, field)| SparseCounts::new(length(*field))).collect(),
            spreads: vec![NumberSpread::default(); pass.len()],
            ..Self::default()
        }
    }

    fn take(&mut self, other: &Self) {
        self.values.iter_mut().zip(&other.values).for_each(|(own, other)| own.add(other));
        self.spreads.iter_mut().zip(&other.spreads).for_each(|(own, other)| own.take(other));
        self.tallies.take(&other.tallies);
    }
}
