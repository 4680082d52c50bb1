//! Sources of bytes.

use crate::chunk::{Chunk, Framing, RunPlan};
use crate::control::Control;
use crate::decode::DecodeDepth;
use crate::descriptor::Descriptor;
use crate::error::{Error, ErrorClass};
use crate::file::{FileRanges, SharedFile};
use crate::follow::{FollowStatus, FollowedFile};
use crate::held::{FileGrowth, FileVersion, HeldFile};
use crate::limits::BLOCK_BYTES;
use crate::pool::BufferPool;
use crate::resumable_run::source;
use crate::stream::{BlockSource, EnoughForDetection};
use rustix::fs::OFlags;
use std::fs::{File, Metadata};
use std::io::{Cursor, ErrorKind, Read};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

const STDIN: &str = "standard input";

/// Bytes of a stream that are asked for at once until its start is known.
const START_PIECE_BYTES: usize = 64 << 10;

/// Bytes as they are.
const STORED: DecodeDepth = DecodeDepth { compression: false, charset: false };

const STDIN_PATH: &str = "/proc/self/fd/0";

/// An input that was opened and not yet read.
pub struct Input {
    pub(crate) name: String,
    pub(crate) body: InputBody,
    /// Depth of decoding.
    pub(crate) undo: DecodeDepth,
    size_bytes: Option<u64>,
    /// Bytes of a stream that were read ahead.
    pub(crate) prefix: Vec<u8>,
    pub(crate) enough: Option<EnoughForDetection>,
    /// `start` is given lines after a first one that is over-long.
    pub(crate) after_long: bool,
    /// Part of a file that is read.
    pub(crate) range: Option<Range<u64>>,
    /// A stream gives nothing where it would wait.
    pub(crate) pauses: bool,
}

pub(crate) enum InputBody {
    /// A plain regular file: read side by side.
    File { file: File, size_bytes: u64 },
    /// A pipe, a FIFO, a device or a compressed file.
    Descriptor(File),
    /// A plain file that is read on as it grows.
    Following(FollowedFile),
    /// A stream of stored bytes, which may be compressed.
    Read(Box<dyn Read + Send>),
    /// The same, in buffers that are filled elsewhere.
    Source(Box<dyn BlockSource>),
}

impl Input {
    /// Opens a file, a FIFO or a device; `-` is standard input. A compressed file becomes a stream.
    ///
    /// # Errors
    /// When it does not exist, may not be read, or is a directory.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::open_as(path, true)
    }

    /// The same as [`Input::open`], and goes on with bytes appended to a regular file, and with
    /// files that take its name, until the run is stopped.
    ///
    /// # Errors
    /// As [`Input::open`], and when it is a compressed file.
    pub fn follow(path: &Path) -> Result<Self, Error> {
        let opened = Self::open(path)?;
        // Streams go on anyway, and so do files of /proc, which have no size; standard input has no
        // name to look for.
        if opened.size_bytes.is_none() || path.as_os_str() == "-" {
            return Ok(opened);
        }
        let body = match opened.body {
            InputBody::File { file, .. } | InputBody::Descriptor(file) => InputBody::Following(FollowedFile::new(path, file)?),
            other => other,
        };
        Ok(Self { body, undo: STORED, size_bytes: None, ..opened })
    }

    /// State of a file that is followed; `None` of others.
    #[must_use]
    pub fn followed(&self) -> Option<FollowStatus> {
        if let InputBody::Following(following) = &self.body { Some(following.followed()) } else { None }
    }

    /// Another handle on a file that is followed; `None` of others.
    ///
    /// # Errors
    /// When the system has no descriptor for it.
    pub fn followed_file(&self) -> Result<Option<File>, Error> {
        let InputBody::Following(following) = &self.body else { return Ok(None) };
        following.handle().map(Some).map_err(|cause| Error::io(&self.name, "cannot open again", cause))
    }

    /// Holds the first block of a stream back until `enough` accepts its stored bytes, or it is
    /// full, or the input ends. Used for format detection. Other blocks leave when the source
    /// pauses.
    #[must_use]
    pub fn with_first(self, enough: impl FnMut(&[u8]) -> bool + Send + 'static) -> Self {
        Self { enough: Some(Box::new(enough)), ..self }
    }

    /// The same stream, or file that is followed, which pauses where it would wait for more: one of
    /// several, each in a [`ResumableRun`](crate::ResumableRun). Compressed data can't pause, and
    /// is taken as it is stored.
    #[must_use]
    pub fn pausing(self) -> Self {
        Self { pauses: true, undo: STORED, ..self }
    }

    /// The same input, of which a run is first shown the bytes after its first line where that one
    /// is over-long. Of a stream the rest of that line is then given to nobody; of a file at most
    /// [`FIRST_LINE_BYTES_MAX`](crate::limits::FIRST_LINE_BYTES_MAX) are looked through.
    #[must_use]
    pub fn after_long_line(self) -> Self {
        Self { after_long: true, ..self }
    }

    /// The same as [`Input::open`], with the bytes as they are stored: no encoding is looked for.
    ///
    /// # Errors
    /// As [`Input::open`].
    pub fn open_stored(path: &Path) -> Result<Self, Error> {
        Self::open_as(path, false)
    }

    fn open_as(path: &Path, decode: bool) -> Result<Self, Error> {
        if path.as_os_str() == "-" {
            let stdin = std::io::stdin().as_fd().try_clone_to_owned();
            let file: File = stdin.map_err(|cause| Error::io(STDIN, "cannot use", cause))?.into();
            // A file that nobody has read of is opened anew: looking for its holes would move the
            // place that is shared with others.
            let unread =
                file.metadata().is_ok_and(|data| data.is_file()) && rustix::fs::tell(&file).is_ok_and(|place| place == 0);
            let own = if unread { File::open(STDIN_PATH).unwrap_or(file) } else { file };
            return Self::of_file(STDIN.into(), own, decode);
        }
        let name = path.to_string_lossy().into_owned();
        let file = open_at_once(path).map_err(|cause| Error::io(&name, "cannot open", cause))?;
        Self::of_file(name, file, decode)
    }

    /// An input over an open file.
    ///
    /// # Errors
    /// When it is a directory or can't be examined.
    pub fn from_file(name: String, file: File) -> Result<Self, Error> {
        Self::of_file(name, file, true)
    }

    fn of_file(name: String, file: File, decode: bool) -> Result<Self, Error> {
        let metadata = file.metadata().map_err(|cause| Error::io(&name, "cannot examine", cause))?;
        if metadata.is_dir() {
            return Err(Error::new(ErrorClass::Io, name, "is a directory; give a file in it"));
        }
        let size_bytes = metadata.len();
        // Files of /proc are regular, have no size, and can only be read as streams. Standard input
        // may be a file that another program has read a part of.
        let empty = metadata.is_file() && size_bytes == 0;
        if empty && head(&file).is_ok_and(|head| head.is_empty()) {
            return Ok(Self {
                name,
                body: InputBody::File { file, size_bytes },
                undo: DecodeDepth { compression: decode, charset: false },
                size_bytes: Some(0),
                prefix: Vec::new(),
                enough: None,
                after_long: false,
                range: None,
                pauses: false,
            });
        }
        if !metadata.is_file()
            || empty
            || is_shorter(&file, &metadata)
            || rustix::fs::tell(&file).is_ok_and(|position| position > 0)
        {
            return Ok(Self {
                name,
                body: InputBody::Descriptor(file),
                undo: DecodeDepth { compression: decode, charset: false },
                size_bytes: None,
                prefix: Vec::new(),
                enough: None,
                after_long: false,
                range: None,
                pauses: false,
            });
        }
        let head = head(&file).map_err(|cause| Error::io(&name, "cannot read", cause))?;
        let body = match crate::decode::Encoding::detect(&head) {
            crate::decode::Encoding::Plain => InputBody::File { file, size_bytes },
            _ if !decode => InputBody::File { file, size_bytes },
            _ => InputBody::Descriptor(file),
        };
        let undo = DecodeDepth { compression: decode, charset: false };
        Ok(Self {
            name,
            body,
            undo,
            size_bytes: Some(size_bytes),
            prefix: Vec::new(),
            enough: None,
            after_long: false,
            range: None,
            pauses: false,
        })
    }

    /// An input over anything that reads, of unknown size.
    #[must_use]
    pub fn from_reader(name: impl Into<String>, reader: Box<dyn Read + Send>) -> Self {
        Self {
            name: name.into(),
            body: InputBody::Read(reader),
            undo: DecodeDepth { compression: true, charset: false },
            size_bytes: None,
            prefix: Vec::new(),
            enough: None,
            after_long: false,
            range: None,
            pauses: false,
        }
    }

    /// An input over buffers that are filled elsewhere, from the pool that the run is given.
    #[must_use]
    pub fn from_source(name: impl Into<String>, source: Box<dyn BlockSource>) -> Self {
        Self {
            name: name.into(),
            body: InputBody::Source(source),
            undo: DecodeDepth { compression: true, charset: false },
            size_bytes: None,
            prefix: Vec::new(),
            enough: None,
            after_long: false,
            range: None,
            pauses: false,
        }
    }

    /// The same input as a stream that one reader reads ahead of its one worker, even where it is a
    /// file: for work that can't be split.
    #[must_use]
    pub fn sequential(self) -> Self {
        let body = match self.body {
            InputBody::File { file, .. } => InputBody::Descriptor(file),
            other => other,
        };
        Self { body, ..self }
    }

    /// The same input with its bytes as they are stored: no encoding is undone.
    #[must_use]
    pub fn stored(self) -> Self {
        Self { undo: STORED, ..self }
    }

    /// The same input as text: UTF-16, which its first bytes tell, comes as UTF-8, also out of
    /// compressed data. A file of it becomes a stream, and offsets are those of the text as UTF-8.
    /// A file that is followed stays as it is.
    #[must_use]
    pub fn into_utf8(self) -> Self {
        if let InputBody::Following(_) = self.body {
            return self;
        }
        let undo = DecodeDepth { charset: true, ..self.undo };
        let body = match self.body {
            InputBody::File { file, size_bytes } => {
                // An input that can't be read here fails where it is read.
                let is_encoded = head(&file).is_ok_and(|head| undo.decodes(&head));
                if is_encoded { InputBody::Descriptor(file) } else { InputBody::File { file, size_bytes } }
            }
            other => other,
        };
        Self { body, undo, ..self }
    }

    /// A copy of the bytes that were read ahead, as an input of its own that is decoded as this one
    /// is.
    #[must_use]
    pub fn copy_of(&self, ahead: Vec<u8>) -> Self {
        Self { undo: self.undo, ..Self::from_reader(self.name.clone(), Box::new(std::io::Cursor::new(ahead))) }
    }

    /// Its bytes as blocks from `pool`, in order; for sources that do more with each before a run
    /// is given it. Stored bytes are counted, and no encoding is undone. A stop ends it as its end
    /// would.
    #[must_use]
    pub fn into_blocks(self, pool: &BufferPool, control: &Control) -> Box<dyn BlockSource> {
        source(self, Framing::Bytes, pool, control)
    }

    /// Reader of the stored bytes, in order and from their start, for messages instead of blocks. A
    /// stop ends it as the input's end would.
    ///
    /// # Errors
    /// When its bytes are in buffers that are filled elsewhere.
    pub fn into_reader(self, control: &Control) -> Result<Box<dyn Read + Send>, Error> {
        let rest: Box<dyn Read + Send> = match self.body {
            InputBody::File { file, .. } => Box::new(file),
            InputBody::Descriptor(file) => Box::new(Descriptor::new(file, control.clone())),
            InputBody::Read(reader) => reader,
            InputBody::Following(_) | InputBody::Source(_) => {
                return Err(Error::new(ErrorClass::Io, self.name, "is not a plain stream"));
            }
        };
        Ok(Box::new(Cursor::new(self.prefix).chain(rest)))
    }

    /// Reads ahead in a stream that can be read only once: at most `bytes_max` stored bytes, which
    /// the run is given again. They are held until then. Of a plain file nothing is read.
    ///
    /// # Errors
    /// When reading fails.
    pub fn read_ahead(&mut self, bytes_max: usize, control: &Control) -> Result<&[u8], Error> {
        let mut reader: Box<dyn Read + '_> = match &mut self.body {
            InputBody::File { .. } | InputBody::Following(_) | InputBody::Source(_) => return Ok(&self.prefix),
            InputBody::Read(reader) => Box::new(reader),
            InputBody::Descriptor(file) => {
                let again = file.try_clone().map_err(|cause| Error::io(&self.name, "cannot read ahead", cause))?;
                Box::new(Descriptor::new(again, control.clone()))
            }
        };
        let more = bytes_max.saturating_sub(self.prefix.len()) as u64;
        self.prefix.reserve_exact(more as usize);
        let read = reader.by_ref().take(more).read_to_end(&mut self.prefix);
        drop(reader);
        read.map_err(|cause| Error::io(&self.name, "cannot read", cause).at(self.prefix.len() as u64))?;
        Ok(&self.prefix)
    }

    /// Its first stored bytes, until they are `enough` or `bytes_max`. A run is given those of a
    /// stream again; of a file that is followed there are none.
    ///
    /// # Errors
    /// When reading fails.
    pub fn start(&mut self, bytes_max: usize, enough: impl Fn(&[u8]) -> bool, control: &Control) -> Result<Vec<u8>, Error> {
        let failed = |cause| Error::io(&self.name, "cannot read", cause);
        let mut reader: Box<dyn Read + '_> = match &mut self.body {
            InputBody::File { file, .. } => {
                let mut start = vec![0; bytes_max];
                let read = read_start(file, &mut start).map_err(failed)?;
                start.truncate(read);
                return Ok(start);
            }
            InputBody::Following(_) | InputBody::Source(_) => return Ok(Vec::new()),
            InputBody::Read(reader) => Box::new(reader),
            InputBody::Descriptor(file) => {
                let again = file.try_clone().map_err(|cause| Error::io(&self.name, "cannot read ahead", cause))?;
                Box::new(Descriptor::new(again, control.clone()))
            }
        };
        let mut piece = vec![0; START_PIECE_BYTES];
        while self.prefix.len() < bytes_max && !enough(&self.prefix) {
            let length = piece.len().min(bytes_max - self.prefix.len());
            match reader.read(&mut piece[..length]) {
                Ok(0) => break,
                Ok(read) => self.prefix.extend_from_slice(&piece[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(cause) => return Err(Error::io(&self.name, "cannot read", cause).at(self.prefix.len() as u64)),
            }
        }
        Ok(self.prefix.clone())
    }

    /// True if opening its name again gives it once more from its start.
    #[must_use]
    pub fn is_stored(&self) -> bool {
        // Standard input that is a file is read at its places; one that is decoded moves on.
        self.is_file() || (self.size_bytes.is_some() && self.name != STDIN)
    }

    /// True if it is a file that one thread decodes: it is compressed, or UTF-16.
    #[must_use]
    pub fn is_encoded_file(&self) -> bool {
        self.is_stored() && !self.is_file()
    }

    /// True if it is a plain file, which workers read side by side.
    #[must_use]
    pub fn is_file(&self) -> bool {
        matches!(self.body, InputBody::File { .. })
    }

    /// The input's name in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if UTF-16 of it comes as UTF-8.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.undo.charset
    }

    /// The same file once more, where it is a plain one: for reading a part of it again.
    ///
    /// # Errors
    /// When the system has no descriptor for it.
    pub fn file_again(&self) -> Result<Option<File>, Error> {
        let InputBody::File { file, .. } = &self.body else { return Ok(None) };
        file.try_clone().map(Some).map_err(|cause| Error::io(&self.name, "cannot open again", cause))
    }

    /// The file held to a state of it, to be checked while it is read; `None` of what is no file.
    ///
    /// # Errors
    /// When it is in another state already, or the system has no descriptor for it.
    pub fn held(&self, version: &FileVersion, growth: FileGrowth) -> Result<Option<HeldFile>, Error> {
        let (InputBody::File { file, .. } | InputBody::Descriptor(file)) = &self.body else { return Ok(None) };
        let file = file.try_clone().map_err(|cause| Error::io(&self.name, "cannot open again", cause))?;
        HeldFile::new(file, &self.name, version.clone(), growth).map(Some)
    }

    /// True if it is a plain file of at most one block, which [`Input::into_chunk`] takes at once.
    #[must_use]
    pub fn is_small(&self) -> bool {
        matches!(self.body, InputBody::File { size_bytes, .. } if size_bytes <= BLOCK_BYTES as u64)
    }

    /// The whole of a small file, read here, and the error after it; anything else comes as its
    /// first block.
    ///
    /// # Errors
    /// When there is no memory for a block, or it is not a plain file.
    pub fn into_chunk(self, plan: &RunPlan, pool: &BufferPool, control: &Control) -> Result<(Chunk, Option<Error>), Error> {
        let InputBody::File { file, size_bytes } = self.body else {
            return Err(Error::new(ErrorClass::Io, self.name, "is not a plain file"));
        };
        let lease = pool.lease().map_err(|cause| Error::io(&self.name, "no memory for a block", cause))?;
        let file = SharedFile::new(file, self.name, size_bytes, plan.framing, control.clone());
        Ok(match file.claim() {
            Some(claim) => file.chunk(&claim, lease),
            None => (Chunk::empty(0, usize::MAX), None),
        })
    }

    /// A plain file, to be read in stretches of lines; anything else comes back as it was.
    ///
    /// # Errors
    /// The input itself, where it is not a plain file.
    pub fn into_stretches(self, framing: Framing, control: &Control) -> Result<FileRanges, Box<Self>> {
        match self.body {
            InputBody::File { file, size_bytes } => {
                let file = SharedFile::new(file, self.name, size_bytes, framing, control.clone());
                Ok(FileRanges::new(file.within(self.range.unwrap_or(0..size_bytes))))
            }
            _ => Err(Box::new(self)),
        }
    }

    /// The part of a plain file, or of a file that is followed, that begins at `range.start`, where
    /// a line begins; a plain one ends at `range.end`.
    #[must_use]
    pub fn within(self, range: Range<u64>) -> Self {
        let body = match self.body {
            InputBody::Following(following) => InputBody::Following(following.at(range.start)),
            other => other,
        };
        Self { body, range: Some(range), ..self }
    }

    /// Stored size (before decoding), where it is known.
    #[must_use]
    pub fn size_bytes(&self) -> Option<u64> {
        self.size_bytes
    }
}

/// A FIFO would otherwise not open before somebody writes to it; a file does not care.
pub(crate) fn open_at_once(path: &Path) -> std::io::Result<File> {
    File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)
}

/// True if a file has less than the system says: files of /sys are said to have a page, whatever is
/// in them, and some can't be read beyond that. They take no room on a disk.
fn is_shorter(file: &File, metadata: &Metadata) -> bool {
    let last = metadata.len().saturating_sub(1);
    metadata.blocks() == 0 && metadata.len() > 0 && !file.read_at(&mut [0], last).is_ok_and(|read| read > 0)
}

fn head(file: &File) -> std::io::Result<Vec<u8>> {
    let mut head = vec![0; crate::decode::MAGIC_BYTES];
    let length = file.read_at(&mut head, 0)?;
    head.truncate(length);
    Ok(head)
}

/// Fills `bytes` from the start of a file, as far as it has them.
fn read_start(file: &File, bytes: &mut [u8]) -> std::io::Result<usize> {
    let mut read = 0;
    while read < bytes.len() {
        match file.read_at(&mut bytes[read..], read as u64) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}
