//! `rorqual sample`

use crate::args::{Common, SampleArgs};
use crate::exit::Exit;
use crate::verbs::head::open;
use crate::{message, rows};
use rorqual_rows::read::Rows;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

pub(crate) fn run(common: &Common, args: &SampleArgs) -> Exit {
    let table = match open(&args.file) {
        Ok(table) => table,
        Err(exit) => return exit,
    };
    let all = match table.rows() {
        Ok(all) => all,
        Err(error) => return message::error(&error),
    };
    let seed = args.seed.unwrap_or_else(|| RandomState::new().hash_one(all));
    let chosen = Rows::These(choose(all, args.rows, seed));
    let printed = rows::print(common, &args.shown, &table, |columns| table.batches(columns, &chosen));
    printed.map_or_else(|exit| exit, |_| Exit::Done)
}

/// `number` of `all` numbers from 0, ascending, each set as likely as any other (Floyd's algorithm).
fn choose(all: u64, number: u64, seed: u64) -> Vec<u64> {
    let mut random = Random(seed);
    let mut chosen = BTreeSet::new();
    for last in all.saturating_sub(number)..all {
        let one = random.below(last + 1);
        if !chosen.insert(one) {
            chosen.insert(last);
        }
    }
    chosen.into_iter().collect()
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, each as likely: what does not divide evenly is drawn again.
    fn below(&mut self, end: u64) -> u64 {
        let even = u64::MAX - u64::MAX % end;
        loop {
            let number = self.next();
            if number < even {
                return number % end;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_as_likely() {
        let mut times = [0_u32; 10];
        for seed in 0..10_000 {
            let chosen = choose(10, 3, seed);
            assert!(chosen.len() == 3 && chosen.is_sorted());
            chosen.iter().for_each(|row| times[*row as usize] += 1);
        }
        // 3,000 each, and a standard deviation of 46.
        assert!(times.iter().all(|times| (2_750..3_250).contains(times)), "{times:?}");
    }

    #[test]
    fn more_than_there_are_is_all() {
        assert_eq!(choose(4, 10, 1), [0, 1, 2, 3]);
        assert!(choose(0, 10, 1).is_empty());
    }
}
