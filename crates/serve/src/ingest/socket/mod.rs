//! `GET /api/sessions/{id}/socket`: an upload as a WebSocket; `GET /api/discard/socket`: a test of
//! the way there.
//!
//! No crate was found that takes payloads out of a frame while it arrives (fastwebsockets holds a
//! whole frame), so the frame layer is ours: `frame` knows bytes, `message` their meaning, `stream`
//! the connection.

mod frame;
mod handshake;
mod mask;
mod message;
mod outgoing;
mod revocable;
mod stream;

#[cfg(any(fuzzing, test))]
pub(crate) mod fuzzing;
#[cfg(test)]
mod protocol_tests;
#[cfg(test)]
mod wire_tests;

use crate::explore::path_session::PathSession;
use crate::explore::sessions::Sessions;
use crate::http::connections::ConnectionSlot;
use crate::http::drain::Drain;
use crate::http::error::ApiError;
use crate::http::extract::QueryParams;
use crate::http::token::AccessGrant;
use crate::ingest::discard::{DiscardedBytes, Tests};
use crate::ingest::upload::Intake;
use crate::ingest::upload::UploadOffset;
use crate::limits::SOCKET_WINDOW_BYTES;
use crate::session::Session;
use axum::extract::{Extension, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use revocable::RevocableStream;
use serde_json::{Value, json};
use std::sync::Arc;
use stream::{NORMAL, Socket};
use tokio::io::{AsyncRead, AsyncWrite};

pub(crate) async fn socket(
    State(sessions): State<Arc<Sessions>>,
    PathSession(session): PathSession,
    QueryParams(at): QueryParams<UploadOffset>,
    Extension(place): Extension<Arc<ConnectionSlot>>,
    Extension(drain): Extension<Arc<Drain>>,
    Extension(pass): Extension<AccessGrant>,
    request: Request,
) -> Response {
    upgrade(request, (place, pass), &drain, move |stream, bytes| async move {
        let socket = Socket::new(stream, Arc::clone(&session), bytes);
        serve(&sessions, session, at.offset, socket).await;
    })
}

/// `GET /api/discard/socket`: as an upload, but that nothing is kept of it.
pub(crate) async fn discard(
    State(tests): State<Arc<Tests>>,
    Extension(place): Extension<Arc<ConnectionSlot>>,
    Extension(drain): Extension<Arc<Drain>>,
    Extension(pass): Extension<AccessGrant>,
    request: Request,
) -> Response {
    upgrade(request, (place, pass), &drain, move |stream, bytes| async move {
        serve_discard(&tests, stream, bytes).await;
    })
}

/// Agrees on a WebSocket, which `work` has until it is done.
fn upgrade<F>(
    mut request: Request,
    (place, pass): (Arc<ConnectionSlot>, AccessGrant),
    drain: &Arc<Drain>,
    work: impl FnOnce(RevocableStream<TokioIo<Upgraded>>, usize) -> F + Send + 'static,
) -> Response
where
    F: Future<Output = ()> + Send,
{
    let accept = match handshake::accept(&request) {
        Ok(accept) => accept,
        Err(refusal) => return refusal,
    };
    let upgrade = hyper::upgrade::on(&mut request);
    // At the end of the server its last words are waited for.
    let draining = drain.join();
    tokio::spawn(async move {
        // An error is a client that went away before.
        if let Ok(upgraded) = upgrade.await {
            work(RevocableStream::new(TokioIo::new(upgraded), pass), place.buffer_bytes()).await;
        }
        // The connection keeps its place for as long as it is a socket.
        drop((place, draining));
    });
    let headers = [(header::CONNECTION, "upgrade"), (header::UPGRADE, "websocket"), (header::SEC_WEBSOCKET_ACCEPT, &accept)];
    (StatusCode::SWITCHING_PROTOCOLS, headers).into_response()
}

/// Takes an upload, and says how it ended. Refusals come here as well, since a browser shows no
/// page the answer to a failed handshake.
async fn serve<T>(sessions: &Sessions, session: Arc<Session>, offset: u64, mut socket: Socket<T>)
where
    T: AsyncRead + AsyncWrite + Unpin + Send,
{
    let taken = match Intake::claim(Arc::clone(&session), offset, None) {
        Ok(intake) => {
            socket.say(&json!({"type": "ready", "offset": offset, "window_bytes": SOCKET_WINDOW_BYTES}).to_string());
            intake.take(&mut socket).await
        }
        Err(error) => Err(error),
    };
    let (last_words, code) = match taken {
        Ok(()) => (json!({"type": "done", "session": session.view(sessions.idle_max())}), NORMAL),
        Err(error) => refusal(&error),
    };
    socket.close(&last_words.to_string(), code).await;
}

/// Takes a test of the connection, of which nothing stays.
async fn serve_discard<T>(tests: &Tests, stream: T, buffer_bytes: usize)
where
    T: AsyncRead + AsyncWrite + Unpin + Send,
{
    let discarded = Arc::new(DiscardedBytes::default());
    let mut socket = Socket::new(stream, Arc::clone(&discarded), buffer_bytes);
    let taken = match tests.begin() {
        Ok(_place) => {
            socket.say(&json!({"type": "ready", "offset": 0, "window_bytes": SOCKET_WINDOW_BYTES}).to_string());
            discarded.take(&mut socket).await
        }
        Err(error) => Err(error),
    };
    let (last_words, code) = match taken {
        Ok(mut measured) => {
            measured["type"] = "done".into();
            (measured, NORMAL)
        }
        Err(error) => refusal(&error),
    };
    socket.close(&last_words.to_string(), code).await;
}

/// The last words to a client that was refused, and the code after them.
fn refusal(error: &ApiError) -> (Value, u16) {
    (json!({"type": "error", "error": error.object()}), close_code(error))
}

/// The status of an answer, in the range of codes that are for programs.
fn close_code(error: &ApiError) -> u16 {
    4000 + error.status().as_u16()
}
