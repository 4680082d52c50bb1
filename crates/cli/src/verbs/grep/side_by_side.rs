//! Inputs that are searched side by side, each by one thread: small files, and compressed ones.

use super::inputs::{Inputs, NamedInput};
use super::turns::{InputTurn, PrintTurns};
use super::{Results, SearchEnd, SearchLane, SearchPlan};
use crate::args::GrepArgs;
use crate::verbs::grep::BUFFERS_BESIDE;
use crate::verbs::grep::printer::output_error;
use rorqual_pipe::limits::buffers_needed;
use rorqual_pipe::{BufferPool, Error, ErrorClass, Operation, each};
use rorqual_search::{SearchReport, Searcher};
use std::iter::{self, Peekable};
use std::sync::{Arc, Mutex, PoisonError};

/// Share of the memory for the output of a file that waits for its turn: 4 MiB of 256 MiB.
const HELD_SHARE: u64 = 64;

/// Buffers of one lane.
pub(super) const fn buffers() -> usize {
    buffers_needed(1) + BUFFERS_BESIDE
}

/// Output of one file that waits for its turn, in bytes.
pub(super) fn held_bytes_max(memory_bytes: u64) -> usize {
    usize::try_from(memory_bytes / HELD_SHARE).unwrap_or(usize::MAX)
}

fn decided_error() -> Error {
    Error::new(ErrorClass::Stopped, "", "the answer is known")
}

/// `first` and the inputs after it that are alike.
pub(super) fn alike(
    first: NamedInput,
    is_alike: fn(&NamedInput) -> bool,
    inputs: &mut Peekable<Inputs<'_>>,
) -> impl Iterator<Item = NamedInput> + Send {
    let next = move || inputs.next_if(|next| next.as_ref().is_ok_and(is_alike)).and_then(Result::ok);
    iter::once(first).chain(iter::from_fn(next))
}

impl SearchPlan {
    /// Searches small files, each by one worker.
    pub(super) fn small_ones(
        &self,
        inputs: impl Iterator<Item = NamedInput> + Send,
        lane: &mut SearchLane,
        results: &mut Results,
    ) -> Result<(), Error> {
        let small = inputs.take_while(|_| !self.control.stopped());
        let work = |searcher: &mut Searcher, NamedInput { name, input, .. }: NamedInput| {
            let operation = Operation::start("grep");
            let shown = input.name().to_owned();
            let found = input.into_chunk(&self.plan, &self.pool, &self.control).map(|(chunk, error)| {
                operation.bytes(chunk.bytes.len() as u64);
                (searcher.found(chunk), error)
            });
            operation.ended(found.as_ref().map_or_else(Some, |(_, error)| error.as_ref()));
            (name, shown, found)
        };
        let mut decided = false;
        let mut workers = vec![self.searcher.clone(); self.threads];
        let searched = rorqual_pipe::each(small, &mut workers, work, |(name, shown, found)| {
            match found {
                Err(error) => results.fail(&error),
                Ok((found, error)) => {
                    lane.printer.start(&name);
                    let SearchLane { expression, printer, .. } = &mut *lane;
                    let searcher = self.searcher.clone();
                    let mut report = SearchReport::new(self.settings, &shown, expression, searcher, None, printer);
                    let taken = report.take(found).and_then(|()| report.sink().settle(self.line_buffered));
                    let ended = report.finish();
                    let error = taken.err().or(error);
                    results.end(self, &mut lane.printer, SearchEnd { name, shown, error, ended })?;
                }
            }
            decided = results.is_decided();
            if decided { Err(decided_error()) } else { Ok(()) }
        });
        match searched {
            Err(_) if decided => Ok(()),
            searched => searched,
        }
    }

    /// One lane for each file that is searched side by side.
    pub(super) fn lanes(&self, args: &GrepArgs, main: &SearchLane) -> Result<Vec<SearchLane>, Error> {
        let lane = |_| {
            let (expression, pool) = (main.expression.clone(), BufferPool::new(self.pool.buffer_bytes(), buffers()));
            let held_bytes_max = held_bytes_max(self.memory_bytes);
            let printer = main.printer.beside(held_bytes_max, args, &expression, (&pool, &self.control), self.names);
            Ok(SearchLane { printer: printer.map_err(output_error)?, expression, pool })
        };
        (0..self.lanes).map(lane).collect()
    }

    /// Searches files that are one stream each, side by side. Each prints when those before it have
    /// ended; what it has found by then waits, up to a limit.
    pub(super) fn encoded_ones(
        &self,
        inputs: impl Iterator<Item = NamedInput> + Send,
        lanes: &mut [SearchLane],
        main: &mut SearchLane,
        results: &mut Results,
    ) -> Result<(), Error> {
        // It goes straight to the output, which the others share.
        main.printer.settle(true)?;
        let (turns, control) = (Arc::<PrintTurns>::default(), self.control.of_input());
        let encoded = (0..).zip(inputs.take_while(|_| !self.control.stopped()));
        let ended = Mutex::new(&mut *results);
        let work = |lane: &mut SearchLane, (number, named): (u64, NamedInput)| {
            self.one_in_turn(named, lane, InputTurn::new(&turns, number, &control), &ended)
        };
        let searched = each(encoded, lanes, work, |ended| ended);
        lanes.iter_mut().for_each(|lane| main.printer.absorb(&mut lane.printer));
        match searched {
            Err(_) if results.is_decided() => Ok(()),
            searched => searched,
        }
    }

    fn one_in_turn(
        &self,
        named: NamedInput,
        lane: &mut SearchLane,
        turn: InputTurn,
        results: &Mutex<&mut Results>,
    ) -> Result<(), Error> {
        lane.printer.start_in_turn(&turn);
        let end = self.search(named, lane, None, 1, turn.control());
        lane.printer.take_turn()?;
        let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
        results.end(self, &mut lane.printer, end)?;
        lane.printer.settle(true)?;
        if results.is_decided() {
            return Err(decided_error());
        }
        turn.end();
        Ok(())
    }
}
