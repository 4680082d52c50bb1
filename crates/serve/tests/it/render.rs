//! Templates over HTTP: what comes when, who waits for whom, and that everything comes home.

use crate::common::{Running, ask, send};
use rorqual_pipe::Control;
use rorqual_render::{RenderError, RowBatch, RowCell, RowSequence, Source, Templates, Value};
use rorqual_serve::Rendering;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// An awaited event comes sooner, or never.
const PATIENCE: Duration = Duration::from_secs(60);

const LINE: &str = "DOOM DOOM DOOM DOOM\n";

pub(crate) fn rendering(templates: &[(&str, &str)], rows: Option<Arc<dyn Source>>, places: usize) -> Rendering {
    let mut known = Templates::new(false);
    for (name, text) in templates {
        known.add(name, text).expect("a template");
    }
    let context = BTreeMap::from([("site".to_owned(), Value::from("<b>"))]);
    Rendering { templates: known, context, rows, given_bytes: 0, rows_bytes: 0, places, exceeded: |_| {}, failed: |_, _| {} }
}

pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited {PATIENCE:?} for: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn all_places_are_free(url: &str) {
    all_places_are_free_by(|| ask(url, "GET /render", ""));
}

pub(crate) fn all_places_are_free_by(ask: impl Fn() -> String) {
    eventually("every block comes home", || ask().contains("\"taken\":0"));
}

/// Templates that never end: one writes all the time, the other not at all after its first word.
pub(crate) fn endless() -> Rendering {
    let endless = format!("{{% for i in range(1000000000000) %}}{LINE}{{% endfor %}}");
    let silent = "begin{% for i in range(1000000000000) %}{% endfor %}";
    rendering(&[("endless.txt", &endless), ("silent.txt", silent)], None, 2)
}

/// The body of a chunked answer, as far as it came; and whether it came whole.
fn body(answer: &str) -> (String, bool) {
    let (_, mut rest) = answer.split_once("\r\n\r\n").expect("an answer");
    let mut body = String::new();
    while let Some((length, more)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).expect("a chunk");
        if length == 0 {
            return (body, true);
        }
        body.push_str(&more[..length]);
        rest = &more[length + 2..];
    }
    (body, false)
}

#[test]
fn a_template_is_answered_with_what_the_address_says() {
    let running = Running::rendering(rendering(&[("a/hello.html", "{{ site }} {{ query.name }}!")], None, 2));
    let answer = ask(&running.url, "GET /render/a/hello.html?name=%3Ci%3E+x", "");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("content-type: text/html; charset=utf-8\r\n"), "{answer}");
    assert!(answer.contains("content-security-policy: sandbox allow-scripts"), "{answer}");
    assert_eq!(body(&answer), ("&lt;b&gt; &lt;i&gt; x!".to_owned(), true));
}

#[test]
fn an_error_before_the_first_piece_has_a_status_and_one_behind_it_breaks_the_answer_off() {
    let late = format!("{{% for i in range(10000) %}}{LINE}{{% endfor %}}{{{{ missing }}}}");
    let running = Running::rendering(rendering(&[("early.txt", "one\n{{ missing }}"), ("late.txt", &late)], None, 2));
    let early = ask(&running.url, "GET /render/early.txt", "");
    assert!(early.starts_with("HTTP/1.1 500"), "{early}");
    assert!(early.contains("template_failed") && early.contains("early.txt:2:4"), "{early}");
    let missing = ask(&running.url, "GET /render/none.txt", "");
    assert!(missing.starts_with("HTTP/1.1 404") && missing.contains("no_template"), "{missing}");
    let late = ask(&running.url, "GET /render/late.txt", "");
    let (text, whole) = body(&late);
    assert!(late.starts_with("HTTP/1.1 200") && !whole, "it must not look whole");
    assert!(text.starts_with(LINE) && text.len() <= 10_000 * LINE.len());
    all_places_are_free(&running.url);
}

#[test]
fn a_client_that_asks_again_at_once_finds_its_place_free() {
    // Several blocks.
    let long = format!("{{% for i in range(5000) %}}{LINE}{{% endfor %}}");
    let running = Running::rendering(rendering(&[("early.txt", "one\n{{ missing }}"), ("long.txt", &long)], None, 1));
    for _ in 0..200 {
        let failed = ask(&running.url, "GET /render/early.txt", "");
        assert!(failed.starts_with("HTTP/1.1 500"), "{failed}");
        let whole = ask(&running.url, "GET /render/long.txt", "");
        assert!(whole.starts_with("HTTP/1.1 200") && body(&whole).1, "{whole}");
    }
}

#[test]
fn without_the_token_nothing_is_rendered() {
    let running = Running::rendering(rendering(&[("hello.txt", "hello")], None, 2));
    let url = running.url.replace("token=", "token=0");
    assert!(ask(&url, "GET /render/hello.txt", "").starts_with("HTTP/1.1 401"));
}

/// A source that gives a row each time it is allowed one.
#[derive(Debug)]
struct Gated {
    allowed: Mutex<u64>,
    changed: Condvar,
    given: AtomicU64,
    /// Rows in all.
    rows: u64,
}

#[derive(Debug)]
struct GatedRows(Arc<Gated>, u64);

#[derive(Debug)]
struct One {
    number: u64,
    columns: [String; 1],
}

impl Gated {
    fn new(rows: u64) -> Arc<Self> {
        Arc::new(Self { allowed: Mutex::new(0), changed: Condvar::new(), given: AtomicU64::new(0), rows })
    }

    fn allow(&self, more: u64) {
        *self.allowed.lock().expect("no panic") += more;
        self.changed.notify_all();
    }
}

#[derive(Debug)]
struct Handle(Arc<Gated>);

impl Source for Handle {
    fn open(&self, _: &Control) -> Result<Box<dyn RowSequence>, RenderError> {
        Ok(Box::new(GatedRows(Arc::clone(&self.0), 0)))
    }
}

impl RowSequence for GatedRows {
    fn next(&mut self) -> Result<Option<Arc<dyn RowBatch>>, RenderError> {
        if self.1 == self.0.rows {
            return Ok(None);
        }
        let mut allowed = self.0.allowed.lock().expect("no panic");
        while *allowed <= self.1 {
            allowed = self.0.changed.wait(allowed).expect("no panic");
        }
        self.1 += 1;
        self.0.given.fetch_add(1, Ordering::SeqCst);
        Ok(Some(Arc::new(One { number: self.1, columns: ["number".to_owned()] })))
    }
}

impl RowBatch for One {
    fn rows(&self) -> usize {
        1
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn cell(&self, _row: usize, _column: usize) -> RowCell<'_> {
        RowCell::Integer(i64::try_from(self.number).expect("few"))
    }
}

#[test]
fn the_first_byte_leaves_before_the_rows_are_read() {
    let rows = Gated::new(3);
    let template = "<h1>rows</h1>\n{% for row in rows %}<p>{{ row.number }}</p>\n{% endfor %}end";
    let source: Arc<dyn Source> = Arc::new(Handle(Arc::clone(&rows)));
    let running = Running::rendering(rendering(&[("page.html", template)], Some(source), 2));
    let stream = send(&running.url, "GET /render/page.html", "");
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("text"));
    assert!(lines.any(|line| line == "<h1>rows</h1>"));
    assert_eq!(rows.given.load(Ordering::SeqCst), 0, "no row was allowed yet");
    rows.allow(3);
    let rest: Vec<String> = lines.collect();
    for number in 1..=3 {
        assert!(rest.iter().any(|line| line.contains(&format!("<p>{number}</p>"))), "{rest:?}");
    }
}

#[test]
fn a_stalled_reader_holds_up_nobody_and_the_places_have_an_end() {
    let endless = format!("{{% for i in range(1000000000000) %}}{LINE}{{% endfor %}}");
    let running = Running::rendering(rendering(&[("endless.txt", &endless), ("short.txt", "short")], None, 3));
    let mut stalled: Vec<TcpStream> = (0..2).map(|_| send(&running.url, "GET /render/endless.txt", "")).collect();
    for stream in &mut stalled {
        stream.read_exact(&mut [0; 1]).expect("it begins");
    }
    for _ in 0..20 {
        eventually("the third place", || ask(&running.url, "GET /render/short.txt", "").ends_with("short\r\n0\r\n\r\n"));
    }
    stalled.push(send(&running.url, "GET /render/endless.txt", ""));
    stalled[2].read_exact(&mut [0; 1]).expect("it begins");
    let refused = ask(&running.url, "GET /render/short.txt", "");
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("retry-after: 1"), "{refused}");
    assert!(refused.contains("renders_full"), "{refused}");
    drop(stalled);
    all_places_are_free(&running.url);
}

#[test]
fn a_reader_that_goes_away_stops_its_rendering_wherever_it_is() {
    // Some write all the time, some never; some are rendered by MiniJinja as a whole, or in one
    // expression.
    let endless = format!("{{% for i in range(1000000000000) %}}{LINE}{{% endfor %}}");
    let endless_macro =
        format!("{{% macro m() %}}{LINE}{{% endmacro %}}{{% for i in range(1000000000000) %}}{{{{ m() }}}}{{% endfor %}}");
    let templates = [
        ("endless.txt", endless.as_str()),
        ("endless_macro.txt", &endless_macro),
        ("silent.txt", "begin{% for i in range(1000000000000) %}{% endfor %}"),
        ("silent_macro.txt", "{% macro m() %}{% endmacro %}{% for i in range(1000000000000) %}{% endfor %}"),
        ("expression.txt", "{{ range(1000000000000)|select('string')|list|length }}"),
    ];
    let running = Running::rendering(rendering(&templates, None, 4));
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for number in 0..1000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if number % 10 == 0 {
            let name = ["silent", "silent_macro", "expression"][number / 10 % 3];
            all_places_are_free(&running.url);
            let stream = send(&running.url, &format!("GET /render/{name}.txt"), "");
            eventually("it is rendered", || ask(&running.url, "GET /render", "").contains("\"taken\":1"));
            let _ = stream.shutdown(Shutdown::Both);
            continue;
        }
        let name = if number % 2 == 0 { "endless_macro" } else { "endless" };
        eventually("a place", || {
            let mut stream = send(&running.url, &format!("GET /render/{name}.txt"), "");
            // Longer than a refusal.
            let wanted = 2_000 + (random >> 40) % 300_000;
            let read = std::io::copy(&mut Read::by_ref(&mut stream).take(wanted), &mut std::io::sink()).expect("it answers");
            let _ = stream.shutdown(Shutdown::Both);
            read == wanted
        });
    }
    all_places_are_free(&running.url);
}
