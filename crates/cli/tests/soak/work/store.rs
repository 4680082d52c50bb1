//! A store that all workers share, too small for everything: entries come, go, are held and are
//! read.

use super::{Kit, Mishap, Outcome, THREADS, reader};
use crate::check::Check;
use crate::samples::Sample;
use rorqual_digest::{Algorithm, Digest};
use rorqual_pipe::{BufferPool, Control, Error, ErrorClass, Input};
use rorqual_store::{LeaseTerms, PutOptions, Store, StoreSettings, Verdict};
use rorqual_testkit::generate::Rng;
use std::path::Path;
use std::time::Duration;

/// Folder of the entries; any of them may be missing at the end.
pub(crate) const BLOBS: &str = "blobs";

const TERMS: LeaseTerms<'_> = LeaseTerms { ttl: Duration::from_secs(600), holder: "soak" };

/// Opens a store with room for one entry per worker, and one more.
pub(super) fn open(folder: &Path, samples: &[Sample]) -> Store {
    let largest = samples.iter().map(|sample| sample.bytes.len() as u64).max().expect("there are samples");
    let bytes_max = (super::OPERATIONS_MAX as u64 + 1) * largest;
    Store::init(&StoreSettings::new(folder.join("store")), None, Some(bytes_max)).expect("room on the disk")
}

pub(super) fn once(kit: &Kit, random: &mut Rng) -> Outcome {
    let sample = kit.sample(random);
    let digest = Digest::parse(Algorithm::Sha256, &sample.digests[0]).expect("sha256sum prints one");
    let result = match random.below(16) {
        0 => kit.store.gc().map(|_| Outcome::Done),
        1 => kit.store.remove(&digest, false).map(|_| Outcome::Done),
        2..8 => read(kit, &digest, sample),
        _ => put(kit, &digest, sample, random),
    };
    result.unwrap_or_else(|error| Outcome::wrong(error, sample))
}

/// Reads an entry. It may have been evicted; if it is there, it is whole.
fn read(kit: &Kit, digest: &Digest, sample: &Sample) -> Result<Outcome, Error> {
    match kit.store.get(digest, None)? {
        Some(reader) if !kit.store.verify_reader(&reader, &kit.pool, &Control::default())? => {
            Ok(Outcome::wrong("an entry with other bytes", sample))
        }
        Some(_) => Ok(Outcome::Done),
        None => Ok(Outcome::Missing),
    }
}

/// Puts with a lease, and finds it while that runs, whatever the others put meanwhile.
fn put(kit: &Kit, digest: &Digest, sample: &Sample, random: &mut Rng) -> Result<Outcome, Error> {
    let (mishap, control) = (Kit::mishap(random), Control::default());
    let options = PutOptions { name: None, lease: Some(TERMS), ..PutOptions::default() };
    let size = Some(sample.bytes.len() as u64);
    let input = Input::from_reader("soak", reader(&sample.bytes, mishap, &control, random));
    let stored = match kit.store.put(input, size, &options, &kit.pool, &control) {
        Ok(stored) => stored,
        Err(error) if mishap == Mishap::Cut && error.kind() == ErrorClass::Io => return Ok(Outcome::Cut),
        Err(error) if control.stopped() && error.kind() == ErrorClass::Stopped => return Ok(Outcome::Cancelled),
        Err(error) => return Err(error),
    };
    let leased = kit.store.get(digest, None)?;
    let sound = stored.digest == *digest && leased.is_some();
    let lease = stored.lease.expect("it was asked for");
    let held = kit.store.renew_lease(&lease.id, TERMS.ttl)?.is_some() && kit.store.release_lease(&lease.id)?;
    Ok(if sound && held { Outcome::Done } else { Outcome::wrong(format!("sound: {sound}, held: {held}"), sample) })
}

/// Every entry is whole, nothing is held, and a gc finds nothing that a living process should have
/// cleared away.
pub(super) fn checks(store: &Store, pool: &BufferPool) -> Vec<Check> {
    let mut damaged = Vec::new();
    let verified = store.verify(false, THREADS, pool, &Control::default(), |checked| {
        if let Verdict::Damaged(why) = &checked.verdict {
            damaged.push(why.clone());
        }
        Ok(())
    });
    let usage = store.usage().expect("it is open");
    let collected = store.gc().expect("it is ours");
    let clean = (collected.orphans, collected.temps, collected.parts, usage.reserved_bytes) == (0, 0, 0, 0);
    vec![
        Check::new(
            "store's entries",
            verified.is_ok() && damaged.is_empty(),
            format!("{} of {} bytes, damaged: {damaged:?}", usage.entries, usage.bytes),
        ),
        Check::new("store's leases", usage.leases == 0, format!("{} running", usage.leases)),
        Check::new("store's leftovers", clean, format!("{collected:?}, {} bytes reserved", usage.reserved_bytes)),
        Check::new("store's bound", usage.bytes <= usage.bytes_max, format!("{} of {} bytes", usage.bytes, usage.bytes_max)),
    ]
}
