//! Rows of the table, as they are shown.

use rorqual_accesslog::ABSENT;
use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::schema::{NumberUnit, integer_of};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Rows of a view, in the order of the inputs.
#[derive(Debug, Clone, Serialize)]
pub struct RowPage {
    /// Rows of the view.
    pub total: u64,
    /// Rows before the first one here.
    pub offset: u64,
    /// At most [`PAGE_ROWS_MAX`](crate::limits::PAGE_ROWS_MAX).
    pub rows: Vec<PageRow>,
}

/// A row of the table; absent texts are empty.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
#[allow(missing_docs)]
pub struct PageRow {
    /// Unix seconds.
    pub time: Option<f64>,
    /// East of UTC.
    pub zone_seconds: i32,
    pub client: String,
    pub net: String,
    pub country: String,
    pub user: String,
    pub host: String,
    pub method: String,
    pub path: String,
    pub query: String,
    /// Path and query.
    pub url: String,
    pub kind: String,
    pub protocol: String,
    pub status: Option<u16>,
    pub bytes: Option<u64>,
    pub referrer: String,
    pub site: String,
    pub agent: String,
    pub browser: String,
    pub os: String,
    pub bot: String,
    /// In seconds.
    pub request_time: Option<f64>,
    /// In seconds.
    pub upstream_time: Option<f64>,
    /// Host, container or file that a prefix of the line names.
    pub source: String,
    /// Name of the file that the line is from, where the rows are those of several.
    pub file: String,
    /// Values of the schema's own columns, by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty", serialize_with = "as_map", deserialize_with = "from_map")]
    pub columns: Vec<(String, OwnValue)>,
    /// Fault of the line.
    pub flaw: Option<String>,
    /// It has no field.
    pub rejected: bool,
    /// Name of the row, whatever the view and the order, for as long as the store has its rows.
    pub place: String,
    /// The line rebuilt in its format, as [`LogFormat::line`] does; of a rejected one its first 1
    /// KiB.
    pub line: String,
}

/// A value of one of a schema's own columns.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum OwnValue {
    /// The absent value.
    Absent,
    /// A text.
    Text(String),
    /// A whole number with a sign.
    Integer(i64),
    /// A whole number from 0 on.
    Natural(u64),
    /// A number, or Unix seconds; an infinity is the text `inf` or `-inf`, as filters read it.
    Float(#[serde(serialize_with = "finite_or_text")] f64),
}

/// Writes a number, and as a text one that JSON has not: `inf` or `-inf`.
///
/// # Errors
/// Errors of the serializer.
pub fn finite_or_text<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.is_finite() { serializer.serialize_f64(*number) } else { serializer.collect_str(number) }
}

pub(crate) fn as_map<S: Serializer>(columns: &[(String, OwnValue)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(columns.iter().map(|(name, value)| (name, value)))
}

/// Reads values by their names, in the order in which they are written.
fn from_map<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, OwnValue)>, D::Error> {
    struct OwnValueVisitor;
    impl<'de> Visitor<'de> for OwnValueVisitor {
        type Value = Vec<(String, OwnValue)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("values by their names")
        }

        fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
            let mut values = Vec::new();
            while let Some(entry) = map.next_entry()? {
                values.push(entry);
            }
            Ok(values)
        }
    }
    deserializer.deserialize_map(OwnValueVisitor)
}

/// Whole numbers up to here are all doubles, which are JavaScript's only numbers.
const SCRIPT_INTEGER_MAX: u64 = 1 << 53;

impl OwnValue {
    /// The value for programs whose numbers are doubles: a whole number that is none is a text of
    /// its digits.
    #[must_use]
    pub fn for_scripts(self) -> Self {
        match self {
            Self::Integer(number) if number.unsigned_abs() > SCRIPT_INTEGER_MAX => Self::Text(number.to_string()),
            Self::Natural(number) if number > SCRIPT_INTEGER_MAX => Self::Text(number.to_string()),
            value => value,
        }
    }

    pub(crate) fn number(unit: NumberUnit, step: Option<u64>) -> Self {
        match (unit, step) {
            (_, None) => Self::Absent,
            (NumberUnit::Integer, Some(step)) => Self::Integer(integer_of(step)),
            (NumberUnit::Float | NumberUnit::Moment | NumberUnit::Seconds, Some(step)) => Self::Float(unit.value(step)),
            // The step of the two largest numbers, of which files have the largest.
            (NumberUnit::Natural, Some(step)) if step == ABSENT - 1 => Self::Natural(u64::MAX),
            (_, Some(step)) => Self::Natural(step),
        }
    }
}

/// Formats in which lines are rebuilt: of all rows one, and others of files that have another.
#[derive(Debug, Clone, Copy, Default)]
pub struct LineFormats<'a> {
    /// Without it lines are the JSON of the schema's own columns.
    pub first: Option<&'a LogFormat>,
    /// By the names of files.
    pub of_files: Option<&'a HashMap<Box<str>, Arc<LogFormat>>>,
}

impl<'a> LineFormats<'a> {
    pub(crate) fn of(&self, file: &str) -> Option<&'a LogFormat> {
        let other = self.of_files.filter(|_| !file.is_empty()).and_then(|formats| formats.get(file));
        other.map(AsRef::as_ref).or(self.first)
    }
}

impl<'a> From<Option<&'a LogFormat>> for LineFormats<'a> {
    fn from(first: Option<&'a LogFormat>) -> Self {
        Self { first, of_files: None }
    }
}
