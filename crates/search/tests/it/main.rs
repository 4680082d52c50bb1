//! Tests of the public interface.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't be set up has failed")]

mod matches;
