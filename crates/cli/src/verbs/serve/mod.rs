//! `rorqual serve`

mod log;
mod signals;
mod tables;
mod templates;

pub(crate) use signals::EndSignals;
pub(crate) use tables::{TableFormat, check_rows, table_format};

use crate::args::{Common, FormatArgs, ServeArgs, ServiceArgs, TerminalWhen};
use crate::exit::ExitStatus;
use crate::folder::{NamedFiles, in_folders};
use crate::verbs::logs::{countries, formats, line_bytes_max, view_page};
use crate::{input, message};
use rorqual_accesslog::aggregate::SpanFilter;
use rorqual_accesslog::analyze::{AnalyzeSettings, Formats};
use rorqual_accesslog::format::LogFormat;
use rorqual_pipe::{Input, allocator};
use rorqual_serve::{CacheSettings, Config, EXPORTS_MAX, OwnFile, OwnFileContent, Reload, STORE_ASKS_MAX, Server, ServerTotals};
use rorqual_store::{Store, StoreSettings};
use signals::Signals;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tables::{ServedTable, UploadedTables};
use tempfile::NamedTempFile;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::Signal;
use tokio::sync::Mutex;

const MEMORY_BYTES_DEFAULT: u64 = 1 << 30;

/// Async workers at most: they move bytes and answer, and the analyses have threads of their own.
/// Each is a runtime, over which connections are spread: workers of one runtime wake one another
/// for every piece that comes in, which costs an upload a sixth of its time.
const ASYNC_THREADS_MAX: usize = 4;

/// Threads that may block at a time: an upload's turn, its end and its checkpoint, and some to
/// spare.
const BLOCKING_THREADS_PER_SESSION: usize = 4;

/// Threads of all of these, on all runtimes: few run at a time. Beside them each runtime may have
/// as many as files, exports, questions to the store and a rendering could take on it at once; the
/// touched part of their stacks is in the program's share.
const BLOCKING_THREADS_MAX: usize = 64;

/// Settings of the allocator: four arenas that threads share, and no large block kept, as each
/// thread of a decoder would one.
const ALLOCATOR: [(&str, &str); 3] =
    [("MALLOC_ARENA_MAX", "4"), ("MALLOC_MMAP_THRESHOLD_", "1048576"), ("MALLOC_TRIM_THRESHOLD_", "1048576")];

/// Time for which a thread that may block stays when there is nothing for it.
const BLOCKING_KEEP_ALIVE: Duration = Duration::from_millis(250);

pub(crate) fn run(common: &Common, args: &ServeArgs) -> ExitStatus {
    let settled = allocator::settle(&ALLOCATOR);
    if common.progress == TerminalWhen::Always {
        return message::error(&"serve draws no progress here (--progress always): the page shows it");
    }
    let start = Instant::now();
    log::begin(&args.service);
    if let Err(error) = settled {
        log::note(&args.service, &format!("{error}; what threads gave back may be kept, beside the memory that is counted"));
    }
    if args.files.iter().filter(|path| is_stdin(path)).count() > 1 {
        return message::error(&"`-` is given more than once, and there is one standard input");
    }
    let formats = match formats(&args.format).and_then(|formats| check_rows(args.rows.as_deref()).map(|()| formats)) {
        Ok(formats) => formats,
        Err(error) => return message::error(&error),
    };
    let memory_bytes = common.process.memory.unwrap_or(MEMORY_BYTES_DEFAULT);
    let has_given_rows = Cell::new(false);
    let table = |path: &Path| {
        let table = ServedTable::of(common, path.into(), (&formats, args.rows.as_deref()), memory_bytes)?;
        has_given_rows.set(has_given_rows.get() || table.has_given_rows());
        Some(table)
    };
    let open_file = |path: &Path| if args.follow { follow(path, table) } else { open_file(path, table) };
    let named = named_files(args);
    named.errors.iter().chain(&named.notes).for_each(|said| message::note(said));
    input::say_if_twice(&named.files);
    let (logs, bad) = open_all(&named.files, open_file);
    let bad = bad || !named.errors.is_empty();
    if logs.is_empty() && bad {
        return ExitStatus::Bad;
    }
    if args.rows.is_some() && !has_given_rows.get() {
        return message::error(
            &"--rows: none of the files is a JSON document; it names the array in one whose elements are the rows",
        );
    }
    let logs = if args.separate { logs } else { together(logs, args.follow) };
    let mut config = match config(common, args, memory_bytes, &logs) {
        Ok(config) => config,
        Err(error) => return message::error(&error),
    };
    let runtimes = common.process.threads_or(ASYNC_THREADS_MAX).min(ASYNC_THREADS_MAX);
    let blocking = (config.sessions_max * BLOCKING_THREADS_PER_SESSION).min(BLOCKING_THREADS_MAX).div_ceil(runtimes)
        + config.reading
        + logs.iter().filter(|log| log.is_followed_table()).count()
        + EXPORTS_MAX
        + STORE_ASKS_MAX
        + usize::from(args.renders);
    let runtimes = (0..runtimes).map(|_| runtime(blocking)).collect();
    let runtimes: Vec<Runtime> = match runtimes {
        Ok(runtimes) => runtimes,
        Err(error) => return message::error(&format!("cannot start the runtime: {error}")),
    };
    config.carriers = runtimes.iter().map(|runtime| runtime.handle().clone()).collect();
    let served = runtimes[0].block_on(serve(config, args, logs));
    // A run that waits for bytes of a client that went away must not hold the process.
    let each = Duration::from_secs(2) / runtimes.len() as u32;
    runtimes.into_iter().for_each(|runtime| runtime.shutdown_timeout(each));
    let totals = match served {
        Ok(totals) => totals,
        Err(exit) => return exit,
    };
    if common.process.stats {
        print_stats(start, memory_bytes, totals);
    }
    if bad { ExitStatus::Bad } else { ExitStatus::Done }
}

async fn serve(config: Config, args: &ServeArgs, logs: Vec<StartLog>) -> Result<ServerTotals, ExitStatus> {
    let memory = rorqual_pipe::format_size(config.settings.memory_bytes);
    let service = &args.service;
    // Before the address is printed: its reader may send a signal at once.
    let (ends, hangup) = Signals::new(service.reloads()).split();
    let server = Server::bind(config).await.map_err(|error| message::error(&error))?;
    let url = server.url();
    announce(&url).map_err(|error| message::print_error(&error))?;
    log::note(service, &format!("the log explorer is at the address above, within {memory} of memory; Ctrl-C ends it"));
    server.unrestored().iter().for_each(|why| log::note(service, &format!("not offered again: {why}")));
    say_what_is_not_asked(&server, args, logs.len());
    open_logs(&server, logs, service).map_err(|error| message::error(&error))?;
    // Removed when the server ends.
    let _page = args.open.then(|| open_in_browser(&url)).flatten();
    let reloading = hangup.map(|hangup| tokio::spawn(reload(hangup, server.reloader())));
    let ends = Mutex::new(ends);
    let stop = async {
        ends.lock().await.next().await;
        let grace = service.grace;
        log::note(service, &format!("ending: what runs has {grace} s to come to its end; a second signal ends it at once"));
    };
    let totals = server.run(stop, async { ends.lock().await.next().await }).await;
    if !totals.whole {
        log::note(service, &"requests that still ran were broken off");
    }
    reloading.inspect(tokio::task::JoinHandle::abort);
    Ok(totals)
}

/// Tells settings that the address does not show, and that the user may not expect.
fn say_what_is_not_asked(server: &Server, args: &ServeArgs, files: usize) {
    if let (Some(_), Ok(address)) = (&args.service.public_url, server.address()) {
        log::note(&args.service, &format!("it listens on {address}"));
    }
    let sessions = args.sessions;
    if files > usize::from(sessions) {
        let said =
            format!("the {files} files take a place each, and --sessions {sessions} is raised to that: none is left for uploads");
        log::note(&args.service, &said);
    }
}

/// Files that are read from the start on.
enum StartLog {
    /// To its end, in its turn.
    File(OwnFile),
    /// A file that is read as it grows, at that path.
    Followed(PathBuf, Input),
    /// Several that are one log.
    FollowedTogether(Vec<Input>),
}

impl StartLog {
    /// A table that takes lines for as long as the server runs.
    fn is_followed_table(&self) -> bool {
        let Self::File(OwnFile { content: OwnFileContent::Table(table, _), .. }) = self else { return false };
        table.followed().is_some()
    }
}

fn open_logs(server: &Server, logs: Vec<StartLog>, service: &ServiceArgs) -> Result<(), String> {
    let (mut files, mut followed) = (Vec::new(), Vec::new());
    for log in logs {
        match log {
            StartLog::File(file) => files.push(file),
            StartLog::Followed(path, input) => followed.push((path, input)),
            StartLog::FollowedTogether(inputs) => server.follow_together(inputs)?,
        }
    }
    let notes = [server.open(files)?, server.follow(followed)?];
    notes.iter().flatten().for_each(|note| log::note(service, note));
    Ok(())
}

fn announce(url: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{url}")?;
    out.flush()
}

fn runtime(blocking: usize) -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(blocking + 4)
        .thread_keep_alive(BLOCKING_KEEP_ALIVE)
        .enable_all()
        .build()
}

fn config(common: &Common, args: &ServeArgs, memory_bytes: u64, logs: &[StartLog]) -> Result<Config, String> {
    let followed = logs.iter().filter(|log| matches!(log, StartLog::Followed(..) | StartLog::FollowedTogether(_))).count();
    let lines = |log: &StartLog| if let StartLog::FollowedTogether(inputs) = log { inputs.len() } else { 0 };
    let files = |log: &StartLog| match log {
        StartLog::File(OwnFile { content: OwnFileContent::Logs(files), .. }) => files.len(),
        StartLog::FollowedTogether(inputs) => inputs.len(),
        _ => 0,
    };
    let is_table = |log: &StartLog| matches!(log, StartLog::File(OwnFile { content: OwnFileContent::Table(..), .. }));
    let tables = logs.iter().filter(|log| is_table(log)).count();
    Ok(Config {
        port: args.port,
        access: args.service.access(),
        sessions_max: usize::from(args.sessions).max(logs.len()),
        state: args.state.clone(),
        cache: cache(args)?,
        // Files are read one after another; of followed ones nobody knows how long they take.
        reading: followed + (logs.len() - followed - tables).min(1),
        files_open: logs.iter().map(files).sum(),
        followed_together: logs.iter().map(lines).sum(),
        connections_max: args.connections.into(),
        idle_max: Duration::from_secs(u64::from(args.idle) * 60),
        rate_limit: common.limit_rate,
        has_tables: tables > 0,
        table_opener: Some(Arc::new(UploadedTables { common: common.clone(), formats: formats(&args.format)?, memory_bytes })),
        settings: AnalyzeSettings {
            memory_bytes,
            threads: common.process.threads.map(usize::from),
            line_bytes_max: line_bytes_max(&args.format)?,
            span: SpanFilter::default(),
            formats: formats(&args.format)?,
            feed_buffers: 0,
            kept: None,
            countries: countries(&args.country, memory_bytes)?,
        },
        spill: writable(args.temp.spill())?,
        rendering: templates::rendering(common, args, memory_bytes)?,
        store: args.store.as_deref().map(open_store).transpose()?,
        page: view_page,
        fleet: args.peers.fleet()?,
        carriers: Vec::new(),
    })
}

/// The cache for rows of files.
fn cache(args: &ServeArgs) -> Result<Option<CacheSettings>, String> {
    // `--rows` decides which array of a JSON document is read.
    let meaning = format!("{} {:?}", meaning(&args.format)?, args.rows);
    let folder = args.cache.folder(args.state.as_ref());
    Ok(folder.map(|(folder, bytes_max)| CacheSettings { folder, bytes_max, meaning }))
}

/// Everything that decides what the rows of a file are, beside the file: of another program or with
/// another format they may be others.
fn meaning(args: &FormatArgs) -> Result<String, String> {
    let Formats { given, candidates } = formats(args)?;
    let sources: Vec<&str> = given.iter().chain(&candidates).map(LogFormat::source).collect();
    Ok(format!("{} {} {} {sources:?}", program(), given.is_some(), line_bytes_max(args)?))
}

/// This program as it was built, which its version does not tell of one that is being worked on.
fn program() -> String {
    let file = std::env::current_exe().and_then(std::fs::metadata);
    let built = file.and_then(|file| Ok((file.len(), file.modified()?)));
    format!("{} {:?}", env!("CARGO_PKG_VERSION"), built.ok())
}

/// The store in `dir`, made where there is none.
fn open_store(dir: &Path) -> Result<Store, String> {
    Store::init(&StoreSettings::new(dir), None, None).map_err(|error| format!("--store: {error}"))
}

/// The folder for rows, where there can be a file.
fn writable(spill: Option<(PathBuf, u64)>) -> Result<Option<(PathBuf, u64)>, String> {
    if let Some((folder, _)) = &spill {
        tempfile::tempfile_in(folder)
            .map_err(|cause| format!("--temp-dir {}: {}", folder.display(), rorqual_pipe::reason(&cause)))?;
    }
    Ok(spill)
}

/// The files to open. What is in a folder is not followed: files come and go there.
fn named_files(args: &ServeArgs) -> NamedFiles {
    if args.follow {
        return NamedFiles { files: args.files.clone(), errors: Vec::new(), notes: Vec::new() };
    }
    in_folders(&args.files)
}

/// Opened before anything else, so that a wrong name is told at once. The good ones, and whether
/// there were others.
fn open_all(paths: &[PathBuf], open: impl Fn(&Path) -> Result<StartLog, String>) -> (Vec<StartLog>, bool) {
    let opened = paths.iter().map(|path| open(path)).map(|opened| opened.map_err(|error| message::error(&error)));
    let logs: Vec<StartLog> = opened.flatten().collect();
    let bad = logs.len() < paths.len();
    (logs, bad)
}

/// The same, of which several logs are one, where the first of them was. Of those that are followed
/// all are. Each table stays for itself.
fn together(logs: Vec<StartLog>, follows: bool) -> Vec<StartLog> {
    if follows {
        let (tables, logs): (Vec<_>, Vec<_>) = logs.into_iter().partition(|log| matches!(log, StartLog::File(_)));
        if logs.len() < 2 {
            return logs.into_iter().chain(tables).collect();
        }
        let input = |log| if let StartLog::Followed(_, input) = log { Some(input) } else { None };
        let one = StartLog::FollowedTogether(logs.into_iter().filter_map(input).collect());
        return std::iter::once(one).chain(tables).collect();
    }
    let is_log = |log: &StartLog| matches!(log, StartLog::File(OwnFile { content: OwnFileContent::Log(_), .. }));
    if logs.iter().any(is_log) && logs.iter().any(|log| matches!(log, StartLog::Followed(..))) {
        message::note(&"standard input is a session of its own beside the files; with --follow they are one log");
    }
    if logs.iter().filter(|log| is_log(log)).count() < 2 {
        return logs;
    }
    let (mut files, mut first, mut others) = (Vec::new(), None, Vec::new());
    for log in logs {
        match log {
            StartLog::File(OwnFile { path, content: OwnFileContent::Log(file) }) => {
                first.get_or_insert((others.len(), path.clone()));
                files.push((path.to_string_lossy().into_owned(), file));
            }
            other => others.push(other),
        }
    }
    if let Some((place, path)) = first {
        others.insert(place, StartLog::File(OwnFile { path, content: OwnFileContent::Logs(files) }));
    }
    others
}

/// A file that is read as it grows, or a stream.
fn follow(path: &Path, table: impl Fn(&Path) -> Option<ServedTable>) -> Result<StartLog, String> {
    let input = Input::follow(path).map_err(|error| error.to_string())?;
    // A stream is looked at as it comes.
    let Some(file) = input.followed_file().map_err(|error| error.to_string())? else {
        return Ok(StartLog::Followed(path.to_owned(), input));
    };
    Ok(match table(path) {
        Some(table) => own_table(path, table.followed()?, file),
        None => StartLog::Followed(path.to_owned(), input),
    })
}

fn own_table(path: &Path, table: ServedTable, file: File) -> StartLog {
    StartLog::File(OwnFile { path: path.to_owned(), content: OwnFileContent::Table(Box::new(table), file) })
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn open_file(path: &Path, table: impl Fn(&Path) -> Option<ServedTable>) -> Result<StartLog, String> {
    if is_stdin(path) {
        return follow(path, table);
    }
    let name = path.display();
    // Looked at first: opening a FIFO waits for its writer, and nothing could end that.
    let cannot = |cause: io::Error| format!("{name}: cannot open: {cause}");
    let metadata = path.metadata().map_err(cannot)?;
    if !metadata.is_file() {
        let advice = "is not a regular file, and serve reads no others without --follow: pipe it in as `-`, give it to `rorqual logs`, or upload it";
        return Err(format!("{name}: {advice}"));
    }
    let file = File::open(path).map_err(cannot)?;
    Ok(match table(path) {
        Some(table) => own_table(path, table, file),
        None => StartLog::File(OwnFile { path: path.to_owned(), content: OwnFileContent::Log(file) }),
    })
}

/// Reads token and certificate again, each time it is told to.
async fn reload(mut hangup: Signal, reload: Reload) {
    while hangup.recv().await.is_some() {
        match reload.reload() {
            Ok(()) => tracing::info!("token and certificate were read again"),
            Err(error) => tracing::warn!(?error, "SIGHUP: what was there before stays in force"),
        }
    }
}

/// Hands the browser a page that leads to the address, and not the address: everybody on this
/// machine can read the arguments of a process, and the token is in it. Only we can read the page.
fn open_in_browser(url: &str) -> Option<NamedTempFile> {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let page = match redirect_page(url) {
        Ok(page) => page,
        Err(error) => {
            message::note(&format!("cannot write the page that leads the browser to the address ({error}): open it yourself"));
            return None;
        }
    };
    let mut opener = Command::new(program);
    opener.arg(page.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A browser that it starts lives longer than this program.
    allocator::unsettle(&mut opener, &ALLOCATOR);
    if opener.spawn().is_err() {
        message::note(&format!("no {program} here: open the address yourself"));
    }
    Some(page)
}

fn redirect_page(url: &str) -> io::Result<NamedTempFile> {
    // Of this user alone and gone with the session, where there is such a folder.
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_dir());
    let folder = folder.unwrap_or_else(std::env::temp_dir);
    // Its mode is 0600.
    let mut page = tempfile::Builder::new().prefix("rorqual-").suffix(".html").tempfile_in(folder)?;
    writeln!(
        page,
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={url}\"><title>rorqual</title>"
    )?;
    page.flush()?;
    Ok(page)
}

fn print_stats(start: Instant, memory_max_bytes: u64, totals: ServerTotals) {
    let object = serde_json::json!({
        "sessions": totals.sessions,
        "stored_bytes": totals.stored_bytes,
        "seconds": start.elapsed().as_secs_f64(),
        "threads": totals.threads,
        "memory_max_bytes": memory_max_bytes,
        "peak_bytes": rorqual_pipe::stats::peak_bytes(),
    });
    message::line(&object);
}
