//! The same views, by looking at one row after another.

use crate::log::{Plain, State};
use rorqual_accesslog::agent::classify;
use std::collections::BTreeMap;

/// A condition as it is written, and its value for a row.
#[derive(Clone)]
pub(crate) struct Naive {
    pub(crate) written: String,
    pub(crate) meets: std::sync::Arc<dyn Fn(&Plain) -> bool + Send + Sync>,
}

impl std::fmt::Debug for Naive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.written)
    }
}

pub(crate) fn naive(written: impl Into<String>, meets: impl Fn(&Plain) -> bool + Send + Sync + 'static) -> Naive {
    Naive { written: written.into(), meets: std::sync::Arc::new(meets) }
}

impl Naive {
    pub(crate) fn and(self, other: Self) -> Self {
        let (a, b) = (self.meets, other.meets);
        naive(format!("({}) and ({})", self.written, other.written), move |row| a(row) && b(row))
    }

    pub(crate) fn or(self, other: Self) -> Self {
        let (a, b) = (self.meets, other.meets);
        naive(format!("({}) or ({})", self.written, other.written), move |row| a(row) || b(row))
    }

    pub(crate) fn not(self) -> Self {
        let meets = self.meets;
        naive(format!("not ({})", self.written), move |row| !meets(row))
    }
}

/// True if some text of a row's line has the part in it.
pub(crate) fn is_anywhere(row: &Plain, part: &str) -> bool {
    if let State::Rejected(text) = &row.state {
        return text.contains(part);
    }
    let request = format!("{} {} HTTP/1.1", row.method, value(row, "url"));
    let texts = [&request, &row.client, &row.user, &row.referrer, &row.agent, &row.host];
    texts.iter().any(|text| text.contains(part))
}

/// The value of a row in a panel; empty where it has none.
pub(crate) fn value(row: &Plain, field: &str) -> String {
    if field == "flaw" {
        return match &row.state {
            State::Sound => String::new(),
            State::Repaired => "number of bytes is not a number".to_owned(),
            State::Rejected(_) => "the line ends before the user".to_owned(),
        };
    }
    if row.rejected() {
        return String::new();
    }
    match field {
        "path" => row.path.clone(),
        "query" => row.query.clone(),
        "url" if row.query.is_empty() => row.path.clone(),
        "url" => format!("{}?{}", row.path, row.query),
        "client" => row.client.clone(),
        "net" => net(&row.client),
        "host" => row.host.clone(),
        "method" => row.method.clone(),
        "protocol" => "HTTP/1.1".to_owned(),
        "referrer" => row.referrer.clone(),
        "site" => row.referrer.split('/').nth(2).unwrap_or_default().to_owned(),
        "browser" => classify(row.agent.as_bytes()).browser.into_owned(),
        "os" => classify(row.agent.as_bytes()).os.into_owned(),
        "bot" => classify(row.agent.as_bytes()).bot.map_or(String::new(), std::borrow::Cow::into_owned),
        "agent" => row.agent.clone(),
        "user" => row.user.clone(),
        "kind" => kind(&row.path).to_owned(),
        other => panic!("no panel {other}"),
    }
}

fn net(client: &str) -> String {
    if client.contains(':') {
        let parts: Vec<&str> = client.split(':').collect();
        return format!("{}:{}:{}::/48", parts[0], parts[1], parts[2]);
    }
    let parts: Vec<&str> = client.split('.').collect();
    if parts.len() == 4 { format!("{}.{}.{}.0/24", parts[0], parts[1], parts[2]) } else { String::new() }
}

fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        None => "page",
        Some("css") => "style",
        Some("js") => "script",
        Some("png") => "image",
        Some("json") => "data",
        Some(_) => "other",
    }
}

/// Hits and bytes by value.
pub(crate) fn panel(rows: &[&Plain], field: &str) -> BTreeMap<String, (u64, u64)> {
    let mut sums = BTreeMap::new();
    for row in rows {
        let value = value(row, field);
        if !value.is_empty() {
            let sum: &mut (u64, u64) = sums.entry(value).or_default();
            sum.0 += 1;
            sum.1 += row.size().unwrap_or(0);
        }
    }
    sums
}

/// 2xx and so on.
pub(crate) fn class(row: &Plain) -> &'static str {
    match row.status / 100 {
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        5 => "5xx",
        _ => "other",
    }
}

/// Weekday (Monday is 0) and hour by the row's own clock.
pub(crate) fn clock(row: &Plain) -> (usize, usize) {
    // The log's first day is a Tuesday.
    let hours = row.time / 3600 + row.zone_hours + 24;
    (((hours / 24) % 7) as usize, (hours % 24) as usize)
}
