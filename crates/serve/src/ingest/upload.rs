//! The one consumer of uploads: a session is claimed at an offset, a transport brings bytes, and
//! the session's next state is decided here, whatever the transport.

use crate::http::error::ApiError;
use crate::ingest::feed::Feed;
use crate::ingest::transport::{Interruption, Transport};
use crate::limits::{PACE_BYTES_MIN, PACE_TIME, UPLOAD_IDLE_MAX};
use crate::session::{Session, too_long};
use crate::setting::SESSIONS;
use axum::http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use std::sync::Arc;

/// Offset from which an upload goes on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UploadOffset {
    #[serde(default)]
    pub(crate) offset: u64,
}

/// The claim on a session, which no other upload has meanwhile. Dropped without an end, it leaves
/// the session interrupted.
pub(crate) struct Intake {
    session: Arc<Session>,
    feed: Option<Feed>,
}

impl Intake {
    /// Claims a session for an upload that goes on at `offset` with so many bytes, where that is
    /// known.
    pub(crate) fn claim(session: Arc<Session>, offset: u64, length: Option<u64>) -> Result<Self, ApiError> {
        let feed = session.begin_upload(offset, length)?;
        Ok(Self { session, feed: Some(feed) })
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Takes a transport's bytes; returns when everything is analysed, or when more is to come,
    /// which is an error where the transport did not come to its end.
    pub(crate) async fn take(mut self, transport: &mut impl Transport) -> Result<(), ApiError> {
        let session = Arc::clone(&self.session);
        let Some(feed) = &mut self.feed else { return session.ended().await.answer() };
        let taken = tokio::select! {
            biased;
            () = session.cancelled() => Err(Interruption::RunEnded),
            taken = feed.take(&session, transport) => taken,
        };
        match taken {
            Ok(()) if session.whole(transport.end()) => self.finish(transport.waits()).await,
            Ok(()) => {
                self.pause(None);
                Ok(())
            }
            Err(Interruption::TooLong) => {
                self.finish(transport.waits()).await?;
                let what = "the body went on after it, and what came there was not taken";
                Err(too_long(session.size().unwrap_or_default(), what))
            }
            Err(Interruption::RunEnded) => {
                self.feed = None;
                session.ended().await.answer()
            }
            Err(interruption) => Err(self.interrupt(&interruption)),
        }
    }

    /// Gives the session back, which goes on at its offset.
    pub(crate) fn interrupt(mut self, interruption: &Interruption) -> ApiError {
        let error = interrupted(interruption, self.session.offset());
        self.pause(Some(error.clone()));
        error
    }

    /// Gives the session back as it was, since nothing was taken for a reason of which the client
    /// hears.
    pub(crate) fn give_back(mut self) {
        self.pause(None);
    }

    fn pause(&mut self, error: Option<ApiError>) {
        if let Some(feed) = self.feed.take() {
            self.session.pause_upload(feed, error);
        }
    }

    /// The end of the log: the run goes on to its report.
    async fn finish(mut self, waits: bool) -> Result<(), ApiError> {
        let session = Arc::clone(&self.session);
        if let Some(mut feed) = self.feed.take() {
            let finished = tokio::select! {
                finished = feed.finish(&session, waits) => finished,
                () = session.cancelled() => Ok(()),
            };
            // Any other error is a run that ended before: its outcome says why.
            if finished == Err(Interruption::NoTurn) {
                self.feed = Some(feed);
                return Err(self.interrupt(&Interruption::NoTurn));
            }
        }
        session.ended().await.answer()
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        let error = interrupted(&Interruption::Connection("its task ended".to_owned()), self.session.offset());
        self.pause(Some(error));
    }
}

/// Runs an upload as a task of its own: bytes that were counted as taken must reach the run even
/// when the client goes away and the handler is dropped.
pub(crate) async fn detached<T: Send + 'static>(
    work: impl Future<Output = Result<T, ApiError>> + Send + 'static,
) -> Result<T, ApiError> {
    tokio::spawn(work).await.map_err(ApiError::internal)?
}

/// Content codings of a body; its bytes tell them anyway, and the decoder goes by those.
const ENCODINGS: [&str; 4] = ["identity", "gzip", "x-gzip", "zstd"];

/// Refuses a body that is coded in a way nobody here decodes, before anything of it is taken for a
/// log.
pub(crate) fn check_encoding(headers: &HeaderMap) -> Result<(), ApiError> {
    let codings = headers.get_all(header::CONTENT_ENCODING);
    let known = |coding: &str| ENCODINGS.iter().any(|known| known.eq_ignore_ascii_case(coding));
    match codings.iter().map(|value| value.to_str().unwrap_or("\u{fffd}")).find(|coding| !known(coding)) {
        None => Ok(()),
        Some(coding) => {
            let message = format!("the content encoding {coding:?} is not one of {}", ENCODINGS.join(", "));
            Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding", message))
        }
    }
}

pub(crate) fn interrupted(interruption: &Interruption, offset: u64) -> ApiError {
    let (status, message) = match interruption {
        Interruption::Connection(cause) => {
            (StatusCode::BAD_REQUEST, format!("the connection broke off at byte {offset} ({cause})"))
        }
        Interruption::Protocol(what) => (StatusCode::BAD_REQUEST, format!("the upload was ended at byte {offset}: {what}")),
        Interruption::Idle => {
            (StatusCode::REQUEST_TIMEOUT, format!("nothing came for {} s at byte {offset}", UPLOAD_IDLE_MAX.as_secs()))
        }
        Interruption::NoPlace => {
            let message = format!("too many others hold the start of a long line; it comes again, from byte {offset} on");
            (StatusCode::SERVICE_UNAVAILABLE, message)
        }
        Interruption::NoTurn => {
            let message =
                format!("as many compressed logs are decoded as there may be at a time; it comes again, from byte {offset} on");
            (StatusCode::SERVICE_UNAVAILABLE, message)
        }
        Interruption::Slow => (
            StatusCode::REQUEST_TIMEOUT,
            format!(
                "less than {PACE_BYTES_MIN} bytes a second came for {} s at byte {offset}, and another session waits for the place ({SESSIONS})",
                PACE_TIME.as_secs()
            ),
        ),
        Interruption::NoMemory | Interruption::RunEnded | Interruption::TooLong => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("the system has no memory for another block at byte {offset}"))
        }
    };
    let error = ApiError::new(status, "interrupted", message).with("offset", offset);
    if matches!(interruption, Interruption::NoPlace | Interruption::NoTurn) { error.retry_after(1) } else { error }
}
