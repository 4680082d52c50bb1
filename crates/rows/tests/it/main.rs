//! Rows, from the outside.
#![allow(clippy::unwrap_used, clippy::cast_possible_wrap)]

mod written;
