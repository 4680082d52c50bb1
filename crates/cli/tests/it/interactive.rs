//! `rorqual logs --interactive` on a real terminal, read back as a user would see it.

use crate::common::{MIB, PROGRAM, TestFolder, eventually, log, rorqual};
use rorqual_testkit::generate::{AccessLog, write_lines};
use rorqual_testkit::process::ProcessRun;
use rustix::fs::OFlags;
use rustix::pty::OpenptFlags;
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use vt100::Parser;

const SAMPLE: &str = "../../samples/apache_combined.log";

/// A terminal with the program on it.
struct TestTerminal {
    master: File,
    /// Held open, so that the terminal's modes can be read at the end.
    slave: File,
    screen: Arc<Mutex<Parser>>,
    child: Child,
}

impl TestTerminal {
    /// The explorer with these arguments, on 80 columns and 24 rows.
    fn explorer(args: &[&str]) -> Self {
        Self::start(&[&[PROGRAM, "logs", "-i"], args].concat())
    }

    /// A command with a terminal of its own.
    fn start(command: &[&str]) -> Self {
        let (master, slave) = terminal();
        let child = spawn(&slave, &["--ctty"], command);
        let screen = Arc::new(Mutex::new(Parser::new(24, 80, 0)));
        let (mut reader, parser) = (master.try_clone().expect("a terminal"), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                parser.lock().unwrap_or_else(PoisonError::into_inner).process(&bytes[..count]);
            }
        });
        Self { master, slave, screen, child }
    }

    fn contents(&self) -> String {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner).screen().contents()
    }

    fn is_alternate(&self) -> bool {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner).screen().alternate_screen()
    }

    /// Waits until the screen has all of these texts.
    fn sees(&self, texts: &[&str]) -> String {
        let mut last = String::new();
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually(&format!("{texts:?} on the screen"), || {
                last = self.contents();
                texts.iter().all(|text| last.contains(text)).then(|| last.clone())
            })
        }));
        found.unwrap_or_else(|_| panic!("no {texts:?} on the screen:\n{}", self.contents()))
    }

    fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("a terminal takes keys");
    }

    fn signal(&self, signal: &str) {
        let _ = ProcessRun::new("kill").args(["-s", signal, &self.child.id().to_string()]).run().exits(0);
    }

    fn ended(&mut self) -> ExitStatus {
        eventually("its end", || self.child.try_wait().expect("our child"))
    }

    /// Checks that the terminal is as it was.
    fn is_restored(&self) {
        eventually("the first screen", || (!self.is_alternate()).then_some(()));
        let modes = tcgetattr(&self.slave).expect("a terminal").local_modes;
        assert!(modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG), "{modes:?}");
        assert!(!self.screen.lock().unwrap_or_else(PoisonError::into_inner).screen().hide_cursor());
    }

    fn peak_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a field of every kernel");
        peak.trim().trim_end_matches(" kB").trim().parse::<u64>().expect("a number") << 10
    }
}

impl Drop for TestTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A terminal of 80 columns and 24 rows: the side of its user, and that of programs.
fn terminal() -> (File, File) {
    let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    rustix::pty::unlockpt(&master).expect("it is ours");
    let name = rustix::pty::ptsname(&master, Vec::new()).expect("it is ours").into_string().expect("a path");
    let slave = File::options().read(true).write(true).custom_flags(OFlags::NOCTTY.bits() as i32).open(name).expect("a terminal");
    let master = File::from(master);
    resize(&master, 80, 24);
    (master, slave)
}

/// A command on the terminal, in a session of its own.
fn spawn(slave: &File, session: &[&str], command: &[&str]) -> Child {
    let stdio = || Stdio::from(slave.try_clone().expect("a terminal"));
    Command::new("setsid")
        .args(session)
        .args(command)
        .envs([("TERM", "xterm-256color")])
        .env_remove("NO_COLOR")
        .stdin(stdio())
        .stdout(stdio())
        .stderr(stdio())
        .spawn()
        .expect("setsid is everywhere")
}

fn resize(master: &File, columns: u16, rows: u16) {
    tcsetwinsize(master, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).expect("a terminal");
}

/// Lines that the report counts with a filter.
fn counted(filter: &str) -> u64 {
    let report = rorqual(&["logs", "--json", "--where", filter, SAMPLE]).run().exits(0).json();
    report["lines"]["parsed"].as_u64().expect("a number")
}

#[test]
fn keys_filter_as_the_report_does_and_the_terminal_is_restored() {
    let mut terminal = TestTerminal::explorer(&[SAMPLE]);
    terminal.sees(&["10,000 lines", "? help", "Statuses", "9,126"]);
    assert!(terminal.is_alternate());
    terminal.press("/status = 404 and method = GET\r");
    terminal.sees(&[&format!("{} of 10,000 lines", counted("status = 404 and method = GET")), "filter status = 404"]);
    terminal.press("c");
    terminal.sees(&["  10,000 lines"]);
    terminal.press("\t\tj\r");
    terminal.sees(&["filter path = /"]);
    terminal.sees(&[&format!("{} of 10,000 lines", counted("path = /"))]);
    terminal.press("L");
    terminal.sees(&["line 1 of 575", "GET / HTTP/1.1"]);
    terminal.press("\r");
    terminal.sees(&["Googlebot", "37,932 (37.0 KiB)", "same client"]);
    terminal.press("qs");
    terminal.sees(&["line 1 of 575  bytes, largest first"]);
    terminal.press("q\x7f");
    terminal.sees(&["10,000 lines", "no filter"]);
    terminal.press("q");
    assert_eq!(terminal.ended().code(), Some(0));
    terminal.is_restored();
}

#[test]
fn the_command_is_printed_at_the_end_and_counts_the_same() {
    let mut terminal = TestTerminal::explorer(&["--where", "status >= 300", SAMPLE]);
    let all = counted("status >= 300");
    terminal.sees(&[&format!("{all} lines"), "? help"]);
    terminal.press("/method = GET\r");
    let filter = "(status >= 300) and (method = GET)";
    let hits = counted(filter);
    terminal.sees(&[&format!("{hits} of {all} lines")]);
    terminal.press("yq");
    assert_eq!(terminal.ended().code(), Some(0));
    terminal.is_restored();
    terminal.sees(&["rorqual logs --where '(status >= 300) and (method = GET)'"]);
}

#[test]
fn the_screen_follows_the_size_of_the_window() {
    let mut terminal = TestTerminal::explorer(&[SAMPLE]);
    terminal.sees(&["10,000 lines", "? help"]);
    for (columns, rows, text) in
        [(60, 20, "80x24 are needed, this is 60x20"), (160, 50, "Operating systems"), (80, 24, "panels 1–2 of 14")]
    {
        terminal.screen.lock().expect("the reader lives").screen_mut().set_size(rows, columns);
        resize(&terminal.master, columns, rows);
        terminal.sees(&[text]);
    }
    terminal.press("\x03");
    assert_eq!(terminal.ended().code(), Some(0), "Ctrl-C is a key");
    terminal.is_restored();
}

#[test]
fn the_shell_has_the_terminal_in_between() {
    let mut terminal = TestTerminal::explorer(&[SAMPLE]);
    terminal.sees(&["10,000 lines", "? help"]);
    terminal.press("\x1a");
    terminal.is_restored();
    let is_stopped = |terminal: &TestTerminal| {
        let status = std::fs::read_to_string(format!("/proc/{}/status", terminal.child.id())).expect("it lives");
        status.contains("State:\tT")
    };
    eventually("a stop", || is_stopped(&terminal).then_some(()));
    terminal.signal("CONT");
    eventually("its screen again", || terminal.is_alternate().then_some(()));
    terminal.sees(&["10,000 lines", "? help"]);
    terminal.press("/status = 404\r");
    terminal.sees(&["213 of 10,000 lines"]);
    terminal.press("Q");
    assert_eq!(terminal.ended().code(), Some(0));
    terminal.is_restored();
}

#[test]
fn a_log_on_standard_input_leaves_the_keys_to_the_terminal_and_is_seen_while_it_comes() {
    let folder = TestFolder::new();
    let fifo = folder.text("fifo");
    let _ = ProcessRun::new("mkfifo").arg(&fifo).run().exits(0);
    let mut terminal = TestTerminal::start(&["sh", "-c", "exec \"$0\" logs -i - < \"$1\"", PROGRAM, &fifo]);
    let mut writer = File::options().write(true).open(&fifo).expect("a reader");
    writer.write_all(&log(20_000)).expect("it reads");
    terminal.sees(&["standard input", "reading", "Statuses", "200"]);
    terminal.press("/status = 404\r");
    terminal.sees(&["filter status = 404", "reading", "of 20,000 lines"]);
    writer.write_all(&log(10_000)).expect("it reads");
    drop(writer);
    let hits = [20_000_u64, 10_000].map(|lines| (0..lines).filter(|number| number % 3 == 2).count()).iter().sum::<usize>();
    terminal.sees(&["of 30,000 lines", &format!("{},{:03}", hits / 1_000, hits % 1_000), "? help"]);
    terminal.press("q");
    assert_eq!(terminal.ended().code(), Some(0));
    terminal.is_restored();
}

#[test]
fn a_log_far_above_the_memory_stays_within_it() {
    let folder = TestFolder::new();
    let (path, temp) = (folder.text("log"), folder.at("temp"));
    std::fs::create_dir(&temp).expect("a folder");
    let mut file = std::io::BufWriter::new(File::create(&path).expect("a file"));
    let bytes = 384 * MIB;
    let lines = write_lines(&mut AccessLog::of_bytes(bytes), bytes, &mut file).expect("room").lines;
    file.flush().expect("room");
    let memory = 128 * MIB;
    let mut terminal = TestTerminal::explorer(&["--memory", "128MiB", "--temp-dir", &temp.to_string_lossy(), &path]);
    // Filters and lines are asked while the log is read, too.
    terminal.sees(&["reading", "Statuses"]);
    terminal.press("\t\t\rL");
    terminal.sees(&["line 1 of"]);
    terminal.press("qcf");
    terminal.sees(&["Unusual spans"]);
    terminal.press("q");
    terminal.sees(&["on disk", "? help", &thousands(lines)]);
    terminal.press("\t\t\ts");
    terminal.sees(&["by hits", "hits▾"]);
    terminal.press("q\x1b[C\x1b[C\x1b[Cv\x1b[C\x1b[Ce");
    terminal.sees(&["What sets", "in the rest"]);
    // Orders by numbers and by texts.
    terminal.press("qLs");
    terminal.sees(&["line 1 of the first 10,000 of", "bytes, largest first"]);
    terminal.press("Sagent\rw");
    terminal.sees(&["line 1 of the first 10,000 of", "agent, A first"]);
    let peak = terminal.peak_bytes();
    assert!(peak <= memory, "{peak} of {memory}");
    assert!(std::fs::read_dir(&temp).expect("a folder").next().is_none(), "the temporary file has no name");
    terminal.press("Q");
    assert_eq!(terminal.ended().code(), Some(0));
    terminal.is_restored();
}

fn thousands(number: u64) -> String {
    let (millions, rest) = (number / 1_000_000, number % 1_000_000);
    format!("{millions},{:03},{:03}", rest / 1_000, rest % 1_000)
}

#[test]
fn a_signal_restores_the_terminal() {
    let folder = TestFolder::new();
    let fifo = folder.text("fifo");
    let _ = ProcessRun::new("mkfifo").arg(&fifo).run().exits(0);
    for signal in ["TERM", "HUP", "INT"] {
        let mut terminal = TestTerminal::start(&["sh", "-c", "exec \"$0\" logs -i - < \"$1\"", PROGRAM, &fifo]);
        let mut writer = File::options().write(true).open(&fifo).expect("a reader");
        writer.write_all(&log(5_000)).expect("it reads");
        terminal.sees(&["reading", "Statuses"]);
        terminal.signal(signal);
        let ended = terminal.ended();
        match signal {
            "INT" => assert_eq!(ended.code(), Some(130)),
            _ => assert_eq!(ended.signal(), Some(if signal == "TERM" { 15 } else { 1 })),
        }
        terminal.is_restored();
    }
}

/// A window that is closed, and a terminal that is none of the process's session, which no signal
/// tells.
#[test]
fn a_terminal_that_is_gone_ends_it() {
    for session in [&["--ctty"][..], &[]] {
        let (mut master, slave) = terminal();
        let mut child = spawn(&slave, session, &[PROGRAM, "logs", "-i", SAMPLE]);
        drop(slave);
        let (mut screen, mut bytes) = (Parser::new(24, 80, 0), [0; 4096]);
        while !screen.screen().contents().contains("Statuses") {
            let count = master.read(&mut bytes).expect("it draws");
            screen.process(&bytes[..count]);
        }
        drop(master);
        let ended = eventually("its end", || child.try_wait().expect("our child"));
        assert_eq!((ended.code(), ended.signal()), (None, Some(1)), "{session:?}");
    }
}

#[test]
fn what_can_not_be_shown_is_told() {
    let folder = TestFolder::new();
    let file = folder.file("log", log(30));
    rorqual(&["logs", "-i", &file]).run().exits(2).says(&["--interactive needs a terminal", "report is printed"]);
    rorqual(&["logs", "-i", "--json", &file]).run().exits(2).says(&["cannot be used with"]);
    let table = folder.file("table.csv", "a,b\n1,2\n3,4\n");
    rorqual(&["logs", "-i", &table]).run().exits(2).says(&["--interactive", "is CSV", "rorqual serve"]);
    for (args, said, code) in [
        (&[][..], "no log is named", 2),
        (&[&folder.text("missing")[..]], "No such file", 2),
        (&[&folder.file("prose", "no log\nat all\n")], "none of the known log formats", 2),
        (&[&folder.file("empty", "")], "no line", 0),
        (&["--memory", "20MiB", &file], "screen (--interactive)", 2),
    ] {
        let mut terminal = TestTerminal::explorer(args);
        assert_eq!(terminal.ended().code(), Some(code), "{args:?}: {}", terminal.contents());
        terminal.is_restored();
        terminal.sees(&[said]);
    }
}
