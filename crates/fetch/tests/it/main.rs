//! Tests of the public interface.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't set itself up has failed")]

mod common;
mod cut;
mod lies;
mod part;
mod target;
mod tls;
mod writer;
