//! Rows, from the outside.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::cast_possible_wrap)]

mod corpus;
mod csv;
mod flat;
mod foreign;
mod json_common;
mod json_decode;
mod json_hostile;
mod json_shape;
mod json_split;
mod types;
mod written;
