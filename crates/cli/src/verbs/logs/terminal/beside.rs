//! Texts beside one another.

use anstream::adapter::strip_str;
use ratatui_core::text::Span;
use std::io::{self, Write};

/// Columns between two texts.
pub(super) const COLUMNS_GAP: usize = 2;

/// From this width on there are two columns of tables.
const TWO_COLUMNS_MIN: usize = 160;

/// Tables beside one another on a terminal of that width.
pub(super) fn columns_of(width: usize) -> usize {
    if width >= TWO_COLUMNS_MIN { 2 } else { 1 }
}

/// Prints texts beside one another, each `width` columns wide.
pub(super) fn print_beside(out: &mut impl Write, texts: &[Vec<u8>], width: usize) -> io::Result<()> {
    let texts: Vec<String> = texts.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect();
    let mut columns: Vec<_> = texts.iter().map(|text| text.lines()).collect();
    let rows = texts.iter().map(|text| text.lines().count()).max().unwrap_or(0);
    for _ in 0..rows {
        let mut line = String::new();
        let mut used = 0;
        for (number, column) in columns.iter_mut().enumerate() {
            let Some(cell) = column.next() else { continue };
            let start = number * (width + COLUMNS_GAP);
            line.push_str(&" ".repeat(start.saturating_sub(used)));
            line.push_str(cell);
            used = used.max(start) + shown_width(cell);
        }
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Columns that a text with styles takes on a terminal.
fn shown_width(text: &str) -> usize {
    Span::raw(strip_str(text).to_string()).width()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stand_in_columns_whatever_their_styles_and_signs() {
        let left = "\u{1b}[1mtitle\u{1b}[0m\nwide 漢字\n".as_bytes().to_vec();
        let right = b"1\n2\n3\n".to_vec();
        let mut out = Vec::new();
        print_beside(&mut out, &[left, right], 10).expect("memory takes it");
        let text = strip_str(std::str::from_utf8(&out).expect("text")).to_string();
        let expected =
            [format!("title{}1", " ".repeat(7)), format!("wide 漢字{}2", " ".repeat(3)), format!("{}3", " ".repeat(12))];
        assert_eq!(text.lines().collect::<Vec<&str>>(), expected);
    }
}
