//! Every limit and time of the cluster in one place.

use std::time::Duration;

/// Version of the program; all processes of a cluster are of one.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Port of a scheduler, unless it is given.
pub(crate) const SCHEDULER_PORT: u16 = 50_050;

/// Port of an executor, unless it is given.
pub(crate) const EXECUTOR_PORT: u16 = 50_051;

/// Largest message between processes: a plan names each of its files.
pub(crate) const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// An executor that was not heard of for so long is lost, and its tasks go to others. One that is
/// busy is heard of every 5 seconds.
pub(crate) const EXECUTOR_TIMEOUT: Duration = Duration::from_secs(9);

/// A job waits so long for an executor where there is none.
pub(crate) const NO_EXECUTORS_MAX: Duration = Duration::from_secs(10);

/// A job whose client has not asked about it for so long is ended.
pub(crate) const CLIENT_TIMEOUT: Duration = Duration::from_secs(10);

/// Pause between two looks at what was not heard of.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Executors that a job may lose; with the next one it ends, as it may be what kills them.
pub(crate) const EXECUTORS_LOST_MAX: usize = 2;

/// Pause between two questions of a client about its job: short at first, then longer.
pub(crate) const ASK_EVERY: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));

/// A connection is made in so much time, or not.
pub(crate) const CONNECT_MAX: Duration = Duration::from_secs(5);

/// Pause between two signs of life on a connection, and the time in which they are answered: a
/// process that stands still is found by them.
pub(crate) const ALIVE_EVERY: Duration = Duration::from_secs(2);

/// Time in which a sign of life is answered.
pub(crate) const ALIVE_WITHIN: Duration = Duration::from_secs(4);

/// The client has so much time to end its job before the program ends.
pub(crate) const END_MAX: Duration = Duration::from_secs(2);

/// Results of a finished job are kept so long where no client removes them.
pub(crate) const RESULTS_KEPT: Duration = Duration::from_secs(3600);

/// Tries of a job whose result was lost before a row of it was taken.
pub(crate) const JOB_TRIES_MAX: usize = 3;

/// Partitions of a plan for each thread of the cluster, so that a lost executor costs little work.
pub(crate) const PARTITIONS_PER_THREAD: usize = 4;

/// Most partitions of a plan unless a flag says otherwise: each task reads a part of each of the
/// tasks before it.
pub(crate) const PARTITIONS_MAX: usize = 512;

/// Pieces of objects that an executor reads ahead for each thread.
pub(crate) const PIECES_AHEAD: usize = 2;

/// Pause between two looks at the size of the shuffle folder.
pub(crate) const SHUFFLE_LOOK_EVERY: Duration = Duration::from_millis(500);

/// A task that was asked to end has so long before another one is.
pub(crate) const TASK_END_WITHIN: Duration = Duration::from_millis(200);
