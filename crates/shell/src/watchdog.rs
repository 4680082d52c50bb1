//! Watchdog that keeps the process below its memory where no limit knows the memory: libraries that
//! read a foreign file, a template that builds a value.

use crate::exit::ExitStatus;
use crate::message;
use rorqual_pipe::limits::PROGRAM_BYTES;
use rorqual_pipe::{ProcessWatch, format_size, stats, watch};
use std::time::Duration;

/// Pause between two looks at the resident size: in that time a core touches a few megabytes.
const EVERY: Duration = Duration::from_millis(1);

/// So close to its limit the process ends.
const MARGIN_SHARE: u64 = 16;

/// Looks at the resident size as long as it lives, and ends the process before it exceeds its
/// memory. An unfinished output is then gone: it has no name yet.
pub struct MemoryWatchdog {
    _watch: Option<ProcessWatch>,
}

impl MemoryWatchdog {
    /// Starts to look while a file is read, which is then to blame.
    pub fn reading(name: &str, memory_bytes: u64) -> Self {
        let (name, memory) = (name.to_owned(), format_size(memory_bytes));
        let why = "though it does not say so: stopped before it took more";
        Self::start(memory_bytes, move || format!("{name}: reading it takes more than --memory {memory}, {why}"))
    }

    /// Starts to look; `why` is said at the end.
    pub fn start(memory_bytes: u64, why: impl Fn() -> String + Send + 'static) -> Self {
        Self::every(EVERY, memory_bytes, why)
    }

    /// The same with so much time between two looks: for a process that rests most of its time.
    pub fn every(pause: Duration, memory_bytes: u64, why: impl Fn() -> String + Send + 'static) -> Self {
        let end_at = memory_bytes - memory_bytes / MARGIN_SHARE;
        let look = move || {
            if stats::resident_bytes().is_some_and(|resident| resident > end_at) {
                message::error(&why());
                std::process::exit(ExitStatus::Bad.code().into());
            }
        };
        // So little is refused, with the sum.
        Self { _watch: (memory_bytes >= 2 * PROGRAM_BYTES).then(|| watch(pause, look)) }
    }
}
