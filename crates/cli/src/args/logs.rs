//! Arguments of `rorqual logs`.

use crate::args::explore::ExploreArgs;
use clap::Args;
use rorqual_shell::args::size;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  rorqual logs access.log access.log.1.gz
  rorqual logs -i access.log
  rorqual logs --since 2025-01-31T08:00 --until 2025-01-31T09:00 access.log
  rorqual logs --json --top 100 access.log | jq '.panels[0].rows'
  rorqual logs --format '%h %l %u %t \"%r\" %>s %b %D' access.log
  rorqual logs --rejects unread.log access.log
  rorqual logs --findings access.log
  rorqual logs --explain 2025-01-31T08:00..2025-01-31T08:30 access.log
  rorqual logs --compare 2025-01-30..2025-01-31 2025-01-31..2025-02-01 access.log
  rorqual logs --rates --limit-per-minute 60 --where 'path = /login' access.log
  rorqual logs --by path --show hits,errors,p95 --sort p95 access.log
  rorqual logs --html report.html access.log
  rorqual logs --cluster 10.0.0.1 's3://logs/2026/**'
  rorqual logs --html report.html --template mine.html access.log";

/// Report on web-server logs: requests over time, status, top paths, clients, referrers, agents,
/// percentiles
///
/// The format is recognised by itself: Apache and nginx common, combined and vhost_combined, and
/// JSON lines of nginx, Caddy and Traefik. Any other is given with --format or --format-file.
/// Several files make one report.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LogsArgs {
    /// Print the report as JSON (schema `rorqual.logs/1`), or the answer (`rorqual.findings/1`,
    /// `rorqual.explain/1`, `rorqual.compare/1`, `rorqual.rates/1`, `rorqual.breakdown/1`)
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the report as one self-contained page; `-` is standard output
    ///
    /// The page holds its styles and its script, fetches nothing, and shows text of the log as text
    /// only. It appears whole or not at all. An existing file is replaced only with --force.
    /// Nothing else is printed, unless --json is given. With --findings the page has them, and with
    /// --by the table of metrics.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["explain", "compare", "rates"])]
    pub(crate) html: Option<PathBuf>,
    /// Template of the page (Jinja's language); its variable `report` is the object that --json
    /// prints
    ///
    /// It can include and extend files of its folder, and `rorqual/report.html`, the default
    /// template.
    #[arg(long, value_name = "FILE", requires = "html")]
    pub(crate) template: Option<PathBuf>,
    /// Explore the log on this terminal: filter, zoom, read lines, explain, by keys (`?` has all)
    ///
    /// The terminal has at least 80 columns and 24 rows. The first picture comes while the log is
    /// read. A log on standard input leaves the keys to the terminal.
    #[arg(short, long, conflicts_with_all = ["json", "html", "rejects", "question", "by", "top"])]
    pub(crate) interactive: bool,
    /// Number of rows of each top table
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) top: u16,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) country: CountryArgs,
    /// Only lines at or after this time (2025-01-31, 2025-01-31T08:00, 2025-01-31T08:00:00Z); UTC
    /// unless an offset is given
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only lines before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Only lines that meet this condition: 'status >= 500 and path ~ "^/api" and not bot'
    ///
    /// Comparisons of fields (client, net, country, host, method, path, url, query, protocol,
    /// status, class, bytes, request_time, upstream_time, referrer, site, agent, browser, os, bot,
    /// kind, source, hour, weekday, user) joined by and, or, not and parentheses. `=` and `!=`
    /// compare texts, `~` is a regular expression, `contains` a part of the text, `in (404, 5xx)`
    /// one of several; `client in 10.0.0.0/8` a network. `bot` alone means bots, `repaired` lines
    /// with one flaw, `rejected` those that can't be read, `flaw` compares the reason. Sizes and
    /// times may have units: `bytes > 1MiB`, `request_time >= 0.5`.
    #[arg(long = "where", value_name = "FILTER")]
    pub(crate) filter: Option<String>,
    /// Write lines that could not be parsed to this file, in order; whole, except lines longer than
    /// --line-max
    ///
    /// The file appears in one piece at the end. After Ctrl-C it has the lines read by then; if the
    /// process is killed or the disk is full, there is no file. It must not be one of the inputs.
    /// An existing file is replaced only with --force.
    #[arg(long, value_name = "FILE")]
    pub(crate) rejects: Option<PathBuf>,
    /// Overwrite existing files of --html and --rejects; a log is never overwritten
    #[arg(long)]
    pub(crate) force: bool,
    /// Logs, or their addresses (s3://, gs://, az://, https://); a folder stands for the files in
    /// it and below, at most 300; `-` is standard input [default: -]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The array in a JSON document whose elements are the records: `$.data.items`; or the object
    /// whose members are: `$.users.*` [default: guessed by the start of the document]
    #[arg(long, value_name = "PATH")]
    pub(crate) rows: Option<String>,
    /// Read the logs on a cluster (`rorqual cluster`), each executor a part: host and port of its
    /// scheduler; the report is the same
    #[arg(long, value_name = "HOST[:PORT]", conflicts_with_all = ["interactive", "rejects", "question", "by"])]
    pub(crate) cluster: Option<String>,
    /// The key of the cluster, made by `rorqual cluster key`
    #[arg(long, value_name = "FILE", env = "RORQUAL_CLUSTER_KEY")]
    pub(crate) cluster_key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) explore: ExploreArgs,
}

/// Countries of clients.
#[derive(Debug, Clone, Args)]
pub(crate) struct CountryArgs {
    /// Database for countries of clients: GeoLite2-Country.mmdb, or another MaxMind .mmdb with
    /// countries; it is held in memory
    #[arg(long, value_name = "FILE", env = "RORQUAL_GEOIP")]
    pub(crate) geoip: Option<PathBuf>,
}

/// Format of the log, unless it is recognised.
#[derive(Debug, Clone, Args)]
pub(crate) struct FormatArgs {
    /// Format of the log: common, combined, vhost_combined or json; one of them after a prefix,
    /// such as syslog+combined; an nginx `log_format` or Apache `LogFormat` string; or a name from
    /// --format-file
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Configuration of nginx or Apache (nginx.conf) whose log formats are tried
    #[arg(long, value_name = "FILE")]
    pub(crate) format_file: Option<PathBuf>,
    /// Longest line that is parsed; longer lines are rejected with a sample, and take no extra
    /// memory
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "256KiB")]
    pub(crate) line_max: u64,
}
