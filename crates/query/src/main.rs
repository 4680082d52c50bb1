//! `rorqual-query`: SQL over files where they lie. `rorqual query` runs it, as git runs its
//! subcommands.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod budget;
mod engine;
mod exit;
mod fault;
mod fit;
mod limits;
mod message;
mod output;
mod prompt;
mod scan;
mod statement;
mod tables;
mod temp;
mod trunc;
mod watchdog;

use args::Args;
use clap::Parser;
use exit::QueryExit;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

fn main() -> ExitCode {
    if let Some(exit) = watchdog::clear_away() {
        return exit.into();
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Said of arguments that steer no terminal.
            let error = Args::try_parse_from(rorqual_pipe::escaped_args()).err().unwrap_or(error);
            let _ = error.print();
            return if error.use_stderr() { QueryExit::Bad.into() } else { QueryExit::Done.into() };
        }
    };
    if let Err(error) = rorqual_pipe::allocator::settle(&limits::ALLOCATOR) {
        message::note(&error);
    }
    quieten();
    statement::run(&args).into()
}

/// Silences the panics of libraries on files that contradict themselves, while a statement runs:
/// they become errors. With `RUST_BACKTRACE` they are printed too.
fn quieten() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !statement::RUNS.load(Ordering::Relaxed) || std::env::var_os("RUST_BACKTRACE").is_some() {
            usual(panic);
        }
    }));
}
