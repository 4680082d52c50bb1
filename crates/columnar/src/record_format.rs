//! Format of an input, and its decoders.

use crate::csv::{self, Dialect, DialectError, DialectHints, Quote};
use crate::json::DocumentCount;
use crate::limits::row_bytes_max;
use crate::scan::ScanHead;
use crate::setting::{FROM, RECORD_MAX, ROWS};
use crate::{Decode, Infer, Unplaced, ValueRules, json, log};
use arrow_schema::SchemaRef;
use rorqual_accesslog::format::{Detection, ForeignContent, LogFormat, detect as detect_log};
use rorqual_pipe::setting::FORMAT;
use rorqual_pipe::{Framing, Splitter, format_size};
use std::path::Path;

/// A format that records are decoded from.
#[derive(Debug, Clone)]
pub enum RecordFormat {
    /// JSON documents.
    Json(json::Layout, ValueRules),
    /// Fields with separators.
    Csv(Dialect),
    /// An access log.
    Log(LogFormat),
}

/// Hints to an input's format from outside.
#[derive(Debug, Clone, Default)]
pub struct FormatHints {
    /// Its kind.
    pub kind: Option<FormatKind>,
    /// The array in a JSON document whose elements are the records, or the object whose members
    /// are.
    pub rows: Option<json::Layout>,
    /// Without `rows`, those in a document that is one object are guessed.
    pub guesses_rows: bool,
    /// The format of an access log.
    pub log: Option<LogFormat>,
    /// Between the fields of a CSV.
    pub delimiter: Option<u8>,
    /// Around the fields of a CSV.
    pub quote: Option<Quote>,
    /// True if the first record of a CSV has the columns' names.
    pub header: Option<bool>,
    /// Rules for the meaning of values.
    pub rules: ValueRules,
}

/// A format that was found out.
#[derive(Debug, Clone)]
pub struct Recognised {
    /// The format.
    pub format: RecordFormat,
    /// Guesses in it, each with the option that settles it.
    pub notes: Vec<String>,
}

/// Kinds of formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormatKind {
    /// JSON of any layout, which is found out.
    Json,
    /// One JSON document a line.
    Ndjson,
    /// Comma-separated, or as `delimiter` says.
    Csv,
    /// Tab-separated.
    Tsv,
    /// An access log.
    Log,
}

/// True if a file has this extension, also before that of a compression.
#[must_use]
pub fn has_extension(name: &str, wanted: &str) -> bool {
    let stem = Path::new(name).with_extension("");
    let extensions = [Path::new(name).extension(), stem.extension()];
    extensions.iter().flatten().any(|extension| extension.eq_ignore_ascii_case(wanted))
}

impl RecordFormat {
    /// The format of an input that begins so.
    ///
    /// # Errors
    /// When it is none that is known, or not the one that is given; a sentence that says so.
    pub fn detect(name: &str, head: &ScanHead, given: &FormatHints) -> Result<Recognised, String> {
        if let Some(layout) = &given.rows {
            return Ok(Self::json(name, layout.clone(), head, given));
        }
        match given.kind {
            _ if given.log.is_some() => Self::log(head, given),
            Some(FormatKind::Ndjson) => Ok(Self::json(name, json::Layout::Lines, head, given)),
            Some(FormatKind::Json) => {
                let layout = match json::detect(&head.bytes, head.whole) {
                    // That its start is one document a line does not say that all of it is.
                    None | Some(json::Layout::Lines) => json::Layout::Documents,
                    Some(other) => other,
                };
                Ok(Self::json(name, layout, head, given))
            }
            Some(FormatKind::Csv) => Self::csv(head, given),
            Some(FormatKind::Tsv) => Self::csv(head, &FormatHints { delimiter: Some(b'\t'), ..given.clone() }),
            Some(FormatKind::Log) => Self::log(head, given),
            None => Self::guess(name, head, given),
        }
    }

    /// A document that is one object is one row, however long it is; for an array in it the rows
    /// have to be given, or guessed.
    fn json(name: &str, layout: json::Layout, head: &ScanHead, given: &FormatHints) -> Recognised {
        let is_one = matches!(layout, json::Layout::Documents | json::Layout::Lines);
        let is_one = is_one && head.documents != DocumentCount::Several;
        let Some(rows) = is_one.then(|| json::rows_within(&head.bytes, head.whole)).flatten() else {
            return Recognised { format: Self::Json(layout, given.rules.clone()), notes: Vec::new() };
        };
        let path = json::format_rows(&rows.layout);
        // One line so far may be one of many records.
        let may_be_rows = rows.are_objects && (layout == json::Layout::Documents || has_extension(name, "json"));
        if given.guesses_rows && may_be_rows {
            let note = format!("is one JSON document; its rows are taken to be those of {path} ({ROWS} for others)");
            return Recognised { format: Self::Json(rows.layout, given.rules.clone()), notes: vec![note] };
        }
        let each = if let json::Layout::Members(_) = rows.layout { "member of that object" } else { "element of that array" };
        let says = match head.documents {
            DocumentCount::OneTooLong => format!("is one document, which is longer than {RECORD_MAX};"),
            DocumentCount::Unknown if !head.whole => {
                let length = format_size(head.bytes.len() as u64);
                format!("begins with a document of more than {length}; where no other follows,")
            }
            _ => "is one document, which is one row;".to_owned(),
        };
        let note = format!("{says} {ROWS} '{path}' makes a row of each {each}");
        Recognised { format: Self::Json(layout, given.rules.clone()), notes: vec![note] }
    }

    fn guess(name: &str, head: &ScanHead, given: &FormatHints) -> Result<Recognised, String> {
        if head.whole && head.bytes.trim_ascii().is_empty() {
            return Err("is empty: there is nothing to tell its format and its columns by".to_owned());
        }
        if let Some(layout) = json::detect(&head.bytes, head.whole) {
            return Ok(Self::json(name, layout, head, given));
        }
        if has_extension(name, "csv") || has_extension(name, "tsv") {
            return Self::csv(head, given);
        }
        // Of a log NULs are a hole, and other texts do not begin with them.
        let is_text = !head.bytes.starts_with(b"\0");
        let no_text = || (!is_text).then_some(ForeignContent::NO_TEXT);
        Self::log(head, given).or_else(|_| match Self::dialect(head, given) {
            Ok((dialect, notes)) if dialect.names.len() > 1 && is_text && !has_comma_clocks(&head.bytes) => {
                Ok(Recognised { format: Self::Csv(dialect), notes })
            }
            Err(error @ DialectError::CarriageReturns) => Err(error.to_string()),
            _ => Err(ForeignContent::of_head(&head.bytes).or_else(no_text).map_or_else(no_format, |foreign| {
                format!(
                    "this is {foreign}: no JSON, no access log and no table with separators. {}",
                    foreign.way_on(name, "convert")
                )
            })),
        })
    }

    fn csv(head: &ScanHead, given: &FormatHints) -> Result<Recognised, String> {
        let (dialect, notes) = Self::dialect(head, given).map_err(|error| error.to_string())?;
        Ok(Recognised { format: Self::Csv(dialect), notes })
    }

    fn dialect(head: &ScanHead, given: &FormatHints) -> Result<(Dialect, Vec<String>), DialectError> {
        let hints =
            DialectHints { delimiter: given.delimiter, quote: given.quote, header: given.header, rules: given.rules.clone() };
        Dialect::detect(&head.bytes, head.whole, &hints)
    }

    fn log(head: &ScanHead, given: &FormatHints) -> Result<Recognised, String> {
        if let Some(format) = &given.log {
            return Ok(Recognised { format: Self::Log(format.sampled(&head.bytes)), notes: Vec::new() });
        }
        let detection = detect_log(&head.bytes, &[]);
        let recognised = |detection: Detection| {
            let doubt = detection.doubt_note().map(|doubt| format!("{doubt}; {FORMAT} gives another format"));
            let notes = doubt.into_iter().chain(detection.unread_note()).collect();
            Recognised { format: Self::Log(detection.format), notes }
        };
        detection.map(recognised).map_err(|unknown| match unknown.foreign {
            Some(foreign) => format!("this is {foreign}, and no access log. {}", foreign.way_on("", "convert")),
            None => "this is in none of the known log formats".to_owned(),
        })
    }

    /// Cutting of the input for workers.
    #[must_use]
    pub fn framing(&self, record_bytes_max: usize) -> Framing {
        match self {
            Self::Json(json::Layout::Lines, _) => Framing::Lines { line_bytes_max: record_bytes_max },
            Self::Log(_) => Framing::LogLines { line_bytes_max: record_bytes_max },
            Self::Json(..) | Self::Csv(_) => Framing::Records { record_bytes_max },
        }
    }

    /// Finder of the records, where they are not lines.
    #[must_use]
    pub fn splitter(&self) -> Option<Box<dyn Splitter>> {
        match self {
            Self::Json(json::Layout::Lines, _) | Self::Log(_) => None,
            Self::Json(layout, _) => Some(Box::new(json::JsonSplitter::new(layout))),
            Self::Csv(dialect) => Some(Box::new(csv::CsvSplitter::new(dialect))),
        }
    }

    /// Bytes that may be before a record that is found by a splitter.
    #[must_use]
    pub fn separators(&self) -> &'static [u8] {
        match self {
            Self::Json(json::Layout::Lines, _) | Self::Csv(_) | Self::Log(_) => b"",
            Self::Json(json::Layout::Documents, _) => b" \t\r\n",
            Self::Json(json::Layout::Array | json::Layout::Rows(_) | json::Layout::Members(_), _) => b" \t\r\n,",
        }
    }

    /// Inferrer of the columns; `None` where the format says them.
    #[must_use]
    pub fn infer(&self) -> Option<Box<dyn Infer>> {
        match self {
            Self::Json(layout, rules) => Some(Box::new(json::JsonInferrer::new(layout).with_rules(rules))),
            Self::Csv(dialect) => Some(Box::new(csv::CsvInferrer::new(dialect))),
            Self::Log(_) => None,
        }
    }

    /// The columns, where the format says them.
    #[must_use]
    pub fn schema(&self) -> Option<SchemaRef> {
        if let Self::Log(format) = self { Some(log::schema(format)) } else { None }
    }

    /// Decoder of records to batches of `schema`. A value that has no place there is a misfit, or
    /// goes to the column `_rest` where the schema has it; `unplaced` says whether that holds for
    /// one whose key has no column.
    #[must_use]
    pub fn decoder(&self, schema: &SchemaRef, unplaced: Unplaced, record_bytes_max: usize) -> Box<dyn Decode> {
        match self {
            Self::Json(layout, rules) => {
                let row_bytes_max = row_bytes_max(record_bytes_max);
                Box::new(json::JsonDecoder::new(layout, schema, unplaced, row_bytes_max).with_rules(rules))
            }
            Self::Csv(dialect) => Box::new(csv::CsvDecoder::new(dialect, schema, unplaced)),
            Self::Log(format) => Box::new(log::LogDecoder::new(format, schema)),
        }
    }
}

/// True if most lines begin with a clock that has a comma before its milliseconds and a word after
/// them, as application logs of Java and Python do: `12:59:53,237 ERROR`. The comma is the only one
/// in many lines. In a table a separator or the end of the line follows a number.
fn has_comma_clocks(head: &[u8]) -> bool {
    const LINES: usize = 20;
    const CLOCK_WITHIN_BYTES: usize = 40;
    let is_clock = |window: &[u8]| match window {
        [h1, h2, b':', m1, m2, b':', s1, s2, b',', a, b, c, b' ' | b']' | b'\t'] => {
            [h1, h2, m1, m2, s1, s2, a, b, c].iter().all(|byte| byte.is_ascii_digit())
        }
        _ => false,
    };
    let begins_so = |line: &[u8]| line[..line.len().min(CLOCK_WITHIN_BYTES)].windows(13).any(is_clock);
    let lines: Vec<&[u8]> = head.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).take(LINES).collect();
    lines.iter().filter(|line| begins_so(line)).count() * 2 > lines.len()
}

fn no_format() -> String {
    format!(
        "this is not JSON, an access log of a known format, or a table with separators; \
         {FROM} json|ndjson|csv|tsv|log says what it is, {FORMAT} a log's format"
    )
}

#[cfg(test)]
mod tests {
    use super::has_comma_clocks;

    #[test]
    fn clocks_with_a_comma_are_those_of_logs_and_not_of_tables() {
        let logs = [
            "2024-10-10 12:59:53,237 ERROR x\n2024-10-10 12:59:54,100 INFO y\n",
            "[12:59:53,237] x\n",
            "x\n12:00:00,001 a\n12:00:00,002 b",
        ];
        for log in logs {
            assert!(has_comma_clocks(log.as_bytes()), "{log}");
        }
        let tables = [
            "time,pressure,place\n2026-01-27 14:10:00,1013.2,a\n",
            "10:00:00,200,/x\n",
            "10:00:00,200\n10:00:01,300\n",
            "a,b\n",
            "",
        ];
        for table in tables {
            assert!(!has_comma_clocks(table.as_bytes()), "{table}");
        }
    }
}
