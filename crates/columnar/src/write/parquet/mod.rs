//! Parquet, encoded column by column by all threads that help.
//!
//! Rows gather as arrays until a row group is full. Then it is *sealed*: each of its columns is a
//! task that any worker takes, encodes from the first to the last row of the group, and frees; the
//! worker that ends the last one writes the group. Meanwhile the next group gathers, and is sealed
//! when this one is written. So the memory is that of the arrays of at most two groups, whatever
//! the number of columns, and of a worker's encoder for one column; the file depends on the batches
//! that were pushed alone.

mod columns;
mod encoding;
mod file;
mod groups;
mod units;
mod weight;

pub(super) use columns::Split;
pub(super) use groups::{Groups, bytes};
