//! The river: bytes of any amount through a fixed amount of memory.
//!
//! * An [`Input`] is a file that workers read side by side, or a stream that one reader cuts into
//!   blocks.
//! * A [`Stage`] turns one [`Chunk`] after another into an output; there is one stage a worker.
//! * A sink takes the outputs in the order of the input, whichever worker finished first.
//!
//! [`run`] joins the three. All payload memory is leased from one [`BufferPool`]; a lease waits
//! while the pool is empty, and that wait is the back pressure. This crate opens no socket, starts
//! no async runtime and prints nothing.

pub mod allocator;
mod budget;
mod chunk;
mod control;
pub mod count;
pub mod decode;
mod descriptor;
mod error;
mod escape;
mod file;
mod follow;
pub mod gather;
mod held;
mod holes;
mod input;
pub mod limits;
pub mod open_files;
mod pool;
mod reorder_buffer;
mod resumable_run;
mod run;
mod semaphore;
pub mod setting;
mod sink;
mod size;
mod splitter;
pub mod stats;
mod stream;
mod throttle;
pub mod whole_file;

pub use budget::{Budget, BudgetError};
pub use chunk::{Chunk, ChunkLine, ChunkLines, Framing, RunPlan};
pub use control::Control;
pub use error::{Error, ErrorClass, reason};
pub use escape::{escaped, escaped_args, escaped_line, escaped_path};
pub use file::FileRanges;
pub use follow::{AppendedLines, FollowStatus, FollowedLines, last_line_end};
pub use held::{FileGrowth, FileVersion, HeldFile, is_at};
pub use input::Input;
pub use pool::{BufferPool, Lease};
pub use resumable_run::ResumableRun;
pub use run::{Background, Finish, ProcessWatch, Stage, beside, each, run, run_records, watch};
pub use semaphore::{Operation, Permit, Semaphore};
pub use setting::Setting;
pub use sink::Sink;
pub use size::{ParseSizeError, format_size, format_size_up, parse_size};
pub use splitter::{RecordEnds, SplitError, Splitter};
pub use stream::{BlockReader, BlockSource, Blocks, FilledBlock, ResumePoint};
