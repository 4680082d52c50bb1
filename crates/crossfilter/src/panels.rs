//! Panels: the values of a column with most rows.

use crate::columns::{counted_place, source};
use crate::dictionary::{DictionaryTables, OTHERS};
use crate::limits::VALUES_LISTED_MAX;
use crate::panel_counts::{PanelCounts, amounts_of};
use crate::sparse_counts::{RowsAndBytes, SparseCounts};
use crate::store::RowStore;
use crate::top::{row_of, top_values};
use crate::view::{PanelPage, PanelWanted};
use crate::view_cache::CountedViews;
use memchr::memmem::Finder;
use rorqual_accesslog::report::{Distinct, OtherValues, Panel};
use rorqual_accesslog::schema::TextColumn;
use std::borrow::Cow;

impl PanelPage {
    /// The panel that begins with it.
    #[must_use]
    pub fn titled(self, title: Cow<'static, str>) -> Panel {
        let Self { field, distinct, hits, exact, error_max, others, rows, found: _ } = self;
        Panel { field, title, distinct, hits, exact, error_max, others, rows }
    }
}

impl RowStore {
    /// Amounts by value of a column.
    pub(crate) fn amounts<T>(
        &self,
        counted: &CountedViews,
        column: TextColumn,
        with: impl FnOnce(&SparseCounts, &DictionaryTables) -> T,
    ) -> T {
        let (index, derived) = source(column);
        let tables = self.dictionaries[index].lock();
        with(&amounts_of(counted.sums.column(index), &tables, derived), &tables)
    }

    /// The panel of a column with `top` rows; `None` where no row that is kept has the field, in
    /// the view or not.
    pub(crate) fn panel_of(&self, counted: &CountedViews, column: TextColumn, top: usize) -> Option<Panel> {
        let wanted = PanelWanted { search: None, offset: 0, limit: top };
        self.shown_page(counted, column, &wanted).map(|page| page.titled(self.schema().title(column)))
    }

    /// The same with a search.
    pub(crate) fn shown_page(&self, counted: &CountedViews, column: TextColumn, wanted: &PanelWanted) -> Option<PanelPage> {
        let page = self.page_of(counted, column, wanted);
        let (index, derived) = source(column);
        let known = self.dictionaries[index].lock().len_of(derived) > OTHERS as usize + 1;
        // Without a file of countries no client has one, known or not.
        let is_asked = column != TextColumn::COUNTRY || self.settings.countries.is_some();
        (is_asked && (known || page.hits > 0)).then_some(page)
    }

    /// A stretch of all values of a column.
    pub(crate) fn page_of(&self, counted: &CountedViews, column: TextColumn, wanted: &PanelWanted) -> PanelPage {
        let (index, derived) = source(column);
        let tables = self.dictionaries[index].lock();
        let tally = counted_place(index).and_then(|place| counted.tallies.get(place)).map(Cow::Borrowed);
        let counts = PanelCounts::new(Cow::Borrowed(counted.sums.column(index)), tally, &tables, derived);
        self.page_with(&tables, &counts, counted.exact, column, wanted)
    }

    /// The same of such counts; `is_sure` if the rows are those that the filter means.
    pub(crate) fn page_with(
        &self,
        tables: &DictionaryTables,
        PanelCounts { amounts, merged, tally }: &PanelCounts<'_>,
        is_sure: bool,
        column: TextColumn,
        wanted: &PanelWanted,
    ) -> PanelPage {
        let (index, derived) = source(column);
        let text = |code: u32| tables.text_of(derived, code);
        let mut without = RowsAndBytes::default();
        let groups = amounts.iter().filter(|(code, _)| *code == OTHERS || (derived.is_none() && tables.is_group(*code)));
        groups.for_each(|(_, amount)| without.add(amount));
        let others = without.hits;
        let known = || amounts.iter().filter(|(code, _)| tables.is_value(derived, *code));
        let tally = tally.as_ref().filter(|_| others > 0);
        let (distinct, hits) = known().fold((0, 0), |(distinct, hits), (_, amount)| (distinct + 1, hits + amount.hits));
        let exact = others + merged == 0;
        let count = wanted.offset.saturating_add(wanted.limit).min(VALUES_LISTED_MAX);
        let (top, found) = match wanted.search.as_deref().and_then(PanelSearch::new) {
            None => (top_values(known(), text, count), distinct),
            Some(mut search) => {
                let mut found = 0;
                let has = |(code, _): &(u32, RowsAndBytes)| search.is_in(text(*code));
                (top_values(known().filter(has).inspect(|_| found += 1), text, count), found)
            }
        };
        // Each text without a code has at most so many rows.
        let named = self.dictionaries[index].named();
        let most = tally.map_or(others, |tally| tally.rows_max(|hash| named.contains_key(&hash)).min(others));
        let (distinct, error) = match tally {
            // Those with a code for answers are among the ones that the tally counts.
            Some(tally) => {
                let (without, error) = tally.distinct();
                let with = known().filter(|(code, _)| tables.is_own(*code)).count() as u64;
                (with + without, error * without as f64 / (with + without).max(1) as f64)
            }
            None => (distinct, 0.0),
        };
        let error = error + beyond(merged + if tally.is_none() { others } else { 0 }, distinct);
        let missing = if derived.is_some() { others } else { 0 };
        let row = |(code, amount): &(u32, RowsAndBytes)| row_of(text(*code), *amount, missing);
        PanelPage {
            field: self.schema().text_name(column),
            distinct: Distinct { distinct, exact, error },
            hits: hits + others,
            exact: exact && is_sure,
            error_max: most.max(*merged),
            others: (others > 0).then_some(OtherValues { hits: others, bytes: without.bytes }),
            found,
            rows: top.iter().skip(wanted.offset).map(row).collect(),
        }
    }
}

/// Relative error by which the number of values may be beyond `distinct`: each of these hits may
/// have a value of its own.
pub(crate) fn beyond(others: u64, distinct: u64) -> f64 {
    others as f64 / distinct.max(1) as f64
}

/// Search text of panels, in any case of ASCII letters.
pub(crate) struct PanelSearch {
    finder: Finder<'static>,
    /// The text that is looked at, in small letters.
    small: Vec<u8>,
}

impl PanelSearch {
    /// `None` for nothing, which every text has.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let finder = Finder::new(&text.to_ascii_lowercase()).into_owned();
        (!text.is_empty()).then_some(Self { finder, small: Vec::new() })
    }

    pub(crate) fn is_in(&mut self, text: &[u8]) -> bool {
        self.small.clear();
        self.small.extend(text.iter().map(u8::to_ascii_lowercase));
        self.finder.find(&self.small).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_as_by_hand() {
        assert!(PanelSearch::new("").is_none());
        let texts = ["", "a", "aa", "AAB", "aabAAb", "x/Aab?", "aaaaaaaaaaaaaaab", "\u{c4}ab"];
        for wanted in ["a", "AAB", "b", "aaab", "?", "\u{c4}", "\u{e4}"] {
            let mut search = PanelSearch::new(wanted).expect("something to search for");
            for text in texts {
                let by_hand = text.as_bytes().windows(wanted.len()).any(|part| part.eq_ignore_ascii_case(wanted.as_bytes()));
                assert_eq!(search.is_in(text.as_bytes()), by_hand, "{wanted} in {text}");
            }
        }
    }
}
