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
const MESSAGE_BYTES_MAX: u64 = 64 << 10;

/// The output of a program, in pieces. It waits while nobody takes them, and ends when the
/// operation is dropped.
#[must_use]
pub fn output(program: PathBuf, arguments: Vec<String>) -> Running<Vec<u8>> {
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
pub fn documents(program: PathBuf, arguments: Vec<String>) -> Running<Vec<Value>> {
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

fn begin<T: Send + 'static>(program: PathBuf, arguments: Vec<String>, reading: Reading<T>) -> Running<T> {
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
                    if let Err(failure) = item.and_then(give) {
                        break Err(failure);
                    }
                }
                Poll::Ready(None) => break Ok(()),
            }
        };
        if given.is_err() {
            // A failure to end it is one of a program that has ended.
            let _ended = child.kill();
        }
        drop(items);
        let said = said.next().unwrap_or_default();
        let status = child.wait().map_err(|error| failed(&program, &error))?;
        given?;
        let message = || if said.is_empty() { format!("{}: {status}", program.display()) } else { said };
        if status.success() { Ok(()) } else { Err(OperationFailure::new("program", message())) }
    })
}

fn started(program: &Path, arguments: &[String]) -> Result<Child, OperationFailure> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().map_err(|error| failed(program, &error))
}

fn failed(program: &Path, error: &io::Error) -> OperationFailure {
    OperationFailure::new("io", format!("{}: {error}", program.display()))
}

/// What a program says, to its end.
fn message(mut errors: impl Read) -> String {
    let mut text = Vec::new();
    let _unread = errors.by_ref().take(MESSAGE_BYTES_MAX).read_to_end(&mut text);
    // Whoever does not read on holds it up.
    let _unread = io::copy(&mut errors, &mut io::sink());
    String::from_utf8_lossy(&text).trim().to_owned()
}
