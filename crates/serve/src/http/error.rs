//! Errors as clients get them: a code that programs can rely on, and a message for people.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// An answer that is an error, for the log and the counters.
#[derive(Debug, Clone)]
pub(crate) struct AnswerError {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

/// An answer that is an error.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
    /// A further field of the error object.
    extra: Option<(&'static str, Value)>,
    retry_after_seconds: Option<u32>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), extra: None, retry_after_seconds: None }
    }

    /// A request that says nothing sensible.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    /// A defect of the server.
    pub(crate) fn internal(error: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string())
    }

    /// There is no such session, or no longer.
    pub(crate) fn no_session() -> Self {
        let message = "there is no such session; it may have been forgotten after its idle time";
        Self::new(StatusCode::NOT_FOUND, "no_session", message)
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.extra = Some((name, value.into()));
        self
    }

    pub(crate) fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after_seconds = Some(seconds);
        self
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    /// The same whose message goes on with this.
    pub(crate) fn and(mut self, more: &str) -> Self {
        self.message.push_str(more);
        self
    }

    /// The same with another status.
    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The error object alone.
    pub(crate) fn object(&self) -> Value {
        let mut object = json!({"code": self.code, "message": self.message});
        if let Some((name, value)) = &self.extra {
            object[*name] = value.clone();
        }
        object
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(json!({"error": self.object()}))).into_response();
        if let Some(seconds) = self.retry_after_seconds {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(AnswerError { code: self.code, message: self.message });
        response
    }
}
