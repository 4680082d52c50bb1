//! Parts of a view as files: its rows, all values of a panel, one page.
//!
//! The memory that it takes is the session's: its rows give way to the file while it runs. It has a
//! thread, and holds the rows but not the turn of those who ask: a slow reader keeps nobody from
//! looking. When the rows are to go, it ends.

use crate::explore::download;
use crate::explore::export_advice::ExportNeed;
use crate::explore::path_session::PathSession;
use crate::explore::rows::{self, RowsGuard};
use crate::explore::sessions::Sessions;
use crate::explore::view_page::{ShownTable, ShownView};
use crate::explore::views::{panel_column, span};
use crate::http::body::{self, BodySink, BodyWorkPermit, DisconnectStop};
use crate::http::disconnect_watch::DisconnectWatch;
use crate::http::error::ApiError;
use crate::http::extract::QueryParams;
use crate::limits::{
    BUCKETS, EXPORT_BATCH_BYTES, EXPORT_GROUP_BYTES, EXPORT_GROUP_SHARE, EXPORT_ROWS_FOLD, EXPORT_VALUES_BYTES,
    PAGE_TABLE_TOP_MIN, PAGE_TABLE_VALUES, PAGE_TOP, PAGE_VALUE_BYTES, VIEW_PAGE_BYTES,
};
use crate::session::{Session, SessionState};
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use rorqual_accesslog::OwnColumns;
use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::parse::LogRecord;
use rorqual_accesslog::schema::Schema;
use rorqual_columnar::log::{LogRows, schema_of_files, schema_with_flaws};
use rorqual_columnar::render::Csv;
use rorqual_columnar::write::{BatchWriter, WriteSettings, WriteTarget};
use rorqual_columnar::{OwnRows, RowValues, TextMap};
use rorqual_crossfilter::limits::each_bytes;
use rorqual_crossfilter::{ColumnValues, OwnRow, Reservation, RowStore, Stack, ValueCount, View, ViewError, ViewParts, ViewRow};
use rorqual_pipe::{Control, Error as PipeError, ErrorClass, Sink};
use rorqual_render::RenderError;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::HashMap;
use std::future::ready;
use std::io::Write;
use std::sync::{Arc, Weak};

/// Lines between two marks that the session of an export is in use.
const LINES_PER_TOUCH: u64 = 10_000;

/// An export that has its place, and not yet the rows.
struct PendingExport {
    sessions: Arc<Sessions>,
    session: Arc<Session>,
    twin: DisconnectWatch,
    place: BodyWorkPermit,
}

/// One that has rows, and memory of theirs.
struct ReadyExport {
    place: BodyWorkPermit,
    twin: DisconnectWatch,
    held: RowsGuard,
    lent: Reservation,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum As {
    Csv,
    Ndjson,
    Parquet,
    Lines,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RowsExport {
    format: As,
    from: Option<f64>,
    to: Option<f64>,
    #[serde(default, rename = "where")]
    filter: String,
}

pub(crate) async fn rows(
    State(sessions): State<Arc<Sessions>>,
    PathSession(session): PathSession,
    Extension(twin): Extension<DisconnectWatch>,
    QueryParams(asked): QueryParams<RowsExport>,
) -> Result<Response, ApiError> {
    let view = span(&session, asked.from, asked.to, asked.filter)?;
    let format = session.format();
    if format.is_none() && !session.is_table() {
        return Err(nothing_read());
    }
    let (is_of_files, others) = (session.has_parts(), session.formats_of_files());
    let own = session.own().unwrap_or_else(|| Arc::new(OwnColumns::new(&[], 0, 0)));
    let (target, media_type, extension) = match asked.format {
        As::Lines => {
            let Some(first) = format else { return Err(no_lines()) };
            return lines((sessions, session, twin), view, ExportLines { first, others, own }).await;
        }
        As::Csv => (WriteTarget::Csv, "text/csv; charset=utf-8", "csv"),
        As::Ndjson => (WriteTarget::Ndjson, "application/x-ndjson", "ndjson"),
        As::Parquet => (WriteTarget::Parquet, "application/vnd.apache.parquet", "parquet"),
    };
    let asking = PendingExport::begin(sessions, session, twin)?;
    let session = Arc::clone(&asking.session);
    let prepare = move |store: &RowStore| {
        store.refresh();
        let rows = match &format {
            Some(format) if is_of_files => {
                let formats: Vec<_> = std::iter::once(format).chain(others.values().map(AsRef::as_ref)).collect();
                ExportRows::Log(LogRows::new(&schema_of_files(&formats, &own), &own))
            }
            Some(format) => ExportRows::Log(LogRows::new(&schema_with_flaws(format, &own), &own)),
            None => {
                let map: TextMap = if target == WriteTarget::Csv { neutral } else { |text| Cow::Borrowed(text) };
                ExportRows::Table(OwnRows::new(&store.schema(), store.has_flaws(), map))
            }
        };
        let fixed = store.each_bytes();
        let sizes = sizes(target, store.memory_bytes()).into_iter();
        let (lent, sizes) =
            sizes.map(|sizes| (store.try_reserve(fixed + sizes.bytes(rows.schema())), sizes)).find(|(lent, _)| lent.is_some())?;
        Some((lent?, (rows, sizes, download::name(&session, store.is_whole(), "", extension))))
    };
    let alive = Arc::downgrade(&asking.session);
    let need = if target == WriteTarget::Parquet { ExportNeed::Parquet } else { ExportNeed::Text };
    let (granted, (rows, sizes, name)) = asking.grant(need, prepare).await?;
    let job = RowsJob { alive, view, rows, sizes };
    let body = granted.answer(move |store, control, sink| job.run(store, control, sink)).await?;
    Ok((download::head(media_type, &name), body).into_response())
}

/// Sizes of an export's pieces.
struct ExportSizes {
    /// Rows that are written at once.
    batch_bytes: usize,
    settings: WriteSettings,
}

impl ExportSizes {
    /// Memory of the rows on their way and of the writer.
    fn bytes(&self, schema: &SchemaRef) -> u64 {
        EXPORT_ROWS_FOLD * self.batch_bytes as u64 + self.settings.bytes(schema, 1)
    }
}

/// Most memory of an export in the smallest pieces, where rows are gone through by so many threads.
pub(crate) fn least_bytes(need: ExportNeed, threads: usize) -> u64 {
    let target = if need == ExportNeed::Parquet { WriteTarget::Parquet } else { WriteTarget::Csv };
    let format = LogFormat::named("combined");
    let own = OwnColumns::new(&[], 0, 0);
    let rows = sizes(target, 0).pop().zip(format).map_or(0, |(sizes, format)| sizes.bytes(&schema_with_flaws(&format, &own)))
        + each_bytes(threads);
    rows.max(VIEW_PAGE_BYTES)
}

/// Sizes of a file in a share of that memory, or in less.
fn sizes(target: WriteTarget, memory_bytes: u64) -> Vec<ExportSizes> {
    let (least, most) = EXPORT_GROUP_BYTES;
    let usual = (memory_bytes / EXPORT_GROUP_SHARE).clamp(least, most);
    let of = |group: u64| WriteSettings {
        group_bytes_max: group as usize,
        footer_bytes_max: 2 * group as usize,
        ..WriteSettings::new(target)
    };
    let (usual, small) = (of(usual), of(least));
    let batches = [(EXPORT_BATCH_BYTES, usual), (EXPORT_BATCH_BYTES / 4, small)];
    batches.map(|(batch_bytes, settings)| ExportSizes { batch_bytes, settings }).into()
}

/// The rows of a view on their way into a file.
struct RowsJob {
    /// The session is not idle while its rows are taken.
    alive: Weak<Session>,
    view: View,
    rows: ExportRows,
    sizes: ExportSizes,
}

/// Rows that gather until they are written.
enum ExportRows {
    Log(LogRows),
    Table(OwnRows),
}

/// A row's values for [`OwnRows`].
struct OwnRowValues<'a>(OwnRow<'a>);

impl RowValues for OwnRowValues<'_> {
    fn text(&self, number: usize) -> &[u8] {
        self.0.text(number)
    }

    fn number(&self, number: usize) -> Option<u64> {
        self.0.number(number)
    }
}

impl ExportRows {
    fn schema(&self) -> &SchemaRef {
        match self {
            Self::Log(rows) => rows.schema(),
            Self::Table(rows) => rows.schema(),
        }
    }

    fn push(&mut self, row: &ViewRow<'_>, is_csv: bool) {
        match self {
            Self::Log(rows) if is_csv => push_neutral(rows, row),
            Self::Log(rows) => rows.push_flawed(&row.record, row.file, row.flaw, row.line),
            Self::Table(rows) => rows.push(&OwnRowValues(row.own), row.flaw, row.line),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Log(rows) => rows.bytes(),
            Self::Table(rows) => rows.bytes(),
        }
    }

    fn finish(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        match self {
            Self::Log(rows) => rows.finish(),
            Self::Table(rows) => rows.finish(),
        }
    }
}

impl RowsJob {
    fn run(self, store: &RowStore, control: &Control, sink: BodySink) -> Result<(), RenderError> {
        let Self { alive, view, mut rows, sizes: ExportSizes { batch_bytes, settings } } = self;
        let writer = BatchWriter::new(sink, "the export", rows.schema(), &settings).map_err(RenderError::Rows)?;
        let is_csv = settings.target == WriteTarget::Csv;
        let take = |row: &ViewRow<'_>| {
            rows.push(row, is_csv);
            if rows.bytes() < batch_bytes {
                return Ok(());
            }
            alive.upgrade().inspect(|session| session.touch());
            write(&writer, &mut rows)
        };
        store.each(&view, control, take).map_err(failed)?;
        write(&writer, &mut rows).and_then(|()| writer.finish()).map_err(RenderError::Rows)?;
        Ok(())
    }
}

/// Formats that the lines of a view are written in.
struct ExportLines {
    first: LogFormat,
    /// By the names of files, where these have another.
    others: Arc<HashMap<Box<str>, Arc<LogFormat>>>,
    own: Arc<OwnColumns>,
}

/// The lines of a view, rebuilt in the format of the log; of a rejected line its first 1 KiB.
async fn lines(
    (sessions, session, twin): (Arc<Sessions>, Arc<Session>, DisconnectWatch),
    view: View,
    mut formats: ExportLines,
) -> Result<Response, ApiError> {
    let asking = PendingExport::begin(sessions, session, twin)?;
    let (session, alive) = (Arc::clone(&asking.session), Arc::downgrade(&asking.session));
    let prepare = move |store: &RowStore| {
        store.refresh();
        let lent = store.try_reserve(store.each_bytes() + EXPORT_VALUES_BYTES)?;
        // Taken after the rows: another file may have begun meanwhile.
        formats.others = session.formats_of_files();
        Some((lent, (formats, download::name(&session, store.is_whole(), "", "log"))))
    };
    let (granted, (formats, name)) = asking.grant(ExportNeed::Text, prepare).await?;
    let body = granted.answer(move |store, control, sink| formats.write(&alive, (store, &view), control, sink)).await?;
    Ok((download::head("text/plain; charset=utf-8", &name), body).into_response())
}

impl ExportLines {
    fn of(&self, file: &[u8]) -> &LogFormat {
        let other = std::str::from_utf8(file).ok().and_then(|file| self.others.get(file));
        other.map_or(&self.first, AsRef::as_ref)
    }

    fn write(
        &self,
        alive: &Weak<Session>,
        (store, view): (&RowStore, &View),
        control: &Control,
        mut sink: BodySink,
    ) -> Result<(), RenderError> {
        let cannot = |cause| PipeError::io("the export", "cannot write", cause);
        let (mut rows, mut columns) = (0_u64, String::new());
        let mut wider: HashMap<String, LogFormat> = HashMap::new();
        let take = |row: &ViewRow<'_>| {
            rows += 1;
            if rows.is_multiple_of(LINES_PER_TOUCH) {
                alive.upgrade().inspect(|session| session.touch());
            }
            let mut format = self.of(row.file);
            if format.lacks(&row.record, Some(&self.own)) {
                let more = || format.with_more_columns(Some(&self.own));
                format = wider.entry(format.source().to_owned()).or_insert_with(more);
            }
            // Without the line that says its columns, a W3C log can't be read.
            let header = format.source();
            let mut line = Vec::new();
            if header.starts_with('#') && header != columns {
                columns = header.to_owned();
                line.extend_from_slice(header.as_bytes());
                line.push(b'\n');
            }
            if row.line.is_empty() {
                line.extend(format.line(&row.record, Some(&self.own)));
            } else {
                line.extend_from_slice(row.line);
            }
            line.push(b'\n');
            sink.copy(&line).map_err(cannot)
        };
        store.each(view, control, take).map_err(failed)?;
        Ok(Sink::flush(&mut sink)?)
    }
}

fn write(writer: &BatchWriter, rows: &mut ExportRows) -> Result<(), PipeError> {
    let batch = rows.finish().map_err(|error| PipeError::new(ErrorClass::Corrupt, "the export", error.to_string()))?;
    if let Some(batch) = batch {
        writer.push(writer.prepare(batch).map_err(|error| error.of_input("the export"))?)?;
        writer.help()?;
    }
    Ok(())
}

/// A text that no spreadsheet takes for a formula.
fn neutral(text: &[u8]) -> Cow<'_, [u8]> {
    // A byte-order mark hides nothing from a spreadsheet.
    match text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).first() {
        Some(b'=' | b'+' | b'-' | b'@' | b'\t' | b'\r') => Cow::Owned([b"'", text].concat()),
        _ => Cow::Borrowed(text),
    }
}

fn push_neutral(rows: &mut LogRows, row: &ViewRow<'_>) {
    let record = row.record;
    let texts = [
        record.client,
        record.user,
        record.host,
        record.method,
        record.path,
        record.query,
        record.protocol,
        record.referrer,
        record.agent,
        record.source,
        row.file,
        row.flaw,
        row.line,
    ];
    let [client, user, host, method, path, query, protocol, referrer, agent, source, file, flaw, line] = &texts.map(neutral);
    let own = record.own.map(|own| own.mapped(neutral));
    let own = own.as_ref();
    let record = LogRecord { client, user, host, method, path, query, protocol, referrer, agent, source, own, ..record };
    rows.push_flawed(&record, file, flaw, line);
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PanelExport {
    field: String,
    from: Option<f64>,
    to: Option<f64>,
    #[serde(default, rename = "where")]
    filter: String,
    #[serde(default)]
    facets: bool,
}

pub(crate) async fn panel(
    State(sessions): State<Arc<Sessions>>,
    PathSession(session): PathSession,
    Extension(twin): Extension<DisconnectWatch>,
    QueryParams(asked): QueryParams<PanelExport>,
) -> Result<Response, ApiError> {
    let schema = session.schema();
    let column = panel_column(&schema, &asked.field)?;
    let mut view = span(&session, asked.from, asked.to, asked.filter)?;
    if asked.facets {
        view = view.without_choices(column);
    }
    let asking = PendingExport::begin(sessions, session, twin)?;
    let ask = move |store: &RowStore, control: &Control| match column {
        // The columns are others since: those of a log's own only become more.
        Some(column) if schema.text_name(column) != store.schema().text_name(column) => Err(ViewError::Cancelled),
        Some(column) => store.values(&view, column, control),
        None => store.status_values(&view, control),
    };
    let ((), values) = asking.session.rows().ask(&asking.twin, None, ready(()), ask).await?;
    let (session, bytes) = (Arc::clone(&asking.session), values.bytes() + EXPORT_VALUES_BYTES);
    let whole = values.is_whole();
    let prepare = move |store: &RowStore| {
        Some((store.try_reserve(bytes)?, download::name(&session, store.is_whole() && whole, &asked.field, "csv")))
    };
    let (granted, name) = asking.grant(ExportNeed::Text, prepare).await?;
    let body = granted.answer(move |store, _, sink| write_values(store, &values, sink)).await?;
    Ok((download::head("text/csv; charset=utf-8", &name), body).into_response())
}

fn write_values(store: &RowStore, values: &ColumnValues, mut sink: BodySink) -> Result<(), RenderError> {
    let exact = values.is_exact();
    sink.copy(if exact { b"value,hits,bytes,share\n" } else { &b"value,hits,bytes,share,hits_min,hits_max\n"[..] })?;
    let mut line = Vec::new();
    let take = |value: &ValueCount<'_>| {
        line.clear();
        Csv::push_text(&mut line, String::from_utf8_lossy(&neutral(value.text)).as_bytes());
        // Writing to memory does not fail.
        let _ = write!(line, ",{},{},{:.6}", value.hits, value.bytes, value.share);
        let _ = if exact { writeln!(line) } else { writeln!(line, ",{},{}", value.hits_min, value.hits_max) };
        sink.copy(&line).map_err(|cause| PipeError::io("the export", "cannot write", cause))
    };
    store.each_value(values, take).map_err(RenderError::Rows)?;
    Ok(Sink::flush(&mut sink)?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReportAsked {
    from: Option<f64>,
    to: Option<f64>,
    #[serde(default, rename = "where")]
    filter: String,
}

pub(crate) async fn report(
    State(sessions): State<Arc<Sessions>>,
    PathSession(session): PathSession,
    Extension(twin): Extension<DisconnectWatch>,
    QueryParams(asked): QueryParams<ReportAsked>,
) -> Result<Response, ApiError> {
    let (from, to) = (asked.from, asked.to);
    let view = span(&session, from, to, asked.filter)?;
    let asking = PendingExport::begin(sessions, session, twin)?;
    let (filter, session) = (asking.session.schema().written(&view.filter), Arc::clone(&asking.session));
    let ask = move |store: &RowStore, control: &Control| {
        store.refresh();
        let complete = session.state() == SessionState::Finished && store.rows_dropped() == 0;
        let mut report = session.view_report(complete);
        if session.is_table() {
            let schema = store.schema();
            let top = table_page_top(&schema);
            let wanted = ViewParts { top, buckets: BUCKETS.0, stack: Stack::Class, facets: false };
            let view = store.view(&view, &wanted, control)?;
            let table = ShownTable { name: session.name().to_owned(), schema, view, complete };
            return Ok((report, Vec::new(), top, Some(table)));
        }
        let week = store.fill_view(&mut report, &view, session.zone_seconds(), PAGE_TOP, control)?;
        Ok((report, week, PAGE_TOP, None))
    };
    let ((), (report, week, top, table)) = asking.session.rows().ask(&asking.twin, None, ready(()), ask).await?;
    let bytes = VIEW_PAGE_BYTES + table.as_ref().map_or(0, |table| table_values_bytes(&table.schema, top));
    let shown = ShownView { report, week, filter, from, to, top, table };
    let (session, page) = (Arc::clone(&asking.session), asking.sessions.page());
    let prepare =
        move |store: &RowStore| Some((store.try_reserve(bytes)?, download::name(&session, store.is_whole(), "", "html")));
    let (granted, name) = asking.grant(ExportNeed::Text, prepare).await?;
    let render = move |_: &RowStore, control: &Control, mut sink: BodySink| {
        page(&shown, control, &mut sink)?;
        Ok(Sink::flush(&mut sink)?)
    };
    let body = granted.answer(render).await?;
    Ok((download::head("text/html; charset=utf-8", &name), body).into_response())
}

impl PendingExport {
    fn begin(sessions: Arc<Sessions>, session: Arc<Session>, twin: DisconnectWatch) -> Result<Self, ApiError> {
        let places = sessions.exports();
        let place = places.take().ok_or_else(|| full(format!("all {} places for exports are taken", places.count())))?;
        Ok(Self { sessions, session, twin, place })
    }

    /// The session's rows, with the memory that `prepare` has them lend, which may take writing
    /// others to the file.
    async fn grant<T: Send + 'static>(
        self,
        need: ExportNeed,
        prepare: impl FnOnce(&RowStore) -> Option<(Reservation, T)> + Send + 'static,
    ) -> Result<(ReadyExport, T), ApiError> {
        let Self { sessions, session, twin, place } = self;
        let held = session.rows().hold().await?;
        let prepared = tokio::task::spawn_blocking(move || {
            let prepared = held.store.as_ref().and_then(|store| prepare(store));
            let failure = || held.store.as_ref().and_then(|store| store.spill_failure());
            prepared.ok_or_else(failure).map(|prepared| (held, prepared))
        });
        let refusal = |failure: Option<String>| match failure {
            Some(why) => no_file(&why),
            None => sessions.export_advice().refusal(need),
        };
        let (held, (lent, prepared)) = prepared.await.unwrap_or(Err(None)).map_err(refusal)?;
        Ok((ReadyExport { place, twin, held, lent }, prepared))
    }
}

impl ReadyExport {
    /// An answer that leaves while a thread makes it of the rows.
    async fn answer(
        self,
        make: impl FnOnce(&RowStore, &Control, BodySink) -> Result<(), RenderError> + Send + 'static,
    ) -> Result<axum::body::Body, ApiError> {
        let Self { place, twin, held: RowsGuard { store, work }, lent } = self;
        let (control, ended) = (work.control.clone(), work.ended.clone());
        let (sink, sender, pieces) = BodySink::new(&place, ended.clone());
        let reader = DisconnectStop { pieces, control, twin };
        tokio::task::spawn_blocking(move || {
            // The last local is dropped first, in a panic too: so the place is free before the
            // sender is dropped, by which the reader hears of the end.
            let (sender, place) = (sender, place);
            let worked = store.as_ref().map_or(Ok(()), |store| make(store, &work.control, sink));
            // The rows, and their lent memory, are free before the reader hears of the end.
            drop((store, work, lent));
            body::tell(&sender, worked);
            drop(place);
        });
        reader.body().await.map_err(|error| if ended.has_changed().is_err() { rows::gone() } else { refusal(&error) })
    }
}

fn failed(error: ViewError) -> RenderError {
    match error {
        ViewError::Cancelled => RenderError::Rows(PipeError::new(ErrorClass::Stopped, "", "stopped")),
        ViewError::Io(error) => RenderError::Rows(error),
        error @ ViewError::Unanswerable(_) => RenderError::Rows(PipeError::new(ErrorClass::Mismatch, "", error.to_string())),
    }
}

fn full(message: String) -> ApiError {
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "exports_full", message).retry_after(1)
}

/// The answer where rows can't make room, as their file can't be written.
fn no_file(why: &str) -> ApiError {
    let message = format!("the export has no room before rows go to their file, which could not be written: {why}");
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "export_no_room", message)
}

/// Values of each column of texts on the page of a table: fewer where there are many columns.
fn table_page_top(schema: &Schema) -> usize {
    (PAGE_TABLE_VALUES / schema.panels().len().max(1)).clamp(PAGE_TABLE_TOP_MIN, PAGE_TOP)
}

/// Memory of the values and numbers on the page of a table.
fn table_values_bytes(schema: &Schema, top: usize) -> u64 {
    (schema.panels().len() * top + schema.own_numbers()) as u64 * PAGE_VALUE_BYTES
}

fn no_lines() -> ApiError {
    let message = "a table has rows, not lines: use \"format\" csv, ndjson or parquet";
    ApiError::new(StatusCode::BAD_REQUEST, "no_lines", message)
}

fn nothing_read() -> ApiError {
    ApiError::new(StatusCode::CONFLICT, "nothing_read", "there are no rows: no line or record was read")
}

/// The answer instead of a first piece.
fn refusal(error: &RenderError) -> ApiError {
    if error.is_stop() {
        return ApiError::bad_request("the client closed its sending half, which ends its export");
    }
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "export_failed", error.to_string())
}
