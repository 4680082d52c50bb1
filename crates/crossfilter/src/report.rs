//! Parts of a report that are made of rows.

use crate::store::RowStore;
use crate::view::{Outcomes, Stack, View, ViewError, ViewParts, ViewResult};
use rorqual_accesslog::aggregate::LineCounts;
use rorqual_accesslog::filter::CLASSES;
use rorqual_accesslog::report::{BUCKETS_DEFAULT, LogReport, PANELS, Panel, ReportSeries, TimeHistogram, TimeSpan};
use rorqual_pipe::Control;

impl RowStore {
    /// Puts the counts of all rows into the report of an analysis that tallied nothing, with `top`
    /// rows in each table, and the clock of the log at `zone_seconds` east of UTC. Returns the rows
    /// by their outcome, and by weekday, Monday first, and hour.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn fill(
        &self,
        report: &mut LogReport,
        zone_seconds: i32,
        top: usize,
        control: &Control,
    ) -> Result<(LineCounts, Vec<Vec<u64>>), ViewError> {
        let viewed = self.view(&View::default(), &wanted(top), control)?;
        let Outcomes { total, parsed, repaired, rejected } = viewed.lines;
        let week = viewed.week.clone();
        put(report, viewed, zone_seconds);
        Ok((LineCounts { total, parsed, repaired, rejected, ..LineCounts::default() }, week))
    }

    /// The same of a view: lines that are kept and not meant become filtered ones, and examples of
    /// flawed lines stay where all of them are meant. With it comes the week: rows by weekday,
    /// Monday first, and hour.
    ///
    /// # Errors
    /// As [`RowStore::fill`].
    pub fn fill_view(
        &self,
        report: &mut LogReport,
        view: &View,
        zone_seconds: i32,
        top: usize,
        control: &Control,
    ) -> Result<Vec<Vec<u64>>, ViewError> {
        let viewed = self.view(view, &wanted(top), control)?;
        let (lines, week) = (viewed.lines, viewed.week.clone());
        let kept = report.lines;
        report.lines = LineCounts {
            parsed: lines.parsed,
            repaired: lines.repaired,
            rejected: lines.rejected,
            // Not known of a part of them.
            pieces: if lines.rejected == kept.rejected { kept.pieces } else { 0 },
            filtered: kept.filtered + (kept.parsed + kept.rejected).saturating_sub(lines.total),
            ..kept
        };
        for (samples, count, all) in
            [(&mut report.rejects, lines.rejected, kept.rejected), (&mut report.repairs, lines.repaired, kept.repaired)]
        {
            samples.count = count;
            if count != all {
                samples.samples.clear();
            }
        }
        put(report, viewed, zone_seconds);
        Ok(week)
    }
}

fn wanted(top: usize) -> ViewParts {
    ViewParts { top, buckets: BUCKETS_DEFAULT, stack: Stack::Class, facets: false }
}

impl ViewResult {
    /// Puts the counts of all rows into a report, with the clock of the log at `zone_seconds` east
    /// of UTC.
    pub fn put_into(self, report: &mut LogReport, zone_seconds: i32) {
        let Outcomes { total, parsed, repaired, rejected } = self.lines;
        report.lines = LineCounts { total, parsed, repaired, rejected, ..LineCounts::default() };
        put(report, self, zone_seconds);
    }
}

fn put(report: &mut LogReport, viewed: ViewResult, zone_seconds: i32) {
    report.rows_dropped = viewed.rows.dropped;
    report.bytes_sent = viewed.bytes_sent;
    report.time = viewed.time.map(|time| TimeSpan { first: time.first, last: time.last, zone_seconds });
    report.histogram = viewed.histogram.map(|histogram| TimeHistogram {
        bucket_seconds: histogram.bucket_seconds,
        finest_seconds: histogram.finest_seconds,
        at: histogram.at,
        series: CLASSES.iter().zip(histogram.series).map(|(class, line)| ReportSeries { class, hits: line.hits }).collect(),
    });
    report.status = viewed.status;
    report.clients = viewed.clients;
    let shown = |panel: &Panel| panel.hits > 0 && PANELS.iter().any(|(field, _)| *field == panel.field);
    report.panels = viewed.panels.into_iter().filter(shown).collect();
    report.percentiles = viewed.percentiles;
}
