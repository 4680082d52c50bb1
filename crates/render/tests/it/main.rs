//! Templates as a program renders them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;
mod errors;
mod folder;
mod generated;
mod lazy;
mod same;
