//! The lines of the place, and the cursor among them.

use super::layout::scrolled;
use super::question::{FindQuestion, LineTarget, ScreenQuestion};
use rorqual_accesslog::filter::{Filter, FilterRegex, TextTest};
use rorqual_accesslog::schema::NumberColumn;
use rorqual_accesslog::suggest::in_any_case;
use rorqual_crossfilter::{PageRow, RowPage, View};

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
    /// Characters left of the screen.
    pub(super) shift: usize,
    /// Text that is looked for.
    pub(super) text: Option<String>,
    pub(super) finding: Option<FindQuestion>,
    pub(super) history: Vec<String>,
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
        let wanted = ScreenQuestion::Lines(view.clone(), self.first, height, tick);
        (self.question.as_ref() != Some(&wanted)).then_some(wanted)
    }

    pub(super) fn answered(&mut self, question: ScreenQuestion, page: RowPage) {
        self.question = Some(question);
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
    pub(super) fn turn(&mut self, by: i64, height: usize) {
        let last = self.total().saturating_sub(height as u64);
        let by = by * height.cast_signed() as i64;
        self.first = self.first.saturating_add_signed(by).min(last);
        self.step(by, height);
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
        self.finding = Some(FindQuestion { view: view.clone(), target, from: Some(self.cursor), backwards });
        Ok(true)
    }

    /// Looks for a row by its name.
    pub(super) fn find_place(&mut self, view: &View, place: &str) {
        let target = LineTarget::Place(place.to_owned());
        self.finding = Some(FindQuestion { view: view.clone(), target, from: None, backwards: false });
    }
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
        screen.turn(1, 20);
        assert_eq!((screen.first, screen.cursor), (26, 45));
        screen.go(u64::MAX, 20);
        assert_eq!((screen.first, screen.cursor), (80, 99));
        screen.turn(1, 20);
        assert_eq!((screen.first, screen.cursor), (80, 99));
        screen.turn(-1, 20);
        assert_eq!((screen.first, screen.cursor), (60, 79));
    }

    #[test]
    fn a_text_is_found_in_any_case_unless_it_has_capitals() {
        let written = |text: &str| Schema::access_log().written(&text_filter(text).expect("a filter"));
        assert_eq!(written("GET /a"), "any contains \"GET /a\"");
        assert_eq!(written("a.b"), r#"any ~ "(?i)a\\.b""#);
        assert_eq!(written("404"), r#"any ~ "(?i)404" or status = 404"#);
    }
}
