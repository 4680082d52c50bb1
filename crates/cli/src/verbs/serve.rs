//! `rorqual serve`

use crate::args::{Common, ServeArgs};
use crate::exit::Exit;
use crate::message;
use crate::verbs::logs::{formats, line_bytes_max};
use rorqual_serve::{Config, Server};
use rorqual_table::aggregate::Span;
use rorqual_table::analyze::Settings;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

const MEMORY_BYTES_DEFAULT: u64 = 512 << 20;

/// Async workers: they move bytes and answer; the analyses have threads of their own.
const ASYNC_THREADS: usize = 2;

/// Threads that may block at a time: a run and a report for each session, and some to spare.
const BLOCKING_THREADS_PER_SESSION: usize = 3;

pub(crate) fn run(common: &Common, args: &ServeArgs) -> Exit {
    let files = match open_files(&args.files) {
        Ok(files) => files,
        Err(error) => return message::error(&error),
    };
    let config = match config(common, args) {
        Ok(config) => config,
        Err(error) => return message::error(&error),
    };
    let runtime = match runtime(config.sessions_max) {
        Ok(runtime) => runtime,
        Err(error) => return message::error(&format!("cannot start the runtime: {error}")),
    };
    let exit = runtime.block_on(serve(config, args.open, files));
    // A run that waits for bytes of a client that went away must not hold the process.
    runtime.shutdown_timeout(Duration::from_secs(2));
    exit
}

async fn serve(config: Config, open: bool, files: Vec<(PathBuf, File)>) -> Exit {
    let memory = rorqual_pipe::format_size(config.settings.memory_bytes);
    let server = match Server::bind(config).await {
        Ok(server) => server,
        Err(error) => return message::error(&error),
    };
    let url = server.url();
    if let Err(error) = announce(&url) {
        return message::print_error(&error);
    }
    message::note(&format!("the log explorer is at the address above, within {memory} of memory; Ctrl-C ends it"));
    if let Err(error) = server.open(files) {
        return message::error(&error);
    }
    if open {
        open_in_browser(&url);
    }
    server.run(stop_signal()).await;
    Exit::Done
}

fn announce(url: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{url}")?;
    out.flush()
}

fn runtime(sessions_max: usize) -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(ASYNC_THREADS)
        .max_blocking_threads(sessions_max * BLOCKING_THREADS_PER_SESSION + 4)
        .enable_all()
        .build()
}

fn config(common: &Common, args: &ServeArgs) -> Result<Config, String> {
    Ok(Config {
        port: args.port,
        sessions_max: usize::from(args.sessions).max(args.files.len()),
        idle_max: Duration::from_secs(u64::from(args.idle) * 60),
        rate_limit: common.limit_rate,
        settings: Settings {
            memory_bytes: common.memory.unwrap_or(MEMORY_BYTES_DEFAULT),
            threads: common.threads.map(usize::from),
            line_bytes_max: line_bytes_max(&args.format)?,
            span: Span::default(),
            formats: formats(&args.format)?,
            feed_buffers: 0,
        },
    })
}

/// Opened before anything else, so that a wrong name is told at once.
fn open_files(paths: &[PathBuf]) -> Result<Vec<(PathBuf, File)>, String> {
    let open = |path: &PathBuf| {
        File::open(path).map(|file| (path.clone(), file)).map_err(|error| format!("{}: cannot open: {error}", path.display()))
    };
    paths.iter().map(open).collect()
}

async fn stop_signal() {
    // Without a handler the signal ends the process, which is all that is asked.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn open_in_browser(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let started = Command::new(program).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if started.is_err() {
        message::note(&format!("no {program} here: open the address yourself"));
    }
}
