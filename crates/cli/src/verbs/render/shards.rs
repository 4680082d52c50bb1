//! One template, many files: `--split`.
//!
//! The template is rendered once a file, whole: `rows` are the rows of that file, and `shard` says which it is. So each file has a head
//! and a foot of its own.

use super::{Failure, Job, Total};
use crate::args::Split;
use bytes::Bytes;
use rorqual_pipe::{Control, Error as ReadError, Kind, Sink};
use rorqual_render::{Batch, Cell, Error, Page, Rows, Source, Value};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Renders files until there are no more rows; one, if there are none.
pub(super) fn all(job: &Job, split: Split, source: &Arc<dyn Source>, json: bool, total: &mut Total) -> Result<(), Failure> {
    let rest = Arc::new(Mutex::new(Rest { rows: source.open(&job.page.control)?, next: None, first: 0 }));
    let mut number = 1;
    loop {
        let state = State {
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

fn one(job: &Job, number: u64, state: &Arc<State>, json: bool, total: &mut Total) -> Result<(), Failure> {
    let name = job.output.name(Some(number));
    let source: Arc<dyn Source> = Arc::new(Shard(Arc::clone(state)));
    let page =
        Page { context: with_shard(&job.page.context, number, &name), rows: Some(source), control: job.page.control.clone() };
    let mut file = job.output.create(Some(number), &job.page.control, &job.pool)?;
    let mut sink = Counted { sink: &mut file.gather, state };
    total.way = Some(job.templates.render(&job.name, &page, &mut sink)?);
    let there = lock(&state.rest).peek()?.is_some();
    if there && state.given.load(Ordering::Relaxed) == 0 {
        return Err(Failure::Said("--split: the template took none of the rows, so that files would never end".to_owned()));
    }
    state.skip()?;
    let written = file.finish(true)?;
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

fn lock(rest: &Mutex<Rest>) -> std::sync::MutexGuard<'_, Rest> {
    rest.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The rows that no file has yet.
struct Rest {
    rows: Box<dyn Rows>,
    next: Option<Arc<dyn Batch>>,
    /// The first row of that batch that no file has.
    first: usize,
}

impl Rest {
    /// The batch of the next row.
    fn peek(&mut self) -> Result<Option<&Arc<dyn Batch>>, Error> {
        if self.next.as_ref().is_none_or(|batch| self.first == batch.rows()) {
            self.next = self.rows.next()?;
            self.first = 0;
        }
        Ok(self.next.as_ref())
    }

    /// At most so many rows.
    fn take(&mut self, most: usize) -> Result<Option<Arc<dyn Batch>>, Error> {
        let Some(batch) = self.peek()?.map(Arc::clone) else { return Ok(None) };
        let first = self.first;
        let rows = most.min(batch.rows() - first);
        self.first += rows;
        Ok(Some(Arc::new(Part { batch, first, rows })))
    }
}

/// The rows of one file.
struct Shard(Arc<State>);

struct State {
    rest: Arc<Mutex<Rest>>,
    split: Split,
    /// What was written of it.
    bytes: AtomicU64,
    /// Rows that it was given.
    given: AtomicU64,
    opened: AtomicBool,
}

impl std::fmt::Debug for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("rows of a file")
    }
}

impl Source for Shard {
    fn open(&self, _: &Control) -> Result<Box<dyn Rows>, Error> {
        if self.0.opened.swap(true, Ordering::Relaxed) {
            return Err(Error::Rows(ReadError::new(Kind::Io, "--split", "the rows of a file can be looped over once")));
        }
        Ok(Box::new(Reading(Arc::clone(&self.0))))
    }
}

impl State {
    /// How many rows may come at once: those that are left, or one where their text decides. A file has one, whatever its head takes.
    fn most(&self) -> usize {
        let given = self.given.load(Ordering::Relaxed);
        match self.split {
            Split::Rows(rows) => usize::try_from(rows.saturating_sub(given)).unwrap_or(usize::MAX),
            Split::Bytes(bytes) => usize::from(given == 0 || self.bytes.load(Ordering::Relaxed) < bytes),
        }
    }

    fn next(&self) -> Result<Option<Arc<dyn Batch>>, Error> {
        let most = self.most();
        if most == 0 {
            return Ok(None);
        }
        let batch = lock(&self.rest).take(most)?;
        self.given.fetch_add(batch.as_ref().map_or(0, |batch| batch.rows() as u64), Ordering::Relaxed);
        Ok(batch)
    }

    /// Takes the rows of this file that the template did not want.
    fn skip(&self) -> Result<(), Error> {
        while matches!(self.split, Split::Rows(_)) && self.next()?.is_some() {}
        Ok(())
    }
}

struct Reading(Arc<State>);

impl Rows for Reading {
    fn next(&mut self) -> Result<Option<Arc<dyn Batch>>, Error> {
        self.0.next()
    }
}

/// Some rows of a batch.
#[derive(Debug)]
struct Part {
    batch: Arc<dyn Batch>,
    first: usize,
    rows: usize,
}

impl Batch for Part {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> &[String] {
        self.batch.columns()
    }

    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        self.batch.cell(self.first + row, column)
    }

    fn other(&self, row: usize, name: &str) -> Option<Value> {
        self.batch.other(self.first + row, name)
    }
}

/// A sink that counts.
struct Counted<'s, S> {
    sink: &'s mut S,
    state: &'s State,
}

impl<S: Sink> Sink for Counted<'_, S> {
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
