//! Parquet files.

use super::chunks::Chunks;
use super::groups::{GroupRows, Groups};
use super::plain::{check, plain_schema};
use super::turns::{ColumnSets, ColumnTurns, TurnColumns};
use super::{ReadBatches, RowChoice, is_below, no_column};
use crate::limits::{BATCH_BYTES_MAX, READ_FOOTER_SHARE, READ_LARGE_EIGHTHS, READ_SHARE, share};
use crate::thrift::{PageHeader, ThriftError, footer_bytes};
use arrow_schema::{DataType, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ProjectionMask};
use parquet::basic::{Compression, ConvertedType, Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, FooterTail, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::schema::types::SchemaDescriptor;
use rorqual_pipe::setting::MEMORY;
use rorqual_pipe::{Error, ErrorClass, format_size};
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// A reader of some rows, before it reads.
pub(super) type ReaderBuilder = ParquetRecordBatchReaderBuilder<Chunks>;

/// Bytes after the footer: its length and the magic.
const TAIL_BYTES: usize = 8;

/// Metadata of a file.
pub(super) struct ParquetFooter {
    pub(super) metadata: ArrowReaderMetadata,
    /// The same, with texts read as views.
    pub(super) views: ArrowReaderMetadata,
    /// The columns of the rows that are given.
    schema: SchemaRef,
    large: LargePages,
    memory_bytes: u64,
    row_bytes_max: usize,
    bytes: usize,
}

impl ParquetFooter {
    pub(super) fn read(chunks: &mut Chunks, name: &str, memory_bytes: u64) -> Result<Self, Error> {
        let footer_bytes_max = share(memory_bytes, READ_FOOTER_SHARE);
        let (metadata, bytes) = metadata(chunks, name, footer_bytes_max)?;
        check_footer(name, &metadata)?;
        let failed = |error| failed(name, &error);
        let metadata = with_index(metadata, chunks, footer_bytes_max - bytes).map_err(failed)?;
        let bytes = metadata.memory_size();
        let metadata = Arc::new(metadata);
        let read = |options| ArrowReaderMetadata::try_new(Arc::clone(&metadata), options).map_err(failed);
        let plain = read(ArrowReaderOptions::new())?;
        check(name, plain.schema())?;
        let plain = match in_micros(&plain) {
            Some(schema) => read(ArrowReaderOptions::new().with_schema(schema))?,
            None => plain,
        };
        let views = read_as_views(&plain, |schema| read(ArrowReaderOptions::new().with_schema(schema)).ok());
        let schema = plain_schema(plain.schema());
        let share = share(memory_bytes, READ_SHARE);
        let large = LargePages::find(plain.metadata(), chunks, memory_bytes);
        let fitting = large.columns.values().filter(|bytes| has_room(**bytes, memory_bytes));
        chunks.takes(fitting.max().copied().unwrap_or(0));
        Ok(Self { metadata: plain, views, schema, large, memory_bytes, row_bytes_max: share / 2, bytes })
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(super) fn parquet(&self) -> &ParquetMetaData {
        self.metadata.metadata()
    }

    pub(super) fn rows(&self) -> u64 {
        u64::try_from(self.parquet().file_metadata().num_rows()).unwrap_or(0)
    }

    /// Memory of the footer itself.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Most that a row may take, all its values written out.
    pub(super) fn row_bytes_max(&self) -> usize {
        self.row_bytes_max
    }

    /// Memory of the pages that are held at once where some are large; 0 where there are none, or
    /// too large ones.
    pub(super) fn large_bytes(&self) -> usize {
        self.large.reserved_bytes(|_| true, self.memory_bytes)
    }

    /// Most bytes of the pages of these columns that are held.
    pub(super) fn page_bytes_max(&self, mask: &ProjectionMask) -> usize {
        let columns = self.metadata.parquet_schema().columns();
        let read: HashSet<&str> = columns
            .iter()
            .enumerate()
            .filter(|(leaf, _)| mask.leaf_included(*leaf))
            .filter_map(|(_, column)| column.path().parts().first().map(String::as_str))
            .collect();
        let large_bytes = self.large.bytes_of(|column| read.contains(column));
        let share = share(self.memory_bytes, READ_SHARE);
        if has_room(large_bytes, self.memory_bytes) { share.max(large_bytes) } else { share }
    }

    pub(super) fn batches(
        self: &Arc<Self>,
        chunks: &Chunks,
        name: &str,
        columns: Option<&[String]>,
        rows: &RowChoice,
    ) -> Result<ReadBatches, Error> {
        let (mut parts, mut start) = (Vec::new(), 0);
        for (group, metadata) in self.parquet().row_groups().iter().enumerate() {
            let end = start + u64::try_from(metadata.num_rows()).unwrap_or(0);
            match rows {
                RowChoice::All => parts.push(GroupRows { group, selection: None }),
                RowChoice::Range(range) => {
                    let (from, to) = (range.start.clamp(start, end), range.end.clamp(start, end));
                    if from < to {
                        let range = std::iter::once(whole(from - start)..whole(to - start));
                        let selection = RowSelection::from_consecutive_ranges(range, whole(end - start));
                        parts.push(GroupRows { group, selection: Some(selection) });
                    }
                }
                RowChoice::These(rows) => {
                    let here = &rows[rows.partition_point(|row| *row < start)..rows.partition_point(|row| *row < end)];
                    if !here.is_empty() {
                        parts.push(GroupRows { group, selection: Some(selection(here, start)) });
                    }
                }
            }
            start = end;
        }
        let (mask, schema) = self.columns(name, columns)?;
        match self.turns(&mask) {
            Some(turns) => Ok(Box::new(ColumnTurns::new(self, chunks, name, turns, schema, parts))),
            None => Ok(Box::new(Groups::new(self, chunks, name, (mask, &schema), parts, None))),
        }
    }

    /// The columns in sets whose pages have room, and where each of them is, if they have none
    /// together: those with large pages one by one.
    fn turns(&self, mask: &ProjectionMask) -> Option<ColumnSets> {
        let schema = self.metadata.parquet_schema();
        let leaves = || (0..schema.num_columns()).filter(|leaf| mask.leaf_included(*leaf));
        let mut roots: Vec<usize> = leaves().map(|leaf| schema.get_column_root_idx(leaf)).collect();
        roots.dedup();
        let is_large = |root: usize| self.large.columns.contains_key(schema.root_schema().get_fields()[root].name());
        let read = |column: &str| roots.iter().any(|root| schema.root_schema().get_fields()[*root].name() == column);
        if has_room(self.large.bytes_of(read), self.memory_bytes) {
            return None;
        }
        let (_, waiting_bytes) = self.large.in_turns(read, self.memory_bytes)?;
        let (large, small): (Vec<usize>, Vec<usize>) = roots.iter().partition(|root| is_large(**root));
        let sets: Vec<Vec<usize>> =
            large.into_iter().map(|root| vec![root]).chain(Some(small).filter(|small| !small.is_empty())).collect();
        let place = |root: &usize| {
            let found = sets.iter().enumerate().find_map(|(set, roots)| Some((set, roots.iter().position(|one| one == root)?)));
            found.unwrap_or_default()
        };
        let places = roots.iter().map(place).collect();
        let columns = |set: &Vec<usize>| {
            let leaves = leaves().filter(|leaf| set.contains(&schema.get_column_root_idx(*leaf)));
            let mask = ProjectionMask::leaves(schema, leaves);
            let fields = self.schema.fields().filter_leaves(|leaf, _| mask.leaf_included(leaf));
            TurnColumns { mask, schema: Arc::new(Schema::new(fields)) }
        };
        Some(ColumnSets { sets: sets.iter().map(columns).collect(), places, waiting_bytes })
    }

    /// Numbers of these columns, and the schema of their rows.
    pub(super) fn columns(&self, name: &str, columns: Option<&[String]>) -> Result<(ProjectionMask, SchemaRef), Error> {
        let Some(columns) = columns else { return Ok((ProjectionMask::all(), Arc::clone(self.schema()))) };
        let mask = self.mask(name, columns)?;
        let fields = self.schema.fields().filter_leaves(|leaf, _| mask.leaf_included(leaf));
        Ok((mask, Arc::new(Schema::new_with_metadata(fields, self.schema.metadata().clone()))))
    }

    fn mask(&self, name: &str, columns: &[String]) -> Result<ProjectionMask, Error> {
        let schema = self.metadata.parquet_schema();
        let paths = paths(schema);
        for wanted in columns {
            if !paths.iter().any(|path| is_below(path, wanted)) {
                return Err(no_column(name, wanted, paths.iter().map(String::as_str)));
            }
        }
        let wanted = |path: &String| columns.iter().any(|wanted| is_below(path, wanted));
        let leaves = paths.iter().enumerate().filter(|(_, path)| wanted(path)).map(|(leaf, _)| leaf);
        Ok(ProjectionMask::leaves(schema, leaves))
    }
}

/// The footer, and about its memory; one that would take more than `bytes_max` is not decoded.
fn metadata(chunks: &Chunks, name: &str, bytes_max: usize) -> Result<(ParquetMetaData, usize), Error> {
    let sound = |text: &str| Error::new(ErrorClass::Corrupt, name, format!("not a sound Parquet file: {text}"));
    let io = |error: io::Error| failed(name, &error.into());
    let end = chunks.size_bytes().checked_sub(TAIL_BYTES as u64).ok_or_else(|| sound("it is too short"))?;
    let tail: [u8; TAIL_BYTES] = chunks.bytes(end, TAIL_BYTES).map_err(io)?.try_into().unwrap_or_default();
    let tail = FooterTail::try_new(&tail).map_err(|error| failed(name, &error))?;
    let encrypted = || Error::new(ErrorClass::Limit, name, super::ENCRYPTED);
    if tail.is_encrypted_footer() {
        return Err(encrypted());
    }
    let length = tail.metadata_length();
    let too_large = |bytes: usize| {
        let [bytes, max] = [bytes, bytes_max].map(|bytes| format_size(bytes as u64));
        let text = format!("its footer takes about {bytes}, more than {max}: more {MEMORY} would take it");
        Error::new(ErrorClass::Limit, name, text)
    };
    let start = end.checked_sub(length as u64).ok_or_else(|| sound("its footer is longer than the file"))?;
    if 4 * length > bytes_max {
        return Err(too_large(4 * length));
    }
    let bytes = chunks.bytes(start, length).map_err(io)?;
    let taken = footer_bytes(&bytes).map_err(|fault| match fault {
        ThriftError::Encrypted => encrypted(),
        ThriftError::Cut | ThriftError::Unsound => sound("its footer is broken"),
    })?;
    if taken > bytes_max {
        return Err(too_large(taken));
    }
    Ok((ParquetMetaDataReader::decode_metadata(&bytes).map_err(|error| failed(name, &error))?, taken))
}

/// Refuses a footer that contradicts itself about the number of rows, which readers believe at
/// different places, and columns that would be read wrong.
///
/// # Errors
/// When it does, with the contradiction.
pub fn check_footer(name: &str, footer: &ParquetMetaData) -> Result<(), Error> {
    let unsound = |text: String| Err(Error::new(ErrorClass::Corrupt, name, format!("not a sound Parquet file: {text}")));
    let mut sum = 0_i64;
    for (number, group) in footer.row_groups().iter().enumerate() {
        let rows = group.num_rows();
        sum = sum.saturating_add(rows);
        // A column without lists has a value for each row.
        let flat = group.columns().iter().filter(|chunk| chunk.column_descr().max_rep_level() == 0);
        if let Some(chunk) = flat.clone().find(|chunk| chunk.num_values() != rows) {
            let (path, values) = (chunk.column_path().string(), chunk.num_values());
            return unsound(format!("row group {number} has {rows} rows, and its column {path} has {values} values"));
        }
    }
    let rows = footer.file_metadata().num_rows();
    if rows != sum {
        return unsound(format!("its footer says {rows} rows, and its row groups have {sum}"));
    }
    let known = footer.file_metadata().key_value_metadata();
    let is_hinted = known.is_some_and(|known| known.iter().any(|pair| pair.key == ARROW_SCHEMA_META_KEY));
    let columns = footer.file_metadata().schema_descr().columns();
    match columns.iter().find(|column| column.converted_type() == ConvertedType::INTERVAL && !is_hinted) {
        Some(column) => {
            let path = column.path().string();
            let text = format!("the column '{path}' is an INTERVAL of months, days and milliseconds, which is not read");
            Err(Error::new(ErrorClass::Limit, name, text))
        }
        None => Ok(()),
    }
}

/// Large pages of a column that are looked at beforehand: a file may claim any number of them.
/// Larger ones after these are refused while they are read.
const PAGES_LOOKED_AT_MAX: usize = 1_000;

/// Pages of a Parquet file that are larger than their share of a memory.
#[derive(Debug, Default)]
pub struct LargePages {
    /// Memory of the largest page, stored and not, of each column that has large ones, by the first
    /// name of its path.
    pub columns: BTreeMap<String, usize>,
    /// Memory of the small pages beside them, which are within their share as in any other file.
    pub small_bytes: usize,
}

impl LargePages {
    /// The pages of all row groups, as they are read within `memory_bytes`.
    pub(super) fn find(footer: &ParquetMetaData, chunks: &Chunks, memory_bytes: u64) -> Self {
        let share = share(memory_bytes, READ_SHARE);
        let mut found = Self::default();
        for group in footer.row_groups() {
            let mut small_bytes = 0_usize;
            let mut columns: BTreeMap<&str, usize> = BTreeMap::new();
            for chunk in group.columns() {
                let Some(name) = chunk.column_path().parts().first() else { continue };
                match large_page_bytes(chunk, chunks, share / 4) {
                    Some(bytes) => *columns.entry(name).or_default() += bytes,
                    None => small_bytes = small_bytes.saturating_add(chunk_bytes(chunk)),
                }
            }
            found.small_bytes = found.small_bytes.max(small_bytes.min(share));
            for (name, bytes) in columns {
                let most = found.columns.entry(name.to_owned()).or_default();
                *most = bytes.max(*most);
            }
        }
        found
    }

    /// Memory of the pages of the columns that are `read` at once: one of each. 0 if none of them
    /// has large ones.
    pub fn bytes_of(&self, read: impl Fn(&str) -> bool) -> usize {
        let large = self.columns.iter().filter(|(name, _)| read(name)).map(|(_, bytes)| *bytes).fold(0, usize::saturating_add);
        if large > 0 { large.saturating_add(self.small_bytes) } else { 0 }
    }

    /// Memory of the pages of the columns that are `read` within `memory_bytes`: all at once, or
    /// where they have no room so, the largest alone and values of the others beside it. `None`
    /// where not even that has room; 0 if none is large.
    pub fn held_bytes(&self, read: impl Fn(&str) -> bool, memory_bytes: u64) -> Option<usize> {
        let bytes = self.bytes_of(&read);
        if has_room(bytes, memory_bytes) {
            return Some(bytes);
        }
        self.in_turns(read, memory_bytes).map(|(page_bytes, waiting_bytes)| page_bytes + waiting_bytes)
    }

    /// Memory in which any of the columns that may be `read` can be: where all together have no
    /// room, some of them are read at once, and take more than all in turns.
    pub fn reserved_bytes(&self, read: impl Fn(&str) -> bool, memory_bytes: u64) -> usize {
        let bytes = self.bytes_of(&read);
        if has_room(bytes, memory_bytes) {
            return bytes;
        }
        let most = large_pages_max(memory_bytes);
        let each = self.columns.iter().filter(|(name, _)| read(name)).map(|(_, bytes)| *bytes);
        let (alone, too_large): (Vec<usize>, Vec<usize>) = each.partition(|bytes| bytes.saturating_add(self.small_bytes) <= most);
        // Where each has room alone, one at least is missing among those that are read at once.
        let missing = if too_large.is_empty() { alone.iter().min().copied().unwrap_or(0) } else { 0 };
        let large = alone.iter().fold(0, |sum: usize, bytes| sum.saturating_add(*bytes)) - missing;
        let at_once = if alone.is_empty() { 0 } else { large.saturating_add(self.small_bytes).min(most) };
        at_once.max(self.held_bytes(read, memory_bytes).unwrap_or(0))
    }

    /// Memory of the largest pages of one of the columns that are `read`, with the small ones, and
    /// of values that wait beside them; `None` where these have no room.
    fn in_turns(&self, read: impl Fn(&str) -> bool, memory_bytes: u64) -> Option<(usize, usize)> {
        let read = || self.columns.iter().filter(|(name, _)| read(name)).map(|(_, bytes)| *bytes);
        let large = read().max()?;
        // The small ones are read at once.
        let sets = read().count() + 1;
        let page_bytes = large.saturating_add(self.small_bytes);
        let rest = large_pages_max(memory_bytes).checked_sub(page_bytes)?;
        let most = share(memory_bytes, READ_SHARE);
        let waiting_bytes = most.min(rest / 2);
        // With fewer, pages would be decoded all the time; and a batch of each waits.
        (waiting_bytes >= (most / 4).max(sets * BATCH_BYTES_MAX)).then_some((page_bytes, waiting_bytes))
    }

    /// Adds those of a further file.
    pub fn merge(&mut self, other: Self) {
        self.small_bytes = self.small_bytes.max(other.small_bytes);
        for (name, bytes) in other.columns {
            let most = self.columns.entry(name).or_default();
            *most = bytes.max(*most);
        }
    }
}

/// True if so many bytes of pages may be held at once within `memory_bytes`.
fn has_room(page_bytes: usize, memory_bytes: u64) -> bool {
    page_bytes <= large_pages_max(memory_bytes)
}

/// Most bytes of large pages that are held at once within `memory_bytes`.
fn large_pages_max(memory_bytes: u64) -> usize {
    usize::try_from(memory_bytes / 8 * READ_LARGE_EIGHTHS).unwrap_or(usize::MAX)
}

fn chunk_bytes(chunk: &ColumnChunkMetaData) -> usize {
    usize::try_from(chunk.uncompressed_size().max(chunk.compressed_size())).unwrap_or(0)
}

/// Memory of the largest page of a column, stored and not, if that is `large_bytes_min` or more.
/// Pages after a small one are not looked at.
fn large_page_bytes(chunk: &ColumnChunkMetaData, chunks: &Chunks, large_bytes_min: usize) -> Option<usize> {
    if chunk_bytes(chunk) < large_bytes_min {
        return None;
    }
    let (start, length) = chunk.byte_range();
    let after = |(at, page): (u64, PageHeader)| at.saturating_add((page.bytes + page.stored_bytes) as u64);
    let first = chunks.page_header(start);
    let first = first.filter(|(_, page)| page.is_dictionary).map_or(first, |dictionary| chunks.page_header(after(dictionary)));
    let next = |page: &(u64, PageHeader)| {
        let is_further = page.1.page_bytes >= large_bytes_min && after(*page) < start.saturating_add(length);
        if is_further { chunks.page_header(after(*page)) } else { None }
    };
    let stored = |page: PageHeader| if chunk.compression() == Compression::UNCOMPRESSED { 0 } else { page.stored_bytes };
    let held = |(_, page): (u64, PageHeader)| page.bytes.saturating_add(page.page_bytes).saturating_add(stored(page));
    let most = std::iter::successors(first, next).take(PAGES_LOOKED_AT_MAX).map(held).max();
    most.filter(|bytes| *bytes >= large_bytes_min)
}

/// The columns with moments of 96 bits in microseconds, where these would be nanoseconds, by
/// default or as the file says: those reach from 1677 to 2262 only, others would come out as
/// moments in that span, and Spark writes 9999-12-31.
fn in_micros(plain: &ArrowReaderMetadata) -> Option<SchemaRef> {
    let columns = plain.parquet_schema().columns();
    if columns.iter().all(|column| column.physical_type() != Type::INT96) {
        return None;
    }
    let mut leaf = 0;
    let mut coerce = |data_type: &DataType| {
        let is_wide = columns.get(leaf).is_some_and(|column| column.physical_type() == Type::INT96);
        leaf += 1;
        match data_type {
            DataType::Timestamp(TimeUnit::Nanosecond, zone) if is_wide => {
                DataType::Timestamp(TimeUnit::Microsecond, zone.clone())
            }
            other => other.clone(),
        }
    };
    let schema = plain.schema();
    let fields: Fields = schema.fields().iter().map(|field| with_leaves(field, &mut coerce)).collect();
    Some(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

/// The same field with other types of its leaves, which are met in their order.
fn with_leaves(field: &FieldRef, change: &mut impl FnMut(&DataType) -> DataType) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(|field| with_leaves(field, change)).collect()),
        DataType::List(item) => DataType::List(with_leaves(item, change)),
        DataType::LargeList(item) => DataType::LargeList(with_leaves(item, change)),
        DataType::ListView(item) => DataType::ListView(with_leaves(item, change)),
        DataType::LargeListView(item) => DataType::LargeListView(with_leaves(item, change)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(with_leaves(item, change), *length),
        DataType::Map(entries, sorted) => DataType::Map(with_leaves(entries, change), *sorted),
        other => change(other),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// The footer with the page index, where that has room: without it there is more to read.
fn with_index(metadata: ParquetMetaData, chunks: &Chunks, bytes_max: usize) -> parquet::errors::Result<ParquetMetaData> {
    /// Factor by which an encoded index grows in memory.
    const FACTOR: u64 = 8;
    let columns = metadata.row_groups().iter().flat_map(RowGroupMetaData::columns);
    let places = columns.flat_map(|chunk| {
        [(chunk.column_index_offset(), chunk.column_index_length()), (chunk.offset_index_offset(), chunk.offset_index_length())]
    });
    let places = places.filter_map(|(start, length)| Some((u64::try_from(start?).ok()?, u64::try_from(length?).ok()?)));
    // All is read as one stretch.
    let (start, end) =
        places.fold((u64::MAX, 0), |(start, end), place| (start.min(place.0), end.max(place.0.saturating_add(place.1))));
    if end.saturating_sub(start).saturating_mul(FACTOR) > bytes_max as u64 {
        return Ok(metadata);
    }
    let mut reader = ParquetMetaDataReader::new_with_metadata(metadata).with_page_index_policy(PageIndexPolicy::Optional);
    reader.read_page_indexes(chunks)?;
    reader.finish()
}

/// The texts of all columns as views, less those of columns that can't be read so (of a rare type):
/// these are found by halves.
fn read_as_views(plain: &ArrowReaderMetadata, read: impl Fn(SchemaRef) -> Option<ArrowReaderMetadata>) -> ArrowReaderMetadata {
    /// Each looks at all columns.
    const TRIES_MAX: usize = 100;
    let (mut found, all) = (plain.clone(), 0..plain.schema().fields().len());
    let mut waiting = Vec::from_iter([all]);
    for _ in 0..TRIES_MAX {
        let Some(columns) = waiting.pop() else { break };
        if let Some(views) = read(with_views(found.schema(), &columns)) {
            found = views;
        } else if columns.len() > 1 {
            let middle = columns.start + columns.len() / 2;
            waiting.extend([middle..columns.end, columns.start..middle]);
        }
    }
    found
}

/// The same columns with the texts of these as views.
fn with_views(schema: &SchemaRef, columns: &Range<usize>) -> SchemaRef {
    let fields = schema.fields().iter().enumerate();
    let fields = fields.map(|(place, field)| if columns.contains(&place) { view(field) } else { Arc::clone(field) });
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<FieldRef>>(), schema.metadata().clone()))
}

fn view(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(view).collect()),
        DataType::List(item) => DataType::List(view(item)),
        DataType::LargeList(item) => DataType::LargeList(view(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(view(item), *length),
        DataType::Map(entries, sorted) => DataType::Map(view(entries), *sorted),
        other => other.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// The paths of all columns, without the levels that Parquet puts between a list and its items.
pub(super) fn paths(schema: &SchemaDescriptor) -> Vec<String> {
    schema.columns().iter().map(|column| column.path().string().replace(".list.element", "").replace(".list.item", "")).collect()
}

/// The error for a file that the library could not read.
pub(super) fn failed(name: &str, error: &ParquetError) -> Error {
    let cause = if let ParquetError::External(cause) = error { cause.downcast_ref::<io::Error>() } else { None };
    match cause {
        Some(cause) if cause.raw_os_error().is_some() => {
            Error::io(name, "cannot read", io::Error::from_raw_os_error(cause.raw_os_error().unwrap_or(0)))
        }
        _ => Error::new(ErrorClass::Corrupt, name, format!("not a sound Parquet file: {error}")),
    }
}

/// A selection of the rows with these numbers, of a group that begins with row `start`.
fn selection(rows: &[u64], start: u64) -> RowSelection {
    let mut selectors = Vec::new();
    let mut next = start;
    for row in rows {
        selectors.push(RowSelector::skip(whole(row - next)));
        selectors.push(RowSelector::select(1));
        next = row + 1;
    }
    selectors.into()
}

fn whole(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reserved_for_all_columns_has_room_for_any_of_them() {
        const MIB: usize = 1 << 20;
        let memory_bytes = 256 << 20;
        let most = large_pages_max(memory_bytes);
        for sizes in [[48, 48, 48], [10, 20, 30], [100, 100, 100], [70, 70, 30], [300, 60, 60], [300, 300, 300], [159, 3, 2]] {
            for small_bytes in [0, 8 * MIB] {
                let columns = ["a", "b", "c"].into_iter().zip(sizes).map(|(name, size)| (name.to_owned(), size * MIB)).collect();
                let large = LargePages { columns, small_bytes };
                let reserved = large.reserved_bytes(|_| true, memory_bytes);
                assert!(reserved <= most, "{reserved} of {most}");
                for some in 1..8_u8 {
                    let read = |name: &str| some & (1 << (name.as_bytes()[0] - b'a')) != 0;
                    let held = large.held_bytes(read, memory_bytes).unwrap_or(0);
                    assert!(held <= reserved, "{sizes:?} {some:03b}: {held} of {reserved}");
                }
            }
        }
    }
}
