//! `rorqual serve`: an exported view equals the output of `convert` for its lines, for any reader
//! and any speed.

use crate::client::{Server, read_answer};
use crate::common::{MIB, TestFolder, Truth, eventually, line, log, rorqual};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples");

/// Number of exports that the server sends at a time.
const PLACES: usize = 4;

/// A target with this query.
pub(crate) fn target(id: &str, what: &str, pairs: &[(&str, &str)]) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let escaped = |text: &str| {
        text.bytes()
            .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
            .collect::<String>()
    };
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect();
    format!("/api/sessions/{id}/{what}?{}", pairs.join("&"))
}

/// A download on its way: its head was read.
pub(crate) struct Download {
    status: String,
    head: String,
    reader: BufReader<TcpStream>,
}

impl Download {
    /// A request by HTTP 1.0: the body is everything after the head.
    pub(crate) fn begin(server: &Server, target: &str) -> Self {
        Self::of(server, &server.head("GET", target).replace("HTTP/1.1", "HTTP/1.0"))
    }

    fn of(server: &Server, request: &str) -> Self {
        let mut stream = server.connect();
        stream.write_all(format!("{request}\r\n").as_bytes()).expect("it listens");
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).expect("a head") > 0, "the head is whole: {head}");
        }
        Self { status: head.split(' ').nth(1).expect("a status").to_owned(), head: head.to_ascii_lowercase(), reader }
    }

    pub(crate) fn body(mut self) -> Vec<u8> {
        let mut body = Vec::new();
        self.reader.read_to_end(&mut body).expect("a body");
        assert_eq!(self.status, "200", "{}", String::from_utf8_lossy(&body));
        body
    }

    pub(crate) fn text(self) -> String {
        String::from_utf8(self.body()).expect("text")
    }

    /// Of an answer in chunks, to its end.
    fn chunked_text(mut self) -> String {
        let mut body = Vec::new();
        loop {
            let mut length = String::new();
            self.reader.read_line(&mut length).expect("the length of a chunk");
            let length = u64::from_str_radix(length.trim(), 16).expect("a length");
            self.reader.by_ref().take(length).read_to_end(&mut body).expect("a chunk");
            self.reader.read_line(&mut String::new()).expect("the end of a chunk");
            if length == 0 {
                return String::from_utf8(body).expect("text");
            }
        }
    }
}

/// A session of these lines, analysed.
fn session(server: &Server, body: &[u8]) -> String {
    let id = server.session(&json!({"name": "/var/log/site access.log.gz", "size": body.len()}));
    assert_eq!(server.put(&id, 0, body).status, 200);
    id
}

/// Output of `convert` for these lines.
fn converted(lines: Vec<u8>, extension: &str) -> String {
    let folder = TestFolder::new();
    let (from, to) = (folder.file("rows.log", lines), folder.text(&format!("rows.{extension}")));
    drop(rorqual(&["convert", &from, "-o", &to]).run().exits(0));
    std::fs::read_to_string(to).expect("it was written")
}

#[test]
fn rows_are_those_that_convert_makes_of_the_lines_that_are_meant() {
    const LINES: u64 = 150_000;
    let server = Server::start(&["--threads", "3", "--sessions", "1", "--memory", "1GiB"]);
    let id = session(&server, &log(LINES));
    // 2025-01-02T01:00:00Z; the lines of a day come again.
    let hour = |number: u64| number / 3_600 % 24;
    type Keep<'a> = &'a dyn Fn(u64) -> bool;
    let cases: [(&[(&str, &str)], Keep<'_>); 4] = [
        (&[], &|_| true),
        (&[("where", "status = 404 and path = /p3")], &|number| number % 3 == 2 && number % 7 == 3),
        (&[("where", "not path = /p1"), ("from", "1735779600"), ("to", "1735783200")], &|number| {
            number % 7 != 1 && hour(number) == 1
        }),
        (&[("where", "bot")], &|_| false),
    ];
    for (view, keep) in cases {
        let meant: Vec<u64> = (0..LINES).filter(|number| keep(*number)).collect();
        let lines: Vec<u8> = meant.iter().flat_map(|number| (line(*number) + "\n").into_bytes()).collect();
        let get = |format: &str| Download::begin(&server, &target(&id, "export", &[&[("format", format)], view].concat()));
        let ndjson = get("ndjson").text();
        assert_eq!(ndjson.lines().count(), meant.len(), "{view:?}");
        // By hand.
        for (row, number) in ndjson.lines().zip(&meant).step_by(97) {
            let row: Value = serde_json::from_str(row).expect("JSON");
            let status = [200, 304, 404][(number % 3) as usize];
            let expected = json!({
                "time": format!("2025-01-02T{:02}:{:02}:{:02}Z", hour(*number), number / 60 % 60, number % 60),
                "client": format!("10.0.{}.{}", number % 5, number % 11), "method": "GET",
                "path": format!("/p{}", number % 7), "query": format!("q={number}"), "protocol": "HTTP/1.1",
                "status": status, "bytes": number % 1_000, "agent": "agent/1.0",
            });
            assert_eq!(row, expected);
        }
        assert!(get("lines").body() == lines, "{view:?}: the lines are not those of the log");
        let csv = get("csv").text();
        let (header, rows) = csv.split_once('\n').expect("a header");
        assert!(header.ends_with(",agent,flaw,line"), "{header}");
        assert_eq!(rows.lines().count(), meant.len());
        let folder = TestFolder::new();
        let parquet = folder.file("rows.parquet", get("parquet").body());
        let again = folder.text("rows.ndjson");
        drop(rorqual(&["convert", &parquet, "-o", &again]).run().exits(0));
        assert!(
            std::fs::read_to_string(again).expect("it was written") == ndjson,
            "{view:?}: Parquet has other rows than NDJSON"
        );
        if !meant.is_empty() {
            assert!(ndjson == converted(lines.clone(), "ndjson"), "{view:?}: NDJSON is not what convert makes");
            let plain = converted(lines, "csv").lines().map(|line| line.to_owned() + ",,\n").collect::<String>();
            assert!(csv.split_once('\n').map(|(_, rows)| rows) == plain.split_once('\n').map(|(_, rows)| rows), "{view:?}: CSV");
        }
    }
    let head = Download::begin(&server, &target(&id, "export", &[("format", "csv")])).head;
    for part in
        ["content-disposition: attachment; filename=\"site_access.csv\"", "content-type: text/csv", "cache-control: no-store"]
    {
        assert!(head.contains(part), "{part} is missing in {head}");
    }
    let schema = |format: &str| {
        let folder = TestFolder::new();
        let file = folder.file("rows.parquet", Download::begin(&server, &target(&id, "export", &[("format", format)])).body());
        rorqual(&["schema", &file]).run().exits(0).text().to_owned()
    };
    let shown = schema("parquet");
    for part in ["time", "status", "uint16", "bytes", "flaw", "line"] {
        assert!(shown.to_ascii_lowercase().contains(part), "{part} is missing in {shown}");
    }
}

#[test]
fn rejected_and_repaired_lines_are_rows_and_have_their_reasons() {
    let server = Server::start(&[]);
    let mut body = log(10);
    body.extend_from_slice(b"no line of an access log\n");
    body.extend_from_slice(b"1.2.3.4 - - [02/Jan/2025:00:00:00 +0000] \"\\x16\\x03\" 400 5 \"-\" \"-\"\n");
    body.extend_from_slice(b"again none\n");
    let id = session(&server, &body);
    let rows = Download::begin(&server, &target(&id, "export", &[("format", "ndjson")])).text();
    let rows: Vec<Value> = rows.lines().map(|row| serde_json::from_str(row).expect("JSON")).collect();
    assert_eq!(rows.len(), 13);
    assert_eq!((&rows[10]["line"], &rows[12]["line"]), (&"no line of an access log".into(), &"again none".into()));
    assert!(rows[10]["flaw"].is_string() && rows[10]["status"].is_null(), "{}", rows[10]);
    assert_eq!((&rows[11]["flaw"], &rows[11]["status"]), (&"request is not 'METHOD target PROTOCOL'".into(), &400.into()));
    let lines = Download::begin(&server, &target(&id, "export", &[("format", "lines")])).body();
    // Nothing of a repaired line is there that could not be read.
    let expected = String::from_utf8(body).expect("text").replace("\\x16\\x03", "-");
    assert_eq!(String::from_utf8(lines).expect("text"), expected);
    let only = Download::begin(&server, &target(&id, "export", &[("format", "ndjson"), ("where", "rejected")])).text();
    assert_eq!(only.lines().count(), 2);
    let rejects = server.get(&format!("/api/sessions/{id}/rejects")).json();
    assert_eq!((&rejects["count"], &rejects["exact"]), (&2.into(), &true.into()));
    let hits = rejects["reasons"].as_array().expect("reasons").iter().map(|reason| reason["hits"].as_u64());
    assert_eq!(hits.sum::<Option<u64>>(), Some(2), "{rejects}");
    assert_eq!(rejects["samples"][1]["text"], "again none");
    assert_eq!(rejects["samples"], server.live(&id)["report"]["rejects"]["samples"]);
}

/// Samples whose rebuilt lines have some value twice, under another key, or with `+` for blanks.
const OTHER_COLUMNS: [&str; 4] = ["azure_gateway.json", "caddy.json", "iis_advanced", "ltsv"];

/// The lines of each sample are read again as the same rows, also of two files in other formats.
#[test]
fn exported_lines_are_a_log_of_the_same_rows() {
    let folder = TestFolder::new();
    let server = Server::start(&["--sessions", "1"]);
    let samples: Vec<_> = std::fs::read_dir(SAMPLES).expect("the samples").map(|entry| entry.expect("a file").path()).collect();
    // What was wrong with a line is not in the line.
    let of = |id: &str, what: &str| Download::begin(&server, &target(id, "export", &[("format", what)])).text();
    let rows = |id: &str| -> Vec<Value> {
        let sound = |row: &str| {
            let mut row: Value = serde_json::from_str(row).expect("JSON");
            row.as_object_mut().expect("a row").remove("flaw");
            row
        };
        of(id, "ndjson").lines().map(sound).collect()
    };
    let mut looked_at = 0;
    for path in samples.iter().filter(|path| path.extension().is_some_and(|extension| extension == "log")) {
        let id = session(&server, &std::fs::read(path).expect("a sample"));
        let (expected, lines) = (rows(&id), of(&id, "lines"));
        let again = session(&server, lines.as_bytes());
        let found = rows(&again);
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        if OTHER_COLUMNS.contains(&name) {
            assert_eq!(found.len(), expected.len(), "{name}");
        } else {
            assert_eq!(found, expected, "{name}");
        }
        looked_at += 1;
    }
    assert!(looked_at > 5, "{looked_at}");
    let combined = String::from_utf8(log(50)).expect("text");
    let json = r#"{"time":"2025-01-03T00:00:00Z","remote_addr":"192.0.2.1","request":"GET /j HTTP/1.1","status":200}"#;
    let (first, second) = (folder.file("a.log", &combined), folder.file("b.log", format!("{json}\n")));
    let files = Server::start(&[&first, &second]);
    let id = files.get("/api/sessions").json()["sessions"][0]["id"].as_str().expect("a session").to_owned();
    files.when_state(&id, "finished");
    let lines = Download::begin(&files, &target(&id, "export", &[("format", "lines")])).text();
    assert!(lines.starts_with(&combined) && lines[combined.len()..].starts_with("{\"") && lines.contains("/j"), "{lines}");
    let table = Server::start(&[&folder.file("t.csv", "a,b\n1,2\n")]);
    let id = table.get("/api/sessions").json()["sessions"][0]["id"].as_str().expect("a session").to_owned();
    table.when_state(&id, "finished");
    table.get(&target(&id, "export", &[("format", "lines")])).refused(400, "no_lines");
}

#[test]
fn no_spreadsheet_takes_a_value_for_a_formula() {
    let server = Server::start(&[]);
    let line = |path: &str, agent: &str| {
        format!("10.0.0.1 - - [02/Jan/2025:00:00:00 +0000] \"GET {path} HTTP/1.1\" 200 1 \"-\" \"{agent}\"\n")
    };
    let body = [
        line("/", "=HYPERLINK(\\\"http://evil.example\\\";1)"),
        line("/", "+1+cmd|' /C calc'!A0"),
        line("/", "-2+3"),
        line("/", "@SUM(1)"),
        line("/", "\tTAB"),
        line("/", "\rCR"),
        line("/a,b", "x=1"),
    ]
    .concat();
    let id = session(&server, body.as_bytes());
    let csv = Download::begin(&server, &target(&id, "export", &[("format", "csv")])).text();
    let row = |path: &str, agent: &str| format!("2025-01-02T00:00:00Z,10.0.0.1,,GET,{path},,HTTP/1.1,200,1,,{agent},,\n");
    let expected = [
        // The log's own escapes stay.
        row("/", "\"'=HYPERLINK(\\\"\"http://evil.example\\\"\";1)\""),
        row("/", "'+1+cmd|' /C calc'!A0"),
        row("/", "'-2+3"),
        row("/", "'@SUM(1)"),
        row("/", "'\tTAB"),
        row("/", "\"'\rCR\""),
        row("\"/a,b\"", "x=1"),
    ]
    .concat();
    assert_eq!(csv.split_once('\n').map(|(_, rows)| rows), Some(&*expected));
    let panel = Download::begin(&server, &target(&id, "panel.csv", &[("field", "agent")])).text();
    assert!(panel.contains("\n'-2+3,1,1,0.142857\n") && panel.contains("\n\"'\rCR\",1,1,0.142857\n"), "{panel}");
    assert!(
        !panel.lines().skip(1).any(|line| line.trim_start_matches('"').starts_with(['=', '+', '-', '@', '\t', '\r'])),
        "{panel}"
    );
    // Only tables are opened by spreadsheets.
    let ndjson = Download::begin(&server, &target(&id, "export", &[("format", "ndjson")])).text();
    assert!(ndjson.contains("\"agent\":\"-2+3\""), "{ndjson}");
}

#[test]
fn texts_beyond_the_memory_are_in_rows_and_few_of_them_in_panels() {
    // More queries than a small memory has room for.
    const LINES: u64 = 1_000_000;
    let server = Server::start(&["--sessions", "1", "--threads", "1", "--memory", "216MiB"]);
    let body = log(LINES);
    let id = session(&server, &body);
    let download = Download::begin(&server, &target(&id, "export", &[("format", "csv")]));
    assert!(download.head.contains("filename=\"site_access.csv\""), "{}", download.head);
    let text = download.text();
    let mut paths = BTreeMap::new();
    for (number, row) in text.lines().skip(1).enumerate() {
        let cells: Vec<&str> = row.split(',').collect();
        assert_eq!(cells[5], format!("q={number}"), "{row}");
        *paths.entry(cells[4].to_owned()).or_insert(0) += 1;
    }
    assert_eq!(paths, Truth::of(&body).paths);
    let queries = Download::begin(&server, &target(&id, "panel.csv", &[("field", "query")])).text();
    assert_eq!(queries.lines().next(), Some("value,hits,bytes,share,hits_min,hits_max"));
    let numbers = |row: &str| -> Vec<u64> { row.split(',').skip(1).filter_map(|cell| cell.parse().ok()).collect() };
    let (listed, others): (Vec<&str>, Vec<&str>) = queries.lines().skip(1).partition(|row| !row.starts_with('…'));
    for row in &listed {
        // Each query comes once.
        assert!(matches!(numbers(row)[..], [1, _, 1, 1]), "{row}");
    }
    assert_eq!(others.len(), 1);
    let others = numbers(others[0])[0];
    assert!(others > 0 && listed.len() as u64 + others == LINES, "{} and {others}", listed.len());
}

#[test]
fn lines_of_a_log_far_above_the_memory_are_all_of_it() {
    const LINES: u64 = 3_000_000;
    let folder = TestFolder::new();
    let expected = log(LINES);
    assert!(expected.len() as u64 > 256 * MIB);
    let file = folder.file("access.log", &expected);
    let server = Server::start(&["--sessions", "1", "--memory", "216MiB", "--no-cache", &file]);
    let id = server.get("/api/sessions").json()["sessions"][0]["id"].as_str().expect("a session").to_owned();
    server.when_state(&id, "finished");
    let mut download = Download::begin(&server, &target(&id, "export", &[("format", "lines")]));
    let (mut at, mut piece) = (0, vec![0; 1 << 20]);
    loop {
        let read = download.reader.read(&mut piece).expect("lines");
        if read == 0 {
            break;
        }
        assert!(expected[at..].starts_with(&piece[..read]), "other lines after byte {at}");
        at += read;
    }
    assert_eq!(at, expected.len());
    server.within(216 * MIB);
}

/// A log in which each line has a client of its own.
fn clients(lines: u32) -> Vec<u8> {
    let line = |number: u32| {
        let ([_, a, b, c], second) = (number.to_be_bytes(), number / 1_000);
        format!(
            "10.{a}.{b}.{c} - - [02/Jan/2025:10:{:02}:{:02} +0000] \"GET / HTTP/1.1\" 200 10 \"-\" \"agent\"\n",
            second / 60 % 60,
            second % 60
        )
    };
    (0..lines).map(line).collect::<String>().into_bytes()
}

/// The number after a flag in a sentence.
fn advised(message: &str, flag: &str) -> Option<String> {
    let value = message.split_once(&format!("{flag} "))?.1;
    Some(value.split([' ', ',', '"']).next().unwrap_or(value).to_owned())
}

#[test]
fn an_export_has_room_with_the_least_settings_that_its_refusal_advises() {
    const LINES: u32 = 250_000;
    let body = clients(LINES);
    let targets = |id: &str| {
        [
            target(id, "export", &[("format", "csv")]),
            target(id, "export", &[("format", "parquet")]),
            target(id, "panel.csv", &[("field", "client")]),
            target(id, "report.html", &[]),
        ]
    };
    let refused = |args: &[&str]| -> Vec<Option<String>> {
        let server = Server::start(args);
        let id = session(&server, &body);
        let answers = targets(&id).map(|target| server.get(&target));
        let told = answers.iter().map(|answer| {
            (answer.status != 200).then(|| {
                let error = answer.refused(503, "export_no_room");
                error["message"].as_str().expect("a message").to_owned()
            })
        });
        told.collect()
    };
    // Distinct values have taken all that they may of either session.
    assert_eq!(refused(&["--memory", "512MiB", "--threads", "2"])[0], None, "rows have room where all rows can go to the file");
    let told = refused(&["--memory", "512MiB", "--threads", "2", "--sessions", "16"]);
    let [_, Some(parquet), _, Some(page)] = &told[..] else { panic!("{told:?}") };
    for message in [parquet, page] {
        let memory = advised(message, "--memory").expect("an amount");
        let again = refused(&["--memory", &memory, "--threads", "2", "--sessions", "16"]);
        let is_parquet = message == parquet;
        assert!(again.iter().enumerate().all(|(at, told)| told.is_none() || (at == 1 && !is_parquet)), "{memory}: {again:?}");
    }
    let sessions = advised(page, "--sessions").expect("a number");
    assert_eq!(refused(&["--memory", "512MiB", "--threads", "2", "--sessions", &sessions])[3], None, "{page}");
    // Without a file more memory alone may not help.
    let told = refused(&["--memory", "512MiB", "--threads", "2", "--sessions", "16", "--temp-max", "0"]);
    let page = told[3].as_ref().expect("no room");
    assert!(page.contains("--temp-max"), "{page}");
    let memory = advised(page, "--memory").expect("an amount");
    assert_eq!(refused(&["--memory", &memory, "--threads", "2", "--sessions", "16"])[3], None, "{page}");
}

#[test]
fn statuses_and_whole_requests_have_all_their_values() {
    let server = Server::start(&[]);
    let id = session(&server, &log(3_000));
    let rows = |field: &str| {
        let text = Download::begin(&server, &target(&id, "panel.csv", &[("field", field)])).text();
        let rows = text.strip_prefix("value,hits,bytes,share\n").expect("a header");
        rows.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let statuses = rows("status");
    assert_eq!(statuses.len(), 3);
    assert!(statuses.iter().all(|row| row.contains(",1000,") && row.ends_with(",0.333333")), "{statuses:?}");
    let (urls, paths) = (rows("url"), rows("path"));
    assert_eq!(urls.len(), 3_000, "each has a query of its own");
    assert!(urls.contains(&"/p3?q=10,1,10,0.000333".to_owned()), "{:?}", &urls[..3]);
    assert_eq!(paths.len(), 7);
}

#[test]
fn a_panel_has_all_its_values() {
    let server = Server::start(&["--sessions", "1"]);
    let body = log(30_000);
    let id = session(&server, &body);
    let truth = Truth::of(&body);
    let values = |pairs: &[(&str, &str)]| -> BTreeMap<String, u64> {
        let download = Download::begin(&server, &target(&id, "panel.csv", pairs));
        assert!(download.head.contains(&format!("filename=\"site_access-{}.csv\"", pairs[0].1)), "{}", download.head);
        let text = download.text();
        let rows = text.strip_prefix("value,hits,bytes,share\n").expect("a header");
        let row = |row: &str| {
            let cells: Vec<&str> = row.split(',').collect();
            (cells[0].to_owned(), cells[1].parse().expect("a number"))
        };
        rows.lines().map(row).collect()
    };
    assert_eq!(values(&[("field", "path")]), truth.paths);
    let queries = values(&[("field", "query")]);
    assert_eq!((queries.len(), queries.get("q=29999")), (30_000, Some(&1)));
    let meant = values(&[("field", "path"), ("where", "path in (/p1, /p2) and status = 200")]);
    let expected = |path: u64| (0..30_000).filter(|number| number % 7 == path && number % 3 == 0).count() as u64;
    assert_eq!(meant, BTreeMap::from([("/p1".to_owned(), expected(1)), ("/p2".to_owned(), expected(2))]));
}

#[test]
fn a_page_of_a_view_names_its_filter() {
    let server = Server::start(&[]);
    let body = log(100_000);
    let id = session(&server, &body);
    let filter = "path ~ \"<b>|/p3\" and status = 404";
    let page = Download::begin(&server, &target(&id, "report.html", &[("where", filter), ("from", "1735776000")])).text();
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    assert!(
        page.contains("<code>path ~ &quot;&lt;b&gt;|&#x2f;p3&quot; and status = 404</code> from 2025-01-02 00:00:00"),
        "{page}"
    );
    let meant = (0..100_000).filter(|number| number % 7 == 3 && number % 3 == 2).count();
    assert_eq!(meant, 4_762);
    for part in
        ["<dt>parsed</dt><dd>4,762</dd>", "<dt>left out by the filter</dt><dd>95,238</dd>", "<dt>lines</dt><dd>100,000</dd>"]
    {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("/p2"), "a path that is not meant");
    // Without a filter it is the page of the command line, but for its time and its costs.
    let all = Download::begin(&server, &target(&id, "report.html", &[])).text();
    assert!(!all.contains("A part of the log") && !all.contains("Not the whole log"));
    let folder = TestFolder::new();
    let (file, html) = (folder.file("site access.log", body), folder.text("page.html"));
    drop(rorqual(&["logs", "--html", &html, "--top", "25", &file]).run().exits(0));
    let printed = std::fs::read_to_string(html).expect("it was written");
    let between = |page: &str| {
        let start = page.find("<div class=\"panels\">").expect("panels");
        page[start..page.find("data-field=\"protocol\"").expect("a panel")].to_owned()
    };
    assert_eq!(between(&all), between(&printed));
}

#[test]
fn what_is_no_export_is_refused() {
    let server = Server::start(&[]);
    let id = session(&server, &log(100));
    let get = |what: &str, pairs: &[(&str, &str)]| server.get(&target(&id, what, pairs));
    let error = get("export", &[("format", "csv"), ("where", "path = ")]).refused(400, "bad_filter");
    assert_eq!(error["column"], 7);
    get("export", &[("format", "xlsx")]).refused(400, "bad_request");
    get("export", &[]).refused(400, "bad_request");
    get("export", &[("format", "csv"), ("from", "soon")]).refused(400, "bad_request");
    get("export", &[("format", "csv"), ("from", "NaN")]).refused(400, "bad_request");
    get("export", &[("format", "csv"), ("limit", "5")]).refused(400, "bad_request");
    get("panel.csv", &[("field", "colour")]).refused(400, "bad_request");
    get("panel.csv", &[]).refused(400, "bad_request");
    get("report.html", &[("where", "x x")]).refused(400, "bad_filter");
    server.get("/api/sessions/none/export?format=csv").refused(404, "no_session");
    let waiting = server.session(&json!({}));
    server.get(&target(&waiting, "export", &[("format", "csv")])).refused(409, "nothing_read");
    server.request("POST", &target(&id, "export", &[("format", "csv")]), b"").refused(405, "method_not_allowed");
}

/// An export that nobody reads on.
fn stalled(server: &Server, id: &str, format: &str) -> Download {
    let download = Download::of(server, &server.head("GET", &target(id, "export", &[("format", format)])));
    assert_eq!(download.status, "200");
    download
}

#[test]
fn a_client_that_asks_again_at_once_finds_its_place_free() {
    let server = Server::start(&["--sessions", "1"]);
    let id = session(&server, &log(300_000));
    // Of all places but one.
    let held: Vec<Download> = (1..PLACES).map(|_| stalled(&server, &id, "csv")).collect();
    for asked in 0..200 {
        let answer = server.get(&target(&id, "panel.csv", &[("field", "status")]));
        assert_eq!(answer.status, 200, "{asked}: {answer:?}");
    }
    drop(held);
}

#[test]
fn slow_readers_hold_up_nobody_and_places_come_back() {
    let server = Server::start(&["--sessions", "1"]);
    // More than sockets take on their way.
    let body = log(300_000);
    let id = session(&server, &body);
    let readers: Vec<Download> = (0..PLACES).map(|_| stalled(&server, &id, "csv")).collect();
    let refused = server.get(&target(&id, "export", &[("format", "csv")]));
    refused.refused(503, "exports_full");
    assert!(refused.head.contains("retry-after: "), "{}", refused.head);
    server.get(&target(&id, "panel.csv", &[("field", "path")])).refused(503, "exports_full");
    let viewed = server.request("POST", &format!("/api/sessions/{id}/view"), br#"{"where": "status = 404"}"#);
    assert_eq!((viewed.status, viewed.json()["lines"]["matching"].as_u64()), (200, Some(100_000)));
    // One is read to its end after all, the others leave in the middle.
    let mut readers = readers.into_iter();
    let slow = readers.next().expect("one of them");
    drop(readers);
    eventually("a place", || {
        Some(server.get(&target(&id, "panel.csv", &[("field", "path")]))).filter(|answer| answer.status == 200)
    });
    let text = slow.chunked_text();
    assert_eq!(text.lines().count(), 300_001);
    let again: Vec<Download> = (0..PLACES)
        .map(|_| {
            eventually("a place", || {
                let download = Download::of(&server, &server.head("GET", &target(&id, "export", &[("format", "ndjson")])));
                Some(download).filter(|download| download.status == "200")
            })
        })
        .collect();
    // Their session goes, though nobody reads them.
    assert_eq!(server.request("DELETE", &format!("/api/sessions/{id}"), b"").status, 204);
    for download in again {
        let mut rest = Vec::new();
        let _ = { download.reader }.read_to_end(&mut rest);
        assert!(!rest.ends_with(b"0\r\n\r\n"), "an export that broke off looks whole");
    }
    let other = session(&server, &log(100));
    let text = eventually("a place", || {
        let download = Download::begin(&server, &target(&other, "export", &[("format", "csv")]));
        (download.status == "200").then(|| download.text())
    });
    assert_eq!(text.lines().count(), 101);
}

#[test]
fn an_export_has_the_rows_that_were_there_when_it_began() {
    let server = Server::start(&["--sessions", "1", "--memory", "1GiB"]);
    let body = log(400_000);
    let half = 200_000;
    let cut = body.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(half - 1).expect("so many lines").0 + 1;
    let id = server.session(&json!({"name": "access.log", "size": body.len()}));
    let mut upload = server.begin_put(&id, 0, body.len() as u64);
    upload.write_all(&body[..cut]).expect("it listens");
    let matching = || server.request("POST", &format!("/api/sessions/{id}/view"), b"{}").json()["lines"]["matching"].clone();
    eventually("half of the rows", || (matching() == half).then_some(()));
    let download = stalled(&server, &id, "csv");
    assert!(download.head.contains("filename=\"access-partial.csv\""), "{}", download.head);
    upload.write_all(&body[cut..]).expect("it listens");
    assert_eq!(read_answer(&mut upload).status, 200);
    assert_eq!(matching(), 400_000);
    let text = download.chunked_text();
    let rows: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(rows.len(), half);
    for (number, row) in rows.iter().enumerate().step_by(1_009) {
        assert!(row.contains(&format!(",q={number},")), "row {number} is {row}");
    }
}

#[test]
fn a_log_far_above_the_memory_is_exported_in_it() {
    const MEMORY: u64 = 320 * MIB;
    let server = Server::start(&["--memory", "320MiB", "--sessions", "1", "--threads", "2"]);
    let block = log(9_000);
    let times = 300 * MIB / block.len() as u64;
    let id = server.session(&json!({"name": "access.log", "size": times * block.len() as u64}));
    let mut upload = server.begin_put(&id, 0, times * block.len() as u64);
    (0..times).for_each(|_| upload.write_all(&block).expect("it listens"));
    assert_eq!(read_answer(&mut upload).status, 200);
    let slow = stalled(&server, &id, "parquet");
    let csv = Download::begin(&server, &target(&id, "export", &[("format", "csv")]));
    let (mut lines, mut reader, mut buffer) = (0, csv.reader, vec![0; 1 << 20]);
    loop {
        let read = reader.read(&mut buffer).expect("a body");
        lines += buffer[..read].iter().filter(|byte| **byte == b'\n').count() as u64;
        if read == 0 {
            break;
        }
    }
    assert_eq!(lines, 9_000 * times + 1);
    drop(slow);
    let folder = TestFolder::new();
    // There is room for this one when the server has seen that the slow reader left.
    let whole = eventually("the room of the reader that left", || {
        let download = Download::begin(&server, &target(&id, "export", &[("format", "parquet")]));
        (download.status == "200").then(|| download.body())
    });
    let parquet = folder.file("rows.parquet", whole);
    let peak = server.running.peak_bytes();
    assert!(peak <= MEMORY, "{} MiB", peak / MIB);
    let found = rorqual(&["get", &parquet, "query=q=8999"]).run().exits(0);
    assert_eq!(found.text().lines().count() as u64, times);
}

/// Requests of 0.5 s, 1 s, 1.000001 s, 2.5 s, and one without a time; their upstreams took 0.9 s,
/// 1.1 s and so on.
#[test]
fn times_have_one_unit_wherever_they_are_asked_for() {
    let times = [("0.500", "0.9"), ("1.000", "1.1"), ("1.000001", "-"), ("2.500", "1.000001"), ("-", "-")];
    let line = |(request, upstream): &(&str, &str)| {
        format!("10.0.0.1 [02/Jan/2025:01:00:00 +0000] \"GET / HTTP/1.1\" 200 {request} {upstream}\n")
    };
    let body: String = times.iter().map(line).collect();
    let format = "$remote_addr [$time_local] \"$request\" $status $request_time $upstream_response_time";
    let folder = TestFolder::new();
    let log = folder.file("access.log", &body);
    let counted = |filter: &str| {
        let report = rorqual(&["logs", "--json", "--format", format, "--where", filter, &log]).run().exits(0).json();
        report["lines"]["parsed"].as_u64().expect("a number")
    };
    assert_eq!((counted("request_time > 1"), counted("upstream_time > 1")), (2, 2));
    let above_one = |ndjson: &str, name: &str| {
        let rows: Vec<Value> = ndjson.lines().map(|row| serde_json::from_str(row).expect("JSON")).collect();
        rows.iter().filter(|row| row[name].as_f64().is_some_and(|seconds| seconds > 1.0)).count()
    };
    let rows = folder.text("rows.ndjson");
    drop(rorqual(&["convert", "--format", format, &log, "-o", &rows]).run().exits(0));
    let rows = std::fs::read_to_string(rows).expect("it was written");
    assert_eq!((above_one(&rows, "request_time"), above_one(&rows, "upstream_time")), (2, 2));
    assert!(rows.contains("1.000001"), "{rows}");
    let server = Server::start(&[]);
    let id = server.session(&json!({"size": body.len(), "format": format}));
    assert_eq!(server.put(&id, 0, body.as_bytes()).status, 200);
    let exported = Download::begin(&server, &target(&id, "export", &[("format", "ndjson")])).text();
    assert_eq!((above_one(&exported, "request_time"), above_one(&exported, "upstream_time")), (2, 2));
    let meant = Download::begin(&server, &target(&id, "export", &[("format", "ndjson"), ("where", "request_time > 1")])).text();
    assert_eq!(meant.lines().count(), 2);
}

#[test]
fn the_host_before_a_line_is_a_column_everywhere() {
    let line = |host: &str| {
        format!("Nov 22 10:11:12 {host} nginx: 10.0.0.1 - - [22/Nov/2024:10:11:12 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"a\"\n")
    };
    let body = [line("web1"), line("web2"), line("web2")].concat();
    let folder = TestFolder::new();
    let log = folder.file("access.log", &body);
    let report = rorqual(&["logs", "--json", &log]).run().exits(0).json();
    assert_eq!(report["sources"][0]["format"], "syslog+combined");
    assert_eq!(report["sources"][0]["guess"], json!({"lines": 3, "sound": 3, "unread": null}));
    let panels = report["panels"].as_array().expect("panels");
    let panel = panels.iter().find(|panel| panel["field"] == "source").expect("a panel");
    assert_eq!((&panel["rows"][0]["value"], &panel["rows"][0]["hits"]), (&json!("web2"), &json!(2)));
    let meant = rorqual(&["logs", "--json", "--where", "source = web2", &log]).run().exits(0).json();
    assert_eq!((&meant["lines"]["parsed"], &meant["clients"]["count"]), (&json!(2), &json!(1)));
    assert!(converted(body.clone().into_bytes(), "csv").lines().next().is_some_and(|head| head.ends_with(",source")));
    let server = Server::start(&[]);
    let id = session(&server, body.as_bytes());
    let report = &server.live(&id)["report"];
    assert_eq!(
        (&report["sources"][0]["guess"]["sound"], &report["sources"][0]["format"]),
        (&json!(3), &json!("syslog+combined"))
    );
    let exported = Download::begin(&server, &target(&id, "export", &[("format", "ndjson"), ("where", "source = web1")])).text();
    assert_eq!(exported.lines().count(), 1);
    assert!(exported.contains("\"source\":\"web1\""), "{exported}");
}

/// A view as SQL: the text, or the code of the refusal and its words.
#[test]
fn a_view_is_sql_or_says_what_is_not() {
    let folder = TestFolder::new();
    let access = folder.file("it's.log", log(3));
    let other = folder.file("b.log", log(3));
    let nested = folder.file("nested.ndjson", "{\"event\":{\"time\":\"2026-01-27T10:00:00Z\"},\"n\":1}\n".repeat(3));
    let timeless = folder.file("timeless.csv", "n,m\n1,2\n3,4\n");
    let w3c = "#Version: 1.0\n#Fields: date time c-ip cs-method cs-uri-stem sc-status\n2026-01-01 00:00:01 192.0.2.1 GET /a 200\n\
               #Fields: date time c-ip cs-method cs-uri-stem sc-status cs(User-Agent)\n2026-01-01 00:00:02 192.0.2.2 GET /b 200 curl\n";
    let w3c = folder.file("w3c.log", w3c);
    let (named, span) = (access.replace('\'', "''"), "from=1735776000&to=1735776060.5");
    for (files, query, expected) in [
        (&[&access][..], "", Ok(format!("SELECT * FROM '{named}'"))),
        (&[&access], "where=path%3D%22it%27s%22", Ok(format!("SELECT * FROM '{named}' WHERE \"path\" = 'it''s'"))),
        (
            &[&access],
            span,
            Ok(format!(
                "SELECT * FROM '{named}' WHERE \"time\" >= '2025-01-02T00:00:00Z' AND \"time\" < '2025-01-02T00:01:00.5Z'"
            )),
        ),
        (&[&access], "where=bot", Err((422, "no_sql", "'bot' is not a column"))),
        (&[&access], "where=status%3D", Err((400, "bad_filter", "status"))),
        (&[&access], "from=NaN", Err((400, "bad_request", "finite"))),
        (&[&access, &other], "", Err((422, "no_sql", "several files"))),
        (&[&nested], "where=n%3D1", Ok(format!("SELECT * FROM '{nested}' WHERE \"n\" = 1"))),
        (&[&nested], span, Err((422, "no_sql", "no time that can be used"))),
        (&[&timeless], span, Err((422, "no_sql", "no time that can be used"))),
        // A later line says the column: the query refuses the file, and no row is lost in silence.
        (&[&w3c], "where=agent%3Dcurl", Ok(format!("SELECT * FROM '{w3c}' WHERE \"agent\" = 'curl'"))),
    ] {
        let files: Vec<&str> = files.iter().map(|file| file.as_str()).collect();
        let server = Server::start(&files);
        let id = server.get("/api/sessions").json()["sessions"][0]["id"].as_str().expect("a session").to_owned();
        server.when_state(&id, "finished");
        let answer = server.get(&format!("/api/sessions/{id}/sql?{query}"));
        match expected {
            Ok(sql) => assert_eq!(answer.json()["sql"], sql, "{files:?} {query}"),
            Err((status, code, words)) => {
                let error = answer.refused(status, code);
                assert!(error["message"].as_str().expect("words").contains(words), "{files:?} {query}: {error}");
            }
        }
    }
}
