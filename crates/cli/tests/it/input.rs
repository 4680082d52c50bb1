//! Bad input: an answer for the readable part, a message that names file and place for the rest,
//! the exit code.

use crate::client::Server;
use crate::common::{GIB, MIB, PROGRAM, TestFolder, Truth, eventually, hits_of, line, log, panel, rorqual};
use rorqual_testkit::paths::{gzip, zstd_frame};
use rorqual_testkit::process::{ProcessRun, RunningProcess};
use rustix::fs::OFlags;
use rustix::pty::OpenptFlags;
use std::fs::{File, Permissions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::ChildStdin;
use std::sync::mpsc::channel;

#[test]
fn an_empty_file_is_no_error() {
    let folder = TestFolder::new();
    let file = folder.file("empty", b"");
    let report = rorqual(&["logs", "--json", &file]).run().exits(0).json();
    assert_eq!((&report["lines"]["total"], &report["complete"]), (&0.into(), &true.into()));
    assert!(report["time"].is_null() && report["histogram"].is_null());
    assert_eq!(rorqual(&["count", &file]).run().exits(0).text(), format!("0 0 0 {file}\n"));
    let _ = rorqual(&["logs", &file]).run().exits(0);
    let _ = rorqual(&["logs"]).run().exits(0);
}

#[test]
fn line_ends_of_any_kind() {
    let folder = TestFolder::new();
    let truth = Truth::of(&log(100));
    let text = String::from_utf8(log(100)).expect("text");
    for (name, bytes) in [("none at the end", text.trim_end().to_owned()), ("CRLF", text.replace('\n', "\r\n"))] {
        let report = rorqual(&["logs", "--json", &folder.file(name, bytes)]).run().exits(0).json();
        truth.check(&report);
        assert_eq!(report["lines"]["repaired"], 0, "{name}");
        assert_eq!(hits_of(&panel(&report, "agent")["rows"])["agent/1.0"], 100, "{name}");
    }
}

#[test]
fn invalid_utf8_is_shown_replaced() {
    let folder = TestFolder::new();
    let file = folder.file("log", b"10.0.0.1 - - [02/Jan/2025:00:00:00 +0000] \"GET /\xff\xfe/x HTTP/1.1\" 200 5 \"-\" \"a\"\n");
    let report = rorqual(&["logs", "--json", &file]).run().exits(0).json();
    assert_eq!(hits_of(&panel(&report, "path")["rows"])["/\u{fffd}\u{fffd}/x"], 1);
    let terminal = rorqual(&["logs", &file]).run().exits(0);
    assert!(terminal.text().contains("/\u{fffd}\u{fffd}/x"));
}

#[test]
fn a_line_of_3_gib_is_rejected_with_a_sample() {
    let folder = TestFolder::new();
    let path = folder.text("log");
    let mut file = File::create(&path).expect("a file");
    file.write_all(&log(10)).expect("room");
    let before = file.stream_position().expect("a file");
    file.seek(SeekFrom::Current(3 * GIB as i64)).expect("sparse");
    file.write_all(&[b"\n", &log(10)[..]].concat()).expect("room");
    let ran = rorqual(&["logs", "--json", &path]).run().exits(0);
    let report = ran.within(256 * MIB).json();
    Truth::of(&[log(10), log(10)].concat()).check(&report);
    assert_eq!(report["rejects"]["count"], 1);
    let sample = &report["rejects"]["samples"][0];
    assert_eq!((&sample["line"], &sample["offset"]), (&11.into(), &before.into()));
    let reason = sample["reason"].as_str().expect("a reason");
    assert!(reason.contains("256 KiB") && reason.contains("--line-max"), "{reason}");
}

#[test]
fn cut_compression_gives_what_came_before() {
    let folder = TestFolder::new();
    let bytes = log(40_000);
    for (name, stored) in [("gzip", gzip(&bytes)), ("zstd", zstd_frame(&bytes))] {
        let file = folder.file(name, &stored[..stored.len() - 9]);
        let ran = rorqual(&["logs", "--json", &file]).run().exits(2);
        ran.says(&[&file, name, "ends too early", "at byte "]);
        let report = ran.json();
        assert_eq!(report["complete"], false);
        let parsed = report["lines"]["parsed"].as_u64().expect("a number");
        assert!(parsed > 10_000, "{name}: {parsed} lines of 40,000");
        assert!(report["sources"][0]["error"].as_str().is_some_and(|error| error.contains("ends too early")));
        let counted = rorqual(&["count", "--json", &file]).run().exits(2).json();
        assert_eq!(counted["total"]["bytes"], report["sources"][0]["bytes"]);
    }
}

#[test]
fn damaged_compression_is_told() {
    let folder = TestFolder::new();
    let bytes = log(40_000);
    for (name, mut stored) in [("gzip", gzip(&bytes)), ("zstd", zstd_with_checksum(&bytes))] {
        let middle = stored.len() / 2;
        stored[middle..middle + 50].fill(0xa5);
        let file = folder.file(name, stored);
        for verb in ["count", "logs"] {
            let ran = rorqual(&[verb, &file]).run().exits(2);
            ran.says(&[&file, name, "damaged", "at byte "]);
        }
    }
}

/// Output of the `zstd` program; without its checksum a damage can be a sound file of other bytes.
fn zstd_with_checksum(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("a level that exists");
    encoder.include_checksum(true).expect("before the first byte");
    encoder.write_all(bytes).expect("a Vec takes everything");
    encoder.finish().expect("a Vec takes everything")
}

#[test]
fn garbage_behind_gzip_is_told_and_costs_nothing_before_it() {
    let folder = TestFolder::new();
    let bytes = log(1_000);
    for garbage in [&b"garbage that is no member of any gzip file"[..], &[7; 3]] {
        let file = folder.file("log.gz", [&gzip(&bytes)[..], garbage].concat());
        let ran = rorqual(&["logs", "--json", &file]).run().exits(2);
        ran.says(&[&file, "gzip", &format!("at byte {}", bytes.len())]);
        Truth::of(&bytes).check(&ran.json());
    }
}

#[test]
fn a_zstd_window_beyond_the_budget_names_the_flag_and_more_memory_opens_it() {
    let folder = TestFolder::new();
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("a level that exists");
    encoder.window_log(27).expect("before the first byte");
    let bytes = log(1_000);
    encoder.write_all(&bytes).expect("a Vec takes everything");
    let file = folder.file("log.zst", encoder.finish().expect("a Vec takes everything"));
    for verb in ["count", "logs"] {
        rorqual(&[verb, &file]).run().exits(2).says(&[&file, "zstd", "window", "--memory"]);
    }
    let ran = rorqual(&["count", "--json", "--memory", "4GiB", &file]).run().exits(0);
    assert_eq!(ran.json()["total"]["bytes"], bytes.len());
}

#[test]
fn what_can_not_be_opened_is_named() {
    let folder = TestFolder::new();
    std::fs::create_dir(folder.at("folder")).expect("a folder");
    for (verb, name, reason) in [
        ("count", "folder", "is a directory"),
        ("logs", "folder", "is a folder without files"),
        ("count", "missing", "No such file"),
        ("logs", "missing", "No such file"),
    ] {
        let ran = rorqual(&[verb, &folder.text(name)]).run().exits(2);
        ran.says(&[&folder.text(name), reason]);
    }
}

#[test]
fn a_file_without_permission_is_named() {
    let folder = TestFolder::new();
    let file = folder.file("secret", log(3));
    std::fs::set_permissions(&file, Permissions::from_mode(0o000)).expect("it is ours");
    // Root may read everything, so the program is run as nobody; a copy of it that nobody can
    // reach.
    let copy = folder.at("rorqual");
    std::fs::copy(PROGRAM, &copy).expect("room");
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("it is ours");
    let is_root = File::open(&file).is_ok();
    let ran = ProcessRun::new(copy)
        .args(["count", &file])
        .with(|command| {
            if is_root {
                command.uid(65_534);
            }
        })
        .run();
    ran.exits(2).says(&[&file, "cannot open: Permission denied"]);
}

/// The program reading `file` so slowly that something can happen to it, and being in its middle.
fn reading_slowly(verb: &str, file: &str) -> RunningProcess {
    let running = rorqual(&[verb, "--json", "--limit-rate", "4MiB", "--threads", "2", file]).start();
    let io = format!("/proc/{}/io", running.id());
    eventually("a block was read", || {
        let text = std::fs::read_to_string(&io).ok()?;
        let read: u64 = text.lines().find_map(|line| line.strip_prefix("rchar: "))?.trim().parse().ok()?;
        // More than the program's own libraries.
        (read > MIB / 2).then_some(())
    });
    running
}

#[test]
fn a_file_that_shrinks_is_told_with_its_place() {
    let folder = TestFolder::new();
    let bytes = log(80_000);
    assert!(bytes.len() as u64 > 6 * MIB);
    for (verb, size) in [("count", 3 * MIB + 12_345), ("count", 3 * MIB), ("logs", 3 * MIB + 12_345)] {
        let file = folder.file("log", &bytes);
        let running = reading_slowly(verb, &file);
        File::options().write(true).open(&file).and_then(|file| file.set_len(size)).expect("it is ours");
        let ran = running.wait().exits(2);
        ran.says(&[&file, "shrank", &format!("it had {} bytes", bytes.len()), &format!("at byte {size}")]);
        let answer = ran.json();
        if verb == "count" {
            assert_eq!(answer["total"]["bytes"], size);
        } else {
            let kept = &bytes[..size as usize];
            let whole = kept.iter().filter(|byte| **byte == b'\n').count();
            assert_eq!((&answer["lines"]["total"], &answer["complete"]), (&(whole + 1).into(), &false.into()));
        }
    }
}

#[test]
fn a_file_that_grows_is_read_as_it_was() {
    let folder = TestFolder::new();
    let bytes = log(20_000);
    let file = folder.file("log", &bytes);
    let running = reading_slowly("logs", &file);
    File::options().append(true).open(&file).and_then(|mut file| file.write_all(&log(500))).expect("room");
    Truth::of(&bytes).check(&running.wait().exits(0).json());
}

#[test]
fn a_file_that_vanishes_is_read_to_its_end() {
    let folder = TestFolder::new();
    let bytes = log(20_000);
    let file = folder.file("log", &bytes);
    let running = reading_slowly("logs", &file);
    std::fs::remove_file(&file).expect("it is ours");
    Truth::of(&bytes).check(&running.wait().exits(0).json());
}

#[test]
fn time_may_go_backwards() {
    let folder = TestFolder::new();
    let forward: Vec<String> = (0..50_000).map(line).collect();
    let backward: Vec<String> = forward.iter().rev().cloned().collect();
    let report = |name: &str, lines: &[String]| {
        let file = folder.file(name, lines.join("\n"));
        rorqual(&["logs", "--json", &file]).run().exits(0).json()
    };
    let (forward, backward) = (report("forward", &forward), report("backward", &backward));
    assert_eq!(forward["lines"]["parsed"], 50_000);
    assert_eq!(forward["time"], backward["time"]);
    assert_eq!(forward["histogram"], backward["histogram"]);
}

#[test]
fn an_unknown_format_shows_its_first_lines_and_what_to_do() {
    let folder = TestFolder::new();
    let file = folder.file("poem", b"Call me Ishmael.\nSome years ago\n\x1b[31mnever mind\n");
    let ran = rorqual(&["logs", &file]).run().exits(2);
    ran.says(&[
        &file,
        "none of the known log formats",
        "  Call me Ishmael.",
        "  Some years ago",
        "\nGive its format: --format '",
        "--format-file",
    ]);
    assert!(ran.stdout.is_empty() && !ran.stderr.contains('\x1b'));
}

#[test]
fn a_wrong_format_string_is_refused_with_its_place() {
    let folder = TestFolder::new();
    let file = folder.file("log", log(3));
    for (format, part) in [
        ("", "is not a known format"),
        ("combind", "combind"),
        ("$remote_addr $no_such_variable_$", "column"),
        ("%h %!", "column"),
    ] {
        let ran = rorqual(&["logs", "--format", format, &file]).run().exits(2);
        ran.says(&["--format", part]);
        assert!(ran.stdout.is_empty(), "{format}");
    }
    let missing = folder.text("missing.conf");
    rorqual(&["logs", "--format-file", &missing, &file]).run().exits(2).says(&["--format-file", &missing, "No such file"]);
    let empty = folder.file("nginx.conf", b"events {}\n");
    rorqual(&["logs", "--format-file", &empty, &file]).run().exits(2).says(&["--format-file", &empty, "no usable"]);
}

#[test]
fn one_bad_file_does_not_end_the_run() {
    let folder = TestFolder::new();
    let good = folder.file("good", log(1_000));
    let bad = [folder.text("missing"), folder.file("poem", b"Call me Ishmael.\nSome\n"), folder.text("empty")];
    std::fs::create_dir(&bad[2]).expect("there is none");
    let ran = rorqual(&["logs", "--json", &bad[0], &good, &bad[1], &bad[2], &good]).run().exits(2);
    ran.says(&[&bad[0], &bad[1], &bad[2]]);
    let report = ran.json();
    Truth::of(&log(1_000)).times(2).check(&report);
    let errors: Vec<bool> =
        report["sources"].as_array().expect("sources").iter().map(|source| source["error"].is_string()).collect();
    assert_eq!(errors, [true, false, true, false], "a folder is no source");
    assert_eq!(report["complete"], false);
    let counted = rorqual(&["count", "--json", &bad[0], &good, &bad[2]]).run().exits(2);
    assert_eq!(counted.json()["total"]["lines"], 1_000);
}

#[test]
fn since_and_until_cut_a_span() {
    let folder = TestFolder::new();
    // A line a second from midnight on.
    let file = folder.file("log", log(7_200));
    let run = |flags: &[&str]| rorqual(&["logs", "--json", &file]).args(flags).run().exits(0).json();
    for (flags, parsed) in [
        (&["--since", "2025-01-02T00:10"][..], 7_200 - 600),
        (&["--until", "2025-01-02T00:10"], 600),
        (&["--since", "2025-01-02T01:00:00+01:00", "--until", "2025-01-02T00:00:01Z"], 1),
        (&["--since", "2025-01-03"], 0),
        (&["--until", "2025-01-03"], 7_200),
        (&["--until", "9999-12-31"], 7_200),
    ] {
        let report = run(flags);
        assert_eq!(report["lines"]["parsed"], parsed, "{flags:?}");
        assert_eq!(report["lines"]["outside"], 7_200 - parsed, "{flags:?}");
    }
    for flag in ["--since", "--until"] {
        rorqual(&["logs", flag, "yesterday", &file]).run().exits(2).says(&["'yesterday' is not a time", "2025-01-31"]);
    }
}

/// The program waiting for `input`, which it has opened, or at least tried to.
pub(crate) fn waiting_for(
    args: &[&str],
    input: impl FnOnce(&mut ChildStdin) -> io::Result<()> + Send + 'static,
) -> RunningProcess {
    let running = rorqual(args).feed(input).start();
    let state = format!("/proc/{}/status", running.id());
    // Bit 1 of the caught signals: the handler of Ctrl-C is there.
    eventually("it listens to Ctrl-C", || {
        let text = std::fs::read_to_string(&state).ok()?;
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"))?.trim();
        (u64::from_str_radix(caught, 16).ok()? & 2 != 0).then_some(())
    });
    running
}

#[test]
fn ctrl_c_ends_the_wait_for_a_fifo_that_nobody_writes_to() {
    let folder = TestFolder::new();
    assert!(ProcessRun::new("mkfifo").arg(folder.at("fifo")).run().code == Some(0));
    for verb in ["count", "logs"] {
        let running = waiting_for(&[verb, "--json", &folder.text("fifo")], |_| Ok(()));
        running.interrupt();
        let ran = running.wait().exits(130);
        ran.says(&["stopped by Ctrl-C"]);
        match verb {
            "count" => assert_eq!(ran.json()["total"]["lines"], 0),
            _ => assert_eq!(ran.text(), "", "nothing was read, so there is no report"),
        }
    }
}

#[test]
fn ctrl_c_ends_the_wait_for_a_pipe_and_what_came_is_counted() {
    for (verb, stored) in [("count", log(1_000)), ("logs", log(1_000)), ("logs", gzip(&log(100_000)))] {
        let plain = stored.starts_with(b"10.");
        let (all_sent, seen) = channel();
        let running = waiting_for(&[verb, "--json"], move |stdin| {
            // All but the end of a gzip stream, which would be cut.
            stdin.write_all(&stored[..if plain { stored.len() } else { stored.len() - 9 }])?;
            all_sent.send(stdin.as_fd().try_clone_to_owned()?).expect("the test waits");
            Ok(())
        });
        // As long as we hold it, the pipe does not end.
        let _writing_end = seen.recv().expect("it reads");
        let pipe = format!("/proc/{}/fd/0", running.id());
        eventually("the pipe is empty", || {
            let pipe = File::open(&pipe).ok()?;
            (rustix::io::ioctl_fionread(&pipe).ok()? == 0).then_some(())
        });
        running.interrupt();
        let ran = running.wait().exits(130);
        assert_eq!(ran.stderr, "rorqual: stopped by Ctrl-C: this is what was read by then\n");
        let report = ran.json();
        match (verb, plain) {
            ("count", _) => assert_eq!(report["total"]["lines"], 1_000),
            (_, true) => {
                Truth::of(&log(1_000)).check(&report);
                assert_eq!(report["complete"], false);
            }
            _ => assert!(report["lines"]["parsed"].as_u64() > Some(90_000), "{}", report["lines"]),
        }
    }
}

#[test]
fn a_terminal_as_input_is_told() {
    let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    rustix::pty::unlockpt(&master).expect("it is ours");
    let name = rustix::pty::ptsname(&master, Vec::new()).expect("it is ours").into_string().expect("a path");
    // Held open: keys are lost when a terminal has no reader.
    let _slave =
        File::options().read(true).write(true).custom_flags(OFlags::NOCTTY.bits() as i32).open(&name).expect("a terminal");
    File::from(master.try_clone().expect("a terminal")).write_all(b"one\ntwo\n\x04").expect("it is typed");
    let ran = ProcessRun::new("bash").args(["-c", "exec \"$0\" count < \"$1\"", PROGRAM, &name]).run().exits(0);
    ran.says(&["reading standard input, which is this terminal", "Ctrl-D"]);
    assert_eq!(ran.text(), "2 8 3\n");
    assert_eq!(rorqual(&["count"]).stdin("one\n").run().exits(0).stderr, "", "a pipe is no terminal");
}

#[test]
fn a_log_of_which_nothing_can_be_read_is_an_error() {
    let folder = TestFolder::new();
    let (file, empty) = (folder.file("log", log(30)), folder.file("empty", b"\n\n"));
    let ran = rorqual(&["logs", "--json", "--format", "$status", &file]).run().exits(2);
    ran.says(&["not one of 30 lines could be read as", &format!("{file}:1: status is not a number"), "--format"]);
    assert_eq!(ran.json()["lines"]["rejected"], 30);
    // Blank lines, and lines outside of the span, were read well.
    let _ = rorqual(&["logs", "--format", "combined", &empty]).run().exits(0);
    let mixed = folder.file("mixed", [&log(3)[..], b"no line\n"].concat());
    for more in [&[][..], &["--since", "2030-01-01"]] {
        assert_eq!(rorqual(&["logs", "--format", "combined", &mixed]).args(more).run().exits(0).stderr, "");
    }
}

/// A log of `count` seconds from midnight on, by a clock in `zone`.
fn log_in(zone: &str, count: u64) -> String {
    let lines: Vec<String> = (0..count).map(|number| line(number).replace("+0000", zone)).collect();
    lines.join("\n")
}

#[test]
fn the_zone_is_the_first_file_s_whatever_is_cut_out_of_it() {
    let folder = TestFolder::new();
    let [east, later] = ["east", "later"].map(|name| folder.file(name, log_in("+0530", 9_000)));
    let [west, further] = ["west", "further"].map(|name| folder.file(name, log_in("-0300", 9_000)));
    // The first lines, a whole block of them, are outside the span.
    let since = ["--since", "2025-01-01T20:30:00"];
    let zone = |args: &[&str]| {
        let ran = rorqual(&["logs", "--json"]).args(args).args(since).run().exits(0);
        (ran.json()["time"]["zone_seconds"].as_i64().expect("a zone"), ran.stderr)
    };
    assert_eq!(zone(&[&east]), (19_800, String::new()));
    let (seconds, said) = zone(&[&east, &west, &later]);
    assert_eq!(seconds, 19_800);
    let expected =
        format!("rorqual: {west}: its clock is at UTC-03:00, that of the first file at UTC+05:30; the report is in UTC\n");
    assert_eq!(said, expected, "once, for the file that differs");
    assert_eq!(zone(&[&west, &further]), (-10_800, String::new()));
}

#[test]
fn sizes_of_any_number_are_right_or_marked() {
    let folder = TestFolder::new();
    let sizes = ["18446744073709551615", "18446744073709551615", "9000000000000000", "-"];
    let lines =
        sizes.map(|size| format!("10.0.0.1 - - [02/Jan/2025:00:00:00 +0000] \"GET / HTTP/1.1\" 200 {size} \"-\" \"a\"\n"));
    let file = folder.file("log", lines.concat());
    let report = rorqual(&["logs", "--json", &file]).run().exits(0).json();
    let spread = &report["percentiles"]["bytes"];
    assert_eq!(spread["count"], 3, "the largest number is not an absent one");
    let close = |name: &str, value: f64| {
        let found = spread[name].as_f64().expect("a number");
        assert!((found / value - 1.0).abs() <= 0.01, "{name} {found} instead of {value}");
    };
    close("p50", 1.8446744073709552e19);
    close("max", 1.8446744073709552e19);
    assert_eq!(report["bytes_sent"], u64::MAX, "the most that a sum can show");
    assert!(rorqual(&["logs", &file]).run().exits(0).text().contains("≥ 16777216 TiB"), "and marked as such");
}

#[test]
fn values_of_70_kib_are_counted_as_any_other() {
    let folder = TestFolder::new();
    let long = "x".repeat(70 << 10);
    let long_line = format!(
        "10.0.0.1 - - [02/Jan/2025:00:00:00 +0000] \"GET /{long} HTTP/1.1\" 200 7 \"http://example.com/{long}\" \"curl/8.0 {long}\"\n"
    );
    let file = folder.file("log", [long_line.repeat(3).as_bytes(), &log(2)].concat());
    let report = rorqual(&["logs", "--json", "--threads", "1", &file]).run().exits(0).json();
    let shown = |start: &str| format!("{start}{}…", &long[..1_024 - start.len()]);
    for (field, value, distinct) in [
        ("path", shown("/"), 3),
        ("referrer", shown("http://example.com/"), 1),
        ("agent", shown("curl/8.0 "), 2),
        ("site", "example.com".to_owned(), 1),
        ("bot", "curl".to_owned(), 1),
    ] {
        let panel = panel(&report, field);
        let top = &panel["rows"][0];
        assert_eq!((&panel["exact"], &panel["distinct"]["count"]), (&true.into(), &distinct.into()), "{field}");
        assert_eq!((&top["value"], &top["hits"], &top["bytes"]), (&value.into(), &3.into(), &21.into()), "{field}");
    }
}

#[test]
fn proc_files_and_devices_are_streams() {
    let ran = rorqual(&["count", "-c", "/proc/cpuinfo"]).run().exits(0);
    let first: u64 = ran.text().split(' ').next().and_then(|number| number.parse().ok()).expect("a number");
    assert!(first > 0, "a file of size 0 that has bytes");
    assert_eq!(rorqual(&["count", "/dev/null"]).run().exits(0).text(), "0 0 0 /dev/null\n");
}

#[test]
fn a_first_line_longer_than_a_block_hides_no_format() {
    let folder = TestFolder::new();
    for long in [300 << 10, 3 << 20] {
        let mut bytes = vec![b'x'; long];
        bytes.push(b'\n');
        bytes.extend(log(500));
        let file = folder.file("access.log", &bytes);
        let ran = [
            rorqual(&["logs", "--json", &file]),
            rorqual(&["logs", "--json"]).stdin(bytes.clone()),
            rorqual(&["logs", "--json", "--force", "--rejects", &folder.text("rejects")]).stdin(bytes.clone()),
        ];
        for run in ran {
            let report = run.run().exits(0).json();
            assert_eq!((&report["lines"]["parsed"], &report["lines"]["rejected"]), (&500.into(), &1.into()));
            assert_eq!(report["sources"][0]["format"], "combined");
            let sample = &report["rejects"]["samples"][0];
            assert_eq!((&sample["line"], &sample["offset"]), (&1.into(), &0.into()));
            assert!(sample["reason"].as_str().is_some_and(|reason| reason.contains("--line-max")), "{sample}");
        }
        let server = Server::start(&[]);
        let id = server.session_of(bytes.len());
        assert_eq!(server.put(&id, 0, &bytes).status, 200);
        let report = server.live(&id)["report"].clone();
        assert_eq!((&report["lines"]["parsed"], &report["lines"]["rejected"]), (&500.into(), &1.into()));
    }
}
