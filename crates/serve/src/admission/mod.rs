//! Permits of what runs at a time.

pub(crate) mod response_permits;
pub(crate) mod scheduler;

use std::sync::Arc;
use tokio::sync::Semaphore;

/// Memory for one part at a time, of all sessions, where a session's rows can lend nothing: it gets
/// on all the same, if in small parts.
pub(crate) type ChecksumBuffer = Arc<Semaphore>;
