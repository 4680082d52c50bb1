//! A column of texts, filled byte by byte.

use arrow_array::{ArrayRef, BinaryArray, StringArray};
use arrow_buffer::{Buffer, NullBufferBuilder, OffsetBuffer};
use std::sync::Arc;

/// Texts as they come; checked all at once when the column is finished, which costs a tenth of
/// checking each.
pub(crate) struct UncheckedTexts {
    values: Vec<u8>,
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
}

impl Default for UncheckedTexts {
    fn default() -> Self {
        Self { values: Vec::new(), offsets: vec![0], nulls: NullBufferBuilder::new(0) }
    }
}

impl UncheckedTexts {
    /// Adds a text; all of them together have less than 2 GiB, since a chunk has.
    #[inline]
    pub(crate) fn push(&mut self, text: &[u8]) {
        self.values.extend_from_slice(text);
        self.offsets.push(i32::try_from(self.values.len()).unwrap_or(i32::MAX));
        self.nulls.append_non_null();
    }

    /// Adds a null.
    #[inline]
    pub(crate) fn push_null(&mut self) {
        self.offsets.push(i32::try_from(self.values.len()).unwrap_or(i32::MAX));
        self.nulls.append_null();
    }

    /// Texts and nulls so far.
    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The column; of texts that are no UTF-8, the bytes that are none become U+FFFD.
    pub(crate) fn finish(&mut self) -> ArrayRef {
        let Self { values, offsets, nulls } = std::mem::take(self);
        let (offsets, values, nulls) = (OffsetBuffer::new(offsets.into()), Buffer::from_vec(values), nulls.build());
        match StringArray::try_new(offsets.clone(), values.clone(), nulls.clone()) {
            Ok(array) => Arc::new(array),
            Err(_) => Arc::new(
                BinaryArray::new(offsets, values, nulls)
                    .iter()
                    .map(|text| text.map(String::from_utf8_lossy))
                    .collect::<StringArray>(),
            ),
        }
    }
}
