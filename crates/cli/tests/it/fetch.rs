//! `rorqual fetch`: exit codes, kills, memory, the environment.

use crate::common::{MIB, PROGRAM, TestFolder, eventually, rorqual};
use rorqual_testkit::http::{GeneratedContent, HttpReply, ResponseEnd, TestServer};
use rorqual_testkit::process::ProcessRun;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const MEMORY_BYTES_MAX: u64 = 32 * MIB;

fn fetch(url: &str, folder: &TestFolder, args: &[&str]) -> ProcessRun {
    let none = ["http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];
    let run = rorqual(&["fetch", url, "--retry-delay", "0.01"]).args(args);
    run.with(|command| {
        for name in none {
            command.env_remove(name);
        }
        command.current_dir(folder.path());
    })
}

fn has(folder: &TestFolder, content: &GeneratedContent) {
    assert!(std::fs::read(folder.at("file.bin")).expect("it is there") == content.all(), "other bytes");
    assert_eq!(folder.names(), ["file.bin"]);
}

fn sha256(path: &Path) -> String {
    let output = Command::new("sha256sum").arg(path).output().expect("coreutils");
    String::from_utf8_lossy(&output.stdout)[..64].to_owned()
}

#[test]
fn it_is_named_by_the_url_verified_and_described() {
    let (content, folder) = (GeneratedContent::new(40 * MIB + 5, 1), TestFolder::new());
    let server = TestServer::honest(&content);
    let digest = sha256(Path::new(&folder.file("truth", content.all())));
    std::fs::remove_file(folder.at("truth")).expect("it was there");
    let args = ["--sha256", &digest.to_uppercase(), "--json", "--stats"];
    let ran = fetch(&server.url("/a/file.bin?x=/y"), &folder, &args).run().exits(0);
    has(&folder, &content);
    let object = ran.json();
    assert_eq!((&object["size_bytes"], &object["file"]), (&content.size_bytes.into(), &"file.bin".into()));
    assert_eq!((&object["sha256"], &object["ranges"]), (&digest.into(), &true.into()));
    assert_eq!((&object["etag"], &object["http_version"]), (&content.etag.clone().into(), &"HTTP/1.1".into()));
    ran.says(&["\"stored_bytes\":41943045", "\"peak_bytes\":"]);
    fetch(&server.url("/file.bin"), &folder, &[]).run().exits(2).says(&["exists; --force replaces it"]);
    let newer = GeneratedContent::new(10, 2);
    let server = TestServer::honest(&newer);
    let _ = fetch(&server.url("/file.bin"), &folder, &["--force"]).run().exits(0);
    has(&folder, &newer);
}

#[test]
fn each_failure_has_its_code() {
    let (content, folder) = (GeneratedContent::new(MIB, 1), TestFolder::new());
    let served = content.clone();
    let server = TestServer::start(move |request| match request.target.as_str() {
        "/gone" => HttpReply::empty(410),
        "/broken" => served.answer(request).cut(MIB / 2, ResponseEnd::Close),
        "/stalled" => served.answer(request).cut(MIB / 4, ResponseEnd::Stall),
        _ => served.answer(request),
    });
    let at = |path: &str| server.url(path);
    let run = |url: &str, args: &[&str]| fetch(url, &folder, &[&["-o", "out"], args].concat()).run();
    run("nonsense", &[]).exits(2).says(&["not a URL"]);
    run(&at("/x"), &["--sha256", "abc"]).exits(2).says(&["--sha256 \"abc\": not a digest of 32 bytes"]);
    run(&at("/x"), &["-H", "abc"]).exits(2).says(&["not NAME: VALUE"]);
    run(&at("/x"), &["--idle-timeout", "0"]).exits(2).says(&["above 0"]);
    run(&at("/x"), &["--memory", "1MiB"]).exits(2).says(&["is too little", "connections"]);
    run(&at("/x"), &["--ca-cert", "missing"]).exits(2).says(&["--ca-cert missing"]);
    fetch(&at("/"), &folder, &[]).run().exits(2).says(&["gives no file name"]);
    run("http://127.0.0.1:1/x", &["--retries", "1"]).exits(3).says(&["cannot connect", "trying again in"]);
    run("http://name.invalid/x", &["--retries", "0"]).exits(3).says(&["cannot connect"]);
    run(&at("/gone"), &[]).exits(4).says(&["the server answers 410"]);
    assert!(folder.names().is_empty());
    run(&at("/broken"), &["--retries", "0", "-p", "1"]).exits(5).says(&["out.part keeps 524288 bytes to go on from"]);
    assert_eq!(folder.names(), ["out.part", "out.part.json"]);
    let none = "0".repeat(64);
    run(&at("/whole"), &["--blake3", &none]).exits(6).says(&["its blake3 is", &none]);
    run(&at("/stalled"), &["--idle-timeout", "0.1", "--retries", "0"]).exits(7).says(&["--idle-timeout"]);
    run(&at("/stalled"), &["--max-time", "0.2"]).exits(7).says(&["--max-time"]);
    let _ = run(&at("/whole"), &[]).exits(0);
    assert_eq!(folder.names(), ["out"]);
}

/// Files that are no certificates in PEM, as people take them for these.
#[test]
fn a_file_without_a_certificate_is_told_from_others() {
    let folder = TestFolder::new();
    let pem = |label: &str| format!("-----BEGIN {label}-----\nMAA=\n-----END {label}-----\n").into_bytes();
    let files = [
        ("empty", Vec::new(), "is empty"),
        ("der", b"\x30\x82\x01\x0a\x30\x82".to_vec(), "is binary (DER or PKCS #12), and PEM is wanted: openssl x509 -inform der"),
        ("key", pem("PRIVATE KEY"), "has a private key and no certificate"),
        ("old key", pem("RSA PRIVATE KEY"), "has a private key and no certificate"),
        ("locked", pem("ENCRYPTED PRIVATE KEY"), "has an encrypted private key and no certificate"),
        ("request", pem("CERTIFICATE REQUEST"), "has a request for a certificate"),
        ("trusted", pem("TRUSTED CERTIFICATE"), "has a certificate with OpenSSL's own trust settings: openssl x509 -in FILE"),
        ("bundle", pem("PKCS7"), "has PKCS #7: openssl pkcs7 -print_certs"),
        ("text", b"nothing of the kind\n".to_vec(), "has no certificate (-----BEGIN CERTIFICATE-----)"),
        ("damaged", pem("CERTIFICATE"), "certificate 1 is damaged: "),
        ("large", vec![b'x'; 3 << 20], "is larger than 2.00 MiB, which no file of certificates is"),
    ];
    for (name, content, why) in files {
        let file = folder.file(name, content);
        let ran = fetch("https://127.0.0.1:1/x", &folder, &["-o", "out", "--ca-cert", &file]).run().exits(2);
        ran.says(&[&format!("--ca-cert {file}: {why}")]);
    }
    let missing = fetch("https://127.0.0.1:1/x", &folder, &["-o", "out", "--ca-cert", "/none"]).run().exits(2);
    missing.says(&["--ca-cert /none: cannot open: No such file or directory"]);
    fetch("https://127.0.0.1:1/x", &folder, &["-o", "out", "--ca-cert", "/"])
        .run()
        .exits(2)
        .says(&["--ca-cert /: is a directory"]);
}

#[test]
fn ctrl_c_keeps_the_part() {
    let (content, folder) = (GeneratedContent::new(MIB, 1), TestFolder::new());
    let served = content.clone();
    let server = TestServer::start(move |request| match request.number {
        0 => served.answer(request).cut(MIB / 2, ResponseEnd::Stall),
        _ => served.answer(request),
    });
    let running = fetch(&server.url("/file.bin"), &folder, &[]).start();
    eventually("half of it", || folder.at("file.bin.part").metadata().is_ok_and(|part| part.len() == MIB / 2).then_some(()));
    running.interrupt();
    running.wait().exits(130).says(&["stopped", "keeps 524288 bytes"]);
    fetch(&server.url("/file.bin"), &folder, &[]).run().exits(0).says(&["going on from 512"]);
    has(&folder, &content);
}

#[test]
fn killed_at_twenty_moments_it_is_the_same_file() {
    let (content, folder) = (GeneratedContent::new(48 * MIB + 11, 1), TestFolder::new());
    let served = content.clone();
    let server = TestServer::start(move |request| HttpReply { pause: Duration::from_millis(8), ..served.answer(request) });
    let (url, mut state, mut resumed) = (server.url("/file.bin"), 20_260_101_u64, 0);
    // Twenty, and on a slow machine as many more as it takes until something was kept.
    let mut rounds = 0..200;
    while rounds.next().is_some_and(|round| round < 20 || resumed <= MIB) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let moment = Duration::from_millis(10 + (state >> 33) % 400);
        let mut child = Command::new(PROGRAM)
            .args(["fetch", &url, "--sha256", &"0".repeat(64)])
            .current_dir(folder.path())
            .env("no_proxy", "*")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        std::thread::sleep(moment);
        let _ = child.kill();
        let _ = child.wait();
        resumed = resumed.max(check_claims(&folder, &content));
    }
    assert!(resumed > MIB, "nothing was ever kept");
    assert!(!folder.at("file.bin").exists(), "the digest is wrong");
    let _ = fetch(&url, &folder, &[]).run().exits(0);
    has(&folder, &content);
}

/// Every byte that the sidecar claims is right; how many there are.
fn check_claims(folder: &TestFolder, content: &GeneratedContent) -> u64 {
    let Ok(text) = std::fs::read(folder.at("file.bin.part.json")) else { return 0 };
    let record: serde_json::Value = serde_json::from_slice(&text).expect("it is replaced whole");
    let part = std::fs::read(folder.at("file.bin.part")).expect("the part is there");
    let stretches = record["done"].as_array().expect("stretches").iter();
    stretches
        .map(|stretch| {
            let (start, end) = (stretch[0].as_u64().expect("a number"), stretch[1].as_u64().expect("a number"));
            assert!(part[start as usize..end as usize] == content.bytes(start..end), "{start} to {end} is not what was sent");
            end - start
        })
        .sum()
}

#[test]
fn memory_is_constant() {
    let (content, folder) = (GeneratedContent::new(512 * MIB, 1), TestFolder::new());
    let server = TestServer::honest(&content);
    let none = "0".repeat(64);
    fetch(&server.url("/file.bin"), &folder, &["--sha256", &none]).run().exits(6).within(MEMORY_BYTES_MAX);
}

#[test]
fn standard_output_is_in_order_and_may_be_closed() {
    let (content, folder) = (GeneratedContent::new(3 * MIB, 1), TestFolder::new());
    let served = content.clone();
    let server = TestServer::start(move |request| {
        let reply = served.answer(request);
        if request.number == 0 { reply.cut(MIB + 1, ResponseEnd::Reset) } else { reply }
    });
    let ran = fetch(&server.url("/x"), &folder, &["-o", "-", "--json"]).run().exits(0);
    assert!(ran.stdout == content.all(), "other bytes");
    ran.says(&["going on from what is there", "\"size_bytes\":3145728"]);
    let script = "\"$0\" fetch \"$1\" -o - | head -c 5 | wc -c; echo ${PIPESTATUS[0]}";
    let ran = ProcessRun::new("bash")
        .args(["-c", script, PROGRAM, &server.url("/x")])
        .with(|command| {
            command.env("no_proxy", "*");
        })
        .run();
    assert_eq!((ran.text(), ran.stderr.as_str()), ("5\n0\n", ""));
    assert!(folder.names().is_empty());
}

#[test]
fn proxies_come_from_the_environment() {
    let (content, folder) = (GeneratedContent::new(MIB, 1), TestFolder::new());
    let server = TestServer::honest(&content);
    let with = |proxy: &str, none: &str| {
        let (proxy, none) = (proxy.to_owned(), none.to_owned());
        let run = fetch("http://files.invalid/file.bin", &folder, &["--retries", "0", "--force"]);
        run.with(move |command| {
            command.env("http_proxy", proxy).env("no_proxy", none);
        })
        .run()
    };
    let _ = with(&server.url(""), "").exits(0);
    assert_eq!(server.requests()[0].target, "http://files.invalid/file.bin");
    has(&folder, &content);
    let _ = with(&server.url(""), "files.invalid").exits(3);
    assert_eq!(server.requests().len(), 1);
}

/// A proxy is named where it is at fault, `no_proxy` takes ports, and what is no proxy is refused.
#[test]
fn a_proxy_that_is_at_fault_is_named() {
    let (content, folder) = (GeneratedContent::new(MIB, 1), TestFolder::new());
    let server = TestServer::honest(&content);
    let url = server.url("/file.bin");
    let with = |variables: &[(&'static str, String)]| {
        let variables = variables.to_vec();
        let run = fetch(&url, &folder, &["--retries", "0", "--force"]);
        run.with(move |command| {
            command.envs(variables);
        })
        .run()
    };
    // Nobody listens there.
    let dead = || ("http_proxy", "http://user:secret@127.0.0.1:1".to_owned());
    let ran = with(&[dead()]).exits(3);
    ran.says(&["cannot connect by the proxy http://127.0.0.1:1/ (http_proxy): Connection refused"]);
    assert!(!ran.stderr.contains("secret"), "{}", ran.stderr);
    let here = server.url("").trim_start_matches("http://").trim_end_matches('/').to_owned();
    let _ = with(&[dead(), ("no_proxy", here)]).exits(0);
    has(&folder, &content);
    with(&[dead(), ("no_proxy", "127.0.0.1:1".to_owned())]).exits(3).says(&["by the proxy"]);
    let ran = with(&[("http_proxy", "ftp://127.0.0.1:1".to_owned())]).exits(2);
    ran.says(&["http_proxy: ftp://127.0.0.1:1/ is not a proxy that can be used: http, https, socks4"]);
    assert_eq!(server.requests().len(), 1);
}

/// Of addresses too that are numbers.
#[test]
fn no_proxy_of_everything_is_everything() {
    let (content, folder) = (GeneratedContent::new(MIB, 1), TestFolder::new());
    let server = TestServer::honest(&content);
    for none in ["*", "files.invalid, *"] {
        let run = fetch(&server.url("/file.bin"), &folder, &["--retries", "0", "--force"]);
        // Nobody listens there.
        let run = run.with(|command| {
            command.env("http_proxy", "http://127.0.0.1:1").env("no_proxy", none);
        });
        let _ = run.run().exits(0);
        has(&folder, &content);
    }
}

#[test]
fn the_rate_is_limited() {
    let (content, folder) = (GeneratedContent::new(MIB, 1), TestFolder::new());
    let server = TestServer::honest(&content);
    let ran =
        fetch(&server.url("/file.bin"), &folder, &["--limit-rate", "2MiB", "--json", "--idle-timeout", "0.1"]).run().exits(0);
    assert!(ran.json()["seconds"].as_f64().expect("a number") > 0.4);
    has(&folder, &content);
}

#[test]
fn into_the_store_by_a_rename() {
    let (content, folder) = (GeneratedContent::new(3 * MIB + 1, 1), TestFolder::new());
    let server = TestServer::honest(&content);
    let digest = sha256(Path::new(&folder.file("truth", content.all())));
    let store = format!("--store={}", folder.text("store"));
    let ran = fetch(&server.url("/file.bin"), &folder, &[&store, "--name", "it"]).run().exits(0);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), format!("{digest}\n"));
    let got = rorqual(&["store", &store, "get", "it"]).run().exits(0);
    assert!(got.stdout == content.all());
    // Without a folder it is the usual one.
    let usual = fetch(&server.url("/file.bin"), &folder, &["--store"]);
    let usual = usual.with(|command| _ = command.env("RORQUAL_STORE", folder.at("usual"))).run().exits(0);
    assert_eq!(String::from_utf8_lossy(&usual.stdout), format!("{digest}\n"));
    assert!(folder.at("usual/index.sqlite").exists());
    // A wrong digest leaves no entry.
    let wrong = "0".repeat(64);
    let server = TestServer::honest(&GeneratedContent::new(MIB, 2));
    let _ = fetch(&server.url("/other.bin"), &folder, &[&store, "--sha256", &wrong]).run().exits(6);
    let listed = rorqual(&["store", &store, "ls"]).run().exits(0);
    assert_eq!(String::from_utf8_lossy(&listed.stdout).lines().count(), 1);
    let _ = rorqual(&["store", &store, "verify"]).run().exits(0);
}

#[test]
fn secrets_are_not_taken_to_another_host() {
    let (content, folder) = (GeneratedContent::new(10, 1), TestFolder::new());
    let other = TestServer::honest(&content);
    let there = other.url("/file.bin");
    let first = TestServer::start(move |_| HttpReply::empty(302).header("Location", &there));
    let url = first.url("/file.bin");
    fetch(&url, &folder, &["-H", "PRIVATE-TOKEN: secret"]).run().exits(4).says(&["would take --header private-token along"]);
    let _ = fetch(&url, &folder, &["-H", "Authorization: secret", "-H", "Accept: */*"]).run().exits(0);
    has(&folder, &content);
}
