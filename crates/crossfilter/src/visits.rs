//! Visits: whether the rows of a value are those of a few clients.
//!
//! A value that hardly any other rows have shows no dispersion in the rest of the log. A crawler's
//! visit may be the only one with its agent, and looks like an outage of as many rows. But the rows
//! of a visit are those of one client, and most of the client's rows have the value. So the rows
//! are taken as a sample of clusters, whose design effect is the mean size of the cluster that a
//! row is in (Kish, "Survey Sampling", 1965, section 5.4). The rows of a client count as a cluster
//! by the part of its rows that has the value: a proxy, which stands for all clients, is none.

use crate::bits::Bits;
use crate::candidates::CandidateTest;
use crate::columns::CLIENT;
use crate::dictionary::{NONE, OTHERS};
use crate::question::{SegmentRows, ViewQuestion};
use crate::segment::{CodedColumnRef, Segment};
use crate::store::Snapshot;
use crate::view::ViewError;
use foldhash::quality::FixedState;
use std::hash::BuildHasher;
use std::io;

/// Buckets that clients are counted in, by their hashes: 4 KiB a thread for each of some hundred
/// sets of tests. The cells of [`dispersion`](crate::dispersion) were there before, and took more.
const BUCKETS: usize = 1_024;

/// Counts of a set of tests: its buckets, and the rows without a known client, each of which is
/// taken for a client of its own.
pub(crate) const COUNTS: usize = BUCKETS + 1;

impl ViewQuestion<'_> {
    /// Rows asked about by their clients' buckets: of all, and of those that pass each of these
    /// sets of tests.
    pub(crate) fn visits(&self, snapshot: &Snapshot, sets: &[Vec<&CandidateTest>]) -> Result<Vec<u32>, ViewError> {
        let empty = || vec![0u32; (1 + sets.len()) * COUNTS];
        let work = |counts: &mut Vec<u32>, segment: &Segment, asked: &SegmentRows| {
            let column = self.store.coded(segment, CLIENT)?;
            let buckets = self.client_buckets(segment, &column)?;
            let (all, of_sets) = counts.split_at_mut(COUNTS);
            let mut rows = Vec::new();
            let mut count = |bits: &Bits, counts: &mut [u32]| {
                rows.clear();
                bits.list(&mut rows);
                rows.iter().for_each(|row| counts[usize::from(buckets[column.codes.get(usize::from(*row)) as usize])] += 1);
            };
            count(&asked.inside, all);
            for (tests, counts) in sets.iter().zip(of_sets.chunks_mut(COUNTS)) {
                if let Some(bits) = CandidateTest::select_all(tests, &asked.inside, segment, self.store)? {
                    count(&bits, counts);
                }
            }
            Ok(())
        };
        let workers = self.pass(snapshot.segments.iter().enumerate(), empty, |asked| !asked.inside.is_none(), work)?;
        let mut joined = empty();
        workers.iter().for_each(|counts| joined.iter_mut().zip(counts).for_each(|(sum, more)| *sum += more));
        Ok(joined)
    }

    /// The bucket of each local code of the clients of a segment. It follows from the text alone,
    /// so that each start gives the same answer.
    fn client_buckets(&self, segment: &Segment, column: &CodedColumnRef) -> io::Result<Vec<u16>> {
        let spill = self.store.spill.as_ref();
        let uncoded = (column.uncoded > 0).then(|| segment.uncoded_texts(CLIENT, spill)?.plain()).transpose()?;
        let bucket = |client: &[u8]| (FixedState::default().hash_one(client) % BUCKETS as u64) as u16;
        let tables = self.store.dictionaries[CLIENT].lock();
        let of_local = |local: usize| match (column.uncoded_of(local).zip(uncoded.as_ref()), column.globals[local]) {
            (Some((text, uncoded)), _) => bucket(uncoded.text(text)),
            (None, NONE | OTHERS) => BUCKETS as u16,
            (None, code) => bucket(tables.text(code)),
        };
        Ok((0..column.globals.len()).map(of_local).collect())
    }
}

/// For each set of tests, the mean number of rows by the same client, of the rows that pass it; 1
/// where no client has two. `counts` are those of [`ViewQuestion::visits`].
pub(crate) fn mean_visits(counts: &[u32]) -> Vec<f64> {
    let (all, of_sets) = counts.split_at(COUNTS);
    of_sets.chunks(COUNTS).map(|counts| mean_visit(counts, all)).collect()
}

/// Mean number of rows by the same client, of rows with these counts among all of those.
fn mean_visit(counts: &[u32], all: &[u32]) -> f64 {
    let sum = |counts: &[u32]| counts.iter().map(|rows| f64::from(*rows)).sum::<f64>();
    let (buckets, all) = (&counts[..BUCKETS], &all[..BUCKETS]);
    let (known, rows, rows_all) = (sum(buckets), sum(counts), sum(all));
    let cluster = |(hits, of_bucket): (&u32, &u32)| {
        let (hits, of_bucket) = (f64::from(*hits), f64::from(*of_bucket));
        // Less the rows of other clients that are in a bucket by chance.
        let of_client = (of_bucket - (rows_all - of_bucket) / (BUCKETS - 1) as f64).max(hits);
        if hits > 0.0 { hits * hits * (hits / of_client) } else { 0.0 }
    };
    let squares: f64 = buckets.iter().zip(all).map(cluster).sum();
    // Clients that share a bucket by chance are not one.
    let own = (squares - known * known / BUCKETS as f64).max(known);
    if rows > 0.0 { (own + rows - known) / rows } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts_of(clients: impl IntoIterator<Item = (usize, u32)>) -> Vec<u32> {
        let mut counts = vec![0; COUNTS];
        for (client, rows) in clients {
            counts[FixedState::default().hash_one(client) as usize % BUCKETS] += rows;
        }
        counts
    }

    #[test]
    fn a_row_of_a_long_visit_is_one_of_many() {
        let crawler = counts_of([(1, 150)]);
        assert!((mean_visit(&crawler, &crawler) - 150.0).abs() < 0.2);
        // Among 20,000 rows of others.
        let others: Vec<u32> = counts_of((0..20_000).map(|client| (client, 1)));
        let all: Vec<u32> = others.iter().zip(&crawler).map(|(others, own)| others + own).collect();
        assert!((mean_visit(&crawler, &all) - 150.0).abs() < 15.0, "{}", mean_visit(&crawler, &all));
        assert!(mean_visit(&others, &all) < 1.3, "{}", mean_visit(&others, &all));
        // 100 rows of one client and 50 of as many: (100 * 100 + 50) / 150.
        let mixed = counts_of((2..52).map(|client| (client, 1)).chain([(1, 100)]));
        assert!((mean_visit(&mixed, &mixed) - 67.0).abs() < 1.5, "{}", mean_visit(&mixed, &mixed));
    }

    #[test]
    fn rows_of_a_client_that_has_many_others_are_no_visit() {
        // A proxy: 53 of its 20,000 rows.
        assert!((mean_visit(&counts_of([(1, 53)]), &counts_of([(1, 20_000)])) - 1.0).abs() < 1e-9);
        // Three that ask for the same thing all the time: a tenth of their rows.
        let pollers = |rows: u32| counts_of((0..3).map(|client| (client, rows)));
        let all: Vec<u32> =
            counts_of((3..5_000).map(|client| (client, 2))).iter().zip(&pollers(180)).map(|(others, own)| others + own).collect();
        let mean = mean_visit(&pollers(18), &all);
        assert!(mean < 3.0, "{mean}");
    }

    #[test]
    fn rows_without_a_known_client_are_taken_for_as_many_clients() {
        let nothing = vec![0; COUNTS];
        assert!((mean_visit(&nothing, &nothing) - 1.0).abs() < 1e-9);
        let mut unknown = nothing.clone();
        unknown[BUCKETS] = 10;
        assert!((mean_visit(&unknown, &unknown) - 1.0).abs() < 1e-9);
    }
}
