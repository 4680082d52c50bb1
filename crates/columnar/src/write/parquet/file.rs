//! The file: row groups, their page indexes, and the footer.
//!
//! The footer comes last and names every column of every row group, and readers take all page
//! indexes as one piece before it; so their metadata grows with the file. Of a row group that is
//! written only its encoded entry is kept, about 150 bytes a column, and its encoded page index, as
//! long as that is a quarter of the footer's limit; the library would keep several times as much.

use crate::limits::GROUPS_MAX;
use crate::setting::ROW_GROUP;
use crate::thrift::{ThriftError, footer_places, push_footer_rows};
use crate::write::WriteSummary;
use crate::write::counted::CountedWriter;
use crate::write::failure::WriteFailure;
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_writer::ArrowColumnChunk;
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::bloom_filter::Sbbf;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, FooterTail, ParquetMetaData, ParquetMetaDataBuilder, ParquetMetaDataReader,
    ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::OffsetIndexMetaData;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::SchemaDescPtr;
use rorqual_pipe::format_size;
use rorqual_pipe::setting::MEMORY;
use std::io::Write;
use std::sync::Arc;

const MAGIC: &[u8] = b"PAR1";

/// Part of the footer's limit for page indexes.
const INDEX_SHARE: usize = 4;

/// Bytes after a footer: its length and the magic.
const TAIL_BYTES: usize = 8;

/// A file that grows by row groups.
pub(super) struct ParquetFile {
    out: TrackedWrite<CountedWriter>,
    properties: WriterPropertiesPtr,
    /// Metadata of a file without rows.
    about: FileMetaData,
    /// Entries of the row groups in the footer, encoded, with the places of their indexes in
    /// `indexes`; and the end of each.
    groups: Vec<u8>,
    ends: Vec<usize>,
    indexes: Vec<u8>,
    footer_bytes_max: usize,
    written: WriteSummary,
}

/// Parts of a row group that is closed.
struct Closed {
    group: RowGroupMetaData,
    blooms: Vec<Option<Sbbf>>,
    columns: Vec<Option<ColumnIndexMetaData>>,
    offsets: Vec<Option<OffsetIndexMetaData>>,
}

impl ParquetFile {
    pub(super) fn new(file: Box<dyn Write + Send>, schema: &SchemaRef, footer_bytes_max: usize) -> Result<Self> {
        let mut properties =
            WriterProperties::builder().set_created_by(concat!("rorqual ", env!("CARGO_PKG_VERSION")).to_owned()).build();
        add_encoded_arrow_schema_to_metadata(schema, &mut properties);
        let properties = Arc::new(properties);
        let root = ArrowSchemaConverter::new().convert(schema)?.root_schema_ptr();
        let about = SerializedFileWriter::new(std::io::sink(), root, Arc::clone(&properties))?.close()?.file_metadata().clone();
        let mut out = TrackedWrite::new(CountedWriter::new(file));
        out.write_all(MAGIC)?;
        Ok(Self {
            out,
            properties,
            about,
            groups: Vec::new(),
            ends: Vec::new(),
            indexes: Vec::new(),
            footer_bytes_max,
            written: WriteSummary::default(),
        })
    }

    /// Writes a row group of these columns.
    pub(super) fn append(&mut self, chunks: impl Iterator<Item = ArrowColumnChunk>) -> std::result::Result<(), WriteFailure> {
        let ordinal = i16::try_from(self.written.groups).ok().filter(|ordinal| *ordinal < GROUPS_MAX);
        let ordinal = ordinal.ok_or_else(|| {
            WriteFailure::limit(format!(
                "a Parquet file has no place for more than {GROUPS_MAX} row groups: a larger {ROW_GROUP} helps"
            ))
        })?;
        let mut closed = self.group(ordinal, chunks)?;
        self.write_blooms(&mut closed)?;
        self.keep_indexes(&mut closed)?;
        self.written.rows += u64::try_from(closed.group.num_rows()).unwrap_or(0);
        self.written.groups += 1;
        self.groups.extend_from_slice(&self.entry(closed.group)?);
        self.ends.push(self.groups.len());
        if self.groups.len() + self.indexes.len() <= self.footer_bytes_max {
            return Ok(());
        }
        let (most, groups) = (format_size(self.footer_bytes_max as u64), self.written.groups);
        Err(WriteFailure::limit(format!(
            "the footer, which is written last, would take more than {most} after {groups} row groups: \
             more {MEMORY} helps, or fewer columns, or several files"
        )))
    }

    /// Writes the indexes and the footer, of which no more is held than before.
    pub(super) fn finish(mut self) -> Result<WriteSummary> {
        let about = encoded(&ParquetMetaData::new(self.about.clone(), Vec::new()))?;
        let (rows, groups) = footer_places(&about).map_err(unsound)?;
        let (before, after) = (&about[..rows], &about[groups.end..]);
        let indexes = self.out.bytes_written().cast_signed() as i64;
        self.out.write_all(&std::mem::take(&mut self.indexes))?;
        let footer = self.out.bytes_written();
        let mut start = before.to_vec();
        push_footer_rows(&mut start, self.written.rows, self.written.groups);
        self.out.write_all(&start)?;
        let mut from = 0;
        for end in std::mem::take(&mut self.ends) {
            let group = decoded(before, &self.groups[from..end], after)?;
            from = end;
            let entry = self.entry(with_indexes(&group, |_, chunk| places(chunk), indexes)?)?;
            self.out.write_all(&entry)?;
        }
        self.out.write_all(after)?;
        let length = u32::try_from(self.out.bytes_written() - footer);
        let length = length.map_err(|_| ParquetError::General("the footer has more than 4 GiB".to_owned()))?;
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(MAGIC)?;
        self.out.flush()?;
        Ok(WriteSummary { bytes: self.out.bytes_written() as u64, ..self.written })
    }

    /// Entry of a row group in the footer, encoded.
    fn entry(&self, group: RowGroupMetaData) -> Result<Vec<u8>> {
        let bytes = encoded(&ParquetMetaData::new(self.about.clone(), vec![group]))?;
        Ok(bytes[footer_places(&bytes).map_err(unsound)?.1].to_vec())
    }

    fn group(&mut self, ordinal: i16, chunks: impl Iterator<Item = ArrowColumnChunk>) -> Result<Closed> {
        let mut closed = None;
        let schema: SchemaDescPtr = self.about.schema_descr_ptr();
        let keep = Box::new(|_: &mut TrackedWrite<CountedWriter>, group, blooms, columns, offsets| {
            closed = Some(Closed { group, blooms, columns, offsets });
            Ok(())
        });
        let mut writer = SerializedRowGroupWriter::new(schema, Arc::clone(&self.properties), &mut self.out, ordinal, Some(keep));
        for chunk in chunks {
            chunk.append_to_row_group(&mut writer)?;
        }
        writer.close()?;
        closed.ok_or_else(|| ParquetError::General("a row group did not end".to_owned()))
    }

    fn write_blooms(&mut self, closed: &mut Closed) -> Result<()> {
        let mut places = Vec::new();
        for bloom in &closed.blooms {
            let start = self.out.bytes_written();
            bloom.as_ref().map_or(Ok(()), |bloom| bloom.write(&mut self.out))?;
            places.push((start, self.out.bytes_written() - start));
        }
        closed.group = changed(&closed.group, |number, chunk| match places[number] {
            (_, 0) => Ok(chunk),
            (start, length) => chunk
                .into_builder()
                .set_bloom_filter_offset(Some(start.cast_signed() as i64))
                .set_bloom_filter_length(i32::try_from(length).ok())
                .build(),
        })?;
        Ok(())
    }

    /// The library writes the indexes of this group alone, to memory, with their places there.
    fn keep_indexes(&mut self, closed: &mut Closed) -> Result<()> {
        let columns = std::mem::take(&mut closed.columns).into_iter();
        let columns = columns.map(|column| column.unwrap_or(ColumnIndexMetaData::NONE)).collect();
        let offsets: Option<Vec<_>> = std::mem::take(&mut closed.offsets).into_iter().collect();
        let Some(offsets) = offsets else { return Ok(()) };
        let metadata = ParquetMetaDataBuilder::new(self.about.clone())
            .set_row_groups(vec![closed.group.clone()])
            .set_column_index(Some(vec![columns]))
            .set_offset_index(Some(vec![offsets]))
            .build();
        let mut bytes = Vec::new();
        ParquetMetaDataWriter::new(&mut bytes, &metadata).finish()?;
        let tail: [u8; TAIL_BYTES] = bytes.last_chunk().copied().unwrap_or_default();
        let indexes = bytes.len() - TAIL_BYTES - FooterTail::try_new(&tail)?.metadata_length();
        if self.indexes.len() + indexes > self.footer_bytes_max / INDEX_SHARE {
            return Ok(());
        }
        let placed = ParquetMetaDataReader::decode_metadata(&bytes[indexes..bytes.len() - TAIL_BYTES])?;
        let start = self.indexes.len().cast_signed() as i64;
        self.indexes.extend_from_slice(&bytes[..indexes]);
        closed.group = with_indexes(&closed.group, |number, _| places(placed.row_group(0).column(number)), start)?;
        Ok(())
    }
}

/// Locations of a column's indexes: that of its values, and that of its pages.
type IndexLocations = [(Option<i64>, Option<i32>); 2];

fn places(chunk: &ColumnChunkMetaData) -> IndexLocations {
    [(chunk.column_index_offset(), chunk.column_index_length()), (chunk.offset_index_offset(), chunk.offset_index_length())]
}

/// A row group with its indexes at these places after `start`.
fn with_indexes(
    group: &RowGroupMetaData,
    places: impl Fn(usize, &ColumnChunkMetaData) -> IndexLocations,
    start: i64,
) -> Result<RowGroupMetaData> {
    changed(group, |number, chunk| {
        let [values, pages] = places(number, &chunk);
        chunk
            .into_builder()
            .set_column_index_offset(values.0.map(|place| place + start))
            .set_column_index_length(values.1)
            .set_offset_index_offset(pages.0.map(|place| place + start))
            .set_offset_index_length(pages.1)
            .build()
    })
}

/// A row group of its encoded entry, between the bytes before and after row groups in a footer.
fn decoded(before: &[u8], entry: &[u8], after: &[u8]) -> Result<RowGroupMetaData> {
    let mut bytes = before.to_vec();
    push_footer_rows(&mut bytes, 0, 1);
    bytes.extend_from_slice(entry);
    bytes.extend_from_slice(after);
    Ok(ParquetMetaDataReader::decode_metadata(&bytes)?.row_group(0).clone())
}

/// A row group with other columns.
fn changed(
    group: &RowGroupMetaData,
    change: impl Fn(usize, ColumnChunkMetaData) -> Result<ColumnChunkMetaData>,
) -> Result<RowGroupMetaData> {
    let columns = group.columns().iter().cloned().enumerate().map(|(number, chunk)| change(number, chunk));
    group.clone().into_builder().set_column_metadata(columns.collect::<Result<_>>()?).build()
}

/// A footer without the bytes after it.
fn encoded(metadata: &ParquetMetaData) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    ParquetMetaDataWriter::new(&mut bytes, metadata).finish()?;
    bytes.truncate(bytes.len() - TAIL_BYTES);
    Ok(bytes)
}

fn unsound(_: ThriftError) -> ParquetError {
    ParquetError::General("a footer that was written can't be read".to_owned())
}
