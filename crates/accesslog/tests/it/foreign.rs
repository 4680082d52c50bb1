//! Inputs that are no access log: what they are is said, and none is taken for a log.

use rorqual_accesslog::format::{Archive, ForeignContent, TextKind, detect};

const LINE: &str = "203.0.113.9 - - [22/Nov/2024:10:11:12 +0000] \"GET /a HTTP/1.1\" 200 5 \"-\" \"curl/8\"\n";

/// A member of a tar archive as POSIX has it, made by hand.
fn tar_member(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
    let mut header = vec![0u8; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..107].copy_from_slice(b"0000644");
    header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    header[136..147].copy_from_slice(b"14723456701");
    header[156] = kind;
    header[257..265].copy_from_slice(b"ustar\x0000");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let padding = vec![0; content.len().next_multiple_of(512) - content.len()];
    [header, content.to_vec(), padding].concat()
}

fn tar(members: &[Vec<u8>]) -> Vec<u8> {
    [members.concat(), vec![0; 1024]].concat()
}

/// A member of a zip archive, stored as it is.
fn zip_member(name: &str, content: &[u8]) -> Vec<u8> {
    let size = (content.len() as u32).to_le_bytes();
    let name_bytes = (name.len() as u16).to_le_bytes();
    let header = [&b"PK\x03\x04\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0"[..], &size, &size, &name_bytes, &[0, 0]].concat();
    [header, name.as_bytes().to_vec(), content.to_vec()].concat()
}

fn archive(archive: Archive, members: &[&str], more: impl Into<Option<bool>>) -> ForeignContent {
    ForeignContent::Archive { archive, members: members.iter().map(|name| (*name).to_owned()).collect(), more: more.into() }
}

fn found(sample: &[u8]) -> Option<ForeignContent> {
    detect(sample, &[]).expect_err("no log").foreign
}

/// A member of a cpio archive in the new ASCII format, made by hand.
fn cpio_member(name: &str, mode: u32, content: &[u8]) -> Vec<u8> {
    let fields = [1, mode, 0, 0, 1, 0, content.len() as u32, 0, 0, 0, 0, name.len() as u32 + 1, 0];
    let mut member = b"070701".to_vec();
    fields.iter().for_each(|field| member.extend(format!("{field:08x}").bytes()));
    member.extend([name.as_bytes(), b"\0"].concat());
    member.resize(member.len().next_multiple_of(4), 0);
    member.extend(content);
    member.resize(member.len().next_multiple_of(4), 0);
    member
}

/// Windows' firewall and Exchange have the same lines before theirs as IIS.
#[test]
fn logs_in_w3cs_format_without_requests_are_no_access_logs() {
    let firewall = "#Version: 1.5\n#Software: Microsoft Windows Firewall\n#Time Format: Local\n\
        #Fields: date time action protocol src-ip dst-ip src-port dst-port size\n\n\
        2024-11-22 10:11:12 DROP UDP 203.0.113.9 203.0.113.8 137 137 78\n";
    let exchange = "#Software: Microsoft Exchange Server\n#Fields: date-time,client-ip,client-hostname\n\
        2024-11-22T10:11:12.000Z,203.0.113.9,a.example\n";
    for log in [firewall, exchange] {
        assert_eq!(found(log.as_bytes()), Some(ForeignContent::Text(TextKind::W3cEvents)), "{log}");
    }
    let little = "#Fields: date c-ip cs-uri-stem cs-bytes\n2003-11-18 203.0.113.9 /Default.htm 100\n";
    assert_eq!(detect(little.as_bytes(), &[]).expect("a log").format.name(), "w3c");
}

#[test]
fn cpio_and_ar_are_no_logs_and_their_members_are_named() {
    let log = LINE.repeat(50);
    let cpio = [
        cpio_member("var/log", 0o040_755, b""),
        cpio_member("var/log/access.log", 0o100_644, log.as_bytes()),
        cpio_member("b", 0o100_644, b"x\n"),
        cpio_member("TRAILER!!!", 0, b""),
    ]
    .concat();
    assert_eq!(found(&cpio), Some(archive(Archive::Cpio, &["var/log/access.log", "b"], false)));
    assert_eq!(found(&cpio[..2_000]), Some(archive(Archive::Cpio, &["var/log/access.log"], None)));
    let octal = format!("070707000001000002100644000000000000000001000000{:011o}{:06o}{:011o}", 0, 11, log.len());
    let odc = format!("{octal}access.log\0{log}");
    assert_eq!(found(odc.as_bytes()), Some(archive(Archive::Cpio, &["access.log"], None)));
    let member = |name: &str, content: &str| {
        let end = if content.len() % 2 == 1 { "\n" } else { "" };
        format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n{content}{end}", 0, 0, 0, "100644", content.len())
    };
    let ar = format!("!<arch>\n{}{}{}", member("//", "a long name/\n"), member("access.log/", &log), member("b.log", "xyz"));
    let found_ar = found(ar.as_bytes());
    assert_eq!(found_ar, Some(archive(Archive::Ar, &["access.log", "b.log"], None)));
    let way_on = found_ar.expect("an archive").way_on("x.a", "logs");
    assert_eq!(way_on, "Read what is in it: ar p x.a access.log | rorqual logs -");
    // Digits that are no header are text.
    assert_ne!(found(b"070701 is the number of a case\n"), Some(archive(Archive::Cpio, &[], None)));
}

#[test]
fn archives_of_logs_are_no_logs_and_their_members_are_named() {
    let log = LINE.repeat(50);
    let two = tar(&[
        tar_member("logs/", b'5', b""),
        tar_member("logs/access.log", b'0', log.as_bytes()),
        tar_member("b", b'0', b"x\n"),
    ]);
    assert_eq!(found(&two), Some(archive(Archive::Tar, &["logs/access.log", "b"], false)));
    // What is after the part that was read is not known.
    assert_eq!(found(&two[..3_000]), Some(archive(Archive::Tar, &["logs/access.log"], None)));
    let four = tar(&["a", "b", "c", "d"].map(|name| tar_member(name, b'0', log.as_bytes())));
    assert_eq!(found(&four), Some(archive(Archive::Tar, &["a", "b", "c"], true)));
    let pax = tar(&[tar_member("pax", b'x', b"27 path=very/long/name.log\n"), tar_member("cut", b'0', log.as_bytes())]);
    assert_eq!(found(&pax), Some(archive(Archive::Tar, &["very/long/name.log"], false)));
    let gnu = tar(&[tar_member("././@LongLink", b'L', b"long/name.log\0"), tar_member("cut", b'0', log.as_bytes())]);
    assert_eq!(found(&gnu), Some(archive(Archive::Tar, &["long/name.log"], false)));
    let zip = [zip_member("access.log", log.as_bytes()), zip_member("error.log", b"x\n"), b"PK\x01\x02".to_vec()].concat();
    assert_eq!(found(&zip), Some(archive(Archive::Zip, &["access.log", "error.log"], false)));
    assert_eq!(found(&zip[..2_000]), Some(archive(Archive::Zip, &["access.log"], None)));
}

#[test]
fn heads_of_archives_that_lie_do_not_panic() {
    let mut member = tar_member("a", b'0', b"x\n");
    for size in [&b"77777777777"[..], b"\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"] {
        member[124..135].copy_from_slice(size);
        member[148..156].fill(b' ');
        let sum: u32 = member[..512].iter().map(|byte| u32::from(*byte)).sum();
        member[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        assert!(matches!(ForeignContent::of_bytes(&member), None | Some(ForeignContent::Archive { archive: Archive::Tar, .. })));
    }
    let mut zip = zip_member("a", b"x");
    zip[18..22].fill(0xff);
    assert_eq!(ForeignContent::of_bytes(&zip), Some(archive(Archive::Zip, &["a"], None)));
    for length in 0..zip.len() {
        let _ = ForeignContent::of_bytes(&zip[..length]);
    }
}

#[test]
fn a_log_is_never_foreign() {
    // `ustar` and `PK` in lines, and zeros that a crash left.
    for log in [LINE.to_owned(), format!("{LINE}ustar PK\n"), format!("\0\0\0\0\n{}", LINE.repeat(20))] {
        assert!(detect(log.as_bytes(), &[]).is_ok(), "{log:?}");
    }
}

#[test]
fn other_logs_are_named() {
    for (kind, line) in [
        (TextKind::Syslog, "Nov 22 10:11:12 web1 sshd[811]: Accepted publickey for ops from 203.0.113.9 port 51034 ssh2"),
        (TextKind::Syslog, "Nov  2 10:11:12 web1 systemd: Started Session 1"),
        (TextKind::Syslog, "2024-11-22T10:11:12.123456+00:00 web1 CRON[811]: (root) CMD (true)"),
        (TextKind::Syslog, "<34>1 2024-11-22T10:11:12.003Z web1 su - ID47 - su root failed"),
        (
            TextKind::NginxErrors,
            "2024/11/22 10:11:12 [error] 31#31: *5 open() \"/x\" failed (2: No such file), client: 203.0.113.9",
        ),
        (
            TextKind::ApacheErrors,
            "[Fri Nov 22 10:11:12.123456 2024] [core:error] [pid 3:tid 1] [client 203.0.113.9:51034] AH00124: x",
        ),
        (TextKind::ApacheErrors, "[Fri Nov 22 10:11:12 2024] [error] [client 203.0.113.9] File does not exist: /x"),
        (TextKind::Logfmt, "time=2024-11-22T10:11:12Z level=info msg=\"it runs\" took=5ms"),
        (TextKind::Json, r#"{"level":"info","ts":1646861401.5,"msg":"serving initial configuration"}"#),
        (
            TextKind::IisNative,
            "192.168.114.201, -, 03/20/01, 7:55:20, W3SVC2, SALES1, 172.21.13.45, 4502, 163, 3223, 200, 0, GET, /a.gif, -,",
        ),
        (
            TextKind::IisNative,
            "192.168.114.201, -, 20.03.2001, 17:55:20, W3SVC2, SALES1, 172.21.13.45, 4502, 163, 3223, 200, 0, GET, /a.gif, -,",
        ),
        (TextKind::CaddyConsole, "2024/01/23 23:27:57.060\tinfo\thttp.log.access.log0\thandled request\t{\"request\": {}}"),
        (
            TextKind::CaddyConsole,
            "2024/01/23 23:27:57.060\t\x1b[34mINFO\x1b[0m\thttp.log.access\thandled request\t{\"request\": {}}",
        ),
        (TextKind::Markup, "<!DOCTYPE html><html><head><title>Log in</title></head></html>"),
    ] {
        assert_eq!(found(format!("{line}\n").repeat(3).as_bytes()), Some(ForeignContent::Text(kind)), "{line}");
    }
    assert_eq!(found(b"hello\nworld\n"), None);
}

#[test]
fn binary_data_is_named_and_not_shown() {
    for (head, what) in [
        (&b"\x7fELF\x02\x01\x01\0"[..], "a program (ELF)"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a picture (PNG)"),
        (b"PAR1\x15\x04", "a Parquet file"),
        (b"SQLite format 3\0\x10\0", "an SQLite database"),
        (b"\x1f\x8b\x08\0\0\0\0\0", "a gzip, zstd, bzip2, xz, lzma or lz4 file that is compressed once more"),
        (b"\x01\x02\0\xff\n\0\0\xfe\n", "binary data"),
    ] {
        let unknown = detect(head, &[]).expect_err("no log");
        assert_eq!(unknown.lines, Vec::<String>::new(), "{what}");
        assert_eq!(unknown.foreign.map(|foreign| foreign.to_string()).as_deref(), Some(what));
    }
}

#[test]
fn commands_take_any_name() {
    let tar = archive(Archive::Tar, &["error.txt", "it's access.log"], true);
    let command = "tar -xOf 'a b.tgz' 'it'\\''s access.log'";
    assert_eq!(tar.extraction("a b.tgz").as_deref(), Some(command));
    assert_eq!(tar.way_on("a b.tgz", "logs"), format!("Read what is in it: {command} | rorqual logs -"));
    assert_eq!(tar.way_on("standard input", "logs"), "Read what is in it: tar -xOf FILE 'it'\\''s access.log' | rorqual logs -");
    assert_eq!(archive(Archive::Zip, &["a.log"], false).extraction("x.zip").as_deref(), Some("unzip -p x.zip a.log"));
    assert_eq!(tar.to_string(), "a tar archive (error.txt, it's access.log, …)");
    assert_eq!(archive(Archive::Zip, &["a.log"], false).to_string(), "a zip archive (a.log)");
    assert_eq!(archive(Archive::Zip, &["a.log"], None).to_string(), "a zip archive (a.log, and perhaps more)");
}

/// Formats that are known and not read are named, with the command that makes lines of them.
#[test]
fn other_formats_of_clouds_are_named() {
    let vercel = r#"{"id":"1573817250283254651097202070","deploymentId":"dpl_233NRGRjVZX1caZrXWtz5g1TAksD","source":"lambda","host":"my-app-abc123.vercel.app","timestamp":1573817250283,"projectId":"gdufoJxB6b9b1fEqr1jUtFkyavUU","level":"info","message":"API request processed","path":"/api/users","statusCode":200,"requestId":"643af4e3-975a-4cc7-9e7a-1eda11539d90","proxy":{"timestamp":1573817250172,"method":"GET","host":"my-app.com","path":"/api/users?page=1","userAgent":["Mozilla/5.0"],"referer":"https://my-app.com","clientIp":"120.75.16.101","region":"sfo1","statusCode":200}}"#;
    for text in [format!("{vercel}\n{vercel}\n"), format!("[{vercel},{vercel}]\n")] {
        let foreign = found(text.as_bytes()).expect("named");
        assert_eq!(foreign, ForeignContent::Text(TextKind::Vercel));
        assert!(
            foreign.way_on("a.json", "logs").contains("a.json | jq -c -s 'unique_by(.requestId)[]' | rorqual logs -"),
            "{foreign:?}"
        );
    }
    let azure =
        br#"{"records":[{"time":"2020-06-09T22:32:17Z","category":"FrontDoorAccessLog","properties":{"httpStatusCode":"200"}}]}"#;
    let foreign = found(azure).expect("named");
    assert_eq!(foreign, ForeignContent::Text(TextKind::AzureRecords));
    assert_eq!(foreign.way_on("a.json", "logs"), "Each record by itself is read: jq -c '.records[]' a.json | rorqual logs -");
}

/// First bytes as DuckDB 2.0 and pyarrow 26 write them.
#[test]
fn databases_and_encrypted_tables_are_named() {
    let database = [&b"\x71\x45\xca\xba\x01\x48\xbd\x9aDUCK\xe7\x03\0\0"[..], &[0; 100]].concat();
    let foreign = found(&database).expect("named");
    assert_eq!(foreign.to_string(), "a DuckDB database");
    assert!(foreign.way_on("a.duckdb", "logs").contains("duckdb -readonly a.duckdb -c \"COPY"), "{foreign:?}");
    let foreign = found(b"PARE\x15\0\x15\x12").expect("named");
    assert_eq!(foreign.to_string(), "an encrypted Parquet file");
    assert!(foreign.way_on("a", "logs").contains("decrypt it"), "{foreign:?}");
}
