//! Loops over rows.

use super::frame::{BoundBatch, LoopPosition, LoopSlot, RenderFrame};
use super::{Emitter, Flow, RenderInput};
use crate::error::RenderError;
use crate::plan::{AssignTarget, For, TemplatePlan};
use crate::rows::{LoopBody, RowBatch, RowSequence};
use bytes::Bytes;
use rorqual_pipe::Sink;
use std::io;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

impl<'p, 'a> Emitter<'p, 'a> {
    /// A loop over rows; says whether there was none.
    pub(super) fn each_row<S: Sink + ?Sized>(&mut self, each: &'p For<'a>, sink: &mut S) -> Result<bool, RenderError> {
        let Some(source) = self.given.source else { return Ok(true) };
        // A reader of the output need not wait for the first row.
        sink.flush()?;
        let mut rows = source.open(self.given.control)?;
        if !each.uses.number && !each.uses.carries && each.filter.is_none() {
            let body = RowBody { plan: self.plan, given: self.given, frame: self.frame.clone(), each };
            return Ok(rows.render(&body, &mut SizedSink(sink))? == 0);
        }
        self.each_in_turn(each, rows.as_mut(), sink)
    }

    /// One row after another, on this thread.
    fn each_in_turn<S: Sink + ?Sized>(
        &mut self,
        each: &'p For<'a>,
        rows: &mut dyn RowSequence,
        sink: &mut S,
    ) -> Result<bool, RenderError> {
        let mut index0 = 0;
        let mut next = rows.next()?;
        while let Some(batch) = next {
            // The last row is known by the one after it.
            next = if each.uses.last { rows.next()? } else { None };
            let ends = each.uses.last && next.is_none();
            if self.batch(each, &batch, 0..batch.rows(), ends, &mut index0, sink)?.is_break() {
                break;
            }
            if !each.uses.last {
                next = rows.next()?;
            }
        }
        self.frame.loops[each.number] = LoopPosition::default();
        Ok(index0 == 0)
    }

    /// Rows of one batch, the last of which is the loop's last if it `ends`.
    fn batch<S: Sink + ?Sized>(
        &mut self,
        each: &'p For<'a>,
        batch: &Arc<dyn RowBatch>,
        rows: Range<usize>,
        ends: bool,
        index0: &mut u64,
        sink: &mut S,
    ) -> Result<ControlFlow<()>, RenderError> {
        let bound = Some(BoundBatch::new(batch, &each.keys));
        self.frame.loops[each.number] = LoopPosition { index0: *index0, length: None, last: false, bound };
        let end = batch.rows();
        for row in rows {
            let looped = &mut self.frame.loops[each.number];
            looped.index0 = *index0;
            looped.last = ends && row + 1 == end;
            if let Some(bound) = &mut looped.bound {
                bound.row = row;
            }
            self.iterated()?;
            if !self.row_meets(each)? {
                continue;
            }
            if each.uses.carries {
                self.frame.clear(&each.slots);
            }
            self.assign_row(&each.target, each.number);
            if self.nodes(&each.body, sink)? == Flow::Break {
                return Ok(ControlFlow::Break(()));
            }
            *index0 += 1;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn row_meets(&mut self, each: &'p For<'a>) -> Result<bool, RenderError> {
        let Some((slots, target, condition)) = &each.filter else { return Ok(true) };
        self.frame.clear(slots);
        self.assign_row(target, each.number);
        self.condition(condition)
    }

    fn assign_row(&mut self, target: &AssignTarget<'a>, number: usize) {
        if let AssignTarget::Slot(slot) = target {
            self.frame.slots[*slot] = LoopSlot::Row(number);
        }
    }
}

/// The body of a loop over rows whose iterations do not know of one another.
struct RowBody<'p, 'a> {
    plan: &'p TemplatePlan<'a>,
    given: &'p RenderInput<'p>,
    frame: RenderFrame,
    each: &'p For<'a>,
}

impl<'p, 'a> RowBody<'p, 'a> {
    /// One for each batch: so often somebody looks whether to stop, however few rows it has.
    fn emitter(&self) -> Result<Emitter<'p, 'a>, RenderError> {
        if self.given.control.stopped() {
            return Err(RenderError::stopped());
        }
        Ok(Emitter { plan: self.plan, given: self.given, frame: self.frame.clone(), iterations: 0 })
    }

    fn rows<S: Sink + ?Sized>(&self, batch: &Arc<dyn RowBatch>, rows: Range<usize>, sink: &mut S) -> Result<(), RenderError> {
        self.emitter()?.batch(self.each, batch, rows, false, &mut 0, sink).map(drop)
    }
}

/// Rows that are rendered before somebody looks how much that is.
const ROWS_AT_ONCE: usize = 16;

impl LoopBody for RowBody<'_, '_> {
    fn render(&self, batch: &Arc<dyn RowBatch>, rows: Range<usize>, sink: &mut dyn Sink) -> Result<(), RenderError> {
        self.rows(batch, rows, sink)
    }

    fn render_some(
        &self,
        batch: &Arc<dyn RowBatch>,
        from: usize,
        sink: &mut Vec<u8>,
        bytes_max: usize,
    ) -> Result<usize, RenderError> {
        let mut emitter = self.emitter()?;
        let (mut next, mut rows_at_once) = (from, ROWS_AT_ONCE);
        while next < batch.rows() && sink.len() < bytes_max {
            let start = sink.len();
            let end = batch.rows().min(next + rows_at_once);
            match emitter.batch(self.each, batch, next..end, false, &mut 0, &mut BoundedText { text: sink, bytes_max }) {
                Err(RenderError::Write(_)) => {
                    sink.truncate(start);
                    if rows_at_once == 1 {
                        break;
                    }
                    // Those that fit, one by one.
                    rows_at_once = 1;
                }
                rendered => {
                    rendered.map(drop)?;
                    next = end;
                }
            }
        }
        Ok(next)
    }
}

/// Text that fails to become longer than it may.
struct BoundedText<'t> {
    text: &'t mut Vec<u8>,
    bytes_max: usize,
}

impl Sink for BoundedText<'_> {
    #[inline]
    fn copy(&mut self, piece: &[u8]) -> io::Result<()> {
        if self.text.len() + piece.len() > self.bytes_max {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.text.extend_from_slice(piece);
        Ok(())
    }
}

/// Any sink as one of known size.
struct SizedSink<'s, S: ?Sized>(&'s mut S);

impl<S: Sink + ?Sized> Sink for SizedSink<'_, S> {
    fn copy(&mut self, piece: &[u8]) -> io::Result<()> {
        self.0.copy(piece)
    }

    fn point(&mut self, piece: &Bytes) -> io::Result<()> {
        self.0.point(piece)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
