//! Decoders stay within their share of the memory, and say so where the input wants more.

use crate::common::{MIB, PROGRAM, TestFolder, eventually, log, rorqual};
use rorqual_testkit::paths::{encodings, greedy_encodings, gzip};
use rorqual_testkit::process::ProcessRun;
use std::io::Write;

#[test]
fn the_greediest_that_are_allowed_stay_within_the_promise() {
    let folder = TestFolder::new();
    // More than any dictionary, so that all of it is used.
    let bytes = log(120_000);
    assert!(bytes.len() as u64 > 10 * MIB);
    // Pages of the program's own file: 8.6 MB of a release build, and up to 15.7 of this one, which
    // leaves nothing of the 12 MiB for the rest of the program.
    let own_pages = if cfg!(debug_assertions) { 5 * MIB } else { 0 };
    // Two threads, 11 blocks and a decoder beside the program.
    let sum_bytes = 12 * MIB + 2 * (MIB / 2) + 11 * (MIB / 4) + 9 * MIB;
    for (name, stored) in greedy_encodings(&bytes) {
        let file = folder.file(name, &stored);
        let ran = rorqual(&["count", "--json", "--threads", "2", &file]).run().exits(0);
        ran.within(sum_bytes + own_pages);
        assert_eq!(
            (&ran.json()["total"]["bytes"], &ran.json()["total"]["lines"]),
            (&bytes.len().into(), &120_000.into()),
            "{name}"
        );
        let little = rorqual(&["count", "--json", "--threads", "1", "--memory", "19MiB", &file]).run();
        match name {
            "bzip2" => assert_eq!(little.exits(0).within(19 * MIB + own_pages).code, Some(0)),
            _ => _ = little.exits(2).says(&[&file, &format!("this {name} data needs "), "--memory moves the limit"]),
        }
    }
}

/// Compressed files with all that may be told of one: a rejected line, a damaged end, no format,
/// another clock; a plain one and an absent one among them.
fn rotated(folder: &TestFolder) -> Vec<String> {
    let whole = log(9_000);
    let (first, second) = whole.split_at(whole.len() / 2);
    let west = String::from_utf8_lossy(first).replace("+0000", "-0300");
    let damaged = gzip(second);
    let flawed = [second, b"no line of a log\n"].concat();
    let mut files = vec![
        folder.file("a.log.gz", gzip(first)),
        folder.file("b.log.gz", &damaged[..damaged.len() / 2]),
        folder.file("c.log.gz", gzip(&flawed)),
        folder.file("d.log", first),
        folder.file("e.log.gz", gzip(west.as_bytes())),
        folder.file("f.gz", gzip(b"neither\nnor\n")),
        folder.text("absent.gz"),
        folder.file("g.log.gz", gzip(&flawed)),
    ];
    let further = encodings(second).into_iter().enumerate();
    files.extend(further.map(|(number, (name, stored))| folder.file(&format!("h{number}.{name}"), stored)));
    files
}

#[test]
fn compressed_files_side_by_side_are_as_one_after_another() {
    let folder = TestFolder::new();
    let files = rotated(&folder);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let ran = |threads: &str, more: &[&str]| {
        let ran = rorqual(&["logs", "--json", "--threads", threads, "--memory", "1GiB"]).args(more).args(&files).run().exits(2);
        let mut report = ran.json();
        report["stats"].take();
        (report, ran.stderr)
    };
    for more in [&[][..], &["--where", "status != 404"], &["--since", "2025-01-01T00:20"], &["--rejects", "/dev/null"]] {
        let (one, said) = ran("1", more);
        assert!(one["lines"]["parsed"].as_u64() > Some(10_000), "{}", one["lines"]);
        assert!(["b.log.gz", "f.gz", "absent.gz"].iter().all(|name| said.contains(name)), "{said}");
        for threads in ["2", "3", "8"] {
            assert_eq!(ran(threads, more), (one.clone(), said.clone()), "{threads} threads, {more:?}");
        }
    }
}

/// Output as text, without the times of events.
fn without_times(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output).into_owned();
    if !text.contains("\"elapsed\"") {
        return text;
    }
    let mut events: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
    for event in &mut events {
        event["data"]["elapsed_total"].take();
        event["data"]["stats"]["elapsed"].take();
        // As many as the times of all have digits.
        if event["type"] == "summary" {
            event["data"]["stats"]["bytes_printed"].take();
        }
    }
    events.iter().map(|event| format!("{event}\n")).collect()
}

#[test]
fn compressed_files_are_counted_and_searched_side_by_side_as_one_after_another() {
    let folder = TestFolder::new();
    let mut files = rotated(&folder);
    // Lines longer than a lane's line limit, text that is no UTF-8, UTF-16, nothing at all.
    let long = [b"short 404\n".to_vec(), b"long 404 ".repeat(90_000), b"\nend 404\n".to_vec()].concat();
    let wide: Vec<u8> = "wide 404\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    files.extend([
        folder.file("long.gz", gzip(&long)),
        folder.file("bytes.gz", gzip(b"\xff 404\n\xfe\n 404")),
        folder.file("wide.log", [b"\xff\xfe".to_vec(), wide].concat()),
        folder.file("empty.gz", gzip(b"")),
        folder.file("last.gz", gzip(&log(300))),
    ]);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let ran = |threads: &str, command: &[&str]| {
        let (verb, more) = command.split_first().expect("a verb");
        let ran = rorqual(&[*verb, "--threads", threads, "--memory", "1GiB"]).args(more).args(&files).run();
        (ran.code, without_times(&ran.stdout), ran.stderr)
    };
    let commands: &[&[&str]] = &[
        &["count", "-lwcL"],
        &["count", "--json"],
        &["grep", "404"],
        &["grep", " 404 ", "-c"],
        &["grep", "404", "-l"],
        &["grep", "404", "-L"],
        &["grep", "404", "-q"],
        &["grep", "404", "-m3", "-n"],
        &["grep", "404", "-m3", "-c"],
        &["grep", "99 HTTP", "-A2", "-B3", "-n", "-b"],
        &["grep", "99 HTTP", "-C1", "-h", "--color=always"],
        &["grep", "404", "-o", "-b"],
        &["grep", "-v", "200", "--json"],
        &["grep", "404", "--json"],
        &["grep", "zz", "-c", "-v"],
        &["grep", "", "--line-max", "64"],
    ];
    for command in commands {
        let one = ran("1", command);
        for threads in ["2", "3", "8"] {
            let many = ran(threads, command);
            assert!(many == one, "{threads} threads, {command:?}: {:?} {}\n{}", many.0, many.2, one.2);
        }
    }
    let (code, counts, said) = ran("8", &["grep", "404", "-c"]);
    assert_eq!(code, Some(2), "{said}");
    let ends = ["long.gz:3", "bytes.gz:2", "wide.log:1", "empty.gz:0"];
    assert!(ends.iter().all(|end| counts.lines().any(|line| line.ends_with(end))), "{counts}");
}

#[test]
fn an_answer_that_is_known_ends_searches_side_by_side() {
    let folder = TestFolder::new();
    let (without, small) = (folder.file("without.gz", gzip(b"straw\n")), folder.file("small.gz", gzip(b"needle\n")));
    let large_bytes = 256 * MIB;
    let large = folder.file("large.gz", gzip(&vec![b'\n'; large_bytes as usize]));
    let ran = rorqual(&["grep", "-q", "needle", "--stats", "--threads", "4", &without, &small, &large, &large]).run().exits(0);
    let stats: serde_json::Value = serde_json::from_str(&ran.stderr).expect("an object");
    assert!(stats["decoded_bytes"].as_u64() < Some(large_bytes), "{stats}");
    // A full disk: the error of the output comes once, and nothing waits for its turn.
    let full = format!("'{PROGRAM}' grep --threads 4 -h '' '{small}' '{large}' '{large}' > /dev/full");
    let ran = ProcessRun::new("sh").args(["-c", &full]).run().exits(2);
    assert_eq!(ran.stderr.matches("No space left").count(), 1, "{}", ran.stderr);
    // A reader that takes one line.
    let closed = format!("'{PROGRAM}' grep --threads 4 -h '' '{small}' '{large}' '{large}' | head -n 1");
    let ran = ProcessRun::new("sh").args(["-c", &closed]).run().exits(0);
    assert_eq!((ran.text(), ran.stderr.as_str()), ("needle\n", ""));
}

#[test]
fn what_follows_a_file_that_was_cut_is_not_printed() {
    let folder = TestFolder::new();
    let files: Vec<String> = (0..4).map(|number| folder.file(&format!("{number}.gz"), gzip(&log(40_000)))).collect();
    for (verb, seen) in [(&["grep", "-H", "--line-buffered", "HTTP"][..], 1), (&["count", "-l"], 0)] {
        let mut running = rorqual(verb).args(["--threads", "4", "--limit-rate", "200KiB"]).args(&files).start();
        // Of a count nothing is seen before its end, so it ends when the files are open.
        if seen > 0 {
            let _ = running.stdout_when(|text| text.lines().count() >= seen);
        } else {
            let open = format!("/proc/{}/fd", running.id());
            let names = || std::fs::read_dir(&open).into_iter().flatten().flatten();
            let is_open = |file: &String| {
                names().any(|entry| std::fs::read_link(entry.path()).is_ok_and(|name| name == std::path::Path::new(file)))
            };
            eventually("open files", || files[..2].iter().all(is_open).then_some(()));
        }
        running.interrupt();
        let ran = running.wait().exits(130);
        let others = files[1..].iter().filter(|file| ran.text().contains(file.as_str())).count();
        // A count that is stopped before it has read anything has no row of the first file either.
        let is_told = seen == 0 || ran.text().contains(&files[0]);
        assert_eq!((others, is_told), (0, true), "{verb:?}: {}", ran.stderr);
    }
}

#[test]
fn a_list_that_waits_for_the_row_of_a_name_gets_it() {
    let folder = TestFolder::new();
    let files: Vec<String> = (0..2).map(|number| folder.file(&format!("{number}.gz"), gzip(b"a\n"))).collect();
    let (seen, is_seen) = std::sync::mpsc::channel::<()>();
    let names: Vec<String> = files.iter().map(|file| format!("{file}\0")).collect();
    let feeder = move |stdin: &mut std::process::ChildStdin| {
        stdin.write_all(names[0].as_bytes())?;
        let _ = is_seen.recv();
        stdin.write_all(names[1].as_bytes())
    };
    let mut running = rorqual(&["count", "-l", "--threads", "4", "--total=never", "--files0-from=-"]).feed(feeder).start();
    let _ = running.stdout_when(|text| text.contains(&files[0]));
    seen.send(()).expect("it waits");
    assert_eq!(running.wait().exits(0).text(), format!("1 {}\n1 {}\n", files[0], files[1]));
}

#[test]
fn many_compressed_files_stay_within_the_memory() {
    let folder = TestFolder::new();
    // The windows that the decoders may ask for are all used.
    let bytes = log(120_000);
    let stored = greedy_encodings(&bytes);
    let files: Vec<String> = (0..3)
        .flat_map(|copy| stored.iter().map(move |stored| (copy, stored)))
        .map(|(copy, (name, stored))| folder.file(&format!("{copy}.{name}"), stored))
        .collect();
    let limits = [(256, "2"), (256, "8"), (384, "4")];
    let ran = |verb: &[&str], threads: &str, memory: u64| {
        rorqual(verb).args(["--threads", threads, "--memory", &format!("{memory}MiB")]).args(&files).run().exits(0)
    };
    for (memory, threads) in limits {
        let ran = ran(&["logs", "--json"], threads, memory);
        ran.within(memory * MIB);
        assert_eq!(ran.json()["lines"]["parsed"], 120_000 * files.len());
    }
    // All lines are printed, so that the output of each file waits.
    for verb in [&["count", "-l"][..], &["grep", "-c", ""], &["grep", "-n", "HTTP"], &["grep", "-B2", "--json", "9 HTTP"]] {
        let alone = without_times(&ran(verb, "1", 1_024).stdout);
        for (memory, threads) in limits {
            let many = ran(verb, threads, memory);
            many.within(memory * MIB);
            assert!(without_times(&many.stdout) == alone, "{threads} threads, {verb:?}");
        }
    }
}
