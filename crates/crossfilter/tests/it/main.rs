//! Tests of the crate as its users see it.
// Numbers of the tests are far below 2^63.
#![allow(clippy::expect_used, clippy::cast_possible_wrap, clippy::type_complexity)]

mod breakdown;
mod explain;
mod explain_fleet;
mod facets;
mod heavy;
mod journal;
mod log;
mod memory;
mod naive;
mod page;
mod rates;
mod sorted;
mod suggest;
mod table;
mod turns;
mod unusual;
mod views;
