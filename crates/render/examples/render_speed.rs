//! Cost of the engine without a program around it: nanoseconds an iteration, by the emitter and by
//! MiniJinja, JSON on stdout; `cpu_ns` is the processor time of its thread, which a busy machine
//! does not change much.
//!
//! `render_speed [ITERATIONS]`: the Template of Doom and its twin to /dev/null and into a pipe that
//! a thread drains, beside a loop that writes the same bytes; and a table of rows with 8 escaped
//! fields.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use rorqual_pipe::gather::{Gather, OutputFd};
use rorqual_pipe::{BufferPool, Control, Sink};
use rorqual_render::{PageInput, RenderError, RowBatch, RowCell, RowSequence, Source, Templates, Value};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

const BUFFER_BYTES: usize = 256 << 10;

fn main() {
    let n: u64 = std::env::args().nth(1).map_or(10_000_000, |text| text.parse().expect("a number"));
    for target in ["null", "pipe"] {
        let nanos = bare(target, n);
        println!("{{\"work\":\"bare\",\"target\":\"{target}\",\"ns\":{nanos:.1}}}");
        for (work, empty) in [("doom", ""), ("twin", "{{ \"\" }}"), ("number", "{{ i }}")] {
            let half = "DOOM DOOM DOOM DOOM\n".repeat(7);
            let text = format!("{{% for i in range(n) %}}{half}{empty}{half}{{% endfor %}}");
            measure(work, "doom.txt", &text, target, n, None);
        }
    }
    let cells: String = (0..8).map(|column| format!("<td>{{{{ row.c{column} }}}}</td>")).collect();
    let text = format!("{{% for row in rows %}}<tr>{cells}</tr>\n{{% endfor %}}");
    let rows = n / 10;
    measure("rows", "rows.html", &text, "null", rows, Some(Arc::new(MadeRows::new(rows))));
}

fn measure(work: &str, name: &str, text: &str, target: &str, n: u64, rows: Option<Arc<dyn Source>>) {
    let mut templates = Templates::new(false);
    templates.add(name, text).unwrap();
    let context = Value::from_pairs([("n", Value::from(n))]);
    let page = PageInput { context, rows, ..PageInput::default() };
    for engine in ["emitter", "minijinja"] {
        let (file, reader) = opened(target);
        let mut sink = Gather::new(OutputFd::new(file, &Control::default()), &BufferPool::new(BUFFER_BYTES, 1)).unwrap();
        let (start, cpu) = (Instant::now(), cpu_nanos());
        match engine {
            "emitter" => drop(templates.render(name, &page, &mut sink).unwrap()),
            _ => templates.render_by_minijinja(name, &page, &mut sink).unwrap(),
        }
        Sink::flush(&mut sink).unwrap();
        let nanos = start.elapsed().as_secs_f64() * 1e9 / n as f64;
        let cpu = (cpu_nanos() - cpu) as f64 / n as f64;
        println!("{{\"work\":\"{work}\",\"target\":\"{target}\",\"engine\":\"{engine}\",\"ns\":{nanos:.1},\"cpu_ns\":{cpu:.1}}}");
        drop(sink);
        if let Some(reader) = reader {
            reader.join().unwrap();
        }
    }
}

/// Processor time that this thread has had.
fn cpu_nanos() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// A loop that writes the same bytes, as much at a time.
fn bare(target: &str, n: u64) -> f64 {
    let (file, reader) = opened(target);
    let mut file = OutputFd::new(file, &Control::default());
    let bytes = "DOOM DOOM DOOM DOOM\n".repeat(14).len() as u64 * n;
    let block = "DOOM DOOM DOOM DOOM\n".repeat(BUFFER_BYTES / 20);
    let start = Instant::now();
    for _ in 0..bytes / block.len() as u64 {
        file.write_all(block.as_bytes()).unwrap();
    }
    let nanos = start.elapsed().as_secs_f64() * 1e9 / n as f64;
    drop(file);
    if let Some(reader) = reader {
        reader.join().unwrap();
    }
    nanos
}

fn opened(target: &str) -> (File, Option<JoinHandle<()>>) {
    if target == "null" {
        return (File::options().write(true).open("/dev/null").unwrap(), None);
    }
    let (read, write) = std::io::pipe().unwrap();
    let mut read = File::from(OwnedFd::from(read));
    let reader = std::thread::spawn(move || {
        let mut buffer = vec![0; BUFFER_BYTES];
        while read.read(&mut buffer).unwrap() > 0 {}
    });
    (File::from(OwnedFd::from(write)), Some(reader))
}

/// Rows like a log's, made of one batch.
#[derive(Debug)]
struct MadeRows {
    batch: Arc<dyn RowBatch>,
    rows: u64,
}

#[derive(Debug)]
struct Log {
    names: Vec<String>,
    texts: Vec<Vec<String>>,
}

impl MadeRows {
    fn new(rows: u64) -> Self {
        let texts = |row: u64| {
            vec![
                format!("203.0.113.{}", row % 250),
                format!("2025-01-02T03:04:{:02}Z", row % 60),
                format!("/articles/{row}?q=a&b=<{}>", row % 7),
                "200".to_owned(),
                (row * 37).to_string(),
                "https://example.org/start".to_owned(),
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0 Safari/537.36".to_owned(),
                "GET".to_owned(),
            ]
        };
        let names = (0..8).map(|column| format!("c{column}")).collect();
        Self { batch: Arc::new(Log { names, texts: (0..1000).map(texts).collect() }), rows }
    }
}

impl Source for MadeRows {
    fn open(&self, _: &Control) -> Result<Box<dyn RowSequence>, RenderError> {
        Ok(Box::new(Left(Arc::clone(&self.batch), self.rows / 1000)))
    }
}

struct Left(Arc<dyn RowBatch>, u64);

impl RowSequence for Left {
    fn next(&mut self) -> Result<Option<Arc<dyn RowBatch>>, RenderError> {
        let Some(left) = self.1.checked_sub(1) else { return Ok(None) };
        self.1 = left;
        Ok(Some(Arc::clone(&self.0)))
    }
}

impl RowBatch for Log {
    fn rows(&self) -> usize {
        self.texts.len()
    }

    fn columns(&self) -> &[String] {
        &self.names
    }

    fn cell(&self, row: usize, column: usize) -> RowCell<'_> {
        RowCell::Text(&self.texts[row][column])
    }
}
