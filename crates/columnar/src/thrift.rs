//! Thrift's compact encoding, as far as it takes to see the size of the described thing before it
//! is decoded.

use std::ops::Range;

/// Deepest nesting that is followed; Parquet's own is below ten.
const DEPTH_MAX: usize = 32;

/// Memory of an encoded struct of a footer, those in a column chunk aside.
const STRUCT_BYTES: usize = 512;

/// Memory of a column chunk, with all that is in it.
const CHUNK_BYTES: usize = 1 << 10;

const BOOL_TRUE: u8 = 1;
const BOOL_FALSE: u8 = 2;
const BYTE: u8 = 3;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

/// Reason for which something can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThriftError {
    /// It goes on after the bytes that are there.
    Cut,
    /// It is malformed.
    Unsound,
    /// It says that there are columns which are encrypted.
    Encrypted,
}

/// Content of a page's header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PageHeader {
    /// The header's own length.
    pub(crate) bytes: usize,
    /// The page's, stored and not.
    pub(crate) stored_bytes: usize,
    pub(crate) page_bytes: usize,
    pub(crate) is_dictionary: bool,
    /// The number of its values' encoding.
    pub(crate) encoding: usize,
}

struct ThriftWalk<'a> {
    bytes: &'a [u8],
    place: usize,
}

/// The header that `bytes` begin with. One that says something twice, or otherwise than it is said,
/// is unsound: readers differ in which they take.
pub(crate) fn page_header(bytes: &[u8]) -> Result<PageHeader, ThriftError> {
    const DICTIONARY_PAGE: usize = 2;
    let mut header = PageHeader::default();
    let (mut seen, mut has_encoding) = (0, false);
    let mut walk = ThriftWalk { bytes, place: 0 };
    walk.fields(&mut |walk, id, kind| {
        seen = once(seen, id)?;
        match (id, kind) {
            (1, I32) => header.is_dictionary = walk.size()? == DICTIONARY_PAGE,
            (2, I32) => header.page_bytes = walk.size()?,
            (3, I32) => header.stored_bytes = walk.size()?,
            // A page is of one version or of the other. Which field of its own header has the
            // encoding.
            (5 | 8, STRUCT) if !std::mem::replace(&mut has_encoding, true) => {
                header.encoding = walk.encoding(if id == 5 { 2 } else { 4 })?;
            }
            (1 | 2 | 3 | 5 | 8, _) => return Err(ThriftError::Unsound),
            _ => walk.skip(kind, 0)?,
        }
        Ok(())
    })?;
    header.bytes = walk.place;
    Ok(header)
}

/// About the memory of a footer, itself included.
pub(crate) fn footer_bytes(bytes: &[u8]) -> Result<usize, ThriftError> {
    const SCHEMA: u64 = 2;
    const ROW_GROUPS: u64 = 4;
    const ENCRYPTION_ALGORITHM: u64 = 8;
    let mut total = 4 * bytes.len();
    ThriftWalk { bytes, place: 0 }.fields(&mut |walk, id, kind| match (id, kind) {
        (SCHEMA, LIST) => walk.each_struct(&mut |walk| {
            total += STRUCT_BYTES;
            walk.skip(STRUCT, 0)
        }),
        (ROW_GROUPS, LIST) => walk.each_struct(&mut |walk| {
            total += STRUCT_BYTES;
            walk.row_group(&mut total)
        }),
        (SCHEMA | ROW_GROUPS, _) => Err(ThriftError::Unsound),
        (ENCRYPTION_ALGORITHM, _) => Err(ThriftError::Encrypted),
        _ => walk.skip(kind, 0),
    })?;
    Ok(total)
}

/// Places in a footer that differ between footers of one file: the field of the number of rows,
/// which the list of row groups follows, and the content of that list.
pub(crate) fn footer_places(bytes: &[u8]) -> Result<(usize, Range<usize>), ThriftError> {
    const ROWS: u64 = 3;
    const ROW_GROUPS: u64 = 4;
    let (mut rows, mut groups) = (0, 0..0);
    ThriftWalk { bytes, place: 0 }.fields(&mut |walk, id, kind| {
        match id {
            // Its head is one byte, since the field before is there.
            ROWS => rows = walk.place - 1,
            ROW_GROUPS => {
                let (size, kind) = walk.list()?;
                let start = walk.place;
                (0..size).try_for_each(|_| walk.skip_element(kind, 0))?;
                groups = start..walk.place;
                return Ok(());
            }
            _ => {}
        }
        walk.skip(kind, 0)
    })?;
    Ok((rows, groups))
}

/// Appends the fields of a footer from the number of rows on, up to the first of so many row
/// groups.
pub(crate) fn push_footer_rows(out: &mut Vec<u8>, rows: u64, groups: u64) {
    const ROWS_HEAD: u8 = 0x10 | I64;
    const ROW_GROUPS_HEAD: u8 = 0x10 | LIST;
    out.push(ROWS_HEAD);
    push_varint(out, rows << 1);
    out.push(ROW_GROUPS_HEAD);
    if groups < 15 {
        out.push((groups as u8) << 4 | STRUCT);
    } else {
        out.push(0xf0 | STRUCT);
        push_varint(out, groups);
    }
}

fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Marks a field as seen, which it must not have been. (Those from 64 on are not known, and of no
/// matter.)
fn once(seen: u64, id: u64) -> Result<u64, ThriftError> {
    let bit = 1_u64.checked_shl(u32::try_from(id).unwrap_or(u32::MAX)).unwrap_or(0);
    if seen & bit == 0 { Ok(seen | bit) } else { Err(ThriftError::Unsound) }
}

impl ThriftWalk<'_> {
    /// Calls `field` for each field of a struct, which it must pass over.
    fn fields(&mut self, field: &mut dyn FnMut(&mut Self, u64, u8) -> Result<(), ThriftError>) -> Result<(), ThriftError> {
        let mut id = 0_u64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            id = match head >> 4 {
                0 => self.number()?,
                delta => id + u64::from(delta),
            };
            // Others count with 16 bits, in which a larger one is one of those that are known.
            if id > i16::MAX as u64 {
                return Err(ThriftError::Unsound);
            }
            field(self, id, head & 15)?;
        }
    }

    fn row_group(&mut self, total: &mut usize) -> Result<(), ThriftError> {
        const COLUMNS: u64 = 1;
        self.fields(&mut |walk, id, kind| match (id, kind) {
            (COLUMNS, LIST) => walk.each_struct(&mut |walk| {
                *total += CHUNK_BYTES;
                walk.skip(STRUCT, 0)
            }),
            (COLUMNS, _) => Err(ThriftError::Unsound),
            _ => walk.skip(kind, 0),
        })
    }

    fn encoding(&mut self, wanted: u64) -> Result<usize, ThriftError> {
        let (mut encoding, mut seen) = (0, 0);
        self.fields(&mut |walk, id, kind| {
            seen = once(seen, id)?;
            match kind {
                I32 if id == wanted => encoding = walk.size()?,
                _ if id == wanted => return Err(ThriftError::Unsound),
                _ => walk.skip(kind, 0)?,
            }
            Ok(())
        })?;
        Ok(encoding)
    }

    fn each_struct(&mut self, each: &mut dyn FnMut(&mut Self) -> Result<(), ThriftError>) -> Result<(), ThriftError> {
        let (size, kind) = self.list()?;
        if kind != STRUCT && size > 0 {
            return Err(ThriftError::Unsound);
        }
        (0..size).try_for_each(|_| each(self))
    }

    /// Number of elements of a list, and their type: each takes a byte at least.
    fn list(&mut self) -> Result<(usize, u8), ThriftError> {
        let head = self.byte()?;
        let size = match head >> 4 {
            15 => usize::try_from(self.varint()?).map_err(|_| ThriftError::Unsound)?,
            size => usize::from(size),
        };
        if size > self.bytes.len() - self.place { Err(ThriftError::Cut) } else { Ok((size, head & 15)) }
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Result<(), ThriftError> {
        if depth > DEPTH_MAX {
            return Err(ThriftError::Unsound);
        }
        match kind {
            BOOL_TRUE | BOOL_FALSE => Ok(()),
            BYTE => self.pass(1),
            4..=I64 => self.varint().map(drop),
            DOUBLE => self.pass(8),
            BINARY => {
                let length = self.varint()?;
                self.pass(usize::try_from(length).unwrap_or(usize::MAX))
            }
            LIST | SET => {
                let (size, kind) = self.list()?;
                (0..size).try_for_each(|_| self.skip_element(kind, depth + 1))
            }
            MAP => self.skip_map(depth + 1),
            STRUCT => self.fields(&mut |walk, _, kind| walk.skip(kind, depth + 1)),
            _ => Err(ThriftError::Unsound),
        }
    }

    /// In a list a truth value is a byte.
    fn skip_element(&mut self, kind: u8, depth: usize) -> Result<(), ThriftError> {
        if matches!(kind, BOOL_TRUE | BOOL_FALSE) { self.pass(1) } else { self.skip(kind, depth) }
    }

    fn skip_map(&mut self, depth: usize) -> Result<(), ThriftError> {
        let size = self.varint()?;
        if size == 0 {
            return Ok(());
        }
        let kinds = self.byte()?;
        (0..size).try_for_each(|_| {
            self.skip_element(kinds >> 4, depth)?;
            self.skip_element(kinds & 15, depth)
        })
    }

    /// A number that is not negative.
    fn number(&mut self) -> Result<u64, ThriftError> {
        let zigzag = self.varint()?;
        if zigzag & 1 == 1 { Err(ThriftError::Unsound) } else { Ok(zigzag >> 1) }
    }

    fn size(&mut self) -> Result<usize, ThriftError> {
        let size = i32::try_from(self.number()?).map_err(|_| ThriftError::Unsound)?;
        usize::try_from(size).map_err(|_| ThriftError::Unsound)
    }

    fn varint(&mut self) -> Result<u64, ThriftError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(ThriftError::Unsound)
    }

    fn byte(&mut self) -> Result<u8, ThriftError> {
        let byte = *self.bytes.get(self.place).ok_or(ThriftError::Cut)?;
        self.place += 1;
        Ok(byte)
    }

    fn pass(&mut self, length: usize) -> Result<(), ThriftError> {
        self.place = self.place.checked_add(length).filter(|end| *end <= self.bytes.len()).ok_or(ThriftError::Cut)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A data page of 300 bytes, 100 stored, of 7 values in DELTA_BYTE_ARRAY, as Thrift's compact
    /// protocol has it.
    const HEADER: [u8; 18] = [0x15, 0, 0x15, 0xd8, 0x04, 0x15, 0xc8, 0x01, 0x2c, 0x15, 14, 0x15, 14, 0x15, 6, 0x15, 6, 0];

    #[test]
    fn a_page_header_by_hand() {
        let bytes = [&HEADER[..], &[0, 0xff]].concat();
        let header = PageHeader { bytes: 19, stored_bytes: 100, page_bytes: 300, is_dictionary: false, encoding: 7 };
        assert_eq!(page_header(&bytes), Ok(header));
        for end in 0..19 {
            assert_eq!(page_header(&bytes[..end]), Err(ThriftError::Cut), "{end}");
        }
        // The size again, after it.
        let twice = [&HEADER[..], &[0x05, 4, 0x90, 0x4e, 0]].concat();
        assert_eq!(page_header(&twice), Err(ThriftError::Unsound));
    }

    #[test]
    fn what_readers_take_for_different_things_is_unsound() {
        // After the size, in place of the number of stored bytes and the rest.
        let with = |rest: &[u8]| page_header(&[&HEADER[..5], rest].concat());
        assert_eq!(with(&[0x15, 0, 0]).map(|header| header.page_bytes), Ok(300));
        // Field 65,538, which is 2 in 16 bits; a field of 300 that nobody knows.
        assert_eq!(with(&[0x05, 0x84, 0x80, 0x08, 4, 0]), Err(ThriftError::Unsound));
        assert_eq!(with(&[0x05, 0xd8, 0x04, 4, 0]).map(|header| header.page_bytes), Ok(300));
        // The stored size as a text; as a number of 33 bits.
        assert_eq!(with(&[0x18, 0, 0]), Err(ThriftError::Unsound));
        assert_eq!(with(&[0x15, 0x80, 0x80, 0x80, 0x80, 0x20, 0]), Err(ThriftError::Unsound));
        // Headers of both versions, of 7 and 0; and one with two encodings.
        assert_eq!(with(&[0x3c, 0x25, 14, 0, 0]).map(|header| header.encoding), Ok(7));
        assert_eq!(with(&[0x6c, 0x45, 14, 0, 0]).map(|header| header.encoding), Ok(7));
        assert_eq!(with(&[0x3c, 0x25, 14, 0, 0x3c, 0x45, 0, 0, 0]), Err(ThriftError::Unsound));
        assert_eq!(with(&[0x3c, 0x25, 14, 0x05, 4, 0, 0, 0]), Err(ThriftError::Unsound));
        // Row groups as a set.
        assert_eq!(footer_bytes(&[0x4a, 0x0c, 0]), Err(ThriftError::Unsound));
        assert_eq!(footer_bytes(&[0x49, 0x0c, 0]), Ok(12));
        // No row groups, and after them an algorithm of encryption: field 8, a struct.
        assert_eq!(footer_bytes(&[0x49, 0x0c, 0x4c, 0, 0]), Err(ThriftError::Encrypted));
    }

    #[test]
    fn a_list_that_is_not_there_takes_nothing() {
        // Row groups: a list of 2^31 structs.
        assert_eq!(footer_bytes(&[0x49, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0]), Err(ThriftError::Cut));
        // Maps of maps of nothing: ends at once, too.
        assert_eq!(footer_bytes(&[0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x11]), Err(ThriftError::Cut));
    }
}
