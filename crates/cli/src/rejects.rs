//! The file of `--rejects`: appears whole at the end, or not at all.

use rorqual_pipe::gather::{Gather, OutputFd};
use rorqual_pipe::whole_file::{OutputPath, PendingFile};
use rorqual_pipe::{BufferPool, Control};
use std::path::{Path, PathBuf};

pub(crate) struct RejectFile {
    pub(crate) gather: Gather<OutputFd>,
    place: PendingFile,
    path: PathBuf,
}

impl RejectFile {
    /// Opens it; a stop ends its wait for a reader, where it is a pipe.
    pub(crate) fn create(path: &Path, pool: &BufferPool, control: &Control) -> Result<Self, String> {
        let output = output(path, true);
        let (file, place) = output.create(control)?;
        let gather = Gather::new(OutputFd::new(file, control), pool).map_err(|error| output.failed(&error))?;
        Ok(Self { gather, place, path: path.to_owned() })
    }

    pub(crate) fn finish(self) -> Result<(), String> {
        let Self { gather, place, path } = self;
        let put = gather.finish().and_then(|written| place.put_for_good(written.file()));
        put.map_err(|error| output(&path, true).failed(&error))
    }
}

/// The output that `--rejects` names.
pub(crate) fn output(path: &Path, force: bool) -> OutputPath<'_> {
    OutputPath { flag: "--rejects", path, force }
}
