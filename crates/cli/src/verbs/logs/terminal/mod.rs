//! The report as text, for looking at.

mod beside;
mod plot;
mod tables;

pub(crate) use plot::{EIGHTHS, plot};
pub(super) use plot::{SCALE, axis, filled};

use super::time::show;
use super::words::{distinct, seconds, shown, size, thousands};
use anstream::adapter::strip_bytes;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use rorqual_accesslog::report::{LogReport, NoteSample, Percentiles, ReportSamples};
use rorqual_pipe::gather::OutputFd;
use rorqual_pipe::{Control, format_size};
use std::io::{self, Write};

const WIDTH_DEFAULT: usize = 100;
const WIDTH_MIN: usize = 40;
const WIDTH_MAX: usize = 160;

/// Columns of a report at most: two tables beside one another.
const REPORT_WIDTH_MAX: usize = 240;

/// Width of the share bars in the tables.
const BAR: usize = 12;

const LEFT_EIGHTHS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// Colour by meaning, in the order of the histogram's series.
const CLASS_COLORS: [AnsiColor; 5] =
    [AnsiColor::Cyan, AnsiColor::Blue, AnsiColor::Yellow, AnsiColor::Red, AnsiColor::BrightBlack];

/// Blocks of classes where there are no colours, in the same order.
pub(super) const TEXTURES: [char; 5] = ['░', '▒', '▓', '█', '╳'];

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();

/// Prints the whole report on stdout, with at most `top` rows in each table.
pub(crate) fn print(report: &LogReport, top: usize, control: &Control) -> io::Result<()> {
    let width = width_within(REPORT_WIDTH_MAX);
    let mut text = Vec::new();
    header(&mut text, report)?;
    if let Some(histogram) = &report.histogram {
        plot(&mut text, "Requests", histogram, width)?;
    }
    tables::print(&mut text, report, top, width)?;
    percentiles(&mut text, report)?;
    flawed(&mut text, "Rejected lines", &report.rejects, width)?;
    flawed(&mut text, "Repaired lines", &report.repairs, width)?;
    footer(&mut text, report)?;
    write_out(&text, control)
}

/// Prints text on stdout, with styles where they are seen.
pub(crate) fn write_out(text: &[u8], control: &Control) -> io::Result<()> {
    let mut out = OutputFd::stdout(control)?;
    if has_colours() { out.write_all(text) } else { out.write_all(&strip_bytes(text).into_vec()) }
}

/// True if styles are seen on stdout: it is a terminal, and nothing says otherwise.
fn has_colours() -> bool {
    AutoStream::choice(&io::stdout()) != ColorChoice::Never
}

/// The terminal's width, or the one of the environment.
pub(crate) fn width() -> usize {
    width_within(WIDTH_MAX)
}

fn width_within(most: usize) -> usize {
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal.or_else(told).unwrap_or(WIDTH_DEFAULT).clamp(WIDTH_MIN, most)
}

pub(super) fn header(out: &mut impl Write, report: &LogReport) -> io::Result<()> {
    for source in &report.sources {
        let format = source.format.as_deref().unwrap_or("-");
        let name = shown(&source.name, 60);
        writeln!(out, "{BOLD}{name}{BOLD:#}  {format}  {}  {} lines", format_size(source.bytes), thousands(source.lines))?;
        if let Some(error) = &source.error {
            let error = shown(error, 200);
            writeln!(out, "  {error}")?;
        }
    }
    let lines = &report.lines;
    if lines.total == 0 {
        return writeln!(out, "no lines");
    }
    let mut parts = vec![format!("{} parsed", thousands(lines.parsed))];
    for (count, what) in [
        (lines.repaired, "of them repaired"),
        (lines.rejected, "rejected"),
        (lines.pieces, "of them pieces of lines that the container's runtime cut"),
        (lines.outside, "outside the time span"),
        (lines.filtered, "left out by --where"),
        (lines.blank, "blank"),
    ] {
        if count > 0 {
            parts.push(format!("{} {what}", thousands(count)));
        }
    }
    writeln!(out, "{}", parts.join(", "))?;
    if let Some(time) = report.time {
        // A sum of nothing is not 0 bytes.
        let sent =
            report.percentiles.bytes.map_or_else(|| "sizes unknown".to_owned(), |_| format!("{} sent", size(report.bytes_sent)));
        let clients = match report.clients.distinct {
            0 => "clients unknown".to_owned(),
            1 => format!("{} client", distinct(report.clients)),
            _ => format!("{} clients", distinct(report.clients)),
        };
        writeln!(out, "{} to {} UTC, {sent}, {clients}", show(time.first as i64), show(time.last as i64))?;
    }
    Ok(())
}

/// A bar of so much of its whole width, which the highest of a table fills.
pub(crate) fn bar(part: f64) -> String {
    let eighths = (part * BAR as f64 * 8.0).round() as usize;
    let mut bar: String = std::iter::repeat_n('█', (eighths / 8).min(BAR)).collect();
    if eighths / 8 < BAR {
        bar.push(LEFT_EIGHTHS[eighths % 8]);
    }
    bar
}

/// The highest share of a table, for bars that are parts of it.
pub(crate) fn highest_share(shares: impl Iterator<Item = f64>) -> f64 {
    let highest = shares.fold(0.0, f64::max);
    if highest > 0.0 { highest } else { 1.0 }
}

fn percentiles(out: &mut impl Write, report: &LogReport) -> io::Result<()> {
    let set = &report.percentiles;
    let mut rows = vec![["", "mean", "p50", "p90", "p95", "p99", "max"].map(str::to_owned)];
    for (name, spread, is_time) in [
        ("Response size", &set.bytes, false),
        ("Request time", &set.request_time, true),
        ("Upstream time", &set.upstream_time, true),
    ] {
        let Some(Percentiles { mean, p50, p90, p95, p99, max, .. }) = spread else { continue };
        let number = |value: &f64| if is_time { seconds(*value) } else { format_size(*value as u64) };
        rows.push([name.to_owned(), number(mean), number(p50), number(p90), number(p95), number(p99), number(max)]);
    }
    if rows.len() == 1 {
        return Ok(());
    }
    writeln!(out, "\n{BOLD}Percentiles{BOLD:#}  {DIM}p50 to p99 ≈, at most 1 % too high{DIM:#}")?;
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (1..rows[0].len()).map(|column| width(column) + 2).collect();
    for (index, row) in rows.iter().enumerate() {
        let style = if index == 0 { DIM } else { Style::new() };
        let cells = row[1..].iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
        writeln!(out, "{style}{:<13}{}{style:#}", row[0], cells.collect::<String>())?;
    }
    Ok(())
}

fn flawed(out: &mut impl Write, title: &str, flawed: &ReportSamples, width: usize) -> io::Result<()> {
    if flawed.count == 0 {
        return Ok(());
    }
    writeln!(out, "\n{BOLD}{title}{BOLD:#}  {DIM}{}, for example:{DIM:#}", thousands(flawed.count))?;
    for NoteSample { source, line, reason, text, .. } in &flawed.samples {
        let place = shown(source, 40);
        writeln!(out, "{place}:{line}: {reason}")?;
        writeln!(out, "  {DIM}{}{DIM:#}", shown(text, width.saturating_sub(2)))?;
    }
    Ok(())
}

pub(super) fn footer(out: &mut impl Write, report: &LogReport) -> io::Result<()> {
    let stats = &report.stats;
    let peak = stats.peak_bytes.map_or_else(|| "?".to_owned(), format_size);
    writeln!(
        out,
        "\n{DIM}{} in {:.2} s, {}/s, {} threads, peak memory {peak} of {}{DIM:#}",
        format_size(stats.bytes),
        stats.seconds,
        format_size(stats.bytes_per_second as u64),
        stats.threads,
        format_size(stats.memory_max_bytes)
    )
}
