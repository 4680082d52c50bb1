//! Access logs as columns: formats, the parser, dictionary-coded batches, aggregates in bounded
//! memory, the report.

pub mod agent;
pub mod aggregate;
pub mod analyze;
mod batch;
pub mod calendar;
mod countries;
mod dict;
pub mod filter;
pub mod format;
mod input_report;
mod log_histogram;
mod note_reason;
mod own;
pub mod parse;
mod recorder;
pub mod report;
pub mod schema;
mod setting;
mod status_class;
pub mod suggest;

pub use batch::{LogBatch, NO_TIME, TEXT_FIELDS};
pub use countries::{Countries, CountriesError};
pub use log_histogram::{HistogramBuffer, LogHistogram};
pub use own::{ABSENT, LATE_COLUMNS_MAX, LeftOut, LogVariable, OWN_NUMBERS_MAX, OWN_TEXTS_MAX, OwnColumns, OwnValues};
pub use recorder::{LineFilter, Options, RecordedRows, Recorder, Recording, Rejected};
