//! Failures as exceptions.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rorqual_embed::OperationFailure;

/// The exception of a failure: one of `rorqual.errors`.
pub(crate) fn raised(py: Python<'_>, failure: &OperationFailure) -> PyErr {
    exception(py, failure).map_or_else(|error| error, |exception| PyErr::from_value(exception))
}

fn exception<'py>(py: Python<'py>, failure: &OperationFailure) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    fields.set_item("name", &failure.name)?;
    fields.set_item("offset", failure.offset)?;
    fields.set_item("needed_bytes", failure.needed_bytes)?;
    let errors = py.import("rorqual.errors")?;
    errors.call_method("of_failure", (failure.kind, &failure.message), Some(&fields))
}

/// A failure as an exception, where there is no interpreter at hand.
pub(crate) trait OrRaise<T> {
    /// The value, or the exception of its failure.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for Result<T, OperationFailure> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|failure| raised(py, &failure))
    }
}

/// An operation that ended without its result.
pub(crate) fn no_result() -> PyErr {
    PyRuntimeError::new_err("the operation ended without a result")
}
