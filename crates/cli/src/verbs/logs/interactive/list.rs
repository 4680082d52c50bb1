//! Lists of answers to act on: explanations, findings, metrics, readings of a typed text.

use super::question::{ScreenAnswer, ScreenQuestion};
use crate::verbs::logs::explore::{cell, percent, times};
use crate::verbs::logs::time::show;
use crate::verbs::logs::words::thousands;
use rorqual_crossfilter::{Breakdown, BreakdownMetric, Explained, Finding, Suggestion, Suggestions, UnusualSpan, UnusualSpans};

/// Metrics of a value that a list shows, by which it can be put in order.
pub(super) const METRICS: [BreakdownMetric; 6] = [
    BreakdownMetric::Hits,
    BreakdownMetric::Errors,
    BreakdownMetric::ErrorRate,
    BreakdownMetric::P95,
    BreakdownMetric::Bytes,
    BreakdownMetric::Clients,
];

/// Companions that a finding names.
const COMPANIONS: usize = 4;

/// An entry of a list.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ListEntry {
    pub(super) text: String,
    pub(super) detail: String,
    /// Filter that Enter takes; empty where it is a span alone.
    pub(super) filter: String,
    /// Span that Enter goes to, in Unix seconds.
    pub(super) span: Option<(i64, i64)>,
}

/// A list that is asked for, or there.
#[derive(Debug)]
pub(super) struct AnswerList {
    pub(super) title: String,
    pub(super) question: ScreenQuestion,
    /// A heading and entries, or the reason for which there are none; `None` until they come.
    pub(super) entries: Option<Vec<ListEntry>>,
    pub(super) heading: String,
    pub(super) note: String,
    pub(super) cursor: usize,
}

impl AnswerList {
    pub(super) fn new(title: String, question: ScreenQuestion) -> Self {
        Self { title, question, entries: None, heading: String::new(), note: "asking …".to_owned(), cursor: 0 }
    }

    pub(super) fn step(&mut self, by: isize) {
        let last = self.entries.as_ref().map_or(0, |entries| entries.len().saturating_sub(1));
        self.cursor = self.cursor.saturating_add_signed(by).min(last);
    }

    pub(super) fn entry(&self) -> Option<&ListEntry> {
        self.entries.as_ref()?.get(self.cursor)
    }

    pub(super) fn failed(&mut self, reason: String) {
        (self.entries, self.note) = (Some(Vec::new()), reason);
    }

    pub(super) fn answered(&mut self, answer: ScreenAnswer) {
        let (entries, note) = match answer {
            ScreenAnswer::Explained(explained) => explanation(&explained),
            ScreenAnswer::Findings(found) => findings(&found),
            ScreenAnswer::Suggested(suggestions) => readings(&suggestions),
            ScreenAnswer::Metrics(breakdown) => {
                self.heading = headings(&breakdown);
                metrics(&breakdown)
            }
            _ => return,
        };
        (self.entries, self.note, self.cursor) = (Some(entries), note, 0);
    }
}

fn explanation(explained: &Explained) -> (Vec<ListEntry>, String) {
    let Explained { rows_in, rows_out, tried, findings, .. } = explained;
    let lines = format!("{} lines, {} in the rest", thousands(*rows_in), thousands(*rows_out));
    let note = match (rows_in, rows_out) {
        (0, _) => "No line is in this span.".to_owned(),
        (_, 0) => "All lines are in this span: there are no others to compare it with.".to_owned(),
        _ if findings.is_empty() => format!("{lines}. Nothing stands out, of {} values and pairs.", thousands(*tried as u64)),
        _ => format!("{lines}; {} values and pairs tried, the strongest evidence first", thousands(*tried as u64)),
    };
    (findings.iter().map(explained_entry).collect(), note)
}

fn explained_entry(finding: &Finding) -> ListEntry {
    let Finding { filter, share_in, share_out, ratio, hits_in, companions, .. } = finding;
    let shares = format!("{} of the span, {} of the rest ({})", percent(*share_in), percent(*share_out), times(*ratio));
    let with = match companions.get(..COMPANIONS.min(companions.len())) {
        Some([]) | None => String::new(),
        Some(some) => {
            let more = if companions.len() > some.len() { ", …" } else { "" };
            format!("; with {}{more}", some.join(", "))
        }
    };
    let detail = format!("{shares}, {} lines{with}", thousands(*hits_in));
    ListEntry { text: filter.clone(), detail, filter: filter.clone(), span: None }
}

fn findings(found: &UnusualSpans) -> (Vec<ListEntry>, String) {
    let note = match (found.tried, found.spans.len()) {
        (0, _) => "Nothing to tell by: there are too few lines, or too short a time.".to_owned(),
        (tried, 0) => format!("Nothing unusual, in {} windows of time.", thousands(tried as u64)),
        (tried, _) => format!("{} windows of time tried, the most unusual first", thousands(tried as u64)),
    };
    (found.spans.iter().map(unusual_entry).collect(), note)
}

fn unusual_entry(span: &UnusualSpan) -> ListEntry {
    let detail = format!("{} to {}  {}", show(span.from), show(span.to), span.filter);
    ListEntry { text: span.text.clone(), detail, filter: span.filter.clone(), span: Some((span.from, span.to)) }
}

fn readings(suggestions: &Suggestions) -> (Vec<ListEntry>, String) {
    let note = match &suggestions.error {
        _ if suggestions.rows.iter().any(|reading| reading.hits > 0) => "Enter takes a reading".to_owned(),
        Some(error) => error.to_string(),
        None => "No line has it.".to_owned(),
    };
    (suggestions.rows.iter().map(reading_entry).collect(), note)
}

fn reading_entry(reading: &Suggestion) -> ListEntry {
    let sure = if reading.exact { "" } else { "at least " };
    let seconds = |time: f64| time.floor() as i64;
    let span = reading.from.zip(reading.to).map(|(from, to)| (seconds(from), to.ceil() as i64));
    let meant = if reading.filter.is_empty() { String::new() } else { format!("  {}", reading.filter) };
    let detail = format!("{sure}{} lines{meant}", thousands(reading.hits));
    ListEntry { text: reading.label.clone(), detail, filter: reading.filter.clone(), span }
}

/// Metrics that these rows have.
fn shown_metrics(breakdown: &Breakdown) -> Vec<BreakdownMetric> {
    let has = |metric: &BreakdownMetric| {
        *metric == breakdown.sort || breakdown.values.iter().any(|value| cell(value, *metric, unit(breakdown)).is_some())
    };
    METRICS.into_iter().filter(has).collect()
}

fn unit(breakdown: &Breakdown) -> &str {
    breakdown.measure.as_ref().map_or("", |measure| measure.unit)
}

fn headings(breakdown: &Breakdown) -> String {
    let heading = |metric: BreakdownMetric| {
        let mark = if metric == breakdown.sort { "▾" } else { "" };
        format!("{:>11}", format!("{}{mark}", metric.name()))
    };
    shown_metrics(breakdown).into_iter().map(heading).collect()
}

fn metrics(breakdown: &Breakdown) -> (Vec<ListEntry>, String) {
    let shown = shown_metrics(breakdown);
    let entry = |value: &rorqual_crossfilter::BreakdownValue| {
        let cells = shown.iter().map(|metric| cell(value, *metric, unit(breakdown)).unwrap_or_else(|| "-".to_owned()));
        let cells: String = cells.map(|cell| format!("{cell:>11}")).collect();
        ListEntry { text: format!("{cells}  {}", value.value), detail: String::new(), filter: value.filter.clone(), span: None }
    };
    let entries: Vec<ListEntry> = breakdown.values.iter().map(entry).collect();
    let note = match breakdown.ranked {
        _ if entries.is_empty() => "No line has a value.".to_owned(),
        Some(ranked) => format!("Ranked: the {} values with most lines.", thousands(ranked)),
        None => "s puts them in order by the next metric".to_owned(),
    };
    (entries, note)
}
