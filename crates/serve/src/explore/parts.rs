//! Parts of a view for a fleet that this server is a peer of.

use crate::explore::answers::Rebuilt;
use crate::explore::path_session::PathSession;
use crate::explore::reports::capped_json;
use crate::explore::views;
use crate::fleet::wire::{
    NamedPart, NumbersPart, PartAsk, PartQuestion, PartSort, PeerSchema, PeerStatus, RowsPart, SumsAsk, TopsPart, VERSION,
};
use crate::http::error::ApiError;
use crate::http::extract::{Requester, body_json};
use crate::limits::{BUCKETS, REPORT_BYTES_MAX, TOP_ROWS};
use crate::session::Session;
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use rorqual_accesslog::schema::{OwnColumn, Schema};
use rorqual_crossfilter::fleet::{FieldWanted, HashesWanted, ViewSums, probe_hash};
use rorqual_crossfilter::limits::SORTED_ROWS_MAX;
use rorqual_crossfilter::{LineFormats, RowOrder, RowStore, SharedAxes, View, ViewError, ViewParts};
use rorqual_pipe::Control;
use serde::Serialize;
use std::sync::Arc;

/// Values of a field that a part lists at most.
const TOP_MAX: usize = 4_096;

pub(crate) async fn part(PathSession(session): PathSession, asker: Requester, body: Body) -> Result<Response, ApiError> {
    let (asked, _ticket): (PartQuestion, _) = body_json(&asker.holder, body).await?;
    if asked.version != VERSION {
        let message = format!("parts of views are those of version {VERSION} here, and not of {}", asked.version);
        return Err(ApiError::new(StatusCode::CONFLICT, "other_version", message));
    }
    if let PartAsk::Status { seed } = asked.ask {
        let ticket = asker.holder.ticket().await;
        return Ok(views::json(ticket, json(&status(&session, seed)?).ok_or_else(views::too_long)?));
    }
    let view = view_of(&session, &session.schema(), &asked)?;
    check(&session.schema(), &asked.ask)?;
    // Many may wait, and compiled each would take megabytes.
    drop(view);
    let is_text = !matches!(asked.ask, PartAsk::Hashes { .. });
    let asked_of = Arc::clone(&session);
    let ask = move |store: &RowStore, control: &Control| answer(&asked_of, store, &asked, control);
    let mut response = views::answer(&session, &asker, None, ask).await?;
    if !is_text {
        response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/octet-stream"));
    }
    Ok(response)
}

fn status(session: &Session, seed: u64) -> Result<PeerStatus, ApiError> {
    let store = session.rows().store().ok_or_else(|| {
        ApiError::new(StatusCode::GONE, "rows_gone", "the rows of this session are gone, or just being replaced")
    })?;
    store.refresh();
    Ok(PeerStatus {
        version: VERSION.to_owned(),
        hash: probe_hash(seed),
        name: session.name().to_owned(),
        state: session.state(),
        format: session.format_name(),
        bytes: session.stored_bytes(),
        extent: store.extent(),
        zone_seconds: session.zone_seconds(),
        schema: PeerSchema::of(&store.schema()),
    })
}

/// The view of a question, of whose columns these rows may have some.
fn view_of(session: &Session, schema: &Schema, asked: &PartQuestion) -> Result<View, ApiError> {
    let missing = |column: &&OwnColumn| !schema.own().iter().any(|own| own.name == column.name);
    let more: Vec<_> = asked.columns.iter().filter(missing).cloned().collect();
    let wider = if more.is_empty() { schema.clone() } else { schema.with_own(&more) };
    let filter = wider.filter(&asked.filter).map_err(|error| {
        ApiError::new(StatusCode::BAD_REQUEST, "bad_filter", error.message).with("column", error.column as u64 - 1)
    })?;
    let filter = filter.where_absent(schema.own_texts(), schema.own_numbers());
    session.has_room_for(&filter)?;
    Ok(View { from_us: asked.from_us, to_us: asked.to_us, filter })
}

/// Refuses fields that these rows do not have.
fn check(schema: &Schema, ask: &PartAsk) -> Result<(), ApiError> {
    match ask {
        PartAsk::Sums(SumsAsk { stack, .. }) | PartAsk::Bands(SumsAsk { stack, .. }) => {
            views::stack(schema, stack.as_deref()).map(drop)
        }
        PartAsk::Hashes { field, .. } | PartAsk::Named { field, .. } => views::text_column(schema, field).map(drop),
        PartAsk::Keys { sort, .. } | PartAsk::Rows { sort, .. } => order(schema, sort).map(drop),
        PartAsk::Status { .. } | PartAsk::Numbers { .. } | PartAsk::Tops { .. } => Ok(()),
    }
}

fn order(schema: &Schema, PartSort { field, descending }: &PartSort) -> Result<RowOrder, ApiError> {
    RowOrder::named(schema, field, *descending)
        .ok_or_else(|| ApiError::bad_request(format!("\"sort\": rows have no order by '{field}'")))
}

/// `None` where the part would be too long.
fn answer(session: &Session, store: &RowStore, asked: &PartQuestion, control: &Control) -> Result<Option<Bytes>, ViewError> {
    store.refresh();
    let schema = store.schema();
    let lost = |_: ApiError| ViewError::Cancelled;
    let view = view_of(session, &schema, asked).map_err(lost)?;
    match &asked.ask {
        PartAsk::Status { .. } => Ok(None),
        PartAsk::Sums(asked) => {
            let sums = sums(store, &view, asked, control)?;
            Ok(json(&if asked.is_long() { sums.without_bands().0 } else { sums }))
        }
        PartAsk::Bands(asked) => Ok(json(&sums(store, &view, asked, control)?.without_bands().1)),
        PartAsk::Numbers { first } => numbers(store, &view, asked.generation, *first, control),
        PartAsk::Tops { fields, search, top } => {
            let named: Vec<_> = fields.iter().filter_map(|field| schema.text(field)).collect();
            let columns = if fields.is_empty() { schema.panels().to_vec() } else { named };
            let wanted: Vec<FieldWanted> =
                columns.into_iter().map(|column| FieldWanted { column, search: search.clone() }).collect();
            let tops = store.field_tops(&view, asked.generation, &wanted, (*top).min(TOP_MAX), control)?;
            let cut = |part: &mut TopsPart, rows| part.tops.iter_mut().for_each(|top| top.truncate(rows));
            Ok(capped_json(&mut TopsPart { tops }, TOP_MAX, cut))
        }
        PartAsk::Hashes { field, search, seed, least, part, parts } => {
            let column = schema.text(field).ok_or(ViewError::Cancelled)?;
            let values = FieldWanted { column, search: search.clone() };
            let wanted = HashesWanted { values, seed: *seed, least: *least, part: *part, parts: *parts };
            let bytes = store.hashed_values(&view, asked.generation, &wanted, control)?.to_bytes();
            Ok((bytes.len() <= REPORT_BYTES_MAX).then(|| bytes.into()))
        }
        PartAsk::Keys { sort, end } => {
            let order = order(&schema, sort).map_err(lost)?;
            let mut keys = store.row_keys((&view, order), *end, control)?;
            Ok(capped_json(&mut keys, SORTED_ROWS_MAX, |keys, rows| keys.keys.truncate(rows)))
        }
        PartAsk::Rows { sort, offset, limit } => {
            let order = order(&schema, sort).map_err(lost)?;
            let (format, of_files) = (session.format(), session.formats_of_files());
            let formats = LineFormats { first: format.as_ref(), of_files: Some(&of_files) };
            let rows = store.sorted_page((&view, order), *offset, (*limit).min(TOP_ROWS), formats, control)?.page.rows;
            let unkept = Rebuilt::new(format.as_ref()).unkept;
            Ok(json(&RowsPart { rows, unkept }))
        }
        PartAsk::Named { field, seed, hashes } => {
            let column = schema.text(field).ok_or(ViewError::Cancelled)?;
            let values = store.named_values(&view, asked.generation, (column, *seed), hashes, control)?;
            Ok(json(&NamedPart { values }))
        }
    }
}

fn sums(store: &RowStore, view: &View, asked: &SumsAsk, control: &Control) -> Result<ViewSums, ViewError> {
    let stack = views::stack(&store.schema(), asked.stack.as_deref()).map_err(|_| ViewError::Cancelled)?;
    let wanted = ViewParts { top: 0, buckets: asked.buckets.clamp(1, BUCKETS.1), stack, facets: false };
    let series = asked.series.iter().map(|text| text.as_bytes().to_vec()).collect();
    store.view_sums(view, &wanted, &SharedAxes { times_us: asked.times_us, series }, control)
}

/// Columns of numbers, as many as fit.
fn numbers(store: &RowStore, view: &View, generation: u64, first: usize, control: &Control) -> Result<Option<Bytes>, ViewError> {
    let mut numbers = store.number_parts(view, generation, control)?;
    numbers.drain(..first.min(numbers.len()));
    let count = numbers.len();
    let cut = |part: &mut NumbersPart, columns| {
        part.more |= part.numbers.len() > columns;
        part.numbers.truncate(columns);
    };
    Ok(capped_json(&mut NumbersPart { numbers, more: false }, count.next_power_of_two(), cut))
}

/// `None` where it would be too long.
fn json<T: Serialize>(value: &T) -> Option<Bytes> {
    let mut value = value;
    capped_json(&mut value, 1, |_, _| {})
}
