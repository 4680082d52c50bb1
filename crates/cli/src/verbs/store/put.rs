//! `rorqual store put`

use super::context::{StoreContext, lease_json, terms};
use crate::args::LeaseArgs;
use crate::exit::ExitStatus;
use crate::input;
use crate::progress::Progress;
use rorqual_pipe::Error;
use rorqual_store::{PutOptions, Store};
use serde_json::json;
use std::path::Path;

pub(super) fn put(session: &StoreContext, file: &Path, name: Option<&str>, lease: &LeaseArgs) -> Result<ExitStatus, Error> {
    let input = input::open_stored(file)?;
    let size_bytes = input.size_bytes();
    let store = Store::init(&session.settings, None, None)?;
    let options = PutOptions { name, lease: terms(lease), ..PutOptions::default() };
    let stored = {
        let _progress = Progress::start(session.progress, &session.control, size_bytes);
        store.put(input, size_bytes, &options, &session.pool, &session.control)?
    };
    let object = json!({
        "schema": "rorqual.store.put/1",
        "algorithm": store.algorithm().name(),
        "digest": stored.digest.to_string(),
        "bytes": stored.bytes,
        "new": stored.new,
        "name": name,
        "evicted": {"entries": stored.evicted.entries, "bytes": stored.evicted.bytes},
        "lease": stored.lease.as_ref().map(lease_json),
    });
    session.say(&object, || match &stored.lease {
        Some(lease) => format!("{}\t{}", stored.digest, lease.id),
        None => stored.digest.to_string(),
    })?;
    Ok(ExitStatus::Done)
}
