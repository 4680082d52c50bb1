//! Filters as SQL, for `rorqual query`: whatever of a filter is a column there.

use super::value::written;
use super::{CLASSES, Filter, Network, NumberTest, TextTest, TextValue};
use crate::schema::{NumberColumn, NumberUnit, Schema, TextColumn, TextContent, float_of, float_step, integer_step};
use std::net::IpAddr;

/// Columns of access logs that a query has, too, under the same name.
const SAME_TEXTS: [TextColumn; 9] = [
    TextColumn::PATH,
    TextColumn::QUERY,
    TextColumn::CLIENT,
    TextColumn::HOST,
    TextColumn::METHOD,
    TextColumn::PROTOCOL,
    TextColumn::REFERRER,
    TextColumn::AGENT,
    TextColumn::USER,
];

/// The condition that means the same rows in SQL.
///
/// # Errors
/// A sentence about a part that SQL has no words for.
pub(crate) fn condition(filter: &Filter, schema: &Schema) -> Result<String, String> {
    SqlFilter { schema }.of(filter)
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
            Filter::Anywhere(_) => Err("a query has no search through all columns".to_owned()),
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
        if column == TextColumn::NET {
            return self.networks(test);
        }
        let name = self.schema.text_name(column);
        let content = match column.as_own() {
            Some(number) => self.schema.text_kind(number),
            None if SAME_TEXTS.contains(&column) => TextContent::Text,
            None => return Err(format!("'{name}' is not a column of a query")),
        };
        if matches!(content, TextContent::Json | TextContent::Pattern) || is_nested(&name, self.schema) {
            return Err(format!("'{name}' is no plain column of a query"));
        }
        let is_flag = content == TextContent::Flag;
        let name = if is_flag { format!("CAST({} AS VARCHAR)", sql_name(&name)) } else { sql_name(&name) };
        match test {
            TextTest::OneOf(values) => one_of(values, &name),
            TextTest::Matches(pattern) => Ok(format!("{name} ~ {}", sql_text(pattern.text()))),
            TextTest::Contains(text) => Ok(format!("strpos({name}, {}) > 0", sql_text(text))),
            // Of a text it is the text itself.
            TextTest::Has(element) => Ok(format!("{name} = {}", sql_text(element))),
        }
    }

    /// A test of the client's network, as one of the client.
    fn networks(&self, test: &TextTest) -> Result<String, String> {
        let TextTest::OneOf(values) = test else { return Err("'net' is not a column of a query".to_owned()) };
        let client = sql_name(&self.schema.text_name(TextColumn::CLIENT));
        let of = |value: &TextValue| match value {
            TextValue::Network(network) => in_network(*network, &client),
            TextValue::Text(text) => match Network::parse(text) {
                Some(network) => in_network(network, &client),
                None => Err("a client without a network has no words in SQL".to_owned()),
            },
        };
        values.iter().map(of).collect::<Result<Vec<String>, String>>().map(|parts| any(&parts))
    }

    fn number(&self, column: NumberColumn, test: &NumberTest) -> Result<String, String> {
        let (name, unit) = (self.schema.number_name(column), self.schema.unit(column));
        if matches!(unit, NumberUnit::Hour | NumberUnit::Weekday) || is_nested(&name, self.schema) {
            return Err(format!("'{name}' is no plain column of a query"));
        }
        if column == NumberColumn::CLASS {
            return Ok(self.class(test));
        }
        let name = sql_name(&name);
        let shown = |number| match unit {
            NumberUnit::Moment => sql_text(&written(unit, number)),
            NumberUnit::Float if !float_of(number).is_finite() => format!("CAST('{}' AS DOUBLE)", float_of(number)),
            _ => written(unit, number),
        };
        // Both ends of all numbers stand for no bound.
        let least = if unit == NumberUnit::Float { float_step(f64::NEG_INFINITY) } else { 0 };
        let most = if unit == NumberUnit::Float { float_step(f64::INFINITY) } else { u64::MAX };
        let range = |(first, last): &(u64, u64)| match (*first <= least, *last >= most) {
            (true, true) => format!("{name} IS NOT NULL"),
            (true, false) => format!("{name} <= {}", shown(*last)),
            (false, true) => format!("{name} >= {}", shown(*first)),
            (false, false) if first == last => format!("{name} = {}", shown(*first)),
            (false, false) => format!("{name} BETWEEN {} AND {}", shown(*first), shown(*last)),
        };
        let ranges = test.ranges.iter().map(range);
        let parts: Vec<String> = ranges.chain(test.absent.then(|| format!("{name} IS NULL"))).collect();
        Ok(any(&parts))
    }

    /// A test of the status's class, as one of the status.
    fn class(&self, test: &NumberTest) -> String {
        let status = sql_name(&self.schema.number_name(NumberColumn::STATUS));
        let other = CLASSES.len() - 1;
        let of = |class: usize| match class {
            class if class == other => format!("coalesce({status} < 200 OR {status} > 599, TRUE)"),
            class => format!("{status} BETWEEN {}00 AND {}99", class + 2, class + 2),
        };
        let parts: Vec<String> = (0..CLASSES.len()).filter(|class| test.meets(Some(*class as u64))).map(of).collect();
        any(&parts)
    }
}

/// True if a table's column is inside of another one, or may be.
fn is_nested(name: &str, schema: &Schema) -> bool {
    schema.is_table() && name.contains('.')
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

/// Addresses of whole bytes are told by how they begin, also in IPv6's clothes.
fn in_network(network: Network, name: &str) -> Result<String, String> {
    let none = || Err(format!("the network {network} has no words in SQL: only /8, /16, /24 and /32 of IPv4 have"));
    let (IpAddr::V4(address), bits @ (8 | 16 | 24 | 32)) = (network.address(), network.prefix_bits()) else { return none() };
    let bytes: Vec<String> = address.octets()[..bits as usize / 8].iter().map(ToString::to_string).collect();
    let start = bytes.join(".");
    let (start, end) = if bits == 32 { (start, "") } else { (format!("{start}."), "%") };
    Ok(format!("({name} LIKE '{start}{end}' OR {name} LIKE '::ffff:{start}{end}')"))
}

fn any(parts: &[String]) -> String {
    match parts {
        [] => "FALSE".to_owned(),
        [one] => one.clone(),
        _ => format!("({})", parts.join(" OR ")),
    }
}
