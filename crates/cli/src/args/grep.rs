//! Arguments of `rorqual grep`.

use crate::args::name_globs::NameGlobs;
use clap::{ArgAction, Args, ValueEnum};
use rorqual_shell::args::size;
use std::ffi::OsString;
use std::path::PathBuf;

/// The pattern is an operand like the files: clap would write both as one name in brackets.
pub(crate) const USAGE: &str = "\
rorqual grep [OPTIONS] PATTERN [FILE]...
       rorqual grep [OPTIONS] -e PATTERN [FILE]...
       rorqual grep [OPTIONS] -f FILE [FILE]...";

const EXAMPLES: &str = "\
Examples:
  rorqual grep ' 404 ' access.log
  rorqual grep -c -e error -e warning *.log.gz
  rorqual grep -rn TODO src";

/// Print the lines that match a pattern
///
/// Patterns are regular expressions as of Rust's `regex`. Lines may be of any length: one that does
/// not fit the memory is searched all the same, with an exact answer. NUL bytes are bytes.
/// Compressed files and UTF-16 are recognised and decoded. Each file is searched by all cores, and
/// printed in order. Exit code 0: a line was selected; 1: none was; 2: something went wrong.
#[derive(Debug, Clone, Args)]
#[command(disable_help_flag = true, args_override_self = true, override_usage = USAGE, after_help = EXAMPLES)]
pub(crate) struct GrepArgs {
    /// A pattern; may be given again, and then any may match
    #[arg(short = 'e', long = "regexp", value_name = "PATTERN", allow_hyphen_values = true)]
    pub(crate) patterns: Vec<OsString>,
    /// A file with a pattern on each line; may be given again
    #[arg(short = 'f', long = "file", value_name = "FILE", allow_hyphen_values = true)]
    pub(crate) pattern_files: Vec<PathBuf>,
    /// Patterns are texts, not regular expressions
    #[arg(short = 'F', long)]
    pub(crate) fixed_strings: bool,
    /// Letters match their other case
    #[arg(short, long, overrides_with_all = ["smart_case", "no_ignore_case"])]
    pub(crate) ignore_case: bool,
    /// Letters match their other case unless a pattern has an upper-case one
    #[arg(short = 'S', long, overrides_with_all = ["ignore_case", "no_ignore_case"])]
    pub(crate) smart_case: bool,
    /// Letters match themselves only: takes back -i and -S
    #[arg(long, overrides_with_all = ["ignore_case", "smart_case"])]
    pub(crate) no_ignore_case: bool,
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
    #[arg(short, long, overrides_with = "json")]
    pub(crate) count: bool,
    /// Print the names of files with a selected line
    #[arg(short = 'l', long, overrides_with_all = ["files_without_match", "json"])]
    pub(crate) files_with_matches: bool,
    /// Print the names of files without one
    #[arg(short = 'L', long, overrides_with_all = ["files_with_matches", "json"])]
    pub(crate) files_without_match: bool,
    /// Print nothing; the exit code tells, at the first selected line
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Stop after this many selected lines of each file (with -U: matches); below 0: never
    #[arg(short, long, value_name = "N", value_parser = max_count, allow_hyphen_values = true)]
    pub(crate) max_count: Option<u64>,
    /// Print the matches only, each on a line; in a line that is not held whole (--line-max) at
    /// most 256 KiB of one
    #[arg(short, long)]
    pub(crate) only_matching: bool,
    /// Print line numbers
    #[arg(short = 'n', long)]
    pub(crate) line_number: bool,
    /// Print the column of the first match (with -o, of each) in bytes, from 1, and line numbers; a
    /// line that is not held whole (--line-max) is printed without it, which is said
    #[arg(long)]
    pub(crate) column: bool,
    /// Print where each line (with -o, match) starts, in bytes
    #[arg(short, long)]
    pub(crate) byte_offset: bool,
    /// Print a tab before each line that has something before it, so that columns are aligned
    #[arg(short = 'T', long)]
    pub(crate) initial_tab: bool,
    /// Print file names [default: where there are several]
    #[arg(short = 'H', long, overrides_with = "no_filename")]
    pub(crate) with_filename: bool,
    /// Print no file names
    #[arg(short = 'h', long, overrides_with = "with_filename")]
    pub(crate) no_filename: bool,
    /// Print a NUL after each file name, whatever the name is like
    #[arg(short = 'Z', long, short_alias = '0')]
    pub(crate) null: bool,
    /// Print this in place of each match; $1 and ${name} stand for the matches of groups of the
    /// pattern, $$ for a $
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "json")]
    pub(crate) replace: Option<String>,
    /// Print this many lines after a selected one too
    #[arg(short = 'A', long, value_name = "N")]
    pub(crate) after_context: Option<usize>,
    /// Print this many lines before a selected one too
    #[arg(short = 'B', long, value_name = "N")]
    pub(crate) before_context: Option<usize>,
    /// Print this many lines before and after; -5 is -C 5
    #[arg(short = 'C', long, value_name = "N")]
    pub(crate) context: Option<usize>,
    /// Cut printed lines after this many bytes; 0: never [default: 4096 on a terminal, 0 elsewhere]
    #[arg(short = 'M', long, value_name = "N")]
    pub(crate) max_columns: Option<usize>,
    /// Print JSON, an object a line, of the types of ripgrep: begin, match, context, end, summary
    #[arg(long, overrides_with_all = ["count", "files_with_matches", "files_without_match"])]
    pub(crate) json: bool,
    /// Print each line as soon as it is found, also where the output is not a terminal
    #[arg(long)]
    pub(crate) line_buffered: bool,
    /// Search the files in folders, and theirs; without a FILE, in the present one. Links in them
    /// are not followed
    #[arg(short, long, overrides_with = "dereference_recursive")]
    pub(crate) recursive: bool,
    /// Search folders as -r does, and follow links
    #[arg(short = 'R', long, overrides_with = "recursive")]
    pub(crate) dereference_recursive: bool,
    #[command(flatten)]
    pub(crate) names: NameGlobs,
    /// Pass over folders whose name fits; may be given again
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude_dir: Vec<String>,
    /// With -r, search only files whose path fits, as in .gitignore; with ! before it, pass over
    /// them. May be given again: the last that fits wins
    #[arg(short, long = "glob", value_name = "GLOB", allow_hyphen_values = true)]
    pub(crate) globs: Vec<String>,
    /// With -r, skip the files that .gitignore, .ignore and git's own lists name
    #[arg(long)]
    pub(crate) gitignore: bool,
    /// With -r, go no deeper: 1 is the files in the folder itself
    #[arg(long, value_name = "N")]
    pub(crate) max_depth: Option<usize>,
    /// With -r, the order of files: as the system lists them, or by name within each folder
    #[arg(long, value_name = "ORDER", default_value = "none")]
    pub(crate) sort: Sort,
    /// Pass over files with a NUL in the first 256 KiB
    #[arg(short = 'I', overrides_with = "text")]
    pub(crate) skip_binary: bool,
    /// Say nothing of files that are missing or can't be read; the exit code tells
    #[arg(short = 's', long)]
    pub(crate) no_messages: bool,
    /// Lines end with a NUL instead of a newline, where they are read and where they are printed
    #[arg(short = 'z', long)]
    pub(crate) null_data: bool,
    /// A carriage return before a newline belongs to the end of the line, so that $ matches before
    /// it
    #[arg(long)]
    pub(crate) crlf: bool,
    /// Longest line that is held whole; a longer one can't be printed whole where the input can't
    /// be read again
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "256KiB")]
    pub(crate) line_max: u64,
    /// Take the bytes as they are: UTF-16 is not read as text
    #[arg(short = 'a', long, overrides_with = "skip_binary")]
    pub(crate) text: bool,
    /// Accepted for the habit: the syntax is always the extended one
    #[arg(short = 'E', long, hide = true)]
    pub(crate) extended_regexp: bool,
    /// Known, to say what to do instead
    #[arg(short = 'P', long, hide = true)]
    pub(crate) perl_regexp: bool,
    /// A match may go on over the ends of lines; a dot matches none of them. A pattern that can
    /// match a newline is searched for in the whole text, which half of --memory holds or the file
    /// is refused. -c and -m count matches then
    #[arg(short = 'U', long)]
    pub(crate) multiline: bool,
    /// With -U, a dot matches the end of a line too
    #[arg(long)]
    pub(crate) multiline_dotall: bool,
    /// Print help
    #[arg(long, action = ArgAction::HelpLong)]
    help: Option<bool>,
    /// The pattern, unless -e or -f gives one; then files or addresses (s3://, gs://, az://,
    /// https://); `-` is standard input [default: -]
    #[arg(value_name = "PATTERN] [FILE")]
    pub(crate) operands: Vec<OsString>,
}

/// A number of lines, as GNU grep reads it: below 0 there is no limit, and a number that is too
/// large is none.
fn max_count(text: &str) -> Result<u64, String> {
    let (below, digits) = text.strip_prefix('-').map_or((false, text.strip_prefix('+').unwrap_or(text)), |rest| (true, rest));
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err("it is not a whole number".to_owned());
    }
    let is_zero = digits.bytes().all(|digit| digit == b'0');
    Ok(if below && !is_zero { u64::MAX } else { digits.parse().unwrap_or(u64::MAX) })
}

/// The order of the files of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sort {
    /// The order of the system
    None,
    /// By name within each folder
    Path,
}
