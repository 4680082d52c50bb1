//! One digest, of bytes as they come.

use crate::{Algorithm, Digest};
use blake2::Blake2bVar;
use blake2::digest::{Update, VariableOutput};
use sha2::Digest as _;
use std::fmt;

/// Takes bytes as they come and gives their digest. A clone goes on from the same state.
#[derive(Clone)]
pub struct Hasher(HashState);

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hasher({:?})", self.algorithm())
    }
}

#[derive(Clone)]
enum HashState {
    Sha256(sha2::Sha256),
    Sha512(sha2::Sha512),
    Sha1(sha1::Sha1),
    Md5(md5::Md5),
    // Its stack of subtrees takes 2 KiB.
    Blake3(Box<blake3::Hasher>),
    Sha224(sha2::Sha224),
    Sha384(sha2::Sha384),
    Sha512To256(sha2::Sha512_256),
    Blake2b(Blake2bVar, u8),
}

impl Hasher {
    /// A hasher that has seen nothing yet.
    #[must_use]
    pub fn new(algorithm: Algorithm) -> Self {
        Self(match algorithm {
            Algorithm::Sha256 => HashState::Sha256(sha2::Sha256::new()),
            Algorithm::Sha512 => HashState::Sha512(sha2::Sha512::new()),
            Algorithm::Sha1 => HashState::Sha1(sha1::Sha1::new()),
            Algorithm::Md5 => HashState::Md5(md5::Md5::new()),
            Algorithm::Blake3 => HashState::Blake3(Box::default()),
            Algorithm::Sha224 => HashState::Sha224(sha2::Sha224::new()),
            Algorithm::Sha384 => HashState::Sha384(sha2::Sha384::new()),
            Algorithm::Sha512To256 => HashState::Sha512To256(sha2::Sha512_256::new()),
            Algorithm::Blake2b(bytes) => HashState::Blake2b(blake2b(bytes), bytes),
        })
    }

    /// The algorithm that it was made for.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        match self.0 {
            HashState::Sha256(_) => Algorithm::Sha256,
            HashState::Sha512(_) => Algorithm::Sha512,
            HashState::Sha1(_) => Algorithm::Sha1,
            HashState::Md5(_) => Algorithm::Md5,
            HashState::Blake3(_) => Algorithm::Blake3,
            HashState::Sha224(_) => Algorithm::Sha224,
            HashState::Sha384(_) => Algorithm::Sha384,
            HashState::Sha512To256(_) => Algorithm::Sha512To256,
            HashState::Blake2b(_, bytes) => Algorithm::Blake2b(bytes),
        }
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            HashState::Sha256(state) => sha2::Digest::update(state, bytes),
            HashState::Sha512(state) => sha2::Digest::update(state, bytes),
            HashState::Sha1(state) => sha2::Digest::update(state, bytes),
            HashState::Md5(state) => sha2::Digest::update(state, bytes),
            HashState::Blake3(state) => {
                state.update(bytes);
            }
            HashState::Sha224(state) => sha2::Digest::update(state, bytes),
            HashState::Sha384(state) => sha2::Digest::update(state, bytes),
            HashState::Sha512To256(state) => sha2::Digest::update(state, bytes),
            HashState::Blake2b(state, _) => state.update(bytes),
        }
    }

    /// The digest of everything that was taken.
    #[must_use]
    pub fn finish(self) -> Digest {
        match self.0 {
            HashState::Sha256(state) => sized(Algorithm::Sha256, &state.finalize()),
            HashState::Sha512(state) => sized(Algorithm::Sha512, &state.finalize()),
            HashState::Sha1(state) => sized(Algorithm::Sha1, &state.finalize()),
            HashState::Md5(state) => sized(Algorithm::Md5, &state.finalize()),
            HashState::Blake3(state) => sized(Algorithm::Blake3, state.finalize().as_bytes()),
            HashState::Sha224(state) => sized(Algorithm::Sha224, &state.finalize()),
            HashState::Sha384(state) => sized(Algorithm::Sha384, &state.finalize()),
            HashState::Sha512To256(state) => sized(Algorithm::Sha512To256, &state.finalize()),
            HashState::Blake2b(state, bytes) => sized(Algorithm::Blake2b(bytes), &state.finalize_boxed()),
        }
    }
}

#[expect(clippy::expect_used, reason = "an algorithm has no other lengths than 1 to 64 bytes, which a test checks")]
fn blake2b(bytes: u8) -> Blake2bVar {
    Blake2bVar::new(bytes.into()).expect("a length of BLAKE2b")
}

fn sized(algorithm: Algorithm, bytes: &[u8]) -> Digest {
    #[expect(clippy::expect_used, reason = "each state gives its algorithm's length, which a test checks for all of them")]
    Digest::from_bytes(algorithm, bytes).expect("the length of its algorithm")
}
