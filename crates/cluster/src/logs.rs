//! `rorqual logs --cluster`: the part of it that talks to the cluster. The everyday program starts
//! it, sends it a request, and adds up the sums that it prints.

use crate::args::ClusterLogsArgs;
use crate::client::{ClusterClient, LostResults};
use crate::limits::{MEMORY_LOOK_EVERY, QUERY_TRIES_MAX, REQUEST_BYTES_MAX};
use crate::local::stdin_ended;
use crate::report::{LogPartsExec, ReportSpec, deal};
use crate::signals;
use crate::trust::Trust;
use crate::version::VERSION;
use datafusion::arrow::array::AsArray;
use datafusion::common::{DataFusionError, exec_err};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;
use futures::StreamExt;
use rorqual_pipe::{format_size, reason};
use rorqual_query::{PartedFile, PlanRunner, QueryShares, ScanContext};
use rorqual_shell::args::ProcessArgs;
use rorqual_shell::exit::ExitStatus;
use rorqual_shell::message;
use rorqual_shell::watchdog::MemoryWatchdog;
use serde::Deserialize;
use std::io::{self, Read, Write};
use std::sync::Arc;

/// A request of a report.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClusterRequest {
    /// Version of the program that asks.
    version: String,
    /// Paths and addresses, in order.
    files: Vec<String>,
    spec: ReportSpec,
}

pub(crate) fn run(args: &ClusterLogsArgs) -> Result<ExitStatus, String> {
    let request = request().map_err(|cause| format!("the request can't be read: {}", reason(&cause)))?;
    if request.version != VERSION {
        return Err(format!(
            "rorqual is of version {}, and rorqual-cluster of {VERSION}: both have to be of one",
            request.version
        ));
    }
    // Nothing of a query is held here.
    let process = ProcessArgs { memory: None, ..args.process.clone() };
    let shares = QueryShares::of_process(&process, None).map_err(|error| error.to_string())?;
    let memory_bytes = args.process.memory_bytes();
    let memory = format_size(memory_bytes);
    let _watchdog = MemoryWatchdog::every(MEMORY_LOOK_EVERY, memory_bytes, move || {
        format!("the list of files takes more than --memory {memory}: ended before it took more")
    });
    let trust = Trust::of(args.cluster_key.as_deref())?;
    let client = ClusterClient::new(args.cluster.clone(), trust, None);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|cause| format!("cannot start threads: {}", reason(&cause)))?;
    let done = runtime.block_on(async {
        let signals = signals()?;
        let ended = tokio::select! {
            ended = report(request, &client, shares) => Some(ended),
            () = signals.first() => None,
            // Whoever asked has left.
            _ = tokio::task::spawn_blocking(stdin_ended) => None,
        };
        client.end().await;
        match ended {
            None => Ok(ExitStatus::Interrupted),
            Some(Ok(())) => Ok(ExitStatus::Done),
            Some(Err(ReportFault::Engine(error))) => Err(rorqual_query::describe(&error, &shares)),
            Some(Err(ReportFault::Output(cause))) => Ok(message::print_error(&cause)),
        }
    });
    runtime.shutdown_background();
    done
}

/// The request: its length as four bytes, the least first, and JSON.
fn request() -> io::Result<ClusterRequest> {
    let mut length = [0; 4];
    let mut stdin = io::stdin().lock();
    stdin.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > REQUEST_BYTES_MAX {
        return Err(io::Error::other("it is too long: name fewer files, or a folder of a bucket, or a shorter --format-file"));
    }
    let mut json = vec![0; length as usize];
    stdin.read_exact(&mut json)?;
    Ok(serde_json::from_slice(&json)?)
}

/// Reason for which a report ended early.
enum ReportFault {
    Engine(DataFusionError),
    Output(io::Error),
}

impl From<DataFusionError> for ReportFault {
    fn from(error: DataFusionError) -> Self {
        Self::Engine(error)
    }
}

/// Length that stands for a report which begins again: the sums so far are of a part only.
const AGAIN: u32 = u32::MAX;

/// Runs the report, and writes its parts: each after its length, and at the end one without bytes.
/// The report begins again if an executor is gone with some of them.
async fn report(request: ClusterRequest, client: &ClusterClient, shares: QueryShares) -> Result<(), ReportFault> {
    let config = client.config(SessionConfig::new()).await?;
    let files = PartedFile::list(&request.files).await?;
    let spec = request.spec.of_files(files.len() > 1);
    let tasks = deal(&files, config.target_partitions());
    let scans = ScanContext::of_tasks(shares, 0);
    let plan: Arc<dyn ExecutionPlan> = Arc::new(LogPartsExec::new(spec, &tasks, &scans)?);
    for tries in 1.. {
        let ran = match client.run(Arc::clone(&plan), &config, &scans).await {
            Ok(rows) => write_parts(rows, tasks.len()).await,
            Err(error) => Err(error.into()),
        };
        match ran {
            Err(ReportFault::Engine(error)) if is_lost(&error) && tries < QUERY_TRIES_MAX => {
                io::stdout().write_all(&AGAIN.to_le_bytes()).map_err(ReportFault::Output)?;
            }
            ran => return ran,
        }
    }
    Ok(())
}

fn is_lost(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::External(cause) if cause.is::<LostResults>())
}

async fn write_parts(mut rows: SendableRecordBatchStream, tasks: usize) -> Result<(), ReportFault> {
    let mut ended = 0;
    while let Some(batch) = rows.next().await {
        for part in batch?.column(0).as_binary_opt::<i32>().into_iter().flatten().flatten() {
            match part {
                b"" => ended += 1,
                part => write_part(part).map_err(ReportFault::Output)?,
            }
        }
    }
    if ended != tasks {
        return exec_err!("{ended} of {tasks} parts of the report came to their end").map_err(ReportFault::Engine);
    }
    write_part(b"").and_then(|()| io::stdout().flush()).map_err(ReportFault::Output)
}

fn write_part(part: &[u8]) -> io::Result<()> {
    let length = u32::try_from(part.len()).map_err(|_| io::Error::other("a part of more than 4 GiB"))?;
    let mut out = io::stdout().lock();
    out.write_all(&length.to_le_bytes())?;
    out.write_all(part)
}
