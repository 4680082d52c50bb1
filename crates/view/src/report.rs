//! What of a report is made of rows.

use crate::store::Store;
use crate::view::{Stack, View, ViewError, Wanted};
use rorqual_pipe::Control;
use rorqual_table::filter::CLASSES;
use rorqual_table::report::{BUCKETS_DEFAULT, Histogram, PANELS, Panel, Report, Series, TimeSpan};

impl Store {
    /// Puts what is counted of all rows into the report of an analysis that tallied nothing, with `top` rows in each table, and the clock
    /// of the log at `zone_seconds` east of UTC.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn fill(&self, report: &mut Report, zone_seconds: i32, top: usize, control: &Control) -> Result<(), ViewError> {
        let wanted = Wanted { top, buckets: BUCKETS_DEFAULT, stack: Stack::Class };
        let viewed = self.view(&View::default(), &wanted, control)?;
        report.bytes_sent = viewed.bytes_sent;
        report.time = viewed.time.map(|time| TimeSpan { first: time.first, last: time.last, zone_seconds });
        report.histogram = viewed.histogram.map(|histogram| Histogram {
            bucket_seconds: histogram.bucket_seconds,
            finest_seconds: histogram.finest_seconds,
            at: histogram.at,
            series: CLASSES.iter().zip(histogram.series).map(|(class, line)| Series { class, hits: line.hits }).collect(),
        });
        report.status = viewed.status;
        report.clients = viewed.clients;
        let shown = |panel: &Panel| panel.hits > 0 && PANELS.iter().any(|(field, _)| *field == panel.field);
        report.panels = viewed.panels.into_iter().filter(shown).collect();
        report.percentiles = viewed.percentiles;
        Ok(())
    }
}
