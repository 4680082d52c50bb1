//! Tables that `serve` opens.

use crate::args::{Common, FromArgs, ShownArgs};
use crate::message;
use crate::rows::recorded::{RECORDED_BATCH_BYTES, RowsIntoStore, record_columns};
use crate::rows::records::{OpenedRows, RecordColumns, RecordRows, RecordRules, RecordsEnd, recognised};
use crate::verbs::convert::{InputFile, RecordLimit, rest_bytes_of_table, scan_limited};
use crate::watchdog::MemoryWatchdog;
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use rorqual_accesslog::analyze::Formats;
use rorqual_accesslog::format::{ForeignContent, detect};
use rorqual_accesslog::schema::Schema;
use rorqual_columnar::convert::SampleExtent;
use rorqual_columnar::json::{Layout, format_rows, parse_rows};
use rorqual_columnar::limits::PREFIX_BYTES;
use rorqual_columnar::read::{TableFile, is_table, schema_bytes, schema_of_bytes};
use rorqual_columnar::render::FlatColumns;
use rorqual_columnar::{FormatHints, RecordFormat, ScanHead, ScanSettings, has_extension};
use rorqual_crossfilter::RowStore;
use rorqual_pipe::{
    AppendedLines, Control, FileGrowth, FileVersion, FollowStatus, FollowedLines, Input, format_size, last_line_end, reason,
};
use rorqual_serve::{TableEnd, TableOpener, TablePoint, TableSource};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
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
    /// The file as it was at the first look, by which all readings are of one state of it.
    version: Option<FileVersion>,
    /// A file of lines, which may lose its name while it is read.
    held: Option<HeldTable>,
    /// The file, from [`TableSource::columns`] on, where its rows are lines of a plain text.
    lines: Option<TableLines>,
    /// Its state where it is followed: lines are read as they are appended.
    followed: Option<FollowStatus>,
    /// A row with a value for which there is no column ends the reading, as there may be columns
    /// for it.
    stops_at_rest: bool,
}

/// An open file, and a path to it that stays.
struct HeldTable {
    file: File,
    path: PathBuf,
    /// For people.
    name: String,
}

/// A file whose rows are lines.
struct TableLines {
    /// Offset from which it is read.
    start: u64,
    /// End of its last whole line.
    end: u64,
    /// The file as it was when these were found, of which more may have come since.
    version: FileVersion,
    /// The lines after those, as they are appended.
    follow: FollowedLines,
    /// Some of them that were not read yet.
    appended: Option<AppendedLines>,
    /// Their recorder.
    recorder: Option<RowsIntoStore>,
}

impl Drop for TableLines {
    /// Shows the last rows, however it ends.
    fn drop(&mut self) {
        self.recorder.take().into_iter().for_each(RowsIntoStore::finish);
    }
}

/// The format of a table.
#[derive(Clone)]
pub(crate) struct TableFormat {
    /// For people: `CSV`, `JSON, rows of $.data.items`.
    pub(crate) name: String,
    /// Arguments to read it with.
    pub(crate) from: FromArgs,
    /// Each row is a line.
    is_lines: bool,
}

impl TableFormat {
    /// `rows` are those that were given, in a JSON document.
    fn new(name: impl Into<String>, rows: Option<&str>) -> Self {
        let from = FromArgs { rows: rows.map(str::to_owned), guesses_rows: true, ..FromArgs::default() };
        Self { name: name.into(), from, is_lines: false }
    }
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
        Self {
            common,
            path,
            name,
            memory_bytes,
            format,
            extent: SampleExtent::Prefix,
            recorders: 1,
            opened: None,
            version: None,
            held: None,
            lines: None,
            followed: None,
            stops_at_rest: true,
        }
    }

    /// The same, which is read as it grows.
    ///
    /// # Errors
    /// A sentence where its rows are no lines.
    pub(super) fn followed(self) -> Result<Self, String> {
        if !self.format.is_lines {
            let (name, format) = (self.file().shown(), &self.format.name);
            return Err(format!(
                "{name}: it is a table ({format}), of which only JSON lines can be followed: leave out --follow"
            ));
        }
        Ok(Self { followed: Some(FollowStatus::default()), ..self })
    }

    fn file(&self) -> InputFile<'_> {
        match &self.held {
            Some(held) => InputFile { path: &held.path, name: Some(&held.name) },
            None => self.named_file(),
        }
    }

    /// The file that has its name now.
    fn named_file(&self) -> InputFile<'_> {
        InputFile { path: &self.path, name: self.name.as_deref() }
    }

    /// Opens a file of lines for all readings.
    fn hold(&mut self) -> Result<(), String> {
        if self.held.is_none() && self.format.is_lines {
            let failed = |cause: io::Error| format!("{}: cannot open: {}", self.file().shown(), reason(&cause));
            let file = File::open(&self.path).map_err(failed)?;
            let name = self.name.clone().unwrap_or_else(|| self.path.to_string_lossy().into_owned());
            self.held = Some(HeldTable { path: path_of(&file), file, name });
        }
        Ok(())
    }

    /// Notes the state of the file at the first look.
    fn note_version(&mut self) -> Result<(), String> {
        if self.version.is_none() {
            self.version = Some(FileVersion::of(self.file().path).map_err(|error| error.to_string())?);
        }
        Ok(())
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
                    Layout::Lines => TableFormat { is_lines: true, ..TableFormat::new("JSON", None) },
                    Layout::Documents | Layout::Array => TableFormat::new("JSON", None),
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

/// Fault of a line that nobody could read.
const LOST: &str = "its file was cut before the line had an end, and it is lost";

/// Fault that stands for lines that may be lost.
const CUT: &str = "the file was cut while lines of it were read: some of those before may be lost";

/// Fault of a line that begins with a hole: a writer went on where it was after its file was cut.
const HOLE: &str = "it begins with NUL bytes";

/// True if a file is shorter than it was.
fn is_shorter(file: &File, bytes: u64) -> bool {
    file.metadata().is_ok_and(|data| data.len() < bytes)
}

/// End of the first line of a part of a file that begins with a NUL; `None` of another.
fn hole_line_end(file: &File, part: &Range<u64>) -> Option<u64> {
    const READ_BYTES: u64 = 64 << 10;
    let mut bytes = Vec::new();
    let mut at = part.start;
    while at < part.end {
        bytes.resize(READ_BYTES.min(part.end - at) as usize, 0);
        file.read_exact_at(&mut bytes, at).ok()?;
        if at == part.start && bytes.first() != Some(&0) {
            return None;
        }
        if let Some(newline) = bytes.iter().position(|byte| *byte == b'\n') {
            return Some(at + newline as u64 + 1);
        }
        at += bytes.len() as u64;
    }
    Some(part.end)
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

    fn follow(&self, path: &Path) -> Option<Box<dyn TableSource>> {
        let table = ServedTable::of(&self.common, path.into(), (&self.formats, None), self.memory_bytes)?;
        Some(Box::new(table.followed().ok()?))
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
        let reopened = Self::new(self.common.clone(), self.named_file(), self.memory_bytes, self.format.clone());
        Box::new(Self { followed: self.followed.clone(), ..reopened })
    }

    fn columns(&mut self, memory_bytes: u64, control: &Control) -> Result<Schema, String> {
        let columns = RecordColumns::Found { extent: self.extent, with_rest: self.followed.is_some() };
        self.open_rows(columns, 0, (memory_bytes, control))
    }

    fn go_on(&mut self, point: &TablePoint, memory_bytes: u64, control: &Control) -> Result<Option<Schema>, String> {
        let known = schema_of_bytes(&point.columns);
        let has_rest = |schema: &SchemaRef| FlatColumns::new(schema).rest().is_some();
        let Some(schema) = known.filter(|schema| self.followed.is_none() || has_rest(schema)) else { return Ok(None) };
        self.hold()?;
        if self.held.as_ref().is_none_or(|held| is_shorter(&held.file, point.offset)) {
            return Ok(None);
        }
        let schema = self.open_rows(RecordColumns::Known(schema), point.offset, (memory_bytes, control))?;
        Ok(self.lines.is_some().then_some(schema))
    }

    fn record(&mut self, store: &Arc<RowStore>, control: &Control) -> Result<TableEnd, String> {
        let whole_lines = self.lines.as_ref().map(|lines| lines.start..lines.end);
        let end = self.record_rows(whole_lines, store, control);
        if !control.stopped() && self.followed.is_none() && self.is_changed() {
            return Err(self.changed());
        }
        end
    }

    fn point(&self) -> Option<TablePoint> {
        let (Some(lines), Some(OpenedRows::Records(records))) = (&self.lines, &self.opened) else { return None };
        Some(TablePoint { offset: lines.end, columns: schema_bytes(records.schema()) })
    }

    fn record_rest(&mut self, store: &Arc<RowStore>, control: &Control) -> Result<TableEnd, String> {
        match &self.lines {
            // While it is followed, a line without its end waits for that.
            Some(lines) if self.followed.is_none() && lines.end < lines.version.size_bytes() => {
                let rest = lines.end..lines.version.size_bytes();
                self.record_rows(Some(rest), store, control)
            }
            _ => Ok(TableEnd::Whole),
        }
    }

    fn followed(&self) -> Option<FollowStatus> {
        self.followed.clone()
    }

    fn has_appended(&mut self) -> Result<bool, String> {
        let name = self.file().shown();
        let Some(lines) = &mut self.lines else { return Ok(false) };
        if lines.appended.is_none() {
            lines.appended = lines.follow.appended().map_err(|cause| format!("{name}: cannot read: {}", reason(&cause)))?;
        }
        Ok(lines.appended.is_some())
    }

    fn record_appended(&mut self, store: &Arc<RowStore>) -> Result<(), String> {
        let name = self.file().shown();
        let (Some(lines), Some(OpenedRows::Records(records))) = (&mut self.lines, &mut self.opened) else { return Ok(()) };
        let Some(AppendedLines { file, range, begins, lost }) = lines.appended.take() else { return Ok(()) };
        if begins {
            // Offsets of a recorder's rows ascend.
            lines.recorder.take().into_iter().for_each(RowsIntoStore::finish);
        }
        let new = || RowsIntoStore::several(records.schema(), store, 1);
        let mut recorders = lines.recorder.take().map_or_else(new, |known| vec![known]);
        recorders.iter_mut().for_each(|recorder| (0..lost).for_each(|_| recorder.reject(range.start, LOST)));
        // A value without a column is in `_rest` until the file is opened again.
        let rules = RecordRules { stops_at_rest: false, keeps_bad: true };
        let mut part = range.clone();
        let mut failed = None;
        while !part.is_empty() && failed.is_none() {
            let (error, left) = match part_of(&name, &file, part.clone()) {
                Ok(input) => {
                    let (recorded, left) = records.record_input(input, recorders, rules);
                    (recorded.error.map(|error| error.to_string()), left)
                }
                Err(error) => (Some(error), recorders),
            };
            recorders = if left.is_empty() { RowsIntoStore::several(records.schema(), store, 1) } else { left };
            if error.is_none() {
                break;
            }
            if is_shorter(&file, range.end) {
                recorders.iter_mut().for_each(|recorder| recorder.reject(part.end, CUT));
                break;
            }
            match hole_line_end(&file, &part) {
                Some(end) => {
                    recorders.iter_mut().for_each(|recorder| recorder.reject(part.start, HOLE));
                    part.start = end;
                }
                None => failed = error,
            }
        }
        lines.recorder = recorders.into_iter().next();
        records.release_buffers();
        // Nobody knows when the next ones come.
        lines.recorder.iter_mut().for_each(RowsIntoStore::show_so_far);
        failed.map_or(Ok(()), Err)
    }
}

impl ServedTable {
    /// Opens the file with these columns, to be read from an offset on.
    fn open_rows(
        &mut self,
        columns: RecordColumns,
        start: u64,
        (memory_bytes, control): (u64, &Control),
    ) -> Result<Schema, String> {
        self.hold()?;
        self.note_version()?;
        self.stops_at_rest = !matches!(columns, RecordColumns::Found { extent: SampleExtent::Whole, .. });
        self.extent = SampleExtent::Whole;
        let lines = self.held.as_ref().map(|held| self.open_lines(held, start)).transpose()?;
        let (threads, scan) = settings(&self.common, self.file(), memory_bytes, control)?;
        let shown = ShownArgs { columns: None, to: None, json: false };
        let memory = (memory_bytes, self.memory_bytes);
        let mut opened = recognised((threads, memory), scan, &self.format.from, &shown, self.file(), columns)?;
        let is_lines = if let OpenedRows::Records(records) = &mut opened { records.has_lines()? } else { false };
        self.lines = lines.filter(|_| is_lines);
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

    /// The lines of the file from an offset on that are there now.
    fn open_lines(&self, held: &HeldTable, start: u64) -> Result<TableLines, String> {
        let failed = |cause: io::Error| format!("{}: cannot read: {}", self.file().shown(), reason(&cause));
        let version = FileVersion::of_file(&held.file).map_err(failed)?;
        if version.size_bytes() < start {
            return Err(self.changed());
        }
        let end = last_line_end(&held.file, start, version.size_bytes()).map_err(failed)?;
        let status = self.followed.clone().unwrap_or_default();
        let file = held.file.try_clone().map_err(failed)?;
        let follow = FollowedLines::new(&self.path, file, end, status);
        Ok(TableLines { start, end, version, follow, appended: None, recorder: None })
    }

    /// Records a part of a file of lines, or all of another.
    fn record_rows(&mut self, part: Option<Range<u64>>, store: &Arc<RowStore>, control: &Control) -> Result<TableEnd, String> {
        let recorders = |schema: &ArrowSchema| RowsIntoStore::several(schema, store, self.recorders.min(store.recorders()));
        let name = self.file().shown();
        match self.opened.take() {
            Some(OpenedRows::Table(table, _)) => {
                of_columns((&table, &self.path), recorders(table.schema()), control, self.memory_bytes)
            }
            Some(OpenedRows::Records(mut records)) => {
                let rules = RecordRules { stops_at_rest: self.stops_at_rest, keeps_bad: true };
                let recorders = recorders(records.schema());
                let recorded = match (part, &self.held) {
                    (Some(part), Some(held)) => {
                        let (recorded, recorders) = records.record_input(part_of(&name, &held.file, part)?, recorders, rules);
                        recorders.into_iter().for_each(RowsIntoStore::finish);
                        recorded
                    }
                    _ => records.record(recorders, rules)?,
                };
                let is_cut = self.followed.is_some()
                    && recorded.error.is_some()
                    && self.held.as_ref().zip(self.lines.as_ref()).is_some_and(|(held, lines)| is_shorter(&held.file, lines.end));
                let end = if is_cut {
                    // It is followed from its new start.
                    let mut recorders = RowsIntoStore::several(records.schema(), store, 1);
                    recorders.iter_mut().for_each(|recorder| recorder.reject(0, CUT));
                    recorders.into_iter().for_each(RowsIntoStore::finish);
                    Ok(TableEnd::Whole)
                } else {
                    end_of(&records, recorded, rules)
                };
                // Others may read a table until there is more of this one.
                records.release_buffers();
                self.opened = Some(OpenedRows::Records(records));
                end
            }
            None => Ok(TableEnd::Whole),
        }
    }

    /// True if the file is another than at the first look. One of lines may have got more of them.
    fn is_changed(&self) -> bool {
        let checked = match (&self.lines, &self.held) {
            (Some(lines), Some(held)) => lines.version.check(&held.file, &held.name, FileGrowth::Allowed),
            _ => self.version.as_ref().map_or(Ok(()), |version| version.check_path(&self.path, FileGrowth::Refused)),
        };
        checked.is_err()
    }

    fn changed(&self) -> String {
        format!("{}: it was changed while it was read: its rows may be of both versions", self.file().shown())
    }
}

/// A path to an open file, whatever its name is now. Each opening has an offset of its own.
fn path_of(file: &File) -> PathBuf {
    PathBuf::from(format!("/dev/fd/{}", file.as_raw_fd()))
}

/// A part of a file of lines as an input.
fn part_of(name: &str, file: &File, part: Range<u64>) -> Result<Input, String> {
    let input = InputFile { path: &path_of(file), name: Some(name) }.open_text()?;
    if !input.is_file() {
        return Err(format!("{name}: it is compressed or UTF-16 now, of which only whole files are read: leave out --follow"));
    }
    Ok(input.within(part))
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

fn end_of(records: &RecordRows, recorded: RecordsEnd, rules: RecordRules) -> Result<TableEnd, String> {
    // A wrong guess makes a row of names, or names of a row.
    records.guesses().iter().for_each(|guess| tracing::warn!("{}", message::escaped(guess)));
    records.notes().for_each(|note| tracing::info!("{}", message::escaped(&note)));
    match recorded.error {
        Some(error) => Err(error.to_string()),
        None if recorded.has_rest && rules.stops_at_rest => Ok(TableEnd::MoreColumns),
        None => Ok(TableEnd::Whole),
    }
}
