//! Inputs that are searched side by side, each by one thread: small files, and compressed ones.

use super::inputs::{Inputs, NamedInput};
use super::ordered_output::{OutputOrder, OutputSlot};
use super::printer::output_error;
use super::{BUFFERS_BESIDE, Results, SearchEnd, SearchLane, SearchPlan};
use crate::args::GrepArgs;
use rorqual_pipe::limits::buffers_needed;
use rorqual_pipe::{BufferPool, Control, Error, ErrorClass, Operation, each};
use rorqual_search::limits::held_bytes_max;
use rorqual_search::{SearchMode, SearchReport, Searcher};
use std::iter::{self, Peekable};
use std::sync::{Arc, Mutex, PoisonError};

/// Buffers of one lane.
pub(super) const BUFFERS: usize = buffers_needed(1) + BUFFERS_BESIDE;

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
        let mut workers = vec![self.searcher.clone(); self.threads];
        let searched = each(small, &mut workers, work, |(name, shown, found)| {
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
            if results.is_decided() { Err(decided_error()) } else { Ok(()) }
        });
        if results.is_decided() { Ok(()) } else { searched }
    }

    /// One lane for each file that is searched side by side.
    pub(super) fn make_lanes(&self, args: &GrepArgs, main: &SearchLane) -> Result<Vec<SearchLane>, Error> {
        let lane = |_| {
            let (expression, pool) = (main.expression.clone(), BufferPool::new(self.pool.buffer_bytes(), BUFFERS));
            let output = (self.output, held_bytes_max(self.memory_bytes));
            let printer = main.printer.for_lane(output, args, &expression, (&pool, &self.control), self.names);
            Ok(SearchLane { printer: printer.map_err(output_error)?, expression, pool })
        };
        (0..self.lanes_max).map(lane).collect()
    }

    /// Searches files that are one stream each, side by side.
    pub(super) fn encoded_ones(
        &self,
        inputs: impl Iterator<Item = NamedInput> + Send,
        lanes: &mut [SearchLane],
        main: &mut SearchLane,
        results: &mut Results,
    ) -> Result<(), Error> {
        let control = self.control.of_input();
        let inputs = inputs.take_while(|_| !control.stopped());
        let searched = if self.output.mode() == SearchMode::Count {
            self.summarise(inputs, &control, lanes, main, results)
        } else {
            self.print_ordered(inputs, &control, lanes, main, results)
        };
        if results.is_decided() || self.control.stopped() { Ok(()) } else { searched }
    }

    /// Searches files of which a line is printed at most.
    fn summarise(
        &self,
        inputs: impl Iterator<Item = NamedInput> + Send,
        control: &Control,
        lanes: &mut [SearchLane],
        main: &mut SearchLane,
        results: &mut Results,
    ) -> Result<(), Error> {
        let work = |lane: &mut SearchLane, named| self.search(named, lane, None, 1, &control.of_input());
        each(inputs, lanes, work, |end| {
            results.end(self, &mut main.printer, end)?;
            if results.is_decided() {
                control.stop();
            }
            self.check_goes_on(results)
        })
    }

    /// An error once nothing more is wanted. After a stop, what follows a file that was cut would
    /// look as if that one were whole.
    fn check_goes_on(&self, results: &Results) -> Result<(), Error> {
        if results.is_decided() || self.control.stopped() { Err(decided_error()) } else { Ok(()) }
    }

    /// Searches files whose lines are printed. Output is held, up to a limit, until the files
    /// before it have ended.
    fn print_ordered(
        &self,
        inputs: impl Iterator<Item = NamedInput> + Send,
        control: &Control,
        lanes: &mut [SearchLane],
        main: &mut SearchLane,
        results: &mut Results,
    ) -> Result<(), Error> {
        // It goes straight to the output, which the others share.
        main.printer.settle(true)?;
        let order = Arc::<OutputOrder>::default();
        // The number is drawn after the input: one that panics as it is opened takes none.
        let numbered = inputs.zip(0..).map(|(named, number)| (named, OutputSlot::new(&order, number, control)));
        // Locked by the one whose turn it is, also while its output waits for a reader.
        let ended = Mutex::new(&mut *results);
        let work = |lane: &mut SearchLane, (named, slot)| self.search_ordered(named, lane, slot, &ended);
        let searched = each(numbered, lanes, work, |ended| ended);
        lanes.iter_mut().for_each(|lane| main.printer.add_totals(&mut lane.printer));
        searched
    }

    fn search_ordered(
        &self,
        named: NamedInput,
        lane: &mut SearchLane,
        slot: OutputSlot,
        results: &Mutex<&mut Results>,
    ) -> Result<(), Error> {
        lane.printer.start_ordered(&slot);
        let end = self.search(named, lane, None, 1, slot.control());
        lane.printer.take_turn()?;
        let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
        results.end(self, &mut lane.printer, end)?;
        lane.printer.settle(true)?;
        self.check_goes_on(&results)?;
        slot.end();
        Ok(())
    }
}
