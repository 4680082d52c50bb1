//! `rorqual sample`

use crate::args::{Common, SampleArgs};
use crate::exit::ExitStatus;
use crate::rows::records::{BatchOutcome, OpenedRows, RecordRows, open, print_batches, row_of, too_much};
use crate::watchdog::MemoryWatchdog;
use crate::{message, rows};
use arrow_array::RecordBatch;
use rorqual_columnar::convert::SampleExtent;
use rorqual_columnar::read::{RowChoice, TableFile};
use rorqual_pipe::Control;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

pub(crate) fn run(common: &Common, args: &SampleArgs) -> ExitStatus {
    let sampled = match open(common, &args.from, &args.shown, &args.file, (0, SampleExtent::Prefix)) {
        Ok(OpenedRows::Table(table, control)) => of_table(common, args, &table, &control),
        Ok(OpenedRows::Records(mut records)) => of_records(common, args, &mut records),
        Err(exit) => return exit,
    };
    sampled.unwrap_or_else(|error| message::error(&error))
}

/// Rows of a file that says how many it has: only these are read.
fn of_table(common: &Common, args: &SampleArgs, table: &TableFile, control: &Control) -> Result<ExitStatus, String> {
    let _guard = MemoryWatchdog::reading(table.name(), common.process.memory_bytes());
    let all = table.rows().map_err(|error| error.to_string())?;
    let chosen = RowChoice::These(choose(all, args.rows, seed(args)));
    let printed = rows::print(common, &args.shown, table, control, |columns| table.batches(columns, &chosen));
    Ok(printed.map_or_else(|exit| exit, |_| ExitStatus::Done))
}

/// Rows of an input that is read once: each row takes the place of an earlier one with the chance
/// that makes all as likely (Vitter's algorithm R).
fn of_records(common: &Common, args: &SampleArgs, records: &mut RecordRows) -> Result<ExitStatus, String> {
    let wanted = usize::try_from(args.rows).unwrap_or(usize::MAX);
    let memory_bytes = records.memory_bytes();
    let mut random = SampleRng(seed(args));
    let mut chosen: Vec<(u64, RecordBatch)> = Vec::new();
    let (mut seen, mut bytes) = (0, 0);
    let exit = records.each(|batch| {
        for row in 0..batch.num_rows() {
            let place = if chosen.len() < wanted { chosen.len() as u64 } else { random.below(seen + 1) };
            seen += 1;
            if place < args.rows {
                let one = row_of(batch, row)?;
                bytes += one.get_array_memory_size();
                match chosen.get_mut(place as usize) {
                    Some(earlier) => bytes -= std::mem::replace(earlier, (seen, one)).1.get_array_memory_size(),
                    None => chosen.push((seen, one)),
                }
                too_much(bytes, memory_bytes)?;
            }
        }
        Ok(if wanted > 0 { BatchOutcome::All } else { BatchOutcome::Enough(0) })
    })?;
    chosen.sort_by_key(|(number, _)| *number);
    let batches: Vec<RecordBatch> = chosen.into_iter().map(|(_, batch)| batch).collect();
    print_batches(common, &args.shown, records, &batches, exit)
}

fn seed(args: &SampleArgs) -> u64 {
    args.seed.unwrap_or_else(|| RandomState::new().hash_one(args.rows))
}

/// `number` of `all` numbers from 0, ascending, each set as likely as any other (Floyd's
/// algorithm).
fn choose(all: u64, number: u64, seed: u64) -> Vec<u64> {
    let mut random = SampleRng(seed);
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
struct SampleRng(u64);

impl SampleRng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, each as likely: the rest that does not divide evenly is drawn again.
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
