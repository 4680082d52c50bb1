//! Asks a filter of one line after another.

use super::limits::{AGENT_BYTES_MAX, AGENTS_MAX};
use super::{Filter, Flag, NumberColumn, TextColumn, derive};
use crate::Countries;
use crate::agent::{Agent, classify, referring_site};
use crate::parse::LogRecord;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// A line, as a filter sees it.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Its record; `None` where it was rejected.
    pub record: Option<&'a LogRecord<'a>>,
    /// Its flaw, as [`NoteReason`](crate::aggregate::Reason) names it; empty where
    /// nothing is.
    pub flaw: &'a str,
}

/// A filter, and the classes of agents so far; each thread has its own.
#[derive(Debug, Clone)]
pub struct Matcher {
    filter: Arc<Filter>,
    known: LineContext,
}

/// Sources of values beside the line.
#[derive(Debug, Clone, Default)]
struct LineContext {
    /// Classes of the agents seen: finding out takes microseconds.
    agents: HashMap<Box<[u8]>, Agent>,
    countries: Option<Arc<Countries>>,
}

impl Matcher {
    /// A matcher for `filter`.
    #[must_use]
    pub fn new(filter: Arc<Filter>) -> Self {
        Self { filter, known: LineContext::default() }
    }

    /// The same, with a database of countries.
    #[must_use]
    pub fn with_countries(mut self, countries: Option<Arc<Countries>>) -> Self {
        self.known.countries = countries;
        self
    }

    /// True if the filter means the line.
    pub fn meets(&mut self, subject: &Subject<'_>) -> bool {
        meets(&self.filter, &mut self.known, subject)
    }
}

fn meets(filter: &Filter, known: &mut LineContext, subject: &Subject<'_>) -> bool {
    match filter {
        Filter::All(parts) => parts.iter().all(|part| meets(part, known, subject)),
        Filter::Any(parts) => parts.iter().any(|part| meets(part, known, subject)),
        Filter::Not(inner) => !meets(inner, known, subject),
        Filter::Text(TextColumn::Flaw, test) => test.meets(subject.flaw.as_bytes()),
        Filter::Text(column, test) => match subject.record {
            Some(record) => test.meets(&text(record, *column, known)),
            None => test.meets(b""),
        },
        Filter::Number(column, test) => test.meets(subject.record.and_then(|record| number(record, *column))),
        Filter::Is(Flag::Rejected) => subject.record.is_none(),
        Filter::Is(Flag::Repaired) => subject.record.is_some() && !subject.flaw.is_empty(),
        Filter::Is(Flag::Bot) => subject.record.is_some_and(|record| known.agent(record.agent).bot.is_some()),
    }
}

fn text<'a>(record: &LogRecord<'a>, column: TextColumn, known: &mut LineContext) -> Cow<'a, [u8]> {
    let owned = |text: Cow<'static, str>| Cow::Owned(text.into_owned().into_bytes());
    Cow::Borrowed(match column {
        TextColumn::Client => record.client,
        TextColumn::User => record.user,
        TextColumn::Host => record.host,
        TextColumn::Method => record.method,
        TextColumn::Path => record.path,
        TextColumn::Query => record.query,
        TextColumn::Protocol => record.protocol,
        TextColumn::Referrer => record.referrer,
        TextColumn::Agent => record.agent,
        TextColumn::Source => record.source,
        TextColumn::Site => return referring_site(record.referrer),
        TextColumn::Kind => derive::kind(record.path).as_bytes(),
        TextColumn::Flaw => b"",
        TextColumn::Country => return Cow::Owned(known.country(record.client).into_bytes()),
        TextColumn::Net => return Cow::Owned(derive::net(record.client).into_bytes()),
        TextColumn::Url => return url(record.path, record.query),
        TextColumn::Browser => return owned(known.agent(record.agent).browser),
        TextColumn::Os => return owned(known.agent(record.agent).os),
        TextColumn::Bot => return owned(known.agent(record.agent).bot.unwrap_or_default()),
    })
}

/// Path and query, as in the request.
pub(crate) fn url<'a>(path: &'a [u8], query: &[u8]) -> Cow<'a, [u8]> {
    if query.is_empty() { Cow::Borrowed(path) } else { Cow::Owned([path, b"?", query].concat()) }
}

fn number(record: &LogRecord<'_>, column: NumberColumn) -> Option<u64> {
    let clock = |of: fn(i64, i32) -> u64| record.time_us.map(|time_us| of(time_us, record.zone_seconds));
    match column {
        NumberColumn::Status => Some(u64::from(record.status)).filter(|status| *status != 0),
        NumberColumn::Class => Some(derive::class(record.status) as u64),
        NumberColumn::Bytes => record.bytes,
        NumberColumn::RequestTime => record.request_time_us,
        NumberColumn::UpstreamTime => record.upstream_time_us,
        NumberColumn::Hour => clock(derive::hour),
        NumberColumn::Weekday => clock(derive::weekday),
    }
}

impl LineContext {
    fn country(&self, client: &[u8]) -> String {
        self.countries.as_ref().map_or_else(String::new, |countries| countries.of(client))
    }

    fn agent(&mut self, agent: &[u8]) -> Agent {
        if let Some(known) = self.agents.get(agent) {
            return known.clone();
        }
        let found = classify(agent);
        if agent.len() <= AGENT_BYTES_MAX {
            if self.agents.len() >= AGENTS_MAX {
                self.agents.clear();
            }
            self.agents.insert(agent.into(), found.clone());
        }
        found
    }
}
