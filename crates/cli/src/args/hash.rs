//! What `rorqual hash` takes.

use clap::{Args, ValueEnum};
use rorqual_digest::{Algorithm, Encoding};
use std::path::PathBuf;

/// Print or check checksums
///
/// Prints what `sha256sum` prints, and checks its lists and BSD's. Bytes are hashed as they are stored: a compressed file is not
/// decoded. Files are hashed side by side, one a thread; a single file, and with BLAKE3 any file from 16 MiB on, gets all threads.
///
/// Exit codes: 0 when everything was hashed, or checked and found right; 1 when a check found something that differs, is
/// missing or could not be read, or a list without a proper line; 2 for wrong usage, or a file that could not be hashed.
#[derive(Debug, Clone, Args)]
pub(crate) struct HashArgs {
    /// sha256, sha512, sha1, md5 or blake3 [default: sha256; with --check: by the tag or the digest's length]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) algorithm: Option<Algorithm>,
    /// How digests are written
    #[arg(long, value_name = "ENCODING", default_value = "hex")]
    pub(crate) encoding: DigestEncoding,
    /// Write BSD's lines: `SHA256 (NAME) = DIGEST`
    #[arg(long, conflicts_with_all = ["check", "json"])]
    pub(crate) tag: bool,
    /// End lines with NUL and do not escape names
    #[arg(short, long, conflicts_with_all = ["check", "json"])]
    pub(crate) zero: bool,
    /// Read checksums from the FILEs and check them
    #[arg(short, long)]
    pub(crate) check: bool,
    /// Print no line for a file that is right
    #[arg(long, requires = "check")]
    pub(crate) quiet: bool,
    /// Print nothing; the exit code tells
    #[arg(long, requires = "check")]
    pub(crate) status: bool,
    /// Warn about each improper line of a list
    #[arg(short, long, requires = "check")]
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
    /// Files, or lists of checksums; `-` is standard input [default: -]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// How digests are written.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum DigestEncoding {
    /// Lower-case hexadecimal
    Hex,
    /// RFC 4648, lower case, without padding
    Base32,
    /// RFC 4648, with padding
    Base64,
}

impl From<DigestEncoding> for Encoding {
    fn from(encoding: DigestEncoding) -> Self {
        match encoding {
            DigestEncoding::Hex => Self::Hex,
            DigestEncoding::Base32 => Self::Base32,
            DigestEncoding::Base64 => Self::Base64,
        }
    }
}
