//! All values of a panel, however many.

use crate::columns::source;
use crate::dictionary::{NO_ROOM, NONE, OTHERS};
use crate::limits::VALUES_COPIED_MAX;
use crate::sparse_counts::RowsAndBytes;
use crate::store::RowStore;
use crate::top::by_hits;
use crate::view::{PanelPage, PanelWanted, View, ViewError};
use rorqual_accesslog::report::{OtherValues, ReportRow};
use rorqual_accesslog::schema::TextColumn;
use rorqual_pipe::{Control, Error};

/// The values of a column in a view.
#[derive(Debug)]
pub struct ColumnValues {
    /// Rows that have the field.
    hits: u64,
    /// True if all values and their counts are exact.
    exact: bool,
    listed: ListedValue,
    /// True if there are no others.
    whole: bool,
}

#[derive(Debug)]
enum ListedValue {
    /// By their codes: 24 bytes each.
    Codes(ListedCodes),
    /// The values as they are shown.
    Rows(Vec<ReportRow>),
}

/// Values of a column by their codes.
#[derive(Debug)]
struct ListedCodes {
    column: TextColumn,
    codes: Vec<(u32, RowsAndBytes)>,
    /// Rows whose value has no code.
    others: u64,
}

/// A value with its rows.
#[derive(Debug, Clone, Copy)]
pub struct ValueCount<'a> {
    /// The value as in the log; `…` for all that the store had no room for.
    pub text: &'a [u8],
    /// Rows.
    pub hits: u64,
    /// Least true number of them.
    pub hits_min: u64,
    /// Most true number of them; of `…` those of all its values together.
    pub hits_max: u64,
    /// Sum of the response sizes.
    pub bytes: u64,
    /// Of the rows that have the field.
    pub share: f64,
}

/// All that a panel has.
const EVERY: PanelWanted = PanelWanted { search: None, offset: 0, limit: usize::MAX };

impl ColumnValues {
    fn of(mut page: PanelPage) -> Self {
        let whole = page.found == page.rows.len() as u64;
        // Its bounds are wide: the page says no closer how many of these rows the filter means.
        page.rows.extend(page.others.map(|OtherValues { hits, bytes }| ReportRow {
            value: NO_ROOM.to_owned(),
            hits,
            hits_min: 0,
            hits_max: hits + page.error_max,
            bytes,
        }));
        Self { hits: page.hits, exact: page.exact, whole, listed: ListedValue::Rows(page.rows) }
    }

    /// Bytes in memory.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match &self.listed {
            ListedValue::Codes(listed) => (listed.codes.capacity() * size_of::<(u32, RowsAndBytes)>()) as u64,
            ListedValue::Rows(rows) => rows.iter().map(|row| (size_of::<ReportRow>() + row.value.capacity()) as u64).sum(),
        }
    }

    /// True if the number of values and the rows of each are exact; otherwise
    /// [`ValueCount::hits_min`] and [`ValueCount::hits_max`] are their bounds.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// True if there are no others: of [`TextColumn::URL`] only
    /// [`VALUES_LISTED_MAX`](crate::limits::VALUES_LISTED_MAX) are listed.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.whole
    }
}

impl RowStore {
    /// The values of a column in a view, most hits first; those without room at the end.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn values(&self, view: &View, column: TextColumn, control: &Control) -> Result<ColumnValues, ViewError> {
        self.asked(|| self.values_of(view, column, control))
    }

    fn values_of(&self, view: &View, column: TextColumn, control: &Control) -> Result<ColumnValues, ViewError> {
        let counted = self.sums_of(view, control)?;
        if column == TextColumn::URL {
            return self.urls(view, &EVERY, control).map(ColumnValues::of);
        }
        let (index, derived) = source(column);
        Ok(self.amounts(&counted, column, |amounts, tables| {
            let known = || amounts.iter().filter(|(code, _)| tables.is_value(derived, *code));
            let mut codes = Vec::with_capacity(known().count() + 1);
            codes.extend(known());
            codes.sort_unstable_by(by_hits(|code| tables.text_of(derived, code)));
            let mut without = RowsAndBytes::default();
            let groups = amounts.iter().filter(|(code, _)| *code > NONE && !tables.is_value(derived, *code));
            groups.for_each(|(_, amount)| without.add(amount));
            let others = without.hits;
            codes.extend(Some((OTHERS, without)).filter(|_| others > 0));
            let hits = codes.iter().map(|(_, amount)| amount.hits).sum();
            let has_cut = counted.sums.column(index).iter().any(|(code, amount)| amount.hits > 0 && tables.is_cut(code));
            let listed = ListedValue::Codes(ListedCodes { column, codes, others });
            ColumnValues { hits, exact: counted.exact && others == 0 && !has_cut, listed, whole: true }
        }))
    }

    /// The statuses of a view, most hits first.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn status_values(&self, view: &View, control: &Control) -> Result<ColumnValues, ViewError> {
        self.statuses(view, &EVERY, control).map(ColumnValues::of)
    }

    /// Gives `take` each of the values, while nobody waits for the dictionary.
    ///
    /// # Errors
    /// Those of `take`.
    pub fn each_value(
        &self,
        values: &ColumnValues,
        mut take: impl FnMut(&ValueCount<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let share = |hits: u64| hits as f64 / values.hits.max(1) as f64;
        let listed = match &values.listed {
            ListedValue::Codes(listed) => listed,
            ListedValue::Rows(rows) => {
                let value = |row: &ReportRow| {
                    let ReportRow { value, hits, hits_min, hits_max, bytes } = row;
                    let (hits_min, hits_max) = (*hits_min, *hits_max);
                    take(&ValueCount {
                        text: value.as_bytes(),
                        hits: *hits,
                        hits_min,
                        hits_max,
                        bytes: *bytes,
                        share: share(*hits),
                    })
                };
                return rows.iter().try_for_each(value);
            }
        };
        let (index, derived) = source(listed.column);
        let mut texts: Vec<(Vec<u8>, u64)> = Vec::new();
        for codes in listed.codes.chunks(VALUES_COPIED_MAX) {
            {
                let tables = self.dictionaries[index].lock();
                let text = |code: u32| if code == OTHERS { NO_ROOM.as_bytes() } else { tables.text_of(derived, code) };
                // Any value may follow from a text that there was no room for.
                let missing = |code: u32| if derived.is_none() || code == OTHERS { 0 } else { listed.others };
                texts.clear();
                texts.extend(codes.iter().map(|(code, _)| (text(*code).to_vec(), missing(*code))));
            }
            for ((text, missing), (_, RowsAndBytes { hits, bytes })) in texts.iter().zip(codes) {
                let (hits_min, hits_max) = (*hits, hits + missing);
                take(&ValueCount { text, hits: *hits, hits_min, hits_max, bytes: *bytes, share: share(*hits) })?;
            }
        }
        Ok(())
    }
}
