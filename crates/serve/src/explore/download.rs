//! Downloads as files: name and head.

use crate::limits::FILE_NAME_CHARS_MAX;
use crate::session::Session;
use axum::http::{HeaderName, header};

/// Ends of a log's name that say how it is stored, outermost first.
const STORED: [&str; 6] = [".gz", ".zst", ".bz2", ".xz", ".lz4", ".lzma"];
const LOGS: [&str; 4] = [".log", ".txt", ".json", ".ndjson"];

/// The name of a file made of a session's rows: `access.csv`, `access-path.csv`. Where it is not
/// `whole`, or not of all of the log, it says so.
pub(crate) fn name(session: &Session, whole: bool, about: &str, extension: &str) -> String {
    let whole = whole && session.state() == crate::session::SessionState::Finished;
    let mut name = stem(session.name());
    for part in [about, if whole { "" } else { "partial" }].iter().filter(|part| !part.is_empty()) {
        name.push('-');
        name.push_str(part);
    }
    format!("{name}.{extension}")
}

/// The log's name without folders and endings, in letters that every file system takes and no
/// header has to quote.
fn stem(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let without = |name: &str, ends: &[&str]| ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name).to_owned();
    let name = without(&without(name, &STORED), &LOGS);
    let plain = |char: char| if char.is_ascii_alphanumeric() || "._-".contains(char) { char } else { '_' };
    let plain: String = name.chars().take(FILE_NAME_CHARS_MAX).map(plain).collect();
    // A file whose name begins with a dot is hidden, one that begins with a hyphen is an option to
    // many programs.
    let plain = plain.trim_start_matches(['.', '-']);
    if plain.is_empty() { "log".to_owned() } else { plain.to_owned() }
}

/// The head of a download.
pub(crate) fn head(media_type: &'static str, name: &str) -> [(HeaderName, String); 3] {
    [
        (header::CONTENT_TYPE, media_type.to_owned()),
        (header::CACHE_CONTROL, "no-store".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
    ]
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn a_name_is_one_that_every_system_takes() {
        for (name, expected) in [
            ("access.log", "access"),
            ("/var/log/nginx/access.log.1.gz", "access.log.1"),
            ("C:\\logs\\site.txt.zst", "site"),
            ("../..", "log"),
            ("", "log"),
            ("-rf", "rf"),
            ("a\"b\r\nc;d.log", "a_b__c_d"),
            ("zugriffe-größe.log", "zugriffe-gr__e"),
        ] {
            assert_eq!(stem(name), expected, "{name:?}");
        }
        assert_eq!(stem(&"x".repeat(1_000)).len(), 100);
    }
}
