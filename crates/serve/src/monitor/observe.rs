//! Every request, counted, timed, and a line of the log at `debug`; failures of ours at `warn`.

use crate::http::error::AnswerError;
use axum::extract::{MatchedPath, Request};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use metrics::{counter, histogram};
use std::time::Instant;

/// Label of requests without a route of their own: files of the page, and paths of nothing.
const NO_ROUTE: &str = "page";

pub(crate) async fn observe(request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = name(request.method());
    // As the router has it, not as it was asked for.
    let route = request.extensions().get::<MatchedPath>().cloned();
    let response = next.run(request).await;
    let (status, seconds) = (response.status(), started.elapsed());
    let route = route.as_ref().map_or(NO_ROUTE, MatchedPath::as_str).to_owned();
    let failure = response.extensions().get::<AnswerError>();
    tracing::debug!(
        method,
        route,
        status = status.as_u16(),
        seconds = seconds.as_secs_f64(),
        code = failure.map(|failure| failure.code),
        "request"
    );
    if let Some(AnswerError { code, message }) = failure {
        counter!("rorqual_errors_total", "code" => *code).increment(1);
        // Full places are no failure. A message may quote a client or name a file: it is for those
        // who look for the cause.
        if status.is_server_error() && status != StatusCode::SERVICE_UNAVAILABLE {
            tracing::warn!(method, route, status = status.as_u16(), code, "a request failed");
            tracing::debug!(cause = ?message, "why it failed");
        }
    }
    histogram!("rorqual_http_request_seconds", "route" => route.clone()).record(seconds);
    counter!("rorqual_http_requests_total", "method" => method, "route" => route, "status" => status.as_u16().to_string())
        .increment(1);
    response
}

/// A method may be any word.
fn name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
