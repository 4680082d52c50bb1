//! Texts of a segment's column that have no code in the dictionary: the dictionary was full when
//! they came. They lie compressed in their segment, go to the file with it, and are read back where
//! a filter or a row asks for them.
//!
//! Beside each text lies its hash. Sums tell texts apart by it, so that they need not read the
//! texts; filters and rows look at the texts themselves.

use crate::file_bytes::{NumberBytes, damaged, pack, unpacked};
use foldhash::fast::RandomState;
use foldhash::quality::FixedState;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::io;

/// Bytes of texts that are compressed together, give or take one text.
const BLOCK_BYTES: usize = 32 << 10;

/// Hashes of texts. The seed is drawn for each store, so that nobody can write texts that collide.
#[derive(Debug, Clone)]
pub(crate) struct TextHasher(FixedState);

impl TextHasher {
    pub(crate) fn new(seed: u64) -> Self {
        Self(FixedState::with_seed(seed))
    }

    pub(crate) fn hash(&self, text: &[u8]) -> u64 {
        let mut hasher = self.0.build_hasher();
        hasher.write(text);
        hasher.finish()
    }
}

/// The texts without a code of one column of a segment, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UncodedTexts {
    pub(crate) hashes: Vec<u64>,
    pub(crate) texts: PackedTexts,
}

/// Texts in compressed blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PackedTexts {
    /// End of each text in the bytes of all of them.
    ends: Vec<u32>,
    blocks: Vec<TextBlock>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct TextBlock {
    /// Number of the first text after it.
    texts_end: u32,
    packed: Vec<u8>,
}

impl UncodedTexts {
    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> u64 {
        let blocks = |block: &TextBlock| block.packed.capacity() + size_of::<TextBlock>();
        let PackedTexts { ends, blocks: all } = &self.texts;
        (self.hashes.capacity() * 8 + ends.capacity() * 4 + all.iter().map(blocks).sum::<usize>()) as u64
    }

    pub(crate) fn write_hashes(&self, out: &mut Vec<u8>) {
        self.hashes.iter().for_each(|hash| out.extend_from_slice(&hash.to_le_bytes()));
    }

    /// Reads so many hashes; `None` where the bytes are something else.
    pub(crate) fn read_hashes(bytes: &[u8], texts: usize) -> Option<Vec<u64>> {
        let (hashes, rest) = bytes.as_chunks();
        (hashes.len() == texts && rest.is_empty()).then(|| hashes.iter().map(|hash| u64::from_le_bytes(*hash)).collect())
    }
}

impl PackedTexts {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        self.ends.iter().for_each(|end| out.extend_from_slice(&end.to_le_bytes()));
        for block in &self.blocks {
            out.extend_from_slice(&block.texts_end.to_le_bytes());
            out.extend_from_slice(&(block.packed.len() as u32).to_le_bytes());
            out.extend_from_slice(&block.packed);
        }
    }

    /// Reads so many texts that [`PackedTexts::write`] wrote; `None` where the bytes are something
    /// else. What is in a block is held against its texts when they are read.
    pub(crate) fn read(mut bytes: &[u8], texts: usize) -> Option<Self> {
        let (ends, rest) = bytes.split_at_checked(texts.checked_mul(size_of::<u32>())?)?;
        let ends: Vec<u32> = ends.as_chunks().0.iter().map(|end| u32::from_le_bytes(*end)).collect();
        bytes = rest;
        let mut blocks: Vec<TextBlock> = Vec::new();
        while !bytes.is_empty() {
            let (texts_end, length) = (u32::take(&mut bytes)?, u32::take(&mut bytes)? as usize);
            let (packed, rest) = bytes.split_at_checked(length)?;
            bytes = rest;
            let is_next = blocks.last().map_or(0, |block| block.texts_end) < texts_end;
            is_next.then(|| blocks.push(TextBlock { texts_end, packed: packed.to_vec() }))?;
        }
        let is_whole = blocks.last().map_or(0, |block| block.texts_end) as usize == texts && ends.is_sorted();
        is_whole.then_some(Self { ends, blocks })
    }

    /// Bytes of the texts, not compressed.
    pub(crate) fn bytes_of_texts(&self) -> usize {
        self.ends.last().map_or(0, |end| *end as usize)
    }

    fn start_of(&self, text: usize) -> u32 {
        if text == 0 { 0 } else { self.ends[text - 1] }
    }

    /// The texts of a block, and the number of the first one.
    fn unpack(&self, block: usize) -> io::Result<(Vec<u8>, usize)> {
        let first = if block == 0 { 0 } else { self.blocks[block - 1].texts_end as usize };
        let end = self.ends[self.blocks[block].texts_end as usize - 1];
        let length = (end - self.start_of(first)) as usize;
        let bytes = unpacked(&self.blocks[block].packed, length)?;
        if bytes.len() == length { Ok((bytes, first)) } else { Err(damaged()) }
    }

    /// All texts: at most so many bytes as a segment may have.
    ///
    /// # Errors
    /// When a block is damaged.
    pub(crate) fn plain(&self) -> io::Result<PlainTexts> {
        let mut plain = PlainTexts { bytes: Vec::with_capacity(self.bytes_of_texts()), ends: Vec::new() };
        self.each(
            |_| true,
            |_, text| {
                plain.bytes.extend_from_slice(text);
                plain.ends.push(plain.bytes.len());
            },
        )?;
        Ok(plain)
    }

    /// Gives `take` each of the texts that are `wanted`, in order.
    ///
    /// # Errors
    /// When a block is damaged.
    pub(crate) fn each(&self, wanted: impl Fn(usize) -> bool, mut take: impl FnMut(usize, &[u8])) -> io::Result<()> {
        let mut first = 0;
        for (number, block) in self.blocks.iter().enumerate() {
            let texts = first..block.texts_end as usize;
            first = texts.end;
            if !texts.clone().any(&wanted) {
                continue;
            }
            let (bytes, from) = self.unpack(number)?;
            let base = self.start_of(from);
            for text in texts.filter(|text| wanted(*text)) {
                take(text, &bytes[(self.start_of(text) - base) as usize..(self.ends[text] - base) as usize]);
            }
        }
        Ok(())
    }
}

/// Texts that are not compressed.
pub(crate) struct PlainTexts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl PlainTexts {
    /// A text by its number.
    pub(crate) fn text(&self, text: usize) -> &[u8] {
        &self.bytes[if text == 0 { 0 } else { self.ends[text - 1] }..self.ends[text]]
    }
}

/// The texts without a code of one column of the segment that is recorded.
#[derive(Default)]
pub(crate) struct UncodedBuilder {
    /// Local code of each text.
    pub(crate) locals: Vec<u16>,
    known: HashMap<u64, u16, RandomState>,
    hashes: Vec<u64>,
    ends: Vec<u32>,
    blocks: Vec<TextBlock>,
    /// Texts that are not compressed yet.
    open: Vec<u8>,
}

impl UncodedBuilder {
    /// The local code of the text with this hash, where it has one.
    pub(crate) fn local(&self, hash: u64) -> Option<u16> {
        self.known.get(&hash).copied()
    }

    /// Takes a text that has no local code yet.
    pub(crate) fn add(&mut self, local: u16, hash: u64, text: &[u8]) {
        self.known.insert(hash, local);
        self.locals.push(local);
        self.hashes.push(hash);
        self.open.extend_from_slice(text);
        self.ends.push(self.ends.last().copied().unwrap_or(0) + text.len() as u32);
        if self.open.len() >= BLOCK_BYTES {
            let block = self.open_block();
            self.blocks.push(block);
            self.open.clear();
        }
    }

    /// Goes on with the texts of a segment, whose local codes begin with `first`.
    pub(crate) fn take_up(&mut self, uncoded: &UncodedTexts, first: u16) -> io::Result<()> {
        uncoded.texts.each(|_| true, |text, bytes| self.add(first + text as u16, uncoded.hashes[text], bytes))
    }

    fn open_block(&self) -> TextBlock {
        let mut packed = Vec::new();
        pack(&self.open, &mut packed);
        packed.shrink_to_fit();
        TextBlock { texts_end: self.ends.len() as u32, packed }
    }

    /// The texts so far.
    pub(crate) fn texts(&self) -> UncodedTexts {
        let last = (!self.open.is_empty()).then(|| self.open_block());
        let blocks = self.blocks.iter().cloned().chain(last).collect();
        UncodedTexts { hashes: self.hashes.clone(), texts: PackedTexts { ends: self.ends.clone(), blocks } }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Starts afresh; memory stays, but for the blocks'.
    pub(crate) fn clear(&mut self) {
        self.locals.clear();
        self.known.clear();
        self.hashes.clear();
        self.ends.clear();
        self.blocks.clear();
        self.open.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts() -> Vec<Vec<u8>> {
        let text = |number: usize| format!("{number:04x}-").repeat(number % 40 + 1).into_bytes();
        (0..3_000).map(text).chain([vec![b'x'; 100_000]]).collect()
    }

    fn packed() -> UncodedTexts {
        let (mut builder, hasher) = (UncodedBuilder::default(), TextHasher::new(7));
        for (local, text) in texts().iter().enumerate() {
            assert_eq!(builder.local(hasher.hash(text)), None);
            builder.add(local as u16, hasher.hash(text), text);
            assert_eq!(builder.local(hasher.hash(text)), Some(local as u16));
        }
        builder.texts()
    }

    #[test]
    fn texts_come_back_in_any_order() {
        let (uncoded, expected) = (packed(), texts());
        assert!(uncoded.texts.blocks.len() > 5, "{} blocks", uncoded.texts.blocks.len());
        let mut seen = Vec::new();
        uncoded.texts.each(|_| true, |number, text| seen.push((number, text.to_vec()))).expect("whole");
        assert!(seen.iter().enumerate().all(|(at, (number, text))| at == *number && *text == expected[at]));
        assert_eq!(seen.len(), expected.len());
        let mut some = Vec::new();
        uncoded.texts.each(|number| number % 1_000 == 7, |number, _| some.push(number)).expect("whole");
        assert_eq!(some, [7, 1_007, 2_007]);
        let plain = uncoded.texts.plain().expect("whole");
        for number in [0, 2_999, 3_000, 1_500, 1_501, 0] {
            assert_eq!(plain.text(number), expected[number], "{number}");
        }
    }

    #[test]
    fn what_was_written_is_read_and_nothing_else() {
        let uncoded = packed();
        let (mut hashes, mut texts) = (Vec::new(), Vec::new());
        uncoded.write_hashes(&mut hashes);
        uncoded.texts.write(&mut texts);
        let count = uncoded.hashes.len();
        assert_eq!(UncodedTexts::read_hashes(&hashes, count).as_ref(), Some(&uncoded.hashes));
        assert_eq!(PackedTexts::read(&texts, count).as_ref(), Some(&uncoded.texts));
        assert_eq!(UncodedTexts::read_hashes(&hashes, count - 1), None);
        assert_eq!(PackedTexts::read(&texts, count - 1), None);
        // Cut or changed anywhere, it is refused or other texts, and never a panic.
        for end in (0..texts.len()).step_by(977) {
            assert_eq!(PackedTexts::read(&texts[..end], count), None, "{end}");
        }
        for at in (0..texts.len()).step_by(101) {
            let mut other = texts.clone();
            other[at] ^= 0x55;
            if let Some(read) = PackedTexts::read(&other, count) {
                let _ = read.each(|_| true, |_, _| {});
            }
        }
    }

    #[test]
    fn a_segment_goes_on_with_its_texts() {
        let uncoded = packed();
        let mut builder = UncodedBuilder::default();
        builder.take_up(&uncoded, 10).expect("whole");
        assert_eq!(builder.local(uncoded.hashes[5]), Some(15));
        assert_eq!(builder.texts().hashes, uncoded.hashes);
        assert_eq!(builder.texts().texts.plain().expect("whole").text(2_000), texts()[2_000]);
    }
}
