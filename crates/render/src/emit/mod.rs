//! Walks a plan and writes.

mod frame;
mod rows;
mod value;

use crate::error::RenderError;
use crate::limits::{REPEATED_BYTES_MAX, STOP_CHECK_ITERATIONS, TEXT_BYTES_MAX};
use crate::objects::Range;
use crate::plan::{AssignTarget, For, Items, SourcePosition, TemplateNode, TemplatePlan};
use crate::rows::Source;
use bytes::Bytes;
use frame::{LoopPosition, LoopSlot, RenderFrame};
use minijinja::machinery::{Instruction, Instructions, eval, make_string_output};
use minijinja::value::ValueKind;
use minijinja::{AutoEscape, ErrorKind, Value};
use rorqual_pipe::{Control, Sink, format_size};
use std::io::Write as _;
use std::sync::Arc;

/// Input of a rendering.
pub(crate) struct RenderInput<'p> {
    pub(crate) source: Option<&'p Arc<dyn Source>>,
    pub(crate) control: &'p Control,
    /// The object in which MiniJinja looks names up: the context, and the rows.
    pub(crate) root: &'p Value,
}

/// Renders a plan into a sink.
pub(crate) fn render<S: Sink>(plan: &TemplatePlan<'_>, given: &RenderInput<'_>, sink: &mut S) -> Result<(), RenderError> {
    Emitter { plan, given, frame: RenderFrame::new(plan), iterations: 0 }.nodes(&plan.nodes, sink).map(drop)
}

/// One rendering, or a part of one.
struct Emitter<'p, 'a> {
    plan: &'p TemplatePlan<'a>,
    given: &'p RenderInput<'p>,
    frame: RenderFrame,
    /// Since somebody looked whether to stop.
    iterations: u32,
}

/// The step after a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

impl<'p, 'a> Emitter<'p, 'a> {
    fn nodes<S: Sink + ?Sized>(&mut self, nodes: &'p [TemplateNode<'a>], sink: &mut S) -> Result<Flow, RenderError> {
        for node in nodes {
            match node {
                TemplateNode::Raw(text) => sink.point(text)?,
                TemplateNode::Emit(emit) => self.emit(emit, sink)?,
                other => {
                    let flow = self.control(other, sink)?;
                    if flow != Flow::Next {
                        return Ok(flow);
                    }
                }
            }
        }
        Ok(Flow::Next)
    }

    /// The nodes that are not just written.
    fn control<S: Sink + ?Sized>(&mut self, node: &'p TemplateNode<'a>, sink: &mut S) -> Result<Flow, RenderError> {
        match node {
            TemplateNode::Raw(_) | TemplateNode::Emit(_) => {}
            TemplateNode::If(choice) => {
                let nodes = if self.condition(&choice.condition)? { &choice.yes } else { &choice.no };
                return self.nodes(nodes, sink);
            }
            TemplateNode::For(each) => self.each(each, sink)?,
            TemplateNode::Set(target, value) => {
                let value = self.value(value)?;
                self.assign(target, value)?;
            }
            TemplateNode::Capture(slot, safe, nodes) => return self.capture(*slot, *safe, nodes),
            TemplateNode::Scope(slots, nodes) => {
                self.frame.clear(slots);
                return self.nodes(nodes, sink);
            }
            TemplateNode::Run(code) => sink.copy(self.run(code)?.0.as_bytes())?,
            TemplateNode::Break => return Ok(Flow::Break),
            TemplateNode::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::Next)
    }

    fn capture(&mut self, slot: usize, safe: bool, nodes: &'p [TemplateNode<'a>]) -> Result<Flow, RenderError> {
        let mut captured = CapturedText(Vec::new());
        let flow = match self.nodes(nodes, &mut captured) {
            Err(RenderError::Write(_)) => return Err(too_long(captured.0.len())),
            result => result?,
        };
        let text = String::from_utf8_lossy(&captured.0).into_owned();
        let value = if safe { Value::from_safe_string(text) } else { Value::from(text) };
        // After a break nothing is captured.
        if flow == Flow::Next {
            self.frame.slots[slot] = LoopSlot::Value(value);
        }
        Ok(flow)
    }

    fn assign(&mut self, target: &AssignTarget<'a>, value: Value) -> Result<(), RenderError> {
        let length = value.as_bytes().map_or(0, <[u8]>::len);
        if length > TEXT_BYTES_MAX {
            return Err(too_long(length));
        }
        match target {
            AssignTarget::Slot(slot) => self.frame.slots[*slot] = LoopSlot::Value(value),
            AssignTarget::List(targets, at) => {
                let items: Option<Vec<Value>> =
                    value.as_object().and_then(|_| Some(value.try_iter().ok()?.take(targets.len() + 1).collect()));
                let Some(items) = items.filter(|items| items.len() == targets.len()) else {
                    return Err(self.failure(Some(*at), &value, Instruction::UnpackList(targets.len())));
                };
                for (target, item) in targets.iter().zip(items) {
                    self.assign(target, item)?;
                }
            }
        }
        Ok(())
    }

    /// MiniJinja's message for an instruction that fails on a value.
    fn failure(&self, at: Option<SourcePosition<'a>>, value: &Value, instruction: Instruction<'a>) -> RenderError {
        let mut instructions = Instructions::new(at.map_or("", |at| at.name), at.map_or("", |at| at.source));
        instructions.add(Instruction::LoadConst(value.clone()));
        match at {
            Some(at) => instructions.add_with_span(instruction, at.span),
            None => instructions.add(instruction),
        };
        let mut text = String::new();
        let mut out = make_string_output(&mut text);
        match eval(self.plan.env, &instructions, Value::UNDEFINED, &self.plan.no_blocks, &mut out, AutoEscape::None) {
            Err(error) => error.into(),
            Ok(_) => RenderError::template(ErrorKind::CannotUnpack, "value is not iterable"),
        }
    }

    fn each<S: Sink + ?Sized>(&mut self, each: &'p For<'a>, sink: &mut S) -> Result<(), RenderError> {
        let none = match &each.items {
            Items::Rows => self.each_row(each, sink)?,
            Items::Value { value, check } => {
                let value = self.value(value)?;
                if let (Some(range), None) = (value.downcast_object_ref::<Range>(), &each.filter) {
                    let range = range.clone();
                    match &each.body[..] {
                        // A list of names has to be met by each number, which it is not.
                        [TemplateNode::Raw(text)] if matches!(each.target, AssignTarget::Slot(_)) => {
                            self.repeat(text, range.left(), sink)?
                        }
                        _ => self.each_item(each, range, sink)?,
                    }
                } else {
                    let items = if value.is_undefined() { None } else { value.try_iter().ok() };
                    let Some(items) = items else {
                        self.run(check)?;
                        return self.nodes(&each.otherwise, sink).map(drop);
                    };
                    self.each_item(each, items, sink)?
                }
            }
        };
        self.frame.clear(&each.slots);
        if none { self.nodes(&each.otherwise, sink).map(drop) } else { Ok(()) }
    }

    /// A loop over values. Says whether there was none (or the first ended the loop: MiniJinja does
    /// not tell these apart).
    fn each_item<S: Sink + ?Sized>(
        &mut self,
        each: &'p For<'a>,
        items: impl Iterator<Item = Value>,
        sink: &mut S,
    ) -> Result<bool, RenderError> {
        let length = match items.size_hint() {
            (least, Some(most)) if least == most && each.filter.is_none() => Some(least as u64),
            _ => None,
        };
        let mut index0 = 0;
        for item in items {
            if let Some((slots, target, condition)) = &each.filter {
                self.frame.clear(slots);
                self.assign_item(target, item.clone())?;
                if !self.condition(condition)? {
                    self.iterated()?;
                    continue;
                }
            }
            if each.uses.number {
                let last = length == Some(index0 + 1);
                self.frame.loops[each.number] = LoopPosition { index0, length, last, bound: None };
            }
            if each.uses.carries {
                self.frame.clear(&each.slots);
            }
            if each.uses.target || matches!(each.target, AssignTarget::List(..)) || item.kind() == ValueKind::Invalid {
                self.assign_item(&each.target, item)?;
            }
            if self.nodes(&each.body, sink)? == Flow::Break {
                return Ok(index0 == 0);
            }
            index0 += 1;
            self.iterated()?;
        }
        Ok(index0 == 0)
    }

    /// A loop whose body is the same text each time: as many of them as make a piece that is worth
    /// pointing at.
    fn repeat<S: Sink + ?Sized>(&mut self, text: &Bytes, times: u64, sink: &mut S) -> Result<bool, RenderError> {
        let at_once = (REPEATED_BYTES_MAX / text.len()) as u64;
        let mut left = times;
        if at_once > 1 && times > at_once {
            let repeated = Bytes::from(text.repeat(at_once as usize));
            while left >= at_once {
                sink.point(&repeated)?;
                left -= at_once;
                self.stop_check()?;
            }
        }
        for _ in 0..left {
            sink.point(text)?;
            self.iterated()?;
        }
        Ok(times == 0)
    }

    fn assign_item(&mut self, target: &AssignTarget<'a>, item: Value) -> Result<(), RenderError> {
        if item.kind() == ValueKind::Invalid {
            return Err(self.failure(None, &item, Instruction::GetAttr("")));
        }
        match target {
            AssignTarget::Slot(slot) => {
                self.frame.slots[*slot] = LoopSlot::Value(item);
                Ok(())
            }
            AssignTarget::List(..) => self.assign(target, item),
        }
    }

    /// After an iteration: looks now and then whether to stop.
    #[inline]
    fn iterated(&mut self) -> Result<(), RenderError> {
        self.iterations += 1;
        if self.iterations < STOP_CHECK_ITERATIONS {
            return Ok(());
        }
        self.iterations = 0;
        self.stop_check()
    }

    fn stop_check(&self) -> Result<(), RenderError> {
        if self.given.control.stopped() { Err(RenderError::stopped()) } else { Ok(()) }
    }
}

fn too_long(bytes: usize) -> RenderError {
    let (length, most) = (format_size(bytes as u64), format_size(TEXT_BYTES_MAX as u64));
    RenderError::template(ErrorKind::InvalidOperation, format!("a variable's text has {length}: {most} is the most"))
}

/// Text that becomes a variable, of bounded length.
struct CapturedText(Vec<u8>);

impl Sink for CapturedText {
    fn copy(&mut self, piece: &[u8]) -> std::io::Result<()> {
        self.0.write_all(piece)?;
        if self.0.len() > TEXT_BYTES_MAX { Err(std::io::ErrorKind::OutOfMemory.into()) } else { Ok(()) }
    }
}
