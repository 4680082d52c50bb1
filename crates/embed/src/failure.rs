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
    /// `memory`, `argument`, `template`, `connect`, `answer`, `broken`, `timeout`, `program` or
    /// `defect`.
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
        Self { kind, message: message.into(), name: None, offset: None, needed_bytes: None }
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
