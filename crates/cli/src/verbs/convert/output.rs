//! The file that is written, or standard output.

use crate::args::{ConvertArgs, To};
use rorqual_pipe::reason;
use rorqual_pipe::whole_file::{self, Place};
use rorqual_rows::write::{Settings, Target};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// A row group may take this share of the memory, and so may a footer.
const WRITER_SHARE: u64 = 8;

/// Where the rows go, and as what.
pub(super) struct Output {
    /// `None` is standard output.
    path: Option<PathBuf>,
    settings: Settings,
    group_bytes_max: Option<u64>,
}

/// A file on its way, or standard output.
pub(super) struct OutputFile {
    file: File,
    place: Option<(Place, PathBuf)>,
}

impl Output {
    pub(super) fn new(args: &ConvertArgs) -> Result<Self, String> {
        let target = match args.to {
            Some(to) => target(to),
            None => by_extension(&args.output).ok_or_else(|| {
                format!("-o {}: its extension says no format; give --to parquet|arrow|ndjson|csv", args.output.display())
            })?,
        };
        let path = (args.output.as_os_str() != "-").then(|| args.output.clone());
        if path.is_none() && matches!(target, Target::Parquet | Target::Arrow) {
            return Err("Parquet and Arrow files are written to a file, not to standard output: their footer says where all is"
                .to_owned());
        }
        if args.rejects.as_ref().is_some_and(|rejects| Some(rejects) == path.as_ref()) {
            return Err(format!("-o and --rejects are both {}", args.output.display()));
        }
        if !args.index.is_empty() && target != Target::Parquet {
            return Err("--index makes Bloom filters, which only Parquet has".to_owned());
        }
        if path.as_deref().is_some_and(whole_file::is_no_file) {
            return Err(format!("-o {}: is there and is no plain file", args.output.display()));
        }
        let settings = Settings { index: args.index.clone(), ..Settings::new(target) };
        Ok(Self { path, settings, group_bytes_max: args.row_group })
    }

    /// How it is written, in so much memory.
    pub(super) fn settings(&self, memory_bytes: u64) -> Settings {
        // Two groups and the footer are held.
        let share = usize::try_from(memory_bytes / WRITER_SHARE).unwrap_or(usize::MAX);
        let group = self.group_bytes_max.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX).max(1));
        Settings {
            group_bytes_max: group.unwrap_or(self.settings.group_bytes_max.min(share)),
            footer_bytes_max: share,
            ..self.settings.clone()
        }
    }

    /// What is written is gone: there is no second pass.
    pub(super) fn is_stdout(&self) -> bool {
        self.path.is_none()
    }

    /// JSON is written, which has no number for NaN.
    pub(super) fn is_ndjson(&self) -> bool {
        self.settings.target == Target::Ndjson
    }

    pub(super) fn name(&self) -> String {
        self.path.as_ref().map_or_else(|| "standard output".to_owned(), |path| path.display().to_string())
    }

    pub(super) fn create(&self) -> Result<OutputFile, String> {
        let failed = |error: io::Error| format!("{}: cannot create it: {}", self.name(), reason(&error));
        let Some(path) = &self.path else {
            let file = io::stdout().as_fd().try_clone_to_owned().map_err(failed)?;
            return Ok(OutputFile { file: file.into(), place: None });
        };
        let (file, place) = whole_file::create(path).map_err(failed)?;
        Ok(OutputFile { file, place: Some((place, path.clone())) })
    }
}

impl OutputFile {
    /// What writes to it.
    pub(super) fn writer(&self) -> Result<impl Write + Send + 'static, String> {
        let name = || self.place.as_ref().map_or_else(|| "standard output".to_owned(), |(_, path)| path.display().to_string());
        self.file.try_clone().map_err(|error| format!("{}: cannot write: {}", name(), reason(&error)))
    }

    /// Puts it where it belongs, for good.
    pub(super) fn put(self) -> Result<(), String> {
        let Some((place, path)) = self.place else { return Ok(()) };
        let put = self.file.sync_all().and_then(|()| place.put(&self.file));
        put.map_err(|error| format!("{}: cannot write: {}", path.display(), reason(&error)))
    }
}

fn target(to: To) -> Target {
    match to {
        To::Parquet => Target::Parquet,
        To::Arrow => Target::Arrow,
        To::Ndjson => Target::Ndjson,
        To::Csv => Target::Csv,
    }
}

fn by_extension(path: &Path) -> Option<Target> {
    Some(match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "parquet" | "pq" => Target::Parquet,
        "arrow" | "ipc" | "feather" => Target::Arrow,
        "ndjson" | "jsonl" | "json" => Target::Ndjson,
        "csv" => Target::Csv,
        _ => return None,
    })
}
