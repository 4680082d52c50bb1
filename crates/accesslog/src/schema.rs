//! The columns that rows have, and their names: a [`Schema`].
//!
//! Each schema has the columns of access logs at the same places, as the code that knows them is
//! compiled for these: an access log has them all, a table has the time of its rows and maybe no
//! other. Its own columns come after them. A filter, a view and a panel are made ready by a schema
//! once; after that they are numbers of columns.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::LazyLock;

/// A column of texts, by its number in a schema. An absent value is the empty text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextColumn(u16);

/// A column of numbers, by its number in a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NumberColumn(u16);

/// Columns of texts that access logs have: name, and title of its panel.
const ACCESS_TEXTS: [(&str, Option<&str>); 20] = [
    ("path", Some("Paths")),
    ("url", None),
    ("query", None),
    ("client", Some("Clients")),
    ("net", Some("Networks")),
    ("country", Some("Countries")),
    ("host", Some("Virtual hosts")),
    ("method", Some("Methods")),
    ("protocol", Some("Protocols")),
    ("referrer", Some("Referrers")),
    ("site", Some("Referring sites")),
    ("browser", Some("Browsers")),
    ("os", Some("Operating systems")),
    ("bot", Some("Bots")),
    ("agent", Some("User agents")),
    ("user", Some("Users")),
    ("kind", Some("Kinds of content")),
    ("source", Some("Sources")),
    ("file", Some("Files")),
    ("flaw", Some("Flaws")),
];

#[allow(missing_docs)]
impl TextColumn {
    pub const PATH: Self = Self(0);
    /// Path and query, as in the request.
    pub const URL: Self = Self(1);
    pub const QUERY: Self = Self(2);
    pub const CLIENT: Self = Self(3);
    /// The client's network: /24 of an IPv4 address, /48 of an IPv6 one.
    pub const NET: Self = Self(4);
    /// The client's country by two letters, where a database is given.
    pub const COUNTRY: Self = Self(5);
    pub const HOST: Self = Self(6);
    pub const METHOD: Self = Self(7);
    pub const PROTOCOL: Self = Self(8);
    pub const REFERRER: Self = Self(9);
    /// Host of the referrer.
    pub const SITE: Self = Self(10);
    pub const BROWSER: Self = Self(11);
    pub const OS: Self = Self(12);
    /// Name of the bot; absent for people.
    pub const BOT: Self = Self(13);
    pub const AGENT: Self = Self(14);
    pub const USER: Self = Self(15);
    /// Kind of content, by the path's extension.
    pub const KIND: Self = Self(16);
    /// Host, container or file that a prefix of the line names.
    pub const SOURCE: Self = Self(17);
    /// Name of the file that the line is from, where the rows are those of several.
    pub const FILE: Self = Self(18);
    /// The flaw of a line that was repaired or rejected.
    pub const FLAW: Self = Self(19);

    /// Columns before a schema's own.
    const FIRST_OWN: u16 = ACCESS_TEXTS.len() as u16;

    /// The schema's own column of texts with this number, from 0 on.
    #[must_use]
    pub fn own(number: usize) -> Self {
        Self(Self::FIRST_OWN + number as u16)
    }

    /// The number among the schema's own columns of texts; `None` for a column of access logs.
    #[must_use]
    pub fn as_own(self) -> Option<usize> {
        self.0.checked_sub(Self::FIRST_OWN).map(usize::from)
    }
}

/// Columns of numbers that access logs have: name and unit.
const ACCESS_NUMBERS: [(&str, NumberUnit); 7] = [
    ("status", NumberUnit::Status),
    ("class", NumberUnit::Class),
    ("bytes", NumberUnit::Bytes),
    ("request_time", NumberUnit::Seconds),
    ("upstream_time", NumberUnit::Seconds),
    ("hour", NumberUnit::Hour),
    ("weekday", NumberUnit::Weekday),
];

#[allow(missing_docs)]
impl NumberColumn {
    pub const STATUS: Self = Self(0);
    /// Index into [`CLASSES`](crate::filter::CLASSES).
    pub const CLASS: Self = Self(1);
    pub const BYTES: Self = Self(2);
    /// In microseconds.
    pub const REQUEST_TIME: Self = Self(3);
    /// In microseconds.
    pub const UPSTREAM_TIME: Self = Self(4);
    /// 0 to 23, by the clock of the log.
    pub const HOUR: Self = Self(5);
    /// 1 (Monday) to 7, by the clock of the log.
    pub const WEEKDAY: Self = Self(6);

    const FIRST_OWN: u16 = ACCESS_NUMBERS.len() as u16;

    /// The schema's own column of numbers with this number, from 0 on.
    #[must_use]
    pub fn own(number: usize) -> Self {
        Self(Self::FIRST_OWN + number as u16)
    }

    /// The number among the schema's own columns of numbers; `None` for a column of access logs.
    #[must_use]
    pub fn as_own(self) -> Option<usize> {
        self.0.checked_sub(Self::FIRST_OWN).map(usize::from)
    }
}

/// Meaning of the numbers of a column, which are unsigned steps in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NumberUnit {
    /// Status of an answer, 100 to 999.
    Status,
    /// Index into [`CLASSES`](crate::filter::CLASSES).
    Class,
    /// Bytes.
    Bytes,
    /// Seconds, in steps of a microsecond.
    Seconds,
    /// 0 to 23.
    Hour,
    /// 1 (Monday) to 7.
    Weekday,
    /// Whole numbers from 0 on, by themselves. The two largest, 2^64 - 2 and 2^64 - 1, are one.
    Natural,
    /// Whole numbers with a sign, by [`integer_step`].
    Integer,
    /// Double-precision numbers, by [`float_step`].
    Float,
    /// Moments in Unix microseconds, by [`integer_step`].
    Moment,
}

impl NumberUnit {
    /// Name for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Class => "class",
            Self::Bytes => "bytes",
            Self::Seconds => "seconds",
            Self::Hour => "hour",
            Self::Weekday => "weekday",
            Self::Natural | Self::Integer => "integer",
            Self::Float => "float",
            Self::Moment => "time",
        }
    }

    /// The number that a step stands for, to the precision of a double: seconds of times and
    /// moments.
    #[must_use]
    pub fn value(self, step: u64) -> f64 {
        match self {
            Self::Integer => integer_of(step) as f64,
            Self::Moment => integer_of(step) as f64 / 1e6,
            Self::Float => float_of(step),
            Self::Seconds => step as f64 / 1e6,
            _ => step as f64,
        }
    }
}

/// The step of a whole number. The two smallest share one, as the last of all steps stands for the
/// absent number; it is read as the smallest, which files have in place of a number.
#[must_use]
pub fn integer_step(number: i64) -> u64 {
    (number.cast_unsigned() ^ (1 << 63)).saturating_sub(1)
}

/// The inverse of [`integer_step`].
#[must_use]
pub fn integer_of(step: u64) -> i64 {
    if step == 0 { i64::MIN } else { (step.saturating_add(1) ^ (1 << 63)).cast_signed() }
}

/// The step of a number that is no NaN: its bits, turned over where it is negative
/// (IEEE 754, 5.10). Both zeros have one step.
#[must_use]
pub fn float_step(number: f64) -> u64 {
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// The inverse of [`float_step`].
#[must_use]
pub fn float_of(step: u64) -> f64 {
    f64::from_bits(if step >> 63 == 1 { step & !(1 << 63) } else { !step })
}

/// A column of a schema's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnColumn {
    /// Name in filters, as the file has it.
    pub name: String,
    /// `None` for texts.
    pub unit: Option<NumberUnit>,
}

/// Content of a column of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextContent {
    /// Any text.
    #[default]
    Text,
    /// `true` or `false`.
    Flag,
    /// JSON: a list, or values of several types.
    Json,
    /// The pattern of a message, which follows from it.
    Pattern,
    /// A value of a type that is no text: bytes in hexadecimal, a duration, a decimal number.
    Other,
}

impl TextContent {
    /// Name for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text | Self::Other => "text",
            Self::Flag => "flag",
            Self::Json => "json",
            Self::Pattern => "pattern",
        }
    }
}

/// The columns of rows: some of those of access logs, and its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// By their numbers; `None` where these rows have no such column.
    texts: Vec<Option<TextEntry>>,
    numbers: Vec<Option<NumberEntry>>,
    /// In the order of the file.
    own: Vec<OwnColumn>,
    panels: Vec<TextColumn>,
    /// Of its own columns of texts; where it is shorter, they are of any text.
    text_kinds: Vec<TextContent>,
    /// Name of its own column that is the time of a row.
    time: Option<String>,
    is_table: bool,
    has_times: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct TextEntry {
    name: Cow<'static, str>,
    title: Cow<'static, str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct NumberEntry {
    name: Cow<'static, str>,
    unit: NumberUnit,
}

static ACCESS_LOG: LazyLock<Schema> = LazyLock::new(|| Schema::new(true, true, Vec::new()));

impl Schema {
    /// The columns of access logs.
    #[must_use]
    pub fn access_log() -> &'static Self {
        &ACCESS_LOG
    }

    /// The columns of a table: `own`, beside the flaws of its rows and the hours of their times
    /// where it has no such names itself. Without times there are no hours.
    #[must_use]
    pub fn table(own: Vec<OwnColumn>, has_times: bool) -> Self {
        Self::new(false, has_times, own)
    }

    /// The columns of access logs, and after them a log's own, whose names are none of theirs.
    #[must_use]
    pub fn log(own: Vec<OwnColumn>) -> Self {
        Self::new(true, true, own)
    }

    fn new(is_access_log: bool, has_times: bool, own: Vec<OwnColumn>) -> Self {
        let of_tables = |name: &str| name == "flaw" || (has_times && ["hour", "weekday"].contains(&name));
        // What is derived gives way to a file's own column, in whatever case.
        let is_own = |name: &str| own.iter().any(|own| own.name.eq_ignore_ascii_case(name));
        let has = |name: &str| (is_access_log || of_tables(name)) && !is_own(name);
        let text = |(name, title): (&'static str, Option<&'static str>)| {
            has(name).then(|| TextEntry { name: name.into(), title: title.unwrap_or(name).into() })
        };
        let number = |(name, unit): (&'static str, NumberUnit)| has(name).then(|| NumberEntry { name: name.into(), unit });
        let mut texts: Vec<_> = ACCESS_TEXTS.into_iter().map(text).collect();
        let mut numbers: Vec<_> = ACCESS_NUMBERS.into_iter().map(number).collect();
        let has_panel = |(place, (_, title)): (usize, (&str, Option<&str>))| {
            (title.is_some() && texts[place].is_some()).then_some(TextColumn(place as u16))
        };
        let mut panels: Vec<TextColumn> = ACCESS_TEXTS.into_iter().enumerate().filter_map(has_panel).collect();
        for OwnColumn { name, unit } in &own {
            match unit {
                Some(unit) => numbers.push(Some(NumberEntry { name: name.clone().into(), unit: *unit })),
                None => {
                    panels.push(TextColumn(texts.len() as u16));
                    texts.push(Some(TextEntry { name: name.clone().into(), title: name.clone().into() }));
                }
            }
        }
        Self { texts, numbers, own, panels, text_kinds: Vec::new(), time: None, is_table: !is_access_log, has_times }
    }

    /// The same, of whose own columns of texts the contents are known, in their order.
    #[must_use]
    pub fn with_text_kinds(self, text_kinds: Vec<TextContent>) -> Self {
        Self { text_kinds, ..self }
    }

    /// The same, whose own column of that name is the time of a row.
    #[must_use]
    pub fn with_time(self, time: Option<String>) -> Self {
        Self { time, ..self }
    }

    /// The same with further columns of its own after the others.
    #[must_use]
    pub fn with_own(&self, more: &[OwnColumn]) -> Self {
        let own = self.own.iter().chain(more).cloned().collect();
        let wider = Self::new(!self.is_table, self.has_times, own);
        Self { text_kinds: self.text_kinds.clone(), time: self.time.clone(), ..wider }
    }

    /// Name of its own column that is the time of a row.
    #[must_use]
    pub fn time(&self) -> Option<&str> {
        self.time.as_deref()
    }

    /// Content of the own column of texts with this number.
    #[must_use]
    pub fn text_kind(&self, number: usize) -> TextContent {
        self.text_kinds.get(number).copied().unwrap_or_default()
    }

    /// True if the rows are those of a table, and no access log's.
    #[must_use]
    pub fn is_table(&self) -> bool {
        self.is_table
    }

    /// True if its rows have times, and so hours.
    #[must_use]
    pub fn has_times(&self) -> bool {
        self.has_times
    }

    /// Its own columns, in the order of the file.
    #[must_use]
    pub fn own(&self) -> &[OwnColumn] {
        &self.own
    }

    /// Number of its own columns of texts.
    #[must_use]
    pub fn own_texts(&self) -> usize {
        self.texts.len() - ACCESS_TEXTS.len()
    }

    /// Number of its own columns of numbers.
    #[must_use]
    pub fn own_numbers(&self) -> usize {
        self.numbers.len() - ACCESS_NUMBERS.len()
    }

    /// Its columns of texts.
    pub fn texts(&self) -> impl Iterator<Item = TextColumn> {
        (0..).zip(&self.texts).filter(|(_, entry)| entry.is_some()).map(|(place, _)| TextColumn(place))
    }

    /// Its columns of numbers.
    pub fn numbers(&self) -> impl Iterator<Item = NumberColumn> {
        (0..).zip(&self.numbers).filter(|(_, entry)| entry.is_some()).map(|(place, _)| NumberColumn(place))
    }

    /// The columns of texts that have a panel, in the order in which these are shown.
    #[must_use]
    pub fn panels(&self) -> &[TextColumn] {
        &self.panels
    }

    /// The column of texts with this name, in any case of ASCII letters where only one is so.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<TextColumn> {
        let place = self.place_of(name).filter(|place| *place < self.texts.len());
        place.map(|place| TextColumn(place as u16))
    }

    /// The column of numbers with this name, in any case of ASCII letters where only one is so.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<NumberColumn> {
        let place = self.place_of(name).and_then(|place| place.checked_sub(self.texts.len()));
        place.map(|place| NumberColumn(place as u16))
    }

    /// Place among the columns of texts and, after them, those of numbers: of the name as it is
    /// written, or of the only one that differs in the case of its letters, as a file may have a
    /// key in two cases.
    fn place_of(&self, name: &str) -> Option<usize> {
        let texts = self.texts.iter().map(|entry| entry.as_ref().map(|entry| &*entry.name));
        let numbers = self.numbers.iter().map(|entry| entry.as_ref().map(|entry| &*entry.name));
        let names = texts.chain(numbers);
        // A log's own may be named as its format writes them.
        let name = if self.is_table { name } else { bare_name(name) };
        let exact = names.clone().position(|known| known == Some(name));
        let mut alike = names.enumerate().filter(|(_, known)| known.is_some_and(|known| known.eq_ignore_ascii_case(name)));
        let only = || alike.next().filter(|_| alike.next().is_none()).map(|(place, _)| place);
        exact.or_else(only)
    }

    /// Name of a column in filters, for programs; a number of a column of another schema has none.
    #[must_use]
    pub fn text_name(&self, column: TextColumn) -> Cow<'static, str> {
        self.texts.get(usize::from(column.0)).and_then(Option::as_ref).map_or(Cow::Borrowed(""), |entry| entry.name.clone())
    }

    /// Title of a column's panel, for people.
    #[must_use]
    pub fn title(&self, column: TextColumn) -> Cow<'static, str> {
        self.texts.get(usize::from(column.0)).and_then(Option::as_ref).map_or(Cow::Borrowed(""), |entry| entry.title.clone())
    }

    /// Name of a column in filters, for programs; a number of a column of another schema has none.
    #[must_use]
    pub fn number_name(&self, column: NumberColumn) -> Cow<'static, str> {
        self.numbers.get(usize::from(column.0)).and_then(Option::as_ref).map_or(Cow::Borrowed(""), |entry| entry.name.clone())
    }

    /// Meaning of a column's numbers.
    #[must_use]
    pub fn unit(&self, column: NumberColumn) -> NumberUnit {
        self.numbers.get(usize::from(column.0)).and_then(Option::as_ref).map_or(NumberUnit::Integer, |entry| entry.unit)
    }
}

/// The name in a variable as nginx writes it (`$request_id`), or Apache (`%{SSL_PROTOCOL}x`); the
/// name itself where it is neither.
fn bare_name(name: &str) -> &str {
    let of_apache = || {
        let (argument, letter) = name.strip_prefix("%{")?.rsplit_once('}')?;
        (letter.len() == 1 && letter.bytes().all(|byte| byte.is_ascii_alphabetic())).then_some(argument)
    };
    let of_nginx = || {
        let name = name.strip_prefix('$')?;
        name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).or(Some(name))
    };
    of_apache().or_else(of_nginx).unwrap_or(name)
}
