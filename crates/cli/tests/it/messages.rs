//! Messages about names and arguments that would steer a terminal, or forge a line.

use crate::common::{PROGRAM, TestFolder, rorqual};
use rorqual_testkit::process::ProcessRun;

/// Clears the screen, begins lines of its own, returns to the start of one, and turns the rest
/// around.
const NAME: &str = "a\u{1b}[2J\u{1b}]0;x\u{7}\nrorqual: forged\rb\u{202e}c\u{9b}31m";

fn is_harmless(stderr: &str, about: &str) {
    let steers = |character: char| character.is_control() && character != '\n' || matches!(character, '\u{202a}'..='\u{202e}');
    assert_eq!(stderr.chars().find(|character| steers(*character)), None, "{about}: {stderr:?}");
    assert!(!stderr.contains("\nrorqual: forged"), "{about}: {stderr}");
    assert!(!stderr.is_empty(), "{about}");
}

#[test]
fn no_name_reaches_the_terminal_as_it_is() {
    let folder = TestFolder::new();
    let missing = folder.text(NAME);
    let there = folder.file(&format!("b{NAME}"), "{\"a\":1}\n{\"a\":}\n");
    let rows = folder.file("rows.ndjson", "{\"a\":1}\n{\"a\":}\n");
    let page = folder.file("page.txt", "x");
    let cases: Vec<Vec<&str>> = vec![
        vec!["count", &missing],
        vec!["count", "--files0-from", &missing],
        vec!["grep", "x", &missing],
        vec!["grep", "-f", &missing, &rows],
        vec!["hash", &missing],
        vec!["hash", "--check", &missing],
        vec!["hash", "--check", &there],
        vec!["logs", &missing],
        vec!["logs", &there],
        vec!["logs", "--html", &there, &rows],
        vec!["logs", "--format-file", &missing, &rows],
        vec!["convert", &missing, "--to", "csv", "-o", "-"],
        vec!["convert", &there, "--to", "csv", "-o", "-"],
        vec!["convert", &rows, "--to", "csv", "-o", &there],
        vec!["convert", &rows, "-o", &missing],
        vec!["convert", &rows, "--schema", &missing, "--to", "csv", "-o", "-"],
        vec!["schema", &missing],
        vec!["head", &missing],
        vec!["head", "--columns", NAME, &rows],
        vec!["sample", &missing],
        vec!["get", &missing, "a=1"],
        vec!["render", &missing],
        vec!["render", &page, "-o", &there],
        vec!["render", &page, "--data", &missing],
        vec!["store", "--store", &missing, "ls"],
        vec!["store", "--store", &folder.path().to_str().expect("ours"), "put", &missing],
    ]
    .into_iter()
    .map(|args| args.into_iter().collect())
    .collect();
    for args in cases {
        let ran = rorqual(&args).run();
        assert_ne!(ran.code, Some(0), "{args:?}");
        is_harmless(&ran.stderr, &args.join(" "));
    }
}

#[test]
fn what_the_parser_of_arguments_says_is_harmless_too() {
    let flag = format!("--{NAME}");
    for args in [
        &[NAME][..],
        &["count", "--memory", NAME],
        &["count", "--threads", NAME],
        &["count", &flag],
        &["count", "--color", NAME],
        &["hash", "-a", NAME],
        &["store", NAME],
        &["render", NAME, "--split", NAME],
        &["logs", "--where", NAME],
    ] {
        for color in ["never", "always"] {
            let ran = rorqual(&["--color", color]).args(args).run().exits(2);
            is_harmless(&ran.stderr, &args.join(" "));
        }
    }
}

#[test]
fn a_file_where_a_verb_is_expected_is_told_the_verbs() {
    let folder = TestFolder::new();
    let log = folder.file("access", "x");
    for name in [&*log, "access.log", "logs/access"] {
        let (report, explorer) = (format!("`rorqual logs {name}`"), format!("`rorqual serve {name}`"));
        rorqual(&[name]).run().exits(2).says(&["is not a verb", &report, &explorer, "--help"]);
    }
    rorqual(&["gerp"]).run().exits(2).says(&["grep"]);
}

#[test]
fn the_last_of_two_wins_in_all_verbs() {
    let folder = TestFolder::new();
    let file = folder.file("file", "abc\n");
    let rows = folder.file("rows.ndjson", "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
    let same = |twice: &[&str], once: &[&str]| {
        let [twice, once] = [twice, once].map(|args| rorqual(args).run().exits(0));
        assert_eq!((&twice.stdout, &twice.stderr), (&once.stdout, &once.stderr));
    };
    same(&["count", "-l", "-l", "--total=always", "--total=never", &file], &["count", "-l", &file]);
    same(&["--threads", "3", "--threads", "2", "count", "--json", "--json", &file], &["count", "--json", &file]);
    same(&["count", "--memory", "1KiB", "--memory", "64MiB", &file], &["count", &file]);
    same(&["--memory", "1KiB", "count", "--memory", "64MiB", &file], &["count", &file]);
    same(&["hash", "-a", "md5", "-a", "sha1", "-b", "-t", &file], &["hash", "-a", "sha1", &file]);
    same(&["hash", "-a", "md5", "-a", "sha1", "-t", "-b", &file], &["hash", "-a", "sha1", "-b", &file]);
    same(&["head", "-n", "3", "-n", "1", "--to", "csv", "--json", &rows], &["head", "-n", "1", "--json", &rows]);
    same(&["head", "--json", "--to", "csv", &rows], &["head", "--to", "csv", &rows]);
    same(
        &["convert", "--to", "parquet", "--to", "csv", "-o", "/nowhere", "-o", "-", &rows],
        &["convert", "--to", "csv", "-o", "-", &rows],
    );
    // A list option has both.
    assert_eq!(rorqual(&["grep", "-c", "-e", "1", "-e", "2", &rows]).run().exits(0).text(), "2\n");
    let page = folder.file("page.txt", "{{ a }}{{ b }}");
    assert_eq!(rorqual(&["render", &page, "-D", "a=1", "-D", "b=2"]).run().exits(0).text(), "12");
    // The same for a check: the last one counts.
    folder.file("SUMS", rorqual(&["hash", &file]).run().exits(0).stdout);
    let check =
        |flags: &[&str]| ProcessRun::new(PROGRAM).args(["hash", "--check"]).args(flags).arg(folder.at("SUMS")).run().exits(0);
    assert_eq!(check(&["--status", "--warn"]).text(), format!("{file}: OK\n"));
    assert_eq!(check(&["--warn", "--status"]).text(), "");
}

#[test]
fn sizes_may_have_a_blank_and_fields_a_slip() {
    let folder = TestFolder::new();
    let line = |bytes: u64| format!("10.0.0.1 - - [02/Jan/2025:00:00:00 +0000] \"GET / HTTP/1.1\" 200 {bytes} \"-\" \"x\"\n");
    let log = folder.file("access.log", [line(500), line(5_000), line(2_000_000)].concat());
    let lines =
        |filter: &str| rorqual(&["logs", "--json", "--where", filter, &log]).run().exits(0).json()["lines"]["parsed"].clone();
    assert_eq!(lines("bytes > 1 KiB"), 2);
    assert_eq!(lines("bytes > 1 MB and status = 200"), 1);
    assert_eq!(lines("bytes in (500, 5000 B)"), 2);
    let _ = rorqual(&["count", "--memory", "1 GB", &log]).run().exits(0);
    rorqual(&["logs", "--where", "stauts = 200", &log]).run().exits(2).says(&["did you mean 'status'?"]);
    let far = rorqual(&["logs", "--where", "qqqq = 200", &log]).run().exits(2);
    assert!(!far.stderr.contains("did you mean"), "{}", far.stderr);
}
