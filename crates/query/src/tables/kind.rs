//! What a file is, by what was said, its name and its first bytes.

use crate::args::{Args, InputFormat};
use crate::scan::external;
use datafusion::common::{Result, plan_err};
use rorqual_pipe::limits::{BLOCK_BYTES, buffer_bytes};
use rorqual_pipe::{Chunk, Control, Error, Framing, Input, Plan, Pool, Stage, run};
use rorqual_rows::Format;
use rorqual_rows::csv::Dialect;
use rorqual_rows::json::{self, Layout};
use rorqual_rows::limits::PREFIX_BYTES;
use rorqual_table::format::{Format as LogFormat, detect};
use std::path::Path;

/// What the flags say of the files.
pub(crate) struct Known {
    input: Option<InputFormat>,
    log: Option<LogFormat>,
    infer_all: bool,
}

impl Known {
    /// # Errors
    /// When `--log-format` is none.
    pub(crate) fn of(args: &Args) -> Result<Self, String> {
        let log = args.log_format.as_deref().map(LogFormat::parse).transpose();
        Ok(Self { input: args.input, log: log.map_err(|error| format!("--log-format: {error}"))?, infer_all: args.infer_all })
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
    let named = known.input.or_else(|| known.log.as_ref().map(|_| InputFormat::Log));
    if let Some(input) = named.or_else(|| by_magic(sample.head)).or_else(|| by_name(sample.name)) {
        return kind(input, sample, known);
    }
    let first = sample.head.trim_ascii_start().first();
    if detect(whole_lines(sample.head), &[]).is_ok_and(|found| found.sure) {
        return kind(InputFormat::Log, sample, known);
    }
    match first {
        Some(b'{' | b'[') => kind(InputFormat::Json, sample, known),
        _ => kind(InputFormat::Log, sample, known),
    }
}

fn by_magic(head: &[u8]) -> Option<InputFormat> {
    match head {
        [b'P', b'A', b'R', b'1', ..] => Some(InputFormat::Parquet),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Some(InputFormat::Arrow),
        _ => None,
    }
}

fn by_name(name: &str) -> Option<InputFormat> {
    let plain =
        [".gz", ".zst", ".bz2", ".xz", ".lzma", ".lz4"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    match Path::new(plain).extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "json" => Some(InputFormat::Json),
        "ndjson" | "jsonl" => Some(InputFormat::Ndjson),
        "csv" => Some(InputFormat::Csv),
        "tsv" => Some(InputFormat::Tsv),
        _ => None,
    }
}

fn kind(input: InputFormat, sample: &Sample<'_>, known: &Known) -> Result<Kind> {
    Ok(match input {
        InputFormat::Parquet => Kind::Parquet,
        InputFormat::Arrow => Kind::Arrow,
        InputFormat::Log => Kind::Records(Format::Log(log_format(sample, known)?)),
        InputFormat::Ndjson => Kind::Records(Format::Json(Layout::Lines)),
        InputFormat::Json => {
            let layout = json::detect(sample.head, sample.head.len() < BLOCK_BYTES);
            Kind::Records(Format::Json(layout.unwrap_or(Layout::Documents)))
        }
        InputFormat::Csv => Kind::Records(Format::Csv(Dialect { delimiter: b',', header: true })),
        InputFormat::Tsv => Kind::Records(Format::Csv(Dialect { delimiter: b'\t', header: true })),
    })
}

fn log_format(sample: &Sample<'_>, known: &Known) -> Result<LogFormat> {
    if let Some(format) = &known.log {
        return Ok(format.clone());
    }
    match detect(whole_lines(sample.head), &[]) {
        Ok(found) => Ok(found.format),
        Err(unknown) => plan_err!(
            "{}: {unknown}. Say what it is: --input csv (or json, ndjson, tsv, parquet, arrow), or the format of a log: \
             --log-format '%h %l %u %t \"%r\" %>s %b'",
            sample.name
        ),
    }
}

/// The part of `head` that is whole lines; all of it where it has no newline.
fn whole_lines(head: &[u8]) -> &[u8] {
    head.iter().rposition(|byte| *byte == b'\n').map_or(head, |newline| &head[..=newline])
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
