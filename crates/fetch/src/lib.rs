//! HTTP to a file: resumed, verified, whole or not at all, in constant memory.
//!
//! ```text
//!  server ──▶ worker ──▶ FILE.part ──▶ digest  (follows the first gap, reads the page cache)
//!         ──▶ worker ──▶   pwrite  ──▶ keeper          (fdatasync, then FILE.part.json)
//!             claim ◀── board ──▶ wait
//!                           all there, digest right ──▶ fsync, rename to FILE, fsync the folder
//! ```
//!
//! * **Workers** are futures on the caller's thread, one a connection. Each claims the first
//!   range of the file that nobody has, asks for it, checks that the answer is about that range of
//!   that same file, and writes its bytes in their place. The body's frames go to the file as they
//!   are: no queue, no copy, so memory is that of the connections.
//! * **The board** knows which bytes are in the file and which are claimed.
//! * **The digest** follows the first gap on a thread of its own, and reads the bytes back. So one
//!   way serves pieces in any order and resumed parts alike, and the bytes that are verified are
//!   those of the file.
//! * **The keeper**, on another thread, flushes the part every so many bytes and only then claims
//!   them in the sidecar. So the sidecar is true after kill -9 and after a power failure, and the
//!   last flush is short.
//!
//! Every failure is an `AttemptOutcome`, and one function decides on it (`outcome::decide`):
//! resume, start over or give up. A part is resumed only with a strong validator: each request says
//! If-Range, and each answer has to show the same ETag, size and range.
//!
//! [`Fetch::run`] blocks; it starts a small runtime of its own. This crate prints nothing.

mod background;
mod client;
mod error;
mod given;
mod head;
pub mod limits;
mod name;
mod outcome;
mod part;
mod proxy;
mod range_board;
mod ranges;
mod run;
mod setting;
mod settings;
mod sidecar;
mod sink;
mod transfer;

pub use client::direct_client;
pub use error::{FetchError, FetchErrorKind};
pub use name::file_name;
pub use settings::{ExpectedDigest, Fetch, FetchEvent, FetchResult, FetchTarget};
