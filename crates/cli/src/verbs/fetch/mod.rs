//! `rorqual fetch`

mod into_store;

use crate::args::{Common, FetchArgs, TerminalWhen};
use crate::exit::ExitStatus;
use crate::interrupt::{self, stop_on_interrupt};
use crate::message;
use crate::progress::Progress;
use rorqual_digest::{Algorithm, Digest};
use rorqual_fetch::limits::{BLOCKING_THREADS, HELP_AFTER, PIECE_BYTES};
use rorqual_fetch::{ExpectedDigest, Fetch, FetchError, FetchErrorKind, FetchEvent, FetchResult, FetchTarget};
use rorqual_pipe::gather::OutputFd;
use rorqual_pipe::{Budget, Control, Semaphore, escaped_path, format_size, limits, reason, stats};
use serde_json::json;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(crate) fn run(common: &Common, args: &FetchArgs) -> ExitStatus {
    if let Some(dir) = &args.store {
        return into_store::run(common, args, Path::new(dir));
    }
    let output = match args.output.clone().map_or_else(|| rorqual_fetch::file_name(&args.url).map(PathBuf::from), Ok) {
        Ok(output) => output,
        Err(error) => return message::error(&error),
    };
    let control = Control::with_rate_limit(common.limit_rate);
    let fetch = match settings(args, &output, &control) {
        Ok(fetch) => fetch,
        Err(text) => return message::error(&text),
    };
    let start = Instant::now();
    match fetched(common, fetch, 0, &control) {
        Ok(fetched) => tell(args, &output, &fetched, start.elapsed()),
        Err(exit) => exit,
    }
}

/// Fetches within the memory given; an error was told.
fn fetched(common: &Common, fetch: Fetch, index_bytes: u64, control: &Control) -> Result<FetchResult, ExitStatus> {
    let memory_bytes = common.process.memory_bytes();
    let mut budget = budget(&fetch, memory_bytes);
    if index_bytes > 0 {
        budget.reserve("the store's index", index_bytes);
    }
    budget.check().map_err(|error| message::error(&error))?;
    stop_on_interrupt(control);
    let start = Instant::now();
    let result = watched(fetch, common.progress, control);
    if common.process.stats {
        print_stats(start.elapsed(), memory_bytes, control);
    }
    result.map_err(|error| fail(&error))
}

/// Fetches, with a bar and notes on the way.
fn watched(fetch: Fetch, when: TerminalWhen, control: &Control) -> Result<FetchResult, FetchError> {
    let mut bar = None;
    let mut observe = |event: FetchEvent| {
        // Drawn from the start of the transfer on, and not over the messages before.
        drop(bar.take());
        match event {
            FetchEvent::Started { size_bytes, resumed_bytes } => {
                if resumed_bytes > 0 {
                    message::note(&format!("going on from {} that an earlier fetch has left", format_size(resumed_bytes)));
                }
                let left = size_bytes.map(|size| size.saturating_sub(resumed_bytes) + control.stored_bytes());
                bar = Some(Progress::start(when, control, left));
            }
            FetchEvent::Retry { why, after, resumes } => {
                let how = if resumes { "going on from what is there" } else { "trying again" };
                message::note(&format!("{why}; {how} in {:.1} s", after.as_secs_f64()));
            }
            FetchEvent::StartOver { why } => message::note(&format!("{why}; starting over")),
        }
    };
    fetch.run(&Semaphore::new(1), control, &mut observe)
}

/// The meaning of the arguments.
fn settings(args: &FetchArgs, output: &Path, control: &Control) -> Result<Fetch, String> {
    let target = if output == Path::new("-") {
        let stdout = OutputFd::stdout(control).map_err(|error| format!("no standard output: {}", reason(&error)))?;
        FetchTarget::Writer(Box::new(stdout))
    } else {
        FetchTarget::File { path: output.to_owned(), replace: args.force }
    };
    let expected = [(Algorithm::Sha256, &args.sha256), (Algorithm::Blake3, &args.blake3)];
    let digests = expected.into_iter().filter_map(|(algorithm, text)| Some(wanted(algorithm, text.as_deref()?)));
    Ok(Fetch {
        url: args.url.clone(),
        target,
        digests: digests.collect::<Result<_, _>>()?,
        headers: args.headers.iter().map(|line| header(line)).collect::<Result<_, _>>()?,
        parallel: usize::from(args.parallel),
        piece_bytes: PIECE_BYTES,
        help_after: HELP_AFTER,
        connect_timeout: args.connect_timeout,
        idle_timeout: args.idle_timeout,
        time_max: args.max_time,
        retries: args.retries,
        retry_delay: args.retry_delay,
        redirects_max: args.max_redirects,
        allow_downgrade: args.allow_downgrade,
        ca_certs: args.ca_certs.clone(),
        keep_encoding: args.keep_encoding,
    })
}

fn wanted(algorithm: Algorithm, text: &str) -> Result<ExpectedDigest, String> {
    let digest = Digest::parse(algorithm, text.trim());
    let wrong = || format!("--{algorithm} {text:?}: not a digest of {} bytes", algorithm.digest_bytes());
    digest.map(|digest| ExpectedDigest { algorithm, expected: Some(digest) }).ok_or_else(wrong)
}

fn header(line: &str) -> Result<(String, String), String> {
    let (name, value) = line.split_once(':').ok_or_else(|| format!("--header {line:?}: not NAME: VALUE"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn budget(fetch: &Fetch, memory_bytes: u64) -> Budget {
    let threads = BLOCKING_THREADS as u64;
    let mut budget = Budget::new(memory_bytes);
    budget.reserve("program", limits::PROGRAM_BYTES);
    budget.reserve(format!("{threads} threads"), threads * limits::THREAD_BYTES);
    fetch.reserve(&mut budget);
    budget
}

fn tell(args: &FetchArgs, output: &Path, fetched: &FetchResult, took: Duration) -> ExitStatus {
    let to_stdout = output == Path::new("-");
    if !fetched.length_told && fetched.digests.is_empty() {
        message::note(&"the server told no length: whether the file is whole can't be known (--sha256 would tell)");
    }
    if args.json {
        let text = describe(args, output, fetched, took);
        // Standard output has the file.
        let printed = if to_stdout { writeln!(io::stderr(), "{text}") } else { writeln!(io::stdout(), "{text}") };
        return printed.map_or_else(|error| message::print_error(&error), |()| ExitStatus::Done);
    }
    if !to_stdout {
        let (size, rate) = (format_size(fetched.size_bytes), format_size(rate(fetched, took) as u64));
        let verified = if fetched.digests.is_empty() { "" } else { ", verified" };
        message::note(&format!("{}: {size} at {rate}/s{verified}", escaped_path(output)));
    }
    ExitStatus::Done
}

fn rate(fetched: &FetchResult, took: Duration) -> f64 {
    fetched.received_bytes as f64 / took.as_secs_f64().max(1e-9)
}

fn describe(args: &FetchArgs, output: &Path, fetched: &FetchResult, took: Duration) -> serde_json::Value {
    let mut object = json!({
        "schema": "rorqual.fetch/1",
        "file": output.to_string_lossy(),
        "url": fetched.url,
        "size_bytes": fetched.size_bytes,
        "received_bytes": fetched.received_bytes,
        "resumed_bytes": fetched.resumed_bytes,
        "seconds": took.as_secs_f64(),
        "bytes_per_second": rate(fetched, took),
        "http_version": fetched.http_version,
        "ranges": fetched.ranges,
        "parallel": if fetched.ranges { args.parallel } else { 1 },
        "length_told": fetched.length_told,
        "failures": fetched.failures,
        "etag": fetched.etag,
        "last_modified": fetched.last_modified,
    });
    for digest in &fetched.digests {
        object[digest.algorithm().name()] = json!(digest.to_string());
    }
    object
}

fn fail(error: &FetchError) -> ExitStatus {
    if error.kind == FetchErrorKind::Closed {
        return interrupt::exit_of_closed();
    }
    message::error(error);
    match error.kind {
        FetchErrorKind::Local | FetchErrorKind::Closed => ExitStatus::Bad,
        FetchErrorKind::Connect => ExitStatus::NoConnection,
        FetchErrorKind::Answer => ExitStatus::BadAnswer,
        FetchErrorKind::Broken => ExitStatus::Broken,
        FetchErrorKind::Digest => ExitStatus::WrongDigest,
        FetchErrorKind::Timeout => ExitStatus::TimedOut,
        FetchErrorKind::Stopped => ExitStatus::Interrupted,
    }
}

fn print_stats(took: Duration, memory_bytes: u64, control: &Control) {
    let (bytes, seconds) = (control.stored_bytes(), took.as_secs_f64());
    let object = json!({
        "stored_bytes": bytes,
        "seconds": seconds,
        "bytes_per_second": bytes as f64 / seconds.max(1e-9),
        "memory_max_bytes": memory_bytes,
        "peak_bytes": stats::peak_bytes(),
    });
    message::line(&object);
}
