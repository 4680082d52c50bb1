//! Decoders stay within their share of the memory, and say so where the input wants more.

use crate::common::{MIB, TestFolder, log, rorqual};
use rorqual_testkit::paths::{encodings, greedy_encodings, gzip};

#[test]
fn the_greediest_that_are_allowed_stay_within_the_promise() {
    let folder = TestFolder::new();
    // More than any dictionary, so that all of it is used.
    let bytes = log(120_000);
    assert!(bytes.len() as u64 > 10 * MIB);
    // A build with symbols for debugging takes more, of pages that it shares with its file.
    let program_bytes = rorqual(&["count", &folder.file("empty", b"")]).run().exits(0).peak_bytes;
    for (name, stored) in greedy_encodings(&bytes) {
        let file = folder.file(name, &stored);
        let ran = rorqual(&["count", "--json", &file]).run().exits(0);
        ran.within(program_bytes + 12 * MIB);
        assert_eq!(
            (&ran.json()["total"]["bytes"], &ran.json()["total"]["lines"]),
            (&bytes.len().into(), &120_000.into()),
            "{name}"
        );
        let little = rorqual(&["count", "--json", "--threads", "1", "--memory", "19MiB", &file]).run();
        match name {
            "bzip2" => assert_eq!(little.exits(0).within(19 * MIB).code, Some(0)),
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
    for (memory, threads) in [(256, "2"), (256, "8"), (384, "4")] {
        let limit = format!("{memory}MiB");
        let ran = rorqual(&["logs", "--json", "--threads", threads, "--memory", &limit]).args(&files).run().exits(0);
        ran.within(memory * MIB);
        assert_eq!(ran.json()["lines"]["parsed"], 120_000 * files.len());
    }
}
