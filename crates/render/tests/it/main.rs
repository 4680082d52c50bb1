//! Templates as a program renders them.

mod common;
mod errors;
mod folder;
mod generated;
mod lazy;
mod same;
