//! The engine's errors in words that help.

use crate::budget::QueryShares;
use datafusion::common::utils::datafusion_strsim::levenshtein;
use datafusion::common::{Column, SchemaError};
use datafusion::error::DataFusionError;
use rorqual_pipe::{format_size, open_files};
use std::error::Error;

/// Names that are shown of a table with many columns.
const COLUMNS_SHOWN: usize = 20;

/// Part of the engine's message about a temp folder that is full; it has no kind for it.
const TEMP_FULL: &str = "max_temp_directory_size";

/// Start of the engine's words about a defect in it.
const BUG_REPORT: &str = "\nThis issue was likely caused by a bug";

/// The message for an error.
pub(crate) fn describe(error: &DataFusionError, shares: &QueryShares) -> String {
    if let Some(known) = known(error) {
        return known.to_string();
    }
    if error.to_string().contains(TEMP_FULL) {
        return "the temp folder is full: what does not fit the memory takes more than --temp-max. Give more, or more --memory"
            .to_owned();
    }
    if let Some(moment) = beyond_nanoseconds(&error.to_string()) {
        return moment;
    }
    match error.find_root() {
        DataFusionError::SchemaError(schema, _) => match schema.as_ref() {
            SchemaError::FieldNotFound { field, valid_fields } => no_column(field, valid_fields),
            other => other.to_string(),
        },
        DataFusionError::ResourcesExhausted(text) => {
            let memory = format_size(shares.memory_bytes);
            let fewer = if shares.threads > 1 { ", or fewer --threads" } else { "" };
            format!("--memory {memory} is too little for this query: {text}. Give more --memory{fewer}")
        }
        root => match advice(error) {
            Some(advice) => plain(&root.strip_backtrace()).split(" (os error").next().unwrap_or_default().to_owned() + &advice,
            None => plain(&root.strip_backtrace()),
        },
    }
}

/// The message for a moment that has no room in nanoseconds, which the engine takes where nothing
/// says otherwise.
fn beyond_nanoseconds(text: &str) -> Option<String> {
    /// Parts of the messages of the engine and of its library.
    const PARTS: [&str; 2] = ["can be represented as nanoseconds", "to Timestamp(ns): converted value exceeds"];
    if !PARTS.iter().any(|part| text.contains(part)) {
        return None;
    }
    let moment = text.split_once("Overflow converting ").and_then(|(_, rest)| rest.split_once(" to Nanosecond"));
    let moment = moment.map_or_else(|| "a moment".to_owned(), |(moment, _)| format!("'{moment}'"));
    Some(format!(
        "{moment} is before 1677 or after 2262, and a TIMESTAMP has nanoseconds, which reach no further: TIMESTAMP(6) \
         '9999-12-31', or CAST(… AS TIMESTAMP(6)), has microseconds. A column of dates is compared with DATE '9999-12-31'"
    ))
}

/// True if a library failed at a file, whose errors do not name it.
pub(crate) fn is_of_a_file(error: &DataFusionError) -> bool {
    let root = error.find_root();
    let library =
        matches!(root, DataFusionError::ParquetError(_) | DataFusionError::ArrowError(..) | DataFusionError::External(_));
    library && known(error).is_none() && !error.to_string().contains(TEMP_FULL)
}

/// True if an operator that can't spill had too little memory.
pub(crate) fn is_out_of_memory(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)) && !error.to_string().contains(TEMP_FULL)
}

/// An error of ours, from wherever the engine has put it.
fn known(error: &DataFusionError) -> Option<&rorqual_pipe::Error> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(known) = error.downcast_ref::<rorqual_pipe::Error>() {
            return Some(known);
        }
        cause = error.source();
    }
    None
}

/// The way on where a file could not be opened because there are too many.
fn advice(error: &DataFusionError) -> Option<String> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(advice) = error.downcast_ref().and_then(open_files::advice) {
            return Some(advice);
        }
        cause = error.source();
    }
    None
}

fn no_column(field: &Column, valid: &[Column]) -> String {
    let mut names: Vec<&str> = valid.iter().map(|column| column.name.as_str()).collect();
    names.dedup();
    let wanted = field.name.to_lowercase();
    let distance = |name: &str| levenshtein(&wanted, &name.to_lowercase());
    let near = names.iter().filter(|name| distance(name) <= wanted.len() / 3 + 1).min_by_key(|name| distance(name));
    let mut text = format!("there is no column '{}'", field.name);
    if let Some(near) = near {
        let quoted =
            if near.chars().any(|character| character.is_uppercase()) { format!("\"{near}\"") } else { (*near).to_owned() };
        text.push_str(&format!("; is {quoted} meant?"));
    }
    let more = if names.len() > COLUMNS_SHOWN { ", …" } else { "" };
    names.truncate(COLUMNS_SHOWN);
    let end = if text.ends_with('?') { "" } else { "." };
    if names.is_empty() { text } else { format!("{text}{end} The columns are {}{more}", names.join(", ")) }
}

/// Without the words that name parts of the engine.
fn plain(text: &str) -> String {
    const WORDS: [&str; 10] = [
        "Internal error: ",
        "IO error: ",
        "Error during planning: ",
        "Execution error: ",
        "External error: ",
        "Arrow error: ",
        "Parquet error: ",
        "Object Store error: ",
        "SQL error: ",
        "This feature is not implemented: ",
    ];
    // The engine asks its users to report what its authors did not expect.
    let mut rest = text.split(BUG_REPORT).next().unwrap_or(text).trim_end_matches("..");
    while let Some(shorter) = WORDS.iter().find_map(|word| rest.strip_prefix(word)) {
        rest = shorter;
    }
    if let Some(name) = rest.strip_prefix("table 'datafusion.public.").and_then(|rest| rest.strip_suffix("' not found")) {
        return format!("'{name}' is neither a table nor a file");
    }
    match rest.strip_prefix("ParserError(\"").and_then(|rest| rest.strip_suffix("\")")) {
        Some(parser) => format!("the query: {parser}"),
        None => rest.to_owned(),
    }
}
