//! Tests of the digests.
#![allow(clippy::expect_used, clippy::unwrap_used)]

mod list;
mod vectors;
mod whole;
mod written;
