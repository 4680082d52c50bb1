//! Answers of `rorqual logs --explain`, `--compare` and `--by` about a file that is no access log.

use super::report::SummaryReport;
use super::{print_json, terminal};
use crate::exit::ExitStatus;
use crate::message;
use crate::verbs::logs::{HtmlPage, LogsAnswer, Question, SpanSeconds};
use rorqual_crossfilter::{Breakdown, Compared, Explained, RowStore, View, ViewError};
use rorqual_pipe::Control;
use serde::Serialize;

#[derive(Serialize)]
struct TableDocument<'a> {
    schema: &'static str,
    complete: bool,
    file: &'a str,
    #[serde(rename = "where")]
    filter: &'a str,
    rows: &'a super::report::SummaryRows,
    /// Spans of the question, in the order of the flag.
    spans: Vec<SpanSeconds>,
    answer: TableAnswer<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum TableAnswer<'a> {
    Explain(&'a Explained),
    Compare(&'a Compared),
    Breakdown(&'a Breakdown),
}

/// Asks, and prints the answer.
pub(super) fn print(
    question: &Question,
    report: &SummaryReport,
    (store, view): (&RowStore, &View),
    (json, top): (bool, u16),
    page: Option<HtmlPage>,
    control: &Control,
) -> Result<ExitStatus, ViewError> {
    let answer = question.ask_within(view, store, usize::from(top), control)?;
    if !answer.exact() {
        message::note(&"some values had no room in --memory and were not looked at one by one; more --memory has room for them");
    }
    let time = report.time.as_ref().map(|time| (time.span.first, time.span.last));
    let exit = question
        .unanswerable_of(&answer, time, (report.rows.matching, report.rows.dropped))
        .map_or(ExitStatus::Done, |error| message::error(&error));
    let (schema, shown) = match &answer {
        LogsAnswer::Explain(explained) => ("rorqual.explain/1", TableAnswer::Explain(explained)),
        LogsAnswer::Compare(compared) => ("rorqual.compare/1", TableAnswer::Compare(compared)),
        LogsAnswer::Breakdown(breakdown) => ("rorqual.breakdown/1", TableAnswer::Breakdown(breakdown)),
        // Refused before: a table has no clients, and no statuses.
        LogsAnswer::Rates(_) | LogsAnswer::Findings(_) => return Ok(exit),
    };
    let printed = if json {
        let document = TableDocument {
            schema,
            complete: report.complete,
            file: &report.file,
            filter: &report.filter,
            rows: &report.rows,
            spans: question.time_spans(),
            answer: shown,
        };
        print_json(&document, control)
    } else if page.is_some() {
        Ok(())
    } else {
        terminal::print_answer(report, question, &answer, control)
    };
    let exit = printed.map_or_else(|error| message::print_error(&error), |()| exit);
    let (Some(page), LogsAnswer::Breakdown(breakdown)) = (page, &answer) else { return Ok(exit) };
    Ok(exit.max(page.finish_table(report, Some(breakdown), top, control)))
}
