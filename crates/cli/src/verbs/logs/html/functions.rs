//! Functions for templates: numbers and times as words, and log text that can be shown.

use super::limits::VALUE_CHARS_MAX;
use crate::verbs::logs::time::{show, show_zone};
use crate::verbs::logs::words::{seconds, size, thousands};
use rorqual_accesslog::format::doubtful_fit;
use rorqual_digest::{Algorithm, DigestForm, Hasher};
use rorqual_render::{Templates, Value};

pub(super) fn add(templates: &mut Templates) {
    templates.add_global("count", Value::from_function(thousands));
    templates.add_global("size", Value::from_function(size_of));
    templates.add_global("duration", Value::from_function(seconds));
    templates.add_global("share", Value::from_function(share));
    templates.add_global("moment", Value::from_function(|seconds: f64| show(seconds.floor() as i64)));
    templates.add_global("zone", Value::from_function(show_zone));
    templates.add_global("doubtful_fit", Value::from_function(doubtful_fit));
    templates.add_global("visible", Value::from_function(visible));
    templates.add_global("csp_hash", Value::from_function(csp_hash));
}

/// A size in bytes; a fraction of one, as a mean has it, is left out.
fn size_of(bytes: f64) -> String {
    size(bytes as u64)
}

/// A share in per cent; it never rounds something to nothing, nor less than all to all.
fn share(part: f64, whole: f64) -> String {
    let percent = 100.0 * part / whole;
    match percent {
        _ if whole <= 0.0 || part <= 0.0 => "0 %".to_owned(),
        p if p < 0.001 => "< 0.001 %".to_owned(),
        p if p < 0.095 => {
            let digits = (-p.log10().floor()) as usize;
            format!("{p:.digits$} %")
        }
        p if p >= 100.0 => "100 %".to_owned(),
        p if p > 99.9 => "> 99.9 %".to_owned(),
        p => format!("{p:.1} %"),
    }
}

/// Log text made visible: control characters as their pictures, and the invisible characters that
/// turn the direction of text as escapes, so that a line can't pretend to be another. At most
/// `chars_max` characters; a cut text ends in `…`.
fn visible(text: &str, chars_max: Option<usize>) -> String {
    let chars_max = chars_max.unwrap_or(VALUE_CHARS_MAX);
    let mut shown = String::new();
    for (index, character) in text.chars().enumerate() {
        if index == chars_max {
            shown.push('…');
            break;
        }
        match character {
            '\0'..='\u{1f}' => shown.extend(char::from_u32(0x2400 + character as u32)),
            '\u{7f}' => shown.push('␡'),
            '\u{80}'..='\u{9f}'
            | '\u{ad}'
            | '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}' => shown.push_str(&format!("\\u{:04x}", character as u32)),
            _ => shown.push(character),
        }
    }
    shown
}

/// Name of a style or a script of the page in a content security policy.
fn csp_hash(text: &str) -> String {
    let mut hasher = Hasher::new(Algorithm::Sha256);
    hasher.update(text.as_bytes());
    format!("'sha256-{}'", hasher.finish().encode(DigestForm::Base64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_never_nothing_nor_all_by_rounding() {
        for (part, whole, text) in [
            (0.0, 10.0, "0 %"),
            (0.0, 0.0, "0 %"),
            (1.0, 3.0, "33.3 %"),
            (1.0, 1e4, "0.01 %"),
            (47.0, 1e5, "0.05 %"),
            (1.0, 1e9, "< 0.001 %"),
            (99_999.0, 1e5, "> 99.9 %"),
            (5.0, 5.0, "100 %"),
        ] {
            assert_eq!(share(part, whole), text);
        }
    }

    #[test]
    fn text_can_not_pretend_to_be_another() {
        assert_eq!(visible("a\u{202e}b\u{1b}[2J\0\u{7f}\u{9b}c", None), "a\\u202eb␛[2J␀␡\\u009bc");
        assert_eq!(visible("Grüße, 世界 <b>", None), "Grüße, 世界 <b>");
        assert_eq!((visible("abcd", Some(3)), visible("abc", Some(3))), ("abc…".to_owned(), "abc".to_owned()));
    }

    #[test]
    fn the_hash_is_that_of_browsers() {
        // printf 'alert(1)' | openssl dgst -sha256 -binary | base64
        assert_eq!(csp_hash("alert(1)"), "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='");
    }
}
