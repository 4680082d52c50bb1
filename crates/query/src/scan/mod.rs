//! Logs, JSON and CSV as a file format of the engine, over our own decoders.
//!
//! * A [`RecordTable`] is the table of a query: files of one format. It cuts plain files of lines
//!   into ranges, which the partitions of a scan take one after another.
//! * A [`source::RecordSource`] is the scan in a plan: format, columns, span of time, filters. It
//!   holds nothing of this process but the [`ScanContext`].
//! * [`ranges`] reads a range of a plain file, [`stream`] anything that has to be read in order,
//!   [`object`] an object of a store.
//! * [`held`] fails where a file that the engine reads by itself has changed in between.
//! * A [`skip::Skip`] tells of a chunk whether a filter leaves anything of it.

mod context;
mod counts;
mod held;
mod object;
mod opener;
mod part;
mod ranges;
mod scan_notes;
mod skip;
mod source;
mod stream;
mod table;

pub use context::ScanContext;
pub(crate) use context::external;
pub(crate) use object::{ObjectReader, PiecesAhead};
pub use part::{FilePlace, OpenPart, PartGuard, PartedFile};
pub use scan_notes::{NoteRecord, ScanTallies};
pub use source::{RecordSource, ScanSpec};
pub use table::{ObjectStretches, OpenMode};
pub(crate) use table::{OnceInput, RecordFile, RecordTable};
