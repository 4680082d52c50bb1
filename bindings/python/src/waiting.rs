//! Waiting without holding the interpreter, and without being deaf to Ctrl-C.

use crate::failures::{no_result, raised};
use pyo3::prelude::*;
use rorqual_embed::Running;
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

/// Signals are looked for so often.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

/// The next item of an operation. Ctrl-C, or another signal whose handler raises, ends the wait with
/// its exception.
pub(crate) fn next<T: Send + 'static>(py: Python<'_>, running: &mut Running<T>) -> PyResult<Option<T>> {
    loop {
        match py.detach(|| running.wait(SIGNALS_EVERY)) {
            Poll::Ready(item) => return item.transpose().map_err(|failure| raised(py, &failure)),
            Poll::Pending => py.check_signals()?,
        }
    }
}

/// The one result of an operation.
pub(crate) fn result<T: Send + 'static>(py: Python<'_>, running: Running<T>) -> PyResult<T> {
    let mut running = Detached::new(running);
    running.with(|running| next(py, running))?.flatten().ok_or_else(no_result)
}

/// Holder of something whose end waits for threads that may need the interpreter: it is released
/// for that.
pub(crate) struct Detached<T: Send>(Mutex<Option<T>>);

impl<T: Send> Detached<T> {
    pub(crate) fn new(held: T) -> Self {
        Self(Mutex::new(Some(held)))
    }

    /// Works with it; `None` once it was closed, or while another thread works with it.
    pub(crate) fn with<R>(&mut self, work: impl FnOnce(&mut T) -> PyResult<R>) -> PyResult<Option<R>> {
        let held = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        held.as_mut().map(work).transpose()
    }

    /// Takes it out.
    pub(crate) fn take(&mut self) -> Option<T> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Ends it.
    pub(crate) fn close(&mut self) {
        let Some(held) = self.take() else { return };
        let mut held = Some(held);
        let ended = Python::try_attach(|py| {
            let held = held.take();
            py.detach(|| drop(held));
        });
        if ended.is_none() {
            // The interpreter is gone, and nobody can wait for whoever needs it.
            std::mem::forget(held);
        }
    }
}

impl<T: Send> Drop for Detached<T> {
    fn drop(&mut self) {
        self.close();
    }
}
