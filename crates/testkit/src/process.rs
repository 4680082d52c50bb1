//! A real program under test: fed, watched, ended in time, and measured from outside.
//!
//! # How the peak is read
//! `VmHWM` of `/proc/PID/status` is the truth, but is gone when the process is; polling it can miss
//! the last milliseconds. `ru_maxrss` of `wait4` misses nothing, but starts at the size of the
//! parent process (Linux keeps the larger of both over `exec`). So the latter is taken when it is
//! clearly above our own peak at the spawn, which makes it the program's own, and the polled one
//! otherwise, when the program was hardly larger than ourselves. Clearly: by a quarter. The kernel
//! notes a peak before it unmaps, so while other threads map it can read lower than it was.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't start its program has failed")]

use std::ffi::OsStr;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wait4::Wait4;

/// A program that takes longer has hung, unless a test says otherwise.
const TIME_MAX_DEFAULT: Duration = Duration::from_secs(120);

/// Pause between two looks at a program.
const POLL: Duration = Duration::from_millis(3);

/// Bytes by which two readings of one resident size may differ however small it is. Linux counts
/// pages by processor, and adds the counts up where a process ends, but not where it is looked at.
const READINGS_DIFFER_BYTES: u64 = 4 << 20;

/// Held from the reset of our peak until it was read.
static STARTING: Mutex<()> = Mutex::new(());

type Feeder = Box<dyn FnOnce(&mut ChildStdin) -> io::Result<()> + Send>;

/// A program to run, with its environment.
pub struct ProcessRun {
    command: Command,
    shown: String,
    feeder: Option<Feeder>,
    time_max: Duration,
}

/// End of a program.
#[derive(Debug)]
pub struct ProcessEnd {
    /// Everything it printed.
    pub stdout: Vec<u8>,
    /// Everything it said.
    pub stderr: String,
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Its peak resident size, exactly where it is well above that of the tests when they began it;
    /// else the largest of the sizes polled every few milliseconds.
    pub peak_bytes: u64,
}

/// A program that runs; killed when dropped.
pub struct RunningProcess {
    child: Option<Child>,
    shown: String,
    stdout: PipeOutput,
    stderr: PipeOutput,
    feeder: Option<JoinHandle<()>>,
    started: Instant,
    time_max: Duration,
    /// Our own peak when it was spawned.
    parent_peak_bytes: u64,
    peak_seen_bytes: u64,
}

impl ProcessRun {
    /// The program at `path`, with nothing on its standard input.
    pub fn new(path: impl AsRef<OsStr>) -> Self {
        let shown = Path::new(path.as_ref()).file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self { command: Command::new(path), shown, feeder: None, time_max: TIME_MAX_DEFAULT }
    }

    /// One more argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.shown.push(' ');
        self.shown.push_str(&arg.as_ref().to_string_lossy());
        self.command.arg(arg);
        self
    }

    /// More arguments.
    #[must_use]
    pub fn args(self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        args.into_iter().fold(self, Self::arg)
    }

    /// Anything else that a command can be told.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Command)) -> Self {
        change(&mut self.command);
        self
    }

    /// Bytes for its standard input.
    #[must_use]
    pub fn stdin(self, bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        self.feed(move |stdin| stdin.write_all(&bytes))
    }

    /// Writes to its standard input from a thread: many GiB, without a file.
    #[must_use]
    pub fn feed(mut self, feeder: impl FnOnce(&mut ChildStdin) -> io::Result<()> + Send + 'static) -> Self {
        self.feeder = Some(Box::new(feeder));
        self
    }

    /// Longest time that it may take.
    #[must_use]
    pub fn time_max(mut self, time_max: Duration) -> Self {
        self.time_max = time_max;
        self
    }

    /// Runs it to its end.
    ///
    /// # Panics
    /// When it can't be started or takes too long; the message has its output until then.
    #[must_use]
    pub fn run(self) -> ProcessEnd {
        self.start().wait()
    }

    /// Starts it.
    ///
    /// # Panics
    /// When it can't be started.
    #[must_use]
    pub fn start(mut self) -> RunningProcess {
        let stdin = if self.feeder.is_some() { Stdio::piped() } else { Stdio::null() };
        self.command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Our peak starts again from our present size: a test that needed much before must not blur
        // this one. One start at a time, or another's reset would hide what a child has of us.
        let starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        // The pipe's end is closed where the program begins. The spawn may return a moment before:
        // then the child still has our memory, and inherits a later peak than the one read here.
        let (mut begun, held) = io::pipe().expect("descriptors are left");
        let mut child = self.command.spawn().unwrap_or_else(|error| panic!("{}: {error}", self.shown));
        drop(held);
        let _ = begun.read(&mut [0]);
        let parent_peak_bytes = status_bytes("self", "VmHWM:").unwrap_or(u64::MAX);
        drop(starting);
        // The first look at once: on a busy machine it may have ended before the next.
        let peak_seen_bytes = status_bytes(&child.id().to_string(), "VmHWM:").unwrap_or(0);
        let stdin = child.stdin.take();
        let feeder = self.feeder.zip(stdin).map(|(feeder, stdin)| std::thread::spawn(move || feed(feeder, stdin)));
        RunningProcess {
            stdout: PipeOutput::start(child.stdout.take().unwrap()),
            stderr: PipeOutput::start(child.stderr.take().unwrap()),
            child: Some(child),
            shown: self.shown,
            feeder,
            started: Instant::now(),
            time_max: self.time_max,
            parent_peak_bytes,
            peak_seen_bytes,
        }
    }
}

impl RunningProcess {
    /// Its process id.
    ///
    /// # Panics
    /// Never while it runs.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Its peak resident size so far.
    ///
    /// # Panics
    /// When it has ended.
    #[must_use]
    pub fn peak_bytes(&self) -> u64 {
        status_bytes(&self.id().to_string(), "VmHWM:").unwrap_or_else(|| panic!("{} has ended: {}", self.shown, self.so_far()))
    }

    /// Bytes that it has caused to be written to disks so far.
    ///
    /// # Panics
    /// When it has ended, or the kernel does not tell.
    #[must_use]
    pub fn disk_write_bytes(&self) -> u64 {
        let io = std::fs::read_to_string(format!("/proc/{}/io", self.id())).expect("the kernel tells");
        let field = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")).expect("a field of every kernel");
        field.trim().parse().expect("a number")
    }

    /// Its output once that satisfies `enough`.
    ///
    /// # Panics
    /// When that does not happen in time.
    pub fn stdout_when(&mut self, enough: impl Fn(&str) -> bool) -> String {
        loop {
            let text = self.stdout.text();
            if enough(&text) {
                return text;
            }
            self.check_time();
            assert!(self.ended().is_none(), "{} has ended: {}", self.shown, self.so_far());
            std::thread::sleep(POLL);
        }
    }

    /// Ends it as Ctrl-C does.
    ///
    /// # Panics
    /// When the signal can't be sent.
    pub fn interrupt(&self) {
        self.signal(nix::sys::signal::Signal::SIGINT);
    }

    /// Ends it as `kill` does.
    ///
    /// # Panics
    /// When the signal can't be sent.
    pub fn terminate(&self) {
        self.signal(nix::sys::signal::Signal::SIGTERM);
    }

    /// Tells it that its terminal was closed, or its files were changed.
    ///
    /// # Panics
    /// When the signal can't be sent.
    pub fn hang_up(&self) {
        self.signal(nix::sys::signal::Signal::SIGHUP);
    }

    /// Ends it at once: it gets no chance to do anything about it.
    ///
    /// # Panics
    /// When the signal can't be sent.
    pub fn kill(&self) {
        self.signal(nix::sys::signal::Signal::SIGKILL);
    }

    /// Stops it where it stands, until [`go_on`](Self::go_on).
    ///
    /// # Panics
    /// When the signal can't be sent.
    pub fn pause(&self) {
        self.signal(nix::sys::signal::Signal::SIGSTOP);
    }

    /// Ends a pause.
    ///
    /// # Panics
    /// When the signal can't be sent.
    pub fn go_on(&self) {
        self.signal(nix::sys::signal::Signal::SIGCONT);
    }

    fn signal(&self, signal: nix::sys::signal::Signal) {
        let id = nix::unistd::Pid::from_raw(i32::try_from(self.id()).expect("ids are small"));
        nix::sys::signal::kill(id, signal).expect("it is our child");
    }

    /// Its standard error so far.
    #[must_use]
    pub fn stderr_so_far(&self) -> String {
        self.stderr.text()
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it takes too long; the message has its output until then.
    #[must_use]
    pub fn wait(mut self) -> ProcessEnd {
        loop {
            if let Some(used) = self.ended() {
                let inherited_bytes_max =
                    self.parent_peak_bytes.saturating_add(self.parent_peak_bytes / 4 + READINGS_DIFFER_BYTES);
                let exact = used.rusage.maxrss > inherited_bytes_max;
                let peak_bytes = if exact { used.rusage.maxrss } else { self.peak_seen_bytes };
                self.child = None;
                self.feeder.take().map(JoinHandle::join);
                let (stdout, stderr) = (self.stdout.finish(), self.stderr.finish());
                let stderr = String::from_utf8_lossy(&stderr).into_owned();
                return ProcessEnd { stdout, stderr, code: used.status.code(), peak_bytes };
            }
            self.check_time();
            std::thread::sleep(POLL);
        }
    }

    fn ended(&mut self) -> Option<wait4::ResUse> {
        let child = self.child.as_mut()?;
        let peak_bytes = status_bytes(&child.id().to_string(), "VmHWM:").unwrap_or(0);
        self.peak_seen_bytes = self.peak_seen_bytes.max(peak_bytes);
        child.try_wait4().expect("it is our child")
    }

    fn check_time(&self) {
        let (shown, limit) = (&self.shown, self.time_max);
        assert!(self.started.elapsed() < limit, "{shown} has not ended in {limit:?}: {}", self.so_far());
    }

    fn so_far(&self) -> String {
        format!("stdout: {}\nstderr: {}", self.stdout.text(), self.stderr.text())
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl ProcessEnd {
    /// Its output as text.
    ///
    /// # Panics
    /// When it is no UTF-8.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("the output is UTF-8")
    }

    /// Its output as JSON.
    ///
    /// # Panics
    /// When it is no JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }

    /// Checks the exit code.
    ///
    /// # Panics
    /// When it is another; the message has everything printed.
    #[must_use]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", String::from_utf8_lossy(&self.stdout), self.stderr);
        self
    }

    /// Checks that stderr has each of `parts`.
    ///
    /// # Panics
    /// When one is missing.
    pub fn says(&self, parts: &[&str]) -> &Self {
        for part in parts {
            assert!(self.stderr.contains(part), "'{part}' is missing in: {}", self.stderr);
        }
        self
    }

    /// Checks the peak resident size.
    ///
    /// # Panics
    /// When it is above `bytes_max`.
    pub fn within(&self, bytes_max: u64) -> &Self {
        assert!(self.peak_bytes > 0, "the peak was not seen");
        assert!(self.peak_bytes <= bytes_max, "peak {} KiB, allowed {} KiB", self.peak_bytes >> 10, bytes_max >> 10);
        self
    }
}

/// Runs `work` on a thread of its own.
///
/// # Panics
/// When it panics, or has not ended within `limit`: whatever it waits for will not come.
pub fn in_time<T: Send + 'static>(limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || sender.send(work()));
    match receiver.recv_timeout(limit) {
        Ok(result) => result,
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("hung: not done in {limit:?}"),
        Err(_) => std::panic::resume_unwind(thread.join().expect_err("it sends unless it panics")),
    }
}

/// Output of a pipe so far; read by a thread, so that the program never waits for us.
struct PipeOutput {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
}

impl PipeOutput {
    fn start(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&bytes);
        let thread = std::thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            while let Ok(read @ 1..) = pipe.read(&mut buffer) {
                shared.lock().unwrap().extend_from_slice(&buffer[..read]);
            }
        });
        Self { bytes, thread: Some(thread) }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }

    fn finish(&mut self) -> Vec<u8> {
        self.thread.take().map(JoinHandle::join);
        std::mem::take(&mut self.bytes.lock().unwrap())
    }
}

fn feed(feeder: Feeder, mut stdin: ChildStdin) {
    match feeder(&mut stdin) {
        // A program that has enough, or refuses, closes its end; its exit code tells which.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => panic!("cannot feed the program: {error}"),
        _ => {}
    }
}

fn status_bytes(process: &str, field: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_output_code_and_peak() {
        let ran = ProcessRun::new("sh").args(["-c", "cat; echo oops >&2; sleep 0.1; exit 3"]).stdin("hello").run().exits(3);
        assert_eq!(ran.text(), "hello");
        ran.says(&["oops"]);
        assert!(ran.peak_bytes > 100 << 10);
    }

    #[test]
    fn a_peak_above_our_own_is_exact() {
        // 64 MiB in one variable, gone before the shell ends; this test is far smaller.
        let script = "x=$(head -c 67108864 /dev/zero | tr '\\0' x); unset x";
        let peak_bytes = ProcessRun::new("bash").args(["-c", script]).run().exits(0).peak_bytes;
        assert!(peak_bytes > 64 << 20, "{peak_bytes}");
    }

    #[test]
    #[should_panic(expected = "has not ended in")]
    fn a_program_that_hangs_is_ended() {
        let _ = ProcessRun::new("sleep").arg("60").time_max(Duration::from_millis(50)).run();
    }

    #[test]
    #[should_panic(expected = "hung")]
    fn work_that_hangs_is_told() {
        in_time(Duration::from_millis(20), || std::thread::sleep(Duration::from_secs(5)));
    }
}
