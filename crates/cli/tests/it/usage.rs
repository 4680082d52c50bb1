//! The program's help and version, and output in the form that other programs have set.

use crate::common::{PROGRAM, TestFolder, log, rorqual};
use rorqual_testkit::process::ProcessRun;
use std::process::{Command, Stdio};

#[test]
fn help_names_every_verb_and_the_flags_of_all() {
    let ran = rorqual(&["--help"]).run().exits(0);
    for part in ["count", "logs", "serve", "completions", "man", "--memory", "--threads", "--stats"] {
        assert!(ran.text().contains(part), "{part}");
    }
    assert_eq!(ran.stderr, "");
}

#[test]
fn every_verb_has_help_and_the_version_is_the_package_s() {
    for verb in ["count", "grep", "logs", "serve"] {
        let ran = rorqual(&[verb, "--help"]).run().exits(0);
        assert!(ran.text().contains("Usage: rorqual "), "{verb}");
        assert!(ran.text().contains(&format!("Examples:\n  rorqual {verb} ")), "{verb}");
    }
    let version = rorqual(&["--version"]).run().exits(0);
    assert_eq!(version.text().lines().next(), Some(&*format!("rorqual {}", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn wrong_usage_is_told_and_is_exit_2() {
    for args in [&[][..], &["no-such-verb"], &["count", "--no-such-flag"], &["logs", "--top", "0"], &["count", "--threads", "0"]]
    {
        let ran = rorqual(args).run().exits(2);
        assert!(ran.stderr.contains("Usage") || ran.stderr.contains("--help"), "{args:?}: {}", ran.stderr);
        assert!(ran.stdout.is_empty());
    }
    rorqual(&["count", "--memory", "much"]).run().exits(2).says(&["--memory", "'much' is not a size", "256MiB"]);
    rorqual(&["--progress", "always", "query", "SELECT 1"]).run().exits(2).says(&["query has no --progress"]);
    rorqual(&["count", "--limit-rate", "0"]).run().exits(2).says(&["--limit-rate", "never end"]);
    rorqual(&["logs", "--line-max", "10"]).run().exits(2).says(&["--line-max", "1KiB and 1GiB"]);
}

/// An operand that is a pattern or a file is one to clap, which would write them in one bracket.
#[test]
fn the_usage_of_grep_has_its_operands() {
    let lines = [
        "Usage: rorqual grep [OPTIONS] PATTERN [FILE]...",
        "       rorqual grep [OPTIONS] -e PATTERN [FILE]...",
        "       rorqual grep [OPTIONS] -f FILE [FILE]...",
    ];
    for args in [&["grep", "--help"][..], &["grep", "-h"], &["help", "grep"], &["grep", "--bogus"], &["grep", "-C", "x", "a"]] {
        let ran = rorqual(args).run();
        let said = format!("{}{}", ran.text(), ran.stderr);
        if said.contains("Usage") {
            assert!(said.contains(&lines.join("\n")), "{args:?}: {said}");
        }
        assert!(!said.contains("<PATTERN]"), "{args:?}: {said}");
    }
    rorqual(&["grep"]).run().exits(2).says(&["a pattern is missing", &lines.join("\n"), "--help"]);
}

#[test]
fn bash_reads_the_completions() {
    let script = rorqual(&["completions", "bash"]).run().exits(0).stdout;
    let ran = ProcessRun::new("bash").args(["-c", "source /dev/stdin && complete -p rorqual"]).stdin(script).run().exits(0);
    assert!(ran.text().contains("_rorqual"), "{}", ran.text());
    assert_eq!(ran.stderr, "");
}

#[test]
fn the_manual_page_is_one() {
    let page = rorqual(&["man"]).run().exits(0);
    assert!(page.text().contains(".TH rorqual 1"));
    let titles = page.text().lines().filter(|line| line.starts_with(".TH")).count();
    assert_eq!(titles, 1);
    let help = rorqual(&["--help"]).run().exits(0);
    let verbs = help.text().lines().skip_while(|line| !line.starts_with("Commands")).skip(1).take_while(|line| !line.is_empty());
    let verbs = verbs.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for verb in verbs.filter(|verb| !["", "help"].contains(verb)) {
        let section = format!(".SH \"RORQUAL {}\"", verb.to_uppercase());
        assert!(page.text().contains(&section), "{section}");
    }
    for flag in ["line\\-max", "rejects", "longest", "idle", "memory"] {
        let told = page.text().matches(&format!("\\-\\-{flag}")).count();
        assert!(told > 0, "{flag}");
    }
    // Flags of every verb are told once.
    assert_eq!(page.text().matches("Limit on the resident memory of the whole process").count(), 1);
}

#[test]
fn each_verb_has_a_manual_page_of_its_own() {
    let page = rorqual(&["man", "grep"]).run().exits(0);
    for part in [".TH rorqual-grep 1", "rorqual\\-grep \\- ", "\\-\\-line\\-max", "Limit on the resident memory"] {
        assert!(page.text().contains(part), "{part}");
    }
    assert!(!page.text().contains("RORQUAL LOGS"), "another verb's section");
    assert!(rorqual(&["man", "none"]).run().exits(2).stderr.contains("'none' is not a verb"));
}

#[test]
fn the_version_is_one_line_or_says_how_it_was_built() {
    let version = format!("rorqual {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(rorqual(&["-V"]).run().exits(0).text(), format!("{version}\n"));
    let long = rorqual(&["--version"]).run().exits(0);
    assert!(long.text().starts_with(&version) && long.text().contains("commit:"), "{}", long.text());
}

#[test]
fn counts_are_printed_as_wc_prints_them() {
    let folder = TestFolder::new();
    let files = [
        folder.file("small", b"one\ntwo\nthree"),
        folder.file("empty", b""),
        folder.file("log", log(9_000)),
        folder.file("nul", [0; 5_000]),
    ];
    for names in [&files[..1], &files[..], &files[1..3]] {
        for flags in [&["-l"][..], &["-c"], &["-lc"], &["-L"]] {
            // wc's -L counts columns; that is bytes here, but for control characters.
            if flags == ["-L"] && names.len() == 4 {
                continue;
            }
            let ours = rorqual(&["count"]).args(flags).args(names).run().exits(0);
            let theirs = ProcessRun::new("wc")
                .with(|wc| {
                    wc.env("LC_ALL", "C");
                })
                .args(flags)
                .args(names)
                .run()
                .exits(0);
            assert_eq!(squeezed(ours.text()), squeezed(theirs.text()), "{flags:?} {names:?}");
        }
    }
}

/// Without the padding, for which wc looks at the sizes of the files instead of at the numbers.
fn squeezed(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn counts_of_one_number_or_of_stdin_are_those_of_wc_byte_for_byte() {
    let folder = TestFolder::new();
    let file = folder.file("log", log(9_000));
    for flag in ["-l", "-c"] {
        let ours = rorqual(&["count", flag, &file]).run().exits(0);
        let theirs = ProcessRun::new("wc").args([flag, &file]).run().exits(0);
        assert_eq!(ours.text(), theirs.text());
        let ours = rorqual(&["count", flag]).stdin("a\nb").run().exits(0);
        let theirs = ProcessRun::new("wc").arg(flag).stdin("a\nb").run().exits(0);
        assert_eq!(ours.text(), theirs.text());
    }
}

#[test]
fn stats_are_one_json_object_on_stderr() {
    let folder = TestFolder::new();
    let file = folder.file("log", log(9_000));
    for verb in ["count", "logs"] {
        let ran = rorqual(&[verb, "--stats", "--threads", "1", &file]).run().exits(0);
        let stats: serde_json::Value = serde_json::from_str(&ran.stderr).expect("one object");
        let bytes = std::fs::metadata(&file).expect("it is there").len();
        assert_eq!((&stats["stored_bytes"], &stats["decoded_bytes"]), (&bytes.into(), &bytes.into()));
        assert_eq!(stats["threads"], 1);
        assert!(stats["peak_bytes"].as_u64().is_some_and(|peak| peak > 0));
    }
}

#[test]
fn a_stderr_that_nobody_reads_changes_no_exit_code() {
    let folder = TestFolder::new();
    let file = folder.file("log", log(10));
    let missing = folder.text("missing");
    for (args, expected) in [(["count", "--stats", &file], 0), (["count", "--stats", &missing], 2)] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let status = Command::new(PROGRAM).args(args).stdout(Stdio::null()).stderr(writer).status().expect("it starts");
        assert_eq!(status.code(), Some(expected), "{args:?}");
    }
}
