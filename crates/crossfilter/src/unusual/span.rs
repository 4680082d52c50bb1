//! Unusual spans as they are told.

use serde::Serialize;

/// Spans at most: so many fine counts have room.
pub(super) const SPANS_MAX: usize = 8;

/// Spans that stand out of a log.
#[derive(Debug, Clone, Serialize)]
pub struct UnusualSpans {
    /// Most unusual first; empty of a quiet log.
    #[serde(rename = "findings")]
    pub spans: Vec<UnusualSpan>,
    /// Rows that were looked at.
    pub rows: u64,
    /// Rows that there was no place for, and that are in no span.
    pub dropped: u64,
    /// Values that were followed over time.
    pub values: usize,
    /// Windows of time of values that were tried.
    pub tried: usize,
    /// True if every row was looked at, and each value had room.
    pub exact: bool,
}

/// Kind of an unusual span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UnusualKind {
    /// More statuses from 500 on.
    Errors,
    /// More statuses from 400 to 499.
    Refused,
    /// Requests took longer.
    Slower,
    /// Responses were larger.
    Larger,
    /// A larger share of the requests, or more requests of all.
    More,
    /// A smaller share of the requests, or fewer requests of all.
    Fewer,
}

/// An unusual span.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct UnusualSpan {
    /// Unix seconds of its begin.
    pub from: i64,
    /// Unix seconds of its end, which is not in it.
    pub to: i64,
    /// Meaning of its numbers.
    pub kind: UnusualKind,
    /// Name of the value's field, for programs; `None` of all requests.
    pub field: Option<String>,
    /// The value as in the log.
    pub value: Option<String>,
    /// Filter for the rows that it is about.
    pub filter: String,
    /// Summary of it in a few words, for people.
    pub text: String,
    /// Rows in the span that are unusual: errors, or requests.
    pub hits: u64,
    /// Rows in the span that might have been so: requests of the value, or all.
    pub rows: u64,
    /// Hits that would be usual.
    pub expected: f64,
    /// The quotient of these; of durations and sizes that of the geometric means.
    pub ratio: f64,
    /// Standard deviations from what is usual, which the order is by.
    pub z: f64,
    /// Share of false ones among all that stand out as much (Benjamini and Hochberg).
    pub q: f64,
    /// Filters of other values that stand out in the same span.
    pub companions: Vec<String>,
}
