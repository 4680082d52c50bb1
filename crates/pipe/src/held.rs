//! Files that have to stay as they are while they are read, in parts or more than once.

use crate::error::{Error, ErrorClass};
use crate::input::open_at_once;
use std::fs::{File, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Bytes at each end of a file by which one that has grown is told from one that was written anew.
const END_BYTES: u64 = 4 << 10;

/// State of a file when it was first looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileVersion {
    /// Device and inode; unknown of a file of another machine.
    identity: Option<(u64, u64)>,
    size_bytes: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    /// Hash of its first and last bytes.
    ends: u64,
}

impl FileVersion {
    /// The state of the file at `path`.
    ///
    /// # Errors
    /// When it can't be opened, examined or read.
    pub fn of(path: &Path) -> Result<Self, Error> {
        let name = path.to_string_lossy();
        let file = open_at_once(path).map_err(|cause| Error::io(&*name, "cannot open", cause))?;
        Self::of_file(&file).map_err(|cause| Error::io(&*name, "cannot examine", cause))
    }

    /// The state of an open file.
    ///
    /// # Errors
    /// When it can't be examined or read.
    pub fn of_file(file: &File) -> io::Result<Self> {
        let about = file.metadata()?;
        Ok(Self {
            identity: Some((about.dev(), about.ino())),
            size_bytes: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
            ends: ends(file, about.size())?,
        })
    }

    /// The state as a text for other machines, which know the file by another device and inode.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self { size_bytes, modified: (seconds, nanoseconds), ends, .. } = self;
        format!("{size_bytes} {seconds} {nanoseconds} {ends}")
    }

    /// The state of a text for the file `name`.
    ///
    /// # Errors
    /// When it is not such a text.
    pub fn of_text(text: &str, name: &str) -> Result<Self, Error> {
        let read = || {
            let [size_bytes, seconds, nanoseconds, ends] = text.split(' ').collect::<Vec<_>>().try_into().ok()?;
            let modified = (seconds.parse().ok()?, nanoseconds.parse().ok()?);
            Some(Self { identity: None, size_bytes: size_bytes.parse().ok()?, modified, ends: ends.parse().ok()? })
        };
        read().ok_or_else(|| Error::new(ErrorClass::Corrupt, name, "has a state that cannot be read"))
    }

    /// Its size.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Fails if `file` is not in this state any more.
    ///
    /// # Errors
    /// When it was changed or replaced, or can't be examined.
    pub fn check(&self, file: &File, name: &str, growth: FileGrowth) -> Result<(), Error> {
        let failed = |cause| Error::io(name, "cannot examine", cause);
        let about = file.metadata().map_err(failed)?;
        let is_same_file = self.identity.is_none_or(|identity| identity == (about.dev(), about.ino()));
        let modified = (about.mtime(), about.mtime_nsec());
        let is_same = match growth {
            _ if !is_same_file => false,
            _ if (about.size(), modified) == (self.size_bytes, self.modified) => true,
            FileGrowth::Refused => false,
            // A file that was written anew is larger by chance, and begins and ends otherwise.
            FileGrowth::Allowed => about.size() > self.size_bytes && ends(file, self.size_bytes).map_err(failed)? == self.ends,
        };
        if is_same { Ok(()) } else { Err(changed(name)) }
    }

    /// Fails if the file that has the path is not in this state any more.
    ///
    /// # Errors
    /// When it was changed or replaced, or can't be opened or examined.
    pub fn check_path(&self, path: &Path, growth: FileGrowth) -> Result<(), Error> {
        let name = path.to_string_lossy();
        let file = open_at_once(path).map_err(|cause| Error::io(&*name, "cannot open", cause))?;
        self.check(&file, &name, growth)
    }
}

/// The fate of a file that grew while it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileGrowth {
    /// It is another file.
    Refused,
    /// It is the same, of which what was there at first is read.
    Allowed,
}

/// An open file that is held to a state of it.
#[derive(Debug)]
pub struct HeldFile {
    file: File,
    name: String,
    version: FileVersion,
    growth: FileGrowth,
}

impl HeldFile {
    /// Holds an open file to a state.
    ///
    /// # Errors
    /// When it is in another one already.
    pub fn new(file: File, name: &str, version: FileVersion, growth: FileGrowth) -> Result<Self, Error> {
        let held = Self { file, name: name.to_owned(), version, growth };
        held.check()?;
        Ok(held)
    }

    /// Fails if the file is in another state than it is held to. What was read before is of that
    /// state, if it does not.
    ///
    /// # Errors
    /// When it was changed, or can't be examined.
    pub fn check(&self) -> Result<(), Error> {
        self.version.check(&self.file, &self.name, self.growth)
    }
}

fn changed(name: &str) -> Error {
    let message = "the file was changed or replaced while it was read, so rows of two files would be mixed; \
                   read it once more, or a copy of it";
    Error::new(ErrorClass::Mismatch, name, message)
}

/// Hash of the first and the last bytes of the first `size_bytes`.
fn ends(file: &File, size_bytes: u64) -> io::Result<u64> {
    let length = END_BYTES.min(size_bytes);
    let mut hasher = DefaultHasher::new();
    for start in [0, size_bytes - length] {
        let mut end = vec![0; length as usize];
        match file.read_exact_at(&mut end, start) {
            Ok(()) => end.hash(&mut hasher),
            // It has less than it is said to have.
            Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => u64::MAX.hash(&mut hasher),
            Err(cause) => return Err(cause),
        }
    }
    Ok(hasher.finish())
}

/// True if the file at that path is this one.
#[must_use]
pub fn is_at(file: &File, path: &Path) -> bool {
    let identity = |data: Metadata| (data.dev(), data.ino());
    let [own, named] = [file.metadata(), std::fs::metadata(path)].map(|data| data.ok().map(identity));
    own.is_some() && own == named
}
