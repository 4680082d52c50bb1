//! Answers for programs.

use super::Held;
use super::question::{Answer, Question};
use rorqual_accesslog::aggregate::{LineCounts, Span};
use rorqual_accesslog::report::{Report, RunStats, Samples, Source, TimeSpan};
use rorqual_crossfilter::{Compared, Explained, Rates};
use rorqual_pipe::Control;
use rorqual_pipe::gather::Output;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    complete: bool,
    sources: &'a [Source],
    lines: LineCounts,
    time: Option<TimeSpan>,
    rows: Rows,
    /// What was asked about, in the order of the flag.
    spans: Vec<ShownSpan>,
    seconds: f64,
    answer: ShownAnswer<'a>,
    rejects: &'a Samples,
    stats: &'a RunStats,
}

/// Lines that could be asked, and those there was no room for.
#[derive(Serialize)]
struct Rows {
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

pub(super) fn print(report: &Report, question: &Question, answer: &Answer, held: Held, control: &Control) -> io::Result<()> {
    let seconds = |time_us: i64| time_us as f64 / 1e6;
    let shown = |span: Span| ShownSpan { from: span.since_us.map(seconds), to: span.until_us.map(seconds) };
    let (schema, answer) = match answer {
        Answer::Explain(explained) => ("rorqual.explain/1", ShownAnswer::Explain(explained)),
        Answer::Compare(compared) => ("rorqual.compare/1", ShownAnswer::Compare(compared)),
        Answer::Rates(rates) => ("rorqual.rates/1", ShownAnswer::Rates(rates)),
    };
    let document = Document {
        schema,
        complete: report.complete,
        sources: &report.sources,
        lines: report.lines,
        time: report.time,
        rows: Rows { kept: held.rows, dropped: held.dropped, spilled_bytes: held.spilled_bytes },
        spans: question.spans().into_iter().map(shown).collect(),
        seconds: held.seconds,
        answer,
        rejects: &report.rejects,
        stats: &report.stats,
    };
    let mut out = io::BufWriter::new(Output::stdout(control)?);
    serde_json::to_writer(&mut out, &document)?;
    out.write_all(b"\n")?;
    out.flush()
}
