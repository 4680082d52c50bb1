//! What `rorqual serve` takes.

use crate::args::logs::{CountryArgs, FormatArgs};
use crate::args::service::ServiceArgs;
use crate::args::temp::TempArgs;
use clap::Args;
use rorqual_serve::CONNECTIONS_MAX_DEFAULT;
use std::path::PathBuf;

/// Open the log explorer in a browser, for logs given here or dropped on the page
///
/// Listens on this machine only, unless --bind says otherwise, and prints the address with a token
/// that the browser turns into a cookie. No log is written to disk. Its rows go, as compressed
/// columns, to a temporary file if they do not fit the memory, or to --state.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServeArgs {
    /// Port to listen on; 0 takes a free one
    #[arg(long, value_name = "N", default_value_t = 8631)]
    pub(crate) port: u16,
    /// Open the address in the default browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Logs that are held at the same time, arriving or to be looked at; an interrupted upload, or
    /// the log that nobody has looked at for longest, gives its place to a new one. A
    /// `--limit-rate` is for each
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) sessions: u16,
    #[command(flatten)]
    pub(crate) temp: TempArgs,
    /// Connections at a time; further ones wait
    #[arg(long, value_name = "N", default_value_t = CONNECTIONS_MAX_DEFAULT, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) connections: u16,
    /// Minutes without a request after which a session is forgotten, also in --state
    #[arg(long, value_name = "MINUTES", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) idle: u32,
    /// Keep uploads in this folder, as compressed columns, for as long as a session lives (--idle,
    /// --sessions): after a restart they are offered again, and resume where they were saved. No
    /// log is written there. Files that the server reads itself are not saved
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Render the templates of this folder at /render/NAME, while they are read; `query` in them is
    /// the query string of the address
    #[arg(long, value_name = "DIR")]
    pub(crate) templates: Option<PathBuf>,
    /// Renderings at a time; further ones are refused with 503
    #[arg(long, value_name = "N", default_value_t = 32, requires = "templates", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) renders: u16,
    /// Variables of the templates: the members of a JSON, YAML or TOML file
    #[arg(long, value_name = "FILE", requires = "templates")]
    pub(crate) template_data: Option<PathBuf>,
    /// `rows` in the templates: JSON, CSV, an access log, Parquet, Arrow; each rendering reads them
    /// anew, as many at a time as the memory has room for
    #[arg(long, value_name = "FILE", requires = "templates")]
    pub(crate) template_rows: Option<PathBuf>,
    /// Offer the store in this folder at /store/KEY: put, get, head, delete, ranges, leases; it is
    /// made where there is none
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) service: ServiceArgs,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) country: CountryArgs,
    /// Follow the FILEs as `tail -F` does: read on as they grow, through rotation and truncation,
    /// until Ctrl-C. Streams (a FIFO, `-`) are read as they come. Each keeps its place among the
    /// `--sessions`
    #[arg(long, requires = "files")]
    pub(crate) follow: bool,
    /// Logs to open at once, each a session; regular files only, except with `--follow`. A file
    /// that can't be opened is reported, and the others are shown
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}
