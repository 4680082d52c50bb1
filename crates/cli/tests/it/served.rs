//! `rorqual serve --templates … --template-rows …`: the same page as `rorqual render` makes, in the
//! memory that was given.

use crate::client::{Answer, Server};
use crate::common::{GIB, MIB, TestFolder, log, rorqual};
use std::thread;

const TEMPLATE: &str =
    "<table>{% for row in rows %}<tr><td>{{ row.path }}</td><td>{{ row.status }}</td></tr>\n{% endfor %}</table>";

/// Of a client that knows no chunks: the body is the page.
fn page(server: &Server, target: &str) -> Answer {
    let head = server.head("GET", target).replace("HTTP/1.1", "HTTP/1.0");
    server.raw(format!("{head}\r\n").as_bytes())
}

#[test]
fn a_served_page_is_the_rendered_one_for_all_who_ask() {
    let folder = TestFolder::new();
    let rows = folder.file("access.log", log(200_000));
    let templates = TestFolder::new();
    let template = templates.file("page.html", TEMPLATE);
    let expected = rorqual(&["render", &template, "--rows", &rows]).run().exits(0).text().to_owned();
    let server = Server::start(&["--templates", &templates.text(""), "--template-rows", &rows]);
    // More at a time than may read rows: the others wait for a place.
    thread::scope(|scope| {
        for _ in 0..9 {
            scope.spawn(|| {
                let answer = page(&server, "/render/page.html");
                assert_eq!(answer.status, 200, "{}", answer.head);
                assert!(answer.body == expected, "{} bytes, {} expected", answer.body.len(), expected.len());
            });
        }
    });
    let peak = server.running.peak_bytes();
    assert!(peak <= GIB, "{} MiB", peak / MIB);
}

#[test]
fn rows_in_rows_and_rows_that_are_gone() {
    let folder = TestFolder::new();
    let rows = folder.file("rows.csv", "id\n1\n2\n3\n");
    let templates = TestFolder::new();
    templates.file("nested.txt", "{% for a in rows %}{% for b in rows %}{{ a.id }}{{ b.id }} {% endfor %}{% endfor %}");
    templates.file("page.txt", "{% for row in rows %}{{ row.id }}{% endfor %}");
    let server = Server::start(&["--templates", &templates.text(""), "--template-rows", &rows]);
    assert_eq!(page(&server, "/render/nested.txt").body, "11 12 13 21 22 23 31 32 33 ");
    std::fs::remove_file(&rows).expect("it was there");
    let error = page(&server, "/render/page.txt").refused(500, "template_failed");
    assert!(error["message"].as_str().expect("a message").contains("rows.csv"), "{error}");
    // Rows are looked at when the server starts.
    let ran = rorqual(&["serve", "--port", "0", "--templates", &templates.text(""), "--template-rows", &rows]).run().exits(2);
    assert!(ran.stderr.contains("rows.csv"), "{}", ran.stderr);
}
