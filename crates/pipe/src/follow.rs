//! A file that others still write to, as a stream without an end.

use crate::control::Control;
use crate::decode::{Charset, Encoding, MAGIC_BYTES};
use crate::descriptor::PollableRead;
use crate::error::{Error, ErrorClass};
use crate::input::open_at_once;
use crate::limits::{FOLLOW_EVERY, LAST_LINE_BYTES_MAX, ROTATED_AFTER};
use crate::setting::FOLLOW;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Events of a followed file; clones share one state.
#[derive(Debug, Clone, Default)]
pub struct FollowStatus {
    shared: Arc<FollowEvents>,
}

#[derive(Debug, Default)]
struct FollowEvents {
    truncations: AtomicU64,
    rotations: AtomicU64,
    missing: AtomicBool,
}

impl FollowStatus {
    /// Number of times that it became shorter than the read bytes, and was begun anew.
    #[must_use]
    pub fn truncations(&self) -> u64 {
        self.shared.truncations.load(Ordering::Relaxed)
    }

    /// Number of times that another file took its name.
    #[must_use]
    pub fn rotations(&self) -> u64 {
        self.shared.rotations.load(Ordering::Relaxed)
    }

    /// True if no regular file that may be read has its name now; the one that had it is read on.
    #[must_use]
    pub fn missing(&self) -> bool {
        self.shared.missing.load(Ordering::Relaxed)
    }
}

/// An open file, and the name under which the next one will appear.
#[derive(Debug)]
pub(crate) struct FollowedFile {
    path: PathBuf,
    file: File,
    followed: FollowStatus,
    /// Offset from which it is read.
    start: u64,
}

impl FollowedFile {
    pub(crate) fn new(path: &Path, file: File) -> Result<Self, Error> {
        let name = path.to_string_lossy();
        let mut head = [0; MAGIC_BYTES];
        let length = file.read_at(&mut head, 0).map_err(|cause| Error::io(&*name, "cannot read", cause))?;
        if Encoding::detect(&head[..length]) != Encoding::Plain {
            let message =
                format!("is compressed, and does not grow by lines: only plain files can be followed; leave out {FOLLOW}");
            return Err(Error::new(ErrorClass::Corrupt, &*name, message));
        }
        if Charset::detect(&head[..length]) != Charset::Utf8 {
            let message = format!("is UTF-16, of which only whole files are read: leave out {FOLLOW}");
            return Err(Error::new(ErrorClass::Corrupt, &*name, message));
        }
        Ok(Self { path: path.to_owned(), file, followed: FollowStatus::default(), start: 0 })
    }

    /// Another handle on the file.
    pub(crate) fn handle(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// The same, read from an offset on where a line begins.
    pub(crate) fn at(self, start: u64) -> Self {
        Self { start, ..self }
    }

    pub(crate) fn followed(&self) -> FollowStatus {
        self.followed.clone()
    }

    pub(crate) fn reader(self, control: Control) -> FollowReader {
        let Self { path, file, followed, start } = self;
        FollowReader {
            path,
            file,
            place: start,
            followed,
            control,
            at_end: false,
            ends_line: true,
            given: Instant::now(),
            pauses: false,
        }
    }
}

/// Reads to the end of the file, and then all that is appended, until the run is stopped.
///
/// A file that takes its name is read once the old one has given nothing for [`ROTATED_AFTER`] and
/// the new one has something: writers go on with the old one for a while. A file that became
/// shorter is read from its start. In both cases a line that was not finished ends there.
pub(crate) struct FollowReader {
    path: PathBuf,
    file: File,
    /// Number of bytes that were read of the file.
    place: u64,
    followed: FollowStatus,
    control: Control,
    /// There was nothing more when it was read last.
    at_end: bool,
    /// The last byte that was given is a newline, or there is none.
    ends_line: bool,
    /// Time at which the file gave something last.
    given: Instant,
    /// Nothing is read instead of waiting.
    pauses: bool,
}

impl FollowReader {
    /// The same, which reads nothing where it would wait, if it `pauses`.
    pub(crate) fn pausing(self, pauses: bool) -> Self {
        Self { pauses, ..self }
    }

    fn read_on(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.control.read_called();
        let read = self.file.read_at(buffer, self.place)?;
        // At the end a writer gets time for more than a line.
        self.at_end = read < buffer.len();
        if let Some(last) = buffer[..read].last() {
            self.place += read as u64;
            self.ends_line = *last == b'\n';
            self.given = Instant::now();
        }
        Ok(read)
    }

    /// True if there is something else to be read from its start.
    fn begun_anew(&mut self) -> io::Result<bool> {
        if self.file.metadata()?.len() < self.place {
            self.followed.shared.truncations.fetch_add(1, Ordering::Relaxed);
            self.place = 0;
            return Ok(true);
        }
        let named = self.path.metadata().ok().filter(Metadata::is_file);
        self.followed.shared.missing.store(named.is_none(), Ordering::Relaxed);
        let Some(named) = named else { return Ok(false) };
        if self.is_this(&named)? || named.len() == 0 || self.given.elapsed() < ROTATED_AFTER {
            return Ok(false);
        }
        // It may be gone again already, or be another, or not be ours to read yet.
        let opened = open_at_once(&self.path).ok().filter(|file| file.metadata().is_ok_and(|data| data.is_file()));
        let Some(file) = opened else {
            self.followed.shared.missing.store(true, Ordering::Relaxed);
            return Ok(false);
        };
        // A writer may have appended to the old file meanwhile: that is read first.
        if self.file.metadata()?.len() > self.place {
            return Ok(false);
        }
        self.followed.shared.rotations.fetch_add(1, Ordering::Relaxed);
        (self.file, self.place) = (file, 0);
        Ok(true)
    }

    fn is_this(&self, named: &Metadata) -> io::Result<bool> {
        let own = self.file.metadata()?;
        Ok((own.dev(), own.ino()) == (named.dev(), named.ino()))
    }
}

impl Read for FollowReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let stops = self.at_end && !self.pauses && self.control.stopped_within(FOLLOW_EVERY);
            if stops || self.control.stopped() {
                return Ok(0);
            }
            let read = self.read_on(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            if self.begun_anew()? {
                self.at_end = false;
                if !std::mem::replace(&mut self.ends_line, true)
                    && let Some(first) = buffer.first_mut()
                {
                    *first = b'\n';
                    return Ok(1);
                }
            } else if self.pauses {
                return Ok(0);
            }
        }
    }
}

impl PollableRead for FollowReader {
    fn more_soon(&self) -> bool {
        !self.at_end
    }

    fn ended(&self) -> bool {
        self.control.stopped()
    }

    fn pauses(&self) -> bool {
        self.pauses
    }
}

/// A followed file, as ranges of whole lines of the files that have its name one after another.
///
/// Files take its name, and become shorter, as [`Input::follow`](crate::Input::follow) has it. A
/// line that was not finished ends with its file.
pub struct FollowedLines {
    reader: FollowReader,
    /// Start of the line that has no end yet.
    line_start: u64,
    /// Lines since the last ones that were cut off before they had an end.
    lost: u64,
}

/// Lines that were appended to a followed file.
#[derive(Debug)]
pub struct AppendedLines {
    /// The file that they are of.
    pub file: File,
    /// Their bytes in it.
    pub range: Range<u64>,
    /// They begin their file.
    pub begins: bool,
    /// Lines before them without an end, which were gone when the file became shorter.
    pub lost: u64,
}

impl FollowedLines {
    /// The lines of an open file, whose name is `path`, from `start` on, where one begins;
    /// `followed` tells its state.
    #[must_use]
    pub fn new(path: &Path, file: File, start: u64, followed: FollowStatus) -> Self {
        let following = FollowedFile { path: path.to_owned(), file, followed, start };
        Self { reader: following.reader(Control::default()), line_start: start, lost: 0 }
    }

    /// The lines that are there now, `None` where there are no further ones. The first of another
    /// file come once those before it were taken.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn appended(&mut self) -> io::Result<Option<AppendedLines>> {
        let reader = &mut self.reader;
        let size = reader.file.metadata()?.len();
        if size > reader.place {
            let searched = std::mem::replace(&mut reader.place, size);
            reader.given = Instant::now();
            return match self.whole_lines(searched) {
                // It was cut meanwhile, which the next look tells.
                Err(cause) if cause.kind() == ErrorKind::UnexpectedEof => Ok(None),
                found => found,
            };
        }
        let (before, unfinished) = (reader.file.try_clone()?, self.line_start..reader.place);
        let truncations = reader.followed.truncations();
        if !reader.begun_anew()? {
            return Ok(None);
        }
        self.line_start = 0;
        if unfinished.is_empty() {
            return self.appended();
        }
        if self.reader.followed.truncations() > truncations {
            self.lost += 1;
            return self.appended();
        }
        Ok(Some(self.lines(before, unfinished)))
    }

    /// The whole lines up to the place; none ends before `searched`.
    fn whole_lines(&mut self, searched: u64) -> io::Result<Option<AppendedLines>> {
        let (file, start, place) = (&self.reader.file, self.line_start, self.reader.place);
        let found = last_line_end(file, searched, place)?;
        let mut end = if found > searched { found } else { start };
        if end == start && place - start > LAST_LINE_BYTES_MAX {
            // Too long to be one: what is there of it.
            end = place;
        }
        let file = file.try_clone()?;
        self.line_start = end;
        Ok((end > start).then(|| self.lines(file, start..end)))
    }

    fn lines(&mut self, file: File, range: Range<u64>) -> AppendedLines {
        AppendedLines { file, begins: range.start == 0, range, lost: std::mem::take(&mut self.lost) }
    }
}

/// End of the last whole line between two offsets of a file, of which the first begins a line; the
/// first where none ends within the last [`LAST_LINE_BYTES_MAX`].
///
/// # Errors
/// When it can't be read.
pub fn last_line_end(file: &File, start: u64, end: u64) -> io::Result<u64> {
    let least = start.max(end.saturating_sub(LAST_LINE_BYTES_MAX));
    let (mut to, mut bytes) = (end, Vec::new());
    while to > least {
        let from = least.max(to.saturating_sub(SOUGHT_BYTES));
        bytes.resize((to - from) as usize, 0);
        file.read_exact_at(&mut bytes, from)?;
        if let Some(newline) = bytes.iter().rposition(|byte| *byte == b'\n') {
            return Ok(from + newline as u64 + 1);
        }
        to = from;
    }
    Ok(start)
}

/// Bytes that are looked through at a time for the end of a line.
const SOUGHT_BYTES: u64 = 256 << 10;

const _: () = assert!(ROTATED_AFTER.as_millis() >= 2 * FOLLOW_EVERY.as_millis());
