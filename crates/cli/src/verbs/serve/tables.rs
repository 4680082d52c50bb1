//! Tables that `serve` opens.

use crate::args::{Common, FromArgs, ShownArgs};
use crate::message;
use crate::rows::recorded::{RECORDED_BATCH_BYTES, RowsIntoStore, record_columns};
use crate::rows::records::{OpenedRows, RecordRows, RecordRules, recognised};
use crate::verbs::convert::{InputFile, RecordLimit, rest_bytes_of_table, scan_limited};
use crate::watchdog::MemoryWatchdog;
use arrow_schema::Schema as ArrowSchema;
use rorqual_accesslog::analyze::Formats;
use rorqual_accesslog::format::{ForeignContent, detect};
use rorqual_accesslog::schema::Schema;
use rorqual_columnar::convert::SampleExtent;
use rorqual_columnar::json::{Layout, format_rows, parse_rows};
use rorqual_columnar::limits::PREFIX_BYTES;
use rorqual_columnar::read::{TableFile, is_table};
use rorqual_columnar::render::FlatColumns;
use rorqual_columnar::{FormatHints, RecordFormat, ScanHead, ScanSettings, has_extension};
use rorqual_crossfilter::RowStore;
use rorqual_pipe::{Control, format_size};
use rorqual_serve::{TableEnd, TableOpener, TableSource};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Columns of one table at most: each takes memory for its values.
const COLUMNS_MAX: usize = 4_000;

/// Lines by which a text with separators is told from a log.
const LOOKED_AT_LINES: usize = 20;

/// Memory with which the start of a file can be looked at, whatever the server has.
const LOOKED_AT_BYTES: u64 = 256 << 20;

/// A table that the server reads in its turn.
pub(super) struct ServedTable {
    common: Common,
    path: PathBuf,
    /// Name of an upload, which has another path.
    name: Option<String>,
    memory_bytes: u64,
    format: TableFormat,
    extent: SampleExtent,
    /// Recorders for whose batches there is memory.
    recorders: usize,
    /// The file, from [`TableSource::columns`] on.
    opened: Option<OpenedRows>,
    /// The file as it was at the first look.
    version: Option<FileVersion>,
}

/// The format of a table.
#[derive(Clone)]
pub(crate) struct TableFormat {
    /// For people: `CSV`, `JSON, rows of $.data.items`.
    pub(crate) name: String,
    /// Arguments to read it with.
    pub(crate) from: FromArgs,
}

impl TableFormat {
    /// `rows` are those that were given, in a JSON document.
    fn new(name: impl Into<String>, rows: Option<&str>) -> Self {
        Self { name: name.into(), from: FromArgs { rows: rows.map(str::to_owned), guesses_rows: true, ..FromArgs::default() } }
    }
}

/// Device, inode, size and time of the last change of a file: it is read more than once, which is
/// one answer only where none of them changed.
type FileVersion = (u64, u64, u64, i64, i64);

fn version(path: &Path) -> Option<FileVersion> {
    let data = path.metadata().ok()?;
    Some((data.dev(), data.ino(), data.len(), data.mtime(), data.mtime_nsec()))
}

/// The format of a file that is a table; `None` where it is a log, or a format is given. `rows` are
/// those in a JSON document, as `--rows` has them.
pub(crate) fn table_format(common: &Common, path: &Path, formats: &Formats, rows: Option<&str>) -> Option<TableFormat> {
    ServedTable::of(common, path.into(), (formats, rows), common.process.memory_bytes()).map(|table| table.format)
}

/// Checks the path to the rows in a JSON document.
pub(crate) fn check_rows(rows: Option<&str>) -> Result<(), String> {
    rows.map(parse_rows).transpose().map(drop).map_err(|error| format!("--rows: {error}"))
}

impl ServedTable {
    /// True if the rows that were given are of this file.
    pub(super) fn has_given_rows(&self) -> bool {
        self.format.from.rows.is_some()
    }

    /// The table in a regular file, where it is one: an access log is none, though it may be JSON.
    /// `rows` are those in a JSON document; without them they are guessed.
    pub(super) fn of(
        common: &Common,
        file: InputFile<'_>,
        (formats, rows): (&Formats, Option<&str>),
        memory_bytes: u64,
    ) -> Option<Self> {
        if formats.given.is_some() {
            return None;
        }
        let common = common.clone();
        // With too little memory it is a table all the same, and the sum has its terms.
        let scan = settings(&common, file, LOOKED_AT_BYTES, &Control::default()).ok()?;
        let mut input = file.open_text().ok()?;
        let name = file.name.map_or(file.path, Path::new);
        let format = match scan.1.head(&mut input, PREFIX_BYTES) {
            Ok(head) => Self::format_of(name, &head, formats, rows)?,
            // The error is told when its turn comes.
            Err(_) => Self::format_by_name(name, rows)?,
        };
        Some(Self::new(common, file, memory_bytes, format))
    }

    fn new(common: Common, file: InputFile<'_>, memory_bytes: u64, format: TableFormat) -> Self {
        let (path, name) = (file.path.to_owned(), file.name.map(str::to_owned));
        Self { common, path, name, memory_bytes, format, extent: SampleExtent::Prefix, recorders: 1, opened: None, version: None }
    }

    fn file(&self) -> InputFile<'_> {
        InputFile { path: &self.path, name: self.name.as_deref() }
    }

    fn format_of(path: &Path, head: &ScanHead, formats: &Formats, rows: Option<&str>) -> Option<TableFormat> {
        if is_table(&head.bytes) {
            return Some(TableFormat::new("Parquet or Arrow", None));
        }
        let is_binary =
            || ForeignContent::of_head(&head.bytes).is_some_and(|foreign| !matches!(foreign, ForeignContent::Text(_)));
        if detect(&head.bytes, &formats.candidates).is_ok() || is_binary() {
            return None;
        }
        let name = path.to_string_lossy();
        let hints = FormatHints { guesses_rows: true, ..FormatHints::default() };
        match RecordFormat::detect(&name, head, &hints).ok()?.format {
            RecordFormat::Json(layout, _) => {
                let is_document = layout != Layout::Lines || has_extension(&name, "json");
                let given = rows.filter(|_| is_document);
                let guessed = || format_rows(&layout);
                Some(match layout {
                    _ if given.is_some() => TableFormat::new(format!("JSON, rows of {}", given.unwrap_or_default()), given),
                    Layout::Rows(_) | Layout::Members(_) => TableFormat::new(format!("JSON, rows of {}", guessed()), None),
                    Layout::Lines | Layout::Documents | Layout::Array => TableFormat::new("JSON", None),
                })
            }
            // Told by its separators alone it may be a log in a format of its own, or an error log.
            RecordFormat::Csv(_) if !is_csv(&name) && is_of_log(&head.bytes) => None,
            RecordFormat::Csv(_) => Some(TableFormat::new("CSV", None)),
            RecordFormat::Log(_) => None,
        }
    }

    /// Of a file whose start can't be read.
    fn format_by_name(path: &Path, rows: Option<&str>) -> Option<TableFormat> {
        let name = path.to_string_lossy();
        if ["json", "ndjson", "jsonl"].iter().any(|extension| has_extension(&name, extension)) {
            return Some(TableFormat::new("JSON", rows));
        }
        is_csv(&name).then(|| TableFormat::new("CSV", None))
    }
}

fn is_csv(name: &str) -> bool {
    has_extension(name, "csv") || has_extension(name, "tsv")
}

/// True if the lines are requests, or of a kind that has a name.
fn is_of_log(head: &[u8]) -> bool {
    is_of_requests(head) || matches!(ForeignContent::of_head(head), Some(ForeignContent::Text(_)))
}

/// True if most of the first lines have a method of HTTP as a word.
fn is_of_requests(head: &[u8]) -> bool {
    const METHODS: [&[u8]; 7] = [b"GET", b"POST", b"HEAD", b"PUT", b"DELETE", b"OPTIONS", b"PATCH"];
    let lines = head.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).take(LOOKED_AT_LINES);
    let has_method = |line: &[u8]| line.split(|byte| !byte.is_ascii_alphabetic()).any(|word| METHODS.contains(&word));
    let (requests, all) = lines.fold((0, 0), |(requests, all), line| (requests + usize::from(has_method(line)), all + 1));
    2 * requests > all
}

/// Opens tables that are uploaded.
pub(super) struct UploadedTables {
    pub(super) common: Common,
    pub(super) formats: Formats,
    pub(super) memory_bytes: u64,
}

impl TableOpener for UploadedTables {
    fn format(&self, name: &str, head: &[u8]) -> Option<String> {
        // Whether more will come is not known.
        [false, true].into_iter().find_map(|whole| {
            let head = ScanHead { bytes: head.to_vec(), whole, ..ScanHead::default() };
            ServedTable::format_of(Path::new(name), &head, &self.formats, None).map(|format| format.name)
        })
    }

    fn check(&self, memory_bytes: u64) -> Result<(), String> {
        fitting(&self.common, Path::new(""), memory_bytes).map(drop)
    }

    fn open(&self, name: &str, path: &Path) -> Option<Box<dyn TableSource>> {
        let file = InputFile { path, name: Some(name) };
        let table = ServedTable::of(&self.common, file, (&self.formats, None), self.memory_bytes)?;
        Some(Box::new(table))
    }
}

/// Settings for a table, where there is memory to read one.
fn fitting(common: &Common, path: &Path, reading_bytes: u64) -> Result<(usize, ScanSettings), String> {
    let scan = scan_limited(common, RecordLimit::usual(), &[path], reading_bytes, |_, _| RECORDED_BATCH_BYTES);
    scan.map_err(|error| {
        let (bytes, least) = (format_size(reading_bytes), format_size(error.least_bytes()));
        format!(
            "this server has {bytes} of memory to read a table in, and that takes {least}: start it with more memory or fewer sessions"
        )
    })
}

fn settings(
    common: &Common,
    file: InputFile<'_>,
    reading_bytes: u64,
    control: &Control,
) -> Result<(usize, ScanSettings), String> {
    let fitting = fitting(common, file.path, reading_bytes).map_err(|error| format!("{}: {error}", file.shown()));
    let (threads, scan) = fitting?;
    Ok((threads, ScanSettings { control: control.clone(), ..scan }))
}

impl TableSource for ServedTable {
    fn format(&self) -> String {
        self.format.name.clone()
    }

    fn reopened(&self) -> Box<dyn TableSource> {
        Box::new(Self::new(self.common.clone(), self.file(), self.memory_bytes, self.format.clone()))
    }

    fn columns(&mut self, memory_bytes: u64, control: &Control) -> Result<Schema, String> {
        self.version = self.version.or_else(|| version(&self.path));
        let (threads, scan) = settings(&self.common, self.file(), memory_bytes, control)?;
        let shown = ShownArgs { columns: None, to: None, json: false };
        let memory = (memory_bytes, self.memory_bytes);
        let opened = recognised((threads, memory), scan, &self.format.from, &shown, self.file(), self.extent)?;
        let columns = FlatColumns::new(match &opened {
            OpenedRows::Table(table, _) => table.schema(),
            OpenedRows::Records(records) => records.schema(),
        });
        let count = columns.own().len();
        if count > COLUMNS_MAX {
            let name = self.file().shown();
            return Err(format!("{name}: it has {count} columns, and at most {COLUMNS_MAX} are shown"));
        }
        let rest_bytes = match &opened {
            OpenedRows::Table(table, _) => rest_bytes_of_table(table, memory_bytes, threads),
            OpenedRows::Records(records) => records.rest_bytes(),
        };
        self.recorders = threads.min((rest_bytes / RECORDED_BATCH_BYTES) as usize).max(1);
        self.opened = Some(opened);
        Ok(columns.schema())
    }

    fn record(&mut self, store: &Arc<RowStore>, control: &Control) -> Result<TableEnd, String> {
        let recorders = |schema: &ArrowSchema| RowsIntoStore::several(schema, store, self.recorders.min(store.recorders()));
        let end = match self.opened.take() {
            Some(OpenedRows::Table(table, _)) => {
                of_columns((&table, &self.path), recorders(table.schema()), control, self.memory_bytes)
            }
            Some(OpenedRows::Records(mut records)) => {
                let recorders = recorders(records.schema());
                let begun = std::mem::replace(&mut self.extent, SampleExtent::Whole);
                of_records(&mut records, recorders, begun)
            }
            None => Ok(TableEnd::Whole),
        };
        if !control.stopped() && version(&self.path) != self.version {
            let name = self.file().shown();
            return Err(format!("{name}: it was changed while it was read: its rows may be of both versions"));
        }
        end
    }
}

fn of_columns(
    (table, path): (&TableFile, &Path),
    recorders: Vec<RowsIntoStore>,
    control: &Control,
    memory_bytes: u64,
) -> Result<TableEnd, String> {
    let _guard = MemoryWatchdog::reading(table.name(), memory_bytes);
    let mut progress = TableProgress::new(path, table);
    let recorded = record_columns(table, recorders, control, |rows| progress.count(rows, control));
    recorded.map(|()| TableEnd::Whole).map_err(|error| error.to_string())
}

/// Progress in a file of columns, whose parts are not read from its start to its end: the part of
/// its rows stands for that of its bytes.
struct TableProgress {
    file_bytes: u64,
    rows_all: u64,
    rows: u64,
    counted_bytes: u64,
}

impl TableProgress {
    fn new(path: &Path, table: &TableFile) -> Self {
        let file_bytes = path.metadata().map_or(0, |data| data.len());
        Self { file_bytes, rows_all: table.rows().unwrap_or(0).max(1), rows: 0, counted_bytes: 0 }
    }

    fn count(&mut self, rows: usize, control: &Control) {
        self.rows = (self.rows + rows as u64).min(self.rows_all);
        let bytes = (u128::from(self.file_bytes) * u128::from(self.rows) / u128::from(self.rows_all)) as u64;
        control.stored(bytes - self.counted_bytes);
        control.decoded(bytes - self.counted_bytes);
        self.counted_bytes = bytes;
    }
}

fn of_records(records: &mut RecordRows, recorders: Vec<RowsIntoStore>, extent: SampleExtent) -> Result<TableEnd, String> {
    let rules = RecordRules { stops_at_rest: extent == SampleExtent::Prefix, keeps_bad: true };
    let recorded = records.record(recorders, rules)?;
    // A wrong guess makes a row of names, or names of a row.
    records.guesses().iter().for_each(|guess| tracing::warn!("{}", message::escaped(guess)));
    records.notes().for_each(|note| tracing::info!("{}", message::escaped(&note)));
    match recorded.error {
        Some(error) => Err(error.to_string()),
        None if recorded.has_rest && extent == SampleExtent::Prefix => Ok(TableEnd::MoreColumns),
        None => Ok(TableEnd::Whole),
    }
}
