//! Keys by which people name an entry: a digest, a name, or the start of a digest.

use crate::index::Index;
use crate::limits::{NAME_BYTES_MAX, PREFIX_DIGITS_MIN};
use crate::store::Store;
use rorqual_digest::{Algorithm, Digest};
use rorqual_pipe::{Error, ErrorClass};

/// Entries that match a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyMatch {
    /// This entry.
    One(Digest),
    /// Several entries: the digests of all of them start alike.
    Many,
    /// No entry.
    None,
}

impl Store {
    /// The entry that `key` stands for: a whole digest (hexadecimal, base32 or base64), else a
    /// name, else the start of exactly one digest in at least [`PREFIX_DIGITS_MIN`] hexadecimal
    /// digits.
    ///
    /// # Errors
    /// When the index can't be read.
    pub fn find(&self, key: &str) -> Result<KeyMatch, Error> {
        let index = self.index();
        if let Some(digest) = Digest::parse(self.algorithm(), key) {
            return Ok(if index.row(&digest)?.is_some() { KeyMatch::One(digest) } else { KeyMatch::None });
        }
        match index.named(key)? {
            Some(digest) => Ok(KeyMatch::One(digest)),
            None => prefixed(&index, self.algorithm(), key),
        }
    }
}

fn prefixed(index: &Index<'_>, algorithm: Algorithm, key: &str) -> Result<KeyMatch, Error> {
    let Some((first, last)) = prefix_range(algorithm, key) else { return Ok(KeyMatch::None) };
    let found = index.between(&first, &last)?;
    Ok(match found.as_slice() {
        [] => KeyMatch::None,
        [digest] => KeyMatch::One(*digest),
        _ => KeyMatch::Many,
    })
}

/// The first and the last digest that start with `prefix`; `None` when it is no prefix, or too
/// short a one.
fn prefix_range(algorithm: Algorithm, prefix: &str) -> Option<(Digest, Digest)> {
    let digits = 2 * algorithm.digest_bytes();
    let is_prefix = (PREFIX_DIGITS_MIN..digits).contains(&prefix.len()) && prefix.bytes().all(|byte| byte.is_ascii_hexdigit());
    let filled = |with: &str| Digest::parse(algorithm, &format!("{prefix}{}", with.repeat(digits - prefix.len())));
    if is_prefix { filled("0").zip(filled("f")) } else { None }
}

/// True if `name` may name an entry of a store with `algorithm`.
///
/// # Errors
/// When it is empty, longer than [`NAME_BYTES_MAX`], has control characters, or reads as a digest.
pub fn check_name(algorithm: Algorithm, name: &str) -> Result<(), Error> {
    let refuse = |why: String| Err(Error::new(ErrorClass::Limit, format!("the name '{name}'"), why));
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        return refuse(format!("a name has 1 to {NAME_BYTES_MAX} bytes"));
    }
    if name.chars().any(char::is_control) {
        return refuse("a name has no control characters".to_owned());
    }
    if Digest::parse(algorithm, name).is_some() {
        return refuse("reads as a digest, and would hide the entry with that digest".to_owned());
    }
    Ok(())
}
