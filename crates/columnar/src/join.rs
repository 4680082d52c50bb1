//! Small batches joined to larger ones: each costs its taker something, however few rows it has.

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::concat::concat_batches;
use std::time::{Duration, Instant};

/// Rows of small batches that wait to become one.
pub(crate) struct BatchJoiner {
    schema: SchemaRef,
    limits: JoinLimits,
    waiting: Vec<RecordBatch>,
    bytes: usize,
    rows: usize,
    /// Last time that rows were given.
    given: Option<Instant>,
}

/// Sizes from which rows do not wait for more; 0 gives each batch as it comes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JoinLimits {
    pub(crate) bytes: usize,
    pub(crate) rows: usize,
}

impl BatchJoiner {
    pub(crate) fn new(schema: SchemaRef, limits: JoinLimits) -> Self {
        Self { schema, limits, waiting: Vec::new(), bytes: 0, rows: 0, given: None }
    }

    /// Adds rows, and gives what is enough by now: those that waited, and a batch that is large
    /// alone, which is not copied.
    pub(crate) fn push(&mut self, batch: RecordBatch) -> Result<impl Iterator<Item = RecordBatch> + use<>, ArrowError> {
        // A batch may have rows and no columns.
        let (bytes, rows) = (batch.get_array_memory_size() + size_of::<RecordBatch>(), batch.num_rows());
        let mut given = [None, None];
        if self.is_enough(bytes, rows) {
            given = [self.join()?, Some(batch)];
        } else {
            self.bytes += bytes;
            self.rows += rows;
            self.waiting.push(batch);
            if self.is_enough(self.bytes, self.rows) {
                given[0] = self.join()?;
            }
        }
        Ok(given.into_iter().flatten().filter(|batch| batch.num_rows() > 0))
    }

    fn is_enough(&self, bytes: usize, rows: usize) -> bool {
        bytes >= self.limits.bytes || rows >= self.limits.rows
    }

    /// True where rows wait that are the first, or where so much time has passed since the last
    /// were given.
    pub(crate) fn is_due(&self, time: Duration) -> bool {
        !self.waiting.is_empty() && self.given.is_none_or(|given| given.elapsed() >= time)
    }

    /// The waiting rows as one batch, if there are any.
    pub(crate) fn join(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let mut waiting = std::mem::take(&mut self.waiting);
        (self.bytes, self.rows, self.given) = (0, 0, Some(Instant::now()));
        let batch = match waiting.as_slice() {
            [_] => waiting.pop(),
            batches => Some(concat_batches(&self.schema, batches)?),
        };
        Ok(batch.filter(|batch| batch.num_rows() > 0))
    }
}

#[cfg(test)]
mod tests {
    use super::{BatchJoiner, JoinLimits};
    use arrow_array::{Int32Array, RecordBatch, RecordBatchOptions};
    use arrow_schema::{DataType, Field, Schema};
    use std::sync::Arc;
    use std::time::Duration;

    fn numbers(rows: std::ops::Range<i32>) -> RecordBatch {
        let schema = Schema::new(vec![Field::new("n", DataType::Int32, false)]);
        RecordBatch::try_new(Arc::new(schema), vec![Arc::new(Int32Array::from_iter_values(rows))]).unwrap()
    }

    #[test]
    fn small_batches_are_joined_in_order_and_a_large_one_comes_after_those_that_waited() {
        let mut joiner = BatchJoiner::new(numbers(0..1).schema(), JoinLimits { bytes: 1 << 20, rows: 10 });
        assert!(!joiner.is_due(Duration::ZERO));
        assert_eq!(joiner.push(numbers(0..4)).unwrap().count(), 0);
        assert!(joiner.is_due(Duration::MAX), "the first rows do not wait");
        assert_eq!(joiner.push(numbers(4..11)).unwrap().collect::<Vec<_>>(), [numbers(0..11)]);
        assert!(!joiner.is_due(Duration::ZERO), "none wait");
        assert_eq!(joiner.push(numbers(11..13)).unwrap().count(), 0);
        assert!(joiner.is_due(Duration::ZERO) && !joiner.is_due(Duration::MAX));
        assert_eq!(joiner.push(numbers(13..30)).unwrap().collect::<Vec<_>>(), [numbers(11..13), numbers(13..30)]);
        assert_eq!(joiner.join().unwrap(), None);
    }

    #[test]
    fn batches_without_columns_wait_for_rows_alone_and_have_an_end() {
        let schema = Arc::new(Schema::empty());
        let rows = |count| {
            let options = RecordBatchOptions::new().with_row_count(Some(count));
            RecordBatch::try_new_with_options(Arc::clone(&schema), Vec::new(), &options).unwrap()
        };
        let mut joiner = BatchJoiner::new(Arc::clone(&schema), JoinLimits { bytes: 1 << 20, rows: 100 });
        let given: Vec<usize> = (0..25).flat_map(|_| joiner.push(rows(9)).unwrap()).map(|batch| batch.num_rows()).collect();
        assert_eq!((given, joiner.join().unwrap().map(|batch| batch.num_rows())), (vec![108, 108], Some(9)));
    }
}
