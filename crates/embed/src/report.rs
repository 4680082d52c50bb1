//! Reports of access logs.

use crate::failure::OperationFailure;
use crate::resources::Resources;
use crate::running::Running;
use crate::source::DataSource;
use rorqual_accesslog::aggregate::SpanFilter;
use rorqual_accesslog::analyze::{AnalyzeSettings, Analyzer, Formats};
use rorqual_accesslog::filter::{Filter, FilterError};
use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::{LineFilter, OWN_NUMBERS_MAX, OWN_TEXTS_MAX, Options, OwnColumns};
use rorqual_pipe::Control;
use rorqual_pipe::limits::LINE_BYTES_MAX_DEFAULT;

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
pub fn report(request: ReportRequest, resources: Resources) -> Result<Running<String>, OperationFailure> {
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
    let control = Control::default();
    let stop = control.clone();
    Ok(Running::one(&control, move || {
        let analyzer = Analyzer::new(&settings, shares, Options { only, recording: None, untallied: false });
        let mut inputs = Vec::new();
        for source in request.sources {
            let input = source.open()?.into_utf8();
            let end = analyzer.run::<std::io::Sink>(input, &stop, |_, _| {}, None)?;
            if let Some(error) = end.error {
                return Err(error.into());
            }
            inputs.push(end.source);
        }
        if stop.stopped() {
            return Err(OperationFailure::new("stopped", "stopped before its end"));
        }
        let report = analyzer.report(inputs, true, request.top);
        serde_json::to_string(&report).map_err(|error| OperationFailure::new("defect", error.to_string()))
    }))
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
