//! Operations as other languages begin them.
#![allow(clippy::unwrap_used)]

use rorqual_columnar::FormatHints;
use rorqual_embed::{
    DataSource, EntryStore, LineSearch, OperationFailure, PageRequest, ProgramItem, ReportRequest, Resources, RowsRequest,
};
use rorqual_pipe::count::Counter;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const GOOD: &str = "127.0.0.1 - - [10/Oct/2025:13:55:36 +0000] \"GET /a HTTP/1.1\" 200 5\n";
const OTHER: &str = "127.0.0.1 - - [10/Oct/2025:13:55:37 +0000] \"GET /b HTTP/1.1\" 404 -\n";

fn written(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn request(paths: &[&PathBuf]) -> RowsRequest {
    let sources = paths.iter().map(|path| DataSource::Path((*path).clone())).collect();
    RowsRequest { sources, ..RowsRequest::default() }
}

fn small() -> Resources {
    Resources { memory_bytes: 64 << 20, threads: Some(2) }
}

#[test]
fn rows_of_several_files_have_the_columns_of_all_and_say_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let common = written(folder.path(), "common.log", &format!("{GOOD}no line\n{OTHER}"));
    let combined = GOOD.replace(" 5\n", " 5 \"-\" \"curl/8\"\n");
    let combined = written(folder.path(), "combined.log", &combined.repeat(3));
    let mut batches = rorqual_embed::rows(request(&[&common, &combined]), small()).unwrap();
    assert!(batches.schema().column_with_name("agent").is_some());
    let rows: usize = (&mut batches).map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 5);
    let told = batches.summary().get().told();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("common.log") && told[0].contains(&format!("at byte {}", GOOD.len())), "{told:?}");
}

#[test]
fn a_filter_may_ask_for_fields_that_have_no_column() {
    let folder = tempfile::tempdir().unwrap();
    let log = written(folder.path(), "access.log", &format!("{GOOD}{OTHER}").repeat(5_000));
    let filter = Some("path = /b and not bot".to_owned());
    let request = RowsRequest { filter, columns: Some(vec!["status".to_owned()]), ..request(&[&log]) };
    let mut batches = rorqual_embed::rows(request, small()).unwrap();
    assert_eq!(batches.schema().fields().len(), 1);
    let rows: usize = (&mut batches).map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!((rows, batches.summary().get().filtered), (5_000, 5_000));
}

#[test]
fn a_filter_may_name_the_variables_of_a_format() {
    let folder = tempfile::tempdir().unwrap();
    let log = written(folder.path(), "access.log", &"::1 200 HIT\n::1 200 MISS\n".repeat(3));
    let format = "$remote_addr $status $upstream_cache_status";
    let log_hint = || Some(rorqual_accesslog::format::LogFormat::parse(format).unwrap());
    let hints = || FormatHints { kind: Some(rorqual_columnar::FormatKind::Log), log: log_hint(), ..FormatHints::default() };
    for (filter, rows) in [("upstream_cache_status = HIT", Ok(3)), ("none = HIT", Err("argument"))] {
        let filter = Some(filter.to_owned());
        let request = RowsRequest { filter, hints: hints(), columns: Some(vec!["status".to_owned()]), ..request(&[&log]) };
        let batches = rorqual_embed::rows(request, small());
        let found = batches.map(|batches| batches.map(|batch| batch.unwrap().num_rows()).sum::<usize>());
        assert_eq!(found.map_err(|failure| failure.kind), rows);
    }
}

#[test]
fn reports_are_json_and_their_filters_may_name_what_a_log_has_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let line = |cache| format!("{{\"status\":200,\"request\":\"GET / HTTP/1.1\",\"cache\":\"{cache}\"}}\n");
    let log = written(folder.path(), "access.log", &(line("HIT") + &line("MISS")).repeat(5));
    let request = |filter: &str| ReportRequest {
        sources: vec![DataSource::Path(log.clone())],
        filter: Some(filter.to_owned()),
        top: 3,
        ..ReportRequest::default()
    };
    let report = rorqual_embed::report(request("cache = HIT"), small()).unwrap().next().unwrap().unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["lines"]["filtered"], 5);
    let none = rorqual_embed::report(request("none = HIT"), small()).unwrap().next().unwrap();
    assert_eq!(none.unwrap_err().kind, "argument");
    assert_eq!(rorqual_embed::report(request("status >"), small()).err().unwrap().kind, "argument");
}

#[test]
fn reports_come_while_a_log_is_read_and_the_last_is_of_everything() {
    let slow = Paced(GOOD.repeat(4).into_bytes().into());
    let request = ReportRequest { sources: vec![DataSource::Reader("slow".to_owned(), Box::new(slow))], ..Default::default() };
    let reports = rorqual_embed::reports(request, Duration::from_millis(5), small()).unwrap();
    let reports: Vec<serde_json::Value> = reports.map(|report| serde_json::from_str(&report.unwrap()).unwrap()).collect();
    let (last, before) = reports.split_last().unwrap();
    assert_eq!((&last["complete"], &last["lines"]["parsed"]), (&true.into(), &4.into()));
    assert!(!before.is_empty() && before.iter().all(|report| report["complete"] == false), "{before:?}");
}

/// Gives a byte a millisecond.
struct Paced(std::collections::VecDeque<u8>);

impl Read for Paced {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        std::thread::sleep(Duration::from_millis(1));
        let byte = self.0.pop_front();
        Ok(byte.map_or(0, |byte| {
            buffer[0] = byte;
            1
        }))
    }
}

fn shell(script: &str) -> (PathBuf, Vec<String>) {
    ("/bin/sh".into(), vec!["-c".to_owned(), script.to_owned()])
}

#[test]
fn a_program_gives_documents_or_its_failure_and_ends_when_it_is_dropped() {
    let (program, words) = shell("echo '{\"n\":1}'; echo 2; echo a note >&2");
    let given: Vec<_> = rorqual_embed::documents(program, words).map(Result::unwrap).collect();
    let documents = ProgramItem::Output(vec![serde_json::json!({"n": 1}), 2.into()]);
    assert_eq!(given, [documents, ProgramItem::Notes("a note".to_owned())]);
    let (program, words) = shell("printf abc; echo broken >&2; exit 3");
    let given: Vec<_> = rorqual_embed::output(program, words).collect();
    assert_eq!(given[0], Ok(ProgramItem::Output(b"abc".to_vec())));
    assert_eq!(given[1], Err(OperationFailure::new("program", "broken")));
    assert_eq!(given.len(), 2);
    let (program, words) = shell("echo no JSON");
    assert_eq!(rorqual_embed::documents(program, words).next().unwrap().unwrap_err().kind, "program");
    let none = rorqual_embed::output("/none".into(), Vec::new()).next().unwrap();
    assert_eq!(none.unwrap_err().kind, "io");
    let start = Instant::now();
    let (program, words) = shell("exec sleep 600");
    drop(rorqual_embed::output(program, words));
    let (program, words) = shell("while :; do echo 1; done");
    let mut endless = rorqual_embed::documents(program, words);
    assert!(endless.next().unwrap().is_ok());
    drop(endless);
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn failures_have_a_kind_a_place_and_no_flags() {
    let folder = tempfile::tempdir().unwrap();
    let log = written(folder.path(), "access.log", GOOD);
    let kind = |failure: OperationFailure| failure.kind;
    let none = PathBuf::from("/none");
    assert_eq!(rorqual_embed::rows(request(&[&none]), small()).err().map(kind), Some("io"));
    let filter = Some("status >".to_owned());
    assert_eq!(rorqual_embed::rows(RowsRequest { filter, ..request(&[&log]) }, small()).err().map(kind), Some("argument"));
    let columns = Some(vec!["none".to_owned()]);
    assert_eq!(rorqual_embed::rows(RowsRequest { columns, ..request(&[&log]) }, small()).err().map(kind), Some("argument"));
    let tiny = Resources { memory_bytes: 1, threads: None };
    let failure = rorqual_embed::count(DataSource::Path(log.clone()), Counter::default(), tiny).err().unwrap();
    assert!(failure.kind == "memory" && !failure.message.contains("--"), "{failure}");
    let enough = Resources { memory_bytes: failure.needed_bytes.unwrap(), threads: None };
    let mut counted = rorqual_embed::count(DataSource::Path(log), Counter::default(), enough).unwrap();
    assert_eq!(counted.next().unwrap().unwrap().newlines, 1);
    let json = written(folder.path(), "rows.ndjson", "{\"a\":1}\n{\"a\":\n");
    let hints = FormatHints { kind: Some(rorqual_columnar::FormatKind::Ndjson), ..FormatHints::default() };
    let batches = rorqual_embed::rows(RowsRequest { hints, ..request(&[&json]) }, small()).unwrap();
    let failed = batches.filter_map(Result::err).next().map(OperationFailure::from).unwrap();
    assert!(failed.kind == "corrupt" && failed.offset.is_some_and(|offset| offset >= 8), "{failed:?}");
}

/// Gives lines for ever, or panics in the middle of them.
struct Endless {
    panics: bool,
    reads: usize,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reads += 1;
        assert!(!(self.panics && self.reads > 50), "a reader that is broken");
        let length = buffer.len().min(GOOD.len());
        buffer[..length].copy_from_slice(&GOOD.as_bytes()[..length]);
        Ok(length)
    }
}

#[test]
fn what_is_dropped_ends_soon_though_its_input_has_no_end() {
    let start = Instant::now();
    for _ in 0..20 {
        let source = DataSource::Reader("endless".to_owned(), Box::new(Endless { panics: false, reads: 0 }));
        let search = LineSearch { patterns: vec!["GET".to_owned()], ..LineSearch::default() };
        let mut found = rorqual_embed::matches(source, &search, small()).unwrap();
        assert!(!found.next().unwrap().unwrap().is_empty());
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn the_first_rows_and_lines_of_a_file_do_not_wait_for_more() {
    let folder = tempfile::tempdir().unwrap();
    // Some blocks of it.
    let log = written(folder.path(), "access.log", &GOOD.repeat(30_000));
    let batches = rorqual_embed::rows(request(&[&log]), small()).unwrap();
    let rows: Vec<usize> = batches.map(|batch| batch.unwrap().num_rows()).collect();
    assert_eq!(rows.iter().sum::<usize>(), 30_000);
    assert!(rows[0] < 10_000, "{rows:?}");
    let mut rare = OTHER.to_owned() + &GOOD.repeat(30_000);
    rare.push_str(OTHER);
    let log = written(folder.path(), "rare.log", &rare);
    let search = LineSearch { patterns: vec!["404".to_owned()], ..LineSearch::default() };
    let found = rorqual_embed::matches(DataSource::Path(log), &search, small()).unwrap();
    let numbers: Vec<Vec<u64>> = found.map(|lines| lines.unwrap().iter().map(|line| line.number).collect()).collect();
    assert_eq!(numbers, [[1], [30_002]]);
}

#[test]
fn a_panic_is_a_failure() {
    let source = DataSource::Reader("broken".to_owned(), Box::new(Endless { panics: true, reads: 0 }));
    let mut digest = rorqual_embed::digest(source, rorqual_digest::Algorithm::Sha256, small()).unwrap();
    assert_eq!(digest.next().unwrap().unwrap_err().kind, "defect");
}

#[test]
fn templates_and_entries() {
    let request = PageRequest {
        folder: None,
        name: "page.html".to_owned(),
        text: Some("{{ name }}".to_owned()),
        variables: serde_json::json!({"name": "<"}),
        rows: None,
        is_lenient: false,
    };
    let pieces: Vec<u8> = rorqual_embed::page(request).unwrap().flat_map(Result::unwrap).collect();
    assert_eq!(pieces, b"&lt;");
    let folder = tempfile::tempdir().unwrap();
    let store = EntryStore::open(folder.path().join("store"), None).unwrap();
    let source = DataSource::Reader("bytes".to_owned(), Box::new(&b"abc"[..]));
    let put = store.put(source, Some("name".to_owned())).next().unwrap().unwrap();
    assert_eq!((put.bytes, put.new), (3, true));
    let entry = store.get("name").unwrap().unwrap();
    assert!(!store.remove("name").unwrap(), "somebody has it");
    drop(entry);
    assert!(store.remove("name").unwrap());
}
