//! Tests of one value.

use super::{PATTERN_BYTES_MAX, PATTERN_TEXT_BYTES_MAX, TextColumn, derive};
use regex::bytes::{Regex, RegexBuilder};
use serde_json::Value;
use std::cmp::Ordering;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Tests of a text.
#[derive(Debug, Clone, PartialEq)]
pub enum TextTest {
    /// It is one of these.
    OneOf(Vec<TextValue>),
    /// The expression is found in it.
    Matches(FilterRegex),
    /// It has this in it.
    Contains(String),
    /// It is a list in JSON with this element, as a text or as it is written; or it is this text.
    Has(String),
}

/// A text to compare with.
#[derive(Debug, Clone, PartialEq)]
pub enum TextValue {
    /// This text; the empty one is the absent value. A U+FFFD stands for what is no UTF-8.
    Text(String),
    /// Any address of the network.
    Network(Network),
}

/// A network of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix_bits: u32,
}

/// A regular expression. Two are equal when they are written alike.
#[derive(Debug, Clone)]
pub struct FilterRegex {
    regex: Regex,
}

/// The test of a number: to be in one of these ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberTest {
    /// First and last number of each range.
    pub ranges: Vec<(u64, u64)>,
    /// True if the absent number passes.
    pub absent: bool,
}

impl TextTest {
    /// The texts that it means and no others, where these are known.
    #[must_use]
    pub fn texts(&self) -> Option<Vec<&str>> {
        let Self::OneOf(values) = self else { return None };
        values.iter().map(TextValue::as_it_is).collect()
    }

    /// True if it may find something that no part of a request has alone.
    #[must_use]
    pub fn may_span(&self) -> bool {
        match self {
            Self::Contains(text) => text.contains([' ', '?']),
            Self::Matches(_) => true,
            Self::OneOf(_) | Self::Has(_) => false,
        }
    }

    /// True if a value passes; the empty one is the absent value, which only a comparison with it
    /// meets.
    #[must_use]
    pub fn meets(&self, value: &[u8]) -> bool {
        match self {
            Self::OneOf(values) => values.iter().any(|one| one.is(value)),
            Self::Matches(_) | Self::Contains(_) | Self::Has(_) if value.is_empty() => false,
            Self::Has(element) if value.starts_with(b"[") => has(value, element),
            Self::Has(element) => value == element.as_bytes(),
            Self::Matches(pattern) => pattern.regex.is_match(value),
            Self::Contains(text) => memchr::memmem::find(value, text.as_bytes()).is_some(),
        }
    }
}

/// True if a list in JSON has an element.
fn has(list: &[u8], element: &str) -> bool {
    let is_it = |one: &Value| match one {
        Value::String(text) => text == element,
        // As JSON writes it: a value is no text that it could be compared with.
        other => {
            let written = other.to_string();
            written == element
        }
    };
    serde_json::from_slice::<Vec<Value>>(list).is_ok_and(|list| list.iter().any(is_it))
}

impl TextValue {
    /// The one text that it is.
    fn as_it_is(&self) -> Option<&str> {
        match self {
            Self::Text(text) if !text.contains(char::REPLACEMENT_CHARACTER) => Some(text),
            _ => None,
        }
    }

    fn is(&self, value: &[u8]) -> bool {
        match self {
            Self::Text(text) if text.as_bytes() == value => true,
            // As it was shown: what is no UTF-8 can't be typed.
            Self::Text(text) => text.contains(char::REPLACEMENT_CHARACTER) && String::from_utf8_lossy(value) == *text,
            Self::Network(network) => match super::address(value) {
                Some(address) => network.has(address),
                // A value of the column of networks, which no client looks like.
                None => std::str::from_utf8(value).ok().and_then(Network::parse).is_some_and(|inner| network.covers(inner)),
            },
        }
    }
}

impl Network {
    /// Reads `10.0.0.0/8` or `2001:db8::/32`; bits beyond the prefix are dropped.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        let prefix_bits: u32 = prefix.parse().ok().filter(|_| prefix.bytes().all(|byte| byte.is_ascii_digit()))?;
        let address = match address.parse().ok()? {
            IpAddr::V4(address) if prefix_bits <= 32 => IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask32(prefix_bits))),
            IpAddr::V6(address) if prefix_bits <= 128 => {
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask128(prefix_bits)))
            }
            _ => return None,
        };
        Some(Self { address, prefix_bits })
    }

    /// The first address, and how many of its bits all others have.
    pub(super) fn address(self) -> IpAddr {
        self.address
    }

    pub(super) fn prefix_bits(self) -> u32 {
        self.prefix_bits
    }

    /// The test's meaning for the column of networks: one of its values, all within a larger
    /// network, or (`None`) nothing, as it is smaller.
    pub(super) fn of_networks(self) -> Option<TextValue> {
        let bits = if self.address.is_ipv4() { derive::NET_BITS.0 } else { derive::NET_BITS.1 };
        match self.prefix_bits.cmp(&bits) {
            Ordering::Less => Some(TextValue::Network(self)),
            Ordering::Equal => Some(TextValue::Text(self.to_string())),
            Ordering::Greater => None,
        }
    }

    fn covers(self, inner: Self) -> bool {
        inner.prefix_bits >= self.prefix_bits && self.has(inner.address)
    }

    /// True if the address is in it.
    #[must_use]
    pub fn has(self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(address)) => address.to_bits() & mask32(self.prefix_bits) == own.to_bits(),
            (IpAddr::V6(own), IpAddr::V6(address)) => address.to_bits() & mask128(self.prefix_bits) == own.to_bits(),
            _ => false,
        }
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_bits)
    }
}

fn mask32(bits: u32) -> u32 {
    u32::MAX.checked_shl(32 - bits).unwrap_or(0)
}

fn mask128(bits: u32) -> u128 {
    u128::MAX.checked_shl(128 - bits).unwrap_or(0)
}

impl FilterRegex {
    /// Compiles an expression of the `regex` crate.
    ///
    /// # Errors
    /// When it is none, or longer than [`PATTERN_TEXT_BYTES_MAX`], or takes more than
    /// [`PATTERN_BYTES_MAX`]; the text says where and why.
    pub fn new(text: &str) -> Result<Self, String> {
        Self::compiled(text, false)
    }

    /// The same for values of a column: names of sites have small letters, whatever the
    /// expression's.
    pub(super) fn of(column: TextColumn, text: &str) -> Result<Self, String> {
        Self::compiled(text, column == TextColumn::SITE)
    }

    fn compiled(text: &str, ignores_case: bool) -> Result<Self, String> {
        if text.len() > PATTERN_TEXT_BYTES_MAX {
            return Err(format!("the expression is longer than {PATTERN_TEXT_BYTES_MAX} bytes"));
        }
        let mut builder = RegexBuilder::new(text);
        builder.case_insensitive(ignores_case);
        builder.size_limit(PATTERN_BYTES_MAX).dfa_size_limit(PATTERN_BYTES_MAX);
        let regex = builder.build().map_err(|error| match error {
            regex::Error::CompiledTooBig(bytes) => format!("the expression takes more than {bytes} bytes"),
            other => other.to_string(),
        })?;
        Ok(Self { regex })
    }

    /// The text as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        self.regex.as_str()
    }
}

impl PartialEq for FilterRegex {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl NumberTest {
    /// A test for the numbers from `first` to `last`.
    #[must_use]
    pub fn range(first: u64, last: u64) -> Self {
        Self { ranges: vec![(first, last)], absent: false }
    }

    /// True if a number passes.
    #[must_use]
    pub fn meets(&self, number: Option<u64>) -> bool {
        number.map_or(self.absent, |number| self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&number)))
    }
}
