//! The rows of a Parquet file whose large pages have no room side by side: its columns in turns.
//!
//! Each turn reads the next rows of one column after another, with values of their own, so that the
//! pages of one are free before those of the next are read. A large page is decoded once a turn.

use super::chunks::Chunks;
use super::groups::{GroupRows, Groups};
use super::parquet::ParquetFooter;
use crate::limits::BATCH_BYTES_MAX;
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::take::take;
use parquet::arrow::ProjectionMask;
use rorqual_pipe::setting::MEMORY;
use rorqual_pipe::{Error, ErrorClass, format_size};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Columns that are read at once.
pub(super) struct TurnColumns {
    pub(super) mask: ProjectionMask,
    pub(super) schema: SchemaRef,
}

/// The columns of a file in sets.
pub(super) struct ColumnSets {
    pub(super) sets: Vec<TurnColumns>,
    /// Of each column of the rows, the set that has it and its place there.
    pub(super) places: Vec<(usize, usize)>,
    /// Bytes of rows of all sets that may wait for the others.
    pub(super) waiting_bytes: usize,
}

/// Reads the columns in turns.
pub(super) struct ColumnTurns {
    name: String,
    footer: Arc<ParquetFooter>,
    chunks: Chunks,
    schema: SchemaRef,
    /// Places of the columns, as [`ColumnSets`] has them.
    places: Vec<(usize, usize)>,
    parts: Vec<GroupRows>,
    sets: Vec<ColumnSet>,
    /// Bytes of each set that wait for the others, beside the last batch of them.
    bytes_max: usize,
}

struct ColumnSet {
    columns: TurnColumns,
    /// Rows that were read.
    rows: usize,
    is_over: bool,
    waiting: VecDeque<RecordBatch>,
}

impl ColumnTurns {
    pub(super) fn new(
        footer: &Arc<ParquetFooter>,
        chunks: &Chunks,
        name: &str,
        ColumnSets { sets, places, waiting_bytes }: ColumnSets,
        schema: SchemaRef,
        parts: Vec<GroupRows>,
    ) -> Self {
        let bytes_max = waiting_bytes / sets.len().max(1);
        let set = |columns| ColumnSet { columns, rows: 0, is_over: false, waiting: VecDeque::new() };
        Self {
            name: name.to_owned(),
            footer: Arc::clone(footer),
            chunks: chunks.clone(),
            schema,
            places,
            parts,
            sets: sets.into_iter().map(set).collect(),
            bytes_max,
        }
    }

    fn step(&mut self) -> Result<Option<RecordBatch>, Error> {
        for number in 0..self.sets.len() {
            if self.sets[number].waiting.is_empty() && !self.sets[number].is_over {
                self.fill(number)?;
            }
        }
        let rows = self.sets.iter().map(|set| set.waiting.front().map_or(0, RecordBatch::num_rows));
        let (least, most) = rows.fold((usize::MAX, 0), |(least, most), rows| (rows.min(least), rows.max(most)));
        if most == 0 {
            return Ok(None);
        }
        if least == 0 {
            let text = "not a sound Parquet file: its columns have different numbers of rows";
            return Err(Error::new(ErrorClass::Corrupt, &self.name, text));
        }
        self.together(least).map(Some).map_err(|error| Error::new(ErrorClass::Corrupt, &self.name, error.to_string()))
    }

    /// Reads the next rows of a set, with a reader that goes with its pages.
    fn fill(&mut self, number: usize) -> Result<(), Error> {
        let set = &mut self.sets[number];
        let TurnColumns { mask, schema } = &set.columns;
        let columns = (mask.clone(), schema);
        let mut groups = Groups::new(&self.footer, &self.chunks, &self.name, columns, self.parts.clone(), None).after(set.rows);
        let mut bytes = 0;
        while bytes == 0 || bytes + BATCH_BYTES_MAX <= self.bytes_max {
            let Some(batch) = groups.next().transpose()? else {
                set.is_over = true;
                break;
            };
            set.rows += batch.num_rows();
            bytes += batch.get_array_memory_size().max(1);
            set.waiting.push_back(batch);
        }
        self.check_waiting()
    }

    /// Refuses rows that are larger than one may be, side by side.
    fn check_waiting(&self) -> Result<(), Error> {
        let waiting = self.sets.iter().flat_map(|set| &set.waiting).map(RecordBatch::get_array_memory_size).sum::<usize>();
        let most = self.bytes_max * self.sets.len() + self.footer.row_bytes_max();
        if waiting <= most {
            return Ok(());
        }
        let [waiting, most] = [waiting, most].map(|bytes| format_size(bytes as u64));
        let text =
            format!("rows take {waiting} side by side, more than {most}: more {MEMORY}, or fewer columns, would take them");
        Err(Error::new(ErrorClass::Limit, &self.name, text))
    }

    /// The first rows of all sets as one batch.
    fn together(&mut self, rows: usize) -> Result<RecordBatch, ArrowError> {
        let taken = self.sets.iter_mut().map(|set| set.take(rows)).collect::<Result<Vec<_>, ArrowError>>()?;
        let columns = self.places.iter().map(|(set, place)| Arc::clone(&taken[*set][*place]));
        RecordBatch::try_new(Arc::clone(&self.schema), columns.collect())
    }
}

impl ColumnSet {
    /// The first rows that wait, as arrays that share nothing with those that stay.
    fn take(&mut self, rows: usize) -> Result<Vec<ArrayRef>, ArrowError> {
        let Some(batch) = self.waiting.pop_front() else { return Ok(Vec::new()) };
        if batch.num_rows() == rows {
            return Ok(batch.columns().to_vec());
        }
        let part = |range: Range<usize>| {
            let places = UInt64Array::from_iter_values(range.start as u64..range.end as u64);
            batch.columns().iter().map(|column| take(column, &places, None)).collect::<Result<Vec<_>, ArrowError>>()
        };
        let rest = RecordBatch::try_new(batch.schema(), part(rows..batch.num_rows())?)?;
        self.waiting.push_front(rest);
        part(0..rows)
    }
}

impl Iterator for ColumnTurns {
    type Item = Result<RecordBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}
