//! Flags of `rorqual grep`, as they are typed by habit.

use crate::common::{MIB, TestFolder, rorqual};
use crate::grep::same;
use serde_json::Value;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Standard output of a run with exit code 0.
fn printed(args: &[&str]) -> String {
    rorqual(&["grep"]).args(args).run().exits(0).text().to_owned()
}

/// Standard error of a run that is refused with exit code 2.
fn refused(args: &[&str]) -> String {
    rorqual(&["grep"]).args(args).run().exits(2).stderr
}

#[test]
fn after_the_last_wanted_line_none_is_selected() {
    let folder = TestFolder::new();
    let wide = "x".repeat(600_000);
    let file = folder.file("wide", format!("x1\n{wide}\nx3\nno\nx5\n"));
    for settings in [&["--threads", "1"][..], &["--threads", "3", "--line-max", "1"]] {
        for args in
            [&["-m1", "-A2", "-n", "x"][..], &["-m1", "-C9", "-n", "x"], &["-m2", "-A1", "x"], &["-m1", "-A1", "-vn", "no"]]
        {
            same(args, settings, &file);
        }
    }
}

#[test]
fn groups_of_lines_are_told_apart_across_files() {
    let folder = TestFolder::new();
    let (one, two) = (folder.file("one", "a\nx\nb\nc\nx\n"), folder.file("two", "x\n"));
    for (flag, expected) in [("-A0", "x\n--\nx\n--\nx\n"), ("-A1", "x\nb\n--\nx\n--\nx\n"), ("-C2", "a\nx\nb\nc\nx\n--\nx\n")] {
        assert_eq!(printed(&["-h", flag, "x", &one, &two]), expected, "{flag}");
        assert_eq!(printed(&["-h", flag, "--threads", "1", "x", &one, &two]), expected, "{flag}");
    }
    assert_eq!(printed(&["-h", "x", &one, &two]), "x\nx\nx\n");
}

#[test]
fn each_pattern_is_sound_by_itself() {
    let folder = TestFolder::new();
    let file = folder.file("file", "a\nb\n) (\n");
    for pattern in ["a)|(b", ")(", "a)(?:b", "a\\"] {
        let said = refused(&[pattern, &file]);
        assert!(said.contains(&format!("the pattern {pattern:?} is not a regular expression")), "{said}");
    }
    assert_eq!(printed(&["-F", ")", &file]), ") (\n");
    // A comment of one pattern does not reach into the next.
    assert_eq!(printed(&["-e", "(?x)a #b", "-e", "(?x) b # c", &file]), "a\nb\n");
    let mut list: Vec<String> = (0..20_000).map(|number| format!("word{number}x?")).collect();
    list[16_806] = "word[".to_owned();
    let list = folder.file("list", list.join("\n"));
    let said = refused(&["-f", &list, &file]);
    assert!(said.contains(&format!("{list}: line 16807: the pattern \"word[\"")) && said.len() < 500, "{said}");
    let said = refused(&["-e", "a", "-f", &folder.file("words", "b\n\\p{Nothing}\n"), &file]);
    assert!(said.contains("words: line 2: the pattern \"\\\\p{Nothing}\""), "{said}");
}

#[test]
fn patterns_and_names_may_begin_with_a_hyphen() {
    let folder = TestFolder::new();
    let file = folder.file("file", "a-foo\nbar\n");
    folder.file("-x", "bar\n");
    assert_eq!(printed(&["-e", "-foo", &file]), "a-foo\n");
    assert_eq!(printed(&["-e-foo", &file]), "a-foo\n");
    assert_eq!(printed(&["--regexp", "-foo", &file]), "a-foo\n");
    let ran = rorqual(&["grep", "-f", "-x", "file"])
        .with(|run| {
            run.current_dir(folder.path());
        })
        .run()
        .exits(0);
    assert_eq!(ran.text(), "bar\n");
    assert_eq!(printed(&["--", "-foo", &file]), "a-foo\n");
}

#[test]
fn patterns_need_not_be_utf_8() {
    let folder = TestFolder::new();
    let file = folder.file("file", b"a\xffb\n\xc3\xa9\xff\na\nb\xff\xff\n");
    let list = folder.file("list", b"b\xff\n");
    let ran = |flags: &[&str], pattern: &[u8]| {
        rorqual(&["grep", "-n"]).args(flags).arg("-e").arg(OsStr::from_bytes(pattern)).arg(&file).run().exits(0).stdout
    };
    assert_eq!(ran(&["-F"], b"a\xff"), b"1:a\xffb\n");
    assert_eq!(ran(&[], b"^(a|b)\xff+[b\xc3\xa9]?$"), b"1:a\xffb\n4:b\xff\xff\n");
    assert_eq!(ran(&["-i"], b"\xc3\x89\xff"), b"2:\xc3\xa9\xff\n");
    assert_eq!(ran(&["-c", "--line-max", "1"], b"\xff"), b"3\n");
    assert_eq!(rorqual(&["grep", "-nf", &list, &file]).run().exits(0).stdout, b"4:b\xff\xff\n");
    let said = rorqual(&["grep"]).arg(OsStr::from_bytes(b"[a\xff]")).arg(&file).run().exits(2).stderr;
    assert!(said.contains("a byte that is not UTF-8 stands in a class"), "{said}");
}

#[test]
fn of_flags_that_exclude_each_other_the_last_wins() {
    let folder = TestFolder::new();
    let (one, two) = (folder.file("one", "a\nA\n"), folder.file("two", "b\n"));
    for (args, expected) in [
        (&["-i", "-S", "-c", "A"][..], "1\n".to_owned()),
        (&["-S", "-i", "-c", "A"], "2\n".to_owned()),
        (&["-i", "--no-ignore-case", "-c", "a"], "1\n".to_owned()),
        (&["-h", "-H", "-c", "a"], format!("{one}:1\n")),
        (&["-H", "-h", "-c", "a"], "1\n".to_owned()),
        (&["-L", "-l", "a"], format!("{one}\n")),
        (&["-c", "-l", "a"], format!("{one}\n")),
        (&["-m1", "-m2", "-ci", "a"], "2\n".to_owned()),
        (&["-A1", "-A0", "a"], "a\n".to_owned()),
        (&["--json", "-c", "a"], "1\n".to_owned()),
        (&["-C0", "-1", "a"], "a\nA\n".to_owned()),
        (&["-n", "-n", "a"], "1:a\n".to_owned()),
    ] {
        assert_eq!(printed(&[args, &[one.as_str()]].concat()), expected, "{args:?}");
    }
    let ran = rorqual(&["grep", "-l", "-L", "a", &one, &two]).run();
    assert_eq!(ran.text(), format!("{two}\n"));
}

#[test]
fn lines_around_by_a_number_alone() {
    let folder = TestFolder::new();
    let file = folder.file("file", "1\n2\n3\n4\n5\n6\n");
    assert_eq!(printed(&["-1", "4", &file]), "3\n4\n5\n");
    assert_eq!(printed(&["-n2", "4", &file]), "2-2\n3-3\n4:4\n5-5\n6-6\n");
    assert_eq!(printed(&["-10", "4", &file]), "1\n2\n3\n4\n5\n6\n");
    assert_eq!(printed(&["-e", "4", "-A", "1", &file]), "4\n5\n");
}

#[test]
fn lines_that_end_with_a_nul() {
    let folder = TestFolder::new();
    let wide = [b"w\n".repeat(300_000), b"end\0".to_vec()].concat();
    let file = folder.file("nul", [&b"a\nb\0c\0\0\nb\0"[..], &wide, b"last b"].concat());
    for args in [
        &["-z", "b"][..],
        &["-zc", "^b"],
        &["-zc", "b$"],
        &["-zx", "c"],
        &["-zx", "-F", "b"],
        &["-zn", "end"],
        &["-zob", "b|end"],
        &["-zv", "b"],
        &["-zA1", "c"],
        &["-zc", ""],
        &["-zc", "^$"],
        &["-zc", "a.b"],
        &["-zc", "[^c]b"],
        &["-zc", "-m2", "b"],
        &["-zlw", "last"],
        &["-zHn", "^c"],
    ] {
        for settings in [&["--threads", "1"][..], &["--threads", "3", "--line-max", "2"]] {
            same(args, settings, &file);
        }
    }
    // Each byte of a hole is a line.
    let hole = std::fs::File::create(folder.path().join("hole")).expect("room on the disk");
    hole.set_len(3 << 20).expect("a hole");
    assert_eq!(printed(&["-zc", "^$", &folder.text("hole")]), format!("{}\n", 3 << 20));
    let ran = rorqual(&["grep", "-z", "--memory", "64MiB", "--threads", "1", "-c", "end$"]).arg(&file).run().exits(0);
    assert_eq!(ran.text(), "1\n");
    assert!(ran.peak_bytes <= 64 * MIB, "{} bytes", ran.peak_bytes);
}

#[test]
fn a_carriage_return_may_belong_to_the_end_of_a_line() {
    let folder = TestFolder::new();
    let file = folder.file("file", format!("foo\r\nbar\nfoo bar\r\n{}foo\r\n", "x".repeat(400_000)));
    for (args, expected) in [(&["-c", "foo$"][..], "0\n"), (&["--crlf", "-c", "foo$"], "2\n"), (&["--crlf", "-cx", "foo"], "1\n")]
    {
        for line_max in ["1", "256KiB", "1MiB"] {
            let ran = rorqual(&["grep", "--line-max", line_max]).args(args).arg(&file).run();
            assert_eq!(ran.text(), expected, "{args:?} {line_max}");
        }
    }
    assert_eq!(printed(&["--crlf", "-o", "^foo.*$", "-m2", &file]), "foo\nfoo bar\n");
}

#[test]
fn columns_and_names_with_nuls() {
    let folder = TestFolder::new();
    let (one, two) = (folder.file("one", "xxab ab\nno\n"), folder.file("two", "ab\n"));
    assert_eq!(printed(&["--column", "ab", &one]), "1:3:xxab ab\n");
    assert_eq!(printed(&["--column", "-o", "ab", &one]), "1:3:ab\n1:6:ab\n");
    assert_eq!(printed(&["--column", "-b", "-A1", "ab", &one]), "1:3:0:xxab ab\n2-8-no\n");
    assert_eq!(printed(&["-Z", "ab", &one, &two]), format!("{one}\0xxab ab\n{two}\0ab\n"));
    assert_eq!(printed(&["-lZ", "ab", &one, &two]), format!("{one}\0{two}\0"));
    assert_eq!(printed(&["-c0", "ab", &one, &two]), format!("{one}\x001\n{two}\x001\n"));
}

#[test]
fn a_newline_in_a_name_forges_no_line() {
    let folder = TestFolder::new();
    let forged = folder.file("a\nb:1:hit", "hit\n");
    let shown = forged.replace('\n', "\\n");
    assert_eq!(printed(&["-Hn", "hit", &forged]), format!("{shown}:1:hit\n"));
    assert_eq!(printed(&["-l", "hit", &forged]), format!("{shown}\n"));
    assert_eq!(printed(&["-Hc", "hit", &forged]), format!("{shown}:1\n"));
    // A NUL tells where a name ends.
    assert_eq!(printed(&["-lZ", "hit", &forged]), format!("{forged}\0"));
}

#[test]
fn matches_are_replaced() {
    let folder = TestFolder::new();
    let file = folder.file("file", "key=value x\nno\nk=v, a=b\n");
    for (args, expected) in [
        (&["--replace", "$2:$1", r"(\w+)=(\w+)"][..], "value:key x\nv:k, b:a\n"),
        (&["--replace", "${b}$$", "-n", r"(?P<a>\w+)=(?P<b>\w+)"], "1:value$ x\n3:v$, b$\n"),
        (&["--replace", "<$0>", "-o", "="], "<=>\n<=>\n<=>\n"),
        (&["--replace", "", "-A1", "key="], "value x\nno\n"),
        (&["--replace", "-", "x*"], "-k-e-y-=-v-a-l-u-e- -\n-n-o-\n-k-=-v-,- -a-=-b-\n"),
        (&["--replace", "abcdef", "-M", "5", "key"], "abcde [… 9 more bytes]\n"),
    ] {
        assert_eq!(printed(&[args, &[file.as_str()]].concat()), expected, "{args:?}");
    }
    // The output of a line may be many times as long as the line.
    let wide = folder.file("wide", "a".repeat(200_000));
    let text = format!("{}$0", "b".repeat(2_000));
    let ran = rorqual(&["grep", "--memory", "64MiB", "--threads", "1", "--replace", &text, "a", &wide]).run().exits(0);
    assert_eq!(ran.stdout.len(), 200_000 * 2_001 + 1);
    assert!(ran.peak_bytes <= 64 * MIB, "{} bytes", ran.peak_bytes);
    let said = refused(&["--replace", "b", "--line-max", "1", "a", &folder.file("long", "a".repeat(600_000))]);
    assert!(said.contains("its matches are not replaced"), "{said}");
    // There is no place between a carriage return and the newline that it belongs to.
    let crlf = folder.file("crlf", "ab\r\n\r\n");
    assert_eq!(printed(&["--crlf", "--replace", "X", "$", &crlf]), "abX\r\nX\r\n");
}

#[test]
fn a_line_that_is_printed_without_its_column_is_told() {
    let folder = TestFolder::new();
    let long = folder.file("long", format!("{}foo", "a".repeat(600_000)));
    let ran = rorqual(&["grep", "--column", "foo", &long, "--line-max", "1"]).run().exits(2);
    assert!(ran.text().starts_with("1:aaa"), "{:?}", &ran.text()[..20]);
    ran.says(&["the line at byte 0", "is printed without its column (a larger --line-max holds more)"]);
    assert!(printed(&["--column", "foo", &long, "--line-max", "1MiB"]).starts_with("1:600001:aaa"));
    // A line around another has none anyway.
    let around = folder.file("around", format!("foo\n{}\n", "a".repeat(600_000)));
    assert!(printed(&["--column", "-A1", "foo", &around, "--line-max", "1"]).starts_with("1:1:foo\n2-aaa"));
}

#[test]
fn a_count_of_lines_is_read_as_gnu_grep_does() {
    let folder = TestFolder::new();
    let file = folder.file("file", "a\nb\na\n");
    for (count, expected) in [
        ("-1", "a\na\n"),
        ("-99999999999999999999999", "a\na\n"),
        ("99999999999999999999999", "a\na\n"),
        ("+1", "a\n"),
        ("01", "a\n"),
    ] {
        assert_eq!(printed(&["-m", count, "a", &file]), expected, "{count}");
        assert_eq!(printed(&[&format!("-m{count}"), "a", &file]), expected, "{count}");
    }
    for count in ["", "x", "1k", "-", "1.5", "0x1"] {
        assert!(refused(&["-m", count, "a", &file]).contains("not a whole number"), "{count}");
    }
    // With no line to select nothing is printed but the names of files without one.
    for count in ["0", "-0"] {
        for (flag, expected) in
            [("-L", format!("{file}\n{file}\n")), ("-l", String::new()), ("-c", String::new()), ("-q", String::new())]
        {
            let ran = rorqual(&["grep", flag, "-m", count, "a", &file, &file]).run().exits(1);
            assert_eq!(ran.text(), expected, "{flag} {count}");
        }
    }
    rorqual(&["grep", "-L", "-m0", "a", "missing"]).run().exits(2).says(&["missing"]);
}

#[test]
fn a_tab_stands_after_what_is_before_a_line() {
    let folder = TestFolder::new();
    folder.file("file", "a\nb\n\n");
    for (flags, expected) in [
        (&["-T", "a"][..], "a\n"),
        (&["-Tn", "a"], "1:\ta\n"),
        (&["-THnb", "b"], "file:2:2:\tb\n"),
        (&["-TH", "-Z", "a"], "file\0\ta\n"),
        (&["-TnA1", "a"], "1:\ta\n2-\tb\n"),
        (&["-Tno", "b"], "2:\tb\n"),
        // There is nothing that would be aligned.
        (&["-Tn", "^$"], "3:\n"),
        (&["-THc", "a"], "file:1\n"),
        (&["-THn", "--replace", "x", "a"], "file:1:\tx\n"),
    ] {
        let ran = rorqual(&["grep", "--initial-tab"]).args(flags).arg("file").with(|run| {
            run.current_dir(folder.path());
        });
        assert_eq!(ran.run().exits(0).text(), expected, "{flags:?}");
    }
}

#[test]
fn a_bare_colour_and_its_values() {
    let folder = TestFolder::new();
    let file = folder.file("file", "foo\n");
    assert_eq!(printed(&["--color", "foo", &file]), "foo\n");
    assert_eq!(printed(&["--colour", "foo", &file]), "foo\n");
    for always in [&["--color=always"][..], &["--color", "always"], &["--colour=always"]] {
        assert_eq!(printed(&[always, &["foo", &file]].concat()), "\u{1b}[1m\u{1b}[31mfoo\u{1b}[0m\n", "{always:?}");
    }
}

#[test]
fn what_is_not_here_is_said_with_the_way_on() {
    let said = refused(&["-P", "a(?=b)", "file"]);
    assert!(said.contains("leave -P out") && said.contains("look-around"), "{said}");
}

#[test]
fn events_have_the_bytes_of_names_that_are_no_text() {
    let folder = TestFolder::new();
    for (name, expected) in
        [(&b"new\nline"[..], serde_json::json!({"text": "new\nline"})), (b"a\xff", serde_json::json!({"bytes": "Yf8="}))]
    {
        std::fs::write(folder.path().join(OsStr::from_bytes(name)), "foo\n").expect("room on the disk");
        let ran = rorqual(&["grep", "--json", "foo"])
            .arg(OsStr::from_bytes(name))
            .with(|run| {
                run.current_dir(folder.path());
            })
            .run()
            .exits(0);
        let events: Vec<Value> = ran.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(events.len(), 4);
        assert!(events[..3].iter().all(|event| event["data"]["path"] == expected), "{events:?}");
    }
    // The message about a file is one line, for any name.
    let said = rorqual(&["grep", "foo", "no\nsuch: \x1b[31mfile"]).run().exits(2).stderr;
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(!said.contains('\u{1b}'), "{said}");
}
