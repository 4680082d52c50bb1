//! The series of a stacked histogram.

use crate::columns::{AGENT, STATUS, STATUSES, source};
use crate::dictionary::{Dictionary, DictionaryTables, NONE, OTHERS};
use crate::limits::SERIES_MAX;
use crate::panel_counts::amounts_of;
use crate::series_text::SeriesText;
use crate::sums::Sums;
use crate::top::{shown, top_values};
use crate::view::Stack;
use rorqual_accesslog::filter::{CLASSES, class};
use rorqual_accesslog::schema::TextColumn;

/// Series of each code; the last one takes all codes of no other.
#[derive(Debug, Clone)]
pub(crate) struct ViewSeries {
    /// Index of the coded column.
    pub(crate) column: usize,
    pub(crate) of: Vec<u8>,
    pub(crate) names: Vec<String>,
}

/// Name of the series of all other rows.
pub(crate) const REST: &str = "other";

impl ViewSeries {
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// Series that do not depend on the counts.
    pub(crate) fn fixed(stack: Stack, dictionaries: &[Dictionary]) -> Option<Self> {
        match stack {
            Stack::Class => {
                let of = (0..STATUSES as u16).map(|status| class(status) as u8).collect();
                Some(Self { column: STATUS, of, names: CLASSES.map(str::to_owned).to_vec() })
            }
            Stack::Bot => {
                let agents = dictionaries[AGENT].lock();
                let mut of: Vec<u8> = agents.classes(TextColumn::BOT).iter().map(|bot| u8::from(*bot == NONE)).collect();
                let mut names = vec!["bot".to_owned(), "human".to_owned()];
                if agents.has_groups() {
                    let bots = agents.classes(TextColumn::BOT);
                    of.iter_mut().zip(bots).filter(|(_, bot)| **bot == OTHERS).for_each(|(of, _)| *of = 2);
                    names.push("unknown".to_owned());
                }
                Some(Self { column: AGENT, of, names })
            }
            Stack::Values(_) => None,
        }
    }

    /// Series of these values of a column, and the rest.
    pub(crate) fn given(stack: Stack, texts: &[SeriesText], dictionaries: &[Dictionary]) -> Self {
        let Stack::Values(column) = stack else { return Self::rest_alone() };
        let (index, derived) = source(column);
        let tables = dictionaries[index].lock();
        let texts = &texts[..texts.len().min(SERIES_MAX)];
        let rest = texts.len() as u8;
        let series_of = |code: u32| {
            let is_value = tables.is_value(derived, code);
            let series = texts.iter().position(|text| is_value && text.is(tables.text_of(derived, code)));
            series.map_or(rest, |series| series as u8)
        };
        let of_value: Vec<u8> = (0..tables.len_of(derived) as u32).map(series_of).collect();
        Self::of_values(column, of_value, rest, &tables, texts.iter().map(|text| shown(text.start())))
    }

    fn rest_alone() -> Self {
        Self { column: STATUS, of: Vec::new(), names: vec![REST.to_owned()] }
    }

    /// The values with most rows, and the rest.
    pub(crate) fn top(stack: Stack, sums: &Sums, dictionaries: &[Dictionary]) -> Self {
        let Stack::Values(column) = stack else { return Self::rest_alone() };
        let (index, derived) = source(column);
        let tables = dictionaries[index].lock();
        let amounts = amounts_of(sums.column(index), &tables, derived);
        let top = top_values(
            amounts.iter().filter(|(code, _)| tables.is_value(derived, *code)),
            |code| tables.text_of(derived, code),
            SERIES_MAX,
        );
        let rest = top.len() as u8;
        let mut of_value = vec![rest; tables.len_of(derived)];
        top.iter().zip(0..).for_each(|((code, _), series)| of_value[*code as usize] = series);
        let names = top.iter().map(|(code, _)| shown(tables.text_of(derived, *code)));
        Self::of_values(column, of_value, rest, &tables, names)
    }

    /// Series by the codes of the values of a column, and after those with a name the rest.
    fn of_values(
        column: TextColumn,
        of_value: Vec<u8>,
        rest: u8,
        tables: &DictionaryTables,
        names: impl Iterator<Item = String>,
    ) -> Self {
        let (index, derived) = source(column);
        let of = match derived {
            None => of_value,
            Some(derived) => {
                tables.classes(derived).iter().map(|value| of_value.get(*value as usize).copied().unwrap_or(rest)).collect()
            }
        };
        Self { column: index, of, names: names.chain([REST.to_owned()]).collect() }
    }
}
