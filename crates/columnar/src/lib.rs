//! Rows: documents, logs and tables as columns, and columns as files.
//!
//! * A [`RecordFormat`] says how bytes are cut into records, and makes their decoder.
//! * An [`Infer`] tells the columns of a chunk's records; a [`Decode`] turns them into Arrow
//!   batches batches of a given schema.
//! * A [`write::BatchWriter`] turns batches into a file; [`read`] turns files of columns back into
//!   batches.
//!
//! Rows keep their order. This crate opens no socket, and prints nothing; [`Batches`] has
//! threads of `pipe`'s.

mod bad_records;
mod batches;
mod choose;
pub mod convert;
pub mod csv;
mod decimals;
mod decode;
mod join;
pub mod json;
pub mod limits;
pub mod log;
mod own_rows;
mod pattern;
pub mod read;
mod record_format;
pub mod render;
mod rules;
mod scan;
mod setting;
mod shape;
mod suggest;
mod text;
mod thrift;
pub mod write;

pub use bad_records::{BadRecords, long_offset};
pub use batches::{Batches, RowsPlan, RowsSummary, SummaryHandle};
pub use choose::choose_columns;
pub use decode::{BadRecord, Decode, DecodeNote, DecodedRecords, Infer, Inferred, Notes, Occurrences, Unplaced};
pub use json::DocumentCount;
pub use own_rows::{OwnRows, RowValues, TextMap};
pub use record_format::{FormatHints, FormatKind, Recognised, RecordFormat, has_extension};
pub use rules::ValueRules;
pub use scan::{ScanHead, ScanSettings};
pub use shape::{Conflict, Shape, format_schema, parse_schema};
