//! The rows of `--sql`: the output of `rorqual query`'s program.

use crate::args::{Common, ProcessArgs};
use crate::verbs::query::{flags, not_started, program};
use rorqual_pipe::Input;
use std::io::{self, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The name of its output in messages.
const NAME: &str = "--sql";

/// Starts the query. Its rows are JSON, an object a line; when it fails, reading fails.
pub(super) fn start(common: &Common, sql: &str) -> Result<Input, String> {
    let mut command = Command::new(program());
    command.args(flags(&ProcessArgs { stats: false, ..common.process.clone() })).args(["--to", "ndjson"]).arg("--").arg(sql);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(|cause| not_started(&cause))?;
    let out = child.stdout.take().ok_or("the query has no output")?;
    Ok(Input::from_reader(NAME, Box::new(QueryOutput { child, out, ended: false })))
}

/// Output of a query, until it ends.
struct QueryOutput {
    child: Child,
    out: ChildStdout,
    ended: bool,
}

impl Read for QueryOutput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.out.read(buffer)?;
        if read == 0 && !buffer.is_empty() && !self.ended {
            let status = self.child.wait()?;
            self.ended = true;
            if !status.success() {
                return Err(io::Error::other(format!("the query failed ({status})")));
            }
        }
        Ok(read)
    }
}

impl Drop for QueryOutput {
    fn drop(&mut self) {
        if !self.ended {
            // It may have ended by itself.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
