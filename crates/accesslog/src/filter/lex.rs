//! The words of a filter.

use super::parse::FilterError;

/// Tokens of a filter.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FilterToken {
    Word(String),
    /// In quotes, as JSON writes it.
    Quoted(String),
    Open,
    Close,
    Comma,
    Operator(Operator),
    End,
}

/// Operators that are no words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Unequal,
    Match,
    NoMatch,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Longest first, as one is the start of another.
const OPERATORS: [(&str, Operator); 9] = [
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("!~", Operator::NoMatch),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("=", Operator::Equal),
    ("~", Operator::Match),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

/// A token and where it starts, in bytes.
pub(super) type PlacedToken = (usize, FilterToken);

/// All tokens of `text`, the end included.
pub(super) fn tokens(text: &str) -> Result<Vec<PlacedToken>, FilterError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        let (token, bytes) = token(text, at)?;
        let ended = token == FilterToken::End;
        tokens.push((at, token));
        if ended {
            return Ok(tokens);
        }
        at += bytes;
    }
}

/// The token at `at`, and its length.
fn token(text: &str, at: usize) -> Result<(FilterToken, usize), FilterError> {
    let rest = &text[at..];
    let single = match rest.bytes().next() {
        None => return Ok((FilterToken::End, 0)),
        Some(b'(') => Some(FilterToken::Open),
        Some(b')') => Some(FilterToken::Close),
        Some(b',') => Some(FilterToken::Comma),
        Some(b'"') => return quoted(text, at),
        Some(_) => None,
    };
    if let Some(single) = single {
        return Ok((single, 1));
    }
    if let Some((written, operator)) = OPERATORS.iter().find(|(written, _)| rest.starts_with(written)) {
        return Ok((FilterToken::Operator(*operator), written.len()));
    }
    let bytes = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
    if bytes == 0 {
        return Err(FilterError::new(text, at, "a word, a text in double quotes, a comparison or a parenthesis"));
    }
    Ok((FilterToken::Word(rest[..bytes].to_owned()), bytes))
}

/// True if a word without quotes may have the character.
pub(super) fn is_word(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && !matches!(c, '(' | ')' | ',' | '"' | '=' | '!' | '~' | '<' | '>')
}

fn quoted(text: &str, at: usize) -> Result<(FilterToken, usize), FilterError> {
    let rest = &text[at..];
    let mut texts = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    match texts.next() {
        Some(Ok(quoted)) => Ok((FilterToken::Quoted(quoted), texts.byte_offset())),
        _ => Err(FilterError::new(text, at, "a text in double quotes, with \\\" and \\\\ where it has these itself")),
    }
}
