//! Arguments of `rorqual render`.

use super::SourceFormat;
use clap::Args;
use rorqual_shell::args::size;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  rorqual render page.html -D title=\"Hello\" --data site.yaml -o index.html
  rorqual render report.html --rows access.log.gz -o report.html
  rorqual render items.xml --sql \"SELECT url, time FROM 'pages.parquet'\" > feed.xml
  rorqual render sitemap.xml --rows urls.csv --split 50000 -o 'sitemap-{}.xml'
  rorqual render lines.txt -D n:=1000000000 | head          {% for i in range(n) %}{{ i }}...

In the template, `rows` is what --rows or --sql gives, read as the loop over it goes on. A column without a value is none.
A template ending in .html, .htm, .xml, .xhtml or .svg escapes what it writes, one in .json, .js, .yaml or .yml writes JSON;
.j2, .jinja or .jinja2 after that say nothing.";

/// Write a page of any size from a template (Jinja) and rows
///
/// Rows come from any file that `convert` reads and leave as text while they are read, so memory
/// does not grow with them. Templates include, extend and import others from the folder of the
/// first, and from nowhere else. A name without a value is an error.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RenderArgs {
    /// Template file
    #[arg(value_name = "TEMPLATE")]
    pub(crate) template: PathBuf,
    /// Variable: `name=text`, or `name:=JSON` (`n:=1000`); may be repeated, and overrides --data
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE")]
    pub(crate) define: Vec<String>,
    /// Variables from the members of a JSON, YAML or TOML file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) rows: RowsArgs,
    /// Output file, which appears whole at the end or not at all [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite an existing file of -o; an input is never overwritten
    #[arg(long)]
    pub(crate) force: bool,
    /// Start a new file after this many rows (50000), or once a file has this many bytes (100MB);
    /// `{}` in -o becomes its number
    #[arg(long, value_name = "N|SIZE", value_parser = SplitBy::parse, requires = "output")]
    pub(crate) split: Option<SplitBy>,
    /// Treat a name without a value as empty instead of as an error
    #[arg(long)]
    pub(crate) lenient: bool,
    /// Print a JSON object for each file that was written
    #[arg(long, requires = "output")]
    pub(crate) json: bool,
}

/// Source of the template's rows.
#[derive(Debug, Clone, Args)]
pub(crate) struct RowsArgs {
    /// Input for `rows` in the template: JSON, CSV, an access log, Parquet or Arrow; `-` is
    /// standard input
    #[arg(long, value_name = "FILE", conflicts_with = "sql")]
    pub(crate) rows: Option<PathBuf>,
    /// SQL query whose result is `rows` in the template, as `rorqual query` returns it
    #[arg(long, value_name = "QUERY")]
    pub(crate) sql: Option<String>,
    /// Path of the array of rows in a JSON document: `$.data.items`
    #[arg(long, value_name = "PATH", requires = "rows")]
    pub(crate) rows_path: Option<String>,
    /// Format of --rows [default: recognised by its first bytes]
    #[arg(long, value_name = "FORMAT", requires = "rows")]
    pub(crate) from: Option<SourceFormat>,
    /// The format of an access log: a name, an nginx `log_format` or an Apache `LogFormat` string
    #[arg(long, value_name = "FORMAT", requires = "rows")]
    pub(crate) format: Option<String>,
    /// Names of the columns in the first record of a CSV: true or false [default: inferred]
    #[arg(long, value_name = "BOOL", requires = "rows")]
    pub(crate) header: Option<bool>,
    /// Longest row in the input [default: a 128th of --memory, at most 8MiB; 2MiB with the default
    /// --memory; halved until as many threads as --threads says fit]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) record_max: Option<u64>,
}

/// Limit after which an output continues in a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SplitBy {
    Rows(u64),
    Bytes(u64),
}

impl SplitBy {
    fn parse(text: &str) -> Result<Self, String> {
        let split = match text.parse() {
            Ok(rows) => Self::Rows(rows),
            Err(_) => Self::Bytes(size(text)?),
        };
        match split {
            Self::Rows(0) | Self::Bytes(0) => Err("files of nothing would never end".to_owned()),
            split => Ok(split),
        }
    }
}
