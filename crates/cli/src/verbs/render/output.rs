//! Output of the text.

use super::RenderFailure;
use crate::args::RenderArgs;
use rorqual_pipe::gather::{self, Gather, GatherStats};
use rorqual_pipe::whole_file::{self, PendingFile};
use rorqual_pipe::{BufferPool, Control, escaped_path, reason};
use rorqual_render::RenderError;
use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};

/// Placeholder of a file's number.
const NUMBER: &str = "{}";

/// A file, files, or standard output.
pub(super) struct RenderOutput {
    path: Option<PathBuf>,
    split: bool,
    force: bool,
    /// Inputs, which must not be written.
    inputs: Vec<PathBuf>,
}

/// A file on its way, or standard output.
pub(super) struct RenderedFile {
    pub(super) gather: Gather<gather::OutputFd>,
    place: PendingFile,
    /// `None` of standard output.
    path: Option<PathBuf>,
    name: String,
}

/// Totals of the output.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RenderSummary {
    pub(super) files: u64,
    pub(super) bytes: u64,
    pub(super) gather: GatherStats,
}

impl RenderOutput {
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
        let output = Self { path, split, force: args.force, inputs };
        if let Some(path) = output.path.as_ref().filter(|_| !split) {
            output.refuse(path)?;
        }
        Ok(output)
    }

    fn refuse(&self, path: &Path) -> Result<(), String> {
        whole_file::OutputPath { flag: "-o", path, force: self.force }.check(self.inputs.iter().map(PathBuf::as_path))
    }

    /// Refuses to put a written file in the place of one of these templates.
    pub(super) fn refuse_templates(&self, file: &RenderedFile, templates: &[PathBuf]) -> Result<(), String> {
        let Some(path) = &file.path else { return Ok(()) };
        whole_file::OutputPath { flag: "-o", path, force: true }.check(templates.iter().map(PathBuf::as_path))
    }

    /// The path as it was given, if there is one, and whether `{}` in its name becomes a number.
    pub(super) fn target(&self) -> (Option<&Path>, bool) {
        (self.path.as_deref(), self.split)
    }

    /// True if written text is gone.
    pub(super) fn is_stream(&self) -> bool {
        self.path.as_deref().is_none_or(|path| whole_file::OutputPath { flag: "-o", path, force: true }.is_stream())
    }

    /// The path of the only file, or of one of several.
    fn path(&self, number: Option<u64>) -> Option<PathBuf> {
        let path = self.path.as_ref()?;
        let Some(number) = number.filter(|_| self.split) else { return Some(path.clone()) };
        let name = path.file_name().map(|name| name.to_string_lossy().replace(NUMBER, &format!("{number:05}")));
        Some(path.with_file_name(name.unwrap_or_default()))
    }

    pub(super) fn name(&self, number: Option<u64>) -> String {
        self.path(number).map_or_else(|| "standard output".to_owned(), escaped_path)
    }

    pub(super) fn create(
        &self,
        number: Option<u64>,
        control: &Control,
        pool: &BufferPool,
    ) -> Result<RenderedFile, RenderFailure> {
        let failed =
            |cause: io::Error| RenderFailure::Said(format!("{}: cannot create it: {}", self.name(number), reason(&cause)));
        let path = self.path(number);
        path.as_deref().map_or(Ok(()), |path| self.refuse(path))?;
        let (file, place) = whole_file::create(path.as_deref().unwrap_or(Path::new("-")), control).map_err(failed)?;
        let gather = Gather::new(gather::OutputFd::new(file, control), pool).map_err(failed)?;
        Ok(RenderedFile { gather, place, path, name: self.name(number) })
    }

    /// The object of `--json` about a file.
    pub(super) fn described(&self, number: Option<u64>, written: &RenderSummary, rows: Option<u64>) -> Value {
        let mut said = json!({ "file": self.name(number), "bytes": written.bytes });
        if let Some(rows) = rows {
            said["rows"] = rows.into();
        }
        said
    }
}

impl RenderedFile {
    /// Writes the remaining text; a `whole` file gets its name.
    pub(super) fn finish(mut self, whole: bool) -> Result<RenderSummary, RenderFailure> {
        self.gather.flush().map_err(RenderError::Write)?;
        let gather = self.gather.stats();
        let output = self.gather.finish().map_err(RenderError::Write)?;
        if whole {
            let put = self.place.put_for_good(output.file());
            put.map_err(|cause| format!("{}: cannot write: {}", self.name, reason(&cause)))?;
        }
        Ok(RenderSummary { files: 1, bytes: gather.copied_bytes + gather.shared_bytes, gather })
    }
}

impl RenderSummary {
    pub(super) fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.gather.pieces += other.gather.pieces;
        self.gather.copied_bytes += other.gather.copied_bytes;
        self.gather.shared_bytes += other.gather.shared_bytes;
        self.gather.writes += other.gather.writes;
    }
}
