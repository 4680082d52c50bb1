//! No output costs a file: one rule for every verb that writes one.

use crate::common::{PROGRAM, TestFolder, listens, log, rorqual};
use rorqual_testkit::paths::gzip;
use rorqual_testkit::process::ProcessRun;
use std::os::fd::AsFd;
use std::os::unix::fs::symlink;
use std::process::Command;

/// A folder with inputs of every verb, and their contents.
fn inputs(folder: &TestFolder) -> Vec<(String, Vec<u8>)> {
    let rows = "{\"a\":1}\n{\"a\":}\n{\"a\":2}\n";
    let files = [
        ("access.log", log(20)),
        ("rows.ndjson", rows.into()),
        ("schema.json", b"{\"a\": \"int64\"}".to_vec()),
        ("page.html", b"{% for row in rows %}{{ row.a }}{% endfor %}{{ title }}".to_vec()),
        ("site.json", b"{\"title\":\"t\"}".to_vec()),
        ("there", b"somebody's\n".to_vec()),
    ];
    let made = files.map(|(name, bytes)| (folder.file(name, &bytes), bytes));
    made.into()
}

fn check(files: &[(String, Vec<u8>)]) {
    for (name, bytes) in files {
        assert!(std::fs::read(name).is_ok_and(|there| there == *bytes), "{name} was changed");
    }
}

/// Command lines of each verb that write `output`.
fn commands<'a>(output: &'a str, at: impl Fn(&str) -> String + 'a) -> Vec<Vec<String>> {
    let (access, rows, page) = (at("access.log"), at("rows.ndjson"), at("page.html"));
    let commands: [&[&str]; 5] = [
        &["logs", "--html", output, &access],
        &["logs", "--rejects", output, &access],
        &["convert", &rows, "--bad", "skip", "--to", "csv", "-o", output],
        &["convert", &rows, "--to", "csv", "-o", "-", "--rejects", output],
        &["render", &page, "--rows", &rows, "--data", &at("site.json"), "-o", output],
    ];
    commands.iter().map(|args| args.iter().map(|arg| (*arg).to_owned()).collect()).collect()
}

#[test]
fn a_file_that_is_there_is_replaced_by_force_alone() {
    let folder = TestFolder::new();
    let files = inputs(&folder);
    let there = folder.text("there");
    for args in commands(&there, |name| folder.text(name)) {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = rorqual(&args).run().exits(2);
        ran.says(&[&there, "is there already; --force replaces it"]);
        assert!(ran.stdout.is_empty(), "told before the work: {args:?}");
        check(&files);
        // A bad record is an end of a rendering, and of nothing else here.
        let forced = rorqual(&args).arg("--force").run();
        if args[0] != "render" {
            let _ = forced.exits(0);
            assert_ne!(std::fs::read(&there).expect("it is there"), b"somebody's\n", "{args:?}");
        }
        std::fs::write(&there, "somebody's\n").expect("room");
    }
}

/// A link to nothing is somebody's, too.
#[test]
fn a_link_to_nothing_is_replaced_by_force_alone() {
    let folder = TestFolder::new();
    let files = inputs(&folder);
    let link = folder.text("link");
    symlink(folder.at("nothing"), &link).expect("a link");
    for args in commands(&link, |name| folder.text(name)) {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = rorqual(&args).run().exits(2);
        ran.says(&[&link, "is a symbolic link to nothing; --force replaces it"]);
        assert!(ran.stdout.is_empty(), "told before the work: {args:?}");
        assert_eq!(std::fs::read_link(&link).expect("a link still"), folder.at("nothing"), "{args:?}");
        check(&files);
    }
    let _ =
        rorqual(&["convert", &folder.text("rows.ndjson"), "--bad", "skip", "--to", "csv", "-o", &link, "--force"]).run().exits(0);
    assert!(std::fs::symlink_metadata(&link).expect("it is there").is_file() && !folder.at("nothing").exists());
}

#[test]
fn an_input_is_not_even_replaced_by_force() {
    let folder = TestFolder::new();
    let files = inputs(&folder);
    symlink(folder.at("access.log"), folder.at("link")).expect("a link");
    std::fs::hard_link(folder.at("rows.ndjson"), folder.at("hard")).expect("one file system");
    let at = |name: &str| folder.text(name);
    let (access, rows, page) = (at("access.log"), at("rows.ndjson"), at("page.html"));
    let cases: [&[&str]; 8] = [
        &["logs", "--force", "--html", &access, &access],
        &["logs", "--force", "--rejects", &at("link"), &access],
        &["logs", "--force", "--html", &at("page.html"), "--template", &page, &access],
        &["convert", "--force", &rows, "-o", &rows],
        &["convert", "--force", &rows, "--to", "csv", "-o", &at("hard")],
        &["convert", "--force", &rows, "--schema", &at("schema.json"), "-o", &at("schema.json")],
        &["convert", "--force", &rows, "--to", "csv", "-o", "-", "--rejects", &rows],
        &["render", "--force", &page, "--rows", &rows, "-o", &page],
    ];
    for args in cases {
        let ran = rorqual(args).run().exits(2);
        ran.says(&["is one of the inputs, and would be lost"]);
        check(&files);
    }
}

/// `rorqual logs --html access.log`: the report's name was forgotten, and the log would be taken
/// for it.
#[test]
fn an_output_that_looks_like_the_only_input_is_refused() {
    let folder = TestFolder::new();
    let files = inputs(&folder);
    let access = folder.text("access.log");
    for (flag, wanted) in
        [("--html", "the name of the report may be missing"), ("--rejects", "the name of the file of rejected lines")]
    {
        rorqual(&["logs", flag, &access]).run().exits(2).says(&["no log is named", wanted]);
        rorqual(&["logs", flag, &access]).stdin(log(3)).run().exits(2).says(&["no log is named", wanted]);
        check(&files);
    }
    // Not even by force, where a log might come from a pipe.
    let packed = folder.file("packed.log", gzip(&log(3)));
    for log in [&access, &packed] {
        let before = std::fs::read(log).expect("it is there");
        for args in [&["--html", log][..], &["--rejects", log], &["--by", "path", "--rejects", log]] {
            rorqual(&[&["logs", "--force"], args].concat()).stdin("").run().exits(2).says(&["no log is named"]);
            assert!(std::fs::read(log).expect("it is there") == before, "{args:?}");
        }
    }
    // A FIFO is an output that nobody reads from here.
    let fifo = folder.text("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("it is there").success());
    let reader = std::thread::spawn({
        let fifo = fifo.clone();
        move || std::fs::read(fifo).expect("it can be read")
    });
    let _ = rorqual(&["logs", "--force", "--html", &fifo, &access]).stdin("").run().exits(0);
    assert!(reader.join().expect("it ends").ends_with(b"</html>"));
    // From a pipe a log has no name, and a replaced file is told.
    let there = folder.text("there");
    let _ = rorqual(&["logs", "--html", &there, "--force"]).stdin(log(3)).run().exits(0);
    assert!(std::fs::read(&there).expect("it is there").ends_with(b"</html>"));
}

#[test]
fn two_outputs_are_two_files_however_they_are_spelled() {
    let folder = TestFolder::new();
    let _ = inputs(&folder);
    let (new, dotted) = (folder.text("new"), format!("{}/./new", folder.path().display()));
    rorqual(&["logs", "--html", &new, "--rejects", &dotted, &folder.text("access.log")]).run().exits(2).says(&["are both"]);
    let convert = ["convert", &folder.text("rows.ndjson"), "--to", "csv", "-o", &new, "--rejects", &dotted];
    rorqual(&convert).run().exits(2).says(&["are both"]);
    assert!(!folder.at("new").exists());
}

#[test]
fn a_link_stays_one_and_a_device_is_written() {
    let folder = TestFolder::new();
    let _ = inputs(&folder);
    symlink(folder.at("there"), folder.at("link.csv")).expect("a link");
    let rows = folder.text("rows.ndjson");
    let convert = |output: &str| rorqual(&["convert", &rows, "--bad", "skip", "--to", "csv", "--force", "-o", output]);
    let _ = convert(&folder.text("link.csv")).run().exits(0);
    assert!(folder.at("link.csv").is_symlink());
    assert_eq!(std::fs::read_to_string(folder.at("there")).expect("it is there"), "a\n1\n2\n");
    let _ = convert("/dev/null").run().exits(0);
    assert_eq!(convert("/dev/stdout").run().exits(0).text(), "a\n1\n2\n");
    assert!(ProcessRun::new("test").args(["-c", "/dev/null"]).run().code == Some(0));
    let _ = rorqual(&["logs", "--rejects", "/dev/null", &folder.text("access.log")]).run().exits(0);
    assert_eq!(
        rorqual(&["convert", &rows, "--to", "csv", "-o", "/dev/null", "--rejects", "-"]).run().exits(0).text(),
        "{\"a\":}\n",
        "`-` is standard output"
    );
}

#[test]
fn a_dash_is_standard_input_or_output_wherever_a_file_is_named() {
    let folder = TestFolder::new();
    let _ = inputs(&folder);
    let (access, rows) = (folder.text("access.log"), folder.text("rows.ndjson"));
    let page = rorqual(&["logs", "--html", "-", &access]).run().exits(0);
    assert!(page.stdout.ends_with(b"</html>"));
    let html = folder.text("new.html");
    let bad = [log(2), b"none\n".to_vec()].concat();
    assert_eq!(rorqual(&["logs", "--html", &html, "--rejects", "-"]).stdin(bad.clone()).run().exits(0).text(), "none\n");
    rorqual(&["logs", "--rejects", "-"]).stdin(bad).run().exits(2).says(&["would both print"]);
    let nginx = "log_format mine '$remote_addr $status';";
    let own = folder.file("own.log", "10.0.0.1 200\n");
    let report = rorqual(&["logs", "--json", "--format-file", "-", "--format", "mine", &own]).stdin(nginx).run().exits(0).json();
    assert_eq!(report["lines"]["parsed"], 1);
    let schema = rorqual(&["convert", &rows, "--bad", "skip", "--schema", "-", "--to", "ndjson", "-o", "-"]);
    assert_eq!(schema.stdin("{\"a\": \"text\"}").run().exits(0).text(), "{\"a\":\"1\"}\n{\"a\":\"2\"}\n");
    rorqual(&["convert", "-", "--schema", "-", "--to", "ndjson", "-o", "-"]).stdin("").run().exits(2).says(&["is read once"]);
    for args in [&["count", "-l", "-"][..], &["hash", "-"], &["grep", "-c", "x", "-"], &["grep", "-c", "-f", "-", &rows]] {
        assert!(matches!(rorqual(args).stdin("x\n").run().code, Some(0 | 1)), "{args:?}");
    }
}

#[test]
fn nothing_is_written_after_ctrl_c_when_nothing_was_read() {
    let folder = TestFolder::new();
    let (page, rejects) = (folder.text("page.html"), folder.text("rejects"));
    for args in [&["logs", "--html", &page, "--rejects", &rejects][..], &["logs", "--json"], &["logs"]] {
        let (sender, sent) = std::sync::mpsc::channel();
        let feed = move |stdin: &mut std::process::ChildStdin| {
            sender.send(stdin.as_fd().try_clone_to_owned()?).expect("the test waits");
            Ok(())
        };
        let running = rorqual(args).feed(feed).start();
        // As long as we hold it, the pipe does not end.
        let _writing_end = sent.recv().expect("it is fed");
        listens(&running);
        running.interrupt();
        let ran = running.wait().exits(130);
        assert_eq!((ran.text(), &*ran.stderr), ("", "rorqual: stopped by Ctrl-C\n"), "{args:?}");
        assert!(folder.names().is_empty(), "{:?}", folder.names());
    }
}

#[test]
fn an_entry_of_the_store_replaces_by_force_alone() {
    let folder = TestFolder::new();
    let (file, out, store) = (folder.file("file", "kept\n"), folder.file("out", "there\n"), folder.text("store"));
    let get = |flags: &[&str]| rorqual(&["store", "--store", &store, "get", "it", "-o", &out]).args(flags).run();
    let _ = rorqual(&["store", "--store", &store, "put", &file, "--name", "it"]).run().exits(0);
    get(&[]).exits(2).says(&["-o", "is there already; --force replaces it"]);
    assert_eq!(std::fs::read_to_string(&out).expect("it is there"), "there\n");
    let _ = get(&["--force"]).exits(0);
    assert_eq!(std::fs::read_to_string(&out).expect("it is there"), "kept\n");
    assert_eq!(
        ProcessRun::new(PROGRAM).args(["store", "--store", &store, "get", "it", "-o", "-"]).run().exits(0).text(),
        "kept\n"
    );
}

/// Files that no command line names: those of a query, by whatever name, and included templates.
#[test]
fn the_files_of_a_query_are_inputs_of_a_rendering() {
    let folder = TestFolder::new();
    let page = folder.file("page.txt", "{% for row in rows %}{{ row.a }}{% endfor %}");
    let table = folder.file("in.csv", "a,b\n1,2\n");
    let log = folder.file("access.log", log(3));
    let numbered = folder.file("part00001.csv", "a,b\n3,4\n");
    symlink(&table, folder.at("link.csv")).expect("a link");
    let (wildcard, link, pattern) = (folder.text("in*.csv"), folder.text("link.csv"), folder.text("part{}.csv"));
    let cases = [(&table, &table), (&wildcard, &table), (&table, &link), (&log, &log)];
    let refused = |from: &str, args: &[&str]| {
        let ran = rorqual(&["render", &page, "--force", "--sql", &format!("SELECT * FROM '{from}'")]).args(args).run();
        ran.exits(2).says(&["is one of the inputs, and would be lost"]);
        assert_eq!(std::fs::read_to_string(&table).expect("it is there"), "a,b\n1,2\n", "{args:?}");
        assert_eq!(std::fs::read_to_string(&numbered).expect("it is there"), "a,b\n3,4\n", "{args:?}");
    };
    for (from, output) in cases {
        refused(from, &["-o", output]);
    }
    refused(&folder.text("part*.csv"), &["-o", &pattern, "--split", "1"]);
    assert_eq!(std::fs::read(&log).expect("it is there"), crate::common::log(3));
    // Others are replaced: `{}` is a number, and no other name.
    let other = folder.file("partial.csv", "a,b\n5,6\n");
    let sql = format!("SELECT * FROM '{other}'");
    let _ = rorqual(&["render", &page, "--force", "--sql", &sql, "-o", &pattern, "--split", "1"]).run().exits(0);
    assert_eq!(std::fs::read_to_string(&numbered).expect("it is there"), "5");
    let _ = rorqual(&["render", &page, "--force", "--sql", &sql, "-o", &numbered]).run().exits(0);
}

#[test]
fn included_templates_are_inputs() {
    let folder = TestFolder::new();
    let included = folder.file("inc.html", "included");
    let access = folder.file("access.log", log(3));
    let whole = folder.file("whole.html", "{% include 'inc.html' %}");
    let named = folder.file("named.html", "{% set name = 'inc.html' %}{% include name %}");
    for template in [&whole, &named] {
        let commands: [&[&str]; 2] =
            [&["render", template, "-o", &included], &["logs", "--template", template, "--html", &included, &access]];
        for command in commands {
            let ran = rorqual(command).arg("--force").run().exits(2);
            ran.says(&[&included, "is one of the inputs, and would be lost"]);
            assert_eq!(std::fs::read_to_string(&included).expect("it is there"), "included", "{command:?}");
        }
    }
    // One that the template does not read may be replaced.
    let other = folder.file("other.html", "somebody's");
    let _ = rorqual(&["render", &whole, "-o", &other, "--force"]).run().exits(0);
    assert_eq!(std::fs::read_to_string(&other).expect("it is there"), "included");
}
