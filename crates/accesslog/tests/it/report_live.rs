//! A report while the run is on its way: never more than was parsed, and everything after a
//! silence.

use rorqual_accesslog::Options;
use rorqual_accesslog::aggregate::SpanFilter;
use rorqual_accesslog::analyze::{AnalyzeSettings, Analyzer, Formats};
use rorqual_pipe::{BlockSource, BufferPool, Control, Error, FilledBlock, Input};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

const LINE_BYTES_MAX: usize = 4096;

/// Gives blocks as they come through a channel.
struct TricklingLog {
    receiver: Receiver<Vec<u8>>,
    pool: BufferPool,
}

impl BlockSource for TricklingLog {
    fn next_block(&mut self) -> Result<Option<FilledBlock>, Error> {
        let Ok(bytes) = self.receiver.recv() else { return Ok(None) };
        let mut lease = self.pool.lease().expect("the system has memory for a test");
        let range = LINE_BYTES_MAX..LINE_BYTES_MAX + bytes.len();
        lease[range.clone()].copy_from_slice(&bytes);
        Ok(Some(FilledBlock { lease, range }))
    }
}

fn analyzer(threads: usize) -> Analyzer {
    let settings = AnalyzeSettings {
        memory_bytes: 256 << 20,
        threads: Some(threads),
        line_bytes_max: LINE_BYTES_MAX,
        span: SpanFilter::default(),
        formats: Formats::default(),
        feed_buffers: 0,
        kept: None,
        countries: None,
    };
    let shares = settings.shares(8 << 20, 1).expect("enough");
    Analyzer::new(&settings, shares, Options::default())
}

fn lines(count: u64) -> Vec<u8> {
    let line = "10.0.0.1 - - [02/Jan/2025:00:00:00 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"a\"\n";
    line.repeat(count as usize).into_bytes()
}

#[test]
fn what_was_parsed_shows_in_a_silence_on_any_number_of_threads() {
    for threads in [1, 2, 4] {
        let analyzer = Arc::new(analyzer(threads));
        let (sender, receiver) = channel();
        let source = TricklingLog { receiver, pool: analyzer.pool().clone() };
        let running = Arc::clone(&analyzer);
        let run = std::thread::spawn(move || {
            let input = Input::from_source("trickle", Box::new(source));
            running.run::<std::io::Sink>(input, &Control::default(), |_, _| {}, None).map(drop).map_err(|error| error.to_string())
        });
        let mut sent = 0;
        for burst in [1, 2, 7, 1] {
            for count in 0..burst {
                sender.send(lines(10 + count)).expect("it runs");
                sent += 10 + count;
            }
            let deadline = Instant::now() + PATIENCE;
            loop {
                let report = analyzer.report(Vec::new(), false, 10);
                let parsed = report.lines.parsed;
                assert!(parsed <= sent && report.panels.iter().all(|panel| panel.hits <= sent));
                if parsed == sent && report.panels.first().is_some_and(|panel| panel.hits == sent) {
                    break;
                }
                assert!(Instant::now() < deadline, "{threads} threads: {parsed} of {sent} lines show");
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        drop(sender);
        run.join().expect("no panic").expect("a known format");
        assert_eq!(analyzer.report(Vec::new(), true, 10).lines.total, sent);
    }
}
