//! Speed of one core that splits, infers and decodes JSON in memory: `json_speed FILE`. Rates are
//! of the time on the core (Linux), so that they hold on a busy machine, as far as caches go.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use bytes::Bytes;
use rorqual_columnar::json::{JsonDecoder, JsonInferrer, JsonSplitter, Layout, detect};
use rorqual_columnar::{Decode, Infer, Shape, Unplaced};
use rorqual_pipe::{Chunk, Splitter};

const BLOCK_BYTES: usize = 256 << 10;

fn main() {
    let path = std::env::args().nth(1).expect("a file");
    let bytes = Bytes::from(std::fs::read(path).expect("a readable file"));
    let layout = detect(&bytes[..bytes.len().min(BLOCK_BYTES)], bytes.len() < BLOCK_BYTES).expect("JSON");
    println!("{layout:?}, {} MB", bytes.len() / 1_000_000);
    let splitting = if layout == Layout::Lines { Layout::Documents } else { layout.clone() };
    let mut chunks = Vec::new();
    for _ in 0..3 {
        chunks = timed("split", bytes.len(), || split(&bytes, &splitting));
    }
    let mut shape = Shape::default();
    for _ in 0..2 {
        shape = timed("infer", bytes.len(), || infer(&chunks, &layout));
    }
    let schema = shape.to_schema(false);
    for _ in 0..3 {
        let rows: usize = timed("decode", bytes.len(), || {
            let mut decoder = JsonDecoder::new(&layout, &schema, Unplaced::Keep, 32 << 20);
            chunks.iter().map(|chunk| rows(&mut decoder, chunk)).sum()
        });
        println!("{rows} rows");
    }
    let two = std::sync::Arc::new(schema.project(&[0, 1]).unwrap());
    timed("decode two columns", bytes.len(), || {
        let mut decoder = JsonDecoder::new(&layout, &two, Unplaced::Ignore, 32 << 20);
        chunks.iter().map(|chunk| rows(&mut decoder, chunk)).sum::<usize>()
    });
}

fn timed<T>(name: &str, bytes: usize, work: impl FnOnce() -> T) -> T {
    let start = seconds_on_core();
    let made = work();
    println!("{name}: {:.0} MB/s", bytes as f64 / 1e6 / (seconds_on_core() - start));
    made
}

fn seconds_on_core() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    text.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

/// Chunks as the pipe cuts them.
fn split(bytes: &Bytes, layout: &Layout) -> Vec<Chunk> {
    let mut splitter = JsonSplitter::new(layout);
    let (mut chunks, mut start) = (Vec::new(), None);
    for block_start in (0..bytes.len()).step_by(BLOCK_BYTES) {
        let block_end = (block_start + BLOCK_BYTES).min(bytes.len());
        let split = splitter.split(&bytes[block_start..block_end]).unwrap();
        let from = *start.get_or_insert(block_start + split.records.start);
        if let Some(end) = split.last_end {
            let mut chunk = Chunk::empty(from as u64, usize::MAX);
            chunk.bytes = bytes.slice(from..block_start + end);
            chunks.push(chunk);
            start = Some(block_start + end);
        }
    }
    splitter.finish().unwrap();
    chunks
}

fn infer(chunks: &[Chunk], layout: &Layout) -> Shape {
    let mut inferrer = JsonInferrer::new(layout);
    let mut shape = Shape::default();
    chunks.iter().for_each(|chunk| shape.merge(inferrer.infer(chunk).unwrap().shape));
    shape
}

fn rows(decoder: &mut JsonDecoder, chunk: &Chunk) -> usize {
    let decoded = decoder.decode(chunk).unwrap();
    assert!(decoded.bad.is_empty() && decoded.misfit.is_none(), "{:?}", decoded.bad);
    decoded.batches.iter().map(arrow_array::RecordBatch::num_rows).sum()
}
