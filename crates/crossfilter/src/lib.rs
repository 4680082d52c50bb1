//! The crossfilter: rows of access logs as coded columns in bounded memory, and every panel of any
//! filtered view of them.
//!
//! * A [`RowStore`] holds the rows in segments of up to 65,536, each column as narrow as it is;
//!   texts are codes of dictionaries. Beyond its memory segments go, compressed, to a file without
//!   a name, and are read back by the same pass. With a journal in its place a store can be
//!   checkpointed, and restored by another process.
//! * [`Recordings`] fill it from the workers of an analysis, or of one after another, while others
//!   look.
//! * A [`View`] is a span and a filter. The filter is asked once of each distinct value; the rest
//!   is one pass over codes, by all threads, and over the selected rows or the others, whichever
//!   are fewer.
//!
//! This crate opens no socket, starts no runtime and knows no flag.

mod bits;
mod breakdown;
mod builder;
mod candidates;
mod code_set;
mod codes;
mod columns;
mod compare;
mod count_segment;
mod count_view;
mod dictionary;
mod dispersion;
mod evidence;
mod explain;
mod explain_offers;
mod explain_place;
mod facet_counts;
mod facets;
mod file_bytes;
mod find;
pub mod fleet;
mod histogram;
mod journal;
mod journal_record;
mod late_codes;
pub mod limits;
mod number_buckets;
mod number_spread;
mod numbers;
mod outcome_counts;
mod outliers;
mod own_columns;
mod page;
mod page_row;
mod panel_counts;
mod panels;
mod plan;
mod question;
mod rates;
mod recorder;
mod report;
mod row_order;
mod saved_counts;
mod scan_rows;
mod segment;
mod series;
mod series_text;
mod sorted;
mod sparse_counts;
mod spill;
mod statuses;
mod store;
mod suggest;
mod sums;
mod table_recorder;
mod test_counts;
mod time_axis;
mod top;
mod uncoded;
mod uncoded_counts;
mod unusual;
mod urls;
mod value_bytes;
mod values;
mod view;
mod view_answer;
mod view_cache;
mod visits;

pub use breakdown::{
    Breakdown, BreakdownError, BreakdownMeasure, BreakdownMetric, BreakdownValue, BreakdownWanted, BucketWidth, MetricSet,
    OverTimeWanted,
};
pub use compare::{Compared, ComparedPanel, ComparedRow, ComparedRows, ComparisonBase};
pub use explain::{Explained, UnknownField};
pub use explain_offers::Finding;
pub use facet_counts::FacetField;
pub use facets::FacetQuestion;
pub use find::{FindTarget, FindWanted};
pub use number_buckets::{BucketScale, NumberBuckets};
pub use number_spread::{NumberQuantiles, NumberSummary};
pub use page_row::{LineFormats, OwnValue, PageRow, RowPage, finite_or_text};
pub use rates::{ClientRate, Limit, LimitEffect, RateGrouping, RateUnit, Rates};
pub use recorder::Recordings;
pub use row_order::RowOrder;
pub use scan_rows::{OwnRow, ViewRow};
pub use sorted::SortedPage;
pub use statuses::STATUS_TITLE;
pub use store::{Reservation, RowStore, RowStoreSettings};
pub use suggest::{FilterHits, SuggestWanted, Suggestion, Suggestions};
pub use table_recorder::{RowTexts, TableRecorder, TableRows};
pub use unusual::{UnusualKind, UnusualSpan, UnusualSpans};
pub use values::{ColumnValues, ValueCount};
pub use view::{
    Amounts, Facet, LatencyGrid, Outcomes, PageLine, PanelPage, PanelWanted, RowCounts, Stack, TimeRange, View, ViewError,
    ViewHistogram, ViewParts, ViewResult,
};
pub use view_cache::SharedAxes;
