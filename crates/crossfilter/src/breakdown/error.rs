//! Reasons for which there are no metrics.

use super::metric::{BreakdownMetric, MetricSet};
use rorqual_accesslog::filter::nearest_name;
use std::fmt;

/// Names that a message lists.
const NAMES_MAX: usize = 20;

/// Reason for which the rows have no such metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BreakdownError {
    /// There is no field of this name; those that there are.
    Field(String, Vec<String>),
    /// There are no numbers of this name; those that there are.
    Measure(String, Vec<String>),
    /// The rows have no such metric; those that they have.
    Metric(BreakdownMetric, MetricSet),
    /// Buckets of time are in no order but their own.
    Order(BreakdownMetric),
}

impl fmt::Display for BreakdownError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = |names: &[String]| match names.get(NAMES_MAX..) {
            None if names.is_empty() => "none".to_owned(),
            None | Some([]) => names.join(", "),
            Some(more) => format!("{} and {} more", names[..NAMES_MAX].join(", "), more.len()),
        };
        match self {
            Self::Field(name, names) => {
                write!(f, "there is no field '{name}' with values{}; there are {}", near(name, names), known(names))
            }
            Self::Measure(name, names) => {
                write!(f, "there is no field '{name}' of numbers{}; there are {}", near(name, names), known(names))
            }
            Self::Metric(metric, has) => {
                write!(f, "these rows have no {}; they have {}", metric.name(), known(&has.names()))
            }
            Self::Order(metric) => write!(f, "buckets of time are in the order of time, and in none by {}", metric.name()),
        }
    }
}

impl std::error::Error for BreakdownError {}

/// A question for the name that was meant, where one is like it.
fn near(name: &str, names: &[String]) -> String {
    nearest_name(name, names.iter().map(Into::into)).map_or_else(String::new, |near| format!(" (did you mean '{near}'?)"))
}
