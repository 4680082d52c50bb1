//! A view as a query of the same file: `GET /api/sessions/{id}/sql`.

use crate::admission::response_permits::PermitOwner;
use crate::explore::path_session::PathSession;
use crate::explore::reports::capped_json;
use crate::explore::views::{self, SpanQuery, span};
use crate::http::error::ApiError;
use crate::http::extract::QueryParams;
use crate::session::Session;
use axum::extract::Extension;
use axum::http::StatusCode;
use axum::response::Response;
use rorqual_accesslog::filter::{is_nested, sql_microseconds, sql_moment, sql_name, sql_text};
use rorqual_accesslog::format::{Field, LogFormat};
use rorqual_accesslog::schema::Schema;
use rorqual_crossfilter::View;
use serde::Serialize;

#[derive(Serialize)]
struct SqlAnswer {
    sql: String,
}

pub(crate) async fn sql(
    PathSession(session): PathSession,
    Extension(holder): Extension<PermitOwner>,
    QueryParams(asked): QueryParams<SpanQuery>,
) -> Result<Response, ApiError> {
    let SpanQuery { from, to, filter } = asked;
    let view = span(&session, from, to, filter)?;
    let no_sql = |why| ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "no_sql", why);
    let mut answer = SqlAnswer { sql: query(&session, &session.schema(), &view).map_err(no_sql)? };
    let ticket = holder.ticket().await;
    let json = capped_json(&mut answer, 0, |_, _| {}).ok_or_else(views::too_long)?;
    Ok(views::json(ticket, json))
}

/// The rows of a view. Without an order: a log is in that of its lines, and sorting a large one
/// would take its size on disk.
fn query(session: &Session, schema: &Schema, view: &View) -> Result<String, String> {
    if session.has_parts() {
        return Err("this log is several files: name them in a query by a wildcard, such as 'logs/*.log'".to_owned());
    }
    let format = session.format();
    // A query refuses the column that only a later line of a W3C log says, and rows are not lost.
    let may_have =
        |format: &LogFormat, name: &str| Field::ALL.into_iter().any(|field| field.name() == name && format.may_have(field));
    let has = |name: &str| format.as_ref().is_none_or(|format| may_have(format, name));
    let time = if schema.is_table() { schema.time() } else { Some("time").filter(|name| has(name)) };
    let time = time.filter(|name| !is_nested(name, schema));
    let mut conditions = Vec::new();
    for (bound, relation) in [(view.from_us, ">="), (view.to_us, "<")] {
        let Some(bound_us) = bound else { continue };
        let name = time.ok_or("the rows have no time that can be used in SQL")?;
        let name = if schema.is_table() { sql_microseconds(name) } else { sql_name(name) };
        conditions.push(format!("{name} {relation} {}", sql_moment(bound_us)));
    }
    if !view.filter.is_everything() {
        conditions.push(schema.sql(&view.filter, &has)?);
    }
    let mut sql = format!("SELECT * FROM {}", sql_text(session.name()));
    if !conditions.is_empty() {
        sql.push_str(" WHERE ");
        sql.push_str(&conditions.join(" AND "));
    }
    Ok(sql)
}
