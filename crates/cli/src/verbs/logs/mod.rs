//! `rorqual logs`

mod cluster;
mod columns;
mod explore;
mod html;
mod interactive;
mod side_by_side;
mod table;
pub(crate) mod terminal;
pub(crate) mod time;
pub(crate) mod words;

use crate::args::{Common, CountryArgs, FormatArgs, LogsArgs};
use crate::exit::ExitStatus;
use crate::folder::in_folders;
use crate::json_name::put_name;
use crate::message::{self};
use crate::progress::Progress;
use crate::rejects::{self, RejectFile};
use crate::verbs::count::or_stdin;
use crate::verbs::serve::check_rows;
use crate::{input, interrupt};
use explore::{FormatRows, RowsQuestion};
pub(crate) use explore::{LogsAnswer, Question, SpanSeconds, lacking, print_asked, unanswerable};
use html::page_bytes;
pub(crate) use html::{HtmlPage, table_page_bytes, view_page};
use rorqual_accesslog::aggregate::SpanFilter;
use rorqual_accesslog::analyze::{AnalyzeError, AnalyzeSettings, Analyzer, Formats, RunEnd};
use rorqual_accesslog::filter::Filter;
use rorqual_accesslog::format::{Detection, Field, ForeignContent, LogFormat, detect, formats_in_config, preview};
use rorqual_accesslog::report::{InputReport, LogReport};
use rorqual_accesslog::{Countries, LineFilter, OWN_NUMBERS_MAX, OWN_TEXTS_MAX, Options, OwnColumns, Recording};
use rorqual_pipe::limits::{BLOCK_BYTES, PROGRAM_BYTES};
use rorqual_pipe::whole_file::OutputPath;
use rorqual_pipe::{Control, Input, escaped_path, gather, reason};
use serde_json::Value;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The gather sink of `--rejects` holds one buffer.
const REJECT_BUFFERS: usize = 1;

/// The way on for a text in no known format.
const GIVE_FORMAT: &str = "Give its format: --format '$remote_addr - $remote_user [$time_local] \"$request\" $status …' (nginx log_format), \
     --format '%h %l %u %t \"%r\" %>s %b' (Apache LogFormat), or --format-file nginx.conf. \
     If it is a table, such as CSV, rorqual summary shows its columns";

/// Lines shown when a format was guessed and does not fit well.
const PREVIEW_LINES: usize = 2;

pub(crate) fn run(common: &Common, args: &LogsArgs) -> ExitStatus {
    if args.cluster.is_some() {
        return run_of_files(common, args, ExitStatus::Done);
    }
    let named = in_folders(&args.files);
    named.errors.iter().chain(&named.notes).for_each(|said| message::note(said));
    let found = if named.errors.is_empty() { ExitStatus::Done } else { ExitStatus::Bad };
    if named.files.is_empty() && found != ExitStatus::Done {
        // Without names standard input would be read.
        return ExitStatus::Bad;
    }
    run_of_files(common, &LogsArgs { files: named.files, ..args.clone() }, found).max(found)
}

/// Reports on files; `found` tells of folders without files for it.
fn run_of_files(common: &Common, args: &LogsArgs, found: ExitStatus) -> ExitStatus {
    let started = Instant::now();
    let settings = match settings(common, args) {
        Ok(settings) => settings,
        Err(error) => return message::error(&error),
    };
    let on_cluster = args.cluster.is_some();
    if on_cluster && let Err(error) = cluster::refuse(common, args) {
        return message::error(&error);
    }
    if let Err(error) = check_rows(args.rows.as_deref()) {
        return message::error(&error);
    }
    // Beside a folder that could not be read, the report of a table would be called complete.
    let is_whole = !on_cluster && found == ExitStatus::Done;
    if let Some(exit) = is_whole.then(|| table::answer(common, args, &settings)).flatten() {
        return exit;
    }
    if args.rows.is_some() {
        return message::error(&"--rows: this is for one file that is a JSON document, and not for a log");
    }
    if args.interactive {
        return interactive::run(common, args, &settings).unwrap_or_else(|error| message::error(&error));
    }
    let seed = on_cluster.then(|| RandomState::new().hash_one(started));
    let made = explore::question(args).and_then(|question| Ok((question, analyzer(&settings, args, seed)?)));
    let (asking, mut analyzer) = match made {
        Ok((question, (analyzer, rows))) => {
            (question.zip(rows).map(|(question, rows)| RowsQuestion::new(question, rows)), analyzer)
        }
        Err(error) => return message::error(&error),
    };
    let files = or_stdin(&args.files);
    if let Err(error) = refuse_lost_files(args, &files) {
        return message::error(&error);
    }
    let control = Control::with_rate_limit(common.limit_rate);
    let mut page = match args.html.as_deref().map(|path| HtmlPage::create(path, args.template.as_deref(), &control)).transpose() {
        Ok(page) => page,
        Err(error) => return message::error(&error),
    };
    let rejects = args.rejects.as_deref().map(|path| RejectFile::create(path, analyzer.pool(), &control)).transpose();
    let mut rejects = match rejects {
        Ok(rejects) => rejects,
        Err(error) => return message::error(&error),
    };
    interrupt::stop_on_interrupt(&control);
    let (sources, mut exit) = match seed {
        None => run_files(common, &files, &analyzer, &control, &mut rejects),
        Some(seed) => match cluster::run_files(common, args, &settings, &mut analyzer, seed) {
            Ok(ran) => ran,
            Err(_) if control.stopped() => return interrupt::exit_of_nothing(&control, ExitStatus::Done),
            Err(error) => return message::error(&error),
        },
    };
    if control.stopped() && sources.iter().all(|source| source.bytes == 0) {
        // Of nothing there is no report, and no file is made of it.
        return interrupt::exit_of_nothing(&control, exit);
    }
    if let Some(rejects) = rejects {
        exit = exit.max(rejects.finish().map_or_else(|error| message::error(&error), |()| ExitStatus::Done));
    }
    exit = interrupt::exit_of(&control, exit.max(found));
    let analysed = sources.iter().any(|source| source.error.is_none() || source.bytes > 0);
    let is_one = sources.len() <= 1;
    let mut report = analyzer.report(sources, exit == ExitStatus::Done, usize::from(args.top));
    if is_one {
        report.panels.retain(|panel| panel.field != "file");
    }
    exit = exit.max(nothing_fits(&report).map_or(ExitStatus::Done, |error| message::error(&error)));
    let answered = asking.filter(|_| analysed || control.stopped());
    if let Some(asking) = &answered {
        exit = exit.max(asking.answer(&report, &analyzer, &control, &settings, args, page.take()));
    }
    if common.process.stats {
        crate::stats::print(started, settings.memory_bytes, analyzer.threads(), &control, analyzer.pool());
    }
    if answered.is_some() || (!analysed && !control.stopped()) {
        return exit;
    }
    let printed = match &page {
        _ if args.json => print_json(&report, &files, &control),
        Some(_) => Ok(()),
        None => terminal::print(&report, usize::from(args.top), &control),
    };
    exit = printed.map_or_else(|error| message::print_error(&error), |()| exit);
    exit.max(page.map_or(ExitStatus::Done, |page| page.finish(&report, &analyzer, args.top, &control, settings.memory_bytes)))
}

/// The analyzer, and the store of the rows where questions are asked of them.
fn analyzer(
    settings: &AnalyzeSettings,
    args: &LogsArgs,
    estimates_seed: Option<u64>,
) -> Result<(Analyzer, Option<Arc<FormatRows>>), String> {
    let only = args.filter.as_deref().map(|text| filter(text, settings)).transpose()?;
    let beside = beside(settings, args, only.as_ref());
    // Rows have the order of the log, and so have rejected lines.
    let is_ordered = settings.kept.is_some() || args.rejects.is_some() || args.cluster.is_some();
    let inputs = if is_ordered { 1 } else { side_by_side::inputs_max(settings, &args.files) };
    let shares = settings.shares_side_by_side(inputs, &beside).map_err(|error| error.to_string())?;
    let rows = settings.kept.map(|_| FormatRows::new(args, settings, &shares)).transpose()?;
    let only = args.filter.as_deref().map(|text| LineFilter::new("--where", text));
    let options = Options {
        only,
        recording: rows.clone().map(|rows| rows as Arc<dyn Recording>),
        // An address may stand for several.
        of_files: args.files.len() > 1 || args.cluster.is_some(),
        untallied: rows.is_some(),
        estimates_seed,
    };
    Ok((Analyzer::new(settings, shares, options), rows))
}

/// Holders of memory beside the analysis.
fn beside(settings: &AnalyzeSettings, args: &LogsArgs, only: Option<&Filter>) -> Vec<(String, u64)> {
    let threads = settings.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let page = args.html.is_some().then(|| ("page (--html, --top)".to_owned(), page_bytes(args.top)));
    let filter = only.map(|filter| ("filter and its regular expressions (--where)".to_owned(), filter.bytes(threads)));
    let screen = args.interactive.then(|| ("screen (--interactive)".to_owned(), interactive::SCREEN_BYTES));
    [("program".to_owned(), PROGRAM_BYTES)].into_iter().chain(page).chain(filter).chain(screen).collect()
}

/// Refuses outputs that would replace an input, the template or one another.
fn refuse_lost_files(args: &LogsArgs, files: &[PathBuf]) -> Result<(), String> {
    if args.json && args.html.as_deref() == Some(Path::new("-")) {
        return Err("--json and --html - would both print on standard output".to_owned());
    }
    let dash = Some(Path::new("-"));
    if args.rejects.as_deref() == dash && (args.json || args.html.is_none() || args.html.as_deref() == dash) {
        return Err("--rejects - and the report would both print on standard output".to_owned());
    }
    let rejects = args.rejects.as_deref().map(|path| rejects::output(path, args.force));
    let html = args.html.as_deref().map(|path| html::output(path, args.force));
    let beside = [&args.template, &args.country.geoip, &args.format.format_file];
    let read: Vec<&Path> = files.iter().chain(beside.into_iter().flatten()).map(PathBuf::as_path).collect();
    for output in [rejects, html].into_iter().flatten() {
        refuse_the_log(&output, args)?;
        output.check(read.iter().copied())?;
    }
    rejects.zip(html).map_or(Ok(()), |(rejects, html)| html.check_other(&rejects))
}

/// Refuses an existing file as an output where no log is named: it is the log, and the output's
/// name is missing. From a pipe a log may come without a name, and then a file can be replaced as
/// always.
fn refuse_the_log(output: &OutputPath<'_>, args: &LogsArgs) -> Result<(), String> {
    let (flag, name) = (output.flag, escaped_path(output.path));
    // A FIFO is no file, and opening one waits.
    if !args.files.is_empty() || !output.path.is_file() {
        return Ok(());
    }
    if output.force && !io::stdin().is_terminal() && !is_log(output.path) {
        return Ok(());
    }
    let (wanted, example) = if flag == "--html" { ("report", "report.html") } else { ("file of rejected lines", "rejects.log") };
    Err(format!(
        "{flag} {name}: no log is named, and {name} is there: the name of the {wanted} may be missing, as in {flag} {example} {name}"
    ))
}

/// True of a file that a log may be, whose lines nobody could get back: of a known format, or
/// compressed.
fn is_log(path: &Path) -> bool {
    let mut head = vec![0; BLOCK_BYTES];
    let read = File::open(path).and_then(|file| file.read_at(&mut head, 0));
    head.truncate(read.unwrap_or(0));
    detect(&head, &[]).is_ok() || ForeignContent::of_bytes(&head).is_some()
}

/// The meaning of the arguments.
fn settings(common: &Common, args: &LogsArgs) -> Result<AnalyzeSettings, String> {
    let time = |text: &Option<String>| text.as_deref().map(time::parse_us).transpose();
    let span = SpanFilter { since_us: time(&args.since)?, until_us: time(&args.until)? };
    if span.since_us.zip(span.until_us).is_some_and(|(since, until)| since >= until) {
        return Err("--since is not before --until: no line can be in between".to_owned());
    }
    let memory_bytes = common.process.memory_bytes();
    Ok(AnalyzeSettings {
        memory_bytes,
        threads: common.process.threads.map(usize::from),
        line_bytes_max: line_bytes_max(&args.format)?,
        span,
        formats: formats(&args.format)?,
        feed_buffers: REJECT_BUFFERS,
        kept: (args.interactive || args.explore.asks()).then(explore::kept),
        countries: countries(&args.country, memory_bytes)?,
    })
}

/// The filter. Names that it has beside those of access logs may be those of a log's own columns,
/// which are known once the log is: of a format that is given they are now.
fn filter(text: &str, settings: &AnalyzeSettings) -> Result<Filter, String> {
    let given = settings.formats.given.as_ref();
    let may_have_others = given.is_none_or(LogFormat::is_open);
    let own = OwnColumns::new(given.map_or(&[], LogFormat::variables), OWN_TEXTS_MAX, OWN_NUMBERS_MAX);
    let filter = if may_have_others { own.schema().filter_of_any(text) } else { own.schema().filter(text) };
    let filter = filter.map_err(|error| format!("--where: {error}"))?;
    if filter.names_countries() && settings.countries.is_none() {
        return Err("--where asks for countries, which takes a database of them: --geoip FILE.mmdb".to_owned());
    }
    Ok(filter)
}

/// The database of countries, if one is given.
pub(crate) fn countries(args: &CountryArgs, memory_bytes: u64) -> Result<Option<Arc<Countries>>, String> {
    let open = |path: &PathBuf| {
        let failed = |message: String| format!("--geoip {}: {message}", escaped_path(path));
        let bytes = std::fs::metadata(path).map_err(|cause| failed(reason(&cause)))?.len();
        if bytes > memory_bytes / 2 {
            return Err(failed(format!("it has {bytes} bytes, and at most half of --memory is for it")));
        }
        let content = std::fs::read(path).map_err(|cause| failed(reason(&cause)))?;
        let no_database = |error| failed(format!("{error} (a MaxMind database with countries is asked for, a .mmdb file)"));
        Countries::new(content).map(Arc::new).map_err(no_database)
    };
    args.geoip.as_ref().map(open).transpose()
}

/// The line limit, which has to leave room for at least a short line and must not be absurd.
pub(crate) fn line_bytes_max(args: &FormatArgs) -> Result<usize, String> {
    match args.line_max {
        1_024..=1_073_741_824 => Ok(args.line_max as usize),
        _ => Err("--line-max must be between 1KiB and 1GiB".to_owned()),
    }
}

/// The formats that the flags name.
pub(crate) fn formats(args: &FormatArgs) -> Result<Formats, String> {
    let named = match &args.format_file {
        Some(path) => formats_of(path)?,
        None => Vec::new(),
    };
    Formats::new(args.format.as_deref(), named).map_err(|error| format!("--format: {error}"))
}

fn formats_of(path: &Path) -> Result<Vec<(String, LogFormat)>, String> {
    let name = escaped_path(path);
    let text = std::fs::read(input::real_path(path)).map_err(|error| format!("--format-file {name}: {}", reason(&error)))?;
    let mut formats = Vec::new();
    for (format_name, format) in formats_in_config(&String::from_utf8_lossy(&text)) {
        match format {
            Ok(format) => formats.push((format_name, format)),
            Err(error) => message::note(&format!("{name}: the format '{format_name}' is left out: {error}")),
        }
    }
    if formats.is_empty() { Err(format!("--format-file {name}: no usable log_format or LogFormat in it")) } else { Ok(formats) }
}

fn run_files(
    common: &Common,
    files: &[PathBuf],
    analyzer: &Analyzer,
    control: &Control,
    rejects: &mut Option<RejectFile>,
) -> (Vec<InputReport>, ExitStatus) {
    let total_bytes =
        files.iter().map(|path| std::fs::metadata(path).ok().filter(|data| data.is_file()).map(|data| data.len())).sum();
    let _progress = Progress::start(common.progress, control, total_bytes);
    input::say_if_twice(files);
    let mut exit = ExitStatus::Done;
    let mut sources = Vec::new();
    let mut take = |(source, error): FileEnd| {
        sources.push(source);
        exit = exit.max(error.map_or(ExitStatus::Done, |error| message::error(&error)));
    };
    let mut remaining = files;
    while let [first, ..] = remaining
        && !control.stopped()
    {
        let compressed = if analyzer.inputs_max() > 1 { side_by_side::compressed(remaining).count() } else { 0 };
        let (group, after) = remaining.split_at(compressed.max(1));
        if group.len() > 1 {
            side_by_side::run(group, analyzer, control, &mut take);
        } else {
            take(run_file(first, analyzer, control, rejects));
        }
        remaining = after;
    }
    (sources, exit)
}

/// A file as the report lists it, and the error that ended it.
type FileEnd = (InputReport, Option<String>);

fn run_file(path: &Path, analyzer: &Analyzer, control: &Control, rejects: &mut Option<RejectFile>) -> FileEnd {
    let input = match input::open(path).map(Input::into_utf8) {
        Ok(input) => input,
        Err(error) => return failed(path, error.to_string()),
    };
    let found = |detection: &Detection, head: &[u8]| {
        notes_of(path, detection, head, analyzer).iter().for_each(|note| message::note(note));
    };
    ended(path, analyzer.run(input, control, found, rejects.as_mut().map(|rejects| &mut rejects.gather)), analyzer)
}

/// The end of a file of which nothing could be read.
fn failed(path: &Path, error: String) -> FileEnd {
    let (name, error_of) = (path.to_string_lossy().into(), Some(error.clone()));
    (InputReport { name, format: None, guess: None, bytes: 0, lines: 0, error: error_of }, Some(error))
}

/// The end of a file that could be opened.
fn ended(path: &Path, ran: Result<RunEnd, AnalyzeError>, analyzer: &Analyzer) -> FileEnd {
    match ran {
        Ok(ran) => {
            other_zone(path, ran.zone_seconds, analyzer).iter().for_each(|note| message::note(note));
            (ran.source, ran.error.map(|error| error.to_string()))
        }
        Err(error) => {
            let AnalyzeError::UnknownFormat { unknown, .. } = &error;
            failed(path, if unknown.lacks_format() { format!("{error}\n{GIVE_FORMAT}") } else { error.to_string() })
        }
    }
}

/// Notes about a file whose format was found by its `head`.
fn notes_of(path: &Path, detection: &Detection, head: &[u8], analyzer: &Analyzer) -> Vec<String> {
    let unread = detection.unread_note().map(|unread| format!("{}: {unread}", escaped_path(path)));
    [unsure_note(path, detection, head), unread, timeless_note(path, detection, analyzer)].into_iter().flatten().collect()
}

/// A note where a file has another clock: a report is in UTC, and shows one zone beside it, that of
/// the first file.
fn other_zone(path: &Path, zone_seconds: Option<i32>, analyzer: &Analyzer) -> Option<String> {
    let (zone, first) = (zone_seconds?, analyzer.analysis().zone_seconds()?);
    let (name, shown, of_first) = (escaped_path(path), time::show_zone(zone), time::show_zone(first));
    (zone != first)
        .then(|| format!("{name}: its clock is at UTC{shown}, that of the first file at UTC{of_first}; the report is in UTC"))
}

/// The error for a log that had lines of which none could be read.
fn nothing_fits(report: &LogReport) -> Option<String> {
    let lines = report.lines;
    if lines.rejected == 0 || lines.parsed > 0 || lines.outside > 0 || lines.filtered > 0 {
        return None;
    }
    let first = report.rejects.samples.first()?;
    let format = report.sources.iter().find(|source| source.name == first.source).and_then(|source| source.format.as_deref());
    Some(format!(
        "not one of {} lines could be read as '{}'; the first is {}:{}: {}. Another format is given by --format or --format-file",
        lines.rejected,
        format.unwrap_or("-"),
        first.source,
        first.line,
        first.reason
    ))
}

/// Shows the fields of the first lines by the guessed format when it does not fit well.
fn unsure_note(path: &Path, detection: &Detection, head: &[u8]) -> Option<String> {
    let doubt = detection.doubt_note()?;
    let mut text = format!("{}: {doubt}. It reads them as:", escaped_path(path));
    for row in preview(&detection.format, head, PREVIEW_LINES) {
        let fields: Vec<String> = row.iter().map(|(field, value)| format!("{}={value}", field.name())).collect();
        text.push_str(&format!("\n  {}", if fields.is_empty() { "(does not fit)".to_owned() } else { fields.join("  ") }));
    }
    Some(text + "\nGive --format if that is wrong.")
}

/// Tells why a log has no line in any span of time.
fn timeless_note(path: &Path, detection: &Detection, analyzer: &Analyzer) -> Option<String> {
    let is_timeless = analyzer.analysis().span().is_bounded() && !detection.format.has(Field::Time);
    let name = escaped_path(path);
    is_timeless.then(|| format!("{name}: no time is read of its lines, so --since and --until leave all of them out"))
}

fn print_json(report: &LogReport, files: &[PathBuf], control: &Control) -> io::Result<()> {
    let mut out = io::BufWriter::new(gather::OutputFd::stdout(control)?);
    if files.iter().all(|file| file.to_str().is_some()) {
        serde_json::to_writer(&mut out, report)?;
    } else {
        serde_json::to_writer(&mut out, &with_names(report, files)?)?;
    }
    out.write_all(b"\n")?;
    out.flush()
}

/// The report with the bytes of names that are no UTF-8.
fn with_names(report: &LogReport, files: &[PathBuf]) -> serde_json::Result<Value> {
    let mut object = serde_json::to_value(report)?;
    let sources = object["sources"].as_array_mut().into_iter().flatten();
    for (source, file) in sources.zip(files).filter(|(_, file)| file.to_str().is_none()) {
        put_name(source, file.as_os_str().as_bytes());
    }
    Ok(object)
}
