//! `rorqual logs --html`: one page, whatever the log says, with the numbers of the report; and
//! templates of one's own.

use crate::common::{MIB, PROGRAM, TestFolder, line, log, panel, rorqual};
use rorqual_testkit::generate::{DistinctLog, write_lines};
use rorqual_testkit::process::{ProcessEnd, ProcessRun};
use serde_json::Value;
use std::io::Write;
use std::process::ChildStdin;

/// Most bytes of the page of a log of any kind, with 10 rows a table.
const PAGE_BYTES_MAX: usize = 768 << 10;

/// A line of the combined format.
fn hit(path: &str, referrer: &str, agent: &str, second: usize) -> String {
    let (minute, second) = (second / 60 % 60, second % 60);
    format!(
        "10.0.0.1 - - [02/Jan/2025:08:{minute:02}:{second:02} +0100] \"GET {path} HTTP/1.1\" 200 10 \"{referrer}\" \"{agent}\"\n"
    )
}

/// The page of a log, and the report as JSON, from one run.
fn page_and_report(folder: &TestFolder, log: &str, args: &[&str]) -> (String, Value) {
    let page = folder.text("page.html");
    let report = rorqual(&[&["logs", "--json", "--force", "--html", &page, log], args].concat()).run().exits(0).json();
    (std::fs::read_to_string(page).expect("it was made"), report)
}

/// Words after each `<` between the style and the script: the names of tags, and of text that
/// should not be one.
fn tags(page: &str) -> Vec<&str> {
    let body = page.split_once("</style>").expect("a style").1;
    let body = body.rsplit_once("<script>").expect("a script").0;
    body.split('<').skip(1).map(|tag| tag.split([' ', '>', '\n']).next().expect("a name")).collect()
}

fn unescaped(text: &str) -> String {
    [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&#39;", "'"),
        ("&#x2f;", "/"),
        ("&#47;", "/"),
        ("&amp;", "&"),
    ]
    .into_iter()
    .fold(text.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
}

/// Text between two marks, after the begin of `rest`, which moves on.
fn between<'a>(rest: &mut &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (found, after) = rest.split_once(start)?.1.split_once(end)?;
    *rest = after;
    Some(found)
}

/// The rows of a table of the page: value, hits and bytes.
fn rows_of(page: &str, field: &str) -> Vec<(String, u64, u64)> {
    let start = page.split_once(&format!("data-field=\"{field}\"")).expect("the table is there").1;
    let mut rest = start.split_once("<tbody>").expect("rows").1.split_once("</tbody>").expect("an end").0;
    let mut rows = Vec::new();
    while let Some(value) = between(&mut rest, "<bdi class=\"value\">", "</bdi>") {
        let number = |text: Option<&str>| text.expect("a number").parse().expect("a number");
        let _share = between(&mut rest, "data-n=\"", "\"");
        let hits = number(between(&mut rest, "data-n=\"", "\""));
        rows.push((unescaped(value), hits, number(between(&mut rest, "data-n=\"", "\""))));
    }
    rows
}

fn rows_in(rows: &Value) -> Vec<(String, u64, u64)> {
    let row = |row: &Value| {
        let number = |name: &str| row[name].as_u64().expect("a number");
        (row["value"].as_str().expect("a text").to_owned(), number("hits"), number("bytes"))
    };
    rows.as_array().expect("rows").iter().map(row).collect()
}

#[test]
fn the_page_has_the_numbers_of_the_report() {
    let folder = TestFolder::new();
    let text = [log(30_000), b"no line at all\n\n".repeat(1_500)].concat();
    let (page, report) = page_and_report(&folder, &folder.file("access.log", text), &["--top", "20"]);
    for field in ["path", "client", "method", "protocol", "browser", "os", "agent"] {
        assert_eq!(rows_of(&page, field), rows_in(&panel(&report, field)["rows"]), "{field}");
    }
    assert_eq!(rows_of(&page, "status"), rows_in(&report["status"]));
    // 30,000 lines and 1,500 of each of two kinds that are none.
    for shown in
        ["<dd>33,000</dd>", "<dd>30,000</dd>", "#rejects\">1,500</a>", "<dt>blank</dt><dd>1,500</dd>", "1,500 lines rejected"]
    {
        assert!(page.contains(shown), "{shown}");
    }
    assert!(page.contains("2025-01-02 00:00:00 – 2025-01-02 08:19:59"));
    // Three statuses in turn: 10,000 each.
    for class in ["2xx", "3xx", "4xx"] {
        assert!(page.contains(&format!("</svg>{class} <span class=\"quiet\">10,000</span>")), "{class}");
    }
    // The bars' table: all of them together are all lines.
    let table = page.split_once("Requests by time, as a table").expect("a table").1.split_once("</tbody>").expect("an end").0;
    let mut rest = table.split_once("<tbody>").expect("rows").1;
    let mut sum = 0;
    while between(&mut rest, "<tr>", "<td data-n=\"").is_some() {
        sum += rest.split_once('"').expect("a number").0.parse::<u64>().expect("a number");
    }
    assert_eq!(sum, 30_000);
    assert!(!page.contains('≈') || page.contains("≈ at most 1 % too high"), "nothing else is an estimate");
}

#[test]
fn hours_and_weekdays_are_those_of_the_log() {
    let folder = TestFolder::new();
    // 5 January 2025 was a Sunday; half past eleven at night in UTC is the Monday in UTC+01:00.
    let at = |time: &str, offset: &str| format!("1.1.1.1 - - [{time} {offset}] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"\n");
    let text = at("06/Jan/2025:00:30:00", "+0100").repeat(3) + &at("08/Jan/2025:13:59:59", "+0100").repeat(2);
    let (page, _) = page_and_report(&folder, &folder.file("access.log", text), &[]);
    let (monday, wednesday) = ("<title>Mon 00:00, 3 requests</title>", "<title>Wed 13:00, 2 requests</title>");
    assert!(page.contains(monday) && page.contains(wednesday) && page.contains("hours of UTC+01:00"));
    assert_eq!(page.matches(", 0 requests</title>").count(), 7 * 24 - 2);
}

/// Values that try to become markup, to hide or to turn themselves around.
const HOSTILE: [&str; 8] = [
    "/</script><script>alert(1)</script>",
    "/<img src=x onerror=alert(1)>",
    "/'><svg/onload=alert(1)>",
    "/a\u{202e}gnp.exe\u{200b}",
    "/\u{1b}[2J\u{7}\u{9b}31m",
    "/{{ 7 * 7 }}{% include 'x' %}",
    "/--></style></title><!--",
    "/&lt;b&gt;&amp;&#60;script&#62;",
];

#[test]
fn what_a_log_says_is_only_ever_text() {
    let folder = TestFolder::new();
    let log_of = |values: &dyn Fn(usize) -> String| {
        let mut text = String::new();
        for index in 0..HOSTILE.len() {
            let value = values(index);
            for second in 0..20 - index {
                text += &hit(&value, &format!("https://x{value}"), &format!("agent {value}"), second);
            }
        }
        text + &format!("{} is no line\n", values(0)) + &hit("/end", "-", &values(1), 59).replace("\"\n", "\n")
    };
    let hostile = folder.file("hostile.log", log_of(&|index| HOSTILE[index].replace(' ', "+")));
    let tame = folder.file("tame.log", log_of(&|index| format!("/{index}{}", "p".repeat(HOSTILE[index].chars().count()))));
    let (page, report) = page_and_report(&folder, &hostile, &[]);
    let (expected, _) = page_and_report(&folder, &tame, &[]);
    assert!(tags(&page) == tags(&expected), "the log adds nothing");
    assert_eq!(page.matches("<script").count(), 1);
    let steers = |character: char| {
        character.is_control() && character != '\n' || matches!(character, '\u{202a}'..='\u{202e}' | '\u{200b}')
    };
    assert!(!page.contains(steers));
    assert!(rows_of(&page, "path").iter().any(|(value, ..)| value == HOSTILE[0]), "it is shown as it is");
    assert_eq!(report["rejects"]["count"], 1);
    // The policy names each part by its hash, and nothing else may run.
    assert!(unescaped(&page).contains("default-src 'none'; style-src 'sha256-"));
    assert!(!page.contains("-inline") && !page.contains("http-equiv=\"refresh\""));
    for outside in ["src=\"http", "href=\"http", "url(http", "@import", " style=\""] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn a_page_has_a_bounded_size() {
    // 100,000 paths of which each character becomes six, and some agents of 1 MiB.
    let feed = |stdin: &mut ChildStdin| {
        for number in 0..100_000 {
            let path = format!("/{}{number}", "'".repeat(400));
            stdin.write_all(hit(&path, &format!("https://{number}{}", "<".repeat(200)), "'&<>'", number % 3_600).as_bytes())?;
        }
        (0..4)
            .try_for_each(|number| stdin.write_all(hit("/", "-", &format!("{number}{}", "<".repeat(MIB as usize)), 1).as_bytes()))
    };
    let page_of = |args: &[&str]| -> ProcessEnd {
        let ran = rorqual(&[&["logs", "--html", "-", "--line-max", "2MiB"], args].concat()).feed(feed).run().exits(0);
        assert!(ran.text().ends_with("</html>") && !ran.text().contains(&"&lt;".repeat(600)));
        ran
    };
    let ran = page_of(&["--memory", "96MiB"]);
    ran.within(96 * MIB);
    assert!(ran.stdout.len() < PAGE_BYTES_MAX, "{}", ran.stdout.len());
    let ran = page_of(&["--memory", "128MiB", "--top", "1000"]);
    ran.within(128 * MIB);
    assert!(ran.stdout.len() < 12 * MIB as usize, "{}", ran.stdout.len());
}

#[test]
fn what_is_not_exact_is_marked_with_its_bounds() {
    let feed = |stdin: &mut ChildStdin| write_lines(&mut DistinctLog::new(128 * MIB, 1), 128 * MIB, stdin).map(drop);
    let folder = TestFolder::new();
    let path = folder.text("page.html");
    let ran = rorqual(&["logs", "--json", "--html", &path, "--memory", "112MiB", "--top", "1000"]).feed(feed).run().exits(0);
    ran.within(112 * MIB);
    let report = ran.json();
    let page = std::fs::read_to_string(path).expect("it was made");
    let paths = panel(&report, "path");
    assert_eq!(paths["exact"], false);
    assert_eq!(rows_of(&page, "path"), rows_in(&paths["rows"]));
    let bounds =
        |row: &Value| format!("≈ {} <span class=\"quiet nowrap\">to {}</span>", grouped(&row["hits"]), grouped(&row["hits_max"]));
    let inexact = paths["rows"].as_array().expect("rows").iter().filter(|row| row["hits"] != row["hits_max"]);
    assert!(inexact.map(bounds).inspect(|bounds| assert!(page.contains(bounds), "{bounds}")).count() > 0);
    assert!(page.contains(&format!("≈ {}</span>", grouped(&report["clients"]["count"]))));
    assert!(page.contains(&format!("at most {} hits more than counted", grouped(&paths["error_max"]))));
}

/// A number as the page has it.
fn grouped(number: &Value) -> String {
    let digits = number.to_string();
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    String::from_utf8(groups.join(&b',')).expect("digits")
}

#[test]
fn a_page_appears_whole_or_not_at_all() {
    let folder = TestFolder::new();
    let log = folder.file("access.log", log(100));
    let page = folder.file("page.html", "before");
    let wrong = folder.file("wrong.html", "{% for row in report.panels %}{{ row.title }}\n{{ row.nothing.more }}{% endfor %}");
    let ran = rorqual(&["logs", "--force", "--html", &page, "--template", &wrong, &log]).run().exits(2);
    ran.says(&["--template", &wrong, "wrong.html:2", "nothing"]);
    assert_eq!(std::fs::read(&page).expect("it is there"), b"before");
    for (args, says) in [
        (["--html", &log, &log], "is one of the inputs"),
        (["--html", &folder.text(""), &log], "is not a plain file"),
        (["--html", &folder.text("no/page.html"), &log], "cannot create it: No such file"),
        (["--html", "-", "--json"], "would both print"),
        (["--html", "new.html", "--rejects=./new.html"], "are both"),
        (["--html", &page, &log], "is there already; --force replaces it"),
        (["--html", &log, "--json"], "no log is named, and"),
        (["--html", &folder.text("new.html"), &folder.text("none.log")], "No such file"),
    ] {
        rorqual(&[&["logs"][..], &args].concat()).stdin(b"").run().exits(2).says(&[says]);
    }
    rorqual(&["logs", "--html", &wrong, "--template", &wrong, &log]).run().exits(2).says(&["is one of the inputs"]);
    assert_eq!(std::fs::read(&page).expect("it is there"), b"before");
    assert_eq!(rorqual(&["logs", "--force", "--html", &page, &log]).run().exits(0).stdout, b"");
    assert!(std::fs::read(&page).expect("it is there").ends_with(b"</html>"));
    assert_eq!(folder.names(), ["access.log", "page.html", "wrong.html"], "no temporary file is left");
}

#[test]
fn standard_output_may_close_or_be_full() {
    let folder = TestFolder::new();
    let log = folder.file("access.log", log(100));
    let script = |script: &str| ProcessRun::new("bash").args(["-c", &format!("set -o pipefail; {script}"), PROGRAM, &log]).run();
    assert_eq!(script("\"$0\" logs --html - \"$1\" | true").exits(0).stderr, "");
    script("\"$0\" logs --html - \"$1\" > /dev/full").exits(2).says(&["cannot write", "No space left"]);
}

#[test]
fn part_of_a_log_is_called_so() {
    let folder = TestFolder::new();
    let log = folder.file("access.log", log(100));
    let (page, missing) = (folder.text("page.html"), folder.text("<b>missing.log"));
    rorqual(&["logs", "--html", &page, &log, &missing]).run().exits(2).says(&["No such file"]);
    let page = std::fs::read_to_string(page).expect("what could be read is shown");
    assert!(page.contains("Not the whole log.") && page.contains("&lt;b&gt;missing.log") && !page.contains("<b>missing"));
}

/// The page is often all that is kept of a run, so it has the doubt that standard error has.
#[test]
fn a_doubtful_guess_is_said_as_on_standard_error() {
    let folder = TestFolder::new();
    let sound = folder.file("sound.log", log(10));
    let mixed = |name: &str| folder.file(name, [log(8), b"no line at all\n".repeat(2)].concat());
    let shown = |args: &[&str]| {
        let page = folder.text("page.html");
        let ran = rorqual(&[&["logs", "--json", "--force", "--html", &page], args].concat()).run().exits(0);
        let (stderr, report) = (ran.stderr.clone(), ran.json());
        (unescaped(&std::fs::read_to_string(page).expect("it was made")), stderr, report)
    };
    let sentence = "taken for 'combined', but only 8 of the first 10 lines fit.";
    let doubtful = mixed("mixed.log");
    let (page, stderr, report) = shown(&[&doubtful]);
    assert!(stderr.contains(&format!("{doubtful}: {sentence}")), "{stderr}");
    let guess = &report["sources"][0]["guess"];
    assert!(guess["sound"] == 8 && guess["lines"] == 10, "{guess}");
    assert!(page.contains(&format!("<bdi>{doubtful}</bdi>: {sentence}")));
    // Of several inputs the doubtful ones alone, the first five by name.
    let (page, ..) = shown(&[&sound, &doubtful]);
    assert!(
        page.contains(&format!("<bdi>{doubtful}</bdi>: {sentence}")) && !page.contains(&format!("<bdi>{sound}</bdi>: taken"))
    );
    let many: Vec<String> = (0..7).map(|number| mixed(&format!("mixed-{number}.log"))).collect();
    let (page, ..) = shown(&many.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(page.matches(sentence).count(), 5);
    assert!(page.contains("Of 2 more inputs"), "the others are counted");
    // A format that was given is nobody's guess.
    for args in [&[&*sound][..], &["--format", "combined", &*doubtful][..]] {
        assert!(!shown(args).0.contains("lines fit"), "{args:?}");
    }
}

#[test]
fn a_template_gets_what_json_prints() {
    let folder = TestFolder::new();
    let text = [log(5_000), hit("/</script>&'\u{202e}", "-", "\"", 1).into_bytes(), b"nothing\n".to_vec()].concat();
    let log = folder.file("access.log", text);
    let template = folder.file("mine.html", "{{ report | tojson }}");
    let (page, report) = page_and_report(&folder, &log, &["--template", &template]);
    assert!(!page.contains('<'));
    assert_eq!(serde_json::from_str::<Value>(&page).expect("JSON"), report);
}

#[test]
fn a_template_extends_ours_and_includes_its_neighbours() {
    let folder = TestFolder::new();
    let log = folder.file("access.log", [hit("/<b>", "-", "-", 1), line(1), line(2)].join("\n"));
    folder.file("words.txt", "of my own");
    let template = folder.file(
        "mine.html",
        "{% extends 'rorqual/report.html' %}{% block title %}A page {% include 'words.txt' %}{% endblock %}\
         {% block panels %}{% for row in report.panels[0].rows %}[{{ row.value }}]{% endfor %}{% endblock %}",
    );
    let ran = rorqual(&["logs", "--html", "-", "--template", &template, &log]).run().exits(0);
    let page = ran.text();
    assert!(page.contains("<title>A page of my own</title>") && page.contains("&lt;b&gt;]"));
    assert!(page.contains("Requests per") && !page.contains("data-field=\"client\""));
}

#[test]
fn a_wrong_template_is_said_before_the_log_is_read() {
    let folder = TestFolder::new();
    let none = folder.text("none.log");
    let page = folder.text("page.html");
    for (name, text, says) in [
        ("open.html", "a\nb {% for x in report.panels %}\n", "open.html:"),
        ("mine.tmpl", "", "must end in .html"),
        ("latin.html", "\u{e9}", "is not UTF-8"),
    ] {
        let bytes = if name == "latin.html" { vec![0xe9] } else { text.as_bytes().to_vec() };
        let template = folder.file(name, bytes);
        let ran = rorqual(&["logs", "--html", &page, "--template", &template, &none]).run().exits(2);
        ran.says(&["--template", says]);
        assert!(!ran.stderr.contains("none.log"), "{}", ran.stderr);
    }
    let outside = folder.file("outside.html", "{% include '../secret' %}");
    let log = folder.file("access.log", log(3));
    rorqual(&["logs", "--html", &page, "--template", &outside, &log]).run().exits(2).says(&["outside.html:1"]);
    rorqual(&["logs", "--template", &outside, &log]).run().exits(2).says(&["--html"]);
    assert!(!folder.at("page.html").exists());
}
