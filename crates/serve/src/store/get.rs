//! `GET` and `HEAD /store/{key}`

use super::conditions::{Wanted, wanted};
use super::{Key, LeaseAsked, Shared, etag, failed, find, no_entry, not_meant, put_lease};
use crate::error::ApiError;
use crate::wire::{Files, Stretch};
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rorqual_digest::{Algorithm, Digest, Encoding};
use rorqual_store::Reader;
use std::ops::Range;

/// The bytes of an entry, sent by the kernel from its file, which stays for as long as it is sent.
pub(super) async fn get(
    State(shelf): Shared,
    Extension(files): Extension<Files>,
    Key(key): Key,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let lease = LeaseAsked::of(&headers)?;
    let reader = shelf.ask(move |store| {
        let digest = find(store, &key)?;
        let terms = lease.as_ref().map(LeaseAsked::terms);
        store.get(&digest, terms.as_ref()).map_err(failed)?.ok_or_else(|| no_entry(&key))
    });
    let reader = reader.await?;
    let (status, part) = match wanted(&headers, &method, &etag(&reader.digest), reader.bytes) {
        Wanted::Failed => return Err(not_meant()),
        Wanted::NotModified => (StatusCode::NOT_MODIFIED, None),
        Wanted::OutOfRange => (StatusCode::RANGE_NOT_SATISFIABLE, None),
        Wanted::Whole => (StatusCode::OK, Some(0..reader.bytes)),
        Wanted::Part(part) => (StatusCode::PARTIAL_CONTENT, Some(part)),
    };
    let mut response = status.into_response();
    describe(response.headers_mut(), &reader, status, part.as_ref());
    if let Some(part) = part.filter(|part| method == Method::GET && !part.is_empty()) {
        let stretch = Stretch { file: reader.file, at: part.start, length: part.end - part.start };
        *response.body_mut() = Body::new(files.body(stretch));
    }
    Ok(response)
}

fn describe(headers: &mut HeaderMap, reader: &Reader, status: StatusCode, part: Option<&Range<u64>>) {
    let mut put = |name: HeaderName, value: String| {
        // Digits and the alphabets of digests.
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    };
    put(header::ETAG, etag(&reader.digest));
    put(header::ACCEPT_RANGES, "bytes".to_owned());
    // A name may stand for another entry tomorrow.
    put(header::CACHE_CONTROL, "private, no-cache".to_owned());
    put(header::CONTENT_TYPE, "application/octet-stream".to_owned());
    if let Some(digest) = repr_digest(&reader.digest) {
        put(HeaderName::from_static("repr-digest"), digest);
    }
    match part {
        Some(part) => put(header::CONTENT_LENGTH, (part.end - part.start).to_string()),
        None if status == StatusCode::RANGE_NOT_SATISFIABLE => put(header::CONTENT_RANGE, format!("bytes */{}", reader.bytes)),
        None => {}
    }
    if let Some(part) = part.filter(|_| status == StatusCode::PARTIAL_CONTENT) {
        put(header::CONTENT_RANGE, format!("bytes {}-{}/{}", part.start, part.end - 1, reader.bytes));
    }
    put_lease(headers, reader.lease.as_ref());
}

/// The digest of the whole entry as RFC 9530 has it, whose list of algorithms knows no BLAKE3.
fn repr_digest(digest: &Digest) -> Option<String> {
    (digest.algorithm() == Algorithm::Sha256).then(|| format!("sha-256=:{}:", digest.encode(Encoding::Base64)))
}
