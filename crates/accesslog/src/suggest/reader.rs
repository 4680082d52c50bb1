//! Reads a typed text part by part.

use super::names::{ColumnKind, FILLERS, NEGATIONS, NamedColumn, SAYINGS, named, named_or_near};
use super::quantity::{TypedAmount, amount, comparison};
use super::when::TypedClock;
use super::words::{TypedWord, words};
use super::{TYPED_PARTS_MAX, TypedContext, TypedReading, contains, equals, in_any_case, rank};
use crate::filter::{Filter, FilterError, FilterRegex, Network, NumberTest, TextTest, address, net, written_name};
use crate::schema::{NumberColumn, NumberUnit, Schema, TextColumn, TextContent, integer_step};
use std::net::IpAddr;

/// Readings of a part, at most: the others are less likely.
const READINGS_MAX: usize = 24;

/// Columns of numbers that a number is looked for in.
const NUMBERS_MAX: usize = 12;

/// Words of a time, and of a comparison with its amount, at most.
const WORDS_MAX: usize = 8;

/// Words of a column's name, at most.
const NAME_WORDS_MAX: usize = 3;

/// Names of a column that are put right before a filter is given up.
const SLIPS_MAX: usize = 4;

/// A text, as it may be meant.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TypedText {
    /// It is a filter of the language, or was meant as one with another name of a column.
    pub filter: Option<TypedReading>,
    /// Reason for which it is none, where it looks like one.
    pub error: Option<FilterError>,
    /// All of it, as one text.
    pub whole: Vec<TypedReading>,
    /// Its parts, all of which are meant.
    pub parts: Vec<TypedPart>,
}

/// A part of a text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TypedPart {
    /// The likeliest first.
    pub readings: Vec<TypedReading>,
    /// This or the part before it is meant.
    pub is_alternative: bool,
}

/// Reads a text.
#[must_use]
pub fn read(text: &str, context: &TypedContext<'_>) -> TypedText {
    let text = text.trim();
    let (filter, error) = as_filter(text, context.schema);
    let reader = TypedReader { context, words: words(text) };
    let is_one = reader.words.len() == 1;
    let parts = reader.parts();
    let whole = if is_one { Vec::new() } else { reader.phrase(text.trim_matches('"')) };
    TypedText { filter, error, whole, parts: if parts.len() > TYPED_PARTS_MAX { Vec::new() } else { parts } }
}

/// The filter that a text is, maybe with names of columns put right; or why it is none, where it
/// looks like one.
pub fn as_filter(text: &str, schema: &Schema) -> (Option<TypedReading>, Option<FilterError>) {
    let mut text = text.to_owned();
    let (mut meant, mut first) = (None, None);
    for _ in 0..=SLIPS_MAX {
        match schema.filter(&text) {
            Ok(filter) if filter.is_everything() => return (None, None),
            Ok(filter) => {
                let reading = TypedReading { meant, ..TypedReading::new(rank::PLAIN, text, filter) };
                return (Some(reading), first);
            }
            Err(error) => {
                let fixed = fixed(&text, &error, schema);
                let looks = text.contains(['=', '<', '>', '~']) || text.contains(" contains ");
                first = first.or(Some(error).filter(|_| looks));
                let Some((with, name)) = fixed else { return (None, first) };
                (text, meant) = (with, Some(name));
            }
        }
    }
    (None, first)
}

/// The text with another name in place of the unknown one, and this name.
fn fixed(text: &str, error: &FilterError, schema: &Schema) -> Option<(String, String)> {
    let unknown = error.unknown.as_deref()?;
    let NamedColumn { name, .. } = named_or_near(schema, unknown)?;
    let at = text.char_indices().nth(error.column - 1)?.0;
    let rest = text[at..].strip_prefix(unknown)?;
    Some((format!("{}{}{rest}", &text[..at], written_name(&name)), name))
}

struct TypedReader<'a> {
    context: &'a TypedContext<'a>,
    words: Vec<TypedWord>,
}

/// A part's readings, and how many words it has.
type PartRead = (Vec<TypedReading>, usize);

impl TypedReader<'_> {
    fn schema(&self) -> &Schema {
        self.context.schema
    }

    fn parts(&self) -> Vec<TypedPart> {
        let (mut parts, mut at) = (Vec::new(), 0);
        let (mut is_negated, mut is_alternative) = (false, false);
        while at < self.words.len() {
            let word = self.words[at].text.to_lowercase();
            let is_bare = !self.words[at].is_quoted;
            let is_last = at + 1 == self.words.len();
            if is_bare && !is_last && ["or", "|", ","].contains(&&*word) {
                (is_alternative, at) = (!parts.is_empty(), at + 1);
                continue;
            }
            let saying = self.saying(at);
            if is_bare && !is_last && saying.is_none() && NEGATIONS.contains(&&*word) {
                (is_negated, at) = (true, at + 1);
                continue;
            }
            let (mut readings, used) = match saying.or_else(|| self.part(at)) {
                Some(read) => read,
                None if is_bare && self.words.len() > 1 && FILLERS.contains(&&*word) => {
                    at += 1;
                    continue;
                }
                None => (self.word(at), 1),
            };
            readings.sort_by_key(|reading| reading.rank);
            readings.truncate(READINGS_MAX);
            if is_negated {
                readings = readings.into_iter().map(TypedReading::negated).collect();
            }
            parts.push(TypedPart { readings, is_alternative });
            (is_negated, is_alternative) = (false, false);
            at += used;
        }
        parts
    }

    /// The words from `at` on, joined; `None` where one is quoted or there are fewer.
    fn joined(&self, at: usize, count: usize) -> Option<String> {
        let words = self.words.get(at..at + count)?;
        let is_bare = words.iter().all(|word| !word.is_quoted);
        is_bare.then(|| words.iter().map(|word| &*word.text).collect::<Vec<_>>().join(" "))
    }

    fn part(&self, at: usize) -> Option<PartRead> {
        if self.words[at].is_quoted {
            return Some((self.phrase(&self.words[at].text), 1));
        }
        self.time(at).or_else(|| self.key(at)).or_else(|| self.compared(at))
    }

    fn saying(&self, at: usize) -> Option<PartRead> {
        (1..=3).rev().find_map(|count| {
            let text = self.joined(at, count)?.to_lowercase();
            let (_, filter) = SAYINGS.iter().find(|(saying, _)| *saying == text)?;
            let reading = TypedReading::written(self.schema(), rank::PLAIN, *filter, filter)?;
            let others = if count == 1 { self.word(at) } else { self.phrase(&text) };
            Some(([vec![reading], others].concat(), count))
        })
    }

    fn time(&self, at: usize) -> Option<PartRead> {
        let times_us = self.context.values.times_us()?;
        let clock = TypedClock { times_us, zone_seconds: self.context.zone_seconds };
        (1..=WORDS_MAX).rev().find_map(|count| {
            let text = self.joined(at, count)?;
            let spans = clock.spans(&text);
            let readings = spans.iter().map(|span| TypedReading::span(clock.label(*span), *span));
            let readings: Vec<_> = readings.chain(self.anywhere(&text, rank::ANYWHERE)).collect();
            (!spans.is_empty()).then_some((readings, count))
        })
    }

    /// `> 2s`, `slower than 500 ms`, `1MB`: of all columns that have such numbers.
    fn compared(&self, at: usize) -> Option<PartRead> {
        (1..=WORDS_MAX).rev().find_map(|count| {
            let text = self.joined(at, count)?;
            let (operator, rest) = match comparison(&text) {
                Some((operator, rest)) => (operator, rest),
                None => (">=", &*text),
            };
            let amount = amount(rest)?;
            let is_plain = matches!(amount, TypedAmount::Number(_));
            if is_plain && rest == text {
                return None;
            }
            let readings = self.amounts(operator, &amount);
            (!readings.is_empty()).then_some((readings, count))
        })
    }

    fn amounts(&self, operator: &str, amount: &TypedAmount) -> Vec<TypedReading> {
        let schema = self.schema();
        let fits = |unit| match amount {
            TypedAmount::Time(_) => unit == NumberUnit::Seconds,
            TypedAmount::Size(_) => unit == NumberUnit::Bytes,
            TypedAmount::Number(_) => is_amount(unit) || unit == NumberUnit::Status,
        };
        let (TypedAmount::Time(value) | TypedAmount::Size(value) | TypedAmount::Number(value)) = amount;
        let columns = schema.numbers().filter(|column| fits(schema.unit(*column))).take(NUMBERS_MAX);
        let reading = |column| {
            let label = format!("{} {operator} {value}", schema.number_name(column));
            let text = format!("{} {operator} {value}", written_name(&schema.number_name(column)));
            TypedReading::written(schema, rank::PLAIN, label, &text)
        };
        columns.filter_map(reading).collect()
    }

    /// `path:checkout`, `status>=500`, `path contains checkout`, `path checkout`.
    fn key(&self, at: usize) -> Option<PartRead> {
        self.key_in_word(at).or_else(|| self.key_of_words(at))
    }

    fn key_in_word(&self, at: usize) -> Option<PartRead> {
        let word = &self.words[at].text;
        let end = word.find([':', '=', '<', '>', '!', '~']).filter(|end| *end > 0)?;
        let is_name = word[..end].chars().all(|one| one.is_alphanumeric() || "_-.@$ ".contains(one)) && word.len() > 2;
        let column = named_or_near(self.schema(), &word[..end]).filter(|column| is_name && (!column.is_guess || end > 2))?;
        let rest = word[end..].trim_start_matches(':');
        // After a colon a text may begin with any sign.
        let is_text = matches!(column.kind, ColumnKind::Text(_)) && word[end..].starts_with(':');
        let compared = || comparison(rest).or_else(|| Some(("~", rest.strip_prefix('~')?)));
        let (operator, value) = if is_text { (":", rest) } else { compared().unwrap_or((":", rest)) };
        let (value, used) = match value.trim_matches('"') {
            "" => (&*self.words.get(at + 1)?.text, 2),
            value => (value, 1),
        };
        Some((self.keyed(&column, operator, value), used)).filter(|(readings, _)| !readings.is_empty())
    }

    fn key_of_words(&self, at: usize) -> Option<PartRead> {
        (1..=NAME_WORDS_MAX).rev().find_map(|count| {
            let typed = self.joined(at, count)?;
            let name = typed.trim_end_matches(':');
            let column = named(self.schema(), name).or_else(|| named(self.schema(), &name.replace(' ', "")))?;
            let (operator, value, used) = self.value_after(at + count)?;
            // A name may be any word: it is one before a value that its column has.
            let is_said = operator == ":" && used == 1 && name == typed && !self.words[at + count].is_quoted;
            if is_said && (NEGATIONS.contains(&value) || FILLERS.contains(&value) || !self.is_value(&column, value)) {
                return None;
            }
            Some((self.keyed(&column, operator, value), count + used)).filter(|(readings, _)| !readings.is_empty())
        })
    }

    /// The comparison after a name and its value, and how many words these are.
    fn value_after(&self, at: usize) -> Option<(&str, &str, usize)> {
        let next = self.words.get(at)?;
        let after = || self.words.get(at + 1).map(|word| &*word.text);
        Some(match &*next.text.to_lowercase() {
            "contains" | "like" | "has" | "includes" | "containing" => ("contains", after()?, 2),
            "is" | "=" | "==" | ":" | "equals" => (":", after()?, 2),
            _ => self.comparison_at(at).unwrap_or((":", &*next.text, 1)),
        })
    }

    /// A comparison in words of their own, its value and their number.
    fn comparison_at(&self, at: usize) -> Option<(&str, &str, usize)> {
        (2..=3).find_map(|count| {
            let (operator, rest) = self.joined(at, count).and_then(|text| {
                let (operator, rest) = comparison(&text)?;
                Some((operator, rest.to_owned()))
            })?;
            let last = &*self.words.get(at + count - 1)?.text;
            (rest == last).then_some((operator, last, count))
        })
    }

    /// True if the column has such a value, so that the word before it is its name.
    fn is_value(&self, column: &NamedColumn, value: &str) -> bool {
        match column.kind {
            ColumnKind::Text(text) => {
                let seen = self.context.values.values_like(text, value);
                seen.contains || seen.contains_in_any_case || !seen.equal.is_empty() || self.network(text, value).is_some()
            }
            ColumnKind::Number(_) => !self.keyed(column, ":", value).is_empty(),
        }
    }

    fn keyed(&self, column: &NamedColumn, operator: &str, value: &str) -> Vec<TypedReading> {
        let readings = match column.kind {
            ColumnKind::Text(text) => self.keyed_text(text, operator, value),
            ColumnKind::Number(number) => self.keyed_number(number, operator, value),
        };
        let meant = column.is_guess.then(|| column.name.clone());
        readings.into_iter().map(|reading| TypedReading { meant: meant.clone(), ..reading }).collect()
    }

    fn keyed_text(&self, column: TextColumn, operator: &str, value: &str) -> Vec<TypedReading> {
        let name = self.schema().text_name(column);
        if operator == "~" {
            let test = FilterRegex::new(value).ok().map(TextTest::Matches);
            let reading = |test| TypedReading::new(rank::PLAIN, format!("{name} ~ {value}"), Filter::Text(column, test));
            return test.map(reading).into_iter().collect();
        }
        // Texts have no order.
        if operator.starts_with(['<', '>']) {
            return Vec::new();
        }
        let seen = self.context.values.values_like(column, value);
        let mut readings: Vec<TypedReading> = self.network(column, value).into_iter().collect();
        let equal = as_written(seen.equal, value);
        if operator != "contains" && !equal.is_empty() {
            readings.push(TypedReading::new(rank::PLAIN, format!("{name} = {value}"), equals(column, equal)));
        }
        let in_other_case = seen.contains_in_any_case && !seen.contains;
        let part = if in_other_case { self.in_text(column, value) } else { Some(contains(column, value)) };
        let label = format!("{name} contains {value}");
        readings.extend(part.map(|part| TypedReading::new(rank::IN_PATH, label, part)));
        if operator == "!=" { readings.into_iter().map(TypedReading::negated).collect() } else { readings }
    }

    fn in_text(&self, column: TextColumn, text: &str) -> Option<Filter> {
        let pattern = FilterRegex::new(&in_any_case(text)).ok()?;
        Some(Filter::Text(column, TextTest::Matches(pattern)))
    }

    fn keyed_number(&self, column: NumberColumn, operator: &str, value: &str) -> Vec<TypedReading> {
        let (schema, name) = (self.schema(), self.schema().number_name(column));
        let (operator, value) = match comparison(value) {
            Some((operator, rest)) => (operator, rest),
            None if [":", "contains"].contains(&operator) => ("=", value),
            None => (operator, value),
        };
        if schema.unit(column) == NumberUnit::Moment && operator == "=" {
            return self.moments(column, value);
        }
        let value = match amount(value) {
            Some(TypedAmount::Time(value) | TypedAmount::Size(value)) => value,
            _ => ranged(value),
        };
        let text = format!("{} {operator} {value}", written_name(&name));
        TypedReading::written(schema, rank::PLAIN, format!("{name} {operator} {value}"), &text).into_iter().collect()
    }

    /// A column's moments within the time that a text is.
    fn moments(&self, column: NumberColumn, value: &str) -> Vec<TypedReading> {
        let Some(times_us) = self.context.values.times_us() else { return Vec::new() };
        let clock = TypedClock { times_us, zone_seconds: self.context.zone_seconds };
        let reading = |(from, to): (i64, i64)| {
            let test = NumberTest::range(integer_step(from), integer_step(to - 1));
            let label = format!("{} {}", self.schema().number_name(column), clock.label((from, to)));
            TypedReading::new(rank::PLAIN, label, Filter::Number(column, test))
        };
        clock.spans(value).into_iter().map(reading).collect()
    }

    /// Readings of a word by itself.
    fn word(&self, at: usize) -> Vec<TypedReading> {
        let typed = &*self.words[at].text;
        let opposite =
            typed.strip_prefix('!').or_else(|| typed.strip_prefix('-').filter(|rest| rest.starts_with(char::is_alphabetic)));
        let word = opposite.filter(|rest| !rest.is_empty()).unwrap_or(typed);
        let mut readings = self.numbers(word);
        readings.extend(self.addresses(word));
        readings.extend(self.like(word));
        readings.extend(self.locations(word));
        readings.extend(self.values(word, true));
        readings.extend(self.anywhere(word, rank::ANYWHERE));
        if word != typed { readings.into_iter().map(TypedReading::negated).collect() } else { readings }
    }

    /// Readings of a text in quotes, or of all that was typed.
    fn phrase(&self, text: &str) -> Vec<TypedReading> {
        let mut readings = self.values(text, false);
        readings.extend(self.anywhere(text, rank::PLAIN));
        readings
    }

    fn anywhere(&self, text: &str, at_rank: u8) -> Vec<TypedReading> {
        // A column of this name would be meant by the filter.
        if self.schema().text("any").is_some() || self.schema().number("any").is_some() || text.is_empty() {
            return Vec::new();
        }
        let label = format!("anywhere: {text}");
        let mut readings = vec![TypedReading::new(at_rank, &*label, Filter::Anywhere(TextTest::Contains(text.to_owned())))];
        let pattern = FilterRegex::new(&in_any_case(text)).ok().filter(|_| text.contains(char::is_alphabetic));
        let in_any_case = |pattern| Filter::Anywhere(TextTest::Matches(pattern));
        readings.extend(
            pattern.map(|pattern| TypedReading::new(rank::ANY_CASE, format!("{label}, in any case"), in_any_case(pattern))),
        );
        readings
    }

    /// Columns with a value that is the text, or has it in it.
    fn values(&self, text: &str, with_parts: bool) -> Vec<TypedReading> {
        let schema = self.schema();
        let is_pattern = |own| schema.text_kind(own) == TextContent::Pattern;
        let is_asked = |column: &TextColumn| {
            ![TextColumn::URL, TextColumn::FLAW].contains(column) && !column.as_own().is_some_and(is_pattern)
        };
        let mut readings = Vec::new();
        for column in schema.texts().filter(is_asked) {
            let (name, seen) = (schema.text_name(column), self.context.values.values_like(column, text));
            let (contains_it, in_other_case) = (seen.contains, seen.contains_in_any_case);
            let equal = as_written(seen.equal, text);
            if !equal.is_empty() {
                let shown = equal.join(" or ");
                readings.push(TypedReading::new(rank::VALUE, format!("{name} = {shown}"), equals(column, equal)));
            }
            let part_rank = match column {
                TextColumn::PATH => rank::IN_PATH,
                TextColumn::AGENT => rank::IN_AGENT,
                _ => rank::IN_TEXT,
            };
            let has_parts = with_parts && ![TextColumn::NET, TextColumn::COUNTRY, TextColumn::KIND].contains(&column);
            let part = match (contains_it, in_other_case) {
                _ if !has_parts => None,
                (true, _) => Some(contains(column, text)),
                (false, true) => self.in_text(column, text),
                (false, false) => None,
            };
            readings.extend(part.map(|part| TypedReading::new(part_rank, format!("{name} contains {text}"), part)));
        }
        readings
    }

    fn numbers(&self, word: &str) -> Vec<TypedReading> {
        let schema = self.schema();
        let is_class = word.len() == 3 && word.to_ascii_lowercase().ends_with("xx");
        let ranged = ranged(word);
        if is_class || ranged != word || word.contains("..") {
            let text = format!("status = {ranged}");
            return TypedReading::written(schema, rank::PLAIN, &*text, &text).into_iter().collect();
        }
        if word.parse::<f64>().is_err() {
            return Vec::new();
        }
        let columns = schema.numbers().filter(|column| is_amount(schema.unit(*column)) || *column == NumberColumn::STATUS);
        let reading = |column| {
            let is_status = column == NumberColumn::STATUS;
            let name = schema.number_name(column);
            let text = format!("{} = {word}", written_name(&name));
            let at_rank = if is_status { rank::PLAIN } else { rank::VALUE };
            TypedReading::written(schema, at_rank, format!("{name} = {word}"), &text)
        };
        columns.filter_map(reading).take(NUMBERS_MAX).collect()
    }

    /// An address, its network, or a network, also by its first numbers.
    fn addresses(&self, word: &str) -> Vec<TypedReading> {
        if self.schema().text("client") != Some(TextColumn::CLIENT) {
            return Vec::new();
        }
        let mut readings: Vec<TypedReading> = self.network(TextColumn::CLIENT, word).into_iter().collect();
        if address(word.as_bytes()).is_some() {
            let network = net(word.as_bytes());
            let label = format!("the same network: net = {network}");
            readings.extend(TypedReading::written(self.schema(), rank::IN_TEXT, label, &format!("net = {network}")));
        }
        readings
    }

    /// The clients of an address or of a network.
    fn network(&self, column: TextColumn, word: &str) -> Option<TypedReading> {
        let is_client = column == TextColumn::CLIENT && self.schema().text("client") == Some(column);
        let (name, text) = match (word.parse::<IpAddr>(), Network::parse(word)) {
            _ if !is_client => return None,
            (Ok(IpAddr::V4(_)), _) => (format!("client = {word}"), format!("client = {word}")),
            // An address of IPv6 may be written in several ways.
            (Ok(IpAddr::V6(_)), _) => (format!("client = {word}"), format!("client in {word}/128")),
            (_, Some(network)) => (format!("client in {network}"), format!("client in {network}")),
            _ => first_numbers(word).map(|network| (format!("client in {network}"), format!("client in {network}")))?,
        };
        TypedReading::written(self.schema(), rank::PLAIN, name, &text)
    }

    /// `*.php`, `/api/*`: of paths.
    fn like(&self, word: &str) -> Option<TypedReading> {
        let is_pattern = word.contains('*') && word.chars().any(char::is_alphanumeric);
        self.schema().text("path").filter(|path| *path == TextColumn::PATH && is_pattern)?;
        let pattern = word.split('*').map(regex::escape).collect::<Vec<_>>().join(".*");
        let pattern = FilterRegex::new(&format!("^{pattern}$")).ok()?;
        let filter = Filter::Text(TextColumn::PATH, TextTest::Matches(pattern));
        Some(TypedReading::new(rank::PLAIN, format!("path like {word}"), filter))
    }

    /// An address of a page, or a path with its query.
    fn locations(&self, word: &str) -> Vec<TypedReading> {
        if self.schema().text("url") != Some(TextColumn::URL) {
            return Vec::new();
        }
        let scheme = word.split_once("://").filter(|(scheme, _)| scheme.to_ascii_lowercase().starts_with("http"));
        let mut readings = Vec::new();
        if let Some((_, rest)) = scheme {
            let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
            let sites = self.context.values.values_like(TextColumn::SITE, host).equal;
            if !sites.is_empty() {
                readings.push(TypedReading::new(rank::IN_TEXT, format!("site = {host}"), equals(TextColumn::SITE, sites)));
            }
            if path.len() > 1 {
                readings.push(TypedReading::new(rank::IN_PATH, format!("url contains {path}"), contains(TextColumn::URL, path)));
            }
        } else if word.contains('?') && word.len() > 1 {
            let url = equals(TextColumn::URL, vec![word.to_owned()]);
            readings.push(TypedReading::new(rank::VALUE, format!("url = {word}"), url));
            readings.push(TypedReading::new(rank::IN_PATH, format!("url contains {word}"), contains(TextColumn::URL, word)));
        }
        readings
    }
}

/// The value that is the text; without such a one those in another case of its letters.
fn as_written(equal: Vec<String>, text: &str) -> Vec<String> {
    if equal.iter().any(|value| value == text) { vec![text.to_owned()] } else { equal }
}

/// True if a number by itself may be one of the column's.
fn is_amount(unit: NumberUnit) -> bool {
    matches!(unit, NumberUnit::Bytes | NumberUnit::Natural | NumberUnit::Integer | NumberUnit::Float)
}

/// `400-499` as filters write it.
fn ranged(value: &str) -> String {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match value.split_once(['-', '–']) {
        Some((first, last)) if is_number(first) && is_number(last) => format!("{first}..{last}"),
        _ => value.to_owned(),
    }
}

/// The network of addresses that begin so: `10.1.2`, `10.1.`, `10.*`.
fn first_numbers(word: &str) -> Option<String> {
    let begun = word.trim_end_matches('*');
    let fields: Vec<&str> = begun.trim_end_matches('.').split('.').collect();
    let is_open = begun.ends_with('.') && begun.trim_end_matches('.').len() + 1 == begun.len();
    let is_network = fields.len() == 3 || (fields.len() < 3 && is_open);
    let all = fields.iter().all(|field| field.parse::<u8>().is_ok());
    let zeros = std::iter::repeat_n("0", 4usize.saturating_sub(fields.len()));
    let address: Vec<&str> = fields.iter().copied().chain(zeros).collect();
    (is_network && all).then(|| format!("{}/{}", address.join("."), 8 * fields.len()))
}
