//! A dictionary: distinct byte strings, each with a small code.

use foldhash::quality::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

/// Hashes keys alike in every worker of one analysis. The seed differs from process to process, so
/// that nobody can write a log whose keys collide.
pub(crate) type Seed = RandomState;

#[inline]
pub(crate) fn hash(seed: &Seed, key: &[u8]) -> u64 {
    let mut hasher = seed.build_hasher();
    hasher.write(key);
    hasher.finish()
}

/// Slots of an empty dictionary; a power of two.
const SLOTS_MIN: usize = 1 << 10;

/// Times that a key comes, on average, from which looking keys up pays.
const LOOK_UPS_MIN: u64 = 2;

/// Times that a dictionary is filled without looking keys up before that is tried again.
const BYPASSES: u8 = 7;

/// Distinct values of one field as one worker sees them, coded 1, 2, 3 …; code 0 is the absent
/// value.
#[derive(Debug)]
pub(crate) struct Dict {
    seed: Seed,
    /// The hash's low half and the code; 0 is free. Open addressing, linear probing.
    slots: Vec<u64>,
    /// For each code: its hash, and where its bytes end in `arena`. Entry 0 is the absent value.
    entries: Vec<DictEntry>,
    arena: Vec<u8>,
    last: LastKey,
    /// Keys that were asked for since it was cleared, without those that came again at once.
    asked: u64,
    /// Until it was cleared so many times, nothing is looked up: each key gets a code of its own.
    bypasses_left: u8,
}

/// The code that was given last, and the place of its key in the arena. None is at `0..0`, where no
/// key is found.
#[derive(Debug, Default)]
struct LastKey {
    code: u32,
    range: Range<usize>,
}

#[derive(Debug, Clone, Copy)]
struct DictEntry {
    hash: u64,
    end: u32,
}

impl Dict {
    pub(crate) fn new(seed: Seed) -> Self {
        let entries = vec![DictEntry { hash: 0, end: 0 }];
        Self { seed, slots: vec![0; SLOTS_MIN], entries, arena: Vec::new(), last: LastKey::default(), asked: 0, bypasses_left: 0 }
    }

    /// The code of `key`, a new one where it was not seen before; 0 for the empty key.
    #[inline]
    pub(crate) fn intern(&mut self, key: &[u8]) -> u32 {
        // Must come before any comparison: glibc's AVX-512 memcmp loads from the dangling address
        // of an empty slice under an empty mask, and the suppressed page fault costs hundreds of
        // cycles (measured: a third of a whole run).
        if key.is_empty() {
            return 0;
        }
        // Lines repeat values of the line before them: its client, agent, method. A comparison
        // costs less than a hash.
        if self.arena.get(self.last.range.clone()) == Some(key) {
            return self.last.code;
        }
        let code = self.look_up(key);
        self.last = LastKey { code, range: self.range(code) };
        code
    }

    /// The code of a key that is not empty. Not a part of its callers: one of them asks for each
    /// field of a line, and most of these are absent or the same as the last one's.
    #[inline(never)]
    fn look_up(&mut self, key: &[u8]) -> u32 {
        self.asked += 1;
        let hash = hash(&self.seed, key);
        if self.bypasses_left > 0 {
            return self.append(hash, key);
        }
        let mask = self.slots.len() - 1;
        let tag = hash as u32;
        let mut index = tag as usize & mask;
        loop {
            let slot = self.slots[index];
            if slot == 0 {
                return self.insert(hash, index, key);
            }
            if (slot >> 32) as u32 == tag && self.key(slot as u32) == key {
                return slot as u32;
            }
            index = (index + 1) & mask;
        }
    }

    /// Number of codes in use, the absent value's included.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The bytes of a code that [`Dict::intern`] gave since the last [`Dict::clear`].
    #[inline]
    pub(crate) fn key(&self, code: u32) -> &[u8] {
        &self.arena[self.range(code)]
    }

    #[inline]
    fn range(&self, code: u32) -> Range<usize> {
        let code = code as usize;
        let start = if code == 0 { 0 } else { self.entries[code - 1].end as usize };
        start..self.entries[code].end as usize
    }

    pub(crate) fn hash_of(&self, code: u32) -> u64 {
        self.entries[code as usize].hash
    }

    /// Bytes of all keys.
    pub(crate) fn arena_bytes(&self) -> usize {
        self.arena.len()
    }

    /// Forgets every code; keeps its memory. Where hardly any key came twice since the last time,
    /// the next ones are not looked up: that is work for nothing in a table that is so soon
    /// cleared. Then a key may have several codes, and from time to time it is tried again.
    pub(crate) fn clear(&mut self) {
        if self.bypasses_left > 0 {
            self.bypasses_left -= 1;
        } else {
            self.slots.fill(0);
            self.bypasses_left = if self.asked < LOOK_UPS_MIN * self.len() as u64 { BYPASSES } else { 0 };
        }
        self.asked = 0;
        self.entries.truncate(1);
        self.arena.clear();
        self.last = LastKey::default();
    }

    #[inline]
    fn append(&mut self, hash: u64, key: &[u8]) -> u32 {
        let code = self.entries.len() as u32;
        self.arena.extend_from_slice(key);
        self.entries.push(DictEntry { hash, end: self.arena.len() as u32 });
        code
    }

    #[cold]
    fn insert(&mut self, hash: u64, index: usize, key: &[u8]) -> u32 {
        let code = self.append(hash, key);
        self.slots[index] = (hash as u32 as u64) << 32 | u64::from(code);
        if self.entries.len() * 2 > self.slots.len() {
            self.grow();
        }
        code
    }

    fn grow(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        let mut slots = vec![0; mask + 1];
        for &slot in self.slots.iter().filter(|slot| **slot != 0) {
            let mut index = (slot >> 32) as usize & mask;
            while slots[index] != 0 {
                index = (index + 1) & mask;
            }
            slots[index] = slot;
        }
        self.slots = slots;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_seed_gives_other_hashes() {
        let (one, other) = (Seed::default(), Seed::default());
        let keys: Vec<String> = (0..1_000).map(|n| format!("/path/{n}")).collect();
        let same = keys.iter().filter(|key| hash(&one, key.as_bytes()) % 1_024 == hash(&other, key.as_bytes()) % 1_024).count();
        // One in 1,024 by chance.
        assert!(same < 20, "{same} of 1,000 share their slot under both");
    }

    #[test]
    fn codes_stand_for_their_keys() {
        let mut dict = Dict::new(Seed::default());
        assert_eq!(dict.intern(b""), 0);
        let keys: Vec<String> = (0..10_000).map(|n| format!("/path/{n}")).collect();
        for (index, key) in keys.iter().enumerate() {
            assert_eq!(dict.intern(key.as_bytes()), index as u32 + 1);
        }
        for (index, key) in keys.iter().enumerate() {
            assert_eq!(dict.intern(key.as_bytes()), index as u32 + 1, "{key} got a second code");
            assert_eq!(dict.key(index as u32 + 1), key.as_bytes());
        }
        dict.clear();
        assert_eq!((dict.len(), dict.arena_bytes(), dict.intern(b"x")), (1, 0, 1));
    }

    #[test]
    fn keys_that_do_not_come_twice_are_not_looked_up_for_a_while() {
        let mut dict = Dict::new(Seed::default());
        let mut codes_of = |keys: &str| -> Vec<u32> {
            let codes = keys.split(' ').map(|key| (dict.intern(key.as_bytes()), key)).collect::<Vec<_>>();
            assert!(codes.iter().all(|(code, key)| dict.key(*code) == key.as_bytes()));
            dict.clear();
            codes.into_iter().map(|(code, _)| code).collect()
        };
        let (few, looked_up, apart) = ("one two one one  two", [1, 2, 1, 1, 0, 2], [1, 2, 3, 3, 0, 4]);
        assert_eq!(codes_of(few), looked_up);
        for _ in 0..2 {
            (0..BYPASSES).for_each(|time| assert_eq!(codes_of(few), apart, "{time}"));
            assert_eq!(codes_of(few), looked_up, "it was tried again, and did not pay");
        }
        (0..BYPASSES).for_each(|_| assert_eq!(codes_of(few), apart));
        (0..20).for_each(|_| assert_eq!(codes_of("one two one two one two"), [1, 2, 1, 2, 1, 2], "it pays"));
    }

    #[test]
    fn the_last_key_is_found_at_once_and_forgotten_with_all_others() {
        let mut dict = Dict::new(Seed::default());
        let codes = [&b"one"[..], b"one", b"", b"one", b"two", b"owt", b"two", b"one"].map(|key| dict.intern(key));
        assert_eq!(codes, [1, 1, 0, 1, 2, 3, 2, 1]);
        dict.clear();
        assert_eq!([&b"two"[..], b"one", b"one"].map(|key| dict.intern(key)), [1, 2, 2]);
    }
}
