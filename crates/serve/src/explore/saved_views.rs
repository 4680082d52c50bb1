//! Views with names, as the page saves them.

use crate::admission::response_permits::PermitOwner;
use crate::explore::sessions::Sessions;
use crate::explore::views;
use crate::http::error::ApiError;
use crate::http::extract::{PathKey, body_json};
use crate::limits::{SAVED_VIEW_ADDRESS_BYTES_MAX, SAVED_VIEW_NAME_BYTES_MAX, SAVED_VIEWS_BYTES_MAX};
use crate::state::{SaveError, SavedView, SavedViews};
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Serialize)]
struct SavedViewsAnswer {
    /// They outlive the server.
    kept: bool,
    views: Vec<SavedView>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewSavedView {
    address: String,
}

pub(crate) async fn list(
    State(sessions): State<Arc<Sessions>>,
    Extension(holder): Extension<PermitOwner>,
) -> Result<Response, ApiError> {
    let ticket = holder.ticket().await;
    let saved = &sessions.saved_views;
    let answer = SavedViewsAnswer { kept: saved.are_kept(), views: saved.list().map_err(refusal)? };
    let json = serde_json::to_vec(&answer);
    let json = json.map_err(|error| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string()))?;
    Ok(views::json(ticket, json.into()))
}

pub(crate) async fn save(
    State(sessions): State<Arc<Sessions>>,
    PathKey(name): PathKey,
    Extension(holder): Extension<PermitOwner>,
    body: Body,
) -> Result<StatusCode, ApiError> {
    let (NewSavedView { address }, _ticket) = body_json(&holder, body).await?;
    if name.trim().is_empty() || name.len() > SAVED_VIEW_NAME_BYTES_MAX || name.chars().any(char::is_control) {
        let message = format!("the name of a view has 1 to {SAVED_VIEW_NAME_BYTES_MAX} bytes, and no control characters");
        return Err(ApiError::bad_request(message));
    }
    if address.chars().any(char::is_control) {
        return Err(ApiError::bad_request("\"address\" is a part of an address, which has no control characters"));
    }
    if address.len() > SAVED_VIEW_ADDRESS_BYTES_MAX {
        let message = format!("\"address\" has at most {SAVED_VIEW_ADDRESS_BYTES_MAX} bytes");
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_long", message));
    }
    let saved = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let view = SavedView { name, address, saved };
    let is_new = changed(sessions, move |views| views.save(view)).await?;
    Ok(if is_new { StatusCode::CREATED } else { StatusCode::NO_CONTENT })
}

pub(crate) async fn remove(State(sessions): State<Arc<Sessions>>, PathKey(name): PathKey) -> Result<StatusCode, ApiError> {
    let no_view = format!("no view has the name '{name}'");
    match changed(sessions, move |views| views.remove(&name)).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(ApiError::new(StatusCode::NOT_FOUND, "no_view", no_view)),
    }
}

/// The result of a change, on a thread that may wait for the disk.
async fn changed(
    sessions: Arc<Sessions>,
    change: impl FnOnce(&SavedViews) -> Result<bool, SaveError> + Send + 'static,
) -> Result<bool, ApiError> {
    let changed = tokio::task::spawn_blocking(move || change(&sessions.saved_views)).await;
    let panicked =
        |error: tokio::task::JoinError| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string());
    changed.map_err(panicked)?.map_err(refusal)
}

fn refusal(error: SaveError) -> ApiError {
    match error {
        SaveError::Full => {
            let message = format!("views with names have at most {SAVED_VIEWS_BYTES_MAX} bytes together; remove some");
            ApiError::new(StatusCode::CONFLICT, "views_full", message)
        }
        SaveError::Unreadable(why) => {
            let message = format!(
                "the saved views can't be read, and are left as they are: {why}; mend or remove the file, and start the server again"
            );
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "views_unreadable", message)
        }
        SaveError::Unwritable(why) => ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "views_unwritable", why),
    }
}
