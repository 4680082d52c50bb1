//! The store from outside: alone, side by side with others, killed, failing, damaged.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod child;
mod common;
mod crash;
mod damage;
mod entries;
mod leases;
mod model;
mod room;
mod storm;
