//! This test program again, as another process that uses the store.

use crate::common::{settings, store};
use crate::{crash, storm};
use rorqual_digest::{Algorithm, Digest};
use rorqual_pipe::{Control, Input};
use rorqual_store::{PutOptions, Store};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

const TASK: &str = "RORQUAL_STORE_TEST_TASK";

/// Held while a process is being started. Between its fork and its exec it has copies of all our
/// descriptors, and so their locks: an entry that another test is about to evict would count as
/// being read.
static STARTING: RwLock<()> = RwLock::new(());

/// Keeps other tests from starting processes, for as long as the guard lives.
pub(crate) fn no_starts() -> RwLockReadGuard<'static, ()> {
    STARTING.read().unwrap_or_else(PoisonError::into_inner)
}

/// A process that was started here, and ends with this.
pub(crate) struct Child {
    process: std::process::Child,
    lines: BufReader<ChildStdout>,
}

impl Child {
    pub(crate) fn start(task: &str, dir: &Path, args: &[&str]) -> Self {
        let args = [&[task, dir.to_str().unwrap()], args].concat().join("\n");
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["child::child", "--exact", "--nocapture"]).env(TASK, args).stdout(Stdio::piped()).stderr(Stdio::piped());
        let starting = STARTING.write().unwrap_or_else(PoisonError::into_inner);
        let mut process = command.spawn().unwrap();
        drop(starting);
        let lines = BufReader::new(process.stdout.take().unwrap());
        Self { process, lines }
    }

    pub(crate) fn wait_for_line(&mut self, wanted: &str) {
        for line in self.lines.by_ref().lines() {
            if line.unwrap().contains(wanted) {
                return;
            }
        }
        panic!("the child ended without '{wanted}'");
    }

    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Its standard error, unless it ended by itself and well.
    pub(crate) fn wait(mut self) -> Result<(), String> {
        let mut said = String::new();
        self.lines.read_to_string(&mut said).unwrap();
        self.process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        if self.process.wait().unwrap().success() { Ok(()) } else { Err(said) }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Does nothing as a test; does its task when it was started by one.
#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let words: Vec<&str> = task.lines().collect();
    let dir = Path::new(words[1]);
    match words[0] {
        "hold" => hold(dir, words[2]),
        "stall" => stall(dir, words[2].parse().unwrap()),
        "storm" => storm::work(dir, words[2].parse().unwrap()),
        "crash" => crash::work(dir, words[2], words[3].parse().unwrap()),
        other => panic!("{other}"),
    }
}

/// Keeps an entry open until it is killed.
fn hold(dir: &Path, digest: &str) {
    let store = Store::open(&settings(dir)).unwrap();
    let _reader = store.get(&Digest::parse(Algorithm::Sha256, digest).unwrap(), None).unwrap().unwrap();
    println!("held");
    std::thread::sleep(Duration::from_secs(60));
}

/// Puts a file that never ends until it is killed.
fn stall(dir: &Path, bytes: u64) {
    struct Stalling(u64);
    impl Read for Stalling {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let length = buffer.len().min(self.0 as usize);
            if length == 0 {
                println!("stalled");
                std::thread::sleep(Duration::from_secs(60));
            }
            self.0 -= length as u64;
            buffer[..length].fill(1);
            Ok(length)
        }
    }
    let reader = Box::new(Stalling(2_000_000));
    let _ = store(dir, 8 << 20).put(
        Input::from_reader("x", reader),
        Some(bytes),
        &PutOptions::default(),
        &crate::common::pool(),
        &Control::default(),
    );
}
