//! Files of columns of this machine as a table, by the reader of every other verb: Arrow, and
//! Parquet with large pages. The engine's own takes the numbers of other machines for ours and a
//! file's word for its lengths, and holds all that is stored of a column in a row group beside two
//! of its pages.

use super::TableFactory;
use super::columns::ColumnsTable;
use super::widths::Widths;
use crate::limits::{ARROW_BATCH_COPIES, STREAM_BATCHES};
use crate::message;
use crate::scan::external;
use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, FieldRef, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, exec_datafusion_err, plan_datafusion_err, plan_err};
use datafusion::datasource::TableType;
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use rorqual_columnar::read::{RowChoice, TableFile, fit, merge, nullable_below, nulls_below};
use rorqual_pipe::{Error, ErrorClass, FileGrowth, FileVersion, HeldFile, Input};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc::Sender;

/// Operators have so many times less than the reader is told that there is: it takes an eighth for
/// a batch, of which there are copies.
const READER_FACTOR: u64 = 2;

impl TableFactory {
    /// A table over Arrow files.
    pub(super) fn arrow_files(&self, paths: &[HeldPath]) -> Result<Arc<dyn TableProvider>> {
        let memory_bytes = self.reader_bytes();
        let (mut schemas, mut whole_bytes) = (Vec::new(), 0);
        for (path, version) in paths {
            let (table, _) = open(path, version.as_ref(), memory_bytes)?;
            whole_bytes = whole_bytes.max(bytes(&table)?);
            schemas.push((table.name().to_owned(), SchemaRef::clone(table.schema())));
        }
        let schema = nullable_below(&merged(&schemas)?);
        let files = StreamedTable { null_structs: true, ..StreamedTable::of_files(schema, paths, memory_bytes) };
        Ok(streamed_table(files, whole_bytes))
    }

    /// A table over a stream that can be read once.
    pub(super) fn arrow_stream(&self, input: Input) -> Result<Arc<dyn TableProvider>> {
        let name = input.name().to_owned();
        let reader = input.into_reader(&self.context.stop()).map_err(external)?;
        let stream = TableFile::stream(reader, &name, self.reader_bytes()).map_err(external)?;
        let (schema, whole_bytes) = (nullable_below(stream.schema()), bytes(&stream)?);
        let sources = vec![Arc::new(StreamedSource::Once(name, Mutex::new(Some(stream))))];
        Ok(streamed_table(StreamedTable { schema, sources, null_structs: true }, whole_bytes))
    }

    /// Memory that a reader is told of.
    pub(super) fn reader_bytes(&self) -> u64 {
        match self.state.runtime_env().memory_pool.memory_limit() {
            MemoryLimit::Finite(bytes) => READER_FACTOR * bytes as u64,
            _ => u64::MAX,
        }
    }
}

/// The columns of several files, by their names. A column that has values of several types is a
/// text where no other type has them all, which is told: texts are in another order than numbers.
pub(super) fn merged(schemas: &[(String, SchemaRef)]) -> Result<SchemaRef> {
    let [(_, own), others @ ..] = schemas else { return plan_err!("there is no file") };
    if others.iter().all(|(_, schema)| schema.fields() == own.fields()) {
        return Ok(SchemaRef::clone(own));
    }
    let schema = merge(schemas.iter().map(|(name, schema)| (name.as_str(), SchemaRef::clone(schema)))).map_err(external)?;
    for field in schema.fields().iter().filter(|field| field.data_type().is_string()) {
        let types =
            schemas.iter().filter_map(|(file, schema)| Some((file, schema.field_with_name(field.name()).ok()?.data_type())));
        if let Some((file, other)) = types.into_iter().find(|(_, data_type)| !is_text(data_type)) {
            let name = field.name();
            message::note(&format!(
                "the column '{name}' is a text, as its types differ (in {file} it is {other}): CAST({name} AS DOUBLE) makes a number \
                 of it"
            ));
        }
    }
    Ok(schema)
}

/// True if texts of a column are what they were in a file, or there are none.
fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_text(values),
        other => other.is_string() || other.is_null(),
    }
}

pub(super) fn streamed_table(files: StreamedTable, whole_bytes: u64) -> Arc<dyn TableProvider> {
    Arc::new(ColumnsTable::new(Arc::new(files), Widths::of_whole(whole_bytes)))
}

/// Memory of reading each Arrow file.
fn bytes(table: &TableFile) -> Result<u64> {
    let batches = ARROW_BATCH_COPIES.saturating_mul(table.batch_bytes_max().map_err(external)?);
    Ok(table.footer_bytes().saturating_add(batches))
}

/// A file of this machine, and the state in which it has to be read.
pub(super) type HeldPath = (PathBuf, Option<FileVersion>);

fn open(path: &Path, version: Option<&FileVersion>, memory_bytes: u64) -> Result<(TableFile, Option<HeldFile>)> {
    let name = path.to_string_lossy();
    let input = Input::open(path).map_err(external)?;
    let held = version.map(|version| input.held(version, FileGrowth::Refused)).transpose().map_err(external)?.flatten();
    let file = input.file_again().map_err(external)?;
    let file = file.ok_or_else(|| exec_datafusion_err!("{name}: is not a plain file"))?;
    let table = TableFile::open(file, &name, memory_bytes).map_err(external)?;
    Ok((table.ok_or_else(|| plan_datafusion_err!("{name}: is no file of columns"))?, held))
}

/// Files of columns that are each read in order, batch by batch.
#[derive(Debug)]
pub(super) struct StreamedTable {
    schema: SchemaRef,
    sources: Vec<Arc<StreamedSource>>,
    /// Fields of a struct that is null may have values.
    null_structs: bool,
}

enum StreamedSource {
    /// A file, and the memory that it is read within.
    File(HeldPath, u64),
    /// A stream, until it is read.
    Once(String, Mutex<Option<TableFile>>),
}

impl StreamedTable {
    pub(super) fn of_files(schema: SchemaRef, paths: &[HeldPath], memory_bytes: u64) -> Self {
        let source = |path: &HeldPath| Arc::new(StreamedSource::File(path.clone(), memory_bytes));
        Self { schema, sources: paths.iter().map(source).collect(), null_structs: false }
    }

    /// The files dealt out to partitions in order, each of which reads one after another.
    fn partitions(&self, count: usize, projection: Option<&Vec<usize>>) -> Result<Vec<Arc<dyn PartitionStream>>> {
        let schema = match projection {
            Some(columns) => Arc::new(self.schema.project(columns)?),
            None => SchemaRef::clone(&self.schema),
        };
        let each = self.sources.len().div_ceil(count.max(1)).max(1);
        let partition = |sources: &[Arc<StreamedSource>]| -> Arc<dyn PartitionStream> {
            let (schema, null_structs) = (SchemaRef::clone(&schema), self.null_structs);
            Arc::new(StreamedPartition { schema, sources: sources.to_vec(), null_structs })
        };
        Ok(self.sources.chunks(each).map(partition).collect())
    }
}

#[async_trait]
impl TableProvider for StreamedTable {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let partitions = self.partitions(state.config_options().execution.target_partitions, projection)?;
        let schema = SchemaRef::clone(partitions.first().map_or(&self.schema, |partition| partition.schema()));
        Ok(Arc::new(StreamingTableExec::try_new(schema, partitions, None, [], false, limit)?))
    }
}

impl std::fmt::Debug for StreamedSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File((path, _), _) => f.debug_tuple("File").field(path).finish(),
            Self::Once(name, _) => f.debug_tuple("Once").field(name).finish(),
        }
    }
}

impl StreamedSource {
    fn open(&self) -> Result<(TableFile, Option<HeldFile>)> {
        match self {
            Self::File((path, version), memory_bytes) => open(path, version.as_ref(), *memory_bytes),
            Self::Once(name, stream) => {
                let stream = stream.lock().unwrap_or_else(PoisonError::into_inner).take();
                stream
                    .map(|stream| (stream, None))
                    .ok_or_else(|| external(Error::new(ErrorClass::Io, name, "can be read only once; put it into a file first")))
            }
        }
    }

    /// Hands over the columns of `schema`; with `null_structs` the fields of these are nulls. False
    /// after an error, or if nobody wants more rows.
    fn send(&self, schema: &SchemaRef, null_structs: bool, sender: &Sender<Result<RecordBatch>>) -> Result<bool> {
        let (table, held) = self.open()?;
        // A file of several may not have all columns.
        let own = table.schema().fields();
        let wanted = own.iter().filter(|field| schema.field_with_name(field.name()).is_ok());
        let mut columns: Vec<String> = wanted.map(|field| field.name().clone()).collect();
        if columns.is_empty() {
            // Rows have to be counted, by as little as may be.
            let is_narrow = |field: &&FieldRef| field.data_type().is_primitive();
            columns.extend(own.iter().find(is_narrow).or(own.first()).map(|field| field.name().clone()));
        }
        let columns = (!columns.is_empty()).then_some(&columns[..]);
        for batch in table.batches(columns, &RowChoice::All).map_err(external)? {
            let batch = batch.and_then(|batch| fit(&batch, schema, table.name()));
            // Of a file that changed, any error may be one of the mixture.
            let batch = held.as_ref().map_or(Ok(()), HeldFile::check).and(batch).map_err(external);
            let batch = match batch {
                Ok(batch) if null_structs => nulls_below(&batch, schema).map_err(Into::into),
                other => other,
            };
            let failed = batch.is_err();
            if sender.blocking_send(batch).is_err() || failed {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The rows of one input after another.
#[derive(Debug)]
struct StreamedPartition {
    schema: SchemaRef,
    sources: Vec<Arc<StreamedSource>>,
    null_structs: bool,
}

impl PartitionStream for StreamedPartition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut rows = RecordBatchReceiverStreamBuilder::new(SchemaRef::clone(&self.schema), STREAM_BATCHES);
        let (sender, sources, schema) = (rows.tx(), self.sources.clone(), SchemaRef::clone(&self.schema));
        let null_structs = self.null_structs;
        rows.spawn_blocking(move || {
            for source in sources {
                if !source.send(&schema, null_structs, &sender)? {
                    break;
                }
            }
            Ok(())
        });
        rows.build()
    }
}
