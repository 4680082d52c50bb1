//! Output of the program `rorqual`, for what is not in a library: SQL.

use crate::failure::OperationFailure;
use crate::running::Running;
use rorqual_pipe::{Control, beside};
use serde_json::Value;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::task::Poll;
use std::time::Duration;

/// A stop is looked for so often.
const STOP_EVERY: Duration = Duration::from_millis(50);

/// Output is handed over in pieces of this size.
const PIECE_BYTES: usize = 64 << 10;

/// Documents are handed over so many at a time.
const DOCUMENTS_GIVEN: usize = 500;

/// Messages of the program are kept to this length.
const MESSAGE_BYTES_MAX: usize = 64 << 10;

/// Output of a program, and at its end what it said beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramItem<T> {
    /// A part of its output.
    Output(T),
    /// Notes of a program that succeeded, as about records that were left out.
    Notes(String),
}

/// Runs a program and writes its exit status after its messages. The program is ended when standard
/// input is: by that, too, nothing is left of a process that was killed.
///
/// A runtime that ignores the ends of children, as Erlang's does, can't wait for a status.
const WITH_STATUS: &str = r#"
exec 3<&0
"$0" "$@" </dev/null 3<&- & program=$!
{ read -r _ <&3; kill "$program"; } >/dev/null 2>&1 & watch=$!
exec >/dev/null 3<&-
wait "$program"; status=$?
kill "$watch" 2>/dev/null
echo "$status" >&2
"#;

/// The output of a program, in pieces. It waits while nobody takes them, and ends when the
/// operation is dropped.
#[must_use]
pub fn output(program: PathBuf, arguments: Vec<String>) -> Running<ProgramItem<Vec<u8>>> {
    begin(program, arguments, |mut output, give| {
        loop {
            let mut piece = Vec::new();
            output.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut piece).map_err(|error| unread(&error))?;
            if piece.is_empty() || !give(piece) {
                return Ok(());
            }
        }
    })
}

/// The JSON documents that a program prints, some at a time.
#[must_use]
pub fn documents(program: PathBuf, arguments: Vec<String>) -> Running<ProgramItem<Vec<Value>>> {
    begin(program, arguments, |output, give| {
        let mut some = Vec::new();
        for document in serde_json::Deserializer::from_reader(BufReader::new(output)).into_iter() {
            some.push(document.map_err(|error| unread(&error))?);
            if some.len() == DOCUMENTS_GIVEN && !give(std::mem::take(&mut some)) {
                return Ok(());
            }
        }
        if !some.is_empty() {
            give(some);
        }
        Ok(())
    })
}

fn unread(error: &dyn std::fmt::Display) -> OperationFailure {
    OperationFailure::new("program", format!("its output can't be read: {error}"))
}

/// Reads the output of a program, and hands items over as long as they are wanted.
type Reading<T> = fn(Box<dyn Read + Send>, &mut dyn FnMut(T) -> bool) -> Result<(), OperationFailure>;

fn begin<T: Send + 'static>(program: PathBuf, arguments: Vec<String>, reading: Reading<T>) -> Running<ProgramItem<T>> {
    let control = Control::default();
    let stop = control.clone();
    Running::start(&control, move |give| {
        let mut child = started(&program, &arguments)?;
        let errors = child.stderr.take();
        let mut said = beside(1, move |sender| {
            let _gone = sender.send(errors.map(message).unwrap_or_default());
        });
        let output: Box<dyn Read + Send> = match child.stdout.take() {
            Some(output) => Box::new(output),
            None => Box::new(io::empty()),
        };
        let mut items = beside(1, move |sender| {
            if let Err(failure) = reading(output, &mut |item| sender.send(Ok(item)).is_ok()) {
                let _gone = sender.send(Err(failure));
            }
        });
        let given = loop {
            match items.wait(STOP_EVERY) {
                Poll::Pending if stop.stopped() => break Err(OperationFailure::new("stopped", "stopped before its end")),
                Poll::Pending => {}
                Poll::Ready(Some(item)) => {
                    if let Err(failure) = item.and_then(|item| give(ProgramItem::Output(item))) {
                        break Err(failure);
                    }
                }
                Poll::Ready(None) => break Ok(()),
            }
        };
        if given.is_err() {
            drop(child.stdin.take());
        }
        drop(items);
        let said = said.next().unwrap_or_default();
        // Its status is in the text: this fails where others wait for all children.
        let _status = child.wait();
        given?;
        let (message, status) = said.trim_end().rsplit_once('\n').unwrap_or(("", said.trim_end()));
        match (status, message.trim()) {
            ("0", "") => Ok(()),
            ("0", notes) => give(ProgramItem::Notes(notes.to_owned())),
            (_, "") => Err(OperationFailure::new("program", format!("{}: ended with status {status}", program.display()))),
            (_, message) => Err(OperationFailure::new("program", message)),
        }
    })
}

fn started(program: &Path, arguments: &[String]) -> Result<Child, OperationFailure> {
    let failed = |error: io::Error| OperationFailure::new("io", format!("{}: {error}", program.display()));
    if program.is_absolute() {
        std::fs::metadata(program).map_err(failed)?;
    }
    let mut command = Command::new("/bin/sh");
    command.args(["-c", WITH_STATUS]).arg(program).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed)
}

/// The last of what a program says.
fn message(mut errors: impl Read) -> String {
    let (mut text, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(length @ 1..) = errors.read(&mut piece) {
        text.extend_from_slice(&piece[..length]);
        let most = text.len().saturating_sub(MESSAGE_BYTES_MAX);
        text.drain(..most);
    }
    String::from_utf8_lossy(&text).into_owned()
}
