//! Expressions and conditions: straight from where the value is, or by MiniJinja.

use super::Emitter;
use super::frame::{Looped, Slot};
use crate::error::Error;
use crate::escape;
use crate::objects::{Locals, Loop, Row};
use crate::plan::{Code, Comparison, Condition, Emit, Mode, Operand, Path, Place, Test, Variable};
use crate::rows::Cell;
use minijinja::Value;
use minijinja::machinery::{eval, make_string_output};
use minijinja::value::ValueKind;
use rorqual_pipe::Sink;
use std::io::Write;
use std::sync::Arc;

impl<'a> Emitter<'_, 'a> {
    /// Writes the value of an expression.
    #[inline]
    pub(super) fn emit<S: Sink + ?Sized>(&self, emit: &Emit<'a>, sink: &mut S) -> Result<(), Error> {
        let Some((path, mode)) = &emit.path else { return self.emit_exactly(emit, sink) };
        match self.find(path) {
            Some(Cell::Text(text)) => Ok(escape::write(text, *mode, sink)?),
            Some(Cell::Integer(number)) if *mode != Mode::Safe => Ok(escape::write_integer(number, sink)?),
            Some(Cell::Value(value)) if write_value(&value, *mode, sink)? => Ok(()),
            _ => self.emit_exactly(emit, sink),
        }
    }

    #[cold]
    fn emit_exactly<S: Sink + ?Sized>(&self, emit: &Emit<'a>, sink: &mut S) -> Result<(), Error> {
        Ok(sink.copy(self.run(&emit.exact)?.0.as_bytes())?)
    }

    /// What a path leads to; `None` where that is nothing, or nothing that is known here.
    #[inline]
    fn find<'f>(&'f self, path: &Path<'_>) -> Option<Cell<'f>> {
        for place in &path.variable.places {
            match *place {
                Place::Slot(slot) => match &self.frame.slots[slot] {
                    Slot::Unset => {}
                    Slot::Row(number) => return self.find_in_row(*number, path),
                    Slot::Value(value) => return follow(value.clone(), &path.attributes),
                },
                Place::Loop(number) => return self.find_in_loop(&self.frame.loops[number], path),
            }
        }
        follow(self.given.root.get_attr(path.variable.name).ok()?, &path.attributes)
    }

    #[inline]
    fn find_in_row<'f>(&'f self, number: usize, path: &Path<'_>) -> Option<Cell<'f>> {
        let bound = self.frame.loops[number].bound.as_ref()?;
        let (first, deeper) = path.attributes.split_first()?;
        let column = match path.key {
            Some(key) => bound.columns[key],
            None => bound.batch.columns().iter().position(|name| name == first),
        };
        let cell = match column {
            Some(column) => bound.batch.cell(bound.row, column),
            None => Cell::Value(bound.batch.other(bound.row, first)?),
        };
        if deeper.is_empty() { Some(cell) } else { follow(cell.into_value(), deeper) }
    }

    fn find_in_loop(&self, looped: &Looped, path: &Path<'_>) -> Option<Cell<'static>> {
        let [attribute] = path.attributes[..] else { return None };
        let value = match attribute {
            "index" => return Some(Cell::Integer(looped.index0.cast_signed() + 1)),
            "index0" => return Some(Cell::Integer(looped.index0.cast_signed())),
            "first" => looped.index0 == 0,
            "last" => looped.last,
            _ => return None,
        };
        Some(Cell::Value(value.into()))
    }

    /// Whether a condition is met.
    #[inline]
    pub(super) fn condition(&self, condition: &Condition<'a>) -> Result<bool, Error> {
        match condition.short.as_ref().and_then(|test| self.test(test)) {
            Some(met) => Ok(met),
            None => Ok(self.run(&condition.exact)?.1.is_true()),
        }
    }

    /// `None` where MiniJinja has to say.
    fn test(&self, test: &Test<'a>) -> Option<bool> {
        match test {
            Test::Truth(path) => match self.find(path)? {
                Cell::Integer(number) => Some(number != 0),
                Cell::Text(text) => Some(!text.is_empty()),
                Cell::Value(value) => known(&value).then(|| value.is_true()),
            },
            Test::Compare(left, comparison, right) => self.compare(left, *comparison, right),
            Test::Not(test) => self.test(test).map(|met| !met),
            Test::And(left, right) => Some(self.test(left)? && self.test(right)?),
            Test::Or(left, right) => Some(self.test(left)? || self.test(right)?),
        }
    }

    fn compare(&self, left: &Operand<'a>, comparison: Comparison, right: &Operand<'a>) -> Option<bool> {
        let (left, right) = (self.operand(left)?, self.operand(right)?);
        Some(match comparison {
            Comparison::Eq => left == right,
            Comparison::Ne => left != right,
            Comparison::Lt => left < right,
            Comparison::Lte => left <= right,
            Comparison::Gt => left > right,
            Comparison::Gte => left >= right,
        })
    }

    fn operand(&self, operand: &Operand<'a>) -> Option<Value> {
        match operand {
            Operand::Const(value) => Some(value.clone()),
            Operand::Path(path) => Some(self.find(path)?.into_value()).filter(known),
        }
    }

    /// The value of an expression.
    pub(super) fn value(&self, code: &Code<'a>) -> Result<Value, Error> {
        self.run(code).map(|(_, value)| value)
    }

    /// What MiniJinja writes, and what it leaves.
    pub(super) fn run(&self, code: &Code<'a>) -> Result<(String, Value), Error> {
        let values = code.variables.iter().map(|variable| self.variable(variable)).collect();
        let locals = Locals { names: Arc::clone(&code.names), values, root: self.given.root.clone() };
        let mut text = String::new();
        let result = eval(
            self.plan.env,
            &code.instructions,
            Value::from_object(locals),
            &self.plan.no_blocks,
            &mut make_string_output(&mut text),
            code.escape.clone(),
        );
        let value = result?.0.unwrap_or_default();
        Ok((text, value))
    }

    /// A variable that the template has set.
    fn variable(&self, variable: &Variable<'a>) -> Option<Value> {
        variable.places.iter().find_map(|place| match *place {
            Place::Slot(slot) => match &self.frame.slots[slot] {
                Slot::Unset => None,
                Slot::Value(value) => Some(value.clone()),
                Slot::Row(number) => {
                    let bound = self.frame.loops[*number].bound.as_ref()?;
                    Some(Value::from_object(Row { batch: Arc::clone(&bound.batch), row: bound.row }))
                }
            },
            Place::Loop(number) => {
                let Looped { index0, length, last, .. } = self.frame.loops[number];
                Some(Value::from_object(Loop { index0, length, last }))
            }
        })
    }
}

/// Whether MiniJinja would not complain about a value.
fn known(value: &Value) -> bool {
    !matches!(value.kind(), ValueKind::Undefined | ValueKind::Invalid)
}

fn follow(mut value: Value, attributes: &[&str]) -> Option<Cell<'static>> {
    for attribute in attributes {
        value = value.get_attr(attribute).ok()?;
    }
    known(&value).then_some(Cell::Value(value))
}

/// Writes a value; `false` where MiniJinja has to.
fn write_value<S: Sink + ?Sized>(value: &Value, mode: Mode, sink: &mut S) -> Result<bool, Error> {
    match value.kind() {
        ValueKind::String => match value.as_str() {
            Some(text) if value.is_safe() => sink.copy(text.as_bytes())?,
            Some(text) => escape::write(text, mode, sink)?,
            None => return Ok(false),
        },
        _ if mode == Mode::Safe => return Ok(false),
        ValueKind::Number if value.is_integer() => match value.as_i64() {
            Some(number) => escape::write_integer(number, sink)?,
            None => return Ok(false),
        },
        ValueKind::None | ValueKind::Bool | ValueKind::Number if mode != Mode::Json => {
            // The longest float has some 330 characters.
            let mut text = Vec::new();
            write!(text, "{value}")?;
            sink.copy(&text)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}
