//! The rows of a template, from any file that `convert` reads.

use super::output::RenderOutput;
use super::query::{self, TemplateQuery};
use crate::args::{Common, FromArgs, RowsArgs};
use crate::exit::ExitStatus;
use crate::rows::records::said_bad;
use crate::verbs::convert::{InputContent, KnownInput as Opened, columns_of, given, scan};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use rorqual_columnar::convert::SampleExtent;
use rorqual_columnar::read::{RowChoice as Wanted, TableFile};
use rorqual_columnar::render::RenderColumns;
use rorqual_columnar::{
    BadRecords, Decode, DecodedRecords, FormatHints, FormatKind, RecordFormat, ScanSettings, Unplaced, long_offset,
};
use rorqual_pipe::{Chunk, Control, Error as ReadError, ErrorClass, Input, Stage, beside, escaped_path};
use rorqual_render::limits::RENDERED_BYTES_MAX;
use rorqual_render::{LoopBody, RenderError, RowBatch, Sink, Source};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Batches that wait for the renderer.
const BATCHES_AHEAD: usize = 1;

/// Readings of the same rows at a time: those of a loop, and those of a loop in it. They share the
/// blocks.
const READINGS_MAX: usize = 2;

/// Source of rows.
pub(crate) struct RowSource {
    name: String,
    scan: ScanSettings,
    threads: usize,
    from: RowOrigin,
    /// Rows that were read so far.
    given: Arc<AtomicU64>,
    /// Records that are none, of the reading that met the most.
    bad: Arc<Mutex<BadRecords>>,
    readings: Arc<()>,
}

/// Counts of one reading.
struct ReadCounts {
    name: String,
    separators: &'static [u8],
    record_bytes_max: usize,
    given: Arc<AtomicU64>,
    bad: Mutex<BadRecords>,
    most_bad: Arc<Mutex<BadRecords>>,
}

enum RowOrigin {
    /// Columns.
    Table(Arc<TableFile>),
    /// Records that are decoded.
    Records { format: RecordFormat, schema: SchemaRef, input: Box<Mutex<Reread>> },
}

/// Way of reading records again.
enum Reread {
    /// The file is opened again.
    File(PathBuf),
    /// The query is asked again; the output of the first time, asked for its columns, is there for
    /// the first reading.
    Query(Option<Input>, Box<Common>, TemplateQuery),
    /// A stream, which is there once.
    Stream(Option<Input>),
}

impl fmt::Debug for RowSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rows of {}", self.name)
    }
}

impl RowSource {
    /// Looks at an input; its rows are rendered in the memory beside `own_bytes`.
    pub(crate) fn open(
        common: &Common,
        args: &RowsArgs,
        memory_bytes: u64,
        own_bytes: impl Fn(u64, usize) -> u64,
    ) -> Result<Self, String> {
        Self::open_for(common, args, None, memory_bytes, own_bytes)
    }

    /// The same for an output, which is none of the files of a query.
    pub(super) fn open_for(
        common: &Common,
        args: &RowsArgs,
        output: Option<&RenderOutput>,
        memory_bytes: u64,
        own_bytes: impl Fn(u64, usize) -> u64,
    ) -> Result<Self, String> {
        let from = FromArgs {
            from: args.from,
            rows: args.rows_path.clone(),
            format: args.format.clone(),
            header: args.header,
            record_max: args.record_max,
            ..FromArgs::default()
        };
        let (threads, scan) = scan(common, &from, args.rows.as_slice(), memory_bytes, own_bytes)?;
        let (name, from) = match (&args.rows, &args.sql) {
            (Some(path), _) => (escaped_path(path), of_file(path.clone(), &given(&from)?, &scan, threads, memory_bytes)?),
            (None, sql) => {
                let (path, splits) = output.map_or((None, false), RenderOutput::target);
                let query = TemplateQuery { sql: sql.clone().unwrap_or_default(), output: path.map(Path::to_owned), splits };
                ("--sql".to_owned(), of_query(common, query, &scan, threads)?)
            }
        };
        Ok(Self { name, scan, threads, from, given: Arc::default(), bad: Arc::default(), readings: Arc::default() })
    }

    pub(super) fn control(&self) -> Control {
        self.scan.control.clone()
    }

    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Rows that were read so far.
    pub(super) fn given(&self) -> u64 {
        self.given.load(Ordering::Relaxed)
    }

    /// Says which records were left out.
    pub(super) fn say_bad(&self) -> ExitStatus {
        match &self.from {
            RowOrigin::Table(_) => ExitStatus::Done,
            RowOrigin::Records { format, .. } => said_bad(&lock(&self.bad), format),
        }
    }

    fn counts(&self) -> Arc<ReadCounts> {
        let separators = if let RowOrigin::Records { format, .. } = &self.from { format.separators() } else { b"" };
        Arc::new(ReadCounts {
            name: self.name.clone(),
            separators,
            record_bytes_max: self.scan.record_bytes_max,
            given: Arc::clone(&self.given),
            bad: Mutex::default(),
            most_bad: Arc::clone(&self.bad),
        })
    }
}

/// The stored size of the file of rows.
pub(super) fn stored_bytes(args: &RowsArgs) -> Option<u64> {
    crate::input::stored_bytes(std::slice::from_ref(args.rows.as_ref()?))
}

fn of_file(
    path: PathBuf,
    given: &FormatHints,
    scan: &ScanSettings,
    threads: usize,
    memory_bytes: u64,
) -> Result<RowOrigin, String> {
    let mut opened = Opened::open(path.as_path().into(), given, scan, (memory_bytes, memory_bytes))?.say_guesses();
    let schema = columns_of(&mut opened, scan, threads, (SampleExtent::Prefix, false))?;
    Ok(match opened.content {
        InputContent::Table(table) => RowOrigin::Table(Arc::new(table)),
        InputContent::Records(format, None) => {
            RowOrigin::Records { format, schema, input: Box::new(Mutex::new(Reread::File(path))) }
        }
        InputContent::Records(format, stream) => {
            RowOrigin::Records { format, schema, input: Box::new(Mutex::new(Reread::Stream(stream))) }
        }
    })
}

fn of_query(common: &Common, query: TemplateQuery, scan: &ScanSettings, threads: usize) -> Result<RowOrigin, String> {
    let mut input = query::start(common, &query)?;
    let given = FormatHints { kind: Some(FormatKind::Ndjson), ..FormatHints::default() };
    let head = scan.head(&mut input, rorqual_columnar::limits::PREFIX_BYTES).map_err(|error| error.to_string())?;
    let format = RecordFormat::detect("--sql", &head, &given).map_err(|error| format!("--sql: {error}"))?.format;
    let mut opened =
        Opened { path: PathBuf::from("-"), name: None, content: InputContent::Records(format, Some(input)), notes: Vec::new() };
    let schema = columns_of(&mut opened, scan, threads, (SampleExtent::Prefix, false))?;
    let InputContent::Records(format, input) = opened.content else { return Err("--sql: has no rows".to_owned()) };
    let input = Box::new(Mutex::new(Reread::Query(input, Box::new(common.clone()), query)));
    Ok(RowOrigin::Records { format, schema, input })
}

impl Reread {
    fn input(&mut self, name: &str) -> Result<Input, RenderError> {
        let failed = |said: String| RenderError::Rows(ReadError::new(ErrorClass::Io, name, said));
        match self {
            Self::File(path) => crate::input::open(path).map(Input::into_utf8).map_err(RenderError::Rows),
            Self::Query(first, common, query) => match first.take() {
                Some(first) => Ok(first),
                None => query::start(common, query).map_err(failed),
            },
            Self::Stream(stream) => stream.take().ok_or_else(|| {
                failed("is read once, as it is a stream, and the template loops over rows again: give a file".to_owned())
            }),
        }
    }
}

impl Source for RowSource {
    fn open(&self, control: &Control) -> Result<Box<dyn rorqual_render::RowSequence>, RenderError> {
        let reading = Arc::clone(&self.readings);
        if Arc::strong_count(&reading) > 1 + READINGS_MAX {
            let said = "is looped over in a loop over it in a loop over it: two deep is the most";
            return Err(RenderError::Rows(ReadError::new(ErrorClass::Limit, &self.name, said)));
        }
        let counts = self.counts();
        Ok(match &self.from {
            RowOrigin::Table(table) => {
                Box::new(PulledBatches { batches: read_table(table), control: control.clone(), counts, _reading: Some(reading) })
            }
            RowOrigin::Records { format, schema, input } => Box::new(TemplateRecords {
                scan: ScanSettings { control: control.clone(), ..self.scan.clone() },
                threads: self.threads,
                format: format.clone(),
                schema: SchemaRef::clone(schema),
                input: Some(lock(input).input(&self.name)?),
                pulled: None,
                counts,
                _reading: reading,
            }),
        })
    }
}

type TemplateBatches = Box<dyn Iterator<Item = Result<RecordBatch, ReadError>> + Send>;

/// Decodes a file of columns on a thread beside the renderer.
fn read_table(table: &Arc<TableFile>) -> TemplateBatches {
    let table = Arc::clone(table);
    Box::new(beside(BATCHES_AHEAD, move |give| match table.batches(None, &Wanted::All) {
        Ok(mut batches) => while batches.next().is_some_and(|batch| give.send(batch).is_ok()) {},
        // Nobody may be there to hear it.
        Err(error) => drop(give.send(Err(error))),
    }))
}

/// Batches one after another.
struct PulledBatches {
    batches: TemplateBatches,
    control: Control,
    counts: Arc<ReadCounts>,
    /// Held as long as it reads, where nothing around it does.
    _reading: Option<Arc<()>>,
}

impl rorqual_render::RowSequence for PulledBatches {
    fn next(&mut self) -> Result<Option<Arc<dyn RowBatch>>, RenderError> {
        loop {
            let batch = self.batches.next().transpose().map_err(RenderError::Rows)?;
            if self.control.stopped() {
                return Err(stopped());
            }
            let Some(batch) = batch else { return Ok(None) };
            if batch.num_rows() > 0 {
                return self.counts.batch(&batch).map(Some).map_err(RenderError::Rows);
            }
        }
    }
}

impl ReadCounts {
    fn batch(&self, batch: &RecordBatch) -> Result<Arc<dyn RowBatch>, ReadError> {
        self.given.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
        let columns = RenderColumns::new(batch).map_err(|error| ReadError::new(ErrorClass::Corrupt, "", error.to_string()))?;
        Ok(Arc::new(columns))
    }

    /// Counts the bad records of a chunk, or of its decoded part. An over-long record is at its
    /// end.
    fn bad(&self, decoded: &DecodedRecords, chunk: &Chunk) {
        let long = long_offset(chunk, self.separators).filter(|_| decoded.rest.is_none());
        if decoded.bad.is_empty() && long.is_none() {
            return;
        }
        let mut bad = lock(&self.bad);
        decoded.bad.iter().for_each(|record| bad.add(&self.name, record));
        long.into_iter().for_each(|offset| bad.add_long(&self.name, offset, self.record_bytes_max));
        let mut most = lock(&self.most_bad);
        if bad.count() > most.count() {
            most.clone_from(&bad);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn stopped() -> RenderError {
    RenderError::Rows(ReadError::new(ErrorClass::Stopped, "", "stopped"))
}

/// Records on their way: decoded and rendered by all workers, or decoded by them for one renderer.
struct TemplateRecords {
    scan: ScanSettings,
    threads: usize,
    format: RecordFormat,
    schema: SchemaRef,
    input: Option<Input>,
    pulled: Option<PulledBatches>,
    counts: Arc<ReadCounts>,
    _reading: Arc<()>,
}

impl TemplateRecords {
    fn decoder(&self) -> Box<dyn Decode> {
        self.format.decoder(&self.schema, Unplaced::Keep, self.scan.record_bytes_max)
    }

    /// Starts to decode.
    fn pull(&self, input: Input) -> PulledBatches {
        let (scan, format, counts) = (self.scan.clone(), self.format.clone(), Arc::clone(&self.counts));
        let stages: Vec<RowDecoder> = (0..self.threads).map(|_| RowDecoder(self.decoder())).collect();
        let mut own = self.decoder();
        let batches = beside(BATCHES_AHEAD, move |give| {
            let enough = || ReadError::new(ErrorClass::Stopped, "", "enough was seen");
            let finish = scan.run(input, &format, stages, |(decoded, chunk): (DecodedRecords, Chunk)| {
                each_batch(decoded, &chunk, own.as_mut(), &counts, |batch| give.send(Ok(batch)).map_err(|_| enough()))
            });
            if let Some(error) = finish.error.filter(|error| error.kind() != ErrorClass::Stopped) {
                // Nobody may be there to hear it.
                drop(give.send(Err(error)));
            }
        });
        PulledBatches {
            batches: Box::new(batches),
            control: self.scan.control.clone(),
            counts: Arc::clone(&self.counts),
            _reading: None,
        }
    }
}

/// All batches of a chunk; the rest that is too much to be decoded at once is decoded by `own`.
fn each_batch(
    mut decoded: DecodedRecords,
    chunk: &Chunk,
    own: &mut dyn Decode,
    counts: &ReadCounts,
    mut take: impl FnMut(RecordBatch) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let mut start = 0;
    loop {
        counts.bad(&decoded, chunk);
        if decoded.misfit.is_some() {
            return Err(ReadError::new(ErrorClass::Corrupt, "", "was changed while it was read: its columns are others now"));
        }
        decoded.batches.into_iter().try_for_each(&mut take)?;
        let Some(rest) = decoded.rest else { return Ok(()) };
        start += rest;
        decoded = own.decode(&chunk.from(start))?;
    }
}

impl rorqual_render::RowSequence for TemplateRecords {
    fn next(&mut self) -> Result<Option<Arc<dyn RowBatch>>, RenderError> {
        if let Some(input) = self.input.take() {
            self.pulled = Some(self.pull(input));
        }
        self.pulled.as_mut().map_or(Ok(None), rorqual_render::RowSequence::next)
    }

    fn render(&mut self, body: &dyn LoopBody, sink: &mut dyn Sink) -> Result<u64, RenderError> {
        let Some(input) = self.input.take() else { return Ok(0) };
        let counts = Arc::clone(&self.counts);
        let stages = (0..self.threads).map(|_| Renderer { decoder: self.decoder(), body, counts: &counts }).collect();
        let mut own = self.decoder();
        let (mut rows, mut failed) = (0, None);
        let finish = self.scan.run(input, &self.format, stages, |made: DecodedChunk| {
            made.write(body, own.as_mut(), &counts, sink, &mut rows).map_err(|error| {
                failed = Some(error);
                ReadError::new(ErrorClass::Stopped, "", "the rendering failed")
            })
        });
        match (failed, finish.error) {
            (Some(error), _) => Err(error),
            (None, Some(error)) => Err(RenderError::Rows(error)),
            (None, None) if self.scan.control.stopped() => Err(stopped()),
            (None, None) => Ok(rows),
        }
    }
}

/// Decodes, as far as that can be done at once.
struct RowDecoder(Box<dyn Decode>);

impl Stage for RowDecoder {
    type Output = (DecodedRecords, Chunk);

    fn chunk(&mut self, chunk: &Chunk) -> Result<Self::Output, ReadError> {
        Ok((self.0.decode(chunk)?, chunk.clone()))
    }
}

/// Decodes chunks, and renders their rows.
struct Renderer<'b> {
    decoder: Box<dyn Decode>,
    body: &'b dyn LoopBody,
    counts: &'b ReadCounts,
}

/// A decoded chunk.
struct DecodedChunk {
    text: Vec<u8>,
    /// Reason for which the text ends early.
    error: Option<RenderError>,
    rows: u64,
    /// Rows that would have been too much text, from a row of its first batch on.
    left: Vec<Arc<dyn RowBatch>>,
    first: usize,
    decoded: DecodedRecords,
    chunk: Chunk,
}

impl Stage for Renderer<'_> {
    type Output = DecodedChunk;

    fn chunk(&mut self, chunk: &Chunk) -> Result<DecodedChunk, ReadError> {
        let mut decoded = self.decoder.decode(chunk)?;
        let batches = std::mem::take(&mut decoded.batches);
        let mut made =
            DecodedChunk { text: Vec::new(), error: None, rows: 0, left: Vec::new(), first: 0, decoded, chunk: chunk.clone() };
        for batch in batches {
            made.batch(self.counts.batch(&batch)?, self.body);
        }
        Ok(made)
    }
}

impl DecodedChunk {
    fn batch(&mut self, batch: Arc<dyn RowBatch>, body: &dyn LoopBody) {
        self.rows += batch.rows() as u64;
        if !self.left.is_empty() || self.error.is_some() {
            return self.left.push(batch);
        }
        match body.render_some(&batch, 0, &mut self.text, RENDERED_BYTES_MAX) {
            Ok(next) if next == batch.rows() => {}
            Ok(next) => {
                self.first = next;
                self.left.push(batch);
            }
            Err(error) => self.error = Some(error),
        }
    }

    fn write(
        self,
        body: &dyn LoopBody,
        own: &mut dyn Decode,
        counts: &ReadCounts,
        sink: &mut dyn Sink,
        rows: &mut u64,
    ) -> Result<(), RenderError> {
        sink.copy(&self.text)?;
        if let Some(error) = self.error {
            return Err(error);
        }
        *rows += self.rows;
        let mut first = self.first;
        for batch in self.left {
            body.render(&batch, std::mem::take(&mut first)..batch.rows(), sink)?;
        }
        let mut failed = None;
        let done = each_batch(self.decoded, &self.chunk, own, counts, |batch| {
            *rows += batch.num_rows() as u64;
            let batch = counts.batch(&batch)?;
            body.render(&batch, 0..batch.rows(), sink).map_err(|error| {
                failed = Some(error);
                ReadError::new(ErrorClass::Stopped, "", "the rendering failed")
            })
        });
        match failed {
            Some(error) => Err(error),
            None => done.map_err(RenderError::Rows),
        }
    }
}
