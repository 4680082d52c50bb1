//! The rows of `--sql`: the output of `rorqual query`'s program.

use crate::args::{Common, ProcessArgs};
use crate::verbs::query::{SiblingOutput, flags, program, query_not_started};
use rorqual_pipe::Input;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// The name of its output in messages.
const NAME: &str = "--sql";

/// A query, and the output of its rows, which must be none of its files.
#[derive(Debug, Clone)]
pub(super) struct TemplateQuery {
    pub(super) sql: String,
    /// `None` where it is no file.
    pub(super) output: Option<PathBuf>,
    /// `{}` in its name becomes a number.
    pub(super) splits: bool,
}

/// Starts the query. Its rows are JSON, an object a line; when it fails, reading fails.
pub(super) fn start(common: &Common, query: &TemplateQuery) -> Result<Input, String> {
    let mut command = Command::new(program());
    command.args(flags(&ProcessArgs { stats: false, ..common.process.clone() })).args(["--to", "ndjson"]);
    if let Some(output) = &query.output {
        let mut flag = OsString::from("--caller-output=");
        flag.push(output);
        command.arg(flag).args(query.splits.then_some("--caller-splits"));
    }
    command.arg("--").arg(&query.sql);
    let output = SiblingOutput::start(&mut command, NAME).map_err(|cause| query_not_started(&cause))?;
    Ok(Input::from_reader(NAME, Box::new(output)))
}
