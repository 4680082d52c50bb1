//! The content-addressed store over HTTP, where `serve --store` was given.

pub(crate) mod conditions;
mod get;
mod leases;
mod put;

use crate::admission::{Admission, PermitKind, PermitPool};
use crate::http::body::BodyPermits;
use crate::http::error::ApiError;
use crate::http::extract::{PathKey, QueryParams};
use crate::http::routes::RouteTable;
use crate::limits::{PUT_BLOCKS, READ_BLOCKS};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use rorqual_digest::Digest;
use rorqual_pipe::limits::BLOCK_BYTES;
use rorqual_pipe::{Error, ErrorClass};
use rorqual_store::{EntryLease, KeyMatch, LeaseTerms, Removed, Store, StoreEntry};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// A store, and slots for puts, and for reads through TLS.
pub(crate) struct StoreService {
    store: Store,
    puts: Arc<BodyPermits>,
    reads: Arc<BodyPermits>,
    asks: PermitPool,
}

type StoreState = State<Arc<StoreService>>;

impl StoreService {
    pub(crate) fn new(store: Store, admission: &Admission) -> Arc<Self> {
        let places = |kind, blocks| BodyPermits::new(admission.pool(kind), BLOCK_BYTES, blocks);
        Arc::new(Self {
            store,
            puts: places(PermitKind::Put, PUT_BLOCKS),
            reads: places(PermitKind::Read, READ_BLOCKS),
            asks: admission.pool(PermitKind::StoreQuestion),
        })
    }

    /// An answer of the store, from a thread that may wait for the disk and for other processes.
    async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        ask: impl FnOnce(&Store) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let shelf = Arc::clone(self);
        let _turn = self.asks.acquire().await;
        let asked = tokio::task::spawn_blocking(move || ask(&shelf.store)).await;
        asked.unwrap_or_else(|error| Err(ApiError::internal(error)))
    }
}

/// All below `/store` and `/leases`.
pub(crate) fn routes() -> RouteTable<Arc<StoreService>> {
    RouteTable::new()
        .get("/store", list)
        .post("/store", put::nameless)
        .get("/store/{*key}", get::get)
        .put("/store/{*key}", put::keyed)
        .delete("/store/{*key}", remove)
        .get("/leases", leases::list)
        .post("/leases/{id}", leases::renew)
        .delete("/leases/{id}", leases::release)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    after: Option<String>,
}

/// A page of the entries by digest, and the totals of the store.
async fn list(State(shelf): StoreState, QueryParams(from): QueryParams<ListQuery>) -> Result<Json<Value>, ApiError> {
    let answer = shelf.ask(move |store| {
        let after = from.after.map(|text| {
            Digest::parse(store.algorithm(), &text).ok_or_else(|| ApiError::bad_request(format!("after={text} is no digest")))
        });
        let (entries, next) = store.entries(after.transpose()?.as_ref()).map_err(failed)?;
        let usage = store.usage().map_err(failed)?;
        Ok(json!({
            "algorithm": usage.algorithm.name(),
            "bytes": usage.bytes,
            "bytes_max": usage.bytes_max,
            "count": usage.entries,
            "leases": usage.leases,
            "entries": entries.iter().map(entry_json).collect::<Vec<Value>>(),
            "next": next.map(|next| next.to_string()),
        }))
    });
    answer.await.map(Json)
}

fn entry_json(entry: &StoreEntry) -> Value {
    json!({
        "digest": entry.digest.to_string(),
        "bytes": entry.bytes,
        "stored": seconds(entry.stored_ms),
        "accessed": seconds(entry.accessed_ms),
        "names": entry.names,
        "leases": entry.leases,
    })
}

fn seconds(ms: u64) -> f64 {
    ms as f64 / 1e3
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Removal {
    #[serde(default)]
    force: bool,
}

async fn remove(
    State(shelf): StoreState,
    PathKey(key): PathKey,
    QueryParams(removal): QueryParams<Removal>,
    headers: HeaderMap,
) -> Result<StatusCode, ApiError> {
    let held = |why: String| Err(ApiError::new(StatusCode::CONFLICT, "held", why));
    let work = move |store: &Store| {
        let digest = find(store, &key)?;
        if conditions::fails(&headers, &etag(&digest)) {
            return Err(not_meant());
        }
        match store.remove(&digest, removal.force).map_err(failed)? {
            Removed::Done => Ok(StatusCode::NO_CONTENT),
            Removed::Missing => Err(no_entry(&key)),
            Removed::Leased(count) => {
                held(format!("{count} leases are running on this entry (force=true removes it all the same)"))
            }
            Removed::Open => held("somebody is reading this entry; try again later".to_owned()),
        }
    };
    shelf.ask(work).await
}

/// The entry that `key` stands for.
fn find(store: &Store, key: &str) -> Result<Digest, ApiError> {
    match store.find(key).map_err(failed)? {
        KeyMatch::One(digest) => Ok(digest),
        KeyMatch::Many => {
            Err(ApiError::new(StatusCode::CONFLICT, "ambiguous", "several digests start like that; give more digits"))
        }
        KeyMatch::None => Err(no_entry(key)),
    }
}

fn etag(digest: &Digest) -> String {
    format!("\"{digest}\"")
}

/// A lease that the headers ask for: duration and holder.
struct LeaseAsked {
    ttl: Duration,
    holder: String,
}

impl LeaseAsked {
    fn of(headers: &HeaderMap) -> Result<Option<Self>, ApiError> {
        let Some(seconds) = headers.get("lease-seconds") else { return Ok(None) };
        let seconds = seconds.to_str().ok().and_then(|text| text.parse().ok());
        let seconds: u64 = seconds.ok_or_else(|| ApiError::bad_request("Lease-Seconds is a whole number of seconds"))?;
        let holder = headers.get("lease-holder").map_or(Ok(""), |holder| holder.to_str());
        let holder = holder.map_err(|_| ApiError::bad_request("Lease-Holder is not of visible ASCII characters"))?.to_owned();
        let asked = Self { ttl: Duration::from_secs(seconds), holder };
        asked.terms().check().map_err(|error| ApiError::bad_request(error.to_string()))?;
        Ok(Some(asked))
    }

    fn terms(&self) -> LeaseTerms<'_> {
        LeaseTerms { ttl: self.ttl, holder: &self.holder }
    }
}

fn full(what: &str, places: &BodyPermits) -> ApiError {
    let message = format!("{} {what} are going on, which is the limit; try again later", places.count());
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "store_busy", message).retry_after(1)
}

fn no_entry(key: &str) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "no_entry", format!("{key} is not in the store"))
}

fn not_meant() -> ApiError {
    ApiError::new(StatusCode::PRECONDITION_FAILED, "other_entry", "the entry is not the one that If-Match names")
}

/// A failure of the store. An authorised client may know its folder.
#[expect(clippy::needless_pass_by_value, reason = "map_err gives it")]
fn failed(error: Error) -> ApiError {
    let (status, code) = match error.kind() {
        ErrorClass::Limit => (StatusCode::INSUFFICIENT_STORAGE, "store_full"),
        ErrorClass::Mismatch => (StatusCode::UNPROCESSABLE_ENTITY, "digest_mismatch"),
        ErrorClass::Corrupt => (StatusCode::INTERNAL_SERVER_ERROR, "damaged"),
        ErrorClass::Stopped | ErrorClass::Truncated => (StatusCode::BAD_REQUEST, "interrupted"),
        ErrorClass::Io => (StatusCode::INTERNAL_SERVER_ERROR, "store_failed"),
    };
    ApiError::new(status, code, error.to_string())
}

/// Names the lease that was taken.
fn put_lease(headers: &mut HeaderMap, lease: Option<&EntryLease>) {
    let Some(lease) = lease else { return };
    let expires = format!("{:.3}", seconds(lease.expires_ms));
    for (name, value) in [("lease-id", &lease.id), ("lease-expires", &expires)] {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
}
