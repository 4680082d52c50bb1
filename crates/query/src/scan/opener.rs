//! Opens what a scan reads.

use super::table::Place;
use super::tally::Tally;
use super::{ScanContext, external, stream, stretches};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::internal_datafusion_err;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileOpenFuture, FileOpener};
use datafusion::object_store::{ObjectStore, ObjectStoreExt};
use futures::FutureExt;
use futures::stream::BoxStream;
use rorqual_pipe::{Chunk, Error, Input, Kind};
use rorqual_rows::{Decode, Decoded, Format, Unplaced, log};
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

/// The column of what has no column.
const REST: &str = "_rest";

/// Opens files of one scan.
#[derive(Clone)]
pub(crate) struct RecordOpener {
    pub(crate) format: Format,
    /// The columns that are asked for.
    pub(crate) schema: SchemaRef,
    /// All columns.
    pub(crate) table: SchemaRef,
    pub(crate) span_us: Option<RangeInclusive<i64>>,
    pub(crate) batch_rows: usize,
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) context: Arc<ScanContext>,
    pub(crate) tally: Arc<Tally>,
}

impl RecordOpener {
    pub(crate) fn decoder(&self) -> Box<dyn Decode> {
        match &self.format {
            Format::Log(format) => Box::new(log::Decoder::new(format, &self.schema).within(self.span_us.clone())),
            // What has no column can only be told by who knows all columns.
            format if self.schema.index_of(REST).is_ok() => {
                let columns = self.schema.fields().iter().filter_map(|field| self.table.index_of(field.name()).ok()).collect();
                Box::new(Narrowed {
                    decoder: format.decoder(&self.table, Unplaced::Keep, self.context.shares.record_bytes_max),
                    columns,
                })
            }
            format => format.decoder(&self.schema, Unplaced::Ignore, self.context.shares.record_bytes_max),
        }
    }

    fn local(
        &self,
        path: &Path,
        range: Option<(u64, u64)>,
    ) -> datafusion::common::Result<BoxStream<'static, datafusion::common::Result<RecordBatch>>> {
        let input = Input::open(path).map_err(external)?;
        let framing = self.format.framing(self.context.shares.record_bytes_max);
        match range {
            Some(range) => match input.into_stretches(framing, &self.context.control) {
                Ok(file) => Ok(stretches::read(self, path, file, range)),
                Err(_) => Err(internal_datafusion_err!("{}: is no plain file any more", path.display())),
            },
            None => stream::read(self, input),
        }
    }
}

/// Some columns of what another decodes.
struct Narrowed {
    decoder: Box<dyn Decode>,
    columns: Vec<usize>,
}

impl Decode for Narrowed {
    fn decode(&mut self, chunk: &Chunk) -> Result<Decoded, Error> {
        let mut decoded = self.decoder.decode(chunk)?;
        for batch in &mut decoded.batches {
            let narrowed = batch.project(&self.columns);
            *batch = narrowed.map_err(|error| Error::new(Kind::Corrupt, "", error.to_string()).at(chunk.offset))?;
        }
        Ok(decoded)
    }
}

impl FileOpener for RecordOpener {
    fn open(&self, file: PartitionedFile) -> datafusion::common::Result<FileOpenFuture> {
        let range = file.range.as_ref().map(|range| (range.start.cast_unsigned(), range.end.cast_unsigned()));
        let opener = self.clone();
        Ok(async move {
            match file.extension::<Place>() {
                Some(Place::Local { path, .. }) => opener.local(path, range),
                Some(Place::Once(once)) => stream::read(&opener, once.take()?),
                Some(Place::Object { name }) => {
                    let bytes = opener.store.get(&file.object_meta.location).await?.into_stream();
                    stream::read(&opener, Input::from_reader(name, Box::new(stream::ObjectReader::new(bytes))))
                }
                None => Err(internal_datafusion_err!("{}: a scan without a place", file.object_meta.location)),
            }
        }
        .boxed())
    }
}
