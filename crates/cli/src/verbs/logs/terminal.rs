//! The report as text, for looking at.
// Columns and buckets are far below 2^63.
#![allow(clippy::cast_possible_wrap)]

use super::shown;
use super::time::{format, show, show_width};
use anstyle::{AnsiColor, Style};
use rorqual_pipe::format_size;
use rorqual_table::report::{Distinct, Histogram, Panel, Percentiles, Report, Sample, Samples};
use std::io::{self, Write};

const WIDTH_DEFAULT: usize = 100;
const WIDTH_MAX: usize = 160;

/// Rows of the histogram.
const HEIGHT: usize = 8;

/// Columns left of the histogram, for its scale.
const SCALE: usize = 11;

/// Width of the share bars in the tables.
const BAR: usize = 12;

const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const LEFT_EIGHTHS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// Colour by meaning, in the order of the histogram's series.
const CLASS_COLORS: [AnsiColor; 5] =
    [AnsiColor::Cyan, AnsiColor::Blue, AnsiColor::Yellow, AnsiColor::Red, AnsiColor::BrightBlack];

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// Prints the whole report on stdout.
pub(crate) fn print(report: &Report) -> io::Result<()> {
    let width = terminal_size::terminal_size().map_or(WIDTH_DEFAULT, |(width, _)| usize::from(width.0)).clamp(40, WIDTH_MAX);
    let mut text = Vec::new();
    header(&mut text, report)?;
    if let Some(histogram) = &report.histogram {
        plot(&mut text, histogram, width)?;
    }
    status(&mut text, report)?;
    for table in &report.panels {
        panel(&mut text, table, width)?;
    }
    percentiles(&mut text, report)?;
    flawed(&mut text, "Rejected lines", &report.rejects, width)?;
    flawed(&mut text, "Repaired lines", &report.repairs, width)?;
    footer(&mut text, report)?;
    let mut out = anstream::stdout().lock();
    out.write_all(&text)?;
    out.flush()
}

fn header(out: &mut impl Write, report: &Report) -> io::Result<()> {
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
    let mut parts = vec![format!("{} parsed", thousands(lines.parsed))];
    for (count, what) in [
        (lines.repaired, "of them repaired"),
        (lines.rejected, "rejected"),
        (lines.outside, "outside the time span"),
        (lines.blank, "blank"),
    ] {
        if count > 0 {
            parts.push(format!("{} {what}", thousands(count)));
        }
    }
    writeln!(out, "{}", parts.join(", "))?;
    if let Some(time) = report.time {
        writeln!(
            out,
            "{} to {} UTC, {} sent, {} clients",
            show(time.first as i64),
            show(time.last as i64),
            format_size(report.bytes_sent),
            distinct(report.clients)
        )?;
    }
    Ok(())
}

fn plot(out: &mut impl Write, histogram: &Histogram, width: usize) -> io::Result<()> {
    let columns = columns(histogram, width.saturating_sub(SCALE + 1).max(10));
    let highest = columns.iter().map(|column| column.iter().sum::<u64>()).max().unwrap_or(0).max(1);
    let legend: Vec<String> = histogram
        .series
        .iter()
        .zip(CLASS_COLORS)
        .filter(|(series, _)| series.hits.iter().any(|hits| *hits > 0))
        .map(|(series, color)| {
            let style = Style::new().fg_color(Some(color.into()));
            format!("{style}█{style:#} {}", series.class)
        })
        .collect();
    let span = histogram.bucket_seconds * merged(histogram, width.saturating_sub(SCALE + 1).max(10));
    writeln!(out, "\n{BOLD}Requests per {}{BOLD:#}   {}", show_width(span), legend.join("  "))?;
    for row in (0..HEIGHT).rev() {
        let label = if row == HEIGHT - 1 { thousands(highest) } else { String::new() };
        write!(out, "{DIM}{label:>width$}{DIM:#} ", width = SCALE - 1)?;
        let mut line = String::new();
        for column in &columns {
            cell(&mut line, column, row, highest);
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    axis(out, histogram, columns.len(), span)
}

/// How many buckets one column of the plot joins.
fn merged(histogram: &Histogram, columns_max: usize) -> i64 {
    let (Some(first), Some(last)) = (histogram.at.first(), histogram.at.last()) else { return 1 };
    let buckets = (last - first) / histogram.bucket_seconds + 1;
    (buckets as usize).div_ceil(columns_max) as i64
}

fn columns(histogram: &Histogram, columns_max: usize) -> Vec<Vec<u64>> {
    let (Some(&first), Some(&last)) = (histogram.at.first(), histogram.at.last()) else { return Vec::new() };
    let span = histogram.bucket_seconds * merged(histogram, columns_max);
    let count = ((last - first) / span + 1) as usize;
    let mut columns = vec![vec![0; histogram.series.len()]; count];
    for (index, at) in histogram.at.iter().enumerate() {
        let column = &mut columns[((at - first) / span) as usize];
        for (sum, series) in column.iter_mut().zip(&histogram.series) {
            *sum += series.hits[index];
        }
    }
    columns
}

/// One character: how much of this row the column fills, in the colour of the class that fills most of it.
fn cell(line: &mut String, column: &[u64], row: usize, highest: u64) {
    let unit = highest as f64 / HEIGHT as f64;
    let (low, high) = (row as f64 * unit, (row + 1) as f64 * unit);
    let total = column.iter().sum::<u64>() as f64;
    // A column with anything in it shows at least the thinnest block.
    let mut eighths = ((total.min(high) - low) / unit * 8.0).round().max(0.0) as usize;
    if row == 0 && total > 0.0 {
        eighths = eighths.max(1);
    }
    if eighths == 0 {
        line.push(' ');
        return;
    }
    let mut bottom = 0.0;
    let mut best = (0.0, 0);
    for (class, hits) in column.iter().enumerate() {
        let top = bottom + *hits as f64;
        let overlap = top.min(high) - f64::max(bottom, low);
        if overlap > best.0 {
            best = (overlap, class);
        }
        bottom = top;
    }
    let style = Style::new().fg_color(Some(CLASS_COLORS[best.1].into()));
    line.push_str(&format!("{style}{}{style:#}", EIGHTHS[eighths.min(8)]));
}

fn axis(out: &mut impl Write, histogram: &Histogram, columns: usize, span: i64) -> io::Result<()> {
    let Some(&first) = histogram.at.first() else { return Ok(()) };
    let whole = span * columns as i64;
    let pattern = if whole > 3 * 86_400 {
        "%d %b"
    } else if whole > 3 * 3_600 {
        "%d %b %H:%M"
    } else {
        "%H:%M:%S"
    };
    let every = 20;
    let mut line = " ".repeat(SCALE);
    for column in (0..columns).step_by(every) {
        let label = format(first + column as i64 * span, pattern);
        line.push_str(&format!("{:<every$}", format!("╵{label}")));
    }
    writeln!(out, "{DIM}{}{DIM:#}", line.trim_end())
}

fn status(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let total: u64 = report.status.iter().map(|row| row.hits).sum();
    writeln!(out, "\n{BOLD}Status{BOLD:#}")?;
    for row in &report.status {
        let class = match row.value.as_bytes().first() {
            Some(b @ b'2'..=b'5') => usize::from(b - b'2'),
            _ => 4,
        };
        let style = Style::new().fg_color(Some(CLASS_COLORS[class].into()));
        writeln!(out, "{style}{}{style:#}", table_row(row.hits, total, row.bytes, "", &row.value))?;
    }
    Ok(())
}

fn panel(out: &mut impl Write, panel: &Panel, width: usize) -> io::Result<()> {
    write!(out, "\n{BOLD}{}{BOLD:#}  {DIM}{} distinct", panel.title, distinct(panel.distinct))?;
    if !panel.exact {
        write!(out, ", counts marked ≈ may be too low by what is given")?;
    }
    writeln!(out, "{DIM:#}")?;
    for row in &panel.rows {
        let missing =
            if row.hits_max > row.hits { format!("≈ +{}", thousands(row.hits_max - row.hits)) } else { String::new() };
        let value = shown(&row.value, width.saturating_sub(45 + missing.chars().count()).max(20));
        writeln!(out, "{}", table_row(row.hits, panel.hits, row.bytes, &missing, &value))?;
    }
    Ok(())
}

fn table_row(hits: u64, total: u64, bytes: u64, missing: &str, value: &str) -> String {
    let share = hits as f64 / total.max(1) as f64;
    let eighths = (share * BAR as f64 * 8.0).round() as usize;
    let mut bar: String = std::iter::repeat_n('█', (eighths / 8).min(BAR)).collect();
    if eighths / 8 < BAR {
        bar.push(LEFT_EIGHTHS[eighths % 8]);
    }
    format!("{bar:<BAR$} {:>5.1} % {:>11}{missing} {:>9}  {value}", share * 100.0, thousands(hits), format_size(bytes))
}

fn percentiles(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let set = &report.percentiles;
    let rows = [
        ("Response size", &set.bytes, false),
        ("Request time", &set.request_time, true),
        ("Upstream time", &set.upstream_time, true),
    ];
    if rows.iter().all(|(_, spread, _)| spread.is_none()) {
        return Ok(());
    }
    let titles = ["mean", "p50", "p90", "p95", "p99", "max"].map(|title| format!("{title:>10}")).concat();
    writeln!(out, "\n{BOLD}{:<14}{BOLD:#}{DIM}{titles}   percentiles ≈ ±1 %{DIM:#}", "Percentiles")?;
    for (name, spread, is_time) in rows {
        let Some(Percentiles { mean, p50, p90, p95, p99, max, .. }) = spread else { continue };
        let number = |value: &f64| if is_time { seconds(*value) } else { format_size(*value as u64) };
        let cells = [mean, p50, p90, p95, p99, max].map(|value| format!("{:>10}", number(value))).concat();
        writeln!(out, "{name:<14}{cells}")?;
    }
    Ok(())
}

fn flawed(out: &mut impl Write, title: &str, flawed: &Samples, width: usize) -> io::Result<()> {
    if flawed.count == 0 {
        return Ok(());
    }
    writeln!(out, "\n{BOLD}{title}{BOLD:#}  {DIM}{}, for example:{DIM:#}", thousands(flawed.count))?;
    for Sample { source, line, reason, text, .. } in &flawed.samples {
        let place = shown(source, 40);
        writeln!(out, "{place}:{line}: {reason}")?;
        writeln!(out, "  {DIM}{}{DIM:#}", shown(text, width.saturating_sub(2)))?;
    }
    Ok(())
}

fn footer(out: &mut impl Write, report: &Report) -> io::Result<()> {
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

fn distinct(distinct: Distinct) -> String {
    if distinct.exact {
        thousands(distinct.distinct)
    } else {
        format!("≈ {} ±{:.1} %", thousands(distinct.distinct), distinct.error * 100.0)
    }
}

fn seconds(value: f64) -> String {
    match value {
        v if v >= 1.0 => format!("{v:.2} s"),
        v if v >= 1e-3 => format!("{:.1} ms", v * 1e3),
        v => format!("{:.0} µs", v * 1e6),
    }
}

/// `6794000` as `6,794,000`.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_thousands() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (6_794_000, "6,794,000")] {
            assert_eq!(thousands(number), text);
        }
    }

    #[test]
    fn the_highest_column_fills_the_plot_and_a_lonely_hit_shows() {
        let column = |hits| vec![hits, 0, 0, 0, 0];
        let drawn = |hits, row| {
            let mut line = String::new();
            cell(&mut line, &column(hits), row, 8_000);
            anstream::adapter::strip_str(&line).to_string()
        };
        assert_eq!((drawn(8_000, 7), drawn(8_000, 0)), ("█".to_owned(), "█".to_owned()));
        assert_eq!((drawn(1, 0), drawn(1, 1), drawn(0, 0)), ("▁".to_owned(), " ".to_owned(), " ".to_owned()));
    }
}
