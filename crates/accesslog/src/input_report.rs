//! Inputs of a report, and the fit of their formats.

use crate::format::Detection;
use serde::{Deserialize, Serialize};

/// One input of a report.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InputReport {
    /// Its name.
    pub name: String,
    /// The format's name, where one was found.
    pub format: Option<String>,
    /// The fit of the format, where it was not given.
    pub guess: Option<Guess>,
    /// Bytes analysed, after decoding.
    pub bytes: u64,
    /// Lines, of any kind.
    pub lines: u64,
    /// The error that ended it early.
    pub error: Option<String>,
}

/// The fit of a format that was found to the first lines.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Guess {
    /// Lines looked at.
    pub lines: usize,
    /// Lines among them that the format reads without a flaw.
    pub sound: usize,
    /// Text after the agent that the format steps over, as the first line has it.
    pub unread: Option<String>,
}

impl Guess {
    /// The guess of a detection; `None` where the format was given.
    #[must_use]
    pub fn new(detection: &Detection) -> Option<Self> {
        let Detection { lines, sound, ref unread, .. } = *detection;
        (lines > 0).then(|| Self { lines, sound, unread: unread.clone() })
    }
}
