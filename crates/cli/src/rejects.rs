//! The file of `--rejects`: appears whole at the end, or not at all.

use rorqual_pipe::gather::Gather;
use rorqual_pipe::whole_file::{self, Place};
use rorqual_pipe::{Pool, reason};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub(crate) struct RejectFile {
    pub(crate) gather: Gather<File>,
    place: Place,
    path: PathBuf,
}

impl RejectFile {
    pub(crate) fn create(path: &Path, pool: &Pool) -> Result<Self, String> {
        let failed = |error: io::Error| format!("--rejects {}: cannot create it: {}", path.display(), reason(&error));
        if whole_file::is_no_file(path) {
            return Err(format!("--rejects {}: is there and is no plain file", path.display()));
        }
        let (file, place) = whole_file::create(path).map_err(failed)?;
        let gather = Gather::new(file, pool).map_err(failed)?;
        Ok(Self { gather, place, path: path.to_owned() })
    }

    pub(crate) fn finish(self) -> Result<(), String> {
        let Self { gather, place, path } = self;
        let failed = |error: io::Error| format!("--rejects {}: cannot write: {}", path.display(), reason(&error));
        let file = gather.finish().map_err(failed)?;
        file.sync_all().map_err(failed)?;
        place.put(&file).map_err(failed)
    }
}

/// Refuses a target that is one of the inputs, which the end of the run would replace.
pub(crate) fn refuse_an_input(flag: &str, target: &Path, inputs: &[PathBuf]) -> Result<(), String> {
    let identity = |path: &Path| {
        let path = if path.as_os_str() == "-" { Path::new("/dev/stdin") } else { path };
        std::fs::metadata(path).ok().map(|data| (data.dev(), data.ino()))
    };
    let Some(data) = std::fs::metadata(target).ok() else { return Ok(()) };
    if inputs.iter().all(|input| identity(input) != Some((data.dev(), data.ino()))) {
        return Ok(());
    }
    Err(format!("{flag} {}: is one of the inputs, and would be lost", target.display()))
}
