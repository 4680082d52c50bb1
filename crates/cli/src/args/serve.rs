//! Arguments of `rorqual serve`.

use crate::args::cache::CacheArgs;
use crate::args::logs::{CountryArgs, FormatArgs};
use crate::args::peers::PeersArgs;
use crate::args::service::ServiceArgs;
use crate::args::temp::TempArgs;
use clap::Args;
use rorqual_serve::CONNECTIONS_MAX_DEFAULT;
use std::path::PathBuf;

/// Open the log explorer in a browser, for logs given here or dropped on the page
///
/// Listens on this machine only, unless --bind says otherwise, and prints the address with a token
/// that the browser turns into a cookie. No log is written to disk. Its rows go, as compressed
/// columns, to a temporary file if they do not fit the memory, or to --state; those of FILEs to a
/// cache, so that they need not be read again.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServeArgs {
    /// Port to listen on; 0 picks a free one
    #[arg(long, value_name = "N", default_value_t = 8631)]
    pub(crate) port: u16,
    /// Open the address in the default browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Logs that may be read at the same time, each with an equal share of the memory. A new log
    /// replaces an interrupted upload. Finished logs stay beside them while their rows fit into
    /// the same memory, at most 8 more; the one that was not viewed for the longest time goes
    /// first. `--limit-rate` applies to each log
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) sessions: u16,
    /// The array in a FILE that is a JSON document, whose elements are the records: `$.data.items`;
    /// or the object whose members are: `$.users.*` [default: guessed by the start of the document]
    #[arg(long, value_name = "PATH")]
    pub(crate) rows: Option<String>,
    #[command(flatten)]
    pub(crate) temp: TempArgs,
    /// Most connections at the same time; further ones wait
    #[arg(long, value_name = "N", default_value_t = CONNECTIONS_MAX_DEFAULT, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) connections: u16,
    /// Minutes without a request after which a session is removed, also from --state
    #[arg(long, value_name = "MINUTES", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) idle: u32,
    /// Save uploads in this folder, as compressed columns, for as long as their session lives
    /// (--idle, --sessions). After a restart they are available again, and interrupted ones resume
    /// at the saved offset. The log itself is not written there. Saved views are kept in it, too,
    /// until they are removed. Files that the server opens itself have their cache in it
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Folder of templates, each rendered at /render/NAME and sent as it is rendered; `query` in
    /// them is the query string of the address
    #[arg(long, value_name = "DIR")]
    pub(crate) templates: Option<PathBuf>,
    /// Most renderings at the same time; further requests are refused with 503
    #[arg(long, value_name = "N", default_value_t = 32, requires = "templates", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) renders: u16,
    /// Variables of the templates, from the members of a JSON, YAML or TOML file
    #[arg(long, value_name = "FILE", requires = "templates")]
    pub(crate) template_data: Option<PathBuf>,
    /// Input for `rows` in the templates: JSON, CSV, an access log, Parquet or Arrow. Each
    /// rendering reads it anew; memory limits how many read at the same time
    #[arg(long, value_name = "FILE", requires = "templates")]
    pub(crate) template_rows: Option<PathBuf>,
    /// Folder of a store to serve at /store/KEY: put, get, head, delete, ranges, leases; it is
    /// created if missing
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) cache: CacheArgs,
    #[command(flatten)]
    pub(crate) peers: PeersArgs,
    #[command(flatten)]
    pub(crate) service: ServiceArgs,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) country: CountryArgs,
    /// Follow the FILEs as `tail -F` does: read on as they grow, through rotation and truncation,
    /// until Ctrl-C. Streams (a FIFO, `-`) are read as they come. Several are one log, and each
    /// file of JSON lines is a session
    #[arg(long, requires = "files")]
    pub(crate) follow: bool,
    /// Open each log as a session of its own, instead of all as one. Those that are one are not in
    /// the cache
    #[arg(long, requires = "files")]
    pub(crate) separate: bool,
    /// Logs, and tables (JSON, CSV, Parquet, Arrow), to open at once; regular files only, except
    /// logs with `--follow`. A folder stands for the files in it and below, at most 300; hidden
    /// ones are left out. Several logs are one, with the file as a column, and each table is a
    /// session. A file that can't be opened is reported, and the others are shown
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}
