//! Fate of a session over the end of its server.

use crate::common::rorqual;
use crate::lives::End;
use crate::op::Op;
use serde_json::Value;
use std::time::{Duration, Instant};

/// True if a server that keeps no sessions over its end has failed.
const STATE_REQUIRED: bool = true;

/// A session that was made so shortly before its server was killed may not have come to the disk.
const CHECKPOINT_TIME_MAX: Duration = Duration::from_secs(2);

/// A session into which nothing came for so long may have given its place away.
const DISPLACED_AFTER: Duration = Duration::from_secs(3);

/// The longest line that a session holds, and the start of a log that tells no format yet.
const LINE_BYTES_MAX: u64 = 256 << 10;

/// True if `serve` has `--state`.
pub(crate) fn supported() -> bool {
    let has = rorqual(&["serve", "--help"]).run().exits(0).text().contains("--state");
    assert!(has || !STATE_REQUIRED, "`rorqual serve` has no --state");
    has
}

/// A session as its client knew it before its server ended.
pub(crate) struct Known<'a> {
    pub(crate) id: &'a str,
    pub(crate) made: Instant,
    /// Bytes of it were taken then.
    pub(crate) seen: Instant,
    /// Told by the server.
    pub(crate) acknowledged: u64,
    /// Given to the network at all.
    pub(crate) sent: u64,
    pub(crate) finished: bool,
    /// All of it was sent: it may have finished, and its answer been lost.
    pub(crate) whole: bool,
    /// A decoder can't be left in the middle: its log begins anew.
    pub(crate) compressed: bool,
}

/// Answer of the next life about it.
pub(crate) enum Fate {
    Gone,
    Kept,
}

/// Looks at a session in the next life. Without `--state` it has to be gone; with it, to be there,
/// under its id, as far as it was.
pub(crate) fn after_restart(op: &mut Op<'_>, known: &Known<'_>, ends: &[End]) -> Option<Fate> {
    let session = listed(op, known.id)?;
    if !op.kit.state {
        if session.is_some() {
            op.wrong(&format!("{}: a server without --state knows a session of its last life", known.id));
        }
        return Some(Fate::Gone);
    }
    let killed = ends.contains(&End::Killed);
    let Some(session) = session else {
        // It may also have been displaced, or finished, and its rows have gone to others: the
        // checkpoint goes with them.
        let displaced = known.whole || known.seen.elapsed() >= DISPLACED_AFTER;
        let young = killed && known.made.elapsed() < CHECKPOINT_TIME_MAX * (ends.len() as u32 + 1);
        if !(displaced || young) {
            op.wrong(&format!("{}: the session is gone after {ends:?}", known.id));
        }
        return Some(Fate::Gone);
    };
    judge(op, known, &session, killed);
    Some(Fate::Kept)
}

fn judge(op: &Op<'_>, known: &Known<'_>, session: &Value, killed: bool) {
    let (state, offset) = (session["state"].as_str().unwrap_or_default(), session["offset"].as_u64().unwrap_or(u64::MAX));
    // An unfinished line comes again from its start.
    let least = if killed || known.compressed { 0 } else { known.acknowledged.saturating_sub(LINE_BYTES_MAX) };
    if offset > known.sent || offset < least {
        op.wrong(&format!(
            "{}: offset {offset} after a restart, {} sent, {} acknowledged",
            known.id, known.sent, known.acknowledged
        ));
    }
    let displaced = state == "failed" && session["error"]["code"] == "displaced";
    let right = if known.finished {
        state == "finished" || killed
    } else {
        matches!(state, "interrupted" | "waiting" | "finished" | "receiving")
    };
    if !(right || displaced) {
        op.wrong(&format!("{}: {state} after a restart: {session}", known.id));
    }
}

/// The session as the list has it; `None` within where it does not.
fn listed(op: &mut Op<'_>, id: &str) -> Option<Option<Value>> {
    let list = op.get("/api/sessions")?.json();
    let sessions = list["sessions"].as_array()?;
    Some(sessions.iter().find(|session| session["id"] == id).cloned())
}
