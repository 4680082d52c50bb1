//! Keeps the process below its memory, where the engine's accounting misses what is taken.

use crate::exit::Exit;
use crate::limits::{CANCEL_BELOW_BYTES, END_BELOW_BYTES, GUARD_EVERY};
use crate::message;
use crate::temp::TempFolder;
use rorqual_pipe::{format_size, stats};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;

/// Looks at the resident size every few milliseconds, and at what was taken since. Near the limit it asks for the query's end, and nearer
/// ends the process.
pub(crate) struct Guard {
    shared: Arc<Shared>,
}

struct Shared {
    memory_bytes: u64,
    ended: AtomicBool,
    exceeded: Notify,
    temp: Arc<TempFolder>,
}

impl Guard {
    /// Starts to look.
    pub(crate) fn start(memory_bytes: u64, temp: &Arc<TempFolder>) -> Self {
        let shared =
            Arc::new(Shared { memory_bytes, ended: AtomicBool::new(false), exceeded: Notify::new(), temp: Arc::clone(temp) });
        let looking = Arc::clone(&shared);
        tokio::task::spawn_blocking(move || looking.look());
        Self { shared }
    }

    /// Ends when the process comes near its limit.
    pub(crate) async fn exceeded(&self) {
        self.shared.exceeded.notified().await;
    }

    /// What is said then.
    pub(crate) fn message(&self) -> String {
        self.shared.message()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn look(&self) {
        let mut data_before = u64::MAX;
        while !self.ended.load(Ordering::Relaxed) {
            let (Some(resident), Some(data)) = (stats::resident_bytes(), stats::data_bytes()) else { return };
            // What was just taken and is not touched yet will not fit either.
            let taken = data.saturating_sub(data_before);
            if resident + taken.max(END_BELOW_BYTES) > self.memory_bytes {
                self.end();
            }
            if resident + CANCEL_BELOW_BYTES > self.memory_bytes {
                self.exceeded.notify_waiters();
            }
            data_before = data;
            std::thread::sleep(GUARD_EVERY);
        }
    }

    /// An operator that does not yield can't be cancelled.
    fn end(&self) -> ! {
        self.temp.remove();
        let exit = message::error(&self.message());
        std::process::exit(i32::from(exit.max(Exit::Bad).code()));
    }

    fn message(&self) -> String {
        format!(
            "the query needs more than --memory {}: stopped before it took more, since what it holds can't be moved to the temp \
             folder. Give more --memory, or fewer --threads",
            format_size(self.memory_bytes)
        )
    }
}
