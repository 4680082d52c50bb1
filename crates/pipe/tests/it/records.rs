//! Records that a splitter finds come whole, whatever the borders of the blocks, and without the
//! bytes before and after them.

use crate::common::{BUFFERS_MIN, Pieces, TIME_MAX};
use proptest::collection::vec;
use proptest::prelude::*;
use rorqual_pipe::limits::{buffer_bytes, buffers_needed};
use rorqual_pipe::{
    BufferPool, Chunk, Control, Error, ErrorClass, Framing, Input, RecordEnds, RunPlan, SplitError, Splitter, Stage, run_records,
};
use rorqual_testkit::process::in_time;

/// Records end after `;`; bytes before `[` and from `]` on belong to none, and nothing may follow
/// `!`.
#[derive(Default)]
struct Semicolons {
    taken: u64,
    begun: bool,
    ended: bool,
    fault: Option<SplitError>,
}

impl Splitter for Semicolons {
    fn split(&mut self, bytes: &[u8]) -> Result<RecordEnds, SplitError> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let find = |from: usize, byte: u8| bytes[from..].iter().position(|b| *b == byte).map(|index| from + index);
        let start = if self.begun { Some(0) } else { find(0, b'[').map(|bracket| bracket + 1) };
        let start = if self.ended { None } else { start };
        let records = start.map_or(bytes.len()..bytes.len(), |start| {
            self.begun = true;
            let fault = find(start, b'!');
            let bracket = find(start, b']').filter(|bracket| fault.is_none_or(|fault| *bracket < fault));
            self.ended = bracket.is_some();
            self.fault = fault.filter(|_| bracket.is_none()).map(|fault| SplitError {
                offset: self.taken + fault as u64,
                message: "an exclamation".into(),
                truncated: false,
            });
            start..bracket.or(fault).unwrap_or(bytes.len())
        });
        self.taken += bytes.len() as u64;
        let ends: Vec<usize> = records.clone().filter(|&index| bytes[index] == b';').map(|index| index + 1).collect();
        let end = if self.ended || self.fault.is_some() { Some(records.end) } else { ends.last().copied() };
        Ok(RecordEnds { first_end: ends.first().copied().or(end), last_end: end, records })
    }

    fn finish(&mut self) -> Result<(), SplitError> {
        self.fault.take().map_or(Ok(()), Err)
    }
}

/// Whole records and the heads of long ones, each with its offset; and the bytes after heads.
struct Keep;

type Kept = (Vec<(u64, Vec<u8>, bool)>, Vec<u8>);

impl Stage for Keep {
    type Output = Kept;

    fn chunk(&mut self, chunk: &Chunk) -> Result<Kept, Error> {
        let whole = chunk.long_start().unwrap_or(chunk.bytes.len());
        let mut offset = chunk.offset;
        let mut records = Vec::new();
        for record in chunk.bytes[..whole].split_inclusive(|byte| *byte == b';') {
            records.push((offset, record.to_vec(), false));
            offset += record.len() as u64;
        }
        records.extend(chunk.long_start().map(|start| (offset, chunk.bytes[start..].to_vec(), true)));
        Ok((records, chunk.before.to_vec()))
    }
}

fn run(bytes: &[u8], piece_bytes: usize, record_bytes_max: usize, threads: usize, buffers: usize) -> (Vec<Kept>, Option<Error>) {
    run_split(Box::new(Semicolons::default()), bytes, piece_bytes, record_bytes_max, threads, buffers)
}

fn run_split(
    splitter: Box<dyn Splitter>,
    bytes: &[u8],
    piece_bytes: usize,
    record_bytes_max: usize,
    threads: usize,
    buffers: usize,
) -> (Vec<Kept>, Option<Error>) {
    let bytes = bytes.to_vec();
    in_time(TIME_MAX, move || {
        let pool = BufferPool::new(buffer_bytes(record_bytes_max), buffers);
        let input = Input::from_source("pieces", Box::new(Pieces::new(&bytes, piece_bytes, record_bytes_max, &pool)));
        let plan = RunPlan { framing: Framing::Records { record_bytes_max }, zstd_window_log_max: 20 };
        let mut outputs = Vec::new();
        let keep = |output| {
            outputs.push(output);
            Ok(())
        };
        let stages = |_: &[u8]| Some((0..threads).map(|_| Keep).collect());
        let finish = run_records(input, splitter, &plan, &pool, &Control::default(), stages, keep);
        assert_eq!(pool.lent(), 0, "every buffer comes home");
        (outputs, finish.error)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_block_size_gives_the_same_records(
        head in "[a-z;]{0,9}", records in vec("[a-z]{0,12};", 0..20), tail in "[a-z;]{0,9}",
        piece_bytes in prop_oneof![Just(1usize), 2usize..40, Just(1000)], threads in 1usize..=3,
    ) {
        let text = format!("{head}[{}]{tail}", records.concat());
        for buffers in [BUFFERS_MIN, buffers_needed(threads)] {
            let (outputs, error) = run(text.as_bytes(), piece_bytes, 14, threads, buffers);
            prop_assert!(error.is_none(), "{:?}", error);
            let mut offset = head.len() as u64 + 1;
            let mut seen = outputs.into_iter().flat_map(|(records, _)| records);
            for record in &records {
                prop_assert_eq!(seen.next(), Some((offset, record.clone().into_bytes(), false)));
                offset += record.len() as u64;
            }
            prop_assert_eq!(seen.next(), None);
        }
    }

    #[test]
    fn a_long_record_comes_as_its_head_and_what_follows(
        before in "[a-z]{0,5};", long in "[a-z]{40,200};", after in "[a-z]{0,5};", piece_bytes in 1usize..60,
    ) {
        let text = format!("[{before}{long}{after}]");
        let (outputs, error) = run(text.as_bytes(), piece_bytes, 10, 2, 8);
        prop_assert!(error.is_none(), "{:?}", error);
        let mut whole = Vec::new();
        let mut rest = Vec::new();
        for (records, following) in outputs {
            rest.extend(following);
            whole.extend(records);
        }
        if let Some(head) = whole.iter_mut().find(|record| record.2) {
            prop_assert_eq!(head.0, 1 + before.len() as u64);
            head.1.extend(rest);
        } else {
            prop_assert!(piece_bytes > long.len(), "it came whole, which only one within a block may");
        }
        let seen: Vec<_> = whole.into_iter().map(|record| record.1).collect();
        prop_assert_eq!(seen, [before, long, after].map(String::into_bytes));
    }
}

/// Gives the same ends for any bytes.
struct SameEnds(RecordEnds);

impl Splitter for SameEnds {
    fn split(&mut self, _: &[u8]) -> Result<RecordEnds, SplitError> {
        Ok(self.0.clone())
    }

    fn finish(&mut self) -> Result<(), SplitError> {
        Ok(())
    }
}

#[test]
fn ends_that_no_records_have_end_the_stream_with_an_error() {
    let ends = |start, end, first_end, last_end| RecordEnds { records: start..end, first_end, last_end };
    for impossible in [
        ends(0, 4, Some(2), Some(6)),
        ends(0, 9, None, None),
        ends(3, 2, None, None),
        ends(3, 8, Some(2), Some(4)),
        ends(0, 8, Some(4), Some(2)),
        ends(0, 8, None, Some(4)),
        ends(0, 8, Some(4), None),
    ] {
        let (_, error) = run_split(Box::new(SameEnds(impossible.clone())), b"a;b;c;d;", 8, 14, 1, 8);
        let error = error.expect("it is told");
        assert_eq!((error.kind(), error.offset()), (ErrorClass::Corrupt, Some(0)), "{impossible:?}");
        assert!(error.to_string().contains("a splitter gave ends that no records have"), "{error}");
    }
    let (outputs, error) = run_split(Box::new(SameEnds(ends(0, 8, Some(2), Some(8)))), b"a;b;c;d;", 8, 14, 1, 8);
    assert!(error.is_none() && outputs[0].0.len() == 4, "{outputs:?}");
}

#[test]
fn records_before_a_fault_come_first() {
    for piece_bytes in [1, 3, 100] {
        let (outputs, error) = run(b"x[a;b;!c;]", piece_bytes, 10, 1, 8);
        let error = error.expect("the fault");
        assert_eq!((error.kind(), error.offset()), (ErrorClass::Corrupt, Some(6)));
        let records: Vec<Vec<u8>> = outputs.into_iter().flat_map(|(records, _)| records).map(|record| record.1).collect();
        assert_eq!(records, [b"a;".to_vec(), b"b;".to_vec()]);
    }
}
