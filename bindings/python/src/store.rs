//! The store.

use crate::failures::OrRaise;
use crate::sources::{size, source};
use crate::waiting::result;
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rorqual_embed::{EntryStore, OperationFailure};
use rorqual_store::EntryReader;
use std::path::PathBuf;
use std::time::Duration;

/// Files by content, of bounded size; leases and open entries stay.
#[pyclass(module = "rorqual", name = "Store", frozen)]
pub(crate) struct ContentStore(EntryStore);

#[pymethods]
impl ContentStore {
    #[new]
    #[pyo3(signature = (dir, *, max_bytes=None))]
    fn new(py: Python<'_>, dir: PathBuf, max_bytes: Option<Bound<'_, PyAny>>) -> PyResult<Self> {
        let bytes_max = match max_bytes {
            None => None,
            Some(bytes) => Some(bytes.extract::<u64>().or_else(|_| size(&bytes.extract::<String>()?))?),
        };
        Ok(Self(py.detach(|| EntryStore::open(dir, bytes_max)).or_raise(py)?))
    }

    /// Takes a path or a file object in, and returns its digest, size, and whether it is new.
    #[pyo3(signature = (source_, *, name=None))]
    fn put<'py>(&self, py: Python<'py>, source_: &Bound<'py, PyAny>, name: Option<String>) -> PyResult<Bound<'py, PyDict>> {
        let stored = result(py, self.0.put(source(source_)?, name))?;
        let entry = PyDict::new(py);
        entry.set_item("digest", stored.digest.to_string())?;
        entry.set_item("bytes", stored.bytes)?;
        entry.set_item("new", stored.new)?;
        entry.set_item("evicted", stored.evicted.entries)?;
        Ok(entry)
    }

    /// An entry, which stays while it is open.
    fn get(&self, py: Python<'_>, key: &str) -> PyResult<StoredEntry> {
        let reader = self.with(py, |store| store.get(key))?.ok_or_else(|| missing(key))?;
        let path = self.0.path(&reader.digest);
        Ok(StoredEntry { path, digest: reader.digest.to_string(), bytes: reader.bytes, reader: Some(reader) })
    }

    /// Takes a lease on an entry for so many seconds, and returns its id.
    #[pyo3(signature = (key, seconds, *, holder="python"))]
    fn lease(&self, py: Python<'_>, key: &str, seconds: f64, holder: &str) -> PyResult<String> {
        let ttl = Duration::try_from_secs_f64(seconds).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        Ok(self.with(py, |store| store.lease(key, ttl, holder))?.ok_or_else(|| missing(key))?.id)
    }

    /// Ends a lease; false where there is none.
    fn release(&self, py: Python<'_>, lease: &str) -> PyResult<bool> {
        self.with(py, |store| store.release(lease))
    }

    /// Removes an entry; false where there is none, or somebody holds it.
    fn remove(&self, py: Python<'_>, key: &str) -> PyResult<bool> {
        self.with(py, |store| store.remove(key))
    }

    fn __contains__(&self, py: Python<'_>, key: &str) -> PyResult<bool> {
        Ok(self.with(py, |store| store.entry(key))?.is_some())
    }

    /// Totals of the store.
    fn usage<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (totals, usage) = (PyDict::new(py), self.with(py, EntryStore::usage)?);
        for (name, value) in [
            ("entries", usage.entries),
            ("bytes", usage.bytes),
            ("bytes_max", usage.bytes_max),
            ("leases", usage.leases),
            ("names", usage.names),
        ] {
            totals.set_item(name, value)?;
        }
        Ok(totals)
    }
}

impl ContentStore {
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&EntryStore) -> Result<T, OperationFailure> + Send) -> PyResult<T> {
        py.detach(|| work(&self.0)).or_raise(py)
    }
}

fn missing(key: &str) -> PyErr {
    PyKeyError::new_err(key.to_owned())
}

/// An open entry of a store.
#[pyclass(module = "rorqual", name = "Entry")]
pub(crate) struct StoredEntry {
    /// The path of its file, which is never changed.
    #[pyo3(get)]
    path: PathBuf,
    /// Its digest.
    #[pyo3(get)]
    digest: String,
    /// Its length.
    #[pyo3(get)]
    bytes: u64,
    reader: Option<EntryReader>,
}

#[pymethods]
impl StoredEntry {
    /// Lets go of it.
    fn close(&mut self) {
        self.reader = None;
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&mut self, _exception: &Bound<'_, PyAny>) {
        self.close();
    }
}
