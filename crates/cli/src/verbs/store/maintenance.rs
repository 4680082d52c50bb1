//! `rorqual store rm`, `gc` and `verify`

use super::context::StoreContext;
use crate::exit::ExitStatus;
use crate::message;
use crate::progress::Progress;
use rorqual_pipe::{Error, format_size};
use rorqual_store::{GcResult, Removed, Usage, Verdict, VerifyResult, rebuild};
use serde_json::{Value, json};

pub(super) fn remove(session: &StoreContext, keys: &[String], force: bool) -> Result<ExitStatus, Error> {
    let store = session.open()?;
    let mut removed = Vec::new();
    for key in keys {
        let Some(digest) = session.find(&store, key)? else { continue };
        match store.remove(&digest, force)? {
            Removed::Done => removed.push(digest.to_string()),
            other => message::note(&format!("{key}: {}", outcome(other))),
        }
    }
    if session.json {
        session.say(&json!({"schema": "rorqual.store.rm/1", "removed": removed}), String::new)?;
    }
    Ok(if removed.len() == keys.len() { ExitStatus::Done } else { ExitStatus::Not })
}

/// The result of a removal, in words.
fn outcome(removed: Removed) -> String {
    match removed {
        Removed::Done => "removed".to_owned(),
        Removed::Missing => "is not in the store".to_owned(),
        Removed::Leased(leases) => format!("stays: {leases} leases are running on it (`rm --force` removes it all the same)"),
        Removed::Open => "stays: somebody is reading it".to_owned(),
    }
}

pub(super) fn gc(session: &StoreContext, anew: bool, max_size: Option<u64>) -> Result<ExitStatus, Error> {
    if anew {
        let Usage { entries, bytes, bytes_max, .. } = rebuild(&session.settings, max_size)?;
        message::note(&format!(
            "made a new index of {entries} entries ({}); the store may hold {} from now on (`rorqual store init --max-size` moves that); \
             `verify` tells whether their bytes are right",
            format_size(bytes),
            format_size(bytes_max),
        ));
    }
    let collected = session.open()?.gc()?;
    session.say(&collected_json(&collected), || collected_text(&collected))?;
    Ok(ExitStatus::Done)
}

fn collected_json(collected: &GcResult) -> Value {
    json!({
        "schema": "rorqual.store.gc/1",
        "evicted": {"entries": collected.evicted.entries, "bytes": collected.evicted.bytes},
        "leases": collected.leases,
        "orphans": collected.orphans,
        "temps": collected.temps,
        "parts": collected.parts,
        "file_bytes": collected.file_bytes,
        "foreign": collected.foreign,
    })
}

fn collected_text(collected: &GcResult) -> String {
    let GcResult { evicted, leases, orphans, temps, parts, file_bytes, foreign } = collected;
    let mut text = format!(
        "evicted {} entries ({}); removed {orphans} orphans, {temps} temporary files and {parts} old downloads ({}); forgot {leases} leases",
        evicted.entries,
        format_size(evicted.bytes),
        format_size(*file_bytes),
    );
    if *foreign > 0 {
        text.push_str(&format!("; left {foreign} files alone that are not the store's"));
    }
    text
}

pub(super) fn verify(session: &StoreContext, repair: bool) -> Result<ExitStatus, Error> {
    let store = session.open()?;
    let (mut sound, mut bytes, mut damaged) = (0_u64, 0, 0_u64);
    let mut listed = Vec::new();
    {
        let _progress = Progress::start(session.progress, &session.control, Some(store.usage()?.bytes));
        store.verify(repair, session.threads, &session.pool, &session.control, |checked| {
            bytes += checked.bytes;
            match &checked.verdict {
                Verdict::Sound => sound += 1,
                Verdict::Damaged(why) | Verdict::Unreadable(why) => {
                    damaged += 1;
                    say_damaged(checked, why);
                    if listed.len() < LISTED_MAX {
                        listed.push(damaged_json(checked, why));
                    }
                }
            }
            Ok(())
        })?;
    }
    let object = json!({
        "schema": "rorqual.store.verify/1", "sound": sound, "damaged": damaged, "bytes": bytes, "damaged_entries": listed,
    });
    session.say(&object, || format!("{sound} entries are sound ({}), {damaged} are damaged", format_size(bytes)))?;
    Ok(if damaged == 0 { ExitStatus::Done } else { ExitStatus::Not })
}

/// Damaged entries that are listed in the JSON; all are counted, and said on stderr.
const LISTED_MAX: usize = 1_000;

fn say_damaged(checked: &VerifyResult, why: &str) {
    let removed = checked.removed.map_or_else(String::new, |removed| format!("; {}", outcome(removed)));
    message::note(&format!("{why}{removed}"));
}

fn damaged_json(checked: &VerifyResult, why: &str) -> Value {
    json!({"digest": checked.digest.to_string(), "why": why, "removed": checked.removed == Some(Removed::Done)})
}
