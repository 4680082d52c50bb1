//! Sixty-four bytes at a time as bit masks: which are brackets outside of strings.

use wide::u8x16;

/// Bytes that are looked at in one step.
const STEP: usize = 64;

/// Where a scan is between two steps.
#[derive(Debug, Clone, Copy, Default)]
struct Carry {
    /// 1 when the next byte is escaped by a backslash.
    escaped: u64,
    /// All ones inside a string.
    in_string: u64,
}

/// Brackets outside of strings, a bit a byte.
struct Brackets {
    open: u64,
    close: u64,
}

/// Scans something with brackets for its end, whatever the borders of the blocks.
#[derive(Debug, Clone, Default)]
pub(super) struct Nest {
    carry: Carry,
    depth: u64,
}

impl Nest {
    /// A scan that starts where `depth` brackets are open, and no string.
    pub(super) fn open(depth: u64) -> Self {
        Self { carry: Carry::default(), depth }
    }

    /// Behind the bracket that closes the outermost one, if it is in these bytes. Which kind of bracket closes which is not looked at.
    pub(super) fn close(&mut self, bytes: &[u8]) -> Option<usize> {
        let (mut carry, mut depth) = (self.carry, self.depth);
        let (steps, tail) = bytes.as_chunks::<STEP>();
        for (index, step) in steps.iter().enumerate() {
            let brackets = carry.step(step, STEP);
            if let Some(end) = brackets.descend(&mut depth) {
                return Some(index * STEP + end);
            }
        }
        let mut last = [b' '; STEP];
        last[..tail.len()].copy_from_slice(tail);
        let end = if tail.is_empty() { None } else { carry.step(&last, tail.len()).descend(&mut depth) };
        *self = Self { carry, depth };
        end.map(|end| bytes.len() - tail.len() + end)
    }
}

impl Carry {
    /// Takes the first `length` (1 to 64) bytes; those behind are white space.
    #[inline]
    fn step(&mut self, bytes: &[u8; STEP], length: usize) -> Brackets {
        let masks = Masks::of(bytes);
        let quotes = masks.quote & !self.escape(masks.backslash, length);
        let in_string = prefix_xor(quotes) ^ self.in_string;
        // No quote is behind `length`, so the last bit is the state there.
        self.in_string = (in_string.cast_signed() >> 63).cast_unsigned();
        Brackets { open: masks.open & !in_string, close: masks.close & !in_string }
    }

    /// Which bytes are escaped: those behind an odd number of backslashes. (As simdjson does it: a subtraction finds where runs end.)
    #[inline]
    fn escape(&mut self, backslash: u64, length: usize) -> u64 {
        const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
        let carried = self.escaped;
        if backslash == 0 {
            self.escaped = 0;
            return carried;
        }
        let starts = backslash & !carried;
        let run_ends = ((starts << 1) | ODD).wrapping_sub(starts) ^ ODD;
        let escaping = run_ends & backslash;
        self.escaped = (escaping >> (length - 1)) & 1;
        run_ends ^ (backslash | carried)
    }
}

impl Brackets {
    /// Moves `depth` over these brackets; the index behind the one that brings it to zero.
    #[inline]
    fn descend(&self, depth: &mut u64) -> Option<usize> {
        if self.close == 0 {
            *depth += u64::from(self.open.count_ones());
            return None;
        }
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

/// What bytes are, a bit a byte.
struct Masks {
    quote: u64,
    backslash: u64,
    open: u64,
    close: u64,
}

impl Masks {
    #[inline]
    fn of(bytes: &[u8; STEP]) -> Self {
        let (parts, _) = bytes.as_chunks::<16>();
        let mut masks = Self { quote: 0, backslash: 0, open: 0, close: 0 };
        for (index, part) in parts.iter().enumerate() {
            let part = u8x16::from(*part);
            // `[` and `{`, and `]` and `}`, differ in this bit; no other byte falls together with them.
            let folded = part | u8x16::splat(0x20);
            let shift = 16 * index;
            masks.quote |= equal(part, b'"') << shift;
            masks.backslash |= equal(part, b'\\') << shift;
            masks.open |= equal(folded, b'{') << shift;
            masks.close |= equal(folded, b'}') << shift;
        }
        masks
    }
}

#[inline]
fn equal(bytes: u8x16, byte: u8) -> u64 {
    u64::from(bytes.simd_eq(u8x16::splat(byte)).to_bitmask())
}

/// Each bit becomes the parity of itself and all before it: ones from each opening quote up to its closing one.
#[inline]
fn prefix_xor(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}
