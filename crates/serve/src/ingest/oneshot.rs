//! `PUT /api/upload/NAME`: one request that makes a session and takes its log, for `curl -T` and
//! pipes.

use crate::explore::formats;
use crate::explore::sessions::Sessions;
use crate::http::error::ApiError;
use crate::http::extract::{PathKey, QueryParams};
use crate::ingest::transport::{BodyTransport, TransferEnd};
use crate::ingest::upload::{Intake, check_encoding, detached};
use crate::session::NewUpload;
use crate::session::shown::SessionView;
use axum::Json;
use axum::body::{Body, HttpBody};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UploadAsked {
    name: Option<String>,
    format: Option<String>,
}

/// Address of the explorer for the log that was sent.
#[derive(Serialize)]
struct Uploaded {
    /// The report.
    report: String,
    /// The same on the page.
    page: String,
    session: SessionView,
}

pub(crate) async fn named(
    State(sessions): State<Arc<Sessions>>,
    PathKey(name): PathKey,
    QueryParams(asked): QueryParams<UploadAsked>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    take(&sessions, UploadAsked { name: Some(name), ..asked }, &headers, body).await
}

pub(crate) async fn unnamed(
    State(sessions): State<Arc<Sessions>>,
    QueryParams(asked): QueryParams<UploadAsked>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    take(&sessions, asked, &headers, body).await
}

async fn take(sessions: &Arc<Sessions>, asked: UploadAsked, headers: &HeaderMap, body: Body) -> Result<Response, ApiError> {
    check_encoding(headers)?;
    let format = asked.format.as_deref().map(formats::parse).transpose()?;
    let length = body.size_hint().exact();
    let announced = NewUpload::upload(asked.name.unwrap_or_else(|| "upload".to_owned()), length)?;
    let session = sessions.begin(announced, format).await?;
    let intake = Intake::claim(Arc::clone(&session), 0, length)?;
    let taken = detached(async move { intake.take(&mut BodyTransport::new(body, TransferEnd::Log)).await }).await;
    let (report, page) = (format!("/api/sessions/{}", session.id()), format!("/#s={}", session.id()));
    // A failed session has an address too: all that was analysed stays, and an interrupted upload
    // goes on there.
    let location = [(header::LOCATION, report.clone())];
    Ok(match taken {
        Ok(()) => {
            let session = session.view(sessions.idle_max());
            (StatusCode::CREATED, location, Json(Uploaded { report, page, session })).into_response()
        }
        Err(error) => (location, error).into_response(),
    })
}
