//! What `rorqual logs` takes.

use crate::args::explore::ExploreArgs;
use crate::args::size;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  rorqual logs access.log access.log.1.gz
  rorqual logs --since 2025-01-31T08:00 --until 2025-01-31T09:00 access.log
  rorqual logs --json --top 100 access.log | jq '.panels[0].rows'
  rorqual logs --format '%h %l %u %t \"%r\" %>s %b %D' access.log
  rorqual logs --rejects unread.log access.log
  rorqual logs --explain 2025-01-31T08:00..2025-01-31T08:30 access.log
  rorqual logs --compare 2025-01-30..2025-01-31 2025-01-31..2025-02-01 access.log
  rorqual logs --rates --limit-per-minute 60 --where 'path = /login' access.log
  rorqual logs --html report.html access.log
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
    /// Print the report as JSON (schema `rorqual.logs/1`), or the answer (`rorqual.explain/1`,
    /// `rorqual.compare/1`, `rorqual.rates/1`)
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the report as one page that needs nothing beside it; `-` is standard output
    ///
    /// The page holds its styles and its script, fetches nothing, and shows text of the log as text
    /// only. It appears whole, or not at all, and replaces a file that is there only with --force.
    /// Nothing is printed then but with --json.
    #[arg(long, value_name = "FILE", conflicts_with = "question")]
    pub(crate) html: Option<PathBuf>,
    /// Make the page by this template (Jinja's language); `report` in it is the object that --json
    /// prints
    ///
    /// It can include and extend files of its folder, and `rorqual/report.html`, the default
    /// template.
    #[arg(long, value_name = "FILE", requires = "html")]
    pub(crate) template: Option<PathBuf>,
    /// Rows of each top table
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) top: u16,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) country: CountryArgs,
    /// Only lines at or after this time (2025-01-31, 2025-01-31T08:00, 2025-01-31T08:00:00Z; UTC
    /// unless said)
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only lines before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Only lines that meet this: 'status >= 500 and path ~ "^/api" and not bot'
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
    /// Write lines that could not be parsed to this file, in order; whole, but for those longer
    /// than --line-max
    ///
    /// The file appears at the end, in one piece: after Ctrl-C with the lines read by then, and not
    /// at all when the process is killed or the disk is full. It must not be one of the inputs; one
    /// that is there is replaced only with --force.
    #[arg(long, value_name = "FILE")]
    pub(crate) rejects: Option<PathBuf>,
    /// Replace the files of --html and --rejects where they are there already; a log never
    #[arg(long)]
    pub(crate) force: bool,
    /// Logs; `-` is standard input [default: -]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) explore: ExploreArgs,
}

/// Where clients are.
#[derive(Debug, Clone, Args)]
pub(crate) struct CountryArgs {
    /// Countries of clients by this MaxMind database: GeoLite2-Country.mmdb, or any other .mmdb
    /// with countries; held in memory
    #[arg(long, value_name = "FILE", env = "RORQUAL_GEOIP")]
    pub(crate) geoip: Option<PathBuf>,
}

/// How the log's format is given when it is not to be recognised.
#[derive(Debug, Clone, Args)]
pub(crate) struct FormatArgs {
    /// common, combined, vhost_combined, json; one after a prefix, such as syslog+combined; or an
    /// nginx `log_format` or Apache `LogFormat` string; or a name in --format-file
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// An nginx.conf or Apache configuration whose log formats are tried
    #[arg(long, value_name = "FILE")]
    pub(crate) format_file: Option<PathBuf>,
    /// Longest line that is parsed; longer ones are rejected (with a sample), at no cost in memory
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "256KiB")]
    pub(crate) line_max: u64,
}
