//! The name that a URL gives to a file.

use crate::error::{FetchError, FetchErrorKind};
use crate::setting::OUTPUT;
use percent_encoding::percent_decode_str;
use reqwest::Url;

/// The longest name that common file systems take is 255 bytes; `.part.json.new` comes after it.
const NAME_BYTES_MAX: usize = 240;

/// The last segment of the URL's path, decoded: a plain name that can't lead out of a directory.
///
/// # Errors
/// When the URL can't be read or ends in no such name.
pub fn file_name(url: &str) -> Result<String, FetchError> {
    let parsed = parse(url)?;
    let last = parsed.path_segments().and_then(|mut segments| segments.next_back()).unwrap_or("");
    let name = percent_decode_str(last).decode_utf8().unwrap_or_default();
    let plain = !name.is_empty() && name != "." && name != ".." && name.len() <= NAME_BYTES_MAX;
    if plain && !name.contains(|character: char| character == '/' || character.is_control()) {
        return Ok(name.into_owned());
    }
    Err(FetchError::new(FetchErrorKind::Local, format!("{}: the URL gives no file name; give one with {OUTPUT}", shown(&parsed))))
}

pub(crate) fn parse(url: &str) -> Result<Url, FetchError> {
    let parsed = Url::parse(url).map_err(|error| FetchError::new(FetchErrorKind::Local, format!("{url}: not a URL: {error}")))?;
    match parsed.scheme() {
        "http" | "https" => Ok(parsed),
        other => Err(FetchError::new(
            FetchErrorKind::Local,
            format!("{}: {other} is not supported: http and https are", shown(&parsed)),
        )),
    }
}

/// The URL without the password that may be in it.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_other_letters_are_asked_by_their_ascii_names() {
        // The examples of RFC 3492 and of Unicode's UTS 46.
        for (url, host) in [
            ("http://B\u{dc}CHER.example/a", Some("xn--bcher-kva.example")),
            ("http://fa\u{df}.de/a", Some("xn--fa-hia.de")),
            (
                "http://\u{4ed6}\u{4eec}\u{4e3a}\u{4ec0}\u{4e48}\u{4e0d}\u{8bf4}\u{4e2d}\u{6587}/a",
                Some("xn--ihqwcrb4cv8a8dqg056pqjye"),
            ),
            ("http://\u{ff41}\u{3002}\u{ff42}/a", Some("a.b")),
            ("http://xn--a/a", None),
            ("http://a\u{200b}\u{2260}%00/a", None),
        ] {
            assert_eq!(parse(url).ok().as_ref().and_then(|url| url.host_str()), host, "{url}");
        }
    }

    #[test]
    fn the_last_segment_and_nothing_that_leads_elsewhere() {
        for (url, name) in [
            ("http://h/a/b.tar.gz", Some("b.tar.gz")),
            ("https://u:p@h/a%20b?x=/c#d", Some("a b")),
            ("http://h/%D1%84", Some("ф")),
            ("http://h/", None),
            ("http://h", None),
            ("http://h/a/..", None),
            ("http://h/..%2f..%2fetc%2fpasswd", None),
            ("http://h/a%00b", None),
            ("http://h/a%1b[2J", None),
            ("ftp://h/a", None),
            ("a", None),
        ] {
            assert_eq!(file_name(url).ok().as_deref(), name, "{url}");
        }
        assert!(!file_name("https://user:secret@h/").unwrap_err().to_string().contains("secret"));
    }
}
