//! A scheduler and executors on one machine, each a process of its own.

use crate::args::LocalArgs;
use crate::limits::END_MAX;
use rorqual_shell::message;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The processes, which end with this one: each ends when its standard input does.
pub(crate) struct LocalCluster {
    scheduler: Child,
    executors: Vec<Child>,
    address: SocketAddr,
    args: LocalArgs,
}

impl LocalCluster {
    /// Starts the processes.
    ///
    /// # Errors
    /// A sentence for people.
    pub(crate) fn start(args: &LocalArgs) -> Result<Self, String> {
        let mut scheduler = Command::new(program());
        scheduler.arg("scheduler").arg(format!("--listen={}", args.listen)).args(key(args));
        scheduler.args(args.process.memory.map(|bytes| flag("memory", bytes.to_string())));
        let (scheduler, address) = started(&mut scheduler)?;
        let mut cluster = Self { scheduler, executors: Vec::new(), address, args: args.clone() };
        for _ in 0..args.executors {
            cluster.executors.push(started(&mut executor_of(args, address))?.0);
        }
        Ok(cluster)
    }

    /// Address of the scheduler.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The reason for which there is no cluster any more, if there is none.
    pub(crate) fn ended(&mut self) -> Option<String> {
        if let Ok(Some(status)) = self.scheduler.try_wait() {
            return Some(format!("the scheduler ended ({status})"));
        }
        for executor in &mut self.executors {
            let Ok(Some(status)) = executor.try_wait() else { continue };
            message::note(&format!("an executor ended ({status}); another one takes its place"));
            match started(&mut executor_of(&self.args, self.address)) {
                Ok((started, _)) => *executor = started,
                Err(error) => return Some(error),
            }
        }
        None
    }
}

impl Drop for LocalCluster {
    fn drop(&mut self) {
        let mut all: Vec<&mut Child> = self.executors.iter_mut().chain([&mut self.scheduler]).collect();
        // They remove their folders when their standard input ends.
        all.iter_mut().for_each(|child| drop(child.stdin.take()));
        let begun = Instant::now();
        while begun.elapsed() < END_MAX && all.iter_mut().any(|child| matches!(child.try_wait(), Ok(None))) {
            std::thread::sleep(Duration::from_millis(10));
        }
        for child in all {
            let _ended_already = child.kill();
            let _ = child.wait();
        }
    }
}

/// This program, wherever it lies.
fn program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("rorqual-cluster"))
}

fn executor_of(args: &LocalArgs, scheduler: SocketAddr) -> Command {
    let mut executor = Command::new(program());
    let listen = SocketAddr::new(scheduler.ip(), 0);
    executor.arg("executor").arg(format!("--scheduler={scheduler}")).arg(format!("--listen={listen}")).args(key(args));
    executor.args(work(args)).args(process(args));
    executor
}

/// Starts a process, and waits until it says its address.
fn started(command: &mut Command) -> Result<(Child, SocketAddr), String> {
    let failed = |cause: &dyn std::fmt::Display| format!("a process of the cluster does not start: {cause}");
    let child = command.arg("--until-stdin-ends").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(|cause| failed(&cause))?;
    let mut said = String::new();
    let read = child.stdout.take().map(|out| BufReader::new(out).read_line(&mut said));
    let address = said.trim().rsplit(' ').next().and_then(|address| address.parse().ok());
    match (read, address) {
        (Some(Ok(_)), Some(address)) => Ok((child, address)),
        _ => {
            let _ = child.kill();
            let _ = child.wait();
            Err(failed(&"its message tells why"))
        }
    }
}

fn flag(name: &str, value: impl AsRef<OsStr>) -> OsString {
    let mut flag = OsString::from(format!("--{name}="));
    flag.push(value);
    flag
}

fn key(args: &LocalArgs) -> Option<OsString> {
    args.trust.key.as_ref().map(|key| flag("key", key))
}

fn work(args: &LocalArgs) -> Vec<OsString> {
    let current = [".".into()];
    let folders = if args.work.files.is_empty() { &current[..] } else { &args.work.files };
    let files = folders.iter().map(|folder| flag("files", folder));
    let record = args.work.record_max.map(|bytes| flag("record-max", bytes.to_string()));
    let temp = args.work.temp_dir.as_ref().map(|folder| flag("temp-dir", folder));
    files.chain(record).chain(temp).chain([flag("temp-max", args.work.temp_max.to_string())]).collect()
}

fn process(args: &LocalArgs) -> Vec<OsString> {
    let memory = args.process.memory.map(|bytes| flag("memory", bytes.to_string()));
    let threads = args.process.threads.map(|threads| flag("threads", threads.to_string()));
    memory.into_iter().chain(threads).collect()
}

/// Ends when standard input does.
pub(crate) fn stdin_ended() -> io::Result<()> {
    io::copy(&mut io::stdin().lock(), &mut io::sink()).map(drop)
}
