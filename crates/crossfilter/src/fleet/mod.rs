//! Views of a fleet: counts of several stores that are added up.
//!
//! A store tells the counts of a view before they are rounded into an answer: [`ViewSums`] over an
//! axis that all have alike, [`FieldTop`]s with the bounds of what they leave out, and the values
//! of a field by their hashes under a seed that all have alike ([`HashedValues`]). [`FieldMerge`]
//! finds the values with most rows of all stores, and their number. [`ExplainMerge`] explains rows
//! by counts of values and pairs.
//!
//! Parts of another process are foreign: each has an `is_sound`, and is merged only after that.

mod compare;
mod explain;
mod explain_parts;
mod merge;
mod rows;
mod sums;
mod values;

pub use crate::limits::STORE_ROWS_MAX;
pub use crate::series_text::SeriesText;
pub use crate::value_bytes::{ValueBytes, probe_hash, value_hash};
pub use compare::HashCompare;
pub use explain::{ExplainCells, ExplainMerge, ExplainPairs, ExplainVisits};
pub use explain_parts::{ExplainNumbers, ExplainPart, ExplainStep, ExplainValues, SharedTest};
pub use merge::{FieldMerge, HashMerge, HashPlan, NamedMerge};
pub(crate) use rows::KEY_BYTES_MAX;
pub use rows::{RowKey, RowKeys, RowMerge};
pub use sums::{BandsPart, NumberPart, StoreExtent, ViewSums};
pub use values::{FieldTop, FieldValue, FieldWanted, HashedValues, HashesWanted, NamedValues};
