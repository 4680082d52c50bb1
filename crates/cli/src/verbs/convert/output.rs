//! The file that is written, or standard output.

use crate::args::{BadRecordPolicy, ConvertArgs, To};
use crate::rejects;
use rorqual_columnar::write::{WriteSettings, WriteTarget};
use rorqual_pipe::whole_file::{self, PendingFile};
use rorqual_pipe::{Control, escaped_path, gather, reason};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A row group may take this share of the memory, and so may a footer.
const WRITER_SHARE: u64 = 8;

/// Output of the rows, and its format.
pub(super) struct ConvertOutput {
    path: PathBuf,
    is_stream: bool,
    settings: WriteSettings,
    group_bytes_max: Option<u64>,
}

/// A file on its way, or standard output.
pub(super) struct ConvertFile {
    file: File,
    place: PendingFile,
    name: String,
}

impl ConvertOutput {
    pub(super) fn new(args: &ConvertArgs) -> Result<Self, String> {
        let target = match args.to {
            Some(to) => target(to),
            None => by_extension(&args.output).ok_or_else(|| {
                format!("-o {}: its extension says no format; give --to parquet|arrow|ndjson|csv", escaped_path(&args.output))
            })?,
        };
        let output = whole_file::OutputPath { flag: "-o", path: &args.output, force: args.force };
        if output.is_stream() && matches!(target, WriteTarget::Parquet | WriteTarget::Arrow) {
            return Err("Parquet and Arrow files are written to a file, not to standard output: their footer says where all is"
                .to_owned());
        }
        if args.rejects.is_some() && args.bad == Some(BadRecordPolicy::Error) {
            return Err("--rejects leaves bad records out, and --bad error ends at the first: give one of them".to_owned());
        }
        if !args.index.is_empty() && target != WriteTarget::Parquet {
            return Err("--index makes Bloom filters, which only Parquet has".to_owned());
        }
        refuse_loss(args, output)?;
        let settings = WriteSettings { index: args.index.clone(), ..WriteSettings::new(target) };
        Ok(Self { path: args.output.clone(), is_stream: output.is_stream(), settings, group_bytes_max: args.row_group })
    }

    /// Settings of its writer, in so much memory.
    pub(super) fn settings(&self, memory_bytes: u64) -> WriteSettings {
        // Two groups and the footer are held.
        let share = usize::try_from(memory_bytes / WRITER_SHARE).unwrap_or(usize::MAX);
        let group = self.group_bytes_max.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX).max(1));
        WriteSettings {
            group_bytes_max: group.unwrap_or(self.settings.group_bytes_max.min(share)),
            footer_bytes_max: share,
            ..self.settings.clone()
        }
    }

    /// Makes row groups half as large, unless their size is given; false where they are as small as
    /// it is of use.
    pub(super) fn halve_groups(&mut self, memory_bytes: u64) -> bool {
        const GROUP_BYTES_MIN: usize = 4 << 20;
        let halved = self.settings(memory_bytes).group_bytes_max / 2;
        let smaller = self.group_bytes_max.is_none() && halved >= GROUP_BYTES_MIN;
        if smaller {
            self.settings.group_bytes_max = halved;
        }
        smaller
    }

    /// True if written rows are gone: there is no second pass.
    pub(super) fn is_stream(&self) -> bool {
        self.is_stream
    }

    /// JSON is written, which has no number for NaN.
    pub(super) fn is_ndjson(&self) -> bool {
        self.settings.target == WriteTarget::Ndjson
    }

    pub(super) fn name(&self) -> String {
        if self.path.as_os_str() == "-" { "standard output".to_owned() } else { escaped_path(&self.path) }
    }

    pub(super) fn create(&self, control: &Control) -> Result<ConvertFile, String> {
        let failed = |error: io::Error| format!("{}: cannot create it: {}", self.name(), reason(&error));
        let (file, place) = whole_file::create(&self.path, control).map_err(failed)?;
        Ok(ConvertFile { file, place, name: self.name() })
    }
}

impl ConvertFile {
    /// The writer to it, until a stop ends its wait for a reader.
    pub(super) fn writer(&self, control: &Control) -> Result<impl Write + Send + use<>, String> {
        let file = self.file.try_clone().map_err(|error| format!("{}: cannot write: {}", self.name, reason(&error)))?;
        Ok(gather::OutputFd::new(file, control))
    }

    /// Puts it where it belongs, for good.
    pub(super) fn put(self) -> Result<(), String> {
        let put = self.place.put_for_good(&self.file);
        put.map_err(|error| format!("{}: cannot write: {}", self.name, reason(&error)))
    }
}

/// Refuses outputs that would cost an input, an existing file, or one another.
fn refuse_loss(args: &ConvertArgs, output: whole_file::OutputPath<'_>) -> Result<(), String> {
    let rejects = args.rejects.as_deref().map(|path| rejects::output(path, args.force));
    let inputs = || args.files.iter().chain(&args.schema).map(PathBuf::as_path);
    for wanted in [Some(output), rejects].into_iter().flatten() {
        wanted.check(inputs())?;
    }
    rejects.map_or(Ok(()), |rejects| output.check_other(&rejects))
}

fn target(to: To) -> WriteTarget {
    match to {
        To::Parquet => WriteTarget::Parquet,
        To::Arrow => WriteTarget::Arrow,
        To::Ndjson => WriteTarget::Ndjson,
        To::Csv => WriteTarget::Csv,
    }
}

fn by_extension(path: &Path) -> Option<WriteTarget> {
    Some(match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "parquet" | "pq" => WriteTarget::Parquet,
        "arrow" | "ipc" | "feather" => WriteTarget::Arrow,
        "ndjson" | "jsonl" | "json" => WriteTarget::Ndjson,
        "csv" => WriteTarget::Csv,
        _ => return None,
    })
}
