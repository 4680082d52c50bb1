//! The summary as text, for looking at.

use super::report::{ColumnSummary, SummaryColumn, SummaryReport, TextRow};
use crate::verbs::logs::terminal::{BOLD, DIM, bar, plot, width, write_out};
use crate::verbs::logs::time::show;
use crate::verbs::logs::words::{distinct, shown, thousands};
use crate::verbs::logs::{LogsAnswer, Question, print_asked};
use rorqual_crossfilter::{NumberQuantiles, OwnValue};
use rorqual_pipe::{Control, format_size};
use std::io::{self, Write};

/// Columns of the name of a column.
const NAME_WIDTH_MAX: usize = 60;

pub(super) fn print(report: &SummaryReport, control: &Control) -> io::Result<()> {
    let width = width();
    let mut out = Vec::new();
    head(&mut out, report)?;
    if let Some(histogram) = report.time_histogram() {
        plot(&mut out, "Rows", &histogram, width)?;
    }
    for column in &report.columns {
        of_column(&mut out, column, report.rows.matching, width)?;
    }
    foot(&mut out, report)?;
    write_out(&out, control)
}

pub(super) fn print_answer(
    report: &SummaryReport,
    question: &Question,
    answer: &LogsAnswer,
    control: &Control,
) -> io::Result<()> {
    let mut out = Vec::new();
    head(&mut out, report)?;
    print_asked(&mut out, question, answer, (width(), true))?;
    foot(&mut out, report)?;
    write_out(&out, control)
}

fn head(out: &mut impl Write, report: &SummaryReport) -> io::Result<()> {
    let rows = &report.rows;
    write!(out, "{BOLD}{}{BOLD:#}  {} rows", shown(&report.file, NAME_WIDTH_MAX), thousands(rows.total))?;
    if !report.filter.is_empty() {
        write!(out, ", {} of them meet {}", thousands(rows.matching), shown(&report.filter, 200))?;
    }
    if rows.dropped > 0 {
        write!(out, "; {} more had no room and are not counted", thousands(rows.dropped))?;
    }
    writeln!(out, ", {} columns", thousands(report.columns.len() as u64))?;
    if !report.complete {
        writeln!(out, "not all of the file is in this, as the message says")?;
    }
    if let Some(time) = &report.time {
        let (first, last) = (show(time.span.first.floor() as i64), show(time.span.last.floor() as i64));
        writeln!(out, "{first} to {last} UTC, by {}", shown(&time.column, NAME_WIDTH_MAX))?;
    }
    Ok(())
}

fn of_column(out: &mut impl Write, column: &SummaryColumn, rows: u64, width: usize) -> io::Result<()> {
    write!(out, "\n{BOLD}{}{BOLD:#}  {DIM}", shown(&column.name, NAME_WIDTH_MAX))?;
    let (ColumnSummary::Text { hits, .. } | ColumnSummary::Number { hits, .. }) = &column.values;
    let absent = rows.saturating_sub(*hits);
    match &column.values {
        _ if *hits == 0 => write!(out, "no value{DIM:#}")?,
        ColumnSummary::Text { distinct: known, exact, .. } => {
            write!(out, "{} distinct", distinct(*known))?;
            if !exact {
                write!(out, ", ≈ +N: up to N more")?;
            }
        }
        ColumnSummary::Number { unit, quantiles, quantile_error, .. } => {
            write!(out, "{unit}")?;
            if quantiles.is_some() {
                write!(out, ", p50 to p99 ≈, within {:.1} %", quantile_error * 100.0)?;
            }
        }
    }
    if *hits > 0 {
        if absent > 0 {
            write!(out, ", {} absent ({:.1} %)", thousands(absent), absent as f64 / rows.max(1) as f64 * 100.0)?;
        }
        write!(out, "{DIM:#}")?;
    }
    writeln!(out)?;
    match &column.values {
        ColumnSummary::Text { top, .. } => {
            let most = top.iter().map(|row| row.hits).max().unwrap_or(0).max(1);
            top.iter().try_for_each(|row| text_row(out, row, (rows, most), width))
        }
        ColumnSummary::Number { unit, min: Some(min), max: Some(max), quantiles, .. } => {
            number_row(out, unit, (min, max), quantiles.as_ref())
        }
        ColumnSummary::Number { .. } => Ok(()),
    }
}

fn text_row(out: &mut impl Write, row: &TextRow, (rows, most): (u64, u64), width: usize) -> io::Result<()> {
    let (part, share) = (row.hits as f64 / most as f64, row.hits as f64 / rows.max(1) as f64);
    let missing = if row.hits_max > row.hits { format!(" ≈ +{}", thousands(row.hits_max - row.hits)) } else { String::new() };
    let hits = thousands(row.hits);
    let value = shown(&row.value, width.saturating_sub(36 + missing.chars().count()).max(20));
    writeln!(out, "{} {:>5.1} % {hits:>12}{missing}  {value}", bar(part), share * 100.0)
}

fn number_row(
    out: &mut impl Write,
    unit: &str,
    (min, max): (&OwnValue, &OwnValue),
    quantiles: Option<&NumberQuantiles>,
) -> io::Result<()> {
    let end = |value: &OwnValue| match value {
        OwnValue::Integer(number) if *number < 0 => format!("-{}", thousands(number.unsigned_abs())),
        OwnValue::Integer(number) => thousands(number.unsigned_abs()),
        OwnValue::Natural(number) => thousands(*number),
        OwnValue::Float(number) => number_text(unit, *number),
        OwnValue::Absent | OwnValue::Text(_) => String::new(),
    };
    write!(out, "min {}", end(min))?;
    if let Some(NumberQuantiles { p50, p90, p95, p99 }) = quantiles {
        for (name, number) in [("p50", p50), ("p90", p90), ("p95", p95), ("p99", p99)] {
            write!(out, "  {DIM}{name}{DIM:#} {}", number_text(unit, *number))?;
        }
    }
    writeln!(out, "  {DIM}max{DIM:#} {}", end(max))
}

/// A number as people read it: a whole one with all its digits, another one with six.
fn number_text(unit: &str, number: f64) -> String {
    if unit == "time" {
        return format!("{} UTC", show(number.floor() as i64));
    }
    if number.fract() == 0.0 && number.abs() < 1e15 {
        let digits = thousands(number.abs() as u64);
        return if number < 0.0 { format!("-{digits}") } else { digits };
    }
    let magnitude = number.abs();
    if !(1e-4..1e15).contains(&magnitude) {
        return format!("{number:.5e}");
    }
    let places = (5 - magnitude.log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{number:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn foot(out: &mut impl Write, report: &SummaryReport) -> io::Result<()> {
    let peak = report.peak_bytes.map_or_else(|| "?".to_owned(), format_size);
    writeln!(out, "\n{DIM}{:.2} s, peak memory {peak}{DIM:#}", report.seconds)
}
