//! SQL over files where they lie: the program `rorqual-query`, as a library for the program that
//! runs the same queries on several machines.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod aggregate;
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
mod tables;
mod temp;
mod trunc;
mod watchdog;
mod yielding;

pub use args::{Args as QueryArgs, BadRecordFlag};
pub use arithmetic::{checked_of_parts, checked_parts};
pub use budget::QueryShares;
pub use engine::{operators_pool, runtime};
pub use limits::{ALLOCATOR, TEMP_BYTES_DEFAULT};
pub use scan::{
    FilePlace, NoteRecord, ObjectStretches, OpenMode, OpenPart, PartGuard, PartedFile, RecordSource, ScanContext, ScanSpec,
    ScanTallies,
};
pub use statement::{PlanRunner, StopSignals};
pub use tables::remote::make_store;
pub use temp::TempFolder;
pub use watchdog::{QueryWatchdog, clear_away};
pub use yielding::YieldingExec;

use args::Args;
use clap::Parser;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use rorqual_shell::exit::ExitStatus;
use rorqual_shell::{exit, message};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

/// Does what the arguments of the process say.
#[must_use]
pub fn program() -> ExitCode {
    rorqual_shell::args::word_settings();
    rorqual_pipe::open_files::raise();
    if let Some(exit) = clear_away() {
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
    run(&args, None).into()
}

/// Runs the statements of the arguments; the queries of files by `elsewhere` if that is given.
#[must_use]
pub fn run(args: &QueryArgs, elsewhere: Option<&dyn PlanRunner>) -> ExitStatus {
    if elsewhere.is_some() && args.record_max.is_some() {
        return message::error(&"--record-max is one of executors: `rorqual cluster executor --record-max`");
    }
    quieten();
    statement::run(args, elsewhere)
}

/// Functions that stand in place of the engine's own of the same names.
#[must_use]
pub fn functions() -> (ScalarUDF, [AggregateUDF; 2]) {
    (trunc::utc_trunc(), [aggregate::checked_sum(), aggregate::checked_average()])
}

/// The message for an error of a process with these shares.
#[must_use]
pub fn describe(error: &datafusion::error::DataFusionError, shares: &QueryShares) -> String {
    fault::describe(error, shares)
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
