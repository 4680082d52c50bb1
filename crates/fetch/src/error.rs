//! Errors of a fetch, and the part that stays after one.

use rorqual_pipe::escaped_path;
use std::fmt;
use std::path::PathBuf;

/// Kind of a failure, for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchErrorKind {
    /// A setting that can't be, or the local file: it exists, no room, no permission, another fetch
    /// works on it.
    Local,
    /// No connection: the name is unknown, nobody listens, the certificate is not to be trusted.
    Connect,
    /// The server answered, and not with the file: an HTTP status, a redirect that is refused, an
    /// encoding.
    Answer,
    /// The transfer broke and trying again did not help.
    Broken,
    /// The bytes are not those of the digest.
    Digest,
    /// A time limit.
    Timeout,
    /// The reader of the bytes has enough: a closed pipe.
    Closed,
    /// [`Control::stop`](rorqual_pipe::Control::stop) was called.
    Stopped,
}

impl FetchErrorKind {
    /// A short name, fit for a label.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Connect => "connect",
            Self::Answer => "answer",
            Self::Broken => "broken",
            Self::Digest => "digest",
            Self::Timeout => "timeout",
            Self::Closed => "closed",
            Self::Stopped => "stopped",
        }
    }
}

/// A fetch that failed. The final name is untouched.
#[derive(Debug, Clone)]
pub struct FetchError {
    /// The kind.
    pub kind: FetchErrorKind,
    /// The message, which names the URL or the file.
    pub message: String,
    /// The part that is kept, and how many sound bytes it has; the next fetch goes on from there.
    pub kept: Option<(PathBuf, u64)>,
}

impl FetchError {
    pub(crate) fn new(kind: FetchErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), kept: None }
    }

    pub(crate) fn local(what: impl fmt::Display, cause: &std::io::Error) -> Self {
        Self::new(FetchErrorKind::Local, format!("{what}: {}", reason(cause)))
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.kept {
            Some((path, bytes)) => write!(f, "; {} keeps {bytes} bytes to go on from", escaped_path(path)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for FetchError {}

/// The system's words without Rust's "(os error 2)".
pub(crate) fn reason(cause: &dyn fmt::Display) -> String {
    let text = cause.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text[..end].to_owned()
}
