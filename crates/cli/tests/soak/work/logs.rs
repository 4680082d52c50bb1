//! Reports over logs, each with an analyzer of its own.

use super::{Kit, Mishap, Outcome, THREADS, closed_pipe, input, judge};
use rorqual_accesslog::Options;
use rorqual_accesslog::aggregate::SpanFilter;
use rorqual_accesslog::analyze::{AnalyzeSettings, Analyzer, Formats};
use rorqual_pipe::Control;
use rorqual_pipe::gather::Gather;
use rorqual_pipe::limits::{LINE_BYTES_MAX_DEFAULT, PROGRAM_BYTES};
use rorqual_testkit::generate::Rng;

const MEMORY_BYTES: u64 = 128 << 20;

pub(super) fn once(kit: &Kit, random: &mut Rng) -> Outcome {
    let (sample, mishap, control) = (kit.sample(random), Kit::mishap(random), Control::default());
    let settings = AnalyzeSettings {
        memory_bytes: MEMORY_BYTES,
        threads: Some(1 + random.below(THREADS)),
        line_bytes_max: LINE_BYTES_MAX_DEFAULT,
        span: SpanFilter::default(),
        formats: Formats::default(),
        feed_buffers: 1,
        kept: None,
        countries: None,
    };
    let analyzer =
        Analyzer::new(&settings, settings.shares(PROGRAM_BYTES, 1).expect("enough for two threads"), Options::default());
    let mut rejects = (mishap == Mishap::Close).then(|| Gather::new(closed_pipe(), analyzer.pool()).expect("a buffer for it"));
    let input = input(sample, mishap, &control, random);
    let ran = match analyzer.run(input, &control, |_, _| {}, rejects.as_mut()) {
        Ok(ran) => ran,
        Err(error) => return Outcome::wrong(error, sample),
    };
    let report = analyzer.report(vec![ran.source], ran.error.is_none(), 10);
    let right = report.lines.total == sample.lines;
    drop(rejects);
    if analyzer.pool().lent() > 0 {
        return Outcome::wrong(format!("{} buffers are still out", analyzer.pool().lent()), sample);
    }
    judge(mishap, ran.error.as_ref(), control.stopped(), right, sample)
}
