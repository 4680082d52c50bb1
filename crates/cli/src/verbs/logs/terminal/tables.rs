//! Tables of the most frequent values, two beside one another on a wide terminal.

use super::super::words::{distinct, shown, size, thousands};
use super::beside::{COLUMNS_GAP, columns_of, print_beside};
use super::{BAR, BOLD, CLASS_COLORS, DIM, bar};
use anstyle::Style;
use rorqual_accesslog::report::{LogReport, Panel, ReportRow, StatusRow};
use std::io::{self, Write};

/// Prints the tables of a report, with at most `top` rows of statuses.
pub(super) fn print(out: &mut impl Write, report: &LogReport, top: usize, width: usize) -> io::Result<()> {
    let columns = columns_of(width);
    let table_width = (width - (columns - 1) * COLUMNS_GAP) / columns;
    let mut tables = Vec::new();
    if !report.status.is_empty() {
        let mut table = Vec::new();
        status(&mut table, report, top, table_width)?;
        tables.push(table);
    }
    for values in &report.panels {
        let mut table = Vec::new();
        panel(&mut table, values, table_width)?;
        tables.push(table);
    }
    for beside in tables.chunks(columns) {
        writeln!(out)?;
        print_beside(out, beside, table_width)?;
    }
    Ok(())
}

fn status(out: &mut impl Write, report: &LogReport, top: usize, width: usize) -> io::Result<()> {
    let hits = report.status.iter().map(|row| row.hits).sum();
    writeln!(out, "{BOLD}Status{BOLD:#}  {DIM}{} distinct{DIM:#}", thousands(report.status.len() as u64))?;
    let rows: Vec<_> = report.status.iter().take(top).map(TableRow::of_status).collect();
    table(out, hits, &rows, width)
}

fn panel(out: &mut impl Write, panel: &Panel, width: usize) -> io::Result<()> {
    write!(out, "{BOLD}{}{BOLD:#}  {DIM}{} distinct", panel.title, distinct(panel.distinct))?;
    if !panel.exact {
        write!(out, ", ≈ +N: up to N more")?;
    }
    writeln!(out, "{DIM:#}")?;
    let rows: Vec<_> = panel.rows.iter().map(TableRow::of_panel).collect();
    table(out, panel.hits, &rows, width)
}

struct TableRow<'a> {
    hits: u64,
    /// Number of further hits that there may be.
    missing: u64,
    bytes: u64,
    value: &'a str,
    style: Style,
}

impl<'a> TableRow<'a> {
    fn of_status(row: &'a StatusRow) -> Self {
        let class = match row.value.as_bytes().first() {
            Some(b @ b'2'..=b'5') => usize::from(b - b'2'),
            _ => 4,
        };
        let style = Style::new().fg_color(Some(CLASS_COLORS[class].into()));
        Self { hits: row.hits, missing: 0, bytes: row.bytes, value: &row.value, style }
    }

    fn of_panel(row: &'a ReportRow) -> Self {
        Self { hits: row.hits, missing: row.hits_max - row.hits, bytes: row.bytes, value: &row.value, style: Style::new() }
    }
}

/// Share, hits, bytes and value, in columns as wide as they need to be.
fn table(out: &mut impl Write, total: u64, rows: &[TableRow<'_>], width: usize) -> io::Result<()> {
    let missing = |row: &TableRow<'_>| if row.missing > 0 { format!(" ≈ +{}", thousands(row.missing)) } else { String::new() };
    let widest = |text: &dyn Fn(&TableRow<'_>) -> String| rows.iter().map(|row| text(row).chars().count()).max().unwrap_or(0);
    let hits_width = widest(&|row| thousands(row.hits)).max(11);
    let missing_width = widest(&missing);
    let bytes_width = widest(&|row| size(row.bytes)).max(9);
    let most = rows.iter().map(|row| row.hits).max().unwrap_or(0).max(1);
    let value_width = width.saturating_sub(BAR + 13 + hits_width + missing_width + bytes_width).max(20);
    for row in rows {
        let (part, share) = (row.hits as f64 / most as f64, row.hits as f64 / total.max(1) as f64);
        let (hits, missing, bytes) = (thousands(row.hits), missing(row), size(row.bytes));
        let value = shown(row.value, value_width);
        let style = row.style;
        writeln!(
            out,
            "{style}{:<BAR$} {:>5.1} % {hits:>hits_width$}{missing:<missing_width$} {bytes:>bytes_width$}  {value}{style:#}",
            bar(part),
            share * 100.0
        )?;
    }
    Ok(())
}
