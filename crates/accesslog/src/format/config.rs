//! Formats that stand in a server's configuration.

use super::compile::QuoteEscaping;
use super::error::FormatError;
use super::{LogFormat, nginx};

/// All formats that a configuration defines: `log_format name …;` of nginx and `LogFormat "…" name`
/// of Apache. A definition that cannot be compiled is listed with its error, whose line and column
/// are those of `text`.
pub fn formats_in_config(text: &str) -> Vec<(String, Result<LogFormat, FormatError>)> {
    let mut formats = nginx_formats(text);
    formats.extend(apache_formats(text));
    formats
}

/// A word with its quotes and escapes undone, and where each of its bytes stood.
#[derive(Default)]
struct ConfigWord {
    text: String,
    places: Vec<usize>,
}

impl ConfigWord {
    fn push(&mut self, char: char, place: usize) {
        self.text.push(char);
        self.places.resize(self.text.len(), place);
    }

    fn append(&mut self, other: &ConfigWord) {
        self.text.push_str(&other.text);
        self.places.extend_from_slice(&other.places);
    }

    /// The error of a format string that this is, at its place in `config`.
    fn placed(&self, error: FormatError, config: &str) -> FormatError {
        let end = self.places.last().map_or(0, |last| last + 1);
        let at = self.places.get(error.at()).copied().unwrap_or(end);
        error.placed(config, at)
    }
}

fn nginx_formats(text: &str) -> Vec<(String, Result<LogFormat, FormatError>)> {
    let mut formats = Vec::new();
    for words in nginx_statements(text) {
        let [directive, name, rest @ ..] = &*words else {
            continue;
        };
        if directive.text != "log_format" {
            continue;
        }
        formats.push((name.text.clone(), nginx_format(text, &name.text, rest)));
    }
    formats
}

fn nginx_format(config: &str, name: &str, words: &[ConfigWord]) -> Result<LogFormat, FormatError> {
    let (escaping, words) = match words {
        [first, rest @ ..] if first.text.starts_with("escape=") => (&first.text["escape=".len()..], rest),
        all => ("", all),
    };
    let mut source = ConfigWord::default();
    words.iter().for_each(|word| source.append(word));
    let escaping = if escaping == "none" { QuoteEscaping::None } else { QuoteEscaping::Backslash };
    LogFormat::nginx(name, &source.text, escaping).map_err(|error| source.placed(error, config))
}

/// Statements of an nginx configuration as words, quotes and escapes undone. A block's head counts
/// as one.
fn nginx_statements(text: &str) -> Vec<Vec<ConfigWord>> {
    let mut statements = Vec::new();
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let at = text.len() - rest.len();
        rest = match first {
            ';' | '{' | '}' => {
                statements.push(std::mem::take(&mut words));
                &rest[1..]
            }
            '#' => rest.find('\n').map_or("", |end| &rest[end..]),
            '"' | '\'' => {
                let (word, after) = nginx_quoted(&rest[1..], first, at + 1);
                words.push(word);
                after
            }
            space if space.is_whitespace() => &rest[space.len_utf8()..],
            _ => {
                let (word, after) = nginx_bare(rest, at);
                words.push(word);
                after
            }
        };
    }
    statements.push(words);
    statements
}

/// The text up to an unescaped `quote`, and the text after it; it begins at `start`.
fn nginx_quoted(text: &str, quote: char, start: usize) -> (ConfigWord, &str) {
    let mut word = ConfigWord::default();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => push_nginx_escape(chars.next().map(|(_, escaped)| escaped), &mut word, start + at),
            _ if char == quote => return (word, &text[at + 1..]),
            _ => word.push(char, start + at),
        }
    }
    (word, "")
}

fn nginx_bare(text: &str, start: usize) -> (ConfigWord, &str) {
    let mut word = ConfigWord::default();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => push_nginx_escape(chars.next().map(|(_, escaped)| escaped), &mut word, start + at),
            // A block, unless it is the brace of ${name}.
            '{' if word.text.ends_with('$') => {
                word.push('{', start + at);
                for (at, inner) in chars.by_ref().take_while(|(_, inner)| *inner != '}') {
                    word.push(inner, start + at);
                }
                word.push('}', start + at);
            }
            ';' | '{' => return (word, &text[at..]),
            _ if char.is_whitespace() => return (word, &text[at..]),
            _ => word.push(char, start + at),
        }
    }
    (word, "")
}

fn push_nginx_escape(escaped: Option<char>, word: &mut ConfigWord, at: usize) {
    match escaped {
        Some(char @ ('"' | '\'' | '\\')) => word.push(char, at),
        Some('t') => word.push('\t', at),
        Some('r') => word.push('\r', at),
        Some('n') => word.push('\n', at),
        other => {
            word.push('\\', at);
            other.into_iter().for_each(|other| word.push(other, at + 1));
        }
    }
}

fn apache_formats(text: &str) -> Vec<(String, Result<LogFormat, FormatError>)> {
    let joined = joined_lines(text);
    let mut start = 0;
    let format = |line: &str| {
        let found = apache_format(text, &joined, start, line.trim_end());
        start += line.len();
        found
    };
    joined.text.split_inclusive('\n').filter_map(format).collect()
}

/// The text without the line ends that a backslash takes away.
fn joined_lines(text: &str) -> ConfigWord {
    let mut joined = ConfigWord::default();
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        rest = match rest.strip_prefix("\\\r\n").or_else(|| rest.strip_prefix("\\\n")) {
            Some(after) => after,
            None => {
                joined.push(char, text.len() - rest.len());
                &rest[char.len_utf8()..]
            }
        };
    }
    joined
}

/// `LogFormat "…" name`; one without a name is Apache's default format. The line begins at `start`
/// of the joined ones.
fn apache_format(
    config: &str,
    joined: &ConfigWord,
    start: usize,
    line: &str,
) -> Option<(String, Result<LogFormat, FormatError>)> {
    let (directive, rest) = line.trim_start().split_once(char::is_whitespace)?;
    if !directive.eq_ignore_ascii_case("LogFormat") {
        return None;
    }
    let rest = rest.trim_start();
    let at = start + line.len() - rest.len() + usize::from(rest.starts_with(['"', '\'']));
    let (source, rest) = apache_word(rest);
    let name = apache_word(rest.trim_start()).0;
    let name = if name.is_empty() { "default" } else { name };
    let places = joined.places.get(at..at + source.len()).unwrap_or_default().to_vec();
    let word = ConfigWord { text: source.to_owned(), places };
    Some((name.to_owned(), LogFormat::apache(name, source).map_err(|error| word.placed(error, config))))
}

/// The first word, without its quotes but with its escapes, which mean the same in a format string.
fn apache_word(text: &str) -> (&str, &str) {
    let Some(quote @ ('"' | '\'')) = text.chars().next() else {
        return text.split_once(char::is_whitespace).unwrap_or((text, ""));
    };
    let inner = &text[1..];
    let mut escaped = false;
    for (at, char) in inner.char_indices() {
        if char == quote && !escaped {
            return (&inner[..at], &inner[at + 1..]);
        }
        escaped = char == '\\' && !escaped;
    }
    (inner, "")
}

/// A whole definition given where a format string was asked for, if it is one: a directive as it
/// stands in a configuration, with others around it or none, or what is after the name of one.
pub(crate) fn definition(text: &str) -> Option<Result<LogFormat, FormatError>> {
    if text.to_ascii_lowercase().contains("logformat") || text.contains("log_format") {
        let mut formats = formats_in_config(text);
        if formats.len() > 1 {
            let names: Vec<&str> = formats.iter().map(|(name, _)| &**name).collect();
            return Some(Err(FormatError::new(
                1,
                format!("there are {} formats here ({}): give one", names.len(), names.join(", ")),
            )));
        }
        if let Some((_, format)) = formats.pop() {
            return Some(format);
        }
    }
    if text.starts_with('\'') && nginx::has_variable(text) {
        return nginx_statements(text).first().map(|words| nginx_format(text, "custom", words));
    }
    quoted(text)
}

/// A format string in the double quotes that a configuration has around it, with the name of the
/// format after it or not.
fn quoted(text: &str) -> Option<Result<LogFormat, FormatError>> {
    let (source, rest) = text.starts_with('"').then(|| apache_word(text))?;
    // One field in quotes can be a format too.
    let is_whole = source.contains("\\\"") || source.contains(char::is_whitespace);
    if !is_whole || rest.trim_matches([' ', ';']).contains(['"', ' ', '$', '%']) {
        return None;
    }
    if nginx::has_variable(source) {
        return nginx_statements(text).first().and_then(|words| words.get(..1)).map(|words| nginx_format(text, "custom", words));
    }
    let word = ConfigWord { text: source.to_owned(), places: (1..=source.len()).collect() };
    source.contains('%').then(|| LogFormat::apache("custom", source).map_err(|error| word.placed(error, text)))
}
