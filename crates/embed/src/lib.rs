//! The verbs as functions, for the runtimes of other languages.
//!
//! * A [`DataSource`] is a path, or anything that reads.
//! * [`Resources`] are the memory and the threads of one operation; its sum is checked before it
//!   begins.
//! * A [`Running`] operation works on threads of its own. It is waited for in short steps, so that
//!   its caller hears of other things, and it ends when it is dropped.
//! * A [`OperationFailure`] is any error, in a form that becomes an exception.
//!
//! This crate prints nothing, reads no flags and ends no process. A panic becomes a failure.

mod count;
mod digest;
mod download;
mod entries;
mod failure;
mod matches;
mod page;
mod program;
mod report;
mod resources;
mod rows;
mod running;
mod source;

pub use count::count;
pub use digest::digest;
pub use download::{Download, DownloadStep, DownloadSummary, download};
pub use entries::EntryStore;
pub use failure::OperationFailure;
pub use matches::{LineSearch, MatchedLine, matches};
pub use page::{PageRequest, page};
pub use program::{ProgramItem, documents, output};
pub use report::{ReportRequest, report, reports};
pub use resources::Resources;
pub use rows::{RowsRequest, rows, rows_later};
pub use running::Running;
pub use source::DataSource;
