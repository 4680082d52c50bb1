//! End-to-end tests of the real binary.
#![allow(clippy::expect_used, clippy::cast_possible_wrap)]

mod client;
mod columns;
mod common;
mod convert;
mod decode;
mod fetch;
mod filter;
mod get;
mod grep;
mod hash;
mod hash_check;
mod head;
mod html;
mod input;
mod output;
mod paths;
mod promise;
mod render;
mod sample;
mod served;
mod server;
mod store;
mod tables;
mod upload;
mod usage;
