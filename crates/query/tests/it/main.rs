//! `rorqual-query` as it is run.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on has failed")]

mod answers;
mod common;
mod errors;
mod filters;
mod foreign;
mod hostile;
mod output;
mod promise;
mod prompt;
mod prune;
mod remote;
mod replaced;
mod separate;
