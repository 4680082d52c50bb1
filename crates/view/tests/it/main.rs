//! Tests of the crate as its users see it.
#![allow(clippy::expect_used)]

mod log;
mod naive;
mod views;
