//! Answers for programs.

use super::HeldRows;
use super::question::{LogsAnswer, Question};
use rorqual_accesslog::aggregate::{LineCounts, SpanFilter};
use rorqual_accesslog::report::{InputReport, LogReport, ReportSamples, RunStats, TimeSpan};
use rorqual_crossfilter::{Compared, Explained, Rates};
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
    spans: Vec<ShownSpan>,
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

/// In Unix seconds; `null` where it is open.
#[derive(Serialize)]
struct ShownSpan {
    from: Option<f64>,
    to: Option<f64>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ShownAnswer<'a> {
    Explain(&'a Explained),
    Compare(&'a Compared),
    Rates(&'a Rates),
}

pub(super) fn print(
    report: &LogReport,
    question: &Question,
    answer: &LogsAnswer,
    held: HeldRows,
    control: &Control,
) -> io::Result<()> {
    let seconds = |time_us: i64| time_us as f64 / 1e6;
    let shown = |span: SpanFilter| ShownSpan { from: span.since_us.map(seconds), to: span.until_us.map(seconds) };
    let (schema, answer) = match answer {
        LogsAnswer::Explain(explained) => ("rorqual.explain/1", ShownAnswer::Explain(explained)),
        LogsAnswer::Compare(compared) => ("rorqual.compare/1", ShownAnswer::Compare(compared)),
        LogsAnswer::Rates(rates) => ("rorqual.rates/1", ShownAnswer::Rates(rates)),
    };
    let document = Document {
        schema,
        complete: report.complete,
        sources: &report.sources,
        lines: report.lines,
        time: report.time,
        rows: AskedLines { kept: held.rows, dropped: held.dropped, spilled_bytes: held.spilled_bytes },
        spans: question.spans().into_iter().map(shown).collect(),
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
