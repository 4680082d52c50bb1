//! Questions that `rorqual logs` answers about the lines of a log.

use crate::args::temp::TempArgs;
use clap::Args;
use clap::builder::PossibleValuesParser;
use rorqual_crossfilter::BreakdownMetric;

/// At most one question; each takes the place of the report.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Questions, in place of the report")]
pub(crate) struct ExploreArgs {
    /// Findings without a question: spans of time in which errors, the number of requests,
    /// durations, sizes or the share of a value are unusual
    ///
    /// Each has its span, what happened in it, and a filter for --where; ask --explain of the span
    /// for more. A quiet log has none.
    #[arg(long, group = "question")]
    pub(crate) findings: bool,
    /// Explain a span of time: values, and pairs of them, that are over-represented in it against
    /// all other lines
    ///
    /// Times as those of --since, either may be left out (`2025-01-31T08:00..`); TO is not in it.
    /// The other lines are those that --since, --until and --where select. Each finding has its
    /// shares, the G statistic that the order is by, and a filter for --where.
    #[arg(long, value_name = "FROM..TO", group = "question")]
    pub(crate) explain: Option<String>,
    /// Compare two spans of time: shares of each value in both, the most significant change first
    #[arg(long, value_names = ["A..B", "C..D"], num_args = 2, group = "question")]
    pub(crate) compare: Option<Vec<String>>,
    /// Busiest second and busiest minute of each client, with their times, and the requests that a
    /// limit would have blocked
    #[arg(long, group = "question")]
    pub(crate) rates: bool,
    /// With --rates: for each client, the number of requests that a limit of N per clock minute
    /// would have blocked
    #[arg(long, value_name = "N", requires = "rates", conflicts_with = "limit_per_second")]
    pub(crate) limit_per_minute: Option<u64>,
    /// With --rates: the same for a limit of N per clock second
    #[arg(long, value_name = "N", requires = "rates")]
    pub(crate) limit_per_second: Option<u64>,
    /// Metrics of the values of a field, such as `path`, `client`, `status` or a column of the
    /// file's own: a row for each of the --top values; by `time` a row for each bucket of time,
    /// about --top of them; with --rates count requests by `client` (the default), or by `net`
    /// (/24, /48)
    #[arg(long, value_name = "FIELD", conflicts_with_all = ["findings", "explain", "compare"])]
    pub(crate) by: Option<String>,
    /// With --by: metrics of each value, separated by commas [default: all that the lines have but
    /// p99, total, first and last]
    #[arg(long, value_name = "METRICS", value_delimiter = ',', requires = "by", conflicts_with = "rates",
          value_parser = metrics(|_| true))]
    pub(crate) show: Option<Vec<String>>,
    /// With --by: metric that the values are ordered by, the highest first
    ///
    /// Hits, errors, error_rate, refused and bytes rank all values. The others rank the thousand
    /// values with most lines; the answer says so where there are more.
    #[arg(long, value_name = "METRIC", default_value = "hits", requires = "by", conflicts_with = "rates",
          value_parser = metrics(BreakdownMetric::is_sortable))]
    pub(crate) sort: String,
    /// With --by: field of the numbers that p50, p95, p99, max and total are of [default:
    /// request_time, or upstream_time where there is none]
    #[arg(long, value_name = "FIELD", requires = "by", conflicts_with = "rates")]
    pub(crate) measure: Option<String>,
    #[command(flatten)]
    pub(crate) temp: TempArgs,
}

impl ExploreArgs {
    /// True if anything is asked.
    pub(crate) fn asks(&self) -> bool {
        self.findings || self.explain.is_some() || self.compare.is_some() || self.rates || self.by.is_some()
    }
}

/// Names of the metrics for which `is_meant` is true.
fn metrics(is_meant: impl Fn(BreakdownMetric) -> bool) -> PossibleValuesParser {
    PossibleValuesParser::new(BreakdownMetric::ALL.into_iter().filter(|metric| is_meant(*metric)).map(BreakdownMetric::name))
}
