//! `rorqual fetch --store`

use super::{describe, fetched, settings};
use crate::args::{Common, FetchArgs};
use crate::exit::ExitStatus;
use crate::message;
use crate::verbs::store::context::dir;
use rorqual_digest::{Algorithm, Digest, Hasher};
use rorqual_fetch::ExpectedDigest;
use rorqual_pipe::{Control, ErrorClass};
use rorqual_store::limits::INDEX_BYTES;
use rorqual_store::{PutOptions, Store, StoreSettings};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// Fetches a file beside the store's entries, and makes it one of them by a rename.
pub(super) fn run(common: &Common, args: &FetchArgs, given: &Path) -> ExitStatus {
    match stored(common, args, given) {
        Ok(exit) => exit,
        Err(text) => message::error(&text),
    }
}

fn stored(common: &Common, args: &FetchArgs, given: &Path) -> Result<ExitStatus, String> {
    let from_environment = std::env::var_os("RORQUAL_STORE");
    let given = if given.as_os_str().is_empty() { from_environment.as_deref().map(Path::new) } else { Some(given) };
    let store = Store::init(&StoreSettings::new(dir(given)?), None, None).map_err(|error| error.to_string())?;
    let algorithm = store.algorithm();
    let part = store.parts_dir().join(part_name(&args.url));
    let control = Control::with_rate_limit(common.limit_rate);
    let mut fetch = settings(&FetchArgs { force: true, ..args.clone() }, &part, &control)?;
    if !fetch.digests.iter().any(|wanted| wanted.algorithm == algorithm) {
        fetch.digests.push(ExpectedDigest { algorithm, expected: None });
    }
    let start = Instant::now();
    let fetched = match fetched(common, fetch, INDEX_BYTES, &control) {
        Ok(fetched) => fetched,
        Err(exit) => return Ok(exit),
    };
    let digest = fetched.digests.iter().find(|digest| digest.algorithm() == algorithm);
    let digest: &Digest = digest.ok_or("the fetch gave no digest")?;
    let options = PutOptions { name: args.name.as_deref(), lease: None, ..PutOptions::default() };
    let file = fetched.file.clone().ok_or("the fetch gave no file")?;
    if let Err(error) = store.adopt(&part, file, digest, &options) {
        if error.kind() == ErrorClass::Limit {
            // It will not fit the next time either.
            let _ = std::fs::remove_file(&part);
        }
        return Err(error.to_string());
    }
    let line = if args.json {
        describe(args, Path::new(&digest.to_string()), &fetched, start.elapsed()).to_string()
    } else {
        digest.to_string()
    };
    Ok(writeln!(std::io::stdout(), "{line}").map_or_else(|error| message::print_error(&error), |()| ExitStatus::Done))
}

/// The same for the same URL, so that an interrupted fetch is gone on with.
fn part_name(url: &str) -> String {
    let mut hasher = Hasher::new(Algorithm::Sha256);
    hasher.update(url.as_bytes());
    hasher.finish().to_string()
}
