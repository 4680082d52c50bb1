//! Lists of checksums, checked as `sha256sum --check` does: its messages, and its exit codes.

use super::{HashRun, SCHEMA, ended, print_failed};
use crate::args::{Common, HashArgs};
use crate::exit::ExitStatus;
use crate::input;
use crate::json_name::put_name;
use crate::message::{self, escaped, escaped_line};
use crate::progress::Progress;
use crate::verbs::count::or_stdin;
use rorqual_digest::Digest;
use rorqual_digest::list::{ListLine, ListLines, ListParser, escape};
use rorqual_pipe::gather::OutputFd;
use rorqual_pipe::{Error, ErrorClass, Input, each};
use serde_json::json;
use std::error::Error as _;
use std::ffi::OsStr;
use std::io::{self, BufReader, ErrorKind, IsTerminal, Write};
use std::iter::Peekable;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) fn run(hashing: &HashRun, common: &Common, args: &HashArgs) -> ExitStatus {
    let _progress = Progress::start(common.progress, &hashing.control, None);
    let out = match OutputFd::stdout(&hashing.control) {
        Ok(out) => out,
        Err(error) => return message::print_error(&error),
    };
    let mut report = CheckReport { out, args, terminal: io::stdout().is_terminal(), first: true, all: CheckCounts::default() };
    let mut exit = ExitStatus::Done;
    for path in or_stdin(&args.files) {
        match check_list(hashing, args, &path, &mut report) {
            Ok(good) => exit = exit.max(if good { ExitStatus::Done } else { ExitStatus::Not }),
            // Nobody listens any more: what was not checked is not right.
            Err(error) => return ended(&hashing.control, Err(error), exit).max(ExitStatus::Not),
        }
    }
    ended(&hashing.control, report.end().map_err(print_failed), exit)
}

/// Counts of the lines of a list by outcome.
#[derive(Debug, Default, Clone, Copy)]
struct CheckCounts {
    ok: u64,
    failed: u64,
    unreadable: u64,
    missing: u64,
    improper: u64,
}

/// Outcome of one line.
enum CheckOutcome {
    Ok,
    Failed,
    /// Not known: Ctrl-C cut it off.
    Stopped,
    Unreadable(Error),
    /// Missing, which was to be passed over.
    Missing,
}

/// One line with its outcome; `None` for an improper one.
struct CheckedEntry {
    number: u64,
    entry: Option<(Vec<u8>, Digest, CheckOutcome)>,
}

/// Checks one list; whether nothing is wrong with it. An error is one of printing.
fn check_list(hashing: &HashRun, args: &HashArgs, path: &Path, report: &mut CheckReport<'_>) -> Result<bool, Error> {
    let stdin = path.as_os_str() == "-";
    let name = if stdin { "standard input".to_owned() } else { path.to_string_lossy().into_owned() };
    let input = match input::open_stored(path).and_then(|input| input.into_reader(&hashing.control)) {
        Ok(input) => BufReader::new(input),
        Err(error) => {
            message::error(&error);
            return Ok(false);
        }
    };
    let mut failure = None;
    let list = ListLines::new(input, ListParser::new(args.algorithm).zero(args.zero));
    let lines = list.map_while(|line| line.map_err(|cause| failure = Some(cause)).ok());
    // A stop ends the list in the middle of a line.
    let lines = lines.take_while(|_| !hashing.control.stopped());
    let lines = lines.filter(|(_, line)| *line != ListLine::Nothing).peekable();
    let mut counts = CheckCounts::default();
    let untried = AtomicBool::new(false);
    let result = check_lines((hashing, args), stdin, lines, &untried, |checked| {
        report.line(&name, &checked, &mut counts).map_err(print_failed)
    });
    report.all.add(&counts);
    result?;
    if hashing.control.stopped() {
        return Ok(true);
    }
    if let Some(cause) = failure {
        message::error(&Error::io(name, "cannot read", cause));
        return Ok(false);
    }
    let good = report.list(&name, &counts);
    if untried.load(Ordering::Relaxed) && !args.status {
        let name = escaped_line(&name);
        message::note(&format!(
            "{name}: a stream can be read once, and was taken for the usual algorithm with digests that long: \
             give --algorithm if the list is of another, such as blake2b"
        ));
    }
    Ok(good)
}

/// True of a file that can be read again.
fn is_regular(name: &[u8]) -> bool {
    name != b"-" && Path::new(OsStr::from_bytes(name)).is_file()
}

/// Checks the lines of a list; `untried` tells of a stream for which another algorithm may be
/// meant.
fn check_lines(
    (hashing, args): (&HashRun, &HashArgs),
    stdin: bool,
    lines: Peekable<impl Iterator<Item = (u64, ListLine)> + Send>,
    untried: &AtomicBool,
    report: impl FnMut(CheckedEntry) -> Result<(), Error> + Send,
) -> Result<(), Error> {
    let mut lines = lines;
    let first = lines.next();
    let alone = lines.peek().is_none();
    let lines = first.into_iter().chain(lines);
    let work = |_: &mut (), (number, line): (u64, ListLine)| {
        let entry = match line {
            // A list from standard input can't also be the file it speaks of.
            ListLine::Entry { digest, others, name } if !(stdin && name == b"-") => {
                let check = |digest: &Digest| check_file(hashing, args, &name, digest, alone);
                let mut found = (digest, check(&digest));
                let is_regular = is_regular(&name);
                for other in others {
                    if !matches!(found.1, CheckOutcome::Failed) {
                        break;
                    }
                    if !is_regular {
                        untried.store(true, Ordering::Relaxed);
                        break;
                    }
                    let outcome = check(&other);
                    if !matches!(outcome, CheckOutcome::Failed) {
                        found = (other, outcome);
                    }
                }
                Some((name, found.0, found.1))
            }
            _ => None,
        };
        CheckedEntry { number, entry }
    };
    each(lines, &mut vec![(); if alone { 1 } else { hashing.threads }], work, report)
}

fn check_file(hashing: &HashRun, args: &HashArgs, name: &[u8], expected: &Digest, alone: bool) -> CheckOutcome {
    // A list is foreign: its names are files, and send nobody to an address.
    let input = Input::open_stored(Path::new(OsStr::from_bytes(name)));
    match input.and_then(|input| hashing.file(input, expected.algorithm(), alone)) {
        Ok(digest) if digest == *expected => CheckOutcome::Ok,
        Ok(_) => CheckOutcome::Failed,
        Err(error) if error.kind() == ErrorClass::Stopped => CheckOutcome::Stopped,
        Err(error) if args.ignore_missing && is_missing(&error) => CheckOutcome::Missing,
        Err(error) => CheckOutcome::Unreadable(error),
    }
}

fn is_missing(error: &Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| cause.kind() == ErrorKind::NotFound)
}

impl CheckCounts {
    fn add(&mut self, other: &Self) {
        self.ok += other.ok;
        self.failed += other.failed;
        self.unreadable += other.unreadable;
        self.missing += other.missing;
        self.improper += other.improper;
    }

    fn proper(&self) -> u64 {
        self.ok + self.failed + self.unreadable + self.missing
    }
}

/// Prints what a check finds.
struct CheckReport<'a> {
    out: OutputFd,
    args: &'a HashArgs,
    terminal: bool,
    first: bool,
    all: CheckCounts,
}

impl CheckReport<'_> {
    fn line(&mut self, list: &str, checked: &CheckedEntry, counts: &mut CheckCounts) -> io::Result<()> {
        let Some((name, digest, outcome)) = &checked.entry else {
            counts.improper += 1;
            if self.args.warn {
                let list = escaped_line(list);
                message::note(&format!("{list}: {}: improperly formatted checksum line", checked.number));
            }
            return self.json(|| json!({"list": list, "line": checked.number, "status": "improper"}));
        };
        let (count, word, text) = match outcome {
            CheckOutcome::Ok => (&mut counts.ok, "ok", "OK"),
            CheckOutcome::Failed => (&mut counts.failed, "failed", "FAILED"),
            CheckOutcome::Unreadable(_) => (&mut counts.unreadable, "unreadable", "FAILED open or read"),
            CheckOutcome::Missing => (&mut counts.missing, "missing", ""),
            CheckOutcome::Stopped => return Ok(()),
        };
        *count += 1;
        if let CheckOutcome::Unreadable(error) = outcome {
            message::error(error);
        }
        if self.args.json {
            let algorithm = digest.algorithm().name();
            return self.json(|| {
                let mut file = json!({"list": list, "line": checked.number, "algorithm": algorithm, "status": word});
                put_name(&mut file, name);
                file
            });
        }
        let silent = self.args.status || text.is_empty() || (self.args.quiet && word == "ok");
        if silent {
            return Ok(());
        }
        let text = self.text(name, text);
        self.out.write_all(&text)
    }

    /// Escaped only where a newline would break the line, as `sha256sum` does.
    fn text(&self, name: &[u8], text: &str) -> Vec<u8> {
        let (name, mark) = if name.contains(&b'\n') { (escape(name).0, "\\") } else { (name.into(), "") };
        let name = if self.terminal { escaped(&String::from_utf8_lossy(&name)).into_bytes() } else { name.into_owned() };
        [mark.as_bytes(), &name, b": ", text.as_bytes(), b"\n"].concat()
    }

    fn json(&mut self, value: impl FnOnce() -> serde_json::Value) -> io::Result<()> {
        if !self.args.json {
            return Ok(());
        }
        let before =
            if std::mem::take(&mut self.first) { format!("{{\"schema\":\"{SCHEMA}\",\"checks\":[\n") } else { ",".to_owned() };
        writeln!(self.out, "{before}{}", value())
    }

    /// The summary of one list; whether nothing is wrong with it.
    fn list(&self, list: &str, counts: &CheckCounts) -> bool {
        if counts.proper() == 0 {
            message::note(&format!("{}: no properly formatted checksum lines found", escaped_line(list)));
            return false;
        }
        if !self.args.status {
            warn(counts.improper, "line is improperly formatted", "lines are improperly formatted");
            warn(counts.unreadable, "listed file could not be read", "listed files could not be read");
            warn(counts.failed, "computed checksum did NOT match", "computed checksums did NOT match");
        }
        if self.args.ignore_missing && counts.ok == 0 && !self.args.status {
            message::note(&format!("{}: no file was verified", escaped_line(list)));
        }
        counts.ok > 0 && counts.failed + counts.unreadable == 0 && !(self.args.strict && counts.improper > 0)
    }

    fn end(&mut self) -> io::Result<()> {
        if self.args.json {
            let open = if self.first { format!("{{\"schema\":\"{SCHEMA}\",\"checks\":[\n") } else { String::new() };
            let CheckCounts { ok, failed, unreadable, missing, improper } = self.all;
            writeln!(
                self.out,
                "{open}],\"ok\":{ok},\"failed\":{failed},\"unreadable\":{unreadable},\"missing\":{missing},\"improper\":{improper}}}"
            )?;
        }
        self.out.flush()
    }
}

fn warn(count: u64, one: &str, many: &str) {
    match count {
        0 => {}
        1 => message::note(&format!("WARNING: 1 {one}")),
        _ => message::note(&format!("WARNING: {count} {many}")),
    }
}
