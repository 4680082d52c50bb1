//! Where found lines go.

use crate::args::GrepArgs;
use crate::verbs::grep::Output;
use crate::verbs::grep::json::Json;
use crate::verbs::grep::text::{Style, Text};
use rorqual_pipe::gather::{Gather, Output as Stdout};
use rorqual_pipe::{Control, Error, Pool};
use rorqual_search::{Expression, Long, Part, Sink, Summary};
use std::io::{self, Write};

/// Prints what is found.
pub(crate) struct Printer {
    form: Form,
    /// Printing has failed, and so the search is over, whatever the input is like.
    pub(crate) failed: bool,
}

enum Form {
    Text(Box<Text>),
    Json(Box<Json>),
    /// Counts and names, which are printed when an input has ended.
    Summaries(Stdout),
}

impl Printer {
    pub(crate) fn new(
        output: Output,
        args: &GrepArgs,
        expression: &Expression,
        (pool, control): (&Pool, &Control),
        names: bool,
    ) -> io::Result<Self> {
        let out = Stdout::stdout(control)?;
        let form = match output {
            Output::Lines => {
                let text = Text::new(Style::of(args, names), args.replace.as_deref(), expression, Gather::new(out, pool)?);
                Form::Text(Box::new(text))
            }
            Output::Json => Form::Json(Box::new(Json::new(args, expression, Gather::new(out, pool)?))),
            _ => Form::Summaries(out),
        };
        Ok(Self { form, failed: false })
    }

    /// An input begins.
    pub(crate) fn start(&mut self, name: &[u8]) {
        match &mut self.form {
            Form::Text(text) => text.start(name),
            Form::Json(json) => json.start(name),
            Form::Summaries(_) => {}
        }
    }

    /// Lets go of the buffers of others; what came from somebody who may be watching is printed now.
    pub(crate) fn settle(&mut self, live: bool) -> Result<(), Error> {
        self.print(|form| match form {
            Form::Text(text) => text.settle(live),
            Form::Json(json) => json.settle(live),
            Form::Summaries(_) => Ok(()),
        })
    }

    /// An input is over.
    pub(crate) fn end(&mut self, summary: &Summary) -> Result<(), Error> {
        self.print(|form| match form {
            Form::Json(json) => json.end(summary),
            Form::Text(_) | Form::Summaries(_) => Ok(()),
        })
    }

    /// Prints one line about an input.
    pub(crate) fn say(&mut self, line: &[u8]) -> Result<(), Error> {
        self.print(|form| match form {
            Form::Summaries(out) => out.write_all(line).map_err(output_error),
            Form::Text(_) | Form::Json(_) => Ok(()),
        })
    }

    /// Everything is over.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        self.print(|form| match form {
            Form::Text(text) => text.settle(true),
            Form::Json(json) => json.finish(),
            Form::Summaries(_) => Ok(()),
        })
    }

    /// Something could not be printed whole, and that was said.
    pub(crate) fn lost_something(&self) -> bool {
        match &self.form {
            Form::Text(text) => text.lost_something,
            Form::Json(json) => json.lost_something,
            Form::Summaries(_) => false,
        }
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
            Form::Summaries(_) => Ok(()),
        })
    }

    fn gap(&mut self) -> Result<(), Error> {
        self.print(|form| match form {
            Form::Text(text) => text.gap(),
            Form::Json(_) | Form::Summaries(_) => Ok(()),
        })
    }

    fn long(&mut self, piece: Long<'_>) -> Result<(), Error> {
        self.print(|form| match form {
            Form::Text(text) => text.long(piece),
            Form::Json(json) => json.long(piece),
            Form::Summaries(_) => Ok(()),
        })
    }
}

pub(crate) fn output_error(cause: io::Error) -> Error {
    Error::io("standard output", "cannot write", cause)
}
