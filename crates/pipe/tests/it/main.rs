//! Tests of the crate as its users see it.

mod common;
mod count;
mod decode;
mod fault;
mod files;
mod gather;
mod lines;
mod pool;
