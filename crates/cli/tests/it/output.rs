//! Outputs: closed pipes, full disks, the file of `--rejects`, terminals.

use crate::common::{TestFolder, eventually, line, log, rorqual};
use rorqual_testkit::process::{ProcessRun, RunningProcess};
use std::io::Write;
use std::os::unix::fs::FileTypeExt;

/// The program in a pipe to a reader that takes one line.
fn into_head(args: &str) -> ProcessRun {
    let script = format!("set -o pipefail; \"$0\" {args} | head -1 >/dev/null");
    ProcessRun::new("bash").args(["-c", &script, crate::common::PROGRAM])
}

#[test]
fn a_reader_that_has_enough_is_success_and_silence() {
    let folder = TestFolder::new();
    let file = folder.file("log", log(2_000));
    let many = vec![file.clone(); 3_000].join(" ");
    for args in [
        format!("logs {file}"),
        format!("logs --json --top 1000 {file}"),
        format!("count {many}"),
        "man".to_owned(),
        "completions bash".to_owned(),
        "completions zsh".to_owned(),
        "--help".to_owned(),
    ] {
        let ran = into_head(&args).run().exits(0);
        assert_eq!(ran.stderr, "", "{}", &args[..args.len().min(80)]);
    }
}

#[test]
fn a_closed_output_is_success_and_silence() {
    for args in ["man", "completions bash", "count /dev/null", "logs /dev/null"] {
        // The reader is gone before anything is written.
        let script = format!("set -o pipefail; (sleep 0.2; exec \"$0\" {args}) | true");
        let ran = ProcessRun::new("bash").args(["-c", &script, crate::common::PROGRAM]).run().exits(0);
        assert_eq!(ran.stderr, "", "{args}");
    }
}

#[test]
fn a_full_disk_is_an_error() {
    for args in ["count /dev/null", "logs /dev/null", "logs --json /dev/null", "man"] {
        let ran =
            ProcessRun::new("bash").args(["-c", &format!("\"$0\" {args} > /dev/full"), crate::common::PROGRAM]).run().exits(2);
        ran.says(&["cannot write", "No space left"]);
    }
}

/// A log in which every tenth line is unlike the others, and those lines.
fn with_rejects(count: u64) -> (Vec<u8>, Vec<u8>) {
    let (mut all, mut bad) = (Vec::new(), Vec::new());
    for number in 0..count {
        let text = if number % 10 == 3 {
            format!("rejected {number} {}\n", "?".repeat((number % 97) as usize * 60))
        } else {
            line(number) + "\n"
        };
        all.extend(text.bytes());
        if number % 10 == 3 {
            bad.extend(text.bytes());
        }
    }
    (all, bad)
}

#[test]
fn rejects_are_whole_and_in_order() {
    let folder = TestFolder::new();
    let (all, bad) = with_rejects(40_000);
    let file = folder.file("log", all);
    let rejects = folder.text("rejects");
    for threads in ["1", "2", "8"] {
        let report =
            rorqual(&["logs", "--json", "--threads", threads, "--force", "--rejects", &rejects, &file]).run().exits(0).json();
        assert_eq!(report["rejects"]["count"], 4_000);
        assert!(std::fs::read(&rejects).expect("it was made") == bad, "{threads} threads");
    }
    assert_eq!(folder.names(), ["log", "rejects"], "no temporary file is left");
}

#[test]
fn rejects_of_several_files_follow_each_other() {
    let folder = TestFolder::new();
    let (all, bad) = with_rejects(1_000);
    // The second one ends without a newline, which is put in so that no two lines become one.
    let (one, two) = (folder.file("one", &all), folder.file("two", [&all[..], b"cut"].concat()));
    let rejects = folder.text("rejects");
    let _ = rorqual(&["logs", "--rejects", &rejects, &two, &one]).run().exits(0);
    let expected = [&bad[..], b"cut\n", &bad[..]].concat();
    assert!(std::fs::read(&rejects).expect("it was made") == expected);
}

#[test]
fn a_rejects_file_that_can_not_be_made_is_told_before_the_work() {
    let folder = TestFolder::new();
    let file = folder.file("log", log(10));
    let missing = folder.text("no/such/folder");
    let ran = rorqual(&["logs", "--rejects", &missing, &file]).run().exits(2);
    ran.says(&["--rejects", &missing, "No such file"]);
    assert!(ran.stdout.is_empty());
}

#[test]
fn a_rejects_target_that_is_a_folder_is_refused_and_a_pipe_is_written() {
    let folder = TestFolder::new();
    let file = folder.file("log", log(10));
    std::fs::create_dir(folder.at("folder")).expect("a folder");
    let target = folder.text("folder");
    let ran = rorqual(&["logs", "--rejects", &target, &file]).run().exits(2);
    ran.says(&["--rejects", &target]);
    assert!(ran.stdout.is_empty(), "told before the work");
    assert!(ProcessRun::new("mkfifo").arg(folder.at("fifo")).run().code == Some(0));
    let target = folder.text("fifo");
    let bad = folder.file("bad", [log(10), b"no line of a log\n".to_vec()].concat());
    let reader = ProcessRun::new("cat").arg(&target).start();
    let _ = rorqual(&["logs", "--rejects", &target, &bad]).run().exits(0);
    assert_eq!(reader.wait().exits(0).text(), "no line of a log\n");
    let kind = std::fs::symlink_metadata(&target).expect("it is still there").file_type();
    assert!(kind.is_fifo(), "a device must not be replaced by a file");
}

/// A run over an endless log that has begun to write rejected lines.
fn endless(folder: &TestFolder) -> RunningProcess {
    let (all, _) = with_rejects(2_000);
    let running = rorqual(&["logs", "--json", "--format", "combined", "--force", "--rejects", &folder.text("rejects"), "-"])
        .feed(move |stdin| {
            loop {
                stdin.write_all(&all)?;
            }
        })
        .start();
    eventually("something is written", || {
        // The file has no name yet, so it is looked for among the open ones.
        let open = std::fs::read_dir(format!("/proc/{}/fd", running.id())).ok()?;
        let ours = open.filter_map(Result::ok).map(|entry| entry.path());
        let ours = ours.filter(|path| std::fs::read_link(path).is_ok_and(|link| link.starts_with(folder.path())));
        let sizes = ours.filter_map(|path| std::fs::metadata(path).ok()).map(|metadata| metadata.len());
        sizes.max().filter(|size| *size > 100_000)
    });
    running
}

#[test]
fn a_killed_run_leaves_the_last_rejects_alone() {
    let folder = TestFolder::new();
    let rejects = folder.file("rejects", b"of the last run");
    drop(endless(&folder));
    assert_eq!(std::fs::read(&rejects).expect("it is there"), b"of the last run");
    assert_eq!(folder.names(), ["rejects"], "no temporary file is left");
}

#[test]
fn a_second_ctrl_c_ends_it_and_leaves_nothing_behind() {
    let folder = TestFolder::new();
    let running = endless(&folder);
    // Two signals may arrive as one; then the report of the first may win, and the file is there.
    running.interrupt();
    running.interrupt();
    let _ = running.wait().exits(130);
    let names = folder.names();
    assert!(names.is_empty() || names == ["rejects"], "{names:?}");
}

#[test]
fn rejects_onto_an_input_are_refused_however_it_is_spelled() {
    let folder = TestFolder::new();
    let bytes = log(10);
    let file = folder.file("log", &bytes);
    let other = folder.file("other", log(5));
    std::fs::hard_link(&file, folder.at("hard")).expect("one file system");
    std::os::unix::fs::symlink(&file, folder.at("soft")).expect("a link");
    let dotted = format!("{}/./log", folder.path().display());
    for target in [&file, &folder.text("hard"), &folder.text("soft"), &dotted] {
        let ran = rorqual(&["logs", "--rejects", target, &other, &file]).run().exits(2);
        ran.says(&["--rejects", target, "is one of the inputs"]);
        assert!(ran.stdout.is_empty(), "told before the work");
        let script = "exec \"$0\" logs --rejects \"$1\" < \"$2\"";
        let redirected = ProcessRun::new("bash").args(["-c", script, crate::common::PROGRAM, target, &file]).run().exits(2);
        redirected.says(&["--rejects", target, "no log is named, and", "the name of the file of rejected lines may be missing"]);
    }
    assert_eq!(std::fs::read(&file).expect("it is there"), bytes);
    assert_eq!(folder.names(), ["hard", "log", "other", "soft"]);
}

#[test]
fn an_interrupted_run_keeps_what_it_has_and_says_so() {
    let folder = TestFolder::new();
    let running = endless(&folder);
    running.interrupt();
    let ran = running.wait().exits(130);
    ran.says(&["stopped by Ctrl-C"]);
    let report = ran.json();
    assert_eq!(report["complete"], false);
    let written = std::fs::read(folder.at("rejects")).expect("it was made");
    let lines = written.split_inclusive(|byte| *byte == b'\n');
    assert!(lines.clone().all(|line| line.starts_with(b"rejected ") && line.ends_with(b"\n")), "whole lines only");
    assert_eq!(lines.count() as u64, report["rejects"]["count"].as_u64().expect("a number"));
    assert_eq!(folder.names(), ["rejects"], "no temporary file is left");
}

#[test]
fn rejects_that_do_not_fit_the_disk_leave_nothing_behind() {
    let folder = TestFolder::new();
    let (all, _) = with_rejects(5_000);
    let (file, rejects) = (folder.file("log", all), folder.text("rejects"));
    // Files of more than 64 KiB are refused to it, as a full disk refuses; two inputs, so that
    // there are writes after that.
    let script = "trap '' XFSZ; ulimit -f 64; exec \"$0\" logs --json --rejects \"$1\" \"$2\" \"$2\"";
    let ran = ProcessRun::new("bash").args(["-c", script, crate::common::PROGRAM, &rejects, &file]).run().exits(2);
    ran.says(&["--rejects: cannot write: File too large", &format!("--rejects {rejects}: cannot write: ")]);
    ran.says(&["an earlier write failed: File too large"]);
    assert!(!ran.stderr.contains("os error"), "{}", ran.stderr);
    assert_eq!(ran.json()["complete"], false);
    assert_eq!(folder.names(), ["log"], "neither half a file nor a temporary one");
}

/// Output on a terminal of `columns`.
fn shown_in(columns: u16, args: &[&str]) -> String {
    let wide = |command: &mut std::process::Command| {
        command.env("COLUMNS", columns.to_string());
    };
    rorqual(&["logs", "--color", "never"]).args(args).with(wide).run().exits(0).text().to_owned()
}

#[test]
fn a_report_fits_its_terminal_and_its_columns_stay_apart() {
    let folder = TestFolder::new();
    let big = line(0).replace(" 200 0 ", " 200 18446744073709551615 ") + "\n";
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples");
    let logs = [
        folder.file("log", log(20_000)),
        folder.file("years", [line(0), line(1).replace("2025", "1970"), line(2).replace("2025", "9999")].join("\n")),
        folder.file("wide", line(0).replace("/p0", &"/漢字".repeat(90)) + "\n"),
        folder.file("sizes", [big.repeat(2).into_bytes(), log(50)].concat()),
        format!("{samples}/apache_combined.log"),
        format!("{samples}/nginx_main.log"),
        format!("{samples}/caddy.json.log"),
    ];
    for columns in [80, 200] {
        for log in &logs {
            let text = shown_in(columns, &["--top", "3", log]);
            for line in text.lines().skip(1) {
                // Ideographs take two columns.
                let taken: usize = line.chars().map(|sign| if sign >= '\u{4e00}' { 2 } else { 1 }).sum();
                assert!(taken <= usize::from(columns), "{columns}: {line}");
            }
            // Every unit is apart from the next word.
            for unit in ["iB", "ms", "µs"] {
                let tight =
                    text.match_indices(unit).any(|(at, _)| text[at + 2..].starts_with(|next: char| next.is_ascii_digit()));
                assert!(!tight, "{text}");
            }
            let tables = text.split("\n\n").filter(|part| part.contains(" distinct\n"));
            tables.for_each(|table| assert!(table.lines().count() <= 1 + 3, "{table}"));
            assert!(text.contains("\nStatus  "), "{text}");
        }
    }
    let years = shown_in(80, &[&logs[1]]);
    assert!(years.contains("Requests per 120 years") && years.contains("╵19"), "{years}");
    let empty = shown_in(80, &["/dev/null"]);
    assert!(empty.contains("\nno lines\n") && !empty.contains("Status"), "{empty}");
}

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples/apache_combined.log");

#[test]
fn bars_are_parts_of_the_highest_of_their_table() {
    let text = shown_in(100, &[SAMPLE]);
    let bar_of = |end: &str| text.lines().find(|line| line.ends_with(end)).and_then(|line| line.split(' ').next());
    // 807, 575 and 546 of 10,000 lines.
    assert_eq!(bar_of("  /favicon.ico"), Some("████████████"), "{text}");
    assert_eq!((bar_of("  /"), bar_of("  /style2.css")), (Some("████████▌"), Some("████████▏")), "{text}");
    let metrics = shown_in(100, &["--by", "path", "--show", "hits", SAMPLE]);
    assert!(metrics.lines().any(|line| line.starts_with("████████████") && line.ends_with("  /favicon.ico")), "{metrics}");
    let summary = rorqual(&["summary", "--color", "never", SAMPLE]).run().exits(0);
    assert!(
        summary.text().lines().any(|line| line.starts_with("████████████ ") && line.ends_with("  /favicon.ico")),
        "{}",
        summary.text()
    );
}

#[test]
fn a_wide_terminal_has_two_columns_of_the_same_tables() {
    let of = |columns| shown_in(columns, &[SAMPLE]);
    let titles = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.contains(" distinct"));
        let parts = lines.flat_map(|line| line.split("    ").filter(|part| part.contains(" distinct")));
        parts.map(|part| part.trim().to_owned()).collect()
    };
    let (narrow, wide, widest) = (of(159), of(160), of(500));
    assert!(narrow.lines().all(|line| line.matches(" distinct").count() <= 1), "{narrow}");
    let pair = wide.lines().find(|line| line.starts_with("Status  ")).expect("statuses");
    assert_eq!(pair.find("Paths  "), Some(81), "{wide}");
    assert!(titles(&narrow).len() > 5, "{narrow}");
    assert_eq!((titles(&wide), titles(&widest)), (titles(&narrow), titles(&narrow)));
    assert!(
        wide.contains("  9,126") && wide.lines().any(|line| line.contains("  200 ") && line.ends_with("  /favicon.ico")),
        "{wide}"
    );
    assert!(widest.lines().all(|line| line.chars().count() <= 240), "{widest}");
}

#[test]
fn classes_of_status_are_told_apart_without_colours() {
    let plain = shown_in(100, &[SAMPLE]);
    for sign in ["░ 2xx", "▒ 3xx", "▓ 4xx", "█ 5xx"] {
        assert!(plain.contains(sign), "no {sign} in\n{plain}");
    }
    let coloured = rorqual(&["logs", "--color", "always", SAMPLE]).run().exits(0);
    assert!(coloured.text().contains('█') && !coloured.text().contains(['░', '▒', '▓']), "{}", coloured.text());
    // One class alone keeps its fine steps.
    let one = shown_in(100, &["--where", "class = 2xx", SAMPLE]);
    assert!(one.contains("█ 2xx") && !one.contains('░') && one.contains(['▁', '▂', '▃', '▄', '▅', '▆', '▇']), "{one}");
}

#[test]
fn log_lines_can_not_steer_the_terminal() {
    let folder = TestFolder::new();
    let mut bytes = log(20);
    bytes.extend(b"10.0.0.1 - - [02/Jan/2025:00:00:00 +0000] \"GET /\x1b[2J\x1b]0;pwned\x07\xc2\x9b31m HTTP/1.1\" 200 5 \"-\" \"\x1b[31mred\"\n");
    bytes.extend(b"rejected \x1b[2J\x08\x08\n");
    let file = folder.file("log\x1b[2J", bytes);
    for args in [&["logs", "--color", "never"][..], &["count"]] {
        let ran = rorqual(args).args([&file, &folder.text("missing\x1b[2J")]).run().exits(2);
        for text in [ran.text(), &ran.stderr] {
            let steering = text.chars().find(|character| character.is_control() && *character != '\n');
            assert_eq!(steering, None, "{text:?}");
        }
        assert!(ran.text().contains("\\u{1b}[2J"), "shown, but harmless: {}", ran.text());
    }
    let json = rorqual(&["logs", "--json", &file]).run().exits(0);
    assert!(!json.text().contains('\x1b'), "JSON escapes them");
}
