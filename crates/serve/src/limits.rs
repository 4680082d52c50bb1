//! Every limit of the server in one place, with the memory it costs.

use std::time::Duration;

/// Analyses that may run at the same time.
pub const SESSIONS_MAX_DEFAULT: usize = 4;

/// Ended sessions that are kept for looking at; the oldest goes first. Each holds its timeline and its last
/// report, and no tables.
pub(crate) const ENDED_SESSIONS_MAX: usize = 8;

/// What an ended session holds at most.
pub(crate) const ENDED_SESSION_BYTES: u64 = 4 << 20;

/// Connections at a time; further ones wait in the kernel's queue.
pub(crate) const CONNECTIONS_MAX: usize = 32;

/// What a connection's read buffer may grow to. Large enough that an upload is read at memory speed.
pub(crate) const CONNECTION_BUFFER_BYTES: usize = 256 << 10;

/// What one connection may hold: its read buffer twice over (the old one lives until its last slice is copied on) and
/// an answer being written.
pub(crate) const CONNECTION_BYTES: u64 = 3 * CONNECTION_BUFFER_BYTES as u64;

/// The process before any session: code, runtime, page, allocator. Measured: 9 MiB.
pub(crate) const PROGRAM_BYTES: u64 = 20 << 20;

/// Blocks of an upload beside those of its run: the one being filled and those that wait for the run.
pub(crate) const FEED_BUFFERS: usize = 1 + FEED_QUEUE;

/// Filled blocks that wait for the run.
pub(crate) const FEED_QUEUE: usize = 2;

/// A block that is not full is handed on after this long, so that a slow upload is seen as it comes.
pub(crate) const FEED_PATIENCE: Duration = Duration::from_millis(150);

/// An upload that sends nothing for this long is taken for interrupted.
pub(crate) const UPLOAD_IDLE_MAX: Duration = Duration::from_secs(60);

/// A request's head has to arrive within this time.
pub(crate) const HEAD_TIME_MAX: Duration = Duration::from_secs(10);

/// Bytes of a JSON body.
pub(crate) const JSON_BYTES_MAX: usize = 64 << 10;

/// Least time between two live reports of a session; making one must also not take more than a tenth of it.
pub(crate) const LIVE_INTERVAL: Duration = Duration::from_millis(200);

/// Rows of each table in a report.
pub(crate) const TOP_ROWS: usize = 100;

/// Buckets of a zoomed histogram, by default and at most.
pub(crate) const BUCKETS: (usize, usize) = (400, 2000);

/// Bytes of a session's name.
pub(crate) const NAME_BYTES_MAX: usize = 1024;
