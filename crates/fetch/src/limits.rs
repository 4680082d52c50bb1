//! Every limit of a fetch in one place, with its cost.

use std::time::Duration;

/// Bytes of one range request. Small enough that the digest, which follows the first gap, is never
/// late, large enough that the round trip between two requests costs little. Costs no memory:
/// pieces lie in the file.
pub const PIECE_BYTES: u64 = 16 << 20;

/// The buffer through which the digest reads the file back.
pub const BLOCK_BYTES: usize = 256 << 10;

/// Memory of one connection at most: the HTTP/1 read buffer of 417,792 bytes twice, one being
/// filled and one being written, and the records of TLS.
pub const CONNECTION_BYTES: u64 = 1 << 20;

/// Bytes that one HTTP/2 stream may send ahead of us; held in memory until they are written.
pub const STREAM_WINDOW_BYTES: u32 = 1 << 20;

/// Bytes that all streams of one HTTP/2 connection may send ahead of us; held in memory until they
/// are written.
pub const CONNECTION_WINDOW_BYTES: u32 = 4 << 20;

/// The largest HTTP/2 frame; one is held whole before it is written.
pub const FRAME_BYTES_MAX: u32 = 256 << 10;

/// After this many new bytes the part is flushed to the disk and its claims are written down. Costs
/// one `fdatasync`, which runs beside the transfer and keeps the last one short.
pub const SYNC_BYTES: u64 = 32 << 20;

/// After this time, too, when there are new bytes: the loss of a kill -9.
pub const SYNC_EVERY: Duration = Duration::from_millis(250);

/// Requests at the same time, when not said otherwise. Costs a connection each.
pub const PARALLEL_DEFAULT: usize = 4;

/// Time for which the first connection is watched before others join it, in the command line's
/// fetches.
pub const HELP_AFTER: Duration = Duration::from_millis(250);

/// A connection that is faster than this alone gets no company.
pub const FAST_BYTES_PER_SECOND: u64 = 128 << 20;

/// The most requests at the same time; beyond, it is an attack and not a download.
pub const PARALLEL_MAX: usize = 16;

/// Attempts without this much progress count together as one row of failures, which `retries`
/// bounds.
pub const PROGRESS_BYTES: u64 = 1 << 20;

/// Number of new beginnings from nothing, because the file changed or the server's ranges are
/// wrong.
pub const START_OVERS_MAX: u32 = 3;

/// Bytes that are taken from a rate limit at once: few, so that a slow limit does not hide the
/// clock, and enough that the oversleep of each pause does not count.
pub const THROTTLE_BYTES: usize = 32 << 10;

/// The longest pause between two attempts, unless the server asks for a longer one.
pub const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// The longest wait that a server may ask for by Retry-After.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);

/// Pause between two looks at Ctrl-C and the clock.
pub const WATCH_EVERY: Duration = Duration::from_millis(20);

/// The most that a sidecar may hold; a larger file is none of ours.
pub const SIDECAR_BYTES_MAX: u64 = 1 << 20;

/// The most that a file of certificates may hold; a machine's whole store has a tenth of that.
pub const CERTIFICATES_BYTES_MAX: u64 = 2 << 20;

/// Blocking threads: the digest, the flusher, and one for names to be resolved.
pub const BLOCKING_THREADS: usize = 3;

const _: () = assert!(STREAM_WINDOW_BYTES <= CONNECTION_WINDOW_BYTES);
