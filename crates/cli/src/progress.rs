//! A progress bar on stderr, drawn by its own thread from the run's counters.

use crate::args::TerminalWhen;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use rorqual_pipe::{Control, format_size};
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Shows how far a run is until dropped; nothing where nobody looks.
pub(crate) struct Progress {
    ticker: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Watches `control`; `total_bytes` is the stored size of all inputs where it is known.
    pub(crate) fn start(when: TerminalWhen, control: &Control, total_bytes: Option<u64>) -> Self {
        let show = match when {
            TerminalWhen::Auto => std::io::stderr().is_terminal(),
            TerminalWhen::Always => true,
            TerminalWhen::Never => false,
        };
        Self { ticker: show.then(|| spawn(control.clone(), total_bytes)) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.ticker.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}

fn spawn(control: Control, total_bytes: Option<u64>) -> (Sender<()>, JoinHandle<()>) {
    let (sender, ended) = channel();
    let thread = std::thread::spawn(move || {
        let bar = bar(total_bytes);
        loop {
            bar.set_position(control.stored_bytes());
            match ended.recv_timeout(Duration::from_millis(100)) {
                Err(RecvTimeoutError::Timeout) => {}
                _ => break,
            }
        }
        bar.finish_and_clear();
    });
    (sender, thread)
}

fn bar(total_bytes: Option<u64>) -> ProgressBar {
    let template = match total_bytes {
        Some(_) => "{bar:32} {percent:>3} %  {done} of {all}  {rate}  {left}",
        None => "{spinner} {done}  {rate}  {elapsed}",
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let style = style
        .progress_chars("█▉▊▋▌▍▎▏ ")
        .with_key("done", |state: &ProgressState, out: &mut dyn Write| write_size(out, state.pos()))
        .with_key("all", |state: &ProgressState, out: &mut dyn Write| write_size(out, state.len().unwrap_or(0)))
        .with_key("rate", |state: &ProgressState, out: &mut dyn Write| {
            let _ = write!(out, "{}/s", format_size(state.per_sec() as u64));
        })
        .with_key("left", |state: &ProgressState, out: &mut dyn Write| {
            let _ = write!(out, "{:.0} s left", state.eta().as_secs_f64());
        });
    ProgressBar::with_draw_target(total_bytes, ProgressDrawTarget::stderr()).with_style(style)
}

fn write_size(out: &mut dyn Write, bytes: u64) {
    let _ = out.write_str(&format_size(bytes));
}
