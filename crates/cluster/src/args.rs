//! Arguments of the program.

use crate::limits::{EXECUTOR_PORT, SCHEDULER_PORT};
use clap::{Args, Parser, Subcommand};
use rorqual_query::{QueryArgs, TEMP_BYTES_DEFAULT};
use rorqual_shell::args::{ProcessArgs, size};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  rorqual cluster local -n 2                                   a cluster on this machine
  rorqual query --cluster 127.0.0.1:50050 \"SELECT status, count(*) FROM 'access.log' GROUP BY 1\"

  rorqual cluster key cluster.key                              once; copy the file to all machines
  rorqual cluster scheduler --key cluster.key --listen 10.0.0.1:50050
  rorqual cluster executor --key cluster.key --scheduler 10.0.0.1:50050 --listen 10.0.0.2:50051 --memory 8GiB
  rorqual query --cluster 10.0.0.1:50050 --cluster-key cluster.key \"SELECT count(*) FROM 's3://logs/2026/**'\"";

/// Queries on several machines
///
/// A scheduler deals the parts of a query out to executors, which read the files and objects; the
/// query itself is `rorqual query --cluster`. All are of one version. Executors read objects with
/// the keys of their own environment, and files below --files only.
#[derive(Debug, Parser)]
#[command(name = "rorqual cluster", bin_name = "rorqual cluster", version, max_term_width = 110, args_override_self = true, after_help = EXAMPLES)]
pub(crate) struct ClusterArgs {
    #[command(subcommand)]
    pub(crate) role: Role,
}

/// The roles of a process.
#[derive(Debug, Subcommand)]
pub(crate) enum Role {
    /// Deal the parts of queries out to executors
    Scheduler(SchedulerArgs),
    /// Work on parts of queries
    Executor(ExecutorArgs),
    /// Run a scheduler and executors on this machine until Ctrl-C
    Local(LocalArgs),
    /// Make the key of a cluster: a file that all its processes need
    Key {
        /// The file; it must not be there yet
        #[arg(value_name = "FILE")]
        path: PathBuf,
    },
    /// Run a query on a cluster, as `rorqual query --cluster` does
    #[command(hide = true)]
    Query(Box<ClusterQueryArgs>),
    /// Analyse logs on a cluster, for `rorqual logs --cluster`: the request comes on standard
    /// input, the sums go to standard output
    #[command(hide = true)]
    Logs(ClusterLogsArgs),
}

/// Flags of every process of a cluster.
#[derive(Debug, Clone, Args)]
pub(crate) struct TrustArgs {
    /// The key of the cluster, made by `rorqual cluster key`; without it a process is reached from
    /// its own machine only
    #[arg(long, value_name = "FILE", env = "RORQUAL_CLUSTER_KEY")]
    pub(crate) key: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SchedulerArgs {
    /// Address on which executors and clients reach it; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value_t = on_this_machine(SCHEDULER_PORT))]
    pub(crate) listen: SocketAddr,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    /// End when standard input ends, as the process does that started it
    #[arg(long, hide = true)]
    pub(crate) until_stdin_ends: bool,
    #[command(flatten)]
    pub(crate) process: ProcessArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ExecutorArgs {
    /// Host and port of the scheduler
    #[arg(long, value_name = "HOST[:PORT]", value_parser = host_and_port, default_value = "127.0.0.1")]
    pub(crate) scheduler: (String, u16),
    /// Address on which other executors and clients reach it; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value_t = on_this_machine(EXECUTOR_PORT))]
    pub(crate) listen: SocketAddr,
    /// Name or address that others are told [default: that of --listen]
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    /// End when standard input ends, as the process does that started it
    #[arg(long, hide = true)]
    pub(crate) until_stdin_ends: bool,
    #[command(flatten)]
    pub(crate) process: ProcessArgs,
}

/// Flags of processes that read files.
#[derive(Debug, Clone, Args)]
pub(crate) struct WorkArgs {
    /// Read files below this folder, which all executors have at the same place; may be given again
    /// [default: no files, objects only; local: the current folder]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) files: Vec<PathBuf>,
    /// Longest line or record that is taken
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) record_max: Option<u64>,
    /// Folder for rows that do not fit the memory, and for those between the parts of a query
    /// [default: the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER", env = "RORQUAL_TEMP")]
    pub(crate) temp_dir: Option<PathBuf>,
    /// Disk limit of each of the two [default: 16GiB]
    #[arg(long, value_name = "SIZE", value_parser = size, default_value_t = TEMP_BYTES_DEFAULT, hide_default_value = true)]
    pub(crate) temp_max: u64,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct LocalArgs {
    /// Number of executors
    #[arg(short = 'n', long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) executors: u16,
    /// Address of the scheduler; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value_t = on_this_machine(SCHEDULER_PORT))]
    pub(crate) listen: SocketAddr,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    #[command(flatten)]
    pub(crate) process: ProcessArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ClusterQueryArgs {
    /// Host and port of the scheduler; without it the query runs in this process
    #[arg(long, value_name = "HOST[:PORT]", value_parser = host_and_port)]
    pub(crate) cluster: Option<(String, u16)>,
    /// The key of the cluster
    #[arg(long, value_name = "FILE", env = "RORQUAL_CLUSTER_KEY")]
    pub(crate) cluster_key: Option<PathBuf>,
    /// Parts into which each step is cut [default: four for each thread of the cluster, at most
    /// 512]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) partitions: Option<u16>,
    #[command(flatten)]
    pub(crate) query: QueryArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ClusterLogsArgs {
    /// Host and port of the scheduler
    #[arg(long, value_name = "HOST[:PORT]", value_parser = host_and_port)]
    pub(crate) cluster: (String, u16),
    /// The key of the cluster
    #[arg(long, value_name = "FILE", env = "RORQUAL_CLUSTER_KEY")]
    pub(crate) cluster_key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) process: ProcessArgs,
}

fn on_this_machine(port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

/// A host with or without a port.
fn host_and_port(text: &str) -> Result<(String, u16), String> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok((address.ip().to_string(), address.port()));
    }
    let (host, port) = match text.rsplit_once(':') {
        // An IPv6 address without a port.
        Some((before, _)) if before.contains(':') => (text.trim_matches(['[', ']']), SCHEDULER_PORT),
        Some((host, port)) => (host, port.parse().map_err(|_| format!("'{port}' is no port"))?),
        None => (text, SCHEDULER_PORT),
    };
    if host.is_empty() || host.contains('/') {
        return Err("is not a host and port; for example 10.0.0.1:50050".to_owned());
    }
    Ok((host.to_owned(), port))
}
