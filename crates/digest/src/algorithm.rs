//! The algorithms, and their names.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// The longest digest of BLAKE2b, in bytes.
const BLAKE2B_BYTES_MAX: u8 = 64;

/// Algorithm of a digest.
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
    /// FIPS 180-4, 28 bytes.
    Sha224,
    /// FIPS 180-4, 48 bytes.
    Sha384,
    /// FIPS 180-4's SHA-512/256, 32 bytes: not SHA-512 cut short.
    Sha512To256,
    /// RFC 7693 without a key, so many bytes: 1 to 64.
    Blake2b(u8),
}

impl Algorithm {
    /// Every algorithm, the default first; BLAKE2b at its usual length.
    pub const ALL: [Self; 9] = [
        Self::Sha256,
        Self::Sha512,
        Self::Sha1,
        Self::Md5,
        Self::Blake3,
        Self::Sha224,
        Self::Sha384,
        Self::Sha512To256,
        Self::Blake2b(BLAKE2B_BYTES_MAX),
    ];

    /// BLAKE2b with digests of so many bits.
    #[must_use]
    pub fn blake2b(bits: u16) -> Option<Self> {
        let bytes = u8::try_from(bits / 8).ok().filter(|bytes| (1..=BLAKE2B_BYTES_MAX).contains(bytes))?;
        bits.is_multiple_of(8).then_some(Self::Blake2b(bytes))
    }

    /// Its name as it is typed: `sha256`, `sha512-256`, `blake2b`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
            Self::Sha1 => "sha1",
            Self::Md5 => "md5",
            Self::Blake3 => "blake3",
            Self::Sha224 => "sha224",
            Self::Sha384 => "sha384",
            Self::Sha512To256 => "sha512-256",
            Self::Blake2b(_) => "blake2b",
        }
    }

    /// Its name in BSD's format of a checksum line: `SHA256`, `BLAKE2b-256`.
    #[must_use]
    pub fn tag(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Sha256 => "SHA256",
            Self::Sha512 => "SHA512",
            Self::Sha1 => "SHA1",
            Self::Md5 => "MD5",
            Self::Blake3 => "BLAKE3",
            Self::Sha224 => "SHA224",
            Self::Sha384 => "SHA384",
            Self::Sha512To256 => "SHA512/256",
            Self::Blake2b(BLAKE2B_BYTES_MAX) => "BLAKE2b",
            Self::Blake2b(bytes) => return Cow::Owned(format!("BLAKE2b-{}", u16::from(bytes) * 8)),
        })
    }

    /// The algorithm of a tag: ours, which are coreutils' and BSD's, and OpenSSL's.
    #[must_use]
    pub fn of_tag(tag: &str) -> Option<Self> {
        match tag {
            "SHA2-224" => Some(Self::Sha224),
            "SHA2-256" => Some(Self::Sha256),
            "SHA2-384" => Some(Self::Sha384),
            "SHA2-512" => Some(Self::Sha512),
            "SHA2-512/256" | "SHA512t256" => Some(Self::Sha512To256),
            "BLAKE2B-512" | "BLAKE2b512" => Some(Self::Blake2b(BLAKE2B_BYTES_MAX)),
            _ => {
                let of_bits = || Self::blake2b(tag.strip_prefix("BLAKE2b-")?.parse().ok()?);
                Self::ALL.into_iter().find(|algorithm| algorithm.tag() == tag).or_else(of_bits)
            }
        }
    }

    /// Length of its digests in bytes.
    #[must_use]
    pub fn digest_bytes(self) -> usize {
        match self {
            Self::Sha256 | Self::Blake3 | Self::Sha512To256 => 32,
            Self::Sha512 => 64,
            Self::Sha1 => 20,
            Self::Md5 => 16,
            Self::Sha224 => 28,
            Self::Sha384 => 48,
            Self::Blake2b(bytes) => bytes.into(),
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
        f.write_str("unknown algorithm; there are sha256, sha512, sha1, md5, blake3, sha224, sha384, sha512-256 and blake2b")
    }
}

impl std::error::Error for UnknownAlgorithm {}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    /// Reads a name in any case, with or without hyphens: `sha256`, `SHA-256`, `SHA2-256`, `b3`,
    /// `sha512/256`, `blake2b-256`.
    fn from_str(text: &str) -> Result<Self, UnknownAlgorithm> {
        let plain: String = text
            .chars()
            .filter(|character| !matches!(character, '-' | '/'))
            .map(|character| character.to_ascii_lowercase())
            .collect();
        match plain.as_str() {
            "sha256" | "sha2256" => Ok(Self::Sha256),
            "sha512" | "sha2512" => Ok(Self::Sha512),
            "sha1" => Ok(Self::Sha1),
            "md5" => Ok(Self::Md5),
            "blake3" | "b3" => Ok(Self::Blake3),
            "sha224" | "sha2224" => Ok(Self::Sha224),
            "sha384" | "sha2384" => Ok(Self::Sha384),
            "sha512256" | "sha2512256" | "sha512t256" => Ok(Self::Sha512To256),
            "blake2b" | "b2" => Ok(Self::Blake2b(BLAKE2B_BYTES_MAX)),
            other => {
                let bits = other.strip_prefix("blake2b").and_then(|bits| bits.parse().ok());
                bits.and_then(Self::blake2b).ok_or(UnknownAlgorithm)
            }
        }
    }
}
