//! Flags of both programs, and the answer to wrong ones.

use crate::exit::ExitStatus;
use clap::{Args, Parser};
use rorqual_pipe::{Setting, escaped_args, parse_size};

/// Memory of the process unless a flag says otherwise.
const MEMORY_BYTES_DEFAULT: u64 = 256 << 20;

/// Flags of every verb about the process.
#[derive(Debug, Clone, Args)]
pub struct ProcessArgs {
    /// Limit on the resident memory of the whole process, whatever the input; in bytes, or with K,
    /// M, G or T (powers of 1,024, as are KB and KiB) [default: 256MiB; serve: 1GiB]
    #[arg(long, global = true, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,
    /// Number of worker threads [default: one per core, or as many as the memory has room for]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// At the end, print one JSON object on stderr: bytes, seconds, peak memory, and other counts
    /// of the verb
    #[arg(long, global = true)]
    pub stats: bool,
}

impl ProcessArgs {
    /// Limit on the memory, 256 MiB by default.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.memory.unwrap_or(MEMORY_BYTES_DEFAULT)
    }

    /// Number of threads as asked for, or else one a core, but at most `default_max`.
    #[must_use]
    pub fn threads_or(&self, default_max: usize) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.map_or_else(|| cores().min(default_max), usize::from)
    }
}

/// Words as flags the settings that libraries name.
pub fn word_settings() {
    Setting::word_by(|setting, f| match setting.command() {
        "" => write!(f, "--{}", setting.name()),
        command => write!(f, "`rorqual {command} --{}`", setting.name()),
    });
}

/// Value of a flag that is a size.
///
/// # Errors
/// A sentence for people, where it is none.
pub fn size(text: &str) -> Result<u64, String> {
    parse_size(text).map_err(|error| error.to_string())
}

/// Tells the fault of the arguments, as if they had no control characters: they may be names of
/// foreign files.
#[must_use]
pub fn refused<P: Parser>(error: clap::Error) -> ExitStatus {
    let error = P::try_parse_from(escaped_args()).err().unwrap_or(error);
    let _ = error.print();
    if error.use_stderr() { ExitStatus::Bad } else { ExitStatus::Done }
}
