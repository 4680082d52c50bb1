//! Format of a file, by flags, its name and its first bytes.

use crate::args::{Args, InputFormat, QueryConflicts};
use crate::message;
use datafusion::common::{Result, plan_err};
use rorqual_accesslog::format::LogFormat;
use rorqual_columnar::csv::Quote;
use rorqual_columnar::read::{is_parquet, is_table};
use rorqual_columnar::{FormatHints, FormatKind, RecordFormat, ScanHead, ValueRules, json};
use rorqual_pipe::escaped_path;
use rorqual_shell::roots::Roots;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Files that an error names, where it can't be told which of them it was.
const INPUTS_NAMED: usize = 3;

/// Options about the files.
pub(crate) struct TableOptions {
    /// Files of columns, where the flags say so.
    columns: Option<InputFormat>,
    records: FormatHints,
    rows: Vec<RowsOf>,
    /// Files that were named so far, by device and inode.
    inputs: Mutex<BTreeMap<(u64, u64), PathBuf>>,
    pub(super) infer_all: bool,
    /// A field with values of several types takes all of them.
    pub(super) widen: bool,
    /// The guess about a file was told.
    guess_said: AtomicBool,
    /// Folders outside of which no file is read, and no address.
    pub(super) roots: Option<Roots>,
}

/// The rows of a single table.
struct RowsOf {
    table: String,
    path: json::Layout,
    /// A query has named the table.
    met: AtomicBool,
}

impl TableOptions {
    /// # Errors
    /// When `--format`, `--delimiter` or `--rows` are none.
    pub(crate) fn of(args: &Args) -> Result<Self, String> {
        let log = args.format.as_deref().map(LogFormat::parse).transpose().map_err(|error| format!("--format: {error}"))?;
        let kind = match args.from {
            Some(InputFormat::Log) => Some(FormatKind::Log),
            Some(InputFormat::Json) => Some(FormatKind::Json),
            Some(InputFormat::Ndjson) => Some(FormatKind::Ndjson),
            Some(InputFormat::Csv) => Some(FormatKind::Csv),
            Some(InputFormat::Tsv) => Some(FormatKind::Tsv),
            Some(InputFormat::Parquet | InputFormat::Arrow) | None => None,
        };
        let columns = args.from.filter(|from| matches!(from, InputFormat::Parquet | InputFormat::Arrow));
        let delimiter = args.delimiter.map(delimiter).transpose()?;
        let quote = args.quote.as_deref().map(Quote::parse).transpose().map_err(|error| format!("--quote {error}"))?;
        let rules = ValueRules { exact_numbers: args.exact_numbers, nulls: args.null.clone() };
        let mut records = FormatHints { kind, log, delimiter, quote, header: args.header, rules, ..FormatHints::default() };
        let mut rows = Vec::new();
        for text in &args.rows {
            // A path begins with $, whatever the table's name has.
            let (table, path) = text.find("=$").map_or((None, text.as_str()), |at| (Some(&text[..at]), &text[at + 1..]));
            let path = json::parse_rows(path).map_err(|error| format!("--rows: {error}"))?;
            match table {
                Some(table) => rows.push(RowsOf { table: table.to_owned(), path, met: AtomicBool::new(false) }),
                None => records.rows = Some(path),
            }
        }
        let inputs = Mutex::default();
        let widen = args.conflicts == QueryConflicts::Widen;
        let roots = if args.root.is_empty() { None } else { Some(Roots::new("--root", &args.root)?) };
        Ok(Self { columns, records, rows, inputs, infer_all: args.infer_all, widen, guess_said: AtomicBool::new(false), roots })
    }

    /// Hints for the table of that name.
    fn of_table(&self, table: &str) -> FormatHints {
        let own = self.rows.iter().find(|rows| rows.table == table);
        let own = own.inspect(|rows| rows.met.store(true, Ordering::Relaxed)).map(|rows| rows.path.clone());
        FormatHints { rows: own.or_else(|| self.records.rows.clone()), ..self.records.clone() }
    }

    /// Refuses a name whose files are not below a folder of `--root`, before a folder is listed for
    /// it.
    pub(super) fn refuse_outside(&self, name: &str) -> Result<()> {
        let is_pattern = |part: &Component<'_>| part.as_os_str().to_string_lossy().contains(['*', '?', '[']);
        let fixed: PathBuf = Path::new(name).components().take_while(|part| !is_pattern(part)).collect();
        let path = if Path::new(name).exists() { PathBuf::from(name) } else { Path::new(".").join(fixed) };
        match &self.roots {
            Some(roots) if !roots.may_have(&path) => plan_err!("'{name}': is not below {} (--root)", roots.named()),
            _ => Ok(()),
        }
    }

    /// Refuses the files of a name of which a link leads elsewhere.
    pub(super) fn refuse_links(&self, name: &str, paths: &[PathBuf]) -> Result<()> {
        match &self.roots {
            Some(roots) if !paths.iter().all(|path| roots.contains(path)) => {
                plan_err!("'{name}': is not below {} (--root)", roots.named())
            }
            _ => Ok(()),
        }
    }

    /// Remembers the files of a table.
    pub(super) fn take_inputs(&self, paths: &[PathBuf]) {
        let file = |path: &PathBuf| {
            let data = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
            Some(((data.dev(), data.ino()), path.clone()))
        };
        self.inputs().extend(paths.iter().filter_map(file));
    }

    /// The files that a query reads, for an error of the engine that names none.
    pub(crate) fn input_names(&self) -> String {
        let inputs = self.inputs();
        let names: Vec<String> = inputs.values().take(INPUTS_NAMED).map(escaped_path).collect();
        let more = if inputs.len() > INPUTS_NAMED { ", …" } else { "" };
        names.join(", ") + more
    }

    /// The files that a query reads, by device and inode.
    pub(crate) fn inputs(&self) -> MutexGuard<'_, BTreeMap<(u64, u64), PathBuf>> {
        self.inputs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tables that `--rows` speaks of and no query has named.
    pub(crate) fn tables_not_met(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().filter(|rows| !rows.met.load(Ordering::Relaxed)).map(|rows| rows.table.as_str())
    }
}

fn delimiter(character: char) -> Result<u8, String> {
    if character.is_ascii() && !matches!(character, '"' | '\n' | '\r') {
        return Ok(character as u8);
    }
    Err(format!("--delimiter {character:?} is not a separator: it is one ASCII character other than a quote or a newline"))
}

/// Kinds of tables that can stand after FROM.
#[derive(Debug)]
pub(super) enum TableKind {
    Parquet,
    Arrow,
    Records(RecordFormat),
}

/// Kind of a file, of the table of that name.
pub(super) fn of(table: &str, name: &str, head: &ScanHead, known: &TableOptions) -> Result<TableKind> {
    let given = known.of_table(table);
    let said = given.kind.is_some() || given.log.is_some();
    match known.columns.or_else(|| by_magic(&head.bytes).filter(|_| !said)) {
        Some(InputFormat::Parquet) => return Ok(TableKind::Parquet),
        Some(_) => return Ok(TableKind::Arrow),
        None => {}
    }
    match RecordFormat::detect(name, head, &given) {
        Ok(recognised) => {
            // Of many files of one table the first says it for all.
            if let Some(note) = recognised.notes.first().filter(|_| !known.guess_said.swap(true, Ordering::Relaxed)) {
                message::note(&format!("{name}: {note}"));
            }
            Ok(TableKind::Records(recognised.format))
        }
        Err(error) => plan_err!("{name}: {error}"),
    }
}

fn by_magic(head: &[u8]) -> Option<InputFormat> {
    let format = if is_parquet(head) { InputFormat::Parquet } else { InputFormat::Arrow };
    is_table(head).then_some(format)
}
