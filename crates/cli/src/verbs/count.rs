//! `rorqual count`

use crate::args::{Common, CountArgs, When};
use crate::exit::Exit;
use crate::message::{self, escaped};
use crate::progress::Progress;
use crate::{fitting, input, interrupt};
use rorqual_pipe::count::{Count, Counter};
use rorqual_pipe::decode::{decoder_bytes, zstd_window_log_max};
use rorqual_pipe::limits::{self, BLOCK_BYTES, buffers_needed};
use rorqual_pipe::{Budget, BudgetError, Control, Error, Framing, Operation, Plan, Pool};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

const MEMORY_BYTES_DEFAULT: u64 = 256 << 20;

/// What is counted, in `wc`'s column order.
#[derive(Clone, Copy)]
struct Columns {
    lines: bool,
    bytes: bool,
    longest: bool,
}

impl Columns {
    fn of(args: &CountArgs) -> Self {
        match (args.lines, args.bytes, args.longest) {
            (false, false, false) => Self { lines: true, bytes: true, longest: true },
            (lines, bytes, longest) => Self { lines, bytes, longest },
        }
    }

    fn values(self, count: &Count) -> Vec<u64> {
        let all = [(self.lines, count.newlines), (self.bytes, count.bytes), (self.longest, count.longest_bytes())];
        all.into_iter().filter(|(wanted, _)| *wanted).map(|(_, value)| value).collect()
    }
}

pub(crate) fn run(common: &Common, args: &CountArgs) -> Exit {
    let counting = match Counting::new(common, Columns::of(args), args.json) {
        Ok(counting) => counting,
        Err(error) => return message::error(&error),
    };
    let start = Instant::now();
    let mut counts = Vec::new();
    let mut exit = Exit::Done;
    interrupt::stop_on_interrupt(&counting.control);
    for path in or_stdin(&args.files) {
        if counting.control.stopped() {
            break;
        }
        let (count, error) = counting.file(&path);
        counts.extend(count.map(|count| (path, count)));
        exit = exit.max(error.map_or(Exit::Done, |error| message::error(&error)));
    }
    exit = interrupt::exit_of(&counting.control, exit);
    let total = counts.iter().fold(Count::default(), |total, (_, count)| total.beside(*count));
    let printed = if args.json { print_json(&counts, &total) } else { print_table(counting.columns, &counts, &total, args) };
    if common.stats {
        crate::stats::print(start, counting.memory_bytes, counting.threads, &counting.control, &counting.pool);
    }
    printed.map_or_else(|error| message::print_error(&error), |()| exit)
}

/// `-` where no file was named.
pub(crate) fn or_stdin(files: &[PathBuf]) -> Vec<PathBuf> {
    if files.is_empty() { vec![PathBuf::from("-")] } else { files.to_vec() }
}

/// What all files of one run share.
struct Counting {
    columns: Columns,
    /// JSON has every count, whatever was asked for.
    longest: bool,
    memory_bytes: u64,
    threads: usize,
    progress: When,
    plan: Plan,
    pool: Pool,
    control: Control,
}

impl Counting {
    fn new(common: &Common, columns: Columns, json: bool) -> Result<Self, BudgetError> {
        let memory_bytes = common.memory.unwrap_or(MEMORY_BYTES_DEFAULT);
        let threads = fitting::threads(common, |threads| budget(threads, memory_bytes))?;
        let buffers = buffers_needed(threads);
        Ok(Self {
            columns,
            longest: columns.longest || json,
            memory_bytes,
            threads,
            progress: common.progress,
            plan: Plan { framing: Framing::Bytes, zstd_window_log_max: zstd_window_log_max(memory_bytes) },
            pool: Pool::new(BLOCK_BYTES, buffers),
            control: Control::with_rate_limit(common.limit_rate),
        })
    }

    /// The count of one file, and what went wrong; both when something was counted before it.
    fn file(&self, path: &Path) -> (Option<Count>, Option<Error>) {
        let operation = Operation::start("count");
        let input = match input::open(path) {
            Ok(input) => input,
            Err(error) => return (None, Some(error)),
        };
        let expected_bytes = input.size_bytes().map(|size| size + self.control.stored_bytes());
        let _progress = Progress::start(self.progress, &self.control, expected_bytes);
        let stages = vec![Counter { longest: self.longest }; self.threads];
        let mut total = Count::default();
        let add = |count| {
            total = total.then(count);
            Ok(())
        };
        let finish = rorqual_pipe::run(input, &self.plan, &self.pool, &self.control, |_| Some(stages), add);
        operation.bytes(total.bytes);
        operation.ended(finish.error.as_ref());
        (Some(total), finish.error)
    }
}

fn budget(threads: usize, memory_bytes: u64) -> Budget {
    let buffers = buffers_needed(threads);
    let mut budget = Budget::new(memory_bytes);
    budget.reserve("program", limits::PROGRAM_BYTES);
    budget.reserve(format!("{threads} threads"), threads as u64 * limits::THREAD_BYTES);
    budget.reserve(format!("{buffers} blocks"), (buffers * BLOCK_BYTES) as u64);
    budget.reserve("decoder", decoder_bytes(memory_bytes));
    budget
}

fn print_table(columns: Columns, counts: &[(PathBuf, Count)], total: &Count, args: &CountArgs) -> io::Result<()> {
    let mut rows: Vec<(String, Vec<u64>)> = Vec::new();
    for (path, count) in counts {
        let name = if args.files.is_empty() { String::new() } else { escaped(&path.to_string_lossy()) };
        rows.push((name, columns.values(count)));
    }
    if args.files.len() > 1 {
        rows.push(("total".to_owned(), columns.values(total)));
    }
    let numbers = || rows.iter().flat_map(|(_, values)| values);
    let width = if numbers().count() == 1 { 1 } else { numbers().map(|value| value.to_string().len()).max().unwrap_or(1) };
    let mut out = io::stdout().lock();
    for (name, values) in rows {
        let numbers: Vec<String> = values.iter().map(|value| format!("{value:>width$}")).collect();
        writeln!(out, "{}", format!("{} {name}", numbers.join(" ")).trim_end())?;
    }
    out.flush()
}

fn print_json(counts: &[(PathBuf, Count)], total: &Count) -> io::Result<()> {
    let object = |count: &Count| json!({"lines": count.newlines, "bytes": count.bytes, "longest_bytes": count.longest_bytes()});
    let files: Vec<Value> = counts
        .iter()
        .map(|(path, count)| {
            let mut file = object(count);
            file["name"] = json!(path.to_string_lossy());
            file
        })
        .collect();
    let mut out = io::stdout().lock();
    writeln!(out, "{}", json!({"schema": "rorqual.count/1", "files": files, "total": object(total)}))?;
    out.flush()
}
