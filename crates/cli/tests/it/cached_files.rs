//! `rorqual serve FILE`, again: rows that the cache has are not read anew.

use crate::client::Server;
use crate::common::{MIB, TestFolder, Truth, eventually, log, rorqual};
use crate::served_tables::lines;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use data_encoding::BASE64;
use rorqual_columnar::read::schema_bytes;
use rorqual_digest::{Algorithm, Hasher};
use rorqual_testkit::paths::gzip;
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Lines of a log that has some 8 MiB.
const LINES: u64 = 80_000;

/// A log in a folder with a cache.
struct Cached {
    folder: TestFolder,
    log: String,
    cache: String,
}

impl Cached {
    fn new(bytes: impl AsRef<[u8]>) -> Self {
        Self::named("access.log", bytes)
    }

    fn named(name: &str, bytes: impl AsRef<[u8]>) -> Self {
        let folder = TestFolder::new();
        let (log, cache) = (folder.file(name, bytes), folder.text("cache"));
        Self { folder, log, cache }
    }

    fn open_with(&self, args: &[&str]) -> Opened {
        Opened::new(&[&["--cache-dir", &self.cache, &self.log], args].concat())
    }

    fn open(&self) -> Opened {
        self.open_with(&[])
    }

    fn append(&self, bytes: impl AsRef<[u8]>) {
        let mut file = OpenOptions::new().append(true).open(&self.log).expect("it can be written");
        file.write_all(bytes.as_ref()).expect("room on the disk");
    }

    fn size(&self) -> u64 {
        fs::metadata(&self.log).expect("it is there").len()
    }

    /// Folders of the cache's entries.
    fn entries(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(&self.cache) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
        paths.sort();
        paths
    }

    /// The file of the only entry with that extension.
    fn kept(&self, extension: &str) -> PathBuf {
        let [entry] = &self.entries()[..] else { panic!("not one entry: {:?}", self.entries()) };
        let files = fs::read_dir(entry).expect("it is there").map(|file| file.expect("readable").path());
        files.into_iter().find(|file| file.extension().is_some_and(|own| own == extension)).expect("a file of it")
    }
}

/// A server with one file, whose rows are all there.
struct Opened {
    server: Server,
    id: String,
    live: Value,
}

impl Opened {
    fn new(args: &[&str]) -> Self {
        let server = Server::start(args);
        let id = first_session(&server);
        let live = server.when_state(&id, "finished");
        Self { server, id, live }
    }

    fn ask(&self, what: &str, body: &Value) -> Value {
        let target = format!("/api/sessions/{}/{what}", self.id);
        let answer = self.server.request("POST", &target, body.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// All that may be asked of its rows, without the time that it took.
    fn answers(&self) -> Vec<Value> {
        let mut report = self.live["report"].clone();
        report["stats"].take();
        let mut asked = vec![
            report,
            self.ask("view", &json!({})),
            self.ask("view", &json!({"where": "status = 404", "buckets": 900})),
            self.ask("explain", &json!({"select": {"where": "path = \"/p3\""}})),
            self.ask("rows", &json!({"offset": 77_000, "limit": 50})),
            self.ask("rows", &json!({"where": "status = 304", "from_end": true, "limit": 5})),
            self.ask("rates", &json!({})),
            self.ask("breakdown", &json!({"field": "path", "sort": "clients"})),
            self.ask("timeseries", &json!({"buckets": 50})),
        ];
        asked.iter_mut().filter(|answer| answer["seconds"].is_number()).for_each(|answer| drop(answer["seconds"].take()));
        without_places(&mut asked);
        asked
    }

    /// The same of a table with the rows of [`lines`].
    fn answers_of_table(&self) -> Vec<Value> {
        let mut asked = vec![
            self.ask("view", &json!({})),
            self.ask("view", &json!({"where": "level = error and took >= 62.5", "buckets": 900})),
            self.ask("explain", &json!({"select": {"where": "level = warn"}})),
            self.ask("rows", &json!({"offset": 17_000, "limit": 50})),
            self.ask("rows", &json!({"where": "level = warn", "from_end": true, "limit": 5})),
            self.ask("breakdown", &json!({"field": "level"})),
        ];
        asked.iter_mut().for_each(|answer| drop(answer["seconds"].take()));
        asked.push(self.live["report"]["lines"].clone());
        asked.push(self.live["session"]["format"].clone());
        asked.push(self.server.get(&format!("/api/sessions/{}/columns", self.id)).json());
        asked
    }

    /// Bytes of its file that were in the cache.
    fn kept_bytes(&self) -> &Value {
        &self.live["session"]["reopened"]["kept_bytes"]
    }

    /// Bytes that the program has read so far, of whatever.
    fn read_bytes(&self) -> u64 {
        let io = fs::read_to_string(format!("/proc/{}/io", self.server.running.id())).expect("the kernel tells");
        let field = io.lines().find_map(|line| line.strip_prefix("rchar: ")).expect("a field of every kernel");
        field.trim().parse().expect("a number")
    }

    /// Words that it says at some time.
    fn says(&self, words: &str) {
        eventually(words, || self.server.running.stderr_so_far().contains(words).then_some(()));
    }

    fn end(self) {
        self.server.running.terminate();
        drop(self.server.running.wait().exits(0));
    }
}

/// Takes the names of rows away, which are those of one reading.
fn without_places(answers: &mut [Value]) {
    for row in answers.iter_mut().filter_map(|answer| answer.get_mut("rows")?.as_array_mut()).flatten() {
        if row["place"].is_string() {
            row["place"].take();
        }
    }
}

fn first_session(server: &Server) -> String {
    server.get("/api/sessions").json()["sessions"][0]["id"].as_str().expect("a session").to_owned()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn a_file_that_was_read_is_not_read_again_and_says_the_same() {
    let cached = Cached::new(log(LINES));
    let first = cached.open();
    assert_eq!(first.kept_bytes(), &Value::Null);
    assert!(first.read_bytes() > cached.size());
    Truth::of(&log(LINES)).check(&first.live["report"]);
    let expected = first.answers();
    first.end();
    // It tells of visitors.
    let modes = [&cached.cache.clone().into(), &cached.entries()[0], &cached.kept("rows"), &cached.kept("session")];
    assert_eq!(modes.map(|path| mode(path)), [0o700, 0o700, 0o600, 0o600]);
    let second = cached.open();
    assert_eq!(second.kept_bytes(), cached.size());
    // The first picture: a report, and what the page asks for at once. Of the cache itself the
    // texts are read, of which each line has one of its own here.
    second.ask("view", &json!({"buckets": 700}));
    let read_bytes = second.read_bytes();
    assert!(read_bytes < cached.size() / 3, "{read_bytes} of {}", cached.size());
    assert_eq!(second.answers(), expected);
    second.says("reopened: the rows of 7.");
    assert_eq!(second.server.vitals()["received_bytes"], 0, "nothing was read of it");
    // So it does while the first picture's rows are asked about again, and after that.
    second.end();
    assert_eq!(cached.open().answers(), expected);
}

#[test]
fn of_a_file_that_grew_only_the_new_bytes_are_read() {
    let all = log(LINES + 3_000);
    // In the middle of a line, which is a line of its own until it goes on.
    let cuts = [LINES, LINES + 1_000].map(|lines| log(lines).len() + 20);
    let cached = Cached::new(&all[..cuts[0]]);
    let first = cached.open();
    assert_eq!(first.live["report"]["lines"]["total"], LINES + 1);
    first.end();
    // Nothing came: the unfinished line is read, and no more.
    let again = cached.open();
    assert_eq!(again.live["report"]["lines"]["total"], LINES + 1);
    assert_eq!(again.kept_bytes(), cuts[0] as u64 - 20);
    again.end();
    for (from, to, kept) in [(cuts[0], cuts[1], cuts[0] - 20), (cuts[1], all.len(), cuts[1] - 20)] {
        cached.append(&all[from..to]);
        let grown = cached.open();
        assert_eq!(grown.kept_bytes(), kept as u64);
        // With samples of its old part.
        let read_bytes = grown.read_bytes();
        assert!(read_bytes < cached.size() / 2, "{read_bytes} of {}", cached.size());
        grown.end();
    }
    let last = cached.open();
    assert_eq!(last.kept_bytes(), cached.size());
    Truth::of(&all).check(&last.live["report"]);
    let rows = last.ask("rows", &json!({"offset": LINES, "limit": 2}));
    let line = crate::common::line(LINES);
    assert_eq!(rows["rows"][0]["line"], line.as_str(), "{rows}");
    let expected = Opened::new(&[&cached.log]).answers();
    assert_eq!(last.answers(), expected, "as if it was read at once");
}

#[test]
fn a_file_that_changed_in_another_way_is_read_anew() {
    let body = log(LINES);
    let set_times = |path: &str, time: SystemTime| {
        File::options().write(true).open(path).and_then(|file| file.set_modified(time)).expect("a time");
    };
    let other = |number: usize| -> Vec<u8> {
        let mut lines: Vec<u8> = body.clone();
        lines.iter_mut().filter(|byte| **byte == b'7').for_each(|byte| *byte = b'0' + number as u8);
        lines
    };
    let cut = body[..body.len() / 2].iter().rposition(|byte| *byte == b'\n').expect("a line") + 1;
    let middle = body.windows(4).position(|bytes| bytes == b"/p3?").expect("a path") + 2;
    let at = body.len() / 2 + body[body.len() / 2..].windows(4).position(|bytes| bytes == b"/p3?").expect("a path") + 2;
    assert!(middle < at);
    type Change<'a> = Box<dyn Fn(&str) + 'a>;
    let changes: [(&str, Change<'_>); 6] = [
        ("truncated", Box::new(|path| fs::write(path, &body[..cut]).expect("room"))),
        ("replaced by one of the same size", Box::new(|path| fs::write(path, other(5)).expect("room"))),
        ("touched", Box::new(|path| set_times(path, SystemTime::now() - Duration::from_secs(60)))),
        (
            "edited in the middle, with the time as it was",
            Box::new(|path| {
                let file = File::options().write(true).open(path).expect("it is there");
                let time = file.metadata().and_then(|data| data.modified()).expect("a time");
                file.write_all_at(b"9", at as u64).expect("room");
                file.set_modified(time).expect("a time");
            }),
        ),
        ("begun anew and longer", Box::new(|path| fs::write(path, [&other(4)[..], b"\n"].concat()).expect("room"))),
        (
            "another file under its name",
            Box::new(|path| {
                fs::write(format!("{path}.new"), other(6)).expect("room");
                fs::rename(format!("{path}.new"), path).expect("a name");
            }),
        ),
    ];
    for (what, change) in changes {
        let cached = Cached::new(&body);
        cached.open().end();
        change(&cached.log);
        let opened = cached.open();
        assert_eq!(opened.kept_bytes(), &Value::Null, "{what}");
        Truth::of(&fs::read(&cached.log).expect("it is there")).check(&opened.live["report"]);
        opened.end();
        // And from then on it is known as it is.
        assert!(cached.open().kept_bytes().is_u64(), "{what}");
        assert_eq!(cached.entries().len(), 1, "{what}");
    }
}

/// A damaged byte anywhere is either found at once, or by the question that needs it; then the file
/// is read anew.
#[test]
fn damage_to_the_cache_never_makes_a_wrong_count() {
    let body = log(30_000);
    let cached = Cached::new(&body);
    let (first, truth) = (cached.open(), Truth::of(&body));
    let (expected, question) = (first.answers(), json!({"where": "status = 404"}));
    first.end();
    let [rows, session] = ["rows", "session"].map(|extension| cached.kept(extension));
    let [whole_rows, whole_session] = [&rows, &session].map(|path| fs::read(path).expect("it is there"));
    let mut places: Vec<(&PathBuf, usize)> = kinds(&whole_rows).into_iter().map(|at| (&rows, at)).collect();
    assert!(places.len() >= 4, "a record of each kind");
    places.extend([3, whole_rows.len() / 3, whole_rows.len() - 3].map(|at| (&rows, at)));
    places.extend([0, 70, whole_session.len() / 2, whole_session.len() - 1].map(|at| (&session, at)));
    for (path, at) in places {
        damage([(&rows, &whole_rows), (&session, &whole_session)], path, at);
        let server = Server::start(&["--cache-dir", &cached.cache, &cached.log]);
        let id = first_session(&server);
        let whole = server.when_state(&id, "finished");
        truth.check(&whole["report"]);
        let target = format!("/api/sessions/{id}/view");
        let found = eventually("the answer", || {
            let answer = server.request("POST", &target, question.to_string().as_bytes());
            assert!([200, 404, 410, 500].contains(&answer.status), "{answer:?}");
            (answer.status == 200).then(|| answer.json()).filter(|answer| answer["complete"] == true)
        });
        assert_eq!(found["lines"], expected[2]["lines"], "byte {at} of {}", path.display());
        let opened = Opened { live: server.when_state(&id, "finished"), server, id };
        truth.check(&opened.live["report"]);
        opened.end();
    }
}

/// Writes whole files, and another byte into one of them.
fn damage(whole: [(&PathBuf, &Vec<u8>); 2], path: &Path, at: usize) {
    for (file, bytes) in whole {
        let mut bytes = bytes.clone();
        if file == path {
            bytes[at] ^= 0x10;
        }
        fs::write(file, bytes).expect("room");
    }
}

/// A byte in the payload of the first record of each kind.
fn kinds(rows: &[u8]) -> Vec<usize> {
    let (mut at, mut found) = (16, std::collections::BTreeMap::new());
    while let Some(frame) = rows.get(at..at + 9) {
        let length = u32::from_le_bytes([frame[1], frame[2], frame[3], frame[4]]) as usize;
        found.entry(frame[0]).or_insert(at + 9 + length / 2);
        at += 9 + length;
    }
    found.into_values().collect()
}

#[test]
fn a_server_that_is_killed_while_it_reads_leaves_nothing_wrong() {
    let body = log(LINES);
    let cached = Cached::new(&body);
    for delay in [0, 40, 150] {
        let server = Server::start(&["--cache-dir", &cached.cache, "--limit-rate", "2MiB", &cached.log]);
        let id = first_session(&server);
        server.when(&id, "some bytes", |live| live["session"]["offset"].as_u64().is_some_and(|offset| offset > delay << 13));
        server.running.kill();
        drop(server.running.wait());
        let opened = cached.open();
        Truth::of(&body).check(&opened.live["report"]);
        assert_eq!(opened.kept_bytes(), &Value::Null, "it was read to no part's end");
        opened.end();
        fs::remove_dir_all(&cached.cache).expect("it is there");
    }
}

#[test]
fn the_file_that_was_opened_longest_ago_gives_way() {
    let folder = TestFolder::new();
    let logs = ["a", "b", "c"].map(|name| folder.file(name, log(20_000)));
    let cache = folder.text("cache");
    let open = |log: &str, max: &str| Opened::new(&["--cache-dir", &cache, "--cache-max", max, log]);
    open(&logs[0], "1GiB").end();
    let entry = fs::read_dir(&cache).expect("it is there").next().expect("an entry").expect("readable").path();
    let files = fs::read_dir(entry).expect("it is there");
    let bytes: u64 = files.map(|file| file.expect("readable").metadata().expect("a size").len()).sum();
    let max = (bytes * 5 / 2).to_string();
    open(&logs[1], &max).end();
    // Used again, so that the other one is the oldest.
    let again = open(&logs[0], &max);
    assert!(again.kept_bytes().is_u64());
    again.end();
    open(&logs[2], &max).end();
    assert_eq!(fs::read_dir(&cache).expect("it is there").count(), 2);
    for (log, is_kept) in [(&logs[0], true), (&logs[2], true), (&logs[1], false)] {
        let opened = open(log, &max);
        assert_eq!(opened.kept_bytes().is_u64(), is_kept, "{log}");
        opened.end();
    }
}

#[test]
fn a_cache_that_can_not_be_used_is_told_and_the_file_is_read() {
    let body = log(LINES);
    let truth = Truth::of(&body);
    let cached = Cached::new(&body);
    let file = cached.folder.file("no folder", "");
    let unfit = [
        // A folder that can't be made, as one in a folder without the right to write.
        (vec!["--cache-dir", &file], "its rows are not kept for the next time (--cache-dir"),
        (vec!["--cache-dir", "/proc/nothing"], "its rows are not kept for the next time (--cache-dir"),
        (vec!["--cache-dir", &cached.cache, "--cache-max", "100KiB"], "its rows are not kept for the next time"),
    ];
    for (args, words) in unfit {
        let opened = Opened::new(&[&[cached.log.as_str()], &args[..]].concat());
        truth.check(&opened.live["report"]);
        opened.says(words);
        let said = opened.server.running.stderr_so_far();
        assert_eq!(said.matches("not kept").count(), 1, "{said}");
        assert_eq!(opened.ask("view", &json!({"where": "status = 404"}))["lines"]["matching"], truth.statuses["404"]);
        opened.end();
    }
    let none = Opened::new(&["--cache-dir", &cached.cache, "--no-cache", &cached.log]);
    truth.check(&none.live["report"]);
    none.end();
    let bytes: u64 = cached
        .entries()
        .iter()
        .flat_map(|entry| fs::read_dir(entry).expect("it is there"))
        .map(|file| file.expect("readable").metadata().expect("a size").len())
        .sum();
    assert_eq!(bytes, 0, "nothing is left of what was not kept");
}

#[test]
fn a_second_server_reads_the_file_itself_and_harms_nothing() {
    let body = log(LINES);
    let truth = Truth::of(&body);
    let cached = Cached::new(&body);
    let first = cached.open();
    let second = cached.open();
    second.says("another server has this file open");
    assert_eq!(second.kept_bytes(), &Value::Null);
    truth.check(&second.live["report"]);
    assert_eq!(second.answers(), first.answers());
    second.end();
    first.end();
    let third = cached.open();
    assert_eq!(third.kept_bytes(), cached.size());
    truth.check(&third.live["report"]);
}

#[test]
fn a_compressed_file_is_known_as_a_whole_only() {
    let body = log(1_200_000 / 4);
    // Incompressible enough to be worth it.
    let packed = gzip(&body);
    assert!(packed.len() as u64 > MIB, "{}", packed.len());
    let cached = Cached::new(&packed);
    cached.open().end();
    let again = cached.open();
    assert_eq!(again.kept_bytes(), packed.len() as u64);
    Truth::of(&body).check(&again.live["report"]);
    again.end();
    cached.append(gzip(&log(1_000)));
    let longer = cached.open();
    assert_eq!(longer.kept_bytes(), &Value::Null);
    Truth::of(&[body, log(1_000)].concat()).check(&longer.live["report"]);
}

#[test]
fn settings_that_make_other_rows_have_an_entry_of_their_own() {
    let cached = Cached::new(log(LINES));
    cached.open().end();
    let short = cached.open_with(&["--line-max", "1KiB"]);
    assert_eq!(short.kept_bytes(), &Value::Null);
    short.end();
    let given = cached.open_with(&["--format", "combined"]);
    assert_eq!(given.kept_bytes(), &Value::Null);
    given.end();
    assert_eq!(cached.entries().len(), 3);
    assert!(cached.open().kept_bytes().is_u64());
    // Another memory does not change what all of it has room for.
    assert!(cached.open_with(&["--memory", "600MiB"]).kept_bytes().is_u64());
}

#[test]
fn columns_of_the_logs_own_and_clients_without_room_are_there_again() {
    // Each line has a client and an id of its own, for which the dictionaries have no room.
    let line = |number: u64| {
        let (hour, minute, second) = (number / 3_600 % 24, number / 60 % 60, number % 60);
        let client = format!("10.{}.{}.{}", number >> 16 & 255, number >> 8 & 255, number & 255);
        let (cache, id) = (["HIT", "MISS", "-"][(number % 3) as usize], number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let time = format!("02/Jan/2025:{hour:02}:{minute:02}:{second:02} +0000");
        format!("{client} - - [{time}] \"GET /p{} HTTP/1.1\" 200 10 {cache} {id:032x}\n", number % 7)
    };
    let lines = |range: std::ops::Range<u64>| range.map(line).collect::<String>();
    let format =
        r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent $upstream_cache_status $request_id"#;
    let cached = Cached::new(lines(0..400_000));
    let open = || cached.open_with(&["--format", format, "--memory", "320MiB", "--sessions", "8"]);
    let id = 300_000u64.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let asked = |opened: &Opened| {
        let total = |filter: &str| opened.ask("view", &json!({"where": filter}))["lines"]["matching"].as_u64();
        [total("upstream_cache_status = HIT"), total(&format!("request_id = {id:032x}")), total("client = 10.4.147.224")]
    };
    let all = |opened: &Opened| {
        let mut view = opened.ask("view", &json!({}));
        view["seconds"].take();
        view
    };
    let first = open();
    let expected = [Some(133_334), Some(1), Some(1)];
    assert_eq!(asked(&first), expected);
    let everything = all(&first);
    first.end();
    let second = open();
    assert_eq!(second.kept_bytes(), cached.size());
    // In the same order: a value that was asked for is counted by itself from then on.
    assert_eq!(asked(&second), expected);
    assert_eq!(all(&second), everything);
    second.end();
    let kept_bytes = cached.size();
    cached.append(lines(400_000..400_300));
    let third = open();
    assert_eq!(third.kept_bytes(), kept_bytes);
    assert_eq!(asked(&third), [Some(133_434), Some(1), Some(1)]);
}

#[test]
fn a_state_folder_has_the_cache_of_its_server() {
    let cached = Cached::new(log(LINES));
    let state = cached.folder.text("state");
    Opened::new(&["--state", &state, &cached.log]).end();
    assert!(fs::metadata(cached.folder.at("state/files")).expect("it is there").is_dir());
    assert!(Opened::new(&["--state", &state, &cached.log]).kept_bytes().is_u64());
    let home = cached.folder.text("home");
    let run = rorqual(&["serve", "--port", "0", &cached.log]).with(|command| {
        command.env("XDG_CACHE_HOME", &home);
    });
    let server = Server::start_as(run);
    server.when_state(&first_session(&server), "finished");
    assert!(fs::metadata(cached.folder.at("home/rorqual/files")).expect("it is there").is_dir());
}

#[test]
fn a_file_that_is_followed_is_read_from_where_the_cache_has_it() {
    let body = log(LINES);
    let cached = Cached::new(&body);
    cached.open().end();
    cached.append(log(500));
    let server = Server::start(&["--cache-dir", &cached.cache, "--follow", &cached.log]);
    let id = first_session(&server);
    let parsed = |count: u64| move |live: &Value| live["report"]["lines"]["parsed"] == count;
    let live = server.when(&id, "the lines", parsed(LINES + 500));
    assert_eq!(
        (&live["session"]["state"], &live["session"]["reopened"]["kept_bytes"]),
        (&"following".into(), &body.len().into())
    );
    cached.append(log(7));
    server.when(&id, "more lines", parsed(LINES + 507));
    assert!(server.vitals()["received_bytes"].as_u64().expect("bytes") < MIB);
    server.running.terminate();
    drop(server.running.wait());
    let opened = cached.open();
    assert_eq!(opened.kept_bytes(), (body.len() + log(500).len()) as u64);
    Truth::of(&[body, log(500), log(7)].concat()).check(&opened.live["report"]);
}

/// Rows far above the memory.
#[test]
fn a_reopened_file_stays_within_little_memory() {
    let cached = Cached::new(log(900_000));
    let open = || {
        let (server, memory_bytes) = Server::tight(&["--sessions", "1", "--cache-dir", &cached.cache, &cached.log]);
        let id = first_session(&server);
        let opened = Opened { live: server.when_state(&id, "finished"), server, id };
        opened.ask("view", &json!({"where": "status = 404"}));
        opened.ask("rows", &json!({"offset": 800_000}));
        opened.server.within(memory_bytes);
        opened
    };
    let first = open();
    let expected = first.ask("view", &json!({"where": "status = 404"}))["lines"].clone();
    first.end();
    let second = open();
    assert_eq!(second.kept_bytes(), cached.size());
    assert_eq!(second.ask("view", &json!({"where": "status = 404"}))["lines"], expected);
    assert!(fs::metadata(cached.kept("rows")).expect("it is there").size() > 0);
}

/// Rows of a table of some 4 MiB.
const ROWS: usize = 40_000;

/// A table in several formats, whose rows are the same.
fn tables(folder: &TestFolder) -> Vec<String> {
    let lines = lines(ROWS);
    let rows = lines.trim_end().replace('\n', ",\n");
    let plain = folder.file("app.ndjson", &lines);
    let mut paths = vec![folder.file("page.json", format!("{{\"page\": 1, \"items\": [{rows}]}}"))];
    paths.extend([folder.file("list.json", format!("[{rows}]")), folder.file("app.ndjson.gz", gzip(lines.as_bytes()))]);
    for name in ["app.csv", "app.parquet"] {
        paths.push(folder.text(name));
        let _ = rorqual(&["convert", &plain, "-o", &folder.text(name)]).run().exits(0);
    }
    paths.push(plain);
    paths
}

#[test]
fn a_table_that_was_read_is_not_read_again_and_says_the_same() {
    let folder = TestFolder::new();
    // Files that are smaller are not in the cache.
    for path in tables(&folder).iter().filter(|path| fs::metadata(path).expect("it is there").len() > MIB) {
        let cache = TestFolder::new();
        let open = || Opened::new(&["--cache-dir", &cache.text("cache"), path]);
        let size = fs::metadata(path).expect("it is there").len();
        let first = open();
        assert_eq!(first.kept_bytes(), &Value::Null, "{path}");
        let expected = first.answers_of_table();
        let lines = &expected[1]["lines"];
        assert_eq!((&lines["total"], &lines["matching"]), (&ROWS.into(), &(ROWS / 8).into()), "{path}");
        first.end();
        let second = open();
        assert_eq!(second.kept_bytes(), size, "{path}");
        assert_eq!(second.answers_of_table(), expected, "{path}");
        second.says("reopened: the rows of");
        assert_eq!(second.server.vitals()["received_bytes"], 0, "{path}");
        second.end();
    }
    assert!(fs::metadata(folder.at("app.ndjson")).expect("it is there").len() > MIB);
}

#[test]
fn a_table_that_changed_or_whose_rows_are_others_is_read_anew() {
    let cached = Cached::named("app.ndjson", lines(ROWS));
    cached.open().end();
    // A column that only the last row has: the file is read twice.
    cached.append("{\"level\": \"late\", \"late\": 7}\n");
    for is_kept in [false, true] {
        let late = cached.open();
        assert_eq!(late.kept_bytes().is_u64(), is_kept);
        assert_eq!(late.ask("view", &json!({"where": "late = 7"}))["lines"]["matching"], 1);
        late.end();
    }
    let rows = lines(ROWS).trim_end().replace('\n', ",");
    let document = Cached::named("page.json", format!("{{\"a\": [{rows}], \"b\": [{{\"n\": 1}}, {{\"n\": 2}}]}}"));
    for (args, rows) in [(&[][..], ROWS), (&["--rows", "$.b"], 2)] {
        for is_kept in [false, true] {
            let opened = document.open_with(args);
            assert_eq!(opened.kept_bytes().is_u64(), is_kept);
            assert_eq!(opened.ask("view", &json!({}))["lines"]["total"], rows);
            opened.end();
        }
    }
}

/// JSON lines in which a key is always null, which tells no type, in many rows.
fn with_nulls(from: usize, rows: usize) -> String {
    let line = |n: usize| format!("{{\"n\":{n},\"parent\":null,\"level\":\"l{}\",\"took\":{}.5}}\n", n % 3, n % 100);
    (from..from + rows).map(line).collect()
}

#[test]
fn of_a_table_that_grew_only_the_new_lines_are_read() {
    let all = with_nulls(0, ROWS + 3_000);
    // In the middle of a line, which is none until it goes on.
    let cuts = [ROWS, ROWS + 1_000].map(|rows| with_nulls(0, rows).len() + 20);
    let cached = Cached::named("app.ndjson", &all[..cuts[0]]);
    let count = |opened: &Opened| {
        let [all, some] = ["", "level = l1"].map(|filter| opened.ask("view", &json!({"where": filter}))["lines"].clone());
        let counts = [&all["total"], &all["parsed"], &all["rejected"], &some["matching"]];
        counts.map(|lines| lines.as_u64().expect("a count"))
    };
    let rows = ROWS as u64;
    let meant = |rows: u64, rejected| [rows + rejected, rows, rejected, rows / 3 + u64::from(rows % 3 == 2)];
    for kept in [Value::Null, (cuts[0] - 20).into()] {
        let opened = cached.open();
        assert_eq!((opened.kept_bytes(), count(&opened)), (&kept, meant(rows, 1)));
        opened.end();
    }
    for (from, to, kept, meant) in
        [(cuts[0], cuts[1], cuts[0] - 20, meant(rows + 1_000, 1)), (cuts[1], all.len(), cuts[1] - 20, meant(rows + 3_000, 0))]
    {
        cached.append(&all[from..to]);
        let grown = cached.open();
        assert_eq!((grown.kept_bytes(), count(&grown)), (&kept.into(), meant));
        let read_bytes = grown.read_bytes();
        assert!(read_bytes < cached.size(), "{read_bytes} of {}", cached.size());
        grown.end();
    }
    let last = cached.open();
    assert_eq!(last.kept_bytes(), cached.size());
    let answers = |opened: &Opened| {
        let asked = [
            ("view", json!({"where": "took >= 62.5", "buckets": 900})),
            ("explain", json!({"select": {"where": "level = l2"}})),
            ("rows", json!({"offset": ROWS - 2, "limit": 9})),
            ("rows", json!({"where": "level = l0", "from_end": true, "limit": 5})),
        ];
        let mut asked = asked.map(|(verb, body)| opened.ask(verb, &body));
        asked.iter_mut().for_each(|answer| drop(answer["seconds"].take()));
        without_places(&mut asked);
        asked
    };
    assert_eq!(answers(&last), answers(&Opened::new(&["--no-cache", &cached.log])), "as if it was read at once");
    last.end();
    // A value for which the lines before had no column, and then one that fits none of them.
    for (line, filter) in [("{\"parent\":7}\n", "parent = 7"), ("{\"n\":\"none\"}\n", "n = none")] {
        cached.append(line);
        for is_kept in [false, true] {
            let opened = cached.open();
            assert_eq!(opened.kept_bytes().is_u64(), is_kept, "{line}");
            assert_eq!(opened.ask("view", &json!({"where": filter}))["lines"]["matching"], 1, "{line}");
            opened.end();
        }
    }
}

#[test]
fn damage_to_the_rows_of_a_table_never_makes_a_wrong_count() {
    let cached = Cached::named("app.ndjson", lines(ROWS));
    cached.open().end();
    let [rows, session] = ["rows", "session"].map(|extension| cached.kept(extension));
    let [whole_rows, whole_session] = [&rows, &session].map(|path| fs::read(path).expect("it is there"));
    let mut places: Vec<(&PathBuf, usize)> = kinds(&whole_rows).into_iter().map(|at| (&rows, at)).collect();
    places.extend([70, whole_session.len() / 2, whole_session.len() - 1].map(|at| (&session, at)));
    for (path, at) in places {
        damage([(&rows, &whole_rows), (&session, &whole_session)], path, at);
        let server = Server::start(&["--cache-dir", &cached.cache, &cached.log]);
        let id = first_session(&server);
        let target = format!("/api/sessions/{id}/view");
        let question = json!({"where": "level = error and took >= 62.5"}).to_string();
        let found = eventually("the answer", || {
            let answer = server.request("POST", &target, question.as_bytes());
            // Until it is looked at anew there is no such column.
            assert!([200, 400, 404, 410, 500].contains(&answer.status), "{answer:?}");
            (answer.status == 200).then(|| answer.json()).filter(|answer| answer["complete"] == true)
        });
        let lines = &found["lines"];
        assert_eq!((&lines["total"], &lines["matching"]), (&ROWS.into(), &(ROWS / 8).into()), "byte {at} of {}", path.display());
        server.running.terminate();
        drop(server.running.wait().exits(0));
    }
}

/// Columns of types that JSON has not, with a checksum that is right.
#[test]
fn columns_of_the_cache_that_are_of_another_table_cost_a_reading_and_nothing_else() {
    let known = lines(ROWS);
    let types = |time: DataType, level: DataType, took: DataType| {
        let user = DataType::Struct(vec![Field::new("full name", DataType::Utf8, true)].into());
        let types = [("ts", time), ("level", level), ("took", took), ("user", user)];
        Schema::new(types.map(|(name, data_type)| Field::new(name, data_type, true)).to_vec())
    };
    let time = || DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let list = DataType::new_list(DataType::Utf8, true);
    let forged = [
        types(time(), DataType::Utf8, DataType::Float16),
        types(time(), DataType::Utf8, DataType::Float32),
        types(time(), DataType::LargeUtf8, DataType::Float64),
        types(DataType::Timestamp(TimeUnit::Nanosecond, None), DataType::Utf8View, DataType::Float64),
        types(DataType::Time64(TimeUnit::Nanosecond), list, DataType::Decimal256(70, 2)),
    ];
    for schema in forged {
        let cached = Cached::named("app.ndjson", &known);
        cached.open().end();
        let path = cached.kept("session");
        let bytes = fs::read(&path).expect("it is there");
        let mut parts = bytes.splitn(3, |byte| *byte == b'\n');
        let [_, line, head] = [(); 3].map(|()| parts.next().expect("a part"));
        let mut session: Value = serde_json::from_slice(line).expect("JSON");
        session["table"]["columns"] = BASE64.encode(&schema_bytes(&schema)).into();
        let content = [session.to_string().as_bytes(), b"\n", head].concat();
        let mut hasher = Hasher::new(Algorithm::Sha256);
        hasher.update(&content);
        fs::write(&path, [format!("{}\n", hasher.finish()).as_bytes(), &content].concat()).expect("it can be written");
        cached.append(lines(100));
        let opened = cached.open();
        let view = opened.ask("view", &json!({"where": "level = error and took >= 62.5"}));
        // None of the lines that were added takes so long.
        let lines = &view["lines"];
        assert_eq!((&lines["total"], &lines["matching"]), (&(ROWS + 100).into(), &(ROWS / 8).into()), "{schema}");
        opened.end();
    }
}

/// A record may be too long for a memory, and not for another one.
#[test]
fn records_that_were_too_long_are_read_with_another_memory() {
    let long = format!("{{\"level\":\"long\",\"text\":\"{}\"}}\n", "x".repeat(5 << 20));
    let cached = Cached::named("app.ndjson", lines(ROWS) + &long);
    let open = |memory: &str, is_kept: bool, matching: usize| {
        let opened = cached.open_with(&["--memory", memory, "--sessions", "1"]);
        assert_eq!(opened.kept_bytes().is_u64(), is_kept, "{memory}");
        let view = opened.ask("view", &json!({"where": "level = long"}));
        assert_eq!((&view["lines"]["total"], &view["lines"]["matching"]), (&(ROWS + 1).into(), &matching.into()), "{memory}");
        opened.end();
    };
    open("320MiB", false, 0);
    open("320MiB", true, 0);
    open("4GiB", false, 1);
    open("4GiB", true, 1);
}

/// Its rows are of both versions: that is said, and nothing is kept.
#[test]
fn a_file_that_is_written_over_while_it_is_read_is_not_kept() {
    for cached in [Cached::new(log(LINES)), Cached::named("app.ndjson", lines(2 * ROWS))] {
        let server = Server::start(&["--cache-dir", &cached.cache, "--limit-rate", "2MiB", &cached.log]);
        let id = first_session(&server);
        server.when(&id, "some bytes", |live| live["session"]["offset"].as_u64().is_some_and(|offset| offset > 1 << 20));
        let file = OpenOptions::new().write(true).open(&cached.log).expect("it is there");
        let other = fs::read(&cached.log).expect("it is there");
        let other: Vec<u8> = other.iter().map(|byte| if *byte == b'1' { b'2' } else { *byte }).collect();
        file.write_all_at(&other, 0).expect("room");
        cached.append(&other);
        let live = server.when_state(&id, "failed");
        assert!(live["session"]["error"].to_string().contains("rows may be of both versions"), "{live}");
        server.running.terminate();
        drop(server.running.wait());
        let opened = cached.open();
        assert_eq!(opened.kept_bytes(), &Value::Null);
        opened.end();
    }
}

/// All of it is in the cache, and it goes on all the same.
#[test]
fn a_file_that_is_in_the_cache_is_followed() {
    for (cached, more) in [(Cached::new(log(LINES)), log(3)), (Cached::named("app.ndjson", lines(ROWS)), lines(3).into_bytes())] {
        let total = |rows: usize| if cached.log.ends_with("ndjson") { ROWS + rows } else { LINES as usize + rows };
        for appended in [0, 3, 6] {
            let server = Server::start(&["--cache-dir", &cached.cache, "--follow", &cached.log]);
            let id = first_session(&server);
            let when_lines = |lines: usize| {
                server.when(&id, "the lines", |live| live["session"]["state"] == "following");
                eventually("the lines", || {
                    let answer = server.request("POST", &format!("/api/sessions/{id}/view"), b"{}").json();
                    (answer["lines"]["parsed"] == lines).then_some(())
                });
            };
            when_lines(total(appended));
            let kept = server.live(&id)["session"]["reopened"]["kept_bytes"].clone();
            assert_eq!(kept.is_u64(), appended > 0, "{kept}");
            cached.append(&more);
            when_lines(total(appended + 3));
            server.running.terminate();
            drop(server.running.wait().exits(0));
            // Nothing changes between this opening and the next.
            Server::start(&["--cache-dir", &cached.cache, "--follow", &cached.log]).running.terminate();
        }
    }
}

/// Rows far above the memory.
#[test]
fn a_reopened_table_stays_within_little_memory() {
    let line = |n: u64| {
        let id = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("{{\"n\":{n},\"id\":\"{id:016x}\",\"level\":\"l{}\",\"text\":\"message {n} of {id:x}\"}}\n", n % 5)
    };
    let cached = Cached::named("app.ndjson", (0..1_500_000).map(line).collect::<String>());
    let memory_bytes = 320 * MIB;
    let open = |rows: u64, kept: Value| {
        let opened = cached.open_with(&["--memory", "320MiB", "--sessions", "1"]);
        assert_eq!(opened.kept_bytes(), &kept);
        let view = opened.ask("view", &json!({"where": "level = l3 and n < 600000"}));
        assert_eq!((&view["lines"]["total"], &view["lines"]["matching"]), (&rows.into(), &120_000.into()));
        let last = json!({"where": format!("text contains \"message {} of\"", rows - 1)});
        assert_eq!(opened.ask("view", &last)["lines"]["matching"], 1);
        opened.server.within(memory_bytes);
        opened.end();
    };
    let size = cached.size();
    open(1_500_000, Value::Null);
    open(1_500_000, size.into());
    // As much again is read after what the cache has.
    cached.append((1_500_000..3_000_000).map(line).collect::<String>());
    open(3_000_000, size.into());
    open(3_000_000, cached.size().into());
}
