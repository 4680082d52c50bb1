//! `rorqual count`

use crate::args::{Common, CountArgs, TerminalWhen, TotalWhen};
use crate::exit::ExitStatus;
use crate::json_name::put_name;
use crate::message;
use crate::progress::Progress;
use crate::{fitting, input, interrupt};
use rorqual_pipe::count::{ByteCounts, Counter};
use rorqual_pipe::decode::{Charset, decoder_bytes, zstd_window_log_max};
use rorqual_pipe::gather::OutputFd;
use rorqual_pipe::limits::{self, BLOCK_BYTES, buffers_needed};
use rorqual_pipe::{
    Budget, BudgetError, BufferPool, Chunk, Control, Error, ErrorClass, Framing, Input, Operation, RunPlan, Stage, each,
    escaped_path, reason,
};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Longest name in a list of `--files0-from`: Linux opens none that is longer.
const NAME_BYTES_MAX: u64 = 4096;

/// First bytes that tell the mark of UTF-16 from that of UTF-32.
const MARK_BYTES: usize = 4;

/// Columns that are printed, in `wc`'s order.
#[derive(Clone, Copy)]
struct CountColumns {
    lines: bool,
    words: bool,
    characters: bool,
    bytes: bool,
    longest: bool,
}

impl CountColumns {
    fn of(args: &CountArgs) -> Self {
        let Self { lines, words, characters, bytes, longest } =
            Self { lines: args.lines, words: args.words, characters: args.chars, bytes: args.bytes, longest: args.longest };
        let usual = !(lines || words || characters || bytes || longest);
        Self { lines: lines || usual, words, characters, bytes: bytes || usual, longest: longest || usual }
    }

    /// Bytes are not all that is wanted.
    fn looks_at_text(self) -> bool {
        self.lines || self.words || self.characters || self.longest
    }

    fn values(self, count: &ByteCounts) -> Vec<u64> {
        let all = [
            (self.lines, count.newlines),
            (self.words, count.words()),
            (self.characters, count.characters()),
            (self.bytes, count.bytes),
            (self.longest, count.longest_bytes()),
        ];
        all.into_iter().filter(|(wanted, _)| *wanted).map(|(_, value)| value).collect()
    }

    fn object(self, count: &ByteCounts) -> Value {
        let mut object = json!({"lines": count.newlines, "bytes": count.bytes, "longest_bytes": count.longest_bytes()});
        if self.words {
            object["words"] = count.words().into();
        }
        if self.characters {
            object["characters"] = count.characters().into();
        }
        object
    }
}

pub(crate) fn run(common: &Common, args: &CountArgs) -> ExitStatus {
    let counting = match Counting::new(common, CountColumns::of(args), args.json) {
        Ok(counting) => counting,
        Err(error) => return message::error(&error),
    };
    let start = Instant::now();
    interrupt::stop_on_interrupt(&counting.control);
    let counted =
        NameSource::of(args, &counting.control).map_err(|said| message::error(&said)).and_then(|names| counting.all(names, args));
    if common.process.stats {
        crate::stats::print(start, counting.memory_bytes, counting.threads, &counting.control, &counting.pool);
    }
    counted.unwrap_or_else(|exit| exit)
}

/// `-` where no file was named.
pub(crate) fn or_stdin(files: &[PathBuf]) -> Vec<PathBuf> {
    if files.is_empty() { vec![PathBuf::from("-")] } else { files.to_vec() }
}

/// The names of the files that are counted, and those that can't be had.
enum NameSource {
    Given(std::vec::IntoIter<PathBuf>),
    /// Ended by NULs, and so many that they are not held.
    Listed {
        list: Box<dyn BufRead + Send>,
        name: String,
        number: u64,
        from_stdin: bool,
    },
}

impl NameSource {
    fn of(args: &CountArgs, control: &Control) -> Result<Self, String> {
        let Some(path) = &args.files0_from else { return Ok(Self::Given(or_stdin(&args.files).into_iter())) };
        let name = escaped_path(path);
        let from_stdin = path.as_os_str() == "-";
        // A list that stalls hears Ctrl-C.
        let list = Input::open_stored(path).and_then(|input| input.into_reader(control));
        let list = Box::new(BufReader::new(list.map_err(|error| format!("--files0-from {error}"))?));
        Ok(Self::Listed { list, name, number: 0, from_stdin })
    }
}

impl Iterator for NameSource {
    type Item = Result<PathBuf, String>;

    fn next(&mut self) -> Option<Self::Item> {
        let (list, name, number, from_stdin) = match self {
            Self::Given(names) => return names.next().map(Ok),
            Self::Listed { list, name, number, from_stdin } => (list, &*name, number, *from_stdin),
        };
        let mut bytes = Vec::new();
        let read = list.by_ref().take(NAME_BYTES_MAX).read_until(0, &mut bytes);
        *number += 1;
        let failed = |what: &str| Some(Err(format!("--files0-from {name}: name {number}: {what}")));
        match read {
            Err(cause) => {
                *list = Box::new(io::empty());
                return failed(&reason(&cause));
            }
            Ok(0) => return None,
            Ok(_) => {}
        }
        if bytes.last() == Some(&0) {
            bytes.pop();
        } else if bytes.len() as u64 == NAME_BYTES_MAX {
            *list = Box::new(io::empty());
            return failed("longer than the 4096 bytes of any path; is it a list of names ended by NULs?");
        }
        match &bytes[..] {
            b"" => failed("is empty"),
            b"-" if from_stdin => failed("'-' is standard input, which has the names"),
            _ => Some(Ok(OsString::from_vec(bytes).into())),
        }
    }
}

/// Settings and memory that all files of one run share.
struct Counting {
    columns: CountColumns,
    json: bool,
    counter: Counter,
    memory_bytes: u64,
    threads: usize,
    /// Most compressed files that are counted side by side.
    lanes_max: usize,
    progress: TerminalWhen,
    plan: RunPlan,
    pool: BufferPool,
    control: Control,
}

/// A file of the list.
struct OpenedFile {
    path: PathBuf,
    input: Result<Input, Error>,
}

impl OpenedFile {
    fn new(path: PathBuf) -> Self {
        Self { input: input::open(&path), path }
    }

    fn is_encoded(&self) -> bool {
        self.input.as_ref().is_ok_and(Input::is_encoded_file)
    }
}

/// The count of one file, and what went wrong; both when something was counted before it.
struct CountedFile {
    path: PathBuf,
    count: Option<ByteCounts>,
    error: Option<Error>,
}

impl Counting {
    fn new(common: &Common, columns: CountColumns, json: bool) -> Result<Self, BudgetError> {
        let memory_bytes = common.process.memory_bytes();
        let threads = fitting::threads(&common.process, |threads| budget(threads, memory_bytes))?;
        let lanes_max = fitting::lanes(threads, |lanes| budget_of_lanes(threads, lanes, memory_bytes));
        let buffers = buffers_needed(threads);
        Ok(Self {
            columns,
            json,
            // JSON has the longest line whatever was asked for.
            counter: Counter { longest: columns.longest || json, words: columns.words, characters: columns.characters },
            memory_bytes,
            threads,
            lanes_max,
            progress: common.progress,
            plan: RunPlan { framing: Framing::Bytes, zstd_window_log_max: zstd_window_log_max(memory_bytes) },
            pool: BufferPool::new(BLOCK_BYTES, buffers),
            control: Control::with_rate_limit(common.limit_rate),
        })
    }

    /// Counts all files, and prints what came of it.
    fn all(&self, names: NameSource, args: &CountArgs) -> Result<ExitStatus, ExitStatus> {
        let print_error = |error: io::Error| message::print_error(&error);
        let mut printer = CountPrinter::new(self, args).map_err(print_error)?;
        let (mut files_exit, mut names_exit) = (ExitStatus::Done, ExitStatus::Done);
        let mut printed = Ok(());
        let mut take = |counted: CountedFile| {
            files_exit = files_exit.max(counted.error.map_or(ExitStatus::Done, |error| message::error(&error)));
            // The row of a file that was cut off would look like those of whole ones before it.
            if args.files0_from.is_none() || !self.control.stopped() {
                printed = printer.file(&counted.path, counted.count);
            }
            let goes_on = printed.is_ok() && !self.control.stopped();
            if goes_on { Ok(()) } else { Err(Error::new(ErrorClass::Stopped, "", "nothing more is printed")) }
        };
        let names = names.take_while(|_| !self.control.stopped());
        let is_listed = args.files0_from.is_some();
        let is_known = !is_listed && !args.files.is_empty();
        let stored_bytes = if is_known { input::stored_bytes(&args.files) } else { None };
        let _progress = Progress::start(self.progress, &self.control, stored_bytes);
        let mut files = names.map(|name| name.map(OpenedFile::new)).peekable();
        while let Some(name) = files.next() {
            let is_encoded = |file: &Result<OpenedFile, String>| file.as_ref().is_ok_and(OpenedFile::is_encoded);
            let taken = match name {
                // One by itself is decoded by one thread and counted by all.
                // Whoever writes a list may wait for the row of a name before the next.
                Ok(file) if self.lanes_max > 1 && file.is_encoded() && (is_listed || files.peek().is_some_and(is_encoded)) => {
                    let encoded = std::iter::from_fn(|| files.next_if(is_encoded)).flatten();
                    self.side_by_side(std::iter::once(file).chain(encoded), &mut take)
                }
                Ok(file) => take(self.file(file, self.threads, &self.pool, &self.control)),
                Err(said) => {
                    names_exit = names_exit.max(message::error(&said));
                    Ok(())
                }
            };
            if taken.is_err() || self.control.stopped() {
                break;
            }
        }
        printed.map_err(print_error)?;
        let exit = interrupt::exit_of(&self.control, files_exit.max(names_exit));
        printer.finish().map_err(print_error)?;
        Ok(exit)
    }

    /// Counts files that are one stream each, side by side.
    fn side_by_side(
        &self,
        files: impl Iterator<Item = OpenedFile> + Send,
        take: &mut (impl FnMut(CountedFile) -> Result<(), Error> + Send),
    ) -> Result<(), Error> {
        let begun = files.take_while(|_| !self.control.stopped());
        let mut pools: Vec<BufferPool> = (0..self.lanes_max).map(|_| BufferPool::new(BLOCK_BYTES, buffers_needed(1))).collect();
        let work = |pool: &mut BufferPool, file| self.file(file, 1, pool, &self.control.of_input());
        each(begun, &mut pools, work, take)
    }

    /// The input as text where it begins with the mark of UTF-16, and whether it does. Bytes alone
    /// are counted as they are.
    fn as_text(&self, mut input: Input, control: &Control) -> Result<(Input, bool), Error> {
        if !(self.columns.looks_at_text() || self.json) {
            return Ok((input, false));
        }
        let mut head = [0; MARK_BYTES];
        let read = match input.file_again()? {
            Some(file) => file.read_at(&mut head, 0).map_err(|cause| Error::io(input.name(), "cannot read", cause))?,
            None => {
                let ahead = input.read_ahead(MARK_BYTES, control)?;
                let read = ahead.len().min(MARK_BYTES);
                head[..read].copy_from_slice(&ahead[..read]);
                read
            }
        };
        let is_utf16 = has_utf16_mark(&head[..read]);
        Ok((if is_utf16 { input.into_utf8() } else { input }, is_utf16))
    }

    fn file(&self, file: OpenedFile, threads: usize, pool: &BufferPool, control: &Control) -> CountedFile {
        let operation = Operation::start("count");
        let OpenedFile { path, input } = file;
        let (input, is_utf16) = match input.and_then(|input| self.as_text(input, control)) {
            Ok(opened) => opened,
            Err(error) => return CountedFile { path, count: None, error: Some(error) },
        };
        let name = input.name().to_owned();
        let stages = vec![TextCounter(self.counter); threads];
        let (mut total, mut marked) = (ByteCounts::default(), false);
        let add = |(count, has_mark)| {
            total = total.then(count);
            marked |= has_mark;
            Ok(())
        };
        let before = control.stored_bytes();
        let finish = rorqual_pipe::run(input, &self.plan, pool, control, |_| Some(stages), add);
        if is_utf16 {
            total.bytes = control.stored_bytes() - before;
        } else if marked && (self.columns.looks_at_text() || self.json) {
            message::note(&format!(
                "{name}: is compressed UTF-16, which is counted by its bytes: as text it has other lines, words and characters \
                 (decompressed before, it is counted as text)"
            ));
        }
        operation.bytes(total.bytes);
        operation.ended(finish.error.as_ref());
        CountedFile { path, count: Some(total), error: finish.error }
    }
}

/// True if a text begins with the mark of UTF-16.
fn has_utf16_mark(head: &[u8]) -> bool {
    matches!(head, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) && Charset::detect(head) != Charset::Utf8
}

/// Counts a chunk, and tells whether the input begins with the mark of UTF-16.
#[derive(Clone, Copy)]
struct TextCounter(Counter);

impl Stage for TextCounter {
    type Output = (ByteCounts, bool);

    fn chunk(&mut self, chunk: &Chunk) -> Result<Self::Output, Error> {
        Ok((self.0.chunk(chunk)?, chunk.offset == 0 && has_utf16_mark(&chunk.bytes)))
    }
}

/// The sum with compressed files that are counted side by side.
fn budget_of_lanes(threads: usize, lanes: usize, memory_bytes: u64) -> Budget {
    let mut budget = budget(threads, memory_bytes);
    let lane = fitting::lane_bytes(memory_bytes) + (buffers_needed(1) * BLOCK_BYTES) as u64;
    budget.reserve(format!("{lanes} files side by side"), lanes as u64 * lane);
    budget
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

/// Prints counts as `wc` does, or as JSON.
struct CountPrinter {
    out: BufWriter<OutputFd>,
    columns: CountColumns,
    json: bool,
    totals: TotalWhen,
    /// Names are printed: some were given.
    named: bool,
    /// Rows of files that were named in the arguments wait for the widest number; a list may have
    /// any number of them.
    waiting: Option<Vec<(String, Vec<u64>)>>,
    /// Files so far, those that could not be counted too.
    files: u64,
    printed: u64,
    total: ByteCounts,
}

impl CountPrinter {
    fn new(counting: &Counting, args: &CountArgs) -> io::Result<Self> {
        let mut printer = Self {
            out: BufWriter::new(OutputFd::stdout(&counting.control)?),
            columns: counting.columns,
            json: args.json,
            totals: args.total,
            named: !args.files.is_empty() || args.files0_from.is_some(),
            waiting: args.files0_from.is_none().then(Vec::new),
            files: 0,
            printed: 0,
            total: ByteCounts::default(),
        };
        if printer.json {
            write!(printer.out, "{{\"schema\":\"rorqual.count/1\",\"files\":[")?;
        }
        Ok(printer)
    }

    fn file(&mut self, path: &Path, count: Option<ByteCounts>) -> io::Result<()> {
        self.files += 1;
        let Some(count) = count else { return Ok(()) };
        self.total = self.total.beside(count);
        if self.json {
            let mut file = self.columns.object(&count);
            put_name(&mut file, path.as_os_str().as_bytes());
            let separator = if self.printed > 0 { "," } else { "" };
            self.printed += 1;
            return write!(self.out, "{separator}{file}");
        }
        if self.totals == TotalWhen::Only {
            return Ok(());
        }
        let name = if self.named { escaped_path(path) } else { String::new() };
        self.row(name, self.columns.values(&count))
    }

    fn row(&mut self, name: String, values: Vec<u64>) -> io::Result<()> {
        match &mut self.waiting {
            Some(rows) => {
                rows.push((name, values));
                Ok(())
            }
            // Ctrl-C may end it at any time.
            None => print_row(&mut self.out, &name, &values, 1).and_then(|()| self.out.flush()),
        }
    }

    fn finish(mut self) -> io::Result<()> {
        if self.json {
            writeln!(self.out, "],\"total\":{}}}", self.columns.object(&self.total))?;
            return self.out.flush();
        }
        let values = self.columns.values(&self.total);
        match self.totals {
            TotalWhen::Auto if self.files > 1 => self.row("total".to_owned(), values)?,
            TotalWhen::Always => self.row("total".to_owned(), values)?,
            TotalWhen::Only => self.row(String::new(), values)?,
            TotalWhen::Auto | TotalWhen::Never => {}
        }
        let rows = self.waiting.take().unwrap_or_default();
        let numbers = || rows.iter().flat_map(|(_, values)| values);
        let width = if numbers().count() == 1 { 1 } else { numbers().map(|value| value.to_string().len()).max().unwrap_or(1) };
        rows.iter().try_for_each(|(name, values)| print_row(&mut self.out, name, values, width))?;
        self.out.flush()
    }
}

fn print_row(out: &mut impl Write, name: &str, values: &[u64], width: usize) -> io::Result<()> {
    let numbers: Vec<String> = values.iter().map(|value| format!("{value:>width$}")).collect();
    writeln!(out, "{}", format!("{} {name}", numbers.join(" ")).trim_end())
}
