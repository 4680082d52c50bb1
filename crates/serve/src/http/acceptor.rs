//! Connections: each is accepted, encrypted where that is asked for, and answered until it leaves.

use crate::admission::response_permits::PermitOwner;
use crate::http::auth::RequestGate;
use crate::http::connections::{ConnectionSlot, RequestInFlight, SlotGuard};
use crate::http::disconnect_watch::DisconnectWatch;
use crate::http::error::ApiError;
use crate::http::lingering_body::LingeringBody;
use crate::http::sendfile::{PromisedFiles, SendfileStream};
use crate::http::tls::Tls;
use crate::http::write_timeout::{self, WriteTimeout};
use crate::limits::{HEAD_TIME_MAX, TLS_SEND_BYTES_MAX, TLS_SEND_NARROW_BYTES_MAX, UNACCEPTED_SAID_EVERY};
use axum::Router;
use axum::body::{Body, HttpBody};
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use hyper::Request;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use metrics::counter;
use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;

/// State that every connection needs.
#[derive(Clone)]
pub(crate) struct Acceptor {
    pub(crate) gate: Arc<RequestGate>,
    pub(crate) tls: Option<Arc<Tls>>,
    pub(crate) router: Router,
    /// Over which connections are spread; where there is none, all are of the runtime that accepts
    /// them.
    pub(crate) carriers: Vec<Handle>,
}

impl Acceptor {
    pub(crate) async fn accept(&self, listener: &TcpListener) {
        let mut refusals = Refusals::default();
        let mut carriers = self.carriers.iter().cycle();
        loop {
            match listener.accept().await {
                Ok((stream, _peer)) => {
                    counter!("rorqual_connections_total").increment(1);
                    let taken = self.gate.connections.admit().await;
                    match carriers.next() {
                        None => drop(tokio::spawn(self.clone().serve(stream, taken))),
                        Some(carrier) => self.clone().hand_to(carrier, stream, taken),
                    }
                }
                // Out of descriptors, mostly: there will be some when a connection ends.
                Err(error) => {
                    if let Some(times) = refusals.worth_telling() {
                        tracing::warn!(%error, times, "connections were not accepted");
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    fn hand_to(self, carrier: &Handle, stream: TcpStream, taken: SlotGuard) {
        // Each runtime has a reactor of its own.
        let Ok(stream) = stream.into_std() else { return };
        carrier.spawn(async move {
            // A socket that the runtime does not take is one that is gone.
            if let Ok(stream) = TcpStream::from_std(stream) {
                self.serve(stream, taken).await;
            }
        });
    }

    async fn serve(self, stream: TcpStream, taken: SlotGuard) {
        // A socket that the runtime does not take is one that is gone.
        let Ok((stream, twin)) = DisconnectWatch::of(stream) else { return };
        taken.place().begin(twin.unread());
        write_timeout::set_up(&stream);
        match &self.tls {
            None => {
                let (wire, files) = SendfileStream::new(stream);
                self.answer(wire, Some(files), twin, taken).await;
            }
            Some(tls) => {
                let send_bytes_max = if taken.place().is_wide() { TLS_SEND_BYTES_MAX } else { TLS_SEND_NARROW_BYTES_MAX };
                let shaken = tokio::select! {
                    shaken = tls.accept(stream, send_bytes_max) => shaken,
                    () = taken.leave() => return,
                };
                match shaken {
                    Ok(stream) => self.answer(stream, None, twin, taken).await,
                    Err(error) => {
                        counter!("rorqual_connections_broken_total", "why" => "handshake").increment(1);
                        tracing::debug!(?error, "a TLS handshake failed");
                    }
                }
            }
        }
    }

    /// Answers on `stream`, into which `files` may go without passing through the program.
    pub(crate) async fn answer(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        files: Option<PromisedFiles>,
        twin: DisconnectWatch,
        taken: SlotGuard,
    ) {
        let mut draining = self.gate.drain.join();
        let (place, drain) = (Arc::clone(taken.place()), Arc::clone(&self.gate.drain));
        let (buffer_bytes, holder) = (place.buffer_bytes(), PermitOwner::new(&self.gate.admission));
        // Through TLS nothing is said but by TLS.
        let plain = files.is_some().then(|| twin.clone());
        let answer = TowerToHyperService::new(self.router.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            let asked = place.asked();
            request.extensions_mut().insert(Arc::clone(&place));
            request.extensions_mut().insert(holder.clone());
            request.extensions_mut().insert(twin.clone());
            request.extensions_mut().insert(Arc::clone(&drain));
            files.iter().for_each(|files| drop(request.extensions_mut().insert(files.clone())));
            answered(answer.call(LingeringBody::wrap(request)), asked)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME_MAX)
            .max_buf_size(buffer_bytes)
            // A client that has sent all it has to say may still read.
            .half_close(true)
            .serve_connection(TokioIo::new(WriteTimeout::new(stream)), service)
            .with_upgrades();
        let mut connection = pin!(connection);
        let mut revoked = pin!(revoked(self.gate.guard.token.changes(), Arc::clone(taken.place())));
        // Bytes that came before it had to leave are read first, and may have the token.
        tokio::select! {
            biased;
            ended = connection.as_mut() => return broken(ended),
            () = revoked.as_mut() => return cut_off(),
            () = taken.leave() => {
                if let Some(twin) = plain.filter(|_| taken.place().is_unasked()) {
                    twin.leave_with(gave_way().as_bytes());
                }
            }
            () = draining.ending() => {}
        }
        // A connection that has not shown the token by now is not waited for. Others get the
        // answers to their open requests meanwhile.
        if taken.is_known() {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                biased;
                ended = connection => broken(ended),
                () = revoked => cut_off(),
            }
        }
    }
}

/// Comes back when a token is none any longer to which an answer is on its way.
async fn revoked(mut changes: watch::Receiver<u64>, place: Arc<ConnectionSlot>) {
    while changes.changed().await.is_ok() {
        if place.is_revoked() {
            return;
        }
    }
    // The server has ended: nothing changes any more.
    std::future::pending::<()>().await;
}

/// Answer to a connection that gives way before it has asked for anything: its client may be about
/// to, and comes again.
fn gave_way() -> String {
    let refused =
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "strangers_full", "others came while this connection asked for nothing");
    let body = serde_json::json!({"error": refused.object()}).to_string();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Counts a broken connection. An answer without its end is not whole to its client, and an upload
/// is interrupted.
fn cut_off() {
    counter!("rorqual_connections_broken_total", "why" => "token").increment(1);
    tracing::debug!("a connection was cut off: its token was changed");
}

/// Lines about connections that were not accepted, which come many times a second while there are
/// no descriptors.
#[derive(Default)]
struct Refusals {
    untold: u64,
    told: Option<Instant>,
}

impl Refusals {
    /// Number since the last message, where it is time for another.
    fn worth_telling(&mut self) -> Option<u64> {
        self.untold += 1;
        if self.told.is_some_and(|told| told.elapsed() < UNACCEPTED_SAID_EVERY) {
            return None;
        }
        self.told = Some(Instant::now());
        Some(std::mem::take(&mut self.untold))
    }
}

/// An answer that knows when it was sent.
async fn answered(
    answer: impl Future<Output = Result<Response<Body>, Infallible>>,
    asked: RequestInFlight,
) -> Result<Response<AnswerBody>, Infallible> {
    Ok(answer.await?.map(|body| AnswerBody { body, _asked: asked }))
}

/// The body of an answer; its end is the end of what was asked.
struct AnswerBody {
    body: Body,
    _asked: RequestInFlight,
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// An error here is a client that went away, was too slow, or spoke no HTTP.
fn broken(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        let why = match &error {
            error if error.is_parse() => "no_http",
            error if error.is_timeout() => "timeout",
            _ => "left",
        };
        counter!("rorqual_connections_broken_total", "why" => why).increment(1);
        tracing::debug!(?error, "a connection broke");
    }
}

#[cfg(test)]
mod tests {
    use super::{Acceptor, Refusals};
    use crate::admission::{Admission, AdmissionCounts};
    use crate::http::access::Access;
    use crate::http::auth::{Auth, RequestGate};
    use crate::http::connections::{Connections, SlotGuard};
    use crate::http::disconnect_watch::DisconnectWatch;
    use crate::http::drain::Drain;
    use crate::http::token::AccessToken;
    use crate::limits::{STALL_TIME_MAX, UNACCEPTED_SAID_EVERY};
    use axum::Router;
    use axum::body::Body;
    use axum::routing::get;
    use bytes::Bytes;
    use futures_util::stream::repeat_with;
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::task::yield_now;
    use tokio::time::{advance, timeout};

    async fn reception(router: Router) -> (Acceptor, SlotGuard) {
        let address = ([127, 0, 0, 1], 80).into();
        let guard =
            Auth::new(AccessToken::new(None).expect("randomness"), Access::default().names(address), address.port(), false);
        let admission = Admission::new(&AdmissionCounts { connections: 1, ..AdmissionCounts::default() });
        let connections = Connections::new(&admission, Duration::ZERO);
        let taken = connections.admit().await;
        let gate = Arc::new(RequestGate { guard, connections, drain: Drain::new(), admission });
        (Acceptor { gate, tls: None, router, carriers: Vec::new() }, taken)
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_of_its_answer_is_dropped() {
        let endless = || async { Body::from_stream(repeat_with(|| Ok::<_, Infallible>(Bytes::from_static(&[b'x'; 4096])))) };
        let (reception, taken) = reception(Router::new().route("/", get(endless))).await;
        let (near, mut far) = duplex(1 << 10);
        far.write_all(b"GET / HTTP/1.1\r\nHost: logs\r\n\r\n").await.expect("room for a head");
        let answered = timeout(STALL_TIME_MAX * 2, reception.answer(near, None, DisconnectWatch::none(), taken)).await;
        assert!(answered.is_ok(), "it is still waited for");
    }

    #[tokio::test(start_paused = true)]
    async fn what_came_while_answers_backed_up_is_answered() {
        let (reception, taken) = reception(Router::new().route("/", get(|| async { "x".repeat(700) }))).await;
        let (near, mut far) = duplex(4 << 10);
        let connection = tokio::spawn(async move { reception.answer(near, None, DisconnectWatch::none(), taken).await });
        let body = "x".repeat(120);
        let requests = format!("GET / HTTP/1.1\r\nHost: logs\r\nContent-Length: 120\r\n\r\n{body}").repeat(20);
        for piece in requests.as_bytes().chunks(7) {
            far.write_all(piece).await.expect("room for all");
            yield_now().await;
        }
        far.shutdown().await.expect("it is there");
        let mut answers = String::new();
        timeout(STALL_TIME_MAX, far.read_to_string(&mut answers)).await.expect("an end").expect("text");
        assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 20);
        connection.await.expect("no panic");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_accepted_is_told_once_a_minute() {
        let mut refusals = Refusals::default();
        let told: Vec<Option<u64>> = (0..3).map(|_| refusals.worth_telling()).collect();
        assert_eq!(told, [Some(1), None, None]);
        advance(UNACCEPTED_SAID_EVERY).await;
        assert_eq!(refusals.worth_telling(), Some(3), "those that were not told are counted");
    }
}
