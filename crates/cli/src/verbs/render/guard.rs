//! Keeps the process below its memory where a template builds what no limit knows: `x|replace('a', x)`.

use crate::exit::Exit;
use crate::message;
use rorqual_pipe::{Watch, format_size, stats, watch};
use std::time::Duration;

/// The end comes below the limit by this share of it: what a template builds between two looks.
const END_BELOW_SHARE: u64 = 8;

/// How often the resident size is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Looks at the resident size, and ends the process near its limit. A file that was being written has no name yet, and none is left.
pub(super) struct Guard {
    _watch: Watch,
}

impl Guard {
    pub(super) fn start(memory_bytes: u64) -> Self {
        let end_at = memory_bytes - memory_bytes / END_BELOW_SHARE;
        let look = move || {
            if stats::resident_bytes().is_some_and(|resident| resident > end_at) {
                message::error(&format!(
                    "the template needs more than --memory {}: stopped before it took more. It builds a value that large: a list, a \
                     text, an included block. Give more --memory",
                    format_size(memory_bytes)
                ));
                std::process::exit(Exit::Bad as i32);
            }
        };
        Self { _watch: watch(LOOK_EVERY, look) }
    }
}
