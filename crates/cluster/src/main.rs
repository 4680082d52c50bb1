//! `rorqual-cluster`: queries on several machines. `rorqual cluster` and `rorqual query --cluster`
//! run it, as git runs its subcommands.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod client;
mod codec;
mod exchange;
mod executor;
mod files;
mod limits;
mod local;
mod logs;
mod report;
mod results;
mod scheduler;
mod tasks;
mod trust;
mod version;

use args::{ClusterArgs, ClusterQueryArgs, ExecutorArgs, LocalArgs, Role, SchedulerArgs};
use clap::Parser;
use client::ClusterClient;
use executor::ExecutorSettings;
use files::ClusterFiles;
use limits::{LOOK_EVERY, MEMORY_LOOK_EVERY};
use local::LocalCluster;
use rorqual_pipe::{format_size, reason};
use rorqual_query::{ALLOCATOR, QueryShares, StopSignals, TempFolder, clear_away};
use rorqual_shell::args::ProcessArgs;
use rorqual_shell::exit::ExitStatus;
use rorqual_shell::message;
use rorqual_shell::roots::Roots;
use rorqual_shell::watchdog::MemoryWatchdog;
use std::future::Future;
use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::net::TcpListener;
use trust::{ClusterKey, Trust};

fn main() -> ExitCode {
    rorqual_shell::args::word_settings();
    rorqual_pipe::open_files::raise();
    if let Some(exit) = clear_away() {
        return exit.into();
    }
    let args = match ClusterArgs::try_parse() {
        Ok(args) => args,
        Err(error) => return rorqual_shell::args::refused::<ClusterArgs>(error).into(),
    };
    if let Err(error) = rorqual_pipe::allocator::settle(&ALLOCATOR) {
        message::note(&error);
    }
    let done = match args.role {
        Role::Scheduler(args) => scheduler(&args),
        Role::Executor(args) => executor(&args),
        Role::Local(args) => local(&args),
        Role::Key { path } => ClusterKey::create(&path).map(|()| ExitStatus::Done),
        Role::Query(args) => query(&args),
        Role::Logs(args) => logs::run(&args),
    };
    done.unwrap_or_else(|error| message::error(&error)).into()
}

fn query(args: &ClusterQueryArgs) -> Result<ExitStatus, String> {
    let Some(scheduler) = &args.cluster else { return Ok(rorqual_query::run(&args.query, None)) };
    let trust = Trust::of(args.cluster_key.as_deref())?;
    let client = ClusterClient::new(scheduler.clone(), trust, args.partitions.map(usize::from));
    Ok(rorqual_query::run(&args.query, Some(&client)))
}

fn scheduler(args: &SchedulerArgs) -> Result<ExitStatus, String> {
    let trust = Trust::of(args.trust.key.as_deref())?;
    trust.check(&args.listen)?;
    let shares = shares(&args.process, None)?;
    let memory = format_size(shares.memory_bytes);
    let _watchdog = MemoryWatchdog::every(MEMORY_LOOK_EVERY, shares.memory_bytes, move || {
        format!("the scheduler needs more than --memory {memory} for the plans of its queries: ended before it took more")
    });
    serve(&args.process, args.listen, "scheduler", args.until_stdin_ends, |listener, address, ended| async move {
        scheduler::serve(listener, address, &trust, shares, ended).await
    })
}

fn executor(args: &ExecutorArgs) -> Result<ExitStatus, String> {
    let trust = Trust::of(args.trust.key.as_deref())?;
    trust.check(&args.listen)?;
    let host = args.host.clone().unwrap_or_else(|| args.listen.ip().to_string());
    if args.host.is_none() && args.listen.ip().is_unspecified() {
        return Err(format!("--listen {}: others need an address to reach it by: give --host NAME", args.listen));
    }
    let roots = if args.work.files.is_empty() { None } else { Some(Roots::new("--files", &args.work.files)?) };
    let settings = ExecutorSettings {
        scheduler: args.scheduler.clone(),
        host,
        trust,
        shares: shares(&args.process, args.work.record_max)?,
        files: ClusterFiles::Below(roots),
        temp: Arc::new(TempFolder::create(args.work.temp_dir.as_deref())?),
        temp_bytes_max: args.work.temp_max,
    };
    let temp = Arc::clone(&settings.temp);
    let done = serve(&args.process, args.listen, "executor", args.until_stdin_ends, |listener, address, ended| async move {
        executor::work(listener, address, &settings, ended).await
    });
    temp.remove();
    done
}

fn local(args: &LocalArgs) -> Result<ExitStatus, String> {
    Trust::of(args.trust.key.as_deref())?.check(&args.listen)?;
    let mut cluster = LocalCluster::start(args)?;
    let address = cluster.address();
    println!("rorqual query --cluster {address} \"SELECT …\" asks {} executors; Ctrl-C ends them", args.executors);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|cause| format!("cannot start threads: {}", reason(&cause)))?;
    runtime.block_on(async {
        let signals = signals()?;
        let ended = async {
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                if let Some(why) = cluster.ended() {
                    return why;
                }
            }
        };
        tokio::select! {
            why = ended => Err(why),
            () = signals.first() => Ok(ExitStatus::Done),
        }
    })
}

fn shares(process: &ProcessArgs, record_max: Option<u64>) -> Result<QueryShares, String> {
    QueryShares::of_process(process, record_max).map_err(|error| error.to_string())
}

fn signals() -> Result<StopSignals, String> {
    StopSignals::new().map_err(|cause| format!("cannot listen to signals: {}", reason(&cause)))
}

/// Listens, says the address, and serves until a signal.
fn serve<S, F>(
    process: &ProcessArgs,
    listen: SocketAddr,
    name: &str,
    until_stdin_ends: bool,
    serve: S,
) -> Result<ExitStatus, String>
where
    S: FnOnce(TcpListener, SocketAddr, std::pin::Pin<Box<dyn Future<Output = ()> + Send>>) -> F,
    F: Future<Output = Result<(), String>>,
{
    // Those that work have threads of their own.
    let threads = process.threads_or(2);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    let runtime = runtime.map_err(|cause| format!("cannot start threads: {}", reason(&cause)))?;
    let done = runtime.block_on(async {
        let failed = |cause: std::io::Error| format!("--listen {listen}: {}", reason(&cause));
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        // Whoever reads the address may send one at once.
        let signals = signals()?;
        let said = writeln!(std::io::stdout(), "{name} on {address}");
        said.map_err(|cause| format!("cannot write: {}", reason(&cause)))?;
        let ended = async move {
            tokio::select! {
                () = signals.first() => {}
                _ = tokio::task::spawn_blocking(local::stdin_ended), if until_stdin_ends => {}
            }
        };
        serve(listener, address, Box::pin(ended)).await
    });
    runtime.shutdown_background();
    done.map(|()| ExitStatus::Done)
}
