//! Requests by weekday and hour.

use super::context::percent;
use rorqual_accesslog::aggregate::Analysis;
use rorqual_accesslog::report::{LogReport, TimeHistogram, histogram};
use rorqual_serve::ShownView;
use serde::Serialize;

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// More than a timeline ever holds.
const ALL_BUCKETS: usize = 1 << 17;

/// Requests by weekday and hour, of the log's own clock where its buckets allow that.
#[derive(Debug, Serialize)]
pub(super) struct WeekPlot {
    zone_seconds: i32,
    /// Most requests in one cell.
    most: u64,
    days: Vec<Day>,
}

#[derive(Debug, Serialize)]
struct Day {
    name: &'static str,
    /// The 24 hours.
    hits: Vec<u64>,
    /// The same in per cent of the most.
    shares: Vec<f64>,
}

impl WeekPlot {
    /// `None` when the log is of less than a day, or so long that hours are not held apart.
    pub(super) fn new(report: &LogReport, analysis: &Analysis) -> Option<Self> {
        let time = report.time.filter(|time| time.last - time.first >= DAY as f64)?;
        Self::of(&histogram(analysis, None, None, ALL_BUCKETS), time.zone_seconds)
    }

    /// The same of a view.
    pub(super) fn of_view(view: &ShownView) -> Option<Self> {
        Self::of_hours(&view.report, &view.week)
    }

    /// The same of hits by weekday and hour that were counted before.
    pub(super) fn of_hours(report: &LogReport, week: &[Vec<u64>]) -> Option<Self> {
        let time = report.time.filter(|time| time.last - time.first >= DAY as f64)?;
        let mut hits = [[0_u64; 24]; 7];
        for (day, counted) in hits.iter_mut().zip(week) {
            day.iter_mut().zip(counted).for_each(|(hour, counted)| *hour = *counted);
        }
        Self::counted(&hits, time.zone_seconds)
    }

    fn of(fine: &TimeHistogram, zone_seconds: i32) -> Option<Self> {
        if fine.bucket_seconds > HOUR {
            return None;
        }
        let fits = i64::from(zone_seconds) % fine.bucket_seconds == 0;
        let zone_seconds = if fits { zone_seconds } else { 0 };
        let mut hits = [[0_u64; 24]; 7];
        for (index, at) in fine.at.iter().enumerate() {
            let local = at + i64::from(zone_seconds);
            // The first day of Unix time was a Thursday.
            let (day, hour) = ((local.div_euclid(DAY) + 3).rem_euclid(7), local.rem_euclid(DAY) / HOUR);
            let sum: u64 = fine.series.iter().map(|series| series.hits[index]).sum();
            hits[day as usize][hour as usize] += sum;
        }
        Self::counted(&hits, zone_seconds)
    }

    /// Plot of hits counted before, by the clock at `zone_seconds`; `None` without any.
    pub(super) fn counted(hits: &[[u64; 24]; 7], zone_seconds: i32) -> Option<Self> {
        let most = hits.iter().flatten().copied().max().filter(|most| *most > 0)?;
        let share = |hits: &u64| percent(*hits as f64 / most as f64);
        let day = |(name, hits): (&'static str, &[u64; 24])| Day {
            name,
            hits: hits.to_vec(),
            shares: hits.iter().map(share).collect(),
        };
        Some(Self { zone_seconds, most, days: DAYS.into_iter().zip(hits).map(day).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rorqual_accesslog::report::ReportSeries;

    #[test]
    fn hours_are_those_of_the_logs_clock() {
        // date -u -d '2025-01-05 23:30' +%s: a Sunday, and in UTC+02:00 the Monday after.
        let at = 1_736_119_800;
        let of = |bucket_seconds, zone_seconds| {
            let series = vec![ReportSeries { class: "2xx", hits: vec![5] }, ReportSeries { class: "5xx", hits: vec![2] }];
            WeekPlot::of(&TimeHistogram { bucket_seconds, finest_seconds: 1, at: vec![at], series }, zone_seconds)
        };
        let week = of(1_800, 7_200).expect("half hours will do");
        assert_eq!((week.days[0].hits[1], week.most, week.zone_seconds), (7, 7, 7_200));
        let week = of(3_600, 19_800).expect("hours will do");
        assert_eq!((week.days[6].hits[23], week.zone_seconds), (7, 0), "hours can't be moved by half an hour");
        assert!(of(7_200, 0).is_none());
    }
}
