//! Inputs of `rorqual grep`: which are read, and the offset at which a shared one is left.

use crate::common::{MIB, PROGRAM, TestFolder, rorqual};
use rorqual_testkit::paths::gzip;
use rorqual_testkit::process::ProcessRun;
use std::os::unix::fs::symlink;

/// Standard output of a shell script, with the program in place of `GREP`.
fn shell(folder: &TestFolder, script: &str) -> String {
    ProcessRun::new("bash")
        .args(["-c", &script.replace("GREP", &format!("{PROGRAM} grep"))])
        .with(|run| {
            run.current_dir(folder.path());
        })
        .run()
        .exits(0)
        .text()
        .to_owned()
}

#[test]
fn standard_input_is_left_after_the_last_selected_line() {
    let folder = TestFolder::new();
    folder.file("small", "1\nx2\n3\nx4\n5\n");
    let wide = format!("1\nx2\n3\n{}\n5\n", "x".repeat(900_000));
    folder.file("wide", &wide);
    for threads in ["1", "3"] {
        for (script, expected) in [
            ("(GREP -m1 x; echo -; cat) < small", "x2\n-\n3\nx4\n5\n"),
            ("(GREP -m1 -A1 x; echo -; cat) < small", "x2\n3\n-\n3\nx4\n5\n"),
            ("(GREP -c -m2 x; echo -; cat) < small", "2\n-\n5\n"),
            ("(GREP -m2 x; echo -; cat) < small", "x2\nx4\n-\n5\n"),
            ("(GREP -m9 x; echo -; cat) < small", "x2\nx4\n-\n"),
            ("(GREP x; echo -; cat) < small", "x2\nx4\n-\n"),
            ("(GREP -m1 nothing; echo -; cat) < small", "-\n"),
            ("(read line; GREP -m1 x; GREP -nm1 x; cat) < small", "x2\n2:x4\n5\n"),
            ("(GREP -c -m2 x; echo -; cat) < wide", "2\n-\n5\n"),
        ] {
            assert_eq!(shell(&folder, &script.replace("GREP", &format!("GREP --threads {threads}"))), expected, "{script}");
        }
        // Of a file that is named, nothing is moved.
        assert_eq!(shell(&folder, "(GREP -m1 x small; read line; echo $line) < wide"), "x2\n1\n");
    }
}

/// Places in compressed data or UTF-16 say nothing to who reads on: such a file is left at its end.
#[test]
fn encoded_standard_input_is_left_at_its_end() {
    let folder = TestFolder::new();
    folder.file("utf16", "\u{feff}1\nx2\n3\nx4\n".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>());
    folder.file("packed", gzip(b"1\nx2\n3\nx4\n"));
    for file in ["utf16", "packed"] {
        assert_eq!(shell(&folder, &format!("(GREP -m1 x; echo -; cat) < {file}")), "x2\n-\n", "{file}");
    }
}

#[test]
fn the_file_that_is_printed_to_is_not_searched() {
    let folder = TestFolder::new();
    folder.file("other", "x other\n");
    for script in ["GREP x f >> f", "GREP x < f >> f", "GREP -rh --exclude other x . >> f", "GREP --json x f 1<> f"] {
        folder.file("f", "x\ny\n");
        let ran = ProcessRun::new("bash")
            .args(["-c", &script.replace("GREP", &format!("{PROGRAM} grep"))])
            .with(|run| {
                run.current_dir(folder.path());
            })
            .run();
        assert_eq!(ran.code, Some(2), "{script}");
        assert!(ran.stderr.contains("is also the output"), "{script}: {}", ran.stderr);
        if !script.contains("json") {
            assert_eq!(std::fs::read_to_string(folder.path().join("f")).expect("it is there"), "x\ny\n", "{script}");
        }
    }
    folder.file("f", "x\ny\n");
    assert_eq!(shell(&folder, "GREP -c x f >> f; GREP -q x f >> f; cat f"), "x\ny\n1\n");
}

#[test]
fn files_of_the_kernel_are_streams() {
    // The size of the first two is said to be 4096, of the third 0. The second can't be read at
    // that size's end, and is not everywhere.
    let masks = "/sys/devices/system/cpu/cpu0/topology/core_cpus";
    let files = ["/sys/class/net/lo/mtu", masks, "/proc/self/status"];
    for file in files.into_iter().filter(|file| *file != masks || std::path::Path::new(masks).exists()) {
        let expected = std::fs::read_to_string(file).expect("it is there");
        let first = expected.lines().next().expect("a line").split(':').next().expect("a word").to_owned();
        let ran = rorqual(&["grep", "-c", &first, file]).run().exits(0);
        assert_eq!((ran.text(), ran.stderr.as_str()), ("1\n", ""), "{file}");
    }
}

fn tree() -> TestFolder {
    let folder = TestFolder::new();
    for at in ["src/deep", "target", ".git"] {
        std::fs::create_dir_all(folder.path().join(at)).expect("a folder");
    }
    for name in ["src/b.c", "src/a.c", "src/a.h", "src/deep/c.c", "target/t.c", ".hidden.c", "top.c"] {
        folder.file(name, "x\n");
    }
    folder.file(".gitignore", "target/\n*.h\n");
    folder
}

/// Git lists nothing of its own folder, nor the file that stands for it in a work tree.
#[test]
fn what_git_keeps_for_itself_is_no_file_of_a_folder() {
    let folder = tree();
    folder.file(".git/config", "x\n");
    folder.file("src/.git", "x\n");
    let found = |flags: &[&str]| {
        let ran = rorqual(&["grep", "-rl", "--sort", "path", "x"]).args(flags).arg(folder.path()).run().exits(0);
        ran.text().lines().filter(|name| name.contains(".git")).count()
    };
    assert_eq!((found(&[]), found(&["--gitignore"])), (2, 0));
}

#[test]
fn files_are_chosen_by_name_and_by_glob() {
    let folder = tree();
    let all = ".hidden.c src/a.c src/a.h src/b.c src/deep/c.c target/t.c top.c";
    for (args, expected) in [
        (&[][..], all),
        (&["--include", "*.c"], ".hidden.c src/a.c src/b.c src/deep/c.c target/t.c top.c"),
        (&["--include=*.c", "--exclude=a.*"], ".hidden.c src/b.c src/deep/c.c target/t.c top.c"),
        (&["--exclude=a.*", "--include=*.h"], ".hidden.c src/a.h src/b.c src/deep/c.c target/t.c top.c"),
        (&["--exclude-dir", "deep", "--exclude-dir=target/"], ".hidden.c src/a.c src/a.h src/b.c top.c"),
        (&["-g", "src/*.c"], "src/a.c src/b.c"),
        (&["-g", "*.c", "-g", "!target", "-g", "!.*"], "src/a.c src/b.c src/deep/c.c top.c"),
        (&["--gitignore"], ".hidden.c src/a.c src/b.c src/deep/c.c top.c"),
        (&["--max-depth", "1"], ".hidden.c top.c"),
        (&["--max-depth", "2", "--exclude-dir=target"], ".hidden.c src/a.c src/a.h src/b.c top.c"),
    ] {
        let ran = rorqual(&["grep", "-rl", "--sort", "path", "x"])
            .args(args)
            .with(|run| {
                run.current_dir(folder.path());
            })
            .run()
            .exits(0);
        assert_eq!(ran.text().split_whitespace().collect::<Vec<_>>().join(" "), expected, "{args:?}");
    }
    // As grep: the names of operands count too, each end of them that begins with a name.
    for (args, expected) in [
        (&["--exclude=a.c", "src/a.c", "src/b.c"][..], "src/b.c"),
        (&["--exclude=src/a.c", "./src/a.c", "src/b.c"], "src/b.c"),
        (&["--include=*.h", "src/a.c", "src/a.h"], "src/a.h"),
        (&["-r", "--exclude-dir=src", "src", "target"], "target/t.c"),
    ] {
        let ran = rorqual(&["grep", "-l", "x"])
            .args(args)
            .with(|run| {
                run.current_dir(folder.path());
            })
            .run()
            .exits(0);
        assert_eq!(ran.text().trim_end(), expected, "{args:?}");
    }
    let ran = rorqual(&["grep", "-r", "--include", "[", "x"])
        .with(|run| {
            run.current_dir(folder.path());
        })
        .run()
        .exits(2);
    assert!(ran.stderr.contains("[") && !ran.stderr.contains("panicked"), "{}", ran.stderr);
}

#[test]
fn links_are_followed_where_that_is_asked_for() {
    let folder = tree();
    symlink("src/a.c", folder.path().join("link.c")).expect("a link");
    let files = |flag: &str| {
        rorqual(&["grep", flag, "--sort=path", "-l", "--include=link.c", "x"])
            .with(|run| {
                run.current_dir(folder.path());
            })
            .run()
    };
    assert_eq!(files("-R").exits(0).text(), "link.c\n");
    assert_eq!(files("-r").exits(1).text(), "");
    symlink("..", folder.path().join("src/loop")).expect("a link");
    let ran = rorqual(&["grep", "-Rc", "x", "src"])
        .with(|run| {
            run.current_dir(folder.path());
        })
        .run()
        .exits(2);
    assert!(ran.stderr.contains("src/loop") && ran.stderr.contains("which it lies in"), "{}", ran.stderr);
    // One file is one file, whatever may be searched below folders.
    assert_eq!(
        rorqual(&["grep", "-r", "x", "src/a.c"])
            .with(|run| {
                run.current_dir(folder.path());
            })
            .run()
            .exits(0)
            .text(),
        "x\n"
    );
}

#[test]
fn binary_files_and_missing_ones_are_passed_over_when_asked() {
    let folder = TestFolder::new();
    let (text, binary) = (folder.file("text", "x\n"), folder.file("binary", b"x\n\0x\n"));
    for threads in ["1", "3"] {
        let ran = rorqual(&["grep", "--threads", threads, "-Ic", "x", &text, &binary]).run().exits(0);
        assert_eq!(ran.text(), format!("{text}:1\n{binary}:0\n"));
        let _ = rorqual(&["grep", "--threads", threads, "-I", "x", &binary]).run().exits(1);
        let _ = rorqual(&["grep", "--threads", threads, "-I", "x", "-"]).stdin(b"x\n\0x\n".to_vec()).run().exits(1);
        assert_eq!(rorqual(&["grep", "-I", "-a", "-c", "x", &binary]).run().exits(0).text(), "2\n");
    }
    let ran = rorqual(&["grep", "-s", "x", "missing", &text])
        .with(|run| {
            run.current_dir(folder.path());
        })
        .run()
        .exits(2);
    assert_eq!((ran.text().to_owned(), ran.stderr), (format!("{text}:x\n"), String::new()));
}

#[test]
fn a_folder_that_is_too_large_to_sort_is_said_and_memory_is_kept() {
    let folder = TestFolder::new();
    std::fs::create_dir(folder.path().join("many")).expect("a folder");
    for number in 0..9_000 {
        folder.file(&format!("many/{number:05}-with-a-name-of-some-length-as-names-are"), "x\n");
    }
    let grep = |memory: &str| {
        let args = ["grep", "--threads", "1", "--line-max", "1KiB", "--memory", memory, "-rl", "--sort", "path", "x"];
        rorqual(&args)
            .with(|run| {
                run.current_dir(folder.path());
            })
            .run()
    };
    let ran = grep("36MiB");
    assert_eq!(ran.code, Some(if ran.stderr.is_empty() { 0 } else { 2 }), "{}", ran.stderr);
    let ran = grep("64MiB").exits(0);
    assert!(ran.text().lines().is_sorted() && ran.text().lines().count() == 9_000);
    assert!(ran.peak_bytes <= 64 * MIB, "{} bytes", ran.peak_bytes);
}

#[test]
fn lines_are_printed_at_once_when_asked() {
    let folder = TestFolder::new();
    folder.file("file", "x1\nx2\n");
    // Both files are read before the pipe that follows gives anything.
    let script = "(echo x0; sleep 0.3; echo x3) | GREP --line-buffered -h x file - | cat";
    assert_eq!(shell(&folder, script), "x1\nx2\nx0\nx3\n");
}

#[test]
fn utf_16_is_text_and_a_mark_is_in_no_line() {
    let folder = TestFolder::new();
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let file = folder.file("utf16", [b"\xff\xfe".to_vec(), utf16("één\r\nfoo é\nlast\n")].concat());
    assert_eq!(rorqual(&["grep", "-n", "é", &file]).run().exits(0).text(), "1:één\r\n2:foo é\n");
    let stored = std::fs::read(&file).expect("it was just made");
    assert_eq!(rorqual(&["grep", "-c", "^foo"]).stdin(stored).run().exits(0).text(), "1\n");
    let _ = rorqual(&["grep", "-a", "foo", &file]).run().exits(1);
    for (name, text) in
        [("short", "\u{feff}foo\nbar\n".to_owned()), ("wide", format!("\u{feff}foo{}\nbar\n", "o".repeat(700_000)))]
    {
        let file = folder.file(name, &text);
        for line_max in ["1", "1MiB"] {
            let grep =
                |args: &[&str]| rorqual(&["grep", "--line-max", line_max]).args(args).arg(&file).run().exits(0).text().to_owned();
            assert_eq!(grep(&["-c", "^fo"]), "1\n", "{name}");
            assert_eq!(grep(&["-n", "-B1", "bar"]).replace('o', ""), "1-f\n2:bar\n", "{name}");
            assert_eq!(grep(&["-ob", "^f"]), "3:f\n", "{name}");
        }
    }
}
