//! `rorqual-cluster` as it is run.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on has failed")]

mod answers;
mod common;
mod faults;
mod logs;
mod memory;
mod random;
mod trust;
