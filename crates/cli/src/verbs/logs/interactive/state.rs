//! The state of the explorer: keys and answers change it, and it says which question it needs. It
//! knows no terminal, no thread and no clock.

use super::command::LogCommand;
use super::layout::{OverviewLayout, WIDTH_MIN, list_height};
use super::lines::LinesScreen;
use super::list::AnswerList;
use super::overview::OverviewScreen;
use super::place::ExplorerPlace;
use super::prompt::PromptLine;
use super::question::{AnsweredQuestion, ScreenAnswer, ScreenQuestion};
use super::record::RecordScreen;
use crossterm::event::KeyEvent;
use rorqual_accesslog::filter::Filter;
use rorqual_accesslog::schema::Schema;
use rorqual_crossfilter::View;
use std::sync::Arc;

/// Screen of the explorer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ExplorerMode {
    #[default]
    Overview,
    Lines,
    Record,
    List,
}

/// State of the reading.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ReadingState {
    /// There are rows that can be asked.
    pub(super) has_rows: bool,
    pub(super) is_done: bool,
    /// Part of the input that was read, where its size is known.
    pub(super) part: Option<f64>,
    pub(super) read_bytes: u64,
    pub(super) spilled_bytes: u64,
    pub(super) dropped: u64,
    /// The last message, and the number of them.
    pub(super) messages: (usize, Option<String>),
}

/// Event of the explorer.
#[derive(Debug)]
pub(super) enum ExplorerEvent {
    Key(KeyEvent),
    Resize(u16, u16),
    Answered(Box<AnsweredQuestion>),
    Reading(ReadingState, Option<Arc<Schema>>),
    /// Rows that came since may be shown.
    Refresh,
}

/// Next step of the program after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExplorerStep {
    Stay,
    Quit,
    /// To the shell, until it resumes the program.
    Suspend,
    /// Everything is drawn anew.
    Redraw,
}

/// The explorer.
#[derive(Debug)]
pub(super) struct Explorer {
    pub(super) schema: Arc<Schema>,
    pub(super) size: (u16, u16),
    pub(super) title: String,
    pub(super) command: LogCommand,
    pub(super) reading: ReadingState,
    /// Number of times that rows were asked anew while they came.
    pub(super) tick: u64,
    pub(super) place: ExplorerPlace,
    pub(super) mode: ExplorerMode,
    pub(super) overview: OverviewScreen,
    pub(super) lines: LinesScreen,
    pub(super) record: Option<RecordScreen>,
    pub(super) list: Option<AnswerList>,
    pub(super) prompt: Option<PromptLine>,
    pub(super) filters: Vec<String>,
    pub(super) message: Option<String>,
    pub(super) has_help: bool,
    /// The command is printed at the end.
    pub(super) prints_command: bool,
    /// The question that could not be answered.
    failed: Option<ScreenQuestion>,
}

impl Explorer {
    /// An explorer of a log with this title, which `command` reports on.
    pub(super) fn new(title: String, command: LogCommand) -> Self {
        Self {
            schema: Arc::new(Schema::access_log().clone()),
            size: (0, 0),
            title,
            command,
            reading: ReadingState::default(),
            tick: 0,
            place: ExplorerPlace::default(),
            mode: ExplorerMode::default(),
            overview: OverviewScreen::default(),
            lines: LinesScreen::default(),
            record: None,
            list: None,
            prompt: None,
            filters: Vec::new(),
            message: None,
            has_help: false,
            prints_command: false,
            failed: None,
        }
    }

    /// Takes an event.
    pub(super) fn update(&mut self, event: ExplorerEvent) -> ExplorerStep {
        match event {
            ExplorerEvent::Key(key) => return self.key(key),
            ExplorerEvent::Resize(width, height) => {
                self.size = (width, height);
                self.overview.plot(self.plot_width());
                self.lines.step(0, self.height());
            }
            ExplorerEvent::Answered(answered) => self.answered(*answered),
            ExplorerEvent::Reading(reading, schema) => {
                if reading.messages.0 > self.reading.messages.0 {
                    self.message = reading.messages.1.clone();
                }
                self.reading = reading;
                self.schema = schema.unwrap_or_else(|| Arc::clone(&self.schema));
            }
            ExplorerEvent::Refresh => self.tick += 1,
        }
        ExplorerStep::Stay
    }

    /// The question whose answer the screen lacks.
    pub(super) fn need(&self) -> Option<ScreenQuestion> {
        if !self.reading.has_rows {
            return None;
        }
        let needed = self.list_need().or_else(|| self.lines_need()).or_else(|| self.overview_need());
        needed.filter(|needed| self.failed.as_ref() != Some(needed))
    }

    fn list_need(&self) -> Option<ScreenQuestion> {
        let list = self.list.as_ref().filter(|list| self.mode == ExplorerMode::List && list.entries.is_none())?;
        Some(list.question.clone())
    }

    fn lines_need(&self) -> Option<ScreenQuestion> {
        let shows_lines = matches!(self.mode, ExplorerMode::Lines);
        shows_lines.then(|| self.lines.need(&self.place.view, self.height(), self.tick)).flatten()
    }

    fn overview_need(&self) -> Option<ScreenQuestion> {
        let wanted = ScreenQuestion::Overview(self.place.view.clone(), self.plot_width(), self.tick);
        (self.overview.question.as_ref() != Some(&wanted)).then_some(wanted)
    }

    pub(super) fn layout(&self) -> OverviewLayout {
        OverviewLayout::new(self.size)
    }

    fn plot_width(&self) -> usize {
        usize::from(self.layout().plot_width)
    }

    /// Rows of a list.
    pub(super) fn height(&self) -> usize {
        list_height(self.size)
    }

    fn answered(&mut self, AnsweredQuestion { question, answer }: AnsweredQuestion) {
        match answer {
            Ok(ScreenAnswer::Overview(counted)) => {
                self.overview.answered(question, counted, usize::from(self.layout().plot_width));
            }
            Ok(ScreenAnswer::Lines(page, note)) => self.lines.answered(question, page, note),
            Ok(ScreenAnswer::Found(row)) => self.found(row),
            Ok(answer) => {
                if let Some(list) = self.list.as_mut().filter(|list| list.question == question) {
                    list.answered(answer);
                }
            }
            Err(reason) => self.fail(question, reason),
        }
    }

    fn found(&mut self, row: Option<u64>) {
        if row.is_none() {
            self.message = Some("no other line in this direction has it".to_owned());
        }
        let height = self.height();
        self.lines.found(row, height);
    }

    fn fail(&mut self, question: ScreenQuestion, reason: String) {
        if let Some(list) = self.list.as_mut().filter(|list| list.question == question) {
            return list.failed(reason);
        }
        self.lines.finding = None;
        self.message = Some(reason);
        self.failed = Some(question);
    }

    /// Goes to another place, of which the old numbers stay on the screen until its own come.
    pub(super) fn go(&mut self, view: View) {
        if self.place.go(view) {
            self.is_elsewhere();
        }
    }

    pub(super) fn undo(&mut self) {
        if self.place.undo() {
            self.is_elsewhere();
        } else {
            self.message = Some("nothing to undo".to_owned());
        }
    }

    fn is_elsewhere(&mut self) {
        self.overview.unmark();
        self.lines.reset();
        self.failed_no_more();
    }

    /// Asks again what could not be answered.
    pub(super) fn failed_no_more(&mut self) {
        self.failed = None;
    }

    /// Columns of a line, beside its sign.
    pub(super) fn line_width(&self) -> usize {
        usize::from(self.size.0.max(WIDTH_MIN)) - 1
    }

    /// Reads a filter of the log's columns.
    pub(super) fn filter(&self, text: &str) -> Result<Filter, String> {
        let filter = self.schema.filter(text).map_err(|error| error.to_string())?;
        let asks_countries = filter.names_countries() && !self.command.has_countries();
        if asks_countries { Err("countries take a database of them: --geoip FILE.mmdb".to_owned()) } else { Ok(filter) }
    }

    /// The filter of the place, as it is written.
    pub(super) fn written(&self) -> String {
        self.schema.written(&self.place.view.filter)
    }

    /// True if the list has metrics of values.
    pub(super) fn has_metrics(&self) -> bool {
        self.list.as_ref().is_some_and(|list| matches!(list.question, ScreenQuestion::Metrics(..)))
    }

    /// The command for the place.
    pub(super) fn shell_command(&self) -> String {
        self.command.of(&self.place.view, &self.written())
    }

    /// True if the numbers on the screen are those of the place, and once all is read of all rows.
    pub(super) fn is_current(&self) -> bool {
        let Some(ScreenQuestion::Overview(view, _, tick)) = &self.overview.question else { return false };
        *view == self.place.view && (!self.reading.is_done || *tick == self.tick)
    }
}
