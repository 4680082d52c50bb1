//! What `rorqual count` takes.

use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  rorqual count access.log            lines, bytes, longest line
  rorqual count -l *.log.gz           lines of each and of all, decoded
  zcat big.gz | rorqual count -c      bytes of a stream";

/// Count lines, bytes and the longest line
///
/// Newlines are counted as `wc -l` counts them. The longest line is in bytes, without its newline. Lines may be of
/// any length, NUL bytes are bytes, holes of sparse files are not read. gzip, zstd, bzip2, xz, lzma
/// and lz4 are recognised and decoded.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CountArgs {
    /// Print the number of newlines
    #[arg(short, long)]
    pub(crate) lines: bool,
    /// Print the number of bytes
    #[arg(short = 'c', long)]
    pub(crate) bytes: bool,
    /// Print the length of the longest line
    #[arg(short = 'L', long)]
    pub(crate) longest: bool,
    /// Print JSON: one object with every file and the total
    #[arg(long)]
    pub(crate) json: bool,
    /// Files; `-` is standard input [default: -]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}
