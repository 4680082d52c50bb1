//! The prompt, on a terminal.

use crate::common::{PROGRAM, TestFolder};
use rorqual_testkit::process::{ProcessRun, RunningProcess};
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};

/// The program at a terminal, and its keyboard.
fn terminal(home: &Path) -> (RunningProcess, Sender<&'static str>) {
    let (keys, typed) = channel::<&'static str>();
    let feed = move |terminal: &mut std::process::ChildStdin| {
        typed.into_iter().try_for_each(|text| terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush()))
    };
    // In place of the shell: one that waits would die of the Ctrl-C that is meant for the program.
    let run = ProcessRun::new("script").args(["-qec", &format!("exec {PROGRAM}"), "/dev/null"]).feed(feed);
    let run = run.with(|command| {
        command.env("XDG_STATE_HOME", home).env("TERM", "xterm").env("COLUMNS", "200");
    });
    (run.start(), keys)
}

/// Types, and waits until the last of `shows`, which is not in the typed text, comes and the prompt
/// is there again: keys typed while no line is edited are lost.
fn ask(running: &mut RunningProcess, keys: &Sender<&'static str>, typed: &'static str, shows: &[&str]) {
    keys.send(typed).unwrap();
    let asked = |text: &str| {
        let last = shows.last().and_then(|last| text.rfind(last));
        shows.iter().all(|part| text.contains(part)) && last.is_some_and(|at| text[at..].contains("> "))
    };
    running.stdout_when(asked);
}

#[test]
fn several_lines_help_history_and_ctrl_c() {
    let folder = TestFolder::new();
    let (mut running, keys) = terminal(&folder.at(""));
    running.stdout_when(|text| text.contains("sql> "));
    keys.send("SELECT 40 +\r").unwrap();
    running.stdout_when(|text| text.contains("...> "));
    ask(&mut running, &keys, "2 AS answer;\r", &["42"]);
    ask(&mut running, &keys, "\\?\r", &["the columns of a file"]);
    keys.send("CREATE VIEW seen AS SELECT 1 AS one;\r").unwrap();
    running.stdout_when(|text| text.rfind("AS one;").is_some_and(|at| text[at..].contains("sql> ")));
    ask(&mut running, &keys, "\\d\r", &["table_type", "VIEW"]);
    ask(&mut running, &keys, "\\d seen\r", &["data_type", "Int64"]);
    // A query that would take hours ends, and the prompt goes on.
    keys.send("SELECT count(*) FROM generate_series(1, 10000000000) a, generate_series(1, 100) b WHERE a.value + b.value = 0;\r")
        .unwrap();
    running.stdout_when(|text| text.rfind("b.value = 0;").is_some_and(|at| text[at..].contains('\n')));
    ask(&mut running, &keys, "\u{3}", &["stopped by Ctrl-C"]);
    keys.send("SELECT 6 * 7 AS again_42;\r").unwrap();
    let again =
        |text: &str| text.matches("again_42").count() >= 2 && text.rfind("again_42").is_some_and(|at| text[at..].contains("> "));
    running.stdout_when(again);
    keys.send("\\q\r").unwrap();
    drop(keys);
    let _ = running.wait().exits(0);
    let history = std::fs::read_to_string(folder.at("rorqual/query_history")).unwrap();
    assert!(history.contains("again_42") && history.contains("40 +"), "{history}");
    // A line typed before comes again.
    let (mut running, keys) = terminal(&folder.at(""));
    running.stdout_when(|text| text.contains("sql> "));
    keys.send("\u{1b}[A").unwrap();
    running.stdout_when(|text| text.contains("again_42"));
    keys.send("\r").unwrap();
    running.stdout_when(again);
    keys.send("\u{4}").unwrap();
    drop(keys);
    let _ = running.wait().exits(0);
}
