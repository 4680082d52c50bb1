//! The functions of `Rorqual.Native`: each begins an operation on a thread of its own and returns.
//!
//! No scheduler of the VM works or waits here. An operation sends its items as messages
//! `{:rorqual, id, item}`, one for each that was asked for by `demand/1`, which is the back
//! pressure. It ends when its resource is gone, or its owner has died.

// The VM's arguments are decoded into values.
#![allow(clippy::needless_pass_by_value)]

mod feed;
mod gate;
mod jobs;
mod operations;
mod rows;
mod stores;
mod terms;

rustler::init!("Elixir.Rorqual.Native");
