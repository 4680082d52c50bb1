//! `rorqual grep -U`: matches over several lines. Expected values are worked out by hand; random
//! cases beside ripgrep are those of `tools/differential.py`.

use crate::common::{MIB, TestFolder, rorqual};
use rorqual_testkit::paths::gzip;
use serde_json::{Value, json};

/// Lines at 0, 4, 6, 8, 10, 12 and 14.
const TEXT: &str = "a b\nc\nd\na\nb\nc\nx\n";

/// Standard output and exit code of `grep -U` on `text`.
fn answer(args: &[&str], text: &str) -> (String, Option<i32>) {
    let folder = TestFolder::new();
    let file = folder.file("file", text);
    let ran = rorqual(&["grep", "-U"]).args(args).arg(&file).run();
    let from_pipe = rorqual(&["grep", "-U"]).args(args).stdin(text).run();
    let out = String::from_utf8_lossy(&ran.stdout).replace(&file, "(standard input)");
    assert_eq!((&*out, ran.code), (&*String::from_utf8_lossy(&from_pipe.stdout), from_pipe.code), "{args:?}: {}", ran.stderr);
    (out, ran.code)
}

fn prints(args: &[&str], text: &str, expected: &str) {
    assert_eq!(answer(args, text), (expected.to_owned(), Some(i32::from(expected.is_empty()))), "{args:?} of {text:?}");
}

#[test]
fn all_lines_that_a_match_touches_are_printed() {
    prints(&[r"b\nc"], TEXT, "a b\nc\nb\nc\n");
    prints(&["-n", r"a\nb|x"], TEXT, "4:a\n5:b\n7:x\n");
    prints(&["-nb", r"b\nc"], TEXT, "1:0:a b\n2:4:c\n5:10:b\n6:12:c\n");
    prints(&["-n", "--column", r"b\nc"], TEXT, "1:3:a b\n2:3:c\n5:1:b\n6:1:c\n");
    prints(&[r"z\n"], TEXT, "");
    // The last line may lack its end, and a mark of UTF-8 is in no line.
    prints(&["-n", r"b\nc"], "b\nc", "1:b\n2:c\n");
    prints(&["-nb", r"^b\nc$"], "\u{feff}b\nc\n", "1:3:b\n2:5:c\n");
    prints(&[r"\n"], "", "");
}

/// `^`, `$` and a dot stop at both bytes of such an end, which a pattern may name all the same.
#[test]
fn lines_of_windows_may_be_matched_over_their_ends() {
    let text = "a b\r\nc\r\nd\n";
    prints(&["--crlf", "-n", r"b$\s+^c$"], text, "1:a b\r\n2:c\r\n");
    prints(&["-n", r"b$\s+^c$"], text, "");
    prints(&["--crlf", "-n", r"b\r\nc"], text, "1:a b\r\n2:c\r\n");
    prints(&["--crlf", "-c", r"^c$\r?\n^d$"], text, "1\n");
    prints(&["--crlf", "b.\n"], text, "");
    prints(&["--crlf", "--multiline-dotall", "b..c"], text, "a b\r\nc\r\n");
}

/// Answers of ripgrep 15, but for `^`: after a line that it has found it takes the next one's start
/// for a text's. The text has the lines `a b`, `b c` and `d last b`, with newlines for the
/// first spaces.
#[test]
fn lines_that_end_with_nuls_may_be_matched_over_their_ends() {
    let text = "a\nb\0b\nc\0d\nlast b\0";
    prints(&["-z", "-n", r"b\x00b"], text, "1:a\nb\x002:b\nc\0");
    prints(&["-z", "-n", "^b"], text, "1:a\nb\0");
    prints(&["-z", "-n", "a$"], text, "1:a\nb\0");
    prints(&["-z", "-nv", "b."], text, "2:b\nc\0");
    prints(&["-z", "-c", "b."], text, "2\n");
    prints(&["-z", "-o", r"b\x00b"], text, "b\0b\0");
    prints(&["-z", "-ob", "[bc]"], text, "2:b\x004:b\x006:c\x0015:b\0");
    prints(&["-z", "-n", "--multiline-dotall", "b.b"], text, "1:a\nb\x002:b\nc\0");
    prints(&["-z", "(?s)c.d"], text, "b\nc\0d\nlast b\0");
    prints(&["-z", "-nA1", "c"], text, "2:b\nc\x003-d\nlast b\0");
    prints(&["-z", "-w", "last"], text, "d\nlast b\0");
    prints(&["-z", "-m1", "-n", "b"], text, "1:a\nb\0");
    prints(&["-z", "-x", "b"], text, "");
    prints(&["-z", "-x", "a"], text, "a\nb\0");
    let ran = rorqual(&["grep", "-Uz", "--json", r"c\x00d"]).stdin(text).run().exits(0);
    let found: Vec<Value> = ran.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(found[1]["data"]["lines"]["text"], "b\nc\0d\nlast b\0");
    let place = json!([{"match": {"text": "c\0d"}, "start": 2, "end": 5}]);
    assert_eq!((&found[1]["data"]["submatches"], &found[1]["data"]["line_number"]), (&place, &json!(2)));
    assert_eq!(found[2]["data"]["stats"]["matched_lines"], 2);
}

#[test]
fn a_dot_matches_a_newline_where_that_is_asked_for() {
    prints(&["a.b"], TEXT, "a b\n");
    prints(&["(?s)a.b"], TEXT, "a b\na\nb\n");
    prints(&["--multiline-dotall", "a.b"], TEXT, "a b\na\nb\n");
    prints(&["(?s)d.*c"], TEXT, "d\na\nb\nc\n");
    prints(&["-x", r"a\nb"], TEXT, "a\nb\n");
    prints(&["-w", r"b\nc"], "ab\nc\nb\nc\n", "b\nc\n");
    prints(&["-i", r"B\nC$"], "b\nc\nb\ncc\n", "b\nc\n");
    // A newline that was typed is a part of the pattern, and in a file ends it.
    prints(&["-F", "a\nb"], TEXT, "a\nb\n");
    prints(&["a\nb"], TEXT, "a\nb\n");
}

#[test]
fn matches_are_counted_and_stopped_after() {
    prints(&["-c", r"b\nc"], TEXT, "2\n");
    prints(&["-c", r"[abc]\n"], TEXT, "5\n");
    // A pattern that matches within lines alone: lines are counted.
    prints(&["-c", "[ab]"], TEXT, "3\n");
    prints(&["-c", "^"], TEXT, "7\n");
    prints(&["-c", "$"], "abc", "1\n");
    prints(&["-c", "$"], "abc\n\ndef\n", "3\n");
    prints(&["-m1", "-n", r"b\nc"], TEXT, "1:a b\n2:c\n");
    prints(&["-m1", "-nA1", r"b\nc"], TEXT, "1:a b\n2:c\n3-d\n");
    prints(&["-m1", "-c", r"b\nc"], TEXT, "1\n");
    // Two matches in a line are two, from a file and from a pipe.
    prints(&["-m1", "-c", r"ab|q\nq"], "x\nabab\nab\n", "2\n");
    prints(&["-m3", "-c", r"ab|q\nq"], "x\nabab\nab\nab\n", "3\n");
    prints(&["-vc", "-m2", r"ab|q\nq"], "x\nabab\ny\nz\n", "2\n");
    // The lines of the first match, with all matches that lie in them.
    prints(&["-m1", "-o", r"[abc]|\n"], TEXT, "a\nb\n");
    prints(&["-vn", r"a\nb"], TEXT, "1:a b\n2:c\n3:d\n6:c\n7:x\n");
    prints(&["-vc", r"a\nb"], TEXT, "5\n");
    prints(&["-vn", "-m2", r"a\nb"], TEXT, "1:a b\n2:c\n");
    assert_eq!(answer(&["-vo", r"a\nb"], TEXT), (String::new(), Some(0)));
}

#[test]
fn names_of_files_and_the_exit_code() {
    let folder = TestFolder::new();
    let (with, without) = (folder.file("with", TEXT), folder.file("without", "a b c\n"));
    for (flags, expected, code) in [
        (&["-l"][..], format!("{with}\n"), 0),
        (&["-L"], format!("{without}\n"), 0),
        (&["-q"], String::new(), 0),
        (&["-c"], format!("{with}:2\n{without}:0\n"), 0),
    ] {
        let ran = rorqual(&["grep", "-U", r"b\nc"]).args(flags).args([&with, &without]).run().exits(code);
        assert_eq!(ran.text(), expected, "{flags:?}");
    }
    let _ = rorqual(&["grep", "-U", "-q", r"b\nd", &with]).run().exits(1);
    // An empty match after the last newline is in no line.
    let _ = rorqual(&["grep", "-U", "-l", r"\z", &with]).run().exits(1);
}

#[test]
fn parts_of_matches_and_replaced_ones() {
    prints(&["-no", r"b\nc"], TEXT, "1:b\n2:c\n5:b\n6:c\n");
    // Place and column are those of the start of the match.
    prints(&["-nob", "--column", r"b\nc"], TEXT, "1:3:2:b\n2:3:2:c\n5:1:10:b\n6:1:10:c\n");
    prints(&["-o", r"b\n\n+c"], "b\n\n\nc\n", "b\nc\n");
    prints(&["--replace", "X", r"b\nc"], TEXT, "a X\nX\n");
    prints(&["-n", "--replace", "X", r"b\nc\n"], TEXT, "1:a X\n5:X\n");
    prints(&["-n", "--replace", "X\nY", r"b\nc"], TEXT, "1:a X\n2:Y\n5:X\n6:Y\n");
    prints(&["-no", "--replace", "<X\nY>", r"b\nc"], TEXT, "1:<X\n2:Y>\n5:<X\n6:Y>\n");
    prints(&["-nb", "--column", "--replace", "XX", r"b\nc"], TEXT, "1:3:0:a XX\n5:1:10:XX\n");
    prints(&["--replace", "$2-$1", r"(b)\n(c)"], TEXT, "a c-b\nc-b\n");
    prints(&["-M1", r"b\nc"], TEXT, "a [… 2 more bytes]\nc\nb\nc\n");
    prints(
        &["--color=always", "-n", r"b\nc"],
        "a b\nc\n",
        "\u{1b}[32m1\u{1b}[0m\u{1b}[36m:\u{1b}[0ma \u{1b}[1m\u{1b}[31mb\u{1b}[0m\n\
         \u{1b}[32m2\u{1b}[0m\u{1b}[36m:\u{1b}[0m\u{1b}[1m\u{1b}[31mc\u{1b}[0m\n",
    );
}

#[test]
fn lines_around() {
    let text = "1\n2\na\nb\n5\n6\n7\n8\na\nb\n";
    prints(&["-n", "-C1", r"a\nb"], text, "2-2\n3:a\n4:b\n5-5\n--\n8-8\n9:a\n10:b\n");
    prints(&["-n", "-A2", "-B2", r"a\nb"], text, "1-1\n2-2\n3:a\n4:b\n5-5\n6-6\n7-7\n8-8\n9:a\n10:b\n");
    prints(&["-n", "-A0", r"a\nb"], text, "3:a\n4:b\n--\n9:a\n10:b\n");
    prints(&["-vn", "-B1", r"2\na\nb\n|6\n7\n8\na\nb"], text, "1:1\n--\n4-b\n5:5\n");
}

#[test]
fn events() {
    let folder = TestFolder::new();
    let file = folder.file("file", TEXT);
    let ran = rorqual(&["grep", "-U", "--json", "-A1", r"[abc]\n", &file]).run().exits(0);
    let events: Vec<Value> = ran.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let path = json!({"text": file});
    let matched = |lines: &str, number: u64, offset: u64, found: &[(&str, usize)]| {
        let submatches: Vec<Value> = found
            .iter()
            .map(|(text, start)| json!({"match": {"text": text}, "start": start, "end": start + text.len()}))
            .collect();
        json!({"type": "match", "data": {"path": path, "lines": {"text": lines}, "line_number": number, "absolute_offset": offset, "submatches": submatches}})
    };
    assert_eq!(events[1], matched("a b\nc\n", 1, 0, &[("b\n", 2), ("c\n", 4)]));
    assert_eq!(events[2]["type"], "context");
    assert_eq!((&events[2]["data"]["lines"], &events[2]["data"]["submatches"]), (&json!({"text": "d\n"}), &json!([])));
    assert_eq!(events[3], matched("a\nb\nc\n", 4, 8, &[("a\n", 0), ("b\n", 2), ("c\n", 4)]));
    let stats = &events[5]["data"]["stats"];
    assert_eq!((&stats["matched_lines"], &stats["matches"]), (&json!(5), &json!(5)));
    // A text that is no UTF-8, in more than one piece.
    let bytes = [&b"\xff".repeat(29_999)[..], b"\n", b"a\n"].concat();
    let file = folder.file("bytes", &bytes);
    let ran = rorqual(&["grep", "-U", "--json", r"\na", &file]).run().exits(0);
    let event: Value = serde_json::from_str(ran.text().lines().nth(1).expect("a match")).expect("JSON");
    let text = event["data"]["lines"]["bytes"].as_str().expect("base64");
    // 29,999 bytes of ff are 9,999 groups and two bytes; with the newline a third.
    assert_eq!(text, "/".repeat(4 * 9_999) + "//8KYQo=");
    let wide = format!("é\n{}\nb\n", "é".repeat(40_000));
    let file = folder.file("wide", &wide);
    let ran = rorqual(&["grep", "-U", "--json", r"é\nb", &file]).run().exits(0);
    let event: Value = serde_json::from_str(ran.text().lines().nth(1).expect("a match")).expect("JSON");
    assert_eq!(event["data"]["lines"]["text"], wide[3..]);
    assert_eq!(event["data"]["submatches"], json!([{"match": {"text": "é\nb"}, "start": 79_998, "end": 80_002}]));
}

#[test]
fn compressed_and_utf_16_inputs_and_binary_ones() {
    let folder = TestFolder::new();
    let packed = folder.file("packed", gzip(TEXT.as_bytes()));
    assert_eq!(rorqual(&["grep", "-Un", r"b\nc", &packed]).run().exits(0).text(), "1:a b\n2:c\n5:b\n6:c\n");
    let wide: Vec<u8> = std::iter::once(0xfeff).chain(TEXT.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let wide = folder.file("wide", wide);
    assert_eq!(rorqual(&["grep", "-Un", r"d\na", &wide]).run().exits(0).text(), "3:d\n4:a\n");
    let binary = folder.file("binary", "a\0\nb\n");
    assert_eq!(rorqual(&["grep", "-Uc", r"\x00\nb", &binary]).run().exits(0).text(), "1\n");
    assert_eq!(rorqual(&["grep", "-UIc", r"\x00\nb", &binary]).run().exits(1).text(), "0\n");
    // What comes before the fault of a stream is searched.
    let cut = gzip(TEXT.repeat(2_000).as_bytes());
    let cut = folder.file("cut", &cut[..cut.len() - 9]);
    let ran = rorqual(&["grep", "-Uc", r"b\nc", &cut]).run().exits(2);
    assert!(ran.text().trim().parse::<u64>().is_ok_and(|count| count > 0), "{}", ran.text());
    ran.says(&[&cut]);
}

#[test]
fn a_text_that_half_of_the_memory_holds_is_searched_and_a_larger_one_is_refused() {
    let folder = TestFolder::new();
    let memory = 128 * MIB;
    let grep =
        |flags: &[&str], file: &str| rorqual(&["grep", "-U", "--memory", "128MiB", "--threads", "1"]).args(flags).arg(file).run();
    // Lines of 64 bytes, of which the last two are another.
    let line = format!("{}\n", "x".repeat(63));
    let lines = 64 * MIB as usize / line.len();
    let whole = format!("{}{}\n{}\n", line.repeat(lines - 2), "a".repeat(63), "b".repeat(63));
    assert_eq!(whole.len() as u64, memory / 2);
    let file = folder.file("whole", &whole);
    for (flags, expected) in [
        (&["-c", r"a\nb"][..], Some("1\n".to_owned())),
        (&["-c", r"x\n"], Some(format!("{}\n", lines - 2))),
        // Without a NUL all of it is one line.
        (&["-z", "-c", r"a\nb"], Some("1\n".to_owned())),
        (&["-z", "-n", "x$"], None),
        (&["-no", r"a\nb"], Some(format!("{}:a\n{}:b\n", lines - 1, lines))),
        // All of it is one block, and one line of JSON or of text.
        (&["--json", r"[xab]\n"], None),
        (&["-n", "--color=always", r"[xab]\n"], None),
        (&["--replace", "$0$0", r"x\n"], None),
        (&["-C3", r"a\nb"], None),
        (&["(?s)x.*b"], Some(whole.clone())),
    ] {
        let ran = grep(flags, &file).exits(0);
        assert!(expected.is_none_or(|expected| ran.stdout == expected.as_bytes()), "{flags:?}");
        assert!(ran.peak_bytes <= memory, "{flags:?}: {} bytes", ran.peak_bytes);
    }
    // One line of that length, and one match in every place of it.
    let one = folder.file("one", "x".repeat(64 << 20));
    for (flags, expected) in [(&["-c", r"x|\n"][..], Some(format!("{}\n", 64 << 20))), (&["-n", r"x{5}|\n"], None)] {
        let ran = grep(flags, &one).exits(0);
        assert!(expected.is_none_or(|expected| ran.stdout == expected.as_bytes()), "{flags:?}");
        assert!(ran.peak_bytes <= memory, "{flags:?}: {} bytes", ran.peak_bytes);
    }
    let larger = folder.file("larger", format!("{whole}y"));
    let packed = folder.file("packed", gzip(format!("{whole}y").as_bytes()));
    let far = folder.file("far", "");
    std::fs::File::options().write(true).open(&far).and_then(|file| file.set_len(20 << 30)).expect("a sparse file");
    for (file, has) in [(&larger, "has 64.0 MiB"), (&packed, "has more"), (&far, "has 20.0 GiB")] {
        let ran = grep(&["-c", r"a\nb"], file).exits(2);
        assert!(ran.stdout.is_empty(), "{}", ran.text());
        ran.says(&[file, has, "at most half of --memory, which is 64.0 MiB", "a larger --memory"]);
        assert!(ran.peak_bytes <= memory, "{file}: {} bytes", ran.peak_bytes);
    }
    // The others are searched all the same, and lines of a pattern that has no newline anyway.
    let ran = rorqual(&["grep", "-U", "--memory", "128MiB", "-h", r"a\nb", &far, &file]).run().exits(2);
    assert_eq!(ran.text(), format!("{}\n{}\n", "a".repeat(63), "b".repeat(63)));
    assert_eq!(grep(&["-c", "y"], &larger).exits(0).text(), "1\n");
}
