//! Rows are read as they are needed, and their renderer is known.

use crate::common::{Table, context, page, rows};
use rorqual_pipe::gather::Gather;
use rorqual_pipe::{BufferPool, Sink};
use rorqual_render::limits::REPEATED_BYTES_MAX;
use rorqual_render::{PageInput, RenderedBy, Templates, Value};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn way(template: &str) -> RenderedBy {
    let mut templates = Templates::new(true);
    templates.add("base.html", "{% block body %}{% endblock %}").unwrap();
    templates.add("page.html", template).unwrap();
    templates.render("page.html", &page(3), &mut Vec::new()).unwrap()
}

#[test]
fn the_common_shapes_are_ours() {
    let ours = [
        "{% for row in rows %}<td>{{ row.path }}</td>{{ row.id|e }}{{ loop.index }}{{ ',' if not loop.last }}{% endfor %}",
        "{% extends 'base.html' %}{% block body %}{% for row in rows if row.ok %}{{ row.path|upper }}{% endfor %}{% endblock %}",
        "{% include 'base.html' %}{% set x = 1 %}{% with y = x %}{{ y }}{% endwith %}{% set z %}a{% endset %}",
        "{% for i in range(3) %}{% if i is odd %}{% continue %}{% endif %}{{ loop.cycle(1, 2) }}{% else %}x{% endfor %}",
    ];
    for template in ours {
        assert_eq!(way(template), RenderedBy::Emitter, "{template}");
    }
    assert_eq!(way("{% macro m() %}{% endmacro %}{{ m() }}"), RenderedBy::MiniJinja);
}

#[test]
fn the_last_row_is_known() {
    for batch_rows in [1, 3, 7, 100] {
        let mut templates = Templates::new(false);
        let template = "[{% for row in rows %}{{ row.id }}{% if not loop.last %},{% endif %}{% endfor %}]";
        templates.add("page.json", template).unwrap();
        let mut out = Vec::new();
        templates.render("page.json", &page(batch_rows), &mut out).unwrap();
        assert_eq!(out, b"[0,1,2,3,4,5,6]");
    }
}

/// Remembers how many batches had been asked for when it was first flushed, and at the first piece
/// after that.
struct Watching {
    batches: Arc<AtomicU64>,
    flushed_at: Option<u64>,
    bytes_before: usize,
}

impl Sink for Watching {
    fn copy(&mut self, piece: &[u8]) -> io::Result<()> {
        if self.flushed_at.is_none() {
            self.bytes_before += piece.len();
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flushed_at.get_or_insert(self.batches.load(Ordering::Relaxed));
        Ok(())
    }
}

#[test]
fn what_is_before_the_rows_leaves_before_they_are_read() {
    let table = Table::new(&rows(), 1);
    let mut sink = Watching { batches: Arc::clone(&table.batches), flushed_at: None, bytes_before: 0 };
    let mut templates = Templates::new(false);
    templates.add("page.html", "<html>{% for row in rows %}{{ row.id }}{% endfor %}").unwrap();
    let page = PageInput { context: context(), rows: Some(Arc::new(table)), ..PageInput::default() };
    templates.render("page.html", &page, &mut sink).unwrap();
    assert_eq!((sink.flushed_at, sink.bytes_before), (Some(0), 6));
}

#[test]
fn a_range_has_no_limit_and_no_list() {
    let mut templates = Templates::new(false);
    templates
        .add("a.txt", "{% for i in range(1000000000000) %}{{ i }}{% if i == 200000 %}{% break %}{% endif %}{% endfor %}")
        .unwrap();
    let mut out = Vec::new();
    templates.render("a.txt", &PageInput::default(), &mut out).unwrap();
    let expected: String = (0..=200_000).map(|number| number.to_string()).collect();
    assert!(out == expected.as_bytes());
}

#[test]
fn a_text_that_repeats_is_the_same_however_often() {
    let line = "DOOM DOOM DOOM DOOM\n";
    let at_once = REPEATED_BYTES_MAX / line.len();
    for times in [0, 1, 2, at_once - 1, at_once, at_once + 1, 3 * at_once + 7] {
        let mut templates = Templates::new(false);
        let text = format!("{{% for i in range({times}) %}}{line}{{{{ '' }}}}{{% else %}}none{{% endfor %}}");
        templates.add("doom.txt", &text).unwrap();
        let mut out = Vec::new();
        templates.render("doom.txt", &PageInput::default(), &mut out).unwrap();
        let expected = if times == 0 { "none".to_owned() } else { line.repeat(times) };
        assert!(out == expected.as_bytes(), "{times} times");
    }
}

#[test]
fn a_text_that_repeats_is_pointed_at() {
    let times = 1_000_000;
    let mut templates = Templates::new(false);
    templates.add("doom.txt", &format!("{{% for i in range({times}) %}}DOOM\n{{% endfor %}}")).unwrap();
    let mut sink = Gather::new(std::io::sink(), &BufferPool::new(256 << 10, 1)).unwrap();
    templates.render("doom.txt", &PageInput::default(), &mut sink).unwrap();
    Sink::flush(&mut sink).unwrap();
    let stats = sink.stats();
    assert_eq!(stats.copied_bytes + stats.shared_bytes, 5 * times);
    assert!(stats.copied_bytes < REPEATED_BYTES_MAX as u64, "{stats:?}");
}

#[test]
fn rows_on_a_page_are_a_word_and_svg_is_escaped() {
    let mut templates = Templates::new(false);
    templates.add("a.svg.j2", "<svg>{{ rows }}{{ x }}</svg>").unwrap();
    let page = PageInput { context: Value::from_pairs([("x", "<script>")]), ..page(3) };
    let mut out = Vec::new();
    templates.render("a.svg.j2", &page, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "<svg>rows&lt;script&gt;</svg>");
}
