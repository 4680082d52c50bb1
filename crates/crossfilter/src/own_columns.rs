//! Stores for logs with columns of their own, in the memory of one without.

use crate::limits::{
    SEGMENT_ROWS_MIN, STORE_BYTES_MIN, TABLE_NUMBERS_BYTES, own_recorder_bytes, recorder_bytes, table_columns_bytes,
    table_segment_bytes, table_segment_rows,
};
use crate::store::RowStoreSettings;
use rorqual_accesslog::aggregate::own_worker_bytes;
use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::{LogVariable, OWN_NUMBERS_MAX, OWN_TEXTS_MAX, OwnColumns};
use std::sync::Arc;

/// Part of a store's memory that its columns of a log's own may take beside the rows.
const BESIDE_PART: u64 = 2;

impl RowStoreSettings {
    /// The same for a log in `format`, with room for `late` columns more. As many of its own
    /// columns have room as the memory allows, and the others are [left out](OwnColumns::left_out).
    /// Recorders of other logs are counted already, of `workers`; and the distributions of numbers
    /// where they `are_counted`.
    #[must_use]
    pub fn of_format(self, format: &LogFormat, late: usize, workers: usize, are_counted: bool) -> Self {
        let variables = format.variables();
        let is_number = |variable: &&LogVariable| variable.column().unit.is_some();
        let numbers = variables.iter().filter(is_number).count();
        let texts = (variables.len() - numbers + late).min(OWN_TEXTS_MAX);
        if texts + numbers == 0 {
            return self;
        }
        let own = |texts, numbers| Some(Arc::new(OwnColumns::new(variables, texts, numbers)));
        let mut most = (texts, numbers.min(OWN_NUMBERS_MAX));
        loop {
            let (texts, numbers) = most;
            if let Some((segment_rows, beside)) = self.fitting(most, workers, are_counted) {
                return Self { segment_rows, memory_bytes: self.memory_bytes - beside, own: own(texts, numbers), ..self };
            }
            most = (texts / 2, numbers / 2);
        }
    }

    /// The same for a log with these columns of its own.
    #[must_use]
    pub fn with_own(self, own: Arc<OwnColumns>, workers: usize, are_counted: bool) -> Self {
        let least = (self.segment_rows.min(SEGMENT_ROWS_MIN), self.memory_bytes / BESIDE_PART);
        let (segment_rows, beside) = self.fitting(own.most(), workers, are_counted).unwrap_or(least);
        Self { segment_rows, memory_bytes: self.memory_bytes - beside, own: Some(own), ..self }
    }

    /// Rows of a segment, and memory beside the rows, for so many columns of texts and of numbers.
    fn fitting(&self, (texts, numbers): (usize, usize), workers: usize, are_counted: bool) -> Option<(usize, u64)> {
        if texts + numbers == 0 {
            return Some((self.segment_rows, 0));
        }
        let spreads = if are_counted || numbers == 0 { 0 } else { self.threads as u64 * TABLE_NUMBERS_BYTES };
        let columns = self.threads as u64 * table_columns_bytes(texts, numbers);
        let beside = |rows: usize| {
            let recorder = own_recorder_bytes(rows, texts, numbers).saturating_sub(recorder_bytes(self.segment_rows));
            spreads + columns + workers as u64 * (recorder + own_worker_bytes(texts, numbers))
        };
        let needed = |rows: usize| beside(rows) + STORE_BYTES_MIN.max(4 * table_segment_bytes(rows, texts, numbers));
        let rows_max = self.segment_rows.min(table_segment_rows(self.memory_bytes, texts, numbers));
        let mut sizes = std::iter::successors(Some(rows_max), |rows| Some(rows / 2)).take_while(|rows| *rows >= SEGMENT_ROWS_MIN);
        let fits = |rows: &usize| needed(*rows) <= self.memory_bytes && beside(*rows) <= self.memory_bytes / BESIDE_PART;
        sizes.find(fits).map(|rows| (rows, beside(rows)))
    }
}
