//! Remembers the meaning of keys, so that a line costs no look-up in the table of all key paths.

use crate::format::json::{JsonKeys, KEY_BYTES_MAX, KeyMeaning};

/// Entries of a memo: 12 KiB. The lines of a log repeat the same few dozen keys.
const MEMO_ENTRIES: usize = 256;

#[derive(Clone, Copy, Debug)]
struct MemoEntry {
    object: u8,
    /// Length of the key; 255 for an entry that holds none.
    key_bytes: u8,
    key: [u8; KEY_BYTES_MAX],
    meaning: KeyMeaning,
}

const NO_ENTRY: MemoEntry = MemoEntry {
    object: 0,
    key_bytes: 255,
    key: [0; KEY_BYTES_MAX],
    meaning: KeyMeaning { slot: None, object: None, writer: None },
};

/// Keys with their meaning, in a table of fixed size with two places for each key.
#[derive(Clone, Debug)]
pub(crate) struct KeyMemo {
    entries: Box<[MemoEntry]>,
}

impl KeyMemo {
    pub(crate) fn new() -> KeyMemo {
        KeyMemo { entries: vec![NO_ENTRY; MEMO_ENTRIES].into() }
    }

    /// The meaning of `key` in the object numbered `object`, by `keys`, which must always be the
    /// same.
    #[inline]
    pub(crate) fn meaning(&mut self, keys: &JsonKeys, object: u8, key: &[u8]) -> KeyMeaning {
        if key.len() > KEY_BYTES_MAX {
            return KeyMeaning::default();
        }
        let at = memo_index(object, key);
        for way in [at, at ^ 1] {
            let entry = &self.entries[way];
            if entry.object == object && usize::from(entry.key_bytes) == key.len() && entry.key[..key.len()] == *key {
                return entry.meaning;
            }
        }
        self.remember(keys, object, key, at)
    }

    /// Looks a key up and puts it in its first place; what was there moves to the second, so that
    /// two keys that share a place do not push each other out in turn.
    #[cold]
    fn remember(&mut self, keys: &JsonKeys, object: u8, key: &[u8], at: usize) -> KeyMeaning {
        let meaning = keys.meaning(object, key);
        let mut entry = MemoEntry { object, key_bytes: key.len() as u8, meaning, ..NO_ENTRY };
        entry.key[..key.len()].copy_from_slice(key);
        self.entries[at ^ 1] = self.entries[at];
        self.entries[at] = entry;
        meaning
    }
}

/// First place of a key in the memo, from its length and its first and last eight bytes.
#[inline]
fn memo_index(object: u8, key: &[u8]) -> usize {
    let ends = match (key.first_chunk::<8>(), key.last_chunk::<8>()) {
        (Some(first), Some(last)) => u64::from_le_bytes(*first) ^ u64::from_le_bytes(*last).rotate_left(19),
        _ => key.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte)),
    };
    let salt = u64::from(object) << 8 | key.len() as u64;
    ((ends ^ salt << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize % MEMO_ENTRIES
}
