//! Dispersion: the factor by which the rows of a value vary more from one time run of the log to
//! the next than if each came by itself.
//!
//! Requests come in visits: where one of an agent, a network or a host is, others of it are near,
//! and a G-test that takes each for itself calls every long visit a finding. So its G is divided by
//! the value's overdispersion outside of the rows asked about, as chi-squared statistics of
//! clustered samples are (Rao and Scott, "The analysis of categorical data from complex sample
//! surveys", JASA 76, 1981; McCullagh and Nelder, "Generalized linear models", 1989, section 4.5):
//! Pearson's chi squared over stretches with about as many rows as were asked about, by its degrees
//! of freedom.

use crate::bits::Bits;
use crate::candidates::CandidateTest;
use crate::columns::TIME;
use crate::question::{SegmentRows, ViewQuestion};
use crate::segment::{InputRun, Segment, biased, unbiased};
use crate::spill::Spill;
use crate::store::Snapshot;
use crate::view::ViewError;
use std::borrow::Cow;
use std::io;
use std::sync::Arc;

/// Stretches of neighbouring rows that the log is cut into, where the question is as small; with
/// some 400 values they take 1.6 MiB a thread.
const CELLS_MAX: usize = 1_024;

/// Segments that are looked at, about: of logs with more some stretches are left out, evenly.
const SEGMENTS_MAX: usize = 2 * CELLS_MAX;

/// Fewest rows of a stretch.
const CELL_ROWS_MIN: u64 = 64;

/// Rows that are in one stretch by the time of the first of them.
const TIMED_ROWS: usize = 64;

/// Points of time that stand for the rows of a log, about.
const POINTS_MAX: u64 = 8_192;

/// Least number of cells; where the question is large they are smaller than it.
pub(crate) const CELLS_MIN: usize = 32;

/// A stretch with so small a part of a usual one's rows is left out.
const PART_MIN: usize = 4;

/// Part of the stretches that is believed, in tenths: in the worst of the others something else may
/// have happened to the same value.
const KEPT_TENTHS: usize = 9;

/// Mean of chi squared with one degree of freedom, once the worst tenth is left out.
const KEPT_MEAN: f64 = 0.623;

/// Rows of sets of tests in stretches of the rest.
pub(crate) struct DispersionCells {
    sets: usize,
    /// For each stretch its rows, and those of each set.
    counts: Vec<u32>,
}

/// Rows of a segment in one stretch.
#[derive(Clone)]
struct RowRun {
    cell: usize,
    start: usize,
    end: usize,
}

impl ViewQuestion<'_> {
    /// Counts the rows that pass all tests of each of `sets`, outside of the rows asked about, in
    /// stretches of so many rows.
    pub(crate) fn cells(
        &self,
        snapshot: &Snapshot,
        sets: &[Vec<&CandidateTest>],
        rows_each: u64,
    ) -> Result<DispersionCells, ViewError> {
        let pieces = cut(snapshot, rows_each, snapshot.segments.len().div_ceil(SEGMENTS_MAX));
        let cells = pieces.iter().flatten().map(|piece| piece.cell + 1).max().unwrap_or(0);
        let wanted = snapshot.segments.iter().enumerate().filter(|(number, _)| !pieces[*number].is_empty());
        self.count_pieces(wanted, sets, cells, |asked, _| Ok(Cow::Borrowed(&pieces[asked.number][..])))
    }

    /// The same in stretches that other stores have, too: between the times `ends`, or without any
    /// in `cells` of the same length by the order of the rows.
    pub(crate) fn shared_cells(
        &self,
        snapshot: &Snapshot,
        sets: &[Vec<&CandidateTest>],
        (cells, ends): (usize, &[i64]),
    ) -> Result<DispersionCells, ViewError> {
        let all = snapshot.segments.iter().enumerate();
        if ends.is_empty() {
            let pieces = cut(snapshot, snapshot.rows().div_ceil(cells as u64), 1);
            return self.count_pieces(all, sets, cells, |asked, _| Ok(Cow::Borrowed(&pieces[asked.number][..])));
        }
        let ends: Vec<u64> = ends.iter().map(|end| biased(*end)).collect();
        self.count_pieces(all, sets, cells, |_, segment| Ok(Cow::Owned(cut_by_time(segment, &ends)?)))
    }

    fn count_pieces<'s, 'p>(
        &self,
        segments: impl Iterator<Item = (usize, &'s Arc<Segment>)> + Send,
        sets: &[Vec<&CandidateTest>],
        cells: usize,
        pieces: impl Fn(&SegmentRows, &Segment) -> io::Result<Cow<'p, [RowRun]>> + Sync,
    ) -> Result<DispersionCells, ViewError> {
        let empty = || DispersionCells { sets: sets.len(), counts: vec![0; cells * (sets.len() + 1)] };
        let work = |cells: &mut DispersionCells, segment: &Segment, asked: &SegmentRows| {
            self.count_cells(segment, asked, sets, &pieces(asked, segment)?, cells)
        };
        let workers = self.pass(segments, empty, |asked| asked.all.count() > asked.inside.count(), work)?;
        Ok(workers.into_iter().fold(empty(), |mut joined, cells| {
            joined.add(&cells);
            joined
        }))
    }

    fn count_cells(
        &self,
        segment: &Segment,
        asked: &SegmentRows,
        sets: &[Vec<&CandidateTest>],
        pieces: &[RowRun],
        cells: &mut DispersionCells,
    ) -> io::Result<()> {
        let mut outside = asked.all.clone();
        outside.without(&asked.inside);
        let width = sets.len() + 1;
        let mut put = |place: usize, bits: &Bits| {
            for RowRun { cell, start, end } in pieces {
                cells.counts[cell * width + place] += bits.count_in(*start, *end) as u32;
            }
        };
        put(0, &outside);
        for (place, tests) in (1..).zip(sets) {
            if let Some(bits) = CandidateTest::select_all(tests, &outside, segment, self.store)? {
                put(place, &bits);
            }
        }
        Ok(())
    }
}

/// Number of stretches for so many rows asked about and others.
pub(crate) fn cell_count((rows_in, rows_out): (u64, u64)) -> usize {
    usize::try_from(rows_out / rows_in.max(1)).unwrap_or(CELLS_MAX).clamp(CELLS_MIN, CELLS_MAX)
}

/// Rows of a stretch of a log with `rows` rows, for so many asked about and others.
pub(crate) fn cell_rows(rows: u64, asked: (u64, u64)) -> u64 {
    rows.div_ceil(cell_count(asked) as u64).max(CELL_ROWS_MIN)
}

/// Cuts the log into stretches of so many rows, of which each `step`th is taken: for each segment,
/// which of its rows are in which. They follow the order of the rows in the log, so that it does
/// not matter which thread took which of them.
fn cut(snapshot: &Snapshot, size: u64, step: usize) -> Vec<Vec<RowRun>> {
    let (size, step) = (usize::try_from(size).unwrap_or(usize::MAX).max(1), step.max(1));
    let runs_of = |(number, segment): (usize, &Arc<Segment>)| segment.runs.iter().map(|run| (*run, number)).collect::<Vec<_>>();
    let mut runs: Vec<(InputRun, usize)> = snapshot.segments.iter().enumerate().flat_map(runs_of).collect();
    runs.sort_unstable_by_key(|(run, number)| (run.input, run.offset, *number, run.row));
    let mut pieces: Vec<Vec<RowRun>> = snapshot.segments.iter().map(|_| Vec::new()).collect();
    let mut before = 0;
    for (run, number) in runs {
        let (mut start, end) = (run.row as usize, (run.row + run.rows) as usize);
        while start < end {
            let cell = before / size;
            let rows = (end - start).min((cell + 1).saturating_mul(size) - before);
            if cell % step == 0 {
                add_piece(&mut pieces[number], RowRun { cell, start, end: start + rows });
            }
            (start, before) = (start + rows, before + rows);
        }
    }
    pieces
}

/// Cuts a segment into stretches between times, by the first time of each few rows.
fn cut_by_time(segment: &Segment, ends: &[u64]) -> io::Result<Vec<RowRun>> {
    let times = segment.numbers(TIME, None)?;
    let (mut pieces, mut time) = (Vec::new(), 0);
    for start in (0..segment.rows).step_by(TIMED_ROWS) {
        let end = (start + TIMED_ROWS).min(segment.rows);
        time = (start..end).find_map(|row| times.get(row)).unwrap_or(time);
        add_piece(&mut pieces, RowRun { cell: ends.partition_point(|end| *end <= time), start, end });
    }
    Ok(pieces)
}

impl Snapshot {
    /// Times that cut the log into at most so many parts with about equal numbers of rows, in Unix
    /// microseconds.
    pub(crate) fn time_quantiles(&self, most: usize, spill: Option<&Spill>) -> io::Result<Vec<i64>> {
        let step = usize::try_from(self.rows() / POINTS_MAX).unwrap_or(usize::MAX).max(1);
        let (mut times, mut next) = (Vec::new(), 0);
        for segment in &self.segments {
            if next < segment.rows {
                let of_segment = segment.numbers(TIME, spill)?;
                let rows = (next..segment.rows).step_by(step);
                times.extend(rows.clone().filter_map(|row| of_segment.get(row)).map(|time| (unbiased(time), 1.0)));
                next += rows.len() * step;
            }
            next -= segment.rows;
        }
        Ok(equal_parts(times, most))
    }
}

/// Times that cut rows into at most so many parts of about equal weight, of times with weights.
pub(crate) fn equal_parts(mut weighted: Vec<(i64, f64)>, most: usize) -> Vec<i64> {
    weighted.sort_by_key(|(time, _)| *time);
    let all: f64 = weighted.iter().map(|(_, weight)| weight).sum();
    let (mut ends, mut before, mut last) = (Vec::new(), 0.0, 0);
    for (time, weight) in weighted {
        // Many rows may have one time: the parts after it begin at the next one.
        let part = ((before / all * most as f64) as usize).min(most.saturating_sub(1));
        if part > last && ends.last() != Some(&time) {
            ends.push(time);
            last = part;
        }
        before += weight;
    }
    ends
}

fn add_piece(pieces: &mut Vec<RowRun>, piece: RowRun) {
    match pieces.last_mut() {
        Some(last) if last.cell == piece.cell && last.end == piece.start => last.end = piece.end,
        _ => pieces.push(piece),
    }
}

/// The stretches of one set: rows, and those that pass.
pub(crate) struct TimeRuns(Vec<(f64, f64)>);

impl DispersionCells {
    /// Of counts as they are kept: for each stretch its rows, and those of each of so many sets;
    /// `None` of others.
    pub(crate) fn new(sets: usize, counts: Vec<u32>) -> Option<Self> {
        let are_within = |cell: &[u32]| cell.len() == sets + 1 && cell[1..].iter().all(|hits| *hits <= cell[0]);
        counts.chunks(sets + 1).all(are_within).then_some(Self { sets, counts })
    }

    /// Without any row, of so many sets.
    pub(crate) fn empty(sets: usize, cells: usize) -> Self {
        Self { sets, counts: vec![0; cells * (sets + 1)] }
    }

    /// Adds the rows of the same stretches.
    pub(crate) fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, more)| *sum = sum.saturating_add(*more));
    }

    pub(crate) fn counts(&self) -> &[u32] {
        &self.counts
    }

    pub(crate) fn of(&self, set: usize) -> TimeRuns {
        let pair = |cell: &[u32]| (f64::from(cell[0]), f64::from(cell[set + 1]));
        TimeRuns(self.large().map(pair).collect())
    }

    /// Number of stretches that are not left out.
    pub(crate) fn usable(&self) -> usize {
        self.large().count()
    }

    fn large(&self) -> impl Iterator<Item = &[u32]> {
        let cells = || self.counts.chunks_exact(self.sets + 1);
        let rows: u64 = cells().map(|cell| u64::from(cell[0])).sum();
        let rows_min = rows as f64 / (cells().len().max(1) * PART_MIN) as f64;
        cells().filter(move |cell| cell[0] > 0 && f64::from(cell[0]) >= rows_min)
    }
}

impl TimeRuns {
    /// True if there are rows in most of them.
    pub(crate) fn are_full(&self) -> bool {
        self.0.iter().filter(|(_, hits)| *hits > 0.0).count() * 2 > self.0.len()
    }

    /// About 1 for rows that come each by itself. A value that is seldom there has its visits in
    /// the worst stretches, so these are believed.
    pub(crate) fn dispersion(&self) -> f64 {
        if self.are_full() { self.dispersion_kept() } else { self.dispersion_whole() }
    }

    fn dispersion_whole(&self) -> f64 {
        let all = self.squares();
        all.iter().sum::<f64>() / (all.len().max(2) - 1) as f64
    }

    /// The same, whatever happened in a few of them.
    pub(crate) fn dispersion_kept(&self) -> f64 {
        let all = self.squares();
        let kept = &all[..(all.len() * KEPT_TENTHS).div_ceil(10)];
        kept.iter().sum::<f64>() / kept.len().max(1) as f64 / KEPT_MEAN
    }

    /// Parts of Pearson's chi squared, in ascending order.
    fn squares(&self) -> Vec<f64> {
        let (rows, hits) = self.0.iter().fold((0.0, 0.0), |(rows, hits), cell| (rows + cell.0, hits + cell.1));
        if hits == 0.0 || hits >= rows {
            return Vec::new();
        }
        let share = hits / rows;
        let square = |(rows, hits): &(f64, f64)| (hits - rows * share).powi(2) / (rows * share * (1.0 - share));
        let mut squares: Vec<f64> = self.0.iter().map(square).collect();
        squares.sort_by(f64::total_cmp);
        squares
    }
}

/// The upper quartile; 1 of none.
pub(crate) fn upper_quartile(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() * 3 / 4).copied().unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_cut_weights_into_equal_parts() {
        let of = |times: &[(i64, f64)], most| equal_parts(times.to_vec(), most);
        let even: Vec<(i64, f64)> = (0..100).map(|time| (time, 1.0)).collect();
        assert_eq!(of(&even, 4), [25, 50, 75]);
        assert!(of(&even, 1).is_empty());
        // A time that half of all rows have, and one that nearly all have.
        let heavy: Vec<(i64, f64)> = even.iter().map(|(time, _)| (*time, if *time == 10 { 99.0 } else { 1.0 })).collect();
        assert_eq!(of(&heavy, 4), [11, 51]);
        let single: Vec<(i64, f64)> = (0..50).map(|time| (time, if time == 0 { 1e6 } else { 1.0 })).collect();
        assert_eq!(of(&single, 500), [1]);
        assert!(of(&[], 4).is_empty());
        assert!(of(&[(1, 0.0), (2, 0.0)], 4).is_empty());
    }

    #[test]
    fn pearson_by_hand() {
        // A share of 0.2 in all: 4 of 10 and 0 of 10 are 2 away from 2, squared by 1.6.
        let stretches = TimeRuns(vec![(10.0, 4.0), (10.0, 0.0), (10.0, 2.0), (10.0, 2.0)]);
        assert!((stretches.dispersion_whole() - (2.5 + 2.5) / 3.0).abs() < 1e-12);
        assert!(TimeRuns(vec![(10.0, 4.0)]).are_full() && !stretches_of_one_visit().are_full());
        // One visit of 20 in a hundred stretches: as clumpy as the visit is long.
        let clumps = stretches_of_one_visit().dispersion();
        assert!((clumps - 20.0).abs() < 0.5, "{clumps}");
        assert!(stretches_of_one_visit().dispersion_kept() < 1.0);
        assert!(TimeRuns(vec![(5.0, 0.0)]).dispersion() < 1e-9);
    }

    fn stretches_of_one_visit() -> TimeRuns {
        TimeRuns((0..100).map(|cell| (1_000.0, if cell == 50 { 20.0 } else { 0.0 })).collect())
    }
}
