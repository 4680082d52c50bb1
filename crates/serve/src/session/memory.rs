//! Memory of sessions: their shares.

use rorqual_accesslog::analyze::AnalysisShares;

/// Memory shared out for the sessions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionMemory {
    pub(crate) shares: AnalysisShares,
    /// Most memory of one question beside its threads.
    pub(crate) question_bytes: u64,
    /// Rows of a segment, which recorders have room for.
    pub(crate) segment_rows: usize,
    /// Recorders of a table that is read, for which there is memory apart from the shares.
    pub(crate) recorders: usize,
}
