//! Keeps the process below its memory where a foreign file makes the libraries that read it take more than it says.

use crate::exit::Exit;
use crate::message;
use rorqual_pipe::limits::PROGRAM_BYTES;
use rorqual_pipe::{format_size, stats};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// How often the resident size is looked at: in that time a core touches a few megabytes.
const EVERY: Duration = Duration::from_millis(1);

/// So close to its limit the process ends.
const MARGIN_SHARE: u64 = 16;

/// Looks at the resident size as long as it lives, and ends the process before it exceeds its memory. What is being written is then
/// gone: it has no name yet.
pub(crate) struct Guard(Arc<AtomicBool>);

impl Guard {
    /// Starts to look. `name` is the file that is to blame.
    pub(crate) fn start(name: &str, memory_bytes: u64) -> Self {
        // So little is refused, with the sum, once the file's footer is known.
        let ended = Arc::new(AtomicBool::new(memory_bytes < 2 * PROGRAM_BYTES));
        let (seen, name) = (Arc::clone(&ended), name.to_owned());
        // Without the thread there is what the file says of itself.
        let look = std::thread::Builder::new().stack_size(64 << 10).name("guard".to_owned());
        let _ = look.spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                let Some(resident) = stats::resident_bytes() else { return };
                if resident + memory_bytes / MARGIN_SHARE > memory_bytes {
                    end(&name, memory_bytes);
                }
                sleep(EVERY);
            }
        });
        Self(ended)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn end(name: &str, memory_bytes: u64) -> ! {
    let memory = format_size(memory_bytes);
    message::error(&format!(
        "{name}: reading it takes more than --memory {memory}, though it does not say so: stopped before it took more"
    ));
    std::process::exit(Exit::Bad.code().into());
}
