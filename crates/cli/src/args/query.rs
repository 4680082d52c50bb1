//! Arguments of `rorqual query`: those of its program.

use clap::Args;
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  rorqual query \"SELECT status, count(*) FROM 'access.log.gz' GROUP BY status\"
  rorqual query --help                all of its flags
  rorqual query                       a prompt";

const CLUSTER_EXAMPLES: &str = "\
Examples:
  rorqual cluster local -n 2
  rorqual query --cluster 127.0.0.1:50050 \"SELECT status, count(*) FROM 'access.log' GROUP BY status\"
  rorqual cluster --help              all roles and flags";

/// SQL over files where they lie: logs, JSON, CSV, Parquet, Arrow IPC
///
/// Runs the program rorqual-query, which is built apart: it is many times as large as all other
/// verbs together.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES, disable_help_flag = true)]
pub(crate) struct QueryArgs {
    /// The query and the flags of rorqual-query; with --cluster HOST:PORT, of rorqual-cluster
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<OsString>,
}

/// Run queries on several machines: a scheduler, executors
///
/// Runs the program rorqual-cluster, which is built apart, as rorqual-query is.
#[derive(Debug, Clone, Args)]
#[command(after_help = CLUSTER_EXAMPLES, disable_help_flag = true)]
pub(crate) struct ClusterVerbArgs {
    /// The role and the flags of rorqual-cluster
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<OsString>,
}
