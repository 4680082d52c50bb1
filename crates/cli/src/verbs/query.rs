//! `rorqual query` and `rorqual cluster`

use crate::args::{ClusterVerbArgs, Common, ProcessArgs, QueryArgs, TerminalWhen};
use crate::exit::ExitStatus;
use crate::{interrupt, message};
use rorqual_pipe::limits::STOP_CHECK;
use rorqual_pipe::reason;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::ffi::OsString;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The program that answers queries.
const PROGRAM: &str = "rorqual-query";

/// The program that answers them on several machines.
const CLUSTER: &str = "rorqual-cluster";

/// Becomes the program beside this one, or the one that the shell would find.
pub(crate) fn run(common: &Common, args: &QueryArgs) -> ExitStatus {
    // The query's own flags come last: of a flag given twice they count.
    let flags = flags(&common.process).into_iter().chain(args.args.iter().cloned());
    if args.args.iter().any(is_cluster) {
        return become_program(common, "query", CLUSTER, std::iter::once("query".into()).chain(flags));
    }
    become_program(common, "query", PROGRAM, flags)
}

/// The same for the roles of a cluster.
pub(crate) fn run_cluster(common: &Common, args: &ClusterVerbArgs) -> ExitStatus {
    // Its flags belong to roles, and stand after them.
    become_program(common, "cluster", CLUSTER, args.args.iter().cloned().chain(flags(&common.process)))
}

/// True if an argument says that the query is for a cluster.
fn is_cluster(arg: &OsString) -> bool {
    arg == "--cluster" || arg.as_encoded_bytes().starts_with(b"--cluster=")
}

fn become_program(common: &Common, verb: &str, name: &str, args: impl Iterator<Item = OsString>) -> ExitStatus {
    if common.limit_rate.is_some() {
        return message::error(&format!("{verb} has no --limit-rate"));
    }
    if common.progress == TerminalWhen::Always {
        return message::error(&format!("{verb} has no --progress"));
    }
    let cause = Command::new(path(name)).args(args).exec();
    message::error(&not_started(name, &cause))
}

/// The program of queries.
pub(crate) fn program() -> PathBuf {
    path(PROGRAM)
}

/// The program beside this one, or the one that the shell would find.
fn path(name: &str) -> PathBuf {
    sibling(name).filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(name))
}

/// The program of clusters in one of its roles, with the flags of the process.
pub(crate) fn cluster_command(common: &Common, role: &str) -> Command {
    let mut command = Command::new(path(CLUSTER));
    command.arg(role).args(flags(&common.process));
    command
}

/// Time that a program has to end once nobody needs its answer.
const END_WITHIN: Duration = Duration::from_secs(3);

/// Pause between two looks whether it has ended.
const END_LOOK: Duration = Duration::from_millis(5);

/// Output of the program, until it ends. Where that fails, reading it fails: its output is not
/// whole.
pub(crate) struct SiblingOutput {
    child: Child,
    out: Option<ChildStdout>,
    /// Open while the answer to a request is wanted.
    wanted: Option<ChildStdin>,
    /// Name of the input in messages, which needs not be in its error again.
    name: String,
    ended: bool,
}

impl SiblingOutput {
    pub(crate) fn start(command: &mut Command, name: &str) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let out = Some(child.stdout.take().ok_or(ErrorKind::BrokenPipe)?);
        Ok(Self { child, out, wanted: None, name: name.to_owned(), ended: false })
    }

    /// Starts a program that answers a request on its standard input, which goes after its length
    /// and stays open while the answer is wanted.
    pub(crate) fn answering(command: &mut Command, name: &str, request: &[u8]) -> io::Result<Self> {
        // Ctrl-C reaches this program alone, which ends the other.
        command.process_group(0);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (out, wanted) = (Some(child.stdout.take().ok_or(ErrorKind::BrokenPipe)?), child.stdin.take());
        let mut output = Self { child, out, wanted, name: name.to_owned(), ended: false };
        if let Some(stdin) = &mut output.wanted {
            let length = u32::try_from(request.len()).map_err(io::Error::other)?;
            // One that ended already has said why.
            let _ = stdin.write_all(&length.to_le_bytes()).and_then(|()| stdin.write_all(request));
        }
        Ok(output)
    }

    /// Waits for its end after its standard input was closed.
    fn let_end(&mut self) {
        if self.wanted.take().is_none() {
            return;
        }
        // It may be writing, and hears nothing else then.
        self.out = None;
        let begun = Instant::now();
        while begun.elapsed() < END_WITHIN && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(END_LOOK);
        }
    }

    /// Its error on stderr, without the name of the program.
    pub(crate) fn said(stderr: &[u8]) -> Option<String> {
        let text = String::from_utf8_lossy(stderr);
        let text = text.trim();
        (!text.is_empty()).then(|| text.strip_prefix("rorqual: ").unwrap_or(text).to_owned())
    }

    fn end(&mut self) -> io::Result<()> {
        let mut stderr = Vec::new();
        if let Some(errors) = &mut self.child.stderr {
            errors.read_to_end(&mut stderr)?;
        }
        let status = self.child.wait()?;
        self.ended = true;
        if status.success() {
            Self::said(&stderr).iter().for_each(|said| message::note(said));
            return Ok(());
        }
        let said = Self::said(&stderr).unwrap_or_else(|| format!("the program for it failed ({status})"));
        let cause = said.strip_prefix(&format!("{}: ", self.name)).unwrap_or(&said);
        Err(io::Error::other(cause))
    }
}

impl Read for SiblingOutput {
    /// A stop ends it as its end would: the run knows that it was stopped.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let patience = Timespec::try_from(STOP_CHECK).ok();
        while let Some(out) = self.out.as_mut().filter(|_| !self.ended && !interrupt::is_stopped()) {
            if matches!(poll(&mut [PollFd::new(&*out, PollFlags::IN)], patience.as_ref()), Ok(0) | Err(Errno::INTR)) {
                continue;
            }
            let read = out.read(buffer)?;
            if read == 0 && !buffer.is_empty() {
                self.end()?;
            }
            return Ok(read);
        }
        Ok(0)
    }
}

impl Drop for SiblingOutput {
    fn drop(&mut self) {
        if !self.ended {
            self.let_end();
            // It may have ended by itself.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Reason for which it does not start.
fn not_started(name: &str, cause: &io::Error) -> String {
    if cause.kind() == ErrorKind::NotFound {
        return format!(
            "{name} is neither beside this program nor in PATH. It is built apart: \
             `make {}` in the folder of the source",
            name.trim_start_matches("rorqual-")
        );
    }
    format!("{name}: cannot start: {}", reason(cause))
}

/// Reason for which the program of clusters does not start.
pub(crate) fn cluster_not_started(cause: &io::Error) -> String {
    not_started(CLUSTER, cause)
}

/// Reason for which the program of queries does not start.
pub(crate) fn query_not_started(cause: &io::Error) -> String {
    not_started(PROGRAM, cause)
}

fn sibling(name: &str) -> Option<PathBuf> {
    let itself = std::env::current_exe().ok()?;
    Some(itself.parent()?.join(name))
}

/// Flags of every verb that mean something to queries.
pub(crate) fn flags(process: &ProcessArgs) -> Vec<OsString> {
    let mut flags = Vec::new();
    if let Some(memory) = process.memory {
        flags.push(format!("--memory={memory}").into());
    }
    if let Some(threads) = process.threads {
        flags.push(format!("--threads={threads}").into());
    }
    if process.stats {
        flags.push("--stats".into());
    }
    flags
}
