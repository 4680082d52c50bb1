//! Answers for programs.

use super::HeldRows;
use super::question::{LogsAnswer, Question, SpanSeconds};
use rorqual_accesslog::aggregate::LineCounts;
use rorqual_accesslog::report::{InputReport, LogReport, ReportSamples, RunStats, TimeSpan};
use rorqual_crossfilter::{Breakdown, Compared, Explained, Rates, UnusualSpans};
use rorqual_pipe::Control;
use rorqual_pipe::gather::OutputFd;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    complete: bool,
    sources: &'a [InputReport],
    lines: LineCounts,
    time: Option<TimeSpan>,
    rows: AskedLines,
    /// Spans of the question, in the order of the flag.
    spans: Vec<SpanSeconds>,
    seconds: f64,
    answer: ShownAnswer<'a>,
    rejects: &'a ReportSamples,
    stats: &'a RunStats,
}

/// Lines that could be asked, and those there was no room for.
#[derive(Serialize)]
struct AskedLines {
    kept: u64,
    dropped: u64,
    spilled_bytes: u64,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ShownAnswer<'a> {
    Findings(&'a UnusualSpans),
    Explain(&'a Explained),
    Compare(&'a Compared),
    Rates(&'a Rates),
    Breakdown(&'a Breakdown),
}

pub(super) fn print(
    report: &LogReport,
    question: &Question,
    answer: &LogsAnswer,
    held: HeldRows,
    control: &Control,
) -> io::Result<()> {
    let (schema, answer) = match answer {
        LogsAnswer::Findings(found) => ("rorqual.findings/1", ShownAnswer::Findings(found)),
        LogsAnswer::Explain(explained) => ("rorqual.explain/1", ShownAnswer::Explain(explained)),
        LogsAnswer::Compare(compared) => ("rorqual.compare/1", ShownAnswer::Compare(compared)),
        LogsAnswer::Rates(rates) => ("rorqual.rates/1", ShownAnswer::Rates(rates)),
        LogsAnswer::Breakdown(breakdown) => ("rorqual.breakdown/1", ShownAnswer::Breakdown(breakdown)),
    };
    let document = Document {
        schema,
        complete: report.complete,
        sources: &report.sources,
        lines: report.lines,
        time: report.time,
        rows: AskedLines { kept: held.rows, dropped: held.dropped, spilled_bytes: held.spilled_bytes },
        spans: question.time_spans(),
        seconds: held.seconds,
        answer,
        rejects: &report.rejects,
        stats: &report.stats,
    };
    let mut out = io::BufWriter::new(OutputFd::stdout(control)?);
    serde_json::to_writer(&mut out, &document)?;
    out.write_all(b"\n")?;
    out.flush()
}
