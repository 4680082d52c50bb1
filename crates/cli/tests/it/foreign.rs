//! Inputs that are no plain logs: archives and other files are refused by name, and UTF-16 is read.

use crate::client::Server;
use crate::common::{PROGRAM, TestFolder, Truth, comparable, log, rorqual};
use rorqual_testkit::paths::gzip;
use serde_json::json;

/// A tar archive of one file, as POSIX has it.
fn tar(name: &str, content: &[u8]) -> Vec<u8> {
    let mut header = vec![0u8; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    header[156] = b'0';
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let padding = vec![0; content.len().next_multiple_of(512) - content.len() + 1024];
    [header, content.to_vec(), padding].concat()
}

#[test]
fn an_archive_is_no_log_for_any_verb() {
    let folder = TestFolder::new();
    let archive = tar("logs/access.log", &log(20_000));
    for (name, stored) in [("x.tar", archive.clone()), ("x.tar.gz", gzip(&archive))] {
        let file = folder.file(name, &stored);
        let said = format!("{file}: this is a tar archive (logs/access.log, and perhaps more), and no ");
        let command = format!("tar -xOf {file} logs/access.log | rorqual ");
        rorqual(&["logs", &file]).run().exits(2).says(&[&said, &format!("{command}logs -")]);
        rorqual(&["logs", "--format", "combined", &file]).run().exits(2).says(&[&said]);
        for verb in ["head", "schema"] {
            rorqual(&[verb, &file]).run().exits(2).says(&[&said, &format!("{command}convert -")]);
        }
        rorqual(&["logs", "-"])
            .stdin(stored.clone())
            .run()
            .exits(2)
            .says(&["this is a tar archive", "tar -xOf FILE logs/access.log"]);
        // The command that is named does it.
        let read = std::process::Command::new("tar").args(["-xOf", &file, "logs/access.log"]).output().expect("tar");
        let report = rorqual(&["logs", "--json", "-"]).stdin(read.stdout).run().exits(0).json();
        Truth::of(&log(20_000)).check(&report);
        // Bytes are bytes for those that ask for no more.
        let counted = rorqual(&["count", "--json", &file]).run().exits(0).json();
        assert_eq!(counted["total"]["bytes"], json!(archive.len()));
    }
    let server = Server::start(&[]);
    let id = server.session(&json!({"size": archive.len()}));
    let refused = server.put(&id, 0, &archive).refused(422, "unknown_format");
    assert!(
        refused["message"]
            .as_str()
            .is_some_and(|said| said.contains("this is a tar archive (logs/access.log, and perhaps more)")),
        "{refused}"
    );
    assert_eq!(refused["lines"], json!([]));
}

#[test]
fn one_member_that_is_all_there_is_said_as_one() {
    let folder = TestFolder::new();
    let file = folder.file("x.tar", tar("access.log", &log(3)));
    rorqual(&["logs", &file]).run().exits(2).says(&[&format!("{file}: this is a tar archive (access.log), and no access log. ")]);
}

#[test]
fn blank_lines_alone_are_said() {
    let folder = TestFolder::new();
    let file = folder.file("blank.log", b"\n \n\r\n");
    let ran = rorqual(&["logs", &file]).run().exits(2);
    ran.says(&[&format!("{file}: there are blank lines and nothing else")]);
}

/// Lines beyond 16 KiB, as Kubernetes' and Docker's files have them: each piece is rejected by its
/// own reason, and their number is said.
#[test]
fn pieces_of_long_lines_are_counted_apart() {
    let folder = TestFolder::new();
    let line = r#"203.0.113.9 - - [22/Nov/2024:10:11:12 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl/8""#;
    let piece = "x".repeat(16 << 10);
    let cri = |tag: &str, text: &str| format!("2024-11-22T10:11:12.1Z stdout {tag} {text}\n");
    let docker = |text: &str| format!("{}\n", json!({"log": text, "stream": "stdout", "time": "2024-11-22T10:11:12Z"}));
    let whole = format!("{line}\n");
    let cri_log = [cri("F", line).repeat(20), cri("P", &piece).repeat(2), cri("F", "end")].concat();
    let docker_log = [docker(&whole).repeat(20), docker(&piece).repeat(2), docker("end\n")].concat();
    for (name, log) in [("cri.log", cri_log), ("docker.log", docker_log)] {
        let file = folder.file(name, log.as_bytes());
        let report = rorqual(&["logs", "--json", &file]).run().exits(0).json();
        let lines = json!({"total": 23, "parsed": 20, "repaired": 0, "rejected": 3, "pieces": 2, "outside": 0, "blank": 0});
        assert_eq!(report["lines"], lines, "{name}");
        let ran = rorqual(&["logs", &file]).run().exits(0);
        let shown = String::from_utf8_lossy(&ran.stdout);
        for part in ["3 rejected, 2 of them pieces of lines that the container's runtime cut", "a piece of a line that"] {
            assert!(shown.contains(part), "{shown}");
        }
    }
}

#[test]
fn binary_data_is_said_before_it_is_shown_and_not_shown() {
    let folder = TestFolder::new();
    let noise: Vec<u8> = (0u32..40_000).flat_map(|n| n.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
    let file = folder.file("core", [b"\x7fELF".to_vec(), noise.clone()].concat());
    let ran = rorqual(&["logs", &file]).run().exits(2);
    ran.says(&[&format!("{file}: this is a program (ELF), and no access log. ")]);
    assert!(ran.stderr.len() < 300, "{}", ran.stderr);
    let unnamed = folder.file("noise", noise);
    let ran = rorqual(&["logs", &unnamed]).run().exits(2);
    ran.says(&["this is binary data"]);
    assert!(ran.stderr.len() < 300 && ran.stderr.is_ascii(), "{}", ran.stderr);
}

#[test]
fn other_logs_are_named_with_the_way_on() {
    let folder = TestFolder::new();
    let errors =
        folder.file("error.log", "2024/11/22 10:11:12 [error] 31#31: *5 open() \"/x\" failed, client: 203.0.113.9\n".repeat(9));
    rorqual(&["logs", &errors]).run().exits(2).says(&["this is an error log of nginx, and no access log", "access_log"]);
    let apache = "[Wed Oct 11 14:32:52 2000] [error] [client 203.0.113.9] client denied by server configuration: /x\n";
    let apache = folder.file("apache.log", apache.repeat(9));
    for verb in ["logs", "summary", "head"] {
        rorqual(&[verb, &apache]).run().exits(2).says(&["this is an error log of Apache"]);
    }
    let application = folder.file("app.json", "{\"level\":\"info\",\"msg\":\"it runs\"}\n".repeat(9));
    let report = rorqual(&["logs", &application]).run().exits(0).text().to_owned();
    assert!(report.contains("msg") && report.contains("it runs"), "{report}");
    // From a pipe its columns are not looked for.
    let said = std::process::Command::new("bash").args(["-c", &format!("'{PROGRAM}' logs - < <(cat {application})")]).output();
    let said = String::from_utf8_lossy(&said.expect("bash").stderr).into_owned();
    assert!(said.contains("JSON without requests"), "{said}");
}

/// Commands that messages name, run as they stand there.
#[test]
fn the_way_on_from_iis_and_caddy_gives_the_requests() {
    let folder = TestFolder::new();
    let iis = "192.0.2.7, -, 03/20/01, 7:55:20, W3SVC2, SALES1, 172.21.13.45, 4502, 163, 3223, 200, 0, GET, /a.gif, -,\r\n\
               192.0.2.8, jane, 12/31/01, 23:05:01, W3SVC2, SALES1, 172.21.13.45, 60, 275, 0, 404, 2, POST, /b.asp, a=1,\r\n";
    let caddy = "2024/01/23 23:27:57.060\tinfo\thttp.log.access.log0\thandled request\t{\"request\": {\"remote_ip\": \"192.0.2.7\", \
                 \"proto\": \"HTTP/2.0\", \"method\": \"GET\", \"host\": \"example.com\", \"uri\": \"/a{b}\"}, \"duration\": 0.5, \
                 \"size\": 754, \"status\": 200}\n";
    for (name, text, expected) in
        [("ex010320.log", iis, [2.0, 3_223.0, 985_074_920.0]), ("caddy.log", caddy, [1.0, 754.0, 1_706_052_477.06])]
    {
        let file = folder.file(name, text);
        let said = rorqual(&["logs", &file]).run().exits(2).stderr;
        let start = said.find(": rorqual logs").or_else(|| said.find(": sed")).expect("a command") + 2;
        let end = said[start..].find("; where").or_else(|| said[start..].find(". Caddy")).expect("its end");
        let command = said[start..start + end].replace("rorqual logs", &format!("'{PROGRAM}' logs --json"));
        let ran = std::process::Command::new("bash").args(["-c", &command]).output().expect("bash");
        let report: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{command}: {ran:?}"));
        let found = [&report["lines"]["parsed"], &report["bytes_sent"], &report["time"]["first"]];
        assert_eq!(found.map(|number| number.as_f64()), expected.map(Some), "{command}\n{report}");
    }
}

fn utf16(text: &[u8], mark: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    format!("{mark}{}", String::from_utf8_lossy(text)).encode_utf16().flat_map(unit).collect()
}

#[test]
fn utf16_is_read_as_the_same_text_in_utf8() {
    let folder = TestFolder::new();
    let text = log(5_000);
    let plain = folder.file("plain.log", &text);
    let expected = comparable(rorqual(&["logs", "--json", &plain]).run().exits(0).json());
    let rows = rorqual(&["convert", &plain, "--to", "ndjson", "-o", "-"]).run().exits(0);
    let server = Server::start(&[]);
    for (name, stored) in [
        ("le.log", utf16(&text, "", u16::to_le_bytes)),
        ("be.log", utf16(&text, "", u16::to_be_bytes)),
        ("le-mark.log", utf16(&text, "\u{feff}", u16::to_le_bytes)),
        ("be-mark.log", utf16(&text, "\u{feff}", u16::to_be_bytes)),
        ("le.log.gz", gzip(&utf16(&text, "\u{feff}", u16::to_le_bytes))),
        ("utf8-mark.log", [b"\xef\xbb\xbf".to_vec(), text.clone()].concat()),
    ] {
        let file = folder.file(name, &stored);
        for threads in ["1", "2"] {
            let mut report = comparable(rorqual(&["logs", "--json", "--threads", threads, &file]).run().exits(0).json());
            report["sources"][0]["bytes"] = expected["sources"][0]["bytes"].clone();
            assert_eq!(report, expected, "{name}");
        }
        let mut piped = comparable(rorqual(&["logs", "--json", "-"]).stdin(stored.clone()).run().exits(0).json());
        piped["sources"][0]["bytes"] = expected["sources"][0]["bytes"].clone();
        assert_eq!(piped, expected, "{name}");
        let ran = rorqual(&["convert", &file, "--to", "ndjson", "-o", "-"]).run().exits(0);
        assert_eq!(ran.text(), rows.text(), "{name}");
        let id = server.session(&json!({"size": stored.len()}));
        assert_eq!(server.put(&id, 0, &stored).status, 200, "{name}");
        assert_eq!(server.live(&id)["report"]["lines"]["parsed"], 5_000, "{name}");
    }
}

/// Lines of real logs, for which a guess had been found that read them wrong.
#[test]
fn what_only_looks_like_a_log_is_no_log() {
    let folder = TestFolder::new();
    let lines = [
        // More hyphens than any known format has.
        r#"203.0.113.9 - - - [23/Jul/2024:13:35:35 -0300] "GET /a HTTP/1.1" 200 605 "-" "curl/8.0""#,
        r#"203.0.113.9 - - bob - [10/Oct/2023:13:55:36 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl""#,
        "203.0.113.9 - - -",
        "web1 - - - started",
        // The comma is that of the clock.
        "2024-10-10 12:59:53,237 ERROR c.x.Handler [qtp-1] Failed login\n2024-10-10 12:59:54,100 INFO c.x.Handler [qtp-1] Started",
    ];
    for line in lines {
        let file = folder.file("some.log", format!("{line}\n"));
        rorqual(&["logs", &file]).run().exits(2).says(&["this is in none of the known log formats"]);
    }
    // Commands of FTP, in W3C's format.
    let ftp = "#Software: Microsoft Internet Information Services 8.5\n#Fields: date time c-ip cs-username s-ip s-port cs-method \
               cs-uri-stem sc-status sc-win32-status sc-substatus x-session x-fullpath\n2015-10-18 20:59:32 127.0.0.1 - \
               127.0.0.1 21 USER administrator 331 0 0 9eb0dc66 -\n";
    let ftp = folder.file("ftp.log", ftp);
    rorqual(&["logs", &ftp]).run().exits(2).says(&["in W3C's format without columns of requests, and no access log"]);
}

/// Caddy writes a status of 0 where nothing was answered; other programs that have paths, methods
/// and addresses have no status.
#[test]
fn a_status_of_nothing_is_one_and_no_status_is_none() {
    let folder = TestFolder::new();
    let unanswered = r#"{"level":"info","ts":1646861401.5,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"203.0.113.9","method":"GET","host":"example.com","uri":"/a"},"duration":0.01,"size":0,"status":0}"#;
    let caddy = folder.file("caddy.log", format!("{unanswered}\n").repeat(3));
    let report = rorqual(&["logs", "--json", &caddy]).run().exits(0).json();
    assert_eq!((&report["schema"], &report["lines"]["parsed"]), (&json!("rorqual.logs/1"), &json!(3)));
    let audit = r#"{"time":"2026-01-27T14:10:00Z","ip":"203.0.113.9","method":"GET","path":"/a","user":"x","allowed":true}"#;
    let audit = folder.file("audit.log", format!("{audit}\n").repeat(3));
    let report = rorqual(&["logs", "--json", &audit]).run().exits(0).json();
    assert_eq!(report["schema"], json!("rorqual.summary/1"));
}

#[test]
fn what_no_line_has_is_unknown_and_not_nothing() {
    let folder = TestFolder::new();
    let file = folder.file(
        "iis.log",
        "#Software: Microsoft Internet Information Services 10.0\n#Fields: date time cs-method cs-uri-stem sc-status\n\
         2024-01-01 00:00:00 GET /a 200\n",
    );
    let report = rorqual(&["logs", &file]).run().exits(0).text().to_owned();
    assert!(report.contains("UTC, sizes unknown, clients unknown"), "{report}");
    let page = rorqual(&["logs", "--html", "-", &file]).run().exits(0).text().to_owned();
    assert!(page.contains("<dt>clients</dt><dd>unknown</dd>") && page.contains("<dt>sent</dt><dd>unknown</dd>"));
    // Zeek's HTTP log names both.
    let zeek = folder.file(
        "http.log",
        r#"{"ts":1588206738.09,"uid":"C1","id.orig_h":"203.0.113.9","id.resp_h":"192.168.0.4","id.resp_p":80,"method":"GET","host":"example.com","uri":"/a","user_agent":"curl","request_body_len":0,"response_body_len":209,"status_code":200}"#,
    );
    let report = rorqual(&["logs", "--json", &zeek]).run().exits(0).json();
    assert_eq!((&report["bytes_sent"], &report["clients"]["count"]), (&json!(209), &json!(1)));
}

#[test]
fn utf16_tables_are_read() {
    let folder = TestFolder::new();
    let csv = folder.file("a.csv", utf16(b"name,n\nJ\xc3\xbcrgen,1\nb,2\n", "\u{feff}", u16::to_le_bytes));
    assert_eq!(rorqual(&["head", &csv]).run().exits(0).text(), "{\"name\":\"Jürgen\",\"n\":1}\n{\"name\":\"b\",\"n\":2}\n");
    let json = folder.file("a.json", utf16(b"[{\"a\":1},{\"a\":2}]", "", u16::to_be_bytes));
    assert_eq!(rorqual(&["head", &json]).run().exits(0).text(), "{\"a\":1}\n{\"a\":2}\n");
    let cut = folder.file("cut.csv", [utf16(b"a,b\n1,2\n", "\u{feff}", u16::to_le_bytes), vec![b'x']].concat());
    rorqual(&["convert", &cut, "--to", "ndjson", "-o", "-"]).run().exits(2).says(&["half a character", "byte 18"]);
}
