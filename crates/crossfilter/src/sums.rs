//! Counts of a view.

use crate::columns::{BYTES, NUMBERS, REQUEST_TIME, UPSTREAM_TIME, counted_place};
use crate::number_spread::NumberSpread;
use crate::segment::{Segment, unbiased};
use crate::sparse_counts::{RowsAndBytes, SparseCounts};
use crate::spill::Spill;
use crate::time_axis::{BucketRun, WEEK_HOURS, each_stretch};
use crate::view::TimeRange;
use rorqual_accesslog::LogHistogram;
use rorqual_accesslog::report::PercentileSet;
use rorqual_accesslog::schema::{NumberColumn, Schema};
use serde::{Deserialize, Serialize};
use std::io;

/// Amounts by code in all segments, for each column that
/// [`counted`](crate::columns::ColumnCounts::counted) has, and of all rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sums {
    pub(crate) columns: Vec<SparseCounts>,
    pub(crate) all: RowsAndBytes,
}

impl Sums {
    /// Sums of dictionaries that are so long.
    pub(crate) fn new(lengths: &[usize]) -> Self {
        Self { columns: lengths.iter().map(|length| SparseCounts::new(*length)).collect(), all: RowsAndBytes::default() }
    }

    /// Makes room for values that came since.
    pub(crate) fn grow(&mut self, lengths: &[usize]) {
        self.columns.resize_with(lengths.len(), SparseCounts::default);
        self.columns.iter_mut().zip(lengths).for_each(|(column, length)| column.grow(*length));
    }

    /// Amounts by code of a coded column, one of those that are counted.
    pub(crate) fn column(&self, index: usize) -> &SparseCounts {
        static NOTHING: SparseCounts = SparseCounts::Many(Vec::new());
        counted_place(index).and_then(|at| self.columns.get(at)).unwrap_or(&NOTHING)
    }

    /// Ends adding rows.
    pub(crate) fn settle(&mut self) {
        self.columns.iter_mut().for_each(SparseCounts::settle);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.all.add(other.all);
        self.columns.iter_mut().zip(&other.columns).for_each(|(own, other)| own.add(other));
    }

    pub(crate) fn subtract(&mut self, other: &Self) {
        self.all.subtract(other.all);
        self.columns.iter_mut().zip(&other.columns).for_each(|(own, other)| own.subtract(other));
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.columns.iter().map(SparseCounts::bytes).sum()
    }
}

/// Distributions of the numbers, and rows by hour of the week.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Distributions {
    pub(crate) bytes: LogHistogram,
    pub(crate) request_time: LogHistogram,
    pub(crate) upstream_time: LogHistogram,
    pub(crate) week: Vec<u64>,
    /// First and last time.
    pub(crate) times: Option<(u64, u64)>,
    /// Of each number of the schema's own.
    pub(crate) own: Vec<NumberSpread>,
}

impl Default for Distributions {
    fn default() -> Self {
        let [bytes, request_time, upstream_time] = std::array::from_fn(|_| LogHistogram::default());
        Self { bytes, request_time, upstream_time, week: vec![0; WEEK_HOURS], times: None, own: Vec::new() }
    }
}

impl Distributions {
    pub(crate) fn take(&mut self, other: &Self) {
        self.bytes.take(&other.bytes);
        self.request_time.take(&other.request_time);
        self.upstream_time.take(&other.upstream_time);
        self.week.iter_mut().zip(&other.week).for_each(|(own, other)| *own += other);
        if let Some((first, last)) = other.times {
            self.widen(first, last);
        }
        self.own.resize_with(self.own.len().max(other.own.len()), NumberSpread::default);
        self.own.iter_mut().zip(&other.own).for_each(|(own, other)| own.take(other));
    }

    /// True if distributions of so many rows may be so, which were read from a file.
    pub(crate) fn is_sound(&self, rows: u64) -> bool {
        let week = self.week.iter().try_fold(0u64, |sum, hits| sum.checked_add(*hits));
        let spreads = [&self.bytes, &self.request_time, &self.upstream_time];
        self.week.len() == WEEK_HOURS
            && week.is_some_and(|week| week <= rows)
            && spreads.iter().all(|spread| spread.is_sound(rows))
            && self.own.iter().all(|spread| spread.is_sound(rows))
    }

    pub(crate) fn widen(&mut self, first: u64, last: u64) {
        let (least, most) = self.times.unwrap_or((first, last));
        self.times = Some((least.min(first), most.max(last)));
    }

    /// Adds rows of a segment, whose hours of the week are `hours`.
    pub(crate) fn count(
        &mut self,
        segment: &Segment,
        spill: Option<&Spill>,
        rows: &[u16],
        hours: &[BucketRun],
        schema: &Schema,
    ) -> io::Result<()> {
        let spreads =
            [(BYTES, &mut self.bytes), (REQUEST_TIME, &mut self.request_time), (UPSTREAM_TIME, &mut self.upstream_time)];
        for (index, spread) in spreads {
            let numbers = segment.numbers(index, spill)?;
            if numbers.min().is_some() {
                let mut adding = spread.adding();
                numbers.each(rows, |_, number| number.into_iter().for_each(|number| adding.add(number)));
            }
        }
        self.own.resize_with(schema.own_numbers(), NumberSpread::default);
        for (number, spread) in self.own.iter_mut().enumerate() {
            let numbers = segment.numbers(NUMBERS + number, spill)?;
            if numbers.min().is_some() {
                spread.count(
                    &numbers,
                    rows,
                    schema.unit(NumberColumn::own(number)),
                    NumberSpread::buckets_max(schema.own_numbers()),
                );
            }
        }
        each_stretch(hours, rows, |hour, rows| self.week[hour] += rows.len() as u64);
        Ok(())
    }

    pub(crate) fn time_range(&self) -> Option<TimeRange> {
        let seconds = |time: u64| unbiased(time) as f64 / 1e6;
        self.times.map(|(first, last)| TimeRange { first: seconds(first), last: seconds(last) })
    }

    pub(crate) fn percentiles(&self) -> PercentileSet {
        PercentileSet {
            bytes: self.bytes.percentiles(1.0),
            request_time: self.request_time.percentiles(1e6),
            upstream_time: self.upstream_time.percentiles(1e6),
        }
    }

    /// Rows by weekday and hour.
    pub(crate) fn week_rows(&self) -> Vec<Vec<u64>> {
        self.week.chunks(WEEK_HOURS / 7).map(<[u64]>::to_vec).collect()
    }
}
