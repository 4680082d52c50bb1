//! What can be typed. What is meant is worked out by each verb, once.

use clap::{Args, Parser, Subcommand, ValueEnum};
use rorqual_pipe::parse_size;
use std::path::PathBuf;

/// Files of any size, in the memory you give it, at the speed of the hardware.
#[derive(Debug, Parser)]
#[command(name = "rorqual", version, arg_required_else_help = true, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Flags of every verb.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Flags of every verb")]
pub(crate) struct Common {
    /// Most memory the whole process may take, resident, whatever the input [default: 256MiB; serve: 512MiB]
    #[arg(long, global = true, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Worker threads [default: one a core]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Take in at most this many bytes a second
    #[arg(long, global = true, value_name = "SIZE", value_parser = size)]
    pub(crate) limit_rate: Option<u64>,
    /// Show progress on stderr
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) progress: When,
    /// Colour the output
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: When,
    /// At the end, print one JSON object on stderr: bytes, seconds, rate, peak memory, waits, system calls
    #[arg(long, global = true)]
    pub(crate) stats: bool,
}

/// When to do something that suits terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

impl When {
    pub(crate) fn write_global(self) {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

impl Common {
    pub(crate) fn threads(&self) -> usize {
        self.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Count(CountArgs),
    Logs(LogsArgs),
    Serve(ServeArgs),
    /// Print a completion script for a shell
    Completions {
        /// bash, zsh, fish, elvish or powershell
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff)
    Man,
}

/// Count lines, bytes and the longest line
///
/// Newlines are counted as `wc -l` counts them. The longest line is in bytes, without its newline. Lines may be of
/// any length, NUL bytes are bytes, holes of sparse files are not read. gzip and zstd are recognised and decoded.
#[derive(Debug, Clone, Args)]
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

/// Report on web-server logs: requests over time, status, top paths, clients, referrers, agents, percentiles
///
/// The format is recognised by itself: Apache and nginx common, combined and vhost_combined, and JSON lines of nginx, Caddy and
/// Traefik. Any other is given with --format or --format-file. Several files make one report.
#[derive(Debug, Clone, Args)]
pub(crate) struct LogsArgs {
    /// Print the report as JSON (schema `rorqual.logs/1`)
    #[arg(long)]
    pub(crate) json: bool,
    /// Rows of each top table
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) top: u16,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Only lines at or after this time (2025-01-31, 2025-01-31T08:00, 2025-01-31T08:00:00Z; UTC unless said)
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only lines before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Write lines that could not be parsed to this file, in order; whole, but for those longer than --line-max
    #[arg(long, value_name = "FILE")]
    pub(crate) rejects: Option<PathBuf>,
    /// Logs; `-` is standard input [default: -]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// How the log's format is given when it is not to be recognised.
#[derive(Debug, Clone, Args)]
pub(crate) struct FormatArgs {
    /// common, combined, vhost_combined, json; or an nginx `log_format` or Apache `LogFormat` string; or a name in --format-file
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// An nginx.conf or Apache configuration whose log formats are tried
    #[arg(long, value_name = "FILE")]
    pub(crate) format_file: Option<PathBuf>,
    /// Longest line that is parsed; longer ones are rejected (with a sample), at no cost in memory
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "256KiB")]
    pub(crate) line_max: u64,
}

/// Open the log explorer in a browser, for logs given here or dropped on the page
///
/// Listens on this machine only, and prints the address with a token that the browser turns into a cookie.
/// Nothing that is uploaded is written to disk.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServeArgs {
    /// Port to listen on; 0 takes a free one
    #[arg(long, value_name = "N", default_value_t = 8631)]
    pub(crate) port: u16,
    /// Open the address in the default browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Uploads and analyses that may run at the same time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) sessions: u16,
    /// Minutes without a request after which a session is forgotten
    #[arg(long, value_name = "MINUTES", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) idle: u32,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Logs to open at once, each a session
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

fn size(text: &str) -> Result<u64, String> {
    parse_size(text).map_err(|error| error.to_string())
}
