//! `PATCH /api/tus/{id}`: the next part of an upload.

use super::headers::{PART, checksum, length, number};
use super::{OFFSET, gone};
use crate::checked::{Checked, Failed};
use crate::error::ApiError;
use crate::feed::Interruption;
use crate::session::Session;
use crate::transport::{BodyTransport, End};
use crate::upload::{Intake, detached};
use axum::body::{Body, HttpBody};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rorqual_digest::{Digest, Hasher};
use std::sync::Arc;

pub(super) async fn patch(session: Arc<Session>, headers: &HeaderMap, body: Body) -> Result<Response, ApiError> {
    if headers.get(header::CONTENT_TYPE).is_none_or(|given| given != PART) {
        let message = format!("the body of a PATCH is of the type {PART}");
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "bad_request", message));
    }
    let offset = number(headers, &OFFSET)?.ok_or_else(|| ApiError::bad_request("Upload-Offset is missing"))?;
    let (checksum, size) = (checksum(headers)?, length(headers)?);
    gone(&session)?;
    take(Arc::clone(&session), offset, size, checksum, body).await?;
    Ok((StatusCode::NO_CONTENT, [(OFFSET, session.offset().to_string())]).into_response())
}

/// Takes a part, once its checksum is right where it has one; of an upload whose size is told with it, where that was put off.
pub(super) async fn take(
    session: Arc<Session>,
    offset: u64,
    size: Option<u64>,
    checksum: Option<Digest>,
    body: Body,
) -> Result<(), ApiError> {
    let length = body.size_hint().exact();
    let intake = Intake::claim(Arc::clone(&session), offset, length)?;
    let end = offset.saturating_add(length.unwrap_or(0));
    if let Some(Err(error)) = size.map(|size| session.announce(size, end)) {
        intake.give_back();
        return Err(error);
    }
    let mut body = BodyTransport::new(body, End::Part);
    detached(async move {
        match checksum {
            None => intake.take(&mut body).await,
            Some(expected) => take_checked(intake, length, expected, body).await,
        }
    })
    .await
}

async fn take_checked(intake: Intake, length: Option<u64>, expected: Digest, mut body: BodyTransport) -> Result<(), ApiError> {
    let session = Arc::clone(intake.session());
    let mut checked = match Checked::new(&session, length).await {
        Ok(checked) => checked,
        Err(error) => {
            intake.give_back();
            return Err(error);
        }
    };
    let hasher = Hasher::new(expected.algorithm());
    let taken = tokio::select! {
        taken = checked.take(&mut body, hasher, expected) => taken,
        // The intake tells what became of the session, and takes nothing.
        () = session.cancelled() => Ok(()),
        () = session.pace().place_wanted() => Err(Failed::Interrupted(Interruption::Slow)),
    };
    match taken {
        Ok(()) => intake.take(&mut checked).await,
        Err(Failed::Interrupted(interruption)) => Err(intake.interrupt(&interruption)),
        Err(Failed::Refused(error)) => {
            intake.give_back();
            Err(error)
        }
        Err(Failed::Mismatch) => {
            intake.give_back();
            Err(mismatch(session.offset()))
        }
    }
}

fn mismatch(offset: u64) -> ApiError {
    // A status that only tus has.
    let status = StatusCode::from_u16(460).unwrap_or(StatusCode::BAD_REQUEST);
    let message =
        format!("the part is not what its checksum says; nothing of it was taken, and the upload goes on at byte {offset}");
    ApiError::new(status, "checksum_mismatch", message).with("offset", offset)
}
