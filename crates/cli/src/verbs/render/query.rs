//! The rows of `--sql`: the output of `rorqual query`'s program.

use crate::args::{Common, ProcessArgs};
use crate::verbs::query::{SiblingOutput, flags, not_started, program};
use rorqual_pipe::Input;
use std::process::Command;

/// The name of its output in messages.
const NAME: &str = "--sql";

/// Starts the query. Its rows are JSON, an object a line; when it fails, reading fails.
pub(super) fn start(common: &Common, sql: &str) -> Result<Input, String> {
    let mut command = Command::new(program());
    command.args(flags(&ProcessArgs { stats: false, ..common.process.clone() })).args(["--to", "ndjson"]).arg("--").arg(sql);
    let output = SiblingOutput::start(&mut command, NAME).map_err(|cause| not_started(&cause))?;
    Ok(Input::from_reader(NAME, Box::new(output)))
}
