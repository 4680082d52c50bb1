//! Arguments of `rorqual query`: those of its program.

use clap::Args;
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  rorqual query \"SELECT status, count(*) FROM 'access.log.gz' GROUP BY status\"
  rorqual query --help                all of its flags
  rorqual query                       a prompt";

/// SQL over files where they lie: logs, JSON, CSV, Parquet, Arrow IPC
///
/// Runs the program rorqual-query, which is built apart: it is many times as large as all other
/// verbs together.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES, disable_help_flag = true)]
pub(crate) struct QueryArgs {
    /// The query and the flags of rorqual-query
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<OsString>,
}
