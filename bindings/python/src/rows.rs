//! Rows as Arrow streams.

use crate::failures::raised;
use crate::sources::{resources, sources};
use crate::waiting::{Detached, result};
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::{PyRuntimeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use rorqual_accesslog::format::LogFormat;
use rorqual_columnar::{Batches, FormatHints, FormatKind, SummaryHandle, ValueRules, json};
use rorqual_embed::{OperationFailure, RowsRequest};
use rorqual_pipe::Control;
use std::ffi::CString;
use std::task::Poll;
use std::time::Duration;

/// Signals are looked for so often.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

/// The rows of `source`, as the wrappers of the package ask for them.
#[pyfunction]
#[pyo3(signature = (source, kind, options, *, columns=None, filter=None, since=None, until=None, memory=None, threads=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn scan(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    kind: &str,
    options: &Bound<'_, PyDict>,
    columns: Option<Vec<String>>,
    filter: Option<String>,
    since: Option<i64>,
    until: Option<i64>,
    memory: Option<&Bound<'_, PyAny>>,
    threads: Option<usize>,
) -> PyResult<RowBatches> {
    let option = |name: &str| options.get_item(name).map(|value| value.filter(|value| !value.is_none()));
    let request = RowsRequest {
        sources: sources(source)?,
        hints: hints(kind, options)?,
        columns,
        filter,
        since_us: since,
        until_us: until,
        record_bytes_max: option("record_max")?.map(|value| value.extract()).transpose()?,
        infer_all: option("infer_all")?.is_some_and(|value| value.is_truthy().unwrap_or_default()),
        skip_bad: option("skip_bad")?.map(|value| value.extract()).transpose()?,
        control: Control::default(),
    };
    let resources = resources(memory, threads)?;
    let batches = result(py, rorqual_embed::rows_later(request, resources))?;
    let (schema, summary) = (SchemaRef::clone(batches.schema()), batches.summary().clone());
    Ok(RowBatches { schema, summary, stream: Some(BatchStream { batches: Detached::new(batches), is_over: false }) })
}

fn hints(kind: &str, options: &Bound<'_, PyDict>) -> PyResult<FormatHints> {
    let text = |name: &str| -> PyResult<Option<String>> {
        let value = options.get_item(name)?.filter(|value| !value.is_none());
        value.map(|value| value.extract()).transpose()
    };
    let wrong = |name: &str, error: &dyn std::fmt::Display| PyValueError::new_err(format!("{name}: {error}"));
    let log = text("format")?.map(|format| LogFormat::parse(&format).map_err(|error| wrong("format", &error))).transpose()?;
    let rows = text("rows")?.map(|path| json::parse_rows(&path).map_err(|error| wrong("rows", &error))).transpose()?;
    let delimiter = match text("delimiter")? {
        None => None,
        Some(one) if one.len() == 1 && !matches!(&*one, "\"" | "\n" | "\r") => one.bytes().next(),
        Some(other) => return Err(wrong("delimiter", &format!("{other:?} is not one ASCII character"))),
    };
    let flag = |name: &str| -> PyResult<Option<bool>> {
        let value = options.get_item(name)?.filter(|value| !value.is_none());
        value.map(|value| value.extract()).transpose()
    };
    let nulls = options.get_item("nulls")?.filter(|value| !value.is_none());
    let rules = ValueRules {
        exact_numbers: flag("exact_numbers")?.unwrap_or_default(),
        nulls: nulls.map(|value| value.extract()).transpose()?.unwrap_or_default(),
    };
    let kind = match kind {
        "log" => Some(FormatKind::Log),
        "json" => Some(FormatKind::Json),
        "csv" => Some(FormatKind::Csv),
        other => return Err(PyValueError::new_err(format!("no kind of rows: {other}"))),
    };
    let kind = if text("layout")?.as_deref() == Some("lines") { Some(FormatKind::Ndjson) } else { kind };
    Ok(FormatHints { kind, rows, log, delimiter, header: flag("header")?, rules, ..FormatHints::default() })
}

/// Rows on their way. Any library that takes Arrow streams takes them, once.
#[pyclass(module = "rorqual", name = "Rows")]
pub(crate) struct RowBatches {
    schema: SchemaRef,
    summary: SummaryHandle,
    stream: Option<BatchStream>,
}

#[pymethods]
impl RowBatches {
    /// The rows as a capsule of the Arrow C stream interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &mut self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may leave a wish of its taker aside.
        drop(requested_schema);
        let stream = self.stream.take().ok_or_else(taken)?;
        let reader = StreamReader { schema: SchemaRef::clone(&self.schema), summary: self.summary.clone(), stream };
        PyCapsule::new(py, FFI_ArrowArrayStream::new(Box::new(reader)), Some(capsule_name("arrow_array_stream")))
    }

    /// The columns.
    #[getter]
    fn schema(&self) -> RowsSchema {
        RowsSchema(SchemaRef::clone(&self.schema))
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Sentences about all that was left out or mended so far.
    fn notes(&self) -> Vec<String> {
        self.summary.get().told()
    }

    /// Counts of the rows so far, and of the records left out.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (counts, summary) = (PyDict::new(py), self.summary.get());
        counts.set_item("rows", summary.rows)?;
        counts.set_item("rejected", summary.bad.count())?;
        counts.set_item("outside", summary.outside)?;
        counts.set_item("filtered", summary.filtered)?;
        Ok(counts)
    }

    /// Ends the reading.
    fn close(&mut self) {
        self.stream = None;
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<SingleBatch>> {
        let stream = self.stream.as_mut().ok_or_else(taken)?;
        Ok(stream.next(py, &self.summary)?.map(SingleBatch))
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&mut self, _exception: &Bound<'_, PyAny>) {
        self.close();
    }
}

fn taken() -> PyErr {
    PyRuntimeError::new_err("these rows were taken or closed: rows are read once")
}

/// A name that has no NUL.
fn capsule_name(name: &str) -> CString {
    CString::new(name).unwrap_or_default()
}

/// Batches, whose end waits for threads that may read from objects of Python.
struct BatchStream {
    batches: Detached<Batches>,
    is_over: bool,
}

impl BatchStream {
    /// The next batch. At the end, a warning says what was left out.
    fn next(&mut self, py: Python<'_>, summary: &SummaryHandle) -> PyResult<Option<RecordBatch>> {
        if self.is_over {
            return Ok(None);
        }
        let next = self.batches.with(|batches| {
            loop {
                match py.detach(|| batches.wait(SIGNALS_EVERY)) {
                    Poll::Ready(batch) => {
                        return batch.transpose().map_err(|error| raised(py, &OperationFailure::from(error)));
                    }
                    Poll::Pending => py.check_signals()?,
                }
            }
        });
        let next = next.map(Option::flatten);
        if !matches!(next, Ok(Some(_))) {
            self.is_over = true;
            self.batches.close();
            tell(py, summary)?;
        }
        next
    }
}

/// Warns of all that was left out or mended.
fn tell(py: Python<'_>, summary: &SummaryHandle) -> PyResult<()> {
    for note in summary.get().told() {
        let text = capsule_name(&note.replace('\0', "\u{fffd}"));
        let category = py.import("rorqual.errors").and_then(|errors| errors.getattr("RowsWarning"));
        let category = category.unwrap_or_else(|_| py.get_type::<PyUserWarning>().into_any());
        PyErr::warn(py, &category, &text, 1)?;
    }
    Ok(())
}

/// The stream as other libraries pull it, on any thread.
struct StreamReader {
    schema: SchemaRef,
    summary: SummaryHandle,
    stream: BatchStream,
}

impl Iterator for StreamReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (stream, summary) = (&mut self.stream, &self.summary);
        let next = Python::try_attach(|py| stream.next(py, summary).map_err(|error| told(py, &error)));
        next.unwrap_or_else(|| Err(ArrowError::ComputeError("the interpreter is gone".to_owned()))).transpose()
    }
}

/// An exception as the text that the taker of a stream gets. Ctrl-C is raised once more, where
/// Python sees it.
fn told(py: Python<'_>, error: &PyErr) -> ArrowError {
    if error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) {
        let again = py.import("_thread").and_then(|thread| thread.call_method0("interrupt_main"));
        debug_assert!(again.is_ok(), "there is always a main thread");
    }
    ArrowError::ExternalError(error.value(py).to_string().into())
}

impl RecordBatchReader for StreamReader {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

/// One batch of rows.
#[pyclass(module = "rorqual", name = "Batch", frozen)]
pub(crate) struct SingleBatch(RecordBatch);

#[pymethods]
impl SingleBatch {
    /// The rows as capsules of the Arrow C data interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema);
        let rows = StructArray::from(self.0.clone());
        let (array, _): (FFI_ArrowArray, FFI_ArrowSchema) = to_ffi(&rows.to_data()).map_err(|error| unexported(&error))?;
        let schema = schema_capsule(py, self.0.schema_ref())?;
        Ok((schema, PyCapsule::new(py, array, Some(capsule_name("arrow_array")))?))
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }
}

/// Columns of rows.
#[pyclass(module = "rorqual", name = "Schema", frozen)]
pub(crate) struct RowsSchema(SchemaRef);

#[pymethods]
impl RowsSchema {
    /// The columns as a capsule of the Arrow C data interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0)
    }

    fn __repr__(&self) -> String {
        let columns = self.0.fields().iter().map(|field| format!("{}: {}", field.name(), field.data_type()));
        format!("Schema({})", columns.collect::<Vec<_>>().join(", "))
    }
}

fn schema_capsule<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(&**schema).map_err(|error| unexported(&error))?;
    PyCapsule::new(py, schema, Some(capsule_name("arrow_schema")))
}

fn unexported(error: &ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

impl RowBatches {
    /// The batches, for another operation of this library.
    pub(crate) fn take_batches(&mut self) -> PyResult<Batches> {
        let mut stream = self.stream.take().ok_or_else(taken)?;
        stream.batches.take().ok_or_else(taken)
    }
}
