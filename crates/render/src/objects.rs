//! Rows, loops and ranges for MiniJinja: objects that hold no more than they must.

use crate::error::RenderError;
use crate::limits::STOP_CHECK_ITERATIONS;
use crate::rows::{RowBatch, RowSequence, Source};
use minijinja::value::{Enumerator, Object, ObjectRepr, ValueKind};
use minijinja::{ErrorKind, State, Value};
use rorqual_pipe::Control;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The rows as a template sees them outside of our own loop: read as they are asked for.
#[derive(Debug)]
pub(crate) struct AllRows {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) control: Control,
    /// The error that ended their reading; MiniJinja passes on only its text.
    pub(crate) failed: Arc<Mutex<Option<RenderError>>>,
}

impl Object for AllRows {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Iterable
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        match self.source.open(&self.control) {
            Ok(rows) => {
                let reader = BatchReader { rows, batch: None, next: 0, all: Arc::clone(self) };
                // An iterator of MiniJinja is shared between threads, which ours is not: the lock
                // is never waited for.
                let reader = Mutex::new(reader);
                Enumerator::Iter(Box::new(std::iter::from_fn(move || {
                    reader.lock().unwrap_or_else(PoisonError::into_inner).next()
                })))
            }
            Err(error) => Enumerator::Values(vec![self.fail(error)]),
        }
    }

    /// They are for a loop; on a page they are no more than their name.
    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ROWS)
    }

    /// Nobody knows how many there are without reading them.
    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        None
    }
}

impl AllRows {
    fn fail(&self, error: RenderError) -> Value {
        let invalid = minijinja::Error::new(ErrorKind::InvalidOperation, error.to_string());
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        Value::from(invalid)
    }
}

struct BatchReader {
    rows: Box<dyn RowSequence>,
    batch: Option<Arc<dyn RowBatch>>,
    next: usize,
    all: Arc<AllRows>,
}

impl BatchReader {
    fn next(&mut self) -> Option<Value> {
        if self.all.control.stopped() {
            return Some(self.all.fail(RenderError::stopped()));
        }
        if self.batch.as_ref().is_none_or(|batch| self.next == batch.rows()) {
            self.next = 0;
            self.batch = match self.rows.next() {
                Ok(batch) => batch,
                Err(error) => return Some(self.all.fail(error)),
            };
        }
        let row = TemplateRow { batch: Arc::clone(self.batch.as_ref()?), row: self.next };
        self.next += 1;
        Some(Value::from_object(row))
    }
}

/// One row, which keeps its batch alive.
#[derive(Debug)]
pub(crate) struct TemplateRow {
    pub(crate) batch: Arc<dyn RowBatch>,
    pub(crate) row: usize,
}

impl Object for TemplateRow {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        match self.batch.columns().iter().position(|name| name == key) {
            Some(column) => Some(self.batch.cell(self.row, column).into_value()),
            None => self.batch.other(self.row, key),
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.batch.columns().iter().map(Value::from).collect())
    }
}

/// `loop`, as it is at one moment.
#[derive(Debug)]
pub(crate) struct LoopVariable {
    pub(crate) index0: u64,
    pub(crate) length: Option<u64>,
    pub(crate) last: bool,
}

impl Object for LoopVariable {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        let or_undefined = |value: Option<u64>| value.map_or(Value::UNDEFINED, Value::from);
        Some(match key {
            "index" => Value::from(self.index0 + 1),
            "index0" => Value::from(self.index0),
            "first" => Value::from(self.index0 == 0),
            "last" => Value::from(self.last),
            "length" => or_undefined(self.length),
            "revindex" => or_undefined(self.length.map(|length| length.saturating_sub(self.index0))),
            "revindex0" => or_undefined(self.length.map(|length| length.saturating_sub(self.index0 + 1))),
            // Only recursive loops have another depth, and they are MiniJinja's.
            "depth" => Value::from(1),
            "depth0" => Value::from(0),
            _ => return None,
        })
    }

    fn call_method(self: &Arc<Self>, _: &mut State<'_, '_>, name: &str, args: &[Value]) -> Result<Value, minijinja::Error> {
        if name != "cycle" || args.is_empty() {
            return Err(minijinja::Error::from(ErrorKind::UnknownMethod));
        }
        Ok(args[(self.index0 % args.len() as u64) as usize].clone())
    }
}

/// The numbers of `range`, none of which is made before it is asked for; MiniJinja's own refuses
/// more than 100,000.
#[derive(Debug, Clone)]
pub(crate) struct Range {
    next: i64,
    step: i64,
    left: u64,
    control: Control,
}

impl Range {
    /// `range` of a template: `range(stop)`, `range(start, stop)`, `range(start, stop, step)`.
    pub(crate) fn value(
        state: &State<'_, '_>,
        first: i64,
        second: Option<i64>,
        step: Option<i64>,
    ) -> Result<Value, minijinja::Error> {
        let (start, stop) = second.map_or((0, first), |stop| (first, stop));
        let step = step.unwrap_or(1);
        let distance = (i128::from(stop) - i128::from(start)) * i128::from(step.signum());
        if step == 0 {
            return Err(minijinja::Error::new(ErrorKind::InvalidOperation, "cannot create range with step of 0"));
        }
        let steps = distance.max(0) as u128;
        let left = steps.div_ceil(u128::from(step.unsigned_abs())) as u64;
        let stop = state.lookup(STOP);
        let control = stop.as_ref().and_then(|stop| stop.downcast_object_ref::<RenderStop>()).map(|stop| stop.0.clone());
        Ok(Value::from_object(Self { next: start, step, left, control: control.unwrap_or_default() }))
    }

    /// Count of the remaining numbers.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }
}

impl Iterator for Range {
    type Item = Value;

    /// The caller may be MiniJinja, which never looks whether to stop: the last number is then an
    /// error.
    fn next(&mut self) -> Option<Value> {
        self.left = self.left.checked_sub(1)?;
        if self.left.is_multiple_of(STOP_CHECK_ITERATIONS.into()) && self.control.stopped() {
            self.left = 0;
            return Some(minijinja::Error::new(ErrorKind::InvalidOperation, "stopped").into());
        }
        let number = self.next;
        self.next = number.wrapping_add(self.step);
        Some(number.into())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl Object for Range {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Iterable
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Iter(Box::new(Range::clone(self)))
    }
}

/// Variables of a template: the context, `rows`, and the stop, under a name that no template can
/// write.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) context: Value,
    pub(crate) rows: Option<Value>,
    pub(crate) stop: Value,
}

/// The stop of a rendering.
#[derive(Debug)]
pub(crate) struct RenderStop(pub(crate) Control);

impl Object for RenderStop {}

/// The name of it.
const STOP: &str = "\0stop";

impl Object for Root {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        if key == ROWS && self.rows.is_some() {
            return self.rows.clone();
        }
        if key == STOP {
            return Some(self.stop.clone());
        }
        if self.context.kind() != ValueKind::Map {
            return None;
        }
        self.context.get_attr(key).ok().filter(|value| !value.is_undefined())
    }
}

/// The name that rows have in a template.
pub(crate) const ROWS: &str = "rows";

/// The variables that an expression names, as they are when it is evaluated, over those of the
/// template.
#[derive(Debug)]
pub(crate) struct Locals {
    pub(crate) names: Arc<[Box<str>]>,
    pub(crate) values: Vec<Option<Value>>,
    pub(crate) root: Value,
}

impl Object for Locals {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        if key == STOP {
            return self.root.get_attr(key).ok();
        }
        let place = self.names.iter().position(|name| **name == *key)?;
        self.values[place].clone().or_else(|| self.root.get_attr(key).ok().filter(|value| !value.is_undefined()))
    }
}

/// Anything that serde can walk, as a template's value.
pub fn value_of(value: impl serde::Serialize) -> Value {
    Value::from(minijinja::value::Serde(value))
}
