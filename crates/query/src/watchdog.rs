//! Watchdog that keeps the process below its memory, where the engine's accounting misses some.

use crate::exit::QueryExit;
use crate::limits::{CANCEL_BELOW_BYTES, END_BELOW_BYTES, GUARD_EVERY};
use crate::message;
use crate::temp::{self, TempFolder};
use rorqual_pipe::{format_size, stats};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;

/// Environment of the program that takes the place of one that had to end: its message, and the
/// folder that it removes.
const ENDED: [&str; 2] = ["RORQUAL_QUERY_ENDED", "RORQUAL_QUERY_FOLDER"];

/// Looks at the resident size every few milliseconds, and at the memory taken since. Near the limit
/// it asks for the query's end, and nearer ends the process.
pub(crate) struct QueryWatchdog {
    shared: Arc<WatchdogState>,
}

struct WatchdogState {
    memory_bytes: u64,
    threads: usize,
    ended: AtomicBool,
    exceeded: Notify,
    temp: Arc<TempFolder>,
}

impl QueryWatchdog {
    /// Starts to look.
    pub(crate) fn start(memory_bytes: u64, threads: usize, temp: &Arc<TempFolder>) -> Self {
        let (ended, exceeded, temp) = (AtomicBool::new(false), Notify::new(), Arc::clone(temp));
        let shared = Arc::new(WatchdogState { memory_bytes, threads, ended, exceeded, temp });
        let looking = Arc::clone(&shared);
        tokio::task::spawn_blocking(move || looking.look());
        Self { shared }
    }

    /// Ends when the process comes near its limit.
    pub(crate) async fn exceeded(&self) {
        self.shared.exceeded.notified().await;
    }

    /// The message then.
    pub(crate) fn message(&self) -> String {
        self.shared.message()
    }
}

impl Drop for QueryWatchdog {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
    }
}

impl WatchdogState {
    fn look(&self) {
        let mut data_before = u64::MAX;
        while !self.ended.load(Ordering::Relaxed) {
            let (Some(resident), Some(data)) = (stats::resident_bytes(), stats::data_bytes()) else { return };
            // Memory that was just taken and is not touched yet will not fit either.
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

    /// An operator that does not yield can't be cancelled. It would go on to take memory while the
    /// message waits for its reader and gigabytes are removed from the folder: this program in a
    /// new process image, which has none of its threads, does both.
    fn end(&self) -> ! {
        let [ended, folder] = ENDED;
        let message = self.message();
        if let Ok(program) = std::env::current_exe() {
            let _cannot = Command::new(program).env(ended, &message).env(folder, self.temp.path()).exec();
        }
        self.temp.remove();
        std::process::exit(i32::from(message::error(&message).code()));
    }

    fn message(&self) -> String {
        let fewer = if self.threads > 1 { ", or fewer --threads" } else { "" };
        format!(
            "the query needs more than --memory {}: stopped before it took more, since what it holds can't be moved to the temp \
             folder. Give more --memory{fewer}",
            format_size(self.memory_bytes)
        )
    }
}

/// Does the remaining work for a query that [`QueryWatchdog`] ended, where this process is there
/// for that.
pub(crate) fn clear_away() -> Option<QueryExit> {
    let [message, folder] = ENDED.map(std::env::var_os);
    let (message, folder) = (message?, folder?);
    temp::remove(Path::new(&folder));
    Some(message::error(&message.to_string_lossy()))
}
