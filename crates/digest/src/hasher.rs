//! One digest, of bytes as they come.

use crate::{Algorithm, Digest};
use sha2::Digest as _;

/// Takes bytes as they come and gives their digest. A clone goes on from the same state.
#[derive(Debug, Clone)]
pub struct Hasher(State);

#[derive(Debug, Clone)]
enum State {
    Sha256(sha2::Sha256),
    Sha512(sha2::Sha512),
    Sha1(sha1::Sha1),
    Md5(md5::Md5),
    // Its stack of subtrees takes 2 KiB.
    Blake3(Box<blake3::Hasher>),
}

impl Hasher {
    /// A hasher that has seen nothing yet.
    #[must_use]
    pub fn new(algorithm: Algorithm) -> Self {
        Self(match algorithm {
            Algorithm::Sha256 => State::Sha256(sha2::Sha256::new()),
            Algorithm::Sha512 => State::Sha512(sha2::Sha512::new()),
            Algorithm::Sha1 => State::Sha1(sha1::Sha1::new()),
            Algorithm::Md5 => State::Md5(md5::Md5::new()),
            Algorithm::Blake3 => State::Blake3(Box::new(blake3::Hasher::new())),
        })
    }

    /// The algorithm that it was made for.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        match self.0 {
            State::Sha256(_) => Algorithm::Sha256,
            State::Sha512(_) => Algorithm::Sha512,
            State::Sha1(_) => Algorithm::Sha1,
            State::Md5(_) => Algorithm::Md5,
            State::Blake3(_) => Algorithm::Blake3,
        }
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            State::Sha256(state) => state.update(bytes),
            State::Sha512(state) => state.update(bytes),
            State::Sha1(state) => state.update(bytes),
            State::Md5(state) => state.update(bytes),
            State::Blake3(state) => {
                state.update(bytes);
            }
        }
    }

    /// The digest of everything that was taken.
    #[must_use]
    pub fn finish(self) -> Digest {
        match self.0 {
            State::Sha256(state) => sized(Algorithm::Sha256, &state.finalize()),
            State::Sha512(state) => sized(Algorithm::Sha512, &state.finalize()),
            State::Sha1(state) => sized(Algorithm::Sha1, &state.finalize()),
            State::Md5(state) => sized(Algorithm::Md5, &state.finalize()),
            State::Blake3(state) => sized(Algorithm::Blake3, state.finalize().as_bytes()),
        }
    }
}

fn sized(algorithm: Algorithm, bytes: &[u8]) -> Digest {
    #[expect(clippy::expect_used, reason = "each state gives its algorithm's length, which a test checks for all of them")]
    Digest::from_bytes(algorithm, bytes).expect("the length of its algorithm")
}
