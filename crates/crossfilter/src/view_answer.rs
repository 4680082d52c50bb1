//! Answers to views: all panels, and ranges of one.

use crate::columns::{AGENT, FLAW, REJECTED, REPAIRED, source};
use crate::dictionary::{NONE, OTHERS};
use crate::histogram::RowsOverTime;
use crate::number_spread::{NumberSpread, NumberSummary};
use crate::sparse_counts::RowsAndBytes;
use crate::statuses::{STATUS_FIELD, status_page, status_rows};
use crate::store::RowStore;
use crate::view::{Amounts, Outcomes, PanelPage, PanelWanted, RowCounts, View, ViewError, ViewParts, ViewResult};
use crate::view_cache::CountedViews;
use rorqual_accesslog::filter::{Filter, FilterRegex, TextTest};
use rorqual_accesslog::report::{Distinct, Panel};
use rorqual_accesslog::schema::{NumberColumn, TextColumn};
use rorqual_pipe::Control;
use std::borrow::Cow;

impl RowStore {
    /// All panels of a view.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn view(&self, view: &View, wanted: &ViewParts, control: &Control) -> Result<ViewResult, ViewError> {
        self.asked(|| {
            let counted = self.counted(view, wanted, control)?;
            Ok(self.viewed(view, &counted, wanted.top))
        })
    }

    /// The counts of a view, as they are shown.
    pub(crate) fn viewed(&self, view: &View, counted: &CountedViews, top: usize) -> ViewResult {
        let panel = |column: &TextColumn| self.panel_of(counted, *column, top);
        let mut panels: Vec<Panel> = self.schema().panels().iter().filter_map(panel).collect();
        // Rows that had no room may have any value.
        let is_whole = counted.rows_dropped == 0;
        panels.iter_mut().for_each(|panel| panel.distinct.exact &= is_whole);
        let lines = self.outcomes(counted);
        let [bots, people, unknown] = self.bots(counted, lines.rejected);
        let clients =
            panels.iter().find(|panel| panel.field == self.schema().text_name(TextColumn::CLIENT)).map(|panel| panel.distinct);
        let mut facets = self.facets(view, counted, top);
        facets.iter_mut().for_each(|facet| facet.panel.distinct.exact &= is_whole);
        facets.retain(|facet| {
            // Those of the panels that there are.
            let is_it = |panel: &Panel| panel.field == facet.panel.field;
            panels.iter().any(is_it) || (facet.panel.field == STATUS_FIELD && !panels.is_empty())
        });
        let spreads = &counted.spreads;
        let stack = counted.stack_name(&self.schema());
        let over_time = RowsOverTime {
            axis: counted.axis,
            stack: &stack,
            names: &counted.series.names,
            classes: &counted.histogram,
            bands: Some(&counted.bands),
        };
        ViewResult {
            filter: self.schema().written(&view.filter),
            rows: RowCounts { total: counted.rows_total, dropped: counted.rows_dropped },
            lines,
            bytes_sent: counted.sums.all.bytes,
            exact: self.is_exact(counted, unknown),
            time: spreads.time_range(),
            histogram: over_time.histogram(),
            status: status_rows(counted, lines.rejected),
            clients: clients.unwrap_or(Distinct { distinct: 0, exact: is_whole, error: 0.0 }),
            bots,
            people,
            unknown,
            panels,
            facets,
            percentiles: spreads.percentiles(),
            numbers: self.numbers(counted),
            number_facets: self.number_facets(counted),
            week: spreads.week_rows(),
            latency: over_time.latency(),
        }
    }

    /// A range of a panel of a view, with its search.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn panel(
        &self,
        view: &View,
        column: TextColumn,
        wanted: &PanelWanted,
        control: &Control,
    ) -> Result<PanelPage, ViewError> {
        let searched = self.searched(view, column, wanted);
        self.asked(|| {
            if column == TextColumn::URL {
                // Paths and queries of many rows get their codes first.
                self.sums_of(view, control)?;
                return self.urls(view, wanted, control);
            }
            Ok(self.page_of(&*self.sums_of(&searched, control)?, column, wanted))
        })
    }

    /// The rows of a view whose value has the text that is searched for, where texts without a code
    /// may have it: then those with most rows among these are listed.
    fn searched<'a>(&self, view: &'a View, column: TextColumn, wanted: &PanelWanted) -> Cow<'a, View> {
        let (index, derived) = source(column);
        let search = wanted.search.as_deref().filter(|search| !search.is_empty() && derived.is_none());
        let Some(search) = search.filter(|_| self.dictionaries[index].lock().has_groups()) else { return Cow::Borrowed(view) };
        let Ok(pattern) = FilterRegex::new(&format!("(?i-u){}", escaped(search))) else { return Cow::Borrowed(view) };
        let test = Filter::Text(column, TextTest::Matches(pattern));
        Cow::Owned(View { filter: Filter::All(vec![view.filter.clone(), test]), ..view.clone() })
    }

    /// A stretch of the panel of statuses.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn statuses(&self, view: &View, wanted: &PanelWanted, control: &Control) -> Result<PanelPage, ViewError> {
        let counted = self.asked(|| self.sums_of(view, control))?;
        Ok(status_page(&status_rows(&counted, self.outcomes(&counted).rejected), wanted, counted.exact))
    }

    /// True if all counts of a view are exact, in which so many rows are of unknown agents.
    pub(crate) fn is_exact(&self, counted: &CountedViews, unknown: Amounts) -> bool {
        counted.exact && unknown.hits == 0 && !self.dictionaries[AGENT].lock().has_cut()
    }

    fn numbers(&self, counted: &CountedViews) -> Vec<NumberSummary> {
        let schema = self.schema();
        let summary = |(number, spread): (usize, &NumberSpread)| {
            let column = NumberColumn::own(number);
            spread.summary(schema.number_name(column), schema.unit(column))
        };
        counted.spreads.own.iter().enumerate().filter_map(summary).collect()
    }

    pub(crate) fn outcomes(&self, counted: &CountedViews) -> Outcomes {
        let flaws = self.dictionaries[FLAW].lock();
        let of = |kind: u8| -> u64 {
            let of_kind = counted.sums.column(FLAW).iter().filter(|(code, _)| flaws.text(*code).first() == Some(&kind));
            of_kind.map(|(_, amount)| amount.hits).sum()
        };
        let (total, rejected) = (counted.sums.all.hits, of(REJECTED));
        Outcomes { total, parsed: total - rejected, repaired: of(REPAIRED), rejected }
    }

    /// Rows of bots, of people, and of agents that there was no room for, of which nobody knows.
    pub(crate) fn bots(&self, counted: &CountedViews, rejected: u64) -> [Amounts; 3] {
        let agents = self.dictionaries[AGENT].lock();
        let classes = agents.classes(TextColumn::BOT);
        let mut bots = RowsAndBytes::default();
        let of_bots = counted.sums.column(AGENT).iter().filter(|(code, _)| ![NONE, OTHERS].contains(&classes[*code as usize]));
        of_bots.for_each(|(_, amount)| bots.add(amount));
        let (all, mut unknown) = (counted.sums.all, RowsAndBytes::default());
        let of_unknown = counted.sums.column(AGENT).iter().filter(|(code, _)| classes[*code as usize] == OTHERS);
        of_unknown.for_each(|(_, amount)| unknown.add(amount));
        let people = RowsAndBytes {
            hits: all.hits - bots.hits - rejected - unknown.hits,
            bytes: all.bytes.saturating_sub(bots.bytes).saturating_sub(unknown.bytes),
        };
        [bots, people, unknown].map(|RowsAndBytes { hits, bytes }| Amounts { hits, bytes })
    }
}

/// An expression that means this text.
fn escaped(text: &str) -> String {
    text.chars().flat_map(|one| one.is_ascii_punctuation().then_some('\\').into_iter().chain([one])).collect()
}
