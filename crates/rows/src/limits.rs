//! Every limit of rows in one place, with the memory it costs.

/// Longest record that is taken unless a flag says otherwise; each buffer has this much room beside its block, touched only when a
/// record needs it.
pub const RECORD_BYTES_MAX_DEFAULT: usize = 8 << 20;

/// A batch that has grown so large is finished: its arrays' bytes, nulls in sparse columns included.
pub const BATCH_BYTES_MAX: usize = 4 << 20;

/// Deepest nesting of a record that is taken apart; deeper parts become JSON text, and beyond [`DEPTH_MAX`] a record is bad.
pub const NESTING_MAX: usize = 64;

/// Deepest nesting of a record.
pub const DEPTH_MAX: usize = 100_000;

/// Most columns of a schema that is inferred, lists and structs and what is in them counted each; what more there is goes to `_rest`.
/// A shape takes about 200 bytes a column, and its name twice.
pub const COLUMNS_MAX: usize = 10_000;

/// How much of a stream is looked at for its columns before the first row is written.
pub const PREFIX_BYTES: usize = 8 << 20;

/// Longest key that becomes a column's name; values under longer ones go to `_rest`.
pub const COLUMN_NAME_BYTES_MAX: usize = 1024;

/// Most bytes that one record may take as columns, nulls in sparse columns included: a batch takes this and [`BATCH_BYTES_MAX`] at most.
/// A record that takes more (a list of a million empty objects in a column of a thousand fields) is bad.
pub const ROW_BYTES_MAX: usize = 32 << 20;

/// Longest record that is decoded: a column of texts counts its bytes with 31 bits.
pub const TEXT_BYTES_MAX: usize = 1 << 30;
