//! Templates.

use crate::failures::{OrRaise, raised};
use crate::rows::RowBatches;
use crate::waiting::{Detached, next};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rorqual_embed::{OperationFailure, PageRequest, Running};
use std::path::PathBuf;

/// The output of a template in pieces. `variables` are JSON.
#[pyfunction]
#[pyo3(signature = (name, text, folder, variables, rows=None, *, lenient=false))]
pub(crate) fn render(
    py: Python<'_>,
    name: String,
    text: Option<String>,
    folder: Option<PathBuf>,
    variables: &str,
    rows: Option<Bound<'_, RowBatches>>,
    lenient: bool,
) -> PyResult<Pieces> {
    let variables = serde_json::from_str(variables)
        .map_err(|error| raised(py, &OperationFailure::argument(format!("the variables are no JSON: {error}"))))?;
    let rows = rows.map(|rows| rows.borrow_mut().take_batches()).transpose()?;
    let request = PageRequest { folder, name, text, variables, rows, is_lenient: lenient };
    let running = rorqual_embed::page(request).or_raise(py)?;
    Ok(Pieces(Detached::new(running)))
}

/// Pieces of an output.
#[pyclass(module = "rorqual")]
pub(crate) struct Pieces(Detached<Running<Vec<u8>>>);

#[pymethods]
impl Pieces {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let piece = self.0.with(|running| next(py, running))?.flatten();
        Ok(piece.map(|piece| PyBytes::new(py, &piece)))
    }

    /// Ends the rendering.
    fn close(&mut self) {
        self.0.close();
    }
}
