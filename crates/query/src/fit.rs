//! Fit of a query to the memory: the memory of its tables while they are read, and the number that
//! are read side by side for that.

use crate::budget::QueryShares;
use crate::limits::{BATCH_BYTES_MAX, BATCH_ROWS, OBJECT_PIECE_BYTES, PIECES_AHEAD_EACH, PIECES_AHEAD_MAX};
use crate::scan::RecordTable;
use crate::tables::ColumnsTable;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, resources_datafusion_err};
use datafusion::datasource::source_as_provider;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::logical_expr::{LogicalPlan, TableScan};
use rorqual_pipe::format_size;
use std::any::Any;
use std::sync::Arc;

/// Holder of the pieces of objects that are read ahead, in messages.
const PIECES_AHEAD_NAME: &str = "pieces of objects that are read ahead";

/// Needs of a query's tables.
pub(crate) struct QueryFit {
    readers: Vec<TableReader>,
    /// Partitions of the plan.
    pub(crate) partitions: usize,
    /// Rows of a batch.
    pub(crate) batch_rows: usize,
    /// Pieces of objects that are read ahead.
    pub(crate) pieces_ahead: usize,
}

/// Memory of a table while it is read.
struct TableReader {
    name: String,
    what: TableUse,
    /// Some of its streams are objects of a store.
    reads_objects: bool,
}

enum TableUse {
    /// Streams: blocks, decoder, rows of the threads.
    Streams,
    /// Row groups of so many bytes, by each partition.
    Groups(u64),
}

impl QueryFit {
    /// Needs of the tables of an optimized plan.
    ///
    /// # Errors
    /// When they can't be read in this memory, even one partition at a time.
    pub(crate) fn of(plan: &LogicalPlan, shares: &QueryShares) -> Result<Self> {
        let (mut readers, mut row_bytes) = (Vec::new(), 1);
        plan.apply_with_subqueries(|node| {
            if let LogicalPlan::TableScan(scan) = node {
                let (reader, bytes) = reader(scan)?;
                readers.extend(reader);
                row_bytes = row_bytes.max(bytes);
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        let sum = |partitions: usize| readers.iter().map(|reader| reader.bytes(partitions, shares)).fold(0, u64::saturating_add);
        // Half is for the work on the rows.
        let half = shares.rest_bytes() / 2;
        let partitions = (1..=shares.threads).rev().find(|partitions| sum(*partitions) <= half).unwrap_or(1);
        let pieces_fitting = half.saturating_sub(sum(partitions)) / OBJECT_PIECE_BYTES;
        let reads_objects = readers.iter().any(|reader| reader.reads_objects);
        let pieces_max = if reads_objects { PIECES_AHEAD_MAX.max(partitions * PIECES_AHEAD_EACH) } else { 0 };
        let batch_rows = (BATCH_BYTES_MAX as u64 / row_bytes).clamp(1, BATCH_ROWS as u64) as usize;
        Ok(Self { partitions, readers, batch_rows, pieces_ahead: pieces_max.min(pieces_fitting as usize) })
    }

    /// Takes the readers' memory from that of the operators, until it is dropped.
    ///
    /// # Errors
    /// When there is not so much; the error says for which table.
    pub(crate) fn reserve(&self, pool: &Arc<dyn MemoryPool>, shares: &QueryShares) -> Result<Vec<MemoryReservation>> {
        let ahead = (PIECES_AHEAD_NAME, self.pieces_ahead as u64 * OBJECT_PIECE_BYTES);
        let readers = self.readers.iter().map(|reader| (&*reader.name, reader.bytes(self.partitions, shares)));
        let reserve = |(name, bytes): (&str, u64)| {
            let reservation = MemoryConsumer::new(name).register(pool);
            let taken = reservation.try_grow(shares.as_operators(bytes) as usize);
            taken.map(|()| reservation).map_err(|_| self.too_much(shares))
        };
        readers.chain((self.pieces_ahead > 0).then_some(ahead)).map(reserve).collect()
    }

    fn too_much(&self, shares: &QueryShares) -> datafusion::error::DataFusionError {
        let each = |reader: &TableReader| format!("{} for {}", format_size(reader.bytes(self.partitions, shares)), reader.name);
        let sum: Vec<String> = self.readers.iter().map(each).collect();
        resources_datafusion_err!(
            "reading its tables takes {}, and there are {} beside the program. Fewer columns or a smaller --record-max take less, and \
             `rorqual convert` makes smaller row groups",
            sum.join(", "),
            format_size(shares.rest_bytes())
        )
    }
}

impl TableReader {
    fn bytes(&self, partitions: usize, shares: &QueryShares) -> u64 {
        let each = match self.what {
            TableUse::Streams => shares.stream_bytes(shares.stream_threads(partitions)),
            TableUse::Groups(bytes) => bytes,
        };
        each.saturating_mul(partitions as u64)
    }
}

/// Memory of a table, and of a row of it where that is known.
fn reader(scan: &TableScan) -> Result<(Option<TableReader>, u64)> {
    let provider = source_as_provider(&scan.source)?;
    let provider: &dyn Any = provider.as_ref();
    let name = scan.table_name.table();
    if let Some(table) = provider.downcast_ref::<RecordTable>() {
        let streams = TableReader {
            name: format!("blocks, decoder and rows of {name} (a stream)"),
            what: TableUse::Streams,
            reads_objects: table.has_objects(),
        };
        return Ok((table.has_streams().then_some(streams), 0));
    }
    let Some(table) = provider.downcast_ref::<ColumnsTable>() else { return Ok((None, 0)) };
    let columns = scan.projection.as_ref();
    let group_bytes = table.group_bytes(columns);
    let groups = TableReader { name: format!("row groups of {name}"), what: TableUse::Groups(group_bytes), reads_objects: false };
    Ok((Some(groups), table.row_bytes(columns)))
}
