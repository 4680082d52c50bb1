//! Arrow IPC of this machine as a table: files and streams, by the reader of every other verb. The
//! engine's own takes the numbers of other machines for ours, and a file's word for its lengths.

use super::TableFactory;
use super::columns::ColumnsTable;
use super::widths::Widths;
use crate::limits::{ARROW_BATCH_COPIES, STREAM_BATCHES};
use crate::scan::external;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::{Result, exec_datafusion_err, plan_datafusion_err};
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::PartitionStream;
use rorqual_columnar::read::{RowChoice, TableFile, fit, merge};
use rorqual_pipe::{Error, ErrorClass, Input};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Operators have so many times less than the reader is told that there is: it takes an eighth for
/// a batch, of which there are copies.
const READER_FACTOR: u64 = 2;

impl TableFactory {
    /// A table over Arrow files.
    pub(super) fn arrow_files(&self, paths: &[PathBuf]) -> Result<Arc<dyn TableProvider>> {
        let memory_bytes = self.reader_bytes();
        let (mut schemas, mut whole_bytes) = (Vec::new(), 0);
        for path in paths {
            let table = open(path, memory_bytes)?;
            whole_bytes = whole_bytes.max(bytes(&table)?);
            schemas.push((table.name().to_owned(), SchemaRef::clone(table.schema())));
        }
        let schema = match &schemas[..] {
            [(_, schema)] => SchemaRef::clone(schema),
            all => merge(all.iter().map(|(name, schema)| (name.as_str(), SchemaRef::clone(schema)))).map_err(external)?,
        };
        let file = |path: &PathBuf| ArrowSource::File(path.clone(), memory_bytes);
        table(&schema, paths.iter().map(file), whole_bytes)
    }

    /// A table over a stream that can be read once.
    pub(super) fn arrow_stream(&self, input: Input) -> Result<Arc<dyn TableProvider>> {
        let name = input.name().to_owned();
        let reader = input.into_reader(&self.context.stop()).map_err(external)?;
        let stream = TableFile::stream(reader, &name, self.reader_bytes()).map_err(external)?;
        let (schema, whole_bytes) = (SchemaRef::clone(stream.schema()), bytes(&stream)?);
        table(&schema, std::iter::once(ArrowSource::Once(name, Mutex::new(Some(stream)))), whole_bytes)
    }

    fn reader_bytes(&self) -> u64 {
        match self.state.runtime_env().memory_pool.memory_limit() {
            MemoryLimit::Finite(bytes) => READER_FACTOR * bytes as u64,
            _ => u64::MAX,
        }
    }
}

/// Memory of reading each file.
fn bytes(table: &TableFile) -> Result<u64> {
    let batches = ARROW_BATCH_COPIES.saturating_mul(table.batch_bytes_max().map_err(external)?);
    Ok(table.footer_bytes().saturating_add(batches))
}

fn open(path: &Path, memory_bytes: u64) -> Result<TableFile> {
    let name = path.to_string_lossy();
    let file = Input::open(path).and_then(|input| input.file_again()).map_err(external)?;
    let file = file.ok_or_else(|| exec_datafusion_err!("{name}: is no plain file"))?;
    let table = TableFile::open(file, &name, memory_bytes).map_err(external)?;
    table.ok_or_else(|| plan_datafusion_err!("{name}: is no Arrow file"))
}

fn table(schema: &SchemaRef, sources: impl Iterator<Item = ArrowSource>, whole_bytes: u64) -> Result<Arc<dyn TableProvider>> {
    let partition = |source| -> Arc<dyn PartitionStream> {
        Arc::new(Partition { schema: SchemaRef::clone(schema), source: Arc::new(source) })
    };
    let partitions = sources.map(partition).collect();
    let table = StreamingTable::try_new(SchemaRef::clone(schema), partitions)?;
    Ok(Arc::new(ColumnsTable::new(Arc::new(table), Widths::of_whole(whole_bytes))))
}

/// The rows of one input.
#[derive(Debug)]
struct Partition {
    schema: SchemaRef,
    source: Arc<ArrowSource>,
}

enum ArrowSource {
    /// A file, and the memory that it is read within.
    File(PathBuf, u64),
    /// A stream, until it is read.
    Once(String, Mutex<Option<TableFile>>),
}

impl std::fmt::Debug for ArrowSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path, _) => f.debug_tuple("File").field(path).finish(),
            Self::Once(name, _) => f.debug_tuple("Once").field(name).finish(),
        }
    }
}

impl ArrowSource {
    fn open(&self) -> Result<TableFile> {
        match self {
            Self::File(path, memory_bytes) => open(path, *memory_bytes),
            Self::Once(name, stream) => {
                let stream = stream.lock().unwrap_or_else(PoisonError::into_inner).take();
                stream
                    .ok_or_else(|| external(Error::new(ErrorClass::Io, name, "can be read only once; put it into a file first")))
            }
        }
    }
}

impl PartitionStream for Partition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut rows = RecordBatchReceiverStreamBuilder::new(SchemaRef::clone(&self.schema), STREAM_BATCHES);
        let (sender, source, schema) = (rows.tx(), Arc::clone(&self.source), SchemaRef::clone(&self.schema));
        rows.spawn_blocking(move || {
            let table = source.open()?;
            for batch in table.batches(None, &RowChoice::All).map_err(external)? {
                let batch: Result<RecordBatch> = batch.and_then(|batch| fit(&batch, &schema, table.name())).map_err(external);
                let failed = batch.is_err();
                // Nobody wants more, or there is no more.
                if sender.blocking_send(batch).is_err() || failed {
                    break;
                }
            }
            Ok(())
        });
        rows.build()
    }
}
