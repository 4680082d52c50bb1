//! Every limit of the page in one place, with its cost.

/// Bars of requests over time, at most. Each takes up to 600 bytes of the page, and its row of the
/// table 300.
pub(super) const COLUMNS_MAX: usize = 200;

/// Characters of a value that the page shows; a longer one ends in `…`. One takes up to 6 bytes of
/// the page.
pub(crate) const VALUE_CHARS_MAX: usize = 256;

/// Characters of a rejected or repaired line that the page shows: all that a sample has.
pub(super) const SAMPLE_CHARS_MAX: usize = 500;

/// Inputs that the page lists.
pub(super) const SOURCES_MAX: usize = 50;

/// Memory of a page beside its tables: the parsed templates, the finest buckets of time, the plots.
const PAGE_BYTES: u64 = 10 << 20;

/// Memory of one row of each top table: its text, and its object for templates. There are at most
/// 12 tables and status.
const ROW_BYTES: u64 = 13 * (1_024 + 1_024);

/// Memory of a row of the table of metrics: its text and trend, and 13 cells with their objects.
const METRICS_ROW_BYTES: u64 = 8 * 1_024;

/// Most memory that a page takes with so many rows a table.
pub(crate) fn page_bytes(top: u16) -> u64 {
    PAGE_BYTES + u64::from(top) * (ROW_BYTES + METRICS_ROW_BYTES)
}

/// Memory of one value, or of a column of numbers, on the page of a table: its text, and its object
/// for templates.
const VALUE_BYTES: u64 = 2 * 1_024;

/// Most memory of the page of a table with so many columns, with so many values of each of texts.
pub(crate) fn table_page_bytes(top: u16, texts: usize, numbers: usize) -> u64 {
    PAGE_BYTES + (u64::from(top) * texts as u64 + numbers as u64) * VALUE_BYTES + u64::from(top) * METRICS_ROW_BYTES
}
