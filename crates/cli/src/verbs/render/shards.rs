//! One template, many files: `--split`.
//!
//! The template is rendered once a file, whole: `rows` are the rows of that file, and `shard` says
//! which it is. So each file has a head and a foot of its own.

use super::{RenderFailure, RenderJob, Total};
use crate::args::SplitBy;
use bytes::Bytes;
use rorqual_pipe::{Control, Error as ReadError, ErrorClass, Sink};
use rorqual_render::{PageInput, RenderError, RowBatch, RowCell, RowSequence, Source, Value};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Renders files until there are no more rows; one, if there are none.
pub(super) fn all(
    job: &RenderJob,
    split: SplitBy,
    source: &Arc<dyn Source>,
    json: bool,
    total: &mut Total,
) -> Result<(), RenderFailure> {
    let rest = Arc::new(Mutex::new(UnshardedRows { rows: source.open(&job.page.control)?, next: None, first: 0 }));
    let mut number = 1;
    loop {
        let state = ShardState {
            rest: Arc::clone(&rest),
            split,
            bytes: AtomicU64::default(),
            given: AtomicU64::default(),
            opened: AtomicBool::default(),
        };
        one(job, number, &Arc::new(state), json, total)?;
        if lock(&rest).peek()?.is_none() {
            return Ok(());
        }
        number += 1;
    }
}

fn one(job: &RenderJob, number: u64, state: &Arc<ShardState>, json: bool, total: &mut Total) -> Result<(), RenderFailure> {
    let name = job.output.name(Some(number));
    let source: Arc<dyn Source> = Arc::new(OutputShard(Arc::clone(state)));
    let page = PageInput {
        context: with_shard(&job.page.context, number, &name),
        rows: Some(source),
        control: job.page.control.clone(),
    };
    let mut file = job.output.create(Some(number), &job.page.control, &job.pool)?;
    let mut sink = CountedSource { sink: &mut file.gather, state };
    total.way = Some(job.templates.render(&job.name, &page, &mut sink)?);
    let there = lock(&state.rest).peek()?.is_some();
    if there && state.given.load(Ordering::Relaxed) == 0 {
        return Err(RenderFailure::Said("--split: the template took none of the rows, so that files would never end".to_owned()));
    }
    state.skip()?;
    let written = job.finish(file)?;
    if json {
        println!("{}", job.output.described(Some(number), &written, Some(state.given.load(Ordering::Relaxed))));
    }
    total.written.add(&written);
    Ok(())
}

/// The context, and in it which file this is.
fn with_shard(context: &Value, number: u64, name: &str) -> Value {
    let mut names: BTreeMap<String, Value> = BTreeMap::new();
    for key in context.try_iter().into_iter().flatten() {
        names.insert(key.to_string(), context.get_item(&key).unwrap_or_default());
    }
    let shard = [
        ("index", Value::from(number)),
        ("index0", Value::from(number - 1)),
        ("first", Value::from(number == 1)),
        ("file", Value::from(name)),
    ];
    names.insert("shard".to_owned(), Value::from_pairs(shard));
    Value::from_pairs(names)
}

fn lock(rest: &Mutex<UnshardedRows>) -> std::sync::MutexGuard<'_, UnshardedRows> {
    rest.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The rows that no file has yet.
struct UnshardedRows {
    rows: Box<dyn RowSequence>,
    next: Option<Arc<dyn RowBatch>>,
    /// The first row of that batch that no file has.
    first: usize,
}

impl UnshardedRows {
    /// The batch of the next row.
    fn peek(&mut self) -> Result<Option<&Arc<dyn RowBatch>>, RenderError> {
        if self.next.as_ref().is_none_or(|batch| self.first == batch.rows()) {
            self.next = self.rows.next()?;
            self.first = 0;
        }
        Ok(self.next.as_ref())
    }

    /// At most so many rows.
    fn take(&mut self, most: usize) -> Result<Option<Arc<dyn RowBatch>>, RenderError> {
        let Some(batch) = self.peek()?.map(Arc::clone) else { return Ok(None) };
        let first = self.first;
        let rows = most.min(batch.rows() - first);
        self.first += rows;
        Ok(Some(Arc::new(ShardRows { batch, first, rows })))
    }
}

/// The rows of one file.
struct OutputShard(Arc<ShardState>);

struct ShardState {
    rest: Arc<Mutex<UnshardedRows>>,
    split: SplitBy,
    /// Bytes written of it.
    bytes: AtomicU64,
    /// Rows that it was given.
    given: AtomicU64,
    opened: AtomicBool,
}

impl std::fmt::Debug for OutputShard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("rows of a file")
    }
}

impl Source for OutputShard {
    fn open(&self, _: &Control) -> Result<Box<dyn RowSequence>, RenderError> {
        if self.0.opened.swap(true, Ordering::Relaxed) {
            return Err(RenderError::Rows(ReadError::new(
                ErrorClass::Io,
                "--split",
                "the rows of a file can be looped over once",
            )));
        }
        Ok(Box::new(ShardReading(Arc::clone(&self.0))))
    }
}

impl ShardState {
    /// Number of rows that may come at once: the remaining ones, or one where their text decides. A
    /// file has one, whatever its head takes.
    fn most(&self) -> usize {
        let given = self.given.load(Ordering::Relaxed);
        match self.split {
            SplitBy::Rows(rows) => usize::try_from(rows.saturating_sub(given)).unwrap_or(usize::MAX),
            SplitBy::Bytes(bytes) => usize::from(given == 0 || self.bytes.load(Ordering::Relaxed) < bytes),
        }
    }

    fn next(&self) -> Result<Option<Arc<dyn RowBatch>>, RenderError> {
        let most = self.most();
        if most == 0 {
            return Ok(None);
        }
        let batch = lock(&self.rest).take(most)?;
        self.given.fetch_add(batch.as_ref().map_or(0, |batch| batch.rows() as u64), Ordering::Relaxed);
        Ok(batch)
    }

    /// Takes the rows of this file that the template did not want.
    fn skip(&self) -> Result<(), RenderError> {
        while matches!(self.split, SplitBy::Rows(_)) && self.next()?.is_some() {}
        Ok(())
    }
}

struct ShardReading(Arc<ShardState>);

impl RowSequence for ShardReading {
    fn next(&mut self) -> Result<Option<Arc<dyn RowBatch>>, RenderError> {
        self.0.next()
    }
}

/// Some rows of a batch.
#[derive(Debug)]
struct ShardRows {
    batch: Arc<dyn RowBatch>,
    first: usize,
    rows: usize,
}

impl RowBatch for ShardRows {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> &[String] {
        self.batch.columns()
    }

    fn cell(&self, row: usize, column: usize) -> RowCell<'_> {
        self.batch.cell(self.first + row, column)
    }

    fn other(&self, row: usize, name: &str) -> Option<Value> {
        self.batch.other(self.first + row, name)
    }
}

/// A sink that counts.
struct CountedSource<'s, S> {
    sink: &'s mut S,
    state: &'s ShardState,
}

impl<S: Sink> Sink for CountedSource<'_, S> {
    fn copy(&mut self, piece: &[u8]) -> io::Result<()> {
        self.state.bytes.fetch_add(piece.len() as u64, Ordering::Relaxed);
        self.sink.copy(piece)
    }

    fn point(&mut self, piece: &Bytes) -> io::Result<()> {
        self.state.bytes.fetch_add(piece.len() as u64, Ordering::Relaxed);
        self.sink.point(piece)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}
