//! The histogram's buckets joined into columns that begin at round times.
// Columns and buckets are far below 2^63.
#![allow(clippy::cast_possible_wrap)]

use rorqual_accesslog::report::TimeHistogram;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Stretches of time that people think in, in seconds, for one column.
#[rustfmt::skip]
const SPANS: [i64; 30] = [
    1, 2, 5, 10, 15, 20, 30,
    MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 20 * MINUTE, 30 * MINUTE,
    HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR, 6 * HOUR, 8 * HOUR, 12 * HOUR,
    DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 84 * DAY, 168 * DAY, 336 * DAY, 1_680 * DAY,
];

/// Hits by class for each column, and the time that the columns stand for.
#[derive(Debug)]
pub(super) struct TimeColumns {
    pub(super) start: i64,
    pub(super) span: i64,
    pub(super) hits: Vec<Vec<u64>>,
}

/// The buckets joined into at most `columns_max` columns, which begin at round times.
pub(super) fn columns(histogram: &TimeHistogram, columns_max: usize) -> Option<TimeColumns> {
    let (&first, &last) = (histogram.at.first()?, histogram.at.last()?);
    let bucket = histogram.bucket_seconds;
    let count = |span: i64| (last.div_euclid(span) - first.div_euclid(span) + 1) as usize;
    let round = SPANS.into_iter().find(|span| span % bucket == 0 && count(*span) <= columns_max);
    let span = round.unwrap_or_else(|| bucket * ((last - first) / bucket / (columns_max as i64 - 1).max(1) + 1));
    let start = first.div_euclid(span) * span;
    let mut hits = vec![vec![0; histogram.series.len()]; count(span)];
    for (index, at) in histogram.at.iter().enumerate() {
        let column = &mut hits[((at - start) / span) as usize];
        for (sum, series) in column.iter_mut().zip(&histogram.series) {
            *sum += series.hits[index];
        }
    }
    Some(TimeColumns { start, span, hits })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rorqual_accesslog::report::ReportSeries;

    fn histogram(bucket_seconds: i64, at: Vec<i64>) -> TimeHistogram {
        let series = vec![ReportSeries { class: "2xx", hits: vec![1; at.len()] }];
        TimeHistogram { bucket_seconds, finest_seconds: 1, at, series }
    }

    #[test]
    fn columns_are_round_stretches_of_time() {
        let day = |number: i64| 1_735_689_600 + number * DAY;
        for (bucket, last, width, span, count) in [
            (HOUR, day(4), 100, HOUR, 97),
            (HOUR, day(4), 90, 2 * HOUR, 49),
            (6 * HOUR, day(90), 80, 2 * DAY, 46),
            (DAY, day(3_650), 100, 84 * DAY, 44),
        ] {
            let columns = columns(&histogram(bucket, vec![day(0), last]), width).expect("it has buckets");
            assert_eq!((columns.span, columns.hits.len()), (span, count));
        }
    }
}
