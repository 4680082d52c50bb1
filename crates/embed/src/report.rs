//! Reports of access logs.

use crate::failure::OperationFailure;
use crate::resources::Resources;
use crate::running::Running;
use crate::source::DataSource;
use rorqual_accesslog::Options;
use rorqual_accesslog::aggregate::SpanFilter;
use rorqual_accesslog::analyze::{AnalyzeSettings, Analyzer, Formats};
use rorqual_accesslog::filter::Filter;
use rorqual_accesslog::format::LogFormat;
use rorqual_pipe::Control;
use rorqual_pipe::limits::LINE_BYTES_MAX_DEFAULT;
use std::sync::Arc;

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
    let only = request.filter.as_deref().map(Filter::parse).transpose();
    let only = only.map_err(|error| OperationFailure::argument(format!("the filter: {error}")))?.map(Arc::new);
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
    let filter = only.as_ref().map(|filter| ("filter and its regular expressions".to_owned(), filter.bytes(threads)));
    let beside: Vec<(String, u64)> = filter.into_iter().collect();
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
