//! Templates.

use crate::failure::OperationFailure;
use crate::running::{Give, RunningOperation};
use rorqual_columnar::Batches;
use rorqual_columnar::render::RenderColumns;
use rorqual_pipe::{Control, Error, ErrorClass};
use rorqual_render::{PageInput, RenderError, RowBatch, RowSequence, Sink, Source, Templates, value_of};
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
pub fn page(request: PageRequest) -> Result<RunningOperation<Vec<u8>>, OperationFailure> {
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
    Ok(RunningOperation::start(&control, move |give| {
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
        let failed = |error| RenderError::Rows(Error::new(ErrorClass::Corrupt, "rows", format!("{error}")));
        Ok(Some(Arc::new(RenderColumns::new(&batch.map_err(RenderError::Rows)?).map_err(failed)?)))
    }
}
