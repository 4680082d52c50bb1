//! States of a session as clients see them, and how one ends.

use crate::http::error::ApiError;
use axum::http::StatusCode;
use rorqual_accesslog::report::{InputReport, RunStats};
use serde::{Deserialize, Serialize};

/// State of a session as clients see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SessionState {
    /// Nothing has come yet, or the rest is still to come.
    Waiting,
    /// An upload is running, or a file is being read.
    Receiving,
    /// A file is being read, and goes on to be as it grows.
    Following,
    /// The upload broke off; it may go on from the offset.
    Interrupted,
    /// Everything was analysed.
    Finished,
    /// Stopped by the user; all that was analysed stays.
    Cancelled,
    /// It could not be analysed to its end; all that was analysed stays.
    Failed,
}

impl SessionState {
    pub(crate) fn ended(self) -> bool {
        matches!(self, Self::Finished | Self::Cancelled | Self::Failed)
    }
}

/// Outcome of a run, for the report: it is the same whenever it is made.
#[derive(Clone)]
pub(super) struct RunOutcome {
    pub(super) sources: Vec<InputReport>,
    pub(super) stats: RunStats,
}

/// End of a session, also as checkpoints have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", content = "error", rename_all = "lowercase")]
pub(crate) enum SessionEnd {
    /// Everything was analysed.
    Finished,
    /// Stopped by the user; all that was analysed stays.
    Cancelled,
    /// Not analysed to its end; all that was analysed stays.
    Failed(Failure),
}

/// Failure of a session, as clients and checkpoints have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub(crate) enum Failure {
    /// The log is in no known format; `lines` are its first.
    UnknownFormat { message: String, lines: Vec<String> },
    /// The log can't be read to its end.
    BadInput { message: String },
    /// The log unpacks to more than a log would.
    TooDense { message: String },
    /// Another session needed its place.
    Displaced { message: String },
    /// A table has no room in the memory in which tables are read, or in a temporary file.
    TableNoRoom { message: String },
    /// The server can't read its file.
    Unreadable { message: String },
    /// A defect of the server.
    Internal { message: String },
}

impl SessionEnd {
    pub(super) fn stopped(by: Option<Failure>) -> Self {
        by.map_or(Self::Cancelled, Self::Failed)
    }

    /// Answer to an upload whose session came to this end.
    pub(crate) fn answer(self) -> Result<(), ApiError> {
        match self {
            Self::Finished => Ok(()),
            Self::Cancelled => Err(ApiError::new(StatusCode::CONFLICT, "cancelled", "the session was cancelled")),
            Self::Failed(failure) => Err(failure.into()),
        }
    }
}

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> Self {
        let unprocessable = StatusCode::UNPROCESSABLE_ENTITY;
        match failure {
            Failure::UnknownFormat { message, lines } => Self::new(unprocessable, "unknown_format", message).with("lines", lines),
            // A file of the server has no upload that would be told.
            Failure::BadInput { message } | Failure::Unreadable { message } => Self::new(unprocessable, "bad_input", message),
            Failure::TooDense { message } => Self::new(unprocessable, "too_dense", message),
            Failure::Displaced { message } => Self::new(StatusCode::CONFLICT, "displaced", message),
            Failure::TableNoRoom { message } => Self::new(StatusCode::INSUFFICIENT_STORAGE, "table_no_room", message),
            Failure::Internal { message } => Self::internal(message),
        }
    }
}
