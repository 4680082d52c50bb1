//! Operations on threads of their own.

use crate::failure::OperationFailure;
use rorqual_pipe::{Background, Control, beside};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::time::Duration;

/// Items that wait for who takes them, beside the one that is handed over.
const ITEMS_AHEAD: usize = 1;

/// An operation that is under way, and gives items: many, or its one result. Dropping it ends it,
/// and waits until its threads are gone.
#[derive(Debug)]
pub struct Running<T> {
    control: Control,
    /// Its item goes on under the same control: once it was given, the control is not ours to stop.
    is_handed_over: Option<bool>,
    made: Option<Background<Result<T, OperationFailure>>>,
}

/// Hands an item to whoever takes them; a failure where nobody does any more.
pub(crate) type Give<'a, T> = &'a (dyn Fn(T) -> Result<(), OperationFailure> + Sync);

impl<T: Send + 'static> Running<T> {
    /// Begins `work`, which `control` stops.
    pub(crate) fn start(
        control: &Control,
        work: impl FnOnce(Give<'_, T>) -> Result<(), OperationFailure> + Send + 'static,
    ) -> Self {
        let made = beside(ITEMS_AHEAD, move |sender| {
            let give = |item| sender.send(Ok(item)).map_err(|_| OperationFailure::new("stopped", "nobody wants more"));
            let ended = catch_unwind(AssertUnwindSafe(|| work(&give))).unwrap_or_else(|_| Err(OperationFailure::defect()));
            if let Err(failure) = ended {
                let _gone = sender.send(Err(failure));
            }
        });
        Self { control: control.clone(), is_handed_over: None, made: Some(made) }
    }

    /// Begins work that has one result.
    pub(crate) fn one(control: &Control, work: impl FnOnce() -> Result<T, OperationFailure> + Send + 'static) -> Self {
        Self::start(control, |give| give(work()?))
    }

    /// The same, with a result that goes on under the same control.
    pub(crate) fn beginning(control: &Control, work: impl FnOnce() -> Result<T, OperationFailure> + Send + 'static) -> Self {
        let mut running = Self::one(control, work);
        running.is_handed_over = Some(false);
        running
    }
}

impl<T> Running<T> {
    /// The next item, or [`Poll::Pending`] when there is none within `patience`.
    pub fn wait(&mut self, patience: Duration) -> Poll<Option<Result<T, OperationFailure>>> {
        let item = self.made.as_mut().map_or(Poll::Ready(None), |made| made.wait(patience));
        self.given(matches!(item, Poll::Ready(Some(Ok(_)))));
        item
    }

    fn given(&mut self, is_item: bool) {
        if let Some(is_handed_over) = &mut self.is_handed_over {
            *is_handed_over |= is_item;
        }
    }

    /// The stop of the operation, and its counts of bytes.
    #[must_use]
    pub fn control(&self) -> &Control {
        &self.control
    }
}

impl<T> Iterator for Running<T> {
    type Item = Result<T, OperationFailure>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.made.as_mut()?.next();
        self.given(matches!(item, Some(Ok(_))));
        item
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        if self.is_handed_over != Some(true) {
            self.control.stop();
        }
        self.made = None;
    }
}
