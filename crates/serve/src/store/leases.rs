//! `/leases`: those that are running. They are taken by the headers of a get or a put.

use super::{LeaseAsked, StoreState, failed, seconds};
use crate::http::error::ApiError;
use crate::http::extract::{PathKey, QueryParams};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use rorqual_store::EntryLease;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LeaseQuery {
    after: Option<String>,
}

pub(super) async fn list(State(shelf): StoreState, QueryParams(from): QueryParams<LeaseQuery>) -> Result<Json<Value>, ApiError> {
    let answer = shelf.ask(move |store| {
        let leases = store.leases(&from.after.unwrap_or_default()).map_err(failed)?;
        let next = leases.last().map(|lease| &lease.id);
        Ok(json!({"leases": leases.iter().map(lease_json).collect::<Vec<Value>>(), "next": next}))
    });
    answer.await.map(Json)
}

pub(super) async fn renew(State(shelf): StoreState, PathKey(id): PathKey, headers: HeaderMap) -> Result<Json<Value>, ApiError> {
    let asked = LeaseAsked::of(&headers)?.ok_or_else(|| ApiError::bad_request("Lease-Seconds is missing: how long from now"))?;
    let lease = shelf.ask(move |store| store.renew_lease(&id, asked.ttl).map_err(failed)?.ok_or_else(no_lease)).await?;
    Ok(Json(lease_json(&lease)))
}

pub(super) async fn release(State(shelf): StoreState, PathKey(id): PathKey) -> Result<StatusCode, ApiError> {
    let released = shelf.ask(move |store| store.release_lease(&id).map_err(failed)).await?;
    if released { Ok(StatusCode::NO_CONTENT) } else { Err(no_lease()) }
}

fn lease_json(lease: &EntryLease) -> Value {
    json!({
        "id": lease.id,
        "digest": lease.digest.to_string(),
        "holder": lease.holder,
        "taken": seconds(lease.taken_ms),
        "expires": seconds(lease.expires_ms),
    })
}

fn no_lease() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "no_lease", "there is no such lease, or it has expired: the entry may be gone")
}
