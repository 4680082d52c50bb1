//! `GET` and `HEAD /store/{key}`

use super::conditions::{RangeRequest, wanted};
use super::{LeaseAsked, StoreState, etag, failed, find, full, no_entry, not_meant, put_lease};
use crate::http::body::BodyWorkPermit;
use crate::http::error::ApiError;
use crate::http::extract::PathKey;
use crate::http::sendfile::{FileRange, PromisedFiles};
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use rorqual_digest::{Algorithm, Digest, DigestForm};
use rorqual_pipe::BufferPool;
use rorqual_store::EntryReader;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// The bytes of an entry, sent by the kernel from its file, or read and encrypted; it stays for as
/// long as it is sent.
pub(super) async fn get(
    State(shelf): StoreState,
    files: Option<Extension<PromisedFiles>>,
    PathKey(key): PathKey,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = LeaseAsked::of(&headers)?;
    let reader = shelf.ask(move |store| {
        let digest = find(store, &key)?;
        store.get(&digest, None).map_err(failed)?.ok_or_else(|| no_entry(&key))
    });
    let mut reader = reader.await?;
    let (status, part) = match wanted(&headers, &method, &etag(&reader.digest), reader.bytes) {
        RangeRequest::Failed => return Err(not_meant()),
        RangeRequest::NotModified => (StatusCode::NOT_MODIFIED, None),
        RangeRequest::OutOfRange => (StatusCode::RANGE_NOT_SATISFIABLE, None),
        RangeRequest::Whole => (StatusCode::OK, Some(0..reader.bytes)),
        RangeRequest::Part(part) => (StatusCode::PARTIAL_CONTENT, Some(part)),
    };
    let sent = part.clone().filter(|part| method == Method::GET && !part.is_empty());
    let place = match &sent {
        Some(_) if files.is_none() => Some(shelf.reads.take().ok_or_else(|| full("reads", &shelf.reads))?),
        _ => None,
    };
    // Taken once nothing can fail any longer, as the answer tells its id; the open file keeps the
    // entry until then.
    if let Some(asked) = asked.filter(|_| method == Method::GET && part.is_some()) {
        let digest = reader.digest;
        reader.lease = shelf.ask(move |store| store.take_lease(&digest, &asked.terms()).map_err(failed)).await?;
    }
    let mut response = status.into_response();
    describe(response.headers_mut(), &reader, status, part.as_ref());
    if let Some(part) = sent {
        let stretch = FileRange { file: reader.file, at: part.start, length: part.end - part.start };
        *response.body_mut() = match (files, place) {
            (Some(Extension(files)), _) => Body::new(files.body(stretch)),
            (None, Some(place)) => read(stretch, place),
            (None, None) => Body::empty(),
        };
    }
    Ok(response)
}

fn describe(headers: &mut HeaderMap, reader: &EntryReader, status: StatusCode, part: Option<&Range<u64>>) {
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
        // As a GET without conditions would say (RFC 9110, 8.6); without it the router says 0.
        None => put(header::CONTENT_LENGTH, reader.bytes.to_string()),
    }
    if let Some(part) = part.filter(|_| status == StatusCode::PARTIAL_CONTENT) {
        put(header::CONTENT_RANGE, format!("bytes {}-{}/{}", part.start, part.end - 1, reader.bytes));
    }
    put_lease(headers, reader.lease.as_ref());
}

/// The digest of the whole entry by RFC 9530; its list of algorithms has no BLAKE3.
fn repr_digest(digest: &Digest) -> Option<String> {
    (digest.algorithm() == Algorithm::Sha256).then(|| format!("sha-256=:{}:", digest.encode(DigestForm::Base64)))
}

/// The bytes of a stretch, read block by block as they are taken.
fn read(stretch: FileRange, place: BodyWorkPermit) -> Body {
    let file = Arc::new(stretch.file);
    Body::from_stream(unfold((stretch.at, stretch.length), move |(at, left)| {
        let (file, pool) = (Arc::clone(&file), place.pool.clone());
        async move {
            let length = usize::try_from(left).unwrap_or(usize::MAX).min(pool.buffer_bytes());
            if length == 0 {
                return None;
            }
            let block = read_block(file, at, length, &pool).await;
            Some((block, (at + length as u64, left - length as u64)))
        }
    }))
}

async fn read_block(file: Arc<File>, at: u64, length: usize, pool: &BufferPool) -> io::Result<Bytes> {
    let mut block = pool.lease_async().await?;
    let read = spawn_blocking(move || {
        file.read_exact_at(&mut block[..length], at)?;
        Ok(Bytes::from_owner(block).slice(..length))
    });
    read.await.unwrap_or_else(|error| Err(io::Error::other(error)))
}
