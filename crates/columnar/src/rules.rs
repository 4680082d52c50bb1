//! Rules for the meaning of values, whatever the format.

use crate::json::number::Number;

/// Rules for the meaning of values where the format leaves it open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ValueRules {
    /// A number that a double would write otherwise makes its column text. Otherwise it is the
    /// nearest double.
    pub exact_numbers: bool,
    /// Texts that stand for null.
    pub nulls: Vec<String>,
}

impl ValueRules {
    /// A number literal, read.
    #[inline]
    pub(crate) fn number(&self, literal: &str) -> Number {
        if self.exact_numbers { Number::exact(literal) } else { Number::of(literal) }
    }

    /// The text stands for null.
    #[inline]
    pub(crate) fn is_null(&self, text: &[u8]) -> bool {
        !self.nulls.is_empty() && self.nulls.iter().any(|null| null.as_bytes() == text)
    }
}
