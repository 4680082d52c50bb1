//! Tests of the crate as its users see it.
#![allow(clippy::expect_used)]

mod explain;
mod log;
mod memory;
mod naive;
mod page;
mod rates;
mod views;
