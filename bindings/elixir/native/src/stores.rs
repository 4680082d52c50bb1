//! The store.

use crate::feed::SourceArgument;
use crate::jobs::{JobHandle, JobStop, start};
use rorqual_embed::{EntryStore, OperationFailure};
use rorqual_store::{EntryReader, PutResult, Usage};
use rustler::{Atom, Encoder, Env, NifResult, Resource, ResourceArc, Term};
use std::sync::{Mutex, PoisonError};

mod atoms {
    rustler::atoms! { nil, digest, bytes, new, evicted, entries, bytes_max, leases, names }
}

/// Memory of an operation of a store: its blocks.
const STORE_BYTES: u64 = 4 << 20;

/// An open store.
pub(crate) struct StoreHandle(EntryStore);

#[rustler::resource_impl]
impl Resource for StoreHandle {}

/// An open entry, which stays as long as it is open.
pub(crate) struct EntryHandle(Mutex<Option<EntryReader>>);

#[rustler::resource_impl]
impl Resource for EntryHandle {}

fn once<T>(item: Result<T, OperationFailure>) -> Result<std::iter::Once<Result<T, OperationFailure>>, OperationFailure> {
    Ok(std::iter::once(item))
}

/// Opens a store, and makes it where there is none.
#[rustler::nif]
fn store_open(env: Env<'_>, id: u64, dir: String, bytes_max: Option<u64>) -> ResourceArc<JobHandle> {
    let open = move |_: &JobStop| once(EntryStore::open(dir.into(), bytes_max));
    start(env, id, STORE_BYTES, open, |env, store| ResourceArc::new(StoreHandle(store)).encode(env))
}

/// Takes a source in.
#[rustler::nif]
fn store_put(
    env: Env<'_>,
    id: u64,
    store: ResourceArc<StoreHandle>,
    source: SourceArgument,
    name: Option<String>,
) -> ResourceArc<JobHandle> {
    let open = move |stop: &JobStop| {
        let running = store.0.put(source.source(), name);
        stop.join(running.control());
        Ok(running)
    };
    start(env, id, STORE_BYTES, open, |env, stored: PutResult| {
        let pairs = [
            (atoms::digest(), stored.digest.to_string().encode(env)),
            (atoms::bytes(), stored.bytes.encode(env)),
            (atoms::new(), stored.new.encode(env)),
            (atoms::evicted(), stored.evicted.entries.encode(env)),
        ];
        Term::map_from_pairs(env, &pairs).unwrap_or_else(|_| Term::map_new(env))
    })
}

/// Opens an entry: `{handle, digest, bytes, path}`, or nil where there is none.
#[rustler::nif]
fn store_get(env: Env<'_>, id: u64, store: ResourceArc<StoreHandle>, key: String) -> ResourceArc<JobHandle> {
    let open = move |_: &JobStop| {
        let opened = store.0.get(&key).map(|reader| {
            reader.map(|reader| {
                let path = store.0.path(&reader.digest);
                (reader, path)
            })
        });
        once(opened)
    };
    start(env, id, STORE_BYTES, open, |env, opened: Option<(EntryReader, std::path::PathBuf)>| match opened {
        None => atoms::nil().encode(env),
        Some((reader, path)) => {
            let (digest, bytes) = (reader.digest.to_string(), reader.bytes);
            let handle = ResourceArc::new(EntryHandle(Mutex::new(Some(reader))));
            (handle, digest, bytes, path.to_string_lossy().into_owned()).encode(env)
        }
    })
}

/// Lets go of an entry.
#[rustler::nif]
fn entry_close(entry: ResourceArc<EntryHandle>) -> bool {
    entry.0.lock().unwrap_or_else(PoisonError::into_inner).take().is_some()
}

/// Removes an entry; false where there is none, or somebody holds it.
#[rustler::nif]
fn store_remove(env: Env<'_>, id: u64, store: ResourceArc<StoreHandle>, key: String) -> ResourceArc<JobHandle> {
    start(env, id, STORE_BYTES, move |_: &JobStop| once(store.0.remove(&key)), |env, removed: bool| removed.encode(env))
}

/// Totals of a store.
#[rustler::nif]
fn store_usage(env: Env<'_>, id: u64, store: ResourceArc<StoreHandle>) -> NifResult<ResourceArc<JobHandle>> {
    let open = move |_: &JobStop| once(store.0.usage());
    Ok(start(env, id, STORE_BYTES, open, |env, usage: Usage| {
        let pairs: [(Atom, u64); 5] = [
            (atoms::entries(), usage.entries),
            (atoms::bytes(), usage.bytes),
            (atoms::bytes_max(), usage.bytes_max),
            (atoms::leases(), usage.leases),
            (atoms::names(), usage.names),
        ];
        Term::map_from_pairs(env, &pairs).unwrap_or_else(|_| Term::map_new(env))
    }))
}
