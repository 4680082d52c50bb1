//! JSON documents: ends of records, their columns, and their values as columns.

mod columns;
pub(crate) mod cursor;
mod decode;
mod detect;
mod first;
mod head;
mod infer;
mod layout;
mod mask;
pub(crate) mod number;
pub(crate) mod path;
mod records;
mod rest;
mod seek;
mod split;
pub(crate) mod string;
pub(crate) mod time;
mod unique;

pub use decode::JsonDecoder;
pub(crate) use decode::TOO_LARGE;
pub use detect::{RowsWithin, detect, rows_within};
pub(crate) use first::FirstDocument;
pub use infer::JsonInferrer;
pub use layout::{DocumentCount, Layout};
pub use path::{format_rows, parse_rows};
pub use split::JsonSplitter;
