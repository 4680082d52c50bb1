//! The one copy of a payload: from the buffer that was read into, unmasked on its way, to the block
//! where it is to lie.

/// Copies `from` to `to`, which is as long, and takes the mask off; returns the key for the next
/// byte. A client masks its frames so that no proxy takes them for a request (RFC 6455, 10.3).
pub(super) fn copy_unmasked(from: &[u8], to: &mut [u8], mut key: [u8; 4]) -> [u8; 4] {
    #[cfg(any(fuzzing, test))]
    copied::add(from.len());
    let wide: [u8; WIDTH] = std::array::from_fn(|at| key[at % 4]);
    let (from_wide, from_rest) = from.as_chunks::<WIDTH>();
    let (to_wide, to_rest) = to.as_chunks_mut::<WIDTH>();
    // The compiler makes vectors of this: there is nothing in it but the width.
    for (from, to) in from_wide.iter().zip(to_wide) {
        for ((from, to), mask) in from.iter().zip(to).zip(&wide) {
            *to = from ^ mask;
        }
    }
    for ((from, to), mask) in from_rest.iter().zip(to_rest).zip(&wide) {
        *to = from ^ mask;
    }
    key.rotate_left(from.len() % 4);
    key
}

/// Bytes at a time: a cache line.
const WIDTH: usize = 64;

/// Number of bytes that this thread copied, for the tests that hold it down.
#[cfg(any(fuzzing, test))]
pub(super) mod copied {
    use std::cell::Cell;

    thread_local!(static BYTES: Cell<u64> = const { Cell::new(0) });

    pub(in crate::ingest::socket) fn add(bytes: usize) {
        BYTES.set(BYTES.get() + bytes as u64);
    }

    pub(in crate::ingest::socket) fn take() -> u64 {
        BYTES.replace(0)
    }
}

#[cfg(test)]
mod tests {
    use super::copy_unmasked;

    #[test]
    fn any_length_at_any_turn_of_the_key() {
        let key = [0x37, 0xfa, 0x21, 0x3d];
        let plain: Vec<u8> = (0..400_u32).map(|number| (number * 7 + number / 256) as u8).collect();
        let masked: Vec<u8> = plain.iter().enumerate().map(|(at, byte)| byte ^ key[at % 4]).collect();
        for first in 0..140 {
            for length in [0, 1, 2, 3, 4, 5, 63, 64, 65, 127, 128, 200] {
                let mut to = vec![0xee; first + length];
                let (head, tail) = to.split_at_mut(first);
                let turned = copy_unmasked(&masked[..first], head, key);
                copy_unmasked(&masked[first..first + length], tail, turned);
                assert_eq!(to, plain[..first + length], "{first} and {length}");
            }
        }
    }
}
