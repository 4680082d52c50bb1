//! Watchdog that keeps the process below its memory, where the engine's accounting misses some.

use crate::exit::ExitStatus;
use crate::limits::{CANCEL_BELOW_BYTES, END_BELOW_BYTES, GUARD_EVERY};
use crate::message;
use crate::temp::{self, TempFolder};
use rorqual_pipe::{ProcessWatch, format_size, stats, watch};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use tokio::sync::Notify;

/// Stack of a thread of the runtime.
const STACK_BYTES: u64 = 2 << 20;

/// Environment of the program that takes the place of one that had to end: its message, and the
/// folder that it removes.
const ENDED: [&str; 2] = ["RORQUAL_QUERY_ENDED", "RORQUAL_QUERY_FOLDER"];

/// Looks at the resident size every few milliseconds, and at the memory taken since. Near the limit
/// it asks for the query's end, and nearer ends the process.
pub struct QueryWatchdog {
    exceeded: Arc<Notify>,
    message: String,
    _watch: ProcessWatch,
}

impl QueryWatchdog {
    /// Starts to look.
    #[must_use]
    pub fn start(memory_bytes: u64, threads: usize, temp: &Arc<TempFolder>) -> Self {
        let fewer = if threads > 1 { ", or fewer --threads" } else { "" };
        let message = format!(
            "the query needs more than --memory {}: stopped before it took more, since what it holds can't be moved to the temp \
             folder. Give more --memory{fewer}",
            format_size(memory_bytes)
        );
        let exceeded = Arc::new(Notify::new());
        let (said, asked, temp) = (message.clone(), Arc::clone(&exceeded), Arc::clone(temp));
        let mut data_before = u64::MAX;
        let look = move || {
            let (Some(resident), Some(data)) = (stats::resident_bytes(), stats::data_bytes()) else { return };
            // A file is opened by a thread of its own, of whose stack little is ever touched.
            let data = data.saturating_sub(stats::threads().unwrap_or(0) * STACK_BYTES);
            // Memory that was just taken and is not touched yet will not fit either.
            let taken = data.saturating_sub(std::mem::replace(&mut data_before, data));
            if resident + taken.max(END_BELOW_BYTES) > memory_bytes {
                end(&said, &temp);
            }
            if resident + CANCEL_BELOW_BYTES > memory_bytes {
                asked.notify_waiters();
            }
        };
        Self { exceeded, message, _watch: watch(GUARD_EVERY, look) }
    }

    /// Ends when the process comes near its limit.
    pub async fn exceeded(&self) {
        self.exceeded.notified().await;
    }

    /// The message then.
    pub(crate) fn message(&self) -> String {
        self.message.clone()
    }
}

/// An operator that does not yield can't be cancelled. It would go on to take memory while the
/// message waits for its reader and gigabytes are removed from the folder: this program in a new
/// process image, which has none of its threads, does both.
fn end(message: &str, temp: &TempFolder) -> ! {
    let [ended, folder] = ENDED;
    if let Ok(program) = std::env::current_exe() {
        let _cannot = Command::new(program).env(ended, message).env(folder, temp.path()).exec();
    }
    temp.remove();
    std::process::exit(i32::from(message::error(&message).code()));
}

/// Does the remaining work for a query that [`QueryWatchdog`] ended, where this process is there
/// for that.
#[must_use]
pub fn clear_away() -> Option<ExitStatus> {
    let [message, folder] = ENDED.map(std::env::var_os);
    let (message, folder) = (message?, folder?);
    temp::remove(Path::new(&folder));
    Some(message::error(&message.to_string_lossy()))
}
