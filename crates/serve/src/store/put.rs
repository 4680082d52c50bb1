//! `PUT /store/{key}` and `POST /store`

use super::{LeaseAsked, StoreService, StoreState, failed, full, put_lease};
use crate::http::body::BodyWorkPermit;
use crate::http::error::ApiError;
use crate::http::extract::PathKey;
use crate::limits::UPLOAD_IDLE_MAX;
use axum::Json;
use axum::body::{Body, HttpBody};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::{Buf, Bytes};
use http_body_util::BodyExt;
use rorqual_digest::{Algorithm, Digest};
use rorqual_pipe::{Control, Input};
use rorqual_store::{PutOptions, PutResult, Store, check_name};
use serde_json::json;
use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;

/// A body that is put under a name, or has to have a digest.
pub(super) async fn keyed(
    State(shelf): StoreState,
    PathKey(key): PathKey,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let expected = Digest::parse(shelf.store.algorithm(), &key);
    let name = if expected.is_some() { None } else { Some(key) };
    put(shelf, name, expected, &headers, body).await
}

/// A body that is put under its digest only.
pub(super) async fn nameless(State(shelf): StoreState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    put(shelf, None, None, &headers, body).await
}

async fn put(
    shelf: Arc<StoreService>,
    name: Option<String>,
    expected: Option<Digest>,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    if headers.contains_key(header::IF_MATCH)
        || headers.contains_key(header::IF_NONE_MATCH)
        || headers.contains_key(header::CONTENT_RANGE)
    {
        return Err(ApiError::bad_request(
            "a put takes no If-Match, If-None-Match or Content-Range: it is whole, and the last one stays",
        ));
    }
    if let Some(name) = &name {
        check_name(shelf.store.algorithm(), name).map_err(|error| ApiError::bad_request(error.to_string()))?;
    }
    let asked =
        PutAsked { name, expected: [expected, digest_of(headers, shelf.store.algorithm())?], lease: LeaseAsked::of(headers)? };
    let place = shelf.puts.take().ok_or_else(|| full("puts", &shelf.puts))?;
    let size_bytes = body.size_hint().exact();
    let (sender, pieces) = channel(1);
    let reader = BodyReader { pieces, piece: Bytes::new(), ended: false };
    // Dropped with this request, and then the reader finds no end.
    let work = shelf.ask(move |store| asked.put(store, reader, size_bytes, &place));
    let stored = match tokio::join!(work, send(body, sender)) {
        (Ok(stored), _) => stored,
        (Err(_), Err(broken)) => return Err(broken),
        (Err(error), Ok(())) => return Err(error),
    };
    let status = if stored.new { StatusCode::CREATED } else { StatusCode::OK };
    let digest = stored.digest.to_string();
    let mut response = (status, [(header::LOCATION, format!("/store/{digest}"))], Json(stored_json(&stored))).into_response();
    put_lease(response.headers_mut(), stored.lease.as_ref());
    Ok(response)
}

/// Headers of a put.
struct PutAsked {
    name: Option<String>,
    /// By the path, and by a header.
    expected: [Option<Digest>; 2],
    lease: Option<LeaseAsked>,
}

impl PutAsked {
    fn put(
        &self,
        store: &Store,
        reader: BodyReader,
        size_bytes: Option<u64>,
        place: &BodyWorkPermit,
    ) -> Result<PutResult, ApiError> {
        let expected: Vec<Digest> = self.expected.into_iter().flatten().collect();
        let options =
            PutOptions { name: self.name.as_deref(), lease: self.lease.as_ref().map(LeaseAsked::terms), expected: &expected };
        let input = Input::from_reader("the body", Box::new(reader)).stored();
        store.put(input, size_bytes, &options, &place.pool, &Control::default()).map_err(failed)
    }
}

fn stored_json(stored: &PutResult) -> serde_json::Value {
    json!({
        "digest": stored.digest.to_string(),
        "bytes": stored.bytes,
        "new": stored.new,
        "evicted": {"entries": stored.evicted.entries, "bytes": stored.evicted.bytes},
    })
}

/// The digest that `Repr-Digest` or `Content-Digest` announces (RFC 9530).
fn digest_of(headers: &HeaderMap, algorithm: Algorithm) -> Result<Option<Digest>, ApiError> {
    let given = ["repr-digest", "content-digest"].into_iter().flat_map(|name| headers.get_all(name));
    let mut members = given.filter_map(|list| list.to_str().ok()).flat_map(|list| list.split(','));
    let Some(text) = members.find_map(|member| member.trim().strip_prefix("sha-256=")) else { return Ok(None) };
    let coded = text.strip_prefix(':').and_then(|text| text.strip_suffix(':'));
    let digest = coded.and_then(|coded| Digest::parse(Algorithm::Sha256, coded));
    let digest = digest.ok_or_else(|| ApiError::bad_request(format!("sha-256={text} is no digest: sha-256=:BASE64:")))?;
    if algorithm != Algorithm::Sha256 {
        return Err(ApiError::bad_request(format!("this store is of {algorithm}, and checks no sha-256: put by digest instead")));
    }
    Ok(Some(digest))
}

/// Hands a body on, to its end or for as long as it is taken. An empty piece is the end: without
/// one the reader knows that it broke off.
async fn send(mut body: Body, sender: Sender<Bytes>) -> Result<(), ApiError> {
    let broken = |status, why| ApiError::new(status, "interrupted", format!("{why}; nothing was stored"));
    loop {
        let frame = tokio::select! {
            frame = timeout(UPLOAD_IDLE_MAX, body.frame()) => frame,
            // It has failed, and says why.
            () = sender.closed() => return Ok(()),
        };
        let piece = match frame {
            Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
            Ok(None) => break,
            Ok(Some(Err(error))) => return Err(broken(StatusCode::BAD_REQUEST, format!("the connection broke off ({error})"))),
            Err(_elapsed) => {
                let why = format!("nothing came for {} s", UPLOAD_IDLE_MAX.as_secs());
                return Err(broken(StatusCode::REQUEST_TIMEOUT, why));
            }
        };
        if piece.has_remaining() && sender.send(piece).await.is_err() {
            return Ok(());
        }
    }
    // A receiver that does not take it has failed, and its error tells.
    let _ = sender.send(Bytes::new()).await;
    Ok(())
}

/// A body, for a thread that may wait.
struct BodyReader {
    pieces: Receiver<Bytes>,
    piece: Bytes,
    ended: bool,
}

impl Read for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.piece.is_empty() && !self.ended {
            let broken = || io::Error::new(ErrorKind::ConnectionAborted, "the client went away before the end of its body");
            self.piece = self.pieces.blocking_recv().ok_or_else(broken)?;
            self.ended = self.piece.is_empty();
        }
        let length = buffer.len().min(self.piece.len());
        self.piece.split_to(length).copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }
}
