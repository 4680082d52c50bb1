//! The questions of a fleet to one of its peers, and the peer's state: `POST
//! /api/sessions/{id}/part`, for programs of one version.

use crate::limits::PEER_BUCKETS_WHOLE;
use crate::saved_schema::SavedSchema;
use crate::session::SessionState;
use rorqual_accesslog::schema::OwnColumn;
use rorqual_crossfilter::fleet::{ExplainStep, FieldTop, NamedValues, NumberPart, SeriesText, StoreExtent};
use rorqual_crossfilter::{PageRow, Suggestion};
use serde::{Deserialize, Serialize};

/// Version of questions and parts; it changes with any of them, and with the program.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/4");

/// A question about a part of a view.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PartQuestion {
    pub(crate) version: String,
    /// Unix microseconds.
    pub(crate) from_us: Option<i64>,
    pub(crate) to_us: Option<i64>,
    #[serde(rename = "where")]
    pub(crate) filter: String,
    /// Columns that the filter may name, and the rows do not have.
    pub(crate) columns: Vec<OwnColumn>,
    /// The rows' generation of an earlier part, so that this one is of the same rows.
    pub(crate) generation: u64,
    pub(crate) ask: PartAsk,
}

/// The part that is wanted.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum PartAsk {
    /// The state of the session; no rows are looked at.
    Status { seed: u64 },
    /// Totals, and rows over time.
    Sums(SumsAsk),
    /// Rows over time by how long they took, which sums over many buckets are without.
    Bands(SumsAsk),
    /// Numbers of own columns, from one on.
    Numbers { first: usize },
    /// The first values of fields; without any of all that have a panel.
    Tops { fields: Vec<String>, search: Option<String>, top: usize },
    /// Values of a field by their hashes.
    Hashes { field: String, search: Option<String>, seed: u64, least: u64, part: u64, parts: u64 },
    /// Keys of rows of an order, from one on and up to another, as many as fit.
    Keys { sort: PartSort, first: usize, end: usize },
    /// Rows of an order.
    Rows { sort: PartSort, offset: u64, limit: usize },
    /// Values of a field that have these hashes.
    Named { field: String, seed: u64, hashes: Vec<u64> },
    /// A typed text as filters, with the rows of each.
    Suggest { text: String, zone_seconds: i32 },
    /// Rows of filters.
    Hits { of: Vec<HitsAsk> },
    /// A step of the explanation of the rows of the view that are in a selection too.
    Explain { select: SelectAsk, except: Vec<String>, step: ExplainStep },
}

/// The rows that are to be explained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SelectAsk {
    /// Unix microseconds.
    pub(crate) from_us: Option<i64>,
    pub(crate) to_us: Option<i64>,
    #[serde(rename = "where")]
    pub(crate) filter: String,
}

/// A filter of which the rows are counted, or a span of time in place of that of the view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HitsAsk {
    #[serde(rename = "where")]
    pub(crate) filter: String,
    /// Half open, in Unix microseconds.
    pub(crate) span_us: Option<(i64, i64)>,
}

/// Buckets and series of sums.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SumsAsk {
    pub(crate) buckets: usize,
    pub(crate) stack: Option<String>,
    pub(crate) times_us: Option<(i64, i64)>,
    pub(crate) series: Vec<SeriesText>,
}

impl SumsAsk {
    /// True if rows by how long they took come apart, so that no part is too long.
    pub(crate) fn is_long(&self) -> bool {
        self.buckets > PEER_BUCKETS_WHOLE
    }
}

/// An order of rows by a column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PartSort {
    pub(crate) field: String,
    pub(crate) descending: bool,
}

/// Answer about rows.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RowsPart {
    pub(crate) rows: Vec<PageRow>,
    /// Variables that are `-` in every line.
    pub(crate) unkept: Vec<String>,
}

/// The state of a peer's session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PeerStatus {
    pub(crate) version: String,
    /// Hash of a known text by the seed of the question.
    pub(crate) hash: u64,
    pub(crate) name: String,
    /// Name of the session, which no other has.
    pub(crate) session: String,
    pub(crate) state: SessionState,
    pub(crate) format: Option<String>,
    pub(crate) bytes: u64,
    pub(crate) extent: StoreExtent,
    pub(crate) zone_seconds: i32,
    /// Its clients have countries.
    pub(crate) has_countries: bool,
    pub(crate) schema: SavedSchema,
}

/// Answer about numbers: as many columns as fit.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NumbersPart {
    pub(crate) numbers: Vec<NumberPart>,
    /// There are columns after these.
    pub(crate) more: bool,
}

/// Answer about first values.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TopsPart {
    pub(crate) tops: Vec<FieldTop>,
}

/// Answer about values by their hashes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NamedPart {
    pub(crate) values: NamedValues,
}

/// Answer about a typed text.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SuggestPart {
    pub(crate) rows: Vec<Suggestion>,
    /// There was time and memory for all.
    pub(crate) complete: bool,
}

/// Answer about rows of filters.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HitsPart {
    /// Rows of each, and whether these are all; `None` where the text is no filter here, or has no
    /// room.
    pub(crate) hits: Vec<Option<(u64, bool)>>,
    pub(crate) complete: bool,
}
