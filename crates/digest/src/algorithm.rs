//! The algorithms, and what they are called.

use std::fmt;
use std::str::FromStr;

/// How a digest is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// FIPS 180-4, 32 bytes.
    Sha256,
    /// FIPS 180-4, 64 bytes.
    Sha512,
    /// FIPS 180-4, 20 bytes. Broken against an attacker; fine against accidents.
    Sha1,
    /// RFC 1321, 16 bytes. Broken against an attacker; fine against accidents.
    Md5,
    /// BLAKE3 without a key, 32 bytes.
    Blake3,
}

impl Algorithm {
    /// Every algorithm, the default first.
    pub const ALL: [Self; 5] = [Self::Sha256, Self::Sha512, Self::Sha1, Self::Md5, Self::Blake3];

    /// Its name as it is typed: `sha256`, `sha512`, `sha1`, `md5`, `blake3`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
            Self::Sha1 => "sha1",
            Self::Md5 => "md5",
            Self::Blake3 => "blake3",
        }
    }

    /// Its name in BSD's format of a checksum line: `SHA256`.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Self::Sha256 => "SHA256",
            Self::Sha512 => "SHA512",
            Self::Sha1 => "SHA1",
            Self::Md5 => "MD5",
            Self::Blake3 => "BLAKE3",
        }
    }

    /// Length of its digests in bytes.
    #[must_use]
    pub fn digest_bytes(self) -> usize {
        match self {
            Self::Sha256 | Self::Blake3 => 32,
            Self::Sha512 => 64,
            Self::Sha1 => 20,
            Self::Md5 => 16,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is none of an algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownAlgorithm;

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown algorithm; there are sha256, sha512, sha1, md5 and blake3")
    }
}

impl std::error::Error for UnknownAlgorithm {}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    /// Reads a name in any case, with or without hyphens: `sha256`, `SHA-256`, `SHA2-256`, `b3`.
    fn from_str(text: &str) -> Result<Self, UnknownAlgorithm> {
        let plain: String =
            text.chars().filter(|character| *character != '-').map(|character| character.to_ascii_lowercase()).collect();
        match plain.as_str() {
            "sha256" | "sha2256" => Ok(Self::Sha256),
            "sha512" | "sha2512" => Ok(Self::Sha512),
            "sha1" => Ok(Self::Sha1),
            "md5" => Ok(Self::Md5),
            "blake3" | "b3" => Ok(Self::Blake3),
            _ => Err(UnknownAlgorithm),
        }
    }
}
