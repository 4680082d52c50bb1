//! Lines of files and streams.

use super::{Kit, Mishap, Outcome, THREADS, closed_pipe, input, judge};
use rorqual_pipe::count::{ByteCounts, Counter};
use rorqual_pipe::decode::zstd_window_log_max;
use rorqual_pipe::{Control, Error, Framing, Operation, RunPlan};
use rorqual_testkit::generate::Rng;
use std::io::Write;

pub(super) fn once(kit: &Kit, random: &mut Rng) -> Outcome {
    let (sample, mishap, control) = (kit.sample(random), Kit::mishap(random), Control::default());
    let operation = Operation::start("count");
    let input = input(sample, mishap, &control, random);
    let plan = RunPlan { framing: Framing::Bytes, zstd_window_log_max: zstd_window_log_max(256 << 20) };
    let stages = vec![Counter { longest: true, ..Counter::default() }; 1 + random.below(THREADS)];
    let mut listener = (mishap == Mishap::Close).then(closed_pipe);
    let mut total = ByteCounts::default();
    let add = |count| {
        total = total.then(count);
        let told = listener.as_mut().map_or(Ok(()), |listener| listener.write_all(b"."));
        told.map_err(|cause| Error::io("soak", "cannot write", cause))
    };
    let error = rorqual_pipe::run(input, &plan, &kit.pool, &control, |_| Some(stages), add).error;
    let right = (total.newlines, total.bytes) == (sample.lines, sample.bytes.len() as u64);
    operation.bytes(total.bytes);
    match &error {
        None => operation.done(),
        Some(error) => operation.failed(error.kind().name()),
    }
    judge(mishap, error.as_ref(), control.stopped(), right, sample)
}
