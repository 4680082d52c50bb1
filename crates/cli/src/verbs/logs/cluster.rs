//! `rorqual logs --cluster`: executors read the files, each a part; their sums come back through
//! `rorqual-cluster`, and are added up here.

use super::{GIVE_FORMAT, notes_of, other_zone};
use crate::args::{Common, LogsArgs};
use crate::exit::ExitStatus;
use crate::input::say_if_twice;
use crate::message;
use crate::verbs::query::{SiblingOutput, cluster_command, cluster_not_started};
use rorqual_accesslog::aggregate::{AnalysisPart, InputPart};
use rorqual_accesslog::analyze::{AnalyzeSettings, Analyzer, RunEnd};
use rorqual_accesslog::report::InputReport;
use rorqual_pipe::{escaped_path, reason};
use serde_json::json;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Longest part, in bytes: a value may be as long as a line. Anything longer is no part.
const PART_BYTES_MAX: u32 = 64 << 20;

/// Length that stands for a report which begins again.
const AGAIN: u32 = u32::MAX;

/// Refuses what needs the lines themselves, or more than executors have.
pub(super) fn refuse(common: &Common, args: &LogsArgs) -> Result<(), String> {
    let refused = [
        (args.country.geoip.is_some(), "--geoip (or RORQUAL_GEOIP): executors have no database of countries"),
        (
            args.format.format_file.as_ref().is_some_and(|path| !path.is_file()),
            "a --format-file that is not a file: it is read twice",
        ),
        (common.limit_rate.is_some(), "--limit-rate: executors read as fast as they can"),
        (args.files.is_empty(), "standard input: give files that all executors have, or addresses of objects"),
        (args.files.iter().any(|path| path.is_dir()), "a folder: name the files in it"),
        (args.files.iter().any(|path| path.as_os_str() == "-"), "standard input: executors read files and objects"),
    ];
    match refused.into_iter().find(|(is_given, _)| *is_given) {
        Some((_, what)) => Err(format!("--cluster goes without {what}")),
        None => Ok(()),
    }
}

/// Runs the files on the cluster, and takes the sums into the analysis.
///
/// # Errors
/// When the cluster gives no whole report, which is then none.
pub(super) fn run_files(
    common: &Common,
    args: &LogsArgs,
    settings: &AnalyzeSettings,
    analyzer: &mut Analyzer,
    seed: u64,
) -> Result<(Vec<InputReport>, ExitStatus), String> {
    let request = request(args, settings, seed)?;
    let mut command = cluster_command(common, "logs");
    // It waits, and does no work.
    command.args(["--threads", "1"]).arg("--cluster").args(&args.cluster);
    command.args(args.cluster_key.iter().flat_map(|key| ["--cluster-key".as_ref(), key.as_os_str()]));
    let output = SiblingOutput::answering(&mut command, "logs", &request);
    let mut output = output.map_err(|cause| cluster_not_started(&cause))?;
    loop {
        let mut sums = ReportSums { analyzer, sources: Vec::new(), ends: Vec::new(), current: None };
        if sums.read(&mut output).map_err(|cause| reason(&cause))? == ReportEnd::Whole {
            return Ok(sums.finish());
        }
        // An executor is gone with a part of the sums.
        *analyzer = super::analyzer(settings, args, Some(seed))?.0;
    }
}

/// The request, as `rorqual-cluster` reads it.
fn request(args: &LogsArgs, settings: &AnalyzeSettings, seed: u64) -> Result<Vec<u8>, String> {
    let named = |path: &Path| {
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| format!("{}: a name that is not UTF-8 can't be sent to other machines", escaped_path(path)))
    };
    let files = args.files.iter().map(|path| named(path)).collect::<Result<Vec<String>, String>>()?;
    let config = args
        .format
        .format_file
        .as_ref()
        .map(|path| std::fs::read(path).map_err(|cause| format!("--format-file {}: {}", escaped_path(path), reason(&cause))));
    let config = config.transpose()?;
    let spec = json!({
        "since_us": settings.span.since_us,
        "until_us": settings.span.until_us,
        "filter": args.filter,
        "format": args.format.format,
        "config": config.map(|text| String::from_utf8_lossy(&text).into_owned()),
        "line_bytes_max": settings.line_bytes_max,
        "of_files": false,
        "seed": seed,
    });
    serde_json::to_vec(&json!({"version": env!("CARGO_PKG_VERSION"), "files": files, "spec": spec}))
        .map_err(|error| error.to_string())
}

/// Sums of executors as they come, with the inputs in order.
struct ReportSums<'a> {
    analyzer: &'a Analyzer,
    sources: Vec<InputReport>,
    /// Notes and errors of the inputs, to be told once there is a whole report.
    ends: Vec<InputEnd>,
    /// The input of which parts may still come.
    current: Option<OpenInput>,
}

/// The end of the sums.
#[derive(Debug, PartialEq, Eq)]
enum ReportEnd {
    Whole,
    /// They begin again.
    Again,
}

/// Messages about an input.
struct InputEnd {
    notes: Vec<String>,
    error: Option<String>,
}

/// An input with the parts so far.
struct OpenInput {
    number: u64,
    end: RunEnd,
    lacks_format: bool,
    notes: Vec<String>,
}

impl ReportSums<'_> {
    /// Reads parts, each after its length, up to the empty one at the end.
    fn read(&mut self, output: &mut SiblingOutput) -> io::Result<ReportEnd> {
        loop {
            let mut length = [0; 4];
            output.read_exact(&mut length)?;
            let length = match u32::from_le_bytes(length) {
                AGAIN => return Ok(ReportEnd::Again),
                // The program may still fail after its last part.
                0 if output.read(&mut [0])? == 0 => return Ok(ReportEnd::Whole),
                length @ 1..=PART_BYTES_MAX => length,
                _ => return Err(foreign()),
            };
            let mut bytes = vec![0; length as usize];
            output.read_exact(&mut bytes)?;
            let part = AnalysisPart::of_bytes(&bytes).map_err(|_| foreign())?;
            if let Some(input) = self.analyzer.analysis().absorb(part).map_err(|_| foreign())? {
                self.take(input);
            }
        }
    }

    fn take(&mut self, mut part: InputPart) {
        let number = part.number;
        match &mut self.current {
            Some(open) if open.number == number => open.end.take_part(part),
            _ => {
                self.close();
                let path = Path::new(&part.source.name);
                let detection = part.head.take().and_then(|head| Some((self.analyzer.detection(&head)?, head)));
                let notes = detection.map(|(detection, head)| notes_of(path, &detection, &head, self.analyzer));
                let (lacks_format, notes) = (part.lacks_format, notes.unwrap_or_default());
                self.current = Some(OpenInput { number, end: RunEnd::of_part(part), lacks_format, notes });
            }
        }
    }

    /// Takes the notes of the last input in its turn.
    fn close(&mut self) {
        let Some(OpenInput { mut end, lacks_format, mut notes, .. }) = self.current.take() else { return };
        self.analyzer.take_in_turn(&mut end);
        notes.extend(other_zone(Path::new(&end.source.name), end.zone_seconds, self.analyzer));
        if let Some(error) = &mut end.source.error
            && lacks_format
        {
            *error = format!("{error}\n{GIVE_FORMAT}");
        }
        self.ends.push(InputEnd { notes, error: end.source.error.clone() });
        self.sources.push(end.source);
    }

    /// Tells what is to be told of the inputs.
    fn finish(mut self) -> (Vec<InputReport>, ExitStatus) {
        self.close();
        // Of addresses with wildcards it is known by now.
        say_if_twice(&self.sources.iter().map(|source| PathBuf::from(&source.name)).collect::<Vec<_>>());
        let mut exit = ExitStatus::Done;
        for InputEnd { notes, error } in self.ends {
            notes.iter().for_each(|note| message::note(note));
            exit = exit.max(error.map_or(ExitStatus::Done, |error| message::error(&error)));
        }
        (self.sources, exit)
    }
}

fn foreign() -> io::Error {
    io::Error::other("the answer of rorqual-cluster is not a report: is it of the same version?")
}
