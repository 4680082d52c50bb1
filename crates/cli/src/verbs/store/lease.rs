//! `rorqual store lease`

use super::context::{StoreContext, lease_json, one_line, print_failed, time};
use crate::args::LeaseCommand;
use crate::exit::ExitStatus;
use crate::message;
use rorqual_pipe::Error;
use rorqual_store::{EntryLease, LeaseTerms};
use serde_json::{Value, json};
use std::io::Write;
use std::time::Duration;

pub(super) fn lease(session: &StoreContext, command: &LeaseCommand) -> Result<ExitStatus, Error> {
    match command {
        LeaseCommand::Take { key, ttl, holder } => take(session, key, &LeaseTerms { ttl: *ttl, holder }),
        LeaseCommand::Renew { id, ttl } => renew(session, id, *ttl),
        LeaseCommand::Ls => list(session),
        LeaseCommand::Release { ids } => release(session, ids),
    }
}

fn take(session: &StoreContext, key: &str, terms: &LeaseTerms<'_>) -> Result<ExitStatus, Error> {
    let store = session.open()?;
    let Some(digest) = session.find(&store, key)? else { return Ok(ExitStatus::Not) };
    let Some(lease) = store.take_lease(&digest, terms)? else {
        message::note(&format!("{key}: was evicted just now"));
        return Ok(ExitStatus::Not);
    };
    session.say(&one(&lease), || lease.id.clone())?;
    Ok(ExitStatus::Done)
}

fn renew(session: &StoreContext, id: &str, ttl: Duration) -> Result<ExitStatus, Error> {
    let Some(lease) = session.open()?.renew_lease(id, ttl)? else { return Ok(over(id)) };
    session.say(&one(&lease), || time(lease.expires_ms))?;
    Ok(ExitStatus::Done)
}

fn release(session: &StoreContext, ids: &[String]) -> Result<ExitStatus, Error> {
    let store = session.open()?;
    let mut exit = ExitStatus::Done;
    let mut released = Vec::new();
    for id in ids {
        if store.release_lease(id)? {
            released.push(id);
        } else {
            exit = exit.max(over(id));
        }
    }
    if session.json {
        session.say(&json!({"schema": "rorqual.store.release/1", "released": released}), String::new)?;
    }
    Ok(exit)
}

fn over(id: &str) -> ExitStatus {
    message::note(&format!("{id}: no such lease, or it has expired"));
    ExitStatus::Not
}

fn one(lease: &EntryLease) -> Value {
    let mut object = lease_json(lease);
    object["schema"] = json!("rorqual.store.lease/1");
    object
}

fn list(session: &StoreContext) -> Result<ExitStatus, Error> {
    let store = session.open()?;
    let mut out = session.stdout()?;
    let mut separator = "";
    if session.json {
        write!(out, "{{\"schema\":\"rorqual.store.leases/1\",\"leases\":[").map_err(print_failed)?;
    }
    store.for_each_lease(|lease| {
        let written = if session.json {
            let row = write!(out, "{separator}\n{}", lease_json(lease));
            separator = ",";
            row
        } else {
            let holder = one_line(&lease.holder);
            writeln!(out, "{}", format!("{} {} {} {holder}", lease.id, lease.digest, time(lease.expires_ms)).trim_end())
        };
        written.map_err(print_failed)
    })?;
    if session.json {
        writeln!(out, "\n]}}").map_err(print_failed)?;
    }
    out.flush().map_err(print_failed)?;
    Ok(ExitStatus::Done)
}
