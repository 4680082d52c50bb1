//! A digest and its written forms.

use crate::Algorithm;
use data_encoding::{BASE64, HEXLOWER, HEXLOWER_PERMISSIVE, Specification};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

/// The longest digest, in bytes.
const DIGEST_BYTES_MAX: usize = 64;

/// RFC 4648 base32, in lower case and without padding; read in any case.
static BASE32: LazyLock<data_encoding::Encoding> = LazyLock::new(|| {
    let mut specification = Specification::new();
    specification.symbols.push_str("abcdefghijklmnopqrstuvwxyz234567");
    specification.translate.from.push_str("ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    specification.translate.to.push_str("abcdefghijklmnopqrstuvwxyz");
    specification.encoding().unwrap_or(data_encoding::BASE32_NOPAD)
});

/// Text form of a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DigestForm {
    /// Lower-case hexadecimal.
    Hex,
    /// RFC 4648 base32 in lower case, without padding.
    Base32,
    /// RFC 4648 base64 with padding.
    Base64,
}

impl DigestForm {
    /// Every encoding, the default first.
    pub const ALL: [Self; 3] = [Self::Hex, Self::Base32, Self::Base64];

    fn of(self) -> data_encoding::Encoding {
        match self {
            Self::Hex => HEXLOWER,
            Self::Base32 => BASE32.clone(),
            Self::Base64 => BASE64,
        }
    }
}

/// Result of an algorithm for a run of bytes.
#[derive(Clone, Copy)]
pub struct Digest {
    algorithm: Algorithm,
    bytes: [u8; DIGEST_BYTES_MAX],
}

impl Digest {
    /// A digest that was computed elsewhere; `None` when `bytes` has not the algorithm's length.
    #[must_use]
    pub fn from_bytes(algorithm: Algorithm, bytes: &[u8]) -> Option<Self> {
        let mut digest = Self { algorithm, bytes: [0; DIGEST_BYTES_MAX] };
        (bytes.len() == algorithm.digest_bytes()).then(|| digest.bytes[..bytes.len()].copy_from_slice(bytes))?;
        Some(digest)
    }

    /// Reads a digest of `algorithm`: hexadecimal in any case, base32 in any case without padding,
    /// or base64 with padding. Which it is follows from the length.
    #[must_use]
    pub fn parse(algorithm: Algorithm, text: &str) -> Option<Self> {
        let (text, length) = (text.as_bytes(), algorithm.digest_bytes());
        let encodings = [HEXLOWER_PERMISSIVE, BASE32.clone(), BASE64];
        let encoding = encodings.into_iter().find(|encoding| encoding.encode_len(length) == text.len())?;
        Self::from_bytes(algorithm, &encoding.decode(text).ok()?)
    }

    /// The algorithm that it is of.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The digest itself.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.algorithm.digest_bytes()]
    }

    /// The digest as text.
    #[must_use]
    pub fn encode(&self, encoding: DigestForm) -> String {
        encoding.of().encode(self.as_bytes())
    }
}

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        self.algorithm == other.algorithm && self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Digest {}

impl Hash for Digest {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.algorithm.hash(state);
        self.as_bytes().hash(state);
    }
}

/// Lower-case hexadecimal.
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.encode(DigestForm::Hex))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{self}", self.algorithm)
    }
}
