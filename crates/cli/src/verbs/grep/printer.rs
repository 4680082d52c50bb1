//! Where found lines go.

use crate::args::GrepArgs;
use crate::verbs::grep::Output;
use crate::verbs::grep::json::Json;
use crate::verbs::grep::text::{Style, Text};
use rorqual_pipe::{Error, Pool};
use rorqual_search::{Expression, Long, Mode, Part, Sink, Summary};
use std::io::{self, Write};

/// What an unprivileged process may ask for; the kernel's memory, and only as far as it is used.
const PIPE_BYTES: usize = 1 << 20;

/// Prints what is found.
pub(crate) struct Printer {
    form: Form,
    /// Printing has failed, and so the search is over, whatever the input is like.
    pub(crate) failed: bool,
}

enum Form {
    Text(Box<Text>),
    Json(Box<Json>),
    /// Counts and names are printed when an input has ended.
    Nothing,
}

impl Printer {
    pub(crate) fn new(output: Output, args: &GrepArgs, expression: &Expression, pool: &Pool, names: bool) -> io::Result<Self> {
        if output.mode() == Mode::Lines {
            widen_pipe();
        }
        let form = match output {
            Output::Lines => Form::Text(Box::new(Text::new(Style::of(args, names), expression, pool)?)),
            Output::Json => Form::Json(Box::new(Json::new(expression, pool)?)),
            _ => Form::Nothing,
        };
        Ok(Self { form, failed: false })
    }

    /// An input begins.
    pub(crate) fn start(&mut self, name: &[u8]) {
        match &mut self.form {
            Form::Text(text) => text.start(name),
            Form::Json(json) => json.start(name),
            Form::Nothing => {}
        }
    }

    /// Lets go of the buffers of others; what came from somebody who may be watching is printed now.
    pub(crate) fn settle(&mut self, live: bool) -> Result<(), Error> {
        self.print(|form| match form {
            Form::Text(text) => text.settle(live),
            Form::Json(json) => json.settle(live),
            Form::Nothing => Ok(()),
        })
    }

    /// An input is over.
    pub(crate) fn end(&mut self, summary: &Summary) -> Result<(), Error> {
        self.print(|form| match form {
            Form::Json(json) => json.end(summary),
            Form::Text(_) | Form::Nothing => Ok(()),
        })
    }

    /// Prints one line about an input.
    pub(crate) fn say(&mut self, line: &[u8]) -> Result<(), Error> {
        self.print(|_| io::stdout().write_all(line).map_err(output_error))
    }

    /// Everything is over.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        self.print(|form| match form {
            Form::Text(text) => text.settle(true),
            Form::Json(json) => json.finish(),
            Form::Nothing => Ok(()),
        })
    }

    /// Something could not be printed whole, and that was said.
    pub(crate) fn lost_something(&self) -> bool {
        matches!(&self.form, Form::Text(text) if text.lost_something)
    }

    fn print(&mut self, print: impl FnOnce(&mut Form) -> Result<(), Error>) -> Result<(), Error> {
        let printed = print(&mut self.form);
        self.failed |= printed.is_err();
        printed
    }
}

impl Sink for &mut Printer {
    fn part(&mut self, part: Part<'_>) -> Result<(), Error> {
        self.print(|form| match form {
            Form::Text(text) => text.part(part),
            Form::Json(json) => json.part(part),
            Form::Nothing => Ok(()),
        })
    }

    fn gap(&mut self) -> Result<(), Error> {
        self.print(|form| match form {
            Form::Text(text) => text.gap(),
            Form::Json(_) | Form::Nothing => Ok(()),
        })
    }

    fn long(&mut self, piece: Long<'_>) -> Result<(), Error> {
        self.print(|form| match form {
            Form::Text(text) => text.long(piece),
            Form::Json(json) => json.long(piece),
            Form::Nothing => Ok(()),
        })
    }
}

/// A pipe of 64 KiB makes writer and reader take turns; one that holds a block lets them work at the same time. A system that
/// does not allow it is no failure.
fn widen_pipe() {
    let _ = rustix::pipe::fcntl_setpipe_size(io::stdout(), PIPE_BYTES);
}

pub(crate) fn output_error(cause: io::Error) -> Error {
    Error::io("standard output", "cannot write", cause)
}
