//! Typed texts, as filters: `POST /api/sessions/{id}/suggest`.

use crate::explore::path_session::PathSession;
use crate::explore::reports::capped_json;
use crate::explore::views::{QueuedView, SpanQuery, answer, asking, text_or_none};
use crate::http::error::ApiError;
use crate::http::extract::{Requester, body_json};
use axum::body::Body;
use axum::response::Response;
use rorqual_accesslog::filter::FilterError;
use rorqual_accesslog::suggest::TYPED_BYTES_MAX;
use rorqual_crossfilter::limits::{SUGGEST_MILLIS_MAX, SUGGESTIONS_MAX};
use rorqual_crossfilter::{RowStore, SuggestWanted, Suggestion, Suggestions};
use rorqual_pipe::Control;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Suggestions of an answer, where the question has no limit.
const LISTED: usize = 8;

/// Furthest clocks from UTC, in seconds.
const ZONE_SECONDS_MAX: i32 = 86_400;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SuggestAsked {
    pub(crate) from: Option<f64>,
    pub(crate) to: Option<f64>,
    #[serde(default, rename = "where", deserialize_with = "text_or_none")]
    pub(crate) filter: String,
    pub(crate) text: String,
    /// Of the clock that times are typed by.
    #[serde(default)]
    zone_seconds: i32,
    limit: Option<usize>,
    page: Option<String>,
    #[serde(default)]
    turn: u64,
}

impl SuggestAsked {
    pub(crate) fn limit(&self) -> usize {
        self.limit.unwrap_or(LISTED).min(SUGGESTIONS_MAX)
    }

    pub(crate) fn zone_seconds(&self) -> i32 {
        zone(self.zone_seconds)
    }
}

/// The clock of a question, which may be any number.
pub(crate) fn zone(zone_seconds: i32) -> i32 {
    zone_seconds.clamp(-ZONE_SECONDS_MAX, ZONE_SECONDS_MAX)
}

/// Refuses a text that is too long to have been typed.
pub(crate) fn is_typed(text: &str) -> Result<(), ApiError> {
    if text.len() > TYPED_BYTES_MAX {
        return Err(ApiError::bad_request(format!("a typed text has at most {TYPED_BYTES_MAX} bytes")));
    }
    Ok(())
}

#[derive(Serialize)]
pub(crate) struct SuggestAnswer {
    pub(crate) rows: Vec<Suggestion>,
    complete: bool,
    error: Option<SuggestError>,
    seconds: f64,
}

/// Reason for which a text is no filter.
#[derive(Serialize)]
struct SuggestError {
    /// In characters from 0.
    column: usize,
    message: String,
}

impl From<FilterError> for SuggestError {
    fn from(error: FilterError) -> Self {
        Self { column: error.column - 1, message: error.message }
    }
}

impl SuggestAnswer {
    pub(crate) fn new(suggestions: Suggestions, seconds: f64) -> Self {
        let Suggestions { rows, complete, error } = suggestions;
        Self { rows, complete, error: error.map(SuggestError::from), seconds }
    }
}

pub(crate) async fn suggest(PathSession(session): PathSession, asker: Requester, body: Body) -> Result<Response, ApiError> {
    let (asked, _ticket): (SuggestAsked, _) = body_json(&asker.holder, body).await?;
    is_typed(&asked.text)?;
    let (limit, zone_seconds) = (asked.limit(), asked.zone_seconds());
    let look = QueuedView::new(&session, SpanQuery::new(asked.from, asked.to, asked.filter))?;
    let (format, asked_of) = (session.format(), Arc::clone(&session));
    let (page, text) = (asking(asked.page, asked.turn)?, asked.text);
    let ask = move |store: &RowStore, control: &Control| {
        let begun = Instant::now();
        let time_max = Duration::from_millis(SUGGEST_MILLIS_MAX);
        let wanted = SuggestWanted { text: &text, format: format.as_ref(), zone_seconds, limit, time_max };
        let suggestions = store.suggest(&look.view(&asked_of, store)?, &wanted, control)?;
        let mut value = SuggestAnswer::new(suggestions, begun.elapsed().as_secs_f64());
        Ok(capped_json(&mut value, limit, |value, rows| value.rows.truncate(rows)))
    };
    answer(&session, &asker, page, ask).await
}
