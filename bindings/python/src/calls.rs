//! Operations with one result, and lines that match.

use crate::failures::OrRaise;
use crate::sources::{resources, source, sources};
use crate::waiting::{Detached, next, result};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rorqual_digest::{Algorithm, Hasher};
use rorqual_embed::{Download, DownloadStep, LineSearch, MatchedLine, ReportRequest, Running};
use rorqual_fetch::FetchEvent;
use rorqual_pipe::count::Counter;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::task::Poll;
use std::time::Duration;

/// Progress of a download is told so often.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Lines, bytes and the longest line of `source`, and words and characters where asked for.
#[pyfunction]
#[pyo3(signature = (source_, *, words=false, characters=false, memory=None, threads=None))]
pub(crate) fn count<'py>(
    py: Python<'py>,
    source_: &Bound<'py, PyAny>,
    words: bool,
    characters: bool,
    memory: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let counter = Counter { longest: true, words, characters };
    let running = rorqual_embed::count(source(source_)?, counter, resources(memory, threads)?).or_raise(py)?;
    let (counted, counts) = (result(py, running)?, PyDict::new(py));
    counts.set_item("lines", counted.newlines)?;
    counts.set_item("bytes", counted.bytes)?;
    counts.set_item("longest_bytes", counted.longest_bytes())?;
    if words {
        counts.set_item("words", counted.words())?;
    }
    if characters {
        counts.set_item("characters", counted.characters())?;
    }
    Ok(counts)
}

/// The digest of `source` in hexadecimal.
#[pyfunction]
#[pyo3(signature = (source_, algorithm="sha256", *, memory=None, threads=None))]
pub(crate) fn hash(
    py: Python<'_>,
    source_: &Bound<'_, PyAny>,
    algorithm: &str,
    memory: Option<&Bound<'_, PyAny>>,
    threads: Option<usize>,
) -> PyResult<String> {
    let algorithm = parsed(algorithm)?;
    let running = rorqual_embed::digest(source(source_)?, algorithm, resources(memory, threads)?).or_raise(py)?;
    Ok(result(py, running)?.to_string())
}

fn parsed(algorithm: &str) -> PyResult<Algorithm> {
    algorithm.parse().map_err(|error| PyValueError::new_err(format!("{algorithm}: {error}")))
}

/// A digest of bytes as they come, in the shape of `hashlib`.
#[pyclass(module = "rorqual", name = "Hasher")]
pub(crate) struct Digester {
    algorithm: Algorithm,
    hasher: Option<Hasher>,
}

#[pymethods]
impl Digester {
    #[new]
    #[pyo3(signature = (algorithm="sha256"))]
    fn new(algorithm: &str) -> PyResult<Self> {
        let algorithm = parsed(algorithm)?;
        Ok(Self { algorithm, hasher: Some(Hasher::new(algorithm)) })
    }

    /// Name of the algorithm.
    #[getter]
    fn name(&self) -> &'static str {
        self.algorithm.name()
    }

    /// Takes the next bytes.
    fn update(&mut self, py: Python<'_>, bytes: &Bound<'_, PyBytes>) -> PyResult<()> {
        let hasher = self.hasher.as_mut().ok_or_else(|| PyRuntimeError::new_err("the digest is finished"))?;
        let bytes = bytes.as_bytes();
        py.detach(|| hasher.update(bytes));
        Ok(())
    }

    /// The digest of all bytes in hexadecimal; nothing can follow.
    fn hexdigest(&mut self) -> PyResult<String> {
        let hasher = self.hasher.take().ok_or_else(|| PyRuntimeError::new_err("the digest is finished"))?;
        Ok(hasher.finish().to_string())
    }
}

/// The lines of `source` that match a pattern, or one of several.
#[pyfunction]
#[pyo3(signature = (source_, patterns, *, fixed=false, ignore_case=false, word=false, whole_line=false, invert=false, max_count=None, memory=None, threads=None))]
#[allow(clippy::too_many_arguments, clippy::fn_params_excessive_bools)]
pub(crate) fn grep(
    py: Python<'_>,
    source_: &Bound<'_, PyAny>,
    patterns: Vec<String>,
    fixed: bool,
    ignore_case: bool,
    word: bool,
    whole_line: bool,
    invert: bool,
    max_count: Option<u64>,
    memory: Option<&Bound<'_, PyAny>>,
    threads: Option<usize>,
) -> PyResult<LineMatches> {
    let search = LineSearch { patterns, fixed, ignore_case, word, whole_line, invert, lines_max: max_count };
    let running = rorqual_embed::matches(source(source_)?, &search, resources(memory, threads)?).or_raise(py)?;
    Ok(LineMatches { running: Detached::new(running), lines: VecDeque::new() })
}

/// Lines that match, one after another: number, offset, bytes.
#[pyclass(module = "rorqual", name = "Matches")]
pub(crate) struct LineMatches {
    running: Detached<Running<Vec<MatchedLine>>>,
    lines: VecDeque<MatchedLine>,
}

#[pymethods]
impl LineMatches {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<(u64, u64, Bound<'py, PyBytes>)>> {
        while self.lines.is_empty() {
            let Some(lines) = self.running.with(|running| next(py, running))?.flatten() else { return Ok(None) };
            self.lines = lines.into();
        }
        let line = self.lines.pop_front();
        Ok(line.map(|line| (line.number, line.offset, PyBytes::new(py, &line.bytes))))
    }

    /// Ends the search.
    fn close(&mut self) {
        self.running.close();
        self.lines.clear();
    }
}

/// The report of access logs, as JSON.
#[pyfunction]
#[pyo3(signature = (source_, *, format=None, filter=None, since=None, until=None, top=10, memory=None, threads=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn report(
    py: Python<'_>,
    source_: &Bound<'_, PyAny>,
    format: Option<String>,
    filter: Option<String>,
    since: Option<i64>,
    until: Option<i64>,
    top: usize,
    memory: Option<&Bound<'_, PyAny>>,
    threads: Option<usize>,
) -> PyResult<String> {
    let request = ReportRequest { sources: sources(source_)?, format, filter, since_us: since, until_us: until, top };
    let running = rorqual_embed::report(request, resources(memory, threads)?).or_raise(py)?;
    result(py, running)
}

/// Downloads a file; `progress` is called with the bytes so far and the size, where it is known.
#[pyfunction]
#[pyo3(signature = (url, path, *, sha256=None, blake3=None, headers=None, replace=false, parallel=None, retries=None, timeout=None, progress=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fetch<'py>(
    py: Python<'py>,
    url: String,
    path: PathBuf,
    sha256: Option<String>,
    blake3: Option<String>,
    headers: Option<Vec<(String, String)>>,
    replace: bool,
    parallel: Option<usize>,
    retries: Option<u32>,
    timeout: Option<f64>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let time_max = timeout.map(Duration::try_from_secs_f64).transpose();
    let time_max = time_max.map_err(|error| PyValueError::new_err(format!("timeout: {error}")))?;
    let headers = headers.unwrap_or_default();
    let wanted = Download { url, path, replace, sha256, blake3, headers, parallel, retries, time_max };
    let running = rorqual_embed::download(wanted).or_raise(py)?;
    let (mut size, mut running) = (None, Detached::new(running));
    let done = running.with(|running| {
        loop {
            let step = py.detach(|| running.wait(PROGRESS_EVERY));
            py.check_signals()?;
            if let Some(progress) = progress {
                progress.call1((running.control().stored_bytes(), size))?;
            }
            match step {
                Poll::Pending => {}
                Poll::Ready(Some(Ok(DownloadStep::Event(FetchEvent::Started { size_bytes, .. })))) => size = size_bytes,
                Poll::Ready(Some(Ok(DownloadStep::Event(_)))) => {}
                Poll::Ready(Some(Ok(DownloadStep::Done(done)))) => return Ok(done),
                Poll::Ready(Some(Err(failure))) => return Err(failure).or_raise(py),
                Poll::Ready(None) => return Err(crate::failures::no_result()),
            }
        }
    })?;
    let done = done.ok_or_else(crate::failures::no_result)?;
    let fetched = PyDict::new(py);
    fetched.set_item("url", done.url)?;
    fetched.set_item("size_bytes", done.size_bytes)?;
    fetched.set_item("resumed_bytes", done.resumed_bytes)?;
    fetched.set_item("is_whole", done.is_whole)?;
    for digest in done.digests {
        fetched.set_item(digest.algorithm().name(), digest.to_string())?;
    }
    Ok(fetched)
}
