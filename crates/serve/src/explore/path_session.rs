//! The session of a request.

use crate::explore::sessions::Sessions;
use crate::http::error::ApiError;
use crate::session::Session;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use std::sync::Arc;

/// The session that a path names.
pub(crate) struct PathSession(pub(crate) Arc<Session>);

impl FromRequestParts<Arc<Sessions>> for PathSession {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, sessions: &Arc<Sessions>) -> Result<Self, ApiError> {
        let Path(id) = Path::<String>::from_request_parts(parts, sessions).await.map_err(|_| ApiError::no_session())?;
        sessions.get(&id).map(Self)
    }
}
