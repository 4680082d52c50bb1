//! The table of rows: a page of a view in the order of the input, each line rebuilt.

use crate::bits::Bits;
use crate::columns::{
    AGENT, BYTES, CLIENT, CODED, ColumnCounts, FILE, FLAW, HOST, LINE, METHOD, NUMBERS, PATH, PROTOCOL, QUERY, REFERRER,
    REJECTED, REQUEST_TIME, SOURCE, STATUS, TIME, UPSTREAM_TIME, USER, ZONE, ZONE_MIN, source,
};
use crate::dictionary::{FLAW_NO_ROOM, NO_ROOM, NONE, OTHERS, derive};
use crate::limits::{PAGE_LINE_BYTES_MAX, PAGE_ROWS_MAX, PAGE_TEXT_BYTES_MAX};
use crate::page_row::{LineFormats, OwnValue, PageRow, RowPage, as_map};
use crate::plan::{ViewPlan, joined};
use crate::row_order::RowPosition;
use crate::segment::{CodedColumnRef, InputRun, Segment, unbiased};
use crate::store::{RowStore, Snapshot, lock};
use crate::uncoded::PlainTexts;
use crate::view::{View, ViewError};
use crate::view_cache::Share;
use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::parse::LogRecord;
use rorqual_accesslog::schema::{OwnColumn, Schema, TextColumn, TextContent};
use rorqual_accesslog::{OwnColumns, OwnValues};
use rorqual_pipe::{Control, Error, each};
use std::borrow::Cow;
use std::io;
use std::sync::Arc;

impl RowStore {
    /// At most `limit` rows of a view from the `offset`th on, with lines rebuilt in their format;
    /// where there is none they are the JSON of the schema's own columns.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn page<'f>(
        &self,
        view: &View,
        offset: u64,
        limit: usize,
        formats: impl Into<LineFormats<'f>>,
        control: &Control,
    ) -> Result<RowPage, ViewError> {
        let formats = formats.into();
        let snapshot = self.snapshot();
        let plan = ViewPlan::new(view, self, control).ok_or(ViewError::Cancelled)?;
        let shares = self.shares_of(view, &snapshot, &plan, control)?;
        let mut page = RowPage { total: shares.iter().map(|share| share.rows).sum(), offset, rows: Vec::new() };
        let most = limit.min(PAGE_ROWS_MAX);
        let (mut before, mut open) = (0, Vec::new());
        for share in shares.iter() {
            if page.rows.len() >= most {
                break;
            }
            let skipped = offset.saturating_sub(before).min(share.rows);
            before += share.rows;
            if skipped < share.rows {
                let wanted = (most - page.rows.len()).min((share.rows - skipped) as usize);
                let segment = self.opened(&mut open, &snapshot, &plan, share.segment).map_err(ViewError::spilled)?;
                if control.stopped() {
                    return Err(ViewError::Cancelled);
                }
                page.rows.extend(segment.rows_of(&share.run, skipped as usize, wanted, formats));
            }
        }
        Ok(page)
    }

    /// A segment whose rows are wanted. As many stay open as there are recorders, whose runs lie
    /// between each other's.
    fn opened<'o, 'a>(
        &'a self,
        open: &'o mut Vec<OpenSegment<'a>>,
        snapshot: &'a Snapshot,
        plan: &ViewPlan,
        index: usize,
    ) -> io::Result<&'o OpenSegment<'a>> {
        if let Some(at) = open.iter().position(|open| open.index == index) {
            return Ok(&open[at]);
        }
        if open.len() >= self.settings.threads {
            open.remove(0);
        }
        let segment = &snapshot.segments[index];
        let mut list = Vec::new();
        plan.select(segment, self)?.list(&mut list);
        open.push(OpenSegment { index, list, reader: RowReader::new(self, index, segment)? });
        Ok(&open[open.len() - 1])
    }

    /// Runs that have rows of the view, in the order of the inputs; counted where they are not
    /// known from the page before.
    pub(crate) fn shares_of(
        &self,
        view: &View,
        snapshot: &Snapshot,
        plan: &ViewPlan,
        control: &Control,
    ) -> Result<Arc<Vec<Share>>, ViewError> {
        if let Some(shares) = lock(&self.kept).shares(view, snapshot.generation) {
            return Ok(shares);
        }
        let shares = Arc::new(self.shares(snapshot, plan, control)?);
        lock(&self.kept).keep_shares(view.clone(), snapshot.generation, &shares);
        Ok(shares)
    }

    fn shares(&self, snapshot: &Snapshot, plan: &ViewPlan, control: &Control) -> Result<Vec<Share>, ViewError> {
        let mut workers = vec![(); self.settings.threads];
        let mut shares = Vec::new();
        let work = |(): &mut (), index: usize| -> io::Result<Vec<Share>> {
            if control.stopped() {
                return Ok(Vec::new());
            }
            let segment = &snapshot.segments[index];
            let bits = plan.select(segment, self)?;
            let share = |run: &InputRun| Share { run: *run, segment: index, rows: count_run(&bits, run) as u64 };
            Ok(segment.runs.iter().map(share).filter(|share| share.rows > 0).collect())
        };
        let sink = |found: io::Result<Vec<Share>>| {
            shares.extend(found.map_err(|cause| Error::io("rows", "cannot read spilled rows", cause))?);
            Ok(())
        };
        each(0..snapshot.segments.len(), &mut workers, work, sink).map_err(ViewError::Io)?;
        shares.sort_unstable_by_key(|share| (share.run.input, share.run.offset, share.segment, share.run.row));
        if control.stopped() { Err(ViewError::Cancelled) } else { Ok(shares) }
    }
}

/// A segment whose rows are shown.
struct OpenSegment<'a> {
    index: usize,
    /// Its rows that are in the view.
    list: Vec<u16>,
    reader: RowReader<'a>,
}

impl OpenSegment<'_> {
    /// Rows of a run that are in the view, without the first `skipped` of them.
    fn rows_of(&self, run: &InputRun, skipped: usize, wanted: usize, formats: LineFormats<'_>) -> impl Iterator<Item = PageRow> {
        let first = self.list.partition_point(|row| u32::from(*row) < run.row);
        self.list.iter().skip(first + skipped).take(wanted).map(move |row| self.reader.row(usize::from(*row), formats))
    }
}

fn count_run(bits: &Bits, run: &InputRun) -> usize {
    bits.count_in(run.row as usize, (run.row + run.rows) as usize)
}

/// All columns of a segment.
pub(crate) struct RowReader<'a> {
    store: &'a RowStore,
    /// Number of the segment.
    number: usize,
    runs: &'a [InputRun],
    coded: Vec<Cow<'a, CodedColumnRef>>,
    /// Texts without a code of the coded columns that have some.
    uncoded: Vec<Option<PlainTexts>>,
    numbers: Vec<Cow<'a, crate::numbers::CodedNumbers>>,
}

impl<'a> RowReader<'a> {
    pub(crate) fn new(store: &'a RowStore, number: usize, segment: &'a Segment) -> io::Result<Self> {
        let spill = store.spill.as_ref();
        let ColumnCounts { coded, numbers } = segment.counts();
        let coded = (0..coded).map(|index| segment.coded(index, spill)).collect::<io::Result<_>>()?;
        let uncoded = segment.plain_texts(spill)?;
        let numbers = (0..numbers).map(|index| segment.numbers(index, spill)).collect::<io::Result<_>>()?;
        Ok(Self { store, number, runs: &segment.runs, coded, uncoded, numbers })
    }

    fn text(&self, column: usize, row: usize) -> String {
        let code = self.coded[column].get(row);
        match self.with_uncoded(column, row, lossy) {
            Some(text) => text,
            None if code == OTHERS => if column == FLAW { FLAW_NO_ROOM } else { NO_ROOM }.to_owned(),
            None => lossy(self.store.dictionaries[column].lock().text(code)),
        }
    }

    /// The derived value of a text.
    fn derived(&self, column: TextColumn, row: usize) -> String {
        let (index, _) = source(column);
        let code = self.coded[index].get(row);
        let tables = self.store.dictionaries[index].lock();
        let class = tables.classes(column).get(code as usize).copied().unwrap_or(NONE);
        if class != OTHERS {
            return lossy(tables.text_of(Some(column), class));
        }
        drop(tables);
        let countries = self.store.settings.countries.as_deref();
        self.with_uncoded(index, row, |text| lossy(&derive(column, text, countries))).unwrap_or_else(|| NO_ROOM.to_owned())
    }

    /// Makes something of the text of a row that has no code; `None` of one that has.
    fn with_uncoded(&self, column: usize, row: usize, make: impl Fn(&[u8]) -> String) -> Option<String> {
        let coded = &self.coded[column];
        let text = coded.uncoded_of(coded.codes.get(row) as usize)?;
        self.uncoded[column].as_ref().map(|texts| make(texts.text(text)))
    }

    /// The values of the schema's own columns.
    fn own(&self, row: usize) -> Vec<(String, OwnValue)> {
        let (mut texts, mut numbers) = (CODED.., NUMBERS..);
        let value = |column: &OwnColumn| {
            let value = match column.unit {
                None => texts.next().map(|index| self.text(index, row)).filter(|text| !text.is_empty()).map(OwnValue::Text),
                Some(unit) => numbers.next().map(|index| OwnValue::number(unit, self.numbers[index].get(row))),
            };
            (column.name.clone(), value.unwrap_or(OwnValue::Absent))
        };
        self.store.schema().own().iter().map(value).collect()
    }

    /// The same as a line is written with them.
    fn own_values(&self, row: usize) -> Written {
        let mut values = OwnValues::default();
        (CODED..self.coded.len()).for_each(|index| values.push_text(self.text(index, row).as_bytes()));
        (NUMBERS..self.numbers.len()).for_each(|index| values.push_number(self.numbers[index].get(row)));
        Written { values, columns: self.store.own().cloned() }
    }

    pub(crate) fn row(&self, row: usize, formats: LineFormats<'_>) -> PageRow {
        let times_us = [REQUEST_TIME, UPSTREAM_TIME].map(|column| self.numbers[column].get(row));
        let [request_time, upstream_time] = times_us.map(|time| time.map(|us| us as f64 / 1e6));
        let flaw = self.text(FLAW, row);
        let rejected = flaw.as_bytes().first() == Some(&REJECTED);
        let time_us = self.numbers[TIME].get(row).map(unbiased);
        let (path, query) = (self.text(PATH, row), self.text(QUERY, row));
        let mut page_row = PageRow {
            time: time_us.map(|time_us| time_us as f64 / 1e6),
            zone_seconds: self.coded[ZONE].get(row).cast_signed() + ZONE_MIN,
            client: self.text(CLIENT, row),
            net: self.derived(TextColumn::NET, row),
            country: self.derived(TextColumn::COUNTRY, row),
            user: self.text(USER, row),
            host: self.text(HOST, row),
            method: self.text(METHOD, row),
            url: lossy(&joined(path.as_bytes(), query.as_bytes())),
            path,
            query,
            kind: self.derived(TextColumn::KIND, row),
            protocol: self.text(PROTOCOL, row),
            status: u16::try_from(self.coded[STATUS].get(row)).ok().filter(|status| *status != 0),
            bytes: self.numbers[BYTES].get(row),
            referrer: self.text(REFERRER, row),
            site: self.derived(TextColumn::SITE, row),
            agent: self.text(AGENT, row),
            browser: self.derived(TextColumn::BROWSER, row),
            os: self.derived(TextColumn::OS, row),
            bot: self.derived(TextColumn::BOT, row),
            request_time,
            upstream_time,
            source: self.text(SOURCE, row),
            file: self.text(FILE, row),
            columns: self.own(row),
            // The first byte is the kind of flaw.
            flaw: (!flaw.is_empty()).then(|| flaw[1..].to_owned()),
            rejected,
            place: RowPosition::of(self.number, self.runs, row).to_string(),
            line: String::new(),
        };
        page_row.line = match formats.of(&page_row.file) {
            _ if rejected => self.text(LINE, row),
            Some(format) => rebuilt(&page_row, time_us, times_us, &self.own_values(row), format),
            None => object(&page_row.columns, &self.store.schema()),
        };
        page_row
    }
}

/// A text, cut where it is too long to be shown.
fn lossy(text: &[u8]) -> String {
    cut(text, PAGE_TEXT_BYTES_MAX)
}

fn cut(text: &[u8], bytes_max: usize) -> String {
    let end = text.len().min(bytes_max);
    let mut shown = String::from_utf8_lossy(&text[..end]).into_owned();
    if end < text.len() {
        shown.push('…');
    }
    shown
}

/// The columns that a row has, as JSON, without those that follow from others.
fn object(columns: &[(String, OwnValue)], schema: &Schema) -> String {
    let is_present = |(name, value): &&(String, OwnValue)| {
        let own = schema.text(name).and_then(TextColumn::as_own);
        *value != OwnValue::Absent && own.is_none_or(|own| schema.text_kind(own) != TextContent::Pattern)
    };
    let present: Vec<_> = columns.iter().filter(is_present).cloned().collect();
    let mut json = Vec::new();
    // Nothing fails that is written into memory.
    let _ = as_map(&present, &mut serde_json::Serializer::new(&mut json));
    cut(&json, PAGE_LINE_BYTES_MAX)
}

/// Values that a line is written with beside its fields.
struct Written {
    values: OwnValues,
    columns: Option<Arc<OwnColumns>>,
}

fn rebuilt(row: &PageRow, time_us: Option<i64>, took_us: [Option<u64>; 2], own: &Written, format: &LogFormat) -> String {
    let [request_time_us, upstream_time_us] = took_us;
    let record = LogRecord {
        time_us,
        zone_seconds: row.zone_seconds,
        client: row.client.as_bytes(),
        user: row.user.as_bytes(),
        host: row.host.as_bytes(),
        method: row.method.as_bytes(),
        path: row.path.as_bytes(),
        query: row.query.as_bytes(),
        protocol: row.protocol.as_bytes(),
        status: row.status.unwrap_or(0),
        bytes: row.bytes,
        referrer: row.referrer.as_bytes(),
        agent: row.agent.as_bytes(),
        request_time_us,
        upstream_time_us,
        source: row.source.as_bytes(),
        own: own.columns.is_some().then_some(&own.values),
    };
    let columns = own.columns.as_deref();
    let line = match format.lacks(&record, columns) {
        true => format.with_more_columns(columns).line(&record, columns),
        false => format.line(&record, columns),
    };
    cut(&line, PAGE_LINE_BYTES_MAX)
}
