//! Whole templates by MiniJinja: those that the emitter does not know.

use crate::error::RenderError;
use minijinja::{Environment, Value};
use rorqual_pipe::{Control, Sink};
use std::io;
use std::sync::{Mutex, PoisonError};

/// Renders a template into a sink; the reason for failed rows replaces MiniJinja's message.
pub(crate) fn render(
    env: &Environment<'_>,
    name: &str,
    root: Value,
    failed: &Mutex<Option<RenderError>>,
    control: &Control,
    sink: &mut dyn Sink,
) -> Result<(), RenderError> {
    let mut writer = SinkWriter { sink, control, failed: None };
    let result = env.get_template(name).and_then(|template| template.render_captured_to(root, &mut writer).map(drop));
    let Err(error) = result else { return Ok(()) };
    if let Some(cause) = writer.failed {
        return Err(RenderError::Write(cause));
    }
    Err(cause(error.into(), failed))
}

/// The reason for failed rows, where an error is about that; MiniJinja passes on only its text.
pub(crate) fn cause(error: RenderError, failed: &Mutex<Option<RenderError>>) -> RenderError {
    failed.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or(error)
}

/// A sink as a writer, which takes nothing more when the rendering was stopped.
struct SinkWriter<'a> {
    sink: &'a mut dyn Sink,
    control: &'a Control,
    failed: Option<io::Error>,
}

impl io::Write for SinkWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = if self.control.stopped() { Err(io::ErrorKind::BrokenPipe.into()) } else { self.sink.copy(bytes) };
        match taken {
            Ok(()) => Ok(bytes.len()),
            Err(cause) => {
                let same = io::Error::new(cause.kind(), "the sink failed");
                self.failed = Some(cause);
                Err(same)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
