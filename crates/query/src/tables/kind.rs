//! What a file is, by what was said, its name and its first bytes.

use crate::args::{Args, InputFormat};
use crate::scan::external;
use datafusion::common::{Result, plan_err};
use rorqual_pipe::limits::{BLOCK_BYTES, buffer_bytes};
use rorqual_pipe::{Chunk, Control, Error, Framing, Input, Plan, Pool, Stage, run};
use rorqual_rows::limits::PREFIX_BYTES;
use rorqual_rows::{Format, FormatKind, Given, Head, json};
use rorqual_table::format::Format as LogFormat;

/// What the flags say of the files.
pub(crate) struct Known {
    /// Files of columns, where the flags say so.
    columns: Option<InputFormat>,
    records: Given,
    infer_all: bool,
}

impl Known {
    /// # Errors
    /// When `--format` or `--rows` are none.
    pub(crate) fn of(args: &Args) -> Result<Self, String> {
        let log = args.format.as_deref().map(LogFormat::parse).transpose().map_err(|error| format!("--format: {error}"))?;
        let rows = args.rows.as_deref().map(json::parse_path).transpose().map_err(|error| format!("--rows: {error}"))?;
        let kind = match args.from {
            Some(InputFormat::Log) => Some(FormatKind::Log),
            Some(InputFormat::Json) => Some(FormatKind::Json),
            Some(InputFormat::Ndjson) => Some(FormatKind::Ndjson),
            Some(InputFormat::Csv) => Some(FormatKind::Csv),
            Some(InputFormat::Tsv) => Some(FormatKind::Tsv),
            Some(InputFormat::Parquet | InputFormat::Arrow) | None => None,
        };
        let columns = args.from.filter(|from| matches!(from, InputFormat::Parquet | InputFormat::Arrow));
        let records = Given { kind, rows, log, delimiter: None, header: args.header };
        Ok(Self { columns, records, infer_all: args.infer_all })
    }

    /// How much of an input is looked at for the columns of its records.
    pub(super) fn infer_bytes_max(&self) -> u64 {
        if self.infer_all { u64::MAX } else { PREFIX_BYTES as u64 }
    }
}

/// What can stand behind FROM.
#[derive(Debug)]
pub(super) enum Kind {
    Parquet,
    Arrow,
    Records(Format),
}

/// The beginning of a file.
pub(super) struct Sample<'a> {
    pub(super) name: &'a str,
    /// Decoded, at most a block.
    pub(super) head: &'a [u8],
    /// All of it, or of a stream as much as was read ahead.
    pub(super) input: Input,
}

/// What a file is.
pub(super) fn of(sample: &Sample<'_>, known: &Known) -> Result<Kind> {
    let said = known.records.kind.is_some() || known.records.log.is_some();
    match known.columns.or_else(|| by_magic(sample.head).filter(|_| !said)) {
        Some(InputFormat::Parquet) => return Ok(Kind::Parquet),
        Some(_) => return Ok(Kind::Arrow),
        None => {}
    }
    let head = Head { bytes: sample.head.to_vec(), whole: sample.head.len() < BLOCK_BYTES };
    match Format::detect(sample.name, &head, &known.records) {
        Ok(format) => Ok(Kind::Records(format)),
        Err(error) => plan_err!("{}: {error}", sample.name),
    }
}

fn by_magic(head: &[u8]) -> Option<InputFormat> {
    match head {
        [b'P', b'A', b'R', b'1', ..] => Some(InputFormat::Parquet),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Some(InputFormat::Arrow),
        _ => None,
    }
}

/// The first block of an input, decoded.
///
/// # Errors
/// When it can't be read.
pub(super) fn head_of(input: Input, zstd_window_log_max: u32) -> Result<Vec<u8>> {
    let plan = Plan { framing: Framing::Bytes, zstd_window_log_max };
    // The reader of a stream holds two, its decoder one.
    let pool = Pool::new(buffer_bytes(0), 3);
    let mut head = Vec::new();
    let start = |first: &[u8]| {
        head.extend_from_slice(first);
        None::<Vec<Nothing>>
    };
    let finish = run(input, &plan, &pool, &Control::default(), start, |()| Ok(()));
    match finish.error {
        Some(error) if head.is_empty() => Err(external(error)),
        _ => Ok(head),
    }
}

/// No worker.
struct Nothing;

impl Stage for Nothing {
    type Output = ();

    fn chunk(&mut self, _: &Chunk) -> Result<(), Error> {
        Ok(())
    }
}
