//! SQL conditions for filters, for `rorqual query`.

use super::derive::NET_BITS;
use super::value::written;
use super::{CLASSES, Filter, Network, NumberTest, TextTest, TextValue};
use crate::schema::{NumberColumn, NumberUnit, Schema, TextColumn, TextContent, float_of, float_step, integer_step};
use std::net::IpAddr;

/// Text columns of access logs that `rorqual query` has under the same name.
const SAME_TEXTS: [TextColumn; 10] = [
    TextColumn::PATH,
    TextColumn::QUERY,
    TextColumn::CLIENT,
    TextColumn::HOST,
    TextColumn::METHOD,
    TextColumn::PROTOCOL,
    TextColumn::REFERRER,
    TextColumn::AGENT,
    TextColumn::USER,
    TextColumn::SOURCE,
];

/// The condition that means the same rows in SQL; `has` tells which columns of access logs the file
/// has.
///
/// # Errors
/// A sentence about a part that can't be written in SQL.
pub(crate) fn condition(filter: &Filter, schema: &Schema, has: &dyn Fn(&str) -> bool) -> Result<String, String> {
    SqlFilter { schema, has }.of(filter)
}

/// A name as SQL has it, in quotes.
#[must_use]
pub fn sql_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text as SQL has it, in quotes.
#[must_use]
pub fn sql_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A moment in Unix microseconds as SQL has it, in quotes.
#[must_use]
pub fn sql_moment(time_us: i64) -> String {
    sql_text(&written(NumberUnit::Moment, integer_step(time_us)))
}

struct SqlFilter<'a> {
    schema: &'a Schema,
    has: &'a dyn Fn(&str) -> bool,
}

impl SqlFilter<'_> {
    fn of(&self, filter: &Filter) -> Result<String, String> {
        match filter {
            Filter::All(parts) => self.joined(parts, " AND ", "TRUE"),
            Filter::Any(parts) => self.joined(parts, " OR ", "FALSE"),
            // What is absent meets no condition, and so the opposite of it.
            Filter::Not(inner) => Ok(format!("NOT coalesce({}, FALSE)", self.of(inner)?)),
            Filter::Text(column, test) => self.text(*column, test),
            Filter::Number(column, test) => self.number(*column, test),
            Filter::Is(flag) => Err(format!("'{}' is not a column of a query", flag.name())),
            Filter::Anywhere(_) => Err("SQL can't search all columns (any): name one".to_owned()),
        }
    }

    fn joined(&self, parts: &[Filter], word: &str, none: &str) -> Result<String, String> {
        let parts = parts.iter().map(|part| self.of(part)).collect::<Result<Vec<String>, String>>()?;
        Ok(match &parts[..] {
            [] => none.to_owned(),
            [one] => one.clone(),
            _ => format!("({})", parts.join(word)),
        })
    }

    fn text(&self, column: TextColumn, test: &TextTest) -> Result<String, String> {
        let name = self.schema.text_name(column);
        let content = match column.as_own() {
            Some(number) => self.schema.text_kind(number),
            None if column == TextColumn::NET || SAME_TEXTS.contains(&column) => TextContent::Text,
            None => return Err(format!("'{name}' is not a column of a query")),
        };
        let source = if column == TextColumn::NET { self.schema.text_name(TextColumn::CLIENT) } else { name.clone() };
        if column.as_own().is_none() && !(self.has)(&source) {
            return Ok(constant(test.meets(b"")));
        }
        if column == TextColumn::NET {
            return networks(test, &sql_name(&source));
        }
        if !matches!(content, TextContent::Text | TextContent::Flag) || is_nested(&name, self.schema) {
            return Err(unfit(&name));
        }
        let is_flag = content == TextContent::Flag;
        let name = if is_flag { format!("CAST({} AS VARCHAR)", sql_name(&name)) } else { sql_name(&name) };
        // An empty text is absent for a filter.
        match test {
            TextTest::OneOf(values) => one_of(values, &name),
            TextTest::Matches(pattern) => Ok(format!("({name} <> '' AND {name} ~ {})", sql_text(pattern.text()))),
            TextTest::Contains(text) => Ok(format!("({name} <> '' AND strpos({name}, {}) > 0)", sql_text(text))),
            TextTest::Has(_) => Err("SQL has no test like 'has': compare with = or ~".to_owned()),
        }
    }

    fn number(&self, column: NumberColumn, test: &NumberTest) -> Result<String, String> {
        let (name, unit) = (self.schema.number_name(column), self.schema.unit(column));
        if matches!(unit, NumberUnit::Hour | NumberUnit::Weekday) || is_nested(&name, self.schema) {
            return Err(unfit(&name));
        }
        if column == NumberColumn::CLASS {
            return Ok(self.class(test));
        }
        if column.as_own().is_none() && !(self.has)(&name) {
            return Ok(constant(test.absent));
        }
        let name = match unit {
            // Dates and nanoseconds are moments in microseconds for a filter.
            NumberUnit::Moment => sql_microseconds(&name),
            // A number in single precision is that of its digits, and both zeros are one.
            NumberUnit::Float if self.schema.is_table() => {
                format!("(CAST(CAST({} AS VARCHAR) AS DOUBLE) + 0.0)", sql_name(&name))
            }
            _ => sql_name(&name),
        };
        let is_float = unit == NumberUnit::Float;
        let shown = |number| match unit {
            NumberUnit::Moment => sql_text(&written(unit, number)),
            NumberUnit::Float if !float_of(number).is_finite() => format!("CAST('{}' AS DOUBLE)", float_of(number)),
            _ => written(unit, number),
        };
        // Both ends of all numbers stand for no bound. A NaN is absent, and above infinity in SQL.
        let least = if is_float { float_step(f64::NEG_INFINITY) } else { 0 };
        let most = if is_float { float_step(f64::INFINITY) } else { u64::MAX };
        let absent = || if is_float { format!("({name} IS NULL OR isnan({name}))") } else { format!("{name} IS NULL") };
        let range = |(first, last): &(u64, u64)| match (*first <= least, *last >= most) {
            (true, true) if is_float => format!("{name} <= {}", shown(most)),
            (true, true) => format!("{name} IS NOT NULL"),
            (true, false) => format!("{name} <= {}", shown(*last)),
            (false, true) if is_float => format!("{name} BETWEEN {} AND {}", shown(*first), shown(most)),
            (false, true) => format!("{name} >= {}", shown(*first)),
            (false, false) if first == last => format!("{name} = {}", shown(*first)),
            (false, false) => format!("{name} BETWEEN {} AND {}", shown(*first), shown(*last)),
        };
        let ranges = test.ranges.iter().map(range);
        let parts: Vec<String> = ranges.chain(test.absent.then(absent)).collect();
        Ok(any(&parts))
    }

    /// A test of the status's class, as one of the status.
    fn class(&self, test: &NumberTest) -> String {
        let status = self.schema.number_name(NumberColumn::STATUS);
        let other = CLASSES.len() - 1;
        if !(self.has)(&status) {
            return constant(test.meets(Some(other as u64)));
        }
        let status = sql_name(&status);
        let of = |class: usize| match class {
            class if class == other => format!("coalesce({status} < 200 OR {status} > 599, TRUE)"),
            class => format!("{status} BETWEEN {}00 AND {}99", class + 2, class + 2),
        };
        let parts: Vec<String> = (0..CLASSES.len()).filter(|class| test.meets(Some(*class as u64))).map(of).collect();
        any(&parts)
    }
}

/// True if a table's column is inside of another one, or may be.
#[must_use]
pub fn is_nested(name: &str, schema: &Schema) -> bool {
    schema.is_table() && name.contains('.')
}

/// A table's column of moments, in microseconds as filters have them.
#[must_use]
pub fn sql_microseconds(name: &str) -> String {
    format!("arrow_cast({}, 'Timestamp(Microsecond, None)')", sql_name(name))
}

fn unfit(name: &str) -> String {
    format!("'{name}' can't be used in SQL: it is derived, JSON, of a type that has no text, or inside another value")
}

fn constant(is_met: bool) -> String {
    if is_met { "TRUE" } else { "FALSE" }.to_owned()
}

/// A test of the client's network, as one of the client.
fn networks(test: &TextTest, client: &str) -> Result<String, String> {
    let TextTest::OneOf(values) = test else { return Err("'net' is not a column of a query".to_owned()) };
    let of = |value: &TextValue| match value {
        TextValue::Network(network) => in_network(*network, client),
        TextValue::Text(text) if text.is_empty() => Err("`net = -` can't be written in SQL: use client".to_owned()),
        // The column has networks of one size, and nothing else.
        TextValue::Text(text) => match Network::parse(text).filter(|network| network.to_string() == *text) {
            Some(network) if network.address().is_ipv6() || network.prefix_bits() == NET_BITS.0 => in_network(network, client),
            _ => Ok(constant(false)),
        },
    };
    values.iter().map(of).collect::<Result<Vec<String>, String>>().map(|parts| any(&parts))
}

fn one_of(values: &[TextValue], name: &str) -> Result<String, String> {
    let (mut texts, mut others) = (Vec::new(), Vec::new());
    for value in values {
        match value {
            TextValue::Text(text) if text.is_empty() => others.push(format!("({name} IS NULL OR {name} = '')")),
            TextValue::Text(text) => texts.push(sql_text(text)),
            TextValue::Network(network) => others.push(in_network(*network, name)?),
        }
    }
    let texts = match &texts[..] {
        [] => None,
        [one] => Some(format!("{name} = {one}")),
        _ => Some(format!("{name} IN ({})", texts.join(", "))),
    };
    others.extend(texts);
    Ok(any(&others))
}

/// The condition for an IPv4 network whose prefix is whole bytes.
fn in_network(network: Network, name: &str) -> Result<String, String> {
    let (IpAddr::V4(address), bits @ (8 | 16 | 24 | 32)) = (network.address(), network.prefix_bits()) else {
        return Err(format!("the network {network} can't be written in SQL; /8, /16, /24 and /32 of IPv4 can"));
    };
    let known = bits as usize / 8;
    let bytes: Vec<String> = address.octets()[..known].iter().map(ToString::to_string).collect();
    if known == 4 {
        return Ok(format!("{name} = '{address}'"));
    }
    // Names of hosts may begin as an address does.
    Ok(format!("{name} ~ '^{}(\\.[0-9]{{1,3}}){{{}}}$'", bytes.join("\\."), 4 - known))
}

fn any(parts: &[String]) -> String {
    match parts {
        [] => "FALSE".to_owned(),
        [one] => one.clone(),
        _ => format!("({})", parts.join(" OR ")),
    }
}
