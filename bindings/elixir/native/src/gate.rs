//! The memory of all operations of a node together.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Memory of a node unless it is configured.
const NODE_BYTES_DEFAULT: u64 = 512 << 20;

/// A waiting operation looks so often whether it is still wanted.
const WANTED_EVERY: Duration = Duration::from_millis(50);

struct Gate {
    shares: Mutex<NodeShares>,
    freed: Condvar,
}

struct NodeShares {
    node_bytes: u64,
    used_bytes: u64,
}

static GATE: Gate =
    Gate { shares: Mutex::new(NodeShares { node_bytes: NODE_BYTES_DEFAULT, used_bytes: 0 }), freed: Condvar::new() };

/// Memory of one operation; its drop gives it back.
pub(crate) struct NodeShare(u64);

/// Sets the memory of the node.
pub(crate) fn configure(node_bytes: u64) {
    locked().node_bytes = node_bytes;
    GATE.freed.notify_all();
}

/// Waits until there is so much memory, as long as `wanted` says yes. One operation alone has room
/// for any.
pub(crate) fn admit(bytes: u64, wanted: impl Fn() -> bool) -> Option<NodeShare> {
    let mut shares = locked();
    while shares.used_bytes > 0 && shares.used_bytes.saturating_add(bytes) > shares.node_bytes {
        if !wanted() {
            return None;
        }
        (shares, _) = GATE.freed.wait_timeout(shares, WANTED_EVERY).unwrap_or_else(PoisonError::into_inner);
    }
    shares.used_bytes += bytes;
    Some(NodeShare(bytes))
}

fn locked() -> MutexGuard<'static, NodeShares> {
    GATE.shares.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for NodeShare {
    fn drop(&mut self) {
        locked().used_bytes -= self.0;
        GATE.freed.notify_all();
    }
}
