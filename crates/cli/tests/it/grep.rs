//! `rorqual grep` beside GNU grep in the C locale; the answers of GNU grep with `-a` are right for
//! all input that fits its memory.

use crate::common::{GIB, MIB, PROGRAM, TestFolder, advised, eventually, rorqual};
use rorqual_testkit::paths::on_every_path;
use rorqual_testkit::process::{ProcessEnd, ProcessRun};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};

/// Output of GNU grep, and its exit code.
pub(crate) fn grep(args: &[&str], file: &str) -> (Vec<u8>, i32) {
    let out = Command::new("grep")
        .env("LC_ALL", "C")
        .args(if args.contains(&"-F") { &["-a"][..] } else { &["-a", "-E"] })
        .args(args)
        .arg(file)
        .output()
        .expect("grep is everywhere");
    (out.stdout, out.status.code().expect("an exit code"))
}

pub(crate) fn same(args: &[&str], settings: &[&str], file: &str) {
    let (expected, code) = grep(args, file);
    let ran = rorqual(&["grep"]).args(settings).args(args).arg(file).run();
    assert_eq!(ran.code, Some(code), "{args:?} {settings:?}: {}", ran.stderr);
    if ran.stdout != expected {
        let at = ran.stdout.iter().zip(&expected).take_while(|(ours, theirs)| ours == theirs).count();
        let near = |bytes: &[u8]| String::from_utf8_lossy(&bytes[at.saturating_sub(80)..bytes.len().min(at + 80)]).into_owned();
        panic!("{args:?} {settings:?}: differs at byte {at}:\n{:?}\n{:?}", near(&ran.stdout), near(&expected));
    }
}

/// Lines of all kinds: of NULs, of 0xff, with carriage returns, empty, some longer than a block,
/// the last without a newline.
fn awkward() -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in 0..30_000_u32 {
        match number % 1_500 {
            100 => bytes.extend([0; 700]),
            200 => bytes.extend(b"\xff\xfe ab\xc3\x28 foo \xe2\x82"),
            300 => bytes.extend(b"carriage foo\r"),
            400..=402 => {}
            500 => bytes.extend(b"x".repeat(300_000)),
            501 => bytes.extend([&b"y".repeat(400_000)[..], b" foo bar ", &[0; 400_000]].concat()),
            _ => bytes.extend(format!("line {number} {} foo{} GET /p{}.php HTTP", number % 97, number % 13, number % 7).bytes()),
        }
        bytes.push(b'\n');
    }
    bytes.extend(b"the last foo bar");
    bytes
}

#[test]
fn counts_are_the_same_on_every_path() {
    let bytes = awkward();
    let folder = TestFolder::new();
    let file = folder.file("awkward", &bytes);
    let settings: [&[&str]; 3] =
        [&["--threads", "1"], &["--threads", "3", "--line-max", "1"], &["--memory", "48MiB", "--line-max", "1MiB"]];
    for args in [&["-c", "foo bar"][..], &["-vc", "foo"], &["-c", "p[0-3]\\.php|^$|x$"], &["-wc", "foo"]] {
        let (expected, _) = grep(args, &file);
        on_every_path(PROGRAM, &[&["grep"], args].concat(), &settings, &bytes, |path, ran| {
            assert_eq!(String::from_utf8_lossy(&ran.exits(0).stdout), String::from_utf8_lossy(&expected), "{args:?} {path}");
        });
    }
}

#[test]
fn lines_are_the_same_with_every_flag() {
    let folder = TestFolder::new();
    let file = folder.file("awkward", awkward());
    let settings: [&[&str]; 3] =
        [&["--threads", "1"], &["--threads", "4", "--line-max", "1"], &["--threads", "2", "--line-max", "1MiB"]];
    for args in [
        &["foo7"][..],
        &["-n", "foo bar"],
        &["-nb", "-v", "foo"],
        &["-ob", "GET /p[0-4]"],
        &["-on", "(foo|bar)"],
        &["-nC2", "foo bar|9999"],
        &["-A3", "-B1", "-n", "299 "],
        &["-B400", "-n", "the last"],
        &["-A2", "-m", "3", "-n", "foo"],
        &["-vn", "-C1", "e"],
        &["-ix", "CARRIAGE FOO."],
        &["-wn", "foo|p3"],
        &["-H", "-c", "^$"],
        &["-l", "foo"],
        &["-L", "no such thing"],
        &["-F", "-e", "p3.php", "-e", "p[", "-n"],
        &["-q", "foo"],
        &["-m0", "foo"],
        &["-c", "no such thing"],
    ] {
        settings.iter().for_each(|settings| same(args, settings, &file));
    }
}

/// A small generator with a seed, so that a failure can be run again.
struct GrepRng(u64);

impl GrepRng {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len() as u64) as usize]
    }
}

#[test]
fn random_texts_and_patterns_give_the_same() {
    let folder = TestFolder::new();
    let mut random = GrepRng(20_261_121);
    for _ in 0..60 {
        let mut text = Vec::new();
        let pieces = [&b"a"[..], b"b", b"ab", b" ", b"\n", b"\n", b"\0", b"\x7f", b"\r", b"0", b"_"];
        for _ in 0..random.below(4_000) {
            text.extend(random.one(&pieces));
        }
        // Some are longer than a block, by repetition.
        let repeat = random.one(&[&1, &1, &200]);
        let file = folder.file("text", text.repeat(*repeat));
        let atoms = ["a", "b", "ab", "[ab]", "[^a]", ".", "0", " ", "_"];
        let mut pattern = String::from(random.one(&["", "^", ""]));
        for _ in 0..=random.below(3) {
            pattern += random.one(&atoms);
            pattern += random.one(&["", "", "*", "+", "?", "{2}"]);
        }
        pattern += random.one(&["", "", "$"]);
        let mut args: Vec<&str> = Vec::new();
        for flag in
            [&["-v"][..], &["-i"], &["-x"], &["-n"], &["-b"], &["-c"], &["-m", "3"], &["-A", "1"], &["-B", "2"], &["-C", "1"]]
        {
            if random.below(4) == 0 {
                args.extend(flag);
            }
        }
        args.extend(["-e", &pattern]);
        // GNU's -b of a context line before 3.8 is of the line; so is ours.
        for settings in [&["--threads", "1"][..], &["--threads", "3", "--line-max", "2"]] {
            same(&args, settings, &file);
        }
    }
}

#[test]
fn more_lines_than_fit_32_bits_are_numbered() {
    let newlines = [b'\n'; 64 << 10];
    for (count, flags, expected) in [((1_u64 << 32) + 1, "-n", "4294967298:x\n"), ((1 << 31) + 1, "-vc", "2147483649\n")] {
        let feed = move |stdin: &mut std::process::ChildStdin| {
            for _ in 0..count / newlines.len() as u64 {
                stdin.write_all(&newlines)?;
            }
            stdin.write_all(&newlines[..(count % newlines.len() as u64) as usize])?;
            stdin.write_all(b"x\n")
        };
        let ran = rorqual(&["grep", flags, "x"]).feed(feed).run().exits(0);
        assert_eq!(String::from_utf8_lossy(&ran.stdout), expected);
    }
}

/// A file with a hole of `hole` bytes in the middle of a line that ends in a match, and lines
/// around it.
fn with_hole(folder: &TestFolder, hole: u64) -> String {
    let path = folder.file("hole", b"first\nsecond\nhead");
    let file = File::options().write(true).open(&path).expect("it was just made");
    file.write_all_at(b" behind\nlast\n", 17 + hole).expect("room on the disk");
    path
}

#[test]
fn one_match_behind_twenty_gibibytes_in_one_line() {
    let folder = TestFolder::new();
    let file = with_hole(&folder, 20 * GIB);
    for (args, expected) in [
        (&["-c", "behind"][..], "1\n".to_owned()),
        (&["-c", r"\bbehind\b"], "1\n".to_owned()),
        (&["-nb", "last"], format!("4:{}:last\n", 17 + 20 * GIB + 8)),
        (&["-n", "-M", "4", "behind"], format!("3:head [… {} more bytes]\n", 20 * GIB + 7)),
        (&["-vc", "behind"], "3\n".to_owned()),
    ] {
        let ran = rorqual(&["grep", "--memory", "64MiB"]).args(args).arg(&file).run().exits(0);
        assert_eq!(String::from_utf8_lossy(&ran.stdout), expected, "{args:?}");
        assert!(ran.peak_bytes <= 64 * MIB, "{args:?}: {} bytes", ran.peak_bytes);
    }
}

#[test]
fn the_places_of_matches_in_a_line_of_a_gibibyte() {
    let folder = TestFolder::new();
    let file = with_hole(&folder, GIB);
    let ran = rorqual(&["grep", "--memory", "64MiB", "-nob", "head|behind|last", &file]).run().exits(0);
    let expected = format!("3:13:head\n3:{}:behind\n4:{}:last\n", 18 + GIB, 17 + GIB + 8);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), expected);
    assert!(ran.peak_bytes <= 64 * MIB, "{} bytes", ran.peak_bytes);
}

#[test]
fn a_long_line_of_a_pipe_is_searched_in_constant_memory() {
    let feed = |stdin: &mut std::process::ChildStdin| {
        let piece = vec![0; 1 << 20];
        stdin.write_all(b"first\nhead")?;
        (0..1_500).try_for_each(|_| stdin.write_all(&piece))?;
        stdin.write_all(b" behind\nlast behind\n")
    };
    let ran = rorqual(&["grep", "--memory", "64MiB", "-cw", "behind"]).feed(feed).run().exits(0);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "2\n");
    assert!(ran.peak_bytes <= 64 * MIB, "{} bytes", ran.peak_bytes);
}

#[test]
fn a_long_line_is_printed_whole_where_that_can_be() {
    let folder = TestFolder::new();
    let line = [b"start".as_slice(), &b"-".repeat(3 << 20), b"end"].concat();
    let file = folder.file("long", [b"one\n", &line[..], b"\nthree\n"].concat());
    for args in [&["end"][..], &["start"], &["-v", "^[ot]"], &["-A1", "-B1", "end"], &["-C1", "three"]] {
        settings_of_threads(|threads| same(args, threads, &file));
    }
    // A pipe has passed by before it is known that the line matches: that is said, and nothing is
    // made up.
    let stored = std::fs::read(&file).expect("it was just made");
    let ran = rorqual(&["grep", "end"]).stdin(stored.clone()).run().exits(2);
    assert!(ran.stdout.starts_with(b"start---") && ran.stdout.ends_with(b"more bytes]\n"));
    assert!(ran.stderr.contains("(standard input): the line at byte 4 is printed in part"), "{}", ran.stderr);
    // Matches alone need no second reading.
    let ran = rorqual(&["grep", "-ob", "end"]).stdin(stored.clone()).run().exits(0);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), format!("{}:end\n", 4 + 5 + (3 << 20)));
    // Where it is known in time, or the line fits, all of it is there.
    let whole = [&line[..], b"\n"].concat();
    assert!(rorqual(&["grep", "start"]).stdin(stored.clone()).run().exits(0).stdout == whole);
    assert!(rorqual(&["grep", "--line-max", "4MiB", "end"]).stdin(stored).run().exits(0).stdout == whole);
}

fn settings_of_threads(check: impl Fn(&[&str])) {
    check(&["--threads", "1"]);
    check(&["--threads", "3"]);
}

#[test]
fn folders_and_many_small_files_are_searched_in_order() {
    let folder = TestFolder::new();
    std::fs::create_dir(folder.at("sub")).expect("a folder");
    for number in 0..300 {
        folder.file(&format!("sub/{number:03}"), format!("a {number}\nb {number}\n"));
    }
    folder.file("sub/150-large", b"b large\n".repeat(100_000));
    folder.file("empty", b"");
    let mut expected = String::new();
    for number in 0..300 {
        expected += &format!("{}:2:b {number}\n", folder.text(&format!("sub/{number:03}")));
        if number == 150 {
            let large = folder.text("sub/150-large");
            (1..=100_000).for_each(|line| expected += &format!("{large}:{line}:b large\n"));
        }
    }
    settings_of_threads(|threads| {
        let ran = rorqual(&["grep", "-rn", "^b"]).args(threads).arg(folder.path()).run().exits(0);
        // Folders come as the system lists them; each file in order.
        let text = String::from_utf8_lossy(&ran.stdout);
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_by_key(|line| line.split(':').next());
        assert!(lines == expected.lines().collect::<Vec<_>>());
    });
    let ran = rorqual(&["grep", "-rl", "large"]).arg(folder.path()).run().exits(0);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), folder.text("sub/150-large") + "\n");
}

#[test]
fn what_goes_wrong_is_said_and_the_rest_is_done() {
    let folder = TestFolder::new();
    let file = folder.file("file", "foo\n");
    let missing = folder.text("missing");
    let ran = rorqual(&["grep", "foo", &missing, &file]).run().exits(2);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), format!("{file}:foo\n"));
    assert!(ran.stderr.contains("missing: cannot open: No such file or directory"), "{}", ran.stderr);
    let _ = rorqual(&["grep", "-q", "foo", &missing, &file]).run().exits(0);
    let ran = rorqual(&["grep", "foo"]).arg(folder.path()).run().exits(2);
    assert!(ran.stderr.contains("is a directory; -r searches the files in it"), "{}", ran.stderr);
    let ran = rorqual(&["grep", "a(b", &file]).run().exits(2);
    assert!(ran.stderr.contains(r#"the pattern "a(b" is not a regular expression: unclosed group"#), "{}", ran.stderr);
    let ran = rorqual(&["grep", r"\pL{500}{500}", &file]).run().exits(2);
    ran.says(&["the compiled pattern takes up to", "Give --memory"]);
    let ran = rorqual(&["grep"]).run().exits(2);
    assert!(ran.stderr.contains("a pattern is missing"), "{}", ran.stderr);
    let ran = rorqual(&["grep", "--memory", "20MiB", "foo", &file]).run().exits(2);
    assert!(ran.stderr.contains("--memory 20.0 MiB is too little"), "{}", ran.stderr);
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let folder = TestFolder::new();
    let file = folder.file("file", b"foo\n".repeat(1_000_000));
    let shell = format!("{PROGRAM} grep foo {file} | head -n 1; echo ${{PIPESTATUS[0]}}");
    let ran = ProcessRun::new("bash").args(["-c", &shell]).run().exits(0);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "foo\n0\n");
}

#[test]
fn a_full_disk_is_said() {
    let folder = TestFolder::new();
    let file = folder.file("file", b"foo\n".repeat(100_000));
    let full = || File::options().write(true).open("/dev/full").expect("a device of every Linux");
    for args in [&["grep", "foo"][..], &["grep", "-n", "foo"], &["grep", "-c", "foo"], &["grep", "--json", "foo"]] {
        let ended = Command::new(PROGRAM).args(args).arg(&file).stdout(Stdio::from(full())).output().expect("it runs");
        assert_eq!(ended.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8_lossy(&ended.stderr).contains("No space left on device"), "{args:?}");
    }
}

#[test]
fn only_a_terminal_is_spared_control_characters() {
    let folder = TestFolder::new();
    let file = folder.file("file", b"foo \x1b[31mred\tblue\xff\n");
    let piped = rorqual(&["grep", "foo", &file]).run().exits(0);
    assert_eq!(piped.stdout, b"foo \x1b[31mred\tblue\xff\n");
    let shell = format!("{PROGRAM} grep --color never foo {file}");
    let shown = ProcessRun::new("script").args(["-qec", &shell, "/dev/null"]).run().exits(0);
    assert_eq!(String::from_utf8_lossy(&shown.stdout), "foo \\u{1b}[31mred\tblue\\xff\r\n");
    let coloured = rorqual(&["grep", "--color", "always", "-n", "foo", &file]).run().exits(0);
    let text = String::from_utf8_lossy(&coloured.stdout).into_owned();
    assert!(text.contains("\u{1b}[1m\u{1b}[31mfoo\u{1b}[0m"), "{text:?}");
}

#[test]
fn json_has_the_events_of_ripgrep() {
    let folder = TestFolder::new();
    let file = folder.file("file", b"one foo\nfoo and foo\n\xff foo\nlast\n");
    let ran = rorqual(&["grep", "--json", "-A1", "foo", &file]).run().exits(0);
    let events: Vec<Value> = ran
        .stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).expect("JSON"))
        .collect();
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(kinds, ["begin", "match", "match", "match", "context", "end", "summary"]);
    let second = &events[2]["data"];
    assert_eq!((&second["line_number"], &second["absolute_offset"]), (&2.into(), &8.into()));
    assert_eq!(second["lines"]["text"], "foo and foo\n");
    assert_eq!(second["submatches"][1], serde_json::json!({"match": {"text": "foo"}, "start": 8, "end": 11}));
    assert_eq!(events[3]["data"]["lines"]["bytes"], "/yBmb28K");
    assert_eq!(events[5]["data"]["stats"]["matches"], 4);
    assert_eq!(events[6]["data"]["stats"]["matched_lines"], 3);
    assert_eq!(events[0]["data"]["path"]["text"], file.as_str());
}

/// Inputs and patterns that want much memory.
#[test]
fn memory_is_kept_whatever_is_looked_for() {
    let folder = TestFolder::new();
    let short = folder.file("short", b"a\nb\n".repeat(4 << 20));
    let wide = folder.file("wide", [b"a".repeat(500_000), b"\n".to_vec()].concat().repeat(60));
    let words: String = (0..20_000).map(|number| format!("word{}\n", number * 7_919 % 1_000_003)).collect();
    let words = folder.file("words", words);
    let cases: BTreeMap<&str, Vec<&str>> = BTreeMap::from([
        ("every other line", vec!["-n", "a", &short]),
        ("every match of wide lines", vec!["-o", "a", &wide]),
        ("every match as JSON", vec!["--json", "-m", "2", "a", &wide]),
        ("many words", vec!["-c", "-f", &words, &short]),
        ("many states", vec!["-c", r"(?i)[a-q][^u-z]{13}x", &wide]),
        ("letters", vec!["-c", r"\pL{6}\d", &wide]),
        ("lines before", vec!["-B", "1000000", "-n", "b", &short]),
    ]);
    for (what, args) in cases {
        let ran: ProcessEnd = rorqual(&["grep", "--memory", "96MiB"]).args(args).run();
        // Of lines that are not held whole, JSON says that something is missing.
        let code = if what == "every match as JSON" { matches!(ran.code, Some(2)) } else { matches!(ran.code, Some(0 | 1)) };
        assert!(code, "{what}: {:?} {}", ran.code, ran.stderr);
        assert!(ran.peak_bytes <= 96 * MIB, "{what}: {} bytes", ran.peak_bytes);
    }
}

#[test]
fn patterns_have_a_holder_too() {
    let folder = TestFolder::new();
    let file = folder.file("file", "word1x\nother\n");
    let words: String = (0..400_000).map(|number| format!("word{number}x\n")).collect();
    let words = folder.file("words", words);
    let rules: String = (0..100_000).map(|number| format!("w[a-z]+{number}(x|y)\n")).collect();
    let rules = folder.file("rules", rules);
    for (flags, list) in [(&["-c"][..], &words), (&["-ci"], &words), (&["-cF"], &words), (&["-c"], &rules)] {
        let ran = rorqual(&["grep", "--memory", "96MiB"]).args(flags).args(["-f", list, &file]).run().exits(2);
        assert!(ran.stderr.contains("--memory"), "{}", ran.stderr);
        assert!(ran.peak_bytes <= 96 * MIB, "{flags:?}: {} bytes", ran.peak_bytes);
    }
    // Lines before that there was no memory to keep are missing, and that is said.
    let wide = folder.file("wide", [[&b"x".repeat(250_000)[..], b"\n"].concat().repeat(100), b"hit\n".to_vec()].concat());
    let ran = rorqual(&["grep", "--memory", "48MiB", "-B90", "hit", &wide]).run().exits(2);
    assert!(ran.stderr.contains("lines before a selected one are missing"), "{}", ran.stderr);
    assert!(ran.stdout.ends_with(b"x\nhit\n") && ran.peak_bytes <= 48 * MIB, "{} bytes", ran.peak_bytes);
    // No pattern matches nothing, whatever the case.
    for flags in [&["-c"][..], &["-ci"], &["-cS"], &["-cF"]] {
        let ran = rorqual(&["grep"]).args(flags).args(["-f", "/dev/null", &file]).run().exits(1);
        assert_eq!(ran.stdout, b"0\n");
    }
    let ran = rorqual(&["grep", "--line-max", "18446744073709551615", "x", &file]).run().exits(2);
    assert!(ran.stderr.contains("--line-max"), "{}", ran.stderr);
}

/// By the sum of its terms, 128 MiB have room for 4 MiB of compiled pattern and few threads.
#[test]
fn a_pattern_larger_than_its_share_costs_threads_and_not_the_search() {
    let folder = TestFolder::new();
    let file = folder.file("file", format!("{}\nshort\n", "é".repeat(120)).repeat(2_000));
    let run = |pattern: &str, flags: &[&str]| {
        rorqual(&["grep", "-c", "--memory", "128MiB", "--stats"]).args(flags).args([pattern, &file]).run()
    };
    let ran = run(r"\w{100}", &[]).exits(0);
    assert_eq!(ran.text(), "2000\n");
    assert!(ran.peak_bytes <= 128 * MIB, "{} bytes", ran.peak_bytes);
    // Of threads that were asked for none is taken away.
    run(r"\w{100}", &["--threads", "8"]).exits(2).says(&["the compiled pattern takes up to", "Give --memory"]);
    let ran = run(r"\w{600}", &[]).exits(2);
    ran.says(&["the compiled pattern takes up to", "Give --memory"]);
    assert!(ran.peak_bytes <= 128 * MIB, "{} bytes", ran.peak_bytes);
}

#[test]
fn names_are_bytes_outside_of_a_terminal() {
    let folder = TestFolder::new();
    let name = std::ffi::OsStr::from_bytes(b"tab\tand\xff");
    std::fs::write(folder.path().join(name), "foo\n").expect("room on the disk");
    for (flags, rest) in [(&["-l"][..], &b"\n"[..]), (&["-c", "-H"], b":1\n"), (&["-H"], b":foo\n"), (&["-rnH"], b":1:foo\n")] {
        let path = folder.path().join(name);
        let ran = rorqual(&["grep", "foo"]).args(flags).arg(&path).run().exits(0);
        assert_eq!(ran.stdout, [path.as_os_str().as_bytes(), rest].concat());
    }
}

#[test]
fn what_was_not_searched_to_its_end_is_not_counted() {
    let mut child = Command::new(PROGRAM)
        .args(["grep", "-L", "foo", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(b"bar\n").expect("it reads");
    let caught = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
        (u64::from_str_radix(mask.trim(), 16).ok()? & 2 != 0).then_some(())
    };
    eventually("a handler for Ctrl-C", caught);
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is everywhere");
    assert!(kill.success());
    let ended = child.wait_with_output().expect("it is our child");
    drop(stdin);
    assert_eq!((ended.status.code(), ended.stdout), (Some(130), Vec::new()));
}

#[test]
fn matches_of_an_over_long_line_as_json() {
    let folder = TestFolder::new();
    let line = [&b"b".repeat(65_535)[..], b"a", &b"b".repeat(3 << 20), b"a"].concat();
    let file = folder.file("long", [&line[..], b"\n"].concat());
    let ran = rorqual(&["grep", "--json", "a$", &file]).run().exits(2);
    assert!(ran.stderr.contains(&format!("{file}: of the line at byte 0 the first 64 KiB are given")), "{}", ran.stderr);
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(events[1]["data"]["submatches"], serde_json::json!([]));
    assert_eq!(events[1]["data"]["missing_bytes"], (line.len() - (64 << 10)) as u64);
    assert_eq!(events[1]["data"]["missing_submatches"], 1);
    assert_eq!(events[3]["data"]["stats"]["matches"], 1);
}

#[test]
fn a_match_that_is_longer_than_what_is_held_is_one_match() {
    let folder = TestFolder::new();
    let line = [b"- ", &b"A".repeat(2_000_000)[..], b" AA\n"].concat();
    let file = folder.file("long", &line);
    // Of the first its beginning, with its place.
    let printed = format!("2:{}\n2000003:AA\n", "A".repeat(256 << 10));
    let says = |ran: &ProcessEnd, name: &str| {
        let said = format!("{name}: the line at byte 0 has a match that is longer than 256 KiB");
        assert!(
            ran.stderr.contains(&said) && ran.stderr.contains("--line-max") && !ran.stderr.contains("file itself"),
            "{}",
            ran.stderr
        );
        assert!(ran.stdout == printed.as_bytes(), "{} bytes", ran.stdout.len());
    };
    says(&rorqual(&["grep", "-ob", "A+", &file]).run().exits(2), &file);
    says(&rorqual(&["grep", "-obw", "A+"]).stdin(line.clone()).run().exits(2), "(standard input)");
    assert_eq!(rorqual(&["grep", "-oc", "A+", &file]).run().exits(0).text(), "1\n");
    let events = rorqual(&["grep", "--json", "A+", &file]).run().exits(2);
    let summary: Value = serde_json::from_str(events.text().lines().last().expect("a line")).expect("JSON");
    assert_eq!(summary["data"]["stats"]["matches"], 2);
    // With room for the line it is whole, and so it is where only empty texts match.
    same(&["-ob", "A+"], &["--line-max", "4MiB"], &file);
    same(&["-o", "B*"], &[], &file);
    same(&["-ov", "A+"], &[], &file);
}

#[test]
fn a_reader_that_leaves_at_an_over_long_last_line_is_no_error() {
    let folder = TestFolder::new();
    let file = folder.file("long", [&b"a".repeat(8 << 20)[..], b"end"].concat());
    let shell = format!("{PROGRAM} grep end {file} | head -c 1; echo ${{PIPESTATUS[0]}}");
    let ran = ProcessRun::new("bash").args(["-c", &shell]).run().exits(0);
    assert_eq!((String::from_utf8_lossy(&ran.stdout).as_ref(), ran.stderr.as_str()), ("a0\n", ""));
}

#[test]
fn what_a_refusal_advises_is_enough_for_lines_as_they_are_printed() {
    let folder = TestFolder::new();
    let file = folder.file("file", [vec![0; 12 << 20], b"needle\n".to_vec()].concat().repeat(3));
    for flags in [&["--json"][..], &["-n"], &["-o"], &["-C1"]] {
        let grep = |memory: &str| {
            rorqual(&["grep", "--line-max", "13MiB", "--threads", "1", "--memory", memory]).args(flags).args(["needle", &file])
        };
        let refused = grep("20MiB").run().exits(2).stderr;
        let advised = advised(&refused);
        let ran = grep(&advised).run().exits(0);
        let mebibytes: u64 = advised.trim_end_matches("MiB").parse().expect("a number");
        assert!(ran.peak_bytes <= mebibytes * MIB, "{flags:?}: {} bytes of {advised}", ran.peak_bytes);
    }
}
