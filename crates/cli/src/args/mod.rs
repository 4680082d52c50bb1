//! Command line as it is typed. Each verb derives its settings from it, once.

mod cache;
mod convert;
mod count;
mod explore;
mod fetch;
mod grep;
mod hash;
mod logs;
mod mcp;
mod name_globs;
mod peers;
mod query;
mod render;
mod rows;
mod serve;
mod service;
mod store;
mod temp;
mod typed;

pub(crate) use convert::{BadRecordPolicy, ConvertArgs, ConvertConflicts, FromArgs, SchemaArgs, SourceFormat, To};
pub(crate) use count::{CountArgs, TotalWhen};
pub(crate) use explore::ExploreArgs;
pub(crate) use fetch::FetchArgs;
pub(crate) use grep::{GrepArgs, Sort, USAGE as GREP_USAGE};
pub(crate) use hash::HashArgs;
pub(crate) use logs::{CountryArgs, FormatArgs, LogsArgs};
pub(crate) use mcp::McpArgs;
pub(crate) use name_globs::NameGlob;
pub(crate) use query::{ClusterVerbArgs, QueryArgs};
pub(crate) use render::{RenderArgs, RowsArgs, SplitBy};
pub(crate) use rows::{GetArgs, HeadArgs, RowForm, SampleArgs, ShownArgs, SummaryArgs};
pub(crate) use serve::ServeArgs;
pub(crate) use service::{LogLevel, LogStyle, ServiceArgs};
pub(crate) use store::{Addressing, LeaseArgs, LeaseCommand, StoreArgs, StoreCommand};
pub(crate) use temp::TempArgs;
pub(crate) use typed::typed;

use clap::{Args, Parser, Subcommand, ValueEnum};
pub(crate) use rorqual_shell::args::{ProcessArgs, size};

/// Version, and on the lines after it the commit that a package was built of, the system, and the
/// linking of the C library.
const LONG_VERSION: &str = match option_env!("RORQUAL_BUILD") {
    Some(build) => build,
    None => concat!(env!("CARGO_PKG_VERSION"), "\ncommit: not said by this build"),
};

/// Files of any size, in the memory you give it, at the speed of the hardware.
#[derive(Debug, Parser)]
#[command(name = "rorqual", version, long_version = LONG_VERSION, arg_required_else_help = true, args_override_self = true, max_term_width = 110)]
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
    #[command(flatten)]
    pub(crate) process: ProcessArgs,
    /// Read at most this many bytes per second; for serve, per log; not for query
    #[arg(long, global = true, value_name = "SIZE", value_parser = rate)]
    pub(crate) limit_rate: Option<u64>,
    /// Show progress on stderr; not for query and serve
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) progress: TerminalWhen,
    /// Use colours in the output; query has none
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", alias = "colour")]
    pub(crate) color: TerminalWhen,
}

/// Policy for progress and colours, by default only on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TerminalWhen {
    Auto,
    Always,
    Never,
}

impl TerminalWhen {
    pub(crate) fn write_global(self) {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Count(CountArgs),
    Grep(GrepArgs),
    Hash(HashArgs),
    Fetch(FetchArgs),
    Store(StoreArgs),
    Logs(LogsArgs),
    Convert(ConvertArgs),
    Schema(SchemaArgs),
    Get(GetArgs),
    Head(HeadArgs),
    Sample(SampleArgs),
    Summary(SummaryArgs),
    Query(QueryArgs),
    Cluster(ClusterVerbArgs),
    Render(RenderArgs),
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArgs),
    Mcp(McpArgs),
    /// Print a completion script for a shell
    #[command(after_help = "Examples:\n  rorqual completions bash > ~/.local/share/bash-completion/completions/rorqual")]
    Completions {
        /// bash, zsh, fish, elvish or powershell
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff), all verbs in one or that of a single verb
    #[command(after_help = "Examples:\n  rorqual man | man -l -\n  rorqual man grep | man -l -")]
    Man {
        /// The verb; all of them if not given
        verb: Option<String>,
    },
}

const SERVE_EXAMPLES: &str = "\
Examples:
  rorqual serve --open access.log     the log explorer on a log, in the browser
  rorqual serve --port 0              on a free port; drop logs on the page
  rorqual serve --bind 0.0.0.0 --public-url https://logs.example:8631 --tls-cert chain.pem --tls-key key.pem --token-file token
                                      for other machines";

fn rate(text: &str) -> Result<u64, String> {
    match size(text)? {
        0 => Err("at 0 bytes a second it would never end (without this flag there is no limit)".to_owned()),
        rate => Ok(rate),
    }
}
