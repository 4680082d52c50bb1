//! Counts of all rows in a journal, so that the first view of a restored store reads no segment.
//!
//! The first record says which segments are counted, and has the distributions and the rows over
//! time. The others have the amounts of each code, a column after another, then the tallies of
//! texts without a code, and then those of these texts that have got a code for answers.

use crate::dictionary::{NamedTexts, PLACES_MAX};
use crate::file_bytes::{NumberBytes, damaged, pack, unpacked};
use crate::journal_record::{JournalRecord, RecordKind};
use crate::limits::{BUCKETS_MAX, PIECE_BYTES_MAX};
use crate::sparse_counts::RowsAndBytes;
use crate::spill::Spill;
use crate::store::Snapshot;
use crate::sums::{Distributions, Sums};
use crate::time_axis::{Axis, BANDS, Grid};
use crate::uncoded_counts::{UncodedTallies, UncodedTally};
use crate::view_cache::{Base, BaseGrid, WholeLog};
use rorqual_accesslog::filter::CLASSES;
use serde::{Deserialize, Serialize};
use std::io;
use std::iter::repeat_n;
use std::sync::Arc;

/// Bytes of a code with its rows and their response sizes.
const AMOUNT_BYTES: usize = 4 + 8 + 8;

/// Bytes of a piece, before it is packed.
const PIECE_MAX: usize = 4 * PIECE_BYTES_MAX;

/// All of the counts but the amounts by code.
#[derive(Serialize, Deserialize)]
struct SavedCounts {
    /// For each segment, whether it is counted.
    included: Vec<bool>,
    rows: u64,
    bytes: u64,
    spreads: Distributions,
    /// Texts of each counted column that had a code for answers.
    named: Vec<usize>,
    /// Counted columns with a tally, whose records are the last ones.
    tallies: Vec<usize>,
    /// Counted columns that have none, as there were too many others.
    refused: Vec<usize>,
    /// Rows over time: by class, and by how long they took.
    grid: Option<(Axis, Grid, Grid)>,
}

impl Base {
    /// Appends the counts to a journal, with the texts of each counted column that have got a code
    /// for answers. Where the first record is, and their number; `None` where there are no counts.
    pub(crate) fn store(&self, names: &[NamedTexts], journal: &Spill) -> io::Result<Option<(u64, u32)>> {
        let Some(whole) = &self.whole else { return Ok(None) };
        let saved = SavedCounts {
            included: self.included.to_vec(),
            rows: whole.sums.all.hits,
            bytes: whole.sums.all.bytes,
            spreads: whole.spreads.clone(),
            named: names.iter().map(Vec::len).collect(),
            tallies: whole.tallies.columns().map(|(column, _)| column).collect(),
            refused: whole.tallies.refused().to_vec(),
            grid: self.grid.as_ref().map(|grid| (grid.axis, grid.classes.clone(), grid.bands.clone())),
        };
        let first = append(journal, &serde_json::to_vec(&saved)?)?;
        let mut records = 1;
        for (column, counts) in (0u16..).zip(&whole.sums.columns) {
            let mut amounts = counts.iter().peekable();
            while amounts.peek().is_some() {
                let mut piece = column.to_le_bytes().to_vec();
                for (code, RowsAndBytes { hits, bytes }) in amounts.by_ref().take(PIECE_BYTES_MAX / AMOUNT_BYTES) {
                    piece.extend_from_slice(&code.to_le_bytes());
                    piece.extend_from_slice(&hits.to_le_bytes());
                    piece.extend_from_slice(&bytes.to_le_bytes());
                }
                append(journal, &piece)?;
                records += 1;
            }
        }
        for (_, tally) in whole.tallies.columns() {
            let mut piece = Vec::new();
            tally.write(&mut piece);
            append(journal, &piece)?;
            records += 1;
        }
        for (hash, text) in names.iter().flatten() {
            append(journal, &[&hash.to_le_bytes(), &text[..]].concat())?;
            records += 1;
        }
        Ok(Some((first, records)))
    }

    /// The counts of these records, of a store with these segments, whose dictionaries are so long.
    /// `name` gives a text of a counted column a code for answers, and is false where it can't.
    ///
    /// # Errors
    /// When they can't be read, or are not those of these segments.
    pub(crate) fn restored(
        mut records: impl ExactSizeIterator<Item = io::Result<Vec<u8>>>,
        snapshot: &Snapshot,
        lengths: &[usize],
        name: impl Fn(usize, u64, &[u8]) -> bool,
    ) -> io::Result<Self> {
        let first = unpacked(&records.next().ok_or_else(damaged)??, PIECE_MAX)?;
        let saved: SavedCounts = serde_json::from_slice(&first).map_err(|_| damaged())?;
        if !saved.is_of(snapshot, lengths.len()) {
            return Err(damaged());
        }
        let names: Vec<usize> = (0..).zip(&saved.named).flat_map(|(column, count)| repeat_n(column, *count)).collect();
        let of_codes = records.len().checked_sub(saved.tallies.len() + names.len()).ok_or_else(damaged)?;
        let all = RowsAndBytes { hits: saved.rows, bytes: saved.bytes };
        let mut sums = Sums { all, ..Sums::new(lengths) };
        let mut hits = vec![0u64; lengths.len()];
        for record in records.by_ref().take(of_codes) {
            take_amounts(&unpacked(&record?, PIECE_MAX)?, &mut sums, lengths, &mut hits).ok_or_else(damaged)?;
        }
        sums.settle();
        // Each row has a value in each column, be it the absent one.
        if hits.iter().any(|hits| *hits != saved.rows) {
            return Err(damaged());
        }
        let tallies = saved.tallies.into_iter().zip(records.by_ref()).map(|(column, record)| {
            let tally = UncodedTally::read(&unpacked(&record?, PIECE_MAX)?, saved.rows).ok_or_else(damaged)?;
            Ok((column, tally))
        });
        let tallies = tallies.collect::<io::Result<_>>()?;
        let tallies = UncodedTallies::of_columns(tallies, saved.refused).ok_or_else(damaged)?;
        for (column, record) in names.into_iter().zip(records) {
            let record = unpacked(&record?, PIECE_MAX)?;
            let mut text = &record[..];
            let is_named = u64::take(&mut text).is_some_and(|hash| name(column, hash, text));
            is_named.then_some(()).ok_or_else(damaged)?;
        }
        let included = Arc::new(saved.included);
        let grid = saved.grid.map(|(axis, classes, bands)| {
            let included = Arc::clone(&included);
            Arc::new(BaseGrid { included, axis, classes, bands })
        });
        let whole = Some(Arc::new(WholeLog { sums, tallies, spreads: saved.spreads }));
        Ok(Self { included, named: Arc::new(saved.named), whole, grid })
    }
}

impl SavedCounts {
    /// True if they may be those of these segments, with so many counted columns.
    fn is_of(&self, snapshot: &Snapshot, columns: usize) -> bool {
        let counted = snapshot.segments.iter().zip(&self.included).filter(|(_, included)| **included);
        let rows: u64 = counted.clone().map(|(segment, _)| segment.rows as u64).sum();
        let grid = self.grid.as_ref().is_none_or(|(axis, classes, bands)| {
            axis.is_sound(BUCKETS_MAX + 1)
                && classes.is_of(axis.buckets, CLASSES.len(), rows)
                && bands.is_of(axis.buckets, BANDS, rows)
        });
        let mut of_columns = self.tallies.iter().chain(&self.refused);
        self.included.len() <= snapshot.segments.len()
            && self.named.len() == columns
            && self.named.iter().all(|names| *names as u64 <= PLACES_MAX)
            && of_columns.all(|column| *column < columns)
            && self.tallies.is_sorted_by(|a, b| a < b)
            && counted.clone().all(|(segment, _)| segment.complete)
            && rows == self.rows
            && self.spreads.is_sound(rows)
            && grid
    }
}

fn append(journal: &Spill, piece: &[u8]) -> io::Result<u64> {
    let mut record = JournalRecord::new(RecordKind::Counts);
    pack(piece, record.bytes());
    journal.append(record)
}

/// Adds the amounts of a piece, and their rows to those of their column.
fn take_amounts(mut piece: &[u8], sums: &mut Sums, lengths: &[usize], hits_of: &mut [u64]) -> Option<()> {
    let column = usize::from(u16::take(&mut piece)?);
    let (length, sum) = (*lengths.get(column)?, hits_of.get_mut(column)?);
    let mut amounts = Vec::with_capacity(piece.len() / AMOUNT_BYTES);
    while !piece.is_empty() {
        let code = u32::take(&mut piece).filter(|code| (*code as usize) < length)?;
        let amount = RowsAndBytes { hits: u64::take(&mut piece)?, bytes: u64::take(&mut piece)? };
        *sum = sum.checked_add(amount.hits)?;
        amounts.push((code, amount));
    }
    sums.columns.get_mut(column)?.add_each(amounts.into_iter());
    Some(())
}
