//! Where the text goes.

use super::Failure;
use crate::args::RenderArgs;
use crate::rejects::refuse_an_input;
use rorqual_pipe::gather::{self, Gather, GatherStats};
use rorqual_pipe::whole_file::{self, Place, is_no_file};
use rorqual_pipe::{Control, Pool, reason};
use rorqual_render::Error;
use serde_json::{Value, json};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// What stands for a file's number.
const NUMBER: &str = "{}";

/// A file, files, or standard output.
pub(super) struct Output {
    path: Option<PathBuf>,
    split: bool,
    /// What is read, and so must not be written.
    inputs: Vec<PathBuf>,
}

/// A file on its way, or standard output.
pub(super) struct OutputFile {
    pub(super) gather: Gather<gather::Output>,
    place: Option<(Place, PathBuf)>,
}

/// What was written.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Written {
    pub(super) files: u64,
    pub(super) bytes: u64,
    pub(super) gather: GatherStats,
}

impl Output {
    pub(super) fn new(args: &RenderArgs) -> Result<Self, String> {
        let path = args.output.clone().filter(|path| path.as_os_str() != "-");
        let split = args.split.is_some();
        let numbered =
            path.as_ref().is_some_and(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(NUMBER)));
        if split && !numbered {
            return Err("--split writes several files: give -o a name with {} where their number goes".to_owned());
        }
        if args.json && path.is_none() {
            return Err("--json names the files that are written, on standard output: give -o a file".to_owned());
        }
        let inputs = [Some(&args.template), args.data.as_ref(), args.rows.rows.as_ref()].into_iter().flatten().cloned().collect();
        let output = Self { path, split, inputs };
        if let Some(path) = output.path.as_ref().filter(|_| !split) {
            output.refuse(path)?;
        }
        Ok(output)
    }

    fn refuse(&self, path: &Path) -> Result<(), String> {
        refuse_an_input("-o", path, &self.inputs)?;
        if is_no_file(path) { Err(format!("-o {}: is there and is no plain file", path.display())) } else { Ok(()) }
    }

    /// What is written is gone.
    pub(super) fn is_stream(&self) -> bool {
        self.path.is_none()
    }

    /// The path of the only file, or of one of several.
    fn path(&self, number: Option<u64>) -> Option<PathBuf> {
        let path = self.path.as_ref()?;
        let Some(number) = number.filter(|_| self.split) else { return Some(path.clone()) };
        let name = path.file_name().map(|name| name.to_string_lossy().replace(NUMBER, &format!("{number:05}")));
        Some(path.with_file_name(name.unwrap_or_default()))
    }

    pub(super) fn name(&self, number: Option<u64>) -> String {
        self.path(number).map_or_else(|| "standard output".to_owned(), |path| path.display().to_string())
    }

    pub(super) fn create(&self, number: Option<u64>, control: &Control, pool: &Pool) -> Result<OutputFile, Failure> {
        let failed = |cause: io::Error| Failure::Said(format!("{}: cannot create it: {}", self.name(number), reason(&cause)));
        let (file, place) = match self.path(number) {
            None => (File::from(io::stdout().as_fd().try_clone_to_owned().map_err(failed)?), None),
            Some(path) => {
                self.refuse(&path)?;
                let (file, place) = whole_file::create(&path).map_err(failed)?;
                (file, Some((place, path)))
            }
        };
        Ok(OutputFile { gather: Gather::new(gather::Output::new(file, control), pool).map_err(failed)?, place })
    }

    /// What `--json` says of a file.
    pub(super) fn described(&self, number: Option<u64>, written: &Written, rows: Option<u64>) -> Value {
        let mut said = json!({ "file": self.name(number), "bytes": written.bytes });
        if let Some(rows) = rows {
            said["rows"] = rows.into();
        }
        said
    }
}

impl OutputFile {
    /// Writes what is left; a `whole` file gets its name.
    pub(super) fn finish(mut self, whole: bool) -> Result<Written, Failure> {
        self.gather.flush().map_err(Error::Write)?;
        let gather = self.gather.stats();
        let output = self.gather.finish().map_err(Error::Write)?;
        if let Some((place, path)) = self.place.filter(|_| whole) {
            let put = output.file().sync_all().and_then(|()| place.put(output.file()));
            put.map_err(|cause| format!("{}: cannot write: {}", path.display(), reason(&cause)))?;
        }
        Ok(Written { files: 1, bytes: gather.copied_bytes + gather.shared_bytes, gather })
    }
}

impl Written {
    pub(super) fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.gather.pieces += other.gather.pieces;
        self.gather.copied_bytes += other.gather.copied_bytes;
        self.gather.shared_bytes += other.gather.shared_bytes;
        self.gather.writes += other.gather.writes;
    }
}
