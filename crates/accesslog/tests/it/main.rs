//! Tests of the crate as its users see it.
#![allow(clippy::expect_used)]

mod aggregate_bounds;
mod countries;
mod filter;
mod foreign;
mod own;
mod parse_bad;
mod parse_combined;
mod parse_detect;
mod parse_doubt;
mod parse_formats;
mod parse_json;
mod parse_tails;
mod parse_time;
mod parts;
mod rebuilt;
mod report_live;
mod suggest;
