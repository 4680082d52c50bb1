//! Columns of a log's own: the variables, keys and columns of its format that no field of a record
//! is for, such as `$upstream_cache_status`.
//!
//! A format lists those that it knows as [`LogVariable`]s. [`OwnColumns`] gives each a place among
//! the texts or the numbers of rows, also to keys that turn up later, to a bound. A parser that has
//! it puts the values of each line in [`OwnValues`].

use crate::parse::number::{self, NumberError, Unit};
use crate::schema::{NumberUnit, OwnColumn, Schema, float_step, integer_step};
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Stands for an absent number in the columns of [`LogBatch`](crate::LogBatch). A log's own
/// 2^64 - 1 becomes one less, which no report can show.
pub const ABSENT: u64 = u64::MAX;

/// Columns of texts of a log's own, at most.
pub const OWN_TEXTS_MAX: usize = 128;

/// Columns of numbers of a log's own, at most.
pub const OWN_NUMBERS_MAX: usize = 32;

/// Columns that keys get which are not in the first lines of a log.
pub const LATE_COLUMNS_MAX: usize = 32;

/// Names of columns left out that are kept, to be shown.
const LEFT_OUT_MAX: usize = 1_024;

/// Bytes of a value that a recorder keeps.
pub(crate) const VALUE_BYTES_MAX: usize = 64 << 10;

/// Names of columns of rows that are no names in filters.
const RESERVED: [&str; 2] = ["time", "line"];

/// A variable of a format that no field of a record is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogVariable {
    name: String,
    kind: ValueKind,
}

/// The kinds of values of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueKind {
    Text,
    /// Bytes, or a list of them, which are added up.
    Bytes,
    /// A time in this unit, or a list of them, which are added up.
    Duration(Unit),
    /// A whole number from 0 on.
    Natural,
    Integer,
    Float,
}

impl LogVariable {
    pub(crate) fn new(name: &str, kind: ValueKind) -> Self {
        Self { name: name.to_owned(), kind }
    }

    /// A variable of that name, whose kind the name tells.
    pub(crate) fn named(name: &str) -> Self {
        Self::new(name, ValueKind::of_name(name).unwrap_or(ValueKind::Text))
    }

    /// The column of its values.
    #[must_use]
    pub fn column(&self) -> OwnColumn {
        OwnColumn { name: self.name.clone(), unit: self.kind.unit() }
    }

    /// Its name and kind, in a form that [`LogVariable::read`] reads.
    #[must_use]
    pub fn written(&self) -> (String, String) {
        (self.name.clone(), self.kind.name().to_owned())
    }

    /// The inverse of [`LogVariable::written`].
    #[must_use]
    pub fn read(name: &str, kind: &str) -> Option<Self> {
        ValueKind::ALL.into_iter().find(|known| known.name() == kind).map(|kind| Self::new(name, kind))
    }
}

impl ValueKind {
    const ALL: [Self; 9] = [
        Self::Text,
        Self::Bytes,
        Self::Duration(Unit::Seconds),
        Self::Duration(Unit::Millis),
        Self::Duration(Unit::Micros),
        Self::Duration(Unit::Nanos),
        Self::Natural,
        Self::Integer,
        Self::Float,
    ];

    /// The kind of a variable whose name tells it: nginx's, and those of servers' own formats.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase().replace('-', "_");
        Some(match &*name {
            "bytes_sent"
            | "body_bytes_sent"
            | "bytes_received"
            | "received_bytes"
            | "request_length"
            | "object_size"
            | "upstream_response_length"
            | "upstream_bytes_received"
            | "upstream_bytes_sent"
            | "content_length"
            | "http_content_length"
            | "sent_http_content_length"
            | "upstream_http_content_length"
            | "cs_bytes"
            | "sc_bytes"
            | "sc_content_len"
            | "reqsize" => Self::Bytes,
            "request_time"
            | "session_time"
            | "connection_time"
            | "connect_time"
            | "upstream_connect_time"
            | "upstream_header_time"
            | "upstream_response_time"
            | "upstream_first_byte_time"
            | "upstream_session_time"
            | "upstream_queue_time"
            | "ssl_handshake_time"
            | "request_processing_time"
            | "response_processing_time"
            | "time_to_first_byte" => Self::Duration(Unit::Seconds),
            "request_wait" | "queue_wait" | "connect_wait" | "turn_around_time" => Self::Duration(Unit::Millis),
            "tcpinfo_rtt" | "tcpinfo_rttvar" => Self::Duration(Unit::Micros),
            "connection" | "connection_requests" | "tcpinfo_snd_cwnd" | "tcpinfo_rcv_space" => Self::Natural,
            "gzip_ratio" => Self::Float,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Bytes => "bytes",
            Self::Duration(Unit::Seconds | Unit::PointSeconds) => "seconds",
            Self::Duration(Unit::Millis) => "milliseconds",
            Self::Duration(Unit::Micros) => "microseconds",
            Self::Duration(Unit::Nanos) => "nanoseconds",
            Self::Natural => "natural",
            Self::Integer => "integer",
            Self::Float => "float",
        }
    }

    /// `None` for texts.
    fn unit(self) -> Option<NumberUnit> {
        match self {
            Self::Text => None,
            Self::Bytes => Some(NumberUnit::Bytes),
            Self::Duration(_) => Some(NumberUnit::Seconds),
            Self::Natural => Some(NumberUnit::Natural),
            Self::Integer => Some(NumberUnit::Integer),
            Self::Float => Some(NumberUnit::Float),
        }
    }

    /// The step of a number as a log writes it; [`ABSENT`] for an absent one, and `None` for what
    /// is no such number.
    pub(crate) fn step(self, text: &[u8]) -> Option<u64> {
        let text = text.strip_prefix(b"+").unwrap_or(text);
        if matches!(text, b"" | b"-") {
            return Some(ABSENT);
        }
        let step = match self {
            Self::Text => return None,
            Self::Duration(_) if text == b"-1" => ABSENT,
            Self::Duration(unit) => number::duration_sum_us(text, unit).ok()?.map_or(ABSENT, |us| us.min(ABSENT - 1)),
            Self::Bytes => sum(text).ok()?.map_or(ABSENT, |bytes| bytes.min(ABSENT - 1)),
            Self::Natural => number::unsigned(text).ok()?.min(ABSENT - 1),
            Self::Integer => integer_step(std::str::from_utf8(text).ok()?.parse().ok()?),
            Self::Float => {
                let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
                if number.is_nan() {
                    return None;
                }
                float_step(number)
            }
        };
        Some(step)
    }

    /// The text that reads as a step; the inverse of [`ValueKind::step`].
    pub(crate) fn text(self, step: u64) -> String {
        match self {
            Self::Duration(unit) => number::duration_text(step, unit),
            Self::Integer => crate::schema::integer_of(step).to_string(),
            Self::Float => crate::schema::float_of(step).to_string(),
            Self::Text | Self::Bytes | Self::Natural => step.to_string(),
        }
    }
}

/// The sum of a list as nginx writes it for several upstream servers: `0, 512 : -`; `None` if all
/// are `-`.
fn sum(text: &[u8]) -> Result<Option<u64>, NumberError> {
    let parts = text.split(|byte| matches!(byte, b',' | b':' | b' ')).filter(|part| !matches!(*part, b"" | b"-"));
    parts.map(number::unsigned).try_fold(None, |sum, part| {
        let sum = sum.unwrap_or(0u64).checked_add(part?);
        sum.map(Some).ok_or(NumberError::TooLarge)
    })
}

/// The place of a variable's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnPlace {
    /// Number among the columns of texts.
    Text(u16),
    /// Number among the columns of numbers.
    Number(u16, ValueKind),
}

/// The columns of a log's own, to which keys that turn up are added. All parsers of a log share
/// it, so that each finds the same place for a name.
#[derive(Debug)]
pub struct OwnColumns {
    texts_max: usize,
    numbers_max: usize,
    /// Values of columns of numbers that are no numbers.
    misfits: AtomicU64,
    state: Mutex<OwnState>,
}

#[derive(Debug)]
struct OwnState {
    /// Variables as they were asked for.
    places: Vec<(LogVariable, OwnPlace)>,
    /// In the order in which they came, with the names that they got.
    variables: Vec<LogVariable>,
    schema: Arc<Schema>,
    /// Names for which there was no place.
    left_out: Vec<String>,
    /// There were more of these.
    is_cut: bool,
}

/// The names that got no column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The first of them, in order.
    pub names: Vec<String>,
    /// True if there were more.
    pub more: bool,
}

impl OwnColumns {
    /// Columns for `variables`, and so many others at most: as many of each kind as there is room
    /// for.
    #[must_use]
    pub fn new(variables: &[LogVariable], texts_max: usize, numbers_max: usize) -> Self {
        let state = OwnState {
            places: Vec::new(),
            variables: Vec::new(),
            schema: Arc::new(Schema::access_log().clone()),
            left_out: Vec::new(),
            is_cut: false,
        };
        let columns = Self { texts_max, numbers_max, misfits: AtomicU64::new(0), state: Mutex::new(state) };
        columns.add_all(variables);
        columns
    }

    /// Adds those that have no column yet, as long as there is room.
    pub(crate) fn add_all(&self, variables: &[LogVariable]) {
        variables.iter().for_each(|variable| {
            self.place(variable);
        });
    }

    /// Most columns of texts and of numbers.
    #[must_use]
    pub fn most(&self) -> (usize, usize) {
        (self.texts_max, self.numbers_max)
    }

    /// The variables that have a column, in the order in which they came.
    #[must_use]
    pub fn variables(&self) -> Vec<LogVariable> {
        self.lock().variables.clone()
    }

    /// The variables that have a column, by the names that the log has for them.
    #[must_use]
    pub fn asked(&self) -> Vec<LogVariable> {
        self.lock().places.iter().map(|(variable, _)| variable.clone()).collect()
    }

    /// The place that a variable has already.
    pub(crate) fn known(&self, variable: &LogVariable) -> Option<OwnPlace> {
        self.lock().places.iter().find(|(known, _)| known == variable).map(|(_, place)| *place)
    }

    /// The columns of access logs, and these after them.
    #[must_use]
    pub fn schema(&self) -> Arc<Schema> {
        Arc::clone(&self.lock().schema)
    }

    /// The names that got no column, for want of a place.
    #[must_use]
    pub fn left_out(&self) -> LeftOut {
        let state = self.lock();
        let mut names = state.left_out.clone();
        names.sort_unstable();
        LeftOut { names, more: state.is_cut }
    }

    /// Values that are no numbers, of columns whose values are: they are absent.
    #[must_use]
    pub fn misfits(&self) -> u64 {
        self.misfits.load(Ordering::Relaxed)
    }

    /// The place of a variable, a new one where it has none yet; `None` where there is none left.
    #[cold]
    pub(crate) fn place(&self, variable: &LogVariable) -> Option<OwnPlace> {
        let mut state = self.lock();
        if let Some((_, place)) = state.places.iter().find(|(known, _)| known == variable) {
            return Some(*place);
        }
        let (texts, numbers) = (state.schema.own_texts(), state.schema.own_numbers());
        let place = match variable.kind {
            ValueKind::Text if texts < self.texts_max => OwnPlace::Text(texts as u16),
            kind if kind != ValueKind::Text && numbers < self.numbers_max => OwnPlace::Number(numbers as u16, kind),
            _ => {
                state.leave_out(&variable.name);
                return None;
            }
        };
        state.add(variable, place);
        Some(place)
    }

    /// The place of the variable of that name, of whatever kind; a new one of texts where there is
    /// none yet.
    #[cold]
    pub(crate) fn place_of_name(&self, name: &str) -> Option<OwnPlace> {
        let known = self.lock().places.iter().find(|(known, _)| known.name == name).map(|(_, place)| *place);
        known.or_else(|| self.place(&LogVariable::new(name, ValueKind::Text)))
    }

    // A poisoned lock is taken all the same: its content is whole after each statement.
    fn lock(&self) -> MutexGuard<'_, OwnState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OwnState {
    /// Adds a column, whose name has a number after it where another column has the name.
    fn add(&mut self, variable: &LogVariable, place: OwnPlace) {
        let is_taken = |name: &str| {
            let is_reserved = RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved));
            is_reserved || self.schema.text(name).is_some() || self.schema.number(name).is_some()
        };
        let numbered = || (2u32..).map(|number| format!("{}#{number}", variable.name)).find(|name| !is_taken(name));
        let name = if is_taken(&variable.name) { numbered().unwrap_or_default() } else { variable.name.clone() };
        self.variables.push(LogVariable { name, kind: variable.kind });
        self.places.push((variable.clone(), place));
        self.schema = Arc::new(Schema::log(self.variables.iter().map(LogVariable::column).collect()));
    }

    fn leave_out(&mut self, name: &str) {
        if self.left_out.iter().any(|known| known == name) {
            return;
        }
        if self.left_out.len() < LEFT_OUT_MAX {
            self.left_out.push(name.to_owned());
        } else {
            self.is_cut = true;
        }
    }
}

/// The values of a line in the columns of its log's own.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct OwnValues {
    bytes: Vec<u8>,
    /// Start and end of each text.
    texts: Vec<(u32, u32)>,
    /// In their steps, or [`ABSENT`].
    numbers: Vec<u64>,
}

impl OwnValues {
    /// The text in the column of texts with this number; the absent one is empty.
    #[must_use]
    #[inline]
    pub fn text(&self, number: usize) -> &[u8] {
        self.texts.get(number).map_or(&[], |(start, end)| &self.bytes[*start as usize..*end as usize])
    }

    /// The step in the column of numbers with this number.
    #[must_use]
    #[inline]
    pub fn number(&self, number: usize) -> Option<u64> {
        self.numbers.get(number).copied().filter(|step| *step != ABSENT)
    }

    /// Numbers of columns of texts and of numbers that may have a value.
    pub(crate) fn len(&self) -> (usize, usize) {
        (self.texts.len(), self.numbers.len())
    }

    /// The same values, of each text what `map` makes of it.
    #[must_use]
    pub fn mapped(&self, map: impl Fn(&[u8]) -> Cow<'_, [u8]>) -> Self {
        let mut mapped = Self { numbers: self.numbers.clone(), ..Self::default() };
        (0..self.texts.len()).for_each(|number| mapped.push_text(&map(self.text(number))));
        mapped
    }

    /// Adds the text of the next column of texts.
    pub fn push_text(&mut self, text: &[u8]) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(text);
        self.texts.push((start, self.bytes.len() as u32));
    }

    /// Adds the step of the next column of numbers.
    pub fn push_number(&mut self, step: Option<u64>) {
        self.numbers.push(step.unwrap_or(ABSENT));
    }

    /// Forgets all values.
    pub fn clear(&mut self) {
        if self.bytes.capacity() > VALUE_BYTES_MAX {
            self.bytes = Vec::new();
        }
        self.bytes.clear();
        self.texts.clear();
        self.numbers.clear();
    }

    fn set_text(&mut self, number: usize, start: usize) {
        if self.texts.len() <= number {
            self.texts.resize(number + 1, (0, 0));
        }
        self.texts[number] = (start as u32, self.bytes.len() as u32);
    }

    fn set_number(&mut self, number: usize, step: u64) {
        if self.numbers.len() <= number {
            self.numbers.resize(number + 1, ABSENT);
        }
        self.numbers[number] = step;
    }
}

/// The own values of a parser's current line, and their columns.
#[derive(Debug, Clone)]
pub(crate) struct OwnReader {
    pub(crate) columns: Arc<OwnColumns>,
    pub(crate) values: OwnValues,
    /// Bytes of a text that are kept.
    text_bytes_max: usize,
}

impl OwnReader {
    pub(crate) fn new(columns: &Arc<OwnColumns>, text_bytes_max: usize) -> Self {
        Self { columns: Arc::clone(columns), values: OwnValues::default(), text_bytes_max }
    }

    /// Takes a value, as it is in the line.
    #[inline]
    pub(crate) fn set(&mut self, place: OwnPlace, text: &[u8]) {
        let text = crate::parse::present(text);
        if !text.is_empty() {
            self.set_with(place, |bytes| bytes.extend_from_slice(text));
        }
    }

    /// Takes a value that `write` appends.
    #[inline]
    pub(crate) fn set_with(&mut self, place: OwnPlace, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.values.bytes.len();
        write(&mut self.values.bytes);
        match place {
            OwnPlace::Text(number) => {
                self.values.bytes.truncate(start.saturating_add(self.text_bytes_max));
                self.values.set_text(usize::from(number), start);
            }
            OwnPlace::Number(number, kind) => {
                let step = kind.step(&self.values.bytes[start..]);
                self.values.bytes.truncate(start);
                if step.is_none() {
                    self.columns.misfits.fetch_add(1, Ordering::Relaxed);
                }
                self.values.set_number(usize::from(number), step.unwrap_or(ABSENT));
            }
        }
    }
}
