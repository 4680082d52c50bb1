//! Asks a filter of one line after another.

use super::limits::{AGENT_BYTES_MAX, AGENTS_MAX, REJECTED_BYTES_MAX};
use super::{Filter, Flag, TextTest, derive};
use crate::Countries;
use crate::agent::{Agent, classify, referring_site};
use crate::parse::LogRecord;
use crate::schema::{NumberColumn, TextColumn};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// A line, as a filter sees it.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Its record; `None` where it was rejected.
    pub record: Option<&'a LogRecord<'a>>,
    /// Its flaw, as [`NoteReason`](crate::aggregate::NoteReason) names it; empty where
    /// nothing is.
    pub flaw: &'a str,
    /// Its text where it was rejected; otherwise empty.
    pub line: &'a [u8],
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
    /// Name of the file that the lines are from, where they are of several.
    file: Arc<str>,
    /// Space for a request.
    request: Vec<u8>,
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

    /// The same for lines of that file, which are of several.
    #[must_use]
    pub fn with_file(mut self, file: Arc<str>) -> Self {
        self.known.file = file;
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
        Filter::Text(TextColumn::FLAW, test) => test.meets(subject.flaw.as_bytes()),
        Filter::Text(TextColumn::FILE, test) => test.meets(known.file.as_bytes()),
        Filter::Text(column, test) => match subject.record {
            Some(record) => test.meets(&text(record, *column, known)),
            None => test.meets(b""),
        },
        Filter::Number(column, test) => test.meets(subject.record.and_then(|record| number(record, *column))),
        Filter::Is(Flag::Rejected) => subject.record.is_none(),
        Filter::Is(Flag::Repaired) => subject.record.is_some() && !subject.flaw.is_empty(),
        Filter::Is(Flag::Bot) => subject.record.is_some_and(|record| known.agent(record.agent).bot.is_some()),
        Filter::Anywhere(test) => match subject.record {
            Some(record) => is_anywhere(record, test, &mut known.request),
            None => test.meets(&subject.line[..subject.line.len().min(REJECTED_BYTES_MAX)]),
        },
    }
}

/// True if a text of the line passes.
fn is_anywhere(record: &LogRecord<'_>, test: &TextTest, request: &mut Vec<u8>) -> bool {
    let own = || record.own.is_some_and(|own| (0..own.len().0).any(|number| test.meets(own.text(number))));
    let mut whole = || {
        derive::request(record.method, [record.path, record.query], record.protocol, request);
        test.meets(request)
    };
    record.texts().iter().any(|text| test.meets(text)) || own() || (test.may_span() && whole())
}

fn text<'a>(record: &LogRecord<'a>, column: TextColumn, known: &mut LineContext) -> Cow<'a, [u8]> {
    let owned = |text: Cow<'static, str>| Cow::Owned(text.into_owned().into_bytes());
    Cow::Borrowed(match column {
        TextColumn::CLIENT => record.client,
        TextColumn::USER => record.user,
        TextColumn::HOST => record.host,
        TextColumn::METHOD => record.method,
        TextColumn::PATH => record.path,
        TextColumn::QUERY => record.query,
        TextColumn::PROTOCOL => record.protocol,
        TextColumn::REFERRER => record.referrer,
        TextColumn::AGENT => record.agent,
        TextColumn::SOURCE => record.source,
        TextColumn::SITE => return referring_site(record.referrer),
        TextColumn::KIND => derive::kind(record.path).as_bytes(),
        TextColumn::FILE | TextColumn::FLAW => b"",
        TextColumn::COUNTRY => return Cow::Owned(known.country(record.client).into_bytes()),
        TextColumn::NET => return Cow::Owned(derive::net(record.client).into_bytes()),
        TextColumn::URL => return url(record.path, record.query),
        TextColumn::BROWSER => return owned(known.agent(record.agent).browser),
        TextColumn::OS => return owned(known.agent(record.agent).os),
        TextColumn::BOT => return owned(known.agent(record.agent).bot.unwrap_or_default()),
        own => own.as_own().zip(record.own).map_or(&[], |(number, values)| values.text(number)),
    })
}

/// Path and query, as in the request.
pub(crate) fn url<'a>(path: &'a [u8], query: &[u8]) -> Cow<'a, [u8]> {
    if query.is_empty() { Cow::Borrowed(path) } else { Cow::Owned([path, b"?", query].concat()) }
}

fn number(record: &LogRecord<'_>, column: NumberColumn) -> Option<u64> {
    let clock = |of: fn(i64, i32) -> u64| record.time_us.map(|time_us| of(time_us, record.zone_seconds));
    match column {
        NumberColumn::STATUS => Some(u64::from(record.status)).filter(|status| *status != 0),
        NumberColumn::CLASS => Some(derive::class(record.status) as u64),
        NumberColumn::BYTES => record.bytes,
        NumberColumn::REQUEST_TIME => record.request_time_us,
        NumberColumn::UPSTREAM_TIME => record.upstream_time_us,
        NumberColumn::HOUR => clock(derive::hour),
        NumberColumn::WEEKDAY => clock(derive::weekday),
        own => own.as_own().zip(record.own).and_then(|(number, values)| values.number(number)),
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
