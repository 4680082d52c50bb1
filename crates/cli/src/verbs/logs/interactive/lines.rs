//! The lines of the place, and the cursor among them.

use super::layout::scrolled;
use super::order::LineOrder;
use super::question::{FindQuestion, LineOrderNote, LineTarget, LinesQuestion, ScreenQuestion};
use crate::verbs::logs::words::shown;
use ratatui_core::text::Span;
use rorqual_accesslog::filter::{Filter, FilterRegex, TextTest};
use rorqual_accesslog::schema::NumberColumn;
use rorqual_accesslog::suggest::in_any_case;
use rorqual_crossfilter::{PageRow, RowPage, View};
use std::ops::Range;

/// Columns that the text is moved by.
const SHIFT: usize = 20;

/// Lines of the place.
#[derive(Debug, Default)]
pub(super) struct LinesScreen {
    /// The question that the page answers.
    pub(super) question: Option<ScreenQuestion>,
    pub(super) page: Option<RowPage>,
    /// First line on the screen, and the line of the cursor.
    pub(super) first: u64,
    pub(super) cursor: u64,
    /// Order of the lines; `None` is that of the log.
    pub(super) order: Option<LineOrder>,
    /// The order of the page.
    pub(super) note: LineOrderNote,
    /// Characters left of the screen.
    pub(super) shift: usize,
    /// Long lines go on in the next rows.
    pub(super) is_wrapped: bool,
    /// Text that is looked for.
    pub(super) text: Option<String>,
    pub(super) finding: Option<FindQuestion>,
    pub(super) history: Vec<String>,
    /// Columns that lines were sorted by.
    pub(super) sorts: Vec<String>,
}

impl LinesScreen {
    /// Lines there are, as far as it is known.
    pub(super) fn total(&self) -> u64 {
        self.page.as_ref().map_or(0, |page| page.total)
    }

    /// Goes to the first line of another place.
    pub(super) fn reset(&mut self) {
        (self.first, self.cursor, self.shift) = (0, 0, 0);
        self.finding = None;
    }

    /// The question that the screen needs.
    pub(super) fn need(&self, view: &View, height: usize, tick: u64) -> Option<ScreenQuestion> {
        if let Some(finding) = &self.finding {
            return Some(ScreenQuestion::Find(finding.clone()));
        }
        let (view, order) = (view.clone(), self.order.clone());
        let wanted = ScreenQuestion::Lines(LinesQuestion { view, order, offset: self.first, limit: height, tick });
        (self.question.as_ref() != Some(&wanted)).then_some(wanted)
    }

    pub(super) fn answered(&mut self, question: ScreenQuestion, page: RowPage, note: LineOrderNote) {
        (self.question, self.note) = (Some(question), note);
        self.cursor = self.cursor.min(page.total.saturating_sub(1));
        self.page = Some(page);
    }

    /// The line that was found, or none.
    pub(super) fn found(&mut self, row: Option<u64>, height: usize) {
        self.finding = None;
        if let Some(row) = row {
            self.go(row, height);
        }
    }

    /// Puts the cursor on a line.
    pub(super) fn go(&mut self, row: u64, height: usize) {
        let total = self.total();
        self.cursor = if total == 0 { row } else { row.min(total - 1) };
        self.first = scrolled(self.first as usize, self.cursor as usize, height) as u64;
    }

    pub(super) fn step(&mut self, by: i64, height: usize) {
        self.go(self.cursor.saturating_add_signed(by), height);
    }

    /// Goes on by a screen.
    pub(super) fn turn(&mut self, by: i64, (width, height): (usize, usize)) {
        if self.is_wrapped {
            return self.turn_wrapped(by, (width, height));
        }
        let last = self.total().saturating_sub(height as u64);
        let by = by * height.cast_signed() as i64;
        self.first = self.first.saturating_add_signed(by).min(last);
        self.step(by, height);
    }

    /// The same where lines take several rows: to the line after the last on the screen, or with
    /// the line before the first at its end.
    fn turn_wrapped(&mut self, by: i64, (width, height): (usize, usize)) {
        let Some(shown) = self.shown_wrapped(width, height) else { return };
        if by > 0 {
            self.first = shown.end.min(self.total().saturating_sub(1));
            self.go(self.first, height);
        } else {
            self.first = shown.start.saturating_sub(height as u64);
            self.go(shown.start.saturating_sub(1), height);
        }
    }

    /// Lines on a screen of so many rows, on which the line of the cursor is whole unless it is
    /// higher; the last may be cut.
    pub(super) fn shown_wrapped(&self, width: usize, height: usize) -> Option<Range<u64>> {
        let page = self.page.as_ref()?;
        let rows_of = |line: &u64| {
            let row = line.checked_sub(page.offset).and_then(|place| page.rows.get(place as usize));
            row.map_or(1, |row| wrapped_rows(&row.line, width, height).len())
        };
        let mut start = self.first;
        let mut rows: usize = (start..=self.cursor).map(|line| rows_of(&line)).sum();
        while rows > height && start < self.cursor {
            rows -= rows_of(&start);
            start += 1;
        }
        let loaded = page.offset + page.rows.len() as u64;
        let mut end = self.cursor + 1;
        while rows < height && end < loaded {
            rows += rows_of(&end);
            end += 1;
        }
        // One that is cut is the first of the next screen.
        if rows > height && end > self.cursor + 1 {
            end -= 1;
        }
        Some(start..end)
    }

    /// Goes to the first line of another order.
    pub(super) fn sort(&mut self, order: Option<LineOrder>) {
        self.order = order;
        self.reset();
    }

    pub(super) fn move_text(&mut self, right: bool) {
        self.shift = if right { self.shift + SHIFT } else { self.shift.saturating_sub(SHIFT) };
    }

    /// The row of the cursor.
    pub(super) fn row(&self) -> Option<&PageRow> {
        let page = self.page.as_ref()?;
        page.rows.get(self.cursor.checked_sub(page.offset)? as usize)
    }

    /// Looks for the text from the cursor on; false where there is none.
    pub(super) fn find(&mut self, view: &View, backwards: bool) -> Result<bool, String> {
        let Some(text) = &self.text else { return Ok(false) };
        let target = LineTarget::Filter(text_filter(text)?);
        let (view, order) = (view.clone(), self.order.clone());
        self.finding = Some(FindQuestion { view, order, target, from: Some(self.cursor), backwards });
        Ok(true)
    }

    /// Looks for a row by its name.
    pub(super) fn find_place(&mut self, view: &View, place: &str) {
        let target = LineTarget::Place(place.to_owned());
        let (view, order) = (view.clone(), self.order.clone());
        self.finding = Some(FindQuestion { view, order, target, from: None, backwards: false });
    }
}

/// The rows of a line that is wrapped, as many as a screen has.
pub(super) fn wrapped_rows(line: &str, width: usize, height: usize) -> Vec<String> {
    let text = shown(line, width.saturating_mul(height));
    let mut rows = vec![String::new()];
    let mut used = 0;
    for letter in text.chars() {
        let wide = Span::raw(letter.encode_utf8(&mut [0; 4]) as &str).width();
        if used + wide > width {
            if rows.len() == height {
                break;
            }
            rows.push(String::new());
            used = 0;
        }
        used += wide;
        rows.last_mut().into_iter().for_each(|row| row.push(letter));
    }
    rows
}

/// Lines that have a text, in any case of its letters unless one is a capital; a number may be a
/// status.
fn text_filter(text: &str) -> Result<Filter, String> {
    let has_capital = text.chars().any(char::is_uppercase);
    let test =
        if has_capital { TextTest::Contains(text.to_owned()) } else { TextTest::Matches(FilterRegex::new(&in_any_case(text))?) };
    let anywhere = Filter::Anywhere(test);
    let status = text.parse::<u16>().ok().filter(|status| (100..=999).contains(status)).map(u64::from);
    Ok(match status {
        Some(status) => {
            let is = rorqual_accesslog::filter::NumberTest { ranges: vec![(status, status)], absent: false };
            Filter::Any(vec![anywhere, Filter::Number(NumberColumn::STATUS, is)])
        }
        None => anywhere,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rorqual_accesslog::schema::Schema;

    fn lines(total: u64) -> LinesScreen {
        LinesScreen { page: Some(RowPage { total, offset: 0, rows: Vec::new() }), ..LinesScreen::default() }
    }

    #[test]
    fn the_cursor_stays_within_the_lines() {
        let mut screen = lines(100);
        screen.step(-1, 20);
        assert_eq!((screen.first, screen.cursor), (0, 0));
        screen.step(25, 20);
        assert_eq!((screen.first, screen.cursor), (6, 25));
        screen.turn(1, (79, 20));
        assert_eq!((screen.first, screen.cursor), (26, 45));
        screen.go(u64::MAX, 20);
        assert_eq!((screen.first, screen.cursor), (80, 99));
        screen.turn(1, (79, 20));
        assert_eq!((screen.first, screen.cursor), (80, 99));
        screen.turn(-1, (79, 20));
        assert_eq!((screen.first, screen.cursor), (60, 79));
    }

    #[test]
    fn wide_letters_are_wrapped_by_their_columns() {
        assert_eq!(wrapped_rows("abcdef", 4, 9), ["abcd", "ef"]);
        assert_eq!(wrapped_rows("漢字漢字x", 5, 9), ["漢字", "漢字x"]);
        assert_eq!(wrapped_rows("abcdef", 2, 2), ["ab", "c…"]);
        assert_eq!(wrapped_rows("", 4, 9), [""]);
    }

    #[test]
    fn a_text_is_found_in_any_case_unless_it_has_capitals() {
        let written = |text: &str| Schema::access_log().written(&text_filter(text).expect("a filter"));
        assert_eq!(written("GET /a"), "any contains \"GET /a\"");
        assert_eq!(written("a.b"), r#"any ~ "(?i)a\\.b""#);
        assert_eq!(written("404"), r#"any ~ "(?i)404" or status = 404"#);
    }
}
