//! Files of one format as a table.

use super::context::{ScanContext, external};
use super::object::PiecesAhead;
use super::source::RecordSource;
use crate::limits::{OBJECT_STRETCH_BYTES, STRETCH_BYTES_MIN, STRETCHES_MAX};
use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, Statistics};
use datafusion::datasource::TableType;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::object_store::ObjectMeta;
use datafusion::physical_plan::ExecutionPlan;
use rorqual_columnar::RecordFormat;
use rorqual_pipe::limits::BLOCK_BYTES;
use rorqual_pipe::{Error, ErrorClass, FileVersion, Framing, HeldFile, Input};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A file of a table.
#[derive(Debug, Clone)]
pub(crate) struct RecordFile {
    /// Metadata of the file in the engine's object store.
    pub(crate) meta: ObjectMeta,
    pub(crate) place: OpenMode,
}

/// Way of opening a file.
#[derive(Debug, Clone)]
pub enum OpenMode {
    /// A file of this machine. A plain one is read by all workers side by side.
    Local {
        /// Its path.
        path: PathBuf,
        /// It is neither compressed nor of another encoding.
        is_plain: bool,
        /// State in which it was planned, and has to be read; `None` if another process planned it.
        version: Option<FileVersion>,
    },
    /// A stream that can be read once: standard input, a pipe.
    Once(Arc<OnceInput>),
    /// By its address, as a stream.
    Object {
        /// Its address.
        name: String,
    },
}

/// An input of which the first bytes were read to find out its format.
pub struct OnceInput {
    name: String,
    input: Mutex<Option<(Input, Option<HeldFile>)>>,
}

impl OnceInput {
    /// An input, and the file that it is where it is one.
    pub(crate) fn new(input: Input, held: Option<HeldFile>) -> Arc<Self> {
        Arc::new(Self { name: input.name().to_owned(), input: Mutex::new(Some((input, held))) })
    }

    /// The input, the first time.
    pub(crate) fn take(&self) -> Result<(Input, Option<HeldFile>)> {
        let input = self.input.lock().unwrap_or_else(PoisonError::into_inner).take();
        input.ok_or_else(|| external(Error::new(ErrorClass::Io, &self.name, "can be read only once; put it into a file first")))
    }
}

impl std::fmt::Debug for OnceInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OnceInput").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Files of one format.
#[derive(Debug)]
pub(crate) struct RecordTable {
    format: RecordFormat,
    schema: SchemaRef,
    store: ObjectStoreUrl,
    files: Vec<RecordFile>,
    context: Arc<ScanContext>,
}

impl RecordTable {
    pub(crate) fn new(
        format: RecordFormat,
        schema: SchemaRef,
        store: ObjectStoreUrl,
        files: Vec<RecordFile>,
        context: &Arc<ScanContext>,
    ) -> Arc<Self> {
        Arc::new(Self { format, schema, store, files, context: Arc::clone(context) })
    }

    /// True if a file of it has to be read in order, by blocks of its own.
    pub(crate) fn has_streams(&self) -> bool {
        !self.is_lines() || self.files.iter().any(|file| !matches!(file.place, OpenMode::Local { is_plain: true, .. }))
    }

    /// True if a file of it is in a store.
    pub(crate) fn has_objects(&self) -> bool {
        self.files.iter().any(|file| matches!(file.place, OpenMode::Object { .. }))
    }

    fn is_lines(&self) -> bool {
        matches!(self.format.framing(self.context.shares.record_bytes_max), Framing::Lines { .. } | Framing::LogLines { .. })
    }

    /// The files, or stretches of them, dealt out to partitions in order.
    fn groups(&self, partitions: usize, objects: Option<ObjectStretches>) -> Vec<FileGroup> {
        let total: u64 = self.files.iter().map(|file| file.meta.size).sum();
        let (least, most) = OBJECT_STRETCH_BYTES;
        let stretch = objects.map(|_| (total / partitions.max(1) as u64).clamp(least, most));
        let pieces: Vec<PartitionedFile> = self.files.iter().flat_map(|file| pieces(file, self.is_lines(), stretch)).collect();
        let partitions = partitions.min(pieces.len()).max(1);
        let mut groups: Vec<Vec<PartitionedFile>> = vec![Vec::new(); partitions];
        let each = pieces.len().div_ceil(partitions).max(1);
        for (number, piece) in pieces.into_iter().enumerate() {
            groups[number / each].push(piece);
        }
        groups.into_iter().filter(|group| !group.is_empty()).map(FileGroup::new).collect()
    }
}

/// Setting of a plan by which objects of lines are cut into stretches, which tasks of several
/// processes read. One process reads an object as a stream that all its threads decode.
#[derive(Debug, Clone, Copy)]
pub struct ObjectStretches;

/// Work of one partition at a time: a range of a plain file of lines, or of an object where that is
/// cut; otherwise the file.
fn pieces(file: &RecordFile, is_lines: bool, object_stretch: Option<u64>) -> Vec<PartitionedFile> {
    let whole = || PartitionedFile::new_from_meta(file.meta.clone()).with_extension(file.place.clone());
    let size = file.meta.size;
    let stretch = match &file.place {
        OpenMode::Local { is_plain: true, .. } => Some(STRETCH_BYTES_MIN),
        OpenMode::Object { name } => object_stretch.filter(|_| !has_encoding(name)),
        _ => None,
    };
    let Some(stretch) = stretch.filter(|_| is_lines) else { return vec![whole()] };
    let block = BLOCK_BYTES as u64;
    let stretch = stretch.max(size.div_ceil(STRETCHES_MAX)).next_multiple_of(block);
    let starts = (0..size.div_ceil(stretch)).map(|number| number * stretch);
    let end = |start: u64| (start + stretch).min(size);
    starts.map(|start| whole().with_range(start.cast_signed(), end(start).cast_signed())).collect()
}

/// True if the name of an object says that it is compressed.
pub(crate) fn has_encoding(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    ["gz", "gzip", "zst", "zstd", "bz2", "xz", "lzma", "lz4"].iter().any(|known| extension.eq_ignore_ascii_case(known))
}

#[async_trait]
impl TableProvider for RecordTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let ahead = state.config().get_extension::<PiecesAhead>().map(|ahead| (*ahead).clone()).unwrap_or_default();
        let objects = state.config().get_extension::<ObjectStretches>().map(|objects| *objects);
        let source = RecordSource::new(self.format.clone(), &self.schema, &self.context).within(filters).reading_ahead(ahead);
        let config = FileScanConfigBuilder::new(self.store.clone(), Arc::new(source))
            .with_file_groups(self.groups(state.config_options().execution.target_partitions, objects))
            .with_statistics(Statistics::new_unknown(&self.schema))
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        Ok(DataSourceExec::from_data_source(config))
    }

    /// A filter on the time leaves lines out early; the engine still looks at the others.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }
}
