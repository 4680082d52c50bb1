//! Settings that messages of this crate name.

use rorqual_pipe::Setting;

/// Numbers that a double would change stay text.
pub(crate) const EXACT_NUMBERS: Setting = Setting::new("exact-numbers");
/// Format of the input.
pub(crate) const FROM: Setting = Setting::new("from");
/// First record of a CSV as names of its columns.
pub(crate) const HEADER: Setting = Setting::new("header");
/// Quote of a CSV's cells.
pub(crate) const QUOTE: Setting = Setting::new("quote");
/// Longest record.
pub(crate) const RECORD_MAX: Setting = Setting::new("record-max");
/// Array of a document whose elements are the rows.
pub(crate) const ROWS: Setting = Setting::new("rows");
/// Rows of a row group.
pub(crate) const ROW_GROUP: Setting = Setting::new("row-group");
