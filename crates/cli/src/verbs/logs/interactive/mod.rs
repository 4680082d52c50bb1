//! `rorqual logs --interactive`: the explorer on a terminal.
//!
//! The log is read on a thread, questions are asked on another one, and this one draws and hears
//! keys. All rows are in the store that `--explain` asks, too.

mod command;
mod draw;
mod key_input;
mod keys;
mod layout;
mod lines;
mod list;
mod order;
mod overview;
mod place;
mod prompt;
mod question;
mod reading;
mod record;
mod screen;
mod state;
#[cfg(test)]
mod tests;
mod worker;

use super::explore::FormatRows;
use crate::args::{Common, LogsArgs};
use crate::exit::ExitStatus;
use crate::input;
use crate::message::HeldMessages;
use crate::verbs::count::or_stdin;
use command::LogCommand;
use crossterm::event::{Event, KeyEventKind, read};
use key_input::KeyInput;
use question::ScreenQuestion;
use reading::LogReading;
use rorqual_accesslog::analyze::AnalyzeSettings;
use rorqual_pipe::{Control, escaped_path, reason};
use screen::TerminalScreen;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use signal_hook::low_level::emulate_default_handler;
use state::{Explorer, ExplorerEvent, ExplorerStep};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use worker::QuestionWorker;

/// Memory of cells, answers and the lines on the screen: 150 of at most 80 KiB, and panels of 30
/// values.
pub(super) const SCREEN_BYTES: u64 = 24 << 20;

/// Time that keys are waited for while a question is asked, and while nothing is.
const WAIT_BUSY: Duration = Duration::from_millis(15);
const WAIT_IDLE: Duration = Duration::from_millis(100);

/// Pause between two pictures of a log that is read, at least; and how often as long as the last
/// one took, so that most of the time is the reading's.
const REFRESH: Duration = Duration::from_millis(400);
const REFRESH_SHARE: u32 = 3;

/// Reads the log and shows it until it is left.
pub(super) fn run(common: &Common, args: &LogsArgs, settings: &AnalyzeSettings) -> Result<ExitStatus, String> {
    let files = or_stdin(&args.files);
    check_terminal(&files)?;
    let (analyzer, rows) = super::analyzer(settings, args, None)?;
    let rows = rows.ok_or("there is no place for rows")?;
    let signals = EndingSignals::new().map_err(|cause| format!("no handler for signals: {}", reason(&cause)))?;
    let messages = HeldMessages::hold();
    input::say_if_twice(&files);
    let control = Control::with_rate_limit(common.limit_rate);
    let no_terminal = |cause: io::Error| format!("--interactive: the terminal can't be set: {}", reason(&cause));
    let keys = KeyInput::open().map_err(no_terminal)?;
    let screen = TerminalScreen::enter().map_err(no_terminal)?;
    let mut explorer = Explorer::new(title(&files), LogCommand::new(args, settings.span));
    let mut session = ExplorerSession {
        screen,
        keys: &keys,
        worker: QuestionWorker::start(&rows),
        reading: LogReading::start(common, files, analyzer, &rows, &control),
        rows,
        signals,
        asked: None,
        shown_at: Instant::now(),
        took: Duration::ZERO,
    };
    let ended = session.explore(&mut explorer, &messages);
    control.stop();
    let exit = session.close();
    drop(messages);
    let ended = match ended {
        // It has no signal when the terminal is not the one of its session.
        Err(_) if keys.is_gone() => ExplorerEnd::Signal(SIGHUP),
        ended => ended.map_err(|cause| format!("--interactive: {}", reason(&cause)))?,
    };
    if ended != ExplorerEnd::Signal(SIGHUP) {
        print_command(&explorer)?;
    }
    Ok(match ended {
        ExplorerEnd::Signal(SIGINT) => ExitStatus::Interrupted,
        ExplorerEnd::Signal(signal) => {
            // As if there had been no handler; all is restored.
            drop(emulate_default_handler(signal));
            ExitStatus::Interrupted
        }
        ExplorerEnd::Left | ExplorerEnd::Nothing => exit,
    })
}

/// Refuses a screen that nobody could see or use.
fn check_terminal(files: &[PathBuf]) -> Result<(), String> {
    if !io::stdout().is_terminal() {
        return Err("--interactive needs a terminal, and standard output is not one; without it the report is printed".to_owned());
    }
    let reads_stdin = files.iter().any(|file| file.as_os_str() == "-");
    if reads_stdin && io::stdin().is_terminal() {
        return Err("--interactive: no log is named, and standard input is this terminal: rorqual logs -i access.log".to_owned());
    }
    if !io::stdin().is_terminal() && std::fs::File::open("/dev/tty").is_err() {
        return Err("--interactive takes keys from the terminal, and this process has none".to_owned());
    }
    Ok(())
}

fn title(files: &[PathBuf]) -> String {
    match files {
        [file] if file.as_os_str() == "-" => "standard input".to_owned(),
        [file] => escaped_path(file),
        [file, more @ ..] => format!("{} and {} more", escaped_path(file), more.len()),
        [] => String::new(),
    }
}

fn print_command(explorer: &Explorer) -> Result<(), String> {
    if !explorer.prints_command {
        return Ok(());
    }
    let command = rorqual_pipe::escaped(&explorer.shell_command());
    writeln!(io::stdout(), "{command}").map_err(|cause| format!("cannot write: {}", reason(&cause)))
}

/// EndingSignals that came.
struct EndingSignals {
    came: Arc<AtomicUsize>,
}

impl EndingSignals {
    fn new() -> io::Result<Self> {
        let came = Arc::new(AtomicUsize::new(0));
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            signal_hook::flag::register_usize(signal, Arc::clone(&came), signal as usize)?;
        }
        Ok(Self { came })
    }

    fn last(&self) -> Option<i32> {
        match self.came.load(Ordering::SeqCst) {
            0 => None,
            signal => i32::try_from(signal).ok(),
        }
    }
}

/// End of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExplorerEnd {
    Left,
    Signal(i32),
    /// Nothing could be read.
    Nothing,
}

/// The terminal, the threads, and the question on its way.
struct ExplorerSession<'a> {
    screen: TerminalScreen,
    keys: &'a KeyInput,
    worker: QuestionWorker,
    reading: LogReading,
    rows: Arc<FormatRows>,
    signals: EndingSignals,
    asked: Option<(ScreenQuestion, Instant)>,
    /// Time of the last picture, and how long its question took.
    shown_at: Instant,
    took: Duration,
}

impl ExplorerSession<'_> {
    fn explore(&mut self, explorer: &mut Explorer, messages: &HeldMessages) -> io::Result<ExplorerEnd> {
        let (width, height) = TerminalScreen::size()?;
        explorer.update(ExplorerEvent::Resize(width, height));
        let mut is_changed = true;
        loop {
            if let Some(signal) = self.signals.last() {
                return Ok(ExplorerEnd::Signal(signal));
            }
            is_changed |= self.look(explorer, messages);
            if self.reading.has_nothing() {
                return Ok(ExplorerEnd::Nothing);
            }
            is_changed |= self.take_answers(explorer);
            self.ask(explorer);
            if std::mem::take(&mut is_changed) {
                self.screen.draw(explorer.size, |cells| draw::draw(explorer, cells))?;
            }
            let wait = if self.asked.is_some() { WAIT_BUSY } else { WAIT_IDLE };
            if self.keys.wait(wait)? {
                is_changed = true;
                if self.events(explorer)? == ExplorerStep::Quit {
                    return Ok(ExplorerEnd::Left);
                }
            }
        }
    }

    /// Looks how far the reading is; whether anything changed.
    fn look(&mut self, explorer: &mut Explorer, messages: &HeldMessages) -> bool {
        let was_done = explorer.reading.is_done;
        let mut state = self.reading.state(&self.rows);
        state.messages = messages.last();
        let is_due = self.asked.is_none() && !was_done && self.shown_at.elapsed() >= REFRESH.max(REFRESH_SHARE * self.took);
        let is_changed = is_due || state.is_done != was_done || state.has_rows != explorer.reading.has_rows;
        if !is_changed {
            return false;
        }
        let schema = self.rows.store().map(|store| store.schema());
        explorer.update(ExplorerEvent::Reading(state, schema));
        explorer.update(ExplorerEvent::Refresh);
        self.shown_at = Instant::now();
        true
    }

    fn take_answers(&mut self, explorer: &mut Explorer) -> bool {
        let mut is_changed = false;
        while let Some(answered) = self.worker.answer() {
            if self.asked.as_ref().is_some_and(|(asked, _)| *asked == answered.question) {
                self.took = self.asked.take().map_or(Duration::ZERO, |(_, since)| since.elapsed());
            }
            explorer.update(ExplorerEvent::Answered(answered));
            is_changed = true;
        }
        is_changed
    }

    /// Asks what the screen lacks, in place of a question whose answer it does not need any more.
    fn ask(&mut self, explorer: &Explorer) {
        let need = explorer.need();
        if need.as_ref() == self.asked.as_ref().map(|(asked, _)| asked) {
            return;
        }
        match need {
            Some(question) => {
                self.worker.ask(question.clone());
                self.asked = Some((question, Instant::now()));
            }
            None => {
                self.worker.cancel();
                self.asked = None;
            }
        }
    }

    /// Takes all keys that are there.
    fn events(&mut self, explorer: &mut Explorer) -> io::Result<ExplorerStep> {
        while self.keys.wait(Duration::ZERO)? {
            let step = match read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => explorer.update(ExplorerEvent::Key(key)),
                Event::Paste(text) => paste(explorer, &text),
                Event::Resize(..) => {
                    let (width, height) = TerminalScreen::size()?;
                    explorer.update(ExplorerEvent::Resize(width, height))
                }
                _ => ExplorerStep::Stay,
            };
            match step {
                ExplorerStep::Stay => {}
                ExplorerStep::Quit => return Ok(step),
                ExplorerStep::Redraw => self.screen.forget(),
                ExplorerStep::Suspend => self.suspend(explorer)?,
            }
        }
        Ok(ExplorerStep::Stay)
    }

    /// Stops until the shell goes on with it.
    fn suspend(&mut self, explorer: &mut Explorer) -> io::Result<()> {
        TerminalScreen::leave();
        emulate_default_handler(SIGTSTP)?;
        self.screen.resume()?;
        let (width, height) = TerminalScreen::size()?;
        explorer.update(ExplorerEvent::Resize(width, height));
        Ok(())
    }

    /// Restores the terminal, and waits for the threads.
    fn close(self) -> ExitStatus {
        let Self { screen, worker, reading, .. } = self;
        drop(screen);
        drop(worker);
        reading.finish()
    }
}

/// Text that is pasted is typed into a line, and into nothing else.
fn paste(explorer: &mut Explorer, text: &str) -> ExplorerStep {
    if explorer.prompt.is_some() {
        let typed = |letter: char| crossterm::event::KeyEvent::from(crossterm::event::KeyCode::Char(letter));
        text.chars().filter(|letter| !letter.is_control()).for_each(|letter| {
            explorer.update(ExplorerEvent::Key(typed(letter)));
        });
    }
    ExplorerStep::Stay
}
