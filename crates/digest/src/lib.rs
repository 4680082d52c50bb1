//! Checksums of files of any size.
//!
//! * A [`Hasher`] takes bytes as they come and gives a [`Digest`]: for who has the bytes in hand
//!   anyway.
//! * [`digest()`] reads a whole [`Input`](rorqual_pipe::Input): reading overlaps hashing, and
//!   BLAKE3, which is a tree, is worked on by all workers side by side.
//!
//! A digest is of the bytes as they are stored: a compressed file is not decoded.

mod algorithm;
mod digest;
mod hasher;
pub mod limits;
pub mod list;
mod tree;
mod whole;
mod zeros;

pub use algorithm::{Algorithm, UnknownAlgorithm};
pub use digest::{Digest, DigestForm};
pub use hasher::Hasher;
pub use whole::digest;
