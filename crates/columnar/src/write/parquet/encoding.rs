//! Encoding of the values of a column.

use crate::limits::{BOUND_BYTES_MAX, DICTIONARY_BYTES_MAX, GROUP_ROWS_MAX, PAGE_BYTES_MAX, PAGE_ROWS_MAX};
use crate::write::{Codec, WriteSettings};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, downcast_primitive_array};
use arrow_buffer::ToByteSlice;
use arrow_schema::{DataType, TimeUnit};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

/// Values that are looked at before it is decided whether a dictionary pays.
const SAMPLE_VALUES: usize = 1024;

/// Share of values that a Bloom filter wrongly says are there.
const FALSE_POSITIVES: f64 = 0.01;

/// Encoding of the values of a column chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EncodingChoice {
    /// Values once, and their numbers; as the others when the dictionary grows too large.
    Dictionary,
    /// Differences of neighbours, in as few bits as they need.
    Differences,
    /// Lengths, and then all texts in one.
    Lengths,
    /// The values themselves.
    Plain,
}

impl EncodingChoice {
    /// Number of encodings.
    pub(super) const COUNT: usize = 4;
}

/// Encodings of a file.
pub(super) struct Encodings {
    codec: Codec,
    index: Vec<String>,
}

impl Encodings {
    pub(super) fn new(settings: &WriteSettings) -> Self {
        Self { codec: settings.codec, index: settings.index.clone() }
    }

    /// The encoding for these values of a column, by a sample of them.
    pub(super) fn style(&self, arrays: &[ArrayRef]) -> EncodingChoice {
        let leaves: Vec<ArrayRef> = arrays.iter().map(leaf).collect();
        let Some(first) = leaves.first() else { return EncodingChoice::Plain };
        let otherwise = match first.data_type() {
            DataType::Dictionary(..) => return EncodingChoice::Dictionary,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Binary | DataType::LargeBinary => {
                EncodingChoice::Lengths
            }
            other if is_integer(other) => EncodingChoice::Differences,
            _ => EncodingChoice::Plain,
        };
        if ValueSample::of(&leaves).dictionary_pays() { EncodingChoice::Dictionary } else { otherwise }
    }

    /// The properties for a column at `path` in that style.
    pub(super) fn properties(&self, path: &str, style: EncodingChoice) -> WriterPropertiesPtr {
        let builder = WriterProperties::builder()
            .set_compression(compression(self.codec))
            .set_dictionary_enabled(style == EncodingChoice::Dictionary)
            .set_dictionary_page_size_limit(DICTIONARY_BYTES_MAX)
            .set_data_page_size_limit(PAGE_BYTES_MAX)
            .set_data_page_row_count_limit(PAGE_ROWS_MAX)
            .set_statistics_truncate_length(Some(BOUND_BYTES_MAX))
            .set_column_index_truncate_length(Some(BOUND_BYTES_MAX));
        let builder = match style {
            EncodingChoice::Differences => builder.set_encoding(Encoding::DELTA_BINARY_PACKED),
            EncodingChoice::Lengths => builder.set_encoding(Encoding::DELTA_LENGTH_BYTE_ARRAY),
            EncodingChoice::Dictionary | EncodingChoice::Plain => builder,
        };
        let indexed = self.index.iter().any(|indexed| indexed == path);
        let builder = builder.set_bloom_filter_enabled(indexed);
        // Sized for a full group, and folded to its content when it is written.
        let builder = if indexed {
            builder.set_bloom_filter_fpp(FALSE_POSITIVES).set_bloom_filter_max_ndv(GROUP_ROWS_MAX as u64)
        } else {
            builder
        };
        Arc::new(builder.build())
    }
}

fn compression(codec: Codec) -> Compression {
    match codec {
        Codec::None => Compression::UNCOMPRESSED,
        Codec::Lz4 => Compression::LZ4_RAW,
        Codec::Zstd(level) => Compression::ZSTD(ZstdLevel::try_new(level.clamp(1, 22)).unwrap_or_default()),
    }
}

/// True for types that Parquet holds as 32 or 64 bit integers.
fn is_integer(data_type: &DataType) -> bool {
    data_type.is_integer()
        || matches!(data_type, DataType::Date32 | DataType::Time32(_) | DataType::Time64(_) | DataType::Duration(_))
        || matches!(
            data_type,
            DataType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond | TimeUnit::Microsecond | TimeUnit::Nanosecond, _)
        )
}

/// The values below structs and lists.
fn leaf(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Struct(_) => leaf(array.as_struct().column(0)),
        DataType::List(_) => leaf(array.as_list::<i32>().values()),
        DataType::LargeList(_) => leaf(array.as_list::<i64>().values()),
        _ => Arc::clone(array),
    }
}

/// Some values of a column, the same ones for the same arrays.
#[derive(Default)]
struct ValueSample {
    /// Number of the column's values.
    all: usize,
    /// Number of them that were looked at.
    seen: usize,
    bytes: usize,
    hashes: HashSet<u64>,
}

impl ValueSample {
    fn of(arrays: &[ArrayRef]) -> Self {
        let mut sample = Self { all: arrays.iter().map(|array| array.len() - array.null_count()).sum(), ..Self::default() };
        for array in arrays {
            sample.take(array, SAMPLE_VALUES.div_ceil(arrays.len()));
        }
        sample
    }

    fn take(&mut self, array: &ArrayRef, most: usize) {
        let places = (0..array.len()).filter(|place| array.is_valid(*place)).take(most);
        match array.data_type() {
            DataType::Utf8 => places.for_each(|place| self.add(array.as_string::<i32>().value(place).as_bytes())),
            DataType::LargeUtf8 => places.for_each(|place| self.add(array.as_string::<i64>().value(place).as_bytes())),
            DataType::Utf8View => places.for_each(|place| self.add(array.as_string_view().value(place).as_bytes())),
            DataType::Binary => places.for_each(|place| self.add(array.as_binary::<i32>().value(place))),
            DataType::LargeBinary => places.for_each(|place| self.add(array.as_binary::<i64>().value(place))),
            _ => {
                let array = array.as_ref();
                downcast_primitive_array!(
                    array => places.for_each(|place| self.add(array.value(place).to_byte_slice())),
                    _ => {}
                );
            }
        }
    }

    fn add(&mut self, value: &[u8]) {
        self.seen += 1;
        self.bytes += value.len();
        self.hashes.insert(BuildHasherDefault::<DefaultHasher>::default().hash_one(value));
    }

    /// True if at most half of all values are new ones, and they fit a dictionary. How many there
    /// are of them is told by how often the sample met one again: among `n` equally frequent
    /// values, `seen` values have about `seen² / 2n` such meetings.
    fn dictionary_pays(&self) -> bool {
        let again = self.seen - self.hashes.len();
        let distinct = if self.seen == self.all { self.hashes.len() } else { self.seen * self.seen / (2 * again).max(1) };
        let mean_bytes = self.bytes.checked_div(self.seen).unwrap_or(0);
        distinct <= self.all / 2 && distinct.saturating_mul(mean_bytes + size_of::<u32>()) <= DICTIONARY_BYTES_MAX
    }
}
