//! `rorqual count`'s words, characters, lists of names and totals, beside `wc`'s.

use crate::common::{MIB, PROGRAM, TestFolder, log, rorqual};
use rorqual_testkit::paths::{gzip, on_every_path};
use rorqual_testkit::process::{ProcessEnd, ProcessRun};
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// White space of every kind, characters of every length, and bytes of none; as `wc` (coreutils
/// 9.1, C.UTF-8) counts printable text.
const TEXT: &str = "one  two\tthree\u{b}four\u{c}five\rsix\n\n  é€😀 ß\nlast";

/// `wc` in `folder`, in a locale of UTF-8 or none.
fn wc(folder: &Path, locale: &str, args: &[&str]) -> ProcessEnd {
    let folder = folder.to_owned();
    let set = |command: &mut std::process::Command| {
        command.current_dir(folder).env("LC_ALL", locale);
    };
    ProcessRun::new("wc").with(set).args(args).run()
}

fn ours(folder: &Path, args: &[&str]) -> ProcessEnd {
    let folder = folder.to_owned();
    let set = |command: &mut std::process::Command| {
        command.current_dir(folder);
    };
    rorqual(&["count"]).with(set).args(args).run()
}

fn squeezed(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn words_and_characters_are_those_of_wc() {
    let folder = TestFolder::new();
    folder.file("text", TEXT);
    folder.file("log", log(5_000));
    folder.file("empty", "");
    folder.file("no utf-8", b"a\xff b \xe2\x82 \xf0\x9f\x98\x80\n");
    for flags in [&["-m"][..], &["-m", "-w", "-l"], &["-mc"], &["-wc"], &["-w"]] {
        for files in [&["text"][..], &["log"], &["empty"], &["text", "log", "empty"]] {
            let args = [flags, files].concat();
            let (ours, wc) = (ours(folder.path(), &args).exits(0), wc(folder.path(), "C.UTF-8", &args).exits(0));
            assert_eq!(squeezed(ours.text()), squeezed(wc.text()), "{args:?}");
        }
    }
    // Two of the four words have bytes that are no character: 'a', ' ', 'b', ' ', ' ', the face and
    // the newline are seven.
    assert_eq!(ours(folder.path(), &["-wm", "no utf-8"]).exits(0).text(), "4 7 no utf-8\n");
    assert_eq!(wc(folder.path(), "C.UTF-8", &["-m", "no utf-8"]).exits(0).text(), "7 no utf-8\n");
}

#[test]
fn words_and_characters_are_the_same_on_every_path() {
    // 35 bytes; a character and a word lie across each border of blocks.
    let bytes = format!("{}\n", "wörter €😀 und  mehr\u{b}".repeat(40_000)).into_bytes();
    let text = String::from_utf8(bytes.clone()).expect("UTF-8");
    let words = text.split([' ', '\u{b}', '\n']).filter(|word| !word.is_empty()).count();
    let settings: [&[&str]; 2] = [&["--threads", "1"], &["--threads", "4"]];
    on_every_path(PROGRAM, &["count", "-wm", "--json"], &settings, &bytes, |path, ran| {
        let total = ran.exits(0).json()["total"].clone();
        assert_eq!((&total["words"], &total["characters"]), (&json!(words), &json!(text.chars().count())), "{path}");
        assert_eq!(total["bytes"], bytes.len(), "{path}");
    });
}

/// UTF-16 with its mark, of which `U+0A0A` and `U+010A` have a byte that is a newline elsewhere.
#[test]
fn utf16_is_counted_as_the_text_that_it_is() {
    // Six newlines and seven words; the mark is no character of it.
    let text = "one two\r\n\u{a0a}\u{10a}three\n\n😀 é\n\u{a0d}\nlast\n";
    let characters = text.chars().count();
    for unit in [u16::to_le_bytes, u16::to_be_bytes] {
        let bytes: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(unit).collect();
        let expected = format!("6 7 {characters} {}", bytes.len());
        let folder = TestFolder::new();
        let file = folder.file("file", &bytes);
        // Numbers of a row are as wide as the widest.
        let row = |ran: &ProcessEnd| ran.text().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(row(&rorqual(&["count", "-lwmc", &file]).run().exits(0)), format!("{expected} {file}"));
        assert_eq!(row(&rorqual(&["count", "-lwmc"]).stdin(&bytes[..]).run().exits(0)), expected);
        assert_eq!(rorqual(&["grep", "-c", "", &file]).run().exits(0).text(), "6\n");
        assert_eq!(rorqual(&["count", "-c", &file]).run().exits(0).text(), format!("{} {file}\n", bytes.len()));
        // As UTF-8: the second line, of two characters of 3 and 2 bytes and `three`.
        let counted = rorqual(&["count", "--json", &file]).run().exits(0).json();
        assert_eq!(counted["files"][0], json!({"name": file, "lines": 6, "bytes": bytes.len(), "longest_bytes": 10}));
        // Far more than a block.
        let many = folder.file("many", [&bytes[..2], &bytes[2..].repeat(20_000)].concat());
        let ran = rorqual(&["count", "-lwm", &many]).run().exits(0);
        assert_eq!(ran.text(), format!("120000 140000 {} {many}\n", 20_000 * characters));
        // Within compressed data it is said.
        let packed = folder.file("file.gz", gzip(&bytes));
        rorqual(&["count", "-l", &packed]).run().exits(0).says(&["is compressed UTF-16", "decompressed before"]);
    }
    // Far above the memory.
    let (folder, memory) = (TestFolder::new(), 24 * MIB);
    let unit: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let large = folder.file("large", [&b"\xff\xfe"[..], &unit.repeat(1_000_000)].concat());
    let ran = rorqual(&["count", "-lw", "--memory", "24MiB", &large]).run().exits(0);
    assert_eq!(ran.text(), format!("6000000 7000000 {large}\n"));
    ran.within(memory);
    // A file that is damaged is no text, and that is said.
    let half = folder.file("half", b"\xff\xfea\0\n\0\0\xd8b\0");
    let ran = rorqual(&["count", "-lc", &half]).run().exits(2);
    ran.says(&["half"]);
}

#[test]
fn a_hole_is_one_word_of_nuls() {
    let folder = TestFolder::new();
    let path = folder.file("sparse", "ab ");
    let file = std::fs::File::options().append(true).open(&path).expect("it is there");
    file.set_len(3 + (64 << 20)).expect("a hole");
    (&file).write_all(b" c").expect("room");
    let total = rorqual(&["count", "-wm", "--json", &path]).run().exits(0).json()["total"].clone();
    assert_eq!(
        total,
        json!({"lines": 0, "words": 3, "characters": 5 + (64 << 20), "bytes": 5 + (64 << 20), "longest_bytes": 5 + (64 << 20)})
    );
}

#[test]
fn names_come_from_a_list() {
    let folder = TestFolder::new();
    folder.file("a", "1\n2\n");
    folder.file("b c", "3\n");
    folder.file("list", "a\0b c\0");
    folder.file("open", "a\0b c");
    folder.file("empty", "");
    for list in ["list", "open", "empty"] {
        for flags in [&["-l"][..], &["-lwc"]] {
            let flag = format!("--files0-from={list}");
            let args = [flags, &[&flag]].concat();
            let (ours, wc) = (ours(folder.path(), &args).exits(0), wc(folder.path(), "C", &args).exits(0));
            assert_eq!(squeezed(ours.text()), squeezed(wc.text()), "{args:?}");
        }
    }
    let piped = |list: &[u8], flags: &[&str]| {
        let here = folder.path().to_owned();
        let set = |command: &mut std::process::Command| {
            command.current_dir(here);
        };
        rorqual(&["count", "-l", "--files0-from=-"]).args(flags).with(set).stdin(list).run()
    };
    assert_eq!(piped(b"a\0a\0", &[]).exits(0).text(), "2 a\n2 a\n4 total\n");
    assert_eq!(piped(b"a\0a\0", &["--total=only"]).exits(0).text(), "4\n");
    let refused = piped(b"a\0\0-\0b c\0missing\0", &[]).exits(2);
    assert_eq!(refused.text(), "2 a\n1 b c\n3 total\n");
    refused.says(&["--files0-from -: name 2: is empty", "name 3: '-' is standard input", "missing: cannot open"]);
    piped(&[b'x'; 9_000], &[]).exits(2).says(&["name 1: longer than the 4096 bytes"]);
    let json = piped(b"a\0b c\0", &["--json"]).exits(0).json();
    assert_eq!((&json["files"][1]["name"], &json["total"]["lines"]), (&json!("b c"), &json!(3)));
    ours(folder.path(), &["--files0-from=list", "a"]).exits(2).says(&["cannot be used with"]);
    ours(folder.path(), &["--files0-from=missing"]).exits(2).says(&["--files0-from missing: cannot open: No such file"]);
}

#[test]
fn a_list_of_names_far_above_the_memory_is_not_held() {
    const NAMES: usize = 25_000;
    let folder = TestFolder::new();
    folder.file("a", "1\n2\n");
    // Nearly as long as a name may be: 95 MiB in all.
    let name = [&b"./".repeat(1_996)[..], b"a\0"].concat();
    let feed = move |stdin: &mut std::process::ChildStdin| (0..NAMES).try_for_each(|_| stdin.write_all(&name));
    let here = folder.path().to_owned();
    let set = move |command: &mut std::process::Command| {
        command.current_dir(here);
    };
    let count = ["count", "-l", "--files0-from=-", "--total=only", "--threads", "1", "--memory", "32MiB"];
    let ran = rorqual(&count).with(set).feed(feed).run().exits(0);
    assert_eq!(ran.text(), format!("{}\n", 2 * NAMES));
    ran.within(32 * MIB);
}

/// The documented behaviour of `wc --total` of coreutils 9.2 and later.
#[test]
fn the_total_is_printed_when_it_is_asked_for() {
    let folder = TestFolder::new();
    folder.file("a", "1\n2\n");
    folder.file("b", "3\n");
    for (when, files, printed) in [
        ("auto", &["a"][..], "2 a\n"),
        ("auto", &["a", "b"], "2 a\n1 b\n3 total\n"),
        ("always", &["a"], "2 a\n2 total\n"),
        ("never", &["a", "b"], "2 a\n1 b\n"),
        ("only", &["a", "b"], "3\n"),
        ("only", &["a"], "2\n"),
    ] {
        let args = [&["-l", "--total", when][..], files].concat();
        assert_eq!(ours(folder.path(), &args).exits(0).text(), printed, "{when} {files:?}");
    }
}
