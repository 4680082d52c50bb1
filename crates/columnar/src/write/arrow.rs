//! Arrow IPC, the file format.

use super::counted::CountedWriter;
use super::failure::WriteFailure;
use super::{Codec, WriteSummary};
use crate::join::{BatchJoiner, JoinLimits};
use crate::limits::BATCH_BYTES_MAX;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use rorqual_pipe::Error;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Rows that gather for a batch, the same joined, and its buffers before and after compression.
pub(super) const BYTES: u64 = 4 * 2 * BATCH_BYTES_MAX as u64;

/// Writes batches. Values of dictionaries are written as they are: the file format has one
/// dictionary for a whole column, which would have to be known before the first row.
pub(super) struct ArrowWriter {
    name: String,
    schema: SchemaRef,
    file: Mutex<ArrowFile>,
}

struct ArrowFile {
    writer: FileWriter<CountedWriter>,
    written: WriteSummary,
    rows: BatchJoiner,
}

impl ArrowWriter {
    pub(super) fn new(file: Box<dyn Write + Send>, name: &str, schema: &SchemaRef, codec: Codec) -> Result<Self, Error> {
        let schema = Arc::new(Schema::new_with_metadata(
            schema.fields().iter().map(plain_field).collect::<Vec<_>>(),
            schema.metadata().clone(),
        ));
        let writer = writer(file, &schema, codec).map_err(|error| WriteFailure::from(error).error(name))?;
        let rows = BatchJoiner::new(Arc::clone(&schema), JoinLimits { bytes: BATCH_BYTES_MAX, rows: usize::MAX });
        let file = Mutex::new(ArrowFile { writer, written: WriteSummary::default(), rows });
        Ok(Self { name: name.to_owned(), schema, file })
    }

    /// A batch without dictionaries.
    pub(super) fn plain(&self, batch: &RecordBatch) -> Result<RecordBatch, Error> {
        let columns = batch.columns().iter().zip(self.schema.fields()).map(|(array, field)| plain_array(array, field));
        let columns = columns.collect::<Result<Vec<_>, _>>();
        let batch = columns.and_then(|columns| RecordBatch::try_new(Arc::clone(&self.schema), columns));
        batch.map_err(|error| WriteFailure::from(error).error(&self.name))
    }

    pub(super) fn push(&self, batch: RecordBatch) -> Result<(), Error> {
        self.file().push(batch).map_err(|error| WriteFailure::from(error).error(&self.name))
    }

    pub(super) fn finish(self) -> Result<WriteSummary, Error> {
        let mut file = self.file();
        let finished = file.rows.join().and_then(|rest| rest.map_or(Ok(()), |rest| file.write(&rest)));
        let finished = finished.and_then(|()| file.writer.finish());
        let finished = finished.and_then(|()| Ok(file.writer.get_mut().flush()?));
        finished.map_err(|error| WriteFailure::from(error).error(&self.name))?;
        Ok(WriteSummary { bytes: file.writer.get_ref().bytes, ..file.written })
    }

    fn file(&self) -> MutexGuard<'_, ArrowFile> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ArrowFile {
    fn push(&mut self, batch: RecordBatch) -> Result<(), ArrowError> {
        self.rows.push(batch)?.try_for_each(|batch| self.write(&batch))
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        self.written.rows += batch.num_rows() as u64;
        self.written.groups += 1;
        self.writer.write(batch)
    }
}

fn writer(file: Box<dyn Write + Send>, schema: &Schema, codec: Codec) -> Result<FileWriter<CountedWriter>, ArrowError> {
    let compression = match codec {
        Codec::None => None,
        Codec::Lz4 => Some(CompressionType::LZ4_FRAME),
        Codec::Zstd(_) => Some(CompressionType::ZSTD),
    };
    let mut options = IpcWriteOptions::default().try_with_compression(compression)?;
    if let Codec::Zstd(level) = codec {
        options = options.try_with_compression_level(Some(level.clamp(1, 22)))?;
    }
    FileWriter::try_new_with_options(CountedWriter::new(file), schema, options)
}

fn plain_array(array: &ArrayRef, field: &Field) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == field.data_type() { Ok(Arc::clone(array)) } else { cast(array, field.data_type()) }
}

fn plain_field(field: &FieldRef) -> FieldRef {
    let plain = match field.data_type() {
        DataType::Dictionary(_, values) => values.as_ref().clone(),
        DataType::Struct(children) => DataType::Struct(children.iter().map(plain_field).collect()),
        DataType::List(item) => DataType::List(plain_field(item)),
        DataType::LargeList(item) => DataType::LargeList(plain_field(item)),
        _ => return Arc::clone(field),
    };
    Arc::new(field.as_ref().clone().with_data_type(plain))
}
