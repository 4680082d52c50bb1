//! Values as several stores know them: their bytes, and hashes by a seed that all have alike.

use foldhash::quality::FixedState;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::hash::BuildHasher;

/// Bytes of a text that are shown, and of one that is named with others, but for the character
/// after them, by which one sees that there is more.
pub(crate) const NAMED_BYTES_MAX: usize = 1024;

/// A text that is no UTF-8 where it is not: as a list of its bytes then.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum ValueBytes {
    /// The text itself.
    Text(String),
    /// Its bytes.
    Bytes(Vec<u8>),
}

/// Takes a text or a list of bytes as it comes. The derived way holds the list as values of any
/// kind first, of 32 bytes each.
struct ValueBytesVisitor;

impl<'de> Visitor<'de> for ValueBytesVisitor {
    type Value = ValueBytes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of bytes")
    }

    fn visit_str<E>(self, text: &str) -> Result<ValueBytes, E> {
        Ok(ValueBytes::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ValueBytes, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = list.next_element()? {
            bytes.push(byte);
        }
        Ok(ValueBytes::Bytes(bytes))
    }
}

impl<'de> Deserialize<'de> for ValueBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueBytesVisitor)
    }
}

impl ValueBytes {
    /// A value as it is.
    #[must_use]
    pub fn new(text: &[u8]) -> Self {
        std::str::from_utf8(text).map_or_else(|_| Self::Bytes(text.to_vec()), |text| Self::Text(text.to_owned()))
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// Hash of a value.
#[must_use]
pub fn value_hash(seed: u64, text: &[u8]) -> u64 {
    FixedState::with_seed(seed).hash_one(text)
}

/// Hash of a text that all programs know, by which they see that they hash alike.
#[must_use]
pub fn probe_hash(seed: u64) -> u64 {
    value_hash(seed, b"rorqual")
}

/// The start of a text, from which the same is shown as from all of it; of whole characters.
pub(crate) fn shown_start(text: &[u8]) -> &[u8] {
    let is_inside = |end: &usize| text.get(*end).is_some_and(|byte| byte & 0xc0 == 0x80);
    let (least, most) = (NAMED_BYTES_MAX + 1, NAMED_BYTES_MAX + 4);
    let end = (least..most).find(|end| !is_inside(end)).unwrap_or(most);
    &text[..end.min(text.len())]
}
