//! `timed REPORT PROGRAM ARG…`: runs a program and writes its time and memory to the file REPORT,
//! as JSON.
//!
//! `wait4` from the benchmark itself would mislead: Linux keeps the peak of a process over `exec`,
//! so a child of a Python starts with Python's 15 MiB and more as its "peak". This parent is small,
//! and so is its child's beginning.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a development tool; printing is its interface")]

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde_json::json;
use std::error::Error;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode};
use std::time::Instant;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("timed: {error}\nusage: timed REPORT PROGRAM ARG...");
            ExitCode::from(2)
        }
    }
}

fn run(args: &[String]) -> Result<(), Box<dyn Error>> {
    let [report, program, rest @ ..] = args else {
        return Err("too few arguments".into());
    };
    let start = Instant::now();
    let status = Command::new(program).args(rest).status()?;
    let seconds = start.elapsed().as_secs_f64();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let text = json!({
        "seconds": seconds,
        "user_seconds": usage.user_time().num_microseconds() as f64 / 1e6,
        "system_seconds": usage.system_time().num_microseconds() as f64 / 1e6,
        "peak_bytes": usage.max_rss() * 1024,
        "exit_code": status.code(),
        "signal": status.signal(),
    });
    std::fs::write(report, text.to_string())?;
    Ok(())
}
