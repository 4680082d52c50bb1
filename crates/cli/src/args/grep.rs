//! What `rorqual grep` takes.

use crate::args::size;
use clap::{ArgAction, Args};
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  rorqual grep ' 404 ' access.log
  rorqual grep -c -e error -e warning *.log.gz
  rorqual grep -rn TODO src";

/// Print the lines that match a pattern
///
/// Patterns are regular expressions as of Rust's `regex`. Lines may be of any length: one that does not fit the memory is searched
/// all the same, with an exact answer. NUL bytes are bytes. Compressed files are recognised and decoded. Each file is searched
/// by all cores, and printed in order. Exit code 0: a line was selected; 1: none was; 2: something went wrong.
#[derive(Debug, Clone, Args)]
#[command(disable_help_flag = true, after_help = EXAMPLES)]
pub(crate) struct GrepArgs {
    /// A pattern; may be given again, and then any may match
    #[arg(short = 'e', long = "regexp", value_name = "PATTERN")]
    pub(crate) patterns: Vec<String>,
    /// A file with a pattern on each line; may be given again
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub(crate) pattern_files: Vec<PathBuf>,
    /// Patterns are texts, not regular expressions
    #[arg(short = 'F', long)]
    pub(crate) fixed_strings: bool,
    /// Letters match their other case
    #[arg(short, long)]
    pub(crate) ignore_case: bool,
    /// Letters match their other case unless a pattern has an upper-case one
    #[arg(short = 'S', long, conflicts_with = "ignore_case")]
    pub(crate) smart_case: bool,
    /// Select the lines that do not match
    #[arg(short = 'v', long)]
    pub(crate) invert_match: bool,
    /// A match starts and ends where a word does
    #[arg(short, long)]
    pub(crate) word_regexp: bool,
    /// A match is a whole line
    #[arg(short = 'x', long)]
    pub(crate) line_regexp: bool,
    /// Print how many lines of each file are selected
    #[arg(short, long, conflicts_with_all = ["files_with_matches", "files_without_match"])]
    pub(crate) count: bool,
    /// Print the names of files with a selected line
    #[arg(short = 'l', long, conflicts_with = "files_without_match")]
    pub(crate) files_with_matches: bool,
    /// Print the names of files without one
    #[arg(short = 'L', long)]
    pub(crate) files_without_match: bool,
    /// Print nothing; the exit code tells, at the first selected line
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Stop after this many selected lines of each file
    #[arg(short, long, value_name = "N")]
    pub(crate) max_count: Option<u64>,
    /// Print the matches only, each on a line; in a line that is not held whole (--line-max) at most 256 KiB of one
    #[arg(short, long)]
    pub(crate) only_matching: bool,
    /// Print line numbers
    #[arg(short = 'n', long)]
    pub(crate) line_number: bool,
    /// Print where each line (with -o, match) starts, in bytes
    #[arg(short, long)]
    pub(crate) byte_offset: bool,
    /// Print file names [default: where there are several]
    #[arg(short = 'H', long)]
    pub(crate) with_filename: bool,
    /// Print no file names
    #[arg(short = 'h', long, conflicts_with = "with_filename")]
    pub(crate) no_filename: bool,
    /// Print this many lines after a selected one too
    #[arg(short = 'A', long, value_name = "N")]
    pub(crate) after_context: Option<usize>,
    /// Print this many lines before a selected one too
    #[arg(short = 'B', long, value_name = "N")]
    pub(crate) before_context: Option<usize>,
    /// Print this many lines before and after
    #[arg(short = 'C', long, value_name = "N")]
    pub(crate) context: Option<usize>,
    /// Cut printed lines behind this many bytes; 0: never [default: 4096 on a terminal, 0 elsewhere]
    #[arg(short = 'M', long, value_name = "N")]
    pub(crate) max_columns: Option<usize>,
    /// Print JSON, an object a line, of the types of ripgrep: begin, match, context, end, summary
    #[arg(long, conflicts_with_all = ["count", "files_with_matches", "files_without_match", "only_matching", "quiet"])]
    pub(crate) json: bool,
    /// Search the files in folders, and theirs; without a FILE, in the present one. Links are not followed
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// Longest line that is held whole; a longer one can't be printed whole where the input can't be read again
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "256KiB")]
    pub(crate) line_max: u64,
    /// Accepted for the habit: every file is searched as text
    #[arg(short = 'a', long, hide = true)]
    pub(crate) text: bool,
    /// Accepted for the habit: the syntax is always the extended one
    #[arg(short = 'E', long, hide = true)]
    pub(crate) extended_regexp: bool,
    /// Print help
    #[arg(long, action = ArgAction::HelpLong)]
    help: Option<bool>,
    /// The pattern, unless -e or -f gives one; then files; `-` is standard input [default: -]
    #[arg(value_name = "PATTERN] [FILE")]
    pub(crate) operands: Vec<OsString>,
}
