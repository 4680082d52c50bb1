//! Broken files on which the libraries that read them panic.

use super::Batches;
use arrow_array::RecordBatch;
use rorqual_pipe::{Error, Kind};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Does `work`; a panic is the file's fault. Nothing of what has panicked is used again.
pub(super) fn guarded<T>(name: &str, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let broken = || Error::new(Kind::Corrupt, name, "the file contradicts itself");
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(broken()))
}

/// Batches up to the first error.
pub(super) struct Guarded {
    name: String,
    batches: Option<Batches>,
}

impl Guarded {
    pub(super) fn new(name: &str, batches: Batches) -> Self {
        Self { name: name.to_owned(), batches: Some(batches) }
    }
}

impl Iterator for Guarded {
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
