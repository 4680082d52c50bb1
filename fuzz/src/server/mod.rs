//! The fuzz targets of the server: foreign bytes in, a panic when a promise is broken.
//!
//! They reach the inside of `rorqual-serve` by its module `fuzzing`, which is there for them and
//! for tests; its unit tests include this file and run every target over its corpus.

mod http;
mod requests;
mod socket;
mod state;

pub use http::http;
pub use requests::requests;
pub use socket::socket;
pub use state::state;

use rorqual_accesslog::aggregate::SpanFilter;
use rorqual_accesslog::analyze::{AnalyzeSettings, Formats};
use rorqual_serve::{Access, Config};
use std::time::Duration;

type Target = fn(&[u8]);

/// Every target of the server by its name, which is also its folder in `corpus/`.
pub const TARGETS: [(&str, Target); 4] = [("http", http), ("requests", requests), ("socket", socket), ("state", state)];

/// A server with little memory, few sessions and open probes.
fn config() -> Config {
    Config {
        reading: 1,
        files_open: 0,
        followed_together: 0,
        state: None,
        cache: None,
        port: 0,
        access: Access { open_probes: true, ..Access::default() },
        sessions_max: 3,
        connections_max: 4,
        idle_max: Duration::from_secs(1 << 20),
        rate_limit: None,
        has_tables: false,
        table_opener: None,
        settings: AnalyzeSettings {
            memory_bytes: 512 << 20,
            threads: Some(1),
            line_bytes_max: 64 << 10,
            span: SpanFilter::default(),
            formats: Formats::default(),
            feed_buffers: 0,
            kept: None,
            countries: None,
        },
        spill: None,
        rendering: None,
        store: None,
        page: |_, _, _| Ok(()),
        fleet: None,
        carriers: Vec::new(),
    }
}

/// Lines of the combined format, every tenth of them none.
fn log(lines: usize) -> Vec<u8> {
    let line = |number: usize| {
        let (minute, second, path, status) = (number / 60 % 60, number % 60, number % 7, [200, 304, 404, 500][number % 4]);
        let line = format!(
            "10.0.0.{} - - [02/Jan/2025:00:{minute:02}:{second:02} +0000] \"GET /p{path} HTTP/1.1\" {status} {number} \"-\" \"agent {}\"\n",
            number % 5,
            number % 3
        );
        if number % 10 == 9 { format!("no line {number}\n") } else { line }
    };
    (0..lines).flat_map(|number| line(number).into_bytes()).collect()
}

/// Choices that an input makes, a byte each; the first of all once it is used up.
struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    fn byte(&mut self) -> u8 {
        let Some((byte, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *byte
    }

    fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Up to so many bytes as they are.
    fn bytes(&mut self, most: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        bytes
    }

    fn is_over(&self) -> bool {
        self.0.is_empty()
    }
}

/// Bytes in pieces whose sizes follow from one number; 0 leaves them whole.
fn pieces(bytes: &[u8], seed: u8) -> Vec<&[u8]> {
    if seed == 0 {
        return vec![bytes];
    }
    let (mut rest, mut state, mut pieces) = (bytes, seed, Vec::new());
    while !rest.is_empty() {
        state = state.wrapping_mul(13).wrapping_add(7);
        // Many short ones, and some that are longer than most frames.
        let length = if state.is_multiple_of(4) { usize::from(state) * 3 } else { usize::from(state % 13) };
        let (piece, behind) = rest.split_at(rest.len().min(1 + length));
        pieces.push(piece);
        rest = behind;
    }
    pieces
}
