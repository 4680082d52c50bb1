//! State shared by all scans, and errors as they travel through the engine.

use super::held::HeldFiles;
use super::object::PiecesAhead;
use super::scan_notes::ScanTallies;
use crate::args::BadRecordFlag;
use crate::budget::QueryShares;
use datafusion::error::DataFusionError;
use rorqual_columnar::ScanSettings;
use rorqual_pipe::limits::{buffer_bytes, buffers_needed};
use rorqual_pipe::{BufferPool, Control, Error};
use std::sync::{Arc, Mutex, PoisonError};

/// State shared by all scans of a process.
#[derive(Debug)]
pub struct ScanContext {
    /// Threads and memory of the process.
    pub shares: QueryShares,
    /// Blocks for stretches: a thread holds one while it works, and none while it waits.
    pub(crate) blocks: BufferPool,
    /// Files that the engine reads by itself.
    pub(crate) held: Arc<HeldFiles>,
    /// Counts bytes; it stops no reader.
    pub(crate) control: Control,
    /// Notes of the scans of a statement.
    pub tallies: ScanTallies,
    /// The stop of the statement that runs, for what reads while it is planned.
    stop: Mutex<Control>,
    /// The fate of records that are not rows, where it was said.
    pub(crate) bad: Option<BadRecordFlag>,
    /// Pieces of objects that the scans of tasks read ahead.
    pub(crate) pieces_ahead: PiecesAhead,
}

impl ScanContext {
    pub(crate) fn new(shares: QueryShares, bad: Option<BadRecordFlag>, pieces_ahead: PiecesAhead) -> Arc<Self> {
        let blocks = BufferPool::new(buffer_bytes(shares.record_bytes_max), shares.threads + 1);
        let (held, control, tallies, stop) = Default::default();
        Arc::new(Self { shares, blocks, held, control, tallies, stop, bad, pieces_ahead })
    }

    /// State of a process that works on tasks of others, which read so many pieces of objects
    /// ahead.
    #[must_use]
    pub fn of_tasks(shares: QueryShares, pieces_max: usize) -> Arc<Self> {
        Self::new(shares, None, PiecesAhead::new(pieces_max).divided(shares.threads))
    }

    /// A statement begins, which `stop` ends.
    pub(crate) fn begin(&self, stop: &Control) {
        *self.stop.lock().unwrap_or_else(PoisonError::into_inner) = stop.clone();
    }

    /// The stop of the statement that runs.
    pub(crate) fn stop(&self) -> Control {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Settings for reading one input by so many threads, with blocks of its own.
    pub(crate) fn scan(&self, threads: usize) -> ScanSettings {
        let QueryShares { record_bytes_max, zstd_window_log_max, .. } = self.shares;
        let pool = BufferPool::new(buffer_bytes(record_bytes_max), buffers_needed(threads));
        ScanSettings { pool, control: self.stop().part(), record_bytes_max, zstd_window_log_max }
    }
}

/// An error of the pipe as it travels through the engine.
pub(crate) fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
