//! Memory of the pages of a row group while its rows are read.

use crate::thrift::{PageHeader, ThriftError, page_header};
use parquet::basic::Encoding;
use parquet::file::metadata::RowGroupMetaData;
use rorqual_pipe::format_size;
use rorqual_pipe::setting::MEMORY;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of [`Encoding::DELTA_BYTE_ARRAY`] in a page's header.
const DELTA_BYTE_ARRAY: usize = 7;

/// Counts pages before they are decoded, and refuses too many bytes.
#[derive(Debug)]
pub(super) struct Pages {
    group: usize,
    bytes_max: usize,
    state: Mutex<PageState>,
}

#[derive(Debug, Default)]
struct PageState {
    columns: Vec<ColumnChunk>,
    /// Bytes held when the batch began, and those since.
    held_bytes: usize,
    since_bytes: usize,
    /// Reason for which a page was refused.
    refused: Option<Refusal>,
}

/// Reason for which a page was refused.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    /// There was too much; fewer rows at a time might have had room.
    pub(super) full: bool,
    pub(super) text: String,
}

/// Metadata of a column's chunk.
#[derive(Debug)]
struct ColumnChunk {
    path: String,
    range: Range<u64>,
    /// Values may be made of those before them.
    by_prefix: bool,
    /// The page whose header was seen, and where it begins.
    next: Option<(u64, PageHeader)>,
    page_bytes: usize,
    dictionary_bytes: usize,
}

impl Pages {
    /// Pages of a row group, of which together `bytes_max` may be held. `None` when its columns are
    /// in each other's places.
    pub(super) fn new(number: usize, group: &RowGroupMetaData, bytes_max: usize) -> Option<Self> {
        let mut columns: Vec<ColumnChunk> = group
            .columns()
            .iter()
            .map(|chunk| {
                let (start, length) = chunk.byte_range();
                ColumnChunk {
                    path: chunk.column_path().string(),
                    range: start..start.saturating_add(length),
                    by_prefix: chunk.encodings().any(|encoding| encoding == Encoding::DELTA_BYTE_ARRAY),
                    next: None,
                    page_bytes: 0,
                    dictionary_bytes: 0,
                }
            })
            .collect();
        columns.sort_by_key(|column| (column.range.start, column.range.end));
        let apart = columns.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start);
        apart.then(|| Self { group: number, bytes_max, state: Mutex::new(PageState { columns, ..PageState::default() }) })
    }

    /// The pages before the last of each column are free.
    pub(super) fn batch_begins(&self) {
        let mut state = self.state();
        state.held_bytes = state.columns.iter().map(|column| column.page_bytes + column.dictionary_bytes).sum();
        state.since_bytes = 0;
    }

    /// Reason for which a page was refused, if one was.
    pub(super) fn refused(&self) -> Option<Refusal> {
        self.state().refused.clone()
    }

    /// Remembers that a page is too large to be read at all.
    pub(super) fn refuse(&self, text: String) {
        self.state().refused = Some(Refusal { full: true, text });
    }

    /// Something is read from `start` on: a page's header, where nothing else is known. `peek`
    /// gives the bytes there.
    pub(super) fn stream_at(&self, start: u64, peek: impl Fn(usize) -> io::Result<Vec<u8>>) -> io::Result<()> {
        let mut state = self.state();
        let seen = state.stream_at(start, peek);
        state.check(self.group, seen)
    }

    /// Refuses so many bytes from `start` on, before they are read, where they have no room beside
    /// those that are held.
    pub(super) fn before_bytes(&self, start: u64, length: usize) -> io::Result<()> {
        let mut state = self.state();
        let sum = state.held_bytes + state.since_bytes + length;
        if sum <= self.bytes_max {
            return Ok(());
        }
        let refusal = state.column(start).map_or_else(
            |refusal| refusal,
            |column| {
                let header = column.next.map(|(_, header)| header);
                let (is_dictionary, bytes) =
                    header.map_or((false, length), |header| (header.is_dictionary, header.page_bytes.max(length)));
                too_much(&column.path, (is_dictionary, bytes), sum, self.bytes_max)
            },
        );
        state.check(self.group, Err(refusal))
    }

    /// These bytes from `start` on were read: a page, or a page after its header.
    pub(super) fn bytes_at(&self, start: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        let seen = state.bytes_at(start, bytes, self.bytes_max);
        state.check(self.group, seen)
    }

    fn state(&self) -> MutexGuard<'_, PageState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PageState {
    fn stream_at(&mut self, start: u64, peek: impl Fn(usize) -> io::Result<Vec<u8>>) -> Result<(), Refusal> {
        let column = self.column(start)?;
        if column.next.is_some_and(|(place, _)| place == start) {
            return Ok(());
        }
        let header = peeked(peek).map_err(|error| unsound(&column.path, error))?;
        column.next = Some((start + header.bytes as u64, header));
        Ok(())
    }

    fn bytes_at(&mut self, start: u64, bytes: &[u8], bytes_max: usize) -> Result<(), Refusal> {
        let column = self.column(start)?;
        let header = match column.next.take() {
            Some((place, header)) if place == start => header,
            _ => page_header(bytes).map_err(|_| unsound(&column.path, BROKEN))?,
        };
        if header.encoding == DELTA_BYTE_ARRAY && !column.by_prefix {
            return Err(unsound(&column.path, "an encoding that the footer does not name"));
        }
        let path = column.path.clone();
        let page_bytes = header.page_bytes.max(header.stored_bytes);
        if header.is_dictionary {
            column.dictionary_bytes = page_bytes;
        } else {
            column.page_bytes = page_bytes;
        }
        self.since_bytes += page_bytes;
        let sum = self.held_bytes + self.since_bytes;
        let page = (header.is_dictionary, header.page_bytes);
        if sum <= bytes_max { Ok(()) } else { Err(too_much(&path, page, sum, bytes_max)) }
    }

    fn column(&mut self, place: u64) -> Result<&mut ColumnChunk, Refusal> {
        let after = self.columns.partition_point(|column| column.range.start <= place);
        let column = self.columns[..after].last_mut().filter(|column| column.range.contains(&place));
        column.ok_or_else(|| Refusal { full: false, text: format!("a page at byte {place}, outside its column") })
    }

    /// Remembers a refusal, since an error becomes a text on its way through the reader.
    fn check(&mut self, group: usize, seen: Result<(), Refusal>) -> io::Result<()> {
        let Err(refusal) = seen else { return Ok(()) };
        let text = format!("row group {group}, {}", refusal.text);
        self.refused = Some(Refusal { text: text.clone(), ..refusal });
        Err(io::Error::new(io::ErrorKind::InvalidData, text))
    }
}

fn too_much(path: &str, (is_dictionary, bytes): (bool, usize), sum: usize, bytes_max: usize) -> Refusal {
    let what = if is_dictionary { "a dictionary" } else { "a page" };
    let [page, sum, max] = [bytes, sum, bytes_max].map(|bytes| format_size(bytes as u64));
    let text = format!(
        "column {path}: {what} of {page} makes {sum} of pages that are held at once, more than {max}: more {MEMORY}, or fewer \
         columns, would take it"
    );
    Refusal { full: true, text }
}

fn unsound(path: &str, what: &str) -> Refusal {
    Refusal { full: false, text: format!("column {path}: {what}") }
}

const BROKEN: &str = "a broken page header";

/// The header at the start of the bytes of `peek`, of which as many are taken as it needs.
pub(super) fn peeked(peek: impl Fn(usize) -> io::Result<Vec<u8>>) -> Result<PageHeader, &'static str> {
    /// Most headers are shorter; the longest has bounds of some values.
    const PEEKED_BYTES: [usize; 3] = [128, 4 << 10, 1 << 20];
    for length in PEEKED_BYTES {
        match page_header(&peek(length).map_err(|_| "a page header that can't be read")?) {
            Err(ThriftError::Cut) => {}
            header => return header.map_err(|_| BROKEN),
        }
    }
    Err(BROKEN)
}
