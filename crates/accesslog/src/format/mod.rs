//! Access-log formats: their names, the languages they are written in, and finding out which one a
//! log has.
//!
//! A [`LogFormat`] is made from a name, from an nginx `log_format` string or from an Apache
//! `LogFormat` string, and is compiled once; a [`crate::parse::LogParser`] per thread then reads
//! lines by it.

mod akamai;
mod apache;
mod cloudflare;
mod compile;
mod config;
mod detect;
mod error;
mod field;
mod foreign;
pub(crate) mod json;
mod ltsv;
mod nginx;
pub(crate) mod prefix;
pub(crate) mod program;
mod servers;
mod strftime;
mod tail;
pub(crate) mod w3c;
mod write;

use crate::own::{LogVariable, OWN_NUMBERS_MAX, OWN_TEXTS_MAX, OwnColumns};
use crate::parse::LogParser;
use std::sync::Arc;

pub use config::formats_in_config;
pub use detect::{Detection, SAMPLE_LINES_MAX, TriedLine, Unknown, WINDOW_LINES, detect, doubtful_fit, preview, try_lines};
pub use error::FormatError;
pub use field::Field;
pub use foreign::{Archive, ForeignContent, TextKind};

use compile::QuoteEscaping;
use json::JsonKeys;
use prefix::LinePrefix;
use program::Program;
use servers::SERVERS;
use w3c::W3cColumns;

/// Prefixes that a format may have, at most; those that are found have two.
const PREFIXES_MAX: usize = 8;

/// A compiled access-log format. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LogFormat {
    inner: Arc<FormatInner>,
}

#[derive(Clone, Debug)]
struct FormatInner {
    name: String,
    source: String,
    fields: u16,
    /// Of keys those that lines of a sample have.
    variables: Vec<LogVariable>,
    kind: LineSyntax,
}

/// The ways in which lines of a format are read.
#[derive(Clone, Debug)]
pub(crate) enum LineSyntax {
    Text(Program),
    Json(JsonKeys),
    /// Lines of another format, each after something.
    Prefixed(LinePrefix, LogFormat),
    /// `label:value` with tabs between.
    Labels(JsonKeys),
    /// The columns that a line said last.
    W3c(Arc<W3cColumns>),
    /// Lines of another format, each in an envelope of Docker's.
    Docker(LogFormat),
}

impl LogFormat {
    /// The format of that name: `json`, `w3c`, or one of those that are recognised, such as
    /// `combined`.
    pub fn named(name: &str) -> Option<LogFormat> {
        match name {
            "json" => return Some(LogFormat::json()),
            "ltsv" => return Some(LogFormat::ltsv()),
            "cloudflare" => return Some(LogFormat::cloudflare()),
            "akamai" => return Some(LogFormat::akamai()),
            "w3c" => return Some(LogFormat::w3c(Arc::new(W3cColumns::unknown()))),
            _ => {}
        }
        detect::known(name)
    }

    /// Compiles `text`: a name, an nginx `log_format` string (it has a `$name`) or an Apache
    /// `LogFormat` string (it has a `%`); a whole `log_format name …;` or `LogFormat "…" name` as
    /// it stands in a configuration, over several lines and with others around it, will do as well.
    /// An nginx string that makes JSON objects gives a format that reads keys in any order. The
    /// name of a prefix and a `+` may stand before it: `syslog+combined`.
    pub fn parse(text: &str) -> Result<LogFormat, FormatError> {
        let start = text.len() - text.trim_start().len();
        LogFormat::parse_trimmed(text.trim(), PREFIXES_MAX).map_err(|error| {
            let at = start + error.at();
            error.placed(text, at)
        })
    }

    /// The format of `text`, which may have so many prefixes. Each is a parser around another, and
    /// so are their calls.
    fn parse_trimmed(text: &str, prefixes: usize) -> Result<LogFormat, FormatError> {
        if let Some(format) = LogFormat::named(text) {
            return Ok(format);
        }
        if let Some((name, rest)) = text.split_once('+')
            && let Some(prefix) = LinePrefix::named(name)
        {
            let at = text.len() - rest.len();
            let Some(prefixes) = prefixes.checked_sub(1) else {
                return Err(FormatError::new(1, format!("more than {PREFIXES_MAX} prefixes before a format")));
            };
            return LogFormat::parse_trimmed(rest, prefixes).map(|format| format.after(prefix)).map_err(|error| {
                let at = at + error.at();
                error.placed(text, at)
            });
        }
        // Docker puts no envelope into another.
        if let Some(inner) = text.strip_prefix("docker+").filter(|inner| !inner.contains("docker+")) {
            return LogFormat::parse_trimmed(inner, prefixes).map(LogFormat::in_docker).map_err(|error| {
                let at = "docker+".len() + error.at();
                error.placed(text, at)
            });
        }
        if text.starts_with('#')
            && let Some(columns) = W3cColumns::of_sample(&text.lines().map(str::as_bytes).collect::<Vec<_>>())
        {
            return Ok(LogFormat::w3c(Arc::new(columns)));
        }
        if let Some(format) = config::definition(text) {
            return format;
        }
        if nginx::has_variable(text) {
            return LogFormat::nginx("custom", text, QuoteEscaping::Backslash);
        }
        if text.contains('%') {
            return LogFormat::apache("custom", text);
        }
        Err(FormatError::new(
            1,
            format!(
                "{text:?} is not a known format: give common, combined, vhost_combined, json, ltsv, w3c, akamai, cloudflare, {}, \
                 one after a prefix such as syslog+combined, an nginx log_format string ($remote_addr …) or an Apache LogFormat string (%h …)",
                SERVERS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
            ),
        ))
    }

    /// The format's name; `custom` if it came from a format string without one.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The format string; for JSON, `json`.
    pub fn source(&self) -> &str {
        &self.inner.source
    }

    /// True if lines of the format can have the field.
    pub fn has(&self, field: Field) -> bool {
        self.inner.fields & field.bit() != 0
    }

    /// True if a line of a log in the format can have the field, also one whose columns another
    /// line says.
    #[must_use]
    pub fn may_have(&self, field: Field) -> bool {
        self.has(field) || (self.is_said_by_lines() && W3cColumns::unknown().fields() & field.bit() != 0)
    }

    /// The fields that lines of the format can have.
    pub fn fields(&self) -> impl Iterator<Item = Field> + use<> {
        let bits = self.inner.fields;
        Field::ALL.into_iter().filter(move |field| field.bit() & bits != 0)
    }

    /// The variables of its lines that no field of a record is for. Of keys, as in JSON, those of
    /// the sample that it [knows](LogFormat::sampled).
    pub fn variables(&self) -> &[LogVariable] {
        &self.inner.variables
    }

    /// True if lines say the columns of those after them, so that no part of a log can
    /// be read by itself.
    pub fn is_said_by_lines(&self) -> bool {
        match &self.inner.kind {
            LineSyntax::W3c(_) => true,
            LineSyntax::Prefixed(_, inner) | LineSyntax::Docker(inner) => inner.is_said_by_lines(),
            LineSyntax::Text(_) | LineSyntax::Json(_) | LineSyntax::Labels(_) => false,
        }
    }

    /// True if other variables may turn up in later lines.
    pub fn is_open(&self) -> bool {
        match self.kind() {
            LineSyntax::Text(_) => false,
            LineSyntax::Json(_) | LineSyntax::Labels(_) | LineSyntax::W3c(_) => true,
            LineSyntax::Prefixed(_, inner) | LineSyntax::Docker(inner) => inner.is_open(),
        }
    }

    /// The same format with the keys that the first lines of `head` have.
    #[must_use]
    pub fn sampled(&self, head: &[u8]) -> LogFormat {
        self.sampled_lines(&detect::sample_lines(head))
    }

    fn sampled_lines(&self, lines: &[&[u8]]) -> LogFormat {
        if !self.has_keys() {
            return self.clone();
        }
        let columns = Arc::new(OwnColumns::new(&[], OWN_TEXTS_MAX + OWN_NUMBERS_MAX, 0));
        let mut parser = LogParser::new(self).with_own(&columns, usize::MAX).learning();
        for line in lines.iter().take(WINDOW_LINES) {
            let _ = parser.parse(line);
        }
        self.clone().with_variables(parser.learnt())
    }

    /// True if each value has its key before it.
    fn has_keys(&self) -> bool {
        match self.kind() {
            LineSyntax::Json(_) | LineSyntax::Labels(_) => true,
            LineSyntax::Text(_) | LineSyntax::W3c(_) => false,
            LineSyntax::Prefixed(_, inner) | LineSyntax::Docker(inner) => inner.has_keys(),
        }
    }

    /// The same format with these variables.
    #[must_use]
    pub fn with_variables(self, variables: Vec<LogVariable>) -> LogFormat {
        LogFormat { inner: Arc::new(FormatInner { variables, ..(*self.inner).clone() }) }
    }

    pub(crate) fn kind(&self) -> &LineSyntax {
        &self.inner.kind
    }

    /// True if each value of a line has its name before it, as in JSON: of the fields that the
    /// format knows a log has some.
    pub(crate) fn is_json(&self) -> bool {
        matches!(self.inner.kind, LineSyntax::Json(_) | LineSyntax::Labels(_))
    }

    /// The format with none but the `fields` given as bits, in what it says; it reads lines as
    /// before.
    pub(crate) fn narrowed(&self, fields: u16) -> LogFormat {
        let inner = FormatInner { fields: self.inner.fields & fields, ..(*self.inner).clone() };
        LogFormat { inner: Arc::new(inner) }
    }

    /// The format of lines of this one after a prefix.
    pub(crate) fn after(self, prefix: LinePrefix) -> LogFormat {
        let [name, source] = [self.name(), self.source()].map(|text| format!("{}+{text}", prefix.name()));
        let fields = self.inner.fields | if prefix.has_source() { Field::Source.bit() } else { 0 };
        LogFormat::new(&name, &source, fields, LineSyntax::Prefixed(prefix, self))
    }

    fn apache(name: &str, source: &str) -> Result<LogFormat, FormatError> {
        let program = compile::compile(apache::pieces(source)?, QuoteEscaping::Backslash)?;
        Ok(LogFormat::text(name, source, program))
    }

    fn nginx(name: &str, source: &str, escaping: QuoteEscaping) -> Result<LogFormat, FormatError> {
        if let Some(keys) = nginx::json_keys(source) {
            return Ok(LogFormat::new(name, source, keys.fields(), LineSyntax::Json(keys)));
        }
        let program = compile::compile(nginx::pieces(source)?, escaping)?;
        Ok(LogFormat::text(name, source, program))
    }

    fn text(name: &str, source: &str, program: Program) -> LogFormat {
        let fields = program.fields;
        LogFormat::new(name, source, fields, LineSyntax::Text(program))
    }

    fn json() -> LogFormat {
        let keys = JsonKeys::well_known();
        LogFormat::new("json", "json", keys.fields(), LineSyntax::Json(keys))
    }

    fn ltsv() -> LogFormat {
        let keys = ltsv::labels();
        LogFormat::new("ltsv", "ltsv", keys.fields(), LineSyntax::Labels(keys))
    }

    fn cloudflare() -> LogFormat {
        let keys = cloudflare::keys();
        LogFormat::new("cloudflare", "cloudflare", keys.fields(), LineSyntax::Json(keys))
    }

    fn akamai() -> LogFormat {
        let keys = akamai::keys();
        LogFormat::new("akamai", "akamai", keys.fields(), LineSyntax::Json(keys))
    }

    pub(crate) fn w3c(columns: Arc<W3cColumns>) -> LogFormat {
        LogFormat::new("w3c", &columns.source(), columns.fields(), LineSyntax::W3c(columns))
    }

    /// The format of lines of this one in Docker's envelopes.
    pub(crate) fn in_docker(self) -> LogFormat {
        let [name, source] = [self.name(), self.source()].map(|text| format!("docker+{text}"));
        LogFormat::new(&name, &source, self.inner.fields, LineSyntax::Docker(self))
    }

    fn new(name: &str, source: &str, fields: u16, kind: LineSyntax) -> LogFormat {
        let variables = match &kind {
            LineSyntax::Text(program) => program.variables.to_vec(),
            LineSyntax::Json(_) | LineSyntax::Labels(_) => Vec::new(),
            LineSyntax::W3c(columns) => columns.variables().flatten().collect(),
            LineSyntax::Prefixed(_, inner) | LineSyntax::Docker(inner) => inner.variables().to_vec(),
        };
        LogFormat { inner: Arc::new(FormatInner { name: name.to_owned(), source: source.to_owned(), fields, variables, kind }) }
    }
}
