//! The rows of a template, from any file that `convert` reads.

use super::query;
use crate::args::{Common, Conflicts, FromArgs, RowsArgs};
use crate::exit::Exit;
use crate::rows::records::said_bad;
use crate::verbs::convert::{Content, Source as Opened, columns_of, given, scan};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use rorqual_columnar::read::{Rows as Wanted, Table};
use rorqual_columnar::render::{self, Columns};
use rorqual_columnar::{BadRecords, Decode, Decoded, Format, FormatKind, Given, Scan, Unplaced, long_offset};
use rorqual_pipe::{Chunk, Control, Error as ReadError, Input, Kind, Stage, beside, escaped_path};
use rorqual_render::limits::RENDERED_BYTES_MAX;
use rorqual_render::{Batch, Body, Cell, Error, Sink, Source, Value};
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Batches that wait for the one who renders.
const BATCHES_AHEAD: usize = 1;

/// Readings of the same rows at a time: those of a loop, and those of a loop in it. They share the blocks.
const READINGS_MAX: usize = 2;

/// Where rows come from.
pub(crate) struct Rows {
    name: String,
    scan: Scan,
    threads: usize,
    from: From,
    /// Rows that were read so far.
    given: Arc<AtomicU64>,
    /// Records that are none, of the reading that met the most.
    bad: Arc<Mutex<BadRecords>>,
    readings: Arc<()>,
}

/// What one reading counts.
struct Counts {
    name: String,
    separators: &'static [u8],
    record_bytes_max: usize,
    given: Arc<AtomicU64>,
    bad: Mutex<BadRecords>,
    most_bad: Arc<Mutex<BadRecords>>,
}

enum From {
    /// Columns.
    Table(Arc<Table>),
    /// Records that are decoded.
    Records { format: Format, schema: SchemaRef, input: Box<Mutex<Again>> },
}

/// How records are read again.
enum Again {
    /// The file is opened again.
    File(PathBuf),
    /// The query is asked again; what it was asked first for its columns is there for the first time.
    Query(Option<Input>, Box<Common>, String),
    /// A stream, which is there once.
    Stream(Option<Input>),
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rows of {}", self.name)
    }
}

impl Rows {
    /// Looks at an input, whose rows are rendered in what `own_bytes` does not take.
    pub(crate) fn open(
        common: &Common,
        args: &RowsArgs,
        memory_bytes: u64,
        own_bytes: impl Fn(u64, usize) -> u64,
    ) -> Result<Self, String> {
        let from = FromArgs {
            from: args.from,
            rows: args.rows_path.clone(),
            format: args.format.clone(),
            delimiter: None,
            header: args.header,
            quote: None,
            null: Vec::new(),
            exact_numbers: false,
            record_max: args.record_max,
            conflicts: Conflicts::Widen,
        };
        let (threads, scan) = scan(common, &from, args.rows.as_slice(), memory_bytes, own_bytes)?;
        let (name, from) = match (&args.rows, &args.sql) {
            (Some(path), _) => (escaped_path(path), of_file(path.clone(), &given(&from)?, &scan, threads, memory_bytes)?),
            (None, sql) => ("--sql".to_owned(), of_query(common, sql.as_deref().unwrap_or_default(), &scan, threads)?),
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
    pub(super) fn say_bad(&self) -> Exit {
        match &self.from {
            From::Table(_) => Exit::Done,
            From::Records { format, .. } => said_bad(&lock(&self.bad), format),
        }
    }

    fn counts(&self) -> Arc<Counts> {
        let separators = if let From::Records { format, .. } = &self.from { format.separators() } else { b"" };
        Arc::new(Counts {
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
    std::fs::metadata(args.rows.as_ref()?).ok().filter(std::fs::Metadata::is_file).map(|data| data.len())
}

fn of_file(path: PathBuf, given: &Given, scan: &Scan, threads: usize, memory_bytes: u64) -> Result<From, String> {
    let mut opened = Opened::open(&path, given, scan, memory_bytes)?;
    let schema = columns_of(&mut opened, scan, threads)?;
    Ok(match opened.content {
        Content::Table(table) => From::Table(Arc::new(table)),
        Content::Records(format, None) => From::Records { format, schema, input: Box::new(Mutex::new(Again::File(path))) },
        Content::Records(format, stream) => From::Records { format, schema, input: Box::new(Mutex::new(Again::Stream(stream))) },
    })
}

fn of_query(common: &Common, sql: &str, scan: &Scan, threads: usize) -> Result<From, String> {
    let mut input = query::start(common, sql)?;
    let given = Given { kind: Some(FormatKind::Ndjson), ..Given::default() };
    let head = scan.head(&mut input, rorqual_columnar::limits::PREFIX_BYTES).map_err(|error| error.to_string())?;
    let format = Format::detect("--sql", &head, &given).map_err(|error| format!("--sql: {error}"))?.format;
    let mut opened = Opened { path: PathBuf::from("-"), content: Content::Records(format, Some(input)) };
    let schema = columns_of(&mut opened, scan, threads)?;
    let Content::Records(format, input) = opened.content else { return Err("--sql: has no rows".to_owned()) };
    let input = Box::new(Mutex::new(Again::Query(input, Box::new(common.clone()), sql.to_owned())));
    Ok(From::Records { format, schema, input })
}

impl Again {
    fn input(&mut self, name: &str) -> Result<Input, Error> {
        let failed = |said: String| Error::Rows(ReadError::new(Kind::Io, name, said));
        match self {
            Self::File(path) => crate::input::open(path).map(Input::into_utf8).map_err(Error::Rows),
            Self::Query(first, common, sql) => match first.take() {
                Some(first) => Ok(first),
                None => query::start(common, sql).map_err(failed),
            },
            Self::Stream(stream) => stream.take().ok_or_else(|| {
                failed("is read once, as it is a stream, and the template loops over rows again: give a file".to_owned())
            }),
        }
    }
}

impl Source for Rows {
    fn open(&self, control: &Control) -> Result<Box<dyn rorqual_render::Rows>, Error> {
        let reading = Arc::clone(&self.readings);
        if Arc::strong_count(&reading) > 1 + READINGS_MAX {
            let said = "is looped over in a loop over it in a loop over it: two deep is the most";
            return Err(Error::Rows(ReadError::new(Kind::Limit, &self.name, said)));
        }
        let counts = self.counts();
        Ok(match &self.from {
            From::Table(table) => {
                Box::new(Pulled { batches: read_table(table), control: control.clone(), counts, _reading: Some(reading) })
            }
            From::Records { format, schema, input } => Box::new(Records {
                scan: Scan { control: control.clone(), ..self.scan.clone() },
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

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ReadError>> + Send>;

/// A file of columns is decoded beside the one who renders.
fn read_table(table: &Arc<Table>) -> Batches {
    let table = Arc::clone(table);
    Box::new(beside(BATCHES_AHEAD, move |give| match table.batches(None, &Wanted::All) {
        Ok(mut batches) => while batches.next().is_some_and(|batch| give.send(batch).is_ok()) {},
        // Nobody may be there to hear it.
        Err(error) => drop(give.send(Err(error))),
    }))
}

/// Batches one after another.
struct Pulled {
    batches: Batches,
    control: Control,
    counts: Arc<Counts>,
    /// Held as long as it reads, where nothing around it does.
    _reading: Option<Arc<()>>,
}

impl rorqual_render::Rows for Pulled {
    fn next(&mut self) -> Result<Option<Arc<dyn Batch>>, Error> {
        loop {
            let batch = self.batches.next().transpose().map_err(Error::Rows)?;
            if self.control.stopped() {
                return Err(stopped());
            }
            let Some(batch) = batch else { return Ok(None) };
            if batch.num_rows() > 0 {
                return self.counts.batch(&batch).map(Some).map_err(Error::Rows);
            }
        }
    }
}

impl Counts {
    fn batch(&self, batch: &RecordBatch) -> Result<Arc<dyn Batch>, ReadError> {
        self.given.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
        let columns = Columns::new(batch).map_err(|error| ReadError::new(Kind::Corrupt, "", error.to_string()))?;
        Ok(Arc::new(Rendered(columns)))
    }

    /// Counts what a chunk, or what of it was decoded, has that is no row. An over-long record is at its end.
    fn bad(&self, decoded: &Decoded, chunk: &Chunk) {
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

fn stopped() -> Error {
    Error::Rows(ReadError::new(Kind::Stopped, "", "stopped"))
}

/// Records on their way: decoded and rendered by all workers, or decoded by them for one who renders.
struct Records {
    scan: Scan,
    threads: usize,
    format: Format,
    schema: SchemaRef,
    input: Option<Input>,
    pulled: Option<Pulled>,
    counts: Arc<Counts>,
    _reading: Arc<()>,
}

impl Records {
    fn decoder(&self) -> Box<dyn Decode> {
        self.format.decoder(&self.schema, Unplaced::Keep, self.scan.record_bytes_max)
    }

    /// Starts to decode.
    fn pull(&self, input: Input) -> Pulled {
        let (scan, format, counts) = (self.scan.clone(), self.format.clone(), Arc::clone(&self.counts));
        let stages: Vec<Decoder> = (0..self.threads).map(|_| Decoder(self.decoder())).collect();
        let mut own = self.decoder();
        let batches = beside(BATCHES_AHEAD, move |give| {
            let enough = || ReadError::new(Kind::Stopped, "", "enough was seen");
            let error = scan.run(input, &format, stages, |(decoded, chunk): (Decoded, Chunk)| {
                each_batch(decoded, &chunk, own.as_mut(), &counts, |batch| give.send(Ok(batch)).map_err(|_| enough()))
            });
            if let Some(error) = error.filter(|error| error.kind() != Kind::Stopped) {
                // Nobody may be there to hear it.
                drop(give.send(Err(error)));
            }
        });
        Pulled {
            batches: Box::new(batches),
            control: self.scan.control.clone(),
            counts: Arc::clone(&self.counts),
            _reading: None,
        }
    }
}

/// All batches of a chunk; what of it is too much to be decoded at once is decoded by `own`.
fn each_batch(
    mut decoded: Decoded,
    chunk: &Chunk,
    own: &mut dyn Decode,
    counts: &Counts,
    mut take: impl FnMut(RecordBatch) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let mut start = 0;
    loop {
        counts.bad(&decoded, chunk);
        if decoded.misfit.is_some() {
            return Err(ReadError::new(Kind::Corrupt, "", "was changed while it was read: its columns are others now"));
        }
        decoded.batches.into_iter().try_for_each(&mut take)?;
        let Some(rest) = decoded.rest else { return Ok(()) };
        start += rest;
        decoded = own.decode(&chunk.from(start))?;
    }
}

impl rorqual_render::Rows for Records {
    fn next(&mut self) -> Result<Option<Arc<dyn Batch>>, Error> {
        if let Some(input) = self.input.take() {
            self.pulled = Some(self.pull(input));
        }
        self.pulled.as_mut().map_or(Ok(None), rorqual_render::Rows::next)
    }

    fn render(&mut self, body: &dyn Body, sink: &mut dyn Sink) -> Result<u64, Error> {
        let Some(input) = self.input.take() else { return Ok(0) };
        let counts = Arc::clone(&self.counts);
        let stages = (0..self.threads).map(|_| Renderer { decoder: self.decoder(), body, counts: &counts }).collect();
        let mut own = self.decoder();
        let (mut rows, mut failed) = (0, None);
        let error = self.scan.run(input, &self.format, stages, |made: Made| {
            made.write(body, own.as_mut(), &counts, sink, &mut rows).map_err(|error| {
                failed = Some(error);
                ReadError::new(Kind::Stopped, "", "the rendering failed")
            })
        });
        match (failed, error) {
            (Some(error), _) => Err(error),
            (None, Some(error)) => Err(Error::Rows(error)),
            (None, None) if self.scan.control.stopped() => Err(stopped()),
            (None, None) => Ok(rows),
        }
    }
}

/// Decodes, as far as that can be done at once.
struct Decoder(Box<dyn Decode>);

impl Stage for Decoder {
    type Output = (Decoded, Chunk);

    fn chunk(&mut self, chunk: &Chunk) -> Result<Self::Output, ReadError> {
        Ok((self.0.decode(chunk)?, chunk.clone()))
    }
}

/// Decodes, and renders what came of it.
struct Renderer<'b> {
    decoder: Box<dyn Decode>,
    body: &'b dyn Body,
    counts: &'b Counts,
}

/// What a chunk became.
struct Made {
    text: Vec<u8>,
    /// Why the text ends early.
    error: Option<Error>,
    rows: u64,
    /// What would have been too much text, from a row of its first batch on.
    left: Vec<Arc<dyn Batch>>,
    first: usize,
    decoded: Decoded,
    chunk: Chunk,
}

impl Stage for Renderer<'_> {
    type Output = Made;

    fn chunk(&mut self, chunk: &Chunk) -> Result<Made, ReadError> {
        let mut decoded = self.decoder.decode(chunk)?;
        let batches = std::mem::take(&mut decoded.batches);
        let mut made = Made { text: Vec::new(), error: None, rows: 0, left: Vec::new(), first: 0, decoded, chunk: chunk.clone() };
        for batch in batches {
            made.batch(self.counts.batch(&batch)?, self.body);
        }
        Ok(made)
    }
}

impl Made {
    fn batch(&mut self, batch: Arc<dyn Batch>, body: &dyn Body) {
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
        body: &dyn Body,
        own: &mut dyn Decode,
        counts: &Counts,
        sink: &mut dyn Sink,
        rows: &mut u64,
    ) -> Result<(), Error> {
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
                ReadError::new(Kind::Stopped, "", "the rendering failed")
            })
        });
        match failed {
            Some(error) => Err(error),
            None => done.map_err(Error::Rows),
        }
    }
}

/// A batch as a template sees it.
struct Rendered(Columns);

impl fmt::Debug for Rendered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows", self.0.rows())
    }
}

impl Batch for Rendered {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn columns(&self) -> &[String] {
        self.0.names()
    }

    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        match self.0.cell(row, column) {
            render::Cell::Text(text) => Cell::Text(text),
            render::Cell::Int(number) => Cell::Integer(number),
            render::Cell::UInt(number) => Cell::Value(number.into()),
            render::Cell::Float(number) => Cell::Value(number.into()),
            render::Cell::Bool(truth) => Cell::Value(truth.into()),
            render::Cell::Null => Cell::Value(().into()),
            render::Cell::Json(json) => Cell::Value(of_json(&json)),
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
