//! tus 1.0, so that clients which know it resume their uploads here: an upload of theirs is a
//! session.

pub(crate) mod headers;
mod patch;

use crate::explore::sessions::Sessions;
use crate::http::disconnect_watch::DisconnectWatch;
use crate::http::error::ApiError;
use crate::http::extract::PathKey;
use crate::ingest::transport::{BodyTransport, TransferEnd};
use crate::ingest::upload::{Intake, detached};
use crate::limits::TUS_SIZE_MAX;
use crate::session::{NewUpload, Session, SessionState};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use headers::{CHECKSUM_ALGORITHMS, Metadata};
use std::sync::Arc;

const VERSION: &str = "1.0.0";
const EXTENSIONS: &str = "creation,creation-defer-length,creation-with-upload,checksum,termination";

const RESUMABLE: HeaderName = HeaderName::from_static("tus-resumable");
const OFFSET: HeaderName = HeaderName::from_static("upload-offset");
const LENGTH: HeaderName = HeaderName::from_static("upload-length");
const DEFER_LENGTH: HeaderName = HeaderName::from_static("upload-defer-length");
const METADATA: HeaderName = HeaderName::from_static("upload-metadata");
const CHECKSUM: HeaderName = HeaderName::from_static("upload-checksum");

/// Methods of the address at which uploads are made, and of those of an upload.
pub(crate) const UPLOADS_METHODS: [&str; 2] = ["OPTIONS", "POST"];
pub(crate) const UPLOAD_METHODS: [&str; 4] = ["OPTIONS", "HEAD", "PATCH", "DELETE"];

/// The address at which uploads are made.
pub(crate) async fn uploads(
    State(sessions): State<Arc<Sessions>>,
    Extension(twin): Extension<DisconnectWatch>,
    method: Method,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let answer = async {
        match meant(method, &headers)?.as_str() {
            "OPTIONS" => Ok(options()),
            "POST" => create(&sessions, &headers, (body, twin)).await,
            other => Err(wrong_method(other)),
        }
    };
    finished(answer.await, &UPLOADS_METHODS)
}

/// The address of an upload.
pub(crate) async fn upload(
    State(sessions): State<Arc<Sessions>>,
    Extension(twin): Extension<DisconnectWatch>,
    PathKey(id): PathKey,
    method: Method,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let answer = async {
        let method = meant(method, &headers)?;
        if method == Method::OPTIONS {
            return Ok(options());
        }
        let session = sessions.get(&id)?;
        match method.as_str() {
            "HEAD" => head(&session),
            "PATCH" => patch::patch(session, &headers, body, twin).await,
            "DELETE" => {
                sessions.remove(session.id()).await?;
                Ok(StatusCode::NO_CONTENT.into_response())
            }
            other => Err(wrong_method(other)),
        }
    };
    finished(answer.await, &UPLOAD_METHODS)
}

/// The method that is meant, where a client can send only some of them; and whether it speaks this
/// version.
fn meant(method: Method, headers: &HeaderMap) -> Result<Method, ApiError> {
    // Of a POST alone, so that nothing which changes something comes as a GET.
    let given = headers.get("x-http-method-override").filter(|_| method == Method::POST);
    let given = given.map(|given| Method::from_bytes(given.as_bytes()));
    let method = given.unwrap_or(Ok(method)).map_err(|_| ApiError::bad_request("X-HTTP-Method-Override is no method"))?;
    if method == Method::OPTIONS || headers.get(RESUMABLE).is_some_and(|version| version == VERSION) {
        return Ok(method);
    }
    let message = format!("Tus-Resumable has to be {VERSION}, the version that this server speaks");
    Err(ApiError::new(StatusCode::PRECONDITION_FAILED, "tus_version", message))
}

fn wrong_method(method: &str) -> ApiError {
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", format!("{method} is not for this address"))
}

/// Adds the headers that every answer has.
fn finished(answer: Result<Response, ApiError>, allowed: &[&str]) -> Response {
    let mut response = answer.unwrap_or_else(|error| {
        // tus has a status of its own for an upload that another request writes to.
        let locked = error.code() == "busy";
        (if locked { error.with_status(StatusCode::LOCKED) } else { error }).into_response()
    });
    let status = response.status();
    let headers = response.headers_mut();
    headers.insert(RESUMABLE, HeaderValue::from_static(VERSION));
    if status == StatusCode::PRECONDITION_FAILED {
        headers.insert("tus-version", HeaderValue::from_static(VERSION));
    }
    if status == StatusCode::METHOD_NOT_ALLOWED {
        // Names of methods are a header's text.
        headers.extend(HeaderValue::from_str(&allowed.join(", ")).ok().map(|allowed| (header::ALLOW, allowed)));
    }
    response
}

fn options() -> Response {
    let headers = [
        ("tus-version", VERSION.to_owned()),
        ("tus-extension", EXTENSIONS.to_owned()),
        ("tus-max-size", TUS_SIZE_MAX.to_string()),
        ("tus-checksum-algorithm", CHECKSUM_ALGORITHMS.to_owned()),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

async fn create(sessions: &Arc<Sessions>, headers: &HeaderMap, sent: (Body, DisconnectWatch)) -> Result<Response, ApiError> {
    let size = headers::announced(headers)?;
    let metadata = Metadata::of(headers)?;
    let name = metadata.filename.unwrap_or_else(|| "upload".to_owned());
    let announced = NewUpload { metadata: metadata.text, ..NewUpload::upload(name, size)? };
    let checksum = headers::checksum(headers)?;
    let session = sessions.begin(announced, None).await?;
    let location = [(header::LOCATION, format!("/api/tus/{}", session.id()))];
    if headers.get(header::CONTENT_TYPE).is_some_and(|given| given == headers::PART) {
        let taken = patch::take(Arc::clone(&session), 0, None, checksum, sent).await;
        if taken.is_err() && session.offset() == 0 && !session.state().ended() {
            // The client does not hear of it, so nobody would go on with it.
            sessions.remove(session.id()).await?;
        }
        taken?;
        return Ok((StatusCode::CREATED, location, [(OFFSET, session.offset().to_string())]).into_response());
    }
    if size == Some(0) {
        // Nothing will come; an empty log is judged where it is looked at.
        let intake = Intake::claim(session, 0, Some(0))?;
        let _ = detached(async move { intake.take(&mut BodyTransport::new(Body::empty(), TransferEnd::Log)).await }).await;
    }
    Ok((StatusCode::CREATED, location).into_response())
}

/// Offset from which an upload goes on.
fn head(session: &Arc<Session>) -> Result<Response, ApiError> {
    gone(session)?;
    let mut response = StatusCode::OK.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(OFFSET, HeaderValue::from(session.offset()));
    match session.size() {
        Some(size) => headers.insert(LENGTH, HeaderValue::from(size)),
        None => headers.insert(DEFER_LENGTH, HeaderValue::from_static("1")),
    };
    if let Some(metadata) = session.metadata().and_then(|metadata| HeaderValue::from_str(metadata).ok()) {
        headers.insert(METADATA, metadata);
    }
    Ok(response)
}

/// Refuses an upload that ended before its end: a client that hears so begins anew.
fn gone(session: &Session) -> Result<(), ApiError> {
    let state = session.state();
    if state.ended() && state != SessionState::Finished {
        let message = "this session was cancelled, or failed, and takes no more; send the log anew";
        return Err(ApiError::new(StatusCode::GONE, "finished", message));
    }
    Ok(())
}
