//! Arguments of the verbs that print rows.

use super::FromArgs;
use super::temp::TempArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

const GET_EXAMPLES: &str = "\
Examples:
  rorqual get events.parquet id=40000012345
  rorqual get events.parquet actor.login=octocat --columns id,repo.name
  rorqual get log.parquet time=2025-01-01T00:00:00Z --to csv";

const HEAD_EXAMPLES: &str = "\
Examples:
  rorqual head events.parquet             the first ten rows
  rorqual head dump.json.zst              of any format that `convert` reads
  rorqual head -n 3 events.arrow | jq .   three as JSON, one a line";

const SAMPLE_EXAMPLES: &str = "\
Examples:
  rorqual sample events.parquet                     ten rows, others each time
  rorqual sample -n 1000 --seed 7 events.parquet    a thousand, the same ones each time";

/// Print the rows where a column has a value
///
/// Of a Parquet file only the parts that can have the value are read: statistics, Bloom filters
/// (`convert --index COLUMN`) and the page index tell. A number, a text, true or false, or an
/// instant as RFC 3339 has it is compared as the column's type says. Exit code 0: a row was found;
/// 1: none; 2: something went wrong.
#[derive(Debug, Clone, Args)]
#[command(after_help = GET_EXAMPLES)]
pub(crate) struct GetArgs {
    #[command(flatten)]
    pub(crate) shown: ShownArgs,
    /// A Parquet or Arrow file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The column, by its path, and the value
    #[arg(value_name = "COLUMN=VALUE")]
    pub(crate) condition: String,
}

/// Print the first rows of a file: JSON, CSV, an access log, Parquet or Arrow
#[derive(Debug, Clone, Args)]
#[command(after_help = HEAD_EXAMPLES)]
pub(crate) struct HeadArgs {
    #[command(flatten)]
    pub(crate) shown: ShownArgs,
    /// Number of rows
    #[arg(short = 'n', long = "number", id = "number", value_name = "N", default_value_t = 10)]
    pub(crate) rows: u64,
    #[command(flatten)]
    pub(crate) from: FromArgs,
    /// The file; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// Print rows chosen at random: of JSON, CSV, an access log, Parquet or Arrow
///
/// Each set of N rows is as likely as any other. They are printed in their order in the file.
#[derive(Debug, Clone, Args)]
#[command(after_help = SAMPLE_EXAMPLES)]
pub(crate) struct SampleArgs {
    #[command(flatten)]
    pub(crate) shown: ShownArgs,
    /// Number of rows, at most 1000000
    #[arg(short = 'n', long = "number", id = "number", value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    pub(crate) rows: u64,
    /// Seed of the choice: the same number chooses the same rows
    #[arg(long, value_name = "S")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) from: FromArgs,
    /// The file; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

const SUMMARY_EXAMPLES: &str = "\
Examples:
  rorqual summary app.ndjson                                  what there is in an application's log
  rorqual summary events.parquet --where 'level = error'      the same of its errors
  rorqual summary dump.json --where 'items > 3 and \"user agent\" contains curl' --top 20
  curl -s https://example.com/trips.csv.gz | rorqual summary -";

/// Summarise the columns of any file: JSON, CSV, an access log, Parquet or Arrow
///
/// Of each column of texts the values that most rows have, of each column of numbers its quantiles,
/// and rows over time by the column that is the time. Members of objects are columns of their own
/// (actor.login); lists are JSON. Counts are exact, or say that they are not. JSON and CSV files
/// are read twice, first for their columns.
#[derive(Debug, Clone, Args)]
#[command(after_help = SUMMARY_EXAMPLES)]
pub(crate) struct SummaryArgs {
    /// Only rows that meet this condition: 'level = error and duration_ms > 250'
    ///
    /// Comparisons of columns joined by and, or, not and parentheses. `=` and `!=` compare, `<` and
    /// its like compare numbers and times (created >= 2026-01-27T14:10), `~` is a regular
    /// expression, `contains` a part of the text, `in (a, b)` one of several, `-` the absent value.
    /// A name that is not a word is in double quotes.
    #[arg(long = "where", value_name = "FILTER")]
    pub(crate) filter: Option<String>,
    /// Number of values of each column of texts
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) top: u16,
    /// Print one JSON object (schema `rorqual.summary/1`)
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) from: FromArgs,
    #[command(flatten)]
    pub(crate) temp: TempArgs,
    /// The file; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// Columns to print, and their form.
#[derive(Debug, Clone, Args)]
pub(crate) struct ShownArgs {
    /// Print only these columns, given by their paths
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) columns: Option<Vec<String>>,
    /// Output form of the rows [default: table on a terminal, ndjson elsewhere]
    #[arg(long, value_name = "FORM", overrides_with = "json")]
    pub(crate) to: Option<RowForm>,
    /// Print one JSON object per line, the same as --to ndjson
    #[arg(long, overrides_with = "to")]
    pub(crate) json: bool,
}

/// Form of printed rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowForm {
    /// A JSON object a line
    Ndjson,
    /// Comma-separated, with a header
    Csv,
    /// A table as wide as the terminal
    Table,
}
