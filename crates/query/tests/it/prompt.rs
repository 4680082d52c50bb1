//! The prompt, on a terminal.

use crate::common::{Folder, PROGRAM};
use rorqual_testkit::process::{Run, Running};
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};

/// The program at a terminal, and what types.
fn terminal(home: &Path) -> (Running, Sender<&'static str>) {
    let (keys, typed) = channel::<&'static str>();
    let feed = move |terminal: &mut std::process::ChildStdin| {
        typed.into_iter().try_for_each(|text| terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush()))
    };
    let run = Run::new("script").args(["-qec", PROGRAM, "/dev/null"]).feed(feed);
    let run = run.with(|command| {
        command.env("XDG_STATE_HOME", home).env("TERM", "xterm").env("COLUMNS", "200");
    });
    (run.start(), keys)
}

/// How often `part` was shown.
fn shown(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn several_lines_help_history_and_ctrl_c() {
    let folder = Folder::new();
    folder.file("t.csv", "city,people\nOslo,700000\n");
    let (mut running, keys) = terminal(&folder.at(""));
    running.stdout_when(|text| text.contains("sql> "));
    keys.send("SELECT 40 +\r2 AS answer;\r").unwrap();
    running.stdout_when(|text| text.contains("...> ") && text.contains("42"));
    keys.send("\\?\r").unwrap();
    running.stdout_when(|text| text.contains("the columns of a file"));
    keys.send("CREATE VIEW seen AS SELECT 1 AS one;\r\\d\r").unwrap();
    running.stdout_when(|text| shown(text, "VIEW") >= 2 && text.contains("table_type"));
    keys.send("\\d seen\r").unwrap();
    running.stdout_when(|text| text.contains("data_type") && text.contains("Int64"));
    // A query that would take hours ends, and the prompt goes on.
    let before = running.stdout_when(|_| true);
    let prompts = shown(&before, "sql> ");
    keys.send("SELECT count(*) FROM generate_series(1, 10000000000) a, generate_series(1, 100) b WHERE a.value + b.value = 0;\r")
        .unwrap();
    running.stdout_when(|text| text.contains("b.value = 0;\r\n"));
    keys.send("\u{3}").unwrap();
    running.stdout_when(|text| text.contains("stopped by Ctrl-C"));
    running.stdout_when(|text| shown(text, "sql> ") > prompts);
    keys.send("SELECT 6 * 7 AS again_42;\r").unwrap();
    running.stdout_when(|text| shown(text, "again_42") >= 2);
    keys.send("\\q\r").unwrap();
    drop(keys);
    let _ = running.wait().exits(0);
    let history = std::fs::read_to_string(folder.at("rorqual/query_history")).unwrap();
    assert!(history.contains("again_42") && history.contains("40 +"), "{history}");
    // What was typed before comes again.
    let (mut running, keys) = terminal(&folder.at(""));
    running.stdout_when(|text| text.contains("sql> "));
    keys.send("\u{1b}[A\u{1b}[A\r").unwrap();
    running.stdout_when(|text| shown(text, "again_42") >= 2 && text.contains("42"));
    keys.send("\u{4}").unwrap();
    drop(keys);
    let _ = running.wait().exits(0);
}
