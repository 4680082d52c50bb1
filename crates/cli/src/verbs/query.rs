//! `rorqual query`

use crate::args::{Common, ProcessArgs, QueryArgs, TerminalWhen};
use crate::exit::ExitStatus;
use crate::message;
use rorqual_pipe::reason;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The program that answers queries.
const PROGRAM: &str = "rorqual-query";

/// Becomes the program beside this one, or the one that the shell would find.
pub(crate) fn run(common: &Common, args: &QueryArgs) -> ExitStatus {
    if common.limit_rate.is_some() {
        return message::error(&"query has no --limit-rate");
    }
    if common.progress == TerminalWhen::Always {
        return message::error(&"query has no --progress");
    }
    let program = program();
    // The query's own flags come last: of a flag given twice they count.
    let cause = Command::new(&program).args(flags(&common.process)).args(&args.args).exec();
    message::error(&not_started(&cause))
}

/// The program beside this one, or the one that the shell would find.
pub(crate) fn program() -> PathBuf {
    sibling().filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(PROGRAM))
}

/// Reason for which it does not start.
pub(crate) fn not_started(cause: &std::io::Error) -> String {
    if cause.kind() == ErrorKind::NotFound {
        return format!(
            "{PROGRAM} is neither beside this program nor in PATH. It is built apart: \
             cargo build --release -p {PROGRAM}, or make install"
        );
    }
    format!("{PROGRAM}: cannot start: {}", reason(cause))
}

fn sibling() -> Option<PathBuf> {
    let itself = std::env::current_exe().ok()?;
    Some(itself.parent()?.join(PROGRAM))
}

/// Flags of every verb that mean something to queries.
pub(crate) fn flags(process: &ProcessArgs) -> Vec<OsString> {
    let mut flags = Vec::new();
    if let Some(memory) = process.memory {
        flags.push(format!("--memory={memory}").into());
    }
    if let Some(threads) = process.threads {
        flags.push(format!("--threads={threads}").into());
    }
    if process.stats {
        flags.push("--stats".into());
    }
    flags
}
