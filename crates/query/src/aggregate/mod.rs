//! Sums and averages that are right or an error.
//!
//! # Why?
//! The engine's own sums wrap around: that of two large numbers is a negative one, without a word.
//! These add up in a type that has room for all rows that there may be, and look at the end whether
//! the sum fits its own ([`widened`]). For decimals of up to 76 digits and for intervals no type is
//! wider, so each addition is looked at ([`exact`]).

mod average;
mod exact;
mod sum;
mod widened;

pub(crate) use average::checked_average;
pub(crate) use sum::checked_sum;
