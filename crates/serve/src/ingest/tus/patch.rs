//! `PATCH /api/tus/{id}`: the next part of an upload.

use super::headers::{PART, checksum, length, number};
use super::{OFFSET, gone};
use crate::http::disconnect_watch::DisconnectWatch;
use crate::http::error::ApiError;
use crate::ingest::checksummed_parts::{ChecksummedPart, PartError};
use crate::ingest::transport::Interruption;
use crate::ingest::transport::{BodyTransport, TransferEnd};
use crate::ingest::upload::{Intake, detached};
use crate::session::Session;
use axum::body::{Body, HttpBody};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rorqual_digest::{Digest, Hasher};
use std::sync::Arc;

pub(super) async fn patch(
    session: Arc<Session>,
    headers: &HeaderMap,
    body: Body,
    twin: DisconnectWatch,
) -> Result<Response, ApiError> {
    if headers.get(header::CONTENT_TYPE).is_none_or(|given| given != PART) {
        let message = format!("the body of a PATCH is of the type {PART}");
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "bad_request", message));
    }
    let offset = number(headers, &OFFSET)?.ok_or_else(|| ApiError::bad_request("Upload-Offset is missing"))?;
    let (checksum, size) = (checksum(headers)?, length(headers)?);
    gone(&session)?;
    take(Arc::clone(&session), offset, size, checksum, (body, twin)).await?;
    Ok((StatusCode::NO_CONTENT, [(OFFSET, session.offset().to_string())]).into_response())
}

/// Takes a part, once its checksum is right where it has one; of an upload with a put-off size,
/// which may come with the part.
pub(super) async fn take(
    session: Arc<Session>,
    offset: u64,
    size: Option<u64>,
    checksum: Option<Digest>,
    (body, twin): (Body, DisconnectWatch),
) -> Result<(), ApiError> {
    let length = body.size_hint().exact();
    let intake = Intake::claim(Arc::clone(&session), offset, length)?;
    let end = offset.saturating_add(length.unwrap_or(0));
    if let Some(Err(error)) = size.map(|size| session.announce(size, end)) {
        intake.give_back();
        return Err(error);
    }
    let mut body = BodyTransport::new(body, TransferEnd::Part);
    detached(async move {
        match checksum {
            None => intake.take(&mut body).await,
            Some(expected) => take_checked(intake, length, expected, body, &twin).await,
        }
    })
    .await
}

async fn take_checked(
    intake: Intake,
    length: Option<u64>,
    expected: Digest,
    mut body: BodyTransport,
    twin: &DisconnectWatch,
) -> Result<(), ApiError> {
    let session = Arc::clone(intake.session());
    let held = tokio::select! {
        held = hold(&session, length, expected, &mut body, twin) => held.map(Some),
        () = session.cancelled() => Ok(None),
        () = session.pace().place_wanted() => Err(PartError::Interrupted(Interruption::Slow)),
    };
    match held {
        Ok(Some(mut checked)) => intake.take(&mut checked).await,
        // It tells the state of the session, and takes nothing.
        Ok(None) => intake.take(&mut body).await,
        Err(PartError::Interrupted(interruption)) => Err(intake.interrupt(&interruption)),
        Err(PartError::Refused(error)) => {
            intake.give_back();
            Err(error)
        }
        Err(PartError::Mismatch) => {
            intake.give_back();
            Err(mismatch(session.offset()))
        }
    }
}

/// A part with a right checksum, once there is memory for it, for which its client waits.
async fn hold(
    session: &Arc<Session>,
    length: Option<u64>,
    expected: Digest,
    body: &mut BodyTransport,
    twin: &DisconnectWatch,
) -> Result<ChecksummedPart, PartError> {
    let left = || PartError::Interrupted(Interruption::Connection("the client left".to_owned()));
    let mut checked = tokio::select! {
        room = ChecksummedPart::new(session, length) => room.map_err(PartError::Refused)?,
        () = twin.left() => return Err(left()),
    };
    checked.take(body, Hasher::new(expected.algorithm()), expected).await?;
    Ok(checked)
}

fn mismatch(offset: u64) -> ApiError {
    // A status that only tus has.
    let status = StatusCode::from_u16(460).unwrap_or(StatusCode::BAD_REQUEST);
    let message =
        format!("the part is not what its checksum says; nothing of it was taken, and the upload goes on at byte {offset}");
    ApiError::new(status, "checksum_mismatch", message).with("offset", offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault_tests::{full_session, shared};
    use crate::session::SessionState;
    use rorqual_digest::Algorithm;
    use std::time::Duration;
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::{Instant, sleep};

    /// The error of an upload to which this happens while it waits for the memory that another part
    /// has, and the time of that wait.
    async fn waits(what: impl FnOnce(&Arc<Session>, TcpStream) -> Option<TcpStream>) -> (ApiError, Duration, SessionState) {
        let session = full_session(&shared(1), 1_000);
        let _place = session.spare().acquire().await;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let client = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("it listens");
        let (accepted, _) = listener.accept().await.expect("a client");
        let (_served, twin) = DisconnectWatch::of(accepted).expect("a runtime");
        let digest = Hasher::new(Algorithm::Sha256).finish();
        let upload = tokio::spawn(take(Arc::clone(&session), 0, None, Some(digest), (Body::from("a part"), twin)));
        sleep(Duration::from_secs(1)).await;
        let begun = Instant::now();
        let _client = what(&session, client);
        let error = upload.await.expect("no panic").expect_err("it has no room");
        (error, begun.elapsed(), session.state())
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_memory_hears_what_becomes_of_the_session_and_of_the_client() {
        let at_once = Duration::from_secs(1);
        let (error, took, state) = waits(|session, client| {
            session.cancel();
            Some(client)
        })
        .await;
        assert_eq!((error.code(), state), ("cancelled", SessionState::Cancelled));
        assert!(took < at_once, "{took:?}");
        let (error, took, state) = waits(|session, client| {
            session.pace().want_place();
            Some(client)
        })
        .await;
        assert_eq!((error.status(), state), (StatusCode::REQUEST_TIMEOUT, SessionState::Interrupted));
        assert!(took < at_once, "{took:?}");
        let (error, took, state) = waits(|_session, _client| None).await;
        assert!(error.message().contains("the client left"), "{}", error.message());
        assert_eq!(state, SessionState::Interrupted);
        assert!(took < at_once, "{took:?}");
    }
}
