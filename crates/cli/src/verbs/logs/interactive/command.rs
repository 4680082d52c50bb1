//! The command that shows the same without the screen.

use crate::args::LogsArgs;
use rorqual_accesslog::aggregate::SpanFilter;
use rorqual_crossfilter::View;
use std::path::Path;

/// The arguments of the log, as they were given.
#[derive(Debug, Default)]
pub(super) struct LogCommand {
    flags: Vec<String>,
    files: Vec<String>,
    filter: Option<String>,
    span: SpanFilter,
}

impl LogCommand {
    pub(super) fn new(args: &LogsArgs, span: SpanFilter) -> Self {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let given = [
            ("--format", args.format.format.clone()),
            ("--format-file", args.format.format_file.as_deref().map(path)),
            ("--geoip", args.country.geoip.as_deref().map(path)),
        ];
        let flags = given.into_iter().filter_map(|(flag, value)| Some([flag.to_owned(), quoted(&value?)])).flatten().collect();
        let files = args.files.iter().map(|file| quoted(&path(file))).collect();
        Self { flags, files, filter: args.filter.clone(), span }
    }

    /// True if there is a database of countries.
    pub(super) fn has_countries(&self) -> bool {
        self.flags.iter().any(|flag| flag == "--geoip")
    }

    /// The command for a place, whose filter is written so.
    pub(super) fn of(&self, view: &View, filter: &str) -> String {
        let mut words = vec!["rorqual logs".to_owned()];
        words.extend(self.flags.iter().cloned());
        if let Some(filter) = joined(self.filter.as_deref(), filter) {
            words.extend(["--where".to_owned(), quoted(&filter)]);
        }
        let since = self.span.since_us.max(view.from_us);
        let until = [self.span.until_us, view.to_us].into_iter().flatten().min();
        for (flag, time_us) in [("--since", since), ("--until", until)] {
            words.extend(time_us.map(|time_us| format!("{flag} {}", time(time_us))));
        }
        words.extend(self.files.iter().cloned());
        words.join(" ")
    }
}

/// Both filters as one.
fn joined(given: Option<&str>, filter: &str) -> Option<String> {
    match (given.map(str::trim).filter(|given| !given.is_empty()), filter) {
        (None, "") => None,
        (None, filter) => Some(filter.to_owned()),
        (Some(given), "") => Some(given.to_owned()),
        (Some(given), filter) => Some(format!("({given}) and ({filter})")),
    }
}

fn time(time_us: i64) -> String {
    let seconds = crate::verbs::logs::time::format(time_us.div_euclid(1_000_000), "%Y-%m-%dT%H:%M:%S");
    match time_us.rem_euclid(1_000_000) {
        0 => seconds,
        micros => format!("{seconds}.{micros:06}"),
    }
}

/// A word of a shell.
fn quoted(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:,=@%+".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_has_both_filters_and_the_narrower_span() {
        let command = LogCommand {
            flags: vec!["--format".to_owned(), quoted("%h \"%r\"")],
            files: vec![quoted("my log"), quoted("a.log")],
            filter: Some("bot or status = 404".to_owned()),
            span: SpanFilter { since_us: Some(1_738_281_600_000_000), until_us: None },
        };
        let view = View { from_us: Some(0), to_us: Some(1_738_281_660_500_000), ..View::default() };
        assert_eq!(
            command.of(&view, "path = \"it's\""),
            r#"rorqual logs --format '%h "%r"' --where '(bot or status = 404) and (path = "it'\''s")' --since 2025-01-31T00:00:00 --until 2025-01-31T00:01:00.500000 'my log' a.log"#
        );
        assert_eq!(LogCommand::default().of(&View::default(), ""), "rorqual logs");
    }
}
