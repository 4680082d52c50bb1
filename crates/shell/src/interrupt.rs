//! Ctrl-C.

use crate::exit::ExitStatus;
use crate::message;
use rorqual_pipe::Control;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// True once Ctrl-C was pressed.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The run that Ctrl-C stops.
static RUN: Mutex<Option<Control>> = Mutex::new(None);

/// The first Ctrl-C ends the run with a report of the input so far; the second ends the process. A
/// program that reads its input again has a run after the other: the last one is stopped.
pub fn stop_on_interrupt(control: &Control) {
    let before = run().replace(control.clone());
    if INTERRUPTED.load(Ordering::Relaxed) {
        control.stop();
    }
    if before.is_some() {
        return;
    }
    let handler = || {
        if is_stopped() {
            std::process::exit(130);
        }
        INTERRUPTED.store(true, Ordering::Relaxed);
        // It may be another one by now.
        run().iter().for_each(Control::stop);
    };
    // Without a handler Ctrl-C ends the process at once, as it would have anyway.
    if let Err(error) = ctrlc::set_handler(handler) {
        message::note(&format!("no handler for Ctrl-C: {error}"));
    }
}

/// True once the run is stopped; for readers that are given no [`Control`].
#[must_use]
pub fn is_stopped() -> bool {
    run().as_ref().is_some_and(Control::stopped)
}

fn run() -> MutexGuard<'static, Option<Control>> {
    RUN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The exit code of a run that would have ended with `exit`, and a message that its output is not
/// all.
#[must_use]
pub fn exit_of(control: &Control, exit: ExitStatus) -> ExitStatus {
    exit_saying(control, exit, "stopped by Ctrl-C: this is what was read by then")
}

/// The same of a run that leaves nothing.
#[must_use]
pub fn exit_of_nothing(control: &Control, exit: ExitStatus) -> ExitStatus {
    exit_saying(control, exit, "stopped by Ctrl-C")
}

/// Exit code of a run with a closed output: the reader ended, or Ctrl-C ended the wait for a
/// reader that took nothing.
#[must_use]
pub fn exit_of_closed() -> ExitStatus {
    if !INTERRUPTED.load(Ordering::Relaxed) {
        return ExitStatus::Done;
    }
    say("stopped by Ctrl-C")
}

fn exit_saying(control: &Control, exit: ExitStatus, said: &'static str) -> ExitStatus {
    if !control.stopped() {
        return exit;
    }
    say(said)
}

/// Says it once: a run may end by it and then have no reader either.
fn say(said: &'static str) -> ExitStatus {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        message::note(&said);
    }
    ExitStatus::Interrupted
}
