//! Ctrl-C and SIGTERM while the reader of our output takes nothing.

use crate::common::{PROGRAM, TestFolder, eventually, line, rorqual};
use rorqual_testkit::process::ProcessRun;
use std::fs::File;
use std::io::{PipeReader, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// It ends within a second on a machine that does nothing else.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that has begun to fill a pipe that nobody reads.
fn unread(args: &[String]) -> (Child, PipeReader) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let child = Command::new(PROGRAM).args(args).stdin(Stdio::null()).stdout(writer).stderr(Stdio::null()).spawn();
    let child = child.expect("it starts");
    is_filled(&reader);
    (child, reader)
}

/// Waits until nothing more comes into a pipe that nobody reads.
fn is_filled(reader: &impl AsFd) {
    eventually("something in the pipe", || (rustix::io::ioctl_fionread(reader).expect("a pipe") > 0).then_some(()));
    // Where it writes on, it does so until the pipe is full.
    let mut before = 0;
    eventually("a full pipe", || {
        std::thread::sleep(Duration::from_millis(50));
        let now = rustix::io::ioctl_fionread(reader).expect("a pipe");
        (std::mem::replace(&mut before, now) == now).then_some(())
    });
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
        hashes.clone(),
        words(&format!("grep -U te.*\\n {rows}")),
        words(&format!("grep -U --json te.*\\n {rows}")),
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

#[test]
fn rejects_that_nobody_reads_do_not_keep_it() {
    let folder = TestFolder::new();
    let bad = "x".repeat(200);
    let rows = folder.file("rows.ndjson", format!("{{\"a\":1}}\n{{\"a\":{bad}}}\n").repeat(20_000));
    let log = folder.file("access.log", format!("{}\n{bad}\n", line(1)).repeat(20_000));
    let (rejects, out) = (folder.text("rejects"), folder.text("out.parquet"));
    let _ = ProcessRun::new("mkfifo").arg(&rejects).run().exits(0);
    let start = |args: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(args).args(["--rejects", &rejects]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("it starts")
    };
    let convert = ["convert", &rows, "-o", &out];
    for args in [&convert[..], &["logs", &log]] {
        let reader = File::options().read(true).write(true).open(&rejects).expect("a pipe");
        let child = start(args);
        is_filled(&reader);
        assert_eq!(ended(child, "INT").code(), Some(130), "{args:?}");
    }
    // Nobody has opened it: that is waited for once the output is there, which has no name yet.
    let child = start(&convert);
    let open = format!("/proc/{}/fd", child.id());
    let is_unnamed = |entry: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_link(entry.ok()?.path()).ok()?.to_str()?.ends_with("(deleted)").then_some(())
    };
    eventually("an output without a name", || std::fs::read_dir(&open).ok()?.find_map(is_unnamed));
    assert_eq!(ended(child, "INT").code(), Some(130));
    assert!(!std::path::Path::new(&out).exists(), "nothing was converted");
}

#[test]
fn ctrl_c_while_standard_input_stalls_is_told() {
    let folder = TestFolder::new();
    let file = folder.file("file", "abc");
    let entry = format!("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  {file}\n");
    let ok = format!("{file}: OK\n");
    for (args, stdin, expected) in [
        (&["hash", "-"][..], "half of it".to_owned(), String::new()),
        (&["hash", &file, "-"], "half of it".to_owned(), entry.clone()),
        (&["hash", "--check"], entry.clone(), ok.clone()),
        (&["hash", "--check", "-"], format!("{}{}", entry.repeat(3), &entry[..70]), ok.repeat(3)),
        (&["head", "-"], "{\"a\":1}\n{\"a\":2}\n".to_owned(), "{\"a\":1}\n{\"a\":2}\n".to_owned()),
        (&["head", "-"], "n".to_owned(), String::new()),
        (&["sample", "-"], "a,b\n1,2\n".to_owned(), "{\"a\":1,\"b\":2}\n".to_owned()),
        (&["count", "-c", "--files0-from=-", "--total=never"], format!("{file}\0half of a name"), format!("3 {file}\n")),
    ] {
        let (taken, seen) = std::sync::mpsc::channel();
        let running = rorqual(args).feed(move |pipe| {
            pipe.write_all(stdin.as_bytes())?;
            taken.send(pipe.as_fd().try_clone_to_owned()?).expect("the test waits");
            Ok(())
        });
        let running = running.start();
        let pipe = seen.recv().expect("it was written");
        eventually("what was written was read", || (rustix::io::ioctl_fionread(&pipe).expect("a pipe") == 0).then_some(()));
        running.interrupt();
        let ran = running.wait().exits(130);
        assert!(ran.stderr.starts_with("rorqual: stopped by Ctrl-C"), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{args:?}: {}", ran.stderr);
        // What was read by then may or may not have been printed.
        let whole = args[0] == "hash" && args[1] != "--check";
        assert!(ran.text() == expected || !whole && expected.starts_with(ran.text()), "{args:?}: {}", ran.text());
    }
}

#[test]
fn a_list_that_stalls_does_not_keep_it() {
    let folder = TestFolder::new();
    let file = folder.file("file", "abc");
    for (args, list) in [
        (&["count", "--files0-from=-"][..], format!("{file}\0")),
        (&["count", "--files0-from=-", "--json"], format!("{file}\0half of a na")),
        (&["grep", "-f", "-", &file], "abc\n".to_owned()),
        (&["hash", "--check", "-"], format!("ba7816bf  {file}\nba")),
    ] {
        // Tests in the background of a script inherit that Ctrl-C is ignored.
        let mut command = Command::new("env");
        command.args(["--default-signal=INT", PROGRAM]).args(args);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(list.as_bytes()).expect("room in the pipe");
        let is_read = || (rustix::io::ioctl_fionread(&stdin).expect("a pipe") == 0).then_some(());
        eventually("a list that was read so far", is_read);
        let status = ended(child, "INT");
        assert_eq!(status.code(), Some(130), "{args:?}: {status}");
    }
}
