//! Inputs whose format is known.

use crate::args::{From, FromArgs};
use crate::input;
use rorqual_pipe::Input;
use rorqual_pipe::limits::BLOCK_BYTES;
use rorqual_rows::limits::PREFIX_BYTES;
use rorqual_rows::{Format, FormatKind, Given, Scan, json};
use rorqual_table::format::Format as LogFormat;
use std::path::{Path, PathBuf};

/// Shortest `--record-max`: a record within a block comes whole whatever its length.
const RECORD_BYTES_MIN: u64 = BLOCK_BYTES as u64;
const RECORD_BYTES_MAX: u64 = 1 << 30;

/// An input whose format is known.
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    /// A stream, which can't be opened again.
    stream: Option<Input>,
}

impl Source {
    /// Looks at an input.
    pub(crate) fn open(path: &Path, given: &Given, scan: &Scan) -> Result<Self, String> {
        let mut input = input::open(path).map_err(|error| error.to_string())?;
        let head = scan.head(&mut input, PREFIX_BYTES).map_err(|error| error.to_string())?;
        let name = input.name().to_owned();
        let format = Format::detect(&name, &head, given).map_err(|error| format!("{name}: {error}"))?;
        let stream = if input.is_stored() { None } else { Some(input) };
        Ok(Self { path: path.to_owned(), format, stream })
    }

    /// The stream that it is, where it is one.
    pub(crate) fn stream(&mut self) -> Option<&mut Input> {
        self.stream.as_mut()
    }

    /// The input, from its start; a stream once.
    pub(crate) fn input(&mut self) -> Result<Input, String> {
        match self.stream.take() {
            Some(input) => Ok(input),
            None => input::open(&self.path).map_err(|error| error.to_string()),
        }
    }
}

/// What was typed of the format, as what is meant.
pub(crate) fn given(args: &FromArgs) -> Result<Given, String> {
    let rows = args.rows.as_deref().map(json::parse_path).transpose().map_err(|error| format!("--rows: {error}"))?;
    let log = args.format.as_deref().map(LogFormat::parse).transpose().map_err(|error| format!("--format: {error}"))?;
    let delimiter = match args.delimiter {
        None => None,
        Some(character) if character.is_ascii() && !matches!(character, '"' | '\n' | '\r') => Some(character as u8),
        Some(other) => return Err(format!("--delimiter {other:?} is no separator: it is one ASCII character, and no quote or newline")),
    };
    let kind = args.from.map(|from| match from {
        From::Json => FormatKind::Json,
        From::Ndjson => FormatKind::Ndjson,
        From::Csv => FormatKind::Csv,
        From::Tsv => FormatKind::Tsv,
        From::Log => FormatKind::Log,
    });
    Ok(Given { kind, rows, log, delimiter, header: args.header })
}

/// The longest record, which must leave room for short ones and must not be absurd.
pub(crate) fn record_bytes_max(args: &FromArgs) -> Result<usize, String> {
    match args.record_max {
        RECORD_BYTES_MIN..=RECORD_BYTES_MAX => Ok(args.record_max as usize),
        _ => Err("--record-max must be between 256KiB and 1GiB".to_owned()),
    }
}
