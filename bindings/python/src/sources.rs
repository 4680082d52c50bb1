//! Paths and file objects as sources of bytes.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use rorqual_embed::{DataSource, Resources};
use std::io::{self, Read};
use std::path::PathBuf;

/// A path, or an object with `read(size)` that gives bytes.
pub(crate) fn source(object: &Bound<'_, PyAny>) -> PyResult<DataSource> {
    if let Ok(path) = object.extract::<PathBuf>() {
        return Ok(DataSource::Path(path));
    }
    if !object.hasattr("read")? {
        let kind = object.get_type().name()?;
        return Err(PyTypeError::new_err(format!("a path or an object with read(size) is asked for, and not {kind}")));
    }
    let name = object.getattr("name").ok().and_then(|name| name.extract::<String>().ok());
    let name = name.unwrap_or_else(|| "file object".to_owned());
    let read = object.getattr("read")?.unbind();
    Ok(DataSource::Reader(name, Box::new(ObjectReader { read: Some(read), rest: Vec::new(), at: 0 })))
}

/// One source, or a list of them.
pub(crate) fn sources(object: &Bound<'_, PyAny>) -> PyResult<Vec<DataSource>> {
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        return object.try_iter()?.map(|item| source(&item?)).collect();
    }
    Ok(vec![source(object)?])
}

/// Memory and threads as they are given.
pub(crate) fn resources(memory: Option<&Bound<'_, PyAny>>, threads: Option<usize>) -> PyResult<Resources> {
    let default = Resources::default();
    let memory_bytes = match memory {
        None => default.memory_bytes,
        Some(memory) => match memory.extract::<u64>() {
            Ok(bytes) => bytes,
            Err(_) => size(&memory.extract::<String>()?)?,
        },
    };
    Ok(Resources { memory_bytes, threads })
}

/// A size as `"256MiB"`.
pub(crate) fn size(text: &str) -> PyResult<u64> {
    rorqual_pipe::parse_size(text).map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))
}

/// Reads from an object of Python.
struct ObjectReader {
    read: Option<Py<PyAny>>,
    /// Bytes that it gave and nobody has taken, as an object may give more than it was asked for.
    rest: Vec<u8>,
    at: usize,
}

impl Read for ObjectReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.rest.len() {
            self.fill(buffer.len())?;
        }
        let length = (self.rest.len() - self.at).min(buffer.len());
        buffer[..length].copy_from_slice(&self.rest[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

impl ObjectReader {
    fn fill(&mut self, bytes: usize) -> io::Result<()> {
        let read = self.read.as_ref();
        let filled = Python::try_attach(|py| -> PyResult<Vec<u8>> {
            let Some(read) = read else { return Ok(Vec::new()) };
            let given = read.bind(py).call1((bytes,))?;
            match given.cast::<PyBytes>() {
                Ok(given) => Ok(given.as_bytes().to_vec()),
                Err(_) => given
                    .extract::<Vec<u8>>()
                    .map_err(|_| PyTypeError::new_err("read(size) gave no bytes: is the file open in text mode?")),
            }
        });
        let filled = filled.ok_or_else(|| io::Error::other("the interpreter is gone"))?;
        self.rest = filled.map_err(|error| io::Error::other(error.to_string()))?;
        self.at = 0;
        Ok(())
    }
}

impl Drop for ObjectReader {
    fn drop(&mut self) {
        let read = self.read.take();
        // The count of references is the interpreter's.
        let dropped = Python::try_attach(|_| drop(read));
        debug_assert!(dropped.is_some() || self.read.is_none(), "an object is left to the end of the process");
    }
}
