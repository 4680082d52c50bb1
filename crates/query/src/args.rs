//! Arguments of the program.

use crate::limits::{TABLE_ROWS_DEFAULT, TEMP_BYTES_DEFAULT};
use clap::{Parser, ValueEnum};
use rorqual_shell::args::{ProcessArgs, size};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  rorqual query \"SELECT status, count(*) FROM 'access.log.gz' GROUP BY status\"
  rorqual query \"SELECT date_trunc('hour', time) AS hour, status, count(*) FROM 'logs/*.log' GROUP BY 1, 2 ORDER BY 1, 2\"
  rorqual query -o slow.parquet \"SELECT * FROM 'access.log' WHERE request_time > 1\"
  zcat access.log.gz | rorqual query \"SELECT client, sum(bytes) FROM '-' GROUP BY client ORDER BY 2 DESC LIMIT 10\"
  rorqual query                       a prompt; statements end with ;";

/// SQL over files where they lie
///
/// A table is the path of a file, several by wildcards, a folder with files of one format, '-'
/// (standard input), or an address (s3://, gs://, az://, https://), in single quotes: access logs,
/// JSON, CSV, Parquet, Arrow IPC. Logs, JSON and CSV may be compressed. Nothing is converted or
/// written but the file of -o. The SQL is DataFusion's.
#[derive(Debug, Clone, Parser)]
#[command(name = "rorqual query", bin_name = "rorqual query", version, max_term_width = 110, args_override_self = true, after_help = EXAMPLES)]
pub struct Args {
    /// The query; without it, it is read from standard input, or a prompt is shown where that is a
    /// terminal
    #[arg(value_name = "SQL", conflicts_with = "file")]
    pub(crate) sql: Option<String>,
    /// Read the query from a file; several statements are separated by ;
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Format of the result [default: by the extension of -o; table on a terminal, csv otherwise]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<OutputFormat>,
    /// Write the result to a file, which appears whole or not at all; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file of -o where it is there already; an input never
    #[arg(long)]
    pub(crate) force: bool,
    /// Show how the query would be worked on instead
    #[arg(long)]
    pub(crate) explain: bool,
    /// Most rows of a table that are shown; the other formats have all
    #[arg(long, value_name = "N", default_value_t = TABLE_ROWS_DEFAULT)]
    pub(crate) max_rows: usize,
    /// Format of the files, if their names and first bytes do not tell it
    #[arg(long, value_name = "FORMAT")]
    pub(crate) from: Option<InputFormat>,
    /// The array in JSON documents whose elements are the records, `$.data.items`, or the object
    /// whose members are, `$.users.*`; of one table: `dump.json=$.data.items`. May be given again
    #[arg(long, value_name = "[TABLE=]PATH")]
    pub(crate) rows: Vec<String>,
    /// The format of access logs: a name, an nginx `log_format` or an Apache `LogFormat` string
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Separator of the fields of a CSV [default: inferred]
    #[arg(long, value_name = "CHARACTER")]
    pub(crate) delimiter: Option<char>,
    /// True if the first record of a CSV has the columns' names [default: inferred]
    #[arg(long, value_name = "BOOL")]
    pub(crate) header: Option<bool>,
    /// Quote around fields of a CSV that have separators or newlines in them, or none: each line is
    /// a record then [default: ", or none where quotes do not pair up]
    #[arg(long, value_name = "CHARACTER|none")]
    pub(crate) quote: Option<String>,
    /// A text that stands for null in CSV and JSON, as NA does in many files. May be given again
    #[arg(long, value_name = "TEXT")]
    pub(crate) null: Vec<String>,
    /// Keep numbers that a double would write otherwise as they are written: their column becomes
    /// text [default: the nearest double]
    #[arg(long)]
    pub(crate) exact_numbers: bool,
    /// Look at all records of JSON and CSV for their columns, not only at the first 4 MiB of the
    /// first file
    #[arg(long)]
    pub(crate) infer_all: bool,
    /// Fields with values of several types: widen (integer, number, text; containers to JSON text),
    /// or end with an error
    #[arg(long, value_name = "WHAT", default_value = "widen")]
    pub(crate) conflicts: QueryConflicts,
    /// Records that can't be read or are too long: end with an error, or skip and count them
    /// [default: error; of access logs skip]
    #[arg(long, value_name = "WHAT")]
    pub(crate) bad: Option<BadRecordFlag>,
    /// Longest line or record that is taken
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) record_max: Option<u64>,
    /// Read only files below this folder, and no address; may be given again
    #[arg(long, value_name = "FOLDER")]
    pub(crate) root: Vec<PathBuf>,
    /// The output of a program that reads the result, which is none of the files of the query
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) caller_output: Option<PathBuf>,
    /// Take {} in the name of --caller-output for any number: the program writes several files
    #[arg(long, hide = true, requires = "caller_output")]
    pub(crate) caller_splits: bool,
    /// Write the bytes of the object at an address to standard output, for the other verbs
    #[arg(long, value_name = "URL", hide = true, exclusive = true)]
    pub(crate) copy_object: Option<String>,
    /// Write the addresses of the objects that an address stands for, each ended by a NUL
    #[arg(long, value_name = "URL", hide = true, exclusive = true)]
    pub(crate) list_objects: Option<String>,
    #[command(flatten)]
    pub(crate) process: ProcessArgs,
    /// Folder for temporary files [default: the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER", env = "RORQUAL_TEMP")]
    pub(crate) temp_dir: Option<PathBuf>,
    /// Disk limit for temporary files [default: 16GiB]
    #[arg(long, value_name = "SIZE", value_parser = size, default_value_t = TEMP_BYTES_DEFAULT, hide_default_value = true)]
    pub(crate) temp_max: u64,
}

/// Format of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Aligned columns, for people
    Table,
    /// Comma-separated, with a header
    Csv,
    /// One JSON array
    Json,
    /// One JSON object a line
    Ndjson,
    /// Parquet, with zstd
    Parquet,
    /// Arrow IPC
    Arrow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum QueryConflicts {
    Widen,
    Error,
}

/// The fate of records that are not rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BadRecordFlag {
    /// The query fails at the first.
    Error,
    /// They are left out and counted.
    Skip,
}

/// Format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// An access log
    Log,
    /// JSON: one document, an array, documents one after another
    Json,
    /// JSON, one document a line
    Ndjson,
    /// Comma-separated
    Csv,
    /// Tab-separated
    Tsv,
    Parquet,
    /// Arrow IPC
    Arrow,
}
