//! The next row that is looked for: `POST /api/sessions/{id}/find`.

use crate::explore::path_session::PathSession;
use crate::explore::views::{QueuedView, SortQuery, SpanQuery, answer, span, text_or_none};
use crate::http::error::ApiError;
use crate::http::extract::{Requester, body_json};
use crate::limits::FIND_PLACES_MAX;
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use rorqual_accesslog::filter::Filter;
use rorqual_crossfilter::{FindTarget, FindWanted, RowStore, ViewError};
use rorqual_pipe::Control;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FindAsked {
    from: Option<f64>,
    to: Option<f64>,
    #[serde(default, rename = "where", deserialize_with = "text_or_none")]
    filter: String,
    sort: Option<SortQuery>,
    /// Filter of the rows that are looked for.
    #[serde(rename = "match")]
    matching: Option<String>,
    /// Names of rows, in place of it.
    #[serde(default)]
    places: Vec<String>,
    /// Row that the search begins after.
    after: Option<u64>,
    #[serde(default)]
    backwards: bool,
    /// The order is that of the log from its end on.
    #[serde(default)]
    from_end: bool,
}

#[derive(Serialize)]
struct FindAnswer {
    /// `None` where there is none.
    row: Option<u64>,
}

pub(crate) async fn find(PathSession(session): PathSession, asker: Requester, body: Body) -> Result<Response, ApiError> {
    let (asked, _ticket): (FindAsked, _) = body_json(&asker.holder, body).await?;
    if asked.places.len() > FIND_PLACES_MAX {
        return Err(ApiError::bad_request(format!("\"places\": at most {FIND_PLACES_MAX} rows are looked for at a time")));
    }
    if asked.from_end && asked.sort.is_some() {
        return Err(ApiError::bad_request("\"from_end\": an order by \"sort\" begins at its end where it is turned round"));
    }
    if asked.matching.is_some() && !asked.places.is_empty() {
        return Err(ApiError::bad_request("\"match\": rows are looked for by a filter or by \"places\", and not by both"));
    }
    if let Some(sort) = &asked.sort {
        sort.order(&session.schema())?;
    }
    if let Some(matching) = &asked.matching {
        // Both are asked at a time, and so are the rows of the view alone.
        let filter = |text: &str| Ok::<_, ApiError>(span(&session, None, None, text.to_owned())?.filter);
        session.has_room_for(&Filter::All(vec![filter(&asked.filter)?, filter(matching)?]))?;
    }
    let matching = asked.matching.map(|matching| QueuedView::new(&session, SpanQuery::new(None, None, matching))).transpose()?;
    let look = QueuedView::new(&session, SpanQuery::new(asked.from, asked.to, asked.filter))?;
    let asked_of = Arc::clone(&session);
    let ask = move |store: &RowStore, control: &Control| {
        let view = look.view(&asked_of, store)?;
        let order = asked.sort.map(|sort| sort.order(&store.schema()).map_err(|_| ViewError::Cancelled)).transpose()?;
        let target = match matching {
            Some(matching) => FindTarget::Filter(matching.view(&asked_of, store)?.filter),
            None => FindTarget::Places(asked.places),
        };
        let (mut from, mut backwards, mut total) = (asked.after, asked.backwards, 0);
        if asked.from_end {
            total = store.page(&view, 0, 0, None, control)?.total;
            from = from.map(|from| total.saturating_sub(from.saturating_add(1)));
            backwards = !backwards;
        }
        let found = store.find(&FindWanted { view: &view, order, target, from, backwards }, control)?;
        // A row that came between the two has no place in this order yet.
        let row = if asked.from_end { found.and_then(|row| total.checked_sub(row + 1)) } else { found };
        Ok(serde_json::to_vec(&FindAnswer { row }).ok().map(Bytes::from))
    };
    answer(&session, &asker, None, ask).await
}
