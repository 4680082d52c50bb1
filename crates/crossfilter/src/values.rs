//! All values of a panel, however many.

use crate::columns::source;
use crate::dictionary::{NO_ROOM, OTHERS};
use crate::limits::PIECE_ROWS_MAX;
use crate::panels::by_hits;
use crate::store::RowStore;
use crate::sums::RowsAndBytes;
use crate::view::{PanelPage, PanelWanted, View, ViewError};
use rorqual_accesslog::filter::TextColumn;
use rorqual_accesslog::report::ReportRow;
use rorqual_pipe::{Control, Error};

/// The values of a column in a view.
#[derive(Debug)]
pub struct ColumnValues {
    /// Rows that have the field.
    hits: u64,
    listed: ListedValue,
    /// True if there are no others.
    whole: bool,
}

#[derive(Debug)]
enum ListedValue {
    /// By their codes: 24 bytes each.
    Codes(TextColumn, Vec<(u32, RowsAndBytes)>),
    /// The values as they are shown.
    Rows(Vec<ReportRow>),
}

/// A value with its rows.
#[derive(Debug, Clone, Copy)]
pub struct ValueCount<'a> {
    /// The value as in the log; `…` for all that the store had no room for.
    pub text: &'a [u8],
    /// Rows.
    pub hits: u64,
    /// Sum of the response sizes.
    pub bytes: u64,
    /// Of the rows that have the field.
    pub share: f64,
}

/// All that a panel has.
const EVERY: PanelWanted = PanelWanted { search: None, offset: 0, limit: usize::MAX };

impl ColumnValues {
    fn of(page: PanelPage) -> Self {
        Self { hits: page.hits, whole: page.found == page.rows.len() as u64, listed: ListedValue::Rows(page.rows) }
    }

    /// Bytes in memory.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match &self.listed {
            ListedValue::Codes(_, listed) => (listed.capacity() * size_of::<(u32, RowsAndBytes)>()) as u64,
            ListedValue::Rows(rows) => rows.iter().map(|row| (size_of::<ReportRow>() + row.value.capacity()) as u64).sum(),
        }
    }

    /// True if there are no others: of [`TextColumn::Url`] only
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
        if column == TextColumn::Url {
            return self.urls(view, &EVERY, control).map(ColumnValues::of);
        }
        let counted = self.sums_of(view, control)?;
        let (_, derived) = source(column);
        Ok(self.amounts(&counted, column, |amounts, tables| {
            let known = || amounts.iter().filter(|(code, _)| *code > OTHERS);
            let mut listed = Vec::with_capacity(known().count() + 1);
            listed.extend(known());
            listed.sort_unstable_by(by_hits(|code| tables.text_of(derived, code)));
            listed.extend(Some((OTHERS, amounts.get(OTHERS))).filter(|(_, others)| others.hits > 0));
            let hits = listed.iter().map(|(_, amount)| amount.hits).sum();
            ColumnValues { hits, listed: ListedValue::Codes(column, listed), whole: true }
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
        let (column, listed) = match &values.listed {
            ListedValue::Codes(column, listed) => (*column, listed),
            ListedValue::Rows(rows) => {
                let value = |row: &ReportRow| {
                    take(&ValueCount { text: row.value.as_bytes(), hits: row.hits, bytes: row.bytes, share: share(row.hits) })
                };
                return rows.iter().try_for_each(value);
            }
        };
        let (index, derived) = source(column);
        let mut texts: Vec<Vec<u8>> = Vec::new();
        for listed in listed.chunks(PIECE_ROWS_MAX / 16) {
            {
                let tables = self.dictionaries[index].lock();
                let text = |code: u32| if code == OTHERS { NO_ROOM.as_bytes() } else { tables.text_of(derived, code) };
                texts.clear();
                texts.extend(listed.iter().map(|(code, _)| text(*code).to_vec()));
            }
            for (text, (_, RowsAndBytes { hits, bytes })) in texts.iter().zip(listed) {
                take(&ValueCount { text, hits: *hits, bytes: *bytes, share: share(*hits) })?;
            }
        }
        Ok(())
    }
}
