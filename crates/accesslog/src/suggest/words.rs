//! The words of a typed text.

/// A word as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TypedWord {
    pub(super) text: String,
    /// It was in quotes: an exact text, and nothing else.
    pub(super) is_quoted: bool,
}

/// Words at white space; a text in quotes is one, and a quote without an end goes to the end.
pub(super) fn words(text: &str) -> Vec<TypedWord> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, after) =
            if first == '"' || (first == '\'' && rest[1..].contains('\'')) { quoted(rest, first) } else { bare(rest) };
        if !word.text.is_empty() {
            words.push(word);
        }
        rest = after.trim_start();
    }
    words
}

fn quoted(text: &str, quote: char) -> (TypedWord, &str) {
    let inner = &text[1..];
    let (mut end, mut unescaped, mut escapes) = (inner.len(), String::new(), false);
    for (at, one) in inner.char_indices() {
        match one {
            '\\' if !escapes && quote == '"' => escapes = true,
            one if one == quote && !escapes => {
                end = at;
                break;
            }
            one => {
                if escapes && one != '"' && one != '\\' {
                    unescaped.push('\\');
                }
                escapes = false;
                unescaped.push(one);
            }
        }
    }
    (TypedWord { text: unescaped, is_quoted: true }, inner.get(end + 1..).unwrap_or(""))
}

/// To the next white space outside of quotes: `path:"a b"` is one word.
fn bare(text: &str) -> (TypedWord, &str) {
    let mut in_quotes = false;
    let mut ends = |one: char| {
        in_quotes ^= one == '"';
        one.is_whitespace() && !in_quotes
    };
    let end = text.find(&mut ends).unwrap_or(text.len());
    let word = text[..end].trim_end_matches(',');
    (TypedWord { text: word.to_owned(), is_quoted: false }, &text[end..])
}
