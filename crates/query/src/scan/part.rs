//! A file of which several processes read a part each, for other readers than scans.

use super::context::{ScanContext, external};
use super::object::{ObjectLines, ObjectReader, first_bytes};
use super::table::has_encoding;
use crate::limits::LINE_END_BYTES;
use crate::tables::remote::{make_store, object_address, objects};
use datafusion::common::{Result, exec_datafusion_err, plan_datafusion_err};
use datafusion::object_store::path::Path as ObjectPath;
use datafusion::object_store::{ObjectMeta, ObjectStore};
use memchr::memchr;
use rorqual_pipe::decode::{Charset, Encoding};
use rorqual_pipe::limits::BLOCK_BYTES;
use rorqual_pipe::{Error, ErrorClass, FileGrowth, FileVersion, HeldFile, Input, reason};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
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
    /// State of a file that has a path.
    pub version: Option<FileVersion>,
    /// Its place.
    pub place: FilePlace,
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
    if !path.metadata().map_err(failed)?.is_file() {
        return Err(exec_datafusion_err!("{name}: is not a file, so other processes can't read it"));
    }
    let version = FileVersion::of(&path).map_err(external)?;
    let size_bytes = version.size_bytes();
    Ok(PartedFile { name: name.to_owned(), size_bytes, version: Some(version), place: FilePlace::Path(path) })
}

async fn listed(name: &str) -> Result<Vec<PartedFile>> {
    let url = Url::parse(name).map_err(|error| plan_datafusion_err!("{name}: {error}"))?;
    let store = make_store(&url)?;
    let found = objects(name, &url, store.as_ref()).await?;
    let file = |meta: ObjectMeta| {
        let address = object_address(&url, &meta);
        PartedFile {
            name: address.to_string(),
            size_bytes: meta.size,
            version: None,
            place: FilePlace::Object(address, meta.e_tag),
        }
    };
    Ok(found.into_iter().map(file).collect())
}

/// A file that is read by a thread which may wait.
pub struct OpenPart {
    name: String,
    size_bytes: u64,
    source: PartSource,
}

/// Looks whether the file of a part is still the one that was opened.
#[derive(Debug, Default)]
pub struct PartGuard(Option<HeldFile>);

impl PartGuard {
    /// Fails if the file was changed or replaced. What was read before is of one state, if it was
    /// not.
    ///
    /// # Errors
    /// With the name of the file.
    pub fn check(&self) -> Result<(), Error> {
        self.0.as_ref().map_or(Ok(()), HeldFile::check)
    }
}

enum PartSource {
    File(File),
    Object(Arc<dyn ObjectStore>, ObjectMeta),
}

impl OpenPart {
    /// Opens a file of this machine.
    ///
    /// # Errors
    /// When it can't be opened, or is not in that state; it may have grown.
    pub fn of_path(name: &str, version: Option<FileVersion>, path: &Path) -> Result<(Self, PartGuard), Error> {
        let input = Input::open_stored(path)?;
        let none = || Error::new(ErrorClass::Io, name, "is no longer a file");
        let file = input.file_again()?.ok_or_else(none)?;
        let version = match version {
            Some(version) => version,
            None => FileVersion::of_file(&file).map_err(|cause| Error::io(name, "cannot examine", cause))?,
        };
        let guard = HeldFile::new(input.file_again()?.ok_or_else(none)?, name, version.clone(), FileGrowth::Allowed)?;
        let part = Self { name: name.to_owned(), size_bytes: version.size_bytes(), source: PartSource::File(file) };
        Ok((part, PartGuard(Some(guard))))
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
        let sent = FileVersion::of(file.path()).unwrap().to_text();
        let open = || OpenPart::of_path("access.log", FileVersion::of_text(&sent, "access.log").ok(), file.path());
        let (_, guard) = open().unwrap();
        file.as_file().write_all_at(b"more\n", 21).unwrap();
        assert!(open().is_ok() && guard.check().is_ok());
        for other in ["One line\nand another\n", "One line\nand another\nand more\n", "one line\n"] {
            write(other);
            let error = open().map(drop).unwrap_err().to_string();
            assert!(error.contains("access.log") && error.contains("changed or replaced"), "{error}");
            assert!(guard.check().is_err());
        }
        for foreign in ["", "1 2 3", "1 2 3 x", "1 2 3 4 5"] {
            let error = FileVersion::of_text(foreign, "access.log").unwrap_err().to_string();
            assert!(error.contains("access.log"), "{foreign}: {error}");
        }
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
