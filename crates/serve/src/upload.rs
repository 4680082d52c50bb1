//! `PUT /api/sessions/{id}/data`

use crate::error::ApiError;
use crate::feed::{Feed, Interruption, idle_max};
use crate::session::{Session, State, too_long};
use axum::body::{Body, HttpBody};
use axum::http::StatusCode;
use std::sync::Arc;

/// Takes a body into a session; comes back when everything is analysed, or when the upload is interrupted.
pub(crate) async fn upload(session: Arc<Session>, offset: u64, body: Body) -> Result<(), ApiError> {
    let mut feed = session.begin_upload(offset, body.size_hint().exact())?;
    let taken = tokio::select! {
        taken = feed.take(body, session.taken(), session.size()) => taken,
        () = session.cancelled() => Err(Interruption::RunEnded),
    };
    match taken {
        Ok(()) if session.whole() => finish(&session, feed).await,
        Ok(()) => {
            session.pause_upload(feed, State::Waiting, None);
            Ok(())
        }
        Err(Interruption::TooLong) => {
            finish(&session, feed).await?;
            let what = "the body went on behind it, and what came there was not taken";
            Err(too_long(session.size().unwrap_or_default(), what))
        }
        Err(Interruption::RunEnded) => {
            drop(feed);
            session.ended().await;
            outcome(&session)
        }
        Err(interruption) => {
            let error = interrupted(&interruption, session.offset());
            session.pause_upload(feed, State::Interrupted, Some(&error));
            Err(error)
        }
    }
}

/// The end of the source: the run goes on to its report.
async fn finish(session: &Session, feed: Feed) -> Result<(), ApiError> {
    tokio::select! {
        // An error is a run that ended before: its outcome says why.
        _ = feed.finish() => {}
        () = session.cancelled() => {}
    }
    session.ended().await;
    outcome(session)
}

fn outcome(session: &Session) -> Result<(), ApiError> {
    match session.state() {
        State::Finished => Ok(()),
        State::Cancelled => Err(ApiError::new(StatusCode::CONFLICT, "cancelled", "the session was cancelled")),
        _ => Err(session.error()),
    }
}

fn interrupted(interruption: &Interruption, offset: u64) -> ApiError {
    let (status, message) = match interruption {
        Interruption::Connection(cause) => {
            (StatusCode::BAD_REQUEST, format!("the connection broke off at byte {offset} ({cause})"))
        }
        Interruption::Idle => {
            (StatusCode::REQUEST_TIMEOUT, format!("nothing came for {} s at byte {offset}", idle_max().as_secs()))
        }
        Interruption::NoMemory | Interruption::RunEnded | Interruption::TooLong => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("the system has no memory for another block at byte {offset}"))
        }
    };
    ApiError::new(status, "interrupted", message).with("offset", offset)
}
