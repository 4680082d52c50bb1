//! Broken files on which the libraries that read them panic.

use super::ReadBatches;
use arrow_array::RecordBatch;
use rorqual_pipe::{Error, ErrorClass};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// A panic on this thread is told as an error.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Does `work`; a panic is the file's fault. No state of a panicked decoder is used again.
pub(super) fn guarded<T>(name: &str, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    quieten();
    let broken = || Error::new(ErrorClass::Corrupt, name, "the file contradicts itself");
    let before = IS_GUARDED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(before);
    done.unwrap_or_else(|_| Err(broken()))
}

/// Panics that are told as errors print nothing themselves.
fn quieten() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_GUARDED.get() {
                usual(panic);
            }
        }));
    });
}

/// Batches up to the first error.
pub(super) struct FusedBatches {
    name: String,
    batches: Option<ReadBatches>,
}

impl FusedBatches {
    pub(super) fn new(name: &str, batches: ReadBatches) -> Self {
        Self { name: name.to_owned(), batches: Some(batches) }
    }
}

impl Iterator for FusedBatches {
    type Item = Result<RecordBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut batches = self.batches.take()?;
        let next = guarded(&self.name, || batches.next().transpose()).transpose();
        if matches!(next, Some(Ok(_))) {
            self.batches = Some(batches);
        }
        next
    }
}
