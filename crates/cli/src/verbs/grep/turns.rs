//! Output of inputs that are searched side by side, in their order.

use rorqual_pipe::Control;
use rorqual_pipe::gather::OutputFd;
use std::io::{self, ErrorKind, IoSlice, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The input that may print, of several.
#[derive(Debug, Default)]
pub(super) struct PrintTurns {
    state: Mutex<TurnState>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct TurnState {
    /// Number of the input that may print.
    next: u64,
    /// Nothing is printed any more.
    is_over: bool,
}

impl PrintTurns {
    /// Waits for the turn of an input; `false` when nothing is printed any more.
    fn wait(&self, number: u64) -> bool {
        let waits = |state: &mut TurnState| !state.is_over && state.next != number;
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

    fn lock(&self) -> MutexGuard<'_, TurnState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An input's place in the order. Dropped before [`InputTurn::end`], as by an error or a panic, it
/// ends the output of all.
pub(super) struct InputTurn {
    turns: Arc<PrintTurns>,
    number: u64,
    /// The control of all inputs side by side, and of this one.
    all: Control,
    control: Control,
    is_ended: bool,
}

impl InputTurn {
    /// `control` is the one of all inputs side by side.
    pub(super) fn new(turns: &Arc<PrintTurns>, number: u64, control: &Control) -> Self {
        Self { turns: Arc::clone(turns), number, all: control.clone(), control: control.of_input(), is_ended: false }
    }

    /// The control of this input.
    pub(super) fn control(&self) -> &Control {
        &self.control
    }

    /// Gives the turn, which it has, to the next input.
    pub(super) fn end(mut self) {
        self.is_ended = true;
        self.turns.end();
    }
}

impl Drop for InputTurn {
    fn drop(&mut self) {
        if !self.is_ended {
            self.turns.stop();
            self.all.stop();
        }
    }
}

/// Standard output, or a place in front of it, where the output of an input waits for its turn.
#[derive(Debug)]
pub(super) struct TurnOutput {
    out: OutputFd,
    /// `None` once the output goes straight on.
    waiting: Option<WaitingOutput>,
    held: Vec<u8>,
    /// Lines of an input were shown before.
    shown_before: Arc<AtomicBool>,
}

#[derive(Debug)]
struct WaitingOutput {
    turns: Arc<PrintTurns>,
    number: u64,
    /// Output between the lines of inputs, where some were shown before.
    gap: Vec<u8>,
}

impl TurnOutput {
    pub(super) fn new(control: &Control) -> io::Result<Self> {
        Ok(Self { out: OutputFd::stdout(control)?, waiting: None, held: Vec::new(), shown_before: Arc::default() })
    }

    /// Another one beside it, which holds up to `held_bytes_max` until its turn comes.
    pub(super) fn beside(&self, held_bytes_max: usize, control: &Control) -> io::Result<Self> {
        let shown_before = Arc::clone(&self.shown_before);
        Ok(Self { out: OutputFd::stdout(control)?, waiting: None, held: Vec::with_capacity(held_bytes_max), shown_before })
    }

    /// The output of another input follows.
    pub(super) fn start(&mut self, turn: &InputTurn) {
        self.held.clear();
        self.waiting = Some(WaitingOutput { turns: Arc::clone(&turn.turns), number: turn.number, gap: Vec::new() });
    }

    /// Lines of an input begin. True if `gap` has to be written now; else that is done here.
    pub(super) fn begins(&mut self, gap: &[u8]) -> bool {
        match &mut self.waiting {
            Some(waiting) => {
                gap.clone_into(&mut waiting.gap);
                false
            }
            None => self.shown_before.load(Ordering::Relaxed),
        }
    }

    /// Lines of an input were shown.
    pub(super) fn shown(&self) {
        self.shown_before.store(true, Ordering::Relaxed);
    }

    /// Waits for the turn, and writes all that waits for it.
    ///
    /// # Errors
    /// When writing fails, or nothing is printed any more.
    pub(super) fn take_turn(&mut self) -> io::Result<()> {
        let Some(waiting) = &self.waiting else { return Ok(()) };
        if !waiting.turns.wait(waiting.number) {
            return Err(ErrorKind::BrokenPipe.into());
        }
        if self.shown_before.load(Ordering::Relaxed) {
            self.out.write_all(&waiting.gap)?;
        }
        self.out.write_all(&self.held)?;
        self.held.clear();
        self.waiting = None;
        Ok(())
    }
}

impl Write for TurnOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        if let Some(waiting) = &self.waiting {
            let length = slices.iter().map(|slice| slice.len()).sum::<usize>();
            if !waiting.turns.has(waiting.number) && length <= self.held.capacity() - self.held.len() {
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
