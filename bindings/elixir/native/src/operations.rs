//! The operations on files and enumerables.

use crate::feed::SourceArgument;
use crate::jobs::{JobHandle, JobStop, start};
use crate::rows::{BatchForm, term};
use crate::terms::{binary, of_json, to_json};
use rorqual_accesslog::format::LogFormat;
use rorqual_columnar::{FormatHints, FormatKind, SummaryHandle};
use rorqual_embed::{
    Download, DownloadStep, DownloadSummary, LineSearch, MatchedLine, OperationFailure, PageRequest, ProgramItem, ReportRequest,
    Resources, RowsRequest,
};
use rorqual_fetch::FetchEvent;
use rorqual_pipe::count::{ByteCounts, Counter};
use rustler::{Atom, Decoder, Encoder, Env, NifResult, ResourceArc, Term};
use std::path::PathBuf;
use std::time::Duration;

mod atoms {
    rustler::atoms! {
        lines, bytes, longest_bytes, words, characters, started, retry, start_over, url, size_bytes, resumed_bytes,
        whole, sha256, blake3, rows, notes
    }
}

/// Memory of an operation that holds little.
const SMALL_BYTES: u64 = 16 << 20;

/// Named arguments: a map with atoms as keys.
#[derive(Clone, Copy)]
struct Arguments<'a>(Term<'a>);

impl<'a> Arguments<'a> {
    /// The value of a key that is there.
    fn get<T: Decoder<'a>>(self, key: &str) -> NifResult<T> {
        let key = Atom::from_str(self.0.get_env(), key)?;
        self.0.map_get(key)?.decode()
    }

    fn resources(self) -> NifResult<Resources> {
        Ok(Resources { memory_bytes: self.get("memory")?, threads: self.get("threads")? })
    }
}

/// Items that are there, or will be.
type Items<T> = Box<dyn Iterator<Item = Result<T, OperationFailure>>>;

/// Rows of access logs: `{:rows, batch}`, and `{:notes, sentences}` at the end.
#[rustler::nif]
fn rows<'a>(env: Env<'a>, id: u64, arguments: Term<'a>) -> NifResult<ResourceArc<JobHandle>> {
    let arguments = Arguments(arguments);
    let (sources, format): (Vec<SourceArgument>, Option<String>) = (arguments.get("sources")?, arguments.get("format")?);
    let (columns, filter) = (arguments.get("fields")?, arguments.get("where")?);
    let (since_us, until_us) = (arguments.get("since")?, arguments.get("until")?);
    let form = if arguments.get("columns")? { BatchForm::Columns } else { BatchForm::Rows };
    let resources = arguments.resources()?;
    let open = move |stop: &JobStop| {
        let log = format.as_deref().map(LogFormat::parse).transpose();
        let log = log.map_err(|error| OperationFailure::argument(format!("the format: {error}")))?;
        let request = RowsRequest {
            sources: sources.into_iter().map(SourceArgument::source).collect(),
            hints: FormatHints { kind: Some(FormatKind::Log), log, ..FormatHints::default() },
            columns,
            filter,
            since_us,
            until_us,
            ..RowsRequest::default()
        };
        stop.join(&request.control);
        let batches = rorqual_embed::rows(request, resources)?;
        let summary = batches.summary().clone();
        let batches = batches.map(|batch| batch.map(RowsItem::Batch).map_err(OperationFailure::from));
        let items: Items<RowsItem> = Box::new(batches.chain(std::iter::once_with(|| Ok(RowsItem::End(summary)))));
        Ok(items)
    };
    Ok(start(env, id, resources.memory_bytes, open, move |env, item| match item {
        RowsItem::Batch(batch) => (atoms::rows(), term(env, &batch, form)).encode(env),
        RowsItem::End(summary) => (atoms::notes(), summary.get().told()).encode(env),
    }))
}

enum RowsItem {
    Batch(arrow_array::RecordBatch),
    End(SummaryHandle),
}

/// The report of access logs.
#[rustler::nif]
fn report<'a>(env: Env<'a>, id: u64, arguments: Term<'a>) -> NifResult<ResourceArc<JobHandle>> {
    let (request, resources) = report_request(Arguments(arguments))?;
    let open = move |stop: &JobStop| {
        let running = rorqual_embed::report(request(), resources)?;
        stop.join(running.control());
        Ok(running)
    };
    Ok(start(env, id, resources.memory_bytes, open, report_term))
}

/// Reports of access logs while they are read, and the whole one last.
#[rustler::nif]
fn reports<'a>(env: Env<'a>, id: u64, arguments: Term<'a>) -> NifResult<ResourceArc<JobHandle>> {
    let (request, resources) = report_request(Arguments(arguments))?;
    let every = Duration::from_millis(Arguments(arguments).get("every")?);
    let open = move |stop: &JobStop| {
        let running = rorqual_embed::reports(request(), every, resources)?;
        stop.join(running.control());
        Ok(running)
    };
    Ok(start(env, id, resources.memory_bytes, open, report_term))
}

type Requested = Box<dyn FnOnce() -> ReportRequest + Send>;

/// A request, whose sources are taken when the operation begins.
fn report_request(arguments: Arguments<'_>) -> NifResult<(Requested, Resources)> {
    let sources: Vec<SourceArgument> = arguments.get("sources")?;
    let (format, filter) = (arguments.get("format")?, arguments.get("where")?);
    let (since_us, until_us, top) = (arguments.get("since")?, arguments.get("until")?, arguments.get("top")?);
    let request = move || {
        let sources = sources.into_iter().map(SourceArgument::source).collect();
        ReportRequest { sources, format, filter, since_us, until_us, top }
    };
    Ok((Box::new(request), arguments.resources()?))
}

#[allow(clippy::needless_pass_by_value)]
fn report_term(env: Env<'_>, text: String) -> Term<'_> {
    of_json(env, &serde_json::from_str(&text).unwrap_or_default())
}

/// The output of the program, `{:rows, list}`: of maps where it prints JSON, or of binaries. At its
/// end `{:notes, text}`, where it says something.
#[rustler::nif]
fn program<'a>(env: Env<'a>, id: u64, arguments: Term<'a>) -> NifResult<ResourceArc<JobHandle>> {
    let arguments = Arguments(arguments);
    let (program, words): (String, Vec<String>) = (arguments.get("program")?, arguments.get("arguments")?);
    let program = PathBuf::from(program);
    if !arguments.get::<bool>("documents")? {
        let open = move |stop: &JobStop| {
            let running = rorqual_embed::output(program, words);
            stop.join(running.control());
            Ok(running)
        };
        return Ok(start(env, id, SMALL_BYTES, open, |env, item| match item {
            ProgramItem::Output(piece) => (atoms::rows(), [binary(env, &piece)].as_slice()).encode(env),
            ProgramItem::Notes(notes) => (atoms::notes(), notes).encode(env),
        }));
    }
    let open = move |stop: &JobStop| {
        let running = rorqual_embed::documents(program, words);
        stop.join(running.control());
        Ok(running)
    };
    Ok(start(env, id, SMALL_BYTES, open, |env, item| match item {
        ProgramItem::Output(some) => {
            let documents: Vec<_> = some.iter().map(|document| of_json(env, document)).collect();
            (atoms::rows(), documents).encode(env)
        }
        ProgramItem::Notes(notes) => (atoms::notes(), notes).encode(env),
    }))
}

/// Counts of lines and bytes.
#[rustler::nif]
fn count<'a>(env: Env<'a>, id: u64, arguments: Term<'a>) -> NifResult<ResourceArc<JobHandle>> {
    let arguments = Arguments(arguments);
    let source: SourceArgument = arguments.get("source")?;
    let counter = Counter { longest: true, words: arguments.get("words")?, characters: arguments.get("characters")? };
    let resources = arguments.resources()?;
    let open = move |stop: &JobStop| {
        let running = rorqual_embed::count(source.source(), counter, resources)?;
        stop.join(running.control());
        Ok(running)
    };
    Ok(start(env, id, resources.memory_bytes, open, move |env, counts| counts_term(env, &counts, counter)))
}

fn counts_term<'a>(env: Env<'a>, counts: &ByteCounts, counter: Counter) -> Term<'a> {
    let usual =
        [(atoms::lines(), counts.newlines), (atoms::bytes(), counts.bytes), (atoms::longest_bytes(), counts.longest_bytes())];
    let words = counter.words.then(|| (atoms::words(), counts.words()));
    let characters = counter.characters.then(|| (atoms::characters(), counts.characters()));
    let pairs: Vec<(Atom, u64)> = usual.into_iter().chain(words).chain(characters).collect();
    Term::map_from_pairs(env, &pairs).unwrap_or_else(|_| Term::map_new(env))
}

/// Lines that match: lists of `{number, offset, line}`.
#[rustler::nif]
fn grep<'a>(env: Env<'a>, id: u64, arguments: Term<'a>) -> NifResult<ResourceArc<JobHandle>> {
    let arguments = Arguments(arguments);
    let source: SourceArgument = arguments.get("source")?;
    let search = LineSearch {
        patterns: arguments.get("patterns")?,
        fixed: arguments.get("fixed")?,
        ignore_case: arguments.get("ignore_case")?,
        word: arguments.get("word")?,
        whole_line: arguments.get("whole_line")?,
        invert: arguments.get("invert")?,
        lines_max: arguments.get("max_count")?,
    };
    let resources = arguments.resources()?;
    let open = move |stop: &JobStop| {
        let running = rorqual_embed::matches(source.source(), &search, resources)?;
        stop.join(running.control());
        Ok(running)
    };
    Ok(start(env, id, resources.memory_bytes, open, |env, lines: Vec<MatchedLine>| {
        let line = |line: &MatchedLine| (line.number, line.offset, binary(env, &line.bytes)).encode(env);
        lines.iter().map(line).collect::<Vec<_>>().encode(env)
    }))
}

/// The digest of a source, in hexadecimal.
#[rustler::nif]
fn digest<'a>(env: Env<'a>, id: u64, arguments: Term<'a>) -> NifResult<ResourceArc<JobHandle>> {
    let arguments = Arguments(arguments);
    let (source, algorithm): (SourceArgument, String) = (arguments.get("source")?, arguments.get("algorithm")?);
    let resources = arguments.resources()?;
    let open = move |stop: &JobStop| {
        let algorithm = algorithm.parse().map_err(|error| OperationFailure::argument(format!("{algorithm}: {error}")))?;
        let running = rorqual_embed::digest(source.source(), algorithm, resources)?;
        stop.join(running.control());
        Ok(running)
    };
    Ok(start(env, id, resources.memory_bytes, open, |env, digest: rorqual_digest::Digest| digest.to_string().encode(env)))
}

/// A download: events, and a map at its end.
#[rustler::nif]
fn download<'a>(env: Env<'a>, id: u64, arguments: Term<'a>) -> NifResult<ResourceArc<JobHandle>> {
    let arguments = Arguments(arguments);
    let path: String = arguments.get("path")?;
    let timeout_ms: Option<u64> = arguments.get("timeout")?;
    let wanted = Download {
        url: arguments.get("url")?,
        path: path.into(),
        replace: arguments.get("replace")?,
        sha256: arguments.get("sha256")?,
        blake3: arguments.get("blake3")?,
        headers: arguments.get("headers")?,
        parallel: arguments.get("parallel")?,
        retries: arguments.get("retries")?,
        time_max: timeout_ms.map(Duration::from_millis),
    };
    let open = move |stop: &JobStop| {
        let running = rorqual_embed::download(wanted)?;
        stop.join(running.control());
        Ok(running)
    };
    Ok(start(env, id, SMALL_BYTES, open, |env, step| match step {
        DownloadStep::Event(FetchEvent::Started { size_bytes, resumed_bytes }) => {
            (atoms::started(), size_bytes, resumed_bytes).encode(env)
        }
        DownloadStep::Event(FetchEvent::Retry { why, after, .. }) => (atoms::retry(), why, after.as_millis() as u64).encode(env),
        DownloadStep::Event(FetchEvent::StartOver { why }) => (atoms::start_over(), why).encode(env),
        DownloadStep::Done(done) => download_term(env, &done),
    }))
}

fn download_term<'a>(env: Env<'a>, done: &DownloadSummary) -> Term<'a> {
    let digest = |name| done.digests.iter().find(|digest| digest.algorithm().name() == name).map(ToString::to_string);
    let pairs = [
        (atoms::url(), done.url.encode(env)),
        (atoms::size_bytes(), done.size_bytes.encode(env)),
        (atoms::resumed_bytes(), done.resumed_bytes.encode(env)),
        (atoms::whole(), done.is_whole.encode(env)),
        (atoms::sha256(), digest("sha256").encode(env)),
        (atoms::blake3(), digest("blake3").encode(env)),
    ];
    Term::map_from_pairs(env, &pairs).unwrap_or_else(|_| Term::map_new(env))
}

/// A template's output in pieces.
#[rustler::nif]
fn page<'a>(env: Env<'a>, id: u64, arguments: Term<'a>) -> NifResult<ResourceArc<JobHandle>> {
    let arguments = Arguments(arguments);
    let (name, text, folder): (String, Option<String>, Option<String>) =
        (arguments.get("name")?, arguments.get("text")?, arguments.get("folder")?);
    let variables = to_json(arguments.get("variables")?);
    let is_lenient = arguments.get("lenient")?;
    let open = move |stop: &JobStop| {
        let none = || OperationFailure::argument("a variable is a term that no template has, as a reference or a tuple");
        let variables = variables.ok_or_else(none)?;
        let request = PageRequest { folder: folder.map(Into::into), name, text, variables, rows: None, is_lenient };
        let running = rorqual_embed::page(request)?;
        stop.join(running.control());
        Ok(running)
    };
    Ok(start(env, id, SMALL_BYTES, open, |env, piece: Vec<u8>| binary(env, &piece)))
}
