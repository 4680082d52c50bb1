//! Arguments of `rorqual mcp`.

use clap::Args;
use rorqual_shell::args::size;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  claude mcp add logs -- rorqual mcp --root /var/log/nginx
  rorqual mcp --root . --memory 512MiB      answers on standard output what is asked on standard input";

/// Answer the questions of a language model about files (Model Context Protocol, on standard input
/// and output)
///
/// Its tools are reports on access logs, unusual spans, Explain and Compare, a search, counts,
/// columns, rows, summaries, and SQL. Every answer has a limit on its length and its time. Only
/// files below --root are read, no address is, and nothing is written but temporary files without a
/// name. One question is answered at
/// a time, by a process of its own that keeps within --memory; this one takes up to 32 MiB beside
/// it.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct McpArgs {
    /// Folder whose files may be read, with all below it; may be given again [default: the current
    /// folder]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) root: Vec<PathBuf>,
    /// Longest answer, from 1KiB to 4MiB; what is longer is cut, and says so
    #[arg(long, value_name = "SIZE", value_parser = answer_bytes, default_value = "32KiB")]
    pub(crate) answer_max: u64,
    /// Longest time for an answer, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub(crate) timeout: u32,
}

/// The answer that is written waits in the memory of the server.
fn answer_bytes(text: &str) -> Result<u64, String> {
    size(text).and_then(|bytes| {
        if (1 << 10..=4 << 20).contains(&bytes) { Ok(bytes) } else { Err("is not between 1KiB and 4MiB".to_owned()) }
    })
}
