//! Keys, by the screen that has them.

use super::list::{AnswerList, METRICS};
use super::order::LineOrder;
use super::prompt::{PromptEnd, PromptKind, PromptLine};
use super::question::ScreenQuestion;
use super::record::RecordScreen;
use super::state::{Explorer, ExplorerMode, ExplorerStep};
use crate::verbs::logs::time::show;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use rorqual_crossfilter::{BreakdownMetric, View};

/// Seconds before and after a line that `t` goes to.
const AROUND_US: i64 = 30_000_000;

/// Filters that are remembered.
const HISTORY_MAX: usize = 100;

impl Explorer {
    pub(super) fn key(&mut self, key: KeyEvent) -> ExplorerStep {
        self.message = None;
        if let Some(prompt) = self.prompt.as_mut() {
            let end = prompt.key(key);
            self.prompt_ended(end);
            return ExplorerStep::Stay;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return self.control_key(key.code);
        }
        if std::mem::take(&mut self.has_help) {
            return ExplorerStep::Stay;
        }
        match key.code {
            KeyCode::Char('Q') => return ExplorerStep::Quit,
            KeyCode::Char('?') => self.has_help = true,
            KeyCode::Char('y') => self.show_command(),
            _ => return self.screen_key(key),
        }
        ExplorerStep::Stay
    }

    fn control_key(&mut self, code: KeyCode) -> ExplorerStep {
        let half = self.height().cast_signed() / 2;
        match code {
            KeyCode::Char('c') => return ExplorerStep::Quit,
            KeyCode::Char('z') => return ExplorerStep::Suspend,
            KeyCode::Char('l') => return ExplorerStep::Redraw,
            KeyCode::Char('d') => self.step(half),
            KeyCode::Char('u') => self.step(-half),
            KeyCode::Char('f') => self.turn(1),
            KeyCode::Char('b') => self.turn(-1),
            _ => {}
        }
        ExplorerStep::Stay
    }

    fn screen_key(&mut self, key: KeyEvent) -> ExplorerStep {
        match (key.code, self.mode) {
            (KeyCode::Char('q'), ExplorerMode::Overview) => return ExplorerStep::Quit,
            (KeyCode::Char('q') | KeyCode::Esc, _) => self.leave(),
            (KeyCode::Down | KeyCode::Char('j'), _) => self.step(1),
            (KeyCode::Up | KeyCode::Char('k'), _) => self.step(-1),
            (KeyCode::PageDown | KeyCode::Char(' '), _) => self.turn(1),
            (KeyCode::PageUp | KeyCode::Char('b'), _) => self.turn(-1),
            (KeyCode::Home | KeyCode::Char('g'), mode) if mode != ExplorerMode::Overview => self.step(isize::MIN),
            (KeyCode::End | KeyCode::Char('G'), mode) if mode != ExplorerMode::Overview => self.step(isize::MAX),
            (_, ExplorerMode::Overview) => self.overview_key(key),
            (code, ExplorerMode::Lines) => self.lines_key(code),
            (code, ExplorerMode::Record) => self.record_key(code),
            (code, ExplorerMode::List) => self.list_key(code),
        }
        ExplorerStep::Stay
    }

    fn show_command(&mut self) {
        self.prints_command = true;
        self.message = Some(format!("printed at the end: {}", self.shell_command()));
    }

    /// Leaves a screen for the one before; in the overview gives up a marked span.
    fn leave(&mut self) {
        match self.mode {
            ExplorerMode::Overview => self.overview.unmark(),
            ExplorerMode::Record => (self.mode, self.record) = (ExplorerMode::Lines, None),
            ExplorerMode::Lines => self.mode = ExplorerMode::Overview,
            ExplorerMode::List => (self.mode, self.list) = (ExplorerMode::Overview, None),
        }
    }

    fn step(&mut self, by: isize) {
        let height = self.height();
        match self.mode {
            ExplorerMode::Overview => self.overview.step(by),
            ExplorerMode::Lines => self.lines.step(by as i64, height),
            ExplorerMode::Record => self.record.iter_mut().for_each(|record| record.step(by)),
            ExplorerMode::List => self.list.iter_mut().for_each(|list| list.step(by)),
        }
    }

    fn turn(&mut self, by: isize) {
        let (height, values) = (self.height(), self.layout().values().cast_signed());
        match self.mode {
            ExplorerMode::Lines => self.lines.turn(by as i64, (self.line_width(), height)),
            ExplorerMode::Overview => self.overview.step(by * values),
            _ => self.step(by * height.cast_signed()),
        }
    }

    fn overview_key(&mut self, key: KeyEvent) {
        let marks = key.modifiers.contains(KeyModifiers::SHIFT);
        match key.code {
            KeyCode::Left => self.overview.move_cursor(-1, marks),
            KeyCode::Right => self.overview.move_cursor(1, marks),
            KeyCode::Char('<') => self.overview.move_cursor(-10, false),
            KeyCode::Char('>') => self.overview.move_cursor(10, false),
            KeyCode::Home => self.overview.move_cursor(i64::MIN / 2, marks),
            KeyCode::End => self.overview.move_cursor(i64::MAX / 2, marks),
            KeyCode::Char('v') => self.overview.toggle_mark(),
            KeyCode::Tab | KeyCode::Char('l') => self.overview.turn(true),
            KeyCode::BackTab | KeyCode::Char('h') => self.overview.turn(false),
            KeyCode::Enter => self.enter(),
            KeyCode::Char('x') => self.exclude(),
            KeyCode::Char('s') => self.metrics(),
            KeyCode::Char('f') => self.ask_list("Unusual spans of the whole log".to_owned(), ScreenQuestion::Findings),
            code => self.place_key(code),
        }
    }

    /// Keys of the place, on any screen that has it.
    fn place_key(&mut self, code: KeyCode) {
        match code {
            KeyCode::Char('/') => self.prompt_filter(),
            KeyCode::Char('c') => self.go(View::default()),
            KeyCode::Backspace | KeyCode::Char('u') => self.undo(),
            KeyCode::Char('L') => self.mode = ExplorerMode::Lines,
            KeyCode::Char('e') => self.explain(),
            _ => {}
        }
    }

    /// Filters by the value at the cursor, or zooms to the span.
    fn enter(&mut self) {
        if self.overview.focus.is_none() {
            match self.overview.selection() {
                Some(span) => self.go(self.place.zoomed(span)),
                None => self.message = Some("← → choose a span of time, v marks its other end".to_owned()),
            }
            return;
        }
        let chosen = self.overview.value().and_then(|(field, value)| self.place.chosen(&self.schema, &field, &value));
        chosen.into_iter().for_each(|view| self.go(view));
    }

    fn exclude(&mut self) {
        match self.overview.value().and_then(|(field, value)| self.place.excluded(&self.schema, &field, &value)) {
            Some(view) => self.go(view),
            None => self.message = Some("x leaves out the value at the cursor: Tab goes to a panel".to_owned()),
        }
    }

    fn metrics(&mut self) {
        let Some(field) = self.overview.focus.clone() else {
            self.message = Some("s shows metrics of a panel's values: Tab goes to one".to_owned());
            return;
        };
        self.ask_metrics(field, BreakdownMetric::Hits);
    }

    fn ask_metrics(&mut self, field: String, sort: BreakdownMetric) {
        let title = format!("{field} by {}", sort.name());
        self.ask_list(title, ScreenQuestion::Metrics(self.place.view.clone(), field, sort));
    }

    fn ask_list(&mut self, title: String, question: ScreenQuestion) {
        self.list = Some(AnswerList::new(title, question));
        self.mode = ExplorerMode::List;
    }

    /// Holds the chosen span against the rest of the log, under the filter.
    fn explain(&mut self) {
        let shown = self.place.view.from_us.zip(self.place.view.to_us);
        let chosen = self.overview.selection().map(|span| self.place.zoomed(span));
        let Some(view) = chosen.or_else(|| shown.map(|_| self.place.view.clone())) else {
            self.message = Some("choose a span of time first: ← → and v, then e explains it".to_owned());
            return;
        };
        // Lines without a time are neither in the span nor in the rest.
        let against = View { from_us: Some(i64::MIN), to_us: None, filter: view.filter.clone() };
        let time = |time_us: Option<i64>| show(time_us.unwrap_or(0).div_euclid(1_000_000));
        let title = format!("What sets {} to {} UTC apart", time(view.from_us), time(view.to_us));
        self.ask_list(title, ScreenQuestion::Explain(view, against));
    }

    fn lines_key(&mut self, code: KeyCode) {
        match code {
            KeyCode::Left => self.lines.move_text(false),
            KeyCode::Right => self.lines.move_text(true),
            KeyCode::Enter | KeyCode::Char('o') => self.open_record(),
            KeyCode::Char('/') => self.prompt = Some(PromptLine::new(PromptKind::FindText, "", &self.lines.history)),
            KeyCode::Char('&') => self.prompt_filter(),
            KeyCode::Char('n') => self.find(false),
            KeyCode::Char('N') => self.find(true),
            KeyCode::Char('t') => self.around(),
            KeyCode::Char('C') => self.same_client(),
            KeyCode::Char('s') => self.next_order(),
            KeyCode::Char('S') => self.prompt = Some(PromptLine::new(PromptKind::SortColumn, "", &self.lines.sorts)),
            KeyCode::Char('r') => self.reverse_order(),
            KeyCode::Char('w') => self.lines.is_wrapped = !self.lines.is_wrapped,
            KeyCode::Char('L') => self.mode = ExplorerMode::Overview,
            code => self.place_key(code),
        }
    }

    fn find(&mut self, backwards: bool) {
        match self.lines.find(&self.place.view.clone(), backwards) {
            Ok(true) => {}
            Ok(false) => self.message = Some("/ looks for a text, and n for the next".to_owned()),
            Err(error) => self.message = Some(error),
        }
    }

    fn next_order(&mut self) {
        let known = self.overview.counted.as_ref().map(|counted| &counted.percentiles);
        let next = LineOrder::next(self.lines.order.as_ref(), &self.schema, known);
        self.sort(next);
    }

    fn reverse_order(&mut self) {
        match &self.lines.order {
            Some(order) => self.sort(Some(order.reversed())),
            None => self.message = Some("s sorts the lines, S by a column that you name, and r turns that round".to_owned()),
        }
    }

    fn sort(&mut self, order: Option<LineOrder>) {
        self.lines.sort(order);
        self.failed_no_more();
    }

    /// Sorts by a column that was typed; without one in the order of the log.
    fn sort_entered(&mut self, text: &str) {
        let field = text.trim();
        let order = LineOrder::typed(&self.schema, field);
        if order.is_none() && !field.is_empty() {
            let error = format!("the lines cannot be sorted by '{field}': time, status, path, client and bytes are columns");
            return self.prompt.iter_mut().for_each(|prompt| prompt.error = Some(error.clone()));
        }
        self.prompt = None;
        remember(&mut self.lines.sorts, field);
        self.sort(order);
    }

    fn open_record(&mut self) {
        if let Some(row) = self.lines.row() {
            self.record = Some(RecordScreen::new(row.clone()));
            self.mode = ExplorerMode::Record;
        }
    }

    fn record_key(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.filter_field(false),
            KeyCode::Char('x') => self.filter_field(true),
            KeyCode::Char('t') => self.around(),
            KeyCode::Char('C') => self.same_client(),
            KeyCode::Char('o') => self.leave(),
            code => self.place_key(code),
        }
    }

    /// Filters by the field at the cursor.
    fn filter_field(&mut self, leaves_out: bool) {
        let field = self.record.as_ref().and_then(|record| record.fields.get(record.cursor));
        let Some((name, Some(value))) = field.map(|field| (field.name.clone(), field.value.clone())) else {
            self.message = Some("lines cannot be filtered by this field".to_owned());
            return;
        };
        let view = if leaves_out {
            self.place.excluded(&self.schema, &name, &value)
        } else {
            self.place.chosen(&self.schema, &name, &value)
        };
        if let Some(view) = view {
            self.show_lines(view);
        }
    }

    fn show_lines(&mut self, view: View) {
        self.record = None;
        self.mode = ExplorerMode::Lines;
        self.go(view);
    }

    /// Goes to all lines around the time of the line at the cursor.
    fn around(&mut self) {
        let row = self.record.as_ref().map(|record| &record.row).or_else(|| self.lines.row());
        let Some((time, place)) = row.and_then(|row| Some(((row.time? * 1e6) as i64, row.place.clone()))) else {
            self.message = Some("this line has no time".to_owned());
            return;
        };
        let view = View { from_us: Some(time - AROUND_US), to_us: Some(time + AROUND_US + 1), ..View::default() };
        self.lines.order = None;
        self.show_lines(view.clone());
        self.lines.find_place(&view, &place);
    }

    fn same_client(&mut self) {
        let row = self.record.as_ref().map(|record| &record.row).or_else(|| self.lines.row());
        let Some((client, place)) = row.filter(|row| !row.client.is_empty()).map(|row| (row.client.clone(), row.place.clone()))
        else {
            self.message = Some("this line has no client".to_owned());
            return;
        };
        let all = super::place::value_filter(&self.schema, "client", &client);
        let view = View { filter: all.unwrap_or_default(), ..View::default() };
        self.lines.order = None;
        self.show_lines(view.clone());
        self.lines.find_place(&view, &place);
    }

    fn list_key(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.take_entry(),
            KeyCode::Char('s') => self.next_metric(),
            code => self.place_key(code),
        }
    }

    /// Goes to the span and the filter of an entry.
    fn take_entry(&mut self) {
        let Some(entry) = self.list.as_ref().and_then(AnswerList::entry).cloned() else { return };
        let filter = match self.filter(&entry.filter) {
            Ok(filter) => filter,
            Err(error) => return self.message = Some(error),
        };
        let mut view = self.place.narrowed(&filter);
        if let Some((from, to)) = entry.span {
            (view.from_us, view.to_us) = (Some(from.saturating_mul(1_000_000)), Some(to.saturating_mul(1_000_000)));
        }
        (self.mode, self.list) = (ExplorerMode::Overview, None);
        self.go(view);
    }

    fn next_metric(&mut self) {
        let Some(ScreenQuestion::Metrics(_, field, sort)) = self.list.as_ref().map(|list| list.question.clone()) else { return };
        let place = METRICS.iter().position(|metric| *metric == sort).map_or(0, |place| (place + 1) % METRICS.len());
        self.ask_metrics(field, METRICS[place]);
    }

    fn prompt_filter(&mut self) {
        self.prompt = Some(PromptLine::new(PromptKind::Filter, &self.written(), &self.filters));
    }

    fn prompt_ended(&mut self, end: PromptEnd) {
        match (end, self.prompt.as_ref().map(|prompt| prompt.kind)) {
            (PromptEnd::Open, _) | (_, None) => {}
            (PromptEnd::Cancelled, _) => self.prompt = None,
            (PromptEnd::Entered(text), Some(PromptKind::Filter)) => self.filter_entered(&text),
            (PromptEnd::Entered(text), Some(PromptKind::FindText)) => self.text_entered(text),
            (PromptEnd::Entered(text), Some(PromptKind::SortColumn)) => self.sort_entered(&text),
        }
    }

    fn filter_entered(&mut self, text: &str) {
        match self.filter(text) {
            Ok(filter) => {
                self.prompt = None;
                remember(&mut self.filters, text);
                self.go(self.place.filtered(filter));
            }
            Err(_) if is_plain(text) => {
                self.prompt = None;
                remember(&mut self.filters, text);
                self.ask_list(format!("'{text}' may mean"), ScreenQuestion::Suggest(self.place.view.clone(), text.to_owned()));
            }
            Err(error) => self.prompt.iter_mut().for_each(|prompt| prompt.error = Some(error.clone())),
        }
    }

    fn text_entered(&mut self, text: String) {
        self.prompt = None;
        if !text.is_empty() {
            remember(&mut self.lines.history, &text);
            self.lines.text = Some(text);
        }
        self.find(false);
    }
}

/// True if a text looks like no filter: it has no sign of one outside of quotes.
fn is_plain(text: &str) -> bool {
    let outside: String = text.split('"').step_by(2).collect();
    !outside.contains(['=', '<', '>', '~', '(', ')', '!'])
}

fn remember(history: &mut Vec<String>, text: &str) {
    if text.is_empty() {
        return;
    }
    history.retain(|known| known != text);
    if history.len() >= HISTORY_MAX {
        history.remove(0);
    }
    history.push(text.to_owned());
}
