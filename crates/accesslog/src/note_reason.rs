//! Reasons for rejecting or repairing a line.

use crate::parse::LineFlaw;
use rorqual_pipe::format_size;
use rorqual_pipe::setting::LINE_MAX;
use std::borrow::Cow;
use std::fmt;

/// Reason for rejecting or repairing a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteReason {
    /// The flaw.
    Flaw(LineFlaw),
    /// It is longer than a line may be.
    TooLong {
        /// The limit.
        line_bytes_max: u64,
    },
}

impl fmt::Display for NoteReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flaw(flaw) => flaw.fmt(f),
            Self::TooLong { line_bytes_max } => {
                write!(f, "the line is longer than {} ({LINE_MAX} moves this limit)", format_size(*line_bytes_max))
            }
        }
    }
}

impl NoteReason {
    /// The reason without figures that differ from line to line, so that there are few.
    #[must_use]
    pub fn name(&self) -> Cow<'static, str> {
        match self {
            Self::Flaw(LineFlaw::NotJson(_)) => "not a JSON object".into(),
            Self::TooLong { .. } => "the line is too long".into(),
            Self::Flaw(flaw) => flaw.to_string().into(),
        }
    }

    /// Reasons that differ only in their figures are one kind, and have one [`NoteReason::name`].
    pub(crate) fn like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Flaw(LineFlaw::NotJson(_)), Self::Flaw(LineFlaw::NotJson(_)))
            | (Self::TooLong { .. }, Self::TooLong { .. }) => true,
            _ => self == other,
        }
    }
}
