//! Parts of a view for a fleet that this server is a peer of.

use crate::explore::answers::Rebuilt;
use crate::explore::path_session::PathSession;
use crate::explore::reports::capped_json;
use crate::explore::suggest::{is_typed, zone};
use crate::explore::views;
use crate::fleet::wire::{
    HitsAsk, HitsPart, NamedPart, NumbersPart, PartAsk, PartQuestion, PartSort, PeerStatus, RowsPart, SuggestPart, SumsAsk,
    TopsPart, VERSION,
};
use crate::http::error::ApiError;
use crate::http::extract::{Requester, body_json};
use crate::limits::{BUCKETS, PEER_FILTERS_AT_ONCE, PEER_NAMED_AT_ONCE, REPORT_BYTES_MAX, TOP_ROWS};
use crate::saved_schema::SavedSchema;
use crate::session::Session;
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use rorqual_accesslog::filter::Filter;
use rorqual_accesslog::schema::{OwnColumn, Schema, TextColumn};
use rorqual_crossfilter::fleet::{ExplainPart, FieldTop, FieldWanted, HashedValues, HashesWanted, ViewSums, probe_hash};
use rorqual_crossfilter::limits::{SORTED_ROWS_MAX, SUGGEST_MILLIS_MAX, SUGGESTIONS_MAX};
use rorqual_crossfilter::{
    FilterHits, LineFormats, RowOrder, RowStore, SharedAxes, Stack, SuggestWanted, Suggestions, View, ViewError, ViewParts,
};
use rorqual_pipe::Control;
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// Values of a field that a part lists at most.
const TOP_MAX: usize = 4_096;

/// Most time for suggestions, and once more for the rows of those of other peers.
const SUGGEST_TIME_MAX: Duration = Duration::from_millis(SUGGEST_MILLIS_MAX);

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
    let select = select_of(&session, &session.schema(), &asked)?;
    check(&session.schema(), &asked.ask)?;
    // Many may wait, and compiled each would take megabytes.
    drop((view, select));
    let is_text = match &asked.ask {
        PartAsk::Hashes { .. } => false,
        PartAsk::Explain { step, .. } => !step.is_numbers(),
        _ => true,
    };
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
        session: session.id().to_owned(),
        state: session.state(),
        format: session.format_name(),
        bytes: session.stored_bytes(),
        extent: store.extent(),
        zone_seconds: session.zone_seconds(),
        has_countries: session.has_countries(),
        schema: SavedSchema::of(&store.schema()),
    })
}

/// The view of a question, of whose columns these rows may have some.
fn view_of(session: &Session, schema: &Schema, asked: &PartQuestion) -> Result<View, ApiError> {
    let filter = filter_of(session, schema, asked, &asked.filter)?;
    Ok(View { from_us: asked.from_us, to_us: asked.to_us, filter })
}

/// The rows that are to be explained, where a question has them.
fn select_of(session: &Session, schema: &Schema, asked: &PartQuestion) -> Result<Option<View>, ApiError> {
    let PartAsk::Explain { select, .. } = &asked.ask else { return Ok(None) };
    let filter = filter_of(session, schema, asked, &select.filter)?;
    Ok(Some(View { from_us: select.from_us, to_us: select.to_us, filter }))
}

fn filter_of(session: &Session, schema: &Schema, asked: &PartQuestion, filter: &str) -> Result<Filter, ApiError> {
    let filter = wider(schema, &asked.columns).filter(filter).map_err(|error| {
        ApiError::new(StatusCode::BAD_REQUEST, "bad_filter", error.message).with("column", error.column as u64 - 1)
    })?;
    let filter = filter.where_absent(schema.own_texts(), schema.own_numbers());
    session.has_room_for(&filter)?;
    Ok(filter)
}

/// The columns of these rows, and those of others that a filter may name.
fn wider(schema: &Schema, columns: &[OwnColumn]) -> Schema {
    let missing = |column: &&OwnColumn| !schema.own().iter().any(|own| own.name == column.name);
    let more: Vec<_> = columns.iter().filter(missing).cloned().collect();
    if more.is_empty() { schema.clone() } else { schema.with_own(&more) }
}

/// Refuses fields that these rows do not have, and more of them or of hashes than one asks for.
fn check(schema: &Schema, ask: &PartAsk) -> Result<(), ApiError> {
    let too_many = |what: &str| Err(ApiError::bad_request(format!("there are too many {what}")));
    match ask {
        PartAsk::Sums(SumsAsk { stack, .. }) | PartAsk::Bands(SumsAsk { stack, .. }) => {
            stack_of(schema, stack.as_deref()).map(drop)
        }
        PartAsk::Named { hashes, .. } if hashes.len() > PEER_NAMED_AT_ONCE => too_many("hashes"),
        PartAsk::Hits { of } if of.len() > PEER_FILTERS_AT_ONCE => too_many("filters"),
        PartAsk::Suggest { text, .. } => is_typed(text),
        PartAsk::Explain { step, .. } if !step.is_sound() => Err(ApiError::bad_request(
            "there are too many tests or sets, or a set has more than two tests or one that is not there",
        )),
        PartAsk::Tops { fields, .. } if fields.len() > schema.panels().len().max(1) => too_many("fields"),
        PartAsk::Hashes { field, .. } | PartAsk::Named { field, .. } => {
            let none = || ApiError::bad_request(format!("there is no field '{field}'"));
            text_of(schema, field).map(drop).ok_or_else(none)
        }
        PartAsk::Keys { sort, .. } | PartAsk::Rows { sort, .. } => order(schema, sort).map(drop),
        PartAsk::Status { .. }
        | PartAsk::Numbers { .. }
        | PartAsk::Tops { .. }
        | PartAsk::Hits { .. }
        | PartAsk::Explain { .. } => Ok(()),
    }
}

/// The column with exactly this name: one that differs in the case of its letters is another one to
/// the fleet, as some peer may have both.
fn text_of(schema: &Schema, name: &str) -> Option<TextColumn> {
    schema.text(name).filter(|column| schema.text_name(*column) == name)
}

fn stack_of(schema: &Schema, name: Option<&str>) -> Result<Stack, ApiError> {
    let stack = views::stack(schema, name)?;
    match (stack, name) {
        (Stack::Values(column), Some(name)) if schema.text_name(column) != name => {
            Err(ApiError::bad_request(format!("there is no field '{name}'")))
        }
        _ => Ok(stack),
    }
}

fn order(schema: &Schema, PartSort { field, descending }: &PartSort) -> Result<RowOrder, ApiError> {
    let is_exact = field == "time"
        || match (schema.text(field), schema.number(field)) {
            (Some(column), _) => schema.text_name(column) == *field,
            (None, Some(column)) => schema.number_name(column) == *field,
            (None, None) => true,
        };
    let order = RowOrder::named(schema, field, *descending).filter(|_| is_exact);
    order.ok_or_else(|| ApiError::bad_request(format!("\"sort\": rows have no order by '{field}'")))
}

/// `None` where the part would be too long.
fn answer(session: &Session, store: &RowStore, asked: &PartQuestion, control: &Control) -> Result<Option<Bytes>, ViewError> {
    store.refresh();
    let schema = store.schema();
    let lost = |_: ApiError| ViewError::Cancelled;
    let view = view_of(session, &schema, asked).map_err(lost)?;
    match &asked.ask {
        PartAsk::Status { .. } => Ok(None),
        PartAsk::Sums(wanted) => {
            let sums = sums(store, &view, (wanted, None), control)?;
            Ok(json(&if wanted.is_long() { sums.without_bands().0 } else { sums }))
        }
        PartAsk::Bands(wanted) => {
            let generation = Some(asked.generation).filter(|generation| *generation > 0);
            Ok(json(&sums(store, &view, (wanted, generation), control)?.without_bands().1))
        }
        PartAsk::Numbers { first } => numbers(store, &view, asked.generation, *first, control),
        PartAsk::Tops { fields, search, top } => {
            let wanted: Vec<FieldWanted> =
                columns_of(&schema, fields).into_iter().map(|column| FieldWanted { column, search: search.clone() }).collect();
            Ok(tops(store.field_tops(&view, asked.generation, &wanted, (*top).min(TOP_MAX), control)?))
        }
        PartAsk::Hashes { field, search, seed, least, part, parts } => {
            let column = text_of(&schema, field).ok_or(ViewError::Cancelled)?;
            let values = FieldWanted { column, search: search.clone() };
            let (seed, least, part, parts) = (*seed, *least, *part, *parts);
            let wanted = HashesWanted { values, seed, least, part, parts, bytes_max: REPORT_BYTES_MAX };
            let bytes = store.hashed_values(&view, asked.generation, &wanted, control)?.map(HashedValues::into_bytes);
            Ok(bytes.filter(|bytes| bytes.len() <= REPORT_BYTES_MAX).map(Bytes::from))
        }
        PartAsk::Keys { sort, first, end } => {
            let order = order(&schema, sort).map_err(lost)?;
            let mut keys = store.row_keys((&view, order), *first..*end, control)?;
            Ok(capped_json(&mut keys, SORTED_ROWS_MAX, |keys, rows| keys.keys.truncate(rows)))
        }
        PartAsk::Rows { sort, offset, limit } => {
            let order = order(&schema, sort).map_err(lost)?;
            let (format, of_files) = (session.format(), session.formats_of_files());
            let formats = LineFormats { first: format.as_ref(), of_files: Some(&of_files) };
            let rows = store.sorted_page((&view, order), *offset, (*limit).min(TOP_ROWS), formats, control)?.page.rows;
            let unkept = Rebuilt::new(format.as_ref()).unkept;
            // As many rows as fit, as on a page of one server.
            let cut = |part: &mut RowsPart, rows| part.rows.truncate(rows);
            Ok(capped_json(&mut RowsPart { rows, unkept }, TOP_ROWS.next_power_of_two(), cut))
        }
        PartAsk::Named { field, seed, hashes } => {
            let column = text_of(&schema, field).ok_or(ViewError::Cancelled)?;
            let values = store.named_values(&view, asked.generation, (column, *seed), hashes, control)?;
            // As many values as fit; the others are asked for again.
            let cut = |part: &mut NamedPart, values| part.values.truncate(values);
            Ok(capped_json(&mut NamedPart { values }, PEER_NAMED_AT_ONCE.next_power_of_two(), cut))
        }
        PartAsk::Suggest { text, zone_seconds } => {
            let format = session.format();
            let (zone_seconds, limit, time_max) = (zone(*zone_seconds), SUGGESTIONS_MAX, SUGGEST_TIME_MAX);
            let wanted = SuggestWanted { text, format: format.as_ref(), zone_seconds, limit, time_max };
            let Suggestions { rows, complete, .. } = store.suggest(&view, &wanted, control)?;
            let cut = |part: &mut SuggestPart, rows| {
                part.complete &= part.rows.len() <= rows;
                part.rows.truncate(rows);
            };
            Ok(capped_json(&mut SuggestPart { rows, complete }, SUGGESTIONS_MAX.next_power_of_two(), cut))
        }
        PartAsk::Hits { of } => {
            let wider = wider(&schema, &asked.columns);
            let filter = |wanted: &HitsAsk| {
                let filter = wider.filter(&wanted.filter).ok()?.where_absent(schema.own_texts(), schema.own_numbers());
                Some((filter, wanted.span_us))
            };
            let FilterHits { hits, complete } = store.filter_hits(&view, of.iter().map(filter), SUGGEST_TIME_MAX, control)?;
            Ok(json(&HitsPart { hits, complete }))
        }
        PartAsk::Explain { except, step, .. } => {
            let select = select_of(session, &schema, asked).map_err(lost)?.ok_or(ViewError::Cancelled)?;
            match store.explain_part([&select, &view], except, step, control)? {
                ExplainPart::Values(mut values) => {
                    let most = values.longest().next_power_of_two();
                    Ok(capped_json(&mut *values, most, |values, most| values.truncate(most)))
                }
                ExplainPart::Numbers(numbers) => {
                    let bytes = Some(numbers.into_bytes()).filter(|bytes| bytes.len() <= REPORT_BYTES_MAX);
                    Ok(bytes.map(Bytes::from))
                }
            }
        }
    }
}

/// Columns of fields, each once; without any those that have a panel.
fn columns_of(schema: &Schema, fields: &[String]) -> Vec<TextColumn> {
    if fields.is_empty() {
        return schema.panels().to_vec();
    }
    let mut columns: Vec<TextColumn> = Vec::new();
    for column in fields.iter().filter_map(|field| text_of(schema, field)) {
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    columns
}

/// First values, as many as fit; without any where not even one of each field does, as those have
/// very long texts.
fn tops(tops: Vec<FieldTop>) -> Option<Bytes> {
    let cut = |part: &mut TopsPart, rows| part.tops.iter_mut().for_each(|top| top.truncate(rows));
    let mut part = TopsPart { tops };
    capped_json(&mut part, TOP_MAX, cut).or_else(|| {
        cut(&mut part, 0);
        json(&part)
    })
}

/// Sums of a generation where it is still known, or of now.
fn sums(
    store: &RowStore,
    view: &View,
    (asked, generation): (&SumsAsk, Option<u64>),
    control: &Control,
) -> Result<ViewSums, ViewError> {
    let stack = stack_of(&store.schema(), asked.stack.as_deref()).map_err(|_| ViewError::Cancelled)?;
    let wanted = ViewParts { top: 0, buckets: asked.buckets.clamp(1, BUCKETS.1), stack, facets: false };
    let shared = SharedAxes { times_us: asked.times_us, series: asked.series.clone().into() };
    store.view_sums(view, &wanted, (&shared, generation), control)
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
