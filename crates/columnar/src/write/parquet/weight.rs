//! Memory of arrays.

use arrow_array::{Array, ArrayRef};
use arrow_data::ArrayData;
use std::collections::HashSet;

/// Memory of an array beside its buffers: its own fields, and those of each buffer.
pub(super) const ARRAY_BYTES: usize = 256;

/// Memory of some arrays; buffers that several of them share count once.
#[derive(Default)]
pub(super) struct ArrayWeight {
    seen: HashSet<usize>,
    bytes: usize,
}

impl ArrayWeight {
    /// Memory of `arrays`.
    pub(super) fn of<'a>(arrays: impl IntoIterator<Item = &'a ArrayRef>) -> usize {
        let mut weight = Self::default();
        arrays.into_iter().for_each(|array| weight.add(&array.to_data()));
        weight.bytes
    }

    fn add(&mut self, data: &ArrayData) {
        let nulls = data.nulls().map(|nulls| nulls.inner().inner());
        for buffer in data.buffers().iter().chain(nulls) {
            if self.seen.insert(buffer.data_ptr().as_ptr() as usize) {
                self.bytes += buffer.capacity();
            }
        }
        self.bytes += ARRAY_BYTES;
        data.child_data().iter().for_each(|child| self.add(child));
    }
}
