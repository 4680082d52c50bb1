//! Settings by their names, in the words of the program that took them.

use std::fmt;
use std::sync::OnceLock;

/// A value that a user may choose, for messages about it: `LINE_MAX` in a text is `--line-max`
/// where a program has set [`Setting::word_by`], and `"line_max"` otherwise.
///
/// A library knows its settings and not how they are given, so no text of a library has a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    command: &'static str,
    name: &'static str,
}

/// Writes a setting as the users of a program give it.
pub type Wording = fn(&Setting, &mut fmt::Formatter<'_>) -> fmt::Result;

static WORDING: OnceLock<Wording> = OnceLock::new();

impl Setting {
    /// The setting `name`, in lower case with hyphens.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { command: "", name }
    }

    /// A setting of another command than the one that speaks of it.
    #[must_use]
    pub const fn of(command: &'static str, name: &'static str) -> Self {
        Self { command, name }
    }

    /// Words all settings of this process; the first call counts.
    pub fn word_by(wording: Wording) {
        WORDING.get_or_init(|| wording);
    }

    /// The command whose setting this is, where it is not the one that runs; or nothing.
    #[must_use]
    pub fn command(&self) -> &'static str {
        self.command
    }

    /// The name, in lower case with hyphens.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match WORDING.get() {
            Some(wording) => wording(self, f),
            None if self.command.is_empty() => write!(f, "\"{}\"", self.name.replace('-', "_")),
            None => write!(f, "\"{}\" of {}", self.name.replace('-', "_"), self.command),
        }
    }
}

/// Memory of the whole process.
pub const MEMORY: Setting = Setting::new("memory");
/// Worker threads.
pub const THREADS: Setting = Setting::new("threads");
/// Longest line that is handed over whole.
pub const LINE_MAX: Setting = Setting::new("line-max");
/// Leave to replace what there is.
pub const FORCE: Setting = Setting::new("force");
/// Going on with a file that grows.
pub const FOLLOW: Setting = Setting::new("follow");
/// File for the lines that could not be read.
pub const REJECTS: Setting = Setting::new("rejects");
/// Format of a log's lines.
pub const FORMAT: Setting = Setting::new("format");
/// Folder of temporary files.
pub const TEMP_DIR: Setting = Setting::new("temp-dir");
/// Most bytes of temporary files.
pub const TEMP_MAX: Setting = Setting::new("temp-max");
