//! Inputs of a known format.

use crate::args::{FromArgs, SourceFormat};
use crate::watchdog::MemoryWatchdog;
use crate::{input, message};
use arrow_schema::SchemaRef;
use rorqual_accesslog::format::{ForeignContent, LogFormat};
use rorqual_columnar::csv::Quote;
use rorqual_columnar::json;
use rorqual_columnar::limits::{PREFIX_BYTES, RECORD_BYTES_MAX_DEFAULT, RECORD_SHARE};
use rorqual_columnar::read::{TableFile, is_stream, is_table};
use rorqual_columnar::{FormatHints, FormatKind, RecordFormat, ScanSettings, ValueRules};
use rorqual_pipe::limits::BLOCK_BYTES;
use rorqual_pipe::{Input, escaped_path, reason};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Shortest `--record-max`: a record within a block comes whole whatever its length.
const RECORD_BYTES_MIN: u64 = BLOCK_BYTES as u64;
const RECORD_BYTES_MAX: u64 = 1 << 30;

/// After so many halvings the longest usual record is the shortest `--record-max`.
const HALVINGS_MAX: u32 = (RECORD_BYTES_MAX_DEFAULT / RECORD_BYTES_MIN).ilog2();

/// An input of a known format.
pub(crate) struct KnownInput {
    pub(crate) path: PathBuf,
    pub(crate) content: InputContent,
}

/// Content of an input.
pub(crate) enum InputContent {
    /// Records that are decoded; and the input itself where it is a stream, which can't be opened
    /// again.
    Records(RecordFormat, Option<Input>),
    /// Columns.
    Table(TableFile),
}

impl KnownInput {
    /// Looks at an input, which is read in `memory_bytes` of the process's memory.
    pub(crate) fn open(
        path: &Path,
        given: &FormatHints,
        scan: &ScanSettings,
        (memory_bytes, process_bytes): (u64, u64),
    ) -> Result<Self, String> {
        input::refuse_output(path, input::output_file()).map_err(|error| error.to_string())?;
        let content = match table(path, given, (memory_bytes, process_bytes))? {
            Some(table) => InputContent::Table(table),
            None => Self::records(path, given, scan, memory_bytes)?,
        };
        Ok(Self { path: path.to_owned(), content })
    }

    fn records(path: &Path, given: &FormatHints, scan: &ScanSettings, memory_bytes: u64) -> Result<InputContent, String> {
        let mut input = open_text(path)?;
        let head = scan.head(&mut input, PREFIX_BYTES).map_err(|error| error.to_string())?;
        let name = input.name().to_owned();
        if is_table(&head.bytes) {
            return stream(input, &head.bytes, scan, memory_bytes).map(InputContent::Table);
        }
        if let Some(foreign) = ForeignContent::of_bytes(&head.bytes) {
            return Err(format!("{name}: this is {foreign}, and no table. {}", foreign.way_on(&name, "convert")));
        }
        let recognised = RecordFormat::detect(&name, &head, given).map_err(|error| format!("{name}: {error}"))?;
        recognised.notes.iter().for_each(|note| message::note(&format!("{name}: {note}")));
        let format = recognised.format;
        let stream = if input.is_stored() { None } else { Some(input) };
        Ok(InputContent::Records(format, stream))
    }

    /// The columns, where the format says them.
    pub(crate) fn schema(&self) -> Option<SchemaRef> {
        match &self.content {
            InputContent::Records(format, _) => format.schema(),
            InputContent::Table(table) => Some(SchemaRef::clone(table.schema())),
        }
    }

    /// The input, from its start; a stream once.
    pub(crate) fn input(&mut self) -> Result<Input, String> {
        match &mut self.content {
            InputContent::Records(_, stream) if stream.is_some() => {
                stream.take().ok_or_else(|| "a stream can be read once".to_owned())
            }
            _ => open_text(&self.path),
        }
    }
}

/// An input as text: UTF-16 comes as UTF-8.
fn open_text(path: &Path) -> Result<Input, String> {
    input::open(path).map(Input::into_utf8).map_err(|error| error.to_string())
}

/// A stream of Arrow IPC. Other files of columns are none.
fn stream(mut input: Input, head: &[u8], scan: &ScanSettings, memory_bytes: u64) -> Result<TableFile, String> {
    let name = input.name().to_owned();
    let stored = input.read_ahead(head.len().min(HEAD_BYTES), &scan.control).map_err(|error| error.to_string())?;
    let is_plain = stored.is_empty() || is_stream(stored);
    if !is_stream(head) || !is_plain {
        return Err(format!(
            "{name}: a Parquet or Arrow file is read by its footer, and so neither from a pipe nor compressed as a whole; of Arrow's \
             formats a pipe takes the stream"
        ));
    }
    let reader = input.into_reader(&scan.control).map_err(|error| error.to_string())?;
    TableFile::stream(reader, &name, memory_bytes).map_err(|error| error.to_string())
}

/// By so many bytes a stream is told.
const HEAD_BYTES: usize = 8;

/// A file of columns, where it is one.
fn table(path: &Path, given: &FormatHints, (memory_bytes, process_bytes): (u64, u64)) -> Result<Option<TableFile>, String> {
    if given.kind.is_some() || given.rows.is_some() || given.log.is_some() || !path.is_file() {
        return Ok(None);
    }
    let name = escaped_path(path);
    let file = File::open(path).map_err(|error| format!("{name}: cannot open: {}", reason(&error)))?;
    let _guard = MemoryWatchdog::reading(&name, process_bytes);
    TableFile::open(file, &name, memory_bytes).map_err(|error| error.to_string())
}

/// The meaning of the arguments about the format.
pub(crate) fn given(args: &FromArgs) -> Result<FormatHints, String> {
    let rows = args.rows.as_deref().map(json::parse_path).transpose().map_err(|error| format!("--rows: {error}"))?;
    let log = args.format.as_deref().map(LogFormat::parse).transpose().map_err(|error| format!("--format: {error}"))?;
    let delimiter = match args.delimiter {
        None => None,
        Some(character) if character.is_ascii() && !matches!(character, '"' | '\n' | '\r') => Some(character as u8),
        Some(other) => {
            return Err(format!("--delimiter {other:?} is no separator: it is one ASCII character, and no quote or newline"));
        }
    };
    let kind = args.from.map(|from| match from {
        SourceFormat::Json => FormatKind::Json,
        SourceFormat::Ndjson => FormatKind::Ndjson,
        SourceFormat::Csv => FormatKind::Csv,
        SourceFormat::Tsv => FormatKind::Tsv,
        SourceFormat::Log => FormatKind::Log,
    });
    let quote = args.quote.as_deref().map(Quote::parse).transpose().map_err(|error| format!("--quote {error}"))?;
    let rules = ValueRules { exact_numbers: args.exact_numbers, nulls: args.null.clone() };
    Ok(FormatHints { kind, rows, log, delimiter, quote, header: args.header, rules })
}

/// The longest record that is taken, for any memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordLimit {
    given: Option<u64>,
    /// The usual one is halved so often, to make room for more threads.
    halvings: u32,
}

impl RecordLimit {
    /// The limit as it was given, or the usual one.
    ///
    /// # Errors
    /// A limit below 256 KiB or above 1 GiB.
    pub(crate) fn of(args: &FromArgs) -> Result<Self, String> {
        match args.record_max {
            None | Some(RECORD_BYTES_MIN..=RECORD_BYTES_MAX) => Ok(Self { given: args.record_max, halvings: 0 }),
            Some(_) => Err("--record-max must be between 256KiB and 1GiB".to_owned()),
        }
    }

    /// A limit of so many bytes, whatever the memory.
    pub(crate) fn fixed(bytes: usize) -> Self {
        Self { given: Some(bytes as u64), halvings: 0 }
    }

    /// The longest record in so much memory.
    pub(crate) fn bytes(self, memory_bytes: u64) -> usize {
        let usual = || (memory_bytes / RECORD_SHARE).clamp(RECORD_BYTES_MIN, RECORD_BYTES_MAX_DEFAULT) >> self.halvings;
        self.given.unwrap_or_else(|| usual().max(RECORD_BYTES_MIN)) as usize
    }

    /// The longest of this and its halves with which `fits` is true, or else the shortest.
    pub(crate) fn fitting(self, fits: impl Fn(Self) -> bool) -> Self {
        let halved = |halvings| Self { halvings, ..self };
        (0..HALVINGS_MAX).map(halved).find(|limit| fits(*limit)).unwrap_or_else(|| halved(HALVINGS_MAX))
    }
}
