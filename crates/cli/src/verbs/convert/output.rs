//! The file that is written, or standard output.

use crate::args::{Bad, ConvertArgs, To};
use crate::rejects;
use rorqual_columnar::write::{Settings, Target};
use rorqual_pipe::whole_file::{self, Place};
use rorqual_pipe::{Control, escaped_path, gather, reason};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A row group may take this share of the memory, and so may a footer.
const WRITER_SHARE: u64 = 8;

/// Where the rows go, and as what.
pub(super) struct Output {
    path: PathBuf,
    is_stream: bool,
    settings: Settings,
    group_bytes_max: Option<u64>,
}

/// A file on its way, or standard output.
pub(super) struct OutputFile {
    file: File,
    place: Place,
    name: String,
}

impl Output {
    pub(super) fn new(args: &ConvertArgs) -> Result<Self, String> {
        let target = match args.to {
            Some(to) => target(to),
            None => by_extension(&args.output).ok_or_else(|| {
                format!("-o {}: its extension says no format; give --to parquet|arrow|ndjson|csv", escaped_path(&args.output))
            })?,
        };
        let output = whole_file::Output { flag: "-o", path: &args.output, force: args.force };
        if output.is_stream() && matches!(target, Target::Parquet | Target::Arrow) {
            return Err("Parquet and Arrow files are written to a file, not to standard output: their footer says where all is"
                .to_owned());
        }
        if args.rejects.is_some() && args.bad == Some(Bad::Error) {
            return Err("--rejects leaves bad records out, and --bad error ends at the first: give one of them".to_owned());
        }
        if !args.index.is_empty() && target != Target::Parquet {
            return Err("--index makes Bloom filters, which only Parquet has".to_owned());
        }
        refuse_loss(args, output)?;
        let settings = Settings { index: args.index.clone(), ..Settings::new(target) };
        Ok(Self { path: args.output.clone(), is_stream: output.is_stream(), settings, group_bytes_max: args.row_group })
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
    pub(super) fn is_stream(&self) -> bool {
        self.is_stream
    }

    /// JSON is written, which has no number for NaN.
    pub(super) fn is_ndjson(&self) -> bool {
        self.settings.target == Target::Ndjson
    }

    pub(super) fn name(&self) -> String {
        if self.path.as_os_str() == "-" { "standard output".to_owned() } else { escaped_path(&self.path) }
    }

    pub(super) fn create(&self) -> Result<OutputFile, String> {
        let failed = |error: io::Error| format!("{}: cannot create it: {}", self.name(), reason(&error));
        let (file, place) = whole_file::create(&self.path).map_err(failed)?;
        Ok(OutputFile { file, place, name: self.name() })
    }
}

impl OutputFile {
    /// The writer to it, until a stop ends its wait for a reader.
    pub(super) fn writer(&self, control: &Control) -> Result<impl Write + Send + use<>, String> {
        let file = self.file.try_clone().map_err(|error| format!("{}: cannot write: {}", self.name, reason(&error)))?;
        Ok(gather::Output::new(file, control))
    }

    /// Puts it where it belongs, for good.
    pub(super) fn put(self) -> Result<(), String> {
        let put = self.place.put_for_good(&self.file);
        put.map_err(|error| format!("{}: cannot write: {}", self.name, reason(&error)))
    }
}

/// Refuses outputs that would cost an input, what is there already, or one another.
fn refuse_loss(args: &ConvertArgs, output: whole_file::Output<'_>) -> Result<(), String> {
    let rejects = args.rejects.as_deref().map(|path| rejects::output(path, args.force));
    let inputs = || args.files.iter().chain(&args.schema).map(PathBuf::as_path);
    for wanted in [Some(output), rejects].into_iter().flatten() {
        wanted.check(inputs())?;
    }
    rejects.map_or(Ok(()), |rejects| output.check_other(&rejects))
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
