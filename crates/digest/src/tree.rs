//! BLAKE3 of a file by all workers: each hashes blocks of its own into subtrees, and the subtrees
//! are joined in order.
//!
//! A block of 256 KiB at a multiple of 256 KiB is a complete subtree of BLAKE3's binary tree
//! (section 2.1 of its paper), so its chaining value needs nothing from before it. Only the node at
//! the very top is computed differently, as the root; which one that is shows at the end. So nodes
//! that contain the first block are joined only when more input has come.

use crate::zeros::zeros;
use blake3::hazmat::{ChainingValue, HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};
use rorqual_pipe::limits::BLOCK_BYTES;
use rorqual_pipe::{Chunk, Control, Error, Stage};

/// A subtree, complete unless it is the input's last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subtree {
    offset: u64,
    length: u64,
    value: ChainingValue,
}

/// Remainder of a chunk: its subtrees, at most two of each size.
pub(crate) type Subtrees = Vec<Subtree>;

/// Hashes the blocks that one worker reads.
pub(crate) struct TreeStage(pub(crate) Control);

impl Stage for TreeStage {
    type Output = Subtrees;

    fn chunk(&mut self, chunk: &Chunk) -> Result<Subtrees, Error> {
        let mut subtrees = Subtrees::new();
        if !chunk.bytes.is_empty() {
            subtrees.push(Subtree::of(chunk.offset, [&chunk.bytes[..]].into_iter(), chunk.bytes.len() as u64));
        }
        let end = chunk.offset + chunk.zeros;
        let mut offset = chunk.offset;
        while offset < end && !self.0.stopped() {
            let length = (end - offset).min(BLOCK_BYTES as u64);
            join_siblings(&mut subtrees);
            subtrees.push(Subtree::of(offset, zeros(length), length));
            offset += length;
        }
        Ok(subtrees)
    }
}

impl Subtree {
    /// The subtree over `length` bytes, at most a block, that `parts` give.
    fn of<'a>(offset: u64, parts: impl Iterator<Item = &'a [u8]>, length: u64) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.set_input_offset(offset);
        for part in parts {
            hasher.update(part);
        }
        Self { offset, length, value: hasher.finalize_non_root() }
    }

    /// True where `self` and `right`, which comes after it, are the two halves of a larger complete
    /// subtree.
    fn is_sibling_of(&self, right: &Self) -> bool {
        self.length == right.length && self.length.is_power_of_two() && self.offset.is_multiple_of(2 * self.length)
    }
}

/// Joins complete siblings at the top of the stack. Called when more input follows: none of them is
/// the root then.
fn join_siblings(stack: &mut Subtrees) {
    while let [.., left, right] = stack[..]
        && left.is_sibling_of(&right)
    {
        stack.pop();
        stack.pop();
        let value = merge_subtrees_non_root(&left.value, &right.value, Mode::Hash);
        stack.push(Subtree { offset: left.offset, length: 2 * left.length, value });
    }
}

/// The tree so far: complete subtrees from left to right, each smaller than the one before but for
/// the last two.
#[derive(Debug, Default)]
pub(crate) struct Tree(Subtrees);

impl Tree {
    /// Adds the next bytes.
    pub(crate) fn add(&mut self, subtrees: Subtrees) {
        for subtree in subtrees {
            join_siblings(&mut self.0);
            self.0.push(subtree);
        }
    }

    /// Bytes under it.
    pub(crate) fn length(&self) -> u64 {
        self.0.last().map_or(0, |last| last.offset + last.length)
    }

    /// The root; `None` of fewer than two blocks, whose root is no join.
    pub(crate) fn root(mut self) -> Option<blake3::Hash> {
        let mut right = self.0.pop()?;
        loop {
            let left = self.0.pop()?;
            if self.0.is_empty() {
                return Some(merge_subtrees_root(&left.value, &right.value, Mode::Hash));
            }
            right.value = merge_subtrees_non_root(&left.value, &right.value, Mode::Hash);
        }
    }
}
