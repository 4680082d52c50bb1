//! Access logs as columns: formats, the parser, dictionary-coded batches, aggregates in bounded memory, the report.

pub mod agent;
pub mod aggregate;
pub mod analyze;
mod batch;
mod dict;
pub mod format;
pub mod parse;
pub mod report;

pub use batch::Batch;
