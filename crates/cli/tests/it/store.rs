//! `rorqual store` as a program: output, exit codes, memory, and kills.

use crate::common::{GIB, MIB, PROGRAM, TestFolder, eventually, rorqual};
use rorqual_digest::{Algorithm, Hasher};
use rorqual_testkit::process::{ProcessEnd, ProcessRun};
use serde_json::Value;
use std::fs::{Permissions, set_permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

const PEAK_BYTES_MAX: u64 = 24 * MIB;

fn store(folder: &TestFolder, args: &[&str]) -> ProcessRun {
    rorqual(&["store", "--no-fsync"]).args(args).with(|command| {
        command.env("RORQUAL_STORE", folder.at("store"));
    })
}

fn text(ran: &ProcessEnd) -> String {
    ran.text().trim_end().to_owned()
}

fn json(folder: &TestFolder, args: &[&str]) -> Value {
    serde_json::from_slice(&store(folder, args).arg("--json").run().exits(0).stdout).expect("JSON")
}

fn sha256(bytes: &[u8]) -> String {
    let mut hasher = Hasher::new(Algorithm::Sha256);
    hasher.update(bytes);
    hasher.finish().to_string()
}

/// Nothing is damaged, and a gc leaves nothing but the entries' files.
fn check_clean(folder: &TestFolder) {
    let _ = store(folder, &["verify"]).run().exits(0);
    json(folder, &["gc"]);
    let again = json(folder, &["gc"]);
    assert_eq!((&again["orphans"], &again["temps"]), (&Value::from(0), &Value::from(0)));
    let listed = json(folder, &["ls"])["entries"].as_array().expect("entries").len();
    let blobs = Command::new("find").arg(folder.at("store/blobs")).args(["-type", "f"]).output().expect("find");
    assert_eq!(String::from_utf8_lossy(&blobs.stdout).lines().count(), listed);
    assert_eq!(std::fs::read_dir(folder.at("store/tmp")).expect("tmp/").count(), 0);
}

#[test]
fn a_file_goes_in_and_comes_out_as_sha256sum_names_it() {
    let folder = TestFolder::new();
    let bytes: Vec<u8> = (0..3_000_000_u64).map(|index| ((index * index) >> 9) as u8).collect();
    let file = folder.file("file", &bytes);
    let peer = Command::new("sha256sum").arg(&file).output().expect("sha256sum");
    let wanted = String::from_utf8_lossy(&peer.stdout)[..64].to_owned();
    assert_eq!(text(&store(&folder, &["put", &file]).run().exits(0)), wanted);
    let again =
        serde_json::from_slice::<Value>(&store(&folder, &["put", "-", "--json"]).stdin(bytes.clone()).run().exits(0).stdout);
    let again = again.expect("JSON");
    assert_eq!(
        (&again["schema"], &again["digest"], &again["new"]),
        (&"rorqual.store.put/1".into(), &wanted.as_str().into(), &false.into())
    );
    assert!(store(&folder, &["get", &wanted[..12]]).run().exits(0).stdout == bytes);
    let out = folder.text("out");
    let _ = store(&folder, &["get", &wanted, "--verify", "-o", &out]).run().exits(0);
    assert!(std::fs::read(&out).expect("written") == bytes);
    assert!(std::fs::metadata(&out).expect("written").mode() & 0o400 != 0);
    let path = text(&store(&folder, &["path", &wanted]).run().exits(0));
    assert!(std::fs::read(path).expect("there") == bytes);
    assert_eq!(folder.names(), ["file", "out", "store"]);
    check_clean(&folder);
}

#[test]
fn leases_names_and_refusals_have_their_exit_codes() {
    let folder = TestFolder::new();
    let file = folder.file("file", "abc");
    let put = text(&store(&folder, &["put", &file, "--name", "letters", "--lease", "1h", "--holder", "test"]).run().exits(0));
    let (digest, lease) = put.split_once('\t').expect("digest and lease");
    assert_eq!(digest, sha256(b"abc"));
    store(&folder, &["rm", "letters"]).run().exits(1).says(&["stays: 1 leases", "--force"]);
    let listed = json(&folder, &["lease", "ls"]);
    assert_eq!((&listed["leases"][0]["id"], &listed["leases"][0]["holder"]), (&lease.into(), &"test".into()));
    let _ = store(&folder, &["lease", "renew", lease, "--ttl", "2h"]).run().exits(0);
    let _ = store(&folder, &["lease", "release", lease]).run().exits(0);
    store(&folder, &["lease", "release", lease]).run().exits(1).says(&["no such lease"]);
    let lease = text(&store(&folder, &["lease", "take", "letters", "--ttl", "5m"]).run().exits(0));
    assert_eq!(lease.len(), 16);
    let stat = json(&folder, &["stat", "letters"]);
    assert_eq!((&stat["names"][0], &stat["leases"], &stat["bytes"]), (&"letters".into(), &1.into(), &3.into()));
    let _ = store(&folder, &["rm", "letters", "--force"]).run().exits(0);
    for args in [&["get", "letters"][..], &["path", "ba78"], &["stat", "letters"], &["rm", "letters"]] {
        store(&folder, args).run().exits(1).says(&["is not in the store"]);
    }
    assert_eq!(json(&folder, &["stat"])["leases"], 0);
}

#[test]
fn wrong_usage_is_told_from_not_there() {
    let folder = TestFolder::new();
    store(&folder, &["ls"]).run().exits(2).says(&["there is no store", "rorqual store init"]);
    let file = folder.file("file", vec![1; 5_000]);
    store(&folder, &["put", folder.path().to_str().expect("text")]).run().exits(2).says(&["is a directory"]);
    store(&folder, &["put", &folder.text("none")]).run().exits(2).says(&["none: cannot open"]);
    assert!(!folder.at("store").exists(), "what can't be read makes no store");
    let _ = store(&folder, &["init", "--max-size", "4KiB"]).run().exits(0);
    store(&folder, &["put", &file]).run().exits(2).says(&["no room for 4.88 KiB", "may hold 4.00 KiB", "--max-size"]);
    let _ = store(&folder, &["init", "--max-size", "9223372036854775807"]).run().exits(0);
    for above in [&["init", "--max-size", "9223372036854775808"][..], &["gc", "--rebuild", "--max-size", "18446744073709551615"]]
    {
        store(&folder, above).run().exits(2).says(&["--max-size", "at most 9223372036854775807 bytes"]);
    }
    assert_eq!(json(&folder, &["stat"])["bytes_max"], i64::MAX);
    store(&folder, &["init", "--algorithm", "blake3"]).run().exits(2).says(&["addressed by sha256"]);
    store(&folder, &["put", &file, "--lease", "5"]).run().exits(2).says(&["90s, 15m, 2h, 7d"]);
    store(&folder, &["put", &file, "--holder", "me"]).run().exits(2).says(&["--lease"]);
    store(&folder, &["get", "x", "--json"]).run().exits(2).says(&["give -o FILE"]);
    rorqual(&["--memory", "1MiB", "store", "ls"]).run().exits(2).says(&["--memory", "index"]);
    let nowhere = rorqual(&["store", "ls"]).with(|command| {
        command.env_remove("RORQUAL_STORE").env_remove("HOME").env_remove("XDG_CACHE_HOME");
    });
    nowhere.run().exits(2).says(&["Give --store DIR or set RORQUAL_STORE"]);
}

#[test]
fn the_default_folder_is_the_cache_of_the_user() {
    let folder = TestFolder::new();
    let put = rorqual(&["store", "--no-fsync", "put", "-"]).with(|command| {
        command.env_remove("RORQUAL_STORE").env("XDG_CACHE_HOME", folder.path()).env("HOME", "/nowhere");
    });
    let _ = put.stdin("abc").run().exits(0);
    assert!(folder.at("rorqual/store/index.sqlite").exists());
}

#[test]
fn damage_is_found_and_never_handed_out_as_verified() {
    let folder = TestFolder::new();
    let digest = text(&store(&folder, &["put", "-"]).stdin("precious").run().exits(0));
    let blob = text(&store(&folder, &["path", &digest]).run().exits(0));
    set_permissions(&blob, Permissions::from_mode(0o644)).expect("ours");
    std::fs::write(&blob, "precIous").expect("ours");
    let ran = store(&folder, &["get", &digest, "--verify"]).run().exits(1);
    assert!(ran.stdout.is_empty());
    let _ = store(&folder, &["get", &digest, "--verify", "-o", &folder.text("out")]).run().exits(1);
    assert!(!folder.at("out").exists());
    store(&folder, &["verify"]).run().exits(1).says(&["another digest"]);
    store(&folder, &["verify", "--repair"]).run().exits(1).says(&["another digest; removed"]);
    check_clean(&folder);
    std::fs::write(folder.at("store/index.sqlite"), vec![5; 9_999]).expect("ours");
    store(&folder, &["ls"]).run().exits(2).says(&["the index is damaged", "gc --rebuild"]);
    store(&folder, &["gc", "--rebuild"]).run().exits(0).says(&["new index of 0 entries", "may hold 10.0 GiB"]);
    check_clean(&folder);
}

#[test]
fn a_reader_who_has_enough_is_no_failure() {
    let folder = TestFolder::new();
    let digest = text(&store(&folder, &["put", "-"]).stdin(vec![7; 5_000_000]).run().exits(0));
    for args in [&["get", &digest][..], &["ls"], &["stat", "--json"]] {
        let command = format!("{PROGRAM} store {} | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}", args.join(" "));
        let ran = ProcessRun::new("bash")
            .args(["-c", &command])
            .with(|command| {
                command.env("RORQUAL_STORE", folder.at("store"));
            })
            .run();
        assert_eq!((text(&ran.exits(0)).as_str(), args), ("0", args));
    }
}

/// A process that reads slowly keeps the entry from all others.
#[test]
fn what_another_process_reads_stays() {
    let folder = TestFolder::new();
    let digest = text(&store(&folder, &["put", "-"]).stdin(vec![7; 5_000_000]).run().exits(0));
    let mut slow = Command::new(PROGRAM);
    slow.args(["store", "get", &digest]).env("RORQUAL_STORE", folder.at("store")).stdout(std::process::Stdio::piped());
    let mut slow = slow.spawn().expect("it starts");
    // It has the file open once it has written as much as the pipe holds.
    let fds = format!("/proc/{}/fd", slow.id());
    eventually("the file to be open", || {
        let fds = std::fs::read_dir(&fds).ok()?.flatten();
        fds.filter_map(|fd| std::fs::read_link(fd.path()).ok()).find(|path| path.to_string_lossy().contains(&digest))
    });
    eventually("rm to be refused", || {
        (store(&folder, &["rm", "--force", &digest]).run().exits(1).stderr.contains("is reading it")).then_some(())
    });
    slow.kill().expect("ours");
    slow.wait().expect("ours");
    let _ = store(&folder, &["rm", &digest]).run().exits(0);
}

#[test]
fn ctrl_c_leaves_nothing_of_a_put() {
    let folder = TestFolder::new();
    let put = store(&folder, &["put", "-"]).feed(|stdin| {
        loop {
            stdin.write_all(&[1; 100_000])?;
        }
    });
    let running = put.start();
    let _ = eventually("a temporary file", || std::fs::read_dir(folder.at("store/tmp")).ok()?.next());
    running.interrupt();
    let ran = running.wait();
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert_eq!(std::fs::read_dir(folder.at("store/tmp")).expect("tmp/").count(), 0);
    check_clean(&folder);
}

#[test]
fn ctrl_c_is_heard_by_a_put_that_nobody_gives_anything() {
    let folder = TestFolder::new();
    let fifo = folder.text("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    // As standard input and by its name; with a silent writer, and without one.
    for from in [format!("put - <>{fifo}"), format!("put {fifo} <>{fifo}"), format!("put {fifo}")] {
        let put = ProcessRun::new("bash").args(["-c", &format!("exec {PROGRAM} store --no-fsync {from}")]).with(|command| {
            command.env("RORQUAL_STORE", folder.at("store"));
        });
        let running = put.start();
        let _ = eventually("a temporary file", || std::fs::read_dir(folder.at("store/tmp")).ok()?.next());
        running.interrupt();
        let ran = running.wait();
        assert_eq!(ran.code, Some(130), "{from}: {}", ran.stderr);
        check_clean(&folder);
    }
}

#[test]
fn a_file_that_is_put_again_keeps_its_name() {
    let folder = TestFolder::new();
    let big = folder.file("big", vec![3; 6 * MIB as usize]);
    let _ = store(&folder, &["init", "--max-size", "10MiB"]).run().exits(0);
    let _ = store(&folder, &["put", &big, "--name", "a"]).run().exits(0);
    for args in [&["put", &big][..], &["put", "-"]] {
        let _ = store(&folder, args).stdin(vec![3; 6 * MIB as usize]).run().exits(0);
        assert_eq!(store(&folder, &["get", "a"]).run().exits(0).stdout.len() as u64, 6 * MIB, "{args:?}");
    }
    check_clean(&folder);
}

/// However it ends: SIGKILL is the one that nobody hears.
#[test]
fn a_get_that_is_killed_leaves_no_file() {
    let folder = TestFolder::new();
    let digest = text(&store(&folder, &["put", "-"]).stdin(vec![7; 9 * MIB as usize]).run().exits(0));
    let out = folder.at("out");
    std::fs::create_dir(&out).expect("room");
    // Slow enough to be met while it writes.
    let mut get = Command::new(PROGRAM);
    get.args(["store", "--limit-rate", "64KiB", "get", &digest, "-o"]).arg(out.join("file"));
    let mut get = get.env("RORQUAL_STORE", folder.at("store")).spawn().expect("it starts");
    let fds = format!("/proc/{}/fd", get.id());
    eventually("the file to be open", || {
        let mut fds = std::fs::read_dir(&fds).ok()?.flatten();
        fds.find(|fd| std::fs::read_link(fd.path()).is_ok_and(|path| path.starts_with(&out)))
    });
    get.kill().expect("ours");
    assert!(get.wait().expect("ours").code().is_none());
    assert_eq!(std::fs::read_dir(&out).expect("ours").count(), 0);
}

/// Gives the store of a folder to all users, with these rights.
fn chmod_store(folder: &TestFolder, mode: u32) {
    set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("ours");
    for path in ["store", "store/tmp", "store/lock", "store/index.sqlite"] {
        let execute = if folder.at(path).is_dir() { 0o111 } else { 0 };
        set_permissions(folder.at(path), Permissions::from_mode(mode | execute)).expect("ours");
    }
}

/// A command of the store as another user, where we are root.
fn as_other(folder: &TestFolder, args: &[&str]) -> ProcessEnd {
    let is_root = std::fs::metadata(folder.path()).expect("ours").uid() == 0;
    let command = store(folder, args).with(|command| {
        if is_root {
            command.uid(65_534).gid(65_534);
        }
    });
    command.run()
}

#[test]
fn a_store_that_may_not_be_written_can_be_read() {
    let folder = TestFolder::new();
    let digest = text(&store(&folder, &["put", "-"]).stdin("abc").run().exits(0));
    chmod_store(&folder, 0o444);
    assert_eq!(as_other(&folder, &["get", &digest]).exits(0).text(), "abc");
    assert!(as_other(&folder, &["ls"]).exits(0).text().starts_with(&digest));
    let _ = as_other(&folder, &["verify"]).exits(0);
    for args in [&["rm", &digest][..], &["gc"], &["get", &digest, "--lease", "1m"]] {
        as_other(&folder, args).exits(2).says(&["may not be written here"]);
    }
    chmod_store(&folder, 0o644);
}

/// The map of the index's log is made anew by whoever may write, and is in no backup.
#[test]
fn a_copy_that_may_not_be_written_is_read_once_its_log_is_in_the_index() {
    let folder = TestFolder::new();
    let digest = text(&store(&folder, &["put", "-"]).stdin("abc").run().exits(0));
    let map = folder.at("store/index.sqlite-shm");
    std::fs::remove_file(&map).expect("a put leaves it");
    chmod_store(&folder, 0o444);
    as_other(&folder, &["ls"]).exits(2).says(&["cannot open the index", "`rorqual store gc`"]);
    chmod_store(&folder, 0o644);
    let _ = store(&folder, &["gc"]).run().exits(0);
    std::fs::remove_file(&map).expect("a gc leaves it");
    chmod_store(&folder, 0o444);
    assert!(as_other(&folder, &["ls"]).exits(0).text().starts_with(&digest));
    chmod_store(&folder, 0o644);
}

#[test]
fn memory_does_not_grow_with_entries_or_bytes() {
    let folder = TestFolder::new();
    let entries = 20_000_u32;
    let _ = store(&folder, &["init", "--max-size", "8GiB"]).run().exits(0);
    for number in 0..entries {
        let bytes = number.to_le_bytes();
        let digest = sha256(&bytes);
        let shard = folder.at("store/blobs/sha256").join(&digest[..2]);
        std::fs::create_dir_all(&shard).expect("room");
        std::fs::write(shard.join(digest), bytes).expect("room");
    }
    let mut peaks = Vec::new();
    let mut run = |args: &[&str]| {
        let ran = store(&folder, args).run().exits(0);
        peaks.push((args.join(" "), ran.peak_bytes));
        ran
    };
    run(&["gc", "--rebuild", "--max-size", "8GiB"]);
    assert_eq!(run(&["ls"]).text().lines().count(), entries as usize);
    let parsed: Value = serde_json::from_slice(&run(&["ls", "--json"]).stdout).expect("JSON");
    assert_eq!(parsed["entries"].as_array().expect("entries").len(), entries as usize);
    assert!(run(&["verify"]).text().starts_with("20000 entries are sound"));
    let sparse = folder.file("sparse", "");
    std::fs::File::options().write(true).open(&sparse).and_then(|file| file.set_len(2 * GIB)).expect("a sparse file");
    let digest = text(&run(&["put", &sparse]));
    let get = format!("exec {PROGRAM} store get {digest} --verify > /dev/null");
    let ran = ProcessRun::new("bash")
        .args(["-c", &get])
        .with(|command| {
            command.env("RORQUAL_STORE", folder.at("store"));
        })
        .run();
    peaks.push((get, ran.exits(0).peak_bytes));
    for (args, peak_bytes) in peaks {
        assert!(peak_bytes <= PEAK_BYTES_MAX, "{args}: {} KiB", peak_bytes >> 10);
    }
}

/// SplitMix64: the same moments in every run, as far as a clock allows.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[test]
fn killed_at_fifty_random_moments_nothing_is_torn() {
    let folder = TestFolder::new();
    let _ = store(&folder, &["init", "--max-size", "9MB"]).run().exits(0);
    let leased = text(&store(&folder, &["put", "-", "--lease", "1h"]).stdin("leased").run().exits(0));
    let mut state = 7;
    let mut killed = 0;
    for round in 0..50_u8 {
        let file = folder.file("file", vec![round; 2_000_000 + usize::from(round)]);
        let command = if round % 5 == 4 { vec!["gc"] } else { vec!["put", &file] };
        let mut process = Command::new(PROGRAM)
            .args(["store", "--no-fsync"])
            .args(command)
            .env("RORQUAL_STORE", folder.at("store"))
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("it starts");
        std::thread::sleep(Duration::from_micros(random(&mut state) % 12_000));
        process.kill().expect("ours");
        killed += u8::from(process.wait().expect("ours").code().is_none());
        if round % 10 == 9 {
            check_clean(&folder);
        }
    }
    assert!(killed >= 10, "only {killed} were still running");
    let (digest, _) = leased.split_once('\t').expect("digest and lease");
    assert_eq!(store(&folder, &["get", digest, "--verify"]).run().exits(0).text(), "leased");
    check_clean(&folder);
}
