//! A file of which several processes read a part each, for other readers than scans.

use super::object::{ObjectLines, ObjectReader, first_bytes};
use super::table::has_encoding;
use super::{ScanContext, external};
use crate::limits::LINE_END_BYTES;
use crate::tables::remote::{make_store, object_address, objects};
use datafusion::common::{Result, exec_datafusion_err, plan_datafusion_err};
use datafusion::object_store::path::Path as ObjectPath;
use datafusion::object_store::{ObjectMeta, ObjectStore};
use memchr::memchr;
use rorqual_pipe::decode::{Charset, Encoding};
use rorqual_pipe::limits::BLOCK_BYTES;
use rorqual_pipe::{Error, ErrorClass, Input, reason};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use url::Url;

/// A file that may be read in parts.
#[derive(Debug, Clone)]
pub struct PartedFile {
    /// Its name in messages.
    pub name: String,
    /// Its bytes as they are stored.
    pub size_bytes: u64,
    /// Tells another file of the same name, of a path.
    pub mark: Option<FileMark>,
    /// Its place.
    pub place: FilePlace,
}

/// Marks by which other machines know a file of a path again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileMark {
    /// Last change, in Unix nanoseconds.
    pub changed_ns: i128,
    /// Hash of the first bytes.
    pub start: u64,
}

/// First bytes that a mark is of.
const MARK_BYTES: u64 = 4 << 10;

impl FileMark {
    fn of(file: &File, size_bytes: u64) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let changed_ns = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
        let start = read_range(file, 0..size_bytes.min(MARK_BYTES))?;
        // The same in all processes of a version.
        let mut hasher = DefaultHasher::new();
        start.hash(&mut hasher);
        Ok(Self { changed_ns, start: hasher.finish() })
    }
}

/// Place of a file.
#[derive(Debug, Clone)]
pub enum FilePlace {
    /// A path on each machine.
    Path(PathBuf),
    /// An object, with the tag of its content.
    Object(Url, Option<String>),
}

impl PartedFile {
    /// The files that names stand for: paths as they are, addresses with the objects that a
    /// wildcard or a folder has.
    ///
    /// # Errors
    /// When one is not there, in words for people.
    pub async fn list(names: &[String]) -> Result<Vec<Self>> {
        let mut files = Vec::new();
        for name in names {
            if name.contains("://") { files.extend(listed(name).await?) } else { files.push(of_path(name)?) }
        }
        Ok(files)
    }

    /// False if its name says that it is compressed.
    #[must_use]
    pub fn may_be_cut(&self) -> bool {
        !has_encoding(&self.name)
    }
}

fn of_path(name: &str) -> Result<PartedFile> {
    let failed = |cause: io::Error| exec_datafusion_err!("{name}: {}", reason(&cause));
    let path = std::path::absolute(name).map_err(failed)?;
    let metadata = path.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(exec_datafusion_err!("{name}: is no file, and so can't be read by other processes"));
    }
    let mark = mark(&path, metadata.len()).map_err(external)?;
    Ok(PartedFile { name: name.to_owned(), size_bytes: metadata.len(), mark: Some(mark), place: FilePlace::Path(path) })
}

fn mark(path: &Path, size_bytes: u64) -> Result<FileMark, Error> {
    let name = path.to_string_lossy();
    let file = Input::open_stored(path)?.file_again()?;
    let file = file.ok_or_else(|| Error::new(ErrorClass::Io, &*name, "is no file any more"))?;
    FileMark::of(&file, size_bytes).map_err(|cause| Error::io(&*name, "cannot be read", cause))
}

async fn listed(name: &str) -> Result<Vec<PartedFile>> {
    let url = Url::parse(name).map_err(|error| plan_datafusion_err!("{name}: {error}"))?;
    let store = make_store(&url)?;
    let found = objects(name, &url, store.as_ref()).await?;
    let file = |meta: ObjectMeta| {
        let address = object_address(&url, &meta);
        PartedFile { name: address.to_string(), size_bytes: meta.size, mark: None, place: FilePlace::Object(address, meta.e_tag) }
    };
    Ok(found.into_iter().map(file).collect())
}

/// A file that is read by a thread which may wait.
pub struct OpenPart {
    name: String,
    size_bytes: u64,
    source: PartSource,
}

enum PartSource {
    File(File),
    Object(Arc<dyn ObjectStore>, ObjectMeta),
}

impl OpenPart {
    /// Opens a file of this machine.
    ///
    /// # Errors
    /// When it can't be opened, or is another one than the client has looked at; it may have grown.
    pub fn of_path(name: &str, size_bytes: u64, mark: Option<FileMark>, path: &Path) -> Result<Self, Error> {
        let opened = Input::open_stored(path)?.file_again()?;
        let opened = opened.ok_or_else(|| Error::new(ErrorClass::Io, name, "is no file any more"))?;
        let failed = |cause| Error::io(name, "cannot be read", cause);
        let bytes = opened.metadata().map_err(failed)?.len();
        let is_it = bytes >= size_bytes && {
            let found = FileMark::of(&opened, size_bytes).map_err(failed)?;
            mark.is_none_or(|mark| mark.start == found.start && (bytes > size_bytes || mark.changed_ns == found.changed_ns))
        };
        if !is_it {
            let text = "is another file here than where the report was asked for, or was changed since";
            return Err(Error::new(ErrorClass::Io, name, text));
        }
        Ok(Self { name: name.to_owned(), size_bytes, source: PartSource::File(opened) })
    }

    /// An object in its store.
    ///
    /// # Errors
    /// When its address is none.
    pub fn of_object(
        name: &str,
        size_bytes: u64,
        url: &Url,
        e_tag: Option<String>,
        store: Arc<dyn ObjectStore>,
    ) -> Result<Self, Error> {
        let location = ObjectPath::from_url_path(url.path());
        let location = location.map_err(|error| Error::new(ErrorClass::Mismatch, name, error.to_string()))?;
        let meta = ObjectMeta { location, last_modified: Default::default(), size: size_bytes, e_tag, version: None };
        Ok(Self { name: name.to_owned(), size_bytes, source: PartSource::Object(store, meta) })
    }

    /// Its first bytes, up to a block, if they are text as it is stored; `None` where it has to be
    /// read as a whole.
    ///
    /// # Errors
    /// When they can't be read.
    pub fn plain_head(&self) -> Result<Option<Vec<u8>>, Error> {
        let bytes = self.size_bytes.min(BLOCK_BYTES as u64);
        if bytes == 0 {
            return Ok(Some(Vec::new()));
        }
        let head = match &self.source {
            PartSource::File(file) => read_range(file, 0..bytes),
            PartSource::Object(store, meta) => {
                tokio::runtime::Handle::current().block_on(first_bytes(store, meta, bytes)).map(|head| head.to_vec())
            }
        };
        let head = head.map_err(|cause| Error::io(&self.name, "cannot be read", cause))?;
        let is_plain = Encoding::detect(&head) == Encoding::Plain && Charset::detect(&head) == Charset::Utf8;
        Ok(is_plain.then_some(head))
    }

    /// The whole file, decoded.
    ///
    /// # Errors
    /// When it can't be opened.
    pub fn whole(self, context: &ScanContext) -> Result<Input, Error> {
        match self.source {
            PartSource::File(file) => Input::from_file(self.name, file).map(Input::into_utf8),
            PartSource::Object(store, meta) => {
                let reader = ObjectReader::new(store, meta, context.pieces_ahead.clone());
                Ok(Input::from_reader(self.name, Box::new(reader)).into_utf8())
            }
        }
    }

    /// The lines of a plain file that start in a range; `None` where none does.
    ///
    /// # Errors
    /// When they can't be read.
    pub fn lines(self, range: Range<u64>, context: &ScanContext) -> Result<Option<Input>, Error> {
        let (name, end) = (self.name, range.end);
        let failed = |cause| Error::io(&name, "cannot be read", cause);
        match self.source {
            PartSource::File(file) => {
                // The end of a line that fills the range is looked for by the part that owns it.
                let start = line_start(&file, range.start, range.end).map_err(failed)?;
                let end = line_start(&file, end, self.size_bytes).map_err(failed)?;
                if start >= end {
                    Ok(None)
                } else {
                    Input::from_file(name, file).map(|input| Some(input.stored().within(start..end)))
                }
            }
            PartSource::Object(store, meta) => {
                let reader = ObjectReader::new(store, meta, context.pieces_ahead.clone());
                let opened = ObjectLines::open(reader, range).map_err(failed)?;
                let input = |(lines, start)| Input::from_reader(name, Box::new(lines)).stored().within(start..end);
                Ok(opened.map(input))
            }
        }
    }
}

/// Offset of the first line that starts at `at` or after it.
fn line_start(file: &File, at: u64, size_bytes: u64) -> io::Result<u64> {
    let mut buffer = vec![0; LINE_END_BYTES as usize];
    // The byte before it tells whether a line starts with it.
    let mut offset = at.saturating_sub(1);
    while at > 0 && offset < size_bytes {
        let wanted = (size_bytes - offset).min(buffer.len() as u64) as usize;
        let read = match file.read_at(&mut buffer[..wanted], offset) {
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(newline) = memchr(b'\n', &buffer[..read]) {
            return Ok(offset + newline as u64 + 1);
        }
        offset += read as u64;
    }
    Ok(if at == 0 { 0 } else { size_bytes })
}

fn read_range(file: &File, range: Range<u64>) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; (range.end - range.start) as usize];
    file.read_exact_at(&mut bytes, range.start)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

    use super::*;
    use std::io::Write;

    /// A file that has grown is the same; one of other bytes, or that was written anew, is none.
    #[test]
    fn another_file_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let write = |text: &str| {
            file.as_file().set_len(0).unwrap();
            file.as_file().write_all_at(text.as_bytes(), 0).unwrap();
        };
        write("one line\nand another\n");
        let found = mark(file.path(), 21).unwrap();
        let open = || OpenPart::of_path("access.log", 21, Some(found), file.path()).map(drop);
        assert!(open().is_ok());
        file.as_file().write_all_at(b"more\n", 21).unwrap();
        assert!(open().is_ok());
        for other in ["One line\nand another\n", "One line\nand another\nand more\n", "one line\n"] {
            write(other);
            let error = open().unwrap_err().to_string();
            assert!(error.contains("access.log") && error.contains("another file"), "{error}");
        }
        write("one line\nand another\n");
        assert!(open().is_err(), "it was written anew");
    }

    /// Ranges that are cut anywhere have each line once.
    #[test]
    fn each_line_is_in_one_range() {
        let long = "x".repeat(600_000);
        for text in ["", "\n", "a", "a\n", "\n\na\n\n", "one\ntwo\nthree and more\n\nfour", &format!("a\n{long}\nb\n{long}")] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(text.as_bytes()).unwrap();
            let size = text.len() as u64;
            for step in [1, 2, 3, 5, 7, 100_000].into_iter().filter(|step| size / step < 1_000) {
                let mut end = 0;
                for start in (0..size).step_by(step as usize) {
                    let range = [start, (start + step).min(size)].map(|at| line_start(&file, at, size).unwrap());
                    assert_eq!(range[0], end, "{step}");
                    let before = text.as_bytes()[..end as usize].last();
                    assert!(end == 0 || end == size || before == Some(&b'\n'));
                    end = range[1];
                }
                assert_eq!(end, size);
            }
        }
    }
}
