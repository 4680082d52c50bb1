//! `rorqual-query`: SQL over files where they lie. `rorqual query` runs it, as git runs its subcommands.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod budget;
mod engine;
mod exit;
mod fault;
mod fit;
mod guard;
mod limits;
mod message;
mod output;
mod prompt;
mod scan;
mod statement;
mod tables;
mod temp;
mod trunc;

use args::Args;
use clap::Parser;
use exit::Exit;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::sync::atomic::Ordering;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { Exit::Bad.into() } else { Exit::Done.into() };
        }
    };
    if let Err(error) = settle_allocator() {
        return message::error(&error).into();
    }
    quieten();
    statement::run(&args).into()
}

/// A library's panic on a file that contradicts itself, while a statement runs, is told as an error; where it was, to those who ask for that.
fn quieten() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !statement::RUNS.load(Ordering::Relaxed) || std::env::var_os("RUST_BACKTRACE").is_some() {
            usual(panic);
        }
    }));
}

/// The allocator reads its settings when a program starts, so one that has none yet starts itself again with them.
fn settle_allocator() -> Result<(), String> {
    if limits::ALLOCATOR.iter().all(|(name, _)| std::env::var_os(name).is_some()) {
        return Ok(());
    }
    let itself = std::env::current_exe().map_err(|cause| format!("cannot find this program: {cause}"))?;
    let unset = limits::ALLOCATOR.iter().filter(|(name, _)| std::env::var_os(name).is_none()).copied();
    let cause = Command::new(itself).args(std::env::args_os().skip(1)).envs(unset).exec();
    Err(format!("cannot start this program again: {cause}"))
}
