//! `rorqual hash --check`, against `sha256sum --check` on the same lists: output and exit code.

use crate::common::{TestFolder, rorqual};
use crate::hash::at;
use rorqual_testkit::process::ProcessRun;
use std::process::Command;

const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const WRONG: &str = "0a7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn files() -> TestFolder {
    let folder = TestFolder::new();
    for name in ["a", "b c", "back\\slash", "new\nline", "tail ) x"] {
        folder.file(name, "abc");
    }
    folder
}

/// Lists that any line of may be proper, wrong or neither.
fn lists() -> Vec<String> {
    let upper = ABC.to_uppercase();
    let lines = [
        format!("{ABC}  a"),
        format!("{ABC} *a"),
        format!("{upper}  b c"),
        format!("SHA256 (a) = {ABC}"),
        format!("SHA256(a)= {ABC}"),
        format!("SHA256 (tail ) x) = {ABC}"),
        format!("\\{ABC}  new\\nline"),
        format!("\\SHA256 (new\\nline) = {ABC}"),
        format!("\\{ABC}  back\\\\slash"),
        format!("{ABC}  back\\slash"),
        format!("   \t{ABC}  a"),
        format!("{WRONG}  a"),
        format!("\\{WRONG}  new\\nline"),
        format!("{ABC}  missing"),
        format!("{ABC}  ."),
        format!("{ABC}  a\r"),
        format!("# {ABC}  a"),
        String::new(),
        // Improper ones.
        "nonsense".to_owned(),
        ABC.to_owned(),
        format!("{ABC}  "),
        format!("{}  a", &ABC[1..]),
        format!("0{ABC}  a"),
        format!("{}g  a", &ABC[1..]),
        format!("SHA256 (a) = {ABC} x"),
        format!("SHA256 (a = {ABC}"),
        format!("\\{ABC}  a\\x"),
        "MD5 (a) = 900150983cd24fb0d6963f7d28e17f72".to_owned(),
        "  ".to_owned(),
    ];
    let mut lists: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
    // Each beside a good line, all in one, one without its newline, one blank between, and nothing
    // at all.
    lists.extend(lines.iter().map(|line| format!("{line}\n{ABC}  a\n")));
    lists.push(lines.join("\n"));
    lists.push(format!("{ABC} a\n{ABC} b c\n{ABC}  a\n"));
    lists.push(format!("{ABC}  a\n{ABC} a\n"));
    lists.push(String::new());
    lists
}

/// The peer's messages are its own; how many of each kind it counts is not.
fn warnings(stderr: &str) -> Vec<String> {
    let about = |line: &&str| {
        line.contains("WARNING")
            || line.contains("no properly")
            || line.contains("no file was")
            || line.contains("improperly formatted")
    };
    let plain = |line: &str| line.split_once(": ").map_or(line, |(_, rest)| rest).replace("SHA256 ", "");
    stderr.lines().filter(about).map(plain).collect()
}

#[test]
fn answers_as_sha256sum_does() {
    let folder = files();
    let all_flags: [&[&str]; 6] = [
        &["--warn"],
        &["--quiet"],
        &["--status"],
        &["--strict"],
        &["--ignore-missing"],
        &["--ignore-missing", "--strict", "--warn"],
    ];
    let mixed = lists().iter().map(String::len).max().expect("lists");
    let mut turn = 0;
    for list in lists() {
        folder.file("list", &list);
        // Every flag on the list that has everything, and one of them in turn on the others.
        turn += 1;
        let flags = if list.len() == mixed { &all_flags[..] } else { &all_flags[turn % 6..=turn % 6] };
        for flags in flags.iter().chain([&&[][..]]).copied() {
            let peer = at(folder.path(), ProcessRun::new("sha256sum").arg("--check").args(flags).arg("list"));
            let ours = at(folder.path(), rorqual(&["hash", "--check", "-a", "sha256", "--threads", "2"]).args(flags).arg("list"));
            let shown = format!("{flags:?}, {list:?}\n{}\n{}", peer.stderr, ours.stderr);
            assert_eq!(String::from_utf8_lossy(&ours.stdout), String::from_utf8_lossy(&peer.stdout), "{shown}");
            assert_eq!(ours.code, peer.code, "{shown}");
            assert_eq!(warnings(&ours.stderr), warnings(&peer.stderr), "{shown}");
        }
    }
}

#[test]
fn several_lists_standard_input_and_one_that_is_missing() {
    let folder = files();
    let good = format!("{ABC}  a\n");
    folder.file("good", &good);
    folder.file("bad", format!("{WRONG}  a\n"));
    for lists in [&["good", "good"][..], &["good", "bad"], &["bad", "good"], &["missing", "good"], &["."], &["-", "good"]] {
        let peer = at(folder.path(), ProcessRun::new("sha256sum").arg("--check").args(lists).stdin(good.clone()));
        let ours = at(folder.path(), rorqual(&["hash", "--check"]).args(lists).stdin(good.clone()));
        assert_eq!((ours.text(), ours.code), (peer.text(), peer.code), "{lists:?}: {}", ours.stderr);
    }
    let ran = at(folder.path(), rorqual(&["hash", "--check"]).stdin(format!("{ABC}  -\n"))).exits(1);
    ran.says(&["standard input: no properly formatted"]);
}

#[test]
fn the_algorithm_follows_from_the_tag_or_the_length() {
    let folder = files();
    let mut list = String::new();
    for algorithm in ["sha256", "sha512", "sha1", "md5"] {
        list += at(folder.path(), rorqual(&["hash", "-a", algorithm, "a"])).exits(0).text();
        list += at(folder.path(), rorqual(&["hash", "-a", algorithm, "--encoding", "base64", "a"])).exits(0).text();
    }
    for algorithm in ["sha256", "sha512", "sha1", "md5", "blake3"] {
        list += at(folder.path(), rorqual(&["hash", "-a", algorithm, "--tag", "a"])).exits(0).text();
    }
    list += at(folder.path(), rorqual(&["hash", "--encoding", "base32", "a"])).exits(0).text();
    folder.file("list", &list);
    let ran = at(folder.path(), rorqual(&["hash", "--check", "list"])).exits(0);
    assert_eq!(ran.text(), "a: OK\n".repeat(14), "{list}");
    // An algorithm that was asked for makes others improper.
    let ran = at(folder.path(), rorqual(&["hash", "--check", "-a", "blake3", "list"])).exits(1);
    ran.says(&["WARNING: 10 lines are improperly formatted", "WARNING: 3 computed checksums did NOT match"]);
}

#[test]
fn a_list_is_of_any_algorithm_with_digests_of_that_length() {
    let folder = files();
    for algorithm in ["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake3", "sha512-256", "blake2b"] {
        let list = at(folder.path(), rorqual(&["hash", "-a", algorithm, "a"])).exits(0).text().to_owned();
        folder.file("list", &list);
        let ran = at(folder.path(), rorqual(&["hash", "--check", "list"])).exits(0);
        assert_eq!((ran.text(), ran.stderr.as_str()), ("a: OK\n", ""), "{algorithm}");
        let json = at(folder.path(), rorqual(&["hash", "--check", "--json", "list"])).exits(0).json();
        assert_eq!(json["checks"][0]["algorithm"], algorithm);
        let digits = list.find(' ').expect("a name follows");
        folder.file("list", format!("{}{}", "0".repeat(digits), &list[digits..]));
        let ran = at(folder.path(), rorqual(&["hash", "--check", "list"])).exits(1);
        assert_eq!(ran.text(), "a: FAILED\n", "{algorithm}");
    }
    // GNU coreutils' own lists, and both kinds in one.
    for length in ["128", "160", "224", "256", "384", "512"] {
        let made = Command::new("b2sum").args(["-l", length, "a"]).current_dir(folder.path()).output().expect("b2sum is there");
        let sha512 = at(folder.path(), rorqual(&["hash", "-a", "sha512", "a"])).exits(0).text().to_owned();
        folder.file("list", String::from_utf8(made.stdout).expect("text") + &sha512);
        assert_eq!(at(folder.path(), rorqual(&["hash", "--check", "list"])).exits(0).text(), "a: OK\na: OK\n", "{length}");
    }
}

#[test]
fn a_stream_is_read_once_and_that_is_said() {
    let folder = TestFolder::new();
    folder.file("list", format!("{}  -\n", "0".repeat(128)));
    let ran = at(folder.path(), rorqual(&["hash", "--check", "list"]).stdin("abc")).exits(1);
    assert_eq!(ran.text(), "-: FAILED\n");
    ran.says(&["digests that long: give --algorithm if the list is of another"]);
}

#[test]
fn json_of_a_check() {
    let folder = files();
    folder.file("list", format!("{ABC}  a\n{WRONG}  a\n{ABC}  missing\nnonsense\n"));
    let ran = at(folder.path(), rorqual(&["hash", "--check", "--json", "list"])).exits(1).json();
    let statuses: Vec<&str> =
        ran["checks"].as_array().expect("checks").iter().filter_map(|check| check["status"].as_str()).collect();
    assert_eq!(statuses, ["ok", "failed", "unreadable", "improper"]);
    let counts = ["ok", "failed", "unreadable", "missing", "improper"].map(|name| ran[name].as_u64().expect("a count"));
    assert_eq!((ran["schema"].as_str(), counts), (Some("rorqual.hash/1"), [1, 1, 1, 0, 1]));
    assert_eq!(
        ran["checks"][1],
        serde_json::json!({"list": "list", "line": 2, "name": "a", "algorithm": "sha256", "status": "failed"})
    );
    folder.file("empty", "");
    let ran = at(folder.path(), rorqual(&["hash", "--check", "--json", "empty"])).exits(1).json();
    assert_eq!(ran["checks"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_line_without_end_is_improper_and_takes_no_memory() {
    let folder = files();
    let zeros = vec![b'0'; 1 << 20];
    let feed = move |stdin: &mut std::process::ChildStdin| {
        use std::io::Write;
        (0..512).try_for_each(|_| stdin.write_all(&zeros))?;
        writeln!(stdin, "\n{ABC}  a")
    };
    let ran = at(folder.path(), rorqual(&["hash", "--check", "--warn"]).feed(feed)).exits(0);
    ran.within(crate::hash::HASH);
    assert_eq!(ran.text(), "a: OK\n");
    ran.says(&["standard input: 1: improperly formatted", "WARNING: 1 line is improperly formatted"]);
}

#[test]
fn a_long_list_keeps_its_order() {
    let folder = files();
    let mut list = String::new();
    let mut expected = String::new();
    for number in 0..2_000 {
        let (digest, name, text) = match number % 3 {
            0 => (ABC, "a".to_owned(), "OK"),
            1 => (WRONG, "b c".to_owned(), "FAILED"),
            _ => (ABC, format!("missing {number}"), "FAILED open or read"),
        };
        list += &format!("{digest}  {name}\n");
        expected += &format!("{name}: {text}\n");
    }
    folder.file("list", &list);
    let ran = at(folder.path(), rorqual(&["hash", "--check", "--threads", "4", "list"])).exits(1);
    assert_eq!(ran.text(), expected);
}

#[test]
fn lists_whose_entries_end_with_nuls() {
    let folder = files();
    let sums =
        |flags: &[&str], names: &[&str]| at(folder.path(), ProcessRun::new("sha256sum").args(flags).args(names)).exits(0).stdout;
    // A name is as it is: the backslash begins nothing, and a newline ends nothing.
    for names in [&["a", "back\\slash", "new\nline"][..], &["new\nline", "b c"]] {
        for flags in [&["-z"][..], &["-z", "--tag"]] {
            folder.file("list", sums(flags, names));
            let expected: String = names
                .iter()
                .map(|name| if name.contains('\n') { "\\new\\nline: OK\n".into() } else { format!("{name}: OK\n") })
                .collect();
            let ran = at(folder.path(), rorqual(&["hash", "--check", "-z", "list"])).exits(0);
            assert_eq!(ran.text(), expected, "{flags:?} {names:?}");
        }
    }
    // A first entry that ends so tells it.
    folder.file("list", sums(&["-z"], &["back\\slash", "new\nline"]));
    assert_eq!(at(folder.path(), rorqual(&["hash", "--check", "list"])).exits(0).text(), "back\\slash: OK\n\\new\\nline: OK\n");
    folder.file("list", format!("{WRONG}  a\0{ABC}  back\\\\slash\0\\{ABC}  a\0"));
    let ran = at(folder.path(), rorqual(&["hash", "--check", "list"])).exits(1);
    assert_eq!(ran.text(), "a: FAILED\nback\\\\slash: FAILED open or read\n");
    ran.says(&["1 line is improperly formatted", "1 computed checksum did NOT match"]);
}
