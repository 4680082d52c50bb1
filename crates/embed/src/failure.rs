//! Errors of all parts in one form.

use rorqual_accesslog::analyze::AnalyzeError;
use rorqual_fetch::{FetchError, FetchErrorKind};
use rorqual_pipe::{BudgetError, Error};
use rorqual_render::RenderError;
use rorqual_search::PatternError;
use std::fmt;

/// An operation that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationFailure {
    /// Its kind in one word: `io`, `corrupt`, `truncated`, `mismatch`, `limit`, `stopped`,
    /// `memory`, `argument`, `template`, `connect`, `answer`, `broken`, `timeout` or `defect`.
    pub kind: &'static str,
    /// The sentence for people, which names the input.
    pub message: String,
    /// Name of the input.
    pub name: Option<String>,
    /// Place in the decoded input, in bytes.
    pub offset: Option<u64>,
    /// The memory that would be enough, where it was too little.
    pub needed_bytes: Option<u64>,
}

impl OperationFailure {
    /// A failure without a place.
    #[must_use]
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: named_as_arguments(&message.into()), name: None, offset: None, needed_bytes: None }
    }

    /// An argument that can't be.
    #[must_use]
    pub fn argument(message: impl Into<String>) -> Self {
        Self::new("argument", message)
    }

    /// A panic.
    pub(crate) fn defect() -> Self {
        Self::new("defect", "the operation failed inside; this is a defect of the program")
    }
}

/// The text with `--record-max` as `record_max`: libraries word a setting as the program's flag.
fn named_as_arguments(text: &str) -> String {
    let mut named = String::with_capacity(text.len());
    for (number, part) in text.split("--").enumerate() {
        let is_flag = number > 0 && part.starts_with(|first: char| first.is_ascii_lowercase());
        let after_word = named.ends_with(|last: char| last.is_alphanumeric() || last == '-');
        match is_flag && !after_word {
            true => {
                let end = part.find(|other: char| !other.is_ascii_lowercase() && other != '-').unwrap_or(part.len());
                named.push_str(&part[..end].replace('-', "_"));
                named.push_str(&part[end..]);
            }
            false => {
                named.push_str(if number > 0 { "--" } else { "" });
                named.push_str(part);
            }
        }
    }
    named
}

impl fmt::Display for OperationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for OperationFailure {}

impl From<Error> for OperationFailure {
    fn from(error: Error) -> Self {
        let name = Some(error.name().to_owned()).filter(|name| !name.is_empty());
        Self { name, offset: error.offset(), ..Self::new(error.kind().name(), error.to_string()) }
    }
}

impl From<BudgetError> for OperationFailure {
    fn from(error: BudgetError) -> Self {
        Self { needed_bytes: Some(error.least_bytes()), ..Self::new("memory", error.to_string()) }
    }
}

impl From<PatternError> for OperationFailure {
    fn from(error: PatternError) -> Self {
        Self::new(if error.is_too_large { "limit" } else { "argument" }, error.to_string())
    }
}

impl From<AnalyzeError> for OperationFailure {
    fn from(error: AnalyzeError) -> Self {
        let AnalyzeError::UnknownFormat { name, .. } = &error;
        Self { name: Some(name.clone()), ..Self::new("corrupt", error.to_string()) }
    }
}

impl From<FetchError> for OperationFailure {
    fn from(error: FetchError) -> Self {
        let kind = match error.kind {
            FetchErrorKind::Local => "io",
            FetchErrorKind::Digest => "mismatch",
            FetchErrorKind::Closed | FetchErrorKind::Stopped => "stopped",
            other => other.name(),
        };
        Self::new(kind, error.to_string())
    }
}

impl From<RenderError> for OperationFailure {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::Rows(error) => error.into(),
            RenderError::Write(_) => Self::new("stopped", error.to_string()),
            RenderError::Template(_) => Self::new("template", error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_the_names_of_arguments() {
        for (text, named) in [
            ("a record of more than --record-max 8 MiB", "a record of more than record_max 8 MiB"),
            ("--memory 1 MiB is too little", "memory 1 MiB is too little"),
            ("(--sha256 would tell)", "(sha256 would tell)"),
            ("a--b and /--x and -- y", "a--b and /x and -- y"),
        ] {
            assert_eq!(named_as_arguments(text), named);
        }
    }
}
