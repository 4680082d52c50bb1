//! Printers of found lines.

use crate::args::GrepArgs;
use crate::verbs::grep::GrepOutput;
use crate::verbs::grep::json::JsonEvents;
use crate::verbs::grep::ordered_output::{OrderedOutput, OutputSlot};
use crate::verbs::grep::text::{PrintStyle, TextPrinter};
use rorqual_pipe::gather::Gather;
use rorqual_pipe::{BufferPool, Control, Error};
use rorqual_search::{Expression, LineSink, LongPiece, MatchedBlock, ShownLines, Summary};
use std::io::{self, Write};

/// Prints what is found.
pub(crate) struct MatchPrinter {
    form: GrepForm,
    /// Printing has failed, and so the search is over, whatever the input is like.
    pub(crate) failed: bool,
}

enum GrepForm {
    Text(Box<TextPrinter>),
    Json(Box<JsonEvents>),
    /// Counts and names, which are printed when an input has ended.
    Summaries(OrderedOutput),
}

impl MatchPrinter {
    pub(crate) fn new(
        output: GrepOutput,
        args: &GrepArgs,
        expression: &Expression,
        (pool, control): (&BufferPool, &Control),
        names: bool,
    ) -> io::Result<Self> {
        Self::to(OrderedOutput::new(control)?, output, args, expression, pool, names)
    }

    /// One for a lane, which holds up to `held_bytes_max` of its output until its turn comes.
    pub(crate) fn for_lane(
        &self,
        (output, held_bytes_max): (GrepOutput, usize),
        args: &GrepArgs,
        expression: &Expression,
        (pool, control): (&BufferPool, &Control),
        names: bool,
    ) -> io::Result<Self> {
        Self::to(self.output().for_lane(held_bytes_max, control)?, output, args, expression, pool, names)
    }

    fn to(
        out: OrderedOutput,
        output: GrepOutput,
        args: &GrepArgs,
        expression: &Expression,
        pool: &BufferPool,
        names: bool,
    ) -> io::Result<Self> {
        let form = match output {
            GrepOutput::Lines => {
                let text =
                    TextPrinter::new(PrintStyle::of(args, names), args.replace.as_deref(), expression, Gather::new(out, pool)?);
                GrepForm::Text(Box::new(text))
            }
            GrepOutput::Json => GrepForm::Json(Box::new(JsonEvents::new(args, expression, Gather::new(out, pool)?))),
            _ => GrepForm::Summaries(out),
        };
        Ok(Self { form, failed: false })
    }

    fn output(&self) -> &OrderedOutput {
        match &self.form {
            GrepForm::Text(text) => text.out.writer(),
            GrepForm::Json(json) => json.out.writer(),
            GrepForm::Summaries(out) => out,
        }
    }

    fn output_mut(&mut self) -> &mut OrderedOutput {
        match &mut self.form {
            GrepForm::Text(text) => text.out.writer_mut(),
            GrepForm::Json(json) => json.out.writer_mut(),
            GrepForm::Summaries(out) => out,
        }
    }

    /// An input begins whose output waits for its turn.
    pub(super) fn start_ordered(&mut self, slot: &OutputSlot) {
        self.output_mut().start(slot);
    }

    /// Waits for the turn, and prints all that waits for it.
    pub(super) fn take_turn(&mut self) -> Result<(), Error> {
        self.settle(true)?;
        let taken = self.output_mut().take_turn().map_err(output_error);
        self.failed |= taken.is_err();
        taken
    }

    /// Takes the totals of one that printed beside this one.
    pub(super) fn add_totals(&mut self, other: &mut Self) {
        match (&mut self.form, &mut other.form) {
            (GrepForm::Json(json), GrepForm::Json(other)) => json.add_totals(other),
            (GrepForm::Text(text), GrepForm::Text(other)) => text.lost_something |= other.lost_something,
            _ => {}
        }
    }

    /// An input begins.
    pub(crate) fn start(&mut self, name: &[u8]) {
        match &mut self.form {
            GrepForm::Text(text) => text.start(name),
            GrepForm::Json(json) => json.start(name),
            GrepForm::Summaries(_) => {}
        }
    }

    /// Lets go of the buffers of others; what came from somebody who may be watching is printed
    /// now.
    pub(crate) fn settle(&mut self, live: bool) -> Result<(), Error> {
        self.print(|form| match form {
            GrepForm::Text(text) => text.settle(live),
            GrepForm::Json(json) => json.settle(live),
            GrepForm::Summaries(_) => Ok(()),
        })
    }

    /// An input is over.
    pub(crate) fn end(&mut self, summary: &Summary) -> Result<(), Error> {
        self.print(|form| match form {
            GrepForm::Json(json) => json.end(summary),
            GrepForm::Text(text) => {
                text.input_ended();
                Ok(())
            }
            GrepForm::Summaries(_) => Ok(()),
        })
    }

    /// Prints one line about an input.
    pub(crate) fn say(&mut self, line: &[u8]) -> Result<(), Error> {
        self.print(|form| match form {
            GrepForm::Summaries(out) => out.write_all(line).map_err(output_error),
            GrepForm::Text(_) | GrepForm::Json(_) => Ok(()),
        })
    }

    /// Everything is over.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        self.print(|form| match form {
            GrepForm::Text(text) => text.settle(true),
            GrepForm::Json(json) => json.finish(),
            GrepForm::Summaries(_) => Ok(()),
        })
    }

    /// Something could not be printed whole, and that was said.
    pub(crate) fn lost_something(&self) -> bool {
        match &self.form {
            GrepForm::Text(text) => text.lost_something,
            GrepForm::Json(json) => json.lost_something,
            GrepForm::Summaries(_) => false,
        }
    }

    fn print(&mut self, print: impl FnOnce(&mut GrepForm) -> Result<(), Error>) -> Result<(), Error> {
        let printed = print(&mut self.form);
        self.failed |= printed.is_err();
        printed
    }
}

impl LineSink for &mut MatchPrinter {
    fn part(&mut self, part: ShownLines<'_>) -> Result<(), Error> {
        self.print(|form| match form {
            GrepForm::Text(text) => text.part(part),
            GrepForm::Json(json) => json.part(part),
            GrepForm::Summaries(_) => Ok(()),
        })
    }

    fn block(&mut self, block: MatchedBlock<'_>) -> Result<(), Error> {
        self.print(|form| match form {
            GrepForm::Text(text) => text.block(&block),
            GrepForm::Json(json) => json.block(&block),
            GrepForm::Summaries(_) => Ok(()),
        })
    }

    fn gap(&mut self) -> Result<(), Error> {
        self.print(|form| match form {
            GrepForm::Text(text) => text.gap(),
            GrepForm::Json(_) | GrepForm::Summaries(_) => Ok(()),
        })
    }

    fn long(&mut self, piece: LongPiece<'_>) -> Result<(), Error> {
        self.print(|form| match form {
            GrepForm::Text(text) => text.long(piece),
            GrepForm::Json(json) => json.long(piece),
            GrepForm::Summaries(_) => Ok(()),
        })
    }
}

pub(crate) fn output_error(cause: io::Error) -> Error {
    Error::io("standard output", "cannot write", cause)
}
