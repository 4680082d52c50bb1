//! Panels: the values of a column with most rows.

use crate::columns::{COUNTED, source};
use crate::counted::Counted;
use crate::dictionary::{NONE, OTHERS, Tables};
use crate::store::Store;
use crate::sums::Amount;
use crate::view::{PanelPage, PanelWanted};
use rorqual_table::filter::TextColumn;
use rorqual_table::report::{Distinct, Panel, Row};
use std::cmp::Reverse;

/// The panels of a view in the order in which they are shown.
pub(crate) const PANELS: [(TextColumn, &str); 16] = [
    (TextColumn::Path, "Paths"),
    (TextColumn::Client, "Clients"),
    (TextColumn::Net, "Networks"),
    (TextColumn::Country, "Countries"),
    (TextColumn::Host, "Virtual hosts"),
    (TextColumn::Method, "Methods"),
    (TextColumn::Protocol, "Protocols"),
    (TextColumn::Referrer, "Referrers"),
    (TextColumn::Site, "Referring sites"),
    (TextColumn::Browser, "Browsers"),
    (TextColumn::Os, "Operating systems"),
    (TextColumn::Bot, "Bots"),
    (TextColumn::Agent, "User agents"),
    (TextColumn::User, "Users"),
    (TextColumn::Kind, "Kinds of content"),
    (TextColumn::Flaw, "Flaws"),
];

/// A value as text; one that is too long to show ends in `…`.
pub(crate) fn shown(text: &[u8]) -> String {
    rorqual_table::report::shown_value(text)
}

/// Amounts by code of a derived column, or as they are.
pub(crate) fn amounts_of(counted: &[Amount], tables: &Tables, derived: Option<TextColumn>) -> Vec<Amount> {
    let Some(column) = derived else { return counted.to_vec() };
    let mut amounts = vec![Amount::default(); tables.len_of(derived)];
    // What there was no room for belongs to nothing that is known.
    for (code, (amount, class)) in counted.iter().zip(tables.classes(column)).enumerate() {
        let place = if code == OTHERS as usize { OTHERS } else { *class };
        amounts[place as usize].add(*amount);
    }
    amounts
}

/// The codes of values with most hits, ties by text; neither the absent value nor those without a place are among them.
pub(crate) fn top_codes<'a>(amounts: &[Amount], text: impl Fn(u32) -> &'a [u8], count: usize) -> Vec<u32> {
    let mut codes: Vec<u32> = (OTHERS + 1..amounts.len() as u32).filter(|code| amounts[*code as usize].hits > 0).collect();
    let hits = |code: &u32| Reverse(amounts[*code as usize].hits);
    if count == 0 {
        return Vec::new();
    }
    if codes.len() > count {
        // Texts are only compared among those that have as many hits as the last one that is listed.
        let (_, last, _) = codes.select_nth_unstable_by_key(count - 1, hits);
        let least = amounts[*last as usize].hits;
        codes.retain(|code| amounts[*code as usize].hits >= least);
        if codes.len() > count {
            codes.select_nth_unstable_by(count - 1, |a, b| hits(a).cmp(&hits(b)).then_with(|| text(*a).cmp(text(*b))));
            codes.truncate(count);
        }
    }
    codes.sort_unstable_by(|a, b| hits(a).cmp(&hits(b)).then_with(|| text(*a).cmp(text(*b))));
    codes
}

impl Store {
    /// Amounts by value of a column.
    pub(crate) fn amounts<T>(&self, counted: &Counted, column: TextColumn, with: impl FnOnce(&[Amount], &Tables) -> T) -> T {
        let (index, derived) = source(column);
        let tables = self.dictionaries[index].lock();
        let sums = COUNTED.iter().position(|known| *known == index).and_then(|at| counted.sums.columns.get(at));
        with(&amounts_of(sums.map_or(&[], |sums| sums), &tables, derived), &tables)
    }

    /// The panel of a column with `top` rows; `None` where no row that is kept has the field, in the view or not.
    pub(crate) fn panel_of(&self, counted: &Counted, column: TextColumn, title: &'static str, top: usize) -> Option<Panel> {
        let wanted = PanelWanted { search: None, offset: 0, limit: top };
        let page = self.page_of(counted, column, &wanted);
        let (index, derived) = source(column);
        let known = self.dictionaries[index].lock().len_of(derived) > OTHERS as usize + 1;
        (known || page.hits > 0).then_some(Panel {
            field: page.field,
            title,
            distinct: page.distinct,
            hits: page.hits,
            exact: page.exact,
            error_max: page.error_max,
            rows: page.rows,
        })
    }

    /// A stretch of all values of a column.
    pub(crate) fn page_of(&self, counted: &Counted, column: TextColumn, wanted: &PanelWanted) -> PanelPage {
        let (_, derived) = source(column);
        self.amounts(counted, column, |amounts, tables| {
            let text = |code: u32| tables.text_of(derived, code);
            let others = amounts.get(OTHERS as usize).copied().unwrap_or_default().hits;
            let all: u64 = amounts.iter().map(|amount| amount.hits).sum();
            let distinct = amounts.iter().skip(OTHERS as usize + 1).filter(|amount| amount.hits > 0).count() as u64;
            let count = wanted.offset.saturating_add(wanted.limit);
            let (codes, found) = match wanted.search.as_deref().filter(|search| !search.is_empty()) {
                None => (top_codes(amounts, text, count), distinct),
                Some(search) => {
                    let mut met = amounts.to_vec();
                    let has = |code: usize| contains(text(code as u32), search);
                    met.iter_mut()
                        .enumerate()
                        .filter(|(code, amount)| amount.hits > 0 && !has(*code))
                        .for_each(|(_, amount)| amount.hits = 0);
                    let found = met.iter().skip(OTHERS as usize + 1).filter(|amount| amount.hits > 0).count();
                    (top_codes(&met, text, count), found as u64)
                }
            };
            let row = |code: &u32| {
                let Amount { hits, bytes } = amounts[*code as usize];
                Row { value: shown(text(*code)), hits, hits_max: hits, bytes }
            };
            PanelPage {
                field: column.name(),
                distinct: Distinct { distinct, exact: others == 0, error: beyond(others, distinct) },
                hits: all - amounts.get(NONE as usize).copied().unwrap_or_default().hits,
                exact: others == 0 && counted.exact,
                error_max: others,
                found,
                rows: codes.iter().skip(wanted.offset).map(row).collect(),
            }
        })
    }
}

/// How far the number of values may be beyond `distinct`, relatively: each of the hits without a value may have one of its own.
pub(crate) fn beyond(others: u64, distinct: u64) -> f64 {
    others as f64 / distinct.max(1) as f64
}

/// Whether the text has what is searched for, in any case of ASCII letters.
pub(crate) fn contains(text: &[u8], search: &str) -> bool {
    let search = search.as_bytes();
    text.windows(search.len()).any(|part| part.eq_ignore_ascii_case(search))
}
