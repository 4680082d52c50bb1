//! Formats that are being written: `POST /api/sessions/{id}/format/try`.

use crate::admission::response_permits::PermitOwner;
use crate::explore::path_session::PathSession;
use crate::explore::reports::capped_json;
use crate::explore::views;
use crate::http::error::ApiError;
use crate::http::extract::body_json;
use crate::limits::{FORMAT_BYTES_MAX, TRIED_LINES_MAX};
use axum::body::Body;
use axum::extract::Extension;
use axum::http::StatusCode;
use axum::response::Response;
use rorqual_accesslog::format::{LogFormat, TriedLine, try_lines};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

/// A format as it was given; the error has the place in that text, in characters from 0.
pub(crate) fn parse(text: &str) -> Result<LogFormat, ApiError> {
    if text.len() > FORMAT_BYTES_MAX {
        let message = format!("the format has {} bytes, and at most {FORMAT_BYTES_MAX} are read", text.len());
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "bad_format", message).with("column", 0));
    }
    LogFormat::parse(text).map_err(|error| {
        let before = text.get(..error.at()).map_or(0, |before| before.chars().count());
        ApiError::new(StatusCode::BAD_REQUEST, "bad_format", error.to_string()).with("column", before)
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TryAsked {
    format: String,
    lines: Vec<String>,
}

#[derive(Serialize)]
struct TryAnswer {
    format: String,
    rows: Vec<TriedRow>,
}

#[derive(Serialize)]
struct TriedRow {
    #[serde(serialize_with = "in_order")]
    fields: Option<Vec<(&'static str, String)>>,
    flaw: Option<String>,
}

impl From<TriedLine> for TriedRow {
    fn from(tried: TriedLine) -> Self {
        let named = |fields: Vec<(rorqual_accesslog::format::Field, String)>| {
            fields.into_iter().map(|(field, text)| (field.name(), text)).collect()
        };
        Self { fields: tried.fields.map(named), flaw: tried.flaw }
    }
}

/// An object whose members keep their order.
fn in_order<S: Serializer>(fields: &Option<Vec<(&'static str, String)>>, serializer: S) -> Result<S::Ok, S::Error> {
    let Some(fields) = fields else { return serializer.serialize_none() };
    let mut map = serializer.serialize_map(Some(fields.len()))?;
    fields.iter().try_for_each(|(name, text)| map.serialize_entry(name, text))?;
    map.end()
}

pub(crate) async fn try_format(
    PathSession(session): PathSession,
    Extension(holder): Extension<PermitOwner>,
    body: Body,
) -> Result<Response, ApiError> {
    let (asked, _ticket): (TryAsked, _) = body_json(&holder, body).await?;
    if asked.lines.len() > TRIED_LINES_MAX {
        return Err(ApiError::bad_request(format!("a format is tried on at most {TRIED_LINES_MAX} lines")));
    }
    let format = parse(&asked.format)?;
    let ticket = holder.ticket().await;
    let tried = try_lines(&format, session.line_bytes_max(), asked.lines.iter().map(String::as_bytes));
    let mut answer = TryAnswer { format: format.name().to_owned(), rows: tried.into_iter().map(TriedRow::from).collect() };
    let json = capped_json(&mut answer, 0, |_, _| {}).ok_or_else(views::too_long)?;
    Ok(views::json(ticket, json))
}
