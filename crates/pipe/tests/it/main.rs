//! Tests of the crate as its users see it.
#![allow(clippy::expect_used, clippy::cast_possible_wrap)]

mod common;
mod count;
mod course;
mod decode;
mod fault;
mod files;
mod follow;
mod gather;
mod held;
mod holes;
mod lines;
mod pool;
mod records;
