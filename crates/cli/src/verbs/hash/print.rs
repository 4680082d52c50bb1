//! Digests of files, printed in the order in which they were named.

use super::{HashRun, SCHEMA, ended, print_failed};
use crate::args::{Common, HashArgs};
use crate::exit::ExitStatus;
use crate::input;
use crate::json_name::put_name;
use crate::message::{self, escaped};
use crate::progress::Progress;
use crate::verbs::count::or_stdin;
use rorqual_digest::list::escape;
use rorqual_digest::{Algorithm, Digest, DigestForm};
use rorqual_pipe::gather::OutputFd;
use rorqual_pipe::{Error, ErrorClass, each};
use serde_json::json;
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub(super) fn run(hashing: &HashRun, common: &Common, args: &HashArgs, algorithm: Algorithm) -> ExitStatus {
    let files = or_stdin(&args.files);
    let alone = files.len() == 1;
    let workers = hashing.threads.min(files.len());
    let mark = if args.binary { "*" } else { " " };
    let out = match OutputFd::stdout(&hashing.control) {
        Ok(out) => out,
        Err(error) => return message::print_error(&error),
    };
    let mut printer = DigestPrinter { out, form: HashForm::of(args), encoding: args.encoding.into(), mark, first: true };
    let mut exit = ExitStatus::Done;
    let _progress = Progress::start(common.progress, &hashing.control, total_bytes(&files));
    let digest = |path: &PathBuf| input::open_stored(path).and_then(|input| hashing.file(input, algorithm, alone));
    let hash = |_: &mut (), path: &PathBuf| (path.clone(), digest(path));
    let print = |(path, result): (PathBuf, Result<Digest, Error>)| {
        // Of a file that Ctrl-C cut off there is nothing to say.
        if matches!(&result, Err(error) if error.kind() == ErrorClass::Stopped) {
            return Ok(());
        }
        if let Err(error) = &result {
            exit = exit.max(message::error(error));
        }
        printer.file(&path, algorithm, &result).map_err(print_failed)
    };
    let result = each(files.iter().take_while(|_| !hashing.control.stopped()), &mut vec![(); workers], hash, print);
    let result = result.and_then(|()| printer.end().map_err(print_failed));
    ended(&hashing.control, result, exit)
}

/// The size of all files, where each is a plain one.
fn total_bytes(files: &[PathBuf]) -> Option<u64> {
    let sizes = files.iter().map(|path| path.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len()));
    sizes.sum()
}

#[derive(Clone, Copy)]
enum HashForm {
    /// Prints as `sha256sum` does; `terminal` keeps control characters from it.
    Gnu {
        terminal: bool,
    },
    Bsd {
        terminal: bool,
    },
    /// Ended by NUL, names as they are.
    Raw {
        tag: bool,
    },
    Json,
}

impl HashForm {
    fn of(args: &HashArgs) -> Self {
        let terminal = io::stdout().is_terminal();
        match (args.json, args.zero, args.tag) {
            (true, _, _) => Self::Json,
            (_, true, tag) => Self::Raw { tag },
            (_, _, true) => Self::Bsd { terminal },
            _ => Self::Gnu { terminal },
        }
    }
}

struct DigestPrinter {
    out: OutputFd,
    form: HashForm,
    encoding: DigestForm,
    /// Stands before a name.
    mark: &'static str,
    first: bool,
}

impl DigestPrinter {
    fn file(&mut self, path: &Path, algorithm: Algorithm, result: &Result<Digest, Error>) -> io::Result<()> {
        match (self.form, result) {
            (HashForm::Json, _) => self.json(path, algorithm, result),
            (_, Err(_)) => Ok(()),
            (_, Ok(digest)) => {
                let line = self.line(path.as_os_str().as_bytes(), digest);
                self.out.write_all(&line)
            }
        }
    }

    fn line(&self, name: &[u8], digest: &Digest) -> Vec<u8> {
        let (tag, end, terminal) = match self.form {
            HashForm::Raw { tag } => (tag, b'\0', false),
            HashForm::Bsd { terminal } => (true, b'\n', terminal),
            HashForm::Gnu { terminal } => (false, b'\n', terminal),
            HashForm::Json => (false, b'\n', false),
        };
        let (name, was_escaped) = if end == 0 { (name.into(), false) } else { escape(name) };
        let name = if terminal { escaped(&String::from_utf8_lossy(&name)).into_bytes() } else { name.into_owned() };
        let text = digest.encode(self.encoding);
        let mut line = if was_escaped { vec![b'\\'] } else { Vec::new() };
        if tag {
            line.extend(format!("{} (", digest.algorithm().tag()).bytes());
            line.extend(name);
            line.extend(format!(") = {text}").bytes());
        } else {
            line.extend(format!("{text} {}", self.mark).bytes());
            line.extend(name);
        }
        line.push(end);
        line
    }

    fn json(&mut self, path: &Path, algorithm: Algorithm, result: &Result<Digest, Error>) -> io::Result<()> {
        let mut file = json!({"algorithm": algorithm.name()});
        put_name(&mut file, path.as_os_str().as_bytes());
        match result {
            Ok(digest) => file["digest"] = json!(digest.encode(self.encoding)),
            Err(error) => file["error"] = json!(error.to_string()),
        }
        let before = self.before_json();
        writeln!(self.out, "{before}{file}")
    }

    /// One document, printed as its parts come: its opening before the first file, and a comma
    /// before the others.
    fn before_json(&mut self) -> String {
        if std::mem::take(&mut self.first) { format!("{{\"schema\":\"{SCHEMA}\",\"files\":[\n") } else { ",".to_owned() }
    }

    fn end(&mut self) -> io::Result<()> {
        if matches!(self.form, HashForm::Json) {
            writeln!(self.out, "]}}")?;
        }
        self.out.flush()
    }
}
