//! Visits: rows that one client makes one after another.
//!
//! A value that hardly any other rows have shows no dispersion in the rest of the log: a crawler's
//! long visit is the first with its agent, and looks like an outage of as many rows. But the rows
//! of a visit are those of one client. So the rows themselves are taken as a sample of clusters,
//! whose design effect is the mean size of the cluster that a row is in (Kish, "Survey Sampling",
//! 1965, section 5.4).

use crate::candidates::CandidateTest;
use crate::columns::CLIENT;
use crate::dictionary::{NONE, OTHERS};
use crate::question::{SegmentRows, ViewQuestion};
use crate::segment::Segment;
use crate::store::Snapshot;
use crate::view::ViewError;
use foldhash::quality::FixedState;
use std::hash::BuildHasher;
use std::io;

/// Buckets that clients are counted in, by their hashes; for each set of tests 4 KiB a thread.
const BUCKETS: usize = 1_024;

/// Rows of a set of tests by client.
#[derive(Clone)]
struct ClientRows {
    buckets: Vec<u32>,
    /// Rows whose client is not known.
    alone: u64,
}

impl ClientRows {
    fn new() -> Self {
        Self { buckets: vec![0; BUCKETS], alone: 0 }
    }

    fn add(&mut self, hash: Option<u64>) {
        match hash {
            Some(hash) => self.buckets[hash as usize % BUCKETS] += 1,
            None => self.alone += 1,
        }
    }

    fn take(&mut self, other: &Self) {
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(own, more)| *own += more);
        self.alone += other.alone;
    }

    /// Mean number of the rows that the client of a row has, at least 1.
    fn mean_visit(&self) -> f64 {
        let known: f64 = self.buckets.iter().map(|rows| f64::from(*rows)).sum();
        let squares: f64 = self.buckets.iter().map(|rows| f64::from(*rows).powi(2)).sum();
        // Clients that share a bucket by chance are not one.
        let own = (squares - known * known / BUCKETS as f64).max(known);
        let rows = known + self.alone as f64;
        if rows > 0.0 { (own + self.alone as f64) / rows } else { 1.0 }
    }
}

impl ViewQuestion<'_> {
    /// For each of these sets of tests, the mean number of rows that the client of one of its rows
    /// has, of the rows asked about.
    pub(crate) fn visits(&self, snapshot: &Snapshot, sets: &[Vec<&CandidateTest>]) -> Result<Vec<f64>, ViewError> {
        let empty = || vec![ClientRows::new(); sets.len()];
        let work = |found: &mut Vec<ClientRows>, segment: &Segment, asked: &SegmentRows| {
            let clients = self.clients(segment)?;
            'sets: for (tests, found) in sets.iter().zip(found) {
                let mut bits = asked.inside.clone();
                for test in tests {
                    match test.select(segment, self.store)? {
                        Some(selected) => bits.and(&selected),
                        None => continue 'sets,
                    }
                }
                let mut rows = Vec::new();
                bits.list(&mut rows);
                rows.iter().for_each(|row| found.add(clients(usize::from(*row))));
            }
            Ok(())
        };
        let workers = self.pass(snapshot.segments.iter().enumerate(), empty, |asked| asked.inside.count() > 0, work)?;
        let mut joined = empty();
        workers.iter().for_each(|found| joined.iter_mut().zip(found).for_each(|(own, more)| own.take(more)));
        Ok(joined.iter().map(ClientRows::mean_visit).collect())
    }

    /// The hash of the client of a row.
    fn clients<'s>(&'s self, segment: &'s Segment) -> io::Result<impl Fn(usize) -> Option<u64> + 's> {
        let column = self.store.coded(segment, CLIENT)?;
        let uncoded = match column.uncoded {
            0 => None,
            _ => Some(segment.uncoded_hashes(CLIENT, self.store.spill.as_ref())?),
        };
        Ok(move |row: usize| {
            let uncoded = uncoded.as_ref().zip(column.uncoded_of(column.codes.get(row) as usize));
            match column.get(row) {
                _ if let Some((hashes, text)) = uncoded => hashes.get(text).copied(),
                NONE | OTHERS => None,
                code => Some(FixedState::default().hash_one(self.store.dictionaries[CLIENT].lock().text(code))),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows_of(clients: &[(u64, u32)]) -> ClientRows {
        let mut rows = ClientRows::new();
        for (client, count) in clients {
            (0..*count).for_each(|_| rows.add(Some(FixedState::default().hash_one(client))));
        }
        rows
    }

    #[test]
    fn a_row_of_a_long_visit_is_one_of_many() {
        assert!((rows_of(&[(1, 150)]).mean_visit() - 150.0).abs() < 0.2);
        // 100 rows of one client and 50 of as many: (100 * 100 + 50) / 150.
        let mixed: Vec<(u64, u32)> = (2..52).map(|client| (client, 1)).chain([(1, 100)]).collect();
        assert!((rows_of(&mixed).mean_visit() - 67.0).abs() < 1.0);
        let many: Vec<(u64, u32)> = (0..20_000).map(|client| (client, 1)).collect();
        assert!(rows_of(&many).mean_visit() < 1.2, "{}", rows_of(&many).mean_visit());
        let mut unknown = rows_of(&[]);
        assert!((unknown.mean_visit() - 1.0).abs() < 1e-9);
        (0..10).for_each(|_| unknown.add(None));
        assert!((unknown.mean_visit() - 1.0).abs() < 1e-9);
    }
}
