//! Arguments of `rorqual count`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  rorqual count access.log            lines, bytes, longest line
  rorqual count -l *.log.gz           lines of each and of all, decoded
  zcat big.gz | rorqual count -c      bytes of a stream
  find . -name '*.log' -print0 | rorqual count -lw --files0-from=- --total=only";

/// Count lines, bytes and the longest line
///
/// Newlines are counted as `wc -l` counts them. Words are runs of bytes other than the white space
/// of the C locale (blank, tab, newline, vertical tab, form feed, return), characters those of
/// UTF-8, whatever the locale. The longest line is in bytes, without its newline. Lines may be of
/// any length, NUL bytes are bytes, holes of sparse files are not read. gzip, zstd, bzip2, xz, lzma
/// and lz4 are recognised and decoded. UTF-16 with its mark is counted as the text that it is, its
/// longest line as UTF-8, and its bytes as they are.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CountArgs {
    /// Print the number of newlines
    #[arg(short, long)]
    pub(crate) lines: bool,
    /// Print the number of words
    #[arg(short, long)]
    pub(crate) words: bool,
    /// Print the number of characters (UTF-8); bytes that are part of none do not count
    #[arg(short = 'm', long)]
    pub(crate) chars: bool,
    /// Print the number of bytes
    #[arg(short = 'c', long)]
    pub(crate) bytes: bool,
    /// Print the length of the longest line
    #[arg(short = 'L', long)]
    pub(crate) longest: bool,
    /// Count the files whose names are in FILE, each ended by a NUL; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "files")]
    pub(crate) files0_from: Option<PathBuf>,
    /// Condition for the sum of all files: where there are several, always, nothing else, or never
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) total: TotalWhen,
    /// Print JSON: one object with every file and the total
    #[arg(long)]
    pub(crate) json: bool,
    /// Files, or addresses (s3://, gs://, az://, https://); `-` is standard input [default: -]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// Condition for the sum of all files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TotalWhen {
    Auto,
    Always,
    Only,
    Never,
}
