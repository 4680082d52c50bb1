//! One line with all its fields.

use super::layout::scrolled;
use crate::verbs::logs::time::show;
use crate::verbs::logs::words::{seconds, size, thousands};
use rorqual_crossfilter::{OwnValue, PageRow};

/// A field of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecordField {
    pub(super) name: String,
    pub(super) shown: String,
    /// The value in filters; `None` where it is no field of these.
    pub(super) value: Option<String>,
}

/// A line, and the cursor among its fields.
#[derive(Debug)]
pub(super) struct RecordScreen {
    pub(super) row: PageRow,
    pub(super) fields: Vec<RecordField>,
    pub(super) cursor: usize,
}

impl RecordScreen {
    pub(super) fn new(row: PageRow) -> Self {
        Self { fields: fields(&row), row, cursor: 0 }
    }

    pub(super) fn step(&mut self, by: isize) {
        self.cursor = self.cursor.saturating_add_signed(by).min(self.fields.len().saturating_sub(1));
    }

    /// Rows of the screen: each field's text in lines of a width, and the first that is shown.
    pub(super) fn rows(&self, width: usize, height: usize) -> (Vec<(usize, String)>, usize) {
        let mut rows = Vec::new();
        for (index, field) in self.fields.iter().enumerate() {
            let text = crate::verbs::logs::words::shown(&field.shown, usize::MAX);
            let letters: Vec<char> = text.chars().collect();
            let lines = letters.chunks(width.max(1)).map(|chunk| (index, chunk.iter().collect()));
            rows.extend(lines);
            if letters.is_empty() {
                rows.push((index, String::new()));
            }
        }
        let last = rows.iter().rposition(|(index, _)| *index == self.cursor).unwrap_or(0);
        let first = rows.iter().position(|(index, _)| *index == self.cursor).unwrap_or(0);
        let top = scrolled(0, last, height).min(first);
        (rows, top)
    }
}

/// The fields that the line has.
fn fields(row: &PageRow) -> Vec<RecordField> {
    let mut fields = Vec::new();
    let mut push = |name: &str, shown: String, value: Option<String>| {
        if !shown.is_empty() {
            fields.push(RecordField { name: name.to_owned(), shown, value });
        }
    };
    let time = row.time.map_or_else(String::new, |time| format!("{}{} UTC", show(time.floor() as i64), fraction(time)));
    push("time", time, None);
    for (name, text) in texts(row) {
        push(name, text.clone(), Some(text.clone()));
    }
    push("status", row.status.map_or_else(String::new, |status| status.to_string()), row.status.map(|status| status.to_string()));
    push(
        "bytes",
        row.bytes.map_or_else(String::new, |bytes| format!("{} ({})", thousands(bytes), size(bytes))),
        row.bytes.map(|bytes| bytes.to_string()),
    );
    for (name, time) in [("request_time", row.request_time), ("upstream_time", row.upstream_time)] {
        push(name, time.map_or_else(String::new, seconds), time.map(|time| time.to_string()));
    }
    for (name, value) in &row.columns {
        let shown = own(value);
        push(name, shown.clone(), Some(shown));
    }
    push("flaw", row.flaw.clone().unwrap_or_default(), row.flaw.clone());
    push("line", row.line.clone(), None);
    fields
}

fn texts(row: &PageRow) -> [(&'static str, &String); 18] {
    [
        ("client", &row.client),
        ("net", &row.net),
        ("country", &row.country),
        ("user", &row.user),
        ("host", &row.host),
        ("method", &row.method),
        ("path", &row.path),
        ("query", &row.query),
        ("kind", &row.kind),
        ("protocol", &row.protocol),
        ("referrer", &row.referrer),
        ("site", &row.site),
        ("agent", &row.agent),
        ("browser", &row.browser),
        ("os", &row.os),
        ("bot", &row.bot),
        ("source", &row.source),
        ("file", &row.file),
    ]
}

/// The part of a second, where it has one.
fn fraction(time: f64) -> String {
    let millis = (time.fract() * 1e3).round() as u64;
    if millis == 0 { String::new() } else { format!(".{millis:03}") }
}

fn own(value: &OwnValue) -> String {
    match value {
        OwnValue::Absent => String::new(),
        OwnValue::Text(text) => text.clone(),
        OwnValue::Integer(number) => number.to_string(),
        OwnValue::Natural(number) => number.to_string(),
        OwnValue::Float(number) => number.to_string(),
    }
}
