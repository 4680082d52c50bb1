//! Questions about logs far above the memory: rows go to a temporary file, and values without room
//! are told.

use crate::common::{MIB, TestFolder, advised, rorqual};
use rorqual_testkit::generate::{AccessLog, GeneratedLines, write_lines};
use rorqual_testkit::process::ProcessEnd;
use std::sync::mpsc::channel;
use std::time::Duration;

const TIME_MAX: Duration = Duration::from_secs(300);

/// The least that questions take on one thread.
const MEMORY: u64 = 96 * MIB;

const LOG_BYTES: u64 = 512 * MIB;

const QUESTIONS: [&[&str]; 6] = [
    &["--explain", "2025-01-10..2025-01-12"],
    &["--compare", "2025-01-10..2025-01-20", "2025-01-20.."],
    &["--rates", "--limit-per-minute", "30"],
    &["--findings"],
    &["--by", "path", "--sort", "clients"],
    &["--by", "time", "--top", "1000", "--show", "errors,p95,clients", "--measure", "bytes"],
];

/// Log of `bytes`; `line` makes each line from its number.
struct Made<F>(F, u64);

impl<F: FnMut(u64, &mut Vec<u8>)> GeneratedLines for Made<F> {
    fn line(&mut self, out: &mut Vec<u8>) {
        (self.0)(self.1, out);
        self.1 += 1;
    }
}

fn asked(args: &[&str], bytes: u64, lines: impl GeneratedLines + Send + 'static) -> (ProcessEnd, u64) {
    asked_within(MEMORY, args, bytes, lines)
}

fn asked_within(
    memory_bytes: u64,
    args: &[&str],
    bytes: u64,
    mut lines: impl GeneratedLines + Send + 'static,
) -> (ProcessEnd, u64) {
    let (sender, written) = channel();
    let feed = move |stdin: &mut std::process::ChildStdin| {
        sender.send(write_lines(&mut lines, bytes, stdin)?.lines).expect("the test waits");
        Ok(())
    };
    let memory = format!("{}MiB", memory_bytes / MIB);
    let ran = rorqual(&["logs", "--json", "--memory", &memory]).args(args).feed(feed).time_max(TIME_MAX).run().exits(0);
    ran.within(memory_bytes);
    (ran, written.recv().expect("everything was fed"))
}

#[test]
fn rows_that_do_not_fit_go_to_a_file_without_a_name() {
    let folder = TestFolder::new();
    let temp = folder.path().to_string_lossy().into_owned();
    for question in QUESTIONS {
        let (ran, lines) = asked(&[question, &["--temp-dir", &temp]].concat(), LOG_BYTES, AccessLog::of_bytes(LOG_BYTES));
        let document = ran.json();
        assert_eq!((document["rows"]["kept"].as_u64(), document["rows"]["dropped"].as_u64()), (Some(lines), Some(0)));
        assert!(document["rows"]["spilled_bytes"].as_u64() > Some(8 * MIB), "{}", document["rows"]);
        assert!(folder.names().is_empty(), "{:?}", folder.names());
        ran.says(&["--memory 96.0 MiB"]);
    }
}

#[test]
fn a_page_with_findings_is_made_within_the_memory() {
    let folder = TestFolder::new();
    let page = folder.text("page.html");
    // The page is a term of its own in the sum.
    let args = ["--findings", "--html", &page];
    let (ran, lines) = asked_within(MEMORY + 16 * MIB, &args, LOG_BYTES, AccessLog::of_bytes(LOG_BYTES));
    assert_eq!(ran.json()["rows"]["kept"].as_u64(), Some(lines));
    let page = std::fs::read_to_string(page).expect("it was made");
    assert!(page.contains("id=\"unusual\"") && page.contains("data-field=\"path\""));
}

#[test]
fn rows_without_room_are_told() {
    for (limits, spilled_max) in [(["--temp-max", "0"], 0), (["--temp-max", "4MiB"], 4 * MIB)] {
        let question = ["--compare", "2025-01-01..2025-01-05", "2025-01-05..2025-01-10"];
        let (ran, lines) = asked(&[&question[..], &limits].concat(), LOG_BYTES, AccessLog::of_bytes(LOG_BYTES));
        let document = ran.json();
        let number = |name: &str| document["rows"][name].as_u64().expect("a number");
        assert!(number("dropped") > 0 && number("kept") > 0);
        assert_eq!(number("kept") + number("dropped"), lines);
        assert!(number("spilled_bytes") <= spilled_max);
        assert_eq!(document["answer"]["a"]["rows"]["dropped"], number("dropped"));
        ran.says(&["the answer is of the first", "--temp-max"]);
    }
}

#[test]
fn values_no_two_the_same_and_as_long_as_they_may_be() {
    let padding = "/long".repeat(2_000);
    let short = |number: u64, out: &mut Vec<u8>| {
        let agent = format!("Mozilla/5.0 (compatible; Some{number}Bot/{number}; +http://example.com/{number})");
        push(out, &format!("host-{number}.example"), number, &format!("/{number}?{number}"), &agent);
    };
    let long = move |number: u64, out: &mut Vec<u8>| {
        push(out, &format!("10.{}", number * 7), number, &format!("/{number}{padding}"), &format!("{number}{padding}"));
    };
    let rejected = |number: u64, out: &mut Vec<u8>| {
        if number < 500 {
            push(out, "10.0.0.1", number, "/", "agent");
        }
        out.extend(format!("no line {number} ").repeat(60).bytes());
        out.push(b'\n');
    };
    for question in [
        &["--explain", "2025-01-02T00:00:10..2025-01-02T00:00:20"][..],
        &["--compare", "..2025-01-02T00:00:10", "2025-01-02T00:00:10.."],
        &["--rates"],
        &["--by", "path", "--sort", "clients"],
    ] {
        let (ran, _) = asked(question, 192 * MIB, Made(short, 0));
        if question[0] == "--by" {
            ran.says(&["not all values are told apart", "--memory 96.0 MiB"]);
            let answer = &ran.json()["answer"];
            // Each line has a path and a client of its own.
            let lies =
                |value: &&serde_json::Value| value["hits"] != 1 || value["clients"].as_u64().is_some_and(|clients| clients != 1);
            let values = answer["values"].as_array().expect("values");
            assert!(answer["exact"] == false && values.len() == 10 && values.iter().find(lies).is_none(), "{answer}");
        } else {
            ran.says(&["values with few lines each were not looked at one by one", "--memory 96.0 MiB"]);
        }
        asked(question, 192 * MIB, Made(long.clone(), 0));
        asked(question, 192 * MIB, Made(rejected, 0));
    }
}

fn push(out: &mut Vec<u8>, client: &str, number: u64, path: &str, agent: &str) {
    let second = number % 60;
    out.extend(format!("{client} - - [02/Jan/2025:00:00:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 5 \"http://site-{number}.example/\" \"{agent}\"\n").bytes());
}

/// Regular expressions as large as they may be, asked of lines that make them remember most, in the
/// memory that is named for them.
#[test]
fn regular_expressions_are_in_the_sum() {
    let folder = TestFolder::new();
    let line = |number: u64| {
        let path: String =
            (0..200).map(|place| char::from(b'a' + ((number * 31 + place * place * (number % 97)) >> 2 & 15) as u8)).collect();
        format!(
            "10.0.0.{} - - [02/Jan/2025:00:00:{:02} +0000] \"GET /{path} HTTP/1.1\" 200 5 \"-\" \"a\"\n",
            number % 250,
            number % 60
        )
    };
    let file = folder.file("log", (0..1_500).map(line).collect::<String>());
    for expression in [
        "(a|b)(?-u:[a-z])*(?:a(?-u:.){30})k",
        "(?-u:(?:[a-e][^z]{0,30}){20}\\\\b)y",
        "\\\\w{5}x",
        "[ab](?:[a-z]{20}|[0-9a-f]{0,20}){20}Z",
    ] {
        let filter: Vec<String> = (0..8).map(|number| format!("path ~ \"{expression}{number}\"")).collect();
        let filter = filter.join(" or ");
        for flags in [&["--threads", "2"][..], &["--threads", "2", "--rates"]] {
            let args = [&["logs", "--json", "--where", &filter][..], flags].concat();
            let refused =
                rorqual(&args).args(["--memory", "1MiB"]).run().exits(2).says(&["regular expressions (--where)"]).stderr.clone();
            let least = advised(&refused);
            let ran = rorqual(&args).args(["--memory", &least, &file]).run().exits(0);
            ran.within(rorqual_pipe::parse_size(&least).expect("a size"));
        }
    }
    let long = format!("path ~ \"{}\"", "\\\\pL".repeat(700));
    rorqual(&["logs", "--where", &long, &file]).run().exits(2).says(&["--where", "longer than 2048 bytes"]).within(32 * MIB);
    let large = "path ~ \"\\\\w{40}\"";
    rorqual(&["logs", "--where", large, &file]).run().exits(2).says(&["takes more than 262144 bytes"]).within(32 * MIB);
}
