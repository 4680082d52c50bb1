//! Templates.

use crate::failure::OperationFailure;
use crate::running::{Give, Running};
use arrow_array::RecordBatch;
use rorqual_columnar::Batches;
use rorqual_columnar::render::{RenderCell, RenderColumns};
use rorqual_pipe::{Control, Error, ErrorClass};
use rorqual_render::{PageInput, RenderError, RowBatch, RowCell, RowSequence, Sink, Source, Templates, Value, value_of};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Output is handed over in pieces of about this size.
const PIECE_BYTES: usize = 64 << 10;

/// A template to render.
#[derive(Debug)]
pub struct PageRequest {
    /// The folder of the template and of those that it includes; the template's text is given if
    /// there is none.
    pub folder: Option<PathBuf>,
    /// Its name, whose extension says how values are escaped.
    pub name: String,
    /// Its text, where there is no folder.
    pub text: Option<String>,
    /// Its variables.
    pub variables: serde_json::Value,
    /// Its `rows`, which are read once.
    pub rows: Option<Batches>,
    /// A name without a value is empty, and no error.
    pub is_lenient: bool,
}

/// The pieces of a template's output, in order.
///
/// # Errors
/// When it is no template.
pub fn page(request: PageRequest) -> Result<Running<Vec<u8>>, OperationFailure> {
    let mut templates = match &request.folder {
        Some(folder) => Templates::in_folder(folder, request.is_lenient)?,
        None => Templates::new(request.is_lenient),
    };
    if let Some(text) = &request.text {
        templates.add(&request.name, text)?;
    }
    let control = Control::default();
    let rows = request.rows.map(|batches| Arc::new(BatchRows(Mutex::new(Some(batches)))) as Arc<dyn Source>);
    let page = PageInput { context: value_of(&request.variables), rows, control: control.clone() };
    Ok(Running::start(&control, move |give| {
        let mut sink = PieceSink { give, piece: Vec::new() };
        templates.render(&request.name, &page, &mut sink)?;
        sink.flush().map_err(|error| RenderError::Write(error).into())
    }))
}

/// Gathers output, and hands it over.
struct PieceSink<'a> {
    give: Give<'a, Vec<u8>>,
    piece: Vec<u8>,
}

impl Sink for PieceSink<'_> {
    fn copy(&mut self, piece: &[u8]) -> io::Result<()> {
        self.piece.extend_from_slice(piece);
        if self.piece.len() < PIECE_BYTES { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        (self.give)(std::mem::take(&mut self.piece)).map_err(gone)
    }
}

/// Rows that can be read once.
#[derive(Debug)]
struct BatchRows(Mutex<Option<Batches>>);

impl Source for BatchRows {
    fn open(&self, _: &Control) -> Result<Box<dyn RowSequence>, RenderError> {
        let batches = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let again = || RenderError::Rows(Error::new(ErrorClass::Limit, "rows", "can be read once"));
        Ok(Box::new(BatchSequence(batches.ok_or_else(again)?)))
    }
}

struct BatchSequence(Batches);

impl RowSequence for BatchSequence {
    fn next(&mut self) -> Result<Option<Arc<dyn RowBatch>>, RenderError> {
        let Some(batch) = self.0.next() else { return Ok(None) };
        Ok(Some(Arc::new(PageRows::new(&batch.map_err(RenderError::Rows)?)?)))
    }
}

/// A batch as a template sees it.
struct PageRows(RenderColumns);

impl PageRows {
    fn new(batch: &RecordBatch) -> Result<Self, RenderError> {
        let failed = |error| RenderError::Rows(Error::new(ErrorClass::Corrupt, "rows", format!("{error}")));
        RenderColumns::new(batch).map(Self).map_err(failed)
    }
}

impl fmt::Debug for PageRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows", self.0.rows())
    }
}

impl RowBatch for PageRows {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn columns(&self) -> &[String] {
        self.0.names()
    }

    fn cell(&self, row: usize, column: usize) -> RowCell<'_> {
        match self.0.cell(row, column) {
            RenderCell::Text(text) => RowCell::Text(text),
            RenderCell::Int(number) => RowCell::Integer(number),
            RenderCell::UInt(number) => RowCell::Value(number.into()),
            RenderCell::Float(number) => RowCell::Value(number.into()),
            RenderCell::Bool(truth) => RowCell::Value(truth.into()),
            RenderCell::Null => RowCell::Value(().into()),
            RenderCell::Json(json) => RowCell::Value(of_json(&json)),
        }
    }

    fn other(&self, row: usize, name: &str) -> Option<Value> {
        self.0.other(row, name).map(|json| of_json(&json))
    }
}

/// JSON as a value; a number that none of ours can hold stays a text.
fn of_json(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap_or_else(|_| String::from_utf8_lossy(json).into_owned().into())
}
