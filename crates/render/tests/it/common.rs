//! Rows in memory, and templates rendered both ways.

use rorqual_pipe::Control;
use rorqual_render::{PageInput, RenderError, RowBatch, RowCell, RowSequence, Source, Templates, Value, value_of};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows of JSON objects with the same members.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
    batch_rows: usize,
    /// Number of batches asked for.
    pub(crate) batches: Arc<AtomicU64>,
}

impl Table {
    pub(crate) fn new(rows: &[serde_json::Value], batch_rows: usize) -> Self {
        let members = |row: &serde_json::Value| row.as_object().unwrap().clone();
        let columns = rows.first().map_or(Vec::new(), |row| members(row).keys().cloned().collect());
        let rows = rows.iter().map(|row| members(row).values().map(value_of).collect()).collect();
        Self { columns, rows, batch_rows, batches: Arc::default() }
    }
}

impl Source for Table {
    fn open(&self, _: &Control) -> Result<Box<dyn RowSequence>, RenderError> {
        let part = |rows: &[Vec<Value>]| Arc::new(Part { columns: self.columns.clone(), rows: rows.to_vec() });
        let batches: Vec<_> = self.rows.chunks(self.batch_rows).map(part).collect();
        Ok(Box::new(Reading(batches.into_iter(), Arc::clone(&self.batches))))
    }
}

struct Reading(std::vec::IntoIter<Arc<Part>>, Arc<AtomicU64>);

impl RowSequence for Reading {
    fn next(&mut self) -> Result<Option<Arc<dyn RowBatch>>, RenderError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Ok(self.0.next().map(|part| part as Arc<dyn RowBatch>))
    }
}

#[derive(Debug)]
struct Part {
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

impl RowBatch for Part {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn cell(&self, row: usize, column: usize) -> RowCell<'_> {
        let value = &self.rows[row][column];
        match value.as_str() {
            Some(text) => RowCell::Text(text),
            None if value.is_integer() => value.as_i64().map_or(RowCell::Value(value.clone()), RowCell::Integer),
            None => RowCell::Value(value.clone()),
        }
    }
}

/// Output of a template, and the kind and place of the error that ended it.
#[derive(Debug, PartialEq)]
pub(crate) struct Rendered {
    pub(crate) text: String,
    pub(crate) error: Option<String>,
}

pub(crate) fn rendered(out: Vec<u8>, result: Result<(), RenderError>) -> Rendered {
    Rendered { text: String::from_utf8(out).unwrap(), error: result.err().map(|error| error.to_string()) }
}

/// Templates, the first of which is rendered by the emitter and by MiniJinja.
pub(crate) fn both(files: &[(&str, &str)], page: &PageInput, lenient: bool) -> (Rendered, Rendered) {
    let mut templates = Templates::new(lenient);
    for (name, text) in files {
        templates.add(name, text).unwrap();
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let result = templates.render(files[0].0, page, &mut ours).map(drop);
    let ours = rendered(ours, result);
    let result = templates.render_by_minijinja(files[0].0, page, &mut theirs);
    (ours, rendered(theirs, result))
}

pub(crate) fn context() -> Value {
    value_of(serde_json::json!({
        "title": "<b> \"a\" & 'b' / c\n",
        "empty": "",
        "n": 42, "neg": -7, "big": 18446744073709551615_u64, "f": 1.5, "whole": 3.0, "t": true, "no": null,
        "list": [1, "two", "<3>", 4.5, null],
        "pairs": [["a", 1], ["b", 2]],
        "user": {"name": "Ada & Co", "address": {"city": "<Paris>"}},
        "none": [],
    }))
}

/// Rows with every kind of value.
pub(crate) fn rows() -> Vec<serde_json::Value> {
    let row = |i: i64| {
        serde_json::json!({
            "id": i, "path": format!("/a/<{i}>?x=\"{i}\"&y='"), "status": if i % 3 == 0 { 404 } else { 200 },
            "size": (i as f64) * 0.5, "ok": i % 2 == 0, "none": null, "tags": ["x", i], "at": {"city": format!("c{i}&")},
        })
    };
    (0..7).map(row).collect()
}

pub(crate) fn page(batch_rows: usize) -> PageInput {
    PageInput { context: context(), rows: Some(Arc::new(Table::new(&rows(), batch_rows))), ..PageInput::default() }
}
