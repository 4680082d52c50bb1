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
use rorqual_pipe::{Input, escaped_line, escaped_path, reason};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Shortest `--record-max`: a record within a block comes whole whatever its length.
const RECORD_BYTES_MIN: u64 = BLOCK_BYTES as u64;
const RECORD_BYTES_MAX: u64 = 1 << 30;

/// After so many halvings the longest usual record is the shortest `--record-max`.
const HALVINGS_MAX: u32 = (RECORD_BYTES_MAX_DEFAULT / RECORD_BYTES_MIN).ilog2();

/// A file that is opened, under its own name or another.
#[derive(Clone, Copy)]
pub(crate) struct InputFile<'a> {
    pub(crate) path: &'a Path,
    /// Name for people, where that is not the path.
    pub(crate) name: Option<&'a str>,
}

impl<'a> From<&'a Path> for InputFile<'a> {
    fn from(path: &'a Path) -> Self {
        Self { path, name: None }
    }
}

impl InputFile<'_> {
    /// Its name for people.
    pub(crate) fn shown(self) -> String {
        self.name.map_or_else(|| escaped_path(self.path), escaped_line)
    }

    /// The file as text: UTF-16 comes as UTF-8.
    pub(crate) fn open_text(self) -> Result<Input, String> {
        let opened = match self.name {
            Some(name) => open_file(self.path, name)
                .and_then(|file| Input::from_file(name.to_owned(), file).map_err(|error| error.to_string()))?,
            None => input::open(self.path).map_err(|error| error.to_string())?,
        };
        Ok(opened.into_utf8())
    }

    /// A file of columns, where it is one.
    fn table(self, given: &FormatHints, (memory_bytes, process_bytes): (u64, u64)) -> Result<Option<TableFile>, String> {
        if given.kind.is_some() || given.rows.is_some() || given.log.is_some() || !self.path.is_file() {
            return Ok(None);
        }
        let name = self.shown();
        let file = open_file(self.path, &name)?;
        let _guard = MemoryWatchdog::reading(&name, process_bytes);
        TableFile::open(file, &name, memory_bytes).map_err(|error| error.to_string())
    }
}

fn open_file(path: &Path, name: &str) -> Result<File, String> {
    File::open(path).map_err(|error| format!("{name}: cannot open: {}", reason(&error)))
}

/// An input of a known format.
pub(crate) struct KnownInput {
    pub(crate) path: PathBuf,
    /// Name for people, where that is not the path.
    pub(crate) name: Option<String>,
    pub(crate) content: InputContent,
    /// Sentences about what was guessed.
    pub(crate) notes: Vec<String>,
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
        file: InputFile<'_>,
        given: &FormatHints,
        scan: &ScanSettings,
        (memory_bytes, process_bytes): (u64, u64),
    ) -> Result<Self, String> {
        input::refuse_output(file.path, input::output_file()).map_err(|error| error.to_string())?;
        let (content, notes) = match file.table(given, (memory_bytes, process_bytes))? {
            Some(table) => (InputContent::Table(table), Vec::new()),
            None => Self::records(file, given, scan, memory_bytes)?,
        };
        Ok(Self { path: file.path.to_owned(), name: file.name.map(str::to_owned), content, notes })
    }

    /// The same, with what was guessed about its format said to the user.
    pub(crate) fn say_guesses(self) -> Self {
        self.notes.iter().for_each(|note| message::note(note));
        self
    }

    fn records(
        file: InputFile<'_>,
        given: &FormatHints,
        scan: &ScanSettings,
        memory_bytes: u64,
    ) -> Result<(InputContent, Vec<String>), String> {
        let mut input = file.open_text()?;
        let head = scan.head(&mut input, PREFIX_BYTES).map_err(|error| error.to_string())?;
        let name = input.name().to_owned();
        if is_table(&head.bytes) {
            return Ok((stream(input, &head.bytes, scan, memory_bytes).map(InputContent::Table)?, Vec::new()));
        }
        if let Some(foreign) = binary(&head.bytes, given) {
            return Err(format!("{name}: this is {foreign}, and no table. {}", foreign.way_on(&name, "convert")));
        }
        let recognised = RecordFormat::detect(&name, &head, given).map_err(|error| format!("{name}: {error}"))?;
        let notes = recognised.notes.iter().map(|note| format!("{name}: {note}")).collect();
        let stream = if input.is_stored() { None } else { Some(input) };
        Ok((InputContent::Records(recognised.format, stream), notes))
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
            _ => InputFile { path: &self.path, name: self.name.as_deref() }.open_text(),
        }
    }
}

/// A stream of Arrow IPC. Other files of columns are none.
fn stream(mut input: Input, head: &[u8], scan: &ScanSettings, memory_bytes: u64) -> Result<TableFile, String> {
    let name = input.name().to_owned();
    if input.is_file() && !is_stream(head) {
        return Err(format!("{name}: it begins as a Parquet or Arrow file does, and ends before the footer of one"));
    }
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

/// An archive, or data that is no text where nobody said what it is.
fn binary(head: &[u8], given: &FormatHints) -> Option<ForeignContent> {
    let is_given = given.kind.is_some() || given.rows.is_some() || given.log.is_some();
    let foreign = if is_given { ForeignContent::of_bytes(head) } else { ForeignContent::of_head(head) };
    foreign.filter(|foreign| !matches!(foreign, ForeignContent::Text(_)))
}

/// By so many bytes a stream is told.
const HEAD_BYTES: usize = 8;

/// The meaning of the arguments about the format.
pub(crate) fn given(args: &FromArgs) -> Result<FormatHints, String> {
    let rows = args.rows.as_deref().map(json::parse_rows).transpose().map_err(|error| format!("--rows: {error}"))?;
    let log = args.format.as_deref().map(LogFormat::parse).transpose().map_err(|error| format!("--format: {error}"))?;
    let delimiter = match args.delimiter {
        None => None,
        Some(character) if character.is_ascii() && !matches!(character, '"' | '\n' | '\r') => Some(character as u8),
        Some(other) => {
            return Err(format!(
                "--delimiter {other:?} is not a separator: it is one ASCII character other than a quote or a newline"
            ));
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
    Ok(FormatHints { kind, rows, guesses_rows: args.guesses_rows, log, delimiter, quote, header: args.header, rules })
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

    /// The usual limit.
    pub(crate) fn usual() -> Self {
        Self { given: None, halvings: 0 }
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
