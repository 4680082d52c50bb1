//! `rorqual hash`, against the output of coreutils for the same files.

use crate::common::{GIB, MIB, TestFolder, advised, rorqual};
use rorqual_testkit::generate::write_sparse_log;
use rorqual_testkit::paths::fifo;
use rorqual_testkit::process::{ProcessEnd, ProcessRun};
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::ChildStdin;

/// Memory that hashing takes, for any file.
pub(crate) const HASH: u64 = 24 * MIB;

const BLOCK: usize = 256 << 10;

/// Runs a program in `folder`.
pub(crate) fn at(folder: &Path, run: ProcessRun) -> ProcessEnd {
    let folder = folder.to_owned();
    run.with(move |command| {
        command.current_dir(folder).env("LC_ALL", "C");
    })
    .run()
}

/// Files of every awkward kind, in a folder; their names.
fn awkward(folder: &TestFolder) -> Vec<OsString> {
    let text: Vec<u8> =
        (0..40_000_u32).flat_map(|number| format!("{number} {}\n", number.wrapping_mul(97)).into_bytes()).collect();
    let files: [(&[u8], &[u8]); 15] = [
        (b"empty", b""),
        (b"one byte", b"x"),
        (b"nuls", &[0; 1_000]),
        (b"no newline", b"a line\nand no end"),
        (b"block less one", &text[..BLOCK - 1]),
        (b"block", &text[..BLOCK]),
        (b"block and one", &text[..BLOCK + 1]),
        (b"chunk", &text[..1_024]),
        (b"chunk and one", &text[..1_025]),
        (b"large", &text),
        (b"invalid utf-8", b"\xff\xfe\x80"),
        (b"new\nline", b"1"),
        (b"back\\slash", b"2"),
        (b"re\rturn", b"3"),
        (b"no utf-8 \xff name", b"4"),
    ];
    for (name, bytes) in files {
        std::fs::write(folder.path().join(OsString::from_vec(name.to_vec())), bytes).expect("room");
    }
    write_sparse_log(MIB, 20 * MIB, &mut File::create(folder.at("sparse")).expect("a file")).expect("sparse");
    folder.file("compressed.gz", rorqual_testkit::paths::gzip(&text));
    let mut names: Vec<OsString> =
        std::fs::read_dir(folder.path()).expect("it is there").map(|entry| entry.expect("readable").file_name()).collect();
    names.sort();
    names
}

#[test]
fn prints_what_coreutils_prints() {
    let folder = TestFolder::new();
    let names = awkward(&folder);
    for (algorithm, peer) in [("sha256", "sha256sum"), ("sha512", "sha512sum"), ("sha1", "sha1sum"), ("md5", "md5sum")] {
        for flags in [&[][..], &["--tag"], &["--zero"], &["--tag", "--zero"]] {
            let expected = at(folder.path(), ProcessRun::new(peer).args(flags).args(&names)).exits(0);
            for threads in ["1", "2", "5"] {
                let ran = at(folder.path(), rorqual(&["hash", "-a", algorithm, "--threads", threads]).args(flags).args(&names))
                    .exits(0);
                assert_eq!(ran.stdout, expected.stdout, "{algorithm}, {flags:?}, {threads} threads");
            }
        }
        // One by one: a single file is read and hashed in another way.
        let expected = at(folder.path(), ProcessRun::new(peer).args(&names)).exits(0).stdout;
        let each = names.iter().map(|name| at(folder.path(), rorqual(&["hash", "-a", algorithm]).arg(name)).exits(0).stdout);
        assert_eq!(each.collect::<Vec<_>>().concat(), expected, "{algorithm}, one by one");
    }
}

#[test]
fn prints_what_its_other_peers_print() {
    let folder = TestFolder::new();
    let names = awkward(&folder);
    for (algorithm, peer, own) in [
        (&["-a", "sha224"][..], "sha224sum", &[][..]),
        (&["-a", "sha384"], "sha384sum", &[]),
        (&["-a", "blake2b"], "b2sum", &[]),
        (&["-a", "blake2b", "-l", "256"], "b2sum", &["-l", "256"]),
        (&["-a", "b2", "--length", "8"], "b2sum", &["--length", "8"]),
        (&["-a", "blake2b", "-l", "0"], "b2sum", &["-l", "0"]),
    ] {
        for flags in [&[][..], &["--tag"], &["-b"], &["-t"], &["-t", "-b"], &["-b", "-t"], &["--zero"]] {
            let expected = at(folder.path(), ProcessRun::new(peer).args(own).args(flags).args(&names)).exits(0);
            let ran = at(folder.path(), rorqual(&["hash"]).args(algorithm).args(flags).args(&names)).exits(0);
            assert_eq!(ran.stdout, expected.stdout, "{algorithm:?}, {flags:?}");
        }
    }
    // OpenSSL's lists are read, whatever the length of the digests says.
    for algorithm in ["sha224", "sha384", "sha512-256", "sha512", "sha256", "blake2b512"] {
        let list =
            at(folder.path(), ProcessRun::new("openssl").args(["dgst", &format!("-{algorithm}"), "large", "empty"])).exits(0);
        let ran = at(folder.path(), rorqual(&["hash", "--check"]).stdin(list.stdout)).exits(0);
        assert_eq!(ran.text(), "large: OK\nempty: OK\n", "{algorithm}");
    }
    let digest = |args: &[&str]| at(folder.path(), rorqual(&["hash"]).args(args).arg("large")).exits(0).text().to_owned();
    let openssl =
        at(folder.path(), ProcessRun::new("openssl").args(["dgst", "-sha512-256", "-r", "large"])).exits(0).text().to_owned();
    assert_eq!(digest(&["-a", "sha512-256", "-b"]), openssl);
    assert!(digest(&["-a", "sha512/256", "--tag"]).starts_with("SHA512/256 (large) = "));
}

#[test]
fn the_algorithm_of_a_list_may_be_given() {
    let folder = TestFolder::new();
    folder.file("a", "abc");
    let check = |list: Vec<u8>, flags: &[&str]| at(folder.path(), rorqual(&["hash", "--check"]).args(flags).stdin(list));
    for (algorithm, length) in [("blake3", ""), ("sha512-256", ""), ("blake2b", "256"), ("blake2b", "512")] {
        let length = if length.is_empty() { Vec::new() } else { vec!["-l", length] };
        let list = at(folder.path(), rorqual(&["hash", "-a", algorithm, "a"]).args(&length)).exits(0).stdout;
        assert_eq!(check(list.clone(), &[]).exits(0).text(), "a: OK\n", "{algorithm}, by its length");
        assert_eq!(check(list, &["-a", algorithm]).exits(0).text(), "a: OK\n", "{algorithm}");
    }
    for algorithm in ["sha224", "sha384", "md5", "sha1"] {
        let list = at(folder.path(), rorqual(&["hash", "-a", algorithm, "a"])).exits(0).stdout;
        assert_eq!(check(list, &[]).exits(0).text(), "a: OK\n", "{algorithm}, by its length");
    }
    let wrong = format!("{}  a\n", "0".repeat(32));
    let ran = check(wrong.into_bytes(), &[]).exits(1);
    assert!(!ran.stderr.contains("--algorithm"), "all were tried: {}", ran.stderr);
}

#[test]
fn blake3_of_awkward_files_is_the_same_on_every_path() {
    let folder = TestFolder::new();
    let names = awkward(&folder);
    let expected: Vec<u8> = names
        .iter()
        .flat_map(|name| {
            let bytes = std::fs::read(folder.path().join(name)).expect("it is there");
            let ran = rorqual(&["hash", "-a", "blake3", "--zero", "--threads", "1"]).stdin(bytes).run().exits(0);
            let digest = ran.text().split(' ').next().expect("a digest").to_owned();
            [format!("{digest}  ").as_bytes(), name.as_encoded_bytes(), b"\0"].concat()
        })
        .collect();
    assert!(expected.starts_with(b""), "made");
    for threads in ["1", "2", "5"] {
        let ran = at(folder.path(), rorqual(&["hash", "-a", "BLAKE3", "--zero", "--threads", threads]).args(&names)).exits(0);
        assert_eq!(ran.stdout, expected, "{threads} threads");
    }
    // Of the empty input, from BLAKE3's test vectors.
    let ran = rorqual(&["hash", "-a", "blake3"]).run().exits(0);
    assert_eq!(ran.text(), "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262  -\n");
}

#[test]
fn standard_input_and_a_fifo() {
    let folder = TestFolder::new();
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    for args in [&["hash"][..], &["hash", "-"], &["hash", "-a", "SHA2-256", "-", "--threads", "1"]] {
        assert_eq!(rorqual(args).stdin("abc").run().exits(0).text(), format!("{abc}  -\n"));
    }
    let (path, writer) = fifo(folder.path(), b"abc".to_vec());
    let ran = rorqual(&["hash", "--json"]).arg(&path).arg("-").stdin("abc").run().exits(0).json();
    writer.join().expect("it was read");
    assert_eq!(ran["schema"], "rorqual.hash/1");
    for (index, name) in [path.to_str().expect("ours"), "-"].into_iter().enumerate() {
        assert_eq!(ran["files"][index], serde_json::json!({"name": name, "algorithm": "sha256", "digest": abc}));
    }
}

#[test]
fn encodings_of_the_digest() {
    let cases = [
        ("base32", "xj4bnp4pahh6uqkbidpf3lrceoyagyndsylxvhfucd7wd4qacwwq"),
        ("base64", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="),
    ];
    for (encoding, text) in cases {
        let ran = rorqual(&["hash", "--encoding", encoding]).stdin("abc").run().exits(0);
        assert_eq!(ran.text(), format!("{text}  -\n"));
    }
}

#[test]
fn a_bad_file_does_not_end_the_run() {
    let folder = TestFolder::new();
    folder.file("a", "abc");
    folder.file("b", "");
    let expected = at(folder.path(), ProcessRun::new("sha256sum").args(["a", "missing", ".", "b"])).exits(1).stdout;
    for threads in ["1", "3"] {
        let ran = at(folder.path(), rorqual(&["hash", "--threads", threads, "a", "missing", ".", "b"])).exits(2);
        ran.says(&["missing: cannot open: No such file", ".: is a directory"]);
        assert_eq!(ran.stdout, expected);
    }
    let json = at(folder.path(), rorqual(&["hash", "--json", "a", "missing"])).exits(2).json();
    assert!(json["files"][1]["error"].as_str().expect("an error").contains("No such file"), "{json}");
}

#[test]
fn wrong_usage() {
    let cases: [&[&str]; 12] = [
        &["-l", "256"],
        &["-a", "blake2b", "-l", "12"],
        &["-a", "blake2b", "-l", "520"],
        &["--tag", "-t"],
        &["--check", "-b"],
        &["--check", "-t"],
        &["-a", "md4"],
        &["--quiet"],
        &["--tag", "--check"],
        &["--encoding", "hex16"],
        &["--json", "--zero"],
        &["--strict"],
    ];
    for args in cases {
        let ran = rorqual(&["hash"]).args(args).run().exits(2);
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{args:?}");
    }
    rorqual(&["hash", "-a", "md4"])
        .run()
        .exits(2)
        .says(&["sha256, sha512, sha1, md5, blake3, sha224, sha384, sha512-256 and blake2b"]);
    rorqual(&["hash", "--memory", "8MiB", "--threads", "2"]).run().exits(2).says(&[
        "8.00 MiB is too little",
        "program",
        "4 threads",
        "11 blocks",
    ]);
}

#[test]
fn the_least_memory_that_is_named_is_enough_and_kept() {
    let folder = TestFolder::new();
    let file = folder.file("a", vec![7; 40 << 20]);
    // More pages of the program's own file than a release build has.
    let own_pages = if cfg!(debug_assertions) { 2 * MIB } else { 0 };
    for algorithm in ["sha256", "blake3"] {
        let args = ["hash", "-a", algorithm, "--threads", "3", "--memory"];
        let refused = rorqual(&args).args(["8MiB", &file]).run().exits(2).stderr;
        let advised = advised(&refused);
        let ran = rorqual(&args).args([&advised, &file, &file, &file, &file]).run().exits(0);
        ran.within(rorqual_pipe::parse_size(&advised).expect("a size") + own_pages);
    }
}

#[test]
fn a_large_input_takes_no_more_memory() {
    let folder = TestFolder::new();
    let file = folder.text("sparse");
    write_sparse_log(MIB, GIB, &mut File::create(&file).expect("a file")).expect("sparse");
    let expected = ProcessRun::new("sha256sum").arg(&file).run().exits(0).stdout;
    let ran = rorqual(&["hash", "--stats", &file]).run().exits(0);
    ran.within(HASH);
    assert_eq!(ran.stdout, expected);
    ran.says(&["\"stored_bytes\":"]);
    for threads in ["1", "2", "8"] {
        let _ = rorqual(&["hash", "-a", "blake3", "--threads", threads, &file]).run().exits(0).within(HASH);
    }
    let block = vec![b'x'; MIB as usize];
    let feed = move |stdin: &mut ChildStdin| (0..GIB / MIB).try_for_each(|_| stdin.write_all(&block));
    let _ = rorqual(&["hash", "-a", "blake3"]).feed(feed).run().exits(0).within(HASH);
}

#[test]
fn many_large_files_share_the_threads() {
    let folder = TestFolder::new();
    let names: Vec<String> =
        (0..6).map(|index| folder.file(&format!("{index}"), vec![index; (index as usize % 3) * (17 << 20) + 5])).collect();
    let one_by_one: Vec<u8> =
        names.iter().flat_map(|name| rorqual(&["hash", "-a", "blake3", name]).run().exits(0).stdout).collect();
    let ran = rorqual(&["hash", "-a", "blake3", "--threads", "4"]).args(&names).run().exits(0);
    ran.within(HASH);
    assert_eq!(ran.stdout, one_by_one);
}

#[test]
fn names_that_are_no_utf8_are_told_apart_in_json() {
    let folder = TestFolder::new();
    let names = [&b"a\xff"[..], b"a\xfe"].map(|name| OsString::from_vec(name.to_vec()));
    names.iter().for_each(|name| std::fs::write(folder.path().join(name), "abc\n").expect("room"));
    // As `base64` writes the bytes of the names.
    let expected = [Some("Yf8="), Some("Yf4=")];
    for verb in ["hash", "count"] {
        let ran = at(folder.path(), rorqual(&[verb, "--json"]).args(&names)).exits(0).json();
        let found = [0, 1].map(|index| ran["files"][index]["name_bytes"].as_str().map(str::to_owned));
        assert_eq!(found.each_ref().map(Option::as_deref), expected, "{verb}");
        assert_eq!(ran["files"][0]["name"], "a\u{fffd}");
    }
    let list = at(folder.path(), rorqual(&["hash"]).args(&names)).exits(0).stdout.clone();
    std::fs::write(folder.path().join("list"), list).expect("room");
    let checked = at(folder.path(), rorqual(&["hash", "--check", "list", "--json"])).exits(0);
    assert!(checked.text().contains("\"name_bytes\":\"Yf8=\"") && checked.text().contains("\"Yf4=\""), "{}", checked.text());
}
