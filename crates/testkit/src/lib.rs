//! Development only: what the tests and the benchmark need and the product must not carry.
//!
//! * [`generate`]: logs of any size, and hostile files, made the same way every time.

pub mod generate;
