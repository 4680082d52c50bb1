//! The histogram: lines over time, a column of blocks for each stretch of time, and the axis below.
// Columns and buckets are far below 2^63.
#![allow(clippy::cast_possible_wrap)]

use super::{BOLD, CLASS_COLORS, DIM, TEXTURES, has_colours, thousands};
use crate::verbs::logs::columns::{TimeColumns, columns};
use crate::verbs::logs::time::{format, show_width};
use anstyle::Style;
use rorqual_accesslog::report::TimeHistogram;
use std::io::{self, Write};

/// Rows of the histogram.
const HEIGHT: usize = 8;

/// Columns left of the histogram, for its scale.
pub(in super::super) const SCALE: usize = 11;

/// Columns from one label of the axis to the next: a date, a time and a gap.
const LABEL_EVERY: usize = 22;

/// Blocks by their height, in eighths.
pub(crate) const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Half of a row, in eighths.
const HALF: usize = 4;

const MINUTE: i64 = 60;
const DAY: i64 = 86_400;

/// Prints the histogram of `title`, in so many columns.
pub(crate) fn plot(out: &mut impl Write, title: &str, histogram: &TimeHistogram, width: usize) -> io::Result<()> {
    let Some(columns) = columns(histogram, width.saturating_sub(SCALE).max(10)) else { return Ok(()) };
    let highest = columns.hits.iter().map(|column| column.iter().sum::<u64>()).max().unwrap_or(0).max(1);
    let counted = histogram.series.iter().enumerate().filter(|(_, series)| series.hits.iter().any(|hits| *hits > 0));
    let counted: Vec<_> = counted.collect();
    // One class needs no sign of its own, and keeps its finer steps.
    let has_textures = !has_colours() && counted.len() > 1;
    let sign = |class: usize| if has_textures { TEXTURES[class] } else { '█' };
    let legend = counted.iter().map(|(class, series)| {
        let style = style_of(*class);
        format!("{style}{}{style:#} {}", sign(*class), series.class)
    });
    let legend: Vec<String> = legend.collect();
    writeln!(out, "\n{BOLD}{title} per {}{BOLD:#}   {}", show_width(columns.span), legend.join("  "))?;
    for row in (0..HEIGHT).rev() {
        let label = if row == HEIGHT - 1 { thousands(highest) } else { String::new() };
        write!(out, "{DIM}{label:>width$}{DIM:#} ", width = SCALE - 1)?;
        let mut line = String::new();
        for column in &columns.hits {
            cell(&mut line, column, (row, has_textures), highest);
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    let axis = axis(&columns, width);
    writeln!(out, "{DIM}{axis}{DIM:#}")
}

fn style_of(class: usize) -> Style {
    Style::new().fg_color(Some(CLASS_COLORS[class].into()))
}

/// One character: how much of this row the column fills, in the colour of the class that fills most
/// of it. Without colours it is that class's block, where at least half of the row is filled.
fn cell(line: &mut String, column: &[u64], (row, has_textures): (usize, bool), highest: u64) {
    match filled(column, (row, HEIGHT), highest) {
        Some((eighths, class)) if !has_textures => {
            let style = style_of(class);
            line.push_str(&format!("{style}{}{style:#}", EIGHTHS[eighths]));
        }
        Some((eighths, class)) if row == 0 || eighths >= HALF => line.push(TEXTURES[class]),
        _ => line.push(' '),
    }
}

/// Eighths of a row that a column fills, of as many rows, and the class that fills most of them;
/// `None` where there is nothing.
pub(in super::super) fn filled(column: &[u64], (row, rows): (usize, usize), highest: u64) -> Option<(usize, usize)> {
    let unit = highest as f64 / rows as f64;
    let (low, high) = (row as f64 * unit, (row + 1) as f64 * unit);
    let total = column.iter().sum::<u64>() as f64;
    // A column with anything in it shows at least the thinnest block.
    let mut eighths = ((total.min(high) - low) / unit * 8.0).round().max(0.0) as usize;
    if row == 0 && total > 0.0 {
        eighths = eighths.max(1);
    }
    if eighths == 0 {
        return None;
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
    Some((eighths.min(8), best.1))
}

/// A label below every 22nd column, with as much of the date as tells it from its neighbours; no
/// label is cut.
pub(in super::super) fn axis(columns: &TimeColumns, width: usize) -> String {
    let step = columns.span * LABEL_EVERY as i64;
    let mut line = " ".repeat(SCALE);
    for column in (0..columns.hits.len()).step_by(LABEL_EVERY) {
        let is_first = column == 0;
        let label = format!("╵{}", format(columns.start + column as i64 * columns.span, pattern(step, is_first)));
        if is_first || SCALE + column + label.chars().count() <= width {
            let padding = (SCALE + column).saturating_sub(line.chars().count());
            line.push_str(&" ".repeat(padding));
            line.push_str(&label);
        }
    }
    line
}

fn pattern(step: i64, is_first: bool) -> &'static str {
    match step {
        step if step >= 366 * DAY => "%Y",
        step if step >= 31 * DAY => "%Y-%m",
        step if step >= 7 * DAY || step % DAY == 0 => "%Y-%m-%d",
        step if step >= 20 * MINUTE => "%Y-%m-%d %H:%M",
        _ if is_first => "%Y-%m-%d %H:%M:%S",
        _ => "%H:%M:%S",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rorqual_accesslog::report::ReportSeries;

    fn histogram(bucket_seconds: i64, at: Vec<i64>) -> TimeHistogram {
        let series = vec![ReportSeries { class: "2xx", hits: vec![1; at.len()] }];
        TimeHistogram { bucket_seconds, finest_seconds: 1, at, series }
    }

    #[test]
    fn the_highest_column_fills_the_plot_and_a_lonely_hit_shows() {
        let column = |hits| vec![hits, 0, 0, 0, 0];
        let drawn = |hits, row| {
            let mut line = String::new();
            cell(&mut line, &column(hits), (row, false), 8_000);
            anstream::adapter::strip_str(&line).to_string()
        };
        assert_eq!((drawn(8_000, 7), drawn(8_000, 0)), ("█".to_owned(), "█".to_owned()));
        assert_eq!((drawn(1, 0), drawn(1, 1), drawn(0, 0)), ("▁".to_owned(), " ".to_owned(), " ".to_owned()));
    }

    #[test]
    fn without_colours_a_cell_is_the_block_of_its_class() {
        let drawn = |column: &[u64], row| {
            let mut line = String::new();
            cell(&mut line, column, (row, true), 8_000);
            line
        };
        assert_eq!((drawn(&[6_000, 0, 0, 2_000, 0], 0), drawn(&[6_000, 0, 0, 2_000, 0], 7)), ("░".to_owned(), "█".to_owned()));
        assert_eq!((drawn(&[0, 0, 1, 0, 0], 0), drawn(&[0, 0, 1_300, 0, 0], 1)), ("▓".to_owned(), " ".to_owned()));
    }

    #[test]
    fn any_stretch_of_time_fits_with_labels_that_differ() {
        // From two seconds to all that a calendar has, from 1990 on and from its start.
        for start in [631_152_000, -62_135_596_800] {
            for exponent in 1..=38 {
                let end: i64 = (start + (1i64 << exponent)).min(253_402_300_799);
                let histogram = histogram(1, vec![start, end]);
                for width in [40, 80, 200] {
                    let columns = columns(&histogram, width - SCALE).expect("it has buckets");
                    let count = columns.hits.len();
                    assert!(count <= width - SCALE && count > 1, "{count} columns of {} s", columns.span);
                    assert_eq!(columns.hits.iter().flatten().sum::<u64>(), 2);
                    let axis = axis(&columns, width);
                    assert!(axis.chars().count() <= width, "{axis}");
                    let mut labels: Vec<&str> = axis.split('╵').skip(1).map(str::trim).collect();
                    let all = labels.len();
                    labels.dedup();
                    assert_eq!(labels.len(), all, "{axis}");
                    assert!(labels[0].len() >= 4 && !labels[0].contains('?'), "the year is told: {axis}");
                }
            }
        }
    }
}
