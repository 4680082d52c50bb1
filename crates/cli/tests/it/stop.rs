//! Ctrl-C and SIGTERM while the reader of our output takes nothing.

use crate::common::{PROGRAM, TestFolder, eventually, line};
use rorqual_testkit::process::ProcessRun;
use std::io::PipeReader;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// It ends within a second on a machine that does nothing else.
const PATIENCE: Duration = Duration::from_secs(10);

/// A program that has begun to fill a pipe that nobody reads.
fn unread(args: &[String]) -> (Child, PipeReader) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let child = Command::new(PROGRAM).args(args).stdin(Stdio::null()).stdout(writer).stderr(Stdio::null()).spawn();
    let child = child.expect("it starts");
    eventually("something in the pipe", || (rustix::io::ioctl_fionread(&reader).expect("a pipe") > 0).then_some(()));
    // Where it writes on, it does so until the pipe is full.
    let mut before = 0;
    eventually("a full pipe", || {
        std::thread::sleep(Duration::from_millis(50));
        let now = rustix::io::ioctl_fionread(&reader).expect("a pipe");
        (std::mem::replace(&mut before, now) == now).then_some(())
    });
    (child, reader)
}

fn ended(mut child: Child, signal: &str) -> ExitStatus {
    let _ = ProcessRun::new("kill").args(["-s", signal, &child.id().to_string()]).run().exits(0);
    let since = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("our child") {
            return status;
        }
        if since.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("it waits for its reader still");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_reader_that_takes_nothing_does_not_keep_it() {
    let folder = TestFolder::new();
    let rows = folder.file("rows.ndjson", "{\"a\":\"a text of some length\"}\n".repeat(400_000));
    let lines: String = (0..3_000)
        .map(|number| {
            line(number)
                .replace("/p", &format!("/{number}/{}/", "x".repeat(900)))
                .replace("\"-\"", &format!("\"http://h/{number}/{}\"", "y".repeat(900)))
                + "\n"
        })
        .collect();
    let log = folder.file("access.log", lines);
    let empty = folder.file("e", "");
    let hashes: Vec<String> = ["hash".to_owned()].into_iter().chain(std::iter::repeat_n(empty, 25_000)).collect();
    let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
    for args in [
        words(&format!("grep text {rows}")),
        words(&format!("grep --json text {rows}")),
        words(&format!("grep -n text {rows} --threads 1")),
        words(&format!("convert {rows} --to ndjson -o -")),
        words(&format!("convert {rows} --to csv -o -")),
        words(&format!("head -n 400000 {rows}")),
        words(&format!("logs --json --top 1000 {log}")),
        hashes,
    ] {
        let shown = args.iter().take(4).cloned().collect::<Vec<_>>().join(" ");
        let (child, reader) = unread(&args);
        let status = ended(child, "INT");
        // Where nothing is left to do, the signal itself ends it, which a shell calls 130 too.
        assert!(status.code() == Some(130) || status.signal() == Some(2), "{shown}: {status}");
        drop(reader);
        let (child, _reader) = unread(&args);
        let status = ended(child, "TERM");
        assert!(status.signal() == Some(15), "{shown}: {status}");
    }
}
