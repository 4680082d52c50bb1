//! Fields with separators (RFC 4180, and its variants in real files).
//!
//! A field that begins with a quote goes to the closing one, and may have separators, newlines and
//! doubled quotes in it; a quote in the middle of a field is a character. Records end at newlines,
//! with or without a carriage return; empty lines are none. Bytes after a closing quote and before
//! the next separator belong to the field, as most programs have it, and that is said; where the
//! quotes have newlines in them, they are two that do not belong together. In a file without quotes
//! each line is a record.

mod cell;
mod columns;
mod dialect;
mod header;
mod scan;
mod split;

pub(crate) use columns::{CsvDecoder, CsvInferrer, TORN};
pub use dialect::{Dialect, DialectError, DialectHints, Quote, QuoteBasis};
pub use split::CsvSplitter;
