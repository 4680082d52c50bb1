//! Promise 1: the memory you give is the memory it takes, whatever the input. Measured from
//! outside.

use crate::common::{GIB, MIB, TestFolder, Truth, advised, hits_of, log, panel, rorqual};
use rorqual_testkit::generate::{
    AccessLog, DistinctLog, GeneratedLines, Truth as DistinctTruth, TruthOf, write_gzip_bomb, write_lines, write_sparse_log,
};
use rorqual_testkit::process::{ProcessEnd, ProcessRun};
use serde_json::Value;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::process::ChildStdin;
use std::sync::mpsc::channel;
use std::time::Duration;

const DEFAULT: u64 = 256 * MIB;

/// Memory of `count`, whatever is given.
const COUNT: u64 = 24 * MIB;

/// Long enough for 4 GiB on a slow machine.
const TIME_MAX: Duration = Duration::from_secs(300);

/// Feeds `block` over and over.
fn repeat(run: ProcessRun, block: Vec<u8>, times: u64) -> ProcessEnd {
    let feed = move |stdin: &mut ChildStdin| (0..times).try_for_each(|_| stdin.write_all(&block));
    run.feed(feed).time_max(TIME_MAX).run()
}

/// About 1 MiB of real lines, and how often they make 4 GiB.
fn real_lines() -> (Vec<u8>, u64) {
    let mut block = Vec::new();
    // Up to the one line in 10,000 with quotes that do not close: the reference can't split it.
    write_lines(&mut AccessLog::of_bytes(GIB), MIB, &mut block).expect("a Vec takes everything");
    let times = 4 * GIB / block.len() as u64 + 1;
    (block, times)
}

#[test]
fn logs_of_4_gib_from_a_pipe() {
    let (block, times) = real_lines();
    let truth = Truth::of(&block).times(times);
    let ran = repeat(rorqual(&["logs", "--json"]), block, times).exits(0);
    ran.within(DEFAULT);
    truth.check(&ran.json());
}

#[test]
fn count_of_4_gib_from_a_pipe() {
    let (block, times) = real_lines();
    let (bytes, lines) = (block.len() as u64 * times, block.iter().filter(|byte| **byte == b'\n').count() as u64 * times);
    let ran = repeat(rorqual(&["count", "--json"]), block, times).exits(0);
    ran.within(COUNT);
    let total = &ran.json()["total"];
    assert_eq!((&total["bytes"], &total["lines"]), (&bytes.into(), &lines.into()));
}

#[test]
fn a_line_of_4_gib_of_nuls() {
    let folder = TestFolder::new();
    let path = folder.text("log");
    let mut file = File::create(&path).expect("a file");
    file.seek(SeekFrom::Start(4 * GIB)).expect("sparse");
    file.write_all(&[b"\n", &log(3)[..]].concat()).expect("room");
    let size = file.stream_position().expect("a file");
    let counted = rorqual(&["count", "--json", &path]).run().exits(0);
    counted.within(COUNT);
    let total = &counted.json()["total"];
    assert_eq!((&total["lines"], &total["bytes"], &total["longest_bytes"]), (&4.into(), &size.into(), &(4 * GIB).into()));
    let ran = rorqual(&["logs", "--json", "--format", "combined", &path]).run().exits(0);
    ran.within(DEFAULT);
    let report = ran.json();
    assert_eq!((&report["lines"]["rejected"], &report["lines"]["total"]), (&1.into(), &4.into()));
    Truth::of(&log(3)).check(&report);
    // The same without a format given: the first block shows no log.
    rorqual(&["logs", &path]).run().exits(2).says(&[
        &path,
        "this is binary data, and no access log",
        "rorqual grep, count and hash take any bytes",
    ]);
}

/// The match by an automaton, and by the simulation of one that looks at characters.
#[test]
fn a_match_of_1_gib() {
    for (pattern, mebibytes, memory) in [("A+", 1024, 40), (r"\bA+\b", 128, 43)] {
        let grep = rorqual(&["grep", "-ob", "--threads", "1", "--memory", &format!("{memory}MiB"), pattern]);
        let ran = repeat(grep, vec![b'A'; MIB as usize], mebibytes).exits(2);
        ran.says(&["a match that is longer than 256 KiB", "--line-max"]).within(memory * MIB);
        assert!(ran.stdout == ["0:", &"A".repeat(256 << 10), "\n"].concat().as_bytes(), "{} bytes", ran.stdout.len());
    }
}

#[test]
fn a_pipe_of_2_gib_without_a_newline() {
    let zeros = vec![0; MIB as usize];
    let counted = repeat(rorqual(&["count", "--json"]), zeros.clone(), 2 * 1024).exits(0);
    counted.within(COUNT);
    assert_eq!(counted.json()["total"]["longest_bytes"], 2 * GIB);
    let ran = repeat(rorqual(&["logs", "--json", "--format", "combined"]), zeros, 2 * 1024).exits(2);
    ran.says(&["not one of 1 lines could be read as 'combined'"]);
    ran.within(DEFAULT);
    assert_eq!(ran.json()["lines"]["rejected"], 1);
}

#[test]
fn a_hole_of_20_gib() {
    let folder = TestFolder::new();
    let path = folder.text("log");
    let written = write_sparse_log(MIB, 20 * GIB, &mut File::create(&path).expect("a file")).expect("sparse");
    let ran = rorqual(&["count", "--json", &path]).run().exits(0);
    ran.within(COUNT);
    let total = &ran.json()["total"];
    assert_eq!((&total["lines"], &total["bytes"]), (&written.lines.into(), &written.bytes.into()));
    assert!(total["longest_bytes"].as_u64() >= Some(20 * GIB));
}

#[test]
fn a_gzip_bomb_of_4_gib() {
    let folder = TestFolder::new();
    let path = folder.text("bomb.gz");
    let mut member = Vec::new();
    // Members are one stream: 16 of them are one line of 4 GiB.
    write_gzip_bomb(GIB / 4, &mut member).expect("a Vec takes everything");
    std::fs::write(&path, member.repeat(16)).expect("room");
    assert!(std::fs::metadata(&path).expect("it is there").len() < 5 * MIB);
    let counted = rorqual(&["count", "--json", &path]).run().exits(0);
    counted.within(COUNT);
    assert_eq!(counted.json()["total"]["longest_bytes"], 4 * GIB);
    let ran = rorqual(&["logs", "--json", "--format", "combined", &path]).run().exits(2);
    ran.within(DEFAULT);
    assert_eq!(ran.json()["lines"]["rejected"], 1);
}

/// Millions of distinct values in little memory: bounds instead of counts, and true ones.
#[test]
fn millions_of_distinct_values_in_96_mib() {
    const BYTES: u64 = 512 * MIB;
    let (sender, truths) = channel();
    let feed = move |stdin: &mut ChildStdin| {
        let mut lines = DistinctLog::new(BYTES, 1);
        write_lines(&mut lines, BYTES, stdin)?;
        sender.send(lines.truth()).expect("the test waits");
        Ok(())
    };
    let ran = rorqual(&["logs", "--json", "--top", "100", "--memory", "96MiB"]).feed(feed).time_max(TIME_MAX).run().exits(0);
    ran.within(96 * MIB);
    let truth: DistinctTruth = truths.recv().expect("everything was fed");
    let report = ran.json();
    assert_eq!(report["lines"]["parsed"], truth.lines);
    assert!(truth.paths.distinct > 1_000_000);
    check_bounds(panel(&report, "path"), &truth.paths, truth.lines);
    check_bounds(panel(&report, "client"), &truth.clients, truth.lines);
    assert_eq!(report["clients"], panel(&report, "client")["distinct"]);
}

fn check_bounds(panel: &Value, truth: &TruthOf, lines: u64) {
    let number = |value: &Value| value.as_u64().expect("a number");
    assert_eq!(number(&panel["hits"]), lines, "the sum stays exact");
    assert_eq!((&panel["exact"], &panel["distinct"]["exact"]), (&false.into(), &false.into()));
    let (distinct, error) = (number(&panel["distinct"]["count"]) as f64, panel["distinct"]["error"].as_f64().expect("a number"));
    // Twice the stated error, which holds in 95 of 100 cases.
    let off = (distinct - truth.distinct as f64).abs() / truth.distinct as f64;
    assert!(error > 0.0 && error < 0.05 && off <= 2.0 * error, "{distinct} instead of {}", truth.distinct);
    let rows = panel["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 100);
    let true_hits = |name: &Value| truth.top.iter().find(|ranked| *name == ranked.value).map(|ranked| u64::from(ranked.hits));
    for row in rows {
        // Values beyond the truth's list have at most the hits of its last.
        let hits = true_hits(&row["value"]).unwrap_or(u64::from(truth.top.last().expect("a list").hits));
        assert!(number(&row["hits"]) <= hits && hits <= number(&row["hits_max"]), "{row}: {hits}");
    }
    let (listed, error_max) = (hits_of(&panel["rows"]), number(&panel["error_max"]));
    let last = rows.last().map(|row| number(&row["hits"])).expect("rows");
    assert!(error_max > 0);
    for ranked in &truth.top {
        let shown = listed.contains_key(&ranked.value);
        assert!(shown || u64::from(ranked.hits) <= last + error_max, "{} is missing", ranked.value);
    }
}

/// Log of `bytes`; its lines are made by `line`.
struct Made<F>(F, u64);

impl<F: FnMut(u64, &mut Vec<u8>)> GeneratedLines for Made<F> {
    fn line(&mut self, out: &mut Vec<u8>) {
        (self.0)(self.1, out);
        self.1 += 1;
    }
}

/// Runs `logs` with 96 MiB on 256 MiB of lines that `line` makes from their number.
fn hostile(flags: &[&str], line: impl FnMut(u64, &mut Vec<u8>) + Send + 'static) -> Value {
    hostile_to(0, flags, line)
}

fn hostile_to(code: i32, flags: &[&str], line: impl FnMut(u64, &mut Vec<u8>) + Send + 'static) -> Value {
    let feed = move |stdin: &mut ChildStdin| write_lines(&mut Made(line, 0), 256 * MIB, stdin).map(drop);
    let run = rorqual(&["logs", "--json", "--memory", "96MiB"]).args(flags);
    let ran = run.feed(feed).time_max(TIME_MAX).run().exits(code);
    ran.within(96 * MIB);
    ran.json()
}

/// The least memory that a refusal of these arguments names.
fn least_memory(args: &[&str]) -> String {
    advised(&rorqual(args).args(["--memory", "1MiB"]).run().exits(2).stderr)
}

/// Lines of 60 MiB, each with another field that is that long, in the memory that is named for
/// them.
fn long_values(format: &str, clients: u64, line: fn(u64, &str) -> String) {
    let flags = ["logs", "--json", "--line-max", "64MiB", "--threads", "1", "--format", format];
    let memory = least_memory(&flags);
    let folder = TestFolder::new();
    let path = folder.text("log");
    let mut file = File::create(&path).expect("a file");
    let long = "long\\u0041".repeat(6 * MIB as usize);
    (0..5).for_each(|number| file.write_all(line(number, &long).as_bytes()).expect("room"));
    let ran = rorqual(&flags).args(["--memory", &memory, &path]).run().exits(0);
    ran.within(rorqual_pipe::parse_size(&memory).expect("a size"));
    // A block and the line, the part read along of the next, the line with its escapes undone: but
    // not one copy for each field.
    ran.within(160 * MIB);
    let report = ran.json();
    assert_eq!((&report["lines"]["parsed"], &report["lines"]["repaired"]), (&5.into(), &(5 - clients).into()));
    let path = panel(&report, "path");
    assert_eq!((&path["hits"], path["rows"][0]["value"].as_str()), (&5.into(), Some("/short")));
    assert_eq!(panel(&report, "client")["hits"], clients);
}

#[test]
fn values_of_60_mib_in_every_field_of_a_line() {
    // A name of 60 MiB is no client.
    long_values("combined", 4, |number, long| {
        let value = |field: u64, short: &str| if number == field { long.to_owned() } else { short.to_owned() };
        let (client, user, path) = (value(0, "10.0.0.1"), value(1, "-"), value(2, "short"));
        let (referrer, agent) = (value(3, "http://example.com/"), value(4, "agent"));
        format!("{client} - {user} [{TIME}] \"GET /{path} HTTP/1.1\" 200 5 \"{referrer}\" \"{agent}\"\n")
    });
}

#[test]
fn values_of_60_mib_with_escapes_in_every_field_of_a_json_line() {
    long_values("json", 5, |number, long| {
        let value = |field: u64, short: &str| if number == field { long.to_owned() } else { short.to_owned() };
        let (client, user, path) = (value(0, "10.0.0.1"), value(1, "-"), value(2, "short"));
        let (referrer, agent) = (value(3, "http://example.com/"), value(4, "agent"));
        format!(
            "{{\"time_local\":\"{TIME}\",\"remote_addr\":\"{client}\",\"remote_user\":\"{user}\",\"request_method\":\"GET\",\"uri\":\"/{path}\",\
             \"status\":200,\"body_bytes_sent\":5,\"http_referer\":\"{referrer}\",\"http_user_agent\":\"{agent}\"}}\n"
        )
    });
}

fn push_combined(out: &mut Vec<u8>, client: &str, time: &str, path: &str, referrer: &str, agent: &str) {
    out.extend(format!("{client} - - [{time}] \"GET {path} HTTP/1.1\" 200 5 \"{referrer}\" \"{agent}\"\n").bytes());
}

const TIME: &str = "02/Jan/2025:00:00:00 +0000";

/// Columns that change with every sixth line, of names that are nowhere else: the state that
/// workers pass on to each other is no larger at the end of a long log than at its start.
#[test]
fn columns_that_change_all_along_a_log() {
    const MORE: usize = 200;
    let report = hostile(&["--threads", "2"], |number, out| {
        let names: String = (0..MORE).map(|at| format!(" x-{number}-{at}")).collect();
        let is_swapped = number % 2 == 1;
        let order = if is_swapped { "sc-status cs-method" } else { "cs-method sc-status" };
        let values = if is_swapped { "404 GET" } else { "GET 404" };
        out.extend(format!("#Fields: date time c-ip {order} cs-uri-stem{names}\n").bytes());
        let line = format!("2025-01-02 00:00:00 10.0.0.1 {values} /a{}\n", " -".repeat(MORE));
        (0..5).for_each(|_| out.extend(line.bytes()));
    });
    let lines = &report["lines"];
    let said = lines["blank"].as_u64().expect("a number");
    assert!(said > 40_000, "{said} times");
    assert_eq!((&lines["parsed"], &lines["rejected"]), (&(5 * said).into(), &0.into()));
    assert_eq!(hits_of(&panel(&report, "method")["rows"])["GET"], 5 * said);
    let status = &report["status"][0];
    assert_eq!((&status["value"], &status["hits"]), (&"404".into(), &(5 * said).into()));
}

#[test]
fn lines_of_one_byte_all_rejected_and_kept() {
    let folder = TestFolder::new();
    let rejects = folder.text("rejects");
    // Every line is rejected, and none touches the next: the most pieces that a block can have.
    let report = hostile_to(2, &["--format", "combined", "--force", "--rejects", &rejects], |_, out| out.extend(b"x\n\n"));
    let rejected = report["rejects"]["count"].as_u64().expect("a number");
    assert_eq!(std::fs::metadata(&rejects).expect("it was made").len(), 2 * rejected);
    assert_eq!(report["lines"]["blank"], rejected);
}

#[test]
fn lines_of_one_byte_in_a_format_that_takes_them() {
    let report = hostile(&["--format", "$remote_addr"], |number, out| out.extend([b'a' + (number % 26) as u8, b'\n']));
    assert_eq!(panel(&report, "client")["distinct"]["count"], 26);
}

#[test]
fn paths_of_100_kib_no_two_the_same() {
    let padding = "/long".repeat(20_000);
    let report = hostile(&[], move |number, out| push_combined(out, "10.0.0.1", TIME, &format!("/{number}{padding}"), "-", "a"));
    assert_eq!(report["lines"]["rejected"], 0);
    let row = panel(&report, "path")["rows"][0]["value"].as_str().expect("a value").to_owned();
    assert!(row.len() < 2_000, "a row of {} bytes", row.len());
}

#[test]
fn agents_and_referrers_no_two_the_same() {
    let report = hostile(&[], |number, out| {
        let agent = format!("Mozilla/5.0 (compatible; Some{number}Bot/{number}; +http://example.com/{number})");
        push_combined(out, &format!("host-{number}.example"), TIME, "/", &format!("http://site-{number}.example/"), &agent);
    });
    assert_eq!(panel(&report, "agent")["exact"], false);
    assert_eq!(panel(&report, "site")["exact"], false);
}

#[test]
fn times_from_all_centuries() {
    let report = hostile(&[], |number, out| {
        // A stride that is prime to everything: the year changes with every line.
        let n = number * 7_919;
        let time =
            format!("{:02}/Feb/{:04}:{:02}:{:02}:{:02} +0000", n % 28 + 1, n % 9_000 + 1_000, n % 24, n / 7 % 60, n / 11 % 60);
        push_combined(out, "10.0.0.1", &time, "/", "-", "a");
    });
    let hits: u64 = report["histogram"]["series"]
        .as_array()
        .expect("series")
        .iter()
        .flat_map(|series| series["hits"].as_array().expect("hits"))
        .filter_map(Value::as_u64)
        .sum();
    assert_eq!(report["lines"]["parsed"], hits, "every line is in some bucket");
}

#[test]
fn too_little_memory_is_refused_with_the_sum() {
    let cases: [(&[&str], &[&str]); 3] = [
        (
            &["count", "--memory", "8MiB", "--threads", "2"],
            &["8.00 MiB is too little", "program", "2 threads", "blocks", "decoder"],
        ),
        (
            &["logs", "--memory", "32MiB", "--threads", "2"],
            &["32.0 MiB is too little", "2 workers' dictionaries", "--line-max", "tables of distinct values"],
        ),
        (&["serve", "--port", "0", "--memory", "64MiB"], &["64.0 MiB is too little", "2 x rows", "program"]),
    ];
    for (args, parts) in cases {
        let ran = rorqual(args).run().exits(2);
        ran.says(parts).says(&["this needs at least", "bytes", "Give --memory"]);
        assert!(ran.stdout.is_empty());
    }
}

#[test]
fn a_refusal_advises_only_what_helps() {
    let folder = TestFolder::new();
    let file = folder.file("log", log(10));
    let logs = |flags: &[&str], code: i32| rorqual(&["logs"]).args(flags).arg(&file).run().exits(code).stderr.clone();
    let advice = |flags: &[&str]| logs(flags, 2).lines().last().expect("a line").trim().to_owned();
    let one = advised(&advice(&["--threads", "1", "--memory", "16MiB"]));
    let two = advised(&advice(&["--threads", "2", "--memory", "16MiB"]));
    assert_ne!(one, two);
    // Threads that nobody asked for have given way.
    assert_eq!(advice(&["--memory", "16MiB"]), format!("Give --memory {one}."));
    assert_eq!(advice(&["--memory", "16MiB", "--threads", "1"]), format!("Give --memory {one}."));
    assert_eq!(
        advice(&["--memory", "16MiB", "--threads", "2"]),
        format!("Give --memory {two}, or --threads 1 and --memory {one}.")
    );
    assert_eq!(advice(&["--memory", &one, "--threads", "2"]), format!("Give --memory {two}, or --threads 1."));
    logs(&["--memory", &one], 0);
    logs(&["--memory", &one, "--threads", "1"], 0);
    logs(&["--memory", &two, "--threads", "2"], 0);
    // Elsewhere too the number named is enough.
    let store = folder.text("store");
    let flags = ["store", "put", &file, "--store", &store, "--memory", "24MiB", "--threads"];
    let put = |threads: &str| rorqual(&flags).arg(threads).run();
    let refused = put("1000").exits(2).stderr.clone();
    let fewer = refused.split("or --threads ").nth(1).and_then(|rest| rest.trim().strip_suffix('.')).expect("a number");
    assert_eq!(put(fewer).code, Some(0));
}

#[test]
fn the_refusal_in_the_documents_is_what_is_said() {
    let page = include_str!("../../../../docs/memory.md");
    let refused = rorqual(&["logs", "--memory", "16MiB", "access.log"]).run().exits(2);
    let shown: String = refused.stderr.lines().map(|line| format!("    {line}\n")).collect();
    assert!(page.contains(&format!("    $ rorqual logs --memory 16MiB access.log\n{shown}")), "{shown}");
}

#[test]
fn more_memory_is_never_refused_where_less_is_not() {
    let folder = TestFolder::new();
    let file = folder.file("log", log(10));
    for (args, from, to, step) in [
        (&["count"][..], 10, 40, 1),
        (&["logs"], 40, 140, 1),
        (&["logs", "--threads", "4"], 80, 140, 1),
        (&["logs", "--line-max", "40MiB", "--threads", "1"], 440, 520, 4),
    ] {
        let accepted = |mib: u64| rorqual(args).args(["--memory", &format!("{mib}MiB"), &file]).run().code == Some(0);
        let answers: Vec<bool> = (from..=to).step_by(step).map(accepted).collect();
        assert!(answers.is_sorted() && !answers[0] && answers[answers.len() - 1], "{args:?}: {answers:?}");
    }
}

#[test]
fn the_least_memory_that_is_named_is_enough_and_kept() {
    let folder = TestFolder::new();
    let file = folder.file("log", log(100_000));
    for args in [&["count"][..], &["logs"], &["logs", "--line-max", "20MiB"], &["logs", "--threads", "5"]] {
        let advised = least_memory(args);
        let ran = rorqual(args).args(["--memory", &advised, &file]).run().exits(0);
        ran.within(rorqual_pipe::parse_size(&advised).expect("a size"));
    }
}
