//! Saved views of the page: the list, and its changes.

use crate::admission::response_permits::PermitOwner;
use crate::explore::sessions::Sessions;
use crate::explore::views;
use crate::http::error::ApiError;
use crate::http::extract::{PathKey, body_json};
use crate::limits::SAVED_VIEWS_BYTES_MAX;
use crate::state::{SavedView, SavedViews, SavedViewsError};
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::OwnedMutexGuard;

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
    let json = serde_json::to_vec(&answer).map_err(ApiError::internal)?;
    Ok(views::json(ticket, json.into()))
}

pub(crate) async fn save(
    State(sessions): State<Arc<Sessions>>,
    PathKey(name): PathKey,
    Extension(holder): Extension<PermitOwner>,
    body: Body,
) -> Result<StatusCode, ApiError> {
    let (NewSavedView { address }, _ticket) = body_json(&holder, body).await?;
    let saved = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let view = SavedView { name, address, saved };
    if let Some(fault) = view.fault() {
        return Err(ApiError::bad_request(fault));
    }
    let is_new = changed(sessions, move |views, turn| views.save(view, turn)).await?;
    Ok(if is_new { StatusCode::CREATED } else { StatusCode::NO_CONTENT })
}

pub(crate) async fn remove(State(sessions): State<Arc<Sessions>>, PathKey(name): PathKey) -> Result<StatusCode, ApiError> {
    let no_view = format!("no saved view has the name '{name}'");
    match changed(sessions, move |views, turn| views.remove(&name, turn)).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(ApiError::new(StatusCode::NOT_FOUND, "no_view", no_view)),
    }
}

/// The result of a change, on a thread that may wait for the disk. One has such a thread at a time.
async fn changed(
    sessions: Arc<Sessions>,
    change: impl FnOnce(&SavedViews, &OwnedMutexGuard<()>) -> Result<bool, SavedViewsError> + Send + 'static,
) -> Result<bool, ApiError> {
    let turn = sessions.saved_views.turn().await;
    let changed = tokio::task::spawn_blocking(move || change(&sessions.saved_views, &turn)).await;
    changed.map_err(ApiError::internal)?.map_err(refusal)
}

fn refusal(error: SavedViewsError) -> ApiError {
    let failed = |code, message| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, code, message);
    match error {
        SavedViewsError::Full => {
            let message = format!("saved views have at most {SAVED_VIEWS_BYTES_MAX} bytes together; remove some");
            ApiError::new(StatusCode::CONFLICT, "views_full", message)
        }
        SavedViewsError::Unreadable(why) => failed(
            "views_unreadable",
            format!(
                "the saved views can't be read, and their file is left as it is: {why}; mend or remove it, and start the server again"
            ),
        ),
        SavedViewsError::Unwritable(why) => failed("views_unwritable", format!("the saved views are as they were: {why}")),
        SavedViewsError::Unsynced(why) => {
            failed("views_unwritable", format!("the change is made, and may not outlast a power cut: {why}"))
        }
    }
}
