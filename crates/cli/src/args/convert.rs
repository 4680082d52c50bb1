//! Arguments of `rorqual convert` and `rorqual schema`.

use clap::{Args, ValueEnum};
use rorqual_shell::args::size;
use std::path::PathBuf;

const CONVERT_EXAMPLES: &str = "\
Examples:
  rorqual convert events.ndjson.zst -o events.parquet
  rorqual convert dump.json --rows '$.data.items' --index actor.login -o items.parquet
  rorqual convert access.log access.log.1.gz -o access.parquet
  curl -s https://example.org/feed.json | rorqual convert - --from json --to ndjson -o - | head
  rorqual convert table.csv --bad skip --rejects bad.csv -o table.arrow";

/// Convert JSON, logs, CSV or columns of any size into Parquet, Arrow IPC, NDJSON or CSV
///
/// Documents may be one a line, one after another, the elements of one giant array, or those of an
/// array inside a document (--rows; without it a document that is one object is one row, as long as
/// records may be). Moments without an offset are taken for UTC; an object of more than 256 keys
/// inside a record is kept as JSON text. Columns are inferred; --schema names them. Rows keep their
/// order. The file appears whole at the end, or not at all. Several inputs make one file.
#[derive(Debug, Clone, Args)]
#[command(after_help = CONVERT_EXAMPLES)]
pub(crate) struct ConvertArgs {
    /// The file to write; `-` is standard output (NDJSON and CSV)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Output format: parquet, arrow, ndjson or csv [default: by the file's extension]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<To>,
    #[command(flatten)]
    pub(crate) from: FromArgs,
    /// Schema file, as `rorqual schema` prints it; values of other fields go to the column `_rest`
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// Bad records, and those longer than --record-max: end with an error, or skip them [default:
    /// error; for access logs: skip]
    #[arg(long, value_name = "WHAT")]
    pub(crate) bad: Option<BadRecordPolicy>,
    /// Skip bad records and write them to this file, unchanged and in order
    #[arg(long, value_name = "FILE")]
    pub(crate) rejects: Option<PathBuf>,
    /// Overwrite existing files of -o and --rejects; an input is never overwritten
    #[arg(long)]
    pub(crate) force: bool,
    /// After an error, keep the rows before it (the exit code is still 2)
    #[arg(long)]
    pub(crate) keep_partial: bool,
    /// Add a Bloom filter for this column (`actor.login`), so that `rorqual get` finds rows fast;
    /// Parquet only, may be repeated
    #[arg(long, value_name = "COLUMN")]
    pub(crate) index: Vec<String>,
    /// Largest row group (Parquet), measured as arrays in memory [default: an eighth of --memory,
    /// at most 32MiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) row_group: Option<u64>,
    /// Inputs, or their addresses (s3://, gs://, az://, https://); `-` is standard input
    #[arg(value_name = "IN", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// Format of the input, unless it is recognised.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FromArgs {
    /// Format of the input [default: recognised by its first bytes]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) from: Option<SourceFormat>,
    /// Path of the array of records in a JSON document: `$.data.items`,
    /// `$["a.b"].items`; or of an object whose members are the records, each a `key` and a `value`:
    /// `$.users.*`. If a key on the path is repeated, the first one counts: rows are read before
    /// the rest of the document
    #[arg(long, value_name = "PATH")]
    pub(crate) rows: Option<String>,
    /// Without --rows those in a JSON document that is one object are guessed: where rows are
    /// looked at, and not converted.
    #[arg(skip)]
    pub(crate) guesses_rows: bool,
    /// The format of an access log: a name, an nginx `log_format` or an Apache `LogFormat` string
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Separator of the fields of a CSV [default: inferred]
    #[arg(long, value_name = "CHARACTER")]
    pub(crate) delimiter: Option<char>,
    /// Names of the columns in the first record of a CSV: true or false [default: inferred]
    #[arg(long, value_name = "BOOL")]
    pub(crate) header: Option<bool>,
    /// Quote character of CSV fields, or none: then each line is one record [default: ", or none if
    /// the quotes do not pair up]
    #[arg(long, value_name = "CHARACTER|none")]
    pub(crate) quote: Option<String>,
    /// Text that stands for null in CSV and JSON, such as NA. May be repeated
    #[arg(long, value_name = "TEXT")]
    pub(crate) null: Vec<String>,
    /// Keep numbers exactly as written if a double would change them: their column becomes text
    /// [default: the nearest double, with a note if digits are lost]
    #[arg(long)]
    pub(crate) exact_numbers: bool,
    /// Longest record; every worker holds a few of them in memory [default: a 128th of --memory, at
    /// most 8MiB; 2MiB with the default --memory; halved until as many threads as --threads says
    /// fit]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) record_max: Option<u64>,
    /// Fields with values of several types: widen them (integer to number to text; containers to
    /// JSON text), or end with an error
    #[arg(long, value_name = "WHAT", default_value = "widen")]
    pub(crate) conflicts: ConvertConflicts,
}

/// Formats that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SourceFormat {
    Json,
    Ndjson,
    Csv,
    Tsv,
    Log,
}

/// Formats that can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum To {
    Parquet,
    Arrow,
    Ndjson,
    Csv,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BadRecordPolicy {
    Error,
    Skip,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConvertConflicts {
    #[default]
    Widen,
    Error,
}

const SCHEMA_EXAMPLES: &str = "\
Examples:
  rorqual schema events.ndjson
  rorqual schema events.ndjson > columns.json; rorqual convert --schema columns.json more.ndjson -o more.parquet";

/// Print the columns of JSON, logs, CSV, Parquet or Arrow files, as `convert --schema` reads them
///
/// A file is read whole; of a stream, too. Several inputs have the columns that all of them need.
#[derive(Debug, Clone, Args)]
#[command(after_help = SCHEMA_EXAMPLES)]
pub(crate) struct SchemaArgs {
    #[command(flatten)]
    pub(crate) from: FromArgs,
    /// Inputs, or their addresses (s3://, gs://, az://, https://); `-` is standard input
    #[arg(value_name = "IN", required = true)]
    pub(crate) files: Vec<PathBuf>,
}
