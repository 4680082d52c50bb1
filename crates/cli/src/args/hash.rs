//! Arguments of `rorqual hash`.

use clap::{Args, ValueEnum};
use rorqual_digest::{Algorithm, DigestForm};
use std::path::PathBuf;

/// Print or check checksums
///
/// Prints what `sha256sum` prints, and checks its lists and BSD's. Bytes are hashed as they are
/// stored: a compressed file is not decoded. Files are hashed side by side, one a thread; a single
/// file, and with BLAKE3 any file from 16 MiB on, gets all threads.
///
/// Exit codes: 0 when everything was hashed, or checked and found right; 1 when a check found
/// something that differs, is missing or could not be read, or a list without a proper line; 2 for
/// wrong usage, or a file that could not be hashed.
#[derive(Debug, Clone, Args)]
pub(crate) struct HashArgs {
    /// sha256, sha512, sha1, md5, blake3, sha224, sha384, sha512-256 or blake2b [default: sha256;
    /// with --check: by the tag or the digest's length, of which sha256 or sha512 is the first that
    /// has it]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) algorithm: Option<Algorithm>,
    /// Length of the digests of blake2b: a multiple of 8, at most 512; with --check it is that of
    /// the digests [default: 512]
    #[arg(short, long, value_name = "BITS", value_parser = bits, conflicts_with = "check")]
    pub(crate) length: Option<Algorithm>,
    /// Write `*` before names, as of files that were read in binary mode: they always are
    #[arg(short, long, overrides_with = "text", conflicts_with_all = ["check", "json"])]
    pub(crate) binary: bool,
    /// Write a blank before names [default]
    #[arg(short, long, overrides_with = "binary", conflicts_with_all = ["check", "json", "tag"])]
    pub(crate) text: bool,
    /// Text form of the digests
    #[arg(long, value_name = "ENCODING", default_value = "hex")]
    pub(crate) encoding: DigestEncoding,
    /// Write BSD's lines: `SHA256 (NAME) = DIGEST`
    #[arg(long, conflicts_with_all = ["check", "json"])]
    pub(crate) tag: bool,
    /// End lines with NUL and do not escape names; with --check, read such lists, which a first
    /// line that ends so tells as well
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) zero: bool,
    /// Read checksums from the FILEs and check them
    #[arg(short, long)]
    pub(crate) check: bool,
    /// Print no line for a file that is right
    #[arg(long, requires = "check", overrides_with_all = ["status", "warn"])]
    pub(crate) quiet: bool,
    /// Print nothing; the exit code tells
    #[arg(long, requires = "check", overrides_with_all = ["quiet", "warn"])]
    pub(crate) status: bool,
    /// Warn about each improper line of a list
    #[arg(short, long, requires = "check", overrides_with_all = ["quiet", "status"])]
    pub(crate) warn: bool,
    /// Fail when a list has an improper line
    #[arg(long, requires = "check")]
    pub(crate) strict: bool,
    /// Pass over files that are missing
    #[arg(long, requires = "check")]
    pub(crate) ignore_missing: bool,
    /// Print JSON: one object with every file
    #[arg(long)]
    pub(crate) json: bool,
    /// Files, their addresses (s3://, gs://, az://, https://), or lists of checksums; `-` is
    /// standard input [default: -]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

fn bits(text: &str) -> Result<Algorithm, String> {
    match text.parse() {
        // As b2sum has it.
        Ok(0) => Ok(Algorithm::Blake2b(64)),
        bits => bits.ok().and_then(Algorithm::blake2b).ok_or_else(|| "a multiple of 8 from 8 to 512, or 0 for 512".to_owned()),
    }
}

impl HashArgs {
    /// The algorithm that was asked for, with the length of its digests.
    ///
    /// # Errors
    /// When a length was given of digests that have one of their own.
    pub(crate) fn algorithm(&self) -> Result<Option<Algorithm>, String> {
        match (self.algorithm, self.length) {
            (algorithm, None) => Ok(algorithm),
            (Some(Algorithm::Blake2b(_)), length) => Ok(length),
            (other, Some(_)) => {
                let name = other.unwrap_or(Algorithm::Sha256).name();
                Err(format!("--length is for blake2b (-a blake2b): digests of {name} have a length of their own"))
            }
        }
    }
}

/// Text form of the digests.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum DigestEncoding {
    /// Lower-case hexadecimal
    Hex,
    /// RFC 4648, lower case, without padding
    Base32,
    /// RFC 4648, with padding
    Base64,
}

impl From<DigestEncoding> for DigestForm {
    fn from(encoding: DigestEncoding) -> Self {
        match encoding {
            DigestEncoding::Hex => Self::Hex,
            DigestEncoding::Base32 => Self::Base32,
            DigestEncoding::Base64 => Self::Base64,
        }
    }
}
