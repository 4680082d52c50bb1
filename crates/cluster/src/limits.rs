//! Every limit and time of the cluster in one place.

use std::time::Duration;

/// Port of a scheduler, unless it is given.
pub(crate) const SCHEDULER_PORT: u16 = 50_050;

/// Port of an executor, unless it is given.
pub(crate) const EXECUTOR_PORT: u16 = 50_051;

/// Largest message between processes: a plan names each of its files.
pub(crate) const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// An executor that was not heard of for so long is lost, and the queries that it had a part of
/// start again. One that is busy is heard of every 5 seconds.
pub(crate) const EXECUTOR_TIMEOUT: Duration = Duration::from_secs(9);

/// A job waits so long for an executor where there is none.
pub(crate) const NO_EXECUTORS_MAX: Duration = Duration::from_secs(10);

/// A job whose client has not asked about it for so long is ended.
pub(crate) const CLIENT_TIMEOUT: Duration = Duration::from_secs(10);

/// Pause between two looks at what was not heard of.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Pause between two questions of a client about its job: short at first, then longer.
pub(crate) const ASK_EVERY: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));

/// A connection is made in so much time, or not.
pub(crate) const CONNECT_MAX: Duration = Duration::from_secs(5);

/// Pause between two signs of life on a connection: a process that stands still is found by them.
pub(crate) const ALIVE_EVERY: Duration = Duration::from_secs(2);

/// Time in which a sign of life is answered.
pub(crate) const ALIVE_WITHIN: Duration = Duration::from_secs(4);

/// The client has so much time to end its job before the program ends.
pub(crate) const END_MAX: Duration = Duration::from_secs(2);

/// Files of a job that ended are removed, and once more after so long: a task that was just ended
/// may have made one.
pub(crate) const REMOVE_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// An executor that works on fewer tasks than it was given, for so long, has lost some: a
/// connection broke in the middle of an answer. Their queries start again.
pub(crate) const TASKS_MISSING_MAX: Duration = Duration::from_secs(3);

/// Requests for rows of other executors that a task has at once.
pub(crate) const FETCHES_MAX: usize = 8;

/// Bytes of rows of other executors that are on their way to a task.
pub(crate) const FETCHING_BYTES_MAX: usize = 8 << 20;

/// Streams of rows that an executor serves at once on one connection; each holds 8 MiB.
pub(crate) const STREAMS_MAX: u32 = 4;

/// Tries of a query that loses an executor. It may be what ends them, and so is not given to one
/// after the other for ever.
pub(crate) const QUERY_TRIES_MAX: usize = 3;

/// The engine's own time after which an executor is lost: the scheduler has ended the jobs by then.
pub(crate) const ENGINE_TIMEOUT: Duration = Duration::from_secs(60);

/// Partitions of a plan for each thread of the cluster, so that a lost executor costs little work.
pub(crate) const PARTITIONS_PER_THREAD: usize = 4;

/// Most partitions of a plan unless a flag says otherwise: each task reads a part of each of the
/// tasks before it.
pub(crate) const PARTITIONS_MAX: usize = 512;

/// Pieces of objects that an executor reads ahead for each thread.
pub(crate) const PIECES_AHEAD: usize = 2;

/// Pause between two looks of the scheduler at its memory, which grows with the plans of its
/// queries.
pub(crate) const MEMORY_LOOK_EVERY: Duration = Duration::from_millis(20);

/// Pause between two looks at the size of the shuffle folder.
pub(crate) const SHUFFLE_LOOK_EVERY: Duration = Duration::from_millis(500);

/// A task that was asked to end has so long before another one is.
pub(crate) const TASK_END_WITHIN: Duration = Duration::from_millis(200);

/// Time for which an executor remembers a job that has ended, and refuses its late tasks.
pub(crate) const ENDED_JOBS_KEPT: Duration = Duration::from_secs(60);

/// Least bytes of a task of a report on logs: each gives all values that it has met.
pub(crate) const REPORT_PART_BYTES_MIN: u64 = 8 << 20;

/// Parts of a report that wait for the executor's disk; each has at most some hundred KiB.
pub(crate) const REPORT_ROWS_AHEAD: usize = 2;

/// Longest request of a report: names of files, formats.
pub(crate) const REQUEST_BYTES_MAX: u32 = 64 << 20;
