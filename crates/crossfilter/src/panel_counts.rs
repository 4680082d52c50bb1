//! Rows of the values of a column, of which a panel is made.

use crate::dictionary::DictionaryTables;
use crate::sparse_counts::SparseCounts;
use crate::uncoded_counts::UncodedTally;
use rorqual_accesslog::schema::TextColumn;
use std::borrow::Cow;

/// Amounts by code of a derived column, or as they are.
pub(crate) fn amounts_of<'a>(
    counted: &'a SparseCounts,
    tables: &DictionaryTables,
    derived: Option<TextColumn>,
) -> Cow<'a, SparseCounts> {
    let Some(column) = derived else { return Cow::Borrowed(counted) };
    let classes = tables.classes(column);
    let class = |code: u32| classes[code as usize];
    let mut amounts = SparseCounts::new(tables.len_of(derived));
    amounts.add_each(counted.iter().map(|(code, amount)| (class(code), amount)));
    amounts.settle();
    Cow::Owned(amounts)
}

/// Rows of the values of a column, of which a panel is made.
#[derive(Debug, Clone)]
pub(crate) struct PanelCounts<'a> {
    /// By the codes of the column's values, and of those without one.
    pub(crate) amounts: Cow<'a, SparseCounts>,
    /// Rows whose value may be another one, as their text was cut.
    pub(crate) merged: u64,
    /// Of texts without a code.
    pub(crate) tally: Option<Cow<'a, UncodedTally>>,
}

impl<'a> PanelCounts<'a> {
    /// Counts of amounts by the codes of a dictionary.
    pub(crate) fn new(
        counted: Cow<'a, SparseCounts>,
        tally: Option<Cow<'a, UncodedTally>>,
        tables: &DictionaryTables,
        derived: Option<TextColumn>,
    ) -> Self {
        // Of values that were cut as many may be one as there are hits, and a class derived from
        // one may follow from its end.
        let cut = counted.iter().filter(|(code, _)| tables.is_cut(*code));
        let merged = cut.map(|(_, amount)| amount.hits - u64::from(derived.is_none() && amount.hits > 0)).sum();
        let amounts = if derived.is_none() { counted } else { Cow::Owned(amounts_of(&counted, tables, derived).into_owned()) };
        Self { amounts, merged, tally: tally.filter(|_| derived.is_none()) }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.amounts.bytes() + self.tally.as_ref().map_or(0, |tally| tally.bytes())
    }
}
