//! Errors of templates, with their place in the template.

use crate::limits::QUOTED_BYTES_MAX;
use minijinja::ErrorKind;
use std::error::Error as _;
use std::fmt;
use std::io;

/// The reason for which a rendering ended early.
#[derive(Debug)]
pub enum RenderError {
    /// The template: its syntax, a name without a value, a value of the wrong kind.
    Template(Box<TemplateError>),
    /// The sink took no more.
    Write(io::Error),
    /// The rows could not be read. [`rorqual_pipe::ErrorClass::Stopped`]: somebody asked to stop.
    Rows(rorqual_pipe::Error),
}

/// A fault of a template or of its input, with its place.
#[derive(Debug)]
pub struct TemplateError {
    /// Kind of the error, as MiniJinja tells them apart.
    pub kind: ErrorKind,
    /// The message.
    pub message: String,
    /// The place, if it has one.
    pub place: Option<TemplatePosition>,
}

/// A place in a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplatePosition {
    /// The template's name.
    pub template: String,
    /// Its line, from 1.
    pub line: usize,
    /// The column in characters, from 1; 0 where only the line is known.
    pub column: usize,
    /// The line's text, cut when it is long.
    pub text: String,
}

impl RenderError {
    /// An error without a place.
    pub(crate) fn template(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::Template(Box::new(TemplateError { kind, message: message.into(), place: None }))
    }

    /// An end because somebody asked to stop.
    pub(crate) fn stopped() -> Self {
        Self::Rows(rorqual_pipe::Error::new(rorqual_pipe::ErrorClass::Stopped, "", "stopped"))
    }

    /// True if the reader went away or a stop was asked for: not a failure.
    #[must_use]
    pub fn is_stop(&self) -> bool {
        match self {
            Self::Template(_) => false,
            Self::Write(cause) => cause.kind() == io::ErrorKind::BrokenPipe,
            Self::Rows(error) => error.kind() == rorqual_pipe::ErrorClass::Stopped,
        }
    }

    /// Kind of the template's error.
    #[must_use]
    pub fn template_kind(&self) -> Option<ErrorKind> {
        match self {
            Self::Template(error) => Some(error.kind),
            _ => None,
        }
    }
}

impl From<io::Error> for RenderError {
    fn from(cause: io::Error) -> Self {
        Self::Write(cause)
    }
}

impl From<minijinja::Error> for RenderError {
    fn from(error: minijinja::Error) -> Self {
        // An error in an included template or a block is wrapped in errors about the including one.
        let mut inner = &error;
        let mut place = TemplatePosition::of(inner);
        while let Some(cause) = inner.source().and_then(|cause| cause.downcast_ref::<minijinja::Error>()) {
            inner = cause;
            place = TemplatePosition::of(inner).or(place);
        }
        let message = match inner.detail() {
            Some(detail) => format!("{}: {detail}", inner.kind()),
            None => inner.kind().to_string(),
        };
        let message = match inner.source() {
            Some(cause) => format!("{message}: {cause}"),
            None => message,
        };
        Self::Template(Box::new(TemplateError { kind: inner.kind(), message, place }))
    }
}

impl TemplatePosition {
    fn of(error: &minijinja::Error) -> Option<Self> {
        let (template, line) = (error.name()?.to_owned(), error.line()?);
        let source = error.template_source().unwrap_or_default();
        let text = source.split('\n').nth(line - 1).unwrap_or_default();
        let line_start: usize = source.split_inclusive('\n').take(line - 1).map(str::len).sum();
        let before = error.range().and_then(|range| source.get(line_start..range.start));
        let column = before.map_or(0, |before| before.chars().count() + 1);
        Some(Self { template, line, column, text: cut(text) })
    }
}

/// The start of a line.
fn cut(line: &str) -> String {
    if line.len() <= QUOTED_BYTES_MAX {
        return line.to_owned();
    }
    let end = (0..=QUOTED_BYTES_MAX).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &line[..end])
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Template(error) => error.fmt(f),
            Self::Write(cause) => write!(f, "cannot write: {}", rorqual_pipe::reason(cause)),
            Self::Rows(_) if self.is_stop() => f.write_str("stopped"),
            Self::Rows(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(place) = &self.place else { return f.write_str(&self.message) };
        write!(f, "{}:{}", place.template, place.line)?;
        if place.column > 0 {
            write!(f, ":{}", place.column)?;
        }
        write!(f, ": {}\n  {} | {}", self.message, place.line, place.text)?;
        // Not below the part that was cut off.
        if (1..=place.text.chars().count()).contains(&place.column) {
            let indent = place.line.to_string().len() + 5 + place.column;
            write!(f, "\n{:>indent$}", "^")?;
        }
        Ok(())
    }
}

impl std::error::Error for RenderError {}
