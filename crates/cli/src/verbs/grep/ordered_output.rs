//! Output of inputs that are searched side by side, in their order.

use rorqual_pipe::Control;
use rorqual_pipe::gather::OutputFd;
use std::io::{self, ErrorKind, IoSlice, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The input that may print, of several.
#[derive(Debug, Default)]
pub(super) struct OutputOrder {
    state: Mutex<OrderState>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct OrderState {
    /// Number of the input that may print.
    next: u64,
    /// Nothing is printed any more.
    is_over: bool,
}

impl OutputOrder {
    /// Waits for the turn of an input; `false` when nothing is printed any more.
    fn wait(&self, number: u64) -> bool {
        let waits = |state: &mut OrderState| !state.is_over && state.next != number;
        let state = self.moved.wait_while(self.lock(), waits).unwrap_or_else(PoisonError::into_inner);
        !state.is_over
    }

    fn has(&self, number: u64) -> bool {
        self.lock().next == number
    }

    fn end(&self) {
        self.lock().next += 1;
        self.moved.notify_all();
    }

    fn stop(&self) {
        self.lock().is_over = true;
        self.moved.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, OrderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An input's place in the order. Dropped before [`OutputSlot::end`], as by an error or a panic, it
/// ends the output of all.
pub(super) struct OutputSlot {
    order: Arc<OutputOrder>,
    number: u64,
    /// The control of all inputs side by side, and of this one.
    all: Control,
    control: Control,
    is_ended: bool,
}

impl OutputSlot {
    /// `control` is the one of all inputs side by side.
    pub(super) fn new(order: &Arc<OutputOrder>, number: u64, control: &Control) -> Self {
        Self { order: Arc::clone(order), number, all: control.clone(), control: control.of_input(), is_ended: false }
    }

    /// The control of this input.
    pub(super) fn control(&self) -> &Control {
        &self.control
    }

    /// Gives the turn, which it has, to the next input.
    pub(super) fn end(mut self) {
        self.is_ended = true;
        self.order.end();
    }
}

impl Drop for OutputSlot {
    fn drop(&mut self) {
        if !self.is_ended {
            self.order.stop();
            self.all.stop();
        }
    }
}

/// Standard output, or a place in front of it, where the output of an input waits for its turn.
#[derive(Debug)]
pub(super) struct OrderedOutput {
    out: OutputFd,
    /// `None` once the output goes straight on.
    waiting: Option<WaitingOutput>,
    held: Vec<u8>,
    /// Lines of an input were shown before.
    shown_before: Arc<AtomicBool>,
}

#[derive(Debug)]
struct WaitingOutput {
    order: Arc<OutputOrder>,
    number: u64,
    /// Output between the lines of inputs, where some were shown before.
    gap: Vec<u8>,
}

impl OrderedOutput {
    pub(super) fn new(control: &Control) -> io::Result<Self> {
        Ok(Self { out: OutputFd::stdout(control)?, waiting: None, held: Vec::new(), shown_before: Arc::default() })
    }

    /// One for a lane, which holds up to `held_bytes_max` until its turn comes.
    pub(super) fn for_lane(&self, held_bytes_max: usize, control: &Control) -> io::Result<Self> {
        let shown_before = Arc::clone(&self.shown_before);
        Ok(Self { out: OutputFd::stdout(control)?, waiting: None, held: Vec::with_capacity(held_bytes_max), shown_before })
    }

    /// The output of another input follows.
    pub(super) fn start(&mut self, slot: &OutputSlot) {
        self.held.clear();
        self.waiting = Some(WaitingOutput { order: Arc::clone(&slot.order), number: slot.number, gap: Vec::new() });
    }

    /// Takes `gap` for the start of an input's lines. True if the caller has to write it: lines
    /// were shown before, and the output goes straight on.
    pub(super) fn needs_gap(&mut self, gap: &[u8]) -> bool {
        match &mut self.waiting {
            Some(waiting) => {
                gap.clone_into(&mut waiting.gap);
                false
            }
            None => self.shown_before.load(Ordering::Relaxed),
        }
    }

    /// Lines of an input were shown.
    pub(super) fn mark_shown(&self) {
        self.shown_before.store(true, Ordering::Relaxed);
    }

    /// Waits for the turn, and writes all that waits for it.
    ///
    /// # Errors
    /// When writing fails, or nothing is printed any more.
    pub(super) fn take_turn(&mut self) -> io::Result<()> {
        let Some(waiting) = &self.waiting else { return Ok(()) };
        if !waiting.order.wait(waiting.number) {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let gap = if self.shown_before.load(Ordering::Relaxed) { &waiting.gap[..] } else { &[] };
        let written = self.out.write_all(gap).and_then(|()| self.out.write_all(&self.held));
        // Whatever came of it, nothing is written twice.
        self.held.clear();
        self.waiting = None;
        written
    }
}

impl Write for OrderedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        if let Some(waiting) = &self.waiting {
            let length = slices.iter().map(|slice| slice.len()).sum::<usize>();
            if !waiting.order.has(waiting.number) && length <= self.held.capacity() - self.held.len() {
                slices.iter().for_each(|slice| self.held.extend_from_slice(slice));
                return Ok(length);
            }
            self.take_turn()?;
        }
        self.out.write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
