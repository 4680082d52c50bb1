//! `rorqual store ls` and `stat`

use super::context::{StoreContext, one_line, print_failed, time};
use crate::exit::ExitStatus;
use rorqual_pipe::{Error, format_size};
use rorqual_store::{StoreEntry, Usage};
use serde_json::{Value, json};
use std::io::Write;

/// Lists all, a row at a time: a store may have millions.
pub(super) fn entries(session: &StoreContext) -> Result<ExitStatus, Error> {
    let store = session.open()?;
    let mut out = session.stdout()?;
    let mut separator = "";
    if session.json {
        write!(out, "{{\"schema\":\"rorqual.store.ls/1\",\"entries\":[").map_err(print_failed)?;
    }
    store.for_each(|entry| {
        let written = if session.json {
            let row = write!(out, "{separator}\n{}", entry_json(entry));
            separator = ",";
            row
        } else {
            writeln!(out, "{}", entry_text(entry))
        };
        written.map_err(print_failed)
    })?;
    if session.json {
        writeln!(out, "\n]}}").map_err(print_failed)?;
    }
    out.flush().map_err(print_failed)?;
    Ok(ExitStatus::Done)
}

fn entry_text(entry: &StoreEntry) -> String {
    let leases = if entry.leases == 0 { "-".to_owned() } else { format!("{} leased", entry.leases) };
    let names: Vec<String> = entry.names.iter().map(|name| one_line(name)).collect();
    let text = format!("{} {:>12} {} {leases} {}", entry.digest, entry.bytes, time(entry.accessed_ms), names.join(", "));
    text.trim_end().to_owned()
}

fn entry_json(entry: &StoreEntry) -> Value {
    json!({
        "digest": entry.digest.to_string(),
        "bytes": entry.bytes,
        "stored": time(entry.stored_ms),
        "accessed": time(entry.accessed_ms),
        "names": entry.names,
        "leases": entry.leases,
    })
}

pub(super) fn entry(session: &StoreContext, key: &str) -> Result<ExitStatus, Error> {
    let store = session.open()?;
    let Some(digest) = session.find(&store, key)? else { return Ok(ExitStatus::Not) };
    let Some(entry) = store.entry(&digest)? else { return Ok(ExitStatus::Not) };
    let path = store.path(&digest).to_string_lossy().into_owned();
    let mut object = entry_json(&entry);
    object["schema"] = json!("rorqual.store.entry/1");
    object["algorithm"] = json!(store.algorithm().name());
    object["path"] = json!(path);
    session.say(&object, || {
        let names: Vec<String> = entry.names.iter().map(|name| one_line(name)).collect();
        let rows = [
            ("digest", format!("{}:{digest}", store.algorithm())),
            ("bytes", entry.bytes.to_string()),
            ("stored", time(entry.stored_ms)),
            ("accessed", time(entry.accessed_ms)),
            ("names", names.join(", ")),
            ("leases", entry.leases.to_string()),
            ("path", one_line(&path)),
        ];
        rows_text(&rows)
    })?;
    Ok(ExitStatus::Done)
}

pub(super) fn usage(session: &StoreContext) -> Result<ExitStatus, Error> {
    let store = session.open()?;
    let usage = store.usage()?;
    let dir = store.dir().to_string_lossy().into_owned();
    session.say(&usage_json(&usage, &dir), || usage_text(&usage, &dir))?;
    Ok(ExitStatus::Done)
}

fn usage_json(usage: &Usage, dir: &str) -> Value {
    json!({
        "schema": "rorqual.store.stat/1",
        "dir": dir,
        "algorithm": usage.algorithm.name(),
        "entries": usage.entries,
        "bytes": usage.bytes,
        "bytes_max": usage.bytes_max,
        "leases": usage.leases,
        "leased_entries": usage.leased_entries,
        "leased_bytes": usage.leased_bytes,
        "names": usage.names,
        "reserved_bytes": usage.reserved_bytes,
    })
}

fn usage_text(usage: &Usage, dir: &str) -> String {
    let size = |bytes| format!("{bytes} ({})", format_size(bytes));
    rows_text(&[
        ("store", one_line(dir)),
        ("algorithm", usage.algorithm.to_string()),
        ("entries", usage.entries.to_string()),
        ("bytes", size(usage.bytes)),
        ("at most", size(usage.bytes_max)),
        ("leased", format!("{} in {} entries, by {} leases", size(usage.leased_bytes), usage.leased_entries, usage.leases)),
        ("names", usage.names.to_string()),
        ("reserved", size(usage.reserved_bytes)),
    ])
}

fn rows_text(rows: &[(&str, String)]) -> String {
    let lines: Vec<String> = rows.iter().map(|(name, value)| format!("{name:<10} {value}").trim_end().to_owned()).collect();
    lines.join("\n")
}
