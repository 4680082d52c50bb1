//! Expressions and conditions: straight from where the value is, or by MiniJinja.

use super::Emitter;
use super::frame::{LoopPosition, LoopSlot};
use crate::error::RenderError;
use crate::escape;
use crate::objects::{Locals, LoopVariable, TemplateRow};
use crate::plan::{
    Comparison, DelegatedCode, Emit, EscapeMode, Operand, TemplateCondition, TemplateTest, VarPath, VarSlot, Variable,
};
use crate::rows::RowCell;
use minijinja::Value;
use minijinja::machinery::{eval, make_string_output};
use minijinja::value::ValueKind;
use rorqual_pipe::Sink;
use std::io::Write;
use std::sync::Arc;

impl<'a> Emitter<'_, 'a> {
    /// Writes the value of an expression.
    #[inline]
    pub(super) fn emit<S: Sink + ?Sized>(&self, emit: &Emit<'a>, sink: &mut S) -> Result<(), RenderError> {
        let Some((path, mode)) = &emit.path else { return self.emit_exactly(emit, sink) };
        match self.find(path) {
            Some(RowCell::Text(text)) => Ok(escape::write(text, *mode, sink)?),
            Some(RowCell::Integer(number)) if *mode != EscapeMode::Safe => Ok(escape::write_integer(number, sink)?),
            Some(RowCell::Value(value)) if write_value(&value, *mode, sink)? => Ok(()),
            _ => self.emit_exactly(emit, sink),
        }
    }

    #[cold]
    fn emit_exactly<S: Sink + ?Sized>(&self, emit: &Emit<'a>, sink: &mut S) -> Result<(), RenderError> {
        Ok(sink.copy(self.run(&emit.exact)?.0.as_bytes())?)
    }

    /// The value at a path; `None` where there is none, or none that is known here.
    #[inline]
    fn find<'f>(&'f self, path: &VarPath<'_>) -> Option<RowCell<'f>> {
        for place in &path.variable.places {
            match *place {
                VarSlot::Slot(slot) => match &self.frame.slots[slot] {
                    LoopSlot::Unset => {}
                    LoopSlot::Row(number) => return self.find_in_row(*number, path),
                    LoopSlot::Value(value) => return follow(value.clone(), &path.attributes),
                },
                VarSlot::Loop(number) => return self.find_in_loop(&self.frame.loops[number], path),
            }
        }
        follow(self.given.root.get_attr(path.variable.name).ok()?, &path.attributes)
    }

    #[inline]
    fn find_in_row<'f>(&'f self, number: usize, path: &VarPath<'_>) -> Option<RowCell<'f>> {
        let bound = self.frame.loops[number].bound.as_ref()?;
        let (first, deeper) = path.attributes.split_first()?;
        let column = match path.key {
            Some(key) => bound.columns[key],
            None => bound.batch.columns().iter().position(|name| name == first),
        };
        let cell = match column {
            Some(column) => bound.batch.cell(bound.row, column),
            None => RowCell::Value(bound.batch.other(bound.row, first)?),
        };
        if deeper.is_empty() { Some(cell) } else { follow(cell.into_value(), deeper) }
    }

    fn find_in_loop(&self, looped: &LoopPosition, path: &VarPath<'_>) -> Option<RowCell<'static>> {
        let [attribute] = path.attributes[..] else { return None };
        let value = match attribute {
            "index" => return Some(RowCell::Integer(looped.index0.cast_signed() + 1)),
            "index0" => return Some(RowCell::Integer(looped.index0.cast_signed())),
            "first" => looped.index0 == 0,
            "last" => looped.last,
            _ => return None,
        };
        Some(RowCell::Value(value.into()))
    }

    /// True if a condition is met.
    #[inline]
    pub(super) fn condition(&self, condition: &TemplateCondition<'a>) -> Result<bool, RenderError> {
        match condition.short.as_ref().and_then(|test| self.test(test)) {
            Some(met) => Ok(met),
            None => Ok(self.run(&condition.exact)?.1.is_true()),
        }
    }

    /// `None` where MiniJinja has to say.
    fn test(&self, test: &TemplateTest<'a>) -> Option<bool> {
        match test {
            TemplateTest::Truth(path) => match self.find(path)? {
                RowCell::Integer(number) => Some(number != 0),
                RowCell::Text(text) => Some(!text.is_empty()),
                RowCell::Value(value) => known(&value).then(|| value.is_true()),
            },
            TemplateTest::Compare(left, comparison, right) => self.compare(left, *comparison, right),
            TemplateTest::Not(test) => self.test(test).map(|met| !met),
            TemplateTest::And(left, right) => Some(self.test(left)? && self.test(right)?),
            TemplateTest::Or(left, right) => Some(self.test(left)? || self.test(right)?),
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
    pub(super) fn value(&self, code: &DelegatedCode<'a>) -> Result<Value, RenderError> {
        self.run(code).map(|(_, value)| value)
    }

    /// The text that MiniJinja writes for a value, or `None` where that is its own affair.
    pub(super) fn run(&self, code: &DelegatedCode<'a>) -> Result<(String, Value), RenderError> {
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
            VarSlot::Slot(slot) => match &self.frame.slots[slot] {
                LoopSlot::Unset => None,
                LoopSlot::Value(value) => Some(value.clone()),
                LoopSlot::Row(number) => {
                    let bound = self.frame.loops[*number].bound.as_ref()?;
                    Some(Value::from_object(TemplateRow { batch: Arc::clone(&bound.batch), row: bound.row }))
                }
            },
            VarSlot::Loop(number) => {
                let LoopPosition { index0, length, last, .. } = self.frame.loops[number];
                Some(Value::from_object(LoopVariable { index0, length, last }))
            }
        })
    }
}

/// True if MiniJinja would not complain about a value.
fn known(value: &Value) -> bool {
    !matches!(value.kind(), ValueKind::Undefined | ValueKind::Invalid)
}

fn follow(mut value: Value, attributes: &[&str]) -> Option<RowCell<'static>> {
    for attribute in attributes {
        value = value.get_attr(attribute).ok()?;
    }
    known(&value).then_some(RowCell::Value(value))
}

/// Writes a value; `false` where MiniJinja has to.
fn write_value<S: Sink + ?Sized>(value: &Value, mode: EscapeMode, sink: &mut S) -> Result<bool, RenderError> {
    match value.kind() {
        ValueKind::String => match value.as_str() {
            Some(text) if value.is_safe() => sink.copy(text.as_bytes())?,
            Some(text) => escape::write(text, mode, sink)?,
            None => return Ok(false),
        },
        _ if mode == EscapeMode::Safe => return Ok(false),
        ValueKind::Number if value.is_integer() => match value.as_i64() {
            Some(number) => escape::write_integer(number, sink)?,
            None => return Ok(false),
        },
        ValueKind::None | ValueKind::Bool | ValueKind::Number if mode != EscapeMode::Json => {
            // The longest float has some 330 characters.
            let mut text = Vec::new();
            write!(text, "{value}")?;
            sink.copy(&text)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}
