//! `rorqual render`: any size, in the memory given, whole or not at all.

use crate::common::{MIB, PROGRAM, TestFolder, line, rorqual};
use crate::tables;
use rorqual_columnar::write::WriteTarget;
use rorqual_testkit::process::{ProcessEnd, ProcessRun};
use std::fmt::Write;
use std::time::Duration;

const DOOM: &str = "DOOM DOOM DOOM DOOM\n";

fn doom(twin: bool) -> String {
    let half = DOOM.repeat(7);
    let empty = if twin { "{{ \"\" }}" } else { "" };
    format!("{{% for i in range(n) %}}{half}{empty}{half}{{% endfor %}}")
}

fn shell(script: &str) -> ProcessRun {
    ProcessRun::new("bash").args(["-c", script])
}

fn stats(ran: &ProcessEnd) -> serde_json::Value {
    let last = ran.stderr.lines().last().expect("a closing line");
    serde_json::from_str(last).expect("one JSON object")
}

/// A log, and its rows as a template with these fields writes them, by hand.
fn log(lines: u64) -> (String, String) {
    let log: String = (0..lines).map(|number| line(number) + "\n").collect();
    let rows = (0..lines).map(|number| {
        let (path, status) = (number % 7, [200, 304, 404][(number % 3) as usize]);
        let second = number % 60;
        let (hour, minute) = (number / 3600, number / 60 % 60);
        format!("<tr><td>2025-01-02T{hour:02}:{minute:02}:{second:02}Z<td>&#x2f;p{path}<td>{status}</tr>\n")
    });
    (log, rows.collect())
}

const ROWS: &str = "{% for row in rows %}<tr><td>{{ row.time|safe }}<td>{{ row.path }}<td>{{ row.status }}</tr>\n{% endfor %}";

#[test]
fn doom_in_little_memory_and_its_twin_too() {
    let folder = TestFolder::new();
    for twin in [false, true] {
        let template = folder.file("doom.txt", doom(twin));
        let ran = shell(&format!("'{PROGRAM}' render '{template}' -D n:=4000000 --stats | wc -c"))
            .time_max(Duration::from_secs(120))
            .run();
        let bytes = 4_000_000_u64 * 280;
        assert_eq!(ran.text().trim(), bytes.to_string());
        let stats = stats(&ran);
        assert_eq!(stats["bytes"], bytes);
        assert_eq!(stats["engine"], "emitter");
        assert!(stats["peak_bytes"].as_u64().expect("a number") <= 32 * MIB, "{stats}");
    }
}

#[test]
fn rows_of_a_log_by_every_way() {
    let folder = TestFolder::new();
    let (log, expected) = log(40_000);
    let path = folder.file("access.log", &log);
    let template = folder.file("page.html", format!("<table>{ROWS}</table>"));
    let expected = format!("<table>{expected}</table>");
    for threads in ["1", "2", "5"] {
        // More threads than there are cores need shorter records to fit.
        let flags = ["--threads", threads, "--record-max", "256KiB"];
        let ran = rorqual(&["render", &template, "--rows", &path]).args(flags).run().exits(0);
        assert!(ran.text() == expected, "{threads} threads");
    }
    let ran = rorqual(&["render", &template, "--rows", "-"]).stdin(log.clone()).run().exits(0);
    assert!(ran.text() == expected, "from standard input");
    // A body that knows its number is rendered by one thread, and a macro by MiniJinja.
    for body in ["{% set x = loop.index %}", "{% macro m() %}{% endmacro %}"] {
        let template = folder.file("other.html", format!("<table>{}</table>", ROWS.replace("<tr>", &format!("{body}<tr>"))));
        let ran = rorqual(&["render", &template, "--rows", &path]).run().exits(0);
        assert!(ran.text() == expected, "{body}");
    }
}

#[test]
fn rows_of_json_keep_their_kinds_however_late_they_come() {
    let folder = TestFolder::new();
    let mut rows = String::new();
    for number in 0..200_000 {
        writeln!(rows, r#"{{"id":{number},"name":"<{number}>","tags":["a",{number}]}}"#).expect("a string");
    }
    // Rows that the start of the file does not show: another kind, and another member.
    rows.push_str("{\"id\":\"late\",\"extra\":[1],\"name\":null}\n");
    let path = folder.file("rows.ndjson", &rows);
    let text = "{% for row in rows %}{{ row.id }} {{ row.name }} {{ row.tags[1] }}\n{% if row.id == 'late' %}{{ row.extra }}{% endif %}{% endfor %}";
    let template = folder.file("page.html", text.replace("row.tags[1]", "row.tags[1] if row.tags else '-'"));
    let ran = rorqual(&["render", &template, "--rows", &path]).run().exits(0);
    let mut expected: String =
        (0..200_000).fold(String::new(), |text, number| text + &format!("{number} &lt;{number}&gt; {number}\n"));
    expected.push_str("late None -\n[1]");
    assert!(ran.text() == expected, "{}", &ran.text()[ran.text().len().saturating_sub(200)..]);
}

#[test]
fn rows_of_columns_and_of_csv() {
    let folder = TestFolder::new();
    let path = folder.at("table.parquet");
    tables::write(&path, WriteTarget::Parquet, 10_000);
    let template = folder.file("page.txt", "{% for row in rows %}{{ row.id }} {{ row.actor.login }}\n{% endfor %}");
    let expected: String = (0..10_000).map(|row| format!("{row} user{}\n", row % 7)).collect();
    let ran = rorqual(&["render", &template, "--rows", &folder.text("table.parquet")]).run().exits(0);
    assert!(ran.text() == expected);
    let csv = folder.file("rows.csv", "id,name\n1,\"a,b\"\n2,<c>\n");
    let template = folder.file("page.html", "{% for row in rows %}{{ row.id }}:{{ row.name }};{% endfor %}");
    assert_eq!(rorqual(&["render", &template, "--rows", &csv]).run().exits(0).text(), "1:a,b;2:&lt;c&gt;;");
}

#[test]
fn a_stream_is_looped_over_once_and_a_file_again() {
    let folder = TestFolder::new();
    let rows = "{\"id\":1}\n{\"id\":2}\n";
    let path = folder.file("rows.ndjson", rows);
    let template =
        folder.file("page.txt", "{% for row in rows %}{{ row.id }}{% endfor %}/{% for row in rows %}{{ row.id }}{% endfor %}");
    assert_eq!(rorqual(&["render", &template, "--rows", &path]).run().exits(0).text(), "12/12");
    let ran = rorqual(&["render", &template, "--rows", "-"]).stdin(rows).run().exits(2);
    assert!(ran.stderr.contains("is read once"), "{}", ran.stderr);
}

#[test]
fn data_of_every_format_and_definitions_over_it() {
    let folder = TestFolder::new();
    let template = folder.file("page.html", "{{ title }}|{{ site.name }}|{{ list[1] }}|{{ when }}|{{ n + 1 }}");
    let files = [
        folder.file("a.json", r#"{"title":"<t>","site":{"name":"S"},"list":[1,2],"when":"2025-01-02","n":1}"#),
        folder.file("a.yaml", "title: <t>\nsite: {name: S}\nlist:\n  - 1\n  - 2\nwhen: '2025-01-02'\nn: 1\n"),
        folder.file("a.toml", "title = '<t>'\nlist = [1, 2]\nwhen = 2025-01-02\nn = 1\n[site]\nname = 'S'\n"),
    ];
    for file in &files {
        let ran = rorqual(&["render", &template, "--data", file]).run().exits(0);
        assert_eq!(ran.text(), "&lt;t&gt;|S|2|2025-01-02|2", "{file}");
        let ran = rorqual(&["render", &template, "--data", file, "-D", "title=own", "-D", "n:=41"]).run().exits(0);
        assert_eq!(ran.text(), "own|S|2|2025-01-02|42", "{file}");
    }
    let bomb = (0..20).fold("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, level| {
        let items = vec![format!("*a{level}"); 10].join(",");
        text + &format!("a{}: &a{} [{items}]\n", level + 1, level + 1)
    });
    let bomb = folder.file("bomb.yaml", bomb);
    let ran = rorqual(&["render", &template, "--data", &bomb]).run().exits(2);
    ran.within(256 * MIB);
}

#[test]
fn data_of_standard_input_and_behind_a_byte_order_mark() {
    let folder = TestFolder::new();
    let template = folder.file("page.txt", "{{ title }}|{{ n + 1 }}");
    for text in ["{\"title\":\"t\",\"n\":1}", "title: t\nn: 1\n", "title = 't'\nn = 1\n"] {
        for mark in ["", "\u{feff}"] {
            let ran = rorqual(&["render", &template, "--data", "-"]).stdin(format!("{mark}{text}")).run().exits(0);
            assert_eq!(ran.text(), "t|2", "{text}");
        }
    }
    for (name, text) in
        [("a.json", "{\"title\":\"t\",\"n\":1}"), ("a.yaml", "title: t\nn: 1\n"), ("a.toml", "title = 't'\nn = 1\n")]
    {
        let file = folder.file(name, format!("\u{feff}{text}"));
        assert_eq!(rorqual(&["render", &template, "--data", &file]).run().exits(0).text(), "t|2", "{name}");
    }
    let long = format!("{{\"title\":\"{}\"}}", "x".repeat(2 << 20));
    rorqual(&["render", &template, "--data", "-"]).stdin(long).run().exits(2).says(&["--data -: variables may have 1.00 MiB"]);
    rorqual(&["render", &template, "--data", "-", "--rows", "-"]).run().exits(2).says(&["read once"]);
}

#[test]
fn names_that_no_template_can_use_are_refused() {
    let folder = TestFolder::new();
    let template = folder.file("page.txt", "{{ _a1 }}");
    for define in ["=1", ":=1", "a b=1", "a:b=1", "1a=1", "not=1", "none:=1", "ä=1"] {
        rorqual(&["render", &template, "-D", define]).run().exits(2).says(&[define, "no template can use the name"]);
    }
    assert_eq!(rorqual(&["render", &template, "-D", "_a1=2"]).run().exits(0).text(), "2");
}

#[test]
fn an_error_leaves_no_file_and_what_was_there() {
    let folder = TestFolder::new();
    let template = folder.file("page.html", "{% for i in range(100000) %}{{ i }}\n{% endfor %}\n  {{ missing }}");
    let out = folder.file("out.html", "what was there");
    rorqual(&["render", &template, "-o", &out]).run().exits(2).says(&["is there already; --force replaces it"]);
    let ran = rorqual(&["render", &template, "--force", "-o", &out]).run().exits(2);
    assert!(ran.stderr.contains("page.html:3:6: undefined value: `missing` is undefined"), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(&out).expect("it is there"), "what was there");
    assert_eq!(folder.names(), ["out.html", "page.html"]);
    // The reader of a pipe has the text before the error, and an exit code that says so.
    let ran = rorqual(&["render", &template]).run().exits(2);
    assert!(ran.text().starts_with("0\n1\n") && ran.text().trim_end().ends_with("99999"));
    let ran = rorqual(&["render", &template, "--lenient", "--force", "-o", &out]).run().exits(0);
    assert_eq!(ran.text(), "");
    assert!(std::fs::read_to_string(&out).expect("it is there").trim_end().ends_with("99999"));
}

#[test]
fn files_of_so_many_rows_have_heads_and_feet_of_their_own() {
    let folder = TestFolder::new();
    let rows: String = (0..25).map(|number| format!("{{\"loc\":\"/{number}\"}}\n")).collect();
    let path = folder.file("rows.ndjson", rows);
    let text = "<urlset n=\"{{ shard.index }}\">{% for row in rows %}<loc>{{ row.loc|safe }}</loc>{% endfor %}</urlset>";
    let template = folder.file("sitemap.xml", text);
    let out = folder.text("sitemap-{}.xml.out");
    let ran = rorqual(&["render", &template, "--rows", &path, "--split", "10", "-o", &out, "--json"]).run().exits(0);
    let said: Vec<serde_json::Value> = ran.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(said.iter().map(|file| file["rows"].as_u64()).collect::<Vec<_>>(), [Some(10), Some(10), Some(5)]);
    for (number, rows) in [(1, 0..10), (2, 10..20), (3, 20..25)] {
        let locs: String = rows.map(|row| format!("<loc>/{row}</loc>")).collect();
        let expected = format!("<urlset n=\"{number}\">{locs}</urlset>");
        let file = folder.at(&format!("sitemap-0000{number}.xml.out"));
        assert_eq!(std::fs::read_to_string(file).expect("it is there"), expected);
    }
    // A whole number of files has no empty one after it; no rows are one file.
    let ran =
        rorqual(&["render", &template, "--rows", &path, "--split", "5", "-o", &folder.text("s{}"), "--json"]).run().exits(0);
    assert_eq!(ran.text().lines().count(), 5);
    let none = folder.file("none.csv", "loc\n");
    let ran =
        rorqual(&["render", &template, "--rows", &none, "--split", "5", "-o", &folder.text("n{}"), "--json"]).run().exits(0);
    assert_eq!(ran.text().lines().count(), 1);
    // By bytes: a file ends with the row that reaches them.
    let ran = rorqual(&["render", &template, "--rows", &path, "--split", "100B", "-o", &folder.text("b{}"), "--json"]).run();
    let sum: u64 = ran
        .exits(0)
        .text()
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["rows"].as_u64().expect("rows"))
        .sum();
    assert_eq!(sum, 25);
    // The head alone reaches the limit, so each file has one row.
    let ran = rorqual(&["render", &template, "--rows", &path, "--split", "10B", "-o", &folder.text("h{}"), "--json"]).run();
    assert_eq!(ran.exits(0).text().lines().count(), 25);
    let third = std::fs::read_to_string(folder.at("h00003")).expect("it is there");
    assert_eq!(third, "<urlset n=\"3\"><loc>/2</loc></urlset>");
    let ran = rorqual(&["render", &template, "--rows", &path, "--split", "5", "-o", &folder.text("same")]).run().exits(2);
    assert!(ran.stderr.contains("{}"), "{}", ran.stderr);
    // An output that would be an input is none.
    let shard = folder.file("x00001", "{\"loc\":\"/\"}\n");
    let ran =
        rorqual(&["render", &template, "--rows", &shard, "--from", "ndjson", "--split", "5", "-o", &folder.text("x{}")]).run();
    assert!(ran.exits(2).stderr.contains("is one of the inputs"));
    assert_eq!(std::fs::read_to_string(&shard).expect("it is still there"), "{\"loc\":\"/\"}\n");
    let still = folder.file("still.xml", "no rows");
    let ran = rorqual(&["render", &still, "--rows", &path, "--split", "5", "-o", &folder.text("y{}")]).run().exits(2);
    assert!(ran.stderr.contains("took none of the rows"), "{}", ran.stderr);
}

#[test]
fn a_template_that_builds_too_much_is_ended_below_its_memory() {
    let folder = TestFolder::new();
    let templates = [
        "{% set a = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' * 100000 %}{{ a|replace('a', a)|length }}",
        "{{ range(1000000000000)|list|length }}",
        "{% set ns = namespace(x='0123456789') %}{% for i in range(100) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x }}",
        "{{ range(1000000000000) }}",
        "{% macro m(x) %}{{ m(x ~ x) }}{% endmacro %}{{ m('0123456789') }}",
    ];
    for text in templates {
        let template = folder.file("bomb.html", text);
        let ran = rorqual(&["render", &template, "--memory", "256MiB"]).run().exits(2);
        ran.within(256 * MIB);
    }
}

#[test]
fn who_has_read_enough_is_no_error() {
    let folder = TestFolder::new();
    let template = folder.file("endless.txt", "{% for i in range(1000000000000) %}{{ i }}\n{% endfor %}");
    let ran = shell(&format!("'{PROGRAM}' render '{template}' --stats | head -n 3; echo ${{PIPESTATUS[0]}}")).run();
    assert_eq!(ran.text(), "0\n1\n2\n0\n");
    assert!(stats(&ran)["peak_bytes"].as_u64().expect("a number") <= 32 * MIB, "{}", ran.stderr);
}

#[test]
fn ctrl_c_ends_what_never_ends() {
    let folder = TestFolder::new();
    let template =
        folder.file("endless.txt", "{% for i in range(1000000000000) %}{% if i == 1000 %}begun{% endif %}{% endfor %}");
    let out = folder.text("out.txt");
    let running = rorqual(&["render", &template, "-o", &out]).start();
    crate::common::listens(&running);
    running.interrupt();
    assert_eq!(running.wait().exits(130).stderr, "rorqual: stopped by Ctrl-C\n");
    assert_eq!(folder.names(), ["endless.txt"]);
}
