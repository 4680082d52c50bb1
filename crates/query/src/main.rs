//! `rorqual-query`: SQL over files where they lie. `rorqual query` runs it, as git runs its
//! subcommands.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod arithmetic;
mod budget;
mod copy;
mod engine;
mod fault;
mod fit;
mod limits;
mod output;
mod prompt;
mod scan;
mod statement;
mod sum;
mod tables;
mod temp;
mod trunc;
mod watchdog;

use args::Args;
use clap::Parser;
use rorqual_shell::{exit, message};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

fn main() -> ExitCode {
    rorqual_shell::args::word_settings();
    rorqual_pipe::open_files::raise();
    if let Some(exit) = watchdog::clear_away() {
        return exit.into();
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return rorqual_shell::args::refused::<Args>(error).into(),
    };
    if let Err(error) = rorqual_pipe::allocator::settle(&limits::ALLOCATOR) {
        message::note(&error);
    }
    if let Some(exit) = copy::run(&args) {
        return exit.into();
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
