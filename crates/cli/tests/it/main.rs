//! End-to-end tests of the real binary.

mod client;
mod common;
mod input;
mod output;
mod paths;
mod promise;
mod server;
mod upload;
mod usage;
