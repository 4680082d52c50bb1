//! Reports of access logs.

use crate::failure::OperationFailure;
use crate::resources::Resources;
use crate::running::RunningOperation;
use crate::source::DataSource;
use rorqual_accesslog::aggregate::SpanFilter;
use rorqual_accesslog::analyze::{AnalyzeSettings, Analyzer, Formats};
use rorqual_accesslog::filter::{Filter, FilterError};
use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::report::{InputReport, LogReport};
use rorqual_accesslog::{LineFilter, OWN_NUMBERS_MAX, OWN_TEXTS_MAX, Options, OwnColumns};
use rorqual_pipe::limits::LINE_BYTES_MAX_DEFAULT;
use rorqual_pipe::{Control, ErrorClass, beside};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// A report that is asked for.
#[derive(Debug, Default)]
pub struct ReportRequest {
    /// The logs.
    pub sources: Vec<DataSource>,
    /// Their format; found out if not given.
    pub format: Option<String>,
    /// Lines that count.
    pub filter: Option<String>,
    /// Lines at or after this time count, in Unix microseconds.
    pub since_us: Option<i64>,
    /// Lines before this time count.
    pub until_us: Option<i64>,
    /// Rows of each table.
    pub top: usize,
}

/// The report as JSON of the schema `rorqual.logs/1`.
///
/// # Errors
/// When the format or the filter is none, or the memory too little.
pub fn report(request: ReportRequest, resources: Resources) -> Result<RunningOperation<String>, OperationFailure> {
    let (analyzer, top) = (analyzer(&request, resources)?, request.top);
    let control = Control::default();
    let stop = control.clone();
    Ok(RunningOperation::one(&control, move || {
        let inputs = read(&analyzer, request.sources, &stop)?;
        written(&analyzer.report(inputs, true, top))
    }))
}

/// Reports of what was read so far, at most one in `every`, and at last that of everything. One
/// that nobody takes does not hold the reading up.
///
/// # Errors
/// As those of [`report`].
pub fn reports(
    request: ReportRequest,
    every: Duration,
    resources: Resources,
) -> Result<RunningOperation<String>, OperationFailure> {
    let (analyzer, top) = (Arc::new(analyzer(&request, resources)?), request.top);
    let name = request.sources.first().map(DataSource::name).unwrap_or_default();
    let control = Control::default();
    let stop = control.clone();
    Ok(RunningOperation::start(&control, move |give| {
        let (working, working_stop) = (Arc::clone(&analyzer), stop.clone());
        let mut reading = beside(1, move |sender| {
            let read = || read(&working, request.sources, &working_stop);
            let read = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(OperationFailure::defect()));
            let _gone = sender.send(read);
        });
        loop {
            // Workers hand their sums over at their next chunk.
            analyzer.analysis().refresh();
            match reading.wait(every) {
                Poll::Pending => give(written(&analyzer.report(vec![so_far(&name, &analyzer, &stop)], false, top))?)?,
                Poll::Ready(Some(inputs)) => return give(written(&analyzer.report(inputs?, true, top))?),
                Poll::Ready(None) => return Err(OperationFailure::defect()),
            }
        }
    }))
}

fn analyzer(request: &ReportRequest, resources: Resources) -> Result<Analyzer, OperationFailure> {
    let given = request.format.as_deref().map(LogFormat::parse).transpose();
    let given = given.map_err(|error| OperationFailure::argument(format!("the format: {error}")))?;
    let filter = request.filter.as_deref().map(|text| checked(text, given.as_ref())).transpose()?;
    let settings = AnalyzeSettings {
        memory_bytes: resources.memory_bytes,
        threads: resources.threads,
        line_bytes_max: LINE_BYTES_MAX_DEFAULT,
        span: SpanFilter { since_us: request.since_us, until_us: request.until_us },
        formats: Formats { given, candidates: Vec::new() },
        feed_buffers: 0,
        kept: None,
        countries: None,
    };
    let threads = resources.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let filter = filter.map(|filter| ("filter and its regular expressions".to_owned(), filter.bytes(threads)));
    let beside: Vec<(String, u64)> = filter.into_iter().collect();
    let only = request.filter.as_deref().map(|text| LineFilter::new("the filter", text));
    let shares = settings.shares_beside(&beside, 1, "")?;
    Ok(Analyzer::new(&settings, shares, Options { only, of_files: request.sources.len() > 1, ..Options::default() }))
}

fn read(analyzer: &Analyzer, sources: Vec<DataSource>, stop: &Control) -> Result<Vec<InputReport>, OperationFailure> {
    let mut inputs = Vec::new();
    for source in sources {
        let end = analyzer.run::<std::io::Sink>(source.open()?.into_utf8(), stop, |_, _| {}, None)?;
        match end.error {
            // The filter names what is not in this log.
            Some(error) if error.kind() == ErrorClass::Mismatch => {
                return Err(OperationFailure { kind: "argument", ..error.into() });
            }
            Some(error) => return Err(error.into()),
            None => {}
        }
        inputs.push(end.source);
    }
    if stop.stopped() {
        return Err(OperationFailure::new("stopped", "stopped before its end"));
    }
    Ok(inputs)
}

fn so_far(name: &str, analyzer: &Analyzer, control: &Control) -> InputReport {
    let (bytes, lines) = (control.decoded_bytes(), analyzer.analysis().lines().total);
    InputReport { name: name.to_owned(), format: None, guess: None, bytes, lines, error: None }
}

fn written(report: &LogReport) -> Result<String, OperationFailure> {
    serde_json::to_string(report).map_err(|error| OperationFailure::new("defect", error.to_string()))
}

/// A filter whose names are those of all logs or, as far as the format says them, of this one.
fn checked(text: &str, given: Option<&LogFormat>) -> Result<Filter, OperationFailure> {
    let own = OwnColumns::new(given.map_or(&[], LogFormat::variables), OWN_TEXTS_MAX, OWN_NUMBERS_MAX);
    let may_have_others = given.is_none_or(LogFormat::is_open);
    let filter = if may_have_others { own.schema().filter_of_any(text) } else { own.schema().filter(text) };
    without_countries(filter)
}

/// A filter that asks for no database.
pub(crate) fn without_countries(filter: Result<Filter, FilterError>) -> Result<Filter, OperationFailure> {
    let filter = filter.map_err(|error| OperationFailure::argument(format!("the filter: {error}")))?;
    if filter.names_countries() {
        return Err(OperationFailure::argument("the filter asks for countries, which takes a database of them"));
    }
    Ok(filter)
}
