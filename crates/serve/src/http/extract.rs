//! Parts of a request that handlers ask for.

use crate::admission::PermitGuard;
use crate::admission::response_permits::PermitOwner;
use crate::http::disconnect_watch::DisconnectWatch;
use crate::http::error::ApiError;
use crate::limits::{JSON_BYTES_MAX, JSON_TIME_MAX};
use axum::body::{Body, HttpBody};
use axum::extract::rejection::ExtensionRejection;
use axum::extract::{Extension, FromRequestParts, Path, Query};
use axum::http::StatusCode;
use axum::http::request::Parts;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

/// The name in a path, which has to be UTF-8.
pub(crate) struct PathKey(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        path.map(|Path(key)| Self(key)).map_err(|error| ApiError::bad_request(error.body_text()))
    }
}

/// The client that asks about rows: a connection that may leave, and may have tickets.
pub(crate) struct Requester {
    pub(crate) twin: DisconnectWatch,
    pub(crate) holder: PermitOwner,
}

impl<S: Send + Sync> FromRequestParts<S> for Requester {
    type Rejection = ExtensionRejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ExtensionRejection> {
        let Extension(twin) = Extension::<DisconnectWatch>::from_request_parts(parts, state).await?;
        let Extension(holder) = Extension::<PermitOwner>::from_request_parts(parts, state).await?;
        Ok(Self { twin, holder })
    }
}

/// Parameters of the query.
pub(crate) struct QueryParams<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        query.map(|Query(asked)| Self(asked)).map_err(|error| ApiError::bad_request(error.body_text()))
    }
}

/// Reads a body of JSON; the permit is for its memory, as long as that is held.
pub(crate) async fn body_json<T: DeserializeOwned>(
    holder: &PermitOwner,
    body: Body,
) -> Result<(T, Option<PermitGuard>), ApiError> {
    let ticket = holder.body_permit(body.size_hint().exact()).await;
    let late = |_elapsed| {
        let message = format!("the body did not come within {} s", JSON_TIME_MAX.as_secs());
        ApiError::new(StatusCode::REQUEST_TIMEOUT, "too_slow", message)
    };
    let body = timeout(JSON_TIME_MAX, Limited::new(body, JSON_BYTES_MAX).collect()).await.map_err(late)?.map_err(|error| {
        if !error.is::<LengthLimitError>() {
            return ApiError::bad_request(error.to_string());
        }
        let message = format!("a body of JSON has at most {JSON_BYTES_MAX} bytes; send less at a time");
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_long", message).with("size", JSON_BYTES_MAX)
    })?;
    let body = body.to_bytes();
    let asked = serde_json::from_slice(&body).map_err(|error| ApiError::bad_request(error.to_string()))?;
    Ok((asked, ticket))
}
