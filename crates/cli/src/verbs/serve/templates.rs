//! Templates of `serve --templates`.

use crate::args::{Common, LogStyle, ProcessArgs, RowsArgs, ServeArgs};
use crate::exit::ExitStatus;
use crate::message::{self, escaped_line};
use crate::verbs::render::{RowSource, context, file_parsed_bytes, rendered_bytes};
use rorqual_pipe::{Control, Error as ReadError, ErrorClass};
use rorqual_render::limits::{PARSED_BYTES_PER_BYTE, TEMPLATES_BYTES_MAX};
use rorqual_render::{LoopBody, RenderError, RowBatch, Sink, Source, Templates};
use rorqual_serve::Rendering;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Part of the memory for renderings that read rows at a time, each [`ROWS_BYTES`].
const READERS_SHARE: u64 = 5;

/// Pause between two looks at the reader of a rendering that waits for a slot.
const STOP_CHECK: Duration = Duration::from_millis(20);

/// Memory of one of them for reading rows, by one thread.
const ROWS_BYTES: u64 = 48 << 20;

/// Memory of the variables of a file: its text is a 256th of it.
const DATA_BYTES: u64 = 256 << 20;

/// The templates, their input, and its memory.
pub(super) fn rendering(common: &Common, args: &ServeArgs, memory_bytes: u64) -> Result<Option<Rendering>, String> {
    let Some(folder) = &args.templates else { return Ok(None) };
    let templates = Templates::in_folder(folder, false).map_err(|error| error.to_string())?;
    if args.template_data.as_deref() == Some(Path::new("-")) {
        return Err("--template-data -: a server has no standard input to read; name a file".to_owned());
    }
    let context = context(args.template_data.as_deref(), &[], DATA_BYTES)?;
    let variables_bytes = args.template_data.as_deref().map_or(0, file_parsed_bytes);
    let readers_max = (memory_bytes / READERS_SHARE / ROWS_BYTES).max(1);
    let rows = args.template_rows.as_deref().map(|path| served_rows(common, path, readers_max)).transpose()?;
    Ok(Some(Rendering {
        templates,
        context,
        given_bytes: TEMPLATES_BYTES_MAX as u64 * PARSED_BYTES_PER_BYTE + variables_bytes,
        rows_bytes: if rows.is_some() { readers_max * ROWS_BYTES } else { 0 },
        rows,
        places: args.renders.into(),
        exceeded: |name| {
            message::error(&escaped_line(&format!(
                "rendering {name} needs more than --memory and can't be stopped: it builds a value that large"
            )));
            std::process::exit(ExitStatus::Bad.code().into());
        },
        failed: match args.service.log_format {
            LogStyle::Text => |name, why| message::note(&escaped_line(&format!("rendering {name} failed: {why}"))),
            LogStyle::Json => {
                |name, why| tracing::warn!(template = name, why = escaped_line(&why.to_string()), "a rendering failed")
            }
        },
    }))
}

fn served_rows(common: &Common, path: &Path, readers_max: u64) -> Result<Arc<dyn Source>, String> {
    if !path.is_file() {
        return Err(format!(
            "--template-rows {}: is not a regular file, and rows are read again for each rendering",
            path.display()
        ));
    }
    let common = Common {
        process: ProcessArgs { memory: Some(ROWS_BYTES), threads: Some(1), stats: common.process.stats },
        ..common.clone()
    };
    let readers = Readers { most: readers_max as usize, reading: Mutex::default(), left: Condvar::new() };
    let rows = ServedRows { common, path: path.to_owned(), readers: Arc::new(readers) };
    // A file that can't be read is told at the start.
    rows.look()?;
    Ok(Arc::new(rows))
}

/// Rows that each rendering reads for itself, so that a slow reader holds up no other.
#[derive(Debug)]
struct ServedRows {
    common: Common,
    path: PathBuf,
    readers: Arc<Readers>,
}

impl ServedRows {
    fn look(&self) -> Result<RowSource, String> {
        let args = RowsArgs {
            rows: Some(self.path.clone()),
            sql: None,
            rows_path: None,
            from: None,
            format: None,
            header: None,
            record_max: None,
        };
        RowSource::open(&self.common, &args, ROWS_BYTES, |_, threads| rendered_bytes(threads))
    }
}

impl Source for ServedRows {
    fn open(&self, control: &Control) -> Result<Box<dyn rorqual_render::RowSequence>, RenderError> {
        let failed = |kind, said: &str| RenderError::Rows(ReadError::new(kind, self.path.display().to_string(), said));
        let place = ReaderSlot::take(&self.readers, control).map_err(|(kind, said)| failed(kind, said))?;
        let rows = self.look().map_err(|said| failed(ErrorClass::Io, &said))?;
        Ok(Box::new(ServedReader { rows: rows.open(control)?, _place: place }))
    }
}

/// Readers of rows: the controls of their renderings, one for each slot that is taken.
#[derive(Debug)]
struct Readers {
    most: usize,
    reading: Mutex<Vec<Control>>,
    left: Condvar,
}

impl Readers {
    fn lock(&self) -> MutexGuard<'_, Vec<Control>> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reader's place, until dropped.
struct ReaderSlot {
    readers: Arc<Readers>,
    control: Control,
}

impl ReaderSlot {
    /// Waits for a place until the rendering is stopped. A rendering that has one already does not
    /// wait, but fails: all that have one may want another.
    fn take(readers: &Arc<Readers>, control: &Control) -> Result<Self, (ErrorClass, &'static str)> {
        let mut reading = readers.lock();
        while reading.len() >= readers.most {
            if control.stopped() {
                return Err((ErrorClass::Stopped, "stopped"));
            }
            if reading.iter().any(|other| other.is_same(control)) {
                return Err((
                    ErrorClass::Limit,
                    "a loop over rows in another needs a place of its own, and all are taken; come again",
                ));
            }
            reading = readers.left.wait_timeout(reading, STOP_CHECK).unwrap_or_else(PoisonError::into_inner).0;
        }
        reading.push(control.clone());
        Ok(Self { readers: Arc::clone(readers), control: control.clone() })
    }
}

impl Drop for ReaderSlot {
    fn drop(&mut self) {
        let mut reading = self.readers.lock();
        if let Some(place) = reading.iter().position(|other| other.is_same(&self.control)) {
            reading.swap_remove(place);
        }
        self.readers.left.notify_one();
    }
}

struct ServedReader {
    rows: Box<dyn rorqual_render::RowSequence>,
    _place: ReaderSlot,
}

impl rorqual_render::RowSequence for ServedReader {
    fn next(&mut self) -> Result<Option<Arc<dyn RowBatch>>, RenderError> {
        self.rows.next()
    }

    fn render(&mut self, body: &dyn LoopBody, sink: &mut dyn Sink) -> Result<u64, RenderError> {
        self.rows.render(body, sink)
    }
}
