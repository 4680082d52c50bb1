//! The file of `--rejects`: appears whole at the end, or not at all.

use rorqual_pipe::BufferPool;
use rorqual_pipe::gather::Gather;
use rorqual_pipe::whole_file::{OutputPath, PendingFile};
use std::fs::File;
use std::path::{Path, PathBuf};

pub(crate) struct RejectFile {
    pub(crate) gather: Gather<File>,
    place: PendingFile,
    path: PathBuf,
}

impl RejectFile {
    pub(crate) fn create(path: &Path, pool: &BufferPool) -> Result<Self, String> {
        let output = output(path, true);
        let (file, place) = output.create()?;
        let gather = Gather::new(file, pool).map_err(|error| output.failed(&error))?;
        Ok(Self { gather, place, path: path.to_owned() })
    }

    pub(crate) fn finish(self) -> Result<(), String> {
        let Self { gather, place, path } = self;
        let put = gather.finish().and_then(|written| place.put_for_good(&written));
        put.map_err(|error| output(&path, true).failed(&error))
    }
}

/// The output that `--rejects` names.
pub(crate) fn output(path: &Path, force: bool) -> OutputPath<'_> {
    OutputPath { flag: "--rejects", path, force }
}
