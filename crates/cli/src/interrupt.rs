//! Ctrl-C.

use crate::exit::Exit;
use crate::message;
use rorqual_pipe::Control;

/// The first Ctrl-C ends the run with a report of what was read; the second ends the process.
pub(crate) fn stop_on_interrupt(control: &Control) {
    let control = control.clone();
    let handler = move || {
        if control.stopped() {
            std::process::exit(130);
        }
        control.stop();
    };
    // Without a handler Ctrl-C ends the process at once, as it would have anyway.
    if let Err(error) = ctrlc::set_handler(handler) {
        message::note(&format!("no handler for Ctrl-C: {error}"));
    }
}

/// The exit code of a run that would have ended with `exit`, and a word about why what it prints is not all.
pub(crate) fn exit_of(control: &Control, exit: Exit) -> Exit {
    exit_saying(control, exit, "stopped by Ctrl-C: this is what was read by then")
}

/// The same of a run that leaves nothing.
pub(crate) fn exit_of_nothing(control: &Control, exit: Exit) -> Exit {
    exit_saying(control, exit, "stopped by Ctrl-C")
}

fn exit_saying(control: &Control, exit: Exit, said: &'static str) -> Exit {
    if !control.stopped() {
        return exit;
    }
    message::note(&said);
    Exit::Interrupted
}
